//! Frame sizes of the recorded expressions against their lower bounds.

use crate::support::{bind, oracle};
use cembra::compile::Options;
use cembra::expr::{Expr, ExprBuilder, ExprRef};
use cembra::prepare::{Prepare, Source};
use cembra::registry::Dialect;
use cembra::vm::value::qtype::{FLOAT32, FLOAT64};
use cembra::vm::value::{QType, ScalarType};
use std::sync::Arc;

type Inputs = Vec<(Arc<str>, QType)>;

fn inputs(names: &[(&str, QType)]) -> Inputs {
    names.iter().map(|(name, qtype)| ((*name).into(), qtype.clone())).collect()
}

/// The recorded expressions by name, as their reference page defines them.
fn expression(name: &str) -> Option<(Expr, Inputs)> {
    let b = ExprBuilder::new();
    let (x, c) = (b.leaf("x"), b.leaf("c"));
    let two = || inputs(&[("c", FLOAT64), ("x", FLOAT64)]);
    let one = || inputs(&[("x", FLOAT64)]);
    let (root, inputs) = match name {
        "quadratic_roots (seed)" => {
            (quadratic_roots(&b), inputs(&[("a", FLOAT32), ("b", FLOAT64), ("c", FLOAT64)]))
        }
        "horner_100_distinct_literals" => {
            ((0..100).fold(x, |e, i| e * x + (0.1 + 0.01 * f64::from(i))), one())
        }
        "horner_1000_ops_leaf" => ((0..500).fold(x, |e, _| e * x + c), two()),
        "balanced_tree_16_leaves" => balanced_tree(&b, 16),
        "balanced_tree_256_leaves" => balanced_tree(&b, 256),
        "wide_64_exp_fold_left" => {
            let exps = exps(x);
            (exps[1..].iter().fold(exps[0], |e, f| e.maximum(*f)), one())
        }
        "wide_64_exp_fold_right (bad order)" => {
            let exps = exps(x);
            (exps[..63].iter().rev().fold(exps[63], |e, f| f.maximum(e)), one())
        }
        "where_chain_20" => {
            let mut e = x;
            for _ in 0..20 {
                let (yes, no) = ((e * c).apply("math.exp") * c, (c - e).apply("math.log") - c);
                e = b.select(c.less_equal(e), yes, no);
            }
            (e, two())
        }
        "where_binary_nest_depth3" => (nest(&b, 3, 0), two()),
        "where_binary_nest_depth5" => (nest(&b, 5, 0), two()),
        "type_alternating_20" => (type_alternating(x), one()),
        "optional_scalar_alternating" => {
            (optional_alternating(&b, x), inputs(&[("x", QType::Optional(ScalarType::Float64))]))
        }
        "glp_scalar" => glp(&b),
        _ => return None,
    };
    Some((root.build().expect("room"), inputs))
}

fn quadratic_roots(b: &ExprBuilder) -> ExprRef<'_> {
    let (a, bb, c) = (b.leaf("a"), b.leaf("b"), b.leaf("c"));
    let d = bb * bb - 4f32 * a * c;
    let sqrt_d = d.pow(0.5f32);
    let roots = [-bb + sqrt_d, -bb - sqrt_d].map(|numerator| numerator / 2f32 / a);
    let picked = roots.map(|root| b.select(d.greater_equal(0f32), root, root.apply("core.empty_like")));
    b.call("core.make_tuple", &picked)
}

fn exps(x: ExprRef<'_>) -> Vec<ExprRef<'_>> {
    (0..64).map(|i| (x * (0.1 * f64::from(i) + 0.05)).apply("math.exp")).collect()
}

fn balanced_tree(b: &ExprBuilder, leaves: usize) -> (ExprRef<'_>, Inputs) {
    let names: Vec<Arc<str>> = (0..leaves).map(|i| format!("l{i}").into()).collect();
    let mut level: Vec<ExprRef<'_>> = names.iter().map(|n| b.leaf(n)).collect();
    while level.len() > 1 {
        let pair = |i: usize| {
            let (l, r) = (level[i], level[i + 1]);
            if i.is_multiple_of(4) { l - r } else { l * r - l }
        };
        level = (0..level.len()).step_by(2).map(pair).collect();
    }
    (level[0], names.into_iter().map(|n| (n, FLOAT64)).collect())
}

fn nest(b: &ExprBuilder, depth: u32, k: u32) -> ExprRef<'_> {
    let (x, c) = (b.leaf("x"), b.leaf("c"));
    if depth == 0 {
        return (x * (f64::from(k) + 0.5)).apply("math.exp");
    }
    let (yes, no) = (nest(b, depth - 1, 2 * k + 1), nest(b, depth - 1, 2 * k + 2));
    b.select(c.less(f64::from(k) + 0.25), yes * x, no - x)
}

fn type_alternating(x: ExprRef<'_>) -> ExprRef<'_> {
    let mut e = x;
    for _ in 0..20 {
        e = ((e * x).apply("core.to_float32") * x.apply("core.to_float32")).apply("core.to_float64");
        e = (e.apply("core.to_int64") + x.apply("core.to_int64")).apply("core.to_float64");
    }
    e
}

fn optional_alternating<'b>(b: &'b ExprBuilder, x: ExprRef<'b>) -> ExprRef<'b> {
    let mut e = x;
    for _ in 0..10 {
        e = (e | b.literal(1.0)) * x;
        e = e & e.less(x);
    }
    e
}

fn glp(b: &ExprBuilder) -> (ExprRef<'_>, Inputs) {
    let names = ["x", "A", "x0", "F", "m"];
    let [x, a, x0, f, m] = names.map(|n| b.leaf(n));
    let u = ((x - x0) / f).pow(2.0);
    let root = a * (-2.772588722239781f64 * (1.0f64 - m) * u).apply("math.exp") / (1.0f64 + 4.0f64 * m * u);
    (root, names.iter().map(|n| (Arc::from(*n), FLOAT64)).collect())
}

#[test]
fn frames_are_close_to_their_lower_bounds() {
    let rows = oracle("arolla/frames.json");
    let mut report = Vec::new();
    let mut compared = 0;
    for row in rows.as_array().expect("a list") {
        let name = row["expr"].as_str().expect("a name");
        let Some((expr, inputs)) = expression(name) else { continue };
        let overriding = row["mode"] == "executor";
        let source = Source::new(expr, inputs.clone()).dialect(Dialect::Arolla);
        let options = Options { allow_overriding_input_slots: overriding, ..Options::default() };
        let bound = bind(source, &Prepare::standard(), options);
        let (actual, align) = (u64::from(bound.layout().size()), u64::from(bound.layout().align()));
        let bytes: u64 = inputs.iter().map(|(_, q)| u64::from(q.size())).sum();
        // Padding between inputs and output as they are given cannot be avoided.
        let padding = u64::from(bound.output_slot().offset()) - bytes;
        let lower = row["lb_frame_inplace"].as_u64().expect("a bound");
        let allowed = ((1.05 * lower as f64).floor() as u64 + padding).next_multiple_of(align);
        report.push(format!(
            "{name} ({}): {actual}, allowed {allowed}, published {}",
            row["mode"], row["frame"]
        ));
        assert!(
            actual <= allowed,
            "{}\n{}",
            report.join("\n"),
            cembra::vm::program::dump::dump(bound.program())
        );
        compared += 1;
    }
    assert_eq!(compared, 26, "{}", report.join("\n"));
}
