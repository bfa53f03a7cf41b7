//! The steps from a function of a module to one that can be called, and the stages between them.
//!
//! ```text
//! FunctionRequest ─infer─> TypedFunctions ─lower─> LowFunctions ─passes─> LowFunctions
//!                          ussa, tssa              low                    passes
//!                 ─program─> FunctionProgram ─bind─> CompiledFunction
//! ```
//!
//! Options belong to steps: `lower` has those of numbers, `program` those of slots. The sequence is
//! [`FunctionPipeline`](crate::function::compile::FunctionPipeline).

use crate::compile::{CompileError, Options, tier};
use crate::function::build::build;
use crate::function::check::FunctionWarning;
use crate::function::compiled::{CompiledFunction, FunctionInterface};
use crate::function::constant::Constant;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::infer::{Instance, InstanceId, infer};
use crate::function::low::{LowFunction, lower};
use crate::function::module::FunctionModule;
use crate::function::options::FunctionOptions;
use crate::function::passes::optimize;
use crate::function::program::program;
use crate::function::types::FunctionType;
use crate::workflow::Step;
use cembra_vm::builtins;
use cembra_vm::program::instruction::Span;
use cembra_vm::program::{Program, slot_check};
use cembra_vm::value::{ScalarValue, Value};
use std::sync::Arc;

/// A function of a module, and types of its first arguments; the others have defaults.
#[derive(Clone, Debug)]
pub struct FunctionRequest<'m> {
    /// The module.
    pub module: &'m FunctionModule,
    /// Name of the function.
    pub name: &'m str,
    /// Types of the arguments.
    pub args: Vec<FunctionType>,
}

/// The stages `ussa` and `tssa`: a function and those that it calls, for types of their arguments.
#[derive(Clone, Debug)]
pub struct TypedFunctions {
    /// The instances, of which the first is called.
    pub instances: Vec<Instance>,
    /// Values of the last parameters of the first.
    pub defaults: Vec<Value>,
}

/// The stage `low`, before its passes or after: operators of the machine.
#[derive(Clone, Debug)]
pub struct LowFunctions {
    /// What the first function looks like.
    pub interface: FunctionInterface,
    /// The functions, of which the first is called.
    pub functions: Vec<LowFunction>,
    /// Loops over `prange` that run serially, once the passes have run.
    pub warnings: Vec<FunctionWarning>,
}

/// A program that is not bound yet.
#[derive(Clone, Debug)]
pub struct FunctionProgram {
    /// What its main routine looks like.
    pub interface: FunctionInterface,
    /// The program.
    pub program: Program,
    /// Loops over `prange` that run serially.
    pub warnings: Vec<FunctionWarning>,
}

impl TypedFunctions {
    /// What the first function looks like.
    pub fn interface(&self) -> FunctionInterface {
        let first = &self.instances[0];
        FunctionInterface {
            name: first.function.name.clone(),
            args: first.args.clone(),
            result: first.result.clone().unwrap_or(FunctionType::None),
            defaults: self.defaults.clone(),
        }
    }
}

/// The step to the stage `tssa`: finds the types of all values.
#[derive(Clone, Copy, Debug, Default)]
pub struct InferTypes;

impl Step<FunctionRequest<'_>> for InferTypes {
    type Out = TypedFunctions;
    type Err = Vec<FunctionError>;

    fn name(&self) -> &str {
        "infer"
    }

    fn run(&self, request: FunctionRequest<'_>) -> Result<TypedFunctions, Vec<FunctionError>> {
        let FunctionRequest { module, name, mut args } = request;
        let id = module.function(name).map_err(|error| vec![error])?;
        let defaults = defaults(module, name, args.len())?;
        args.extend(defaults.iter().filter_map(|value| FunctionType::of_qtype(&value.qtype())));
        Ok(TypedFunctions { instances: infer(module, id, &args)?, defaults })
    }
}

