//! Errors in the text of an expression.

use crate::expr::GraphError;
use crate::registry::infer::{TypeError, suggestion};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{Category, QType};
use std::sync::Arc;
use thiserror::Error;

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SyntaxErrorKind {
    /// The text is longer than allowed.
    #[error("limit expression-text: {actual} characters, at most {limit} are allowed")]
    TooLong {
        /// Code points of the text.
        actual: usize,
        /// Code points allowed.
        limit: usize,
    },
    /// Parentheses, calls or prefix operators nest too deeply.
    #[error("limit expression-nesting: more than {limit} levels")]
    TooDeep {
        /// Levels allowed.
        limit: usize,
    },
    /// A character that begins no token.
    #[error("unexpected character {}", show(*character))]
    Character {
        /// The character.
        character: char,
    },
    /// A string without its closing quote.
    #[error("unterminated string")]
    UnterminatedString,
    /// A backslash that begins no escape.
    #[error("unknown escape in a string; known are \\n \\r \\t \\' \\\" \\\\ \\xNN \\u{{N}}")]
    Escape,
    /// Digits that make no number.
    #[error("malformed number `{text}`")]
    Number {
        /// The digits.
        text: String,
    },
    /// A number that no type holds.
    #[error("the number {text} does not fit {qtype}")]
    NumberRange {
        /// The digits.
        text: String,
        /// The type it should have.
        qtype: QType,
    },
    /// Something else was expected.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What was expected.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A bracket without its counterpart.
    #[error("unclosed `{bracket}`")]
    Unclosed {
        /// The opening bracket.
        bracket: char,
    },
    /// `a < b < c`.
    #[error("comparisons do not chain; write `(a < b) & (b < c)`")]
    ChainedComparison,
    /// A name that may not be assigned.
    #[error("`{name}` is a word of the language and cannot be assigned")]
    Reserved {
        /// The name.
        name: String,
    },
    /// A keyword argument that the operator does not have.
    #[error("{operator} has no parameter `{name}`{}", suggestion(near))]
    UnknownParameter {
        /// The operator.
        operator: Arc<str>,
        /// The keyword.
        name: Arc<str>,
        /// Parameters that look like it.
        near: Vec<Arc<str>>,
    },
    /// An argument that is given twice.
    #[error("{operator} gets the argument `{name}` twice")]
    DuplicateArgument {
        /// The operator.
        operator: Arc<str>,
        /// The parameter.
        name: Arc<str>,
    },
    /// A positional argument behind a keyword argument.
    #[error("positional arguments come before keyword arguments")]
    PositionalAfterKeyword,
    /// A constructor that got no literal of its kind.
    #[error("{constructor} takes {expected}")]
    Constructor {
        /// The constructor.
        constructor: String,
        /// What it takes.
        expected: &'static str,
    },
    /// The operator is unknown, or gets too many or too few arguments.
    #[error(transparent)]
    Operator(#[from] TypeError),
    /// Too many distinct nodes.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

fn show(character: char) -> String {
    match character.is_control() || !character.is_ascii() {
        true => format!("U+{:04X}", u32::from(character)),
        false => format!("`{character}`"),
    }
}

/// An error in the text of an expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind}")]
pub struct SyntaxError {
    /// What is wrong.
    pub kind: SyntaxErrorKind,
    /// Where, in bytes.
    pub span: Span,
}

impl SyntaxError {
    /// An error at a place.
    pub fn new(kind: impl Into<SyntaxErrorKind>, span: Span) -> SyntaxError {
        SyntaxError { kind: kind.into(), span }
    }

    /// The kind of error in one word.
    pub fn category(&self) -> Category {
        match &self.kind {
            SyntaxErrorKind::TooLong { .. } | SyntaxErrorKind::TooDeep { .. } | SyntaxErrorKind::Graph(_) => {
                Category::Limit
            }
            SyntaxErrorKind::Operator(error) => error.category(),
            _ => Category::Syntax,
        }
    }
}
