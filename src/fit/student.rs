//! Student's distribution for whole degrees of freedom.
//!
//! The sums are those of M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.7.3 and
//! 26.7.4; all their terms are positive.

use cembra_vm::vector::math::double;
use std::f64::consts::PI;

/// The probability that the absolute value stays below `t`.
pub fn probability(t: f64, degrees: usize) -> f64 {
    let angle = double::atan(t / (degrees as f64).sqrt());
    let (sine, cosine) = (double::sin(angle), double::cos(angle));
    let is_odd = degrees % 2 == 1;
    // The factor of the first term is odd/even for even degrees, even/odd for odd ones.
    let (mut term, mut sum, first) = if is_odd { (cosine, 0.0, 3) } else { (1.0, 0.0, 2) };
    for next in (first..=degrees).step_by(2) {
        sum += term;
        let factor = (next - 1) as f64 / next as f64;
        term *= factor * cosine * cosine;
        if term < sum * f64::EPSILON * 0.01 {
            break;
        }
    }
    if is_odd { 2.0 / PI * (angle + sine * sum) } else { sine * sum }
}

/// The value below which the absolute value stays with this probability.
pub fn quantile(wanted: f64, degrees: usize) -> f64 {
    let (mut below, mut above) = (0.0, 1.0);
    while probability(above, degrees) < wanted && above < 1e12 {
        above *= 2.0;
    }
    while above - below > 1e-13 * above {
        let middle = (below + above) / 2.0;
        *(if probability(middle, degrees) < wanted { &mut below } else { &mut above }) = middle;
    }
    (below + above) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles from printed tables.
    #[test]
    fn tables() {
        for (degrees, wanted, t) in [
            (1, 0.95, 12.706_204_736_432_1),
            (2, 0.95, 4.302_652_729_696_1),
            (5, 0.99, 4.032_142_983_557_5),
            (30, 0.95, 2.042_272_456_301_2),
            (120, 0.95, 1.979_930_405_052_8),
            (1_000_000, 0.95, 1.959_966_4),
        ] {
            assert!(
                (quantile(wanted, degrees) - t).abs() < 1e-7 * t,
                "{degrees}: {}",
                quantile(wanted, degrees)
            );
        }
    }
}
