//! An observed run is the same run: values, errors and where they happen, and fuel to the instruction.

use crate::random::generate::{inputs, sample};
use crate::support::run;
use cembra::compile::{Options, compile};
use cembra::prepare::{Prepare, Source};
use cembra::vm::machine::{BoundExpr, CancelToken, Profile, RunError, RunOptions, Trace};
use cembra::vm::value::{Category, Value};
use fastrand::Rng;
use std::collections::HashMap;

const FIRST: u64 = 0x0b5e;
const PROGRAMS: u64 = 10_000;

#[test]
fn observed_runs_are_the_same_runs() {
    let mut failed = 0;
    for number in FIRST..FIRST + PROGRAMS {
        let mut rng = Rng::with_seed(number);
        let sample = sample(&mut rng, 16);
        let values = inputs(&mut rng, &sample.leaves);
        let leaves: Vec<_> = sample.leaves.iter().map(|(name, t)| (name.as_str(), t.clone())).collect();
        let source = Source::new(sample.expr.clone(), leaves).dialect(sample.dialect);
        let Ok(prepared) = Prepare::standard().run(source) else { continue };
        let bound = compile(&prepared, &Options::default()).expect("valid");
        failed += check(&bound, &values).unwrap_or_else(|e| panic!("program {number}: {e}\n{}", sample.expr));
    }
    assert!(failed > PROGRAMS / 50, "only {failed} programs fail");
}

/// 1 for a program that fails, 0 for one that has a value.
fn check(bound: &BoundExpr, inputs: &HashMap<String, Value>) -> Result<u64, String> {
    let plain = run(bound, inputs, RunOptions::new());
    let (mut trace, mut profile) = (Trace::default(), Profile::default());
    let traced = run(bound, inputs, RunOptions::new().observer(&mut trace));
    let token = CancelToken::new();
    let profiled = run(bound, inputs, RunOptions::new().cancel(&token).observer(&mut profile));
    // A stretch without jumps is charged whole, also if it fails in the middle.
    let stretch = if plain.is_ok() { 0 } else { bound.program().main().body.instructions().len() };
    let needed = (trace.entries.len() + stretch) as u64;
    let fuelled = run(bound, inputs, RunOptions::new().fuel(needed));
    for (name, other) in [("traced", &traced), ("profiled", &profiled), ("fuelled", &fuelled)] {
        same(&plain, other).map_err(|e| format!("{name}: {e}"))?;
    }
    let counted: u64 = profile.counts.iter().flatten().map(|count| count.runs).sum();
    if counted != trace.entries.len() as u64 {
        return Err(format!("{counted} instructions profiled, {} traced", trace.entries.len()));
    }
    if let Some(less) = needed.checked_sub(1).filter(|_| plain.is_ok()) {
        let short = run(bound, inputs, RunOptions::new().fuel(less));
        if !short.as_ref().is_err_and(|e| e.category() == Category::FuelExhausted) {
            return Err(format!("{needed} instructions with fuel for {less}: {short:?}"));
        }
    }
    Ok(u64::from(plain.is_err()))
}

fn same(plain: &Result<Value, RunError>, other: &Result<Value, RunError>) -> Result<(), String> {
    let agree = match (plain, other) {
        // NaN is a value too.
        (Ok(a), Ok(b)) => a == b || a.to_string() == b.to_string(),
        (Err(a), Err(b)) => a.to_string() == b.to_string(),
        _ => false,
    };
    if agree { Ok(()) } else { Err(format!("{plain:?} and {other:?}")) }
}
