//! Special functions: the only ones of the machine. See `docs/accuracy.md` for methods and errors.

mod area;
mod arithmetic;
pub mod dispatch;
mod error;
mod exponential;
mod faddeeva;
pub mod functions;
mod gamma;
mod hyperbolic;
mod inverse;
mod logarithm;
mod power;
mod reduction;
mod root;
mod trigonometry;

pub use dispatch::Operand;
pub use functions::{BinaryFunction, UnaryFunction, double, single};
