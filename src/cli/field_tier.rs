//! The argument `--tier` of `cembra field`: what runs a program, which statements the interpreter runs nevertheless, and what
//! a tier makes of the programs.

use crate::backend::{FieldPlan, FieldTier, TierObserver};
use crate::cli::complain;
use crate::cli::dump_stages::StageDump;
use crate::cli::explain_tier::explain_tier;
use crate::cli::native_cache::native_cache;
use crate::cli::report::{Phase, Report, visible, visible_line};
use crate::cli::tier_arg::{CacheArg, SourceArg, TierArg};
use crate::workflow::Artifact;
use cembra_vm::value::Category;

/// The tier of an argument.
///
/// # Errors
/// This build has no such tier, there is no compiler, or a backend has another tier than `native`.
pub(super) fn field_tier(
    (tier, backend): (TierArg, SourceArg),
    cache: CacheArg,
) -> Result<FieldTier, Report> {
    check_backend((tier, backend))?;
    let refused = |what: String| Report::new(Category::Host, Phase::Compile, what);
    match tier {
        TierArg::Interpreter => Ok(FieldTier::Interpreter),
        TierArg::Jit if cfg!(feature = "jit") => Ok(FieldTier::Jit),
        TierArg::Jit => Err(refused("--tier jit: built without the feature `jit`".to_owned())),
        TierArg::Native => {
            let cache = native_cache(cache, backend);
            cache.map(FieldTier::Native).map_err(|error| {
                let mut report = refused(format!("--tier native: {error}"));
                report.notes.push("--tier interpreter runs it without a compiler".to_owned());
                report
            })
        }
    }
}

/// A backend is of the tier `native`.
pub(super) fn check_backend((tier, backend): (TierArg, SourceArg)) -> Result<(), Report> {
    let fits = backend == SourceArg::C || tier == TierArg::Native;
    let refused = || Report::new(Category::Parse, Phase::Compile, "--backend needs --tier native");
    fits.then_some(()).ok_or_else(refused)
}

/// Says which statements the interpreter runs although another tier was asked for, and why.
pub(super) fn note_interpreted(plan: &FieldPlan) {
    let mut told = Vec::new();
    for stage in plan.interpreted() {
        let target = visible_line(&stage.target);
        let note = format!(
            "note: the interpreter runs statement {} (`{target}`): {}",
            stage.statement,
            visible(&stage.reason)
        );
        if !told.contains(&note) {
            complain(&note);
            told.push(note);
        }
    }
}

/// Writes what is made of each stage, under the names of its statements.
pub(super) struct StageFiles<'d>(pub &'d StageDump);

impl TierObserver for StageFiles<'_> {
    fn is_watching(&self) -> bool {
        self.0.is_on()
    }

    fn ended(&self, statement: usize, target: &str, step: &'static str, made: &dyn Artifact) {
        if self.0.is_on() {
            for (stage, text) in made.texts(step) {
                self.0.write(&format!("{stage} {statement} {target}"), || text);
            }
        }
    }
}

/// What a tier makes of the programs of a plan, and how long each stage takes.
pub(super) fn programs_text(
    plan: &FieldPlan,
    (tier, backend): (TierArg, SourceArg),
    cache: CacheArg,
) -> String {
    let (mut text, dump) = (String::new(), StageDump::default());
    let programs = plan.programs().into_iter().zip(plan.native_calls());
    for (number, ((statement, bound), call)) in programs.enumerate() {
        let declared = &plan.program().statements[statement - 1];
        let target = visible_line(plan.program().target_name(declared));
        let begin = if number > 0 { "\n" } else { "" };
        text += &format!("{begin}statement {statement} (`{target}`)\n\n");
        text += &explain_tier((tier, backend), (bound, call), Vec::new(), false, (&dump, cache));
    }
    if text.is_empty() { "no statement needs an operation\n".to_owned() } else { text }
}
