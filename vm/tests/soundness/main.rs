//! What no safe call and no stored text may do: reach memory that is not theirs, or give a wrong number in silence.
//!
//! Small enough to run under the address sanitizer, which `.ci/run` does.

#[path = "../support/draft.rs"]
mod draft;
mod generated;
mod inputs;
mod kept;
mod operators;
mod regions;
mod rooms;
mod slots;
mod updates;
mod verifier;
mod views;

use cembra_vm::builtins;
use cembra_vm::frame::Frame;
use cembra_vm::machine::{BoundExpr, RunError, RunOptions, Trace};
use cembra_vm::program::text::{ProgramTextError, parse, print};
use cembra_vm::program::{Program, Routine};
use cembra_vm::value::{
    ArrayClass, ArrayRows, ArrayType, Axes, NdRows, NdType, QType, ScalarType, ScalarValue, Value,
};
use std::sync::Arc;

/// The type with this name.
fn qtype(name: &str) -> QType {
    name.parse().unwrap_or_else(|_| panic!("{name} is no type"))
}

/// A program of one routine, printed and read back: verified and slot-checked.
fn stored(routine: Routine) -> Result<Program, ProgramTextError> {
    parse(&print(&Program::new(vec![routine])), &builtins::table())
}

/// A stored program that is accepted.
fn bound(routine: Routine) -> BoundExpr {
    let program = stored(routine).unwrap_or_else(|error| panic!("{error}"));
    BoundExpr::new(Arc::new(program)).expect("a stored program is verified")
}

/// A dense array of FLOAT64, all rows present.
fn floats(rows: impl IntoIterator<Item = f64>) -> Value {
    array(ScalarType::Float64, rows.into_iter().map(|row| Some(ScalarValue::Float64(row))))
}

/// A dense array of INT32, all rows present.
fn ints(rows: impl IntoIterator<Item = i32>) -> Value {
    array(ScalarType::Int32, rows.into_iter().map(|row| Some(ScalarValue::Int32(row))))
}

fn array(element: ScalarType, rows: impl Iterator<Item = Option<ScalarValue>>) -> Value {
    let rows: Vec<_> = rows.collect();
    Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(element, &rows)))
}

/// An array over axes, of FLOAT64: 0, 1, 2, …
fn counting(name: &str, shape: &[usize]) -> Value {
    let cells: Vec<f64> = (0..shape.iter().product::<usize>()).map(|cell| cell as f64).collect();
    let t = NdType::from_name(name).expect("a type of arrays over axes");
    Value::NdArray(Arc::new(NdRows::from_slice(t, shape, &cells).expect("a shape of the type")))
}

fn axes<const N: usize>(axes: [usize; N]) -> Value {
    Value::Axes(Axes::new(axes).expect("different axes"))
}

/// The type of dense arrays of an element.
fn dense(element: ScalarType) -> QType {
    QType::Array(ArrayType { class: ArrayClass::Dense, element })
}

/// Writes inputs by name.
fn write(bound: &BoundExpr, frame: &mut Frame, inputs: &[(&str, Value)]) {
    for (name, value) in inputs {
        frame.write(bound.input_slot(name).expect("an input"), value).expect("a value of its type");
    }
}

/// All results, as a run in regions gives them, and as a run of one instruction after the other.
fn run(bound: &BoundExpr, inputs: &[(&str, Value)]) -> [Result<Vec<Value>, RunError>; 2] {
    let mut frame = bound.new_frame().expect("memory");
    let results = |frame: &Frame| {
        let slots = bound.program().main().results().map(|value| bound.program().main().slot(value));
        slots.map(|slot| frame.read(slot).expect("written")).collect()
    };
    write(bound, &mut frame, inputs);
    let fused = bound.execute(&mut frame).map(|()| results(&frame));
    let mut trace = Trace::default();
    write(bound, &mut frame, inputs);
    let stepped = bound.execute_with(&mut frame, RunOptions::new().observer(&mut trace));
    [fused, stepped.map(|()| results(&frame))]
}

/// The results of a run, which are those of a run of one instruction after the other.
fn results(bound: &BoundExpr, inputs: &[(&str, Value)]) -> Vec<Value> {
    let [fused, stepped] = run(bound, inputs).map(|outcome| outcome.unwrap_or_else(|e| panic!("{e}")));
    assert_eq!(fused, stepped);
    fused
}
