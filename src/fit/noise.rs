//! What is known about the noise: how a difference between data and model becomes a residual.

use crate::fit::error::FitError;
use cembra_vm::vector::Level;
use cembra_vm::vector::lanes::sum;
use cembra_vm::vector::level::Loop;
use cembra_vm::vector::math::double;

/// How far a model is floored above zero, in counts, so that the deviance stays finite.
const FLOOR: f64 = 1e-3;

/// Relative distances of model and data below which the slope of the deviance is taken from its series.
const NEAR: f64 = 1e-4;

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

    /// True if residuals are linear in the model.
    pub fn is_linear(self) -> bool {
        self.factor().is_some()
    }

    /// What differences of data and model are multiplied by to be residuals; none if it depends on them.
    pub fn factor(self) -> Option<f64> {
        match self {
            Noise::Unknown => Some(1.0),
            Noise::Gaussian { sigma } => Some(1.0 / sigma),
            Noise::Poisson { .. } => None,
        }
    }

    /// How residuals change with the values of the model: what derivatives of the model are multiplied by. It is
    /// alike for all values, or `each` gets one for each.
    ///
    /// # Panics
    /// There are more data than values of the model, or fewer.
    pub fn slopes<'e>(self, data: &[f64], model: &[f64], each: &'e mut Vec<f64>) -> Slopes<'e> {
        let Noise::Poisson { scale } = self else {
            return Slopes::Alike(-self.factor().expect("it is the same for all"));
        };
        assert_eq!(data.len(), model.len(), "a value of the model for each of the data");
        each.clear();
        each.extend(data.iter().zip(model).map(|(data, model)| poisson_slope(*data, *model, scale)));
        Slopes::Each(each)
    }

    /// The noise of the mean of so many values.
    #[must_use]
    pub fn of_mean(self, count: usize) -> Noise {
        let count = count as f64;
        match self {
            Noise::Unknown => Noise::Unknown,
            Noise::Gaussian { sigma } => Noise::Gaussian { sigma: sigma / count.sqrt() },
            Noise::Poisson { scale } => Noise::Poisson { scale: scale * count },
        }
    }

    /// The sum of the squares of the residuals.
    ///
    /// # Panics
    /// There are more data than values of the model, or fewer.
    pub fn squares(self, data: &[f64], model: &[f64]) -> f64 {
        let differences = || Level::best().run(Squares { data, model });
        match self {
            Noise::Unknown => differences(),
            Noise::Gaussian { sigma } => differences() / (sigma * sigma),
            Noise::Poisson { scale } => {
                data.iter().zip(model).map(|(data, model)| poisson(*data, *model, scale).powi(2)).sum()
            }
        }
    }

    /// Writes the residuals.
    ///
    /// # Panics
    /// There are more data than values of the model or places, or fewer.
    pub fn residuals(self, data: &[f64], model: &[f64], residuals: &mut [f64]) {
        assert!(data.len() == model.len() && data.len() == residuals.len(), "a residual for each value");
        if let Noise::Poisson { scale } = self {
            let each = residuals.iter_mut().zip(data.iter().zip(model));
            return each.for_each(|(residual, (data, model))| *residual = poisson(*data, *model, scale));
        }
        let factor = self.factor().expect("it is the same for all");
        Level::best().run(Differences { factor, data, model, residuals });
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

/// How residuals change with the values of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slopes<'e> {
    /// The same for all of them.
    Alike(f64),
    /// One for each.
    Each(&'e [f64]),
}

impl Slopes<'_> {
    /// Writes the derivatives of residuals whose values of the model have these derivatives, one for each or one for
    /// all of them, times a factor.
    ///
    /// # Panics
    /// There are more or fewer derivatives than places, and more than one.
    pub fn apply(self, factor: f64, derivatives: &[f64], target: &mut [f64]) {
        Level::best().run(Weighing { slopes: self, factor, derivatives, target });
    }
}

/// Derivatives of residuals from those of the model.
struct Weighing<'v> {
    slopes: Slopes<'v>,
    factor: f64,
    derivatives: &'v [f64],
    target: &'v mut [f64],
}

