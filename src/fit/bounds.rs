//! Bounds: every free parameter becomes a number without bounds (the MINUIT transformation).
//!
//! ```text
//! two bounds   x = min + (sin v + 1)(max - min)/2
//! lower only   x = min - 1 + sqrt(v² + 1)
//! upper only   x = max + 1 - sqrt(v² + 1)
//! ```

use cembra_vm::vector::math::double;

/// A parameter's bounds; infinite where there are none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Lower bound.
    pub min: f64,
    /// Upper bound.
    pub max: f64,
}

impl Bounds {
    /// The value of the parameter for a number without bounds.
    pub fn outer(self, v: f64) -> f64 {
        match (self.min.is_finite(), self.max.is_finite()) {
            (true, true) => self.min + (double::sin(v) + 1.0) * (self.max - self.min) / 2.0,
            (true, false) => self.min - 1.0 + (v * v + 1.0).sqrt(),
            (false, true) => self.max + 1.0 - (v * v + 1.0).sqrt(),
            (false, false) => v,
        }
    }

    /// The number without bounds for a value inside the bounds.
    pub fn inner(self, x: f64) -> f64 {
        match (self.min.is_finite(), self.max.is_finite()) {
            (true, true) if self.min == self.max => 0.0,
            (true, true) => {
                double::asin((2.0 * (x - self.min) / (self.max - self.min) - 1.0).clamp(-1.0, 1.0))
            }
            (true, false) => ((x - self.min + 1.0).powi(2) - 1.0).max(0.0).sqrt(),
            (false, true) => ((self.max - x + 1.0).powi(2) - 1.0).max(0.0).sqrt(),
            (false, false) => x,
        }
    }

    /// How fast the parameter changes with the number without bounds.
    pub fn slope(self, v: f64) -> f64 {
        match (self.min.is_finite(), self.max.is_finite()) {
            (true, true) => double::cos(v) * (self.max - self.min) / 2.0,
            (true, false) => v / (v * v + 1.0).sqrt(),
            (false, true) => -v / (v * v + 1.0).sqrt(),
            (false, false) => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_in_and_out() {
        let infinite = f64::INFINITY;
        for (min, max) in [(0.0, 2.0), (-1.0, infinite), (-infinite, 3.0), (-infinite, infinite)] {
            let bounds = Bounds { min, max };
            for x in [0.1, 1.0, 1.9] {
                let v = bounds.inner(x);
                assert!((bounds.outer(v) - x).abs() < 1e-14, "{bounds:?} {x}");
                let slope = (bounds.outer(v + 1e-6) - bounds.outer(v - 1e-6)) / 2e-6;
                assert!((bounds.slope(v) - slope).abs() < 1e-8, "{bounds:?} {x}");
            }
        }
    }
}
