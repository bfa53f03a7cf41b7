//! Strips for x86-64: from a list to the bytes of a function.
//!
//! ```text
//! lower        terms to instructions on virtual registers, for one, two or four groups of rows
//! allocate     virtual registers to registers and slots of the stack
//! encode       instructions, loops and the entry to bytes
//! ```

pub mod allocate;
mod arithmetic;
mod avx2;
mod avx2_numbers;
mod avx512;
mod checker;
mod choose;
mod codes;
pub mod compile;
mod constants;
mod encode;
mod folds;
mod function;
mod group_shape;
pub mod inst;
mod leaves;
pub mod listing;
mod lower;
mod merge;
mod running;
mod steps;
mod taken;
