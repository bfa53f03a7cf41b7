//! Conditions: tests become branches, without truth values in between.

use super::Builder;
use crate::function::library::LibraryFunction;
use crate::function::op::{FunctionOp, none_test};
use crate::python::{BoolOp, CompareOp, ExprId, ExprKind, Stretch, UnaryOp};
use crate::ssa::{BlockId, InstId, SsaOp, Tail};
use cembra_vm::program::instruction::Span;

impl Builder<'_> {
    /// Goes on in one of two blocks.
    pub(super) fn branch_on(&mut self, test: ExprId, then: BlockId, orelse: BlockId) {
        if !self.deeper(self.span(test)) {
            return self.end_block(Tail::Jump(orelse), self.span(test));
        }
        self.branch(test, then, orelse);
        self.depth -= 1;
    }

    fn branch(&mut self, test: ExprId, then: BlockId, orelse: BlockId) {
        let (tree, span) = (self.tree, self.span(test));
        match tree.expr(test).kind {
            ExprKind::Bool(true) => self.end_block(Tail::Jump(then), span),
            ExprKind::Bool(false) => self.end_block(Tail::Jump(orelse), span),
            ExprKind::Unary(UnaryOp::Not, operand) => self.branch_on(operand, orelse, then),
            ExprKind::Logic(op, operands) => {
                let (last, first) = tree.expr_list(operands).split_last().expect("two or more operands");
                for operand in first {
                    let next = self.new_block();
                    match op {
                        BoolOp::And => self.branch_on(*operand, next, orelse),
                        BoolOp::Or => self.branch_on(*operand, then, next),
                    }
                    self.begin(next);
                }
                self.branch_on(*last, then, orelse);
            }
            ExprKind::Compare { operands, ops } => {
                let condition = self.compare_chain(operands, ops, span, Some(orelse));
                self.branch_on_value(condition, then, orelse, span);
            }
            _ => {
                let value = self.expr(test);
                let condition = self.operation(FunctionOp::Truth, vec![value], span);
                self.end_block(Tail::Branch { condition, then, orelse }, span);
            }
        }
    }

    /// A branch; where it has told that a variable is not None, the variable is known not to be.
    fn branch_on_value(&mut self, condition: InstId, then: BlockId, orelse: BlockId, span: Span) {
        let tested = none_test(&self.flow, condition);
        let tested = tested.and_then(|(value, is_none)| match self.flow.inst(value).op {
            SsaOp::Read(variable) => Some((value, variable, is_none)),
            _ => None,
        });
        let Some((value, variable, is_none)) = tested else {
            return self.end_block(Tail::Branch { condition, then, orelse }, span);
        };
        let known = self.new_block();
        let (then, orelse, behind) = if is_none { (then, known, orelse) } else { (known, orelse, then) };
        self.end_block(Tail::Branch { condition, then, orelse }, span);
        self.begin(known);
        let value = self.operation(FunctionOp::NotNone(None), vec![value], span);
        self.write(variable, value, span);
        self.end_block(Tail::Jump(behind), span);
    }

    /// `a < b <= c`: each operand once, as long as the comparisons before hold. Where one does not, control goes
    /// to `otherwise`; what is left is the last comparison.
    pub(super) fn compare_chain(
        &mut self,
        operands: Stretch,
        ops: Stretch,
        span: Span,
        otherwise: Option<BlockId>,
    ) -> InstId {
        let tree = self.tree;
        let (operands, ops) = (tree.expr_list(operands), tree.compare_ops(ops));
        let mut left = self.expr(operands[0]);
        for (position, op) in ops.iter().enumerate() {
            let right = operands[position + 1];
            let (is_membership, is_last) =
                (matches!(op, CompareOp::In | CompareOp::NotIn), position + 1 == ops.len());
            if is_membership && is_last {
                return self.membership(left, right, *op, span);
            }
            let right = self.expr(right);
            let condition = match is_membership {
                true => self.contained(left, right, *op, span),
                false => self.operation(FunctionOp::Compare(*op), vec![left, right], span),
            };
            if is_last {
                return condition;
            }
            let next = self.new_block();
            let orelse = otherwise.unwrap_or(next);
            self.end_block(Tail::Branch { condition, then: next, orelse }, span);
            self.begin(next);
            left = right;
        }
        unreachable!("a comparison has an operator")
    }

    /// `x in (a, b)`: compared with what is written out, one after the other, when all of it is there; or with all elements.
    fn membership(&mut self, left: InstId, right: ExprId, op: CompareOp, span: Span) -> InstId {
        let tree = self.tree;
        let (ExprKind::Tuple(parts) | ExprKind::List(parts)) = tree.expr(right).kind else {
            let container = self.expr(right);
            return self.contained(left, container, op, span);
        };
        let result = self.merged();
        let end = self.new_block();
        let parts: Vec<InstId> = tree.expr_list(parts).iter().map(|part| self.expr(*part)).collect();
        for part in parts {
            let equal = self.operation(FunctionOp::Compare(CompareOp::Equal), vec![left, part], span);
            let (found, next) = (self.new_block(), self.new_block());
            self.end_block(Tail::Branch { condition: equal, then: found, orelse: next }, span);
            self.begin(found);
            self.write_bool(result, op == CompareOp::In, span);
            self.end_block(Tail::Jump(end), span);
            self.begin(next);
        }
        self.write_bool(result, op == CompareOp::NotIn, span);
        self.jump_into(end, span);
        self.read(result, span)
    }

    /// Whether a value is one of the elements of another, or is not.
    fn contained(&mut self, value: InstId, container: InstId, op: CompareOp, span: Span) -> InstId {
        let contains = FunctionOp::LibraryFunction(LibraryFunction::named("_contains"));
        let found = self.operation(contains, vec![container, value], span);
        match op {
            CompareOp::NotIn => self.operation(FunctionOp::Unary(UnaryOp::Not), vec![found], span),
            _ => found,
        }
    }

    pub(super) fn write_bool(&mut self, variable: crate::ssa::VarId, value: bool, span: Span) {
        let value = self.constant(crate::function::constant::Constant::Bool(value), span);
        self.write(variable, value, span);
    }
}
