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
//! 5. A column may be *taken*: its rows are cells that the rows of another column choose, their positions. Nobody writes
//!    either of them.
//!
//! Every operation is that of one row, but for [running results](List::running): nothing is contracted or reordered, and any
//! NaN is one value.

use crate::strip::op::{BinaryOp, Comparison, Lane, LaneFold, Op, RunningOp, ShiftOp, Sink, Term, UnaryOp};
use hashbrown::HashMap;

/// A list of operations.
#[derive(Clone, Debug, Default)]
pub struct List {
    terms: Vec<(Op, Lane)>,
    sinks: Vec<Sink>,
    numbers: HashMap<(Op, Lane), Term>,
    leaf_ends: Option<u16>,
    /// Columns that are taken, each with that of its positions.
    taken: Vec<(u16, u16)>,
    /// Columns that are prefetched.
    prefetched: Vec<u16>,
    /// Columns that are stored past the caches.
    streamed: Vec<u16>,
    /// True if loops begin where a result is at a line of the cache.
    begins_at_lines: bool,
}

impl List {
    /// A list of nothing.
    pub fn new() -> List {
        List::default()
    }

    /// Takes everything out, and keeps the memory.
    pub fn clear(&mut self) {
        self.terms.clear();
        self.sinks.clear();
        self.numbers.clear();
        self.leaf_ends = None;
        self.taken.clear();
        self.prefetched.clear();
        self.streamed.clear();
        self.begins_at_lines = false;
    }

    /// The rows of a column.
    ///
    /// # Panics
    /// The column is taken, and no number.
    pub fn column(&mut self, number: u16, lane: Lane) -> Term {
        assert!(lane != Lane::Mask || self.positions(number).is_none(), "truths are not taken");
        self.push(Op::Column(number), lane)
    }

    /// Has the rows of a column of numbers taken: they are the cells at positions, which are the rows of another column, 32 bits
    /// each and without a sign.
    pub fn take(&mut self, column: u16, positions: u16) {
        debug_assert!(self.positions(column).is_none(), "a column is taken at one list of positions");
        self.taken.push((column, positions));
    }

    /// The column with the positions of a column that is taken.
    pub fn positions(&self, column: u16) -> Option<u16> {
        self.taken.iter().find(|(taken, _)| *taken == column).map(|(_, positions)| *positions)
    }

    /// Has the rows of a column asked for some lines of the cache before they are read or written. That pays where they come from
    /// memory: hardware looks ahead no further than a page.
    pub fn prefetch(&mut self, column: u16) {
        self.prefetched.push(column);
    }

    /// Has numbers that are written to a column stored past the caches, by streaming stores. That pays on some processors where
    /// more is written than the caches hold.
    pub fn stream(&mut self, column: u16) {
        self.streamed.push(column);
    }

    /// The columns that are streamed, with the bytes of a row: written, never read by their number, and of numbers.
    pub fn streamed(&self) -> impl Iterator<Item = (u16, usize)> {
        let is_read = |number: u16| self.terms().any(|(_, op, _)| op == Op::Column(number));
        let streams = move |number: u16| self.streamed.contains(&number) && !is_read(number);
        self.numbers_written().filter(move |(number, _)| streams(*number))
    }

    /// Has loops begin where the widest result is at a line of the cache: a wide load or store from two lines takes twice as long.
    /// That pays where several columns stand alike, and may begin anywhere.
    pub fn begin_at_lines(&mut self) {
        self.begins_at_lines = true;
    }

    /// The column whose rows loops are to begin at lines with, and the bytes of a row.
    pub fn at_lines(&self) -> Option<(u16, usize)> {
        let widest = || self.numbers_written().max_by_key(|(_, row_bytes)| *row_bytes);
        self.begins_at_lines.then(widest).flatten()
    }

    /// Columns that numbers are written to, with the bytes of a row, in lists whose rows know nothing of each other.
    fn numbers_written(&self) -> impl Iterator<Item = (u16, usize)> {
        let has_carries = self.has_carries();
        self.sinks.iter().filter(move |_| !has_carries).filter_map(|sink| match *sink {
            Sink::Rows(number, term) if self.lane(term) != Lane::Mask => {
                Some((number, self.lane(term).bytes()))
            }
            _ => None,
        })
    }

    /// The columns that are prefetched and neither taken, streamed nor presence, with the bytes of a row, and whether they are written.
    pub fn prefetched(&self) -> impl Iterator<Item = (u16, usize, bool)> {
        let read = self.terms().filter_map(|(_, op, lane)| match op {
            Op::Column(number) => Some((number, lane, false)),
            _ => None,
        });
        let written = self.sinks.iter().filter_map(|sink| match *sink {
            Sink::Rows(number, term) => Some((number, self.lane(term), true)),
            _ => None,
        });
        let is_prefetched = |(number, ..): &(u16, Lane, bool)| {
            let is_streamed = || self.streamed().any(|(streamed, _)| streamed == *number);
            self.prefetched.contains(number) && self.positions(*number).is_none() && !is_streamed()
        };
        read.chain(written)
            .filter(is_prefetched)
            .map(|(number, lane, is_written)| (number, lane.bytes(), is_written))
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
        let folded = if lane == Lane::Mask { self.folded_not(x) } else { None };
        folded.unwrap_or_else(|| self.push(Op::Unary(op, x), lane))
    }

