//! Operators on nodes: `a + b`, `55 / &a`, `a.less(3)`.
//!
//! A scalar operand becomes a constant *before* the operation becomes a node. Comparisons are methods,
//! because those of Rust give truth values and not nodes: `5 < a` is `a.greater(5)`. Integers are i64 only, so
//! that the compiler knows what a bare `55` is.

use crate::dag::kind::{BinaryOp, Kind, UnaryOp};
use crate::dag::node::{IntoNode, Mixed, MixesWith, Node, Unknown};
use std::ops;

/// A node of an operation on two operands.
fn binary<T, U>(op: BinaryOp, left: &Node<T>, right: impl IntoNode) -> Node<U> {
    let right = right.into_node(left.graph());
    Node::made(left.graph(), Kind::Binary(op, left.id(), right.id()))
}

/// A node of an operation whose left operand is a scalar.
fn reflected<T, U>(op: BinaryOp, left: impl IntoNode, right: &Node<T>) -> Node<U> {
    let left = left.into_node(right.graph());
    Node::made(right.graph(), Kind::Binary(op, left.id(), right.id()))
}

fn unary<T>(op: UnaryOp, node: &Node<T>) -> Node<T> {
    Node::made(node.graph(), Kind::Unary(op, node.id()))
}

macro_rules! binary_operators {
    ($($trait:ident $method:ident $op:ident;)*) => { $(
        binary_operators!(@left $trait $method $op Node<T>, &Node<T>);
        binary_operators!(@right $trait $method $op bool, i64, f64; Node<T>);
        binary_operators!(@right $trait $method $op bool, i64, f64; &Node<T>);
    )* };
    (@left $trait:ident $method:ident $op:ident $($left:ty),*) => { $(
        impl<T, R> ops::$trait<R> for $left
        where
            R: IntoNode,
            T: MixesWith<R::Type>,
        {
            type Output = Node<Mixed<T, R::Type>>;

            fn $method(self, right: R) -> Self::Output {
                binary(BinaryOp::$op, &self, right)
            }
        }
    )* };
    (@right $trait:ident $method:ident $op:ident $($scalar:ident),*; $right:ty) => { $(
        impl<T> ops::$trait<$right> for $scalar
        where
            Unknown: MixesWith<T>,
        {
            type Output = Node<Mixed<Unknown, T>>;

            fn $method(self, right: $right) -> Self::Output {
                reflected(BinaryOp::$op, self, &right)
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
    ($($trait:ident $method:ident $op:ident $node:ty;)*) => { $(
        impl<T> ops::$trait for $node {
            type Output = Node<T>;

            fn $method(self) -> Node<T> {
                unary(UnaryOp::$op, &self)
            }
        }
    )* };
}

unary_operators! {
    Neg neg Negate Node<T>;
    Neg neg Negate &Node<T>;
    Not not LogicalNot Node<T>;
    Not not LogicalNot &Node<T>;
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
