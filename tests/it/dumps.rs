//! Recorded programs of the published system: the same operators on no larger frame.

use crate::support::{bind, leaf_types, needs_arrays, oracle, parse};
use cembra::compile::Options;
use cembra::prepare::{Prepare, RuleSet, Source};
use cembra::registry::Dialect;
use cembra::vm::machine::BoundExpr;
use cembra::vm::program::dump::dump;
use serde_json::Value as Json;

/// Left out: the published compiler without optimizer evaluates both branches of `where`; ours
/// short-circuits whatever the optimizer does.
const EAGER_WHERE: &str = "seed_example_2_noopt";

fn compile(item: &Json) -> BoundExpr {
    let id = item["id"].as_str().expect("an id");
    let setup = item["setup"].as_str().unwrap_or_default();
    let text = |expr: &str| format!("{setup}\n{expr}");
    let fast_math = ["add4", "add8", "add_zero_removed"].contains(&id);
    let prepare = match (item["options"]["optimizer"].as_str(), fast_math) {
        (Some("none"), _) => Prepare::standard().without_optimizer(),
        (_, true) => Prepare::with_rules(RuleSet::fast_math()),
        _ => Prepare::standard(),
    };
    let expr = parse(&text(item["expr"].as_str().expect("an expression")), Dialect::Arolla);
    let mut source = Source::new(expr, leaf_types(&item["leaf_types"])).dialect(Dialect::Arolla);
    for (name, side) in item["side_outputs"].as_object().into_iter().flatten() {
        let side = parse(&text(side.as_str().expect("an expression")), Dialect::Arolla);
        source = source.side_output(name, side);
    }
    let overriding = item["options"]["allow_overriding_input_slots"] == true;
    bind(source, &prepare, Options { allow_overriding_input_slots: overriding, ..Options::default() })
}

#[test]
fn the_first_published_example_is_equal() {
    let dumps = oracle("arolla/dumps.json");
    let items = dumps.as_array().expect("a list");
    let seed = items.iter().find(|i| i["id"] == "seed_example_1").expect("the seed example");
    let bound = compile(seed);
    assert_eq!(dump(bound.program()), seed["dump"].as_str().expect("a dump"));
    assert_eq!(bound.layout().size(), 32);
}

#[test]
fn published_programs_have_the_same_operators() {
    let dumps = oracle("arolla/dumps.json");
    let mut compared = 0;
    for item in dumps.as_array().expect("a list") {
        if needs_arrays(item) || item["id"] == EAGER_WHERE {
            continue;
        }
        let bound = compile(item);
        let ours = dump(bound.program());
        let theirs = item["dump"].as_str().expect("a dump");
        assert_eq!(operations(&ours), operations(theirs), "{}\n{ours}\n{theirs}", item["id"]);
        let limit = item["frame_size"].as_u64().expect("a size");
        assert!(u64::from(bound.layout().size()) <= limit, "{}: {ours}", item["id"]);
        compared += 1;
    }
    assert_eq!(compared, 44);
}

/// Init and eval lines without offsets and jump distances, sorted.
fn operations(dump: &str) -> Vec<String> {
    let from = dump.find("Init operations:").expect("a dump");
    let mut lines: Vec<String> = dump[from..]
        .lines()
        .map(|line| [(" [0x", ']'), ("<+", '>'), ("<-", '>')].into_iter().fold(line.into(), without))
        .collect();
    lines.sort();
    lines
}

/// A text without the parts from `open` to `close`.
fn without(mut text: String, (open, close): (&str, char)) -> String {
    while let Some(start) = text.find(open) {
        let length = text[start..].find(close).expect("the part ends");
        text.replace_range(start..=start + length, "");
    }
    text
}
