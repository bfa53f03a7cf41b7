//! Rows of one chunk that a strip folds in any order: its lanes are all there is to know, and stay on the stack.
//!
//! ```text
//! lanes | lanes | …      as without rows  ─strip─>  of all rows  ─merge─>  one part  ─finish─>  the result
//! ```
//!
//! The same as [strip folds](super::strip_folds), for one call of one strip: nothing goes on in another call, no list of parts
//! is kept, and there are no leaves.

use crate::array::block::Column;
use crate::array::fold_kernel::{CHUNK, Folded};
use crate::array::meter::Meter;
use crate::array::runs::Runs;
use crate::machine::tile::choose::Choice;
use crate::machine::tile::lowered::{Present, Stage, StripFold};
use crate::machine::tile::region::{MemberFault, Region};
use crate::machine::tile::strip_folds::words_of;
use crate::machine::tile::strips::LoadedStrip;
use crate::strip::LaneFold;
use crate::value::budget::Account;
use crate::vector::first_stage::LANE_WORDS;
use bumpalo::Bump;
use std::mem::MaybeUninit;

/// Most folds of a strip.
const MOST_FOLDS: usize = 8;

/// The lanes of a fold.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Lanes(MaybeUninit<[u64; LANE_WORDS]>);

impl Lanes {
    /// Makes all lanes one word; where they stand.
    #[inline]
    fn begin(&mut self, word: u64) -> *const u8 {
        self.0.write([word; LANE_WORDS]).as_mut_ptr().cast_const().cast()
    }
}

impl LoadedStrip {
    /// True if it takes few folds, rows in any order.
    fn has_lanes_only(&self) -> bool {
        let is_of_lanes = |fold: &StripFold| matches!(fold.stage, Stage::Lanes { .. } | Stage::Presence);
        let is_few = (1..=MOST_FOLDS).contains(&self.folds.len());
        is_few && self.again.is_none() && self.folds.iter().all(is_of_lanes)
    }
}

impl<'r> Choice<'r> {
    /// The strip of [`Region::fold_chunk`], if that is all there is to do for so many rows.
    #[inline]
    pub(super) fn strip_of_lanes(&self, rows: usize) -> Option<&'r LoadedStrip> {
        match self.strips {
            [strip] if self.schedule.is_one_strip && (1..=CHUNK).contains(&rows) => {
                Some(strip).filter(|strip| strip.has_lanes_only())
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
        columns: *mut Column,
        frame: *mut u8,
        arena: &Bump,
        meter: &Meter<'_>,
    ) -> Result<bool, Box<MemberFault>> {
        let runs = Runs { run: rows, count: 1, width: 1 };
        let kept: u64 = self.folds.iter().map(|fold| fold.kernel.kept_bytes(runs)).sum();
        meter.charge(kept).map_err(|stop| self.stopped(stop.into()))?;
        // SAFETY: the caller's promise.
        let begin =
            |column: u16, lanes| unsafe { (&raw mut (*columns.add(column as usize)).data).write(lanes) };
        // Of rows, and of those that are present.
        let [mut lanes, mut counts] = [[Lanes(MaybeUninit::uninit()); MOST_FOLDS]; 2];
        for ((fold, lanes), counts) in strip.folds.iter().zip(&mut lanes).zip(&mut counts) {
            if let Stage::Lanes { step, lane, .. } = fold.stage {
                begin(fold.column, lanes.begin(step.start(lane)));
            }
            if let Present::Counted(column, lane) = fold.present {
                begin(column, counts.begin(LaneFold::Sum.start(lane)));
            }
        }
        // SAFETY: the caller's promise: the columns have all rows, and folds have lanes.
        unsafe { strip.run(columns, 0..rows) };
        let mut is_open = false;
        for ((fold, lanes), counts) in strip.folds.iter().zip(&lanes).zip(&counts) {
            let mut folded = Folded::of_stretch(arena);
            if let Stage::Lanes { step, lane, merge } = fold.stage {
                // SAFETY: they have begun above.
                let lanes = unsafe { lanes.0.assume_init() };
                merge(&mut folded, &words_of(lanes, step, lane), rows);
            }
            folded.present = match fold.present {
                Present::Unasked => 0,
                Present::All => rows as u64,
                Present::Counted(_, lane) => {
                    // SAFETY: as above.
                    let counts = unsafe { counts.0.assume_init() };
                    words_of(counts, LaneFold::Sum, lane).iter().sum()
                }
            };
            is_open |= folded.is_open;
            let of_region = &self.folds[fold.fold as usize];
            if let Some(slot) = &of_region.slot {
                let out = frame.wrapping_add(slot.offset() as usize);
                // SAFETY: the caller's promise: the slot has room for the result, and this is known of all rows.
                unsafe { of_region.kernel.finish(folded.known(), runs, out, &|| false) };
            }
        }
        meter.give_back(kept);
        if let Some(plan) = &self.strips {
            plan.open.count(is_open);
        }
        Ok(!is_open)
    }
}
