//! Inspection: the frame byte by byte, programs and expressions as graphs, the operators as a table.

pub mod graph;
pub mod layout_map;
pub mod operators;

pub use layout_map::LayoutMap;
