//! Derivatives of expressions against differences, operator by operator.

use crate::support::{bind, parse};
use cembra::autodiff::jacobian;
use cembra::compile::Options;
use cembra::expr::Expr;
use cembra::prepare::{Prepare, Source};
use cembra::registry::Dialect;
use cembra::vm::value::qtype::FLOAT64;
use cembra::vm::value::{QType, Value};

const LEAVES: [&str; 2] = ["a", "b"];

/// A line, a column and a table.
const ARRAYS: &str = "e = ndarray(NDARRAY_FLOAT64_1N, 1, 4, -1.0, 0.3, 0.7, 2.0)
t = ndarray(NDARRAY_FLOAT64_N1, 3, 1, 0.5, 1.0, 3.0)
m = ndarray(NDARRAY_FLOAT64_NN, 3, 4, 1.0, 5.0, 2.0, 0.0, 3.0, 1.0, 1.0, 4.0, 2.0, 2.0, 0.5, 0.25)
";

/// The values of an expression at a point, row after row.
fn values(expr: &Expr, point: [f64; 2]) -> Vec<f64> {
    let source = Source::new(expr.clone(), LEAVES.map(|name| (name, FLOAT64)));
    let bound = bind(source, &Prepare::standard(), Options::default());
    let mut frame = bound.new_frame().expect("memory");
    for (name, value) in LEAVES.iter().zip(point) {
        frame.set(bound.input::<f64>(name).expect("a leaf"), value);
    }
    bound.execute(&mut frame).unwrap_or_else(|e| panic!("{expr}: {e}"));
    match frame.read(bound.output_slot()).expect("the output") {
        Value::NdArray(rows) => rows.view().cells::<f64>().collect(),
        value => vec![value.scalar().and_then(|v| v.as_f64()).expect("a number")],
    }
}

/// Central differences of order four, relative to the size of the values.
fn check(text: &str) {
    let expr = parse(&format!("{ARRAYS}{text}"), Dialect::Cembra);
    let types: Vec<(&str, QType)> = LEAVES.iter().map(|name| (*name, FLOAT64)).collect();
    let slopes = jacobian(&expr, &types).unwrap_or_else(|e| panic!("{text}: {e}"));
    let point = [0.8, 1.3];
    for (index, slope) in slopes.iter().enumerate() {
        let h = 1e-3;
        let at = |steps: f64| {
            let mut moved = point;
            moved[index] += steps * h;
            values(&expr, moved)
        };
        let [up, down, far_up, far_down] = [1.0, -1.0, 2.0, -2.0].map(at);
        let difference = |i: usize| (8.0 * (up[i] - down[i]) - (far_up[i] - far_down[i])) / (12.0 * h);
        // A slope has the axes that it depends on; adding it to a zero of the values gives it all.
        let whole = slope.as_ref().map(|slope| {
            let zero = cembra::expr::ExprBuilder::new();
            (zero.import(&expr) * 0.0 + zero.import(slope)).build().expect("few nodes")
        });
        let exact = whole.map_or_else(|| vec![0.0; up.len()], |whole| values(&whole, point));
        assert_eq!(exact.len(), up.len(), "{text}");
        for (i, exact) in exact.iter().enumerate() {
            let size = 1.0 + exact.abs();
            assert!(
                (exact - difference(i)).abs() < 1e-9 * size,
                "{text} by {}: {exact} at {i}, not {}",
                LEAVES[index],
                difference(i)
            );
        }
    }
}

#[test]
fn scalars() {
    check("a**2.5 / (b + math.exp(-a * b))");
    check("math.maximum(a, b) * math.minimum(a * a, b) + math.abs(a - b)");
    check("core.where(a < b, math.sqrt(a) * b, b * b)");
    check("a**b + math.hypot(a, b) + math.trig.atan2(a, b)");
    check("math.faddeeva_real(a, b) * math.faddeeva_imag(b, a)");
    check("math.faddeeva_real(40.0 * a, b) + math.faddeeva_imag(a, 30.0 * b)");
    check("annotation.name(a * a, 'square') + 3.0");
    check("b * b");
    check("bool.logical_if(bool.less(a, b), a * b, b, 0.0) + a");
    check("core.to_float64(a) * b + math.pos(a)");
}

