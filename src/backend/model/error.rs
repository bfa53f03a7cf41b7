//! What can go wrong with models on the machine.

use crate::autodiff::AutodiffError;
use crate::compile::CompileError;
use crate::model::kernel::LargeMatrix;
use cembra_vm::frame::FrameError;
use cembra_vm::machine::{CallError, RunError};
use cembra_vm::value::NdError;
use thiserror::Error;

/// A schedule that does not become a program.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ModelCompileError {
    /// A convolution whose matrices are too large.
    #[error(transparent)]
    Convolution(#[from] LargeMatrix),
    /// No derivatives.
    #[error(transparent)]
    Autodiff(#[from] AutodiffError),
    /// An expression that is too large, or does not become a program.
    #[error(transparent)]
    Compile(#[from] CompileError),
}

/// An evaluation that gives no spectrum.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ModelRunError {
    /// Too many or too few values of parameters.
    #[error("theta has {actual} values; the model has {expected} free parameters")]
    ThetaLength {
        /// Free parameters.
        expected: usize,
        /// Values given.
        actual: usize,
    },
    /// A name that is no free parameter, or a free parameter without a value.
    #[error("`{name}` is no free parameter with a value; there are {}", known.join(", "))]
    UnknownParameter {
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// Components or derivatives that do not become a program.
    #[error(transparent)]
    Compile(#[from] ModelCompileError),
    /// A frame that cannot be made or read.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A run that fails.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Data of another size than the spectrum.
    #[error("the data: {0}")]
    Data(#[from] NdError),
    /// Data that cannot be lent, or a run on them that fails.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl ModelRunError {
    /// The error of the program, if a run has failed.
    pub fn run_error(&self) -> Option<&RunError> {
        match self {
            ModelRunError::Run(error) | ModelRunError::Call(CallError::Run(error)) => Some(error),
            _ => None,
        }
    }
}
