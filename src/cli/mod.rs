//! The command line: one file a command.
//!
//! | command | file |
//! | --- | --- |
//! | `eval` | [`eval`], [`batch`] |
//! | `explain` | [`explain`] |
//! | `run` | [`run`], [`progress`], [`table`] |
//! | `graph` | [`graph`] |
//! | `ops` | [`ops`] |
//! | `schema` | [`schema`], [`schema_args`] |
//! | `function` | [`function`], [`function_args`], [`function_batch`], [`function_call`], [`function_value`] |
//! | `build`, `cache` | [`build`], [`build_args`] |
//! | `field` | [`field`], [`field_args`], `field_batch`, `field_data`, `field_explain` |
//! | `model` | [`model`], [`model_batch`], [`model_source`], [`model_result`], [`model_args`], [`model_options`], [`synthetic`] |
//! | `model fit` | [`fit`], [`fit_args`], [`fit_data`], [`fit_task`], [`fit_result`], [`fit_plot`], [`fit_progress`] |
//!
//! [`budget_args`] has the options for budgets. `json_stream` prints results as JSON while it makes the text.
//! [`targets`] checks the names of files that are written, [`signals`] removes unfinished ones.
//!
//! Results go to standard output, errors to standard error with the source line; with `--json` both
//! are JSON on standard output, errors with their places. The exit
//! code is 0 for success, 1 for an error in the expression or its inputs or if the result cannot be
//! written, 2 for wrong usage.

pub mod args;
pub mod batch;
pub mod budget_args;
pub mod build;
pub mod build_args;
mod dump_stages;
pub mod eval;
pub mod explain;
pub mod explain_tier;
mod export;
pub mod field;
pub mod field_args;
mod field_batch;
mod field_data;
mod field_explain;
mod field_plot;
mod field_progress;
mod field_tier;
pub mod fit;
pub mod fit_args;
pub mod fit_data;
pub mod fit_plot;
pub mod fit_progress;
pub mod fit_result;
pub mod fit_task;
pub mod float_mode_arg;
pub mod function;
pub mod function_args;
pub mod function_batch;
pub mod function_call;
mod function_stage;
pub mod function_value;
pub mod graph;
pub mod input;
pub mod json;
mod json_stream;
pub mod json_text;
pub mod model;
pub mod model_args;
pub mod model_batch;
pub mod model_options;
pub mod model_result;
pub mod model_source;
pub mod native_cache;
pub mod ops;
pub mod progress;
pub mod report;
pub mod run;
pub mod schema;
pub mod schema_args;
pub mod signals;
pub mod synthetic;
pub mod table;
pub mod targets;
pub mod tier_arg;

use args::{Arguments, Command};
use cembra_vm::value::Category;
use cembra_vm::vector::Level;
use clap::{CommandFactory, Parser};
use report::{Phase, Report};
use std::io::{BufWriter, ErrorKind, StdoutLock, Write};
use std::process::ExitCode;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(level) = arguments.level {
        // Nothing has been computed, so that no level is in use.
        let _ = Level::from(level).cap();
    }
    signals::remove_unfinished_files_at_the_end();
    match arguments.command {
        Command::Eval(args) => match &args.batch {
            Some(file) => batch::run(file, &args),
            None => eval::run(&args),
        },
        Command::Explain(args) => explain::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Graph(command) => graph::run(&command),
        Command::Ops(args) => ops::run(&args),
        Command::Model(args) => model::run(&args),
        Command::Schema(command) => schema::run(&command),
        Command::Function(command) => function::run(&command),
        Command::Build(args) => build::run(&args),
        Command::Cache(command) => build::run_cache(&command),
        Command::Field(command) => field::run(&command),
    }
}

/// Reports options of a command that exclude each other, as wrong usage.
pub(crate) fn usage_error(command: &str, message: &str) -> ExitCode {
    let mut all = Arguments::command();
    // Only a command that is built knows what it is called with.
    all.build();
    let command = all.find_subcommand(command).cloned();
    let error = command.unwrap_or(all).error(clap::error::ErrorKind::ArgumentConflict, message);
    complain(&error.render().ansi().to_string());
    ExitCode::from(2)
}

/// Writes to standard output. A closed pipe ends the program quietly: the reader has all it wants. Any
/// other failure is an error, because the result is lost.
pub(crate) fn print(text: &str) {
    print_with(|out| out.write_all(text.as_bytes()));
}

/// The same of what a function writes, a buffer at a time.
pub(crate) fn print_with(write: impl FnOnce(&mut BufWriter<StdoutLock<'_>>) -> std::io::Result<()>) {
    let written = crate::columns::replace::standard_output().and_then(|out| {
        let mut out = BufWriter::with_capacity(1 << 16, out.lock());
        write(&mut out).and_then(|()| out.flush())
    });
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            let message = format!("cannot write the result: {error}");
            complain(&Report::new(Category::Io, Phase::Eval, message).render(None, true));
            std::process::exit(1);
        }
    }
}

/// Writes a line to standard error, where a failure can be told to nobody.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}
