//! Calls in pieces: windows, order, threads, limits, and what the verifier refuses.

#[path = "support/draft.rs"]
mod draft;

use cembra_vm::builtins;
use cembra_vm::machine::{BoundExpr, NdViewMut, RunError, RunErrorKind, RunOptions, Trace};
use cembra_vm::program::parallel::{Parallel, Window};
use cembra_vm::program::verify::verify;
use cembra_vm::program::{Instruction, Program, Routine, ValueId, text};
use cembra_vm::value::qtype::{INT64, OPTIONAL_UNIT};
use cembra_vm::value::{CancelToken, Fault, NdRows, NdType, QType, Value};
use draft::Draft;
use std::sync::Arc;

const ROWS: &str = "NDARRAY_FLOAT64_N";
const MATRIX: &str = "NDARRAY_FLOAT64_NN";

fn nd(name: &str) -> QType {
    QType::NdArray(NdType::from_name(name).expect("a type of arrays"))
}

fn array(name: &str, shape: &[usize], cells: &[f64]) -> Value {
    let of = NdType::from_name(name).expect("a type of arrays");
    Value::NdArray(Arc::new(NdRows::from_slice(of, shape, cells).expect("the shape fits")))
}

/// `main(first, end, a, at, step) = part(…)`, a call in pieces.
fn main(of: &str) -> Routine {
    let mut draft = Draft::new();
    let [first, end] = [0; 2].map(|_| draft.next_input(INT64));
    let a = draft.next_input(nd(of));
    let [at, step] = [0; 2].map(|_| draft.next_input(INT64));
    let out = draft.next_output(INT64);
    draft.call(1, &[first, end, a, at, step], &[out]);
    draft.updated.push(a);
    draft.finish(&[("first", first), ("end", end), ("a", a), ("at", at), ("step", step)], out)
}

/// For k from `first` to `end`: `a[k - first] += k` along an axis, in the column or row 0; raises at `1 // (k - 700)`.
/// The result is the sum of the numbers k.
fn part(of: &str, axis: u32) -> Routine {
    let mut draft = Draft::new();
    let [first, end] = [0; 2].map(|_| draft.next_input(INT64));
    let a = draft.next_input(nd(of));
    let [at, step] = [0; 2].map(|_| draft.next_input(INT64));
    let sum = draft.next_output(INT64);
    let [k, place, left, quotient] = [0; 4].map(|_| draft.next_temporary(INT64));
    let [element, number, new] =
        [0; 3].map(|_| draft.next_temporary(QType::Scalar(cembra_vm::value::ScalarType::Float64)));
    let more = draft.next_temporary(OPTIONAL_UNIT);
    let [zero, one, fatal] = [0i64, 1, 700].map(|value| draft.next_literal(Value::from(value)));
    draft.run("core._copy", &[zero], sum);
    draft.run("core._copy", &[first], k);
    let test = draft.push(Instruction::Jump { offset: 0 });
    let body = draft.body.instructions().len();
    draft.run("math.subtract", &[k, first], place);
    draft.run("math.subtract", &[k, fatal], left);
    draft.run("python.floordiv", &[one, left], quotient);
    let indices = match (of, axis) {
        (ROWS, _) => vec![place],
        (_, 0) => vec![place, zero],
        _ => vec![zero, place],
    };
    draft.run("nd.get", &[&[a], &*indices].concat(), element);
    draft.run("core.to_float64", &[k], number);
    draft.run("math.add", &[element, number], new);
    draft.run("nd.set", &[&[a, new], &*indices].concat(), a);
    draft.run("math.add", &[sum, k], sum);
    draft.run("math.add", &[k, one], k);
    draft.body.set_target(test, draft.body.instructions().len());
    draft.run("core.less", &[k, end], more);
    let again = draft.push(Instruction::JumpIf { condition: more, offset: 0 });
    draft.body.set_target(again, body);
    draft.updated.push(a);
    draft.parallel = Some(Parallel { combine: 2, windows: vec![Window { array: a, axis, first: at, step }] });
    draft.finish(&[("first", first), ("end", end), ("a", a), ("at", at), ("step", step)], sum)
}

fn combine() -> Routine {
    let mut draft = Draft::new();
    let [p, q] = [0; 2].map(|_| draft.next_input(INT64));
    let out = draft.next_output(INT64);
    draft.run("math.add", &[p, q], out);
    draft.finish(&[("p", p), ("q", q)], out)
}

