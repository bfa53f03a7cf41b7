//! Tuples and namedtuples: all but building one is decided by type.
//!
//! Taking a field needs no instruction, only a view; concatenation, slices, maps and reductions are
//! made of fields and a new tuple. The optimizer removes a tuple whose fields are only taken apart.

use crate::expr::{Literal, NodeId};
use crate::registry::define::{LowerContext, LowerError, Lowered, OperatorDef};
use crate::registry::infer::{InferContext, TypeError};
use cembra_vm::value::tuple::TupleType;
use cembra_vm::value::{QType, ScalarValue, Value};
use std::sync::Arc;

/// Name of `core.get_nth`.
pub const GET_NTH: &str = "core.get_nth";
/// Name of `namedtuple.make`.
pub const MAKE: &str = "namedtuple.make";

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![
        make_tuple(),
        get_nth(),
        nth("core.get_first", "The first field of a tuple.", 0),
        nth("core.get_second", "The second field of a tuple.", 1),
        concat_tuples(),
        slice_tuple(),
        map_tuple(),
        reduce_tuple(),
        zip(),
        apply(),
        apply_varargs(),
        namedtuple_make(),
        get_field(),
        union(),
    ]
}

fn tuple<'c>(cx: &'c InferContext<'_>, index: usize) -> Result<&'c Arc<TupleType>, TypeError> {
    cx.types[index].tuple().ok_or_else(|| cx.expected("a compound type", index))
}

fn tuple_of(fields: Vec<QType>) -> Result<QType, TypeError> {
    Ok(QType::Tuple(TupleType::new(fields)?))
}

/// The fields of a tuple node.
fn fields(cx: &mut dyn LowerContext, node: NodeId) -> Result<Vec<NodeId>, LowerError> {
    let count = cx.qtype(node).tuple().map_or(0, |t| t.fields().len());
    (0..count).map(|i| field(cx, node, i)).collect()
}

fn field(cx: &mut dyn LowerContext, node: NodeId, index: usize) -> Result<NodeId, LowerError> {
    let index = cx.make_literal(Literal::from(index as i64))?;
    cx.make(GET_NTH, &[node, index])
}

fn make_tuple() -> OperatorDef {
    OperatorDef::new("core.make_tuple", &["*fields"], "A tuple of the values.", |cx| {
        let result = tuple_of(cx.types.to_vec())?;
        cx.unchanged(result)
    })
}

fn get_nth() -> OperatorDef {
    OperatorDef::new(GET_NTH, &["value", "n"], "The field of a tuple at position n, from 0.", |cx| {
        let (tuple, index) = (tuple(cx, 0)?, cx.integer_literal(1)?);
        let found = usize::try_from(index).ok().and_then(|i| tuple.fields().get(i));
        let count = tuple.fields().len();
        cx.unchanged(found.cloned().ok_or(TypeError::Index { index, count })?)
    })
    .reading_literals()
}

fn nth(name: &str, meaning: &str, index: usize) -> OperatorDef {
    OperatorDef::new(name, &["x"], meaning, move |cx| {
        let tuple = tuple(cx, 0)?;
        let count = tuple.fields().len();
        let found = tuple.fields().get(index).cloned();
        cx.unchanged(found.ok_or(TypeError::Index { index: index as i64, count })?)
    })
    .lowered(move |cx, args| Ok(Lowered::To(field(cx, args[0], index)?)))
}

fn concat_tuples() -> OperatorDef {
    OperatorDef::new("core.concat_tuples", &["*args"], "One tuple of the fields of all.", |cx| {
        let mut all = Vec::new();
        for index in 0..cx.types.len() {
            all.extend(tuple(cx, index)?.fields().iter().cloned());
        }
        let result = tuple_of(all)?;
        cx.unchanged(result)
    })
    .lowered(|cx, args| {
        let mut all = Vec::new();
        for arg in args {
            all.extend(fields(cx, *arg)?);
        }
        Ok(Lowered::To(cx.make("core.make_tuple", &all)?))
    })
}

/// The fields that `offset` and `size` select; size −1 means to the end.
fn slice_range(count: usize, offset: i64, size: i64) -> Result<std::ops::Range<usize>, TypeError> {
    let message = || TypeError::Names {
        message: format!("out of bounds: offset={offset}, size={size}, tuple_size={count}"),
    };
    let start = usize::try_from(offset).ok().filter(|s| *s <= count).ok_or_else(message)?;
    let size = match size {
        -1 => count - start,
        _ => usize::try_from(size).map_err(|_| message())?,
    };
    match size <= count - start {
        true => Ok(start..start + size),
        false => Err(message()),
    }
}

