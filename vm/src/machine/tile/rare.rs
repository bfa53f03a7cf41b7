//! Rare rows: blocks in which a strip fires are run again by passes over the same members, which raise if that is why.
//!
//! ```text
//! strip    { x2 = x * x    s = sin(x2)    r = s + 1 }     fires: some |x2| is above 2^21
//! again      x2 │ s │ r                                   x2 and s in scratch memory, r where the strip has put it
//! ```
//!
//! A strip that can fire runs for one block at a time, or for some of them as long as it hardly ever does. Results of the strip are written over, all other columns are what
//! they were: nothing that a strip reads is written by it.

use crate::machine::tile::schedule::Schedule;
use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks or runs after which it is known what is usual.
const ENOUGH: u64 = 64;

/// How often something rare has happened.
#[derive(Debug, Default)]
pub(super) struct Frequency {
    all: AtomicU64,
    rare: AtomicU64,
}

impl Frequency {
    /// Counts a block or a run.
    #[inline]
    pub(super) fn count(&self, is_rare: bool) {
        // Others may count at the same time: it need not be exact.
        let more =
            |counter: &AtomicU64, by| counter.store(counter.load(Ordering::Relaxed) + by, Ordering::Relaxed);
        more(&self.all, 1);
        if is_rare {
            more(&self.rare, 1);
        }
    }

    /// True if it has happened mostly: passes alone are faster.
    pub(super) fn is_usual(&self) -> bool {
        let [all, rare] = self.counts();
        all >= ENOUGH && rare > all / 2
    }

    /// True if it has hardly ever happened.
    pub(super) fn is_seldom(&self) -> bool {
        let [all, rare] = self.counts();
        rare <= all / ENOUGH
    }

    fn counts(&self) -> [u64; 2] {
        [&self.all, &self.rare].map(|counter| counter.load(Ordering::Relaxed))
    }
}

/// The members of a strip as passes, and how often they were needed.
#[derive(Debug)]
pub(super) struct Again {
    /// A pass for each member; blocks are those of the schedule that has the strip.
    pub(super) passes: Schedule,
    /// Of blocks, those that were run again.
    pub(super) fired: Frequency,
}

impl Again {
    pub(super) fn new(passes: Schedule) -> Again {
        Again { passes, fired: Frequency::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_rows_are_usual_after_many_blocks() {
        let fired = Frequency::default();
        (1..ENOUGH).for_each(|_| fired.count(true));
        assert!(!fired.is_usual() && !fired.is_seldom(), "too few to know");
        fired.count(true);
        assert!(fired.is_usual());
        (0..ENOUGH).for_each(|_| fired.count(false));
        assert!(!fired.is_usual(), "a half");
        (0..ENOUGH * ENOUGH).for_each(|_| fired.count(false));
        assert!(fired.is_seldom());
    }
}
