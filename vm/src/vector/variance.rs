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
use crate::vector::spread::{SummedFloat, sum_of_few};
use crate::vector::stop::StopCheck;

/// Most values of a stretch: what two passes read from the cache next to the processor. Shorter stretches cost more for
/// the joining than they save.
const STRETCH: usize = 1024;

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
    variance(values, used, stop, f, move |values| sum_of_few(values, f))
}

/// The same of integers, which are added without rounding.
pub fn variance_of_integers<A: Copy>(
    values: &[A],
    used: i64,
    stop: StopCheck<'_>,
    f: impl Fn(A) -> i64 + Copy,
) -> f64 {
    let sum = move |values: &[A]| values.iter().fold(0i64, |sum, x| sum.wrapping_add(f(*x))) as f64;
    variance(values, used, stop, move |x| f(x) as f64, sum)
}

fn variance<A: Copy, T: SummedFloat>(
    values: &[A],
    used: i64,
    stop: StopCheck<'_>,
    f: impl Fn(A) -> T + Copy,
    sum: impl Fn(&[A]) -> T + Copy,
) -> T {
    let count = (values.len() as i64).saturating_sub(used).max(0) as f64;
    T::of(moments(values, stop, f, sum).squares / count)
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
    /// What is known of neighbours.
    fn join(self, other: Moments) -> Moments {
        let difference = other.sum * self.count - self.sum * other.count;
        let count = self.count + other.count;
        let between = difference * difference / (self.count * other.count * count);
        Moments { count, sum: self.sum + other.sum, squares: self.squares + other.squares + between }
    }
}

fn moments<A: Copy, T: SummedFloat>(
    values: &[A],
    stop: StopCheck<'_>,
    f: impl Fn(A) -> T + Copy,
    sum: impl Fn(&[A]) -> T + Copy,
) -> Moments {
    let count = values.len();
    if count <= STRETCH || count > PATIENCE && stop() {
        return Level::best().run(OfStretch { values: &values[..count.min(STRETCH)], f, sum });
    }
    let (left, right) = values.split_at(count.div_ceil(STRETCH) / 2 * STRETCH);
    moments(left, stop, f, sum).join(moments(right, stop, f, sum))
}

struct OfStretch<'v, A, F, S> {
    values: &'v [A],
    f: F,
    sum: S,
}

impl<A: Copy, T: SummedFloat, F: Fn(A) -> T + Copy, S: Fn(&[A]) -> T> Loop for OfStretch<'_, A, F, S> {
    type Output = Moments;

    #[inline(always)]
    fn run(self) -> Moments {
        let OfStretch { values, f, sum } = self;
        let sum = T::ZERO + sum(values);
        let mean = sum / T::of(values.len() as f64);
        let squares = sum_of_few(values, |x| {
            let deviation = f(x) - mean;
            deviation * deviation
        });
        Moments { count: values.len() as f64, sum: sum.wide(), squares: squares.wide() }
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

    #[test]
    fn integers_are_added_without_rounding() {
        let values = [i64::MAX / 4, i64::MAX / 4 - 1, i64::MAX / 4 - 2];
        assert_eq!(variance_of_integers(&values, 0, &go_on, |x| x), 0.0);
        assert_eq!(variance_of_integers(&[true, false, true, true], 0, &go_on, i64::from), 0.1875);
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
