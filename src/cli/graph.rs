//! `cembra graph`: evaluates and prints graphs of array operations.

pub mod array_json;
pub mod explain;
pub mod functions;
pub mod program;
pub mod recorded;
pub mod reports;

use crate::backend::profile::{Measured, Profile};
use crate::backend::{EvalError, Flags, Plan, State, evaluate_in_parallel, recorded as published};
use crate::cli::args::{
    BackendArg, GraphCommand, GraphMode, GraphPrintArgs, GraphRunArgs, GraphView, TraceArg,
};
use crate::cli::eval::shown;
use crate::cli::json_stream::print_json;
use crate::cli::report::{Phase, Report};
use crate::cli::{batch, print};
use crate::dag::array_text::{Detail, shape_text, value_text};
use crate::dag::ir::{compile_nodes, compile_trees};
use crate::dag::numpy_text::function_text;
use crate::dag::printing::{Spelling, dag_text, node_text};
use crate::dag::{Array, Dag, DagError, Node, forest, linearize};
use array_json::ArrayJson;
use cembra_vm::value::{Budget, Category};
use program::{Engine, Program};
use reports::{dag_report, eval_report, eval_report_in, read_program};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

/// Runs a command on a graph.
pub fn run(command: &GraphCommand) -> ExitCode {
    let (result, is_json) = match command {
        GraphCommand::Run(args @ GraphRunArgs { batch: Some(file), .. }) => {
            (run_batch(file, backend(args, Flags::from_environment()), &args.budget.budget()), false)
        }
        GraphCommand::Run(args) => (evaluate(args), args.json),
        GraphCommand::Print(args) => (show(args), false),
        GraphCommand::Explain(args) => (explain::explain(args), false),
    };
    match result {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(report) => report.print(None, is_json),
    }
}

/// Prints each line as soon as it is there.
fn run_batch(file: &Path, backend: BackendArg, budget: &Budget) -> Result<String, Report> {
    for case in &batch::cases(file)? {
        // A bug of ours that one case finds is no reason to lose the others.
        let line = catch_unwind(AssertUnwindSafe(|| recorded::line(case, backend, budget)));
        let bug =
            |_| json!({ "name": case["name"], "error": { "class": "RuntimeError", "message": batch::BUG } });
        print(&format!("{}\n", line.unwrap_or_else(bug)));
    }
    Ok(String::new())
}

/// What evaluates: what the command line says, or else the flags.
fn backend(args: &GraphRunArgs, flags: Flags) -> BackendArg {
    args.backend.unwrap_or(if flags.jit { BackendArg::Machine } else { BackendArg::Step })
}

fn evaluate(args: &GraphRunArgs) -> Result<String, Report> {
    let Some(file) = &args.program else { return Ok(String::new()) };
    let budget = args.budget.shared();
    let program = read_program(file)?;
    check_roots(file, &program)?;
    let spelling = spelling(&program, args.compat.is_some());
    let state = state(args, &program).map_err(eval_report)?.with_spelling(spelling);
    let mut state = state.with_budget(budget);
    let dag = dag(args.mode, &program).map_err(dag_report)?;
    if state.flags().jit && args.compat.is_some() {
        Plan::new(&dag).compute_before_its_turn(&mut state);
    }
    let result = match (args.compat, args.mode, &dag) {
        (None, ..) => evaluate_in_parallel(&mut state, &dag, args.threads),
        (Some(_), GraphMode::Nodes, _) => {
            let plan = linearize::forest(&program.roots, &[]).map_err(dag_report)?;
            published::evaluate_nodes(&mut state, &plan.nodes)
        }
        (Some(_), ..) => published::evaluate_dag(&mut state, &dag),
    };
    result.map_err(|error| eval_report_in(args.compat, error))?;
    let mut text = match (args.json, args.trace) {
        (true, _) => {
            print_json(&json_result(&state, &program, args).map_err(eval_report)?);
            return Ok(String::new());
        }
        (false, Some(_)) => String::new(),
        (false, None) => text_result(&state, &program).map_err(eval_report)?,
    };
    if let Some(profile) = state.profile() {
        text.push_str(&profile.to_string());
    }
    Ok(text)
}

/// Checks that there is something to evaluate, each once.
fn check_roots(file: &Path, program: &Program) -> Result<(), Report> {
    let mut met = HashSet::new();
    let twice = program.roots.iter().find(|root| !met.insert(root.id()));
    let what = match twice {
        Some(root) => format!("`roots` has node {} twice", root.id().number()),
        None if program.roots.is_empty() => "it has no `roots`; there is nothing to evaluate".to_owned(),
        None => return Ok(()),
    };
    Err(Report::new(Category::Parse, Phase::Compile, format!("{}: {what}", shown(file))))
}

