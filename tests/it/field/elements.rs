//! Element types: every operation and every cast on numbers at which something changes, on all tiers.

use crate::field::random::compare;
use crate::field::reference::Reference;
use crate::field::run_case;
use crate::field::tiers::{case_on, sanitized};
use cembra::backend::FieldTier;
use cembra::field::{FieldBuffer, FieldCells, FieldProblem};
use cembra::vm::value::ScalarType;
use serde_json::{Map, Value as Json, json};

/// Integer types with their least and greatest numbers.
const INTEGERS: [(&str, i128, i128); 8] = [
    ("int8", i8::MIN as i128, i8::MAX as i128),
    ("int16", i16::MIN as i128, i16::MAX as i128),
    ("int32", i32::MIN as i128, i32::MAX as i128),
    ("int64", i64::MIN as i128, i64::MAX as i128),
    ("uint8", 0, u8::MAX as i128),
    ("uint16", 0, u16::MAX as i128),
    ("uint32", 0, u32::MAX as i128),
    ("uint64", 0, u64::MAX as i128),
];

/// Numbers at the ends of all types, and some between.
fn edges() -> Vec<i128> {
    let ends = INTEGERS.iter().flat_map(|(_, low, high)| [*low, low + 1, high - 1, *high, low - 1, high + 1]);
    let mut all: Vec<i128> = ends.chain([-3, -1, 0, 1, 2, 7, 100, 1 << 53, (1 << 53) + 1]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn json_of(number: i128) -> Json {
    u64::try_from(number).map_or_else(|_| json!(number as i64), |number| json!(number))
}

fn row(dtype: &str, cells: &[Json]) -> Json {
    json!({ "dims": ["I"], "origin": [0], "shape": [cells.len()], "dtype": dtype, "data": cells })
}

/// A case with one statement: a target for each expression, of its element type and as many points as its input.
fn case(inputs: Map<String, Json>, values: Vec<(String, Json, usize)>) -> Json {
    let names: Vec<String> = (0..values.len()).map(|number| format!("y{number}")).collect();
    let output = |(name, (dtype, _, size)): (&String, &(String, Json, usize))| {
        (name.clone(), json!({ "dims": ["I"], "origin": [0], "shape": [size], "dtype": dtype }))
    };
    let outputs: Map<String, Json> = names.iter().zip(&values).map(output).collect();
    let domains: Vec<Json> = values.iter().map(|(.., size)| json!({ "I": [0, size] })).collect();
    let mut tuple = vec![json!("tuple")];
    tuple.extend(values.into_iter().map(|(_, value, _)| value));
    json!({
        "version": 2, "name": "elements", "dims": { "I": "horizontal" }, "inputs": inputs, "outputs": outputs,
        "statements": [{ "targets": names, "domain": domains, "expr": tuple }],
    })
}

/// Has the values of the evaluator on all tiers.
fn agrees(case: &Json) {
    let expected = Reference::new(case).run().unwrap_or_else(|classes| panic!("{classes:?}\n{case}"));
    for tier in [FieldTier::Interpreter, FieldTier::Steps, FieldTier::Jit, sanitized()] {
        let found = case_on(&tier, case).unwrap_or_else(|class| panic!("{tier:?}: {class}\n{case}"));
        assert_eq!(compare(&expected, &found), None, "{tier:?}\n{case}");
    }
}

#[test]
fn operations_have_the_numbers_of_their_type() {
    for (dtype, low, high) in INTEGERS {
        let numbers: Vec<i128> = edges().into_iter().filter(|n| (low..=high).contains(n)).collect();
        let pairs = numbers.iter().flat_map(|a| numbers.iter().map(move |b| (*a, *b)));
        let (a, b): (Vec<Json>, Vec<Json>) = pairs.map(|(a, b)| (json_of(a), json_of(b))).unzip();
        let size = a.len();
        // A divisor that is not zero, and numbers whose quotient fits int64 too.
        let d: Vec<Json> = b.iter().map(|b| if b == 0 { json!(1) } else { b.clone() }).collect();
        let is_beyond = |a: &Json, d: &Json| a == i64::MIN && d == -1;
        let c = a.iter().zip(&d).map(|(a, d)| if is_beyond(a, d) { json!(0) } else { a.clone() });
        let c: Vec<Json> = c.collect();
        let inputs = [("a", &a), ("b", &b), ("c", &c), ("d", &d)];
        let inputs = inputs.map(|(name, cells)| (name.to_owned(), row(dtype, cells)));
        let of = |name: &str| json!(["ref", name]);
        let mut values = Vec::new();
        for op in ["add", "sub", "mul", "min", "max"] {
            values.push((dtype, json!([op, of("a"), of("b")])));
        }
        for op in ["lt", "le", "gt", "ge", "eq", "ne"] {
            values.push(("bool", json!([op, of("a"), of("b")])));
        }
        for exponent in [0, 1, 2, 3, 7, 8] {
            values.push((dtype, json!(["pow", of("a"), ["lit", exponent, dtype]])));
        }
        for op in ["floordiv", "mod", "fmod"] {
            values.push((dtype, json!([op, of("c"), of("d")])));
        }
        for op in ["neg", "abs"] {
            values.push((dtype, json!([op, of("a")])));
        }
        values.push((dtype, json!(["where", ["lt", of("a"), of("b")], of("a"), ["mul", of("b"), of("b")]])));
        let values = values.into_iter().map(|(dtype, value)| (dtype.to_owned(), value, size));
        agrees(&case(inputs.into_iter().collect(), values.collect()));
        let zero = json!(["floordiv", of("a"), of("b")]);
        let inputs = [("a", json!([1])), ("b", json!([0]))];
        let inputs =
            inputs.map(|(name, cells)| (name.to_owned(), row(dtype, cells.as_array().expect("a list"))));
        let error = run_case(&case(inputs.into_iter().collect(), vec![(dtype.to_owned(), zero, 1)]));
        let error = error.expect_err("a zero divisor").to_string();
        assert!(error.contains("division by zero"), "{dtype}: {error}");
    }
}

/// What a number is after a cast; nothing if the type does not have it.
fn has(low: i128, high: i128, number: &Json) -> bool {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) => float.trunc() >= low as f64 && float.trunc() < high as f64 + 1.0,
        None => number
            .as_i64()
            .map(i128::from)
            .or(number.as_u64().map(i128::from))
            .is_some_and(|n| (low..=high).contains(&n)),
    }
}

