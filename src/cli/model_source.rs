//! What commands on models read: model files, values of parameters; and how they say what is wrong.

use crate::cli::complain;
use crate::cli::eval::read_text;
use crate::cli::model_options::ModelFiles;
use crate::cli::report::{Phase, Report, Source};
use crate::model::error::{Findings, ModelError, ModelWarning};
use crate::model::library::{Library, Setup};
use crate::model::load::{self, Loaded};
use crate::model::place::Place;
use crate::model::tree::Model;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::Category;

/// What went wrong, with the texts of the files for rendering.
#[derive(Debug)]
pub struct Failure {
    /// Errors, each with the text it stands in.
    pub reports: Vec<(Report, Option<Source>)>,
}

impl From<Report> for Failure {
    fn from(report: Report) -> Failure {
        Failure { reports: vec![(report, None)] }
    }
}

/// The texts of the files.
///
/// # Errors
/// One cannot be read.
pub fn sources(files: &ModelFiles) -> Result<Vec<Source>, Report> {
    let read = |file: &std::path::PathBuf| {
        Ok(Source { name: file.to_string_lossy().into_owned(), text: read_text(file)? })
    };
    files.files.iter().map(read).collect()
}

/// Reads the files and follows their header.
///
/// # Errors
/// Everything that is wrong with them.
pub fn load(files: &ModelFiles, sources: &[Source]) -> Result<Loaded, Vec<ModelError>> {
    let (library, setup, findings) = read(files, sources);
    load::load_with(&library, &setup, findings)
}

/// Reads the files and their header, before a model is made of them.
pub fn read(files: &ModelFiles, sources: &[Source]) -> (Library, Setup, Findings) {
    let mut findings = Findings::default();
    let texts = sources.iter().map(|s| (s.name.as_str(), s.text.as_str()));
    let library = Library::read(texts, &mut findings);
    let mut setup = library.setup(&mut findings);
    if let Some(semantics) = files.semantics {
        setup.semantics = semantics.semantics();
    }
    (library, setup, findings)
}

/// The model of the files; its warnings are printed.
///
/// # Errors
/// Everything that is wrong with it.
pub fn model(files: &ModelFiles) -> Result<Model, Failure> {
    let sources = sources(files)?;
    match load(files, &sources) {
        Ok(loaded) => {
            loaded.warnings.iter().for_each(|w| complain(&warning_text(w)));
            Ok(loaded.model)
        }
        Err(errors) => Err(failure(&errors, &sources)),
    }
}

/// Errors with the texts they stand in.
pub fn failure(errors: &[ModelError], sources: &[Source]) -> Failure {
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

/// A warning with its place.
pub fn warning_text(warning: &ModelWarning) -> String {
    let place = warning.place.as_ref().map_or(String::new(), |place| format!("\n --> {place}"));
    format!("warning: {warning}{place}")
}

/// The initial theta with some values replaced, each `NAME=VALUE`.
///
/// # Errors
/// A text has another form, names no free parameter, or gives it a value that its model file could not give it.
pub fn theta(model: &Model, values: &[String]) -> Result<Vec<f64>, Report> {
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
        let value = value.trim().parse().map_err(|_| wrong(format!("`{text}`: the value is no number")))?;
        model.check_value(index, value).map_err(|error| wrong(format!("`{text}`: {error}")))?;
        theta[index] = value;
    }
    Ok(theta)
}
