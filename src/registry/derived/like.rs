//! Constants shaped like another value, and shapes.

use crate::expr::{Literal, NodeId};
use crate::registry::define::{LowerContext, LowerError, Lowered, OperatorDef};
use crate::registry::derived::cast::can_cast;
use crate::registry::infer::{InferContext, Resolution, TypeError};
use cembra_vm::value::{ArrayType, QType, ScalarType, ScalarValue, Value};

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![
        number_like("core.zeros_like", "Zero of the same type, present.", 0),
        number_like("core.ones_like", "One of the same type, present.", 1),
        empty_like(),
        const_like(),
        broadcast_like(),
        shape_of(),
        const_with_shape(),
        OperatorDef::new("core.identity", &["x"], "The value itself.", |cx| {
            cx.unchanged(cx.types[0].clone())
        })
        .lowered(|_, args| Ok(Lowered::To(args[0]))),
    ]
}

/// The number 0 or 1 as a scalar type.
fn number(scalar: ScalarType, value: i32) -> Option<ScalarValue> {
    Some(match scalar {
        ScalarType::Boolean => ScalarValue::Boolean(value != 0),
        ScalarType::Int32 => ScalarValue::Int32(value),
        ScalarType::Int64 => ScalarValue::Int64(i64::from(value)),
        ScalarType::Float32 => ScalarValue::Float32(value as f32),
        ScalarType::Float64 => ScalarValue::Float64(f64::from(value)),
        ScalarType::WeakFloat => ScalarValue::WeakFloat(f64::from(value)),
        _ => return None,
    })
}

fn number_like(name: &str, meaning: &str, value: i32) -> OperatorDef {
    OperatorDef::new(name, &["x"], meaning, move |cx| {
        match cx.types[0].element().and_then(|scalar| number(scalar, value)) {
            Some(_) => cx.unchanged(cx.types[0].clone()),
            None => Err(cx.expected("numerics or booleans", 0)),
        }
    })
    .lowered(move |cx, args| {
        let qtype = cx.qtype(args[0]);
        let Some(value) = qtype.element().and_then(|scalar| number(scalar, value)) else {
            return Ok(Lowered::Keep);
        };
        if qtype.array().is_some() {
            return in_rows_of(cx, args[0], Value::Scalar(value));
        }
        let literal = if qtype.is_optional() { Value::Present(value) } else { Value::Scalar(value) };
        Ok(Lowered::To(cx.make_literal(Literal::Value(literal))?))
    })
}

/// A literal in every row of an array like another.
fn in_rows_of(cx: &mut dyn LowerContext, array: NodeId, value: Value) -> Result<Lowered, LowerError> {
    let value = cx.make_literal(Literal::Value(value))?;
    let shape = cx.make("array._shape_of", &[array])?;
    Ok(Lowered::To(cx.make("array._const", &[shape, value])?))
}

fn empty_like() -> OperatorDef {
    OperatorDef::new("core.empty_like", &["target"], "A missing value of the same scalar type.", |cx| {
        let like = cx.types[0].to_optional().or_else(|| cx.types[0].array().map(QType::Array));
        cx.unchanged(like.ok_or_else(|| cx.expected("scalars or optionals", 0))?)
    })
    .lowered(|cx, args| match cx.qtype(args[0]).element() {
        Some(scalar) if cx.qtype(args[0]).array().is_some() => {
            in_rows_of(cx, args[0], Value::Missing(scalar))
        }
        Some(scalar) => Ok(Lowered::To(cx.make_literal(Literal::Value(Value::Missing(scalar)))?)),
        None => Ok(Lowered::Keep),
    })
}

/// The type of a value broadcast to a shape: optional if the target or the value is.
fn broadcast(target: &QType, value: &QType) -> Option<QType> {
    let class = match target {
        QType::Array(t) => Some(t.class),
        QType::ArrayShape(class) => Some(*class),
        _ => None,
    };
    if let Some(class) = class {
        return match value {
            QType::Array(t) => (t.class == class).then(|| value.clone()),
            _ => value.scalar().map(|element| QType::Array(ArrayType { class, element })),
        };
    }
    let optional = target.is_optional() || matches!(target, QType::OptionalScalarShape);
    let shaped =
        target.scalar().is_some() || matches!(target, QType::ScalarShape | QType::OptionalScalarShape);
    match (shaped, optional) {
        (true, true) => value.to_optional(),
        (true, false) => value.scalar().map(|_| value.clone()),
        _ => None,
    }
}

