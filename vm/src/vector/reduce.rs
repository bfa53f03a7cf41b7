//! Reductions: one value of many, by the published rules for missing values, NaN and overflow.
//!
//! The values are taken in their order. FLOAT32 is accumulated in double and rounded once; integers wrap.
//! `None` stands for what an empty group has no value for.

use crate::vector::level::{Level, Loop};
use crate::vector::math::double;
use crate::vector::select::{self, Key};
use crate::vector::spread::SummedFloat;
use crate::vector::stop::StopCheck;
use crate::vector::variance::variance_by;
use bytemuck::Pod;
use std::ops::Mul;

/// Values between two questions whether to stop.
const STRETCH: usize = 1 << 16;

/// Folds the values in their order, unless it is to stop.
fn fold<T: Copy, A>(values: &[T], stop: StopCheck<'_>, first: A, mut next: impl FnMut(A, T) -> A) -> A {
    let mut known = first;
    for stretch in values.chunks(STRETCH) {
        known = stretch.iter().fold(known, |known, x| next(known, *x));
        if stretch.len() == STRETCH && stop() {
            break;
        }
    }
    known
}

/// A number that can be reduced.
pub trait Reducible: Key + Pod + PartialOrd {
    /// What products are kept in: of FLOAT32 a double, which is rounded once.
    type Product: Copy;

    /// The value as a product.
    fn product(self) -> Self::Product;

    /// A product with one more value; of integers it wraps.
    fn times(product: Self::Product, value: Self) -> Self::Product;

    /// The product as a value.
    fn of_product(product: Self::Product) -> Self;
}

macro_rules! reducible {
    ($($rust:ty as $product:ty: $times:path;)*) => {$(
        impl Reducible for $rust {
            type Product = $product;

            fn product(self) -> $product {
                self as $product
            }

            fn times(product: $product, value: $rust) -> $product {
                $times(product, value as $product)
            }

            fn of_product(product: $product) -> $rust {
                product as $rust
            }
        }
    )*};
}

reducible!(i32 as i32: i32::wrapping_mul; i64 as i64: i64::wrapping_mul; f32 as f64: Mul::mul; f64 as f64: Mul::mul;);

/// The product.
pub fn prod<T: Reducible>(values: &[T], stop: StopCheck<'_>) -> Option<T> {
    let (first, rest) = values.split_first()?;
    Some(T::of_product(fold(rest, stop, first.product(), T::times)))
}

/// Sums of powers of the deviations from the mean: of the squares, and of what `power` makes of each.
fn deviations<T: SummedFloat>(
    values: &[T],
    stop: StopCheck<'_>,
    power: impl Fn(f64) -> f64,
) -> Option<(f64, f64)> {
    let total = fold(values, stop, 0.0, |sum, x| sum + x.wide());
    let mean = (!values.is_empty()).then(|| total / values.len() as f64)?;
    Some(fold(values, stop, (0.0, 0.0), |(squares, powers), x| {
        let d = x.wide() - mean;
        (squares + d * d, powers + power(d))
    }))
}

/// The variance: squares of the deviations from the mean over the number of values, less one if it is to
/// be unbiased; of a single value there is no unbiased variance.
pub fn var<T: SummedFloat>(values: &[T], unbiased: bool, stop: StopCheck<'_>) -> Option<T> {
    exact_var(values, unbiased, stop).map(T::of)
}

fn exact_var<T: SummedFloat>(values: &[T], unbiased: bool, stop: StopCheck<'_>) -> Option<f64> {
    let used = usize::from(unbiased);
    (values.len() > used).then(|| variance_by(values, used as i64, stop, T::wide))
}

/// The square root of the variance.
pub fn std<T: SummedFloat>(values: &[T], unbiased: bool, stop: StopCheck<'_>) -> Option<T> {
    exact_var(values, unbiased, stop).map(|var| T::of(var.sqrt()))
}

/// The third standardised moment.
pub fn skew<T: SummedFloat>(values: &[T], stop: StopCheck<'_>) -> Option<T> {
    let (squares, cubes) = deviations(values, stop, |d| d * d * d)?;
    Some(T::of((values.len() as f64).sqrt() * cubes / double::pow(squares, 1.5)))
}

/// The fourth standardised moment, less 3.
pub fn kurtosis<T: SummedFloat>(values: &[T], stop: StopCheck<'_>) -> Option<T> {
    let (squares, fourth) = deviations(values, stop, |d| (d * d) * (d * d))?;
    Some(T::of(values.len() as f64 * fourth / (squares * squares) - 3.0))
}

/// Values that are looked at together for one that is better than the best so far.
const TOGETHER: usize = 64;

