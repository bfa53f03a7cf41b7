//! Sequences: ranges with defaults, indexing, and operators applied to elements.

use crate::expr::{Literal, NodeId};
use crate::registry::define::{Lowered, OperatorDef};
use crate::registry::infer::{InferContext, Resolution, TypeError};
use cembra_vm::builtins::seq;
use cembra_vm::value::qtype::INT64;
use cembra_vm::value::{ArrayClass, ArrayType, QType, ScalarType, Value};

/// Name of `seq.reduce`.
pub const REDUCE: &str = "seq.reduce";

/// What a sequence can hold.
const PLAIN: &str = "scalars that are no texts or bytes: elements of sequences are plain and present";

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![range(), at(), slice(), make(), repeat(), map(), reduce()]
}

fn integer_like(cx: &InferContext<'_>, index: usize) -> Result<QType, TypeError> {
    let integer = cx.types[index].scalar().is_some_and(ScalarType::is_integer);
    let wide = cx.types[index].with_scalar(ScalarType::Int64).filter(|_| integer);
    wide.ok_or_else(|| cx.expected("integers", index))
}

fn range() -> OperatorDef {
    OperatorDef::new(
        "seq.range",
        &["arg_1", "arg_2", "step"],
        "The INT64 numbers arg_1, arg_1 + step, … before arg_2; with one argument, from 0 before it.",
        |cx| {
            let args = vec![integer_like(cx, 0)?, integer_like(cx, 1)?, integer_like(cx, 2)?];
            match (args[0].is_optional(), args[2].is_optional()) {
                (true, _) => Err(cx.expected("present integers", 0)),
                (_, true) => Err(cx.expected("present integers", 2)),
                _ => Ok(Resolution { args, result: QType::Sequence(ScalarType::Int64) }),
            }
        },
    )
    .default("arg_2", None::<i64>)
    .default("step", 1i64)
    .lowered(|cx, args| {
        let first = cx.cast(args[0], &INT64)?;
        let step = cx.cast(args[2], &INT64)?;
        let (start, stop) = match (cx.qtype(args[1]), cx.literal(args[1])) {
            (QType::Scalar(_), _) => (first, cx.cast(args[1], &INT64)?),
            (_, Some(Literal::Value(Value::Missing(_)))) => (cx.make_literal(Literal::from(0i64))?, first),
            _ => {
                let given = cx.make("core.has", &[args[1]])?;
                let zero = cx.make_literal(Literal::from(0i64))?;
                let second = cx.cast(args[1], &QType::Optional(ScalarType::Int64))?;
                let start = cx.make("core.where", &[given, first, zero])?;
                (start, cx.make("core.presence_or", &[second, first])?)
            }
        };
        Ok(Lowered::To(cx.make("seq._range", &[start, stop, step])?))
    })
}

fn element(cx: &InferContext<'_>, index: usize) -> Result<QType, TypeError> {
    match &cx.types[index] {
        QType::Sequence(element) => Ok(QType::Scalar(*element)),
        _ => Err(cx.expected("a sequence", index)),
    }
}

fn at() -> OperatorDef {
    OperatorDef::new(
        "seq.at",
        &["seq", "i"],
        "The element at position i, from 0. Raises outside the sequence.",
        |cx| {
            let result = element(cx, 0)?;
            match integer_like(cx, 1)? {
                QType::Scalar(_) => Ok(Resolution { args: vec![cx.types[0].clone(), INT64], result }),
                _ => Err(cx.expected("present integers", 1)),
            }
        },
    )
}

fn slice() -> OperatorDef {
    OperatorDef::new(
        "seq.slice",
        &["seq", "start", "stop"],
        "The elements from `start` on, before `stop`; numbers below 0 count from the end.",
        |cx| {
            element(cx, 0)?;
            for index in [1, 2] {
                if integer_like(cx, index)?.is_optional() {
                    return Err(cx.expected("present integers", index));
                }
            }
            let sequence = cx.types[0].clone();
            Ok(Resolution { args: vec![sequence.clone(), INT64, INT64], result: sequence })
        },
    )
}

