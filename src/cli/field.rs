//! `cembra field`: runs, checks, explains and converts programs on fields.

use crate::backend::FieldPlan;
use crate::cli::dump_stages::StageDump;
use crate::cli::eval::{read_within, shown};
use crate::cli::field_args::{
    FieldCheckArgs, FieldCommand, FieldConvertArgs, FieldExplainArgs, FieldFormArg, FieldRunArgs,
};
use crate::cli::field_batch::run_batch;
use crate::cli::field_data::{OutputsJson, read_data, set_scalars, write_outputs};
use crate::cli::field_explain::{explain_json, explain_text, figure};
use crate::cli::field_plot::{draw_field, plots};
use crate::cli::field_progress::StepBar;
use crate::cli::field_tier::{StageFiles, check_backend, field_tier, note_interpreted, programs_text};
use crate::cli::fit::write;
use crate::cli::json_stream::print_json;
use crate::cli::report::{Phase, Report, Source, visible, visible_line};
use crate::cli::targets::{check_distinct, check_ending};
use crate::cli::tier_arg::TierArg;
use crate::cli::{complain, json_text, print};
use crate::field::element::dtype_name;
use crate::field::json::{read_field_case, write_field_program};
use crate::field::{
    FieldData, FieldError, FieldProblem, FieldProgram, MissingData, check_program, field_remarks,
    parse_field_program, print_field_builder, print_field_program,
};
use cembra_vm::value::Category;
use cembra_vm::value::budget::{Account, Exhausted, Unlimited};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::ExitCode;

/// Errors with the text they stand in.
pub(super) type FieldFailure = (Vec<Report>, Option<Source>);

/// Characters of a program.
const LONGEST: usize = 1 << 26;

/// Runs a command on field programs.
pub fn run(command: &FieldCommand) -> ExitCode {
    let (is_json, result) = match command {
        FieldCommand::Run(args) => {
            let result = match &args.batch {
                Some(file) => batch(file, args),
                None => run_one(args),
            };
            (args.json, result)
        }
        FieldCommand::Explain(args) => (args.json, explain(args)),
        FieldCommand::Check(args) => return check(args),
        FieldCommand::Convert(args) => (false, convert(args)),
    };
    match result {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            report(&[failure], is_json);
            ExitCode::from(1)
        }
    }
}

fn report(failures: &[FieldFailure], is_json: bool) {
    if is_json {
        let each = |(reports, source): &FieldFailure| -> Vec<Json> {
            reports.iter().map(|report| report.json(source.as_ref())).collect()
        };
        let all: Vec<Json> = failures.iter().flat_map(each).collect();
        return print(&format!("{}\n", json!({ "errors": all })));
    }
    for (reports, source) in failures {
        reports.iter().for_each(|report| complain(&report.render(source.as_ref(), true)));
    }
}

/// An error as users see it.
pub(super) fn field_report(error: &FieldError) -> Report {
    let phase = match *error.problem {
        FieldProblem::Run { .. } => Phase::Eval,
        _ => Phase::Compile,
    };
    let mut report = Report::new(error.problem.category(), phase, error.to_string());
    if error.span != Default::default() {
        report.labels.push((error.span, String::new()));
    }
    report.notes.extend(error.hint().map(str::to_owned));
    if let FieldProblem::Missing { role, name } = &*error.problem {
        report.notes.push(match role {
            MissingData::Scalar => format!("--set {name}=VALUE gives it one, or a member `{name}` of --data"),
            MissingData::Field | MissingData::Table => {
                format!("--data takes an NPZ file with a member `{name}`")
            }
        });
    }
    report
}

/// Reads JSON as the form of recorded cases has it.
pub(super) fn read_json(text: &str) -> Result<Json, Report> {
    json_text::parse(text).map_err(|error| {
        Report::new(Category::Parse, Phase::Compile, format!("the file is no JSON: {error}"))
    })
}

/// A file with a program.
fn read_file(file: &Path) -> Result<String, FieldFailure> {
    read_within(file, ("field-file", LONGEST)).map_err(|report| (vec![report], None))
}

/// A program with the data that stands in it, and its text unless that is JSON, whose places are not known.
fn load(file: &Path) -> Result<(FieldProgram, FieldData, Option<Source>), FieldFailure> {
    let text = read_file(file)?;
    let source = Source { name: shown(file), text };
    let reports = |errors: Vec<FieldError>| errors.iter().map(field_report).collect::<Vec<_>>();
    if !source.text.trim_start().starts_with(['{', '[']) {
        return match parse_field_program(&source.text) {
            Ok(program) => Ok((program, FieldData::default(), Some(source))),
            Err(errors) => Err((reports(errors), Some(source))),
        };
    }
    let json = read_json(&source.text).map_err(|report| (vec![report], None))?;
    if json["cases"].is_array() {
        let what = "a file of cases; `cembra field run --batch` runs them";
        return Err((vec![Report::new(Category::Parse, Phase::Compile, what)], None));
    }
    let (program, data) = read_field_case(&json).map_err(|error| (reports(vec![error]), None))?;
    check_program(&program).map_err(|errors| (reports(errors), None))?;
    Ok((program, data, None))
}

