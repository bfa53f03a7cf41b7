//! Mutated files of every format: each is read, or refused by an error, within time and memory.
//!
//! A case is a good file and a few mutations of it. It may not panic, take more than [`MEMORY`], or longer than
//! [`TIME`]. A case that does is kept in the directory of the build, and its name, seed and number are printed.

use crate::hostile::mutate::mutated;
use crate::hostile::{count, seed, seeds};
use allocation_counter::measure;
use cembra::backend::model::EvaluatorKind;
use cembra::cli::args::{Arguments, BackendArg, Command, EvalArgs};
use cembra::cli::graph::recorded;
use cembra::cli::model_options::Evaluator;
use cembra::cli::model_result::Spectra;
use cembra::cli::{batch, json_text, model_batch};
use cembra::columns::source::Rows;
use cembra::columns::{OpenOptions, open, read_whole};
use cembra::model::error::Findings;
use cembra::model::library::Library;
use cembra::model::load::load_with;
use cembra::vm::value::Budget;
use clap::Parser;
use fastrand::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes that the reading of a small file may take at any time.
const MEMORY: u64 = 512 << 20;

/// How long the reading of a small file may take, on a busy machine.
const TIME: Duration = Duration::from_secs(5);

/// Rows that a small file may have; more mean that reading does not end.
const ROWS: usize = 100_000_000;

/// Runs cases of a format. What reads a file says whether it was good.
fn check(name: &str, usual: u64, files: &[Vec<u8>], tokens: &[&str], read: impl Fn(&Path) -> bool) {
    let directory = tempfile::tempdir().expect("the system has a directory for temporary files");
    let path = directory.path().join(format!("m.{name}"));
    let put = |bytes: &[u8]| std::fs::write(&path, bytes).expect("the directory takes files");
    for (index, file) in files.iter().enumerate() {
        put(file);
        assert!(read(&path), "good file {index} of {name} cannot be read");
    }
    let (seed, mut good) = (seed(), 0);
    for case in 0..count(usual) {
        let mut random = Rng::with_seed(seed ^ (case << 20));
        let file = &files[random.usize(..files.len())];
        let bytes = mutated(&mut random, file, files, tokens);
        put(&bytes);
        let start = Instant::now();
        let mut outcome = Ok(false);
        let used = measure(|| outcome = catch_unwind(AssertUnwindSafe(|| read(&path))));
        let what = match &outcome {
            Err(_) => "panics".to_owned(),
            Ok(_) if used.bytes_max > MEMORY => format!("takes {} bytes", used.bytes_max),
            Ok(_) if start.elapsed() > TIME => format!("takes {:?}", start.elapsed()),
            Ok(is_good) => {
                good += u64::from(*is_good);
                continue;
            }
        };
        let kept = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile_{seed}_{case}.{name}"));
        std::fs::write(&kept, bytes).expect("the directory of the build takes files");
        panic!("seed {seed}, case {case}: {} {what}", kept.display());
    }
    eprintln!("{name}: {good} mutated files are still good");
}

/// Reads all columns that can be read, batch by batch.
fn reads_columns(path: &Path) -> bool {
    let read = || -> Result<(), cembra::columns::ColumnsError> {
        let mut source = open(path, &OpenOptions::default())?;
        let readable = source.columns().iter().enumerate().filter(|(_, column)| column.element.is_some());
        let readable: Vec<usize> = readable.map(|(index, _)| index).collect();
        source.select(&readable)?;
        let (mut rows, mut all) = (Rows::default(), 0);
        loop {
            source.read(4096, &mut rows)?;
            all += rows.count;
            assert!(all < ROWS, "reading does not end");
            if rows.count == 0 {
                return Ok(());
            }
        }
    };
    read().is_ok()
}

fn reads_whole(path: &Path) -> bool {
    let columns = reads_columns(path);
    read_whole(path).is_ok() || columns
}

const CSV: [&str; 16] = [
    "\"",
    "\"\"",
    ",",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "1e400",
    "nan",
    "-inf",
    "9223372036854775808",
    "true",
    "\u{feff}",
    "x,x",
    "\0",
    "\u{ff}",
];

#[test]
fn csv() {
    let directory = tempfile::tempdir().expect("the system has a directory for temporary files");
    check("csv", 3000, &seeds::csv(directory.path()), &CSV, reads_whole);
}

