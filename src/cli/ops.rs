//! `cembra ops`: the operators there are.

use crate::cli::args::OpsArgs;
use crate::cli::print;
use crate::cli::report::Phase;
use crate::cli::report::Report;
use crate::inspect::operators::{describe, markdown};
use crate::registry::Registry;
use crate::registry::registry::is_public;
use std::process::ExitCode;

/// Runs the command.
pub fn run(args: &OpsArgs) -> ExitCode {
    let registry = Registry::standard();
    if args.markdown {
        print(&markdown(&registry));
        return ExitCode::SUCCESS;
    }
    let name = args.name.as_deref().unwrap_or("");
    if let Some(def) = registry.get(name) {
        print(&describe(def));
        return ExitCode::SUCCESS;
    }
    let listed: Vec<_> =
        registry.definitions().filter(|d| d.name.starts_with(name) && is_public(&d.name)).collect();
    if listed.is_empty() {
        return match registry.find(name) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => Report::new(error.category(), Phase::Compile, error.to_string()).print(None, false),
        };
    }
    let width = listed.iter().map(|d| d.signature().chars().count()).max().unwrap_or(0).min(60);
    let lines: String = listed.iter().map(|d| format!("{:width$}  {}\n", d.signature(), d.meaning)).collect();
    print(&lines);
    ExitCode::SUCCESS
}
