//! The logarithm of the gamma function's magnitude.
//!
//! ```text
//! x < 1/2:          ln Γ(x) = ln(π / |x sin πx|) - ln Γ(-x), and from 0 to 1/2  ln Γ(2 + x) - ln(x (1 + x))
//! 1/2 … 3/2:        ln Γ(2 + t) - ln(1 + t),  t = x - 1, the leading terms of both in twice the precision
//! 3/2 … 5/2:        t P(t),  t = x - 2: exact at the zeros 1 and 2
//! 5/2 … 8:          down to the last row by Γ(x) = (x - 1) Γ(x - 1)
//! 8 …:              Stirling's series
//! ```
//!
//! Between negative integers the function has zeros that are no binary numbers; close to them only the
//! absolute error is small. The function has branches, so that rows are computed one by one.

use crate::vector::math::arithmetic::{Arithmetic, Double, LN2_HIGH, LN2_LOW, polynomial};
use crate::vector::math::dispatch::Unary;
use crate::vector::math::logarithm::{Ln, Log1p, bend, split};
use crate::vector::math::trigonometry::Sin;
use std::f64::consts::PI;

/// The slope of `ln Γ` at 2, 1 less Euler's constant.
const SLOPE: Double = Double { high: 0.42278433509846713, low: 4.942915152430645e-18 };

/// `(ln Γ(2 + t) / t - slope) / t`, |t| to 1/2; error of `ln Γ(2 + t) / t` 2^-55.9.
const LGAMMA: [f64; 18] = [
    0.32246703342411326,
    -0.06735230105319817,
    0.02058080842778032,
    -0.007385551028664065,
    0.0028905103310376836,
    -0.001192753912168947,
    0.0005096695153236933,
    -0.00022315474729065537,
    9.945767475568987e-05,
    -4.492639102450481e-05,
    2.0505581499855244e-05,
    -9.438187728936436e-06,
    4.384745134395896e-06,
    -2.0459922276698513e-06,
    9.199577290494666e-07,
    -4.2806867685893504e-07,
    2.7883212297971667e-07,
    -1.3616134641553497e-07,
];

/// `x` times what Stirling's leading terms leave, in 1/x², x from 8 on; error 2^-57.6.
const STIRLING: [f64; 7] = [
    0.08333333333333333,
    -0.0027777777777740933,
    0.000793650789832063,
    -0.0005952366063619936,
    0.0008414727886498618,
    -0.0018905369447262007,
    0.0050691912941764035,
];

/// `ln(2π) / 2 - 1/2`.
const STIRLING_CONSTANT: f64 = 0.4189385332046727;

/// Logarithm of the gamma function's magnitude.
pub struct Lgamma;

/// `ln Γ(2 + t)` for |t| to 1/2.
fn about_two<A: Arithmetic>(t: f64) -> f64 {
    t * A::fma(t, polynomial::<A, 18>(t, t * t, &LGAMMA), SLOPE.high)
}

/// `ln Γ(1 + t) = ln Γ(2 + t) - ln(1 + t)` for |t| to 1/2. Of both, the terms that cancel are exact.
fn about_one<A: Arithmetic>(x: f64) -> f64 {
    let t = x - 1.0;
    let (exponent, mantissa) = split(x);
    let f = mantissa - 1.0;
    let slope = Double::product::<A>(t, SLOPE.high);
    let log = Double::fast_sum(exponent * LN2_HIGH, f);
    let sum = Double::sum(slope.high, -log.high);
    let bends = t * t * polynomial::<A, 18>(t, t * t, &LGAMMA) - bend::<A>(f);
    let low = slope.low - log.low + t * SLOPE.low - exponent * LN2_LOW;
    sum.high + (sum.low + (low + bends))
}

/// `(x - 1/2)(ln x - 1) + …`, the product in twice the precision; it overflows where the result does.
fn stirling<A: Arithmetic>(x: f64) -> f64 {
    let reciprocal = 1.0 / x;
    let square = reciprocal * reciprocal;
    let correction = reciprocal * polynomial::<A, 7>(square, square * square, &STIRLING);
    let product = Double::product::<A>(x - 0.5, Ln::lane::<A>(x) - 1.0);
    match product.high == f64::INFINITY {
        true => f64::INFINITY,
        false => product.high + (product.low + (STIRLING_CONSTANT + correction)),
    }
}

/// The function of a number from 1/2 on.
fn from_half<A: Arithmetic>(x: f64) -> f64 {
    if x >= 8.0 {
        return stirling::<A>(x);
    }
    if x < 1.5 {
        return about_one::<A>(x);
    }
    let (mut x, mut product) = (x, 1.0);
    while x > 2.5 {
        x -= 1.0;
        product *= x;
    }
    match product == 1.0 {
        true => about_two::<A>(x - 2.0),
        false => about_two::<A>(x - 2.0) + Ln::lane::<A>(product),
    }
}

/// The function of a number from 0 on.
fn positive<A: Arithmetic>(x: f64) -> f64 {
    match x < 0.5 {
        true => about_two::<A>(x) - Log1p::lane::<A>(x) - Ln::lane::<A>(x),
        false => from_half::<A>(x),
    }
}

/// The sine of π times a positive number that is not whole.
fn sine_of_turns<A: Arithmetic>(x: f64) -> f64 {
    let fraction = x - x.floor();
    Sin::lane::<A>(PI * fraction.min(1.0 - fraction))
}

impl Unary for Lgamma {
    fn lane<A: Arithmetic>(x: f64) -> f64 {
        if x.is_nan() {
            return x;
        }
        if x > 0.0 {
            return positive::<A>(x);
        }
        let magnitude = -x;
        if magnitude.floor() == magnitude {
            return f64::INFINITY;
        }
        if magnitude < 1e-20 {
            return -Ln::lane::<A>(magnitude);
        }
        let reflected = magnitude * sine_of_turns::<A>(magnitude) / PI;
        -Ln::lane::<A>(reflected) - positive::<A>(magnitude)
    }
}
