//! Values as JSON, in the form of the recorded cases.
//!
//! Floats are numbers (FLOAT32 as the number it is exactly), `"nan"`, `"inf"`, `"-inf"`; missing is
//! null; UNIT and present are true; BYTES are Latin-1 text; tuples are lists of `{qtype, value}`.

use cembra_vm::value::sequence::SequenceValue;
use cembra_vm::value::{ArrayRows, Edge, NdRows, NdType, QType, ScalarType, ScalarValue, Value};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A value with its type.
pub fn typed(value: &Value) -> Json {
    json!({ "qtype": value.qtype().to_string(), "value": payload(value) })
}

/// A value without its type.
pub fn payload(value: &Value) -> Json {
    match value {
        Value::Scalar(v) | Value::Present(v) => scalar(v),
        Value::Missing(_) => Json::Null,
        Value::Edge(_, edge) => match edge.split_points() {
            _ if edge.is_to_scalar() => json!({ "child_size": edge.child_size() }),
            Some(points) => json!({ "split_points": points }),
            None => json!({
                "mapping": rows(&edge.mapping()),
                "parent_size": edge.parent_size(),
            }),
        },
        Value::ArrayShape(_, size) => json!({ "size": size }),
        Value::NdArray(rows) => {
            let mut cells = rows.view().scalars().map(|value| scalar(&value));
            match rows.shape().contains(&0) {
                // Lists without elements do not show every size.
                true => json!({ "shape": rows.shape(), "values": [] }),
                false => nested(rows.shape(), &mut cells),
            }
        }
        Value::Axes(axes) => json!({ "axes": axes.iter().collect::<Vec<_>>() }),
        Value::ScalarShape | Value::OptionalScalarShape => json!({ "size": 1 }),
        Value::Tuple(t) => t.fields().iter().map(typed).collect(),
        Value::Sequence(s) => s.iter().map(|v| scalar(&v)).collect(),
        Value::Array(_, array) => rows(array),
    }
}

/// Lists in lists, one level for each axis.
fn nested(shape: &[usize], cells: &mut dyn Iterator<Item = Json>) -> Json {
    match shape {
        [] => cells.next().unwrap_or(Json::Null),
        [size, rest @ ..] => (0..*size).map(|_| nested(rest, cells)).collect(),
    }
}

/// The rows of an array, each without its type.
pub fn rows(rows: &ArrayRows) -> Json {
    rows.iter().map(|row| row.map_or(Json::Null, |v| scalar(&v))).collect()
}

fn scalar(value: &ScalarValue) -> Json {
    match value {
        ScalarValue::Unit => Json::Bool(true),
        ScalarValue::Boolean(v) => Json::Bool(*v),
        ScalarValue::Int32(v) => json!(v),
        ScalarValue::Int64(v) => json!(v),
        ScalarValue::Float32(v) => float(f64::from(*v)),
        ScalarValue::Float64(v) | ScalarValue::WeakFloat(v) => float(*v),
        ScalarValue::Text(v) => json!(&**v),
        ScalarValue::Bytes(v) => json!(v.iter().map(|b| char::from(*b)).collect::<String>()),
    }
}

fn float(value: f64) -> Json {
    match value {
        _ if value.is_nan() => json!("nan"),
        f64::INFINITY => json!("inf"),
        f64::NEG_INFINITY => json!("-inf"),
        _ => json!(value),
    }
}

/// Reads a value of a known type.
///
/// # Errors
/// The JSON does not have the form of that type.
pub fn read(json: &Json, qtype: &QType) -> Result<Value, String> {
    let wrong = || format!("{json} is not a value of {qtype}");
    match qtype {
        QType::Scalar(t) => read_scalar(json, *t).map(Value::Scalar).ok_or_else(wrong),
        QType::Optional(t) if json.is_null() => Ok(Value::Missing(*t)),
        QType::Optional(t) => read_scalar(json, *t).map(Value::Present).ok_or_else(wrong),
        QType::Edge(class) => {
            let edge = read_edge(json).ok_or_else(wrong)?;
            edge.map(|edge| Value::Edge(*class, Arc::new(edge))).map_err(|e| format!("{json}: {e}"))
        }
        QType::EdgeToScalar(class) => {
            let size = json.get("child_size").and_then(Json::as_u64).ok_or_else(wrong)?;
            Ok(Value::Edge(*class, Arc::new(Edge::to_scalar(size as usize))))
        }
        QType::ArrayShape(class) => {
            let size = json.get("size").and_then(Json::as_u64).ok_or_else(wrong)?;
            Ok(Value::ArrayShape(*class, size))
        }
        QType::NdArray(t) => {
            let (shape, cells) = read_nested(json, *t).ok_or_else(wrong)?;
            let rows = NdRows::from_scalars(*t, &shape, &cells).map_err(|e| format!("{json}: {e}"))?;
            Ok(Value::NdArray(Arc::new(rows)))
        }
        QType::Axes(axes) => Ok(Value::Axes(*axes)),
        QType::ScalarShape => Ok(Value::ScalarShape),
        QType::OptionalScalarShape => Ok(Value::OptionalScalarShape),
        QType::Tuple(t) => {
            let fields = json.as_array().filter(|a| a.len() == t.fields().len()).ok_or_else(wrong)?;
            let field = |(json, qtype): (&Json, &QType)| read(json.get("value").unwrap_or(json), qtype);
            let fields = fields.iter().zip(t.fields()).map(field).collect::<Result<Vec<_>, _>>()?;
            Ok(Value::of_tuple_type(t.clone(), fields))
        }
        QType::Array(t) => {
            let row = |json: &Json| match json.is_null() {
                true => Some(None),
                false => read_scalar(json, t.element).map(Some),
            };
            let rows: Option<Vec<_>> = json.as_array().ok_or_else(wrong)?.iter().map(row).collect();
            let rows = ArrayRows::from_values(t.element, &rows.ok_or_else(wrong)?);
            Ok(Value::Array(t.class, Arc::new(rows)))
        }
        QType::Sequence(t) => {
            let scalars: Option<Vec<ScalarValue>> =
                json.as_array().ok_or_else(wrong)?.iter().map(|j| read_scalar(j, *t)).collect();
            let sequence = SequenceValue::from_scalars(*t, &scalars.ok_or_else(wrong)?).ok_or_else(wrong)?;
            Ok(Value::Sequence(Arc::new(sequence)))
        }
    }
}

