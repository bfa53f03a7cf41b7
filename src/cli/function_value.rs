//! Arguments and results of functions as JSON.
//!
//! | JSON | argument |
//! | --- | --- |
//! | `3`, `2.5`, `true`, `null` | int, float, bool, None |
//! | `[1, 2]`, `[[1.0, 2.0], [3.0, 4.0]]` | an array: of ints if all are, of bools if all are, else of floats |
//! | `{"tuple": [1, 2.5]}` | a tuple |
//! | `{"t": "float", "v": "nan"}` | the form of recorded calls: `int`, `float`, `bool`, `none`, `tuple`, `array`, and numpy's scalars |
//!
//! Results are printed as JSON of the first forms, and in the form of recorded calls by `--batch`.

use crate::cli::json_stream::{List, Nested};
use crate::function::library;
use cembra_vm::value::nd_type::NdType;
use cembra_vm::value::{NdRows, ScalarType, ScalarValue, Value};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Reads a list of arguments.
///
/// # Errors
/// What is wrong with which argument.
pub fn read_arguments(json: &Json) -> Result<Vec<Value>, String> {
    let list = json.as_array().ok_or("the arguments are a JSON list")?;
    let read = |(position, json)| read_value(json).map_err(|what| format!("argument {position}: {what}"));
    list.iter().enumerate().map(read).collect()
}

/// An integer of a JSON text that does not fit 64 bits: what reads JSON makes a float of it.
pub fn large_integer(text: &str) -> Option<String> {
    let is_number = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
    // A quote behind a backslash ends no text; every second part is one.
    let plain = text.replace("\\\\", "").replace("\\\"", "");
    let words = plain.split('"').step_by(2).flat_map(|part| part.split(|c| !is_number(c)));
    let is_large = |word: &&str| {
        let digits = word.strip_prefix('-').unwrap_or(word);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) && word.parse::<i64>().is_err()
    };
    words.into_iter().find(is_large).map(str::to_owned)
}

/// Reads a value.
///
/// # Errors
/// What is wrong.
pub fn read_value(json: &Json) -> Result<Value, String> {
    match json {
        Json::Null => Ok(Value::Scalar(ScalarValue::Unit)),
        Json::Bool(value) => Ok(Value::Scalar(ScalarValue::Boolean(*value))),
        Json::Number(number) => match number.as_i64() {
            Some(value) => Ok(Value::Scalar(ScalarValue::Int64(value))),
            None if number.is_u64() => Err(format!("the integer {number} does not fit 64 bits")),
            None => {
                let value = number.as_f64().ok_or_else(|| format!("{number} is no number"))?;
                Ok(Value::Scalar(ScalarValue::Float64(value)))
            }
        },
        Json::Array(_) => read_nested(json),
        Json::Object(object) => match (object.get("tuple"), object.get("t").and_then(Json::as_str)) {
            (Some(fields), _) => read_tuple(fields),
            (None, Some(kind)) => read_recorded(kind, json),
            _ => Err(format!("{json} is no value")),
        },
        Json::String(text) => Err(format!("functions take no texts, such as {text:?}")),
    }
}

fn read_tuple(fields: &Json) -> Result<Value, String> {
    let fields = fields.as_array().ok_or("the fields of a tuple are a list")?;
    let fields: Vec<Value> = fields.iter().map(read_value).collect::<Result<_, _>>()?;
    Value::tuple(fields).map_err(|error| error.to_string())
}

fn read_recorded(kind: &str, json: &Json) -> Result<Value, String> {
    let value = &json["v"];
    let text = text_of(value);
    let unknown = || format!("functions take no values of type {kind}");
    match kind {
        "none" => Ok(Value::Scalar(ScalarValue::Unit)),
        "bool" => Ok(Value::Scalar(ScalarValue::Boolean(value.as_bool().ok_or("a bool is expected")?))),
        "float" | "float32" | "float64" => {
            Ok(Value::Scalar(ScalarValue::Float64(text.parse().map_err(|_| format!("{text} is no float"))?)))
        }
        "tuple" => read_tuple(value),
        "array" => read_array(json),
        "int" => read_integer(&text),
        _ if kind.starts_with("int") || kind.starts_with("uint") => {
            let element = element_named(kind).ok_or_else(unknown)?;
            let value = read_integer(&text)?;
            element_of(element, &text).map(|_| value).ok_or_else(|| format!("{text} is no {kind}"))
        }
        _ => Err(unknown()),
    }
}

