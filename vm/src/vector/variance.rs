//! Variances: squares of the deviations from the mean, in two passes over values while they are cached.
//!
//! ```text
//! values     0 … 1,023 | 1,024 … 2,047 | …        each stretch: its mean, then squares of the deviations from it
//! joined     ((s0 + s1) + (s2 + s3)) + …          with the square of the difference of both means
//! ```
//!
//! Stretches, and the tree that they are joined by, depend on the number of values only. Up to 1,024 values are one
//! stretch, whose sums are those of [`spread`](super::spread), as numpy adds.
//!
//! Source: Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).

use crate::vector::level::{Level, Loop};
use crate::vector::spread::{InPairs, SummedFloat, in_pairs, sum_of_few};
use crate::vector::stop::StopCheck;
use std::marker::PhantomData;
use std::ops::Range;

/// Most values of a stretch: what two passes read from the cache next to the processor. Shorter stretches cost more for
/// the joining than they save.
const STRETCH: usize = 1024;

/// Most values of [runs](variance_of_runs) that follow each other.
pub const MOST_OF_RUN: usize = STRETCH;

/// Values between two questions whether to stop.
const PATIENCE: usize = 1 << 16;

/// The squares of the deviations from the mean, of what a function makes of each value, over the number of values less
/// the degrees of freedom used, or over 0 if there are not so many.
pub fn variance_by<A: Copy, T: SummedFloat>(
    values: &[A],
    used: i64,
    stop: StopCheck<'_>,
    f: impl Fn(A) -> T + Copy,
) -> T {
    moments(values, stop, Reals(f)).variance(used)
}

/// The same of integers, which are added without rounding.
pub fn variance_of_integers<A: Copy>(
    values: &[A],
    used: i64,
    stop: StopCheck<'_>,
    f: impl Fn(A) -> i64 + Copy,
) -> f64 {
    moments(values, stop, Integers(f)).variance(used)
}

/// What is known of some values.
#[derive(Clone, Copy)]
struct Moments {
    count: f64,
    sum: f64,
    /// The squares of the deviations from the mean.
    squares: f64,
}

impl Moments {
    /// The variance with so many degrees of freedom used.
    fn variance<T: SummedFloat>(self, used: i64) -> T {
        T::of(self.squares / (self.count as i64).saturating_sub(used).max(0) as f64)
    }

    /// What is known of neighbours.
    fn join(self, other: Moments) -> Moments {
        let difference = other.sum * self.count - self.sum * other.count;
        let count = self.count + other.count;
        let between = difference * difference / (self.count * other.count * count);
        Moments { count, sum: self.sum + other.sum, squares: self.squares + other.squares + between }
    }
}

fn moments<A: Copy, T: SummedFloat>(values: &[A], stop: StopCheck<'_>, kind: impl Kind<A, T>) -> Moments {
    let count = values.len();
    if count <= STRETCH || count > PATIENCE && stop() {
        let of_stretch = OfStretch { values: &values[..count.min(STRETCH)], kind, real: PhantomData };
        return Level::best().run(of_stretch);
    }
    let (left, right) = values.split_at(count.div_ceil(STRETCH) / 2 * STRETCH);
    moments(left, stop, kind).join(moments(right, stop, kind))
}

/// Columns that are looked at together: the sums of their leaves have a register each.
const TOGETHER: usize = 16;

/// A number for each of some columns.
type OfColumns<T> = [T; TOGETHER];

/// The variance of each of some runs, as [`variance_by`] has that of the run by itself: of each column of `run` rows of `width`
/// values, or of runs that follow each other if the width is 1.
///
/// # Panics
/// If runs have no values, or follow each other and have more than [`MOST_OF_RUN`].
pub fn variance_of_runs<A: Copy, T: SummedFloat>(
    values: &[A],
    shape: (usize, usize),
    used: i64,
    stop: StopCheck<'_>,
    f: impl Fn(A) -> T + Copy,
    out: impl FnMut(T),
) {
    of_runs(values, shape, used, stop, Reals(f), out);
}

