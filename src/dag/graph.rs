//! Graph: the nodes, by id.
//!
//! ```text
//! Graph ──> [ n1 placeholder 'a' | n2 placeholder 'b' | n3 constant 1024 | n4 exp(n1) | … ]
//!             ^                                          Node<T> = graph + id
//! ```
//!
//! A graph only grows. Clones share the nodes. A node is what its id says, whatever its name: names are
//! not keys, and equal nodes stay two nodes. Ids are unique in the graph and follow creation; a graph
//! that was read from a dump keeps the ids of the dump, so that ids may be missing.
//!
//! Operands usually come before their users, but [`set_operand`](Graph::set_operand) can make circles;
//! the passes report those.

use crate::dag::error::DagError;
use crate::dag::kind::{Kind, NodeId, NodePlace};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Ids that a graph may use.
pub const NODE_LIMIT: u32 = 4_000_000;

/// What happens around the evaluation of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeFlags {
    /// Its value is traced.
    pub trace: bool,
    /// Evaluation waits after it.
    pub breakpoint: bool,
}

/// A node without its graph.
#[derive(Clone, Debug)]
pub struct NodeData {
    /// Its number.
    pub id: NodeId,
    /// Its name, or an empty text. The name of a function call is that of the function.
    pub name: Arc<str>,
    /// What it computes.
    pub kind: Kind,
    /// What happens around its evaluation.
    pub flags: NodeFlags,
}

impl NodeData {
    /// The node in messages.
    pub fn place(&self) -> NodePlace {
        NodePlace { id: self.id, name: self.name.clone() }
    }
}

type Slots = Vec<Option<Arc<NodeData>>>;

/// Nodes by id; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    slots: Arc<RwLock<Slots>>,
}

impl Graph {
    /// A graph without nodes.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// True if both are the same graph.
    pub fn is_same(&self, other: &Graph) -> bool {
        Arc::ptr_eq(&self.slots, &other.slots)
    }

    /// The largest id in use, 0 for none.
    pub fn largest_id(&self) -> u32 {
        self.read().len() as u32
    }

    /// The node with an id.
    pub fn data(&self, id: NodeId) -> Option<Arc<NodeData>> {
        self.read().get(id.index()).cloned().flatten()
    }

    /// Ids in order.
    pub fn ids(&self) -> Vec<NodeId> {
        self.read().iter().flatten().map(|node| node.id).collect()
    }

    /// Makes a field of a node, such as `left`, read another node; this can make a circle.
    ///
    /// # Errors
    /// The node has no such field, or one of the nodes does not exist.
    pub fn set_operand(&self, node: NodeId, field: &str, operand: NodeId) -> Result<(), DagError> {
        self.data(operand).ok_or(DagError::NoSuchNode { id: operand })?;
        let mut slots = self.write();
        let data = slots.get_mut(node.index()).and_then(Option::as_mut);
        let data = Arc::make_mut(data.ok_or(DagError::NoSuchNode { id: node })?);
        let place = data.kind.field_mut(field);
        *place.ok_or_else(|| DagError::NoSuchField { id: node, field: field.to_owned() })? = operand;
        Ok(())
    }

    /// Adds a node with the next id.
    ///
    /// # Panics
    /// The graph is full.
    pub(crate) fn add(&self, kind: Kind, name: &str) -> NodeId {
        let mut slots = self.write();
        assert!(slots.len() < NODE_LIMIT as usize, "a graph has at most {NODE_LIMIT} nodes");
        let id = NodeId(slots.len() as u32 + 1);
        slots.push(Some(Arc::new(NodeData { id, name: name.into(), kind, flags: NodeFlags::default() })));
        id
    }

    /// Adds a node with an id of its own.
    ///
    /// # Errors
    /// The id is 0, above the limit, or taken.
    pub(crate) fn add_at(&self, id: u32, kind: Kind, name: &str) -> Result<NodeId, DagError> {
        if id == 0 || id > NODE_LIMIT {
            return Err(DagError::IdOutOfRange { id, limit: NODE_LIMIT });
        }
        let id = NodeId(id);
        let mut slots = self.write();
        if slots.len() <= id.index() {
            slots.resize(id.index() + 1, None);
        }
        match &mut slots[id.index()] {
            Some(_) => Err(DagError::IdTaken { id }),
            slot => {
                let flags = NodeFlags::default();
                *slot = Some(Arc::new(NodeData { id, name: name.into(), kind, flags }));
                Ok(id)
            }
        }
    }

    /// Changes name or flags of a node that exists.
    pub(crate) fn update(&self, id: NodeId, change: impl FnOnce(&mut NodeData)) {
        let mut slots = self.write();
        let data = slots[id.index()].as_mut().expect("a handle stands for a node that exists");
        change(Arc::make_mut(data));
    }

    /// The nodes, for passes that read many.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { slots: self.read() }
    }

    fn read(&self) -> RwLockReadGuard<'_, Slots> {
        self.slots.read().expect("nobody panics while changing a graph")
    }

    fn write(&self) -> RwLockWriteGuard<'_, Slots> {
        self.slots.write().expect("nobody panics while changing a graph")
    }
}

/// A graph that nobody changes meanwhile.
pub(crate) struct Reader<'g> {
    slots: RwLockReadGuard<'g, Slots>,
}

impl Reader<'_> {
    /// The node with an id.
    pub fn data(&self, id: NodeId) -> Result<&NodeData, DagError> {
        self.slots.get(id.index()).and_then(Option::as_deref).ok_or(DagError::NoSuchNode { id })
    }

    /// Size of tables by id.
    pub fn table_size(&self) -> usize {
        self.slots.len()
    }
}
