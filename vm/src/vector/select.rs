//! Selection: the value of a rank among many, by digits.
//!
//! ```text
//! keys      0110…  0111…  1010…        numbers as unsigned integers of the same order
//! counts    by the first 12 bits; the rank falls into one of 4,096 buckets
//! …         the keys of that bucket by their next 12 bits, until few are left, which are sorted
//! ```
//!
//! Every pass goes over the values in their order, in at most six passes, whatever they are; nothing is moved and
//! little memory is needed. Long passes ask now and then whether to stop.
//!
//! Source: Knuth, *The Art of Computer Programming* 3, 5.2.5, distribution by digits; here one bucket is followed.

use crate::vector::stop::StopCheck;

/// A number whose order is that of an unsigned integer.
pub trait Key: Copy {
    /// The integer. Of floats −NaN is the least and NaN the greatest, −0 is below 0.
    fn key(self) -> u64;

    /// The number of an integer that [`Key::key`] gave.
    fn of_key(key: u64) -> Self;

    /// True for NaN, which is neither above nor below any number.
    fn is_nan(self) -> bool {
        false
    }

    /// True for a zero beside which there is one of the other sign, with another key.
    fn is_signed_zero(self) -> bool {
        false
    }
}

macro_rules! integer_key {
    ($($rust:ident / $bits:ident),*) => {$(
        impl Key for $rust {
            #[inline(always)]
            fn key(self) -> u64 {
                u64::from(self as $bits ^ (1 << ($bits::BITS - 1))) << (u64::BITS - $bits::BITS)
            }

            fn of_key(key: u64) -> $rust {
                ((key >> (u64::BITS - $bits::BITS)) as $bits ^ (1 << ($bits::BITS - 1))) as $rust
            }
        }
    )*};
}

integer_key!(i32 / u32, i64 / u64);

impl Key for bool {
    fn key(self) -> u64 {
        u64::from(self) << 63
    }

    fn of_key(key: u64) -> bool {
        key != 0
    }
}

macro_rules! float_key {
    ($($rust:ident / $int:ident),*) => {$(
        impl Key for $rust {
            #[inline(always)]
            fn key(self) -> u64 {
                // Negative numbers have their order turned round.
                let bits = self.to_bits() as $int;
                (bits ^ ((bits >> ($int::BITS - 1)) & $int::MAX)).key()
            }

            fn of_key(key: u64) -> $rust {
                let bits = $int::of_key(key);
                $rust::from_bits((bits ^ ((bits >> ($int::BITS - 1)) & $int::MAX)) as _)
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                $rust::is_nan(self)
            }

            #[inline(always)]
            fn is_signed_zero(self) -> bool {
                self == 0.0
            }
        }
    )*};
}

float_key!(f32 / i32, f64 / i64);

/// Bits of a digit.
const DIGIT: u32 = 12;
/// As many values are sorted rather than counted once more.
const FEW: usize = 1 << 8;
/// Values between two looks whether to stop.
const STRETCH: usize = 1 << 16;

/// The value that would stand at a place if the values were sorted, and the one after it, which is the same one at
/// the end.
///
/// # Panics
/// If there is no such place.
pub fn at<T: Key>(values: &[T], place: usize, stop: StopCheck<'_>) -> (T, T) {
    let (key, next) = at_by(values, place, stop, T::key);
    (T::of_key(key), T::of_key(next))
}

/// The same of keys that a function gives.
///
/// # Panics
/// As [`at`].
pub fn at_by<T: Copy>(
    values: &[T],
    place: usize,
    stop: StopCheck<'_>,
    key: impl Fn(T) -> u64 + Copy,
) -> (u64, u64) {
    assert!(place < values.len(), "place {place} of {}", values.len());
    let (found, next) = key_at(values, place, stop, key);
    let next = match next {
        Some(next) => next,
        None if place + 1 == values.len() => found,
        None => {
            let mut next = u64::MAX;
            each(values, stop, key, |other| next = if other > found { next.min(other) } else { next });
            next
        }
    };
    (found, next)
}

