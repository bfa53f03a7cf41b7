//! Polynomials by Horner's rule, and quotients of sums with a product: longer chains of arithmetic on FLOAT64 in one
//! pass over rows.
//!
//! ```text
//! ((a x + c0) x - c1) x       of the operands a, x, c0, c1      one load of x, one store; five operations in registers
//! w / (a b + c)               of the operands a, b, c, w
//! ```
//!
//! Each row goes through all operations one after the other, each rounded by itself: the bits are those of the
//! operators.

use crate::operator::block::{BlockRun, Column, MAX_STEP_OPERANDS, Operands, RowFault, Target};
use crate::operator::row_numbers::{And, Rows, WithBoth, with_column, with_sum};
use crate::vector::Level;
use crate::vector::level::Loop;

/// Most constants of a polynomial: beside them stand a and x.
pub const MAX_CONSTANTS: usize = MAX_STEP_OPERANDS - 2;

/// The code of a polynomial.
#[derive(Clone, Copy, Debug)]
pub struct Polynomial {
    run: Run,
    /// By constant: true if it is subtracted.
    is_subtracted: [bool; MAX_CONSTANTS],
}

/// # Safety
/// The contract of [`Polynomial::run`].
type Run = unsafe fn(&[bool; MAX_CONSTANTS], Operands<'_>, Target, usize);

impl Polynomial {
    /// The code that begins with a, multiplies by x and adds or subtracts each constant in turn, and multiplies by x
    /// once more if it ends with x. `None` if that is less than three operations, or more than with all constants.
    pub fn new(subtracted: &[bool], ends_with_x: bool) -> Option<Polynomial> {
        const { assert!(MAX_CONSTANTS == 6, "there is code for each number of constants") }
        let run: Run = match (subtracted.len(), ends_with_x) {
            (1, true) => run::<1, true>,
            (2, false) => run::<2, false>,
            (2, true) => run::<2, true>,
            (3, false) => run::<3, false>,
            (3, true) => run::<3, true>,
            (4, false) => run::<4, false>,
            (4, true) => run::<4, true>,
            (5, false) => run::<5, false>,
            (5, true) => run::<5, true>,
            (MAX_CONSTANTS, false) => run::<MAX_CONSTANTS, false>,
            _ => return None,
        };
        let mut is_subtracted = [false; MAX_CONSTANTS];
        is_subtracted[..subtracted.len()].copy_from_slice(subtracted);
        Some(Polynomial { run, is_subtracted })
    }

    /// Computes rows.
    ///
    /// # Safety
    /// The contract of [`BlockRun`], for columns of FLOAT64: a, x and the constants, of which each is one value for all
    /// rows.
    pub unsafe fn run(&self, args: Operands<'_>, target: Target, rows: usize) {
        // SAFETY: the caller's promise.
        unsafe { (self.run)(&self.is_subtracted, args, target, rows) }
    }
}

/// # Safety
/// The contract of [`Polynomial::run`].
unsafe fn run<const N: usize, const ENDS_WITH_X: bool>(
    is_subtracted: &[bool; MAX_CONSTANTS],
    args: Operands<'_>,
    target: Target,
    rows: usize,
) {
    if rows == 0 {
        return;
    }
    let constants = std::array::from_fn(|index| {
        // SAFETY: the caller's promise; there is a row.
        let constant = unsafe { args.column(2 + index).data.cast::<f64>().read() };
        // The difference of two is the sum with the opposite.
        if is_subtracted[index] { -constant } else { constant }
    });
    // SAFETY: the caller's promise.
    let columns = [0, 1].map(|index| unsafe { args.column(index) });
    Level::best().run(Horner::<N, ENDS_WITH_X> { columns, constants, out: target.data.cast(), rows });
}

struct Horner<'c, const N: usize, const ENDS_WITH_X: bool> {
    columns: [&'c Column; 2],
    constants: [f64; N],
    out: *mut f64,
    rows: usize,
}

impl<const N: usize, const ENDS_WITH_X: bool> Loop for Horner<'_, N, ENDS_WITH_X> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [a, x] = self.columns;
        // SAFETY: who made this promised columns of FLOAT64 with a row.
        unsafe { with_column(a, And::new(x, self)) }
    }
}

impl<const N: usize, const ENDS_WITH_X: bool> WithBoth for Horner<'_, N, ENDS_WITH_X> {
    #[inline(always)]
    fn run(self, a: impl Rows<Number = f64>, x: impl Rows<Number = f64>) {
        for row in 0..self.rows {
            // SAFETY: who made this promised so many rows.
            unsafe {
                let x = x.at(row);
                let sum = self.constants.iter().fold(a.at(row), |sum, constant| sum * x + constant);
                self.out.add(row).write(if ENDS_WITH_X { sum * x } else { sum });
            }
        }
    }
}

