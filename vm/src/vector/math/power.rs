//! The power function: e to the power of y ln x, with a logarithm of 66 good bits.
//!
//! A relative error of the exponent y ln x, which goes up to 709, is an error of the result some 2^10 times
//! as large. Hence the logarithm's series `2 atanh(s) = 2s + s³ (2/3 + s² T(s²))` is summed in twice the
//! precision but for T.

use crate::vector::math::arithmetic::{Arithmetic, Double, LN2_HIGH, LN2_LOW, flip_sign, polynomial, select};
use crate::vector::math::dispatch::Binary;
use crate::vector::math::exponential::{clamp, exp_double, scale};
use crate::vector::math::logarithm::split;

/// `(2 atanh(s) - 2s - 2/3 s³) / s⁵` in s².
const LOG_TAIL: [f64; 9] = [
    0.4,
    0.2857142857142845,
    0.22222222222271065,
    0.18181818171991937,
    0.1538461652866369,
    0.13333251580515357,
    0.11768343831327864,
    0.1042826951825516,
    0.10976426632341885,
];

/// 2/3, which no binary number is.
const TWO_THIRDS: Double = Double { high: 2.0 / 3.0, low: 3.700743415417188e-17 };

/// x to the power y.
pub struct Pow;

/// `ln x` of a positive finite x, in twice the precision but for a lower part that may overlap the higher.
#[inline(always)]
fn ln_double<A: Arithmetic>(x: f64) -> Double {
    let (exponent, mantissa) = split(x);
    let s = Double { high: mantissa - 1.0, low: 0.0 }.over::<A>(Double::fast_sum(1.0, mantissa));
    let square = Double::product::<A>(s.high, s.high);
    let square = Double { high: square.high, low: A::fma(2.0 * s.high, s.low, square.low) };
    let z = square.high;
    let tail = polynomial::<A, 9>(z, z * z, &LOG_TAIL);
    let factor = Double::fast_sum(TWO_THIRDS.high, z * tail);
    let factor = Double { high: factor.high, low: factor.low + TWO_THIRDS.low };
    let bend = s.times::<A>(square.times::<A>(factor));
    let first = Double::fast_sum(exponent * LN2_HIGH, 2.0 * s.high);
    let second = Double::fast_sum(first.high, bend.high);
    let low = A::fma(2.0, s.low, A::fma(exponent, LN2_LOW, bend.low));
    Double { high: second.high, low: first.low + second.low + low }
}

/// `x^y` for a positive finite x.
#[inline(always)]
fn power<A: Arithmetic>(x: f64, y: f64) -> f64 {
    let log = ln_double::<A>(x);
    let high = y * log.high;
    let low = A::fma(y, log.low, A::fma(y, log.high, -high));
    let inside = high.abs() < 800.0;
    let exponent = Double { high: clamp(high, -800.0, 800.0), low: select(inside, low, 0.0) };
    let (value, n) = exp_double::<A>(exponent);
    scale(value.value(), n)
}

impl Binary for Pow {
    #[inline(always)]
    fn lane<A: Arithmetic>(x: f64, y: f64) -> f64 {
        let magnitude = x.abs();
        let value = power::<A>(magnitude, y);
        // Zeros and infinities.
        let to_zero = select((magnitude == 0.0) == (y > 0.0), 0.0, f64::INFINITY);
        let value = select((magnitude == 0.0) | (magnitude == f64::INFINITY), to_zero, value);
        let far = select((magnitude > 1.0) == (y > 0.0), f64::INFINITY, 0.0);
        let value = select(y.abs() == f64::INFINITY, far, value);
        // Signs: an odd exponent keeps that of x; other fractions have no real power of a negative x.
        let half = y * 0.5;
        let whole = y.trunc() == y;
        let odd = whole & (half.trunc() != half);
        let value = select(odd, flip_sign(value, x), value);
        let value = select((x < 0.0) & !whole & (magnitude < f64::INFINITY), f64::NAN, value);
        let value = select(x.is_nan() | y.is_nan(), f64::NAN, value);
        let one = (x == 1.0) | (y == 0.0) | ((magnitude == 1.0) & (y.abs() == f64::INFINITY));
        select(one, 1.0, value)
    }
}
