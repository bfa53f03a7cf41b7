//! Types of functions: a small lattice over what the machine computes with.
//!
//! ```text
//! bool < int < float        numbers promote
//! none < optional(number)   where a number and None meet
//! text, char, tuple(…), array(element, rank), list(element), dict(key, value), set(key)
//! ```
//!
//! `int` is INT64, `float` FLOAT64. Narrow element types occur in arrays only: a load widens, a store narrows.

use cembra_vm::value::nd_type::{MAX_RANK, NdType};
use cembra_vm::value::tuple::TupleType;
use cembra_vm::value::{QType, ScalarType};
use std::fmt;
use std::sync::Arc;

/// The type of a value of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FunctionType {
    /// `None`.
    None,
    /// Truth values.
    Bool,
    /// 64-bit integers.
    Int,
    /// 64-bit floats.
    Float,
    /// Text that is no single character: of messages and comparisons only.
    Text,
    /// One character: its code point.
    Char,
    /// A number or `None`.
    Optional(Box<FunctionType>),
    /// A tuple of values.
    Tuple(Arc<[FunctionType]>),
    /// An n-dimensional array.
    Array(ArrayOf),
    /// A dictionary or a set.
    Dict(DictOf),
}

/// The type of a dictionary, or of a set, which has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DictOf {
    /// Type of the keys: INT64 or FLOAT64.
    pub key: ScalarType,
    /// Type of the values; none in a set.
    pub value: Option<ScalarType>,
}

impl DictOf {
    /// The list of its keys.
    pub fn keys(self) -> ArrayOf {
        ArrayOf::list(self.key)
    }

    /// The list of its values.
    pub fn values(self) -> Option<ArrayOf> {
        self.value.map(ArrayOf::list)
    }
}

/// The type of an array: its elements and its number of axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrayOf {
    /// Type of the elements in memory.
    pub element: ScalarType,
    /// Number of axes.
    pub rank: usize,
    /// True for a list: an array of one axis that grows.
    pub is_list: bool,
}

impl ArrayOf {
    /// An array.
    pub fn array(element: ScalarType, rank: usize) -> ArrayOf {
        ArrayOf { element, rank, is_list: false }
    }

    /// A list.
    pub fn list(element: ScalarType) -> ArrayOf {
        ArrayOf { element, rank: 1, is_list: true }
    }

    /// The machine's type, without unit axes; `None` if it has no such array.
    pub fn nd_type(self) -> Option<NdType> {
        NdType::new(self.element, self.rank, 0)
    }

    /// The type of an element that has been loaded.
    pub fn loaded(self) -> FunctionType {
        match self.element {
            ScalarType::Boolean => FunctionType::Bool,
            element if element.is_float() => FunctionType::Float,
            _ => FunctionType::Int,
        }
    }

    /// What is left after so many indices: of a list that is sliced, a list.
    pub fn indexed(self, indices: usize) -> FunctionType {
        match self.rank - indices {
            0 => self.loaded(),
            rank => FunctionType::Array(ArrayOf { rank, ..self }),
        }
    }
}

impl FunctionType {
    /// A tuple.
    pub fn tuple(fields: impl IntoIterator<Item = FunctionType>) -> FunctionType {
        FunctionType::Tuple(fields.into_iter().collect())
    }

    /// How many levels of tuples there are, and how many parts that are none.
    pub(super) fn depth_and_parts(&self) -> (u32, u64) {
        let FunctionType::Tuple(fields) = self else { return (0, 1) };
        let of_fields = fields.iter().map(FunctionType::depth_and_parts);
        let (depth, parts) =
            of_fields.fold((0, 0), |(deepest, all), (depth, parts)| (deepest.max(depth), all + parts));
        (depth + 1, parts)
    }

    /// True for `bool`, `int` and `float`.
    pub fn is_number(&self) -> bool {
        matches!(self, FunctionType::Bool | FunctionType::Int | FunctionType::Float)
    }

    /// True for numbers, and for tuples of them.
    pub(super) fn holds_numbers(&self) -> bool {
        match self {
            FunctionType::Tuple(fields) => fields.iter().all(FunctionType::holds_numbers),
            other => other.is_number(),
        }
    }

    /// The type of what is not None.
    pub fn without_none(&self) -> &FunctionType {
        match self {
            FunctionType::Optional(of) => of,
            other => other,
        }
    }

    /// True for texts.
    pub fn is_text(&self) -> bool {
        matches!(self, FunctionType::Text | FunctionType::Char)
    }

    /// True if a part of the type is a character.
    pub fn has_char(&self) -> bool {
        match self {
            FunctionType::Char => true,
            FunctionType::Tuple(fields) => fields.iter().any(FunctionType::has_char),
            _ => false,
        }
    }

    /// True for `bool` and `int`.
    pub fn is_integer(&self) -> bool {
        matches!(self, FunctionType::Bool | FunctionType::Int)
    }

    /// The element of arrays and lists of a number.
    pub fn element(&self) -> Option<ScalarType> {
        match self {
            FunctionType::Bool => Some(ScalarType::Boolean),
            FunctionType::Int => Some(ScalarType::Int64),
            FunctionType::Float => Some(ScalarType::Float64),
            _ => None,
        }
    }

