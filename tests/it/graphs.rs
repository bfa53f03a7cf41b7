//! Recorded programs of the published graph engine, through `cembra graph run --batch`.

use crate::support::{oracle, test_file};
use serde_json::Value as Json;
use std::process::Command;

/// Cases left out, each with the difference that excludes it.
const EXCLUDED: [(&str, &str); 1] = [(
    "err/unknown_node_type",
    "kinds of nodes are a closed list: a node that passes do not know cannot be made",
)];

/// Texts of a case that stand outside its evaluations.
const TEXTS: [&str; 5] = ["node_text", "linearize", "ir_nodes_text", "partition", "ir_trees_text"];

#[test]
fn recorded_programs() {
    recorded_programs_on(&[]);
}

/// The machine computes all values beforehand, and what is recorded is shown of them.
#[test]
fn recorded_programs_on_the_machine() {
    recorded_programs_on(&["--backend", "machine"]);
}

fn recorded_programs_on(backend: &[&str]) {
    let right = check("dt_model/cases.json", backend, |case, line| {
        let expected = &case["expected"];
        let mut wrong: Vec<String> = TEXTS
            .iter()
            .filter(|key| !same_text(&expected[**key], &line[**key]))
            .map(|key| (*key).to_owned())
            .collect();
        let modes = expected["eval"].as_object();
        assert_eq!(modes.is_none(), case["program"]["no_eval"] == true);
        for (mode, expected) in modes.into_iter().flatten() {
            let what = wrong_in_evaluation(expected, &line["eval"][mode], case["transcendental"] == true);
            wrong.extend(what.into_iter().map(|what| format!("{mode}: {what}")));
            wrong.extend(wrong_on_the_machine(case, line, mode, backend));
        }
        wrong
    });
    assert_eq!(right, 231 - EXCLUDED.len());
}

/// Graphs at random, of all types, shapes and errors.
#[test]
fn recorded_random_graphs() {
    random_graphs_on(&[], |case| case["transcendental"] == true);
}

/// The machine adds and multiplies in another order, so that the last digits of floats may differ.
#[test]
fn recorded_random_graphs_on_the_machine() {
    random_graphs_on(&["--backend", "machine"], |_| true);
}

fn random_graphs_on(backend: &[&str], may_round: fn(&Json) -> bool) {
    let right = check("dt_model/cases_random.json", backend, |case, line| {
        wrong_in_evaluation(&case["expected"]["eval"]["nodes"], &line["eval"]["nodes"], may_round(case))
    });
    assert_eq!(right, 150);
}

/// The functions that trees become, and the values of inputs and roots. Ten of them the published engine
/// could not compile.
#[test]
fn recorded_functions_of_trees() {
    recorded_functions_on(&[]);
}

#[test]
fn recorded_functions_on_the_machine() {
    recorded_functions_on(&["--backend", "machine"]);
}

fn recorded_functions_on(backend: &[&str]) {
    let right = check("dt_model/cases_jit.json", backend, |case, line| {
        let (expected, result) = (&case["expected"], &line["eval"]["dag_trees"]);
        let mut wrong = Vec::new();
        for key in ["node_text", "function_text"] {
            if expected[key] != line[key] {
                wrong.push(key.to_owned());
            }
        }
        for (id, value) in expected["values"].as_object().expect("values by id") {
            let without_kind =
                |value: &Json| Json::from_iter(["dtype", "shape", "data"].map(|k| (k, value[k].clone())));
            // Numba's scalars are Python's.
            if !same_array(&without_kind(value), &without_kind(&result["values"][id]), true) {
                wrong.push(format!("value of {id}: {value} is {}", result["values"][id]));
            }
        }
        wrong.extend(wrong_on_the_machine(case, line, "dag_trees", backend));
        wrong
    });
    assert_eq!(right, 42);
}

/// Cases without user functions of which the step backend computes a node, each with the reason.
const APART: [(&str, &str); 1] = [("str/add_concat", "the machine joins no texts")];

/// What the machine left to the step backend and should not have.
fn wrong_on_the_machine(case: &Json, line: &Json, mode: &str, backend: &[&str]) -> Option<String> {
    let result = &line["eval"][mode];
    if backend.is_empty() || result.get("error").is_some() {
        return None;
    }
    let machine = &result["machine"];
    let is_call =
        |id: &Json| line["node_text"][id.to_string()].as_str().is_some_and(|t| t.contains("graph.function"));
    let apart = machine["apart"].as_array().into_iter().flatten().all(is_call)
        || APART.iter().any(|(name, _)| case["name"] == *name);
    let is_right = apart && machine["failure"].is_null() && machine["left"] == Json::Array(Vec::new());
    (!is_right).then(|| format!("{mode}: {machine}"))
}

