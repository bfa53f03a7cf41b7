//! Elements of arrays: read, written in place, in the frame and in memory of the host.

#[path = "support/draft.rs"]
mod draft;

use cembra_vm::builtins;
use cembra_vm::layout::TypedSlot;
use cembra_vm::machine::invoke::{InvokeError, invoke};
use cembra_vm::machine::{BoundExpr, CallError, NdViewMut, RunErrorKind, RunOptions, Trace};
use cembra_vm::program::verify::{VerifyError, verify};
use cembra_vm::program::{Instruction, Program, Routine, ValueId, slot_check, text};
use cembra_vm::value::nd_view::NdCell;
use cembra_vm::value::qtype::{BOOLEAN, FLOAT64, INT64};
use cembra_vm::value::{Axes, Fault, NdRows, NdType, NdView, QType, ScalarType, Value};
use draft::Draft;
use std::sync::Arc;

fn nd(name: &str) -> NdType {
    NdType::from_name(name).expect("a type of arrays over axes")
}

fn array(name: &str, shape: &[usize], cells: &[f64]) -> Value {
    Value::NdArray(Arc::new(NdRows::from_slice(nd(name), shape, cells).expect("the shape fits")))
}

fn int(value: i64) -> Value {
    Value::from(value)
}

fn bind(routine: Routine) -> BoundExpr {
    let program = Program::new(vec![routine]);
    let bound = BoundExpr::new(Arc::new(program)).unwrap_or_else(|error| panic!("{error}"));
    slot_check::check(bound.program()).unwrap_or_else(|error| panic!("{error}"));
    bound
}

/// `nd.get(a, i, …)` of an array of this type.
fn getter(qtype: NdType) -> Routine {
    let mut draft = Draft::new();
    let a = draft.input(0, QType::NdArray(qtype));
    let mut inputs = vec![("a".to_owned(), a)];
    for axis in 0..qtype.rank() as u32 {
        inputs.push((format!("i{axis}"), draft.input(24 + 8 * axis, INT64)));
    }
    let out = draft.output(96, QType::Scalar(qtype.element()));
    let operands: Vec<ValueId> = inputs.iter().map(|(_, value)| *value).collect();
    draft.run("nd.get", &operands, out);
    let named: Vec<(&str, ValueId)> = inputs.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    draft.finish(&named, out)
}

/// `nd.set(a, x, i, …)` of an array of this type, which is an input; the output is an element that is read again.
fn setter(qtype: NdType) -> Routine {
    let mut draft = Draft::new();
    let a = draft.input(0, QType::NdArray(qtype));
    let x = draft.input(24, QType::Scalar(qtype.element()));
    let mut inputs = vec![("a".to_owned(), a), ("x".to_owned(), x)];
    for axis in 0..qtype.rank() as u32 {
        inputs.push((format!("i{axis}"), draft.input(32 + 8 * axis, INT64)));
    }
    let out = draft.output(96, QType::Scalar(qtype.element()));
    let operands: Vec<ValueId> = inputs.iter().map(|(_, value)| *value).collect();
    draft.run("nd.set", &operands, a);
    let read: Vec<ValueId> = [a].into_iter().chain(operands[2..].iter().copied()).collect();
    draft.run("nd.get", &read, out);
    draft.updated.push(a);
    let named: Vec<(&str, ValueId)> = inputs.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    draft.finish(&named, out)
}

/// Runs fused and observed; both must agree.
fn run(bound: &BoundExpr, inputs: &[(&str, Value)]) -> Result<(Value, Value), RunErrorKind> {
    let outcome = |observed: bool| {
        let mut frame = bound.new_frame().expect("small");
        for (name, value) in inputs {
            let slot = bound.input_slot(name).expect("an input");
            frame.write(slot, value).expect("of its type");
        }
        let mut trace = Trace::default();
        match observed {
            true => bound.execute_with(&mut frame, RunOptions::new().observer(&mut trace)),
            false => bound.execute(&mut frame),
        }
        .map_err(|error| error.kind)?;
        let array = frame.read(bound.input_slot("a").expect("an input")).expect("it stays written");
        Ok((frame.read(bound.output_slot()).expect("written"), array))
    };
    let (fused, stepped) = (outcome(false), outcome(true));
    assert_eq!(fused, stepped);
    fused
}

