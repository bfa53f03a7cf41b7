//! N-dimensional operators against what numpy recorded (`oracles/numpy/generate.py` says how).
//!
//! Inputs enter the frame in the order in which they lie: by columns, with gaps, backwards, unaligned. Results are
//! compared bit for bit where numpy's order of additions is ours, else within a tolerance.

use crate::support::{bind, oracle, parse};
use cembra::compile::Options;
use cembra::prepare::{Prepare, Source};
use cembra::registry::Dialect;
use cembra::vm::value::{NdRows, QType, ScalarType, ScalarValue, Value};
use serde_json::Value as Json;
use std::sync::Arc;

#[test]
fn recorded_cases() {
    let document = oracle("numpy/cases.json");
    let cases = document["cases"].as_array().expect("a list of cases");
    assert!(cases.len() >= 300, "{} cases", cases.len());
    let wrong: Vec<String> = cases.iter().filter_map(|case| check(case).err()).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Runs a case; its error says what differs.
fn check(case: &Json) -> Result<(), String> {
    let inputs: Vec<(&str, Value)> = case["inputs"]
        .as_object()
        .expect("inputs by name")
        .iter()
        .map(|(name, given)| (name.as_str(), input(given)))
        .collect();
    let types: Vec<(&str, QType)> = inputs.iter().map(|(name, value)| (*name, value.qtype())).collect();
    let expr = parse(case["expr"].as_str().expect("a text"), Dialect::Cembra);
    let bound = bind(Source::new(expr, types), &Prepare::standard(), Options::default());
    let mut frame = bound.new_frame().expect("memory");
    for (name, value) in &inputs {
        frame.write(bound.input_slot(name).expect("an input"), value).expect("the input's type");
    }
    let outcome = bound.execute(&mut frame);
    let wrong = |what: String| Err(format!("{} {}: {what}", case["id"], case["expr"]));
    let expected = match (case.get("result"), outcome) {
        (None, Err(_)) => return Ok(()),
        (None, Ok(())) => return wrong(format!("numpy raises {}", case["raises"])),
        (Some(_), Err(error)) => return wrong(error.to_string()),
        (Some(expected), Ok(())) => expected,
    };
    // The second run finds the buffers of the first.
    bound.execute(&mut frame).expect("the same inputs raise nothing");
    let value = frame.read(bound.output_slot()).expect("written");
    let (element, shape, found) = match &value {
        Value::NdArray(rows) => {
            (rows.qtype().element(), rows.shape().to_vec(), rows.view().scalars().collect::<Vec<_>>())
        }
        other => {
            let scalar = other.scalar().expect("a scalar").clone();
            (scalar.scalar_type(), Vec::new(), vec![scalar])
        }
    };
    if expected["element"] != element.name() || expected["shape"] != Json::from(shape.as_slice()) {
        return wrong(format!("{element} of the shape {shape:?}, expected {expected}"));
    }
    let values = expected["values"].as_array().expect("a list");
    let wanted: Vec<ScalarValue> = values.iter().map(|json| scalar(json, element)).collect();
    let exact = case["exact"] == true;
    match wanted.len() == found.len() && wanted.iter().zip(&found).all(|(a, b)| agree(a, b, exact)) {
        true => Ok(()),
        false => wrong(format!("{value}, expected {expected}")),
    }
}

/// Equal bits, or both NaN; if not `exact`, within some roundings of the type.
fn agree(wanted: &ScalarValue, found: &ScalarValue, exact: bool) -> bool {
    let (Some(a), Some(b)) = (wanted.as_f64(), found.as_f64()) else { return wanted == found };
    let tolerance = if wanted.scalar_type() == ScalarType::Float32 { 1e-5 } else { 1e-13 };
    let near = !exact && (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0);
    wanted == found || (a.is_nan() && b.is_nan()) || near
}

/// A buffer of elements as bytes behind some bytes that belong to nobody.
pub fn input(given: &Json) -> Value {
    let qtype: QType = given["type"].as_str().expect("a type").parse().expect("a type of Cembra");
    let t = qtype.nd().expect("an n-dimensional array");
    let pad = given["pad"].as_u64().expect("a number of bytes") as usize;
    let mut bytes = vec![0; pad];
    for json in given["buffer"].as_array().expect("a list") {
        let bits = scalar(json, t.element()).plain_bits().expect("elements are plain");
        bytes.extend_from_slice(&bits.to_le_bytes()[..t.element().size() as usize]);
    }
    let numbers = |name: &str| -> Vec<isize> {
        let list = given[name].as_array().expect("a list");
        list.iter().map(|n| n.as_i64().expect("a number") as isize).collect()
    };
    let shape: Vec<usize> = numbers("shape").iter().map(|size| size.unsigned_abs()).collect();
    let start = given["start"].as_u64().expect("a number of bytes") as usize;
    let rows = NdRows::from_strided(t, &bytes, start, &shape, &numbers("strides"));
    Value::NdArray(Arc::new(rows.expect("the recorded strides fit the buffer")))
}

fn scalar(json: &Json, element: ScalarType) -> ScalarValue {
    let float = || match json.as_str() {
        Some("nan") => f64::NAN,
        Some("inf") => f64::INFINITY,
        Some("-inf") => f64::NEG_INFINITY,
        _ => json.as_f64().expect("a number"),
    };
    match element {
        ScalarType::Boolean => ScalarValue::Boolean(json.as_bool().expect("a truth")),
        ScalarType::Int32 => ScalarValue::Int32(json.as_i64().expect("an integer") as i32),
        ScalarType::Int64 => ScalarValue::Int64(json.as_i64().expect("an integer")),
        ScalarType::Float32 => ScalarValue::Float32(float() as f32),
        _ => ScalarValue::Float64(float()),
    }
}
