//! Build script: a digest of the sources of this crate and of its machine, for keys of the caches of libraries. Builds of one version may
//! differ, as between two commits, and translate a program differently; a library of the other one would be taken for their own.

use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let mut hasher = DefaultHasher::new();
    // In a published package the machine is a crate of its own, with a version.
    for folder in ["src", "vm/src"].into_iter().filter(|folder| root.join(folder).is_dir()) {
        println!("cargo::rerun-if-changed={folder}");
        hash_folder(&root.join(folder), &mut hasher)?;
    }
    println!("cargo::rustc-env=CEMBRA_SOURCES={:016x}", hasher.finish());
    Ok(())
}

/// Names and contents of all files below a folder, in order, without hidden ones: editors make links there that lead nowhere.
fn hash_folder(folder: &Path, hasher: &mut DefaultHasher) -> Result<(), Box<dyn Error>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort();
    let is_hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
    for path in paths.into_iter().filter(|path| !is_hidden(path)) {
        path.file_name().hash(hasher);
        match path.is_dir() {
            true => hash_folder(&path, hasher)?,
            false => fs::read(&path)?.hash(hasher),
        }
    }
    Ok(())
}
