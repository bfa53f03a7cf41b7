//! The Faddeeva function `w(z) = exp(-z²) erfc(-iz)`, the complex form of the error function, and its slope.
//!
//! ```text
//! w(z) = (2iz/π) ∫ exp(-t²) / (z² - t²) dt, t from 0 on           y > 0
//!      ≈ (2ihz/π) Σ exp(-t²) / (z² - t²)  + 2 exp(-z²) / (1 + e),  e = ± exp(-2πiz/h)
//! ```
//!
//! A sum over 13 points at a distance h gives the integral to rounding if the pole at z is accounted for by
//! the second term: Matta and Reichel (1971), with the choice between midpoints and trapezoids by Al Azah
//! and Chandler-Wilde (2021), which keeps the points away from z. The second term is nothing for y above π/h.
//! `w'` is the derivative of the approximation, term by term: `-2zw + 2i/sqrt(π)` cancels far from 0.
//! The other quadrants follow from `w(-conj z) = conj w(z)` and `w(-z) = 2 exp(-z²) - w(z)`.
//!
//! Far from 0, where points are nothing beside z, z is halved as often as needed: the sum is `i / (sqrt(π) z)`.

use crate::vector::math::arithmetic::{Double, SHIFTER, flip_sign};
use crate::vector::math::dispatch::{Binary, value};
use crate::vector::math::exponential::{clamp, exp_double, exp_inside, scale};
use crate::vector::math::real::{Binary64, FusedMultiplyAdd, Real, Word};
use crate::vector::math::trigonometry::{
    Cos, Sin, beyond_largest, cosine_and_sine, cosine_and_sine_of_turns,
};

/// A point t of the midpoint rule, and one of the trapezoid rule.
#[derive(Clone, Copy)]
struct Node {
    /// t².
    square: [f64; 2],
    /// The weight `2h/π exp(-t²)`, half of that at 0.
    weight: [f64; 2],
}

/// The points of both rules, for h = sqrt(π/12).
const NODES: [Node; 13] = [
    node([0.06544984694978737, 0.30509839916005094], [0.0, 0.16286750396763996]),
    node([0.5890486225480862, 0.1807356685638489], [0.26179938779914946, 0.250706969245996]),
    node([1.636246173744684, 0.06342372596268704], [std::f64::consts::FRAC_PI_3, 0.1143068661759066]),
    node([3.2070425005395804, 0.013184497283710203], [2.356194490192345, 0.03087323729106693]),
    node([5.301437602932776, 0.001623601108607448], [4.188790204786391, 0.004939647571913581]),
    node([7.9194314809242705, 0.0001184401760668592], [6.544984694978736, 0.0004681809075069735]),
    node([11.061024134514064, 5.118264087700047e-06], [9.42477796076938, 2.628665799613643e-05]),
    node([14.726215563702155, 1.3102382619123278e-07], [12.828170002158322, 8.743010328483478e-07]),
    node([18.915005768488548, 1.9869265173884656e-09], [16.755160819145566, 1.722624220227915e-08]),
    node([23.627394748873236, 1.7849139143299767e-11], [21.205750411731103, 2.0105924521441884e-10]),
    node([28.863382504856226, 9.498536269129225e-14], [26.179938779914945, 1.390149435273149e-12]),
    node([34.62296903643751, 2.9943325866350354e-16], [31.677725923697082, 5.693808656908772e-15]),
    node([40.9061543436171, 5.591744625227979e-19], [37.69911184307752, 1.381491414254464e-17]),
];

/// Points of both rules, each as its square and weight.
const fn node(midpoint: [f64; 2], trapezoid: [f64; 2]) -> Node {
    Node { square: [midpoint[0], trapezoid[0]], weight: [midpoint[1], trapezoid[1]] }
}

/// 1/h.
const PER_STEP: f64 = 1.9544100476116797;
/// π/h.
const PI_PER_STEP: f64 = 6.139960247678931;
/// From this x on `exp(-x²)` is nothing.
const NO_GAUSSIAN: f64 = 28.0;

/// `exp` of this times any sine or cosine is no number, and `exp` of its opposite is 0.
const LARGEST_EXPONENT: f64 = 800.0;

/// From this magnitude on, a power of two, `w(z)` is `i / (sqrt(π) z)`.
const FAR: f64 = 134_217_728.0;
/// The bits of a number's power of two.
const EXPONENT_BITS: u64 = 0x7FF0_0000_0000_0000;

/// Real part of the Faddeeva function.
pub struct FaddeevaReal;
/// Imaginary part of the Faddeeva function.
pub struct FaddeevaImag;
/// Real part of its derivative.
pub struct FaddeevaSlopeReal;
/// Imaginary part of its derivative.
pub struct FaddeevaSlopeImag;

