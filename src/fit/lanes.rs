//! Sums over many values: in eight lanes, so that additions do not wait for each other. The order is always the
//! same, and so are the bits.

const LANES: usize = 8;

/// The sum of `term` over pairs of values.
///
/// # Panics
/// There are more of one than of the other.
pub fn sum(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    assert_eq!(a.len(), b.len(), "pairs");
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += term(a[lane], b[lane]);
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| term(*a, *b));
    sums.into_iter().chain(rest).sum()
}

/// The inner product.
///
/// # Panics
/// There are more of one than of the other.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum(a, b, |a, b| a * b)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pair_counts_once() {
        let values: Vec<f64> = (1..=21).map(f64::from).collect();
        for count in 0..=21 {
            let expected: f64 = values[..count].iter().map(|v| v * v).sum();
            assert_eq!(super::dot(&values[..count], &values[..count]), expected);
        }
    }
}
