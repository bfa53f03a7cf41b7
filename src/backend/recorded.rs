//! The evaluation of the published engine, for comparison: its three modes disagree.
//!
//! | | `evaluate_nodes` | `evaluate_dag` |
//! | --- | --- | --- |
//! | default of a placeholder | honoured | not honoured: the value is not found |
//! | placeholder without value | not provided | not found |
//! | order | as given | constants first |
//! | nothing to compute | nothing | an error |
//!
//! All nodes are evaluated, whether something needs them or not. [`crate::backend::step`] has the semantics
//! of Cembra.

use crate::backend::error::{EvalError, OpError, UserFunctionError};
use crate::backend::state::State;
use crate::backend::{step, trace};
use crate::dag::{Array, Dag, DagError, Node};

/// Traces the values that were set; the published engine does so before it looks at a graph.
pub fn trace_set_values(state: &mut State) {
    trace::announce(state);
}

/// Evaluates nodes as they are given.
///
/// # Errors
/// The first that occurs; values computed before stay in the state.
pub fn evaluate_nodes(state: &mut State, nodes: &[Node]) -> Result<Option<Array>, EvalError> {
    trace::announce(state);
    trace::dump_nodes(state, nodes);
    nodes.iter().try_for_each(|node| step::evaluate(state, node, None))?;
    nodes.last().map(|node| state.get_node_value(node).cloned()).transpose()
}

/// Evaluates constants, then nodes or trees.
///
/// # Errors
/// The first that occurs, or that there is nothing to compute; values computed before stay in the state.
pub fn evaluate_dag(state: &mut State, dag: &Dag) -> Result<Option<Array>, EvalError> {
    trace::announce(state);
    if dag.body_nodes().next().is_none() {
        return Err(EvalError::NothingToEvaluate);
    }
    step::walk(state, dag.constants.iter(), &dag.body, |_| true)?;
    dag.body_nodes().next_back().map(|node| state.get_node_value(node).cloned()).transpose()
}

/// Class and message of the published engine's error. Messages of numpy and Python are our own.
pub fn error_text(error: &EvalError) -> (&'static str, String) {
    match error {
        EvalError::NodeValueNotFound { node } => {
            ("NodeValueNotFound", format!("executor: node '{}' has not been evaluated", node.name))
        }
        EvalError::PlaceholderValueNotProvided { node, is_timeseries } => {
            let (kind, end) =
                if *is_timeseries { ("timeseries ", "") } else { ("", " and no default value is set") };
            let message = format!("executor: no value provided for {kind}placeholder '{}'{end}", node.name);
            ("PlaceholderValueNotProvided", message)
        }
        EvalError::FunctionNotFound { node } => {
            ("FunctionNotFound", format!("executor: cannot find functor for: {}", node.name))
        }
        EvalError::Unsupported { operation, .. } => (
            "UnsupportedOperation",
            format!(
                "executor: unsupported axis operation: \
                 <class 'civic_digital_twins.dt_model.engine.frontend.graph.{operation}'>"
            ),
        ),
        EvalError::Function { error: UserFunctionError::Operation(error), .. }
        | EvalError::Operation { error, .. } => (operation_class(error), error.to_string()),
        EvalError::Function { error, .. } => ("TypeError", error.to_string()),
        EvalError::Exhausted { problem, .. } => ("RuntimeError", problem.clone()),
        EvalError::NothingToEvaluate => ("AssertionError", String::new()),
        EvalError::Dag(error) => dag_error_text(error),
    }
}

fn operation_class(error: &OpError) -> &'static str {
    match error {
        OpError::NotDefined { .. } | OpError::ConditionNotBool { .. } => "TypeError",
        OpError::AxisOutOfBounds { .. } => "AxisError",
        OpError::Budget(_) | OpError::Program { .. } => "RuntimeError",
        _ => "ValueError",
    }
}

/// Class and message of the published engine's error.
pub fn dag_error_text(error: &DagError) -> (&'static str, String) {
    match error {
        DagError::Cycle { node } => {
            let node = match node.name.is_empty() {
                true => format!("<unnamed node {}>", node.id.number()),
                false => node.name.to_string(),
            };
            ("ValueError", format!("linearize: cycle detected in computation graph at node {node}"))
        }
        DagError::DuplicateRoot { .. } | DagError::LeafRoot { .. } => ("AssertionError", String::new()),
        other => ("TypeError", other.to_string()),
    }
}
