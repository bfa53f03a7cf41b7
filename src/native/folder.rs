//! Build folders: what stands in one, and what says that it is complete.
//!
//! ```text
//! program.txt                 the program, in its stored form
//! NAME.c  NAME.h  NAME.py     source and bindings                              ─> initialized
//! build.sh  Makefile          what the build system needs, if that is anything ─> configured
//! build.log                   what the compiler printed
//! libNAME.so                  the library                                      ─> compiled
//! build.json                  state, entry, types, sizes and digests of all other files, parts of the key
//! ```
//!
//! 1. `build.json` goes before the first file is written, and is replaced as a whole when a state is reached: all that it
//!    names is there.
//! 2. Only the state `compiled` is a build. What a build that was killed has left is overwritten by the next one.
//! 3. All paths in `build.json` are relative, so that a folder may be moved.

use crate::native::elf::Elf;
use crate::native::error::NativeError;
use crate::native::files::{new_file_in, read_at_most, read_text, shown};
use crate::native::observer::CACHE_HIT;
use crate::native::stage::{ProgramSource, file_text};
use crate::workflow;
use cembra_vm::library::{ABI_VERSION, Digest, Signature};
use serde_json::{Map, Value as Json, json};
use std::fmt;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The program that is built, in its stored form.
pub(super) const PROGRAM_TXT: &str = "program.txt";
/// What the compiler printed.
pub(crate) const BUILD_LOG: &str = "build.log";
/// What says how far a build has come.
pub(super) const BUILD_JSON: &str = "build.json";
/// Bytes that it has at most.
const LONGEST_JSON: u64 = 16 << 20;
/// Bytes that a file has at most which a build has made.
pub(super) const LONGEST_FILE: u64 = 1 << 30;
/// Bytes of a source or a log that are shown.
const LONGEST_TEXT: u64 = 256 << 20;

/// How far a build has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BuildState {
    /// The sources are there.
    Initialized,
    /// The compiler can be called.
    Configured,
    /// The library is there.
    Compiled,
}

impl fmt::Display for BuildState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BuildState::Initialized => "initialized",
            BuildState::Configured => "configured",
            BuildState::Compiled => "compiled",
        })
    }
}

/// A folder in which something is being built.
#[derive(Debug)]
pub(super) struct BuildFolder<'f> {
    folder: &'f Path,
    entry: &'f str,
    signature: &'f Signature,
    files: Vec<(String, Digest)>,
}

impl<'f> BuildFolder<'f> {
    /// Begins a build. If there was one in the folder, it is complete no longer.
    pub(super) fn begin<L>(
        folder: &'f Path,
        source: &'f ProgramSource<L>,
    ) -> Result<BuildFolder<'f>, NativeError> {
        remove(&folder.join(BUILD_JSON))?;
        Ok(BuildFolder { folder, entry: &source.entry, signature: &source.signature, files: Vec::new() })
    }

    /// Writes a file.
    pub(super) fn write(&mut self, name: &str, text: &str) -> Result<(), NativeError> {
        let path = self.folder.join(name);
        std::fs::write(&path, text).map_err(|error| NativeError::file(&path, error))?;
        self.files.push((name.to_owned(), Digest::of(text.as_bytes())));
        Ok(())
    }

    /// Notes a file that somebody else has written.
    pub(super) fn note(&mut self, name: &str) -> Result<Digest, NativeError> {
        let path = self.folder.join(name);
        let bytes = read_at_most(&path, LONGEST_FILE).map_err(|error| NativeError::file(&path, error))?;
        let digest = Digest::of(&bytes);
        self.files.push((name.to_owned(), digest));
        Ok(digest)
    }

    /// Says in `build.json` how far the build has come.
    pub(super) fn reach(&self, state: BuildState) -> Result<(), NativeError> {
        let text = self.json(state);
        write_json(self.folder, &text)
    }

    fn json(&self, state: BuildState) -> Json {
        let files: Map<String, Json> =
            self.files.iter().map(|(name, digest)| (name.clone(), digest_json(*digest))).collect();
        json!({
            "state": state.to_string(),
            "entry": self.entry,
            "abi": ABI_VERSION,
            "types": self.signature.types(),
            "files": files,
        })
    }

    /// The library is there: from here on the folder is complete.
    pub(super) fn compiled(mut self, library: &str) -> Result<Artifact, NativeError> {
        self.note(BUILD_LOG)?;
        let digest = self.note(library)?;
        let mut json = self.json(BuildState::Compiled);
        json["library"] = library.into();
        write_json(self.folder, &json)?;
        Ok(Artifact {
            folder: self.folder.to_owned(),
            library: library.to_owned(),
            entry: self.entry.to_owned(),
            signature: self.signature.clone(),
            digest,
        })
    }
}

