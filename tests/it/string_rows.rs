//! Operators on strings over rows give for each row what they give for its single values, and raise at the first row that
//! raises.

use crate::support::{bind, parse};
use cembra::compile::Options;
use cembra::prepare::{Prepare, Source};
use cembra::registry::Dialect;
use cembra::vm::machine::{BoundExpr, RunErrorKind};
use cembra::vm::value::{ArrayClass, ArrayRows, ArrayType, Fault, QType, ScalarType, ScalarValue, Value};
use fastrand::Rng;
use std::sync::Arc;

/// Of strings `s` and `t`, numbers `n` and `k`, and masks `m`; `'x'` stands for a literal of the strings' type.
const EXPRESSIONS: [&str; 46] = [
    "strings.length(s)",
    "strings.strip(s)",
    "strings.strip(s, t)",
    "strings.strip(s, 'a')",
    "strings.lstrip(s)",
    "strings.rstrip(s, t)",
    "strings.contains(s, t)",
    "strings.contains(s, 'a')",
    "strings.contains('aab', t)",
    "strings.find(s, t)",
    "strings.find(s, 'a', n)",
    "strings.find(s, t, n, k)",
    "strings.rfind(s, t)",
    "strings.rfind(s, 'a', 0, k)",
    "strings.count(s, t)",
    "strings.count(s, 'a')",
    "strings.substr(s, n)",
    "strings.substr(s, 1, 2)",
    "strings.substr(s, n, k)",
    "strings.replace(s, t, 'xy')",
    "strings.replace(s, 'a', t)",
    "strings.replace(s, t, t, n)",
    "strings.replace(s, '', '-', 3)",
    "strings.join(s, t)",
    "strings.join(s, ', ', t, s)",
    "strings.join(s)",
    "strings.join_with_separator('--', s, t, 'z')",
    "strings.parse_int32(s)",
    "strings.parse_int64(s)",
    "strings.parse_float32(s)",
    "strings.parse_float64(s)",
    "strings.as_text(s)",
    "core.equal(s, t)",
    "core.equal(s, 'a')",
    "core.not_equal(s, t)",
    "core.less('ab', s)",
    "core.less_equal(s, t)",
    "bool.equal(s, 'a')",
    "bool.not_equal(s, t)",
    "bool.less(s, t)",
    "bool.less_equal(t, 'a')",
    "core.where(m, s, t)",
    "core.where(m, s, 'x')",
    "s | t",
    "(s & m) | 'x'",
    "s & m",
];

/// Of texts only.
const TEXTS: [&str; 6] = [
    "strings.upper(s)",
    "strings.lower(strings.join(s, t))",
    "strings.encode(s)",
    "strings.decode(strings.encode(s))",
    "strings.printf('%s: %d', s, n)",
    "strings.format('{a}/{b}', a=s, b=t)",
];

const NAMES: [&str; 5] = ["s", "t", "n", "k", "m"];

fn elements(strings: ScalarType) -> [ScalarType; 5] {
    [strings, strings, ScalarType::Int64, ScalarType::Int64, ScalarType::Unit]
}

fn program(text: &str, types: &[QType]) -> BoundExpr {
    let inputs = NAMES.into_iter().zip(types.iter().cloned());
    bind(Source::new(parse(text, Dialect::Cembra), inputs), &Prepare::standard(), Options::default())
}

/// The result, or the row that raises.
fn run(bound: &BoundExpr, values: &[Value]) -> Result<Value, Option<u64>> {
    let mut frame = bound.new_frame().expect("memory");
    for (name, value) in NAMES.iter().zip(values) {
        if let Ok(slot) = bound.input_slot(name) {
            frame.write(slot, value).expect("of the type");
        }
    }
    match bound.execute(&mut frame).map_err(|error| error.kind) {
        Ok(()) => Ok(frame.read(bound.output_slot()).expect("written")),
        Err(RunErrorKind::Fault(Fault::Row { row, .. })) => Err(Some(row)),
        Err(_) => Err(None),
    }
}

