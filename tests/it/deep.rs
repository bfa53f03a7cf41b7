//! Deep and widely shared expressions: linear time on a 256 KiB stack, or a named limit.

use cembra::compile::{CompileError, Options, compile};
use cembra::expr::{Expr, ExprBuilder, ExprRef};
use cembra::prepare::{Prepare, PrepareError, Prepared, Source};
use cembra::vm::machine::BoundExpr;
use cembra::vm::program::dump::dump;
use cembra::vm::value::qtype::{FLOAT64, INT64, OPTIONAL_UNIT, TEXT};
use cembra::vm::value::{QType, Value};
use std::hash::{BuildHasher, RandomState};

const DEEP: usize = 1_000_000;
const STACK: usize = 256 << 10;

/// Runs on a small stack; a panic goes on in the caller.
fn on_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        match thread.expect("a thread").join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn prepare(expr: &Expr, inputs: &[(&str, QType)]) -> Result<Prepared, PrepareError> {
    Prepare::standard().run(Source::new(expr.clone(), inputs.to_vec()))
}

/// `step(… step(step(x)))`.
fn repeat(times: usize, step: impl for<'b> Fn(&'b ExprBuilder, ExprRef<'b>, usize) -> ExprRef<'b>) -> Expr {
    let b = ExprBuilder::new();
    let x = b.leaf("x");
    let root = (0..times).fold(x, |value, index| step(&b, value, index));
    root.build().expect("room for all nodes")
}

fn polynomial<'b>(b: &'b ExprBuilder, value: ExprRef<'b>, index: usize) -> ExprRef<'b> {
    if index.is_multiple_of(2) { value * b.leaf("x") } else { value + b.leaf("x") }
}

fn run(bound: &BoundExpr, inputs: &[(&str, Value)]) -> Value {
    let mut frame = bound.new_frame().expect("memory");
    for (name, value) in inputs {
        frame.write(bound.input_slot(name).expect("an input"), value).expect("the input's type");
    }
    bound.execute(&mut frame).expect("no error");
    frame.read(bound.output_slot()).expect("written")
}

#[test]
fn deep_expressions_live_on_a_small_stack() {
    on_small_stack(|| {
        let expr = repeat(DEEP, polynomial);
        let again = repeat(DEEP, polynomial);
        assert_eq!(expr, again);
        let hasher = RandomState::new();
        assert_eq!(hasher.hash_one(&expr), hasher.hash_one(&again));
        assert!(expr.to_string().ends_with("+ x"));
        let prepared = prepare(&expr, &[("x", FLOAT64)]).expect("valid");
        let bound = compile(&prepared, &Options::default()).expect("valid");
        // One temporary is enough, however deep.
        assert_eq!(bound.layout().size(), 24);
        assert_eq!(dump(bound.program()).lines().filter(|l| l.contains(" = math.")).count(), DEEP);
        assert_eq!(run(&bound, &[("x", Value::from(0.5))]), Value::from(1.0));
    });
}

/// Work for each field must not depend on how many there are; if it does, this takes minutes.
#[test]
fn wide_tuples_are_built_and_taken_apart_field_by_field() {
    let width = 60_000;
    let b = ExprBuilder::new();
    let fields: Vec<ExprRef<'_>> = (0..width).map(|i| b.leaf("x") + i as f64).collect();
    let wide = prepare(&b.call("core.make_tuple", &fields).build().expect("room"), &[("x", FLOAT64)]);
    let wide = compile(&wide.expect("valid"), &Options::default()).expect("valid");
    let tuple = run(&wide, &[("x", Value::from(0.5))]);

    let t = b.leaf("t");
    let field = |i: usize| b.call("core.get_nth", &[t, b.literal(i as i64)]);
    let sum = (1..width).fold(field(0), |sum, i| sum + field(i));
    let sum = prepare(&sum.build().expect("room"), &[("t", tuple.qtype())]).expect("valid");
    let sum = compile(&sum, &Options::default()).expect("valid");
    let expected = (width * (width - 1) / 2) as f64 + width as f64 / 2.0;
    assert_eq!(run(&sum, &[("t", tuple)]), Value::from(expected));
}

#[test]
fn a_builder_finishes_many_small_expressions() {
    let b = ExprBuilder::new();
    for i in 0..100_000 {
        let small = (b.leaf(&format!("x{i}")) * 2.0).build().expect("room");
        assert_eq!(small.node_count(), 3);
    }
}

#[test]
fn deep_branches_live_on_a_small_stack() {
    on_small_stack(|| {
        let b = ExprBuilder::new();
        let (m, x) = (b.leaf("m"), b.leaf("x"));
        let steps = 20_000;
        let root = (0..steps).fold(x, |value, index| b.select(m, value + index as f64, x * index as f64));
        let prepared = prepare(&root.build().expect("room"), &[("m", OPTIONAL_UNIT), ("x", FLOAT64)]);
        let bound = compile(&prepared.expect("valid"), &Options::default()).expect("valid");
        let last = (steps - 1) as f64;
        let result = |m: bool| run(&bound, &[("m", Value::presence(m)), ("x", Value::from(2.0))]);
        assert_eq!(result(true), Value::from(2.0 + last * (last + 1.0) / 2.0));
        assert_eq!(result(false), Value::from(2.0 * last));
    });
}

