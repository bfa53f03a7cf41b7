//! What every graph must satisfy, whoever built it.

use crate::model::error::ModelErrorKind;
use crate::model::formula::Formula;
use crate::model::graph::ir::{EdgeKind, GraphIR, GraphNode, NodeId, NodeKind};
use crate::model::graph::order::topological;

/// Checks ends of edges, names, the form of each node, and that there is no circle.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(graph: &GraphIR) -> Result<(), ModelErrorKind> {
    check_edges(graph)?;
    if let Some(node) = graph.nodes.iter().find(|n| graph.node_by_name.get(&n.name) != Some(&n.id)) {
        return Err(ModelErrorKind::DuplicateNode { name: node.name.clone() });
    }
    for node in &graph.nodes {
        let fail = |problem| ModelErrorKind::NodeForm { node: node.name.clone(), problem };
        check_node(graph, node).map_err(fail)?;
    }
    topological(graph).map(|_| ())
}

fn check_edges(graph: &GraphIR) -> Result<(), ModelErrorKind> {
    let nodes = graph.nodes.len();
    for (index, edge) in graph.edges.iter().enumerate() {
        if let Some(node) = [edge.source, edge.target].into_iter().find(|n| *n >= nodes) {
            return Err(ModelErrorKind::EdgeEnd { edge: index, node, nodes });
        }
    }
    Ok(())
}

/// Kinds of edges that may lead to a kind of node.
fn allowed(kind: NodeKind) -> &'static [EdgeKind] {
    match kind {
        NodeKind::StaticParam | NodeKind::OptParam | NodeKind::SubcycleRemap => &[],
        NodeKind::DynamicsTrace | NodeKind::Convolution => &[EdgeKind::ParamInput, EdgeKind::TraceInput],
        NodeKind::ParamPlusTrace => &[EdgeKind::BaseInput, EdgeKind::TraceInput],
        NodeKind::Expression => &[EdgeKind::ExprRef],
        NodeKind::ComponentEval | NodeKind::ProfileSample => &[EdgeKind::ParamInput],
        NodeKind::Sum | NodeKind::ProfileAverage => &[EdgeKind::Addend],
        NodeKind::SpectrumFedOp => &[EdgeKind::ParamInput, EdgeKind::SpectrumInput],
        NodeKind::SubcycleMask => &[EdgeKind::TraceInput],
    }
}

fn check_node(graph: &GraphIR, node: &GraphNode) -> Result<(), String> {
    if let Some(edge) = graph.incoming(node.id).find(|e| !allowed(node.kind).contains(&e.kind)) {
        return Err(format!("a {} takes no {}", node.kind.name(), edge.kind.name()));
    }
    check_positions(graph, node)?;
    let count = |kind| graph.inputs(node.id, kind).len();
    match node.kind {
        NodeKind::StaticParam | NodeKind::OptParam if node.value.is_none() => {
            Err("a parameter has a value".to_owned())
        }
        NodeKind::Expression => check_expression(graph, node),
        NodeKind::ParamPlusTrace if count(EdgeKind::BaseInput) != 1 => Err("it needs one base".to_owned()),
        NodeKind::Convolution | NodeKind::SubcycleMask if count(EdgeKind::TraceInput) != 1 => {
            Err("it needs one trace".to_owned())
        }
        NodeKind::Sum | NodeKind::ProfileAverage if count(EdgeKind::Addend) == 0 => {
            Err("it needs something to add".to_owned())
        }
        NodeKind::ProfileSample if count(EdgeKind::ParamInput) == 0 => Err("it needs a base".to_owned()),
        _ => Ok(()),
    }
}

fn check_positions(graph: &GraphIR, node: &GraphNode) -> Result<(), String> {
    let inputs = graph.incoming(node.id).filter(|e| e.kind == EdgeKind::ParamInput);
    let mut positions: Vec<Option<usize>> = inputs.map(|e| e.position).collect();
    positions.sort_unstable();
    let expected: Vec<Option<usize>> = (0..positions.len()).map(Some).collect();
    match positions == expected {
        true => Ok(()),
        false => Err("its parameters need the positions 0, 1, …, each once".to_owned()),
    }
}

fn check_expression(graph: &GraphIR, node: &GraphNode) -> Result<(), String> {
    let text = node.expr_string.as_deref().ok_or("an expression has a text")?;
    let formula = Formula::read(text)
        .map_err(|e| format!("cannot read '{text}' at character {}: {}", e.at, e.problem))?;
    bind(graph, node.id, &formula).map(|_| ())
}

/// The sources of a formula's names, in the order of [`Formula::names`].
///
/// # Errors
/// A name without an edge to the parameter of that name.
pub fn bind(graph: &GraphIR, node: NodeId, formula: &Formula) -> Result<Vec<NodeId>, String> {
    let sources = graph.inputs(node, EdgeKind::ExprRef);
    let source = |name: &String| {
        let found = sources.iter().find(|s| graph.nodes[graph.base_of(**s)].name == *name);
        found.copied().ok_or_else(|| format!("no EXPR_REF edge leads from `{name}`"))
    };
    formula.names().iter().map(source).collect()
}
