//! `cembra model`: spectra described in YAML.

use crate::backend::model::CompiledModel;
use crate::cli::json_stream::print_json;
use crate::cli::model_args::{
    CheckArgs, EvalModelArgs, ExplainModelArgs, GraphArgs, GraphFormat, ModelArgs, ModelCommand,
};
use crate::cli::model_result::{Spectra, SpectrumJson, outcome};
use crate::cli::model_source::{Failure, failure, model, read, sources, theta, warning_text};
use crate::cli::report::{Phase, Report};
use crate::cli::targets::{NamedFile, check_distinct, check_ending};
use crate::cli::{complain, print};
use crate::cli::{fit, model_batch, synthetic};
use crate::columns::Format;
use crate::columns::npy_header::{self, Cells};
use crate::inspect::program_text;
use crate::model::error::{Findings, WarningKind};
use crate::model::graph::from_model::graph_of;
use crate::model::graph::{GraphIR, print as graph_print};
use crate::model::interpret::{ComponentCurve, Spectrum};
use crate::model::library::{Setup, evenly_spaced};
use crate::model::load;
use crate::model::schedule::{self, Reason, Schedule, packed};
use crate::model::to_yaml;
use crate::model::tree::{Domain, Model};
use cembra_vm::value::{Category, ScalarType};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

/// Runs the command.
pub fn run(args: &ModelArgs) -> ExitCode {
    match &args.command {
        ModelCommand::Check(args) if args.batch => model_batch::check(&args.model),
        ModelCommand::Eval(args) if args.batch => model_batch::eval(args),
        ModelCommand::Check(args) => check(args),
        ModelCommand::Explain(args) => or_report(explain(args)),
        ModelCommand::Graph(args) => or_report(graph(args)),
        ModelCommand::Eval(args) => or_report(eval(args)),
        ModelCommand::Fit(args) => or_report(fit::run(args)),
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

fn check(args: &CheckArgs) -> ExitCode {
    let sources = match sources(&args.model) {
        Ok(sources) => sources,
        Err(report) => return report.print(None, args.json),
    };
    let (library, mut setup, findings) = read(&args.model, &sources);
    let open = stand_in(&mut setup, &findings);
    let mut result = load::load_with(&library, &setup, findings);
    if let (Ok(loaded), false) = (&mut result, open.is_empty()) {
        // Where subcycles end is a question to the real axis.
        loaded.warnings.retain(|w| !matches!(w.kind, WarningKind::SubcycleBoundary { .. }));
    }
    if args.json {
        print(&format!("{}\n", outcome(&result)));
    }
    match result {
        Ok(loaded) if !args.json => {
            loaded.warnings.iter().for_each(|w| complain(&warning_text(w)));
            print(&summary(&loaded.model));
            if !open.is_empty() {
                print(&format!("without an axis of {}: the data of a fit bring it\n", open.join(" and ")));
            }
            ExitCode::SUCCESS
        }
        Err(errors) if !args.json => or_report(Err(failure(&errors, &sources))),
        result => ExitCode::from(u8::from(result.is_err())),
    }
}

/// Gives a setup that says nothing of its axes some to be checked with; names those. Data to be fitted bring theirs.
fn stand_in(setup: &mut Setup, findings: &Findings) -> Vec<&'static str> {
    let mut open = Vec::new();
    let axis = || evenly_spaced(0.0, 1.0, 2);
    let is_time_model = setup.time_model.is_some();
    if !is_time_model && setup.energy.is_empty() && !findings.has_header_error("energy") {
        setup.energy = axis();
        open.push("energy");
    }
    let needs_time = is_time_model || !setup.dynamics.is_empty();
    if needs_time && setup.time.is_none() && !findings.has_header_error("time") {
        setup.time = Some(axis());
        open.push("time");
    }
    open
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
    let model = model(&args.model)?;
    let graph = graph_from(&model)?;
    Ok(match args.format {
        GraphFormat::Text => graph_print::text(&graph),
        GraphFormat::Json => graph_print::json(&graph),
        GraphFormat::Dot => graph_print::dot(&graph),
        GraphFormat::Yaml => to_yaml::yaml(&model),
    })
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
    if args.machine {
        let compiled = CompiledModel::new(&schedule).map_err(|error| {
            let report = Report::new(Category::Limit, Phase::Compile, error.to_string());
            Failure { reports: vec![(report, None)] }
        })?;
        return Ok(program_text(compiled.bound()));
    }
    Ok(match args.json {
        true => packed::pack(&schedule).map_err(|kind| failure(&[kind.nowhere()], &[]))?.json(),
        false => schedule::print::text(&schedule),
    })
}

fn eval(args: &EvalModelArgs) -> Result<String, Failure> {
    let budget = args.budget.shared();
    if let Some(out) = &args.out {
        let read: Vec<NamedFile<'_>> = args.model.files.iter().map(|file| ("the model", &**file)).collect();
        check_distinct(&[("--out", out)], &read)?;
        if args.json {
            check_ending(("--out", out), "a spectrum as JSON", &["json"])?;
        }
    }
    let model = model(&args.model)?;
    let theta = theta(&model, &args.values)?;
    let mut spectra = Spectra::new(&model, args.evaluator.kind(), budget);
    for reason in spectra.fallback_reasons() {
        complain(&format!("warning: interpreted, not compiled: {reason}"));
    }
    let mut spectrum = spectra.spectrum(&theta).map_err(|e| failure(&[e], &[]))?;
    if let Some(sigma) = args.noise {
        synthetic::add_noise(&mut spectrum.values, sigma, args.seed);
    }
    if let Some(file) = args.out.as_ref().filter(|_| !args.json) {
        match Format::of(file) {
            Ok(Format::Csv(b',')) => {}
            Ok(Format::Npy) if args.components => return Err(not_written(file, "components")),
            Ok(Format::Npy) => {
                return fit::write(file, npy(&spectrum)).map(|()| String::new()).map_err(Failure::from);
            }
            _ => return Err(not_written(file, "spectra")),
        }
    }
    if args.json && args.out.is_none() {
        print_json(&SpectrumJson(&spectrum));
        return Ok(String::new());
    }
    let text = match args.json {
        true => format!("{}\n", json!(SpectrumJson(&spectrum))),
        false if args.components && model.domain != Domain::EnergyTime2D => {
            table(&model, &spectrum, &spectra.components(&theta).map_err(|e| failure(&[e], &[]))?)
        }
        false => table(&model, &spectrum, &[]),
    };
    match &args.out {
        None => Ok(text),
        Some(file) => fit::write(file, text).map(|()| String::new()).map_err(Failure::from),
    }
}

/// An NPY file: times and energies, or one axis.
fn npy(spectrum: &Spectrum) -> Vec<u8> {
    let shape: Vec<u64> = spectrum.shape.iter().map(|size| *size as u64).collect();
    let cells = Cells::of(ScalarType::Float64).expect("binary64 is a type of NPY");
    let mut file = npy_header::written(cells, &shape);
    file.extend(spectrum.values.iter().flat_map(|value| value.to_le_bytes()));
    file
}

fn not_written(file: &Path, what: &str) -> Failure {
    let place = file.display();
    let problem =
        format!("cannot write {what} to {place}: spectra go to files named .csv or .npy, components to .csv");
    Failure::from(Report::new(Category::Io, Phase::Compile, problem))
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