fn batch(file: &Path, args: &FieldRunArgs) -> Result<String, FieldFailure> {
    let text = read_file(file)?;
    let tier = field_tier((args.tier, args.backend), args.cache).map_err(|report| (vec![report], None))?;
    let budget = (&args.budget, &args.budget.shared());
    run_batch(&text, budget, args.threads.into(), &tier).map_err(|report| (vec![report], None))
}

fn run_one(args: &FieldRunArgs) -> Result<String, FieldFailure> {
    let one = |report: Report| (vec![report], None);
    let file = args.file.as_deref().unwrap_or(Path::new("-"));
    if let Some(out) = &args.out {
        check_ending(("--out", out), "an archive of fields", &["npz"]).map_err(one)?;
    }
    let (program, mut data, source) = load(file)?;
    note_remarks(&program, None);
    let dump = StageDump::open(args.dump_stages.as_deref()).map_err(one)?;
    dump.write("fields", || print_field_program(&program).unwrap_or_else(|problem| problem.to_string()));
    dump.write("domains", || explain_text(&program));
    let plots = plots(&program, &args.plot).map_err(one)?;
    let pictures = plots.iter().map(|(_, picture)| ("--plot", &**picture));
    let written: Vec<_> = args.out.as_deref().map(|out| ("--out", out)).into_iter().chain(pictures).collect();
    let given = args.data.as_deref().map(|data| ("--data", data));
    let read: Vec<_> = given.into_iter().chain([("the program", file)]).collect();
    check_distinct(&written, &read).map_err(one)?;
    let account = args.budget.bytes();
    let of_budget = |stop: Exhausted| one(field_report(&FieldProblem::from(stop).into()));
    account.charge(data.bytes()).map_err(of_budget)?;
    if let Some(path) = &args.data {
        read_data(&program, path, &mut data, &account).map_err(one)?;
    }
    set_scalars(&program, &args.scalars, &mut data).map_err(one)?;
    let swaps = swaps(&program, &args.swap).map_err(one)?;
    let tier = field_tier((args.tier, args.backend), args.cache).map_err(one)?;
    let failed = |errors: &[FieldError]| errors.iter().map(field_report).collect::<Vec<Report>>();
    let completed = data.complete_within(&program, &account);
    completed.map_err(|problem| (failed(&[problem.into()]), None))?;
    swaps.iter().try_for_each(|swap| check_sizes(swap, &data)).map_err(one)?;
    let mut plan = match FieldPlan::new_within(&program, &data, Some(args.budget.shared())) {
        Ok(plan) => plan.threads(args.threads.into()),
        Err(errors) => return Err((failed(&errors), source)),
    };
    plan = match plan.on_observed(tier, &StageFiles(&dump)) {
        Ok(plan) => plan,
        Err(error) => return Err((failed(&[error]), source)),
    };
    note_interpreted(&plan);
    dump.finish().map_err(one)?;
    let bar = StepBar::new(args.steps);
    for step in 0..args.steps {
        if step > 0 {
            for (a, b) in &swaps {
                if let (Some(first), Some(second)) = (data.fields.remove(a), data.fields.remove(b)) {
                    data.fields.insert(a.clone(), second);
                    data.fields.insert(b.clone(), first);
                }
            }
        }
        if let Err(error) = plan.run(&mut data) {
            bar.end();
            let mut report = field_report(&error);
            report.notes.extend(notes_of_step(&error, step, args));
            return Err((vec![report], source));
        }
        bar.step();
    }
    bar.end();
    // Results that cannot be drawn are results.
    match &args.out {
        Some(out) => write_outputs(&program, &data, out).map_err(one)?,
        None => print_json(&OutputsJson(&program, &data)),
    }
    let drawn = plots.iter().try_for_each(|(field, picture)| draw_field(&program, *field, &data, picture));
    drawn.map(|()| String::new()).map_err(one)
}

/// Says what in a program was hardly meant.
fn note_remarks(program: &FieldProgram, file: Option<&Path>) {
    let name = file.map_or(String::new(), |file| format!("{}: ", visible_line(&file.display().to_string())));
    for remark in field_remarks(program) {
        complain(&format!("note: {name}{}", visible_line(&remark)));
    }
}

/// What a loop has to do with an error of a step, counted from 0.
fn notes_of_step(error: &FieldError, step: u64, args: &FieldRunArgs) -> Vec<String> {
    let mut notes = Vec::new();
    if args.steps > 1 {
        notes.push(format!("in step {} of {}", step + 1, args.steps));
    }
    if step > 0 && !args.swap.is_empty() && matches!(*error.problem, FieldProblem::Unwritten { .. }) {
        let swaps: Vec<String> = args.swap.iter().map(|swap| format!("--swap {swap}")).collect();
        notes.push(format!(
            "{} has exchanged fields: points that no step writes need values at first",
            swaps.join(", ")
        ));
    }
    notes
}

