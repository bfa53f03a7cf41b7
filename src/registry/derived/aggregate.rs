//! Aggregations and scans of arrays, of all rows or of groups of rows. Those that need fractions cast
//! integers first, as dividing does: to FLOAT32 in the published dialect, to FLOAT64 in ours.

use crate::expr::Literal;
use crate::registry::define::{Lowered, OperatorDef};
use crate::registry::dialect::Dialect;
use crate::registry::infer::{InferContext, Resolution, TypeError};
use cembra_vm::builtins::math::{MAXIMUM, MINIMUM};
use cembra_vm::value::qtype::{OPTIONAL_UNIT, UNIT};
use cembra_vm::value::{ArrayType, QType, ScalarType, ScalarValue, Value};
use std::borrow::Cow;

/// Name of `core.any`.
pub const ANY: &str = "core.any";

/// Operators of all rows, and those of two values.
pub const OF_TWO_VALUES: [(&str, &str); 2] = [("math.max", MAXIMUM), ("math.min", MINIMUM)];

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    [of_numbers(), of_any(), of_truths(), scans()].into_iter().flatten().collect()
}

/// Numbers to one number.
fn of_numbers() -> Vec<OperatorDef> {
    vec![
        numbers("math.sum", "math._sum", "Sum of the present rows; 0 without any. Integers wrap."),
        numbers(
            "math.prod",
            "math._prod",
            "Product of the present rows, of FLOAT32 rounded once; missing without any. Integers wrap.",
        ),
        numbers("math.min", "math._min", "The least present row; NaN if there is one."),
        numbers("math.max", "math._max", "The greatest present row; NaN if there is one."),
        numbers(
            "math.median",
            "math._median",
            "The middle of the present rows, the lower of two; NaN if there is one.",
        ),
        numbers(
            "math.argmin",
            "math._argmin",
            "Number of the first row that is the least, or of the first NaN; with `into` its number in its group.",
        ),
        numbers(
            "math.argmax",
            "math._argmax",
            "Number of the first row that is the greatest, or of the first NaN; with `into` its number in its group.",
        ),
        reals("math.mean", "math._mean", "Arithmetic mean of the present rows."),
        reals("math.skew", "math._skew", "Third standardised moment of the present rows."),
        reals("math.kurtosis", "math._kurtosis", "Fourth standardised moment of the present rows, less 3."),
        spread(
            "math.var",
            "math._var",
            "Variance of the present rows; over their number less one if unbiased: missing for one row.",
        ),
        spread(
            "math.std",
            "math._std",
            "Square root of the variance of the present rows, as math.var has it.",
        ),
        grouped_at(
            2,
            "math.inverse_cdf",
            "math._inverse_cdf",
            &["x", "cdf_arg", "into"],
            "The least present row such that at least this share of them is not above it; NaN if there is one. Raises unless the share is in 0 … 1.",
            Rows { number: share, ..Rows::NUMBERS },
        ),
    ]
}

/// Rows of other types to one row.
fn of_any() -> Vec<OperatorDef> {
    vec![
        grouped("array.count", "array._count", &["x", "into"], "Number of present rows.", Rows::ANY),
        grouped(
            "array.collapse",
            "array._collapse",
            &["x", "into"],
            "The row that all present rows of a group are, else missing. Without `into`, an array of the one row of all.",
            Rows::ANY,
        ),
        agg_join(),
    ]
}

/// Truths and masks to one.
fn of_truths() -> Vec<OperatorDef> {
    vec![
        grouped(
            "bool.logical_all",
            "bool._logical_all",
            &["x", "into"],
            "False if a row is false, else missing if one is, else true.",
            Rows::BOOLEANS,
        ),
        grouped(
            "bool.logical_any",
            "bool._logical_any",
            &["x", "into"],
            "True if a row is true, else missing if one is, else false.",
            Rows::BOOLEANS,
        ),
        quantifier("core.all", "core._all_rows", "Present if all masks are; of a single mask, the mask."),
        quantifier(ANY, "core._any_row", "Present if one of the masks is; of a single mask, the mask."),
    ]
}

