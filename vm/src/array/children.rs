//! Children as they come, each with its parent: what folds and scans of all groups at once go over.

use crate::array::block::rows_of_word;
use crate::array::meter::Meter;
use crate::array::read_rows::ReadRows;
use crate::value::array::ROWS_OF_A_WORD;
use crate::value::{ArrayRows, Fault};

/// Rows and the parent of each.
pub(super) struct Children<'c, T> {
    pub(super) cells: &'c [T],
    pub(super) rows: &'c ReadRows<'c>,
    pub(super) parents: &'c ArrayRows,
}

/// What rows are taken in by. No closure: two loops take rows, and a closure that two loops call is not inlined.
pub(super) trait TakeRow<T> {
    /// Takes in a row that has a parent.
    ///
    /// # Safety
    /// There is a group with this number, and a row with that.
    unsafe fn take(&mut self, parent: usize, row: usize, cell: T, is_present: bool);
}

impl<T: Copy> Children<'_, T> {
    /// Takes in each row that has a parent.
    ///
    /// # Safety
    /// What takes them knows all groups of the edge, and all rows.
    // Where it is inlined, what takes rows in has its places in registers.
    #[inline(always)]
    pub(super) unsafe fn each(&self, meter: &Meter<'_>, taking: &mut impl TakeRow<T>) -> Result<(), Fault> {
        let parents = self.parents;
        let (ids, with_parent) = (bytemuck::cast_slice::<_, i64>(parents.bytes()), ReadRows::kept(parents));
        let are_all_there = self.rows.are_all_present() && with_parent.are_all_present();
        for stride in meter.strides(self.cells.len()) {
            let stride = stride?;
            let (cells, ids) = (&self.cells[stride.clone()], &ids[stride.clone()]);
            if are_all_there {
                for (row, (cell, parent)) in (stride.start..).zip(cells.iter().zip(ids)) {
                    // SAFETY: the caller's promise; the parents of an edge are groups of it.
                    unsafe { taking.take(*parent as usize, row, *cell, true) };
                }
                continue;
            }
            let words = words_of(cells, ids);
            for (number, (cells, ids)) in (stride.start / ROWS_OF_A_WORD..).zip(words) {
                let (with_parent, mut present) = (with_parent.word(number), self.rows.word(number));
                let rows = (number * ROWS_OF_A_WORD..).zip(cells.iter().zip(ids));
                if with_parent == rows_of_word(0, cells.len()) {
                    for (row, (cell, parent)) in rows {
                        // SAFETY: as above.
                        unsafe { taking.take(*parent as usize, row, *cell, present & 1 == 1) };
                        present >>= 1;
                    }
                    continue;
                }
                for (row, (cell, parent)) in rows {
                    let place = row % ROWS_OF_A_WORD;
                    if with_parent >> place & 1 == 1 {
                        // SAFETY: as above.
                        unsafe { taking.take(*parent as usize, row, *cell, present >> place & 1 == 1) };
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes in each row that is present and has a parent: where these are few, others take no time.
    ///
    /// # Safety
    /// As [`each`](Children::each).
    #[inline(always)]
    pub(super) unsafe fn each_present(
        &self,
        meter: &Meter<'_>,
        taking: &mut impl TakeRow<T>,
    ) -> Result<(), Fault> {
        let parents = self.parents;
        let (ids, with_parent) = (bytemuck::cast_slice::<_, i64>(parents.bytes()), ReadRows::kept(parents));
        for stride in meter.strides(self.cells.len()) {
            let stride = stride?;
            let (cells, ids) = (&self.cells[stride.clone()], &ids[stride.clone()]);
            for (number, (cells, ids)) in (stride.start / ROWS_OF_A_WORD..).zip(words_of(cells, ids)) {
                let mut present = with_parent.word(number) & self.rows.word(number);
                while present != 0 {
                    let place = present.trailing_zeros() as usize;
                    present &= present - 1;
                    // SAFETY: the caller's promise; a word has bits for rows only, and the parents of an edge are groups of it.
                    unsafe {
                        let (cell, parent) = (cells.get_unchecked(place), ids.get_unchecked(place));
                        taking.take(*parent as usize, number * ROWS_OF_A_WORD + place, *cell, true);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The cells of each word of presence, and their parents.
fn words_of<'c, T>(cells: &'c [T], ids: &'c [i64]) -> impl Iterator<Item = (&'c [T], &'c [i64])> {
    cells.chunks(ROWS_OF_A_WORD).zip(ids.chunks(ROWS_OF_A_WORD))
}
