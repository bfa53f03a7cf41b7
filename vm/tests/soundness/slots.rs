//! Slots that a host makes by itself: one of another type at the same offset is none of the frame.

use crate::draft::Draft;
use crate::{bound, counting, qtype};
use cembra_vm::frame::{Frame, FrameError};
use cembra_vm::layout::builder::LayoutError;
use cembra_vm::layout::{FrameLayout, TypedSlot};
use cembra_vm::machine::call::CallError;
use cembra_vm::machine::room::{Room, RoomError};
use cembra_vm::program::Program;
use cembra_vm::value::{NdView, QType, ScalarType, ScalarValue, Value};
use std::sync::Arc;

/// Every kind of handle, by itself and inside of others, with several types of each kind.
const TYPES: [&str; 20] = [
    "TEXT",
    "BYTES",
    "OPTIONAL_TEXT",
    "OPTIONAL_BYTES",
    "SEQUENCE[INT64]",
    "SEQUENCE[FLOAT64]",
    "DENSE_ARRAY_FLOAT64",
    "DENSE_ARRAY_INT64",
    "DENSE_ARRAY_TEXT",
    "ARRAY_FLOAT64",
    "DENSE_ARRAY_EDGE",
    "DENSE_ARRAY_TO_SCALAR_EDGE",
    "ARRAY_EDGE",
    "NDARRAY_FLOAT64_N",
    "NDARRAY_FLOAT64_NN",
    "NDARRAY_FLOAT64_N1",
    "NDARRAY_FLOAT64_1N",
    "NDARRAY_INT64_NN",
    "tuple<NDARRAY_FLOAT64_NN,FLOAT64>",
    "tuple<DENSE_ARRAY_FLOAT64,TEXT>",
];

#[test]
fn slots_of_another_type_are_foreign() {
    let types = TYPES.map(qtype);
    for held in &types {
        let mut layout = FrameLayout::builder();
        let slot = layout.typed(held.clone());
        layout.reserve(128, 8);
        let mut frame = Frame::new(&layout.build().expect("small")).expect("memory");
        let zero = Value::zero(held);
        assert_eq!(frame.read(&slot).as_ref(), Ok(&zero), "{held} that nobody has written");
        frame.write(&slot, &zero).expect("the slot's type");
        for other in types.iter().filter(|other| *other != held) {
            let foreign = TypedSlot::new(slot.offset(), other.clone());
            let is_foreign =
                |error: Option<FrameError>| matches!(error, Some(FrameError::ForeignSlot { .. }));
            // A tuple that begins with the type may have its other fields on free bytes.
            assert!(
                !frame.layout().accepts(&foreign) || held.tuple().or(other.tuple()).is_some(),
                "{other} on {held}"
            );
            if !frame.layout().accepts(&foreign) {
                assert!(is_foreign(frame.write(&foreign, &Value::zero(other)).err()), "{other} on {held}");
                assert!(is_foreign(frame.read(&foreign).err()), "{other} on {held}");
                assert!(
                    frame.rows(&foreign).is_err() && frame.nd_view(&foreign).is_err(),
                    "{other} on {held}"
                );
            }
        }
    }
}

/// A part of a tuple may be used by itself, under its own type.
#[test]
fn fields_of_tuples_are_slots() {
    let mut layout = FrameLayout::builder();
    let whole = layout.typed(qtype("tuple<NDARRAY_FLOAT64_NN,tuple<TEXT,FLOAT64>>"));
    let mut frame = Frame::new(&layout.build().expect("small")).expect("memory");
    let inner = whole.field(1).expect("two fields");
    let text = inner.field(0).expect("two fields");
    frame.write(&text, &Value::from("a field")).expect("its type");
    assert_eq!(frame.read(&text), Ok(Value::from("a field")));
    let wrong = TypedSlot::new(whole.offset(), qtype("NDARRAY_FLOAT64_N1"));
    assert!(frame.write(&wrong, &counting("NDARRAY_FLOAT64_N1", &[3, 1])).is_err());
}

