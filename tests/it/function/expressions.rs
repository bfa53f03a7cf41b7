//! Functions as operators of expressions: on numbers, optional values, rows and n-dimensional arrays.

use cembra::compile::{Options, compile};
use cembra::function::{FunctionModule, FunctionOptions, define_functions};
use cembra::prepare::{Prepare, Prepared, Source};
use cembra::registry::{Dialect, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::builtins;
use cembra::vm::machine::{BoundExpr, RunOptions};
use cembra::vm::program::{slot_check, text};
use cembra::vm::value::{Budget, Value};
use std::sync::Arc;

const MODULE: &str = "import math
import numpy as np
def energy(m, v):
    return 0.5 * m * v * v
def steps(n):
    c = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        c += 1
    return c
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)
def linear(n):
    return n * 3 + 1
def root(x):
    return math.sqrt(x)
def total(a):
    s = 0.0
    for x in a:
        s += x
    return s
def put(a):
    a[0] = 1.0
    return 0.0
def sign(x):
    return np.where(x > 1, 1, 0)
def either(x, y):
    return (x > 1) | (y > 1)
def both(x, y):
    return (x > 1) & (y > 1)
def second(x, y):
    return y
def pair(x):
    return x, x + 1
def half(x, limit):
    if x > limit:
        return limit
    return x
def half(x, limit):
    if x > limit:
        return x * 0.5
    return x
";

fn prepared(expr: &str, inputs: &[(&str, Value)]) -> Result<Prepared, String> {
    let mut registry = Registry::standard();
    let module = Arc::new(FunctionModule::parse(MODULE).expect("it is a module"));
    let extensions = define_functions(&mut registry, "m", &module, &FunctionOptions::default());
    let prepare = Prepare::standard().add_extensions(extensions.expect("the names are free")).checked();
    let expr =
        parse_with(expr, &registry, Dialect::default(), &Limits::default()).map_err(|e| e.to_string())?;
    let mut source = Source::new(expr, inputs.iter().map(|(name, value)| (*name, value.qtype())));
    source.registry = registry;
    prepare.run(source).map_err(|e| e.to_string())
}

fn bound(expr: &str, inputs: &[(&str, Value)]) -> Result<BoundExpr, String> {
    let prepared = prepared(expr, inputs)?;
    compile(&prepared, &Options { check_slots: true, ..Options::default() }).map_err(|e| e.to_string())
}

fn run(bound: &BoundExpr, inputs: &[(&str, Value)]) -> String {
    let mut frame = bound.new_frame().expect("there is memory");
    for (name, value) in inputs {
        if let Ok(slot) = bound.input_slot(name) {
            let slot = slot.clone();
            frame.write(&slot, value).expect("it is of the type");
        }
    }
    match bound.execute_with(&mut frame, RunOptions::new().fuel(100_000)) {
        Ok(()) => frame.read(bound.output_slot()).expect("it was written").to_string(),
        Err(error) => error.to_string(),
    }
}

/// Evaluates; what the stored program gives is the same.
fn value(expr: &str) -> String {
    let inputs = [
        ("v", Value::from(3.0)),
        ("n", Value::from(27i64)),
        ("o", Value::Present(cembra::vm::value::ScalarValue::Int64(7))),
        ("none", Value::zero(&Value::Present(cembra::vm::value::ScalarValue::Int64(7)).qtype())),
    ];
    let bound = match bound(expr, &inputs) {
        Ok(bound) => bound,
        Err(error) => return error,
    };
    let found = run(&bound, &inputs);
    let stored = text::parse(&text::print(bound.program()), &builtins::table()).expect("it reads back");
    slot_check::check(&stored).expect("every read finds its value");
    let again = BoundExpr::new(Arc::new(stored)).expect("it is a program");
    assert_eq!(run(&again, &inputs), found, "{expr}");
    found
}

#[track_caller]
fn check(expr: &str, expected: &str) {
    let rows = "array.iota(array.make_dense_array_shape(4))";
    let found = value(&expr.replace("ROWS", rows));
    assert!(
        found == expected || expected.ends_with('…') && found.contains(expected.trim_end_matches('…')),
        "{expr}: {found}"
    );
}

