//! Rows that may be missing: native code gives the cells and the presence of the interpreter, and raises only for rows that are
//! there. `CEMBRA_NATIVE=1` takes ten times as many random expressions.

use crate::native::arrays::{arguments, compare, compiled, library, numbers, sanitized};
use crate::native::fresh;
use cembra::native::ArrayLayout;
use cembra::vm::library::{Argument, BoundaryError, Library};
use cembra::vm::machine::{BoundExpr, NdViewMut};
use cembra::vm::value::{
    ArrayClass, ArrayRows, Category, NdRows, NdType, NdView, ScalarType, ScalarValue, Value,
};
use fastrand::Rng;
use std::sync::Arc;

/// Numbers of rows around those of words, leaves and blocks.
const COUNTS: [usize; 9] = [0, 1, 7, 64, 65, 128, 130, 600, 1100];

/// Rows, of which some are missing: none, many, or all.
pub(super) fn rows(rng: &mut Rng, element: ScalarType, count: usize) -> Value {
    let share = [0, 3, 50, 100][rng.usize(..4)];
    let cells: Vec<ScalarValue> = match element {
        ScalarType::Unit => vec![ScalarValue::Unit; count],
        ScalarType::Int32 => (0..count)
            .map(|_| ScalarValue::Int32(if rng.u8(..9) == 0 { i32::MIN } else { rng.i32(-5..9) }))
            .collect(),
        _ => numbers(rng, element, count),
    };
    let cells: Vec<_> = cells.into_iter().map(|cell| (rng.usize(..100) >= share).then_some(cell)).collect();
    Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(element, &cells)))
}

fn optional(rng: &mut Rng) -> Value {
    match rng.usize(..3) {
        0 => Value::Missing(ScalarType::Float64),
        _ => Value::Present(ScalarValue::Float64(rng.f64() * 4.0 - 2.0)),
    }
}

