//! Which node has which row.

use crate::model::formula::Formula;
use crate::model::graph::form::bind;
use crate::model::graph::ir::{EdgeKind, GraphIR, GraphNode, NodeId, NodeKind};
use crate::model::schedule::plan::{Expression, Row, Source};
use std::collections::HashMap;

/// Rows of a graph: free numbers, fixed numbers, then what steps fill, each in topological order.
pub(super) struct Rows {
    /// Nodes by row.
    pub(super) nodes: Vec<NodeId>,
    /// How many are free.
    pub(super) free: usize,
    numbers: usize,
    rows: HashMap<NodeId, Row>,
}

impl Rows {
    pub(super) fn new(graph: &GraphIR, order: &[NodeId]) -> Rows {
        let of_kind = |kind: NodeKind| -> Vec<NodeId> {
            order.iter().copied().filter(|id| graph.nodes[*id].kind == kind).collect()
        };
        let mut nodes = of_kind(NodeKind::OptParam);
        let free = nodes.len();
        nodes.extend(of_kind(NodeKind::StaticParam));
        let numbers = nodes.len();
        let is_computed = |id: &&NodeId| match graph.nodes[**id].kind {
            NodeKind::ParamPlusTrace => true,
            NodeKind::Expression => !is_sampled(graph, **id),
            _ => false,
        };
        nodes.extend(order.iter().filter(is_computed));
        let mut rows: HashMap<NodeId, Row> = nodes.iter().enumerate().map(|(row, id)| (*id, row)).collect();
        // A kernel works in place, so it has the row of what it convolves.
        for id in order.iter().filter(|id| graph.nodes[**id].kind == NodeKind::Convolution) {
            let convolved = graph.inputs(*id, EdgeKind::TraceInput);
            if let Some(row) = convolved.first().and_then(|source| rows.get(source)).copied() {
                rows.insert(*id, row);
            }
        }
        Rows { nodes, free, numbers, rows }
    }

    /// Nodes of the rows that are numbers.
    pub(super) fn numbers(&self) -> &[NodeId] {
        &self.nodes[..self.numbers]
    }

    /// The row that holds the value of a node.
    pub(super) fn of(&self, node: NodeId) -> Option<Row> {
        self.rows.get(&node).copied()
    }

    /// The rows that a node reads as parameters.
    pub(super) fn parameters(&self, graph: &GraphIR, node: NodeId) -> Option<Vec<Row>> {
        graph.inputs(node, EdgeKind::ParamInput).into_iter().map(|source| self.of(source)).collect()
    }
}

/// True for an expression that reads a sample of a profile.
pub(super) fn is_sampled(graph: &GraphIR, expression: NodeId) -> bool {
    let mut work = vec![expression];
    while let Some(id) = work.pop() {
        match graph.nodes[id].kind {
            NodeKind::ProfileSample => return true,
            _ => work.extend(graph.inputs(id, EdgeKind::ExprRef)),
        }
    }
    false
}

/// The formula of an expression node; `source` says where a node's value is.
pub(super) fn expression(
    graph: &GraphIR,
    node: &GraphNode,
    source: impl FnMut(NodeId) -> Option<Source>,
) -> Option<Expression> {
    let text = node.expr_string.as_deref().unwrap_or_default();
    let formula = Formula::read(text).expect("a graph that was built has sound expressions");
    let bound = bind(graph, node.id, &formula).expect("a graph that was built has bound names");
    let sources: Option<Vec<Source>> = bound.into_iter().map(source).collect();
    Some(Expression { formula, sources: sources? })
}
