//! Replacing a file as a whole: what is written appears under its name only at the end.
//!
//! ```text
//! out.csv            the old file, or none                     the new file
//! .out.csv.XXXXXX.partial   written, synchronised, then renamed ──^
//! ```
//!
//! The new file stands in the same directory, because only there a rename is atomic. It has the permissions of the
//! old one, and its owner where the system permits that. Unfinished files are listed, so that a process that is asked
//! to end can [remove them](remove_unfinished). One that is killed leaves them; whoever finds them may remove them.

use crate::columns::error::ColumnsError;
use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{self, Seek, SeekFrom, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{Builder, NamedTempFile};

/// How the name of an unfinished file ends.
pub const PARTIAL: &str = ".partial";

/// Unfinished files of this process. Locked while one appears, gets its name or is removed.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// True if this process began without a standard output.
static STANDARD_OUTPUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A list of names is whole after every step.
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all unfinished files, before the process ends. From now on no file gets its name.
pub fn remove_unfinished() {
    let mut files = unfinished();
    while let Some(file) = files.pop_first() {
        // Nobody is left to be told.
        let _ = std::fs::remove_file(file);
    }
    // Whoever would rename a file waits for the end of the process.
    std::mem::forget(files);
}

/// Notes that standard output was closed when the process began. Its place is taken by a file that swallows
/// everything, so that writing fails only if that is known.
pub fn note_closed_standard_output() {
    STANDARD_OUTPUT_IS_CLOSED.store(true, Ordering::Relaxed);
}

/// Standard output.
///
/// # Errors
/// It was closed when the process began.
pub fn standard_output() -> io::Result<Stdout> {
    match STANDARD_OUTPUT_IS_CLOSED.load(Ordering::Relaxed) {
        true => Err(io::Error::other("standard output is closed")),
        false => Ok(io::stdout()),
    }
}

/// A file without its final name; dropping it removes it.
#[derive(Debug)]
pub struct Unfinished(Option<NamedTempFile>);

impl Unfinished {
    fn create(target: &Path, old: Option<&Metadata>) -> io::Result<Unfinished> {
        let mut files = unfinished();
        let temporary = partial(target, old)?;
        files.insert(temporary.path().to_owned());
        Ok(Unfinished(Some(temporary)))
    }

    fn file(&mut self) -> &mut NamedTempFile {
        self.0.as_mut().expect("only `rename` and `drop` take the file, and end this value")
    }

    fn rename(mut self, target: &Path) -> io::Result<()> {
        let Some(temporary) = self.0.take() else { return Ok(()) };
        let mut files = unfinished();
        files.remove(temporary.path());
        temporary.persist(target).map(drop).map_err(|failed| failed.error)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(temporary) = self.0.take() {
            let mut files = unfinished();
            files.remove(temporary.path());
            drop(temporary);
        }
    }
}

/// Where results go: a file to be replaced, or standard output.
#[derive(Debug)]
pub enum Output {
    /// A file beside its target.
    File {
        /// The unfinished file; removed when it is dropped.
        temporary: Unfinished,
        /// The name it will have.
        target: PathBuf,
    },
    /// Standard output.
    Standard(Stdout),
}

impl Output {
    /// An empty file that will replace the target; `-` is standard output.
    ///
    /// # Errors
    /// The directory does not take files, or the target is no regular file.
    pub fn create(target: &Path) -> Result<Output, ColumnsError> {
        if target.as_os_str() == "-" {
            let out = standard_output().map_err(|e| ColumnsError::write("<standard output>", e))?;
            return Ok(Output::Standard(out));
        }
        let failed = |error| ColumnsError::write(&target.display().to_string(), error);
        // A link keeps pointing where it points.
        let (target, old) = match target.metadata() {
            Ok(found) if found.is_file() => (target.canonicalize().map_err(failed)?, Some(found)),
            Ok(_) => return Err(failed(io::Error::other("it is no regular file"))),
            Err(_) => (target.to_owned(), None),
        };
        // What is wrong with the directory is said of it, not of a file that has no name yet.
        directory(&target).metadata().map_err(failed)?;
        let temporary = Unfinished::create(&target, old.as_ref()).map_err(failed)?;
        Ok(Output::File { temporary, target })
    }

    /// The file, for writers that seek; none for standard output.
    pub fn file(&mut self) -> Option<&mut File> {
        match self {
            Output::File { temporary, .. } => Some(temporary.file().as_file_mut()),
            Output::Standard(_) => None,
        }
    }

    /// Gives the file its name, once its bytes are on the disk.
    ///
    /// # Errors
    /// The bytes cannot be written, or the file not be renamed.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        let Output::File { mut temporary, target } = self else { return Ok(()) };
        temporary.file().as_file().sync_all()?;
        temporary.rename(&target)?;
        // The rename itself reaches the disk with its directory, where directories can be synchronised.
        if let Ok(directory) = File::open(directory(&target)) {
            let _ = directory.sync_all();
        }
        Ok(())
    }
}

fn directory(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file beside its target, nowhere more open than the old file.
fn partial(target: &Path, old: Option<&Metadata>) -> io::Result<NamedTempFile> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.");
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(PARTIAL);
    // A new file is as readable as any other that the user makes: the mask of the process applies.
    #[cfg(unix)]
    builder.permissions(match old {
        Some(old) => old.permissions(),
        None => std::os::unix::fs::PermissionsExt::from_mode(0o666),
    });
    let temporary = builder.tempfile_in(directory(target))?;
    if let Some(old) = old {
        keep_owner(temporary.as_file(), old);
        temporary.as_file().set_permissions(old.permissions())?;
    }
    Ok(temporary)
}

/// Gives a file the owner and the group of another one, as far as the user may.
#[cfg(unix)]
fn keep_owner(file: &File, old: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let Ok(new) = file.metadata() else { return };
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only the administrator may give files away; a user may give them to a group of his own.
        let _ =
            fchown(file, Some(old.uid()), Some(old.gid())).or_else(|_| fchown(file, None, Some(old.gid())));
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) {}

/// A nameless file in the directory of a target, for bytes that are put together at the end.
///
/// # Errors
/// The directory does not take files.
pub fn nameless(target: &Path) -> io::Result<File> {
    tempfile::tempfile_in(directory(target))
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::File { temporary, .. } => temporary.file().write(bytes),
            Output::Standard(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::File { temporary, .. } => temporary.file().flush(),
            Output::Standard(out) => out.flush(),
        }
    }
}

/// Only files can seek.
impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Output::File { temporary, .. } => temporary.file().seek(to),
            Output::Standard(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}
