//! The step backend: evaluates one node after the other, and shows it.
//!
//! # Semantics
//! One for nodes and trees alike:
//!
//! 1. Wanted are the roots. A node that has a value, set or computed, is not evaluated, nor is what only
//!    such nodes need.
//! 2. Needed placeholders and constants get their values first: a placeholder its default. One without
//!    default is an error.
//! 3. Then the needed nodes, in the order of the body.
//!
//! The result is the value of the body's last node.

use crate::backend::error::EvalError;
use crate::backend::state::{Ahead, State};
use crate::backend::trace;
use crate::dag::graph::NodeData;
use crate::dag::ir::Body;
use crate::dag::{Array, Dag, Node, NodeId};
use std::time::{Duration, Instant};

/// Evaluates what the roots need; see the [semantics](self).
///
/// # Errors
/// The first that occurs; values computed before stay in the state.
pub fn evaluate_dag(state: &mut State, dag: &Dag) -> Result<Option<Array>, EvalError> {
    trace::announce(state);
    let Some(root) = dag.roots.last() else { return Ok(None) };
    dag.roots.iter().try_for_each(|root| state.check_graph(root))?;
    let needed = Needed::new(state, dag);
    for leaf in dag.placeholders.iter().chain(&dag.constants).filter(|leaf| needed.contains(leaf)) {
        evaluate(state, leaf, None)?;
    }
    match &dag.body {
        Body::Nodes(nodes) => {
            trace::dump_nodes(state, nodes);
            for node in nodes.iter().filter(|node| needed.contains(node)) {
                evaluate(state, node, None)?;
            }
        }
        Body::Trees(trees) => {
            for tree in trees {
                trace::dump_tree(state, tree);
                for node in tree.body().iter().filter(|node| needed.contains(node)) {
                    evaluate(state, node, Some(tree.root().id()))?;
                }
            }
        }
    }
    let last = dag.body_nodes().next_back().unwrap_or(root);
    state.get_node_value(last).cloned().map(Some)
}

/// Nodes that have to be evaluated, by id.
pub(crate) struct Needed(Vec<bool>);

impl Needed {
    pub fn new(state: &State, dag: &Dag) -> Needed {
        let mut needed = vec![false; state.graph().largest_id() as usize];
        for root in &dag.roots {
            needed[root.id().index()] = true;
        }
        // Users stand behind their operands, so that backwards each node is known before its operands.
        for node in dag.body_nodes().rev() {
            if needed[node.id().index()] && state.value(node.id()).is_none() {
                for operand in node.data().kind.operands() {
                    needed[operand.index()] = true;
                }
            }
        }
        Needed(needed)
    }

    pub fn contains(&self, node: &Node) -> bool {
        self.0[node.id().index()]
    }
}

/// Evaluates a node whose operands have values, unless it has one itself.
pub(crate) fn evaluate(state: &mut State, node: &Node, tree: Option<NodeId>) -> Result<(), EvalError> {
    state.check_graph(node)?;
    if state.value(node.id()).is_some() {
        return Ok(());
    }
    let data = node.data();
    trace::before(state, &data);
    let (result, time) = take_ahead(state, &data).unwrap_or_else(|| timed(state, &data));
    let value = result?;
    if let (Some(profile), Some(time)) = (&mut state.profile, time) {
        profile.record(&data, tree, time, value.byte_size());
    }
    trace::after(state, &data, &value);
    state.store(node.id(), value);
    Ok(())
}

/// A result and how long it took.
type Timed = (Result<Array, EvalError>, Option<Duration>);

/// The result that was computed before its turn, if the turn comes as it should: all operands have values.
fn take_ahead(state: &mut State, data: &NodeData) -> Option<Timed> {
    let Ahead { result, time } = state.ahead.remove(&data.id)?;
    let has_operands = data.kind.operands().iter().all(|operand| state.value(*operand).is_some());
    (has_operands && state.context().supports(data)).then_some((result, time))
}

fn timed(state: &State, data: &NodeData) -> Timed {
    let start = state.profile.is_some().then(Instant::now);
    let result = state.context().compute(data, &|id| state.value(id));
    (result, start.map(|start| start.elapsed()))
}
