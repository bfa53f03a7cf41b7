//! Measures how long runs go on after they are told to stop. Not a test of every day: it takes minutes and gigabytes.
//!
//! ```text
//! run       |──────────────────────────────────────|       undisturbed
//! asks       ·  ·  ·  · ·  ·  ·        ·  ·  ·  ·          the longest gap between two questions, the last one to the end
//! fired     |───────────────fire──│                        fire to the first question that says no, and to return
//! ```
//!
//! ```sh
//! cargo test --release -p cembra-vm --lib -- --ignored --nocapture --test-threads 1 latency::of_every_operator
//! cargo test --release -p cembra-vm --lib -- --ignored --nocapture --test-threads 1 latency::of_a_dozen
//! ```
//!
//! `CEMBRA_ROWS` gives another number of rows, `CEMBRA_ONLY` a part of the names of operators. Giving memory back, after
//! the question that says no, does not count.

use crate::array::meter::Watch;
use crate::builtins::table;
use crate::frame::Frame;
use crate::machine::asks::{arguments, lists};
use crate::machine::bound::BoundExpr;
use crate::machine::code::Style;
use crate::machine::error::RunErrorKind;
use crate::machine::invoke::bind;
use crate::machine::options::RunOptions;
use crate::machine::stops::chain;
use crate::operator::Overload;
use crate::value::nd_type::Axes;
use crate::value::{
    ArrayClass, ArrayRows, Budget, CancelToken, Edge, Exhausted, Fault, NdRows, NdType, ScalarType,
    ScalarValue, Value,
};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// When a run is told to stop, in shares of its undisturbed time.
const SHARES: [f64; 3] = [0.2, 0.5, 0.8];

/// Runs below this time are not told to stop.
const SHORT: Duration = Duration::from_millis(4);

/// How often something late is measured again.
const AGAIN: usize = 4;

pub(super) fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

pub(super) fn is_chosen(name: &str) -> bool {
    std::env::var("CEMBRA_ONLY").map_or(true, |part| name.contains(&part))
}

/// Notes the longest time between two questions, and when one was last asked.
struct Gaps(Mutex<(Instant, Duration)>);

impl Gaps {
    fn new() -> Gaps {
        Gaps(Mutex::new((Instant::now(), Duration::ZERO)))
    }

    fn note(&self) -> (Instant, Duration) {
        let mut noted = self.0.lock().expect("nobody panics here");
        let now = Instant::now();
        *noted = (now, noted.1.max(now - noted.0));
        *noted
    }
}

impl Watch for Gaps {
    fn ask(&self) -> Result<(), Exhausted> {
        self.note();
        Ok(())
    }
}

/// What was measured of one operator on one list of arguments.
struct Measured {
    name: String,
    whole: Duration,
    /// The longest time between two questions.
    gap: Duration,
    /// From the last question to the end: mostly memory that is given back.
    end: Duration,
    /// The longest time from the token to the answer, and to return.
    cancel: Duration,
    cancel_return: Duration,
    /// The longest time from the deadline to the answer, and to return.
    deadline: Duration,
    deadline_return: Duration,
}

impl Measured {
    fn latency(&self) -> Duration {
        self.gap.max(self.cancel).max(self.deadline)
    }

    fn line(&self) -> String {
        let [whole, gap, end, cancel, cancelled, deadline, ended] = [
            self.whole,
            self.gap,
            self.end,
            self.cancel,
            self.cancel_return,
            self.deadline,
            self.deadline_return,
        ]
        .map(|time| time.as_secs_f64() * 1e3);
        let name = &self.name;
        format!(
            "{whole:9.1} {gap:7.1} {end:7.1} {cancel:7.1} {cancelled:7.1} {deadline:7.1} {ended:7.1}  {name}"
        )
    }
}

fn budget() -> Budget {
    Budget::new().bytes_alive(1 << 40)
}

