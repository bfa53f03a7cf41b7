//! Recorded field programs: `field run --batch`.
//!
//! The file is `{"cases": [...]}`, or a list of cases. A line is printed for each: its outputs, or the class and the message of
//! its first error. A case never ends another.

use crate::backend::run_field_program;
use crate::cli::report::{Phase, Report};
use crate::field::json::{read_field_case, write_cells};
use crate::field::{FieldError, FieldRole};
use cembra_vm::value::Category;
use serde_json::{Map, Value as Json, json};

/// Runs the cases of a file.
///
/// # Errors
/// It is no file of cases.
pub(super) fn run_batch(json: &Json) -> Result<String, Report> {
    let cases = json["cases"].as_array().or_else(|| json.as_array());
    let cases = cases.ok_or_else(|| {
        let what = "a file of recorded programs is {\"cases\": [...]}";
        Report::new(Category::Parse, Phase::Compile, what)
    })?;
    let mut lines = String::new();
    for case in cases {
        let line = match run_case(case) {
            Ok(outputs) => json!({ "name": case["name"], "outputs": outputs }),
            Err(error) => json!({
                "name": case["name"],
                "error": { "class": error.problem.class(), "message": error.to_string() },
            }),
        };
        lines += &format!("{line}\n");
    }
    Ok(lines)
}

fn run_case(case: &Json) -> Result<Json, FieldError> {
    let (program, mut data) = read_field_case(case)?;
    run_field_program(&program, &mut data).map_err(|mut errors| errors.remove(0))?;
    let mut outputs = Map::new();
    for field in program.fields.iter().filter(|field| field.role == FieldRole::Output) {
        let cells = write_cells(&data.fields[&*field.name]);
        outputs.insert(field.name.to_string(), json!({ "data": cells }));
    }
    Ok(Json::Object(outputs))
}
