//! Choices between rows: what a condition rules out does not raise.
//!
//! [`needs`] says for which rows a node is needed, [`guard`] gives masks to the operators that may raise.

pub mod guard;
pub mod needs;
