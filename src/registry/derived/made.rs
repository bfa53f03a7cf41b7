//! Arrays made of values, arrays and shapes of the other family, and shapes of a size.

use crate::expr::{Literal, NodeId};
use crate::registry::define::{LowerContext, LowerError, Lowered, OperatorDef};
use crate::registry::infer::{InferContext, TypeError};
use cembra_vm::builtins::arrays_made::{
    ARRAY_SHAPE, AS_ARRAY, AS_DENSE_ARRAY, INTERLEAVE, MAKE_DENSE_ARRAY, RESIZE_SHAPE,
};
use cembra_vm::builtins::edge;
use cembra_vm::value::qtype::INT64;
use cembra_vm::value::tuple::TupleType;
use cembra_vm::value::{ArrayClass, ArrayType, QType, ScalarType};

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![
        make_dense_array(),
        interleave(),
        in_family(
            "array.as_dense_array",
            ArrayClass::Dense,
            "The rows as a dense array; of a value the one row of it, of a tuple of values a row for each.",
        ),
        in_family("array.as_array", ArrayClass::Array, "The rows as an array; of a value the one row of it."),
        sized("array.make_array_shape", &["size"], "The shape of this many rows of an array.", ARRAY_SHAPE),
        sized(
            "array.resize_array_shape",
            &["array_shape", "size"],
            "The shape of this many rows, of the same family as another.",
            RESIZE_SHAPE,
        ),
    ]
}

fn dense(element: ScalarType) -> QType {
    QType::Array(ArrayType { class: ArrayClass::Dense, element })
}

/// The scalar that some scalars and optionals become.
fn common_scalar(cx: &InferContext<'_>, types: &[QType]) -> Result<ScalarType, TypeError> {
    let error = || TypeError::NoCommonType { types: types.to_vec() };
    let mut scalars = types.iter().map(QType::scalar);
    let first = scalars.next().flatten().ok_or_else(error)?;
    scalars.try_fold(first, |common, next| cx.dialect.common_scalar(common, next?)).ok_or_else(error)
}

fn make_dense_array() -> OperatorDef {
    OperatorDef::new(
        "array.make_dense_array",
        &["x0", "*xs"],
        "A dense array with a row for each value, of the type that all of them become.",
        |cx| match cx.types.iter().position(|t| t.scalar().is_none()) {
            Some(index) => Err(cx.expected("scalars or optionals", index)),
            None => cx.unchanged(dense(common_scalar(cx, cx.types)?)),
        },
    )
    .lowered(|cx, args| Ok(Lowered::To(of_values(cx, args)?)))
}

/// A dense array of values, which have a type in common.
fn of_values(cx: &mut dyn LowerContext, values: &[NodeId]) -> Result<NodeId, LowerError> {
    let values = alike(cx, values)?;
    cx.make(MAKE_DENSE_ARRAY, &values)
}

/// Values, or rows, cast to the scalar that all of them become.
fn alike(cx: &mut dyn LowerContext, nodes: &[NodeId]) -> Result<Vec<NodeId>, LowerError> {
    let dialect = cx.dialect();
    let mut elements = nodes.iter().map(|node| cx.qtype(*node).element());
    let first = elements.next().flatten();
    let common = elements.fold(first, |common, next| dialect.common_scalar(common?, next?));
    let cast = |node: &NodeId| {
        let given = cx.qtype(*node);
        let to = common.and_then(|common| given.with_scalar(common)).unwrap_or(given);
        cx.cast(*node, &to)
    };
    nodes.iter().map(cast).collect()
}