/// Shape and elements of lists in lists of one length each, or of `{shape, values}`, whose values stand in one
/// list, the last axis fastest.
fn read_nested(json: &Json, qtype: NdType) -> Option<(Vec<usize>, Vec<ScalarValue>)> {
    let element = |json: &Json| read_scalar(json, qtype.element());
    if let Some(shape) = json.get("shape") {
        let size = |json: &Json| usize::try_from(json.as_u64()?).ok();
        let shape: Option<Vec<usize>> = shape.as_array()?.iter().map(size).collect();
        let cells: Option<Vec<ScalarValue>> = json.get("values")?.as_array()?.iter().map(element).collect();
        return shape.zip(cells);
    }
    let (mut shape, mut level) = (Vec::new(), vec![json]);
    for _ in 0..qtype.rank() {
        let lists: Vec<&Vec<Json>> = level.into_iter().map(Json::as_array).collect::<Option<_>>()?;
        let size = lists.first().map_or(0, |list| list.len());
        lists.iter().all(|list| list.len() == size).then_some(())?;
        shape.push(size);
        level = lists.into_iter().flatten().collect();
    }
    let cells: Option<Vec<ScalarValue>> = level.into_iter().map(element).collect();
    Some((shape, cells?))
}

/// `{mapping, parent_size}` or `{split_points}`; `None` for another form, an error for wrong numbers.
fn read_edge(json: &Json) -> Option<Result<Edge, String>> {
    if let Some(points) = json.get("split_points") {
        let points: Option<Vec<i64>> = points.as_array()?.iter().map(Json::as_i64).collect();
        return Some(Edge::from_split_points(&points?));
    }
    let parent = |id: &Json| match id.is_null() {
        true => Some(None),
        false => id.as_i64().map(|id| Some(ScalarValue::Int64(id))),
    };
    let mapping: Option<Vec<_>> = json.get("mapping")?.as_array()?.iter().map(parent).collect();
    let parents = usize::try_from(json.get("parent_size")?.as_u64()?).ok()?;
    Some(Edge::from_mapping(ArrayRows::from_values(ScalarType::Int64, &mapping?), parents))
}

fn read_scalar(json: &Json, scalar: ScalarType) -> Option<ScalarValue> {
    Some(match scalar {
        ScalarType::Unit => json.as_bool().filter(|b| *b).map(|_| ScalarValue::Unit)?,
        ScalarType::Boolean => ScalarValue::Boolean(json.as_bool()?),
        ScalarType::Int32 => ScalarValue::Int32(i32::try_from(json.as_i64()?).ok()?),
        ScalarType::Int64 => ScalarValue::Int64(json.as_i64()?),
        ScalarType::Float32 => ScalarValue::Float32(read_float32(json)?),
        ScalarType::Float64 => ScalarValue::Float64(read_float(json)?),
        ScalarType::WeakFloat => ScalarValue::WeakFloat(read_float(json)?),
        ScalarType::Text => ScalarValue::Text(json.as_str()?.into()),
        ScalarType::Bytes => {
            let bytes: Option<Vec<u8>> =
                json.as_str()?.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
            ScalarValue::Bytes(bytes?.into())
        }
        // No value is of a narrow type.
        _ => return None,
    })
}

/// A number that FLOAT32 holds, rounded; nothing if it overflows or vanishes.
fn read_float32(json: &Json) -> Option<f32> {
    let wide = read_float(json)?;
    let value = wide as f32;
    (value.is_finite() == wide.is_finite() && (value == 0.0) == (wide == 0.0)).then_some(value)
}

fn read_float(json: &Json) -> Option<f64> {
    match json.as_str() {
        Some("nan") => Some(f64::NAN),
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => json.as_f64(),
    }
}
