//! What components compute: a value at one point of their axis.
//!
//! Every evaluator takes component mathematics from here. Arithmetic is that of IEEE 754: a width of
//! zero gives NaN or infinities, never an error.

use crate::model::component::{Function, Semantics};
use crate::model::functions::{atan, cos, erf, exp, faddeeva_real, pow, sin, sinc};
use std::f64::consts::{LN_2, PI, SQRT_2};

/// The value of a peak or of a background that needs no spectrum.
///
/// # Panics
/// The function is none of these, or has other parameters.
pub fn energy(function: Function, x: f64, p: &[f64]) -> f64 {
    match (function, p) {
        (Function::Gauss, &[a, x0, sd]) => a * exp(-0.5 * square((x - x0) / sd)),
        (Function::GaussAsym, &[a, x0, sd, ratio]) => {
            let width = if x < x0 { sd } else { sd * ratio };
            a * exp(-0.5 * square((x - x0) / width))
        }
        (Function::Lorentz, &[a, x0, w]) => a / (1.0 + square(2.0 * (x - x0) / w)),
        (Function::Voigt, &[a, x0, sd, w]) => a * (voigt(x - x0, sd, w) / voigt(0.0, sd, w)),
        (Function::Gls, &[a, x0, f, m]) => {
            let u = square((x - x0) / f);
            a * ((1.0 - m) * exp(-4.0 * LN_2 * u) + m / (1.0 + 4.0 * u))
        }
        (Function::Glp, &[a, x0, f, m]) => {
            let u = square((x - x0) / f);
            a * exp(-4.0 * LN_2 * u * (1.0 - m)) / (1.0 + 4.0 * m * u)
        }
        (Function::Ds, &[a, x0, f, alpha]) => {
            let angle = PI * alpha / 2.0 + (1.0 - alpha) * atan((x - x0) / f);
            a * cos(angle) / pow(square(f) + square(x - x0), (1.0 - alpha) / 2.0)
        }
        (Function::Offset, &[y0]) => y0,
        (Function::LinBack, &[m, b, start, stop]) => line(x, m, b, start, stop),
        _ => panic!("{function:?} with {} parameters has no value at one energy", p.len()),
    }
}

/// A component on the whole axis. In the older semantics Voigt is scaled by its maximum there.
pub fn on_axis(function: Function, semantics: Semantics, axis: &[f64], p: &[f64]) -> Vec<f64> {
    match (function, semantics, p) {
        (Function::Voigt, Semantics::V0_9, &[a, x0, sd, w]) => {
            let line: Vec<f64> = axis.iter().map(|x| voigt(x - x0, sd, w)).collect();
            let top = line.iter().copied().fold(f64::NEG_INFINITY, greatest);
            line.into_iter().map(|v| a * (v / top)).collect()
        }
        _ => axis.iter().map(|x| energy(function, *x, p)).collect(),
    }
}

/// The larger one; NaN if either is.
fn greatest(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

fn square(x: f64) -> f64 {
    x * x
}

/// `Re w` of the Voigt line at a distance from its centre.
pub fn voigt(distance: f64, sd: f64, w: f64) -> f64 {
    faddeeva_real(distance / (sd * SQRT_2), w / 2.0 / (sd * SQRT_2))
}

/// Constant, rising between start and stop, constant; NaN unless start is below stop.
fn line(x: f64, m: f64, b: f64, start: f64, stop: f64) -> f64 {
    match () {
        () if start >= stop => f64::NAN,
        () if x < start => b,
        () if x > stop => m * (stop - start) + b,
        () => m * (x - start) + b,
    }
}

/// `p` times the sum of the spectrum from each point to the end of the axis, in the order of the axis.
pub fn shirley(p: f64, spectrum: &[f64]) -> Vec<f64> {
    let mut background = spectrum.to_vec();
    let mut sum = 0.0;
    for value in background.iter_mut().rev() {
        sum += *value;
        *value = p * sum;
    }
    background
}

/// The value of a function of time; with a trailing `y0` in the older semantics.
///
/// # Panics
/// The function is no function of time, or has other parameters.
pub fn time(function: Function, t: f64, p: &[f64]) -> f64 {
    let count = function.parameters(Semantics::Current).len();
    let y0 = p.get(count).copied().unwrap_or(0.0);
    let t0 = p[count - 1];
    let since = t - t0;
    let active = match (function, &p[..count]) {
        (Function::ErrorFunction, &[a, sd, _]) => return a / 2.0 * (1.0 + erf(since / (sd * SQRT_2))) + y0,
        (Function::SquareRoot, &[a, _]) => return a * since.max(0.0).sqrt() + y0,
        (Function::Step, &[a, _]) => a,
        (Function::Linear, &[m, _]) => m * since,
        (Function::Exponential, &[a, tau, _]) => a * exp(-1.0 / tau * since),
        (Function::Sine, &[a, f, phi, _]) => a * sin(2.0 * PI * f * since + phi),
        (Function::Sinc, &[a, f, _]) => a * sinc(2.0 * f * since),
        _ => panic!("{function:?} with {} parameters is no function of time", p.len()),
    };
    if t < t0 { 0.0 } else { active + y0 }
}

/// The value of a profile term.
///
/// # Panics
/// The function is no profile, or has other parameters.
pub fn profile(function: Function, z: f64, p: &[f64]) -> f64 {
    match (function, p) {
        (Function::ProfileDecay, &[a, tau]) => a * exp(-z / tau),
        (Function::ProfileLinear, &[m, b]) => m * z + b,
        (Function::ProfileGauss, &[a, x0, sd]) => a * exp(-0.5 * square((z - x0) / sd)),
        _ => panic!("{function:?} with {} parameters is no profile", p.len()),
    }
}
