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
use crate::cli::eval::{parse, parse_at, preparation, source};
use crate::cli::progress::{Bar, rate};
use crate::cli::report::{Phase, Report, Source as Text};
use crate::cli::table::{Align, table};
use crate::cli::{input, print, usage_error};
use crate::columns::outputs::outputs;
use crate::columns::pipeline::shown;
use crate::columns::sink::{NoSink, OutputColumn, Sink};
use crate::columns::{
    ColumnsError, Job, OpenOptions, RunOptions, Scope, Source, Summary, create, open, rowwise,
};
use crate::compile::{Options, compile};
use crate::expr::Expr;
use crate::host::export::side_outputs;
use crate::prepare::error::MissingInput;
use crate::prepare::{PrepareError, Prepared};
use crate::registry::Registry;
use cembra_vm::program::instruction::Span;
use cembra_vm::value::{ArrayClass, ArrayType, Category, QType, ScalarType, Value};
use indicatif::HumanCount;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
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

/// The text of the expression, and the named ones as further lines, so that errors are shown there.
fn text(args: &RunArgs) -> Result<Text, Report> {
    let is_file = |text: &String| text.ends_with(".cembra") && Path::new(text).is_file();
    let mut text = match args.expr.expr.as_ref().filter(|text| is_file(text)) {
        None => source(&args.expr)?,
        Some(file) => Text { name: file.clone(), text: crate::cli::eval::read_text(Path::new(file))? },
    };
    args.named.iter().for_each(|named| text.text.push_str(&format!("\n{named}")));
    Ok(text)
}

/// The results in the order of their columns.
type Results = Vec<(Arc<str>, Expr)>;

/// All results: of the expression, of what it exports, and the named ones.
fn results(args: &RunArgs, text: &str) -> Result<Results, Report> {
    let behind: usize = args.named.iter().map(|named| named.len() + 1).sum();
    let mut start = text.len() - behind;
    let mut results = Results::new();
    if args.expr.expr.is_some() || args.expr.file.is_some() {
        let expr = parse(&args.expr, &text[..start])?;
        let limit = |e: crate::expr::GraphError| Report::new(Category::Limit, Phase::Compile, e.to_string());
        results = outputs(&expr).map_err(limit)?;
        results.extend(side_outputs(&expr).map_err(limit)?);
    }
    for named in &args.named {
        let (name, text) =
            named.split_once('=').filter(|(name, _)| !name.trim().is_empty()).ok_or_else(|| {
                Report::new(Category::Syntax, Phase::Compile, format!("result `{named}`: expected NAME=EXPR"))
            })?;
        let expr = parse_at(&args.expr, text, start + 1 + name.len() + 1)?;
        results.push((name.trim().into(), expr));
        start += 1 + named.len();
    }
    let mut met = std::collections::HashSet::new();
    match results.iter().find(|(name, _)| !met.insert(name.clone())) {
        Some((name, _)) => Err(ColumnsError::DuplicateOutput { name: name.clone() }.into()),
        None => Ok(results),
    }
}