fn slice_tuple() -> OperatorDef {
    OperatorDef::new(
        "core.slice_tuple",
        &["tuple", "offset", "size"],
        "The fields from offset on, size of them; -1 means all.",
        |cx| {
            let fields = tuple(cx, 0)?.fields();
            let range = slice_range(fields.len(), cx.integer_literal(1)?, cx.integer_literal(2)?)?;
            let result = tuple_of(fields[range].to_vec())?;
            cx.unchanged(result)
        },
    )
    .reading_literals()
    .lowered(|cx, args| {
        let integer =
            |literal: Option<Literal>| literal.and_then(|l| l.value()?.scalar()?.as_i64()).unwrap_or(0);
        let (offset, size) = (integer(cx.literal(args[1])), integer(cx.literal(args[2])));
        let all = fields(cx, args[0])?;
        let range = slice_range(all.len(), offset, size).map_err(LowerError::Type)?;
        Ok(Lowered::To(cx.make("core.make_tuple", &all[range])?))
    })
}

fn map_tuple() -> OperatorDef {
    OperatorDef::new(
        "core.map_tuple",
        &["op", "tuple", "*extra_args"],
        "The tuple of op applied to each field and the further arguments.",
        |cx| {
            let op = cx.operator_literal(0)?;
            let apply = |f: &QType| {
                let args: Vec<QType> = std::iter::once(f).chain(&cx.types[2..]).cloned().collect();
                cx.apply(op, &args)
            };
            let results = tuple(cx, 1)?.fields().iter().map(apply).collect::<Result<Vec<_>, _>>()?;
            let result = tuple_of(results)?;
            cx.unchanged(result)
        },
    )
    .reading_literals()
    .lowered(|cx, args| {
        let Some(Literal::Operator(op)) = cx.literal(args[0]) else { return Ok(Lowered::Keep) };
        let mut results = Vec::new();
        for field in fields(cx, args[1])? {
            let args: Vec<NodeId> = std::iter::once(field).chain(args[2..].iter().copied()).collect();
            results.push(cx.make(&op, &args)?);
        }
        Ok(Lowered::To(cx.make("core.make_tuple", &results)?))
    })
}

fn reduce_tuple() -> OperatorDef {
    OperatorDef::new(
        "core.reduce_tuple",
        &["op", "tuple"],
        "op(… op(op(f0, f1), f2) …) over the fields.",
        |cx| {
            let op = cx.operator_literal(0)?;
            let mut types = tuple(cx, 1)?.fields().iter().cloned();
            let empty = || TypeError::Names { message: "unable to reduce an empty tuple".to_owned() };
            let first = types.next().ok_or_else(empty)?;
            let result = types.try_fold(first, |result, next| cx.apply(op, &[result, next]))?;
            cx.unchanged(result)
        },
    )
    .reading_literals()
    .lowered(|cx, args| {
        let Some(Literal::Operator(op)) = cx.literal(args[0]) else { return Ok(Lowered::Keep) };
        let all = fields(cx, args[1])?;
        let Some((first, rest)) = all.split_first() else { return Ok(Lowered::Keep) };
        let mut result = *first;
        for next in rest {
            result = cx.make(&op, &[result, *next])?;
        }
        Ok(Lowered::To(result))
    })
}

fn apply() -> OperatorDef {
    OperatorDef::new("core.apply", &["op", "*args"], "op applied to the values.", |cx| {
        let result = cx.apply(cx.operator_literal(0)?, &cx.types[1..])?;
        cx.unchanged(result)
    })
    .reading_literals()
    .lowered(|cx, args| match cx.literal(args[0]) {
        Some(Literal::Operator(op)) => Ok(Lowered::To(cx.make(&op, &args[1..])?)),
        _ => Ok(Lowered::Keep),
    })
}

fn apply_varargs() -> OperatorDef {
    OperatorDef::new(
        "core.apply_varargs",
        &["op", "arg0", "*args"],
        "op applied to the values, and to the fields of a tuple that is the last of them.",
        |cx| {
            let op = cx.operator_literal(0)?;
            let last = cx.types.len() - 1;
            let mut types = cx.types[1..last].to_vec();
            types.extend(tuple(cx, last)?.fields().iter().cloned());
            let result = cx.apply(op, &types)?;
            cx.unchanged(result)
        },
    )
    .reading_literals()
    .lowered(|cx, args| match (cx.literal(args[0]), args) {
        (Some(Literal::Operator(op)), [_, values @ .., last]) => {
            let mut values = values.to_vec();
            values.extend(fields(cx, *last)?);
            Ok(Lowered::To(cx.make(&op, &values)?))
        }
        _ => Ok(Lowered::Keep),
    })
}

fn zip() -> OperatorDef {
    OperatorDef::new("core.zip", &["*args"], "The tuple of tuples of the n-th fields of all.", |cx| {
        let count = if cx.types.is_empty() { 0 } else { tuple(cx, 0)?.fields().len() };
        let mut rows = vec![Vec::new(); count];
        for index in 0..cx.types.len() {
            let fields = tuple(cx, index)?.fields();
            if fields.len() != count {
                return Err(TypeError::NoCommonType { types: cx.types.to_vec() });
            }
            rows.iter_mut().zip(fields).for_each(|(row, f)| row.push(f.clone()));
        }
        let rows = rows.into_iter().map(tuple_of).collect::<Result<Vec<_>, _>>()?;
        let result = tuple_of(rows)?;
        cx.unchanged(result)
    })
    .lowered(|cx, args| {
        let columns = args.iter().map(|a| fields(cx, *a)).collect::<Result<Vec<_>, _>>()?;
        let count = columns.first().map_or(0, Vec::len);
        let mut rows = Vec::new();
        for index in 0..count {
            let row: Vec<NodeId> = columns.iter().map(|c| c[index]).collect();
            rows.push(cx.make("core.make_tuple", &row)?);
        }
        Ok(Lowered::To(cx.make("core.make_tuple", &rows)?))
    })
}

