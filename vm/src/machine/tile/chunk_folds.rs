//! Rows of one chunk that a strip folds in any order: its lanes are all there is to know, and stay on the stack.
//!
//! ```text
//! lanes | lanes | …      as without rows  ─strip─>  of all rows  ─merge─>  one part  ─finish─>  the result
//! ```
//!
//! The same as [strip folds](super::strip_folds), for one call of one strip: nothing goes on in another call, no list of parts
//! is kept, and there are no leaves.

use crate::machine::tile::choose::Choice;
use crate::machine::tile::lowered::{Present, Stage};
use crate::machine::tile::region::{MemberFault, Region};
use crate::machine::tile::strip_folds::{fill, words_of};
use crate::machine::tile::strips::LoadedStrip;
use crate::operator::block::Column;
use crate::operator::cell::Registers;
use crate::operator::fold_kernel::{CHUNK, Folded};
use crate::operator::runs::Runs;
use crate::value::budget::Account;
use crate::vector::first_stage::LANE_WORDS;
use std::mem::MaybeUninit;

/// Most folds of a strip.
const MOST_FOLDS: usize = 8;

/// The lanes of a fold.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Lanes(MaybeUninit<[u64; LANE_WORDS]>);

impl LoadedStrip {
    /// True if it takes few folds, rows in any order, and counts none that may be missing.
    pub(super) fn has_lanes_only(&self) -> bool {
        let is_of_lanes = |stage| matches!(stage, Stage::Lanes { .. } | Stage::Presence);
        let is_counted = |present| matches!(present, Present::Counted(..));
        (1..=MOST_FOLDS).contains(&self.folds.len())
            && self.again.is_none()
            && self.folds.iter().all(|fold| is_of_lanes(fold.stage) && !is_counted(fold.present))
    }
}

impl<'r> Choice<'r> {
    /// The strip of [`Region::fold_chunk`], if that is all there is to do for so many rows.
    #[inline]
    pub(super) fn strip_of_lanes(&self, rows: usize) -> Option<&'r LoadedStrip> {
        match self.strips {
            [strip] if strip.lanes_only && self.schedule.is_one_strip && (1..=CHUNK).contains(&rows) => {
                Some(strip)
            }
            _ => None,
        }
    }
}

impl Region {
    /// Computes all rows, at most those of a chunk, and what becomes of them in folds; false if the order of rows would have
    /// to tell one of them.
    ///
    /// # Safety
    /// As [`Region::run_columns`]; the strip is [`Choice::strip_of_lanes`] for these rows.
    #[inline(never)]
    pub(super) unsafe fn fold_chunk(
        &self,
        strip: &LoadedStrip,
        rows: usize,
        columns: &mut [Column],
        frame: *mut u8,
        registers: &Registers,
    ) -> Result<bool, Box<MemberFault>> {
        // SAFETY: registers of a run point to its arena and its meter.
        let (arena, meter) = unsafe { (&*registers.arena, &*registers.meter) };
        let runs = Runs { run: rows, count: 1, width: 1 };
        let kept: u64 = self.folds.iter().map(|fold| fold.kernel.kept_bytes(runs)).sum();
        meter.charge(kept).map_err(|stop| self.stopped(stop.into()))?;
        let mut lanes = [Lanes(MaybeUninit::uninit()); MOST_FOLDS];
        for (fold, lanes) in strip.folds.iter().zip(&mut lanes) {
            if let Stage::Lanes { step, lane, .. } = fold.stage {
                let place = lanes.0.as_mut_ptr().cast::<u64>();
                // SAFETY: it has room for lanes.
                unsafe { fill(place, step.start(lane)) };
                columns[fold.column as usize].data = place.cast();
            }
        }
        // SAFETY: the caller's promise: the columns have all rows, and folds have lanes.
        unsafe { strip.run(columns, 0..rows) };
        let mut is_open = false;
        for (fold, lanes) in strip.folds.iter().zip(&lanes) {
            let mut folded = Folded::of_stretch(arena);
            if let Stage::Lanes { step, lane, merge } = fold.stage {
                // SAFETY: they were written above.
                let words = unsafe { lanes.0.assume_init() };
                merge(&mut folded, &words_of(words, step, lane), rows);
            }
            folded.present = if let Present::All = fold.present { rows as u64 } else { 0 };
            is_open |= folded.is_open;
            let of_region = &self.folds[fold.fold as usize];
            if let Some(slot) = &of_region.slot {
                let out = frame.wrapping_add(slot.offset() as usize);
                // SAFETY: the caller's promise: the slot has room for the result, and this is known of all rows.
                unsafe { of_region.kernel.finish(&folded.known(), runs, out, &|| false) };
            }
        }
        meter.give_back(kept);
        if let Some(plan) = &self.strips {
            plan.open.count(is_open);
        }
        Ok(!is_open)
    }
}
