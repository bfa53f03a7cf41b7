//! Intervals of integers: what a value can be.

/// All integers between two, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    /// The least.
    pub(super) low: i64,
    /// The greatest.
    pub(super) high: i64,
}

impl Interval {
    /// Any INT64.
    pub(super) const ALL: Interval = Interval { low: i64::MIN, high: i64::MAX };

    /// One integer.
    pub(super) fn one(value: i64) -> Interval {
        Interval { low: value, high: value }
    }

    /// Those between two ends, if both fit.
    fn between(ends: impl Iterator<Item = i128> + Clone) -> Option<Interval> {
        let (low, high) = (ends.clone().min()?, ends.max()?);
        Some(Interval { low: i64::try_from(low).ok()?, high: i64::try_from(high).ok()? })
    }

    /// Results of an operation that grows or falls with each operand; `None` if one of them does not fit.
    pub(super) fn combine(
        self,
        other: Interval,
        operation: impl Fn(i128, i128) -> i128 + Copy,
    ) -> Option<Interval> {
        let ends = |of: Interval| [i128::from(of.low), i128::from(of.high)];
        Interval::between(ends(self).into_iter().flat_map(move |x| ends(other).map(move |y| operation(x, y))))
    }

    /// The least interval that has both.
    pub(super) fn union(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// What is in both; the first one where nothing is, which no run reaches.
    pub(super) fn meet(self, other: Interval) -> Interval {
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        if low <= high { Interval { low, high } } else { self }
    }

    /// True if it has an integer.
    pub(super) fn has(self, value: i64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}
