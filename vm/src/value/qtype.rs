//! QType: the type of a value, a slot or an expression.
//!
//! A QType is cheap to clone and compare: scalars and optionals are two bytes, compound types
//! share an `Arc`. Sizes and field offsets are part of the type, so a layout never has to walk it.
//!
//! ```text
//! OPTIONAL_FLOAT64             tuple<FLOAT32,FLOAT64>
//! [presence|·······|value···]  [FLOAT32|····|FLOAT64·]
//!  0x00             0x08        0x00         0x08
//! ```

use crate::value::array::{ArrayClass, ArrayType};
use crate::value::nd_type::{Axes, NdType};
use crate::value::scalar::{HANDLE_SIZE, ScalarType};
use crate::value::tuple::TupleType;
use std::fmt;
use std::sync::Arc;

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QType {
    /// A scalar that is always there.
    Scalar(ScalarType),
    /// A scalar that may be missing.
    Optional(ScalarType),
    /// The shape of a scalar; it has one value.
    ScalarShape,
    /// The shape of an optional scalar; it has one value.
    OptionalScalarShape,
    /// A tuple, or a namedtuple if its fields have names.
    Tuple(Arc<TupleType>),
    /// A sequence of values of one scalar type.
    Sequence(ScalarType),
    /// An array of scalars with presence.
    Array(ArrayType),
    /// The shape of an array: its number of rows.
    ArrayShape(ArrayClass),
    /// Which row of a parent array each row of an array belongs to.
    Edge(ArrayClass),
    /// All rows of an array in one group.
    EdgeToScalar(ArrayClass),
    /// An n-dimensional array.
    NdArray(NdType),
    /// A list of axes that is known when a program is made; it has one value.
    Axes(Axes),
}

/// `UNIT`.
pub const UNIT: QType = QType::Scalar(ScalarType::Unit);
/// `BOOLEAN`.
pub const BOOLEAN: QType = QType::Scalar(ScalarType::Boolean);
/// `INT32`.
pub const INT32: QType = QType::Scalar(ScalarType::Int32);
/// `INT64`.
pub const INT64: QType = QType::Scalar(ScalarType::Int64);
/// `FLOAT32`.
pub const FLOAT32: QType = QType::Scalar(ScalarType::Float32);
/// `FLOAT64`.
pub const FLOAT64: QType = QType::Scalar(ScalarType::Float64);
/// `WEAK_FLOAT`.
pub const WEAK_FLOAT: QType = QType::Scalar(ScalarType::WeakFloat);
/// `TEXT`.
pub const TEXT: QType = QType::Scalar(ScalarType::Text);
/// `BYTES`.
pub const BYTES: QType = QType::Scalar(ScalarType::Bytes);
/// `OPTIONAL_UNIT`, the type of a presence mask.
pub const OPTIONAL_UNIT: QType = QType::Optional(ScalarType::Unit);

impl QType {
    /// Bytes a value occupies in a frame.
    pub fn size(&self) -> u32 {
        match self {
            QType::Scalar(t) => t.size(),
            QType::Optional(ScalarType::Unit) => 1,
            QType::Optional(t) => t.align() + t.size(),
            QType::ScalarShape | QType::OptionalScalarShape | QType::Axes(_) => 1,
            QType::ArrayShape(_) => 8,
            QType::Tuple(t) => t.size(),
            QType::Sequence(_)
            | QType::Array(_)
            | QType::Edge(_)
            | QType::EdgeToScalar(_)
            | QType::NdArray(_) => HANDLE_SIZE,
        }
    }

    /// Alignment of a value in a frame, in bytes.
    pub fn align(&self) -> u32 {
        match self {
            QType::Scalar(t) | QType::Optional(t) => t.align(),
            QType::ScalarShape | QType::OptionalScalarShape | QType::Axes(_) => 1,
            QType::ArrayShape(_) => 8,
            QType::Tuple(t) => t.align(),
            QType::Sequence(_)
            | QType::Array(_)
            | QType::Edge(_)
            | QType::EdgeToScalar(_)
            | QType::NdArray(_) => 8,
        }
    }

    /// True if values can be of the type: it says nothing [narrow](ScalarType::is_narrow) but of elements of
    /// n-dimensional arrays.
    pub fn is_type_of_values(&self) -> bool {
        match self {
            QType::Scalar(t) | QType::Optional(t) | QType::Sequence(t) => !t.is_narrow(),
            QType::Array(t) => !t.element.is_narrow(),
            QType::Tuple(t) => t.fields().iter().all(QType::is_type_of_values),
            _ => true,
        }
    }

    /// True if there are narrow elements in arrays of the type.
    pub fn has_narrow_elements(&self) -> bool {
        match self {
            QType::NdArray(t) => t.element().is_narrow(),
            QType::Tuple(t) => t.fields().iter().any(QType::has_narrow_elements),
            _ => false,
        }
    }

    /// True if a value is plain bytes without buffer handles.
    pub fn is_plain(&self) -> bool {
        match self {
            QType::Scalar(t) | QType::Optional(t) => t.is_plain(),
            QType::ScalarShape | QType::OptionalScalarShape | QType::ArrayShape(_) | QType::Axes(_) => true,
            QType::Tuple(t) => t.is_plain(),
            QType::Sequence(_)
            | QType::Array(_)
            | QType::Edge(_)
            | QType::EdgeToScalar(_)
            | QType::NdArray(_) => false,
        }
    }

    /// The scalar type of a scalar or optional.
    pub fn scalar(&self) -> Option<ScalarType> {
        match self {
            QType::Scalar(t) | QType::Optional(t) => Some(*t),
            _ => None,
        }
    }

    /// True for `OPTIONAL_*`.
    pub fn is_optional(&self) -> bool {
        matches!(self, QType::Optional(_))
    }

