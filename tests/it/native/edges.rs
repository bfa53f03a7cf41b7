//! Edges as arguments, results and literals of libraries: the interpreter's bits and errors, and damaged ones, which only C and Python
//! can bring, are refused before anything is read through them. `CEMBRA_NATIVE=1` takes ten times as many random edges.

use crate::native::arrays::{compare, compiled, library, sanitized};
use crate::native::rows::rows;
use cembra::native::ArrayLayout;
use cembra::vm::library::{Argument, BoundaryError};
use cembra::vm::value::{ArrayClass, ArrayRows, Category, Edge, ScalarType, ScalarValue, Value};
use fastrand::Rng;
use std::fs;
use std::process::{Command, Output};
use std::sync::Arc;

fn value(edge: Edge) -> Value {
    Value::Edge(ArrayClass::Dense, Arc::new(edge))
}

/// An edge of so many rows.
fn edge(rng: &mut Rng, count: usize) -> Value {
    if rng.bool() {
        let parents = [1, 3, 40][rng.usize(..3)];
        let share = [1, 5, 40][rng.usize(..3)];
        let parent = |_| (rng.u8(..40) >= share).then(|| ScalarValue::Int64(rng.i64(0..parents as i64)));
        let ids: Vec<Option<ScalarValue>> = (0..count).map(parent).collect();
        let mapping = ArrayRows::from_values(ScalarType::Int64, &ids);
        return value(Edge::from_mapping(mapping, parents).expect("there are such parents"));
    }
    let mut points: Vec<usize> = (0..rng.usize(..5)).map(|_| rng.usize(..=count)).collect();
    points.extend([0, count]);
    points.sort_unstable();
    value(Edge::from_points(points).expect("they are sorted"))
}

/// Expressions that read rows, an edge, another one from its parents to a scalar, and a truth.
const TEXTS: [&str; 9] = [
    "math.sum(x, e)",
    "math.median(x, e)",
    "math.cum_sum(x, e)",
    "array.expand(math.max(x, e), e) - x",
    "edge.mapping(e)",
    "e",
    "edge.sizes(e)",
    "core.where(core.less(a, 0.0), e, edge.from_mapping(edge.mapping(e), edge.parent_size(e)))",
    "edge.group_by(x)",
];

#[test]
fn edges_cross_the_boundary() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(61);
    let rounds = if std::env::var("CEMBRA_NATIVE").is_ok_and(|text| text == "1") { 40 } else { 4 };
    for (number, text) in TEXTS.iter().enumerate() {
        let of = |rng: &mut Rng, count: usize| {
            let all = [
                ("x", rows(rng, ScalarType::Float32, count)),
                ("e", edge(rng, count)),
                ("a", Value::Scalar(ScalarValue::Float64(rng.f64() - 0.5))),
            ];
            crate::native::rows::read(text, all.into())
        };
        let bound = compiled(text, &of(rng, 1));
        let library = library(&cache, &bound, [ArrayLayout::Strided, ArrayLayout::Contiguous][number % 2]);
        for count in [0, 1, 9, 130, 700] {
            for _ in 0..rounds {
                // A row that is NaN has no group.
                let found = compare(text, &bound, &library, &of(rng, count));
                let is_nan = *text == "edge.group_by(x)" && found == Err(Category::IndexOutOfRange);
                assert!(found.is_ok() || is_nan, "{text}: {found:?}");
            }
        }
    }
}

#[test]
fn an_edge_of_other_rows_is_refused() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(62);
    let inputs = |rng: &mut Rng, rows_of_x: usize, of_edge: usize| {
        [("x", rows(rng, ScalarType::Float64, rows_of_x)), ("e", edge(rng, of_edge))]
    };
    let text = "math.sum(x, e)";
    let bound = compiled(text, &inputs(rng, 1, 1));
    let library = library(&cache, &bound, ArrayLayout::Strided);
    for (x, e) in [(3, 4), (0, 1), (7, 0)] {
        assert_eq!(compare(text, &bound, &library, &inputs(rng, x, e)), Err(Category::SizeMismatch));
    }
    // Values of other types are.
    let x = rows(rng, ScalarType::Float64, 3);
    for wrong in
        [value(Edge::to_scalar(3)), x.clone(), Value::Edge(ArrayClass::Array, Arc::new(Edge::empty()))]
    {
        let error = library.bind([Argument::Value(&x), Argument::Value(&wrong)]).map(|_| ());
        assert!(matches!(&error, Err(BoundaryError::Type { name, .. }) if name == "e"), "{error:?}");
    }
}

#[test]
fn edges_to_a_scalar_and_several_results() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(63);
    for text in ["math.sum(x, s)", "array.cum_count(x, s)", "s", "edge.child_size(s)", "math.var(x, s)"] {
        let of = |rng: &mut Rng, count: usize| {
            let all = [("x", rows(rng, ScalarType::Float64, count)), ("s", value(Edge::to_scalar(count)))];
            crate::native::rows::read(text, all.into())
        };
        let bound = compiled(text, &of(rng, 1));
        let library = library(&cache, &bound, ArrayLayout::Strided);
        for count in [0, 1, 70] {
            let found = compare(text, &bound, &library, &of(rng, count));
            assert!(found.is_ok(), "{text}: {found:?}");
        }
    }
}

