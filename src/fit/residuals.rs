//! The residuals of one problem, computed by an evaluator. They are squared, or rotated into a triangle, time after
//! time, and never stand in memory all at once; an evaluator that can squares them where it computes them.
//!
//! Derivatives come from the evaluator if it knows them; otherwise from central differences of fourth
//! order, which are exact to about ten digits where the model is smooth.

use crate::autodiff::Dependence;
use crate::backend::model::{Evaluator, EvaluatorKind, Part, PartRow, dependences};
use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::noise::{Noise, Slopes};
use crate::fit::objective::{Member, Objective};
use crate::fit::problem::Problem;
use crate::fit::triangle::{Rows, Triangle};
use std::ops::Range;

/// Values of a time from which on its columns are worth rotating by themselves.
const MANY: usize = 64;

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
    /// The last point that was linearized.
    last: Option<Point>,
}

/// A point of theta, by which parameters there are derivatives, and those.
struct Point {
    theta: Vec<f64>,
    wanted: Vec<usize>,
    triangle: Triangle,
}

impl<'p> Residuals<'p> {
    /// The residuals of a problem by some evaluator.
    ///
    /// # Errors
    /// Data that count are not finite.
    pub fn new(
        problem: &'p Problem<'p>,
        kind: EvaluatorKind,
        observer: &'p dyn Observer,
    ) -> Result<Residuals<'p>, FitError> {
        Residuals::with_evaluator(problem, kind.open(problem.model), observer)
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
        Ok(Residuals { problem, evaluator, observer, evaluations: 0, last: None })
    }

    /// The evaluator, for the residuals of another problem of its model.
    pub fn into_evaluator(self) -> Box<dyn Evaluator + 'p> {
        self.evaluator
    }

    /// Residuals and derivatives by the evaluator; none if it knows no derivatives.
    fn known_derivatives(&mut self, theta: &[f64], wanted: &[usize]) -> Result<Option<Triangle>, FitError> {
        let Some(linearized) = self.evaluator.linearize(theta, wanted) else { return Ok(None) };
        let (linearized, problem) = (linearized?, self.problem);
        let spectrum = linearized.spectrum();
        let derivatives: Vec<Part<'_>> = wanted.iter().map(|place| linearized.derivative(*place)).collect();
        let mut times = Times::new(wanted.len());
        for time in problem.times() {
            let (data, model) = (&problem.data()[problem.row(time)], &spectrum[problem.row(time)]);
            let parts = derivatives.iter().map(|derivative| derivative.row(time));
            times.push(problem.noise(), data, model, parts.map(|part| within(part, problem.energies())));
        }
        self.evaluations += 1;
        Ok(Some(times.rows.finish()))
    }

    /// Residuals, and derivatives by differences.
    fn differences(&mut self, theta: &[f64], wanted: &[usize]) -> Result<Triangle, FitError> {
        let mut columns = Vec::new();
        for index in wanted {
            columns.push(self.difference(theta, *index)?);
        }
        columns.push(self.residuals(theta)?);
        let mut rows = Rows::new(wanted.len());
        rows.push(columns[0].len(), |place, column| column.copy_from_slice(&columns[place]));
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
        let mut residuals = vec![0.0; problem.count()];
        for (time, residuals) in problem.times().zip(residuals.chunks_mut(problem.energies().len())) {
            let (data, model) = (&problem.data()[problem.row(time)], &spectrum[problem.row(time)]);
            problem.noise().residuals(data, model, residuals);
        }
        Ok(residuals)
    }
}

/// A part of a spectrum at these energies.
fn within(part: PartRow<'_>, energies: Range<usize>) -> PartRow<'_> {
    match part.values {
        [_] => part,
        values => PartRow { values: &values[energies], ..part },
    }
}

/// The rows of one time after the other.
///
/// Derivatives that at each time differ by a factor only are one column there: it is rotated once, and what is left of
/// the time, a row for each column, goes on with the factors. Columns that are those of the time before, as the
/// shapes of lines that stand still, have been rotated.
struct Times<'e> {
    rows: Rows,
    /// The rows of one time.
    of_time: Rows,
    /// Columns at a time.
    columns: Vec<&'e [f64]>,
    /// Those that were rotated last.
    before: Vec<&'e [f64]>,
    /// The slope of their residuals, if all had one.
    slope: Option<f64>,
    /// For each derivative its column, and the factor.
    places: Vec<(usize, f64)>,
    /// How single residuals change with the model.
    slopes: Vec<f64>,
}

