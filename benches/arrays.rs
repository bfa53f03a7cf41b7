//! Tile regions on a warm frame: what a region costs by itself, and each of its operators, by the number of rows.
//!
//! `region 2` is `x*1.5 + 0.25`, `region 20` ten of them in a chain: the difference of their times over 18 is the
//! cost of an operator.

#![allow(missing_docs, reason = "the macros of the bench harness write undocumented items")]

use cembra::compile::{Options, compile};
use cembra::prepare::{Prepare, Source};
use cembra::vm::frame::Frame;
use cembra::vm::machine::BoundExpr;
use cembra::vm::value::{ArrayClass, ArrayRows, ArrayType, QType, ScalarType, ScalarValue, Value};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;

/// A program of one leaf `x`, with its rows in a frame.
fn ready(text: &str, rows: usize) -> (BoundExpr, Frame) {
    let expr = cembra::syntax::parse(text).expect("valid text");
    let element = ScalarType::Float64;
    let qtype = QType::Array(ArrayType { class: ArrayClass::Dense, element });
    let prepared = Prepare::standard().run(Source::new(expr, [("x", qtype)])).expect("types");
    let bound = compile(&prepared, &Options::default()).expect("a program");
    let mut frame = bound.new_frame().expect("memory");
    let cells: Vec<_> = (0..rows).map(|row| Some(ScalarValue::Float64(row as f64 / 7.0))).collect();
    let value = Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(element, &cells)));
    frame.write(bound.input_slot("x").expect("the leaf"), &value).expect("its type");
    (bound, frame)
}

/// `pairs` times a multiplication and an addition.
fn chain(pairs: usize) -> String {
    (0..pairs).fold("x".to_owned(), |text, i| format!("({text})*1.{i} + 0.{i}1"))
}

fn regions(c: &mut Criterion) {
    let mut group = c.benchmark_group("arrays");
    let workloads = [
        ("region 2", chain(1)),
        ("region 20", chain(10)),
        ("sum", "math.sum(x)".to_owned()),
        ("where", "core.where(x > 10.0, x, 10.0)".to_owned()),
        ("exp", "math.exp(x)".to_owned()),
    ];
    for (name, text) in &workloads {
        for rows in [1, 10, 100, 1_000, 10_000, 100_000] {
            let (bound, mut frame) = ready(text, rows);
            group.bench_function(BenchmarkId::new(*name, rows), |b| {
                b.iter(|| bound.execute(black_box(&mut frame)).expect("no row raises"));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, regions);
criterion_main!(benches);
