//! Build folders: what stands in one, and what says that it is complete.
//!
//! ```text
//! NAME.c  NAME.h  NAME.py     source and bindings
//! build.log                   what the compiler printed
//! libNAME.so                  the library
//! build.json                  state, entry, types, size and digest of the library, parts of the key; written last
//! ```
//!
//! All paths in `build.json` are relative, so that a folder may be moved.

use crate::native::error::NativeError;
use crate::native::stage::ProgramSource;
use cembra_vm::library::{ABI_VERSION, Digest, Signature};
use serde_json::{Map, Value as Json, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What the compiler printed.
pub(super) const BUILD_LOG: &str = "build.log";
/// What says that a folder is complete.
pub(super) const BUILD_JSON: &str = "build.json";

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
    /// Notes what was just built in a folder: from here on it is complete.
    pub(super) fn note<L>(
        folder: &Path,
        library: &str,
        source: &ProgramSource<L>,
    ) -> Result<Artifact, NativeError> {
        let path = folder.join(library);
        let bytes = std::fs::read(&path).map_err(|error| NativeError::file(&path, error))?;
        let artifact = Artifact {
            folder: folder.to_owned(),
            library: library.to_owned(),
            entry: source.entry.clone(),
            signature: source.signature.clone(),
            digest: Digest::of(&bytes),
        };
        artifact.write(&Map::new())?;
        Ok(artifact)
    }

    /// Writes `build.json` with parts of the key.
    pub(super) fn write(&self, key: &Map<String, Json>) -> Result<(), NativeError> {
        let text = json!({
            "state": "compiled",
            "entry": self.entry,
            "abi": ABI_VERSION,
            "types": self.signature.types(),
            "library": self.library,
            "size": self.digest.size,
            "sha256": hex(&self.digest.sha256),
            "key": key,
        });
        let path = self.folder.join(BUILD_JSON);
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            writeln!(file, "{text:#}")?;
            file.persist(&path).map(drop).map_err(|error| error.error)
        };
        write().map_err(|error| NativeError::file(&path, error))
    }

    /// The artifact of a complete folder, if it was built for this function, these types and this key.
    pub(super) fn read(
        folder: &Path,
        entry: &str,
        signature: &Signature,
        key: &Map<String, Json>,
    ) -> Option<Artifact> {
        let text = std::fs::read_to_string(folder.join(BUILD_JSON)).ok()?;
        let json: Json = serde_json::from_str(&text).ok()?;
        let text = |name: &str| json.get(name).and_then(Json::as_str);
        let is_it = text("state") == Some("compiled")
            && text("entry") == Some(entry)
            && text("types") == Some(&signature.types())
            && json.get("abi").and_then(Json::as_u64) == Some(ABI_VERSION.into())
            && json.get("key").and_then(Json::as_object) == Some(key);
        let library = text("library").filter(|name| is_it && is_plain_name(name))?;
        let digest = Digest { size: json.get("size")?.as_u64()?, sha256: unhex(text("sha256")?)? };
        Some(Artifact {
            folder: folder.to_owned(),
            library: library.to_owned(),
            entry: entry.to_owned(),
            signature: signature.clone(),
            digest,
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

/// True for the name of a file in the folder.
fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\']) && name != ".."
}

pub(super) fn hex(bytes: &[u8]) -> String {
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
