//! Jumps, calls and fuel; cancellation; what stays on the interpreter.

use crate::agree::{Tiers, outcome, plain};
use crate::draft::Draft;
use cembra_vm::jit::{self, NotCompiled};
use cembra_vm::machine::{BoundExpr, RunOptions, Trace};
use cembra_vm::operator::Family;
use cembra_vm::program::catch::Catch;
use cembra_vm::program::{Instruction, Routine};
use cembra_vm::value::fault::Category;
use cembra_vm::value::qtype::{FLOAT64, INT64, OPTIONAL_UNIT, TEXT};
use cembra_vm::value::{CancelToken, QType, ScalarType, Value};
use std::thread;
use std::time::{Duration, Instant};

/// `main(n)`: the sum of 100 // (k - 7) for k from 0 to n, as long as it fits; with an optional float carried along.
fn sums() -> Routine {
    let mut draft = Draft::new();
    let n = draft.next_input(INT64);
    let sum = draft.next_output(INT64);
    let optional = QType::Optional(ScalarType::Float64);
    let (carried, half) = (draft.next_temporary(optional.clone()), draft.next_literal(Value::from(0.5)));
    let [k, left, quotient] = [0; 3].map(|_| draft.next_temporary(INT64));
    let more = draft.next_temporary(OPTIONAL_UNIT);
    let [zero, one, seven, hundred] = [0i64, 1, 7, 100].map(|value| draft.next_literal(Value::from(value)));
    let missing = draft.next_literal(Value::Missing(ScalarType::Float64));
    draft.run("core._copy", &[zero], sum);
    draft.run("core._copy", &[zero], k);
    draft.run("core._copy", &[missing], carried);
    let test = draft.push(Instruction::Jump { offset: 0 });
    let body = draft.body.instructions().len();
    draft.run("math.subtract", &[k, seven], left);
    draft.run("python.floordiv", &[hundred, left], quotient);
    draft.run("python.add", &[sum, quotient], sum);
    draft.run("math.add", &[k, one], k);
    let wide = draft.next_temporary(optional);
    draft.run("core.to_optional._scalar", &[half], wide);
    draft.run("math.add", &[carried, wide], carried);
    draft.body.set_target(test, draft.body.instructions().len());
    draft.run("core.less", &[k, n], more);
    let again = draft.push(Instruction::JumpIf { condition: more, offset: 0 });
    draft.body.set_target(again, body);
    let mut routine = draft.finish(&[("n", n)], sum);
    routine.side_outputs.push(("carried".into(), carried));
    routine
}

/// `main(n) = fib(n)`.
fn fib() -> Vec<Routine> {
    let mut main = Draft::new();
    let n = main.next_input(INT64);
    let out = main.next_output(INT64);
    main.call(1, &[n], &[out]);
    let mut draft = Draft::new();
    let m = draft.next_input(INT64);
    let result = draft.next_output(INT64);
    let [first, second, a, b] = [0; 4].map(|_| draft.next_temporary(INT64));
    let small = draft.next_temporary(OPTIONAL_UNIT);
    let [one, two] = [1i64, 2].map(|value| draft.next_literal(Value::from(value)));
    draft.run("core.less", &[m, two], small);
    let leaf = draft.push(Instruction::JumpIf { condition: small, offset: 0 });
    draft.run("python.subtract", &[m, one], first);
    draft.call(1, &[first], &[a]);
    draft.run("python.subtract", &[m, two], second);
    draft.call(1, &[second], &[b]);
    draft.run("python.add", &[a, b], result);
    let end = draft.push(Instruction::Jump { offset: 0 });
    draft.body.set_target(leaf, draft.body.instructions().len());
    draft.run("core._copy", &[m], result);
    draft.body.set_target(end, draft.body.instructions().len());
    vec![main.finish(&[("n", n)], out), draft.finish(&[("m", m)], result)]
}

