//! Strings over rows: a function of the strings of one row, applied to whole arrays where they stand.
//!
//! ```text
//! s == 'b'       s    DENSE_ARRAY_TEXT  "a", "b", missing ─┐
//!                                                          ├─> (str, str) → bool, 64 rows a word of presence
//!                'b'  one for all rows ────────────────────┘
//! ```
//!
//! A row of the result is missing where a string is. Other operators whose kernels need slots run on a frame of their own, row
//! after row ([`row_by_row`](super::row_by_row)); here are those by which tables of texts are filtered, compared and cleaned.

use crate::array::function::Outcome;
use crate::array::meter::Meter;
use crate::array::rows_out::{Pieces, RowsOut};
use crate::layout::access::{Bytes, Text};
use crate::layout::{PlainSlot, SlotType};
use crate::operator::call::KernelCall;
use crate::operator::pointwise::common_size;
use crate::value::array::{ROWS_OF_A_WORD, cell_size};
use crate::value::{ArrayRows, Fault, QType, ScalarType};
use std::marker::PhantomData;
use std::ops::Range;

/// TEXT or BYTES, whose rows are bytes.
pub(crate) trait StringSlot: SlotType {
    /// What a slot of this type shows.
    type Str: ?Sized;

    /// The argument, scalar or optional; `None` if it is missing.
    fn read<'f>(call: &KernelCall<'f>, index: usize) -> Option<&'f Self::Str>;

    /// The bytes of the string.
    fn as_bytes(s: &Self::Str) -> &[u8];

    /// The string of these bytes.
    ///
    /// # Safety
    /// They are those of a string of this type.
    unsafe fn of_bytes(bytes: &[u8]) -> &Self::Str;
}

impl StringSlot for Text {
    type Str = str;

    fn read<'f>(call: &KernelCall<'f>, index: usize) -> Option<&'f str> {
        match call.qtype(index).is_optional() {
            true => call.get::<Option<Text>>(index),
            false => Some(call.text(index)),
        }
    }

    #[inline(always)]
    fn as_bytes(s: &str) -> &[u8] {
        s.as_bytes()
    }

    #[inline(always)]
    unsafe fn of_bytes(bytes: &[u8]) -> &str {
        // SAFETY: the caller's promise.
        unsafe { std::str::from_utf8_unchecked(bytes) }
    }
}

impl StringSlot for Bytes {
    type Str = [u8];

    fn read<'f>(call: &KernelCall<'f>, index: usize) -> Option<&'f [u8]> {
        match call.qtype(index).is_optional() {
            true => call.get::<Option<Bytes>>(index),
            false => Some(call.get::<Bytes>(index)),
        }
    }

    #[inline(always)]
    fn as_bytes(s: &[u8]) -> &[u8] {
        s
    }

    #[inline(always)]
    unsafe fn of_bytes(bytes: &[u8]) -> &[u8] {
        bytes
    }
}