/// A complex number.
#[derive(Clone, Copy)]
struct Complex<N> {
    real: N,
    imaginary: N,
}

impl<N: Real> Complex<N> {
    #[inline(always)]
    fn zero() -> Complex<N> {
        Complex { real: N::from(0.0), imaginary: N::from(0.0) }
    }

    #[inline(always)]
    fn plus(self, other: Complex<N>) -> Complex<N> {
        Complex { real: self.real + other.real, imaginary: self.imaginary + other.imaginary }
    }

    #[inline(always)]
    fn times(self, other: Complex<N>) -> Complex<N> {
        Complex {
            real: self.real.fma(other.real, -(self.imaginary * other.imaginary)),
            imaginary: self.real.fma(other.imaginary, self.imaginary * other.real),
        }
    }

    #[inline(always)]
    fn scaled(self, n: N) -> Complex<N> {
        Complex { real: scale(self.real, n), imaginary: scale(self.imaginary, n) }
    }

    #[inline(always)]
    fn map(self, f: impl Fn(N) -> N) -> Complex<N> {
        Complex { real: f(self.real), imaginary: f(self.imaginary) }
    }

    /// One of two numbers, both computed.
    #[inline(always)]
    fn select(mask: N::Mask, yes: Complex<N>, no: Complex<N>) -> Complex<N> {
        Complex {
            real: N::select(mask, yes.real, no.real),
            imaginary: N::select(mask, yes.imaginary, no.imaginary),
        }
    }
}

/// `exp(-z²)` at a point of the first quadrant: a number near 1 in size, and the power of two that it lacks.
#[derive(Clone, Copy)]
struct Gaussian<N> {
    unit: Complex<N>,
    twos: N,
}

/// The exponent `y² - x²` in twice the precision, and no larger than a result can tell.
#[inline(always)]
fn exponent<N: Real>(x: N, y: N) -> Double<N> {
    let (left, right) = (Double::product(y, y), Double::product(x, x));
    let sum = Double::sum(left.high, -right.high);
    // Exact: what is left of a cancellation is a multiple of the last place of both squares.
    let sum = Double::fast_sum(sum.high, sum.low + (left.low - right.low));
    let rough = clamp((y - x) * (y + x), -LARGEST_EXPONENT, LARGEST_EXPONENT);
    let is_near = rough.abs().lt(LARGEST_EXPONENT);
    Double { high: N::select(is_near, sum.high, rough), low: N::select(is_near, sum.low, 0.0) }
}

/// `exp(-z²)` of a modulus and the cosine and sine of 2xy.
#[inline(always)]
fn turned<N: Real>(exponent: Double<N>, (cosine, sine): (N, N)) -> Gaussian<N> {
    let (power, twos) = exp_double(exponent);
    let size = power.value();
    let unit = Complex { real: size * cosine, imaginary: -size * sine };
    Gaussian { unit: Complex::select(exponent.high.le(-LARGEST_EXPONENT), Complex::zero(), unit), twos }
}

/// `exp(-z²)` where 2xy is no [large angle](beyond_largest).
#[inline(always)]
fn gaussian<N: Real>(x: N, y: N) -> Gaussian<N> {
    turned(exponent(x, y), cosine_and_sine(Double::product(x * 2.0, y)))
}

/// 2xy as two angles, the second of which is what the first lacks.
#[inline(always)]
fn angles<N: Real>(x: N, y: N) -> [N; 2] {
    let angle = Double::product(x * 2.0, y);
    let is_nothing = x.eq(0.0);
    [N::select(is_nothing, 0.0, angle.high), N::select(is_nothing, 0.0, angle.low)]
}

/// `exp(-z²)` anywhere, given cosine and sine of the two [angles].
#[inline(always)]
fn gaussian_of_turns<N: Real>(x: N, y: N, [high, low]: [(N, N); 2]) -> Gaussian<N> {
    let turn = (high.0 * low.0 - high.1 * low.1, high.0 * low.1 + high.1 * low.0);
    turned(exponent(x, y), turn)
}

/// A point z of the first quadrant, and what both function and slope need there.
#[derive(Clone, Copy)]
struct Place<N: Real> {
    /// z, halved until its fourth power is a number.
    z: Complex<N>,
    /// No part of z is infinite.
    is_finite: N::Mask,
    /// The power of two by which it was multiplied.
    shrink: N,
    /// All bits where the trapezoid rule holds, and none where that of midpoints does.
    by_trapezoids: N::Bits,
    /// The pole counts: z is not far from the real axis, and `exp(-z²)` is not nothing.
    has_pole: N::Mask,
    /// `2 / (1 + e)`.
    share: Complex<N>,
}

