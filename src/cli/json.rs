//! Values as JSON, in the form of the recorded cases.
//!
//! Floats are numbers (FLOAT32 as the number it is exactly), `"nan"`, `"inf"`, `"-inf"`; missing is
//! null; UNIT and present are true; BYTES are Latin-1 text; tuples are lists of `{qtype, value}`.

use crate::cli::json_stream::{List, Nested};
use cembra_vm::value::sequence::SequenceValue;
use cembra_vm::value::{ArrayRows, Edge, NdRows, NdType, QType, ScalarType, ScalarValue, Value};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A value with its type.
pub struct Typed<'v>(pub &'v Value);

impl Serialize for Typed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("qtype", &self.0.qtype().to_string())?;
        map.serialize_entry("value", &Payload(self.0))?;
        map.end()
    }
}

/// A value without its type.
pub struct Payload<'v>(pub &'v Value);

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Scalar(v) | Value::Present(v) => scalar(v).serialize(serializer),
            Value::Missing(_) => serializer.serialize_unit(),
            Value::Edge(_, edge) => write_edge(edge, serializer),
            Value::ArrayShape(_, size) => serializer.collect_map([("size", size)]),
            Value::NdArray(rows) => write_nd(rows, serializer),
            Value::Axes(axes) => serializer.collect_map([("axes", List(|| axes.iter()))]),
            Value::ScalarShape | Value::OptionalScalarShape => serializer.collect_map([("size", 1)]),
            Value::Tuple(t) => serializer.collect_seq(t.fields().iter().map(Typed)),
            Value::Sequence(s) => serializer.collect_seq(s.iter().map(|v| scalar(&v))),
            Value::Array(_, array) => Rows(array).serialize(serializer),
        }
    }
}

fn write_edge<S: Serializer>(edge: &Edge, serializer: S) -> Result<S::Ok, S::Error> {
    match edge.split_points() {
        _ if edge.is_to_scalar() => serializer.collect_map([("child_size", edge.child_size())]),
        Some(points) => serializer.collect_map([("split_points", points)]),
        None => {
            let mut map = serializer.serialize_map(Some(2))?;
            map.serialize_entry("mapping", &Rows(&edge.mapping()))?;
            map.serialize_entry("parent_size", &edge.parent_size())?;
            map.end()
        }
    }
}

fn write_nd<S: Serializer>(rows: &NdRows, serializer: S) -> Result<S::Ok, S::Error> {
    if rows.shape().contains(&0) {
        // Lists without elements do not show every size.
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("shape", rows.shape())?;
        map.serialize_entry("values", &[(); 0])?;
        return map.end();
    }
    let view = rows.view();
    let elements = || view.scalars().map(|value| scalar(&value));
    Nested { shape: rows.shape(), elements }.serialize(serializer)
}

/// The rows of an array, each without its type.
pub struct Rows<'r>(pub &'r ArrayRows);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|row| row.map(|value| scalar(&value))))
    }
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
