//! Subcycles: parts of a period that repeat, each with dynamics of its own.
//!
//! ```text
//! frequency 1/4, 2 subcycles       subcycle   0 │ 1   1 │ 2   2 │ 1   1 │ 2 …
//!                                  t       -1   0   1   2   3   4   5   6
//!                                  time_norm 0  0   1   0   1   0   1   0
//! ```
//!
//! A subcycle lasts `L = 1/(frequency · subcycles)`. Before time 0 no subcycle is active.

/// The time axis folded into subcycles.
#[derive(Clone, Debug, PartialEq)]
pub struct Subcycles {
    /// Time since the beginning of the active subcycle; 0 before time 0.
    pub time_norm: Vec<f64>,
    /// The active subcycle, from 1; 0 before time 0.
    pub active: Vec<usize>,
    /// The first sample that rounding may put on either side of a boundary.
    pub boundary: Option<f64>,
}

/// How near to a boundary, relative to the number of subcycles passed, a sample is ambiguous.
const AMBIGUOUS: f64 = 1e-6;

impl Subcycles {
    /// Folds an axis.
    pub fn new(time: &[f64], frequency: f64, subcycles: usize) -> Subcycles {
        let length = 1.0 / (frequency * subcycles as f64);
        let fold = |t: f64| match t < 0.0 {
            true => (0.0, 0),
            false => {
                let passed = (t / length).floor();
                (t - passed * length, (passed % subcycles as f64) as usize + 1)
            }
        };
        let (time_norm, active) = time.iter().map(|t| fold(*t)).unzip();
        let is_ambiguous = |t: &&f64| {
            let passed = **t / length;
            **t > 0.0 && (passed - passed.round()).abs() < AMBIGUOUS * passed.abs().max(1.0)
        };
        Subcycles { time_norm, active, boundary: time.iter().find(is_ambiguous).copied() }
    }

    /// 1 where a subcycle is active, else 0.
    pub fn mask(&self, subcycle: usize) -> Vec<f64> {
        self.active.iter().map(|active| f64::from(u8::from(*active == subcycle))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_subcycles_of_a_period_of_four() {
        let folded = Subcycles::new(&[-1.0, 0.0, 1.5, 2.5, 3.0, 4.5, 6.1], 0.25, 2);
        assert_eq!(folded.active, [0, 1, 1, 2, 2, 1, 2]);
        assert_eq!(folded.time_norm[..6], [0.0, 0.0, 1.5, 0.5, 1.0, 0.5]);
        assert_eq!(folded.mask(2), [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0]);
        assert_eq!(folded.boundary, None);
        assert_eq!(Subcycles::new(&[1.0, 4.0], 0.25, 2).boundary, Some(4.0));
    }
}