#[test]
fn functions_are_operators_on_numbers() {
    check("m.energy(2.0, v) + 1.0", "float64{10}");
    check("m.energy(2, 3)", "float64{9}");
    check("m.steps(n) * 2 + m.fib(20)", "int64{6987}");
    check("m.steps(n) + m.steps(n + 1)", "int64{129}");
    check("core.get_nth(m.pair(n), 1)", "int64{28}");
    check("core.where(n > 3, m.steps(n), m.steps(0))", "int64{111}");
    check("m.total(array.to_nd(ROWS * 0.5))", "float64{3}");
    check("m.half(v, 2.0)", "float64{1.5}");
}

#[test]
fn what_is_missing_stays_missing() {
    check("m.steps(o)", "optional_int64{16}");
    check("m.steps(none)", "optional_int64{NA}");
    check("m.energy(o, 2.0)", "optional_float64{14}");
    check("m.energy(o, none)", "optional_float64{NA}");
    check("m.linear(ROWS & (ROWS > 1))", "dense_array([NA, NA, int64{7}, int64{10}])");
    check(
        "m.root((ROWS - 1) & (ROWS > 0))",
        "dense_array([NA, float64{0}, float64{1}, float64{1.4142135623730951}])",
    );
    check("m.steps((ROWS - 2) & (ROWS > 2))", "dense_array([NA, NA, NA, int64{0}])");
    // Also where an operator finds its result without the row that is missing.
    check("m.sign(ROWS & (ROWS > 0))", "dense_array([NA, int64{0}, int64{1}, int64{1}])");
    check("m.either(ROWS & (ROWS > 2), ROWS)", "dense_array([NA, NA, NA, true])");
    check("m.second(ROWS & (ROWS > 2), ROWS)", "dense_array([NA, NA, NA, int64{3}])");
    check("m.both(ROWS, ROWS & (ROWS > 1))", "dense_array([NA, NA, true, true])");
}

#[test]
fn functions_are_applied_to_rows() {
    check("m.energy(ROWS, 2)", "dense_array([float64{0}, float64{2}, float64{4}, float64{6}])");
    check(
        "core.map(m.energy, ROWS, ROWS)",
        "dense_array([float64{0}, float64{0.5}, float64{4}, float64{13.5}])",
    );
    check("core.map(m.steps, ROWS + 1)", "dense_array([int64{0}, int64{1}, int64{7}, int64{2}])");
    check("core.map(m.fib, ROWS + 9) + ROWS", "dense_array([int64{34}, int64{56}, int64{91}, int64{147}])");
    check("m.half(ROWS * 1.0, 1.5)", "dense_array([float64{0}, float64{1}, float64{1}, float64{1.5}])");
    check("m.steps(array.slice(ROWS, 0, 0))", "dense_array([], value_qtype=INT64)");
}

#[test]
fn errors_name_the_function_or_the_place() {
    check("m.root(v - 9.0)", "math domain error…");
    check("m.root(ROWS - 1)", "math domain error…");
    check("m.steps(0)", "out of fuel…");
    check("m.energy(ROWS, array.slice(ROWS, 0, 2))", "argument sizes mismatch: (4, 2)…");
    check("m.put(array.to_nd(ROWS * 1.0))", "expressions change nothing…");
    check("m.pair(o)", "m.pair: it gives no number…");
    check("m.energy(o, ROWS)", "not both…");
    check("m.steps('a')", "functions take numbers…");
    check("m.nothing(1)", "unknown operator…");
    check("m.fib(1, 2)", "m.fib takes 1 argument…");
}

#[test]
fn routines_count_as_instructions_of_the_program() {
    let calls: Vec<String> = (0..200).map(|number| format!("m.steps(n + {number})")).collect();
    let inputs = [("n", Value::from(1i64))];
    let limited = |limit| {
        let prepared = prepared(&calls.join(" + "), &inputs).expect("it prepares");
        compile(&prepared, &Options { instruction_limit: limit, ..Options::default() }).map(drop)
    };
    assert!(limited(10_000).is_ok());
    assert!(limited(1_000).is_err_and(|error| error.to_string().contains("1000")));
}

#[test]
fn an_error_in_a_call_points_at_the_operator() {
    let budget = Budget::default();
    let call = bound("m.steps(n)", &[("n", Value::from(1i64 << 62))]).expect("it compiles");
    let mut frame = call.new_frame().expect("there is memory");
    frame
        .write(&call.input_slot("n").expect("an input").clone(), &Value::from(i64::MAX))
        .expect("an integer");
    let error = call.execute_with(&mut frame, RunOptions::new().budget(&budget)).expect_err("it overflows");
    let at = error.at.expect("an instruction raised");
    assert_eq!((at.routine, at.span.start, at.span.end), (1, 0, 10));
}
