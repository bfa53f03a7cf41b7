//! Arrays: rows of scalars of one type, each present or missing.
//!
//! ```text
//! DENSE_ARRAY_INT32 of 1, missing, 3        cells      01 00 00 00 | 00 00 00 00 | 03 00 00 00
//!                                           presence   …0000 0101
//! DENSE_ARRAY_TEXT  of 'ab', missing, 'c'   cells      a b c
//!                                           ends       2, 2, 3
//! ```
//!
//! Invariants:
//! 1. Plain elements stand one after the other in their own size, rows of a string between two ends.
//!    A UNIT has no cells.
//! 2. The presence of row `i` is bit `i % 64` of word `i / 64`; bits beyond the last row are 0. Without
//!    words all rows are present.
//! 3. What stands under a missing row is not part of the value: it may be anything of its type.
//! 4. A BOOLEAN cell is 0 or 1, a TEXT row is UTF-8.
//!
//! Nothing public breaks them; inside of the crate kernels write cells and words of presence by themselves.

use crate::value::budget::{MOST_ARRAY_ROWS, Unlimited};
use crate::value::scalar::ScalarType;
use crate::value::scalar_value::ScalarValue;
use crate::value::words::Words;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Elements of an array that its hash takes, at most.
pub(super) const HASHED: usize = 16;

/// Rows in one word of presence.
pub const ROWS_OF_A_WORD: usize = 64;

/// Rows of an array or edge that an operator makes of numbers or of other arrays, so that a short
/// expression cannot fill the memory: 134,217,728.
pub const MAX_ROWS: usize = MOST_ARRAY_ROWS as usize;

/// True if each number is that of one of so many rows.
#[inline(always)]
pub(crate) fn are_rows(numbers: &[i64], rows: usize) -> bool {
    // The sign of one of the two tells, also where the difference wraps: then the number is below 0. Without a way out
    // and without a comparison, this is a loop over vectors on every machine.
    let last = rows as i64 - 1;
    numbers.iter().fold(0, |signs, number| signs | number | last.wrapping_sub(*number)) >= 0
}

/// The two families of arrays; they do not mix. Their values are stored alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArrayClass {
    /// `DENSE_ARRAY_*`.
    Dense,
    /// `ARRAY_*`.
    Array,
}

impl ArrayClass {
    /// What the names of its types begin with.
    pub fn prefix(self) -> &'static str {
        match self {
            ArrayClass::Dense => "DENSE_ARRAY_",
            ArrayClass::Array => "ARRAY_",
        }
    }
}

/// The type of an array of one dynamic axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrayType {
    /// Its family.
    pub class: ArrayClass,
    /// Type of the rows.
    pub element: ScalarType,
}

impl ArrayType {
    /// The type with this name, such as `DENSE_ARRAY_INT32`.
    pub fn from_name(name: &str) -> Option<ArrayType> {
        [ArrayClass::Dense, ArrayClass::Array].into_iter().find_map(|class| {
            let element = ScalarType::from_name(name.strip_prefix(class.prefix())?)?;
            Some(ArrayType { class, element })
        })
    }

    /// The same family with another element.
    pub fn of(self, element: ScalarType) -> ArrayType {
        ArrayType { element, ..self }
    }
}

impl fmt::Display for ArrayType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.class.prefix(), self.element)
    }
}

/// The rows of an array. Refilling one keeps its memory.
#[derive(Clone, Debug)]
pub struct ArrayRows {
    pub(super) element: ScalarType,
    pub(super) len: usize,
    /// Plain cells, or the bytes of all strings, in words for their alignment.
    pub(super) cells: Words,
    /// For strings: where each row ends, in bytes.
    pub(super) ends: Vec<u64>,
    /// Empty, or the words of invariant 2.
    pub(super) presence: Vec<u64>,
}

impl ArrayRows {
    /// No rows.
    pub fn new(element: ScalarType) -> ArrayRows {
        ArrayRows { element, len: 0, cells: Words::new(), ends: Vec::new(), presence: Vec::new() }
    }

    /// These rows.
    ///
    /// # Panics
    /// If a value is of another type.
    pub fn from_values(element: ScalarType, values: &[Option<ScalarValue>]) -> ArrayRows {
        let mut rows = ArrayRows::new(element);
        values.iter().for_each(|value| rows.push(value.as_ref()));
        rows
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

    /// Words of presence; `None` if all rows are present.
    pub fn presence(&self) -> Option<&[u64]> {
        (!self.presence.is_empty()).then_some(&*self.presence)
    }

    /// True if the row is not missing.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn is_present(&self, row: usize) -> bool {
        assert!(row < self.len, "row {row} of {}", self.len);
        self.presence().is_none_or(|words| words[row / ROWS_OF_A_WORD] >> (row % ROWS_OF_A_WORD) & 1 == 1)
    }

