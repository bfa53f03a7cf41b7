//! Options of functions.

use crate::compile::Options;

/// What an integer result does that does not fit INT64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// It raises OVERFLOW.
    #[default]
    Raise,
    /// It wraps around, as Numba's does.
    Wrap,
}

/// Options of functions.
#[derive(Clone, Debug, Default)]
pub struct FunctionOptions {
    /// What an integer result does that does not fit.
    pub overflow: Overflow,
    /// True if division of floats by zero and arguments outside of a domain give infinities and NaN, as numpy's do,
    /// instead of raising as Python's do.
    pub numpy_errors: bool,
    /// Options of compilation.
    pub compile: Options,
}
