//! Why an expression has no derivatives.

use crate::expr::GraphError;
use std::sync::Arc;
use thiserror::Error;

/// What is in the way of derivatives.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AutodiffError {
    /// An operator without partial derivatives.
    #[error("`{operator}` has no derivatives")]
    NotDifferentiable {
        /// The operator.
        operator: Arc<str>,
    },
    /// An argument along axes that is no literal.
    #[error("`{operator}`: axes are literals")]
    Axes {
        /// The operator.
        operator: Arc<str>,
    },
    /// The slope in the row of an operator cannot be used.
    #[error("the slope in the row of `{operator}`: {message}")]
    Slope {
        /// The operator.
        operator: Arc<str>,
        /// What is wrong with it.
        message: String,
    },
    /// A leaf whose type was not given.
    #[error("the leaf `{name}` has no type")]
    Leaf {
        /// The leaf.
        name: Arc<str>,
    },
    /// Too many nodes.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

impl AutodiffError {
    /// The error that the slope in a row cannot be used.
    pub(super) fn slope(operator: &str, message: impl ToString) -> AutodiffError {
        AutodiffError::Slope { operator: operator.into(), message: message.to_string() }
    }
}
