//! Kernels as expressions: the matrix of a kernel at all distances, times a trace.
//!
//! ```text
//! current   y'_i = (sum_j g(t_i - t_j) w_j y_j + L_i y_first + R_i y_last) / (sum_j g(t_i - t_j) w_j + L_i + R_i)
//! 0.9       y'_i = sum_k g(s_k) y_clamped(i,k) / sum_k g(s_k)
//! ```
//!
//! Rows of the matrix stand on the time axis; its columns are the samples that a row reads, and stand where
//! energies do. A kernel of fixed width is a literal before anything runs.

use crate::model::component::Function;
use crate::model::kernel;
use crate::model::lower::formula::voigt;
use crate::model::lower::term::{Rates, Term};
use crate::registry::derived::nd;
use cembra_vm::builtins::{bools, math};
use cembra_vm::value::{NdRows, NdType, ScalarType, Value};
use std::f64::consts::{PI, SQRT_2};
use std::sync::Arc;

/// The kernel at distances.
///
/// # Panics
/// The function is no kernel, or has other parameters.
fn value<'b>(function: Function, d: Term<'b>, p: &[Term<'b>]) -> Term<'b> {
    let zero = d.beside(0.0);
    match (function, p) {
        (Function::GaussKernel, &[sd]) => (-0.5 * (d / sd).square()).exp(),
        (Function::SymmetricKernel, &[tau]) => (-d.apply(math::ABS) / tau).exp(),
        (Function::DecayKernel, &[tau]) => d.less(zero).select(zero, (-d / tau).exp()),
        (Function::RiseKernel, &[tau]) => zero.less(d).select(zero, (d / tau).exp()),
        (Function::BoxKernel, &[width]) => {
            let inside = d.apply(math::ABS).with(bools::LESS_EQUAL, width / 2.0);
            inside.select(d.beside(1.0), zero)
        }
        (Function::LorentzKernel, &[w]) => 1.0 / (1.0 + (2.0 * d / w).square()),
        (Function::VoigtKernel, &[sd, w]) => voigt(d, sd, w),
        _ => panic!("{function:?} with {} parameters is no kernel", p.len()),
    }
}

/// Mass of the kernel beyond both ends, at distances `left >= 0` and `right <= 0` from them; `None` for none.
fn outside<'b>(
    function: Function,
    left: Term<'b>,
    right: Term<'b>,
    width: Term<'b>,
) -> (Option<Term<'b>>, Option<Term<'b>>) {
    let tail = |d: Term<'b>| Some(width * (-d / width).exp());
    let gauss = |d: Term<'b>| Some(width * (PI / 2.0).sqrt() * (d / (SQRT_2 * width)).apply(math::ERFC));
    let clamped = |mass: Term<'b>| {
        let zero = mass.beside(0.0);
        Some(mass.maximum(zero).with(math::MINIMUM, width.maximum(zero)))
    };
    match function {
        Function::GaussKernel => (gauss(left), gauss(-right)),
        Function::SymmetricKernel => (tail(left), tail(-right)),
        Function::DecayKernel => (tail(left), None),
        Function::RiseKernel => (None, tail(-right)),
        Function::BoxKernel => (clamped(width / 2.0 - left), clamped(right + width / 2.0)),
        _ => panic!("{function:?} has no masses outside an axis"),
    }
}

/// The sum of each row of a matrix.
fn row_sums(matrix: Term<'_>) -> Term<'_> {
    Term { node: matrix.along(nd::SUM, -1, true), rates: matrix.rates.without(Rates::ENERGY) }
}

/// A trace where energies stand.
fn lying(trace: Term<'_>) -> Term<'_> {
    Term { node: trace.apply(nd::TRANSPOSE).node, rates: Rates::ENERGY }
}

/// One sample of a trace.
fn sample(trace: Term<'_>, place: i64) -> Term<'_> {
    let builder = trace.node.builder();
    let taken = builder.call(nd::TAKE, &[trace.node, builder.literal(place), builder.literal(0i64)]);
    Term { node: builder.call(nd::SQUEEZE, &[taken]), rates: Rates::NONE }
}

/// The value of a term at the first time, where rows that do not change with time have theirs.
pub fn at_first_time(term: Term<'_>) -> Term<'_> {
    if term.rates.has(Rates::TIME) { sample(term, 0) } else { term }
}

/// Convolves a trace in the current semantics.
pub fn convolve<'b>(function: Function, axis: &[f64], p: &[Term<'b>], trace: Term<'b>) -> Term<'b> {
    if !trace.rates.has(Rates::TIME) {
        // The edge values continue a constant, which stays what it is.
        return trace;
    }
    let (builder, count) = (trace.node.builder(), axis.len());
    let (first, last) = (axis[0], axis[count - 1]);
    let distances: Vec<f64> = axis.iter().flat_map(|t| axis.iter().map(move |s| t - s)).collect();
    let from = |edge: f64| axis.iter().map(|t| t - edge).collect::<Vec<f64>>();
    let column = |values: &[f64]| Term::array(builder, &[count, 1], values, Rates::TIME);
    let matrix = Term::array(builder, &[count, count], &distances, Rates::TIME | Rates::ENERGY);
    let weights = Term::array(builder, &[1, count], &kernel::weights(axis), Rates::ENERGY);
    let weighted = value(function, matrix, p) * weights;
    let (left, right) = outside(function, column(&from(first)), column(&from(last)), p[0]);
    let edges = [left.map(|mass| (mass, 0)), right.map(|mass| (mass, -1))];
    let (mut total, mut mass) = (row_sums(weighted * lying(trace)), row_sums(weighted));
    for (outer, place) in edges.into_iter().flatten() {
        total = total + outer * sample(trace, place);
        mass = mass + outer;
    }
    total / mass
}

/// Convolves a trace with a kernel that is sampled on a support (semantics 0.9).
pub fn convolve_sampled<'b>(
    function: Function,
    support: &[f64],
    count: usize,
    p: &[Term<'b>],
    trace: Term<'b>,
) -> Term<'b> {
    let builder = p[0].node.builder();
    let (samples, last) = (support.len(), count as i64 - 1);
    let kernel = value(function, Term::array(builder, &[1, samples], support, Rates::ENERGY), p);
    // The trace is padded by half the kernel with its edge values; beyond that it is zero.
    let (pad, first) = (samples as i64 / 2, (samples as i64 - 1) / 2);
    let places = (0..count as i64).flat_map(|i| (0..samples as i64).map(move |k| i + first - k));
    let inside: Vec<bool> = places.clone().map(|at| (-pad..=last + pad).contains(&at)).collect();
    let places: Vec<i64> = places.map(|at| at.clamp(0, last)).collect();
    let read = match trace.rates.has(Rates::TIME) {
        false => trace,
        true => {
            let flat = builder.call(nd::SQUEEZE, &[trace.node, builder.literal(1i64)]);
            let matrix = NdType::of_axes(ScalarType::Int64, [false, false]).expect("two axes");
            let rows = NdRows::from_slice(matrix, &[count, samples], &places).expect("a place each");
            let places = builder.literal(Value::NdArray(Arc::new(rows)));
            let node = builder.call(nd::TAKE, &[flat, places, builder.literal(0i64)]);
            Term { node, rates: Rates::TIME | Rates::ENERGY }
        }
    };
    let read = match inside.iter().all(|inside| *inside) {
        true => read,
        false => Term::mask(builder, &[count, samples], &inside, Rates::TIME | Rates::ENERGY)
            .select(read, trace.beside(0.0)),
    };
    row_sums(kernel * read) / row_sums(kernel)
}
