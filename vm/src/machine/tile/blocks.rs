//! What all blocks of a region have in common while it runs, and what reductions take in.

use crate::array::block::Column;
use crate::array::meter::Watch;
use crate::array::runs::Runs;
use crate::array::scan::Direction;
use crate::machine::tile::axes::Elements;
use crate::machine::tile::lent::Lent;
use crate::machine::tile::region::{MemberFault, Region};
use crate::machine::tile::schedule::{Presence, Schedule};
use crate::machine::tile::strips::LoadedStrip;
use bumpalo::Bump;

/// What all blocks of a run have in common.
pub(super) struct Blocks<'r> {
    pub(super) region: &'r Region,
    /// What runs for each block.
    pub(super) schedule: &'r Schedule,
    /// The strips of the schedule.
    pub(super) strips: &'r [LoadedStrip],
    pub(super) rows: usize,
    /// Columns at the first row; those in scratch memory point nowhere yet.
    pub(super) columns: &'r mut [Column],
    /// By column; empty if no row of any of them can be missing.
    pub(super) presence: &'r [Presence],
    /// Columns that move on from block to block, by the bytes of their rows.
    pub(super) moving: &'r [u16],
    /// Inputs that do not.
    pub(super) uneven: Uneven<'r>,
    /// How rows or elements become one, for each fold.
    pub(super) runs: &'r [Runs],
    /// Who knows whether the run has to stop.
    pub(super) watch: &'r Option<&'r dyn Watch>,
}

/// Inputs that stand other than row after row in memory.
#[derive(Clone, Copy)]
pub(super) enum Uneven<'r> {
    /// Rows that are lent.
    Rows(&'r [Lent]),
    /// Elements of arrays with axes.
    Elements(&'r Elements<'r>),
}

// SAFETY: the columns point to rows of inputs, which nobody writes during a run, and of outputs, of which
// every thread accesses its own chunks only.
unsafe impl Sync for Blocks<'_> {}

/// Success, or the first fault of the lowest row.
pub(super) type Outcome = Result<(), Box<MemberFault>>;

/// Items in an arena, which is not asked for room for none.
#[inline]
pub(super) fn list<T>(arena: &Bump, items: impl ExactSizeIterator<Item = T>) -> &mut [T] {
    match items.len() {
        0 => &mut [],
        _ => arena.alloc_slice_fill_iter(items),
    }
}

impl Uneven<'_> {
    /// True if there is nothing to lay out.
    fn is_in_place(&self) -> bool {
        match self {
            Uneven::Rows(lent) => lent.iter().all(Lent::is_in_place),
            Uneven::Elements(elements) => elements.is_in_place(),
        }
    }
}

impl<'r> Blocks<'r> {
    /// The strip that is all there is to run, if it can read all rows where they are and cannot fire: then there need be no
    /// blocks.
    #[inline]
    pub(super) fn whole(&self) -> Option<&'r LoadedStrip> {
        self.one_strip().filter(|strip| strip.again.is_none())
    }

    /// The same if it may fire.
    #[inline]
    pub(super) fn one_strip(&self) -> Option<&'r LoadedStrip> {
        match self.strips {
            [strip] if self.schedule.is_one_strip && self.uneven.is_in_place() => Some(strip),
            _ => None,
        }
    }

    /// Elements along the last axis.
    pub(super) fn size_of_run(&self) -> usize {
        match self.uneven {
            Uneven::Rows(_) => self.rows,
            Uneven::Elements(elements) => *elements.shape().last().expect("running sums have an axis"),
        }
    }

    /// True if blocks are computed from the last to the first. There are no reductions then.
    pub(super) fn is_reversed(&self) -> bool {
        self.region.direction == Some(Direction::Back)
    }

    /// A fault if the run has to stop.
    #[inline]
    pub(super) fn poll(&self) -> Outcome {
        match self.watch {
            None => Ok(()),
            Some(watch) => self.ask(*watch),
        }
    }

    #[cold]
    fn ask(&self, watch: &dyn Watch) -> Outcome {
        let ip = self.region.members[0].ip;
        watch.ask().map_err(|stop| Box::new(MemberFault { ip, fault: stop.into() }))
    }
}