/// Measures one program on frames that another function makes.
fn measure(name: String, bound: &BoundExpr, new_frame: &dyn Fn() -> Frame) -> Option<Measured> {
    let budget = budget();
    let gaps = Gaps::new();
    let mut frame = new_frame();
    let start = Instant::now();
    gaps.note();
    *gaps.0.lock().expect("nobody panics here") = (Instant::now(), Duration::ZERO);
    let outcome = bound.execute_with(&mut frame, RunOptions::new().budget(&budget).asked(&gaps));
    let (whole, ended) = (start.elapsed(), Instant::now());
    let (last, gap) = *gaps.0.lock().expect("nobody panics here");
    let end = ended - last;
    match outcome.map_err(|error| error.kind) {
        Ok(()) => {}
        Err(RunErrorKind::Fault(_)) => return None,
        Err(error) => panic!("{name}: {error}"),
    }
    drop(frame);
    let zero = Duration::ZERO;
    let mut measured = Measured {
        name,
        whole,
        gap,
        end,
        cancel: zero,
        cancel_return: zero,
        deadline: zero,
        deadline_return: zero,
    };
    if whole < SHORT {
        return Some(measured);
    }
    for share in SHARES {
        let after = whole.mul_f64(share);
        let mut frame = new_frame();
        let (asked, token) = (Gaps::new(), CancelToken::new());
        let options = RunOptions::new().budget(&budget).cancel(&token).asked(&asked);
        let (outcome, fired, returned) = std::thread::scope(|scope| {
            let firing = scope.spawn(|| {
                std::thread::sleep(after);
                let now = Instant::now();
                token.cancel();
                now
            });
            let outcome = bound.execute_with(&mut frame, options);
            let returned = Instant::now();
            (outcome, firing.join().expect("it does not panic"), returned)
        });
        if let Err(error) = outcome {
            assert_eq!(error.kind, RunErrorKind::Cancelled, "{}", measured.name);
            let answered = asked.0.lock().expect("nobody panics here").0;
            measured.cancel = measured.cancel.max(answered.saturating_duration_since(fired));
            measured.cancel_return = measured.cancel_return.max(returned.saturating_duration_since(fired));
        }
        let mut frame = new_frame();
        let asked = Gaps::new();
        let options = RunOptions::new().budget(&budget).time(after).asked(&asked);
        let end = Instant::now() + after;
        let outcome = bound.execute_with(&mut frame, options);
        let returned = Instant::now();
        if let Err(error) = outcome {
            let is_time = matches!(error.kind, RunErrorKind::Fault(Fault::Exhausted(Exhausted::Time { .. })));
            assert!(is_time, "{}: {error}", measured.name);
            let answered = asked.0.lock().expect("nobody panics here").0;
            measured.deadline = measured.deadline.max(answered.saturating_duration_since(end));
            measured.deadline_return = measured.deadline_return.max(returned.saturating_duration_since(end));
        }
    }
    Some(measured)
}

/// The best of some measurements, taken again while it is late: other programs of the machine take their time too.
fn measure_again(limit: Duration, measure: impl Fn() -> Option<Measured>) -> Option<Measured> {
    let mut best = measure()?;
    for _ in 0..AGAIN {
        if best.latency() <= limit {
            break;
        }
        best = measure().filter(|again| again.latency() < best.latency()).unwrap_or(best);
    }
    println!("{}", best.line());
    Some(best)
}

fn measure_operator(overload: &Arc<Overload>, args: &[Value]) -> Option<Measured> {
    let sizes: Vec<usize> = args.iter().map(Value::rows).collect();
    let new = || bind(overload, args, Style::Fused).expect("an operator on its types");
    measure(format!("{overload} {sizes:?}"), &new().0, &|| new().1)
}

fn print(mut all: Vec<Measured>, limit: Duration) {
    all.sort_by_key(|measured| std::cmp::Reverse(measured.latency()));
    println!("       ms     gap     end  cancel  return    time  return  of the latest");
    let late = all.iter().filter(|measured| measured.latency() > limit).count();
    all.iter().take(late.max(12)).for_each(|measured| println!("{}", measured.line()));
    println!("{late} of {} above {limit:?}", all.len());
}

#[test]
#[ignore = "a measurement of minutes"]
fn of_every_operator() {
    let rows = number("CEMBRA_ROWS", 10_000_000).next_multiple_of(512);
    let most = number("CEMBRA_LISTS", 3);
    let arguments = arguments(rows);
    let (mut all, limit) = (Vec::new(), Duration::from_millis(50));
    for family in table().families().filter(|family| is_chosen(family.name())) {
        let lists = lists(family, &arguments);
        let step = lists.len().div_ceil(most).max(1);
        for (overload, args) in lists.into_iter().step_by(step) {
            let args: Vec<Value> = args.into_iter().cloned().collect();
            all.extend(measure_again(limit, || measure_operator(&overload, &args)));
        }
    }
    print(all, limit);
}

