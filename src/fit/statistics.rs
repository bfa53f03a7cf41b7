//! What a fit says: values, standard errors, covariance, and how well the model describes the data.

use crate::fit::error::FitError;
use crate::fit::matrix::{Matrix, inverse};
use crate::fit::problem::Problem;
use crate::model::quantity::{Number, Quantity};
use crate::model::tree::{Model, ParameterId};
use cembra_vm::vector::math::double;

/// The result of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Free parameters at the best values.
    pub theta: Vec<f64>,
    /// Names of theta.
    pub theta_names: Vec<String>,
    /// Covariance of theta; nothing if the data do not determine all parameters.
    pub covariance: Option<Matrix>,
    /// All parameters, expressions with propagated errors.
    pub parameters: Vec<FittedParameter>,
    /// Sum of squared residuals.
    pub chi_square: f64,
    /// The same by degree of freedom.
    pub reduced_chi_square: f64,
    /// Akaike's criterion: `n ln(chi²/n) + 2k`, or `chi² + 2k` with declared noise.
    pub aic: f64,
    /// Bayes' criterion: `k ln n` instead of `2k`.
    pub bic: f64,
    /// How many values were fitted.
    pub points: usize,
    /// Evaluations of the residuals by the solver, without those for derivatives.
    pub evaluations: usize,
}

/// A parameter after a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedParameter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its standard error; 0 for a fixed number, nothing without a covariance.
    pub standard_error: Option<f64>,
}

impl Fit {
    /// Correlation of two free parameters, by their places in theta.
    pub fn correlation(&self, i: usize, j: usize) -> Option<f64> {
        let c = self.covariance.as_ref()?;
        Some(c[i][j] / (c[i][i] * c[j][j]).sqrt())
    }

    /// A model whose initial values are those of the fit.
    pub fn fitted(&self, model: &Model) -> Model {
        let mut fitted = model.clone();
        for (id, value) in model.free().into_iter().zip(&self.theta) {
            if let Quantity::Number(Number { value: initial, .. }) = &mut fitted.parameters[id.0].quantity {
                *initial = *value;
            }
        }
        fitted
    }
}

/// The statistics of a problem at its best theta.
///
/// # Errors
/// Theta has another length than the model's.
pub fn summarize(problem: &Problem<'_>, theta: &[f64], evaluations: usize) -> Result<Fit, FitError> {
    let (n, k) = (problem.count() as f64, theta.len() as f64);
    let chi_square: f64 = problem.residuals(theta)?.iter().map(|r| r * r).sum();
    let reduced_chi_square = chi_square / (n - k);
    let scale = if problem.noise().is_declared() { 1.0 } else { reduced_chi_square };
    let jacobian = problem.jacobian(theta)?;
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let normal: Matrix = jacobian.iter().map(|a| jacobian.iter().map(|b| dot(a, b)).collect()).collect();
    let scaled = |row: Vec<f64>| row.into_iter().map(|c| c * scale).collect();
    let covariance: Option<Matrix> = inverse(&normal).map(|m| m.into_iter().map(scaled).collect());
    let badness = if problem.noise().is_declared() { chi_square } else { n * double::ln(chi_square / n) };
    Ok(Fit {
        theta: theta.to_vec(),
        theta_names: problem.model.theta_names().into_iter().map(str::to_owned).collect(),
        parameters: parameters(problem.model, theta, covariance.as_ref())?,
        covariance,
        chi_square,
        reduced_chi_square,
        aic: badness + 2.0 * k,
        bic: badness + k * double::ln(n),
        points: problem.count(),
        evaluations,
    })
}

/// Values and errors of all parameters; those of expressions through their slopes.
fn parameters(
    model: &Model,
    theta: &[f64],
    covariance: Option<&Matrix>,
) -> Result<Vec<FittedParameter>, FitError> {
    let values = model.base_values(theta)?;
    let mut slopes: Vec<Vec<f64>> = Vec::new();
    for index in 0..theta.len() {
        let step = 1e-5 * theta[index].abs().max(1e-3);
        let shifted = |sign: f64| {
            let mut theta = theta.to_vec();
            theta[index] += sign * step;
            model.base_values(&theta)
        };
        let (above, below) = (shifted(1.0)?, shifted(-1.0)?);
        slopes.push(above.iter().zip(below).map(|(a, b)| (a - b) / (2.0 * step)).collect());
    }
    let error = |id: ParameterId| {
        let covariance = covariance?;
        let term = |(i, j): (usize, usize)| slopes[i][id.0] * covariance[i][j] * slopes[j][id.0];
        let pairs = (0..theta.len()).flat_map(|i| (0..theta.len()).map(move |j| (i, j)));
        Some(pairs.map(term).sum::<f64>().max(0.0).sqrt())
    };
    let fitted = |id: ParameterId| FittedParameter {
        name: model.parameter(id).name.clone(),
        value: values[id.0],
        standard_error: error(id),
    };
    Ok(model.order().into_iter().map(fitted).collect())
}