#[test]
fn edges_and_arrays_are_literals() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(64);
    // The optimizer folds what does not depend on an input.
    let texts = [
        "math.sum(x, edge.from_sizes(array.concat(array.iota(array.make_dense_array_shape(int64(3))), array.iota(array.make_dense_array_shape(int64(2))))))",
        "x + math.trig.cos(core.to_float64(array.iota(array.make_dense_array_shape(int64(4)))))",
        "math.sum(x, edge.group_by(array.select(array.iota(array.make_dense_array_shape(int64(4))), core.has(array.iota(array.make_dense_array_shape(int64(4)))))))",
        "edge.from_sizes(array.iota(array.make_dense_array_shape(int64(4))))",
        "array.concat(x, math.log(core.to_float64(array.iota(array.make_dense_array_shape(int64(3)))) - 1.0))",
        "math.mean(x, edge.to_scalar(array.iota(array.make_dense_array_shape(int64(4)))))",
    ];
    for text in texts {
        let of =
            |rng: &mut Rng| crate::native::rows::read(text, vec![("x", rows(rng, ScalarType::Float64, 4))]);
        let bound = compiled(text, &of(rng));
        let is_literal =
            |value: &Value| matches!(value, Value::Array(..) | Value::Edge(..) | Value::NdArray(_));
        let main = bound.program().main();
        assert!(main.literals.iter().any(|(_, literal)| is_literal(literal)), "{text}: nothing is folded");
        for layout in [ArrayLayout::Strided, ArrayLayout::Contiguous] {
            let native = library(&cache, &bound, layout);
            for _ in 0..3 {
                let _ = compare(text, &bound, &native, &of(rng));
            }
        }
    }
}

const MAIN: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "edges.h"
/* Numbers whose last one stands before memory that nobody may read. */
static int64_t *guarded(int count, const int64_t *numbers)
{
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, 4096, PROT_NONE);
    int64_t *first = (int64_t *)(pages + 4096) - count;
    memcpy(first, numbers, sizeof(int64_t) * (unsigned)count);
    return first;
}
int main(void)
{
    double x[4] = { 1.0, 2.0, 4.0, 8.0 };
    uint8_t of_ids[1] = { 0xb };
    cembra_array rows = { x, { 4 }, { 8 } }, sums = { 0 };
    cembra_edge points = { { guarded(3, (int64_t[]){ 0, 1, 4 }), { 3 }, { 8 } }, 2, CEMBRA_SPLIT_POINTS };
    cembra_edge mapping = { { guarded(4, (int64_t[]){ 1, 1, 99, 0 }), { 4 }, { 8 }, of_ids, 0 }, 3, CEMBRA_MAPPING };
    cembra_edge one = { { NULL, { 4 } }, 1, CEMBRA_ONE_GROUP }, made;
    cembra_error error;
    int64_t size;
    if (edges(&rows, &points, &sums, &error) != 0 || sums.shape[0] != 2 || ((double *)sums.data)[1] != 14.0) return 1;
    edges_free(&sums);
    if (edges(&rows, &mapping, &sums, &error) != 0 || sums.shape[0] != 3 || ((double *)sums.data)[1] != 3.0) return 2;
    edges_free(&sums);
    if (itself(&mapping, &made, &error) != 0 || made.kind != CEMBRA_MAPPING || made.numbers.validity[0] != 0xb) return 3;
    if (made.parents != 3 || ((int64_t *)made.numbers.data)[1] != 1) return 4;
    edges_free(&made.numbers);
    if (size_of_one(&one, &size, &error) != 0 || size != 4) return 5;
    cembra_edge wrong[] = {
        { { guarded(3, (int64_t[]){ 0, 5, 4 }), { 3 }, { 8 } }, 2, CEMBRA_SPLIT_POINTS },
        { { guarded(3, (int64_t[]){ 1, 2, 4 }), { 3 }, { 8 } }, 2, CEMBRA_SPLIT_POINTS },
        { { guarded(3, (int64_t[]){ 0, 2, INT64_MAX }), { 3 }, { 8 } }, 2, CEMBRA_SPLIT_POINTS },
        { { guarded(3, (int64_t[]){ 0, -1, 4 }), { 3 }, { 8 } }, 2, CEMBRA_SPLIT_POINTS },
        { { points.numbers.data, { 3 }, { 8 } }, 3, CEMBRA_SPLIT_POINTS },
        { { points.numbers.data, { 0 }, { 8 } }, -1, CEMBRA_SPLIT_POINTS },
        { { points.numbers.data, { 3 }, { 8 }, of_ids, -1 }, 2, CEMBRA_SPLIT_POINTS },
        { { points.numbers.data, { 3 }, { 8 }, (uint8_t[]){ 0x5 }, 0 }, 2, CEMBRA_SPLIT_POINTS },
        { { NULL, { 4 }, { 8 } }, 3, CEMBRA_MAPPING },
        { { mapping.numbers.data, { 4 }, { 8 } }, 3, CEMBRA_MAPPING },
        { { mapping.numbers.data, { 4 }, { 8 }, of_ids, 0 }, 1, CEMBRA_MAPPING },
        { { mapping.numbers.data, { 4 }, { 8 }, of_ids, 0 }, -1, CEMBRA_MAPPING },
        { { mapping.numbers.data, { 4 }, { 8 }, of_ids, 0 }, INT64_MAX, CEMBRA_MAPPING },
        { { mapping.numbers.data, { -4 }, { 8 }, of_ids, 0 }, 3, CEMBRA_MAPPING },
        { { mapping.numbers.data, { INT64_MAX }, { 8 }, of_ids, 0 }, 3, CEMBRA_MAPPING },
        { { mapping.numbers.data, { 4 }, { 8 }, of_ids, 0 }, 3, 7 },
        { { mapping.numbers.data, { 4 }, { 8 }, of_ids, 0 }, 3, -1 },
        { { NULL, { 4 } }, 1, CEMBRA_ONE_GROUP },
        { { 0 }, 0, 0 },
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (edges(&rows, &wrong[i], &sums, &error) != CEMBRA_TYPE || sums.data != NULL) return 10 + (int)i;
        puts(error.message);
    }
    one.numbers.shape[0] = -1;
    if (size_of_one(&one, &size, &error) != CEMBRA_TYPE || size_of_one(&points, &size, &error) != CEMBRA_TYPE) return 50;
    /* Another number of rows is an error of the operator. */
    rows.shape[0] = 3;
    if (edges(&rows, &points, &sums, &error) != CEMBRA_SIZE_MISMATCH || sums.data != NULL) return 51;
    return 0;
}
"#;

