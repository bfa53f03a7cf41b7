//! Inverse trigonometric functions: asin, acos, atan, atan2.
//!
//! ```text
//! atan:  |x| <= 1: t = x;   else t = -1/x and π/2 is added
//! asin:  |x| <= 1/2: x;     else π/2 - 2 asin(s),  s = sqrt((1 - |x|) / 2)
//! ```

use crate::vector::math::arithmetic::{Double, alternating, polynomial};
use crate::vector::math::dispatch::{Binary, Unary};
use crate::vector::math::real::Real;
use std::f64::consts::{FRAC_PI_2, PI};

/// `(atan t - t) / t³` in t², |t| to 1; error 2^-55.9 of t².
const ATAN: [f64; 21] = [
    -0.333333333333333,
    0.19999999999992207,
    -0.14285714285136925,
    0.11111111089460277,
    -0.09090908602810494,
    0.0769230039790603,
    -0.06666589725681495,
    0.05881754805839439,
    -0.05259621923997947,
    0.047456315168422664,
    -0.04288454478753143,
    0.03825753273991643,
    -0.032871578666286747,
    0.02627488136619382,
    -0.018752228229949982,
    0.011437278054737605,
    -0.005690937145497073,
    0.002189339964385873,
    -0.0006054137356697164,
    0.0001064317060258077,
    -8.897259676871853e-06,
];

/// `(asin x - x) / x³` in x², |x| to 1/2; error 2^-55.8 of x².
const ASIN: [f64; 12] = [
    0.16666666666665653,
    0.07500000000294672,
    0.04464285685605147,
    0.03038195818786217,
    0.022371777525383958,
    0.017359447910535234,
    0.01388749111706272,
    0.012155872562061125,
    0.006580483357716049,
    0.019396336142334818,
    -0.0160327885566316,
    0.03179013594904037,
];

/// What binary64 leaves of π/2.
const FRAC_PI_2_LOW: f64 = 6.123233995736766e-17;

/// Arc tangent in radians.
pub struct Atan;
/// Angle of a point in radians.
pub struct Atan2;
/// Arc sine in radians.
pub struct Asin;
/// Arc cosine in radians.
pub struct Acos;

/// `atan t - t` for |t| up to 1.
#[inline(always)]
fn atan_bend<N: Real>(t: N) -> N {
    let z = t * t;
    t * z * alternating(z, &ATAN)
}

/// `asin x - x` for |x| up to 1/2, of the square of x.
#[inline(always)]
fn asin_bend<N: Real>(x: N, z: N) -> N {
    x * z * polynomial(z, z * z, &ASIN)
}

impl Unary for Atan {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let magnitude = x.abs();
        let far = magnitude.gt(1.0);
        let inverse = N::from(-1.0) / magnitude;
        let left = inverse.fma(magnitude, 1.0);
        let t = N::select(far, inverse, magnitude);
        // An infinity has no rest, but it has not to be asked for: its inverse is exact.
        let rest = N::select(far & magnitude.lt(1e300), inverse.fma(left, FRAC_PI_2_LOW), 0.0);
        let low = atan_bend(t) + rest;
        let sum = Double::fast_sum(N::select(far, FRAC_PI_2, 0.0), t);
        (sum.high + (sum.low + low)).copysign(x)
    }
}

impl Binary for Atan2 {
    /// The angle in the first eighth is mirrored into the others; zeros and infinities are replaced by
    /// points in the same direction.
    #[inline(always)]
    fn lane<N: Real>(y: N, x: N) -> N {
        let (height, width) = (y.abs(), x.abs());
        let steep = height.gt(width);
        let (small, large) = (N::select(steep, width, height), N::select(steep, height, width));
        let small = N::select(large.eq(f64::INFINITY), N::select(small.eq(f64::INFINITY), 1.0, 0.0), small);
        let large = N::select(large.eq(f64::INFINITY) | large.eq(0.0), 1.0, large);
        let scale =
            N::select(large.gt(1e300), 0.00390625, N::select(large.lt(1e-290), 1.2676506002282294e30, 1.0));
        let t = Double::new(small * scale).over(Double::new(large * scale));
        let turned = steep ^ x.is_sign_negative();
        let base = N::select(steep, 1.0, N::select(x.is_sign_negative(), 2.0, 0.0));
        let sign = N::select(turned, -1.0, 1.0);
        let sum = Double::fast_sum(base * FRAC_PI_2, sign * t.high);
        let low = sign.fma(t.low + atan_bend(t.high), base * FRAC_PI_2_LOW);
        let value = (sum.high + (sum.low + low)).copysign(y);
        N::select(x.is_nan() | y.is_nan(), f64::NAN, value)
    }
}

/// What asin and acos share: the argument of the series, its bend with what the root's rounding left, and whether the
/// magnitude is far from zero.
#[inline(always)]
fn half_angle<N: Real>(x: N) -> (N, N, N::Mask) {
    let magnitude = x.abs();
    let far = magnitude.gt(0.5);
    let square = N::from(0.5) - magnitude * 0.5;
    let root = square.sqrt();
    let left = (-root).fma(root, square) * 0.5 / N::select(root.eq(0.0), 1.0, root);
    let s = N::select(far, root, magnitude);
    let z = N::select(far, square, magnitude * magnitude);
    (s, N::select(far, left, 0.0) + asin_bend(s, z), far)
}

impl Unary for Asin {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let (s, bend, far) = half_angle(x);
        let sum = Double::fast_sum(FRAC_PI_2, s * -2.0);
        let low = bend.fma(-2.0, sum.low + FRAC_PI_2_LOW);
        N::select(far, sum.high + low, s + bend).copysign(x)
    }
}

impl Unary for Acos {
    /// With π/2 - asin x in the middle, 2 asin s on the right, π - 2 asin s on the left.
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let (s, bend, far) = half_angle(x);
        let negative = x.lt(0.0);
        let base = N::select(far, N::select(negative, PI, 0.0), FRAC_PI_2);
        let base_low = N::select(far, N::select(negative, 2.0 * FRAC_PI_2_LOW, 0.0), FRAC_PI_2_LOW);
        let factor = N::select(far, 2.0, 1.0);
        let factor = N::select(negative ^ far, factor, -factor);
        let sum = Double::fast_sum(base, factor * s);
        sum.high + (sum.low + factor.fma(bend, base_low))
    }
}
