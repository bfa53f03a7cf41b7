//! Replacing a file as a whole: what is written appears under its name only at the end.
//!
//! ```text
//! out.csv            the old file, or none                     the new file
//! .out.csv.XXXXXX.partial   written, synchronised, then renamed ──^
//! ```
//!
//! A run that is killed leaves the `.partial` file behind; whoever finds it may remove it. The new file
//! stands in the same directory, because only there a rename is atomic.

use crate::columns::error::ColumnsError;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Stdout, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// How the name of an unfinished file ends.
pub const PARTIAL: &str = ".partial";

/// Where results go: a file to be replaced, or standard output.
#[derive(Debug)]
pub enum Output {
    /// A file beside its target.
    File {
        /// The unfinished file; removed when it is dropped.
        temporary: NamedTempFile,
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
            return Ok(Output::Standard(io::stdout()));
        }
        let failed = |error| ColumnsError::write(&target.display().to_string(), error);
        // A link keeps pointing where it points.
        let target = match target.metadata() {
            Ok(found) if found.is_file() => target.canonicalize().map_err(failed)?,
            Ok(_) => return Err(failed(io::Error::other("it is no regular file"))),
            Err(_) => target.to_owned(),
        };
        // What is wrong with the directory is said of it, not of a file that has no name yet.
        directory(&target).metadata().map_err(failed)?;
        let temporary = partial(&target).map_err(failed)?;
        Ok(Output::File { temporary, target })
    }

    /// The file, for writers that seek; none for standard output.
    pub fn file(&mut self) -> Option<&mut File> {
        match self {
            Output::File { temporary, .. } => Some(temporary.as_file_mut()),
            Output::Standard(_) => None,
        }
    }

    /// Gives the file its name, once its bytes are on the disk.
    ///
    /// # Errors
    /// The bytes cannot be written, or the file not be renamed.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        let Output::File { temporary, target } = self else { return Ok(()) };
        temporary.as_file().sync_all()?;
        temporary.persist(&target).map_err(|e| e.error)?;
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

fn partial(target: &Path) -> io::Result<NamedTempFile> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.");
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(PARTIAL);
    // As readable as any other file that the user makes: the mask of the process applies.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(directory(target))
}

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
            Output::File { temporary, .. } => temporary.write(bytes),
            Output::Standard(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::File { temporary, .. } => temporary.flush(),
            Output::Standard(out) => out.flush(),
        }
    }
}

/// Only files can seek.
impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Output::File { temporary, .. } => temporary.seek(to),
            Output::Standard(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}
