//! Array views: rows that belong to someone else, read where they stand.
//!
//! ```text
//! slice      &[f64]                          cells  x0 x1 x2 …                 step 8
//! strided    every second of them            cells  x0    x1    …              step 16
//! columns    values and a validity bitmap    bits   offset + i, lowest first   as in the Arrow layout
//! ```
//!
//! 1. Every cell lies inside the bytes, whatever start and step are; bytes need no alignment. Without rows, the view
//!    begins with its bytes. Rows that are one cell again and again are at most [`MAX_ROWS`].
//! 2. A BOOLEAN cell is 0 or 1.
//! 3. The bitmap has a bit for every row.

use crate::value::array::{ArrayRows, MAX_ROWS, cell_size};
use crate::value::budget::{Account, Exhausted};
use crate::value::nd_view::Cell;
use crate::value::scalar::ScalarType;
use crate::value::scalar_value::ScalarValue;
use thiserror::Error;

/// Bytes that are not the rows they are said to be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ViewError {
    /// A row lies outside the bytes.
    #[error("row {row} lies outside the {bytes} bytes of the view")]
    Outside {
        /// The row.
        row: usize,
        /// Bytes there are.
        bytes: usize,
    },
    /// One cell stands for more rows than an array can have.
    #[error("limit array-rows: {rows} rows of one cell exceed {MAX_ROWS}")]
    TooMany {
        /// Rows asked for.
        rows: usize,
    },
    /// Rows without plain cells, or cells that have to be looked at.
    #[error("rows of {element} cannot be viewed as bytes")]
    Element {
        /// Type of the rows.
        element: ScalarType,
    },
    /// The bitmap is too short.
    #[error("a bitmap of {bits} bits has no bit {bit}")]
    Bitmap {
        /// The bit asked for.
        bit: usize,
        /// Bits there are.
        bits: usize,
    },
}

/// Rows of plain cells, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct ArrayView<'a> {
    element: ScalarType,
    len: usize,
    bytes: &'a [u8],
    /// Byte of the first row.
    start: usize,
    /// Bytes from one row to the next; may be negative or 0.
    step: isize,
    validity: Option<Bits<'a>>,
}

