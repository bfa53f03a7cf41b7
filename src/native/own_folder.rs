//! Folders that live as long as this process: removed with their last owner, or when a signal ends it.

use crate::native::error::NativeError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// Those that exist.
static FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn folders() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A list of names is whole after every step.
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes them all, before the process ends.
pub fn remove_all() {
    while let Some(folder) = folders().pop_first() {
        // Nobody is left to be told.
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// A folder among those for temporary files.
#[derive(Debug)]
pub(super) struct OwnFolder(TempDir);

impl OwnFolder {
    /// Makes one.
    ///
    /// # Errors
    /// The system does not let it be made.
    pub(super) fn new() -> Result<OwnFolder, NativeError> {
        let mut folders = folders();
        let own = tempfile::Builder::new().prefix("cembra-").tempdir();
        let own = own.map_err(|error| NativeError::file(std::env::temp_dir(), error))?;
        folders.insert(own.path().to_owned());
        Ok(OwnFolder(own))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        folders().remove(self.path());
    }
}
