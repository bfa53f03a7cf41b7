//! Square root, cube root, and the length of a vector.
//!
//! The cube root of `2^(3q) a`, a from 1/2 to 4, is `2^q` times that of a: a polynomial gives 19 bits, a step
//! of Halley with the exact rest of the cube gives all.

use crate::vector::math::arithmetic::{Double, nearest, polynomial, power_of_two};
use crate::vector::math::dispatch::{Binary, Unary};
use crate::vector::math::logarithm::split;
use crate::vector::math::real::Real;

/// The cube root of a number from sqrt(1/2) to sqrt(2); error 2^-21.
const CBRT: [f64; 6] = [
    0.4216896597644422,
    1.0560155958651702,
    -0.8360706870175992,
    0.5109666741072487,
    -0.17955721555414467,
    0.026954986117695316,
];

/// The cube root of 2.
const ROOT_OF_2: f64 = 1.259_921_049_894_873_2;

const TWO_TO_600: f64 = f64::from_bits((1023 + 600) << 52);
const TWO_TO_MINUS_600: f64 = f64::from_bits((1023 - 600) << 52);

/// Square root.
pub struct Sqrt;
/// Cube root.
pub struct Cbrt;
/// Length of a vector.
pub struct Hypot;

impl Unary for Sqrt {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        x.sqrt()
    }
}

impl Unary for Cbrt {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let (exponent, mantissa) = split(x.abs());
        let third = nearest(exponent * (1.0 / 3.0));
        let left = third.fma(-3.0, exponent);
        let a = mantissa * N::select(left.gt(0.0), 2.0, N::select(left.lt(0.0), 0.5, 1.0));
        let factor = N::select(left.gt(0.0), ROOT_OF_2, N::select(left.lt(0.0), 1.0 / ROOT_OF_2, 1.0));
        let first = factor * polynomial(mantissa, mantissa * mantissa, &CBRT);
        let square = Double::product(first, first);
        let cube = Double::product(square.high, first);
        let rest = (a - cube.high) - square.low.fma(first, cube.low);
        let root = first + first * (rest / cube.high.fma(2.0, a));
        let value = (root * power_of_two(third)).copysign(x);
        N::select(x.ne(0.0) & x.abs().lt(f64::INFINITY), value, x)
    }
}

impl Binary for Hypot {
    #[inline(always)]
    fn lane<N: Real>(x: N, y: N) -> N {
        let (x, y) = (x.abs(), y.abs());
        let (large, small) = (N::select(x.gt(y), x, y), N::select(x.gt(y), y, x));
        let (shrinks, grows) = (large.gt(1e140), large.lt(1e-140));
        let scale = N::select(shrinks, TWO_TO_MINUS_600, N::select(grows, TWO_TO_600, 1.0));
        let back = N::select(shrinks, TWO_TO_600, N::select(grows, TWO_TO_MINUS_600, 1.0));
        let (large, small) = (large * scale, small * scale);
        let value = large.fma(large, small * small).sqrt() * back;
        let value = N::select(x.is_nan() | y.is_nan(), f64::NAN, value);
        N::select(x.eq(f64::INFINITY) | y.eq(f64::INFINITY), f64::INFINITY, value)
    }
}