/// A temporary of a stored program has the type of the values that stand there, although the text gives its kind only.
#[test]
fn temporaries_of_stored_programs_have_types() {
    let mut d = Draft::new();
    let x = d.input(0, qtype("NDARRAY_FLOAT64_NN"));
    let (t, out) = (d.temporary(24, qtype("NDARRAY_FLOAT64_NN")), d.output(48, qtype("NDARRAY_FLOAT64_NN")));
    d.run("core._copy", &[x], t);
    d.run("math.add", &[t, x], out);
    let bound = bound(d.finish(&[("x", x)], out));
    let mut frame = bound.new_frame().expect("memory");
    let value = counting("NDARRAY_FLOAT64_NN", &[2, 3]);
    frame.write(&TypedSlot::new(24, qtype("NDARRAY_FLOAT64_NN")), &value).expect("its type");
    for other in ["NDARRAY_FLOAT64_N1", "NDARRAY_FLOAT64_N", "NDARRAY_INT64_NN", "NDARRAY_FLOAT64_1N"] {
        let foreign = TypedSlot::new(24, qtype(other));
        assert!(frame.write(&foreign, &Value::zero(&qtype(other))).is_err(), "{other}");
    }
}

#[test]
fn an_input_takes_arrays_of_its_axes_only() {
    let mut d = Draft::new();
    let (a, b) = (d.input(0, qtype("NDARRAY_FLOAT64_N1")), d.input(24, qtype("NDARRAY_FLOAT64_NN")));
    let out = d.output(48, qtype("NDARRAY_FLOAT64_NN"));
    d.run("math.add", &[a, b], out);
    let bound = bound(d.finish(&[("a", a), ("b", b)], out));
    let mut frame = bound.new_frame().expect("memory");
    let slot = bound.input_slot("a").expect("an input").clone();
    let wide = TypedSlot::new(slot.offset(), qtype("NDARRAY_FLOAT64_NN"));
    let cells = [0.0; 12];
    let view = NdView::from_slice(&cells, &[3, 4]).expect("fits");
    assert!(matches!(frame.write_nd(&wide, &view), Err(FrameError::ForeignSlot { .. })));
    assert!(frame.write_nd(&slot, &view).is_err());
    assert!(matches!(bound.call(&mut frame).input(&wide, &view), Err(CallError::NoInput { .. })));
    assert!(matches!(bound.call(&mut frame).input(&slot, &view), Err(CallError::Axes { .. })));
    assert!(bound.call(&mut frame).input(&slot, &NdView::of(&cells)).is_err());
}

#[test]
fn a_room_is_for_the_elements_of_its_output() {
    let mut d = Draft::new();
    let (x, out) = (d.input(0, qtype("NDARRAY_FLOAT64_N")), d.output(24, qtype("NDARRAY_FLOAT64_N")));
    d.run("math.add", &[x, x], out);
    let bound = bound(d.finish(&[("x", x)], out));
    let mut frame = bound.new_frame().expect("memory");
    let input = bound.input_slot("x").expect("an input").clone();
    frame.write(&input, &counting("NDARRAY_FLOAT64_N", &[3])).expect("its type");
    let (mut long, mut int, mut float) = ([0i64; 3], [0i32; 3], [0.0f64; 3]);
    let slot = |name: &str| TypedSlot::new(24, qtype(name));
    let is_foreign = |outcome: Result<(), CallError>| {
        matches!(outcome, Err(CallError::Room(RoomError::Frame(FrameError::ForeignSlot { .. }))))
    };
    let (long_slot, int_slot, wide_slot) =
        (slot("NDARRAY_INT64_N"), slot("NDARRAY_INT32_N"), slot("NDARRAY_FLOAT64_NN"));
    let mut into = |room: Room<'_>| bound.call(&mut frame).run_into(&mut [room]).map(drop);
    assert!(is_foreign(into(Room::new(&long_slot, &mut long[..]))));
    assert!(is_foreign(into(Room::new(&int_slot, &mut int[..]))));
    assert!(is_foreign(into(Room::new(&wide_slot, &mut float[..]))));
    let wrong = into(Room::new(bound.output_slot(), &mut long[..]));
    assert!(matches!(wrong, Err(CallError::Room(RoomError::Type { .. }))));
    into(Room::new(bound.output_slot(), &mut float[..])).expect("its elements");
    assert_eq!((float, long, int), ([0.0, 2.0, 4.0], [0; 3], [0; 3]));
}

