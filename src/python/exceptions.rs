//! `try`: its blocks, one behind the other.
//!
//! ```text
//! try:               push Block Try(Body)
//!     a
//! except B as c:     the block ends: the body is kept, and a Block Try(Handler) begins
//!     d
//! finally:           the handler is kept, and Try(Finally) begins
//! ```

use crate::python::block::Suite;
use crate::python::cursor::{Failed, Parser};
use crate::python::error::{Outside, PythonProblem};
use crate::python::pending::{Header, Stop, TryDraft, TryPart};
use crate::python::token::PyToken;
use crate::python::tree::{PyHandler, StmtKind, Stretch};
use cembra_vm::program::instruction::Span;

impl Parser<'_> {
    pub(super) fn try_statement(&mut self) -> Result<(), Failed> {
        let start = self.advance().start;
        let (body, orelse) = (Stretch::default(), Stretch::default());
        let draft = TryDraft { body, handlers: Vec::new(), orelse, part: TryPart::Body };
        self.suite("try", Header::Try(Box::new(draft)), start)
    }

    /// Keeps a block of a `try`, and begins the next one or ends the statement.
    pub(super) fn next_part(&mut self, draft: Box<TryDraft>, block: Stretch, start: u32) -> Suite {
        let mut draft = draft;
        let mut finish = Stretch::default();
        match draft.part {
            TryPart::Body => draft.body = block,
            TryPart::Handler(handler) => {
                let span = Span { start: handler.span.start, end: self.line_end.max(handler.span.end) };
                draft.handlers.push(PyHandler { body: block, span, ..handler });
            }
            TryPart::Else => draft.orelse = block,
            TryPart::Finally => finish = block,
        }
        match (self.peek(), draft.part) {
            (PyToken::Except, TryPart::Body | TryPart::Handler(_)) => self.handler(draft, start),
            (PyToken::Else, TryPart::Body | TryPart::Handler(_)) => {
                if draft.part == TryPart::Body {
                    let _ = self.expected::<()>("`except` or `finally`");
                }
                draft.part = TryPart::Else;
                self.else_suite(Header::Try(draft), start)
            }
            (PyToken::Finally, part) if part != TryPart::Finally => {
                draft.part = TryPart::Finally;
                self.advance();
                self.open_block(Header::Try(draft), start);
                self.next_suite("finally")
            }
            (_, part) => {
                if part == TryPart::Body {
                    let _ = self.expected::<()>("`except` or `finally`");
                }
                self.finish_try(*draft, finish, start);
                Suite::Follows
            }
        }
    }

    /// `except class as name:`.
    fn handler(&mut self, mut draft: Box<TryDraft>, start: u32) -> Suite {
        let span = self.advance().span();
        match self.handler_head(span) {
            Ok(handler) => {
                draft.part = TryPart::Handler(handler);
                self.open_block(Header::Try(draft), start);
                self.next_suite("except")
            }
            Err(Failed) => {
                self.finish_try(*draft, Stretch::default(), start);
                self.give_up_line();
                Suite::Follows
            }
        }
    }

    fn handler_head(&mut self, word: Span) -> Result<PyHandler, Failed> {
        if self.peek() == PyToken::Star {
            let span = self.advance().span();
            self.outside(Outside::ExceptionGroup, span);
        }
        let class = match self.peek() {
            PyToken::Colon => None,
            _ => Some(self.expression(Stop::Single)?.id),
        };
        let name = match class.is_some() && self.take(PyToken::As) {
            true => Some(self.name("a name for the exception")?.0),
            false => None,
        };
        Ok(PyHandler { class, name, body: Stretch::default(), span: word })
    }

    fn finish_try(&mut self, draft: TryDraft, finish: Stretch, start: u32) {
        let TryDraft { body, handlers, orelse, .. } = draft;
        for handler in &handlers[..handlers.len().saturating_sub(1)] {
            if handler.class.is_none() {
                self.error(PythonProblem::BareExcept, handler.span);
            }
        }
        let end = self.line_end.max(start);
        let first = self.tree.handlers.len() as u32;
        self.tree.handlers.extend(handlers);
        let handlers = Stretch { start: first, end: self.tree.handlers.len() as u32 };
        self.add_statement(StmtKind::Try { body, handlers, orelse, finish }, start, end);
    }
}