#[test]
fn elements_of_every_rank_are_read_and_written() {
    for rank in 1..=6usize {
        let name = format!("NDARRAY_FLOAT64_{}", "N".repeat(rank));
        let shape: Vec<usize> = (0..rank).map(|axis| 2 + axis % 2).collect();
        let cells: Vec<f64> = (0..shape.iter().product::<usize>()).map(|cell| cell as f64).collect();
        let (get, set) = (bind(getter(nd(&name))), bind(setter(nd(&name))));
        for place in 0..cells.len() {
            let (mut rest, mut indices) = (place, vec![0i64; rank]);
            for axis in (0..rank).rev() {
                indices[axis] = (rest % shape[axis]) as i64;
                rest /= shape[axis];
            }
            // From the end, every other time.
            if place % 2 == 1 {
                indices.iter_mut().zip(&shape).for_each(|(index, size)| *index -= *size as i64);
            }
            let names: Vec<String> = (0..rank).map(|axis| format!("i{axis}")).collect();
            let mut inputs = vec![("a", array(&name, &shape, &cells))];
            inputs.extend(names.iter().map(String::as_str).zip(indices.iter().map(|index| int(*index))));
            let read = run(&get, &inputs).expect("inside");
            assert_eq!(read.0, Value::from(place as f64), "{indices:?}");
            inputs.push(("x", Value::from(-1.0)));
            let mut expected = cells.clone();
            expected[place] = -1.0;
            let written = run(&set, &inputs).expect("inside");
            assert_eq!(written, (Value::from(-1.0), array(&name, &shape, &expected)), "{indices:?}");
        }
    }
}

#[test]
fn indices_outside_raise_and_change_nothing() {
    let one = bind(setter(nd("NDARRAY_FLOAT64_N")));
    for index in [3, -4, i64::MIN, i64::MAX, i64::MIN + 3] {
        let inputs = [
            ("a", array("NDARRAY_FLOAT64_N", &[3], &[1.0, 2.0, 3.0])),
            ("x", Value::from(9.0)),
            ("i0", int(index)),
        ];
        let error = run(&one, &inputs).expect_err("outside");
        assert_eq!(error, RunErrorKind::from(Fault::Index { index, size: 3 }));
        let mut frame = one.new_frame().expect("small");
        inputs.iter().for_each(|(name, value)| {
            frame.write(one.input_slot(name).expect("an input"), value).expect("of its type");
        });
        one.execute(&mut frame).expect_err("outside");
        assert_eq!(frame.read(one.input_slot("a").expect("an input")).as_ref(), Ok(&inputs[0].1));
    }
    let two = bind(getter(nd("NDARRAY_FLOAT64_NN")));
    let a = array("NDARRAY_FLOAT64_NN", &[2, 1], &[1.0, 2.0]);
    let error = run(&two, &[("a", a), ("i0", int(1)), ("i1", int(-2))]).expect_err("outside");
    assert_eq!(error.to_string(), "index out of range: -2, the size of axis 1 is 1");
    let empty = array("NDARRAY_FLOAT64_NN", &[0, 5], &[]);
    assert!(run(&two, &[("a", empty), ("i0", int(0)), ("i1", int(0))]).is_err());
}

#[test]
fn narrow_elements_and_truths() {
    for (qtype, cells, at, expected) in [
        ("NDARRAY_BOOLEAN_N", NdView::from_slice(&[false, true], &[2]), 1, Value::from(true)),
        ("NDARRAY_INT32_N", NdView::from_slice(&[1i32, -7], &[2]), 1, Value::from(-7i32)),
        ("NDARRAY_INT64_1", NdView::from_slice(&[i64::MIN], &[1]), 0, Value::from(i64::MIN)),
        ("NDARRAY_FLOAT32_N", NdView::from_slice(&[0.5f32, 0.25], &[2]), 0, Value::from(0.5f32)),
    ] {
        let a = Value::NdArray(Arc::new(
            NdRows::from_view(nd(qtype), &cells.expect("fits")).expect("a shape of the type"),
        ));
        let read = run(&bind(getter(nd(qtype))), &[("a", a.clone()), ("i0", int(at))]);
        assert_eq!(read.expect("inside").0, expected);
        let written = run(&bind(setter(nd(qtype))), &[("a", a), ("i0", int(0)), ("x", expected.clone())]);
        assert_eq!(written.expect("inside").0, expected);
    }
}

