//! Operators on arrays with default arguments, and with arguments that are cast first.

use crate::expr::Literal;
use crate::registry::define::{Lowered, OperatorDef};
use crate::registry::infer::{InferContext, Resolution, TypeError};
use cembra_vm::operator::lifting::Each;
use cembra_vm::value::qtype::{BOOLEAN, INT64};
use cembra_vm::value::{ArrayClass, ArrayType, QType, ScalarType, ScalarValue, Value};

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![
        at(),
        chosen(
            "array.slice",
            &["x", "offset", "size"],
            "`size` rows from `offset` on, to the end if size is -1. Raises if there are not so many.",
            indices,
        ),
        chosen("array.concat", &["x", "y"], "The rows of x, then those of y.", |cx| {
            cx.common_rows(&[0, 1]).map(|c| c.0)
        }),
        map(),
        searchsorted(),
        inverse_mapping(),
        edge_of(
            "edge.from_sizes",
            &["sizes"],
            "The edge whose groups have these sizes, one after the other.",
        ),
        compose(),
        from_indices_and_values(),
        edge_of("edge.from_split_points", &["split_points"], "The edge whose groups begin at these rows."),
        edge_of("edge.from_mapping", &["mapping", "parent_size"], "The edge from each row to its parent."),
        OperatorDef::new("array.make_dense_array_shape", &["size"], "The shape of this many rows.", |cx| {
            match cx.types[0].scalar().is_some_and(ScalarType::is_integer) && !cx.types[0].is_optional() {
                true => Ok(Resolution { args: vec![INT64], result: QType::ArrayShape(ArrayClass::Dense) }),
                false => Err(cx.expected("integers", 0)),
            }
        })
        .lowered(|cx, args| {
            let size = cx.cast(args[0], &INT64)?;
            Ok(Lowered::To(cx.make("array._shape", &[size])?))
        }),
    ]
}

fn rows_of(cx: &InferContext<'_>, index: usize) -> Result<ArrayType, TypeError> {
    cx.types[index].array().ok_or_else(|| cx.expected("an array type", index))
}

