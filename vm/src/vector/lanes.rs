//! Sums over many values in lanes, so that additions do not wait for each other: value `i` goes to lane `i % 32`. In
//! the end the upper half of the lanes is added to the lower one, again and again. The order is always the same, and
//! so are the bits, wherever the values are cut.
//!
//! All of it is inlined, into [loops](super::level::Loop) that are compiled for the machine's best instructions.

use crate::vector::fold::Summand;
use std::hint::black_box;

/// A power of two.
pub const LANES: usize = 32;

/// Where wide stores and loads do not reach over the end of a line.
#[repr(align(64))]
struct CacheLines<T>([T; LANES]);

/// Adds terms to sums, the first to that of the lane `next`. `term` gives that of a number below `count`.
///
/// # Panics
/// There is no such lane.
#[inline(always)]
pub fn add_terms<T: Summand>(sums: &mut [T; LANES], next: usize, count: usize, term: impl Fn(usize) -> T) {
    let open = if next == 0 { 0 } else { count.min(LANES - next) };
    let first = sums[next..].iter_mut().zip(0..open);
    first.for_each(|(sum, number)| *sum = sum.plus(term(number)));
    let (chunks, mut at) = ((count - open) / LANES, open);
    let mut wide = *sums;
    for _ in 0..chunks {
        for (lane, sum) in wide.iter_mut().enumerate() {
            *sum = sum.plus(term(at + lane));
        }
        at += LANES;
    }
    // A compiler that sees in which order the lanes are added up takes that order for the loop as well.
    *sums = black_box(wide);
    let rest = sums.iter_mut().zip(at..count);
    rest.for_each(|(sum, number)| *sum = sum.plus(term(number)));
}

/// The sum of all lanes.
#[inline(always)]
pub fn total<T: Summand>(mut sums: [T; LANES]) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        let (lower, upper) = sums.split_at_mut(half);
        lower.iter_mut().zip(upper).for_each(|(lower, upper)| *lower = lower.plus(*upper));
        half /= 2;
    }
    sums[0]
}

/// The sum of `term` over pairs of values.
///
/// # Panics
/// There are more of one than of the other.
#[inline(always)]
pub fn sum<A: Copy, T: Summand>(a: &[A], b: &[A], term: impl Fn(A, A) -> T) -> T {
    let mut sums = CacheLines([T::zeroed(); LANES]);
    assert_eq!(a.len(), b.len(), "pairs");
    // SAFETY: there are so many of both.
    let term = |number: usize| unsafe { term(*a.get_unchecked(number), *b.get_unchecked(number)) };
    add_terms(&mut sums.0, 0, a.len(), term);
    total(sums.0)
}

/// The inner product.
///
/// # Panics
/// There are more of one than of the other.
#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum(a, b, |a, b| a * b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_counts_once() {
        let values: Vec<f64> = (1..=77).map(f64::from).collect();
        for count in 0..=77 {
            let expected: f64 = values[..count].iter().map(|v| v * v).sum();
            assert_eq!(dot(&values[..count], &values[..count]), expected);
        }
    }

    #[test]
    fn cuts_change_no_bit() {
        let values: Vec<f64> = (0..200).map(|i| f64::from(i * i % 31) * 0.1).collect();
        let whole = dot(&values, &values);
        for size in [1, 7, 32, 33, 64, 199] {
            let mut sums = [0.0; LANES];
            for (number, part) in values.chunks(size).enumerate() {
                let square = |number: usize| part[number] * part[number];
                add_terms(&mut sums, number * size % LANES, part.len(), square);
            }
            assert_eq!(total(sums).to_bits(), whole.to_bits(), "parts of {size}");
        }
    }
}
