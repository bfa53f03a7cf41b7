//! `cembra function`: calls, checks and shows functions in Python-like text.

use crate::cli::dump_stages::StageDump;
use crate::cli::eval::read_source;
use crate::cli::explain_tier::source_text;
use crate::cli::function_args::{
    FunctionCheckArgs, FunctionCommand, FunctionDumpArgs, FunctionExplainArgs, FunctionRunArgs, StageArg,
};
use crate::cli::function_batch::{check_batch, run_batch};
use crate::cli::function_call::{Failed, call, compiled, norm_text, options, pyast_text, report, types};
use crate::cli::function_stage::{checked_stage, compiled_stage, stage_tree};
use crate::cli::function_value::{Plain, large_integer, read_arguments};
use crate::cli::json_stream::{List, print_json};
use crate::cli::native_cache::native_backends;
use crate::cli::report::{Phase, Report, Source};
use crate::cli::tier_arg::{SourceArg, TierArg};
use crate::cli::{complain, print};
use crate::compile::tier::run_as_machine_code;
use crate::function::compile::{optimized, stages};
use crate::function::explain::explain_type;
use crate::function::run::{FunctionCallError, python_class, python_message};
use crate::function::stage_text::{low_text, tssa_text, ussa_text};
use crate::function::{
    CompiledFunction, FunctionError, FunctionModule, FunctionOptions, FunctionProblem, compile_function,
};
use crate::inspect::machine_code_text;
use crate::native::{ArrayLayout, NativeError, NativeResult, ProgramCall};
use crate::python::{Positions, SourceLines, pyast_document, pyast_schema};
use crate::schema::tree_text;
use cembra_vm::machine::RunOptions;
use cembra_vm::program::{dump, text};
use cembra_vm::value::{Category, Value};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::ExitCode;

/// Runs a command on functions.
pub fn run(command: &FunctionCommand) -> ExitCode {
    let is_json = match command {
        FunctionCommand::Run(args) => args.json,
        FunctionCommand::Check(args) => args.json,
        FunctionCommand::Dump(_) | FunctionCommand::ExplainType(_) => false,
    };
    let result = match command {
        FunctionCommand::Run(args) => match &args.batch {
            Some(file) => run_batch(file, &options(&args.semantics), &args.budget.budget()),
            None => run_one(args),
        },
        FunctionCommand::Check(args) => match &args.batch {
            Some(file) => check_batch(file),
            None => check(args),
        },
        FunctionCommand::Dump(args) => dump_stage(args),
        FunctionCommand::ExplainType(args) => explain(args),
    };
    match result {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err((reports, source)) if is_json => {
            let all: Vec<Json> = reports.iter().map(|report| report.json(source.as_ref())).collect();
            print(&format!("{}\n", json!({ "errors": all })));
            ExitCode::from(1)
        }
        Err((reports, source)) => {
            reports.iter().for_each(|report| complain(&report.render(source.as_ref(), true)));
            ExitCode::from(1)
        }
    }
}

fn source(file: &Path) -> Result<Source, Failed> {
    read_source(file).map_err(|report| (vec![report], None))
}

/// Calls a function, and prints what it gives.
fn run_one(args: &FunctionRunArgs) -> Result<String, Failed> {
    if args.backend != SourceArg::C && args.tier != TierArg::Native {
        return Err(usage("--backend needs --tier native"));
    }
    if let (Some(file), Some(stage)) = (&args.file, args.from_stage) {
        let (source, values) = (source(file)?, arguments(&args.args)?);
        return match compiled_stage(stage, &source.text, &values, &options(&args.semantics)) {
            Ok(compiled) => {
                print_called(args.json, &called(args, &compiled, &values, source, &StageDump::default())?);
                Ok(String::new())
            }
            Err(reports) => Err((reports, Some(source))),
        };
    }
    let (Some(file), Some(name)) = (&args.file, &args.function) else {
        return Err(usage("a file and a function are needed"));
    };
    let source = source(file)?;
    let values = arguments(&args.args)?;
    let dump = StageDump::open(args.dump_stages.as_deref()).map_err(|report| (vec![report], None))?;
    let compiled = match compiled(&source.text, name, &values, &options(&args.semantics), &dump) {
        Ok(compiled) => compiled,
        Err(errors) => return Err((errors.iter().map(report).collect(), Some(source))),
    };
    let result = called(args, &compiled, &values, source, &dump)?;
    dump.finish().map_err(|report| (vec![report], None))?;
    print_called(args.json, &result);
    Ok(String::new())
}

