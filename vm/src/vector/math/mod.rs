//! Special functions: the only ones of the machine. See `docs/accuracy.md` for methods and errors.

mod area;
mod arithmetic;
pub mod dispatch;
pub mod domain;
mod error;
mod exponential;
mod faddeeva;
pub mod functions;
mod gamma;
mod hyperbolic;
mod inverse;
mod logarithm;
mod power;
pub mod real;
mod reduction;
mod root;
mod trigonometry;

pub use dispatch::MathOperand;
pub use functions::{BinaryFunction, BinaryKind, UnaryFunction, UnaryKind, double, single};

/// The functions as types, for loops that are compiled per function and instruction set: see
/// [`dispatch::unary_rows_on`] and [`dispatch::binary_rows_on`].
pub mod lanes {
    pub use super::area::{Acosh, Asinh, Atanh};
    pub use super::error::{Erf, Erfc};
    pub use super::exponential::{Exp, Exp2, Expm1, Sigmoid};
    pub use super::gamma::Lgamma;
    pub use super::hyperbolic::{Cosh, Sinh, Tanh};
    pub use super::inverse::{Acos, Asin, Atan, Atan2};
    pub use super::logarithm::{Ln, Log1p, Log2, Log10};
    pub use super::power::{Cube, Fourth, Pow, Root};
    pub use super::root::{Cbrt, Hypot, Sqrt};
    pub use super::trigonometry::{Cos, Sin, Tan};
}
