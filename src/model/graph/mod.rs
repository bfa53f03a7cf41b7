//! GraphIR: a model as a graph of parameters, traces, components and sums, with explicit dependencies.

pub mod builder;
pub mod form;
pub mod from_model;
pub mod ir;
mod maker;
pub mod order;
pub mod print;
mod profiles;

pub use builder::GraphBuilder;
pub use ir::{EdgeKind, GraphEdge, GraphIR, GraphNode, NodeId, NodeKind};
