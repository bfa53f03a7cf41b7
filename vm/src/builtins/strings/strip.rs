//! Strings without units at their ends, in linear time whatever the set of units.

use crate::array::meter::{Meter, Scratch};
use crate::value::Fault;

/// Which ends of a string are stripped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// The first units.
    Start,
    /// The last units.
    End,
    /// Both.
    Both,
}

/// Bytes of a set of characters that is searched for each character of the text; longer ones become a table if the text is long.
const SHORT_SET: usize = 32;

/// Bytes of a text times those of a set that cost less than a table.
const SHORT_SEARCH: usize = 1 << 14;

/// Words of a table with a bit for each code point.
const CHARACTER_WORDS: usize = (char::MAX as usize + 1).div_ceil(64);

/// A text without the characters at its ends that are in the set, or that have the Unicode property
/// White_Space if there is no set.
///
/// # Errors
/// The run has to stop, or its memory does not suffice for the set.
pub fn strip_text<'s>(
    s: &'s str,
    set: Option<&str>,
    ends: Ends,
    meter: &Meter<'_>,
) -> Result<&'s str, Fault> {
    match set {
        None => strip_characters(s, char::is_whitespace, ends, meter),
        Some(set) if set.len() <= SHORT_SET || s.len().saturating_mul(set.len()) <= SHORT_SEARCH => {
            strip_characters(s, |c| set.contains(c), ends, meter)
        }
        Some(set) => {
            let table = characters(set, meter)?;
            let goes = |c: char| table[c as usize / 64] >> (c as usize % 64) & 1 == 1;
            strip_characters(s, goes, ends, meter)
        }
    }
}

/// A bit for each code point, set for those of the text.
fn characters<'m>(set: &str, meter: &'m Meter<'_>) -> Result<Scratch<'m, u64>, Fault> {
    let mut table = meter.zeros::<u64>(CHARACTER_WORDS)?;
    let mut pace = meter.pace();
    for c in set.chars() {
        table[c as usize / 64] |= 1 << (c as usize % 64);
        pace.over(1)?;
    }
    Ok(table)
}

fn strip_characters<'s>(
    s: &'s str,
    goes: impl Fn(char) -> bool,
    ends: Ends,
    meter: &Meter<'_>,
) -> Result<&'s str, Fault> {
    let unit = |c: char| (c.len_utf8(), goes(c));
    let start = if ends == Ends::End { 0 } else { bytes_that_go(s.chars().map(unit), meter)? };
    let rest = &s[start..];
    let end = if ends == Ends::Start { 0 } else { bytes_that_go(rest.chars().rev().map(unit), meter)? };
    Ok(&rest[..rest.len() - end])
}

/// Bytes without those at their ends that are in the set, or that are one of the six white-space characters
/// of C if there is no set.
///
/// # Errors
/// The run has to stop.
pub fn strip_bytes<'s>(
    s: &'s [u8],
    set: Option<&[u8]>,
    ends: Ends,
    meter: &Meter<'_>,
) -> Result<&'s [u8], Fault> {
    let mut table = [false; 256];
    for byte in set.unwrap_or(b" \t\n\x0b\x0c\r") {
        table[usize::from(*byte)] = true;
    }
    let unit = |byte: &u8| (1, table[usize::from(*byte)]);
    let start = if ends == Ends::End { 0 } else { bytes_that_go(s.iter().map(unit), meter)? };
    let rest = &s[start..];
    let end = if ends == Ends::Start { 0 } else { bytes_that_go(rest.iter().rev().map(unit), meter)? };
    Ok(&rest[..rest.len() - end])
}

/// Bytes of the units before the first one that stays, from the width of each and whether it goes.
fn bytes_that_go(units: impl Iterator<Item = (usize, bool)>, meter: &Meter<'_>) -> Result<usize, Fault> {
    let (mut bytes, mut pace) = (0, meter.pace());
    for (width, _) in units.take_while(|(_, goes)| *goes) {
        bytes += width;
        pace.over(1)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strip_takes_white_space_or_a_set() {
        let meter = Meter::of_default();
        let text = |s, set, ends| strip_text(s, set, ends, &meter).expect("no limit");
        let bytes = |s, set: Option<&[u8]>| strip_bytes(s, set, Ends::Both, &meter).expect("no limit");
        assert_eq!(text("\u{2003}\u{85} a\u{200b}\u{3000}", None, Ends::Both), "a\u{200b}");
        assert_eq!(bytes(b" \x0b\xa0 a\x85 ", None), b"\xa0 a\x85");
        let long = format!("{}ñx", "-".repeat(SHORT_SET));
        for set in ["ñx", &long] {
            for (ends, rest) in [(Ends::Start, "añx"), (Ends::End, "xña"), (Ends::Both, "a")] {
                assert_eq!(text("xñañx", Some(set), ends), rest);
            }
        }
        assert_eq!(text("xé", Some(&long), Ends::Both), "é");
        assert_eq!(bytes(b"\xff\xff", Some(b"\xff")), b"");
        assert_eq!(text(" a ", Some(""), Ends::Both), " a ");
    }
}