/// A row for each row.
fn scans() -> Vec<OperatorDef> {
    vec![
        grouped(
            "math.cum_sum",
            "math._cum_sum",
            &["x", "over"],
            "Sum of the present rows up to this one.",
            Rows::NUMBERS,
        ),
        grouped(
            "math.cum_max",
            "math._cum_max",
            &["x", "over"],
            "The greatest present row up to this one.",
            Rows::NUMBERS,
        ),
        cum_min(),
        grouped(
            "array.cum_count",
            "array._cum_count",
            &["x", "over"],
            "Number of present rows up to this one.",
            Rows::ANY,
        ),
        grouped(
            "array.agg_index",
            "array._agg_index",
            &["x", "over"],
            "Number of the row in its group; a row where x is missing counts, and gives missing.",
            Rows::ANY,
        ),
        grouped_at(
            2,
            "math.softmax",
            "math._softmax",
            &["x", "beta", "over"],
            "exp(beta * (x - max)), over the sum of it. Computed in FLOAT64; the result has the type of the float that x and beta become.",
            Rows { cast: scaled, ..Rows::REALS },
        )
        .default("beta", Literal::Value(Value::Scalar(ScalarValue::WeakFloat(1.0)))),
        expand(),
    ]
}

/// Which rows an operator takes, and to what it casts them first.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// What it takes, in the plural.
    pub kind: &'static str,
    /// True for the elements it takes.
    pub accepts: fn(ScalarType) -> bool,
    /// The element it works on, of one it takes and the types of all arguments.
    pub cast: fn(Dialect, ScalarType, &[QType]) -> ScalarType,
    /// What numbers beside the rows become.
    pub number: fn(Dialect, ScalarType) -> ScalarType,
}

impl Rows {
    /// Any rows as they are.
    pub const ANY: Rows = Rows { kind: "values", accepts: |_| true, cast: as_they_are, number: double };
    /// Truth values.
    pub const BOOLEANS: Rows = Rows {
        kind: "booleans",
        accepts: |t| matches!(t, ScalarType::Boolean),
        cast: as_they_are,
        ..Rows::ANY
    };
    /// Masks.
    pub const MASKS: Rows =
        Rows { kind: "units", accepts: |t| matches!(t, ScalarType::Unit), cast: as_they_are, ..Rows::ANY };
    /// Texts and bytes.
    pub const TEXTS: Rows = Rows {
        kind: "texts or bytes",
        accepts: |t| matches!(t, ScalarType::Text | ScalarType::Bytes),
        cast: as_they_are,
        ..Rows::ANY
    };
    /// Numbers as they are.
    pub const NUMBERS: Rows =
        Rows { kind: "numerics", accepts: ScalarType::is_numeric, cast: as_they_are, ..Rows::ANY };
    /// Numbers as floats.
    pub const REALS: Rows =
        Rows { kind: "numerics", accepts: ScalarType::is_numeric, cast: real, ..Rows::ANY };
}

fn double(_: Dialect, _: ScalarType) -> ScalarType {
    ScalarType::Float64
}

/// A share of rows is a FLOAT32 where the dialect wants one: its product with their number is rounded as such.
fn share(dialect: Dialect, given: ScalarType) -> ScalarType {
    match (dialect, given) {
        (Dialect::Arolla, _) | (_, ScalarType::Float32) => ScalarType::Float32,
        (Dialect::Cembra, _) => ScalarType::Float64,
    }
}

fn as_they_are(_: Dialect, element: ScalarType, _: &[QType]) -> ScalarType {
    element
}

/// The float that a fraction of these numbers is.
fn real(dialect: Dialect, element: ScalarType, _: &[QType]) -> ScalarType {
    fraction(dialect, element)
}

/// The float that both the rows and a factor become unasked.
fn scaled(dialect: Dialect, element: ScalarType, types: &[QType]) -> ScalarType {
    let real = fraction(dialect, element);
    let factor = types.get(1).and_then(QType::scalar).unwrap_or(real);
    dialect.common_scalar(real, factor).unwrap_or(real)
}

/// The float that a fraction of numbers of a type is.
pub(super) fn fraction(dialect: Dialect, element: ScalarType) -> ScalarType {
    match (element.is_integer(), dialect) {
        (true, Dialect::Arolla) => ScalarType::Float32,
        (true, Dialect::Cembra) => ScalarType::Float64,
        (false, _) => element,
    }
}

/// An operator on an array and, at a place among its arguments, an edge that groups the rows; `unit`
/// stands for no edge. The machine's operator gets the rows cast, the edge if there is one, and the rest,
/// numbers cast as the rows say.
pub(super) fn grouped_at(
    edge: usize,
    name: &str,
    machine: &'static str,
    params: &[&str],
    meaning: &str,
    rows: Rows,
) -> OperatorDef {
    OperatorDef::new(name, params, meaning, move |cx| rule(cx, machine, rows, edge))
        .default(params[edge], no_edge())
        .lowered(move |cx, args| {
            let types: Vec<QType> = args.iter().map(|arg| cx.qtype(*arg)).collect();
            let mut given = Vec::new();
            for (index, qtype) in machine_types(cx.dialect(), &types, rows, edge) {
                given.push(cx.cast(args[index], &qtype)?);
            }
            Ok(Lowered::To(cx.make(machine, &given)?))
        })
}

