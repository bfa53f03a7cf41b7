//! The steps that fill rows: parameters with their traces, expressions, kernels.

use crate::model::component::{Function, Role, Semantics};
use crate::model::graph::ir::{EdgeKind, GraphIR, GraphNode, NodeId, NodeKind};
use crate::model::schedule::plan::{Source, Step, Trace};
use crate::model::schedule::reason::{Obstacle, Reasons};
use crate::model::schedule::rows::{Rows, expression, is_sampled};
use crate::model::tree::Domain;

/// All steps, each after what it reads.
pub(super) fn steps(graph: &GraphIR, order: &[NodeId], rows: &Rows, reasons: &mut Reasons) -> Vec<Step> {
    let mut placed: Vec<(usize, Step)> = Vec::new();
    let mut position = vec![0; graph.nodes.len()];
    order.iter().enumerate().for_each(|(at, id)| position[*id] = at);
    for (at, id) in order.iter().enumerate() {
        let node = &graph.nodes[*id];
        let is_of_time = matches!(
            node.kind,
            NodeKind::DynamicsTrace
                | NodeKind::ParamPlusTrace
                | NodeKind::SubcycleMask
                | NodeKind::SubcycleRemap
        );
        if is_of_time && graph.domain != Domain::EnergyTime2D {
            reasons.note(Obstacle::NotInDomain { kind: node.kind.name() }, node);
            continue;
        }
        let step = match node.kind {
            NodeKind::ParamPlusTrace => group(graph, node, rows, reasons),
            NodeKind::Convolution if graph.domain != Domain::Time1D => {
                convolution(graph, node, rows, reasons)
            }
            NodeKind::Expression if !is_sampled(graph, *id) => {
                let value = expression(graph, node, |source| rows.of(source).map(Source::Row));
                let value = reasons.need(value, Obstacle::NotAParameter, node);
                value.zip(rows.of(*id)).map(|(value, target)| Step::Expression { target, value })
            }
            _ => None,
        };
        placed.extend(step.map(|step| (place(graph, node, at, &position), step)));
    }
    // The sort is stable: what has the same place keeps its order.
    placed.sort_by_key(|(at, _)| *at);
    placed.into_iter().map(|(_, step)| step).collect()
}

/// A parameter is resolved as soon as its last trace can be computed, unless its base comes later.
fn place(graph: &GraphIR, node: &GraphNode, at: usize, position: &[usize]) -> usize {
    if node.kind != NodeKind::ParamPlusTrace {
        return at;
    }
    let traces = graph.inputs(node.id, EdgeKind::TraceInput);
    let last = traces.iter().map(|t| position[unmasked(graph, *t)]).max();
    let base = graph.inputs(node.id, EdgeKind::BaseInput).first().map_or(0, |b| position[*b]);
    last.map_or(at, |last| last.max(base))
}

/// The trace of a mask, or the trace itself.
fn unmasked(graph: &GraphIR, node: NodeId) -> NodeId {
    match graph.nodes[node].kind {
        NodeKind::SubcycleMask => graph.inputs(node, EdgeKind::TraceInput)[0],
        _ => node,
    }
}

fn group(graph: &GraphIR, node: &GraphNode, rows: &Rows, reasons: &mut Reasons) -> Option<Step> {
    let target = rows.of(node.id)?;
    let base = graph.inputs(node.id, EdgeKind::BaseInput)[0];
    let base = reasons.need(rows.of(base), Obstacle::NotAParameter, node)?;
    let traces = graph.inputs(node.id, EdgeKind::TraceInput);
    let traces: Option<Vec<Trace>> = traces.into_iter().map(|t| trace(graph, t, rows, reasons)).collect();
    Some(Step::Group { target, base, traces: traces? })
}

/// A trace with the axis it sees and its mask.
fn trace(graph: &GraphIR, source: NodeId, rows: &Rows, reasons: &mut Reasons) -> Option<Trace> {
    let count = graph.time.len();
    let node = &graph.nodes[unmasked(graph, source)];
    reasons.check(node.kind == NodeKind::DynamicsTrace, Obstacle::Subcycle, node)?;
    let function = reasons.function(graph, node, Function::is_dynamics)?;
    let parameters = reasons.need(rows.parameters(graph, node.id), Obstacle::NotAParameter, node)?;
    let mask = match source == node.id {
        true => vec![1.0; count],
        false => array(&graph.nodes[source], "time_n_sub", count, reasons)?,
    };
    let time = match graph.inputs(node.id, EdgeKind::TraceInput)[..] {
        [] => graph.time.clone(),
        [remap] if graph.nodes[remap].kind == NodeKind::SubcycleRemap => {
            array(&graph.nodes[remap], "time_norm", count, reasons)?
        }
        _ => reasons.need(None, Obstacle::Subcycle, node)?,
    };
    Some(Trace { function, parameters, time, mask })
}

fn array(node: &GraphNode, name: &'static str, expected: usize, reasons: &mut Reasons) -> Option<Vec<f64>> {
    let array = node.arrays.get(name).filter(|array| array.len() == expected);
    reasons.need(array.cloned(), Obstacle::Array { array: name, expected }, node)
}

fn convolution(graph: &GraphIR, node: &GraphNode, rows: &Rows, reasons: &mut Reasons) -> Option<Step> {
    let kind = node.kind.name();
    reasons.check(graph.domain != Domain::Energy1D, Obstacle::NotInDomain { kind }, node)?;
    let function = reasons.function(graph, node, |f| f.role() == Role::Kernel)?;
    let input = graph.inputs(node.id, EdgeKind::TraceInput)[0];
    let is_row = matches!(graph.nodes[input].kind, NodeKind::ParamPlusTrace | NodeKind::Convolution);
    let target = reasons.need(rows.of(node.id).filter(|_| is_row), Obstacle::KernelInput, node)?;
    let readers = graph.edges.iter().filter(|e| e.source == input).count();
    reasons.check(readers == 1, Obstacle::ReadBeforeKernel, &graph.nodes[input])?;
    let parameters = reasons.need(rows.parameters(graph, node.id), Obstacle::NotAParameter, node)?;
    let support = support(graph, node, reasons)?;
    Some(Step::Convolution { target, function, parameters, support })
}

/// The frozen support of a kernel in semantics 0.9; nothing in the current one.
pub(super) fn support(graph: &GraphIR, node: &GraphNode, reasons: &mut Reasons) -> Option<Vec<f64>> {
    if graph.semantics == Semantics::Current {
        return Some(Vec::new());
    }
    let support = node.arrays.get("kernel_time").filter(|support| !support.is_empty());
    reasons.need(support.cloned(), Obstacle::Array { array: "kernel_time", expected: 1 }, node)
}