/// `main(n)`: counts down to zero, one call inside of the other.
fn nested() -> Vec<Routine> {
    let mut main = Draft::new();
    let n = main.next_input(INT64);
    let out = main.next_output(INT64);
    main.call(1, &[n], &[out]);
    let mut draft = Draft::new();
    let m = draft.next_input(INT64);
    let result = draft.next_output(INT64);
    let [less, below] = [0; 2].map(|_| draft.next_temporary(INT64));
    let some = draft.next_temporary(OPTIONAL_UNIT);
    let [zero, one] = [0i64, 1].map(|value| draft.next_literal(Value::from(value)));
    draft.run("core.less", &[zero, m], some);
    let end = draft.push(Instruction::JumpIfNot { condition: some, offset: 0 });
    draft.run("python.subtract", &[m, one], less);
    draft.call(1, &[less], &[below]);
    draft.run("python.add", &[below, one], result);
    let out_of = draft.push(Instruction::Jump { offset: 0 });
    draft.body.set_target(end, draft.body.instructions().len());
    draft.run("core._copy", &[zero], result);
    draft.body.set_target(out_of, draft.body.instructions().len());
    vec![main.finish(&[("n", n)], out), draft.finish(&[("m", m)], result)]
}

#[test]
fn loops_give_the_same_with_any_fuel() {
    let tiers = Tiers::of(vec![sums()]);
    for n in [0i64, 1, 5, 7, 8, 40] {
        tiers.agree_with_fuel(&[n.into()]);
    }
}

#[test]
fn calls_give_the_same_with_any_fuel_and_depth() {
    let tiers = Tiers::of(fib());
    for n in [0i64, 1, 2, 7] {
        tiers.agree_with_fuel(&[n.into()]);
    }
    for depth in 0..8 {
        tiers.agree(&[6i64.into()], &move |options| options.call_depth(depth));
        tiers.agree(&[6i64.into()], &move |options| options.call_frame_bytes(depth as u64 * 100));
    }
    assert_eq!(tiers.agree(&[20i64.into()], &plain).0, "[Scalar(Int64(6765))]");
}

#[test]
fn calls_are_as_deep_as_the_interpreter_has_them() {
    let tiers = Tiers::of(nested());
    fn deep(options: RunOptions<'_>) -> RunOptions<'_> {
        options.call_depth(300_000)
    }
    // On a thread with a small stack: compiled code stops using it in time.
    thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || {
            for n in [10i64, 5_000, 200_000, 299_998, 299_999, 300_000] {
                tiers.agree(&[n.into()], &deep);
            }
            tiers.agree(&[200_000i64.into()], &|options| deep(options).fuel(700_000));
        })
        .expect("a thread")
        .join()
        .expect("no panic");
}

/// `main()`: an endless loop, which works now and then with a cell.
fn endless(has_cells: bool) -> Routine {
    let mut draft = Draft::new();
    let x = draft.next_input(FLOAT64);
    let out = draft.next_output(FLOAT64);
    draft.run("core._copy", &[x], out);
    let body = draft.body.instructions().len();
    draft.run("math.add", &[out, x], out);
    if has_cells {
        draft.run("math.exp", &[out], out);
    }
    let again = draft.push(Instruction::Jump { offset: 0 });
    draft.body.set_target(again, body);
    draft.finish(&[("x", x)], out)
}

#[test]
fn endless_loops_are_stopped() {
    for has_cells in [false, true] {
        let tiers = Tiers::of(vec![endless(has_cells)]);
        let (x, token) = ([Value::from(0.25)], CancelToken::new());
        let started = Instant::now();
        let late = outcome(&tiers.compiled, &x, RunOptions::new().time(Duration::from_millis(20)));
        assert!(late.contains("Deadline") || late.contains("Time"), "{late:?}");
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                token.cancel();
            });
            let stopped = outcome(&tiers.compiled, &x, RunOptions::new().cancel(&token));
            assert!(stopped.contains("Cancelled"), "{stopped:?}");
        });
        assert!(started.elapsed() < Duration::from_secs(20), "it did not stop in time");
        for fuel in [0, 1, 2, 3, 63, 64, 65, 1_000_003] {
            let (error, _) = tiers.agree(&x, &move |options| options.fuel(fuel));
            assert!(error.contains("OutOfFuel"), "{error}");
        }
    }
}

#[test]
fn observed_runs_step_through_cells() {
    let tiers = Tiers::of(vec![sums()]);
    let traced = |bound: &BoundExpr| {
        let mut trace = Trace::default();
        let found = outcome(bound, &[5i64.into()], RunOptions::new().observer(&mut trace));
        (found, trace.entries.len())
    };
    let compiled = traced(&tiers.compiled);
    assert_eq!(compiled, traced(&tiers.interpreted));
    assert!(compiled.1 > 40);
}

