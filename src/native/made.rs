//! Whether what a compiler has made is the library that was wanted.
//!
//! A compiler may end well and leave anything: nothing, a text, a file that a full disk has cut, the library of another
//! source. The loader of the system refuses what is no library, but maps a file that is shorter than its headers say, and
//! the process ends where the first missing page is read. So headers are compared with the size before it is asked.

use crate::native::error::NativeError;
use cembra_vm::library::{Digest, Library, LibraryError, Signature};
use std::path::Path;

/// Loads what a compiler has just made: it has the function of this name and these types, and is of this version.
///
/// # Errors
/// It is something else; the error names the compiler.
pub fn verify(
    library: &Path,
    compiler: &Path,
    entry: &str,
    signature: &Signature,
) -> Result<(), NativeError> {
    let other = |error| NativeError::OtherLibrary { compiler: compiler.into(), entry: entry.into(), error };
    let file = |message| LibraryError::File { path: library.into(), message };
    let bytes = std::fs::read(library).map_err(|error| other(file(error.to_string())))?;
    if !is_whole(&bytes) {
        return Err(other(file("the file is shorter than its headers say".to_owned())));
    }
    Library::open(library, Digest::of(&bytes), entry, signature).map(drop).map_err(other)
}

/// False for an ELF file of 64 bits, lowest byte first, that ends before the last of its segments or tables. Of other files
/// nothing is known.
fn is_whole(bytes: &[u8]) -> bool {
    let is_elf = bytes.starts_with(b"\x7fELF\x02\x01");
    !is_elf || elf_end(bytes).is_some_and(|end| end <= bytes.len() as u64)
}

/// Where an ELF file ends, by its headers; `None` if these are cut.
fn elf_end(bytes: &[u8]) -> Option<u64> {
    let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?));
    // Tables of segments and of sections: place, bytes of a row, number of rows.
    let (segments, sections) = (word(32)?, word(40)?);
    let table = |first: u64, row: u16, count: u16| first.checked_add(u64::from(row) * u64::from(count));
    let mut end = table(segments, half(54)?, half(56)?)?.max(table(sections, half(58)?, half(60)?)?);
    for number in 0..u64::from(half(56)?) {
        let row = usize::try_from(segments.checked_add(number * u64::from(half(54)?))?).ok()?;
        let (place, size) = (word(row.checked_add(8)?)?, word(row.checked_add(32)?)?);
        end = end.max(place.checked_add(size)?);
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_files_are_not_whole() {
        let own = std::fs::read(std::env::current_exe().expect("this program")).expect("it is there");
        assert!(is_whole(&own));
        if elf_end(&own).is_some() && own.starts_with(b"\x7fELF") {
            assert!(
                [7, 63, 64, 100, 1000, own.len() / 2, own.len() - 1].iter().all(|n| !is_whole(&own[..*n]))
            );
            let mut wild = own.clone();
            wild[32..40].fill(0xff);
            assert!(!is_whole(&wild));
        }
        assert!(is_whole(b"") && is_whole(b"no library"));
    }
}
