//! Confidence intervals by profiles of chi².
//!
//! ```text
//! chi²  \                 /     the smallest sum of squares with one parameter held at x
//! limit ·\···············/·····  as improbable as 1, 2, 3 standard deviations are
//! best    `--._______.--´
//!         from   best    to
//! ```
//!
//! Without declared noise the limit is that of an F-test: the increase of chi² over chi² itself, by the
//! degrees of freedom; with declared noise the increase has a chi² distribution. An interval whose bound
//! is reached first is infinite on that side. Where the model has no finite residuals on the way, a limit is NaN: it is
//! not known.

use crate::autodiff::Dependence;
use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::least_squares;
use crate::fit::objective::{Member, Objective};
use crate::fit::statistics::Fit;
use crate::fit::student;
use crate::fit::triangle::Triangle;
use cembra_vm::vector::math::double::erf;
use std::f64::consts::SQRT_2;

/// Standard deviations of the limits.
pub const SIGMAS: [f64; 3] = [1.0, 2.0, 3.0];

/// Steps of a standard error until the limit must have been met.
const STEPS: usize = 100;

/// How near a crossing must be, relative to the distance from the best value.
const PRECISION: f64 = 1e-6;

/// Where a parameter may be.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfidenceInterval {
    /// The parameter.
    pub name: String,
    /// Its best value.
    pub best: f64,
    /// Lower limits for 1, 2 and 3 standard deviations.
    pub below: [f64; 3],
    /// Upper limits.
    pub above: [f64; 3],
}

/// Intervals of all free parameters. The objective must be at its best at the theta of the fit.
///
/// # Errors
/// The model cannot be evaluated.
pub fn confidence_intervals(
    objective: &mut dyn Objective,
    fit: &Fit,
) -> Result<Vec<ConfidenceInterval>, FitError> {
    let limits = SIGMAS.map(|sigma| limit(objective, fit, sigma));
    let mut intervals = Vec::new();
    for (index, name) in fit.theta_names.iter().enumerate() {
        let mut profile = Profile { objective, fit, index };
        let (below, above) = (profile.side(-1.0, limits)?, profile.side(1.0, limits)?);
        intervals.push(ConfidenceInterval { name: name.clone(), best: fit.theta[index], below, above });
    }
    Ok(intervals)
}

/// How much chi² may grow.
fn limit(objective: &dyn Objective, fit: &Fit, sigma: f64) -> f64 {
    if objective.is_declared() {
        return sigma * sigma;
    }
    let degrees = fit.points - fit.theta.len();
    // The square of Student's variable has the F-distribution with one degree of freedom above.
    let t = student::quantile(erf(sigma / SQRT_2), degrees);
    fit.chi_square / degrees as f64 * t * t
}

/// The smallest chi² as a function of one parameter.
struct Profile<'o> {
    objective: &'o mut dyn Objective,
    fit: &'o Fit,
    index: usize,
}

/// A point of a profile.
#[derive(Clone, Debug)]
struct Point {
    value: f64,
    /// How much chi² has grown.
    increase: f64,
    /// All parameters, where chi² is smallest with this value.
    theta: Vec<f64>,
}