/// As [`grouped_at`], with the edge in the second place.
pub(super) fn grouped(
    name: &str,
    machine: &'static str,
    params: &[&str],
    meaning: &str,
    rows: Rows,
) -> OperatorDef {
    grouped_at(1, name, machine, params, meaning, rows)
}

/// The arguments of the machine's operator: which of ours each is, and its type.
fn machine_types(dialect: Dialect, types: &[QType], rows: Rows, edge: usize) -> Vec<(usize, QType)> {
    let mut given = Vec::new();
    let element = types[0].element().map(|t| (rows.cast)(dialect, t, types));
    let array = element.and_then(|t| types[0].with_scalar(t));
    given.push((0, array.unwrap_or_else(|| types[0].clone())));
    if types[edge] != UNIT {
        given.push((edge, types[edge].clone()));
    }
    // Beside weak rows a FLOAT64 is weak, too: the result is what all of them are.
    let number = |given: ScalarType| match (rows.number)(dialect, given) {
        ScalarType::Float64 if element == Some(ScalarType::WeakFloat) => ScalarType::WeakFloat,
        number => number,
    };
    for (index, qtype) in types.iter().enumerate().skip(1).filter(|(index, _)| *index != edge) {
        let cast = qtype.scalar().filter(|t| t.is_numeric()).map(|t| QType::Scalar(number(t)));
        given.push((index, cast.unwrap_or_else(|| qtype.clone())));
    }
    given
}

/// The default of an edge.
pub(super) fn no_edge() -> Literal {
    Literal::Value(Value::Scalar(ScalarValue::Unit))
}

/// What an argument should be, with the operator of two values that somebody may have meant.
fn wanted(cx: &InferContext<'_>, kind: &'static str) -> Cow<'static, str> {
    match OF_TWO_VALUES.iter().find(|(name, _)| **name == **cx.operator) {
        Some((_, other)) => format!("{kind} ({other}(x, y) takes two values)").into(),
        None => kind.into(),
    }
}

fn rule(cx: &InferContext<'_>, machine: &str, rows: Rows, edge: usize) -> Result<Resolution, TypeError> {
    let array = cx.types[0].array().ok_or_else(|| cx.expected(wanted(cx, "an array type"), 0))?;
    if !(rows.accepts)(array.element) {
        return Err(cx.expected(rows.kind, 0));
    }
    match cx.types[edge] {
        QType::Edge(class) | QType::EdgeToScalar(class) if class == array.class => {}
        UNIT => {}
        _ => return Err(cx.expected(wanted(cx, "an edge"), edge)),
    }
    let given: Vec<QType> =
        machine_types(cx.dialect, cx.types, rows, edge).into_iter().map(|(_, qtype)| qtype).collect();
    let overload = cx.table.overload(machine, &given);
    let overload = overload
        .ok_or_else(|| TypeError::NoOverload { operator: cx.operator.clone(), types: cx.types.to_vec() })?;
    let weak =
        array.element == ScalarType::WeakFloat && overload.result().element() == Some(ScalarType::Float64);
    let weakened = overload.result().with_scalar(ScalarType::WeakFloat).filter(|_| weak);
    cx.unchanged(weakened.unwrap_or_else(|| overload.result().clone()))
}

fn numbers(name: &str, machine: &'static str, meaning: &str) -> OperatorDef {
    grouped(name, machine, &["x", "into"], meaning, Rows::NUMBERS)
}

fn reals(name: &str, machine: &'static str, meaning: &str) -> OperatorDef {
    grouped(name, machine, &["x", "into"], meaning, Rows::REALS)
}

fn spread(name: &str, machine: &'static str, meaning: &str) -> OperatorDef {
    grouped(name, machine, &["x", "into", "unbiased"], meaning, Rows::REALS)
        .default("unbiased", Literal::Value(Value::from(true)))
}

