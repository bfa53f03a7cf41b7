//! Derivatives of expressions: exact, and expressions again.
//!
//! ```text
//! spectrum ──jacobian──> ∂/∂A = line      ∂/∂x0 = A · line' · …        one expression for each leaf
//! ```
//!
//! Forward mode: for each leaf, a walk over the nodes carries the slope of every node by that leaf. Equal nodes
//! are one node, so what slopes share with each other and with the expression itself is computed once when they
//! are compiled together. Where several leaves act through one value of few axes, there is one walk from that value
//! for all of them (`joints.rs`). Products of slopes are kept by their factors, so that scalars are multiplied first and
//! what terms have in common is taken out (`factors.rs`).
//!
//! The row of each operator says its slope ([`Facts`](cembra_vm::operator::Facts)); types say axes:
//!
//! | the row has | slope |
//! | --- | --- |
//! | partial derivatives | the sum of them, times the slopes of the operands |
//! | a differential | that expression of operands, their slopes and the result |
//! | neither, but it is linear | the same operator of the slopes (`nd.sum`, `nd.where`) |
//! | a result without fractions: truths, masks, whole numbers | zero |
//!
//! A slope has the axes that it depends on and no others; they broadcast to those of its node. At kinks the slope
//! is that of the row: `math.abs` has 0 at 0, steps have 0 everywhere.
//!
//! ```
//! # use cembra::{autodiff::jacobian, syntax::parse, vm::value::qtype::FLOAT64};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let slopes = jacobian(&parse("math.exp(a * x) + b")?, &[("a", FLOAT64), ("b", FLOAT64), ("c", FLOAT64)]);
//! assert!(slopes.is_err_and(|e| e.to_string().contains("`x`")));
//! let slopes = jacobian(&parse("math.exp(a * 2.0) + b")?, &[("a", FLOAT64), ("b", FLOAT64), ("c", FLOAT64)])?;
//! let texts: Vec<Option<String>> = slopes.iter().map(|s| s.as_ref().map(ToString::to_string)).collect();
//! assert_eq!(texts[0].as_deref(), Some("math.exp(a * weak_float(2)) * weak_float(2)"));
//! assert_eq!(texts[1].as_deref(), Some("float64(1)"));
//! assert_eq!(texts[2], None);
//! # Ok(())
//! # }
//! ```

mod along;
mod builder;
mod differential;
mod error;
mod factors;
mod forward;
mod joints;
mod linear;
mod product;
mod rules;

pub use error::AutodiffError;
pub use forward::{jacobian, jacobian_with};
pub use linear::{Dependence, dependences};
pub use product::Products;
