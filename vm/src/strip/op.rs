//! Operations: what one row of a term can be, and what can become of it.

use crate::value::ScalarType;
use std::fmt;

/// The type of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// IEEE 754 binary64.
    F64,
    /// IEEE 754 binary32.
    F32,
    /// Two's complement, 64 bits.
    I64,
    /// Two's complement, 32 bits.
    I32,
    /// A truth: a byte in a column of rows, a bit in one of presence.
    Mask,
}

impl Lane {
    /// That of the cells of a scalar type; `None` of UNIT, which has none, and of what strips do not compute with.
    pub fn of(scalar: ScalarType) -> Option<Lane> {
        Some(match scalar {
            ScalarType::Float64 | ScalarType::WeakFloat => Lane::F64,
            ScalarType::Float32 => Lane::F32,
            ScalarType::Int64 => Lane::I64,
            ScalarType::Int32 => Lane::I32,
            ScalarType::Boolean => Lane::Mask,
            _ => return None,
        })
    }

    /// Bytes of a row in a column.
    pub fn bytes(self) -> usize {
        match self {
            Lane::F64 | Lane::I64 => 8,
            Lane::F32 | Lane::I32 => 4,
            Lane::Mask => 1,
        }
    }

    /// The lanes of a sum before its first row, word by word: what any number can be added to without changing a bit.
    pub const fn lanes_of_no_rows(self) -> u64 {
        match self {
            Lane::F64 => 1 << 63,
            Lane::F32 => 1 << 63 | 1 << 31,
            Lane::I64 | Lane::I32 | Lane::Mask => 0,
        }
    }

    /// True for floats.
    pub fn is_float(self) -> bool {
        matches!(self, Lane::F64 | Lane::F32)
    }

    /// The other type of the same width: the integer of a float, the float of an integer.
    pub fn same_bits(self) -> Lane {
        match self {
            Lane::F64 => Lane::I64,
            Lane::I64 => Lane::F64,
            Lane::F32 => Lane::I32,
            Lane::I32 => Lane::F32,
            Lane::Mask => Lane::Mask,
        }
    }
}

/// Number of a term in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(pub(super) u32);

impl Term {
    /// Its position among the terms.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

/// An operation of one operand, which has the type of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// The sign bit flipped, of an integer `0 - x` (wraps).
    Neg,
    /// The sign bit cleared, of an integer the absolute value (wraps).
    Abs,
    /// Square root of a float, correctly rounded.
    Sqrt,
    /// The largest integer not above, of a float.
    Floor,
    /// The smallest integer not below, of a float.
    Ceil,
    /// The integer part of a float.
    Trunc,
    /// The nearest integer of a float, halves to even.
    Nearest,
    /// Every bit of an integer flipped; the opposite of a mask.
    Not,
}

/// An operation of two operands, which have the type of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Sum; of integers it wraps.
    Add,
    /// Difference; of integers it wraps.
    Sub,
    /// Product; of integers it wraps.
    Mul,
    /// Product of the lower 32 bits of INT64, as numbers without a sign.
    MulLow,
    /// Quotient of floats.
    Div,
    /// The smaller one. Of floats, NaN wins from either side and a tie keeps the first: `vector::float::minimum`.
    Min,
    /// The larger one. Of floats, NaN wins from either side and a tie keeps the first: `vector::float::maximum`.
    Max,
    /// Bits set in both, of integers and masks.
    And,
    /// Bits set in one or both, of integers and masks.
    Or,
    /// Bits set in exactly one, of integers and masks.
    Xor,
    /// Bits of the first that are not set in the second, of integers and masks.
    AndNot,
}

/// A shift of an integer by a number of bits below its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShiftOp {
    /// To the left; zeros come in.
    Left,
    /// To the right; zeros come in.
    Right,
    /// To the right; copies of the sign come in.
    RightSigned,
}

/// A comparison. Of floats, all but `NotEqual` and `Unordered` are false if an operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// x = y
    Equal,
    /// Not (x = y): true if an operand is NaN.
    NotEqual,
    /// x < y
    Less,
    /// x <= y
    LessEqual,
    /// x > y
    Greater,
    /// x >= y
    GreaterEqual,
    /// One is NaN; of floats only.
    Unordered,
}

