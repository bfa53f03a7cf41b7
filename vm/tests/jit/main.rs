//! The compiled tier against the interpreter: the same bits, errors at the same instructions, the same fuel.
//!
//! [`agree::agree`] binds a program twice, compiles one, and compares run by run.

#![cfg(feature = "jit")]

mod agree;
mod branches;
#[path = "../support/draft.rs"]
mod draft;
mod elements;
mod floats;
mod hot;
mod loops;
mod memory;
mod operators;
mod stretches;
mod versions;