#[test]
fn strided_arrays_are_read_in_place() {
    let bytes: Vec<u8> = [0u8].into_iter().chain((0..6i32).flat_map(i32::to_ne_bytes)).collect();
    let by_columns =
        NdRows::from_strided(nd("NDARRAY_INT32_NN"), &bytes, 1, &[3, 2], &[4, 12]).expect("inside");
    let a = Value::NdArray(Arc::new(by_columns));
    let read = |i, j| {
        let inputs = [("a", a.clone()), ("i0", int(i)), ("i1", int(j))];
        run(&bind(getter(nd("NDARRAY_INT32_NN"))), &inputs).expect("inside").0
    };
    assert_eq!((read(2, 1), read(1, 0), read(-1, -2)), (Value::from(5), Value::from(1), Value::from(2)));
}

#[test]
fn lengths_and_new_arrays() {
    let mut draft = Draft::new();
    let (x, n, m, axis) =
        (draft.input(0, BOOLEAN), draft.input(8, INT64), draft.input(16, INT64), draft.input(24, INT64));
    let a = draft.temporary(32, QType::NdArray(nd("NDARRAY_BOOLEAN_NN")));
    let out = draft.output(56, INT64);
    draft.run("nd.full", &[x, n, m], a);
    draft.run("nd.length", &[a, axis], out);
    let bound = bind(draft.finish(&[("x", x), ("n", n), ("m", m), ("axis", axis)], out));
    let length = |n: i64, m: i64, axis: i64| {
        let mut frame = bound.new_frame().expect("small");
        for (name, value) in [("x", Value::from(true)), ("n", int(n)), ("m", int(m)), ("axis", int(axis))] {
            frame.write(bound.input_slot(name).expect("an input"), &value).expect("of its type");
        }
        bound.execute(&mut frame).map_err(|error| error.kind.to_string())?;
        Ok(frame.read(bound.output_slot()).expect("written"))
    };
    assert_eq!(length(2, 7, 0), Ok(int(2)));
    assert_eq!(length(2, 7, 1), Ok(int(7)));
    assert_eq!(length(2, 7, -2), Ok(int(2)));
    assert_eq!(length(0, 7, -1), Ok(int(7)));
    assert_eq!(length(2, 7, 2), Err("index out of range: 2, size is 2".to_owned()));
    assert_eq!(length(2, -7, 2), Err("negative dimensions are not allowed".to_owned()));
    assert!(length(i64::MAX, i64::MAX, 0).is_err());
}

/// `a[i] = a[i] * 2` for all i, and `s` is the sum of what stood there.
fn doubling() -> Routine {
    let mut draft = Draft::new();
    let a = draft.input(0, QType::NdArray(nd("NDARRAY_FLOAT64_N")));
    let s = draft.output(24, FLOAT64);
    let (i, n, x, more) = (
        draft.temporary(32, INT64),
        draft.temporary(40, INT64),
        draft.temporary(48, FLOAT64),
        draft.temporary(56, "OPTIONAL_UNIT".parse().expect("a type")),
    );
    let zero = draft.next_literal(int(0));
    let one = draft.next_literal(int(1));
    let none = draft.next_literal(Value::from(0.0));
    draft.run("core._copy", &[zero], i);
    draft.run("core._copy", &[none], s);
    draft.run("nd.length", &[a, zero], n);
    let test = draft.body.instructions().len();
    draft.run("core.less", &[i, n], more);
    let leave = draft.push(Instruction::JumpIfNot { condition: more, offset: 0 });
    draft.run("nd.get", &[a, i], x);
    draft.run("math.add", &[s, x], s);
    draft.run("math.add", &[x, x], x);
    draft.run("nd.set", &[a, x, i], a);
    draft.run("math.add", &[i, one], i);
    let back = draft.push(Instruction::Jump { offset: 0 });
    draft.body.set_target(back, test);
    draft.body.jump_to_here(leave);
    draft.updated.push(a);
    draft.finish(&[("a", a)], s)
}