fn run_job(args: &RunArgs, text: &Text) -> Result<(), Report> {
    let results = results(args, &text.text)?;
    let constants = args.expr.input.iter().map(|i| input::parse_input(i)).collect::<Result<Vec<_>, _>>()?;
    let sources = open_all(args)?;
    let types = leaf_types(&results, &sources, &constants)?;
    let prepared = prepare(args, &results, types)?;
    let options = run_options(args, &prepared, &results)?;
    let compile_options = Options { frame_limit: args.expr.limits.limit_frame, ..Options::default() };
    let bound = compile(&prepared, &compile_options)?;
    let slots = results.iter().enumerate().map(|(index, (name, _))| {
        let slot = match index {
            0 => bound.output_slot(),
            _ => bound.side_output_slot(name).map_err(ColumnsError::from)?,
        };
        Ok((name.clone(), slot.clone()))
    });
    let slots: Vec<_> = slots.collect::<Result<_, ColumnsError>>()?;
    let job = Job::new(bound, sources, &slots, &constants, options)?;
    let columns = job.outputs().to_vec();
    let sink = sink(args, &columns)?;
    let bar = Bar::new(args.quiet);
    let ran = job.run(sink, &mut |progress| bar.show(progress));
    bar.end();
    match ran {
        Ok(summary) => tell(args, &columns, &summary, &bar),
        Err(ColumnsError::Write { error, .. }) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn open_all(args: &RunArgs) -> Result<Vec<Box<dyn Source>>, Report> {
    let options = OpenOptions { types: column_types(args)?, infer_rows: args.infer_rows };
    let sources: Vec<_> = args.data.iter().map(|file| open(file, &options)).collect::<Result<_, _>>()?;
    let mut files: HashMap<Arc<str>, &str> = HashMap::new();
    for source in &sources {
        for column in source.columns() {
            if let Some(first) = files.insert(column.name.clone(), source.file()) {
                let (name, first, second) = (column.name.clone(), first.to_owned(), source.file().to_owned());
                return Err(ColumnsError::SharedColumn { name, first, second }.into());
            }
        }
    }
    match options.types.iter().find(|(name, _)| !files.contains_key(name)) {
        Some((name, _)) => Err(ColumnsError::NoColumn { name: name.clone() }.into()),
        None => Ok(sources),
    }
}

/// The types given for columns of CSV files.
fn column_types(args: &RunArgs) -> Result<Vec<(Arc<str>, ScalarType)>, Report> {
    use ScalarType::{Boolean, Float32, Float64, Int32, Int64, Text};
    let column_type = |text: &String| {
        let (name, qtype) = input::parse_leaf_type(text)?;
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

/// Types of the leaves that the results have: columns and inputs.
fn leaf_types(
    results: &Results,
    sources: &[Box<dyn Source>],
    constants: &[(Arc<str>, Value)],
) -> Result<Vec<(Arc<str>, QType)>, Report> {
    let mut types: HashMap<Arc<str>, QType> = HashMap::new();
    for source in sources {
        for column in source.columns() {
            // A column that cannot be read is found out when the job asks for it.
            let element = column.element.unwrap_or(ScalarType::Text);
            types.insert(column.name.clone(), QType::Array(ArrayType { class: ArrayClass::Dense, element }));
        }
    }
    for (name, value) in constants {
        if types.insert(name.clone(), value.qtype()).is_some() {
            let message = format!("`{name}` is an input and a column");
            return Err(Report::new(Category::UnknownName, Phase::Compile, message));
        }
    }
    let (mut used, mut missing): (Vec<(Arc<str>, QType)>, Vec<MissingInput>) = (Vec::new(), Vec::new());
    let mut met = std::collections::HashSet::new();
    for (name, span) in results.iter().flat_map(|(_, expr)| leaves(expr)) {
        match types.get(&name) {
            _ if !met.insert(name.clone()) => {}
            Some(qtype) => used.push((name, qtype.clone())),
            None => missing.push(MissingInput::new(name, span, types.keys().cloned())),
        }
    }
    match missing.is_empty() {
        true => Ok(used),
        false => Err(PrepareError::MissingInputs { inputs: missing }.into()),
    }
}

/// The leaves of an expression and where they stand.
fn leaves(expr: &Expr) -> Vec<(Arc<str>, Span)> {
    let graph = expr.graph();
    let leaf = |id| match graph.node(id) {
        crate::expr::Node::Leaf(name) => Some((graph.name(name).clone(), graph.span(id))),
        _ => None,
    };
    graph.post_order(&[expr.root()]).into_iter().filter_map(leaf).collect()
}

fn prepare(args: &RunArgs, results: &Results, types: Vec<(Arc<str>, QType)>) -> Result<Prepared, Report> {
    let (main, others) = results.split_first().expect("the command has an expression");
    let source = preparation(&args.expr, &main.1, types, others.to_vec());
    Ok(args.expr.optimizer.prepare().run(source)?)
}

fn run_options(args: &RunArgs, prepared: &Prepared, results: &Results) -> Result<RunOptions, Report> {
    let exprs: Vec<Expr> = results.iter().map(|(_, expr)| expr.clone()).collect();
    let scope = match rowwise::check(prepared, &Registry::standard(), &exprs) {
        Ok(()) => Scope::EachRow,
        Err(error) if !args.whole => return Err(error.into()),
        Err(error) if args.on_error != OnErrorArg::Fail => {
            let mut report = Report::from(error);
            report.notes = vec!["--on-error null and skip need expressions that work row by row".to_owned()];
            return Err(report);
        }
        Err(_) => Scope::AllRows,
    };
    Ok(RunOptions {
        batch_rows: (!args.whole).then_some(args.batch_rows),
        scope,
        on_error: args.on_error.on_error(),
        head: args.head.unwrap_or(0),
        enough: args.head.filter(|_| args.out.is_none()).map(|rows| rows as u64),
    })
}

fn sink(args: &RunArgs, columns: &[OutputColumn]) -> Result<Box<dyn Sink>, Report> {
    match (&args.out, args.head) {
        (Some(out), _) => Ok(create(out, columns)?),
        (None, Some(_)) => Ok(Box::new(NoSink)),
        (None, None) => Ok(create(&PathBuf::from("-"), columns)?),
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
        super::complain(&in_words(args, columns, summary, bar));
    }
}

fn head(columns: &[OutputColumn], summary: &Summary) -> String {
    let column = |(column, rows): (&OutputColumn, &cembra_vm::value::ArrayRows)| {
        let align = if column.element.is_numeric() { Align::Right } else { Align::Left };
        let cells = (0..rows.len()).map(|row| shown(rows, row));
        (align, std::iter::once(column.name.to_string()).chain(cells).collect())
    };
    let columns: Vec<_> = columns.iter().zip(&summary.head).map(column).collect();
    crate::cli::report::visible(&table(&columns))
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
    let cells = head.map(|(column, rows)| (column.name.to_string(), super::json::rows(rows)));
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
