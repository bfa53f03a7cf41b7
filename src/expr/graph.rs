//! Graph: the growing store of hash-consed nodes.
//!
//! A node is a tag, a payload (symbol or literal number) and a run of operands in one shared array.
//! A hash table over node numbers finds equal nodes; it stores no keys, and its hash function is
//! seeded at random, so hostile input cannot degrade it. Nothing depends on the table's order.

use crate::expr::distinct::Distinct;
use crate::expr::literal::Literal;
use cembra_vm::program::instruction::Span;
use hashbrown::{DefaultHashBuilder, HashSet, HashTable};
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use thiserror::Error;

/// Distinct nodes a graph may have unless told otherwise.
pub const DEFAULT_NODE_LIMIT: usize = 4_000_000;

/// A graph cannot take another node.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GraphError {
    /// Too many distinct nodes.
    #[error("limit expression-nodes: the expression has more than {limit} distinct nodes")]
    TooManyNodes {
        /// Nodes allowed.
        limit: usize,
    },
}

/// A node of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// Position in the graph.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The node at a position.
    pub fn at(index: usize) -> NodeId {
        NodeId(index as u32)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

/// An interned name: of a leaf, a placeholder or an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub(crate) u32);

/// What a node is.
#[derive(Clone, Copy, Debug)]
pub enum Node<'g> {
    /// An input by name.
    Leaf(Symbol),
    /// A parameter to be replaced before evaluation.
    Placeholder(Symbol),
    /// A literal.
    Literal(&'g Literal),
    /// An operator applied to operands.
    Operator(Symbol, &'g [NodeId]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Tag {
    Leaf,
    Placeholder,
    Literal,
    Operator,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    tag: Tag,
    payload: u32,
    start: u32,
    len: u32,
}

/// A store of hash-consed nodes.
#[derive(Clone)]
pub struct Graph {
    rows: Vec<Row>,
    spans: Vec<Span>,
    /// Nodes of presence that are written by a symbol.
    by_symbol: HashSet<NodeId>,
    operands: Vec<NodeId>,
    symbols: Distinct<Arc<str>>,
    literals: Distinct<Literal>,
    node_table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    limit: usize,
}

impl Default for Graph {
    fn default() -> Self {
        Graph::new()
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("nodes", &self.rows.len()).finish_non_exhaustive()
    }
}

impl Graph {
    /// An empty graph under the default node limit.
    pub fn new() -> Graph {
        Graph::with_limit(DEFAULT_NODE_LIMIT)
    }

    /// An empty graph that takes up to `limit` distinct nodes.
    pub fn with_limit(limit: usize) -> Graph {
        Graph {
            rows: Vec::new(),
            spans: Vec::new(),
            by_symbol: HashSet::new(),
            operands: Vec::new(),
            symbols: Distinct::new(),
            literals: Distinct::new(),
            node_table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            limit: limit.min(u32::MAX as usize),
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True without nodes.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Nodes the graph may have.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// What a node is.
    pub fn node(&self, id: NodeId) -> Node<'_> {
        let row = self.rows[id.index()];
        match row.tag {
            Tag::Leaf => Node::Leaf(Symbol(row.payload)),
            Tag::Placeholder => Node::Placeholder(Symbol(row.payload)),
            Tag::Literal => Node::Literal(self.literals.get(row.payload)),
            Tag::Operator => Node::Operator(Symbol(row.payload), self.row_operands(row)),
        }
    }

    /// Operands of a node; none unless it is an operator node.
    pub fn operands(&self, id: NodeId) -> &[NodeId] {
        self.row_operands(self.rows[id.index()])
    }

    fn row_operands(&self, row: Row) -> &[NodeId] {
        &self.operands[row.start as usize..][..row.len as usize]
    }

    /// The operator of a node, if it is an operator node.
    pub fn operator(&self, id: NodeId) -> Option<Symbol> {
        let row = self.rows[id.index()];
        (row.tag == Tag::Operator).then_some(Symbol(row.payload))
    }

    /// The literal of a node, if it is one.
    pub fn literal(&self, id: NodeId) -> Option<&Literal> {
        let row = self.rows[id.index()];
        (row.tag == Tag::Literal).then(|| self.literals.get(row.payload))
    }

    /// The value of a literal node.
    pub fn value(&self, id: NodeId) -> Option<&cembra_vm::value::Value> {
        self.literal(id).and_then(Literal::value)
    }

    /// Where the node first stood in the source; unknown for nodes built by programs.
    pub fn span(&self, id: NodeId) -> Span {
        self.spans[id.index()]
    }

    /// Notes where a node stood, unless that is known already.
    pub fn set_span(&mut self, id: NodeId, span: Span) {
        let known = &mut self.spans[id.index()];
        if known.is_unknown() {
            *known = span;
        }
    }

    /// True if a node was written by a symbol that people also know from truth values: `|`, `&` or `~`.
    pub fn is_by_symbol(&self, id: NodeId) -> bool {
        !self.by_symbol.is_empty() && self.by_symbol.contains(&id)
    }

    /// Notes that a node was written by such a symbol.
    pub fn set_by_symbol(&mut self, id: NodeId) {
        self.by_symbol.insert(id);
    }

    /// The text of a symbol.
    pub fn name(&self, symbol: Symbol) -> &Arc<str> {
        self.symbols.get(symbol.0)
    }

    /// The symbol of a text.
    pub fn symbol(&mut self, name: &str) -> Symbol {
        let hash = self.hasher.hash_one(name);
        match self.symbols.find(hash, |symbol| **symbol == *name) {
            Some(known) => Symbol(known),
            None => Symbol(self.symbols.add(hash, name.into())),
        }
    }

    /// The symbol of a text, if the graph knows it.
    pub fn find_symbol(&self, name: &str) -> Option<Symbol> {
        let hash = self.hasher.hash_one(name);
        self.symbols.find(hash, |symbol| **symbol == *name).map(Symbol)
    }

    /// The leaf with this name.
    ///
    /// # Errors
    /// The graph is full.
    pub fn leaf(&mut self, name: &str) -> Result<NodeId, GraphError> {
        let symbol = self.symbol(name);
        self.intern(Tag::Leaf, symbol.0, &[])
    }

    /// The placeholder with this name.
    ///
    /// # Errors
    /// The graph is full.
    pub fn placeholder(&mut self, name: &str) -> Result<NodeId, GraphError> {
        let symbol = self.symbol(name);
        self.intern(Tag::Placeholder, symbol.0, &[])
    }

    /// A literal node.
    ///
    /// # Errors
    /// The graph is full.
    pub fn add_literal(&mut self, literal: impl Into<Literal>) -> Result<NodeId, GraphError> {
        let literal = literal.into();
        let hash = self.hasher.hash_one(&literal);
        let known = self.literals.find(hash, |known| *known == literal);
        let number = known.unwrap_or_else(|| self.literals.add(hash, literal));
        self.intern(Tag::Literal, number, &[])
    }

    /// An operator node.
    ///
    /// # Errors
    /// The graph is full.
    pub fn apply(&mut self, operator: Symbol, operands: &[NodeId]) -> Result<NodeId, GraphError> {
        self.intern(Tag::Operator, operator.0, operands)
    }

    fn intern(&mut self, tag: Tag, payload: u32, operands: &[NodeId]) -> Result<NodeId, GraphError> {
        debug_assert!(
            operands.iter().all(|o| o.index() < self.rows.len()),
            "operands come before their node"
        );
        let hash = hash_node(&self.hasher, tag, payload, operands);
        let (rows, pool) = (&self.rows, &self.operands);
        let equal = |id: &u32| {
            let row = rows[*id as usize];
            row.tag == tag
                && row.payload == payload
                && pool[row.start as usize..][..row.len as usize] == *operands
        };
        if let Some(found) = self.node_table.find(hash, equal) {
            return Ok(NodeId(*found));
        }
        if self.rows.len() >= self.limit {
            return Err(GraphError::TooManyNodes { limit: self.limit });
        }
        let id = self.rows.len() as u32;
        let row = Row { tag, payload, start: self.operands.len() as u32, len: operands.len() as u32 };
        self.rows.push(row);
        self.spans.push(Span::default());
        self.operands.extend_from_slice(operands);
        let (rows, pool, hasher) = (&self.rows, &self.operands, &self.hasher);
        self.node_table.insert_unique(hash, id, |id| {
            let row = rows[*id as usize];
            hash_node(hasher, row.tag, row.payload, &pool[row.start as usize..][..row.len as usize])
        });
        Ok(NodeId(id))
    }

    /// Makes room for more nodes, as far as the limit allows them.
    fn reserve(&mut self, nodes: usize) {
        let nodes = nodes.min(self.limit - self.len());
        self.rows.reserve(nodes);
        self.spans.reserve(nodes);
        let (rows, pool, hasher) = (&self.rows, &self.operands, &self.hasher);
        self.node_table.reserve(nodes, |id| {
            let row = rows[*id as usize];
            hash_node(hasher, row.tag, row.payload, &pool[row.start as usize..][..row.len as usize])
        });
    }

    /// Nodes reachable from the roots, operands before their users, left to right.
    pub fn post_order(&self, roots: &[NodeId]) -> Vec<NodeId> {
        self.post_order_with(&mut Copier::new(), roots)
    }

    fn post_order_with(&self, copier: &mut Copier, roots: &[NodeId]) -> Vec<NodeId> {
        let (walk, seen) = copier.begin(self);
        let mut order = Vec::new();
        // A node stands on the stack with the number of operands already visited.
        let mut stack: Vec<(NodeId, usize)> = Vec::new();
        for root in roots {
            stack.push((*root, 0));
            while let Some((id, next)) = stack.pop() {
                if seen[id.index()] == walk {
                    continue;
                }
                match self.operands(id).get(next) {
                    Some(operand) => {
                        stack.push((id, next + 1));
                        stack.push((*operand, 0));
                    }
                    None => {
                        seen[id.index()] = walk;
                        order.push(id);
                    }
                }
            }
        }
        order
    }

    /// Copies what is reachable from the roots into another graph; gives the copies of the roots.
    ///
    /// # Errors
    /// The target is full.
    pub fn copy_into(&self, target: &mut Graph, roots: &[NodeId]) -> Result<Vec<NodeId>, GraphError> {
        Copier::new().copy(self, target, roots)
    }
}

/// Copies parts of one growing graph, each in time of what it reaches, not of the graph: the marks of a
/// walk are numbered, so that the next one need not clear them.
#[derive(Debug, Default)]
pub struct Copier {
    walk: u32,
    /// The walk that reached a node last.
    seen: Vec<u32>,
    /// The copy of a node that this walk reached.
    copies: Vec<NodeId>,
    /// The walk that met a symbol last, and the symbol there.
    symbols: Vec<(u32, Symbol)>,
}

impl Copier {
    /// A copier that has seen nothing.
    pub fn new() -> Copier {
        Copier::default()
    }

    /// Copies what is reachable from the roots into another graph; gives the copies of the roots. All
    /// calls are about one source, which may grow in between.
    ///
    /// # Errors
    /// The target is full.
    pub fn copy(
        &mut self,
        source: &Graph,
        target: &mut Graph,
        roots: &[NodeId],
    ) -> Result<Vec<NodeId>, GraphError> {
        let order = source.post_order_with(self, roots);
        self.copies.resize(source.len(), NodeId(u32::MAX));
        self.symbols.resize(source.symbols.len(), (0, Symbol(0)));
        let mut operands = Vec::new();
        target.reserve(order.len());
        for id in order {
            let row = source.rows[id.index()];
            let copy = match row.tag {
                Tag::Literal => target.add_literal(source.literals.get(row.payload).clone())?,
                tag => {
                    let symbol = self.symbol(source, target, row.payload);
                    operands.clear();
                    operands.extend(source.row_operands(row).iter().map(|o| self.copies[o.index()]));
                    target.intern(tag, symbol.0, &operands)?
                }
            };
            target.set_span(copy, source.span(id));
            if source.is_by_symbol(id) {
                target.set_by_symbol(copy);
            }
            self.copies[id.index()] = copy;
        }
        Ok(roots.iter().map(|r| self.copies[r.index()]).collect())
    }

    /// Number and marks of a new walk.
    fn begin(&mut self, graph: &Graph) -> (u32, &mut [u32]) {
        if self.walk == u32::MAX {
            *self = Copier::new();
        }
        self.walk += 1;
        self.seen.resize(graph.len(), 0);
        (self.walk, &mut self.seen)
    }

    fn symbol(&mut self, source: &Graph, target: &mut Graph, symbol: u32) -> Symbol {
        let known = &mut self.symbols[symbol as usize];
        if known.0 != self.walk {
            *known = (self.walk, target.symbol(source.symbols.get(symbol)));
        }
        known.1
    }
}

fn hash_node(hasher: &DefaultHashBuilder, tag: Tag, payload: u32, operands: &[NodeId]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write_u64(u64::from(payload) << 2 | tag as u64);
    // Pairs of operands make one word; most operators have at most two.
    for pair in operands.chunks(2) {
        let second = pair.get(1).map_or(u32::MAX, |o| o.0);
        state.write_u64(u64::from(pair[0].0) << 32 | u64::from(second));
    }
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_nodes_are_one() {
        let mut g = Graph::new();
        let (x, y) = (g.leaf("x").expect("room"), g.leaf("y").expect("room"));
        let add = g.symbol("math.add");
        let first = g.apply(add, &[x, y]).expect("room");
        assert_eq!(g.apply(add, &[x, y]), Ok(first));
        assert_ne!(g.apply(add, &[y, x]), Ok(first));
        assert_ne!(g.leaf("x"), g.placeholder("x"));
        assert_ne!(g.add_literal(0.0), g.add_literal(-0.0));
        assert_eq!(g.add_literal(f64::NAN), g.add_literal(f64::NAN));
    }

    #[test]
    fn sharing_keeps_exponential_expressions_small() {
        let mut g = Graph::new();
        let mut x = g.leaf("x").expect("room");
        let add = g.symbol("math.add");
        for _ in 0..64 {
            x = g.apply(add, &[x, x]).expect("room");
        }
        assert_eq!(g.post_order(&[x]).len(), 65);
    }

    #[test]
    fn the_node_limit_is_an_error() {
        let mut g = Graph::with_limit(2);
        g.leaf("x").expect("room");
        g.leaf("y").expect("room");
        g.leaf("x").expect("an old node needs no room");
        let error = g.leaf("z").unwrap_err().to_string();
        assert_eq!(error, "limit expression-nodes: the expression has more than 2 distinct nodes");
    }

    #[test]
    fn copies_leave_the_unreachable_behind() {
        let mut g = Graph::new();
        let (x, y) = (g.leaf("x").expect("room"), g.leaf("y").expect("room"));
        let neg = g.symbol("math.neg");
        let root = g.apply(neg, &[y]).expect("room");
        let _ = x;
        let mut copy = Graph::new();
        let roots = g.copy_into(&mut copy, &[root]).expect("room");
        assert_eq!(copy.len(), 2);
        assert!(matches!(copy.node(roots[0]), Node::Operator(op, [_]) if &**copy.name(op) == "math.neg"));
    }
}