#[test]
fn loops_change_arrays_in_place() {
    let bound = bind(doubling());
    let a = array("NDARRAY_FLOAT64_N", &[4], &[1.0, 2.0, 3.0, 4.0]);
    let (sum, doubled) = run(&bound, &[("a", a.clone())]).expect("no error");
    assert_eq!(sum, Value::from(10.0));
    assert_eq!(doubled, array("NDARRAY_FLOAT64_N", &[4], &[2.0, 4.0, 6.0, 8.0]));
    // What the host shared is as it was.
    assert_eq!(a, array("NDARRAY_FLOAT64_N", &[4], &[1.0, 2.0, 3.0, 4.0]));
}

#[test]
fn lent_memory_is_changed_where_it_lies() {
    let bound = bind(doubling());
    let (mut frame, slot) =
        (bound.new_frame().expect("small"), bound.input_slot("a").expect("an input").clone());
    let mut values = [1.0, 2.0, 3.0];
    let mut view = NdViewMut::from_slice(&mut values, &[3]).expect("fits");
    let call = bound.call(&mut frame).update(&slot, &mut view).expect("the input is changed");
    let sum = call.run().expect("no error").read(bound.output_slot());
    assert_eq!((sum, values), (Ok(Value::from(6.0)), [2.0, 4.0, 6.0]));
    // To be read only: the frame's own copy is changed.
    let lent = NdView::from_slice(&values, &[3]).expect("fits");
    let call = bound.call(&mut frame).input(&slot, &lent).expect("an array of the type");
    let sum = call.run().expect("no error").read(bound.output_slot());
    assert_eq!((sum, values), (Ok(Value::from(12.0)), [2.0, 4.0, 6.0]));
    assert!(frame.read(&slot).is_err(), "what was lent is gone");
    let mut wrong = [1i64];
    let mut view = NdViewMut::from_slice(&mut wrong, &[1]).expect("fits");
    let refused = bound.call(&mut frame).update(&slot, &mut view).map(drop);
    assert!(matches!(refused, Err(CallError::Axes { .. })));
    let reads_only = bind(getter(nd("NDARRAY_FLOAT64_N")));
    let mut frame = reads_only.new_frame().expect("small");
    let slot = TypedSlot::new(0, QType::NdArray(nd("NDARRAY_FLOAT64_N")));
    let mut view = NdViewMut::from_slice(&mut values, &[3]).expect("fits");
    let refused = reads_only.call(&mut frame).update(&slot, &mut view).map(drop);
    assert!(matches!(refused, Err(CallError::NotUpdated { .. })));
}

/// Counts from 0 to `n`, by a jump back on a truth value or a mask, which another way round jumps ahead.
fn counting(comparison: &str, condition: QType, is_ahead: bool) -> Routine {
    let mut draft = Draft::new();
    let n = draft.next_input(INT64);
    let (i, more) = (draft.next_output(INT64), draft.next_temporary(condition));
    let (zero, one) = (draft.next_literal(int(0)), draft.next_literal(int(1)));
    draft.run("core._copy", &[zero], i);
    let top = draft.body.instructions().len();
    if is_ahead {
        draft.run(comparison, &[i, n], more);
        let leave = draft.push(Instruction::JumpIfNot { condition: more, offset: 0 });
        draft.run("math.add", &[i, one], i);
        let back = draft.push(Instruction::Jump { offset: 0 });
        draft.body.set_target(back, top);
        draft.body.jump_to_here(leave);
    } else {
        draft.run("math.add", &[i, one], i);
        draft.run(comparison, &[i, n], more);
        let back = draft.push(Instruction::JumpIf { condition: more, offset: 0 });
        draft.body.set_target(back, top);
    }
    draft.finish(&[("n", n)], i)
}

#[test]
fn jumps_back_take_truths_and_masks_and_the_same_fuel_in_every_style() {
    let mask: QType = "OPTIONAL_UNIT".parse().expect("a type");
    for (comparison, condition) in [("bool.less", BOOLEAN), ("core.less", mask)] {
        for is_ahead in [false, true] {
            let bound = bind(counting(comparison, condition.clone(), is_ahead));
            let n = bound.input::<i64>("n").expect("an input");
            let mut frame = bound.new_frame().expect("small");
            frame.set(n, 1000);
            bound.execute(&mut frame).expect("no error");
            assert_eq!(frame.read(bound.output_slot()), Ok(int(1000)));
            frame.set(n, 100);
            let mut ends = Vec::new();
            for fuel in 0..450 {
                let mut run = |observed: bool| {
                    let mut trace = Trace::default();
                    let options = RunOptions::new().fuel(fuel);
                    let options = if observed { options.observer(&mut trace) } else { options };
                    bound.execute_with(&mut frame, options).map_err(|error| error.to_string())
                };
                let (fused, stepped) = (run(false), run(true));
                assert_eq!(fused, stepped, "with fuel {fuel}");
                ends.push(fused.is_ok());
            }
            assert!(!ends[0] && ends[449] && ends.is_sorted(), "more fuel never fails sooner");
        }
    }
}

