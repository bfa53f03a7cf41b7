//! Cembra: an expression compiler and frame/slot virtual machine.
//!
//! Describe a computation once, compile it to a frame layout and a list of bound operators, run it
//! millions of times without allocating, and see every byte of it.
//!
//! ```
//! use cembra::host::{Accessors, ModelExecutor};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! struct Vector { x: f64, y: f64 }
//! let expr = cembra::syntax::parse("math.sqrt(x*x + y*y)")?;
//! let loader = Accessors::new().with("x", |v: &Vector| v.x).with("y", |v: &Vector| v.y);
//! let length = ModelExecutor::<Vector, f64>::compile(&expr, &loader)?;
//! assert_eq!(length.execute(&Vector { x: 3.0, y: 4.0 })?, 5.0);
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//! text ─syntax─┐
//! builder ─expr┴─> Expr ─prepare─> Prepared ─compile─> Program ─bind─> BoundExpr + Frame
//!                    registry: what operators mean         vm: layouts, frames, the machine
//! ```
//!
//! The machine is the crate [`cembra_vm`], re-exported as [`vm`]. This crate has no unsafe code.

#![forbid(unsafe_code)]

pub mod autodiff;
pub mod backend;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod columns;
pub mod compile;
pub mod dag;
pub mod expr;
pub mod field;
pub mod fit;
pub mod function;
pub mod host;
pub mod inspect;
pub mod model;
#[cfg(feature = "native")]
pub mod native;
#[cfg(feature = "cli")]
pub mod plot;
pub mod prepare;
pub mod python;
pub mod registry;
pub mod schema;
pub mod ssa;
pub mod syntax;
pub mod workflow;

pub use cembra_vm as vm;

/// The examples of the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
