//! The expression language: text to expression.
//!
//! ```text
//! # one root of a quadratic equation
//! d = b*b - 4.0*a*c
//! core.where(d >= 0.0, (-b + math.sqrt(d)) / (2.0*a), core.empty_like(b))
//! ```
//!
//! Two styles mix freely: the plain one above, where bare names are leaves, and the Python style of
//! the published expressions (`M.math.add(L.x, arolla.float64(1))`, `P.x`).
//!
//! | | |
//! | --- | --- |
//! | statements | `name = expression`, then one expression; separated by line ends or `;`; `#` comments |
//! | names | a statement gives a new name; an input of that name is still `L.name` |
//! | operators | Python's, with its precedence: `**`, `- + ~`, `* / // %`, `+ -`, `&`, `\|`, comparisons |
//! | numbers | `1` INT32 (INT64 if too large), `1.5` the float of the dialect |
//! | constructors | `int64(5)`, `float32(2.5)`, `optional_text(NA)`, `tuple(1, 2)`, also as `float64{0.5}` |
//! | words | `true false present missing unit`, type names such as `FLOAT64` |
//! | calls | `math.sigmoid(x, slope=2.0)`; an operator's name without a call is the operator itself |
//!
//! The parser keeps its own stacks, so nesting costs no stack of the thread; limits are named in the
//! error that reports them.

pub mod call;
pub mod construct;
pub mod error;
pub mod excerpt;
pub mod lexer;
pub mod parser;

pub use error::{SyntaxError, SyntaxErrorKind};
pub use excerpt::excerpt;
pub use parser::{Limits, parse, parse_with};
