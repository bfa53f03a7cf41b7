//! Expr: an immutable expression.

use crate::expr::graph::{Copier, Graph, GraphError, Node, NodeId};
use crate::expr::literal::Literal;
use std::hash::{Hash, Hasher};
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
        Expr::copied(&mut Copier::new(), graph, root)
    }

    /// As [`Expr::new`], by a copier that is kept for the next expression of the same graph.
    ///
    /// # Errors
    /// As [`Expr::new`].
    pub fn copied(copier: &mut Copier, graph: &Graph, root: NodeId) -> Result<Expr, GraphError> {
        let mut own = Graph::with_limit(graph.limit());
        let roots = copier.copy(graph, &mut own, &[root])?;
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

/// A node with its names spelt out, comparable across graphs.
#[derive(PartialEq, Eq, Hash)]
enum Content<'g> {
    Leaf(&'g str),
    Placeholder(&'g str),
    Literal(&'g Literal),
    Operator(&'g str, &'g [NodeId]),
}

impl Expr {
    /// The nodes in order. The graph of an expression holds them in the post-order of its root, so
    /// that the same DAG has the same contents.
    fn contents(&self) -> impl Iterator<Item = Content<'_>> {
        let name = |symbol| &**self.graph.name(symbol);
        (0..self.graph.len()).map(NodeId::at).map(move |id| match self.graph.node(id) {
            Node::Leaf(symbol) => Content::Leaf(name(symbol)),
            Node::Placeholder(symbol) => Content::Placeholder(name(symbol)),
            Node::Literal(literal) => Content::Literal(literal),
            Node::Operator(symbol, operands) => Content::Operator(name(symbol), operands),
        })
    }
}

/// Expressions are equal if they are the same DAG; where they stood in a source does not matter.
impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.graph, &other.graph) && self.root == other.root
            || self.graph.len() == other.graph.len() && self.contents().eq(other.contents())
    }
}

impl Eq for Expr {}

/// In time linear in the nodes: a cache keeps the expression as its key.
impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.contents().for_each(|content| content.hash(state));
    }
}