/// The inputs of the expressions below: rows of this number.
fn inputs(rng: &mut Rng, count: usize) -> [(&'static str, Value); 9] {
    let [x, y] = [0; 2].map(|_| rows(rng, ScalarType::Float64, count));
    let a = Value::Scalar(ScalarValue::Float64(rng.f64() * 4.0 - 2.0));
    [
        ("x", x),
        ("y", y),
        ("n", rows(rng, ScalarType::Int64, count)),
        ("k", rows(rng, ScalarType::Int32, count)),
        ("s", rows(rng, ScalarType::Float32, count)),
        ("b", rows(rng, ScalarType::Boolean, count)),
        ("m", rows(rng, ScalarType::Unit, count)),
        ("a", a),
        ("o", optional(rng)),
    ]
}

/// Those that a text reads.
pub(super) fn read(text: &str, mut all: Vec<(&'static str, Value)>) -> Vec<(&'static str, Value)> {
    let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    all.retain(|(name, _)| words.contains(name));
    all
}

/// Compares with arguments as they are, then with bitmaps that begin at some bit and cells that are apart.
fn check(text: &str, bound: &BoundExpr, library: &Library, layout: ArrayLayout, inputs: &[(&str, Value)]) {
    let expected = compare(text, bound, library, inputs);
    let args = arguments(bound, inputs);
    let (step, shift) = (if layout == ArrayLayout::Strided { 3 } else { 1 }, 5);
    let apart: Vec<(Vec<u8>, Vec<u8>)> = args.iter().map(|value| spread(value, step, shift)).collect();
    let arguments = args.iter().zip(&apart).map(|(value, (cells, bits))| match value {
        Value::Array(_, rows) if rows.element() != ScalarType::Unit => {
            let size = (cells.len() / rows.len().max(1)).max(step) / step;
            let view = NdView::new(rows.element(), cells, 0, &[rows.len()], &[(size * step) as isize]);
            Argument::Elements(view.expect("inside").with_validity(bits, shift).expect("a bit for each"))
        }
        value => Argument::Value(value),
    });
    let mut call = library.bind(arguments.collect::<Vec<_>>()).expect("its types");
    let found = call.run().map(|()| call.result(0)).map_err(|raised| raised.category);
    match (expected, found) {
        (Ok(expected), Ok(found)) => {
            assert_eq!(
                crate::native::arrays::shown(&found),
                crate::native::arrays::shown(&expected),
                "{text} from a bit on"
            );
        }
        (expected, found) => assert_eq!(found.map(drop), expected.map(drop), "{text} from a bit on"),
    }
}

/// The cells of rows, of which one of so many is a row, and a bitmap whose first bit is this one.
fn spread(value: &Value, step: usize, shift: usize) -> (Vec<u8>, Vec<u8>) {
    let Value::Array(_, rows) = value else { return Default::default() };
    let size = if rows.is_empty() { 0 } else { rows.raw(0).len() };
    let (mut cells, mut bits) = (Vec::new(), vec![0u8; (rows.len() + shift).div_ceil(8)]);
    for row in 0..rows.len() {
        cells.extend_from_slice(rows.raw(row));
        cells.resize((row + 1) * size * step, 1);
        bits[(row + shift) / 8] |= u8::from(rows.is_present(row)) << ((row + shift) % 8);
    }
    (cells, bits)
}

fn check_all(texts: &[&str]) {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(21);
    for (number, text) in texts.iter().enumerate() {
        let bound = compiled(text, &read(text, inputs(rng, 1).into()));
        let layout = if number % 2 == 0 { ArrayLayout::Strided } else { ArrayLayout::Contiguous };
        let library = library(&cache, &bound, layout);
        for count in COUNTS {
            check(text, &bound, &library, layout, &read(text, inputs(rng, count).into()));
        }
    }
}

#[test]
fn rows_are_computed_where_they_are_there() {
    check_all(&[
        "x*2.0 + y",
        "x*a - y*o",
        "core.where(x > y, x - a, y)",
        "core.where(core.has(o), x, y)",
        "core.where(m, x, y*o)",
        "core.presence_or(x, y) + 1.0",
        "core.presence_or(x*a, o)",
        "core.presence_or(x, a)",
        "core.presence_and(x, m)",
        "core.presence_and(x + y, core.presence_not(core.has(y)))",
        "core.presence_and(a, m)",
        "core.has(x*y)",
        "core.equal(x, y)",
        "math.exp(x) + math.trig.sin(y)",
        "math.minimum(x, y) + math.abs(x)",
        "core.to_float32(x) * s",
        "n*3 + core.to_int64(k)",
        "bool.logical_and(b, bool.less(x, y))",
        "array.size(x)",
    ]);
}

#[test]
fn rows_are_folded() {
    check_all(&[
        "math.sum(x)",
        "math.sum(s)",
        "math.sum(n)",
        "math.sum(k)",
        "math.mean(x)",
        "math.mean(s*2.0)",
        "math.min(x)",
        "math.max(x - y)",
        "math.min(k)",
        "math.max(n)",
        "math.max(s)",
        "array.count(m)",
        "array.count(x*y) + array.size(x)",
        "core.any(x > y)",
        "core.all(core.has(x))",
        "(x - math.mean(x)) * math.sum(x*y)",
        "math.sum(core.presence_or(x, 1.0)) + math.sum(core.presence_and(y, x > y))",
        "core.presence_or(math.min(x), 0.5) * math.sum(x)",
    ]);
}

#[test]
fn only_rows_that_are_there_are_refused() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(22);
    let row = |cells: &[Option<i64>]| {
        let cells: Vec<_> = cells.iter().map(|cell| cell.map(ScalarValue::Int64)).collect();
        Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(ScalarType::Int64, &cells)))
    };
    let x = row(&[Some(7), None, Some(-7), Some(1)]);
    let text = "x // y";
    let bound = compiled(text, &[("x", x.clone()), ("y", x.clone())]);
    let division = library(&cache, &bound, ArrayLayout::Contiguous);
    let with = |y: &[Option<i64>]| [("x", x.clone()), ("y", row(y))];
    let found = compare(text, &bound, &division, &with(&[Some(2), Some(0), Some(2), None]));
    assert_eq!(found, Ok(row(&[Some(3), None, Some(-4), None])));
    let found = compare(text, &bound, &division, &with(&[Some(2), None, Some(0), Some(1)]));
    assert_eq!(found, Err(Category::DivisionByZero));
    let found = compare(text, &bound, &division, &with(&[Some(2), None, Some(1)]));
    assert_eq!(found, Err(Category::SizeMismatch));
    let mut values = 0;
    for text in ["n // core.to_int64(k)", "core.to_int64(x * 1e18)", "core.to_int32(x) * k", "n % 3"] {
        let bound = compiled(text, &read(text, inputs(rng, 1).into()));
        let library = library(&cache, &bound, ArrayLayout::Strided);
        for count in [1, 2, 3, 9, 600] {
            values +=
                usize::from(compare(text, &bound, &library, &read(text, inputs(rng, count).into())).is_ok());
        }
    }
    assert!((6..20).contains(&values), "{values}");
}

/// A random expression of FLOAT64 rows.
fn expression(rng: &mut Rng, depth: usize) -> String {
    if depth == 0 {
        return ["x", "y", "x", "y", "core.to_float64(s)", "core.to_float64(n)"][rng.usize(..6)].to_owned();
    }
    let mut part = || expression(rng, depth - 1 - usize::from(depth > 1 && depth.is_multiple_of(2)));
    let (p, q) = (part(), part());
    match rng.usize(..15) {
        0 | 1 => format!("({p} + {q})"),
        2 => format!("({p} - o)"),
        3 => format!("({p} * {q})"),
        4 => format!("({p} / {q})"),
        5 => format!("math.minimum({p}, {q})"),
        6 => format!("core.where({p} > {q}, {q}, x*a)"),
        7 => format!("core.where(m, {p}, {q})"),
        8 => format!("core.presence_or({p}, {q})"),
        9 => format!("core.presence_and({p}, {q} > y)"),
        10 => format!("core.presence_and({p}, core.presence_not(core.has({q})))"),
        11 => format!("core.presence_or({p}, a)"),
        12 => format!("({p} * math.sum({q}))"),
        13 => format!("({p} + core.presence_or(math.max({q}), a))"),
        _ => format!("({p} - math.mean({q}))"),
    }
}

