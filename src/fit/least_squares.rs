//! Levenberg and Marquardt's method, with bounds by transformation.
//!
//! The solver is the MINPACK algorithm of the crate `rmpfit`; it sees numbers without bounds, and
//! derivatives that are slopes of the residuals times slopes of the [bounds](crate::fit::bounds).
//!
//! It sees a problem of one row more than there are parameters: the [triangle](crate::fit::triangle) of residuals and
//! derivatives, which takes it the same way. That is turned like the residuals only where both come from one point,
//! so each point is linearized when it is first tried; nearly all that are tried are taken.

use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::objective::{Objective, check_points};
use crate::fit::triangle::Triangle;
use rmpfit::{MPConfig, MPError, MPFitter, MPMaxFev, MPPar, MPResult, MPSide};

/// The theta with the smallest sum of squares, as far as steps downhill from the start lead.
///
/// # Errors
/// Nothing varies, there are too few points, or residuals are not finite.
pub fn minimize(objective: &mut dyn Objective) -> Result<Vec<f64>, FitError> {
    let start = check_points(objective)?;
    minimize_from(objective, &start)
}

/// The same from another start.
///
/// # Errors
/// As of [`minimize`].
pub fn minimize_from(objective: &mut dyn Objective, start: &[f64]) -> Result<Vec<f64>, FitError> {
    let bounds = objective.bounds();
    let mut inner: Vec<f64> = bounds.iter().zip(start).map(|(b, x)| b.inner(*x)).collect();
    let mut solver = Solver::new(objective, bounds);
    let status = solver.mpfit(&mut inner);
    let failure = solver.failure.take();
    match status {
        Ok(_) => Ok(solver.outer(&inner)),
        Err(error) => {
            Err(failure.unwrap_or_else(|| FitError::Solver { problem: describe(&error).to_owned() }))
        }
    }
}

struct Solver<'p> {
    objective: &'p mut dyn Objective,
    /// The point tried last, and the triangle there.
    tried: Option<(Vec<f64>, Triangle)>,
    bounds: Vec<Bounds>,
    parameters: Vec<MPPar>,
    config: MPConfig,
    /// Why the objective could not be evaluated, which the solver does not pass on.
    failure: Option<FitError>,
}

impl<'p> Solver<'p> {
    fn new(objective: &'p mut dyn Objective, bounds: Vec<Bounds>) -> Solver<'p> {
        let parameter = || MPPar { side: MPSide::User, ..MPPar::new() };
        Solver {
            objective,
            tried: None,
            parameters: bounds.iter().map(|_| parameter()).collect(),
            bounds,
            // The last step of a fit of a million values is less than a thousandth of a standard error.
            config: MPConfig {
                ftol: 1e-12,
                xtol: 1e-14,
                gtol: 1e-14,
                max_iter: 1000,
                max_fev: MPMaxFev::Limited(100_000),
                ..MPConfig::new()
            },
            failure: None,
        }
    }

    fn outer(&self, inner: &[f64]) -> Vec<f64> {
        self.bounds.iter().zip(inner).map(|(b, v)| b.outer(*v)).collect()
    }

    /// The triangle at a point.
    fn at(&mut self, inner: &[f64]) -> MPResult<&Triangle> {
        if self.tried.as_ref().is_none_or(|(tried, _)| tried != inner) {
            let theta = self.outer(inner);
            let wanted: Vec<usize> = (0..theta.len()).collect();
            let triangle = self.objective.linearize(&theta, &wanted).map_err(|error| {
                self.failure = Some(error);
                MPError::Eval
            })?;
            if self.tried.is_none() && !triangle.chi_square().is_finite() {
                self.failure = Some(FitError::NotFinite);
                return Err(MPError::Eval);
            }
            self.tried = Some((inner.to_vec(), triangle));
        }
        Ok(&self.tried.as_ref().expect("it has just been put there").1)
    }
}

impl MPFitter for Solver<'_> {
    fn eval(&mut self, inner: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        deviates.copy_from_slice(self.at(inner)?.residuals());
        Ok(())
    }

    fn number_of_points(&self) -> usize {
        self.bounds.len() + 1
    }

    fn config(&self) -> &MPConfig {
        &self.config
    }

    fn parameters(&self) -> &[MPPar] {
        &self.parameters
    }

    fn jacobian(
        &mut self,
        inner: &[f64],
        deviates: &mut [f64],
        derivs: &mut [Option<Vec<f64>>],
    ) -> MPResult<()> {
        let slopes: Vec<f64> = self.bounds.iter().zip(inner).map(|(b, v)| b.slope(*v)).collect();
        let triangle = self.at(inner)?;
        deviates.copy_from_slice(triangle.residuals());
        for ((derivs, column), slope) in derivs.iter_mut().zip(triangle.derivatives()).zip(slopes) {
            *derivs = Some(column.iter().map(|value| value * slope).collect());
        }
        Ok(())
    }
}

fn describe(error: &MPError) -> &'static str {
    match error {
        MPError::Input => "its input is not sound",
        MPError::Nan => "residuals or derivatives are not finite",
        MPError::Empty => "there are no data",
        MPError::NoFree => "nothing varies",
        MPError::InitBounds | MPError::Bounds => "bounds and values contradict each other",
        MPError::DoF => "there are more parameters than data",
        MPError::Eval => "the model cannot be evaluated",
    }
}
