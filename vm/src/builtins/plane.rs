//! `math.faddeeva_*`: the Faddeeva function of a point of the complex plane, one operator for each part.
//!
//! ```text
//! w(z) = exp(-z^2) erfc(-iz)        z = x + iy
//! w'(z) = -2 z w(z) + 2i/sqrt(pi)
//! ```
//!
//! `w'` far from the origin is a small difference of large numbers, so the slopes are operators of their own.

use crate::operator::Family;
use crate::vector::math::{BinaryKind, double};

/// Name of `math.faddeeva_real`.
pub const FADDEEVA_REAL: &str = "math.faddeeva_real";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(FADDEEVA_REAL, &["x", "y"], "Real part of the Faddeeva function w(x + iy).")
            .cost_of(60)
            .derivative(&["math.faddeeva_slope_real(x, y)", "-math.faddeeva_slope_imag(x, y)"])
            .special(BinaryKind::FaddeevaReal)
            .binary_rows_in_place(double::faddeeva_real, double::faddeeva_real_into),
        Family::new("math.faddeeva_imag", &["x", "y"], "Imaginary part of the Faddeeva function w(x + iy).")
            .cost_of(60)
            .derivative(&["math.faddeeva_slope_imag(x, y)", "math.faddeeva_slope_real(x, y)"])
            .special(BinaryKind::FaddeevaImag)
            .binary_rows_in_place(double::faddeeva_imag, double::faddeeva_imag_into),
        Family::new(
            "math.faddeeva_slope_real",
            &["x", "y"],
            "Real part of the derivative of the Faddeeva function at x + iy.",
        )
        .cost_of(65)
        .special(BinaryKind::FaddeevaSlopeReal)
        .binary_rows_in_place(double::faddeeva_slope_real, double::faddeeva_slope_real_into),
        Family::new(
            "math.faddeeva_slope_imag",
            &["x", "y"],
            "Imaginary part of the derivative of the Faddeeva function at x + iy.",
        )
        .cost_of(65)
        .special(BinaryKind::FaddeevaSlopeImag)
        .binary_rows_in_place(double::faddeeva_slope_imag, double::faddeeva_slope_imag_into),
    ]
}
