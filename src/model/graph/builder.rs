//! Building a graph node by node: what a reader of files does, and what an editor of models would do.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use cembra::model::graph::GraphBuilder;
//! use cembra::model::tree::Domain;
//! let mut graph = GraphBuilder::new("m", Domain::Energy1D).with_energy(vec![84.0, 85.0, 86.0]);
//! let height = graph.free("Gauss_01_A", 10.0, (0.0, 100.0));
//! let centre = graph.fixed("Gauss_01_x0", 85.0);
//! let width = graph.expression("Gauss_01_SD", "Gauss_01_A/10", 1.0);
//! graph.refer(height, width);
//! let peak = graph.component("Gauss_01", "Gauss", "energy", &[height, centre, width]);
//! graph.sum("peak_sum", &[peak]);
//! let graph = graph.build()?;
//! assert_eq!(graph.nodes[width].name, "Gauss_01_SD");
//! # Ok(())
//! # }
//! ```

use crate::model::component::Semantics;
use crate::model::error::ModelError;
use crate::model::graph::form;
use crate::model::graph::ir::{EdgeKind, GraphEdge, GraphIR, GraphNode, NodeId, NodeKind};
use crate::model::tree::Domain;

/// A graph that is being made.
///
/// 1. Nodes get ids and source orders as they are made; [`skip`](Self::skip) leaves a gap.
/// 2. Edges may be added at any time, but only between nodes that exist.
/// 3. [`build`](Self::build) checks the whole.
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    graph: GraphIR,
    next_order: usize,
}

impl GraphBuilder {
    /// A graph without nodes.
    pub fn new(name: &str, domain: Domain) -> GraphBuilder {
        GraphBuilder { graph: GraphIR::empty(name, domain), next_order: 0 }
    }

    /// Sets the energy axis.
    pub fn with_energy(mut self, energy: Vec<f64>) -> GraphBuilder {
        self.graph.energy = energy;
        self
    }

    /// Sets the time axis.
    pub fn with_time(mut self, time: Vec<f64>) -> GraphBuilder {
        self.graph.time = time;
        self
    }

    /// Sets the formulas that are meant.
    pub fn with_semantics(mut self, semantics: Semantics) -> GraphBuilder {
        self.graph.semantics = semantics;
        self
    }

    /// A node without any field.
    pub fn node(&mut self, kind: NodeKind, name: &str) -> NodeId {
        let id = self.graph.nodes.len();
        let (name, source_order) = (name.to_owned(), self.next_order);
        self.graph.nodes.push(GraphNode { id, kind, name, source_order, ..GraphNode::default() });
        self.next_order += 1;
        id
    }

    /// Leaves a gap in the source order.
    pub fn skip(&mut self) {
        self.next_order += 1;
    }

    /// Adds an edge.
    pub fn edge(&mut self, source: NodeId, target: NodeId, kind: EdgeKind) {
        self.graph.edges.push(GraphEdge { source, target, kind, position: None });
    }

    /// Adds edges for parameters, the first at position 0.
    pub fn parameters(&mut self, target: NodeId, sources: &[NodeId]) {
        for (position, source) in sources.iter().enumerate() {
            let kind = EdgeKind::ParamInput;
            self.graph.edges.push(GraphEdge { source: *source, target, kind, position: Some(position) });
        }
    }

    /// A parameter that an optimizer sees.
    pub fn free(&mut self, name: &str, value: f64, bounds: (f64, f64)) -> NodeId {
        let id = self.node(NodeKind::OptParam, name);
        let node = &mut self.graph.nodes[id];
        (node.value, node.bounds, node.vary) = (Some(value), Some(bounds), true);
        id
    }

    /// A parameter that nothing changes.
    pub fn fixed(&mut self, name: &str, value: f64) -> NodeId {
        let id = self.node(NodeKind::StaticParam, name);
        self.graph.nodes[id].value = Some(value);
        id
    }

    /// An expression with its initial value; [`refer`](Self::refer) binds its names.
    pub fn expression(&mut self, name: &str, text: &str, value: f64) -> NodeId {
        let id = self.node(NodeKind::Expression, name);
        let node = &mut self.graph.nodes[id];
        (node.value, node.expr_string) = (Some(value), Some(text.to_owned()));
        id
    }

    /// Binds a name in an expression to a parameter, its resolved value or a sample of it.
    pub fn refer(&mut self, source: NodeId, expression: NodeId) {
        self.edge(source, expression, EdgeKind::ExprRef);
    }

