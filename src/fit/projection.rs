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
    residuals: Vec<f64>,
    columns: Vec<Vec<f64>>,
    /// The others that these are of.
    settled: Option<Vec<f64>>,
    /// How the linear parameters came there; none if something was not finite.
    step: Option<Step>,
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
        let residuals = vec![0.0; objective.count()];
        let columns = vec![residuals.clone(); linear.len()];
        Ok(Projected { objective, linear, others, theta, residuals, columns, settled: None, step: None })
    }

    fn of_others<T: Clone>(&self, all: &[T]) -> Vec<T> {
        self.others.iter().map(|place| all[*place].clone()).collect()
    }

    /// Solves for the linear parameters where the others have these values.
    fn settle(&mut self, others: &[f64]) -> Result<(), FitError> {
        if self.settled.as_deref() == Some(others) {
            return Ok(());
        }
        self.others.iter().zip(others).for_each(|(place, value)| self.theta[*place] = *value);
        self.objective.linearize(&self.theta, &mut self.residuals, &self.linear, &mut self.columns)?;
        self.settled = Some(others.to_vec());
        self.step = self.solved();
        // Where residuals are not finite the search turns back by itself.
        let Some(step) = &self.step else { return Ok(()) };
        let bounds = self.objective.bounds();
        for ((place, step), column) in self.linear.iter().zip(&step.step).zip(&self.columns) {
            let Bounds { min, max } = bounds[*place];
            self.theta[*place] = (self.theta[*place] + step).clamp(min, max);
            self.residuals.iter_mut().zip(column).for_each(|(residual, slope)| *residual += slope * step);
        }
        Ok(())
    }

    /// The best step of the linear parameters from where they are.
    fn solved(&self) -> Option<Step> {
        let bounds = self.objective.bounds();
        let room = |place: &usize| {
            let (Bounds { min, max }, value) = (bounds[*place], self.theta[*place]);
            Bounds { min: min - value, max: max - value }
        };
        solve(&self.residuals, &self.columns, &self.linear.iter().map(room).collect::<Vec<Bounds>>())
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

    fn residuals(&mut self, theta: &[f64], out: &mut [f64]) -> Result<(), FitError> {
        self.settle(theta)?;
        out.copy_from_slice(&self.residuals);
        Ok(())
    }

    fn linearize(
        &mut self,
        theta: &[f64],
        residuals: &mut [f64],
        wanted: &[usize],
        columns: &mut [Vec<f64>],
    ) -> Result<(), FitError> {
        self.settle(theta)?;
        residuals.copy_from_slice(&self.residuals);
        let wanted: Vec<usize> = wanted.iter().map(|index| self.others[*index]).collect();
        let mut unused = vec![0.0; residuals.len()];
        self.objective.linearize(&self.theta, &mut unused, &wanted, columns)?;
        if let Some(step) = &self.step {
            columns.iter_mut().for_each(|column| step.project(column));
        }
        Ok(())
    }

    fn dependences(&self) -> Result<Vec<Dependence>, FitError> {
        Ok(self.of_others(&self.objective.dependences()?))
    }

    fn evaluations(&self) -> usize {
        self.objective.evaluations()
    }
}
