//! Convolution of a trace with a kernel.
//!
//! Current semantics, on any increasing axis: the kernel is a matrix with the trapezoid weight of each
//! sample, and what lies outside the axis counts with the edge values, by the exact mass of the kernel
//! there; each row is divided by its sum, so constants stay what they are.
//!
//! ```text
//! y'_i = (sum_j g(t_i - t_j) w_j y_j + L_i y_first + R_i y_last) / (sum_j g(t_i - t_j) w_j + L_i + R_i)
//! ```
//!
//! Semantics 0.9, on an even axis: the kernel is sampled on a support that the *initial* width fixes, and
//! the trace is padded with its edge values.

use crate::model::component::{Function, Semantics};
use crate::model::formula::{Formula, FormulaError};
use thiserror::Error;

/// Samples a kernel of semantics 0.9 may have: its width over the step of the axis says how many.
pub const SAMPLE_LIMIT: usize = 100_000;

/// Products of a convolution: points of the axis times samples of the kernel.
pub const PRODUCT_LIMIT: usize = 400_000_000;

/// Products of a convolution that is compiled: a program has matrices of them. Beyond that models are interpreted.
pub const MATRIX_LIMIT: usize = 8_000_000;

/// A convolution whose matrix is too large for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "limit convolution-matrix: {products} products of times and samples, at most {MATRIX_LIMIT} are compiled"
)]
pub struct LargeMatrix {
    /// Times of the axis times samples of the kernel.
    pub products: usize,
}

/// Checks that a convolution of so many times is not too large for a program, before its matrix is made.
///
/// # Errors
/// It is.
pub fn check_matrix(times: usize, samples: usize) -> Result<(), LargeMatrix> {
    let products = times.saturating_mul(samples);
    if products > MATRIX_LIMIT { Err(LargeMatrix { products }) } else { Ok(()) }
}

/// Trapezoid weights: half of both neighbouring cells.
pub fn weights(axis: &[f64]) -> Vec<f64> {
    let cell = |i: usize| axis.get(i + 1).map_or(0.0, |next| next - axis[i]);
    (0..axis.len()).map(|i| (cell(i) + if i > 0 { cell(i - 1) } else { 0.0 }) / 2.0).collect()
}

/// Convolves a trace in the current semantics; NaN where the kernel has no mass.
///
/// # Errors
/// There is no memory.
pub fn convolve(
    function: Function,
    axis: &[f64],
    p: &[f64],
    trace: &[f64],
) -> Result<Vec<f64>, FormulaError> {
    let weights = weights(axis);
    let (Some(first), Some(last)) = (axis.first(), axis.last()) else { return Ok(Vec::new()) };
    let mass = |tail: Option<&Formula>, distances: Vec<f64>| match tail {
        Some(tail) => tail.evaluate_along(&distances, p),
        None => Ok(vec![0.0; axis.len()]),
    };
    let [after, before] = function.tails();
    let left = mass(after, axis.iter().map(|t| t - first).collect())?;
    let right = mass(before, axis.iter().map(|t| last - t).collect())?;
    let kernel = function.formula(Semantics::Current);
    let mut distances = vec![0.0; axis.len()];
    let row = |(i, t): (usize, &f64)| {
        distances.iter_mut().zip(axis).for_each(|(d, s)| *d = t - s);
        let mut sum = left[i] * trace[0] + right[i] * trace[trace.len() - 1];
        let mut mass = left[i] + right[i];
        for (j, value) in kernel.evaluate_along(&distances, p)?.into_iter().enumerate() {
            sum += value * weights[j] * trace[j];
            mass += value * weights[j];
        }
        Ok(sum / mass)
    };
    axis.iter().enumerate().map(row).collect()
}

/// Half widths of the sampled kernel in units of its first parameter (semantics 0.9).
fn reach(function: Function, initial: &[f64]) -> f64 {
    match (function, initial) {
        (Function::GaussKernel, _) => 4.0,
        (Function::LorentzKernel, _) => 10.0,
        (Function::VoigtKernel, &[sd, w]) => (10.0 * w / sd).max(12.0),
        (Function::BoxKernel, _) => 1.0,
        _ => 6.0,
    }
}

/// How many samples the kernel of semantics 0.9 has, however many that are.
pub fn sample_count(function: Function, axis: &[f64], initial: &[f64]) -> f64 {
    let step = axis[1] - axis[0];
    let half = initial[0] * reach(function, initial);
    ((half + step - -half) / step).ceil().max(0.0)
}

/// Where the kernel of semantics 0.9 is sampled: from minus the half width in steps of the axis, up to and
/// with the first point that is not inside. It need not be centred. No more than [`SAMPLE_LIMIT`] points: a model
/// whose kernels have more is not loaded.
pub fn support(function: Function, axis: &[f64], initial: &[f64]) -> Vec<f64> {
    let step = axis[1] - axis[0];
    let half = initial[0] * reach(function, initial);
    let count = (sample_count(function, axis, initial) as usize).min(SAMPLE_LIMIT);
    let delta = (-half + step) - -half;
    (0..count).map(|i| -half + i as f64 * delta).collect()
}

/// Convolves a trace with a sampled kernel (semantics 0.9).
///
/// # Errors
/// There is no memory.
pub fn convolve_sampled(
    function: Function,
    support: &[f64],
    p: &[f64],
    trace: &[f64],
) -> Result<Vec<f64>, FormulaError> {
    let kernel = function.formula(Semantics::V0_9).evaluate_along(support, p)?;
    let total: f64 = kernel.iter().sum();
    let (count, pad) = (trace.len() as isize, (kernel.len() / 2) as isize);
    let padded = |i: isize| trace[(i - pad).clamp(0, count - 1) as usize];
    let length = count + 2 * pad;
    // The centred part of the full convolution begins here.
    let first = (kernel.len() as isize - 1) / 2;
    let sample = |i: isize| {
        let inside = |(k, weight): (usize, &f64)| {
            let at = i + pad + first - k as isize;
            (0..length).contains(&at).then(|| weight * padded(at))
        };
        kernel.iter().enumerate().filter_map(inside).sum::<f64>() / total
    };
    Ok((0..count).map(sample).collect())
}
