//! Literals: values, types and operator names that stand in an expression.

use cembra_vm::value::{QType, Value};
use std::fmt;
use std::sync::Arc;

/// What a literal node holds. Types and operators exist at compile time only: preparation uses them
/// up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// A value.
    Value(Value),
    /// A type, as the second argument of `core.cast`.
    Type(QType),
    /// An operator by name, as the first argument of `seq.reduce`.
    Operator(Arc<str>),
}

impl Literal {
    /// The value, if it is one.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Literal::Value(value) => Some(value),
            _ => None,
        }
    }
}

impl<T: Into<Value>> From<T> for Literal {
    fn from(value: T) -> Literal {
        Literal::Value(value.into())
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Value(value) => value.fmt(f),
            Literal::Type(qtype) => qtype.fmt(f),
            Literal::Operator(name) => f.write_str(name),
        }
    }
}