/// A frame fits programs whose layouts have one identity; a missing literal is not a present one.
#[test]
fn identities_tell_literals_apart() {
    let id = |literal: Value| {
        let mut layout = FrameLayout::builder();
        layout.literal(literal);
        layout.build().expect("small").id()
    };
    let (text, missing) = (ScalarType::Text, Some(ScalarValue::Text("missing".into())));
    let pairs: [(Value, Value); 5] = [
        (Some("missing").into(), Value::Missing(text)),
        (Some("").into(), Value::Missing(text)),
        (Some(0.0).into(), Value::Missing(ScalarType::Float64)),
        (Value::presence(true), Value::presence(false)),
        (
            crate::array(text, [missing.clone(), None].into_iter()),
            crate::array(text, [None, missing].into_iter()),
        ),
    ];
    for (one, other) in pairs {
        assert_ne!(id(one.clone()), id(other.clone()), "{one}, {other}");
        assert_eq!(id(one.clone()), id(one));
    }
}

#[test]
fn alignments_are_powers_of_two() {
    for align in [0, 3, 100] {
        let mut layout = FrameLayout::builder();
        layout.reserve(8, align);
        assert_eq!(layout.build().expect_err("no alignment"), LayoutError::Align { align });
    }
    let mut layout = FrameLayout::builder();
    layout.reserve(8, 4096);
    Frame::new(&layout.build().expect("a page")).expect("memory");
}

/// A frame of a program with the same layout, apart from what is on handles that only the program itself uses.
#[test]
fn unwritten_temporaries_are_the_zero_of_their_type() {
    for name in ["NDARRAY_FLOAT64_1N", "NDARRAY_INT32_N1", "DENSE_ARRAY_INT32"] {
        let mut d = Draft::new();
        let (t, out) = (d.temporary(0, qtype(name)), d.output(24, qtype(name)));
        d.run("math.add", &[t, t], out);
        let program = Program::new(vec![d.finish(&[], out)]);
        let bound = cembra_vm::machine::BoundExpr::new(Arc::new(program)).expect("verified");
        let mut frame = bound.new_frame().expect("memory");
        bound.execute(&mut frame).expect("an array without elements");
        let zero: QType = qtype(name);
        assert_eq!(frame.read(bound.output_slot()), Ok(Value::zero(&zero)));
    }
}

/// Only rows have a bitmap: it is refused where elements are always there, and so are axes where there are rows.
#[test]
fn a_bitmap_is_for_rows() {
    let mut d = Draft::new();
    let (a, b) = (d.input(0, qtype("NDARRAY_FLOAT64_N")), d.input(24, qtype("DENSE_ARRAY_FLOAT64")));
    let (sum, out) =
        (d.temporary(48, qtype("NDARRAY_FLOAT64_N")), d.output(72, qtype("DENSE_ARRAY_FLOAT64")));
    d.run("math.add", &[a, a], sum);
    d.run("math.add", &[b, b], out);
    let bound = bound(d.finish(&[("a", a), ("b", b)], out));
    let mut frame = bound.new_frame().expect("memory");
    let slot = |name: &str| bound.input_slot(name).expect("an input").clone();
    let cells = [1.0, 2.0];
    let masked = NdView::of(&cells).with_validity(&[0b10], 0).expect("two bits");
    let refused = frame.write_nd(&slot("a"), &masked);
    assert_eq!(refused, Err(FrameError::Missing { slot: slot("a") }));
    let refused = bound.call(&mut frame).input(&slot("a"), &masked).map(|_| ());
    assert_eq!(refused, Err(CallError::Frame(FrameError::Missing { slot: slot("a") })));
    let square = NdView::from_slice(&cells, &[1, 2]).expect("fits");
    assert!(matches!(bound.call(&mut frame).input(&slot("b"), &square), Err(CallError::Axes { .. })));
    let all = NdView::of(&cells);
    let call = bound.call(&mut frame).input(&slot("a"), &all).expect("its type");
    let outputs = call.input(&slot("b"), &masked).expect("its type").run().expect("no error");
    let rows = outputs.rows(bound.output_slot()).expect("written");
    assert_eq!(rows.iter().collect::<Vec<_>>(), [None, Some(ScalarValue::Float64(4.0))]);
}