impl<'e> Times<'e> {
    fn new(derivatives: usize) -> Times<'e> {
        Times {
            rows: Rows::new(derivatives),
            of_time: Rows::new(0),
            columns: Vec::new(),
            before: Vec::new(),
            slope: None,
            places: Vec::new(),
            slopes: Vec::new(),
        }
    }

    /// Adds the data of a time, where the model has these values and derivatives.
    fn push(
        &mut self,
        noise: Noise,
        data: &[f64],
        model: &[f64],
        derivatives: impl Iterator<Item = PartRow<'e>>,
    ) {
        self.columns.clear();
        self.places.clear();
        for PartRow { factor, values } in derivatives {
            let column = self.columns.iter().position(|column| std::ptr::eq(*column, values));
            let column = column.unwrap_or_else(|| {
                self.columns.push(values);
                self.columns.len() - 1
            });
            self.places.push((column, factor));
        }
        let slopes = noise.slopes(data, model, &mut self.slopes);
        if self.columns.len() == self.places.len() || data.len() < MANY {
            let (columns, places) = (&self.columns, &self.places);
            self.rows.push(data.len(), |place, target| match places.get(place) {
                Some((column, factor)) => slopes.apply(*factor, columns[*column], target),
                None => noise.residuals(data, model, target),
            });
            return;
        }
        let residuals = |target: &mut [f64]| noise.residuals(data, model, target);
        let slope = match slopes {
            Slopes::Alike(slope) => Some(slope),
            Slopes::Each(_) => None,
        };
        let left = match slope.is_some() && slope == self.slope && are_same(&self.before, &self.columns) {
            true => self.of_time.with_residuals(residuals),
            false => {
                match self.of_time.derivatives() == self.columns.len() {
                    true => self.of_time.clear(),
                    false => self.of_time = Rows::new(self.columns.len()),
                }
                let columns = &self.columns;
                self.of_time.push(data.len(), |place, target| match columns.get(place) {
                    Some(column) => slopes.apply(1.0, column, target),
                    None => residuals(target),
                });
                self.of_time.triangle()
            }
        };
        let places = &self.places;
        self.rows.push(self.columns.len() + 1, |place, target| match places.get(place) {
            Some((column, factor)) => Slopes::Alike(*factor).apply(1.0, &left.derivatives()[*column], target),
            None => target.copy_from_slice(left.residuals()),
        });
        std::mem::swap(&mut self.before, &mut self.columns);
        self.slope = slope;
    }
}

/// True if the columns stand in the same memory, which nobody writes.
fn are_same(one: &[&[f64]], other: &[&[f64]]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| std::ptr::eq(*one, *other))
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
        let problem = self.problem;
        let factor = problem.noise().factor().filter(|_| problem.counts_all());
        let squares =
            factor.and_then(|factor| Some((factor, self.evaluator.squares(theta, problem.data())?)));
        let chi_square = match squares {
            Some((factor, squares)) => squares? * (factor * factor),
            None => {
                let spectrum = self.evaluator.evaluate(theta)?;
                let squares = |part: Range<usize>| {
                    problem.noise().squares(&problem.data()[part.clone()], &spectrum[part])
                };
                problem.stretches().map(squares).sum()
            }
        };
        self.observer.evaluated(chi_square);
        Ok(chi_square)
    }

    fn linearize(&mut self, theta: &[f64], wanted: &[usize]) -> Result<Triangle, FitError> {
        if let Some(last) = self.last.as_ref().filter(|last| last.theta == theta && last.wanted == wanted) {
            return Ok(last.triangle.clone());
        }
        let triangle = match self.known_derivatives(theta, wanted)? {
            Some(triangle) => triangle,
            None => self.differences(theta, wanted)?,
        };
        self.observer.evaluated(triangle.chi_square());
        let (theta, wanted) = (theta.to_vec(), wanted.to_vec());
        self.last = Some(Point { theta, wanted, triangle: triangle.clone() });
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

#[cfg(test)]
mod tests {
    use super::*;
    use cembra_vm::vector::lanes::dot;

    /// Lengths and angles do not tell whether columns were rotated together.
    #[test]
    fn columns_that_differ_by_a_factor_are_rotated_once() {
        let wave = |phase: f64| (0..100).map(|i| (0.1 * f64::from(i) + phase).sin() + 1.5).collect();
        let [shared, own, data, model]: [Vec<f64>; 4] = [0.0, 1.0, 2.0, 3.0].map(wave);
        let copy = shared.clone();
        for noise in [Noise::Unknown, Noise::Gaussian { sigma: 0.5 }, Noise::Poisson { scale: 2.0 }] {
            let triangle = |second: &[f64]| {
                let mut times = Times::new(3);
                for time in 1..4 {
                    let factors = [1.0, f64::from(time), 0.5];
                    let columns = [&shared, second, &own];
                    let parts = factors.into_iter().zip(columns);
                    let parts = parts.map(|(factor, values)| PartRow { factor, values });
                    times.push(noise, &data, &model, parts);
                }
                let rotated = times.of_time.derivatives();
                assert_eq!(rotated, if second.as_ptr() == copy.as_ptr() { 0 } else { 2 });
                times.rows.finish()
            };
            let (once, apart) = (triangle(&shared), triangle(&copy));
            let all = |of: &Triangle| [of.derivatives(), &[of.residuals().to_vec()]].concat();
            let (once, apart) = (all(&once), all(&apart));
            for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
                let (found, expected) = (dot(&once[i], &once[j]), dot(&apart[i], &apart[j]));
                assert!((found - expected).abs() < 1e-12 * expected.abs(), "{i} {j}: {found} {expected}");
            }
        }
    }
}
