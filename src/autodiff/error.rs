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
