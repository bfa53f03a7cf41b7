//! Extremes: the least element or the greatest, and the first one of its kind where that can be told.

use crate::vector::first_stage::{FirstStage, MergeLanes, Merged};
use crate::vector::fold::{Fold, Number};
use std::marker::PhantomData;

/// The least element, with `GREATEST` the greatest; NaN if there is one.
pub struct Best<T, const GREATEST: bool>(PhantomData<T>);

/// Lanes in which the best element of a leaf is found.
const LANES_OF_BEST: usize = 16;

#[inline(always)]
fn is_nan<T: Number>(x: T) -> bool {
    x.partial_cmp(&x).is_none()
}

impl<T: Number, const GREATEST: bool> Best<T, GREATEST> {
    #[inline(always)]
    fn is_better(x: T, best: T) -> bool {
        if GREATEST { x > best } else { x < best }
    }

    /// The best of rows that have two elements for each lane, one of several that are alike, and whether there is a NaN: then
    /// it may be any element. Nothing of no rows.
    #[inline(always)]
    fn of_rows<const LANES: usize, const ROW: usize>(rows: &[[T; ROW]]) -> Option<(T, bool)> {
        const { assert!(ROW == 2 * LANES) };
        let mut best: [T; LANES] = rows.first().map(|row| std::array::from_fn(|lane| row[lane]))?;
        let mut has_nan = [false; LANES];
        for row in rows {
            for (lane, (best, has_nan)) in best.iter_mut().zip(&mut has_nan).enumerate() {
                let (x, y) = (row[lane], row[lane + LANES]);
                *has_nan |= x.partial_cmp(&y).is_none();
                let better = if Self::is_better(y, x) { y } else { x };
                *best = if Self::is_better(better, *best) { better } else { *best };
            }
        }
        Some(Self::of_lanes(best, has_nan))
    }

    /// The best of all lanes, and whether one has seen a NaN.
    #[inline(always)]
    fn of_lanes<const LANES: usize>(mut best: [T; LANES], mut has_nan: [bool; LANES]) -> (T, bool) {
        let mut lanes = LANES;
        while lanes > 1 {
            lanes /= 2;
            for lane in 0..lanes {
                let x = best[lane + lanes];
                best[lane] = if Self::is_better(x, best[lane]) { x } else { best[lane] };
                has_nan[lane] |= has_nan[lane + lanes];
            }
        }
        (best[0], has_nan[0])
    }

    /// The first value that is NaN, or that is as good.
    #[cold]
    #[inline(never)]
    fn first_like(values: &[T], best: T, is_any_nan: bool) -> T {
        let is_like = |x: &&T| if is_any_nan { is_nan(**x) } else { **x == best };
        *values.iter().find(is_like).unwrap_or(&best)
    }

    /// The best of a few values, at least one for each lane, and whether there is a NaN, as of rows; the last lanes may have some
    /// values again.
    #[inline(always)]
    fn of_few<const LANES: usize>(values: &[T]) -> (T, bool) {
        let lanes = |first: usize| values[first..].first_chunk::<LANES>().expect("a value for each lane");
        let mut best = *lanes(0);
        let mut has_nan = [false; LANES];
        // If there is one for each lane, these are compared with themselves: a comparison tells of NaN.
        let last = values.len() - LANES;
        for first in (LANES.min(last)..values.len()).step_by(LANES) {
            let more = lanes(first.min(last));
            for lane in 0..LANES {
                let x = more[lane];
                has_nan[lane] |= best[lane].partial_cmp(&x).is_none();
                best[lane] = if Self::is_better(x, best[lane]) { x } else { best[lane] };
            }
        }
        Self::of_lanes(best, has_nan)
    }
}

impl<T: Number, const GREATEST: bool> Fold for Best<T, GREATEST> {
    type Element = T;
    type Part = T;
    type Out = T;

