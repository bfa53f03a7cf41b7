//! Test: every operator on arrays asks in time whether its run has to stop, and counts the memory it takes.
//!
//! Operators are found in the table, with arguments of all kinds; what is new there is tested as well.

use crate::array::meter::Watch;
use crate::builtins::table;
use crate::machine::code::Style;
use crate::machine::error::RunErrorKind;
use crate::machine::invoke::bind;
use crate::machine::options::RunOptions;
use crate::operator::{Family, Overload};
use crate::value::nd_type::Axes;
use crate::value::{
    ArrayClass, ArrayRows, Edge, Exhausted, Fault, NdRows, NdType, QType, ScalarType, ScalarValue, Value,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const ROWS: usize = 1 << 18;

/// Rows that may go by between two questions.
const MOST: usize = 1 << 17;

/// Counts questions.
#[derive(Default)]
struct Counter(AtomicU64);

impl Watch for Counter {
    fn ask(&self) -> Result<(), Exhausted> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Operators that look at no rows, or at a few of them.
const AT_ONCE: &[&str] = &[
    "array.at",
    "array.size",
    "array._shape_of",
    "array._shape",
    // Here of two rows.
    "array.slice",
    "edge.child_shape",
    "edge.child_size",
    "edge.parent_shape",
    "edge.parent_size",
    // Here of ranges.
    "edge.sizes",
    "edge.to_scalar",
    "edge.to_single",
    "math.searchsorted",
    // Of truths, up to the first that is the greatest or the least.
    "nd._argmax",
    "nd._argmin",
    "nd.get",
    "nd.length",
    "nd.set",
    "nd.shape",
    "nd._size",
    "core.has._array",
];

/// One argument of each kind; arrays have so many rows, a multiple of 512.
pub(super) fn arguments(count: usize) -> Vec<Value> {
    let rows = |element: ScalarType, value: &dyn Fn(usize) -> Option<ScalarValue>| {
        let values: Vec<Option<ScalarValue>> = (0..count).map(value).collect();
        Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(element, &values)))
    };
    let real = |row: usize| (row * 37 % 1009) as f64 * 0.37 - 100.0;
    let some = |row: usize| (!row.is_multiple_of(7)).then_some(row);
    let nd = |element: ScalarType| NdType::new(element, 1, 0).expect("a type");
    let reals: Vec<f64> = (0..count).map(real).collect();
    let integers: Vec<i64> = (0..count).map(|row| (row % 1000) as i64).collect();
    let truths: Vec<bool> = (0..count).map(|row| row % 3 == 0).collect();
    let nd_array =
        |array: Result<NdRows, crate::value::NdError>| Value::NdArray(Arc::new(array.expect("fits")));
    let points: Vec<i64> = (0..=count).step_by(64).map(|point| point as i64).collect();
    let plane = NdType::new(ScalarType::Float64, 2, 0).expect("a type");
    let bytes: &[u8] = bytemuck::cast_slice(&reals);
    let (size, width) = (512, count / 512);
    vec![
        rows(ScalarType::Float64, &|row| some(row).map(|row| ScalarValue::Float64(real(row)))),
        rows(ScalarType::Int64, &|row| Some(ScalarValue::Int64((row % 1000) as i64))),
        rows(ScalarType::Int64, &|row| Some(ScalarValue::Int64((count - 1 - row) as i64))),
        rows(ScalarType::Unit, &|row| some(row).map(|_| ScalarValue::Unit)),
        rows(ScalarType::Boolean, &|row| some(row).map(|row| ScalarValue::Boolean(row % 2 == 0))),
        rows(ScalarType::Text, &|row| {
            some(row).map(|row| ScalarValue::Text(format!("{}", row % 999).into()))
        }),
        nd_array(NdRows::from_slice(nd(ScalarType::Float64), &[count], &reals)),
        nd_array(NdRows::from_slice(nd(ScalarType::Int64), &[count], &integers)),
        nd_array(NdRows::from_slice(nd(ScalarType::Boolean), &[count], &truths)),
        // By columns, so that no run of elements is in order.
        nd_array(NdRows::from_strided(plane, bytes, 0, &[width, size], &[8, 8 * width as isize])),
        Value::Edge(ArrayClass::Dense, Arc::new(Edge::from_split_points(&points).expect("valid"))),
        Value::Edge(ArrayClass::Dense, Arc::new(Edge::to_scalar(count))),
        Value::ArrayShape(ArrayClass::Dense, count as u64),
        Value::Axes(Axes::new([0]).expect("one axis")),
        Value::Scalar(ScalarValue::Float64(0.5)),
        Value::Scalar(ScalarValue::Int64(2)),
        Value::Scalar(ScalarValue::Int64(count as i64)),
        Value::Scalar(ScalarValue::Boolean(true)),
        Value::Scalar(ScalarValue::Text("7".into())),
    ]
}

