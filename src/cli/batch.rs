//! `cembra eval --batch`: a file of cases, one JSON line each.

use crate::cli::args::EvalArgs;
use crate::cli::dump_stages::StageDump;
use crate::cli::eval::{bind, execute, parse, read_text, shown};
use crate::cli::json_stream::print_json;
use crate::cli::report::{Phase, Report, Source};
use crate::cli::{json, json_text};
use cembra_vm::value::parse::QTypeParseError;
use cembra_vm::value::{Category, QType, Value};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value as Json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// What is said of a case that panics; standard error has more.
pub const BUG: &str = "internal error: the evaluation panicked; this is a bug of cembra";

/// Evaluates all cases of a file; fails only if the file cannot be read.
pub fn run(file: &Path, args: &EvalArgs) -> ExitCode {
    match cases(file) {
        Ok(cases) => {
            for case in &cases {
                print_json(&line(case, args));
            }
            ExitCode::SUCCESS
        }
        Err(report) => report.print(None, args.expr.json),
    }
}

/// The list `cases` of a file.
///
/// # Errors
/// The file cannot be read, or has no such list.
pub fn cases(file: &Path) -> Result<Vec<Json>, Report> {
    let io = |message: String| Report::new(Category::Io, Phase::Compile, message);
    let text = read_text(file)?;
    let mut document: Json =
        json_text::parse(&text).map_err(|e| io(format!("{} is not JSON: {e}", shown(file))))?;
    match document.get_mut("cases").map(Json::take) {
        Some(Json::Array(cases)) => Ok(cases),
        _ => Err(io(format!("{} has no list `cases`", shown(file)))),
    }
}

/// The result of one case: `{"id", "output"}` or `{"id", "error"}`.
pub struct Line {
    id: Json,
    outcome: Result<Value, Json>,
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("id", &self.id)?;
        match &self.outcome {
            Ok(value) => map.serialize_entry("output", &json::Typed(value))?,
            Err(error) => map.serialize_entry("error", error)?,
        }
        map.end()
    }
}

/// Evaluates one case.
pub fn line(case: &Json, args: &EvalArgs) -> Line {
    // A bug of ours that one case finds is no reason to lose the others.
    let outcome = catch_unwind(AssertUnwindSafe(|| evaluate(case, args)));
    let outcome = outcome.unwrap_or_else(|_| Err(Report::new(Category::Panic, Phase::Eval, BUG)));
    let error = |report: Report| {
        let text = case.get("expr").and_then(Json::as_str).unwrap_or_default().to_owned();
        report.json(Some(&Source { name: "<expression>".to_owned(), text }))
    };
    Line { id: case.get("id").cloned().unwrap_or(Json::Null), outcome: outcome.map_err(error) }
}

/// Reads `{"qtype": …, "value": …}`.
fn read_input(input: &Json) -> Result<Value, String> {
    let qtype = input.get("qtype").and_then(Json::as_str).ok_or("it needs a `qtype`, which is a text")?;
    let qtype: QType = qtype.parse().map_err(|e: QTypeParseError| e.to_string())?;
    json::read(input.get("value").ok_or("it needs a `value`")?, &qtype)
}

fn evaluate(case: &Json, args: &EvalArgs) -> Result<Value, Report> {
    let malformed =
        |what: String| Report::new(Category::Parse, Phase::Compile, format!("malformed case: {what}"));
    if !case.is_object() {
        return Err(malformed(format!("expected an object, found {case}")));
    }
    let text = case.get("expr").and_then(Json::as_str);
    let text = text.ok_or_else(|| malformed("it needs an `expr`, which is a text".to_owned()))?;
    let empty = serde_json::Map::new();
    let given = match case.get("inputs") {
        None => &empty,
        Some(Json::Object(inputs)) => inputs,
        Some(other) => {
            return Err(malformed(format!("`inputs` is an object of inputs by name, not {other}")));
        }
    };
    let mut inputs: Vec<(Arc<str>, Value)> = Vec::new();
    for (name, input) in given {
        let value = read_input(input).map_err(|what| malformed(format!("input `{name}`: {what}")))?;
        inputs.push((name.as_str().into(), value));
    }
    let expr = parse(&args.expr, text)?;
    let types = inputs.iter().map(|(name, value)| (name.clone(), value.qtype())).collect();
    let bound = bind(&args.expr, &expr, types, &StageDump::default())?;
    execute(&bound, &inputs, &args.budget.budget())
}
