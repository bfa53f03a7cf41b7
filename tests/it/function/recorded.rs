//! What CPython gave: 500 random functions, 300 of values that may be None, and functions that use one feature each, or one function
//! of the library. `record_random.py`, `record_none.py`, `record_features.py` and `record_library.py` in `tests/oracles/numba_ir/`
//! say how. What Numba gave: programs as its users write them, by `record_programs.py`.

use crate::function::oracle::{Tolerance, gives};
use crate::function::random::is_never_bound;
use crate::function::{Outcome, outcome};
use crate::support::oracle;
use cembra::function::{FunctionOptions, Overflow};
use serde_json::Value as Json;

#[test]
fn recorded_random_functions_give_what_cpython_gave() {
    let cases = oracle("numba_ir/random.json");
    let cases = cases.as_array().expect("a list of functions");
    assert_eq!(cases.len(), 500);
    let mut wrong = Vec::new();
    for case in cases {
        let source = case["source"].as_str().expect("a text");
        for run in case["runs"].as_array().expect("a list of calls") {
            let found = outcome(source, "f", &run["args"], &FunctionOptions::default());
            if !is_recorded(&run["cpython"], &found) && !is_never_bound(&found) {
                let (id, args) = (&case["id"], &run["args"]);
                wrong
                    .push(format!("{id} {args}\n  expected {}\n  found {found:?}\n{source}", run["cpython"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} calls are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn recorded_features_give_what_cpython_gave() {
    assert_eq!(check_recorded("numba_ir/features.json"), 365);
}

#[test]
fn recorded_functions_of_the_library_give_what_numpy_gave() {
    assert_eq!(check_recorded("numba_ir/library.json"), 580);
}

/// What is None on every path is refused as an operand before the run, though the path may never be taken.
#[test]
fn recorded_functions_of_none_give_what_cpython_gave() {
    let is_always_none =
        |found: &Outcome| matches!(found, Outcome::Refused(complaint) if complaint.rule == Some("type"));
    let (count, refused) = check_recorded_but("numba_ir/none.json", is_always_none);
    assert!(count == 900 && refused < 300, "{refused} of {count} calls are refused");
}

#[test]
fn recorded_programs_give_what_numba_gave() {
    let cases = oracle("numba_ir/programs.json");
    let options =
        FunctionOptions { overflow: Overflow::Wrap, numpy_errors: false, ..FunctionOptions::default() };
    // Special functions differ by one unit of the last place, and what is made of them by some more.
    let tolerance = Tolerance { relative: 1e-12, equal_types: false };
    let (mut count, mut wrong) = (0, Vec::new());
    for case in cases.as_array().expect("a list of programs") {
        let [source, entry] = ["source", "entry"].map(|key| case[key].as_str().expect("a text"));
        for run in case["runs"].as_array().expect("a list of calls") {
            let (found, numba) = (outcome(source, entry, &run["args"], &options), &run["numba"]);
            count += 1;
            let agree = match numba["outcome"].as_str() {
                Some("return") => gives(numba, &found, tolerance),
                _ => found.class() == numba["exc"].as_str(),
            };
            if !agree {
                wrong.push(format!(
                    "{entry} {}\n  expected {numba}\n  found {found:?}\n{source}",
                    run["args"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} calls are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(count, 621);
}

/// Runs the calls of a file; gives how many there are.
fn check_recorded(file: &str) -> u32 {
    check_recorded_but(file, |_| false).0
}

/// Runs the calls of a file; gives how many there are, and how many are passed over.
fn check_recorded_but(file: &str, is_passed_over: impl Fn(&Outcome) -> bool) -> (u32, u32) {
    let cases = oracle(file);
    let (mut count, mut passed_over, mut wrong) = (0, 0, Vec::new());
    // A variable that is an integer on one path and a float on another is a float.
    let tolerance = Tolerance { relative: 0.0, equal_types: false };
    for case in cases.as_array().expect("a list of functions") {
        let source = case["source"].as_str().expect("a text");
        for run in case["runs"].as_array().expect("a list of calls") {
            let (found, cpython) =
                (outcome(source, "f", &run["args"], &FunctionOptions::default()), &run["cpython"]);
            count += 1;
            if is_passed_over(&found) {
                passed_over += 1;
                continue;
            }
            let agree = match cpython["outcome"].as_str() {
                Some("return") => gives(cpython, &found, tolerance),
                _ => found.class() == cpython["exc"].as_str(),
            };
            if !agree {
                wrong.push(format!("{}\n  expected {cpython}\n  found {found:?}\n{source}", run["args"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} calls are wrong:\n{}", wrong.len(), wrong.join("\n"));
    (count, passed_over)
}

fn is_recorded(recorded: &Json, found: &Outcome) -> bool {
    match found {
        Outcome::Returned { value, arrays } => {
            same(&recorded["value"], value) && same(&recorded["arrays_after"], &Json::from(arrays.clone()))
        }
        Outcome::Raised(complaint) => recorded["exc"] == complaint.class,
        Outcome::Refused(_) => false,
    }
}

/// Equal but for the digits of floats, whose bits are compared.
fn same(recorded: &Json, found: &Json) -> bool {
    match (recorded, found) {
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::String(a), Json::String(b)) if a != b => match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(x), Ok(y)) => {
                x.to_bits() == y.to_bits() && !(a.parse::<i64>().is_ok() && b.parse::<i64>().is_ok())
            }
            _ => false,
        },
        (a, b) => a == b,
    }
}
