//! `cembra ops`: the operators there are.

use crate::cli::args::OpsArgs;
use crate::cli::print;
use crate::cli::report::Phase;
use crate::cli::report::Report;
use crate::inspect::operators::{describe, machine_row, markdown};
use crate::registry::define::ParamKind;
use crate::registry::registry::is_public;
use crate::registry::{OperatorDef, Param, Registry};
use cembra_vm::operator::Overload;
use cembra_vm::operator::facts::Slope;
use serde_json::{Value as Json, json};
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
        print(&if args.json { format!("{}\n", operator(def)) } else { describe(def) });
        return ExitCode::SUCCESS;
    }
    let listed: Vec<_> =
        registry.definitions().filter(|d| d.name.starts_with(name) && is_public(&d.name)).collect();
    if listed.is_empty() {
        return match registry.find(name) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => {
                Report::new(error.category(), Phase::Compile, error.to_string()).print(None, args.json)
            }
        };
    }
    if args.json {
        let operators: Vec<Json> = listed.iter().map(|def| operator(def)).collect();
        print(&format!("{}\n", json!({ "operators": operators })));
        return ExitCode::SUCCESS;
    }
    let width = listed.iter().map(|d| d.signature().chars().count()).max().unwrap_or(0).min(60);
    let lines: String = listed.iter().map(|d| format!("{:width$}  {}\n", d.signature(), d.meaning)).collect();
    print(&lines);
    ExitCode::SUCCESS
}

/// An operator as JSON; one that is lowered into others has no effects, cost or overloads of its own.
fn operator(def: &OperatorDef) -> Json {
    let mut json = json!({
        "name": &*def.name,
        "signature": def.signature(),
        "meaning": &*def.meaning,
        "params": def.params.iter().map(param).collect::<Vec<_>>(),
        "lowered": machine_row(def).is_none(),
    });
    if let Some(family) = machine_row(def) {
        json["effects"] = family.effects().name().into();
        json["cost"] = family.cost().into();
        json["overloads"] = family.overloads().iter().map(|o| overload(o)).collect();
        json["more_overloads_on_demand"] = family.is_generic().into();
        json["derivatives"] = family.partials().iter().copied().collect();
        if let Slope::Differential(text) = def.facts().slope() {
            json["differential"] = (*text).into();
        }
    }
    json
}

fn param(param: &Param) -> Json {
    let kind = match &param.kind {
        ParamKind::Required => "required",
        ParamKind::Default(_) => "default",
        ParamKind::Omittable => "omittable",
        ParamKind::Variadic => "variadic",
        ParamKind::Names => "names",
    };
    let mut json = json!({ "name": &*param.name, "kind": kind });
    if let ParamKind::Default(literal) = &param.kind {
        json["default"] = literal.to_string().into();
    }
    json
}

fn overload(overload: &Overload) -> Json {
    let args: Vec<String> = overload.args().iter().map(ToString::to_string).collect();
    json!({ "args": args, "result": overload.result().to_string() })
}
