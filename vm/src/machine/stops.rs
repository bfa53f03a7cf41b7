//! Test: a token or a deadline that comes while an operator works ends it there, whichever question it is.
//!
//! ```text
//! questions   0  1  2  …  n  …           how many a run asks undisturbed is counted first
//! stopped     1, n/4, n/2, 3n/4          each of them is answered with no
//! then        the frame runs again and gives what a fresh one gives
//! ```

use crate::array::meter::Watch;
use crate::builtins::table;
use crate::frame::Frame;
use crate::layout::{FrameLayout, TypedSlot};
use crate::machine::bound::BoundExpr;
use crate::machine::code::Style;
use crate::machine::error::RunError;
use crate::machine::invoke::bind;
use crate::machine::options::RunOptions;
use crate::operator::cell::Strips;
use crate::program::instruction::Span;
use crate::program::program::ValueInfo;
use crate::program::{Body, Program, Routine, ValueId};
use crate::value::nd_type::Axes;
use crate::value::{
    ArrayClass, ArrayRows, Category, Edge, Exhausted, NdRows, NdType, QType, ScalarType, ScalarValue, Value,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const ROWS: usize = 200_000;

/// Answers one question, and all that follow, with no.
struct StopAt {
    question: u64,
    asked: AtomicU64,
    answer: Exhausted,
}

impl StopAt {
    fn new(question: u64, answer: Exhausted) -> StopAt {
        StopAt { question, asked: AtomicU64::new(0), answer }
    }
}

impl Watch for StopAt {
    fn ask(&self) -> Result<(), Exhausted> {
        match self.asked.fetch_add(1, Ordering::Relaxed) >= self.question {
            true => Err(self.answer.clone()),
            false => Ok(()),
        }
    }
}

/// By passes: strips ask less often, and a region changes to them between two runs.
fn run(bound: &BoundExpr, frame: &mut Frame, watch: &StopAt, threads: usize) -> Result<(), RunError> {
    bound.execute_with(frame, RunOptions::new().asked(watch).threads(threads).strips(Strips::Never))
}

/// Stops a run at some of its questions, by a token and by the clock; whoever is blamed is one of `operators`.
fn check(what: &str, operators: &[&str], bound: &BoundExpr, frame: &mut Frame, threads: usize) {
    let never = StopAt::new(u64::MAX, Exhausted::Cancelled);
    run(bound, frame, &never, threads).unwrap_or_else(|error| panic!("{what}: {error}"));
    let expected = frame.read(bound.output_slot()).expect("written");
    let asked = never.asked.into_inner();
    assert!(asked >= 8, "{what}: only {asked} questions");
    // The first one is asked before the first instruction.
    for question in [1, asked / 4, asked / 2, asked * 3 / 4] {
        let time = Exhausted::Time { limit: Duration::from_millis(7) };
        let answers = [(Exhausted::Cancelled, Category::Cancelled), (time, Category::DeadlineExceeded)];
        for (answer, category) in answers {
            let watch = StopAt::new(question, answer);
            let error = run(bound, frame, &watch, threads).err();
            let error = error.unwrap_or_else(|| panic!("{what}: question {question} of {asked}"));
            assert_eq!(error.category(), category, "{what}: question {question} of {asked}: {error}");
            let at = error.at.as_ref().unwrap_or_else(|| panic!("{what}: {error} is nowhere"));
            assert!(operators.contains(&&*at.operator), "{what}: {error}");
            // All threads, and what ends early, ask a few times more at most.
            let later = watch.asked.into_inner() - question;
            assert!(later <= 8 + 2 * threads as u64, "{what}: {later} questions after the answer");
            assert_eq!(frame.alive(), frame.count_alive(), "{what}: bytes after question {question}");
            assert!(frame.read(bound.output_slot()).is_err(), "{what}: an output of a run that was stopped");
            let watch = StopAt::new(u64::MAX, Exhausted::Cancelled);
            run(bound, frame, &watch, threads)
                .unwrap_or_else(|error| panic!("{what}: again after question {question}: {error}"));
            let again = frame.read(bound.output_slot()).expect("written");
            assert_eq!(again, expected, "{what}: after question {question}");
        }
    }
}

fn check_operator(name: &str, args: &[Value]) {
    let types: Vec<QType> = args.iter().map(Value::qtype).collect();
    let overload = table().overload(name, &types).unwrap_or_else(|| panic!("{name} of {types:?}"));
    let (bound, mut frame) = bind(&overload, args, Style::Fused).expect("an operator on its types");
    frame.set_alive(frame.count_alive());
    check(name, &[name], &bound, &mut frame, 1);
}

fn array(element: ScalarType, value: impl Fn(usize) -> ScalarValue) -> Value {
    let values: Vec<_> = (0..ROWS).map(|row| (row % 11 != 3).then(|| value(row))).collect();
    Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(element, &values)))
}

