//! Expressions.

use super::rounds::{Element, Sink};
use super::scope::Resolved;
use super::{Builder, MAX_DEPTH};
use crate::function::constant::Constant;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::library::{self, LibraryFunction};
use crate::function::op::{FunctionOp, IndexPart};
use crate::python::{BinaryOp, BoolOp, ExprId, ExprKind, Stretch};
use crate::ssa::{InstId, Tail};
use cembra_vm::program::instruction::Span;

impl Builder<'_> {
    /// The value of an expression.
    pub(super) fn expr(&mut self, expr: ExprId) -> InstId {
        let span = self.span(expr);
        if self.is_full(span) || !self.deeper(span) {
            return self.constant(Constant::None, span);
        }
        let value = self.value(expr, span);
        self.depth -= 1;
        value
    }

    /// Goes one level deeper; false at the limit.
    pub(super) fn deeper(&mut self, span: Span) -> bool {
        if self.depth == MAX_DEPTH {
            let problem = FunctionProblem::Limit { name: "expression-depth", limit: MAX_DEPTH };
            self.refuse(FunctionError::new(problem, span));
            return false;
        }
        self.depth += 1;
        true
    }

    fn value(&mut self, expr: ExprId, span: Span) -> InstId {
        let tree = self.tree;
        match tree.expr(expr).kind {
            ExprKind::Name(_) => self.named(expr, span),
            ExprKind::Int(value) => self.int(value, span),
            ExprKind::Float(value) => self.constant(Constant::Float(value), span),
            ExprKind::Bool(value) => self.constant(Constant::Bool(value), span),
            ExprKind::None => self.constant(Constant::None, span),
            ExprKind::Text(text) => self.constant(Constant::Text(tree.name(text).into()), span),
            ExprKind::Unary(op, operand) => {
                if let Some(constant) = self.constant_value(expr) {
                    return self.constant(constant, span);
                }
                let operand = self.expr(operand);
                self.operation(FunctionOp::Unary(op), vec![operand], span)
            }
            ExprKind::Binary(..) => self.binary_chain(expr),
            ExprKind::Logic(op, operands) => self.logic(op, operands, span),
            ExprKind::Compare { operands, ops } => self.comparison(operands, ops, span),
            ExprKind::IfElse { test, body, orelse } => self.if_else(test, body, orelse, span),
            ExprKind::Call { callee, args, keywords } => self.call(callee, args, keywords, span),
            ExprKind::Attribute(base, name) => match self.resolve_expr(expr) {
                Some(_) => self.named(expr, span),
                None => {
                    let base = self.expr(base);
                    self.operation(FunctionOp::Attribute(tree.name(name).into()), vec![base], span)
                }
            },
            ExprKind::Subscript(base, index) => {
                let base = self.expr(base);
                let (parts, indices) = self.indices(index);
                let args = std::iter::once(base).chain(indices).collect();
                self.operation(FunctionOp::GetItem(parts), args, span)
            }
            ExprKind::Tuple(parts) => {
                let parts = tree.expr_list(parts).iter().map(|part| self.expr(*part)).collect();
                self.operation(FunctionOp::Tuple, parts, span)
            }
            ExprKind::List(parts) => {
                let parts = tree.expr_list(parts).iter().map(|part| self.expr(*part)).collect();
                self.operation(FunctionOp::LibraryFunction(LibraryFunction::named("_list")), parts, span)
            }
            ExprKind::ListComprehension { element, clauses } => self.comprehension(element, clauses, span),
            ExprKind::Lambda { .. } => self.unsupported(
                "function-value",
                "a function is called or passed on, it is no value",
                "call it",
                span,
            ),
            ExprKind::Named(target, value) => {
                let value = self.expr(value);
                let around = self.function_scope();
                let scope = std::mem::replace(&mut self.scope, around);
                self.store(target, value);
                self.scope = scope;
                value
            }
            ExprKind::Generator(..) => self.unsupported(
                "generator-expression",
                "a generator expression is iterated over, it is no value",
                "write a list comprehension: `[…]`",
                span,
            ),
            ExprKind::Dict(entries) => {
                let dict = self.library("_dict", vec![], span);
                for entry in tree.expr_list(entries).chunks_exact(2) {
                    let (key, value) = (self.expr(entry[0]), self.expr(entry[1]));
                    self.operation(FunctionOp::SetItem(vec![IndexPart::At]), vec![dict, value, key], span);
                }
                dict
            }
            ExprKind::Set(elements) => {
                let set = self.library("_set", vec![], span);
                for element in tree.expr_list(elements) {
                    let element = self.expr(*element);
                    self.library("_add", vec![set, element], span);
                }
                set
            }
            ExprKind::DictComprehension(key, value, clauses) => {
                let dict = self.library("_dict", vec![], span);
                self.in_clauses(Element::Pair(key, value), clauses, Sink::Dict(dict), span);
                dict
            }
            ExprKind::SetComprehension(element, clauses) => {
                let set = self.library("_set", vec![], span);
                self.in_clauses(Element::One(element), clauses, Sink::Set(set), span);
                set
            }
            ExprKind::Starred(_) => self.unsupported(
                "starred",
                "`*` unpacks arguments of functions of the module only",
                "write the elements out: `f(t[0], t[1])`",
                span,
            ),
            ExprKind::Yield(_) => self.unsupported(
                "generator-function",
                "a generator gives values and takes none",
                "write `yield value` as a statement",
                span,
            ),
            ExprKind::Slice { .. } => {
                self.unsupported("slice", "a slice is no value", "use it as an index", span)
            }
            ExprKind::Refused => self.constant(Constant::None, span),
        }
    }

    /// The value of a name, or of an attribute of a module.
    fn named(&mut self, expr: ExprId, span: Span) -> InstId {
        let tree = self.tree;
        match self.resolve_expr(expr) {
            Some(Resolved::Variable(variable)) => self.read(variable, span),
            Some(Resolved::Constant(constant)) => self.constant(constant, span),
            Some(Resolved::Expression(value)) => {
                let scope = std::mem::replace(&mut self.scope, 0);
                let built = self.expr(value);
                self.scope = scope;
                match self.constant_value(value) {
                    Some(_) => built,
                    None => self.operation(FunctionOp::ModuleConstant, vec![built], span),
                }
            }
            Some(Resolved::Exception) => self.unsupported(
                "exception-value",
                "an exception is caught and raised again, it is no value",
                "handle each class in a handler of its own",
                span,
            ),
            Some(Resolved::Callable(_)) => self.unsupported(
                "function-value",
                "a function is called or passed on, it is no value",
                "call it",
                span,
            ),
            Some(Resolved::Library(name)) if name.contains('.') => self.library_lacks(&name, span),
            Some(Resolved::Library(_)) => {
                self.unsupported("module-value", "a module is no value", "use what is in it", span)
            }
            Some(Resolved::Unknown) | None => {
                let name = match tree.expr(expr).kind {
                    ExprKind::Name(name) => tree.name(name).to_owned(),
                    _ => String::new(),
                };
                self.refuse(FunctionError::new(FunctionProblem::UnknownName { name }, span))
            }
        }
    }

    /// What a loop goes over: a list of tuples that is written out there is a tuple of them.
    pub(super) fn iterated_value(&mut self, expr: ExprId) -> InstId {
        let tree = self.tree;
        let is_tuple = |part: &ExprId| matches!(tree.expr(*part).kind, ExprKind::Tuple(_));
        match tree.expr(expr).kind {
            ExprKind::List(parts) if tree.expr_list(parts).iter().any(is_tuple) => {
                let parts = tree.expr_list(parts).iter().map(|part| self.expr(*part)).collect();
                self.operation(FunctionOp::Tuple, parts, self.span(expr))
            }
            _ => self.expr(expr),
        }
    }

    /// What a module of the library lacks: in functions, or in Python too.
    pub(super) fn library_lacks(&mut self, name: &str, span: Span) -> InstId {
        if library::is_left_out(name) {
            let hint = "see the list of functions in docs/functions.md";
            return self.unsupported("library", format!("`{name}` cannot be used here"), hint, span);
        }
        let (module, attribute) = name.rsplit_once('.').unwrap_or(("", name));
        let (of, name) = (format!("module '{module}'"), attribute.to_owned());
        self.refuse(FunctionError::new(FunctionProblem::Attribute { of, name }, span))
    }

    /// A chain of operators, from its leftmost operand on: it may have any length.
    fn binary_chain(&mut self, expr: ExprId) -> InstId {
        let tree = self.tree;
        let mut chain: Vec<(BinaryOp, ExprId, Span)> = Vec::new();
        let mut first = expr;
        while let ExprKind::Binary(op, left, right) = tree.expr(first).kind {
            chain.push((op, right, tree.expr(first).span));
            first = left;
        }
        let mut chain = chain.into_iter().rev().peekable();
        let mut value = match (tree.expr(first).kind, chain.peek()) {
            // `[x] * n`
            (ExprKind::List(parts), Some((BinaryOp::Mul, times, span))) if parts.len() == 1 => {
                let (times, span) = (*times, *span);
                chain.next();
                let (item, times) = (self.expr(tree.expr_list(parts)[0]), self.expr(times));
                self.operation(
                    FunctionOp::LibraryFunction(LibraryFunction::named("_repeat")),
                    vec![item, times],
                    span,
                )
            }
            _ => self.expr(first),
        };
        for (op, right, span) in chain {
            let right = self.expr(right);
            value = self.operation(FunctionOp::Binary(op), vec![value, right], span);
        }
        value
    }

    /// `a and b`: the operand that decides.
    fn logic(&mut self, op: BoolOp, operands: Stretch, span: Span) -> InstId {
        let tree = self.tree;
        let (last, first) = tree.expr_list(operands).split_last().expect("two or more operands");
        let (result, end) = (self.merged(), self.new_block());
        for operand in first {
            let value = self.expr(*operand);
            self.write(result, value, span);
            let condition = self.operation(FunctionOp::Truth, vec![value], span);
            let next = self.new_block();
            let (then, orelse) = match op {
                BoolOp::And => (next, end),
                BoolOp::Or => (end, next),
            };
            self.end_block(Tail::Branch { condition, then, orelse }, span);
            self.begin(next);
        }
        let value = self.expr(*last);
        self.write(result, value, span);
        self.jump_into(end, span);
        self.read(result, span)
    }

    /// A comparison as a value.
    fn comparison(&mut self, operands: Stretch, ops: Stretch, span: Span) -> InstId {
        if ops.len() == 1 {
            return self.compare_chain(operands, ops, span, None);
        }
        let (result, end, fails) = (self.merged(), self.new_block(), self.new_block());
        let last = self.compare_chain(operands, ops, span, Some(fails));
        self.write(result, last, span);
        self.end_block(Tail::Jump(end), span);
        self.begin(fails);
        self.write_bool(result, false, span);
        self.jump_into(end, span);
        self.read(result, span)
    }

    fn if_else(&mut self, test: ExprId, body: ExprId, orelse: ExprId, span: Span) -> InstId {
        let (then, other, end) = (self.new_block(), self.new_block(), self.new_block());
        let result = self.merged();
        self.branch_on(test, then, other);
        for (block, value) in [(then, body), (other, orelse)] {
            self.begin(block);
            let value = self.expr(value);
            self.write(result, value, span);
            self.end_block(Tail::Jump(end), span);
        }
        self.begin(end);
        self.read(result, span)
    }

    /// The places of a subscript, and their operands.
    pub(super) fn indices(&mut self, index: ExprId) -> (Vec<IndexPart>, Vec<InstId>) {
        let tree = self.tree;
        let single = [index];
        let places = match tree.expr(index).kind {
            ExprKind::Tuple(places) => tree.expr_list(places),
            _ => &single[..],
        };
        let (mut parts, mut values) = (Vec::new(), Vec::new());
        for place in places {
            match tree.expr(*place).kind {
                ExprKind::Slice { lower, upper, step } => {
                    let (given, bounds) = (|e: Option<ExprId>| e.is_some(), [lower, upper, step]);
                    parts.push(IndexPart::Slice {
                        lower: given(lower),
                        upper: given(upper),
                        step: given(step),
                    });
                    for bound in bounds.into_iter().flatten() {
                        values.push(self.expr(bound));
                    }
                }
                _ => {
                    parts.push(IndexPart::At);
                    values.push(self.expr(*place));
                }
            }
        }
        (parts, values)
    }
}
