//! Ranks: places of values in an order.

use crate::vector::float::Float;
use std::cmp::Ordering;

/// A number that has a place in an order. Integers are compared as such: not all of them are doubles.
pub trait Ordered: Copy + PartialOrd {
    /// True for what is neither above nor below any number.
    fn is_nan(self) -> bool;
}

impl Ordered for f64 {
    fn is_nan(self) -> bool {
        self.is_nan()
    }
}

impl Ordered for i64 {
    fn is_nan(self) -> bool {
        false
    }
}

/// Numbers of the present values, in order: NaN last, equal values in the order they stand in.
fn sorted<T: Ordered>(values: &[Option<T>], descending: bool) -> Vec<(usize, T)> {
    let mut present: Vec<(usize, T)> =
        values.iter().enumerate().filter_map(|(number, value)| Some((number, (*value)?))).collect();
    present.sort_by(|(_, a), (_, b)| match (a.is_nan(), b.is_nan()) {
        (false, false) if descending => b.partial_cmp(a).unwrap_or(Ordering::Equal),
        (false, false) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (a, b) => a.cmp(&b),
    });
    present
}

/// The place of each value; equal values have different places.
pub fn ordinal_ranks<T: Ordered>(values: &[Option<T>], descending: bool) -> Vec<Option<f64>> {
    let mut ranks = vec![None; values.len()];
    for (rank, (number, _)) in sorted(values, descending).into_iter().enumerate() {
        ranks[number] = Some(rank as f64);
    }
    ranks
}

/// The place of each value among the distinct ones.
pub fn dense_ranks<T: Ordered>(values: &[Option<T>], descending: bool) -> Vec<Option<f64>> {
    let mut ranks = vec![None; values.len()];
    let mut last: Option<(T, f64)> = None;
    for (number, value) in sorted(values, descending) {
        let rank = match last {
            Some((known, rank)) if known == value || (known.is_nan() && value.is_nan()) => rank,
            Some((_, rank)) => rank + 1.0,
            None => 0.0,
        };
        last = Some((value, rank));
        ranks[number] = Some(rank);
    }
    ranks
}

/// The share of the present values that are not above each.
pub fn cdf<T: Ordered>(values: &[Option<T>]) -> Vec<Option<f64>> {
    let order = sorted(values, false);
    let mut shares = vec![None; values.len()];
    let mut end = order.len();
    // From the greatest down: equal values share the number of all that are not above them.
    for index in (0..order.len()).rev() {
        if index + 1 < order.len() && order[index].1 != order[index + 1].1 {
            end = index + 1;
        }
        shares[order[index].0] = Some(end as f64 / order.len() as f64);
    }
    shares
}

/// `exp(beta * (x - max))`, over the sum of it.
pub fn softmax(values: &[Option<f64>], beta: f64) -> Vec<Option<f64>> {
    let max = values.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let power = |x: &Option<f64>| x.map(|x| Float::exp(beta * (x - max)));
    let powers: Vec<Option<f64>> = values.iter().map(power).collect();
    let sum: f64 = powers.iter().flatten().sum();
    powers.into_iter().map(|power| Some(power? / sum)).collect()
}

/// The least value whose share of the values not above it is at least `share`.
pub fn inverse_cdf<T: Ordered>(values: &[T], share: f64) -> Option<T> {
    let present: Vec<Option<T>> = values.iter().copied().map(Some).collect();
    let order = sorted(&present, false);
    let place = (share * order.len() as f64).ceil() as usize;
    order.get(place.clamp(1, order.len().max(1)) - 1).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let values = [Some(2.0), None, Some(1.0), Some(f64::NAN), Some(2.0)];
        assert_eq!(ordinal_ranks(&values, false), [Some(1.0), None, Some(0.0), Some(3.0), Some(2.0)]);
        assert_eq!(dense_ranks(&values, false), [Some(1.0), None, Some(0.0), Some(2.0), Some(1.0)]);
        assert_eq!(dense_ranks(&values, true), [Some(0.0), None, Some(1.0), Some(2.0), Some(0.0)]);
        let shares = cdf(&[Some(1.0), Some(2.0), Some(2.0), Some(4.0)]);
        assert_eq!(shares, [Some(0.25), Some(0.75), Some(0.75), Some(1.0)]);
        let quantile = |share| inverse_cdf(&[1.0, 2.0, 3.0, 4.0], share);
        assert_eq!([0.5, 0.26, 0.0, 1.0].map(quantile), [Some(2.0), Some(2.0), Some(1.0), Some(4.0)]);
        assert_eq!(inverse_cdf::<f64>(&[], 0.5), None);
    }

    #[test]
    fn integers_beyond_doubles() {
        let big = 1i64 << 53;
        let values = [Some(big + 1), Some(big), None, Some(i64::MAX), Some(i64::MAX - 1)];
        assert_eq!(ordinal_ranks(&values, false), [Some(1.0), Some(0.0), None, Some(3.0), Some(2.0)]);
        assert_eq!(dense_ranks(&values, true), [Some(2.0), Some(3.0), None, Some(0.0), Some(1.0)]);
        assert_eq!(cdf(&values), [Some(0.5), Some(0.25), None, Some(1.0), Some(0.75)]);
        assert_eq!(inverse_cdf(&[big + 1, big], 1.0), Some(big + 1));
    }
}