fn value(element: ScalarType, is_ascii: bool, rng: &mut Rng) -> ScalarValue {
    let strings = [
        "a",
        "",
        "ab",
        "b a",
        " a ",
        "7",
        "-12",
        "1.5",
        "aaaa",
        "ß",
        "日a",
        "e\u{301}",
        "Σ Σ\t",
        "a quite long one",
    ];
    let text = strings[rng.usize(..if is_ascii { 9 } else { strings.len() })];
    match element {
        ScalarType::Text => ScalarValue::Text(text.into()),
        ScalarType::Bytes => ScalarValue::Bytes(text.as_bytes().into()),
        ScalarType::Int64 => ScalarValue::Int64(rng.i64(-3..4)),
        _ => ScalarValue::Unit,
    }
}

fn optional(element: ScalarType, row: Option<ScalarValue>) -> Value {
    row.map_or(Value::Missing(element), Value::Present)
}

/// A row of an array, or a single result.
fn result_of(value: &Value, row: usize) -> Option<ScalarValue> {
    match value {
        Value::Array(_, rows) => rows.get(row),
        Value::Scalar(value) | Value::Present(value) => Some(value.clone()),
        Value::Missing(_) => None,
        other => panic!("{other} is no row"),
    }
}

#[test]
fn rows_are_those_of_single_values() {
    let mut rng = Rng::with_seed(11);
    for strings in [ScalarType::Text, ScalarType::Bytes] {
        let elements = elements(strings);
        let of_texts = TEXTS.iter().filter(|_| strings == ScalarType::Text);
        for text in EXPRESSIONS.iter().chain(of_texts) {
            let text = if strings == ScalarType::Text { text.to_string() } else { with_bytes(text) };
            let single = program(&text, &elements.map(QType::Optional));
            for class in [ArrayClass::Dense, ArrayClass::Array] {
                let types = elements.map(|element| QType::Array(ArrayType { class, element }));
                let over_rows = program(&text, &types);
                for (len, share) in
                    [(0, 1.0), (1, 1.0), (63, 0.9), (64, 1.0), (65, 0.5), (130, 1.0), (300, 0.97), (70, 0.0)]
                {
                    let is_ascii = rng.bool();
                    let columns = elements.map(|element| {
                        let row = |_| (rng.f64() < share).then(|| value(element, is_ascii, &mut rng));
                        (0..len).map(row).collect::<Vec<_>>()
                    });
                    let arrays: Vec<Value> = elements
                        .iter()
                        .zip(&columns)
                        .map(|(element, rows)| {
                            Value::Array(class, Arc::new(ArrayRows::from_values(*element, rows)))
                        })
                        .collect();
                    let rows = (0..len).map(|row| {
                        let values: Vec<Value> = elements
                            .iter()
                            .zip(&columns)
                            .map(|(element, rows)| optional(*element, rows[row].clone()))
                            .collect();
                        run(&single, &values).map(|value| result_of(&value, row))
                    });
                    let rows: Vec<_> = rows.collect();
                    match (run(&over_rows, &arrays), rows.iter().position(Result::is_err)) {
                        (Ok(Value::Array(_, found)), None) => {
                            assert_eq!(found.len(), len, "{text}");
                            let expected = rows.into_iter().map(|row| row.expect("checked"));
                            expected.enumerate().for_each(|(row, expected)| {
                                assert_eq!(found.get(row), expected, "{text}, row {row} of {len}")
                            });
                        }
                        (Err(row), Some(first)) => assert_eq!(row, Some(first as u64), "{text}"),
                        (found, first) => panic!("{text}: {found:?}, the first row that raises is {first:?}"),
                    }
                }
            }
        }
    }
}

/// The expression with its texts as bytes.
fn with_bytes(text: &str) -> String {
    let mut parts = text.split('\'');
    let mut bytes = parts.next().unwrap_or_default().to_string();
    for (number, part) in parts.enumerate() {
        bytes += if number % 2 == 0 { "b'" } else { "'" };
        bytes += part;
    }
    bytes
}
