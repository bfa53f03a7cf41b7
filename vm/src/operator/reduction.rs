//! Reductions: from the rows of one column to one value, block by block.
//!
//! ```text
//! rows      0 … 65535 | 65536 … 131071 | …           chunks of a fixed size
//! state        s0     |       s1       |             rows of a chunk, in their order
//! value     ((s0 + s1) + …) -> finish                 chunks, in their order
//! ```
//!
//! Floating-point sums are taken in [`LANES`] interleaved lanes, row `i` in lane `i % LANES`, which are
//! added up from the first at the end of a chunk. So the sum depends neither on the size of blocks nor on
//! the number of threads; of up to eight rows it is the sum from the left.

use crate::layout::PlainSlot;
use crate::operator::block::{Column, rows_of_word};
use crate::operator::call::Call;
use crate::value::Fault;
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use crate::vector::Level;
use crate::vector::reduce::{Number, Real};
use std::fmt;
use std::marker::PhantomData;

/// Rows whose state is computed from the first to the last.
pub const CHUNK: usize = 1 << 16;
/// Interleaved sums of floating-point rows.
pub const LANES: usize = 8;

/// What is known of the rows so far.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct State([u64; 2 * LANES]);

/// The code of a reduction.
#[derive(Clone, Copy)]
pub struct ReductionKernel {
    init: fn() -> State,
    step: [unsafe fn(&mut State, &Column, usize); Level::ALL.len()],
    merge: fn(&mut State, &State),
    finish: unsafe fn(&State, *mut u8),
}

impl fmt::Debug for ReductionKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReductionKernel")
    }
}

impl ReductionKernel {
    /// The state of no rows.
    pub fn init(&self) -> State {
        (self.init)()
    }

    /// Takes in rows that begin at the start of a word and belong to one chunk.
    ///
    /// # Safety
    /// The column has this many rows of the reduction's type, and the words of presence for them.
    pub unsafe fn step(&self, level: Level, state: &mut State, column: &Column, rows: usize) {
        // SAFETY: the caller's promise; the machine has the level.
        unsafe { (self.step[level as usize])(state, column, rows) }
    }

    /// Takes in the state of the next chunk.
    pub fn merge(&self, state: &mut State, next: &State) {
        (self.merge)(state, next);
    }

    /// Writes the value.
    ///
    /// # Safety
    /// `out` is a place for a value of the reduction's result type.
    pub unsafe fn finish(&self, state: &State, out: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { (self.finish)(state, out) }
    }

    /// Reduces the rows of the first argument.
    ///
    /// # Errors
    /// The run has to stop.
    pub(super) fn run(&self, call: &mut Call<'_>) -> Result<(), Fault> {
        let (rows, mut column) = (call.array(0).len(), call.column(0));
        let mut total = self.init();
        for start in (0..rows).step_by(CHUNK) {
            call.meter().poll()?;
            let mut state = self.init();
            let count = CHUNK.min(rows - start);
            // SAFETY: the column has these rows; a chunk is a whole number of words.
            unsafe { self.step(Level::best(), &mut state, &column, count) };
            column = column.at_row(CHUNK);
            self.merge(&mut total, &state);
        }
        let out = call.result_place();
        // SAFETY: the overload was made for the type of the result.
        unsafe { self.finish(&total, out) };
        Ok(())
    }
}

/// How rows are reduced.
pub trait Reducer: Copy + 'static {
    /// Type of the rows.
    type Row: PlainSlot;
    /// Type of the value.
    type Out: PlainSlot;

    /// No rows.
    fn new() -> Self;

    /// Takes in up to 64 rows. What stands in a missing row is not looked at, present ones have their bit.
    fn rows(&mut self, row: impl Fn(usize) -> Self::Row, present: u64, rows: usize);

    /// Takes in the next chunk.
    fn merge(&mut self, next: &Self);

    /// The value.
    fn finish(&self) -> Self::Out;
}