/// The code of `(a * b + c) / w`, or with `inverted` of `w / (a * b + c)`, of the operands a, b, c and w.
pub fn quotient_of_sum(inverted: bool) -> BlockRun {
    if inverted { quotient::<true> } else { quotient::<false> }
}

/// # Safety
/// The contract of [`BlockRun`], for columns and a target of FLOAT64.
unsafe fn quotient<const INVERTED: bool>(
    args: Operands<'_>,
    target: Target,
    rows: usize,
) -> Result<(), Box<RowFault>> {
    if rows > 0 {
        // SAFETY: the caller's promise.
        let columns = [0, 1, 2, 3].map(|index| unsafe { args.column(index) });
        Level::best().run(Quotient::<INVERTED> { columns, out: target.data.cast(), rows });
    }
    Ok(())
}

struct Quotient<'c, const INVERTED: bool> {
    columns: [&'c Column; 4],
    out: *mut f64,
    rows: usize,
}

impl<const INVERTED: bool> Loop for Quotient<'_, INVERTED> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [a, b, c, w] = self.columns;
        // SAFETY: who made this promised columns of FLOAT64 with a row.
        unsafe { with_sum([a, b, c], And::new(w, self)) }
    }
}

impl<const INVERTED: bool> WithBoth for Quotient<'_, INVERTED> {
    #[inline(always)]
    fn run(self, sum: impl Rows<Number = f64>, w: impl Rows<Number = f64>) {
        for row in 0..self.rows {
            // SAFETY: who made this promised so many rows.
            unsafe {
                let (sum, w) = (sum.at(row), w.at(row));
                self.out.add(row).write(if INVERTED { w / sum } else { sum / w });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::block::IN_ORDER;

    /// Rows of columns of which some are one value, beside those that `expected` says of the operands.
    fn check(
        run: impl Fn(Operands<'_>, Target, usize),
        has_rows: &[bool],
        expected: impl Fn([f64; MAX_STEP_OPERANDS]) -> f64,
    ) {
        let values: Vec<f64> = (0..90).map(|i| (f64::from(i * 37 % 101) - 50.0) * 0.37).collect();
        let one_for_all = |index: usize| has_rows.get(index) != Some(&true);
        let columns: [Column; MAX_STEP_OPERANDS] = std::array::from_fn(|index| {
            let step = if one_for_all(index) { 0 } else { 8 };
            Column::of_cells(values[index * 5..].as_ptr().cast(), step)
        });
        for rows in [0, 1, 7, 8, 9, 17, 40] {
            let args = Operands { columns: columns.as_ptr(), positions: &IN_ORDER };
            let mut out = vec![0.0f64; rows];
            run(args, Target { data: out.as_mut_ptr().cast(), presence: std::ptr::null_mut() }, rows);
            for (row, result) in out.iter().enumerate() {
                let at = |index: usize| values[index * 5 + if one_for_all(index) { 0 } else { row }];
                let expected = expected(std::array::from_fn(at));
                assert_eq!(result.to_bits(), expected.to_bits(), "{has_rows:?}, row {row}");
            }
        }
    }

    #[test]
    fn polynomials_give_the_bits_of_their_operations() {
        for (constants, ends_with_x) in (0..=7).flat_map(|count| [(count, false), (count, true)]) {
            let subtracted: Vec<bool> = (0..constants).map(|index| index % 3 == 1).collect();
            let Some(polynomial) = Polynomial::new(&subtracted, ends_with_x) else {
                let operations = 2 * constants + usize::from(ends_with_x);
                assert!(!(3..=2 * MAX_CONSTANTS).contains(&operations));
                continue;
            };
            for has_rows in [[true, true], [true, false], [false, true]] {
                let expected = |of: [f64; MAX_STEP_OPERANDS]| {
                    let [a, x] = [of[0], of[1]];
                    let sum = of[2..].iter().zip(&subtracted).fold(a, |sum, (constant, subtracted)| {
                        if *subtracted { sum * x - constant } else { sum * x + constant }
                    });
                    if ends_with_x { sum * x } else { sum }
                };
                // SAFETY: every column has these rows behind its first one; the target has room for them.
                check(
                    |args, target, rows| unsafe { polynomial.run(args, target, rows) },
                    &has_rows,
                    expected,
                );
            }
        }
    }

    #[test]
    fn quotients_give_the_bits_of_their_operations() {
        for (inverted, ones) in
            [false, true].into_iter().flat_map(|inverted| (0..15).map(move |o| (inverted, o)))
        {
            let has_rows = [0, 1, 2, 3].map(|index| ones >> index & 1 == 0);
            let expected = |[a, b, c, w, ..]: [f64; MAX_STEP_OPERANDS]| {
                let sum = a * b + c;
                if inverted { w / sum } else { sum / w }
            };
            let run = quotient_of_sum(inverted);
            // SAFETY: as above.
            let run =
                |args: Operands<'_>, target, rows| unsafe { run(args, target, rows) }.expect("no fault");
            check(run, &has_rows, expected);
        }
    }
}
