//! Rows of an argument where they are: in the frame, in a literal, or in memory that a host lends.

use crate::layout::handle::RawRows;
use crate::value::ArrayRows;
use crate::value::array::cell_size;
use bytemuck::Pod;

/// The rows of an argument, which are only read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadRows<'f>(Place<'f>);

#[derive(Clone, Copy, Debug)]
enum Place<'f> {
    Kept(&'f ArrayRows),
    /// The memory is there for `'f`.
    Lent(&'f RawRows),
}

impl<'f> ReadRows<'f> {
    /// Rows of a frame or of a literal.
    pub(crate) fn kept(rows: &'f ArrayRows) -> ReadRows<'f> {
        ReadRows(Place::Kept(rows))
    }

    /// Rows that are lent.
    ///
    /// # Safety
    /// Cells and bitmap are those of a view, there for `'f`, and nobody writes them.
    pub(crate) unsafe fn lent(rows: &'f RawRows) -> ReadRows<'f> {
        ReadRows(Place::Lent(rows))
    }

    /// Number of rows, missing ones too.
    pub(crate) fn len(&self) -> usize {
        match self.0 {
            Place::Kept(rows) => rows.len(),
            Place::Lent(rows) => rows.len,
        }
    }

    /// True if no row can be missing.
    pub(crate) fn are_all_present(&self) -> bool {
        match self.0 {
            Place::Kept(rows) => rows.presence().is_none(),
            Place::Lent(rows) => rows.bitmap.is_null(),
        }
    }

    /// True if the row is not missing.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub(crate) fn is_present(&self, row: usize) -> bool {
        match self.0 {
            Place::Kept(rows) => rows.is_present(row),
            Place::Lent(rows) => {
                assert!(row < rows.len, "row {row} of {}", rows.len);
                let bit = rows.offset + row;
                // SAFETY: the bitmap has a bit for each row.
                rows.bitmap.is_null() || unsafe { *rows.bitmap.add(bit / 8) } >> (bit % 8) & 1 == 1
            }
        }
    }

    /// The cell of a row, whatever stands there if it is missing.
    ///
    /// # Panics
    /// If there is no such row, or cells are of another size.
    #[inline]
    pub(crate) fn read<T: Pod>(&self, row: usize) -> T {
        match self.0 {
            Place::Kept(rows) => {
                bytemuck::pod_read_unaligned(&rows.bytes()[row * size_of::<T>()..][..size_of::<T>()])
            }
            Place::Lent(rows) => {
                assert!(row < rows.len && size_of::<T>() == cell_size(rows.element), "row {row} of {rows:?}");
                let at = rows.first.wrapping_offset(rows.step * row as isize);
                // SAFETY: the view has a cell of this size there, and any bytes are a value.
                unsafe { at.cast::<T>().read_unaligned() }
            }
        }
    }

    /// All cells, if they stand one after the other and can be read where they are.
    ///
    /// # Panics
    /// If cells are of another size.
    pub(crate) fn all<T: Pod>(&self) -> Option<&'f [T]> {
        match self.0 {
            Place::Kept(rows) => Some(bytemuck::cast_slice(&rows.bytes()[..rows.len() * size_of::<T>()])),
            Place::Lent(rows) => {
                assert_eq!(size_of::<T>(), cell_size(rows.element), "cells of {rows:?}");
                let first = rows.first.cast::<T>();
                let is_in_place = rows.len > 0 && rows.step == size_of::<T>() as isize && first.is_aligned();
                // SAFETY: the view has so many cells, one after the other, aligned; any bytes are a value.
                is_in_place.then(|| unsafe { std::slice::from_raw_parts(first, rows.len) })
            }
        }
    }
}
