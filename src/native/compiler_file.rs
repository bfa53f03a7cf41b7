//! Which files a compiler is: what must not change as long as what it once said about itself is believed.
//!
//! ```text
//! cc ──links──> gcc-13 ──-print-prog-name=cc1──> …/13/cc1      path, size and time of both
//! cc, a script ──> whatever it calls                           and the script's digest
//! CPATH=… and the like                                         variables of the environment by which it does something else
//! ```
//!
//! A version does not tell: a compiler is replaced by another one of the same version, a link leads elsewhere, a script calls
//! another program.

use cembra_vm::library::Digest;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes of a script that are read.
const LONGEST_SCRIPT: u64 = 1 << 20;

/// Variables by which compilers and linkers take other headers, libraries, programs or flags.
const VARIABLES: [&str; 10] = [
    "CPATH",
    "C_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "LD_RUN_PATH",
    "CCC_OVERRIDE_OPTIONS",
    "SDKROOT",
    "NIX_CFLAGS_COMPILE",
    "NIX_LDFLAGS",
];

/// Those that are set, with their values.
pub(super) fn environment() -> impl Iterator<Item = String> {
    let text = |name: &str| Some(format!("{name}={}", std::env::var_os(name)?.to_string_lossy()));
    VARIABLES.into_iter().filter_map(text)
}

/// A file: its path with all links followed, its size, its time, and the digest of a script.
pub(super) fn file_identity(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let data = path.metadata().ok().filter(|data| data.is_file())?;
    let time = data.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let mut text = format!("{}, {} bytes, time {}", path.display(), data.len(), time.as_nanos());
    if let Some(script) = script(&path) {
        let digest: String = Digest::of(&script).sha256.iter().map(|byte| format!("{byte:02x}")).collect();
        text += &format!(", script {}", &digest[..32]);
    }
    Some(text)
}

/// The text of a script.
fn script(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut file = std::fs::File::open(path).ok()?;
    let mut bytes = vec![0; 2];
    file.read_exact(&mut bytes).ok().filter(|()| bytes == *b"#!")?;
    file.take(LONGEST_SCRIPT).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// True for a script: what it calls may be another program tomorrow.
pub(super) fn is_script(path: &Path) -> bool {
    script(path).is_some()
}

/// The program in an answer of a compiler, if that is one that there is.
pub(super) fn program_of(answer: &str, below: &str) -> Option<PathBuf> {
    let mut path = PathBuf::from(answer.lines().next()?.trim());
    if !below.is_empty() {
        path.push(below);
    }
    (path.is_absolute() && path.is_file()).then_some(path)
}
