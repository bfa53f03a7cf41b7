//! Recorded field programs: `field run --batch`.
//!
//! The file is `{"cases": [...]}`, or a list of cases. A line is printed for each: its outputs, or the class and the message of
//! its first error. A case never ends another.

use crate::backend::{FieldPlan, FieldTier};
use crate::cli::budget_args::BudgetArgs;
use crate::cli::field_data::outputs;
use crate::cli::json_stream::print_json;
use crate::cli::json_text;
use crate::cli::report::{Phase, Report};
use crate::field::json::{WrittenCells, read_field_case};
use crate::field::{FieldData, FieldError, FieldProblem, FieldProgram, check_program};
use cembra_vm::machine::SharedBudget;
use cembra_vm::value::Category;
use cembra_vm::value::budget::Account;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Runs the cases of a file, and prints a line for each.
///
/// # Errors
/// It is no file of cases.
pub(super) fn run_batch(
    text: &str,
    (args, budget): (&BudgetArgs, &Arc<SharedBudget>),
    threads: usize,
    tier: &FieldTier,
) -> Result<String, Report> {
    for case in cases(text)? {
        let (name, result) = match read_case(case) {
            Ok(case) => (case["name"].clone(), run_case(&case, (args, budget), threads, tier)),
            Err(problem) => (name_of(case), Err(problem.into())),
        };
        print_json(&CaseLine { name, result });
    }
    Ok(String::new())
}

/// The line of a case: `{"name", "outputs": {name: {"data"}}}`, or with an error in place of the outputs.
struct CaseLine {
    name: Json,
    result: Result<(FieldProgram, FieldData), FieldError>,
}

impl Serialize for CaseLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("name", &self.name)?;
        match &self.result {
            Ok((program, data)) => map.serialize_entry("outputs", &Outputs(program, data))?,
            Err(error) => {
                let error = json!({ "class": error.problem.class(), "message": error.to_string() });
                map.serialize_entry("error", &error)?;
            }
        }
        map.end()
    }
}

struct Outputs<'d>(&'d FieldProgram, &'d FieldData);

impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let data = |buffer| BTreeMap::from([("data", WrittenCells(buffer))]);
        serializer.collect_map(outputs(self.0, self.1).map(|(name, buffer)| (name, data(buffer))))
    }
}

/// The cases of a file, each as its text: what is wrong in one is no error of the others.
fn cases(text: &str) -> Result<Vec<&RawValue>, Report> {
    let report = |what: String| Report::new(Category::Parse, Phase::Compile, what);
    let no_json = |error: serde_json::Error| report(format!("the file is no JSON: {error}"));
    let is_list = |text: &str| text.trim_start().starts_with('[');
    let list = match is_list(text) {
        true => Some(text),
        false => {
            let entries = json_text::entries(text).map_err(no_json)?;
            let cases = entries.into_iter().find(|(name, _)| name == "cases");
            cases.map(|(_, cases)| cases.get()).filter(|cases| is_list(cases))
        }
    };
    let list = list.ok_or_else(|| report("a file of recorded programs is {\"cases\": [...]}".to_owned()))?;
    json_text::items(list).map_err(no_json)
}

fn read_case(case: &RawValue) -> Result<Json, FieldProblem> {
    json_text::parse(case.get()).map_err(|error| match error.to_string() {
        text if text.starts_with("recursion limit") => {
            let what = "the case nests too deeply; JSON may to 127 levels".to_owned();
            FieldProblem::Limit { limit: "field-nesting", what }
        }
        text => FieldProblem::Syntax { what: format!("the case is no JSON: {text}") },
    })
}

/// The name of a case that cannot be read, if that can.
fn name_of(case: &RawValue) -> Json {
    let entries: BTreeMap<String, &RawValue> = serde_json::from_str(case.get()).unwrap_or_default();
    entries.get("name").and_then(|name| json_text::parse(name.get()).ok()).unwrap_or_default()
}

fn run_case(
    case: &Json,
    (args, budget): (&BudgetArgs, &Arc<SharedBudget>),
    threads: usize,
    tier: &FieldTier,
) -> Result<(FieldProgram, FieldData), FieldError> {
    let (program, mut data) = read_field_case(case)?;
    check_program(&program).map_err(|mut errors| errors.remove(0))?;
    let account = args.bytes();
    account.charge(data.bytes()).map_err(FieldProblem::from)?;
    data.complete_within(&program, &account)?;
    let plan = FieldPlan::new_within(&program, &data, Some(budget.clone()));
    plan.map_err(|mut errors| errors.remove(0))?.threads(threads).on(tier.clone())?.run(&mut data)?;
    Ok((program, data))
}