/// A string argument: rows, or one value for all of them. Rows are strings of the argument's type.
#[derive(Clone, Copy)]
enum Strings<'f> {
    Rows { bytes: &'f [u8], ends: &'f [u64], presence: Option<&'f [u64]> },
    One(&'f [u8]),
    Missing,
}

impl<'f> Strings<'f> {
    fn of<S: StringSlot>(call: &KernelCall<'f>, index: usize) -> Strings<'f> {
        match call.qtype(index) {
            QType::Array(t) => {
                assert_eq!(
                    t.element.storage(),
                    S::qtype().scalar().expect("a scalar").storage(),
                    "strings of one type"
                );
                let rows = call.array(index);
                assert_eq!(rows.ends().len(), rows.len(), "each row of strings ends");
                Strings::Rows { bytes: rows.bytes(), ends: rows.ends(), presence: rows.presence() }
            }
            _ => S::read(call, index).map_or(Strings::Missing, |s| Strings::One(S::as_bytes(s))),
        }
    }

    /// The presence of the rows of a word.
    #[inline(always)]
    fn present(&self, word: usize) -> u64 {
        match self {
            Strings::Rows { presence, .. } => presence.map_or(u64::MAX, |words| words[word]),
            Strings::One(_) => u64::MAX,
            Strings::Missing => 0,
        }
    }

    /// The string of a row, present or not.
    ///
    /// # Safety
    /// The argument has such a row, or one value for all.
    #[inline(always)]
    unsafe fn get(&self, row: usize) -> &'f [u8] {
        match self {
            Strings::Rows { bytes, ends, .. } => {
                debug_assert!(row < ends.len(), "a row of the argument");
                // SAFETY: the caller's promise; a string lies between two ends, which do not decrease, and the last of them
                // lies within the bytes.
                unsafe {
                    let start = if row == 0 { 0 } else { *ends.get_unchecked(row - 1) };
                    bytes.get_unchecked(start as usize..*ends.get_unchecked(row) as usize)
                }
            }
            Strings::One(bytes) => bytes,
            Strings::Missing => &[],
        }
    }
}

/// The strings of an argument by their rows.
#[derive(Clone, Copy)]
pub(crate) struct StringRows<'f, S> {
    strings: Strings<'f>,
    kind: PhantomData<fn() -> S>,
}

impl<'f, S: StringSlot> StringRows<'f, S> {
    /// The one string of all rows, if it is one and not missing.
    pub(crate) fn one(&self) -> Option<&'f S::Str> {
        match self.strings {
            // SAFETY: the argument is of this type.
            Strings::One(bytes) => Some(unsafe { S::of_bytes(bytes) }),
            _ => None,
        }
    }

    /// The string of a row; `None` if it is missing.
    #[inline(always)]
    pub(crate) fn get(&self, row: usize) -> Option<&'f S::Str> {
        let rows = if let Strings::Rows { ends, .. } = self.strings { ends.len() } else { usize::MAX };
        assert!(row < rows, "row {row} of {rows}");
        let is_present = self.strings.present(row / ROWS_OF_A_WORD) >> (row % ROWS_OF_A_WORD) & 1 == 1;
        // SAFETY: there is such a row, and the argument is of this type.
        is_present.then(|| unsafe { S::of_bytes(self.strings.get(row)) })
    }
}

/// The numbers of an INT64 argument by their rows.
#[derive(Clone, Copy)]
pub(crate) enum NumberRows<'f> {
    /// Those of an array.
    Rows(&'f ArrayRows),
    /// One for all rows.
    One(Option<i64>),
}

impl NumberRows<'_> {
    /// The number of a row; `None` if it is missing.
    #[inline(always)]
    pub(crate) fn get(&self, row: usize) -> Option<i64> {
        match self {
            NumberRows::Rows(rows) => rows.is_present(row).then(|| bytemuck::cast_slice(rows.bytes())[row]),
            NumberRows::One(number) => *number,
        }
    }
}

/// A string that rows are compared with, and its first bytes as words.
struct Prefixed<'a> {
    bytes: &'a [u8],
    words: [u64; 2],
    /// Bits of the words that are bytes of the string.
    masks: [u64; 2],
}

/// Bytes of two words.
const PREFIX: usize = 16;

