//! Patterns of `match`: literals, `_`, and a name that takes the value, joined by `|`.

use crate::python::cursor::{Failed, Parser};
use crate::python::error::Outside;
use crate::python::operators::UnaryOp;
use crate::python::pending::Stop;
use crate::python::token::PyToken;
use crate::python::tree::{ExprKind, PyPattern, Stretch};
use cembra_vm::program::instruction::Span;

impl Parser<'_> {
    /// Reads patterns up to `if` or `:`.
    pub(super) fn patterns(&mut self) -> Result<Stretch, Failed> {
        let start = self.tree.patterns.len() as u32;
        loop {
            let pattern = self.pattern()?;
            self.tree.patterns.push(pattern);
            if !self.take(PyToken::Pipe) {
                break;
            }
        }
        match self.peek() {
            PyToken::Colon | PyToken::If => {}
            _ => {
                let span = self.span();
                self.refuse_pattern(span.start)?;
            }
        }
        Ok(Stretch { start, end: self.tree.patterns.len() as u32 })
    }

    fn pattern(&mut self) -> Result<PyPattern, Failed> {
        let span = self.span();
        let next = self.peek_at(1).token;
        match self.peek() {
            PyToken::Name if matches!(next, PyToken::Pipe | PyToken::Colon | PyToken::If) => {
                self.advance();
                Ok(match self.slice(span) {
                    "_" => PyPattern::Wildcard(span),
                    _ => PyPattern::Capture(self.name_id(span), span),
                })
            }
            PyToken::Minus if next == PyToken::Number => self.literal(),
            PyToken::Number | PyToken::String | PyToken::True | PyToken::False | PyToken::None => {
                self.literal()
            }
            _ => self.refuse_pattern(span.start),
        }
    }

    /// Reads a literal, with a minus sign or not.
    fn literal(&mut self) -> Result<PyPattern, Failed> {
        let minus = self.take(PyToken::Minus).then(|| self.previous_end() - 1);
        let operand = self.expression(Stop::Pattern)?;
        let Some(start) = minus else { return Ok(PyPattern::Literal(operand.id)) };
        let negative = self.add(ExprKind::Unary(UnaryOp::Neg, operand.id), start, operand.end);
        Ok(PyPattern::Literal(negative.id))
    }

    /// Reports a pattern and passes over it.
    fn refuse_pattern(&mut self, start: u32) -> Result<PyPattern, Failed> {
        let mut depth = 0;
        loop {
            match self.peek() {
                PyToken::Newline | PyToken::End => return self.expected("`:`"),
                PyToken::Colon | PyToken::If if depth == 0 => break,
                PyToken::ParenOpen | PyToken::SquareOpen | PyToken::BraceOpen => depth += 1,
                PyToken::ParenClose | PyToken::SquareClose | PyToken::BraceClose => depth -= 1,
                _ => {}
            }
            self.advance();
        }
        let span = Span { start, end: self.previous_end().max(start) };
        self.outside(Outside::Pattern, span);
        let refused = self.add(ExprKind::Refused, span.start, span.end);
        Ok(PyPattern::Literal(refused.id))
    }
}
