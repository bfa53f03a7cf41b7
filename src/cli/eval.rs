//! `cembra eval`: an expression with values for its leaves.

use crate::cli::args::{EvalArgs, ExprArgs};
use crate::cli::dump_stages::StageDump;
use crate::cli::json_stream::print_json;
use crate::cli::report::{Phase, Report, Source, visible};
use crate::cli::{input, json, print};
use crate::compile::{Options, compile};
use crate::expr::Expr;
use crate::function::{FunctionModule, FunctionOptions, define_functions};
use crate::prepare::extend::Extension;
use crate::prepare::{Prepare, Source as Preparation};
use crate::python::SourceLines;
use crate::registry::Registry;
use crate::syntax::{Limits, parse_with};
use cembra_vm::machine::{BoundExpr, RunOptions};
use cembra_vm::program::dump;
use cembra_vm::value::repr::write_payload;
use cembra_vm::value::{Budget, Category, QType, ScalarValue, Value};
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Evaluates one expression.
pub fn run(eval: &EvalArgs) -> ExitCode {
    let args = &eval.expr;
    let source = match source(args) {
        Ok(source) => source,
        Err(report) => return report.print(None, args.json),
    };
    let dump = match StageDump::open(eval.dump_stages.as_deref()) {
        Ok(dump) => dump,
        Err(report) => return report.print(None, args.json),
    };
    match evaluate(args, &source, &eval.budget.budget(), &dump) {
        Ok(value) => {
            match args.json {
                true => print_json(&json::Typed(&value)),
                false => print(&format!("{}\n", plain(&value))),
            }
            ExitCode::SUCCESS
        }
        Err(report) => report.print(Some(&source), args.json),
    }
}

fn evaluate(args: &ExprArgs, source: &Source, budget: &Budget, dump: &StageDump) -> Result<Value, Report> {
    let inputs = args.input.iter().map(|i| input::parse_input(i)).collect::<Result<Vec<_>, _>>()?;
    let expr = parse(args, &source.text)?;
    let types = inputs.iter().map(|(name, value)| (name.clone(), value.qtype())).collect();
    dump.write("expr", || expr.to_string());
    let bound = bind(args, &expr, types, dump)?;
    dump.finish()?;
    execute(&bound, &inputs, budget)
}

/// Parses an expression under the limits of the command line.
///
/// # Errors
/// The text is not an expression.
pub fn parse(args: &ExprArgs, text: &str) -> Result<Expr, Report> {
    Ok(parse_with(text, &language(args)?.0, args.dialect.dialect(), &limits(args))?)
}

/// Parses an expression that stands in a longer text, `start` bytes behind its beginning.
///
/// # Errors
/// The text is not an expression.
pub fn parse_at(args: &ExprArgs, text: &str, start: usize) -> Result<Expr, Report> {
    let mut limits = limits(args);
    if text.chars().count() > limits.text {
        return parse(args, text);
    }
    limits.text = limits.text.saturating_add(start);
    let padded = format!("{:start$}{text}", "");
    Ok(parse_with(&padded, &language(args)?.0, args.dialect.dialect(), &limits)?)
}

fn limits(args: &ExprArgs) -> Limits {
    Limits {
        text: args.limits.limit_text,
        nesting: args.limits.limit_nesting,
        nodes: args.limits.limit_nodes,
    }
}

/// The operators of expressions: the standard ones, and functions of files, which need extensions.
///
/// # Errors
/// A file cannot be read, or is no module of functions.
pub(super) fn language(args: &ExprArgs) -> Result<(Registry, Vec<Arc<dyn Extension>>), Report> {
    let mut registry = Registry::standard();
    let mut extensions = Vec::new();
    for file in &args.functions {
        let failed = |category, what: String| {
            Report::new(category, Phase::Compile, format!("{}: {what}", file.display()))
        };
        let text = read_text(file)?;
        let module = FunctionModule::parse(&text).map_err(|errors| {
            let lines = SourceLines::new(&text);
            let lines = errors.iter().map(|error| format!("line {}: {error}", lines.line(error.span)));
            failed(Category::Parse, lines.collect::<Vec<_>>().join("; "))
        })?;
        let prefix = file.file_stem().unwrap_or_default().to_string_lossy();
        let defined =
            define_functions(&mut registry, &prefix, &Arc::new(module), &FunctionOptions::default());
        extensions.extend(defined.map_err(|error| failed(Category::Type, error.to_string()))?);
    }
    Ok((registry, extensions))
}

/// The inputs of a preparation, and its steps.
///
/// # Errors
/// A file of functions cannot be read.
pub fn preparation(
    args: &ExprArgs,
    expr: &Expr,
    types: Vec<(Arc<str>, QType)>,
    side_outputs: Vec<(Arc<str>, Expr)>,
) -> Result<(Preparation, Prepare), Report> {
    let (registry, extensions) = language(args)?;
    let preparation = Preparation {
        expr: expr.clone(),
        inputs: types,
        side_outputs,
        registry,
        dialect: args.dialect.dialect(),
        node_limit: args.limits.limit_nodes,
    };
    Ok((preparation, args.prepare().add_extensions(extensions)))
}