/// Rows of the first argument, chosen by the others once they are cast.
fn chosen(
    name: &str,
    params: &[&str],
    meaning: &str,
    cast: fn(&InferContext<'_>) -> Result<Vec<QType>, TypeError>,
) -> OperatorDef {
    OperatorDef::new(name, params, meaning, move |cx| {
        rows_of(cx, 0)?;
        let args = cast(cx)?;
        let rows = &args[0];
        match cx.table.overload(cx.operator, &args) {
            // The rows of the result are those of x, weak ones too.
            Some(overload) => {
                let result = rows.element().and_then(|t| overload.result().with_scalar(t));
                Ok(Resolution { result: result.unwrap_or_else(|| args[0].clone()), args })
            }
            None => Err(TypeError::NoOverload { operator: cx.operator.clone(), types: cx.types.to_vec() }),
        }
    })
}

/// An edge made of integers, which are cast to INT64.
fn edge_of(name: &str, params: &[&str], meaning: &str) -> OperatorDef {
    OperatorDef::new(name, params, meaning, |cx| {
        let rows = rows_of(cx, 0)?;
        Ok(Resolution { args: integers(cx, 0)?, result: QType::Edge(rows.class) })
    })
}

/// All arguments but the first are integers, cast to INT64.
fn indices(cx: &InferContext<'_>) -> Result<Vec<QType>, TypeError> {
    integers(cx, 1)
}

/// All arguments from one on are integers, cast to INT64.
fn integers(cx: &InferContext<'_>, from: usize) -> Result<Vec<QType>, TypeError> {
    let mut args = cx.types.to_vec();
    for (index, arg) in args.iter_mut().enumerate().skip(from) {
        let integer = arg.element().is_some_and(ScalarType::is_integer);
        let cast = arg.with_scalar(ScalarType::Int64).filter(|_| integer);
        *arg = cast.ok_or_else(|| cx.expected("integers", index))?;
    }
    Ok(args)
}

fn at() -> OperatorDef {
    OperatorDef::new(
        "array.at",
        &["x", "i"],
        "Row i, or the rows of an array of numbers, which is then the family of the result. Raises if there is no such row.",
        |cx| {
            let rows = rows_of(cx, 0)?;
            let args = indices(cx)?;
            let result = match args[1] {
                QType::Array(numbers) => QType::Array(numbers.of(rows.element)),
                _ => QType::Optional(rows.element),
            };
            Ok(Resolution { args, result })
        },
    )
    .lowered(|cx, args| match cx.qtype(args[1]).array() {
        Some(_) => Ok(Lowered::To(cx.make("array.take", args)?)),
        None => Ok(Lowered::Keep),
    })
}

/// An operator of scalars, applied to rows; over arrays it is the operator itself.
fn map() -> OperatorDef {
    OperatorDef::new("core.map", &["op", "arg", "*args"], "op applied to each row of the arrays.", |cx| {
        let op = cx.operator_literal(0)?;
        let Some((Each::Row(_), rows)) = Each::of(&cx.types[1..]) else {
            return Err(cx.expected("an array type", 1));
        };
        // The operator must be one of scalars: not every operator of arrays works row by row.
        let of_rows = cx.apply(op, &rows)?;
        let result = cx.apply(op, &cx.types[1..])?;
        match of_rows.scalar().is_some() && result.array().is_some() {
            true => cx.unchanged(result),
            false => Err(TypeError::NoOverload { operator: cx.operator.clone(), types: cx.types.to_vec() }),
        }
    })
    .reading_literals()
    .lowered(|cx, args| match cx.literal(args[0]) {
        Some(Literal::Operator(op)) => Ok(Lowered::To(cx.make(&op, &args[1..])?)),
        _ => Ok(Lowered::Keep),
    })
}

fn searchsorted() -> OperatorDef {
    OperatorDef::new(
        "math.searchsorted",
        &["haystack", "needle", "right"],
        "How many rows of a sorted array are below the needle, or with `right` not above it; a row for each of several needles, missing for a missing one.",
        |cx| {
            let haystack = rows_of(cx, 0)?;
            if cx.types[2] != BOOLEAN {
                return Err(cx.expected("a boolean", 2));
            }
            let error = || TypeError::NoCommonType { types: cx.types[..2].to_vec() };
            let needle = cx.types[1].element().ok_or_else(error)?;
            let element = cx.dialect.common_scalar(haystack.element, needle).ok_or_else(error)?;
            let cast = |index: usize| cx.types[index].with_scalar(element).ok_or_else(error);
            let result = cx.types[1].with_scalar(ScalarType::Int64).ok_or_else(error)?;
            Ok(Resolution { args: vec![cast(0)?, cast(1)?, BOOLEAN], result })
        },
    )
    .default("right", Literal::Value(Value::from(false)))
    .lowered(|cx, args| {
        let QType::Optional(element) = cx.qtype(args[1]) else { return Ok(Lowered::Keep) };
        let any = cx.make_literal(Literal::Value(Value::Scalar(ScalarValue::zero(element))))?;
        let needle = cx.make("core.presence_or", &[args[1], any])?;
        let place = cx.make("math.searchsorted", &[args[0], needle, args[2]])?;
        let is_given = cx.make("core.has", &[args[1]])?;
        Ok(Lowered::To(cx.make("core.presence_and", &[place, is_given])?))
    })
}

/// A permutation of rows turned round, whose numbers may be INT32.
fn inverse_mapping() -> OperatorDef {
    OperatorDef::new(
        "array.inverse_mapping",
        &["x"],
        "The number of the row that holds each number. Raises if the rows are not distinct numbers of rows.",
        |cx| match rows_of(cx, 0)?.element.is_integer() {
            true => cx.unchanged(cx.types[0].clone()),
            false => Err(cx.expected("an array of integers", 0)),
        },
    )
    .lowered(|cx, args| {
        let given = cx.qtype(args[0]);
        let wide = given.with_scalar(ScalarType::Int64).unwrap_or_else(|| given.clone());
        if given == wide {
            return Ok(Lowered::Keep);
        }
        let numbers = cx.cast(args[0], &wide)?;
        let inverse = cx.make("array.inverse_mapping", &[numbers])?;
        Ok(Lowered::To(cx.cast(inverse, &given)?))
    })
}

/// Edges one behind the other, from the outermost one.
fn compose() -> OperatorDef {
    OperatorDef::new(
        "edge.compose",
        &["edge", "*edges"],
        "The edge from the rows of the last edge to the parents of the first: the rows of each are the parents of the next.",
        |cx| match cx.types.iter().position(|t| *t != cx.types[0] || !matches!(t, QType::Edge(_))) {
            Some(index) => Err(cx.expected("edges of one family of arrays", index)),
            None => cx.unchanged(cx.types[0].clone()),
        },
    )
    .lowered(|cx, args| {
        let composed = args[1..].iter().try_fold(args[0], |outer, inner| cx.make("edge._compose", &[outer, *inner]));
        Ok(Lowered::To(composed?))
    })
}

fn from_indices_and_values() -> OperatorDef {
    OperatorDef::new(
        "array.from_indices_and_values",
        &["indices", "values", "size"],
        "An array of this size with the values at ascending numbers of rows; the others are missing. Raises for other numbers.",
        |cx| {
            let (indices, values) = (rows_of(cx, 0)?, rows_of(cx, 1)?);
            match (indices.element.is_integer(), &cx.types[2]) {
                (false, _) => Err(cx.expected("an array of integers", 0)),
                (true, QType::Scalar(size)) if size.is_integer() => match indices.class == values.class {
                    true => cx.unchanged(cx.types[1].clone()),
                    false => Err(cx.expected("an array of the family of the indices", 1)),
                },
                _ => Err(cx.expected("an integer", 2)),
            }
        },
    )
    .lowered(|cx, args| {
        let wide = cx.qtype(args[0]).with_scalar(ScalarType::Int64).unwrap_or(INT64);
        let (indices, size) = (cx.cast(args[0], &wide)?, cx.cast(args[2], &INT64)?);
        Ok(Lowered::To(cx.make("array._from_indices_and_values", &[indices, args[1], size])?))
    })
}