    /// True for an edge, between arrays or to a scalar.
    pub fn is_edge(&self) -> bool {
        matches!(self, QType::Edge(_) | QType::EdgeToScalar(_))
    }

    /// True for a scalar or optional number.
    pub fn is_numeric(&self) -> bool {
        self.scalar().is_some_and(ScalarType::is_numeric)
    }

    /// The optional form of a scalar or optional type.
    pub fn to_optional(&self) -> Option<QType> {
        self.scalar().map(QType::Optional)
    }

    /// The same type with another scalar or row in it: `with_scalar(OPTIONAL_INT32, FLOAT64)` is
    /// `OPTIONAL_FLOAT64`.
    pub fn with_scalar(&self, scalar: ScalarType) -> Option<QType> {
        match self {
            QType::Scalar(_) => Some(QType::Scalar(scalar)),
            QType::Optional(_) => Some(QType::Optional(scalar)),
            QType::Array(t) => Some(QType::Array(t.of(scalar))),
            QType::NdArray(t) => t.with_element(scalar).map(QType::NdArray),
            _ => None,
        }
    }

    /// The array type, if it is one.
    pub fn array(&self) -> Option<ArrayType> {
        match self {
            QType::Array(t) => Some(*t),
            _ => None,
        }
    }

    /// The n-dimensional array type, if it is one.
    pub fn nd(&self) -> Option<NdType> {
        match self {
            QType::NdArray(t) => Some(*t),
            _ => None,
        }
    }

    /// The scalar inside a scalar, optional or array of any kind.
    pub fn scalar_inside(&self) -> Option<ScalarType> {
        self.nd().map(NdType::element).or(self.element())
    }

    /// The type of the rows of an array, or of a scalar or optional that stands for all rows.
    pub fn element(&self) -> Option<ScalarType> {
        self.array().map(|t| t.element).or(self.scalar())
    }

    /// The tuple behind a tuple or namedtuple type.
    pub fn tuple(&self) -> Option<&Arc<TupleType>> {
        match self {
            QType::Tuple(t) => Some(t),
            _ => None,
        }
    }

    /// The type that stores this one in a frame: WEAK_FLOAT is stored as FLOAT64, a namedtuple as a
    /// tuple.
    pub fn storage(&self) -> QType {
        match self {
            QType::Scalar(t) => QType::Scalar(t.storage()),
            QType::Optional(t) => QType::Optional(t.storage()),
            QType::Tuple(t) => QType::Tuple(TupleType::storage(t)),
            QType::Sequence(t) => QType::Sequence(t.storage()),
            QType::Array(t) => QType::Array(t.of(t.element.storage())),
            other => other.clone(),
        }
    }

    /// True if the type is its own storage type.
    pub fn is_storage(&self) -> bool {
        match self {
            QType::Scalar(t) | QType::Optional(t) | QType::Sequence(t) => t.storage() == *t,
            QType::Tuple(t) => t.is_storage(),
            QType::Array(t) => t.element.storage() == t.element,
            _ => true,
        }
    }

    /// Offset of the value behind the presence byte of an optional.
    pub fn value_offset(&self) -> Option<u32> {
        match self {
            QType::Optional(t) => Some(if *t == ScalarType::Unit { 0 } else { t.align() }),
            _ => None,
        }
    }

    /// Levels of tuples inside the type: 0 for a scalar, 1 for a tuple of scalars.
    pub fn depth(&self) -> u32 {
        self.tuple().map_or(0, |t| t.depth())
    }

    /// Scalars, optionals, shapes and handles inside the type, counted flat.
    pub fn leaf_count(&self) -> u32 {
        self.tuple().map_or(1, |t| t.leaf_count())
    }
}

impl From<ScalarType> for QType {
    fn from(scalar: ScalarType) -> QType {
        QType::Scalar(scalar)
    }
}

impl fmt::Display for QType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QType::Scalar(t) => f.write_str(t.name()),
            QType::Optional(t) => write!(f, "OPTIONAL_{}", t.name()),
            QType::ScalarShape => f.write_str("SCALAR_SHAPE"),
            QType::OptionalScalarShape => f.write_str("OPTIONAL_SCALAR_SHAPE"),
            QType::Tuple(t) => t.fmt(f),
            QType::Sequence(t) => write!(f, "SEQUENCE[{}]", t.name()),
            QType::Array(t) => t.fmt(f),
            QType::Edge(class) => write!(f, "{}EDGE", class.prefix()),
            QType::EdgeToScalar(class) => write!(f, "{}TO_SCALAR_EDGE", class.prefix()),
            QType::ArrayShape(class) => write!(f, "{}SHAPE", class.prefix()),
            QType::NdArray(t) => t.fmt(f),
            QType::Axes(axes) => axes.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_published_table() {
        let sizes: Vec<(String, u32, u32)> = ScalarType::ALL
            .iter()
            .flat_map(|t| [QType::Scalar(*t), QType::Optional(*t)])
            .map(|q| (q.to_string(), q.size(), q.align()))
            .collect();
        let of = |name: &str| sizes.iter().find(|s| s.0 == name).map(|s| (s.1, s.2));
        assert_eq!(of("OPTIONAL_UNIT"), Some((1, 1)));
        assert_eq!(of("OPTIONAL_BOOLEAN"), Some((2, 1)));
        assert_eq!(of("OPTIONAL_FLOAT32"), Some((8, 4)));
        assert_eq!(of("OPTIONAL_INT64"), Some((16, 8)));
        assert_eq!(of("WEAK_FLOAT"), Some((8, 8)));
        assert_eq!(of("OPTIONAL_TEXT"), Some((32, 8)));
    }
}