const CALLER: &str = r#"
import edges
from edges import Edge

x = [1.0, 2.0, None, 8.0]
assert edges.edges(x, Edge.from_sizes([1, 3])).tolist() == [1.0, 10.0]
assert edges.edges(x, Edge.from_mapping([1, 1, None, 0], 3)).tolist() == [8.0, 3.0, 0.0]
assert edges.itself(Edge.from_split_points([0, 2])) == Edge("split_points", [0, 2], 1)
assert edges.itself(Edge.from_mapping([1, None], 2)) == Edge("mapping", [1, None], 2)
assert edges.itself(Edge.from_mapping([], 0)) == Edge("mapping", [], 0)
assert edges.size_of_one(Edge.to_scalar(4)) == 4
for call, kind in [
    (lambda: edges.edges(x, Edge.from_split_points([0, 5, 4])), TypeError),
    (lambda: edges.edges(x, Edge.from_mapping([0, 0, 0, 3], 3)), TypeError),
    (lambda: edges.edges(x, Edge.to_scalar(4)), TypeError),
    (lambda: edges.edges(x, [0, 4]), TypeError),
    (lambda: edges.edges(x, Edge.from_sizes([3])), ValueError),
]:
    try:
        call()
    except kind as error:
        print(type(error).__name__, error)
    else:
        raise SystemExit(f"{kind} was not raised")
"#;

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn damaged_edges_are_refused_before_anything_runs() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    let types =
        ["--type=x=DENSE_ARRAY_FLOAT64", "--type=e=DENSE_ARRAY_EDGE", "--type=s=DENSE_ARRAY_TO_SCALAR_EDGE"];
    let expressions =
        ["--expr=edges=math.sum(x, e)", "--expr=itself=e", "--expr=size_of_one=edge.child_size(s)"];
    let built = Command::new(env!("CARGO_BIN_EXE_cembra"))
        .args(["build", "-o", "out"])
        .args(expressions)
        .args(types)
        .current_dir(folder)
        .env("CEMBRA_CACHE_DIR", folder.join("cache"))
        .output()
        .expect("the command starts");
    assert!(built.status.success(), "{}", text(&built));
    let out = folder.join("out");
    fs::write(out.join("main.c"), MAIN).expect("it is written");
    let compiled = Command::new("cc")
        .args(["-o", "main", "main.c", "libedges.so", "-Wall", "-Werror"])
        .current_dir(&out)
        .output();
    let compiled = compiled.expect("cargo needs a C compiler to link");
    assert!(compiled.status.success(), "{}", text(&compiled));
    let ran = Command::new(out.join("main")).env("LD_LIBRARY_PATH", &out).output().expect("it runs");
    assert!(ran.status.success(), "{:?} {}", ran.status, text(&ran));
    let said = text(&ran);
    for what in [
        "is of another kind",
        "has a number of rows that no edge has",
        "has numbers that are not there",
        "has split points that are missing, fall, or do not begin with 0",
        "has a row whose parent there is not",
    ] {
        assert!(said.contains(&format!("the edge e {what}\n")), "{what}: {said}");
    }
    fs::write(out.join("caller.py"), CALLER).expect("it is written");
    if let Ok(ran) = Command::new("python3").arg("caller.py").current_dir(&out).output() {
        assert!(ran.status.success(), "{}", text(&ran));
    }
}
