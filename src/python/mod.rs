//! Python-like text to a tree.
//!
//! ```text
//! text ──lexer──> tokens ──parser──> PyTree (arenas, spans) ──to_document──> stage `pyast`
//!                           │
//!                           └──> errors: text that is no Python, and Python outside of the subset
//! ```
//!
//! | | |
//! | --- | --- |
//! | statements | `def`, `return`, assignments (several targets, unpacking, augmented, annotated), `if`, `for`, `while` with `else`, `match` on literals, `try`, `break`, `continue`, `pass`, `assert`, `raise`, `del name`, imports at the top |
//! | expressions | literals, names, arithmetic, comparisons that chain, `and or not`, conditional expressions, calls with keywords, attributes, subscripts and slices, tuples, lists, dictionaries, sets, comprehensions, lambdas, `:=` |
//! | refused | everything else, each construct with a rule's name and a hint: [`Outside`] |
//!
//! The parser keeps its own stacks: chains of operators and of `elif` may have any length. Brackets nest to
//! 250 levels, blocks to 100. Names are compared in the form NFKC, as Python's are.

mod block;
mod bracket;
mod comprehension;
mod cursor;
pub mod error;
mod exceptions;
mod expression;
pub mod ids;
pub mod lexer;
pub mod lines;
mod literal;
mod nonlocal;
pub mod operators;
pub mod parse;
mod pattern;
mod pending;
pub mod pyast;
mod statement;
pub mod token;
pub mod tree;

pub use error::{Outside, PythonError, PythonProblem};
pub use lines::SourceLines;
pub use operators::{BinaryOp, BoolOp, CompareOp, UnaryOp};
pub use parse::{ParsedModule, parse_module};
pub use pyast::{PYAST, Positions, pyast_document, pyast_root, pyast_schema};
pub use tree::{
    ExprId, ExprKind, NameId, PyExpr, PyHandler, PyParameter, PyPattern, PyStmt, PyTree, StmtId, StmtKind,
    Stretch,
};
