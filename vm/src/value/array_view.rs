//! Views of rows: cells along one axis that belong to someone else, present or missing.
//!
//! ```text
//! slice      &[f64]                          cells  x0 x1 x2 …                 stride 8
//! strided    every second of them            cells  x0    x1    …              stride 16
//! columns    values and a validity bitmap    bits   offset + i, lowest first   as in the Arrow layout
//! ```

use crate::value::array::{ArrayRows, cell_size};
use crate::value::budget::{Account, Exhausted};
use crate::value::nd_error::NdError;
use crate::value::nd_view::{NdCell, NdView};
use crate::value::scalar_value::ScalarValue;

impl<'a> NdView<'a> {
    /// The elements of a slice, all present.
    pub fn of<T: NdCell>(cells: &'a [T]) -> NdView<'a> {
        NdView::strided(cells, 0, 1, cells.len()).expect("a slice has its elements")
    }

    /// `len` elements of a slice, from `start` on in steps of `step`, which may be negative or 0.
    ///
    /// # Errors
    /// An element lies outside the slice, or one stands for more than an array can have.
    pub fn strided<T: NdCell>(
        cells: &'a [T],
        start: usize,
        step: isize,
        len: usize,
    ) -> Result<NdView<'a>, NdError> {
        // What saturates lies outside of any slice.
        let (start, step) =
            (start.saturating_mul(size_of::<T>()), step.saturating_mul(size_of::<T>() as isize));
        NdView::placed(T::ELEMENT, (bytemuck::cast_slice(cells), start), (&[len], &[step]))
    }

