//! The page `docs/add-an-operator.md`, followed: its operators stand here word for word, are registered, run and derived.

use crate::support::{run, test_file};
use cembra::autodiff::jacobian_with;
use cembra::compile::{Options, compile};
use cembra::expr::Expr;
use cembra::prepare::{Prepare, Source};
use cembra::registry::{Dialect, Lowered, OperatorDef, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::machine::RunOptions;
use cembra::vm::operator::facts::{Facts, Linear};
use cembra::vm::operator::{Family, KernelCall};
use cembra::vm::value::qtype::FLOAT64;
use cembra::vm::value::{Fault, QType, ScalarType, ScalarValue, Value};
use std::collections::HashMap;

/// `ln(exp(x) + exp(y))` without overflow.
fn logaddexp(x: f64, y: f64) -> f64 {
    let largest = x.max(y);
    if largest.is_infinite() { largest } else { largest + (-(x - y).abs()).exp().ln_1p() }
}

fn of_scalars() -> Family {
    Family::new("math.logaddexp", &["x", "y"], "log(exp(x) + exp(y)) without overflow.")
        .cost_of(45)
        .derivative(&["math.sigmoid(x - y, 0.0, 1.0)", "math.sigmoid(y - x, 0.0, 1.0)"])
        .binary(logaddexp)
}

fn of_rows() -> Family {
    Family::new("math.spread", &["x"], "Greatest less least present row; missing without any.")
        .cost_of(10)
        .on_demand(|family, args| match args {
            [QType::Array(t)] if t.element == ScalarType::Float64 => {
                Some(family.make_general(args, QType::Optional(ScalarType::Float64), spread))
            }
            _ => None,
        })
}

fn spread(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let rows = call.array(0);
    let mut ends: Option<(f64, f64)> = None;
    for stride in call.meter().strides(rows.len()) {
        for row in stride? {
            let Some(ScalarValue::Float64(x)) = rows.get(row) else { continue };
            let (least, greatest) = ends.unwrap_or((x, x));
            ends = Some((least.min(x), greatest.max(x)));
        }
    }
    call.set::<Option<f64>>(ends.map(|(least, greatest)| greatest - least));
    Ok(())
}

fn of_pairs() -> Family {
    Family::new("nd.manhattan", &["x", "y"], "Sum of the distances of the elements of two arrays.")
        .cost_of(10)
        .raises()
        .with_facts(Facts::pairs().differential("nd.sum(nd.where(bool.less(x, y), d_y - d_x, d_x - d_y))"))
        .on_demand(|family, args| match args {
            [QType::NdArray(x), QType::NdArray(y)] if x == y && x.element() == ScalarType::Float64 => {
                Some(family.make_general(args, FLOAT64, manhattan))
            }
            _ => None,
        })
}

fn manhattan(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (x, y) = (call.nd(0), call.nd(1));
    if x.shape() != y.shape() {
        return Err(Fault::Host { message: format!("shapes {:?} and {:?}", x.shape(), y.shape()) });
    }
    let (mut pairs, mut sum) = (x.cells::<f64>().zip(y.cells::<f64>()), 0.0);
    for stride in call.meter().strides(x.len()) {
        pairs.by_ref().take(stride?.len()).for_each(|(x, y)| sum += (x - y).abs());
    }
    call.set_plain::<f64>(sum);
    Ok(())
}

fn of_others() -> OperatorDef {
    OperatorDef::new("math.double", &["x"], "Twice the value.", |cx| match cx.types[0].is_numeric() {
        true => cx.unchanged(cx.types[0].clone()),
        false => Err(cx.expected("numerics", 0)),
    })
    .lowered(|cx, args| Ok(Lowered::To(cx.make("math.add", &[args[0], args[0]])?)))
    .with_facts(Facts::pointwise().with_linear(Linear::InAll))
}

fn registry() -> Registry {
    let mut registry = Registry::standard();
    for row in [of_scalars(), of_rows(), of_pairs()] {
        registry.register(row).expect("a name of its own");
    }
    registry.define(of_others()).expect("a name of its own");
    registry
}

fn parse(text: &str) -> Expr {
    parse_with(text, &registry(), Dialect::default(), &Limits::default()).expect("an expression")
}

/// The value of an expression of `a` and `b`.
fn value(expr: &Expr, [a, b]: [f64; 2]) -> Value {
    let source = Source::new(expr.clone(), [("a", FLOAT64), ("b", FLOAT64)]).registry(registry());
    let prepared = Prepare::standard().checked().run(source).expect("types");
    let bound = compile(&prepared, &Options { check_slots: true, ..Options::default() }).expect("a program");
    let inputs = [("a", a), ("b", b)].map(|(name, value)| (name.to_owned(), Value::from(value)));
    run(&bound, &HashMap::from(inputs), RunOptions::default()).expect("no error")
}

fn number(expr: &Expr, at: [f64; 2]) -> f64 {
    value(expr, at).scalar().and_then(ScalarValue::as_f64).expect("a number")
}

/// Slopes against central differences.
fn check_slopes(text: &str) {
    let expr = parse(text);
    let slopes = jacobian_with(&expr, &[("a", FLOAT64), ("b", FLOAT64)], &registry()).expect("slopes");
    for (index, slope) in slopes.iter().enumerate() {
        let at = |by: f64| {
            let mut point = [0.8, 1.3];
            point[index] += by;
            point
        };
        let difference = (number(&expr, at(1e-5)) - number(&expr, at(-1e-5))) / 2e-5;
        let exact = number(slope.as_ref().expect("it depends on both"), at(0.0));
        assert!((exact - difference).abs() < 1e-8, "{text}: {exact}, differences say {difference}");
    }
}

#[test]
fn an_operator_of_scalars() {
    let text = "math.logaddexp(a * 1000.0, b)";
    assert_eq!(number(&parse(text), [1.0, 1000.0]), 1000.0 + 2f64.ln());
    check_slopes("math.logaddexp(a * b, b) + math.logaddexp(a, a)");
    // Elements of arrays, and slopes of them, come of themselves.
    check_slopes("nd.sum(math.logaddexp(ndarray(NDARRAY_FLOAT64_N, 2, 1.0, 3.0) * a, b))");
}

#[test]
fn an_operator_of_rows() {
    assert_eq!(number(&parse("a * math.spread(dense_array(FLOAT64, 3.0, missing, -1.0))"), [0.5, 0.0]), 2.0);
    let empty = value(&parse("math.spread(dense_array(FLOAT64, missing))"), [0.0, 0.0]);
    assert_eq!(empty, Value::Missing(ScalarType::Float64));
    let constant = parse("math.spread(dense_array(FLOAT64, 3.0, -1.0)) * a * b");
    assert!(jacobian_with(&constant, &[("a", FLOAT64), ("b", FLOAT64)], &registry()).is_ok());
}

#[test]
fn an_operator_of_arrays_with_a_slope() {
    let m = "m = ndarray(NDARRAY_FLOAT64_NN, 2, 2, 1.0, 5.0, 2.0, 0.5)\n";
    assert_eq!(number(&parse(&format!("{m}nd.manhattan(m, m * a)")), [0.5, 0.0]), 4.25);
    check_slopes(&format!("{m}nd.manhattan(m * a, m * m * b) * b"));
}

#[test]
fn an_operator_of_others() {
    assert_eq!(number(&parse("math.double(a) + b"), [0.5, 0.25]), 1.25);
    check_slopes("math.double(a * b) * math.double(b)");
}

#[test]
fn slopes_that_are_no_expressions_say_so() {
    let error = |differential: &'static str| {
        let mut registry = Registry::standard();
        let row = Family::new("math.odd", &["x"], "x").differential(differential).unary(|x: f64| x);
        registry.register(row).expect("a name of its own");
        let expr = parse_with("math.odd(a)", &registry, Dialect::default(), &Limits::default());
        let slopes = jacobian_with(&expr.expect("an expression"), &[("a", FLOAT64)], &registry);
        slopes.expect_err("no slope").to_string()
    };
    assert_eq!(error("d_x * y"), "the slope in the row of `math.odd`: `d_x * y` names `y`");
    assert_eq!(error("x"), "the slope in the row of `math.odd`: is no slope");
    assert_eq!(error("d_x + 1.0"), "the slope in the row of `math.odd`: is not linear in slopes");
    assert_eq!(error("math.exp(d_x)"), "the slope in the row of `math.odd`: is not linear in slopes");
    assert!(error("d_x *").contains("is no expression"));
    let mut registry = Registry::standard();
    let row = Family::new("math.odd", &["x", "*more"], "x").differential("d_x * more").unary(|x: f64| x);
    registry.register(row).expect("a name of its own");
    let expr = parse_with("math.odd(a)", &registry, Dialect::default(), &Limits::default());
    let slopes = jacobian_with(&expr.expect("an expression"), &[("a", FLOAT64)], &registry);
    assert!(slopes.is_err_and(|error| error.to_string().ends_with("names an argument that is not there")));
}

#[test]
fn the_page_shows_these_operators() {
    let page = std::fs::read_to_string(test_file("../docs/add-an-operator.md")).expect("the page");
    let here = std::fs::read_to_string(test_file("it/new_operators.rs")).expect("this file");
    let lines = |text: &str| -> String { text.lines().map(|line| format!("{}\n", line.trim())).collect() };
    let here = lines(&here);
    let mut blocks = 0;
    for block in page.split("```rust,tested\n").skip(1) {
        let block = lines(block.split("```").next().unwrap_or_default());
        assert!(here.contains(&block), "the page shows what is not tested:\n{block}");
        blocks += 1;
    }
    assert_eq!(blocks, 4, "an operator each of scalars, of rows, of arrays and of others");
}
