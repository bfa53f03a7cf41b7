//! Inverse hyperbolic functions, as logarithms of twice the precision.
//!
//! ```text
//! asinh x = ln(x + sqrt(x² + 1))        acosh x = ln(x + sqrt(x² - 1))        atanh x = ln((1 + x) / (1 - x)) / 2
//! ```
//!
//! Near 1, the argument is written as 1 + t with t in twice the precision, so that nothing cancels.

use crate::vector::math::arithmetic::Double;
use crate::vector::math::dispatch::Unary;
use crate::vector::math::logarithm::ln_double;
use crate::vector::math::real::Real;

/// Inverse hyperbolic sine.
pub struct Asinh;
/// Inverse hyperbolic cosine.
pub struct Acosh;
/// Inverse hyperbolic tangent.
pub struct Atanh;

/// Above this, x² ± 1 is x², and the functions are ln 2x.
const FAR: f64 = 1e9;

/// The root of a positive number in twice the precision.
#[inline(always)]
fn root<N: Real>(x: Double<N>) -> Double<N> {
    let high = x.high.sqrt();
    let left = (-high).fma(high, x.high) + x.low;
    Double { high, low: left * 0.5 / N::select(high.eq(0.0), 1.0, high) }
}

/// `1 + t`.
#[inline(always)]
fn beside_one<N: Real>(t: Double<N>) -> Double<N> {
    let sum = Double::sum(1.0, t.high);
    Double::fast_sum(sum.high, sum.low + t.low)
}

/// `ln(1 + t)`, and `ln(2 * far)` instead where that is asked for.
#[inline(always)]
fn ln_of<N: Real>(t: Double<N>, is_far: N::Mask, far: N) -> N {
    let x = Double::select(is_far, Double::new(far), beside_one(t));
    ln_double(x, N::select(is_far, 1.0, 0.0))
}

/// The exact sum of a number and one of twice the precision, the result of twice the precision.
#[inline(always)]
fn add<N: Real>(x: impl Into<N>, y: Double<N>) -> Double<N> {
    let sum = Double::sum(x, y.high);
    Double::fast_sum(sum.high, sum.low + y.low)
}

impl Unary for Asinh {
    /// With `t = x + x² / (1 + sqrt(1 + x²))`.
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let magnitude = x.abs();
        let is_far = magnitude.gt(FAR);
        let near = N::select(is_far, FAR, magnitude);
        let square = Double::product(near, near);
        let bottom = add(1.0, root(add(1.0, square)));
        let t = add(near, square.over(bottom));
        let value = ln_of(t, is_far, magnitude);
        let value = N::select(magnitude.lt(1e-8) | magnitude.eq(f64::INFINITY), magnitude, value);
        value.copysign(x)
    }
}

impl Unary for Acosh {
    /// With `w = x - 1` and `t = w + sqrt(2w + w²)`.
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let is_far = x.gt(FAR);
        let near = N::select(is_far, FAR, x);
        let w = Double::sum(near, N::from(-1.0));
        let square = w.times(w);
        let radicand = add(w.high * 2.0, Double { high: square.high, low: square.low + w.low * 2.0 });
        let root = root(radicand);
        let sum = Double::sum(w.high, root.high);
        let t = Double::fast_sum(sum.high, sum.low + (w.low + root.low));
        let value = ln_of(t, is_far, x);
        N::select(x.ge(1.0), N::select(x.eq(f64::INFINITY), x, value), f64::NAN)
    }
}

impl Unary for Atanh {
    /// With `t = 2x / (1 - x)`.
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let magnitude = x.abs();
        let inside = magnitude.lt(1.0);
        let near = N::select(inside, magnitude, 0.5);
        let t = Double::new(near * 2.0).over(Double::sum(1.0, -near));
        let value = ln_double(beside_one(t), N::from(0.0)) * 0.5;
        let value = N::select(inside, value, N::select(magnitude.eq(1.0), f64::INFINITY, f64::NAN));
        N::select(magnitude.lt(1e-8), x, value.copysign(x))
    }
}
