//! Recorded field programs: `field run --batch`.
//!
//! The file is `{"cases": [...]}`, or a list of cases. A line is printed for each: its outputs, or the class and the message of
//! its first error. A case never ends another.

use crate::backend::{FieldPlan, FieldTier};
use crate::cli::budget_args::BudgetArgs;
use crate::cli::report::{Phase, Report};
use crate::field::json::{read_field_case, write_cells};
use crate::field::{FieldError, FieldProblem, FieldRole, check_program};
use cembra_vm::machine::SharedBudget;
use cembra_vm::value::Category;
use cembra_vm::value::budget::Account;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// Runs the cases of a file.
///
/// # Errors
/// It is no file of cases.
pub(super) fn run_batch(
    json: &Json,
    (args, budget): (&BudgetArgs, &Arc<SharedBudget>),
    threads: usize,
    tier: &FieldTier,
) -> Result<String, Report> {
    let cases = json["cases"].as_array().or_else(|| json.as_array());
    let cases = cases.ok_or_else(|| {
        let what = "a file of recorded programs is {\"cases\": [...]}";
        Report::new(Category::Parse, Phase::Compile, what)
    })?;
    let mut lines = String::new();
    for case in cases {
        let line = match run_case(case, (args, budget), threads, tier) {
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

fn run_case(
    case: &Json,
    (args, budget): (&BudgetArgs, &Arc<SharedBudget>),
    threads: usize,
    tier: &FieldTier,
) -> Result<Json, FieldError> {
    let (program, mut data) = read_field_case(case)?;
    check_program(&program).map_err(|mut errors| errors.remove(0))?;
    let account = args.bytes();
    account.charge(data.bytes()).map_err(FieldProblem::from)?;
    data.complete_within(&program, &account)?;
    let plan = FieldPlan::new_within(&program, &data, Some(budget.clone()));
    plan.map_err(|mut errors| errors.remove(0))?.threads(threads).on(tier.clone())?.run(&mut data)?;
    let mut outputs = Map::new();
    for field in program.fields.iter().filter(|field| field.role == FieldRole::Output) {
        let cells = write_cells(&data.fields[&*field.name]);
        outputs.insert(field.name.to_string(), json!({ "data": cells }));
    }
    Ok(Json::Object(outputs))
}
