//! What is wrong with the text or the document of a stage.

use crate::schema::TextProblem;
use cembra_vm::program::instruction::Span;
use thiserror::Error;

/// A finding about a stage.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct StageError {
    /// What it is.
    pub problem: StageProblem,
    /// Where, in bytes of the stage's text; unknown for documents that no text was read for.
    pub span: Span,
}

/// What can be wrong with a stage.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StageProblem {
    /// The text is no document of the stage's schema.
    #[error(transparent)]
    Text(TextProblem),
    /// A name that no definition of the function has.
    #[error("no value of this function is called `{name}`")]
    UnknownValue {
        /// The name.
        name: String,
    },
    /// A second definition of a name.
    #[error("`{name}` is defined already")]
    DuplicateValue {
        /// The name.
        name: String,
    },
    /// A number that no block of the function has.
    #[error("the function has no block {number}")]
    UnknownBlock {
        /// The number.
        number: String,
    },
    /// A second block of a number.
    #[error("block {number} is defined already")]
    DuplicateBlock {
        /// The number.
        number: String,
    },
    /// A number that must be smaller.
    #[error("{what} {number} is out of range: there are {count}")]
    Number {
        /// What is counted.
        what: &'static str,
        /// The number.
        number: String,
        /// How many there are.
        count: usize,
    },
    /// A datum that the stage cannot hold.
    #[error("{what}")]
    Datum {
        /// What is wrong.
        what: String,
    },
    /// A rule of the stage is broken.
    #[error("rule {rule}: {what}")]
    Rule {
        /// Number of the rule; see the verifier.
        rule: u8,
        /// What is wrong.
        what: String,
    },
}

impl StageProblem {
    /// Name of the rule.
    pub fn rule(&self) -> String {
        match self {
            StageProblem::Text(_) => "stage-text".to_owned(),
            StageProblem::UnknownValue { .. } => "unknown-value".to_owned(),
            StageProblem::DuplicateValue { .. } => "duplicate-value".to_owned(),
            StageProblem::UnknownBlock { .. } => "unknown-block".to_owned(),
            StageProblem::DuplicateBlock { .. } => "duplicate-block".to_owned(),
            StageProblem::Number { .. } => "number".to_owned(),
            StageProblem::Datum { .. } => "datum".to_owned(),
            StageProblem::Rule { rule, .. } => format!("stage-{rule}"),
        }
    }
}
