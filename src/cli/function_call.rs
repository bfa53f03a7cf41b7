//! What the commands on functions share: compiling for values, calling, errors as reports.

use crate::cli::dump_stages::StageDump;
use crate::cli::function_args::{ErrorModelArg, OverflowArg, SemanticsArgs};
use crate::cli::report::{Phase, Report, Source};
use crate::function::norm::{norm_document, norm_schema};
use crate::function::run::FunctionCallError;
use crate::function::steps::FunctionRequest;
use crate::function::{
    CompiledFunction, FunctionError, FunctionModule, FunctionOptions, FunctionPipeline, FunctionProblem,
    FunctionType, Overflow,
};
use crate::python::{Positions, pyast_document, pyast_schema};
use crate::schema::{tree_outline, tree_text};
use cembra_vm::machine::RunOptions;
use cembra_vm::value::{Category, Value};

/// Errors with the text they stand in.
pub(super) type Failed = (Vec<Report>, Option<Source>);

pub(super) fn options(args: &SemanticsArgs) -> FunctionOptions {
    FunctionOptions {
        overflow: match args.overflow {
            OverflowArg::Raise => Overflow::Raise,
            OverflowArg::Wrap => Overflow::Wrap,
        },
        numpy_errors: args.error_model == ErrorModelArg::Numpy,
        ..FunctionOptions::default()
    }
}

/// Compiles a function of a text for the types of values, and writes its stages if they are wanted; default values
/// fill up what is missing.
pub(super) fn compiled(
    text: &str,
    name: &str,
    values: &[Value],
    options: &FunctionOptions,
    dump: &StageDump,
) -> Result<CompiledFunction, Vec<FunctionError>> {
    let module = FunctionModule::parse(text)?;
    dump.write("pyast", || pyast_text(&module));
    dump.write("norm", || norm_text(&module));
    let request = FunctionRequest { module: &module, name, args: types(values)? };
    FunctionPipeline::standard(options).observed_by(dump).run(request)
}

/// The stage `pyast` of a module, as an outline.
pub(super) fn pyast_text(module: &FunctionModule) -> String {
    let document = pyast_document(module.tree(), Positions::Statements);
    tree_outline(pyast_schema(), &document).unwrap_or_else(|error| error.to_string())
}

/// The stage `norm` of a module.
pub(super) fn norm_text(module: &FunctionModule) -> String {
    let document = norm_document(module.tree());
    tree_text(norm_schema(), &document).unwrap_or_else(|error| error.to_string())
}

pub(super) fn types(values: &[Value]) -> Result<Vec<FunctionType>, Vec<FunctionError>> {
    let type_of = |value: &Value| {
        FunctionType::of_qtype(&value.qtype()).ok_or_else(|| {
            let message = format!("functions take no values of type {}", value.qtype());
            vec![FunctionError { problem: FunctionProblem::Type { message }, span: Default::default() }]
        })
    };
    values.iter().map(type_of).collect()
}

/// Calls a function; gives its result and the arrays after the call.
pub(super) fn call(
    function: &CompiledFunction,
    values: &[Value],
    options: RunOptions<'_>,
) -> Result<(Value, Vec<Value>), FunctionCallError> {
    let result = function.call_with(values, options)?;
    Ok((result.value, result.arrays.into_iter().map(|(_, value)| value).collect()))
}

/// An error of a function as users see it.
pub(super) fn report(error: &FunctionError) -> Report {
    let category = match error.problem.python_class() {
        "SyntaxError" => Category::Syntax,
        "NameError" => Category::UnknownName,
        "UnboundLocalError" => Category::Unbound,
        "IndexError" => Category::IndexOutOfRange,
        "SystemError" => Category::InvalidProgram,
        _ => Category::Type,
    };
    let mut report = Report::new(category, Phase::Compile, error.to_string());
    report.labels.push((error.span, String::new()));
    report.notes.push(format!("rule {}", error.problem.rule()));
    report.notes.extend(error.problem.hint());
    report
}
