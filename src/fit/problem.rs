//! What is fitted: a model, data, the part of them that counts, and the noise.

use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::noise::Noise;
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
        let expected = size(model);
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

    /// All data, also those that do not count.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// Indices of the values that count, in the flat spectrum.
    pub fn points(&self) -> &[usize] {
        &self.points
    }

    /// Checks that all values that count are numbers.
    ///
    /// # Errors
    /// The first one that is missing or infinite, with its place.
    pub fn check_data(&self) -> Result<(), FitError> {
        let columns = if self.model.domain == Domain::EnergyTime2D { self.model.energy.len() } else { 1 };
        match self.points.iter().find(|at| !self.data[**at].is_finite()) {
            None => Ok(()),
            Some(at) => {
                Err(FitError::DataValue { row: at / columns, column: at % columns, value: self.data[*at] })
            }
        }
    }

    /// Bounds of theta.
    pub fn bounds(&self) -> Vec<Bounds> {
        let bounds = |id| match &self.model.parameter(id).quantity {
            Quantity::Number(number) => Bounds { min: number.min, max: number.max },
            Quantity::Expression(_) => unreachable!("free parameters are numbers"),
        };
        self.model.free().into_iter().map(bounds).collect()
    }
}

/// Values of a spectrum.
fn size(model: &Model) -> usize {
    match model.domain {
        Domain::Energy1D => model.energy.len(),
        Domain::Time1D => model.time.len(),
        Domain::EnergyTime2D => model.energy.len() * model.time.len(),
    }
}
