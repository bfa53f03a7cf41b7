//! What is wrong with the text of a document: where it cannot be read, and where it breaks its schema.

use crate::schema::validate::Violation;
use cembra_vm::program::instruction::Span;
use thiserror::Error;

/// A finding about the text of a document.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct TextError {
    /// What it is.
    pub problem: TextProblem,
    /// Where, in bytes of the text.
    pub span: Span,
}

/// What can be wrong with the text of a document.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TextProblem {
    /// Something else was expected.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What was expected.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A word and a datum that do not belong together.
    #[error("expected an operand with its type, such as `i64 5` or `metadata !\"text\"`")]
    Operand,
    /// A string without its closing quote.
    #[error("unterminated string")]
    UnterminatedString,
    /// A backslash that begins no escape.
    #[error("unknown escape in a string; known are \\n \\r \\t \\\\ \\\" \\xNN \\u{{N}}")]
    Escape,
    /// Digits that make no number.
    #[error("malformed number `{text}`")]
    Number {
        /// The digits.
        text: String,
    },
    /// A constructor that the schema lacks.
    #[error("Unknown constructor {name}")]
    UnknownConstructor {
        /// The name.
        name: String,
        /// A constructor that looks like it.
        near: Option<String>,
    },
    /// More values than the constructor has fields.
    #[error("{constructor} has {expected} {what}, not {actual}")]
    TooMany {
        /// The constructor.
        constructor: String,
        /// `fields` or `attributes`.
        what: &'static str,
        /// How many it has.
        expected: usize,
        /// How many stand there.
        actual: usize,
    },
    /// A reference to a term that does not stand before.
    #[error("nothing before defines {sign}{number}")]
    UnknownReference {
        /// `!` or `%`.
        sign: char,
        /// The number.
        number: u64,
    },
    /// A second definition of a number.
    #[error("{sign}{number} is defined already")]
    DuplicateReference {
        /// `!` or `%`.
        sign: char,
        /// The number.
        number: u64,
    },
    /// A number for a plain term where only unique terms have one, or the reverse.
    #[error("{constructor} is {}unique, so it {} written with `!`", if *is_unique { "" } else { "not " }, if *is_unique { "must be" } else { "cannot be" })]
    Uniqueness {
        /// The constructor.
        constructor: String,
        /// What it is.
        is_unique: bool,
    },
    /// A row that was declared and has no values.
    #[error("!{number} is declared but has no values")]
    Unfilled {
        /// The number.
        number: u64,
    },
    /// A list in a list.
    #[error("lists do not nest")]
    NestedList,
    /// A text that was written for another schema.
    #[error("the text is of schema {found}, not of {expected}")]
    OtherSchema {
        /// The schema in use.
        expected: String,
        /// The schema that the text names.
        found: String,
    },
    /// A text that cannot be written or read because of its size.
    #[error("limit {name}: more than {limit}")]
    Limit {
        /// Name of the limit.
        name: &'static str,
        /// What is allowed.
        limit: usize,
    },
    /// The value breaks the schema.
    #[error(transparent)]
    Violation(Violation),
}

impl TextError {
    /// What could be done about it.
    pub fn hint(&self) -> Option<String> {
        match &self.problem {
            TextProblem::UnknownConstructor { near: Some(near), .. } => {
                Some(format!("did you mean `{near}`?"))
            }
            TextProblem::Violation(violation) if violation.path != violation.place => {
                Some(format!("path: {}", violation.path))
            }
            _ => None,
        }
    }
}

impl From<Violation> for TextError {
    fn from(violation: Violation) -> TextError {
        let span = violation.span;
        TextError { problem: TextProblem::Violation(violation), span }
    }
}
