//! StringType: what TEXT and BYTES have in common.
//!
//! A string is a row of *units*: code points of a TEXT, bytes of a BYTES. Positions that users see
//! count units; offsets inside this crate count bytes and always lie between two units.
//!
//! ```text
//! TEXT "añb"     units   a    ñ    b            BYTES "a\xc3\xb1b"   units  a  c3  b1  b
//!                offset  0    1    3    4                            offset 0  1   2   3  4
//! ```

use crate::array::meter::Meter;
use crate::builtins::strings::strip::{Ends, strip_bytes, strip_text};
use crate::layout::access::{Bytes, Text};
use crate::operator::string_rows::StringSlot;
use crate::operator::{Family, KernelCall};
use crate::value::budget::{Account, Growing, reserve_more};
use crate::value::qtype::{BYTES, TEXT};
use crate::value::{Fault, QType, ScalarType};
use std::ops::Range;

/// `OPTIONAL_TEXT`.
pub const OPTIONAL_TEXT: QType = QType::Optional(ScalarType::Text);
/// `OPTIONAL_BYTES`.
pub const OPTIONAL_BYTES: QType = QType::Optional(ScalarType::Bytes);
/// `OPTIONAL_INT64`, the type of a position that need not be given.
pub const OPTIONAL_INT64: QType = QType::Optional(ScalarType::Int64);

/// Bytes a string made of others may have, so that a short expression cannot fill the memory: 64 MiB.
pub const MAX_STRING_BYTES: u64 = 1 << 26;

/// Refuses strings that are too long.
///
/// # Errors
/// [`Fault::Limit`] for more than [`MAX_STRING_BYTES`].
pub fn check_length(bytes: usize) -> Result<(), Fault> {
    match bytes as u64 {
        actual if actual > MAX_STRING_BYTES => {
            Err(Fault::Limit { limit: "string-bytes", actual, maximum: MAX_STRING_BYTES })
        }
        _ => Ok(()),
    }
}

/// TEXT or BYTES. Arguments named `at` are offsets between two units.
pub(crate) trait StringType: StringSlot {
    /// What a slot of this type owns.
    type Buffer: Default + Growing;

    /// The buffer of the result, emptied, with room for so many bytes; the result counts as present.
    ///
    /// # Errors
    /// Too many bytes would be alive, or the system refuses.
    fn room<'c>(call: &'c mut KernelCall<'_>, bytes: usize) -> Result<&'c mut Self::Buffer, Fault>;

    /// Appends to a buffer that has room for it.
    fn push(buffer: &mut Self::Buffer, part: &Self::Str);

    /// Appends to a buffer.
    ///
    /// # Errors
    /// As of [`room`](StringType::room).
    fn append(buffer: &mut Self::Buffer, part: &Self::Str, account: &dyn Account) -> Result<(), Fault> {
        reserve_more(buffer, Self::bytes(part), account)?;
        Self::push(buffer, part);
        Ok(())
    }

    /// Number of units.
    fn units(s: &Self::Str) -> usize;

    /// Number of bytes.
    fn bytes(s: &Self::Str) -> usize {
        Self::as_bytes(s).len()
    }

    /// Offset of a unit, or of the end for the number of units; `None` beyond.
    fn offset(s: &Self::Str, unit: usize) -> Option<usize>;

    /// Offset behind the unit at an offset; `None` at the end.
    fn next(s: &Self::Str, at: usize) -> Option<usize>;

    /// The part between two offsets.
    fn slice(s: &Self::Str, range: Range<usize>) -> &Self::Str;

    /// Without the units at its ends that are in the set, or that are white space if there is no set.
    ///
    /// # Errors
    /// The run has to stop, or its memory does not suffice for the set.
    fn strip<'s>(
        s: &'s Self::Str,
        set: Option<&Self::Str>,
        ends: Ends,
        meter: &Meter<'_>,
    ) -> Result<&'s Self::Str, Fault>;
}

impl StringType for Text {
    type Buffer = String;

    fn room<'c>(call: &'c mut KernelCall<'_>, bytes: usize) -> Result<&'c mut String, Fault> {
        call.text_room(bytes)
    }

    fn push(buffer: &mut String, part: &str) {
        buffer.push_str(part);
    }

