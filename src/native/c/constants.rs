//! Constants of C: numbers that read back as they were, strings, names of categories.

use cembra_vm::value::{Category, ScalarType, ScalarValue, Value};
use std::fmt::Write;

/// A FLOAT64 as C reads it back.
pub(in crate::native) fn float(value: f64) -> String {
    match value.is_finite() {
        true => format!("{value:?}"),
        false => format!("f64_of(UINT64_C(0x{:016x}))", value.to_bits()),
    }
}

/// A FLOAT32 as C reads it back.
pub(in crate::native) fn single(value: f32) -> String {
    match value.is_finite() {
        true => format!("{value:?}f"),
        false => format!("f32_of(UINT32_C(0x{:08x}))", value.to_bits()),
    }
}

/// An INT64 as C reads it back.
pub(in crate::native) fn integer(value: i64) -> String {
    match value {
        i64::MIN => "INT64_MIN".to_owned(),
        value => format!("INT64_C({value})"),
    }
}

/// An INT32 as C reads it back.
pub(in crate::native) fn narrow(value: i32) -> String {
    match value {
        i32::MIN => "INT32_MIN".to_owned(),
        value => value.to_string(),
    }
}

/// The name in C of a category.
pub(in crate::native) fn category_name(category: Category) -> String {
    format!("CEMBRA_{}", category.name())
}

/// The constants of the leaves of a literal.
pub(in crate::native) fn constants_of(value: &Value, constants: &mut Vec<String>) {
    match value {
        Value::Scalar(scalar) => constants.extend(constant(scalar)),
        Value::Present(scalar) => {
            constants.push("1".to_owned());
            constants.extend(constant(scalar).filter(|_| *scalar != ScalarValue::Unit));
        }
        Value::Missing(scalar) => {
            let count = if *scalar == ScalarType::Unit { 1 } else { 2 };
            constants.extend(std::iter::repeat_n("0".to_owned(), count));
        }
        // Bits of a number that may be as large as it will.
        Value::ArrayShape(_, rows) => constants.push(integer(*rows as i64)),
        Value::Tuple(tuple) => tuple.fields().iter().for_each(|field| constants_of(field, constants)),
        _ => {}
    }
}

fn constant(scalar: &ScalarValue) -> Option<String> {
    match scalar {
        ScalarValue::Boolean(x) => Some(u8::from(*x).to_string()),
        ScalarValue::Int32(x) => Some(narrow(*x)),
        ScalarValue::Int64(x) => Some(integer(*x)),
        ScalarValue::Float32(x) => Some(single(*x)),
        ScalarValue::Float64(x) => Some(float(*x)),
        ScalarValue::WeakFloat(x) => Some(float(*x)),
        ScalarValue::Unit => Some("0".to_owned()),
        _ => None,
    }
}

/// A string of C.
pub(in crate::native) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => drop(write!(out, "\\{}", byte as char)),
            0x20..0x7f => out.push(byte as char),
            // Three digits always: a fourth one would not belong to it.
            _ => drop(write!(out, "\\{byte:03o}")),
        }
    }
    out + "\""
}
