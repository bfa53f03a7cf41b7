//! 500 random functions with what CPython gave: `tests/oracles/numba_ir/record_random.py` says how.

use crate::function::{Outcome, outcome};
use crate::support::oracle;
use cembra::function::FunctionOptions;
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
            if !is_recorded(&run["cpython"], &found) {
                let (id, args) = (&case["id"], &run["args"]);
                wrong
                    .push(format!("{id} {args}\n  expected {}\n  found {found:?}\n{source}", run["cpython"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} calls are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn is_recorded(recorded: &Json, found: &Outcome) -> bool {
    match found {
        Outcome::Returned { value, arrays } => {
            recorded["value"] == *value && recorded["arrays_after"].as_array() == Some(arrays)
        }
        Outcome::Raised(complaint) => recorded["exc"] == complaint.class,
        Outcome::Refused(_) => false,
    }
}