/// A validity bitmap: bit `offset + i`, the lowest of a byte first, is set if row `i` is present.
#[derive(Clone, Copy, Debug)]
struct Bits<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> ArrayView<'a> {
    /// The elements of a slice, all present.
    pub fn of<T: Cell>(cells: &'a [T]) -> ArrayView<'a> {
        let (bytes, step) = (bytemuck::cast_slice(cells), size_of::<T>() as isize);
        ArrayView { element: T::ELEMENT, len: cells.len(), bytes, start: 0, step, validity: None }
    }

    /// `len` elements of a slice, from `start` on in steps of `step`, which may be negative or 0.
    ///
    /// # Errors
    /// [`ViewError::Outside`], or [`ViewError::TooMany`].
    pub fn strided<T: Cell>(
        cells: &'a [T],
        start: usize,
        step: isize,
        len: usize,
    ) -> Result<ArrayView<'a>, ViewError> {
        let (view, size) = (ArrayView::of(cells), size_of::<T>());
        match (start.checked_mul(size), step.checked_mul(size as isize)) {
            (Some(start), Some(step)) => view.placed(start, step, len),
            // So far away there is only a view without rows, or of the first row alone.
            (Some(start), None) if len < 2 => view.placed(start, 0, len),
            (None, _) if len == 0 => view.placed(0, 0, 0),
            (start, _) => {
                let row = usize::from(start.is_some());
                Err(ViewError::Outside { row, bytes: view.bytes.len() })
            }
        }
    }

    /// `len` cells of a type in bytes of any alignment, from byte `start` on in steps of `step` bytes.
    ///
    /// # Errors
    /// [`ViewError::Outside`], [`ViewError::TooMany`], or [`ViewError::Element`] for anything but numbers.
    pub fn from_bytes(
        element: ScalarType,
        bytes: &'a [u8],
        start: usize,
        step: isize,
        len: usize,
    ) -> Result<ArrayView<'a>, ViewError> {
        let is_number = !matches!(element, ScalarType::Boolean | ScalarType::Unit) && element.is_plain();
        if !is_number {
            return Err(ViewError::Element { element });
        }
        ArrayView { element, len: 0, bytes, start: 0, step: 0, validity: None }.placed(start, step, len)
    }

    fn placed(self, start: usize, step: isize, len: usize) -> Result<ArrayView<'a>, ViewError> {
        let (bytes, size) = (self.bytes.len(), cell_size(self.element));
        let Some(last) = len.checked_sub(1) else {
            return Ok(ArrayView { start: 0, step: size as isize, len, ..self });
        };
        let fits = |row: usize| {
            let offset = isize::try_from(row).ok().and_then(|row| step.checked_mul(row));
            let first = offset.and_then(|offset| start.checked_add_signed(offset));
            first.and_then(|first| first.checked_add(size)).is_some_and(|end| end <= bytes)
        };
        // The first and the last row have all others between them.
        if let Some(row) = [0, last].into_iter().find(|row| !fits(*row)) {
            return Err(ViewError::Outside { row, bytes });
        }
        match step == 0 && len > MAX_ROWS {
            true => Err(ViewError::TooMany { rows: len }),
            // A step that no row takes leads nowhere.
            false => Ok(ArrayView { start, step: if last == 0 { size as isize } else { step }, len, ..self }),
        }
    }

    /// The same rows, present where a bitmap in the Arrow layout has its bit `offset + row` set.
    ///
    /// # Errors
    /// [`ViewError::Bitmap`].
    pub fn with_validity(self, bitmap: &'a [u8], offset: usize) -> Result<ArrayView<'a>, ViewError> {
        let bits = bitmap.len().saturating_mul(8);
        let end = offset.checked_add(self.len).filter(|end| *end <= bits);
        match end {
            Some(_) => Ok(ArrayView { validity: Some(Bits { bytes: bitmap, offset }), ..self }),
            None => Err(ViewError::Bitmap { bit: offset.saturating_add(self.len).saturating_sub(1), bits }),
        }
    }

    /// Type of the rows.
    pub fn element(&self) -> ScalarType {
        self.element
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first cell; dangling without rows.
    pub fn first(&self) -> *const u8 {
        self.bytes.as_ptr().wrapping_add(self.start)
    }

    /// Bytes from one row to the next.
    pub fn step(&self) -> isize {
        self.step
    }

    /// The bitmap and the bit of the first row; `None` if all rows are present.
    pub fn validity(&self) -> Option<(&'a [u8], usize)> {
        self.validity.map(|bits| (bits.bytes, bits.offset))
    }

    /// A row; `None` if it is missing.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize) -> Option<ScalarValue> {
        self.is_present(row).then(|| {
            let mut one = ArrayRows::new(self.element);
            one.start(self.element);
            one.push_trusted(true, self.cell(row));
            one.get(0).expect("it is present")
        })
    }

    fn is_present(&self, row: usize) -> bool {
        assert!(row < self.len, "row {row} of {}", self.len);
        self.validity.is_none_or(|bits| {
            let bit = bits.offset + row;
            bits.bytes[bit / 8] >> (bit % 8) & 1 == 1
        })
    }

    fn cell(&self, row: usize) -> &'a [u8] {
        let first = self.start.wrapping_add_signed(self.step * row as isize);
        &self.bytes[first..first + cell_size(self.element)]
    }

    /// Copies the rows, with memory on account.
    ///
    /// # Errors
    /// The account or the system refuses; there are no rows then.
    pub fn copy_to(&self, rows: &mut ArrayRows, account: &dyn Account) -> Result<(), Exhausted> {
        rows.start(self.element);
        rows.reserve_rows(self.len, account)?;
        if self.validity.is_some() {
            rows.reserve_presence(self.len, account)?;
        }
        for row in 0..self.len {
            rows.push_trusted(self.is_present(row), self.cell(row));
        }
        rows.normalize();
        Ok(())
    }
}

