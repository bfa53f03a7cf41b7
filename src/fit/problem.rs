//! What is fitted: a model, data, the part of them that counts, and the noise.

use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::noise::Noise;
use crate::model::interpret;
use crate::model::quantity::Quantity;
use crate::model::tree::{Domain, Model};
use std::ops::Range;

/// A fit that can be done.
#[derive(Clone, Debug)]
pub struct Problem<'m> {
    /// The model; its initial values are where the fit begins.
    pub model: &'m Model,
    data: Vec<f64>,
    noise: Noise,
    /// Indices of the values that count, in the flat spectrum.
    points: Vec<usize>,
}

impl<'m> Problem<'m> {
    /// All data, whose noise is unknown; row after row, as spectra are.
    ///
    /// # Errors
    /// The data have another size than the spectrum.
    pub fn new(model: &'m Model, data: Vec<f64>) -> Result<Problem<'m>, FitError> {
        let expected = match model.domain {
            Domain::Energy1D => model.energy.len(),
            Domain::Time1D => model.time.len(),
            Domain::EnergyTime2D => model.energy.len() * model.time.len(),
        };
        match data.len() == expected {
            true => Ok(Problem { model, data, noise: Noise::Unknown, points: (0..expected).collect() }),
            false => Err(FitError::DataSize { expected, actual: data.len() }),
        }
    }

    /// Says what the noise is.
    ///
    /// # Errors
    /// A scale that is not positive.
    pub fn with_noise(mut self, noise: Noise) -> Result<Problem<'m>, FitError> {
        noise.check()?;
        self.noise = noise;
        Ok(self)
    }

    /// Counts only some energies and times, by index; a spectrum over one axis has one time or one energy.
    ///
    /// # Errors
    /// A window that is empty or goes beyond its axis.
    pub fn with_window(
        mut self,
        energies: Range<usize>,
        times: Range<usize>,
    ) -> Result<Problem<'m>, FitError> {
        let columns = self.model.energy.len().max(1);
        let rows = self.model.time.len().max(1);
        for (axis, window, points) in [("energy", &energies, columns), ("time", &times, rows)] {
            if window.is_empty() || window.end > points {
                return Err(FitError::Window { axis, from: window.start, to: window.end, points });
            }
        }
        self.points =
            times.flat_map(|row| energies.clone().map(move |column| row * columns + column)).collect();
        Ok(self)
    }

    /// How many values count.
    pub fn count(&self) -> usize {
        self.points.len()
    }

    /// The noise.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// Bounds of theta.
    pub fn bounds(&self) -> Vec<Bounds> {
        let bounds = |id| match &self.model.parameter(id).quantity {
            Quantity::Number(number) => Bounds { min: number.min, max: number.max },
            Quantity::Expression(_) => unreachable!("free parameters are numbers"),
        };
        self.model.free().into_iter().map(bounds).collect()
    }

    /// The residuals at theta.
    ///
    /// # Errors
    /// Theta has another length than the model's.
    pub fn residuals(&self, theta: &[f64]) -> Result<Vec<f64>, FitError> {
        let spectrum = interpret::evaluate(self.model, theta)?.values;
        Ok(self.points.iter().map(|at| self.noise.residual(self.data[*at], spectrum[*at])).collect())
    }

    /// Derivatives of the residuals with respect to theta, one list a parameter, by central differences
    /// of fourth order.
    ///
    /// # Errors
    /// Theta has another length than the model's.
    pub fn jacobian(&self, theta: &[f64]) -> Result<Vec<Vec<f64>>, FitError> {
        let column = |index: usize| -> Result<Vec<f64>, FitError> {
            let step = 2e-4 * theta[index].abs().max(1e-2);
            let shifted = |factor: f64| {
                let mut theta = theta.to_vec();
                theta[index] += factor * step;
                self.residuals(&theta)
            };
            let [far_below, below, above, far_above] =
                [shifted(-2.0)?, shifted(-1.0)?, shifted(1.0)?, shifted(2.0)?];
            let slope =
                |at: usize| (8.0 * (above[at] - below[at]) - (far_above[at] - far_below[at])) / (12.0 * step);
            Ok((0..self.count()).map(slope).collect())
        };
        (0..theta.len()).map(column).collect()
    }
}
