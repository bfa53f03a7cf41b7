//! Arrays as JSON: `{"dtype", "shape", "data"}`, elements in row-major order; floats that JSON has no
//! numbers for are `"NaN"`, `"Infinity"` and `"-Infinity"`.

use crate::dag::Array;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};

/// An array.
pub struct ArrayJson<'a>(pub &'a Array);

impl Serialize for ArrayJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("dtype", &self.0.dtype().to_string())?;
        map.serialize_entry("shape", self.0.shape())?;
        map.serialize_entry("data", &Elements(self.0))?;
        map.end()
    }
}

/// An array, and whether the published engine holds it as numpy scalar.
pub fn with_kind(value: &Array, is_scalar: bool) -> Json {
    let mut json = json!(ArrayJson(value));
    let kind = if is_scalar && value.shape().is_empty() { "scalar" } else { "ndarray" };
    json["kind"] = kind.into();
    json
}

struct Elements<'a>(&'a Array);

impl Serialize for Elements<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Array::Bool(elements) => serializer.collect_seq(elements),
            Array::Int8(elements) => serializer.collect_seq(elements),
            Array::Int32(elements) => serializer.collect_seq(elements),
            Array::Int64(elements) => serializer.collect_seq(elements),
            Array::Float16(elements) => serializer.collect_seq(elements.iter().map(|v| float(v.to_f64()))),
            Array::Float32(elements) => serializer.collect_seq(elements.iter().map(|v| float(f64::from(*v)))),
            Array::Float64(elements) => serializer.collect_seq(elements.iter().map(|v| float(*v))),
            Array::Text(texts) => serializer.collect_seq(texts.texts()),
        }
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
