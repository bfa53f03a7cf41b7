//! A system that lets no memory be executed that was written: the same results, and a note where there is no machine code.
//!
//! Linux refuses such memory to a process that asks for it (`PR_SET_MDWE`, since 6.3), as hardened systems do for all. What a
//! process has asked for stays when it becomes another program.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

unsafe extern "C" {
    fn prctl(option: i32, ...) -> i32;
}

const PR_SET_MDWE: i32 = 65;
const PR_MDWE_REFUSE_EXEC_GAIN: u64 = 1;

/// The command in a folder, which has its cache, too.
fn command(args: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cembra"));
    command.args(args).current_dir(folder).env("CEMBRA_CACHE_DIR", folder.join("cache"));
    command
}

/// The same without memory that can be executed; nothing if this kernel knows no such thing.
fn refused(args: &[&str], folder: &Path) -> Option<Output> {
    let mut command = command(args, folder);
    // SAFETY: what runs between fork and exec is one call to the system, and allocates nothing.
    unsafe {
        command.pre_exec(|| match prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0_u64, 0_u64, 0_u64) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!(
                "this kernel does not refuse memory to be executed ({error}): only plain runs are compared"
            );
            None
        }
    }
}

/// What the command prints in both ways, and the notes of the second one if the kernel knows it.
fn both(args: &[&str], folder: &Path) -> (String, String, Option<String>) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let plain = command(args, folder).output().expect("the command starts");
    let (plain, notes) = (text(plain.stdout), text(plain.stderr));
    assert!(!plain.is_empty() && notes.is_empty(), "{args:?}: {notes}");
    match refused(args, folder) {
        Some(output) => {
            assert!(output.status.success(), "{args:?}: {output:?}");
            (plain, text(output.stdout), Some(text(output.stderr)))
        }
        None => (plain.clone(), plain, None),
    }
}

/// 100 steps on 40 × 40 points: more than strips need to be compiled.
const WAVES: &str = "horizontal I, J\noutput u[I=0:40, J=0:40] fill 1.5\noutput v[I=0:40, J=0:40] fill 0.5\n\
    v[I=1:39, J=1:39] = u + 0.2*(-4.0*u + u[I-1] + u[I+1] + exp(-u[J-1]*v) + u[J+1])\n";

const SUM: &str = "def f(n):\n    s = 0\n    for i in range(n):\n        s += i * i % 7\n    return s\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    std::fs::write(folder.path().join("waves.field"), WAVES).expect("a file");
    std::fs::write(folder.path().join("sum.py"), SUM).expect("a file");
    folder
}

#[test]
fn strips_are_passes() {
    let folder = folder();
    let run = ["field", "run", "waves.field", "--steps", "100", "--swap", "u:v"];
    let (plain, found, notes) = both(&run, folder.path());
    assert_eq!(found, plain);
    assert!(notes.is_none_or(|notes| notes.is_empty()), "every processor has passes");
    let types = ["-t", "x=NDARRAY_FLOAT64_N", "-t", "y=NDARRAY_FLOAT64_N"];
    let explain = [&["explain", "x*2.0 + y*y", "--stage", "regions"], &types[..]].concat();
    let (plain, found, notes) = both(&explain, folder.path());
    // Processors without strips have none to load.
    if notes.is_some() && plain.contains("strip 0 of 0, 1, 2: AVX") {
        assert!(found.contains("strip 0 of 0, 1, 2: none, no memory for machine code: "), "{found}");
    }
}

#[test]
fn libraries_are_loaded_all_the_same() {
    let folder = folder();
    let run = ["function", "run", "sum.py", "f", "--args", "[1000]", "--tier", "native"];
    let (plain, found, notes) = both(&run, folder.path());
    assert_eq!((&*plain, &*found), ("2001\n", "2001\n"));
    assert!(notes.is_none_or(|notes| notes.is_empty()), "nobody writes what a library executes");
}

#[cfg(feature = "jit")]
#[test]
fn the_interpreter_runs_what_would_be_machine_code() {
    let folder = folder();
    let run = ["function", "run", "sum.py", "f", "--args", "[1000]", "--tier", "jit"];
    let (plain, found, notes) = both(&run, folder.path());
    assert_eq!((&*plain, &*found), ("2001\n", "2001\n"));
    let Some(notes) = notes else { return };
    let expected = "note: the interpreter runs it: no memory for machine code: ";
    assert!(notes.starts_with(expected) && notes.lines().count() == 1, "{notes}");
    let explain = ["explain", "x*2.0 + y", "-t", "x=FLOAT64", "-t", "y=FLOAT64", "--tier", "jit"];
    let (plain, found, _) = both(&explain, folder.path());
    assert!(plain.starts_with("runs as: machine code\n"), "{plain}");
    let expected = "the interpreter runs it: no memory for machine code: ";
    assert!(found.starts_with(expected) && found.contains("math.multiply"), "{found}");
    // A program on fields: a note for each statement.
    let scan = "horizontal I\noutput u[I=0:6] fill 1.5\nu = u + 1.0\n";
    std::fs::write(folder.path().join("a.field"), scan).expect("a file");
    let run = ["field", "run", "a.field", "--tier", "jit"];
    let output = refused(&run, folder.path()).expect("it was there before");
    assert!(
        output.status.success()
            && output.stderr.starts_with(b"note: the interpreter runs statement 1 (`u`): ")
    );
}
