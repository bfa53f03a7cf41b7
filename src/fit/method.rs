//! How a fit is done: which minimiser, which evaluator.

use crate::backend::model::{Evaluator, EvaluatorKind};
use crate::fit::error::FitError;
use crate::fit::objective::Objective;
use crate::fit::problem::Problem;
use crate::fit::residuals::{Observer, Residuals};
use crate::fit::statistics::{self, Fit};
use crate::fit::{least_squares, projection, simplex};
use crate::model::tree::Model;
use cembra_vm::machine::SharedBudget;
use std::sync::Arc;

/// Minimisers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Levenberg and Marquardt: steps by derivatives.
    #[default]
    LevenbergMarquardt,
    /// Nelder and Mead: a simplex, without derivatives.
    NelderMead,
    /// The simplex, and Levenberg and Marquardt from where it ends.
    TwoStage,
    /// Levenberg and Marquardt over the parameters that the spectrum is not linear in; the others are solved for.
    VariableProjection,
}

impl Method {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Method::LevenbergMarquardt => "levenberg-marquardt",
            Method::NelderMead => "nelder-mead",
            Method::TwoStage => "two-stage",
            Method::VariableProjection => "variable-projection",
        }
    }

    /// The best theta.
    ///
    /// # Errors
    /// Nothing varies, there are too few points, or residuals are not finite; or the method does not apply.
    pub fn minimize(self, objective: &mut dyn Objective) -> Result<Vec<f64>, FitError> {
        match self {
            Method::LevenbergMarquardt => least_squares::minimize(objective),
            Method::NelderMead => simplex::minimize(objective),
            Method::TwoStage => {
                let near = simplex::minimize(objective)?;
                least_squares::minimize_from(objective, &near)
            }
            Method::VariableProjection => projection::minimize(objective),
        }
    }
}

/// Settings of a fit.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The minimiser.
    pub method: Method,
    /// What computes spectra.
    pub evaluator: EvaluatorKind,
    /// What all evaluations together may use up; without it each has the limits of
    /// [`Budget::default`](cembra_vm::value::Budget).
    pub budget: Option<Arc<SharedBudget>>,
}

impl Settings {
    /// An evaluator of a model.
    pub fn open<'m>(&self, model: &'m Model) -> Box<dyn Evaluator + 'm> {
        self.evaluator.open_within(model, self.budget.clone())
    }
}

/// Fits a problem as usual, beginning at the initial values of its model.
///
/// # Errors
/// Nothing varies, there are too few points, or residuals are not finite.
pub fn fit(problem: &Problem<'_>) -> Result<Fit, FitError> {
    fit_with(problem, Settings::default(), &())
}

/// Fits a problem, beginning at the initial values of its model.
///
/// # Errors
/// As of [`fit`]; or the evaluator cannot evaluate the model, or the budget is used up.
pub fn fit_with(problem: &Problem<'_>, settings: Settings, observer: &dyn Observer) -> Result<Fit, FitError> {
    let evaluator = settings.open(problem.model);
    let mut residuals = Residuals::with_evaluator(problem, evaluator, observer)?;
    fit_objective(&mut residuals, settings.method)
}

/// Fits anything that has residuals.
///
/// # Errors
/// As of [`fit`].
pub fn fit_objective(objective: &mut dyn Objective, method: Method) -> Result<Fit, FitError> {
    let theta = method.minimize(objective)?;
    statistics::summarize(objective, &theta)
}
