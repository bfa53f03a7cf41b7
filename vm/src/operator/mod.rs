//! The operator contract: what an operator is, how it is bound to slots, how it runs.
//!
//! ```text
//! OperatorTable ── Family "math.add" ── Overload (FLOAT64, FLOAT64) -> FLOAT64 ── Kernel
//!                     meaning, effects,    exact types                 Scalar: threaded code
//!                     cost, partials                                   Map, Fold, Scan: kernels of `array`
//!                                                                      General: a closure on a Call
//! ```
//!
//! A *scalar kernel* takes and gives plain values. It is compiled once per combination of operand
//! places (frame or accumulator) and chains to the next cell by itself. A *general kernel* is any
//! closure over a [`KernelCall`], which reads arguments and writes the result by checked, typed access;
//! text, tuples and host functions use it.

mod attributes;
pub mod call;
pub mod cell;
mod changed;
mod closures;
pub mod copy;
pub(crate) mod element;
pub(crate) mod element_type;
pub mod facts;
pub mod family;
pub(crate) mod fused;
pub(crate) mod fusible;
pub mod general;
pub mod general_cell;
pub mod lifting;
pub(crate) mod operand_view;
pub mod pointwise;
pub mod primitive;
mod results;
pub(crate) mod row_by_row;
pub mod scalar;
pub mod signature;
pub(crate) mod string_rows;
pub mod table;
mod ternary;
#[cfg(doctest)]
mod thread_safety;
pub mod threaded;

pub use call::KernelCall;
pub use facts::Facts;
pub use family::Family;
pub(crate) use signature::Kernel;
pub use signature::{Effects, Overload};
pub use table::OperatorTable;
