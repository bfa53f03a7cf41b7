//! What minimisers see: residuals as a function of theta, with bounds, and nothing of models and data. They see them by
//! their [triangle](crate::fit::triangle), never one by one.

use crate::autodiff::Dependence;
use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::triangle::Triangle;
use crate::model::quantity::{Quantity, Vary};
use crate::model::tree::{Model, ParameterId};

/// A sum of squares to be made small.
pub trait Objective {
    /// Where the search begins.
    fn start(&self) -> Vec<f64>;

    /// Names of theta.
    fn names(&self) -> Vec<String>;

    /// Bounds of theta.
    fn bounds(&self) -> Vec<Bounds>;

    /// How many residuals there are.
    fn count(&self) -> usize;

    /// True if the residuals have the size that the noise says, so that errors need no scaling.
    fn is_declared(&self) -> bool;

    /// The models behind the residuals, and how theta fills them.
    fn members(&self) -> Vec<Member<'_>>;

    /// The sum of the squares of the residuals at theta.
    ///
    /// # Errors
    /// The model cannot be evaluated.
    fn chi_square(&mut self, theta: &[f64]) -> Result<f64, FitError>;

    /// The residuals at theta and their derivatives by some parameters: a column for each place in theta that is
    /// wanted, in that order.
    ///
    /// # Errors
    /// The model cannot be evaluated.
    fn linearize(&mut self, theta: &[f64], wanted: &[usize]) -> Result<Triangle, FitError>;

    /// How the spectra depend on each parameter of theta.
    ///
    /// # Errors
    /// Residuals are not linear in the spectrum, or nothing is known of it.
    fn dependences(&self) -> Result<Vec<Dependence>, FitError>;

    /// How often a model has been evaluated, derivatives by differences included.
    fn evaluations(&self) -> usize;
}

/// A model whose parameters theta determines.
#[derive(Clone, Debug)]
pub struct Member<'m> {
    /// What its own parameters are called after in a fit of several; empty for a single one.
    pub label: &'m str,
    /// The model.
    pub model: &'m Model,
    /// For each free parameter of the model its place in theta.
    pub places: Vec<usize>,
}

impl Member<'_> {
    /// What a parameter is called in the fit: by its name if it is the only model or the parameter is
    /// shared, otherwise after the label too.
    pub fn name_of(&self, id: ParameterId) -> String {
        let parameter = self.model.parameter(id);
        let is_shared =
            matches!(&parameter.quantity, Quantity::Number(number) if number.vary == Vary::Project);
        match self.label.is_empty() || is_shared {
            true => parameter.name.clone(),
            false => format!("{}:{}", self.label, parameter.name),
        }
    }
}

/// A theta that can be fitted from: something varies, the points suffice, residuals are finite.
///
/// # Errors
/// One of these does not hold.
pub fn check_start(objective: &mut dyn Objective) -> Result<Vec<f64>, FitError> {
    let start = check_points(objective)?;
    match objective.chi_square(&start)?.is_finite() {
        true => Ok(start),
        false => Err(FitError::NotFinite),
    }
}

/// The start, if something varies and the points suffice. Whether residuals are finite there is left to who evaluates
/// them next.
///
/// # Errors
/// One of these does not hold.
pub fn check_points(objective: &dyn Objective) -> Result<Vec<f64>, FitError> {
    let start = objective.start();
    let (free, points) = (start.len(), objective.count());
    if free == 0 {
        return Err(FitError::NothingVaries);
    }
    if free >= points {
        return Err(FitError::TooFewPoints { free, points });
    }
    Ok(start)
}
