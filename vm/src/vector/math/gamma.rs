//! The gamma function, and the logarithm of its magnitude.
//!
//! ```text
//! below 0:          ln Γ(x) = ln(π / |x sin πx|) - ln Γ(-x)
//! 0 … 1/2:          ln Γ(2 + x) - ln(x (1 + x))
//! 1/2 … 3/2:        ln Γ(2 + t) - ln(1 + t),  t = x - 1
//! 3/2 … 5/2:        ln Γ(2 + t) = t P(t),     t = x - 2: exact at the zeros 1 and 2
//! 5/2 … 8:          down to the last row by Γ(x) = (x - 1) Γ(x - 1)
//! 8 …:              Stirling's series
//! ```
//!
//! One logarithm serves all rows but the first, its argument chosen. It is kept as a sum, and so are products of
//! leading terms, because they cancel around 1 and between negative integers. The zeros there are no binary numbers;
//! close to them only the absolute error is small.
//!
//! The function itself is that of Lanczos, with the constants of Boost and CPython: `Γ(x) = S(x) e^-b b^(x - 1/2)` for a positive number,
//! b = x + g - 1/2, with S a quotient of two polynomials. `Γ(x) = -π / (x sin(πx) Γ(-x))` below 0. C and Rust text of libraries has the
//! same operations.

use crate::vector::math::arithmetic::{Double, LN2_HIGH, LN2_LOW, polynomial, power_of_two};
use crate::vector::math::dispatch::{Unary, binary, fused, unary};
use crate::vector::math::exponential::{Exp, clamp};
use crate::vector::math::logarithm::{Ln, bend, split};
use crate::vector::math::power::Pow;
use crate::vector::math::real::Real;
use crate::vector::math::trigonometry::{Cos, Sin, cosine_and_sine};

/// The slope of `ln Γ` at 2, 1 less Euler's constant.
const SLOPE: Double<f64> = Double { high: 0.42278433509846713, low: 4.942915152430645e-18 };

/// `(ln Γ(2 + t) / t - slope) / t`, |t| to 1/2; error of `ln Γ(2 + t) / t` 2^-55.9.
const LGAMMA: [f64; 18] = [
    0.32246703342411326,
    -0.06735230105319817,
    0.02058080842778032,
    -0.007385551028664065,
    0.0028905103310376836,
    -0.001192753912168947,
    0.0005096695153236933,
    -0.00022315474729065537,
    9.945767475568987e-05,
    -4.492639102450481e-05,
    2.0505581499855244e-05,
    -9.438187728936436e-06,
    4.384745134395896e-06,
    -2.0459922276698513e-06,
    9.199577290494666e-07,
    -4.2806867685893504e-07,
    2.7883212297971667e-07,
    -1.3616134641553497e-07,
];

/// `x` times what Stirling's leading terms leave, in 1/x², x from 8 on; error 2^-57.6.
const STIRLING: [f64; 7] = [
    0.08333333333333333,
    -0.0027777777777740933,
    0.000793650789832063,
    -0.0005952366063619936,
    0.0008414727886498618,
    -0.0018905369447262007,
    0.0050691912941764035,
];

const PI: Double<f64> = Double { high: std::f64::consts::PI, low: 1.2246467991473532e-16 };
/// `ln π`.
const LN_PI: Double<f64> = Double { high: 1.1447298858494002, low: 1.0265951162707826e-17 };

/// `ln(2π) / 2 - 1/2`.
const STIRLING_CONSTANT: f64 = 0.4189385332046727;

/// Logarithm of the gamma function's magnitude.
pub struct Lgamma;

/// The logarithm of a positive number as a sum: what is nearly exact, its rounding, and the rest of the series.
struct Log<N> {
    leading: Double<N>,
    bend: N,
}

impl<N: Real> Log<N> {
    #[inline(always)]
    fn of(x: Double<N>) -> Log<N> {
        let (exponent, mantissa) = split(x.high);
        let f = Double::fast_sum(mantissa - 1.0, x.low * power_of_two(clamp(-exponent, -1000.0, 1000.0)));
        let sum = Double::fast_sum(exponent * LN2_HIGH, f.high);
        let low = exponent.fma(LN2_LOW, sum.low + f.low);
        Log { leading: Double { high: sum.high, low }, bend: bend(f.high) }
    }
}

/// `x` less whole numbers until it is at most 5/2, and the product of what each leaves; x below 8.
#[inline(always)]
fn descend<N: Real>(x: N) -> (N, N) {
    let (mut x, mut product) = (x, N::from(1.0));
    for _ in 0..6 {
        let is_above = x.gt(2.5);
        x = x - N::select(is_above, 1.0, 0.0);
        product = product * N::select(is_above, x, 1.0);
    }
    (x, product)
}

