//! Reports: any error as text with its source line, or as JSON.

use crate::columns::ColumnsError;
use crate::columns::error::Problem;
use crate::compile::CompileError;
use crate::host::HostError;
use crate::prepare::PrepareError;
use crate::syntax::SyntaxError;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use cembra_vm::machine::RunError;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{Category, QType};
use std::borrow::Cow;
use std::ops::Range;
use std::process::ExitCode;

/// Places of one error that are shown; of the others there is the number.
const PLACES_SHOWN: usize = 20;

/// Bytes of a long line that are shown before and behind a place, at least: more than fit a line of a terminal.
const SHOWN_BYTES: usize = 1_000;

/// When an error was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before any evaluation.
    Compile,
    /// While evaluating.
    Eval,
}

impl Phase {
    /// `compile` or `eval`.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Compile => "compile",
            Phase::Eval => "eval",
        }
    }
}

/// How the messages of limits begin that an option sets.
const LIMIT_OPTIONS: &[(&str, &str)] = &[
    ("limit expression-text:", "--limit-text"),
    ("limit expression-nesting:", "--limit-nesting"),
    ("limit expression-nodes:", "--limit-nodes"),
    ("limit frame-bytes:", "--limit-frame"),
    ("out of fuel:", "--fuel"),
    ("out of rows:", "--limit-rows"),
    ("out of time:", "--limit-time"),
    ("limit bytes-alive:", "--limit-bytes"),
];

/// An error as users see it.
#[derive(Clone, Debug)]
pub struct Report {
    /// Kind of error.
    pub category: Category,
    /// When it was found.
    pub phase: Phase,
    /// What happened.
    pub message: String,
    /// Places in the source, each with a label.
    pub labels: Vec<(Span, String)>,
    /// Further facts.
    pub notes: Vec<String>,
}

impl Report {
    /// An error without a place.
    pub fn new(category: Category, phase: Phase, message: impl Into<String>) -> Report {
        let message = message.into();
        let option = LIMIT_OPTIONS.iter().find(|(limit, _)| message.starts_with(limit));
        let notes = option.map(|(_, option)| format!("{option} sets another limit")).into_iter().collect();
        Report { category, phase, message, labels: Vec::new(), notes }
    }

    fn at(mut self, span: Span, label: impl Into<String>) -> Report {
        if !span.is_unknown() {
            self.labels.push((span, label.into()));
        }
        self
    }

    /// The places that are shown, and a note of how many others there are.
    fn shown(&self) -> (&[(Span, String)], Option<String>) {
        let shown = self.labels.len().min(PLACES_SHOWN);
        let more = self.labels.len() - shown;
        (&self.labels[..shown], (more > 0).then(|| format!("and at {more} more places")))
    }

    /// The error with its source line, for a terminal or a file.
    pub fn render(&self, source: Option<&Source>, styled: bool) -> String {
        let (labels, more) = self.shown();
        let title = Level::ERROR.primary_title(visible(&self.message)).id(self.category.name());
        let mut group = Group::with_title(title);
        let shown = source.zip(labels.first()).map(|(source, (span, _))| (source, span, self.window(source)));
        if let Some((source, _, window)) = &shown {
            group = group.element(self.snippet(source, window.clone()));
        }
        for note in more.iter().chain(&self.notes) {
            group = group.element(Level::NOTE.message(visible(note)));
        }
        let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
        let text = renderer.render(&[group]);
        match shown {
            Some((source, span, window)) => source.with_whole_column(text, span.start, window.start),
            None => text,
        }
    }

    /// The bytes of the lines that are shown: rendering takes time for every byte of a text that it is given, so that far
    /// ends of long lines are left away. The line before is one of them, because a place behind a line end is shown at
    /// the end of its line.
    fn window(&self, source: &Source) -> Range<usize> {
        let text = &source.text;
        let spans = || self.shown().0.iter().map(|(span, _)| span);
        let first = spans().map(|span| span.start as usize).min().unwrap_or(0).min(text.len());
        let last = spans().map(|span| span.end as usize).max().unwrap_or(0).min(text.len());
        let line_start = |at: usize| source.before(at).rfind('\n').map_or(0, |end| end + 1);
        let start = match line_start(first) {
            own if first - own > 2 * SHOWN_BYTES => text.floor_char_boundary(first - SHOWN_BYTES),
            own => line_start(own.saturating_sub(1)),
        };
        let behind = text.ceil_char_boundary(last);
        let end = text[behind..].find('\n').map_or(text.len(), |at| behind + at + 1);
        match end - behind > 2 * SHOWN_BYTES {
            true => start..text.ceil_char_boundary(behind + SHOWN_BYTES),
            false => start..end,
        }
    }