/// The same as [`variance_of_integers`] has it.
///
/// # Panics
/// As [`variance_of_runs`].
pub fn variance_of_integer_runs<A: Copy>(
    values: &[A],
    shape: (usize, usize),
    used: i64,
    stop: StopCheck<'_>,
    f: impl Fn(A) -> i64 + Copy,
    out: impl FnMut(f64),
) {
    of_runs(values, shape, used, stop, Integers(f), out);
}

/// What values are.
trait Kind<A, T>: Copy {
    /// A value as a real.
    fn real(self, value: A) -> T;

    /// The sum of some values.
    fn sum(self, values: &[A]) -> T;

    /// The sums of columns of so many rows.
    fn sums(self, rows: Rows<'_, A>, count: usize) -> OfColumns<T>;
}

/// Reals, which are added in pairs.
#[derive(Clone, Copy)]
struct Reals<F>(F);

impl<A: Copy, T: SummedFloat, F: Fn(A) -> T + Copy> Kind<A, T> for Reals<F> {
    #[inline(always)]
    fn real(self, value: A) -> T {
        self.0(value)
    }

    #[inline(always)]
    fn sum(self, values: &[A]) -> T {
        sum_of_few(values, self.0)
    }

    #[inline(always)]
    fn sums(self, rows: Rows<'_, A>, count: usize) -> OfColumns<T> {
        in_pairs(count, &Summands { rows, f: |_, x| self.0(x) })
    }
}

/// Integers, which are added without rounding.
#[derive(Clone, Copy)]
struct Integers<F>(F);

impl<A: Copy, F: Fn(A) -> i64 + Copy> Kind<A, f64> for Integers<F> {
    #[inline(always)]
    fn real(self, value: A) -> f64 {
        self.0(value) as f64
    }

    #[inline(always)]
    fn sum(self, values: &[A]) -> f64 {
        total(values.iter().fold([0; 2], |sums, x| add_in_halves::<A>(sums, self.0(*x))))
    }

    #[inline(always)]
    fn sums(self, rows: Rows<'_, A>, count: usize) -> OfColumns<f64> {
        let mut sums = [[0; 2]; TOGETHER];
        for row in 0..count {
            sums = zip(sums, rows.row(row, 0, |_, x| self.0(x)), add_in_halves::<A>);
        }
        sums.map(total)
    }
}

/// Adds an integer, which was of this type, to a sum of upper and of lower halves: neither overflows with the values of a stretch.
/// Narrow ones need no halves.
#[inline(always)]
fn add_in_halves<A>([upper, lower]: [i64; 2], x: i64) -> [i64; 2] {
    match size_of::<A>() < size_of::<i64>() {
        true => [upper, lower + x],
        false => [upper + (x >> 32), lower + (x & i64::from(u32::MAX))],
    }
}

/// The sum of both halves, rounded once.
#[inline(always)]
fn total([upper, lower]: [i64; 2]) -> f64 {
    let sum = (i128::from(upper) << 32) + i128::from(lower);
    // Most sums have 64 bits, which are converted faster.
    i64::try_from(sum).map_or(sum as f64, |sum| sum as f64)
}

fn of_runs<A: Copy, T: SummedFloat>(
    values: &[A],
    (run, width): (usize, usize),
    used: i64,
    stop: StopCheck<'_>,
    kind: impl Kind<A, T>,
    mut out: impl FnMut(T),
) {
    if width == 1 {
        assert!(run <= MOST_OF_RUN, "runs of one stretch");
        return Level::best().run(OfRuns { values, run, used, kind, out, real: PhantomData });
    }
    for first in (0..width).step_by(TOGETHER) {
        let columns = Rows { values: &values[first..], width };
        let moments = moments_of_columns(columns, run, stop, kind);
        moments.iter().take(width - first).for_each(|of_column| out(of_column.variance(used)));
    }
}

fn moments_of_columns<A: Copy, T: SummedFloat>(
    rows: Rows<'_, A>,
    count: usize,
    stop: StopCheck<'_>,
    kind: impl Kind<A, T>,
) -> OfColumns<Moments> {
    if count <= STRETCH || count > PATIENCE / TOGETHER && stop() {
        return Level::best().run(ColumnsOfStretch {
            rows,
            count: count.min(STRETCH),
            kind,
            real: PhantomData,
        });
    }
    let half = count.div_ceil(STRETCH) / 2 * STRETCH;
    let below = Rows { values: &rows.values[half * rows.width..], ..rows };
    let above = moments_of_columns(rows, half, stop, kind);
    zip(above, moments_of_columns(below, count - half, stop, kind), Moments::join)
}

#[inline(always)]
fn zip<X: Copy, Y: Copy, Z>(x: OfColumns<X>, y: OfColumns<Y>, f: impl Fn(X, Y) -> Z) -> OfColumns<Z> {
    std::array::from_fn(|column| f(x[column], y[column]))
}

/// Rows of values, from the first column of interest on.
#[derive(Clone, Copy)]
struct Rows<'v, A> {
    values: &'v [A],
    width: usize,
}