/// The kernel of a reducer.
pub fn reduction<R: Reducer>() -> ReductionKernel {
    ReductionKernel {
        init: || write(R::new()),
        step: [step::<R>, step_avx2::<R>, step_avx512::<R>],
        merge: |state, next| {
            let mut merged = read::<R>(state);
            merged.merge(&read::<R>(next));
            *state = write(merged);
        },
        // SAFETY: the caller of `finish` promises a place for the value.
        finish: |state, out| unsafe { R::Out::store(out, read::<R>(state).finish()) },
    }
}

fn write<R: Reducer>(reducer: R) -> State {
    const { assert!(size_of::<R>() <= size_of::<State>() && align_of::<R>() <= align_of::<State>()) };
    let mut state = State([0; 2 * LANES]);
    // SAFETY: the state has room for the reducer.
    unsafe { state.0.as_mut_ptr().cast::<R>().write(reducer) };
    state
}

fn read<R: Reducer>(state: &State) -> R {
    // SAFETY: `write` put a reducer of this type there; states are made by the kernel's own `init`.
    unsafe { state.0.as_ptr().cast::<R>().read() }
}

/// # Safety
/// The contract of [`ReductionKernel::step`].
#[inline(always)]
unsafe fn step<R: Reducer>(state: &mut State, column: &Column, rows: usize) {
    let size = cell_size(R::Row::SCALAR);
    // SAFETY: the caller's promise.
    unsafe {
        match column.step == size {
            // A step that is known where this is compiled makes vectors of rows.
            true => step_by::<R>(state, column, size, rows),
            false => step_by::<R>(state, column, column.step, rows),
        }
    }
}