    /// In lanes, which lose the order: the first of several zeros, or of several NaN, is looked up. One comparison of two
    /// elements tells whether either is NaN.
    #[inline(always)]
    fn leaf(values: &[T]) -> T {
        let (best, has_nan) = match values.len() {
            0 => (T::ZERO, false),
            1 => (values[0], is_nan(values[0])),
            2..4 => Self::of_few::<2>(values),
            4..8 => Self::of_few::<4>(values),
            8..=LANES_OF_BEST => Self::of_few::<8>(values),
            _ => {
                let (rows, rest) = values.as_chunks::<{ 2 * LANES_OF_BEST }>();
                let (fours, rest) = rest.as_chunks::<4>();
                let parts = [Self::of_rows::<LANES_OF_BEST, _>(rows), Self::of_rows::<2, _>(fours)];
                let has_nan = parts.iter().flatten().any(|(_, has_nan)| *has_nan);
                let best = parts.into_iter().flatten().map(|(best, _)| best);
                let best = best.chain(rest.iter().copied()).reduce(Self::join).unwrap_or(T::ZERO);
                (best, has_nan || is_nan(best))
            }
        };
        match T::IS_FLOAT && (has_nan || best == T::ZERO) {
            true => Self::first_like(values, best, has_nan),
            false => best,
        }
    }

    #[inline(always)]
    fn of_one(value: T) -> T {
        value
    }

    const MOST_OF_OWN_SIZE: usize = if T::IS_FLOAT { 16 } else { 4 };
    // The first of several zeros or NaN is the result, whatever the stretches are.
    const HAS_ANY_PARTS: bool = true;
    const FIRST: Option<FirstStage> = match (size_of::<T>() < 4, GREATEST) {
        (true, _) => None,
        (false, true) => Some(FirstStage::Greatest),
        (false, false) => Some(FirstStage::Least),
    };
    const MERGE: Option<MergeLanes<T>> = Some(|lanes, _| {
        let lanes: &[T] = bytemuck::cast_slice(lanes);
        let part = lanes.iter().copied().reduce(Self::join).unwrap_or(T::ZERO);
        // Zeros of both signs: which of them came first is not told.
        let mut zeros = lanes.iter().filter(|x| **x == T::ZERO);
        let is_other = |x: &T| bytemuck::bytes_of(x) != bytemuck::bytes_of(&part);
        Merged { part, is_open: T::IS_FLOAT && part == T::ZERO && zeros.any(is_other) }
    });

    #[inline(always)]
    fn join(best: T, next: T) -> T {
        // Without a way around a comparison, a loop is one of vectors.
        if !is_nan(best) & (is_nan(next) | Self::is_better(next, best)) { next } else { best }
    }

    #[inline(always)]
    fn may_change(best: T, next: T) -> bool {
        // NaN is neither.
        !(if GREATEST { next <= best } else { next >= best })
    }

    fn finish(part: T, _: usize) -> T {
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::fold::fold;

    #[test]
    fn not_a_number_is_an_extreme() {
        assert!(fold::<Best<f64, true>>(&[1.0, f64::NAN, 2.0]).is_nan());
    }

    /// Beside a search from the left, with a special value at each place: the first zero or NaN is the result.
    #[test]
    fn the_best_element_is_the_first_of_its_kind() {
        fn check<const GREATEST: bool>(values: &[f64]) {
            let expected = values.iter().copied().reduce(Best::<f64, GREATEST>::join).expect("not empty");
            let found = fold::<Best<f64, GREATEST>>(values);
            assert_eq!(found.to_bits(), expected.to_bits(), "{GREATEST} of {values:?}");
        }
        for count in [1, 2, 3, 4, 5, 8, 10, 15, 16, 17, 31, 32, 33, 39, 48, 127, 128, 129, 300] {
            let below: Vec<f64> = (0..count).map(|i| -1.0 - f64::from(i * 37 % 101)).collect();
            let above: Vec<f64> = below.iter().map(|x| -x).collect();
            for place in 0..count as usize {
                for special in
                    [500.0, -500.0, 0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY]
                {
                    for mut values in [below.clone(), above.clone()] {
                        values[place] = special;
                        check::<true>(&values);
                        check::<false>(&values);
                        // A second one, of the other sign.
                        values[place / 2] = -special;
                        check::<true>(&values);
                        check::<false>(&values);
                    }
                }
            }
        }
    }
}
