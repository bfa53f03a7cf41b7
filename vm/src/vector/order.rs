//! Orders: places of values among others.
//!
//! Values are sorted by keys, unsigned integers of the same order, with their numbers: by digits of eight bits, the last
//! one first, over two buffers. Every pass is stable and goes over the values once, so the time is linear whatever
//! they are, and a pass asks now and then whether to stop; the order is then of no use.
//!
//! Source: Knuth, *The Art of Computer Programming* 3, 5.2.5, sorting by distribution.

use crate::vector::reduce;
use crate::vector::select::Key;
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

/// The number of distinct values before each of sorted places: NaN equals nothing, so each is one.
pub fn dense<T: Key>(places: &[Place], values: &[T]) -> impl Iterator<Item = u32> {
    let mut rank = 0;
    places.iter().enumerate().map(move |(number, place)| {
        let is_new = |before: Place| before.0 != place.0 || values[place.1 as usize].is_nan();
        rank += u32::from(number > 0 && is_new(places[number - 1]));
        rank
    })
}

/// Rows that FLOAT32 tells apart.
const SINGLE_ROWS: usize = 1 << 24;

/// A share of rows, between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowShare {
    /// Multiplied in FLOAT32, which rounds `0.1f32 * 10` to 1: the published rule.
    Single(f32),
    /// Rounded to FLOAT32 and multiplied so, as 0.28 of 100 rows are 28; of more than 2^24 rows, multiplied in FLOAT64, which tells
    /// them apart.
    Double(f64),
}

impl RowShare {
    /// The share as a number.
    pub fn value(self) -> f64 {
        match self {
            RowShare::Single(share) => f64::from(share),
            RowShare::Double(share) => share,
        }
    }

    /// The least number of `count` rows that is not below this share of them, and at least 1.
    fn of(self, count: usize) -> usize {
        let rows = match self {
            RowShare::Single(share) => f64::from((share * count as f32).ceil()),
            RowShare::Double(share) if count <= SINGLE_ROWS => {
                return RowShare::Single(share as f32).of(count);
            }
            RowShare::Double(share) => (share * count as f64).ceil(),
        };
        (rows as usize).min(count).max(1)
    }
}

/// The least value such that at least this share of the values is not above it; NaN if there is one.
pub fn inverse_cdf<T: Key>(values: &[T], share: RowShare, stop: StopCheck<'_>) -> Option<T> {
    reduce::at_place(values, share.of(values.len()) - 1, stop)
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
        assert_eq!(dense(&places, &[0; 5]).collect::<Vec<_>>(), [0, 0, 1, 2, 2]);
        assert_eq!(dense(&places, &[f64::NAN; 5]).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
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
        let quantile = |share| inverse_cdf(&[1.0, 2.0, 3.0, 4.0], RowShare::Double(share), &go_on);
        assert_eq!([0.5, 0.26, 0.0, 1.0].map(quantile), [Some(2.0), Some(2.0), Some(1.0), Some(4.0)]);
        assert_eq!(inverse_cdf::<f64>(&[], RowShare::Single(0.5), &go_on), None);
        let all = RowShare::Double(1.0);
        assert_eq!(inverse_cdf(&[(1i64 << 53) + 1, 1 << 53], all, &go_on), Some((1 << 53) + 1));
        assert!(inverse_cdf(&[f64::NAN, 1.0], RowShare::Double(0.0), &go_on).is_some_and(f64::is_nan));
        assert_eq!(inverse_cdf(&[i64::MAX, 0], all, &go_on), Some(i64::MAX));
        // In FLOAT64, 10 times the FLOAT32 next to 0.1 is above 1, and 100 times 0.28 above 28.
        let numbers: Vec<i32> = (1..101).collect();
        assert_eq!(inverse_cdf(&numbers[..10], RowShare::Single(0.1), &go_on), Some(1));
        assert_eq!(inverse_cdf(&numbers, RowShare::Double(0.28), &go_on), Some(28));
        assert_eq!(
            (RowShare::Single(1.0).of((1 << 24) + 1), all.of((1 << 24) + 1)),
            (1 << 24, (1 << 24) + 1)
        );
    }
}
