//! Scalar: a constant of the graph, or the default of a placeholder.

use std::sync::Arc;

/// A number, a truth value or a text, as Python code would write it.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// `True` or `False`.
    Bool(bool),
    /// An integer; its array is `int64`.
    Int(i64),
    /// A float; its array is `float64`.
    Float(f64),
    /// A text.
    Text(Arc<str>),
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Scalar {
        Scalar::Bool(value)
    }
}

impl From<i32> for Scalar {
    fn from(value: i32) -> Scalar {
        Scalar::Int(value.into())
    }
}

impl From<i64> for Scalar {
    fn from(value: i64) -> Scalar {
        Scalar::Int(value)
    }
}

impl From<f64> for Scalar {
    fn from(value: f64) -> Scalar {
        Scalar::Float(value)
    }
}

impl From<&str> for Scalar {
    fn from(value: &str) -> Scalar {
        Scalar::Text(value.into())
    }
}
