//! `--dump-stages DIR`: one numbered file for each stage.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn cembra(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cembra")).args(args).output().expect("the command starts")
}

/// Names of the files in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect("the file is there")
}

const PREPARATION: [&str; 12] = [
    "01-expr.txt",
    "02-join.txt",
    "03-populate-types.txt",
    "04-fold-literals.txt",
    "05-lower-operators.txt",
    "06-strip-annotations.txt",
    "07-insert-casts.txt",
    "08-optimize.txt",
    "09-guard-rows.txt",
    "10-extend.txt",
    "11-place-branches.txt",
    "12-program.txt",
];

#[test]
fn an_evaluation_writes_every_stage() {
    let folder = tempfile::tempdir().expect("a folder");
    let stages = folder.path().join("a/b");
    let path = stages.to_str().expect("UTF-8");
    let output = cembra(&["eval", "x > 1 + 1", "-i", "x=3", "--dump-stages", path]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"present\n"[..]));
    assert_eq!(names(&stages), PREPARATION);
    assert_eq!(read(&stages, "02-join.txt"), "x > 1 + 1\n");
    assert_eq!(read(&stages, "04-fold-literals.txt"), "x > 2\n");
    assert!(read(&stages, "05-lower-operators.txt").contains("< x"));
    assert!(read(&stages, "12-program.txt").contains("Eval operations:"));
}

#[test]
fn explain_writes_what_eval_writes() {
    let (eval, explain) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let path = |folder: &tempfile::TempDir| folder.path().to_str().expect("UTF-8").to_owned();
    cembra(&["eval", "x * 2.0", "-i", "x=3.5", "--dump-stages", &path(&eval)]);
    let shown =
        cembra(&["explain", "x * 2.0", "-i", "x=3.5", "--stage", "expr", "--dump-stages", &path(&explain)]);
    assert_eq!(shown.stdout, cembra(&["explain", "x * 2.0", "-i", "x=3.5", "--stage", "expr"]).stdout);
    for name in PREPARATION {
        assert_eq!(read(eval.path(), name), read(explain.path(), name), "{name}");
    }
}

#[test]
fn a_step_that_fails_leaves_those_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let output = cembra(&["eval", "1 // 0 + x", "-i", "x=3", "--dump-stages", path]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 // 0 + x"), "the place is shown");
    assert_eq!(names(folder.path()), PREPARATION[..10]);
}

#[test]
fn a_function_writes_every_stage() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, stages) = (folder.path().join("square.py"), folder.path().join("stages"));
    fs::write(&source, "def square(x):\n    return x * x\n").expect("the file can be written");
    let (source, path) = (source.to_str().expect("UTF-8"), stages.to_str().expect("UTF-8"));
    let run = ["function", "run", source, "square", "--args", "[3]"];
    let output = cembra(&[&run[..], &["--dump-stages", path]].concat());
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"9\n"[..]));
    let files = ["pyast", "norm", "ussa", "tssa", "low", "passes", "program"];
    for (number, stage) in files.iter().enumerate() {
        let text = read(&stages, &format!("{:02}-{stage}.txt", number + 1));
        let shown = if *stage == "program" { "code" } else { stage };
        let dump = cembra(&["function", "dump", source, "square", "--args", "[3]", "--stage", shown]);
        assert_eq!(text.trim_end(), String::from_utf8_lossy(&dump.stdout).trim_end(), "{stage}");
    }
    assert_eq!(names(&stages).len(), files.len());
}

#[test]
fn a_folder_that_is_a_file_is_refused() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    for command in [&["eval", "1 + 1"][..], &["explain", "1 + 1"]] {
        let output = cembra(&[command, &["--dump-stages", path]].concat());
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(shown.contains(path) && shown.contains("it is no folder"), "{shown}");
    }
}
