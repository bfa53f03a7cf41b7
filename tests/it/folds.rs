//! Sums and means of regions: the same bits by passes and by strips, on any number of threads, wherever leaves, blocks and
//! chunks end.

use crate::support::{bind, parse};
use cembra::compile::{Options, compile};
use cembra::prepare::{Prepare, Source};
use cembra::registry::Dialect;
use cembra::vm::machine::{RunOptions, Strips};
use cembra::vm::value::{ArrayClass, ArrayRows, NdRows, NdType, QType, ScalarType, ScalarValue, Value};
use cembra::vm::vector::Level;
use cembra::vm::vector::fold;
use std::sync::Arc;

/// Results of a text over inputs, by passes, by strips, and both on three threads; each twice, for strips are compiled by the
/// first run.
fn check(text: &str, inputs: &[(&str, Value)]) -> Value {
    let types = inputs.iter().map(|(name, value)| (*name, value.qtype()));
    let bound =
        bind(Source::new(parse(text, Dialect::Cembra), types), &Prepare::standard(), Options::default());
    let mut frame = bound.new_frame().expect("memory");
    for (name, value) in inputs {
        frame.write(bound.input_slot(name).expect("an input"), value).expect("a value of its type");
    }
    let ways = [(Strips::Never, 1), (Strips::Always, 1), (Strips::Never, 3), (Strips::Always, 3)];
    let results: Vec<Value> = ways
        .iter()
        .flat_map(|way| [*way; 2])
        .map(|(strips, threads)| {
            let options = RunOptions::new().strips(strips).threads(threads);
            bound.execute_with(&mut frame, options).unwrap_or_else(|e| panic!("{text}: {e}"));
            frame.read(bound.output_slot()).expect("memory")
        })
        .collect();
    let [first, rest @ ..] = &results[..] else { unreachable!("there are eight") };
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

/// Rows that grow slowly, with zeros of both signs and NaN far behind.
fn x_of_lone_maximum(count: usize) -> Value {
    let cell = |row: usize| match row % 101 {
        100 if row > 90_000 => f64::NAN,
        n if n % 2 == 0 && row < 300 => -0.0,
        _ if row < 300 => 0.0,
        _ => number(row) + row as f64 * 1e-3,
    };
    let cells: Vec<_> = (0..count).map(|row| Some(ScalarValue::Float64(cell(row)))).collect();
    Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(ScalarType::Float64, &cells)))
}

#[test]
fn running_results_of_rows() {
    let text = "s = math.cum_sum(x); n = array.cum_count(x); \
        core.make_tuple(s, s/n - x, n, array.agg_index(x), math.sum(s - n), math.cum_sum(s*0.5)*2.0, math.cum_max(x*x) - s)";
    let sizes = (0..20).chain([63, 64, 65, 127, 128, 129, 200, 1023, 1024, 1025, 4095, 4096, 4104]);
    for count in sizes.chain([65_535, 65_536, 65_600, 200_001]) {
        for gap in [usize::MAX, 3, 64] {
            let x = rows(count, ScalarType::Float64, gap);
            let result = check(text, &[("x", x.clone())]);
            let (Value::Tuple(fields), Value::Array(_, x)) = (&result, &x) else {
                unreachable!("{result:?}")
            };
            let (mut sum, mut present) = (-0.0, 0);
            let expected = (0..count).map(|row| {
                let Some(ScalarValue::Float64(x)) = x.get(row) else { return [None, None, None] };
                (sum, present) = (sum + x, present + 1);
                let numbers = [present, row as i64].map(|number| Some(ScalarValue::Int64(number)));
                [Some(ScalarValue::Float64(sum)), numbers[0].clone(), numbers[1].clone()]
            });
            for (row, expected) in expected.enumerate() {
                let found = [0, 2, 3].map(|field| match &fields.fields()[field] {
                    Value::Array(_, rows) => rows.get(row),
                    other => unreachable!("{other:?}"),
                });
                assert_eq!(found, expected, "row {row} of {count}, one of {gap} missing");
            }
        }
        let narrow = "core.make_tuple(math.cum_sum(x*x) + x, math.cum_sum(x + 1)*2, math.cum_max(x - 5)*3)";
        check(narrow, &[("x", rows(count, ScalarType::Float32, 5))]);
        check(narrow, &[("x", rows(count, ScalarType::Int32, 7))]);
        check("math.cum_max(x)", &[("x", x_of_lone_maximum(count))]);
        // Rows that positions choose.
        let positions: Vec<_> =
            (0..count).map(|row| Some(ScalarValue::Int64((row * 7 % count) as i64))).collect();
        let positions = ArrayRows::from_values(ScalarType::Int64, &positions);
        let inputs = [
            ("x", rows(count, ScalarType::Float64, 4)),
            ("i", Value::Array(ArrayClass::Dense, Arc::new(positions))),
        ];
        check("y = array.take(x, i); core.make_tuple(math.cum_sum(y) - y, array.cum_count(y)*2)", &inputs);
        // What can fire leaves running sums to passes.
        check(
            "math.cum_sum(math.log(x*x + 1.0)) - math.trig.sin(x*1e8)",
            &[("x", rows(count, ScalarType::Float64, 9))],
        );
    }
}

