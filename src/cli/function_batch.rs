//! Recorded calls of functions: `--batch`.
//!
//! The file is a list of `{"id", "source", "entry", "runs": [{"args"}]}`; one line is printed for each run, or for each
//! source. A case never ends another.

use crate::cli::dump_stages::StageDump;
use crate::cli::eval::read_text;
use crate::cli::function_call::{Failed, call, compiled};
use crate::cli::function_value::{Recorded, read_arguments};
use crate::cli::json_stream::{List, print_json};
use crate::cli::report::{Phase, Report};
use crate::function::check::check_function;
use crate::function::run::{FunctionCallError, python_class, python_message};
use crate::function::{FunctionError, FunctionModule, FunctionOptions};
use crate::python::SourceLines;
use cembra_vm::machine::{Budget, RunOptions};
use cembra_vm::value::{Category, Value};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};
use std::path::Path;

fn cases(file: &Path) -> Result<Vec<Json>, Failed> {
    let text = read_text(file).map_err(|report| (vec![report], None))?;
    let failed = |message: String| (vec![Report::new(Category::Parse, Phase::Compile, message)], None);
    match serde_json::from_str(&text) {
        Ok(Json::Array(cases)) => Ok(cases),
        Ok(_) => Err(failed("a file of recorded calls is a JSON list".to_owned())),
        Err(error) => Err(failed(format!("the file is no JSON: {error}"))),
    }
}

/// Runs the recorded calls of a file, and prints a line a run.
///
/// # Errors
/// The file cannot be read.
pub(super) fn run_batch(file: &Path, options: &FunctionOptions, budget: &Budget) -> Result<String, Failed> {
    for case in cases(file)? {
        let (id, source) = (&case["id"], case["source"].as_str().unwrap_or_default());
        let entry = case["entry"].as_str().unwrap_or("f");
        let runs = case["runs"].as_array().cloned().unwrap_or_default();
        for (number, run) in runs.iter().enumerate() {
            let outcome = run_case(source, entry, run, options, budget);
            print_json(&RunLine { outcome, id, number });
        }
    }
    Ok(String::new())
}

/// The line of a run: `{"value", "arrays_after", "id", "run"}`, or with an error in place of the first two.
struct RunLine<'c> {
    outcome: Result<(Value, Vec<Value>), Json>,
    id: &'c Json,
    number: usize,
}

impl Serialize for RunLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.outcome {
            Ok((value, arrays)) => {
                map.serialize_entry("value", &Recorded(value))?;
                map.serialize_entry("arrays_after", &List(|| arrays.iter().map(Recorded)))?;
            }
            Err(error) => map.serialize_entry("error", error)?,
        }
        map.serialize_entry("id", self.id)?;
        map.serialize_entry("run", &self.number)?;
        map.end()
    }
}

fn run_case(
    source: &str,
    entry: &str,
    run: &Json,
    options: &FunctionOptions,
    budget: &Budget,
) -> Result<(Value, Vec<Value>), Json> {
    let lines = SourceLines::new(source);
    let refused = |what: String| json!({ "class": "TypeError", "message": what, "line": null });
    let values = read_arguments(&run["args"]).map_err(refused)?;
    let function = compiled(source, entry, &values, options, &StageDump::default())
        .map_err(|errors| error_json(&errors, &lines))?;
    match call(&function, &values, RunOptions::new().budget(budget)) {
        Ok(result) => Ok(result),
        Err(FunctionCallError::Run(error)) => {
            let line = error.at.as_ref().filter(|at| !at.span.is_unknown()).map(|at| lines.line(at.span));
            Err(json!({ "class": python_class(&error), "message": python_message(&error), "line": line }))
        }
        Err(other) => Err(refused(other.to_string())),
    }
}

/// The first error, with the rule.
fn error_json(errors: &[FunctionError], lines: &SourceLines) -> Json {
    let Some(first) = errors.first() else { return Json::Null };
    let line = (!first.span.is_unknown()).then(|| lines.line(first.span));
    json!({
        "class": first.problem.python_class(),
        "message": first.to_string(),
        "line": line,
        "rule": first.problem.rule(),
    })
}

/// Checks the sources of a file: a line a source, with its findings.
///
/// # Errors
/// The file cannot be read.
pub(super) fn check_batch(file: &Path) -> Result<String, Failed> {
    let mut out = String::new();
    for case in cases(file)? {
        let source = case["source"].as_str().unwrap_or_default();
        let lines = SourceLines::new(source);
        let mut findings: Vec<(u32, u32, &str, String)> = Vec::new();
        let error = |error: &FunctionError| {
            let (line, col) = lines.position(error.span.start);
            (line, col, "error", error.to_string())
        };
        match FunctionModule::parse(source) {
            Err(errors) => findings.extend(errors.iter().map(error)),
            Ok(module) => {
                for name in module.function_names() {
                    let found = check_function(&module, name);
                    findings.extend(found.errors.iter().map(error));
                    let warnings = found.warnings.into_iter().map(|warning| ("warning", warning));
                    let notes = found.notes.into_iter().map(|note| ("note", note));
                    for (severity, finding) in warnings.chain(notes) {
                        let (line, col) = lines.position(finding.span.start);
                        findings.push((line, col, severity, finding.message));
                    }
                }
            }
        }
        findings.sort();
        let findings: Vec<Json> = findings
            .into_iter()
            .map(|(line, col, severity, message)| {
                json!({ "line": line, "col": col, "severity": severity, "message": message })
            })
            .collect();
        out.push_str(&format!("{}\n", json!({ "id": case["id"], "diagnostics": findings })));
    }
    Ok(out)
}
