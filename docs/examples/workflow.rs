//! A host replaces steps, one of preparation and one of the function stages, and composes steps of its own.
//!
//! A choice is made where a sequence is composed, by taking another step. Nothing else changes: the sequence runs the
//! new step in the place of the old one, shows its result to the same observers, and checks the same conditions.

use cembra::expr::Expr;
use cembra::function::steps::{FunctionRequest, LowFunctions, RunPasses};
use cembra::function::{
    CompiledFunction, FunctionError, FunctionModule, FunctionOptions, FunctionPipeline, FunctionType,
};
use cembra::host::{Accessors, ExecutorOptions, ModelExecutor};
use cembra::prepare::draft::Draft;
use cembra::prepare::optimize::optimize;
use cembra::prepare::{Prepare, RuleSet};
use cembra::syntax::parse;
use cembra::vm::machine::Budget;
use cembra::vm::value::Value;
use cembra::workflow::{Artifact, Cached, MemoryStore, Step, StepList, StepObserver, by_input, step};
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

/// Text to expression, in steps that the text chooses: a formula after `=`, as in a table of cells, first loses the sign.
/// Steps with errors of their own are brought to one type before they are chained.
fn reading() -> impl Step<String, Out = Expr, Err = String> {
    let trim = step("trim", |text: String| Ok(text.trim().to_owned())).shared();
    let without_sign =
        step("without sign", |text: String| Ok(text.trim_start_matches('=').to_owned())).shared();
    let tidy = by_input("tidy", move |text: &String| match text.contains('=') {
        true => StepList::from([trim.clone(), without_sign.clone()]),
        false => StepList::from([trim.clone()]),
    });
    let to_expr =
        step("parse", |text: String| parse(&text)).map_err(|error| format!("no expression: {error}"));
    let has_leaves = step("has leaves", |expr: Expr| match expr.leaves().is_empty() {
        false => Ok(expr),
        true => Err("nothing to vary"),
    });
    tidy.chain(to_expr).chain(has_leaves.err_into())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let expr = reading().run(" =math.sqrt(x * x + 1.0)".to_owned())?;
    assert_eq!(expr, reading().run("math.sqrt(x * x + 1.0) ".to_owned())?);
    let refused = |text: &str| reading().run(text.to_owned()).err();
    assert_eq!(refused("1.0").as_deref(), Some("nothing to vary"));
    assert!(refused("= x +").is_some_and(|error| error.starts_with("no expression: ")));
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
