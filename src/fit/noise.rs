//! What is known about the noise: how a difference between data and model becomes a residual.

use crate::fit::error::FitError;
use cembra_vm::vector::math::double;

/// How far a model is floored above zero, in counts, so that the deviance stays finite.
const FLOOR: f64 = 1e-3;

/// Noise of data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Nothing is known: residuals are `data - model`, and errors are scaled by how well the model fits.
    Unknown,
    /// Normal with this standard deviation: `(data - model)/sigma`.
    Gaussian {
        /// Standard deviation of each value.
        sigma: f64,
    },
    /// Counts, `scale` of them a unit: the signed root of the deviance.
    Poisson {
        /// Counts a unit of data.
        scale: f64,
    },
}

impl Noise {
    /// True if residuals have the size that the noise says, so that errors need no scaling.
    pub fn is_declared(self) -> bool {
        self != Noise::Unknown
    }

    /// Checks the scale.
    ///
    /// # Errors
    /// It is not positive and finite.
    pub fn check(self) -> Result<(), FitError> {
        let scale = match self {
            Noise::Unknown => 1.0,
            Noise::Gaussian { sigma: scale } | Noise::Poisson { scale } => scale,
        };
        match scale > 0.0 && scale.is_finite() {
            true => Ok(()),
            false => Err(FitError::Scale { scale }),
        }
    }

    /// The residual of one value.
    pub fn residual(self, data: f64, model: f64) -> f64 {
        match self {
            Noise::Unknown => data - model,
            Noise::Gaussian { sigma } => (data - model) / sigma,
            Noise::Poisson { scale } => poisson(data, model, scale),
        }
    }
}

/// `sign(d - m) sqrt(2 s kl(d, m))` with `kl = d ln(d/m) - d + m`; below the floor the model's deviance
/// goes on along its tangent.
fn poisson(data: f64, model: f64, scale: f64) -> f64 {
    if data == 0.0 {
        return -(2.0 * scale * model.max(0.0)).sqrt();
    }
    let floor = FLOOR / scale;
    let divergence = |m: f64| data * double::ln(data / m) - data + m;
    let kl = match model >= floor {
        true => divergence(model),
        false => divergence(floor) + (1.0 - data / floor) * (model - floor),
    };
    (data - model).signum() * (2.0 * scale * kl.max(0.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_residuals_are_near_normal_ones() {
        let noise = Noise::Poisson { scale: 1.0 };
        assert!((noise.residual(10_100.0, 10_000.0) - 1.0).abs() < 0.01);
        assert!(noise.residual(9_900.0, 10_000.0) < 0.0);
        assert_eq!(noise.residual(0.0, 2.0), -2.0);
        assert!(noise.residual(5.0, -1.0).is_finite());
        assert!(Noise::Gaussian { sigma: 0.0 }.check().is_err());
    }
}
