//! Element types of fields: their names, their numbers, and the types of the machine that hold them.
//!
//! ```text
//! int8, int16, uint8, uint16     held as INT32
//! uint32                         held as INT64
//! uint64                         held as INT64 of the same bits
//! others                         held as they are
//! ```
//!
//! The machine computes with no narrow elements. A value of such a type is held in the next wider type, and is always one
//! of the numbers of its own: what enters is checked, and results of operations are wrapped.

use cembra_vm::value::{ScalarType, ScalarValue};
use std::ops::RangeInclusive;

/// The element types of fields.
pub const FIELD_DTYPES: [ScalarType; 11] = [
    ScalarType::Float64,
    ScalarType::Float32,
    ScalarType::Int8,
    ScalarType::Int16,
    ScalarType::Int32,
    ScalarType::Int64,
    ScalarType::Uint8,
    ScalarType::Uint16,
    ScalarType::Uint32,
    ScalarType::Uint64,
    ScalarType::Boolean,
];

/// The name of an element type in texts and JSON: `float64`, `uint8`, `bool`.
pub fn dtype_name(dtype: ScalarType) -> &'static str {
    match dtype {
        ScalarType::Float64 => "float64",
        ScalarType::Float32 => "float32",
        ScalarType::Int8 => "int8",
        ScalarType::Int16 => "int16",
        ScalarType::Int32 => "int32",
        ScalarType::Int64 => "int64",
        ScalarType::Uint8 => "uint8",
        ScalarType::Uint16 => "uint16",
        ScalarType::Uint32 => "uint32",
        ScalarType::Uint64 => "uint64",
        ScalarType::Boolean => "bool",
        other => other.name(),
    }
}

/// The element type of a name.
pub fn dtype_from_name(name: &str) -> Option<ScalarType> {
    FIELD_DTYPES.into_iter().find(|dtype| dtype_name(*dtype) == name)
}

/// The names of all element types.
#[cfg(feature = "cli")]
pub(crate) fn dtype_names() -> String {
    FIELD_DTYPES.map(dtype_name).join(", ")
}

/// True for float32 and float64.
pub(crate) fn is_float(dtype: ScalarType) -> bool {
    matches!(dtype, ScalarType::Float32 | ScalarType::Float64)
}

/// The type of the machine that holds the values of an element type.
pub fn held_as(dtype: ScalarType) -> ScalarType {
    match dtype {
        ScalarType::Int8 | ScalarType::Int16 | ScalarType::Uint8 | ScalarType::Uint16 => ScalarType::Int32,
        ScalarType::Uint32 | ScalarType::Uint64 => ScalarType::Int64,
        other => other,
    }
}

/// The numbers of an integer type.
pub(crate) fn integers(dtype: ScalarType) -> Option<RangeInclusive<i128>> {
    Some(match dtype {
        ScalarType::Int8 => i8::MIN.into()..=i8::MAX.into(),
        ScalarType::Int16 => i16::MIN.into()..=i16::MAX.into(),
        ScalarType::Int32 => i32::MIN.into()..=i32::MAX.into(),
        ScalarType::Int64 => i64::MIN.into()..=i64::MAX.into(),
        ScalarType::Uint8 => 0..=u8::MAX.into(),
        ScalarType::Uint16 => 0..=u16::MAX.into(),
        ScalarType::Uint32 => 0..=u32::MAX.into(),
        ScalarType::Uint64 => 0..=u64::MAX.into(),
        _ => return None,
    })
}

/// True if an element type has all numbers of another one, or rounds to them; casts to it never raise.
pub(crate) fn has_all(dtype: ScalarType, of: ScalarType) -> bool {
    match (integers(dtype), integers(of)) {
        (Some(numbers), Some(of)) => numbers.contains(of.start()) && numbers.contains(of.end()),
        (numbers, _) => numbers.is_none() || of == ScalarType::Boolean,
    }
}

/// An integer as a value of an integer type, if it is one of its numbers.
pub(crate) fn integer_value(number: i128, dtype: ScalarType) -> Option<ScalarValue> {
    let is_number = integers(dtype)?.contains(&number);
    is_number.then(|| match held_as(dtype) {
        ScalarType::Int32 => ScalarValue::Int32(number as i32),
        _ => ScalarValue::Int64(number as i64),
    })
}

/// The integer that a value of the machine holds for an element type.
pub fn integer_of(value: &ScalarValue, dtype: ScalarType) -> Option<i128> {
    let number = value.as_i64()?;
    Some(if dtype == ScalarType::Uint64 { number.cast_unsigned().into() } else { number.into() })
}

/// True if a value of the machine holds a number, or a truth value, of an element type.
pub fn is_value_of(value: &ScalarValue, dtype: ScalarType) -> bool {
    let is_number = |number| integers(dtype).is_some_and(|numbers| numbers.contains(&number));
    value.scalar_type() == held_as(dtype) && integer_of(value, dtype).is_none_or(is_number)
}

/// A number or a truth value of an element type.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldLiteral {
    value: ScalarValue,
    dtype: ScalarType,
}

impl FieldLiteral {
    /// The value of an element type that a value of the machine holds; nothing if it holds none.
    ///
    /// ```
    /// use cembra::field::FieldLiteral;
    /// use cembra_vm::value::{ScalarType, ScalarValue};
    ///
    /// assert!(FieldLiteral::new(ScalarValue::Int32(255), ScalarType::Uint8).is_some());
    /// assert!(FieldLiteral::new(ScalarValue::Int32(256), ScalarType::Uint8).is_none());
    /// ```
    pub fn new(value: ScalarValue, dtype: ScalarType) -> Option<FieldLiteral> {
        is_value_of(&value, dtype).then_some(FieldLiteral { value, dtype })
    }

    /// As the machine holds it.
    pub fn value(&self) -> &ScalarValue {
        &self.value
    }

    /// The element type.
    pub fn dtype(&self) -> ScalarType {
        self.dtype
    }
}

impl From<ScalarValue> for FieldLiteral {
    fn from(value: ScalarValue) -> FieldLiteral {
        let dtype = value.scalar_type();
        FieldLiteral { value, dtype }
    }
}

macro_rules! literals {
    ($($number:ident $dtype:ident $held:ident,)*) => {$(
        impl From<$number> for FieldLiteral {
            fn from(value: $number) -> FieldLiteral {
                FieldLiteral { value: ScalarValue::$held(value.into()), dtype: ScalarType::$dtype }
            }
        }
    )*};
}

literals! {
    bool Boolean Boolean,
    i8 Int8 Int32,
    i16 Int16 Int32,
    i32 Int32 Int32,
    i64 Int64 Int64,
    u8 Uint8 Int32,
    u16 Uint16 Int32,
    u32 Uint32 Int64,
    f32 Float32 Float32,
    f64 Float64 Float64,
}

impl From<u64> for FieldLiteral {
    fn from(value: u64) -> FieldLiteral {
        FieldLiteral { value: ScalarValue::Int64(value.cast_signed()), dtype: ScalarType::Uint64 }
    }
}