    fn snippet<'s>(
        &'s self,
        source: &'s Source,
        window: Range<usize>,
    ) -> Snippet<'s, annotate_snippets::Annotation<'s>> {
        let annotations = self.shown().0.iter().enumerate().map(|(index, (span, label))| {
            let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
            let inside = |at: u32| (at as usize).clamp(window.start, window.end) - window.start;
            let (start, end) = (inside(span.start), inside(span.end));
            let annotation = kind.span(start.min(end)..end);
            if label.is_empty() { annotation } else { annotation.label(visible(label)) }
        });
        let line = 1 + source.before(window.start).matches('\n').count();
        let text = &source.text[window.clone()];
        Snippet::source(text).line_start(line).path(source.name.as_str()).annotations(annotations)
    }

    /// The error as JSON; places count bytes from 0, lines and columns (of characters) from 1.
    pub fn json(&self, source: Option<&Source>) -> serde_json::Value {
        let mut json = serde_json::json!({
            "category": self.category.name(),
            "phase": self.phase.name(),
            "message": self.message,
        });
        let (labels, more) = self.shown();
        if let Some(source) = source.filter(|_| !labels.is_empty()) {
            json["places"] = labels.iter().map(|(span, label)| place(source, *span, label)).collect();
        }
        let notes: Vec<&str> = more.iter().chain(&self.notes).map(String::as_str).collect();
        if !notes.is_empty() {
            json["notes"] = notes.into();
        }
        json
    }

    /// Prints the error and gives the exit code.
    pub fn print(&self, source: Option<&Source>, json: bool) -> ExitCode {
        match json {
            true => super::print(&format!("{}\n", serde_json::json!({ "error": self.json(source) }))),
            false => super::complain(&self.render(source, true)),
        }
        ExitCode::from(1)
    }
}

fn place(source: &Source, span: Span, label: &str) -> serde_json::Value {
    let (line, column) = source.line_and_column(span.start);
    serde_json::json!({ "start": span.start, "end": span.end, "line": line, "column": column, "label": label })
}

/// The text an expression came from.
#[derive(Clone, Debug)]
pub struct Source {
    /// File name, or `<expression>`.
    pub name: String,
    /// The text.
    pub text: String,
}

impl Source {
    /// The text before the character that a byte belongs to; all of it, if there is no such byte.
    fn before(&self, at: usize) -> &str {
        &self.text[..self.text.floor_char_boundary(at)]
    }

    /// Line and column of a byte, from 1; columns count characters.
    fn line_and_column(&self, at: u32) -> (usize, usize) {
        let before = self.before(at as usize);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// A rendered error about a byte, whose column was counted from a byte of its line on, with the column in the line.
    fn with_whole_column(&self, rendered: String, at: u32, from: usize) -> String {
        if from == 0 || self.before(from).ends_with('\n') {
            return rendered;
        }
        let (line, column) = self.line_and_column(at);
        let counted = 1 + self.before(at as usize).get(from..).map_or(0, |part| part.chars().count());
        let place = |column: usize| format!("{}:{line}:{column}", self.name);
        rendered.replacen(&place(counted), &place(column), 1)
    }
}

/// Text without control characters, so that names from a file cannot steer the terminal.
pub fn visible(text: &str) -> String {
    let hidden = |c: &char| c.is_control() && *c != '\n';
    match text.chars().any(|c| hidden(&c)) {
        false => text.to_owned(),
        true => text
            .chars()
            .map(|c| if hidden(&c) { c.escape_unicode().to_string() } else { c.to_string() })
            .collect(),
    }
}

/// The same of a text that stands in a line with others: a name with a line end does not begin another one.
pub fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "\\u{a}")
}

impl From<SyntaxError> for Report {
    fn from(error: SyntaxError) -> Report {
        let mut report = Report::new(error.category(), Phase::Compile, error.to_string()).at(error.span, "");
        report.notes.extend(error.hint().map(Cow::into_owned));
        report
    }
}

impl Report {
    /// An error of preparation, with what an option is given to supply a leaf that is missing.
    pub fn of_preparation(error: PrepareError, option: impl FnOnce(&str) -> String) -> Report {
        let first = match &error {
            PrepareError::MissingInputs { inputs, .. } => inputs.iter().find(|input| input.near.is_empty()),
            _ => None,
        };
        let first = first.map(|input| input.name.clone());
        let first = first.filter(|name| !matches!(&**name, "nan" | "inf") && name.len() < SHOWN_BYTES);
        let mut report = Report::from(error);
        report.notes.extend(first.map(|name| option(&name)));
        report
    }
}