/// Strips take several runs a call, each with the constants of its row.
#[test]
fn runs_with_values_of_their_own() {
    let of = |name: &str, shape: &[usize], shift: usize| {
        let cells: Vec<f64> = (0..shape.iter().product()).map(|row| number(row + shift)).collect();
        let qtype = NdType::from_name(name).expect("a type");
        Value::NdArray(Arc::new(NdRows::from_slice(qtype, shape, &cells).expect("fits")))
    };
    for (height, width) in
        [(1, 1), (5, 8), (40, 9), (70, 100), (33, 127), (300, 129), (3, 700), (700, 101), (0, 3), (3, 0)]
    {
        let inputs = [
            ("x", of("NDARRAY_FLOAT64_NN", &[height, width], 0)),
            ("line", of("NDARRAY_FLOAT64_1N", &[1, width], 3)),
            ("r", of("NDARRAY_FLOAT64_N1", &[height, 1], 5)),
            ("t", of("NDARRAY_FLOAT64_N1", &[height, 1], 7)),
            ("s", Value::from(0.75)),
        ];
        for text in [
            "x * r",
            "(x - line) * r + s*t",
            "nd.where(bool.less(x, r), r, line)",
            "d = x * r; core.make_tuple(nd.sum(d, 0), d)",
            "nd.sum(x * r, 0)",
            "d = (x - r) * line; core.make_tuple(nd.mean(d, 0), nd.sum(d * t, 0), nd.count(bool.less(d, r), 0))",
            "math.lgamma(x * r) - line * t",
            "d = line - r; core.make_tuple(nd.sum(d, 0), nd.sum(d, 1), d)",
            "d = x - r; e = nd.cumsum(d, 1); core.make_tuple(nd.sum(d * t, 0), e * t)",
        ] {
            check(text, &inputs);
        }
    }
}

/// What becomes one along axes is in the strip of what it is computed from, whichever axes they are.
#[test]
fn reductions_over_axes_are_members_of_strips() {
    let types = ["x", "y"]
        .map(|name| (name, QType::NdArray(NdType::from_name("NDARRAY_FLOAT64_NN").expect("a type"))));
    for (text, members) in [
        ("nd.sum(x * y, 0)", 2),
        ("nd.sum(x * y, 1)", 2),
        ("nd.sum(x * y)", 2),
        ("d = x - y; core.make_tuple(nd.max(d, 0), nd.mean(d, 0), nd.count(d, 0))", 4),
        ("d = x - y; core.make_tuple(nd.sum(d, 1), nd.mean(d, 1), d)", 3),
        ("nd.sum(x, 0)", 1),
        // Only one kind of axes, and the last ones if there are others.
        ("d = x - y; core.make_tuple(nd.sum(d, 0), nd.sum(d, 1))", 2),
    ] {
        let source = Source::new(parse(text, Dialect::Cembra), types.clone());
        let bound = bind(source, &Prepare::standard(), Options::default());
        let regions = bound.regions();
        let in_strips = regions[0].strips.iter().map(|strip| strip.members.len());
        let expected: &[usize] = if Level::best() == Level::Baseline { &[] } else { &[members] };
        assert_eq!((regions.len(), in_strips.collect::<Vec<_>>().as_slice()), (1, expected), "{text}");
    }
}

