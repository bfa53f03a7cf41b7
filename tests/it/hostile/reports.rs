//! Reports of many errors take memory and time in proportion to the text.

use allocation_counter::measure;
use cembra::cli::model_source::failure;
use cembra::cli::report::{Phase, Report, Source};
use cembra::columns::{OpenOptions, Plan, open};
use cembra::inspect::LayoutMap;
use cembra::model::load;
use cembra::prepare::Prepare;
use cembra::registry::{Dialect, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::program::instruction::Span;
use cembra::vm::value::Category;
use std::time::{Duration, Instant};

/// A text of `count` parts.
fn repeated(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect()
}

/// Checks that four times the input takes about four times the memory, and less time than a square would.
fn is_linear(what: &str, count: usize, work: impl Fn(usize)) {
    let start = Instant::now();
    let few = measure(|| work(count)).bytes_total;
    let many = measure(|| work(4 * count)).bytes_total;
    assert!(many < 8 * few, "{what}: {few} bytes become {many}");
    assert!(start.elapsed() < Duration::from_secs(20), "{what} takes {:?}", start.elapsed());
}

fn model_errors(text: &str) -> usize {
    let source = Source { name: "m.yaml".to_owned(), text: text.to_owned() };
    let errors = load::read([("m.yaml", text)]).expect_err("wrong in many places");
    assert!(errors.len() > 100, "{errors:?}");
    let failure = failure(&errors, &[source]);
    failure.reports.iter().for_each(|(report, source)| drop(report.render(source.as_ref(), false)));
    assert_eq!(failure.reports.len(), 101);
    assert_eq!(failure.reports[100].0.message, format!("and {} more errors", errors.len() - 100));
    errors.len()
}

#[test]
fn models_with_many_errors() {
    let head = "cembra: {model: m, energy: [84, 85]}\nm:\n";
    is_linear("components with a parameter given twice", 500, |count| {
        let part = "  Gauss: {A: [1, True], x0: [85, False], SD: [1, False], SD: [2, False]}\n";
        assert!(model_errors(&format!("{head}{}", repeated(count, |_| part.to_owned()))) >= count);
    });
    is_linear("one model many times", 1000, |count| {
        let part = "m:\n  Gauss: {A: [1, True], x0: [85, False], SD: [1, False]}\n";
        assert!(model_errors(&format!("{head}{}", repeated(count, |_| part.to_owned()))) >= count);
    });
    is_linear("targets that are not there", 1000, |count| {
        let targets = repeated(count, |index| format!("{{target: Q{index}, models: [d]}},"));
        let parts =
            repeated(count, |_| "  Gauss: {A: [1, True], x0: [85, False], SD: [1, False]}\n".to_owned());
        let head =
            format!("cembra: {{model: m, energy: [84, 85], time: [0, 1], dynamics: [{targets}]}}\nm:\n");
        assert_eq!(
            model_errors(&format!("{head}{parts}d:\n  stepFun: {{A: [1, True], t0: [0, False]}}\n")),
            count
        );
    });
}

fn limits() -> Limits {
    Limits { text: usize::MAX, ..Limits::default() }
}

/// The report of an expression without inputs, as text and as JSON.
fn missing_inputs(text: &str) -> String {
    let source = Source { name: "<expression>".to_owned(), text: text.to_owned() };
    let expr = parse_with(text, &Registry::standard(), Dialect::Cembra, &limits()).expect("an expression");
    let error = Prepare::standard().run(cembra::prepare::Source::new(expr, Vec::<(&str, _)>::new()));
    let report = Report::from(error.expect_err("inputs are missing"));
    report.json(Some(&source));
    report.render(Some(&source), false)
}

#[test]
fn expressions_with_many_errors() {
    for (what, between) in [("one line", "+"), ("many lines", "\n+")] {
        is_linear(what, 3000, |count| {
            let text = format!("({})", repeated(count, |index| format!("a{index}{between}")) + "1");
            let said = missing_inputs(&text);
            let more = format!("and at {} more places", count - 20);
            assert!(said.contains(&more), "{said}");
        });
    }
}

#[test]
fn columns_with_many_errors() {
    let directory = tempfile::tempdir().expect("the system has a directory for temporary files");
    is_linear("leaves that no file has", 1000, |count| {
        let path = directory.path().join("t.csv");
        let line = |part: &dyn Fn(usize) -> String| repeated(count, part) + "end\n";
        let table = line(&|index| format!("column_{index},")) + &line(&|_| "1,".to_owned());
        std::fs::write(&path, table).expect("the directory takes files");
        let text = repeated(count, |index| format!("colunm_{index} + ")) + "1";
        let expr =
            parse_with(&text, &Registry::standard(), Dialect::Cembra, &limits()).expect("an expression");
        let sources = vec![open(&path, &OpenOptions::default()).expect("a table")];
        assert!(Plan::new([("r", expr)]).job(sources).is_err());
    });
}

#[test]
fn long_chains_and_wide_calls() {
    for between in ["**", "\n**"] {
        is_linear("a chain of powers", 50_000, |count| {
            let text = format!("({}x)", repeated(count, |_| format!("x{between}")));
            parse_with(&text, &Registry::standard(), Dialect::Cembra, &limits()).expect("an expression");
        });
    }
    is_linear("the map of a frame", 10_000, |count| {
        let text = format!("seq.make({}0)", repeated(count, |index| format!("{index},")));
        let expr =
            parse_with(&text, &Registry::standard(), Dialect::Cembra, &limits()).expect("an expression");
        let source = cembra::prepare::Source::new(expr, Vec::<(&str, _)>::new());
        let prepared = Prepare::standard().without_optimizer().run(source).expect("integers");
        let bound = cembra::compile::compile(&prepared, &Default::default()).expect("a frame");
        LayoutMap::new(bound.program());
    });
}

#[test]
fn errors_in_a_long_line() {
    is_linear("a line with many errors", 200, |count| {
        let text = repeated(count, |_| "é = Itex(1), ".repeat(20));
        let part = text.len() / count;
        let source = Source { name: "long.tree".to_owned(), text };
        for number in 0..count {
            let mut report = Report::new(Category::Parse, Phase::Compile, "wrong");
            let start = number * part + 5;
            report.labels.push((Span { start: start as u32, end: start as u32 + 4 }, String::new()));
            let shown = report.render(Some(&source), false);
            // Each part has 20 characters of two bytes.
            assert!(shown.contains(&format!("long.tree:1:{}\n", start - 20 * number)), "{shown}");
            assert!(shown.contains("Itex(1)") && shown.ends_with("^^^^"), "{shown}");
        }
    });
}
