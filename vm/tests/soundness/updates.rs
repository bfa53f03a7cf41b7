//! Values that are changed in place: what may be, who sees it, and whose memory it is.

use crate::draft::Draft;
use crate::{counting, qtype};
use cembra_vm::builtins;
use cembra_vm::frame::Frame;
use cembra_vm::layout::TypedSlot;
use cembra_vm::machine::{BoundExpr, NdViewMut, Room, RunOptions, Trace};
use cembra_vm::operator::{Family, OperatorTable};
use cembra_vm::program::text::{parse, print};
use cembra_vm::program::verify::{VerifyError, verify};
use cembra_vm::program::{Instruction, Program, Routine, ValueId, slot_check};
use cembra_vm::value::qtype::{BOOLEAN, FLOAT64, INT64};
use cembra_vm::value::{Fault, NdType, NdView, QType, Value};
use std::sync::Arc;

fn vector() -> QType {
    qtype("NDARRAY_FLOAT64_N")
}

fn refused(routines: Vec<Routine>) -> VerifyError {
    verify(&Program::new(routines)).expect_err("a rule is broken")
}

/// A program that is verified, slot-checked and read back from its text.
fn bound(routines: Vec<Routine>) -> BoundExpr {
    let text = print(&Program::new(routines));
    let program = parse(&text, &builtins::table()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    BoundExpr::new(Arc::new(program)).expect("a stored program is verified")
}

/// `nd.set(operand, 1.0, 0)` with a result of the test's choice; the output is `nd.get(array, 0)`.
fn setting(choose: impl FnOnce(&mut Draft, ValueId) -> (ValueId, ValueId), is_declared: bool) -> Routine {
    let mut d = Draft::new();
    let a = d.next_input(vector());
    let out = d.next_output(FLOAT64);
    let (zero, one) = (d.next_literal(Value::from(0i64)), d.next_literal(Value::from(1.0)));
    let (operand, result) = choose(&mut d, a);
    let overload = builtins::table().overload("nd.set", &[vector(), FLOAT64, INT64]).expect("an operator");
    let operator = d.body.add_operator(overload);
    d.body.push_operator(operator, &[operand, one, zero], result, Default::default());
    d.run("nd.get", &[a, zero], out);
    if is_declared {
        d.updated.push(a);
    }
    d.finish(&[("a", a)], out)
}

#[test]
fn only_a_value_that_is_there_to_be_changed_is() {
    assert!(verify(&Program::new(vec![setting(|_, a| (a, a), true)])).is_ok());
    let error = refused(vec![setting(|_, a| (a, a), false)]);
    assert!(matches!(error, VerifyError::Written { what: "an input", .. }), "{error}");
    let literal = |d: &mut Draft, _| {
        let l = d.next_literal(counting("NDARRAY_FLOAT64_N", &[3]));
        (l, l)
    };
    let error = refused(vec![setting(literal, true)]);
    assert!(matches!(error, VerifyError::Written { what: "on a literal", .. }), "{error}");
    // Another value, in another place or in the same.
    let error = refused(vec![setting(|d, a| (a, d.next_temporary(vector())), true)]);
    assert!(matches!(error, VerifyError::Update { .. }), "{error}");
    let error = refused(vec![setting(|d, a| (a, d.value(d.slot(a))), true)]);
    assert!(matches!(error, VerifyError::Update { .. }), "{error}");
    let view = |d: &mut Draft, a| {
        let view = d.view(a, d.slot(a));
        (view, view)
    };
    let error = refused(vec![setting(view, true)]);
    assert!(matches!(error, VerifyError::Written { what: "a view", .. }), "{error}");
    // What is declared has to be an input.
    let mut routine = setting(|_, a| (a, a), true);
    routine.updated_inputs.push(routine.output);
    assert!(matches!(refused(vec![routine]), VerifyError::Interface { .. }));
    let mut routine = setting(|_, a| (a, a), true);
    routine.updated_inputs.push(ValueId(1000));
    assert!(matches!(refused(vec![routine]), VerifyError::Interface { .. }));
}

/// `f(a, b)` sets the first element of `a` to the first of `b`; the output is the sum of both before.
fn callee() -> Routine {
    let mut d = Draft::new();
    let (a, b) = (d.next_input(vector()), d.next_input(vector()));
    let (x, y, out) = (d.next_temporary(FLOAT64), d.next_temporary(FLOAT64), d.next_output(FLOAT64));
    let zero = d.next_literal(Value::from(0i64));
    d.run("nd.get", &[a, zero], x);
    d.run("nd.get", &[b, zero], y);
    d.run("math.add", &[x, y], out);
    d.run("nd.set", &[a, y, zero], a);
    d.updated.push(a);
    d.finish(&[("a", a), ("b", b)], out)
}

/// A main routine that calls `f` with operands of the test's choice.
fn calling(
    choose: impl FnOnce(&mut Draft, ValueId, ValueId) -> [ValueId; 2],
    is_declared: bool,
) -> Vec<Routine> {
    let mut d = Draft::new();
    let (a, b) = (d.next_input(vector()), d.next_input(vector()));
    let out = d.next_output(FLOAT64);
    let operands = choose(&mut d, a, b);
    d.call(1, &operands, &[out]);
    if is_declared {
        d.updated.push(a);
    }
    vec![d.finish(&[("a", a), ("b", b)], out), callee()]
}

#[test]
fn a_routine_changes_only_what_its_caller_may() {
    assert!(verify(&Program::new(calling(|_, a, b| [a, b], true))).is_ok());
    let error = refused(calling(|_, a, b| [a, b], false));
    assert!(matches!(error, VerifyError::Written { what: "an input", .. }), "{error}");
    let error = refused(calling(|_, a, b| [b, a], true));
    assert!(matches!(error, VerifyError::Written { what: "an input", .. }), "{error}");
    let error = refused(calling(|_, a, _| [a, a], true));
    assert!(matches!(error, VerifyError::Overlap { .. }), "{error}");
    let error = refused(calling(|d, a, _| [a, d.value(d.slot(a))], true));
    assert!(matches!(error, VerifyError::Overlap { .. }), "{error}");
    let literal = |d: &mut Draft, a, _| [d.next_literal(counting("NDARRAY_FLOAT64_N", &[3])), a];
    let error = refused(calling(literal, true));
    assert!(matches!(error, VerifyError::Written { what: "on a literal", .. }), "{error}");
}

/// A tuple that took the bytes of an array is not what it was once a call has changed the array.
#[test]
fn the_slot_checker_sees_changes_through_calls() {
    let program = |is_called: bool| {
        let mut d = Draft::new();
        let b = d.next_input(vector());
        let pair = d.next_output(qtype("tuple<NDARRAY_FLOAT64_N,FLOAT64>"));
        let a = d.value(TypedSlot::new(d.slot(pair).offset(), vector()));
        let x = d.value(TypedSlot::new(d.slot(pair).offset() + 24, FLOAT64));
        let sum = d.next_temporary(FLOAT64);
        let one = d.next_literal(Value::from(1.0));
        d.run("core._copy", &[b], a);
        d.run("core._copy", &[one], x);
        d.run("core.make_tuple", &[a, x], pair);
        if is_called {
            d.call(1, &[a, b], &[sum]);
        }
        Program::new(vec![d.finish(&[("b", b)], pair), callee()])
    };
    assert_eq!((verify(&program(false)), slot_check::check(&program(false))), (Ok(()), Ok(())));
    assert_eq!(verify(&program(true)), Ok(()));
    assert!(slot_check::check(&program(true)).is_err());
}

fn frame_of(bound: &BoundExpr, inputs: &[(&str, Value)]) -> Frame {
    let mut frame = bound.new_frame().expect("small");
    crate::write(bound, &mut frame, inputs);
    frame
}

fn read(bound: &BoundExpr, frame: &Frame, name: &str) -> Value {
    frame.read(bound.input_slot(name).expect("an input")).expect("it stays written")
}

#[test]
fn arrays_come_back_from_calls() {
    let program = bound(calling(|_, a, b| [a, b], true));
    let (a, b) = (counting("NDARRAY_FLOAT64_N", &[3]), counting("NDARRAY_FLOAT64_N", &[2]));
    for observed in [false, true] {
        let mut frame = frame_of(&program, &[("a", b.clone()), ("b", a.clone())]);
        for _ in 0..3 {
            let mut trace = Trace::default();
            match observed {
                true => program.execute_with(&mut frame, RunOptions::new().observer(&mut trace)),
                false => program.execute(&mut frame),
            }
            .expect("inside");
            assert_eq!(frame.read(program.output_slot()), Ok(Value::from(0.0)));
            assert_eq!((read(&program, &frame, "a"), read(&program, &frame, "b")), (b.clone(), a.clone()));
        }
        // Where the callee fails they come back as well.
        let none = counting("NDARRAY_FLOAT64_N", &[0]);
        crate::write(&program, &mut frame, &[("b", none.clone())]);
        program.execute(&mut frame).expect_err("an empty array has no first element");
        assert_eq!((read(&program, &frame, "a"), read(&program, &frame, "b")), (b.clone(), none));
    }
}

/// Memory of the host is back with it after every way a call can end, and no frame of a callee keeps it.
#[test]
fn lent_memory_stays_with_no_callee() {
    let program = bound(calling(|_, a, b| [a, b], true));
    let mut frame = program.new_frame().expect("small");
    let slots = ["a", "b"].map(|name| program.input_slot(name).expect("an input").clone());
    for size in [2usize, 0, 5] {
        let mut values = vec![7.0; size];
        let other = vec![3.0, 4.0];
        let lent = NdView::from_slice(&other, &[2]).expect("fits");
        let mut view = NdViewMut::from_slice(&mut values, &[size]).expect("fits");
        let call = program.call(&mut frame).update(&slots[0], &mut view).expect("it is changed");
        let sum = call
            .input(&slots[1], &lent)
            .expect("of its type")
            .run()
            .map(|outputs| outputs.read(program.output_slot()).expect("written"));
        match size {
            0 => assert!(sum.is_err()),
            _ => assert_eq!((sum, values[0]), (Ok(Value::from(10.0)), 3.0)),
        }
        drop((values, other));
        // The frames of callees are used again, with memory of their own.
        crate::write(&program, &mut frame, &[("a", counting("NDARRAY_FLOAT64_N", &[size.max(1)]))]);
        crate::write(&program, &mut frame, &[("b", counting("NDARRAY_FLOAT64_N", &[2]))]);
        program.execute(&mut frame).expect("inside");
        assert_eq!(read(&program, &frame, "a"), counting("NDARRAY_FLOAT64_N", &[size.max(1)]));
    }
}

/// Arrays as results of calls, also into a room of the host, from an input, a literal, and twice the same.
#[test]
fn arrays_are_results_of_calls() {
    let mut d = Draft::new();
    let (a, n) = (d.next_input(vector()), d.next_input(INT64));
    let (new, sum) = (d.next_output(vector()), d.next_output(FLOAT64));
    let literal = d.next_literal(counting("NDARRAY_FLOAT64_N", &[2]));
    let half = d.next_literal(Value::from(0.5));
    d.run("nd.full", &[half, n], new);
    d.run("core._copy", &[half], sum);
    let mut made = d.finish(&[("a", a), ("n", n)], new);
    made.side_outputs = [("again", new), ("given", a), ("kept", literal), ("sum", sum)]
        .map(|(name, value)| (name.into(), value))
        .into();
    let mut d = Draft::new();
    let (a, n) = (d.next_input(vector()), d.next_input(INT64));
    let results = [vector(), vector(), vector(), vector(), FLOAT64].map(|qtype| d.next_output(qtype));
    d.call(1, &[a, n], &results);
    let mut main = d.finish(&[("a", a), ("n", n)], results[0]);
    main.side_outputs = (1..5).map(|index| (index.to_string().into(), results[index])).collect();
    let program = bound(vec![main, made]);
    for n in [3i64, 1, 4] {
        let inputs = [("a", counting("NDARRAY_FLOAT64_N", &[5])), ("n", Value::from(n))];
        let found = crate::results(&program, &inputs);
        assert_eq!(found[0], found[1]);
        assert_eq!(found[2], inputs[0].1);
        assert_eq!(found[3], counting("NDARRAY_FLOAT64_N", &[2]));
        let mut frame = frame_of(&program, &inputs);
        let mut target = vec![0.0; n as usize];
        let slot = program.output_slot().clone();
        let mut rooms = [Room::new(&slot, &mut target)];
        program.call(&mut frame).run_into(&mut rooms).expect("room for all");
        assert_eq!(target, vec![0.5; n as usize]);
        drop(target);
        program.execute(&mut frame).expect("no error");
        let again = frame.read(&slot).expect("written");
        assert_eq!(again, found[0]);
        assert_eq!(read(&program, &frame, "a"), inputs[0].1);
    }
}

/// A region reads an array before it is changed, whatever comes first in it.
#[test]
fn regions_read_before_a_change() {
    let mut d = Draft::new();
    let a = d.next_input(vector());
    let (twice, out) = (d.next_temporary(vector()), d.next_output(vector()));
    let (zero, nine) = (d.next_literal(Value::from(0i64)), d.next_literal(Value::from(9.0)));
    d.run("math.add", &[a, a], twice);
    d.run("nd.set", &[a, nine, zero], a);
    d.run("math.add", &[twice, a], out);
    d.run("nd.set", &[out, nine, zero], out);
    d.updated.push(a);
    let program = bound(vec![d.finish(&[("a", a)], out)]);
    let found = crate::results(&program, &[("a", counting("NDARRAY_FLOAT64_N", &[3]))]);
    let cells =
        NdView::from_slice(&[9.0, 3.0, 6.0], &[3]).map(|view| view.cells::<f64>().collect::<Vec<_>>());
    let Value::NdArray(rows) = &found[0] else { panic!("an array") };
    assert_eq!(Ok(rows.view().cells::<f64>().collect()), cells);
}

/// Two inputs share one array, and a copy another: a change is seen nowhere else.
#[test]
fn shared_arrays_are_copied_before_a_change() {
    let program = bound(calling(|_, a, b| [a, b], true));
    let shared = counting("NDARRAY_FLOAT64_N", &[2]);
    let mut one = shared.clone();
    if let Value::NdArray(rows) = &mut one {
        let cells: Vec<f64> = rows.view().cells::<f64>().map(|cell| cell + 5.0).collect();
        let t = NdType::from_name("NDARRAY_FLOAT64_N").expect("a type");
        *rows = Arc::new(cembra_vm::value::NdRows::from_slice(t, &[2], &cells).expect("fits"));
    }
    let mut frame = frame_of(&program, &[("a", one.clone()), ("b", shared.clone())]);
    program.execute(&mut frame).expect("inside");
    assert_ne!(read(&program, &frame, "a"), one);
    let mut frame = frame_of(&program, &[("a", one.clone()), ("b", one.clone())]);
    program.execute(&mut frame).expect("inside");
    assert_eq!(read(&program, &frame, "b"), one);
    // Without memory for a copy nothing changes.
    let large = counting("NDARRAY_FLOAT64_N", &[10_000]);
    let mut frame = frame_of(&program, &[("a", large.clone()), ("b", one)]);
    program.execute_with(&mut frame, RunOptions::new().bytes_alive(1000)).expect_err("80 kB");
    assert_eq!(read(&program, &frame, "a"), large);
}

/// A kernel of a host leaves an array of another type: an error, not memory of others.
#[test]
fn arrays_of_another_type_are_noticed() {
    let mut table = OperatorTable::clone(&builtins::table());
    let other = NdType::from_name("NDARRAY_INT32_NN").expect("a type");
    let row = Family::new("host.other", &["n"], "Another type than it says.").exact_general(
        &[INT64],
        vector(),
        move |call| {
            call.nd_out(other, &[1, 1])?;
            Ok::<(), Fault>(())
        },
    );
    table.add(row).expect("a new name");
    for writes in [false, true] {
        let mut d = Draft::new();
        let (n, a, out) = (d.next_input(INT64), d.next_temporary(vector()), d.next_output(FLOAT64));
        let operator = d.body.add_operator(table.overload("host.other", &[INT64]).expect("added"));
        d.body.push_operator(operator, &[n], a, Default::default());
        if writes {
            let one = d.next_literal(Value::from(1.0));
            d.run("nd.set", &[a, one, n], a);
        }
        d.run("nd.get", &[a, n], out);
        let program = Program::new(vec![d.finish(&[("n", n)], out)]);
        let bound = BoundExpr::new(Arc::new(program)).expect("verified");
        let mut frame = frame_of(&bound, &[("n", Value::from(0i64))]);
        let error = bound.execute(&mut frame).expect_err("another type").to_string();
        assert!(error.contains("NDARRAY_INT32_NN"), "{error}");
    }
}

/// Random loops that read and write elements, on two arrays, one of them through a call.
struct Random {
    d: Draft,
    arrays: [ValueId; 2],
    numbers: Vec<ValueId>,
    indices: Vec<ValueId>,
}

impl Random {
    fn pick(rng: &mut fastrand::Rng, list: &[ValueId]) -> ValueId {
        list[rng.usize(..list.len())]
    }

    /// Appends one operator.
    fn step(&mut self, rng: &mut fastrand::Rng) {
        let (array, other) = if rng.bool() { (0, 1) } else { (1, 0) };
        let (x, y) = (Self::pick(rng, &self.numbers), Self::pick(rng, &self.numbers));
        let (i, j) = (Self::pick(rng, &self.indices), Self::pick(rng, &self.indices));
        let d = &mut self.d;
        match rng.u32(..9) {
            0 | 1 => d.run("nd.get", &[self.arrays[array], i], x),
            2 | 3 => d.run("nd.set", &[self.arrays[array], x, i], self.arrays[array]),
            4 => d.run("math.add", &[x, y], x),
            5 => d.run("math.subtract", &[i, j], i),
            6 => d.run("nd.length", &[self.arrays[array], j], i),
            7 => d.run("bitwise.bitwise_and", &[i, self.indices[0]], i),
            _ => d.call(1, &[self.arrays[array], self.arrays[other]], &[x]),
        }
    }
}

fn random_loop(rng: &mut fastrand::Rng) -> Vec<Routine> {
    let mut d = Draft::new();
    let arrays = [(); 2].map(|()| d.next_input(vector()));
    let out = d.next_output(FLOAT64);
    let (three, one) = (d.next_literal(Value::from(3i64)), d.next_literal(Value::from(1i64)));
    let half = d.next_literal(Value::from(0.5));
    let (times, more) = (d.next_temporary(INT64), d.next_temporary(BOOLEAN));
    let numbers: Vec<ValueId> = (0..3).map(|_| d.next_temporary(FLOAT64)).collect();
    let indices: Vec<ValueId> = (0..3).map(|_| d.next_temporary(INT64)).collect();
    d.run("core._copy", &[three], times);
    numbers.iter().for_each(|number| d.run("core._copy", &[half], *number));
    indices.iter().for_each(|index| d.run("core._copy", &[one], *index));
    let mut random = Random { d, arrays, numbers, indices };
    let top = random.d.body.instructions().len();
    (0..rng.usize(1..12)).for_each(|_| random.step(rng));
    let mut d = random.d;
    d.run("math.subtract", &[times, one], times);
    d.run("bool.less", &[one, times], more);
    let back = d.push(match rng.bool() {
        true => Instruction::JumpIf { condition: more, offset: 0 },
        false => Instruction::JumpIfNot { condition: more, offset: 0 },
    });
    // The latter runs for long, or for ever.
    d.body.set_target(back, top);
    d.run("core._copy", &[random.numbers[0]], out);
    d.updated.extend(arrays);
    vec![d.finish(&[("a", arrays[0]), ("b", arrays[1])], out), callee()]
}

#[test]
fn random_loops_agree_in_every_style() {
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut ends = 0;
    for round in 0..600 {
        let program = bound(random_loop(&mut rng));
        let sizes = [rng.usize(..5), rng.usize(1..5)];
        let inputs = ["a", "b"].iter().zip(sizes);
        let inputs: Vec<(&str, Value)> =
            inputs.map(|(name, size)| (*name, counting("NDARRAY_FLOAT64_N", &[size]))).collect();
        let fuel = rng.u64(..400);
        let mut frame = program.new_frame().expect("small");
        let mut outcome = |observed: bool| {
            crate::write(&program, &mut frame, &inputs);
            let mut trace = Trace::default();
            let options = RunOptions::new().fuel(fuel);
            let options = if observed { options.observer(&mut trace) } else { options };
            let end = program.execute_with(&mut frame, options).map_err(|error| error.to_string());
            let out = end.map(|()| frame.read(program.output_slot()).expect("written"));
            (out, read(&program, &frame, "a"), read(&program, &frame, "b"))
        };
        let (fused, stepped) = (outcome(false), outcome(true));
        assert_eq!(fused, stepped, "seed {seed}, round {round}\n{}", print(program.program()));
        ends += usize::from(fused.0.is_ok());
    }
    assert!(ends > 60, "only {ends} of 600 come to an end");
}
