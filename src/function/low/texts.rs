//! Texts: characters are code points, longer texts are known before the run.

use super::{Lower, Lowering};
use crate::function::constant::Constant;
use crate::function::error::FunctionError;
use crate::function::types::FunctionType;
use crate::python::CompareOp;
use crate::ssa::InstId;
use cembra_vm::value::qtype::BOOLEAN;
use std::sync::Arc;

impl Lowering<'_> {
    /// Compares two texts; the order is that of code points, as Python's.
    pub(super) fn compare_texts(&mut self, op: CompareOp, x: InstId, y: InstId) -> Lower<InstId> {
        use FunctionType::{Char, Int};
        if let (Some(x), Some(y)) = (self.known_text(x), self.known_text(y)) {
            return Ok(self.boolean(compares(op, &x, &y)));
        }
        match (self.type_of(x), self.type_of(y)) {
            (Char, Char) => {
                let (x, y) = (self.leaf(x), self.leaf(y));
                Ok(self.compare_numbers(op, (x, &Int), (y, &Int)))
            }
            (Char, _) => {
                let text = self.known_text(y).ok_or_else(|| self.unknown_text())?;
                Ok(self.compare_with(op, x, &text))
            }
            (_, Char) => {
                let text = self.known_text(x).ok_or_else(|| self.unknown_text())?;
                Ok(self.compare_with(reversed(op), y, &text))
            }
            _ => Err(self.unknown_text()),
        }
    }

    /// Compares a character with a text of another length: that of its first character decides, or its length.
    fn compare_with(&mut self, op: CompareOp, x: InstId, text: &str) -> InstId {
        use FunctionType::Int;
        let Some(first) = text.chars().next() else {
            return self
                .boolean(matches!(op, CompareOp::NotEqual | CompareOp::Greater | CompareOp::GreaterEqual));
        };
        let op = match op {
            CompareOp::Equal | CompareOp::NotEqual => return self.boolean(op == CompareOp::NotEqual),
            CompareOp::Less | CompareOp::LessEqual => CompareOp::LessEqual,
            _ => CompareOp::Greater,
        };
        let (x, first) = (self.leaf(x), self.int(i64::from(u32::from(first))));
        self.compare_numbers(op, (x, &Int), (first, &Int))
    }

    /// `value in text`.
    pub(super) fn text_contains(&mut self, text: InstId, value: InstId) -> Lower<InstId> {
        let known = (self.known_text(text), self.known_text(value));
        let (text, value) = match (known, self.type_of(value)) {
            ((Some(text), Some(value)), _) => return Ok(self.boolean(text.contains(&*value))),
            ((Some(text), None), FunctionType::Char) => (text, self.leaf(value)),
            // A character is in another if it is the same.
            _ if *self.type_of(text) == FunctionType::Char && *self.type_of(value) == FunctionType::Char => {
                return self.compare_texts(CompareOp::Equal, text, value);
            }
            _ => return Err(self.unknown_text()),
        };
        let mut found = self.boolean(false);
        for character in text.chars() {
            let character = self.int(i64::from(u32::from(character)));
            let equal = self.total("bool.equal", vec![value, character], BOOLEAN);
            found = self.or(found, equal);
        }
        Ok(found)
    }

    /// The text that a value is, if that is known before the run.
    pub(super) fn known_text(&self, value: InstId) -> Option<Arc<str>> {
        match self.constant_of(value) {
            Some(Constant::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn unknown_text(&self) -> FunctionError {
        self.unsupported("text", "a text of several characters that is not known", "compare characters")
    }
}

fn compares(op: CompareOp, x: &str, y: &str) -> bool {
    match op {
        CompareOp::Equal => x == y,
        CompareOp::NotEqual => x != y,
        CompareOp::Less => x < y,
        CompareOp::LessEqual => x <= y,
        CompareOp::Greater => x > y,
        _ => x >= y,
    }
}

/// The comparison with its operands exchanged.
fn reversed(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessEqual => CompareOp::GreaterEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterEqual => CompareOp::LessEqual,
        op => op,
    }
}
