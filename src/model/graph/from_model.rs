//! A model as a graph.
//!
//! Nodes are made in the published order: parameters with their dynamics, components, profiles, subcycles,
//! sums. Which nodes a kernel or a spectrum-fed background reads follows from the order of the file,
//! exactly as the [interpreter](crate::model::interpret) combines: from the last component upwards.

use crate::model::component::{Package, Role};
use crate::model::error::ModelError;
use crate::model::graph::ir::{EdgeKind, GraphIR, NodeId};
use crate::model::graph::maker::Maker;
use crate::model::graph::profiles;
use crate::model::tree::{Component, Domain, Model};

/// Makes the graph of a model.
///
/// # Errors
/// Two parts of the model have the same name in the graph.
pub fn graph_of(model: &Model) -> Result<GraphIR, ModelError> {
    let mut maker = Maker::new(model);
    for component in &model.components {
        component.parameters.iter().for_each(|id| maker.parameter(*id));
    }
    match model.domain {
        Domain::Time1D => time_components(&mut maker),
        _ => energy_components(&mut maker),
    }
    maker.graph.build()
}

fn energy_components(maker: &mut Maker<'_>) {
    let model = maker.model;
    let mut nodes: Vec<Vec<NodeId>> = Vec::new();
    for component in &model.components {
        match component.parameters.iter().any(|id| model.is_profiled(*id)) {
            // The published builder makes the component and takes it away again.
            true => {
                maker.graph.skip();
                nodes.push(Vec::new());
            }
            false => {
                let arguments = maker.outputs(&component.arguments);
                nodes.push(vec![maker.component(&component.name, component, &arguments)]);
            }
        }
    }
    let mut outputs: Vec<NodeId> = Vec::new();
    let mut samples = profiles::Samples::default();
    for (component, nodes) in model.components.iter().zip(&mut nodes) {
        outputs.push(match nodes.first() {
            Some(node) => *node,
            None => profiles::average(maker, component, &mut samples, nodes),
        });
    }
    maker.finish_parameters();
    add_up(maker, &nodes, &outputs);
}

/// Sums and what spectrum-fed components read, which is what stands below them in the file.
fn add_up(maker: &mut Maker<'_>, nodes: &[Vec<NodeId>], outputs: &[NodeId]) {
    let components = &maker.model.components;
    let with_role = |role: Role| -> Vec<usize> {
        (0..components.len()).filter(|i| components[*i].function.role() == role).collect()
    };
    let outputs_of = |indices: &[usize]| -> Vec<NodeId> { indices.iter().map(|i| outputs[*i]).collect() };
    let (peaks, fed) = (with_role(Role::Additive), with_role(Role::SpectrumFed));
    let mut addends = outputs_of(&with_role(Role::Background));
    addends.extend(outputs_of(&fed));
    let peak_sum = (!peaks.is_empty()).then(|| maker.graph.sum("peak_sum", &outputs_of(&peaks)));
    for index in fed {
        let below: Vec<usize> = (index + 1..components.len()).collect();
        let read = match peak_sum {
            Some(sum) if below == peaks => vec![sum],
            _ => outputs_of(&below),
        };
        for (node, source) in nodes[index].iter().flat_map(|n| read.iter().map(move |s| (*n, *s))) {
            maker.graph.edge(source, node, EdgeKind::SpectrumInput);
        }
    }
    addends.splice(0..0, peak_sum);
    if addends.len() > 1 {
        maker.graph.sum("total", &addends);
    }
}

/// A dynamics model by itself: functions of time are added, kernels convolve what is below them.
fn time_components(maker: &mut Maker<'_>) {
    let is_active = |c: &&Component| c.function.role() != Role::Placeholder;
    let active: Vec<&Component> = maker.model.components.iter().filter(is_active).collect();
    let mut nodes = Vec::new();
    for component in &active {
        let arguments = maker.outputs(&component.arguments);
        nodes.push(match component.function.role() {
            Role::Kernel => maker.kernel(&component.name, component, &arguments),
            _ => {
                let (name, package) = (component.function.name(), Package::Time.name());
                maker.graph.component(&component.name, name, package, &arguments)
            }
        });
    }
    maker.finish_parameters();
    let mut sum: Vec<NodeId> = Vec::new();
    for (component, node) in active.iter().zip(&nodes).rev() {
        if component.function.role() == Role::Kernel && !sum.is_empty() {
            let input = maker.graph.sum(&format!("{}_input", component.name), &in_file_order(&sum));
            maker.graph.edge(input, *node, EdgeKind::TraceInput);
            sum.clear();
        }
        sum.push(*node);
    }
    maker.graph.sum("total", &in_file_order(&sum));
}

fn in_file_order(nodes: &[NodeId]) -> Vec<NodeId> {
    nodes.iter().rev().copied().collect()
}
