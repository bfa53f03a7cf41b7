//! One strip over arrays that stand in order along their last axis only: a call takes runs of elements one after the other.
//!
//! ```text
//! inner points of a field     . . . . . .
//!                             . a a a a .      run 0: pointers at its first elements
//!                             . a a a a .      run 1: pointers a stride farther
//!                             . . . . . .
//! ```
//!
//! There is nothing to lay out and no other step, so that a run costs little more than its elements: no blocks, no
//! [worker](super::worker). What has one value in a run is a constant of the run.

use crate::array::block::Column;
use crate::array::fold_kernel::CHUNK;
use crate::array::nd_space::Position;
use crate::machine::tile::axes::Elements;
use crate::machine::tile::blocks::{Blocks, Outcome, Uneven};
use crate::machine::tile::strips::{ColumnSteps, LoadedStrip};
use bumpalo::Bump;
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
        arena: &Bump,
    ) -> Outcome {
        let StripOverRuns { strip, elements } = over;
        let run = elements.run();
        let in_order =
            self.moving.iter().map(|index| (*index, (columns[*index as usize].step * run) as isize));
        let steps = ColumnSteps::in_arena(strip, columns, in_order.chain(elements.between_runs()), arena);
        let of_call = arena.alloc_slice_copy(columns);
        let at_once = steps.runs_at_once(run, CHUNK);
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
            let runs = at_once.min(elements.runs_left(&at)).min((range.end - start) / run);
            let done = if count == run && runs > 1 {
                of_call.copy_from_slice(columns);
                // SAFETY: the caller's promise: the columns stand at the begin of a run, behind which others stand by the steps.
                unsafe { strip.run_often(of_call, run, runs, (&steps, 0)) };
                runs * run
            } else {
                // SAFETY: the caller's promise: the columns stand at so many elements of a run.
                unsafe { strip.run(columns.as_ptr(), 0..count) };
                count
            };
            self.move_on(columns, done);
            start += done;
        }
        Ok(())
    }

    /// Moves the columns that stand in order on by so many elements.
    #[inline]
    pub(super) fn move_on(&self, columns: &mut [Column], count: usize) {
        for index in self.moving {
            let column = &mut columns[*index as usize];
            column.data = column.data.wrapping_add(count.wrapping_mul(column.step));
        }
    }
}