fn narrow_array<T: NdCell>(name: &str, cells: &[T]) -> Value {
    Value::NdArray(Arc::new(NdRows::from_slice(nd(name), &[cells.len()], cells).expect("the shape fits")))
}

#[test]
fn narrow_elements_are_int64_outside_of_arrays() {
    let cases = [
        (narrow_array("NDARRAY_INT8_N", &[-128i8, 1]), -128, 300, 44),
        (narrow_array("NDARRAY_INT16_N", &[-2i16, 1]), -2, 40_000, -25_536),
        (narrow_array("NDARRAY_UINT8_N", &[255u8, 1]), 255, -1, 255),
        (narrow_array("NDARRAY_UINT16_N", &[65_535u16, 1]), 65_535, -2, 65_534),
        (narrow_array("NDARRAY_UINT32_N", &[u32::MAX, 1]), i64::from(u32::MAX), 1 << 32, 0),
        (narrow_array("NDARRAY_UINT64_N", &[u64::MAX >> 1, 1]), i64::MAX, 7, 7),
    ];
    for (array, first, stored, found) in cases {
        let Value::NdArray(rows) = &array else { panic!("an array") };
        let qtype = rows.qtype();
        let inputs = [("a", array.clone()), ("i0", int(0))];
        assert_eq!(run(&bind(reading(qtype)), &inputs).expect("inside").0, int(first), "{qtype}");
        let inputs = [("a", array.clone()), ("x", int(stored)), ("i0", int(-1))];
        assert_eq!(run(&bind(writing(qtype)), &inputs).expect("inside").0, int(found), "{qtype}");
        let text = text::print_value(&array);
        assert_eq!(text::parse_value(&text, &QType::NdArray(qtype)), Ok(array.clone()), "{text}");
    }
    let large = narrow_array("NDARRAY_UINT64_N", &[u64::MAX]);
    let error =
        run(&bind(reading(nd("NDARRAY_UINT64_N"))), &[("a", large), ("i0", int(0))]).expect_err("too large");
    assert_eq!(error.to_string(), "an element of UINT64 is larger than any INT64");
    let stored = text::print(&Program::new(vec![reading(nd("NDARRAY_UINT8_N"))]));
    assert!(stored.starts_with("cembra-program 2\n"));
    text::parse(&stored, &builtins::table()).expect("it reads back");
}

/// `nd.get(a, i0)`, of a narrow element.
fn reading(qtype: NdType) -> Routine {
    let mut draft = Draft::new();
    let (a, i) = (draft.next_input(QType::NdArray(qtype)), draft.next_input(INT64));
    let out = draft.next_output(INT64);
    draft.run("nd.get", &[a, i], out);
    draft.finish(&[("a", a), ("i0", i)], out)
}

/// `nd.set(a, x, i0)` and the same element again.
fn writing(qtype: NdType) -> Routine {
    let mut draft = Draft::new();
    let (a, x, i) =
        (draft.next_input(QType::NdArray(qtype)), draft.next_input(INT64), draft.next_input(INT64));
    let out = draft.next_output(INT64);
    draft.run("nd.set", &[a, x, i], a);
    draft.run("nd.get", &[a, i], out);
    draft.updated.push(a);
    draft.finish(&[("a", a), ("x", x), ("i0", i)], out)
}

