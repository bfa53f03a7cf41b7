//! Sine, cosine and tangent.
//!
//! ```text
//! x = n π/2 + r + c,  |r| <= π/4      sin x = ± sin(r + c), or ± cos(r + c) for an odd n
//!                                     cos x: the same with n + 1
//!                                     tan x = tan(r + c), or -1 / tan(r + c) for an odd n
//! ```
//!
//! π/2 is taken in three parts, so that r + c has some 100 bits; c is the part of r that rounding left.
//! The product of n with the second part must be exact, which bounds the arguments; above the bound the
//! reduction is done in integers.

use crate::vector::math::arithmetic::{Double, SHIFTER, flip_sign, polynomial};
use crate::vector::math::dispatch::Unary;
use crate::vector::math::real::{Binary64, FusedMultiplyAdd, Real, Word};
use crate::vector::math::reduction::quarter_turns;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, PI};

/// `(sin r - r) / r³` in r², |r| to π/4; error 2^-57.3 of r².
const SIN: [f64; 6] = [
    -0.16666666666666632,
    0.008333333333322554,
    -0.00019841269829899182,
    2.7557313718940476e-06,
    -2.5050761830556043e-08,
    1.589698870941586e-10,
];

/// `(cos r - 1 + r²/2) / r⁴` in r², |r| to π/4; error 2^-60.5 of r⁴.
const COS: [f64; 6] = [
    0.0416666666666666,
    -0.0013888888888874246,
    2.4801587289550028e-05,
    -2.7557314370029973e-07,
    2.087572547661575e-09,
    -1.1359753437701039e-11,
];

/// `(tan r - r) / r³` in r², |r| to π/4; error 2^-55.8 of r².
const TAN: [f64; 14] = [
    0.3333333333333279,
    0.13333333333415576,
    0.0539682539256625,
    0.021869489640068063,
    0.008863218672915998,
    0.003592293773042122,
    0.0014547286596207582,
    0.0005951893251466189,
    0.00022201249188784507,
    0.00013727722422885022,
    -2.743418237235231e-05,
    9.04022441080744e-05,
    -4.538126568528829e-05,
    2.098255926973503e-05,
];

/// The second part of π/2, of 30 bits, and the third.
const HALF_PI_LOW: [f64; 2] = [f64::from_bits(0x3C91_A626_3300_0000), 1.6446256936324258e-26];

/// Angles up to this one are reduced in floating point.
const LARGEST: f64 = 2_097_152.0;

/// Sine of an angle in radians.
pub struct Sin;
/// Cosine of an angle in radians.
pub struct Cos;
/// Tangent of an angle in radians.
pub struct Tan;

/// A number with the sign bit set if the angle is above the bound, infinite or NaN.
#[inline(always)]
pub fn beyond_largest<N: Real>(x: N) -> N::Bits {
    N::Bits::from(LARGEST.to_bits()).wrapping_sub(x.abs().to_bits())
}

/// The number of quarter turns nearest to an angle, as a float whose low bits are that number, and the rest.
#[inline(always)]
fn reduce<N: Real>(x: N) -> (N, Double<N>) {
    let shifted = x.fma(FRAC_2_PI, SHIFTER);
    let n = shifted - SHIFTER;
    let first = n.fma(-FRAC_PI_2, x);
    // A fast sum: the product is exact, and if it is the larger term, then by too little to matter.
    let high = n.fma(-HALF_PI_LOW[0], first);
    let low = n.fma(-HALF_PI_LOW[0], first - high);
    (shifted, Double { high, low: n.fma(-HALF_PI_LOW[1], low) })
}

/// Sine of r and of a number of quarter turns, |r| up to π/4.
#[inline(always)]
fn sine<N: Real>(r: Double<N>, quarters: N::Bits) -> N {
    let z = r.high * r.high;
    let fourth = z * z;
    let sine = (r.high * z).fma(polynomial(z, fourth, &SIN), r.low) + r.high;
    let first = z.fma(-0.5, 1.0);
    let rest = (-r.high).fma(r.low, z.fma(-0.5, N::from(1.0) - first));
    let cosine = first + fourth.fma(polynomial(z, fourth, &COS), rest);
    let value = N::select(N::is_odd(quarters), cosine, sine);
    flip_sign(value, N::from_bits(quarters << 62))
}