fn make() -> OperatorDef {
    OperatorDef::new("seq.make", &["*args"], "A sequence of values of one plain scalar type.", |cx| {
        let Some(first) = cx.types.first() else {
            let message =
                "seq.make takes at least one value; `sequence(INT64)` is an empty sequence of a type";
            return Err(TypeError::Names { message: message.to_owned() });
        };
        match first {
            QType::Scalar(element) if element.is_plain() => match cx.types.iter().all(|t| t == first) {
                true => cx.unchanged(QType::Sequence(*element)),
                false => Err(TypeError::NoCommonType { types: cx.types.to_vec() }),
            },
            _ => Err(cx.expected(PLAIN, 0)),
        }
    })
}

fn repeat() -> OperatorDef {
    OperatorDef::new(
        "seq.repeat",
        &["value", "n"],
        "A sequence with the value n times; without elements if n is below 0.",
        |cx| match (&cx.types[0], &cx.types[1]) {
            (_, n) if !matches!(n, QType::Scalar(t) if t.is_integer()) => {
                Err(cx.expected("an integer scalar", 1))
            }
            (QType::Scalar(element), _) if element.is_plain() => cx.unchanged(QType::Sequence(*element)),
            _ => Err(cx.expected(PLAIN, 0)),
        },
    )
    .lowered(|cx, args| {
        let n = cx.cast(args[1], &INT64)?;
        Ok(Lowered::To(cx.make(seq::REPEAT, &[args[0], n])?))
    })
}

/// The operator over the elements as rows.
fn map() -> OperatorDef {
    OperatorDef::new(
        "seq.map",
        &["op", "arg0", "*args"],
        "op applied to the elements at each position of sequences of one length.",
        |cx| {
            let op = cx.operator_literal(0)?;
            let elements: Vec<QType> =
                (1..cx.types.len()).map(|index| element(cx, index)).collect::<Result<_, _>>()?;
            let of_elements = cx.apply(op, &elements)?;
            let rows = |t: &QType| t.scalar().map(|element| QType::Array(dense(element)));
            let rows: Vec<QType> = elements.iter().filter_map(rows).collect();
            let of_rows = cx.apply(op, &rows)?;
            match (&of_elements, of_rows.array()) {
                (QType::Scalar(result), Some(rows)) if result.is_plain() && rows == dense(*result) => {
                    cx.unchanged(QType::Sequence(*result))
                }
                _ => Err(TypeError::Names {
                    message: format!(
                        "expected an operator that gives plain values that are present, got {op}, which gives {of_elements}"
                    ),
                }),
            }
        },
    )
    .reading_literals()
    .lowered(|cx, args| {
        let Some(Literal::Operator(op)) = cx.literal(args[0]) else { return Ok(Lowered::Keep) };
        let rows: Vec<NodeId> =
            args[1..].iter().map(|arg| cx.make(seq::ROWS, &[*arg])).collect::<Result<_, _>>()?;
        let mapped = cx.make(&op, &rows)?;
        Ok(Lowered::To(cx.make(seq::OF_ROWS, &[mapped])?))
    })
}

fn dense(element: ScalarType) -> ArrayType {
    ArrayType { class: ArrayClass::Dense, element }
}

/// `op(… op(op(initial, s0), s1) …)`; the compiler extension of the same name makes it a loop.
fn reduce() -> OperatorDef {
    OperatorDef::new(
        REDUCE,
        &["op", "seq", "initial"],
        "op(… op(op(initial, s0), s1) …) over the elements.",
        |cx| {
            let op = cx.operator_literal(0)?;
            let element = element(cx, 1)?;
            let initial = &cx.types[2];
            let result = cx.apply(op, &[initial.clone(), element.clone()])?;
            match result == *initial {
                true => cx.unchanged(result),
                false => Err(TypeError::Names {
                    message: format!(
                        "expected an operator that takes ({initial}, {element}) and returns {initial}, got {op}, which returns {result}"
                    ),
                }),
            }
        },
    )
    .reading_literals()
}
