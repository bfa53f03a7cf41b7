//! Opening a library.

use crate::library::call_layout::CallLayout;
use crate::library::error::LibraryError;
use crate::library::signature::{ABI_VERSION, Signature};
use crate::value::nd_type::MAX_RANK;
use sha2::{Digest as _, Sha256};
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The function that takes addresses of all arguments and results.
pub(super) type Entry = unsafe extern "C" fn(*const *mut c_void, *mut RawError) -> i32;

/// The function that frees an array.
pub(super) type Free = unsafe extern "C" fn(*mut RawArray);

/// The function that goes over elements: addresses of arguments and results, number of axes, of those that are taken first in
/// order, their sizes, columns of arrays and positions.
pub(super) type SweepEntry =
    unsafe extern "C" fn(*const *mut c_void, i64, i64, *mut i64, *mut RawColumn, *const *const u32);

/// An operand or a result of a sweep in C: `cembra_column`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct RawColumn {
    pub(super) data: *mut u8,
    pub(super) strides: [i64; MAX_RANK],
}

/// An array in C: `cembra_array`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct RawArray {
    pub(super) data: *mut u8,
    pub(super) shape: [i64; MAX_RANK],
    pub(super) strides: [i64; MAX_RANK],
    /// A bitmap of the rows that are there; without one all are.
    pub(super) validity: *mut u8,
    /// The bit of the first row.
    pub(super) offset: i64,
}

/// What a library says about an error; `cembra_error` in C.
#[repr(C)]
#[derive(Debug)]
pub(super) struct RawError {
    pub(super) category: i32,
    pub(super) routine: i32,
    pub(super) instruction: i32,
    pub(super) line: i32,
    pub(super) message: *const c_char,
    pub(super) operands: [u64; 4],
    /// Room for a message that is made for this error.
    pub(super) text: [u8; 40],
}

/// The size and SHA-256 of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Bytes.
    pub size: u64,
    /// Their SHA-256.
    pub sha256: [u8; 32],
}

impl Digest {
    /// That of the contents of a file.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest { size: bytes.len() as u64, sha256: Sha256::digest(bytes).into() }
    }
}

/// A library that has been loaded and checked. It is unloaded with its last clone and the last call bound to it.
#[derive(Clone)]
pub struct Library {
    pub(super) inner: Arc<Loaded>,
}

pub(super) struct Loaded {
    pub(super) entry: Entry,
    /// There if its program is one region without errors.
    pub(super) sweep: Option<SweepEntry>,
    /// There if the library gives arrays.
    pub(super) free: Option<Free>,
    pub(super) signature: Signature,
    /// How the memory of calls is laid out.
    pub(super) layout: CallLayout,
    path: PathBuf,
    /// Keeps the code where it is.
    _code: libloading::Library,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Library({}, {})", self.inner.path.display(), self.inner.signature)
    }
}

