//! Logarithms: ln, log2, log10, log1p.
//!
//! ```text
//! x = 2^k (1 + f),  1 + f from sqrt(1/2) to sqrt(2)
//! s = f / (2 + f)                   ln(1 + f) = 2 atanh(s) = f + (s (f²/2 + R(s²)) - f²/2)
//! ```
//!
//! The exact terms, k and f times constants, are added with the rounding of their sum; what is left is
//! so small that its own rounding hardly shows.

use crate::vector::math::arithmetic::{Double, LN2_HIGH, LN2_LOW, polynomial, power_of_half};
use crate::vector::math::dispatch::Unary;
use crate::vector::math::real::{Real, Word};
use std::f64::consts::{LOG2_E, LOG10_E};

/// `(2 atanh(s) - 2s) / s³` in s²; error 2^-57.9 of s².
const LOG: [f64; 7] = [
    0.6666666666666698,
    0.3999999999961415,
    0.2857142870323245,
    0.2222220221600426,
    0.18183389657638221,
    0.15318224447098744,
    0.14756586849820674,
];

/// log2(e) less its leading bits.
const LOG2_E_LOW: f64 = 2.0355273740931033e-17;
/// log10(e) less its leading bits.
const LOG10_E_LOW: f64 = 1.098319650216765e-17;
/// The leading bits of log10(2), few enough that products with an exponent are exact.
const LOG10_2_HIGH: f64 = f64::from_bits(0x3FD3_4413_509F_6000);
/// log10(2) less [`LOG10_2_HIGH`].
const LOG10_2_LOW: f64 = 3.694239077158931e-13;

const SQRT_HALF_BITS: u64 = 0x3FE6_A09E_667F_3BCD;
const ONE_BITS: u64 = 0x3FF0_0000_0000_0000;
const MANTISSA: u64 = 0x000F_FFFF_FFFF_FFFF;
/// 2^52: the bits of an integer below it, put into its mantissa, are that integer.
const TWO_52: f64 = 4_503_599_627_370_496.0;

/// Natural logarithm.
pub struct Ln;
/// Logarithm to base 2.
pub struct Log2;
/// Logarithm to base 10.
pub struct Log10;
/// `ln(1 + x)`.
pub struct Log1p;

/// `x = 2^exponent * mantissa` with a mantissa from sqrt(1/2) to sqrt(2), for a positive finite x.
#[inline(always)]
pub fn split<N: Real>(x: N) -> (N, N) {
    let tiny = x.lt(f64::MIN_POSITIVE);
    split_normal(N::select(tiny, x * (TWO_52 * 4.0), x), N::select(tiny, TWO_52 + 1077.0, TWO_52 + 1023.0))
}

/// The same of a normal number; `zero` is 2^52 and the biased exponent of 1.
#[inline(always)]
fn split_normal<N: Real>(x: N, zero: N) -> (N, N) {
    let bits = x.to_bits().wrapping_add(ONE_BITS - SQRT_HALF_BITS);
    let biased = N::from_bits((bits >> 52) | TWO_52.to_bits());
    let mantissa = N::from_bits((bits & MANTISSA).wrapping_add(SQRT_HALF_BITS));
    (biased - zero, mantissa)
}

/// `ln(1 + f) - f` for 1 + f from sqrt(1/2) to sqrt(2).
#[inline(always)]
pub fn bend<N: Real>(f: N) -> N {
    let s = f / (f + 2.0);
    let z = s * s;
    let half_square = f * 0.5 * f;
    let rest = z * polynomial(z, z * z, &LOG);
    s.fma(half_square + rest, -half_square)
}

/// The value for a positive finite x; what the logarithm is elsewhere.
#[inline(always)]
fn with_special<N: Real>(x: N, value: N) -> N {
    let special = N::select(x.eq(0.0), f64::NEG_INFINITY, N::select(x.lt(0.0), f64::NAN, x));
    N::select(x.gt(0.0) & x.lt(f64::INFINITY), value, special)
}

/// A logarithm: exponent times `per_exponent`, natural logarithm of the mantissa times `per_e`.
#[inline(always)]
fn logarithm<N: Real>(x: N, per_exponent: Double<f64>, per_e: Double<f64>) -> N {
    let (exponent, mantissa) = split(x);
    let f = mantissa - 1.0;
    let product = Double::product(f, per_e.high);
    let sum = Double::fast_sum(exponent * per_exponent.high, product.high);
    let low = f.fma(per_e.low, bend(f) * per_e.high);
    let low = exponent.fma(per_exponent.low, low);
    with_special(x, sum.high + (sum.low + (product.low + low)))
}

/// `ln(high + low)` for a positive finite sum whose lower part is below half a unit of the higher; also
/// where the sum is near 1.
#[inline(always)]
pub fn ln_double<N: Real>(x: Double<N>, more_twos: N) -> N {
    let (exponent, mantissa) = split(x.high);
    // Beside a sum above 2^1000 the lower part is nothing.
    let low = x.low * power_of_half(N::select(exponent.gt(1000.0), 1000.0, exponent));
    let f = Double::fast_sum(mantissa - 1.0, low);
    let exponent = exponent + more_twos;
    let sum = Double::fast_sum(exponent * LN2_HIGH, f.high);
    sum.high + (sum.low + (f.low + exponent.fma(LN2_LOW, bend(f.high))))
}

/// The natural logarithm of what [`split`] gives.
#[inline(always)]
fn ln_of_parts<N: Real>((exponent, mantissa): (N, N)) -> N {
    let f = mantissa - 1.0;
    let sum = Double::fast_sum(exponent * LN2_HIGH, f);
    sum.high + (sum.low + exponent.fma(LN2_LOW, bend(f)))
}

impl Unary for Ln {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        with_special(x, ln_of_parts(split(x)))
    }

    #[inline(always)]
    fn is_fast<N: Real>(x: N) -> N::Mask {
        x.ge(f64::MIN_POSITIVE) & x.le(f64::MAX)
    }

    #[inline(always)]
    fn fast<N: Real>(x: N) -> N {
        ln_of_parts(split_normal(x, N::from(TWO_52 + 1023.0)))
    }
}

impl Unary for Log2 {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let one = Double { high: 1.0, low: 0.0 };
        logarithm(x, one, Double { high: LOG2_E, low: LOG2_E_LOW })
    }
}

impl Unary for Log10 {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let per_exponent = Double { high: LOG10_2_HIGH, low: LOG10_2_LOW };
        logarithm(x, per_exponent, Double { high: LOG10_E, low: LOG10_E_LOW })
    }
}

impl Unary for Log1p {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let value = ln_double(Double::sum(1.0, x), N::from(0.0));
        let special = N::select(x.eq(-1.0), f64::NEG_INFINITY, N::select(x.lt(-1.0), f64::NAN, x));
        let inside = x.gt(-1.0) & x.lt(f64::INFINITY) & x.abs().gt(f64::EPSILON / 4.0);
        N::select(inside, value, special)
    }
}
