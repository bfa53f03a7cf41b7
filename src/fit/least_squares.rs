//! Levenberg and Marquardt's method, with bounds by transformation.
//!
//! The solver is the MINPACK algorithm of the crate `rmpfit`; it sees numbers without bounds, and
//! derivatives that are slopes of the residuals times slopes of the [bounds](crate::fit::bounds).

use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::objective::{Objective, check_start};
use rmpfit::{MPConfig, MPError, MPFitter, MPMaxFev, MPPar, MPResult, MPSide};

/// The theta with the smallest sum of squares, as far as steps downhill from the start lead.
///
/// # Errors
/// Nothing varies, there are too few points, or residuals are not finite.
pub fn minimize(objective: &mut dyn Objective) -> Result<Vec<f64>, FitError> {
    let start = check_start(objective)?;
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
    count: usize,
    bounds: Vec<Bounds>,
    parameters: Vec<MPPar>,
    config: MPConfig,
    /// Why the objective could not be evaluated, which the solver does not pass on.
    failure: Option<FitError>,
}

impl<'p> Solver<'p> {
    fn new(objective: &'p mut dyn Objective, bounds: Vec<Bounds>) -> Solver<'p> {
        let parameter = || MPPar { side: MPSide::User, ..MPPar::new() };
        let count = objective.count();
        Solver {
            objective,
            count,
            parameters: bounds.iter().map(|_| parameter()).collect(),
            bounds,
            // Tighter than the noise of the residuals: the fit ends when it cannot get better.
            config: MPConfig {
                ftol: 1e-14,
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

    /// Keeps the reason of a failure.
    fn kept<T>(&mut self, result: Result<T, FitError>) -> MPResult<T> {
        result.map_err(|error| {
            self.failure = Some(error);
            MPError::Eval
        })
    }
}

impl MPFitter for Solver<'_> {
    fn eval(&mut self, inner: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        let theta = self.outer(inner);
        let result = self.objective.residuals(&theta, deviates);
        self.kept(result)
    }

    fn number_of_points(&self) -> usize {
        self.count
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
        let theta = self.outer(inner);
        let wanted: Vec<usize> = (0..theta.len()).collect();
        let taken = derivs.iter_mut().map(|column| column.take().expect("no parameter takes differences"));
        let mut columns: Vec<Vec<f64>> = taken.collect();
        let result = self.objective.linearize(&theta, deviates, &wanted, &mut columns);
        self.kept(result)?;
        for (index, mut column) in columns.into_iter().enumerate() {
            let slope = self.bounds[index].slope(inner[index]);
            column.iter_mut().for_each(|value| *value *= slope);
            derivs[index] = Some(column);
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
