//! Cembra: an expression compiler and frame/slot virtual machine.

#![forbid(unsafe_code)]

pub mod compile;
pub mod expr;
pub mod prepare;
pub mod registry;
pub mod syntax;
pub mod workflow;