/// Rows become one side by side: of every element type, whatever stands in order or repeats, with special values.
#[test]
fn rows_side_by_side() {
    fn of<C: bytemuck::Pod>(
        name: &str,
        shape: &[usize],
        cell: impl Fn(usize) -> C,
        is_turned: bool,
    ) -> Value {
        let qtype = NdType::from_name(name).expect("a type");
        let cells: Vec<C> = (0..shape.iter().product()).map(cell).collect();
        let size = size_of::<C>() as isize;
        let rows = match is_turned {
            true => {
                let strides = [size, size * shape[0] as isize];
                NdRows::from_strided(qtype, bytemuck::cast_slice(&cells), 0, shape, &strides)
            }
            false => {
                let strides: Vec<isize> = (0..shape.len())
                    .map(|axis| shape[axis + 1..].iter().product::<usize>() as isize * size)
                    .collect();
                NdRows::from_strided(qtype, bytemuck::cast_slice(&cells), 0, shape, &strides)
            }
        };
        Value::NdArray(Arc::new(rows.expect("fits")))
    }
    let special = |row: usize| match row % 41 {
        3 => 0.0,
        7 => -0.0,
        17 => f64::INFINITY,
        23 => f64::NEG_INFINITY,
        _ => number(row),
    };
    let folds =
        "nd.sum(d, 0), nd.max(d, 0), nd.min(d, 0), nd.mean(d, 0), nd.count(d, 0), nd.any(d, 0), nd.all(d, 0)";
    let heights = [1, 2, 7, 8, 9, 23, 32, 33, 128, 129, 300];
    let widths = [1, 2, 7, 8, 9, 31, 101];
    for (height, width) in heights.iter().flat_map(|height| widths.map(|width| (*height, width))) {
        let shape = &[height, width];
        let floats = [
            ("x", of("NDARRAY_FLOAT64_NN", shape, number, false)),
            ("y", of("NDARRAY_FLOAT64_NN", shape, |row| number(row + 5), width == 9)),
            ("line", of("NDARRAY_FLOAT64_1N", &[1, width], |row| number(row + 3), false)),
            ("r", of("NDARRAY_FLOAT64_N1", &[height, 1], |row| number(row + 7), false)),
        ];
        for text in [
            "nd.sum(x, 0)".to_owned(),
            "nd.max(x, 0)".to_owned(),
            "nd.sum(x * y, 0)".to_owned(),
            "core.make_tuple(nd.max(x - line, 0), nd.min(x * r, 0))".to_owned(),
            "d = x*line - y; core.make_tuple(nd.sum(d, 0), nd.mean(d * r, 0), d)".to_owned(),
            format!("d = math.maximum(x, y); core.make_tuple({folds})"),
            format!("d = x * r; core.make_tuple({folds})"),
            "core.make_tuple(nd.sum(x, 0), nd.sum(x * 2.0, 1), nd.max(x + y, 0))".to_owned(),
            "core.make_tuple(nd.sum(x + y, 0), nd.sum(x * y))".to_owned(),
        ] {
            check(&text, &floats);
        }
        let specials = [("x", of("NDARRAY_FLOAT64_NN", shape, special, height == 23))];
        check(
            "core.make_tuple(nd.max(x * -1.0, 0), nd.min(x, 0), nd.count(x * 0.5, 0), nd.all(x, 0))",
            &specials,
        );
        // The first zero counts, in every order that rows are taken in.
        let zero = |row: usize| [0.0, -0.0, 2.0][(row.wrapping_mul(0x9E37_79B9) >> 7) % 3];
        let zeros = [("x", of("NDARRAY_FLOAT64_NN", shape, zero, false))];
        let of_singles = [("x", of("NDARRAY_FLOAT32_NN", shape, |row| zero(row) as f32, false))];
        for inputs in [&zeros, &of_singles] {
            check("nd.min(x, 0)", inputs);
            check("core.make_tuple(nd.max(x * -1.0, 0), nd.min(x, 0), nd.min(x, 1))", inputs);
        }
        let singles = [("x", of("NDARRAY_FLOAT32_NN", shape, |row| special(row) as f32, false))];
        check("d = x * 0.5; core.make_tuple(nd.max(d, 0), nd.min(d, 0), nd.count(d, 0))", &singles);
        let singles = [("x", of("NDARRAY_FLOAT32_NN", shape, |row| number(row) as f32, false))];
        check("d = x * 0.5; core.make_tuple(nd.sum(d, 0), nd.mean(d + x, 0))", &singles);
        let narrow =
            [("x", of("NDARRAY_INT32_NN", shape, |row| (row as i32).wrapping_mul(0x0FFF_FFF1), false))];
        check(&format!("d = x + 3; core.make_tuple({folds})"), &narrow);
        let wide = [(
            "x",
            of("NDARRAY_INT64_NN", shape, |row| (row as i64).wrapping_mul(0x0FFF_FFF1_1234_5671), false),
        )];
        check(&format!("d = x * 3; core.make_tuple({folds})"), &wide);
        let counted =
            "d = bool.less(x, 10); core.make_tuple(nd.sum(d, 0), nd.count(d, 0), nd.any(d, 0), nd.all(d, 0))";
        check(counted, &wide);
    }
    // Rows of many elements are parted, so that somebody can stop the run.
    let long = [("x", of("NDARRAY_FLOAT64_NN", &[9, 70_000], number, false))];
    check("core.make_tuple(nd.sum(x * 0.5, 0), nd.max(x, 0))", &long);
    // Strips take in all rows of short runs at once, and several runs a call, which polls.
    let shapes = [[3, 17, 10], [2, 300, 9], [5, 8, 64], [19, 40, 30], [1, 40, 3], [4, 1, 12], [7, 130, 1]];
    for shape in shapes.into_iter().chain([[300, 10, 100], [70, 3, 1500], [2, 12, 12]]) {
        let [outer, height, width] = shape;
        let inputs = [
            ("x", of("NDARRAY_FLOAT64_NNN", &shape, number, false)),
            ("line", of("NDARRAY_FLOAT64_11N", &[1, 1, width], |row| number(row + 3), false)),
            ("middle", of("NDARRAY_FLOAT64_1N1", &[1, height, 1], |row| number(row + 4), false)),
            ("plane", of("NDARRAY_FLOAT64_N1N", &[outer, 1, width], |row| number(row + 9), false)),
        ];
        for axes in ["0", "1", "tuple(0, 1)", "tuple(1, 2)", "tuple(0, 2)"] {
            for operand in ["x", "x * x", "x * line", "x * middle", "x - plane", "middle * plane"] {
                check(&format!("nd.sum({operand}, {axes})"), &inputs);
                let several = format!(
                    "d = {operand} + x; core.make_tuple(nd.mean(d, {axes}), nd.max(d * d, {axes}), d)"
                );
                check(&several, &inputs);
            }
        }
    }
}

