//! A graph in the making: nodes of parameters with their dynamics, and what stands for each parameter.
//!
//! ```text
//! sinFun                 resolved ──> gaussCONV ──> + sinFun = gaussCONV_resolved ──> component
//! gaussCONV              = base + expFun
//! expFun
//! ```

use crate::model::component::{Role, Semantics};
use crate::model::graph::builder::GraphBuilder;
use crate::model::graph::ir::{EdgeKind, NodeId};
use crate::model::interpret::initial_arguments;
use crate::model::kernel;
use crate::model::quantity::Quantity;
use crate::model::subcycle::Subcycles;
use crate::model::tree::{Component, Dynamics, Model, ParameterId};
use std::collections::HashMap;

/// A graph in the making.
pub(super) struct Maker<'m> {
    /// What the graph is made of.
    pub(super) model: &'m Model,
    /// The graph so far.
    pub(super) graph: GraphBuilder,
    /// Initial values of parameters.
    values: Vec<f64>,
    /// The nodes of parameters themselves.
    base: HashMap<ParameterId, NodeId>,
    /// What reads a parameter reads this: its resolved value or itself.
    resolved: HashMap<ParameterId, NodeId>,
    /// Traces and where they are added.
    traces: Vec<(NodeId, NodeId)>,
    /// Traces that count in one subcycle only, with the prefix of its nodes and its number.
    folded: Vec<(NodeId, String, &'m Subcycles, usize)>,
}

