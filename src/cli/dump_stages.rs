//! `--dump-stages DIR`: what each step has made, one numbered file a stage.
//!
//! ```text
//! 01-expr.txt  02-join.txt  03-populate-types.txt  …  12-program.txt
//! ```
//!
//! Files are written as soon as there is something to write, so that a step that fails leaves those before it. A file
//! that cannot be written ends no step: [`StageDump::finish`] tells.

use crate::cli::report::{Phase, Report};
use crate::native::BuildObserver;
use crate::workflow::{Artifact, StepObserver};
use cembra_vm::value::Category;
use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};

/// An observer that writes files, if a folder is given.
#[derive(Debug, Default)]
pub(super) struct StageDump {
    folder: Option<PathBuf>,
    written: Cell<usize>,
    failed: RefCell<Option<String>>,
}

impl StageDump {
    /// Makes the folder, if one is given.
    ///
    /// # Errors
    /// It is a file, or cannot be made.
    pub(super) fn open(folder: Option<&Path>) -> Result<StageDump, Report> {
        if let Some(folder) = folder {
            if folder.exists() && !folder.is_dir() {
                return Err(report(format!("cannot write stages to {}: it is no folder", folder.display())));
            }
            fs::create_dir_all(folder)
                .map_err(|error| report(format!("cannot make the folder {}: {error}", folder.display())))?;
        }
        Ok(StageDump { folder: folder.map(Path::to_owned), ..StageDump::default() })
    }

    /// True if stages are written.
    pub(super) fn is_on(&self) -> bool {
        self.folder.is_some()
    }

    /// Writes a stage; the text is made only if it is wanted.
    pub(super) fn write(&self, stage: &str, text: impl FnOnce() -> String) {
        let Some(folder) = &self.folder else { return };
        self.written.set(self.written.get() + 1);
        // Names of fields in JSON may have any characters.
        let is_other = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.');
        let file = folder.join(format!("{:02}-{}.txt", self.written.get(), stage.replace(is_other, "-")));
        let mut text = text();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        if let Err(error) = fs::write(&file, text) {
            self.failed.borrow_mut().get_or_insert(format!("cannot write {}: {error}", file.display()));
        }
    }

    /// Tells whether all files have been written.
    ///
    /// # Errors
    /// The first that could not be.
    pub(super) fn finish(&self) -> Result<(), Report> {
        self.failed.take().map_or(Ok(()), |message| Err(report(message)))
    }
}

impl<A: Artifact, E> StepObserver<A, E> for StageDump {
    fn observe(&self, step: &'static str, artifact: &A) -> Result<(), E> {
        if self.is_on() {
            for (stage, text) in artifact.texts(step) {
                self.write(stage, || text);
            }
        }
        Ok(())
    }
}

impl BuildObserver for StageDump {
    fn ended(&self, stage: &'static str, made: &dyn Artifact) {
        if self.is_on() {
            for (stage, text) in made.texts(stage) {
                self.write(stage, || text);
            }
        }
    }
}

fn report(message: String) -> Report {
    Report::new(Category::Io, Phase::Compile, message)
}
