//! Results of `cembra model`: spectra by an evaluator, and results and errors as JSON.

use crate::backend::model::{Evaluator, EvaluatorKind};
use crate::cli::json_stream::List;
use crate::model::error::{ModelError, ModelErrorKind};
use crate::model::interpret::{self, ComponentCurve, Spectrum};
use crate::model::load::Loaded;
use crate::model::tree::Model;
use cembra_vm::machine::SharedBudget;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};
use std::sync::Arc;

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
    shape: Vec<usize>,
    evaluator: Box<dyn Evaluator + 'm>,
}

impl<'m> Spectra<'m> {
    /// Prepares the evaluator, which uses up this budget.
    pub fn new(model: &'m Model, kind: EvaluatorKind, budget: Arc<SharedBudget>) -> Spectra<'m> {
        Spectra { shape: interpret::shape_of(model), evaluator: kind.open_within(model, Some(budget)) }
    }

    /// Why the interpreter stands in for the machine; empty if it does not.
    pub fn fallback_reasons(&self) -> &[String] {
        self.evaluator.fallback_reasons()
    }

    /// The spectrum at theta, which is in the order of the model.
    ///
    /// # Errors
    /// Theta has another length, the evaluators that are compared differ, or the budget is used up.
    pub fn spectrum(&mut self, theta: &[f64]) -> Result<Spectrum, ModelError> {
        let values = self.evaluator.evaluate(theta).map_err(ModelErrorKind::nowhere)?.to_vec();
        Ok(Spectrum { shape: self.shape.clone(), values })
    }

    /// What each component adds to the spectrum.
    ///
    /// # Errors
    /// As of [`spectrum`](Self::spectrum).
    pub fn components(&mut self, theta: &[f64]) -> Result<Vec<ComponentCurve>, ModelError> {
        self.evaluator.components(theta).map_err(ModelErrorKind::nowhere)
    }
}

/// `{"shape", "output"}`; numbers that JSON has not are texts.
pub struct SpectrumJson<'s>(pub &'s Spectrum);

impl Serialize for SpectrumJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = |value: &f64| match *value {
            v if v.is_nan() => json!("nan"),
            f64::INFINITY => json!("inf"),
            f64::NEG_INFINITY => json!("-inf"),
            v => json!(v),
        };
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("shape", &self.0.shape)?;
        map.serialize_entry("output", &List(|| self.0.values.iter().map(number)))?;
        map.end()
    }
}
