//! Private folders of a cache: builds under way, and what is being removed.
//!
//! ```text
//! v1/tmp/.tmpAbCdEf          the folder: renamed into place when its build is complete, else removed
//! v1/tmp/.tmpAbCdEf.owner    locked by the process that the folder is of
//! ```
//!
//! 1. The system takes the lock from a process that has ended, however that came. A folder whose lock is free is nobody's.
//! 2. The lock is there before the folder is, and goes after it.
//! 3. A folder without such a file, as where files cannot be locked, is nobody's once it is [stale](is_stale).

use crate::native::files::{children, is_stale, new_file_in, remove_all};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile, TempDir};

/// What the name of a file ends with that says whose a folder is.
const OWNER: &str = "owner";

/// A folder of this process, which is removed at the end unless it was renamed.
pub(super) struct PrivateFolder {
    folder: TempDir,
    // Dropped behind the folder.
    _owner: NamedTempFile,
}

impl PrivateFolder {
    /// A folder of a name that nobody has, in one that is made if there is none. Whoever may read the cache may read it, as the umask says.
    pub(super) fn new_in(under_way: &Path) -> io::Result<PrivateFolder> {
        fs::create_dir_all(under_way)?;
        let owner = new_file_in(under_way, &format!(".{OWNER}"))?;
        // Where files cannot be locked, time tells.
        let _ = owner.as_file().try_lock();
        let mut builder = Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let path = owner.path().with_extension("");
        let name = path.file_name().unwrap_or_default();
        let folder = builder.prefix(name).rand_bytes(0).tempdir_in(under_way)?;
        Ok(PrivateFolder { folder, _owner: owner })
    }

    /// The folder.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the private folders of processes that have ended. What cannot be removed stays.
pub(super) fn remove_abandoned(under_way: &Path) {
    let is_of_owner = |path: &PathBuf| path.extension().is_some_and(|extension| extension == OWNER);
    let (owners, others): (Vec<PathBuf>, Vec<PathBuf>) =
        children(under_way).into_iter().partition(is_of_owner);
    for owner in owners {
        // Held until both are gone: nobody else removes them meanwhile.
        if let Some(_lock) = free_lock(&owner) {
            let _ = remove_all(&owner.with_extension(""));
            let _ = fs::remove_file(&owner);
        }
    }
    for path in others.iter().filter(|path| is_stale(path) && !owner_of(path).exists()) {
        let _ = remove_all(path);
    }
}

fn owner_of(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(".");
    name.push(OWNER);
    name.into()
}

/// The lock of a file, if nobody holds it.
fn free_lock(path: &Path) -> Option<File> {
    // A pipe would be waited for.
    fs::symlink_metadata(path).ok().filter(|data| data.is_file())?;
    let file = File::open(path).ok()?;
    file.try_lock().ok().map(|()| file)
}