fn reals() -> Value {
    array(ScalarType::Float64, |row| ScalarValue::Float64((row * 7919 % 100_003) as f64))
}

fn texts() -> Value {
    array(ScalarType::Text, |row| ScalarValue::Text(format!("Row {}", row % 977).into()))
}

fn plane(first: usize) -> Value {
    let values: Vec<f64> = (0..ROWS).map(|row| (row * 7919 % 100_003) as f64).collect();
    let plane = NdType::new(ScalarType::Float64, 2, 0).expect("a type");
    Value::NdArray(Arc::new(NdRows::from_slice(plane, &[first, ROWS / first], &values).expect("fits")))
}

fn first_axis() -> Value {
    Value::Axes(Axes::new([0]).expect("one axis"))
}

#[test]
fn in_a_sort() {
    check_operator("array._ordinal_rank", &[reals(), false.into()]);
    check_operator("array._dense_rank", &[reals(), true.into()]);
}

#[test]
fn in_a_selection() {
    check_operator("math._median", &[reals()]);
    check_operator("math._inverse_cdf", &[reals(), 0.3.into()]);
    check_operator("nd._median", &[plane(400), first_axis()]);
}

#[test]
fn in_a_fold() {
    let points: Vec<i64> = (0..=ROWS).step_by(50).map(|point| point as i64).collect();
    let edge = Value::Edge(ArrayClass::Dense, Arc::new(Edge::from_split_points(&points).expect("valid")));
    check_operator("math._sum", &[reals(), edge]);
    check_operator("nd._sum", &[plane(400), first_axis()]);
    // Two elements for each of many results.
    check_operator("nd._sum", &[plane(2), first_axis()]);
}

#[test]
fn in_a_scan() {
    check_operator("math._cum_sum", &[reals()]);
    check_operator("nd._cumsum", &[plane(400), first_axis()]);
}

#[test]
fn in_operators_of_texts() {
    check_operator("strings.upper", &[texts()]);
    check_operator("array.unique", &[texts()]);
    check_operator("edge.group_by", &[texts()]);
}

/// Operators one after the other, each on what the one before gave, all operands alike.
pub(super) fn chain(names: &[&str], rows: &Value) -> (BoundExpr, TypedSlot) {
    let mut layout = FrameLayout::builder();
    let mut values = Vec::new();
    let mut place = |slot: TypedSlot| {
        values.push(ValueInfo { slot, view_of: None });
        ValueId(values.len() as u32 - 1)
    };
    let input = layout.typed(rows.qtype());
    layout.place_input(&input);
    let first = place(input.clone());
    let (mut body, mut last) = (Body::new(), first);
    for (number, name) in names.iter().enumerate() {
        let family = table().family(name).expect("a standard operator").clone();
        let overload = (1..=3).find_map(|count| family.overload(&vec![rows.qtype(); count]));
        let overload = overload.expect("an operator on rows");
        let slot = layout.typed(overload.result().clone());
        match number + 1 == names.len() {
            true => layout.place_output(&slot),
            false => layout.place(&slot),
        }
        let operands = vec![last; overload.args().len()];
        last = place(slot);
        let operator = body.add_operator(overload);
        body.push_operator(operator, &operands, last, Span::default());
    }
    let routine =
        Routine::new(layout.build().expect("few slots"), values, vec![("x".into(), first)], last, body);
    let bound = BoundExpr::new(Arc::new(Program::new(vec![routine]))).expect("verified");
    assert_eq!(bound.regions().len(), 1, "{names:?} are one region");
    (bound, input)
}

#[test]
fn in_a_region() {
    for names in [&["math.add", "math.erf", "math.multiply"][..], &["math.multiply", "math.exp", "math._sum"]]
    {
        for threads in [1, 3] {
            let (bound, input) = chain(names, &reals());
            let mut frame = bound.new_frame().expect("memory");
            frame.write(&input, &reals()).expect("rows");
            check(&format!("region of {names:?}"), names, &bound, &mut frame, threads);
        }
    }
}
