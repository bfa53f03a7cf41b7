//! A host replaces steps: one of preparation, and one of the function stages.
//!
//! A choice is made where a sequence is composed, by taking another step. Nothing else changes: the sequence runs the
//! new step in the place of the old one, shows its result to the same observers, and checks the same conditions.

use cembra::function::steps::{FunctionRequest, LowFunctions, RunPasses};
use cembra::function::{
    CompiledFunction, FunctionError, FunctionModule, FunctionOptions, FunctionPipeline, FunctionType,
};
use cembra::host::{Accessors, ExecutorOptions, ModelExecutor};
use cembra::prepare::draft::Draft;
use cembra::prepare::optimize::optimize;
use cembra::prepare::{Prepare, RuleSet};
use cembra::vm::machine::Budget;
use cembra::vm::value::Value;
use cembra::workflow::{Artifact, Cached, MemoryStore, Step, StepObserver, step};
use std::cell::RefCell;
use std::sync::Arc;

/// Notes the number of lines of every stage.
#[derive(Default)]
struct Lines(RefCell<Vec<(&'static str, usize)>>);

impl<A: Artifact, E> StepObserver<A, E> for Lines {
    fn observe(&self, step: &'static str, artifact: &A) -> Result<(), E> {
        let texts = artifact.texts(step).into_iter();
        self.0.borrow_mut().extend(texts.map(|(stage, text)| (stage, text.lines().count())));
        Ok(())
    }
}

/// Preparation: the optimizer leaves large expressions alone. A shared step keeps the type `Prepare`, which hosts take.
fn preparation() -> Prepare {
    let rules = RuleSet::strict();
    let small_only = step("optimize", move |draft: Draft| optimize(draft, &rules))
        .skip_if(|draft: &Draft| draft.graph.len() > 10_000);
    Prepare::standard().with_optimize(small_only.shared())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let expr = cembra::syntax::parse("math.sqrt(x * x + 1.0)")?;
    let loader = Accessors::new().with("x", |x: &f64| *x);
    let options = ExecutorOptions { prepare: preparation(), ..ExecutorOptions::default() };
    let model = ModelExecutor::<f64, f64>::compile_with(&expr, &loader, None, options)?;
    assert_eq!(model.execute(&0.0)?, 1.0);

    // Function stages: the passes run twice. A step that is not shared gives the sequence a type of its own.
    let source = "def total(n):\n    s = 0\n    for i in range(n):\n        s += i * 2\n    return s\n";
    let module = FunctionModule::parse(source).map_err(|errors| errors[0].clone())?;
    let twice = step("passes, twice", |low: LowFunctions| RunPasses.run(RunPasses.run(low)?));
    let lines = Lines::default();
    let pipeline =
        FunctionPipeline::standard(&FunctionOptions::default()).with_passes(twice).observed_by(&lines);

    // A whole sequence is a step, and may stand behind a store: the function is compiled once for each list of types.
    let compile = step("total", |types: Vec<cembra::vm::value::QType>| {
        let args = types.iter().filter_map(FunctionType::of_qtype).collect();
        pipeline.run(FunctionRequest { module: &module, name: "total", args }).map(Arc::new)
    });
    let compile: Cached<_, _, Arc<CompiledFunction>, Vec<FunctionError>> =
        Cached::new(compile, &("total", source), MemoryStore::new(64));
    for n in [3i64, 10, 100] {
        let argument = Value::from(n);
        let total = compile.run(vec![argument.qtype()]).map_err(|errors| errors[0].clone())?;
        assert_eq!(total.call(&[argument], &Budget::default())?.value, Value::from(n * (n - 1)));
    }
    let stages: Vec<&str> = lines.0.borrow().iter().map(|(stage, _)| *stage).collect();
    assert_eq!(stages, ["ussa", "tssa", "low", "passes", "program"], "one compilation for three calls");
    println!("{:?}", lines.0.borrow());
    Ok(())
}
