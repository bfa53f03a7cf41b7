//! From a built expression to a bound one: nanoseconds per node of the expression.
//!
//! `chain`, `random` and `shared` grow from 10 to 100,000 nodes; linear growth shows as equal times per
//! node. `wheres` has many branches in a row, `nested wheres` many inside one another. `parse` is text
//! to expression, per byte.

#![allow(missing_docs, reason = "the macros of the bench harness write undocumented items")]

#[path = "workloads/per_operator.rs"]
mod per_operator;
mod workloads;

use cembra::expr::{Expr, ExprBuilder};
use criterion::{BatchSize, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use per_operator::{PerOperator, criterion};
use std::time::Duration;
use workloads::{BIG_VARS, RANDOM_POINT, Random, Ready, Tape, compiled};

/// Name and maker of programs by size.
type Kind<T> = (&'static str, fn(usize) -> T);

fn growing(c: &mut Criterion<PerOperator>) {
    // Operators for a number of nodes: a chain has a literal for every second operator.
    let kinds: [Kind<Tape>; 3] = [
        ("chain", |nodes| workloads::chain(nodes * 2 / 3)),
        ("random", workloads::random),
        ("shared", |nodes| workloads::shared(nodes - 2)),
    ];
    for (kind, tape) in kinds {
        let mut group = c.benchmark_group(format!("compile {kind}"));
        group.sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(3));
        for nodes in [10, 100, 1_000, 10_000, 100_000] {
            group.sample_size(if nodes < 10_000 { 50 } else { 10 });
            let tape = tape(nodes);
            let expr = tape.expr();
            check(&tape, &expr);
            group.throughput(Throughput::Elements(expr.node_count() as u64));
            group.bench_function(nodes.to_string(), |b| {
                b.iter_batched(
                    || expr.clone(),
                    |expr| compiled(&expr, &tape.inputs),
                    BatchSize::PerIteration,
                );
            });
        }
        group.finish();
    }
}

/// The compiled expression has the value of the tape.
fn check(tape: &Tape, expr: &Expr) {
    let point = &RANDOM_POINT[..tape.inputs.len()];
    assert_eq!(Ready::new(expr, &tape.inputs).evaluate(point), tape.value(point));
}

fn branches(c: &mut Criterion<PerOperator>) {
    let mut group = c.benchmark_group("compile wheres");
    group.sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(3)).sample_size(10);
    let kinds: [Kind<Expr>; 2] = [("row", row_of_wheres), ("nested", nested_wheres)];
    for (kind, build) in kinds {
        for count in [20, 200, 1000, 2000] {
            let expr = build(count);
            let x = 0.25;
            let expected = if kind == "row" { native_row(count, x) } else { native_nested(count, x) };
            let names = ["x".to_owned()];
            assert_eq!(Ready::new(&expr, &names).evaluate(&[x]), expected);
            group.throughput(Throughput::Elements(expr.node_count() as u64));
            group.bench_function(format!("{kind} {count}"), |b| {
                b.iter_batched(|| expr.clone(), |expr| compiled(&expr, &names), BatchSize::PerIteration);
            });
        }
    }
    group.finish();
}

/// `e = where(e < k, e*x, e - x)`, again and again.
fn row_of_wheres(count: usize) -> Expr {
    let b = ExprBuilder::new();
    let x = b.leaf("x");
    (0..count).fold(x, |e, i| b.select(e.less(threshold(i)), e * x, e - x)).build().expect("room")
}

fn native_row(count: usize, x: f64) -> f64 {
    (0..count).fold(x, |e, i| if e < threshold(i) { e * x } else { e - x })
}

/// `where(x < k0, x + k0, where(x < k1, x + k1, …))`.
fn nested_wheres(count: usize) -> Expr {
    let b = ExprBuilder::new();
    let x = b.leaf("x");
    (0..count)
        .rev()
        .fold(x, |e, i| b.select(x.less(threshold(i)), x + threshold(i), e))
        .build()
        .expect("room")
}

fn native_nested(count: usize, x: f64) -> f64 {
    (0..count).map(threshold).find(|k| x < *k).map_or(x, |k| x + k)
}

/// Thresholds that differ, none above 1.
fn threshold(i: usize) -> f64 {
    1e-4 * i as f64
}

fn parse(c: &mut Criterion<PerOperator>) {
    let mut group = c.benchmark_group("parse");
    let mut random = Random::new();
    let terms: Vec<String> = (0..4000).map(|_| format!("{:.3}*x*y", random.uniform(0.0..10.0))).collect();
    let texts = [
        ("chain100", workloads::chain(100).text()),
        ("big_vars", BIG_VARS.to_owned()),
        ("sum of 4,000 terms", terms.join(" + ")),
    ];
    for (name, text) in &texts {
        let nodes = cembra::syntax::parse(text).expect("valid text").node_count();
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(format!("{name} ({} bytes, {nodes} nodes)", text.len()), |b| {
            b.iter(|| cembra::syntax::parse(text).expect("valid text"));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = criterion("ns/node");
    targets = growing, branches, parse
}
criterion_main!(benches);