impl<'m> Maker<'m> {
    /// A graph with axes and without nodes.
    pub(super) fn new(model: &'m Model) -> Maker<'m> {
        let graph = GraphBuilder::new(&model.name, model.domain)
            .with_energy(model.energy.clone())
            .with_time(model.time.clone())
            .with_semantics(model.semantics);
        Maker {
            model,
            graph,
            values: model.base_values(&model.theta()).expect("theta is the model's own"),
            base: HashMap::new(),
            resolved: HashMap::new(),
            traces: Vec::new(),
            folded: Vec::new(),
        }
    }

    /// What reads a parameter reads this node.
    pub(super) fn output(&self, id: ParameterId) -> NodeId {
        self.resolved[&id]
    }

    /// The node of the parameter itself.
    pub(super) fn base(&self, id: ParameterId) -> NodeId {
        self.base[&id]
    }

    /// The initial value of a parameter.
    pub(super) fn value(&self, id: ParameterId) -> f64 {
        self.values[id.0]
    }

    /// Makes the nodes of a parameter and of its dynamics.
    pub(super) fn parameter(&mut self, id: ParameterId) {
        let node = self.base_node(id);
        self.base.insert(id, node);
        let model = self.model;
        let parameter = model.parameter(id);
        let resolved = match &parameter.dynamics {
            Some(dynamics) => self.dynamics(&parameter.name, node, dynamics),
            None => node,
        };
        self.resolved.insert(id, resolved);
    }

    fn base_node(&mut self, id: ParameterId) -> NodeId {
        let parameter = self.model.parameter(id);
        match &parameter.quantity {
            Quantity::Expression(e) => self.graph.expression(&parameter.name, e.text(), self.values[id.0]),
            Quantity::Number(n) if n.vary.is_free() => {
                self.graph.free(&parameter.name, n.value, (n.min, n.max))
            }
            Quantity::Number(n) => self.graph.fixed(&parameter.name, n.value),
        }
    }

    /// What reads some parameters reads these nodes.
    pub(super) fn outputs(&self, ids: &[ParameterId]) -> Vec<NodeId> {
        ids.iter().map(|id| self.output(*id)).collect()
    }

    fn dynamics(&mut self, name: &str, base: NodeId, dynamics: &'m Dynamics) -> NodeId {
        for component in &dynamics.components {
            component.parameters.iter().for_each(|id| self.parameter(*id));
        }
        if let Some(frequency) = dynamics.frequency {
            self.graph.frequency(name, frequency);
        }
        let is_active = |c: &&Component| c.function.role() != Role::Placeholder;
        let active: Vec<&Component> = dynamics.components.iter().filter(is_active).collect();
        let is_single = active.len() == 1;
        let nodes: Vec<NodeId> = active.iter().map(|c| self.trace(name, c, dynamics, is_single)).collect();
        self.combine(name, base, &active, &nodes)
    }

    /// Adds traces and applies kernels from the last component upwards; gives what the parameter becomes.
    fn combine(&mut self, name: &str, base: NodeId, components: &[&Component], nodes: &[NodeId]) -> NodeId {
        let mut sum: Vec<NodeId> = Vec::new();
        let mut current = base;
        let mut sum_name = format!("{name}_resolved");
        for (component, node) in components.iter().zip(nodes).rev() {
            if component.function.role() != Role::Kernel {
                sum.push(*node);
                continue;
            }
            if current == base || !sum.is_empty() {
                current = self.resolve(&sum_name, current, &mut sum);
            }
            self.graph.edge(current, *node, EdgeKind::TraceInput);
            current = *node;
            sum_name = format!("{name}_{}_resolved", component.name);
        }
        match current == base || !sum.is_empty() {
            true => self.resolve(&sum_name, current, &mut sum),
            false => current,
        }
    }

    fn resolve(&mut self, name: &str, base: NodeId, sum: &mut Vec<NodeId>) -> NodeId {
        let resolved = self.graph.resolved(name, base);
        self.traces.extend(sum.drain(..).rev().map(|trace| (trace, resolved)));
        resolved
    }

    fn trace(
        &mut self,
        name: &str,
        component: &Component,
        dynamics: &'m Dynamics,
        is_single: bool,
    ) -> NodeId {
        let trace_name = match is_single {
            true => format!("{name}_dynamics"),
            false => format!("{name}_{}_dynamics", component.name),
        };
        let arguments = self.outputs(&component.arguments);
        if component.function.role() == Role::Kernel {
            return self.kernel(&trace_name, component, &arguments);
        }
        let trace = self.graph.trace(&trace_name, component.function.name(), &arguments);
        if let (Some(subcycles), true) = (&dynamics.subcycles, component.subcycle > 0) {
            self.folded.push((trace, format!("{name}_{}", component.name), subcycles, component.subcycle));
        }
        trace
    }

    /// A kernel; in the older semantics with its frozen support.
    pub(super) fn kernel(&mut self, name: &str, component: &Component, arguments: &[NodeId]) -> NodeId {
        let node = self.graph.convolution(name, component.function.name(), arguments);
        if self.model.semantics == Semantics::V0_9 {
            let initial = initial_arguments(self.model, component);
            let support = kernel::support(component.function, &self.model.time, &initial);
            self.graph.with_array(node, "kernel_time", support);
        }
        node
    }

    /// Remaps and masks traces of subcycles, adds traces to their parameters, binds expressions.
    pub(super) fn finish_parameters(&mut self) {
        for (trace, prefix, subcycles, number) in std::mem::take(&mut self.folded) {
            let (time_norm, mask) = (subcycles.time_norm.clone(), subcycles.mask(number));
            let mask = self.graph.subcycle(&prefix, trace, time_norm, mask);
            let traces = self.traces.iter_mut().filter(|t| t.0 == trace);
            traces.for_each(|trace| trace.0 = mask);
        }
        for (trace, resolved) in std::mem::take(&mut self.traces) {
            self.graph.edge(trace, resolved, EdgeKind::TraceInput);
        }
        for id in self.model.order() {
            for reference in &self.model.parameter(id).references {
                let (source, target) = (self.output(*reference), self.base(id));
                self.graph.refer(source, target);
            }
        }
    }

    /// One component or one sample of it.
    pub(super) fn component(&mut self, name: &str, component: &Component, arguments: &[NodeId]) -> NodeId {
        let function = component.function.name();
        match component.function.role() {
            Role::SpectrumFed => self.graph.spectrum_fed(name, function, arguments),
            _ => self.graph.component(name, function, component.function.package().name(), arguments),
        }
    }
}
