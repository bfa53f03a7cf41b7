//! Findings without types: the recorded diagnostics of Cython beside ours.
//!
//! The same line and the same meaning; words and severities are ours. What differs has a reason, by rule or by name.

use crate::support::oracle;
use cembra::function::FunctionModule;
use cembra::function::check::check_function;
use cembra::python::SourceLines;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// Functions where Cython reports what we do not; and why.
const NOT_FOUND: &[(&str, &str)] = &[
    ("error.with_stmt", "the text is refused before variables are looked at"),
    ("error.class_def", "the text is refused before variables are looked at"),
];

/// Functions where we report what Cython does not; and why.
const FOUND: &[(&str, &str)] = &[
    ("unbound.unused_variable", "names that begin with `unused` are not exempt"),
    ("promote.dead_float_branch", "the body of `if False` is unreachable"),
    ("error.no_module_attribute", "an attribute that a library module lacks is found without types"),
    ("error.wrong_arg_count", "calls of functions of the module are checked without types"),
];

/// Functions whose severity differs, (name, Cython's, ours): a single assignment that nobody reads is a note.
const SEVERITIES: &[(&str, &str, &str)] = &[
    ("unbound.definitely_unbound", "warning", "note"),
    ("unbound.bound_by_else", "warning", "note"),
    ("unbound.for_break_unbound_else", "warning", "note"),
    ("unbound.unused_result_overwritten", "warning", "note"),
];

/// The 68 recorded diagnostics by what becomes of them.
const ENDINGS: [(&str, usize); 4] = [
    ("the same line and meaning", 21),
    // See `NOT_FOUND`.
    ("refused before", 2),
    // Targets of `for` are exempt: a loop that only counts needs a name. Cython reports 27 that are read as well, for the
    // second assignment that it makes of `for i in range(…)`.
    ("a target of `for`", 43),
    // `x = n` before `del x`; `c += 1` of an inner function, which is read behind its call.
    ("an unused result", 2),
];

/// Functions with an unused result in Cython's eyes only: see [`ENDINGS`].
const NOT_UNUSED: [&str; 2] = ["unbound.deleted_variable", "error.nonlocal_write"];

/// A finding: line, what it means, severity.
type Finding = (u64, String, &'static str);

#[test]
fn findings_are_those_of_cython() {
    let cases = oracle("numba_ir/cases.json");
    let (mut wrong, mut same, mut not_ours, mut refused) = (Vec::new(), 0, BTreeMap::new(), 0);
    for case in cases.as_array().expect("a list of functions") {
        let (id, source) = (case["id"].as_str().expect("a text"), case["source"].as_str().expect("a text"));
        let expected = recorded(id, &case["diagnostics"], source, &mut not_ours);
        let (found, is_refused) = found(source);
        let key = |finding: &Finding| (finding.0, finding.1.clone());
        let (expected_keys, found_keys): (BTreeSet<_>, BTreeSet<_>) =
            (expected.iter().map(key).collect(), found.iter().map(key).collect());
        let missing: Vec<_> = expected_keys.difference(&found_keys).collect();
        let extra: Vec<_> = found_keys.difference(&expected_keys).collect();
        let named = |table: &[(&str, &str)]| table.iter().any(|row| row.0 == id);
        if missing.is_empty() == named(NOT_FOUND) {
            wrong.push(format!("{id}: not found, or excluded for nothing: {missing:?}\n{source}"));
        }
        // What is outside of the subset is a finding of ours only.
        if !is_refused && extra.is_empty() == named(FOUND) {
            wrong.push(format!("{id}: found beyond Cython's, or excluded for nothing: {extra:?}\n{source}"));
        }
        for finding in &expected {
            let Some(ours) = found.iter().find(|ours| key(ours) == key(finding)) else {
                refused += 1;
                continue;
            };
            let listed = SEVERITIES.contains(&(id, finding.2, ours.2));
            if (ours.2 == finding.2) == listed {
                wrong.push(format!("{id}: severities {} and {}, listed: {listed}", finding.2, ours.2));
            }
            same += 1;
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    let not_ours = |what: &str| not_ours.get(what).copied().unwrap_or(0);
    let counts = [same, refused, not_ours(ENDINGS[2].0), not_ours(ENDINGS[3].0)];
    assert_eq!(counts, ENDINGS.map(|(_, count)| count));
    assert_eq!(counts.iter().sum::<usize>(), 68);
}

/// Cython's diagnostics, in our words, without those that we do not make on purpose.
fn recorded(
    id: &str,
    diagnostics: &Json,
    source: &str,
    not_ours: &mut BTreeMap<&'static str, usize>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for diagnostic in diagnostics.as_array().expect("a list") {
        let message = diagnostic["message"].as_str().expect("a text");
        let line = diagnostic["line"].as_u64().expect("a number");
        let text = source.lines().nth(line as usize - 1).unwrap_or_default().trim_start();
        let is_target = text.starts_with("for");
        if message.starts_with("Unused result") || (message.starts_with("Unused entry") && is_target) {
            let is_read = NOT_UNUSED.contains(&id);
            if is_target || is_read {
                *not_ours.entry(ENDINGS[if is_target { 2 } else { 3 }].0).or_default() += 1;
                continue;
            }
        }
        let message = message.replace("Unused entry", "Unused variable");
        let message = match message.strip_prefix("undeclared name not builtin: ") {
            Some(name) => format!("name '{name}' is not defined"),
            None => message,
        };
        let severity = if diagnostic["severity"] == "error" { "error" } else { "warning" };
        findings.push((line, message, severity));
    }
    findings
}

/// Our findings; true if the text is outside of the subset.
fn found(source: &str) -> (Vec<Finding>, bool) {
    let lines = SourceLines::new(source);
    let Ok(module) = FunctionModule::parse(source) else { return (Vec::new(), true) };
    let (mut findings, mut is_refused) = (Vec::new(), false);
    for name in module.function_names() {
        let of_function = check_function(&module, name);
        for error in of_function.errors {
            is_refused |= error.problem.python_class() == "NotImplementedError";
            findings.push((lines.line(error.span).into(), error.to_string(), "error"));
        }
        for note in of_function.notes {
            findings.push((lines.line(note.span).into(), note.message, "note"));
        }
        for warning in of_function.warnings {
            // The `return None` that every function ends with.
            let text = &source[warning.span.start as usize..];
            if warning.message == "Unreachable code" && text.starts_with("def ") {
                continue;
            }
            findings.push((lines.line(warning.span).into(), warning.message, "warning"));
        }
    }
    (findings, is_refused)
}