    fn units(s: &str) -> usize {
        // Bytes 0b10…… go on with a letter, all others begin one.
        let begins = |byte: &u8| (*byte as i8) >= -0x40;
        let (words, rest) = s.as_bytes().as_chunks::<8>();
        let going_on = |word: &[u8; 8]| {
            let word = u64::from_le_bytes(*word);
            (word >> 7 & !word >> 6 & 0x0101_0101_0101_0101).count_ones() as usize
        };
        s.len() - rest.len() - words.iter().map(going_on).sum::<usize>()
            + rest.iter().filter(|byte| begins(byte)).count()
    }

    fn offset(s: &str, unit: usize) -> Option<usize> {
        s.char_indices().map(|(at, _)| at).chain([s.len()]).nth(unit)
    }

    fn next(s: &str, at: usize) -> Option<usize> {
        s[at..].chars().next().map(|c| at + c.len_utf8())
    }

    fn slice(s: &str, range: Range<usize>) -> &str {
        &s[range]
    }

    fn strip<'s>(s: &'s str, set: Option<&str>, ends: Ends, meter: &Meter<'_>) -> Result<&'s str, Fault> {
        strip_text(s, set, ends, meter)
    }
}

impl StringType for Bytes {
    type Buffer = Vec<u8>;

    fn room<'c>(call: &'c mut KernelCall<'_>, bytes: usize) -> Result<&'c mut Vec<u8>, Fault> {
        call.bytes_room(bytes)
    }

    fn push(buffer: &mut Vec<u8>, part: &[u8]) {
        buffer.extend_from_slice(part);
    }

    fn units(s: &[u8]) -> usize {
        s.len()
    }

    fn offset(s: &[u8], unit: usize) -> Option<usize> {
        (unit <= s.len()).then_some(unit)
    }

    fn next(s: &[u8], at: usize) -> Option<usize> {
        (at < s.len()).then_some(at + 1)
    }

    fn slice(s: &[u8], range: Range<usize>) -> &[u8] {
        &s[range]
    }

    fn strip<'s>(s: &'s [u8], set: Option<&[u8]>, ends: Ends, meter: &Meter<'_>) -> Result<&'s [u8], Fault> {
        strip_bytes(s, set, ends, meter)
    }
}

/// The type of the strings of the first argument of a call over rows.
pub(crate) fn string_type(call: &KernelCall<'_>) -> ScalarType {
    let first = call.qtype(0);
    first.element().or(first.scalar()).expect("a string, or rows of them")
}

/// One of two kernels over rows, by the type of the strings.
pub(crate) fn of_string(
    call: &mut KernelCall<'_>,
    text: fn(&mut KernelCall<'_>) -> Result<(), Fault>,
    bytes: fn(&mut KernelCall<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    match string_type(call) {
        ScalarType::Text => text(call),
        _ => bytes(call),
    }
}

/// Adds a kernel for TEXT, OPTIONAL_TEXT, BYTES and OPTIONAL_BYTES. The signature makes argument and
/// result types from the string type.
pub fn each_string(
    row: Family,
    text: impl Fn(&mut KernelCall<'_>) -> Result<(), Fault> + Copy + Send + Sync + 'static,
    bytes: impl Fn(&mut KernelCall<'_>) -> Result<(), Fault> + Copy + Send + Sync + 'static,
    signature: impl Fn(QType) -> (Vec<QType>, QType),
) -> Family {
    let row = [TEXT, OPTIONAL_TEXT]
        .into_iter()
        .map(&signature)
        .fold(row, |row, (args, result)| row.exact_general(&args, result, text));
    [BYTES, OPTIONAL_BYTES]
        .into_iter()
        .map(&signature)
        .fold(row, |row, (args, result)| row.exact_general(&args, result, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_lie_between_units() {
        let text = "añ日";
        assert_eq!(
            (0..5).map(|unit| Text::offset(text, unit)).collect::<Vec<_>>(),
            [Some(0), Some(1), Some(3), Some(6), None]
        );
        assert_eq!([0, 1, 3, 6].map(|at| Text::next(text, at)), [Some(1), Some(3), Some(6), None]);
        assert_eq!([0, 2, 3].map(|unit| Bytes::offset(b"ab", unit)), [Some(0), Some(2), None]);
        assert_eq!([0, 2].map(|at| Bytes::next(b"ab", at)), [Some(1), None]);
    }
}
