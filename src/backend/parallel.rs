//! Trees in parallel: their nodes are computed before their turn, and the step backend takes them in order.
//!
//! ```text
//! level 0   t7  t8        trees that read no other tree
//! level 1   t12 t9        trees that read those of level 0
//! ```
//!
//! The trees of a level are shared out among threads. A node that several trees need belongs to the first of them,
//! and the others wait for that one: every node is evaluated once, as always.

use crate::backend::compute::Context;
use crate::backend::error::EvalError;
use crate::backend::state::{Ahead, State};
use crate::backend::step::Needed;
use crate::dag::graph::NodeData;
use crate::dag::ir::Body;
use crate::dag::{Array, Dag, Graph, NodeId};
use hashbrown::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

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
    let Body::Trees(_) = dag.body else { return Ok(()) };
    let needed = Needed::new(state, dag);
    for leaf in dag.placeholders.iter().chain(&dag.constants).filter(|leaf| needed.contains(leaf)) {
        if state.value(leaf.id()).is_none() {
            let result = state.context().compute(&leaf.data(), &|id| state.value(id));
            state.ahead.insert(leaf.id(), Ahead { result, time: None });
        }
    }
    for level in levels(state, dag, &needed) {
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
fn levels(state: &State, dag: &Dag, needed: &Needed) -> Vec<Vec<Job>> {
    let Body::Trees(trees) = &dag.body else { return Vec::new() };
    // By id: one more than the level of the tree that computes the node.
    let mut ready: Vec<usize> = vec![0; graph_size(state.graph())];
    let mut levels: Vec<Vec<Job>> = Vec::new();
    for tree in trees {
        let is_own = |id: NodeId| ready[id.index()] == 0 && state.value(id).is_none();
        let nodes = tree.body().iter().filter(|node| needed.contains(node) && is_own(node.id()));
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

fn graph_size(graph: &Graph) -> usize {
    graph.largest_id() as usize
}

fn run(state: &State, jobs: &[Job], threads: usize) -> Results {
    let next = AtomicUsize::new(0);
    let (context, values, ahead) = (state.context(), state.values(), &state.ahead);
    let measures = state.profile.is_some();
    let work = || {
        let mut results = Results::new();
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            compute(context, job, Known { values, ahead }, measures, &mut results);
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

/// Values that were there before the level.
#[derive(Clone, Copy)]
struct Known<'s> {
    values: &'s [Option<Array>],
    ahead: &'s Results,
}

fn compute(context: Context<'_>, job: &Job, known: Known<'_>, measures: bool, results: &mut Results) {
    for data in job {
        let start = measures.then(Instant::now);
        let result = context.compute(data, &|id| value_of(id, known, results));
        let is_error = result.is_err();
        results.insert(data.id, Ahead { result, time: start.map(|start| start.elapsed()) });
        if is_error {
            return;
        }
    }
}

fn value_of<'v>(id: NodeId, known: Known<'v>, results: &'v Results) -> Option<&'v Array> {
    let set = known.values.get(id.index()).and_then(Option::as_ref);
    let ahead = || known.ahead.get(&id).or_else(|| results.get(&id));
    set.or_else(|| ahead().and_then(|ahead| ahead.result.as_ref().ok()))
}
