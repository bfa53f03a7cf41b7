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

use crate::backend::compute::Ahead;
use crate::backend::error::EvalError;
use crate::backend::state::State;
use crate::backend::trace;
use crate::dag::graph::NodeData;
use crate::dag::ir::Body;
use crate::dag::{Array, Dag, Node, NodeId};

/// Evaluates what the roots need; see the [semantics](self).
///
/// # Errors
/// The first that occurs; values computed before stay in the state.
pub fn evaluate_dag(state: &mut State, dag: &Dag) -> Result<Option<Array>, EvalError> {
    trace::announce(state);
    let Some(root) = dag.roots.last() else { return Ok(None) };
    dag.roots.iter().try_for_each(|root| state.check_graph(root))?;
    let needed = Needed::new(state, dag);
    walk(state, dag.leaves(), &dag.body, |node| needed.contains(node.id()))?;
    let last = dag.body_nodes().next_back().unwrap_or(root);
    state.get_node_value(last).cloned().map(Some)
}

/// Evaluates leaves and then a body, as far as nodes are wanted.
pub(crate) fn walk<'n>(
    state: &mut State,
    leaves: impl Iterator<Item = &'n Node>,
    body: &Body,
    is_wanted: impl Fn(&Node) -> bool,
) -> Result<(), EvalError> {
    let mut leaves = leaves.filter(|leaf| is_wanted(leaf));
    leaves.try_for_each(|leaf| evaluate(state, leaf, None))?;
    match body {
        Body::Nodes(nodes) => {
            trace::dump_nodes(state, nodes);
            nodes.iter().filter(|node| is_wanted(node)).try_for_each(|node| evaluate(state, node, None))
        }
        Body::Trees(trees) => trees.iter().try_for_each(|tree| {
            trace::dump_tree(state, tree);
            let mut nodes = tree.body().iter().filter(|node| is_wanted(node));
            nodes.try_for_each(|node| evaluate(state, node, Some(tree.root().id())))
        }),
    }
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
        for node in dag.roots.iter().chain(dag.body_nodes().rev()) {
            if needed[node.id().index()] && state.value(node.id()).is_none() {
                for operand in node.data().kind.operands() {
                    needed[operand.index()] = true;
                }
            }
        }
        Needed(needed)
    }

    pub fn contains(&self, id: NodeId) -> bool {
        self.0[id.index()]
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
    let ahead = take_ahead(state, &data);
    let here = || state.context().timed(&data, &|id| state.value(id));
    let Ahead { result, time } = ahead.unwrap_or_else(here);
    let value = result?;
    if let (Some(profile), Some(time)) = (&mut state.profile, time) {
        profile.record(&data, tree, time, value.byte_size());
    }
    trace::after(state, &data, &value);
    state.store(node.id(), value);
    Ok(())
}

/// The result that was computed before its turn, if the turn comes as it should: all operands have values.
fn take_ahead(state: &mut State, data: &NodeData) -> Option<Ahead> {
    let ahead = state.ahead.remove(&data.id)?;
    let has_operands = data.kind.operands().iter().all(|operand| state.value(*operand).is_some());
    (has_operands && state.context().supports(data)).then_some(ahead)
}
