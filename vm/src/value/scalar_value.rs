//! ScalarValue: a present value of a scalar type.

use crate::value::scalar::ScalarType;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A present scalar value.
#[derive(Clone, Debug)]
pub enum ScalarValue {
    /// The value of UNIT.
    Unit,
    /// A BOOLEAN.
    Boolean(bool),
    /// An INT32.
    Int32(i32),
    /// An INT64.
    Int64(i64),
    /// A FLOAT32.
    Float32(f32),
    /// A FLOAT64.
    Float64(f64),
    /// A WEAK_FLOAT.
    WeakFloat(f64),
    /// A TEXT.
    Text(Arc<str>),
    /// A BYTES.
    Bytes(Arc<[u8]>),
}

impl ScalarValue {
    /// The bits that a plain value has in memory, in the lowest bytes; nothing of one that is no element of arrays with axes.
    pub(crate) fn bits(&self) -> Option<u64> {
        Some(match self {
            ScalarValue::Boolean(value) => u64::from(*value),
            ScalarValue::Int32(value) => u64::from(value.cast_unsigned()),
            ScalarValue::Int64(value) => value.cast_unsigned(),
            ScalarValue::Float32(value) => u64::from(value.to_bits()),
            ScalarValue::Float64(value) => value.to_bits(),
            _ => return None,
        })
    }

    /// The scalar's type.
    pub fn scalar_type(&self) -> ScalarType {
        match self {
            ScalarValue::Unit => ScalarType::Unit,
            ScalarValue::Boolean(_) => ScalarType::Boolean,
            ScalarValue::Int32(_) => ScalarType::Int32,
            ScalarValue::Int64(_) => ScalarType::Int64,
            ScalarValue::Float32(_) => ScalarType::Float32,
            ScalarValue::Float64(_) => ScalarType::Float64,
            ScalarValue::WeakFloat(_) => ScalarType::WeakFloat,
            ScalarValue::Text(_) => ScalarType::Text,
            ScalarValue::Bytes(_) => ScalarType::Bytes,
        }
    }

    /// The zero of the type: `0`, `false`, `unit`, an empty string. It stands where a missing
    /// optional keeps its unread value.
    pub fn zero(scalar: ScalarType) -> ScalarValue {
        match scalar {
            ScalarType::Unit => ScalarValue::Unit,
            ScalarType::Boolean => ScalarValue::Boolean(false),
            ScalarType::Int32 => ScalarValue::Int32(0),
            ScalarType::Float32 => ScalarValue::Float32(0.0),
            ScalarType::Float64 => ScalarValue::Float64(0.0),
            ScalarType::WeakFloat => ScalarValue::WeakFloat(0.0),
            ScalarType::Text => ScalarValue::Text("".into()),
            ScalarType::Bytes => ScalarValue::Bytes([].into()),
            // INT64, and what becomes one.
            _ => ScalarValue::Int64(0),
        }
    }

    /// The value of a cell of a type, which its bytes begin with, or of all bytes of a string. Of narrow elements it is
    /// INT64, see [`ScalarType::widen`].
    ///
    /// # Panics
    /// If there are fewer bytes, or those of a text are not UTF-8.
    pub(crate) fn of_cell(element: ScalarType, bytes: &[u8]) -> ScalarValue {
        fn cell<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> T {
            bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()])
        }
        match element {
            ScalarType::Unit => ScalarValue::Unit,
            ScalarType::Boolean => ScalarValue::Boolean(bytes[0] != 0),
            ScalarType::Int32 => ScalarValue::Int32(cell(bytes)),
            ScalarType::Float32 => ScalarValue::Float32(cell(bytes)),
            ScalarType::Float64 => ScalarValue::Float64(cell(bytes)),
            ScalarType::WeakFloat => ScalarValue::WeakFloat(cell(bytes)),
            ScalarType::Text => {
                ScalarValue::Text(std::str::from_utf8(bytes).expect("a text is written as a text").into())
            }
            ScalarType::Bytes => ScalarValue::Bytes(bytes.into()),
            integer => ScalarValue::Int64(integer.widen(bytes)),
        }
    }

    /// The number as FLOAT64, if it is one; large INT64 round to nearest.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            ScalarValue::Int32(v) => Some(f64::from(v)),
            ScalarValue::Int64(v) => Some(v as f64),
            ScalarValue::Float32(v) => Some(f64::from(v)),
            ScalarValue::Float64(v) | ScalarValue::WeakFloat(v) => Some(v),
            _ => None,
        }
    }

    /// The integer, if it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            ScalarValue::Int32(v) => Some(i64::from(v)),
            ScalarValue::Int64(v) => Some(v),
            _ => None,
        }
    }

    /// The bits of a plain value, zero-extended; `None` for strings.
    pub fn plain_bits(&self) -> Option<u64> {
        match *self {
            ScalarValue::Unit => Some(0),
            ScalarValue::Boolean(v) => Some(u64::from(v)),
            ScalarValue::Int32(v) => Some(u64::from(v as u32)),
            ScalarValue::Int64(v) => Some(v as u64),
            ScalarValue::Float32(v) => Some(u64::from(v.to_bits())),
            ScalarValue::Float64(v) | ScalarValue::WeakFloat(v) => Some(v.to_bits()),
            ScalarValue::Text(_) | ScalarValue::Bytes(_) => None,
        }
    }
}

impl PartialEq for ScalarValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (ScalarValue::Text(a), ScalarValue::Text(b)) => a == b,
            (ScalarValue::Bytes(a), ScalarValue::Bytes(b)) => a == b,
            _ => {
                self.scalar_type() == other.scalar_type()
                    && self.plain_bits().is_some()
                    && self.plain_bits() == other.plain_bits()
            }
        }
    }
}

impl Eq for ScalarValue {}

impl Hash for ScalarValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.scalar_type().hash(state);
        match self {
            ScalarValue::Text(v) => v.hash(state),
            ScalarValue::Bytes(v) => v.hash(state),
            plain => plain.plain_bits().hash(state),
        }
    }
}