/// The same with the step of the column.
///
/// # Safety
/// As [`step`].
#[inline(always)]
unsafe fn step_by<R: Reducer>(state: &mut State, column: &Column, step: usize, rows: usize) {
    let mut reducer = read::<R>(state);
    for number in 0..rows.div_ceil(ROWS_OF_A_WORD) {
        let first = number * ROWS_OF_A_WORD;
        // SAFETY: the caller's promise.
        let present = unsafe { column.word(number) } & rows_of_word(number, rows);
        let cells = column.data.wrapping_add(first * step);
        // SAFETY: the caller's promise: a reducer asks for the rows it was told of.
        let row = |row: usize| unsafe { R::Row::load_row(cells.add(row * step), true) };
        match rows - first {
            rest if rest < ROWS_OF_A_WORD => reducer.rows(row, present, rest),
            _ => reducer.rows(row, present, ROWS_OF_A_WORD),
        }
    }
    *state = write(reducer);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn step_avx2<R: Reducer>(state: &mut State, column: &Column, rows: usize) {
    // SAFETY: the caller's promise.
    unsafe { step::<R>(state, column, rows) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")]
unsafe fn step_avx512<R: Reducer>(state: &mut State, column: &Column, rows: usize) {
    // SAFETY: the caller's promise.
    unsafe { step::<R>(state, column, rows) }
}

#[cfg(not(target_arch = "x86_64"))]
use step as step_avx2;
#[cfg(not(target_arch = "x86_64"))]
use step as step_avx512;

/// Number of present rows.
#[derive(Clone, Copy, Debug)]
pub struct Count<T>(i64, PhantomData<T>);

impl<T: PlainSlot> Reducer for Count<T> {
    type Row = T;
    type Out = i64;

    fn new() -> Self {
        Count(0, PhantomData)
    }

    #[inline(always)]
    fn rows(&mut self, _: impl Fn(usize) -> T, present: u64, _: usize) {
        self.0 += i64::from(present.count_ones());
    }

    fn merge(&mut self, next: &Self) {
        self.0 += next.0;
    }

    fn finish(&self) -> i64 {
        self.0
    }
}

/// Present if a row is, or with `ALL` if every row is.
#[derive(Clone, Copy, Debug)]
pub struct Mask<const ALL: bool>(bool);

impl<const ALL: bool> Reducer for Mask<ALL> {
    type Row = ();
    type Out = Option<()>;

    fn new() -> Self {
        Mask(ALL)
    }

    #[inline(always)]
    fn rows(&mut self, _: impl Fn(usize), present: u64, rows: usize) {
        match ALL {
            true => self.0 &= present.count_ones() as usize == rows,
            false => self.0 |= present != 0,
        }
    }

    fn merge(&mut self, next: &Self) {
        match ALL {
            true => self.0 &= next.0,
            false => self.0 |= next.0,
        }
    }

    fn finish(&self) -> Option<()> {
        self.0.then_some(())
    }
}

/// A wrapping sum of integers.
#[derive(Clone, Copy, Debug)]
pub struct IntegerSum<T>(T);

impl<T: Number + PlainSlot + Default> Reducer for IntegerSum<T> {
    type Row = T;
    type Out = T;

    fn new() -> Self {
        IntegerSum(T::default())
    }

    #[inline(always)]
    fn rows(&mut self, row: impl Fn(usize) -> T, present: u64, rows: usize) {
        for i in 0..rows {
            let term = if present >> i & 1 == 1 { row(i) } else { T::default() };
            self.0 = self.0.plus(term);
        }
    }

    fn merge(&mut self, next: &Self) {
        self.0 = self.0.plus(next.0);
    }

    fn finish(&self) -> T {
        self.0
    }
}

/// A sum of floats in double, and how many there are.
#[derive(Clone, Copy, Debug)]
struct FloatSum {
    lanes: [f64; LANES],
    /// Sum of the chunks before.
    total: f64,
    count: u64,
}

impl FloatSum {
    fn new() -> FloatSum {
        FloatSum { lanes: [0.0; LANES], total: 0.0, count: 0 }
    }

    #[inline(always)]
    fn rows<T: Real>(&mut self, row: impl Fn(usize) -> T, present: u64, rows: usize) {
        self.count += u64::from(present.count_ones());
        if present == u64::MAX {
            // In a local array, so that lanes stay in registers for the word.
            let mut lanes = self.lanes;
            for first in (0..ROWS_OF_A_WORD).step_by(LANES) {
                for (lane, sum) in lanes.iter_mut().enumerate() {
                    *sum += row(first + lane).into();
                }
            }
            self.lanes = lanes;
            return;
        }
        // A missing row adds zero, which changes no sum that began with +0.0.
        for i in 0..rows {
            self.lanes[i % LANES] += if present >> i & 1 == 1 { row(i).into() } else { 0.0 };
        }
    }

    fn sum(&self) -> f64 {
        self.lanes.iter().fold(0.0, |sum, lane| sum + lane)
    }

    fn merge(&mut self, next: &FloatSum) {
        self.total += next.sum();
        self.count += next.count;
    }
}

macro_rules! float_reducer {
    ($(#[$doc:meta])* $name:ident, $out:ty, |$sum:ident| $value:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<T>(FloatSum, PhantomData<T>);

        impl<T: Real + PlainSlot> Reducer for $name<T>
        where
            Option<T>: PlainSlot,
        {
            type Row = T;
            type Out = $out;

            fn new() -> Self {
                $name(FloatSum::new(), PhantomData)
            }

            #[inline(always)]
            fn rows(&mut self, row: impl Fn(usize) -> T, present: u64, rows: usize) {
                self.0.rows(row, present, rows);
            }

            fn merge(&mut self, next: &Self) {
                self.0.merge(&next.0);
            }

            fn finish(&self) -> $out {
                let $sum = &self.0;
                $value
            }
        }
    };
}

float_reducer! {
    /// The sum of floats, rounded once to their type.
    Sum, T, |sum| T::round(sum.total)
}

float_reducer! {
    /// The arithmetic mean of floats, rounded once to their type; missing without rows.
    Mean, Option<T>, |sum| (sum.count > 0).then(|| T::round(sum.total / sum.count as f64))
}
