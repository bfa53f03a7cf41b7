//! `cembra run`: expressions for every row of files.
//!
//! ```text
//! cembra run 'a / b'            --data t.csv --out r.csv      column result
//! cembra run -e r='a / b' -e a=a --data t.csv --out r.csv     columns r, a
//! cembra run model.cembra       --data t.csv --out r.csv      fields of its named tuple, or result
//! ```
//!
//! Leaves are columns by name, or inputs. What an expression exports is a column too.

use crate::cli::args::{OnErrorArg, RunArgs};
use crate::cli::eval::{language, parse, parse_at, read_expression, source};
use crate::cli::input::{parse_input, parse_leaf_type};
use crate::cli::progress::{Bar, rate};
use crate::cli::report::{Phase, Report, Source as Text, visible};
use crate::cli::table::{Align, table};
use crate::cli::targets::{NamedFile, check_distinct};
use crate::cli::{complain, print, usage_error};
use crate::columns::outputs::outputs;
use crate::columns::pipeline::shown;
use crate::columns::sink::{NoSink, OutputColumn, Sink};
use crate::columns::{ColumnsError, OpenOptions, Plan, RunOptions, Source, Summary, create, open};
use crate::compile::Options;
use crate::expr::{Expr, GraphError};
use crate::host::export::side_outputs;
use cembra_vm::value::{ArrayRows, Category, ScalarType};
use indicatif::HumanCount;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Runs the command.
pub fn run(args: &RunArgs) -> ExitCode {
    if let Err(message) = check_use(args) {
        return usage_error("run", message);
    }
    let text = match text(args) {
        Ok(text) => text,
        Err(report) => return report.print(None, args.expr.json),
    };
    match run_job(args, &text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(report) => report.print(Some(&text), args.expr.json),
    }
}

fn check_use(args: &RunArgs) -> Result<(), &'static str> {
    match (&args.out, args.expr.json) {
        (None, true) if args.head.is_none() => Err("--json needs --out FILE: results do not mix with JSON"),
        (Some(out), true) if out.as_os_str() == "-" => Err("--json and --out - exclude each other"),
        _ => Ok(()),
    }
}

/// The text of the expression and of the named ones, a line each, so that errors are shown there.
fn text(args: &RunArgs) -> Result<Text, Report> {
    let file = args.expr.expr.as_ref().filter(|text| text.ends_with(".cembra")).map(Path::new);
    let mut text = match file {
        None => source(&args.expr)?,
        Some(file) => Text {
            name: file.display().to_string(),
            text: read_expression(file, args.expr.limits.limit_text)?,
        },
    };
    let main = has_main(args).then_some(&*text.text);
    let lines: Vec<&str> = main.into_iter().chain(args.named.iter().map(String::as_str)).collect();
    text.text = lines.join("\n");
    Ok(text)
}

/// True if there is an expression besides the named ones.
fn has_main(args: &RunArgs) -> bool {
    args.expr.expr.is_some() || args.expr.file.is_some()
}

/// The results in the order of their columns.
type Results = Vec<(Arc<str>, Expr)>;

/// All results: of the expression, of what it exports, and the named ones.
fn results(args: &RunArgs, text: &str) -> Result<Results, Report> {
    let mut results = Results::new();
    let mut start = 0;
    if has_main(args) {
        let behind: usize = args.named.iter().map(|named| 1 + named.len()).sum();
        let expr = parse(&args.expr, &text[..text.len() - behind])?;
        let limit = |e: GraphError| Report::new(Category::Limit, Phase::Compile, e.to_string());
        results = outputs(&expr).map_err(limit)?;
        results.extend(side_outputs(&expr).map_err(limit)?);
        start = text.len() - behind + 1;
    }
    for named in &args.named {
        results.push(named_result(args, named, start)?);
        start += named.len() + 1;
    }
    Ok(results)
}

/// Reads NAME=EXPR, which begins `start` bytes into the text.
fn named_result(args: &RunArgs, named: &str, start: usize) -> Result<(Arc<str>, Expr), Report> {
    let (name, text) =
        named.split_once('=').filter(|(name, _)| !name.trim().is_empty()).ok_or_else(|| {
            Report::new(Category::Syntax, Phase::Compile, format!("result `{named}`: expected NAME=EXPR"))
        })?;
    let expr = parse_at(&args.expr, text, start + name.len() + 1)?;
    Ok((name.trim().into(), expr))
}

