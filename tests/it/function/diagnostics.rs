//! Findings without types: the recorded diagnostics of Cython beside ours.
//!
//! The same line and the same meaning; words and severities are ours. What differs has a reason, by rule or by name.

use crate::support::oracle;
use cembra::function::FunctionModule;
use cembra::function::check::check_function;
use cembra::python::SourceLines;
use serde_json::Value as Json;
use std::collections::BTreeSet;

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

/// Functions whose severity differs: (name, Cython's, ours).
const SEVERITIES: &[(&str, &str, &str)] = &[];

/// A finding: line, what it means, severity.
type Finding = (u64, String, &'static str);

#[test]
fn findings_are_those_of_cython() {
    let cases = oracle("numba_ir/cases.json");
    let (mut wrong, mut same) = (Vec::new(), 0);
    for case in cases.as_array().expect("a list of functions") {
        let (id, source) = (case["id"].as_str().expect("a text"), case["source"].as_str().expect("a text"));
        let expected = recorded(&case["diagnostics"], source);
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
            let Some(ours) = found.iter().find(|ours| key(ours) == key(finding)) else { continue };
            let listed = SEVERITIES.contains(&(id, finding.2, ours.2));
            if (ours.2 == finding.2) == listed {
                wrong.push(format!("{id}: severities {} and {}, listed: {listed}", finding.2, ours.2));
            }
            same += 1;
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    eprintln!("{same} findings are the same");
}

/// Cython's diagnostics, in our words, without those that we do not make on purpose.
fn recorded(diagnostics: &Json, source: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for diagnostic in diagnostics.as_array().expect("a list") {
        let message = diagnostic["message"].as_str().expect("a text");
        let line = diagnostic["line"].as_u64().expect("a number");
        let text = source.lines().nth(line as usize - 1).unwrap_or_default().trim_start();
        // Assignments that nobody reads are not reported while the variable is read; targets of `for` never are.
        if message.starts_with("Unused result")
            || (message.starts_with("Unused entry") && text.starts_with("for"))
        {
            continue;
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
