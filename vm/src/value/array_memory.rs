//! The memory of rows: sized and copied on account, so that a run knows what it holds before it holds it.

use crate::value::array::{ArrayRows, ROWS_OF_A_WORD, cell_size};
use crate::value::budget::{Account, Exhausted, copy_words, fill_up_to, reserve, reserve_exact};
use crate::value::scalar::ScalarType;

/// Bytes that are filled between two looks at the clock.
const FILLED: usize = 1 << 20;

/// Bytes of a string before which somebody looks at the clock.
pub(crate) const LONG: usize = 1 << 16;

impl ArrayRows {
    /// As [`resize`](ArrayRows::resize), with memory on account. Without it there are no rows.
    ///
    /// # Errors
    /// The account or the system refuses.
    pub fn resize_within(
        &mut self,
        element: ScalarType,
        len: usize,
        account: &dyn Account,
    ) -> Result<(), Exhausted> {
        self.resize_for_kernel(element, len, account)?;
        // There are no rows before they are complete, whatever the account does.
        self.len = 0;
        let filled = match element {
            ScalarType::Boolean => self.cells_mut()[..len].chunks_mut(FILLED).try_for_each(|cells| {
                account.ask()?;
                cells.fill(0);
                Ok(())
            }),
            ScalarType::Text | ScalarType::Bytes => reserve_exact(&mut self.ends, len, account)
                .and_then(|()| fill_up_to(&mut self.ends, len, 0, account)),
            _ => Ok(()),
        };
        match filled.is_ok() {
            true => self.len = len,
            false => self.start(element),
        }
        filled
    }

    /// The same for a kernel that writes all plain cells: what stands in them may be anything.
    ///
    /// # Errors
    /// The account or the system refuses.
    #[inline]
    pub(crate) fn resize_for_kernel(
        &mut self,
        element: ScalarType,
        len: usize,
        account: &dyn Account,
    ) -> Result<(), Exhausted> {
        match self.reuse_for_kernel(element, len) {
            true => Ok(()),
            false => self.grow(len, account),
        }
    }

    /// The same if that takes no more memory than there is, as on every run but the first; false if it does: there are no rows then.
    #[inline]
    pub(crate) fn reuse_for_kernel(&mut self, element: ScalarType, len: usize) -> bool {
        self.start(element);
        let bytes = len.checked_mul(cell_size(element));
        let has_room = bytes.is_some_and(|bytes| bytes <= self.cells.len() * size_of::<u64>());
        if has_room {
            self.len = len;
        }
        has_room
    }

    /// Makes room for so many rows.
    #[cold]
    fn grow(&mut self, len: usize, account: &dyn Account) -> Result<(), Exhausted> {
        let asked = (len as u64).saturating_mul(cell_size(self.element) as u64);
        let bytes = usize::try_from(asked).map_err(|_| Exhausted::Memory { asked })?;
        self.cells.lay_out(bytes.div_ceil(size_of::<u64>()), account)?;
        self.len = len;
        Ok(())
    }

    /// Plain cells as bytes, and the words of presence if there are any, to be written.
    pub(crate) fn parts_mut(&mut self) -> (&mut [u8], &mut [u64]) {
        (bytemuck::cast_slice_mut(&mut self.cells), &mut self.presence)
    }

    /// Makes room on account for the next row, which has so many bytes if the rows are strings.
    ///
    /// # Errors
    /// The account or the system refuses.
    pub fn reserve_row(
        &mut self,
        present: bool,
        bytes: usize,
        account: &dyn Account,
    ) -> Result<(), Exhausted> {
        let len = self.len + 1;
        let bytes = match self.element.is_plain() {
            true => len * cell_size(self.element),
            false => self.ends.last().map_or(0, |end| *end as usize) + bytes,
        };
        reserve(&mut self.cells, bytes.div_ceil(size_of::<u64>()), account)?;
        if !self.element.is_plain() {
            reserve(&mut self.ends, len, account)?;
        }
        match present && self.presence.is_empty() {
            true => Ok(()),
            false => reserve(&mut self.presence, len.div_ceil(ROWS_OF_A_WORD), account),
        }
    }

    /// Makes room on account for this many plain rows in all.
    ///
    /// # Errors
    /// The account or the system refuses.
    pub fn reserve_rows(&mut self, rows: usize, account: &dyn Account) -> Result<(), Exhausted> {
        match self.element.is_plain() {
            true => reserve_exact(&mut self.cells, (rows * cell_size(self.element)).div_ceil(8), account),
            false => reserve_exact(&mut self.ends, rows, account),
        }
    }