    /// An operation of two operands.
    ///
    /// # Panics
    /// The operands differ in type, or have one that the operation is not for.
    pub fn binary(&mut self, op: BinaryOp, x: Term, y: Term) -> Term {
        let lane = self.lane(x);
        let fits = match op {
            BinaryOp::Div => lane.is_float(),
            BinaryOp::MulLow => lane == Lane::I64,
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::AndNot => !lane.is_float(),
            _ => lane != Lane::Mask,
        };
        assert!(fits && lane == self.lane(y), "{op:?} of {lane:?} and {:?}", self.lane(y));
        let folded = if lane == Lane::Mask { self.folded_binary(op, x, y) } else { None };
        folded.unwrap_or_else(|| self.push(Op::Binary(op, x, y), lane))
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
        let folded = self.folded_select(mask, yes, no);
        folded.unwrap_or_else(|| self.push(Op::Select(mask, yes, no), lane))
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

    /// What comes of all rows up to each, one after the other. Each of the eight words of a column is what came of the rows before the
    /// call, at first [of none](RunningOp::start); behind the call the first one is what comes of all, if the rows of the call are a
    /// multiple of eight, else any number. The call writes all eight.
    ///
    /// # Panics
    /// The operand is no number of 64 bits.
    pub fn running(&mut self, op: RunningOp, column: u16, x: Term) -> Term {
        let lane = self.lane(x);
        assert!(matches!(lane, Lane::F64 | Lane::I64), "a running result of {lane:?}");
        self.push(Op::Running(op, column, x), lane)
    }

    /// The columns of running results, with what these are of which type.
    pub fn running_results(&self) -> impl Iterator<Item = (u16, RunningOp, Lane)> {
        self.terms().filter_map(|(_, op, lane)| match op {
            Op::Running(op, column, _) => Some((column, op, lane)),
            _ => None,
        })
    }

    /// True if something is carried from row to row: folds or running results.
    pub fn has_carries(&self) -> bool {
        self.sinks.iter().any(Sink::is_fold) || self.running_results().next().is_some()
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

    /// Parts the rows of a call into leaves, for sums. The column has the number of the row behind each leaf, 8 bytes
    /// each; no leaf is empty, and the last one ends with the rows. The row of the column for the first leaf of a call is
    /// row 0.
    pub fn leaves(&mut self, column: u16) {
        self.leaf_ends = Some(column);
    }

    /// Writes the sum of each leaf to a column: behind the 64 bytes of its eight lanes, in the place that has the number
    /// of the leaf, from 0 on in each call. The order is that of a leaf of `vector::fold`; a sum of floats may be -0 where
    /// that is 0.
    ///
    /// The first leaf of a call begins with the lanes that the column has, [those of no rows](Lane::lanes_of_no_rows) if
    /// it begins there; those of the last leaf are written back. So a leaf can go on in the next call, if its rows so far
    /// are a multiple of eight.
    ///
    /// # Panics
    /// There are no leaves, or the term is INT32 or a mask.
    pub fn sum(&mut self, column: u16, term: Term) {
        let lane = self.lane(term);
        assert!(!matches!(lane, Lane::I32 | Lane::Mask), "the sum of {lane:?}");
        assert!(self.leaf_ends.is_some(), "rows in leaves");
        self.sinks.push(Sink::Sum(column, term));
    }

    /// Takes the rows of a call into the lanes of a column, 64 bytes that [begin](LaneFold::start) as those of no rows. Which
    /// row goes to which lane is not told, so that lanes are to be joined in any order; some may stay as they were.
    ///
    /// # Panics
    /// The term is a mask, or a sum that of floats.
    pub fn fold(&mut self, fold: LaneFold, column: u16, term: Term) {
        let lane = self.lane(term);
        let fits = lane != Lane::Mask && !(fold == LaneFold::Sum && lane.is_float());
        assert!(fits, "{fold:?} of {lane:?} in any order");
        self.sinks.push(Sink::Lanes(fold, column, term));
    }

    /// Adds the rows of a call to 32 lanes of a column: row `i` of the call to lane `i % 32`, one after the other. Behind the
    /// call the lanes have moved: the first eight are those that follow the whole groups of eight rows of the call, so that
    /// the next call begins with them as they are, if its rows so far are a multiple of eight. Leaves of such a list begin at
    /// multiples of eight.
    ///
    /// # Panics
    /// The term is INT32 or a mask.
    pub fn spread(&mut self, column: u16, term: Term) {
        let lane = self.lane(term);
        assert!(!matches!(lane, Lane::I32 | Lane::Mask), "the sum of {lane:?}");
        self.sinks.push(Sink::Spread(column, term));
    }

    /// True if folds want groups of eight rows.
    pub fn has_eights(&self) -> bool {
        self.sinks.iter().any(|sink| matches!(sink, Sink::Sum(..) | Sink::Spread(..)))
    }

    /// True if a term has 64 bits.
    pub fn is_wide(&self) -> bool {
        self.terms.iter().any(|(_, lane)| lane.bytes() == 8)
    }

    /// The column of ends of leaves, if there are sums.
    pub fn leaf_ends(&self) -> Option<u16> {
        let has_sums = self.sinks.iter().any(|sink| matches!(sink, Sink::Sum(..)));
        self.leaf_ends.filter(|_| has_sums)
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
