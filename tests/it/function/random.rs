//! Random functions mean the same to CPython, to a walk over their trees, and to the machine.
//!
//! `CEMBRA_FUNCTIONS` is the number of functions, `CEMBRA_SEED` the seed; a failure prints it. With
//! `CEMBRA_RECORD` the functions are written to that file instead, for `record_random.py` to run.

use crate::function::generate::{Arguments, arguments, module};
use crate::function::print::text;
use crate::function::reference::{Datum, call};
use crate::function::{Outcome, outcome};
use cembra::cli::function_value::python_float;
#[cfg(feature = "jit")]
use cembra::cli::function_value::read_arguments;
use cembra::function::FunctionOptions;
use fastrand::Rng;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Functions in plain `cargo test`.
const USUAL: u64 = 300;
/// Calls of each.
const CALLS: usize = 3;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn random_functions_mean_what_python_means() {
    let seed = number("CEMBRA_SEED", 20);
    let (options, mut outcomes) = (FunctionOptions::default(), BTreeMap::<String, u32>::new());
    let mut written = Vec::new();
    for case in 0..number("CEMBRA_FUNCTIONS", USUAL) {
        let mut random = Rng::with_seed(seed ^ (case << 20));
        let functions = module(&mut random);
        let source = text(&functions);
        let all: Vec<Arguments> = (0..CALLS).map(|_| arguments(&mut random)).collect();
        if std::env::var_os("CEMBRA_RECORD").is_some() {
            let args: Vec<Json> =
                all.iter().map(|arguments| json!({ "args": recorded(arguments) })).collect();
            written.push(json!({ "id": format!("random.{case}"), "source": source, "runs": args }));
            continue;
        }
        for arguments in &all {
            let mut array = arguments.array.clone();
            let expected = call(&functions, arguments, &mut array);
            let args = recorded(arguments);
            let found = outcome(&source, "f", &args, &options);
            let agree = match (&expected, &found) {
                (Ok(values), Outcome::Returned { value, arrays }) => {
                    *value == tuple(values) && arrays[..] == [array_json(&array)]
                }
                (Err(class), Outcome::Raised(_)) => found.class() == Some(*class),
                _ => false,
            };
            if is_never_bound(&found) {
                *outcomes.entry("refused".to_owned()).or_default() += 1;
                continue;
            }
            assert!(
                agree,
                "seed {seed}, function {case}, arguments {args}\nexpected {expected:?} {array:?}\nfound {found:?}\n{source}"
            );
            *outcomes.entry(expected.err().unwrap_or("returned").to_owned()).or_default() += 1;
        }
    }
    match std::env::var_os("CEMBRA_RECORD") {
        Some(path) => {
            let text = written.iter().map(Json::to_string).collect::<Vec<_>>().join(",\n");
            std::fs::write(path, format!("[\n{text}\n]\n")).expect("the file can be written");
        }
        None => {
            eprintln!("{outcomes:?}");
            let count = |what: &str| outcomes.get(what).copied().unwrap_or(0);
            assert!(count("returned") > 5 * count("refused"), "{outcomes:?}");
        }
    }
}

/// The same functions as machine code: a sample, since each call has types of its own to compile for.
#[cfg(feature = "jit")]
#[test]
fn random_functions_are_the_same_as_machine_code() {
    let mut compiled = 0;
    for case in 0..USUAL / 3 {
        let mut random = Rng::with_seed(20 ^ (case << 20));
        let source = text(&module(&mut random));
        for _ in 0..CALLS {
            compiled += u32::from(is_the_same_as_machine_code(&source, &recorded(&arguments(&mut random))));
        }
    }
    assert!(compiled > 100, "only {compiled} are compiled");
}

/// As above, functions of values that may be None.
#[cfg(feature = "jit")]
#[test]
fn recorded_functions_of_none_are_the_same_as_machine_code() {
    let cases = crate::support::oracle("numba_ir/none.json");
    let cases = cases.as_array().expect("a list of functions").iter();
    let is_same = |case: &&Json| {
        let source = case["source"].as_str().expect("a text");
        is_the_same_as_machine_code(source, &case["runs"][0]["args"])
    };
    let compiled = cases.filter(is_same).count();
    assert!(compiled > 150, "only {compiled} are compiled");
}

/// Compares a call with itself as machine code; false if it has no such form.
#[cfg(feature = "jit")]
fn is_the_same_as_machine_code(source: &str, args: &Json) -> bool {
    use cembra::compile::tier::run_as_machine_code;
    use cembra::vm::machine::RunOptions;
    let values = read_arguments(args).expect("arguments");
    let compiled = crate::function::compiled(source, "f", &values, &FunctionOptions::default());
    let Ok(function) = compiled else { return false };
    let called = || {
        let result = function.call_with(&values, RunOptions::new());
        format!("{:?}", result.map(|result| (result.value, result.arrays)))
    };
    let expected = called();
    let is_compiled = run_as_machine_code(function.bound()).is_ok();
    assert_eq!(called(), expected, "{values:?}\n{source}");
    is_compiled
}

/// A variable that no path gives a value, in a loop that is left in its first turn: refused before the run.
pub fn is_never_bound(found: &Outcome) -> bool {
    matches!(found, Outcome::Refused(complaint) if complaint.rule == Some("unbound-variable"))
}

/// Arguments in the form of recorded calls.
fn recorded(arguments: &Arguments) -> Json {
    json!([
        array_json(&arguments.array),
        datum(Datum::Int(arguments.int)),
        datum(Datum::Float(arguments.float)),
        datum(Datum::Bool(arguments.truth)),
    ])
}

fn array_json(array: &[f64]) -> Json {
    let data: Vec<String> = array.iter().map(|value| python_float(*value)).collect();
    json!({ "t": "array", "dtype": "float64", "shape": [array.len()], "order": "C", "data": data })
}

fn tuple(values: &[Datum]) -> Json {
    let fields: Vec<Json> = values.iter().map(|value| datum(*value)).collect();
    json!({ "t": "tuple", "v": fields })
}

fn datum(value: Datum) -> Json {
    match value {
        Datum::Int(value) => json!({ "t": "int", "v": value.to_string() }),
        Datum::Float(value) => json!({ "t": "float", "v": python_float(value) }),
        Datum::Bool(value) => json!({ "t": "bool", "v": value }),
    }
}
