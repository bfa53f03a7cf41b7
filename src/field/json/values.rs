//! Numbers of the JSON form: scalars, cells of fields, with `"nan"`, `"inf"` and `"-inf"` for what JSON has not.

use crate::field::cells::FieldCells;
use crate::field::dimension::DimensionId;
use crate::field::element::{FieldLiteral, dtype_from_name, dtype_name, held_as, integer_value};
use crate::field::error::FieldProblem;
use crate::field::program::FieldProgram;
use cembra_vm::value::{ScalarType, ScalarValue};
use serde_json::{Value as Json, json};

/// Reads a number or truth value of an element type, as the machine holds it.
///
/// # Errors
/// It is none, or does not fit.
pub fn read_scalar(json: &Json, dtype: ScalarType) -> Result<ScalarValue, FieldProblem> {
    let value = match dtype {
        ScalarType::Boolean => json.as_bool().map(ScalarValue::Boolean),
        ScalarType::Float32 => float(json)
            .filter(|value| !value.is_finite() || (*value as f32).is_finite())
            .map(|value| ScalarValue::Float32(value as f32)),
        ScalarType::Float64 => float(json).map(ScalarValue::Float64),
        ScalarType::Uint64 if json.is_u64() => json.as_u64().and_then(|n| integer_value(n.into(), dtype)),
        dtype => integer(json).and_then(|number| integer_value(number.into(), dtype)),
    };
    value.ok_or_else(|| {
        let what = format!("{} is no {}", short(json), dtype_name(dtype));
        FieldProblem::Data { what }
    })
}

/// Reads a list of cells of an element type, as the machine holds them.
///
/// # Errors
/// It is no list, or a cell is none of the type.
pub fn read_cells(json: &Json, dtype: ScalarType) -> Result<FieldCells, FieldProblem> {
    let list = json.as_array().ok_or_else(|| FieldProblem::Data {
        what: format!("{} is no list of {}", short(json), dtype_name(dtype)),
    })?;
    macro_rules! cells {
        ($variant:ident, $scalar:ident) => {{
            let mut cells = Vec::with_capacity(list.len());
            for cell in list {
                match read_scalar(cell, dtype)? {
                    ScalarValue::$scalar(value) => cells.push(value),
                    _ => unreachable!("the machine holds it so"),
                }
            }
            FieldCells::$variant(cells)
        }};
    }
    Ok(match held_as(dtype) {
        ScalarType::Boolean => cells!(Bool, Boolean),
        ScalarType::Int32 => cells!(Int32, Int32),
        ScalarType::Int64 => cells!(Int64, Int64),
        ScalarType::Float32 => cells!(Float32, Float32),
        _ => cells!(Float64, Float64),
    })
}

/// Writes a scalar of an element type; a FLOAT32 as the shortest decimal that rounds to it.
pub fn write_scalar(value: &ScalarValue, dtype: ScalarType) -> Json {
    match *value {
        ScalarValue::Int64(value) if dtype == ScalarType::Uint64 => json!(value.cast_unsigned()),
        ScalarValue::Boolean(value) => json!(value),
        ScalarValue::Int32(value) => json!(value),
        ScalarValue::Int64(value) => json!(value),
        ScalarValue::Float32(value) => match value.to_string().parse::<f64>() {
            Ok(shown) if value.is_finite() => json!(shown),
            _ => write_float(f64::from(value)),
        },
        ScalarValue::Float64(value) => write_float(value),
        _ => Json::Null,
    }
}

fn write_float(value: f64) -> Json {
    match value {
        _ if value.is_nan() => json!("nan"),
        _ if value.is_infinite() => json!(if value > 0.0 { "inf" } else { "-inf" }),
        _ => json!(value),
    }
}

/// An integer; also one that is written as a float.
pub(crate) fn integer(json: &Json) -> Option<i64> {
    json.as_i64().or_else(|| {
        let value = json.as_f64()?;
        (value.fract() == 0.0 && value.abs() < 9e15).then_some(value as i64)
    })
}

fn float(json: &Json) -> Option<f64> {
    match json.as_str() {
        Some("nan") => Some(f64::NAN),
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        _ => json.as_f64(),
    }
}

/// The beginning of a JSON value, for messages.
pub(crate) fn short(json: &Json) -> String {
    let text = match json {
        Json::Array(list) if list.len() > 8 => format!("a list of {}", list.len()),
        Json::Object(map) if map.len() > 8 => format!("an object of {}", map.len()),
        other => other.to_string(),
    };
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

pub(super) fn syntax(what: impl Into<String>) -> FieldProblem {
    FieldProblem::Syntax { what: what.into() }
}

pub(super) fn dimension(program: &FieldProgram, name: &str) -> Result<DimensionId, FieldProblem> {
    let unknown = || FieldProblem::UnknownName { role: "dimension", name: name.to_owned() };
    program.dimension(name).ok_or_else(unknown)
}

pub(super) fn dtype(json: &Json) -> Result<ScalarType, FieldProblem> {
    match json {
        Json::Null => Ok(ScalarType::Float64),
        Json::String(name) => dtype_from_name(name)
            .ok_or_else(|| FieldProblem::UnknownName { role: "element type", name: name.clone() }),
        json => Err(syntax(format!("{} is no element type", short(json)))),
    }
}

pub(super) fn list<'j>(json: &'j Json, what: &str) -> Result<&'j [Json], FieldProblem> {
    json.as_array().map(Vec::as_slice).ok_or_else(|| syntax(format!("{what} is a list, not {}", short(json))))
}

/// The value of a scalar that a literal stands for.
pub(super) fn literal_value(json: &[Json]) -> Result<FieldLiteral, FieldProblem> {
    match json {
        [_, Json::Bool(value)] => Ok(ScalarValue::Boolean(*value).into()),
        [_, value] => Ok(read_scalar(value, ScalarType::Float64)?.into()),
        [_, value, of] => {
            let dtype = dtype(of)?;
            let literal = FieldLiteral::new(read_scalar(value, dtype)?, dtype);
            Ok(literal.expect("it was read as one of the type"))
        }
        _ => Err(syntax("a literal is [\"lit\", value] or [\"lit\", value, dtype]")),
    }
}