/// A number or a text as it is written, without quotes.
fn text_of(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

fn read_integer(text: &str) -> Result<Value, String> {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    let value = text.parse().map_err(|error: std::num::ParseIntError| match error.kind() {
        PosOverflow | NegOverflow => format!("the integer {text} does not fit 64 bits"),
        _ => format!("{text} is no integer"),
    })?;
    Ok(Value::Scalar(ScalarValue::Int64(value)))
}

/// The type of elements or numbers that numpy calls so.
fn element_named(dtype: &str) -> Option<ScalarType> {
    library::element_named(&format!("numpy.{dtype}"))
}

fn read_array(json: &Json) -> Result<Value, String> {
    let dtype = json["dtype"].as_str().unwrap_or_default();
    let element = element_named(dtype).ok_or_else(|| format!("there are no arrays of {dtype:?}"))?;
    let size = |(axis, json): (usize, &Json)| {
        let size = json.as_u64().and_then(|size| usize::try_from(size).ok());
        size.ok_or_else(|| format!("{json} is no size, at position {axis} of the shape"))
    };
    let shape = json["shape"].as_array().ok_or("an array has a shape")?;
    let shape: Vec<usize> = shape.iter().enumerate().map(size).collect::<Result<_, _>>()?;
    let data = json["data"].as_array().ok_or("an array has data")?;
    let scalar = |json: &Json| {
        let text = text_of(json);
        element_of(element, &text).ok_or_else(|| format!("{text} is no element of {dtype}"))
    };
    let scalars: Vec<ScalarValue> = data.iter().map(scalar).collect::<Result<_, _>>()?;
    array(element, &shape, &scalars)
}

fn element_of(element: ScalarType, text: &str) -> Option<ScalarValue> {
    Some(match element {
        ScalarType::Boolean => ScalarValue::Boolean(match text {
            "True" | "true" | "1" => true,
            "False" | "false" | "0" => false,
            _ => return None,
        }),
        ScalarType::Int32 => ScalarValue::Int32(text.parse().ok()?),
        ScalarType::Int64 => ScalarValue::Int64(text.parse().ok()?),
        ScalarType::Float32 => ScalarValue::Float32(text.parse().ok()?),
        ScalarType::Float64 => ScalarValue::Float64(text.parse().ok()?),
        ScalarType::Uint64 => ScalarValue::Int64(text.parse::<u64>().ok()? as i64),
        ScalarType::Int8 => ScalarValue::Int64(text.parse::<i8>().ok()?.into()),
        ScalarType::Int16 => ScalarValue::Int64(text.parse::<i16>().ok()?.into()),
        ScalarType::Uint8 => ScalarValue::Int64(text.parse::<u8>().ok()?.into()),
        ScalarType::Uint16 => ScalarValue::Int64(text.parse::<u16>().ok()?.into()),
        ScalarType::Uint32 => ScalarValue::Int64(text.parse::<u32>().ok()?.into()),
        _ => return None,
    })
}

fn array(element: ScalarType, shape: &[usize], scalars: &[ScalarValue]) -> Result<Value, String> {
    let qtype = NdType::new(element, shape.len(), 0)
        .ok_or_else(|| format!("there are no arrays of {element} with {} axes", shape.len()))?;
    let rows = NdRows::from_scalars(qtype, shape, scalars).map_err(|error| error.to_string())?;
    Ok(Value::NdArray(Arc::new(rows)))
}

/// Reads nested lists of one size along each axis.
fn read_nested(json: &Json) -> Result<Value, String> {
    let mut shape = Vec::new();
    let mut at = json;
    while let Json::Array(list) = at {
        shape.push(list.len());
        match list.first() {
            Some(first) => at = first,
            None => break,
        }
    }
    let mut leaves = Vec::new();
    collect(json, &shape, &mut leaves)?;
    let element = match () {
        () if !leaves.is_empty() && leaves.iter().all(|leaf| leaf.is_boolean()) => ScalarType::Boolean,
        () if !leaves.is_empty() && leaves.iter().all(|leaf| leaf.is_i64()) => ScalarType::Int64,
        () => ScalarType::Float64,
    };
    let scalar = |leaf: &&Json| match (element, leaf) {
        (ScalarType::Boolean, Json::Bool(value)) => Ok(ScalarValue::Boolean(*value)),
        (ScalarType::Int64, leaf) => Ok(ScalarValue::Int64(leaf.as_i64().unwrap_or_default())),
        (_, Json::Object(_)) => match read_value(leaf) {
            Ok(Value::Scalar(ScalarValue::Float64(value))) => Ok(ScalarValue::Float64(value)),
            _ => Err(format!("{leaf} is no element of an array")),
        },
        (_, leaf) => {
            leaf.as_f64().map(ScalarValue::Float64).ok_or_else(|| format!("{leaf} is no element of an array"))
        }
    };
    let scalars: Vec<ScalarValue> = leaves.iter().map(scalar).collect::<Result<_, _>>()?;
    array(element, &shape, &scalars)
}

fn collect<'j>(json: &'j Json, shape: &[usize], out: &mut Vec<&'j Json>) -> Result<(), String> {
    match (json, shape) {
        (Json::Array(list), [size, rest @ ..]) if list.len() == *size => {
            list.iter().try_for_each(|part| collect(part, rest, out))
        }
        (Json::Array(_), _) => Err("the lists of an array have one size along each axis".to_owned()),
        (leaf, []) => {
            out.push(leaf);
            Ok(())
        }
        _ => Err("the lists of an array have one size along each axis".to_owned()),
    }
}