impl Loop for Weighing<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Weighing { slopes, factor, derivatives, target } = self;
        match (slopes, derivatives) {
            (Slopes::Alike(slope), [derivative]) => target.fill(slope * factor * derivative),
            (Slopes::Alike(slope), _) => {
                assert_eq!(derivatives.len(), target.len(), "a derivative for each value");
                let factor = slope * factor;
                target.iter_mut().zip(derivatives).for_each(|(target, value)| *target = factor * value);
            }
            (Slopes::Each(slopes), [derivative]) => {
                let factor = factor * derivative;
                target.iter_mut().zip(slopes).for_each(|(target, slope)| *target = factor * slope);
            }
            (Slopes::Each(slopes), _) => {
                assert_eq!(derivatives.len(), target.len(), "a derivative for each value");
                let both = slopes.iter().zip(derivatives);
                target
                    .iter_mut()
                    .zip(both)
                    .for_each(|(target, (slope, value))| *target = factor * value * slope);
            }
        }
    }
}

/// Differences of data and model, times a factor.
struct Differences<'v> {
    factor: f64,
    data: &'v [f64],
    model: &'v [f64],
    residuals: &'v mut [f64],
}

impl Loop for Differences<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Differences { factor, data, model, residuals } = self;
        let each = residuals.iter_mut().zip(data.iter().zip(model));
        each.for_each(|(residual, (data, model))| *residual = factor * (data - model));
    }
}

/// The sum of the squares of differences.
struct Squares<'v> {
    data: &'v [f64],
    model: &'v [f64],
}

impl Loop for Squares<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        sum(self.data, self.model, |data, model| (data - model) * (data - model))
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

/// The slope of [`poisson`]: with `r² = 2 s kl`, it is `s kl'/r`, and `-sqrt(s/d)` where model and data meet.
fn poisson_slope(data: f64, model: f64, scale: f64) -> f64 {
    let residual = poisson(data, model, scale);
    if data == 0.0 {
        return if model > 0.0 { scale / residual } else { 0.0 };
    }
    let slope = 1.0 - data / model.max(FLOOR / scale);
    match slope.abs() > NEAR {
        true => scale * slope / residual,
        // The next term of the series around the data keeps the digits that the quotient loses.
        false => -(scale / data).sqrt() * (1.0 - 2.0 / 3.0 * slope),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slope(noise: Noise, data: f64, model: f64) -> f64 {
        let (mut each, mut slope) = (Vec::new(), [0.0]);
        noise.slopes(&[data], &[model], &mut each).apply(1.0, &[1.0], &mut slope);
        slope[0]
    }

    #[test]
    fn slopes_are_those_of_residuals() {
        let noises = [Noise::Unknown, Noise::Gaussian { sigma: 0.3 }, Noise::Poisson { scale: 2.0 }];
        for noise in noises {
            for (data, model) in [(4.0, 5.0), (4.0, 4.01), (4.0, 1.0), (0.0, 2.0), (3.0, -1.0)] {
                let step = 1e-5;
                let rise = noise.residual(data, model + step) - noise.residual(data, model - step);
                let (slope, expected) = (slope(noise, data, model), rise / (2.0 * step));
                assert!(
                    (slope - expected).abs() < 1e-6 * expected.abs(),
                    "{noise:?} {data} {model}: {slope}"
                );
            }
        }
        let poisson = Noise::Poisson { scale: 2.0 };
        let (near, far) =
            (slope(poisson, 4.0, 4.0 * (1.0 + 0.99e-4)), slope(poisson, 4.0, 4.0 * (1.0 + 1.01e-4)));
        assert!((near / far - 1.0).abs() < 1e-5, "{near} {far}");
        let (data, model) = ([4.0, 0.0, 2.5], [5.0, 1.0, 2.0]);
        for noise in noises {
            let each = data.iter().zip(model).map(|(data, model)| noise.residual(*data, model).powi(2));
            assert!((noise.squares(&data, &model) - each.sum::<f64>()).abs() < 1e-14);
            let mut found = [0.0; 3];
            noise.residuals(&data, &model, &mut found);
            for (i, found) in found.into_iter().enumerate() {
                assert!((found - noise.residual(data[i], model[i])).abs() < 1e-15, "{noise:?} {i}");
            }
            let (mut each, mut slopes) = (Vec::new(), [0.0; 3]);
            noise.slopes(&data, &model, &mut each).apply(2.0, &[1.0, 3.0, 0.5], &mut slopes);
            for (i, derivative) in [1.0, 3.0, 0.5].into_iter().enumerate() {
                let expected = 2.0 * derivative * slope(noise, data[i], model[i]);
                assert!((slopes[i] - expected).abs() < 1e-14 * expected.abs(), "{noise:?} {slopes:?}");
            }
        }
        assert_eq!(Noise::Gaussian { sigma: 2.0 }.of_mean(4), Noise::Gaussian { sigma: 1.0 });
    }

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
