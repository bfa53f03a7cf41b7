//! Evaluation: by the step backend, by the machine, or by a backend of the host's.

use crate::backend::error::EvalError;
use crate::backend::plan::Plan as MachinePlan;
use crate::backend::state::State;
use crate::backend::{parallel, step};
use crate::dag::ir::compile_nodes;
use crate::dag::{Array, Dag, Plan};

/// What evaluates graphs. Values are in the state, before and after; the [semantics](step) are one for all backends.
///
/// ```
/// use cembra::backend::{Backend, EvalError, MachineBackend, State, StepBackend};
/// use cembra::dag::{Array, Dag, Graph, forest, ir};
///
/// /// The machine, where there is work for it: graphs of a few nodes are faster step by step.
/// struct BySize;
///
/// impl Backend for BySize {
///     fn evaluate(&mut self, state: &mut State, dag: &Dag) -> Result<Option<Array>, EvalError> {
///         match dag.body_nodes().count() {
///             0..10 => StepBackend { threads: 1 }.evaluate(state, dag),
///             _ => MachineBackend { threads: 2 }.evaluate(state, dag),
///         }
///     }
/// }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let graph = Graph::new();
/// let x = graph.placeholder("x");
/// let dag = ir::compile_trees(forest::partition(&[&x + 1])?);
/// let mut state = State::new(&graph);
/// state.set_node_value(&x, Array::from(2.5))?;
/// assert_eq!(BySize.evaluate(&mut state, &dag)?, Some(Array::from(3.5)));
/// # Ok(())
/// # }
/// ```
pub trait Backend {
    /// Evaluates what the roots need, and gives the value of the last node.
    ///
    /// # Errors
    /// The first that occurs; values computed before stay in the state.
    fn evaluate(&mut self, state: &mut State, dag: &Dag) -> Result<Option<Array>, EvalError>;
}

/// The step backend: one node after the other.
#[derive(Clone, Copy, Debug)]
pub struct StepBackend {
    /// Threads, on which trees that do not need each other are evaluated at once. Values, their order and errors are the
    /// same; after an error, user functions may have been called that come later in the order.
    pub threads: usize,
}

/// The machine: a [plan](MachinePlan) for each evaluation. Who evaluates a graph again and again keeps one.
#[derive(Clone, Copy, Debug)]
pub struct MachineBackend {
    /// Threads, where arrays are large.
    pub threads: usize,
}

impl Backend for StepBackend {
    fn evaluate(&mut self, state: &mut State, dag: &Dag) -> Result<Option<Array>, EvalError> {
        if self.threads > 1 {
            parallel::compute_ahead(state, dag, self.threads)?;
        }
        let result = step::evaluate_dag(state, dag);
        state.ahead.clear();
        result
    }
}

impl Backend for MachineBackend {
    fn evaluate(&mut self, state: &mut State, dag: &Dag) -> Result<Option<Array>, EvalError> {
        MachinePlan::new(dag).with_threads(self.threads).evaluate(state)
    }
}

/// Evaluates what the roots of a linear order need, as [`evaluate_dag`] does.
///
/// # Errors
/// As [`Backend::evaluate`].
pub fn evaluate_nodes(state: &mut State, plan: &Plan) -> Result<Option<Array>, EvalError> {
    evaluate_dag(state, &compile_nodes(plan))
}

/// Evaluates what the roots need step by step, or with the flag `jit` on the machine.
///
/// # Errors
/// As [`Backend::evaluate`].
pub fn evaluate_dag(state: &mut State, dag: &Dag) -> Result<Option<Array>, EvalError> {
    evaluate_in_parallel(state, dag, 1)
}

/// As [`evaluate_dag`], on so many threads.
///
/// # Errors
/// As [`Backend::evaluate`].
pub fn evaluate_in_parallel(
    state: &mut State,
    dag: &Dag,
    threads: usize,
) -> Result<Option<Array>, EvalError> {
    match state.flags.jit {
        true => MachineBackend { threads }.evaluate(state, dag),
        false => StepBackend { threads }.evaluate(state, dag),
    }
}
