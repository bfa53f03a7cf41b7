//! What several tests need: compiling text, reading the recorded files.

use cembra::compile::{Options, compile};
use cembra::expr::Expr;
use cembra::prepare::{Prepare, Source};
use cembra::registry::{Dialect, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::machine::{BoundExpr, RunError, RunOptions};
use cembra::vm::value::{QType, Value};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file below `tests/`.
pub fn test_file(name: &str) -> PathBuf {
    // A test binary may be run by hand, and outlive the checkout it was built from.
    let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&root).join("tests").join(name)
}

/// A recorded file.
pub fn oracle(name: &str) -> Json {
    let path = test_file("oracles").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Parses an expression in a dialect.
pub fn parse(text: &str, dialect: Dialect) -> Expr {
    let parsed = parse_with(text, &Registry::standard(), dialect, &Limits::default());
    parsed.unwrap_or_else(|e| panic!("{text}: {e} at {:?}", e.span))
}

/// Compiles with the slot checker on.
pub fn bind(source: Source, prepare: &Prepare, options: Options) -> BoundExpr {
    let prepared = prepare.clone().checked().run(source).unwrap_or_else(|e| panic!("{e}"));
    compile(&prepared, &Options { check_slots: true, ..options }).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs on a new frame; inputs that the program does not have are left out.
pub fn run(
    bound: &BoundExpr,
    inputs: &HashMap<String, Value>,
    options: RunOptions<'_>,
) -> Result<Value, RunError> {
    let mut frame = bound.new_frame().expect("memory");
    for (name, value) in inputs {
        if let Ok(slot) = bound.input_slot(name) {
            frame.write(slot, value).expect("the input's type");
        }
    }
    bound.execute_with(&mut frame, options)?;
    Ok(frame.read(bound.output_slot()).expect("written"))
}

/// Names and types of leaves from a JSON object, in its order.
pub fn leaf_types(json: &Json) -> Vec<(Arc<str>, QType)> {
    let leaves = json.as_object().expect("an object of leaf types");
    let qtype = |t: &Json| t.as_str().expect("a type name").parse::<QType>();
    leaves.iter().map(|(name, t)| (name.as_str().into(), qtype(t).expect("a type of Cembra"))).collect()
}

/// True if a recorded item needs arrays, which come with their own issue.
pub fn needs_arrays(item: &Json) -> bool {
    let text = item.to_string();
    ["ARRAY", "edge", "M.array"].iter().any(|word| text.contains(word))
}

/// Type, shape and bits of an array of a graph, where all NaN are one.
pub fn bits_of(array: &cembra::dag::Array) -> String {
    use cembra::dag::Array;
    fn each<T: std::fmt::Debug>(elements: impl IntoIterator<Item = T>) -> Vec<String> {
        elements.into_iter().map(|element| format!("{element:?}")).collect()
    }
    let of_float = |v: &f64| if v.is_nan() { "nan".into() } else { v.to_bits().to_string() };
    let elements = match array {
        Array::Bool(elements) => each(elements),
        Array::Int8(elements) => each(elements),
        Array::Int32(elements) => each(elements),
        Array::Int64(elements) => each(elements),
        Array::Float16(elements) => each(elements),
        Array::Float32(elements) => each(elements),
        Array::Float64(elements) => elements.iter().map(of_float).collect(),
        Array::Text(texts) => each(texts.texts()),
    };
    format!("{} {:?} {}", array.dtype(), array.shape(), elements.join(" "))
}
