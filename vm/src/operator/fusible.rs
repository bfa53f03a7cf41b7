//! Operations that become one cell with the operation behind them, and what each computes.
//!
//! The row of an operator names its operation. [`fused`](crate::operator::fused) has the pairs.

use crate::array::function::LateFault;
use crate::layout::PlainSlot;
use crate::value::Fault;

/// The fault of an integer result beyond INT64.
pub(crate) const DOES_NOT_FIT: LateFault =
    LateFault(|| Fault::Overflow { message: "integer overflow: the result does not fit 64 bits".into() });

/// An operation that there are pairs of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fusible {
    /// An arithmetic operation on FLOAT64.
    Float(FloatOp),
    /// An arithmetic operation on INT64.
    Integer(IntegerOp),
    /// A comparison of FLOAT64, with a jump.
    FloatOrder(Order),
    /// A comparison of INT64, with a jump.
    IntegerOrder(Order),
    /// Reads a FLOAT64 element of an array of so many axes.
    GetFloat(usize),
    /// Reads an INT64 element.
    GetInteger(usize),
    /// Writes a FLOAT64 element.
    SetFloat(usize),
}

/// Arithmetic on FLOAT64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatOp {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
}

/// Arithmetic on INT64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerOp {
    /// Sum that wraps around.
    Add,
    /// Difference that wraps around.
    Subtract,
    /// Sum, if it fits.
    CheckedAdd,
    /// Difference, if it fits.
    CheckedSubtract,
    /// Product, if it fits.
    CheckedMultiply,
    /// Bits set in both.
    And,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Below.
    Less,
    /// Not above.
    LessEqual,
}

/// An operation on two values of a type.
pub(crate) trait Operation: 'static {
    /// The operands.
    type Operand: PlainSlot;
    /// The result.
    type Result: PlainSlot;

    /// The result; `None` if it does not fit.
    fn apply(x: Self::Operand, y: Self::Operand) -> Option<Self::Result>;
}

macro_rules! operations {
    ($($name:ident($operand:ty) -> $result:ty, $meaning:literal, |$x:ident, $y:ident| $value:expr;)*) => {$(
        #[doc = $meaning]
        pub(crate) enum $name {}

        impl Operation for $name {
            type Operand = $operand;
            type Result = $result;

            #[inline(always)]
            fn apply($x: $operand, $y: $operand) -> Option<$result> {
                $value
            }
        }
    )*};
}

operations! {
    FloatAdd(f64) -> f64, "x + y", |x, y| Some(x + y);
    FloatSubtract(f64) -> f64, "x - y", |x, y| Some(x - y);
    FloatMultiply(f64) -> f64, "x * y", |x, y| Some(x * y);
    Add(i64) -> i64, "x + y, which wraps around", |x, y| Some(x.wrapping_add(y));
    Subtract(i64) -> i64, "x - y, which wraps around", |x, y| Some(x.wrapping_sub(y));
    CheckedAdd(i64) -> i64, "x + y if it fits", |x, y| x.checked_add(y);
    CheckedSubtract(i64) -> i64, "x - y if it fits", |x, y| x.checked_sub(y);
    CheckedMultiply(i64) -> i64, "x * y if it fits", |x, y| x.checked_mul(y);
    And(i64) -> i64, "Bits set in both", |x, y| Some(x & y);
    FloatEqual(f64) -> bool, "x == y", |x, y| Some(x == y);
    FloatNotEqual(f64) -> bool, "x != y", |x, y| Some(x != y);
    FloatLess(f64) -> bool, "x < y", |x, y| Some(x < y);
    FloatLessEqual(f64) -> bool, "x <= y", |x, y| Some(x <= y);
    Equal(i64) -> bool, "x == y", |x, y| Some(x == y);
    NotEqual(i64) -> bool, "x != y", |x, y| Some(x != y);
    Less(i64) -> bool, "x < y", |x, y| Some(x < y);
    LessEqual(i64) -> bool, "x <= y", |x, y| Some(x <= y);
}
