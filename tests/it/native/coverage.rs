//! Which recorded programs have a form in C: all are translated, the reasons of those that are refused are counted, and a seeded
//! sample is built and compared with the interpreter. `CEMBRA_NATIVE=1` builds all of them; `CEMBRA_REFUSALS=1` prints the reasons.

use crate::function::compiled as compiled_function;
use crate::native::arrays::{compare, sanitized};
use crate::numpy;
use crate::support::{oracle, parse};
use cembra::cli::function_value::read_arguments;
use cembra::cli::json;
use cembra::compile::{Options, compile};
use cembra::function::FunctionOptions;
use cembra::native::{ArrayLayout, NotTranslated, ProgramCall, TranslateToC};
use cembra::prepare::{Prepare, Source};
use cembra::registry::{Dialect, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::machine::BoundExpr;
use cembra::vm::program::Program;
use cembra::vm::value::{QType, Value};
use cembra::workflow::Step;
use fastrand::Rng;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A recorded expression with its inputs.
struct Recorded {
    text: String,
    inputs: Vec<(String, Value)>,
    bound: BoundExpr,
}

/// The expressions of the published system that compile.
fn published(file: &str) -> Vec<Recorded> {
    let document = oracle(file);
    let cases = document["cases"].as_array().expect("a list of cases");
    cases.iter().filter_map(published_case).collect()
}

fn published_case(case: &Json) -> Option<Recorded> {
    let text = case["expr"].as_str().expect("a text").to_owned();
    let given = case.get("inputs").and_then(Json::as_object).into_iter().flatten();
    let inputs = given.map(|(name, input)| {
        let qtype: QType = input["qtype"].as_str().expect("a type").parse().ok()?;
        Some((name.clone(), json::read(&input["value"], &qtype).ok()?))
    });
    let inputs: Vec<(String, Value)> = inputs.collect::<Option<_>>()?;
    let expr = parse_with(&text, &Registry::standard(), Dialect::Arolla, &Limits::default()).ok()?;
    let types = inputs.iter().map(|(name, value)| (name.as_str(), value.qtype()));
    let mut source = Source::new(expr, types);
    source.dialect = Dialect::Arolla;
    let prepared = Prepare::standard().run(source).ok()?;
    let bound = compile(&prepared, &Options::default()).ok()?;
    Some(Recorded { text, inputs, bound })
}

/// The expressions on n-dimensional arrays.
fn of_numpy() -> Vec<Recorded> {
    let document = oracle("numpy/cases.json");
    let cases = document["cases"].as_array().expect("a list of cases");
    let one = |case: &Json| {
        let text = case["expr"].as_str().expect("a text").to_owned();
        let given = case["inputs"].as_object().expect("inputs by name").iter();
        let inputs: Vec<(String, Value)> =
            given.map(|(name, input)| (name.clone(), numpy::input(input))).collect();
        let types = inputs.iter().map(|(name, value)| (name.as_str(), value.qtype()));
        let prepared = Prepare::standard().run(Source::new(parse(&text, Dialect::Cembra), types));
        let bound = compile(&prepared.expect("it is valid"), &Options::default()).expect("it compiles");
        Recorded { text, inputs, bound }
    };
    cases.iter().map(one).collect()
}

/// The programs of recorded functions.
fn functions() -> Vec<Arc<Program>> {
    let files = ["cases", "exceptions", "features", "library", "none", "random"];
    let mut programs = Vec::new();
    for file in files {
        for case in oracle(&format!("numba_ir/{file}.json")).as_array().expect("a list of functions") {
            let (source, entry) =
                (case["source"].as_str().expect("a text"), case["entry"].as_str().unwrap_or("f"));
            let Some(run) = case["runs"].as_array().and_then(|runs| runs.first()) else { continue };
            let Ok(args) = read_arguments(&run["args"]) else { continue };
            if let Ok(function) = compiled_function(source, entry, &args, &FunctionOptions::default()) {
                programs.push(function.bound().program().clone());
            }
        }
    }
    programs
}

/// Why a program has no form in C, in a few words; `None` if it has one.
fn refusal(program: &Arc<Program>) -> Option<String> {
    let call = ProgramCall::new("f", program.clone(), ArrayLayout::Strided).expect("a name");
    match TranslateToC::default().run(call) {
        Ok(_) => None,
        Err(NotTranslated::Operator { operator, .. }) => {
            Some(operator.split('(').next().unwrap_or_default().to_owned())
        }
        Err(NotTranslated::Type { qtype, .. } | NotTranslated::Value { qtype, .. }) => Some(qtype),
        Err(other) => panic!("{other}"),
    }
}

/// The number of programs that are refused; with `CEMBRA_REFUSALS=1` the reasons are printed.
fn refusals<'p>(what: &str, programs: impl Iterator<Item = &'p Arc<Program>>) -> usize {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = 0;
    for program in programs {
        all += 1;
        if let Some(reason) = refusal(program) {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    let refused = reasons.values().sum();
    if std::env::var("CEMBRA_REFUSALS").is_ok_and(|text| text == "1") {
        let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
        reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), reason.clone()));
        println!("{what}: {refused} of {all} are refused");
        reasons.iter().for_each(|(reason, count)| println!("{count:5} {reason}"));
    }
    refused
}

/// Builds some of the expressions that have a form in C, and compares them with the interpreter.
fn build_sample(recorded: &[Recorded], seed: u64, layouts: &[ArrayLayout]) {
    let (_folder, cache) = sanitized();
    let mut rng = Rng::with_seed(seed);
    let is_all = std::env::var("CEMBRA_NATIVE").is_ok_and(|text| text == "1");
    let mut chosen: Vec<&Recorded> =
        recorded.iter().filter(|case| refusal(case.bound.program()).is_none()).collect();
    rng.shuffle(&mut chosen);
    let count = if is_all { chosen.len() } else { 24 };
    for (number, case) in chosen.into_iter().take(count).enumerate() {
        let layout = layouts[number % layouts.len()];
        let call = ProgramCall::new("f", case.bound.program().clone(), layout).expect("a name");
        let library = cache.library(&call).unwrap_or_else(|error| panic!("{}: {error}", case.text));
        let inputs: Vec<(&str, Value)> =
            case.inputs.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let _ = compare(&case.text, &case.bound, &library, &inputs);
    }
}

fn programs(recorded: &[Recorded]) -> impl Iterator<Item = &Arc<Program>> {
    recorded.iter().map(|case| case.bound.program())
}

#[test]
fn published_expressions_have_a_form_in_c() {
    let cases = published("arolla/cases.json");
    // Texts and bytes, but for a sequence and three tuples with arrays.
    assert_eq!(refusals("published expressions", programs(&cases)), 64);
    build_sample(&cases, 41, &[ArrayLayout::Strided, ArrayLayout::Contiguous]);
}

#[test]
fn expressions_on_arrays_have_a_form_in_c() {
    let cases = of_numpy();
    assert_eq!(refusals("expressions on arrays", programs(&cases)), 0);
    // The recorded arrays have strides of any kind.
    build_sample(&cases, 43, &[ArrayLayout::Strided]);
}

#[test]
fn most_functions_have_a_form_in_c() {
    let programs = functions();
    // A tuple with arrays.
    assert_eq!(refusals("functions", programs.iter()), 1);
}
