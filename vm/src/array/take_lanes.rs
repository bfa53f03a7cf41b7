//! Lanes that rows or elements of one run went to, in any order.
//!
//! ```text
//! lanes    3 -1 -5 1 -5 7 -9 3     part    -9     parts    -9, 2     joined    -9
//! ```

use crate::array::fold_memory::{of_word, to_word};
use crate::vector::first_stage::{LANE_WORDS, MergeLanes, Merged, sum_of_lanes};
use crate::vector::fold::Fold;

/// How lanes become a part, and two parts one. Parts are words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TakeLanes {
    part: MergeLanes<u64>,
    join: fn(u64, u64) -> u64,
}

impl TakeLanes {
    /// That of a fold, if elements may go to any lane.
    pub(super) fn of<F: Fold>() -> Option<TakeLanes> {
        let part: MergeLanes<u64> = |lanes, count| {
            let Some(merge) = F::MERGE else { unreachable!("elements went to lanes") };
            let Merged { part, is_open } = merge(lanes, count);
            Merged { part: to_word(part), is_open }
        };
        let join = |one, other| to_word(F::join(of_word(one), of_word(other)));
        F::MERGE.map(|_| TakeLanes { part, join })
    }

    /// That of sums of integers.
    pub(super) const OF_INTEGERS: TakeLanes =
        TakeLanes { part: |lanes, _| Merged::known(sum_of_lanes(lanes)), join: u64::wrapping_add };

    /// The part of so many rows or elements.
    #[inline]
    pub(crate) fn part(&self, lanes: &[u64; LANE_WORDS], count: usize) -> Merged<u64> {
        (self.part)(lanes, count)
    }

    /// What two parts are together, the first one of rows or elements before.
    pub(super) fn join(&self, one: u64, other: u64) -> u64 {
        (self.join)(one, other)
    }
}
