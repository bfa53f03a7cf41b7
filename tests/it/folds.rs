//! Sums and means of regions: the same bits by passes and by strips, on any number of threads, wherever leaves, blocks and
//! chunks end.

use crate::support::{bind, parse};
use cembra::compile::Options;
use cembra::prepare::{Prepare, Source};
use cembra::registry::Dialect;
use cembra::vm::machine::{RunOptions, Strips};
use cembra::vm::value::{ArrayClass, ArrayRows, NdRows, NdType, ScalarType, ScalarValue, Value};
use cembra::vm::vector::fold;
use std::sync::Arc;

/// Results of a text over inputs, by passes, by strips, and both on three threads.
fn check(text: &str, inputs: &[(&str, Value)]) -> Value {
    let types = inputs.iter().map(|(name, value)| (*name, value.qtype()));
    let bound =
        bind(Source::new(parse(text, Dialect::Cembra), types), &Prepare::standard(), Options::default());
    let mut frame = bound.new_frame().expect("memory");
    for (name, value) in inputs {
        frame.write(bound.input_slot(name).expect("an input"), value).expect("a value of its type");
    }
    let results = [(Strips::Never, 1), (Strips::Always, 1), (Strips::Never, 3), (Strips::Always, 3)].map(
        |(strips, threads)| {
            let options = RunOptions::new().strips(strips).threads(threads);
            bound.execute_with(&mut frame, options).unwrap_or_else(|e| panic!("{text}: {e}"));
            frame.read(bound.output_slot()).expect("memory")
        },
    );
    let [first, rest @ ..] = &results;
    for (number, result) in rest.iter().enumerate() {
        assert!(result == first, "{text}, way {}", number + 1);
    }
    first.clone()
}

fn number(row: usize) -> f64 {
    (row * 37 % 1009) as f64 * 0.1 - 40.0
}

fn rows(count: usize, element: ScalarType, gap: usize) -> Value {
    let cell = |row: usize| match element {
        ScalarType::Float32 => ScalarValue::Float32(number(row) as f32),
        ScalarType::Int32 => ScalarValue::Int32((row as i32).wrapping_mul(0x0FFF_FFFF)),
        _ => ScalarValue::Float64(number(row)),
    };
    let cells: Vec<_> = (0..count).map(|row| (row % gap != gap - 1).then(|| cell(row))).collect();
    Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(element, &cells)))
}

#[test]
fn sums_of_rows() {
    let text =
        "y = x*2.5 + 1.0; core.make_tuple(math.sum(y), math.mean(y*y), math.sum(x), math.mean(x - 1.0), y)";
    let sizes = (0..20).chain([63, 64, 65, 127, 128, 129, 200, 1023, 1024, 1025, 4095, 4096, 4104]);
    for count in sizes.chain([65_535, 65_536, 65_600, 200_001]) {
        for gap in [usize::MAX, 3, 64] {
            check(text, &[("x", rows(count, ScalarType::Float64, gap))]);
        }
        let single = "y = x*x; core.make_tuple(math.sum(y + x), math.mean(y), math.sum(math.exp(x/100.0)*x))";
        check(single, &[("x", rows(count, ScalarType::Float32, 5))]);
        check("core.make_tuple(math.sum(x*x), math.sum(x + x))", &[("x", rows(count, ScalarType::Int32, 7))]);
    }
    let values: Vec<f64> = (0..1000).map(|row| if row % 3 == 2 { 0.0 } else { number(row) }).collect();
    let sum = check("math.sum(x)", &[("x", rows(1000, ScalarType::Float64, 3))]);
    assert_eq!(
        sum,
        Value::from(fold::fold::<fold::Sum<f64>>(&values)),
        "a missing row counts as 0 where it stands"
    );
}

#[test]
fn sums_along_axes() {
    let qtype = NdType::from_name("NDARRAY_FLOAT64_NN").expect("a type");
    let line = NdType::from_name("NDARRAY_FLOAT64_1N").expect("a type");
    let shapes = [(1, 1), (7, 3), (300, 16), (50, 17), (9, 100), (700, 101), (3, 440), (200, 441), (2, 5000)];
    for (height, width) in shapes.into_iter().chain([(4, 40_000), (66_000, 3), (1300, 51)]) {
        let of = |qtype: NdType, shape: &[usize]| {
            let cells: Vec<f64> = (0..shape.iter().product()).map(number).collect();
            Value::NdArray(Arc::new(NdRows::from_slice(qtype, shape, &cells).expect("fits")))
        };
        let inputs = [("x", of(qtype, &[height, width])), ("line", of(line, &[1, width]))];
        for text in [
            "d = x*2.0 - 1.0; core.make_tuple(nd.sum(d), nd.mean(d*d))",
            "d = x - line; core.make_tuple(nd.sum(d), nd.mean(d*d), d)",
            "d = x - line; core.make_tuple(nd.sum(d, 1), nd.mean(d*d + d, 1))",
            "d = x - line; core.make_tuple(nd.sum(d, 0), nd.sum(d*d, 1), nd.mean(nd.exp(d/100.0)*d))",
        ] {
            let text = text.replace("nd.exp", "math.exp");
            check(&text, &inputs);
        }
    }
}
