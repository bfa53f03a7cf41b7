//! `cembra model`: spectra described in YAML.

use crate::cli::eval::read_text;
use crate::cli::model_args::{
    CheckArgs, EvalModelArgs, ExplainModelArgs, GraphArgs, GraphFormat, ModelArgs, ModelCommand, ModelFiles,
};
use crate::cli::model_batch;
use crate::cli::model_result::{Spectra, outcome, spectrum_json};
use crate::cli::report::{Phase, Report, Source};
use crate::cli::{complain, print};
use crate::model::error::{Findings, ModelError, ModelWarning};
use crate::model::graph::from_model::graph_of;
use crate::model::graph::{GraphIR, print as graph_print, to_yaml};
use crate::model::interpret::{self, ComponentCurve, Spectrum};
use crate::model::library::Library;
use crate::model::load::{self, Loaded};
use crate::model::place::Place;
use crate::model::schedule::{self, Reason, Schedule, packed};
use crate::model::tree::{Domain, Model};
use cembra_vm::program::instruction::Span;
use cembra_vm::value::Category;
use std::process::ExitCode;

/// Runs the command.
pub fn run(args: &ModelArgs) -> ExitCode {
    match &args.command {
        ModelCommand::Check(args) if args.batch => model_batch::check(&args.model),
        ModelCommand::Eval(args) if args.batch => model_batch::eval(&args.model, args.evaluator),
        ModelCommand::Check(args) => check(args),
        ModelCommand::Explain(args) => or_report(explain(args)),
        ModelCommand::Graph(args) => or_report(graph(args)),
        ModelCommand::Eval(args) => or_report(eval(args)),
    }
}

/// What went wrong, with the texts of the files for rendering.
struct Failure {
    reports: Vec<(Report, Option<Source>)>,
}

impl From<Report> for Failure {
    fn from(report: Report) -> Failure {
        Failure { reports: vec![(report, None)] }
    }
}

fn or_report(result: Result<String, Failure>) -> ExitCode {
    match result {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            failure
                .reports
                .iter()
                .for_each(|(report, source)| complain(&report.render(source.as_ref(), true)));
            ExitCode::from(1)
        }
    }
}

fn sources(files: &ModelFiles) -> Result<Vec<Source>, Report> {
    let read = |file: &std::path::PathBuf| {
        Ok(Source { name: file.to_string_lossy().into_owned(), text: read_text(file)? })
    };
    files.files.iter().map(read).collect()
}

/// Reads the files and follows their header.
fn load(files: &ModelFiles, sources: &[Source]) -> Result<Loaded, Vec<ModelError>> {
    let mut findings = Findings::default();
    let texts = sources.iter().map(|s| (s.name.as_str(), s.text.as_str()));
    let library = Library::read(texts, &mut findings);
    let mut setup = library.setup(&mut findings);
    if let Some(semantics) = files.semantics {
        setup.semantics = semantics.semantics();
    }
    load::load_with(&library, &setup, findings)
}

fn model(files: &ModelFiles) -> Result<Model, Failure> {
    let sources = sources(files)?;
    match load(files, &sources) {
        Ok(loaded) => {
            loaded.warnings.iter().for_each(|w| complain(&warning_text(w)));
            Ok(loaded.model)
        }
        Err(errors) => Err(failure(&errors, &sources)),
    }
}

fn failure(errors: &[ModelError], sources: &[Source]) -> Failure {
    Failure { reports: errors.iter().map(|error| located(error, sources)).collect() }
}

/// An error with the text it stands in.
fn located(error: &ModelError, sources: &[Source]) -> (Report, Option<Source>) {
    let mut report = Report::new(Category::Parse, Phase::Compile, error.to_string());
    let source = error.place.as_ref().and_then(|p| sources.iter().find(|s| *s.name == *p.file).cloned());
    if let (Some(place), Some(source)) = (&error.place, &source) {
        report.labels.push((span(place, &source.text), String::new()));
    }
    (report, source)
}

/// The bytes of the word at a place.
fn span(place: &Place, text: &str) -> Span {
    let line_start = match place.line {
        1 => 0,
        line => text.match_indices('\n').nth(line - 2).map_or(text.len(), |(at, _)| at + 1),
    };
    let rest = &text[line_start..];
    let start = line_start + rest.char_indices().nth(place.column - 1).map_or(rest.len(), |(at, _)| at);
    let length = text[start..].find([' ', ',', ':', ']', '\n', '\r']).unwrap_or(text.len() - start);
    Span { start: start as u32, end: (start + length.max(1)).min(text.len()) as u32 }
}

fn warning_text(warning: &ModelWarning) -> String {
    let place = warning.place.as_ref().map_or(String::new(), |place| format!("\n --> {place}"));
    format!("warning: {warning}{place}")
}

