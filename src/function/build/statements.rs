//! Statements.

use super::scope::{Binding, Resolved};
use super::{Builder, ReturnTo};
use crate::function::constant::Constant;
use crate::function::error::FunctionError;
use crate::function::op::{FunctionOp, IndexPart};
use crate::python::{BinaryOp, CompareOp, ExprId, ExprKind, PyPattern, StmtId, StmtKind, Stretch};
use crate::ssa::{InstId, SsaOp, Tail, VarId};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::Category;

impl Builder<'_> {
    pub(super) fn statements(&mut self, body: &[StmtId]) {
        body.iter().for_each(|statement| self.statement(*statement));
    }

    fn statement(&mut self, statement: StmtId) {
        let tree = self.tree;
        let span = tree.stmt(statement).span;
        if self.is_full(span) || !self.deeper(span) {
            return;
        }
        self.build_statement(statement, span);
        self.depth -= 1;
    }

    fn build_statement(&mut self, statement: StmtId, span: Span) {
        let tree = self.tree;
        match tree.stmt(statement).kind {
            // Inner functions are built where they are called.
            StmtKind::FunctionDef { name, parameters, .. } => {
                self.inner_function(tree.name(name), parameters, span);
            }
            StmtKind::Return(value) => self.return_value(value, span),
            StmtKind::Delete(targets) => {
                tree.expr_list(targets).iter().for_each(|target| self.delete(*target));
            }
            StmtKind::Assign { targets, value } => self.assign(targets, value),
            StmtKind::AugAssign { target, op, value } => {
                self.assign_with(target, op, value, span);
            }
            StmtKind::AnnAssign { target, value, .. } => {
                if let Some(value) = value {
                    let value = self.expr(value);
                    self.store(target, value);
                }
            }
            StmtKind::For { target, iter, body, orelse } => self.for_loop(target, iter, body, orelse, span),
            StmtKind::While { test, body, orelse } => self.while_loop(test, body, orelse, span),
            StmtKind::If { .. } => self.if_chain(statement),
            StmtKind::Match { subject, cases } => self.match_cases(subject, cases, span),
            StmtKind::Try { body, handlers, orelse, finish } => {
                self.try_statement((body, orelse, finish), handlers, span);
            }
            StmtKind::Raise(exception) => self.raise(exception, span),
            StmtKind::Assert { test, message } => self.assert(test, message, span),
            StmtKind::Expr(value) => match tree.expr(value).kind {
                // A documentation string, or a constant.
                ExprKind::Text(_) | ExprKind::None | ExprKind::Int(_) => {}
                ExprKind::Yield(value) => self.yield_value(value, span),
                _ => drop(self.expr(value)),
            },
            StmtKind::Break => match self.leave_loop(span) {
                Some(targets) => self.end_block(Tail::Jump(targets.end), span),
                None => drop(self.refuse(outside_loop("break", span))),
            },
            StmtKind::Continue => match self.leave_loop(span) {
                Some(targets) => self.end_block(Tail::Jump(targets.next), span),
                None => drop(self.refuse(outside_loop("continue", span))),
            },
            StmtKind::Nonlocal(_)
            | StmtKind::Import(_)
            | StmtKind::ImportFrom { .. }
            | StmtKind::Pass
            | StmtKind::Refused(_) => {}
        }
    }

    /// The definition of an inner function: its default values are computed here.
    fn inner_function(&mut self, name: &str, parameters: Stretch, span: Span) {
        self.keep_defaults(parameters);
        self.note_definition(name, span);
        let is_variable = matches!(self.scopes[self.scope].names.get(name), Some(Binding::Variable(_)));
        if is_variable || self.is_declared_nonlocal(name) {
            let message = format!("`{name}` is one of several functions or values");
            self.unsupported("function-value", message, "give each inner function a name of its own", span);
        }
    }

    fn return_value(&mut self, value: Option<ExprId>, span: Span) {
        let value = match value {
            Some(value) => self.expr(value),
            None => self.constant(Constant::None, span),
        };
        self.leave_tries(None, span);
        match self.returns {
            ReturnTo::Caller => self.end_block(Tail::Return(value), span),
            ReturnTo::Inline { result, exit } => {
                self.write(result, value, span);
                self.end_block(Tail::Jump(exit), span);
            }
            ReturnTo::Exhausted(exit) => self.end_block(Tail::Jump(exit), span),
        }
    }

    fn delete(&mut self, target: ExprId) {
        let span = self.span(target);
        match self.tree.expr(target).kind {
            ExprKind::Name(name) => {
                let name = self.tree.name(name);
                if let Some(variable) = self.target_variable(name) {
                    self.read(variable, span);
                    let undef = self.flow.push(self.block, SsaOp::Undef, vec![], span);
                    self.write(variable, undef, span);
                }
            }
            _ => {
                self.unsupported("delete-item", "elements cannot be deleted", "assign to the element", span);
            }
        }
    }

    fn assign(&mut self, targets: Stretch, value: ExprId) {
        let tree = self.tree;
        let targets = tree.expr_list(targets);
        if let ([target], ExprKind::Lambda { parameters, .. }) = (targets, tree.expr(value).kind)
            && let ExprKind::Name(name) = tree.expr(*target).kind
        {
            return self.inner_function(tree.name(name), parameters, tree.expr(value).span);
        }
        // A pair assigned to a pair needs no tuple.
        if let ([target], Some(values)) = (targets, self.parts(value))
            && let Some(parts) = self.parts(*target)
            && parts.len() == values.len()
        {
            let values: Vec<InstId> = values.iter().map(|value| self.expr(*value)).collect();
            for (target, value) in parts.iter().zip(values) {
                self.store(*target, value);
            }
            return;
        }
        let value = self.expr(value);
        targets.iter().for_each(|target| self.store(*target, value));
    }

    /// Parts of a tuple or list that is written out.
    fn parts(&self, expr: ExprId) -> Option<Vec<ExprId>> {
        match self.tree.expr(expr).kind {
            ExprKind::Tuple(parts) => Some(self.tree.expr_list(parts).to_vec()),
            _ => None,
        }
    }

    /// Assigns a value to a target.
    pub(super) fn store(&mut self, target: ExprId, value: InstId) {
        let (tree, span) = (self.tree, self.span(target));
        match tree.expr(target).kind {
            ExprKind::Name(name) => match self.target_variable(tree.name(name)) {
                Some(variable) => {
                    self.forget_rest_length(variable, span);
                    self.write(variable, value, span);
                }
                None if self.resolve(tree.name(name)) == Resolved::Exception => {
                    let message = format!("`{}` is the exception that is handled", tree.name(name));
                    self.unsupported("exception-value", message, "use another name", span);
                }
                None => drop(self.unsupported(
                    "function-value",
                    format!("`{}` is a function", tree.name(name)),
                    "use another name",
                    span,
                )),
            },
            ExprKind::Tuple(parts) | ExprKind::List(parts) => {
                let parts = tree.expr_list(parts);
                let whole = self.operation(FunctionOp::Unpack(parts.len() as u32), vec![value], span);
                let fields: Vec<InstId> =
                    (0..parts.len() as i64).map(|index| self.field(whole, index, span)).collect();
                for (part, field) in parts.iter().zip(fields) {
                    self.store(*part, field);
                }
            }
            ExprKind::Subscript(base, index) => {
                let base = self.expr(base);
                let (parts, indices) = self.indices(index);
                let args = [base, value].into_iter().chain(indices).collect();
                self.operation(FunctionOp::SetItem(parts), args, span);
            }
            _ => {
                self.unsupported("attribute-target", "cannot assign to this", "return the value", span);
            }
        }
    }

    /// A field of a tuple, or an element.
    pub(super) fn field(&mut self, whole: InstId, index: i64, span: Span) -> InstId {
        let index = self.int(index, span);
        self.operation(FunctionOp::GetItem(vec![IndexPart::At]), vec![whole, index], span)
    }

    /// `target op= value`: the place is computed once.
    fn assign_with(&mut self, target: ExprId, op: BinaryOp, value: ExprId, span: Span) {
        let (tree, place) = (self.tree, self.span(target));
        match tree.expr(target).kind {
            ExprKind::Subscript(base, index) => {
                let base = self.expr(base);
                let (parts, indices) = self.indices(index);
                let args = std::iter::once(base).chain(indices.iter().copied()).collect();
                let old = self.operation(FunctionOp::GetItem(parts.clone()), args, place);
                let value = self.expr(value);
                let new = self.operation(FunctionOp::Binary(op), vec![old, value], span);
                let args = [base, new].into_iter().chain(indices).collect();
                self.operation(FunctionOp::SetItem(parts), args, place);
            }
            _ => {
                let old = self.expr(target);
                let value = self.expr(value);
                let new = self.operation(FunctionOp::InPlace(op), vec![old, value], span);
                self.store(target, new);
            }
        }
    }

    /// `if`, `elif`, `else`: a chain of any length.
    fn if_chain(&mut self, first: StmtId) {
        let tree = self.tree;
        let end = self.new_block();
        let mut statement = first;
        while let StmtKind::If { test, body, orelse } = tree.stmt(statement).kind {
            let span = tree.stmt(statement).span;
            let (then, other) = (self.new_block(), self.new_block());
            self.branch_on(test, then, other);
            self.begin(then);
            self.statements(tree.block(body));
            self.end_block(Tail::Jump(end), span);
            self.begin(other);
            match tree.block(orelse) {
                [one] if matches!(tree.stmt(*one).kind, StmtKind::If { .. }) => statement = *one,
                rest => {
                    self.statements(rest);
                    break;
                }
            }
        }
        self.jump_into(end, tree.stmt(first).span);
    }

    fn match_cases(&mut self, subject: ExprId, cases: Stretch, span: Span) {
        let tree = self.tree;
        let subject = self.expr(subject);
        let end = self.new_block();
        for case in tree.cases(cases) {
            let (body, next) = (self.new_block(), self.new_block());
            let guard = self.new_block();
            for pattern in tree.patterns(case.patterns) {
                let otherwise = self.new_block();
                match pattern {
                    PyPattern::Literal(literal) => {
                        let is_word = matches!(tree.expr(*literal).kind, ExprKind::None | ExprKind::Bool(_));
                        let (place, literal) = (self.span(*literal), self.expr(*literal));
                        let op = if is_word { CompareOp::Is } else { CompareOp::Equal };
                        let op = FunctionOp::Compare(op);
                        let condition = self.operation(op, vec![subject, literal], place);
                        let tail = Tail::Branch { condition, then: guard, orelse: otherwise };
                        self.end_block(tail, place);
                    }
                    PyPattern::Wildcard(place) => self.end_block(Tail::Jump(guard), *place),
                    PyPattern::Capture(name, place) => {
                        if let Some(variable) = self.target_variable(tree.name(*name)) {
                            self.write(variable, subject, *place);
                        }
                        self.end_block(Tail::Jump(guard), *place);
                    }
                }
                self.begin(otherwise);
            }
            self.end_block(Tail::Jump(next), case.span);
            self.begin(guard);
            match case.guard {
                Some(test) => self.branch_on(test, body, next),
                None => self.end_block(Tail::Jump(body), case.span),
            }
            self.begin(body);
            self.statements(tree.block(case.body));
            self.end_block(Tail::Jump(end), case.span);
            self.begin(next);
        }
        self.jump_into(end, span);
    }

    fn raise(&mut self, exception: Option<ExprId>, span: Span) {
        let tree = self.tree;
        let Some(exception) = exception else { return self.raise_again(span) };
        if self.resolve_expr(exception) == Some(Resolved::Exception) {
            return self.raise_again(span);
        }
        let (class, message) = match tree.expr(exception).kind {
            ExprKind::Call { callee, args, .. } => (callee, tree.expr_list(args).first().copied()),
            _ => (exception, None),
        };
        let ExprKind::Name(class) = tree.expr(class).kind else {
            self.unsupported(
                "raise-class",
                "what is raised is no class with a name",
                "raise ValueError(\"…\")",
                span,
            );
            return;
        };
        if !self.may_raise(tree.name(class), span) {
            return;
        }
        let message = match message.map(|message| tree.expr(message).kind) {
            Some(ExprKind::Text(text)) => tree.name(text).to_owned(),
            Some(_) => {
                let message = message.and_then(|message| self.constant_value(message));
                message.map_or_else(String::new, |constant| constant.to_string())
            }
            None => String::new(),
        };
        self.fail(Category::Raised, format!("{}: {message}", tree.name(class)), span);
    }

    fn assert(&mut self, test: ExprId, message: Option<ExprId>, span: Span) {
        let (holds, fails) = (self.new_block(), self.new_block());
        self.branch_on(test, holds, fails);
        self.begin(fails);
        let message = match message.map(|message| self.tree.expr(message).kind) {
            Some(ExprKind::Text(text)) => self.tree.name(text).to_owned(),
            _ => String::new(),
        };
        self.fail(Category::Raised, format!("AssertionError: {message}"), span);
        self.begin(holds);
    }

    /// A value that is written on several ways, and read behind them.
    pub(super) fn merged(&mut self) -> VarId {
        self.variable("")
    }
}

fn outside_loop(word: &str, span: Span) -> FunctionError {
    let message = format!("'{word}' outside loop");
    FunctionError::unsupported("misplaced-statement", message, "remove it", span)
}
