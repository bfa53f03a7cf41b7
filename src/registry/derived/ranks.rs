//! Ranks and shares of rows: what follows from their order.
//!
//! The machine ranks numbers. Texts, truth values and masks are ranked as numbers of the same order.

use crate::expr::{Literal, NodeId};
use crate::registry::define::{LowerContext, LowerError, Lowered, OperatorDef};
use crate::registry::derived::aggregate::{Rows, fraction, grouped, no_edge};
use crate::registry::dialect::Dialect;
use crate::registry::infer::InferContext;
use cembra_vm::builtins::weighted::WEIGHTED_CDF;
use cembra_vm::value::qtype::UNIT;
use cembra_vm::value::{QType, ScalarType, Value};

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![
        ordinal_rank(),
        ranks(
            "array.dense_rank",
            "array._dense_rank",
            "Place of each present row among the distinct values in their order.",
        ),
        cdf(),
    ]
}

/// Numbers of which shares are made.
const ORDERED: Rows = Rows { cast: ordered, ..Rows::NUMBERS };
/// Values that have an order.
const ORDERABLE: Rows =
    Rows { kind: "values with an order", accepts: has_order, cast: in_order, ..Rows::ANY };

/// Of weak numbers the dialect may want FLOAT32; integers are compared as such.
fn ordered(dialect: Dialect, element: ScalarType, _: &[QType]) -> ScalarType {
    match (dialect, element) {
        (Dialect::Arolla, ScalarType::WeakFloat) => ScalarType::Float32,
        _ => element,
    }
}

/// A number of the place of a row in the order of all.
fn in_order(_: Dialect, element: ScalarType, _: &[QType]) -> ScalarType {
    match element {
        ScalarType::Boolean => ScalarType::Int32,
        element if element.is_numeric() => element,
        _ => ScalarType::Int64,
    }
}

fn has_order(element: ScalarType) -> bool {
    use ScalarType::{Boolean, Bytes, Text, Unit};
    element.is_numeric() || matches!(element, Boolean | Bytes | Text | Unit)
}

fn ranks(name: &str, machine: &'static str, meaning: &str) -> OperatorDef {
    let ranks = grouped(name, machine, &["x", "over", "descending"], meaning, ORDERABLE)
        .default("descending", Literal::Value(Value::from(false)));
    let lower = ranks.lower.clone().expect("the definition lowers");
    ranks.lowered(move |cx, args| {
        let mut args = args.to_vec();
        args[0] = numbers_in_order(cx, args[0])?;
        lower(cx, &args)
    })
}

/// `array.ordinal_rank`, whose ties may be broken by integers.
fn ordinal_rank() -> OperatorDef {
    const NAME: &str = "array.ordinal_rank";
    const MEANING: &str = "Place of each present row in their order; of equal rows that of the least tie_breaker comes first, or the first. Missing where a tie_breaker is.";
    let ranks = ranks(NAME, "array._ordinal_rank", MEANING);
    let (infer, lower) = (ranks.infer.clone(), ranks.lower.clone().expect("the definition lowers"));
    OperatorDef::new(NAME, &["x", "over", "descending", "tie_breaker"], MEANING, move |cx| {
        let ranks = infer(&InferContext { types: &cx.types[..3], ..*cx })?;
        match (&cx.types[3], cx.types[0].array()) {
            (&UNIT, _) => {}
            (QType::Array(ties), Some(rows)) if ties.element.is_integer() && ties.class == rows.class => {}
            _ => return Err(cx.expected("an array of integers", 3)),
        }
        cx.unchanged(ranks.result)
    })
    .default("over", no_edge())
    .default("descending", Literal::Value(Value::from(false)))
    .default("tie_breaker", no_edge())
    .lowered(move |cx, args| {
        let [rows, over, descending, ties] = args else { return Ok(Lowered::Keep) };
        if cx.qtype(*ties) == UNIT {
            return lower(cx, &args[..3]);
        }
        // Pairs as numbers: the rank of the row, then that of what breaks the tie.
        let ascending = cx.make_literal(Literal::Value(Value::from(false)))?;
        let ranks = cx.make("array.dense_rank", &[*rows, *over, *descending])?;
        let ranks_of_ties = cx.make("array.dense_rank", &[*ties, *over, ascending])?;
        let size = cx.make("array.size", &[*rows])?;
        let ranks = cx.make("math.multiply", &[ranks, size])?;
        let pairs = cx.make("math.add", &[ranks, ranks_of_ties])?;
        lower(cx, &[pairs, *over, ascending])
    })
}

