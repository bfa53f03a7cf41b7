//! Presence, selection and assertions.
//!
//! A scalar is always present: `has` of it is `unit`, and its presence rules are decided here by type.
//! What is left for the machine has an optional operand or a mask.

use crate::expr::Literal;
use crate::registry::define::{Lowered, OperatorDef};
use crate::registry::infer::{InferContext, Resolution, TypeError};
use cembra_vm::value::qtype::{OPTIONAL_UNIT, TEXT, UNIT};
use cembra_vm::value::{QType, ScalarType, ScalarValue, Value};

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![
        has(),
        OperatorDef::new("core.has._optional", &["x"], "The presence byte of an optional as a mask.", |cx| {
            match cx.types[0].is_optional() {
                true => cx.unchanged(OPTIONAL_UNIT),
                false => Err(cx.expected("optionals", 0)),
            }
        }),
        presence_not(),
        presence_and(),
        presence_or(),
        select(),
        logical_if(),
        with_assertion(),
        quantifier("core.all", "Present if all masks are; of a single mask, the mask."),
        quantifier("core.any", "Present if one of the masks is; of a single mask, the mask."),
    ]
}

fn scalar_of(cx: &InferContext<'_>, index: usize) -> Result<ScalarType, TypeError> {
    cx.types[index].scalar().ok_or_else(|| cx.expected("scalars or optionals", index))
}

/// The argument must be a UNIT or a mask.
fn require_mask(cx: &InferContext<'_>, index: usize) -> Result<(), TypeError> {
    match cx.types[index].scalar() {
        Some(ScalarType::Unit) => Ok(()),
        _ => Err(cx.expected("units", index)),
    }
}

fn has() -> OperatorDef {
    OperatorDef::new(
        "core.has",
        &["x"],
        "Present if x is: `unit` for a scalar, a mask for an optional.",
        |cx| {
            scalar_of(cx, 0)?;
            cx.unchanged(if cx.types[0].is_optional() { OPTIONAL_UNIT } else { UNIT })
        },
    )
    .lowered(|cx, args| {
        Ok(Lowered::To(match cx.qtype(args[0]) {
            QType::Optional(ScalarType::Unit) => args[0],
            QType::Optional(_) => cx.make("core.has._optional", args)?,
            _ => cx.make_literal(Literal::Value(Value::Scalar(ScalarValue::Unit)))?,
        }))
    })
}

fn presence_not() -> OperatorDef {
    OperatorDef::new("core.presence_not", &["x"], "Present if x is missing.", |cx| {
        scalar_of(cx, 0)?;
        cx.unchanged(OPTIONAL_UNIT)
    })
    .lowered(|cx, args| {
        Ok(match cx.qtype(args[0]) {
            QType::Optional(ScalarType::Unit) => Lowered::Keep,
            QType::Optional(_) => {
                let mask = cx.make("core.has._optional", args)?;
                Lowered::To(cx.make("core.presence_not", &[mask])?)
            }
            _ => Lowered::To(cx.make_literal(Literal::Value(Value::presence(false)))?),
        })
    })
}

fn presence_and() -> OperatorDef {
    OperatorDef::new("core.presence_and", &["x", "y"], "x where the mask y is present, else missing.", |cx| {
        scalar_of(cx, 0)?;
        require_mask(cx, 1)?;
        let result = match cx.types[1].is_optional() {
            true => cx.types[0].to_optional(),
            false => Some(cx.types[0].clone()),
        };
        cx.unchanged(result.ok_or_else(|| cx.expected("scalars or optionals", 0))?)
    })
    .lowered(|cx, args| {
        Ok(match cx.qtype(args[1]).is_optional() {
            true => Lowered::Keep,
            false => Lowered::To(args[0]),
        })
    })
}

fn presence_or() -> OperatorDef {
    OperatorDef::new("core.presence_or", &["x", "y"], "x if it is present, else y.", |cx| {
        let scalars = (scalar_of(cx, 0)?, scalar_of(cx, 1)?);
        let common = cx.dialect.common(&QType::Scalar(scalars.0), &QType::Scalar(scalars.1));
        let scalar = common.and_then(|c| c.scalar());
        let scalar = scalar.ok_or_else(|| TypeError::NoCommonType { types: cx.types.to_vec() })?;
        let args: Vec<QType> = cx.types.iter().filter_map(|t| t.with_scalar(scalar)).collect();
        let result = if args[0].is_optional() { args[1].clone() } else { args[0].clone() };
        Ok(Resolution { args, result })
    })
    .lowered(|cx, args| {
        let (x, y) = (cx.qtype(args[0]), cx.qtype(args[1]));
        if x.is_optional() {
            return Ok(Lowered::Keep);
        }
        let scalar = |q: &QType| q.scalar().map(QType::Scalar);
        let common = scalar(&x).zip(scalar(&y)).and_then(|(x, y)| cx.dialect().common(&x, &y));
        Ok(Lowered::To(cx.cast(args[0], &common.unwrap_or(x))?))
    })
}

fn select() -> OperatorDef {
    OperatorDef::new(
        "core.where",
        &["condition", "true_branch", "false_branch"],
        "true_branch if the mask is present, else false_branch; the other branch is not evaluated.",
        |cx| {
            require_mask(cx, 0)?;
            let common = cx.common(&[1, 2])?;
            Ok(Resolution { args: vec![OPTIONAL_UNIT, common.clone(), common.clone()], result: common })
        },
    )
}

fn logical_if() -> OperatorDef {
    OperatorDef::new(
        "bool.logical_if",
        &["condition", "true_value", "false_value", "missing_value"],
        "One of three values by a condition that may be missing. All three are evaluated.",
        |cx| {
            if cx.types[0].scalar() != Some(ScalarType::Boolean) {
                return Err(cx.expected("booleans", 0));
            }
            let common = cx.common(&[1, 2, 3])?;
            let args = vec![cx.types[0].clone(), common.clone(), common.clone(), common.clone()];
            Ok(Resolution { args, result: common })
        },
    )
}

fn with_assertion() -> OperatorDef {
    OperatorDef::new(
        "core.with_assertion",
        &["value", "condition", "message"],
        "The value. Raises the message if the mask is missing.",
        |cx| {
            require_mask(cx, 1)?;
            if cx.types[2] != TEXT {
                return Err(cx.expected("a text", 2));
            }
            cx.unchanged(cx.types[0].clone())
        },
    )
    .lowered(|cx, args| {
        Ok(match cx.qtype(args[1]).is_optional() {
            true => Lowered::Keep,
            false => Lowered::To(args[0]),
        })
    })
}

fn quantifier(name: &str, meaning: &str) -> OperatorDef {
    OperatorDef::new(name, &["x"], meaning, |cx| {
        require_mask(cx, 0)?;
        Ok(Resolution { args: vec![OPTIONAL_UNIT], result: OPTIONAL_UNIT })
    })
    .lowered(|cx, args| Ok(Lowered::To(cx.cast(args[0], &OPTIONAL_UNIT)?)))
}
