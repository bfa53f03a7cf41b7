//! Why a model cannot be compiled or executed.

use crate::compile::CompileError;
use crate::expr::GraphError;
use crate::host::loader::LoadError;
use crate::syntax::excerpt::excerpt;
use cembra_vm::frame::FrameError;
use cembra_vm::machine::{BindError, RunError};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{Category, QType};
use std::sync::Arc;
use thiserror::Error;

/// Why a model cannot be compiled or executed.
#[derive(Debug, Error)]
pub enum HostError {
    /// The expression is wrong.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The expression is too large to extend.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The output is of another type than the host reads.
    #[error(
        "the output is {actual}, the host reads {expected}; allow_output_casting or force_non_optional_output may help"
    )]
    OutputType {
        /// Type of the output.
        actual: QType,
        /// Type the host reads.
        expected: QType,
    },
    /// Side outputs that nobody listens to.
    #[error("nobody listens to the side outputs {}; ignore_not_listened_outputs allows that", names.join(", "))]
    NotListened {
        /// Their names.
        names: Vec<Arc<str>>,
    },
    /// A slot is of another type than loader or listener expects.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// An input could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A frame could not be made.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The output is missing, and the host forces it to be there.
    #[error("the model expects a present value, got missing")]
    MissingOutput,
}

impl HostError {
    /// Where in the text of the expression the error is, if it is there.
    pub fn span(&self) -> Option<Span> {
        match self {
            HostError::Compile(CompileError::Prepare(error)) => error.span(),
            HostError::Run(error) => error.at.as_ref().map(|at| at.span),
            _ => None,
        }
        .filter(|span| !span.is_unknown())
    }

    /// The message with the line of the expression's text that it is about.
    pub fn with_source(&self, source: &str) -> String {
        excerpt(&self.to_string(), source, self.span().unwrap_or_default())
    }

    /// The kind of error in one word.
    pub fn category(&self) -> Category {
        match self {
            HostError::Compile(error) => error.category(),
            HostError::Graph(_) | HostError::Frame(_) => Category::Limit,
            HostError::OutputType { .. } | HostError::NotListened { .. } | HostError::Bind(_) => {
                Category::Type
            }
            HostError::Load(_) => Category::Host,
            HostError::Run(error) => error.category(),
            HostError::MissingOutput => Category::MissingValue,
        }
    }
}
