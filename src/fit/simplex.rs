//! Nelder and Mead's method: a simplex that walks downhill, without derivatives.
//!
//! The rules are those of J. A. Nelder and R. Mead, The Computer Journal 7 (1965) 308, in the order and
//! with the start and the end that scientific Python gives them, so that fits can be compared: a corner
//! 5 % away in each direction, and an end where all corners agree within 1e-4 in theta and in value.
//! The simplex lives among numbers without [bounds](crate::fit::bounds).

use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::objective::{Objective, check_start};

/// How far corners may differ at the end, in each number and in the sum of squares.
const AGREEMENT: f64 = 1e-4;

/// Evaluations a parameter may cost.
const EVALUATIONS: usize = 4000;

/// A corner of the simplex and the sum of squares there.
#[derive(Clone, Debug)]
struct Corner {
    at: Vec<f64>,
    value: f64,
}

/// The theta where the simplex has shrunk.
///
/// # Errors
/// Nothing varies, there are too few points, or residuals are not finite.
pub fn minimize(objective: &mut dyn Objective) -> Result<Vec<f64>, FitError> {
    let start = check_start(objective)?;
    let bounds = objective.bounds();
    let mut simplex = Simplex { objective, bounds, corners: Vec::new(), evaluations: 0 };
    simplex.unfold(&start)?;
    let most = EVALUATIONS * (start.len() + 1);
    while !simplex.has_shrunk() && simplex.evaluations < most {
        simplex.step()?;
    }
    let best = simplex.corners.swap_remove(0);
    Ok(simplex.outer(&best.at))
}

struct Simplex<'o> {
    objective: &'o mut dyn Objective,
    bounds: Vec<Bounds>,
    /// The best first.
    corners: Vec<Corner>,
    evaluations: usize,
}

impl Simplex<'_> {
    fn outer(&self, inner: &[f64]) -> Vec<f64> {
        self.bounds.iter().zip(inner).map(|(b, v)| b.outer(*v)).collect()
    }

    /// A corner; a sum that is no number is worse than any other.
    fn corner(&mut self, at: Vec<f64>) -> Result<Corner, FitError> {
        self.evaluations += 1;
        let theta = self.outer(&at);
        let value = self.objective.chi_square(&theta)?;
        Ok(Corner { at, value: if value.is_nan() { f64::INFINITY } else { value } })
    }

    /// The first simplex: the start, and a step from it in each direction.
    fn unfold(&mut self, start: &[f64]) -> Result<(), FitError> {
        let start: Vec<f64> = self.bounds.iter().zip(start).map(|(b, x)| b.inner(*x)).collect();
        let first = self.corner(start.clone())?;
        self.corners.push(first);
        for index in 0..start.len() {
            let mut at = start.clone();
            at[index] = if at[index] == 0.0 { 0.000_25 } else { at[index] * 1.05 };
            let corner = self.corner(at)?;
            self.corners.push(corner);
        }
        self.order();
        Ok(())
    }

    /// Sorts; equal corners keep their order.
    fn order(&mut self) {
        self.corners.sort_by(|a, b| a.value.total_cmp(&b.value));
    }

    fn has_shrunk(&self) -> bool {
        let (best, others) = self.corners.split_first().expect("a simplex has corners");
        others.iter().all(|corner| {
            let mut numbers = corner.at.iter().zip(&best.at);
            (corner.value - best.value).abs() <= AGREEMENT && numbers.all(|(a, b)| (a - b).abs() <= AGREEMENT)
        })
    }

    /// The point on the line from the worst corner through the middle of the others: 1 is its mirror image.
    fn on_line(&self, factor: f64) -> Vec<f64> {
        let (worst, others) = self.corners.split_last().expect("a simplex has corners");
        let mean = |index: usize| others.iter().map(|c| c.at[index]).sum::<f64>() / others.len() as f64;
        worst.at.iter().enumerate().map(|(i, w)| (1.0 + factor) * mean(i) - factor * w).collect()
    }

    /// Replaces the worst corner, or shrinks.
    fn step(&mut self) -> Result<(), FitError> {
        let last = self.corners.len() - 1;
        let (best, worst) = (self.corners[0].value, self.corners[last].value);
        let reflected = self.corner(self.on_line(1.0))?;
        let better = if reflected.value < best {
            let expanded = self.corner(self.on_line(2.0))?;
            Some(if expanded.value < reflected.value { expanded } else { reflected })
        } else if reflected.value < self.corners[last - 1].value {
            Some(reflected)
        } else if reflected.value < worst {
            let outside = self.corner(self.on_line(0.5))?;
            (outside.value <= reflected.value).then_some(outside)
        } else {
            let inside = self.corner(self.on_line(-0.5))?;
            (inside.value < worst).then_some(inside)
        };
        match better {
            Some(corner) => self.corners[last] = corner,
            None => self.shrink()?,
        }
        self.order();
        Ok(())
    }

    /// Moves all corners half the way to the best.
    fn shrink(&mut self) -> Result<(), FitError> {
        let best = self.corners[0].at.clone();
        for index in 1..self.corners.len() {
            let pairs = best.iter().zip(&self.corners[index].at);
            let at = pairs.map(|(b, c)| b + 0.5 * (c - b)).collect();
            self.corners[index] = self.corner(at)?;
        }
        Ok(())
    }
}
