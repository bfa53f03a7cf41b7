//! The text of field programs: one declaration or statement a line.
//!
//! ```text
//! horizontal I, J
//! scalar k, n: int32
//! output u[I, J]
//! lap = -4*u + u[I-1] + u[I+1] + u[J-1] + u[J+1]
//! u[I=1:n-1, J=1:n-1] = u + k*lap
//! ```
//!
//! `docs/fields.md` has the grammar. A line ends at its end unless a bracket is open. Brackets nest to 100 levels.

mod expression;
mod lexer;
mod lines;
mod parser;
mod print;

#[cfg(feature = "cli")]
pub(crate) use expression::number;
pub use lines::parse_field_program;
pub(crate) use print::bound_text;
pub use print::print_field_program;
