//! Build systems: how the compiler is asked.
//!
//! ```text
//! Direct      cc …                                       the compiler itself
//! Scripted    build.sh, Makefile ──> sh build.sh         a folder that builds again without Cembra: `make`
//! ```
//!
//! Other steps see neither: both leave the same library.

use crate::native::error::NativeError;
use crate::workflow::{Fingerprint, Fingerprinter};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is to be built.
#[derive(Debug)]
pub struct BuildJob<'j> {
    /// The folder, in which the command runs.
    pub folder: &'j Path,
    /// The compiler.
    pub compiler: &'j Path,
    /// The library, in the folder.
    pub library: &'j Path,
    /// The sources, in the folder.
    pub sources: &'j [PathBuf],
    /// All arguments of the compiler.
    pub arguments: Vec<String>,
}

/// How the compiler is asked.
pub trait BuildSystem: Fingerprint + Debug {
    /// The command that builds; what it needs stands in the folder afterwards.
    ///
    /// # Errors
    /// A file cannot be written.
    fn command(&self, job: &BuildJob<'_>) -> Result<Command, NativeError>;

    /// The files that it writes to the folder.
    fn files(&self) -> &'static [&'static str] {
        &[]
    }
}

/// The compiler is called.
#[derive(Clone, Copy, Debug, Default)]
pub struct Direct;

impl Fingerprint for Direct {
    fn feed(&self, to: &mut Fingerprinter) {
        to.leaf("Direct", &[]);
    }
}

impl BuildSystem for Direct {
    fn command(&self, job: &BuildJob<'_>) -> Result<Command, NativeError> {
        let mut command = Command::new(job.compiler);
        command.args(&job.arguments);
        Ok(command)
    }
}

/// A script is written and run; a Makefile beside it runs the script when a source is newer than the library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scripted;

impl Fingerprint for Scripted {
    fn feed(&self, to: &mut Fingerprinter) {
        to.leaf("Scripted", &[]);
    }
}

impl BuildSystem for Scripted {
    fn command(&self, job: &BuildJob<'_>) -> Result<Command, NativeError> {
        let words = job.arguments.iter().map(|argument| quoted(argument)).collect::<Vec<_>>().join(" ");
        let compiler = quoted(&job.compiler.to_string_lossy());
        let script = format!("#!/bin/sh\nset -e\ncd \"$(dirname \"$0\")\"\n${{CC:-{compiler}}} {words}\n");
        let sources: Vec<String> = job.sources.iter().map(|path| path.display().to_string()).collect();
        let library = job.library.display();
        let makefile = format!("{library}: {} build.sh\n\tsh build.sh\n", sources.join(" "));
        for (name, text) in [("build.sh", script), ("Makefile", makefile)] {
            let path = job.folder.join(name);
            std::fs::write(&path, text).map_err(|error| NativeError::file(&path, error))?;
        }
        let mut command = Command::new("sh");
        // The compiler is the one of the job, whatever the environment says.
        command.arg("build.sh").env_remove("CC");
        Ok(command)
    }

    fn files(&self) -> &'static [&'static str] {
        &["build.sh", "Makefile"]
    }
}

/// A word of the shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_compiler_as_they_are() {
        assert_eq!(quoted("-O3"), "-O3");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
