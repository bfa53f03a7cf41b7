//! Aggregations of arrays. Those that need fractions cast integers first, as dividing does: to FLOAT32 in
//! the published dialect, to FLOAT64 in ours.

use crate::expr::Literal;
use crate::registry::define::{Lowered, OperatorDef};
use crate::registry::dialect::Dialect;
use crate::registry::infer::{InferContext, Resolution, TypeError};
use cembra_vm::value::qtype::{BOOLEAN, OPTIONAL_UNIT};
use cembra_vm::value::{QType, ScalarType, Value};

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![
        aggregation("math.sum", "Sum of the present rows; 0 without any. Integers wrap.", as_they_are),
        aggregation("math.prod", "Product of the present rows. Integers wrap.", as_they_are),
        aggregation("math.min", "The least present row; NaN if there is one.", as_they_are),
        aggregation("math.max", "The greatest present row; NaN if there is one.", as_they_are),
        aggregation(
            "math.median",
            "The middle of the present rows, the lower of two; NaN if there is one.",
            as_they_are,
        ),
        aggregation(
            "math.argmin",
            "Number of the first row that is the least, or of the first NaN.",
            as_they_are,
        ),
        aggregation(
            "math.argmax",
            "Number of the first row that is the greatest, or of the first NaN.",
            as_they_are,
        ),
        aggregation("math.mean", "Arithmetic mean of the present rows.", real),
        aggregation("math.skew", "Third standardised moment of the present rows.", real),
        aggregation("math.kurtosis", "Fourth standardised moment of the present rows, less 3.", real),
        spread("math.var", "Variance of the present rows; over their number less one if unbiased."),
        spread("math.std", "Square root of the variance of the present rows."),
        quantifier("core.all", "Present if all masks are; of a single mask, the mask.", "core._all_rows"),
        quantifier(
            "core.any",
            "Present if one of the masks is; of a single mask, the mask.",
            "core._any_row",
        ),
    ]
}

/// The type to which rows are cast first.
type CastRows = fn(Dialect, ScalarType) -> ScalarType;

fn as_they_are(_: Dialect, element: ScalarType) -> ScalarType {
    element
}

/// The float that a fraction of these numbers is.
fn real(dialect: Dialect, element: ScalarType) -> ScalarType {
    match (element.is_integer(), dialect) {
        (true, Dialect::Arolla) => ScalarType::Float32,
        (true, Dialect::Cembra) => ScalarType::Float64,
        (false, _) => element,
    }
}

/// The rows cast, and what the machine's operator makes of them and the other arguments.
fn rule(cx: &InferContext<'_>, cast: CastRows) -> Result<Resolution, TypeError> {
    let rows = cx.types[0].array().ok_or_else(|| cx.expected("an array type", 0))?;
    if !rows.element.is_numeric() {
        return Err(cx.expected("numerics", 0));
    }
    let mut args = cx.types.to_vec();
    args[0] = QType::Array(rows.of(cast(cx.dialect, rows.element)));
    let overload = cx.table.overload(cx.operator, &args);
    let overload = overload
        .ok_or_else(|| TypeError::NoOverload { operator: cx.operator.clone(), types: cx.types.to_vec() })?;
    let weak = rows.element == ScalarType::WeakFloat && overload.result.scalar() == Some(ScalarType::Float64);
    let weakened = overload.result.with_scalar(ScalarType::WeakFloat).filter(|_| weak);
    Ok(Resolution { args, result: weakened.unwrap_or_else(|| overload.result.clone()) })
}

fn aggregation(name: &str, meaning: &str, cast: CastRows) -> OperatorDef {
    OperatorDef::new(name, &["x"], meaning, move |cx| rule(cx, cast))
}

fn spread(name: &str, meaning: &str) -> OperatorDef {
    OperatorDef::new(name, &["x", "unbiased"], meaning, |cx| match cx.types[1] == BOOLEAN {
        true => rule(cx, real),
        false => Err(cx.expected("a boolean", 1)),
    })
    .default("unbiased", Literal::Value(Value::from(true)))
}

/// Of one mask the mask itself, of an array of masks what the machine's operator says.
fn quantifier(name: &str, meaning: &str, of_rows: &'static str) -> OperatorDef {
    OperatorDef::new(name, &["x"], meaning, |cx| match (cx.types[0].element(), cx.types[0].array()) {
        (Some(ScalarType::Unit), Some(_)) => cx.unchanged(OPTIONAL_UNIT),
        (Some(ScalarType::Unit), None) => Ok(Resolution { args: vec![OPTIONAL_UNIT], result: OPTIONAL_UNIT }),
        _ => Err(cx.expected("units", 0)),
    })
    .lowered(move |cx, args| match cx.qtype(args[0]).array() {
        Some(_) => Ok(Lowered::To(cx.make(of_rows, args)?)),
        None => Ok(Lowered::To(cx.cast(args[0], &OPTIONAL_UNIT)?)),
    })
}
