//! Expr: an immutable expression.

use crate::expr::graph::{Graph, GraphError, Node, NodeId};
use std::fmt;
use std::sync::Arc;

/// An immutable expression: a graph and the node that gives its value. Clones share the graph.
#[derive(Clone)]
pub struct Expr {
    graph: Arc<Graph>,
    root: NodeId,
}

impl Expr {
    /// The expression rooted at a node; keeps only what it reaches.
    ///
    /// # Errors
    /// Never for a graph within its own limit.
    pub fn new(graph: &Graph, root: NodeId) -> Result<Expr, GraphError> {
        let mut own = Graph::with_limit(graph.limit());
        let roots = graph.copy_into(&mut own, &[root])?;
        Ok(Expr { graph: Arc::new(own), root: roots[0] })
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The node that gives the value.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// Number of distinct nodes.
    pub fn node_count(&self) -> usize {
        self.graph.len()
    }

    /// Names of the leaves, in the order a left-to-right walk meets them.
    pub fn leaves(&self) -> Vec<Arc<str>> {
        let order = self.graph.post_order(&[self.root]);
        let leaf = |id: NodeId| match self.graph.node(id) {
            Node::Leaf(name) => Some(self.graph.name(name).clone()),
            _ => None,
        };
        order.into_iter().filter_map(leaf).collect()
    }
}

/// Expressions are equal if they are the same DAG; where they stood in a source does not matter.
impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.graph, &other.graph) {
            return self.root == other.root;
        }
        // Interned into one graph, equal expressions have one root.
        let mut both = Graph::with_limit(self.graph.len() + other.graph.len());
        let mine = self.graph.copy_into(&mut both, &[self.root]);
        let theirs = other.graph.copy_into(&mut both, &[other.root]);
        mine == theirs
    }
}

impl Eq for Expr {}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr({self})")
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::expr::print::print(self))
    }
}
