//! Reading recorded models.

use crate::support::test_file;
use cembra::model::component::Semantics;
use cembra::model::error::ModelError;
use cembra::model::library::{DynamicsSetup, ProfileSetup, Setup};
use cembra::model::load::{self, Loaded};
use serde_json::Value as Json;

/// All recorded files of a folder, in order.
pub fn folder(name: &str) -> Vec<Json> {
    let folder = test_file("oracles/trspecfit").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a folder can be listed").path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    paths.iter().map(read).collect()
}

/// The name of a case.
pub fn id(case: &Json) -> &str {
    case["id"].as_str().expect("a case has an id")
}

/// A number; texts stand for those that JSON has not.
pub fn float(json: &Json) -> f64 {
    match json.as_str() {
        Some("nan") => f64::NAN,
        Some("inf") => f64::INFINITY,
        Some("-inf") => f64::NEG_INFINITY,
        Some(other) => panic!("`{other}` is no number"),
        None => json.as_f64().unwrap_or_else(|| panic!("{json} is no number")),
    }
}

/// All numbers of a list or of a list of rows.
pub fn floats(json: &Json) -> Vec<f64> {
    match json.as_array() {
        Some(items) => items.iter().flat_map(floats).collect(),
        None => vec![float(json)],
    }
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_else(|| panic!("{json} is no text")).to_owned()
}

fn axis(json: &Json) -> Option<Vec<f64>> {
    json.as_array().map(|_| floats(json))
}

/// How a recorded case uses its models.
pub fn setup(case: &Json) -> Setup {
    let profile =
        |p: &Json| ProfileSetup { target: text(&p["target"]), model: text(&p["model"]), place: None };
    let dynamics = |d: &Json| DynamicsSetup {
        target: text(&d["target"]),
        models: d["models"].as_array().expect("a list").iter().map(text).collect(),
        frequency: d.get("frequency").map(float),
        place: None,
    };
    let list = |name: &str| case[name].as_array().cloned().unwrap_or_default();
    let is_2d = case.get("dim").is_none_or(|dim| *dim == 2);
    Setup {
        semantics: if case["version"] == "0.9.3" { Semantics::V0_9 } else { Semantics::Current },
        model: "m".to_owned(),
        time_model: None,
        energy: floats(&case["energy"]),
        time: axis(&case["time"]).filter(|time| is_2d && !time.is_empty()),
        aux: axis(&case["aux_axis"]),
        profiles: list("profiles").iter().map(profile).collect(),
        dynamics: list("dynamics").iter().map(dynamics).collect(),
    }
}

/// The model of a recorded case.
pub fn load(case: &Json) -> Result<Loaded, Vec<ModelError>> {
    let files = case["files"].as_object().expect("files by name");
    let files = files.iter().map(|(name, text)| (name.as_str(), text.as_str().expect("a text")));
    load::read_with(files, &setup(case))
}

/// The model of a recorded case that has one.
pub fn model(case: &Json) -> cembra::model::Model {
    load(case).unwrap_or_else(|e| panic!("{}: {}", id(case), e[0])).model
}

/// Theta in the order of the model; the recorded one has its own order.
pub fn theta(case: &Json, eval: &Json, names: &[&str]) -> Vec<f64> {
    let recorded = case["opt_param_names"].as_array().expect("names of theta");
    let values = floats(&eval["theta"]);
    let value = |name: &&str| {
        let index =
            recorded.iter().position(|r| r == name).unwrap_or_else(|| panic!("{name} is not recorded"));
        values[index]
    };
    assert_eq!(recorded.len(), names.len(), "{}", id(case));
    names.iter().map(value).collect()
}

/// True if numbers agree within the tolerance, absolute and relative; NaN agrees with NaN.
pub fn close(expected: f64, actual: f64, tolerance: f64) -> bool {
    expected == actual
        || (expected.is_nan() && actual.is_nan())
        || (expected - actual).abs() <= tolerance + tolerance * expected.abs()
}

/// The first place where lists of numbers differ.
pub fn difference(expected: &[f64], actual: &[f64], tolerance: f64) -> Option<String> {
    if expected.len() != actual.len() {
        return Some(format!("{} numbers instead of {}", actual.len(), expected.len()));
    }
    let mut pairs = expected.iter().zip(actual).enumerate();
    let wrong = pairs.find(|(_, (e, a))| !close(**e, **a, tolerance))?;
    let (index, (expected, actual)) = wrong;
    Some(format!("at {index}: {actual} instead of {expected}"))
}
