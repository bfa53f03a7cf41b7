//! `cembra explain`: what becomes of an expression, stage by stage.

use crate::cli::args::{ExplainArgs, Format, Stage};
use crate::cli::dump_stages::StageDump;
use crate::cli::eval::{parse, parse_at, preparation, source};
use crate::cli::explain_tier::{StopWatch, explain_tier};
use crate::cli::report::{Phase, Report, Source};
use crate::cli::tier_arg::{SourceArg, TierArg};
use crate::cli::{input, print, usage_error};
use crate::compile::{Options, compile};
use crate::expr::Expr;
use crate::inspect::graph::{expression_dot, program_dot};
use crate::inspect::layout_map::Part;
use crate::inspect::{CodeListing, LayoutMap, Regions, program_text};
use crate::native::{ArrayLayout, ProgramCall};
use crate::prepare::draft::Draft;
use crate::prepare::extend::Extended;
use crate::prepare::{PrepareError, Prepared};
use crate::workflow::{Artifact, StepObserver};
use cembra_vm::machine::tile::StripReport;
use cembra_vm::machine::{BoundExpr, RegionReport};
use cembra_vm::program::{ValueId, dump, text};
use cembra_vm::strip::{Code, Line, listing};
use cembra_vm::value::{Category, QType};
use serde_json::{Value as Json, json};
use std::cell::RefCell;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Runs the command.
pub fn run(args: &ExplainArgs) -> ExitCode {
    if let Err(message) = check_form(args) {
        return usage_error("explain", message);
    }
    let source = match source(&args.expr) {
        Ok(source) => with_side_outputs(source, &args.side_outputs),
        Err(report) => return report.print(None, args.expr.json),
    };
    let dump = match StageDump::open(args.dump_stages.as_deref()) {
        Ok(dump) => dump,
        Err(report) => return report.print(None, args.expr.json),
    };
    match explain(args, &source, &dump) {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(report) => report.print(Some(&source), args.expr.json),
    }
}

/// A graph can be drawn of some stages only.
fn check_form(args: &ExplainArgs) -> Result<(), &'static str> {
    let drawn = matches!(args.stage, Stage::Expr | Stage::Prepared | Stage::Program | Stage::All);
    match args.format {
        Format::Dot if args.expr.json => Err("--json and --format dot exclude each other"),
        Format::Dot if !drawn => {
            Err("--format dot needs --stage expr, prepared or program; the other stages have no graph")
        }
        _ if args.backend != SourceArg::C && args.tier != Some(TierArg::Native) => {
            Err("--backend needs --tier native")
        }
        _ => Ok(()),
    }
}

/// The source with the side outputs as further lines, so that an error in one of them is shown there.
fn with_side_outputs(source: Source, side_outputs: &[String]) -> Source {
    let text = side_outputs.iter().fold(source.text, |text, side| format!("{text}\n{side}"));
    Source { name: source.name, text }
}

/// The text of the expression without the side outputs.
fn main_text<'s>(source: &'s Source, side_outputs: &[String]) -> &'s str {
    let behind: usize = side_outputs.iter().map(|side| side.len() + 1).sum();
    &source.text[..source.text.len() - behind]
}

/// Reads the side outputs; each expression has its places in the source, where the text stands.
fn side_outputs(args: &ExplainArgs, start: usize) -> Result<Vec<(Arc<str>, Expr)>, Report> {
    let mut outputs = Vec::new();
    let mut start = start;
    for side in &args.side_outputs {
        start += 1;
        let (name, text) =
            side.split_once('=').filter(|(name, _)| !name.trim().is_empty()).ok_or_else(|| {
                let message = format!("side output `{side}`: expected NAME=EXPR");
                Report::new(Category::Syntax, Phase::Compile, message)
            })?;
        let expr = parse_at(&args.expr, text, start + name.len() + 1)?;
        outputs.push((name.trim().into(), expr));
        start += side.len();
    }
    Ok(outputs)
}

