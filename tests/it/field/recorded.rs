//! The recorded programs: all values bitwise, or within the tolerance of the case; all errors with their class.

use crate::field::reference::Reference;
use crate::field::{FILES, cases_of, difference, run_case};
use serde_json::Value as Json;

/// Relative error of programs with transcendental functions, where the case has no tolerance of its own.
const TRANSCENDENTAL: (f64, f64) = (1e-14, 0.0);

fn tolerance(case: &Json) -> Option<(f64, f64)> {
    let own = &case["tolerance"];
    if let (Some(rtol), Some(atol)) = (own["rtol"].as_f64(), own["atol"].as_f64()) {
        return Some((rtol, atol));
    }
    let text = case["statements"].to_string();
    let has_functions = ["\"exp\"", "\"log\"", "\"tanh\"", "\"sin\"", "\"cos\"", "\"pow\""];
    has_functions.iter().any(|function| text.contains(function)).then_some(TRANSCENDENTAL)
}

/// Compares a case with what was recorded; says what differs.
fn check(case: &Json, run: impl Fn(&Json) -> Result<Json, String>) -> Result<(), String> {
    match (run(case), case["expect_error"].as_str()) {
        (Err(class), Some(expected)) if class == expected => Ok(()),
        (Err(class), expected) => Err(format!("error {class} instead of {expected:?}")),
        (Ok(_), Some(expected)) => Err(format!("values instead of the error {expected}")),
        (Ok(outputs), None) => {
            for (name, expected) in case["outputs"].as_object().expect("outputs by name") {
                let (expected, actual) = (&expected["data"], &outputs[name]["data"]);
                if let Some(difference) = difference(expected, actual, tolerance(case)) {
                    return Err(format!("{name}: {difference}"));
                }
            }
            Ok(())
        }
    }
}

/// How many cases of each file have values, and how many an error.
pub(super) const ALL: [(usize, usize); 4] = [(14, 1), (24, 3), (238, 27), (93, 18)];

/// Runs the cases of all files; the number of those that agree.
pub(super) fn agreeing(run: impl Fn(&Json) -> Result<Json, String>) -> [(usize, usize); 4] {
    agreeing_of_some(1, run)
}

/// The same of every so many programs of the last two files only: those drawn at random, and Cembra's own.
pub(super) fn agreeing_of_some(
    every: usize,
    run: impl Fn(&Json) -> Result<Json, String>,
) -> [(usize, usize); 4] {
    let [first, second, random, own] = FILES.map(cases_of);
    let [random, own] = [random, own].map(|cases| cases.into_iter().step_by(every.max(1)).collect());
    [first, second, random, own].map(|cases| agreeing_of(&cases, &run))
}

fn agreeing_of(cases: &[Json], run: impl Fn(&Json) -> Result<Json, String>) -> (usize, usize) {
    let mut wrong = Vec::new();
    for case in cases {
        if let Err(what) = check(case, &run) {
            wrong.push(format!("{}: {what}", case["name"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let errors = cases.iter().filter(|case| case["expect_error"].is_string()).count();
    (cases.len() - errors, errors)
}

#[test]
fn recorded_field_programs_agree() {
    let run = |case: &Json| run_case(case).map_err(|error| error.problem.class().to_owned());
    assert_eq!(agreeing(run), ALL);
}

#[test]
fn the_evaluator_index_by_index_agrees_with_recorded_values() {
    // It computes no types and looks at no values; some of the errors are about these.
    let run = |case: &Json| {
        let expected = case["expect_error"].as_str().unwrap_or_default();
        if matches!(expected, "dtype_mismatch" | "local_dimension" | "run") {
            return Err(expected.to_owned());
        }
        match Reference::new(case).run() {
            Ok(outputs) => Ok(outputs),
            Err(classes) => Err(classes.first().cloned().unwrap_or_default()),
        }
    };
    assert_eq!(agreeing(run), ALL);
}