/// A value in the form of recorded calls, as a tree.
pub fn recorded(value: &Value) -> Json {
    serde_json::to_value(Recorded(value)).expect("names of objects are texts")
}

/// A value in the form of recorded calls.
pub struct Recorded<'v>(pub &'v Value);

impl Serialize for Recorded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Scalar(scalar) | Value::Present(scalar) => recorded_scalar(scalar).serialize(serializer),
            Value::Missing(_) => recorded_scalar(&ScalarValue::Unit).serialize(serializer),
            Value::Tuple(tuple) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("t", "tuple")?;
                map.serialize_entry("v", &List(|| tuple.fields().iter().map(Recorded)))?;
                map.end()
            }
            Value::NdArray(rows) => recorded_array(rows, serializer),
            other => serializer.collect_str(other),
        }
    }
}

fn recorded_scalar(scalar: &ScalarValue) -> Json {
    match scalar {
        ScalarValue::Unit => json!({ "t": "none", "v": null }),
        ScalarValue::Boolean(value) => json!({ "t": "bool", "v": value }),
        ScalarValue::Int64(value) => json!({ "t": "int", "v": value.to_string() }),
        ScalarValue::Int32(value) => json!({ "t": "int", "v": value.to_string() }),
        other => json!({ "t": "float", "v": python_float(other.as_f64().unwrap_or(f64::NAN)) }),
    }
}

fn recorded_array<S: Serializer>(rows: &NdRows, serializer: S) -> Result<S::Ok, S::Error> {
    let element = rows.qtype().element();
    let dtype = if element == ScalarType::Boolean { "bool" } else { element.name() };
    let text = |scalar: ScalarValue| match unsigned(element, &scalar) {
        Some(value) => value.to_string(),
        None => element_text(&scalar),
    };
    let view = rows.view();
    let mut map = serializer.serialize_map(Some(5))?;
    map.serialize_entry("t", "array")?;
    map.serialize_entry("dtype", &dtype.to_ascii_lowercase())?;
    map.serialize_entry("shape", rows.shape())?;
    map.serialize_entry("order", "C")?;
    map.serialize_entry("data", &List(|| view.scalars().map(text)))?;
    map.end()
}

/// The value of an element of UINT64, whose bits the scalar has.
fn unsigned(element: ScalarType, scalar: &ScalarValue) -> Option<u64> {
    scalar.as_i64().filter(|_| element == ScalarType::Uint64).map(|bits| bits as u64)
}

fn element_text(scalar: &ScalarValue) -> String {
    match scalar {
        ScalarValue::Boolean(value) => if *value { "True" } else { "False" }.to_owned(),
        ScalarValue::Float32(value) => python_float(f64::from(*value)),
        ScalarValue::Float64(value) => python_float(*value),
        other => other.as_i64().unwrap_or_default().to_string(),
    }
}

/// A float as Python prints it.
pub fn python_float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    format!("{value:?}")
}

/// A value as JSON for people; floats that JSON has not are texts.
pub struct Plain<'v>(pub &'v Value);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Scalar(ScalarValue::Unit) | Value::Missing(_) => serializer.serialize_unit(),
            Value::Scalar(scalar) | Value::Present(scalar) => plain_scalar(scalar).serialize(serializer),
            Value::Tuple(tuple) => serializer.collect_seq(tuple.fields().iter().map(Plain)),
            Value::NdArray(rows) => {
                let (view, element) = (rows.view(), rows.qtype().element());
                let json = |scalar: ScalarValue| match unsigned(element, &scalar) {
                    Some(value) => json!(value),
                    None => plain_scalar(&scalar),
                };
                Nested { shape: rows.shape(), elements: || view.scalars().map(json) }.serialize(serializer)
            }
            other => serializer.collect_str(other),
        }
    }
}

fn plain_scalar(scalar: &ScalarValue) -> Json {
    match scalar {
        ScalarValue::Boolean(value) => json!(value),
        other => match other.as_i64() {
            Some(value) => json!(value),
            None => {
                let value = other.as_f64().unwrap_or(f64::NAN);
                if value.is_finite() { json!(value) } else { json!(python_float(value)) }
            }
        },
    }
}