/// Removes a file of another build, if there is one: who has it open keeps it, and nobody takes it for the new one.
///
/// # Errors
/// It stays.
pub fn remove(file: &Path) -> Result<(), NativeError> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(NativeError::file(file, error)),
        _ => Ok(()),
    }
}

/// Replaces `build.json` at once.
fn write_json(folder: &Path, json: &Json) -> Result<(), NativeError> {
    let path = folder.join(BUILD_JSON);
    let write = || {
        let mut file = new_file_in(folder, "")?;
        writeln!(file, "{json:#}")?;
        file.persist(&path).map(drop).map_err(|error| error.error)
    };
    write().map_err(|error| NativeError::file(&path, error))
}

fn read_json(folder: &Path) -> Option<Json> {
    let text = read_text(&folder.join(BUILD_JSON), LONGEST_JSON).ok()?;
    serde_json::from_str(&text).ok()
}

fn digest_json(digest: Digest) -> Json {
    json!({ "size": digest.size, "sha256": hex(&digest.sha256) })
}

fn digest_of(json: &Json) -> Option<Digest> {
    Some(Digest { size: json.get("size")?.as_u64()?, sha256: unhex(json.get("sha256")?.as_str()?)? })
}

/// What is wrong with a folder, if anything is: with the state of its build, the version of the boundary that it names or that
/// its library has, or the first file that is not the one that was built.
pub(super) fn damage(folder: &Path) -> Option<String> {
    found_damage(folder).map(|what| shown(&what, &[]))
}

fn found_damage(folder: &Path) -> Option<String> {
    let Some(json) = read_json(folder) else { return Some(format!("{BUILD_JSON} cannot be read")) };
    let state = json.get("state").and_then(Json::as_str).unwrap_or("none");
    if state != BuildState::Compiled.to_string() {
        return Some(format!("its build has not ended, its state is {state}"));
    }
    let abi = json.get("abi").and_then(Json::as_u64).unwrap_or_default();
    if abi != u64::from(ABI_VERSION) {
        return Some(other_abi(abi));
    }
    let files = json.get("files").and_then(Json::as_object);
    let library = json.get("library").and_then(Json::as_str).unwrap_or_default();
    let Some(files) = files.filter(|files| files.contains_key(library)) else {
        return Some(format!("{BUILD_JSON} names no library"));
    };
    let damaged = files.iter().find_map(|(name, digest)| {
        let Some(digest) = digest_of(digest).filter(|_| is_plain_name(name)) else {
            return Some(format!("{BUILD_JSON} has no digest of {name}"));
        };
        let path = folder.join(name);
        if path.metadata().is_ok_and(|data| data.is_file() && data.len() != digest.size) {
            return Some(format!("{name}: its size differs"));
        }
        match read_at_most(&path, digest.size) {
            Err(error) => Some(format!("{name}: {error}")),
            Ok(bytes) => (Digest::of(&bytes) != digest).then(|| format!("{name}: its digest differs")),
        }
    });
    let entry = json.get("entry").and_then(Json::as_str).unwrap_or_default();
    damaged.or_else(|| foreign_abi(&folder.join(library), entry).map(|what| format!("{library}: {what}")))
}