/// The function of a positive number, as a sum.
#[inline(always)]
fn positive<N: Real>(x: N) -> Double<N> {
    let (is_small, is_low, is_large) = (x.lt(0.5), x.lt(1.5), x.ge(8.0));
    let (reduced, product) = descend(x);
    // The logarithm of this is subtracted below 3/2, and added above: Γ(2 + t) is x (1 + x) Γ(x), x Γ(x), Γ(x) / product.
    let square = Double::product(x, x);
    let sum = Double::fast_sum(x, square.high);
    let high = N::select(is_small, sum.high, N::select(is_low | is_large, x, product));
    let log = Log::of(Double { high, low: N::select(is_small, sum.low + square.low, 0.0) });
    let t = N::select(is_small, x, reduced - N::select(is_low, 1.0, 2.0));
    let sign = N::select(is_low, -1.0, 1.0);
    let slope = Double::product(t, SLOPE.high);
    let leading = Double::sum(slope.high, sign * log.leading.high);
    let bends = (t * t).fma(polynomial(t, t * t, &LGAMMA), sign * log.bend);
    let low = t.fma(SLOPE.low, slope.low + sign * log.leading.low);
    // Stirling: (x - 1/2)(ln x - 1) + …, the product in twice the precision. It overflows where the result does.
    let reciprocal = N::from(1.0) / x;
    let w = reciprocal * reciprocal;
    let correction = reciprocal * polynomial(w, w * w, &STIRLING);
    let log = Double::fast_sum(log.leading.high, log.leading.low + log.bend);
    let factor = Double::fast_sum(log.high, N::from(-1.0));
    let product = Double::product(x - 0.5, factor.high);
    let tail = (x - 0.5).fma(factor.low + log.low, product.low) + (correction + STIRLING_CONSTANT);
    let high = N::select(is_large, product.high, leading.high);
    let rest = N::select(is_large, tail, leading.low + (low + bends));
    Double { high, low: N::select(high.lt(f64::INFINITY), rest, 0.0) }
}

/// `ln(π / (x sin πx)) - ln Γ(x)` for a positive number.
#[inline(always)]
fn reflected<N: Real>(x: N) -> N {
    let fraction = x - x.floor();
    let turn = N::select(fraction.gt(0.5), N::from(1.0) - fraction, fraction);
    let angle = Double::product(turn, PI.high);
    let (_, sine) = cosine_and_sine(Double { high: angle.high, low: turn.fma(PI.low, angle.low) });
    let Log { leading, bend } = Log::of(Double::product(x, sine));
    let gamma = positive(x);
    let first = Double::sum(LN_PI.high, -leading.high);
    let second = Double::sum(first.high, -gamma.high);
    let low = first.low + (N::from(LN_PI.low) - leading.low - bend - gamma.low);
    second.high + (second.low + low)
}

impl Unary for Lgamma {
    const RARE_IN_LANES: bool = true;

    #[inline(always)]
    fn lane<N: Real>(x: N) -> N {
        let value = positive(x).value();
        N::select(x.eq(0.0) | x.eq(f64::INFINITY), f64::INFINITY, value)
    }

    /// Negative numbers need a second logarithm.
    #[inline(always)]
    fn rarity<N: Real>(x: N) -> N::Bits {
        x.to_bits()
    }

    #[inline(always)]
    fn rare_lane<N: Real>(x: N) -> N {
        let magnitude = -x;
        // So close to 0, the sine of its multiple would be too small to be a number.
        let is_tiny = magnitude.lt(1e-20);
        let value = N::select(is_tiny, -Ln::lane(magnitude), reflected(magnitude));
        N::select(magnitude.floor().eq(magnitude), f64::INFINITY, value)
    }
}

/// g - 1/2 of the sum of Lanczos.
const LANCZOS_SHIFT: f64 = 5.52468004077673;
/// Numerator and denominator of the sum, as polynomials of the number.
const LANCZOS: [[f64; 13]; 2] = [
    [
        23531376880.41076,
        42919803642.6491,
        35711959237.35567,
        17921034426.03721,
        6039542586.352028,
        1439720407.3117216,
        248874557.86205417,
        31426415.585400194,
        2876370.6289353725,
        186056.26539522348,
        8071.672002365816,
        210.82427775157936,
        2.5066282746310002,
    ],
    [
        0.0,
        39916800.0,
        120543840.0,
        150917976.0,
        105258076.0,
        45995730.0,
        13339535.0,
        2637558.0,
        357423.0,
        32670.0,
        1925.0,
        66.0,
        1.0,
    ],
];