/// The key at a place of the order, and the one after it if that has come to light.
fn key_at<T: Copy>(
    values: &[T],
    mut place: usize,
    stop: StopCheck<'_>,
    key: impl Fn(T) -> u64 + Copy,
) -> (u64, Option<u64>) {
    // `left` keys have the `known` leading bits of `prefix`.
    let (mut prefix, mut known, mut left) = (0, 0, values.len());
    while left > FEW && known < u64::BITS {
        let digits = DIGIT.min(u64::BITS - known);
        let counts = count(values, prefix, known, digits, stop, key);
        if stop() {
            return (prefix, None);
        }
        let mut bucket = 0;
        while place >= counts[bucket] as usize {
            place -= counts[bucket] as usize;
            bucket += 1;
        }
        left = counts[bucket] as usize;
        known += digits;
        prefix |= (bucket as u64) << (u64::BITS - known);
    }
    if known == u64::BITS {
        return (prefix, (place + 1 < left).then_some(prefix));
    }
    let (mut few, mut found) = ([0; FEW], 0);
    each(values, stop, key, |key| {
        if has_prefix(key, prefix, known) && found < FEW {
            few[found] = key;
            found += 1;
        }
    });
    let few = &mut few[..found];
    few.sort_unstable();
    // Of a pass that ended early there may be fewer.
    (few.get(place).copied().unwrap_or(prefix), few.get(place + 1).copied())
}

/// How many of the keys with a prefix have each digit behind it.
fn count<T: Copy>(
    values: &[T],
    prefix: u64,
    known: u32,
    digits: u32,
    stop: StopCheck<'_>,
    key: impl Fn(T) -> u64 + Copy,
) -> [u32; 1 << DIGIT] {
    let mut counts = [0; 1 << DIGIT];
    let digit = |key: u64| (key << known >> (u64::BITS - digits)) as usize;
    match known {
        0 => each(values, stop, key, |key| counts[digit(key)] += 1),
        _ => each(values, stop, key, |key| {
            counts[digit(key)] += u32::from(has_prefix(key, prefix, known));
        }),
    }
    counts
}

fn has_prefix(key: u64, prefix: u64, known: u32) -> bool {
    known == 0 || (key ^ prefix) >> (u64::BITS - known) == 0
}

fn each<T: Copy>(values: &[T], stop: StopCheck<'_>, key: impl Fn(T) -> u64 + Copy, mut f: impl FnMut(u64)) {
    for stretch in values.chunks(STRETCH) {
        stretch.iter().for_each(|value| f(key(*value)));
        if stretch.len() == STRETCH && stop() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    fn check<T: Key + Debug>(values: &[T], order: impl Fn(&T, &T) -> std::cmp::Ordering) {
        let mut sorted = values.to_vec();
        sorted.sort_by(order);
        let last = values.len() - 1;
        let places = [0, 1, last / 3, last / 2, last.saturating_sub(1), last];
        for place in places.into_iter().filter(|place| *place < values.len()) {
            let (found, next) = at(values, place, &|| false);
            assert_eq!(found.key(), sorted[place].key(), "{found:?} at {place} of {}", values.len());
            let after = sorted[(place + 1).min(last)];
            assert_eq!(next.key(), after.key(), "{next:?} after {place} of {}", values.len());
        }
    }

    #[test]
    fn selected_is_what_a_sort_gives() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for count in [1, 2, 3, 1000, 5000, 70_000] {
            let bits: Vec<u64> = (0..count).map(|_| random()).collect();
            let any: Vec<f64> = bits.iter().map(|bits| f64::from_bits(*bits)).collect();
            check(&any, f64::total_cmp);
            let unit: Vec<f64> = bits.iter().map(|bits| (bits >> 11) as f64 / (1u64 << 53) as f64).collect();
            check(&unit, f64::total_cmp);
            let few: Vec<f32> = bits.iter().map(|bits| [0.0, -0.0, 1.5, -1.5][(bits % 4) as usize]).collect();
            check(&few, f32::total_cmp);
            check(&bits.iter().map(|bits| *bits as i64).collect::<Vec<_>>(), i64::cmp);
            check(&bits.iter().map(|bits| *bits as i32 / 4096).collect::<Vec<_>>(), i32::cmp);
            check(&bits.iter().map(|bits| bits % 3 == 0).collect::<Vec<_>>(), bool::cmp);
        }
    }
}
