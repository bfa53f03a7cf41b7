//! Why a prepared expression cannot be compiled.

use crate::expr::GraphError;
use crate::prepare::PrepareError;
use cembra_vm::layout::LayoutError;
use cembra_vm::machine::BindError;
use cembra_vm::program::slot_check::SlotCheckError;
use cembra_vm::value::{Category, QType};
use std::sync::Arc;
use thiserror::Error;

/// Why an expression cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompileError {
    /// The expression is not well typed, lacks inputs, or always fails.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The frame would be too large.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Many branches, and many values that are read behind them.
    #[error(
        "limit alive-values: more than {limit} values are alive where the blocks of the program begin and end"
    )]
    TooManyAlive {
        /// Values allowed, each counted at each end of a block.
        limit: usize,
    },
    /// Expressions that share a layout disagree about an input.
    #[error("input `{name}` is {first} in one expression and {second} in another of the same layout")]
    SharedInput {
        /// Name of the input.
        name: Arc<str>,
        /// Its type in the first expression.
        first: QType,
        /// Its type in the later one.
        second: QType,
    },
    /// Several expressions share a layout, so none may override inputs.
    #[error("allow_overriding_input_slots needs a layout of its own")]
    SharedOverride,
    /// The compiler made a program that the verifier refuses: a bug.
    #[error("internal error: {0}")]
    Bind(#[from] BindError),
    /// The compiler assigned a slot wrongly: a bug.
    #[error("internal error: {0}")]
    Slots(#[from] SlotCheckError),
}

impl From<GraphError> for CompileError {
    fn from(error: GraphError) -> CompileError {
        CompileError::Prepare(error.into())
    }
}

impl CompileError {
    /// The kind of error in one word.
    pub fn category(&self) -> Category {
        match self {
            CompileError::Prepare(error) => error.category(),
            CompileError::Layout(_) | CompileError::TooManyAlive { .. } => Category::Limit,
            CompileError::SharedInput { .. } | CompileError::SharedOverride => Category::Type,
            CompileError::Bind(_) | CompileError::Slots(_) => Category::InvalidProgram,
        }
    }
}