fn swaps(program: &FieldProgram, options: &[String]) -> Result<Vec<(String, String)>, Report> {
    let wrong = |what: String| Report::new(Category::Parse, Phase::Compile, what);
    let mut swaps = Vec::new();
    for option in options {
        let pair = option.split_once(':');
        let (a, b) = pair.ok_or_else(|| wrong(format!("--swap {option}: two fields, as in u:v")))?;
        for name in [a, b] {
            if program.field(name).is_none() {
                return Err(wrong(format!("--swap {option}: there is no field `{name}`")));
            }
        }
        if a == b {
            return Err(wrong(format!("--swap {option}: a field and itself")));
        }
        let [first, second] = [a, b].map(|name| {
            let field = program.field(name).expect("both are fields");
            let field = &program.fields[field.0];
            let dims: Vec<&str> = field.dims.iter().map(|dim| program.dim_name(*dim)).collect();
            format!("{} on {}", dtype_name(field.dtype), dims.join(", "))
        });
        if first != second {
            let what = format!("--swap {option}: `{a}` is {first}, and `{b}` is {second}");
            return Err(wrong(what));
        }
        swaps.push((a.to_owned(), b.to_owned()));
    }
    Ok(swaps)
}

/// Checks that fields which are exchanged have the same points, as far as both have data by now.
fn check_sizes((a, b): &(String, String), data: &FieldData) -> Result<(), Report> {
    let points = |name: &String| {
        data.fields.get(name).map(|field| format!("shape {:?} from {:?}", field.shape(), field.origin()))
    };
    match (points(a), points(b)) {
        (Some(first), Some(second)) if first != second => {
            let what = format!("--swap {a}:{b}: `{a}` has {first}, and `{b}` {second}");
            Err(Report::new(Category::SizeMismatch, Phase::Eval, what))
        }
        _ => Ok(()),
    }
}

fn explain(args: &FieldExplainArgs) -> Result<String, FieldFailure> {
    let (program, data, source) = load(&args.file)?;
    note_remarks(&program, None);
    if let Some(file) = &args.svg {
        draw(&program, file).map_err(|report| (vec![report], None))?;
    }
    if let Some(tier) = args.tier {
        return explain_programs(args, tier, &program, data, source);
    }
    Ok(match args.json {
        true => format!("{}\n", explain_json(&program)),
        false => visible(&explain_text(&program)),
    })
}

/// What a tier makes of the programs of all statements.
fn explain_programs(
    args: &FieldExplainArgs,
    tier: TierArg,
    program: &FieldProgram,
    mut data: FieldData,
    source: Option<Source>,
) -> Result<String, FieldFailure> {
    let one = |report: Report| (vec![report], None);
    check_backend((tier, args.backend)).map_err(one)?;
    if let Some(path) = &args.data {
        read_data(program, path, &mut data, &Unlimited).map_err(one)?;
    }
    set_scalars(program, &args.scalars, &mut data).map_err(one)?;
    data.complete(program).map_err(|problem| one(field_report(&problem.into())))?;
    match FieldPlan::new(program, &data) {
        Ok(plan) => Ok(visible(&programs_text(&plan, (tier, args.backend), args.cache))),
        Err(errors) => Err((errors.iter().map(field_report).collect(), source)),
    }
}

/// Draws domains and halos.
fn draw(program: &FieldProgram, file: &Path) -> Result<(), Report> {
    check_ending(("--svg", file), "a picture", &["svg"])?;
    let svg = figure(program).svg();
    let svg = svg.map_err(|error| Report::new(Category::Io, Phase::Eval, error.to_string()))?;
    write(file, svg)
}

fn convert(args: &FieldConvertArgs) -> Result<String, FieldFailure> {
    let (program, data, _) = load(&args.file)?;
    match args.to {
        FieldFormArg::Text => {
            print_field_program(&program).map_err(|problem| (vec![field_report(&problem.into())], None))
        }
        FieldFormArg::Json => Ok(format!("{:#}\n", write_field_program(&program, Some(&data)))),
        FieldFormArg::Rust => Ok(print_field_builder(&program, "program")),
    }
}

fn check(args: &FieldCheckArgs) -> ExitCode {
    let (mut good, mut failures) = (String::new(), Vec::new());
    for file in &args.files {
        match load(file) {
            Ok((program, ..)) => {
                note_remarks(&program, Some(file));
                let count = program.statements.len();
                let plural = if count == 1 { "" } else { "s" };
                let name = visible_line(&file.display().to_string());
                good += &format!("{name}: {count} statement{plural}\n");
            }
            Err(failure) => failures.push(failure),
        }
    }
    if failures.is_empty() {
        match args.json {
            true => print(&format!("{}\n", json!({ "errors": [] }))),
            false => print(&good),
        }
        return ExitCode::SUCCESS;
    }
    report(&failures, args.json);
    ExitCode::from(1)
}
