//! Lowering: a schedule becomes one expression, which the machine runs like any other.
//!
//! ```text
//! Schedule ── steps ──> rows: terms by what they depend on ── operations ──> sums of products ──> Expr
//!                       scalar, (T, 1), (P, 1, 1)                            trace · shape
//! ```
//!
//! Free parameters are FLOAT64 leaves, axes are literals. What depends on no free parameter folds to a literal
//! when the expression is prepared; what does not depend on time has a unit time axis in its type, so that the
//! machine computes it once. There is no executor of models: preparation, regions, frames are those of all
//! expressions.

mod addend;
mod convolution;
mod initial;
mod lower;
pub mod term;

pub use initial::{InitialValues, initial_values};
pub use lower::{Lowered, lower};
