//! Value: a typed value outside of any frame.
//!
//! Two values are equal if they are the same type and the same bits: `NaN` equals itself and
//! `-0.0` differs from `0.0`. That is the identity which literals, hash-consing and tests need;
//! the numeric comparison is an operator.

use crate::value::array::{ArrayClass, ArrayRows, ArrayType};
use crate::value::edge::Edge;
use crate::value::nd_type::Axes;
use crate::value::ndarray::NdRows;
use crate::value::qtype::QType;
use crate::value::scalar::ScalarType;
use crate::value::scalar_value::ScalarValue;
use crate::value::sequence::SequenceValue;
use crate::value::tuple::{TupleType, TupleTypeError};
use std::hash::Hash;
use std::sync::Arc;

/// A value with its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A scalar.
    Scalar(ScalarValue),
    /// A present optional.
    Present(ScalarValue),
    /// A missing optional of this scalar type.
    Missing(ScalarType),
    /// The only value of SCALAR_SHAPE.
    ScalarShape,
    /// The only value of OPTIONAL_SCALAR_SHAPE.
    OptionalScalarShape,
    /// A tuple or namedtuple.
    Tuple(Arc<TupleValue>),
    /// A sequence.
    Sequence(Arc<SequenceValue>),
    /// An array.
    Array(ArrayClass, Arc<ArrayRows>),
    /// The shape of an array: its number of rows.
    ArrayShape(ArrayClass, u64),
    /// An edge between arrays, or to a scalar.
    Edge(ArrayClass, Arc<Edge>),
    /// An n-dimensional array.
    NdArray(Arc<NdRows>),
    /// The only value of a list of axes.
    Axes(Axes),
}

/// The fields of a tuple value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TupleValue {
    qtype: Arc<TupleType>,
    fields: Box<[Value]>,
}

impl TupleValue {
    /// The tuple's type.
    pub fn qtype(&self) -> &Arc<TupleType> {
        &self.qtype
    }

    /// The fields in order.
    pub fn fields(&self) -> &[Value] {
        &self.fields
    }
}

impl Value {
    /// Rows, elements or children of an array or edge; 0 of any other value.
    pub fn rows(&self) -> usize {
        match self {
            Value::Array(_, rows) => rows.len(),
            Value::NdArray(array) => array.shape().iter().product(),
            Value::Edge(_, edge) => edge.child_size(),
            _ => 0,
        }
    }

    /// Bytes of the rows and texts of the value.
    pub fn heap_bytes(&self) -> u64 {
        match self {
            Value::Scalar(value) | Value::Present(value) => match value {
                ScalarValue::Text(text) => text.len() as u64,
                ScalarValue::Bytes(bytes) => bytes.len() as u64,
                _ => 0,
            },
            Value::Tuple(tuple) => tuple.fields().iter().map(Value::heap_bytes).sum(),
            Value::Sequence(sequence) => size_of_val(sequence.cells()) as u64,
            Value::Array(_, rows) => rows.heap_bytes(),
            Value::NdArray(array) => array.heap_bytes(),
            Value::Edge(_, edge) => edge.heap_bytes(),
            _ => 0,
        }
    }

    /// The value's type.
    pub fn qtype(&self) -> QType {
        match self {
            Value::Scalar(v) => QType::Scalar(v.scalar_type()),
            Value::Present(v) => QType::Optional(v.scalar_type()),
            Value::Missing(t) => QType::Optional(*t),
            Value::ScalarShape => QType::ScalarShape,
            Value::OptionalScalarShape => QType::OptionalScalarShape,
            Value::Tuple(t) => QType::Tuple(t.qtype.clone()),
            Value::Sequence(s) => QType::Sequence(s.element()),
            Value::Edge(class, edge) if edge.is_to_scalar() => QType::EdgeToScalar(*class),
            Value::Edge(class, _) => QType::Edge(*class),
            Value::ArrayShape(class, _) => QType::ArrayShape(*class),
            Value::NdArray(rows) => QType::NdArray(rows.qtype()),
            Value::Axes(axes) => QType::Axes(*axes),
            Value::Array(class, rows) => QType::Array(ArrayType { class: *class, element: rows.element() }),
        }
    }