impl<A: Copy> Rows<'_, A> {
    /// What a function of the column makes of the first values of a row; of columns that are not there, anything.
    #[inline(always)]
    fn row<T: Copy>(&self, row: usize, none: T, f: impl Fn(usize, A) -> T) -> OfColumns<T> {
        let values = &self.values[row * self.width..];
        match values.first_chunk::<TOGETHER>() {
            Some(values) => std::array::from_fn(|column| f(column, values[column])),
            None => std::array::from_fn(|column| values.get(column).map_or(none, |x| f(column, *x))),
        }
    }
}

/// What a function of the column makes of the values, which is added as [`sum_of_few`] adds those of each column.
struct Summands<'v, A, F> {
    rows: Rows<'v, A>,
    f: F,
}

/// Running sums of a leaf.
const SUMS: usize = 8;

impl<A: Copy, T: SummedFloat, F: Fn(usize, A) -> T> InPairs for Summands<'_, A, F> {
    type Sum = OfColumns<T>;

    #[inline(always)]
    fn leaf(&self, range: Range<usize>) -> OfColumns<T> {
        let rest = range.end - range.len() % SUMS;
        let mut sum = [T::ZERO; TOGETHER];
        if rest > range.start {
            let mut sums: [OfColumns<T>; SUMS] = [sum; SUMS];
            for (number, sum) in sums.iter_mut().enumerate() {
                *sum = self.rows.row(range.start + number, T::ZERO, &self.f);
            }
            for first in (range.start + SUMS..rest).step_by(SUMS) {
                for (number, sum) in sums.iter_mut().enumerate() {
                    *sum = Self::add(*sum, self.rows.row(first + number, T::ZERO, &self.f));
                }
            }
            let [s0, s1, s2, s3, s4, s5, s6, s7] = sums;
            let low = Self::add(Self::add(s0, s1), Self::add(s2, s3));
            sum = Self::add(low, Self::add(Self::add(s4, s5), Self::add(s6, s7)));
        }
        for row in rest..range.end {
            sum = Self::add(sum, self.rows.row(row, T::ZERO, &self.f));
        }
        sum
    }

    #[inline(always)]
    fn add(left: OfColumns<T>, right: OfColumns<T>) -> OfColumns<T> {
        zip(left, right, |x, y| x + y)
    }
}

struct ColumnsOfStretch<'v, A, T, K> {
    rows: Rows<'v, A>,
    count: usize,
    kind: K,
    real: PhantomData<T>,
}

impl<A: Copy, T: SummedFloat, K: Kind<A, T>> Loop for ColumnsOfStretch<'_, A, T, K> {
    type Output = OfColumns<Moments>;

    #[inline(always)]
    fn run(self) -> OfColumns<Moments> {
        let ColumnsOfStretch { rows, count, kind, .. } = self;
        let sums = kind.sums(rows, count).map(|sum| T::ZERO + sum);
        let means = sums.map(|sum| sum / T::of(count as f64));
        let f = |column: usize, x: A| {
            let deviation = kind.real(x) - means[column];
            deviation * deviation
        };
        let (squares, count) = (in_pairs(count, &Summands { rows, f }), count as f64);
        zip(sums, squares, |sum, squares| Moments { count, sum: sum.wide(), squares: squares.wide() })
    }
}