fn run_job(args: &RunArgs, text: &Text) -> Result<(), Report> {
    let data: Vec<NamedFile<'_>> = args.data.iter().map(|file| ("--data", &**file)).collect();
    let out: Vec<NamedFile<'_>> = args.out.iter().map(|file| ("--out", &**file)).collect();
    check_distinct(&out, &data)?;
    let plan = plan(args, results(args, &text.text)?)?;
    let job = plan.job(open_all(args)?).map_err(|error| explained(args, error))?;
    let columns = job.outputs().to_vec();
    let sink = sink(args, &columns)?;
    let bar = if args.quiet { Bar::hidden() } else { Bar::new() };
    let ran = job.run(sink, &mut |progress| bar.show(progress));
    bar.end();
    match ran {
        Ok(summary) => tell(args, &columns, &summary, &bar),
        Err(ColumnsError::Write { error, .. }) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// The plan that the options ask for.
fn plan(args: &RunArgs, results: Results) -> Result<Plan, Report> {
    let limits = &args.expr.limits;
    let inputs = args.expr.input.iter().map(|input| parse_input(input));
    let (registry, extensions) = language(&args.expr)?;
    Ok(Plan {
        constants: inputs.collect::<Result<_, _>>()?,
        prepare: args.expr.prepare().add_extensions(extensions),
        registry,
        dialect: args.expr.dialect.dialect(),
        node_limit: limits.limit_nodes,
        compile: Options { frame_limit: limits.limit_frame, ..Options::default() },
        run: RunOptions {
            batch_rows: (!args.whole).then_some(args.batch_rows),
            on_error: args.on_error.on_error(),
            head: args.head.unwrap_or(0),
            enough: args.head.filter(|_| args.out.is_none()).map(|rows| rows as u64),
            budget: args.budget.budget(),
        },
        ..Plan::new(results)
    })
}

/// An error of the plan, with what the options have to do with it.
fn explained(args: &RunArgs, error: ColumnsError) -> Report {
    let not_row_wise = matches!(error, ColumnsError::NotRowWise { .. });
    let mut report = Report::from(error);
    if report.category == Category::MissingInput {
        report.notes.push("leaves are columns by name, L['any name'] if the name is no word".to_owned());
    }
    if not_row_wise {
        report.notes.push(match args.whole {
            false => "--whole reads all rows into memory as one batch".to_owned(),
            true => "--on-error null and skip need expressions that work row by row".to_owned(),
        });
    }
    report
}

/// Opens the files; every type given is that of a column.
fn open_all(args: &RunArgs) -> Result<Vec<Box<dyn Source>>, Report> {
    let options = OpenOptions { types: column_types(args)?, infer_rows: args.infer_rows };
    let sources: Vec<_> = args.data.iter().map(|file| open(file, &options)).collect::<Result<_, _>>()?;
    let is_column = |name: &str| sources.iter().any(|s| s.columns().iter().any(|c| &*c.name == name));
    match options.types.iter().find(|(name, _)| !is_column(name)) {
        Some((name, _)) => Err(ColumnsError::NoColumn { name: name.clone() }.into()),
        None => Ok(sources),
    }
}

/// The types given for columns of CSV files.
fn column_types(args: &RunArgs) -> Result<Vec<(Arc<str>, ScalarType)>, Report> {
    use ScalarType::{Boolean, Float32, Float64, Int32, Int64, Text};
    let column_type = |text: &String| {
        let (name, qtype) = parse_leaf_type(text)?;
        let element = qtype.element().or(qtype.scalar());
        match element.filter(|e| matches!(e, Boolean | Int32 | Int64 | Float32 | Float64 | Text)) {
            Some(element) => Ok((name, element)),
            None => {
                let known = "BOOLEAN, INT32, INT64, FLOAT32, FLOAT64 or TEXT";
                let message = format!("column `{name}`: a CSV column is {known}, not {qtype}");
                Err(Report::new(Category::Type, Phase::Compile, message))
            }
        }
    };
    args.types.iter().map(column_type).collect()
}

fn sink(args: &RunArgs, columns: &[OutputColumn]) -> Result<Box<dyn Sink>, Report> {
    match (&args.out, args.head) {
        (Some(out), _) => Ok(create(out, columns)?),
        (None, Some(_)) => Ok(Box::new(NoSink)),
        (None, None) => Ok(create(Path::new("-"), columns)?),
    }
}

/// Prints the first rows and what has been done.
fn tell(args: &RunArgs, columns: &[OutputColumn], summary: &Summary, bar: &Bar) {
    if args.expr.json {
        return print(&format!("{}\n", json(columns, summary, bar)));
    }
    if args.head.is_some() {
        print(&head(columns, summary));
    }
    if !args.quiet {
        complain(&in_words(args, columns, summary, bar));
    }
}

fn head(columns: &[OutputColumn], summary: &Summary) -> String {
    let column = |(column, rows): (&OutputColumn, &ArrayRows)| {
        let align = if column.element.is_numeric() { Align::Right } else { Align::Left };
        let cells = (0..rows.len()).map(|row| shown(rows, row));
        (align, std::iter::once(column.name.to_string()).chain(cells).collect())
    };
    let columns: Vec<_> = columns.iter().zip(&summary.head).map(column).collect();
    visible(&table(&columns))
}

fn in_words(args: &RunArgs, columns: &[OutputColumn], summary: &Summary, bar: &Bar) -> String {
    let time = bar.elapsed();
    let count = |number: u64, thing: &str| match number {
        1 => format!("1 {thing}"),
        number => format!("{} {thing}s", HumanCount(number)),
    };
    let speed = rate(summary.rows, time);
    let mut words = format!("{} read in {:.2} s ({speed})", count(summary.rows, "row"), time.as_secs_f64());
    if let Some(out) = args.out.as_ref().filter(|out| out.as_os_str() != "-") {
        let (rows, columns) = (count(summary.written, "row"), count(columns.len() as u64, "column"));
        words.push_str(&format!("; {rows} of {columns} written to {}", out.display()));
    }
    if let Some(first) = &summary.first_failure {
        let outcome = if args.on_error == OnErrorArg::Skip { "left out" } else { "without results" };
        words.push_str(&format!("\n{} {outcome}, the first: {first}", count(summary.failed, "row")));
    }
    words
}

fn json(columns: &[OutputColumn], summary: &Summary, bar: &Bar) -> serde_json::Value {
    let head = columns.iter().zip(&summary.head);
    let cells =
        head.map(|(column, rows)| (column.name.to_string(), serde_json::json!(super::json::Rows(rows))));
    serde_json::json!({
        "rows": summary.rows,
        "written": summary.written,
        "failed": summary.failed,
        "first_failure": summary.first_failure.as_ref().map(ToString::to_string),
        "seconds": bar.elapsed().as_secs_f64(),
        "columns": columns.iter().map(|c| serde_json::json!({ "name": &*c.name, "qtype": c.element.name() })).collect::<Vec<_>>(),
        "head": cells.collect::<serde_json::Map<_, _>>(),
    })
}
