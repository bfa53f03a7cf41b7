//! Rare rows: blocks in which a strip fires are run again by passes over the same members, which raise if that is why.
//!
//! ```text
//! strip    { x2 = x * x    s = sin(x2)    r = s + 1 }     fires: some |x2| is above 2^21
//! again      x2 │ s │ r                                   x2 and s in scratch memory, r where the strip has put it
//! ```
//!
//! A strip that can fire runs for one block at a time. Results of the strip are written over, all other columns are what
//! they were: nothing that a strip reads is written by it.

use crate::machine::tile::schedule::Schedule;
use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks after which it is known whether rare rows are usual.
const ENOUGH: u64 = 64;

/// The members of a strip as passes, and how often they were needed.
#[derive(Debug)]
pub(super) struct Again {
    /// A pass for each member; blocks are those of the schedule that has the strip.
    pub(super) passes: Schedule,
    /// Blocks that ran as a strip.
    blocks: AtomicU64,
    /// Those that were run again.
    fired: AtomicU64,
}

impl Again {
    pub(super) fn new(passes: Schedule) -> Again {
        Again { passes, blocks: AtomicU64::new(0), fired: AtomicU64::new(0) }
    }

    /// Counts a block.
    #[inline]
    pub(super) fn count(&self, has_fired: bool) {
        // Others may count at the same time: it need not be exact.
        let more =
            |counter: &AtomicU64, by| counter.store(counter.load(Ordering::Relaxed) + by, Ordering::Relaxed);
        more(&self.blocks, 1);
        if has_fired {
            more(&self.fired, 1);
        }
    }

    /// True if most blocks have been run again: passes alone are faster.
    pub(super) fn is_usual(&self) -> bool {
        let [blocks, fired] = [&self.blocks, &self.fired].map(|counter| counter.load(Ordering::Relaxed));
        blocks >= ENOUGH && fired > blocks / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_rows_are_usual_after_many_blocks() {
        let passes = Schedule {
            block: 64,
            steps: Box::new([]),
            in_scratch: Box::new([]),
            scratch: 0,
            is_one_strip: false,
            at_once: 64,
        };
        let again = Again::new(passes);
        (1..ENOUGH).for_each(|_| again.count(true));
        assert!(!again.is_usual(), "too few to know");
        again.count(true);
        assert!(again.is_usual());
        (0..ENOUGH).for_each(|_| again.count(false));
        assert!(!again.is_usual(), "a half");
    }
}
