//! Operators on whole arrays: native code gives the bits of the interpreter, in regions of any form, and refuses what it
//! refuses. `CEMBRA_NATIVE=1` takes ten times as many random expressions.

use crate::function::native::SANITIZE;
use crate::native::fresh;
use crate::support::{bind, parse};
use cembra::compile::Options;
use cembra::native::{ArrayLayout, CompileC, Compiler, NativeBuild, NativeCache, ProgramCall};
use cembra::prepare::{Prepare, Source};
use cembra::registry::Dialect;
use cembra::vm::library::{Argument, BoundaryError, Library};
use cembra::vm::machine::error::RunErrorKind;
use cembra::vm::machine::{BoundExpr, NdViewMut, Room};
use cembra::vm::value::{Category, NdRows, NdType, NdView, ScalarType, ScalarValue, Value};
use fastrand::Rng;
use std::sync::Arc;

/// Numbers at which something changes, among others.
pub(super) fn numbers(rng: &mut Rng, element: ScalarType, count: usize) -> Vec<ScalarValue> {
    const SPECIAL: [f64; 9] = [0.0, -0.0, 1.0, -1.5, f64::NAN, f64::INFINITY, 1e-310, 1e300, 1e5];
    let float = |rng: &mut Rng| match rng.usize(..8) {
        0 => SPECIAL[rng.usize(..SPECIAL.len())],
        _ => rng.f64() * 8.0 - 4.0,
    };
    let one = |rng: &mut Rng| match element {
        ScalarType::Boolean => ScalarValue::Boolean(rng.bool()),
        ScalarType::Int64 => ScalarValue::Int64(if rng.u8(..9) == 0 { i64::MIN } else { rng.i64(-5..9) }),
        ScalarType::Float32 => ScalarValue::Float32(float(rng) as f32),
        _ => ScalarValue::Float64(float(rng)),
    };
    (0..count).map(|_| one(rng)).collect()
}

/// An array of a type such as `NDARRAY_FLOAT64_NN`.
fn array(rng: &mut Rng, name: &str, shape: &[usize]) -> Value {
    let qtype = NdType::from_name(name).expect("a type");
    let cells = numbers(rng, qtype.element(), shape.iter().product());
    Value::NdArray(Arc::new(NdRows::from_scalars(qtype, shape, &cells).expect("the shape of the type")))
}

/// True if more is built than a run of the tests has time for.
fn is_all() -> bool {
    std::env::var("CEMBRA_NATIVE").is_ok_and(|text| text == "1")
}

/// Libraries that stop the process where C leaves open what happens, built fast: optimised ones take five times as long.
pub(super) fn sanitized() -> (tempfile::TempDir, NativeCache) {
    let (folder, _) = fresh();
    let compiler = Compiler::find(None).expect("cargo needs a C compiler to link");
    let compile = SANITIZE.iter().fold(CompileC::new(compiler, ""), |compile, flag| compile.flag(*flag));
    let compile = compile.flag(if is_all() { "-O1" } else { "-O0" });
    let cache = NativeCache::of(NativeBuild::c(compile), folder.path());
    (folder, cache)
}

pub(super) fn compiled(text: &str, inputs: &[(&str, Value)]) -> BoundExpr {
    let types = inputs.iter().map(|(name, value)| (*name, value.qtype()));
    bind(Source::new(parse(text, Dialect::Cembra), types), &Prepare::standard(), Options::default())
}

pub(super) fn library(cache: &NativeCache, bound: &BoundExpr, layout: ArrayLayout) -> Library {
    let call = ProgramCall::new("f", bound.program().clone(), layout).expect("a name");
    cache.library(&call).unwrap_or_else(|error| panic!("{error}"))
}

/// The inputs of a program in their order.
pub(super) fn arguments<'i>(bound: &BoundExpr, inputs: &'i [(&str, Value)]) -> Vec<&'i Value> {
    let of = |name: &str| &inputs.iter().find(|(known, _)| *known == name).expect("an input").1;
    bound.program().main().inputs.iter().map(|(name, _)| of(name)).collect()
}