    /// The type that holds values of both; `None` if there is none.
    pub fn join(&self, other: &FunctionType) -> Option<FunctionType> {
        use FunctionType::{Bool, Float, Int, Tuple};
        match (self, other) {
            _ if self == other => Some(self.clone()),
            (FunctionType::Optional(a), FunctionType::Optional(b)) => {
                Some(FunctionType::Optional(Box::new(a.join(b)?)))
            }
            (FunctionType::Optional(a), FunctionType::None)
            | (FunctionType::None, FunctionType::Optional(a)) => Some(FunctionType::Optional(a.clone())),
            (FunctionType::Optional(a), b) | (b, FunctionType::Optional(a)) if b.is_number() => {
                Some(FunctionType::Optional(Box::new(a.join(b)?)))
            }
            (FunctionType::None, a) | (a, FunctionType::None) if a.is_number() => {
                Some(FunctionType::Optional(Box::new(a.clone())))
            }
            (Bool | Int | Float, Float) | (Float, Bool | Int) => Some(Float),
            (Bool, Int) | (Int, Bool) => Some(Int),
            (FunctionType::Array(a), FunctionType::Array(b)) if a.is_list && b.is_list => {
                Some(FunctionType::Array(ArrayOf::list(a.loaded().join(&b.loaded())?.element()?)))
            }
            (FunctionType::Dict(a), FunctionType::Dict(b)) if a.key == b.key => {
                let value = match (a.values(), b.values()) {
                    (None, None) => None,
                    (Some(a), Some(b)) => Some(a.loaded().join(&b.loaded())?.element()?),
                    _ => return None,
                };
                Some(FunctionType::Dict(DictOf { value, ..*a }))
            }
            (Tuple(a), Tuple(b)) if a.len() == b.len() => {
                let fields: Option<Vec<_>> = a.iter().zip(&**b).map(|(a, b)| a.join(b)).collect();
                Some(Tuple(fields?.into()))
            }
            _ => None,
        }
    }

    /// The type of the machine's values; `None` of text, and of arrays that the machine does not have.
    pub fn qtype(&self) -> Option<QType> {
        Some(match self {
            FunctionType::None => QType::Scalar(ScalarType::Unit),
            FunctionType::Bool => QType::Scalar(ScalarType::Boolean),
            FunctionType::Int => QType::Scalar(ScalarType::Int64),
            FunctionType::Float => QType::Scalar(ScalarType::Float64),
            FunctionType::Text | FunctionType::Dict(_) => return None,
            FunctionType::Char => QType::Scalar(ScalarType::Int64),
            FunctionType::Optional(of) => of.qtype()?.to_optional()?,
            FunctionType::Tuple(fields) => {
                let fields: Option<Vec<QType>> = fields.iter().map(FunctionType::qtype).collect();
                QType::Tuple(TupleType::new(fields?).ok()?)
            }
            FunctionType::Array(array) => QType::NdArray(array.nd_type()?),
        })
    }

    /// The type of values that come from outside; `None` of what functions do not take.
    pub fn of_qtype(qtype: &QType) -> Option<FunctionType> {
        Some(match qtype {
            QType::Scalar(ScalarType::Unit) => FunctionType::None,
            QType::Scalar(ScalarType::Boolean) => FunctionType::Bool,
            QType::Scalar(ScalarType::Int64) => FunctionType::Int,
            QType::Scalar(ScalarType::Float64) => FunctionType::Float,
            QType::NdArray(t) => FunctionType::Array(ArrayOf::array(t.element(), t.rank())),
            _ => {
                let tuple = qtype.tuple()?;
                let fields: Option<Vec<_>> = tuple.fields().iter().map(FunctionType::of_qtype).collect();
                FunctionType::Tuple(fields?.into())
            }
        })
    }

    /// The type of a result of the machine.
    pub(crate) fn of_result(qtype: &QType) -> FunctionType {
        match qtype {
            QType::Optional(scalar) => {
                let of = FunctionType::of_qtype(&QType::Scalar(*scalar)).unwrap_or(FunctionType::None);
                FunctionType::Optional(Box::new(of))
            }
            other => FunctionType::of_qtype(other).unwrap_or(FunctionType::None),
        }
    }

    /// The name that CPython gives the type in messages.
    pub fn python_name(&self) -> &'static str {
        match self {
            FunctionType::None => "NoneType",
            FunctionType::Bool => "bool",
            FunctionType::Int => "int",
            FunctionType::Float => "float",
            FunctionType::Text | FunctionType::Char => "str",
            FunctionType::Dict(DictOf { value: None, .. }) => "set",
            FunctionType::Dict(_) => "dict",
            FunctionType::Optional(_) => "NoneType",
            FunctionType::Tuple(_) => "tuple",
            FunctionType::Array(array) if array.is_list => "list",
            FunctionType::Array(_) => "ndarray",
        }
    }
}

/// The largest number of axes.
pub const MAX_AXES: usize = MAX_RANK;

impl fmt::Display for ArrayOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let element = self.element.name().to_ascii_lowercase();
        match self.is_list {
            true => write!(f, "list<{element}>"),
            false => write!(f, "array<{element}, {}>", self.rank),
        }
    }
}

impl fmt::Display for DictOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |of: ScalarType| of.name().to_ascii_lowercase();
        match self.value {
            None => write!(f, "set<{}>", name(self.key)),
            Some(value) => write!(f, "dict<{}, {}>", name(self.key), name(value)),
        }
    }
}

impl fmt::Display for FunctionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FunctionType::None => f.write_str("none"),
            FunctionType::Bool => f.write_str("bool"),
            FunctionType::Int => f.write_str("i64"),
            FunctionType::Float => f.write_str("f64"),
            FunctionType::Text => f.write_str("text"),
            FunctionType::Char => f.write_str("char"),
            FunctionType::Optional(of) => write!(f, "{of}?"),
            FunctionType::Tuple(fields) => {
                f.write_str("(")?;
                for (index, field) in fields.iter().enumerate() {
                    write!(f, "{}{field}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str(if fields.len() == 1 { ",)" } else { ")" })
            }
            FunctionType::Array(array) => array.fmt(f),
            FunctionType::Dict(dict) => dict.fmt(f),
        }
    }
}