/// No slot is of a narrow type, whoever asks for one; no operator panics that is given narrow arrays.
#[test]
fn narrow_types_are_those_of_elements_only() {
    for scalar in ScalarType::NARROW {
        assert!(scalar.name().parse::<QType>().is_err());
        for qtype in [QType::Scalar(scalar), QType::Optional(scalar)] {
            let mut draft = Draft::new();
            let a = draft.next_input(qtype);
            let out = draft.next_output(INT64);
            let one = draft.next_literal(int(1));
            draft.run("core._copy", &[one], out);
            let program = Program::new(vec![draft.finish(&[("a", a)], out)]);
            assert!(matches!(verify(&program), Err(VerifyError::Slot { .. })));
        }
    }
    let narrow = [narrow_array("NDARRAY_INT8_N", &[3i8, -1]), narrow_array("NDARRAY_UINT64_N", &[7u64, 1])];
    let others = [int(1), Value::from(true), Value::Axes(Axes::new([0]).expect("an axis"))];
    let all: Vec<Value> = narrow.iter().chain(&others).cloned().collect();
    let mut taken = 0;
    for family in builtins::table().families() {
        for first in &all {
            for rest in [vec![]].into_iter().chain(all.iter().map(|second| vec![second.clone()])) {
                let args: Vec<Value> = [first.clone()].into_iter().chain(rest).collect();
                let types: Vec<QType> = args.iter().map(Value::qtype).collect();
                let Some(overload) = family.overload(&types) else { continue };
                let outcome = invoke(&overload, &args);
                let panics = matches!(outcome, Err(InvokeError::Run(RunErrorKind::Panic { .. })));
                assert!(!panics, "{overload}: {outcome:?}");
                taken += 1;
            }
        }
    }
    assert!(taken > 50, "only {taken}");
}

/// `nd.append(a, x)`, then `nd.remove_last(a)` if asked; the output is the number of elements.
fn resizer(qtype: NdType, shrinks: bool) -> Routine {
    let mut draft = Draft::new();
    let a = draft.input(0, QType::NdArray(qtype));
    let x = draft.input(24, QType::Scalar(qtype.element()));
    let out = draft.output(96, INT64);
    let axis = draft.literal(104, int(0));
    match shrinks {
        true => draft.run("nd.remove_last", &[a], a),
        false => draft.run("nd.append", &[a, x], a),
    }
    draft.run("nd.length", &[a, axis], out);
    draft.updated.push(a);
    draft.finish(&[("a", a), ("x", x)], out)
}

#[test]
fn arrays_of_one_axis_grow_and_shrink() {
    let qtype = nd("NDARRAY_FLOAT64_N");
    let (grow, shrink) = (bind(resizer(qtype, false)), bind(resizer(qtype, true)));
    for count in [0usize, 1, 7, 8, 63, 64, 65, 1000] {
        let cells: Vec<f64> = (0..count).map(|cell| cell as f64).collect();
        let given = [("a", array("NDARRAY_FLOAT64_N", &[count], &cells)), ("x", Value::from(0.5))];
        let more = [&cells[..], &[0.5]].concat();
        let grown = (int(count as i64 + 1), array("NDARRAY_FLOAT64_N", &[count + 1], &more));
        assert_eq!(run(&grow, &given), Ok(grown), "{count} elements grow");
        let shrunk = count
            .checked_sub(1)
            .map(|less| (int(less as i64), array("NDARRAY_FLOAT64_N", &[less], &cells[..less])));
        match (run(&shrink, &given), shrunk) {
            (found, Some(expected)) => assert_eq!(found, Ok(expected), "{count} elements shrink"),
            (Err(RunErrorKind::Fault(Fault::Index { size: 0, .. })), None) => {}
            (found, None) => panic!("an empty array shrinks: {found:?}"),
        }
    }
    // Every other element, from the second on, of a host's buffer: what grows is a copy in order.
    let bytes: Vec<u8> = [9.0f64, 1.0, 9.0, 2.0, 9.0].iter().flat_map(|cell| cell.to_ne_bytes()).collect();
    let strided = NdRows::from_strided(qtype, &bytes, 8, &[2], &[16]).expect("inside of the buffer");
    let given = [("a", Value::NdArray(Arc::new(strided))), ("x", Value::from(3.0))];
    assert_eq!(run(&grow, &given), Ok((int(3), array("NDARRAY_FLOAT64_N", &[3], &[1.0, 2.0, 3.0]))));
}

