//! Reading program files, and errors of graphs as reports.

use crate::backend::{EvalError, OpError, UserFunctionError, recorded as published};
use crate::cli::args::Compat;
use crate::cli::eval::{read_text, shown};
use crate::cli::graph::program::{self, Program};
use crate::cli::json_text;
use crate::cli::report::{Phase, Report};
use crate::dag::DagError;
use cembra_vm::value::Category;
use std::path::Path;

/// Reads a program file.
///
/// # Errors
/// The file cannot be read, or is no program.
pub fn read_program(file: &Path) -> Result<Program, Report> {
    let malformed =
        |what: String| Report::new(Category::Parse, Phase::Compile, format!("{}: {what}", shown(file)));
    let json = json_text::parse(&read_text(file)?).map_err(|e| malformed(e.to_string()))?;
    program::read(&json).map_err(malformed)
}

/// A graph that is not in order.
pub fn dag_report(error: DagError) -> Report {
    Report::new(Category::InvalidProgram, Phase::Compile, error.to_string())
}

/// In the words of the engine whose output is shown.
pub fn eval_report_in(compat: Option<Compat>, error: EvalError) -> Report {
    let text = published::error_text(&error);
    let mut report = eval_report(error);
    if compat.is_some() {
        report.message = format!("{}: {}", text.0, text.1);
    }
    report
}

/// Why an evaluation stopped.
pub fn eval_report(error: EvalError) -> Report {
    let category = match &error {
        EvalError::PlaceholderValueNotProvided { .. } | EvalError::NodeValueNotFound { .. } => {
            Category::MissingInput
        }
        EvalError::FunctionNotFound { .. } => Category::UnknownName,
        EvalError::Function { error: UserFunctionError::Panicked { .. }, .. } => Category::Panic,
        EvalError::Function { .. } => Category::Host,
        EvalError::Operation { error, .. } => operation_category(error),
        EvalError::Unsupported { .. } | EvalError::NothingToEvaluate | EvalError::Dag(_) => {
            Category::InvalidProgram
        }
        EvalError::Exhausted { category, .. } => *category,
    };
    let mut report = Report::new(category, Phase::Eval, error.to_string());
    if let EvalError::Operation { error: OpError::Budget(fault), .. } = &error {
        // Which option sets a limit is known by how the message of the limit begins.
        report.notes = Report::new(category, Phase::Eval, fault.to_string()).notes;
    }
    report
}

fn operation_category(error: &OpError) -> Category {
    match error {
        OpError::NotDefined { .. } | OpError::ConditionNotBool { .. } => Category::Type,
        OpError::Broadcast { .. } | OpError::SqueezeSize { .. } => Category::SizeMismatch,
        OpError::AxisOutOfBounds { .. } | OpError::RepeatedAxis { .. } => Category::IndexOutOfRange,
        OpError::TooLarge { .. } | OpError::TooManyAxes { .. } | OpError::Program { .. } => Category::Limit,
        OpError::NegativePower
        | OpError::NoClauses
        | OpError::NoElements { .. }
        | OpError::QuantileRange { .. } => Category::Assertion,
        OpError::Budget(fault) => fault.category(),
    }
}
