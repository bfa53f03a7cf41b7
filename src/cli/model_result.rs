//! Results of `cembra model`: spectra by an evaluator, and results and errors as JSON.

use crate::cli::model_args::Evaluator;
use crate::model::error::{ModelError, ModelErrorKind};
use crate::model::graph::from_model::graph_of;
use crate::model::interpret::{self, Spectrum};
use crate::model::load::Loaded;
use crate::model::schedule::{self, Schedule, replay};
use crate::model::tree::Model;
use serde_json::{Value as Json, json};

/// How far evaluators may differ, absolute and relative.
const TOLERANCE: f64 = 1e-10;

/// `{"outcome", "error", "warnings"}`.
pub fn outcome(result: &Result<Loaded, Vec<ModelError>>) -> Json {
    match result {
        Ok(loaded) => {
            let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
            json!({ "outcome": "accepted", "warnings": warnings })
        }
        Err(errors) => json!({ "outcome": "error", "error": error_json(&errors[0]), "warnings": [] }),
    }
}

/// `{"kind", "message", "file", "line", "column"}`.
pub fn error_json(error: &ModelError) -> Json {
    let mut json = json!({ "kind": error.kind.code(), "message": error.to_string() });
    if let Some(place) = &error.place {
        json["file"] = (*place.file).into();
        json["line"] = place.line.into();
        json["column"] = place.column.into();
    }
    json
}

/// The spectrum by the chosen evaluator.
///
/// # Errors
/// The model has no schedule, theta another length, or the evaluators differ.
pub fn spectrum(model: &Model, theta: &[f64], evaluator: Evaluator) -> Result<Spectrum, ModelError> {
    let interpreted = || interpret::evaluate(model, theta).map_err(ModelErrorKind::nowhere);
    let scheduled = || {
        let schedule = schedule::schedule(&graph_of(model)?).map_err(|reasons| {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            ModelErrorKind::NoSchedule { reasons: reasons.join("; ") }.nowhere()
        })?;
        replay::evaluate(&schedule, &in_order(model, &schedule, theta)).map_err(ModelErrorKind::nowhere)
    };
    match evaluator {
        Evaluator::Interpreter => interpreted(),
        Evaluator::Schedule => scheduled(),
        Evaluator::Compare => {
            let (expected, actual) = (interpreted()?, scheduled()?);
            match first_difference(&expected.values, &actual.values) {
                None => Ok(actual),
                Some(index) => {
                    let (interpreter, schedule) = (expected.values[index], actual.values[index]);
                    Err(ModelErrorKind::EvaluatorsDiffer { index, interpreter, schedule }.nowhere())
                }
            }
        }
    }
}

/// Theta of a model in the order of its schedule; names decide.
fn in_order(model: &Model, schedule: &Schedule, theta: &[f64]) -> Vec<f64> {
    let names = model.theta_names();
    let value =
        |name: &String| names.iter().position(|n| n == name).and_then(|index| theta.get(index)).copied();
    schedule.theta_names().iter().filter_map(value).collect()
}

fn first_difference(expected: &[f64], actual: &[f64]) -> Option<usize> {
    let is_close = |(e, a): (&f64, &f64)| {
        e == a || (e.is_nan() && a.is_nan()) || (e - a).abs() <= TOLERANCE + TOLERANCE * e.abs()
    };
    expected.iter().zip(actual).position(|pair| !is_close(pair))
}

/// `{"shape", "output"}`; numbers that JSON has not are texts.
pub fn spectrum_json(spectrum: &Spectrum) -> Json {
    let number = |value: &f64| match *value {
        v if v.is_nan() => json!("nan"),
        f64::INFINITY => json!("inf"),
        f64::NEG_INFINITY => json!("-inf"),
        v => json!(v),
    };
    let output: Vec<Json> = spectrum.values.iter().map(number).collect();
    json!({ "shape": spectrum.shape, "output": output })
}