/// What a library says of its version of the boundary, if that is not this version: it is read, not loaded. Nothing is known
/// of files that are not ELF.
fn foreign_abi(library: &Path, entry: &str) -> Option<String> {
    let bytes = std::fs::read(library).ok()?;
    let symbol = format!("{entry}_abi");
    match Elf::of(&bytes)?.number(&symbol) {
        Some(ABI_VERSION) => None,
        Some(abi) => Some(other_abi(abi.into())),
        None => Some(format!("no symbol {symbol}")),
    }
}

fn other_abi(abi: u64) -> String {
    format!("made for version {abi} of the boundary, this is version {ABI_VERSION}")
}

/// The function of a build and its types, as far as its folder says so.
pub(super) fn names(folder: &Path) -> (String, String) {
    let json = read_json(folder).unwrap_or_default();
    let text = |name: &str| shown(json.get(name).and_then(Json::as_str).unwrap_or_default(), &[]);
    (text("entry"), text("types"))
}

/// A library that has been built, on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    folder: PathBuf,
    library: String,
    entry: String,
    signature: Signature,
    digest: Digest,
}

impl Artifact {
    /// Adds parts of the key to `build.json`.
    pub(super) fn write_key(&self, key: &Map<String, Json>) -> Result<(), NativeError> {
        let damaged = || NativeError::file(self.folder.join(BUILD_JSON), "it cannot be read");
        let mut json = read_json(&self.folder).filter(Json::is_object).ok_or_else(damaged)?;
        json["key"] = key.clone().into();
        write_json(&self.folder, &json)
    }

    /// The artifact of a complete folder, if it was built for this function, these types and this key.
    pub(super) fn read(
        folder: &Path,
        entry: &str,
        signature: &Signature,
        key: &Map<String, Json>,
    ) -> Option<Artifact> {
        let json = read_json(folder)?;
        let text = |name: &str| json.get(name).and_then(Json::as_str);
        let is_it = text("state") == Some(&BuildState::Compiled.to_string())
            && text("entry") == Some(entry)
            && text("types") == Some(&signature.types())
            && json.get("abi").and_then(Json::as_u64) == Some(ABI_VERSION.into())
            && json.get("key").and_then(Json::as_object) == Some(key);
        let library = text("library").filter(|name| is_it && is_plain_name(name))?;
        Some(Artifact {
            folder: folder.to_owned(),
            library: library.to_owned(),
            entry: entry.to_owned(),
            signature: signature.clone(),
            digest: digest_of(json.get("files")?.get(library)?)?,
        })
    }

    /// The same in a folder that was moved.
    pub(super) fn moved_to(mut self, folder: &Path) -> Artifact {
        self.folder = folder.to_owned();
        self
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The library's file.
    pub fn library(&self) -> PathBuf {
        self.folder.join(&self.library)
    }

    /// The name of its function.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// What the function takes and gives.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Size and digest of the library.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// What the compiler printed, and `build.json`; for a build that was found, all stages as their files tell them.
impl workflow::Artifact for Artifact {
    fn texts(&self, step: &'static str) -> Vec<(&'static str, String)> {
        let read = |name: &str| match read_text(&self.folder.join(name), LONGEST_TEXT) {
            Ok(text) => text,
            Err(error) => error.to_string(),
        };
        let compiled = [BUILD_LOG, BUILD_JSON].map(|name| file_text(name, &read(name))).concat();
        if step != CACHE_HIT {
            return vec![(step, compiled)];
        }
        // In the order in which they were written.
        let json = read_json(&self.folder).unwrap_or_default();
        let files = json.get("files").and_then(Json::as_object).into_iter().flatten();
        let is_text = |name: &&String| ![PROGRAM_TXT, BUILD_LOG, &self.library].contains(&name.as_str());
        let mut names = files.map(|(name, _)| name).filter(|name| is_plain_name(name)).filter(is_text);
        let source = names.next().map(|name| read(name)).unwrap_or_default();
        let others: String = names.map(|name| file_text(name, &read(name))).collect();
        vec![("translate", source), ("bind", others), ("compile", compiled)]
    }
}

/// True for the name of a file in the folder.
fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\']) && name != ".."
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}