#[test]
fn random_expressions_of_rows() {
    let seed = 20_271;
    let count = if std::env::var("CEMBRA_NATIVE").is_ok_and(|text| text == "1") { 120 } else { 12 };
    let (_folder, cache) = sanitized();
    for number in 0..count {
        let rng = &mut Rng::with_seed(seed + number);
        let text = expression(rng, 5);
        let bound = compiled(&text, &read(&text, inputs(rng, 1).into()));
        let layout = if number % 2 == 0 { ArrayLayout::Strided } else { ArrayLayout::Contiguous };
        let library = library(&cache, &bound, layout);
        let text = format!("seed {}: {text}", seed + number);
        for rows in [1, 9, 140, 0, 700] {
            check(&text, &bound, &library, layout, &read(&text, inputs(rng, rows).into()));
        }
    }
}

#[test]
fn rows_are_made_in_memory_of_the_host() {
    let (_folder, cache) = fresh();
    let (x, bits) = ([1.0, 2.0, 3.0, 4.0], [0b0000_1011u8]);
    let view = NdView::from_slice(&x, &[4]).expect("four rows").with_validity(&bits, 0).expect("four bits");
    let of_x =
        Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(ScalarType::Float64, &[None])));
    let bound = compiled("x + 1.0", &[("x", of_x.clone())]);
    let native = library(&cache, &bound, ArrayLayout::Contiguous);
    let mut memory = native.call_memory().expect("memory");
    let (mut out, mut bitmap) = ([0.0; 4], [0xffu8]);
    let mut call = memory.bind([Argument::Elements(view)]).expect("it fits");
    let cells = NdViewMut::from_slice(&mut out, &[4]).expect("four cells");
    call.lend_rows(0, cells, &mut bitmap).expect("it fits");
    call.run().expect("no error");
    assert_eq!((out[0], out[1], out[3], bitmap), (2.0, 3.0, 5.0, [0b0000_1011]));
    // Without a bitmap, with one that is too short, of another number of rows.
    let mut call = memory.bind([Argument::Elements(view)]).expect("it fits");
    let cells = NdViewMut::from_slice(&mut out, &[4]).expect("four cells");
    let error = call.lend(0, cells).expect_err("rows need a bitmap").to_string();
    assert_eq!(
        error,
        "argument result: takes DENSE_ARRAY_FLOAT64, got an array of FLOAT64 of shape [4] without a bitmap"
    );
    let (mut many, mut few) = ([0.0; 9], [0u8]);
    let cells = NdViewMut::from_slice(&mut many, &[9]).expect("nine cells");
    assert!(matches!(call.lend_rows(0, cells, &mut few), Err(BoundaryError::Type { .. })));
    let (mut more, mut bitmap) = ([0.0; 5], [0u8]);
    let cells = NdViewMut::from_slice(&mut more, &[5]).expect("five cells");
    call.lend_rows(0, cells, &mut bitmap).expect("rows");
    assert_eq!(call.run().expect_err("four rows").category, Category::SizeMismatch);
    // The next call makes its own.
    let mut call = memory.bind([Argument::Elements(view)]).expect("it fits");
    call.run().expect("no error");
    let expected = [Some(2.0), Some(3.0), None, Some(5.0)].map(|row| row.map(ScalarValue::Float64));
    let expected = Arc::new(ArrayRows::from_values(ScalarType::Float64, &expected));
    assert_eq!(call.result(0), Value::Array(ArrayClass::Dense, expected));
}

#[test]
fn elements_of_other_arrays_are_all_there() {
    let (_folder, cache) = fresh();
    let of = NdType::from_name("NDARRAY_FLOAT64_N").expect("a type");
    let x = Value::NdArray(Arc::new(NdRows::from_slice(of, &[1], &[1.0]).expect("a row")));
    let bound = compiled("x + 1.0", &[("x", x)]);
    let native = library(&cache, &bound, ArrayLayout::Strided);
    let view = NdView::from_slice(&[1.0], &[1]).expect("a row").with_validity(&[1], 0).expect("a bit");
    let error = native.bind([Argument::Elements(view)]).map(drop).expect_err("it may be missing").to_string();
    assert_eq!(
        error,
        "argument x: takes NDARRAY_FLOAT64_N, got rows of FLOAT64 of shape [1] that may be missing"
    );
    let rows =
        Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(ScalarType::Float64, &[None])));
    assert!(native.bind([Argument::Value(&rows)]).is_err());
}
