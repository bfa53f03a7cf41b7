//! Truth values are 0 or 1, and texts are texts, whatever way they come in.

use crate::draft::Draft;
use crate::{bound, dense, qtype};
use cembra_vm::machine::invoke::invoke;
use cembra_vm::machine::room::Room;
use cembra_vm::operator::Family;
use cembra_vm::value::ndarray::NdRows;
use cembra_vm::value::{ArrayClass, ArrayRows, NdError, NdType, NdView, ScalarType, ScalarValue, Value};
use std::panic::catch_unwind;
use std::sync::Arc;

#[test]
fn bytes_that_are_no_truths_are_refused() {
    let refused = |shape: &[usize], strides: &[isize], bytes: &[u8]| {
        let view = NdView::new(ScalarType::Boolean, bytes, 0, shape, strides).map(|view| view.len());
        assert!(matches!(view, Err(NdError::Truth { .. })), "{shape:?} {strides:?} {bytes:?}");
        let t = NdType::new(ScalarType::Boolean, shape.len(), 0).expect("a type");
        assert!(NdRows::from_strided(t, bytes, 0, shape, strides).is_err());
    };
    refused(&[2, 2], &[2, 1], &[0, 1, 1, 2]);
    refused(&[2, 2], &[1, 2], &[0, 255, 1, 0]);
    refused(&[1 << 13, 1 << 14], &[0, 0], &[2]);
    refused(&[2], &[2], &[0, 7, 3]);
    let gaps = NdView::new(ScalarType::Boolean, &[1, 7, 0], 0, &[2], &[2]).expect("the 7 is no element");
    assert_eq!(gaps.cells::<bool>().collect::<Vec<_>>(), [true, false]);
    assert!(NdView::new(ScalarType::Text, &[2], 0, &[1], &[1]).is_err());
}

#[test]
fn rooms_of_truths_get_truths() {
    let mut d = Draft::new();
    let (x, out) = (d.input(0, qtype("NDARRAY_BOOLEAN_NN")), d.output(24, qtype("NDARRAY_BOOLEAN_NN")));
    d.run("core._copy", &[x], out);
    let bound = bound(d.finish(&[("x", x)], out));
    let mut frame = bound.new_frame().expect("memory");
    let slot = bound.input_slot("x").expect("an input").clone();
    let view = NdView::new(ScalarType::Boolean, &[1, 0, 0, 1], 0, &[2, 2], &[1, 2]).expect("truths");
    let mut target = [true; 4];
    let room = Room::new(bound.output_slot(), &mut target[..]);
    bound.call(&mut frame).input(&slot, &view).expect("its type").run_into(&mut [room]).expect("no error");
    assert_eq!(bytemuck::cast_slice::<bool, u8>(&target), [1, 0, 0, 1]);
}

#[test]
fn rows_keep_their_invariants() {
    let panics = |what: &str, f: fn(&mut ArrayRows)| {
        for element in [ScalarType::Boolean, ScalarType::Text, ScalarType::Unit] {
            let outcome = catch_unwind(|| f(&mut ArrayRows::new(element)));
            assert!(outcome.is_err(), "{what} of {element}");
        }
    };
    panics("bytes", |rows| rows.bytes_mut().fill(2));
    panics("a wrong row", |rows| rows.push_raw(true, &[0xff]));
    panics("no row", |rows| rows.set_missing(0));
    panics("a row of another type", |rows| {
        rows.push_row_of(
            &ArrayRows::from_values(ScalarType::Bytes, &[Some(ScalarValue::Bytes([0xff].into()))]),
            0,
        );
    });
    let mut numbers = ArrayRows::from_values(ScalarType::Float64, &[Some(ScalarValue::Float64(1.0)), None]);
    numbers.bytes_mut().fill(0xff);
    numbers.set_missing(0);
    assert_eq!(numbers.presence(), Some(&[0][..]));
}

/// A kernel over rows of truth values gets and gives truth values, whatever it leaves unwritten.
#[test]
fn kernels_over_truths_see_truths() {
    let same = Family::new("host.same", &["x"], "x").unary_rows::<bool>(|x| x, |x, y| y.copy_from_slice(x));
    let lazy = Family::new("host.lazy", &["x"], "false")
        .unary_rows::<bool>(|_| false, |_, y| assert!(y.iter().all(|y| !y), "false until it is written"));
    let truths: Vec<_> =
        (0..100).map(|row| Some(ScalarValue::Boolean(row % 3 > 0)).filter(|_| row % 7 > 0)).collect();
    let truths = ArrayRows::from_values(ScalarType::Boolean, &truths);
    let value = Value::Array(ArrayClass::Dense, Arc::new(truths));
    let apply = |family: &Family| {
        let overload = family.overload(&[dense(ScalarType::Boolean)]).expect("by rows");
        invoke(&overload, std::slice::from_ref(&value)).expect("no error")
    };
    assert_eq!(apply(&same), value);
    let Value::Array(_, lazy) = apply(&lazy) else { panic!("an array") };
    assert!(lazy.bytes()[..100].iter().all(|byte| *byte == 0));
    assert!(same.overload(&[dense(ScalarType::Unit)]).is_none());
}
