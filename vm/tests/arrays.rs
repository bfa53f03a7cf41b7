//! Operators on arrays, one at a time: small enough for checkers that watch every access.

use cembra_vm::builtins;
use cembra_vm::machine::invoke::invoke;
use cembra_vm::operator::Family;
use cembra_vm::value::{ArrayClass, ArrayRows, Edge, QType, ScalarType, ScalarValue, Value};
use std::sync::Arc;

/// Around the words of presence.
const SIZES: [usize; 5] = [0, 1, 63, 64, 65];

fn array(element: ScalarType, rows: impl Iterator<Item = Option<ScalarValue>>) -> Value {
    let rows: Vec<_> = rows.collect();
    Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(element, &rows)))
}

fn floats(size: usize, missing: usize) -> Value {
    let row = |i: usize| (!i.is_multiple_of(missing)).then_some(ScalarValue::Float64(i as f64));
    array(ScalarType::Float64, (0..size).map(row))
}

fn apply(operator: &str, args: &[Value]) -> Value {
    let types: Vec<QType> = args.iter().map(Value::qtype).collect();
    let overload =
        builtins::table().overload(operator, &types).unwrap_or_else(|| panic!("{operator} {types:?}"));
    invoke(&overload, args).unwrap_or_else(|e| panic!("{operator}: {e}"))
}

fn rows(value: &Value) -> Vec<Option<ScalarValue>> {
    match value {
        Value::Array(_, rows) => rows.iter().collect(),
        other => panic!("{other} is no array"),
    }
}

#[test]
fn plain_operators_work_row_by_row() {
    for size in SIZES {
        let (x, y) = (floats(size, 3), floats(size, 7));
        let sum = rows(&apply("math.add", &[x.clone(), y]));
        let scaled = rows(&apply("math.multiply", &[x.clone(), Value::from(2.0)]));
        let less = rows(&apply("core.less", &[x.clone(), Value::from(Some(10.0))]));
        let filled = rows(&apply("core.presence_or", &[x, Value::from(-1.0)]));
        for i in 0..size {
            let there = !i.is_multiple_of(3);
            let value = |v: f64| Some(ScalarValue::Float64(v));
            assert_eq!(sum[i], value(2.0 * i as f64).filter(|_| there && !i.is_multiple_of(7)));
            assert_eq!(scaled[i], value(2.0 * i as f64).filter(|_| there));
            assert_eq!(less[i].is_some(), there && i < 10);
            assert_eq!(filled[i], value(if there { i as f64 } else { -1.0 }));
        }
    }
}

