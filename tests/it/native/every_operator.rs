//! Every operator of expressions on values of every kind that it takes: native code gives what the interpreter gives, alone and below
//! other operators. A seeded sample is built; `CEMBRA_NATIVE=1` builds several calls of each.

use crate::native::arrays::{compare, library, numbers, sanitized};
use crate::native::rows::rows;
use cembra::compile::{Options, compile};
use cembra::native::{ArrayLayout, NotTranslated, ProgramCall, TranslateToC};
use cembra::prepare::{Prepare, Source};
use cembra::registry::registry::is_public;
use cembra::registry::{Dialect, Registry};
use cembra::syntax::{Limits, parse_with};
use cembra::vm::machine::BoundExpr;
use cembra::vm::value::{
    ArrayClass, ArrayRows, Category, Edge, NdRows, NdType, ScalarType, ScalarValue, Value,
};
use cembra::workflow::Step;
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Names of arguments.
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
/// Arguments that are no inputs.
const LITERALS: [&str; 9] = ["0", "1", "-1", "2", "true", "false", "1.5", "(0, 1)", "(1,)"];
/// What may stand around a call.
const AROUND: [&str; 6] =
    ["({} + {}) * 2", "nd.sum({})", "math.exp({})", "array.count({})", "({}, {})", "{} > 0.5"];
/// Kinds of values: see [`value`].
const KINDS: usize = 27;
/// Rows of inputs.
const COUNTS: [usize; 6] = [7, 0, 1, 2, 70, 600];

fn nd(rng: &mut Rng, name: &str, shape: &[usize]) -> Value {
    let qtype = NdType::from_name(name).expect("a type");
    let count = shape.iter().product();
    let cells = match qtype.element() {
        ScalarType::Int32 => (0..count).map(|_| ScalarValue::Int32(rng.i32(-4..9))).collect(),
        element => numbers(rng, element, count),
    };
    Value::NdArray(Arc::new(NdRows::from_scalars(qtype, shape, &cells).expect("the shape of the type")))
}

fn scalar(rng: &mut Rng, element: ScalarType) -> ScalarValue {
    match element {
        ScalarType::Float64 => ScalarValue::Float64(rng.f64() * 4.0 - 2.0),
        ScalarType::Float32 => ScalarValue::Float32(rng.f32() * 4.0 - 2.0),
        ScalarType::Int64 => ScalarValue::Int64(rng.i64(-2..5)),
        ScalarType::Int32 => ScalarValue::Int32(rng.i32(-2..5)),
        ScalarType::Boolean => ScalarValue::Boolean(rng.bool()),
        _ => ScalarValue::Unit,
    }
}

/// Rows in groups: by parents, some rows without one; by points; or all rows of one parent.
fn edge(rng: &mut Rng, kind: usize, count: usize) -> Value {
    let parents = 1 + count / 2;
    let edge = match kind {
        0 => {
            let parent =
                |rng: &mut Rng| (rng.u8(..5) > 0).then(|| ScalarValue::Int64(rng.i64(0..parents as i64)));
            let mapping: Vec<Option<ScalarValue>> = (0..count).map(|_| parent(rng)).collect();
            Edge::from_mapping(ArrayRows::from_values(ScalarType::Int64, &mapping), parents)
        }
        1 => {
            let inner = (0..count / 3).map(|_| rng.i64(0..=count as i64));
            let mut points: Vec<i64> = inner.chain([0, count as i64]).collect();
            points.sort_unstable();
            Edge::from_split_points(&points)
        }
        _ => Ok(Edge::to_scalar(count)),
    };
    Value::Edge(ArrayClass::Dense, Arc::new(edge.expect("numbers of rows")))
}

/// A value of a kind, with this number of rows if it has any.
fn value(rng: &mut Rng, kind: usize, count: usize) -> Value {
    use ScalarType::{Boolean, Float32, Float64, Int32, Int64, Unit};
    const SCALARS: [ScalarType; 5] = [Float64, Int64, Boolean, Float32, Int32];
    const OPTIONALS: [ScalarType; 4] = [Float64, Int64, Boolean, Unit];
    const ROWS: [ScalarType; 6] = [Float64, Int64, Boolean, Unit, Float32, Int32];
    const ARRAYS: [(&str, &[usize]); 8] = [
        ("NDARRAY_FLOAT64_N", &[]),
        ("NDARRAY_INT64_N", &[]),
        ("NDARRAY_BOOLEAN_N", &[]),
        ("NDARRAY_INT32_N", &[]),
        ("NDARRAY_FLOAT64_NN", &[3]),
        ("NDARRAY_INT64_NN", &[3]),
        ("NDARRAY_FLOAT32_NN", &[3]),
        ("NDARRAY_FLOAT64_NNN", &[2, 3]),
    ];
    match kind {
        0..5 => Value::Scalar(scalar(rng, SCALARS[kind])),
        5..9 if rng.bool() => Value::Missing(OPTIONALS[kind - 5]),
        5..9 => Value::Present(scalar(rng, OPTIONALS[kind - 5])),
        9..15 => rows(rng, ROWS[kind - 9], count),
        15..23 => nd(rng, ARRAYS[kind - 15].0, &[&[count], ARRAYS[kind - 15].1].concat()),
        23..26 => edge(rng, kind - 23, count),
        _ => Value::ArrayShape(ArrayClass::Dense, count as u64),
    }
}

