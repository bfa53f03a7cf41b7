//! Linear order: every node after its operands.
//!
//! Depth first, in post-order: roots in the order given, operands in field order, each node once. A
//! boundary node is put in the order but its operands are not looked at; a boundary root yields itself.
//!
//! The walk keeps its own stack, so that the depth of a graph is bounded by memory only. A node that is
//! met again while its operands are being sorted is on a cycle.

use crate::dag::error::DagError;
use crate::dag::graph::{Graph, Reader};
use crate::dag::kind::NodeId;
use crate::dag::node::Node;

/// Nodes in an order in which they can be evaluated.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Each node after its operands.
    pub nodes: Vec<Node>,
    /// The nodes whose values are wanted.
    pub roots: Vec<Node>,
}

/// Sorts what the roots need, down to the boundary.
///
/// # Errors
/// The graph has a cycle there, or the nodes belong to several graphs.
pub fn forest(roots: &[Node], boundary: &[Node]) -> Result<Plan, DagError> {
    let Some(graph) = common_graph(roots.iter().chain(boundary))? else { return Ok(Plan::default()) };
    let reader = graph.reader();
    let mut is_boundary = vec![false; reader.table_size()];
    for node in boundary {
        is_boundary[node.id().index()] = true;
    }
    let mut sorter = Sorter::new(&reader);
    let mut order = Vec::new();
    for root in roots {
        sorter.sort(root.id(), |id| is_boundary[id.index()], &mut order)?;
    }
    let nodes = order.into_iter().map(|id| Node::new(graph, id)).collect();
    Ok(Plan { nodes, roots: roots.to_vec() })
}

/// The graph of all nodes, if there are any.
pub(crate) fn common_graph<'n>(
    nodes: impl IntoIterator<Item = &'n Node>,
) -> Result<Option<&'n Graph>, DagError> {
    let mut nodes = nodes.into_iter();
    let Some(first) = nodes.next() else { return Ok(None) };
    match nodes.find(|node| !node.graph().is_same(first.graph())) {
        Some(foreign) => Err(DagError::ForeignNode { id: foreign.id() }),
        None => Ok(Some(first.graph())),
    }
}

/// Sorts one root after the other; [`Sorter::forget`] starts afresh without touching the table.
pub(crate) struct Sorter<'r> {
    reader: &'r Reader<'r>,
    /// By id: `2 * round` while the operands of the node are sorted, `2 * round + 1` after.
    marks: Vec<u32>,
    round: u32,
}

impl<'r> Sorter<'r> {
    pub fn new(reader: &'r Reader<'r>) -> Sorter<'r> {
        Sorter { reader, marks: vec![0; reader.table_size()], round: 1 }
    }

    /// Forgets what has been sorted.
    pub fn forget(&mut self) {
        self.round += 1;
    }

    /// Appends what a root needs and what has not been sorted yet.
    pub fn sort(
        &mut self,
        root: NodeId,
        is_boundary: impl Fn(NodeId) -> bool,
        order: &mut Vec<NodeId>,
    ) -> Result<(), DagError> {
        let (entered, done) = (2 * self.round, 2 * self.round + 1);
        let mut path: Vec<(NodeId, std::vec::IntoIter<NodeId>)> = Vec::new();
        let mut next = Some(root);
        loop {
            if let Some(id) = next {
                let mark = &mut self.marks[id.index()];
                if *mark == entered {
                    return Err(DagError::Cycle { node: self.reader.data(id)?.place() });
                }
                if *mark != done {
                    *mark = entered;
                    let operands =
                        if is_boundary(id) { Vec::new() } else { self.reader.data(id)?.kind.operands() };
                    path.push((id, operands.into_iter()));
                }
            }
            let Some((id, operands)) = path.last_mut() else { return Ok(()) };
            next = operands.next();
            if next.is_none() {
                self.marks[id.index()] = done;
                order.push(*id);
                path.pop();
            }
        }
    }
}
