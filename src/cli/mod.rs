//! The command line: one file a command.
//!
//! | command | file |
//! | --- | --- |
//! | `eval` | [`eval`], [`batch`] |
//! | `explain` | [`explain`] |
//! | `ops` | [`ops`] |
//!
//! Results go to standard output, errors to standard error with the source line; with `--json` both
//! are JSON on standard output, errors with their places. The exit code is 0 for success, 1 for an error in the expression or its
//! inputs, 2 for wrong usage.

pub mod args;
pub mod batch;
pub mod eval;
pub mod explain;
pub mod input;
pub mod json;
pub mod ops;
pub mod report;

use args::{Arguments, Command};
use clap::{CommandFactory, Parser};
use std::process::ExitCode;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        Command::Eval(args) => match &args.batch {
            Some(file) => batch::run(file, &args.expr),
            None => eval::run(&args.expr),
        },
        Command::Explain(args) => explain::run(&args),
        Command::Ops(args) => ops::run(&args),
    }
}

/// Reports options that exclude each other, as wrong usage.
pub(crate) fn usage_error(message: &str) -> ExitCode {
    let error = Arguments::command().error(clap::error::ErrorKind::ArgumentConflict, message);
    anstream::eprintln!("{}", error.render().ansi());
    ExitCode::from(2)
}

/// Writes to standard output; a closed pipe ends the program quietly.
pub(crate) fn print(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}