/// A value as text: any NaN is one value, the zeros are two.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::NdArray(rows) => {
            format!("{} {:?} {:?}", rows.qtype(), rows.shape(), rows.view().scalars().collect::<Vec<_>>())
        }
        Value::Array(class, rows) => {
            format!("{}{} {:?}", class.prefix(), rows.element(), rows.iter().collect::<Vec<_>>())
        }
        // By what it means: the memory of equal edges may differ.
        Value::Edge(class, edge) => {
            let parents: Vec<_> = edge.mapping().iter().collect();
            format!("{class:?} {:?} {} {parents:?}", edge.split_points(), edge.parent_size())
        }
        other => format!("{other:?}"),
    }
}

/// Compares a library with the interpreter; what both give.
pub(super) fn compare(
    text: &str,
    bound: &BoundExpr,
    library: &Library,
    inputs: &[(&str, Value)],
) -> Result<Value, Category> {
    let args = arguments(bound, inputs);
    let mut frame = bound.new_frame().expect("memory");
    for ((name, _), value) in bound.program().main().inputs.iter().zip(&args) {
        frame.write(bound.input_slot(name).expect("an input"), value).expect("its type");
    }
    let mut native = library.bind(args.iter().map(|value| Argument::Value(value))).expect("its types");
    let shapes: Vec<String> = args.iter().map(|value| shown(value)).collect();
    match (bound.execute(&mut frame), native.run()) {
        (Ok(()), Ok(())) => {
            let expected = frame.read(bound.output_slot()).expect("a result");
            assert_eq!(shown(&native.result(0)), shown(&expected), "{text} of {shapes:?}");
            Ok(expected)
        }
        (Err(error), Err(raised)) => {
            let RunErrorKind::Fault(fault) = &error.kind else { panic!("{text}: {error}") };
            assert_eq!(raised.category, fault.category(), "{text} of {shapes:?}: {raised}");
            Err(raised.category)
        }
        (expected, found) => panic!("{text} of {shapes:?}: {expected:?}, native code {found:?}"),
    }
}

/// Compares with inputs of these types and shapes in both layouts.
fn check(cache: &NativeCache, text: &str, inputs: &[(&str, Value)]) {
    let bound = compiled(text, inputs);
    for layout in [ArrayLayout::Strided, ArrayLayout::Contiguous] {
        let _ = compare(text, &bound, &library(cache, &bound, layout), inputs);
    }
}

#[test]
fn elements_of_one_shape() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(7);
    let texts = [
        "x*2.0 + math.exp(y)",
        "2.5*x - 1.25*y",
        "nd.where(bool.less(x, 0.5), 0.1*x, nd.where(bool.less(y, x), y - x, math.abs(y)))",
        "math.maximum(-1.0, math.minimum(1.0, x)) - math.abs(y)",
        "math.trig.sin(x) * math.log(y) + math.sqrt(x)",
        "bool.logical_and(bool.greater(x, y), bool.greater_equal(x, 1.0))",
        "core.to_float64(bool.equal(x, y)) + x",
        "math.floor(x * 100.0) / 100.0",
        "x ** y",
    ];
    for text in texts {
        for count in [0, 1, 7, 130] {
            let x = array(rng, "NDARRAY_FLOAT64_N", &[count]);
            check(&cache, text, &[("x", x), ("y", array(rng, "NDARRAY_FLOAT64_N", &[count]))]);
        }
        let x = array(rng, "NDARRAY_FLOAT64_NN", &[3, 5]);
        check(&cache, text, &[("x", x), ("y", array(rng, "NDARRAY_FLOAT64_NN", &[3, 5]))]);
    }
}

#[test]
fn elements_under_other_axes() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(12);
    let texts = [
        "nd.transpose(x) + 1.0",
        "nd.expand_dims(nd.sum(x, 1), 1) * x",
        "nd.squeeze(x, 0) * 2.0",
        "nd.squeeze(nd.sum(x, 1, keep=true), 1)",
        "nd.transpose(x*2.0) + nd.mean(x)",
    ];
    for text in texts {
        for shape in [[1, 1], [3, 2], [1, 40], [0, 2]] {
            check(&cache, text, &[("x", array(rng, "NDARRAY_FLOAT64_NN", &shape))]);
        }
    }
}

