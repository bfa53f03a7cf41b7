//! The rows of a result, to be sized or filled row by row; memory is counted before it is allocated.

use crate::array::meter::Meter;
use crate::layout::PlainSlot;
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use crate::value::array_memory::LONG;
use crate::value::{ArrayRows, Fault, ScalarType, ScalarValue};
use bytemuck::Pod;

/// The rows of a result.
#[derive(Debug)]
pub struct RowsOut<'a> {
    rows: &'a mut ArrayRows,
    meter: &'a Meter<'a>,
}

impl<'a> RowsOut<'a> {
    /// Rows of a frame, on its meter.
    #[inline]
    pub fn new(rows: &'a mut ArrayRows, meter: &'a Meter<'a>) -> RowsOut<'a> {
        RowsOut { rows, meter }
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Type of the rows.
    pub(crate) fn element(&self) -> ScalarType {
        self.rows.element()
    }

    /// What memory is counted by.
    pub(crate) fn meter(&self) -> &'a Meter<'a> {
        self.meter
    }

    /// Makes room for rows of a type: their cells are zero or what stood there, all of them are present.
    ///
    /// # Errors
    /// More rows than an array may have, or no memory.
    pub fn resize(&mut self, element: ScalarType, len: usize) -> Result<(), Fault> {
        self.meter.check_array(len)?;
        self.rows.resize_within(element, len, self.meter).map_err(Fault::from)
    }

    /// As [`resize`](RowsOut::resize), for a kernel that writes all plain cells: what stands in them may be anything.
    ///
    /// # Errors
    /// As [`RowsOut::resize`].
    #[inline]
    pub(crate) fn resize_for_kernel(&mut self, element: ScalarType, len: usize) -> Result<(), Fault> {
        self.meter.check_array(len)?;
        self.rows.resize_for_kernel(element, len, self.meter).map_err(Fault::from)
    }

    /// Begins anew, to be filled row by row.
    pub fn start(&mut self, element: ScalarType) {
        self.rows.start(element);
    }

    /// Makes room for this many rows at once, which are then appended one by one.
    ///
    /// # Errors
    /// As [`RowsOut::resize`].
    pub fn reserve(&mut self, rows: usize) -> Result<(), Fault> {
        self.meter.check_array(rows)?;
        self.rows.reserve_rows(rows, self.meter).map_err(Fault::from)
    }

    /// Cells of numbers as bytes, to be written.
    ///
    /// # Panics
    /// If the rows are no numbers.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.rows.bytes_mut()
    }

    /// Plain cells as bytes, to be written with values of the type.
    #[inline]
    pub(crate) fn cells_mut(&mut self) -> &mut [u8] {
        self.rows.cells_mut()
    }

    /// The words of presence, made all present if there were none.
    ///
    /// # Errors
    /// No memory.
    #[inline]
    pub(crate) fn presence_mut(&mut self) -> Result<&mut [u64], Fault> {
        self.rows.presence_within(self.meter).map_err(Fault::from)
    }

    /// Plain cells as bytes, and the words of presence, made all present if there were none.
    ///
    /// # Errors
    /// No memory.
    pub(crate) fn parts(&mut self) -> Result<(&mut [u8], &mut [u64]), Fault> {
        self.presence_mut()?;
        Ok(self.rows.parts_mut())
    }

    /// Forgets the words of presence if they say nothing.
    pub fn normalize(&mut self) {
        self.rows.normalize();
    }

    /// Appends a row of another array of the same element.
    ///
    /// # Errors
    /// More rows than an array may have, or no memory.
    pub fn push_row_of(&mut self, other: &ArrayRows, row: usize) -> Result<(), Fault> {
        assert_eq!(other.element().storage(), self.rows.element().storage(), "a row of the array's type");
        if !other.element().is_plain() && self.rows.presence().is_none() && other.is_present(row) {
            self.meter.check_array(self.rows.len() + 1)?;
            return self.append_string(other.string(row));
        }
        self.push_trusted(other.is_present(row), other.raw(row))
    }

    /// Appends a row of this cell, or of these bytes of a string; what a missing row has does not count.
    ///
    /// # Errors
    /// As [`RowsOut::push_row_of`].
    pub fn push_raw(&mut self, present: bool, bytes: &[u8]) -> Result<(), Fault> {
        self.make_room(present, bytes.len())?;
        self.rows.push_raw(present, bytes);
        Ok(())
    }

    /// As [`push_raw`](RowsOut::push_raw), of a value that is known to be one of the type.
    pub(crate) fn push_trusted(&mut self, present: bool, bytes: &[u8]) -> Result<(), Fault> {
        self.make_room(present, bytes.len())?;
        self.rows.push_trusted(present, bytes);
        Ok(())
    }

    /// Writes one of the rows that there are, of plain values of the type of the array, and says that it is present.
    ///
    /// # Errors
    /// No memory.
    #[inline]
    pub(crate) fn put_plain<T: Pod>(&mut self, row: usize, value: T) -> Result<(), Fault> {
        bytemuck::cast_slice_mut(self.bytes_mut())[row] = value;
        self.presence_mut()?[row / ROWS_OF_A_WORD] |= 1 << (row % ROWS_OF_A_WORD);
        Ok(())
    }

    /// So many rows of plain values, each made by its number; a value that is missing is a missing row.
    ///
    /// # Errors
    /// As [`RowsOut::resize`], what a value fails with, or the run has to stop: there are no rows then.
    pub(crate) fn fill_plain<R: PlainSlot>(
        &mut self,
        rows: usize,
        value: impl FnMut(usize) -> Result<R, Fault>,
    ) -> Result<(), Fault> {
        self.resize_for_kernel(R::SCALAR, rows)?;
        let filled = self.write_plain(rows, value);
        if filled.is_err() {
            self.start(R::SCALAR);
        }
        filled
    }

    fn write_plain<R: PlainSlot>(
        &mut self,
        rows: usize,
        mut value: impl FnMut(usize) -> Result<R, Fault>,
    ) -> Result<(), Fault> {
        let size = cell_size(R::SCALAR);
        for stride in self.meter.strides(rows) {
            for row in stride? {
                let (present, cell) = value(row)?.to_cell();
                self.rows.cells_mut()[row * size..][..size].copy_from_slice(&cell[..size]);
                if !present {
                    self.presence_mut()?[row / ROWS_OF_A_WORD] &= !(1 << (row % ROWS_OF_A_WORD));
                }
            }
        }
        Ok(())
    }

    /// Begins anew with room for the ends and the presence of so many strings, which [`append_string`](RowsOut::append_string)
    /// and [`append_presence`](RowsOut::append_presence) fill.
    ///
    /// # Errors
    /// As [`RowsOut::resize`].
    pub(crate) fn start_strings(&mut self, element: ScalarType, rows: usize) -> Result<(), Fault> {
        self.start(element);
        self.reserve(rows)?;
        self.rows.reserve_presence(rows, self.meter).map_err(Fault::from)
    }

    /// Appends the bytes of a string whose presence comes with its word.
    ///
    /// # Errors
    /// No memory.
    #[inline]
    pub(crate) fn append_string(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let end = self.rows.write_piece(self.rows.next_string(), bytes, self.meter)?;
        self.rows.end_string(end, self.meter).map_err(Fault::from)
    }

    /// Appends a string that is written piece by piece.
    ///
    /// # Errors
    /// What the writer fails with.
    #[inline]
    pub(crate) fn append_pieces(
        &mut self,
        write: impl FnOnce(&mut Pieces<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut pieces = Pieces { end: self.rows.next_string(), rows: self.rows, meter: self.meter };
        write(&mut pieces)?;
        let end = pieces.end;
        self.rows.end_string(end, self.meter).map_err(Fault::from)
    }

    /// Appends the presence of the rows of a word.
    #[inline]
    pub(crate) fn append_presence(&mut self, word: u64) {
        self.rows.append_presence(word);
    }

    /// Appends a row, or a missing one.
    ///
    /// # Errors
    /// As [`RowsOut::push_row_of`].
    pub fn push(&mut self, value: Option<&ScalarValue>) -> Result<(), Fault> {
        let bytes = match value {
            Some(ScalarValue::Text(text)) => text.len(),
            Some(ScalarValue::Bytes(bytes)) => bytes.len(),
            _ => 0,
        };
        self.make_room(value.is_some(), bytes)?;
        self.rows.push(value);
        Ok(())
    }

    /// Appends a missing row.
    ///
    /// # Errors
    /// As [`RowsOut::push_row_of`].
    pub fn push_missing(&mut self) -> Result<(), Fault> {
        self.push(None)
    }

    fn make_room(&mut self, present: bool, bytes: usize) -> Result<(), Fault> {
        self.meter.check_array(self.rows.len() + 1)?;
        if bytes >= LONG {
            self.meter.poll()?;
        }
        self.rows.reserve_row(present, bytes, self.meter).map_err(Fault::from)
    }
}

/// A string row that is being written; see [`RowsOut::append_pieces`].
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    rows: &'a mut ArrayRows,
    meter: &'a Meter<'a>,
    end: usize,
}

impl Pieces<'_> {
    /// Appends bytes to the string.
    ///
    /// # Errors
    /// No memory.
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.end = self.rows.write_piece(self.end, bytes, self.meter)?;
        Ok(())
    }
}
