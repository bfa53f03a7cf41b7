//! Elements that are not zero: whether there is one, whether all are, and how many.

use crate::vector::first_stage::{FirstStage, MergeLanes, Merged, sum_of_lanes};
use crate::vector::fold::{Fold, Number};
use std::marker::PhantomData;

/// True if an element is not zero, or with `ALL` if none is.
pub struct Truth<T, const ALL: bool>(PhantomData<T>);

impl<T: Number, const ALL: bool> Fold for Truth<T, ALL> {
    type Element = T;
    type Part = u8;
    type Out = bool;
    const HAS_ANY_PARTS: bool = true;
    const GAINS_BY_WIDTH: bool = false;
    const FIRST: Option<FirstStage> = Some(FirstStage::Count);
    const MERGE: Option<MergeLanes<u8>> = Some(|lanes, count| {
        let has = if ALL { sum_of_lanes(lanes) == count as u64 } else { sum_of_lanes(lanes) > 0 };
        Merged::known(has.into())
    });

    #[inline(always)]
    fn leaf(values: &[T]) -> u8 {
        // Without a way out from within, a loop is one of vectors.
        let mut chunks = values.chunks(TESTED);
        u8::from(match ALL {
            true => chunks.all(|chunk| chunk.iter().fold(true, |all, x| all & (*x != T::ZERO))),
            false => chunks.any(|chunk| chunk.iter().fold(false, |any, x| any | (*x != T::ZERO))),
        })
    }

    #[inline(always)]
    fn of_one(value: T) -> u8 {
        u8::from(value != T::ZERO)
    }

    #[inline(always)]
    fn join(left: u8, right: u8) -> u8 {
        if ALL { left & right } else { left | right }
    }

    fn finish(part: u8, _: usize) -> bool {
        part != 0
    }
}

/// Elements of which a truth is asked at once.
const TESTED: usize = 256;

/// How many elements are not zero.
pub struct CountNonZero<T>(PhantomData<T>);

impl<T: Number> Fold for CountNonZero<T> {
    type Element = T;
    type Part = i64;
    type Out = i64;
    const HAS_ANY_PARTS: bool = true;
    const GAINS_BY_WIDTH: bool = false;
    const FIRST: Option<FirstStage> = Some(FirstStage::Count);
    const MERGE: Option<MergeLanes<i64>> = Some(|lanes, _| Merged::known(sum_of_lanes(lanes) as i64));

    #[inline(always)]
    fn leaf(values: &[T]) -> i64 {
        values.iter().filter(|x| **x != T::ZERO).count() as i64
    }

    #[inline(always)]
    fn of_one(value: T) -> i64 {
        i64::from(value != T::ZERO)
    }

    #[inline(always)]
    fn join(left: i64, right: i64) -> i64 {
        left + right
    }

    fn finish(part: i64, _: usize) -> i64 {
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::fold::fold;

    #[test]
    fn zeros_of_both_signs_are_zero_and_nan_is_not() {
        assert_eq!((fold::<Truth<u8, true>>(&[]), fold::<Truth<i32, false>>(&[0, 3])), (true, true));
        assert_eq!(fold::<CountNonZero<f32>>(&[0.0, -0.0, f32::NAN]), 1);
    }
}
