//! Sums that strips take in, leaf by leaf.
//!
//! ```text
//! leaves      | leaf 0      | leaf 1      | leaf 2      |
//! calls       | first call         | second call        |      a leaf goes on in the next call, with its lanes
//! columns     a fold: lanes, then the parts of the leaves of a call; and where these leaves end
//!             rows that are present: the same, as numbers 1 and 0
//! ```
//!
//! A call ends with a leaf, or a multiple of eight rows behind the begin of one, as [strips](crate::strip) want it. All
//! folds in strips of a region have the same leaves. Sums of integers are the same in any order: those of one run are
//! taken in as if the rows of a call were a leaf.

use crate::machine::tile::strips::{LoadedStrip, Present, StripSum};
use crate::operator::block::Column;
use crate::operator::fold_kernel::{CHUNK, Folded, Runs};
use crate::strip::Lane;
use crate::vector::leaves::Leaves;
use bumpalo::Bump;
use std::alloc::Layout;
use std::{ptr, slice};

/// Lanes of a sum before its parts, in words.
const LANES: usize = 8;

/// Most rows of a call of a strip with sums in leaves.
const MOST_ROWS: usize = 4096;

/// Fewest rows or elements of a run, so that there are not many leaves in a call.
pub(super) const LEAST_RUN: usize = 16;

/// Most leaves of a call: two may be cut.
const MOST_LEAVES: usize = MOST_ROWS / LEAST_RUN + 2;

/// Where leaves begin and end.
#[derive(Clone, Debug)]
struct Cursor {
    leaves: Leaves,
    /// Size of the next row's leaf.
    leaf: usize,
    /// Rows of it that were in calls before.
    kept: usize,
}

/// What strips of one thread have taken in.
pub(super) struct StripSums<'a> {
    /// At the first row of the next call, and at that of the one after.
    cursor: Cursor,
    next: Cursor,
    /// True if the rows of a call are taken in as a leaf.
    has_any_order: bool,
    /// Leaves of the call.
    count: usize,
    /// Where they end.
    ends: *mut usize,
    strips: &'a [LoadedStrip],
    /// For each sum of each strip.
    places: &'a mut [Places],
}

/// Lanes and parts: of the sum, and of present rows if they are counted.
#[derive(Clone, Copy)]
struct Places {
    sum: *mut u64,
    present: *mut u64,
}

impl<'a> StripSums<'a> {
    /// Gives the columns of sums places in the arena; none if the strips have no sums. Leaves are those of runs from a
    /// row on that one begins with.
    pub(super) fn new(
        strips: &'a [LoadedStrip],
        runs: &[Runs],
        first_row: usize,
        columns: &mut [Column],
        arena: &'a Bump,
    ) -> Option<StripSums<'a>> {
        let first = all(strips).next()?;
        let (mut leaves, _) = Leaves::from(runs[first.fold as usize].run, first_row);
        let leaf = leaves.next_size();
        let cursor = Cursor { leaves, leaf, kept: 0 };
        let ends = arena.alloc_layout(Layout::new::<[usize; MOST_LEAVES]>()).as_ptr().cast::<usize>();
        let mut place = |lane: Lane, column: u16| {
            let place =
                arena.alloc_layout(Layout::new::<[u64; LANES + MOST_LEAVES]>()).as_ptr().cast::<u64>();
            // SAFETY: it has room for lanes.
            unsafe { clear(place, lane) };
            let column = &mut columns[column as usize];
            (column.data, column.presence) = (place.cast(), ends.cast());
            place
        };
        let count = all(strips).count();
        let places =
            arena.alloc_slice_fill_copy(count, Places { sum: ptr::null_mut(), present: ptr::null_mut() });
        for (sum, places) in all(strips).zip(&mut *places) {
            places.sum = place(sum.lane, sum.column);
            if let Present::Counted(column) = sum.present {
                places.present = place(Lane::I64, column);
            }
        }
        let is_one_run = all(strips).all(|sum| runs[sum.fold as usize].count == 1);
        let has_any_order = is_one_run && all(strips).all(|sum| sum.lane == Lane::I64);
        let next = cursor.clone();
        Some(StripSums { next, cursor, has_any_order, count: 0, ends, strips, places })
    }

    /// Most rows of a call.
    pub(super) fn most_rows(&self) -> usize {
        if self.has_any_order { CHUNK } else { MOST_ROWS }
    }

    /// Where a call ends that begins with the next row and takes at most so many, which are not more than
    /// [`StripSums::most_rows`]. The first row of the call has the number `base`.
    pub(super) fn begin(&mut self, rows: usize, base: usize) -> usize {
        assert!(rows <= self.most_rows(), "a call for few rows");
        if self.has_any_order {
            // SAFETY: there is room for one.
            unsafe { self.ends.write(base + rows) };
            self.count = 1;
            return base + rows;
        }
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
        base + row
    }

    /// Takes the parts of the leaves that every strip has computed in a call of so many rows.
    pub(super) fn take(&mut self, rows: usize, folded: &mut [Folded<'_>]) {
        let is_whole = self.next.kept == 0;
        let whole = self.count - usize::from(!is_whole);
        for (sum, places) in all(self.strips).zip(&*self.places) {
            let folded = &mut folded[sum.fold as usize];
            // SAFETY: strips have written lanes, and so many parts behind them.
            unsafe {
                let parts = places.sum.add(LANES);
                match sum.lane {
                    Lane::F32 => {
                        let parts = slice::from_raw_parts(parts.cast::<u32>(), whole);
                        folded.parts.extend(parts.iter().map(|part| u64::from(*part)));
                    }
                    _ => folded.parts.extend_from_slice(slice::from_raw_parts(parts, whole)),
                }
                match sum.present {
                    Present::Unasked => {}
                    Present::All => folded.present += rows as u64,
                    Present::Counted(_) => {
                        let parts = slice::from_raw_parts(places.present.add(LANES), whole);
                        folded.present += parts.iter().sum::<u64>();
                    }
                }
                if is_whole {
                    clear(places.sum, sum.lane);
                    if !places.present.is_null() {
                        clear(places.present, Lane::I64);
                    }
                }
            }
        }
        std::mem::swap(&mut self.cursor, &mut self.next);
    }
}

/// All sums of strips.
fn all(strips: &[LoadedStrip]) -> impl Iterator<Item = &StripSum> {
    strips.iter().flat_map(|strip| &*strip.sums)
}

/// Makes lanes those of no rows.
///
/// # Safety
/// There is room for them.
unsafe fn clear(lanes: *mut u64, lane: Lane) {
    for number in 0..LANES {
        // SAFETY: the caller's promise.
        unsafe { lanes.add(number).write(lane.lanes_of_no_rows()) };
    }
}
