//! Recorded evaluations of the published system, through `cembra eval --batch`.

use crate::cases::MACHINE_CODE;
use crate::support::{oracle, test_file};
use serde_json::Value as Json;
use std::process::Command;

/// Cases left out, each with the deliberate difference that excludes it.
const EXCLUDED: [(&str, &str); 1] =
    [("s0896", "a constant error in a branch of `where` is a trap raised when reached, not a compile error")];

#[test]
fn published_cases() {
    assert_eq!(check("arolla/cases.json"), 897 - EXCLUDED.len());
}

#[test]
fn published_string_cases() {
    assert_eq!(check("arolla/strings.json"), 868);
}

/// Operators of texts, edges, sequences and samples, recorded by `tests/oracles/arolla/record_operators.py`.
#[test]
fn published_operator_cases() {
    assert_eq!(check("arolla/operators.json"), 2405);
}

/// Runs a file of cases; gives how many are right.
fn check(file: &str) -> usize {
    let right = check_with(file, &[]);
    if cfg!(feature = "jit") {
        assert_eq!(check_with(file, MACHINE_CODE), right);
    }
    right
}

fn check_with(file: &str, variables: &[(&str, &str)]) -> usize {
    let path = test_file("oracles").join(file);
    let run = Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(["eval", "--dialect", "arolla", "--batch"])
        .arg(&path)
        .envs(variables.iter().copied())
        .output()
        .expect("the command runs");
    assert!(run.status.success());
    let document = oracle(file);
    let cases = document["cases"].as_array().expect("a list of cases");
    let results = String::from_utf8(run.stdout).expect("UTF-8");
    let results: Vec<Json> =
        results.split_terminator('\n').map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    assert_eq!(results.len(), cases.len());
    let mut right = 0;
    let mut wrong = Vec::new();
    for (case, result) in cases.iter().zip(&results) {
        assert_eq!(case["id"], result["id"]);
        let excluded = EXCLUDED.iter().any(|e| case["id"] == e.0);
        if agrees(case, result) {
            assert!(!excluded, "{} agrees and need not be excluded", case["id"]);
            right += 1;
        } else if !excluded {
            wrong.push(format!("{}: {}\n  got {result}", case["id"], case["expr"]));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    right
}

/// True if a result is the recorded one. Where the published optimizer changes the value, ours is the
/// value without it; where only its short circuit saves the evaluation, ours does too.
fn agrees(case: &Json, result: &Json) -> bool {
    let expected = case.get("output_without_optimizer").or_else(|| case.get("output"));
    match (expected, result.get("output"), result.get("error")) {
        (Some(expected), Some(output), _) => {
            let exact = case["compare"] != "approx";
            expected["qtype"] == output["qtype"] && same(expected, output, exact)
        }
        (None, None, Some(error)) => {
            error["category"] == case["error"]["category"] && error["phase"] == case["error"]["phase"]
        }
        _ => false,
    }
}

/// Equal values of equal types: bit for bit, or within the precision that libraries agree on.
fn same(expected: &Json, actual: &Json, exact: bool) -> bool {
    let qtype = expected["qtype"].as_str().unwrap_or_default();
    same_payload(qtype, &expected["value"], &actual["value"], exact)
}

/// As [`same`], for values whose type is known; fields of tuples say theirs.
fn same_payload(qtype: &str, expected: &Json, actual: &Json, exact: bool) -> bool {
    if let (Some(expected), Some(actual)) = (expected.as_array(), actual.as_array()) {
        let field = |e: &Json, a: &Json| match e.get("qtype") {
            Some(field) => a.get("qtype") == Some(field) && same(e, a, exact),
            None => same_payload(qtype, e, a, exact),
        };
        return expected.len() == actual.len() && expected.iter().zip(actual).all(|(e, a)| field(e, a));
    }
    match (qtype.contains("FLOAT"), float(expected), float(actual)) {
        (true, Some(e), Some(a)) => {
            let tolerance = if qtype.contains("FLOAT32") { 2e-6 } else { 1e-12 };
            let near = !exact && (e - a).abs() <= tolerance * e.abs().max(a.abs());
            near || e.to_bits() == a.to_bits() || (e.is_nan() && a.is_nan())
        }
        _ => expected == actual,
    }
}

fn float(json: &Json) -> Option<f64> {
    match json.as_str() {
        Some("nan") => Some(f64::NAN),
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => json.as_f64(),
    }
}
