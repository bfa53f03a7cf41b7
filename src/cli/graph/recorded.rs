//! `cembra graph run --batch`: recorded cases, one JSON line each, as the published engine shows them.
//!
//! Texts, evaluation order, errors and traces are those of the engine that the case names; see
//! [`crate::backend::recorded`] for how its modes differ. Messages of numpy and Python are our own.

use crate::backend::recorded::{dag_error_text, error_text, evaluate_nodes};
use crate::backend::{EvalError, Plan as MachinePlan, State, Transcript, recorded, step};
use crate::cli::args::BackendArg;
use crate::cli::graph::array_json;
use crate::cli::graph::program::{Engine, Program, read};
use crate::dag::kind::{AxisOp, Kind, Reduction};
use crate::dag::numpy_text::function_text;
use crate::dag::printing::{Spelling, dag_text, node_text, tree_text};
use crate::dag::{Array, Dag, DagError, Node, NodeId, Plan, Tree, forest, ir, linearize};
use cembra_vm::machine::SharedBudget;
use cembra_vm::value::Budget;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// What the published engine makes of a case, each time within a budget.
pub fn line(case: &Json, backend: BackendArg, budget: &Budget) -> Json {
    let name = case.get("name").cloned().unwrap_or(Json::Null);
    match read(case) {
        Ok(program) => {
            let (engine, spelling) = match program.engine {
                Engine::Cembra => (Engine::Document, Spelling::Document),
                recorded => (recorded, recorded.spelling()),
            };
            let mut line = Map::from_iter([("name".to_owned(), name)]);
            Case { program, engine, spelling, backend, budget }.show(&mut line);
            Json::Object(line)
        }
        Err(what) => json!({ "name": name, "error": { "class": "TypeError", "message": what } }),
    }
}

struct Case<'a> {
    program: Program,
    engine: Engine,
    spelling: Spelling,
    backend: BackendArg,
    budget: &'a Budget,
}

