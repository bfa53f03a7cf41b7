//! What is fitted: a model, data, the part of them that counts, and the noise.

use crate::fit::bounds::Bounds;
use crate::fit::error::FitError;
use crate::fit::noise::Noise;
use crate::model::quantity::Quantity;
use crate::model::tree::{Domain, Model};
use std::ops::Range;

/// Values that are added up before they go to a sum of all.
const STRETCH: usize = 4096;

/// A fit that can be done.
#[derive(Clone, Debug)]
pub struct Problem<'m> {
    /// The model; its initial values are where the fit begins.
    pub model: &'m Model,
    data: Vec<f64>,
    noise: Noise,
    /// Energies and times that count, by index.
    energies: Range<usize>,
    times: Range<usize>,
}

impl<'m> Problem<'m> {
    /// All data, whose noise is unknown; row after row, as spectra are.
    ///
    /// # Errors
    /// The data have another size than the spectrum.
    pub fn new(model: &'m Model, data: Vec<f64>) -> Result<Problem<'m>, FitError> {
        let [times, energies] = sizes(model);
        let expected = times * energies;
        match data.len() == expected {
            true => {
                Ok(Problem { model, data, noise: Noise::Unknown, energies: 0..energies, times: 0..times })
            }
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
        let [rows, columns] = sizes(self.model);
        for (axis, window, points) in [("energy", &energies, columns), ("time", &times, rows)] {
            if window.is_empty() || window.end > points {
                return Err(FitError::Window { axis, from: window.start, to: window.end, points });
            }
        }
        (self.energies, self.times) = (energies, times);
        Ok(self)
    }

    /// How many values count.
    pub fn count(&self) -> usize {
        self.energies.len() * self.times.len()
    }

    /// True if all data count.
    pub fn counts_all(&self) -> bool {
        self.count() == self.data.len()
    }

    /// The noise.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// All data, also those that do not count.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// Energies that count, by index.
    pub fn energies(&self) -> Range<usize> {
        self.energies.clone()
    }

    /// Times that count, by index; the only one of a spectrum over energy.
    pub fn times(&self) -> Range<usize> {
        self.times.clone()
    }

    /// Where the values of a time that count stand in the flat spectrum.
    pub fn row(&self, time: usize) -> Range<usize> {
        let first = time * sizes(self.model)[1];
        first + self.energies.start..first + self.energies.end
    }

    /// Where values that count stand side by side in the flat spectrum: the times of a window one by one, otherwise
    /// several together.
    pub fn stretches(&self) -> impl Iterator<Item = Range<usize>> {
        let columns = sizes(self.model)[1];
        let times = if self.energies.len() == columns { (STRETCH / columns.max(1)).max(1) } else { 1 };
        let end = self.times.end;
        self.times()
            .step_by(times)
            .map(move |time| self.row(time).start..self.row(end.min(time + times) - 1).end)
    }

    /// Checks that all values that count are numbers.
    ///
    /// # Errors
    /// The first one that is missing or infinite, or negative where they are counts, with its place.
    pub fn check_data(&self) -> Result<(), FitError> {
        let columns = if self.model.domain == Domain::EnergyTime2D { self.model.energy.len() } else { 1 };
        let least = if matches!(self.noise, Noise::Poisson { .. }) { 0.0 } else { f64::MIN };
        let is_number = |value: &f64| (least..=f64::MAX).contains(value);
        let of_row = |row: Range<usize>| Some(row.start + self.data[row].iter().position(|v| !is_number(v))?);
        // Whole rows first, which takes the machine's wide instructions.
        let mut rows = self.times().map(|time| self.row(time));
        let row = rows.find(|row| !self.data[row.clone()].iter().fold(true, |all, v| all & is_number(v)));
        match row.and_then(of_row) {
            None => Ok(()),
            Some(at) => {
                let (row, column, value) = (at / columns, at % columns, self.data[at]);
                Err(match value.is_finite() {
                    true => FitError::NegativeCounts { row, column, value },
                    false => FitError::DataValue { row, column, value },
                })
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

/// Times and energies of a spectrum; 1 for an axis that it has not.
fn sizes(model: &Model) -> [usize; 2] {
    match model.domain {
        Domain::Energy1D => [1, model.energy.len()],
        Domain::Time1D => [model.time.len(), 1],
        Domain::EnergyTime2D => [model.time.len(), model.energy.len()],
    }
}
