//! Arrays as JSON: `{"dtype", "shape", "data"}`, elements in row-major order; floats that JSON has no
//! numbers for are `"NaN"`, `"Infinity"` and `"-Infinity"`.

use crate::dag::Array;
use serde_json::{Value as Json, json};

/// An array.
pub fn array(value: &Array) -> Json {
    json!({ "dtype": value.dtype().to_string(), "shape": value.shape(), "data": data(value) })
}

/// An array, and whether the published engine holds it as numpy scalar.
pub fn with_kind(value: &Array, is_scalar: bool) -> Json {
    let mut json = array(value);
    let kind = if is_scalar && value.shape().is_empty() { "scalar" } else { "ndarray" };
    json["kind"] = kind.into();
    json
}

fn data(value: &Array) -> Json {
    match value {
        Array::Bool(elements) => elements.iter().copied().collect(),
        Array::Int8(elements) => elements.iter().copied().collect(),
        Array::Int32(elements) => elements.iter().copied().collect(),
        Array::Int64(elements) => elements.iter().copied().collect(),
        Array::Float16(elements) => elements.iter().map(|v| float(v.to_f64())).collect(),
        Array::Float32(elements) => elements.iter().map(|v| float(f64::from(*v))).collect(),
        Array::Float64(elements) => elements.iter().map(|v| float(*v)).collect(),
        Array::Text(texts) => texts.texts().collect(),
    }
}

fn float(value: f64) -> Json {
    match value {
        _ if value.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        _ => json!(value),
    }
}