#[test]
fn shapes_are_broadcast_and_compared() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(8);
    let text = "a*x + y";
    let types = [
        ("NDARRAY_FLOAT64_NN", "NDARRAY_FLOAT64_N"),
        ("NDARRAY_FLOAT64_N1", "NDARRAY_FLOAT64_1N"),
        ("NDARRAY_FLOAT64_N1N", "NDARRAY_FLOAT64_NN"),
        ("NDARRAY_FLOAT64_1", "NDARRAY_FLOAT64_NN"),
        ("NDARRAY_FLOAT64_11", "NDARRAY_FLOAT64_1"),
    ];
    let mut refused = 0;
    for (of_x, of_y) in types {
        let shape = |name: &str, sizes: [usize; 3]| -> Vec<usize> {
            let t = NdType::from_name(name).expect("a type");
            let new = 3 - t.rank();
            (0..t.rank()).map(|axis| if t.is_unit(axis) { 1 } else { sizes[new + axis] }).collect()
        };
        for sizes in [[2, 3, 4], [1, 1, 1], [3, 0, 2], [2, 1, 70]] {
            for other in [sizes, [sizes[0], sizes[1], sizes[2] + 1]] {
                let a = Value::Scalar(ScalarValue::Float64(-1.5));
                let x = array(rng, of_x, &shape(of_x, sizes));
                let inputs = [("a", a), ("x", x), ("y", array(rng, of_y, &shape(of_y, other)))];
                let bound = compiled(text, &inputs);
                let library = library(&cache, &bound, ArrayLayout::Strided);
                refused +=
                    usize::from(compare(text, &bound, &library, &inputs) == Err(Category::SizeMismatch));
            }
        }
    }
    assert_eq!(refused, 8);
}

#[test]
fn folds_have_the_order_of_the_machine() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(9);
    const AXES: [&str; 7] =
        ["0", "1", "2", "tuple(0, 2)", "tuple(1, 2)", "tuple(0, 1), keep=true", "1, keep=true"];
    let names = ["sum", "mean", "min", "max", "prod", "any", "all", "count"];
    for (number, name) in names.into_iter().enumerate() {
        for (kind, element) in ["FLOAT64", "FLOAT32", "INT64", "BOOLEAN"].into_iter().enumerate() {
            if !is_all() && (number + kind) % 2 == 1 {
                continue;
            }
            let of = format!("NDARRAY_{element}_N");
            let text = format!("nd.{name}(x)");
            let bound = compiled(&text, &[("x", array(rng, &of, &[1]))]);
            let library = library(&cache, &bound, ArrayLayout::Strided);
            for count in [0, 1, 5, 8, 16, 17, 128, 129, 300, 1000, 2500] {
                let _ = compare(&text, &bound, &library, &[("x", array(rng, &of, &[count]))]);
            }
        }
        for axes in [AXES[number % AXES.len()], AXES[(number + 3) % AXES.len()]] {
            let text = format!("nd.{name}(x*0.5, {axes})");
            let bound = compiled(&text, &[("x", array(rng, "NDARRAY_FLOAT64_NNN", &[1, 1, 1]))]);
            let library = library(&cache, &bound, ArrayLayout::Contiguous);
            for shape in [[2, 3, 4], [1, 200, 3], [0, 2, 3], [3, 0, 2]] {
                let _ = compare(&text, &bound, &library, &[("x", array(rng, "NDARRAY_FLOAT64_NNN", &shape))]);
            }
        }
    }
}

#[test]
fn folds_are_made_on_the_way() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(10);
    let texts = [
        "nd.sum(x*y) / math.sqrt(nd.sum(x*x) * nd.sum(y*y))",
        "nd.max(x - y) - nd.min(x - y)",
        "(x - nd.mean(x)) / nd.max(math.abs(x - y))",
        "nd.sum(core.to_float64(bool.less(x, y))) + nd.mean(x*y)",
        "nd.any(bool.less(x, y))",
    ];
    for text in texts {
        for (of, shapes) in [
            ("NDARRAY_FLOAT64_N", vec![vec![0], vec![9], vec![700]]),
            ("NDARRAY_FLOAT64_NN", vec![vec![3, 50]]),
        ] {
            for shape in shapes {
                let x = array(rng, of, &shape);
                check(&cache, text, &[("x", x), ("y", array(rng, of, &shape))]);
            }
        }
        // An operand that repeats along rows, and one along columns.
        for (of, shape) in [("NDARRAY_FLOAT64_N", vec![150]), ("NDARRAY_FLOAT64_N1", vec![2, 1])] {
            let x = array(rng, "NDARRAY_FLOAT64_NN", &[2, 150]);
            check(&cache, text, &[("x", x), ("y", array(rng, of, &shape))]);
        }
    }
}

