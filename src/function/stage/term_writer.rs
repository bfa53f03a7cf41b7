//! Terms of a stage's document.

use crate::function::constant::Constant;
use crate::function::stage::schemas::StageName;
use crate::python::SourceLines;
use crate::schema::{Datum, Document, SourcePosition, TermValue};
use cembra_vm::program::instruction::Span;

/// Adds terms to a document.
pub(super) struct TermWriter<'l> {
    stage: StageName,
    lines: Option<&'l SourceLines>,
    pub(super) document: Document,
}

impl<'l> TermWriter<'l> {
    /// An empty document; positions are written if the lines of the source are known.
    pub(super) fn new(stage: StageName, lines: Option<&'l SourceLines>) -> TermWriter<'l> {
        TermWriter { stage, lines, document: Document::new() }
    }

    /// A term of a constructor, with its fields and attributes.
    pub(super) fn term(&mut self, constructor: &str, values: &[TermValue]) -> TermValue {
        let schema = self.stage.schema();
        let constructor = schema.find_constructor(constructor).expect("tests write every constructor");
        let term = self.document.add_term(schema, constructor, values);
        TermValue::Term(term.expect("tests write every constructor; a function has less than 2^31 terms"))
    }

    /// The same behind which a position stands.
    pub(super) fn placed(&mut self, constructor: &str, values: &[TermValue], span: Span) -> TermValue {
        let position = self.position(span);
        self.term(constructor, &[values, &[position]].concat())
    }

    pub(super) fn int(&mut self, value: impl Into<i64>) -> TermValue {
        self.document.add_datum(Datum::Int(value.into()))
    }

    pub(super) fn text(&mut self, text: &str) -> TermValue {
        self.document.add_text(text)
    }

    pub(super) fn list(&mut self, values: &[TermValue]) -> TermValue {
        self.document.add_list(values)
    }

    pub(super) fn constant(&mut self, constant: &Constant) -> TermValue {
        self.document.add_datum(match constant {
            Constant::None => Datum::None,
            Constant::Bool(value) => Datum::Bool(*value),
            Constant::Int(value) => Datum::Int(*value),
            Constant::Float(value) => Datum::Float(*value),
            Constant::Text(text) => Datum::Text((&**text).into()),
        })
    }

    fn position(&mut self, span: Span) -> TermValue {
        let Some(lines) = self.lines.filter(|_| !span.is_unknown()) else { return TermValue::Absent };
        let ((line, column), end) = (lines.position(span.start), lines.position(span.end));
        let position = SourcePosition { line, column, end: Some(end) };
        self.document.add_datum(Datum::Position(position))
    }
}
