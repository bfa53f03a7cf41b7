//! Rows that a view chooses of an array: a worker lays them out block by block.
//!
//! ```text
//! array.take(x, ids)        x0 x1 x2     ids 2, missing, 0     x2, missing, x0
//! array._expand(x, edge)    x0 x1        points 0, 2, 3        x0, x0, x1
//! ```
//!
//! Numbers are compared with the array once, before the region computes a row.

use crate::array::block::rows_of_word;
use crate::array::meter::Meter;
use crate::array::read_rows::ReadRows;
use crate::array::row_moves::{are_all_rows, row_number};
use crate::layout::handle::RawRows;
use crate::value::Fault;
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use bytemuck::Zeroable;

/// What chooses rows. It stands as long as the region runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChosenBy {
    /// The number of a row for each, or none.
    Numbers(RawRows),
    /// Where the rows that are the first one begin, and those that are the next one, …; at the end, how many there are.
    Points(*const [usize]),
}

impl ChosenBy {
    /// Number of rows that are chosen.
    pub(super) fn len(&self) -> usize {
        match self {
            ChosenBy::Numbers(numbers) => numbers.len,
            // SAFETY: the points stand (see the type).
            ChosenBy::Points(points) => unsafe { &**points }.last().copied().unwrap_or(0),
        }
    }

    /// What says which rows are chosen at all; null if all are.
    pub(super) fn bitmap(&self) -> *const u8 {
        match self {
            ChosenBy::Numbers(numbers) => numbers.bitmap,
            ChosenBy::Points(_) => std::ptr::null(),
        }
    }

    /// Compares numbers with that of the rows that there are.
    ///
    /// # Errors
    /// There is no such row, or the run has to stop.
    pub(super) fn check(&self, rows: usize, meter: &Meter<'_>) -> Result<(), Fault> {
        let ChosenBy::Numbers(numbers) = self else { return Ok(()) };
        // SAFETY: the numbers stand (see the type).
        let numbers = unsafe { ReadRows::lent(numbers) };
        let all = numbers.all::<i64>();
        for stride in meter.strides(numbers.len()) {
            let mut stride = stride?;
            if !all.is_some_and(|all| are_all_rows(&all[stride.clone()], rows)) {
                let number = |row| numbers.is_present(row).then(|| row_number(numbers.read(row), rows));
                stride.try_for_each(|row| number(row).transpose().map(drop))?;
            }
        }
        Ok(())
    }

    /// Lays out `count` cells from `start` on.
    ///
    /// # Safety
    /// The array has the rows that are chosen; there is room for the cells.
    pub(super) unsafe fn lay_out(&self, array: &RawRows, start: usize, count: usize, cells: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            match cell_size(array.element) {
                1 => self.cells::<u8>(array, start, count, cells),
                4 => self.cells::<u32>(array, start, count, cells.cast()),
                _ => self.cells::<u64>(array, start, count, cells.cast()),
            }
        }
    }

    /// # Safety
    /// As [`ChosenBy::lay_out`], of cells of this size.
    unsafe fn cells<T: Copy + Zeroable>(&self, array: &RawRows, start: usize, count: usize, to: *mut T) {
        let size = size_of::<T>() as isize;
        if let ChosenBy::Numbers(numbers) = self
            && numbers.bitmap.is_null()
            && (numbers.step, array.step) == (size_of::<i64>() as isize, size)
        {
            let numbers = numbers.first.cast::<i64>().wrapping_add(start);
            for place in 0..count {
                // SAFETY: the caller's promise, and that of who has compared the numbers.
                unsafe {
                    let number = numbers.add(place).read_unaligned();
                    to.add(place).write(array.first.cast::<T>().offset(number as isize).read_unaligned());
                }
            }
            return;
        }
        // SAFETY: as above; what stands where no row is chosen does not count.
        unsafe {
            self.each(start, count, |place, row| {
                let cell = |row: usize| array.first.wrapping_offset(array.step * row as isize).cast::<T>();
                to.add(place).write(row.map_or(T::zeroed(), |row| cell(row).read_unaligned()));
            });
        }
    }

    /// Lays out the presence of `count` rows from `start` on.
    ///
    /// # Safety
    /// As [`ChosenBy::lay_out`]; there are words for the rows.
    pub(super) unsafe fn lay_out_presence(
        &self,
        array: &RawRows,
        start: usize,
        count: usize,
        words: *mut u64,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let of_array = ReadRows::lent(array);
            for number in 0..count.div_ceil(ROWS_OF_A_WORD) {
                words.add(number).write(rows_of_word(number, count));
            }
            self.each(start, count, |place, row| {
                if !row.is_some_and(|row| of_array.is_present(row)) {
                    *words.add(place / ROWS_OF_A_WORD) &= !(1 << (place % ROWS_OF_A_WORD));
                }
            });
        }
    }

    /// Calls with each place of `count` from `start` on, and the row that is chosen for it.
    ///
    /// # Safety
    /// There are so many.
    #[inline(always)]
    unsafe fn each(&self, start: usize, count: usize, mut f: impl FnMut(usize, Option<usize>)) {
        match self {
            ChosenBy::Numbers(numbers) => {
                // SAFETY: the numbers stand (see the type).
                let numbers = unsafe { ReadRows::lent(numbers) };
                for place in 0..count {
                    let is_chosen = numbers.is_present(start + place);
                    f(place, is_chosen.then(|| numbers.read::<i64>(start + place) as usize));
                }
            }
            ChosenBy::Points(points) => {
                // SAFETY: as above.
                let points = unsafe { &**points };
                let mut row = points.partition_point(|point| *point <= start) - 1;
                for place in 0..count {
                    while points[row + 1] <= start + place {
                        row += 1;
                    }
                    f(place, Some(row));
                }
            }
        }
    }
}