/// What a call gives: the result, and the arrays after the call.
struct Called(Value, Vec<Value>);

impl Serialize for Called {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("value", &Plain(&self.0))?;
        map.serialize_entry("arrays_after", &List(|| self.1.iter().map(Plain)))?;
        map.end()
    }
}

/// Prints a result while its text is made.
fn print_called(is_json: bool, called: &Called) {
    match is_json {
        true => print_json(called),
        false => print_json(&Plain(&called.0)),
    }
}

/// A function as libraries take it.
fn program_call(compiled: &CompiledFunction) -> Result<ProgramCall, NativeError> {
    let program = compiled.bound().program().clone();
    Ok(ProgramCall::new(compiled.name(), program, ArrayLayout::Strided)?)
}

/// Calls a function as the backend has it; nothing if it raises.
fn native_call(
    args: &FunctionRunArgs,
    compiled: &CompiledFunction,
    values: &[Value],
    dump: &StageDump,
) -> Result<Option<(Value, Vec<Value>)>, NativeError> {
    let call = program_call(compiled)?;
    let program = native_backends(args.cache).compiled_observed(args.backend.name(), &call, dump)?;
    let values: Vec<Value> = values.iter().chain(compiled.defaults()).cloned().collect();
    match program.call(&values) {
        Ok(NativeResult { mut results, arrays }) => {
            let arrays = arrays.into_iter().map(|(_, array)| array).collect();
            Ok(Some((results.swap_remove(0), arrays)))
        }
        Err(_) => Ok(None),
    }
}

/// Calls a compiled function where the options say.
fn called(
    args: &FunctionRunArgs,
    compiled: &CompiledFunction,
    values: &[Value],
    source: Source,
    dump: &StageDump,
) -> Result<Called, Failed> {
    let lines = SourceLines::new(&source.text);
    for warning in compiled.warnings() {
        let line = lines.line(warning.span);
        complain(&format!("warning: line {line}: {}", warning.message));
    }
    if args.tier == TierArg::Jit
        && let Err(reason) = run_as_machine_code(compiled.bound())
    {
        complain(&format!("note: the interpreter runs it: {reason}"));
    }
    if args.tier == TierArg::Native && !args.budget.budget().is_default() {
        complain("note: the interpreter runs it: a library takes no budget");
    } else if args.tier == TierArg::Native {
        match native_call(args, compiled, values, dump) {
            Ok(Some((value, arrays))) => return Ok(Called(value, arrays)),
            // The interpreter raises the same, and knows more about it.
            Ok(None) => {}
            Err(reason) => complain(&format!("note: the interpreter runs it: {reason}")),
        }
    }
    let all = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (budget, threads) = (args.budget.budget(), args.threads.unwrap_or_else(all));
    match call(compiled, values, RunOptions::new().budget(&budget).threads(threads)) {
        Ok((value, arrays)) => Ok(Called(value, arrays)),
        Err(error) => Err((vec![call_report(&error)], Some(source))),
    }
}

fn arguments(text: &str) -> Result<Vec<Value>, Failed> {
    let json: Json =
        serde_json::from_str(text).map_err(|error| usage(&format!("--args is no JSON: {error}")))?;
    if let Some(integer) = large_integer(text) {
        return Err(usage(&format!("--args: the integer {integer} does not fit 64 bits")));
    }
    read_arguments(&json).map_err(|what| usage(&what))
}

fn usage(message: &str) -> Failed {
    (vec![Report::new(Category::Parse, Phase::Compile, message)], None)
}

fn call_report(error: &FunctionCallError) -> Report {
    match error {
        FunctionCallError::Run(error) => {
            let mut report = Report::from((**error).clone());
            report.message = format!("{}: {}", python_class(error), python_message(error));
            report
        }
        other => Report::new(Category::Type, Phase::Eval, other.to_string()),
    }
}

