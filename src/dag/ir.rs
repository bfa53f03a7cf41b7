//! Intermediate form: what a backend evaluates, inputs apart from computation.
//!
//! Placeholders and constants come first, by id, so that a backend can prepare them before anything runs.

use crate::dag::forest::Tree;
use crate::dag::graph::Graph;
use crate::dag::linearize::Plan;
use crate::dag::node::Node;

/// The computation of a [`Dag`].
#[derive(Clone, Debug)]
pub enum Body {
    /// Nodes in an order in which they can be evaluated.
    Nodes(Vec<Node>),
    /// Trees in an order in which they can be evaluated.
    Trees(Vec<Tree>),
}

impl Default for Body {
    fn default() -> Body {
        Body::Nodes(Vec::new())
    }
}

/// A computation with its inputs.
#[derive(Clone, Debug, Default)]
pub struct Dag {
    /// Values from outside, by id.
    pub placeholders: Vec<Node>,
    /// Values of the graph, by id.
    pub constants: Vec<Node>,
    /// What is computed.
    pub body: Body,
    /// The nodes whose values are wanted.
    pub roots: Vec<Node>,
}

impl Dag {
    /// Its graph; nothing if it is empty.
    pub fn graph(&self) -> Option<&Graph> {
        self.roots.iter().chain(self.leaves()).next().map(Node::graph)
    }

    /// Values from outside, then those of the graph.
    pub fn leaves(&self) -> impl Iterator<Item = &Node> {
        self.placeholders.iter().chain(&self.constants)
    }

    /// What is computed, in order; a node that two trees share stands there twice.
    pub fn body_nodes(&self) -> Box<dyn DoubleEndedIterator<Item = &Node> + '_> {
        match &self.body {
            Body::Nodes(nodes) => Box::new(nodes.iter()),
            Body::Trees(trees) => Box::new(trees.iter().flat_map(Tree::body)),
        }
    }
}

/// The intermediate form of nodes in linear order.
pub fn compile_nodes(plan: &Plan) -> Dag {
    let mut leaves = Leaves::default();
    let body = plan.nodes.iter().filter(|node| !leaves.take(node)).cloned().collect();
    leaves.with(Body::Nodes(body), plan.roots.clone())
}

/// The intermediate form of trees.
pub fn compile_trees(trees: Vec<Tree>) -> Dag {
    let mut leaves = Leaves::default();
    for input in trees.iter().flat_map(Tree::inputs) {
        leaves.take(input);
    }
    let roots = trees.iter().map(|tree| tree.root().clone()).collect();
    leaves.with(Body::Trees(trees), roots)
}

/// Placeholders and constants as they are met.
#[derive(Default)]
struct Leaves {
    placeholders: Vec<Node>,
    constants: Vec<Node>,
}

impl Leaves {
    /// Takes the node if it is a leaf.
    fn take(&mut self, node: &Node) -> bool {
        let data = node.data();
        if data.kind.is_constant() {
            self.constants.push(node.clone());
        } else if data.kind.is_placeholder() {
            self.placeholders.push(node.clone());
        }
        data.kind.is_leaf()
    }

    fn with(self, body: Body, roots: Vec<Node>) -> Dag {
        Dag { placeholders: by_id(self.placeholders), constants: by_id(self.constants), body, roots }
    }
}

/// Sorted by id, each once.
fn by_id(mut nodes: Vec<Node>) -> Vec<Node> {
    nodes.sort_by_key(Node::id);
    nodes.dedup_by_key(|node| node.id());
    nodes
}
