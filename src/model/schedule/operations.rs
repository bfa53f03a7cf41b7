//! Components in the order of evaluation, with profiles folded into one operation each.

use crate::model::component::{Function, Package, Role};
use crate::model::declaration::without_number;
use crate::model::graph::ir::{EdgeKind, GraphIR, GraphNode, NodeId, NodeKind};
use crate::model::schedule::plan::{Expression, Operation, Row, Sample, Source, Step};
use crate::model::schedule::reason::{Obstacle, Reason, Reasons};
use crate::model::schedule::rows::{Rows, expression};
use crate::model::schedule::steps::{steps, support};
use crate::model::tree::Domain;
use std::collections::{HashMap, HashSet};

/// What a schedule has of components.
pub(super) struct Operations<'a> {
    graph: &'a GraphIR,
    rows: &'a Rows,
    /// Rows that theta and time do not change.
    constant: HashSet<Row>,
    /// Numbers of samples and sampled expressions by node.
    sources: HashMap<NodeId, Source>,
    /// Numbers of operations by node.
    numbers: HashMap<NodeId, usize>,
    pub(super) samples: Vec<Sample>,
    pub(super) sample_expressions: Vec<Expression>,
    pub(super) operations: Vec<Operation>,
    pub(super) output: Vec<usize>,
}