/// Arrays that have no elements along some axis: all that makes one of several gives results without elements, or an error of its own.
#[test]
fn arrays_without_elements() {
    let mut computed = 0;
    for shape in [[4, 5, 0], [0, 5, 3], [9, 0, 8], [1, 16, 0], [1, 0, 1], [0, 0, 0]] {
        for (element, bytes) in [("FLOAT64", 8), ("FLOAT32", 4), ("INT64", 8), ("INT32", 4), ("BOOLEAN", 1)] {
            let qtype = NdType::from_name(&format!("NDARRAY_{element}_NNN")).expect("a type");
            let rows = NdRows::from_strided(qtype, &[], 0, &shape, &[0, bytes, bytes]).expect("fits");
            let x = Value::NdArray(Arc::new(rows));
            for fold in ["sum", "mean", "var", "std", "max", "min", "prod", "any", "all", "count", "median"] {
                for axes in ["0", "1", "2", "tuple(0, 1)", "tuple(1, 2)", "tuple(0, 2)"] {
                    let text = format!("nd.{fold}(x, {axes})");
                    let source = Source::new(parse(&text, Dialect::Cembra), [("x", x.qtype())]);
                    let Ok(prepared) = Prepare::standard().run(source) else { continue };
                    let bound = compile(&prepared, &Options::default()).expect("a program");
                    let mut frame = bound.new_frame().expect("memory");
                    frame.write(bound.input_slot("x").expect("an input"), &x).expect("a value of its type");
                    match bound.execute(&mut frame) {
                        Ok(()) => computed += 1,
                        Err(error) => {
                            let error = error.to_string();
                            assert!(!error.contains("panicked"), "{text} of {element} {shape:?}: {error}");
                        }
                    }
                }
            }
        }
    }
    assert!(computed > 1000, "{computed} computed");
}

