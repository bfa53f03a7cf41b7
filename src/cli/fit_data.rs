//! Measured spectra from files, and the axes they bring.
//!
//! | file | what it holds |
//! | --- | --- |
//! | table, names of columns are numbers | a line a time: the time, then a value for each energy |
//! | any other table | a line a point: the axis, then the spectrum |
//! | NPY | an array of one axis, or of times and energies |
//! | NPZ | the arrays `energy` and `time` if they are there, and one more |

use crate::cli::report::{Phase, Report};
use crate::columns::format::Format;
use crate::columns::{NumberArray, OpenOptions, check_numbers, open, read_whole};
use crate::model::library::Setup;
use cembra_vm::value::{Category, ScalarType};
use std::path::Path;

/// How far axes of a model and its data may differ, relative to their length.
const AXIS_TOLERANCE: f64 = 1e-9;

/// A spectrum with its axes as far as the file says them.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The file, as messages name it.
    pub file: String,
    /// The only axis, or times and energies.
    pub shape: Vec<usize>,
    /// The spectrum, time after time.
    pub values: Vec<f64>,
    energy: Option<Vec<f64>>,
    time: Option<Vec<f64>>,
    /// The axis of a spectrum over one axis that may be either.
    only: Option<Vec<f64>>,
}

/// An error in the data.
pub fn wrong(message: impl Into<String>) -> Report {
    Report::new(Category::Parse, Phase::Compile, message)
}

/// Reads a spectrum; `column` says which column or array it is where there are several.
///
/// # Errors
/// The file cannot be read, or holds no spectrum.
pub fn read(path: &Path, column: Option<&str>) -> Result<Measurement, Report> {
    let file = path.display().to_string();
    let format = Format::of(path)?;
    if let Format::Csv(_) = format {
        refuse_texts(path, column)?;
    }
    let arrays = read_whole(path)?;
    let measurement = match format {
        Format::Npy | Format::Npz => from_arrays(&file, arrays, column)?,
        _ => from_table(&file, arrays, column)?,
    };
    match measurement.values.is_empty() {
        true => Err(wrong(format!("{file} has no values"))),
        false => Ok(measurement),
    }
}

/// A cell that is no number makes its column one of texts, which is no axis and no spectrum: refuses it where the column
/// is the axis, the spectrum, or that of an energy.
fn refuse_texts(path: &Path, column: Option<&str>) -> Result<(), Report> {
    let table = open(path, &OpenOptions::default())?;
    let count = table.columns().len();
    for (index, found) in table.columns().iter().enumerate() {
        let is_text = found.element == Some(ScalarType::Text);
        let is_spectrum = match column {
            Some(column) => *found.name == *column,
            None => count == 2 || found.name.trim().parse::<f64>().is_ok(),
        };
        if is_text && (index == 0 || is_spectrum) {
            check_numbers(path, &found.name)?;
        }
    }
    Ok(())
}

fn empty(file: &str) -> Measurement {
    let file = file.to_owned();
    Measurement { file, shape: Vec::new(), values: Vec::new(), energy: None, time: None, only: None }
}

fn from_arrays(
    file: &str,
    mut arrays: Vec<NumberArray>,
    column: Option<&str>,
) -> Result<Measurement, Report> {
    let mut take = |name: &str| {
        let at = arrays.iter().position(|array| array.name == name && column != Some(name))?;
        Some(arrays.remove(at).values)
    };
    let (energy, time) = (take("energy"), take("time"));
    let data = choose(file, arrays, column)?;
    let axes = data.shape.len();
    if !(1..=2).contains(&axes) {
        return Err(wrong(format!("`{}` of {file} has {axes} axes; a spectrum has one or two", data.name)));
    }
    Ok(Measurement { shape: data.shape, values: data.values, energy, time, ..empty(file) })
}

fn from_table(
    file: &str,
    mut columns: Vec<NumberArray>,
    column: Option<&str>,
) -> Result<Measurement, Report> {
    let energies: Option<Vec<f64>> = columns.iter().skip(1).map(|c| c.name.trim().parse().ok()).collect();
    if columns.len() < 2 {
        return Err(wrong(format!("{file} needs two columns of numbers: an axis and the spectrum")));
    }
    let axis = columns.remove(0);
    if let (Some(energies), None) = (energies, column) {
        let (rows, width) = (axis.values.len(), energies.len());
        let values = (0..rows).flat_map(|row| columns.iter().map(move |column| column.values[row]));
        let (shape, values) = (vec![rows, width], values.collect());
        return Ok(Measurement {
            shape,
            values,
            energy: Some(energies),
            time: Some(axis.values),
            ..empty(file)
        });
    }
    let data = choose(file, columns, column)?;
    let mut measurement = Measurement { shape: data.shape, values: data.values, ..empty(file) };
    match axis.name.as_str() {
        "energy" => measurement.energy = Some(axis.values),
        "time" => measurement.time = Some(axis.values),
        _ => measurement.only = Some(axis.values),
    }
    Ok(measurement)
}

