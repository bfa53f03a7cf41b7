//! Text cases: transcripts of the command line in `tests/cases/**/*.txt`.
//!
//! ```text
//! # A comment on the command that follows.
//! $ cembra eval 'x + 1' -i x=1
//! 2
//!
//! $ cembra eval 'y = x
//! > y + z'
//! error[MISSING_INPUT]: …
//! exit: 1
//! ```
//!
//! A line that begins with `$ ` is a command, in the quoting of a shell; `> ` continues it. Below stands
//! everything it prints, standard output first, then standard error; an exit code other than 0 is the
//! last line. Blank lines at the end of an output do not count. A command runs in the directory of its
//! file, so that cases can have files beside them.
//!
//! Which operators of a region share a pass depends on the instructions of the processor: dumps of regions
//! are compared where it has more than the baseline's.
//!
//! `UPDATE_EXPECT=1 cargo test --test it cases` writes what the commands print now; read the difference
//! before committing it.

use crate::support::test_file;
use cembra_vm::vector::level::Level;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads that run commands.
const THREADS: usize = 2;

/// A command and what it should print.
#[derive(Debug)]
struct Case {
    /// Comments above the command, with the blank lines between them.
    comments: String,
    /// The command without its marks, lines joined.
    command: String,
    /// Number of the line with the command.
    line: usize,
    expected: String,
}

impl Case {
    fn depends_on_instructions(&self) -> bool {
        self.command.contains("explain")
            && ["--stage regions", "--machine"].iter().any(|part| self.command.contains(part))
    }
}

#[test]
fn transcripts_are_what_the_commands_print() {
    let mut files = Vec::new();
    find_files(&test_file("cases"), &mut files);
    files.sort();
    assert!(files.len() >= 20, "the cases are gone: {files:?}");
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    check_files(&files, update, &[]);
    if cfg!(feature = "jit") {
        // One after the other: some commands write files.
        check_files(&files, false, MACHINE_CODE);
    }
}

/// Has commands run all programs as machine code that can be.
pub const MACHINE_CODE: &[(&str, &str)] = &[("CEMBRA_TIER", "jit")];

/// Runs the cases of files with further variables; with `update` the files are written.
fn check_files(files: &[PathBuf], update: bool, variables: &[(&str, &str)]) {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let failed = check_file(file, update, variables);
                    failures.lock().expect("no thread panics while it holds the lock").extend(failed);
                }
            });
        }
    });
    let failures = failures.into_inner().expect("the threads have ended");
    assert!(
        failures.is_empty(),
        "{} of the cases failed, {variables:?}\n\n{}",
        failures.len(),
        failures.join("\n")
    );
}

fn find_files(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    for entry in entries {
        let path = entry.expect("an entry of a directory that was just opened").path();
        match path.extension() {
            _ if path.is_dir() => find_files(&path, files),
            Some(extension) if extension == "txt" => files.push(path),
            _ => {}
        }
    }
}

/// Runs the cases of a file; what failed, or with `update` nothing and a new file.
fn check_file(file: &Path, update: bool, variables: &[(&str, &str)]) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let cases = cases(&text);
    let mut written = String::new();
    let mut failures = Vec::new();
    for case in &cases {
        let actual = match case.depends_on_instructions() && Level::best() == Level::Baseline {
            true => case.expected.clone(),
            false => run(case, file, variables),
        };
        if actual != case.expected && !update {
            let place = format!("{}:{}", file.display(), case.line);
            failures.push(format!("{place}\n$ {}\n{}", case.command, difference(&case.expected, &actual)));
        }
        let command = case.command.replace('\n', "\n> ");
        writeln!(written, "{}$ {command}\n{actual}", case.comments).expect("text takes any text");
    }
    if update {
        let written = normal(&written);
        if written != text {
            std::fs::write(file, written).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        }
    }
    failures
}

/// The cases of a transcript.
fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    // Lines since the last command: its output, then comments on the next command.
    let mut since: Vec<&str> = Vec::new();
    while let Some((number, line)) = lines.next() {
        let Some(first) = line.strip_prefix("$ ") else {
            since.push(line);
            continue;
        };
        let mut command = first.to_owned();
        while let Some((_, more)) = lines.next_if(|(_, line)| line.starts_with('>')) {
            command.push('\n');
            command.push_str(more.strip_prefix("> ").unwrap_or(&more[1..]));
        }
        let comments = comments_of(&mut since, cases.is_empty());
        close(&mut cases, &since);
        since.clear();
        cases.push(Case { comments, command, line: number + 1, expected: String::new() });
    }
    close(&mut cases, &since);
    cases
}

/// Takes the comments at the end of some lines.
fn comments_of(since: &mut Vec<&str>, whole: bool) -> String {
    let comment = |line: &&str| line.is_empty() || line.starts_with('#');
    let first = match whole {
        true => 0,
        false => since.iter().rposition(|line| !comment(line)).map_or(0, |last| last + 1),
    };
    let taken: Vec<&str> = since.drain(first..).collect();
    let text = taken.join("\n");
    match text.trim_matches('\n') {
        "" => String::new(),
        comments if whole && text.ends_with('\n') => format!("{comments}\n\n"),
        comments => format!("{comments}\n"),
    }
}

fn close(cases: &mut [Case], output: &[&str]) {
    if let Some(case) = cases.last_mut() {
        case.expected = normal(&output.join("\n"));
    }
}

/// An output with one line end at its end.
fn normal(output: &str) -> String {
    match output.trim_end_matches('\n') {
        "" => String::new(),
        lines => format!("{lines}\n"),
    }
}

fn run(case: &Case, file: &Path, variables: &[(&str, &str)]) -> String {
    let place = format!("{}:{}", file.display(), case.line);
    let directory = file.parent().expect("a file stands in a directory");
    output_with(&case.command, directory, &place, variables)
}

/// Everything that a command prints in a directory, as transcripts have it.
pub fn output_of(command: &str, directory: &Path, place: &str) -> String {
    output_with(command, directory, place, &[])
}

/// The same with further variables.
fn output_with(command: &str, directory: &Path, place: &str, variables: &[(&str, &str)]) -> String {
    let words = shlex::split(command).unwrap_or_else(|| panic!("{place}: unbalanced quotes"));
    assert_eq!(words.first().map(String::as_str), Some("cembra"), "{place}: commands begin with cembra");
    let mut process = Command::new(env!("CARGO_BIN_EXE_cembra"));
    process.args(&words[1..]).current_dir(directory).env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE");
    process.envs(variables.iter().copied());
    if words.iter().any(|word| word == "explain") {
        // What the code of strips consists of depends on the machine.
        process.env("CEMBRA_STRIPS", "never");
    }
    let output = process.output().unwrap_or_else(|e| panic!("{place}: {e}"));
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    match output.status.code() {
        Some(0) => {}
        Some(code) => text = format!("{}exit: {code}", normal(&text)),
        None => text = format!("{}{}", normal(&text), output.status),
    }
    normal(&text)
}

/// Expected and actual lines, the common ones at both ends left out.
pub fn difference(expected: &str, actual: &str) -> String {
    let (expected, actual): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = expected.iter().zip(&actual).take_while(same).count();
    let ends = expected[head..].iter().rev().zip(actual[head..].iter().rev());
    let tail = ends.take_while(same).count();
    let mut out = if head > 0 { format!("  … {head} equal lines\n") } else { String::new() };
    for (mark, lines) in [('-', &expected), ('+', &actual)] {
        for line in &lines[head..lines.len() - tail] {
            writeln!(out, "{mark} {line}").expect("text takes any text");
        }
    }
    out
}
