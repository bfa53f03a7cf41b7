//! Folds that strips take in.
//!
//! ```text
//! leaves      | leaf 0      | leaf 1      | leaf 2      |
//! calls       | first call         | second call        |      a leaf goes on in the next call, with its lanes
//!
//! columns     a sum of leaves: lanes, then the parts of the leaves of a call; and where these leaves end
//!             a fold in any order: lanes, which are merged and begin anew after each call
//!             a spread sum: 32 lanes, which go on from call to call up to the end of a chunk
//!             rows that are present: a sum of ones in any order
//! ```
//!
//! With sums of leaves a call ends with a leaf, or a multiple of eight rows behind the begin of one, as
//! [strips](crate::strip) want it. All sums of leaves in strips of a region have the same leaves.

use crate::array::block::Column;
use crate::array::fold_kernel::{CHUNK, Folded};
use crate::array::runs::Runs;
use crate::machine::tile::lowered::{Present, Stage, StripFold};
use crate::machine::tile::strips::LoadedStrip;
use crate::strip::{Lane, LaneFold};
use crate::vector::first_stage::{LANE_WORDS, SPREAD_WORDS};
use crate::vector::lanes::LANES as SPREAD_LANES;
use crate::vector::leaves::Leaves;
use bumpalo::Bump;
use std::alloc::Layout;
use std::{ptr, slice};

/// Most rows of a call of a strip with sums in leaves.
const MOST_ROWS: usize = 4096;

/// Fewest rows or elements of a run, so that there are not many leaves in a call.
pub(super) const LEAST_RUN: usize = 16;

/// Most leaves of a call: two may be cut.
const MOST_LEAVES: usize = MOST_ROWS / LEAST_RUN + 2;

/// Chunks of spread sums.
#[derive(Clone, Copy, Debug)]
struct Spread {
    /// Rows of the chunk that were in calls before.
    kept: usize,
    /// Rows that follow, those of other threads included.
    left: usize,
}

/// Where leaves begin and end.
#[derive(Clone, Debug)]
struct Cursor {
    leaves: Leaves,
    /// Size of the next row's leaf.
    leaf: usize,
    /// Rows of it that were in calls before.
    kept: usize,
}

/// The leaves of calls.
struct LeavesOfCalls {
    /// At the first row of the next call, and at that of the one after.
    cursor: Cursor,
    next: Cursor,
    /// Leaves of the call.
    count: usize,
    /// Where they end.
    ends: *mut usize,
}

/// What strips of one thread have taken in.
pub(super) struct StripFolds<'a> {
    /// None if all folds take rows in any order.
    leaves: Option<LeavesOfCalls>,
    /// None if there are no spread sums.
    spread: Option<Spread>,
    strips: &'a [LoadedStrip],
    /// For each fold of each strip.
    places: &'a mut [Places],
}

/// Lanes, behind which parts follow: of the fold, and of present rows if they are counted.
#[derive(Clone, Copy)]
struct Places {
    fold: *mut u64,
    present: *mut u64,
}