fn check(args: &CheckArgs) -> ExitCode {
    let sources = match sources(&args.model) {
        Ok(sources) => sources,
        Err(report) => return report.print(None, args.json),
    };
    let result = load(&args.model, &sources);
    if args.json {
        print(&format!("{}\n", outcome(&result)));
    }
    match result {
        Ok(loaded) if !args.json => {
            loaded.warnings.iter().for_each(|w| complain(&warning_text(w)));
            print(&summary(&loaded.model));
            ExitCode::SUCCESS
        }
        Err(errors) if !args.json => or_report(Err(failure(&errors, &sources))),
        result => ExitCode::from(u8::from(result.is_err())),
    }
}

fn summary(model: &Model) -> String {
    let free = model.theta_names().len();
    format!(
        "model {}: {} with {} components and {} parameters, {free} of them free\n",
        model.name,
        model.domain.name(),
        model.components.len(),
        model.parameters.len()
    )
}

fn graph(args: &GraphArgs) -> Result<String, Failure> {
    let graph = graph_from(&model(&args.model)?)?;
    match args.format {
        GraphFormat::Text => Ok(graph_print::text(&graph)),
        GraphFormat::Json => Ok(graph_print::json(&graph)),
        GraphFormat::Dot => Ok(graph_print::dot(&graph)),
        GraphFormat::Yaml => to_yaml::yaml(&graph).map_err(|error| failure(&[error], &[])),
    }
}

fn graph_from(model: &Model) -> Result<GraphIR, Failure> {
    graph_of(model).map_err(|error| failure(&[error], &[]))
}

fn schedule_from(model: &Model) -> Result<Schedule, Failure> {
    let unscheduled = |reasons: Vec<Reason>| {
        let report = |r: &Reason| (Report::new(Category::Type, Phase::Compile, r.to_string()), None);
        Failure { reports: reasons.iter().map(report).collect() }
    };
    schedule::schedule(&graph_from(model)?).map_err(unscheduled)
}

fn explain(args: &ExplainModelArgs) -> Result<String, Failure> {
    let schedule = schedule_from(&model(&args.model)?)?;
    Ok(match args.json {
        true => packed::pack(&schedule).json(),
        false => schedule::print::text(&schedule),
    })
}

fn eval(args: &EvalModelArgs) -> Result<String, Failure> {
    let model = model(&args.model)?;
    let theta = theta(&model, &args.values)?;
    let mut spectra = Spectra::new(&model, args.evaluator).map_err(|e| failure(&[e], &[]))?;
    for reason in spectra.fallback_reasons() {
        complain(&format!("warning: interpreted, not compiled: {reason}"));
    }
    let spectrum = spectra.spectrum(&theta).map_err(|e| failure(&[e], &[]))?;
    if args.json {
        return Ok(format!("{}\n", spectrum_json(&spectrum)));
    }
    let curves = match args.components && model.domain != Domain::EnergyTime2D {
        true => interpret::component_curves(&model, &theta).map_err(|e| failure(&[e.nowhere()], &[]))?,
        false => Vec::new(),
    };
    Ok(table(&model, &spectrum, &curves))
}

/// The initial theta with some values replaced.
fn theta(model: &Model, values: &[String]) -> Result<Vec<f64>, Report> {
    let wrong = |message: String| Report::new(Category::Parse, Phase::Compile, message);
    let mut theta = model.theta();
    let names = model.theta_names();
    for text in values {
        let (name, value) =
            text.split_once('=').ok_or_else(|| wrong(format!("`{text}` is not NAME=VALUE")))?;
        let index = names.iter().position(|n| *n == name.trim());
        let index = index.ok_or_else(|| {
            wrong(format!("`{}` is no free parameter; there are {}", name.trim(), names.join(", ")))
        })?;
        let value = value.trim().parse();
        theta[index] = value.map_err(|_| wrong(format!("`{text}`: the value is no number")))?;
    }
    Ok(theta)
}

/// Comma-separated values: a line a point of the axis, or a line a time under a line of energies.
fn table(model: &Model, spectrum: &Spectrum, curves: &[ComponentCurve]) -> String {
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    if model.domain == Domain::EnergyTime2D {
        let head = std::iter::once("time".to_owned()).chain(model.energy.iter().map(number));
        let rows = model.time.iter().zip(spectrum.values.chunks(model.energy.len()));
        let row = |(time, row): (&f64, &[f64])| line([&[*time], row].concat().iter().map(number).collect());
        return line(head.collect()) + &rows.map(row).collect::<String>();
    }
    let (name, axis) = match model.domain {
        Domain::Time1D => ("time", &model.time),
        _ => ("energy", &model.energy),
    };
    let head = [name, "spectrum"].into_iter().chain(curves.iter().map(|c| c.name.as_str()));
    let row = |(index, x): (usize, &f64)| {
        let values = curves.iter().map(|c| c.values[index]);
        line([*x, spectrum.values[index]].into_iter().chain(values).map(|v| number(&v)).collect())
    };
    line(head.map(str::to_owned).collect()) + &axis.iter().enumerate().map(row).collect::<String>()
}

/// The shortest text that reads back to the same number.
fn number(value: &f64) -> String {
    format!("{value:?}")
}