impl<'a> Operations<'a> {
    pub(super) fn of(
        graph: &'a GraphIR,
        order: &[NodeId],
        rows: &'a Rows,
        reasons: &mut Reasons,
    ) -> Operations<'a> {
        let mut made = Operations {
            graph,
            rows,
            constant: constant_rows(graph, order, rows),
            sources: HashMap::new(),
            numbers: HashMap::new(),
            samples: Vec::new(),
            sample_expressions: Vec::new(),
            operations: Vec::new(),
            output: Vec::new(),
        };
        for id in order {
            made.node(&graph.nodes[*id], reasons);
        }
        match graph.output() {
            Some(output) => made.output = made.reads(&[output]),
            None => reasons.0.push(Reason { obstacle: Obstacle::NoOutput, nodes: Vec::new() }),
        }
        made
    }

    fn node(&mut self, node: &GraphNode, reasons: &mut Reasons) {
        let (graph, id) = (self.graph, node.id);
        match node.kind {
            NodeKind::ComponentEval | NodeKind::SpectrumFedOp if !self.is_sample(id) => {
                let inputs = graph.inputs(id, EdgeKind::ParamInput);
                let reads = self.reads(&graph.inputs(id, EdgeKind::SpectrumInput));
                self.operation(node, node, &inputs, reads, reasons);
            }
            NodeKind::Convolution if graph.domain == Domain::Time1D => self.kernel(node, reasons),
            NodeKind::ProfileAverage => self.average(node, reasons),
            _ => {}
        }
    }

    /// A kernel of a dynamics model by itself, which convolves what is below it.
    fn kernel(&mut self, node: &GraphNode, reasons: &mut Reasons) {
        if let Some(support) = support(self.graph, node, reasons) {
            let inputs = self.graph.inputs(node.id, EdgeKind::ParamInput);
            let reads = self.reads(&self.graph.inputs(node.id, EdgeKind::TraceInput));
            let before = self.operations.len();
            self.operation(node, node, &inputs, reads, reasons);
            self.operations[before..].iter_mut().for_each(|kernel| kernel.support.clone_from(&support));
        }
    }

    fn is_sample(&self, id: NodeId) -> bool {
        let mut readers = self.graph.edges.iter().filter(|e| e.source == id && e.kind == EdgeKind::Addend);
        readers.any(|e| self.graph.nodes[e.target].kind == NodeKind::ProfileAverage)
    }

    /// The operations that some nodes are the sums of.
    fn reads(&self, nodes: &[NodeId]) -> Vec<usize> {
        let mut found = Vec::new();
        let mut work: Vec<NodeId> = nodes.iter().rev().copied().collect();
        while let Some(id) = work.pop() {
            match (self.numbers.get(&id), self.graph.nodes[id].kind) {
                (Some(number), _) => found.push(*number),
                (None, NodeKind::Sum) => work.extend(self.graph.inputs(id, EdgeKind::Addend).iter().rev()),
                (None, _) => {}
            }
        }
        found
    }

    /// What a node of this kind may compute.
    fn fits(&self, kind: NodeKind, function: Function) -> bool {
        let package = if self.graph.domain == Domain::Time1D { Package::Time } else { Package::Energy };
        let role = match kind {
            NodeKind::SpectrumFedOp => function.role() == Role::SpectrumFed,
            NodeKind::Convolution => function.role() == Role::Kernel,
            _ => matches!(function.role(), Role::Additive | Role::Background),
        };
        role && function.package() == package
    }

    /// Adds the operation of `node`, which computes what `component` says.
    fn operation(
        &mut self,
        node: &GraphNode,
        component: &GraphNode,
        inputs: &[NodeId],
        reads: Vec<usize>,
        reasons: &mut Reasons,
    ) {
        let function = reasons.function(self.graph, component, |f| self.fits(component.kind, f));
        let parameters: Option<Vec<Source>> = inputs.iter().map(|id| self.source(*id, reasons)).collect();
        let parameters = reasons.need(parameters, Obstacle::NotAParameter, component);
        let (Some(function), Some(parameters)) = (function, parameters) else { return };
        let peak_sum = self.graph.node_by_name.get("peak_sum");
        let is_constant_row = |s: &Source| matches!(s, Source::Row(row) if self.constant.contains(row));
        self.numbers.insert(node.id, self.operations.len());
        self.operations.push(Operation {
            node: node.id,
            name: node.name.clone(),
            function,
            is_constant: matches!(function.role(), Role::Additive | Role::Background)
                && parameters.iter().all(is_constant_row),
            parameters,
            support: Vec::new(),
            reads,
            is_peak: peak_sum.is_some_and(|sum| self.graph.inputs(*sum, EdgeKind::Addend).contains(&node.id)),
            is_profiled: node.kind == NodeKind::ProfileAverage,
        });
    }

    fn average(&mut self, node: &GraphNode, reasons: &mut Reasons) {
        let graph = self.graph;
        let samples = graph.inputs(node.id, EdgeKind::Addend);
        let first = &graph.nodes[samples[0]];
        let points = graph.nodes.iter().find_map(|n| n.arrays.get("aux_axis")).map_or(0, Vec::len);
        let is_alike = |id: &NodeId| {
            let sample = &graph.nodes[*id];
            (sample.kind, &sample.function_name) == (first.kind, &first.function_name)
        };
        if samples.len() != points || !samples.iter().all(is_alike) {
            return reasons.note(Obstacle::UnequalSamples, node);
        }
        let reads = self.reads(&graph.inputs(first.id, EdgeKind::SpectrumInput));
        self.operation(node, first, &graph.inputs(first.id, EdgeKind::ParamInput), reads, reasons);
    }

    /// Where a parameter of an operation comes from.
    fn source(&mut self, id: NodeId, reasons: &mut Reasons) -> Option<Source> {
        if let Some(row) = self.rows.of(id) {
            return Some(Source::Row(row));
        }
        if let Some(source) = self.sources.get(&id) {
            return Some(*source);
        }
        let node = &self.graph.nodes[id];
        let source = match node.kind {
            NodeKind::ProfileSample => Source::Sample(self.sample(node, reasons)?),
            NodeKind::Expression => {
                let value = expression(self.graph, node, |source| self.source(source, reasons))?;
                self.sample_expressions.push(value);
                Source::SampleExpression(self.sample_expressions.len() - 1)
            }
            _ => return None,
        };
        self.sources.insert(id, source);
        Some(source)
    }

    fn sample(&mut self, node: &GraphNode, reasons: &mut Reasons) -> Option<usize> {
        let inputs = self.graph.inputs(node.id, EdgeKind::ParamInput);
        let base = self.rows.of(inputs[0])?;
        let mut terms = Vec::new();
        for (function, parameters) in self.terms(&inputs, reasons)? {
            reasons.count(function, self.graph.semantics, parameters.len(), node)?;
            let rows: Option<Vec<Row>> = parameters.iter().map(|id| self.rows.of(*id)).collect();
            terms.push((function, rows?));
        }
        let sample = Sample { base, terms };
        let known = self.samples.iter().position(|s| *s == sample);
        Some(known.unwrap_or_else(|| {
            self.samples.push(sample);
            self.samples.len() - 1
        }))
    }

    /// The terms of a profile and what each of them reads. Which term a parameter belongs to, its name says.
    fn terms(&self, inputs: &[NodeId], reasons: &mut Reasons) -> Option<Vec<(Function, Vec<NodeId>)>> {
        let graph = self.graph;
        let prefix = format!("{}_", graph.nodes[inputs[0]].name);
        let mut terms: Vec<(&str, Function, Vec<NodeId>)> = Vec::new();
        for input in &inputs[1..] {
            let node = &graph.nodes[graph.base_of(*input)];
            let component = node.name.strip_prefix(&prefix).and_then(|name| Some(name.rsplit_once('_')?.0));
            let problem = format!("a parameter of a profile is called {prefix}FUNCTION_PARAMETER");
            let component =
                reasons.need(component, Obstacle::ProfileNames { problem: problem.clone() }, node)?;
            if let Some(term) = terms.iter_mut().find(|term| term.0 == component) {
                term.2.push(*input);
                continue;
            }
            let function = Function::from_name(without_number(component), graph.semantics);
            let function = function.filter(|f| f.package() == Package::Profile);
            let function = reasons.need(function, Obstacle::ProfileNames { problem }, node)?;
            terms.push((component, function, vec![*input]));
        }
        Some(terms.into_iter().map(|(_, function, inputs)| (function, inputs)).collect())
    }
}

/// Rows that neither theta nor time changes: fixed numbers and expressions of them.
fn constant_rows(graph: &GraphIR, order: &[NodeId], rows: &Rows) -> HashSet<Row> {
    let mut constant: HashSet<Row> = (rows.free..rows.numbers().len()).collect();
    for step in steps(graph, order, rows, &mut Reasons::default()) {
        if let Step::Expression { target, value } = step {
            let is_constant =
                |source: &Source| !matches!(source, Source::Row(row) if !constant.contains(row));
            if value.sources.iter().all(is_constant) {
                constant.insert(target);
            }
        }
    }
    constant
}