/// Arrays of many rows, without a value for each of them on the way.
fn large_arguments(rows: usize) -> Vec<Value> {
    let real = |row: usize| (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 12) as f64;
    let dense = |rows: ArrayRows| Value::Array(ArrayClass::Dense, Arc::new(rows));
    let plain = |element: ScalarType, bytes: &[u8]| {
        let mut array = ArrayRows::new(element);
        array.resize(element, rows);
        array.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        array
    };
    let reals: Vec<f64> = (0..rows).map(real).collect();
    let integers: Vec<i64> = (0..rows as i64).map(|row| row % 1000).collect();
    let mut texts = ArrayRows::new(ScalarType::Text);
    for row in 0..rows {
        texts.push_raw(true, &(row as u32 % 1000).to_string().as_bytes()[..1]);
    }
    let points: Vec<i64> = (0..=rows).step_by(64).map(|point| point as i64).collect();
    let plane = NdType::new(ScalarType::Float64, 2, 0).expect("a type");
    let (size, width) = (512, rows / 512);
    let strided = NdRows::from_strided(
        plane,
        bytemuck::cast_slice(&reals),
        0,
        &[width, size],
        &[8, 8 * width as isize],
    );
    vec![
        dense(plain(ScalarType::Float64, bytemuck::cast_slice(&reals))),
        dense(plain(ScalarType::Int64, bytemuck::cast_slice(&integers))),
        dense(texts),
        Value::NdArray(Arc::new(strided.expect("fits"))),
        Value::Edge(ArrayClass::Dense, Arc::new(Edge::from_split_points(&points).expect("valid"))),
        Value::Edge(ArrayClass::Dense, Arc::new(Edge::to_scalar(rows))),
        Value::Axes(Axes::new([0]).expect("one axis")),
        Value::Scalar(ScalarValue::Float64(0.5)),
        Value::Scalar(ScalarValue::Int64(2)),
        Value::Scalar(ScalarValue::Boolean(true)),
        Value::Scalar(ScalarValue::Text("7".into())),
    ]
}

fn real_rows(value: &Value) -> &[f64] {
    let Value::Array(_, rows) = value else { panic!("{value:?} is no array") };
    bytemuck::cast_slice(rows.bytes())
}

/// Sorts, selections, groups, folds, scans, texts, distinct values and joins.
const DOZEN: &[&str] = &[
    "array._ordinal_rank",
    "array._dense_rank",
    "math._median",
    "math._inverse_cdf",
    "edge.group_by",
    "array.unique",
    "math._sum",
    "math._cum_sum",
    "nd._sum",
    "nd._median",
    "nd._cumsum",
    "nd._quantile",
    "strings.upper",
    "strings._agg_join",
    "array.take",
];

#[test]
#[ignore = "a measurement of minutes and many gigabytes"]
fn of_a_dozen() {
    let rows = number("CEMBRA_ROWS", 100_000_000).next_multiple_of(512);
    let arguments = large_arguments(rows);
    let (mut all, limit) = (Vec::new(), Duration::from_millis(150));
    for name in DOZEN.iter().filter(|name| is_chosen(name)) {
        let mut lists = lists(table().family(name).expect("a standard operator"), &arguments);
        assert!(!lists.is_empty(), "{name} takes none of the arguments");
        // All rows at once rather than those of groups.
        lists.sort_by_key(|(_, args)| args.len());
        for (overload, args) in lists.into_iter().take(number("CEMBRA_LISTS", 2)) {
            let args: Vec<Value> = args.into_iter().cloned().collect();
            all.extend(measure_again(limit, || measure_operator(&overload, &args)));
        }
    }
    let wide = NdType::new(ScalarType::Float64, 2, 0).expect("a type");
    let (bytes, half) = (bytemuck::cast_slice(real_rows(&arguments[0])), rows / 2);
    let wide = NdRows::from_strided(wide, bytes, 0, &[2, half], &[8 * half as isize, 8]).expect("fits");
    let args = [Value::NdArray(Arc::new(wide)), Value::Axes(Axes::new([0]).expect("one axis"))];
    let types: Vec<_> = args.iter().map(Value::qtype).collect();
    let overload = table().overload("nd._sum", &types).expect("a standard operator");
    all.extend(measure_again(limit, || measure_operator(&overload, &args)));
    for names in [&["math.add", "math.erf", "math.multiply"][..], &["math.multiply", "math.exp", "math._sum"]]
    {
        let (bound, input) = chain(names, &arguments[0]);
        let new_frame = || {
            let mut frame = bound.new_frame().expect("memory");
            frame.write(&input, &arguments[0]).expect("rows");
            frame
        };
        let name = format!("region of {names:?}");
        all.extend(measure_again(limit, || measure(name.clone(), &bound, &new_frame)));
    }
    print(all, limit);
}
