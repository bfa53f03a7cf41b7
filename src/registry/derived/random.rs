//! Samples of rows: by hashes of keys, so that the same keys and the same seed give the same sample.

use crate::expr::{Literal, NodeId};
use crate::registry::define::{LowerContext, LowerError, Lowered, OperatorDef};
use crate::registry::derived::aggregate::no_edge;
use crate::registry::dialect::Dialect;
use crate::registry::infer::{InferContext, TypeError};
use cembra_vm::builtins::random::CITYHASH;
use cembra_vm::value::qtype::{FLOAT64, INT64, UNIT};
use cembra_vm::value::{ArrayClass, ArrayType, QType, ScalarType};

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![cityhash(), sample(), sample_n()]
}

/// One more than the greatest hash.
const HASHES: f64 = 9_223_372_036_854_775_808.0;

fn check_seed(cx: &InferContext<'_>, index: usize) -> Result<(), TypeError> {
    match &cx.types[index] {
        QType::Scalar(t) if t.is_integer() => Ok(()),
        _ => Err(cx.expected("an integer scalar", index)),
    }
}

fn cityhash() -> OperatorDef {
    OperatorDef::new(
        "random.cityhash",
        &["x", "seed"],
        "A hash from 0 up to 2^63 - 1 of what strings.as_text makes of x: CityHash64 with a seed.",
        |cx| {
            check_seed(cx, 1)?;
            let hash = cx.types[0].element().and_then(|_| cx.types[0].with_scalar(ScalarType::Int64));
            cx.unchanged(hash.ok_or_else(|| cx.expected("a type storing scalars", 0))?)
        },
    )
    .lowered(|cx, args| Ok(Lowered::To(hashed(cx, args[0], args[1])?)))
}

fn hashed(cx: &mut dyn LowerContext, x: NodeId, seed: NodeId) -> Result<NodeId, LowerError> {
    let text = cx.make("strings.as_text", &[x])?;
    let seed = cx.cast(seed, &INT64)?;
    cx.make(CITYHASH, &[text, seed])
}

/// The family of a shape, and that of keys that are given at an index.
fn shape_and_key(cx: &InferContext<'_>, key: usize) -> Result<(ArrayClass, ArrayClass), TypeError> {
    let QType::ArrayShape(class) = cx.types[0] else {
        return Err(cx.expected("an array shape", 0));
    };
    let is_key = |t: ScalarType| {
        t.is_integer() || matches!(t, ScalarType::Boolean | ScalarType::Text | ScalarType::Bytes)
    };
    match &cx.types[key] {
        &UNIT => Ok((class, class)),
        QType::Array(t) if is_key(t.element) => Ok((class, t.class)),
        _ => Err(cx.expected("an array of integers, booleans, texts or bytes", key)),
    }
}

fn mask(class: ArrayClass) -> QType {
    QType::Array(ArrayType { class, element: ScalarType::Unit })
}

/// The hash of each key, or of each number of a row of the shape.
fn hashed_keys(cx: &mut dyn LowerContext, [shape, seed, key]: [NodeId; 3]) -> Result<NodeId, LowerError> {
    let key = match cx.qtype(key) {
        UNIT => cx.make("array.iota", &[shape])?,
        _ => key,
    };
    hashed(cx, key, seed)
}

fn sample() -> OperatorDef {
    OperatorDef::new(
        "random.sample",
        &["shape", "ratio", "seed", "key"],
        "A mask with about this share of the rows: of those whose hash, of their number or their key, is below that share of all hashes.",
        |cx| {
            let (_, class) = shape_and_key(cx, 3)?;
            if !matches!(cx.types[1], QType::Scalar(t) if t.is_float()) {
                return Err(cx.expected("a floating-point scalar", 1));
            }
            check_seed(cx, 2)?;
            cx.unchanged(mask(class))
        },
    )
    .default("key", no_edge())
    .lowered(|cx, args| {
        let [shape, ratio, seed, key] = args else { return Ok(Lowered::Keep) };
        let hash = hashed_keys(cx, [*shape, *seed, *key])?;
        let real = cx.qtype(hash).with_scalar(ScalarType::Float64).unwrap_or(FLOAT64);
        let hash = cx.cast(hash, &real)?;
        let ratio = match (cx.dialect(), cx.qtype(*ratio)) {
            // The least of a weak number and 1 is a FLOAT32 there.
            (Dialect::Arolla, QType::Scalar(ScalarType::WeakFloat)) => {
                cx.cast(*ratio, &QType::Scalar(ScalarType::Float32))?
            }
            _ => *ratio,
        };
        let ratio = cx.cast(ratio, &FLOAT64)?;
        let one = cx.make_literal(Literal::from(1.0f64))?;
        let least = cx.make("math.minimum", &[ratio, one])?;
        let all = cx.make_literal(Literal::from(HASHES))?;
        let limit = cx.make("math.multiply", &[least, all])?;
        Ok(Lowered::To(cx.make("core.less", &[hash, limit])?))
    })
}

fn sample_n() -> OperatorDef {
    OperatorDef::new(
        "random.sample_n",
        &["shape", "n", "seed", "key", "over"],
        "A mask with n rows, or all if there are fewer: of those whose hash, of their number or their key, is among the least; with `over` in each group, where n has a row for each.",
        |cx| {
            let (class, of_key) = shape_and_key(cx, 3)?;
            check_seed(cx, 2)?;
            let is_n = match (&cx.types[4], &cx.types[1]) {
                (&UNIT | QType::EdgeToScalar(_), QType::Scalar(n)) => n.is_integer(),
                (QType::Edge(of), QType::Array(n)) => n.element.is_integer() && n.class == *of,
                (&UNIT | QType::EdgeToScalar(_) | QType::Edge(_), _) => false,
                _ => return Err(cx.expected("an edge", 4)),
            };
            if !is_n {
                let what = "a present integer, or with an edge to an array an array of integers with a row for each group";
                return Err(cx.expected(what, 1));
            }
            match of_key == class && !matches!(cx.types[4], QType::Edge(of) | QType::EdgeToScalar(of) if of != class) {
                true => cx.unchanged(mask(class)),
                false => Err(TypeError::NoCommonType { types: cx.types.to_vec() }),
            }
        },
    )
    .default("key", no_edge())
    .default("over", no_edge())
    .lowered(|cx, args| {
        let [shape, n, seed, key, over] = args else { return Ok(Lowered::Keep) };
        let hash = hashed_keys(cx, [*shape, *seed, *key])?;
        let over = match cx.qtype(*over) {
            UNIT => cx.make("edge.from_shape", &[*shape])?,
            _ => *over,
        };
        let rank = cx.make("array.ordinal_rank", &[hash, over])?;
        let n = match cx.qtype(*n) {
            QType::Array(t) => {
                let wide = cx.cast(*n, &QType::Array(t.of(ScalarType::Int64)))?;
                cx.make("array.expand", &[wide, over])?
            }
            _ => cx.cast(*n, &INT64)?,
        };
        Ok(Lowered::To(cx.make("core.less", &[rank, n])?))
    })
}
