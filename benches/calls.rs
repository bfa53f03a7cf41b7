//! What a call costs around the operators: frames, pools, executors.
//!
//! The expression is `x + y`, one operator; what its time exceeds the operator's is overhead.

#![allow(missing_docs, reason = "the macros of the bench harness write undocumented items")]

#[path = "workloads/per_operator.rs"]
mod per_operator;
mod workloads;

use cembra::host::{Accessors, ModelExecutor};
use cembra::vm::frame::{Frame, FramePool};
use criterion::{Criterion, criterion_group, criterion_main};
use per_operator::{PerOperator, criterion};
use std::hint::black_box;
use workloads::Ready;

struct Pair {
    x: f64,
    y: f64,
}

fn sum() -> (cembra::expr::Expr, [String; 2]) {
    (cembra::syntax::parse("x + y").expect("valid text"), ["x", "y"].map(str::to_owned))
}

fn frames(c: &mut Criterion<PerOperator>) {
    let mut group = c.benchmark_group("frames");
    for (name, operators) in [("2 slots", 0), ("chain100", 100)] {
        let tape = workloads::chain(operators);
        let layout = match operators {
            0 => Ready::new(&sum().0, &sum().1).bound.layout().clone(),
            _ => Ready::new(&tape.expr(), &tape.inputs).bound.layout().clone(),
        };
        group.bench_function(format!("fresh, {name}, {} bytes", layout.size()), |b| {
            b.iter(|| Frame::new(black_box(&layout)).expect("memory"));
        });
        let pool = FramePool::new(&layout);
        group.bench_function(format!("take and return, {name}"), |b| {
            b.iter(|| black_box(pool.take().expect("memory")).is_poisoned());
        });
    }
    group.finish();
}

fn calls(c: &mut Criterion<PerOperator>) {
    let mut group = c.benchmark_group("calls");
    let (expr, names) = sum();
    let mut ready = Ready::new(&expr, &names);
    assert_eq!(ready.evaluate(&[1.25, 2.5]), 3.75);
    group.bench_function("execute", |b| b.iter(|| ready.bound.execute(black_box(&mut ready.frame))));
    group.bench_function("store, execute, load", |b| b.iter(|| ready.evaluate(black_box(&[1.25, 2.5]))));

    let (pool, (x, y)) = (ready.bound.new_pool(), (ready.inputs[0], ready.inputs[1]));
    group.bench_function("take, store, execute, load, return", |b| {
        b.iter(|| {
            let point = black_box([1.25, 2.5]);
            let mut frame = pool.take().expect("memory");
            frame.set(x, point[0]);
            frame.set(y, point[1]);
            ready.bound.execute(&mut frame).expect("no operator fails");
            frame.get(ready.output)
        });
    });

    let loader = Accessors::new().with("x", |p: &Pair| p.x).with("y", |p: &Pair| p.y);
    let executor = ModelExecutor::<Pair, f64>::compile(&expr, &loader).expect("a valid model");
    let pair = Pair { x: 1.25, y: 2.5 };
    assert_eq!(executor.execute(&pair).expect("no operator fails"), 3.75);
    group.bench_function("ModelExecutor::execute", |b| b.iter(|| executor.execute(black_box(&pair))));
    let mut local = executor.local().expect("memory");
    group.bench_function("LocalExecutor::execute", |b| b.iter(|| local.execute(black_box(&pair))));
    group.finish();
}

criterion_group! {
    name = benches;
    config = criterion("ns/op");
    targets = frames, calls
}
criterion_main!(benches);