/// How often [`TOGETHER`] values follow each other of which none is better than the best so far.
struct NoneBetter<'v, T, F> {
    values: &'v [T],
    known: T,
    not_better: F,
}

impl<T: Reducible, F: Fn(T, T) -> bool> Loop for NoneBetter<'_, T, F> {
    type Output = usize;
    const GAINS_BY_WIDTH: bool = false;

    #[inline(always)]
    fn run(self) -> usize {
        let NoneBetter { values, known, not_better } = self;
        // Without a way out of the inner loop, it is one over vectors; NaN is not worse than anything.
        let are_worse = |together: &&[T]| together.iter().fold(true, |all, x| all & not_better(*x, known));
        values.chunks(TOGETHER).take_while(are_worse).count()
    }
}

/// Position of the first value that is the best, or of the first NaN: a value is no better than one that it is `not_better` than.
fn best<T: Reducible>(
    values: &[T],
    stop: StopCheck<'_>,
    not_better: impl Fn(T, T) -> bool + Copy,
) -> Option<usize> {
    let (mut place, mut known) = (0, *values.first()?);
    for (number, stretch) in values.chunks(STRETCH).enumerate() {
        if stop() {
            break;
        }
        let mut from = 0;
        while !known.is_nan() && from < stretch.len() {
            if stretch.len() - from > TOGETHER {
                let values = &stretch[from..];
                from += TOGETHER * Level::best().run(NoneBetter { values, known, not_better });
            }
            for (at, x) in stretch.iter().enumerate().skip(from).take(TOGETHER) {
                if !known.is_nan() && !not_better(*x, known) {
                    (place, known) = (number * STRETCH + at, *x);
                }
            }
            from += TOGETHER;
        }
    }
    Some(place)
}

/// Position of the first maximum; NaN is above all.
pub fn argmax<T: Reducible>(values: &[T], stop: StopCheck<'_>) -> Option<usize> {
    best(values, stop, |a, b| a <= b)
}

/// Position of the first minimum; NaN is below all.
pub fn argmin<T: Reducible>(values: &[T], stop: StopCheck<'_>) -> Option<usize> {
    best(values, stop, |a, b| a >= b)
}

/// The value in the middle, of an even number the lower one; NaN if there is one.
pub fn median<T: Reducible>(values: &[T], stop: StopCheck<'_>) -> Option<T> {
    at_place(values, values.len().saturating_sub(1) / 2, stop)
}

/// The value at a place of the order, from 0; NaN if there is one.
pub fn at_place<T: Key>(values: &[T], place: usize, stop: StopCheck<'_>) -> Option<T> {
    if values.is_empty() {
        return None;
    }
    let nan = fold(values, stop, None, |nan, x| nan.or_else(|| x.is_nan().then_some(x)));
    Some(nan.unwrap_or_else(|| select::at(values, place, stop).0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::stop::go_on;

    #[test]
    fn published_values() {
        assert_eq!((prod::<f64>(&[], &go_on), prod(&[3, i32::MAX], &go_on)), (None, Some(i32::MAX - 2)));
        // In FLOAT32 the first product would overflow.
        assert_eq!(prod(&[2e38f32, 2.0, 0.5], &go_on), Some(2e38));
        assert_eq!(var(&[3.32, 0.502], false, &go_on), Some(1.985_280_999_999_999_6));
        assert_eq!((var(&[1.0], true, &go_on), var(&[1.0], false, &go_on)), (None, Some(0.0)));
        assert_eq!(median(&[100, i32::MIN, 1, i32::MIN], &go_on), Some(i32::MIN));
        assert_eq!((argmax(&[1, 3, 3], &go_on), argmin(&[1, 3, 1], &go_on)), (Some(1), Some(0)));
        assert_eq!(argmax(&[1.0, f64::NAN, f64::NAN], &go_on), Some(1));
        // Behind stretches and chunks, the last of which is no whole one; what is as good comes later.
        for (size, at) in [(STRETCH + 70, STRETCH + 69), (STRETCH + 70, 64), (129, 128), (200, 63), (65, 0)] {
            let mut values = vec![0.5f64; size];
            (values[at], values[size - 1]) = (2.0, 2.0);
            assert_eq!(argmax(&values, &go_on), Some(at), "{at} of {size}");
            values[size / 2] = f64::NAN;
            assert_eq!(argmin(&values, &go_on), Some(size / 2), "NaN in the middle of {size}");
        }
        assert!(median(&[1.0, f64::NAN], &go_on).is_some_and(f64::is_nan));
        assert!(skew(&[6.827], &go_on).is_some_and(f64::is_nan));
        assert_eq!(kurtosis(&[7.038, 7.279], &go_on), Some(-2.0));
    }
}