fn interleave() -> OperatorDef {
    OperatorDef::new(
        "array.interleave",
        &["arg0", "*args"],
        "The first rows of all arrays, then their second ones, and so on, and the edge from these rows to those of one array; a single value is in every row, and values only make one group.",
        |cx| {
            let indices: Vec<usize> = (0..cx.types.len()).collect();
            if cx.types.iter().all(|t| t.scalar().is_some()) {
                let rows = dense(common_scalar(cx, cx.types)?);
                return cx.unchanged(pair(rows, QType::EdgeToScalar(ArrayClass::Dense))?);
            }
            let (_, rows) = cx.common_rows(&indices)?;
            let class = rows.array().map_or(ArrayClass::Dense, |t| t.class);
            cx.unchanged(pair(rows, QType::Edge(class))?)
        },
    )
    .lowered(|cx, args| {
        let Some(first) = args.iter().copied().find(|arg| cx.qtype(*arg).array().is_some()) else {
            let rows = of_values(cx, args)?;
            let edge = cx.make(edge::TO_SCALAR, &[rows])?;
            return Ok(Lowered::To(cx.make("core.make_tuple", &[rows, edge])?));
        };
        let shape = cx.make("core.shape_of", &[first])?;
        let mut arrays = Vec::new();
        for arg in alike(cx, args)? {
            arrays.push(match cx.qtype(arg).array() {
                Some(_) => arg,
                None => cx.make("core.const_with_shape", &[shape, arg])?,
            });
        }
        let rows = cx.make(INTERLEAVE, &arrays)?;
        let count = cx.make_literal(Literal::from(args.len() as i64))?;
        let sizes = cx.make("core.const_with_shape", &[shape, count])?;
        let edge = cx.make(edge::FROM_SIZES, &[sizes])?;
        Ok(Lowered::To(cx.make("core.make_tuple", &[rows, edge])?))
    })
}

fn pair(first: QType, second: QType) -> Result<QType, TypeError> {
    Ok(QType::Tuple(TupleType::new(vec![first, second])?))
}

/// Rows as those of a family of arrays.
fn in_family(name: &str, class: ArrayClass, meaning: &str) -> OperatorDef {
    OperatorDef::new(name, &["x"], meaning, move |cx| {
        let element = match &cx.types[0] {
            QType::Array(t) => t.element,
            QType::Tuple(tuple) if class == ArrayClass::Dense => common_scalar(cx, tuple.fields())?,
            other => other.scalar().ok_or_else(|| cx.expected("rows or values", 0))?,
        };
        cx.unchanged(QType::Array(ArrayType { class, element }))
    })
    .lowered(move |cx, args| {
        let rows = match cx.qtype(args[0]) {
            QType::Array(_) => args[0],
            QType::Tuple(tuple) => {
                let mut fields = Vec::new();
                for index in 0..tuple.fields().len() as i64 {
                    let index = cx.make_literal(Literal::from(index))?;
                    fields.push(cx.make("core.get_nth", &[args[0], index])?);
                }
                of_values(cx, &fields)?
            }
            _ => of_values(cx, args)?,
        };
        let machine = match (class, cx.qtype(rows)) {
            (wanted, QType::Array(t)) if t.class == wanted => return Ok(Lowered::To(rows)),
            (ArrayClass::Dense, _) => AS_DENSE_ARRAY,
            (ArrayClass::Array, _) => AS_ARRAY,
        };
        Ok(Lowered::To(cx.make(machine, &[rows])?))
    })
}

/// A shape whose size is the last argument.
fn sized(name: &str, params: &[&str], meaning: &str, machine: &'static str) -> OperatorDef {
    OperatorDef::new(name, params, meaning, |cx| {
        let size = cx.types.len() - 1;
        if !matches!(cx.types[size], QType::Scalar(t) if t.is_integer()) {
            return Err(cx.expected("a present integer", size));
        }
        match &cx.types[0] {
            QType::ArrayShape(_) => cx.unchanged(cx.types[0].clone()),
            _ if size == 0 => cx.unchanged(QType::ArrayShape(ArrayClass::Array)),
            _ => Err(cx.expected("the shape of an array", 0)),
        }
    })
    .lowered(move |cx, args| {
        let mut args = args.to_vec();
        let size = args.len() - 1;
        args[size] = cx.cast(args[size], &INT64)?;
        Ok(Lowered::To(cx.make(machine, &args)?))
    })
}
