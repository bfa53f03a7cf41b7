//! Rows of an argument where they are: in the frame, in a literal, or in memory that a host lends.

use crate::array::block::rows_of_word;
use crate::layout::handle::RawRows;
use crate::value::ArrayRows;
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use bytemuck::Pod;
use std::ops::Range;

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

    /// The presence of the rows of a word.
    ///
    /// # Panics
    /// If there are no such rows.
    pub(crate) fn word(&self, number: usize) -> u64 {
        let present = rows_of_word(number, self.len());
        match self.0 {
            Place::Kept(rows) => rows.presence().map_or(present, |words| words[number]),
            Place::Lent(rows) if rows.bitmap.is_null() => present,
            Place::Lent(rows) => {
                let (first, count) = (rows.offset + number * ROWS_OF_A_WORD, present.count_ones() as usize);
                let bytes = first / 8..(first + count).div_ceil(8);
                // SAFETY: the bitmap has a bit for each row: nine bytes, if the first bit is not that of a byte.
                let bits = bytes
                    .enumerate()
                    .map(|(place, byte)| u128::from(unsafe { *rows.bitmap.add(byte) }) << (8 * place));
                (bits.sum::<u128>() >> (first % 8)) as u64 & present
            }
        }
    }

    /// The presence of the rows from one on, as many as a word has.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub(crate) fn word_from(&self, row: usize) -> u64 {
        let (number, place) = (row / ROWS_OF_A_WORD, row % ROWS_OF_A_WORD);
        let here = self.word(number) >> place;
        match place > 0 && (number + 1) * ROWS_OF_A_WORD < self.len() {
            true => here | self.word(number + 1) << (ROWS_OF_A_WORD - place),
            false => here,
        }
    }

    /// How many rows of a range are present.
    ///
    /// # Panics
    /// If there are no such rows.
    #[inline]
    pub(crate) fn present_in(&self, range: Range<usize>) -> usize {
        if self.are_all_present() {
            return range.len();
        }
        let words = range
            .clone()
            .step_by(ROWS_OF_A_WORD)
            .map(|first| (self.word_from(first) & rows_of_word(0, range.end - first)).count_ones() as usize);
        words.sum()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{ScalarType, ScalarValue};
    use fastrand::Rng;

    #[test]
    fn words_of_presence_are_those_of_rows() {
        let mut rng = Rng::with_seed(4);
        for _ in 0..100 {
            let (len, share) = (rng.usize(..300), [1.0, 0.5][rng.usize(..2)]);
            let value = |i: usize| (rng.f64() < share).then_some(ScalarValue::Int64(i as i64));
            let rows = ArrayRows::from_values(ScalarType::Int64, &(0..len).map(value).collect::<Vec<_>>());
            let read = ReadRows::kept(&rows);
            for number in 0..len.div_ceil(ROWS_OF_A_WORD) {
                let bit = |row: usize| row < len && read.is_present(row);
                let expected = (0..64).map(|i| u64::from(bit(number * 64 + i)) << i).sum::<u64>();
                assert_eq!(read.word(number), expected);
            }
            for row in 0..len {
                let expected =
                    (row..len.min(row + 64)).map(|at| u64::from(read.is_present(at)) << (at - row));
                assert_eq!(read.word_from(row), expected.sum::<u64>());
            }
            let range = rng.usize(..=len)..len;
            let present = range.clone().filter(|row| read.is_present(*row)).count();
            assert_eq!(read.present_in(range), present);
            // The same, lent with a bitmap that begins within a byte.
            let Some(words) = rows.presence() else { continue };
            let offset = rng.usize(..20);
            let mut bitmap = vec![0u8; (offset + len).div_ceil(8)];
            for row in (0..len).filter(|row| read.is_present(*row)) {
                bitmap[(offset + row) / 8] |= 1 << ((offset + row) % 8);
            }
            let raw = RawRows {
                element: ScalarType::Int64,
                first: rows.bytes().as_ptr(),
                step: 8,
                len,
                bitmap: bitmap.as_ptr(),
                offset,
            };
            // SAFETY: cells and bitmap are there to the end of the block, and nobody writes them.
            let lent = unsafe { ReadRows::lent(&raw) };
            assert!((0..words.len()).map(|number| lent.word(number)).eq(words.iter().copied()));
        }
    }
}
