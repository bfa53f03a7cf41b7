//! From the text of a stage to a function that can be called, by the stages behind it.
//!
//! Places of errors, also of those that a call raises, are those of the stage's text.

use crate::function::compile::FunctionPipeline;
use crate::function::compiled::{CompiledFunction, FunctionInterface};
use crate::function::constant::Constant;
use crate::function::error::FunctionError;
use crate::function::infer::{Instance, infer_built};
use crate::function::options::FunctionOptions;
use crate::function::stage::error::{StageError, StageProblem};
use crate::function::stage::schemas::StageName;
use crate::function::stage::text::{low_functions, read_stage_text, tssa_instances, ussa_functions};
use crate::function::stage::verify::{verify_low, verify_tssa, verify_ussa};
use crate::function::steps::{LowFunctions, TypedFunctions};
use crate::function::types::FunctionType;
use crate::python::SourceLines;
use crate::workflow::identity;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{ScalarValue, Value};

/// What is wrong with a function that was given as a stage.
#[derive(Clone, Debug)]
pub enum StageFailure {
    /// The text, or the rules of its stage.
    Stage(Vec<StageError>),
    /// A stage behind it.
    Function(Vec<FunctionError>),
}

impl From<Vec<StageError>> for StageFailure {
    fn from(errors: Vec<StageError>) -> StageFailure {
        StageFailure::Stage(errors)
    }
}

/// Checks the text of a stage: its schema, its names, its rules. Gives the number of its functions.
///
/// # Errors
/// All that are found.
pub fn check_stage(stage: StageName, text: &str) -> Result<usize, Vec<StageError>> {
    let document = read_stage_text(stage, text)?;
    let (count, errors) = match stage {
        StageName::Ussa => {
            let functions = ussa_functions(&document, None)?;
            (functions.len(), verify_ussa(&functions))
        }
        StageName::Tssa => {
            let instances = tssa_instances(&document, None)?;
            (instances.len(), verify_tssa(&instances))
        }
        StageName::Low => {
            let functions = low_functions(&document, None)?;
            (functions.len(), verify_low(&functions))
        }
    };
    if errors.is_empty() { Ok(count) } else { Err(errors) }
}

/// Compiles the first function of a stage's text for types of its arguments; what is left out has defaults.
///
/// # Errors
/// What is wrong with the text, with the rules of its stage, or at a later stage.
pub fn compile_stage(
    stage: StageName,
    text: &str,
    args: &[FunctionType],
    options: &FunctionOptions,
) -> Result<CompiledFunction, StageFailure> {
    check_stage(stage, text)?;
    let document = read_stage_text(stage, text)?;
    match stage {
        StageName::Ussa => {
            let functions = ussa_functions(&document, None)?;
            let first = functions.first().ok_or_else(nothing)?;
            let defaults = defaults(&first.parameters, args.len())?;
            let types = defaults.iter().filter_map(|value| FunctionType::of_qtype(&value.qtype()));
            let args: Vec<FunctionType> = args.iter().cloned().chain(types).collect();
            let lines = SourceLines::new(text);
            let instances = infer_built(functions, &lines, &args).map_err(StageFailure::Function)?;
            let errors = verify_tssa(&instances);
            if !errors.is_empty() {
                return Err(StageFailure::Stage(errors));
            }
            from_typed(instances, defaults, options)
        }
        StageName::Tssa => {
            let instances = tssa_instances(&document, None)?;
            let first = instances.first().ok_or_else(nothing)?;
            let defaults = defaults(&first.function.parameters, args.len())?;
            takes(&first.args[..args.len()], args)?;
            from_typed(instances, defaults, options)
        }
        StageName::Low => {
            let functions = low_functions(&document, None)?;
            let first = functions.first().ok_or_else(nothing)?;
            let wanted: Option<Vec<FunctionType>> =
                first.parameters.iter().map(|(_, of)| FunctionType::of_qtype(of)).collect();
            let wanted =
                wanted.ok_or_else(|| refused("a parameter is of a type that functions do not take"))?;
            takes(&wanted, args)?;
            let result = FunctionType::of_result(&first.result);
            let name = first.name.clone();
            let interface = FunctionInterface { name, args: wanted, result, defaults: Vec::new() };
            let low = LowFunctions { interface, functions, warnings: Vec::new() };
            let pipeline = FunctionPipeline::standard(options);
            let given = || identity::<LowFunctions, Vec<FunctionError>>("is given");
            let from_low = pipeline.with_infer(given()).with_lower(given());
            from_low.run(low).map_err(StageFailure::Function)
        }
    }
}

fn from_typed(
    instances: Vec<Instance>,
    defaults: Vec<Value>,
    options: &FunctionOptions,
) -> Result<CompiledFunction, StageFailure> {
    let given = identity::<TypedFunctions, Vec<FunctionError>>("is given");
    let from_tssa = FunctionPipeline::standard(options).with_infer(given);
    from_tssa.run(TypedFunctions { instances, defaults }).map_err(StageFailure::Function)
}

fn nothing() -> StageFailure {
    refused("there is no function in the text")
}

fn refused(what: &str) -> StageFailure {
    let problem = StageProblem::Datum { what: what.to_owned() };
    StageFailure::Stage(vec![StageError { problem, span: Span::default() }])
}

/// Default values of the parameters behind those that are given.
fn defaults(parameters: &[(String, Option<Constant>)], given: usize) -> Result<Vec<Value>, StageFailure> {
    let Some(rest) = parameters.get(given..) else {
        return Err(refused(&format!("the function takes {} arguments", parameters.len())));
    };
    let value = |(name, default): &(String, Option<Constant>)| {
        Ok(Value::Scalar(match default {
            Some(Constant::None) => ScalarValue::Unit,
            Some(Constant::Bool(value)) => ScalarValue::Boolean(*value),
            Some(Constant::Int(value)) => ScalarValue::Int64(*value),
            Some(Constant::Float(value)) => ScalarValue::Float64(*value),
            Some(Constant::Text(_)) | None => {
                return Err(refused(&format!("the argument `{name}` is missing")));
            }
        }))
    };
    rest.iter().map(value).collect()
}

/// Checks that the function is for arguments of these types.
fn takes(wanted: &[FunctionType], given: &[FunctionType]) -> Result<(), StageFailure> {
    match wanted == given {
        true => Ok(()),
        false => {
            let list = |types: &[FunctionType]| {
                types.iter().map(FunctionType::to_string).collect::<Vec<_>>().join(", ")
            };
            Err(refused(&format!("the function is for arguments ({}), not ({})", list(wanted), list(given))))
        }
    }
}
