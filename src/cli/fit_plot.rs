//! Pictures of fits: which curves of which model they show.

use crate::backend::model::EvaluatorKind;
use crate::cli::fit_args::FitArgs;
use crate::cli::fit_data::wrong;
use crate::cli::fit_result::{Outcome, Slice};
use crate::cli::fit_task::Task;
use crate::cli::report::{Phase, Report};
use crate::fit::{Fit, Problem, Settings};
use crate::model::component::Role;
use crate::model::error::ModelErrorKind;
use crate::model::tree::{Component as ModelComponent, Domain};
use crate::plot::{Component, Curves, Labels, MapFigure, PlotError, Trace, Traces};
use std::path::Path;

/// True for the name of a picture as PNG.
fn is_png(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"))
}

/// Says beforehand that a picture cannot be drawn.
///
/// # Errors
/// The name asks for PNG, which this build cannot draw.
pub fn check_name(file: &Path) -> Result<(), Report> {
    match is_png(file) && !cfg!(feature = "png") {
        true => Err(wrong(format!(
            "{} would be a PNG picture, which needs a build with the feature `png`; a name in .svg does not",
            file.display()
        ))),
        false => Ok(()),
    }
}

/// The picture of a fit to one file, as its name says.
///
/// # Errors
/// There is nothing to draw, or the budget is used up.
pub fn picture(
    file: &Path,
    args: &FitArgs,
    settings: &Settings,
    task: &Task,
    outcome: &Outcome,
) -> Result<Vec<u8>, Report> {
    drawn_as(file, svg(args, settings, task, outcome)?)
}

/// The bytes of a picture, as the name of its file says.
///
/// # Errors
/// It cannot be drawn as PNG.
pub fn drawn_as(file: &Path, svg: String) -> Result<Vec<u8>, Report> {
    #[cfg(feature = "png")]
    if is_png(file) {
        return crate::plot::bitmap::png(&svg).map_err(undrawn);
    }
    check_name(file)?;
    Ok(svg.into_bytes())
}

fn svg(args: &FitArgs, settings: &Settings, task: &Task, outcome: &Outcome) -> Result<String, Report> {
    let drawn = match outcome {
        Outcome::Slices(slices) => traces(args, task, slices).svg(),
        Outcome::Whole { fit, .. } => return whole(args, settings, task, fit),
    };
    drawn.map_err(undrawn)
}

/// The error of a figure.
pub fn undrawn(error: PlotError) -> Report {
    wrong(error.to_string())
}

fn labels(args: &FitArgs, task: &Task, subtitle: &str) -> Labels {
    let name = Path::new(&task.file).file_name().unwrap_or_default().to_string_lossy();
    let is_trace = task.model.domain == Domain::Time1D;
    Labels {
        title: format!("{name}: {subtitle}"),
        energy: if is_trace { &args.time_label } else { &args.energy_label }.clone(),
        time: args.time_label.clone(),
        intensity: args.intensity_label.clone(),
    }
}

fn whole(args: &FitArgs, settings: &Settings, task: &Task, fit: &Fit) -> Result<String, Report> {
    let problem = task.problem(&task.values)?;
    let failed = |error: ModelErrorKind| Report::new(error.category(), Phase::Eval, error.to_string());
    let settings = Settings { evaluator: EvaluatorKind::Compiled, ..settings.clone() };
    let mut evaluator = settings.open(&task.model);
    let spectrum = evaluator.evaluate(&fit.theta).map_err(failed)?.to_vec();
    let subtitle = format!("{} fit, reduced chi² {:.4}", args.kind.name(), fit.reduced_chi_square);
    let labels = labels(args, task, &subtitle);
    let residuals = residuals(&problem, &spectrum);
    let (data, model) = (task.values.clone(), &task.model);
    if model.domain == Domain::EnergyTime2D {
        let (energy, time) = (model.energy.clone(), model.time.clone());
        return MapFigure { labels, energy, time, data, fit: spectrum, residuals }.svg().map_err(undrawn);
    }
    let curves = evaluator.components(&fit.theta).map_err(failed)?;
    let components = model.components.iter().zip(curves).map(|(c, curve)| component(c, curve.values));
    let axis = if model.domain == Domain::Time1D { &model.time } else { &model.energy };
    let (axis, components) = (axis.clone(), components.collect());
    Curves { labels, axis, data, fit: spectrum, residuals, components }.svg().map_err(undrawn)
}

fn component(component: &ModelComponent, values: Vec<f64>) -> Component {
    let is_peak = !matches!(component.function.role(), Role::Background | Role::SpectrumFed);
    Component { name: component.name.clone(), values, is_peak }
}

/// Residuals in the shape of the spectrum; NaN outside of the windows.
fn residuals(problem: &Problem<'_>, spectrum: &[f64]) -> Vec<f64> {
    let mut all = vec![f64::NAN; spectrum.len()];
    for at in problem.times().flat_map(|time| problem.row(time)) {
        all[at] = problem.noise().residual(problem.data()[at], spectrum[at]);
    }
    all
}

fn traces(args: &FitArgs, task: &Task, slices: &[Slice]) -> Traces {
    let names: Vec<&str> = task.model.theta_names();
    let point = |slice: &Slice, index: usize| {
        let fit = slice.fit.as_ref().ok()?;
        let error = fit.covariance.as_ref().map_or(0.0, |c| c[index][index].sqrt());
        Some((slice.time, fit.theta[index], error))
    };
    let trace = |(index, name): (usize, &&str)| Trace {
        name: (*name).to_owned(),
        points: slices.iter().filter_map(|slice| point(slice, index)).collect(),
    };
    let subtitle = format!("{} slices", slices.len());
    Traces { labels: labels(args, task, &subtitle), traces: names.iter().enumerate().map(trace).collect() }
}
