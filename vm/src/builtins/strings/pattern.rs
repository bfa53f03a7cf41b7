//! The search for a string in another, in time linear in the lengths of both.
//!
//! Strings are searched as bytes: in UTF-8 the bytes of a text are found only between two characters. Long
//! strings are searched in pieces, with a poll before each:
//!
//! ```text
//! s        |------ piece ------|------ piece ------|---|      occurrences that begin in the piece
//! looked at|----------------------|                           the piece, and what is left of the last one
//! ```

use crate::array::meter::Meter;
use crate::value::Fault;
use memchr::memmem::{self, Finder, FinderRev};
use memchr::{memchr, memchr_iter};
use std::ops::Range;

/// Bytes that are searched between two polls; more if the string looked for is longer.
pub const PIECE: usize = 1 << 18;

/// Offset of the first occurrence.
///
/// # Errors
/// The run has to stop.
pub fn find(s: &[u8], part: &[u8], meter: &Meter<'_>) -> Result<Option<usize>, Fault> {
    match s.len() {
        // To look for a byte needs no preparation.
        0..PIECE if part.len() == 1 => Ok(memchr(part[0], s)),
        0..PIECE => Ok(memmem::find(s, part)),
        length if length < part.len() => Ok(None),
        _ => find_next(s, &Finder::new(part), meter),
    }
}

/// The same for a string that is looked for several times.
///
/// # Errors
/// As of [`find`].
pub fn find_next(s: &[u8], part: &Finder<'_>, meter: &Meter<'_>) -> Result<Option<usize>, Fault> {
    let length = part.needle().len();
    let Some(last) = s.len().checked_sub(length) else { return Ok(None) };
    for first in (0..=last).step_by(PIECE.max(length)) {
        if first > 0 {
            meter.poll()?;
        }
        let end = (first + PIECE.max(length) + length).min(s.len());
        if let Some(at) = part.find(&s[first..end]) {
            return Ok(Some(first + at));
        }
    }
    Ok(None)
}

/// Offset of the last occurrence.
///
/// # Errors
/// As of [`find`].
pub fn rfind(s: &[u8], part: &[u8], meter: &Meter<'_>) -> Result<Option<usize>, Fault> {
    let Some(last) = s.len().checked_sub(part.len()) else { return Ok(None) };
    let part = FinderRev::new(part);
    let mut piece: Range<usize> = last + 1..last + 1;
    while piece.start > 0 {
        piece = piece.start.saturating_sub(PIECE.max(part.needle().len()))..piece.start;
        if let Some(at) = part.rfind(&s[piece.start..piece.end - 1 + part.needle().len()]) {
            return Ok(Some(piece.start + at));
        }
        meter.poll()?;
    }
    Ok(None)
}

/// Number of occurrences of a string that is not empty, overlapping ones included: the algorithm of Knuth,
/// Morris and Pratt.
///
/// # Errors
/// The run has to stop, or its memory does not suffice for a number for each byte that is looked for.
pub fn count(s: &[u8], part: &[u8], meter: &Meter<'_>) -> Result<i64, Fault> {
    if let [byte] = *part {
        let pieces =
            s.chunks(PIECE).map(|piece| meter.poll().map(|()| memchr_iter(byte, piece).count() as i64));
        return pieces.sum();
    }
    if s.len() < part.len() {
        return Ok(0);
    }
    let mut few = [0; FEW];
    let mut many;
    let borders = match part.len() {
        length @ ..=FEW => &mut few[..length],
        length => {
            many = meter.zeros(length)?;
            &mut many[..]
        }
    };
    find_borders(part, borders, meter)?;
    let (mut found, mut matched) = (0, 0);
    for stride in meter.strides(s.len()) {
        for byte in &s[stride?] {
            matched = longer(part, borders, matched, *byte);
            if matched == part.len() {
                found += 1;
                matched = borders[matched - 1];
            }
        }
    }
    Ok(found)
}

/// Bytes of a string whose borders stand in the frame of the call.
const FEW: usize = 64;

/// For each start of a string, the length of its longest border: a shorter start that it ends with. There is a place for each.
fn find_borders(part: &[u8], borders: &mut [usize], meter: &Meter<'_>) -> Result<(), Fault> {
    let mut border = 0;
    for stride in meter.strides(part.len()) {
        for at in stride? {
            if at > 0 {
                border = longer(part, borders, border, part[at]);
            }
            borders[at] = border;
        }
    }
    Ok(())
}

/// Length of the longest start of a string that ends with a byte and, before it, with `matched` bytes of the
/// string or a border of these.
#[inline]
fn longer(part: &[u8], borders: &[usize], mut matched: usize, byte: u8) -> usize {
    while matched > 0 && part[matched] != byte {
        matched = borders[matched - 1];
    }
    matched + usize::from(part[matched] == byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::meter::{MeterLimits, Watch};
    use crate::value::budget::Exhausted;

    /// A run that has to stop.
    struct Over;

    impl Watch for Over {
        fn ask(&self) -> Result<(), Exhausted> {
            Err(Exhausted::Cancelled)
        }
    }

    fn count_one_by_one(s: &[u8], part: &[u8]) -> i64 {
        s.windows(part.len()).filter(|window| *window == part).count() as i64
    }

    #[test]
    fn bytes_are_searched_like_text() {
        let meter = Meter::of_default();
        for (s, part) in [("hello", "l"), ("hello", ""), ("", ""), ("", "a"), ("aaa", "aa"), ("a", "aa")] {
            assert_eq!(find(s.as_bytes(), part.as_bytes(), &meter), Ok(s.find(part)));
            assert_eq!(rfind(s.as_bytes(), part.as_bytes(), &meter), Ok(s.rfind(part)));
        }
    }

    #[test]
    fn occurrences_are_found_where_pieces_meet() {
        let meter = Meter::of_default();
        for length in [1, 2, 7, PIECE + 5] {
            let part = vec![b'x'; length];
            for at in [0, PIECE - 3, PIECE - 1, PIECE, 2 * PIECE - 1, 3 * PIECE] {
                let mut s = vec![b'a'; at + length + PIECE + 9];
                s[at..at + length].copy_from_slice(&part);
                assert_eq!(find(&s, &part, &meter), Ok(Some(at)), "{length} at {at}");
                assert_eq!(rfind(&s, &part, &meter), Ok(Some(at)), "{length} at {at}");
                assert_eq!(count(&s, &part, &meter), Ok(1));
            }
        }
    }

    #[test]
    fn counts_are_those_of_all_windows() {
        let meter = Meter::of_default();
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..2000 {
            let s: Vec<u8> = (0..rng.usize(0..40)).map(|_| rng.u8(0..2)).collect();
            let part: Vec<u8> = (0..rng.usize(1..8)).map(|_| rng.u8(0..2)).collect();
            assert_eq!(count(&s, &part, &meter), Ok(count_one_by_one(&s, &part)), "{part:?} in {s:?}");
        }
    }

    #[test]
    fn long_searches_stop() {
        let meter = Meter::new(&MeterLimits::DEFAULT, 0).watched(Some(&Over));
        let (s, part) = (vec![b'a'; 3 * PIECE], b"ab");
        assert_eq!(find(&s, part, &meter), Err(Exhausted::Cancelled.into()));
        assert_eq!(rfind(&s, part, &meter), Err(Exhausted::Cancelled.into()));
        assert_eq!(count(&s, part, &meter), Err(Exhausted::Cancelled.into()));
    }
}