impl<'a> StripFolds<'a> {
    /// Gives the columns of folds places in the arena; none if the strips have no folds. Leaves are those of runs from a
    /// row on that one begins with.
    pub(super) fn new(
        strips: &'a [LoadedStrip],
        runs: &[Runs],
        first_row: usize,
        columns: &mut [Column],
        arena: &'a Bump,
    ) -> Option<StripFolds<'a>> {
        all(strips).next()?;
        let of_leaves = all(strips).find(|fold| matches!(fold.stage, Stage::Leaves(_)));
        let leaves = of_leaves.map(|fold| {
            let (mut leaves, _) = Leaves::from(runs[fold.fold as usize].run, first_row);
            let leaf = leaves.next_size();
            let cursor = Cursor { leaves, leaf, kept: 0 };
            let ends = arena.alloc_layout(Layout::new::<[usize; MOST_LEAVES]>()).as_ptr().cast::<usize>();
            LeavesOfCalls { next: cursor.clone(), cursor, count: 0, ends }
        });
        let ends = leaves.as_ref().map_or(ptr::null_mut(), |leaves| leaves.ends);
        let mut place = |column: u16, layout: Layout, start: u64| {
            let place = arena.alloc_layout(layout).as_ptr().cast::<u64>();
            // SAFETY: it has room for lanes.
            unsafe { fill(place, start) };
            let column = &mut columns[column as usize];
            (column.data, column.presence) = (place.cast(), ends.cast());
            place
        };
        let of_chunks = all(strips).find(|fold| matches!(fold.stage, Stage::Spread(..)));
        let spread = of_chunks
            .map(|fold| Spread { kept: first_row % CHUNK, left: runs[fold.fold as usize].run - first_row });
        let lanes = Layout::new::<[u64; LANE_WORDS]>();
        let (none, count) = (Places { fold: ptr::null_mut(), present: ptr::null_mut() }, all(strips).count());
        let places = arena.alloc_slice_fill_copy(count, none);
        for (fold, places) in all(strips).zip(&mut *places) {
            places.fold = match fold.stage {
                Stage::Presence => ptr::null_mut(),
                Stage::Leaves(lane) => {
                    let parts = Layout::new::<[u64; LANE_WORDS + MOST_LEAVES]>();
                    place(fold.column, parts, lane.lanes_of_no_rows())
                }
                Stage::Lanes { step, lane, .. } => place(fold.column, lanes, step.start(lane)),
                Stage::Spread(..) => {
                    let place = place(fold.column, Layout::new::<[u64; SPREAD_WORDS]>(), 0);
                    // SAFETY: there is room for so many.
                    unsafe { place.cast::<[u64; SPREAD_WORDS]>().write([0; SPREAD_WORDS]) };
                    place
                }
                Stage::SideBySide { .. } => unreachable!("elements become one otherwise"),
            };
            if let Present::Counted(column, _) = fold.present {
                places.present = place(column, lanes, 0);
            }
        }
        Some(StripFolds { leaves, spread, strips, places })
    }

    /// Most rows of a call.
    pub(super) fn most_rows(&self) -> usize {
        if self.leaves.is_none() { CHUNK } else { MOST_ROWS }
    }

    /// Where a call ends that begins with the next row and takes at most so many, which are not more than
    /// [`StripFolds::most_rows`]. The first row of the call has the number `base`.
    pub(super) fn begin(&mut self, rows: usize, base: usize) -> usize {
        assert!(rows <= self.most_rows(), "a call for few rows");
        let rows = self.spread.map_or(rows, |spread| spread.begin(rows));
        base + self.leaves.as_mut().map_or(rows, |leaves| leaves.begin(rows, base))
    }

    /// Takes in what every strip has computed in a call of so many rows.
    pub(super) fn take(&mut self, rows: usize, folded: &mut [Folded<'_>]) {
        for (fold, places) in all(self.strips).zip(&*self.places) {
            let folded = &mut folded[fold.fold as usize];
            // SAFETY: strips have written lanes, and so many parts behind them.
            unsafe {
                match (fold.stage, &self.leaves) {
                    (Stage::Lanes { step, lane, merge }, _) => {
                        let lanes = take_lanes(places.fold, step, lane);
                        folded.take_lanes(merge, &lanes, rows);
                    }
                    (Stage::Leaves(lane), Some(leaves)) => leaves.take(lane, places.fold, folded),
                    (Stage::Spread(lane, merge), _) => {
                        if let Some(spread) = self.spread.filter(|spread| spread.is_end(rows)) {
                            merge(folded, &spread.take(rows, lane, places.fold));
                        }
                    }
                    (Stage::Leaves(_) | Stage::Presence | Stage::SideBySide { .. }, _) => {}
                }
                folded.present += match fold.present {
                    Present::Unasked => 0,
                    Present::All => rows as u64,
                    Present::Counted(_, lane) => take_lanes(places.present, LaneFold::Sum, lane).iter().sum(),
                };
            }
        }
        if let Some(spread) = &mut self.spread {
            (spread.kept, spread.left) = ((spread.kept + rows) % CHUNK, spread.left - rows);
        }
        if let Some(leaves) = &mut self.leaves {
            std::mem::swap(&mut leaves.cursor, &mut leaves.next);
        }
    }
}

/// Rows of a group, and how many eights of lanes they go to in turn.
const EIGHT: usize = 8;

impl Spread {
    /// The rows of a call, at most so many: multiples of eight, or up to the end of a chunk or of all rows.
    fn begin(self, rows: usize) -> usize {
        let rest = self.left.min(CHUNK - self.kept);
        if rows < rest { rows / EIGHT * EIGHT } else { rest }
    }

    /// True if a call of so many rows ends a chunk, or with the last row.
    fn is_end(self, rows: usize) -> bool {
        self.kept + rows == CHUNK || self.left == rows
    }

