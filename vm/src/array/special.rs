//! Special functions of operators: which function of `vector::math` an operator is, and which operands it refuses.
//!
//! ```text
//! math.exp      exp, refuses nothing
//! python.exp    exp, refuses operands for which the result is no number
//! python.log    ln, refuses operands that are not above zero
//! ```
//!
//! Compilers of programs call such a function, or compute its
//! [operations](crate::strip::record_unary). An operand that is refused raises; the code of the cell raises for them.

use crate::vector::math::domain::Domain;
use crate::vector::math::{BinaryKind, UnaryKind};

/// A function of `vector::math`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// Of the one operand.
    Unary(UnaryKind),
    /// Of both operands, in their order.
    Binary(BinaryKind),
}

/// Operands for which an operator has no value, but raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusals {
    /// None.
    Nothing,
    /// Outside of the domain: DOMAIN.
    Outside(Domain),
    /// Outside of the domain: DOMAIN. Inside, [where the value is infinite](crate::vector::math::domain::overflows) and
    /// the operand is not: OVERFLOW.
    OutsideOrOverflow(Domain),
    /// Of `x ** y` in Python: finite operands whose power is not finite. For `x = 0` it is DIVISION_BY_ZERO, else for a
    /// power that is NaN DOMAIN, else OVERFLOW.
    Power,
}

/// What an operator computes of present operands, all FLOAT64 or all FLOAT32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialFunction {
    /// The function; of FLOAT32 that of FLOAT64, rounded.
    pub kind: FunctionKind,
    /// Where the operator raises instead.
    pub refusals: Refusals,
}

impl From<UnaryKind> for SpecialFunction {
    /// The function that refuses nothing.
    fn from(kind: UnaryKind) -> SpecialFunction {
        SpecialFunction { kind: FunctionKind::Unary(kind), refusals: Refusals::Nothing }
    }
}

impl From<BinaryKind> for SpecialFunction {
    /// The function that refuses nothing.
    fn from(kind: BinaryKind) -> SpecialFunction {
        SpecialFunction { kind: FunctionKind::Binary(kind), refusals: Refusals::Nothing }
    }
}

impl SpecialFunction {
    /// The same function for other operands.
    pub(crate) fn refusing(self, refusals: Refusals) -> SpecialFunction {
        SpecialFunction { refusals, ..self }
    }
}
