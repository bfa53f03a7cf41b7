//! Primitives: what operators do that may refuse their operands, for compilers of programs.
//!
//! A [recipe](crate::array::recipe) says what an operator computes that always gives a value. A primitive says it of one
//! that may raise: compiled code computes the usual case, and where there is no result, the code of the cell raises.
//!
//! The row of an operator names its primitive; the types are those of the overload.

use crate::value::ScalarType;

/// An operation that may have no result, or is about one element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// x + y, if it fits INT64.
    CheckedAdd,
    /// x - y, if it fits.
    CheckedSubtract,
    /// x * y, if it fits.
    CheckedMultiply,
    /// -x, if it fits.
    CheckedNeg,
    /// The absolute value, if it fits.
    CheckedAbs,
    /// x * 2**n, if it fits and n is not negative.
    CheckedShiftLeft,
    /// x // 2**n, if n is not negative.
    ShiftRight,
    /// x * 2**n, which wraps around, with the low 6 bits of n.
    WrappingShiftLeft,
    /// x // 2**n, with the low 6 bits of n.
    WrappingShiftRight,
    /// The index itself, or from the end if it is negative; inside of the size.
    Index,
    /// The quotient of integers rounded down, for a divisor that is not zero. Refuses the smallest integer by -1.
    FloorDivide,
    /// The remainder with the sign of the divisor, which is not zero.
    Modulo,
    /// The quotient as a float, of integers rounded once; for a divisor that is not zero.
    Divide,
    /// A float cut to an integer of the result's type, if it fits.
    Truncate,
    /// The largest INT64 not above a float, if it fits.
    Floor,
    /// The smallest INT64 not below, if it fits.
    Ceil,
    /// The nearest INT64, halves to the even one, if it fits.
    RoundEven,
    /// An INT64 as an INT32, if it fits.
    Narrow,
    /// The square root of a float that is not below zero, nor NaN.
    Sqrt,
    /// How many numbers `range(start, stop, step)` has, for a step that is not zero.
    RangeCount,
    /// An element of an array.
    Get(ScalarType, usize),
    /// An element of an array, to be written.
    Set(ScalarType, usize),
    /// The size of an axis.
    Length,
}