/// Runs a file of cases; gives how many have nothing wrong.
fn check(file: &str, backend: &[&str], wrong_in: impl Fn(&Json, &Json) -> Vec<String>) -> usize {
    let path = test_file("oracles").join(file);
    let run = Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(["graph", "run", "--batch"])
        .arg(&path)
        .args(backend)
        .output();
    let run = run.expect("the command runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let lines = String::from_utf8(run.stdout).expect("UTF-8");
    let lines: Vec<Json> =
        lines.split_terminator('\n').map(|l| serde_json::from_str(l).expect("JSON")).collect();
    let document = oracle(file);
    let cases = document["cases"].as_array().expect("a list of cases");
    assert_eq!(lines.len(), cases.len());
    let (mut right, mut report) = (0, Vec::new());
    for (case, line) in cases.iter().zip(&lines) {
        assert_eq!(case["name"], line["name"]);
        let wrong = wrong_in(case, line);
        let excluded = EXCLUDED.iter().any(|(name, _)| case["name"] == *name);
        assert!(!(excluded && wrong.is_empty()), "{} agrees and need not be excluded", case["name"]);
        if wrong.is_empty() {
            right += 1;
        } else if !excluded {
            report.push(format!("{}: {}", case["name"], wrong.join("\n    ")));
        }
    }
    assert!(report.is_empty(), "{} wrong:\n{}", report.len(), report.join("\n"));
    right
}

/// Equal texts, or errors of one class and message; what was not recorded is not compared.
fn same_text(expected: &Json, actual: &Json) -> bool {
    match expected.get("error") {
        Some(error) => ["class", "message"].iter().all(|key| error[key] == actual["error"][key]),
        None => expected.is_null() || expected == actual,
    }
}

fn wrong_in_evaluation(expected: &Json, actual: &Json, is_transcendental: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |is_right: bool, what: &dyn Fn() -> String| {
        if !is_right {
            wrong.push(what());
        }
    };
    let (error, class) = (&expected["error"], &expected["error"]["class"]);
    check(*class == actual["error"]["class"], &|| format!("expected {error}, got {}", actual["error"]));
    // Messages of Python and numpy are theirs.
    if error["module"].as_str().is_some_and(|module| module.contains("engine")) {
        check(error["message"] == actual["error"]["message"], &|| format!("got {}", actual["error"]));
    }
    let same = |expected: &Json, actual: &Json| same_array(expected, actual, is_transcendental);
    check(error != &Json::Null || same(&expected["returned"], &actual["returned"]), &|| {
        "returned".to_owned()
    });
    check(expected["evaluated_order"] == actual["evaluated_order"], &|| {
        format!("order {}", actual["evaluated_order"])
    });
    let values = |json: &Json| json["values"].as_object().cloned().unwrap_or_default();
    check(values(expected).len() == values(actual).len(), &|| "number of values".to_owned());
    for (id, value) in values(expected) {
        let found = &actual["values"][&id];
        check(same(&value, found), &|| format!("value of {id}: {value} is {found}"));
    }
    for key in ["stdout", "trace_stdout"] {
        let [expected, actual] = [expected, actual].map(|json| json[key].as_str().unwrap_or_default());
        check(same_trace(expected, actual, is_transcendental), &|| format!("{key}: {actual}"));
    }
    wrong
}

/// Equal type, shape, kind and elements; transcendental floats may differ in their last bits.
fn same_array(expected: &Json, actual: &Json, is_transcendental: bool) -> bool {
    if ["dtype", "shape", "kind"].iter().any(|key| expected.get(key) != actual.get(key)) {
        return false;
    }
    let (Some(expected_data), Some(data)) = (expected["data"].as_array(), actual["data"].as_array()) else {
        return expected == actual;
    };
    let tolerance = match expected["dtype"].as_str() {
        _ if !is_transcendental => 0.0,
        Some("float64") => 1e-14,
        Some("float32") => 1e-6,
        Some("float16") => 1e-3,
        _ => 0.0,
    };
    let same = |(e, a): (&Json, &Json)| match (e.as_f64(), a.as_f64()) {
        (Some(e_float), Some(a_float)) if tolerance > 0.0 => near(e_float, a_float, tolerance),
        _ => e == a,
    };
    expected_data.len() == data.len() && expected_data.iter().zip(data).all(same)
}

fn near(left: f64, right: f64, tolerance: f64) -> bool {
    left == right || (left - right).abs() <= tolerance * left.abs().max(right.abs())
}

/// Equal texts; where transcendental functions are involved, numbers may differ in their last bits.
fn same_trace(expected: &str, actual: &str, is_transcendental: bool) -> bool {
    let same = |(e, a): (&str, &str)| {
        let number = |word: &str| word.parse::<f64>().ok().filter(|_| is_transcendental);
        e == a || number(e).zip(number(a)).is_some_and(|(e, a)| near(e, a, 1e-14))
    };
    let (expected, actual) = (expected.split([' ', '\n']), actual.split([' ', '\n']));
    expected.clone().count() == actual.clone().count() && expected.zip(actual).all(same)
}