#[test]
fn casts_give_the_number_or_an_error() {
    let all = INTEGERS.iter().map(|(name, ..)| *name).chain(["float32", "float64", "bool"]);
    for from in all.clone() {
        let numbers: Vec<Json> = match (from, INTEGERS.iter().find(|(name, ..)| *name == from)) {
            ("bool", _) => vec![json!(false), json!(true)],
            (_, Some((_, low, high))) => {
                edges().into_iter().filter(|n| (low..=high).contains(&n)).map(json_of).collect()
            }
            _ => {
                let between =
                    [0.5, -0.5, -0.75, 2.5, -2.5, 127.5, -128.5, 255.5, 65535.5, 1e15].map(|x| json!(x));
                // Those that have a value in float32 next to an end would be rounded to it.
                let ends = edges().into_iter().map(|n| json!(f64::from(n as f32)));
                ends.chain(between).collect()
            }
        };
        let (mut inputs, mut values) = (Map::new(), Vec::new());
        for to in all.clone() {
            let ends = INTEGERS.iter().find(|(name, ..)| *name == to).filter(|_| from != "bool");
            let fits = |number: &&Json| ends.is_none_or(|(_, low, high)| has(*low, *high, number));
            let (fitting, others): (Vec<&Json>, Vec<&Json>) = numbers.iter().partition(fits);
            let fitting: Vec<Json> = fitting.into_iter().cloned().collect();
            let value = json!(["cast", ["ref", format!("x_{to}")], to]);
            inputs.insert(format!("x_{to}"), row(from, &fitting));
            values.push((to.to_owned(), value.clone(), fitting.len()));
            for number in others {
                let input = [(format!("x_{to}"), row(from, std::slice::from_ref(number)))];
                let case = case(input.into_iter().collect(), vec![(to.to_owned(), value.clone(), 1)]);
                let error = run_case(&case).expect_err("a number that does not fit");
                let class = error.problem.class();
                assert!(error.to_string().contains("cannot cast"), "{from} {number} to {to}: {error}");
                // Numbers and types are named as the program has them, not as the machine holds them.
                let error = error.to_string();
                let (before, behind) = (format!("cannot cast {number} to "), format!(" to {to}, at I = 0"));
                assert!(error.ends_with(&behind), "{from} {number} to {to}: {error}");
                assert!(from.starts_with("float") || error.contains(&before), "{from} to {to}: {error}");
                assert!(!error.contains('{'), "{error}");
                assert_eq!(class, "run");
            }
        }
        agrees(&case(inputs, values));
    }
}

