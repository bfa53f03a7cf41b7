//! The gradually typed graph: array computations as nodes, in the shape of numpy.
//!
//! ```
//! use cembra::dag::{Graph, forest, ir, linearize};
//! # fn main() -> Result<(), cembra::dag::DagError> {
//! let graph = Graph::new();
//! let (a, b) = (graph.placeholder("a"), graph.placeholder("b"));
//! let scale = graph.constant(1024);
//! let c = a.exp() + 55 / &a;
//! let d = &c * &b + &scale;
//! let e = a.power(&c) * 144;
//! assert_eq!(c.to_string(), "n7 = graph.add(left=n4, right=n6, name='')");
//!
//! let trees = forest::partition(&[e, d, c])?;
//! assert_eq!(trees.iter().map(|tree| tree.root().id().number()).collect::<Vec<_>>(), [7, 12, 9]);
//! println!("{}", ir::compile_trees(trees));
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//!          ┌─linearize::forest─> Plan ──ir::compile_nodes─┐
//! Graph ───┤  every node once                             ├─> Dag ──> a backend: evaluate_dag(state, dag)
//!          └─forest::partition─> Trees ─ir::compile_trees─┘
//! ```
//!
//! Texts read back: [`reading`]. Program files and dumps become nodes by way of [`record`]s.
//!
//! A graph says nothing of element types and shapes; these are known when a backend evaluates it. No
//! pass recurses: chains of a million nodes sort and print.

pub mod array;
pub mod array_text;
mod build;
pub mod cells;
pub mod error;
pub mod forest;
pub mod graph;
pub mod ir;
pub mod kind;
pub mod linearize;
pub mod node;
mod number_text;
pub mod numpy_text;
mod operators;
pub mod printing;
pub mod promotion;
pub mod reading;
pub mod record;
pub mod scalar;
pub mod to_expr;
pub(crate) mod to_text;
pub mod value_type;

pub use array::{Array, DType, Element, TextArray};
pub use build::{Condition, exclusive_multi_clause_where, multi_clause_where, piecewise, where_};
pub use error::DagError;
pub use forest::Tree;
pub use graph::Graph;
pub use ir::Dag;
pub use kind::{Axis, NodeId};
pub use linearize::Plan;
pub use node::{IntoNode, Mixed, MixesWith, Node, NodeType, Unknown};
pub use scalar::Scalar;
pub use to_expr::{Expression, ToExpr};
pub use value_type::ValueType;