impl<N: Real> Place<N> {
    #[inline(always)]
    fn new(x: N, y: N) -> Place<N> {
        let size = N::select(x.gt(y), x, y);
        let far = N::Bits::from(FAR.to_bits() + 1f64.to_bits());
        let halved = N::from_bits(far.wrapping_sub(size.to_bits() & EXPONENT_BITS));
        let shrink = N::select(size.lt(FAR), 1.0, halved);
        // Half steps to the nearest point of either rule, and the rest, up to a quarter of a step.
        let steps = N::select(x.lt(NO_GAUSSIAN), x, 0.0) * PER_STEP;
        let halves = steps * 2.0 + SHIFTER;
        let (cosine, sine) = cosine_and_sine_of_turns(steps - (halves - SHIFTER) * 0.5);
        let growth = exp_inside(clamp(y * (2.0 * PI_PER_STEP), 0.0, 80.0));
        let (c, d) = (growth.fma(cosine, 1.0), growth * sine);
        let factor = N::from(2.0) / c.fma(c, d * d);
        Place {
            z: Complex { real: x * shrink, imaginary: y * shrink },
            is_finite: size.lt(f64::INFINITY),
            shrink,
            by_trapezoids: N::Bits::from(0).wrapping_sub(halves.to_bits() & 1),
            has_pole: y.lt(PI_PER_STEP) & x.lt(NO_GAUSSIAN),
            share: Complex { real: c * factor, imaginary: d * factor },
        }
    }

    /// `2 exp(-z²) / (1 + e)` without the power of two of `exp(-z²)`.
    #[inline(always)]
    fn pole(self, gaussian: Gaussian<N>) -> Complex<N> {
        gaussian.unit.times(self.share)
    }

    /// Calls `add` for square and weight of each point.
    #[inline(always)]
    fn for_each_node(self, mut add: impl FnMut(N, N)) {
        // Of a selection the compiler would make two loops, and compute both. Loops as short as these are unrolled.
        let rule = |[midpoint, trapezoid]: [f64; 2]| {
            let difference = midpoint.to_bits() ^ trapezoid.to_bits();
            N::from_bits(N::Bits::from(midpoint.to_bits()) ^ (self.by_trapezoids & difference))
        };
        for nodes in [&NODES[7..], &NODES[..7]] {
            nodes.iter().for_each(|node| add(rule(node.square), rule(node.weight)));
        }
    }

    /// The sum for w. With d = z² - t² and q = weight / |d|² its real part is `y Σ q (|z|² + t²)`, without
    /// cancellation, and the imaginary one `x Σ q (|z|² - t²)`, which is `x (2y² Σ q + Σ q Re d)`.
    #[inline(always)]
    fn sum(self) -> Complex<N> {
        let Complex { real: x, imaginary: y } = self.z;
        let (real, imaginary) = ((x - y) * (x + y), x * 2.0 * y);
        let height = imaginary * imaginary;
        let zero = N::from(0.0);
        let (mut plain, mut squares, mut distances) = (zero, zero, zero);
        self.for_each_node(|square, weight| {
            let distance = real - square;
            let factor = weight / distance.fma(distance, height);
            plain = plain + factor;
            squares = factor.fma(square, squares);
            distances = factor.fma(distance, distances);
        });
        let real = x.fma(x, y * y).fma(plain, squares);
        let imaginary = ((y * y) * 2.0).fma(plain, distances);
        Complex { real: y * real, imaginary: x * imaginary }.map(|part| part * self.shrink)
    }

    /// The sum for `w'`: `-i Σ weight (z² + t²) / (z² - t²)²`, where the quotient is `1/d + 2t²/d²`, d = z² - t².
    /// With q = weight / |d|² and p = q t² / |d|² these are `q conj d + 2p (conj d)²`.
    #[inline(always)]
    fn slope_sum(self) -> Complex<N> {
        let Complex { real: x, imaginary: y } = self.z;
        let (real, imaginary) = ((x - y) * (x + y), x * 2.0 * y);
        let height = imaginary * imaginary;
        let zero = N::from(0.0);
        let (mut plain, mut distances) = (zero, zero);
        let (mut turned, mut squares) = (zero, zero);
        self.for_each_node(|square, weight| {
            let distance = real - square;
            let reciprocal = N::from(1.0) / distance.fma(distance, height);
            let first = weight * reciprocal;
            let second = first * (reciprocal * square);
            plain = plain + first;
            distances = first.fma(distance, distances);
            turned = second.fma(distance, turned);
            squares = second.fma(distance.fma(distance, -height), squares);
        });
        let left = squares.fma(2.0, distances);
        let right = turned.fma(4.0, plain);
        Complex { real: -imaginary * right, imaginary: -left }.map(|part| part * self.shrink * self.shrink)
    }
}

