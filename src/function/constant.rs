//! Constants of functions: literals, defaults of parameters, and those of the library.

use crate::function::types::FunctionType;
use std::fmt;
use std::sync::Arc;

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A text.
    Text(Arc<str>),
}

impl Constant {
    /// The character of a text that has one.
    pub fn character(&self) -> Option<char> {
        let Constant::Text(text) = self else { return None };
        let mut characters = text.chars();
        characters.next().filter(|_| characters.next().is_none())
    }

    /// Its type.
    pub fn function_type(&self) -> FunctionType {
        match self {
            Constant::None => FunctionType::None,
            Constant::Bool(_) => FunctionType::Bool,
            Constant::Int(_) => FunctionType::Int,
            Constant::Float(_) => FunctionType::Float,
            Constant::Text(_) if self.character().is_some() => FunctionType::Char,
            Constant::Text(_) => FunctionType::Text,
        }
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constant::None => f.write_str("None"),
            Constant::Bool(true) => f.write_str("True"),
            Constant::Bool(false) => f.write_str("False"),
            Constant::Int(value) => write!(f, "{value}"),
            Constant::Float(value) => write!(f, "{value:?}"),
            Constant::Text(text) => write!(f, "{text:?}"),
        }
    }
}
