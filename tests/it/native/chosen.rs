//! Rows and elements that are chosen, joined, moved and reduced: native code gives the bits of the interpreter and its errors, also for
//! numbers of rows that there are not. `CEMBRA_NATIVE=1` takes ten times as many inputs.

use crate::native::arrays::{compare, compiled, library, numbers, sanitized};
use crate::native::rows::{read, rows};
use cembra::native::ArrayLayout;
use cembra::vm::value::{ArrayClass, ArrayRows, Category, NdRows, NdType, ScalarType, ScalarValue, Value};
use fastrand::Rng;
use std::sync::Arc;

fn rounds() -> usize {
    if std::env::var("CEMBRA_NATIVE").is_ok_and(|text| text == "1") { 40 } else { 4 }
}

fn integer(x: i64) -> Value {
    Value::Scalar(ScalarValue::Int64(x))
}

/// Numbers of rows, of which few are outside.
fn places(rng: &mut Rng, count: usize, of: usize) -> Value {
    let outside = rng.u8(..4) == 0;
    let place = |rng: &mut Rng| match rng.u8(..12) {
        0 => None,
        1 if outside => Some([-1, i64::MIN, i64::MAX, of as i64][rng.usize(..4)]),
        _ if of == 0 => None,
        _ => Some(rng.i64(0..of as i64)),
    };
    let cells: Vec<_> = (0..count).map(|_| place(rng).map(ScalarValue::Int64)).collect();
    Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(ScalarType::Int64, &cells)))
}

/// Numbers of all rows in any order, of which some are missing.
fn order(rng: &mut Rng, count: usize) -> Value {
    let mut all: Vec<i64> = (0..count as i64).collect();
    rng.shuffle(&mut all);
    let cells: Vec<_> = all.into_iter().map(|x| (rng.u8(..9) > 0).then_some(ScalarValue::Int64(x))).collect();
    Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(ScalarType::Int64, &cells)))
}

fn rows_of(rng: &mut Rng, count: usize) -> Vec<(&'static str, Value)> {
    let other = rng.usize(..=count + 2);
    let index = match rng.u8(..4) {
        0 => Value::Missing(ScalarType::Int64),
        _ => Value::Present(ScalarValue::Int64(rng.i64(-1..=count as i64))),
    };
    vec![
        ("x", rows(rng, ScalarType::Float64, count)),
        ("s", rows(rng, ScalarType::Float32, count)),
        ("k", rows(rng, ScalarType::Int32, count)),
        ("b", rows(rng, ScalarType::Boolean, count)),
        ("m", rows(rng, ScalarType::Unit, count)),
        ("y", rows(rng, ScalarType::Float64, other)),
        ("ids", places(rng, other, count)),
        ("turn", order(rng, count)),
        ("i", integer(rng.i64(-1..=count as i64))),
        ("j", integer(rng.i64(-2..=count as i64))),
        ("o", index),
        ("q", Value::Scalar(ScalarValue::Float64(rng.f64() * 4.0 - 2.0))),
    ]
}

/// Operators that choose rows, or join and number them.
const ROWS: [&str; 36] = [
    "array.take(x, ids)",
    "array.take(b, ids)",
    "array.take(m, ids)",
    "array.slice(x, i, j)",
    "array.slice(m, i, j)",
    "array.slice(s, int64(0), int64(-1)) + s",
    "array.at(x, i)",
    "array.at(b, i)",
    "array.at(m, i)",
    "array.at(k, o)",
    "array.select(x, m)",
    "array.select(y, m)",
    "array.select(b, core.less(x, q))",
    "array.present_indices(x)",
    "array.present_values(s)",
    "array.present_values(m)",
    "array.concat(x, y)",
    "array.concat(m, m)",
    "array.unique(k)",
    "array.unique(b)",
    "array.unique(m)",
    "array.unique(math.floor(x))",
    "array.inverse_mapping(turn)",
    "array.from_indices_and_values(array.present_indices(x), array.present_values(x), array.size(x) + i)",
    "array.from_indices_and_values(array.present_indices(b), array.present_values(b), array.size(b))",
    "array.from_indices_and_values(array.present_indices(x), m, array.size(x))",
    "array.from_indices_and_values(ids, y, j)",
    "array.inverse_mapping(ids)",
    "math.searchsorted(x, q, true)",
    "math.searchsorted(array.present_values(k), int32(2), false)",
    "array.iota(array.make_dense_array_shape(j))",
    "core.const_with_shape(core.shape_of(x), q)",
    "core.const_with_shape(array.make_dense_array_shape(i), array.at(x, i))",
    "core.const_like(x, q) + x",
    "array.to_nd(array.present_values(x))",
    "array.to_nd(x)",
];

#[test]
fn rows_are_chosen_and_joined() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(71);
    let (mut values, mut raised) = (0, 0);
    for (number, text) in ROWS.iter().enumerate() {
        let bound = compiled(text, &read(text, rows_of(rng, 1)));
        let native = library(&cache, &bound, [ArrayLayout::Strided, ArrayLayout::Contiguous][number % 2]);
        for count in [0, 1, 9, 70, 600] {
            for _ in 0..rounds() {
                match compare(text, &bound, &native, &read(text, rows_of(rng, count))) {
                    Ok(_) => values += 1,
                    Err(category) => {
                        let known =
                            [Category::IndexOutOfRange, Category::SizeMismatch, Category::MissingValue];
                        assert!(known.contains(&category), "{text}: {category:?}");
                        raised += 1;
                    }
                }
            }
        }
    }
    assert!(values > 3 * raised && raised > 20, "{values} values, {raised} errors");
}