#[test]
fn texts_are_changed_by_their_cells() {
    let mut draft = Draft::new();
    let [x, y] = [0; 2].map(|_| draft.next_input(INT64));
    let out = draft.next_output(TEXT);
    let sum = draft.next_temporary(INT64);
    let (text, upper) = (draft.next_literal(Value::from("pinus")), draft.next_temporary(TEXT));
    draft.run("python.add", &[x, y], sum);
    draft.run("strings.upper", &[text], upper);
    draft.run("core._copy", &[upper], out);
    let mut routine = draft.finish(&[("x", x), ("y", y)], out);
    routine.side_outputs.push(("sum".into(), sum));
    let tiers = Tiers::of(vec![routine]);
    tiers.agree(&[2i64.into(), 3i64.into()], &plain);
    tiers.agree(&[i64::MAX.into(), 3i64.into()], &plain);
}

#[test]
fn a_panic_of_an_operator_is_an_error_of_the_run() {
    let family = Family::new("host.explode", &["x"], "Panics above 2.").host().exact_general(
        &[INT64],
        INT64,
        |call| {
            let x = call.get::<i64>(0);
            assert!(x <= 2, "x is {x}");
            call.set::<i64>(x);
            Ok(())
        },
    );
    let overload = family.overload(&[INT64]).expect("it has one");
    let mut draft = Draft::new();
    let x = draft.next_input(INT64);
    let out = draft.next_output(INT64);
    let sum = draft.next_temporary(INT64);
    draft.run("python.add", &[x, x], sum);
    let operator = draft.body.add_operator(overload);
    draft.body.push_operator(operator, &[sum], out, Default::default());
    let tiers = Tiers::of(vec![draft.finish(&[("x", x)], out)]);
    for x in [1i64, 2, 1] {
        tiers.agree(&[x.into()], &plain);
    }
    assert!(tiers.agree(&[2i64.into()], &plain).0.contains("x is 4"));
}

#[test]
fn what_gains_nothing_is_not_compiled() {
    let mut draft = Draft::new();
    let x = draft.next_input(FLOAT64);
    let out = draft.next_output(FLOAT64);
    draft.run("math.lgamma", &[x], out);
    let reason = Tiers::maybe(vec![draft.finish(&[("x", x)], out)]).err();
    assert_eq!(reason, Some(NotCompiled::NothingToGain));

    let tiers = Tiers::of(fib());
    assert_eq!(jit::compile(&tiers.compiled), Err(NotCompiled::Already));
}

/// `f(x) = 12 // x`, or -1 where that is division by zero; with more work around it, so that code would gain.
fn guarded() -> Routine {
    let mut draft = Draft::new();
    let x = draft.next_input(INT64);
    let out = draft.next_output(INT64);
    let [dozen, minus_one] = [12i64, -1].map(|value| draft.next_literal(Value::from(value)));
    let catch = Catch { categories: vec![Category::DivisionByZero], classes: Vec::new(), keep: None };
    let catch = draft.body.add_catch(catch);
    let guard = draft.push(Instruction::Guard { catch, offset: 0 });
    draft.run("python.floordiv", &[dozen, x], out);
    let end = draft.push(Instruction::Jump { offset: 0 });
    draft.body.set_target(guard, draft.body.instructions().len());
    draft.run("core._copy", &[minus_one], out);
    draft.body.set_target(end, draft.body.instructions().len());
    draft.finish(&[("x", x)], out)
}

#[test]
fn guards_are_the_interpreters() {
    assert_eq!(Tiers::maybe(vec![guarded()]).err(), Some(NotCompiled::Guards));

    // f(x) + f(x - 1), each by a call, from compiled code.
    let mut draft = Draft::new();
    let x = draft.next_input(INT64);
    let out = draft.next_output(INT64);
    let [less, first, second] = [0; 3].map(|_| draft.next_temporary(INT64));
    let one = draft.next_literal(1i64.into());
    draft.run("python.subtract", &[x, one], less);
    draft.call(1, &[x], &[first]);
    draft.call(1, &[less], &[second]);
    draft.run("python.add", &[first, second], out);
    let tiers = Tiers::of(vec![draft.finish(&[("x", x)], out), guarded()]);
    for x in [-3i64, 0, 1, 2, 5] {
        tiers.agree_with_fuel(&[x.into()]);
    }
    assert_eq!(tiers.agree(&[1i64.into()], &plain).0, "[Scalar(Int64(11))]");
}