/// The lists of arguments that an operator takes, one for each list of types, up to three arguments.
pub(super) fn lists<'a>(family: &Family, arguments: &'a [Value]) -> Vec<(Arc<Overload>, Vec<&'a Value>)> {
    let mut found = Vec::new();
    let mut types = BTreeSet::new();
    let has_rows = |value: &&Value| match value {
        // One to a scalar has no rows of its own, and copies share any other.
        Value::Edge(_, edge) => !edge.is_to_scalar() && !family.name().starts_with("core."),
        // 64 rows are one word.
        Value::Array(_, rows) => rows.element() != ScalarType::Unit,
        value => value.rows() > 0,
    };
    let is_shape = |value: &&Value| matches!(value, Value::ArrayShape(..));
    let mut add = |args: Vec<&'a Value>| {
        let qtypes: Vec<QType> = args.iter().map(|value| value.qtype()).collect();
        if !args.iter().any(|value| has_rows(value) || is_shape(value)) {
            return;
        }
        if let Some(overload) = family.overload(&qtypes)
            && (args.iter().any(has_rows)
                || overload.result().array().is_some_and(|t| t.element != ScalarType::Unit))
        {
            let name = format!("{overload} {:?}", args.iter().map(|value| value.rows()).collect::<Vec<_>>());
            if types.insert(name) {
                found.push((overload, args));
            }
        }
    };
    for first in arguments {
        add(vec![first]);
        for second in arguments {
            add(vec![first, second]);
            for third in arguments {
                add(vec![first, second, third]);
            }
        }
    }
    found
}

#[test]
fn every_operator_asks_and_counts() {
    let arguments = arguments(ROWS);
    let (mut asked_by, mut silent, mut wrong) = (0, Vec::new(), Vec::new());
    for family in table().families() {
        let mut lists = lists(family, &arguments);
        // Pointwise operators have many.
        let step = lists.len().div_ceil(6).max(1);
        lists = lists.into_iter().step_by(step).collect();
        let in_styles = lists.into_iter().flat_map(|(overload, args)| {
            [Style::Fused, Style::Stepped].map(|style| (overload.clone(), args.clone(), style))
        });
        for (overload, args, style) in in_styles {
            let args: Vec<Value> = args.into_iter().cloned().collect();
            let (bound, mut frame) = bind(&overload, &args, style).expect("an operator on its types");
            // What the host wrote.
            frame.set_alive(frame.count_alive());
            let asked = Counter::default();
            let outcome = bound.execute_with(&mut frame, RunOptions::new().asked(&asked));
            if frame.alive() != frame.count_alive() {
                let counted = frame.count_alive();
                wrong.push(format!("{overload}: {} bytes alive, counted {counted}", frame.alive()));
            }
            match outcome.map_err(|error| error.kind) {
                Ok(()) => {}
                Err(RunErrorKind::Fault(_)) => continue,
                Err(error) => panic!("{overload}: {error}"),
            }
            let asked = asked.0.into_inner() as usize;
            match asked >= 2 + ROWS / MOST {
                true => asked_by += 1,
                false if !AT_ONCE.contains(&&**family.name()) => silent.push(format!("{overload}: {asked}")),
                false => {}
            }
            wrong.extend(check_memory(&overload, &args, style));
        }
    }
    assert!(wrong.is_empty(), "memory is not counted:\n{}", wrong.join("\n"));
    assert!(silent.is_empty(), "go over {MOST} rows without a question:\n{}", silent.join("\n"));
    assert!(asked_by > 300, "only {asked_by}");
}

