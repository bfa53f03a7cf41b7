//! What a fit command fits: models with axes, data in windows.
//!
//! ```text
//! header + axes of the data ──> full model ──kind──> model of the fit ──fix, set──> Task
//! ```

use crate::cli::fit_args::{FitArgs, FitKind, Interval};
use crate::cli::fit_data::{Measurement, wrong};
use crate::cli::model_source::{Failure, theta};
use crate::cli::report::{Report, Source};
use crate::fit::statistics::with_theta;
use crate::fit::{Noise, Problem};
use crate::model::error::{Findings, ModelError, ModelWarning};
use crate::model::library::{Library, Setup};
use crate::model::load::{self, Loaded};
use crate::model::quantity::{Quantity, Vary};
use crate::model::tree::{Domain, Model};
use std::ops::Range;
use std::path::Path;

/// One data file and the model that is fitted to it.
#[derive(Debug)]
pub struct Task {
    /// The file without its ending, which names its parameters in a fit of several files.
    pub label: String,
    /// The file.
    pub file: String,
    /// How the models of the files are used, with all axes.
    pub setup: Setup,
    /// The model that is fitted.
    pub model: Model,
    /// The values that are fitted, row after row.
    pub values: Vec<f64>,
    /// What is known of their noise.
    pub noise: Noise,
    /// Energies that count.
    pub energies: Range<usize>,
    /// Times that count.
    pub times: Range<usize>,
    /// Times of slices, one a row of the values; empty for other kinds.
    pub slices: Vec<f64>,
    /// What is odd about the model.
    pub warnings: Vec<ModelWarning>,
}

/// Where models come from.
pub struct Origin<'s> {
    /// The models of the files.
    pub library: &'s Library,
    /// The texts of the files.
    pub sources: &'s [Source],
}

impl Origin<'_> {
    /// The model of a setup.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(&self, setup: &Setup) -> Result<Loaded, Failure> {
        let failed = |errors: Vec<ModelError>| crate::cli::model_source::failure(&errors, self.sources);
        load::load_with(self.library, setup, Findings::default()).map_err(failed)
    }
}

impl Task {
    /// What is to be fitted to one measurement.
    ///
    /// # Errors
    /// The data do not fit the model, or options name what is not there.
    pub fn new(
        origin: &Origin<'_>,
        setup: &Setup,
        measured: Measurement,
        args: &FitArgs,
    ) -> Result<Task, Failure> {
        let mut setup = setup.clone();
        let is_energy_only = measured.shape.len() == 1 && setup.time_model.is_none();
        let reduced = without_dynamics(&setup);
        if is_energy_only && args.kind != FitKind::Full {
            setup = reduced;
        }
        measured.fill_axes(&mut setup)?;
        let used = if args.kind == FitKind::Full { setup.clone() } else { without_dynamics(&setup) };
        let Loaded { model, warnings } = origin.load(&used)?;
        let model = fixed(with_theta(&model, &theta(&model, &args.values)?), &args.fix)?;
        let energies = window("energy", &setup.energy, args.energy_window)?;
        let times = window("time", setup.time.as_deref().unwrap_or_default(), time_window(args, &setup))?;
        let label = Path::new(&measured.file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut task = Task {
            label,
            file: measured.file.clone(),
            setup,
            model,
            values: measured.values,
            noise: args.noise,
            energies,
            times,
            slices: Vec::new(),
            warnings,
        };
        task.reduce(args.kind);
        Ok(task)
    }

    /// Takes the mean of the times that count, or keeps these times as slices.
    fn reduce(&mut self, kind: FitKind) {
        let Some(time) = self.setup.time.clone().filter(|_| self.model.domain == Domain::Energy1D) else {
            return;
        };
        let width = self.setup.energy.len();
        let times = std::mem::replace(&mut self.times, 0..1);
        let rows = &self.values[times.start * width..times.end * width];
        if kind == FitKind::Slices {
            (self.values, self.slices) = (rows.to_vec(), time[times].to_vec());
            return;
        }
        let mut mean = vec![0.0; width];
        for row in rows.chunks(width) {
            mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        mean.iter_mut().for_each(|sum| *sum /= times.len() as f64);
        (self.values, self.noise) = (mean, self.noise.of_mean(times.len()));
    }

    /// The problem of one row of slices, or of all data.
    ///
    /// # Errors
    /// The data have another size than the spectrum, or a window is empty.
    pub fn problem(&self, values: &[f64]) -> Result<Problem<'_>, Report> {
        let problem = Problem::new(&self.model, values.to_vec())
            .and_then(|p| p.with_window(self.energies.clone(), self.times.clone()))
            .and_then(|p| p.with_noise(self.noise));
        problem.map_err(|error| wrong(format!("{}: {error}", self.file)))
    }
}

/// The energy model by itself.
fn without_dynamics(setup: &Setup) -> Setup {
    Setup { time: None, dynamics: Vec::new(), ..setup.clone() }
}

/// The times that count: without a window, a baseline ends before 0.
fn time_window(args: &FitArgs, setup: &Setup) -> Option<Interval> {
    let is_baseline = args.kind == FitKind::Baseline && setup.time.is_some();
    let before = || is_baseline.then_some(Interval { from: f64::NEG_INFINITY, to: -f64::MIN_POSITIVE });
    args.time_window.or_else(before)
}

/// The stretch of an axis that an interval covers; all of it without one.
fn window(name: &str, axis: &[f64], interval: Option<Interval>) -> Result<Range<usize>, Report> {
    let Some(Interval { from, to }) = interval else { return Ok(0..axis.len().max(1)) };
    let is_inside = |value: &f64| (from..=to).contains(value);
    let (first, last) = (axis.iter().position(is_inside), axis.iter().rposition(is_inside));
    let (Some(first), Some(last)) = (first, last) else {
        return Err(wrong(format!("no point of the {name} axis lies in the window {from}:{to}")));
    };
    match axis[first..=last].iter().all(is_inside) {
        true => Ok(first..last + 1),
        false => Err(wrong(format!("the window {from}:{to} is no single stretch of the {name} axis"))),
    }
}

/// The model with parameters that do not vary; a name may end in `*`.
fn fixed(mut model: Model, names: &[String]) -> Result<Model, Report> {
    for pattern in names {
        let is_meant = |name: &str| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == pattern,
        };
        let free = model.free();
        let meant: Vec<_> = free.iter().filter(|id| is_meant(&model.parameter(**id).name)).collect();
        if meant.is_empty() {
            let names = model.theta_names().join(", ");
            return Err(wrong(format!("`{pattern}` is no free parameter; there are {names}")));
        }
        for id in meant {
            if let Quantity::Number(number) = &mut model.parameters[id.0].quantity {
                number.vary = Vary::Static;
            }
        }
    }
    Ok(model)
}
