//! The command line on recorded cases: what it prints is what is recorded.

use super::recorded::{difference, float, floats, folder, id};
use crate::support::test_file;
use serde_json::Value as Json;
use std::process::Command;

/// Runs `cembra model … --batch` on a recorded folder; gives its lines.
fn run(command: &str, name: &str, options: &[&str]) -> Vec<Json> {
    let folder = test_file("oracles/trspecfit").join(name);
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let run = Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(["model", command, "--batch"])
        .args(options)
        .args(files)
        .output()
        .expect("the command runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

#[test]
fn recorded_cases_by_both_evaluators() {
    let mut agree = 0;
    for name in ["cases", "legacy_0_9_3"] {
        let lines = run("eval", name, &["--evaluator", "compare"]);
        let mut lines = lines.iter();
        for case in folder(name) {
            for (index, eval) in case["evals"].as_array().expect("evaluations").iter().enumerate() {
                let line = lines.next().expect("a line for each theta");
                assert_eq!(
                    (line["id"].as_str(), line["eval"].as_u64()),
                    (Some(id(&case)), Some(index as u64))
                );
                let output = floats(&line["output"]);
                let shape: f64 = line["shape"].as_array().expect("a shape").iter().map(float).product();
                assert_eq!(output.len() as f64, shape, "{}", id(&case));
                let expected = eval.get("interpreter").or_else(|| eval.get("gir"));
                // The one recorded with parameters bound by position.
                let Some(expected) = expected.filter(|_| id(&case) != "s_1d_param_order") else { continue };
                assert_eq!(difference(&floats(expected), &output, 1e-10), None, "{} {index}", id(&case));
                agree += 1;
            }
        }
        assert!(lines.next().is_none());
    }
    assert_eq!(agree, 157 + 18);
}

#[test]
fn recorded_errors_in_batch() {
    let lines = run("check", "errors", &[]);
    let errors = lines.iter().filter(|line| line["outcome"] == "error");
    let located =
        errors.clone().filter(|line| line["error"]["line"].is_u64() && line["error"]["column"].is_u64());
    assert_eq!((lines.len(), errors.count(), located.count()), (70, 56, 56));
}
