//! The choice of an evaluator: compiled, interpreted, or both with a comparison.

use crate::backend::model::compiled::CompiledModel;
use crate::backend::model::error::ModelRunError;
use crate::model::Model;
use crate::model::error::ModelError;
use crate::model::graph::from_model::graph_of;
use crate::model::interpret;
use crate::model::schedule::schedule;
use cembra_vm::frame::Frame;

/// How far evaluators may differ, absolute and relative.
pub const TOLERANCE: f64 = 1e-10;

/// Which evaluator computes spectra.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EvaluatorChoice {
    /// The machine; the interpreter if the model does not compile.
    #[default]
    Compiled,
    /// The component loop of the published system.
    Interpreter,
    /// Both; an error if they differ by more than [`TOLERANCE`].
    Compare,
}

/// A model with an evaluator and a frame of its own. Theta is in the order of [`Model::theta_names`].
#[derive(Debug)]
pub struct ModelEvaluator<'m> {
    model: &'m Model,
    choice: EvaluatorChoice,
    compiled: Option<Compiled>,
    reasons: Vec<String>,
    /// Values of the interpreter.
    interpreted: Vec<f64>,
}

#[derive(Debug)]
struct Compiled {
    model: CompiledModel,
    frame: Frame,
    /// For each place of the compiled theta, its place in that of the model.
    order: Vec<usize>,
    theta: Vec<f64>,
}

impl<'m> ModelEvaluator<'m> {
    /// Compiles the model if the choice needs it. What does not compile is interpreted, and
    /// [`fallback_reasons`](Self::fallback_reasons) say why.
    pub fn new(model: &'m Model, choice: EvaluatorChoice) -> ModelEvaluator<'m> {
        let compiled = match choice {
            EvaluatorChoice::Interpreter => Ok(None),
            EvaluatorChoice::Compiled | EvaluatorChoice::Compare => Compiled::new(model).map(Some),
        };
        let (compiled, reasons) = match compiled {
            Ok(compiled) => (compiled, Vec::new()),
            Err(reasons) => (None, reasons),
        };
        ModelEvaluator { model, choice, compiled, reasons, interpreted: Vec::new() }
    }

    /// Why the model is interpreted although it was to be compiled; empty otherwise.
    pub fn fallback_reasons(&self) -> &[String] {
        &self.reasons
    }

    /// The spectrum at theta, row after row.
    ///
    /// # Errors
    /// Theta has another length, or the evaluators that are compared differ.
    pub fn spectrum(&mut self, theta: &[f64]) -> Result<&[f64], ModelRunError> {
        let expected = self.model.free().len();
        if theta.len() != expected {
            return Err(ModelRunError::ThetaLength { expected, actual: theta.len() });
        }
        if self.choice == EvaluatorChoice::Compare || self.compiled.is_none() {
            let spectrum = interpret::evaluate(self.model, theta);
            self.interpreted = spectrum.expect("the length of theta was checked").values;
        }
        let Some(compiled) = &mut self.compiled else { return Ok(&self.interpreted) };
        let spectrum = compiled.spectrum(theta)?;
        if self.choice == EvaluatorChoice::Compare {
            compare(&self.interpreted, spectrum)?;
        }
        Ok(spectrum)
    }
}

impl Compiled {
    /// The compiled model, or the reasons why there is none.
    fn new(model: &Model) -> Result<Compiled, Vec<String>> {
        let graph = graph_of(model).map_err(|error: ModelError| vec![error.to_string()])?;
        let schedule = schedule(&graph)
            .map_err(|reasons| reasons.iter().map(ToString::to_string).collect::<Vec<String>>())?;
        let compiled = CompiledModel::new(&schedule).map_err(|error| vec![error.to_string()])?;
        let frame = compiled.new_frame().map_err(|error| vec![error.to_string()])?;
        let order = compiled.theta_indices(&model.theta_names()).map_err(|error| vec![error.to_string()])?;
        let theta = vec![0.0; order.len()];
        Ok(Compiled { model: compiled, frame, order, theta })
    }

    fn spectrum(&mut self, theta: &[f64]) -> Result<&[f64], ModelRunError> {
        self.theta.iter_mut().zip(&self.order).for_each(|(value, index)| *value = theta[*index]);
        self.model.evaluate(&self.theta, &mut self.frame)
    }
}

/// Fails at the first difference beyond the tolerance; NaN agrees with NaN.
fn compare(interpreted: &[f64], compiled: &[f64]) -> Result<(), ModelRunError> {
    let is_close = |(i, c): (&f64, &f64)| {
        i == c || (i.is_nan() && c.is_nan()) || (i - c).abs() <= TOLERANCE + TOLERANCE * i.abs()
    };
    match interpreted.iter().zip(compiled).position(|pair| !is_close(pair)) {
        None => Ok(()),
        Some(index) => Err(ModelRunError::EvaluatorsDiffer {
            index,
            interpreter: interpreted[index],
            compiled: compiled[index],
        }),
    }
}
