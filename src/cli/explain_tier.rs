//! `cembra explain --tier`: what a tier makes of a program, and how long each stage takes.

use crate::cli::build_args::SourceArg;
use crate::cli::tier_arg::TierArg;
use crate::inspect::{Regions, machine_code_text};
use crate::native::{ArrayLayout, ProgramCall, TranslateToC, TranslateToRust};
use cembra_vm::machine::BoundExpr;
use cembra_vm::program::dump;
use serde_json::json;
use std::time::{Duration, Instant};

/// How long each stage takes.
pub struct StopWatch {
    begun: Instant,
    /// The stages that are over.
    pub times: Vec<(&'static str, Duration)>,
}

impl StopWatch {
    /// Begins the first stage.
    pub fn start() -> StopWatch {
        StopWatch { begun: Instant::now(), times: Vec::new() }
    }

    /// Ends a stage, and begins the next one.
    pub fn done(&mut self, stage: &'static str) {
        self.times.push((stage, self.begun.elapsed()));
        self.begun = Instant::now();
    }
}

/// The program as the tier has it; what it takes to make it is added to the times of stages.
pub fn explain_tier(
    tier: TierArg,
    backend: SourceArg,
    bound: &BoundExpr,
    times: Vec<(&'static str, Duration)>,
    is_json: bool,
) -> String {
    let mut watch = StopWatch { begun: Instant::now(), times };
    let (code, note) = match tier {
        TierArg::Interpreter => (None, None),
        TierArg::Jit => match machine_code_text(bound) {
            Ok(code) => (Some(code), None),
            Err(reason) => (None, Some(reason)),
        },
        TierArg::Native => {
            let call = ProgramCall::new("program", bound.program().clone(), ArrayLayout::Strided);
            let explained = call.and_then(|call| match backend {
                SourceArg::C => TranslateToC::default().explained(&call),
                SourceArg::Rust => TranslateToRust.explained(&call),
            });
            match explained {
                Ok(code) => (Some(code), None),
                Err(reason) => (None, Some(reason.to_string())),
            }
        }
    };
    let made = match (tier, backend) {
        (TierArg::Native, SourceArg::C) => "C",
        (TierArg::Native, SourceArg::Rust) => "Rust",
        _ => "machine code",
    };
    if code.is_some() {
        watch.done(made);
    }
    let runs = if code.is_some() { made } else { "interpreter" };
    if is_json {
        let micros = |time: &Duration| time.as_secs_f64() * 1e6;
        let times: serde_json::Map<_, _> =
            watch.times.iter().map(|(stage, time)| ((*stage).to_owned(), json!(micros(time)))).collect();
        let of = |name: &str| code.as_ref().filter(|_| made == name);
        let out = json!({
            "runs": runs,
            "reason": note,
            "machine_code": of("machine code"),
            "c": of("C"),
            "rust": of("Rust"),
            "microseconds": times,
        });
        return format!("{out:#}\n");
    }
    let mut text = match note {
        Some(reason) => format!("the interpreter runs it: {reason}\n\n"),
        None => format!("runs as: {runs}\n\n"),
    };
    text += &code.unwrap_or_else(|| {
        let regions = Regions::new(bound).to_string();
        format!("{}\n{regions}", dump::dump(bound.program()))
    });
    let stages: Vec<_> = watch.times.iter().map(|(stage, time)| format!("{stage} {time:.1?}")).collect();
    text + "\nstages: " + &stages.join(", ") + "\n"
}
