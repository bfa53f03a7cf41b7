//! From a module to a bound function for types of its arguments: the named sequence of function stages.
//!
//! ```text
//! FunctionRequest ─tssa─> TypedFunctions ─low─> LowFunctions ─passes─> LowFunctions
//!                 ─program─> FunctionProgram ─bind─> CompiledFunction
//! ```
//!
//! Every step can be replaced. What begins at a later stage, such as the text of one, replaces the steps before it by
//! [`identity`](crate::workflow::identity).
//!
//! [`StageRules`] observes the sequence in debug builds: what breaks a rule of a stage is a bug of the step before.

use crate::function::check::FunctionWarning;
use crate::function::compiled::CompiledFunction;
use crate::function::error::{FunctionError, FunctionProblem};
use crate::function::infer::{Instance, type_errors};
use crate::function::low::{LowFunction, low_errors};
use crate::function::module::FunctionModule;
use crate::function::options::FunctionOptions;
use crate::function::passes::optimize;
use crate::function::stage_text::{low_text, tssa_text, ussa_text};
use crate::function::steps::{
    AssembleProgram, BindFunction, FunctionProgram, FunctionRequest, InferTypes, LowFunctions,
    LowerFunctions, RunPasses, TypedFunctions, lowered,
};
use crate::function::types::FunctionType;
use crate::ssa::SsaError;
use crate::workflow::{Artifact, Step, StepObserver, named_sequence};
use cembra_vm::builtins;
use cembra_vm::program::dump;
use cembra_vm::program::instruction::Span;

named_sequence! {
    /// The sequence from a function of a module to one that can be called.
    #[derive(Clone)]
    pub struct FunctionPipeline: error Vec<FunctionError>, observer StageRules {
        /// Finds the types of all values.
        infer: Infer = InferTypes => Typed, "tssa", with_infer;
        /// Takes operators of the machine.
        lower: Lower = LowerFunctions => Lowered, "low", with_lower;
        /// Makes the same of fewer instructions.
        passes: Passes = RunPasses => Passed, "passes", with_passes;
        /// Lays out instructions and slots.
        program: Assemble = AssembleProgram => Assembled, "program", with_program;
        /// Binds the program.
        bind: Bind = BindFunction => Bound, "bind", with_bind;
    }
}

impl FunctionPipeline {
    /// The standard steps, with options for those that have some.
    pub fn standard(options: &FunctionOptions) -> FunctionPipeline {
        FunctionPipeline::new(
            InferTypes,
            LowerFunctions { options: options.clone() },
            RunPasses,
            AssembleProgram { options: options.compile.clone() },
            BindFunction,
            StageRules { check: cfg!(debug_assertions) },
        )
    }
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
    FunctionPipeline::standard(options).run(FunctionRequest { module, name, args: args.to_vec() })
}

/// The stages of a function, for texts.
#[derive(Debug)]
pub struct FunctionStages {
    /// The function and those that it calls, typed.
    pub instances: Vec<Instance>,
    /// The same on the machine's types.
    pub low: Vec<LowFunction>,
}

/// The stages before the passes.
///
/// # Errors
/// As [`compile_function`].
pub fn stages(
    module: &FunctionModule,
    name: &str,
    args: &[FunctionType],
    options: &FunctionOptions,
) -> Result<FunctionStages, Vec<FunctionError>> {
    let TypedFunctions { instances, .. } =
        InferTypes.run(FunctionRequest { module, name, args: args.to_vec() })?;
    let stages = FunctionStages { low: lowered(&instances, options)?, instances };
    if cfg!(debug_assertions) {
        check_typed(&stages.instances).and_then(|()| check_low(&stages.low, "low")).map_err(|e| vec![e])?;
    }
    Ok(stages)
}

/// The stage `low` after its passes, and the loops over `prange` that run serially.
///
/// # Errors
/// A pass broke a rule of the stage: a bug of ours.
pub fn optimized(low: &[LowFunction]) -> Result<(Vec<LowFunction>, Vec<FunctionWarning>), FunctionError> {
    let mut low = low.to_vec();
    let warnings = optimize(&mut low, &builtins::table())?;
    if cfg!(debug_assertions) {
        check_low(&low, "passes")?;
    }
    Ok((low, warnings))
}

/// The observer that checks the rules of stages, if it is on.
#[derive(Clone, Copy, Debug)]
pub struct StageRules {
    check: bool,
}

impl StepObserver<TypedFunctions, Vec<FunctionError>> for StageRules {
    fn observe(&self, _: &'static str, typed: &TypedFunctions) -> Result<(), Vec<FunctionError>> {
        if self.check { check_typed(&typed.instances).map_err(|error| vec![error]) } else { Ok(()) }
    }
}

impl StepObserver<LowFunctions, Vec<FunctionError>> for StageRules {
    fn observe(&self, step: &'static str, low: &LowFunctions) -> Result<(), Vec<FunctionError>> {
        if self.check { check_low(&low.functions, step).map_err(|error| vec![error]) } else { Ok(()) }
    }
}

impl StepObserver<FunctionProgram, Vec<FunctionError>> for StageRules {
    /// The step has checked the slots.
    fn observe(&self, _: &'static str, _: &FunctionProgram) -> Result<(), Vec<FunctionError>> {
        Ok(())
    }
}