/// Prepares and compiles an expression, and writes its stages if they are wanted.
///
/// # Errors
/// The expression is wrong.
pub(super) fn bind(
    args: &ExprArgs,
    expr: &Expr,
    types: Vec<(Arc<str>, QType)>,
    dump: &StageDump,
) -> Result<BoundExpr, Report> {
    let (preparation, prepare) = preparation(args, expr, types, Vec::new())?;
    let prepared = prepare.observed_by(dump).run(preparation).map_err(|error| match args.is_given() {
        true => Report::of_preparation(error, |name| input::gives("-i", name, "VALUE", "a value")),
        false => error.into(),
    })?;
    let options = Options { frame_limit: args.limits.limit_frame, ..Options::default() };
    let bound = compile(&prepared, &options)?;
    dump.write("program", || dump::dump(bound.program()));
    Ok(bound)
}

/// Evaluates with these inputs; inputs the expression does not use are ignored.
///
/// # Errors
/// The run fails.
pub fn execute(bound: &BoundExpr, inputs: &[(Arc<str>, Value)], budget: &Budget) -> Result<Value, Report> {
    let host = |error: &dyn std::fmt::Display| Report::new(Category::Limit, Phase::Eval, error.to_string());
    let mut frame = bound.new_frame().map_err(|e| host(&e))?;
    for (name, value) in inputs {
        if let Ok(slot) = bound.input_slot(name) {
            let slot = slot.clone();
            frame.write(&slot, value).map_err(|e| host(&e))?;
        }
    }
    bound.execute_with(&mut frame, RunOptions::new().budget(budget))?;
    frame.read(bound.output_slot()).map_err(|e| host(&e))
}

/// The text of an expression, from the command line, a file or standard input.
///
/// # Errors
/// The file cannot be read, or is not UTF-8.
pub fn source(args: &ExprArgs) -> Result<Source, Report> {
    match (&args.expr, &args.file) {
        (Some(text), _) => Ok(Source { name: "<expression>".to_owned(), text: text.clone() }),
        (None, Some(file)) => {
            Ok(Source { name: shown(file), text: read_expression(file, args.limits.limit_text)? })
        }
        (None, None) => Ok(Source { name: "<expression>".to_owned(), text: String::new() }),
    }
}

/// A file as messages name it; `-` stands for standard input.
pub(super) fn shown(file: &Path) -> String {
    if is_standard_input(file) { "<standard input>".to_owned() } else { file.display().to_string() }
}

/// True for `-`.
pub(super) fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// Reads a file with an expression, no further than its limit reaches.
///
/// # Errors
/// The file cannot be read, is not UTF-8, or is longer than the limit.
pub fn read_expression(file: &Path, limit: usize) -> Result<String, Report> {
    read_within(file, ("expression-text", limit))
}

/// The same by a limit of another name.
///
/// # Errors
/// As above.
pub fn read_within(file: &Path, (name, limit): (&str, usize)) -> Result<String, Report> {
    // A character has at most four bytes; three more are a byte order mark.
    let most = (limit as u64).saturating_mul(4).saturating_add(3);
    let mut bytes = Vec::new();
    match open(file).and_then(|f| f.take(most.saturating_add(1)).read_to_end(&mut bytes)) {
        Err(error) => Err(cannot_read(file, &error)),
        Ok(length) if length as u64 > most => {
            let message = format!(
                "limit {name}: {} has more characters than the {limit} that are allowed",
                shown(file)
            );
            Err(Report::new(Category::Limit, Phase::Compile, message))
        }
        Ok(_) => to_text(file, bytes),
    }
}

/// Reads a file of any length.
///
/// # Errors
/// The file cannot be read, or is not UTF-8.
pub fn read_text(file: &Path) -> Result<String, Report> {
    let mut bytes = Vec::new();
    match open(file).and_then(|mut f| f.read_to_end(&mut bytes)) {
        Err(error) => Err(cannot_read(file, &error)),
        Ok(_) => to_text(file, bytes),
    }
}

/// A text with the name that messages have for its file.
///
/// # Errors
/// As in [`read_text`].
pub fn read_source(file: &Path) -> Result<Source, Report> {
    Ok(Source { name: shown(file), text: read_text(file)? })
}

/// A file, or standard input.
fn open(file: &Path) -> std::io::Result<Box<dyn Read>> {
    Ok(match is_standard_input(file) {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(std::fs::File::open(file)?),
    })
}

fn cannot_read(file: &Path, error: &std::io::Error) -> Report {
    Report::new(Category::Io, Phase::Compile, format!("cannot read {}: {error}", shown(file)))
}

fn to_text(file: &Path, bytes: Vec<u8>) -> Result<String, Report> {
    let io = |message: String| Report::new(Category::Io, Phase::Compile, message);
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        io(format!("{} is not UTF-8: byte 0x{:02X} at offset {at}", shown(file), e.as_bytes()[at]))
    })?;
    // Editors that mark UTF-8 files with a byte order mark mean nothing by it.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// A value as `eval` prints it: numbers and words bare, text as it is, compound values in full.
fn plain(value: &Value) -> String {
    match value {
        Value::Scalar(ScalarValue::Text(text)) | Value::Present(ScalarValue::Text(text)) => visible(text),
        Value::Scalar(v) | Value::Present(v) if !matches!(v, ScalarValue::Unit) => {
            let mut out = String::new();
            write_payload(&mut out, v);
            out
        }
        Value::Missing(_) => "missing".to_owned(),
        other => other.to_string(),
    }
}
