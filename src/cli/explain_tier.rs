//! `cembra explain --tier`: what a tier makes of a program, and how long each stage takes.

use crate::cli::dump_stages::StageDump;
use crate::cli::native_cache::native_cache;
use crate::cli::tier_arg::{CacheArg, SourceArg, TierArg};
use crate::inspect::{Regions, machine_code_text};
use crate::native::{BuildObserver, NativeError, ProgramCall, TranslateToC, TranslateToRust};
use crate::workflow::Artifact;
use cembra_vm::machine::BoundExpr;
use cembra_vm::program::dump;
use serde_json::json;
use std::cell::RefCell;
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

/// The times of a build's stages, whose artifacts are written besides.
struct TimedDump<'d> {
    watch: RefCell<StopWatch>,
    compiler: &'static str,
    dump: &'d StageDump,
}

impl BuildObserver for TimedDump<'_> {
    fn ended(&self, stage: &'static str, made: &dyn Artifact) {
        let stage = if stage == "compile" { self.compiler } else { stage };
        self.watch.borrow_mut().done(stage);
        self.dump.ended(stage, made);
        // Writing is no stage.
        self.watch.borrow_mut().begun = Instant::now();
    }
}

/// The text of a program in the language of a backend.
pub(super) fn source_text(backend: SourceArg, call: &ProgramCall) -> Result<String, NativeError> {
    Ok(match backend {
        SourceArg::C => TranslateToC::default().explained(call)?,
        SourceArg::Rust => TranslateToRust.explained(call)?,
    })
}

/// Builds a library, or finds it; gives the times with those of its stages.
fn built(
    backend: SourceArg,
    call: &ProgramCall,
    watch: StopWatch,
    (dump, cache): (&StageDump, CacheArg),
) -> (StopWatch, Result<(), NativeError>) {
    let compiler = if backend == SourceArg::C { "C compiler" } else { "Rust compiler" };
    let timed = TimedDump { watch: RefCell::new(watch), compiler, dump };
    let build = || {
        let cache = native_cache(cache, backend)?;
        timed.watch.borrow_mut().done("find compiler");
        cache.library_observed(call, &timed).map(drop)
    };
    let result = build();
    (timed.watch.into_inner(), result)
}

/// The program as the tier has it; what it takes to make it is added to the times of stages. `call` is what a library is made
/// of, or why there is none.
pub(super) fn explain_tier(
    (tier, backend): (TierArg, SourceArg),
    (bound, call): (&BoundExpr, Result<ProgramCall, String>),
    times: Vec<(&'static str, Duration)>,
    is_json: bool,
    dump: (&StageDump, CacheArg),
) -> String {
    let mut watch = StopWatch { begun: Instant::now(), times };
    let made = match (tier, backend) {
        (TierArg::Native, SourceArg::C) => "C",
        (TierArg::Native, SourceArg::Rust) => "Rust",
        _ => "machine code",
    };
    let (code, note) = match tier {
        TierArg::Interpreter => (None, None),
        TierArg::Jit => match machine_code_text(bound) {
            Ok(code) => (Some(code), None),
            Err(reason) => (None, Some(reason)),
        },
        TierArg::Native => {
            let text = call.and_then(|call| {
                let text = source_text(backend, &call);
                Ok((text.map_err(|error| error.to_string())?, call))
            });
            match text {
                Err(reason) => (None, Some(reason)),
                Ok((code, call)) => {
                    // The text is for people only.
                    watch.begun = Instant::now();
                    let result;
                    (watch, result) = built(backend, &call, watch, dump);
                    (Some(code), result.err().map(|error| error.to_string()))
                }
            }
        }
    };
    if code.is_some() && tier != TierArg::Native {
        watch.done(made);
    }
    let runs = if code.is_some() && note.is_none() { made } else { "interpreter" };
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
    match &stages[..] {
        [] => text,
        _ => text + "\nstages: " + &stages.join(", ") + "\n",
    }
}
