//! Models on a warm frame: a spectrum, its components, its derivatives, beside the interpreter.
//!
//! The model is that of the published figures, an offset, a Shirley background and two peaks: over 400 energies,
//! and over 440 times of 400 energies with an exponential decay of the first peak's amplitude or position. With a third
//! peak, a Voigt line, the position of that line decays, blurred by a Gaussian response of the instrument. One thread; the
//! frame keeps its memory, so no page is touched for the first time.
//!
//! Then whole fits of 176,000 values with four free parameters, whose data `benches/peers/models.py` makes too. With
//! `CEMBRA_COSTS=1` also the cost of peaks that all move, by their number and by the size of the grid.

#![allow(missing_docs, reason = "the macros of the bench harness write undocumented items")]

use cembra::backend::model::CompiledModel;
use cembra::fit::{Method, Problem, Settings, fit_with};
use cembra::model::graph::from_model::graph_of;
use cembra::model::schedule::schedule;
use cembra::model::{Model, interpret, load};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;

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
";

const VOIGT: &str = "
  Voigt:
    A: [14, True, 5, 25]
    x0: [86.2, True, 82, 92]
    SD: [0.4, True, 0.05, 2]
    W: [0.5, True, 0.05, 2]
";

const DECAY: &str = "
decay:
  expFun:
    A: [1.0, True]
    tau: [10.0, True, 0.05, 200.0]
    t0: [0.0, False]
";

const BLURRED_DECAY: &str = "
decay:
  gaussCONV:
    SD: [1.5, True, 0.1, 5]
  expFun:
    A: [1.0, True]
    tau: [10.0, True, 0.05, 200.0]
    t0: [0.0, False]
";

/// The models of the bench by name: their text, and the parameter that depends on time.
fn models() -> [(&'static str, String, Option<&'static str>); 4] {
    let decaying = [PEAKS, DECAY].concat();
    [
        ("1d", PEAKS.to_string(), None),
        ("2d amplitude", decaying.clone(), Some("GLP_01_A")),
        ("2d position", decaying, Some("GLP_01_x0")),
        ("2d voigt", [PEAKS, VOIGT, BLURRED_DECAY].concat(), Some("Voigt_01_x0")),
    ]
}

/// The model of a text, with dynamics on a parameter if one is named.
fn model(text: &str, target: Option<&str>) -> Model {
    let times = target.map_or(String::new(), |target| {
        format!(
            "  time: {{from: -10, to: 100, points: 440}}\n  dynamics: [{{target: {target}, models: [decay]}}]\n"
        )
    });
    let header = format!("cembra:\n  model: m\n  energy: {{from: 80, to: 92, points: 400}}\n{times}");
    let loaded = load::read([("m.yaml", format!("{header}{text}").as_str())]);
    loaded.unwrap_or_else(|errors| panic!("{}", errors[0])).model
}

fn compiled(model: &Model) -> CompiledModel {
    let schedule = schedule(&graph_of(model).expect("a graph")).expect("a schedule");
    CompiledModel::new(&schedule).expect("a program")
}

fn evaluations(c: &mut Criterion) {
    for (name, text, target) in models() {
        let model = model(&text, target);
        let compiled = compiled(&model);
        let mut frame = compiled.new_frame().expect("memory");
        let theta = compiled.initial_theta().to_vec();
        let mut group = c.benchmark_group(format!("models {name}"));
        group.sample_size(20);
        group.bench_function("spectrum", |b| {
            b.iter(|| compiled.evaluate(black_box(&theta), &mut frame).expect("a spectrum")[0]);
        });
        group.bench_function("spectrum, new frame", |b| {
            b.iter(|| {
                let mut frame = compiled.new_frame().expect("memory");
                compiled.evaluate(black_box(&theta), &mut frame).expect("a spectrum")[0]
            });
        });
        let data = vec![1.0; compiled.shape().iter().product()];
        group.bench_function("squares", |b| {
            b.iter(|| compiled.evaluate_squares(black_box(&theta), &data, &mut frame).expect("a sum"));
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
                compiled.evaluate_jacobian_into(black_box(&theta), &mut frame, &mut columns).expect("columns")
                    [0]
            });
        });
        group.bench_function("interpreter", |b| {
            b.iter(|| interpret::evaluate(&model, black_box(&theta)).expect("a spectrum").values[0]);
        });
        group.finish();
    }
}

