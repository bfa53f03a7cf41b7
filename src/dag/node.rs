//! Node: a handle to a node of a graph, with a type that exists only at compile time.
//!
//! Typing is gradual. A node starts as [`Unknown`] and mixes with everything; [`Node::typed`] gives it
//! a type of the user's, and then it mixes with its like and with unknowns only:
//!
//! ```
//! use cembra::dag::{Graph, Node, NodeType};
//! struct Apple;
//! impl NodeType for Apple {}
//! struct Orange;
//! impl NodeType for Orange {}
//!
//! let graph = Graph::new();
//! let apples: Node<Apple> = graph.placeholder("apples").typed();
//! let oranges: Node<Orange> = graph.placeholder("oranges").typed();
//! let more: Node<Apple> = &apples + &apples * 2;
//! let unchecked: Node<Orange> = graph.placeholder("pears") + &oranges;
//! # let _ = (more, unchecked);
//! ```
//!
//! Apples and oranges do not add up:
//!
//! ```compile_fail,E0277
//! # use cembra::dag::{Graph, Node, NodeType};
//! # struct Apple;
//! # impl NodeType for Apple {}
//! # struct Orange;
//! # impl NodeType for Orange {}
//! # let graph = Graph::new();
//! # let apples: Node<Apple> = graph.placeholder("apples").typed();
//! # let oranges: Node<Orange> = graph.placeholder("oranges").typed();
//! let nonsense = apples + oranges;
//! ```
//!
//! nor do they compare:
//!
//! ```compile_fail,E0277
//! # use cembra::dag::{Graph, Node, NodeType};
//! # struct Apple;
//! # impl NodeType for Apple {}
//! # struct Orange;
//! # impl NodeType for Orange {}
//! # let graph = Graph::new();
//! # let apples: Node<Apple> = graph.placeholder("apples").typed();
//! # let oranges: Node<Orange> = graph.placeholder("oranges").typed();
//! let nonsense = apples.less(&oranges);
//! ```
//!
//! and a sum of apples is no node of oranges:
//!
//! ```compile_fail,E0308
//! # use cembra::dag::{Graph, Node, NodeType};
//! # struct Apple;
//! # impl NodeType for Apple {}
//! # struct Orange;
//! # impl NodeType for Orange {}
//! # let graph = Graph::new();
//! # let apples: Node<Apple> = graph.placeholder("apples").typed();
//! let oranges: Node<Orange> = &apples + &apples;
//! ```

use crate::dag::graph::{Graph, NodeData};
use crate::dag::kind::{Kind, NodeId};
use crate::dag::scalar::Scalar;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// The type of nodes that nobody has given a type. It is no [`NodeType`], which keeps the two ways to
/// mix, with the same type and with `Unknown`, apart.
#[derive(Clone, Copy, Debug)]
pub struct Unknown;

/// Marks a type of the user's as a type of nodes, such as a dimension.
pub trait NodeType {}

/// `T` mixes with `U`: nodes of these types can be operands of one node.
#[diagnostic::on_unimplemented(
    message = "nodes of `{Self}` and of `{U}` do not mix",
    label = "an operand of `{U}` here",
    note = "nodes of one type mix, and `Unknown` mixes with every type; `untyped()` gives up the check"
)]
pub trait MixesWith<U> {
    /// The type of their results: the one that is known.
    type Mixed;
}

impl<T: NodeType> MixesWith<T> for T {
    type Mixed = T;
}

impl<T: NodeType> MixesWith<Unknown> for T {
    type Mixed = T;
}

impl<T: NodeType> MixesWith<T> for Unknown {
    type Mixed = T;
}

impl MixesWith<Unknown> for Unknown {
    type Mixed = Unknown;
}

/// The type of nodes whose operands have types `T` and `U`.
pub type Mixed<T, U> = <T as MixesWith<U>>::Mixed;

/// A node of a graph; clones are the same node.
pub struct Node<T = Unknown> {
    graph: Graph,
    id: NodeId,
    dimension: PhantomData<fn() -> T>,
}

impl<T> Node<T> {
    /// The handle of a node that exists.
    pub(crate) fn new(graph: &Graph, id: NodeId) -> Node<T> {
        Node { graph: graph.clone(), id, dimension: PhantomData }
    }

    /// A new node without a name.
    pub(super) fn made(graph: &Graph, kind: Kind) -> Node<T> {
        Node::new(graph, graph.add(kind, ""))
    }

    /// Its id.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Its graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What it is now; later changes do not show.
    pub fn data(&self) -> Arc<NodeData> {
        self.graph.data(self.id).expect("a handle stands for a node that exists")
    }

    /// The same node with a type of the user's.
    pub fn typed<U: NodeType>(&self) -> Node<U> {
        Node::new(&self.graph, self.id)
    }

    /// The same node without a type.
    pub fn untyped(&self) -> Node {
        Node::new(&self.graph, self.id)
    }

    /// Names the node.
    pub fn named(self, name: &str) -> Node<T> {
        self.graph.update(self.id, |data| data.name = name.into());
        self
    }

    /// Names the node if it has no name.
    pub fn named_if_unnamed(self, name: &str) -> Node<T> {
        match self.data().name.is_empty() {
            true => self.named(name),
            false => self,
        }
    }

    /// Has the value of this node traced.
    pub fn tracepoint(self) -> Node<T> {
        self.graph.update(self.id, |data| data.flags.trace = true);
        self
    }

    /// Has the value of this node traced, and evaluation wait after it.
    pub fn breakpoint(self) -> Node<T> {
        self.graph.update(self.id, |data| {
            data.flags.trace = true;
            data.flags.breakpoint = true;
        });
        self
    }
}

impl<T> Clone for Node<T> {
    fn clone(&self) -> Node<T> {
        Node::new(&self.graph, self.id)
    }
}

impl<T> fmt::Debug for Node<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)
    }
}

/// What can be an operand beside a node: a node, or a scalar, which becomes a constant.
pub trait IntoNode {
    /// The type of the node.
    type Type;

    /// The node; a scalar becomes a new constant of the graph.
    ///
    /// # Panics
    /// The node belongs to another graph.
    fn into_node(self, graph: &Graph) -> Node<Self::Type>;
}

impl<T> IntoNode for Node<T> {
    type Type = T;

    fn into_node(self, graph: &Graph) -> Node<T> {
        assert!(self.graph.is_same(graph), "operands belong to one graph; {} does not", self.id);
        self
    }
}

impl<T> IntoNode for &Node<T> {
    type Type = T;

    fn into_node(self, graph: &Graph) -> Node<T> {
        self.clone().into_node(graph)
    }
}

macro_rules! scalar_operands {
    ($($scalar:ty),*) => { $(
        impl IntoNode for $scalar {
            type Type = Unknown;

            fn into_node(self, graph: &Graph) -> Node {
                Node::made(graph, Kind::Constant(self.into()))
            }
        }
    )* };
}

scalar_operands!(bool, i64, f64, &str, Scalar);
