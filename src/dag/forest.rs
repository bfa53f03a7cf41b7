//! Trees: a graph cut at its roots, so that each root has the nodes that only it needs.
//!
//! ```text
//! roots e, d, c      t7:  c = exp(a) + 55/a        inputs a, 55
//!                    t12: e = a ** c * 144         inputs a, 144, c
//!                    t9:  d = c*b + scale          inputs b, scale, c
//! ```
//!
//! The body of a tree is its root's linear order with all other roots as boundary. A node that two trees
//! need and that is no root stands in both bodies; a state evaluates it once all the same.
//!
//! # Order of the trees
//! The published engine keeps the trees in a queue in the order given, emits the front tree if the roots
//! it reads have been emitted, and else puts it at the back. So the queue is walked in rounds, each in the
//! order given, and a tree is emitted in round
//!
//! ```text
//! round(t) = max over trees d that t reads of   round(d)      if d was given before t
//!                                               round(d) + 1  if d was given after t
//! ```
//!
//! which one walk in dependency order finds, in time linear in nodes and edges. Trees that this walk never
//! reaches are on a cycle through several roots.

use crate::dag::error::DagError;
use crate::dag::graph::Reader;
use crate::dag::kind::NodeId;
use crate::dag::linearize::{self, Sorter, common_graph};
use crate::dag::node::Node;
use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex};

/// The nodes of one root.
#[derive(Clone, Debug)]
pub struct Tree {
    root: Node,
    inputs: Vec<Node>,
    body: Vec<Node>,
}

impl Tree {
    /// The node it is for, the last of the body.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Placeholders, constants and roots of other trees that it reads, by id.
    pub fn inputs(&self) -> &[Node] {
        &self.inputs
    }

    /// What it computes, each node after its operands.
    pub fn body(&self) -> &[Node] {
        &self.body
    }
}

/// Cuts what the roots need into a tree a root, in an order in which they can be evaluated.
///
/// # Errors
/// A root is given twice, or is a placeholder or a constant; the graph has a cycle, also one through
/// several roots; the nodes belong to several graphs.
pub fn partition(roots: &[Node]) -> Result<Vec<Tree>, DagError> {
    let Some(graph) = common_graph(roots)? else { return Ok(Vec::new()) };
    let reader = graph.reader();
    // By id: the place among the roots.
    let mut places: Vec<Option<usize>> = vec![None; reader.table_size()];
    for (place, root) in roots.iter().enumerate() {
        check_root(&reader, root.id(), &places)?;
        places[root.id().index()] = Some(place);
    }
    let mut sorter = Sorter::new(&reader);
    let mut trees = Vec::with_capacity(roots.len());
    for root in roots {
        trees.push(Some(tree(&mut sorter, &reader, root, &places)?));
    }
    match emission_order(&trees, &places) {
        Some(order) => Ok(order.into_iter().filter_map(|place| trees[place].take()).collect()),
        None => {
            // Sorting all roots at once meets the cycle and names a node of it.
            linearize::forest(roots, &[])?;
            unreachable!("trees that wait for each other are on a cycle")
        }
    }
}

fn check_root(reader: &Reader<'_>, id: NodeId, places: &[Option<usize>]) -> Result<(), DagError> {
    let data = reader.data(id)?;
    match places[id.index()] {
        Some(_) => Err(DagError::DuplicateRoot { node: data.place() }),
        None if data.kind.is_leaf() => {
            let kind = if data.kind.is_constant() { "constant" } else { "placeholder" };
            Err(DagError::LeafRoot { node: data.place(), kind })
        }
        None => Ok(()),
    }
}

fn tree(
    sorter: &mut Sorter<'_>,
    reader: &Reader<'_>,
    root: &Node,
    places: &[Option<usize>],
) -> Result<Tree, DagError> {
    let is_boundary = |id: NodeId| id != root.id() && places[id.index()].is_some();
    let mut order = Vec::new();
    sorter.forget();
    sorter.sort(root.id(), is_boundary, &mut order)?;
    let (mut inputs, mut body) = (Vec::new(), Vec::new());
    for id in order {
        let is_input = is_boundary(id) || reader.data(id)?.kind.is_leaf();
        if is_input { inputs.push(id) } else { body.push(id) }
    }
    inputs.sort_unstable();
    let handles = |ids: Vec<NodeId>| ids.into_iter().map(|id| Node::new(root.graph(), id)).collect();
    Ok(Tree { root: root.clone(), inputs: handles(inputs), body: handles(body) })
}

/// Places of the trees in the order of the queue; nothing if some wait for each other for ever.
fn emission_order(trees: &[Option<Tree>], places: &[Option<usize>]) -> Option<Vec<usize>> {
    let mut reads: DiGraph<(), ()> = DiGraph::with_capacity(trees.len(), 0);
    for _ in trees {
        reads.add_node(());
    }
    for (place, tree) in trees.iter().enumerate() {
        let inputs = tree.iter().flat_map(|tree| &tree.inputs);
        for read in inputs.filter_map(|input| places[input.id().index()]) {
            reads.add_edge(NodeIndex::new(read), NodeIndex::new(place), ());
        }
    }
    let mut rounds: Vec<usize> = vec![0; trees.len()];
    for read in toposort(&reads, None).ok()? {
        for place in reads.neighbors(read) {
            let round = rounds[read.index()] + usize::from(read > place);
            rounds[place.index()] = rounds[place.index()].max(round);
        }
    }
    let mut order: Vec<usize> = (0..trees.len()).collect();
    order.sort_by_key(|place| rounds[*place]);
    Some(order)
}
