//! The order in which nodes are computed.

use crate::model::error::ModelErrorKind;
use crate::model::graph::ir::{GraphIR, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// All nodes, each after those it depends on; of those that are ready, the one made first.
///
/// # Errors
/// The graph has a circle.
pub fn topological(graph: &GraphIR) -> Result<Vec<NodeId>, ModelErrorKind> {
    let mut waiting = vec![0usize; graph.nodes.len()];
    let mut readers: Vec<Vec<NodeId>> = vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        waiting[edge.target] += 1;
        readers[edge.source].push(edge.target);
    }
    let key = |id: NodeId| Reverse((graph.nodes[id].source_order, id));
    let mut ready: BinaryHeap<_> = (0..waiting.len()).filter(|id| waiting[*id] == 0).map(key).collect();
    let mut order = Vec::with_capacity(graph.nodes.len());
    while let Some(Reverse((_, id))) = ready.pop() {
        order.push(id);
        for reader in &readers[id] {
            waiting[*reader] -= 1;
            if waiting[*reader] == 0 {
                ready.push(key(*reader));
            }
        }
    }
    if order.len() == graph.nodes.len() {
        return Ok(order);
    }
    let stuck = graph.nodes.iter().filter(|n| waiting[n.id] > 0);
    Err(ModelErrorKind::GraphCycle { nodes: stuck.map(|n| n.name.clone()).collect() })
}
