//! Sums over many values: in lanes, so that additions do not wait for each other. The order is always the same, and
//! so are the bits.
//!
//! All of it is inlined, into [loops](cembra_vm::vector::level::Loop) that are compiled for the machine's best
//! instructions.

/// A power of two.
const LANES: usize = 32;

/// Where wide stores and loads do not reach over the end of a line.
#[repr(align(64))]
struct CacheLines([f64; LANES]);

/// The sum of `term` over pairs of values.
///
/// # Panics
/// There are more of one than of the other.
#[inline(always)]
pub fn sum(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    assert_eq!(a.len(), b.len(), "pairs");
    let mut sums = CacheLines([0.0; LANES]);
    let sums = &mut sums.0;
    // Chunks of any length, also the last one: compilers make wide instructions of loops, and unroll those whose
    // length they know.
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum += term(*a, *b));
    }
    let mut half = LANES / 2;
    while half > 0 {
        let (lower, upper) = sums.split_at_mut(half);
        lower.iter_mut().zip(upper).for_each(|(lower, upper)| *lower += *upper);
        half /= 2;
    }
    sums[0]
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
}