    /// The same rows, present where a bitmap in the Arrow layout has its bit `offset + row` set.
    ///
    /// # Errors
    /// The view has not one axis, or the bitmap no bit for a row.
    pub fn with_validity(mut self, bitmap: &'a [u8], offset: usize) -> Result<NdView<'a>, NdError> {
        if self.rank() != 1 {
            return Err(NdError::Missing { rank: self.rank() });
        }
        let bits = bitmap.len().saturating_mul(8);
        if offset.checked_add(self.len()).is_none_or(|end| end > bits) {
            return Err(NdError::Bitmap { bit: offset.saturating_add(self.len()).saturating_sub(1), bits });
        }
        self.validity = Some((bitmap, offset));
        Ok(self)
    }

    /// The bitmap and the bit of the first row; `None` if all elements are present.
    pub fn validity(&self) -> Option<(&'a [u8], usize)> {
        self.validity
    }

    /// A row; `None` if it is missing.
    ///
    /// # Panics
    /// If there is no such row, or the view has not one axis.
    pub fn row(&self, row: usize) -> Option<ScalarValue> {
        assert!(self.rank() == 1 && row < self.len(), "row {row} of {:?}", self.shape());
        self.is_present(row).then(|| self.scalar_at(self.offset_of(row)))
    }

    fn is_present(&self, row: usize) -> bool {
        self.validity.is_none_or(|(bitmap, offset)| {
            let bit = offset + row;
            bitmap[bit / 8] >> (bit % 8) & 1 == 1
        })
    }

    /// Where a row begins.
    fn offset_of(&self, row: usize) -> usize {
        self.start().wrapping_add_signed(self.strides()[0] * row as isize)
    }

    /// Copies the rows, with memory on account.
    ///
    /// # Errors
    /// The account or the system refuses; there are no rows then.
    ///
    /// # Panics
    /// If the view has not one axis.
    pub fn copy_to_rows(&self, rows: &mut ArrayRows, account: &dyn Account) -> Result<(), Exhausted> {
        assert!(self.rank() == 1, "rows of {:?}", self.shape());
        rows.start(self.element());
        rows.reserve_rows(self.len(), account)?;
        if self.validity.is_some() {
            rows.reserve_presence(self.len(), account)?;
        }
        for row in 0..self.len() {
            let cell = &self.bytes()[self.offset_of(row)..][..cell_size(self.element())];
            rows.push_trusted(self.is_present(row), cell);
        }
        rows.normalize();
        Ok(())
    }
}

impl ArrayRows {
    /// The cells as a slice, whether present or not.
    ///
    /// # Panics
    /// If the rows are of another type.
    pub fn as_slice<T: NdCell + bytemuck::AnyBitPattern>(&self) -> &[T] {
        assert_eq!(self.element().storage(), T::ELEMENT, "the rows have another type");
        &bytemuck::cast_slice(self.bytes())[..self.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::array::MAX_ROWS;
    use crate::value::budget::Unlimited;
    use crate::value::scalar::ScalarType;

    fn rows(view: NdView<'_>) -> Vec<Option<ScalarValue>> {
        let mut rows = ArrayRows::new(ScalarType::Unit);
        view.copy_to_rows(&mut rows, &Unlimited).expect("few rows");
        let read: Vec<_> = (0..view.len()).map(|row| view.row(row)).collect();
        assert_eq!(rows.iter().collect::<Vec<_>>(), read);
        read
    }

    #[test]
    fn views_read_where_the_rows_stand() {
        let cells = [1, 2, 3, 4, 5, 6];
        let int = |v: i32| Some(ScalarValue::Int32(v));
        assert_eq!(rows(NdView::of(&cells[1..3])), [int(2), int(3)]);
        assert_eq!(rows(NdView::strided(&cells, 5, -2, 3).expect("inside")), [int(6), int(4), int(2)]);
        assert_eq!(rows(NdView::strided(&cells, 2, 0, 2).expect("inside")), [int(3), int(3)]);
        let masked = NdView::of(&cells[..4]).with_validity(&[0b0110_0000], 4).expect("8 bits");
        assert_eq!(rows(masked), [None, int(2), int(3), None]);
        let bytes: Vec<u8> = std::iter::once(0).chain(7i64.to_le_bytes()).collect();
        let odd = NdView::new(ScalarType::Int64, &bytes, 1, &[1], &[8]).expect("inside");
        assert_eq!(rows(odd), [Some(ScalarValue::Int64(7))]);
    }

    #[test]
    fn views_stay_inside() {
        let cells = [1.0, 2.0];
        let outside =
            |start, step, len| NdView::strided(&cells, start, step, len).map(|v| v.len()).unwrap_err();
        let beyond = "the shape [2] with the strides [8] reaches beyond the 16 bytes from 8 on";
        assert_eq!(outside(1, 1, 2).to_string(), beyond);
        assert!(matches!(outside(0, -1, 2), NdError::Outside { bytes: 16, .. }));
        assert!(matches!(outside(usize::MAX, 1, 1), NdError::Outside { .. }));
        assert_eq!(outside(0, 0, MAX_ROWS + 1), NdError::TooLarge { shape: vec![MAX_ROWS + 1] });
        assert!(NdView::strided(&cells, 9, 1, 0).is_ok());
        assert!(NdView::strided(&cells, 1, isize::MAX, 1).is_ok());
        assert!(NdView::strided(&cells, 0, 0, MAX_ROWS).is_ok());
        let bits = NdView::of(&cells).with_validity(&[0xFF], 7).map(|v| v.len());
        assert_eq!(bits, Err(NdError::Bitmap { bit: 8, bits: 8 }));
        let square = NdView::from_slice(&cells, &[2, 1]).expect("fits").with_validity(&[0xFF], 0);
        assert_eq!(square.map(|v| v.len()), Err(NdError::Missing { rank: 2 }));
        let text = NdView::new(ScalarType::Text, &[2], 0, &[1], &[1]).map(|v| v.len());
        assert_eq!(text, Err(NdError::Element { element: ScalarType::Text }));
    }

    #[test]
    #[should_panic(expected = "may be missing")]
    fn rows_that_may_be_missing_are_not_repeated() {
        let cells = [1.0, 2.0];
        let _ = NdView::of(&cells).with_validity(&[1], 0).expect("two bits").broadcast_to(&[2, 2]);
    }
}
