//! The graph as data: nodes, edges, axes.
//!
//! ```text
//! GLP_01_A ─────────BASE_INPUT──> GLP_01_A_resolved ─PARAM_INPUT 0─> GLP_01 ─ADDEND─> peak_sum ─ADDEND─> total
//! …_tau ─PARAM_INPUT 1─> GLP_01_A_dynamics ─TRACE_INPUT─^                                  Offset ─ADDEND─^
//! ```
//!
//! 1. Ids count from 0 in the order of `nodes`; names are unique.
//! 2. `source_order` is the order of creation; it may have gaps, and breaks ties in schedules.
//! 3. Edges are the truth about dependencies: a spectrum-fed operator reads exactly the nodes whose
//!    SPECTRUM_INPUT edges lead to it, an expression exactly its EXPR_REF sources.
//!
//! Kinds and codes are those of the published graph format.

use crate::model::component::Semantics;
use crate::model::named::named;
use crate::model::tree::Domain;
use std::collections::{BTreeMap, HashMap};

/// A node, by its place in the list.
pub type NodeId = usize;

named! {
    /// What a node is.
    #[derive(Default)]
    NodeKind {
        /// A number that nothing changes.
        #[default]
        StaticParam = 0 "STATIC_PARAM",
        /// A number that an optimizer sees.
        OptParam = 1 "OPT_PARAM",
        /// A function of time, on the whole time axis.
        DynamicsTrace = 2 "DYNAMICS_TRACE",
        /// A parameter plus its traces.
        ParamPlusTrace = 3 "PARAM_PLUS_TRACE",
        /// Arithmetic on other parameters.
        Expression = 4 "EXPRESSION",
        /// A component on the axis of its package.
        ComponentEval = 5 "COMPONENT_EVAL",
        /// A sum, element by element.
        Sum = 6 "SUM",
        /// A component that reads a spectrum.
        SpectrumFedOp = 7 "SPECTRUM_FED_OP",
        /// A kernel; its output replaces what it convolves.
        Convolution = 100 "CONVOLUTION",
        /// A parameter at one point of the auxiliary axis.
        ProfileSample = 101 "PROFILE_SAMPLE",
        /// The mean of a component over the auxiliary axis.
        ProfileAverage = 102 "PROFILE_AVERAGE",
        /// Switches a trace off outside its subcycle.
        SubcycleMask = 103 "SUBCYCLE_MASK",
        /// Makes a trace see the time since its subcycle began.
        SubcycleRemap = 104 "SUBCYCLE_REMAP",
    }
}

named! {
    /// What an edge means.
    EdgeKind {
        /// A parameter of a component, an expression or a sample; has a position.
        ParamInput = 0 "PARAM_INPUT",
        /// A trace into a sum, a kernel, a mask; a remapped axis into a trace.
        TraceInput = 1 "TRACE_INPUT",
        /// The parameter that traces are added to.
        BaseInput = 2 "BASE_INPUT",
        /// A summand.
        Addend = 3 "ADDEND",
        /// What a spectrum-fed operator reads.
        SpectrumInput = 4 "SPECTRUM_INPUT",
        /// A reference in an expression.
        ExprRef = 5 "EXPR_REF",
    }
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphNode {
    /// Place in the list of nodes.
    pub id: NodeId,
    /// What it is.
    pub kind: NodeKind,
    /// Unique name.
    pub name: String,
    /// When it was made.
    pub source_order: usize,
    /// Initial value of a parameter or expression.
    pub value: Option<f64>,
    /// Function of a component, trace or kernel.
    pub function_name: Option<String>,
    /// Axis of that function: energy, time or profile.
    pub package: Option<String>,
    /// Text of an expression.
    pub expr_string: Option<String>,
    /// True if an optimizer sees it.
    pub vary: bool,
    /// Bounds of a free parameter; infinite where there are none.
    pub bounds: Option<(f64, f64)>,
    /// Masks and axes by name.
    pub arrays: BTreeMap<String, Vec<f64>>,
}

/// An edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GraphEdge {
    /// Where the value comes from.
    pub source: NodeId,
    /// Who reads it.
    pub target: NodeId,
    /// What it is for.
    pub kind: EdgeKind,
    /// Which parameter it is, from 0.
    pub position: Option<usize>,
}

/// A model as a graph; made by [`GraphBuilder`](crate::model::graph::GraphBuilder) only, which checks it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphIR {
    /// Name of the model.
    pub name: String,
    /// The formulas that are meant.
    pub semantics: Semantics,
    /// What the spectrum is a function of.
    pub domain: Domain,
    /// Energy axis; empty without one.
    pub energy: Vec<f64>,
    /// Time axis; empty without one.
    pub time: Vec<f64>,
    /// Nodes in order of their ids.
    pub nodes: Vec<GraphNode>,
    /// Edges in the order in which they were added.
    pub edges: Vec<GraphEdge>,
    /// Ids by name.
    pub node_by_name: HashMap<String, NodeId>,
    /// Repetitions per unit of time of parameters whose dynamics have subcycles, by parameter: what
    /// the arrays of remap nodes were made of.
    pub frequencies: BTreeMap<String, f64>,
    /// Edges by their target; derived from `edges`.
    incoming: Vec<Vec<usize>>,
}

impl GraphIR {
    /// A graph without nodes.
    pub(crate) fn empty(name: &str, domain: Domain) -> GraphIR {
        GraphIR { name: name.to_owned(), domain, ..GraphIR::default() }
    }

    /// Derives what is looked up: ids by name, edges by target. Edges without their node are left out.
    pub(crate) fn index(&mut self) {
        self.node_by_name = self.nodes.iter().map(|n| (n.name.clone(), n.id)).collect();
        self.incoming = vec![Vec::new(); self.nodes.len()];
        for (index, edge) in self.edges.iter().enumerate() {
            if let Some(incoming) = self.incoming.get_mut(edge.target) {
                incoming.push(index);
            }
        }
    }

    /// Edges that lead to a node, in the order in which they were added.
    pub fn incoming(&self, target: NodeId) -> impl Iterator<Item = &GraphEdge> {
        self.incoming[target].iter().map(|index| &self.edges[*index])
    }

    /// Edges of a kind that lead to a node; parameters by position, others in order of addition.
    pub fn inputs(&self, target: NodeId, kind: EdgeKind) -> Vec<NodeId> {
        let mut found: Vec<&GraphEdge> = self.incoming(target).filter(|e| e.kind == kind).collect();
        found.sort_by_key(|e| e.position);
        found.into_iter().map(|e| e.source).collect()
    }

    /// The parameter node that a resolved value, a kernel or a sample stands for.
    pub fn base_of(&self, node: NodeId) -> NodeId {
        let mut at = node;
        loop {
            let kind = match self.nodes[at].kind {
                NodeKind::ParamPlusTrace => EdgeKind::BaseInput,
                NodeKind::Convolution => EdgeKind::TraceInput,
                NodeKind::ProfileSample => EdgeKind::ParamInput,
                _ => return at,
            };
            match self.inputs(at, kind).first() {
                Some(next) => at = *next,
                None => return at,
            }
        }
    }

    /// The node whose value is the spectrum: what no other node reads, `total` before others.
    pub fn output(&self) -> Option<NodeId> {
        let by_name = ["total", "peak_sum"].iter().find_map(|name| self.node_by_name.get(*name));
        by_name.copied()
    }
}