struct OfStretch<'v, A, T, K> {
    values: &'v [A],
    kind: K,
    real: PhantomData<T>,
}

impl<A: Copy, T: SummedFloat, K: Kind<A, T>> Loop for OfStretch<'_, A, T, K> {
    type Output = Moments;

    #[inline(always)]
    fn run(self) -> Moments {
        let OfStretch { values, kind, .. } = self;
        let sum = T::ZERO + kind.sum(values);
        let mean = sum / T::of(values.len() as f64);
        let squares = sum_of_few(values, |x| {
            let deviation = kind.real(x) - mean;
            deviation * deviation
        });
        Moments { count: values.len() as f64, sum: sum.wide(), squares: squares.wide() }
    }
}

/// Runs that follow each other.
struct OfRuns<'v, A, T, K, G> {
    values: &'v [A],
    run: usize,
    used: i64,
    kind: K,
    out: G,
    real: PhantomData<T>,
}

impl<A: Copy, T: SummedFloat, K: Kind<A, T>, G: FnMut(T)> OfRuns<'_, A, T, K, G> {
    #[inline(always)]
    fn take(&mut self, values: &[A]) {
        let of_stretch = OfStretch { values, kind: self.kind, real: PhantomData };
        (self.out)(of_stretch.run().variance(self.used));
    }

    /// A number that is known makes a loop over vectors.
    #[inline(always)]
    fn of_size<const SIZE: usize>(mut self) {
        self.values.as_chunks::<SIZE>().0.iter().for_each(|values| self.take(values));
    }
}