#[test]
fn elements_and_axes() {
    check("math.exp(-a * e) * t / (b + e * e)");
    check("nd.where(bool.less(e, a), b * e, a * t * m)");
    check("nd.sum(a * e * t, 0, keep=true) + nd.sum(b * e, 1)");
    check("nd.mean(a * a * t + m * b, 1)");
    check("nd.cumsum(a * t * b, 0) + nd.cumsum(m * a, 1, reverse=true)");
    check("nd.transpose(m * a + t * b)");
    check("nd.reshape(m * a + b, 4, 3)");
    check("nd.squeeze(b * t) + nd.squeeze(a * a * t, 1)");
    check("nd.expand_dims(nd.sum(a * e * t, 1), 1) * b + nd.squeeze(nd.expand_dims(m * b, 0))");
    check("nd.take(m * a, 1, 0) + nd.take(a * b * e + t * 0.0, -1, 0)");
    check("nd.broadcast_to(a * e, 3, 4) * b");
    check("nd.dot(m * a - e * t, m * a - e * t) + b * nd.dot(m * b, m)");
    check("nd.squared_distance(m * a, m - e * b) + nd.squared_distance(m, m * a * t)");
    check("nd.max(m * a + e * b, 1, keep=true) / nd.min(m * b + a, 0)");
}

/// Truths, masks and whole numbers change in steps, whatever operator makes them.
#[test]
fn steps_have_no_slope() {
    let expr = parse(&format!("{ARRAYS}core.to_int64(a * 3.0) * 2 + nd.size(m * a, 0)"), Dialect::Cembra);
    let slopes = jacobian(&expr, &LEAVES.map(|name| (name, FLOAT64)));
    assert!(slopes.expect("types").iter().all(Option::is_none));
    check("core.to_float64(core.to_int64(a * 30.25)) * b");
}

/// A trace of two leaves under operators along axes that it has and that it does not have.
#[test]
fn leaves_that_meet_in_a_trace() {
    let trace = "trace = a * math.exp(-t / b)\n";
    check(&format!("{trace}math.exp(-(e - trace) ** 2.0) * trace"));
    check(&format!("{trace}math.trig.sin(nd.cumsum(e * trace * trace, 1) + m)"));
    check(&format!("{trace}math.trig.sin(nd.cumsum(e * trace * trace, 0) + m)"));
    check(&format!("{trace}nd.sum(m * trace * e, 1, keep=true) / nd.sum(m * trace, 0, keep=true)"));
    check(&format!("{trace}nd.sum(m * trace * e, 1)"));
    check(&format!("{trace}nd.transpose(m * trace * trace * e)"));
    check(&format!("{trace}nd.max(e * trace, 1, keep=true) * m"));
    check(&format!("{trace}width = trace * a * b + 1.0\nmath.exp(-((e - trace) / width) ** 2.0) * a"));
    check("place = a * b\ntrace = place * math.exp(-t / place) + a * t\nmath.exp(-(e - trace) ** 2.0)");
}

#[test]
fn slopes_keep_their_axes() {
    let slope = |text: &str| {
        let expr = parse(&format!("{ARRAYS}{text}"), Dialect::Cembra);
        let slopes = jacobian(&expr, &LEAVES.map(|name| (name, FLOAT64))).expect("derivatives");
        let source = Source::new(slopes[0].clone().expect("it depends on a"), LEAVES.map(|n| (n, FLOAT64)));
        let prepared = Prepare::standard().run(source).expect("types");
        prepared.qtype(prepared.root()).to_string()
    };
    assert_eq!(slope("math.exp(a * e) + b * m"), "NDARRAY_FLOAT64_1N");
    assert_eq!(slope("a * b * t + m"), "NDARRAY_FLOAT64_N1");
    assert_eq!(slope("nd.cumsum(a * e + m * b, 1)"), "NDARRAY_FLOAT64_1N");
    assert_eq!(slope("a * b + m"), "FLOAT64");
}

#[test]
fn what_has_no_derivatives_says_so() {
    let error = |text: &str| {
        jacobian(&parse(text, Dialect::Cembra), &LEAVES.map(|n| (n, FLOAT64))).expect_err(text).to_string()
    };
    assert_eq!(error("math.lgamma(a)"), "`math.lgamma` has no derivatives");
    assert_eq!(error("nd.prod(ndarray(NDARRAY_FLOAT64_N, 2, 1.0, 2.0) * a)"), "`nd.prod` has no derivatives");
    assert_eq!(error("a + c"), "the leaf `c` has no type");
}