/// `strings.agg_join`, whose separator may be missing, or left out.
fn agg_join() -> OperatorDef {
    const MEANING: &str = "The present texts or bytes of a group, with a separator of their type between, none if it is missing. Without `into`, an array of the one text of all.";
    let joined =
        grouped("strings.agg_join", "strings._agg_join", &["x", "into", "sep"], MEANING, Rows::TEXTS);
    let lower = joined.lower.clone().expect("the definition lowers");
    OperatorDef::new("strings.agg_join", &["x", "into", "sep"], MEANING, |cx| {
        let separator = cx.types[0].element().map(QType::Scalar).unwrap_or(UNIT);
        if cx.types[2] != UNIT && cx.types[2].scalar().map(QType::Scalar) != Some(separator.clone()) {
            return Err(cx.expected("a separator of the type of the rows", 2));
        }
        let types = [cx.types[0].clone(), cx.types[1].clone(), separator];
        let resolution = rule(&InferContext { types: &types, ..*cx }, "strings._agg_join", Rows::TEXTS, 1)?;
        cx.unchanged(resolution.result)
    })
    .default("into", no_edge())
    .default("sep", no_edge())
    .lowered(move |cx, args| {
        let is_text = cx.qtype(args[0]).element() == Some(ScalarType::Text);
        let none = if is_text {
            Literal::from("")
        } else {
            Literal::Value(Value::Scalar(ScalarValue::zero(ScalarType::Bytes)))
        };
        let mut args = args.to_vec();
        args[2] = match cx.qtype(args[2]) {
            UNIT => cx.make_literal(none)?,
            QType::Optional(_) => {
                let none = cx.make_literal(none)?;
                cx.make("core.presence_or", &[args[2], none])?
            }
            _ => args[2],
        };
        lower(cx, &args)
    })
}

/// The greatest of numbers in the opposite order, turned round again.
fn cum_min() -> OperatorDef {
    const MEANING: &str = "The least present row up to this one; NaN from the first NaN on.";
    OperatorDef::new("math.cum_min", &["x", "over"], MEANING, |cx| {
        rule(cx, "math._cum_max", Rows::NUMBERS, 1)
    })
    .default("over", no_edge())
    .lowered(|cx, args| {
        let is_integer = cx.qtype(args[0]).element().is_some_and(ScalarType::is_integer);
        // The least integer has no opposite, but its bits can be flipped.
        let opposite = if is_integer { "bitwise.invert" } else { "math.neg" };
        let turned = cx.make(opposite, &[args[0]])?;
        let greatest = cx.make("math.cum_max", &[turned, args[1]])?;
        Ok(Lowered::To(cx.make(opposite, &[greatest])?))
    })
}

/// `array.expand`, whose edge is no option.
fn expand() -> OperatorDef {
    OperatorDef::new(
        "array.expand",
        &["x", "over"],
        "The row of its parent for each child; along an edge to a scalar, x in every row.",
        |cx| match (&cx.types[0], &cx.types[1]) {
            (QType::Array(t), QType::Edge(class)) if *class == t.class => cx.unchanged(cx.types[0].clone()),
            (QType::Scalar(element) | QType::Optional(element), QType::EdgeToScalar(class)) => {
                cx.unchanged(QType::Array(ArrayType { class: *class, element: *element }))
            }
            (QType::Scalar(_) | QType::Optional(_), _) => Err(cx.expected("an edge to a scalar", 1)),
            (QType::Array(_), _) => Err(cx.expected("an edge", 1)),
            _ => Err(cx.expected("an array type, a scalar or an optional", 0)),
        },
    )
    .lowered(|cx, args| match cx.qtype(args[0]) {
        QType::Array(_) => Ok(Lowered::To(cx.make("array._expand", args)?)),
        _ => {
            let parents = cx.make("edge.mapping", &args[1..])?;
            let shape = cx.make("array._shape_of", &[parents])?;
            Ok(Lowered::To(cx.make("array._const", &[shape, args[0]])?))
        }
    })
}

/// Of one mask the mask itself, of an array of masks what the machine's operator says.
fn quantifier(name: &str, machine: &'static str, meaning: &str) -> OperatorDef {
    let arrays = grouped(name, machine, &["x", "into"], meaning, Rows::MASKS);
    let lower = arrays.lower.clone().expect("the definition lowers");
    OperatorDef::new(name, &["x", "into"], meaning, move |cx| {
        if cx.types[0].array().is_some() {
            return rule(cx, machine, Rows::MASKS, 1);
        }
        match cx.types[0].scalar() == Some(ScalarType::Unit) && cx.types[1] == UNIT {
            true => Ok(Resolution { args: vec![OPTIONAL_UNIT, UNIT], result: OPTIONAL_UNIT }),
            false => Err(cx.expected("units", 0)),
        }
    })
    .default("into", no_edge())
    .lowered(move |cx, args| match cx.qtype(args[0]).array() {
        Some(_) => lower(cx, args),
        None => Ok(Lowered::To(cx.cast(args[0], &OPTIONAL_UNIT)?)),
    })
}