    /// A row; `None` if it is missing.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize) -> Option<ScalarValue> {
        self.is_present(row).then(|| ScalarValue::of_cell(self.element, self.raw(row)))
    }

    /// All rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<ScalarValue>> + '_ {
        (0..self.len).map(|row| self.get(row))
    }

    /// The bytes of a string row, present or not.
    ///
    /// # Panics
    /// If there is no such row, or the rows are plain.
    pub fn string(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes()[start as usize..self.ends[row] as usize]
    }

    /// Where each row of strings ends, in bytes; nothing if rows are plain.
    pub(crate) fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// Plain cells as bytes.
    pub fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.cells)
    }

    /// Cells of numbers as bytes, to be written: all bytes are numbers.
    ///
    /// # Panics
    /// If the rows are no numbers.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let is_number = cell_size(self.element) > 0 && self.element != ScalarType::Boolean;
        assert!(is_number, "rows of {} are no numbers", self.element);
        self.cells_mut()
    }

    /// Plain cells as bytes, to be written with values of the type (invariant 4).
    pub(crate) fn cells_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.cells)
    }

    /// Makes room for rows of a type, all of them present: of numbers, cells are zero or what stood there; truth
    /// values are false, and strings are empty.
    ///
    /// # Panics
    /// If the system has no memory for so many rows.
    pub fn resize(&mut self, element: ScalarType, len: usize) {
        self.resize_within(element, len, &Unlimited).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Begins anew, to be filled row by row.
    #[inline]
    pub fn start(&mut self, element: ScalarType) {
        self.element = element;
        self.len = 0;
        self.presence.clear();
        self.ends.clear();
    }

    /// Appends a row of another array of the same element.
    ///
    /// # Panics
    /// If there is no such row, or it is of another type.
    pub fn push_row_of(&mut self, other: &ArrayRows, row: usize) {
        assert_eq!(other.element.storage(), self.element.storage(), "a row of the array's type");
        self.push_trusted(other.is_present(row), other.raw(row));
    }

    /// Appends a row of this cell, or of these bytes of a string; what a missing row has does not count.
    ///
    /// # Panics
    /// If a cell is of another size or is no truth value, or a text is not UTF-8.
    pub fn push_raw(&mut self, present: bool, bytes: &[u8]) {
        match self.element {
            ScalarType::Boolean => {
                assert!(!present || matches!(bytes, [0 | 1]), "a truth value is 0 or 1, not {bytes:?}");
            }
            ScalarType::Text => assert!(!present || std::str::from_utf8(bytes).is_ok(), "a text is UTF-8"),
            _ => {}
        }
        self.push_trusted(present, bytes);
    }

    /// As [`push_raw`](ArrayRows::push_raw), of a value that is known to be one of the type (invariant 4).
    pub(crate) fn push_trusted(&mut self, present: bool, bytes: &[u8]) {
        if !present {
            return self.push_missing();
        }
        self.push_presence(true);
        match self.element.is_plain() {
            true => {
                assert_eq!(bytes.len(), cell_size(self.element), "a cell of the array's type");
                self.push_cell(bytes);
            }
            false => self.push_bytes(bytes),
        }
    }

    /// The cell of a plain row, or the bytes of a string row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn raw(&self, row: usize) -> &[u8] {
        let size = cell_size(self.element);
        match self.element.is_plain() {
            true => &self.bytes()[row * size..][..size],
            false => self.string(row),
        }
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If the value is of another type.
    pub fn push(&mut self, value: Option<&ScalarValue>) {
        match value {
            Some(value) => self.push_value(value),
            None => self.push_missing(),
        }
    }

    /// Appends a present row.
    ///
    /// # Panics
    /// If the value is of another type.
    pub fn push_value(&mut self, value: &ScalarValue) {
        assert_eq!(value.scalar_type().storage(), self.element.storage(), "a row of the array's type");
        self.push_presence(true);
        match value {
            ScalarValue::Text(text) => self.push_bytes(text.as_bytes()),
            ScalarValue::Bytes(bytes) => self.push_bytes(bytes),
            plain => {
                let bits = plain.plain_bits().expect("the value is plain").to_le_bytes();
                self.push_cell(&bits[..cell_size(self.element)]);
            }
        }
    }

    /// Appends a missing row.
    pub fn push_missing(&mut self) {
        self.presence_mut();
        self.push_presence(false);
        match self.element.is_plain() {
            true => self.push_cell(&[0; 8][..cell_size(self.element)]),
            false => self.push_bytes(&[]),
        }
    }

    /// The presence of the row that comes next.
    fn push_presence(&mut self, present: bool) {
        // Without words all rows are present; the first missing row asks for them.
        if self.presence.is_empty() && (present || self.len > 0) {
            return;
        }
        let bit = self.len % ROWS_OF_A_WORD;
        if bit == 0 {
            self.presence.push(0);
        }
        let last = self.presence.len() - 1;
        self.presence[last] |= u64::from(present) << bit;
    }

    fn push_cell(&mut self, cell: &[u8]) {
        let start = self.len * cell.len();
        let words = (start + cell.len()).div_ceil(size_of::<u64>());
        if self.cells.len() < words {
            self.cells.resize(words);
        }
        self.cells_mut()[start..start + cell.len()].copy_from_slice(cell);
        self.len += 1;
    }

    /// Appends the bytes of a string row.
    fn push_bytes(&mut self, bytes: &[u8]) {
        let start = self.ends.last().map_or(0, |end| *end as usize);
        let end = start + bytes.len();
        self.cells.resize(end.div_ceil(size_of::<u64>()));
        self.cells_mut()[start..end].copy_from_slice(bytes);
        self.ends.push(end as u64);
        self.len += 1;
    }

    /// Makes a row missing.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn set_missing(&mut self, row: usize) {
        assert!(row < self.len, "row {row} of {}", self.len);
        self.presence_mut()[row / ROWS_OF_A_WORD] &= !(1 << (row % ROWS_OF_A_WORD));
    }

    /// The words of presence, made all present if there were none. Bits beyond the last row stay 0 (invariant 2).
    pub(crate) fn presence_mut(&mut self) -> &mut [u64] {
        if self.presence.is_empty() {
            self.presence.resize(self.len.div_ceil(ROWS_OF_A_WORD), u64::MAX);
            let rest = self.len % ROWS_OF_A_WORD;
            if let Some(last) = self.presence.last_mut().filter(|_| rest > 0) {
                *last = (1 << rest) - 1;
            }
        }
        &mut self.presence
    }

    /// Forgets the words of presence if they say nothing.
    pub fn normalize(&mut self) {
        let present: usize = self.presence.iter().map(|word| word.count_ones() as usize).sum();
        if present == self.len {
            self.presence.clear();
        }
    }

    /// The same rows under another type of equal storage; none if the type is stored in another way, as
    /// in a slot that has not been written.
    pub fn retyped(&self, element: ScalarType) -> ArrayRows {
        match self.element.storage() == element.storage() {
            true => ArrayRows { element, ..self.clone() },
            false => ArrayRows::new(element),
        }
    }
}

