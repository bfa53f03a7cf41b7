//! A graph back to a model file.
//!
//! Names carry the structure: parameters are called after their component, those of dynamics and
//! profiles after the parameter they are attached to. Components come in the order in which they were
//! made, so that reading the file gives the same graph.

use crate::model::component::{Function, Package, Role};
use crate::model::declaration::without_number;
use crate::model::error::{ModelError, ModelErrorKind};
use crate::model::graph::ir::{EdgeKind, GraphIR, GraphNode, NodeId, NodeKind};
use crate::model::graph::print::quote;
use crate::model::graph::terms::profile_terms;
use crate::model::tree::Domain;
use std::collections::BTreeMap;

/// The model file with its header.
///
/// # Errors
/// The graph has parts that no model file describes: names without the structure, functions that do not
/// exist, edges that no order of components gives.
pub fn yaml(graph: &GraphIR) -> Result<String, ModelError> {
    let mut writer = Writer { graph, models: Vec::new(), profiles: Vec::new(), dynamics: Vec::new() };
    writer.components()?;
    let mut out = writer.header();
    for (name, body) in &writer.models {
        out += &format!("{}:\n{body}", key(name));
    }
    Ok(out)
}

struct Writer<'g> {
    graph: &'g GraphIR,
    /// Names and bodies of models.
    models: Vec<(String, String)>,
    /// Targets and models.
    profiles: Vec<(String, String)>,
    /// Targets, models and frequencies.
    dynamics: Vec<(String, Vec<String>, Option<f64>)>,
}

/// A component as it will be written.
struct Written {
    source_order: usize,
    name: String,
    function: Function,
    /// Nodes of its parameters, in the order in which they were made.
    parameters: Vec<NodeId>,
}

impl<'g> Writer<'g> {
    fn unknown(&self, node: &GraphNode, problem: String) -> ModelError {
        ModelErrorKind::NodeForm { node: node.name.clone(), problem }.nowhere()
    }

    fn components(&mut self) -> Result<(), ModelError> {
        let package = if self.graph.domain == Domain::Time1D { Package::Time } else { Package::Energy };
        let mut written = Vec::new();
        for node in &self.graph.nodes {
            let is_component = match node.kind {
                NodeKind::SpectrumFedOp | NodeKind::ComponentEval => true,
                NodeKind::Convolution => package == Package::Time,
                _ => false,
            };
            if is_component && !self.is_sample_after_first(node) {
                let name = node.name.strip_suffix("_sample_0").unwrap_or(&node.name);
                written.push(self.component(node, name)?);
            }
        }
        written.sort_by_key(|c| {
            c.parameters.first().map_or(c.source_order, |p| self.graph.nodes[*p].source_order)
        });
        let bases: Vec<NodeId> = written.iter().flat_map(|c| c.parameters.clone()).collect();
        let name = self.graph.name.clone();
        let body = self.body(&written, "")?;
        self.models.push((name, body));
        bases.into_iter().try_for_each(|base| self.attachments(base))
    }

    /// A component is written once, however many samples it has.
    fn is_sample_after_first(&self, node: &GraphNode) -> bool {
        let averages = self.graph.edges.iter().filter(|e| e.source == node.id && e.kind == EdgeKind::Addend);
        let is_sample =
            averages.map(|e| &self.graph.nodes[e.target]).any(|n| n.kind == NodeKind::ProfileAverage);
        is_sample && !node.name.ends_with("_sample_0")
    }

    fn component(&self, node: &GraphNode, name: &str) -> Result<Written, ModelError> {
        let function = node.function_name.as_deref().unwrap_or_default();
        let function = Function::from_name(function, self.graph.semantics)
            .ok_or_else(|| self.unknown(node, format!("there is no function `{function}`")))?;
        let mut parameters: Vec<NodeId> = self.graph.inputs(node.id, EdgeKind::ParamInput);
        parameters.iter_mut().for_each(|p| *p = self.parameter_of(*p));
        parameters.sort_by_key(|p| self.graph.nodes[*p].source_order);
        Ok(Written { source_order: node.source_order, name: name.to_owned(), function, parameters })
    }

    /// The node that a file describes, of what a component reads.
    fn parameter_of(&self, node: NodeId) -> NodeId {
        let base = self.graph.base_of(node);
        let name = self.graph.nodes[base].name.as_str();
        let expression = name.rsplit_once("_profile_expr_").and_then(|(name, _)| self.graph.node(name));
        expression.map_or(base, |n| n.id)
    }