fn names_error(message: String) -> TypeError {
    TypeError::Names { message }
}

/// The type of a namedtuple from its comma-separated names.
fn named(names: &str, fields: &[QType]) -> Result<QType, TypeError> {
    let names: Vec<Arc<str>> =
        names.split(',').map(str::trim).filter(|n| !n.is_empty()).map(Into::into).collect();
    Ok(QType::Tuple(TupleType::named(names, fields.to_vec())?))
}

fn namedtuple_make() -> OperatorDef {
    OperatorDef::new(MAKE, &["fields=", "*values"], "A tuple with field names.", |cx| {
        let result = named(cx.text_literal(0)?, &cx.types[1..])?;
        cx.unchanged(result)
    })
    .reading_literals()
    .lowered(|cx, args| {
        let types: Vec<QType> = args[1..].iter().map(|a| cx.qtype(*a)).collect();
        let literal = cx.literal(args[0]);
        let Some(ScalarValue::Text(names)) = literal.as_ref().and_then(|l| l.value()?.scalar()) else {
            return Ok(Lowered::Keep);
        };
        let qtype = named(names, &types).map_err(LowerError::Type)?;
        let fields = cx.make("core.make_tuple", &args[1..])?;
        Ok(Lowered::To(cx.reinterpret(fields, &qtype)?))
    })
}

fn position(tuple: &QType, name: &str) -> Result<usize, TypeError> {
    let found = tuple.tuple().and_then(|t| t.position(name));
    found.ok_or_else(|| names_error(format!("field_name='{name}' is not found in {tuple}")))
}

fn get_field() -> OperatorDef {
    OperatorDef::new(
        "namedtuple.get_field",
        &["namedtuple", "field_name"],
        "The field with this name.",
        |cx| {
            let fields = tuple(cx, 0)?.fields();
            let index = position(&cx.types[0], cx.text_literal(1)?)?;
            cx.unchanged(fields[index].clone())
        },
    )
    .reading_literals()
    .lowered(|cx, args| {
        let literal = cx.literal(args[1]);
        let Some(Value::Scalar(ScalarValue::Text(name))) = literal.as_ref().and_then(Literal::value) else {
            return Ok(Lowered::Keep);
        };
        let index = position(&cx.qtype(args[0]), name).map_err(LowerError::Type)?;
        Ok(Lowered::To(field(cx, args[0], index)?))
    })
}

/// Where each field of a union comes from: the second tuple where it has the name.
fn union_fields(first: &TupleType, second: &TupleType) -> Option<Vec<(Arc<str>, usize, usize)>> {
    let (first_names, second_names) = (first.names()?, second.names()?);
    let own = first_names.iter().enumerate().map(|(i, name)| match second.position(name) {
        Some(j) => (name.clone(), 1, j),
        None => (name.clone(), 0, i),
    });
    let new = second_names.iter().enumerate().filter(|(_, name)| first.position(name).is_none());
    Some(own.chain(new.map(|(j, name)| (name.clone(), 1, j))).collect())
}

fn union() -> OperatorDef {
    OperatorDef::new(
        "namedtuple.union",
        &["first", "second"],
        "The fields of both; where both have a name, the second's.",
        |cx| {
            let (first, second) = (tuple(cx, 0)?, tuple(cx, 1)?);
            let all = union_fields(first, second).ok_or_else(|| cx.expected("a namedtuple", 0))?;
            let field =
                |(_, which, i): &(Arc<str>, usize, usize)| [first, second][*which].fields()[*i].clone();
            let types: Vec<QType> = all.iter().map(field).collect();
            let names: Vec<Arc<str>> = all.into_iter().map(|f| f.0).collect();
            cx.unchanged(QType::Tuple(TupleType::named(names, types)?))
        },
    )
    .lowered(|cx, args| {
        let (first, second) = (cx.qtype(args[0]), cx.qtype(args[1]));
        let all = first.tuple().zip(second.tuple()).and_then(|(a, b)| union_fields(a, b));
        let Some(all) = all else { return Ok(Lowered::Keep) };
        let mut values = Vec::new();
        for (_, which, index) in &all {
            values.push(field(cx, args[*which], *index)?);
        }
        let types: Vec<QType> = values.iter().map(|v| cx.qtype(*v)).collect();
        let names: Vec<Arc<str>> = all.into_iter().map(|f| f.0).collect();
        let qtype = QType::Tuple(TupleType::named(names, types).map_err(TypeError::from)?);
        let tuple = cx.make("core.make_tuple", &values)?;
        Ok(Lowered::To(cx.reinterpret(tuple, &qtype)?))
    })
}