/// The sum of Lanczos at a positive number. Polynomials of the reciprocal do not overflow.
fn lanczos(x: f64) -> f64 {
    let [numerator, denominator] = LANCZOS.map(|coefficients| {
        let mut sum = 0.0;
        if x < 8.0 {
            coefficients.iter().rev().for_each(|coefficient| sum = fused(sum, x, *coefficient));
        } else {
            let reciprocal = 1.0 / x;
            coefficients.iter().for_each(|coefficient| sum = fused(sum, reciprocal, *coefficient));
        }
        sum
    });
    numerator / denominator
}

/// Sine of π times a positive number that is no integer.
fn sine_of_halves(x: f64) -> f64 {
    let whole = x.floor();
    let fraction = x - whole;
    let rest = if fraction > 0.5 { 1.0 - fraction } else { fraction };
    let sine = if rest <= 0.25 {
        unary::<Sin, f64>(PI.high * rest)
    } else {
        unary::<Cos, f64>(PI.high * (0.5 - rest))
    };
    if whole * 0.5 == (whole * 0.5).floor() { sine } else { -sine }
}

/// The gamma function: NaN at negative integers and -∞, an infinity of its sign at zero.
pub fn gamma(x: f64) -> f64 {
    /// Below, the function is the reciprocal.
    const TINY: f64 = 5.551115123125783e-17;
    /// The largest integer whose result, the factorial of the one before, is a number without rounding.
    const EXACT: f64 = 23.0;
    /// From here on the result overflows, and below the opposite it is nothing.
    const LARGEST: f64 = 184.0;
    if !x.is_finite() {
        return x + f64::INFINITY;
    }
    let (size, floor) = (x.abs(), x.floor());
    if size < TINY {
        return 1.0 / x;
    }
    if x == floor && x < 0.0 {
        return f64::NAN;
    }
    if x == floor && x <= EXACT {
        return (1..x as u32).fold(1.0, |product, factor| product * f64::from(factor));
    }
    if size >= LARGEST {
        let is_even = floor * 0.5 == (floor * 0.5).floor();
        return if x > 0.0 {
            f64::INFINITY
        } else if is_even {
            0.0
        } else {
            -0.0
        };
    }
    let base = size + LANCZOS_SHIFT;
    // What the base is too large by.
    let excess = if size > LANCZOS_SHIFT { base - size - LANCZOS_SHIFT } else { base - LANCZOS_SHIFT - size };
    let sum = lanczos(size) * unary::<Exp, f64>(-base);
    let (unit, excess, exponent) = match x < 0.0 {
        true => (-PI.high / (sine_of_halves(size) * size * sum), -excess, 0.5 - size),
        false => (sum, excess, size - 0.5),
    };
    let unit = fused(excess * (LANCZOS_SHIFT + 0.5) / base, unit, unit);
    // The power itself may overflow where the result does not.
    let root = binary::<Pow, f64>(base, 0.5 * exponent);
    unit * root * root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_at_some_numbers() {
        // Values of CPython's `math.gamma`.
        let close = [
            (0.5, 1.7724538509055159),
            (1.5, 0.886226925452758),
            (-0.5, -3.544907701811032),
            (-1.5, 2.3632718012073544),
            (7.9, 4122.709484285445),
            (8.1, 6169.593697484543),
            (23.5, 5.361303587544413e+21),
            (100.25, 2.9484662818387695e+156),
            (171.6, 1.5858969096672563e+308),
            (-170.5, -3.312739521538607e-308),
            (-20.3, -6.435466204989326e-19),
            (1e-20, 1.0000000000000002e+20),
            (-0.001, -1000.5782056293585),
        ];
        for (x, expected) in close {
            let found = gamma(x);
            assert!((found / expected - 1.0).abs() < 4e-15, "gamma({x}) = {found}, not {expected}");
        }
        for n in 1..=23_u32 {
            let factorial: u128 = (1..u128::from(n)).product();
            assert_eq!(gamma(n.into()), factorial as f64);
        }
        let exact = [
            (172.0, f64::INFINITY),
            (1e300, f64::INFINITY),
            (f64::INFINITY, f64::INFINITY),
            (0.0, f64::INFINITY),
            (-0.0, f64::NEG_INFINITY),
            (-200.5, -0.0),
            (-201.5, 0.0),
            (-1e15 - 0.5, -0.0),
        ];
        for (x, expected) in exact {
            assert_eq!(gamma(x).to_bits(), f64::to_bits(expected), "gamma({x})");
        }
        assert!([f64::NAN, f64::NEG_INFINITY, -1.0, -1e300].into_iter().all(|x| gamma(x).is_nan()));
    }
}