#[test]
fn one_frame_grows_within_its_budget() {
    let grow = bind(resizer(nd("NDARRAY_FLOAT64_N"), false));
    let mut frame = grow.new_frame().expect("small");
    let slot = grow.input_slot("a").expect("an input").clone();
    frame.write(&slot, &array("NDARRAY_FLOAT64_N", &[0], &[])).expect("of its type");
    frame.write(&grow.input_slot("x").expect("an input").clone(), &Value::from(1.5)).expect("of its type");
    for count in 1..=1000 {
        grow.execute(&mut frame).expect("it grows");
        assert_eq!(frame.read(grow.output_slot()), Ok(int(count)));
    }
    let budget = cembra_vm::machine::Budget { bytes_alive: 4096, ..Default::default() };
    let mut failed = None;
    for _ in 0..100_000 {
        if let Err(error) = grow.execute_with(&mut frame, RunOptions::new().budget(&budget)) {
            failed = Some(error.kind.to_string());
            break;
        }
    }
    let failed = failed.expect("4096 bytes are not enough");
    assert!(failed.contains("bytes-alive"), "{failed}");
    assert!(matches!(frame.read(&slot), Ok(Value::NdArray(_))), "the array is as it was");
}

/// `nd.sort(a)`; the output is the number of elements.
fn sorter(qtype: NdType) -> Routine {
    let mut draft = Draft::new();
    let a = draft.input(0, QType::NdArray(qtype));
    let out = draft.output(96, INT64);
    let axis = draft.literal(104, int(0));
    draft.run("nd.sort", &[a], a);
    draft.run("nd.length", &[a, axis], out);
    draft.updated.push(a);
    draft.finish(&[("a", a)], out)
}

#[test]
fn arrays_of_one_axis_are_sorted() {
    let qtype = nd("NDARRAY_FLOAT64_N");
    let sort = bind(sorter(qtype));
    for count in [0usize, 1, 2, 255, 256, 257, 100_000] {
        let cells: Vec<f64> = (0..count).map(|cell| (cell * 7919 % 10_007) as f64 - 5000.0).collect();
        let mut expected = cells.clone();
        expected.sort_by(f64::total_cmp);
        let sorted = array("NDARRAY_FLOAT64_N", &[count], &expected);
        let given = [("a", array("NDARRAY_FLOAT64_N", &[count], &cells))];
        assert_eq!(run(&sort, &given), Ok((int(count as i64), sorted)), "{count} elements");
    }
    // NaN comes last, and zeros of both signs stay in order.
    let given = [("a", array("NDARRAY_FLOAT64_N", &[5], &[f64::NAN, 0.0, -1.0, -0.0, f64::INFINITY]))];
    let (_, Value::NdArray(sorted)) = run(&sort, &given).expect("no error") else { panic!("an array") };
    let bits: Vec<u64> =
        sorted.view().scalars().map(|cell| cell.as_f64().expect("a float").to_bits()).collect();
    assert_eq!(bits[..4], [-1.0f64, 0.0, -0.0, f64::INFINITY].map(f64::to_bits));
    assert!(f64::from_bits(bits[4]).is_nan());
    // Every other element of a host's buffer, backwards: what is sorted is a copy in order.
    let bytes: Vec<u8> = [9.0f64, 1.0, 9.0, 2.0, 9.0].iter().flat_map(|cell| cell.to_ne_bytes()).collect();
    let strided = NdRows::from_strided(qtype, &bytes, 24, &[2], &[-16]).expect("inside of the buffer");
    let given = [("a", Value::NdArray(Arc::new(strided)))];
    assert_eq!(run(&sort, &given), Ok((int(2), array("NDARRAY_FLOAT64_N", &[2], &[1.0, 2.0]))));
    let integers = nd("NDARRAY_INT64_N");
    let cells = [3i64, i64::MIN, -1, i64::MAX];
    let rows = NdRows::from_slice(integers, &[4], &cells).expect("fits");
    let ordered = NdRows::from_slice(integers, &[4], &[i64::MIN, -1, 3, i64::MAX]).expect("fits");
    let found = run(&bind(sorter(integers)), &[("a", Value::NdArray(Arc::new(rows)))]);
    assert_eq!(found, Ok((int(4), Value::NdArray(Arc::new(ordered)))));
    // What a host lends is written where it lies, and is not replaced.
    let mut frame = sort.new_frame().expect("small");
    let slot = sort.input_slot("a").expect("an input").clone();
    let mut values = [2.0, 1.0];
    let mut view = NdViewMut::from_slice(&mut values, &[2]).expect("fits");
    assert!(sort.call(&mut frame).update(&slot, &mut view).expect("it is changed").run().is_err());
    assert_eq!(values, [2.0, 1.0]);
}