fn check(args: &FunctionCheckArgs) -> Result<String, Failed> {
    let Some(file) = &args.file else { return Err(usage("a file is needed")) };
    let source = source(file)?;
    if let Some(stage) = args.stage {
        return checked_stage(stage, &source.text).map_err(|reports| (reports, Some(source)));
    }
    match FunctionModule::parse(&source.text) {
        Ok(module) => {
            let (mut errors, mut lines) = (Vec::new(), String::new());
            for name in module.function_names() {
                let found = crate::function::check::check_function(&module, name);
                for finding in &found.warnings {
                    let line = module.line(finding.span);
                    lines.push_str(&format!("warning: line {line}: {}\n", finding.message));
                }
                for finding in found.notes.iter().filter(|_| args.notes) {
                    let line = module.line(finding.span);
                    lines.push_str(&format!("note: line {line}: {}\n", finding.message));
                }
                errors.extend(found.errors);
            }
            if errors.is_empty() {
                lines.push_str(&format!("{} functions\n", module.len()));
                return Ok(lines);
            }
            Err((errors.iter().map(report).collect(), Some(source)))
        }
        Err(errors) => Err((errors.iter().map(report).collect(), Some(source))),
    }
}

fn explain(args: &FunctionExplainArgs) -> Result<String, Failed> {
    let source = source(&args.file)?;
    let values = arguments(&args.args)?;
    let result = FunctionModule::parse(&source.text).and_then(|module| {
        let stages = stages(&module, &args.function, &types(&values)?, &FunctionOptions::default())?;
        explain_type(&module, &stages.instances[0], &args.name).ok_or_else(|| {
            let problem = FunctionProblem::UnknownName { name: args.name.clone() };
            vec![FunctionError { problem, span: Default::default() }]
        })
    });
    result.map_err(|errors| (errors.iter().map(report).collect(), Some(source)))
}

fn dump_stage(args: &FunctionDumpArgs) -> Result<String, Failed> {
    let source = source(&args.file)?;
    let values = arguments(&args.args)?;
    let options = options(&args.semantics);
    let result = FunctionModule::parse(&source.text).and_then(|module| {
        match args.stage {
            StageArg::Pyast if args.tree => {
                let document = pyast_document(module.tree(), Positions::Statements);
                return Ok(tree_text(pyast_schema(), &document).unwrap_or_else(|error| error.to_string()));
            }
            StageArg::Pyast => return Ok(pyast_text(&module)),
            StageArg::Norm => return Ok(norm_text(&module)),
            _ => {}
        }
        let types = types(&values)?;
        let stages = stages(&module, &args.function, &types, &options)?;
        if args.tree
            && let Some(text) = stage_tree(args.stage, &stages, module.tree().lines())
        {
            return Ok(text);
        }
        let texts = match args.stage {
            StageArg::Ussa => stages.instances.iter().map(ussa_text).collect(),
            StageArg::Tssa => stages.instances.iter().map(tssa_text).collect(),
            StageArg::Low => stages.low.iter().map(low_text).collect::<Vec<_>>(),
            StageArg::Passes => {
                let (low, _) = optimized(&stages.low).map_err(|error| vec![error])?;
                low.iter().map(low_text).collect()
            }
            _ => {
                let compiled = compile_function(&module, &args.function, &types, &options)?;
                let program = compiled.bound().program();
                let interpreted = |reason: String| format!("the interpreter runs it: {reason}\n");
                let written = |backend| {
                    let text = program_call(&compiled).and_then(|call| source_text(backend, &call));
                    text.unwrap_or_else(|reason| interpreted(reason.to_string()))
                };
                vec![match args.stage {
                    StageArg::Stored => text::print(program),
                    StageArg::MachineCode => machine_code_text(compiled.bound()).unwrap_or_else(interpreted),
                    StageArg::C => written(SourceArg::C),
                    StageArg::Rust => written(SourceArg::Rust),
                    _ => dump::dump(program),
                }]
            }
        };
        Ok(texts.join("\n"))
    });
    result.map_err(|errors| (errors.iter().map(report).collect(), Some(source)))
}