/// Everything there is to show.
struct Stages {
    expr: Expr,
    steps: Vec<(&'static str, String)>,
    prepared: Prepared,
    bound: BoundExpr,
    times: Vec<(&'static str, Duration)>,
}

/// The expression behind each step of preparation that changed it.
#[derive(Default)]
struct ChangedSteps(RefCell<Vec<(&'static str, String)>>);

impl StepObserver<Draft, PrepareError> for ChangedSteps {
    fn observe(&self, step: &'static str, draft: &Draft) -> Result<(), PrepareError> {
        let mut steps = self.0.borrow_mut();
        for (step, text) in draft.texts(step) {
            if steps.last().is_none_or(|(_, last)| *last != text) {
                steps.push((step, text));
            }
        }
        Ok(())
    }
}

impl StepObserver<Extended, PrepareError> for ChangedSteps {
    fn observe(&self, step: &'static str, extended: &Extended) -> Result<(), PrepareError> {
        self.observe(step, &extended.draft)
    }
}

impl StepObserver<Prepared, PrepareError> for ChangedSteps {
    /// The result has a stage of its own.
    fn observe(&self, _: &'static str, _: &Prepared) -> Result<(), PrepareError> {
        Ok(())
    }
}

fn explain(args: &ExplainArgs, source: &Source, dump: &StageDump) -> Result<String, Report> {
    let json = args.expr.json || args.format == Format::Json;
    if args.stage == Stage::Expr && !dump.is_on() {
        let expr = parse(&args.expr, main_text(source, &args.side_outputs))?;
        return Ok(match (json, args.format) {
            (true, _) => format!("{:#}\n", json!({ "expr": expr.to_string() })),
            (_, Format::Dot) => expression_dot(expr.graph(), expr.root()),
            _ => format!("{expr}\n"),
        });
    }
    let stages = stages(args, source, dump)?;
    if let Some(tier) = args.tier {
        let call = ProgramCall::new("program", stages.bound.program().clone(), ArrayLayout::Strided);
        let program = (&stages.bound, call.map_err(|error| error.to_string()));
        let text = explain_tier((tier, args.backend), program, stages.times, json, (dump, args.cache));
        dump.finish()?;
        return Ok(text);
    }
    dump.finish()?;
    match (json, args.format) {
        (true, _) => Ok(format!("{:#}\n", as_json(&stages, args.stage))),
        (_, Format::Dot) => as_dot(&stages, args.stage),
        _ => Ok(as_text(&stages, args.stage)),
    }
}

fn stages(args: &ExplainArgs, source: &Source, files: &StageDump) -> Result<Stages, Report> {
    let mut watch = StopWatch::start();
    let text = main_text(source, &args.side_outputs);
    let expr = parse(&args.expr, text)?;
    watch.done("read");
    let mut types: Vec<(Arc<str>, QType)> = Vec::new();
    for text in &args.types {
        types.push(input::parse_leaf_type(text)?);
    }
    for text in &args.expr.input {
        let (name, value) = input::parse_input(text)?;
        types.push((name, value.qtype()));
    }
    let side_outputs = side_outputs(args, text.len())?;
    files.write("expr", || expr.to_string());
    let steps = ChangedSteps::default();
    let (preparation, prepare) = preparation(&args.expr, &expr, types, side_outputs)?;
    let prepared = prepare.observed_by(&steps).observed_by(files).run(preparation).map_err(|error| {
        Report::of_preparation(error, |name| input::gives("-t", name, "FLOAT64", "a type"))
    })?;
    watch.done("prepare");
    let options = Options {
        allow_overriding_input_slots: args.allow_overriding_input_slots,
        frame_limit: args.expr.limits.limit_frame,
        ..Options::default()
    };
    let bound = compile(&prepared, &options)?;
    watch.done("compile");
    files.write("program", || dump::dump(bound.program()));
    Ok(Stages { expr, steps: steps.0.into_inner(), prepared, bound, times: watch.times })
}

/// What stands for the regions of a program without arrays.
const NO_REGIONS: &str = "no regions: no operator works on rows or elements of arrays";
/// What stands for the code of such a program.
const NO_CODE: &str = "no code: no region runs as a strip";

fn or_if_empty(text: String, instead: &str) -> String {
    if text.is_empty() { format!("{instead}\n") } else { text }
}

fn as_text(stages: &Stages, stage: Stage) -> String {
    let program = stages.bound.program();
    let steps =
        || stages.steps.iter().map(|(name, text)| format!("after {name}:\n{text}\n")).collect::<Vec<_>>();
    match stage {
        Stage::Expr => format!("{}\n", stages.expr),
        Stage::Steps => steps().join("\n"),
        Stage::Prepared => format!("{}\n", stages.prepared),
        Stage::Program => dump::dump(program),
        Stage::Stored => text::print(program),
        Stage::Layout => LayoutMap::new(program).to_string(),
        Stage::Regions => or_if_empty(Regions::new(&stages.bound).to_string(), NO_REGIONS),
        Stage::Code => or_if_empty(CodeListing(&Regions::new(&stages.bound)).to_string(), NO_CODE),
        Stage::All => {
            let program = program_text(&stages.bound);
            format!("Expression:\n{}\n\nPrepared:\n{}\n\n{program}", stages.expr, stages.prepared)
        }
    }
}

fn as_dot(stages: &Stages, stage: Stage) -> Result<String, Report> {
    match stage {
        Stage::Expr => Ok(expression_dot(stages.expr.graph(), stages.expr.root())),
        Stage::Prepared => Ok(expression_dot(stages.prepared.graph(), stages.prepared.root())),
        Stage::Program | Stage::All => Ok(program_dot(stages.bound.program())),
        _ => Err(Report::new(Category::Syntax, Phase::Compile, "this stage has no graph")),
    }
}

fn as_json(stages: &Stages, stage: Stage) -> Json {
    let program = stages.bound.program();
    let all = stage == Stage::All;
    let mut out = serde_json::Map::new();
    let mut put = |wanted: Stage, key: &str, value: &dyn Fn() -> Json| {
        if all || stage == wanted {
            out.insert(key.to_owned(), value());
        }
    };
    put(Stage::Expr, "expr", &|| json!(stages.expr.to_string()));
    put(Stage::Steps, "steps", &|| {
        stages.steps.iter().map(|(name, text)| json!({ "step": name, "expr": text })).collect()
    });
    put(Stage::Prepared, "prepared", &|| json!(stages.prepared.to_string()));
    put(Stage::Program, "program", &|| program_json(&stages.bound));
    put(Stage::Stored, "stored", &|| json!(text::print(program)));
    put(Stage::Layout, "layout", &|| layout_json(&LayoutMap::new(program)));
    put(Stage::Regions, "regions", &|| regions_json(&Regions::new(&stages.bound)));
    // Not among all stages: it differs from processor to processor.
    if stage == Stage::Code {
        out.insert("code".to_owned(), code_json(&Regions::new(&stages.bound)));
    }
    Json::Object(out)
}

fn program_json(bound: &BoundExpr) -> Json {
    let routine = bound.program().main();
    let slot = |v| {
        let slot = routine.slot(v);
        json!({ "offset": slot.offset(), "qtype": slot.qtype().to_string() })
    };
    json!({
        "hash": text::content_hash(bound.program()).to_string(),
        "inputs": routine.inputs.iter().map(|(name, v)| json!({ "name": &**name, "slot": slot(*v) })).collect::<Vec<_>>(),
        "output": slot(routine.output),
        "side_outputs": routine.side_outputs.iter().map(|(name, v)| json!({ "name": &**name, "slot": slot(*v) })).collect::<Vec<_>>(),
        "init": routine.literals.iter().map(|(v, l)| json!({ "slot": slot(*v), "literal": l.to_string() })).collect::<Vec<_>>(),
        "eval": (0..routine.body.instructions().len()).map(|ip| dump::instruction(routine, ip).to_string()).collect::<Vec<_>>(),
    })
}

fn strip_json(strip: &StripReport) -> Json {
    match &strip.code {
        Ok(code) => {
            let report = code.report();
            json!({
                "members": strip.members,
                "level": report.level.name(),
                "group": report.group,
                "unroll": report.unroll,
                "operations": report.operations,
                "instructions": report.instructions,
                "registers": report.registers,
                "spills": report.spills,
                "bytes": report.bytes,
            })
        }
        Err(refused) => json!({ "members": strip.members, "refused": refused.to_string() }),
    }
}

fn code_json(regions: &Regions<'_>) -> Json {
    let comments = CodeListing(regions);
    let lines = |region: &RegionReport, strip: &StripReport, code: &Code| -> Vec<Json> {
        let line = |line: Line| {
            let comment = comments.comment(region, strip, &line);
            json!({ "offset": line.offset, "instruction": line.text, "finds": comment })
        };
        listing(code).into_iter().map(line).collect()
    };
    let mut strips = Vec::new();
    for (number, region) in regions.regions.iter().enumerate() {
        for strip in &region.strips {
            let mut json = strip_json(strip);
            json["region"] = json!(number);
            if let Ok(code) = &strip.code {
                json["listing"] = json!(lines(region, strip, code));
            }
            strips.push(json);
        }
    }
    Json::Array(strips)
}

fn regions_json(regions: &Regions<'_>) -> Json {
    let region = |r: &RegionReport| {
        let names = |values: &[ValueId]| values.iter().map(|v| regions.name(r, *v)).collect::<Vec<_>>();
        json!({
            "routine": r.routine,
            "members": r.members,
            "through": r.through,
            "in_registers": r.in_registers,
            "strips": r.strips.iter().map(strip_json).collect::<Vec<_>>(),
            "block": r.block,
            "block_bytes": r.block_bytes,
            "arrays": names(&r.arrays),
            "once": names(&r.scalars),
            "written": r.outputs.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "ends": regions.end(r),
        })
    };
    json!({
        "regions": regions.regions.iter().map(region).collect::<Vec<_>>(),
        "alone": regions.alone.iter().map(|a| {
            json!({ "routine": a.routine, "instruction": a.ip, "reason": a.reason })
        }).collect::<Vec<_>>(),
    })
}

fn layout_json(map: &LayoutMap) -> Json {
    let rows = map.rows.iter().map(|row| {
        json!({
            "value": row.value.to_string(),
            "offset": row.slot.offset(),
            "size": row.slot.qtype().size(),
            "qtype": row.slot.qtype().to_string(),
            "part": row.part.name(),
            "name": row.name,
            "holds": row.holds,
            "first": row.first,
            "last": row.last,
        })
    });
    json!({
        "size": map.size,
        "align": map.align,
        "instructions": map.instructions,
        "unused": map.count(None),
        "temporaries": map.count(Some(Part::Temporary)),
        "values": rows.collect::<Vec<_>>(),
    })
}
