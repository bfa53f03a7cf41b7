//! Comparisons that are others with their operands exchanged, closeness, and mathematics with defaults.

use crate::expr::{Literal, NodeId};
use crate::registry::define::{Lowered, OperatorDef};
use crate::registry::infer::{InferContext, Resolution, TypeError};
use crate::registry::overloads;
use cembra_vm::operator::Facts;
use cembra_vm::value::qtype::OPTIONAL_UNIT;
use cembra_vm::value::{QType, ScalarType, ScalarValue, Value};

/// Name of `bool.greater`.
pub const GREATER: &str = "bool.greater";
/// Name of `bool.greater_equal`.
pub const GREATER_EQUAL: &str = "bool.greater_equal";

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![
        exchanged("core.greater", "Present if x is above y.", "core.less")
            .with_facts(Facts::pointwise().with_truths(GREATER)),
        exchanged("core.greater_equal", "Present if x is not below y.", "core.less_equal")
            .with_facts(Facts::pointwise().with_truths(GREATER_EQUAL)),
        exchanged(GREATER, "True if x is above y.", "bool.less"),
        exchanged(GREATER_EQUAL, "True if x is not below y.", "bool.less_equal"),
        is_close(),
        sigmoid(),
    ]
}

fn weak(value: f64) -> Literal {
    Literal::Value(Value::Scalar(ScalarValue::WeakFloat(value)))
}

fn sigmoid() -> OperatorDef {
    OperatorDef::new(
        "math.sigmoid",
        &["x", "half", "slope"],
        "1 / (1 + exp(slope * (half - x))): a smooth step that is 1/2 at `half`.",
        |cx| as_family(cx, "math.sigmoid"),
    )
    .default("half", weak(0.0))
    .default("slope", weak(1.0))
}

fn exchanged(name: &str, meaning: &str, other: &'static str) -> OperatorDef {
    OperatorDef::new(name, &["x", "y"], meaning, move |cx| as_family(cx, other))
        .with_facts(Facts::pointwise())
        .lowered(move |cx, args| Ok(Lowered::To(cx.make(other, &[args[1], args[0]])?)))
}

/// The type rule of an operator of the machine.
pub(super) fn as_family(cx: &InferContext<'_>, name: &str) -> Result<Resolution, TypeError> {
    let family = cx
        .table
        .family(name)
        .ok_or_else(|| TypeError::UnknownOperator { name: name.into(), near: vec![] })?;
    overloads::choose(family, cx)
}

/// In FLOAT64: `x == y`, or both are finite and `abs(x - y) <= max(rtol * max(abs(x), abs(y)), atol)`.
fn is_close() -> OperatorDef {
    OperatorDef::new(
        "math.is_close",
        &["x", "y", "rtol", "atol"],
        "Present if x and y, as FLOAT64, are equal, or are finite and differ by at most max(rtol * max(abs(x), abs(y)), atol).",
        |cx| {
            let numeric = |t: &QType| t.element().is_some_and(ScalarType::is_numeric);
            if let Some(index) = cx.types.iter().position(|t| !numeric(t)) {
                return Err(cx.expected("numerics", index));
            }
            let (_, rows) = cx.common_rows(&[0, 1, 2, 3])?;
            cx.unchanged(rows.array().map_or(OPTIONAL_UNIT, |t| QType::Array(t.of(ScalarType::Unit))))
        },
    )
    .default("rtol", 1e-5f32)
    .default("atol", 1e-8f32)
    .lowered(|cx, args| {
        let mut real = |arg: NodeId| {
            let from = cx.qtype(arg);
            let to = from.with_scalar(ScalarType::Float64).unwrap_or(from);
            cx.cast(arg, &to)
        };
        let [x, y, rtol, atol] = args else { return Ok(Lowered::Keep) };
        let (x, y, rtol, atol) = (real(*x)?, real(*y)?, real(*rtol)?, real(*atol)?);
        let difference = cx.make("math.subtract", &[x, y])?;
        let difference = cx.make("math.abs", &[difference])?;
        let (size_x, size_y) = (cx.make("math.abs", &[x])?, cx.make("math.abs", &[y])?);
        let size = cx.make("math.maximum", &[size_x, size_y])?;
        let relative = cx.make("math.multiply", &[rtol, size])?;
        let tolerance = cx.make("math.maximum", &[relative, atol])?;
        let close = cx.make("core.less_equal", &[difference, tolerance])?;
        let (finite_x, finite_y) = (cx.make("math.is_finite", &[x])?, cx.make("math.is_finite", &[y])?);
        let finite = cx.make("core.presence_and", &[finite_x, finite_y])?;
        let close = cx.make("core.presence_and", &[finite, close])?;
        let equal = cx.make("core.equal", &[x, y])?;
        Ok(Lowered::To(cx.make("core.presence_or", &[equal, close])?))
    })
}
