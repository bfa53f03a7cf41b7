//! Rows that a strip folds in one call: lanes, and parts of few leaves, are all there is to know, and stay on the stack.
//!
//! ```text
//! any order    lanes | lanes | …     as without rows  ─strip─>  of all rows  ─merge─>  one part  ─finish─>  the result
//! sums         lanes, parts | …      as without rows  ─strip─>  a part of each leaf              ─finish─>  the result
//! ```
//!
//! The same as [strip folds](super::strip_folds), for one call of one strip: nothing goes on in another call.

use crate::array::block::Column;
use crate::array::fold_kernel::{CHUNK, Known};
use crate::array::runs::Runs;
use crate::machine::tile::choose::Choice;
use crate::machine::tile::lowered::{Present, Stage, StripFold};
use crate::machine::tile::region::Region;
use crate::machine::tile::strip_folds::words_of;
use crate::machine::tile::strips::LoadedStrip;
use crate::strip::{Lane, LaneFold};
use crate::vector::first_stage::LANE_WORDS;
use crate::vector::leaves::Leaves;
use crate::vector::spread::LEAF;
use std::mem::MaybeUninit;
use std::{ptr, slice};

/// Most folds of a strip.
const MOST_FOLDS: usize = 8;

/// Most rows with sums of leaves.
const MOST_ROWS_OF_LEAVES: usize = 2048;

/// Most leaves: where there are two, none has fewer rows.
const MOST_LEAVES: usize = MOST_ROWS_OF_LEAVES / (LEAF / 2);

/// The lanes of a fold, and behind them the parts of its leaves.
#[repr(C, align(64))]
struct Lanes {
    words: MaybeUninit<[u64; LANE_WORDS]>,
    parts: [MaybeUninit<u64>; MOST_LEAVES],
}

impl Lanes {
    const NONE: Lanes = Lanes { words: MaybeUninit::uninit(), parts: [MaybeUninit::uninit(); MOST_LEAVES] };

    /// Makes all lanes one word; where they stand.
    #[inline]
    fn begin(&mut self, word: u64) -> *const u8 {
        self.words.write([word; LANE_WORDS]);
        ptr::from_mut(self).cast_const().cast()
    }

    /// The parts as words.
    ///
    /// # Safety
    /// So many have been written, of this type one after the other.
    unsafe fn parts(&mut self, lane: Lane, count: usize) -> &mut [u64] {
        let parts = self.parts.as_mut_ptr().cast::<u64>();
        // SAFETY: the caller's promise; a part of 32 bits is read before a word is written there.
        unsafe {
            if lane == Lane::F32 {
                for number in (0..count).rev() {
                    parts.add(number).write(parts.cast::<u32>().add(number).read().into());
                }
            }
            slice::from_raw_parts_mut(parts, count)
        }
    }
}

/// Notes where the leaves of so many rows end; how many there are.
fn note_ends(rows: usize, ends: &mut [MaybeUninit<usize>; MOST_LEAVES]) -> usize {
    let (mut leaves, mut row, mut count) = (Leaves::of(rows), 0, 0);
    while row < rows {
        row += leaves.next_size();
        ends[count].write(row);
        count += 1;
    }
    count
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
    ) -> bool {
        // SAFETY: the caller's promise.
        let column = |column: u16| unsafe { columns.add(column as usize) };
        let mut ends = [const { MaybeUninit::uninit() }; MOST_LEAVES];
        let mut leaves = 0;
        // Of rows, and of those that are present.
        let (mut lanes, mut counts) =
            ([const { Lanes::NONE }; MOST_FOLDS], [const { Lanes::NONE }; MOST_FOLDS]);
        for ((fold, lanes), counts) in strip.folds.iter().zip(&mut lanes).zip(&mut counts) {
            // SAFETY: the caller's promise.
            let begin = |of: u16, lanes| unsafe { (&raw mut (*column(of)).data).write(lanes) };
            match fold.stage {
                Stage::Lanes { step, lane, .. } => begin(fold.column, lanes.begin(step.start(lane))),
                Stage::Leaves(lane) => {
                    begin(fold.column, lanes.begin(lane.lanes_of_no_rows()));
                    if leaves == 0 {
                        leaves = note_ends(rows, &mut ends);
                    }
                    // SAFETY: the caller's promise.
                    unsafe { (&raw mut (*column(fold.column)).presence).write(ends.as_ptr().cast()) };
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
        for ((fold, lanes), counts) in strip.folds.iter().zip(&mut lanes).zip(&counts) {
            let mut part;
            let parts = match fold.stage {
                Stage::Lanes { step, lane, merge } => {
                    // SAFETY: they have begun above.
                    let lanes = unsafe { lanes.words.assume_init() };
                    let merged = merge.part(&words_of(lanes, step, lane), rows);
                    is_open |= merged.is_open;
                    part = [merged.part];
                    &mut part
                }
                // SAFETY: the strip has written a part for each leaf.
                Stage::Leaves(lane) => unsafe { lanes.parts(lane, leaves) },
                _ => &mut [][..],
            };
            let present = match fold.present {
                Present::Unasked => 0,
                Present::All => rows as u64,
                Present::Counted(_, lane) => {
                    // SAFETY: as above.
                    let counts = unsafe { counts.words.assume_init() };
                    words_of(counts, LaneFold::Sum, lane).iter().sum()
                }
            };
            let of_region = &self.folds[fold.fold as usize];
            if let Some(slot) = &of_region.slot {
                let out = frame.wrapping_add(slot.offset() as usize);
                let runs = Runs { run: rows, count: 1, width: 1 };
                // SAFETY: the caller's promise: the slot has room for the result, and this is known of all rows.
                unsafe { of_region.kernel.finish(Known { parts, present }, runs, out, &|| false) };
            }
        }
        if let Some(plan) = &self.strips {
            plan.open.count(is_open);
        }
        !is_open
    }
}