impl<'a> Prefixed<'a> {
    fn new(bytes: &'a [u8]) -> Prefixed<'a> {
        let (mut first, mut mask) = ([0; PREFIX], [0; PREFIX]);
        let length = bytes.len().min(PREFIX);
        first[..length].copy_from_slice(&bytes[..length]);
        mask[..length].fill(u8::MAX);
        Prefixed { bytes, words: two_words(&first), masks: two_words(&mask) }
    }

    /// True if a row of strings is this one.
    #[inline(always)]
    fn is_row(&self, bytes: &[u8], ends: &[u64], row: usize) -> bool {
        let start = if row == 0 { 0 } else { ends[row - 1] } as usize;
        let end = ends[row] as usize;
        // What stands behind the row does not count, so that most rows are loaded as two words.
        let Some(first) = bytes.get(start..).and_then(<[u8]>::first_chunk) else {
            return bytes[start..end] == *self.bytes;
        };
        let words = two_words(first);
        let differ = (words[0] ^ self.words[0]) & self.masks[0] | (words[1] ^ self.words[1]) & self.masks[1];
        let is_same = (differ == 0) & (end - start == self.bytes.len());
        is_same && (self.bytes.len() <= PREFIX || bytes[start + PREFIX..end] == self.bytes[PREFIX..])
    }
}

fn two_words(bytes: &[u8; PREFIX]) -> [u64; 2] {
    bytemuck::cast(*bytes)
}

/// The words of so many rows, each with its rows, where the meter is asked in time.
fn each_word(
    rows: usize,
    meter: &Meter<'_>,
    mut f: impl FnMut(usize, Range<usize>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    meter.slow_strides(rows).try_for_each(|stride| {
        let stride = stride?;
        let words = stride.start / ROWS_OF_A_WORD..stride.end.div_ceil(ROWS_OF_A_WORD);
        words.into_iter().try_for_each(|word| {
            let first = word * ROWS_OF_A_WORD;
            f(word, first..stride.end.min(first + ROWS_OF_A_WORD))
        })
    })
}

/// Those bits of a word that are rows of an array.
fn bits_of(rows: &Range<usize>) -> u64 {
    u64::MAX >> (ROWS_OF_A_WORD - rows.len())
}

impl<'f> KernelCall<'f> {
    /// The strings of an argument by their rows.
    pub(crate) fn string_rows<S: StringSlot>(&self, index: usize) -> StringRows<'f, S> {
        StringRows { strings: Strings::of::<S>(self, index), kind: PhantomData }
    }

    /// The numbers of an argument by their rows, which are INT64.
    pub(crate) fn number_rows(&self, index: usize) -> NumberRows<'f> {
        match self.qtype(index) {
            QType::Array(t) => {
                assert_eq!(t.element, ScalarType::Int64, "numbers of rows");
                NumberRows::Rows(self.array(index))
            }
            QType::Optional(_) => NumberRows::One(self.get::<Option<i64>>(index)),
            _ => NumberRows::One(Some(self.get::<i64>(index))),
        }
    }

