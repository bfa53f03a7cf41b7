//! The cache of builds: a folder for each key, shared by threads and processes.
//!
//! ```text
//! <root>/v1/ab/abcdef…(32 digits)/      a complete build
//! <root>/v1/ab/abcdef….lock             held by whoever builds it; others wait for some time, then find it
//! <root>/v1/tmp/…                       builds under way, renamed when they are complete; and those that are being removed
//! <root>/v1/compilers/…                 what compilers say about themselves, by their files
//! ```
//!
//! The key is 128 bits of the program without names and places, the layout, the steps with their versions, the compiler
//! with its files, version and flags, and what it takes the processor for. Parts of it stand in `build.json`, and are compared.
//!
//! 1. A folder is never changed: it is renamed into place, and away from there before it is removed.
//! 2. A hit neither translates nor asks the compiler anything.
//! 3. What does not load any more is built again, once.
//! 4. The lock saves work, and nothing else leans on it: who does not get it builds all the same, and of two complete builds the first
//!    one stays.

use crate::native::backend::Backend;
use crate::native::build::{NativeBuild, load};
use crate::native::compiler::{CompileC, CompileRust, TIME_LIMIT};
use crate::native::error::NativeError;
use crate::native::files::{children, remove_all, touch, used};
use crate::native::folder::{Artifact, BUILD_JSON, damage, names};
use crate::native::known_compiler::known_compiler;
use crate::native::made::verify;
use crate::native::observer::{BuildObserver, CACHE_HIT, CACHE_MISS, LOAD, NoText, PUBLISH};
use crate::native::own_folder::OwnFolder;
use crate::native::private::{PrivateFolder, remove_abandoned};
use crate::native::stage::{C, ENGINE, ProgramCall, Rust};
use crate::workflow::StepKey;
use cembra_vm::library::{ABI_VERSION, Library, Signature};
use serde_json::{Map, Value as Json, json};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The version of the folder's form.
const VERSION: &str = "v1";
/// Bytes that a cache takes by default.
const SIZE_LIMIT: u64 = 512 << 20;

/// How long somebody else is waited for who builds the same: longer than a compiler may take, because a process that is stopped holds
/// its lock without end.
const WAIT_LIMIT: Duration = TIME_LIMIT.saturating_add(Duration::from_secs(30));
/// How often a build is renamed into a place that others take meanwhile.
const RENAMES: usize = 64;

/// A cache of libraries on disk.
#[derive(Clone, Debug)]
pub struct NativeCache {
    root: PathBuf,
    backend: Arc<dyn Backend>,
    size_limit: u64,
    wait_limit: Duration,
    /// The folder, if it goes with the last clone.
    _own: Option<Arc<OwnFolder>>,
}

/// A build in a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its folder.
    pub folder: PathBuf,
    /// The name of its function.
    pub name: String,
    /// What the function takes and gives.
    pub types: String,
    /// Bytes of its files.
    pub size: u64,
    /// When it was used last.
    pub used: SystemTime,
    /// What is wrong with it: with its state, the version of the boundary, or a file that is not the one that was built.
    pub damage: Option<String>,
}

/// Where builds are kept by default: `CEMBRA_CACHE_DIR`, else `cembra` in the cache folder of the user (`XDG_CACHE_HOME`,
/// else `.cache` in `HOME`).
///
/// # Errors
/// None of the variables is set.
pub fn default_root() -> Result<PathBuf, NativeError> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_user = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let root = variable("CEMBRA_CACHE_DIR").or_else(|| Some(of_user()?.join("cembra")));
    root.ok_or_else(|| NativeError::file("cache", "none of CEMBRA_CACHE_DIR, XDG_CACHE_HOME and HOME is set"))
}

impl NativeCache {
    /// The cache in a folder, with a compiler that is [found](crate::native::Compiler::find), and asked once.
    ///
    /// # Errors
    /// There is no compiler.
    pub fn new(root: impl Into<PathBuf>, compiler: Option<&Path>) -> Result<NativeCache, NativeError> {
        let root = root.into();
        let compiler = known_compiler::<C>(&known_in(&root), compiler)?;
        Ok(NativeCache::of(NativeBuild::c(CompileC::new(compiler, &root)), root))
    }

    /// The same with libraries made of Rust, by a compiler of Rust.
    ///
    /// # Errors
    /// There is no compiler.
    pub fn rust(root: impl Into<PathBuf>, compiler: Option<&Path>) -> Result<NativeCache, NativeError> {
        let root = root.into();
        let compiler = known_compiler::<Rust>(&known_in(&root), compiler)?;
        Ok(NativeCache::of(NativeBuild::rust(CompileRust::new(compiler, &root)), root))
    }

    /// The cache in a folder for builds by these steps.
    pub fn of(backend: impl Backend + 'static, root: impl Into<PathBuf>) -> NativeCache {
        let (size_limit, wait_limit) = (SIZE_LIMIT, WAIT_LIMIT);
        NativeCache { root: root.into(), backend: Arc::new(backend), size_limit, wait_limit, _own: None }
    }