impl Case<'_> {
    fn show(&self, line: &mut Map<String, Json>) {
        let program = &self.program;
        let texts = program.graph.ids().into_iter().filter_map(|id| program.graph.data(id));
        let texts = texts.map(|data| (data.id.number().to_string(), node_text(&data, self.spelling).into()));
        line.insert("node_text".to_owned(), Json::Object(texts.collect()));
        let plan = linearize::forest(&program.roots, &program.boundary);
        line.insert("linearize".to_owned(), or_error(&plan, |plan| ids(&plan.nodes)));
        if self.engine != Engine::Release {
            let text = |plan: &Plan| dag_text(&ir::compile_nodes(plan), self.spelling).into();
            line.insert("ir_nodes_text".to_owned(), or_error(&plan, text));
        }
        if program.partitions && self.engine != Engine::Release {
            self.show_trees(line);
        }
        if program.evaluates {
            line.insert("eval".to_owned(), self.evaluations());
        }
    }

    fn show_trees(&self, line: &mut Map<String, Json>) {
        let trees = forest::partition(&self.program.roots);
        line.insert("partition".to_owned(), or_error(&trees, |trees| self.trees_json(trees)));
        let text = |trees: &Vec<Tree>| dag_text(&ir::compile_trees(trees.clone()), self.spelling).into();
        line.insert("ir_trees_text".to_owned(), or_error(&trees, text));
        if self.engine == Engine::Compiler {
            let function = |tree: &Tree| function_text(tree, self.spelling);
            let functions = |trees: &Vec<Tree>| trees.iter().map(function).collect();
            line.insert("function_text".to_owned(), or_error(&trees, functions));
        }
    }

    fn trees_json(&self, trees: &[Tree]) -> Json {
        json!({
            "roots": trees.iter().map(|tree| tree.root().id().number()).collect::<Vec<_>>(),
            "inputs": trees.iter().map(|tree| ids(tree.inputs())).collect::<Vec<_>>(),
            "bodies": trees.iter().map(|tree| ids(tree.body())).collect::<Vec<_>>(),
            "text": trees.iter().map(|tree| tree_text(tree, self.spelling)).collect::<Vec<_>>(),
        })
    }

    fn evaluations(&self) -> Json {
        let modes = [(Mode::Nodes, "nodes"), (Mode::DagNodes, "dag_nodes"), (Mode::DagTrees, "dag_trees")];
        let allowed = |(mode, name): &(Mode, &str)| {
            let listed = self.program.modes.as_ref().is_none_or(|modes| modes.iter().any(|m| m == name));
            // Releases have neither intermediate forms nor trees.
            let exists = *mode == Mode::Nodes || self.engine != Engine::Release;
            listed && exists && (*mode != Mode::DagTrees || self.program.partitions)
        };
        let evaluation = |(mode, name): (Mode, &str)| (name.to_owned(), self.evaluation(mode));
        Json::Object(modes.into_iter().filter(allowed).map(evaluation).collect())
    }

    /// Result and output with the flags of the case, and the output with its trace.
    fn evaluation(&self, mode: Mode) -> Json {
        let mut json = self.run(mode, false);
        let traced = self.run(mode, true);
        json["trace_stdout"] = traced["stdout"].clone();
        json
    }

    fn run(&self, mode: Mode, traces: bool) -> Json {
        let console = Transcript::default();
        let mut json = match self.program.new_state() {
            Ok(state) => {
                let mut flags = self.program.flags;
                flags.trace |= traces;
                let state = state.with_flags(flags).with_spelling(self.spelling);
                let mut state = state
                    .with_console(console.clone())
                    .with_budget(Arc::new(SharedBudget::new(self.budget.clone())));
                let machine = self.compute_on_machine(&mut state, mode);
                let result = self.evaluate(&mut state, mode);
                let mut json = self.outcome(&state, result);
                json["machine"] = machine;
                json
            }
            Err(error) => json!({ "error": error_json(error_text(&error)) }),
        };
        json["stdout"] = console.text().into();
        if json["machine"].is_null() {
            json.as_object_mut().map(|json| json.remove("machine"));
        }
        json
    }

    /// Has the machine compute what the evaluation is going to show; says what the machine left to the step backend.
    fn compute_on_machine(&self, state: &mut State, mode: Mode) -> Json {
        let roots = &self.program.roots;
        let dag = match mode {
            _ if self.backend == BackendArg::Step => return Json::Null,
            Mode::DagTrees => forest::partition(roots).map(ir::compile_trees),
            _ => linearize::forest(roots, &[]).map(|plan| ir::compile_nodes(&plan)),
        };
        let Ok(dag) = dag else { return Json::Null };
        let mut plan = MachinePlan::new(&dag);
        plan.compute_before_its_turn(state);
        let numbers = |ids: Vec<NodeId>| ids.iter().map(|id| id.number()).collect::<Vec<_>>();
        json!({
            "programs": plan.stages().filter(|stage| stage.program.is_some()).count(),
            "apart": numbers(plan.stages().flat_map(|s| s.apart).map(|node| node.id()).collect()),
            "left": numbers(plan.left().collect()),
            "failure": plan.failure().map(ToString::to_string),
        })
    }

    fn outcome(&self, state: &State, result: Result<Returned, EvalError>) -> Json {
        let mut json = match result {
            Ok(None) => json!({ "returned": null }),
            Ok(Some((value, node))) => json!({ "returned": self.value_json(&value, node.id()) }),
            Err(error) => json!({ "error": error_json(error_text(&error)) }),
        };
        let numbers = state.evaluated().iter().map(|id| id.number());
        json["evaluated_order"] = numbers.collect::<Vec<_>>().into();
        let values = state.evaluated().iter().filter_map(|id| {
            let value = state.get_node_value(&state.graph().node(id.number())?).ok()?;
            Some((id.number().to_string(), self.value_json(value, *id)))
        });
        json["values"] = Json::Object(values.collect());
        json
    }

    fn evaluate(&self, state: &mut State, mode: Mode) -> Result<Returned, EvalError> {
        recorded::trace_set_values(state);
        let roots = &self.program.roots;
        let (value, last) = match mode {
            Mode::Nodes => {
                let plan = linearize::forest(roots, &[])?;
                (evaluate_nodes(state, &plan.nodes)?, plan.nodes.last().cloned())
            }
            Mode::DagNodes => self.evaluate_dag(state, ir::compile_nodes(&linearize::forest(roots, &[])?))?,
            Mode::DagTrees => self.evaluate_dag(state, ir::compile_trees(forest::partition(roots)?))?,
        };
        Ok(value.zip(last))
    }

    fn evaluate_dag(&self, state: &mut State, dag: Dag) -> Result<(Option<Array>, Option<Node>), EvalError> {
        let value = match self.engine {
            // The branch with the compiler honours defaults, as we do.
            Engine::Compiler => step::evaluate_dag(state, &dag)?,
            _ => recorded::evaluate_dag(state, &dag)?,
        };
        Ok((value, dag.body_nodes().next_back().cloned()))
    }

    fn value_json(&self, value: &Array, id: NodeId) -> Json {
        array_json::with_kind(value, self.is_scalar(id))
    }

    /// True where numpy gives a scalar instead of an array without axes: results of its functions, but not
    /// those of `where`, `select` and `expand_dims`, and no inputs.
    fn is_scalar(&self, mut id: NodeId) -> bool {
        let functions = &self.program.functions;
        let is_identity = |name: &str| functions.iter().any(|(n, f)| n == name && f == "identity");
        loop {
            let Some(data) = self.program.graph.data(id) else { return false };
            let is_set = self.program.state.iter().any(|(node, _)| node.id() == id);
            match &data.kind {
                _ if is_set => return false,
                Kind::FunctionCall { args, .. } if is_identity(&data.name) && !args.is_empty() => {
                    id = args[0]
                }
                // Over no axes these give the array that they were given.
                Kind::Axis {
                    op: AxisOp::Quantile { .. } | AxisOp::Reduce(Reduction::Median, _),
                    axis,
                    ..
                } => {
                    return !axis.numbers().is_empty();
                }
                Kind::Axis { op, .. } => return !matches!(op, AxisOp::ExpandDims | AxisOp::Squeeze),
                kind => {
                    return matches!(kind, Kind::Unary(..) | Kind::Binary(..) | Kind::FunctionCall { .. });
                }
            }
        }
    }
}

/// The result, and the node whose value it is.
type Returned = Option<(Array, Node)>;

/// Ways of evaluating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Nodes,
    DagNodes,
    DagTrees,
}

fn ids(nodes: &[Node]) -> Json {
    nodes.iter().map(|node| node.id().number()).collect::<Vec<_>>().into()
}

fn or_error<T>(result: &Result<T, DagError>, json: impl FnOnce(&T) -> Json) -> Json {
    match result {
        Ok(value) => json(value),
        Err(error) => json!({ "error": error_json(dag_error_text(error)) }),
    }
}

fn error_json((class, message): (&'static str, String)) -> Json {
    json!({ "class": class, "message": message })
}
