//! From a module to a bound function for types of its arguments.

use crate::compile::CompileError;
use crate::function::build::build;
use crate::function::constant::Constant;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::infer::{Instance, InstanceId, infer};
use crate::function::low::{LowFunction, lower};
use crate::function::module::FunctionModule;
use crate::function::options::FunctionOptions;
use crate::function::program::program;
use crate::function::types::FunctionType;
use cembra_vm::builtins;
use cembra_vm::machine::BoundExpr;
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
    let compiled = |error: CompileError| {
        vec![FunctionError::new(FunctionProblem::Compile(Arc::new(error)), Span::default())]
    };
    let program = program(stages.low, &builtins::table(), &options.compile).map_err(|error| vec![error])?;
    slot_check::check(&program).map_err(|error| compiled(error.into()))?;
    let bound = BoundExpr::new(Arc::new(program)).map_err(|error| compiled(error.into()))?;
    let result = result.unwrap_or(FunctionType::None);
    Ok(CompiledFunction { name: name.to_owned(), args, result, bound, defaults })
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
    Ok(FunctionStages { low: lowered.map_err(|error| vec![error])?, instances })
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

    /// The bound program alone.
    pub fn into_bound(self) -> BoundExpr {
        self.bound
    }

    /// The bound program: inputs by the names of the parameters.
    pub fn bound(&self) -> &BoundExpr {
        &self.bound
    }
}
