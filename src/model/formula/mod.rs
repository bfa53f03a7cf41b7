//! Formulas: what a parameter, a component, a kernel is of other numbers, as text of the expression language.
//!
//! ```text
//! text ──formula──> Formula ──build──> terms of a lowered model
//!                      └─────program──> numbers, for checks and for the interpreter
//! ```
//!
//! Formulas name functions without their rooms, `sqrt` for `math.sqrt`; all numbers are FLOAT64, and arithmetic is that of
//! IEEE 754: a division by zero gives an infinity, a negative base with a fractional power NaN. Nothing fails.

pub(crate) mod build;
mod formula;
mod program;
pub(crate) mod words;

pub(crate) use formula::Postfix;
pub use formula::{Formula, FormulaProblem, LENGTH_LIMIT};
pub use program::FormulaError;
pub(crate) use program::values_of;