    /// Makes room on account for the presence of this many rows in all.
    pub(crate) fn reserve_presence(&mut self, rows: usize, account: &dyn Account) -> Result<(), Exhausted> {
        reserve_exact(&mut self.presence, rows.div_ceil(ROWS_OF_A_WORD), account)
    }

    /// Where the string row that comes next begins, in bytes.
    #[inline]
    pub(crate) fn next_string(&self) -> usize {
        self.ends.last().map_or(0, |end| *end as usize)
    }

    /// Writes bytes of the string row that comes next from this byte on, and gives the byte behind them.
    ///
    /// # Errors
    /// The account or the system refuses.
    #[inline]
    pub(crate) fn write_piece(
        &mut self,
        at: usize,
        bytes: &[u8],
        account: &dyn Account,
    ) -> Result<usize, Exhausted> {
        let end = at + bytes.len();
        if bytes.len() >= LONG {
            account.ask()?;
        }
        if end > self.cells.len() * size_of::<u64>() {
            self.grow_strings(end, account)?;
        }
        self.cells_mut()[at..end].copy_from_slice(bytes);
        Ok(end)
    }

    /// Ends the string row that comes next behind bytes that are written. Its presence comes by
    /// [`append_presence`](ArrayRows::append_presence), or all rows are present.
    ///
    /// # Errors
    /// The account or the system refuses.
    #[inline]
    pub(crate) fn end_string(&mut self, end: usize, account: &dyn Account) -> Result<(), Exhausted> {
        reserve(&mut self.ends, self.len + 1, account)?;
        self.ends.push(end as u64);
        self.len += 1;
        Ok(())
    }

    /// Makes the memory of strings longer, twice as long if it has to move.
    #[cold]
    fn grow_strings(&mut self, bytes: usize, account: &dyn Account) -> Result<(), Exhausted> {
        let words = bytes.div_ceil(size_of::<u64>());
        reserve(&mut self.cells, words, account)?;
        let some = self.cells.capacity().min(words + FILLED / size_of::<u64>());
        self.cells.lay_out(some, account)
    }

    /// Appends the presence of the rows of a word.
    #[inline]
    pub(crate) fn append_presence(&mut self, word: u64) {
        self.presence.push(word);
    }

    /// The words of presence, as [`presence_mut`](ArrayRows::presence_mut), with memory on account.
    ///
    /// # Errors
    /// The account or the system refuses.
    #[inline]
    pub(crate) fn presence_within(&mut self, account: &dyn Account) -> Result<&mut [u64], Exhausted> {
        reserve_exact(&mut self.presence, self.len.div_ceil(ROWS_OF_A_WORD), account)?;
        Ok(self.presence_mut())
    }

    /// The words of presence that are to be written, all present at first, if there is memory for them, as on every run but the first.
    #[inline]
    pub(crate) fn reuse_presence(&mut self) -> Option<&mut [u64]> {
        let has_room = self.len.div_ceil(ROWS_OF_A_WORD) <= self.presence.capacity();
        has_room.then(|| self.presence_mut())
    }

    /// Takes the rows of another array, keeping the memory, which is on account. Without it there are no rows.
    ///
    /// # Errors
    /// The account or the system refuses, or the run has to stop.
    pub fn copy_within(&mut self, other: &ArrayRows, account: &dyn Account) -> Result<(), Exhausted> {
        self.start(other.element);
        let copied = copy_words(&mut self.cells, &other.cells, account)
            .and_then(|()| copy_words(&mut self.ends, &other.ends, account))
            .and_then(|()| copy_words(&mut self.presence, &other.presence, account));
        match copied {
            Ok(()) => self.len = other.len,
            Err(_) => self.start(other.element),
        }
        copied
    }

    /// As [`retyped`](ArrayRows::retyped), with memory on account.
    ///
    /// # Errors
    /// The account or the system refuses.
    pub fn retyped_within(&self, element: ScalarType, account: &dyn Account) -> Result<ArrayRows, Exhausted> {
        let mut rows = ArrayRows::new(element);
        if self.element.storage() == element.storage() {
            rows.copy_within(self, account)?;
            rows.element = element;
        }
        Ok(rows)
    }

    /// Bytes of memory that the rows hold.
    pub fn heap_bytes(&self) -> u64 {
        let words = self.cells.capacity() + self.ends.capacity() + self.presence.capacity();
        (words * size_of::<u64>()) as u64
    }
}
