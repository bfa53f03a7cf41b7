//! The Faddeeva function `w(z) = exp(-z²) erfc(-iz)`, the complex form of the error function.
//!
//! ```text
//! w(z) = (2iz/π) ∫ exp(-t²) / (z² - t²) dt, t from 0 on           y > 0
//!      ≈ (2ihz/π) Σ exp(-t²) / (z² - t²)  + 2 exp(-z²) / (1 ± exp(-2πiz/h))
//! ```
//!
//! A sum over 12 points at a distance h gives the integral to 2·10^-15 if the pole at z is accounted for by
//! the second term: Matta and Reichel (1971), with the choice between midpoints and trapezoids by Al Azah
//! and Chandler-Wilde (2021), which keeps the points away from z. The second term is nothing for y above π/h.
//! The other quadrants follow from `w(-conj z) = conj w(z)` and `w(-z) = 2 exp(-z²) - w(z)`.

use crate::vector::math::arithmetic::{Arithmetic, Double};
use crate::vector::math::dispatch::{Plane, value};
use crate::vector::math::exponential::{exp_double, scale};
use crate::vector::math::trigonometry::{Cos, Sin};

/// Squares of the midpoints, and their weights `2h/π exp(-t²)`, for h = sqrt(π/12).
const MIDPOINTS: [(f64, f64); 12] = [
    (0.06544984694978737, 0.30509839916005094),
    (0.5890486225480862, 0.1807356685638489),
    (1.636246173744684, 0.06342372596268704),
    (3.2070425005395804, 0.013184497283710203),
    (5.301437602932776, 0.001623601108607448),
    (7.9194314809242705, 0.0001184401760668592),
    (11.061024134514064, 5.118264087700047e-06),
    (14.726215563702155, 1.3102382619123278e-07),
    (18.915005768488548, 1.9869265173884656e-09),
    (23.627394748873236, 1.7849139143299767e-11),
    (28.863382504856226, 9.498536269129225e-14),
    (34.62296903643751, 2.9943325866350354e-16),
];

/// The same for the ends of the intervals, without 0.
const TRAPEZOIDS: [(f64, f64); 11] = [
    (0.26179938779914946, 0.250706969245996),
    (std::f64::consts::FRAC_PI_3, 0.1143068661759066),
    (2.356194490192345, 0.03087323729106693),
    (4.188790204786391, 0.004939647571913581),
    (6.544984694978736, 0.0004681809075069735),
    (9.42477796076938, 2.628665799613643e-05),
    (12.828170002158322, 8.743010328483478e-07),
    (16.755160819145566, 1.722624220227915e-08),
    (21.205750411731103, 2.0105924521441884e-10),
    (26.179938779914945, 1.390149435273149e-12),
    (31.677725923697082, 5.693808656908772e-15),
];

/// The weight of 0: h/π.
const WEIGHT_OF_ZERO: f64 = 0.16286750396763996;
/// 1/h.
const PER_STEP: f64 = 1.9544100476116797;
/// π/h.
const PI_PER_STEP: f64 = 6.139960247678931;
/// 1/sqrt(π).
const FRAC_1_SQRT_PI: f64 = 0.5641895835477563;

/// From this magnitude on, `w(z)` is `i / (sqrt(π) z)`.
const FAR: f64 = 1e8;

/// The Faddeeva function.
pub struct Faddeeva;

/// A complex number: real and imaginary part.
type Complex = (f64, f64);

/// `exp(-z²)`, its exponent in twice the precision.
fn gaussian<A: Arithmetic>(x: f64, y: f64) -> Complex {
    let (left, right) = (Double::product::<A>(y, y), Double::product::<A>(x, x));
    let sum = Double::sum(left.high, -right.high);
    if sum.high >= 710.0 || sum.high.is_nan() {
        return overflowing::<A>(x, y, sum.high);
    }
    if sum.high < -760.0 {
        return (0.0, 0.0);
    }
    let exponent = Double { high: sum.high, low: sum.low + (left.low - right.low) };
    let (power, n) = exp_double::<A>(exponent);
    let magnitude = scale(power.value(), n);
    let (cosine, sine) = turn::<A>(x, y);
    (magnitude * cosine, -magnitude * sine)
}

