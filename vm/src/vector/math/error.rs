//! The error function and its complement.
//!
//! ```text
//! erf:   |x| <= 1.25: x + x Q(x²);       else 1 - exp(-P(x)),  P = -ln erfc
//! erfc:  |x| < 0.5: 1 - erf x;           else exp(-x²) R(t) / (1 + 2x),  t = (x - 3.75) / (x + 3.75), x >= 0;
//!        2 less that for -x
//! ```
//!
//! R is nearly constant from 0 to infinity (Shepherd and Laframboise, 1981).

use crate::vector::math::arithmetic::{Double, alternating, polynomial, power_of_two};
use crate::vector::math::dispatch::Unary;
use crate::vector::math::exponential::{exp_double, reduce, scale};
use crate::vector::math::real::Real;

/// `erf(x) / x - 1` in x², x to 1.25; error 2^-54.4.
const ERF: [f64; 13] = [
    0.12837916709551253,
    -0.37612638903183043,
    0.1128379167092955,
    -0.026866170641499685,
    0.005223977598633011,
    -0.0008548325844337077,
    0.00012055299637373586,
    -1.4925016816050109e-05,
    1.6453840137662223e-06,
    -1.629112033152677e-07,
    1.4345623607119768e-08,
    -1.0402172793693838e-09,
    4.6263174800884205e-11,
];

/// `-ln erfc(x)`, x from 1.25 to 5.93; error 2^-55.7 of 1.
const ERF_TAIL: [f64; 15] = [
    3.2797688260435596e-06,
    1.1283499429245982,
    0.6367411562916936,
    0.1024604456644161,
    -0.018571936274205992,
    -0.0009383319524580148,
    0.002421282649169292,
    -0.001145755525070598,
    0.0003535352002728363,
    -8.014455887616172e-05,
    1.3584817823904737e-05,
    -1.6869043214745009e-06,
    1.4542128410176208e-07,
    -7.785897284140891e-09,
    1.950078729321064e-10,
];

/// `(e^r - 1 - r) / r²` on ±0.3467; error 2^-51.6 of 1, which a result below 0.08 may have.
const EXP_SHORT: [f64; 9] = [
    0.5000000000000016,
    0.16666666666610294,
    0.04166666666647999,
    0.008333333371447909,
    0.0013888888957885156,
    0.000198411844506173,
    2.4801477925315468e-05,
    2.7635320395367052e-06,
    2.7635681786178844e-07,
];

/// `(1 + 2x) exp(x²) erfc(x)` in t, x from 0.49 to 28; error 2^-57.
const ERFC: [f64; 24] = [
    1.2375126308378275,
    -0.14024059858554702,
    0.0035854154854637163,
    0.08227673849015102,
    -0.10880393014171028,
    0.09230432116019961,
    -0.05869339859044077,
    0.028362277421470985,
    -0.009746579549604666,
    0.0017556258331185989,
    0.0002937136158552102,
    -0.00029015398538404,
    5.164926922387429e-05,
    2.2383944895641737e-05,
    -1.1444456653746602e-05,
    -9.729639609286666e-07,
    1.751765388884002e-06,
    -5.800184653128364e-08,
    -2.580117544483701e-07,
    2.3904079424857607e-08,
    3.722912890903114e-08,
    -4.036691702133913e-09,
    -3.910323956121465e-09,
    3.6695478481276154e-10,
];
/// What binary64 leaves of the first of these.
const ERFC_LOW: f64 = 1.0532728812015733e-16;

/// The bend of the map from x to t.
const SHIFT: f64 = 3.75;

/// Error function.
pub struct Erf;
/// One less the error function.
pub struct Erfc;

impl Unary for Erf {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let magnitude = x.abs();
        let z = magnitude * magnitude;
        let near = magnitude.fma(alternating(z, &ERF), magnitude);
        let far = N::select(magnitude.gt(5.93), 5.93, magnitude);
        let (n, r) = reduce(-polynomial(far, far * far, &ERF_TAIL));
        let square = r.high * r.high;
        let power = square.fma(polynomial(r.high, square, &EXP_SHORT), r.high) + 1.0;
        let complement = power * power_of_two(n);
        N::select(magnitude.gt(1.25), N::from(1.0) - complement, near).copysign(x)
    }
}

impl Unary for Erfc {
    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let magnitude = N::select(x.abs().gt(28.0), 28.0, x.abs());
        let t = (magnitude - SHIFT) / (magnitude + SHIFT);
        let [constant, rest @ ..] = ERFC;
        let sum = Double::fast_sum(constant, t * polynomial(t, t * t, &rest));
        let top = Double { high: sum.high, low: sum.low + ERFC_LOW };
        let ratio = top.over(Double::sum(1.0, magnitude * 2.0));
        let square = Double::product(magnitude, magnitude);
        let (power, n) = exp_double(Double { high: -square.high, low: -square.low });
        let product = Double::fast_sum(power.high, power.low).times(ratio).value();
        let far = scale(product, n);
        let far = N::select(x.lt(0.0), N::from(2.0) - far, far);
        let z = x * x;
        let sum = Double::fast_sum(1.0, -x);
        let near = sum.high + (-x).fma(alternating(z, &ERF), sum.low);
        N::select(x.abs().lt(0.5), near, far)
    }
}