/// Runs over two axes between others, which operands have all of, one of, or none.
#[test]
fn rows_of_two_axes_side_by_side() {
    let shape = [5, 2, 7, 24];
    for (outer, inner) in [(5, 24), (1, 24), (5, 8), (40, 1)] {
        let shape = [outer, shape[1], shape[2], inner];
        let operand = |axes: &str| {
            let sizes: Vec<usize> =
                shape.iter().zip(axes.chars()).map(|(size, of)| if of == 'N' { *size } else { 1 }).collect();
            let qtype = NdType::from_name(&format!("NDARRAY_FLOAT64_{axes}")).expect("a type");
            let cells: Vec<f64> = (0..sizes.iter().product()).map(|row| number(row + axes.len())).collect();
            Value::NdArray(Arc::new(NdRows::from_slice(qtype, &sizes, &cells).expect("fits")))
        };
        let names = ["NNNN", "N11N", "1N11", "11N1", "1NN1", "111N", "N1N1", "NN1N"];
        let inputs: Vec<_> =
            ["x", "a", "b", "c", "d", "e", "f", "g"].into_iter().zip(names.map(operand)).collect();
        for other in ["a", "b", "c", "d", "e", "f", "g"] {
            let folds = format!(
                "y = x * {other} - 0.5; core.make_tuple(nd.sum(y, tuple(1, 2)), nd.min(y, tuple(1, 2)), y)"
            );
            check(&folds, &inputs);
            check(&format!("nd.mean({other} * f * g, tuple(1, 2))"), &inputs);
        }
    }
}

/// A thread begins with a run of elements that does not stand where the one before ends.
#[test]
fn threads_begin_with_runs_side_by_side() {
    let (shape, all) = ([3, 2, 8, 8192], [3, 3, 8, 8192]);
    let qtype = NdType::from_name("NDARRAY_FLOAT64_NNNN").expect("a type");
    let cells: Vec<f64> = (0..all.iter().product()).map(number).collect();
    let strides = [3 * 65_536 * 8, 65_536 * 8, 65_536, 8];
    let rows = NdRows::from_strided(qtype, bytemuck::cast_slice(&cells), 0, &shape, &strides).expect("fits");
    let inputs = [("x", Value::NdArray(Arc::new(rows)))];
    check("core.make_tuple(nd.sum(x * 0.5, 2), nd.max(x, 2))", &inputs);
    check("nd.mean(x, tuple(1, 2))", &inputs);
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

/// A group's fold is that of its rows alone: with zeros of both signs, NaN, missing rows, groups without rows, and rows without
/// a group.
#[test]
fn folds_of_groups_are_those_of_their_rows() {
    const GROUPS: usize = 5;
    let folds =
        ["math.sum", "math.max", "math.min", "array.count", "math.prod", "math.argmax", "math.argmin"];
    let floats = ["math.mean", "math.var", "math.median"];
    let special = |element: ScalarType, row: usize| match (element, row % 13) {
        (ScalarType::Float64, 3) => Some(ScalarValue::Float64(-0.0)),
        (ScalarType::Float64, 7) => Some(ScalarValue::Float64(0.0)),
        (ScalarType::Float64, 11) if row > 400 => Some(ScalarValue::Float64(f64::NAN)),
        _ => None,
    };
    for (element, gap) in
        [(ScalarType::Float64, usize::MAX), (ScalarType::Float64, 3), (ScalarType::Int32, usize::MAX)]
    {
        for (count, orphans) in [(0, false), (4, false), (100, true), (700, false), (700, true)] {
            let Value::Array(class, all) = rows(count, element, gap) else {
                unreachable!("rows are an array")
            };
            let of_row = |row| all.get(row).and_then(|value| special(element, row).or(Some(value)));
            let x = ArrayRows::from_values(element, &(0..count).map(of_row).collect::<Vec<_>>());
            // No row is in the last group.
            let parent = |row: usize| {
                (!orphans || !row.is_multiple_of(7)).then_some((row * row / 3 % (GROUPS - 1)) as i64)
            };
            let mapping: Vec<_> = (0..count).map(|row| parent(row).map(ScalarValue::Int64)).collect();
            let m = ArrayRows::from_values(ScalarType::Int64, &mapping);
            let inputs = [("x", x), ("m", m)].map(|(name, rows)| (name, Value::Array(class, Arc::new(rows))));
            for fold in folds.iter().chain(floats.iter().filter(|_| element.is_float())) {
                let Value::Array(_, found) =
                    check(&format!("{fold}(x, edge.from_mapping(m, int64({GROUPS})))"), &inputs)
                else {
                    panic!("{fold} of groups is an array");
                };
                for group in 0..GROUPS {
                    let alone = check(&format!("{fold}(array.select(x, m == {group}))"), &inputs);
                    let alone = alone.scalar().cloned();
                    let of_group = found.get(group);
                    assert_eq!(
                        format!("{of_group:?}"),
                        format!("{alone:?}"),
                        "{fold} of group {group}, {count} rows"
                    );
                }
            }
        }
    }
}