/// `exp(-z²)` beyond the largest number: infinities with its signs.
fn overflowing<A: Arithmetic>(x: f64, y: f64, exponent: f64) -> Complex {
    if exponent.is_nan() {
        return (f64::NAN, f64::NAN);
    }
    let (cosine, sine) = turn::<A>(x, y);
    let imaginary = if sine == 0.0 { 0.0 } else { f64::INFINITY.copysign(-sine) };
    (f64::INFINITY.copysign(cosine), imaginary)
}

/// Cosine and sine of 2xy, the product in twice the precision.
fn turn<A: Arithmetic>(x: f64, y: f64) -> Complex {
    let angle = Double::product::<A>(2.0 * x, y);
    let (cosine, sine) = (value::<Cos, A>(angle.high), value::<Sin, A>(angle.high));
    (A::fma(-angle.low, sine, cosine), A::fma(angle.low, cosine, sine))
}

/// `iz Σ weight / (z² - t²)`.
fn sum(x: f64, y: f64, points: &[(f64, f64)]) -> Complex {
    let (real, imaginary) = ((x - y) * (x + y), 2.0 * x * y);
    let (mut left, mut right) = (0.0, 0.0);
    for (square, weight) in points {
        let distance = real - square;
        let factor = weight / (distance * distance + imaginary * imaginary);
        left += distance * factor;
        right -= imaginary * factor;
    }
    (-(x * right + y * left), x * left - y * right)
}

/// `2 exp(-z²) / (1 + sign exp(-2πiz/h))`.
fn pole<A: Arithmetic>(x: f64, y: f64, sign: f64) -> Complex {
    let (real, imaginary) = gaussian::<A>(x, y);
    let (power, n) = exp_double::<A>(Double { high: 2.0 * PI_PER_STEP * y, low: 0.0 });
    let growth = sign * scale(power.value(), n);
    let angle = 2.0 * PI_PER_STEP * x;
    let (c, d) = (1.0 + growth * value::<Cos, A>(angle), -growth * value::<Sin, A>(angle));
    let factor = 2.0 / (c * c + d * d);
    (factor * (real * c + imaginary * d), factor * (imaginary * c - real * d))
}

/// The function in the first quadrant, below [`FAR`].
fn near<A: Arithmetic>(x: f64, y: f64) -> Complex {
    if y >= PI_PER_STEP {
        return sum(x, y, &MIDPOINTS);
    }
    let steps = x * PER_STEP;
    let fraction = steps - steps.floor();
    if (0.25..0.75).contains(&fraction) {
        let (sum, pole) = (sum(x, y, &TRAPEZOIDS), pole::<A>(x, y, -1.0));
        // The point 0: ih / (πz).
        let factor = WEIGHT_OF_ZERO / (x * x + y * y);
        return (sum.0 + pole.0 + factor * y, sum.1 + pole.1 + factor * x);
    }
    let (sum, pole) = (sum(x, y, &MIDPOINTS), pole::<A>(x, y, 1.0));
    (sum.0 + pole.0, sum.1 + pole.1)
}

/// `i / (sqrt(π) z)`.
fn far(x: f64, y: f64) -> Complex {
    let size = x.max(y);
    if size == f64::INFINITY {
        return (0.0, 0.0);
    }
    let (u, v) = (x / size, y / size);
    let factor = FRAC_1_SQRT_PI / (u * u + v * v) / size;
    (factor * v, factor * u)
}

impl Plane for Faddeeva {
    fn lane<A: Arithmetic>(x: f64, y: f64) -> Complex {
        if x.is_nan() || y.is_nan() {
            return (f64::NAN, f64::NAN);
        }
        let (width, height) = (x.abs(), y.abs());
        let first = match width.max(height) < FAR {
            true => near::<A>(width, height),
            false => far(width, height),
        };
        // On the real axis the real part is exp(-x²), however small beside the other.
        let real = if y == 0.0 { gaussian::<A>(x, 0.0).0 } else { first.0 };
        if y >= 0.0 {
            return (real, first.1.copysign(x));
        }
        // w(z) = 2 exp(-z²) - w(-z), and w(-z) is w of the first quadrant or its mirror image.
        let double = gaussian::<A>(x, y);
        (2.0 * double.0 - first.0, 2.0 * double.1 + first.1.copysign(x))
    }
}
