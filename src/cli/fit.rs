//! `cembra model fit`: parameters of models from measured spectra.

use crate::cli::complain;
use crate::cli::fit_args::{FitArgs, FitKind};
use crate::cli::fit_data::{self, wrong};
use crate::cli::fit_plot;
use crate::cli::fit_progress::FitBar;
use crate::cli::fit_result::{self, Outcome, Slice};
use crate::cli::fit_task::{Origin, Task};
use crate::cli::model_source::{self, Failure, warning_text};
use crate::cli::report::{Phase, Report};
use crate::cli::targets::{NamedFile, check_distinct, check_ending};
use crate::columns::replace::Output;
use crate::fit::caution::free_onsets;
use crate::fit::confidence::confidence_intervals;
use crate::fit::method::fit_objective;
use crate::fit::objective::Objective;
use crate::fit::residuals::Residuals;
use crate::fit::slices::fit_slices;
use crate::fit::statistics::with_theta;
use crate::fit::{FitError, Problem, Project, Settings};
use crate::model::{Model, load, rewrite, to_yaml};
use cembra_vm::value::Category;
use std::io::Write;
use std::path::Path;

/// Fits, writes what is asked for, and gives the text for standard output.
///
/// # Errors
/// Data do not fit the model, or files cannot be read or written.
pub fn run(args: &FitArgs) -> Result<String, Failure> {
    check_use(args)?;
    check_files(args)?;
    let settings = settings(args);
    let sources = model_source::sources(&args.model)?;
    let (library, setup, findings) = model_source::read(&args.model, &sources);
    if !findings.errors.is_empty() {
        return Err(model_source::failure(&findings.errors, &sources));
    }
    let origin = Origin { library: &library, sources: &sources };
    let mut tasks = Vec::new();
    for file in &args.data {
        let measured = fit_data::read(file, args.column.as_deref())?;
        tasks.push(Task::new(&origin, &setup, measured, args)?);
    }
    let warnings = warnings(&tasks, args, &settings);
    warnings.iter().for_each(|warning| complain(warning));
    let bar = if args.quiet { FitBar::hidden() } else { FitBar::new() };
    let done = match args.kind {
        FitKind::Slices => slices(&tasks[0], args, &settings, &bar),
        _ => whole(&tasks, args, &settings, &bar),
    };
    bar.end();
    let outcome = done?;
    if let Some(file) = &args.save_model {
        write(file, saved_model(&origin, &tasks[0], &outcome)?)?;
    }
    if let Some(file) = &args.plot {
        write(file, fit_plot::picture(file, args, &settings, &tasks[0], &outcome)?)?;
    }
    if let Some(file) = args.out.as_ref().filter(|file| file.as_os_str() != "-") {
        write(file, fit_result::json(args, &tasks, &outcome, &warnings))?;
    }
    Ok(match &args.out {
        Some(file) if file.as_os_str() == "-" => fit_result::json(args, &tasks, &outcome, &warnings),
        _ => fit_result::text(args, &tasks, &outcome),
    })
}

/// Options that exclude each other.
fn check_use(args: &FitArgs) -> Result<(), Report> {
    args.plot.as_deref().map_or(Ok(()), fit_plot::check_name)?;
    let is_many = args.data.len() > 1;
    let is_slices = args.kind == FitKind::Slices;
    let problem = match () {
        () if is_slices && is_many => "slices are those of one file",
        () if args.save_model.is_some() && (is_many || is_slices) => {
            "--save-model needs one fit: values of several files or slices do not stand in one model"
        }
        () if args.plot.is_some() && is_many => "--plot draws one file",
        () if args.confidence && is_slices => "--confidence needs one fit, not slices",
        () => return Ok(()),
    };
    Err(wrong(problem))
}

/// Files that are written: named by what they hold, each another one. The model may take the place of the old one.
fn check_files(args: &FitArgs) -> Result<(), Report> {
    let targets = [
        ("--out", &args.out, "a result as JSON", &["json"][..]),
        ("--plot", &args.plot, "a picture", &["svg", "png"]),
        ("--save-model", &args.save_model, "a model", &["yaml", "yml"]),
    ];
    let mut written: Vec<NamedFile<'_>> = Vec::new();
    for (option, file, what, endings) in targets {
        let Some(file) = file.as_deref() else { continue };
        check_ending((option, file), what, endings)?;
        written.push((option, file));
    }
    let read: Vec<NamedFile<'_>> = args.data.iter().map(|file| ("--data", &**file)).collect();
    check_distinct(&written, &read)
}

/// Everything odd, once.
fn warnings(tasks: &[Task], args: &FitArgs, settings: &Settings) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for task in tasks {
        all.extend(task.warnings.iter().map(warning_text));
        let evaluator = settings.open(&task.model);
        let reasons = evaluator.fallback_reasons().iter();
        all.extend(reasons.map(|reason| format!("warning: interpreted, not compiled: {reason}")));
        all.extend(free_onsets(&task.model, args.method.method()).into_iter().map(|name| {
            format!(
                "warning: `{name}` is where a function of time jumps: chi² jumps too when it passes a sample, \
                 and derivatives do not see that; fix it, or use --method nelder"
            )
        }));
    }
    let mut met = std::collections::HashSet::new();
    all.retain(|warning| met.insert(warning.clone()));
    all
}