#[test]
fn texts_and_masks_work_row_by_row() {
    let texts = [Some("ab"), None, Some("straße")].map(|t| t.map(|t| ScalarValue::Text(t.into())));
    let texts = array(ScalarType::Text, texts.into_iter());
    let upper = ["AB", "", "STRASSE"].map(|t| Some(ScalarValue::Text(t.into())).filter(|_| !t.is_empty()));
    assert_eq!(rows(&apply("strings.upper", std::slice::from_ref(&texts))), upper);
    let mask = array(ScalarType::Unit, [None, Some(ScalarValue::Unit), Some(ScalarValue::Unit)].into_iter());
    let both = rows(&apply("core.presence_and", &[texts, mask]));
    assert_eq!(both.iter().map(Option::is_some).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn the_first_row_that_raises_is_named() {
    let integers =
        |values: &[i64]| array(ScalarType::Int64, values.iter().map(|v| Some(ScalarValue::Int64(*v))));
    let args = [integers(&[4, 5, 6]), integers(&[2, 0, 0])];
    let overload = builtins::table().overload("math.floordiv", &args.each_ref().map(Value::qtype));
    let error = invoke(&overload.expect("integers divide"), &args).expect_err("division by zero");
    assert_eq!(error.to_string(), "division by zero, in row 1");
    let args = [integers(&[4, 5, 6]), integers(&[2])];
    let overload = builtins::table().overload("math.add", &args.each_ref().map(Value::qtype));
    let error = invoke(&overload.expect("integers add"), &args).expect_err("other sizes");
    assert_eq!(error.to_string(), "argument sizes mismatch: (3, 1)");
}

#[test]
fn groups_are_reduced_and_scanned() {
    let x = floats(5, 4);
    let edge =
        Value::Edge(ArrayClass::Dense, Arc::new(Edge::from_split_points(&[0, 2, 2, 5]).expect("valid")));
    let value = |v: f64| Some(ScalarValue::Float64(v));
    assert_eq!(apply("math._sum", std::slice::from_ref(&x)), Value::from(6.0));
    assert_eq!(rows(&apply("math._sum", &[x.clone(), edge.clone()])), [value(1.0), value(0.0), value(5.0)]);
    assert_eq!(rows(&apply("math._max", &[x.clone(), edge.clone()])), [value(1.0), None, value(3.0)]);
    let sums = rows(&apply("math._cum_sum", &[x, edge.clone()]));
    assert_eq!(sums, [None, value(1.0), value(2.0), value(5.0), None]);
    let parents = array(ScalarType::Float64, [7.0, 8.0, 9.0].map(value).into_iter());
    let expanded = rows(&apply("array._expand", &[parents, edge]));
    assert_eq!(expanded, [7.0, 7.0, 9.0, 9.0, 9.0].map(value));
}

/// Rows of all groups are scanned as they come; the results are those of each group by itself.
#[test]
fn rows_of_groups_in_any_order_are_scanned_as_each_group_alone() {
    let mut rng = fastrand::Rng::with_seed(5);
    for round in 0..40 {
        let (size, groups) = (rng.usize(..300), 1 + rng.usize(..9));
        let [missing, orphans] = [round % 2 == 0, round % 3 == 0];
        let parents: Vec<Option<usize>> =
            (0..size).map(|_| (!orphans || rng.u8(..7) > 0).then(|| rng.usize(..groups))).collect();
        let ids = parents.iter().map(|parent| parent.map(|parent| ScalarValue::Int64(parent as i64)));
        let Value::Array(_, ids) = array(ScalarType::Int64, ids) else { unreachable!("an array") };
        let edge = Edge::from_mapping((*ids).clone(), groups).expect("an edge");
        let edge = Value::Edge(ArrayClass::Dense, Arc::new(edge));
        for element in [ScalarType::Int32, ScalarType::Int64, ScalarType::Float32, ScalarType::Float64] {
            let mut number = || {
                let special = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, i32::MIN.into()];
                let real = if rng.u8(..9) == 0 { special[rng.usize(..7)] } else { rng.f64() * 2e9 - 1e9 };
                match element {
                    ScalarType::Int32 => ScalarValue::Int32(real as i32),
                    ScalarType::Int64 => ScalarValue::Int64((real * 1e10) as i64),
                    ScalarType::Float32 => ScalarValue::Float32(real as f32),
                    _ => ScalarValue::Float64(real),
                }
            };
            let cells: Vec<Option<ScalarValue>> =
                (0..size).map(|row| (!missing || row % 5 > 0).then(&mut number)).collect();
            let x = array(element, cells.iter().cloned());
            for operator in ["math._cum_sum", "math._cum_max", "array._cum_count", "array._agg_index"] {
                let found = rows(&apply(operator, &[x.clone(), edge.clone()]));
                let mut expected = vec![None; size];
                for group in 0..groups {
                    let members: Vec<usize> = (0..size).filter(|row| parents[*row] == Some(group)).collect();
                    let alone = array(element, members.iter().map(|row| cells[*row].clone()));
                    for (row, result) in members.into_iter().zip(rows(&apply(operator, &[alone]))) {
                        expected[row] = result;
                    }
                }
                // As text: NaN is equal to itself, and -0 is not 0.
                assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{operator} of {element}");
            }
        }
    }
}

/// A UNIT has no cells, so that its rows look like one value; a scalar beside it is one value all the same.
#[test]
fn rows_of_units_stand_beside_scalars() {
    let keep = Family::new("test.keep", &["u", "x"], "x").binary(|(): (), x: f64| x);
    let units = array(ScalarType::Unit, (0..100).map(|i| (i != 7).then_some(ScalarValue::Unit)));
    let args = [units, Value::from(1.5)];
    let overload = keep.overload(&args.each_ref().map(Value::qtype)).expect("by rows");
    let kept = rows(&invoke(&overload, &args).expect("no error"));
    assert_eq!(kept.iter().flatten().filter(|row| **row == ScalarValue::Float64(1.5)).count(), 99);
    assert_eq!(kept[7], None);
}

#[test]
fn sums_of_int32_wrap_exactly() {
    let x = array(ScalarType::Int32, (0..3).map(|_| Some(ScalarValue::Int32(i32::MAX))));
    let sums = rows(&apply("math._cum_sum", &[x]));
    assert_eq!(sums, [i32::MAX, -2, i32::MAX - 2].map(|v| Some(ScalarValue::Int32(v))));
}