/// The array that is the spectrum.
fn choose(file: &str, mut arrays: Vec<NumberArray>, column: Option<&str>) -> Result<NumberArray, Report> {
    let names = arrays.iter().map(|a| a.name.as_str()).collect::<Vec<_>>().join(", ");
    let at = match (column, arrays.len()) {
        (Some(column), _) => {
            let at = arrays.iter().position(|array| array.name == column);
            at.ok_or_else(|| wrong(format!("{file} has no spectrum `{column}`; it has {names}")))?
        }
        (None, 1) => 0,
        (None, 0) => return Err(wrong(format!("{file} has no spectrum"))),
        (None, _) => {
            return Err(wrong(format!("{file} has several spectra, {names}; --column NAME chooses one")));
        }
    };
    Ok(arrays.swap_remove(at))
}

impl Measurement {
    /// Gives a setup the axes that it has not, and checks those that it has.
    ///
    /// # Errors
    /// Axes are missing, or differ from those of the model.
    pub fn fill_axes(&self, setup: &mut Setup) -> Result<(), Report> {
        let is_time_model = setup.time_model.is_some();
        let mut time = setup.time.clone().unwrap_or_default();
        let (mut own_energy, mut own_time) = (self.energy.clone(), self.time.clone());
        if let Some(only) = &self.only {
            *(if is_time_model { &mut own_time } else { &mut own_energy }) = Some(only.clone());
        }
        self.one_axis_fits(is_time_model)?;
        if !is_time_model {
            self.fill("energy", &mut setup.energy, own_energy, self.shape[self.shape.len() - 1])?;
        }
        if is_time_model || self.shape.len() == 2 {
            self.fill("time", &mut time, own_time, self.shape[0])?;
            setup.time = Some(time);
        } else if setup.time.is_some() {
            let file = &self.file;
            let message = format!("{file} is a spectrum over energy; the model has a time axis too");
            let mut report = wrong(message);
            report.notes.push("--kind spectrum fits the model without its dynamics".to_owned());
            return Err(report);
        }
        Ok(())
    }

    /// A spectrum over one axis has the axis of the model.
    fn one_axis_fits(&self, is_time_model: bool) -> Result<(), Report> {
        let file = &self.file;
        match (self.shape.len(), is_time_model) {
            (2, true) => Err(wrong(format!("{file} has times and energies; the model is one of times"))),
            (1, true) if self.energy.is_some() => {
                Err(wrong(format!("{file} is a spectrum over energy; the model is one of times")))
            }
            (1, false) if self.time.is_some() => {
                Err(wrong(format!("{file} is a trace over time; the model is one of energies")))
            }
            _ => Ok(()),
        }
    }

    fn fill(
        &self,
        name: &str,
        axis: &mut Vec<f64>,
        own: Option<Vec<f64>>,
        points: usize,
    ) -> Result<(), Report> {
        let file = &self.file;
        if let Some(own) = own {
            if own.len() != points {
                let count = own.len();
                let message =
                    format!("{file} has {points} values along {name}, and {count} points of that axis");
                return Err(wrong(message));
            }
            if axis.is_empty() {
                *axis = own;
            } else if let Some(problem) = difference(axis, &own) {
                return Err(wrong(format!("the {name} axis of {file} is not that of the model: {problem}")));
            }
        }
        match axis.len() {
            0 => {
                let mut report = wrong(format!("neither {file} nor the model says the {name} axis"));
                let example =
                    format!("a header says it: cembra: {{{name}: {{from: 0, to: 1, points: {points}}}}}");
                report.notes.push(example);
                Err(report)
            }
            count if count != points => {
                Err(wrong(format!("{file} has {points} values along {name}; the model has {count} points")))
            }
            _ => Ok(()),
        }
    }

    /// Rows and columns of the data; one row for a spectrum over one axis.
    pub fn size(&self) -> (usize, usize) {
        match self.shape[..] {
            [rows, columns] => (rows, columns),
            _ => (1, self.values.len()),
        }
    }
}

/// How an axis differs from another one.
fn difference(axis: &[f64], other: &[f64]) -> Option<String> {
    if axis.len() != other.len() {
        return Some(format!("{} points instead of {}", other.len(), axis.len()));
    }
    let length = (axis[axis.len() - 1] - axis[0]).abs();
    let is_far = |(a, b): (&f64, &f64)| (a - b).abs() > AXIS_TOLERANCE * length;
    let index = axis.iter().zip(other).position(is_far)?;
    Some(format!("{} instead of {} at index {index}", other[index], axis[index]))
}
