//! What a fit says: values, standard errors, covariance, and how well the model describes the data.

use crate::fit::error::FitError;
use crate::fit::matrix::{Matrix, inverse};
use crate::fit::objective::{Member, Objective};
use crate::model::quantity::{Number, Quantity};
use crate::model::tree::{Model, ParameterId};
use cembra_vm::vector::lanes::dot;
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
    /// Evaluations of a model, those for derivatives by differences included.
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
    /// What it was before: the initial value and its bounds, or an expression.
    pub initial: Quantity,
}

impl Fit {
    /// Correlation of two free parameters, by their places in theta.
    pub fn correlation(&self, i: usize, j: usize) -> Option<f64> {
        let c = self.covariance.as_ref()?;
        Some(c[i][j] / (c[i][i] * c[j][j]).sqrt())
    }

    /// A model whose initial values are those of the fit.
    pub fn fitted(&self, model: &Model) -> Model {
        with_theta(model, &self.theta)
    }
}

/// The model with other initial values.
pub fn with_theta(model: &Model, theta: &[f64]) -> Model {
    let mut changed = model.clone();
    for (id, value) in model.free().into_iter().zip(theta) {
        if let Quantity::Number(Number { value: initial, .. }) = &mut changed.parameters[id.0].quantity {
            *initial = *value;
        }
    }
    changed
}

/// The statistics of a sum of squares at its best theta.
///
/// # Errors
/// The model cannot be evaluated.
pub fn summarize(objective: &mut dyn Objective, theta: &[f64]) -> Result<Fit, FitError> {
    let (n, k) = (objective.count() as f64, theta.len() as f64);
    let wanted: Vec<usize> = (0..theta.len()).collect();
    let triangle = objective.linearize(theta, &wanted)?;
    let chi_square = triangle.chi_square();
    let reduced_chi_square = chi_square / (n - k);
    let is_declared = objective.is_declared();
    let scale = if is_declared { 1.0 } else { reduced_chi_square };
    let covariance = covariance(triangle.derivatives(), scale);
    let badness = if is_declared { chi_square } else { n * double::ln(chi_square / n) };
    Ok(Fit {
        theta: theta.to_vec(),
        theta_names: objective.names(),
        parameters: parameters(objective, theta, covariance.as_ref())?,
        covariance,
        chi_square,
        reduced_chi_square,
        aic: badness + 2.0 * k,
        bic: badness + k * double::ln(n),
        points: objective.count(),
        evaluations: objective.evaluations(),
    })
}

/// The inverse of `JᵀJ`, scaled; nothing if that is singular.
fn covariance(columns: &[Vec<f64>], scale: f64) -> Option<Matrix> {
    let normal: Matrix = columns.iter().map(|a| columns.iter().map(|b| dot(a, b)).collect()).collect();
    let scaled = |row: Vec<f64>| row.into_iter().map(|c| c * scale).collect();
    Some(inverse(&normal)?.into_iter().map(scaled).collect())
}

/// The parameters of all models, those that they share once.
fn parameters(
    objective: &dyn Objective,
    theta: &[f64],
    covariance: Option<&Matrix>,
) -> Result<Vec<FittedParameter>, FitError> {
    let mut all: Vec<FittedParameter> = Vec::new();
    for member in objective.members() {
        for parameter in of_member(&member, theta, covariance)? {
            if !all.iter().any(|known| known.name == parameter.name) {
                all.push(parameter);
            }
        }
    }
    Ok(all)
}

/// Values and errors of all parameters of a model; those of expressions through their slopes.
fn of_member(
    member: &Member<'_>,
    theta: &[f64],
    covariance: Option<&Matrix>,
) -> Result<Vec<FittedParameter>, FitError> {
    let Member { model, places, .. } = member;
    let own: Vec<f64> = places.iter().map(|place| theta[*place]).collect();
    let values = model.base_values(&own)?;
    let mut slopes: Vec<Vec<f64>> = Vec::new();
    for index in 0..own.len() {
        let step = 1e-5 * own[index].abs().max(1e-3);
        let shifted = |sign: f64| {
            let mut theta = own.clone();
            theta[index] += sign * step;
            model.base_values(&theta)
        };
        let (above, below) = (shifted(1.0)?, shifted(-1.0)?);
        slopes.push(above.iter().zip(below).map(|(a, b)| (a - b) / (2.0 * step)).collect());
    }
    let error = |id: ParameterId| {
        let covariance = covariance?;
        let term =
            |(i, j): (usize, usize)| slopes[i][id.0] * covariance[places[i]][places[j]] * slopes[j][id.0];
        let pairs = (0..own.len()).flat_map(|i| (0..own.len()).map(move |j| (i, j)));
        Some(pairs.map(term).sum::<f64>().max(0.0).sqrt())
    };
    let fitted = |id: ParameterId| FittedParameter {
        name: member.name_of(id),
        value: values[id.0],
        standard_error: error(id),
        initial: model.parameter(id).quantity.clone(),
    };
    Ok(model.order().into_iter().map(fitted).collect())
}
