//! Inverse hyperbolic functions, as logarithms of twice the precision.
//!
//! ```text
//! asinh x = ln(x + sqrt(x² + 1))        acosh x = ln(x + sqrt(x² - 1))        atanh x = ln((1 + x) / (1 - x)) / 2
//! ```
//!
//! Near 1, the argument is written as 1 + t with t in twice the precision, so that nothing cancels.

use crate::vector::math::arithmetic::{Arithmetic, Double, select, with_sign};
use crate::vector::math::dispatch::Unary;
use crate::vector::math::logarithm::ln_double;

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
fn root<A: Arithmetic>(x: Double) -> Double {
    let high = x.high.sqrt();
    let left = A::fma(-high, high, x.high) + x.low;
    Double { high, low: 0.5 * left / select(high == 0.0, 1.0, high) }
}

/// `ln(1 + t)`, and `ln(2 * far)` instead where that is asked for.
#[inline(always)]
fn ln_of<A: Arithmetic>(t: Double, is_far: bool, far: f64) -> f64 {
    let sum = Double::sum(1.0, t.high);
    let near = Double::fast_sum(sum.high, sum.low + t.low);
    let x = Double { high: select(is_far, far, near.high), low: select(is_far, 0.0, near.low) };
    ln_double::<A>(x, select(is_far, 1.0, 0.0))
}

/// The exact sum of a number and one of twice the precision, the result of twice the precision.
#[inline(always)]
fn add(x: f64, y: Double) -> Double {
    let sum = Double::sum(x, y.high);
    Double::fast_sum(sum.high, sum.low + y.low)
}

impl Unary for Asinh {
    /// With `t = x + x² / (1 + sqrt(1 + x²))`.
    #[inline(always)]
    fn lane<A: Arithmetic>(x: f64) -> f64 {
        let magnitude = x.abs();
        let is_far = magnitude > FAR;
        let near = select(is_far, FAR, magnitude);
        let square = Double::product::<A>(near, near);
        let bottom = add(1.0, root::<A>(add(1.0, square)));
        let t = add(near, square.over::<A>(bottom));
        let value = ln_of::<A>(t, is_far, magnitude);
        let value = select(magnitude < 1e-8 || magnitude == f64::INFINITY, magnitude, value);
        with_sign(value, x)
    }
}

impl Unary for Acosh {
    /// With `w = x - 1` and `t = w + sqrt(2w + w²)`.
    #[inline(always)]
    fn lane<A: Arithmetic>(x: f64) -> f64 {
        let is_far = x > FAR;
        let near = select(is_far, FAR, x);
        let w = Double::sum(near, -1.0);
        let square = w.times::<A>(w);
        let radicand = add(2.0 * w.high, Double { high: square.high, low: square.low + 2.0 * w.low });
        let root = root::<A>(radicand);
        let sum = Double::sum(w.high, root.high);
        let t = Double::fast_sum(sum.high, sum.low + (w.low + root.low));
        let value = ln_of::<A>(t, is_far, x);
        select(x >= 1.0, select(x == f64::INFINITY, x, value), f64::NAN)
    }
}

impl Unary for Atanh {
    /// With `t = 2x / (1 - x)`.
    #[inline(always)]
    fn lane<A: Arithmetic>(x: f64) -> f64 {
        let magnitude = x.abs();
        let inside = magnitude < 1.0;
        let near = select(inside, magnitude, 0.5);
        let t = Double { high: 2.0 * near, low: 0.0 }.over::<A>(Double::sum(1.0, -near));
        let value = 0.5 * ln_of::<A>(t, false, 1.0);
        let value = select(inside, value, select(magnitude == 1.0, f64::INFINITY, f64::NAN));
        select(magnitude < 1e-8, x, with_sign(value, x))
    }
}
