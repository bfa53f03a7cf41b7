//! What the commands on functions share: compiling for values, calling, errors as reports.

use crate::cli::function_args::{ErrorModelArg, OverflowArg, SemanticsArgs};
use crate::cli::report::{Phase, Report, Source};
use crate::function::run::FunctionCallError;
use crate::function::{
    CompiledFunction, FunctionError, FunctionModule, FunctionOptions, FunctionProblem, FunctionType,
    Overflow, compile_function,
};
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

/// Compiles a function of a text for the types of values; default values fill up what is missing.
pub(super) fn compiled(
    text: &str,
    name: &str,
    values: &[Value],
    options: &FunctionOptions,
) -> Result<CompiledFunction, Vec<FunctionError>> {
    let module = FunctionModule::parse(text)?;
    compile_function(&module, name, &types(values)?, options)
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