fn bind(of: &str, axis: u32) -> BoundExpr {
    let program = Program::new(vec![main(of), part(of, axis), combine()]);
    // It is the same program after it was stored.
    let stored = text::print(&program);
    assert!(stored.starts_with("cembra-program 3\n"), "{stored}");
    let read = text::parse(&stored, &builtins::table()).unwrap_or_else(|error| panic!("{error}\n{stored}"));
    assert_eq!(text::print(&read), stored);
    BoundExpr::new(Arc::new(read)).unwrap_or_else(|error| panic!("{error}"))
}

type Ran = Result<(Value, Value), RunError>;

fn run(bound: &BoundExpr, a: &Value, [first, end, at, step]: [i64; 4], options: RunOptions<'_>) -> Ran {
    let mut frame = bound.new_frame().expect("small");
    for (name, value) in [("first", first), ("end", end), ("at", at), ("step", step)] {
        frame.write(bound.input_slot(name).expect("an input"), &Value::from(value)).expect("an INT64");
    }
    let slot = bound.input_slot("a").expect("an input");
    frame.write(slot, a).expect("of its type");
    bound.execute_with(&mut frame, options)?;
    Ok((frame.read(bound.output_slot()).expect("written"), frame.read(slot).expect("it stays")))
}

/// Runs on one thread, on several, and observed; all must agree.
#[track_caller]
fn check(bound: &BoundExpr, a: &Value, numbers: [i64; 4]) -> Ran {
    let one = run(bound, a, numbers, RunOptions::new());
    for threads in [2, 5] {
        assert_eq!(run(bound, a, numbers, RunOptions::new().threads(threads)), one, "{threads} threads");
    }
    let mut trace = Trace::default();
    assert_eq!(run(bound, a, numbers, RunOptions::new().observer(&mut trace)), one, "observed");
    one
}

#[test]
fn each_piece_has_its_window() {
    let bound = bind(ROWS, 0);
    for trips in [0i64, 1, 3, 64, 65, 640] {
        for (at, step) in [(0, 1), (2, 3), (3 * trips, -3)] {
            let cells: Vec<f64> = (0..2000).map(f64::from).collect();
            let (sum, after) =
                check(&bound, &array(ROWS, &[2000], &cells), [0, trips, at, step]).expect("it is inside");
            assert_eq!(sum, Value::from(trips * (trips - 1) / 2));
            let mut expected = cells;
            (0..trips).for_each(|k| expected[(at + step * k) as usize] += k as f64);
            assert_eq!(after, array(ROWS, &[2000], &expected), "{trips} trips from {at} by {step}");
        }
    }
}

#[test]
fn rows_and_columns_are_windows() {
    let cells: Vec<f64> = (0..600).map(f64::from).collect();
    for (axis, shape) in [(0, [200, 3]), (1, [3, 200])] {
        let bound = bind(MATRIX, axis);
        let (_, after) =
            check(&bound, &array(MATRIX, &shape, &cells), [10, 100, 5, 1]).expect("it is inside");
        let mut expected = cells.clone();
        let stride = if axis == 0 { 3 } else { 1 };
        (10..100).for_each(|k| expected[(5 + k) * stride] += k as f64);
        assert_eq!(after, array(MATRIX, &shape, &expected), "axis {axis}");
    }
}

#[test]
fn many_trips_run_on_threads() {
    let (bound, trips) = (bind(ROWS, 0), 60_000i64);
    let cells = vec![0.5; trips as usize];
    let (sum, after) =
        check(&bound, &array(ROWS, &[trips as usize], &cells), [701, trips, 0, 1]).expect("it is inside");
    assert_eq!(sum, Value::from((701..trips).sum::<i64>()));
    let expected: Vec<f64> = (0..trips).map(|k| 0.5 + if k > 700 { k as f64 } else { 0.0 }).collect();
    assert_eq!(after, array(ROWS, &[trips as usize], &expected));
}

#[test]
fn a_window_outside_of_the_array_is_an_error_before_anything_runs() {
    let (bound, a) = (bind(ROWS, 0), array(ROWS, &[10], &[1.0; 10]));
    for (numbers, index) in [
        ([0, 11, 0, 1], 10),
        ([0, 10, 1, 1], 10),
        ([0, 3, -1, 1], -1),
        ([0, 3, 1, -1], -1),
        ([0, 2, 0, i64::MAX], i64::MAX),
        ([i64::MIN, i64::MAX, 0, i64::MAX], i64::MIN),
    ] {
        let error = check(&bound, &a, numbers).expect_err("it is outside");
        assert_eq!(error.kind, RunErrorKind::Fault(Fault::Index { index, size: 10 }), "{numbers:?}");
        assert_eq!(error.at.map(|at| &*at.operator == "call"), Some(true));
    }
}

