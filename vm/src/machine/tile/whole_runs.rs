//! Elements that become one side by side in short runs: the strip takes in all rows of a run at once.
//!
//! ```text
//! (100, 10, 50) -> (100, 50)      runs of 10 rows of 50 elements
//! columns     x[i, 0, ..], x[i, 1, ..], …, x[i, 9, ..]: those of each row, behind those of the row before
//! strip       ((0+1) + (2+3)) + ((4+5) + (6+7)), + 8, + 9, stored to 50 cells; the same for i + 1, all pointers moved
//! parts       the cells of all runs of a call
//! ```
//!
//! So a sum never leaves the registers. [Row by row](super::side_by_side) each row reads and writes cells, of which eight rows
//! begin anew and are joined for each run. The price is code: the operations of a row, as often as there are rows.

use crate::array::block::Column;
use crate::array::fold_kernel::{CHUNK, Folded};
use crate::array::nd_space::Position;
use crate::array::runs::Runs;
use crate::machine::tile::axes::Elements;
use crate::machine::tile::blocks::{Blocks, Outcome};
use crate::machine::tile::region::Region;
use crate::machine::tile::side_by_side::{FoldSideBySide, MOST_ROWS, StripSideBySide};
use crate::machine::tile::strips::ColumnSteps;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use std::ops::Range;

/// Fewest elements of a row: those of a register.
const LEAST_ROW: usize = 8;

/// Most members of all rows, each of which is some operations.
const MOST_MEMBERS: usize = 256;

/// Most columns of all rows.
const MOST_COLUMNS: usize = 512;

/// Columns that are pointed to their row in the time that a run saves, some 100 ns.
const COLUMNS_OF_A_RUN: usize = 6;

/// Elements that save as much as a column of a row costs.
const ELEMENTS_OF_A_COLUMN: usize = 320;

/// Cells that a call fills: they stay in the first cache.
const CELLS: usize = 1024;

/// Where a strip leaves what becomes of a fold.
struct Cells<'k, 'a> {
    of: FoldSideBySide<'k>,
    room: &'a mut [u64],
}

/// Columns of all rows of a run, which stand a fixed way behind those of the first one.
struct ColumnsOfRows<'a> {
    columns: &'a mut [Column],
    behind_first: &'a [isize],
    /// Columns of a row.
    count: usize,
}

impl ColumnsOfRows<'_> {
    /// Points them to so many elements behind where the columns of the first row stand.
    fn point_to(&mut self, first_row: &[Column], elements: usize) {
        let rows = self.columns.chunks_exact_mut(self.count).zip(self.behind_first.chunks_exact(self.count));
        for (columns, behind) in rows {
            for ((column, first), behind) in columns.iter_mut().zip(first_row).zip(behind) {
                column.data = first.data.wrapping_add(elements * first.step).wrapping_offset(*behind);
            }
        }
    }
}

impl Region {
    /// The rows of a run, if strips that take in elements side by side may take in all of them at once, and whether that pays.
    pub(super) fn rows_at_once(
        &self,
        columns: &[Column],
        elements: &Elements<'_>,
        runs: &[Runs],
    ) -> Option<(usize, bool)> {
        let Runs { run, width, count } = *runs.first()?;
        let pays =
            run * columns.len() <= COLUMNS_OF_A_RUN * (count / width) + run * count / ELEMENTS_OF_A_COLUMN;
        let fits = (2..=MOST_ROWS).contains(&run)
            && width >= LEAST_ROW
            && run * self.members.len() <= MOST_MEMBERS
            && run * columns.len() <= MOST_COLUMNS
            && !columns.iter().any(Column::is_taken);
        (fits && elements.run() >= width && elements.has_runs_in_place()).then_some((run, pays))
    }
}

