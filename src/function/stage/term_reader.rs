//! Fields of a stage's document, read; what is wrong is noted.

use crate::function::constant::Constant;
use crate::function::stage::error::{StageError, StageProblem};
use crate::function::stage::schemas::StageName;
use crate::python::SourceLines;
use crate::schema::datum_text::datum_text;
use crate::schema::{Datum, Document, TermId, TermValue};
use crate::ssa::{BlockId, InstId};
use cembra_vm::program::instruction::Span;
use hashbrown::HashMap;

/// Reads terms of a document that follows the schema of its stage.
pub(super) struct TermReader<'d> {
    stage: StageName,
    pub(super) document: &'d Document,
    /// The source that positions are of; without it, places are those of the stage's text.
    lines: Option<&'d SourceLines>,
    /// Number of functions of the document.
    pub(super) functions: usize,
    /// Values of the function at hand.
    values: HashMap<&'d str, InstId>,
    /// Blocks of the function at hand.
    blocks: HashMap<i64, BlockId>,
    /// Types that were read.
    pub(super) types: usize,
    pub(super) errors: Vec<StageError>,
}

impl<'d> TermReader<'d> {
    pub(super) fn new(
        stage: StageName,
        document: &'d Document,
        lines: Option<&'d SourceLines>,
    ) -> TermReader<'d> {
        let (values, blocks) = (HashMap::new(), HashMap::new());
        TermReader { stage, document, lines, functions: 0, values, blocks, types: 0, errors: Vec::new() }
    }

    /// Begins a function.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.blocks.clear();
    }

    /// Notes an error at a term.
    pub(super) fn refuse(&mut self, term: TermId, problem: StageProblem) {
        self.errors.push(StageError { problem, span: self.document.span(term) });
    }

    /// The name of a term's constructor, and the values of its fields and attributes.
    pub(super) fn parts(&self, term: TermId) -> (&'static str, &'d [TermValue]) {
        let constructor = self.stage.schema().constructor(self.document.constructor(term));
        (&constructor.name, self.document.values(term))
    }

    /// Terms of a list.
    pub(super) fn terms(&self, list: TermValue) -> Vec<TermId> {
        let values = self.document.as_list(list).unwrap_or_default();
        values.iter().filter_map(|value| self.document.as_term(*value)).collect()
    }

    /// A text.
    pub(super) fn text(&self, value: TermValue) -> &'d str {
        match self.document.as_datum(value) {
            Some(Datum::Text(text)) => text,
            _ => "",
        }
    }

    /// A constant; integers of more than 64 bits are none.
    pub(super) fn constant(&mut self, value: TermValue, term: TermId) -> Option<Constant> {
        match self.document.as_datum(value)? {
            Datum::None => Some(Constant::None),
            Datum::Bool(value) => Some(Constant::Bool(*value)),
            Datum::Int(value) => Some(Constant::Int(*value)),
            Datum::Float(value) => Some(Constant::Float(*value)),
            Datum::Text(text) => Some(Constant::Text((&**text).into())),
            other => {
                let what = format!("{} is no constant of functions", datum_text(other));
                self.refuse(term, StageProblem::Datum { what });
                None
            }
        }
    }

    /// A number below `count`.
    pub(super) fn number(&mut self, value: TermValue, what: &'static str, count: usize, term: TermId) -> u32 {
        match self.document.as_datum(value) {
            Some(Datum::Int(number)) if *number >= 0 && (*number as u64) < count as u64 => *number as u32,
            other => {
                let number = other.map(datum_text).unwrap_or_default();
                self.refuse(term, StageProblem::Number { what, number, count });
                0
            }
        }
    }

    /// Gives a name to a value.
    pub(super) fn define(&mut self, name: TermValue, value: InstId, term: TermId) {
        let name = self.text(name);
        if self.values.insert(name, value).is_some() {
            self.refuse(term, StageProblem::DuplicateValue { name: name.to_owned() });
        }
    }

    /// Gives a number to a block.
    pub(super) fn define_block(&mut self, number: TermValue, block: BlockId, term: TermId) {
        match self.document.as_datum(number) {
            Some(Datum::Int(number)) => {
                if self.blocks.insert(*number, block).is_some() {
                    self.refuse(term, StageProblem::DuplicateBlock { number: number.to_string() });
                }
            }
            other => {
                let what = format!("{} is no number of a block", other.map(datum_text).unwrap_or_default());
                self.refuse(term, StageProblem::Datum { what });
            }
        }
    }

    /// The value of a name.
    pub(super) fn operand(&mut self, name: TermValue, term: TermId) -> InstId {
        let name = self.text(name);
        match self.values.get(name) {
            Some(value) => *value,
            None => {
                self.refuse(term, StageProblem::UnknownValue { name: name.to_owned() });
                InstId(0)
            }
        }
    }

    /// The values of names.
    pub(super) fn operands(&mut self, list: TermValue, term: TermId) -> Vec<InstId> {
        let names = self.document.as_list(list).unwrap_or_default();
        names.iter().map(|name| self.operand(*name, term)).collect()
    }

    /// The block of a number.
    pub(super) fn block(&mut self, number: TermValue, term: TermId) -> BlockId {
        let known = match self.document.as_datum(number) {
            Some(Datum::Int(number)) => self.blocks.get(number).copied(),
            _ => None,
        };
        known.unwrap_or_else(|| {
            let number = self.document.as_datum(number).map(datum_text).unwrap_or_default();
            self.refuse(term, StageProblem::UnknownBlock { number });
            BlockId(0)
        })
    }

    /// The blocks of numbers.
    pub(super) fn block_list(&mut self, list: TermValue, term: TermId) -> Vec<BlockId> {
        let numbers = self.document.as_list(list).unwrap_or_default();
        numbers.iter().map(|number| self.block(*number, term)).collect()
    }

    /// Where a term stands: in the source by its position, or in the stage's text.
    pub(super) fn span(&self, position: TermValue, term: TermId) -> Span {
        let Some(lines) = self.lines else { return self.document.span(term) };
        match self.document.as_datum(position) {
            Some(Datum::Position(position)) => {
                let start = lines.byte(position.line, position.column);
                let end = position.end.and_then(|(line, column)| lines.byte(line, column)).or(start);
                start.zip(end).map_or(Span::default(), |(start, end)| Span { start, end })
            }
            _ => Span::default(),
        }
    }
}
