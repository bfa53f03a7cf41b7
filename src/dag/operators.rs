//! Operators on nodes: `a + b`, `55 / &a`, `a.less(3)`.
//!
//! A scalar operand becomes a constant *before* the operation becomes a node. Comparisons are methods,
//! because those of Rust give truth values and not nodes: `5 < a` is `a.greater(5)`. Integers are i64 only, so
//! that the compiler knows what a bare `55` is.

use crate::dag::kind::{BinaryOp, Kind, UnaryOp};
use crate::dag::node::{IntoNode, Mixed, MixesWith, Node, Unknown};
use std::ops;

/// A node of an operation on two operands.
fn binary<T, R, U>(op: BinaryOp, left: &Node<T>, right: R) -> Node<U>
where
    R: IntoNode,
{
    let graph = left.graph();
    let right = right.into_node(graph);
    Node::new(graph, graph.add(Kind::Binary(op, left.id(), right.id()), ""))
}

/// A node of an operation whose left operand is a scalar.
fn reflected<L, T, U>(op: BinaryOp, left: L, right: &Node<T>) -> Node<U>
where
    L: IntoNode,
{
    let graph = right.graph();
    let left = left.into_node(graph);
    Node::new(graph, graph.add(Kind::Binary(op, left.id(), right.id()), ""))
}

fn unary<T>(op: UnaryOp, node: &Node<T>) -> Node<T> {
    Node::new(node.graph(), node.graph().add(Kind::Unary(op, node.id()), ""))
}

macro_rules! binary_operators {
    ($($trait:ident $method:ident $op:ident;)*) => { $(
        impl<T, R> ops::$trait<R> for Node<T>
        where
            R: IntoNode,
            T: MixesWith<R::Type>,
        {
            type Output = Node<Mixed<T, R::Type>>;

            fn $method(self, right: R) -> Self::Output {
                binary(BinaryOp::$op, &self, right)
            }
        }

        impl<T, R> ops::$trait<R> for &Node<T>
        where
            R: IntoNode,
            T: MixesWith<R::Type>,
        {
            type Output = Node<Mixed<T, R::Type>>;

            fn $method(self, right: R) -> Self::Output {
                binary(BinaryOp::$op, self, right)
            }
        }

        binary_operators!(@reflected $trait $method $op bool i64 f64);
    )* };
    (@reflected $trait:ident $method:ident $op:ident $($scalar:ident)*) => { $(
        impl<T> ops::$trait<Node<T>> for $scalar
        where
            Unknown: MixesWith<T>,
        {
            type Output = Node<Mixed<Unknown, T>>;

            fn $method(self, right: Node<T>) -> Self::Output {
                reflected(BinaryOp::$op, self, &right)
            }
        }

        impl<T> ops::$trait<&Node<T>> for $scalar
        where
            Unknown: MixesWith<T>,
        {
            type Output = Node<Mixed<Unknown, T>>;

            fn $method(self, right: &Node<T>) -> Self::Output {
                reflected(BinaryOp::$op, self, right)
            }
        }
    )* };
}

binary_operators! {
    Add add Add;
    Sub sub Subtract;
    Mul mul Multiply;
    Div div Divide;
    BitAnd bitand LogicalAnd;
    BitOr bitor LogicalOr;
    BitXor bitxor LogicalXor;
}

macro_rules! unary_operators {
    ($($trait:ident $method:ident $op:ident;)*) => { $(
        impl<T> ops::$trait for Node<T> {
            type Output = Node<T>;

            fn $method(self) -> Node<T> {
                unary(UnaryOp::$op, &self)
            }
        }

        impl<T> ops::$trait for &Node<T> {
            type Output = Node<T>;

            fn $method(self) -> Node<T> {
                unary(UnaryOp::$op, self)
            }
        }
    )* };
}

unary_operators! {
    Neg neg Negate;
    Not not LogicalNot;
}

macro_rules! binary_methods {
    ($($(#[$meta:meta])* $method:ident $op:ident;)*) => {
        impl<T> Node<T> {
            $(
                $(#[$meta])*
                pub fn $method<R>(&self, right: R) -> Node<Mixed<T, R::Type>>
                where
                    R: IntoNode,
                    T: MixesWith<R::Type>,
                {
                    binary(BinaryOp::$op, self, right)
                }
            )*
        }
    };
}

binary_methods! {
    /// `self ** right`; an integer to a negative integer power fails at evaluation.
    power Power;
    /// The larger of both; NaN if one of them is.
    maximum Maximum;
    /// True where both are equal.
    equal Equal;
    /// True where they differ.
    not_equal NotEqual;
    /// True where `self < right`.
    less Less;
    /// True where `self <= right`.
    less_equal LessEqual;
    /// True where `self > right`.
    greater Greater;
    /// True where `self >= right`.
    greater_equal GreaterEqual;
}

impl<T> Node<T> {
    /// e to the power of each element.
    pub fn exp(&self) -> Node<T> {
        unary(UnaryOp::Exp, self)
    }

    /// Natural logarithm of each element.
    pub fn log(&self) -> Node<T> {
        unary(UnaryOp::Log, self)
    }
}
