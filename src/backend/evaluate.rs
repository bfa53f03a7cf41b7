//! Evaluation: by the step backend, or with the flag `jit` by the machine.

use crate::backend::error::EvalError;
use crate::backend::plan::Plan as MachinePlan;
use crate::backend::state::State;
use crate::backend::{parallel, step};
use crate::dag::ir::compile_nodes;
use crate::dag::{Array, Dag, Plan};

/// Evaluates what the roots of a linear order need; see the [semantics](step).
///
/// # Errors
/// The first that occurs; values computed before stay in the state.
pub fn evaluate_nodes(state: &mut State, plan: &Plan) -> Result<Option<Array>, EvalError> {
    evaluate_dag(state, &compile_nodes(plan))
}

/// Evaluates what the roots need; see the [semantics](step). A graph that is evaluated again and again is compiled
/// only once as a [`Plan`](MachinePlan).
///
/// # Errors
/// The first that occurs; values computed before stay in the state.
pub fn evaluate_dag(state: &mut State, dag: &Dag) -> Result<Option<Array>, EvalError> {
    match state.flags.jit {
        true => MachinePlan::new(dag).evaluate(state),
        false => step::evaluate_dag(state, dag),
    }
}

/// As [`evaluate_dag`], where trees that do not need each other are evaluated at once by so many threads. Values,
/// their order and errors are the same; after an error, user functions may have been called that come later in the
/// order.
///
/// # Errors
/// As [`evaluate_dag`].
pub fn evaluate_in_parallel(
    state: &mut State,
    dag: &Dag,
    threads: usize,
) -> Result<Option<Array>, EvalError> {
    if state.flags.jit {
        return MachinePlan::new(dag).with_threads(threads).evaluate(state);
    }
    if threads > 1 {
        parallel::compute_ahead(state, dag, threads)?;
    }
    let result = step::evaluate_dag(state, dag);
    state.ahead.clear();
    result
}
