//! The power function: e to the power of y ln x, with a logarithm of 66 good bits.
//!
//! A relative error of the exponent y ln x, which goes up to 709, is an error of the result some 2^10 times
//! as large. Hence the logarithm's series `2 atanh(s) = 2s + s³ (2/3 + s² T(s²))` is summed in twice the
//! precision but for T.

use crate::vector::math::arithmetic::{Double, LN2_HIGH, LN2_LOW, flip_sign, polynomial};
use crate::vector::math::dispatch::{Binary, Unary};
use crate::vector::math::exponential::{clamp, exp_double, scale};
use crate::vector::math::logarithm::split;
use crate::vector::math::real::Real;

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
const TWO_THIRDS: Double<f64> = Double { high: 2.0 / 3.0, low: 3.700743415417188e-17 };

/// From this square on the third power is infinite. Below it no step on the way to the power is.
const INFINITE_CUBE: f64 = power_of_2(684);

/// The same for the fourth power.
const INFINITE_FOURTH: f64 = power_of_2(520);

/// x to the power y.
pub struct Pow;
/// x to the power 3.
pub struct Cube;
/// x to the power 4.
pub struct Fourth;
/// x to the power 1/2: the square root but for -0 and minus infinity.
pub struct Root;

const fn power_of_2(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// `ln x` of a positive finite x, in twice the precision but for a lower part that may overlap the higher.
#[inline(always)]
fn ln_double<N: Real>(x: N) -> Double<N> {
    let (exponent, mantissa) = split(x);
    let s = Double::new(mantissa - 1.0).over(Double::fast_sum(1.0, mantissa));
    let square = Double::product(s.high, s.high);
    let square = Double { high: square.high, low: (s.high * 2.0).fma(s.low, square.low) };
    let z = square.high;
    let tail = polynomial(z, z * z, &LOG_TAIL);
    let factor = Double::fast_sum(TWO_THIRDS.high, z * tail);
    let factor = Double { high: factor.high, low: factor.low + TWO_THIRDS.low };
    let bend = s.times(square.times(factor));
    let first = Double::fast_sum(exponent * LN2_HIGH, s.high * 2.0);
    let second = Double::fast_sum(first.high, bend.high);
    let low = s.low.fma(2.0, exponent.fma(LN2_LOW, bend.low));
    Double { high: second.high, low: first.low + second.low + low }
}

/// `x^y` for a positive finite x.
#[inline(always)]
fn power<N: Real>(x: N, y: N) -> N {
    let log = ln_double(x);
    let high = y * log.high;
    let low = y.fma(log.low, y.fma(log.high, -high));
    let inside = high.abs().lt(800.0);
    let exponent = Double { high: clamp(high, -800.0, 800.0), low: N::select(inside, low, 0.0) };
    let (value, n) = exp_double(exponent);
    scale(value.value(), n)
}

/// `square.high * factor + square.low * slope`: the power, with the rounding of the square made good. The second product is rounded
/// by itself, far below the last bit of the sum unless that is below `2^-969`. From the limit of `square.high` on it is infinite.
#[inline(always)]
fn square_times<N: Real>(square: Double<N>, factor: N, slope: N, limit: impl Into<N>) -> N {
    let value = square.high.fma(factor, slope * square.low);
    N::select(square.high.ge(limit), square.high * factor, value)
}

impl Unary for Cube {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        square_times(Double::product(x, x), x, x, INFINITE_CUBE)
    }
}

impl Unary for Fourth {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let square = Double::product(x, x);
        square_times(square, square.high, square.high * 2.0, INFINITE_FOURTH)
    }
}

impl Unary for Root {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        (N::select(x.eq(-f64::INFINITY), f64::INFINITY, x) + 0.0).sqrt()
    }
}

/// [`Cube`] or [`Fourth`].
#[inline(always)]
fn cube_or_fourth<N: Real>(x: N, is_fourth: N::Mask) -> N {
    let square = Double::product(x, x);
    let factor = N::select(is_fourth, square.high, x);
    let slope = N::select(is_fourth, square.high * 2.0, x);
    square_times(square, factor, slope, N::select(is_fourth, INFINITE_FOURTH, INFINITE_CUBE))
}

impl Binary for Pow {
    #[inline(always)]
    fn lane<N: Real>(x: N, y: N) -> N {
        let magnitude = x.abs();
        let value = power(magnitude, y);
        // Zeros and infinities.
        let to_zero = N::select(!(magnitude.eq(0.0) ^ y.gt(0.0)), 0.0, f64::INFINITY);
        let value = N::select(magnitude.eq(0.0) | magnitude.eq(f64::INFINITY), to_zero, value);
        let far = N::select(!(magnitude.gt(1.0) ^ y.gt(0.0)), f64::INFINITY, 0.0);
        let value = N::select(y.abs().eq(f64::INFINITY), far, value);
        // Signs: an odd exponent keeps that of x; other fractions have no real power of a negative x.
        let half = y * 0.5;
        let whole = y.trunc().eq(y);
        let odd = whole & half.trunc().ne(half);
        let value = N::select(odd, flip_sign(value, x), value);
        let value = N::select(x.lt(0.0) & !whole & magnitude.lt(f64::INFINITY), f64::NAN, value);
        let value = N::select(x.is_nan() | y.is_nan(), f64::NAN, value);
        let one = x.eq(1.0) | y.eq(0.0) | magnitude.eq(1.0) & y.abs().eq(f64::INFINITY);
        let value = N::select(one, 1.0, value);
        // As these functions, so that a literal exponent makes one.
        let value = N::select(y.eq(0.5), Root::lane(x), value);
        let value = N::select(y.eq(2.0), x * x, value);
        let is_fourth = y.eq(4.0);
        let value = N::select(y.eq(3.0) | is_fourth, cube_or_fourth(x, is_fourth), value);
        N::select(y.eq(1.0), x, value)
    }
}