/// How a term comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The row of a column; of a mask, the truth of a byte that is 0 or 1.
    Column(u16),
    /// The bit of the row in a column of presence.
    Presence(u16),
    /// The constant with this number, the lowest bits of its 8 bytes; of a mask, true if the lowest 4 bytes are not zero.
    Scalar(u16),
    /// These bits, of a mask true or false by the lowest one.
    Literal(u64),
    /// An operation of one operand.
    Unary(UnaryOp, Term),
    /// An operation of two operands.
    Binary(BinaryOp, Term, Term),
    /// A comparison of two numbers of one type; gives a mask.
    Compare(Comparison, Term, Term),
    /// The second term where the first one, a mask, is true, else the third.
    Select(Term, Term, Term),
    /// A shift by a fixed number of bits.
    Shift(ShiftOp, Term, u8),
    /// `a * b + c` with one rounding.
    Fma(Term, Term, Term),
    /// The number in another type. Floats to integers truncate; what does not fit is any number. INT64 to INT32 keeps
    /// the lower half. To floats it rounds once, to nearest even.
    Cast(Term),
    /// The same bits as the [other type](Lane::same_bits) of the width.
    Bits(Term),
    /// What comes of all rows of the call up to this one, and of the rows before, which a column tells: behind the call it tells of
    /// these rows too.
    Running(RunningOp, u16, Term),
}

/// How running results join what came of the rows before with the next row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunningOp {
    /// The sum; of integers it wraps.
    Sum,
    /// The greatest. Of floats NaN stays, and a tie keeps the earlier one.
    Greatest,
}

impl RunningOp {
    /// What comes of no rows, by its bits: it changes no result.
    pub const fn start(self, lane: Lane) -> u64 {
        match self {
            RunningOp::Sum => lane.lanes_of_no_rows(),
            RunningOp::Greatest => LaneFold::Greatest.start(lane),
        }
    }
}

impl Op {
    /// The terms that it is made of, in order.
    pub fn operands(&self) -> impl Iterator<Item = Term> + use<> {
        let operands = match *self {
            Op::Column(_) | Op::Presence(_) | Op::Scalar(_) | Op::Literal(_) => [None; 3],
            Op::Unary(_, x) | Op::Shift(_, x, _) | Op::Cast(x) | Op::Bits(x) | Op::Running(_, _, x) => {
                [Some(x), None, None]
            }
            Op::Binary(_, x, y) | Op::Compare(_, x, y) => [Some(x), Some(y), None],
            Op::Select(a, b, c) | Op::Fma(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        operands.into_iter().flatten()
    }
}

/// How rows become one in lanes: a lane has what came of some of the rows, which rows is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneFold {
    /// The sum of integers, which wraps.
    Sum,
    /// The smallest one. Of floats NaN wins, and a tie keeps the earlier one.
    Least,
    /// The largest one. Of floats NaN wins, and a tie keeps the earlier one.
    Greatest,
}

/// Bits in both halves of a word.
const fn twice(bits: u32) -> u64 {
    (bits as u64) << 32 | bits as u64
}

impl LaneFold {
    /// Lanes before the first row, word by word: what changes no result.
    pub const fn start(self, lane: Lane) -> u64 {
        match (self, lane) {
            (LaneFold::Sum, _) | (_, Lane::Mask) => 0,
            (LaneFold::Least, Lane::F64) => f64::INFINITY.to_bits(),
            (LaneFold::Greatest, Lane::F64) => f64::NEG_INFINITY.to_bits(),
            (LaneFold::Least, Lane::F32) => twice(f32::INFINITY.to_bits()),
            (LaneFold::Greatest, Lane::F32) => twice(f32::NEG_INFINITY.to_bits()),
            (LaneFold::Least, Lane::I64) => i64::MAX as u64,
            (LaneFold::Greatest, Lane::I64) => i64::MIN as u64,
            (LaneFold::Least, Lane::I32) => twice(i32::MAX as u32),
            (LaneFold::Greatest, Lane::I32) => twice(i32::MIN as u32),
        }
    }
}

/// What becomes of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sink {
    /// Rows of a column; of a mask, bytes that are 0 or 1.
    Rows(u16, Term),
    /// Bits of a column of presence. Behind the last row the word is filled up with zeros.
    Presence(u16, Term),
    /// The call tells whether this mask was true in some row.
    Fire(Term),
    /// The sum of the rows of each leaf, to the place of a column that has the number of the leaf, behind lanes.
    Sum(u16, Term),
    /// What becomes of all rows of the call and of the lanes of a column, to these lanes.
    Lanes(LaneFold, u16, Term),
    /// The sum of every 32nd row of the call and of a lane of a column, to that lane.
    Spread(u16, Term),
}

impl Sink {
    /// The term.
    pub fn term(&self) -> Term {
        let (Sink::Rows(_, term)
        | Sink::Presence(_, term)
        | Sink::Fire(term)
        | Sink::Sum(_, term)
        | Sink::Lanes(_, _, term)
        | Sink::Spread(_, term)) = *self;
        term
    }

    /// True if rows become one.
    pub fn is_fold(&self) -> bool {
        matches!(self, Sink::Sum(..) | Sink::Lanes(..) | Sink::Spread(..))
    }
}