#[test]
fn the_first_failing_piece_is_told() {
    let bound = bind(ROWS, 0);
    let a = array(ROWS, &[40_000], &vec![0.0; 40_000]);
    let error = check(&bound, &a, [0, 40_000, 0, 1]).expect_err("trip 700 divides by zero");
    assert_eq!(error.kind, RunErrorKind::Fault(Fault::DivisionByZero));
    assert_eq!(error.at.map(|at| (at.routine, at.operator.to_string())), Some((1, "python.floordiv".into())));
}

#[test]
fn memory_of_the_host_is_changed_in_place_and_comes_back() {
    let (bound, mut cells) = (bind(ROWS, 0), vec![0.0; 30_000]);
    let mut frame = bound.new_frame().expect("small");
    for (name, value) in [("first", 701i64), ("end", 30_000), ("at", 0), ("step", 1)] {
        frame.write(bound.input_slot(name).expect("an input"), &Value::from(value)).expect("an INT64");
    }
    for _ in 0..2 {
        let slot = bound.input_slot("a").expect("an input").clone();
        let mut view = NdViewMut::from_slice(&mut cells, &[30_000]).expect("one axis");
        let call = bound.call(&mut frame).update(&slot, &mut view).expect("it is updated").threads(3);
        call.run().expect("it is inside");
    }
    assert_eq!((cells[700], cells[701], cells[29_999]), (0.0, 1402.0, 59_998.0));
}

#[test]
fn fuel_and_cancellation_stop_pieces_on_any_thread() {
    let (bound, a) = (bind(ROWS, 0), array(ROWS, &[50_000], &vec![0.0; 50_000]));
    let numbers = [701, 50_000, 0, 1];
    for fuel in [0, 5, 1_000, 300_000] {
        let stopped = run(&bound, &a, numbers, RunOptions::new().fuel(fuel)).expect_err("it needs more");
        assert_eq!(stopped.kind, RunErrorKind::OutOfFuel { fuel });
        let shared = run(&bound, &a, numbers, RunOptions::new().fuel(fuel).threads(4));
        assert_eq!(shared, Err(stopped));
    }
    let token = CancelToken::new();
    token.cancel();
    let stopped = run(&bound, &a, numbers, RunOptions::new().cancel(&token).threads(4));
    assert_eq!(stopped.expect_err("it was cancelled").kind, RunErrorKind::Cancelled);
}

#[test]
fn what_a_parallel_routine_lacks_is_refused() {
    let refused = |change: &dyn Fn(&mut Routine), expected: &str| {
        let mut changed = part(ROWS, 0);
        change(&mut changed);
        let error =
            verify(&Program::new(vec![main(ROWS), changed, combine()])).expect_err("a rule is broken");
        assert!(error.to_string().contains(expected), "{error}");
    };
    let parallel = |change: fn(&mut Parallel)| {
        move |routine: &mut Routine| change(routine.parallel.as_mut().expect("it is parallel"))
    };
    refused(&parallel(|parallel| parallel.combine = 0), "does not combine two results");
    refused(&parallel(|parallel| parallel.combine = 9), "does not combine two results");
    refused(&parallel(|parallel| parallel.windows.clear()), "has not one window");
    refused(&parallel(|parallel| parallel.windows.push(parallel.windows[0])), "has not one window");
    refused(&parallel(|parallel| parallel.windows[0].axis = 1), "needs an NDARRAY with axis 1");
    refused(&parallel(|parallel| parallel.windows[0].array = ValueId(0)), "needs an NDARRAY");
    refused(&parallel(|parallel| parallel.windows[0].first = ValueId(2)), "needs an NDARRAY");
    refused(&parallel(|parallel| parallel.windows[0].step = ValueId(900)), "needs an NDARRAY");
    refused(&|routine| routine.overrides_inputs = true, "overrides no inputs");
    let alone = Program::new(vec![part(ROWS, 0), combine(), combine()]);
    assert!(verify(&alone).expect_err("it is the main routine").to_string().contains("main routine"));
}
