//! Hyperbolic functions: sinh, cosh, tanh.
//!
//! ```text
//! x = n ln 2 + r      B = 2^(n-1) + 2^(-n-1),  A = 2^(n-1) - 2^(-n-1)
//! sinh x = B sinh r + A cosh r         cosh x = B cosh r + A sinh r
//! ```
//!
//! A is 0 for small x, so that sinh x is the series of sinh r itself: nothing cancels anywhere.

use crate::vector::math::arithmetic::{Double, polynomial, power_of_two};
use crate::vector::math::dispatch::Unary;
use crate::vector::math::exponential::{clamp, reduce};
use crate::vector::math::real::Real;

/// `(sinh r - r) / r³` in r², |r| to 0.3467; error 2^-59.3 of r².
const SINH: [f64; 5] = [
    0.16666666666666677,
    0.008333333333322094,
    0.00019841269885105073,
    2.755724512866543e-06,
    2.5108745408815722e-08,
];

/// `(cosh r - 1) / r²` in r², |r| to 0.3467; error 2^-57.2 of r².
const COSH: [f64; 5] = [
    0.5000000000000012,
    0.04166666666652052,
    0.001388888894588912,
    2.480149095618879e-05,
    2.7630959579016604e-07,
];

/// Hyperbolic sine.
pub struct Sinh;
/// Hyperbolic cosine.
pub struct Cosh;
/// Hyperbolic tangent.
pub struct Tanh;

/// A quarter of the hyperbolic sine and cosine of x from 0 to 711: a quarter, because 2^1024 is no number.
#[inline(always)]
fn quarter<N: Real>(x: N) -> (Double<N>, Double<N>) {
    let (n, r) = reduce(x);
    let grows = power_of_two(n - 3.0);
    let falls = power_of_two(N::from(-3.0) - N::select(n.gt(60.0), 60.0, n));
    let (even_sum, odd_sum) = (Double::fast_sum(grows, falls), Double::fast_sum(grows, -falls));
    let (even, odd) = (even_sum.high, odd_sum.high);
    let z = r.high * r.high;
    let sinh = (r.high * z).fma(polynomial(z, z * z, &SINH), r.low);
    let cosh = z * polynomial(z, z * z, &COSH);
    let even_r = Double::product(even, r.high);
    let odd_r = Double::product(odd, r.high);
    let sinh_sum = Double::fast_sum(odd, even_r.high);
    let cosh_sum = Double::fast_sum(even, odd_r.high);
    let sinh_rest = even_sum.low.fma(r.high, even_r.low) + odd_sum.low;
    let cosh_rest = odd_sum.low.fma(r.high, odd_r.low) + even_sum.low;
    let sinh_low = odd.fma(cosh, even.fma(sinh, sinh_rest));
    let cosh_low = even.fma(cosh, odd.fma(sinh, cosh_rest));
    (
        Double { high: sinh_sum.high, low: sinh_sum.low + sinh_low },
        Double { high: cosh_sum.high, low: cosh_sum.low + cosh_low },
    )
}

/// Below this magnitude odd functions are their argument.
const LINEAR: f64 = 1e-8;

impl Unary for Sinh {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let (sinh, _) = quarter(clamp(x.abs(), 0.0, 711.0));
        N::select(x.abs().lt(LINEAR), x, (sinh.value() * 4.0).copysign(x))
    }
}

impl Unary for Cosh {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let (_, cosh) = quarter(clamp(x.abs(), 0.0, 711.0));
        cosh.value() * 4.0
    }
}

impl Unary for Tanh {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let (sinh, cosh) = quarter(clamp(x.abs(), 0.0, 22.0));
        let sinh = Double::fast_sum(sinh.high, sinh.low);
        let cosh = Double::fast_sum(cosh.high, cosh.low);
        let value = sinh.over(cosh).value();
        N::select(x.abs().lt(LINEAR), x, value.copysign(x))
    }
}
