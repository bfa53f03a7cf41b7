//! Sums, means, variances and quantiles of many values, as numpy defines them.
//!
//! A sum adds in pairs: up to 128 values in eight running sums, more in two halves. So the rounding error grows
//! with the logarithm of their number, and the result depends on the order of the values only:
//!
//! ```text
//! 0 8 16 … ─┐
//! 1 9 17 … ─┴─┐
//! 2 10 18 … ──┴─ …      ((0+1) + (2+3)) + ((4+5) + (6+7)), then what is left after a multiple of eight
//! ```
//!
//! Sources: Higham, "The accuracy of floating point summation" (1993), pairwise summation; quantiles by linear
//! interpolation are definition 7 of Hyndman and Fan (1996).

use crate::vector::reduce::Stop;
use crate::vector::select::{self, Key};
use std::ops::{Add, Div, Mul, Sub};

/// A float that is summed in its own precision.
pub trait Real:
    Key + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Zero.
    const ZERO: Self;
    /// Not a number.
    const NAN: Self;

    /// The nearest value to a number.
    fn of(value: f64) -> Self;

    /// True for NaN.
    fn is_nan(self) -> bool;

    /// The number in double.
    fn wide(self) -> f64;

    /// The square root.
    fn root(self) -> Self;
}

macro_rules! real {
    ($($rust:ident),*) => {$(
        impl Real for $rust {
            const ZERO: $rust = 0.0;
            const NAN: $rust = $rust::NAN;

            fn of(value: f64) -> $rust {
                value as $rust
            }

            fn is_nan(self) -> bool {
                $rust::is_nan(self)
            }

            fn wide(self) -> f64 {
                self.into()
            }

            fn root(self) -> $rust {
                self.sqrt()
            }
        }
    )*};
}

real!(f32, f64);

/// Most elements of a leaf.
pub const LEAF: usize = 128;

/// Elements in the left half of so many; `None` if they are a leaf.
pub fn left_half(count: usize) -> Option<usize> {
    let half = count / 2;
    (count > LEAF).then_some(half - half % 8)
}

/// The sum, added in pairs; 0 of no values.
pub fn sum<T: Real>(values: &[T]) -> T {
    sum_by(values, &|| false, |x| x)
}

/// The sum of what a function makes of each value. It begins at 0, so that it is never -0.
fn sum_by<A: Copy, T: Real>(values: &[A], stop: Stop<'_>, f: impl Fn(A) -> T + Copy) -> T {
    T::ZERO + add_in_pairs(values, stop, f)
}

/// Values of halves that do not ask whether to stop.
const STRETCH: usize = 1 << 16;

fn add_in_pairs<A: Copy, T: Real>(values: &[A], stop: Stop<'_>, f: impl Fn(A) -> T + Copy) -> T {
    match left_half(values.len()) {
        None => leaf(values, f),
        Some(_) if values.len() > STRETCH && stop() => T::ZERO,
        Some(left) => {
            let (left, right) = values.split_at(left);
            add_in_pairs(left, stop, f) + add_in_pairs(right, stop, f)
        }
    }
}

/// The sum of a few values, in eight running sums; it may be -0.
#[inline(always)]
pub fn leaf<A: Copy, T: Real>(values: &[A], f: impl Fn(A) -> T + Copy) -> T {
    let (eights, rest) = values.as_chunks::<8>();
    let Some((first, more)) = eights.split_first() else {
        return values.iter().fold(T::ZERO, |sum, x| sum + f(*x));
    };
    let mut sums = first.map(f);
    for eight in more {
        for (sum, x) in sums.iter_mut().zip(eight) {
            *sum = *sum + f(*x);
        }
    }
    // A compiler that sees the order of the last additions takes it for the loop as well, two sums at a time.
    let [s0, s1, s2, s3, s4, s5, s6, s7] = std::hint::black_box(sums);
    rest.iter().fold(((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)), |sum, x| sum + f(*x))
}

/// The arithmetic mean of what a function makes of each value; NaN of no values.
pub fn mean_by<A: Copy, T: Real>(values: &[A], stop: Stop<'_>, f: impl Fn(A) -> T + Copy) -> T {
    sum_by(values, stop, f) / T::of(values.len() as f64)
}

