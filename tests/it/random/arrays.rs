//! Array programs against scalar ones: every row of the result is what the scalar program gives for the
//! rows of the inputs.
//!
//! A program on arrays raises if it raises for one of the rows: what a `where` rules out in a row does not raise there.
//! That is compared without the optimizer, which may drop an error in one program and not in the other.

use crate::random::generate::{inputs, sample};
use cembra::compile::{Options, compile};
use cembra::expr::Expr;
use cembra::prepare::{Prepare, PrepareError, Source};
use cembra::registry::Dialect;
use cembra::vm::machine::BoundExpr;
use cembra::vm::value::{ArrayClass, ArrayRows, ArrayType, QType, ScalarType, ScalarValue, Value};
use fastrand::Rng;
use std::collections::HashMap;
use std::sync::Arc;

const FIRST: u64 = 0xa44a;
const PROGRAMS: u64 = 12_000;
/// Around the words of presence.
const SIZES: [usize; 6] = [0, 1, 2, 63, 64, 65];

/// A program and the types of its leaves.
pub fn bind(expr: &Expr, types: &HashMap<String, QType>, dialect: Dialect) -> Option<BoundExpr> {
    let mut names: Vec<&String> = types.keys().collect();
    names.sort();
    let inputs: Vec<(&str, QType)> = names.iter().map(|name| (name.as_str(), types[*name].clone())).collect();
    match bind_by(&Prepare::standard(), expr, inputs.clone(), dialect) {
        Ok(bound) => Some(bound),
        // Rules may find an operator that always fails.
        Err(PrepareError::Constant { .. }) => None,
        Err(error) => {
            let literal = bind_by(&Prepare::standard().without_optimizer(), expr, inputs, dialect);
            assert!(literal.is_err(), "rules make a program that has no types: {error}\n{expr}\n{types:?}");
            None
        }
    }
}

fn bind_by(
    prepare: &Prepare,
    expr: &Expr,
    inputs: Vec<(&str, QType)>,
    dialect: Dialect,
) -> Result<BoundExpr, PrepareError> {
    let prepared = prepare.run(Source::new(expr.clone(), inputs).dialect(dialect))?;
    let options = Options { check_slots: true, ..Options::default() };
    Ok(compile(&prepared, &options).unwrap_or_else(|e| panic!("{e}\n{prepared}")))
}

/// The result of a program, if it does not raise.
pub fn run(bound: &BoundExpr, values: &HashMap<String, Value>) -> Option<Value> {
    let mut frame = bound.new_frame().expect("memory");
    // Twice: the second run finds the buffers of the first.
    for _ in 0..2 {
        for (name, value) in values {
            let slot = bound.input_slot(name).expect("an input");
            frame.write(slot, value).expect("the input's type");
        }
        bound.execute(&mut frame).ok()?;
    }
    Some(frame.read(bound.output_slot()).expect("written"))
}

#[test]
fn arrays_agree_with_their_rows() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let compared: u64 = std::thread::scope(|scope| {
        let part = |thread| {
            move || (FIRST + thread..FIRST + PROGRAMS).step_by(threads as usize).map(check).sum::<u64>()
        };
        let parts: Vec<_> = (0..threads).map(|thread| scope.spawn(part(thread))).collect();
        parts.into_iter().map(|part| part.join().expect("all programs agree")).sum()
    });
    assert!(compared > PROGRAMS / 10, "only {compared} programs were compared");
}

/// False for programs with operators on all rows at once.
pub fn is_row_by_row(expr: &Expr) -> bool {
    let text = expr.to_string();
    !["core.all", "core.any"].iter().any(|name| text.contains(name))
}

/// False for programs with operators that may do with the type of an operand: a scalar's type says that it is present.
fn looks_at_values(expr: &Expr) -> bool {
    let text = expr.to_string();
    let by_type = ["_like", "core.has", "presence", " | ", " & ", "~", "shape", "get_nth", "annotation"];
    text.contains("core.where") && !by_type.iter().any(|name| text.contains(name))
}

/// Types of the leaves of the program of one row.
pub fn row_types(arrays: &HashMap<String, QType>) -> HashMap<String, QType> {
    let row = |qtype: &QType| qtype.array().map_or_else(|| qtype.clone(), |t| QType::Optional(t.element));
    arrays.iter().map(|(name, qtype)| (name.clone(), row(qtype))).collect()
}

