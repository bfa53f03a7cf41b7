//! Why a fit has no result.

use crate::model::error::ModelErrorKind;
use cembra_vm::value::Category;
use thiserror::Error;

/// Errors of fits.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FitError {
    /// The data have another size than the spectrum.
    #[error("the data have {actual} values; the spectrum has {expected}")]
    DataSize {
        /// Values of the spectrum.
        expected: usize,
        /// Values of the data.
        actual: usize,
    },
    /// A value that counts is missing or infinite.
    #[error("the data at row {row}, column {column} are {value}, not a finite number")]
    DataValue {
        /// Index of the time, or of the only axis.
        row: usize,
        /// Index of the energy.
        column: usize,
        /// The value.
        value: f64,
    },
    /// A negative value, where values are counts.
    #[error(
        "the data at row {row}, column {column} are {value}, which is no count; data with Poisson noise are counts"
    )]
    NegativeCounts {
        /// Index of the time, or of the only axis.
        row: usize,
        /// Index of the energy.
        column: usize,
        /// The value.
        value: f64,
    },
    /// A window without points, or beyond the axis.
    #[error("the {axis} window {from}..{to} does not fit an axis of {points} points")]
    Window {
        /// Name of the axis.
        axis: &'static str,
        /// First index.
        from: usize,
        /// One past the last index.
        to: usize,
        /// Points of the axis.
        points: usize,
    },
    /// Nothing varies.
    #[error("the model has no free parameter")]
    NothingVaries,
    /// More parameters than data.
    #[error("{free} free parameters need more than {points} points")]
    TooFewPoints {
        /// Free parameters.
        free: usize,
        /// Points in the windows.
        points: usize,
    },
    /// Variable projection without anything to project.
    #[error("variable projection does not apply: {reason}; another method does")]
    NotSeparable {
        /// Why.
        reason: String,
    },
    /// Residuals that are no numbers, at the start.
    #[error("the residuals at the initial values are not finite")]
    NotFinite,
    /// A noise model with a scale that is not positive.
    #[error("the noise needs a positive, finite scale, not {scale}")]
    Scale {
        /// The scale.
        scale: f64,
    },
    /// The model cannot be evaluated.
    #[error("{0}")]
    Model(#[from] ModelErrorKind),
    /// The solver gave up.
    #[error("the least-squares solver failed: {problem}")]
    Solver {
        /// What it says.
        problem: String,
    },
}

impl FitError {
    /// The kind of error in one word.
    pub fn category(&self) -> Category {
        match self {
            FitError::Model(error) => error.category(),
            _ => Category::Parse,
        }
    }

    /// True if the budget of the fit is used up.
    pub fn is_exhausted(&self) -> bool {
        matches!(self, FitError::Model(error) if error.is_exhausted())
    }
}