    fn body(&self, components: &[Written], prefix: &str) -> Result<String, ModelError> {
        let mut out = String::new();
        for component in components {
            let written = match component.function.is_numbered() {
                true => without_number(&component.name),
                false => &component.name,
            };
            let empty = if component.parameters.is_empty() { " {}" } else { "" };
            out += &format!("  {}:{empty}\n", key(written));
            for parameter in &component.parameters {
                let node = &self.graph.nodes[*parameter];
                let own = format!("{prefix}{}_", component.name);
                let short = node.name.strip_prefix(&own).ok_or_else(|| {
                    self.unknown(
                        node,
                        format!("a parameter of `{}` has a name that begins so", component.name),
                    )
                })?;
                out += &format!("    {}: {}\n", key(short), self.quantity(node));
            }
        }
        Ok(out)
    }

    fn quantity(&self, node: &GraphNode) -> String {
        let value = number(node.value.unwrap_or(f64::NAN));
        match (node.kind, node.bounds) {
            (NodeKind::Expression, _) => {
                format!("[{}]", quote(node.expr_string.as_deref().unwrap_or_default()))
            }
            (NodeKind::OptParam, Some((min, max))) if min > f64::NEG_INFINITY || max < f64::INFINITY => {
                format!("[{value}, True, {}, {}]", number(min), number(max))
            }
            (NodeKind::OptParam, _) => format!("[{value}, True]"),
            _ => format!("[{value}, False]"),
        }
    }

    /// Models of what is attached to a parameter.
    fn attachments(&mut self, base: NodeId) -> Result<(), ModelError> {
        self.profile(base)?;
        self.dynamics_of(base)
    }

    fn profile(&mut self, base: NodeId) -> Result<(), ModelError> {
        let (graph, target) = (self.graph, &self.graph.nodes[base].name);
        let Some(sample) = graph.node(&format!("{target}_profile_sample_0")) else { return Ok(()) };
        let prefix = format!("{target}_");
        let inputs = &graph.inputs(sample.id, EdgeKind::ParamInput)[1..];
        let terms = profile_terms(graph, &prefix, inputs)
            .map_err(|(node, problem)| self.unknown(&graph.nodes[node], problem))?;
        let written: Vec<Written> = terms
            .into_iter()
            .map(|(name, function, mut parameters)| {
                parameters.sort_by_key(|p| graph.nodes[*p].source_order);
                Written { source_order: graph.nodes[parameters[0]].source_order, name, function, parameters }
            })
            .collect();
        let model = format!("{target}_profile");
        let body = self.body(&written, &prefix)?;
        self.models.push((model.clone(), body));
        self.profiles.push((target.clone(), model));
        written.iter().flat_map(|c| c.parameters.clone()).try_for_each(|p| self.dynamics_of(p))
    }

    fn dynamics_of(&mut self, base: NodeId) -> Result<(), ModelError> {
        let (graph, target) = (self.graph, self.graph.nodes[base].name.clone());
        let prefix = format!("{target}_");
        let mut found: Vec<(Written, usize)> = Vec::new();
        let is_trace = |n: &&GraphNode| matches!(n.kind, NodeKind::DynamicsTrace | NodeKind::Convolution);
        for node in graph.nodes.iter().filter(is_trace) {
            if let Some(name) = self.trace_component(node, &prefix) {
                found.push((self.component(node, &name)?, self.subcycle(node)));
            }
        }
        place_kernels(&mut found);
        let mut entries: BTreeMap<usize, Vec<Written>> = BTreeMap::new();
        found.into_iter().for_each(|(component, entry)| entries.entry(entry).or_default().push(component));
        if entries.is_empty() {
            return Ok(());
        }
        let frequency = graph.frequencies.get(&target).copied();
        let last = entries.keys().max().copied().unwrap_or(0);
        let mut models = Vec::new();
        for entry in 0..=last {
            let model = format!("{target}_dynamics_{entry}");
            let body = match entries.get(&entry) {
                Some(components) => self.body(components, &prefix)?,
                None => "  none: {}\n".to_owned(),
            };
            self.models.push((model.clone(), body));
            models.push(model);
        }
        self.dynamics.push((target, models, frequency));
        Ok(())
    }