/// 1 for a program that could be compared.
fn check(number: u64) -> u64 {
    let mut rng = Rng::with_seed(number);
    let sample = sample(&mut rng, 8);
    if !is_row_by_row(&sample.expr) {
        return 0;
    }
    let mut arrays = sample.leaves.clone();
    let mut names: Vec<String> = arrays.keys().cloned().collect();
    names.sort();
    for name in names {
        let qtype = arrays.get_mut(&name).expect("a leaf");
        if rng.u8(0..4) > 0
            && let Some(element) = qtype.scalar()
        {
            *qtype = QType::Array(ArrayType { class: ArrayClass::Dense, element });
        }
    }
    let rows = row_types(&arrays);
    let bound = bind(&sample.expr, &arrays, sample.dialect).zip(bind(&sample.expr, &rows, sample.dialect));
    let Some((of_arrays, of_rows)) = bound else { return 0 };
    if of_arrays.output_slot().qtype().array().is_none() {
        return 0;
    }
    let literal = |types: &HashMap<String, QType>| {
        let inputs = types.iter().map(|(name, qtype)| (name.as_str(), qtype.clone())).collect();
        bind_by(&Prepare::standard().without_optimizer(), &sample.expr, inputs, sample.dialect).ok()
    };
    let literal = literal(&arrays).zip(literal(&rows));
    let mut compared = 0;
    for size in SIZES {
        let each: Vec<HashMap<String, Value>> = (0..size).map(|_| inputs(&mut rng, &rows)).collect();
        // What is no array has one value for all rows.
        let whole = inputs(&mut rng, &rows);
        let each: Vec<HashMap<String, Value>> = each
            .into_iter()
            .map(|mut row| {
                whole.iter().filter(|(name, _)| arrays[*name].array().is_none()).for_each(|(name, value)| {
                    row.insert(name.clone(), value.clone());
                });
                row
            })
            .collect();
        let columns: HashMap<String, Value> = arrays
            .iter()
            .map(|(name, qtype)| {
                let column = qtype.array().map(|t| column(t, each.iter().map(|row| &row[name])));
                (name.clone(), column.unwrap_or_else(|| whole[name].clone()))
            })
            .collect();
        if let (Some((of_arrays, of_rows)), true) = (&literal, size > 0 && looks_at_values(&sample.expr)) {
            let raises = each.iter().any(|row| run(of_rows, row).is_none());
            assert!(
                raises || run(of_arrays, &columns).is_some(),
                "program {number}, {size} rows, none of which raises:\n{}\n{columns:?}",
                sample.expr
            );
        }
        let expected: Option<Vec<Value>> = each.iter().map(|row| run(&of_rows, row)).collect();
        let (Some(Value::Array(_, found)), Some(expected)) = (run(&of_arrays, &columns), expected) else {
            continue;
        };
        for (row, expected) in expected.iter().enumerate() {
            assert!(
                same(found.get(row).as_ref(), expected.scalar()),
                "program {number}, row {row} of {size}:\n{}\n{columns:?}\n{found:?}\nexpected {expected}",
                sample.expr
            );
        }
        assert_eq!(found.len(), size);
        compared = 1;
    }
    compared
}

fn column<'v>(qtype: ArrayType, rows: impl Iterator<Item = &'v Value>) -> Value {
    let rows: Vec<Option<ScalarValue>> = rows.map(|row| row.scalar().cloned()).collect();
    Value::Array(qtype.class, Arc::new(ArrayRows::from_values(qtype.element, &rows)))
}

/// Bit for bit, except that every NaN is the same and that weak floats are stored as FLOAT64.
pub fn same(a: Option<&ScalarValue>, b: Option<&ScalarValue>) -> bool {
    let nan = |v: &ScalarValue| v.as_f64().is_some_and(f64::is_nan);
    match (a, b) {
        (Some(a), Some(b)) if a.scalar_type() == ScalarType::Text => a == b,
        (Some(a), Some(b)) => {
            a == b || (nan(a) && nan(b)) || (a.plain_bits().is_some() && a.plain_bits() == b.plain_bits())
        }
        (a, b) => a.is_none() && b.is_none(),
    }
}