    /// The lanes of a chunk that ends with so many rows, in their order, which begin anew. They have moved by the whole
    /// groups of the chunk.
    ///
    /// # Safety
    /// The place has lanes of this type.
    unsafe fn take(self, rows: usize, lane: Lane, place: *mut u64) -> [u64; SPREAD_WORDS] {
        // SAFETY: the caller's promise.
        let moved = unsafe {
            let moved = place.cast::<[u64; SPREAD_WORDS]>().read();
            place.cast::<[u64; SPREAD_WORDS]>().write([0; SPREAD_WORDS]);
            moved
        };
        let words = EIGHT * lane.bytes() / size_of::<u64>();
        let count = SPREAD_LANES / EIGHT;
        let first = (self.kept + rows) / EIGHT % count;
        let mut lanes = [0; SPREAD_WORDS];
        for number in 0..count {
            let to = (first + number) % count * words;
            lanes[to..][..words].copy_from_slice(&moved[number * words..][..words]);
        }
        lanes
    }
}

impl LeavesOfCalls {
    /// The rows of a call, at most so many, whose leaves are noted.
    fn begin(&mut self, rows: usize, base: usize) -> usize {
        self.next.clone_from(&self.cursor);
        let Cursor { leaves, leaf, kept } = &mut self.next;
        self.count = 0;
        let mut row = 0;
        while row < rows {
            let rest = *leaf - *kept;
            let taken = match row + rest > rows {
                // A multiple of eight rows behind the begin of the leaf.
                true => ((*kept + rows - row) / 8 * 8).saturating_sub(*kept),
                false => rest,
            };
            if taken == 0 {
                break;
            }
            row += taken;
            assert!(self.count < MOST_LEAVES, "leaves of {LEAST_RUN} rows");
            // SAFETY: there is room for so many.
            unsafe { self.ends.add(self.count).write(base + row) };
            self.count += 1;
            if taken < rest {
                *kept += taken;
                break;
            }
            (*leaf, *kept) = (leaves.next_size(), 0);
        }
        assert!(row > 0 || rows == 0, "a call ends behind its first row");
        row
    }

    /// Takes the parts of leaves that are whole, and makes the lanes begin anew if the last one is.
    ///
    /// # Safety
    /// A strip has written lanes to the place, and a part for each leaf of the call behind them.
    unsafe fn take(&self, lane: Lane, place: *mut u64, folded: &mut Folded<'_>) {
        let is_whole = self.next.kept == 0;
        let whole = self.count - usize::from(!is_whole);
        // SAFETY: the caller's promise.
        unsafe {
            let parts = place.add(LANE_WORDS);
            match lane {
                Lane::F32 => {
                    let parts = slice::from_raw_parts(parts.cast::<u32>(), whole);
                    folded.parts.extend(parts.iter().map(|part| u64::from(*part)));
                }
                _ => folded.parts.extend_from_slice(slice::from_raw_parts(parts, whole)),
            }
            if is_whole {
                fill(place, lane.lanes_of_no_rows());
            }
        }
    }
}

/// All folds of strips.
fn all(strips: &[LoadedStrip]) -> impl Iterator<Item = &StripFold> {
    strips.iter().flat_map(|strip| &*strip.folds)
}

/// Lanes of rows in any order, as [`words_of`] has them, which begin anew.
///
/// # Safety
/// The place has lanes.
unsafe fn take_lanes(place: *mut u64, step: LaneFold, lane: Lane) -> [u64; LANE_WORDS] {
    // SAFETY: the caller's promise.
    let lanes = unsafe {
        let lanes = place.cast::<[u64; LANE_WORDS]>().read();
        fill(place, step.start(lane));
        lanes
    };
    words_of(lanes, step, lane)
}

/// Lanes of rows in any order; sums as words of 64 bits.
#[inline]
pub(super) fn words_of(lanes: [u64; LANE_WORDS], step: LaneFold, lane: Lane) -> [u64; LANE_WORDS] {
    match (step, lane) {
        (LaneFold::Sum, Lane::I32) => lanes.map(|word| {
            let halves = [word as i32, (word >> 32) as i32];
            halves.map(i64::from).iter().sum::<i64>() as u64
        }),
        _ => lanes,
    }
}

/// Makes all lanes one word.
///
/// # Safety
/// There is room for them.
unsafe fn fill(lanes: *mut u64, word: u64) {
    // SAFETY: the caller's promise.
    unsafe { lanes.cast::<[u64; LANE_WORDS]>().write([word; LANE_WORDS]) };
}
