//! Statements with blocks: functions, loops, branches, `match`; the loop over all statements.
//!
//! ```text
//! if a:          push Block If
//!     b = 1      a statement of the innermost block
//! elif c:        the block ends: an arm of the If, and the next one begins
//! ```
//!
//! Blocks wait on a stack, and a chain of `elif` is one entry of it, so nothing here recurses. Behind an
//! error the parser goes on with the next line; a block below a line that was given up is read too.

use crate::python::cursor::{Failed, Parser};
use crate::python::error::{Outside, PythonProblem};
use crate::python::pending::{Arm, Block, Header, Stop};
use crate::python::token::PyToken;
use crate::python::tree::{ExprId, PyCase, PyParameter, PyPattern, StmtKind, Stretch};
use cembra_vm::program::instruction::Span;

/// Whether a block follows, or has ended on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suite {
    Follows,
    Ended,
}

impl Parser<'_> {
    /// Reads all statements.
    pub(super) fn module(&mut self) {
        loop {
            match self.peek() {
                PyToken::End => break,
                PyToken::Newline => {
                    self.advance();
                }
                PyToken::Dedent => {
                    self.advance();
                    self.close_block();
                }
                PyToken::Indent => {
                    let span = self.advance().span();
                    self.error(PythonProblem::UnexpectedIndent, span);
                    self.refused_block(span.start);
                }
                _ => {
                    if self.statement().is_err() {
                        self.give_up_line();
                    }
                }
            }
        }
        while !self.blocks.is_empty() {
            self.close_block();
        }
        self.refuse_decorators();
        self.tree.body = self.block_from(0);
    }

    /// Passes over the rest of a line, and opens the block below it.
    pub(super) fn give_up_line(&mut self) {
        self.pending.clear();
        self.decorators.clear();
        let start = self.span().start;
        while !matches!(self.peek(), PyToken::Newline | PyToken::End) {
            // A block may begin in the middle of a line that was given up in brackets.
            if matches!(self.peek(), PyToken::Indent | PyToken::Dedent) {
                return;
            }
            self.advance();
        }
        self.take(PyToken::Newline);
        if self.take(PyToken::Indent) {
            self.refused_block(start);
        }
    }

    fn refused_block(&mut self, start: u32) {
        self.open_block(Header::Refused, start);
    }

    pub(super) fn open_block(&mut self, header: Header, start: u32) {
        self.blocks.push(Block { header, start, statements: self.statements.len() });
    }

    fn statement(&mut self) -> Result<(), Failed> {
        let (token, start) = (self.peek(), self.span().start);
        if matches!(self.blocks.last(), Some(Block { header: Header::Match { .. }, .. })) {
            return self.case();
        }
        if !self.decorators.is_empty()
            && !matches!(token, PyToken::Def | PyToken::At | PyToken::Class | PyToken::Async)
        {
            self.decorators.clear();
            return self.expected("`def` behind a decorator");
        }
        match token {
            PyToken::At => self.decorator(),
            PyToken::Def => self.function(),
            PyToken::If => {
                self.advance();
                let test = self.expression(Stop::Test)?.id;
                let header = Header::If { arms: Vec::new(), arm_start: start, test: Some(test) };
                self.suite("if", header, start)
            }
            PyToken::While => {
                self.advance();
                let test = self.expression(Stop::Test)?.id;
                self.suite("while", Header::While { test, body: None }, start)
            }
            PyToken::For => {
                self.advance();
                let (target, iter) = self.for_header()?;
                self.suite("for", Header::For { target, iter, body: None }, start)
            }
            PyToken::Async => {
                let span = self.advance().span();
                self.outside(Outside::Async, span);
                self.statement()
            }
            PyToken::With => self.refused_header("with", Outside::With),
            PyToken::Try => self.try_statement(),
            PyToken::Class => {
                self.decorators.clear();
                self.refused_header("class", Outside::Class)
            }
            PyToken::Name if self.begins_match() => self.match_statement(),
            _ => self.simple_line(),
        }
    }

    fn decorator(&mut self) -> Result<(), Failed> {
        self.advance();
        let decorator = self.expression(Stop::Test)?.id;
        self.decorators.push(decorator);
        self.expect(PyToken::Newline, "the end of the line")?;
        Ok(())
    }

    fn refuse_decorators(&mut self) {
        if !self.decorators.is_empty() {
            self.decorators.clear();
            let _ = self.expected::<()>("`def` behind a decorator");
        }
    }

    fn function(&mut self) -> Result<(), Failed> {
        let start = self.advance().start;
        let (name, _) = self.name("the name of the function")?;
        self.expect(PyToken::ParenOpen, "`(`")?;
        let known = self.errors.len();
        let parameters = self.parameters()?;
        // Behind `*` the order of parameters has other rules.
        let parameters = match self.errors.len() == known {
            true => self.parameter_list(parameters),
            false => self.add_parameters(parameters),
        };
        let returns = match self.take(PyToken::Arrow) {
            true => Some(self.expression(Stop::Single)?.id),
            false => None,
        };
        let first = self.items.len();
        let waiting = std::mem::take(&mut self.decorators);
        self.items.extend(waiting);
        let decorators = self.list_from(first);
        self.suite("def", Header::Function { name, parameters, returns, decorators }, start)
    }

    /// Parameters up to the closing bracket.
    fn parameters(&mut self) -> Result<Vec<PyParameter>, Failed> {
        let mut parameters = Vec::new();
        while !self.take(PyToken::ParenClose) {
            match self.peek() {
                PyToken::Star if self.peek_at(1).token == PyToken::Name && !has_rest(&parameters) => {
                    self.advance();
                    let parameter = PyParameter { is_rest: true, ..self.parameter()? };
                    if let Some(default) = parameter.default {
                        self.outside(Outside::ParameterKinds, self.tree.expr(default).span);
                    }
                    parameters.push(parameter);
                }
                PyToken::Star | PyToken::DoubleStar | PyToken::Slash => {
                    let mut span = self.advance().span();
                    if self.peek() == PyToken::Name {
                        span.end = self.parameter()?.span.end;
                    }
                    self.outside(Outside::ParameterKinds, span);
                }
                _ => {
                    let parameter = self.parameter()?;
                    if has_rest(&parameters) {
                        self.outside(Outside::ParameterKinds, parameter.span);
                    }
                    parameters.push(parameter);
                }
            }
            if !self.take(PyToken::Comma) && self.peek() != PyToken::ParenClose {
                return self.expected("`,` or `)`");
            }
        }
        Ok(parameters)
    }

    fn parameter(&mut self) -> Result<PyParameter, Failed> {
        let (name, place) = self.name("a parameter or `)`")?;
        let annotation = match self.take(PyToken::Colon) {
            true => Some(self.expression(Stop::Single)?.id),
            false => None,
        };
        let span = Span { start: place.start, end: self.previous_end() };
        let default = match self.take(PyToken::Equal) {
            true => Some(self.expression(Stop::Single)?.id),
            false => None,
        };
        Ok(PyParameter { name, annotation, default, span, is_rest: false })
    }

    fn for_header(&mut self) -> Result<(ExprId, ExprId), Failed> {
        let target = self.expression(Stop::Target)?.id;
        self.expect(PyToken::In, "`in`")?;
        self.check_target(target);
        let iter = self.expression(Stop::Line)?.id;
        Ok((target, iter))
    }

    /// A statement outside of the subset, whose block is read for its errors.
    fn refused_header(&mut self, word: &'static str, outside: Outside) -> Result<(), Failed> {
        let span = self.advance().span();
        self.outside(outside, span);
        while !matches!(self.peek(), PyToken::Colon | PyToken::Newline | PyToken::End) {
            // Colons in brackets belong to them.
            let opening =
                matches!(self.peek(), PyToken::ParenOpen | PyToken::SquareOpen | PyToken::BraceOpen);
            self.advance();
            if opening {
                self.skip_brackets();
            }
        }
        self.suite(word, Header::Refused, span.start)
    }

    fn skip_brackets(&mut self) {
        let mut depth = 1;
        while depth > 0 && !matches!(self.peek(), PyToken::Newline | PyToken::End) {
            match self.advance().token {
                PyToken::ParenOpen | PyToken::SquareOpen | PyToken::BraceOpen => depth += 1,
                PyToken::ParenClose | PyToken::SquareClose | PyToken::BraceClose => depth -= 1,
                _ => {}
            }
        }
    }

    /// Behind the header of a statement: the colon, and the block or what stands on the line.
    pub(super) fn suite(
        &mut self,
        statement: &'static str,
        header: Header,
        start: u32,
    ) -> Result<(), Failed> {
        self.open_block(header, start);
        match self.begin_suite(statement) {
            Ok(Suite::Follows) => {}
            Ok(Suite::Ended) => self.close_block(),
            // The header was wrong: its block is read like that of something refused.
            Err(failed) => {
                self.blocks.pop();
                return Err(failed);
            }
        }
        Ok(())
    }

    fn begin_suite(&mut self, statement: &'static str) -> Result<Suite, Failed> {
        self.expect(PyToken::Colon, "`:`")?;
        if self.peek() != PyToken::Newline {
            // A line that fails ends the block too.
            if self.simple_line().is_err() {
                self.give_up_line();
            }
            return Ok(Suite::Ended);
        }
        let span = self.advance().span();
        if self.take(PyToken::Indent) {
            return Ok(Suite::Follows);
        }
        let start = self.blocks.last().map_or(0, |block| block.start);
        let line = self.tree.lines.position(start).0;
        let place = self.span();
        let place = if self.peek() == PyToken::End { span } else { place };
        self.error(PythonProblem::MissingBlock { statement, line }, place);
        Ok(Suite::Ended)
    }

    /// Ends the innermost block; `elif`, `else`, `except` and `finally` begin the next one of the same
    /// statement.
    fn close_block(&mut self) {
        while let Some(block) = self.blocks.pop() {
            let body = self.block_from(block.statements);
            let start = block.start;
            let next = match block.header {
                Header::If { mut arms, arm_start, test: Some(test) } => {
                    arms.push(Arm { start: arm_start, test, body });
                    self.next_arm(arms, start)
                }
                Header::For { target, iter, body: None } if self.peek() == PyToken::Else => {
                    self.else_suite(Header::For { target, iter, body: Some(body) }, start)
                }
                Header::While { test, body: None } if self.peek() == PyToken::Else => {
                    self.else_suite(Header::While { test, body: Some(body) }, start)
                }
                Header::Try(draft) => self.next_part(draft, body, start),
                header => {
                    self.finish(header, body, start);
                    return;
                }
            };
            if next == Suite::Follows {
                return;
            }
        }
    }

    fn next_arm(&mut self, arms: Vec<Arm>, start: u32) -> Suite {
        match self.peek() {
            PyToken::Else => self.else_suite(Header::If { arms, arm_start: start, test: None }, start),
            PyToken::Elif => {
                let arm_start = self.advance().start;
                let Ok(test) = self.expression(Stop::Test) else {
                    self.give_up_line();
                    self.finish_if(arms, Stretch::default());
                    return Suite::Follows;
                };
                self.open_block(Header::If { arms, arm_start, test: Some(test.id) }, start);
                self.next_suite("elif")
            }
            _ => {
                self.finish_if(arms, Stretch::default());
                Suite::Follows
            }
        }
    }

    pub(super) fn else_suite(&mut self, header: Header, start: u32) -> Suite {
        self.advance();
        self.open_block(header, start);
        self.next_suite("else")
    }

    pub(super) fn next_suite(&mut self, statement: &'static str) -> Suite {
        self.begin_suite(statement).unwrap_or_else(|Failed| {
            self.give_up_line();
            Suite::Follows
        })
    }

    fn finish(&mut self, header: Header, block: Stretch, start: u32) {
        let end = self.line_end.max(start);
        let kind = match header {
            Header::Function { name, parameters, returns, decorators } => {
                StmtKind::FunctionDef { name, parameters, returns, decorators, body: block }
            }
            Header::For { target, iter, body } => {
                let (body, orelse) = body.map_or((block, Stretch::default()), |body| (body, block));
                StmtKind::For { target, iter, body, orelse }
            }
            Header::While { test, body } => {
                let (body, orelse) = body.map_or((block, Stretch::default()), |body| (body, block));
                StmtKind::While { test, body, orelse }
            }
            Header::If { arms, .. } => return self.finish_if(arms, block),
            Header::Match { subject, cases } => return self.finish_match(subject, cases, start),
            Header::Case { patterns, guard, span } => {
                if let Some(Block { header: Header::Match { cases, .. }, .. }) = self.blocks.last_mut() {
                    cases.push(PyCase { patterns, guard, body: block, span });
                }
                return;
            }
            Header::Try(_) => return,
            Header::Refused => StmtKind::Refused(block),
        };
        self.add_statement(kind, start, end);
    }

    /// Builds a chain of `elif` from its end.
    fn finish_if(&mut self, arms: Vec<Arm>, orelse: Stretch) {
        let end = self.line_end;
        let mut orelse = orelse;
        for (at, arm) in arms.into_iter().enumerate().rev() {
            let Arm { start, test, body } = arm;
            self.add_statement(StmtKind::If { test, body, orelse }, start, end.max(start));
            if at > 0 {
                orelse = self.block_from(self.statements.len() - 1);
            }
        }
    }

    /// Is this name the word `match` of a statement? The line must end with a colon and a block follow.
    fn begins_match(&self) -> bool {
        if self.slice(self.span()) != "match" {
            return false;
        }
        let mut depth = 0_i32;
        let mut last = PyToken::Name;
        for ahead in 1.. {
            let token = self.peek_at(ahead).token;
            match token {
                PyToken::Newline | PyToken::End => {
                    return ahead > 2
                        && last == PyToken::Colon
                        && self.peek_at(ahead + 1).token == PyToken::Indent;
                }
                PyToken::ParenOpen | PyToken::SquareOpen | PyToken::BraceOpen => depth += 1,
                PyToken::ParenClose | PyToken::SquareClose | PyToken::BraceClose => depth -= 1,
                PyToken::Equal if depth == 0 => return false,
                _ => {}
            }
            last = token;
        }
        false
    }

    fn match_statement(&mut self) -> Result<(), Failed> {
        let start = self.advance().start;
        let subject = self.expression(Stop::Line)?.id;
        self.expect(PyToken::Colon, "`:`")?;
        self.expect(PyToken::Newline, "the end of the line")?;
        self.expect(PyToken::Indent, "`case`")?;
        self.open_block(Header::Match { subject, cases: Vec::new() }, start);
        Ok(())
    }

    fn case(&mut self) -> Result<(), Failed> {
        if self.peek() != PyToken::Name || self.slice(self.span()) != "case" {
            return self.expected("`case`");
        }
        let start = self.advance().start;
        let first = self.span().start;
        let patterns = self.patterns()?;
        let span = Span { start: first, end: self.previous_end() };
        let guard = match self.take(PyToken::If) {
            true => Some(self.expression(Stop::Test)?.id),
            false => None,
        };
        self.suite("case", Header::Case { patterns, guard, span }, start)
    }

    fn finish_match(&mut self, subject: ExprId, cases: Vec<PyCase>, start: u32) {
        for case in &cases[..cases.len().saturating_sub(1)] {
            let catches_all = |pattern: &PyPattern| !matches!(pattern, PyPattern::Literal(_));
            if case.guard.is_none() && self.tree.patterns(case.patterns).iter().any(catches_all) {
                self.error(PythonProblem::UnreachableCase, case.span);
            }
        }
        let end = self.line_end.max(start);
        let first = self.tree.cases.len() as u32;
        self.tree.cases.extend(cases);
        let cases = Stretch { start: first, end: self.tree.cases.len() as u32 };
        self.add_statement(StmtKind::Match { subject, cases }, start, end);
    }
}

/// True if a parameter takes what is left of the arguments.
pub(super) fn has_rest(parameters: &[PyParameter]) -> bool {
    parameters.iter().any(|parameter| parameter.is_rest)
}