    /// The component of a trace that belongs to a parameter: what its parameters are called after.
    fn trace_component(&self, node: &GraphNode, prefix: &str) -> Option<String> {
        let first = self.graph.inputs(node.id, EdgeKind::ParamInput).first().copied()?;
        let name = self.graph.nodes[self.graph.base_of(first)].name.strip_prefix(prefix)?;
        let component = name.rsplit_once('_')?.0;
        (without_number(component) == node.function_name.as_deref()?).then(|| component.to_owned())
    }

    /// The subcycle of a trace: which of the different masks of its parameter it has, from 1.
    fn subcycle(&self, node: &GraphNode) -> usize {
        let mask_of = |trace: NodeId| {
            let mut masks = self.graph.nodes.iter().filter(|n| n.kind == NodeKind::SubcycleMask);
            let mask = masks.find(|m| self.graph.inputs(m.id, EdgeKind::TraceInput) == [trace]);
            mask.and_then(|m| m.arrays.get("time_n_sub"))
        };
        let Some(mask) = mask_of(node.id) else { return 0 };
        // A mask says when its subcycle is active; the first sample of the first period orders them.
        let start = |mask: &[f64]| mask.iter().position(|m| *m != 0.0).unwrap_or(usize::MAX);
        let mut starts: Vec<usize> = self
            .graph
            .nodes
            .iter()
            .filter(|n| n.kind == NodeKind::SubcycleMask)
            .filter_map(|n| n.arrays.get("time_n_sub"))
            .map(|m| start(m))
            .collect();
        starts.sort_unstable();
        starts.dedup();
        1 + starts.iter().position(|s| *s == start(mask)).unwrap_or(0)
    }

    fn header(&self) -> String {
        let graph = self.graph;
        let is_time = graph.domain == Domain::Time1D;
        let mut out = format!("cembra:\n  semantics: {}\n", quote(graph.semantics.name()));
        out += &format!("  {}: {}\n", if is_time { "time_model" } else { "model" }, key(&graph.name));
        let aux = graph.nodes.iter().find_map(|n| n.arrays.get("aux_axis"));
        for (name, axis) in [("energy", Some(&graph.energy)), ("time", Some(&graph.time)), ("aux", aux)] {
            if let Some(axis) = axis.filter(|a| !a.is_empty()) {
                let points: Vec<String> = axis.iter().map(|v| number(*v)).collect();
                out += &format!("  {name}: [{}]\n", points.join(", "));
            }
        }
        if !self.profiles.is_empty() {
            out += "  profiles:\n";
        }
        for (target, model) in &self.profiles {
            out += &format!("    - {{target: {}, model: {}}}\n", key(target), key(model));
        }
        if !self.dynamics.is_empty() {
            out += "  dynamics:\n";
        }
        for (target, models, frequency) in &self.dynamics {
            let models: Vec<String> = models.iter().map(|m| key(m)).collect();
            let frequency = frequency.map_or(String::new(), |f| format!(", frequency: {}", number(f)));
            out +=
                &format!("    - {{target: {}, models: [{}]{frequency}}}\n", key(target), models.join(", "));
        }
        out
    }
}

/// A kernel has no mask, so it belongs to the subcycle of the trace below it; one that stands above all
/// subcycles is the global entry.
fn place_kernels(found: &mut [(Written, usize)]) {
    let is_kernel = |c: &Written| c.function.role() == Role::Kernel;
    for index in (0..found.len().saturating_sub(1)).rev() {
        if is_kernel(&found[index].0) {
            found[index].1 = found[index + 1].1;
        }
    }
    if let [(first, entry), (second, _), ..] = found
        && is_kernel(first)
        && !is_kernel(second)
    {
        *entry = 0;
    }
}

/// A number that reads back to the same bits.
fn number(value: f64) -> String {
    match value {
        f64::INFINITY => ".inf".to_owned(),
        f64::NEG_INFINITY => "-.inf".to_owned(),
        _ => format!("{value:?}"),
    }
}

/// A name as a key; quoted unless it is plain.
fn key(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    let is_word = ["true", "false", "null", "yes", "no"].contains(&name.to_lowercase().as_str());
    if is_plain && !is_word && !name.is_empty() { name.to_owned() } else { quote(name) }
}
