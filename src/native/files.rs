//! Files of a cache, which anybody may have changed: what they are is looked at before they are read.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::{Builder, NamedTempFile};

/// What is left unfinished after that long was left by a process that has ended.
pub(super) const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// A file of a name that nobody has, with this end, in a folder, for whom the umask says: whoever may read the cache may read its files.
pub(super) fn new_file_in(folder: &Path, suffix: &str) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.suffix(suffix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Removes a folder with all that is in it, or whatever else has its name.
///
/// # Errors
/// It stays, or there was none.
pub(super) fn remove_all(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

/// The contents of a file.
///
/// # Errors
/// There is none, it is no file, such as a pipe, which nobody may ever write to, or it is longer than `most` bytes.
pub(super) fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let data = fs::metadata(path)?;
    if !data.is_file() {
        return Err(io::Error::other("this is no file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other(format!("it is longer than {most} bytes"))),
        false => Ok(bytes),
    }
}

/// The same of a file that is a text.
///
/// # Errors
/// As [`read_at_most`], and it is no UTF-8.
pub(super) fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_at_most(path, most)?).map_err(io::Error::other)
}

/// A text of others without what would command a terminal, but for some characters.
pub(super) fn shown(text: &str, kept: &[char]) -> String {
    let shown = |c: char| if c.is_control() && !kept.contains(&c) { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(shown).collect()
}

/// What is in a folder; nothing where that cannot be read.
pub(super) fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// When a file was used last: its time.
pub(super) fn used(file: &Path) -> SystemTime {
    let time = file.metadata().and_then(|data| data.modified());
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Notes that a file was used; one that cannot be written keeps its time.
pub(super) fn touch(file: &Path) {
    let file = File::options().append(true).open(file);
    let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
}

/// True for what nobody has changed for so long that who made it has ended.
pub(super) fn is_stale(path: &Path) -> bool {
    let modified = path.metadata().and_then(|data| data.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > STALE))
}