    /// A present or missing presence mask.
    pub fn presence(present: bool) -> Value {
        match present {
            true => Value::Present(ScalarValue::Unit),
            false => Value::Missing(ScalarType::Unit),
        }
    }

    /// A tuple of these values.
    pub fn tuple(fields: impl Into<Box<[Value]>>) -> Result<Value, TupleTypeError> {
        let fields = fields.into();
        let qtype = TupleType::new(fields.iter().map(Value::qtype).collect::<Vec<_>>())?;
        Ok(Value::Tuple(Arc::new(TupleValue { qtype, fields })))
    }

    /// A tuple or namedtuple of a known type.
    ///
    /// # Panics
    /// If the values are not of the field types.
    pub fn of_tuple_type(qtype: Arc<TupleType>, fields: impl Into<Box<[Value]>>) -> Value {
        let fields = fields.into();
        let fits = fields.len() == qtype.fields().len()
            && fields.iter().zip(qtype.fields()).all(|(v, t)| v.qtype() == *t);
        assert!(fits, "values do not fit the tuple type {qtype}");
        Value::Tuple(Arc::new(TupleValue { qtype, fields }))
    }

    /// The zero of a type: zeros, missing optionals, empty strings and sequences.
    pub fn zero(qtype: &QType) -> Value {
        match qtype {
            QType::Scalar(t) => Value::Scalar(ScalarValue::zero(*t)),
            QType::Optional(t) => Value::Missing(*t),
            QType::ScalarShape => Value::ScalarShape,
            QType::OptionalScalarShape => Value::OptionalScalarShape,
            QType::Tuple(t) => Value::Tuple(Arc::new(TupleValue {
                fields: t.fields().iter().map(Value::zero).collect(),
                qtype: t.clone(),
            })),
            QType::Sequence(t) => Value::Sequence(Arc::new(SequenceValue::empty(*t))),
            QType::ArrayShape(class) => Value::ArrayShape(*class, 0),
            QType::Edge(class) => Value::Edge(*class, Arc::new(Edge::empty())),
            QType::EdgeToScalar(class) => Value::Edge(*class, Arc::new(Edge::to_scalar(0))),
            QType::Array(t) => Value::Array(t.class, Arc::new(ArrayRows::new(t.element))),
            QType::NdArray(t) => Value::NdArray(Arc::new(NdRows::empty(*t))),
            QType::Axes(axes) => Value::Axes(*axes),
        }
    }

    /// The present scalar of a scalar or optional; `None` for missing and compound values.
    pub fn scalar(&self) -> Option<&ScalarValue> {
        match self {
            Value::Scalar(v) | Value::Present(v) => Some(v),
            _ => None,
        }
    }
}

macro_rules! from_rust {
    ($($rust:ty => $variant:ident),*) => {$(
        impl From<$rust> for Value {
            fn from(v: $rust) -> Value {
                Value::Scalar(ScalarValue::$variant(v.into()))
            }
        }
        impl From<Option<$rust>> for Value {
            fn from(v: Option<$rust>) -> Value {
                match v {
                    Some(v) => Value::Present(ScalarValue::$variant(v.into())),
                    None => Value::Missing(ScalarType::$variant),
                }
            }
        }
    )*};
}

from_rust!(bool => Boolean, i32 => Int32, i64 => Int64, f32 => Float32, f64 => Float64, &str => Text,
           String => Text, &[u8] => Bytes, Vec<u8> => Bytes);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_is_bits() {
        assert_eq!(Value::from(f64::NAN), Value::from(f64::NAN));
        assert_ne!(Value::from(0.0), Value::from(-0.0));
        assert_ne!(Value::from(1.0f64), Value::Scalar(ScalarValue::WeakFloat(1.0)));
        assert_ne!(Value::from(1i32), Value::from(1i64));
        assert_ne!(Value::from(Some(1i32)), Value::from(1i32));
    }
}