/// A random expression over `x`, `y` and `z`, which have the same axes, `r` that repeats, and scalars.
fn expression(rng: &mut Rng, depth: usize) -> String {
    if depth == 0 {
        return ["x", "y", "z", "r", "a", "0.75", "x", "y"][rng.usize(..8)].to_owned();
    }
    let mut part = || expression(rng, depth - 1 - usize::from(depth > 1 && depth.is_multiple_of(2)));
    let (p, q) = (part(), part());
    match rng.usize(..12) {
        0 | 1 => format!("({p} + {q})"),
        2 => format!("({p} - {q})"),
        3 | 4 => format!("({p} * {q})"),
        5 => format!("({p} / {q})"),
        6 => format!("math.minimum({p}, {q})"),
        7 => format!("math.abs({p} - x)"),
        8 => format!("math.exp({p} * 0.1 + x)"),
        9 => format!("nd.where(bool.less({p}, x), {q} + x, x)"),
        10 => format!("({p} * nd.sum({q} + x))"),
        _ => format!("({p} + nd.max({q} - x))"),
    }
}

#[test]
fn random_expressions() {
    let seed = 20_261;
    let count = if is_all() { 300 } else { 24 };
    // Half of them as users build them: vectors, and loops that are unrolled.
    let caches = [fresh(), sanitized()];
    for number in 0..count {
        let rng = &mut Rng::with_seed(seed + number);
        let text = expression(rng, 4) + " + x";
        let inputs = |rng: &mut Rng, rows: usize, columns: usize| {
            let of = "NDARRAY_FLOAT64_NN";
            let [x, y, z] = [0; 3].map(|_| array(rng, of, &[rows, columns]));
            let r = array(rng, "NDARRAY_FLOAT64_N", &[columns]);
            [("x", x), ("y", y), ("z", z), ("r", r), ("a", Value::Scalar(ScalarValue::Float64(rng.f64())))]
        };
        let bound = compiled(&text, &inputs(rng, 1, 1));
        let layout = if number % 4 < 2 { ArrayLayout::Strided } else { ArrayLayout::Contiguous };
        let library = library(&caches[number as usize % 2].1, &bound, layout);
        for (rows, columns) in [(1, 1), (2, 9), (1, 140), (60, 3), (0, 4)] {
            let _ = compare(
                &format!("seed {}: {text}", seed + number),
                &bound,
                &library,
                &inputs(rng, rows, columns),
            );
        }
    }
}