/// A line on a slope whose height decays: heights, position and time constant are free.
const HEADLINE: &str = "
cembra:
  model: m
  energy: {from: 80, to: 92, points: 400}
  time: {from: -10, to: 100, points: 440}
  dynamics: [{target: GLP_01_A, models: [decay]}]
m:
  LinBack:
    m: [0.1, False]
    b: [2.0, False]
    xStart: [81, False]
    xStop: [91, False]
  GLP:
    A: [20, True, 5, 60]
    x0: [84.5, True, 82, 88]
    F: [1.0, False, 0.75, 2.5]
    m: [0.3, False, 0, 1]
decay:
  expFun:
    A: [4.0, True, -30, 30]
    tau: [8.0, True, 0.05, 200.0]
    t0: [0.0, False]
";

/// The spectrum somewhere else, with noise of the standard deviation 0.3: multiples of the golden ratio, modulo one.
fn headline_data(model: &Model) -> Vec<f64> {
    let mut values = interpret::evaluate(model, &[21.3, 5.5, 6.1, 84.42]).expect("a spectrum").values;
    for (index, value) in values.iter_mut().enumerate() {
        let uniform = (index as f64 * 0.618_033_988_749_894_9).fract();
        *value += 0.3 * 12.0f64.sqrt() * (uniform - 0.5);
    }
    values
}

fn fits(c: &mut Criterion) {
    let loaded = load::read([("m.yaml", HEADLINE)]);
    let model = loaded.unwrap_or_else(|errors| panic!("{}", errors[0])).model;
    assert_eq!(
        model.theta_names(),
        ["GLP_01_A", "GLP_01_A_expFun_01_A", "GLP_01_A_expFun_01_tau", "GLP_01_x0"]
    );
    let problem = Problem::new(&model, headline_data(&model)).expect("all data");
    let mut group = c.benchmark_group("models fit");
    group.sample_size(10);
    for method in [Method::LevenbergMarquardt, Method::VariableProjection, Method::NelderMead] {
        let fitted = || fit_with(&problem, Settings { method, ..Settings::default() }, &()).expect("a fit");
        let fit = fitted();
        println!("{}: chi² {}, {} evaluations", method.name(), fit.chi_square, fit.evaluations);
        group.bench_function(method.name(), |b| b.iter(fitted));
    }
    group.finish();
}

/// So many peaks, each with a position of its own that decays.
fn moving(peaks: usize, energies: usize, times: usize) -> Model {
    let decays = (1..=peaks).map(|k| format!("{{target: GLP_{k:02}_x0, models: [decay]}}"));
    let header = format!(
        "cembra:\n  model: m\n  energy: {{from: 80, to: 92, points: {energies}}}\n  time: {{from: -10, to: 100, \
         points: {times}}}\n  dynamics: [{}]\nm:\n  Offset: {{y0: [2, True]}}\n",
        decays.collect::<Vec<String>>().join(", ")
    );
    let peak = |k: usize| {
        format!("  GLP: {{A: [20, True], x0: [{}, True], F: [1, True], m: [0.3, True]}}\n", 81 + k)
    };
    let text = header + &(0..peaks).map(peak).collect::<String>() + DECAY;
    let loaded = load::read([("m.yaml", text.as_str())]);
    loaded.unwrap_or_else(|errors| panic!("{}", errors[0])).model
}

fn costs(c: &mut Criterion) {
    if std::env::var_os("CEMBRA_COSTS").is_none() {
        return;
    }
    let mut group = c.benchmark_group("models cost");
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    let peaks = [1, 2, 4, 8, 16].map(|peaks| (peaks, 400, 440));
    let grids = [(20, 20), (60, 40), (50, 440), (400, 110), (400, 1760), (1600, 440), (1600, 1760)];
    for (peaks, energies, times) in peaks.into_iter().chain(grids.map(|(e, t)| (2, e, t))) {
        let compiled = compiled(&moving(peaks, energies, times));
        let theta = compiled.initial_theta().to_vec();
        let mut frame = compiled.new_frame().expect("memory");
        group.bench_function(format!("{peaks} peaks, {energies} x {times}"), |b| {
            b.iter(|| compiled.evaluate(black_box(&theta), &mut frame).expect("a spectrum")[0]);
        });
        group.bench_function(format!("{peaks} peaks, {energies} x {times}, new frame"), |b| {
            b.iter(|| {
                let mut frame = compiled.new_frame().expect("memory");
                compiled.evaluate(black_box(&theta), &mut frame).expect("a spectrum")[0]
            });
        });
    }
    group.finish();
}

criterion_group!(benches, evaluations, fits, costs);
criterion_main!(benches);