    fn function(
        &mut self,
        kind: NodeKind,
        name: &str,
        function: &str,
        package: &str,
        p: &[NodeId],
    ) -> NodeId {
        let id = self.node(kind, name);
        let node = &mut self.graph.nodes[id];
        (node.function_name, node.package) = (Some(function.to_owned()), Some(package.to_owned()));
        self.parameters(id, p);
        id
    }

    /// A component on the axis of its package.
    pub fn component(&mut self, name: &str, function: &str, package: &str, parameters: &[NodeId]) -> NodeId {
        self.function(NodeKind::ComponentEval, name, function, package, parameters)
    }

    /// A component that reads a spectrum; SPECTRUM_INPUT edges say which.
    pub fn spectrum_fed(&mut self, name: &str, function: &str, parameters: &[NodeId]) -> NodeId {
        self.function(NodeKind::SpectrumFedOp, name, function, "energy", parameters)
    }

    /// A function of time, to be added to a parameter.
    pub fn trace(&mut self, name: &str, function: &str, parameters: &[NodeId]) -> NodeId {
        self.function(NodeKind::DynamicsTrace, name, function, "time", parameters)
    }

    /// A kernel; a TRACE_INPUT edge says what it convolves.
    pub fn convolution(&mut self, name: &str, function: &str, parameters: &[NodeId]) -> NodeId {
        self.function(NodeKind::Convolution, name, function, "time", parameters)
    }

    /// A parameter to which traces are added; TRACE_INPUT edges say which.
    pub fn resolved(&mut self, name: &str, base: NodeId) -> NodeId {
        let id = self.node(NodeKind::ParamPlusTrace, name);
        self.edge(base, id, EdgeKind::BaseInput);
        id
    }

    /// A sum.
    pub fn sum(&mut self, name: &str, addends: &[NodeId]) -> NodeId {
        let id = self.node(NodeKind::Sum, name);
        addends.iter().for_each(|addend| self.edge(*addend, id, EdgeKind::Addend));
        id
    }

    /// A profiled parameter at one point of the auxiliary axis: the base, then the parameters of the
    /// profile, whose names say which terms they belong to.
    pub fn profile_sample(
        &mut self,
        name: &str,
        base: NodeId,
        parameters: &[NodeId],
        axis: &[f64],
    ) -> NodeId {
        let id = self.node(NodeKind::ProfileSample, name);
        let inputs: Vec<NodeId> = std::iter::once(base).chain(parameters.iter().copied()).collect();
        self.parameters(id, &inputs);
        self.with_array(id, "aux_axis", axis.to_vec())
    }

    /// The mean of per-sample components.
    pub fn profile_average(&mut self, name: &str, samples: &[NodeId]) -> NodeId {
        let id = self.node(NodeKind::ProfileAverage, name);
        samples.iter().for_each(|sample| self.edge(*sample, id, EdgeKind::Addend));
        id
    }

    /// Makes a trace see the time since its subcycle began and count only in that: its mask, which
    /// is what the parameter adds.
    pub fn subcycle(&mut self, prefix: &str, trace: NodeId, time_norm: Vec<f64>, mask: Vec<f64>) -> NodeId {
        let remap = self.node(NodeKind::SubcycleRemap, &format!("{prefix}_remap"));
        self.with_array(remap, "time_norm", time_norm);
        self.edge(remap, trace, EdgeKind::TraceInput);
        let masked = self.node(NodeKind::SubcycleMask, &format!("{prefix}_mask"));
        self.edge(trace, masked, EdgeKind::TraceInput);
        self.with_array(masked, "time_n_sub", mask)
    }

    /// Gives a node an array.
    pub fn with_array(&mut self, node: NodeId, name: &str, array: Vec<f64>) -> NodeId {
        self.graph.nodes[node].arrays.insert(name.to_owned(), array);
        node
    }

    /// Notes what the subcycles of a parameter were made of.
    pub fn frequency(&mut self, parameter: &str, frequency: f64) {
        self.graph.frequencies.insert(parameter.to_owned(), frequency);
    }

    /// The graph, checked.
    ///
    /// # Errors
    /// An edge without its node, two nodes of one name, a node without what its kind needs, a circle.
    pub fn build(mut self) -> Result<GraphIR, ModelError> {
        self.graph.index();
        form::check(&self.graph).map_err(|kind| kind.nowhere())?;
        Ok(self.graph)
    }
}