/// How fits are done; the time of their budget begins now.
fn settings(args: &FitArgs) -> Settings {
    let budget = Some(args.budget.shared());
    Settings { method: args.method.method(), evaluator: args.evaluator.kind(), budget }
}

fn failed(error: FitError) -> Report {
    Report::new(error.category(), Phase::Eval, error.to_string())
}

/// One fit of all files.
fn whole(tasks: &[Task], args: &FitArgs, settings: &Settings, bar: &FitBar) -> Result<Outcome, Failure> {
    let problems: Vec<Problem<'_>> =
        tasks.iter().map(|task| task.problem(&task.values)).collect::<Result<_, _>>()?;
    for (problem, task) in problems.iter().zip(tasks) {
        problem.check_data().map_err(|error| wrong(format!("{}: {error}", task.file)))?;
    }
    let residuals = |problem| residuals(problem, settings, bar).map_err(failed);
    let mut objective: Box<dyn Objective + '_> = match &problems[..] {
        [problem] => Box::new(residuals(problem)?),
        problems => {
            let labels = labels(tasks)?;
            let parts = problems.iter().map(residuals).collect::<Result<Vec<_>, Report>>()?;
            Box::new(Project::new(labels.into_iter().zip(parts)))
        }
    };
    let fit = fit_objective(&mut *objective, args.method.method()).map_err(failed)?;
    let confidence = match args.confidence {
        true => confidence_intervals(&mut *objective, &fit).map_err(failed)?,
        false => Vec::new(),
    };
    Ok(Outcome::Whole { fit, confidence })
}

/// The residuals of a problem, whose evaluations use up the budget of the settings.
fn residuals<'p>(
    problem: &'p Problem<'p>,
    settings: &Settings,
    bar: &'p FitBar,
) -> Result<Residuals<'p>, FitError> {
    Residuals::with_evaluator(problem, settings.open(problem.model), bar)
}

/// What the files' own parameters are called after.
fn labels(tasks: &[Task]) -> Result<Vec<String>, Report> {
    let labels: Vec<String> = tasks.iter().map(|task| task.label.clone()).collect();
    let twice = labels.iter().enumerate().find(|(index, label)| labels[..*index].contains(label));
    match twice {
        Some((_, label)) => {
            Err(wrong(format!("two files are called `{label}`, as their parameters would be")))
        }
        None => Ok(labels),
    }
}

fn slices(task: &Task, args: &FitArgs, settings: &Settings, bar: &FitBar) -> Result<Outcome, Failure> {
    if task.slices.is_empty() {
        return Err(wrong(format!("{} has no times; there are no slices", task.file)).into());
    }
    let width = task.values.len() / task.slices.len();
    let problems: Vec<Problem<'_>> =
        task.values.chunks(width).map(|row| task.problem(row)).collect::<Result<_, _>>()?;
    let all = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let fits = fit_slices(&problems, settings, args.threads.unwrap_or_else(all), bar);
    let mut failures = fits.iter().filter_map(|fit| fit.as_ref().err());
    if let Some(error) = failures.find(|error| error.is_exhausted()) {
        return Err(failed(error.clone()).into());
    }
    let slices = task.slices.iter().zip(fits).map(|(time, fit)| Slice { time: *time, fit }).collect();
    Ok(Outcome::Slices(slices))
}

/// The model file with fitted values: the old text where it can say them, otherwise a new one.
fn saved_model(origin: &Origin<'_>, task: &Task, outcome: &Outcome) -> Result<String, Failure> {
    let Outcome::Whole { fit, .. } = outcome else { return Ok(String::new()) };
    let full = origin.load(&task.setup)?.model;
    let value = |(name, initial): (&str, f64)| {
        fit.parameters.iter().find(|p| p.name == name).map_or(initial, |p| p.value)
    };
    let theta: Vec<f64> = full.theta_names().into_iter().zip(full.theta()).map(value).collect();
    let files: Vec<(&str, &str)> =
        origin.sources.iter().map(|s| (s.name.as_str(), s.text.as_str())).collect();
    let read = |text: &str| -> Option<Model> {
        load::read_with([("saved", text)], &task.setup).ok().map(|loaded| loaded.model)
    };
    if let Some(text) = rewrite::with_values(&files, &full, &theta, read) {
        return Ok(text);
    }
    Ok(to_yaml::yaml(&with_theta(&full, &theta)))
}

/// Writes a file as a whole.
pub(crate) fn write(file: &Path, contents: impl AsRef<[u8]>) -> Result<(), Report> {
    let mut output = Output::create(file)?;
    let written = output.write_all(contents.as_ref()).and_then(|()| output.finish());
    written.map_err(|error| {
        Report::new(Category::Io, Phase::Eval, format!("cannot write {}: {error}", file.display()))
    })
}
