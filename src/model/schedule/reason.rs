//! Why a graph has no schedule.

use crate::model::component::{Function, Semantics};
use crate::model::graph::ir::{EdgeKind, GraphIR, GraphNode};
use thiserror::Error;

/// One obstacle and the nodes it concerns.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}{}{obstacle}", nodes.join(", "), if nodes.is_empty() { "" } else { ": " })]
pub struct Reason {
    /// What is in the way.
    pub obstacle: Obstacle,
    /// Names of the nodes.
    pub nodes: Vec<String>,
}

/// What can be in the way of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Obstacle {
    /// A schedule of another domain was asked for.
    #[error("the graph is {actual}, not {expected}")]
    Domain {
        /// The graph's domain.
        actual: &'static str,
        /// The domain that was asked for.
        expected: &'static str,
    },
    /// A function that no evaluator has.
    #[error("no evaluator has a function `{function}`")]
    UnknownFunction {
        /// Its name.
        function: String,
    },
    /// A function with too few or too many parameters.
    #[error("{function} has {expected} parameters, not {actual}")]
    ParameterCount {
        /// The function.
        function: &'static str,
        /// How many it has.
        expected: usize,
        /// How many the node has.
        actual: usize,
    },
    /// A node of a kind that the domain has not.
    #[error("a graph of this domain has no {kind}")]
    NotInDomain {
        /// The kind.
        kind: &'static str,
    },
    /// An array that is missing or has another length than its axis.
    #[error("the array `{array}` must have {expected} elements")]
    Array {
        /// Its name.
        array: &'static str,
        /// The length it needs.
        expected: usize,
    },
    /// A value that is not there when the node needs it: a spectrum as a parameter, for example.
    #[error("it reads a node that is no parameter")]
    NotAParameter,
    /// A value that a kernel overwrites is read by others too.
    #[error("a kernel replaces the value, but others read it before the kernel")]
    ReadBeforeKernel,
    /// Samples of one component that are not alike, or too few of them.
    #[error("the samples of a profile must be alike, one for each point")]
    UnequalSamples,
    /// Parameters of a profile whose names do not say what term they belong to.
    #[error("{problem}")]
    ProfileNames {
        /// What is wrong.
        problem: String,
    },
    /// A kernel with a trace that is no resolved parameter.
    #[error("a kernel convolves a resolved parameter or another kernel")]
    KernelInput,
    /// A mask, remapped axis or trace that is not wired from the axis over the trace to the mask.
    #[error("a subcycle goes from its axis over one trace and a mask to a resolved parameter")]
    Subcycle,
    /// The graph has no sum to give.
    #[error("nothing is summed to a spectrum")]
    NoOutput,
}

/// Obstacles so far.
#[derive(Debug, Default)]
pub(super) struct Reasons(pub(super) Vec<Reason>);

impl Reasons {
    /// Notes an obstacle at a node.
    pub(super) fn note(&mut self, obstacle: Obstacle, node: &GraphNode) {
        self.0.push(Reason { obstacle, nodes: vec![node.name.clone()] });
    }

    /// What was found, or the obstacle that it is not there.
    pub(super) fn need<T>(&mut self, found: Option<T>, obstacle: Obstacle, node: &GraphNode) -> Option<T> {
        if found.is_none() {
            self.note(obstacle, node);
        }
        found
    }

    /// Something if a condition holds, or the obstacle that it does not.
    pub(super) fn check(&mut self, holds: bool, obstacle: Obstacle, node: &GraphNode) -> Option<()> {
        self.need(holds.then_some(()), obstacle, node)
    }

    /// The function of a node with as many parameters as it takes; `fits` says what the node can compute.
    pub(super) fn function(
        &mut self,
        graph: &GraphIR,
        node: &GraphNode,
        fits: impl Fn(Function) -> bool,
    ) -> Option<Function> {
        let name = node.function_name.clone().unwrap_or_default();
        let known = Function::from_name(&name, graph.semantics).filter(|f| fits(*f));
        let known = known.filter(|f| node.package.as_deref() == Some(f.package().name()));
        let function = self.need(known, Obstacle::UnknownFunction { function: name }, node)?;
        let count = graph.inputs(node.id, EdgeKind::ParamInput).len();
        self.count(function, graph.semantics, count, node).map(|()| function)
    }

    /// Something if a function has that many parameters.
    pub(super) fn count(
        &mut self,
        f: Function,
        semantics: Semantics,
        actual: usize,
        node: &GraphNode,
    ) -> Option<()> {
        let expected = f.parameters(semantics).len();
        self.check(
            expected == actual,
            Obstacle::ParameterCount { function: f.name(), expected, actual },
            node,
        )
    }
}