#[test]
fn operators_of_long_texts_ask() {
    let asks = |name: &str, bytes: usize| {
        let text = Value::Scalar(ScalarValue::Text("a".repeat(bytes).into()));
        let start = Value::Scalar(ScalarValue::Int64(0));
        let args = match name {
            "strings._join_with_separator" => vec![text.clone(), text],
            "strings.substr" => vec![text, start, Value::Missing(ScalarType::Int64)],
            _ => vec![text],
        };
        let types: Vec<QType> = args.iter().map(Value::qtype).collect();
        let family = table().families().find(|family| &**family.name() == name).cloned();
        let overload = family.and_then(|family| family.overload(&types)).unwrap_or_else(|| panic!("{name}"));
        let (bound, mut frame) = bind(&overload, &args, Style::Fused).expect("an operator on its types");
        let asked = Counter::default();
        bound.execute_with(&mut frame, RunOptions::new().asked(&asked)).expect("a text");
        asked.0.into_inner()
    };
    for name in
        ["strings._join_with_separator", "strings.lower", "strings.upper", "strings.substr", "strings.encode"]
    {
        assert!(asks(name, 1 << 21) > asks(name, 10), "{name}");
    }
}

#[test]
fn each_row_of_long_texts_asks() {
    const ROWS: usize = 3;
    let asks = |name: &str, bytes: usize| {
        let long = ScalarValue::Text("a".repeat(bytes).into());
        let of_rows = |row: ScalarValue| {
            let rows = ArrayRows::from_values(row.scalar_type(), &vec![Some(row); ROWS]);
            Value::Array(ArrayClass::Dense, Arc::new(rows))
        };
        let letters = of_rows(ScalarValue::Text("a".into()));
        let one = Value::Scalar(long.clone());
        let args = match name {
            "strings.length" | "strings.encode" => vec![of_rows(long)],
            "strings.find" => {
                vec![one, letters, Value::Scalar(ScalarValue::Int64(0)), Value::Missing(ScalarType::Int64)]
            }
            "strings.substr" => {
                vec![one, of_rows(ScalarValue::Int64(0)), Value::Missing(ScalarType::Int64)]
            }
            "strings._join_with_separator" => vec![Value::Scalar(ScalarValue::Text("".into())), one, letters],
            "core.where" => vec![of_rows(ScalarValue::Unit), one, letters],
            "array.take" => vec![of_rows(long), of_rows(ScalarValue::Int64(0))],
            _ => vec![one, letters],
        };
        let types: Vec<QType> = args.iter().map(Value::qtype).collect();
        let family = table().families().find(|family| &**family.name() == name).cloned();
        let overload = family.and_then(|family| family.overload(&types)).unwrap_or_else(|| panic!("{name}"));
        let (bound, mut frame) = bind(&overload, &args, Style::Fused).expect("an operator on its types");
        let asked = Counter::default();
        bound.execute_with(&mut frame, RunOptions::new().asked(&asked)).expect("rows");
        asked.0.into_inner() as usize
    };
    for name in [
        "strings.length",
        "strings.find",
        "strings.count",
        "strings.substr",
        "strings.encode",
        "strings._join_with_separator",
        "core.where",
        "array.take",
    ] {
        assert!(asks(name, 1 << 20) >= asks(name, 10) + ROWS, "{name}");
    }
}

/// With little memory an operator fails, or needs little; whatever it does, bytes are counted. What is wrong.
fn check_memory(overload: &Arc<Overload>, args: &[Value], style: Style) -> Option<String> {
    const LIMIT: u64 = 10_000;
    let (bound, mut frame) = bind(overload, args, style).expect("it was bound before");
    let given = frame.count_alive();
    frame.set_alive(given);
    let outcome = bound.execute_with(&mut frame, RunOptions::new().bytes_alive(given + LIMIT));
    let (alive, counted) = (frame.alive(), frame.count_alive());
    if alive != counted || alive > given + LIMIT {
        return Some(format!("{overload} of {LIMIT} bytes: {alive} bytes alive, counted {counted}"));
    }
    let kind = outcome.err()?.kind;
    let is_bytes = matches!(kind, RunErrorKind::Fault(Fault::Exhausted(Exhausted::Bytes { .. })));
    (!is_bytes).then(|| format!("{overload} of {LIMIT} bytes: {kind}"))
}