    /// A cache for builds by these steps in a folder of its own among those for temporary files: it is removed with the last
    /// clone. Libraries that are loaded stay loaded. A process that is killed, and a cache in a static, leave it.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn of_process(backend: impl Backend + 'static) -> Result<NativeCache, NativeError> {
        let own = OwnFolder::new()?;
        let cache = NativeCache::of(backend, own.path());
        Ok(NativeCache { _own: Some(Arc::new(own)), ..cache })
    }

    /// The same cache with another limit of bytes; 512 MiB is the usual one. After a build, folders go that were not used
    /// for the longest time.
    pub fn size_limit(mut self, bytes: u64) -> NativeCache {
        self.size_limit = bytes;
        self
    }

    /// The same cache with another limit of how long it waits for somebody who builds the same program; 150 s is the usual one. After
    /// that it builds it too.
    pub fn wait_limit(mut self, limit: Duration) -> NativeCache {
        self.wait_limit = limit;
        self
    }

    /// The library of a program: found, or built.
    ///
    /// # Errors
    /// The program has no form in C, the compiler fails, or files cannot be written.
    pub fn library(&self, call: &ProgramCall) -> Result<Library, NativeError> {
        self.library_observed(call, &())
    }

    /// The same; an observer is told of each stage.
    ///
    /// # Errors
    /// As [`NativeCache::library`].
    pub fn library_observed(
        &self,
        call: &ProgramCall,
        observer: &dyn BuildObserver,
    ) -> Result<Library, NativeError> {
        let artifact = self.artifact_observed(call, observer)?;
        let library = match load(&artifact) {
            Err(NativeError::Library(_)) => {
                // The file is not what was built: somebody has cut, changed or replaced it.
                let lock = self.lock(artifact.folder())?;
                self.remove(artifact.folder())?;
                drop(lock);
                load(&self.artifact_observed(call, observer)?)
            }
            loaded => loaded,
        }?;
        observer.ended(LOAD, &NoText);
        Ok(library)
    }

    /// The build of a program: found, or made.
    ///
    /// # Errors
    /// As [`NativeCache::library`].
    pub fn artifact(&self, call: &ProgramCall) -> Result<Artifact, NativeError> {
        self.artifact_observed(call, &())
    }

    fn artifact_observed(
        &self,
        call: &ProgramCall,
        observer: &dyn BuildObserver,
    ) -> Result<Artifact, NativeError> {
        let (key, parts) = self.key(call);
        let folder = self.root.join(VERSION).join(&key[..2]).join(&key);
        let signature = call.signature();
        let found = || {
            let artifact = Artifact::read(&folder, call.name(), &signature, &parts)?;
            observer.ended(CACHE_HIT, &artifact);
            Some(artifact)
        };
        if let Some(artifact) = found() {
            touch(&folder.join(BUILD_JSON));
            return Ok(artifact);
        }
        let lock = self.lock(&folder)?;
        if let Some(artifact) = found() {
            return Ok(artifact);
        }
        observer.ended(CACHE_MISS, &NoText);
        let artifact = self.make(call, (&folder, &parts), &signature, observer)?;
        drop(lock);
        self.make_room(&folder);
        Ok(artifact)
    }

    /// The key of a program, and its parts for people.
    fn key(&self, call: &ProgramCall) -> (String, Map<String, Json>) {
        let steps = StepKey::of(&*self.backend).to_string();
        let key = StepKey::of(&(ENGINE, ABI_VERSION, call, &steps)).to_string();
        let compiler = self.backend.compiler();
        let parts = json!({
            "cembra": env!("CARGO_PKG_VERSION"),
            "program": StepKey::of(call).to_string(),
            "layout": format!("{:?}", call.layout()),
            "fixed inputs": call.fixed_inputs(),
            "steps": steps,
            "language": self.backend.language(),
            "compiler": compiler.path,
            "compiler version": compiler.version,
            "compiler files": compiler.files,
            "target": compiler.target,
            "flags": self.backend.flags(),
        });
        let Json::Object(parts) = parts else { unreachable!("an object") };
        (key[..32].to_owned(), parts)
    }

    /// Waits until nobody else builds in a folder; `None` where that takes longer than the limit.
    fn lock(&self, folder: &Path) -> Result<Option<File>, NativeError> {
        let path = folder.with_extension("lock");
        let open = || {
            fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
            // A pipe that is opened for both is not waited for.
            let file = File::options().create(true).truncate(false).read(true).write(true).open(&path)?;
            let (begin, mut pause) = (Instant::now(), Duration::from_micros(500));
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(Some(file)),
                    Err(TryLockError::Error(error)) => return Err(error),
                    Err(TryLockError::WouldBlock) if begin.elapsed() >= self.wait_limit => return Ok(None),
                    Err(TryLockError::WouldBlock) => std::thread::sleep(pause),
                }
                pause = (pause * 2).min(Duration::from_millis(10));
            }
        };
        open().map_err(|error| NativeError::file(&path, error))
    }

    fn make(
        &self,
        call: &ProgramCall,
        (folder, key): (&Path, &Map<String, Json>),
        signature: &Signature,
        observer: &dyn BuildObserver,
    ) -> Result<Artifact, NativeError> {
        let under_way = self.root.join(VERSION).join("tmp");
        let private = PrivateFolder::new_in(&under_way);
        let private = private.map_err(|error| NativeError::file(&under_way, error))?;
        let artifact = self.backend.build(call, private.path(), observer)?;
        let compiler = self.backend.compiler();
        if !compiler.is_unchanged() {
            let what = "the compiler was replaced since the cache was opened: open it again";
            return Err(NativeError::file(&compiler.path, what));
        }
        artifact.write_key(key)?;
        // Loads, or is not published.
        verify(&artifact.library(), &compiler.path, artifact.entry(), artifact.signature())?;
        for _ in 0..RENAMES {
            // Somebody built there without a lock, or while this process was stopped.
            if let Some(first) = Artifact::read(folder, call.name(), signature, key) {
                return Ok(first);
            }
            self.remove(folder)?;
            match fs::rename(private.path(), folder) {
                Err(error) if is_taken(&error) => {}
                Err(error) => return Err(NativeError::file(folder, error)),
                Ok(()) => {
                    observer.ended(PUBLISH, &NoText);
                    return Ok(artifact.moved_to(folder));
                }
            }
        }
        Err(NativeError::file(folder, "others put something else there again and again"))
    }

    /// Removes a build, if there is one.
    fn remove(&self, folder: &Path) -> Result<(), NativeError> {
        removed(&self.root, folder).map(drop).map_err(|error| NativeError::file(folder, error))
    }

    /// Removes what was not used for the longest time until the rest is within the limit, and what ended processes left.
    fn make_room(&self, keep: &Path) {
        remove_abandoned(&self.root.join(VERSION).join("tmp"));
        let mut entries = folders(&self.root)
            .map(|folder| (used(&folder.join(BUILD_JSON)), size(&folder), folder))
            .collect::<Vec<_>>();
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
        for (_, size, folder) in entries {
            if total <= self.size_limit {
                break;
            }
            if folder != keep {
                let _ = self.remove(&folder);
                total -= size;
            }
        }
    }
}

