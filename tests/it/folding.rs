//! Folded at compile time or computed at run time: the same bits, or the same error.

use crate::support::parse;
use cembra::compile::{Options, compile};
use cembra::expr::{Expr, ExprBuilder};
use cembra::prepare::{Prepare, Source};
use cembra::registry::Dialect;
use cembra::vm::value::{Category, QType, ScalarValue, Value};

const BINARY: &[&str] = &[
    "math.add",
    "math.subtract",
    "math.multiply",
    "math.floordiv",
    "math.mod",
    "math.fmod",
    "math.pow",
    "math.divide",
    "math.maximum",
    "math.minimum",
    "core.less",
    "core.equal",
];
const UNARY: &[&str] = &[
    "math.neg",
    "math.abs",
    "math.sign",
    "core.to_int32",
    "core.to_int64",
    "core.to_float32",
    "core.to_float64",
    "core.to_bool",
    "math.floor",
    "math.round",
];

fn edges() -> Vec<Value> {
    let ints = [i64::MIN, i64::MIN + 1, -1, 0, 1, 2, 7, i64::from(i32::MAX), i64::from(i32::MIN), i64::MAX];
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        5e-324,
        2147483647.5,
        9.3e18,
    ];
    let mut edges: Vec<Value> = ints.iter().map(|i| Value::from(*i)).collect();
    edges.extend(ints.iter().filter_map(|i| i32::try_from(*i).ok()).map(Value::from));
    edges.extend(floats.map(Value::from));
    edges.extend(floats.map(|f| Value::from(f as f32)));
    edges.extend(floats.map(|f| Value::Scalar(ScalarValue::WeakFloat(f))));
    edges
}

/// The value of an operator applied to these, as leaves or as literals.
fn evaluate(operator: &str, args: &[&Value], folded: bool, dialect: Dialect) -> Result<Value, Category> {
    let b = ExprBuilder::new();
    let names = ["a", "b"];
    let node = |i: usize| if folded { b.literal(args[i].clone()) } else { b.leaf(names[i]) };
    let nodes: Vec<_> = (0..args.len()).map(node).collect();
    let expr: Expr = b.call(operator, &nodes).build().expect("room");
    let inputs: Vec<(&str, QType)> =
        if folded { Vec::new() } else { names.into_iter().zip(args.iter().map(|v| v.qtype())).collect() };
    let prepared = Prepare::standard().run(Source::new(expr, inputs).dialect(dialect));
    let bound = compile(&prepared.map_err(|e| e.category())?, &Options::default()).expect("valid");
    let mut frame = bound.new_frame().expect("memory");
    for (name, value) in names.into_iter().zip(args).filter(|_| !folded) {
        frame.write(bound.input_slot(name).expect("an input"), value).expect("the input's type");
    }
    bound.execute(&mut frame).map_err(|e| e.category())?;
    Ok(frame.read(bound.output_slot()).expect("written"))
}

fn check(operator: &str, args: &[&Value]) {
    for dialect in [Dialect::Cembra, Dialect::Arolla] {
        let folded = evaluate(operator, args, true, dialect);
        let computed = evaluate(operator, args, false, dialect);
        let same = match (&folded, &computed) {
            (Ok(a), Ok(b)) => a == b || a.to_string() == b.to_string(),
            (a, b) => a == b,
        };
        assert!(same, "{operator} of {args:?} in {dialect:?}: folded {folded:?}, computed {computed:?}");
    }
}

#[test]
fn unary_operators_fold_to_what_they_compute() {
    let edges = edges();
    UNARY.iter().for_each(|operator| edges.iter().for_each(|x| check(operator, &[x])));
}

#[test]
fn binary_operators_fold_to_what_they_compute() {
    let edges = edges();
    for operator in BINARY {
        for (x, y) in edges.iter().flat_map(|x| edges.iter().map(move |y| (x, y))) {
            check(operator, &[x, y]);
        }
    }
}

#[test]
fn integer_edges_have_their_values() {
    let no_inputs: [(&str, QType); 0] = [];
    let value = |text: &str| {
        let prepared = Prepare::standard().run(Source::new(parse(text, Dialect::Cembra), no_inputs.clone()));
        let bound = compile(&prepared.expect("valid"), &Options::default()).expect("valid");
        let mut frame = bound.new_frame().expect("memory");
        bound.execute(&mut frame).expect("no error");
        frame.read(bound.output_slot()).expect("written").to_string()
    };
    assert_eq!(value("int32(2147483647) + int32(1)"), "-2147483648");
    assert_eq!(value("-int64(-9223372036854775808)"), "int64{-9223372036854775808}");
    assert_eq!(value("int32(-2147483648) // int32(-1)"), "-2147483648");
    assert_eq!(value("int64(-9223372036854775808) % int64(-1)"), "int64{0}");
    assert_eq!(value("int64(-7) // int64(2)"), "int64{-4}");
    assert_eq!(value("int64(-7) % int64(2)"), "int64{1}");
    assert_eq!(value("9223372036854775807"), "int64{9223372036854775807}");
    assert_eq!(value("2147483647"), "2147483647");
}
