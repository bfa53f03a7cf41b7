//! From a module to a bound function for types of its arguments.

use crate::compile::{CompileError, tier};
use crate::function::build::build;
use crate::function::check::FunctionWarning;
use crate::function::constant::Constant;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::infer::{Instance, InstanceId, infer, type_errors};
use crate::function::low::{LowFunction, low_errors, lower};
use crate::function::module::FunctionModule;
use crate::function::options::FunctionOptions;
use crate::function::passes::optimize;
use crate::function::program::program;
use crate::function::types::FunctionType;
use cembra_vm::builtins;
use cembra_vm::machine::BoundExpr;
use cembra_vm::operator::OperatorTable;
use cembra_vm::program::instruction::Span;
use cembra_vm::program::slot_check;
use cembra_vm::value::{ScalarValue, Value};
use std::sync::Arc;

/// A function that is ready to be called with arguments of its types.
#[derive(Debug)]
pub struct CompiledFunction {
    pub(super) name: String,
    pub(super) args: Vec<FunctionType>,
    pub(super) result: FunctionType,
    pub(super) bound: BoundExpr,
    /// Default values of the last parameters.
    pub(super) defaults: Vec<Value>,
    pub(super) warnings: Vec<FunctionWarning>,
}

/// The stages of a function, for texts.
#[derive(Debug)]
pub struct FunctionStages {
    /// The function and those that it calls, typed.
    pub instances: Vec<Instance>,
    /// The same on the machine's types.
    pub low: Vec<LowFunction>,
}

/// Compiles a function for types of its arguments. Arguments that are left out have defaults.
///
/// # Errors
/// Whatever is wrong with the function, all that is found at the first stage that finds something.
pub fn compile_function(
    module: &FunctionModule,
    name: &str,
    args: &[FunctionType],
    options: &FunctionOptions,
) -> Result<CompiledFunction, Vec<FunctionError>> {
    let defaults = defaults(module, name, args.len())?;
    let stages = stages(module, name, args, options)?;
    let (args, result) = (stages.instances[0].args.clone(), stages.instances[0].result.clone());
    let (low, warnings) = optimized(&stages.low).map_err(|error| vec![error])?;
    let bound = bind(low, options).map_err(|error| vec![error])?;
    let result = result.unwrap_or(FunctionType::None);
    Ok(CompiledFunction { name: name.to_owned(), args, result, bound, defaults, warnings })
}

/// The bound program of functions behind their passes, the first of which is called.
pub(crate) fn bind(low: Vec<LowFunction>, options: &FunctionOptions) -> Result<BoundExpr, FunctionError> {
    let compiled =
        |error: CompileError| FunctionError::new(FunctionProblem::Compile(Arc::new(error)), Span::default());
    let program = program(low, &builtins::table(), &options.compile)?;
    slot_check::check(&program).map_err(|error| compiled(error.into()))?;
    tier::bind(program).map_err(|error| compiled(error.into()))
}

/// The stage `low` after its passes, and the loops over `prange` that run serially.
///
/// # Errors
/// A pass broke a rule of the stage: a bug of ours.
pub fn optimized(low: &[LowFunction]) -> Result<(Vec<LowFunction>, Vec<FunctionWarning>), FunctionError> {
    let (mut low, table) = (low.to_vec(), builtins::table());
    let warnings = optimize(&mut low, &table)?;
    if cfg!(debug_assertions) {
        check_low(&low, "passes", &table)?;
    }
    Ok((low, warnings))
}

/// The stages before the program.
///
/// # Errors
/// As [`compile_function`].
pub fn stages(
    module: &FunctionModule,
    name: &str,
    args: &[FunctionType],
    options: &FunctionOptions,
) -> Result<FunctionStages, Vec<FunctionError>> {
    let id = module.function(name).map_err(|error| vec![error])?;
    let defaults = defaults(module, name, args.len())?;
    let defaults = defaults.iter().filter_map(|value| FunctionType::of_qtype(&value.qtype()));
    let args: Vec<FunctionType> = args.iter().cloned().chain(defaults).collect();
    let instances = infer(module, id, &args)?;
    let lowered: Result<Vec<LowFunction>, FunctionError> =
        (0..instances.len() as u32).map(|at| lower(&instances, InstanceId(at), options)).collect();
    let stages = FunctionStages { low: lowered.map_err(|error| vec![error])?, instances };
    if cfg!(debug_assertions) {
        verify(&stages).map_err(|error| vec![error])?;
    }
    Ok(stages)
}

/// Checks the rules of the stages; what breaks one is a bug of the pass before.
fn verify(stages: &FunctionStages) -> Result<(), FunctionError> {
    let failed = |stage, error| FunctionError::new(FunctionProblem::Stage { stage, error }, Span::default());
    for at in 0..stages.instances.len() {
        type_errors(&stages.instances, at).into_iter().next().map_or(Ok(()), |e| Err(failed("tssa", e)))?;
    }
    check_low(&stages.low, "low", &builtins::table())
}

fn check_low(low: &[LowFunction], stage: &'static str, table: &OperatorTable) -> Result<(), FunctionError> {
    let first = (0..low.len()).find_map(|at| low_errors(low, at, table).into_iter().next());
    let failed = |error| FunctionError::new(FunctionProblem::Stage { stage, error }, Span::default());
    first.map_or(Ok(()), |error| Err(failed(error)))
}

/// Default values of the parameters behind those that are given.
fn defaults(module: &FunctionModule, name: &str, given: usize) -> Result<Vec<Value>, Vec<FunctionError>> {
    let id = module.function(name).map_err(|error| vec![error])?;
    let parameters = build(module, id)?.parameters;
    if let Some(span) = module.rest_parameter(id) {
        let message = "a function that a host calls has a fixed number of parameters";
        let hint = "write every parameter out, or call it from a function that has them";
        return Err(vec![FunctionError::unsupported("parameter-kinds", message, hint, span)]);
    }
    let failed = |message: String| vec![FunctionError::types(message, Span::default())];
    if given > parameters.len() {
        let count = parameters.len();
        return Err(failed(format!("{name}() takes {count} positional arguments but {given} were given")));
    }
    let value = |(parameter, default): &(String, Option<Constant>)| {
        let scalar = match default {
            Some(Constant::Int(value)) => ScalarValue::Int64(*value),
            Some(Constant::Float(value)) => ScalarValue::Float64(*value),
            Some(Constant::Bool(value)) => ScalarValue::Boolean(*value),
            Some(Constant::None) => ScalarValue::Unit,
            _ => return Err(failed(format!("{name}() missing a required argument: '{parameter}'"))),
        };
        Ok(Value::Scalar(scalar))
    };
    parameters[given..].iter().map(value).collect()
}

impl CompiledFunction {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Types of the arguments.
    pub fn args(&self) -> &[FunctionType] {
        &self.args
    }

    /// Type of the result.
    pub fn result(&self) -> &FunctionType {
        &self.result
    }

    /// Values of the arguments that were left out: those of the last parameters. A host that calls the program on a
    /// frame of its own writes them into the last inputs.
    pub fn defaults(&self) -> &[Value] {
        &self.defaults
    }

    /// Loops over `prange` that run serially, with the reasons.
    pub fn warnings(&self) -> &[FunctionWarning] {
        &self.warnings
    }

    /// The bound program alone.
    pub fn into_bound(self) -> BoundExpr {
        self.bound
    }

    /// The bound program: inputs by the names of the parameters.
    pub fn bound(&self) -> &BoundExpr {
        &self.bound
    }
}