/// The folder of what compilers have said about themselves.
fn known_in(root: &Path) -> PathBuf {
    root.join(VERSION).join("compilers")
}

/// The folders of builds.
fn folders(root: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let is_digits = |path: &Path, count: usize| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.len() == count && name.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let groups = children(&root.join(VERSION)).into_iter().filter(move |path| is_digits(path, 2));
    groups.flat_map(|group| children(&group)).filter(move |path| is_digits(path, 32))
}

/// All builds of the cache in a folder, those used last at the end. All files that a build has noted are read and compared.
pub fn entries(root: &Path) -> Vec<Entry> {
    let entry = |folder: PathBuf| {
        let (name, types) = names(&folder);
        let (size, used, damage) = (size(&folder), used(&folder.join(BUILD_JSON)), damage(&folder));
        Entry { folder, name, types, size, used, damage }
    };
    let mut all: Vec<Entry> = folders(root).map(entry).collect();
    all.sort_by_key(|entry| entry.used);
    all
}

/// Removes all builds of the cache in a folder, what compilers have said, and what processes left that ended while they built; gives the
/// number of builds. Locks stay: somebody may hold them.
///
/// # Errors
/// A build cannot be removed.
pub fn clear(root: &Path) -> Result<usize, NativeError> {
    let mut count = 0;
    for folder in folders(root) {
        count += usize::from(removed(root, &folder).map_err(|error| NativeError::file(&folder, error))?);
    }
    let _ = remove_all(&known_in(root));
    remove_abandoned(&root.join(VERSION).join("tmp"));
    Ok(count)
}

/// Removes a build, or whatever has its name; false if there is none. It is gone at once: what is renamed is nobody's, so that
/// who builds there meanwhile, or removes it too, does not meet a half of it.
fn removed(root: &Path, folder: &Path) -> std::io::Result<bool> {
    if matches!(fs::symlink_metadata(folder), Err(error) if error.kind() == ErrorKind::NotFound) {
        return Ok(false);
    }
    let under_way = root.join(VERSION).join("tmp");
    // Without room there, it goes where it is.
    let Ok(private) = PrivateFolder::new_in(&under_way) else { return remove_all(folder).map(|()| true) };
    match fs::rename(folder, private.path().join("removed")) {
        // Somebody else was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        renamed => renamed.map(|()| true),
    }
}

/// True of the error of a rename to where something is by now.
fn is_taken(error: &std::io::Error) -> bool {
    use ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
    [AlreadyExists, DirectoryNotEmpty, NotADirectory].contains(&error.kind())
}

/// Bytes of the files in a folder.
fn size(folder: &Path) -> u64 {
    children(folder).iter().filter_map(|path| path.metadata().ok()).map(|data| data.len()).sum()
}
