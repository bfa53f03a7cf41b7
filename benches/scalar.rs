//! Evaluation of scalar programs on a warm frame: nanoseconds per operator.
//!
//! `quadroot` and `big_vars` store new inputs before every run; the others run on inputs that stay.
//! The native closures are the yardstick of the same run.

#![allow(missing_docs, reason = "the macros of the bench harness write undocumented items")]

#[path = "workloads/per_operator.rs"]
mod per_operator;
mod workloads;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use per_operator::{PerOperator, criterion};
use std::hint::black_box;
use workloads::{
    BIG_VARS, BIG_VARS_OPERATORS, RANDOM_POINT, Ready, Tape, native_big_vars, native_chain, native_quadroot,
    points, quadroot_points,
};

fn programs(c: &mut Criterion<PerOperator>) {
    let mut group = c.benchmark_group("scalar");
    let workloads: [(&str, Tape); 5] = [
        ("chain10", workloads::chain(10)),
        ("chain100", workloads::chain(100)),
        ("chain1000", workloads::chain(1000)),
        ("wide1000", workloads::wide(1000)),
        ("random1000", workloads::random(1000)),
    ];
    for (name, tape) in &workloads {
        let mut points = points(&vec![0.5..0.9; tape.inputs.len()], 16);
        points.insert(0, RANDOM_POINT[..tape.inputs.len()].to_vec());
        let mut ready = Ready::checked(tape, &points);
        group.throughput(Throughput::Elements(tape.operators() as u64));
        group.bench_function(*name, |b| b.iter(|| ready.bound.execute(black_box(&mut ready.frame))));
    }
    for (name, operators) in [("native chain100", 100), ("native chain1000", 1000)] {
        let native = native_chain(operators);
        assert_eq!(native(0.7), workloads::chain(operators).value(&[0.7]));
        group.throughput(Throughput::Elements(operators as u64));
        group.bench_function(name, |b| b.iter(|| native(black_box(0.7))));
    }
    group.finish();
}

fn with_input_stores(c: &mut Criterion<PerOperator>) {
    let mut group = c.benchmark_group("scalar");
    let tape = workloads::quadroot();
    let triples = quadroot_points();
    let lists: Vec<Vec<f64>> = triples.iter().map(|p| p.to_vec()).collect();
    let ready = Ready::checked(&tape, &lists);
    group.throughput(Throughput::Elements(tape.operators() as u64));
    three_inputs(&mut group, "quadroot", ready, &triples, native_quadroot);

    let names = ["x", "y", "z"].map(str::to_owned);
    let mut ready = Ready::new(&cembra::syntax::parse(BIG_VARS).expect("valid text"), &names);
    let triples: Vec<[f64; 3]> =
        points(&[80.0..90.0, 30.0..32.0, 90.0..95.0], 1024).iter().map(|p| [p[0], p[1], p[2]]).collect();
    for p in &triples {
        assert_eq!(ready.evaluate(p), native_big_vars(p[0], p[1], p[2]));
    }
    group.throughput(Throughput::Elements(BIG_VARS_OPERATORS as u64));
    three_inputs(&mut group, "big_vars", ready, &triples, native_big_vars);
    group.finish();
}

fn three_inputs(
    group: &mut criterion::BenchmarkGroup<'_, PerOperator>,
    name: &str,
    mut ready: Ready,
    points: &[[f64; 3]],
    native: fn(f64, f64, f64) -> f64,
) {
    let [x, y, z] = [ready.inputs[0], ready.inputs[1], ready.inputs[2]];
    let mut next = points.iter().cycle();
    group.bench_function(name, |b| {
        b.iter(|| {
            let p = next.next().expect("a cycle");
            ready.frame.set(x, p[0]);
            ready.frame.set(y, p[1]);
            ready.frame.set(z, p[2]);
            ready.bound.execute(&mut ready.frame).expect("no operator fails");
            ready.frame.get(ready.output)
        });
    });
    group.bench_function(format!("native {name}"), |b| {
        b.iter(|| {
            let p = next.next().expect("a cycle");
            native(p[0], p[1], p[2])
        });
    });
}

criterion_group! {
    name = benches;
    config = criterion("ns/op");
    targets = programs, with_input_stores
}
criterion_main!(benches);