#[test]
fn npy() {
    let directory = tempfile::tempdir().expect("the system has a directory for temporary files");
    let tokens =
        ["'<f8'", "'|b1'", "(", ")", ",", "'shape'", "99999999999", "'descr'", "True", "-1", "'<U4'", "{"];
    check("npy", 3000, &seeds::npy_files(directory.path()), &tokens, reads_whole);
}

#[test]
fn npz() {
    let directory = tempfile::tempdir().expect("the system has a directory for temporary files");
    let tokens =
        ["PK\x01\x02", "PK\x03\x04", "PK\x05\x06", "PK\x06\x06", ".npy", ".present", "'<f8'", "(3,)"];
    check("npz", 3000, &seeds::npz(directory.path()), &tokens, reads_whole);
}

#[cfg(feature = "columns")]
#[test]
fn arrow() {
    let directory = tempfile::tempdir().expect("the system has a directory for temporary files");
    check("arrow", 3000, &seeds::ipc(directory.path()), &[], reads_columns);
}

#[cfg(feature = "columns")]
#[test]
fn parquet() {
    let directory = tempfile::tempdir().expect("the system has a directory for temporary files");
    check("parquet", 3000, &seeds::parquet(directory.path()), &[], reads_columns);
}

/// Products of a model's axes beyond which spectra are not computed here: they take the time that they ask for.
const POINTS: usize = 1 << 16;

/// Loads a model, and evaluates it in both ways if its axes are short.
fn loads_model(path: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    let mut findings = Findings::default();
    let library = Library::read([("m.yaml", text.as_str())], &mut findings);
    let setup = library.setup(&mut findings);
    let Ok(loaded) = load_with(&library, &setup, findings) else { return false };
    let model = &loaded.model;
    let longest = model.time.len().max(model.energy.len()).max(1);
    if longest * longest * model.aux.len().max(1) <= POINTS {
        for kind in [EvaluatorKind::Interpreter, EvaluatorKind::Compiled] {
            // An evaluator may say no.
            let _ = Spectra::new(model, kind, std::sync::Arc::default()).spectrum(&model.theta());
        }
    }
    true
}

const YAML: [&str; 28] = [
    ":",
    ": ",
    "- ",
    "\n",
    "\n  ",
    "[",
    "]",
    "{",
    "}",
    "&a ",
    "*a",
    "!!str ",
    "'",
    "\"",
    "#",
    "|\n",
    "---\n",
    "1e400",
    "1.0e+18",
    "-.inf",
    ".nan",
    "True",
    "gaussCONV",
    "voigtCONV",
    "GLP_01_A",
    "**",
    "0.9",
    "points: 4000000",
];

#[test]
fn yaml() {
    check("yaml", 3000, &seeds::yaml(), &YAML, loads_model);
}

fn eval_args() -> EvalArgs {
    match Arguments::parse_from(["cembra", "eval", "--batch", "-", "--fuel", "1000000"]).command {
        Command::Eval(args) => args,
        other => panic!("{other:?} is not `eval`"),
    }
}

/// Runs a file as cases of expressions, of graphs, and of a model.
fn runs_cases(path: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    let Ok(json) = json_text::parse(&text) else { return false };
    let args = eval_args();
    let cases = json.get("cases").and_then(serde_json::Value::as_array).cloned().unwrap_or_default();
    for case in cases.iter().chain([&json]) {
        if case.get("expr").is_some() {
            batch::line(case, &args);
        } else if case.get("program").or(case.get("nodes")).is_some() {
            recorded::line(case, BackendArg::Step, &Budget::default());
            recorded::line(case, BackendArg::Machine, &Budget::default());
        } else if case.get("files").is_some() {
            model_batch::eval_lines(case, None, Evaluator::Compiled, &Budget::default());
        }
    }
    true
}

const JSON: [&str; 24] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "-1",
    "1e400",
    "18446744073709551616",
    "0.5",
    "\"nodes\"",
    "\"roots\"",
    "\"INT64\"",
    "\"qtype\"",
    "\"NDARRAY_FLOAT64_NN\"",
    "\\u0000",
    "\\ud800",
    "x",
    "math.add",
    "\"id\"",
    "65537",
];

#[test]
fn json() {
    check("json", 1000, &seeds::json(), &JSON, runs_cases);
}