/// Cosine and sine of an angle of twice the precision, which is not [large](beyond_largest).
#[inline(always)]
pub fn cosine_and_sine<N: Real>(angle: Double<N>) -> (N, N) {
    let (shifted, r) = reduce(angle.high);
    let r = Double::fast_sum(r.high, r.low + angle.low);
    (sine(r, shifted.to_bits().wrapping_add(1)), sine(r, shifted.to_bits()))
}

/// Cosine and sine of a number of turns, up to a quarter of a turn: by the formulas for twice an angle.
#[inline(always)]
pub fn cosine_and_sine_of_turns<N: Real>(turns: N) -> (N, N) {
    let half = turns * PI;
    let z = half * half;
    let fourth = z * z;
    let sine = (half * z).fma(polynomial(z, fourth, &SIN), half);
    let cosine = fourth.fma(polynomial(z, fourth, &COS), z.fma(-0.5, 1.0));
    ((sine * -2.0).fma(sine, 1.0), sine * 2.0 * cosine)
}

/// Tangent of an angle up to π/4, or -1 over it.
#[inline(always)]
fn tangent<N: Real>(r: Double<N>, inverted: N::Mask) -> N {
    let z = r.high * r.high;
    let bend = r.high * z * polynomial(z, z * z, &TAN);
    let slope = r.high + bend;
    let tan = Double::fast_sum(r.high, slope.fma(slope, 1.0).fma(r.low, bend));
    let inverse = N::from(-1.0) / tan.high;
    let left = inverse.fma(tan.low, inverse.fma(tan.high, 1.0));
    N::select(inverted, inverse.fma(left, inverse), tan.high)
}

/// The sine of a large angle, turned by a number of quarter turns; NaN where there is no angle.
fn sine_of_large<A: FusedMultiplyAdd>(x: Binary64<A>, quarters: u64) -> Binary64<A> {
    if !x.get().is_finite() {
        return Binary64::from(f64::NAN);
    }
    let (quadrant, r) = quarter_turns(x.abs());
    sine(r, quadrant + quarters)
}

impl Unary for Sin {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        // The sign of a zero would be lost on the way.
        let (shifted, r) = reduce(x.abs());
        flip_sign(sine(r, shifted.to_bits()), x)
    }

    #[inline(always)]
    fn rarity<N: Real>(x: N) -> N::Bits {
        beyond_largest(x)
    }

    fn rare<A: FusedMultiplyAdd>(x: Binary64<A>) -> Binary64<A> {
        flip_sign(sine_of_large(x, 0), x)
    }
}

impl Unary for Cos {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let (shifted, r) = reduce(x);
        sine(r, shifted.to_bits().wrapping_add(1))
    }

    #[inline(always)]
    fn rarity<N: Real>(x: N) -> N::Bits {
        beyond_largest(x)
    }

    fn rare<A: FusedMultiplyAdd>(x: Binary64<A>) -> Binary64<A> {
        sine_of_large(x, 1)
    }
}

impl Unary for Tan {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let (shifted, r) = reduce(x.abs());
        flip_sign(tangent(r, N::is_odd(shifted.to_bits())), x)
    }

    #[inline(always)]
    fn rarity<N: Real>(x: N) -> N::Bits {
        beyond_largest(x)
    }

    fn rare<A: FusedMultiplyAdd>(x: Binary64<A>) -> Binary64<A> {
        if !x.get().is_finite() {
            return Binary64::from(f64::NAN);
        }
        let (quadrant, r) = quarter_turns(x.abs());
        flip_sign(tangent(r, quadrant & 1 == 1), x)
    }
}