/// Inputs of kinds.
fn inputs(rng: &mut Rng, kinds: &[(&'static str, usize)], count: usize) -> Vec<(&'static str, Value)> {
    kinds.iter().map(|(name, kind)| (*name, value(rng, *kind, count))).collect()
}

fn compiled(text: &str, inputs: &[(&str, Value)]) -> Option<BoundExpr> {
    let expr = parse_with(text, &Registry::standard(), Dialect::Cembra, &Limits::default()).ok()?;
    let types = inputs.iter().map(|(name, value)| (*name, value.qtype()));
    let prepared = Prepare::standard().run(Source::new(expr, types)).ok()?;
    compile(&prepared, &Options::default()).ok()
}

/// Operators that have no form in C yet, as docs/native.md says.
const WITHOUT_FORM: [&str; 21] = [
    "array._array_shape",
    "array._interleave",
    "array._make_dense_array",
    "array._resize_shape",
    "array._take_over",
    "array.array_shape_size",
    // Of masks.
    "core.less",
    "edge._from_keys",
    "edge._pair_left",
    "edge._pair_right",
    "edge._resize_children",
    "edge._resize_parents",
    "edge.as_dense_array_edge",
    "edge.child_shape",
    "edge.from_shape",
    "edge.parent_shape",
    "edge.to_single",
    "experimental._ewma",
    "experimental._moving_average",
    "math._weighted_cdf",
    "random._cityhash",
];

/// An expression with the kinds of its inputs.
struct Case {
    text: String,
    kinds: Vec<(&'static str, usize)>,
    bound: BoundExpr,
}

/// Calls of an operator that are well typed, each on other kinds of arguments.
fn calls_of(name: &str, parameters: usize, rng: &mut Rng, most: usize) -> Vec<Case> {
    let (mut cases, mut known) = (Vec::new(), BTreeSet::new());
    for _ in 0..600 {
        if cases.len() == most {
            break;
        }
        let given = if rng.u8(..4) == 0 { rng.usize(1..=parameters) } else { parameters };
        let (mut kinds, mut args) = (Vec::new(), Vec::new());
        for (position, leaf) in NAMES[..given].iter().enumerate() {
            if position > 0 && rng.u8(..3) == 0 {
                args.push(LITERALS[rng.usize(..LITERALS.len())]);
            } else {
                kinds.push((*leaf, rng.usize(..KINDS)));
                args.push(leaf);
            }
        }
        let mut text = format!("{name}({})", args.join(", "));
        let inputs = inputs(rng, &kinds, 7);
        let Some(mut bound) = compiled(&text, &inputs) else { continue };
        if !known.insert((text.clone(), kinds.clone())) {
            continue;
        }
        let longer = AROUND[rng.usize(..AROUND.len())].replace("{}", &text);
        if rng.bool()
            && let Some(other) = compiled(&longer, &inputs)
        {
            (bound, text) = (other, longer);
        }
        cases.push(Case { text, kinds, bound });
    }
    cases
}

/// Why a program has no form in C; `None` if it has one.
fn refusal(bound: &BoundExpr) -> Option<NotTranslated> {
    let call = ProgramCall::new("f", bound.program().clone(), ArrayLayout::Strided).expect("a name");
    TranslateToC::default().run(call).err()
}

#[test]
fn every_operator_gives_what_the_interpreter_gives() {
    let is_all = std::env::var("CEMBRA_NATIVE").is_ok_and(|text| text == "1");
    let rng = &mut Rng::with_seed(47);
    let mut refused: BTreeMap<String, String> = BTreeMap::new();
    let (mut cases, mut operators) = (Vec::new(), 0);
    for definition in Registry::standard().definitions().filter(|definition| is_public(&definition.name)) {
        let parameters = definition.params.len().clamp(1, NAMES.len());
        let found = calls_of(&definition.name, parameters, rng, if is_all { 4 } else { 2 });
        operators += usize::from(!found.is_empty());
        for case in found {
            match refusal(&case.bound) {
                None => cases.push(case),
                Some(NotTranslated::Operator { operator, .. }) => {
                    refused.insert(operator.split('(').next().unwrap_or_default().to_owned(), case.text);
                }
                // Texts, sequences, tuples with arrays.
                Some(NotTranslated::Type { .. } | NotTranslated::Value { .. }) => {}
                Some(other) => panic!("{}: {other}", case.text),
            }
        }
    }
    assert!(operators > 200, "{operators} operators are called");
    // Those of Python on elements may raise.
    refused.retain(|operator, _| !operator.starts_with("python."));
    refused.retain(|operator, _| !WITHOUT_FORM.contains(&operator.as_str()));
    refused.retain(|operator, _| !(operator.starts_with("math.") && operator.ends_with("_inverse_cdf")));
    assert_eq!(refused, BTreeMap::new());
    let (_folder, cache) = sanitized();
    rng.shuffle(&mut cases);
    let count = if is_all { cases.len() } else { 24 };
    for (number, Case { text, kinds, bound }) in cases.iter().take(count).enumerate() {
        let layout = [ArrayLayout::Strided, ArrayLayout::Contiguous][number % 2];
        let library = library(&cache, bound, layout);
        for count in COUNTS {
            let _ = compare(text, bound, &library, &inputs(rng, kinds, count));
        }
    }
}

/// Sums over pairs of elements: more than a chunk, elements that do not stand one after the other, and arrays of different sizes.
#[test]
fn sums_over_pairs_have_the_order_of_the_machine() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(49);
    for operator in ["nd.dot", "nd.squared_distance"] {
        // Kinds: FLOAT64, INT64, INT32 and FLOAT32 of two axes.
        for kind in [15, 16, 18, 21] {
            let across = if kind == 21 { "nd.transpose(a), nd.transpose(b)" } else { "a, b" };
            let text = format!("{operator}({across}) + {operator}(a, a)");
            let kinds = [("a", kind), ("b", kind)];
            let bound =
                compiled(&text, &inputs(rng, &kinds, 7)).unwrap_or_else(|| panic!("{text} is well typed"));
            let library = library(&cache, &bound, ArrayLayout::Strided);
            for count in [0, 1, 31, 32, 33, 1000, 65_535, 65_536, 70_007] {
                compare(&text, &bound, &library, &inputs(rng, &kinds, count)).expect("a sum");
            }
            let unequal = [("a", value(rng, kind, 3)), ("b", value(rng, kind, 4))];
            assert_eq!(compare(&text, &bound, &library, &unequal), Err(Category::SizeMismatch));
        }
    }
}

/// A call on kinds that a random one seldom meets.
#[test]
fn calls_on_mixed_kinds() {
    let (_folder, cache) = sanitized();
    let rng = &mut Rng::with_seed(48);
    // Kinds: rows of truths, INT64 and INT32, an optional INT64, arrays of one and two axes, an INT64.
    let cases: [(&str, &[(&'static str, usize)]); 6] = [
        ("nd.squeeze(a, 0)", &[("a", 17)]),
        ("nd.squeeze(a, 0) * 2.0", &[("a", 15)]),
        ("bool.logical_if(a, b, c, -1)", &[("a", 11), ("b", 14), ("c", 6)]),
        ("(bool.logical_if(a, b, -1, c) + 1) * 2", &[("a", 11), ("b", 10), ("c", 6)]),
        ("nd.length(a, -1) * 10 + nd.length(a, 0)", &[("a", 19)]),
        ("nd.length(a, b)", &[("a", 19), ("b", 1)]),
    ];
    for (text, kinds) in cases {
        let bound = compiled(text, &inputs(rng, kinds, 7)).unwrap_or_else(|| panic!("{text} is well typed"));
        let library = library(&cache, &bound, ArrayLayout::Strided);
        for count in COUNTS {
            for _ in 0..6 {
                let _ = compare(text, &bound, &library, &inputs(rng, kinds, count));
            }
        }
    }
    // What Python-like functions ask of plain values has no form on elements.
    let bound = compiled("python.same_length(a, b)", &inputs(rng, &[("a", 16), ("b", 17)], 7));
    assert!(bound.is_none(), "truths are no lengths");
    let bound =
        compiled("python.same_length(a, b)", &inputs(rng, &[("a", 16), ("b", 1)], 7)).expect("elements");
    assert!(matches!(refusal(&bound), Some(NotTranslated::Operator { .. })));
    // A number is no truth.
    for text in ["math.std(a, b, 1)", "math.var(a, b, 0.5)", "math.std(a, b, c)"] {
        assert!(compiled(text, &inputs(rng, &[("a", 9), ("b", 23), ("c", 15)], 7)).is_none(), "{text}");
    }
    assert!(compiled("math.std(a, b, false)", &inputs(rng, &[("a", 9), ("b", 23)], 7)).is_some());
}
