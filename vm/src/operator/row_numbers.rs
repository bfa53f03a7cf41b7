//! Numbers of rows that a loop reads: those of a column, one for all rows, or what is computed of them on the way.
//!
//! ```text
//! Each  x0 x1 x2 x3        One  c c c c        Sum  a*b + c, in registers
//! ```
//!
//! A loop is compiled for each choice, so that what is one for all rows stays in a register.

use crate::operator::block::Column;
use crate::vector::fold::Number;

/// Numbers by their rows.
pub(super) trait Rows: Copy {
    /// Their type.
    type Number: Number;

    /// # Safety
    /// There is such a row.
    unsafe fn at(self, row: usize) -> Self::Number;
}

/// A number for each row, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Each<T>(pub(super) *const T);

impl<T: Number> Rows for Each<T> {
    type Number = T;

    #[inline(always)]
    unsafe fn at(self, row: usize) -> T {
        // SAFETY: the caller's promise; every byte pattern is a number.
        unsafe { self.0.add(row).read() }
    }
}

/// One number for all rows.
#[derive(Clone, Copy)]
pub(super) struct One(f64);

impl Rows for One {
    type Number = f64;

    #[inline(always)]
    unsafe fn at(self, _: usize) -> f64 {
        self.0
    }
}

/// A product and something.
#[derive(Clone, Copy)]
struct Sum<A, B, C>(A, B, C);

impl<A, B, C> Rows for Sum<A, B, C>
where
    A: Rows<Number = f64>,
    B: Rows<Number = f64>,
    C: Rows<Number = f64>,
{
    type Number = f64;

    #[inline(always)]
    unsafe fn at(self, row: usize) -> f64 {
        // SAFETY: the caller's promise.
        unsafe { self.0.at(row) * self.1.at(row) + self.2.at(row) }
    }
}

/// A loop over rows of FLOAT64. Mark it and what it calls `#[inline(always)]`, so that it gets the instructions of who
/// runs it.
pub(super) trait WithRows {
    /// Runs it.
    fn run(self, rows: impl Rows<Number = f64>);
}

/// Runs a loop with `a * b + c`.
///
/// # Safety
/// They are columns of FLOAT64 with a row.
#[inline(always)]
pub(super) unsafe fn with_sum(columns: [&Column; 3], body: impl WithRows) {
    let [a, b, c] = columns.map(|column| Each(column.data.cast::<f64>()));
    let [has_a, has_b, has_c] = columns.map(|column| column.step != 0);
    // The same either way, but for which NaN comes out of two.
    let (a, b, has_a, has_b) = if has_b && !has_a { (b, a, true, false) } else { (a, b, has_a, has_b) };
    // SAFETY: the caller's promise.
    let one = |x: Each<f64>| One(unsafe { x.at(0) });
    match (has_a, has_b, has_c) {
        (true, true, true) => body.run(Sum(a, b, c)),
        (true, true, false) => body.run(Sum(a, b, one(c))),
        (true, false, true) => body.run(Sum(a, one(b), c)),
        (true, false, false) => body.run(Sum(a, one(b), one(c))),
        (false, _, true) => body.run(Sum(one(a), one(b), c)),
        (false, _, false) => body.run(Sum(one(a), one(b), one(c))),
    }
}
