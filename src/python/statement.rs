//! Statements of one line: assignments, imports, jumps, and what tests them.

use crate::python::cursor::{Failed, Operand, Parser};
use crate::python::error::{Outside, PythonProblem};
use crate::python::expression::begins_operand;
use crate::python::operators::{BinaryOp, CompareOp};
use crate::python::pending::{Header, Stop};
use crate::python::token::PyToken;
use crate::python::tree::{ExprId, ExprKind, NameId, PyAlias, PyParameter, StmtKind, Stretch};
use cembra_vm::program::instruction::Span;
use hashbrown::HashSet;

impl Parser<'_> {
    /// Statements up to the end of the line, with `;` between them.
    pub(super) fn simple_line(&mut self) -> Result<(), Failed> {
        loop {
            self.simple_statement()?;
            if !self.take(PyToken::Semicolon) {
                break;
            }
            if self.peek() == PyToken::Newline {
                break;
            }
        }
        self.line_end = self.previous_end();
        self.expect(PyToken::Newline, "the end of the line")?;
        Ok(())
    }

    fn simple_statement(&mut self) -> Result<(), Failed> {
        let (token, span) = (self.peek(), self.span());
        let kind = match token {
            PyToken::Pass => self.word(StmtKind::Pass),
            PyToken::Break => self.jump("break", StmtKind::Break),
            PyToken::Continue => self.jump("continue", StmtKind::Continue),
            PyToken::Return => self.return_statement()?,
            PyToken::Raise => self.raise()?,
            PyToken::Assert => self.assert()?,
            PyToken::Del => self.delete()?,
            PyToken::Import => self.import()?,
            PyToken::From => self.import_from()?,
            PyToken::Global => self.global()?,
            PyToken::Nonlocal => self.nonlocal()?,
            PyToken::Yield => self.yield_statement()?,
            token if begins_operand(token) => self.expression_statement()?,
            _ => return self.expected("a statement"),
        };
        self.add_statement(kind, span.start, self.previous_end());
        Ok(())
    }

    fn word(&mut self, kind: StmtKind) -> StmtKind {
        self.advance();
        kind
    }

    fn jump(&mut self, statement: &'static str, kind: StmtKind) -> StmtKind {
        let span = self.advance().span();
        if !self.is_in_loop() {
            self.error(PythonProblem::Misplaced { statement, place: "loop" }, span);
        }
        kind
    }

    /// True in the body of a loop of the same function.
    fn is_in_loop(&self) -> bool {
        let headers = self.blocks.iter().rev().map(|block| &block.header);
        let own = headers.take_while(|header| !matches!(header, Header::Function { .. }));
        own.into_iter().any(|header| {
            matches!(
                header,
                Header::For { body: None, .. } | Header::While { body: None, .. } | Header::Refused
            )
        })
    }

    pub(super) fn is_in_function(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block.header, Header::Function { .. }))
    }

    fn return_statement(&mut self) -> Result<StmtKind, Failed> {
        let span = self.advance().span();
        let is_refused = self.blocks.iter().any(|block| matches!(block.header, Header::Refused));
        if !self.is_in_function() && !is_refused {
            self.error(PythonProblem::Misplaced { statement: "return", place: "function" }, span);
        }
        let value = match begins_operand(self.peek()) {
            true => Some(self.expression(Stop::Line)?.id),
            false => None,
        };
        Ok(StmtKind::Return(value))
    }

    fn raise(&mut self) -> Result<StmtKind, Failed> {
        self.advance();
        if !begins_operand(self.peek()) {
            return Ok(StmtKind::Raise(None));
        }
        let exception = self.expression(Stop::Single)?.id;
        if self.peek() == PyToken::From {
            let span = self.advance().span();
            self.outside(Outside::RaiseFrom, span);
            self.expression(Stop::Single)?;
        }
        Ok(StmtKind::Raise(Some(exception)))
    }

    fn assert(&mut self) -> Result<StmtKind, Failed> {
        self.advance();
        let test = self.expression(Stop::Single)?.id;
        let message = match self.take(PyToken::Comma) {
            true => Some(self.expression(Stop::Single)?.id),
            false => None,
        };
        Ok(StmtKind::Assert { test, message })
    }

    fn delete(&mut self) -> Result<StmtKind, Failed> {
        self.advance();
        let operand = self.expression(Stop::Line)?;
        let first = self.items.len();
        match self.tree.expr(operand.id).kind {
            ExprKind::Tuple(list) | ExprKind::List(list) => {
                self.items.extend_from_slice(&self.tree.expr_lists[list.range()]);
            }
            _ => self.items.push(operand.id),
        }
        for at in first..self.items.len() {
            let id = self.items[at];
            let span = self.tree.expr(id).span;
            match self.tree.expr(id).kind {
                ExprKind::Name(_) | ExprKind::Refused => {}
                ExprKind::Subscript(..)
                | ExprKind::Attribute(..)
                | ExprKind::Tuple(_)
                | ExprKind::List(_) => {
                    self.outside(Outside::DeleteItem, span);
                }
                _ => {
                    let what = self.describe(id);
                    self.error(PythonProblem::Target { what }, span);
                }
            }
        }
        Ok(StmtKind::Delete(self.list_from(first)))
    }

    fn global(&mut self) -> Result<StmtKind, Failed> {
        let span = self.advance().span();
        self.declared_names()?;
        let span = Span { start: span.start, end: self.previous_end() };
        self.outside(Outside::Global, span);
        Ok(StmtKind::Refused(Stretch::default()))
    }

    fn nonlocal(&mut self) -> Result<StmtKind, Failed> {
        self.advance();
        self.declared_names().map(StmtKind::Nonlocal)
    }

    /// Names with commas between them.
    fn declared_names(&mut self) -> Result<Stretch, Failed> {
        let first = self.items.len();
        loop {
            let Ok((name, span)) = self.name("a name") else {
                self.items.truncate(first);
                return Err(Failed);
            };
            let name = self.add(ExprKind::Name(name), span.start, span.end);
            self.items.push(name.id);
            if !self.take(PyToken::Comma) {
                return Ok(self.list_from(first));
            }
        }
    }

    /// `yield value` as a statement.
    fn yield_statement(&mut self) -> Result<StmtKind, Failed> {
        let span = self.advance().span();
        let is_refused = self.blocks.iter().any(|block| matches!(block.header, Header::Refused));
        if self.peek() == PyToken::From {
            self.outside(Outside::Yield, span);
            self.advance();
        } else if !self.is_in_function() && !is_refused {
            self.error(PythonProblem::Misplaced { statement: "yield", place: "function" }, span);
        }
        let value = match begins_operand(self.peek()) {
            true => Some(self.expression(Stop::Line)?.id),
            false => None,
        };
        let end = self.previous_end();
        Ok(StmtKind::Expr(self.add(ExprKind::Yield(value), span.start, end).id))
    }

    fn import(&mut self) -> Result<StmtKind, Failed> {
        let span = self.advance().span();
        let mut aliases = Vec::new();
        loop {
            let (name, place) = self.dotted_name()?;
            aliases.push(self.alias(name, place)?);
            if !self.take(PyToken::Comma) {
                break;
            }
        }
        self.check_import(span);
        Ok(StmtKind::Import(self.alias_list(aliases)))
    }

    fn import_from(&mut self) -> Result<StmtKind, Failed> {
        let span = self.advance().span();
        let start = self.span().start;
        while matches!(self.peek(), PyToken::Dot | PyToken::Ellipsis) {
            self.advance();
        }
        if self.peek() == PyToken::Name {
            self.dotted_name()?;
        } else if self.span().start == start {
            return self.expected("the name of a module");
        }
        let module = self.joined_name(Span { start, end: self.previous_end() });
        self.expect(PyToken::Import, "`import`")?;
        self.check_import(span);
        if self.peek() == PyToken::Star {
            let span = self.advance().span();
            self.outside(Outside::ImportStar, span);
            return Ok(StmtKind::ImportFrom { module, names: Stretch::default() });
        }
        let in_brackets = self.take(PyToken::ParenOpen);
        let mut aliases = Vec::new();
        loop {
            let (name, place) = self.name("a name")?;
            aliases.push(self.alias(name, place)?);
            if !self.take(PyToken::Comma) || (in_brackets && self.peek() == PyToken::ParenClose) {
                break;
            }
        }
        if in_brackets {
            self.expect(PyToken::ParenClose, "`,` or `)`")?;
        }
        Ok(StmtKind::ImportFrom { module, names: self.alias_list(aliases) })
    }

    fn check_import(&mut self, span: Span) {
        if self.is_in_function() {
            let span = Span { start: span.start, end: self.previous_end() };
            self.outside(Outside::ImportInside, span);
        }
    }

    fn dotted_name(&mut self) -> Result<(NameId, Span), Failed> {
        let (name, mut span) = self.name("the name of a module")?;
        if self.peek() != PyToken::Dot {
            return Ok((name, span));
        }
        while self.take(PyToken::Dot) {
            span.end = self.name("a name")?.1.end;
        }
        Ok((self.joined_name(span), span))
    }

    /// Names and dots without what may stand between them.
    fn joined_name(&mut self, span: Span) -> NameId {
        let is_part = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let text: String = self.slice(span).chars().filter(is_part).collect();
        self.intern_name(&text)
    }

    fn alias(&mut self, name: NameId, span: Span) -> Result<PyAlias, Failed> {
        let alias = match self.take(PyToken::As) {
            true => Some(self.name("a name")?.0),
            false => None,
        };
        Ok(PyAlias { name, alias, span: Span { start: span.start, end: self.previous_end() } })
    }

    fn alias_list(&mut self, aliases: Vec<PyAlias>) -> Stretch {
        let start = self.tree.aliases.len() as u32;
        self.tree.aliases.extend(aliases);
        Stretch { start, end: self.tree.aliases.len() as u32 }
    }

    fn expression_statement(&mut self) -> Result<StmtKind, Failed> {
        let first = self.expression(Stop::Line)?;
        match self.peek() {
            PyToken::Equal => self.assign(first),
            PyToken::Colon => self.annotated(first),
            token => match augmented(token) {
                Some(op) => self.augmented(first, op),
                None => Ok(StmtKind::Expr(first.id)),
            },
        }
    }

    fn assign(&mut self, first: Operand) -> Result<StmtKind, Failed> {
        let base = self.items.len();
        let mut last = first;
        while self.peek() == PyToken::Equal {
            self.check_target(last.id);
            self.items.push(last.id);
            self.advance();
            match self.expression(Stop::Line) {
                Ok(next) => last = next,
                Err(failed) => {
                    self.items.truncate(base);
                    return Err(failed);
                }
            }
        }
        let targets = self.list_from(base);
        Ok(StmtKind::Assign { targets, value: last.id })
    }

    fn augmented(&mut self, target: Operand, op: BinaryOp) -> Result<StmtKind, Failed> {
        match self.tree.expr(target.id).kind {
            ExprKind::Tuple(_) | ExprKind::List(_) => {
                let (what, span) = (self.describe(target.id), self.tree.expr(target.id).span);
                self.error(PythonProblem::Target { what }, span);
            }
            _ => self.check_target(target.id),
        }
        let span = self.advance().span();
        if op == BinaryOp::MatMul {
            self.outside(Outside::MatrixProduct, span);
        }
        let value = self.expression(Stop::Line)?.id;
        Ok(StmtKind::AugAssign { target: target.id, op, value })
    }

    fn annotated(&mut self, target: Operand) -> Result<StmtKind, Failed> {
        match self.tree.expr(target.id).kind {
            ExprKind::Tuple(_) | ExprKind::List(_) => {
                let (what, span) = (self.describe(target.id), self.tree.expr(target.id).span);
                self.error(PythonProblem::Target { what }, span);
            }
            _ => self.check_target(target.id),
        }
        self.advance();
        let annotation = self.expression(Stop::Single)?.id;
        let value = match self.take(PyToken::Equal) {
            true => Some(self.expression(Stop::Line)?.id),
            false => None,
        };
        Ok(StmtKind::AnnAssign { target: target.id, annotation, value })
    }

    /// Reports what cannot be assigned to.
    pub(super) fn check_target(&mut self, target: ExprId) {
        let mut work = vec![target];
        while let Some(id) = work.pop() {
            let span = self.tree.expr(id).span;
            match self.tree.expr(id).kind {
                ExprKind::Name(_) | ExprKind::Subscript(..) | ExprKind::Refused => {}
                ExprKind::Attribute(..) => self.outside(Outside::AttributeTarget, span),
                ExprKind::Tuple(list) | ExprKind::List(list) => {
                    work.extend(self.tree.expr_list(list).iter().rev());
                }
                _ => {
                    let what = self.describe(id);
                    self.error(PythonProblem::Target { what }, span);
                }
            }
        }
    }

    /// What an expression is, in the words of CPython.
    pub(super) fn describe(&self, id: ExprId) -> &'static str {
        match self.tree.expr(id).kind {
            ExprKind::Name(_) => "name",
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Text(_) => "literal",
            ExprKind::Bool(true) => "True",
            ExprKind::Bool(false) => "False",
            ExprKind::None => "None",
            ExprKind::Call { .. } => "function call",
            ExprKind::Compare { .. } => "comparison",
            ExprKind::IfElse { .. } => "conditional expression",
            ExprKind::Lambda { .. } => "lambda",
            ExprKind::Tuple(_) => "tuple",
            ExprKind::List(_) => "list",
            ExprKind::ListComprehension { .. } => "list comprehension",
            ExprKind::Named(..) => "named expression",
            ExprKind::Dict(_) => "dict literal",
            ExprKind::Set(_) => "set display",
            ExprKind::SetComprehension(..) => "set comprehension",
            ExprKind::DictComprehension(..) => "dict comprehension",
            ExprKind::Generator(..) => "generator expression",
            ExprKind::Yield(_) => "yield expression",
            ExprKind::Attribute(..) => "attribute",
            ExprKind::Subscript(..) => "subscript",
            _ => "expression",
        }
    }

    /// Checks parameters and makes a list of them.
    pub(super) fn parameter_list(&mut self, parameters: Vec<PyParameter>) -> Stretch {
        self.check_parameters(&parameters);
        self.add_parameters(parameters)
    }

    fn check_parameters(&mut self, parameters: &[PyParameter]) {
        let mut names = HashSet::with_capacity(parameters.len());
        let mut has_default = false;
        for parameter in parameters {
            if !names.insert(parameter.name) {
                let name = self.tree.name(parameter.name).to_owned();
                self.error(PythonProblem::DuplicateParameter { name }, parameter.span);
            }
            if has_default && parameter.default.is_none() && !parameter.is_rest {
                self.error(PythonProblem::NonDefaultAfterDefault, parameter.span);
            }
            has_default |= parameter.default.is_some();
        }
    }

    /// Makes a list of parameters.
    pub(super) fn add_parameters(&mut self, parameters: Vec<PyParameter>) -> Stretch {
        let start = self.tree.parameters.len() as u32;
        self.tree.parameters.extend(parameters);
        Stretch { start, end: self.tree.parameters.len() as u32 }
    }

    pub(super) fn ops_from(&mut self, first: usize) -> Stretch {
        let start = self.tree.compare_ops.len() as u32;
        let ops: std::vec::Drain<'_, CompareOp> = self.ops.drain(first..);
        self.tree.compare_ops.extend(ops);
        Stretch { start, end: self.tree.compare_ops.len() as u32 }
    }
}

fn augmented(token: PyToken) -> Option<BinaryOp> {
    Some(match token {
        PyToken::PlusEqual => BinaryOp::Add,
        PyToken::MinusEqual => BinaryOp::Sub,
        PyToken::StarEqual => BinaryOp::Mul,
        PyToken::SlashEqual => BinaryOp::Div,
        PyToken::DoubleSlashEqual => BinaryOp::FloorDiv,
        PyToken::PercentEqual => BinaryOp::Mod,
        PyToken::DoubleStarEqual => BinaryOp::Pow,
        PyToken::ShiftLeftEqual => BinaryOp::ShiftLeft,
        PyToken::ShiftRightEqual => BinaryOp::ShiftRight,
        PyToken::AmpersandEqual => BinaryOp::BitAnd,
        PyToken::PipeEqual => BinaryOp::BitOr,
        PyToken::CaretEqual => BinaryOp::BitXor,
        PyToken::AtEqual => BinaryOp::MatMul,
        _ => return None,
    })
}
