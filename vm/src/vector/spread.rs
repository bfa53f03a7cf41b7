//! Sums in pairs and quantiles, as numpy defines them.
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

use crate::vector::select::{self, Key};
use crate::vector::stop::StopCheck;
use std::ops::{Add, Div, Mul, Range, Sub};

/// A float that is summed in its own precision.
pub trait SummedFloat:
    Key + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Zero.
    const ZERO: Self;
    /// Not a number.
    const NAN: Self;

    /// The nearest value to a number.
    fn of(value: f64) -> Self;

    /// The number in double.
    fn wide(self) -> f64;

    /// The square root.
    fn root(self) -> Self;
}

macro_rules! real {
    ($($rust:ident),*) => {$(
        impl SummedFloat for $rust {
            const ZERO: $rust = 0.0;
            const NAN: $rust = $rust::NAN;

            fn of(value: f64) -> $rust {
                value as $rust
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

/// The sum of a few values, in eight running sums; it may be -0.
#[inline(always)]
pub fn leaf<A: Copy, T: SummedFloat>(values: &[A], f: impl Fn(A) -> T + Copy) -> T {
    let (eights, rest) = values.as_chunks::<8>();
    let Some((first, more)) = eights.split_first() else {
        return values.iter().fold(T::ZERO, |sum, x| sum + f(*x));
    };
    let joined = |[s0, s1, s2, s3, s4, s5, s6, s7]: [T; 8]| {
        rest.iter().fold(((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)), |sum, x| sum + f(*x))
    };
    // Written out: where this becomes a part of a large function, a compiler may leave calls of iterators in the loop, which then
    // takes four times as long.
    let of = |[x0, x1, x2, x3, x4, x5, x6, x7]: &[A; 8]| {
        [f(*x0), f(*x1), f(*x2), f(*x3), f(*x4), f(*x5), f(*x6), f(*x7)]
    };
    let mut sums = of(first);
    if more.is_empty() {
        return joined(sums);
    }
    for eight in more {
        let ([s0, s1, s2, s3, s4, s5, s6, s7], [x0, x1, x2, x3, x4, x5, x6, x7]) = (sums, of(eight));
        sums = [s0 + x0, s1 + x1, s2 + x2, s3 + x3, s4 + x4, s5 + x5, s6 + x6, s7 + x7];
    }
    // A compiler that sees the order of the last additions takes it for the loop as well, two sums at a time.
    joined(std::hint::black_box(sums))
}

/// The sum of at most 1,024 values, added in pairs; it may be -0. Like [`leaf`], it gets the instructions of the loop that
/// it stands in.
#[inline(always)]
pub fn sum_of_few<A: Copy, T: SummedFloat>(values: &[A], f: impl Fn(A) -> T + Copy) -> T {
    in_pairs(values.len(), &Few { values, f })
}

/// What is added in pairs.
pub trait InPairs {
    /// The sum of some.
    type Sum: Copy;

    /// The sum of a leaf.
    fn leaf(&self, range: Range<usize>) -> Self::Sum;

    /// The sum of two.
    fn add(left: Self::Sum, right: Self::Sum) -> Self::Sum;
}

/// Values, and what is added of each.
struct Few<'v, A, F> {
    values: &'v [A],
    f: F,
}

impl<A: Copy, T: SummedFloat, F: Fn(A) -> T + Copy> InPairs for Few<'_, A, F> {
    type Sum = T;

    #[inline(always)]
    fn leaf(&self, range: Range<usize>) -> T {
        leaf(&self.values[range], self.f)
    }

    #[inline(always)]
    fn add(left: T, right: T) -> T {
        left + right
    }
}

/// The sum of at most 1,024 of them.
#[inline(always)]
pub fn in_pairs<P: InPairs>(count: usize, of: &P) -> P::Sum {
    /// Halves of 1,024 values, which are parted four times at most.
    const DEPTH: usize = 4;
    // Halves that are parted: the size of the right one, and the sum of the left one when it is there.
    let mut open = [(0, None); DEPTH];
    let (mut first, mut depth, mut size) = (0, 0, count);
    loop {
        while let Some(left) = left_half(size) {
            open[depth] = (size - left, None);
            (depth, size) = (depth + 1, left);
        }
        let mut sum = of.leaf(first..first + size);
        first += size;
        loop {
            let Some(last) = depth.checked_sub(1) else { return sum };
            match open[last] {
                (_, Some(left)) => (sum, depth) = (P::add(left, sum), last),
                (right, None) => {
                    open[last] = (right, Some(sum));
                    size = right;
                    break;
                }
            }
        }
    }
}

/// Values between two questions whether to stop.
const STRETCH: usize = 1 << 16;

/// True if one of the values is NaN.
fn any_nan<A: Copy, T: SummedFloat>(values: &[A], stop: StopCheck<'_>, f: impl Fn(A) -> T) -> bool {
    let mut stretches = values.chunks(STRETCH);
    stretches.any(|stretch| stretch.iter().any(|x| f(*x).is_nan()) || (stretch.len() == STRETCH && stop()))
}

/// The value in the middle, as a real, of an even number the mean of two; NaN if there is one, or no value. The reals
/// have the order of the values.
pub fn median_by<A: Key, T: SummedFloat>(values: &[A], stop: StopCheck<'_>, f: impl Fn(A) -> T + Copy) -> T {
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
pub fn quantile_by<A: Key, T: SummedFloat>(
    values: &[A],
    share: T,
    stop: StopCheck<'_>,
    f: impl Fn(A) -> T + Copy,
) -> T {
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
    use crate::vector::stop::go_on;

    #[test]
    fn published_values() {
        assert_eq!(median_by(&[4.0, 1.0, 3.0, 2.0], &go_on, |x| x), 2.5);
        assert_eq!(median_by(&[4.0f32, 1.0, 3.0], &go_on, |x| x), 3.0);
        assert!(median_by(&[4.0, f64::NAN], &go_on, |x| x).is_nan());
        assert_eq!(quantile_by(&[4.0, 1.0, 3.0, 2.0], 0.25, &go_on, |x| x), 1.75);
        assert_eq!(quantile_by(&[4.0, 1.0], 1.0, &go_on, |x| x), 4.0);
        assert_eq!(quantile_by(&[7.0f32], 0.3, &go_on, |x| x), 7.0);
        assert!(quantile_by(&[] as &[f64], 0.5, &go_on, |x| x).is_nan());
    }
}
