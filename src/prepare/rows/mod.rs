//! Choices between rows: what a condition rules out does not raise.
//!
//! [`needs`] says for which rows a node is needed, [`raising`] which operators may raise, and [`guard`] gives these
//! masks.

pub mod guard;
pub mod needs;
pub mod raising;
