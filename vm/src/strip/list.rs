//! List: what a strip computes, as operations in static single assignment.
//!
//! ```text
//! t0 = column 0 : F64            one row each
//! t1 = literal 2.5 : F64         the same for all rows, known now
//! t2 = scalar 0 : F64            the same for all rows, read at each call
//! t3 = mul t0 t1
//! t4 = lt t3 t2                  a mask: one truth a row
//! t5 = select t4 t3 t2
//! store 1 t5                     sinks, in the order in which they were added
//! ```
//!
//! 1. A term is made of earlier terms, and equal terms are one term.
//! 2. Types are checked where a term is made: a list that exists is well typed.
//! 3. Columns have numbers that the caller of the strip chooses: positions in its array of pointers. Inputs and
//!    outputs share that array. A number is read with one element type, or written by one sink.
//! 4. Where a column is read and written (by its number or by its address), the element types are equal and
//!    every row is read before it is written.
//!
//! Every operation is that of one row: nothing is contracted or reordered, and any NaN is one value.

use hashbrown::HashMap;
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
    /// Bytes of a row in a column.
    pub fn bytes(self) -> usize {
        match self {
            Lane::F64 | Lane::I64 => 8,
            Lane::F32 | Lane::I32 => 4,
            Lane::Mask => 1,
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
pub struct Term(u32);

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
    /// The constant with this number, the lowest bits of its 8 bytes; of a mask, true if they are not zero.
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
}

impl Op {
    /// The terms that it is made of, in order.
    pub fn operands(&self) -> impl Iterator<Item = Term> {
        let operands = match *self {
            Op::Column(_) | Op::Presence(_) | Op::Scalar(_) | Op::Literal(_) => [None; 3],
            Op::Unary(_, x) | Op::Shift(_, x, _) | Op::Cast(x) | Op::Bits(x) => [Some(x), None, None],
            Op::Binary(_, x, y) | Op::Compare(_, x, y) => [Some(x), Some(y), None],
            Op::Select(a, b, c) | Op::Fma(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        operands.into_iter().flatten()
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
}

impl Sink {
    /// The term.
    pub fn term(&self) -> Term {
        let (Sink::Rows(_, term) | Sink::Presence(_, term) | Sink::Fire(term)) = *self;
        term
    }
}

/// A list of operations.
#[derive(Clone, Debug, Default)]
pub struct List {
    terms: Vec<(Op, Lane)>,
    sinks: Vec<Sink>,
    numbers: HashMap<(Op, Lane), Term>,
}

impl List {
    /// A list of nothing.
    pub fn new() -> List {
        List::default()
    }

    /// The rows of a column.
    pub fn column(&mut self, number: u16, lane: Lane) -> Term {
        self.push(Op::Column(number), lane)
    }

    /// The bits of a column of presence: words of 64 rows, the lowest bit first. Row 0 is the lowest bit of the first
    /// word.
    pub fn presence(&mut self, number: u16) -> Term {
        self.push(Op::Presence(number), Lane::Mask)
    }

    /// A value for all rows that each call brings along.
    pub fn scalar(&mut self, number: u16, lane: Lane) -> Term {
        self.push(Op::Scalar(number), lane)
    }

    /// A value for all rows, by its bits.
    pub fn literal(&mut self, lane: Lane, bits: u64) -> Term {
        let bits = match lane {
            Lane::F64 | Lane::I64 => bits,
            Lane::F32 | Lane::I32 => bits & u64::from(u32::MAX),
            Lane::Mask => bits & 1,
        };
        self.push(Op::Literal(bits), lane)
    }

    /// A FLOAT64 for all rows.
    pub fn f64(&mut self, value: f64) -> Term {
        self.literal(Lane::F64, value.to_bits())
    }

    /// A FLOAT32 for all rows.
    pub fn f32(&mut self, value: f32) -> Term {
        self.literal(Lane::F32, value.to_bits().into())
    }

    /// An INT64 for all rows.
    pub fn i64(&mut self, value: i64) -> Term {
        self.literal(Lane::I64, value as u64)
    }

    /// An INT32 for all rows.
    pub fn i32(&mut self, value: i32) -> Term {
        self.literal(Lane::I32, value as u64)
    }

    /// A truth for all rows.
    pub fn truth(&mut self, value: bool) -> Term {
        self.literal(Lane::Mask, value.into())
    }

    /// An operation of one operand.
    ///
    /// # Panics
    /// The operand has a type that the operation is not for.
    pub fn unary(&mut self, op: UnaryOp, x: Term) -> Term {
        let lane = self.lane(x);
        let fits = match op {
            UnaryOp::Neg | UnaryOp::Abs => lane != Lane::Mask,
            UnaryOp::Not => !lane.is_float(),
            _ => lane.is_float(),
        };
        assert!(fits, "{op:?} of {lane:?}");
        self.push(Op::Unary(op, x), lane)
    }

    /// An operation of two operands.
    ///
    /// # Panics
    /// The operands differ in type, or have one that the operation is not for.
    pub fn binary(&mut self, op: BinaryOp, x: Term, y: Term) -> Term {
        let lane = self.lane(x);
        let fits = match op {
            BinaryOp::Div => lane.is_float(),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::AndNot => !lane.is_float(),
            _ => lane != Lane::Mask,
        };
        assert!(fits && lane == self.lane(y), "{op:?} of {lane:?} and {:?}", self.lane(y));
        self.push(Op::Binary(op, x, y), lane)
    }

    /// Where both masks are true, or bits that both integers have.
    ///
    /// # Panics
    /// As [`List::binary`].
    pub fn and(&mut self, x: Term, y: Term) -> Term {
        self.binary(BinaryOp::And, x, y)
    }

    /// Where one of two masks is true, or bits that one of two integers has.
    ///
    /// # Panics
    /// As [`List::binary`].
    pub fn or(&mut self, x: Term, y: Term) -> Term {
        self.binary(BinaryOp::Or, x, y)
    }

    /// Where a mask is not true, or bits that an integer has not.
    ///
    /// # Panics
    /// As [`List::unary`].
    pub fn not(&mut self, x: Term) -> Term {
        self.unary(UnaryOp::Not, x)
    }

    /// A comparison.
    ///
    /// # Panics
    /// The operands differ in type, or are masks.
    pub fn compare(&mut self, comparison: Comparison, x: Term, y: Term) -> Term {
        let lane = self.lane(x);
        let fits = lane != Lane::Mask && (lane.is_float() || comparison != Comparison::Unordered);
        assert!(fits && lane == self.lane(y), "{comparison:?} of {lane:?} and {:?}", self.lane(y));
        self.push(Op::Compare(comparison, x, y), Lane::Mask)
    }

    /// `yes` where the mask is true, else `no`.
    ///
    /// # Panics
    /// The first term is no mask, or the others differ in type.
    pub fn select(&mut self, mask: Term, yes: Term, no: Term) -> Term {
        let lane = self.lane(yes);
        let fits = self.lane(mask) == Lane::Mask && lane == self.lane(no);
        assert!(fits, "select by {:?} of {lane:?} and {:?}", self.lane(mask), self.lane(no));
        self.push(Op::Select(mask, yes, no), lane)
    }

    /// A shift by fewer bits than the integer has.
    ///
    /// # Panics
    /// The operand is no integer, or is shifted too far.
    pub fn shift(&mut self, op: ShiftOp, x: Term, bits: u8) -> Term {
        let lane = self.lane(x);
        let fits = matches!(lane, Lane::I64 | Lane::I32) && usize::from(bits) < 8 * lane.bytes();
        assert!(fits, "{op:?} of {lane:?} by {bits}");
        self.push(Op::Shift(op, x, bits), lane)
    }

    /// `a * b + c` with one rounding.
    ///
    /// # Panics
    /// The operands are not floats of one type.
    pub fn fma(&mut self, a: Term, b: Term, c: Term) -> Term {
        let lane = self.lane(a);
        let fits = lane.is_float() && lane == self.lane(b) && lane == self.lane(c);
        assert!(fits, "fma of {lane:?}, {:?} and {:?}", self.lane(b), self.lane(c));
        self.push(Op::Fma(a, b, c), lane)
    }

    /// The number in another type; a mask gives 1 and 0, and a number true where it is not zero, NaN included.
    pub fn cast(&mut self, x: Term, lane: Lane) -> Term {
        match (self.lane(x), lane) {
            (from, to) if from == to => x,
            (Lane::Mask, to) => {
                let (one, zero) = (self.number(to, 1), self.number(to, 0));
                self.select(x, one, zero)
            }
            (from, Lane::Mask) => {
                let zero = self.number(from, 0);
                self.compare(Comparison::NotEqual, x, zero)
            }
            _ => self.push(Op::Cast(x), lane),
        }
    }

    /// The same bits as the [other type](Lane::same_bits) of the width.
    ///
    /// # Panics
    /// The operand is a mask.
    pub fn bits(&mut self, x: Term) -> Term {
        let lane = self.lane(x);
        assert!(lane != Lane::Mask, "the bits of a mask");
        match self.terms[x.index()].0 {
            Op::Bits(inner) => inner,
            Op::Literal(bits) => self.literal(lane.same_bits(), bits),
            _ => self.push(Op::Bits(x), lane.same_bits()),
        }
    }

    /// A small number in a type.
    pub fn number(&mut self, lane: Lane, value: i32) -> Term {
        match lane {
            Lane::F64 => self.f64(value.into()),
            Lane::F32 => self.f32(value as f32),
            Lane::I64 => self.i64(value.into()),
            Lane::I32 => self.i32(value),
            Lane::Mask => self.truth(value != 0),
        }
    }

    /// Writes a term to the rows of a column.
    pub fn store(&mut self, column: u16, term: Term) {
        self.sinks.push(Sink::Rows(column, term));
    }

    /// Writes a mask to a column of presence.
    ///
    /// # Panics
    /// The term is no mask.
    pub fn store_presence(&mut self, column: u16, mask: Term) {
        assert_eq!(self.lane(mask), Lane::Mask, "presence is a mask");
        self.sinks.push(Sink::Presence(column, mask));
    }

    /// Lets the call tell whether a mask was true in some row.
    ///
    /// # Panics
    /// The term is no mask.
    pub fn fire(&mut self, mask: Term) {
        assert_eq!(self.lane(mask), Lane::Mask, "what fires is a mask");
        self.sinks.push(Sink::Fire(mask));
    }

    /// The type of a term.
    pub fn lane(&self, term: Term) -> Lane {
        self.terms[term.index()].1
    }

    /// How a term comes about.
    pub fn op(&self, term: Term) -> Op {
        self.terms[term.index()].0
    }

    /// All terms, in order.
    pub fn terms(&self) -> impl DoubleEndedIterator<Item = (Term, Op, Lane)> + ExactSizeIterator {
        self.terms.iter().enumerate().map(|(index, (op, lane))| (Term(index as u32), *op, *lane))
    }

    /// All sinks, in order.
    pub fn sinks(&self) -> &[Sink] {
        &self.sinks
    }

    fn push(&mut self, op: Op, lane: Lane) -> Term {
        let next = Term(self.terms.len() as u32);
        *self.numbers.entry((op, lane)).or_insert_with(|| {
            self.terms.push((op, lane));
            next
        })
    }
}