/// Each choice reads a number that is read again behind all of them.
#[test]
fn values_that_wait_for_many_branches_meet_a_limit() {
    on_small_stack(|| {
        let chain = |steps: usize| {
            let b = ExprBuilder::new();
            let (m, x) = (b.leaf("m"), b.leaf("x"));
            let waiting: Vec<ExprRef<'_>> = (0..steps).map(|step| x * step as f64).collect();
            let chosen = waiting.iter().fold(x, |value, w| b.select(m, value - *w, value + *w));
            let expr = waiting.iter().fold(chosen, |sum, w| sum + *w).build().expect("room");
            compile(
                &prepare(&expr, &[("m", OPTIONAL_UNIT), ("x", FLOAT64)]).expect("valid"),
                &Options::default(),
            )
        };
        let bound = chain(500).expect("few values wait");
        let result = |m: bool| run(&bound, &[("m", Value::presence(m)), ("x", Value::from(2.0))]);
        assert_eq!(result(true), Value::from(2.0));
        assert_eq!(result(false), Value::from(2.0 + 4.0 * 499.0 * 500.0 / 2.0));
        assert_eq!(
            chain(8000).expect_err("too many wait").to_string(),
            "limit alive-values: more than 134217728 values are alive where the blocks of the program begin and end"
        );
    });
}

#[test]
fn deep_sharing_is_linear() {
    on_small_stack(|| {
        let expr = repeat(64, |_, value, _| value + value);
        assert_eq!(expr.node_count(), 65);
        assert_eq!(expr.to_string().lines().count(), 64);
        let bound = compile(&prepare(&expr, &[("x", INT64)]).expect("valid"), &Options::default());
        let bound = bound.expect("valid");
        assert_eq!(bound.layout().size(), 24);
        assert_eq!(run(&bound, &[("x", Value::from(3i64))]), Value::from(0i64));
    });
}

#[test]
fn deep_and_shared_tuples_meet_the_limits_of_types() {
    on_small_stack(|| {
        let deep = repeat(DEEP, |_, value, _| value.apply("core.make_tuple"));
        let error = prepare(&deep, &[("x", FLOAT64)]).expect_err("too deep");
        assert_eq!(
            error.to_string(),
            "limit tuple-depth: a tuple type nests 65 levels deep, at most 64 are allowed"
        );
        let wide = repeat(64, |b, value, _| b.call("core.make_tuple", &[value, value]));
        let error = prepare(&wide, &[("x", FLOAT64)]).expect_err("too large");
        assert_eq!(
            error.to_string(),
            "limit tuple-fields: a tuple type holds 131072 scalars, at most 65536 are allowed"
        );
    });
}

#[test]
fn limits_of_nodes_and_frames_are_errors() {
    let b = ExprBuilder::with_limit(100);
    let x = b.leaf("x");
    let error = (0..200).fold(x, |value, index| value + index as f64).build().expect_err("too many nodes");
    assert_eq!(error.to_string(), "limit expression-nodes: the expression has more than 100 distinct nodes");
    let expr = repeat(10, |b, value, _| value * b.leaf("x") + 1.0);
    let prepared = prepare(&expr, &[("x", FLOAT64)]).expect("valid");
    let options = Options { frame_limit: 16, ..Options::default() };
    let error: CompileError = compile(&prepared, &options).expect_err("too large");
    assert_eq!(error.to_string(), "limit frame-bytes: the frame needs 24 bytes, at most 16 are allowed");
    let options = Options { instruction_limit: 19, ..Options::default() };
    let error: CompileError = compile(&prepared, &options).expect_err("too long");
    assert_eq!(error.to_string(), "limit program-instructions: the program has more than 19 instructions");
}

#[test]
fn limits_of_strings_are_errors() {
    let b = ExprBuilder::new();
    let part = b.leaf("part");
    let mut args = vec![part; 301];
    args[0] = b.literal(", ");
    let expr = b.call("strings.join", &args).build().expect("room");
    let prepared = prepare(&expr, &[("part", TEXT)]).expect("valid");
    let bound = compile(&prepared, &Options::default()).expect("valid");
    let mut frame = bound.new_frame().expect("memory");
    let long = Value::from(&*"x".repeat(1 << 20));
    frame.write(bound.input_slot("part").expect("an input"), &long).expect("a text");
    let error = bound.execute(&mut frame).expect_err("too long").to_string();
    let length = 300 * (1 << 20) + 2;
    assert!(error.starts_with(&format!("limit string-bytes: {length} exceeds 67108864")), "{error}");
}