impl From<PrepareError> for Report {
    fn from(error: PrepareError) -> Report {
        let report = Report::new(error.category(), Phase::Compile, error.to_string());
        match error {
            PrepareError::MissingInputs { inputs, .. } => {
                inputs.into_iter().fold(report, |report, input| match &*input.name {
                    "nan" | "inf" => report.at(input.span, format!("the number is float64({})", input.name)),
                    _ => report.at(input.span, "has no value"),
                })
            }
            PrepareError::Placeholders { span, .. } => report.at(span, "a placeholder"),
            PrepareError::Types { errors } => {
                let several = errors.len() > 1;
                let mut report = report;
                if several {
                    report.message = format!("{} type errors", errors.len());
                }
                errors.into_iter().fold(report, |report, e| {
                    let label = if several { e.to_string() } else { format!("in {}", e.operator) };
                    report.at(e.span, label)
                })
            }
            PrepareError::Constant { operator, span, .. } => {
                report.at(span, format!("{operator} of these literals always fails"))
            }
            PrepareError::NoOverload { span, .. } => report.at(span, ""),
            _ => report,
        }
    }
}

impl From<CompileError> for Report {
    fn from(error: CompileError) -> Report {
        match error {
            CompileError::Prepare(error) => error.into(),
            other => Report::new(other.category(), Phase::Compile, other.to_string()),
        }
    }
}

impl From<RunError> for Report {
    fn from(error: RunError) -> Report {
        let mut report = Report::new(error.category(), Phase::Eval, error.kind.to_string());
        report.notes.extend(error.sizes());
        if let Some(at) = error.at {
            report.notes.push(format!("operator_name: {}, instruction {}", at.operator, at.ip));
            report = report.at(at.span, "");
        }
        report
    }
}

impl From<HostError> for Report {
    fn from(error: HostError) -> Report {
        match error {
            HostError::Compile(error) => error.into(),
            HostError::Run(error) => error.into(),
            other => Report::new(other.category(), Phase::Compile, other.to_string()),
        }
    }
}

impl From<ColumnsError> for Report {
    fn from(error: ColumnsError) -> Report {
        let phase = match &error {
            ColumnsError::Row(_) | ColumnsError::Run(_) | ColumnsError::EveryRow(_) => Phase::Eval,
            _ => Phase::Compile,
        };
        let mut report = Report::new(error.category(), phase, error.to_string());
        match error {
            ColumnsError::Run(error) => (*error).into(),
            ColumnsError::EveryRow(error) => {
                let mut report = Report::from(*error);
                report.notes.push("no column is read there: every row fails".to_owned());
                report
            }
            ColumnsError::Compile(error) => (*error).into(),
            ColumnsError::NotRowWise { span, .. } => report.at(span, ""),
            ColumnsError::OutputType { qtype: QType::Tuple(_), .. } => {
                report
                    .notes
                    .push("the fields can be results of their own: -e 'NAME=FIELD' for each".to_owned());
                report
            }
            ColumnsError::WholeFault { span, .. } => {
                report.notes.push("--on-error null and skip pass over single rows".to_owned());
                report.at(span, "")
            }
            ColumnsError::Row(row) => {
                if let Problem::Raised(raised) = &row.problem {
                    let raised = Report::from((**raised).clone());
                    report.labels = raised.labels;
                    report.notes = raised.notes;
                }
                let values: Vec<String> =
                    row.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
                if !values.is_empty() {
                    report.notes.push(format!("the row has {}", values.join(", ")));
                }
                if let Problem::Inexact { column, .. } = &row.problem {
                    let types = format!(
                        "--type {column}=FLOAT64 rounds such integers, --type {column}=TEXT keeps their digits"
                    );
                    report.notes.push(types);
                }
                if matches!(row.problem, Problem::Cell { .. } | Problem::OutOfRange { .. }) {
                    report.notes.push("--type NAME=TYPE gives a column another type".to_owned());
                }
                if !matches!(row.problem, Problem::Missing { .. }) {
                    let modes = "--on-error null makes the results of such rows missing, --on-error skip leaves the rows out";
                    report.notes.push(modes.to_owned());
                }
                report
            }
            _ => report,
        }
    }
}