    /// The value of a function for each row: of the strings that are the first arguments, and the number of the row.
    ///
    /// # Errors
    /// Arrays of different sizes, the first row that raises, or no memory.
    pub(crate) fn map_strings<S: StringSlot, R: PlainSlot, O: Outcome<R>, const N: usize>(
        &mut self,
        function: impl Fn([&S::Str; N], usize) -> O,
    ) -> Result<(), Fault> {
        let (rows, meter, size) = (common_size(self)?, self.meter(), cell_size(R::SCALAR));
        let strings: [Strings<'_>; N] = std::array::from_fn(|index| Strings::of::<S>(self, index));
        let mut out = self.rows_for_kernel(R::SCALAR, rows)?;
        let (cells, words) = out.parts()?;
        let outcome = each_word(rows, meter, |word, rows| {
            let present = strings.iter().fold(u64::MAX, |present, strings| present & strings.present(word));
            let (is_complete, mut there) = (present & bits_of(&rows) == bits_of(&rows), 0);
            let cells = &mut cells[rows.start * size..rows.end * size];
            for (bit, row) in rows.enumerate() {
                if !is_complete && present >> bit & 1 == 0 {
                    cells[bit * size..][..size].fill(0);
                    continue;
                }
                // SAFETY: all arguments have these rows, of this type.
                let strings = strings.each_ref().map(|strings| unsafe { S::of_bytes(strings.get(row)) });
                let value = function(strings, row).outcome().map_err(|fault| fault.in_row(row))?;
                // SAFETY: the cell of the row, of the result's type; a UNIT has none.
                there |= u64::from(unsafe { value.store_row(cells.as_mut_ptr().add(bit * size)) }) << bit;
            }
            words[word] = there;
            Ok(())
        });
        finish(out, outcome)
    }

    /// What a function makes of whether the two strings of a row are equal. Rows are compared with one string for all of them
    /// without branches, whatever lengths they have.
    ///
    /// # Errors
    /// Arrays of different sizes, or no memory.
    pub(crate) fn compare_strings<S: StringSlot, R: PlainSlot>(
        &mut self,
        of_equal: impl Fn(bool) -> R,
    ) -> Result<(), Fault>
    where
        S::Str: PartialEq,
    {
        let (rows, one) = match [0, 1].map(|index| Strings::of::<S>(self, index)) {
            [Strings::Rows { bytes, ends, .. }, Strings::One(one)] => ((bytes, ends), Prefixed::new(one)),
            [Strings::One(one), Strings::Rows { bytes, ends, .. }] => ((bytes, ends), Prefixed::new(one)),
            _ => return self.map_strings::<S, R, _, 2>(|[x, y], _| of_equal(x == y)),
        };
        // Which rows are present is that of both.
        self.map_strings::<S, R, _, 2>(|_, row| of_equal(one.is_row(rows.0, rows.1, row)))
    }

    /// The part of each row of the first argument that a function gives, or a missing row; its second argument is the number of
    /// the row.
    ///
    /// # Errors
    /// Arrays of different sizes, the first row that raises, or no memory.
    pub(crate) fn parts_of_strings<S: StringSlot>(
        &mut self,
        function: impl for<'a> Fn(&'a S::Str, usize) -> Result<Option<&'a S::Str>, Fault>,
    ) -> Result<(), Fault> {
        let (rows, meter, strings) = (common_size(self)?, self.meter(), Strings::of::<S>(self, 0));
        let mut out = self.strings_out(rows)?;
        let outcome = each_word(rows, meter, |word, rows| {
            let mut present = strings.present(word) & bits_of(&rows);
            for (bit, row) in rows.enumerate() {
                let part = match present >> bit & 1 {
                    0 => &[],
                    _ => {
                        // SAFETY: the argument has this row, of this type.
                        let whole = unsafe { S::of_bytes(strings.get(row)) };
                        let part = function(whole, row).map_err(|fault| fault.in_row(row))?;
                        present &= !(u64::from(part.is_none()) << bit);
                        part.map_or(&[][..], S::as_bytes)
                    }
                };
                out.append_string(part)?;
            }
            out.append_presence(present);
            Ok(())
        });
        finish(out, outcome)
    }

