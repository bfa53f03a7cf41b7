//! Field programs: recorded cases, an evaluator index by index, random programs, texts, commands.

mod builder;
mod commands;
mod elements;
mod errors;
mod generate;
mod hostile;
mod kept;
mod plans;
mod random;
mod recorded;
mod reference;
mod rust_form;
mod texts;
pub mod tiers;
mod ways;

use cembra::backend::{FieldPlan, FieldTier, run_field_program};
use cembra::field::json::{WrittenCells, read_field_case};
use cembra::field::{FieldData, FieldError, FieldProgram, FieldRole};
use serde_json::{Map, Value as Json, json};

/// Files of cases: the recorded ones, the last of them drawn at random, and further programs with the values of an evaluator that was
/// written from the description of the form.
const FILES: [&str; 4] = [
    "oracles/gt4py_otf/cases.json",
    "oracles/gt4py_otf/cases_v2.json",
    "oracles/gt4py_otf/cases_random.json",
    "cases/field/programs.json",
];

/// The cases of a file.
fn cases_of(file: &str) -> Vec<Json> {
    let text = std::fs::read_to_string(crate::support::test_file(file)).expect("a file");
    let file: Json = serde_json::from_str(&text).expect("JSON");
    file["cases"].as_array().expect("a list of cases").clone()
}

/// The outputs of a program on data, each as `{"data": [...]}`.
fn outputs_of(program: &FieldProgram, mut data: FieldData) -> Result<Json, FieldError> {
    run_field_program(program, &mut data).map_err(|mut errors| errors.remove(0))?;
    Ok(written(program, &data))
}

/// The same on a tier, and why the interpreter runs stages nevertheless.
fn outputs_on(
    tier: &FieldTier,
    program: &FieldProgram,
    mut data: FieldData,
) -> Result<(Json, Vec<String>), FieldError> {
    data.complete(program)?;
    let plan = FieldPlan::new(program, &data).map_err(|mut errors| errors.remove(0))?;
    let mut plan = plan.on(tier.clone())?;
    plan.run(&mut data)?;
    let reasons = plan.interpreted().iter().map(|stage| stage.reason.clone()).collect();
    Ok((written(program, &data), reasons))
}

fn written(program: &FieldProgram, data: &FieldData) -> Json {
    let outputs = program.fields.iter().filter(|field| field.role == FieldRole::Output);
    let one = |name: &str| (name.to_owned(), json!({ "data": WrittenCells(&data.fields[name]) }));
    Json::Object(outputs.map(|field| one(&field.name)).collect::<Map<_, _>>())
}

/// The outputs of a case.
fn run_case(case: &Json) -> Result<Json, FieldError> {
    let (program, data) = read_field_case(case)?;
    outputs_of(&program, data)
}

/// The first difference between two lists of cells: equal bits, any NaN for any other, or close enough if a tolerance
/// is given.
fn difference(expected: &Json, actual: &Json, tolerance: Option<(f64, f64)>) -> Option<String> {
    let (Some(expected), Some(actual)) = (expected.as_array(), actual.as_array()) else {
        return Some(format!("{expected} is no list like {actual}"));
    };
    if expected.len() != actual.len() {
        return Some(format!("{} cells instead of {}", actual.len(), expected.len()));
    }
    let number = |json: &Json| match json.as_str() {
        Some("nan") => Some(f64::NAN),
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        _ => json.as_f64(),
    };
    for (at, (e, a)) in expected.iter().zip(actual).enumerate() {
        let same = match (number(e), number(a)) {
            (Some(e), Some(a)) if e.is_nan() || a.is_nan() => e.is_nan() && a.is_nan(),
            (Some(e), Some(a)) => {
                let close = tolerance.is_some_and(|(rtol, atol)| (e - a).abs() <= atol + rtol * e.abs());
                e.to_bits() == a.to_bits() || close
            }
            _ => e == a,
        };
        if !same {
            return Some(format!("cell {at} is {a} instead of {e}"));
        }
    }
    None
}
