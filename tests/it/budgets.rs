//! Budgets as hosts see them: what is used up is an error with its place, wherever a run notices.

use crate::support::{bind, parse};
use cembra::compile::Options;
use cembra::host::{Accessors, ExecutorOptions, HostError, ModelExecutor};
use cembra::prepare::{FoldLimits, Prepare, Source};
use cembra::registry::{Dialect, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::frame::Frame;
use cembra::vm::machine::{BoundExpr, Budget, CancelToken, Profile, RunError, RunErrorKind, RunOptions};
use cembra::vm::operator::Family;
use cembra::vm::value::{
    ArrayClass, ArrayRows, ArrayType, Category, Exhausted, Fault, QType, ScalarType, ScalarValue, Value,
};
use std::sync::Arc;
use std::time::Duration;

const ROWS: usize = 100_000;

fn rows_type() -> QType {
    QType::Array(ArrayType { class: ArrayClass::Dense, element: ScalarType::Float64 })
}

fn rows() -> Value {
    let values: Vec<_> = (0..ROWS).map(|row| Some(ScalarValue::Float64((row * 37 % 1009) as f64))).collect();
    Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(ScalarType::Float64, &values)))
}

fn compiled(text: &str, registry: &Registry) -> BoundExpr {
    let expr = parse_with(text, registry, Dialect::Cembra, &Limits::default()).expect("valid");
    let source = Source::new(expr, [("x", rows_type())]).registry(registry.clone());
    bind(source, &Prepare::standard(), Options::default())
}

fn frame_of(bound: &BoundExpr) -> Frame {
    let mut frame = bound.new_frame().expect("memory");
    if let Ok(slot) = bound.input_slot("x") {
        frame.write(slot, &rows()).expect("rows");
    }
    frame
}

fn operator(error: &RunError) -> &str {
    &error.at.as_ref().expect("a place").operator
}

#[test]
fn rows_are_counted_alike_fused_and_step_by_step() {
    for text in
        ["math.sum((x * 2.0 + 1.0) * x)", "math.median(x) + math.max(x)", "array.ordinal_rank(x + 1.0)"]
    {
        let bound = compiled(text, &Registry::standard());
        let mut frame = frame_of(&bound);
        let operators = bound.program().main().body.instructions().len() as u64;
        let enough = operators * ROWS as u64;
        let needed = (1..=operators)
            .map(|n| n * ROWS as u64)
            .find(|rows| bound.execute_with(&mut frame, RunOptions::new().rows(*rows)).is_ok());
        let needed = needed.unwrap_or_else(|| panic!("{text}: more than {enough} rows"));
        let mut profile = Profile::default();
        let stepped = RunOptions::new().rows(needed).observer(&mut profile);
        assert!(bound.execute_with(&mut frame, stepped).is_ok(), "{text}");
        for is_stepped in [false, true] {
            let mut profile = Profile::default();
            let options = RunOptions::new().rows(needed - 1);
            let options = if is_stepped { options.observer(&mut profile) } else { options };
            let error = bound.execute_with(&mut frame, options).expect_err("one row less");
            assert_eq!(error.category(), Category::FuelExhausted, "{text}");
            let expected = Fault::Exhausted(Exhausted::Rows { limit: needed - 1 });
            assert_eq!(error.kind, RunErrorKind::Fault(expected), "{text}");
        }
    }
}

#[test]
fn memory_runs_out_before_it_is_taken_and_the_frame_goes_on() {
    let bound = compiled("math.sum(array.concat(array.concat(x, x), x))", &Registry::standard());
    let mut frame = frame_of(&bound);
    let error =
        bound.execute_with(&mut frame, RunOptions::new().bytes_alive(2_000_000)).expect_err("too many");
    assert_eq!((error.category(), operator(&error)), (Category::Limit, "array.concat"));
    let expected = "limit bytes-alive: 2400000 bytes more than the 1600000 that are alive exceed 2000000 (in array.concat";
    assert!(error.to_string().starts_with(expected), "{error}");
    assert!(frame.alive() <= 2_000_000);
    bound.execute_with(&mut frame, RunOptions::new().bytes_alive(5_000_000)).expect("enough");
    assert!(frame.alive() >= 4_000_000 && frame.alive() <= 5_000_000);
    // Besides the buffers, a run holds the parts of its sums.
    let parts = 600_000 / 64 * 8;
    let alive = frame.alive() + parts;
    bound.execute_with(&mut frame, RunOptions::new().bytes_alive(alive)).expect("buffers are there");
}

#[test]
fn arrays_of_too_many_rows_are_refused() {
    let bound = compiled("array.concat(x, x)", &Registry::standard());
    let budget = Budget { array_rows: 150_000, ..Budget::new() };
    let outcome = bound.execute_with(&mut frame_of(&bound), RunOptions::new().budget(&budget));
    let error = outcome.expect_err("too many rows");
    assert_eq!(error.to_string(), "limit array-rows: 200000 exceeds 150000 (in array.concat, instruction 0)");
}

/// `test.fire(x)` fires a token and gives x.
fn firing(token: &CancelToken) -> Registry {
    let token = token.clone();
    let fire = Family::new("test.fire", &["x"], "Fires the token.").host().function1(move |x: f64| {
        token.cancel();
        x
    });
    let mut registry = Registry::standard();
    registry.register(fire).expect("a new name");
    registry
}

