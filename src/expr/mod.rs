//! Hash-consed expression DAG: leaves, placeholders, literals and operator nodes.
//!
//! ```text
//! (x + y) * (x + y)        0: leaf x   1: leaf y   2: math.add(0, 1)   3: math.multiply(2, 2)
//! ```
//!
//! - Equal nodes are one node: common subexpressions are shared by construction, and a DAG of n nodes
//!   may describe an expression of 2^n terms. All work is per node.
//! - A node's operands have smaller numbers, so a pass is a loop over numbers and nothing recurses.
//! - A [`Graph`] only grows; an [`Expr`] is an immutable graph with a root, cheap to clone and share.

pub mod builder;
mod distinct;
pub mod expr;
pub mod graph;
pub mod literal;
pub mod print;

pub use builder::{ExprBuilder, ExprRef};
pub use expr::Expr;
pub use graph::{Graph, GraphError, Node, NodeId, Symbol};
pub use literal::Literal;
