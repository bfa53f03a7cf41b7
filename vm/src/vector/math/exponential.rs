//! Exponential functions: exp, exp2, expm1, and the logistic curve.
//!
//! ```text
//! x = n ln 2 + r,  |r| <= ln 2 / 2        e^x = 2^n (1 + r + r² q(r))
//! ```
//!
//! The reduction is that of Cody and Waite: the product of n and the first part of ln 2 is exact. 2^n is
//! multiplied in two steps, so that a result below the normal numbers is rounded once.

use crate::vector::math::arithmetic::{
    Double, LN2_HIGH, LN2_LOW, SHIFTER, nearest, polynomial, power_of_two,
};
use crate::vector::math::dispatch::Unary;
use crate::vector::math::real::Real;
use std::f64::consts::{LN_2, LOG2_E};

/// `(e^r - 1 - r) / r²` on ±0.3467; error 2^-59.7 of r.
const EXP: [f64; 11] = [
    0.5,
    0.16666666666666677,
    0.0416666666666667,
    0.008333333333321893,
    0.0013888888888867286,
    0.00019841269885538995,
    2.480158735989241e-05,
    2.7557244742856536e-06,
    2.755724320890293e-07,
    2.5108866887035604e-08,
    2.092432945458029e-09,
];

/// `(2^r - 1 - r ln 2) / r²` on ±1/2.
const EXP2: [f64; 11] = [
    0.24022650695910072,
    0.05550410866482161,
    0.009618129107628486,
    0.0013333558146410023,
    0.00015403530393357515,
    1.5252733838213416e-05,
    1.3215486821304644e-06,
    1.0178058448705496e-07,
    7.054892131770824e-09,
    4.455617741441703e-10,
    2.5736982776423197e-11,
];

/// e to the power x.
pub struct Exp;
/// 2 to the power x.
pub struct Exp2;
/// e to the power x, less 1.
pub struct Expm1;
/// `1 / (1 + exp(-x))`.
pub struct Sigmoid;

/// The number of times ln 2 fits into x, and the rest.
#[inline(always)]
pub fn reduce<N: Real>(x: N) -> (N, Double<N>) {
    let n = x.fma(LOG2_E, SHIFTER) - SHIFTER;
    let first = n.fma(-LN2_HIGH, x);
    let high = n.fma(-LN2_LOW, first);
    (n, Double { high, low: n.fma(-LN2_LOW, first - high) })
}

/// `e^r - 1 - r` for a reduced r.
#[inline(always)]
pub fn tail<N: Real>(r: N) -> N {
    let square = r * r;
    square * polynomial(r, square, &EXP)
}

/// `x * 2^n` for |n| up to 2044, rounded once.
#[inline(always)]
pub fn scale<N: Real>(x: N, n: N) -> N {
    let half = nearest(n * 0.5);
    x * power_of_two(half) * power_of_two(n - half)
}

/// `x * 2^n` for an x near 1 and -1077 <= n <= 1025, rounded once.
#[inline(always)]
pub fn scale_near<N: Real>(x: N, n: N) -> N {
    // The first product is exact, far from both ends of the range; the second one reaches them.
    let is_below = n.lt(0.0);
    let shift = N::select(is_below, 128.0, -64.0);
    let back = N::select(is_below, TWO_TO_MINUS_128, TWO_TO_64);
    x * power_of_two(n + shift) * back
}

const TWO_TO_MINUS_128: f64 = f64::from_bits((1023 - 128) << 52);
const TWO_TO_64: f64 = f64::from_bits((1023 + 64) << 52);

/// x where it lies between the bounds, else the nearer bound; NaN stays.
#[inline(always)]
pub fn clamp<N: Real>(x: N, low: f64, high: f64) -> N {
    let x = N::select(x.gt(high), high, x);
    N::select(x.lt(low), low, x)
}

/// `e^x` for an x of twice the precision, |x| < 1400: a number near 1, as a
/// sum whose lower part may overlap the higher, and the power of two that it lacks.
#[inline(always)]
pub fn exp_double<N: Real>(x: Double<N>) -> (Double<N>, N) {
    let (n, r) = reduce(x.high);
    let r = Double::fast_sum(r.high, r.low + x.low);
    let sum = Double::fast_sum(1.0, r.high);
    (Double { high: sum.high, low: sum.low + (r.low + tail(r.high)) }, n)
}

/// `e^x` for |x| up to 700: neither a clamp nor a scaling in two steps is needed.
#[inline(always)]
pub fn exp_inside<N: Real>(x: N) -> N {
    let (n, r) = reduce(x);
    (r.high + tail(r.high) + 1.0) * power_of_two(n)
}

impl Unary for Exp {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let (n, r) = reduce(clamp(x, -746.0, 710.0));
        scale_near(r.high + tail(r.high) + 1.0, n)
    }

    #[inline(always)]
    fn is_fast<N: Real>(x: N) -> N::Mask {
        x.abs().le(700.0)
    }

    #[inline(always)]
    fn fast<N: Real>(x: N) -> N {
        exp_inside(x)
    }
}

impl Unary for Exp2 {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let x = clamp(x, -1076.0, 1025.0);
        let n = nearest(x);
        let r = x - n;
        let square = r * r;
        let tail = square * polynomial(r, square, &EXP2);
        scale_near(r.fma(LN_2, tail) + 1.0, n)
    }
}

impl Unary for Expm1 {
    /// `2^n - 1 + 2^n (r + …)`, with the rounding of the first two terms put into the third. All is halved
    /// until the end, because 2^1024 is no number.
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let (n, r) = reduce(clamp(x, -50.0, 710.0));
        let half = power_of_two(n - 1.0);
        let sum = Double::fast_sum(half - 0.5, half * r.high);
        let value = (sum.high + half.fma(r.low + tail(r.high), sum.low)) * 2.0;
        N::select(x.abs().lt(f64::EPSILON / 4.0), x, value)
    }
}

impl Unary for Sigmoid {
    /// With the exponential of `-|x|`, which does not overflow, and its scale apart.
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let exponent = clamp(-x.abs(), -746.0, 0.0);
        let (power, n) = exp_double(Double::new(exponent));
        let power = Double::fast_sum(power.high, power.low);
        let unit = power_of_two(N::select(n.lt(-200.0), -200.0, n));
        let sum = Double::fast_sum(1.0, power.high * unit);
        let bottom = Double { high: sum.high, low: power.low.fma(unit, sum.low) };
        let falls = x.lt(0.0);
        let top = Double { high: N::select(falls, power.high, 1.0), low: N::select(falls, power.low, 0.0) };
        scale(top.over(bottom).value(), N::select(falls, n, 0.0))
    }
}
