//! Cembra beside other expression engines: the same workloads, one run, one thread.
//!
//! Every engine compiles a workload once and is then called on the same input points; a call stores the
//! inputs, evaluates and reads the result. Each engine's result is checked before it is timed. Times are
//! medians of 21 rounds; the engines take turns within a round, so that all share what the machine does.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml`

mod engines;
#[path = "../../workloads/mod.rs"]
mod workloads;

use engines::{ENGINES, Engine, Evaluate};
use std::hint::black_box;
use std::time::{Duration, Instant};
use workloads::{
    BIG_VARS, BIG_VARS_OPERATORS, Ready, Tape, native_big_vars, native_chain, native_quadroot, points,
};

/// Rounds of which the median counts.
const ROUNDS: usize = 21;
/// Time of one engine in one round.
const SLICE: Duration = Duration::from_millis(8);

/// One program in all its forms.
pub struct Workload {
    name: &'static str,
    operators: usize,
    /// Input names, in the order of a point's values.
    inputs: Vec<String>,
    points: Vec<Vec<f64>>,
    /// The common text, and what an engine wants instead.
    text: String,
    own_texts: Vec<(&'static str, &'static str)>,
    tape: Option<Tape>,
    native: Evaluate,
}

fn main() {
    println!("| workload | engine | ns/call | ns/operator | × Cembra | compile ns/operator | licence |");
    println!("| --- | --- | --: | --: | --: | --: | --- |");
    for mut workload in [chain("chain100", 100), chain("chain1000", 1000), quadroot(), big_vars()] {
        report(&mut workload);
    }
}

fn report(workload: &mut Workload) {
    let cembra: Engine = Engine { name: "Cembra", licence: "MIT OR Apache-2.0", compile: cembra_engine };
    let engines: Vec<&Engine> = std::iter::once(&cembra).chain(ENGINES).collect();
    let mut rows: Vec<(&Engine, Evaluate, Vec<f64>)> = Vec::new();
    for engine in engines {
        let Some(mut evaluate) = (engine.compile)(workload) else { continue };
        for point in &workload.points {
            let (actual, expected) = (evaluate(point), (workload.native)(point));
            let error = (actual - expected).abs() / expected.abs();
            assert!(error < 1e-12, "{}: {actual} at {point:?}, not {expected}", engine.name);
        }
        rows.push((engine, evaluate, Vec::new()));
    }
    let mut native_times = Vec::new();
    for _ in 0..ROUNDS {
        native_times.push(time(&mut workload.native, &workload.points));
        for (_, evaluate, times) in &mut rows {
            times.push(time(evaluate, &workload.points));
        }
    }
    let reference = median(&mut rows[0].2);
    print(workload, "native Rust", "–", median(&mut native_times), reference, None);
    for (engine, _, times) in &mut rows {
        let compile = compile_time(engine, workload);
        print(workload, engine.name, engine.licence, median(times), reference, Some(compile));
    }
}

fn print(workload: &Workload, engine: &str, licence: &str, time: f64, reference: f64, compile: Option<f64>) {
    let operators = workload.operators as f64;
    let compile = compile.map_or("–".to_owned(), |ns| format!("{:.0}", ns / operators));
    println!(
        "| {} | {engine} | {time:.1} | {:.2} | {:.2} | {compile} | {licence} |",
        workload.name,
        time / operators,
        time / reference,
    );
}

/// Nanoseconds of a call.
fn time(evaluate: &mut Evaluate, points: &[Vec<f64>]) -> f64 {
    let (start, mut calls) = (Instant::now(), 0);
    while start.elapsed() < SLICE {
        for point in points {
            black_box(evaluate(black_box(point)));
        }
        calls += points.len();
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

/// Nanoseconds from text, or for Cembra's chains from a built expression, to something that evaluates.
fn compile_time(engine: &Engine, workload: &Workload) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            drop(black_box((engine.compile)(workload)));
            start.elapsed().as_nanos() as f64
        })
        .collect();
    median(&mut times)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn cembra_engine(workload: &Workload) -> Option<Evaluate> {
    let expr = match &workload.tape {
        Some(tape) => tape.expr(),
        None => cembra::syntax::parse(&workload.text).ok()?,
    };
    let mut ready = Ready::new(&expr, &workload.inputs);
    Some(Box::new(move |point| ready.evaluate(point)))
}

fn chain(name: &'static str, operators: usize) -> Workload {
    let tape = workloads::chain(operators);
    let native = native_chain(operators);
    Workload {
        name,
        operators,
        inputs: tape.inputs.clone(),
        points: points(&[0.3..0.9], 64),
        text: tape.text(),
        own_texts: Vec::new(),
        tape: Some(tape),
        native: Box::new(move |p| native(p[0])),
    }
}

fn quadroot() -> Workload {
    let tape = workloads::quadroot();
    Workload {
        name: "quadroot",
        operators: tape.operators(),
        inputs: tape.inputs.clone(),
        points: workloads::quadroot_points().iter().map(|p| p.to_vec()).collect(),
        text: String::new(),
        own_texts: vec![
            ("fasteval", "(y*y - 4*x*z >= 0) * (-y + (y*y - 4*x*z)^0.5) / (2*x)"),
            ("evalexpr", "if(y*y - 4.0*x*z >= 0.0, (-y + math::sqrt(y*y - 4.0*x*z)) / (2.0*x), 0.0)"),
            ("rhai", "let d = y*y - 4.0*x*z; if d >= 0.0 { (-y + d.sqrt()) / (2.0*x) } else { 0.0 }"),
        ],
        tape: Some(tape),
        native: Box::new(|p| native_quadroot(p[0], p[1], p[2])),
    }
}

fn big_vars() -> Workload {
    Workload {
        name: "big_vars",
        operators: BIG_VARS_OPERATORS,
        inputs: ["x", "y", "z"].map(str::to_owned).to_vec(),
        points: points(&[80.0..90.0, 30.0..32.0, 90.0..95.0], 1024),
        text: BIG_VARS.to_owned(),
        own_texts: Vec::new(),
        tape: None,
        native: Box::new(|p| native_big_vars(p[0], p[1], p[2])),
    }
}

impl Workload {
    /// What an engine compiles; `None` if the workload has no form for it.
    fn text_for(&self, engine: &str) -> Option<&str> {
        let own = self.own_texts.iter().find(|(name, _)| *name == engine).map(|(_, text)| *text);
        own.or((!self.text.is_empty()).then_some(&*self.text))
    }
}