fn array(rng: &mut Rng, name: &str, shape: &[usize]) -> Value {
    let qtype = NdType::from_name(name).expect("a type");
    let cells = match qtype.element() {
        ScalarType::Int32 => {
            (0..shape.iter().product()).map(|_| ScalarValue::Int32(rng.i32(-9..9))).collect()
        }
        // Sums have more than 64 bits.
        ScalarType::Int64 if rng.u8(..4) == 0 => {
            (0..shape.iter().product()).map(|_| ScalarValue::Int64(rng.i64(..))).collect()
        }
        element => numbers(rng, element, shape.iter().product()),
    };
    Value::NdArray(Arc::new(NdRows::from_scalars(qtype, shape, &cells).expect("the shape of the type")))
}

/// Operators on arrays of two axes, with the type of `x`.
const ELEMENTS: [&str; 38] = [
    "nd.var(x)",
    "nd.var(x, 0)",
    "nd.std(x, 1, ddof=1)",
    "nd.std(x, 0, keep=true, ddof=d)",
    "nd.median(x)",
    "nd.median(x, 0)",
    "nd.median(x, 1, keep=true)",
    "nd.quantile(x, q)",
    "nd.quantile(x, q, 0)",
    "nd.quantile(x, 0.25, 1)",
    "nd.cumsum(x, 0)",
    "nd.cumsum(x, 1, reverse=true)",
    "nd.cumsum(x, tuple(0, 1))",
    "nd.cumsum(nd.transpose(x), 1)",
    "nd.cumsum(core.to_float64(x), 1, in_groups=true)",
    "nd.cumsum(core.to_float32(x), 1, reverse=true, in_groups=true)",
    "nd.reshape(x, nd.size(x, 0) * nd.size(x, 1))",
    "nd.reshape(nd.transpose(x), -1)",
    "nd.reshape(x, d, -1)",
    "nd.reshape(x, -1, 1, d)",
    "nd.reshape(x, d, d)",
    "nd.reshape(d, 1, 1)",
    "nd.broadcast_to(x, d, 3, 4)",
    "nd.broadcast_to(x, 2, nd.size(x, 0), nd.size(x, 1))",
    "nd.broadcast_to(nd.sum(x, 1, keep=true), nd.size(x, 0), d)",
    "nd.take(x, d, 0)",
    "nd.take(x, i, 1)",
    "nd.take(nd.transpose(x), i, 0)",
    "nd.take(nd.reshape(x, -1), d, 0)",
    "nd.take(x, nd.reshape(i, -1, 1), 0)",
    "nd.concatenate(0, x, x)",
    "nd.concatenate(1, x, nd.transpose(nd.transpose(x)), x)",
    "nd.concatenate(-1, x, nd.transpose(x))",
    "nd.shape(x)",
    "nd.size(x, tuple(0, 1))",
    "nd.sum(nd.cumsum(x + x, 0), 1)",
    "nd.to_dense_array(nd.reshape(x, -1))",
    "nd.mean(nd.take(x, i, 0) + 1)",
];

#[test]
fn elements_are_moved_and_reduced() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(73);
    let types =
        ["FLOAT64", "FLOAT32", "INT64", "INT32", "BOOLEAN"].map(|element| format!("NDARRAY_{element}_NN"));
    let of = |rng: &mut Rng, text: &str, name: &str, shape: [usize; 2]| {
        let (count, size) = (rng.usize(..6), shape[rng.usize(..2)] as i64);
        let least = -size - i64::from(rng.u8(..4) == 0);
        let places: Vec<ScalarValue> =
            (0..count).map(|_| ScalarValue::Int64(rng.i64(least..=size.max(1) - 1))).collect();
        let list = NdType::from_name("NDARRAY_INT64_N").expect("a type");
        let places = NdRows::from_scalars(list, &[count], &places).expect("its shape");
        let all = vec![
            ("x", array(rng, name, &shape)),
            ("i", Value::NdArray(Arc::new(places))),
            ("d", integer(rng.i64(-2..6))),
            ("q", Value::Scalar(ScalarValue::Float64([0.0, 1.0, 0.37, 1.2, f64::NAN][rng.usize(..5)]))),
        ];
        read(text, all)
    };
    let (mut values, mut raised) = (0, 0);
    for (number, text) in ELEMENTS.iter().enumerate() {
        let name = match &types[number % types.len()] {
            // Truths are not added to numbers, and have no quantiles.
            name if name.contains("BOOLEAN") && (text.contains(" + ") || text.contains("quantile")) => {
                &types[0]
            }
            name => name,
        };
        let bound = compiled(text, &of(rng, text, name, [1, 1]));
        let native = library(&cache, &bound, [ArrayLayout::Strided, ArrayLayout::Contiguous][number / 2 % 2]);
        for shape in [[0, 3], [1, 1], [3, 4], [2, 40], [40, 3], [4, 700], [1, 2500]] {
            for _ in 0..rounds() {
                match compare(text, &bound, &native, &of(rng, text, name, shape)) {
                    Ok(_) => values += 1,
                    Err(category) => {
                        let known = [Category::IndexOutOfRange, Category::SizeMismatch, Category::Limit];
                        assert!(known.contains(&category), "{text}: {category:?}");
                        raised += 1;
                    }
                }
            }
        }
    }
    assert!(values > raised && raised > 20, "{values} values, {raised} errors");
}