    /// A string of pieces for each row, missing where one of the first arguments is, which are all of one type: what a function
    /// of the row and these strings pushes.
    ///
    /// # Errors
    /// Arrays of different sizes, the first row that raises, or no memory.
    pub(crate) fn pieces_of_strings<S: StringSlot>(
        &mut self,
        count: usize,
        function: impl Fn(usize, &[&S::Str], &mut Pieces<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (rows, meter) = (common_size(self)?, self.meter());
        let strings =
            self.arena().alloc_slice_fill_iter((0..count).map(|index| Strings::of::<S>(self, index)));
        // SAFETY: no bytes are a string of either type.
        let of_row: &mut [&S::Str] =
            self.arena().alloc_slice_fill_with(count, |_| unsafe { S::of_bytes(&[]) });
        let mut out = self.strings_out(rows)?;
        let outcome = each_word(rows, meter, |word, rows| {
            let present =
                strings.iter().fold(bits_of(&rows), |present, strings| present & strings.present(word));
            for (bit, row) in rows.enumerate() {
                if present >> bit & 1 == 0 {
                    out.append_string(&[])?;
                    continue;
                }
                for (string, strings) in of_row.iter_mut().zip(&*strings) {
                    // SAFETY: the argument has this row, of this type.
                    *string = unsafe { S::of_bytes(strings.get(row)) };
                }
                out.append_pieces(|pieces| function(row, of_row, pieces))
                    .map_err(|fault| fault.in_row(row))?;
            }
            out.append_presence(present);
            Ok(())
        });
        finish(out, outcome)
    }

    /// A text of pieces for each row of plain values that is present: what a function of the value pushes.
    ///
    /// # Errors
    /// The first row that raises, or no memory.
    pub(crate) fn pieces_of_plain<T: PlainSlot>(
        &mut self,
        function: impl Fn(T, &mut Pieces<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (meter, values) = (self.meter(), self.array(0));
        assert_eq!(values.element().storage(), T::SCALAR.storage(), "rows of the function's type");
        let mut out = self.strings_out(values.len())?;
        let outcome = each_word(values.len(), meter, |word, rows| {
            let present = values.presence().map_or(u64::MAX, |words| words[word]) & bits_of(&rows);
            for (bit, row) in rows.enumerate() {
                if present >> bit & 1 == 0 {
                    out.append_string(&[])?;
                    continue;
                }
                // SAFETY: the cell of the row, of this type.
                let value = unsafe { T::load_row(values.raw(row).as_ptr(), true) };
                out.append_pieces(|pieces| function(value, pieces)).map_err(|fault| fault.in_row(row))?;
            }
            out.append_presence(present);
            Ok(())
        });
        finish(out, outcome)
    }

    /// Texts without other letters than those of ASCII, copied and changed as a whole; false if there are others, and nothing
    /// has been written.
    ///
    /// # Errors
    /// No memory.
    pub(crate) fn change_ascii(&mut self, change: fn(&mut [u8])) -> Result<bool, Fault> {
        let (meter, texts) = (self.meter(), self.array(0));
        let used = texts.next_string();
        let is_ascii = texts.bytes()[..used].is_ascii();
        if is_ascii {
            let out = self.array_rows_out();
            out.copy_within(texts, meter)?;
            change(&mut out.cells_mut()[..used]);
        }
        Ok(is_ascii)
    }

    /// The rows of one string argument or of another: of the first where `takes_first` has bits, by the words of a mask (all, if
    /// there is none) and of the presence of the first. Without another argument, other rows are missing.
    ///
    /// # Errors
    /// Arrays of different sizes, or no memory.
    pub(crate) fn choose_strings<S: StringSlot>(
        &mut self,
        mask: Option<usize>,
        first: usize,
        other: Option<usize>,
        takes_first: fn(u64, u64) -> u64,
    ) -> Result<(), Fault> {
        let (rows, meter) = (common_size(self)?, self.meter());
        let mask = mask.map(|mask| match self.qtype(mask).array() {
            Some(_) => self.array(mask).presence().ok_or(u64::MAX),
            None => Err(if self.is_present(mask) { u64::MAX } else { 0 }),
        });
        let first = Strings::of::<S>(self, first);
        let other = other.map_or(Strings::Missing, |other| Strings::of::<S>(self, other));
        let mut out = self.strings_out(rows)?;
        let outcome = each_word(rows, meter, |word, rows| {
            let mask = mask.map_or(u64::MAX, |mask| mask.map_or_else(|all| all, |words| words[word]));
            let takes = takes_first(mask, first.present(word));
            let present = (takes & first.present(word) | !takes & other.present(word)) & bits_of(&rows);
            for (bit, row) in rows.enumerate() {
                let chosen = if takes >> bit & 1 == 0 { &other } else { &first };
                // SAFETY: both arguments have this row, or one value for all.
                out.append_string(if present >> bit & 1 == 0 { &[] } else { unsafe { chosen.get(row) } })?;
            }
            out.append_presence(present);
            Ok(())
        });
        finish(out, outcome)
    }

    /// The rows of a string result, emptied, with room for the ends and the presence of so many.
    fn strings_out(&mut self, rows: usize) -> Result<RowsOut<'_>, Fault> {
        self.charge_rows(rows)?;
        let element = self.result_type().element().expect("the result is an array");
        let meter = self.meter();
        let mut out = RowsOut::new(self.array_rows_out(), meter);
        out.start_strings(element, rows)?;
        Ok(out)
    }
}

/// Leaves no rows behind if one has failed.
fn finish(mut out: RowsOut<'_>, outcome: Result<(), Fault>) -> Result<(), Fault> {
    match outcome.is_ok() {
        true => out.normalize(),
        false => out.start(out.element()),
    }
    outcome
}
