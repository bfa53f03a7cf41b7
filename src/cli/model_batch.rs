//! `cembra model eval --batch` and `model check --batch`: files of recorded cases, one JSON line a result.
//!
//! A case is `{"id", "files": {name: text}, "model", "profiles", "dynamics", "energy", "time",
//! "aux_axis", "opt_param_names", "evals": [{"theta"}], "version" | "semantics"}`.

use crate::cli::eval::{read_text, shown};
use crate::cli::model_args::EvalModelArgs;
use crate::cli::model_options::{Evaluator, ModelFiles};
use crate::cli::model_result::{Spectra, SpectrumJson, error_json, outcome};
use crate::cli::report::{Phase, Report};
use crate::cli::{batch, json_text, print};
use crate::model::component::Semantics;
use crate::model::error::{ModelError, ModelErrorKind};
use crate::model::library::{DynamicsSetup, ProfileSetup, Setup};
use crate::model::load::{self, Loaded};
use crate::model::tree::Model;
use cembra_vm::machine::SharedBudget;
use cembra_vm::value::{Budget, Category};
use serde_json::{Value as Json, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Prints a line for each theta of each case.
pub fn eval(args: &EvalModelArgs) -> ExitCode {
    let budget = args.budget.budget();
    each_case(&args.model, |case, semantics| eval_lines(case, semantics, args.evaluator, &budget))
}

/// A result for each theta of a case, which use up a budget together.
pub fn eval_lines(
    case: &Json,
    semantics: Option<Semantics>,
    evaluator: Evaluator,
    budget: &Budget,
) -> Vec<Json> {
    match load_case(case, semantics) {
        Ok(loaded) => results(case, &loaded.model, evaluator, budget),
        Err(errors) => {
            let line = |eval: Option<usize>| json!({ "eval": eval, "error": error_json(&errors[0]) });
            let count = case["evals"].as_array().map_or(0, Vec::len);
            if count == 0 { vec![line(None)] } else { (0..count).map(|index| line(Some(index))).collect() }
        }
    }
}

/// Prints a line for each case.
pub fn check(files: &ModelFiles) -> ExitCode {
    each_case(files, |case, semantics| vec![outcome(&load_case(case, semantics))])
}

/// Prints what a function makes of each file, with the name of the case in front.
fn each_case(files: &ModelFiles, lines: impl Fn(&Json, Option<Semantics>) -> Vec<Json>) -> ExitCode {
    let semantics = files.semantics.map(|s| s.semantics());
    let mut unreadable = false;
    for file in &files.files {
        match read_case(file) {
            Err(report) => {
                report.print(None, false);
                unreadable = true;
            }
            Ok(case) => {
                // A bug of ours that one case finds is no reason to lose the others.
                let lines = catch_unwind(AssertUnwindSafe(|| lines(&case, semantics)));
                let bug = |_| vec![json!({ "error": { "kind": "bug", "message": batch::BUG } })];
                for line in lines.unwrap_or_else(bug) {
                    print(&format!("{}\n", joined(json!({ "id": case["id"] }), line)));
                }
            }
        }
    }
    ExitCode::from(u8::from(unreadable))
}

/// The fields of two objects.
fn joined(mut first: Json, second: Json) -> Json {
    if let (Json::Object(fields), Json::Object(more)) = (&mut first, second) {
        fields.extend(more);
    }
    first
}

fn read_case(file: &Path) -> Result<Json, Report> {
    let text = read_text(file)?;
    json_text::parse(&text).map_err(|error| {
        let message = format!("{} is not JSON: {error}", shown(file));
        Report::new(Category::Io, Phase::Compile, message)
    })
}

fn results(case: &Json, model: &Model, evaluator: Evaluator, budget: &Budget) -> Vec<Json> {
    let evals = case["evals"].as_array().cloned().unwrap_or_default();
    let budget = Arc::new(SharedBudget::new(budget.clone()));
    let mut spectra = Spectra::new(model, evaluator.kind(), budget);
    let reasons: Vec<String> = spectra.fallback_reasons().to_vec();
    let result = |(index, eval): (usize, &Json)| {
        let fields = match theta(case, eval, model).and_then(|theta| spectra.spectrum(&theta)) {
            Ok(spectrum) => json!(SpectrumJson(&spectrum)),
            Err(error) => json!({ "error": error_json(&error) }),
        };
        let line = joined(json!({ "eval": index }), fields);
        if reasons.is_empty() { line } else { joined(line, json!({ "interpreted_because": reasons })) }
    };
    evals.iter().enumerate().map(result).collect()
}

/// Theta in the order of the model; a case without names has that order already.
fn theta(case: &Json, eval: &Json, model: &Model) -> Result<Vec<f64>, ModelError> {
    let values = floats(&eval["theta"]).map_err(malformed)?;
    let names = model.theta_names();
    let Some(given) = case["opt_param_names"].as_array() else { return Ok(values) };
    if given.len() != values.len() || given.len() != names.len() {
        return Err(ModelErrorKind::ThetaLength { expected: names.len(), actual: values.len() }.nowhere());
    }
    let value = |name: &&str| {
        let index = given.iter().position(|g| g == name);
        index.map(|index| values[index]).ok_or_else(|| malformed(format!("`opt_param_names` has no {name}")))
    };
    names.iter().map(value).collect()
}

fn load_case(case: &Json, semantics: Option<Semantics>) -> Result<Loaded, Vec<ModelError>> {
    let setup = setup(case, semantics).map_err(|problem| vec![malformed(problem)])?;
    let files =
        case["files"].as_object().ok_or_else(|| vec![malformed("`files` is an object".to_owned())])?;
    let texts = files.iter().map(|(name, text)| (name.as_str(), text.as_str().unwrap_or_default()));
    load::read_with(texts, &setup)
}

fn malformed(problem: String) -> ModelError {
    ModelErrorKind::Case { problem }.nowhere()
}

fn setup(case: &Json, semantics: Option<Semantics>) -> Result<Setup, String> {
    let version =
        if case["version"].as_str().is_some_and(|v| v.starts_with("0.9")) { "0.9" } else { "current" };
    let named = case["semantics"].as_str().unwrap_or(version);
    let named = Semantics::from_name(named).ok_or_else(|| format!("there is no semantics `{named}`"))?;
    let is_1d = case["dim"] == 1;
    let axis = |name: &str| match &case[name] {
        Json::Null => Ok(None),
        values => floats(values).map(Some),
    };
    Ok(Setup {
        semantics: semantics.unwrap_or(named),
        model: case["model"].as_str().unwrap_or("m").to_owned(),
        time_model: None,
        energy: axis("energy")?.unwrap_or_default(),
        time: axis("time")?.filter(|time| !is_1d && !time.is_empty()),
        aux: axis("aux_axis")?,
        profiles: items(&case["profiles"], profile)?,
        dynamics: items(&case["dynamics"], dynamics)?,
    })
}

fn items<T>(json: &Json, read: impl Fn(&Json) -> Result<T, String>) -> Result<Vec<T>, String> {
    match json {
        Json::Null => Ok(Vec::new()),
        Json::Array(items) => items.iter().map(read).collect(),
        other => Err(format!("{other} is no list")),
    }
}

fn text(json: &Json) -> Result<String, String> {
    json.as_str().map(str::to_owned).ok_or_else(|| format!("{json} is no text"))
}

fn float(json: &Json) -> Result<f64, String> {
    match json.as_str() {
        Some("nan") => Ok(f64::NAN),
        Some("inf") => Ok(f64::INFINITY),
        Some("-inf") => Ok(f64::NEG_INFINITY),
        _ => json.as_f64().ok_or_else(|| format!("{json} is no number")),
    }
}

fn floats(json: &Json) -> Result<Vec<f64>, String> {
    items(json, float)
}

fn profile(json: &Json) -> Result<ProfileSetup, String> {
    Ok(ProfileSetup { target: text(&json["target"])?, model: text(&json["model"])?, place: None })
}

fn dynamics(json: &Json) -> Result<DynamicsSetup, String> {
    let frequency = match &json["frequency"] {
        Json::Null => None,
        frequency => Some(float(frequency)?),
    };
    let models = items(&json["models"], text)?;
    Ok(DynamicsSetup { target: text(&json["target"])?, models, frequency, place: None })
}