impl ArrayRows {
    /// The rows, borrowed; `None` for strings and masks, which have no plain cells.
    pub fn as_view(&self) -> Option<ArrayView<'_>> {
        let size = cell_size(self.element());
        let bytes = self.bytes();
        let (element, len) = (self.element(), self.len());
        let view = ArrayView { element, len, bytes, start: 0, step: size as isize, validity: None };
        let bitmap = self.presence().map(|words| Bits { bytes: bytemuck::cast_slice(words), offset: 0 });
        // Words are bitmaps only where the lowest byte of a word is its first.
        let is_bitmap = bitmap.is_none() || cfg!(target_endian = "little");
        (size > 0 && is_bitmap).then_some(ArrayView { validity: bitmap, ..view })
    }

    /// The cells as a slice, whether present or not.
    ///
    /// # Panics
    /// If the rows are of another type.
    pub fn as_slice<T: Cell + bytemuck::AnyBitPattern>(&self) -> &[T] {
        assert_eq!(self.element().storage(), T::ELEMENT, "the rows have another type");
        &bytemuck::cast_slice(self.bytes())[..self.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::budget::Unlimited;

    fn rows(view: ArrayView<'_>) -> Vec<Option<ScalarValue>> {
        let mut rows = ArrayRows::new(ScalarType::Unit);
        view.copy_to(&mut rows, &Unlimited).expect("few rows");
        let read: Vec<_> = (0..view.len()).map(|row| view.get(row)).collect();
        assert_eq!(rows.iter().collect::<Vec<_>>(), read);
        read
    }

    #[test]
    fn views_read_where_the_rows_stand() {
        let cells = [1, 2, 3, 4, 5, 6];
        let int = |v: i32| Some(ScalarValue::Int32(v));
        assert_eq!(rows(ArrayView::of(&cells[1..3])), [int(2), int(3)]);
        assert_eq!(rows(ArrayView::strided(&cells, 5, -2, 3).expect("inside")), [int(6), int(4), int(2)]);
        assert_eq!(rows(ArrayView::strided(&cells, 2, 0, 2).expect("inside")), [int(3), int(3)]);
        let masked = ArrayView::of(&cells[..4]).with_validity(&[0b0110_0000], 4).expect("8 bits");
        assert_eq!(rows(masked), [None, int(2), int(3), None]);
        let bytes: Vec<u8> = std::iter::once(0).chain(7i64.to_le_bytes()).collect();
        let odd = ArrayView::from_bytes(ScalarType::Int64, &bytes, 1, 8, 1).expect("inside");
        assert_eq!(rows(odd), [Some(ScalarValue::Int64(7))]);
    }

    #[test]
    fn views_stay_inside() {
        let cells = [1.0, 2.0];
        let outside = ArrayView::strided(&cells, 1, 1, 2).map(|v| v.len());
        assert_eq!(outside, Err(ViewError::Outside { row: 1, bytes: 16 }));
        let before = ArrayView::strided(&cells, 0, -1, 2).map(|v| v.len());
        assert_eq!(before, Err(ViewError::Outside { row: 1, bytes: 16 }));
        assert!(ArrayView::strided(&cells, 9, 1, 0).is_ok());
        assert!(ArrayView::strided(&cells, 0, 0, MAX_ROWS).is_ok());
        let bits = ArrayView::of(&cells).with_validity(&[0xFF], 7).map(|v| v.len());
        assert_eq!(bits, Err(ViewError::Bitmap { bit: 8, bits: 8 }));
        let truth = ArrayView::from_bytes(ScalarType::Boolean, &[2], 0, 1, 1).map(|v| v.len());
        assert_eq!(truth, Err(ViewError::Element { element: ScalarType::Boolean }));
    }
}