impl Profile<'_> {
    /// Where chi² has grown by each of the limits on one side; infinite from where a bound comes first, NaN from
    /// where the model has no finite residuals.
    fn side(&mut self, sign: f64, limits: [f64; 3]) -> Result<[f64; 3], FitError> {
        let mut ends = [sign * f64::INFINITY; 3];
        let theta = self.fit.theta.clone();
        let mut low = Point { value: theta[self.index], increase: 0.0, theta };
        let mut unknown = false;
        for (end, limit) in ends.iter_mut().zip(limits) {
            match self.crossing(low, sign, limit) {
                Ok(Some(found)) => low = found,
                Ok(None) => break,
                Err(FitError::NotFinite) => {
                    unknown = true;
                    break;
                }
                Err(error) => return Err(error),
            }
            *end = low.value;
        }
        if unknown {
            ends.iter_mut().filter(|end| end.is_infinite()).for_each(|end| *end = f64::NAN);
        }
        Ok(ends)
    }

    /// The profile at a value. The other parameters begin where a parabola has them, and where a point
    /// nearer to the best one has them: from far away they may end in a valley of their own.
    fn point(&mut self, value: f64, from: &Point) -> Result<Point, FitError> {
        let mut near = from.theta.clone();
        near[self.index] = value;
        let mut best = self.settled(value, self.predicted(value, from))?;
        let other = self.settled(value, near)?;
        if other.increase < best.increase {
            best = other;
        }
        Ok(best)
    }

    /// The smallest chi² that steps downhill lead to, with one parameter held.
    fn settled(&mut self, value: f64, mut theta: Vec<f64>) -> Result<Point, FitError> {
        if theta.len() > 1 {
            let mut held = Held { objective: self.objective, index: self.index, value };
            theta.remove(self.index);
            theta = least_squares::minimize_from(&mut held, &theta)?;
            theta.insert(self.index, value);
        }
        let increase = self.objective.chi_square(&theta)? - self.fit.chi_square;
        Ok(Point { value, increase, theta })
    }

    /// Where the other parameters would go if chi² were a parabola; those that would leave their bounds
    /// stay where they are.
    fn predicted(&self, value: f64, from: &Point) -> Vec<f64> {
        let distance = value - from.value;
        // A perfect fit has a covariance of zeros, which says nothing about directions.
        let row = self.fit.covariance.as_ref().map(|covariance| &covariance[self.index]);
        let says = |row: &&Vec<f64>| row[self.index] > 0.0 && row.iter().all(|x| x.is_finite());
        let Some(row) = row.filter(says) else {
            let mut theta = from.theta.clone();
            theta[self.index] = value;
            return theta;
        };
        let moved = |(index, theta): (usize, &f64)| {
            let bounds = self.objective.bounds()[index];
            let moved = theta + row[index] / row[self.index] * distance;
            if bounds.min < moved && moved < bounds.max { moved } else { *theta }
        };
        let mut theta: Vec<f64> = from.theta.iter().enumerate().map(moved).collect();
        theta[self.index] = value;
        theta
    }

    /// Where chi² has grown by the limit, beginning at a point below it; none if a bound comes first.
    fn crossing(&mut self, mut low: Point, sign: f64, limit: f64) -> Result<Option<Point>, FitError> {
        let Bounds { min, max } = self.objective.bounds()[self.index];
        let step = sign * self.step();
        for _ in 0..STEPS {
            let high = self.point((low.value + step).clamp(min, max), &low)?;
            if high.increase.is_nan() {
                return Err(FitError::NotFinite);
            }
            // What leaves chi² as it is has no limit, not even where the limit is zero.
            if high.increase >= limit && high.increase > 0.0 {
                return self.root(low, high, limit).map(Some);
            }
            if high.value == min || high.value == max {
                return Ok(None);
            }
            low = high;
        }
        Ok(None)
    }

    /// A standard error, or a hundredth of a value that has none.
    fn step(&self) -> f64 {
        let variance = self.fit.covariance.as_ref().map(|c| c[self.index][self.index]);
        let error = variance.map(f64::sqrt).filter(|s| *s > 0.0 && s.is_finite());
        error.unwrap_or(1e-2 * self.fit.theta[self.index].abs().max(1e-3))
    }

    /// The crossing between two points: false position, halving the weight of an end that stays (the
    /// Illinois rule of M. Dowell and P. Jarratt, BIT 11 (1971) 168). The root of the increase is nearly
    /// linear in the distance.
    fn root(&mut self, mut low: Point, mut high: Point, limit: f64) -> Result<Point, FitError> {
        let best = self.fit.theta[self.index];
        let height = |point: &Point| point.increase.max(0.0).sqrt() - limit.sqrt();
        let (mut low_weight, mut high_weight, mut was_low) = (1.0, 1.0, None);
        for _ in 0..60 {
            let (low_height, high_height) = (low_weight * height(&low), high_weight * height(&high));
            let value = (low.value * high_height - high.value * low_height) / (high_height - low_height);
            if !value.is_finite() {
                return Ok(low);
            }
            let found = self.point(value, &low)?;
            let is_found = height(&found).abs() <= PRECISION * limit.sqrt();
            if is_found || (high.value - low.value).abs() <= PRECISION * (value - best).abs() {
                return Ok(found);
            }
            let is_low = height(&found) < 0.0;
            let weight = if was_low == Some(is_low) { 0.5 } else { 1.0 };
            was_low = Some(is_low);
            match is_low {
                true => (low, low_weight, high_weight) = (found, 1.0, high_weight * weight),
                false => (high, high_weight, low_weight) = (found, 1.0, low_weight * weight),
            }
        }
        Ok(low)
    }
}

/// An objective with one parameter held.
struct Held<'o> {
    objective: &'o mut dyn Objective,
    index: usize,
    value: f64,
}

impl Held<'_> {
    fn without<T>(&self, mut all: Vec<T>) -> Vec<T> {
        all.remove(self.index);
        all
    }

    fn with(&self, theta: &[f64]) -> Vec<f64> {
        let mut all = theta.to_vec();
        all.insert(self.index, self.value);
        all
    }
}

impl Objective for Held<'_> {
    fn start(&self) -> Vec<f64> {
        self.without(self.objective.start())
    }

    fn names(&self) -> Vec<String> {
        self.without(self.objective.names())
    }

    fn bounds(&self) -> Vec<Bounds> {
        self.without(self.objective.bounds())
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
        self.objective.chi_square(&self.with(theta))
    }

    fn linearize(&mut self, theta: &[f64], wanted: &[usize]) -> Result<Triangle, FitError> {
        let wanted: Vec<usize> =
            wanted.iter().map(|place| place + usize::from(*place >= self.index)).collect();
        self.objective.linearize(&self.with(theta), &wanted)
    }

    fn dependences(&self) -> Result<Vec<Dependence>, FitError> {
        Ok(self.without(self.objective.dependences()?))
    }

    fn evaluations(&self) -> usize {
        self.objective.evaluations()
    }
}
