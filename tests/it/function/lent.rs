//! Arrays of a host that a function writes: shared, lent to be read, strided, overlapping. What a host does not lend to
//! be written is as it was, and arguments are arrays of their own.

use crate::function::compiled;
use cembra::cli::function_value::recorded;
use cembra::function::{CompiledFunction, FunctionOptions};
use cembra::vm::frame::Frame;
use cembra::vm::layout::TypedSlot;
use cembra::vm::machine::{Budget, CallError, NdViewMut, RunOptions};
use cembra::vm::value::{NdRows, NdType, NdView, Value};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Writes `a` from what it reads of `a` and `b`, in pieces; gives a sum of both.
const MIXES: &str = "from numba import prange
def f(a, b):
    for i in prange(len(a)):
        a[i] = a[i] * 10.0 + b[i]
    return sum(a) + 1000.0 * sum(b)
";
/// The same for rows.
const ROWS: &str = "def f(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] + 10.0 * i + j
    return a[0, 1]
";

fn floats(shape: &[usize], values: &[f64]) -> Value {
    let name = format!("NDARRAY_FLOAT64_{}", "N".repeat(shape.len()));
    let qtype = NdType::from_name(&name).expect("a type");
    Value::NdArray(Arc::new(NdRows::from_slice(qtype, shape, values).expect("fits")))
}

/// An array of elements in bytes, at distances in elements.
fn strided(values: &[f64], start: usize, shape: &[usize], strides: &[isize]) -> Value {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let strides: Vec<isize> = strides.iter().map(|stride| stride * 8).collect();
    let qtype = NdType::from_name(&format!("NDARRAY_FLOAT64_{}", "N".repeat(shape.len()))).expect("a type");
    let rows = NdRows::from_strided(qtype, &bytes, start * 8, shape, &strides).expect("inside of the bytes");
    Value::NdArray(Arc::new(rows))
}

fn function(source: &str, args: &[Value]) -> CompiledFunction {
    compiled(source, "f", args, &FunctionOptions::default()).expect("it compiles")
}

/// Result and arrays after a call with values.
fn called(source: &str, args: &[Value]) -> (Json, Vec<Json>) {
    let function = function(source, args);
    let mut found = None;
    for threads in [1, 3] {
        let result = function.call_with(args, RunOptions::new().threads(threads)).expect("it returns");
        let arrays: Vec<Json> =
            result.arrays.iter().map(|(_, array)| recorded(array)["data"].clone()).collect();
        let result = (recorded(&result.value)["v"].clone(), arrays);
        assert_eq!(*found.get_or_insert_with(|| result.clone()), result, "{threads} threads");
    }
    found.expect("it was called")
}

#[test]
fn one_array_for_two_arguments_is_two_arrays() {
    let one = floats(&[3], &[1.0, 2.0, 3.0]);
    let (sum, arrays) = called(MIXES, &[one.clone(), one.clone()]);
    assert_eq!(
        (sum, arrays),
        (json!("6066.0"), vec![json!(["11.0", "22.0", "33.0"]), json!(["1.0", "2.0", "3.0"])])
    );
    assert_eq!(one, floats(&[3], &[1.0, 2.0, 3.0]));
}

#[test]
fn strided_and_overlapping_arrays_are_copied_before_they_are_written() {
    let values = [1.0, 9.0, 2.0, 9.0, 3.0];
    let (every_other, backwards) = (strided(&values, 0, &[3], &[2]), strided(&values, 4, &[3], &[-2]));
    let (sum, arrays) = called(MIXES, &[every_other.clone(), backwards.clone()]);
    assert_eq!((sum, &arrays[0]), (json!("6066.0"), &json!(["13.0", "22.0", "31.0"])));
    assert_eq!(recorded(&backwards)["data"], json!(["3.0", "2.0", "1.0"]));
    // Windows of two elements that have one in common, and one element for all.
    let windows = strided(&[1.0, 2.0, 3.0, 4.0], 0, &[3, 2], &[1, 1]);
    let (_, arrays) = called(ROWS, std::slice::from_ref(&windows));
    assert_eq!(arrays[0], json!(["1.0", "3.0", "12.0", "14.0", "23.0", "25.0"]));
    let same = strided(&[7.0], 0, &[2, 2], &[0, 0]);
    let (_, arrays) = called(ROWS, std::slice::from_ref(&same));
    assert_eq!(arrays[0], json!(["7.0", "8.0", "17.0", "18.0"]));
    assert_eq!(recorded(&same)["data"], json!(vec!["7.0"; 4]));
}

