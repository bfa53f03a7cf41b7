//! Models on a warm frame: a spectrum, its components, its derivatives, beside the interpreter.
//!
//! The model is that of the published figures, an offset, a Shirley background and two peaks: over 400 energies,
//! and over 440 times of 400 energies with an exponential decay of the first peak's amplitude or position. One
//! thread; the frame keeps its memory, so no page is touched for the first time.

#![allow(missing_docs, reason = "the macros of the bench harness write undocumented items")]

use cembra::backend::model::CompiledModel;
use cembra::model::graph::from_model::graph_of;
use cembra::model::schedule::schedule;
use cembra::model::{Model, interpret, load};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

const PEAKS: &str = "
m:
  Offset:
    y0: [2, True, 0, 5]
  Shirley:
    pShirley: [4.0E-4, False]
  GLP:
    A: [20, True, 5, 25]
    x0: [84.5, True, 82, 88]
    F: [1.0, True, 0.75, 2.5]
    m: [0.3, True, 0, 1]
  GLP:
    A: [17, True, 5, 25]
    x0: [88.1, True, 82, 92]
    F: [1.0, True, 0.75, 2.5]
    m: [0.3, True, 0, 1]
decay:
  expFun:
    A: [1.0, True]
    tau: [10.0, True, 0.05, 200.0]
    t0: [0.0, False]
";

/// The model, with dynamics on a parameter if one is named.
fn model(target: Option<&str>) -> Model {
    let times = target.map_or(String::new(), |target| {
        format!(
            "  time: {{from: -10, to: 100, points: 440}}\n  dynamics: [{{target: {target}, models: [decay]}}]\n"
        )
    });
    let header = format!("cembra:\n  model: m\n  energy: {{from: 80, to: 92, points: 400}}\n{times}");
    let loaded = load::read([("m.yaml", format!("{header}{PEAKS}").as_str())]);
    loaded.unwrap_or_else(|errors| panic!("{}", errors[0])).model
}

fn compiled(model: &Model) -> CompiledModel {
    let schedule = schedule(&graph_of(model).expect("a graph")).expect("a schedule");
    CompiledModel::new(&schedule).expect("a program")
}

fn evaluations(c: &mut Criterion) {
    for (name, target) in
        [("1d", None), ("2d amplitude", Some("GLP_01_A")), ("2d position", Some("GLP_01_x0"))]
    {
        let model = model(target);
        let compiled = compiled(&model);
        let mut frame = compiled.new_frame().expect("memory");
        let theta = compiled.initial_theta().to_vec();
        let mut group = c.benchmark_group(format!("models {name}"));
        group.sample_size(20);
        group.bench_function("spectrum", |b| {
            b.iter(|| compiled.evaluate(black_box(&theta), &mut frame).expect("a spectrum")[0]);
        });
        group.bench_function("components", |b| {
            b.iter(|| compiled.evaluate_curves(black_box(&theta), &mut frame).expect("curves").spectrum[0]);
        });
        group.bench_function("jacobian", |b| {
            b.iter(|| {
                compiled.evaluate_jacobian(black_box(&theta), &mut frame).expect("columns").spectrum[0]
            });
        });
        let mut columns = vec![0.0; compiled.shape().iter().product::<usize>() * theta.len()];
        group.bench_function("jacobian, every element", |b| {
            b.iter(|| {
                compiled
                    .evaluate_jacobian(black_box(&theta), &mut frame)
                    .expect("columns")
                    .copy_to(&mut columns);
            });
        });
        group.bench_function("interpreter", |b| {
            b.iter(|| interpret::evaluate(&model, black_box(&theta)).expect("a spectrum").values[0]);
        });
        group.finish();
    }
}

criterion_group!(benches, evaluations);
criterion_main!(benches);
