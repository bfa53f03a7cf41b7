//! Expression operators: their parameters, type rules and lowering.
//!
//! ```text
//! text, builder ──> operator node "math.sigmoid"(x)     ── OperatorDef: params, defaults
//!                          │ infer: argument types ─> argument types after casts, result type
//!                          │ lower: rewrites itself into lower operators, or is one of the machine's
//!                          v
//!                   machine operator "math.sigmoid"(x, half, slope), exact overload
//! ```
//!
//! Operators of the machine with a public name get their definition from their row there; operators
//! that only exist in expressions (`core.greater`, `core.cast`, `core.get_nth`) have their row here.

pub mod define;
pub mod derived;
pub mod dialect;
pub mod infer;
pub mod overloads;
pub mod register;
pub mod registry;
pub mod standard;

pub use define::{LowerContext, Lowered, OperatorDef, Param};
pub use dialect::Dialect;
pub use infer::{InferContext, Resolution, TypeError};
pub use register::RegisterError;
pub use registry::Registry;
