//! Why a graph cannot be sorted, cut into trees or read.

use crate::dag::kind::{NodeId, NodePlace};
use thiserror::Error;

/// Why a graph cannot be sorted, cut into trees or read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DagError {
    /// A node needs its own value.
    #[error("the graph has a cycle through node {node}")]
    Cycle {
        /// The first node that sorting met again while its operands were being sorted.
        node: NodePlace,
    },
    /// Two trees would have one root.
    #[error("node {node} is given as a root twice")]
    DuplicateRoot {
        /// The root.
        node: NodePlace,
    },
    /// A tree computes something; placeholders and constants are inputs of trees.
    #[error("node {node} is a {kind}, which cannot be the root of a tree")]
    LeafRoot {
        /// The root.
        node: NodePlace,
        /// `placeholder` or `constant`.
        kind: &'static str,
    },
    /// A node of another graph.
    #[error("node {id} belongs to another graph")]
    ForeignNode {
        /// Its id there.
        id: NodeId,
    },
    /// There is no such node.
    #[error("there is no node {id}")]
    NoSuchNode {
        /// The id.
        id: NodeId,
    },
    /// The node has no operand of that name.
    #[error("node {id} has no operand `{field}`")]
    NoSuchField {
        /// The node.
        id: NodeId,
        /// The name of the operand.
        field: String,
    },
    /// An id that no graph has.
    #[error("limit graph-nodes: id {id} is not between 1 and {limit}")]
    IdOutOfRange {
        /// The id.
        id: u32,
        /// The largest id.
        limit: u32,
    },
    /// Two nodes with one id.
    #[error("there are two nodes {id}")]
    IdTaken {
        /// The id.
        id: NodeId,
    },
    /// A piecewise function of nothing.
    #[error("piecewise: at least one clause is required")]
    NoClauses,
    /// A line of a dump that is not a node.
    #[error("line {line}: {what}")]
    Text {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
}