#[test]
fn results_are_made_in_memory_of_the_host() {
    let (_folder, cache) = fresh();
    let rng = &mut Rng::with_seed(11);
    let inputs = [("x", array(rng, "NDARRAY_FLOAT64_N", &[3]))];
    let bound = compiled("x + 1.0", &inputs);
    let library = library(&cache, &bound, ArrayLayout::Strided);
    let (x, mut out) = ([1.0, 2.0, 3.0], [0.0; 3]);
    let mut memory = library.call_memory().expect("memory");
    for factor in [1.0, 2.0, 3.0] {
        let x = x.map(|x| x * factor);
        let view = NdView::from_slice(&x, &[3]).expect("three elements");
        let mut call = memory.bind([Argument::Elements(view)]).expect("it fits");
        call.lend(0, NdViewMut::from_slice(&mut out, &[3]).expect("three elements")).expect("it fits");
        call.run().expect("no error");
        assert_eq!(out, x.map(|x| x + 1.0));
    }
    // The next call makes its own again.
    let view = NdView::from_slice(&x, &[3]).expect("three elements");
    memory.bind([Argument::Elements(view)]).expect("it fits").run().expect("no error");
    let rows = |rows: &[f64]| {
        let of = NdType::from_name("NDARRAY_FLOAT64_N").expect("a type");
        Value::NdArray(Arc::new(NdRows::from_slice(of, &[rows.len()], rows).expect("rows")))
    };
    assert_eq!((memory.result(0), out), (rows(&[2.0, 3.0, 4.0]), [4.0, 7.0, 10.0]));
    // Memory of another shape is refused by the run, another element before it.
    let mut call = memory.bind([Argument::Elements(view)]).expect("it fits");
    let mut wide = [7.0; 4];
    call.lend(0, NdViewMut::from_slice(&mut wide, &[4]).expect("four elements")).expect("an array");
    assert_eq!(call.run().expect_err("three elements").category, Category::SizeMismatch);
    assert_eq!(wide, [7.0; 4]);
    let (mut single, mut call) = ([0.0f32; 3], memory.bind([Argument::Elements(view)]).expect("it fits"));
    let lent = NdViewMut::from_slice(&mut single, &[3]).expect("three elements");
    let error = call.lend(0, lent).expect_err("another element").to_string();
    assert_eq!(error, "argument result: takes NDARRAY_FLOAT64_N, got an array of FLOAT32 of shape [3]");
    let mut more = [0.0; 3];
    let lent = NdViewMut::from_slice(&mut more, &[3]).expect("three elements");
    assert_eq!(call.lend(1, lent), Err(BoundaryError::NoArray { number: 1 }));
}

#[test]
fn elements_may_be_refused() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(14);
    let texts = [
        ("x // y", "INT64", true),
        ("x % y + x", "INT64", true),
        ("x // 3 - y % -2", "INT64", false),
        ("nd.where(bool.not_equal(y, 0), x // y, x)", "INT64", false),
        ("nd.sum(x // y)", "INT64", true),
        ("core.to_int32(x) + core.to_int32(y)", "INT64", true),
        ("core.to_int64(x * 1e20) + core.to_int64(y)", "FLOAT64", true),
        ("core.to_int32(x) * core.to_int32(y)", "FLOAT64", true),
        ("core.to_int64(x) - core.to_int64(y)", "FLOAT32", true),
        ("math.fmod(x, y)", "FLOAT64", false),
        ("math.fmod(x, y) + y", "FLOAT32", false),
    ];
    for (text, element, refuses) in texts {
        let of = format!("NDARRAY_{element}_NN");
        let mut values = 0;
        for shape in [[1, 1], [1, 2], [2, 1], [3, 5], [2, 70], [0, 3]] {
            for layout in [ArrayLayout::Strided, ArrayLayout::Contiguous] {
                let inputs = [("x", array(rng, &of, &shape)), ("y", array(rng, &of, &shape))];
                let bound = compiled(text, &inputs);
                match compare(text, &bound, &library(&cache, &bound, layout), &inputs) {
                    Ok(_) => values += 1,
                    Err(category) => {
                        assert!(
                            matches!(category, Category::DivisionByZero | Category::Cast),
                            "{category:?}"
                        );
                        assert!(refuses, "{text}");
                    }
                }
            }
        }
        assert!(
            if refuses { (1..12).contains(&values) } else { values == 12 },
            "{text}: {values} have values"
        );
    }
}