impl<'r> Blocks<'r> {
    /// Takes in elements, run by run.
    ///
    /// # Safety
    /// As [`Blocks::run`], for these columns, which stand at the first element of all; a run begins with the first of these
    /// elements, and one ends with the last. The strip takes in runs of so many rows at once.
    pub(super) unsafe fn run_whole_runs(
        &self,
        of: StripSideBySide<'_>,
        columns: &mut [Column],
        range: Range<usize>,
        arena: &Bump,
        folded: &mut [Folded<'_>],
    ) -> Outcome {
        let StripSideBySide { strip, elements, runs: Runs { run, width, count: results } } = of;
        let all = run * width;
        let mut cells = BumpVec::with_capacity_in(strip.folds.len(), arena);
        for of in self.folds_side_by_side(strip) {
            columns[of.column].step = of.lane.bytes();
            cells.push(Cells { of, room: arena.alloc_slice_fill_copy(CELLS.min(results), 0) });
        }
        self.poll()?;
        self.move_on(columns, range.start);
        let mut at = Position::default();
        let mut of_rows = self.columns_of_rows(of, columns, (range.start, &mut at), arena);
        let along = elements.behind(all);
        let steps = {
            let in_order = |column: &u16| (*column, (columns[*column as usize].step * all) as isize);
            let moving = self.moving.iter().map(in_order);
            let moving = moving.chain(along.into_iter().flat_map(|along| elements.bytes_along(along)));
            let of_row = |row: usize| {
                let first = (row * columns.len()) as u16;
                moving.clone().map(move |(column, by)| (first + column, by))
            };
            let of_cells =
                |Cells { of, .. }: &Cells<'_, '_>| (of.column as u16, (width * of.lane.bytes()) as isize);
            let all_moving = (0..run).flat_map(of_row).chain(cells.iter().map(of_cells));
            ColumnSteps::in_arena(strip, of_rows.columns, all_moving, arena)
        };
        let most = steps.runs_at_once(all, CHUNK).min((CELLS / width).max(1));
        let (mut element, mut taken) = (range.start, 0);
        while element < range.end {
            elements.begin_run(&mut at, element, columns);
            let left = along.map_or(1, |along| elements.times_left(&at, along));
            let times = left.min(most).min((range.end - element) / all);
            assert!(times > 0, "whole runs");
            // Either there are several runs, or several parts of a row.
            for first in (0..width).step_by(CELLS) {
                let count = CELLS.min(width - first);
                of_rows.point_to(columns, first);
                for cells in &mut cells {
                    of_rows.columns[cells.of.column].data = cells.room.as_mut_ptr().cast();
                }
                // SAFETY: the caller's promise: the columns of each row stand at such a part of it in the first of these runs,
                // and those of others stand by the steps; there is room for the cells, which nobody else accesses.
                unsafe { strip.run_often(of_rows.columns, count, times, (&steps, 0)) };
                for Cells { of, room } in &cells {
                    let (parts, _) = folded[of.fold].parts_and_lanes();
                    (of.kernel.take)(parts, room, count * times, run);
                }
                taken += run * count * times;
                if taken >= CHUNK {
                    taken = 0;
                    self.poll()?;
                }
            }
            self.move_on(columns, all * times);
            element += all * times;
        }
        Ok(())
    }

    /// The columns of each row of the run that begins with an element, where `columns` stand that are in order; others stand at a
    /// position, and go there.
    fn columns_of_rows<'a>(
        &self,
        StripSideBySide { elements, runs: Runs { run, width, .. }, .. }: StripSideBySide<'_>,
        columns: &mut [Column],
        (first, at): (usize, &mut Position),
        arena: &'a Bump,
    ) -> ColumnsOfRows<'a> {
        let count = columns.len();
        let behind_first = arena.alloc_slice_fill_copy(run * count, 0);
        // The first one comes last: there they stay.
        for (row, behind) in behind_first.chunks_exact_mut(count).enumerate().rev() {
            elements.begin_run(at, first + row * width, columns);
            for (behind, column) in behind.iter_mut().zip(&*columns) {
                *behind = column.data.addr() as isize;
            }
        }
        for (row, behind) in behind_first.chunks_exact_mut(count).enumerate() {
            for (behind, column) in behind.iter_mut().zip(&*columns) {
                *behind = behind.wrapping_sub(column.data.addr() as isize);
            }
            for column in self.moving.iter().map(|column| *column as usize) {
                behind[column] = (row * width * columns[column].step) as isize;
            }
        }
        let of_rows = arena.alloc_slice_fill_with(run * count, |number| columns[number % count]);
        ColumnsOfRows { columns: of_rows, behind_first, count }
    }
}
