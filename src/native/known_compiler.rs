//! What compilers have said about themselves, kept in a cache: a hit starts no process.
//!
//! It is believed as long as the files of the compiler stay the same, and the processor. A script is asked each time, and so
//! is a program that chooses the compiler by rules of its own.

use crate::native::compiler::{self, CompiledLanguage, Compiler};
use crate::native::compiler_file::{file_identity, is_script};
use crate::native::error::NativeError;
use crate::workflow::StepKey;
use serde_json::{Map, Value as Json, json};
use std::path::Path;

/// The compiler, as the file knows it, or as it says now.
pub(super) fn known_compiler<L: CompiledLanguage>(
    file: &Path,
    named: Option<&Path>,
) -> Result<Compiler, NativeError> {
    let program = compiler::chosen::<L>(named).filter(|program| L::IS_ITSELF && !is_script(program));
    let identity = program.as_deref().and_then(identity);
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut known: Map<String, Json> = serde_json::from_str(&text).unwrap_or_default();
    if let Some((program, identity)) = program.as_ref().zip(identity.as_ref())
        && let Some(compiler) = known.get(identity).and_then(|json| read(program, json))
    {
        return Ok(compiler);
    }
    let compiler = Compiler::find_for::<L>(named)?;
    if let Some(identity) = identity.filter(|_| program.as_ref() == Some(&compiler.path)) {
        let Compiler { version, target, behind, files, .. } = &compiler;
        let answers = json!({ "version": version, "target": target, "behind": behind, "files": files });
        known.insert(identity, answers);
        // What cannot be written is asked again.
        let _ = write(file, &known);
    }
    Ok(compiler)
}

/// What a compiler has said, if its files are those of then.
fn read(program: &Path, json: &Json) -> Option<Compiler> {
    let text = |name: &str| json.get(name)?.as_str().map(str::to_owned);
    let behind = text("behind").map(Into::into);
    let compiler = Compiler::of_answers(program.to_owned(), text("version")?, text("target")?, behind);
    (json.get("files")? == &json!(compiler.files)).then_some(compiler)
}

fn write(path: &Path, known: &Map<String, Json>) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut file, serde_json::to_string_pretty(known)?.as_bytes())?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// A compiler's name and file, and the processor.
fn identity(program: &Path) -> Option<String> {
    let file = file_identity(program)?;
    // The first processor stands for all.
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let lines = processors.split("\n\n").next().unwrap_or_default().lines();
    let names: Vec<&str> =
        lines.filter(|line| line.starts_with("model name") || line.starts_with("flags")).collect();
    let parts = (program.to_string_lossy().into_owned(), file, names.join("\n"));
    Some(StepKey::of(&parts).to_string()[..32].to_owned())
}
