//! The residuals of one problem, computed by an evaluator.
//!
//! Derivatives come from the evaluator if it knows them; otherwise from central differences of fourth
//! order, which are exact to about ten digits where the model is smooth.

use crate::autodiff::Dependence;
use crate::backend::model::{Evaluator, EvaluatorKind, Part, dependences};
use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::objective::{Member, Objective, sum_of_squares};
use crate::fit::problem::Problem;

/// Sees how a fit proceeds.
pub trait Observer: Sync {
    /// Residuals have been evaluated, and this is the sum of their squares.
    fn evaluated(&self, chi_square: f64);
}

/// Sees nothing.
impl Observer for () {
    fn evaluated(&self, _: f64) {}
}

/// Residuals of a problem.
pub struct Residuals<'p> {
    problem: &'p Problem<'p>,
    evaluator: Box<dyn Evaluator + 'p>,
    observer: &'p dyn Observer,
    evaluations: usize,
}

impl<'p> Residuals<'p> {
    /// The residuals of a problem by some evaluator.
    ///
    /// # Errors
    /// There is no such evaluator of the model, or data that count are not finite.
    pub fn new(
        problem: &'p Problem<'p>,
        kind: EvaluatorKind,
        observer: &'p dyn Observer,
    ) -> Result<Residuals<'p>, FitError> {
        Residuals::with_evaluator(problem, kind.open(problem.model)?, observer)
    }

    /// The residuals of a problem by an evaluator of its model.
    ///
    /// # Errors
    /// Data that count are not finite.
    pub fn with_evaluator(
        problem: &'p Problem<'p>,
        evaluator: Box<dyn Evaluator + 'p>,
        observer: &'p dyn Observer,
    ) -> Result<Residuals<'p>, FitError> {
        problem.check_data()?;
        Ok(Residuals { problem, evaluator, observer, evaluations: 0 })
    }

    fn evaluate(&mut self, theta: &[f64], out: &mut [f64]) -> Result<(), FitError> {
        self.evaluations += 1;
        fill(self.problem, self.evaluator.evaluate(theta)?, out);
        self.observer.evaluated(sum_of_squares(out));
        Ok(())
    }

    /// Residuals and derivatives by the evaluator; false if it has none.
    fn known_derivatives(
        &mut self,
        theta: &[f64],
        residuals: &mut [f64],
        wanted: &[usize],
        columns: &mut [Vec<f64>],
    ) -> Result<bool, FitError> {
        let Some(linearized) = self.evaluator.linearize(theta, wanted) else { return Ok(false) };
        let linearized = linearized?;
        fill(self.problem, linearized.spectrum(), residuals);
        for (place, column) in wanted.iter().zip(columns) {
            derive(self.problem, linearized.spectrum(), &linearized.derivative(*place), column);
        }
        self.evaluations += 1;
        self.observer.evaluated(sum_of_squares(residuals));
        Ok(true)
    }

    fn differences(&mut self, theta: &[f64], index: usize, row: &mut [f64]) -> Result<(), FitError> {
        let step = 2e-4 * theta[index].abs().max(1e-2);
        row.fill(0.0);
        let mut shifted = theta.to_vec();
        let mut residuals = vec![0.0; row.len()];
        for (factor, weight) in [(-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0)] {
            shifted[index] = theta[index] + factor * step;
            self.evaluate(&shifted, &mut residuals)?;
            row.iter_mut().zip(&residuals).for_each(|(sum, r)| *sum += weight * r);
        }
        row.iter_mut().for_each(|sum| *sum /= 12.0 * step);
        Ok(())
    }
}

/// Writes the residuals of a spectrum.
fn fill(problem: &Problem<'_>, spectrum: &[f64], out: &mut [f64]) {
    let noise = problem.noise();
    for (row, time) in out.chunks_exact_mut(problem.energies().len()).zip(problem.times()) {
        let (data, model) = (&problem.data()[problem.row(time)], &spectrum[problem.row(time)]);
        for (residual, (data, model)) in row.iter_mut().zip(data.iter().zip(model)) {
            *residual = noise.residual(*data, *model);
        }
    }
}

/// Writes the derivatives of the residuals of a spectrum with this derivative.
fn derive(problem: &Problem<'_>, spectrum: &[f64], derivative: &Part<'_>, out: &mut [f64]) {
    let noise = problem.noise();
    for (row, time) in out.chunks_exact_mut(problem.energies().len()).zip(problem.times()) {
        let (data, model) = (&problem.data()[problem.row(time)], &spectrum[problem.row(time)]);
        match derivative.row(time) {
            [value] => row.fill(*value),
            values => row.copy_from_slice(&values[problem.energies()]),
        }
        for (slope, (data, model)) in row.iter_mut().zip(data.iter().zip(model)) {
            *slope *= noise.slope(*data, *model);
        }
    }
}

impl Objective for Residuals<'_> {
    fn start(&self) -> Vec<f64> {
        self.problem.model.theta()
    }

    fn names(&self) -> Vec<String> {
        self.problem.model.theta_names().into_iter().map(str::to_owned).collect()
    }

    fn bounds(&self) -> Vec<Bounds> {
        self.problem.bounds()
    }

    fn count(&self) -> usize {
        self.problem.count()
    }

    fn is_declared(&self) -> bool {
        self.problem.noise().is_declared()
    }

    fn members(&self) -> Vec<Member<'_>> {
        let model = self.problem.model;
        vec![Member { label: "", model, places: (0..model.free().len()).collect() }]
    }

    fn residuals(&mut self, theta: &[f64], out: &mut [f64]) -> Result<(), FitError> {
        self.evaluate(theta, out)
    }

    fn linearize(
        &mut self,
        theta: &[f64],
        residuals: &mut [f64],
        wanted: &[usize],
        columns: &mut [Vec<f64>],
    ) -> Result<(), FitError> {
        if self.known_derivatives(theta, residuals, wanted, columns)? {
            return Ok(());
        }
        self.evaluate(theta, residuals)?;
        let mut columns = wanted.iter().zip(columns);
        columns.try_for_each(|(index, column)| self.differences(theta, *index, column))
    }

    fn dependences(&self) -> Result<Vec<Dependence>, FitError> {
        if !self.problem.noise().is_linear() {
            return Err(FitError::NotSeparable {
                reason: "the residuals of counts are not linear in the spectrum".to_owned(),
            });
        }
        dependences(self.problem.model)
            .map_err(|reasons| FitError::NotSeparable { reason: reasons.join("; ") })
    }

    fn evaluations(&self) -> usize {
        self.evaluations
    }
}
