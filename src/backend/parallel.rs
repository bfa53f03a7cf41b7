//! Trees in parallel: their nodes are computed before their turn, and the step backend takes them in order.
//!
//! ```text
//! level 0   t7  t8        trees that read no other tree
//! level 1   t12 t9        trees that read those of level 0
//! ```
//!
//! The trees of a level are shared out among threads. A node that several trees need belongs to the first of them,
//! and the others wait for that one: every node is evaluated once, as always.

use crate::backend::compute::{Ahead, Context};
use crate::backend::error::EvalError;
use crate::backend::state::State;
use crate::backend::step::Needed;
use crate::dag::graph::NodeData;
use crate::dag::ir::Body;
use crate::dag::{Array, Dag, NodeId, Tree};
use hashbrown::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The nodes that a tree computes, in order.
type Job = Vec<Arc<NodeData>>;

/// Results by node.
type Results = HashMap<NodeId, Ahead>;

/// Computes the trees of a dag, level by level. An error stops a tree, and the levels after its own.
///
/// # Errors
/// A root belongs to another graph.
pub(crate) fn compute_ahead(state: &mut State, dag: &Dag, threads: usize) -> Result<(), EvalError> {
    dag.roots.iter().try_for_each(|root| state.check_graph(root))?;
    let Body::Trees(trees) = &dag.body else { return Ok(()) };
    let needed = Needed::new(state, dag);
    for leaf in dag.leaves().filter(|leaf| needed.contains(leaf.id())) {
        if state.value(leaf.id()).is_none() {
            let result = state.context().compute(&leaf.data(), &|id| state.value(id));
            state.ahead.insert(leaf.id(), Ahead { result, time: None });
        }
    }
    for level in levels(state, trees, &needed) {
        let results = run(state, &level, threads);
        let has_failed = results.values().any(|ahead| ahead.result.is_err());
        state.ahead.extend(results);
        if has_failed {
            break;
        }
    }
    Ok(())
}

/// The trees of each level; each waits for trees before it in the order of the dag.
fn levels(state: &State, trees: &[Tree], needed: &Needed) -> Vec<Vec<Job>> {
    // By id: one more than the level of the tree that computes the node.
    let mut ready: Vec<usize> = vec![0; state.graph().largest_id() as usize];
    let mut levels: Vec<Vec<Job>> = Vec::new();
    for tree in trees {
        let is_own = |id: NodeId| ready[id.index()] == 0 && state.value(id).is_none();
        let nodes = tree.body().iter().filter(|node| needed.contains(node.id()) && is_own(node.id()));
        let job: Job = nodes.map(|node| node.data()).collect();
        let operands = job.iter().flat_map(|data| data.kind.operands());
        let level = operands.map(|id| ready[id.index()]).max().unwrap_or(0);
        for data in &job {
            ready[data.id.index()] = level + 1;
        }
        if levels.len() <= level {
            levels.resize_with(level + 1, Vec::new);
        }
        levels[level].push(job);
    }
    levels
}

fn run(state: &State, jobs: &[Job], threads: usize) -> Results {
    let next = AtomicUsize::new(0);
    let (context, values, ahead) = (state.context(), state.values(), &state.ahead);
    let known = |id: NodeId| {
        let set = values.get(id.index()).and_then(Option::as_ref);
        set.or_else(|| ahead.get(&id)?.result.as_ref().ok())
    };
    let work = || {
        let mut results = Results::new();
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            compute(context, job, known, &mut results);
        }
        results
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(jobs.len())).map(|_| scope.spawn(work)).collect();
        let mut results = work();
        for other in others {
            results.extend(other.join().expect("panics of user functions are caught where they are called"));
        }
        results
    })
}

/// Computes the nodes of a tree one after the other, as far as there is no error.
fn compute<'v>(
    context: Context<'_>,
    job: &Job,
    known: impl Fn(NodeId) -> Option<&'v Array>,
    results: &mut Results,
) {
    for data in job {
        let ahead = context.timed(data, &|id| known(id).or_else(|| results.get(&id)?.result.as_ref().ok()));
        let is_error = ahead.result.is_err();
        results.insert(data.id, ahead);
        if is_error {
            return;
        }
    }
}
