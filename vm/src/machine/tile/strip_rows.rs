//! One strip over arrays that stand in order along their last axis only: it is called for each run of elements.
//!
//! ```text
//! inner points of a field     . . . . . .
//!                             . a a a a .      run 0: pointers at its first elements
//!                             . a a a a .      run 1: pointers a stride farther
//!                             . . . . . .
//! ```
//!
//! There is nothing to lay out and no other step, so that a run costs little more than the call: no blocks, no
//! [worker](super::worker).

use crate::machine::tile::axes::Elements;
use crate::machine::tile::blocks::{Blocks, Outcome, Uneven};
use crate::machine::tile::strips::LoadedStrip;
use crate::operator::block::Column;
use crate::operator::fold_kernel::CHUNK;
use crate::operator::nd_walk::Position;
use std::ops::Range;

/// A strip that is all there is to run, and the elements that it finds where they lie.
pub(super) struct StripOverRuns<'r> {
    strip: &'r LoadedStrip,
    elements: &'r Elements<'r>,
}

impl<'r> Blocks<'r> {
    /// The strip that is all there is to run, if each run of elements can be read and written where it lies, and it cannot
    /// fire.
    pub(super) fn over_runs(&self) -> Option<StripOverRuns<'r>> {
        match (self.strips, self.uneven) {
            ([strip], Uneven::Elements(elements))
                if self.schedule.is_one_strip
                    && strip.folds.is_empty()
                    && strip.again.is_none()
                    && elements.has_runs_in_place() =>
            {
                Some(StripOverRuns { strip, elements })
            }
            _ => None,
        }
    }

    /// Computes elements run by run.
    ///
    /// # Safety
    /// As [`Blocks::run`], for these columns, which stand at the first element of all.
    pub(super) unsafe fn run_over_runs(
        &self,
        over: StripOverRuns<'_>,
        columns: &mut [Column],
        range: Range<usize>,
    ) -> Outcome {
        let StripOverRuns { strip, elements } = over;
        let mut at = Position::default();
        let (mut start, mut polled) = (range.start, range.start);
        self.poll()?;
        self.move_on(columns, start);
        while start < range.end {
            if start - polled >= CHUNK {
                self.poll()?;
                polled = start;
            }
            let count = elements.begin_run(&mut at, start, columns).min(range.end - start);
            // SAFETY: the caller's promise: the columns stand at so many elements of a run.
            unsafe { strip.run(columns, 0..count) };
            self.move_on(columns, count);
            start += count;
        }
        Ok(())
    }

    /// Moves the columns that stand in order on by so many elements.
    #[inline]
    fn move_on(&self, columns: &mut [Column], count: usize) {
        for index in self.moving {
            let column = &mut columns[*index as usize];
            column.data = column.data.wrapping_add(count.wrapping_mul(column.step));
        }
    }
}
