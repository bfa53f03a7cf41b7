//! What components and kernels compute, written by hand: a value at one point of their axis.
//!
//! Arithmetic is that of IEEE 754: a width of zero gives NaN or infinities, never an error.

use cembra::model::component::{Function, Semantics};
use cembra::vm::vector::math::double::{atan, cos, erf, erfc, exp, faddeeva_real, pow, sin};
use std::f64::consts::{LN_2, PI, SQRT_2};

/// `sin(pi x) / (pi x)`, 1 at 0.
fn sinc(x: f64) -> f64 {
    let angle = PI * x;
    if angle == 0.0 { 1.0 } else { sin(angle) / angle }
}

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

/// The kernel at a distance.
pub fn kernel(function: Function, d: f64, p: &[f64]) -> f64 {
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
fn outside(function: Function, left: f64, right: f64, p: &[f64]) -> (f64, f64) {
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

/// Convolves a trace in the current semantics; NaN where the kernel has no mass.
pub fn convolve(function: Function, axis: &[f64], p: &[f64], trace: &[f64]) -> Vec<f64> {
    let weights = cembra::model::kernel::weights(axis);
    let (Some(first), Some(last)) = (axis.first(), axis.last()) else { return Vec::new() };
    let row = |t: &f64| {
        let (left, right) = outside(function, t - first, t - last, p);
        let mut sum = left * trace[0] + right * trace[trace.len() - 1];
        let mut mass = left + right;
        for (j, s) in axis.iter().enumerate() {
            let weight = kernel(function, t - s, p) * weights[j];
            sum += weight * trace[j];
            mass += weight;
        }
        sum / mass
    };
    axis.iter().map(row).collect()
}

/// Convolves a trace with a sampled kernel (semantics 0.9).
pub fn convolve_sampled(function: Function, support: &[f64], p: &[f64], trace: &[f64]) -> Vec<f64> {
    let samples: Vec<f64> = support.iter().map(|d| kernel(function, *d, p)).collect();
    let total: f64 = samples.iter().sum();
    let (count, pad) = (trace.len() as isize, (samples.len() / 2) as isize);
    let padded = |i: isize| trace[(i - pad).clamp(0, count - 1) as usize];
    let length = count + 2 * pad;
    // The centred part of the full convolution begins here.
    let first = (samples.len() as isize - 1) / 2;
    let sample = |i: isize| {
        let inside = |(k, weight): (usize, &f64)| {
            let at = i + pad + first - k as isize;
            (0..length).contains(&at).then(|| weight * padded(at))
        };
        samples.iter().enumerate().filter_map(inside).sum::<f64>() / total
    };
    (0..count).map(sample).collect()
}
