//! Variable projection: parameters that the spectrum is linear in are solved for, the others are searched.
//!
//! ```text
//! theta = (c linear, a others)      c(a) minimises |r(a, c)|²      Levenberg and Marquardt find a
//! derivatives of r(a, c(a)) by a:   P dr/da,  P = what the columns of c cannot make up for
//! ```
//!
//! The method of G. H. Golub and V. Pereyra, SIAM Journal on Numerical Analysis 10 (1973) 413, with the
//! derivatives of L. Kaufman, BIT 15 (1975) 49: the term that she leaves out is orthogonal to the residuals, so
//! that the slope of the sum of squares is exact. A linear parameter at one of its bounds is held there, and
//! counts as fixed in `P`.

use crate::autodiff::Dependence;
use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::least_squares;
use crate::fit::linear::{Step, solve};
use crate::fit::objective::{Member, Objective, check_start};
use crate::fit::triangle::{Rows, Triangle};
use cembra_vm::vector::lanes::dot;

/// The theta with the smallest sum of squares, as far as steps downhill from the start lead.
///
/// # Errors
/// Nothing varies, nothing is linear, there are too few points, or residuals are not finite.
pub fn minimize(objective: &mut dyn Objective) -> Result<Vec<f64>, FitError> {
    let start = check_start(objective)?;
    let mut projected = Projected::new(objective, start)?;
    let others = projected.start();
    let best = match others.is_empty() {
        true => others,
        false => least_squares::minimize_from(&mut projected, &others)?,
    };
    projected.settle(&best)?;
    Ok(projected.theta)
}

/// Residuals as a function of the parameters that are not linear.
struct Projected<'o> {
    objective: &'o mut dyn Objective,
    /// Places in theta.
    linear: Vec<usize>,
    others: Vec<usize>,
    /// The last theta, linear parameters as they were solved for.
    theta: Vec<f64>,
    /// The others that these were solved for, and the sum of squares there.
    settled: Option<(Vec<f64>, f64)>,
}

impl<'o> Projected<'o> {
    fn new(objective: &'o mut dyn Objective, theta: Vec<f64>) -> Result<Projected<'o>, FitError> {
        let found = objective.dependences()?;
        let is_linear = |place: &usize| found[*place] == Dependence::Linear;
        let (linear, others): (Vec<usize>, Vec<usize>) = (0..theta.len()).partition(is_linear);
        if linear.is_empty() {
            let reasons = objective.names().into_iter().zip(&found).map(|(name, d)| format!("`{name}` {d}"));
            let reasons: Vec<String> = reasons.collect();
            let reason = format!("no free parameter is linear: {}", reasons.join(", "));
            return Err(FitError::NotSeparable { reason });
        }
        Ok(Projected { objective, linear, others, theta, settled: None })
    }

    fn of_others<T: Clone>(&self, all: &[T]) -> Vec<T> {
        self.others.iter().map(|place| all[*place].clone()).collect()
    }

    /// Solves for the linear parameters where the others have these values; gives the sum of squares.
    fn settle(&mut self, others: &[f64]) -> Result<f64, FitError> {
        if let Some((_, chi_square)) = self.settled.as_ref().filter(|(settled, _)| settled == others) {
            return Ok(*chi_square);
        }
        self.others.iter().zip(others).for_each(|(place, value)| self.theta[*place] = *value);
        let triangle = self.objective.linearize(&self.theta, &self.linear)?;
        let mut residuals = triangle.residuals().to_vec();
        // Where residuals are not finite the search turns back by itself.
        if let Some(step) = self.step(&residuals, triangle.derivatives()) {
            let bounds = self.objective.bounds();
            for ((place, step), column) in self.linear.iter().zip(&step.step).zip(triangle.derivatives()) {
                let Bounds { min, max } = bounds[*place];
                self.theta[*place] = (self.theta[*place] + step).clamp(min, max);
                residuals.iter_mut().zip(column).for_each(|(residual, slope)| *residual += slope * step);
            }
        }
        let chi_square = dot(&residuals, &residuals);
        self.settled = Some((others.to_vec(), chi_square));
        Ok(chi_square)
    }

    /// The best step of the linear parameters from where they are, by the columns of their derivatives.
    fn step(&self, residuals: &[f64], columns: &[Vec<f64>]) -> Option<Step> {
        let bounds = self.objective.bounds();
        let room = |place: &usize| {
            let (Bounds { min, max }, value) = (bounds[*place], self.theta[*place]);
            Bounds { min: min - value, max: max - value }
        };
        solve(residuals, columns, &self.linear.iter().map(room).collect::<Vec<Bounds>>())
    }
}

impl Objective for Projected<'_> {
    fn start(&self) -> Vec<f64> {
        self.of_others(&self.theta)
    }

    fn names(&self) -> Vec<String> {
        self.of_others(&self.objective.names())
    }

    fn bounds(&self) -> Vec<Bounds> {
        self.of_others(&self.objective.bounds())
    }

    fn count(&self) -> usize {
        self.objective.count()
    }

    fn is_declared(&self) -> bool {
        self.objective.is_declared()
    }

    fn members(&self) -> Vec<Member<'_>> {
        self.objective.members()
    }

    fn chi_square(&mut self, theta: &[f64]) -> Result<f64, FitError> {
        self.settle(theta)
    }

    fn linearize(&mut self, theta: &[f64], wanted: &[usize]) -> Result<Triangle, FitError> {
        self.settle(theta)?;
        let others = wanted.iter().map(|index| self.others[*index]);
        let all: Vec<usize> = self.linear.iter().copied().chain(others).collect();
        let triangle = self.objective.linearize(&self.theta, &all)?;
        let (linear, others) = triangle.derivatives().split_at(self.linear.len());
        let step = self.step(triangle.residuals(), linear);
        let mut rows = Rows::new(wanted.len());
        rows.push(triangle.residuals().len(), |place, values| match others.get(place) {
            Some(column) => {
                values.copy_from_slice(column);
                step.iter().for_each(|step| step.project(values));
            }
            None => values.copy_from_slice(triangle.residuals()),
        });
        Ok(rows.finish())
    }

    fn dependences(&self) -> Result<Vec<Dependence>, FitError> {
        Ok(self.of_others(&self.objective.dependences()?))
    }

    fn evaluations(&self) -> usize {
        self.objective.evaluations()
    }
}
