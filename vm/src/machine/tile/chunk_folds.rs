//! Rows that a strip folds in one call: lanes, and parts of few leaves, are all there is to know, and stay on the stack.
//!
//! ```text
//! any order    lanes | lanes | …     as without rows  ─strip─>  of all rows  ─merge─>  one part  ─finish─>  the result
//! sums         lanes, parts | …      as without rows  ─strip─>  a part of each leaf              ─finish─>  the result
//! ```
//!
//! The same as [strip folds](super::strip_folds), for one call of one strip: nothing goes on in another call.

use crate::array::block::Column;
use crate::array::fold_kernel::{CHUNK, Folded};
use crate::array::meter::Meter;
use crate::array::runs::Runs;
use crate::machine::tile::choose::Choice;
use crate::machine::tile::lowered::{Present, Stage, StripFold};
use crate::machine::tile::region::{MemberFault, Region};
use crate::machine::tile::strip_folds::{take_parts, words_of};
use crate::machine::tile::strips::LoadedStrip;
use crate::strip::LaneFold;
use crate::value::budget::Account;
use crate::vector::first_stage::LANE_WORDS;
use crate::vector::leaves::Leaves;
use crate::vector::spread::LEAF;
use bumpalo::Bump;
use std::mem::MaybeUninit;
use std::ptr;

/// Most folds of a strip.
const MOST_FOLDS: usize = 8;

/// Most rows with sums of leaves.
const MOST_ROWS_OF_LEAVES: usize = 2048;

/// Most leaves: where there are two, none has fewer rows.
const MOST_LEAVES: usize = MOST_ROWS_OF_LEAVES / (LEAF / 2);

/// The lanes of a fold, and the parts of its leaves.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Lanes(MaybeUninit<[u64; LANE_WORDS]>, MaybeUninit<[u64; MOST_LEAVES]>);

/// Where leaves end.
struct Ends {
    rows: [MaybeUninit<usize>; MOST_LEAVES],
    count: usize,
}

impl Ends {
    /// Those of so many rows.
    fn of(rows: usize) -> Ends {
        let (mut leaves, mut row) = (Leaves::of(rows), 0);
        let mut ends = Ends { rows: [const { MaybeUninit::uninit() }; MOST_LEAVES], count: 0 };
        while row < rows {
            row += leaves.next_size();
            ends.rows[ends.count].write(row);
            ends.count += 1;
        }
        ends
    }
}

impl Lanes {
    /// Makes all lanes one word; where they stand, parts behind them.
    #[inline]
    fn begin(&mut self, word: u64) -> *const u8 {
        self.0.write([word; LANE_WORDS]);
        ptr::from_mut(self).cast_const().cast()
    }
}

impl LoadedStrip {
    /// True if it takes few folds, which go to lanes and few leaves.
    #[inline]
    fn has_few_lanes(&self, rows: usize) -> bool {
        let is_of_lanes = |fold: &StripFold| match fold.stage {
            Stage::Lanes { .. } | Stage::Presence => true,
            Stage::Leaves(_) => rows <= MOST_ROWS_OF_LEAVES,
            Stage::Spread(..) | Stage::SideBySide { .. } => false,
        };
        let is_few = (1..=MOST_FOLDS).contains(&self.folds.len());
        is_few && self.again.is_none() && self.folds.iter().all(is_of_lanes)
    }

    fn has_leaves(&self) -> bool {
        self.folds.iter().any(|fold| matches!(fold.stage, Stage::Leaves(_)))
    }
}

impl<'r> Choice<'r> {
    /// The strip of [`Region::fold_chunk`], if that is all there is to do for so many rows.
    #[inline]
    pub(super) fn strip_of_lanes(&self, rows: usize) -> Option<&'r LoadedStrip> {
        match self.strips {
            [strip] if self.schedule.is_one_strip && (1..=CHUNK).contains(&rows) => {
                Some(strip).filter(|strip| strip.has_few_lanes(rows))
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
        let ends = Ends::of(if strip.has_leaves() { rows } else { 0 });
        // Of rows, and of those that are present.
        let [mut lanes, mut counts] = [[Lanes(MaybeUninit::uninit(), MaybeUninit::uninit()); MOST_FOLDS]; 2];
        for ((fold, lanes), counts) in strip.folds.iter().zip(&mut lanes).zip(&mut counts) {
            match fold.stage {
                Stage::Lanes { step, lane, .. } => begin(fold.column, lanes.begin(step.start(lane))),
                Stage::Leaves(lane) => {
                    begin(fold.column, lanes.begin(lane.lanes_of_no_rows()));
                    // SAFETY: the caller's promise.
                    unsafe {
                        (&raw mut (*columns.add(fold.column as usize)).presence)
                            .write(ends.rows.as_ptr().cast());
                    }
                }
                _ => {}
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
            match fold.stage {
                Stage::Lanes { step, lane, merge } => {
                    // SAFETY: they have begun above.
                    let lanes = unsafe { lanes.0.assume_init() };
                    merge(&mut folded, &words_of(lanes, step, lane), rows);
                }
                // SAFETY: the strip has written a part for each leaf.
                Stage::Leaves(lane) => unsafe {
                    take_parts(lane, lanes.1.as_ptr().cast(), ends.count, &mut folded)
                },
                _ => {}
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
