//! Regions run late: what they read and lay out must be what the instructions mean, byte for byte.

use crate::draft::Draft;
use crate::{axes, bound, counting, floats, ints, qtype, results, run, stored};
use cembra_vm::machine::BoundExpr;
use cembra_vm::program::instruction::Trap;
use cembra_vm::program::{Instruction, Program};
use cembra_vm::value::qtype::{FLOAT64, INT64};
use cembra_vm::value::{Axes, Category, QType, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Code that no path reaches reads a result whose handle another result of the region has taken.
#[test]
fn unreachable_readers_do_not_count() {
    let mut d = Draft::new();
    let (x, y) = (d.input(0, qtype("DENSE_ARRAY_FLOAT64")), d.input(24, qtype("DENSE_ARRAY_FLOAT64")));
    let t = d.temporary(48, qtype("DENSE_ARRAY_FLOAT64"));
    let (u, out) =
        (d.temporary(72, qtype("DENSE_ARRAY_FLOAT64")), d.output(72, qtype("DENSE_ARRAY_FLOAT64")));
    let n = d.temporary(96, INT64);
    d.run("math.add", &[y, y], u);
    d.run("math.multiply", &[u, x], t);
    d.run("math.add", &[t, x], out);
    d.push(Instruction::Jump { offset: 1 });
    d.run("array.size", &[u], n);
    let bound = bound(d.finish(&[("x", x), ("y", y)], out));
    let rows = |f: fn(f64) -> f64| floats((0..3000).map(|row| f(f64::from(row))));
    let inputs = [("x", rows(|row| row)), ("y", rows(|row| 2.0 * row))];
    assert_eq!(results(&bound, &inputs), [rows(|row| 4.0 * row * row + row)]);
}

/// Two arrays of different elements cannot have one handle.
#[test]
fn a_handle_has_one_type() {
    let mut d = Draft::new();
    let (x, y) = (d.input(0, qtype("DENSE_ARRAY_FLOAT64")), d.input(80, qtype("DENSE_ARRAY_INT32")));
    let t = d.temporary(24, qtype("DENSE_ARRAY_FLOAT64"));
    let u = d.temporary(48, qtype("DENSE_ARRAY_INT32"));
    let out = d.output(48, qtype("DENSE_ARRAY_FLOAT64"));
    d.run("math.add", &[y, y], u);
    d.run("core.to_float64", &[u], t);
    d.run("math.add", &[t, x], out);
    let error = stored(d.finish(&[("x", x), ("y", y)], out)).expect_err("two types of one handle");
    assert!(
        error.to_string().contains("DENSE_ARRAY_INT32 [0x30], which the layout does not accept"),
        "{error}"
    );
}

/// Two results on one handle, where no path reaches the end: the slot checker has nothing to say there.
#[test]
fn results_share_no_byte_even_if_nobody_reads_them() {
    for shared in [true, false] {
        let array = || qtype("DENSE_ARRAY_FLOAT64");
        let mut d = Draft::new();
        let x = d.input(0, array());
        let (u, out) = (d.output(24, array()), d.output(if shared { 24 } else { 48 }, array()));
        let t = d.temporary(72, array());
        d.run("math.add", &[x, x], u);
        d.run("math.multiply", &[u, x], t);
        d.run("math.add", &[t, x], out);
        let trap = d.body.add_trap(Trap { category: Category::Host, message: "stop".into() });
        d.push(Instruction::Trap { trap });
        let mut routine = d.finish(&[("x", x)], out);
        routine.side_outputs = vec![("u".into(), u)];
        match stored(routine) {
            Ok(program) => {
                assert!(!shared);
                let bound = BoundExpr::new(Arc::new(program)).expect("verified");
                let outcomes = run(&bound, &[("x", floats((0..1000).map(f64::from)))]);
                assert!(outcomes.iter().all(Result::is_err));
            }
            Err(error) => {
                assert!(shared && error.to_string().contains("results v1 and v2 share bytes"), "{error}")
            }
        }
    }
}

/// A reduction that nobody reads; a scalar has taken its place before the region runs.
#[test]
fn reductions_do_not_write_late() {
    for operator in ["math._sum", "math._mean", "array._count"] {
        let mut d = Draft::new();
        let (x, y) = (d.input(0, qtype("DENSE_ARRAY_FLOAT64")), d.input(24, FLOAT64));
        let table = cembra_vm::builtins::table();
        let overload = table.overload(operator, &[qtype("DENSE_ARRAY_FLOAT64")]).expect("a reduction");
        let s = d.temporary(48, overload.result().clone());
        let (v, w) = (d.output(48, FLOAT64), d.output(64, qtype("DENSE_ARRAY_FLOAT64")));
        d.run(operator, &[x], s);
        d.run("math.add", &[y, y], v);
        d.run("math.add", &[x, x], w);
        let mut routine = d.finish(&[("x", x), ("y", y)], v);
        routine.side_outputs = vec![("w".into(), w)];
        let inputs = [("x", floats([100.0, 200.0])), ("y", Value::from(1.0))];
        assert_eq!(results(&bound(routine), &inputs)[0], Value::from(2.0), "{operator}");
    }
}

/// The same along axes: an array has taken the handle of one with fewer elements.
#[test]
fn folds_do_not_write_late() {
    let mut d = Draft::new();
    let x = d.input(0, qtype("NDARRAY_FLOAT64_NNN"));
    let (b, q) = (d.input(24, qtype("NDARRAY_FLOAT64_NN")), d.input(48, qtype("NDARRAY_FLOAT64_NN")));
    let first = d.literal(72, axes([0]));
    let swapped = d.literal(73, axes([1, 0]));
    let (dead, e) =
        (d.temporary(80, qtype("NDARRAY_FLOAT64_NN")), d.temporary(80, qtype("NDARRAY_FLOAT64_NN")));
    let w = d.temporary(104, qtype("NDARRAY_FLOAT64_NNN"));
    let (n, z) = (d.output(128, INT64), d.output(136, qtype("NDARRAY_FLOAT64_NN")));
    d.run("nd._sum", &[x, first], dead);
    d.run("nd._transpose", &[q, swapped], e);
    d.run("math.add", &[x, x], w);
    d.run("nd._size", &[w, first], n);
    d.run("math.add", &[e, b], z);
    let mut routine = d.finish(&[("x", x), ("b", b), ("q", q)], z);
    routine.side_outputs = vec![("n".into(), n)];
    let inputs = [
        ("x", counting("NDARRAY_FLOAT64_NNN", &[2, 3, 4])),
        ("b", counting("NDARRAY_FLOAT64_NN", &[30, 200])),
        ("q", counting("NDARRAY_FLOAT64_NN", &[200, 30])),
    ];
    let Value::NdArray(z) = results(&bound(routine), &inputs).swap_remove(0) else { panic!("an array") };
    assert_eq!(z.view().cells::<f64>().last(), Some(2.0 * 5999.0));
}

/// A region redefines a value that an accumulator holds.
#[test]
fn accumulators_forget_what_regions_write() {
    let mut d = Draft::new();
    let (x, y) = (d.input(0, qtype("DENSE_ARRAY_FLOAT64")), d.input(24, FLOAT64));
    let (s, out, second) = (d.temporary(32, FLOAT64), d.output(40, FLOAT64), d.output(48, FLOAT64));
    d.run("math.add", &[y, y], s);
    d.run("math.add", &[s, y], second);
    d.run("math.add", &[y, y], s);
    d.run("math._sum", &[x], s);
    d.run("math.add", &[s, y], out);
    let bound = bound(d.finish(&[("x", x), ("y", y)], out));
    let inputs = [("x", floats([100.0, 200.0])), ("y", Value::from(1.0))];
    assert_eq!(results(&bound, &inputs), [Value::from(301.0)]);
}

/// A value of another name on the handle of a result of the same region, in a program that is not slot-checked.
#[test]
fn places_count_and_not_names() {
    let array = || qtype("DENSE_ARRAY_FLOAT64");
    let mut d = Draft::new();
    let x = d.input(0, array());
    let (u, w, out) = (d.output(24, array()), d.output(24, array()), d.output(48, array()));
    d.run("math.add", &[x, x], u);
    d.run("math.add", &[w, u], out);
    let mut routine = d.finish(&[("x", x)], out);
    routine.side_outputs = vec![("u".into(), u)];
    let bound = BoundExpr::new(Arc::new(Program::new(vec![routine]))).expect("verified");
    let rows = |by: f64| floats((0..2000).map(|row| by * f64::from(row)));
    assert_eq!(results(&bound, &[("x", rows(1.0))]), [rows(4.0), rows(2.0)]);
}

/// An input of a region is overwritten by a member of another, by a scalar, by a part of a value.
#[test]
fn what_a_region_reads_is_not_overwritten_before() {
    let mut d = Draft::new();
    let (x, y) = (d.input(0, qtype("DENSE_ARRAY_FLOAT64")), d.input(24, FLOAT64));
    let k = d.temporary(32, FLOAT64);
    let part = d.temporary(36, qtype("INT32"));
    let (t, out) =
        (d.temporary(40, qtype("DENSE_ARRAY_FLOAT64")), d.output(64, qtype("DENSE_ARRAY_FLOAT64")));
    let (n, seven) = (d.output(88, qtype("INT32")), d.literal(92, 7i32));
    d.run("math.add", &[y, y], k);
    d.run("math.multiply", &[x, k], t);
    d.run("math.add", &[seven, seven], part);
    d.run("math.add", &[t, x], out);
    d.run("math.add", &[part, seven], n);
    let mut routine = d.finish(&[("x", x), ("y", y)], out);
    routine.side_outputs = vec![("n".into(), n)];
    let inputs = [("x", floats([1.0, 2.0])), ("y", Value::from(3.0))];
    assert_eq!(results(&bound(routine), &inputs), [floats([7.0, 14.0]), Value::from(21)]);
}

/// A scalar result of which another instruction has overwritten a part, read as two halves.
#[test]
fn partly_overwritten_results_are_laid_out_before() {
    let mut d = Draft::new();
    let (x, seven) = (d.input(0, qtype("DENSE_ARRAY_FLOAT64")), d.literal(24, 7i32));
    let s = d.temporary(32, FLOAT64);
    let part = d.output(32, qtype("INT32"));
    let w = d.output(40, qtype("DENSE_ARRAY_FLOAT64"));
    d.run("math._sum", &[x], s);
    d.run("math.add", &[seven, seven], part);
    d.run("math.add", &[x, x], w);
    let mut routine = d.finish(&[("x", x)], part);
    routine.side_outputs = vec![("w".into(), w)];
    let inputs = [("x", floats([1.5, 2.5]))];
    assert_eq!(results(&bound(routine), &inputs), [Value::from(14), floats([3.0, 5.0])]);
}

/// A reduction that nobody reads raises all the same.
#[test]
fn dead_members_raise() {
    let mut d = Draft::new();
    let (x, y) = (d.input(0, qtype("DENSE_ARRAY_INT32")), d.input(24, qtype("DENSE_ARRAY_INT32")));
    let (t, out) = (d.temporary(48, qtype("DENSE_ARRAY_INT32")), d.output(72, qtype("DENSE_ARRAY_INT32")));
    d.run("math.floordiv", &[x, y], t);
    d.run("math.add", &[x, x], out);
    let bound = bound(d.finish(&[("x", x), ("y", y)], out));
    let outcomes = run(&bound, &[("x", ints([1, 2])), ("y", ints([1, 0]))]);
    assert!(
        outcomes.iter().all(|outcome| outcome.as_ref().is_err_and(|e| e.to_string().contains("division")))
    );
}

/// What a test measures in a debug build on a busy machine is not worth a tight bound; what is quadratic takes a minute.
fn is_linear(what: &str, bind: impl Fn(u32) -> Duration) {
    let (small, large) = (bind(10_000), bind(40_000));
    assert!(large < Duration::from_secs(20), "{what}: {small:?}, {large:?}");
}

#[test]
fn binding_is_linear() {
    is_linear("views of views", |count| {
        let mut d = Draft::new();
        let (x, out) = (d.input(0, FLOAT64), d.output(8, FLOAT64));
        d.run("math.add", &[x, x], out);
        let slot = d.slot(x);
        (0..count).fold(x, |last, _| d.view(last, slot.clone()));
        let program = Arc::new(stored(d.finish(&[("x", x)], out)).expect("accepted"));
        let start = Instant::now();
        BoundExpr::new(program).expect("verified");
        start.elapsed()
    });
    is_linear("64 regions that grow in turns", |count| {
        let array = qtype("DENSE_ARRAY_FLOAT64");
        let mut d = Draft::new();
        let (x, out) = (d.input(0, array.clone()), d.output(24, array.clone()));
        let inputs: Vec<_> = (0..64).map(|i| d.input(48 + 24 * i, array.clone())).collect();
        let mut last = inputs.clone();
        let overload = cembra_vm::builtins::table().overload("math.add", &[array.clone(), array.clone()]);
        let add = d.body.add_operator(overload.expect("arrays add"));
        for step in 0..count {
            let (lane, turn) = (step % 64, step / 64 % 2);
            let result = d.temporary(48 + 24 * (64 + 64 * turn + lane), array.clone());
            let lane = lane as usize;
            d.body.push_operator(add, &[last[lane], inputs[lane]], result, Default::default());
            last[lane] = result;
        }
        d.body.push_operator(add, &[last[0], x], out, Default::default());
        let names: Vec<String> = (0..64).map(|i| format!("i{i:02}")).collect();
        let mut named = vec![("x", x)];
        named.extend(names.iter().map(String::as_str).zip(inputs));
        let program = Arc::new(Program::new(vec![d.finish(&named, out)]));
        let start = Instant::now();
        let bound = BoundExpr::new(program).expect("verified");
        let elapsed = start.elapsed();
        assert!(bound.regions().len() >= 64);
        elapsed
    });
}

/// Folds along axes that join a region although nobody reads what they give.
#[test]
fn dead_folds_are_not_laid_out() {
    let mut d = Draft::new();
    let x = d.input(0, qtype("NDARRAY_FLOAT64_NN"));
    let last = d.literal(24, Value::Axes(Axes::new([1]).expect("an axis")));
    let (t, dead) =
        (d.temporary(32, qtype("NDARRAY_FLOAT64_NN")), d.temporary(56, qtype("NDARRAY_FLOAT64_N")));
    let out = d.output(80, qtype("NDARRAY_FLOAT64_NN"));
    d.run("math.add", &[x, x], t);
    d.run("nd._sum", &[t, last], dead);
    d.run("math.multiply", &[t, x], out);
    let routine = d.finish(&[("x", x)], out);
    let dead = routine.slot(dead).clone();
    let bound = bound(routine);
    let x = counting("NDARRAY_FLOAT64_NN", &[30, 70]);
    results(&bound, &[("x", x.clone())]);
    let mut frame = bound.new_frame().expect("memory");
    crate::write(&bound, &mut frame, &[("x", x)]);
    bound.execute(&mut frame).expect("no error");
    assert_eq!(frame.read(&dead), Ok(Value::zero(&QType::NdArray(dead.qtype().nd().expect("an array")))));
}
