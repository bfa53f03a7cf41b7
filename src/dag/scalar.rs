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

macro_rules! from_rust {
    ($($rust:ty, $variant:ident;)*) => { $(
        impl From<$rust> for Scalar {
            fn from(value: $rust) -> Scalar {
                Scalar::$variant(value.into())
            }
        }
    )* };
}

from_rust! {
    bool, Bool;
    i32, Int;
    i64, Int;
    f64, Float;
    &str, Text;
}
