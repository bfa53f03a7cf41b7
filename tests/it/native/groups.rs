//! Rows in groups: native code makes the edges, folds, scans and expansions of the interpreter, and refuses what it refuses.
//! `CEMBRA_NATIVE=1` takes all operators instead of every second one, and ten times as many random expressions.

use crate::native::arrays::{compare, compiled, library, sanitized};
use crate::native::rows::{read, rows};
use cembra::native::ArrayLayout;
use cembra::vm::value::{ArrayClass, ArrayRows, Category, ScalarType, ScalarValue, Value};
use fastrand::Rng;
use std::sync::Arc;

fn integers(cells: &[Option<i64>]) -> Value {
    let cells: Vec<_> = cells.iter().map(|cell| cell.map(ScalarValue::Int64)).collect();
    Value::Array(ArrayClass::Dense, Arc::new(ArrayRows::from_values(ScalarType::Int64, &cells)))
}

/// Rows with numbers of parents, and the number of parents; sizes of groups for all of them; points where groups begin.
fn inputs(rng: &mut Rng, count: usize) -> [(&'static str, Value); 10] {
    let parents = [1, 3, 40][rng.usize(..3)];
    let parent = |_| (rng.u8(..6) > 0).then(|| rng.i64(0..parents));
    let ids: Vec<Option<i64>> = (0..count).map(parent).collect();
    let mut points: Vec<Option<i64>> = (0..4).map(|_| Some(rng.usize(..=count) as i64)).collect();
    points.extend([Some(0), Some(count as i64)]);
    points.sort();
    let sizes: Vec<Option<i64>> =
        points.windows(2).map(|pair| Some(pair[1].unwrap_or(0) - pair[0].unwrap_or(0))).collect();
    [
        ("x", rows(rng, ScalarType::Float64, count)),
        ("s", rows(rng, ScalarType::Float32, count)),
        ("n", rows(rng, ScalarType::Int64, count)),
        ("k", rows(rng, ScalarType::Int32, count)),
        ("b", rows(rng, ScalarType::Boolean, count)),
        ("m", rows(rng, ScalarType::Unit, count)),
        ("ids", integers(&ids)),
        ("parents", Value::Scalar(ScalarValue::Int64(parents))),
        ("sizes", integers(&sizes)),
        ("points", integers(&points)),
    ]
}

/// Edges over rows.
const EDGES: [&str; 5] = [
    "edge.from_mapping(ids, parents)",
    "edge.from_sizes(sizes)",
    "edge.from_split_points(points)",
    "edge.group_by(core.presence_and(n, core.equal(n, n)))",
    "edge.to_scalar(x)",
];

/// Operators of rows and an edge, without the last parenthesis.
const GROUPED: [&str; 40] = [
    "math.sum(x",
    "math.sum(s",
    "math.sum(n",
    "math.sum(k",
    "math.mean(x",
    "math.mean(s",
    "math.min(x",
    "math.max(s",
    "math.max(k",
    "math.prod(n",
    "math.prod(x",
    "math.prod(s",
    "math.median(x",
    "math.median(k",
    "math.argmin(s",
    "math.argmax(x",
    "math.var(x",
    "math.std(s",
    "array.count(m",
    "core.any(m",
    "core.all(m",
    "bool.logical_all(b",
    "bool.logical_any(b",
    "math.cum_sum(s",
    "math.cum_max(x",
    "array.ordinal_rank(x",
    "array.ordinal_rank(k",
    "array.dense_rank(s",
    "array.dense_rank(n",
    "math.cdf(s",
    "math.cdf(k",
    "math.softmax(x, 0.5",
    "math.softmax(k, -1.5",
    "math.inverse_cdf(x, 0.4",
    "math.inverse_cdf(x, float32(0.4)",
    "math.inverse_cdf(n, 1.0",
    "math.skew(x",
    "math.kurtosis(s",
    "array.collapse(k",
    "array.collapse(m",
];

fn takes_all() -> bool {
    std::env::var("CEMBRA_NATIVE").is_ok_and(|text| text == "1")
}

/// Compares for some numbers of rows: nothing is refused.
fn check(rng: &mut Rng, texts: &[String]) {
    let (_folder, cache) = sanitized();
    let step = if takes_all() { 1 } else { 3 };
    for (number, text) in texts.iter().enumerate().step_by(step) {
        let bound = compiled(text, &read(text, inputs(rng, 1).into()));
        let layout = if number / step % 2 == 0 { ArrayLayout::Strided } else { ArrayLayout::Contiguous };
        let library = library(&cache, &bound, layout);
        for count in [0, 1, 9, 70, 300, 2100] {
            let found = compare(text, &bound, &library, &read(text, inputs(rng, count).into()));
            assert!(found.is_ok(), "{text}: {found:?}");
        }
    }
}

#[test]
fn groups_are_folded_and_scanned() {
    let rng = &mut Rng::with_seed(31);
    let grouped = |(number, text): (usize, &&str)| {
        let edge = EDGES[number % EDGES.len()];
        format!("{text}, {edge})")
    };
    let whole = GROUPED.iter().map(|text| format!("{text})"));
    let all: Vec<String> = GROUPED.iter().enumerate().map(grouped).chain(whole).collect();
    check(rng, &all);
}

#[test]
fn edges_are_taken_apart_and_expanded() {
    let rng = &mut Rng::with_seed(32);
    let mut all =
        vec!["array.cum_count(m, edge.from_sizes(sizes))".to_owned(), "array.agg_index(x)".to_owned()];
    for edge in &EDGES[..4] {
        all.push(format!("edge.mapping({edge})"));
        all.push(format!("edge.mapping(edge.compose(edge.group_by(edge.sizes({edge})), {edge}))"));
        let inner =
            format!("edge.from_sizes(array.iota(array.make_dense_array_shape(edge.child_size({edge}))))");
        all.push(format!("edge.sizes(edge.compose({edge}, {inner}))"));
        all.push(format!("edge.sizes({edge})"));
        all.push(format!("edge.parent_size({edge}) * edge.child_size({edge})"));
        all.push(format!("e = {edge}\nx - array.expand(math.mean(x, e), e)"));
        all.push(format!("e = {edge}\narray.expand(core.any(m, e), e)"));
    }
    all.push("edge.mapping(edge.to_scalar(x))".to_owned());
    check(rng, &all);
}

#[test]
fn edges_that_are_none_are_refused() {
    let (_folder, cache) = sanitized();
    let cases: [(&str, &str, &[Option<i64>], Category); 11] = [
        ("math.inverse_cdf(v, 1.5)", "v", &[Some(2)], Category::IndexOutOfRange),
        ("edge.sizes(edge.from_sizes(v))", "v", &[Some(2), Some(-1)], Category::IndexOutOfRange),
        ("edge.sizes(edge.from_sizes(v))", "v", &[Some(2), None], Category::IndexOutOfRange),
        ("edge.sizes(edge.from_sizes(v))", "v", &[Some(i64::MAX), Some(1)], Category::Limit),
        ("edge.sizes(edge.from_split_points(v))", "v", &[Some(0), Some(1 << 40)], Category::Limit),
        (
            "edge.sizes(edge.from_split_points(v))",
            "v",
            &[Some(0), Some(1 << 40), Some(5)],
            Category::IndexOutOfRange,
        ),
        ("edge.sizes(edge.from_split_points(v))", "v", &[Some(1), Some(2)], Category::IndexOutOfRange),
        ("edge.sizes(edge.from_split_points(v))", "v", &[], Category::IndexOutOfRange),
        ("edge.mapping(edge.from_mapping(v, int64(2)))", "v", &[Some(2), Some(0)], Category::IndexOutOfRange),
        (
            "edge.mapping(edge.compose(edge.from_sizes(v), edge.from_sizes(v)))",
            "v",
            &[Some(2), Some(1)],
            Category::IndexOutOfRange,
        ),
        ("math.sum(v, edge.from_sizes(v))", "v", &[Some(2), Some(1)], Category::SizeMismatch),
    ];
    for (text, name, cells, category) in cases {
        let inputs = [(name, integers(cells))];
        let bound = compiled(text, &inputs);
        let found = compare(text, &bound, &library(&cache, &bound, ArrayLayout::Strided), &inputs);
        assert_eq!(found, Err(category), "{text} of {cells:?}");
    }
    let nan = Value::Array(
        ArrayClass::Dense,
        Arc::new(ArrayRows::from_values(ScalarType::Float64, &[Some(ScalarValue::Float64(f64::NAN))])),
    );
    let inputs = [("x", nan)];
    let bound = compiled("edge.mapping(edge.group_by(x))", &inputs);
    let found = compare("NaN", &bound, &library(&cache, &bound, ArrayLayout::Strided), &inputs);
    assert_eq!(found, Err(Category::IndexOutOfRange));
}

#[test]
fn random_expressions_of_groups() {
    let count = if takes_all() { 100 } else { 12 };
    let rng = &mut Rng::with_seed(20_281);
    let of_floats = ["sum", "mean", "min", "max", "median", "var", "std", "prod", "cum_sum", "cum_max"];
    let text = |rng: &mut Rng| {
        let (f, g) = (of_floats[rng.usize(..of_floats.len())], of_floats[rng.usize(..8)]);
        let (edge, other) = (EDGES[rng.usize(..4)], EDGES[rng.usize(..4)]);
        let of = ["x", "x*2.0", "core.to_float64(n) - x", "core.where(x > 0.5, x, -x)"][rng.usize(..4)];
        let inner = format!("array.expand(math.{g}({of}, e), e)");
        format!("e = {edge}\nmath.{f}(x - {inner}, {other})")
    };
    let all: Vec<String> = (0..count).map(|_| text(rng)).collect();
    check(rng, &all);
}