/// Rows as numbers of the same order.
fn numbers_in_order(cx: &mut dyn LowerContext, rows: NodeId) -> Result<NodeId, LowerError> {
    let qtype = cx.qtype(rows);
    match qtype.element() {
        Some(ScalarType::Text | ScalarType::Bytes) => cx.make("array._text_order", &[rows]),
        Some(ScalarType::Boolean) => {
            let numbers = qtype.with_scalar(ScalarType::Int32).unwrap_or(qtype);
            cx.cast(rows, &numbers)
        }
        Some(ScalarType::Unit) => {
            let shape = cx.make("array._shape_of", &[rows])?;
            let number = cx.make_literal(Literal::from(0i64))?;
            let numbers = cx.make("array._const", &[shape, number])?;
            cx.make("core.presence_and", &[numbers, rows])
        }
        _ => Ok(rows),
    }
}

/// Shares of rows; of integers they are FLOAT32 where the dialect wants such fractions.
fn cdf() -> OperatorDef {
    const MEANING: &str = "Share of the present rows that are not above the row, or of their weights, of those where both are present; NaN for all rows of a group that has one.";
    let shares = grouped("math.cdf", "math._cdf", &["x", "over"], MEANING, ORDERED);
    let (infer, lower) = (shares.infer.clone(), shares.lower.clone().expect("the definition lowers"));
    let rounded = |dialect: Dialect, rows: &QType| {
        let wants = rows.element().is_some_and(ScalarType::is_integer) && dialect == Dialect::Arolla;
        rows.with_scalar(ScalarType::Float32).filter(|_| wants)
    };
    OperatorDef::new("math.cdf", &["x", "weights", "over"], MEANING, move |cx| {
        let [x, weights, over] = cx.types else { return Err(cx.expected("an array type", 0)) };
        let (weights, over) =
            if is_edge(weights) && *over == UNIT { (over, weights) } else { (weights, over) };
        let types = [x.clone(), over.clone()];
        let resolution = infer(&InferContext { types: &types, ..*cx })?;
        if *weights == UNIT {
            return cx.unchanged(rounded(cx.dialect, x).unwrap_or(resolution.result));
        }
        let element = weighted_element(cx.dialect, x, weights);
        let element = element.ok_or_else(|| cx.expected("an array of numbers of the family of x", 1))?;
        cx.unchanged(x.with_scalar(element).unwrap_or(resolution.result))
    })
    .default("weights", no_edge())
    .default("over", no_edge())
    .lowered(move |cx, args| {
        let [x, weights, over] = args else { return Ok(Lowered::Keep) };
        let (weights, over) = match is_edge(&cx.qtype(*weights)) && cx.qtype(*over) == UNIT {
            true => (over, weights),
            false => (weights, over),
        };
        if cx.qtype(*weights) != UNIT {
            return weighted_cdf(cx, [*x, *weights, *over]);
        }
        match (lower(cx, &[*x, *over])?, rounded(cx.dialect(), &cx.qtype(*x))) {
            (Lowered::To(shares), Some(result)) => Ok(Lowered::To(cx.cast(shares, &result)?)),
            (lowered, _) => Ok(lowered),
        }
    })
}

fn is_edge(qtype: &QType) -> bool {
    matches!(qtype, QType::Edge(_) | QType::EdgeToScalar(_))
}

/// The float that both rows and their weights become, if they are numbers of one family of arrays.
fn weighted_element(dialect: Dialect, x: &QType, weights: &QType) -> Option<ScalarType> {
    let (x, weights) = (x.array()?, weights.array()?);
    let are_numbers = x.element.is_numeric() && weights.element.is_numeric() && x.class == weights.class;
    dialect
        .common_scalar(fraction(dialect, x.element), fraction(dialect, weights.element))
        .filter(|_| are_numbers)
}

fn weighted_cdf(cx: &mut dyn LowerContext, [x, weights, over]: [NodeId; 3]) -> Result<Lowered, LowerError> {
    let (given, of_weights) = (cx.qtype(x), cx.qtype(weights));
    let element = weighted_element(cx.dialect(), &given, &of_weights).unwrap_or(ScalarType::Float64);
    let stored = if element == ScalarType::WeakFloat { ScalarType::Float64 } else { element };
    let rows = given.with_scalar(stored).unwrap_or(given);
    let mut args = vec![cx.cast(x, &rows)?, cx.cast(weights, &rows)?];
    if cx.qtype(over) != UNIT {
        args.push(over);
    }
    let shares = cx.make(WEIGHTED_CDF, &args)?;
    Ok(Lowered::To(cx.cast(shares, &rows.with_scalar(element).unwrap_or(rows.clone()))?))
}