impl StepObserver<CompiledFunction, Vec<FunctionError>> for StageRules {
    /// Binding has verified the program.
    fn observe(&self, _: &'static str, _: &CompiledFunction) -> Result<(), Vec<FunctionError>> {
        Ok(())
    }
}

fn check_typed(instances: &[Instance]) -> Result<(), FunctionError> {
    let first = (0..instances.len()).find_map(|at| type_errors(instances, at).into_iter().next());
    first.map_or(Ok(()), |error| Err(broken("tssa", error)))
}

fn check_low(low: &[LowFunction], stage: &'static str) -> Result<(), FunctionError> {
    let table = builtins::table();
    let first = (0..low.len()).find_map(|at| low_errors(low, at, &table).into_iter().next());
    first.map_or(Ok(()), |error| Err(broken(stage, error)))
}

fn broken(stage: &'static str, error: SsaError) -> FunctionError {
    FunctionError::new(FunctionProblem::Stage { stage, error }, Span::default())
}

impl Artifact for TypedFunctions {
    fn texts(&self, _: &'static str) -> Vec<(&'static str, String)> {
        let texts =
            |text: fn(&Instance) -> String| self.instances.iter().map(text).collect::<Vec<_>>().join("\n");
        vec![("ussa", texts(ussa_text)), ("tssa", texts(tssa_text))]
    }
}

impl Artifact for LowFunctions {
    fn texts(&self, step: &'static str) -> Vec<(&'static str, String)> {
        vec![(step, self.functions.iter().map(low_text).collect::<Vec<_>>().join("\n"))]
    }
}

impl Artifact for FunctionProgram {
    fn texts(&self, step: &'static str) -> Vec<(&'static str, String)> {
        vec![(step, dump::dump(&self.program))]
    }
}

impl Artifact for CompiledFunction {
    /// The program has been shown before it was bound.
    fn texts(&self, _: &'static str) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{identity, step};
    use cembra_vm::value::{Budget, Value};
    use std::cell::{Cell, RefCell};

    const SOURCE: &str =
        "def total(n):\n    s = 0\n    for i in range(n):\n        s += i * 2 + 1\n    return s\n";

    fn request(module: &FunctionModule) -> FunctionRequest<'_> {
        FunctionRequest { module, name: "total", args: vec![FunctionType::Int] }
    }

    fn total(function: &CompiledFunction) -> Value {
        function.call(&[Value::from(7i64)], &Budget::default()).expect("it fits").value
    }

    /// Names of the stages that have texts.
    #[derive(Default)]
    struct Shown(RefCell<Vec<&'static str>>);

    impl<A: Artifact, E> StepObserver<A, E> for Shown {
        fn observe(&self, step: &'static str, artifact: &A) -> Result<(), E> {
            self.0.borrow_mut().extend(artifact.texts(step).iter().map(|(stage, _)| stage));
            Ok(())
        }
    }

    #[test]
    fn a_step_is_replaced_and_the_others_stay() {
        let module = FunctionModule::parse(SOURCE).expect("it parses");
        let standard = FunctionPipeline::standard(&FunctionOptions::default());
        let runs = Cell::new(0);
        let counted = step("counted passes", |low: LowFunctions| {
            runs.set(runs.get() + 1);
            RunPasses.run(low)
        });
        let plain = identity::<LowFunctions, Vec<FunctionError>>("no passes");
        let [counted, plain] = [
            standard.clone().with_passes(counted).run(request(&module)),
            standard.with_passes(plain).run(request(&module)),
        ];
        assert_eq!((total(&counted.expect("it compiles")), runs.get()), (Value::from(49i64), 1));
        assert_eq!(total(&plain.expect("it compiles")), Value::from(49i64));
    }

    #[test]
    fn a_sequence_may_begin_and_end_elsewhere() {
        let module = FunctionModule::parse(SOURCE).expect("it parses");
        let standard = FunctionPipeline::standard(&FunctionOptions::default());
        let typed = InferTypes.run(request(&module)).expect("it has types");
        let given = identity::<TypedFunctions, Vec<FunctionError>>("given");
        let function = standard.with_infer(given).run(typed).expect("it compiles");
        assert_eq!(total(&function), Value::from(49i64));
        let name =
            step("name", |program: FunctionProgram| Ok::<_, Vec<FunctionError>>(program.interface.name));
        let without_rules = FunctionPipeline::new(
            InferTypes,
            LowerFunctions::default(),
            RunPasses,
            AssembleProgram::default(),
            name,
            (),
        );
        assert_eq!(without_rules.run(request(&module)).expect("it compiles"), "total");
    }

    #[test]
    fn observers_see_every_stage() {
        let (module, shown) = (FunctionModule::parse(SOURCE).expect("it parses"), Shown::default());
        let pipeline = FunctionPipeline::standard(&FunctionOptions::default()).observed_by(&shown);
        pipeline.run(request(&module)).expect("it compiles");
        assert_eq!(*shown.0.borrow(), ["ussa", "tssa", "low", "passes", "program"]);
    }
}
