//! Square root, cube root, and the length of a vector.
//!
//! The cube root of `2^(3q) a`, a from 1/2 to 4, is `2^q` times that of a: a polynomial gives 19 bits, a step
//! of Halley with the exact rest of the cube gives all.

use crate::vector::math::arithmetic::{
    Arithmetic, Double, nearest, polynomial, power_of_two, select, with_sign,
};
use crate::vector::math::dispatch::{Binary, Unary};
use crate::vector::math::logarithm::split;

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

/// Square root.
pub struct Sqrt;
/// Cube root.
pub struct Cbrt;
/// Length of a vector.
pub struct Hypot;

impl Unary for Sqrt {
    #[inline(always)]
    fn lane<A: Arithmetic>(x: f64) -> f64 {
        x.sqrt()
    }
}

impl Unary for Cbrt {
    #[inline(always)]
    fn lane<A: Arithmetic>(x: f64) -> f64 {
        let (exponent, mantissa) = split(x.abs());
        let third = nearest(exponent * (1.0 / 3.0));
        let left = A::fma(third, -3.0, exponent);
        let a = mantissa * select(left > 0.0, 2.0, select(left < 0.0, 0.5, 1.0));
        let factor = select(left > 0.0, ROOT_OF_2, select(left < 0.0, 1.0 / ROOT_OF_2, 1.0));
        let first = factor * polynomial::<A, 6>(mantissa, mantissa * mantissa, &CBRT);
        let square = Double::product::<A>(first, first);
        let cube = Double::product::<A>(square.high, first);
        let rest = (a - cube.high) - A::fma(square.low, first, cube.low);
        let root = first + first * (rest / A::fma(2.0, cube.high, a));
        let value = with_sign(root * power_of_two(third), x);
        select((x != 0.0) & (x.abs() < f64::INFINITY), value, x)
    }
}

impl Binary for Hypot {
    #[inline(always)]
    fn lane<A: Arithmetic>(x: f64, y: f64) -> f64 {
        let (x, y) = (x.abs(), y.abs());
        let (large, small) = (select(x > y, x, y), select(x > y, y, x));
        let scale =
            select(large > 1e140, power_of_two(-600.0), select(large < 1e-140, power_of_two(600.0), 1.0));
        let back =
            select(large > 1e140, power_of_two(600.0), select(large < 1e-140, power_of_two(-600.0), 1.0));
        let (large, small) = (large * scale, small * scale);
        let value = A::fma(large, large, small * small).sqrt() * back;
        let value = select(x.is_nan() || y.is_nan(), f64::NAN, value);
        select(x == f64::INFINITY || y == f64::INFINITY, f64::INFINITY, value)
    }
}
