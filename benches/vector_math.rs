//! Special functions on rows in the first cache: nanoseconds per FLOAT64 element.
//!
//! Each function runs with the instructions of every level but the baseline (which is correct, not fast), then
//! one number at a time, then as the platform's own scalar function, where Rust has one. Parts of the Faddeeva function
//! also run with one y for all rows, as Voigt lines do; `benches/peers/vector_math/speed.py` has those of scipy.

#![allow(missing_docs, reason = "the macros of the bench harness write undocumented items")]

#[path = "workloads/per_operator.rs"]
mod per_operator;

use cembra::vm::vector::Level;
use cembra::vm::vector::math::{BinaryFunction, MathOperand, double};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use per_operator::{PerOperator, criterion};
use std::hint::black_box;

/// Rows of a block: its arguments and results fill a third of the first cache.
const ROWS: usize = 1024;

type Of1 = fn(f64) -> f64;
type Of2 = fn(f64, f64) -> f64;

/// Functions with the range of their arguments, and the platform's function of the same name.
const UNARY: [(&str, f64, f64, Option<Of1>); 24] = [
    ("exp", -20.0, 20.0, Some(f64::exp)),
    ("exp2", -20.0, 20.0, Some(f64::exp2)),
    ("expm1", -2.0, 2.0, Some(f64::exp_m1)),
    ("sigmoid", -20.0, 20.0, None),
    ("ln", 0.01, 20.0, Some(f64::ln)),
    ("log2", 0.01, 20.0, Some(f64::log2)),
    ("log10", 0.01, 20.0, Some(f64::log10)),
    ("log1p", -0.5, 2.0, Some(f64::ln_1p)),
    ("cbrt", -20.0, 20.0, Some(f64::cbrt)),
    ("sin", -10.0, 10.0, Some(f64::sin)),
    ("cos", -10.0, 10.0, Some(f64::cos)),
    ("tan", -10.0, 10.0, Some(f64::tan)),
    ("asin", -1.0, 1.0, Some(f64::asin)),
    ("acos", -1.0, 1.0, Some(f64::acos)),
    ("atan", -5.0, 5.0, Some(f64::atan)),
    ("sinh", -5.0, 5.0, Some(f64::sinh)),
    ("cosh", -5.0, 5.0, Some(f64::cosh)),
    ("tanh", -3.0, 3.0, Some(f64::tanh)),
    ("asinh", -5.0, 5.0, Some(f64::asinh)),
    ("acosh", 1.0, 20.0, Some(f64::acosh)),
    ("atanh", -1.0, 1.0, Some(f64::atanh)),
    ("erf", -3.0, 3.0, None),
    ("erfc", -3.0, 5.0, None),
    ("lgamma", 0.01, 20.0, None),
];

/// Functions of two numbers: the first from 0 to 20, the second from -5 to 5.
const BINARY: [(&str, Of2); 3] = [("pow", f64::powf), ("hypot", f64::hypot), ("atan2", f64::atan2)];

fn column(seed: u64, low: f64, high: f64) -> Vec<f64> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..ROWS).map(|_| low + (high - low) * random.f64()).collect()
}

/// The levels that are fast.
fn levels() -> impl Iterator<Item = Level> {
    Level::available()
        .iter()
        .copied()
        .filter(|level| cfg!(target_arch = "aarch64") || *level != Level::Baseline)
}

/// `lgamma` below 0, where it is reflected.
const BELOW_0: (&str, f64, f64, Option<Of1>) = ("lgamma", -20.0, -0.01, None);

fn of_one(c: &mut Criterion<PerOperator>) {
    let functions = double::unary_functions();
    for (name, low, high, platform) in UNARY.into_iter().chain([BELOW_0]) {
        let function = functions.iter().find(|f| f.name == name).expect("a function of the list");
        let x = column(12345, low, high);
        let mut out = vec![0.0; ROWS];
        let mut group =
            c.benchmark_group(if high < 0.0 { format!("{name} below 0") } else { name.to_string() });
        group.throughput(Throughput::Elements(ROWS as u64));
        for level in levels() {
            let rows = function.rows_on;
            group.bench_function(format!("{level:?}"), |b| b.iter(|| rows(level, black_box(&x), &mut out)));
        }
        let one_by_one = [("one by one", Some(function.one)), ("platform", platform)];
        for (label, f) in one_by_one.into_iter().filter_map(|(label, f)| Some((label, f?))) {
            group.bench_function(label, |b| {
                b.iter(|| black_box(&x).iter().zip(&mut out).for_each(|(x, out)| *out = f(*x)))
            });
        }
        group.finish();
    }
}

fn of_two(c: &mut Criterion<PerOperator>) {
    let functions = double::binary_functions();
    let (x, y) = (column(12345, 0.0, 20.0), column(54321, -5.0, 5.0));
    for (name, platform) in BINARY {
        let function = functions.iter().find(|f| f.name == name).expect("a function of the list");
        of_points(c, function, Some(platform), &x, &y);
    }
}

/// Parts of functions of the complex plane.
fn of_the_plane(c: &mut Criterion<PerOperator>) {
    let (x, y) = (column(12345, -20.0, 20.0), column(54321, 0.01, 20.0));
    for function in double::plane_functions() {
        of_points(c, &function, None, &x, &y);
        let (rows, mut out) = (function.rows_on, vec![0.0; ROWS]);
        let mut group = c.benchmark_group(format!("{} one y", function.name));
        group.throughput(Throughput::Elements(ROWS as u64));
        for level in levels() {
            group.bench_function(format!("{level:?}"), |b| {
                b.iter(|| rows(level, MathOperand::Rows(black_box(&x)), MathOperand::One(y[0]), &mut out))
            });
        }
        group.finish();
    }
}

fn of_points(
    c: &mut Criterion<PerOperator>,
    function: &BinaryFunction<f64>,
    platform: Option<Of2>,
    x: &[f64],
    y: &[f64],
) {
    let mut out = vec![0.0; ROWS];
    let mut group = c.benchmark_group(function.name);
    group.throughput(Throughput::Elements(ROWS as u64));
    for level in levels() {
        let rows = function.rows_on;
        group.bench_function(format!("{level:?}"), |b| {
            b.iter(|| rows(level, MathOperand::Rows(black_box(x)), MathOperand::Rows(y), &mut out))
        });
    }
    let one_by_one = [("one by one", Some(function.one)), ("platform", platform)];
    for (label, f) in one_by_one.into_iter().filter_map(|(label, f)| Some((label, f?))) {
        group.bench_function(label, |b| {
            b.iter(|| black_box(x).iter().zip(y).zip(&mut out).for_each(|((x, y), out)| *out = f(*x, *y)))
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = criterion("ns/element");
    targets = of_one, of_two, of_the_plane
}
criterion_main!(benches);
