//! Why a graph has no schedule.

use crate::model::component::Function;
use crate::model::graph::ir::{EdgeKind, GraphIR, GraphNode};
use std::fmt;

/// One obstacle and the nodes it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What is in the way.
    pub obstacle: Obstacle,
    /// Names of the nodes.
    pub nodes: Vec<String>,
}

/// What can be in the way of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A schedule of another domain was asked for.
    Domain {
        /// The graph's domain.
        actual: &'static str,
        /// The domain that was asked for.
        expected: &'static str,
    },
    /// A function that no evaluator has.
    UnknownFunction {
        /// Its name.
        function: String,
    },
    /// A function with too few or too many parameters.
    ParameterCount {
        /// The function.
        function: &'static str,
        /// How many it has.
        expected: usize,
        /// How many the node has.
        actual: usize,
    },
    /// A node of a kind that the domain has not.
    NotInDomain {
        /// The kind.
        kind: &'static str,
    },
    /// An array that is missing or has another length than its axis.
    Array {
        /// Its name.
        array: &'static str,
        /// The length it needs.
        expected: usize,
    },
    /// A value that is not there when the node needs it: a spectrum as a parameter, for example.
    NotAParameter,
    /// A value that a kernel overwrites is read by others too.
    ReadBeforeKernel,
    /// Samples of one component that are not alike, or too few of them.
    UnequalSamples,
    /// Parameters of a profile whose names do not say what term they belong to.
    ProfileNames {
        /// What is wrong.
        problem: String,
    },
    /// A kernel with a trace that is no resolved parameter.
    KernelInput,
    /// A mask, remapped axis or trace that is not wired from the axis over the trace to the mask.
    Subcycle,
    /// The graph has no sum to give.
    NoOutput,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Domain { actual, expected } => write!(f, "the graph is {actual}, not {expected}"),
            Obstacle::UnknownFunction { function } => write!(f, "no evaluator has a function `{function}`"),
            Obstacle::ParameterCount { function, expected, actual } => {
                write!(f, "{function} has {expected} parameters, not {actual}")
            }
            Obstacle::NotInDomain { kind } => write!(f, "a graph of this domain has no {kind}"),
            Obstacle::Array { array, expected } => {
                write!(f, "the array `{array}` must have {expected} elements")
            }
            Obstacle::NotAParameter => f.write_str("it reads a node that is no parameter"),
            Obstacle::ReadBeforeKernel => {
                f.write_str("a kernel replaces the value, but others read it before the kernel")
            }
            Obstacle::UnequalSamples => {
                f.write_str("the samples of a profile must be alike, one for each point")
            }
            Obstacle::ProfileNames { problem } => f.write_str(problem),
            Obstacle::KernelInput => f.write_str("a kernel convolves a resolved parameter or another kernel"),
            Obstacle::Subcycle => {
                f.write_str("a subcycle goes from its axis over one trace and a mask to a resolved parameter")
            }
            Obstacle::NoOutput => f.write_str("nothing is summed to a spectrum"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nodes.is_empty() {
            true => write!(f, "{}", self.obstacle),
            false => write!(f, "{}: {}", self.nodes.join(", "), self.obstacle),
        }
    }
}

/// Obstacles so far.
#[derive(Debug, Default)]
pub(super) struct Reasons(pub(super) Vec<Reason>);

impl Reasons {
    /// Notes an obstacle at a node.
    pub(super) fn note(&mut self, obstacle: Obstacle, node: &GraphNode) {
        self.0.push(Reason { obstacle, nodes: vec![node.name.clone()] });
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
        let Some(function) = known.filter(|f| node.package.as_deref() == Some(f.package().name())) else {
            self.note(Obstacle::UnknownFunction { function: name }, node);
            return None;
        };
        let expected = function.parameters(graph.semantics).len();
        let actual = graph.inputs(node.id, EdgeKind::ParamInput).len();
        if expected != actual {
            self.note(Obstacle::ParameterCount { function: function.name(), expected, actual }, node);
            return None;
        }
        Some(function)
    }
}