#[test]
fn a_token_that_is_fired_on_the_way_stops_the_next_operator() {
    let texts = [
        ("math.median(x + test.fire(1.0))", "math.add"),
        ("array.ordinal_rank(array.concat(x, x & (test.fire(1.0) > 0.0)))", "core.presence_and"),
        ("math.sum(array.unique(array.slice(x, core.to_int64(test.fire(1.0)), -1)))", "array.slice"),
    ];
    for (text, expected) in texts {
        let token = CancelToken::new();
        let bound = compiled(text, &firing(&token));
        let mut frame = frame_of(&bound);
        let error = bound.execute_with(&mut frame, RunOptions::new().cancel(&token)).expect_err("cancelled");
        assert_eq!((error.kind.clone(), operator(&error)), (RunErrorKind::Cancelled, expected), "{text}");
        bound.execute(&mut frame).expect("nobody asks the token now");
    }
}

#[test]
fn time_is_over() {
    let bound = compiled("math.sum(x)", &Registry::standard());
    let options = RunOptions::new().time(Duration::ZERO);
    let error = bound.execute_with(&mut frame_of(&bound), options).expect_err("no time");
    assert_eq!(error.category(), Category::DeadlineExceeded);
    assert!(error.to_string().starts_with("out of time: the run takes longer than 0ns"), "{error}");
    // A time that the clock cannot say never comes.
    let options = RunOptions::new().time(Duration::MAX);
    bound.execute_with(&mut frame_of(&bound), options).expect("time enough");
}

#[test]
fn executors_run_within_budgets() {
    let loader = Accessors::new().with("x", |x: &f64| *x).clone();
    let expr = parse("x * 2.0", Dialect::Cembra);
    let options = ExecutorOptions { budget: Budget::new().instructions(10), ..ExecutorOptions::default() };
    let model = ModelExecutor::<f64, f64>::compile_with(&expr, &loader, None, options).expect("valid");
    assert_eq!(model.execute(&1.5).expect("enough"), 3.0);
    let token = CancelToken::new();
    let budget = Budget::new().cancel(&token);
    let mut local = model.local().expect("memory");
    assert_eq!(model.execute_within(&1.5, &budget).expect("not cancelled"), 3.0);
    token.cancel();
    for outcome in [model.execute_within(&1.5, &budget), local.execute_within(&1.5, &budget)] {
        match outcome {
            Err(HostError::Run(error)) => assert_eq!(error.category(), Category::Cancelled),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(local.execute(&1.5).expect("the own budget has no token"), 3.0);
}

#[test]
fn folding_stops_at_its_limits_and_runs_go_on() {
    let folded = |rows: u64, limits: FoldLimits| {
        let text = format!("math.sum(array.iota(array.make_dense_array_shape({rows})))");
        let source = Source::new(parse(&text, Dialect::Cembra), [] as [(&str, QType); 0]);
        let bound = bind(source, &Prepare::standard().fold_limits(limits), Options::default());
        let operators = bound.program().main().body.operators();
        let is_folded = !operators.iter().any(|operator| &**operator.name() == "array.iota");
        let mut frame = bound.new_frame().expect("memory");
        let value = bound.execute(&mut frame).map(|()| frame.read(bound.output_slot()).expect("written"));
        (is_folded, value.expect("within the budget of the run"))
    };
    let sum = |rows: i64| Value::Scalar(ScalarValue::Int64(rows * (rows - 1) / 2));
    assert_eq!(folded(1000, FoldLimits::default()), (true, sum(1000)));
    assert_eq!(folded(3_000_000, FoldLimits::default()), (false, sum(3_000_000)));
    let few = FoldLimits { bytes_kept: 1000, ..FoldLimits::default() };
    assert_eq!(folded(1000, few), (false, sum(1000)));
}

/// A text that the budget has no room for is not written.
#[test]
fn texts_are_counted_before_they_are_written() {
    let text = "straße, b'\n' ".repeat(70_000);
    let bytes = text.len() as u64;
    for expr in [
        "strings.upper(x)",
        "strings.lower(x)",
        "strings.substr(x, 1)",
        "strings.strip(x, 's')",
        "strings.replace(x, 'a', 'b')",
        "strings.replace(x, '', '-')",
        "strings.join(x, x)",
        "strings.encode(x)",
        "strings.decode(strings.encode(x))",
        "strings.decode(strings.encode(x), 'ignore')",
        "strings.as_text(strings.encode(x))",
        "strings.printf('%s%s', x, x)",
        "strings.format('{a}{b}', a=x, b=1)",
    ] {
        let source = Source::new(parse(expr, Dialect::Cembra), [("x", QType::Scalar(ScalarType::Text))]);
        let bound = bind(source, &Prepare::standard(), Options::default());
        let mut frame = bound.new_frame().expect("memory");
        let write = |frame: &mut Frame| {
            let slot = bound.input_slot("x").expect("an input").clone();
            frame.write(&slot, &Value::from(&*text)).expect("a text");
        };
        for limit in [0, 1000, bytes / 2, bytes - 1000] {
            write(&mut frame);
            let error = bound.execute_with(&mut frame, RunOptions::new().bytes_alive(limit));
            let error = error.expect_err("the text has more bytes");
            assert_eq!(error.category(), Category::Limit, "{expr}: {error}");
            assert!(error.to_string().starts_with("limit bytes-alive:"), "{expr}: {error}");
            assert!(frame.alive() <= limit, "{expr}: {} of {limit}", frame.alive());
        }
        write(&mut frame);
        let enough = RunOptions::new().bytes_alive(12 * bytes);
        bound.execute_with(&mut frame, enough).unwrap_or_else(|error| panic!("{expr}: {error}"));
        // The encoded text and the result, each in a buffer that may be twice as long, and three times for escapes.
        assert!((bytes - 10..=8 * bytes).contains(&frame.alive()), "{expr}: {}", frame.alive());
    }
}