#[test]
fn buffers_hold_narrow_elements_that_are_numbers_of_their_type() {
    let buffer = |cells: Vec<i32>| FieldBuffer::row_major(FieldCells::Int32(cells), &[0], &[2]).expect("two");
    let narrow = buffer(vec![-128, 127]).of_dtype(ScalarType::Int8).expect("both fit");
    assert_eq!((narrow.dtype(), narrow.cells().dtype()), (ScalarType::Int8, ScalarType::Int32));
    let text = |result: Result<FieldBuffer, FieldProblem>| result.expect_err("no such elements").to_string();
    let outside = buffer(vec![-1, 256]).of_dtype(ScalarType::Uint8);
    assert_eq!(text(outside), "-1 is no uint8");
    let other = buffer(vec![0, 0]).of_dtype(ScalarType::Uint32);
    assert_eq!(text(other), "what holds uint32 is int32, not int64");
}

/// Numbers and their gamma function, poles and both ends of what does not overflow among them.
const GAMMA: [(f64, f64); 22] = [
    (0.0, f64::INFINITY),
    (-0.0, f64::NEG_INFINITY),
    (-1.0, f64::NAN),
    (-2.0, f64::NAN),
    (f64::INFINITY, f64::INFINITY),
    (f64::NEG_INFINITY, f64::NAN),
    (f64::NAN, f64::NAN),
    (0.5, 1.7724538509055159),
    (-0.5, -3.5449077018110318),
    (-1.5, 2.363271801207355),
    (1.0, 1.0),
    (5.0, 24.0),
    (23.5, 5.361303587544414e+21),
    (170.0, 4.269068009004706e+304),
    (171.5, 9.483367566824803e+307),
    (171.624_376_956_302_7, 1.797_693_134_862_23e308),
    (171.63, f64::INFINITY),
    (-100.5, -3.353690819807678e-159),
    (-171.5, 1.931_626_543_171_2e-310),
    (5e-309, f64::INFINITY),
    (-5e-309, f64::NEG_INFINITY),
    (1e-300, 9.999999999999999e+299),
];

#[test]
fn the_gamma_function_has_a_value_everywhere() {
    let nearly = |found: f64, expected: f64, relative: f64| {
        found.to_bits() == expected.to_bits()
            || found.is_nan() && expected.is_nan()
            || (found - expected).abs() <= relative * expected.abs()
    };
    let as_json = |x: f64| if x.is_finite() { json!(x) } else { json!(x.to_string().to_lowercase()) };
    for (dtype, relative) in [("float64", 1e-14), ("float32", 1e-7)] {
        let held = |x: f64| if dtype == "float32" { f64::from(x as f32) } else { x };
        // What FLOAT32 does not have is another number there.
        let pairs: Vec<(f64, f64)> = GAMMA
            .iter()
            .copied()
            .filter(|(x, _)| dtype == "float64" || f64::from(*x as f32) == *x || x.is_nan())
            .collect();
        let cells: Vec<Json> = pairs.iter().map(|(x, _)| as_json(*x)).collect();
        let inputs = [("x".to_owned(), row(dtype, &cells))].into_iter().collect();
        let values = vec![(dtype.to_owned(), json!(["gamma", ["ref", "x"]]), cells.len())];
        let case = case(inputs, values);
        for tier in [FieldTier::Interpreter, FieldTier::Steps, FieldTier::Jit] {
            let found = case_on(&tier, &case).unwrap_or_else(|class| panic!("{tier:?}: {class}"));
            let found = found["y0"]["data"].as_array().expect("a list");
            for ((x, expected), cell) in pairs.iter().zip(found) {
                let cell = cell
                    .as_f64()
                    .unwrap_or_else(|| cell.as_str().expect("a word").parse().expect("a number"));
                assert!(
                    nearly(cell, held(*expected), relative),
                    "{dtype}, {tier:?}: gamma({x}) is {cell}, not {expected}"
                );
            }
        }
    }
}
