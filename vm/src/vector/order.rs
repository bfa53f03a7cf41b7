//! Orders: places of values among others.
//!
//! Values are sorted by keys, unsigned integers of the same order, with their numbers: by digits of eight bits, the last
//! one first, over two buffers. Every pass is stable and goes over the values once, so the time is linear whatever
//! they are, and a pass asks now and then whether to stop; the order is then of no use.
//!
//! Source: Knuth, *The Art of Computer Programming* 3, 5.2.5, sorting by distribution.

use crate::vector::select::{self, Key};
use crate::vector::stop::StopCheck;

/// A value's key and its number.
pub type Place = (u64, u32);

/// A key by which NaN comes last and zeros of both signs are equal.
#[inline(always)]
pub fn key<T: Key>(value: T, descending: bool) -> u64 {
    // The key of 0.
    let key = if value.is_signed_zero() { 1 << 63 } else { value.key() };
    match (value.is_nan(), descending) {
        (true, _) => u64::MAX,
        (false, true) => !key,
        (false, false) => key,
    }
}

/// Bits of a digit.
const DIGIT: u32 = 8;
const DIGITS: usize = (u64::BITS / DIGIT) as usize;
/// As many values are sorted by comparison.
const FEW: usize = 256;
/// Values between two questions whether to stop.
const STRETCH: usize = 1 << 15;

fn digit(key: u64, number: usize) -> usize {
    (key >> (number as u32 * DIGIT)) as usize & ((1 << DIGIT) - 1)
}

/// Sorts places by their keys, those of equal keys in the order they stand in. `spare` has as many. Their numbers
/// ascend.
pub fn sort(places: &mut [Place], spare: &mut [Place], stop: StopCheck<'_>) {
    if places.len() <= FEW {
        return places.sort_unstable();
    }
    let mut counts = [[0u32; 1 << DIGIT]; DIGITS];
    for stretch in places.chunks(STRETCH) {
        for (key, _) in stretch {
            counts.iter_mut().enumerate().for_each(|(number, counts)| counts[digit(*key, number)] += 1);
        }
        if stop() {
            return;
        }
    }
    let (mut from, mut to) = (&mut *places, &mut *spare);
    let mut is_swapped = false;
    for (number, counts) in counts.iter().enumerate() {
        // All keys have this digit.
        if counts.iter().any(|count| *count as usize == from.len()) {
            continue;
        }
        let mut next = [0usize; 1 << DIGIT];
        for value in 1..next.len() {
            next[value] = next[value - 1] + counts[value - 1] as usize;
        }
        for stretch in from.chunks(STRETCH) {
            for place in stretch {
                let at = &mut next[digit(place.0, number)];
                to[*at] = *place;
                *at += 1;
            }
            if stop() {
                return;
            }
        }
        std::mem::swap(&mut from, &mut to);
        is_swapped = !is_swapped;
    }
    if is_swapped {
        for (places, spare) in places.chunks_mut(STRETCH).zip(spare.chunks(STRETCH)) {
            places.copy_from_slice(spare);
            if stop() {
                return;
            }
        }
    }
}

/// The number of distinct keys before each of sorted places.
pub fn dense(places: &[Place]) -> impl Iterator<Item = u32> {
    let mut rank = 0;
    places.iter().enumerate().map(move |(number, place)| {
        rank += u32::from(number > 0 && places[number - 1].0 != place.0);
        rank
    })
}

/// The least value whose share of the values not above it is at least `share`; NaN is above all.
pub fn inverse_cdf<T: Key>(values: &[T], share: f64, stop: StopCheck<'_>) -> Option<T> {
    let last = values.len().checked_sub(1)?;
    let place = (share * values.len() as f64).ceil() as usize;
    let of_order = |x: T| if x.is_nan() { u64::MAX } else { x.key() };
    let key = select::at_by(values, place.max(1).min(last + 1) - 1, stop, of_order).0;
    // Of NaN any will do: it is the value of the greatest key.
    match key {
        u64::MAX => values.iter().copied().find(|x| of_order(*x) == key),
        key => Some(T::of_key(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go_on() -> bool {
        false
    }

    fn sorted<T: Key>(values: &[T], descending: bool) -> Vec<u32> {
        let mut places: Vec<Place> = values.iter().map(|x| key(*x, descending)).zip(0..).collect();
        let mut spare = vec![(0, 0); values.len()];
        sort(&mut places, &mut spare, &go_on);
        places.iter().map(|place| place.1).collect()
    }

    #[test]
    fn places() {
        let values = [2.0, 1.0, f64::NAN, 2.0, -0.0, 0.0, -1.0];
        assert_eq!(sorted(&values, false), [6, 4, 5, 1, 0, 3, 2]);
        assert_eq!(sorted(&values, true), [0, 3, 1, 4, 5, 6, 2]);
        let big = 1i64 << 53;
        assert_eq!(sorted(&[big + 1, big, i64::MAX, i64::MIN], false), [3, 1, 0, 2]);
        let places = [(1, 0), (1, 1), (3, 2), (7, 3), (7, 4)];
        assert_eq!(dense(&places).collect::<Vec<_>>(), [0, 0, 1, 2, 2]);
    }

    #[test]
    fn many_values_are_sorted_stably() {
        for count in [255, 257, 40_000] {
            let values: Vec<f64> = (0..count).map(|i| f64::from(i * 7919 % 1013) - 500.0).collect();
            let mut expected: Vec<u32> = (0..count).collect();
            expected.sort_by(|a, b| values[*a as usize].total_cmp(&values[*b as usize]));
            assert_eq!(sorted(&values, false), expected);
        }
    }

    #[test]
    fn shares() {
        let quantile = |share| inverse_cdf(&[1.0, 2.0, 3.0, 4.0], share, &go_on);
        assert_eq!([0.5, 0.26, 0.0, 1.0].map(quantile), [Some(2.0), Some(2.0), Some(1.0), Some(4.0)]);
        assert_eq!(inverse_cdf::<f64>(&[], 0.5, &go_on), None);
        assert_eq!(inverse_cdf(&[(1i64 << 53) + 1, 1 << 53], 1.0, &go_on), Some((1 << 53) + 1));
        assert!(inverse_cdf(&[f64::NAN, 1.0], 1.0, &go_on).is_some_and(f64::is_nan));
        assert_eq!(inverse_cdf(&[i64::MAX, 0], 1.0, &go_on), Some(i64::MAX));
    }
}
