//! `experimental.*`: averages over series, and how a series depends on itself.

use crate::expr::Literal;
use crate::registry::define::{Lowered, OperatorDef};
use crate::registry::derived::aggregate::fraction;
use crate::registry::infer::{InferContext, TypeError};
use cembra_vm::builtins::series::{EWMA, MOVING_AVERAGE};
use cembra_vm::value::qtype::{BOOLEAN, FLOAT64, INT64};
use cembra_vm::value::{ArrayType, QType, ScalarType, Value};

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![ewma(), moving_average(), serial_correlation()]
}

/// The series as floats.
fn floats(cx: &InferContext<'_>) -> Result<ArrayType, TypeError> {
    let array = cx.types[0].array().ok_or_else(|| cx.expected("an array type", 0))?;
    match array.element.is_numeric() {
        true => Ok(array.of(fraction(cx.dialect, array.element))),
        false => Err(cx.expected("numerics", 0)),
    }
}

/// Floats with a FLOAT32 or FLOAT64 in each row.
fn stored(array: ArrayType) -> QType {
    match array.element {
        ScalarType::WeakFloat => QType::Array(array.of(ScalarType::Float64)),
        _ => QType::Array(array),
    }
}

fn ewma() -> OperatorDef {
    const MEANING: &str = "The exponentially weighted average of the rows up to each one, as pandas has it: each row counts 1 - alpha times as much as the next one, or with ignore_missing as the next one that is present. Without adjust, the first row counts as an average. Raises unless alpha is in 0 … 1 and above 0.";
    let boolean = |value: bool| Literal::Value(Value::from(value));
    OperatorDef::new("experimental.ewma", &["series", "alpha", "adjust", "ignore_missing"], MEANING, |cx| {
        let series = floats(cx)?;
        let QType::Scalar(alpha) = cx.types[1] else {
            return Err(cx.expected("a numeric scalar", 1));
        };
        if !alpha.is_numeric() {
            return Err(cx.expected("a numeric scalar", 1));
        }
        for index in [2, 3] {
            if cx.types[index] != BOOLEAN {
                return Err(cx.expected("a boolean", index));
            }
        }
        cx.unchanged(QType::Array(series))
    })
    .default("adjust", boolean(true))
    .default("ignore_missing", boolean(false))
    .lowered(|cx, args| {
        let [series, alpha, adjust, ignore_missing] = args else { return Ok(Lowered::Keep) };
        let Some(array) = cx.qtype(*series).array() else { return Ok(Lowered::Keep) };
        let array = array.of(fraction(cx.dialect(), array.element));
        // The factor is rounded as the rows are.
        let rounded = match stored(array).element() {
            Some(ScalarType::Float32) => cx.cast(*alpha, &QType::Scalar(ScalarType::Float32))?,
            _ => *alpha,
        };
        let (series, alpha) = (cx.cast(*series, &stored(array))?, cx.cast(rounded, &FLOAT64)?);
        let averages = cx.make(EWMA, &[series, alpha, *adjust, *ignore_missing])?;
        Ok(Lowered::To(cx.cast(averages, &QType::Array(array))?))
    })
}

fn moving_average() -> OperatorDef {
    OperatorDef::new(
        "experimental.agg_moving_average",
        &["series", "window_size", "over"],
        "The average of the last window_size rows of a group up to each row; missing where there are not so many, or one of them is missing.",
        |cx| {
            let series = floats(cx)?;
            if !matches!(cx.types[1], QType::Scalar(t) if t.is_integer()) {
                return Err(cx.expected("a present integer", 1));
            }
            match cx.types[2] {
                QType::Edge(class) | QType::EdgeToScalar(class) if class == series.class => {
                    cx.unchanged(QType::Array(series))
                }
                _ => Err(cx.expected("an edge", 2)),
            }
        },
    )
    .lowered(|cx, args| {
        let Some(array) = cx.qtype(args[0]).array() else { return Ok(Lowered::Keep) };
        let array = array.of(fraction(cx.dialect(), array.element));
        let (series, size) = (cx.cast(args[0], &stored(array))?, cx.cast(args[1], &INT64)?);
        let averages = cx.make(MOVING_AVERAGE, &[series, size, args[2]])?;
        Ok(Lowered::To(cx.cast(averages, &QType::Array(array))?))
    })
}

fn serial_correlation() -> OperatorDef {
    OperatorDef::new(
        "experimental.serial_correlation",
        &["series", "lag"],
        "The coefficient of correlation of the rows with those `lag` rows before, as math.correlation has it. Raises for a lag below 0, or above the number of rows.",
        |cx| {
            let series = floats(cx)?;
            match cx.types[1] {
                QType::Scalar(lag) if lag.is_integer() => cx.unchanged(QType::Optional(series.element)),
                _ => Err(cx.expected("a present integer", 1)),
            }
        },
    )
    .lowered(|cx, args| {
        let lag = cx.cast(args[1], &INT64)?;
        let element = cx.qtype(args[0]).element().unwrap_or(ScalarType::Float64);
        let none = cx.make_literal(Literal::Value(Value::Missing(element)))?;
        let shape = cx.make("core.shape_of", &[args[0]])?;
        let shape = cx.make("array.resize_array_shape", &[shape, lag])?;
        let before = cx.make("core.const_with_shape", &[shape, none])?;
        let size = cx.make("array.size", &[args[0]])?;
        let size = cx.make("math.subtract", &[size, lag])?;
        let start = cx.make_literal(Literal::from(0i64))?;
        let rest = cx.make("array.slice", &[args[0], start, size])?;
        let shifted = cx.make("array.concat", &[before, rest])?;
        Ok(Lowered::To(cx.make("math.correlation", &[args[0], shifted])?))
    })
}
