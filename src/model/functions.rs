//! Special functions that components need, in terms of those of the machine.

use cembra_vm::vector::math::double;
use std::f64::consts::PI;

pub use cembra_vm::vector::math::double::{atan, cos, erf, erfc, exp, pow, sin};

/// `sin(pi x) / (pi x)`, 1 at 0.
pub fn sinc(x: f64) -> f64 {
    let angle = PI * x;
    if angle == 0.0 { 1.0 } else { double::sin(angle) / angle }
}

/// Real part of the Faddeeva function `w(x + iy) = exp(-z^2) erfc(-iz)`.
pub fn faddeeva_real(x: f64, y: f64) -> f64 {
    double::faddeeva_real(x, y)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(x, y, Re w(x + iy))`, computed with 60 digits.
    const RECORDED: &[(f64, f64, f64)] = &[
        (0.0, 0.0, 1.0),
        (0.5, 0.5, 0.533156707912175),
        (1.0, 0.0, 0.36787944117144233),
        (3.0, 0.001, 0.0002019724245573203),
        (0.0, 2.0, 0.25539567631050575),
        (2.5, 0.1, 0.014698406828789557),
        (0.001, 5.0, 0.11070463369237986),
        (10.0, 1e-06, 5.728717562239248e-09),
        (7.0, 3.0, 0.029795821949883398),
        (50.0, 20.0, 0.0038926059685400576),
        (100000.0, 1.0, 5.6418958357596574e-11),
        (30000.0, 10000.0, 5.641895842812028e-06),
        (0.2559, 1e-08, 0.9366132639383863),
        (5.0, 0.9, 0.020879555262648425),
        (5.2, 5.2, 0.054736050812018155),
        (300000000.0, 100000000.0, 5.641895835477563e-10),
        (1.5, -0.5, -0.17748955379745404),
        (0.0, 0.001, 0.9988726200811514),
        (6.1, 0.0, 6.916753975541478e-17),
    ];

    #[test]
    fn faddeeva_agrees_with_recorded_values() {
        for (x, y, expected) in RECORDED {
            let actual = faddeeva_real(*x, *y);
            let error = (actual - expected).abs() / expected.abs().max(1e-16);
            assert!(error < 1e-13, "w({x} + {y}i) = {actual}, not {expected}: {error}");
        }
    }
}
