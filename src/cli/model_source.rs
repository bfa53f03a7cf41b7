//! What commands on models read: model files, values of parameters; and how they say what is wrong.

use crate::cli::complain;
use crate::cli::eval::read_source;
use crate::cli::model_options::ModelFiles;
use crate::cli::report::{Phase, Report, Source};
use crate::model::error::{Findings, ModelError, ModelWarning};
use crate::model::library::{Library, Setup};
use crate::model::load::{self, Loaded};
use crate::model::place::Place;
use crate::model::tree::Model;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::Category;

/// Errors that are shown of one file or model; of the others there is the number.
const SHOWN: usize = 100;

/// What went wrong, with the lines of the files for rendering.
#[derive(Debug)]
pub struct Failure {
    /// Errors, each with the text it stands in; at most so many as are shown.
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
    files.files.iter().map(|file| read_source(file)).collect()
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
    let texts: Vec<Lines<'_>> = sources.iter().map(Lines::new).collect();
    let shown = errors.iter().take(SHOWN).map(|error| located(error, &texts));
    let category = errors.first().map_or(Category::Parse, |error| error.kind.category());
    let more = errors.len().saturating_sub(SHOWN);
    let rest =
        (more > 0).then(|| (Report::new(category, Phase::Compile, format!("and {more} more errors")), None));
    Failure { reports: shown.chain(rest).collect() }
}

/// A text and where its lines begin.
struct Lines<'s> {
    source: &'s Source,
    starts: Vec<usize>,
}

impl<'s> Lines<'s> {
    fn new(source: &'s Source) -> Lines<'s> {
        let ends = source.text.match_indices('\n').map(|(at, _)| at + 1);
        Lines { source, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// The bytes of the word at a place.
    fn span(&self, place: &Place) -> Span {
        let text = &self.source.text;
        let line_start = self.starts.get(place.line.saturating_sub(1)).copied().unwrap_or(text.len());
        let rest = &text[line_start..];
        let column = place.column.saturating_sub(1);
        let start = line_start + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at);
        let length = text[start..].find([' ', ',', ':', ']', '\n', '\r']).unwrap_or(text.len() - start);
        Span { start: start as u32, end: (start + length.max(1)).min(text.len()) as u32 }
    }
}

/// An error with the text it stands in.
fn located(error: &ModelError, texts: &[Lines<'_>]) -> (Report, Option<Source>) {
    let mut report = Report::new(error.kind.category(), Phase::Compile, error.to_string());
    let lines = error.place.as_ref().and_then(|p| texts.iter().find(|t| *t.source.name == *p.file));
    if let (Some(place), Some(lines)) = (&error.place, lines) {
        report.labels.push((lines.span(place), String::new()));
    }
    (report, lines.map(|lines| lines.source.clone()))
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
