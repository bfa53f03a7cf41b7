//! Whether what a compiler has made is the library that was wanted.
//!
//! A compiler may end well and leave anything: nothing, a text, a file that a full disk has cut, the library of another
//! source. The loader of the system refuses what is no library, but maps a file that is shorter than its headers say, and
//! the process ends where the first missing page is read. So headers are compared with the size before it is asked.

use crate::native::elf::Elf;
use crate::native::error::NativeError;
use crate::native::files::read_at_most;
use crate::native::folder::LONGEST_FILE;
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
    let bytes = read_at_most(library, LONGEST_FILE).map_err(|error| other(file(error.to_string())))?;
    if Elf::of(&bytes).is_some_and(|elf| !elf.is_whole()) {
        return Err(other(file("the file is shorter than its headers say".to_owned())));
    }
    Library::open(library, Digest::of(&bytes), entry, signature).map(drop).map_err(other)
}
