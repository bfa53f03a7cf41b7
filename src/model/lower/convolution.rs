//! Kernels as expressions: the matrix of a kernel at all distances, times a trace.
//!
//! ```text
//! current   y'_i = (sum_j g(t_i - t_j) w_j y_j + L_i y_first + R_i y_last) / (sum_j g(t_i - t_j) w_j + L_i + R_i)
//! 0.9       y'_i = sum_k g(s_k) y_clamped(i,k) / sum_k g(s_k)
//! ```
//!
//! Rows of the matrix stand on the time axis; its columns are the samples that a row reads, and stand where
//! energies do. A kernel of fixed width is a literal before anything runs.

use crate::model::component::{Function, Semantics};
use crate::model::formula::Formula;
use crate::model::kernel;
use crate::model::lower::term::{Rates, Term};
use crate::registry::derived::nd;
use cembra_vm::value::{NdRows, NdType, ScalarType, Value};
use std::sync::Arc;

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
    let column = |values: Vec<f64>| Term::array(builder, &[count, 1], &values, Rates::TIME);
    let matrix = Term::array(builder, &[count, count], &distances, Rates::TIME | Rates::ENERGY);
    let weights = Term::array(builder, &[1, count], &kernel::weights(axis), Rates::ENERGY);
    let weighted = function.formula(Semantics::Current).along(matrix, p).whole() * weights;
    let from_first = column(axis.iter().map(|t| t - first).collect());
    let to_last = column(axis.iter().map(|t| last - t).collect());
    let [after, before] = function.tails();
    let edge = |tail: Option<&Formula>, distance, place| tail.map(|f| (f.along(distance, p).whole(), place));
    let edges = [edge(after, from_first, 0), edge(before, to_last, -1)];
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
    let distances = Term::array(builder, &[1, samples], support, Rates::ENERGY);
    let kernel = function.formula(Semantics::V0_9).along(distances, p).whole();
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
