//! The residuals of one problem, computed by an evaluator. They are squared, or rotated into a triangle, time after
//! time, and never stand in memory all at once.
//!
//! Derivatives come from the evaluator if it knows them; otherwise from central differences of fourth
//! order, which are exact to about ten digits where the model is smooth.

use crate::autodiff::Dependence;
use crate::backend::model::{Evaluator, EvaluatorKind, Part, dependences};
use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::objective::{Member, Objective};
use crate::fit::problem::Problem;
use crate::fit::triangle::{Rows, Triangle};
use std::ops::Range;

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

    /// Residuals and derivatives by the evaluator; none if it knows no derivatives.
    fn known_derivatives(&mut self, theta: &[f64], wanted: &[usize]) -> Result<Option<Triangle>, FitError> {
        let Some(linearized) = self.evaluator.linearize(theta, wanted) else { return Ok(None) };
        let (linearized, problem) = (linearized?, self.problem);
        let spectrum = linearized.spectrum();
        let derivatives: Vec<Part<'_>> = wanted.iter().map(|place| linearized.derivative(*place)).collect();
        let mut rows = Rows::new(wanted.len());
        for time in problem.times() {
            let (data, model) = (&problem.data()[problem.row(time)], &spectrum[problem.row(time)]);
            rows.push(|place, column| match derivatives.get(place) {
                Some(derivative) => derive(problem, derivative.row(time), data, model, column),
                None => column.extend(residuals(problem, data, model)),
            });
        }
        self.evaluations += 1;
        Ok(Some(rows.finish()))
    }

    /// Residuals, and derivatives by differences.
    fn differences(&mut self, theta: &[f64], wanted: &[usize]) -> Result<Triangle, FitError> {
        let mut columns = Vec::new();
        for index in wanted {
            columns.push(self.difference(theta, *index)?);
        }
        columns.push(self.residuals(theta)?);
        let mut rows = Rows::new(wanted.len());
        rows.push(|place, column| column.append(&mut columns[place]));
        Ok(rows.finish())
    }

    fn difference(&mut self, theta: &[f64], index: usize) -> Result<Vec<f64>, FitError> {
        let step = 2e-4 * theta[index].abs().max(1e-2);
        let mut shifted = theta.to_vec();
        let mut sums = vec![0.0; self.problem.count()];
        for (factor, weight) in [(-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0)] {
            shifted[index] = theta[index] + factor * step;
            let residuals = self.residuals(&shifted)?;
            sums.iter_mut().zip(residuals).for_each(|(sum, r)| *sum += weight * r);
        }
        sums.iter_mut().for_each(|sum| *sum /= 12.0 * step);
        Ok(sums)
    }

    fn residuals(&mut self, theta: &[f64]) -> Result<Vec<f64>, FitError> {
        self.evaluations += 1;
        let (problem, spectrum) = (self.problem, self.evaluator.evaluate(theta)?);
        let of_time =
            |time| residuals(problem, &problem.data()[problem.row(time)], &spectrum[problem.row(time)]);
        Ok(problem.times().flat_map(of_time).collect())
    }
}

/// The residuals of some values.
fn residuals<'v>(problem: &Problem<'_>, data: &'v [f64], model: &'v [f64]) -> impl Iterator<Item = f64> + 'v {
    let noise = problem.noise();
    data.iter().zip(model).map(move |(data, model)| noise.residual(*data, *model))
}

/// Adds the derivatives of the residuals at a time, where the spectrum has these derivatives: one for all energies
/// or one for each.
fn derive(problem: &Problem<'_>, slopes: &[f64], data: &[f64], model: &[f64], column: &mut Vec<f64>) {
    let first = column.len();
    match slopes {
        [slope] => column.resize(first + data.len(), *slope),
        slopes => column.extend(&slopes[problem.energies()]),
    }
    problem.noise().derive(data, model, &mut column[first..]);
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

    fn chi_square(&mut self, theta: &[f64]) -> Result<f64, FitError> {
        self.evaluations += 1;
        let (problem, spectrum) = (self.problem, self.evaluator.evaluate(theta)?);
        let squares =
            |row: Range<usize>| problem.noise().squares(&problem.data()[row.clone()], &spectrum[row]);
        let chi_square = problem.times().map(|time| squares(problem.row(time))).sum();
        self.observer.evaluated(chi_square);
        Ok(chi_square)
    }

    fn linearize(&mut self, theta: &[f64], wanted: &[usize]) -> Result<Triangle, FitError> {
        let triangle = match self.known_derivatives(theta, wanted)? {
            Some(triangle) => triangle,
            None => self.differences(theta, wanted)?,
        };
        self.observer.evaluated(triangle.chi_square());
        Ok(triangle)
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