impl Library {
    /// Loads the file of a build: one with this digest, whose function has this name and these types.
    ///
    /// # Errors
    /// The file is missing or another one, or was built for another version or other types.
    pub fn open(
        path: &Path,
        digest: Digest,
        entry: &str,
        signature: &Signature,
    ) -> Result<Library, LibraryError> {
        let file =
            |error: &dyn fmt::Display| LibraryError::File { path: path.into(), message: error.to_string() };
        // Of another size it may be anything: a pipe, or longer than memory.
        let data = std::fs::metadata(path).map_err(|error| file(&error))?;
        let differs = |what| LibraryError::Digest { path: path.into(), what };
        if !data.is_file() || data.len() != digest.size {
            return Err(differs("its size differs"));
        }
        let bytes = std::fs::read(path).map_err(|error| file(&error))?;
        if Digest::of(&bytes) != digest {
            return Err(differs("its digest differs"));
        }
        drop(bytes);
        let name = loader_name(path, &digest).map_err(|error| file(&error))?;
        // SAFETY: the file is the one of a build of this crate, whose libraries do nothing when they are loaded.
        let code = unsafe { libloading::Library::new(name) }.map_err(|error| file(&with_cause(&error)))?;
        let missing = |symbol: &str| LibraryError::Symbol { path: path.into(), symbol: symbol.to_owned() };
        let symbol = format!("{entry}_abi");
        // SAFETY: the symbol is an `uint32_t` in every version of the boundary.
        let abi = unsafe { code.get::<*const u32>(&symbol) }.map_err(|_| missing(&symbol))?;
        // SAFETY: as above; the library is loaded.
        let version = unsafe { **abi };
        if version != ABI_VERSION {
            return Err(LibraryError::Abi { path: path.into(), found: version, expected: ABI_VERSION });
        }
        let symbol = format!("{entry}_signature");
        // SAFETY: in this version of the boundary it is a string that ends with 0.
        let text = unsafe { code.get::<*const c_char>(&symbol) }.map_err(|_| missing(&symbol))?;
        // SAFETY: as above.
        let types = unsafe { CStr::from_ptr(*text) }.to_string_lossy().into_owned();
        if types != signature.types() {
            let (found, expected) = (types, signature.types());
            return Err(LibraryError::Signature { path: path.into(), found, expected });
        }
        let symbol = format!("{entry}_call");
        // SAFETY: in this version of the boundary it is a function of this type.
        let call = unsafe { code.get::<Entry>(&symbol) }.map_err(|_| missing(&symbol))?;
        let symbol = format!("{entry}_sweep");
        // SAFETY: in this version of the boundary it is a function of this type, if it is there.
        let sweep = unsafe { code.get::<SweepEntry>(&symbol) }.ok().map(|sweep| *sweep);
        let free = match signature.gives_arrays() {
            true => {
                let symbol = format!("{entry}_free");
                // SAFETY: in this version of the boundary it is a function of this type.
                Some(*unsafe { code.get::<Free>(&symbol) }.map_err(|_| missing(&symbol))?)
            }
            false => None,
        };
        let (entry, signature) = (*call, signature.clone());
        let layout = CallLayout::new(&signature).map_err(|error| file(&error))?;
        let loaded = Loaded { entry, sweep, free, signature, layout, path: path.into(), _code: code };
        Ok(Library { inner: Arc::new(loaded) })
    }

    /// What it takes and gives.
    pub fn signature(&self) -> &Signature {
        &self.inner.signature
    }

    /// The file it was loaded from.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }
}

/// A name of a file by its path and its contents: the loader of the system takes what it has loaded under a name for what stands
/// there now, also if that is another library. The same library keeps its name, as the loader notes all names that it has seen.
///
/// ```text
/// /folder/libf.so, digest 1011…       /folder/.//././…/libf.so        "/." for 1, "/" for 0, 64 bits
/// ```
fn loader_name(path: &Path, digest: &Digest) -> std::io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let (Some(folder), Some(file)) = (path.parent(), path.file_name()) else { return Ok(path) };
    let mut name = folder.as_os_str().to_owned();
    for byte in &digest.sha256[..8] {
        (0..8).for_each(|bit| name.push(if byte >> bit & 1 == 1 { "/." } else { "/" }));
    }
    name.push("/");
    name.push(file);
    Ok(name.into())
}

/// An error with what the system says about it.
fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_the_loader_says_the_contents() {
        let name = |text: &str| loader_name(Path::new("Cargo.toml"), &Digest::of(text.as_bytes()));
        let (one, other) = (name("one").expect("a folder"), name("other").expect("a folder"));
        assert_eq!(one.as_os_str(), name("one").expect("a folder").as_os_str());
        assert_ne!(one.as_os_str(), other.as_os_str());
        let file = Path::new("Cargo.toml").canonicalize().expect("it is there");
        assert_eq!((one.canonicalize().ok(), other.canonicalize().ok()), (Some(file.clone()), Some(file)));
    }
}