/// The squares of the deviations from a mean, over the number of values less the degrees of freedom used, or
/// over 0 if there are not so many.
pub fn variance_by<A: Copy, T: Real>(
    values: &[A],
    mean: T,
    used: i64,
    stop: Stop<'_>,
    f: impl Fn(A) -> T + Copy,
) -> T {
    let square = |x: A| {
        let deviation = f(x) - mean;
        deviation * deviation
    };
    sum_by(values, stop, square) / T::of((values.len() as i64).saturating_sub(used).max(0) as f64)
}

/// True if one of the values is NaN.
fn any_nan<A: Copy, T: Real>(values: &[A], stop: Stop<'_>, f: impl Fn(A) -> T) -> bool {
    let mut stretches = values.chunks(STRETCH);
    stretches.any(|stretch| stretch.iter().any(|x| f(*x).is_nan()) || (stretch.len() == STRETCH && stop()))
}

/// The value in the middle, as a real, of an even number the mean of two; NaN if there is one, or no value. The reals
/// have the order of the values.
pub fn median_by<A: Key, T: Real>(values: &[A], stop: Stop<'_>, f: impl Fn(A) -> T + Copy) -> T {
    let Some(lower) = values.len().checked_sub(1).filter(|_| !any_nan(values, stop, f)) else {
        return T::NAN;
    };
    let (lower, upper) = select::at(values, lower / 2, stop);
    match values.len().is_multiple_of(2) {
        true => (f(lower) + f(upper)) / T::of(2.0),
        false => f(lower),
    }
}

/// The value at a share of the way from the least to the greatest, by linear interpolation between reals; NaN if
/// there is one, or no value. The share is from 0 to 1.
pub fn quantile_by<A: Key, T: Real>(values: &[A], share: T, stop: Stop<'_>, f: impl Fn(A) -> T + Copy) -> T {
    let Some(last) = values.len().checked_sub(1).filter(|_| !any_nan(values, stop, f)) else {
        return T::NAN;
    };
    let place = T::of(last as f64) * share;
    // As the place is not below 0, its whole part is the number of the value below it.
    let number = (place.wide() as usize).min(last);
    let (lower, upper) = select::at(values, number, stop);
    let (lower, upper) = (f(lower), f(upper));
    let part = place - T::of(number as f64);
    let difference = upper - lower;
    // Either end is met exactly from its own side.
    match part >= T::of(0.5) {
        true => upper - difference * (T::of(1.0) - part),
        false => lower + difference * part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go_on() -> bool {
        false
    }

    #[test]
    fn published_values() {
        let tenth = [0.1f64; 1000];
        assert_eq!(sum(&tenth), 100.00000000000001);
        assert_eq!(sum(&[0.1f32; 1000]), 100.000_015);
        assert_eq!(sum::<f64>(&[]), 0.0);
        assert!(sum(&[-0.0f64; 3]).is_sign_positive() && sum(&[-0.0f64; 9]).is_sign_positive());
        assert!(mean_by(&[] as &[f64], &go_on, |x| x).is_nan());
        assert_eq!(variance_by(&[1.0, 2.0, 4.0], 7.0 / 3.0, 1, &go_on, |x: f64| x), 2.333333333333333);
        assert_eq!(median_by(&[4.0, 1.0, 3.0, 2.0], &go_on, |x| x), 2.5);
        assert_eq!(median_by(&[4.0f32, 1.0, 3.0], &go_on, |x| x), 3.0);
        assert!(median_by(&[4.0, f64::NAN], &go_on, |x| x).is_nan());
        assert_eq!(quantile_by(&[4.0, 1.0, 3.0, 2.0], 0.25, &go_on, |x| x), 1.75);
        assert_eq!(quantile_by(&[4.0, 1.0], 1.0, &go_on, |x| x), 4.0);
        assert_eq!(quantile_by(&[7.0f32], 0.3, &go_on, |x| x), 7.0);
        assert!(quantile_by(&[] as &[f64], 0.5, &go_on, |x| x).is_nan());
    }
}