/// Bytes of a plain row; 0 for UNIT and strings.
pub const fn cell_size(element: ScalarType) -> usize {
    match element {
        ScalarType::Unit | ScalarType::Text | ScalarType::Bytes => 0,
        plain => plain.size() as usize,
    }
}

/// Two arrays are equal if their rows are, bit for bit.
impl PartialEq for ArrayRows {
    fn eq(&self, other: &Self) -> bool {
        self.element == other.element && self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Eq for ArrayRows {}

/// Of large arrays some rows stand for all.
impl Hash for ArrayRows {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.element.hash(state);
        self.len.hash(state);
        self.iter().step_by(self.len.div_ceil(HASHED).max(1)).for_each(|row| row.hash(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let text = |t: &str| Some(ScalarValue::Text(t.into()));
        let int = |i: i32| Some(ScalarValue::Int32(i));
        let cases = [
            (ScalarType::Int32, vec![int(1), None, int(-3)]),
            (ScalarType::Text, vec![text("ab"), None, text(""), text("straße")]),
            (ScalarType::Unit, vec![None, Some(ScalarValue::Unit)]),
            (
                ScalarType::Boolean,
                (0..130).map(|i| (i % 3 > 0).then_some(ScalarValue::Boolean(i % 2 > 0))).collect(),
            ),
            (ScalarType::Float64, Vec::new()),
        ];
        for (element, values) in cases {
            let rows = ArrayRows::from_values(element, &values);
            assert_eq!(rows.iter().collect::<Vec<_>>(), values);
            let mut copy = ArrayRows::from_values(ScalarType::Float32, &[None]);
            copy.copy_within(&rows, &Unlimited).expect("memory");
            assert_eq!(copy, rows);
        }
    }

    #[test]
    fn what_is_missing_does_not_count() {
        let mut a = ArrayRows::from_values(ScalarType::Int64, &[Some(ScalarValue::Int64(1)), None]);
        let b = a.clone();
        a.bytes_mut()[8] = 7;
        assert_eq!(a, b);
        assert_eq!(a.presence(), Some(&[1][..]));
        let mut all = ArrayRows::from_values(ScalarType::Int64, &[Some(ScalarValue::Int64(1))]);
        all.presence_mut();
        assert_eq!(all.presence(), Some(&[1][..]));
        all.normalize();
        assert_eq!(all.presence(), None);
    }
}
