//! What `columns::rowwise` lets pass works row by row: every operator, on rows together and one by one.

use cembra::columns::rowwise;
use cembra::compile::{Options, compile};
use cembra::expr::{Expr, Graph};
use cembra::prepare::{Prepare, Source};
use cembra::registry::Registry;
use cembra::vm::machine::{BoundExpr, RunErrorKind};
use cembra::vm::value::{ArrayClass, ArrayRows, ArrayType, Fault, QType, ScalarType, ScalarValue, Value};
use std::sync::Arc;

/// Types of rows; weak floats and bytes are as floats and texts.
fn elements() -> impl Iterator<Item = ScalarType> {
    ScalarType::ALL.into_iter().filter(|scalar| !matches!(scalar, ScalarType::WeakFloat | ScalarType::Bytes))
}

/// Operators that must pass, so that the test cannot become empty.
const KNOWN: [&str; 8] = [
    "math.add",
    "math.floordiv",
    "core.where",
    "core.presence_or",
    "core.has",
    "core.const_like",
    "strings.upper",
    "bool.logical_and",
];

/// Operators that must not.
const REFUSED: [&str; 8] = [
    "math.sum",
    "math.mean",
    "array.count",
    "math.cum_sum",
    "array.take",
    "array.unique",
    "array.present_indices",
    "core.shape_of",
];

#[test]
fn operators_that_pass_work_row_by_row() {
    let registry = Registry::standard();
    let mut passed: Vec<Arc<str>> = Vec::new();
    let mut checked = 0;
    for definition in registry.definitions() {
        let before = checked;
        for types in type_lists() {
            checked += usize::from(check(&registry, &definition.name, &types));
        }
        if checked > before {
            passed.push(definition.name.clone());
        }
    }
    let has = |name: &&str| passed.iter().any(|passed| **passed == **name);
    assert!(checked > 1000, "{checked} overloads");
    assert_eq!(KNOWN.iter().find(|name| !has(name)), None, "is refused");
    assert_eq!(REFUSED.iter().find(|name| has(name)), None, "has passed");
}

/// Types of up to three arguments, arrays or, behind the first, scalars.
fn type_lists() -> Vec<Vec<QType>> {
    let array = |element| QType::Array(ArrayType { class: ArrayClass::Dense, element });
    let mut lists: Vec<Vec<QType>> = elements().map(|e| vec![array(e)]).collect();
    for first in elements() {
        for second in elements() {
            lists.push(vec![array(first), array(second)]);
            lists.push(vec![array(first), QType::Scalar(second)]);
            lists.push(vec![array(first), array(second), array(second)]);
            lists.push(vec![array(first), array(first), QType::Scalar(second)]);
        }
    }
    lists
}

/// Compares all rows with each row; false if the operator does not take these types, or not row by row.
fn check(registry: &Registry, operator: &str, types: &[QType]) -> bool {
    let names = ["a", "b", "c"];
    let mut graph = Graph::new();
    let leaves: Vec<_> = names[..types.len()].iter().map(|n| graph.leaf(n).expect("small")).collect();
    let symbol = graph.symbol(operator);
    let Ok(root) = graph.apply(symbol, &leaves) else { return false };
    let expr = Expr::new(&graph, root).expect("small");
    let inputs = names.into_iter().zip(types.iter().cloned());
    let Ok(prepared) = Prepare::standard().run(Source::new(expr.clone(), inputs)) else { return false };
    if prepared.qtype(prepared.root()).array().is_none()
        || rowwise::check(&prepared, registry, &[&expr], &[]).is_err()
    {
        return false;
    }
    let bound = compile(&prepared, &Options::default()).expect("a prepared expression compiles");
    let values: Vec<Value> = types.iter().enumerate().map(|(n, qtype)| value(qtype, n)).collect();
    let all = run(&bound, &names, &values);
    let one = |row: usize| run(&bound, &names, &values.iter().map(|v| only(v, row)).collect::<Vec<_>>());
    match all {
        Ok(rows) => {
            for row in 0..ROWS {
                let alone = one(row).unwrap_or_else(|e| panic!("{operator} {types:?} row {row}: {e:?}"));
                assert_eq!(alone.get(0), rows.get(row), "{operator} {types:?} row {row}");
                assert_eq!((alone.len(), rows.len()), (1, ROWS), "{operator} {types:?}");
            }
        }
        Err(failed) => {
            let failing: Vec<usize> = (0..ROWS).filter(|row| one(*row).is_err()).collect();
            // What is wrong with an argument that all rows have is no matter of one of them.
            let is_of_all = failed.is_none() && failing.len() == ROWS;
            assert!(is_of_all || failing.first() == failed.as_ref(), "{operator} {types:?}: {failed:?}");
        }
    }
    true
}

const ROWS: usize = 9;

/// The result, or the row that raises.
fn run(bound: &BoundExpr, names: &[&str], values: &[Value]) -> Result<ArrayRows, Option<usize>> {
    let mut frame = bound.new_frame().expect("small");
    for (name, value) in names.iter().zip(values) {
        frame.write(bound.input_slot(name).expect("a leaf"), value).expect("of the type");
    }
    match bound.execute(&mut frame).map_err(|e| e.kind) {
        Ok(()) => match frame.read(bound.output_slot()).expect("written") {
            Value::Array(_, rows) => Ok((*rows).clone()),
            other => panic!("{other} is no array"),
        },
        Err(RunErrorKind::Fault(Fault::Row { row, .. })) => Err(Some(row as usize)),
        Err(_) => Err(None),
    }
}

/// A value with a missing row, small numbers, a zero, and texts of digits and letters.
fn value(qtype: &QType, seed: usize) -> Value {
    let scalar = |element: ScalarType, row: usize| {
        let number = (row * 5 + seed * 3 + 1) % 11;
        match element {
            ScalarType::Unit => ScalarValue::Unit,
            ScalarType::Boolean => ScalarValue::Boolean(number.is_multiple_of(2)),
            ScalarType::Int32 => ScalarValue::Int32(number as i32 - 3),
            ScalarType::Int64 => ScalarValue::Int64(number as i64 - 3),
            ScalarType::Float32 => ScalarValue::Float32(number as f32 * 0.75 - 2.0),
            ScalarType::Float64 | ScalarType::WeakFloat => ScalarValue::Float64(number as f64 * 0.75 - 2.0),
            ScalarType::Text => ScalarValue::Text(["7", "straße", "aB", "", "1.5"][number % 5].into()),
            ScalarType::Bytes => ScalarValue::Bytes(vec![number as u8].into()),
            narrow => unreachable!("no value is of type {narrow}"),
        }
    };
    match qtype {
        QType::Array(t) => {
            let row = |row: usize| ((row + seed) % 4 != 2).then(|| scalar(t.element, row));
            let rows = ArrayRows::from_values(t.element, &(0..ROWS).map(row).collect::<Vec<_>>());
            Value::Array(t.class, Arc::new(rows))
        }
        other => Value::Scalar(scalar(other.scalar().expect("a scalar"), 0)),
    }
}

/// One row of an array.
fn only(value: &Value, row: usize) -> Value {
    match value {
        Value::Array(class, rows) => {
            Value::Array(*class, Arc::new(ArrayRows::from_values(rows.element(), &[rows.get(row)])))
        }
        scalar => scalar.clone(),
    }
}
