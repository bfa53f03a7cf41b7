//! Levenberg and Marquardt's method, with bounds by transformation.
//!
//! The solver is the MINPACK algorithm of the crate `rmpfit`; it sees numbers without bounds, and
//! derivatives that are slopes of the residuals times slopes of the [bounds](crate::fit::bounds).

use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::problem::Problem;
use crate::fit::statistics::{self, Fit};
use rmpfit::{MPConfig, MPError, MPFitter, MPMaxFev, MPPar, MPResult, MPSide};

/// Fits a problem, beginning at the initial values of its model.
///
/// # Errors
/// Nothing varies, there are too few points, or residuals are not finite.
pub fn fit(problem: &Problem<'_>) -> Result<Fit, FitError> {
    let start = problem.model.theta();
    if start.is_empty() {
        return Err(FitError::NothingVaries);
    }
    if start.len() >= problem.count() {
        return Err(FitError::TooFewPoints { free: start.len(), points: problem.count() });
    }
    if problem.residuals(&start)?.iter().any(|r| !r.is_finite()) {
        return Err(FitError::NotFinite);
    }
    let bounds = problem.bounds();
    let mut inner: Vec<f64> = bounds.iter().zip(&start).map(|(b, x)| b.inner(*x)).collect();
    let mut solver = Solver::new(problem, bounds);
    let status = solver.mpfit(&mut inner);
    let evaluations = solver.evaluations;
    status.map_err(|error| FitError::Solver { problem: describe(&error).to_owned() })?;
    statistics::summarize(problem, &solver.outer(&inner), evaluations)
}

struct Solver<'p> {
    problem: &'p Problem<'p>,
    bounds: Vec<Bounds>,
    parameters: Vec<MPPar>,
    config: MPConfig,
    evaluations: usize,
}

impl<'p> Solver<'p> {
    fn new(problem: &'p Problem<'p>, bounds: Vec<Bounds>) -> Solver<'p> {
        let parameter = || MPPar { side: MPSide::User, ..MPPar::new() };
        Solver {
            problem,
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
            evaluations: 0,
        }
    }

    fn outer(&self, inner: &[f64]) -> Vec<f64> {
        self.bounds.iter().zip(inner).map(|(b, v)| b.outer(*v)).collect()
    }
}

impl MPFitter for Solver<'_> {
    fn eval(&mut self, inner: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        self.evaluations += 1;
        let residuals = self.problem.residuals(&self.outer(inner)).map_err(|_| MPError::Eval)?;
        deviates.copy_from_slice(&residuals);
        Ok(())
    }

    fn number_of_points(&self) -> usize {
        self.problem.count()
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
        self.eval(inner, deviates)?;
        let theta = self.outer(inner);
        let columns = self.problem.jacobian(&theta).map_err(|_| MPError::Eval)?;
        for (index, column) in columns.into_iter().enumerate() {
            let slope = self.bounds[index].slope(inner[index]);
            if let Some(target) = &mut derivs[index] {
                target.iter_mut().zip(column).for_each(|(target, value)| *target = value * slope);
            }
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
