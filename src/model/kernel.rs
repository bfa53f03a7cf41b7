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

use crate::model::component::Function;
use crate::model::functions::{erfc, exp};
use crate::model::shape::voigt;
use std::f64::consts::{PI, SQRT_2};

/// Samples a kernel of semantics 0.9 may have: its width over the step of the axis says how many.
pub const SAMPLE_LIMIT: usize = 100_000;

/// Products of a convolution: points of the axis times samples of the kernel.
pub const PRODUCT_LIMIT: usize = 400_000_000;

/// Products of a convolution that is compiled: a program has matrices of them. Beyond that models are interpreted.
pub const MATRIX_LIMIT: usize = 8_000_000;

/// The kernel at a distance.
///
/// # Panics
/// The function is no kernel, or has other parameters.
pub fn value(function: Function, d: f64, p: &[f64]) -> f64 {
    let one_if = |inside: bool| f64::from(u8::from(inside));
    match (function, p) {
        (Function::GaussKernel, &[sd]) => exp(-0.5 * (d / sd) * (d / sd)),
        (Function::SymmetricKernel, &[tau]) => exp(-d.abs() / tau),
        (Function::DecayKernel, &[tau]) => {
            if d >= 0.0 {
                exp(-d / tau)
            } else {
                0.0
            }
        }
        (Function::RiseKernel, &[tau]) => {
            if d <= 0.0 {
                exp(d / tau)
            } else {
                0.0
            }
        }
        (Function::BoxKernel, &[width]) => one_if(d.abs() <= width / 2.0),
        (Function::LorentzKernel, &[w]) => 1.0 / (1.0 + (2.0 * d / w) * (2.0 * d / w)),
        (Function::VoigtKernel, &[sd, w]) => voigt(d, sd, w),
        _ => panic!("{function:?} with {} parameters is no kernel", p.len()),
    }
}

/// Mass of the kernel beyond both ends, at distances `left >= 0` and `right <= 0` from them.
pub fn outside(function: Function, left: f64, right: f64, p: &[f64]) -> (f64, f64) {
    let width = p[0];
    let tail = |d: f64| width * exp(-d / width);
    let gauss = |d: f64| width * (PI / 2.0).sqrt() * erfc(d / (SQRT_2 * width));
    match function {
        Function::GaussKernel => (gauss(left), gauss(-right)),
        Function::SymmetricKernel => (tail(left), tail(-right)),
        Function::DecayKernel => (tail(left), 0.0),
        Function::RiseKernel => (0.0, tail(-right)),
        Function::BoxKernel => (
            (width / 2.0 - left).clamp(0.0, width.max(0.0)),
            (right + width / 2.0).clamp(0.0, width.max(0.0)),
        ),
        _ => panic!("{function:?} has no masses outside an axis"),
    }
}

/// Trapezoid weights: half of both neighbouring cells.
pub fn weights(axis: &[f64]) -> Vec<f64> {
    let cell = |i: usize| axis.get(i + 1).map_or(0.0, |next| next - axis[i]);
    (0..axis.len()).map(|i| (cell(i) + if i > 0 { cell(i - 1) } else { 0.0 }) / 2.0).collect()
}

/// Convolves a trace in the current semantics; NaN where the kernel has no mass.
pub fn convolve(function: Function, axis: &[f64], p: &[f64], trace: &[f64]) -> Vec<f64> {
    let weights = weights(axis);
    let (Some(first), Some(last)) = (axis.first(), axis.last()) else { return Vec::new() };
    let row = |t: &f64| {
        let (left, right) = outside(function, t - first, t - last, p);
        let mut sum = left * trace[0] + right * trace[trace.len() - 1];
        let mut mass = left + right;
        for (j, s) in axis.iter().enumerate() {
            let weight = value(function, t - s, p) * weights[j];
            sum += weight * trace[j];
            mass += weight;
        }
        sum / mass
    };
    axis.iter().map(row).collect()
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
pub fn convolve_sampled(function: Function, support: &[f64], p: &[f64], trace: &[f64]) -> Vec<f64> {
    let kernel: Vec<f64> = support.iter().map(|d| value(function, *d, p)).collect();
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
    (0..count).map(sample).collect()
}