/// The step to the stage `low`: operators of the machine in the place of those of Python.
#[derive(Clone, Debug, Default)]
pub struct LowerFunctions {
    /// What integers that do not fit do, and arguments outside of a domain.
    pub options: FunctionOptions,
}

impl Step<TypedFunctions> for LowerFunctions {
    type Out = LowFunctions;
    type Err = Vec<FunctionError>;

    fn name(&self) -> &str {
        "lower"
    }

    fn run(&self, typed: TypedFunctions) -> Result<LowFunctions, Vec<FunctionError>> {
        let functions = lowered(&typed.instances, &self.options)?;
        Ok(LowFunctions { interface: typed.interface(), functions, warnings: Vec::new() })
    }
}

/// The instances on the machine's types.
pub(super) fn lowered(
    instances: &[Instance],
    options: &FunctionOptions,
) -> Result<Vec<LowFunction>, Vec<FunctionError>> {
    let numbers = (0..instances.len() as u32).map(InstanceId);
    numbers.map(|at| lower(instances, at, options)).collect::<Result<_, _>>().map_err(|error| vec![error])
}

/// The step that runs the passes.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunPasses;

impl Step<LowFunctions> for RunPasses {
    type Out = LowFunctions;
    type Err = Vec<FunctionError>;

    fn name(&self) -> &str {
        "passes"
    }

    fn run(&self, mut low: LowFunctions) -> Result<LowFunctions, Vec<FunctionError>> {
        low.warnings = optimize(&mut low.functions, &builtins::table()).map_err(|error| vec![error])?;
        Ok(low)
    }
}

/// The step from the stage `low` to a program whose slots are checked.
#[derive(Clone, Debug, Default)]
pub struct AssembleProgram {
    /// How slots are laid out.
    pub options: Options,
}

impl Step<LowFunctions> for AssembleProgram {
    type Out = FunctionProgram;
    type Err = Vec<FunctionError>;

    fn name(&self) -> &str {
        "program"
    }

    fn run(&self, low: LowFunctions) -> Result<FunctionProgram, Vec<FunctionError>> {
        let LowFunctions { interface, functions, warnings } = low;
        let program = program(functions, &builtins::table(), &self.options).map_err(|error| vec![error])?;
        slot_check::check(&program).map_err(|error| failed(error.into()))?;
        Ok(FunctionProgram { interface, program, warnings })
    }
}

/// The last step: binds the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct BindFunction;

impl Step<FunctionProgram> for BindFunction {
    type Out = CompiledFunction;
    type Err = Vec<FunctionError>;

    fn name(&self) -> &str {
        "bind"
    }

    fn run(&self, program: FunctionProgram) -> Result<CompiledFunction, Vec<FunctionError>> {
        let FunctionProgram { interface, program, warnings } = program;
        let bound = tier::bind(program).map_err(|error| failed(error.into()))?;
        Ok(CompiledFunction { interface, bound, warnings })
    }
}

fn failed(error: CompileError) -> Vec<FunctionError> {
    vec![FunctionError::new(FunctionProblem::Compile(Arc::new(error)), Span::default())]
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
    let failed =
        |message: String, at: usize| vec![FunctionError::types(message, module.place_of_parameter(id, at))];
    if given > parameters.len() {
        let count = parameters.len();
        return Err(failed(
            format!("{name}() takes {count} positional arguments but {given} were given"),
            count,
        ));
    }
    let value = |(at, (parameter, default)): (usize, &(String, Option<Constant>))| {
        let scalar = match default {
            Some(Constant::Int(value)) => ScalarValue::Int64(*value),
            Some(Constant::Float(value)) => ScalarValue::Float64(*value),
            Some(Constant::Bool(value)) => ScalarValue::Boolean(*value),
            Some(Constant::None) => ScalarValue::Unit,
            _ => return Err(failed(format!("{name}() missing a required argument: '{parameter}'"), at)),
        };
        Ok(Value::Scalar(scalar))
    };
    parameters.iter().enumerate().skip(given).map(value).collect()
}
