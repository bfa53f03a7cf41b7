//! Reductions: one value of many, by the published rules for missing values, NaN and overflow.
//!
//! The values are taken in their order. FLOAT32 is accumulated in double and rounded once; integers wrap.
//! `None` stands for what an empty group has no value for.

use crate::vector::math::double;

/// A number that can be reduced.
pub trait Number: Copy + PartialOrd {
    /// The neutral element of the product.
    const ONE: Self;

    /// The sum of the values.
    fn sum(values: &[Self]) -> Self;

    /// The sum of two values.
    fn plus(self, other: Self) -> Self;

    /// The product of two values.
    fn times(self, other: Self) -> Self;

    /// True for NaN.
    fn is_nan(self) -> bool;
}

macro_rules! integer {
    ($($int:ty),*) => {$(
        impl Number for $int {
            const ONE: Self = 1;

            fn sum(values: &[Self]) -> Self {
                values.iter().fold(0, |sum: Self, x| sum.wrapping_add(*x))
            }

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            fn is_nan(self) -> bool {
                false
            }
        }
    )*};
}

integer!(i32, i64);

impl Number for f64 {
    const ONE: Self = 1.0;

    fn sum(values: &[Self]) -> Self {
        values.iter().fold(0.0, |sum, x| sum + x)
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn times(self, other: Self) -> Self {
        self * other
    }

    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }
}

impl Number for f32 {
    const ONE: Self = 1.0;

    fn sum(values: &[Self]) -> Self {
        total(values) as f32
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn times(self, other: Self) -> Self {
        self * other
    }

    fn is_nan(self) -> bool {
        f32::is_nan(self)
    }
}

/// A float whose moments are computed in double.
pub trait Real: Number + Into<f64> {
    /// Rounds a result.
    fn round(value: f64) -> Self;
}

impl Real for f64 {
    fn round(value: f64) -> Self {
        value
    }
}

impl Real for f32 {
    fn round(value: f64) -> Self {
        value as f32
    }
}

fn total<T: Real>(values: &[T]) -> f64 {
    values.iter().fold(0.0, |sum, x| sum + (*x).into())
}

/// The product.
pub fn prod<T: Number>(values: &[T]) -> Option<T> {
    values.iter().copied().reduce(T::times)
}

/// The arithmetic mean.
pub fn mean<T: Real>(values: &[T]) -> Option<T> {
    exact_mean(values).map(T::round)
}

fn exact_mean<T: Real>(values: &[T]) -> Option<f64> {
    (!values.is_empty()).then(|| total(values) / values.len() as f64)
}

/// Sums of powers of the deviations from the mean: of the squares, and of what `power` makes of each.
fn deviations<T: Real>(values: &[T], power: impl Fn(f64) -> f64) -> Option<(f64, f64)> {
    let mean = exact_mean(values)?;
    let deviations = values.iter().map(|x| (*x).into() - mean);
    Some(deviations.fold((0.0, 0.0), |(squares, powers), d| (squares + d * d, powers + power(d))))
}

/// The variance: squares of the deviations from the mean over the number of values, less one if it is to
/// be unbiased; of a single value there is no unbiased variance.
pub fn var<T: Real>(values: &[T], unbiased: bool) -> Option<T> {
    exact_var(values, unbiased).map(T::round)
}

fn exact_var<T: Real>(values: &[T], unbiased: bool) -> Option<f64> {
    let (squares, _) = deviations(values, |d| d)?;
    match values.len() - usize::from(unbiased) {
        0 => None,
        count => Some(squares / count as f64),
    }
}

/// The square root of the variance.
pub fn std<T: Real>(values: &[T], unbiased: bool) -> Option<T> {
    exact_var(values, unbiased).map(|var| T::round(var.sqrt()))
}

/// The third standardised moment.
pub fn skew<T: Real>(values: &[T]) -> Option<T> {
    let (squares, cubes) = deviations(values, |d| d * d * d)?;
    Some(T::round((values.len() as f64).sqrt() * cubes / double::pow(squares, 1.5)))
}

/// The fourth standardised moment, less 3.
pub fn kurtosis<T: Real>(values: &[T]) -> Option<T> {
    let (squares, fourth) = deviations(values, |d| (d * d) * (d * d))?;
    Some(T::round(values.len() as f64 * fourth / (squares * squares) - 3.0))
}

/// Position of the first value that is the best, or of the first NaN.
fn best<T: Number>(values: &[T], better: impl Fn(T, T) -> bool) -> Option<usize> {
    let first = (!values.is_empty()).then_some(0);
    (1..values.len()).fold(first, |best, at| {
        let known = values[best?];
        let replaces = !known.is_nan() && (values[at].is_nan() || better(values[at], known));
        if replaces { Some(at) } else { best }
    })
}

/// Position of the first maximum; NaN is above all.
pub fn argmax<T: Number>(values: &[T]) -> Option<usize> {
    best(values, |a, b| a > b)
}

/// Position of the first minimum; NaN is below all.
pub fn argmin<T: Number>(values: &[T]) -> Option<usize> {
    best(values, |a, b| a < b)
}

/// The maximum; NaN if there is one.
pub fn max<T: Number>(values: &[T]) -> Option<T> {
    argmax(values).map(|at| values[at])
}

/// The minimum; NaN if there is one.
pub fn min<T: Number>(values: &[T]) -> Option<T> {
    argmin(values).map(|at| values[at])
}

/// The value in the middle, of an even number the lower one; NaN if there is one. Reorders the values.
pub fn median<T: Number>(values: &mut [T]) -> Option<T> {
    if let Some(nan) = values.iter().find(|x| x.is_nan()) {
        return Some(*nan);
    }
    let middle = values.len().checked_sub(1)? / 2;
    let order = |a: &T, b: &T| a.partial_cmp(b).expect("no value is NaN");
    Some(*values.select_nth_unstable_by(middle, order).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        assert_eq!(f32::sum(&[16_777_216.0, 1.0, 1.0]), 16_777_218.0);
        assert_eq!(i32::sum(&[i32::MAX, 1]), i32::MIN);
        assert_eq!((f64::sum(&[]), prod::<f64>(&[]), mean::<f64>(&[])), (0.0, None, None));
        assert_eq!(var(&[3.32, 0.502], false), Some(1.985_280_999_999_999_6));
        assert_eq!((var(&[1.0], true), var(&[1.0], false)), (None, Some(0.0)));
        assert_eq!(median(&mut [100, i32::MIN, 1, i32::MIN]), Some(i32::MIN));
        assert_eq!((argmax(&[1, 3, 3]), argmin(&[1, 3, 1])), (Some(1), Some(0)));
        assert_eq!(argmax(&[1.0, f64::NAN, f64::NAN]), Some(1));
        assert!(max(&[1.0, f64::NAN, 2.0]).is_some_and(f64::is_nan));
        assert!(median(&mut [1.0, f64::NAN]).is_some_and(f64::is_nan));
        assert!(skew(&[6.827]).is_some_and(f64::is_nan));
        assert_eq!(kurtosis(&[7.038, 7.279]), Some(-2.0));
    }
}