fn slots(function: &CompiledFunction) -> (Frame, TypedSlot, TypedSlot) {
    let bound = function.bound();
    let slot = |name: &str| bound.input_slot(name).expect("an input").clone();
    (bound.new_frame().expect("memory"), slot("a"), slot("b"))
}

#[test]
fn parts_of_one_buffer_are_lent() {
    let array = floats(&[3], &[0.0; 3]);
    let function = function(MIXES, &[array.clone(), array]);
    let (bound, (mut frame, a, b)) = (function.bound(), slots(&function));
    let mut values = [1.0, 2.0, 3.0, 4.0];
    // Lent to be read, and overlapping: the frame writes a copy.
    let (first, last) = (
        NdView::from_slice(&values[..3], &[3]).expect("fits"),
        NdView::from_slice(&values[1..], &[3]).expect("fits"),
    );
    let call =
        bound.call(&mut frame).input(&a, &first).expect("its type").input(&b, &last).expect("its type");
    let outputs = call.threads(3).run().expect("no error");
    assert_eq!(outputs.read(bound.output_slot()), Ok(Value::from(12.0 + 23.0 + 34.0 + 9000.0)));
    assert_eq!(values, [1.0, 2.0, 3.0, 4.0]);
    // Lent to be written: nothing else can be lent of the same memory; what is next to it may.
    let (left, right) = values.split_at_mut(2);
    let mut written = NdViewMut::from_slice(left, &[2]).expect("fits");
    let read = NdView::from_slice(right, &[2]).expect("fits");
    let call = bound.call(&mut frame).update(&a, &mut written).expect("it is written");
    call.input(&b, &read).expect("its type").threads(3).run().expect("no error");
    assert_eq!(values, [13.0, 24.0, 3.0, 4.0]);
    // Of two arrays for one argument the last one counts.
    let (mut one, mut other) = ([1.0], [2.0]);
    let mut views = [&mut one, &mut other].map(|values| NdViewMut::from_slice(values, &[1]).expect("fits"));
    let [first, second] = &mut views;
    let call = bound.call(&mut frame).update(&a, first).expect("it is written");
    let call =
        call.update(&a, second).expect("it is written").value(&b, &floats(&[1], &[5.0])).expect("its type");
    call.run().expect("no error");
    assert_eq!((one, other), ([1.0], [25.0]));
}

#[test]
fn what_cannot_be_lent_is_named() {
    let array = floats(&[3], &[0.0; 3]);
    let function = function(MIXES, &[array.clone(), array]);
    let (bound, (mut frame, a, b)) = (function.bound(), slots(&function));
    let mut values = [1.0, 2.0, 3.0];
    let mut view = NdViewMut::from_slice(&mut values, &[3]).expect("fits");
    let refused = bound.call(&mut frame).update(&b, &mut view).map(drop);
    assert!(matches!(refused, Err(CallError::NotUpdated { .. })), "{refused:?}");
    let mut flat = NdViewMut::from_slice(&mut values, &[3, 1]).expect("fits");
    let refused = bound.call(&mut frame).update(&a, &mut flat).map(drop);
    assert!(matches!(refused, Err(CallError::Axes { .. })), "{refused:?}");
    let mut integers = [1i64, 2, 3];
    let mut view = NdViewMut::from_slice(&mut integers, &[3]).expect("fits");
    let refused = bound.call(&mut frame).update(&a, &mut view).map(drop);
    assert!(matches!(refused, Err(CallError::Axes { .. })), "{refused:?}");
    // A shorter array for the one that is read: the place of the first index that is outside.
    let short = [floats(&[3], &[1.0; 3]), floats(&[1], &[1.0])];
    let error = function.call(&short, &Budget::default()).expect_err("it is too short").to_string();
    assert!(error.starts_with("index out of range: 1, size is 1"), "{error}");
}
