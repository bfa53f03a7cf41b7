//! Ranks: places of values in an order.

use std::cmp::Ordering;

/// Numbers of the present values, in order: NaN last, equal values in the order they stand in.
fn sorted(values: &[Option<f64>], descending: bool) -> Vec<(usize, f64)> {
    let mut present: Vec<(usize, f64)> =
        values.iter().enumerate().filter_map(|(number, value)| Some((number, (*value)?))).collect();
    present.sort_by(|(_, a), (_, b)| match (a.is_nan(), b.is_nan()) {
        (false, false) if descending => b.partial_cmp(a).unwrap_or(Ordering::Equal),
        (false, false) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (a, b) => a.cmp(&b),
    });
    present
}

/// The place of each value; equal values have different places.
pub fn ordinal_ranks(values: &[Option<f64>], descending: bool) -> Vec<Option<i64>> {
    let mut ranks = vec![None; values.len()];
    for (rank, (number, _)) in sorted(values, descending).into_iter().enumerate() {
        ranks[number] = Some(rank as i64);
    }
    ranks
}

/// The place of each value among the distinct ones.
pub fn dense_ranks(values: &[Option<f64>], descending: bool) -> Vec<Option<i64>> {
    let mut ranks = vec![None; values.len()];
    let mut last: Option<(f64, i64)> = None;
    for (number, value) in sorted(values, descending) {
        let rank = match last {
            Some((known, rank)) if known == value || (known.is_nan() && value.is_nan()) => rank,
            Some((_, rank)) => rank + 1,
            None => 0,
        };
        last = Some((value, rank));
        ranks[number] = Some(rank);
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let values = [Some(2.0), None, Some(1.0), Some(f64::NAN), Some(2.0)];
        assert_eq!(ordinal_ranks(&values, false), [Some(1), None, Some(0), Some(3), Some(2)]);
        assert_eq!(dense_ranks(&values, false), [Some(1), None, Some(0), Some(2), Some(1)]);
        assert_eq!(dense_ranks(&values, true), [Some(0), None, Some(1), Some(2), Some(0)]);
    }
}
