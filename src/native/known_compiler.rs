//! What compilers have said about themselves: a cached step, whose store is on disk, so that a hit starts no process.
//!
//! ```text
//! program, its file, the processor ─> key ─ <root>/v1/compilers/… ─ asks the compiler ─> version, target, program behind it
//! ```
//!
//! It is believed as long as the files of the compiler stay the same, and the processor. A script is asked each time, and so
//! is a program that chooses the compiler by rules of its own.

use crate::native::compiler::{self, CompiledLanguage, Compiler};
use crate::native::compiler_file::{file_identity, is_script};
use crate::native::error::NativeError;
use crate::native::store::{DiskStore, KeptText};
use crate::workflow::{Cached, Step, step};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// Compilers that a cache knows at most.
const MOST_KNOWN: usize = 64;

/// The compiler, as the folder knows it, or as it says now.
pub(super) fn known_compiler<L: CompiledLanguage>(
    folder: &Path,
    named: Option<&Path>,
) -> Result<Compiler, NativeError> {
    let program = compiler::chosen::<L>(named).filter(|program| L::IS_ITSELF && !is_script(program));
    let Some(identity) = program.as_deref().and_then(identity) else { return Compiler::find_for::<L>(named) };
    let ask = step("ask compiler", |(program, ..): Identity| Compiler::at_for::<L>(Path::new(&program)));
    let ask = Cached::new(ask, &("ask compiler", L::NAME), DiskStore::new(folder, MOST_KNOWN));
    // Where the first one does not answer, others are looked for.
    ask.run(identity).or_else(|_| Compiler::find_for::<L>(named))
}

impl KeptText for Compiler {
    fn text(&self) -> String {
        let Compiler { path, version, target, behind, files } = self;
        let answers =
            json!({ "path": path, "version": version, "target": target, "behind": behind, "files": files });
        format!("{answers:#}\n")
    }

    /// Holds if the files are those of then.
    fn read(text: &str) -> Option<Compiler> {
        let json: Json = serde_json::from_str(text).ok()?;
        let text = |name: &str| json.get(name)?.as_str().map(str::to_owned);
        let behind = text("behind").map(PathBuf::from);
        let path = PathBuf::from(text("path")?);
        let compiler = Compiler::of_answers(path, text("version")?, text("target")?, behind);
        (json.get("files")? == &json!(compiler.files)).then_some(compiler)
    }
}

/// A compiler's name, its file, and the processor.
type Identity = (String, String, String);

/// What must stay the same; nothing for names that are no texts.
fn identity(program: &Path) -> Option<Identity> {
    let file = file_identity(program)?;
    // The first processor stands for all.
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let lines = processors.split("\n\n").next().unwrap_or_default().lines();
    let names: Vec<&str> =
        lines.filter(|line| line.starts_with("model name") || line.starts_with("flags")).collect();
    Some((program.to_str()?.to_owned(), file, names.join("\n")))
}