fn broadcast_rule(cx: &InferContext<'_>) -> Result<Resolution, TypeError> {
    let result = broadcast(&cx.types[0], &cx.types[1]);
    cx.unchanged(result.ok_or_else(|| TypeError::NoCommonType { types: cx.types.to_vec() })?)
}

fn const_like() -> OperatorDef {
    OperatorDef::new(
        "core.const_like",
        &["target", "const_value"],
        "The value cast to the type of the target.",
        |cx| {
            let scalars = cx.types[0].element().zip(cx.types[1].element());
            let scalars = scalars.filter(|(to, from)| can_cast(*from, *to));
            let result = scalars.and_then(|(to, _)| cx.types[1].with_scalar(to));
            let result = result.and_then(|value| broadcast(&cx.types[0], &value));
            cx.unchanged(result.ok_or_else(|| TypeError::NoCommonType { types: cx.types.to_vec() })?)
        },
    )
    .lowered(|cx, args| {
        let (target, value) = (cx.qtype(args[0]), cx.qtype(args[1]));
        let cast = target.element().and_then(|scalar| value.with_scalar(scalar)).unwrap_or(value);
        let value = cx.cast(args[1], &cast)?;
        in_shape_of(cx, args[0], value)
    })
}

fn broadcast_like() -> OperatorDef {
    OperatorDef::new(
        "core.broadcast_like",
        &["target", "value"],
        "The value, optional if the target is.",
        broadcast_rule,
    )
    .lowered(|cx, args| in_shape_of(cx, args[0], args[1]))
}

/// A value in the shape that a node is or has.
fn in_shape_of(cx: &mut dyn LowerContext, target: NodeId, value: NodeId) -> Result<Lowered, LowerError> {
    let (shaped, qtype) = (cx.qtype(target), cx.qtype(value));
    let shape = match shaped {
        QType::Array(_) => cx.make("array._shape_of", &[target])?,
        QType::ArrayShape(_) => target,
        _ => {
            let result = broadcast(&shaped, &qtype).unwrap_or(qtype);
            return Ok(Lowered::To(cx.cast(value, &result)?));
        }
    };
    match qtype.array() {
        // Rows are not copied, but their number must be right.
        Some(_) => Ok(Lowered::To(cx.make("array._of_shape", &[shape, value])?)),
        None => Ok(Lowered::To(cx.make("array._const", &[shape, value])?)),
    }
}

fn shape_of() -> OperatorDef {
    OperatorDef::new("core.shape_of", &["x"], "The shape of a scalar or an optional.", |cx| {
        match &cx.types[0] {
            QType::Scalar(_) => cx.unchanged(QType::ScalarShape),
            QType::Optional(_) => cx.unchanged(QType::OptionalScalarShape),
            QType::Array(t) => cx.unchanged(QType::ArrayShape(t.class)),
            _ => Err(cx.expected("scalars or optionals", 0)),
        }
    })
    .lowered(|cx, args| {
        if cx.qtype(args[0]).array().is_some() {
            return Ok(Lowered::To(cx.make("array._shape_of", args)?));
        }
        let shape =
            if cx.qtype(args[0]).is_optional() { Value::OptionalScalarShape } else { Value::ScalarShape };
        Ok(Lowered::To(cx.make_literal(Literal::Value(shape))?))
    })
}

fn const_with_shape() -> OperatorDef {
    OperatorDef::new("core.const_with_shape", &["shape", "value"], "The value in a shape.", |cx| {
        match &cx.types[0] {
            QType::ScalarShape | QType::OptionalScalarShape | QType::ArrayShape(_) => broadcast_rule(cx),
            _ => Err(cx.expected("shapes", 0)),
        }
    })
    .lowered(|cx, args| in_shape_of(cx, args[0], args[1]))
}