/// `w(z)`, given `exp(-z²)`.
#[inline(always)]
fn function<N: Real>(x: N, y: N, gaussian: Gaussian<N>) -> Complex<N> {
    let (width, height) = (x.abs(), y.abs());
    let place = Place::new(width, height);
    let pole = Complex::select(place.has_pole, place.pole(gaussian).scaled(gaussian.twos), Complex::zero());
    let sum = Complex::select(place.is_finite, place.sum(), Complex::zero());
    let first = sum.plus(pole);
    let Complex { real, imaginary } = gaussian.unit.scaled(gaussian.twos);
    // On the real axis the real part is exp(-x²), however small beside the other.
    let above = Complex { real: N::select(y.eq(0.0), real, first.real), ..first };
    let below = Complex { real: real.fma(2.0, -first.real), imaginary: imaginary.fma(-2.0, first.imaginary) };
    let value = Complex::select(y.lt(0.0), below, above);
    with_nan(x, y, Complex { imaginary: flip_sign(value.imaginary, x), ..value })
}

/// `w'(z)`, given `exp(-z²)`.
#[inline(always)]
fn slope<N: Real>(x: N, y: N, gaussian: Gaussian<N>) -> Complex<N> {
    let (width, height) = (x.abs(), y.abs());
    let place = Place::new(width, height);
    // The derivative of ln(exp(-z²) / (1 + e)) is -2z + πi/h (2 - 2/(1 + e)).
    let rate = Complex {
        real: place.share.imaginary.fma(PI_PER_STEP, width * -2.0),
        imaginary: (N::from(2.0) - place.share.real).fma(PI_PER_STEP, height * -2.0),
    };
    let pole = place.pole(gaussian).times(rate).scaled(gaussian.twos);
    let pole = Complex::select(place.has_pole, pole, Complex::zero());
    let sum = Complex::select(place.is_finite, place.slope_sum(), Complex::zero());
    let first = sum.plus(pole);
    // z exp(-z²), which is 0 where z is infinite along the real axis.
    let z = Complex { real: width, imaginary: height }.map(|part| clamp(part, 0.0, f64::MAX / 4.0));
    let Complex { real, imaginary } = gaussian.unit.times(z).scaled(gaussian.twos);
    let above = Complex { real: N::select(y.eq(0.0), real * -2.0, first.real), ..first };
    let below = Complex { real: real.fma(-4.0, -first.real), imaginary: imaginary.fma(4.0, first.imaginary) };
    let value = Complex::select(y.lt(0.0), below, above);
    with_nan(x, y, Complex { real: flip_sign(value.real, x), ..value })
}

/// The value, or NaN where there is no point.
#[inline(always)]
fn with_nan<N: Real>(x: N, y: N, value: Complex<N>) -> Complex<N> {
    let nan = Complex { real: N::from(f64::NAN), imaginary: N::from(f64::NAN) };
    Complex::select(x.is_nan() | y.is_nan(), nan, value)
}

/// One part of function or slope.
macro_rules! part {
    ($type:ident, $function:ident, $part:ident) => {
        impl Binary for $type {
            #[inline(always)]
            fn lane<N: Real>(x: N, y: N) -> N {
                $function(x, y, gaussian(x.abs(), y.abs())).$part
            }

            #[inline(always)]
            fn rarity<N: Real>(x: N, y: N) -> N::Bits {
                // The angle of a number that is nothing does not matter.
                beyond_largest(x * 2.0 * y) & y.to_bits() & ((x - y) * (x + y) - LARGEST_EXPONENT).to_bits()
            }

            fn rare<A: FusedMultiplyAdd>(x: Binary64<A>, y: Binary64<A>) -> Binary64<A> {
                let turn = |angle| (value::<Cos, A>(angle), value::<Sin, A>(angle));
                Self::rare_lane(x, y, angles(x.abs(), y.abs()).map(turn))
            }

            #[inline(always)]
            fn rare_angles<N: Real>(x: N, y: N) -> Option<[N; 2]> {
                Some(angles(x.abs(), y.abs()))
            }

            #[inline(always)]
            fn rare_lane<N: Real>(x: N, y: N, turns: [(N, N); 2]) -> N {
                $function(x, y, gaussian_of_turns(x.abs(), y.abs(), turns)).$part
            }
        }
    };
}

part!(FaddeevaReal, function, real);
part!(FaddeevaImag, function, imaginary);
part!(FaddeevaSlopeReal, slope, real);
part!(FaddeevaSlopeImag, slope, imaginary);