/// A state with what the program and the command line say.
fn state(args: &GraphRunArgs, program: &Program) -> Result<State, EvalError> {
    let mut flags = Flags::from_environment();
    flags.jit = backend(args, flags) == BackendArg::Machine;
    flags.trace |= program.flags.trace || args.trace.is_some();
    flags.full |= program.flags.full || args.trace == Some(TraceArg::Full);
    flags.dump |= program.flags.dump;
    flags.breakpoints |= program.flags.breakpoints;
    let state = program.new_state()?.with_flags(flags);
    Ok(if args.profile { state.with_profile() } else { state })
}

fn dag(mode: GraphMode, program: &Program) -> Result<Dag, DagError> {
    match mode {
        GraphMode::Nodes | GraphMode::DagNodes => Ok(compile_nodes(&linearize::forest(&program.roots, &[])?)),
        GraphMode::DagTrees => Ok(compile_trees(forest::partition(&program.roots)?)),
    }
}

/// The spelling of the engine that was recorded, or ours.
fn spelling(program: &Program, is_compatible: bool) -> Spelling {
    match (is_compatible, program.engine) {
        (false, _) => Spelling::Cembra,
        (true, Engine::Cembra) => Spelling::Document,
        (true, engine) => engine.spelling(),
    }
}

/// The values of the roots: `n3 'total': float64 (2,)` and the elements.
fn text_result(state: &State, program: &Program) -> Result<String, EvalError> {
    let mut text = String::new();
    for root in &program.roots {
        let (data, value) = (root.data(), state.get_node_value(root)?);
        let name =
            if data.name.is_empty() { String::new() } else { format!(" '{}'", data.name.escape_debug()) };
        let (dtype, shape) = (value.dtype(), shape_text(value.shape()));
        let between = if value.shape().is_empty() { " " } else { "\n" };
        let elements = value_text(value, Detail::Summary);
        text.push_str(&format!("{}{name}: {dtype} {shape}{between}{elements}\n", root.id()));
    }
    Ok(text)
}

/// The values of the roots as JSON: `{"values": {number: array}, "profile"}`.
struct ResultJson<'s> {
    values: Vec<(u32, &'s Array)>,
    profile: Option<&'s Profile>,
}

impl Serialize for ResultJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("values", &RootsJson(&self.values))?;
        if let Some(profile) = self.profile {
            map.serialize_entry("profile", &profile.nodes.iter().map(measured_json).collect::<Vec<_>>())?;
        }
        map.end()
    }
}

struct RootsJson<'s>(&'s [(u32, &'s Array)]);

impl Serialize for RootsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(number, array)| (number.to_string(), ArrayJson(array))))
    }
}

fn measured_json(node: &Measured) -> Json {
    json!({
        "node": node.node.number(),
        "tree": node.tree.map(|tree| tree.number()),
        "operation": node.operation,
        "seconds": node.time.as_secs_f64(),
        "bytes": node.bytes,
    })
}

fn json_result<'s>(
    state: &'s State,
    program: &Program,
    args: &GraphRunArgs,
) -> Result<ResultJson<'s>, EvalError> {
    let value = |root: &Node| Ok((root.id().number(), state.get_node_value(root)?));
    let values = program.roots.iter().map(value).collect::<Result<_, EvalError>>()?;
    Ok(ResultJson { values, profile: state.profile().filter(|_| args.profile) })
}

fn show(args: &GraphPrintArgs) -> Result<String, Report> {
    let program = read_program(&args.program)?;
    let spelling = spelling(&program, args.compat.is_some());
    view(args.view, &program, spelling).map_err(dag_report)
}

fn view(view: GraphView, program: &Program, spelling: Spelling) -> Result<String, DagError> {
    let lines = |nodes: &[Node]| {
        nodes.iter().map(|node| node_text(&node.data(), spelling) + "\n").collect::<String>()
    };
    let plan = || linearize::forest(&program.roots, &program.boundary);
    match view {
        GraphView::Nodes => {
            let nodes = program.graph.ids().into_iter().filter_map(|id| program.graph.node(id.number()));
            Ok(lines(&nodes.collect::<Vec<_>>()))
        }
        GraphView::Linearized => Ok(lines(&plan()?.nodes)),
        GraphView::Ir => Ok(dag_text(&compile_nodes(&plan()?), spelling)),
        GraphView::Trees => {
            let dag = compile_trees(forest::partition(&program.roots)?);
            Ok(dag_text(&dag, spelling))
        }
        GraphView::Functions => {
            let trees = forest::partition(&program.roots)?;
            let texts: Vec<String> = trees.iter().map(|tree| function_text(tree, spelling) + "\n").collect();
            Ok(texts.join("\n"))
        }
    }
}
