//! Hosts: executors, loaders, listeners, their options and errors.

use crate::support::parse;
use cembra::compile::{Binder, CompileError, Options};
use cembra::expr::Expr;
use cembra::host::loader::{Chain, Filter, Wildcard};
use cembra::host::{
    Accessors, ExecutorOptions, HostError, InputLoader, Listener, LocalExecutor, MapLoader, ModelExecutor,
    Output,
};
use cembra::prepare::{Prepare, Prepared, Source};
use cembra::registry::{Dialect, Registry};
use cembra::vm::frame::{Frame, FramePool};
use cembra::vm::machine::BoundExpr;
use cembra::vm::operator::family::Family;
use cembra::vm::program::Program;
use cembra::vm::value::qtype::{FLOAT64, INT64};
use cembra::vm::value::{ArrayClass, ArrayRows, Budget, Category, ScalarType, ScalarValue, Value};
use std::collections::HashMap;

fn number() -> Accessors<f64> {
    Accessors::new().with("x", |x: &f64| *x).clone()
}

fn compile<O: Output>(text: &str, options: ExecutorOptions) -> Result<ModelExecutor<f64, O>, HostError> {
    ModelExecutor::compile_with(&parse(text, Dialect::Cembra), &number(), None, options)
}

fn message<T, E: std::fmt::Display>(result: Result<T, E>) -> String {
    match result {
        Ok(_) => panic!("an error was expected"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn outputs_have_the_type_the_host_reads() {
    let plain = ExecutorOptions::default;
    assert_eq!(compile::<f64>("x * 2.0", plain()).expect("valid").execute(&1.5).expect("no error"), 3.0);
    let optional = compile::<Option<f64>>("x & (x > 0)", plain()).expect("valid");
    assert_eq!(optional.execute(&1.5).expect("no error"), Some(1.5));
    assert_eq!(optional.execute(&-1.5).expect("no error"), None);
    let text = compile::<String>("strings.format('{x}!', x=x)", plain()).expect("valid");
    assert_eq!(text.execute(&1.5).expect("no error"), "1.5!");
    assert_eq!(
        message(compile::<f32>("x", plain())),
        "the output is FLOAT64, the host reads FLOAT32; allow_output_casting or force_non_optional_output may help"
    );
}

#[test]
fn buffers_of_earlier_runs_leave_a_run_its_bytes() {
    let text = Accessors::new().with_text("s", |s: &String| s);
    let expr = parse("strings.replace(strings.upper(s), 'A', 'xyz')", Dialect::Cembra);
    let model = ModelExecutor::<String, String>::compile(&expr, &text).expect("valid");
    let mut local = model.local().expect("memory");
    let (small, large, tight) = ("ab".to_owned(), "a".repeat(200_000), Budget::new().bytes_alive(10_000));
    for _ in 0..2 {
        assert_eq!(model.execute_within(&small, &tight).expect("few bytes"), "xyzB");
        assert_eq!(local.execute_within(&small, &tight).expect("few bytes"), "xyzB");
        assert_eq!(model.execute(&large).expect("many bytes").len(), 600_000);
        assert_eq!(local.execute(&large).expect("many bytes").len(), 600_000);
    }
    assert_eq!(model.execute_within(&large, &tight).expect_err("too many bytes").category(), Category::Limit);
}

#[test]
fn masks_are_read_as_truths() {
    let positive = compile::<bool>("x > 0", ExecutorOptions::default()).expect("valid");
    assert!(positive.execute(&1.5).expect("no error"));
    assert!(!positive.execute(&-1.5).expect("no error"));
    let chosen = compile::<f64>("core.where(bool.less(x, 0.0), -x, x)", ExecutorOptions::default());
    assert_eq!(chosen.expect("valid").execute(&-2.0).expect("no error"), 2.0);
}

#[test]
fn errors_show_the_line_they_are_about() {
    let text = "y = 2.0\nx // (x - y) + strings.upper(x)";
    let error = compile::<f64>(text, ExecutorOptions::default()).map(|_| ()).expect_err("a type error");
    let message = error.with_source(text);
    assert!(message.contains("in `strings.upper(x)`"), "{message}");
    assert!(!message.contains("got s:"), "{message}");
    assert!(
        message.ends_with("2 | x // (x - y) + strings.upper(x)\n  |                ^^^^^^^^^^^^^^^^"),
        "{message}"
    );
    let text = "x // (x - 2.0)";
    let model = compile::<f64>(text, ExecutorOptions::default()).expect("valid");
    let error = model.execute(&2.0).expect_err("no divisor");
    assert!(error.with_source(text).ends_with("1 | x // (x - 2.0)\n  | ^^^^^^^^^^^^^^"), "{error:?}");
}

#[test]
fn outputs_may_be_forced_and_cast() {
    let forced = || ExecutorOptions { force_non_optional_output: true, ..ExecutorOptions::default() };
    let model = compile::<f64>("x & (x > 0)", forced()).expect("valid");
    assert_eq!(model.execute(&1.5).expect("no error"), 1.5);
    let error = model.execute(&-1.5).expect_err("missing");
    assert_eq!(error.to_string(), "the model expects a present value, got missing");
    assert_eq!(error.category(), Category::MissingValue);
    let cast = || ExecutorOptions { allow_output_casting: true, ..ExecutorOptions::default() };
    let model = compile::<f64>("int32(7)", cast()).expect("valid");
    assert_eq!(model.execute(&0.0).expect("no error"), 7.0);
    let model = compile::<Option<f64>>("x", cast()).expect("valid");
    assert_eq!(model.execute(&0.5).expect("no error"), Some(0.5));
    // What the dialect does not cast unasked is not cast here.
    assert!(compile::<i32>("x", cast()).is_err());
}

#[test]
fn loaders_combine() {
    let types = [("k", FLOAT64), ("hidden", FLOAT64)];
    let column = |name: &str| name.strip_prefix("column_").and_then(|n| n.parse::<usize>().ok());
    type Row = HashMap<String, Value>;
    let wildcard =
        Wildcard::<Row, usize>::new(INT64, "column_<n>", column, |_, n| Some(Value::from(*n as i64)));
    let map = Filter::new(MapLoader::new(types), |name| name != "hidden");
    let loader = Chain::<Row>::new(vec![Box::new(map), Box::new(wildcard)]);
    let sum = parse("k + core.to_float64(column_3 * column_14)", Dialect::Cembra);
    let model = ModelExecutor::<Row, f64>::compile(&sum, &loader).expect("valid");
    let row = |value: Value| Row::from([("k".to_string(), value)]);
    assert_eq!(model.execute(&row(Value::from(0.5))).expect("no error"), 42.5);
    assert_eq!(message(model.execute(&Row::new())), "the input data has no `k`");
    let error = message(model.execute(&row(Value::from("text"))));
    assert!(error.starts_with("`k`: ") && error.contains("TEXT") && error.contains("FLOAT64"), "{error}");
    let hidden = ModelExecutor::<Row, f64>::compile(&parse("hidden", Dialect::Cembra), &loader);
    assert!(message(hidden).contains("L.hidden"));
    assert_eq!(loader.names().iter().map(|n| &**n).collect::<Vec<_>>(), ["k", "column_<n>"]);
}

#[test]
fn missing_inputs_are_all_named() {
    let loader = Accessors::new().with("width", |x: &f64| *x).with("height", |x: &f64| *x);
    let model = ModelExecutor::<f64, f64>::compile(&parse("widht * heigth", Dialect::Cembra), &loader);
    let error = message(model);
    for part in ["L.widht", "`width`", "L.heigth", "`height`"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn side_outputs_reach_their_listeners() {
    let expr =
        parse("annotation.export(annotation.export(x * x, 'square') + 1.0, 'next') * 2.0", Dialect::Cembra);
    let listener = Listener::new()
        .on("square", |seen: &mut Vec<String>, value: f64| seen.push(format!("square {value}")))
        .on_all(|seen, name, value| seen.push(format!("{name} {value}")));
    let all = ModelExecutor::<f64, f64, Vec<String>>::compile_with(
        &expr,
        &number(),
        Some(&listener),
        ExecutorOptions::default(),
    );
    let all = all.expect("valid");
    let mut seen = Vec::new();
    assert_eq!(all.execute_into(&3.0, &mut seen).expect("no error"), 20.0);
    seen.sort();
    assert_eq!(seen, ["next float64{10}", "square 9"]);
    assert_eq!(all.execute(&3.0).expect("no error"), 20.0);
    let mut local = all.local().expect("a frame");
    let mut again = Vec::new();
    assert_eq!(local.execute(&5.0).expect("no error"), 52.0);
    assert_eq!(local.execute_into(&3.0, &mut again).expect("no error"), 20.0);
    again.sort();
    assert_eq!(again, seen);

    let only = Listener::new().on("square", |sum: &mut f64, value: f64| *sum += value);
    let strict = ModelExecutor::<f64, f64, f64>::compile_with(
        &expr,
        &number(),
        Some(&only),
        ExecutorOptions::default(),
    );
    assert_eq!(
        message(strict),
        "nobody listens to the side outputs next; ignore_not_listened_outputs allows that"
    );
    let options = ExecutorOptions { ignore_not_listened_outputs: true, ..ExecutorOptions::default() };
    let model =
        ModelExecutor::<f64, f64, f64>::compile_with(&expr, &number(), Some(&only), options).expect("valid");
    let mut sum = 0.0;
    assert_eq!(model.execute_into(&3.0, &mut sum).expect("no error"), 20.0);
    assert_eq!(sum, 9.0);
}

#[test]
fn one_executor_serves_many_threads() {
    let model = compile::<f64>("core.where(x < 500, x * x, math.sqrt(x))", ExecutorOptions::default());
    let model = model.expect("valid");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let model = model.clone();
            scope.spawn(move || {
                for i in 0..2_000 {
                    let x = f64::from((i * 7 + thread) % 1_000);
                    let expected = if x < 500.0 { x * x } else { x.sqrt() };
                    assert_eq!(model.execute(&x).expect("no error"), expected);
                }
            });
        }
    });
}

/// `test.positive(x)` panics below zero.
fn panicking() -> Registry {
    let positive = Family::new("test.positive", &["x"], "x, if it is positive");
    let mut registry = Registry::standard();
    let checked = |x: f64| if x < 0.0 { panic!("{x} is negative") } else { x };
    registry.register(positive.host().function1(checked)).expect("a new name");
    registry
}

#[test]
fn panics_of_host_operators_stay_inside() {
    let options = ExecutorOptions { registry: panicking(), ..ExecutorOptions::default() };
    let text = "test.positive(x) + 1.0";
    let parsed = cembra::syntax::parse_with(text, &panicking(), Dialect::Cembra, &Default::default());
    let expr = parsed.expect("valid");
    let model = ModelExecutor::<f64, f64>::compile_with(&expr, &number(), None, options).expect("valid");
    let mut local = model.local().expect("memory");
    for _ in 0..3 {
        for error in
            [model.execute(&-2.0).expect_err("it panics"), local.execute(&-2.0).expect_err("it panics")]
        {
            let text = error.to_string();
            assert!(text.contains("test.positive") && text.contains("-2 is negative"), "{text}");
        }
        assert_eq!(model.execute(&2.0).expect("no error"), 3.0);
        assert_eq!(local.execute(&2.0).expect("no error"), 3.0);
    }
}

#[test]
fn expressions_share_a_layout() {
    let source = |text: &str| {
        let source = Source::new(parse(text, Dialect::Cembra), [("x", FLOAT64)]);
        Prepare::standard().run(source).expect("valid")
    };
    let mut binder = Binder::new(Options { check_slots: true, ..Options::default() });
    for text in ["x * x + 2.5", "x * 3.5 - x / 7.0", "x + 1.0"] {
        binder.add(&source(text)).expect("valid");
    }
    let bound = binder.build().expect("valid");
    let mut frame = bound[0].new_frame().expect("memory");
    for x in [1.0, -4.0] {
        frame.set(bound[0].input::<f64>("x").expect("x"), x);
        // In any order, any number of times, and every output stays.
        for index in [2, 0, 1, 1, 0] {
            bound[index].execute(&mut frame).expect("no error");
        }
        let outputs: Vec<f64> = bound.iter().map(|b| frame.get(b.output::<f64>().expect("f64"))).collect();
        assert_eq!(outputs, [x * x + 2.5, x * 3.5 - x / 7.0, x + 1.0]);
    }
    let mut binder = Binder::new(Options::default());
    binder.add(&source("x")).expect("valid");
    let other = Source::new(parse("x", Dialect::Cembra), [("x", FLOAT64.to_optional().expect("a scalar"))]);
    let error = binder.add(&Prepare::standard().run(other).expect("valid")).expect_err("two types");
    assert_eq!(
        error.to_string(),
        "input `x` is FLOAT64 in one expression and OPTIONAL_FLOAT64 in another of the same layout"
    );
}

#[test]
fn hosts_register_operators_of_the_same_standing() {
    let clamp = Family::new("host.clamp", &["x", "low", "high"], "x, at least low and at most high");
    let clamp = clamp.function3(|x: f64, low: f64, high: f64| x.max(low).min(high));
    let mut registry = Registry::standard();
    registry.register(clamp).expect("a new name");
    let text = "host.clamp(x, high=1.0, low=core.to_float64(int32(0))) & (x != 0.5)";
    let parsed = cembra::syntax::parse_with(text, &registry, Dialect::Cembra, &Default::default());
    let expr = parsed.expect("keyword arguments work");
    let options = ExecutorOptions { registry: registry.clone(), ..ExecutorOptions::default() };
    let model = ModelExecutor::<f64, Option<f64>>::compile_with(&expr, &number(), None, options);
    let model = model.expect("casts and missing values work");
    let results = [-3.0, 0.5, 0.75, 3.0].map(|x| model.execute(&x).expect("no error"));
    assert_eq!(results, [Some(0.0), None, Some(0.75), Some(1.0)]);
    let again = Family::new("host.clamp", &["x"], "x").function1(|x: f64| x);
    let error = registry.register(again).expect_err("the name is taken");
    assert_eq!(error.to_string(), "operator `host.clamp` is already defined");
}

#[test]
fn rows_that_nobody_could_call_are_refused() {
    let row = |name: &str, params: &[&str]| Family::new(name, params, "x").function1(|x: f64| x);
    let mut registry = Registry::standard();
    let names = ["", "a b(", ".", "a.", ".a", "a..b", "1a", "L.x", "P.x", "M.x", "arolla.x", "a-b", "int32"];
    for name in names.into_iter().chain(["true", "None", "tuple", "qtype", "optional_float64"]) {
        let error = registry.register(row(name, &["x"])).expect_err(name);
        assert!(error.to_string().contains("is not an operator name"), "{error}");
    }
    for params in [&["x y"][..], &["x", "x"], &["*x", "y"], &[""]] {
        let error = registry.register(row("h.f", params)).expect_err("wrong parameters");
        assert!(error.to_string().contains("cannot be a parameter"), "{error}");
    }
    assert_eq!(
        message(registry.register(Family::new("h.f", &["x"], "x"))),
        "operator `h.f` has no overloads"
    );
    assert_eq!(
        message(registry.register(row("h.f", &["x", "y"]))),
        "operator `h.f`: the overload h.f(FLOAT64) -> FLOAT64 does not fit the parameters (x, y)"
    );
    // Nothing of a refused row is left behind.
    assert!(registry.get("h.f").is_none() && registry.table().family("h.f").is_none());
    for (name, params) in [("h.f", &["x", "y?"][..]), ("double", &["x"]), ("größe.größer", &["*x"])] {
        registry.register(row(name, params)).unwrap_or_else(|error| panic!("{error}"));
        let text = format!("{name}(1.5)");
        let expr = cembra::syntax::parse_with(&text, &registry, Dialect::Cembra, &Default::default());
        let options = ExecutorOptions { registry: registry.clone(), ..ExecutorOptions::default() };
        let expr = expr.expect("the name is read");
        let model = ModelExecutor::<f64, f64>::compile_with(&expr, &number(), None, options).expect(name);
        assert_eq!(model.execute(&0.0).expect("no error"), 1.5);
    }
}

#[test]
fn what_threads_share_can_be_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<Binder>();
    shared::<Prepare>();
    shared::<Prepared>();
    shared::<Registry>();
    shared::<Expr>();
    shared::<BoundExpr>();
    shared::<Program>();
    shared::<FramePool>();
    shared::<ModelExecutor<f64, f64>>();
    shared::<ModelExecutor<str, Value, Vec<String>>>();
    shared::<Accessors<f64>>();
    shared::<HostError>();
    shared::<CompileError>();
    // A frame, and what owns one, moves between threads but belongs to one at a time.
    fn moved<T: Send>() {}
    moved::<Frame>();
    moved::<LocalExecutor<f64, f64>>();
}

/// A kernel may fill an array result with rows of another type; who reads it must not take them for the
/// slot's.
#[test]
fn arrays_of_another_type_are_not_read() {
    let qtype: cembra::vm::value::QType = "DENSE_ARRAY_FLOAT64".parse().expect("a type");
    let wrong = Family::new("test.wrong", &["x"], "INT32 where FLOAT64 should be");
    let wrong = wrong.exact_general(std::slice::from_ref(&qtype), qtype.clone(), |call| {
        let length = call.array(0).len();
        call.array_out().resize(ScalarType::Int32, length)?;
        Ok(())
    });
    let mut registry = Registry::standard();
    registry.register(wrong).expect("a new name");
    let expr =
        cembra::syntax::parse_with("test.wrong(x) * 2.0", &registry, Dialect::Cembra, &Default::default());
    let source = Source::new(expr.expect("valid"), [("x", qtype)]).registry(registry);
    let prepared = Prepare::standard().run(source).expect("valid");
    let bound = cembra::compile::compile(&prepared, &Options::default()).expect("valid");
    let mut frame = bound.new_frame().expect("memory");
    let rows = ArrayRows::from_values(ScalarType::Float64, &[Some(ScalarValue::Float64(1.0)), None]);
    let value = Value::Array(ArrayClass::Dense, rows.into());
    frame.write(bound.input_slot("x").expect("x"), &value).expect("its type");
    let error = bound.execute(&mut frame).expect_err("rows of another type");
    assert_eq!(error.category(), Category::Panic);
    assert!(error.to_string().contains("holds rows of INT32"), "{error}");
}

/// A name that no loader offers is told with those that it offers.
#[test]
fn missing_inputs_are_told_with_those_there_are() {
    let loader = Accessors::new()
        .with("first", |pair: &(f64, f64)| pair.0)
        .with("my col", |pair: &(f64, f64)| pair.1)
        .clone();
    let error = |text: &str| {
        message(ModelExecutor::<(f64, f64), f64>::compile(&parse(text, Dialect::Cembra), &loader))
    };
    assert_eq!(error("frist + 1.0"), "missing values for: L.frist; did you mean `first`?");
    assert_eq!(error("z + 1.0"), "missing values for: L.z; the inputs are first, L['my col']");
}
