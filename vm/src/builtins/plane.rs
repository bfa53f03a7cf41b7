//! `math.faddeeva_*`: the Faddeeva function of a point of the complex plane, one operator for each part.
//!
//! ```text
//! w(z) = exp(-z^2) erfc(-iz)        z = x + iy
//! w'(z) = -2 z w(z) + 2i/sqrt(pi)
//! ```
//!
//! `w'` far from the origin is a small difference of large numbers, so the slopes are operators of their
//! own: [`slope`] sums the asymptotic series there (M. Abramowitz and I. Stegun, *Handbook of Mathematical
//! Functions*, 7.1.23, differentiated).

use crate::operator::Family;
use crate::vector::math::double;
use std::f64::consts::FRAC_2_SQRT_PI;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new("math.faddeeva_real", &["x", "y"], "Real part of the Faddeeva function w(x + iy).")
            .cost_of(60)
            .derivative(&["math.faddeeva_slope_real(x, y)", "-math.faddeeva_slope_imag(x, y)"])
            .binary(|x: f64, y: f64| double::faddeeva(x, y).0),
        Family::new("math.faddeeva_imag", &["x", "y"], "Imaginary part of the Faddeeva function w(x + iy).")
            .cost_of(60)
            .derivative(&["math.faddeeva_slope_imag(x, y)", "math.faddeeva_slope_real(x, y)"])
            .binary(|x: f64, y: f64| double::faddeeva(x, y).1),
        Family::new(
            "math.faddeeva_slope_real",
            &["x", "y"],
            "Real part of the derivative of the Faddeeva function at x + iy.",
        )
        .cost_of(65)
        .binary(|x: f64, y: f64| slope(x, y).0),
        Family::new(
            "math.faddeeva_slope_imag",
            &["x", "y"],
            "Imaginary part of the derivative of the Faddeeva function at x + iy.",
        )
        .cost_of(65)
        .binary(|x: f64, y: f64| slope(x, y).1),
    ]
}

/// From this `|z|^2` on, in the upper half plane, the series is exact to rounding.
const FAR: f64 = 256.0;

/// Terms of the series; the last one is below 1e-17 of the first where `|z|^2` is `FAR`.
const TERMS: i32 = 12;

/// Real and imaginary part of `w'(x + iy)`.
pub fn slope(x: f64, y: f64) -> (f64, f64) {
    let square = x * x + y * y;
    if y >= 0.0 && square >= FAR && square.is_finite() {
        return far_slope(x, y, square);
    }
    let (u, v) = double::faddeeva(x, y);
    (-2.0 * (x * u - y * v), FRAC_2_SQRT_PI - 2.0 * (x * v + y * u))
}

/// `w'(z) = -i/(sqrt(pi) z^2) (1 + 3 r + 15 r^2 + 105 r^3 + …)` with `r = 1/(2 z^2)`.
fn far_slope(x: f64, y: f64, square: f64) -> (f64, f64) {
    // 1/z^2 = (conj(z)/|z|^2)^2
    let (cx, cy) = (x / square, -y / square);
    let (qx, qy) = (cx * cx - cy * cy, 2.0 * cx * cy);
    let (mut sx, mut sy) = (1.0, 0.0);
    for term in (1..TERMS).rev() {
        let factor = f64::from(2 * term + 1) / 2.0;
        (sx, sy) = (1.0 + factor * (qx * sx - qy * sy), factor * (qx * sy + qy * sx));
    }
    let (tx, ty) = (qx * sx - qy * sy, qx * sy + qy * sx);
    let scale = FRAC_2_SQRT_PI / 2.0;
    (scale * ty, -scale * tx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_slope_agree_where_they_meet() {
        for angle in [0.0, 0.1, 0.7, 1.3, 1.57, 2.5, 3.1] {
            let (x, y) = (16.0 * f64::cos(angle), 16.0 * f64::sin(angle));
            let (u, v) = double::faddeeva(x, y);
            let near = (-2.0 * (x * u - y * v), FRAC_2_SQRT_PI - 2.0 * (x * v + y * u));
            let far = far_slope(x, y, x * x + y * y);
            let error = (near.0 - far.0).abs().max((near.1 - far.1).abs());
            assert!(error < 2e-13 * far.0.hypot(far.1).max(1e-2), "{near:?} {far:?}");
        }
    }

    #[test]
    fn the_slope_is_that_of_the_function() {
        for (x, y) in [(0.0, 0.0), (0.3, 0.2), (-2.0, 1.0), (5.0, 0.01), (14.0, 3.0), (40.0, 0.5)] {
            // Fourth-order differences along x.
            let h = 1e-3;
            let at = |k: f64| double::faddeeva(x + k * h, y);
            let difference = |part: fn((f64, f64)) -> f64| {
                (8.0 * (part(at(1.0)) - part(at(-1.0))) - (part(at(2.0)) - part(at(-2.0)))) / (12.0 * h)
            };
            let (real, imaginary) = slope(x, y);
            assert!((real - difference(|w| w.0)).abs() < 1e-11, "{x} {y}: {real}");
            assert!((imaginary - difference(|w| w.1)).abs() < 1e-11, "{x} {y}: {imaginary}");
        }
        assert!(slope(f64::NAN, 0.0).0.is_nan());
    }
}
