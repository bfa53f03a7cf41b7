//! Results of `cembra model`: spectra by an evaluator, and results and errors as JSON.

use crate::backend::model::{EvaluatorChoice, ModelEvaluator, ModelRunError};
use crate::cli::model_options::Evaluator;
use crate::model::error::{ModelError, ModelErrorKind};
use crate::model::graph::from_model::graph_of;
use crate::model::interpret::{self, Spectrum};
use crate::model::load::Loaded;
use crate::model::schedule::{self, Schedule, replay};
use crate::model::tree::Model;
use serde_json::{Value as Json, json};

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

/// A model with the evaluator that was chosen.
pub struct Spectra<'m> {
    model: &'m Model,
    evaluator: SpectrumEvaluator<'m>,
}

enum SpectrumEvaluator<'m> {
    /// The machine, the interpreter, or both.
    Backend(Box<ModelEvaluator<'m>>),
    /// The schedule, step by step.
    Schedule(Box<Schedule>),
}

impl<'m> Spectra<'m> {
    /// Prepares the evaluator.
    ///
    /// # Errors
    /// The model has no schedule, and evaluating one was asked for.
    pub fn new(model: &'m Model, evaluator: Evaluator) -> Result<Spectra<'m>, ModelError> {
        let backend = |choice| SpectrumEvaluator::Backend(Box::new(ModelEvaluator::new(model, choice)));
        let evaluator = match evaluator {
            Evaluator::Compiled => backend(EvaluatorChoice::Compiled),
            Evaluator::Interpreter => backend(EvaluatorChoice::Interpreter),
            Evaluator::Compare => backend(EvaluatorChoice::Compare),
            Evaluator::Schedule => SpectrumEvaluator::Schedule(Box::new(schedule_of(model)?)),
        };
        Ok(Spectra { model, evaluator })
    }

    /// Why the interpreter stands in for the machine; empty if it does not.
    pub fn fallback_reasons(&self) -> &[String] {
        match &self.evaluator {
            SpectrumEvaluator::Backend(evaluator) => evaluator.fallback_reasons(),
            SpectrumEvaluator::Schedule(_) => &[],
        }
    }

    /// The spectrum at theta, which is in the order of the model.
    ///
    /// # Errors
    /// Theta has another length, or the evaluators that are compared differ.
    pub fn spectrum(&mut self, theta: &[f64]) -> Result<Spectrum, ModelError> {
        match &mut self.evaluator {
            SpectrumEvaluator::Schedule(schedule) => {
                let theta = in_order(self.model, schedule, theta);
                replay::evaluate(schedule, &theta).map_err(ModelErrorKind::nowhere)
            }
            SpectrumEvaluator::Backend(evaluator) => {
                let values = evaluator.spectrum(theta).map_err(|error| run_error(error).nowhere())?.to_vec();
                Ok(Spectrum { shape: interpret::shape_of(self.model), values })
            }
        }
    }
}

fn schedule_of(model: &Model) -> Result<Schedule, ModelError> {
    schedule::schedule(&graph_of(model)?).map_err(|reasons| {
        let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
        ModelErrorKind::NoSchedule { reasons: reasons.join("; ") }.nowhere()
    })
}

/// The error of the room of models that says the same.
fn run_error(error: ModelRunError) -> ModelErrorKind {
    match error {
        ModelRunError::ThetaLength { expected, actual } => ModelErrorKind::ThetaLength { expected, actual },
        ModelRunError::EvaluatorsDiffer { index, interpreter, compiled } => {
            ModelErrorKind::EvaluatorsDiffer { index, interpreter, compiled }
        }
        other => ModelErrorKind::Run { problem: other.to_string() },
    }
}

/// Theta of a model in the order of its schedule; names decide.
fn in_order(model: &Model, schedule: &Schedule, theta: &[f64]) -> Vec<f64> {
    let names = model.theta_names();
    let value =
        |name: &String| names.iter().position(|n| n == name).and_then(|index| theta.get(index)).copied();
    schedule.theta_names().iter().filter_map(value).collect()
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