#[test]
fn results_are_made_in_strided_memory() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(15);
    let inputs =
        [("x", array(rng, "NDARRAY_FLOAT64_NN", &[1, 1])), ("y", array(rng, "NDARRAY_FLOAT64_NN", &[1, 1]))];
    // A region, an array that is copied, one beside a fold, an input itself.
    for text in ["x*2.0 + y", "nd.transpose(nd.transpose(x) + 0.0)", "x + y*nd.sum(x + y)", "nd.transpose(x)"]
    {
        let bound = compiled(text, &inputs);
        let native = library(&cache, &bound, ArrayLayout::Strided);
        let mut memory = native.call_memory().expect("memory");
        for shape in [[1, 1], [3, 4], [2, 40], [5, 1], [0, 3]] {
            // Elements in order, with gaps, columns after columns, in every second row.
            for strides in [[shape[1], 1], [shape[1] + 3, 1], [1, shape[0].max(1)], [2 * shape[1].max(1), 1]]
            {
                let inputs = [
                    ("x", array(rng, "NDARRAY_FLOAT64_NN", &shape)),
                    ("y", array(rng, "NDARRAY_FLOAT64_NN", &shape)),
                ];
                let expected = compare(text, &bound, &native, &inputs).expect("values");
                let Value::NdArray(rows) = &expected else { panic!("{text} is an array") };
                let of_result = [rows.shape()[0], rows.shape()[1]];
                let strides = if of_result == shape { strides } else { [strides[1], strides[0]] };
                let place = |at: usize| at / of_result[1] * strides[0] + at % of_result[1] * strides[1];
                let count = of_result[0] * of_result[1];
                let mut memory_of_result = vec![7.0; (0..count).map(place).max().map_or(1, |last| last + 2)];
                let args = arguments(&bound, &inputs);
                let mut call =
                    memory.bind(args.iter().map(|value| Argument::Value(value))).expect("its types");
                let strides = strides.map(|stride| stride as isize);
                let room = Room::strided(bound.output_slot(), &mut memory_of_result, 0, &of_result, &strides);
                let mut room = room.expect("elements share nothing");
                call.lend_room(0, &mut room).expect("an array");
                call.run().expect("no error");
                let bits = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
                for (at, expected) in rows.view().cells::<f64>().enumerate() {
                    assert_eq!(
                        bits(memory_of_result[place(at)]),
                        bits(expected),
                        "{text} {shape:?} {strides:?} {at}"
                    );
                    memory_of_result[place(at)] = 7.0;
                }
                assert!(
                    memory_of_result.iter().all(|x| *x == 7.0),
                    "{text} {shape:?} {strides:?}: cells between"
                );
            }
        }
        // The same library built for elements in order refuses others.
        let in_order = library(&cache, &bound, ArrayLayout::Contiguous);
        let inputs = [
            ("x", array(rng, "NDARRAY_FLOAT64_NN", &[2, 2])),
            ("y", array(rng, "NDARRAY_FLOAT64_NN", &[2, 2])),
        ];
        let args = arguments(&bound, &inputs);
        let mut gaps = [0.0; 6];
        let mut room = Room::strided(bound.output_slot(), &mut gaps, 0, &[2, 2], &[3, 1]).expect("it fits");
        let mut call = in_order.bind(args.iter().map(|value| Argument::Value(value))).expect("its types");
        let error = call.lend_room(0, &mut room).expect_err("there are gaps");
        assert!(matches!(error, BoundaryError::Layout { .. }), "{error}");
    }
}

#[test]
fn an_array_that_is_a_literal_has_a_form_if_it_is_small() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(1);
    let mut of = |text: &str, count: usize| {
        let inputs = [("x", array(rng, "NDARRAY_FLOAT64_N", &[count]))];
        let bound = compiled(text, &inputs);
        (bound, inputs)
    };
    for text in [
        "x + nd.full(float64(2.0), int64(2))",
        "x*nd.log(nd.full(float64(-2.0), int64(2)))",
        "nd.sum(nd.full(true, int64(2))) + nd.sum(x)",
    ] {
        let text = text.replace("nd.log", "math.log");
        for layout in [ArrayLayout::Strided, ArrayLayout::Contiguous] {
            let (bound, inputs) = of(&text, 2);
            let mut literals = bound.program().main().literals.iter();
            let is_literal = literals.any(|(_, literal)| matches!(literal, Value::NdArray(_)));
            assert!(is_literal || text.starts_with("nd.sum"), "{text}: the optimizer folds it");
            compare(&text, &bound, &library(&cache, &bound, layout), &inputs).expect("values");
        }
    }
    let (bound, _) = of("x + nd.full(float64(2.0), int64(131073))", 2);
    let call = ProgramCall::new("f", bound.program().clone(), ArrayLayout::Strided).expect("a name");
    let error = cache.library(&call).expect_err("it is too large").to_string();
    assert!(error.contains("1048584 bytes, a source in C takes 1048576"), "{error}");
}
