//! Stages of functions as trees of their schemas: printed, checked, called.

use crate::cli::function_args::{StageArg, TreeStageArg};
use crate::cli::function_call::{report, types};
use crate::cli::report::{Phase, Report};
use crate::function::compile::{FunctionStages, optimized};
use crate::function::stage::{
    StageError, StageFailure, StageName, check_stage, compile_stage, low_document, stage_text, tssa_document,
    untyped_functions, ussa_document,
};
use crate::function::{CompiledFunction, FunctionOptions};
use crate::python::SourceLines;
use cembra_vm::value::{Category, Value};

/// The tree of a stage; nothing for stages without one.
pub(super) fn stage_tree(stage: StageArg, stages: &FunctionStages, lines: &SourceLines) -> Option<String> {
    let lines = Some(lines);
    let (stage, document) = match stage {
        StageArg::Ussa => (StageName::Ussa, ussa_document(&untyped_functions(&stages.instances), lines)),
        StageArg::Tssa => (StageName::Tssa, tssa_document(&stages.instances, lines)),
        StageArg::Low => (StageName::Low, low_document(&stages.low, lines)),
        StageArg::Passes => (StageName::Low, low_document(&optimized(&stages.low).ok()?.0, lines)),
        StageArg::Pyast
        | StageArg::Norm
        | StageArg::Code
        | StageArg::Stored
        | StageArg::MachineCode
        | StageArg::C
        | StageArg::Rust => return None,
    };
    Some(stage_text(stage, &document).unwrap_or_else(|error| error.to_string()))
}

/// Checks the text of a stage.
pub(super) fn checked_stage(stage: TreeStageArg, text: &str) -> Result<String, Vec<Report>> {
    let count = check_stage(stage_name(stage), text).map_err(|errors| reports(&errors))?;
    Ok(format!("{count} functions\n"))
}

/// Compiles the first function of the text of a stage.
pub(super) fn compiled_stage(
    stage: TreeStageArg,
    text: &str,
    values: &[Value],
    options: &FunctionOptions,
) -> Result<CompiledFunction, Vec<Report>> {
    let types = types(values).map_err(|errors| errors.iter().map(report).collect::<Vec<_>>())?;
    compile_stage(stage_name(stage), text, &types, options).map_err(|failure| match failure {
        StageFailure::Stage(errors) => reports(&errors),
        StageFailure::Function(errors) => errors.iter().map(report).collect(),
    })
}

fn stage_name(stage: TreeStageArg) -> StageName {
    match stage {
        TreeStageArg::Ussa => StageName::Ussa,
        TreeStageArg::Tssa => StageName::Tssa,
        TreeStageArg::Low => StageName::Low,
    }
}

fn reports(errors: &[StageError]) -> Vec<Report> {
    let report = |error: &StageError| {
        let mut report = Report::new(Category::InvalidProgram, Phase::Compile, error.to_string());
        report.labels.push((error.span, String::new()));
        report.notes.push(format!("rule {}", error.problem.rule()));
        report
    };
    errors.iter().map(report).collect()
}