impl<A: Copy, T: SummedFloat, K: Kind<A, T>, G: FnMut(T)> Loop for OfRuns<'_, A, T, K, G> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        match self.run {
            3 => self.of_size::<3>(),
            4 => self.of_size::<4>(),
            5 => self.of_size::<5>(),
            6 => self.of_size::<6>(),
            8 => self.of_size::<8>(),
            10 => self.of_size::<10>(),
            12 => self.of_size::<12>(),
            16 => self.of_size::<16>(),
            _ => self.values.chunks_exact(self.run).for_each(|values| self.take(values)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go_on() -> bool {
        false
    }

    fn var(values: &[f64]) -> f64 {
        variance_by(values, 0, &go_on, |x| x)
    }

    #[test]
    fn published_values() {
        assert_eq!(variance_by(&[1.0, 2.0, 4.0], 1, &go_on, |x: f64| x), 2.333_333_333_333_333);
        assert!(var(&[]).is_nan() && var(&[1.0, f64::INFINITY]).is_nan());
        assert!(variance_by(&[1.0], 1, &go_on, |x: f64| x).is_nan());
    }

    /// Beside each run gathered and by itself: columns, and six runs that follow each other.
    #[test]
    fn runs_have_the_bits_of_each_by_itself() {
        let columns = [(1, 3), (7, 16), (8, 17), (130, 5), (1023, 33), (1025, 2), (5000, 18)];
        let followers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 17, 130, 1024].map(|run| (run, 1));
        for (run, width) in columns.into_iter().chain(followers) {
            let count = if width == 1 { 6 } else { width };
            let values: Vec<f64> = (0..run * count).map(|i| (i * 7919 % 1001) as f64 * 0.37 - 20.0).collect();
            let singles: Vec<f32> = values.iter().map(|x| *x as f32).collect();
            let integers: Vec<i64> = values.iter().map(|x| *x as i64).collect();
            let (mut of_values, mut of_singles, mut of_integers) = (Vec::new(), Vec::new(), Vec::new());
            let shape = (run, width);
            variance_of_runs(&values, shape, 1, &go_on, |x| x, |var| of_values.push(var.to_bits()));
            variance_of_runs(&singles, shape, 0, &go_on, |x| x, |var| of_singles.push(var.to_bits()));
            let of_integer = |var: f64| of_integers.push(var.to_bits());
            variance_of_integer_runs(&integers, shape, 0, &go_on, |x| x, of_integer);
            for number in 0..count {
                let of = |row: usize| if width == 1 { number * run + row } else { number + row * width };
                let gathered: Vec<f64> = (0..run).map(|row| values[of(row)]).collect();
                let expected: f64 = variance_by(&gathered, 1, &go_on, |x| x);
                assert!(of_values[number] == expected.to_bits() || expected.is_nan(), "{run} by {width}");
                let gathered: Vec<f32> = (0..run).map(|row| singles[of(row)]).collect();
                let expected: f32 = variance_by(&gathered, 0, &go_on, |x| x);
                assert_eq!(of_singles[number], expected.to_bits(), "{run} by {width}");
                let gathered: Vec<i64> = (0..run).map(|row| integers[of(row)]).collect();
                let expected = variance_of_integers(&gathered, 0, &go_on, |x| x);
                assert_eq!(of_integers[number], expected.to_bits(), "{run} by {width}");
            }
            assert_eq!(of_values.len(), count);
        }
    }

    #[test]
    fn integers_are_added_without_rounding() {
        let values = [i64::MAX / 4, i64::MAX / 4 - 1, i64::MAX / 4 - 2];
        assert_eq!(variance_of_integers(&values, 0, &go_on, |x| x), 0.0);
        assert_eq!(variance_of_integers(&[true, false, true, true], 0, &go_on, i64::from), 0.1875);
    }

    /// Whose sum has more than 64 bits: equal ones, and both ends; of runs that follow each other, and side by side.
    #[test]
    fn great_integers() {
        for of in [[i64::MAX; 2], [i64::MIN; 2], [i64::MIN, i64::MAX]] {
            let deviation = if of[0] == of[1] { 0.0 } else { 2f64.powi(63) };
            for count in [2, 6, 10, 16, 100, 1024, 5000] {
                let values: Vec<i64> = of.iter().copied().cycle().take(count).collect();
                let expected = deviation * deviation;
                assert_eq!(variance_of_integers(&values, 0, &go_on, |x| x), expected, "{count} of {of:?}");
                let of_columns: Vec<i64> = values.iter().flat_map(|x| [*x; 3]).collect();
                variance_of_integer_runs(
                    &of_columns,
                    (count, 3),
                    0,
                    &go_on,
                    |x| x,
                    |of_column| {
                        assert_eq!(of_column, expected, "{count} of {of:?} in columns");
                    },
                );
                if count <= MOST_OF_RUN {
                    let runs = [&values[..], &values].concat();
                    variance_of_integer_runs(
                        &runs,
                        (count, 1),
                        0,
                        &go_on,
                        |x| x,
                        |of_run| {
                            assert_eq!(of_run, expected, "{count} of {of:?} in runs");
                        },
                    );
                }
            }
        }
    }

    /// Beside exact sums of whole numbers.
    #[test]
    fn long_ones_are_those_of_all_values() {
        for count in [1023usize, 1024, 1025, 2048, 5000, 100_000, 262_144] {
            for shift in [0.0, 1e6, 1e9] {
                let number = |i: usize| (i * 7919 % 1001) as i64;
                let values: Vec<f64> = (0..count).map(|i| number(i) as f64 + shift).collect();
                let sum: i128 = (0..count).map(|i| i128::from(number(i))).sum();
                let squares: i128 = (0..count).map(|i| i128::from(number(i)).pow(2)).sum();
                let n = count as i128;
                let exact = (squares * n - sum * sum) as f64 / (n * n) as f64;
                let error = (var(&values) / exact - 1.0).abs();
                assert!(error < 4e-14, "{count} values at {shift}: {error:e}");
            }
        }
    }

    #[test]
    fn single_precision_keeps_what_it_has() {
        let values: Vec<f32> = (0..1_000_000u64).map(|i| (i * 7919 % 1001) as f32 + 1000.0).collect();
        let single = variance_by(&values, 0, &go_on, |x| x);
        let double = variance_by(&values, 0, &go_on, f64::from);
        assert!((f64::from(single) / double - 1.0).abs() < 1e-6, "{single} and {double}");
    }
}
