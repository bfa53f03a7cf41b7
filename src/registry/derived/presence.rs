//! Presence, selection and assertions.
//!
//! A scalar is always present: `has` of it is `unit`, and its presence rules are decided here by type.
//! What is left for the machine has an optional operand or a mask.

use crate::expr::Literal;
use crate::registry::define::{Lowered, OperatorDef};
use crate::registry::dialect::Dialect;
use crate::registry::infer::{InferContext, Resolution, TypeError};
use crate::registry::overloads::no_missing_values;
use cembra_vm::builtins::core::HAS_ARRAY;
use cembra_vm::value::qtype::{OPTIONAL_UNIT, TEXT, UNIT};
use cembra_vm::value::{NdType, QType, ScalarType, ScalarValue, Value};

/// Name of `core.has._optional`.
pub const HAS_OPTIONAL: &str = "core.has._optional";

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![
        has(),
        OperatorDef::new(HAS_OPTIONAL, &["x"], "The presence byte of an optional as a mask.", |cx| match cx
            .types[0]
            .is_optional()
        {
            true => cx.unchanged(OPTIONAL_UNIT),
            false => Err(cx.expected("optionals", 0)),
        }),
        presence_not(),
        presence_and(),
        presence_or(),
        select(),
        logical_if(),
        with_assertion(),
        OperatorDef::new(
            "core.coalesce_units",
            &["*args"],
            "The first value that is no UNIT, by type.",
            |cx| match cx.types.iter().find(|t| **t != UNIT) {
                Some(qtype) => cx.unchanged(qtype.clone()),
                None => Err(TypeError::Names { message: "at least one argument must be no unit".to_owned() }),
            },
        )
        .lowered(|cx, args| match args.iter().find(|arg| cx.qtype(**arg) != UNIT) {
            Some(arg) => Ok(Lowered::To(*arg)),
            None => Ok(Lowered::Keep),
        }),
    ]
}

fn scalar_of(cx: &InferContext<'_>, index: usize) -> Result<ScalarType, TypeError> {
    match cx.types[index].nd() {
        Some(_) => Err(no_missing_values(cx)),
        None => cx.types[index].element().ok_or_else(|| cx.expected("scalars or optionals", index)),
    }
}

/// The mask that says where a value is present.
fn mask_of(qtype: &QType) -> QType {
    match qtype {
        QType::Array(t) => QType::Array(t.of(ScalarType::Unit)),
        _ => OPTIONAL_UNIT,
    }
}

/// The argument must be a UNIT or a mask.
fn require_mask(cx: &InferContext<'_>, index: usize) -> Result<(), TypeError> {
    match cx.types[index].element() {
        Some(ScalarType::Unit) => Ok(()),
        None if cx.types[index].nd().is_some() => Err(no_missing_values(cx)),
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
            cx.unchanged(match &cx.types[0] {
                QType::Scalar(_) => UNIT,
                other => mask_of(other),
            })
        },
    )
    .lowered(|cx, args| {
        Ok(Lowered::To(match cx.qtype(args[0]) {
            QType::Optional(ScalarType::Unit) => args[0],
            QType::Optional(_) => cx.make(HAS_OPTIONAL, args)?,
            QType::Array(t) if t.element == ScalarType::Unit => args[0],
            QType::Array(_) => cx.make(HAS_ARRAY, args)?,
            _ => cx.make_literal(Literal::Value(Value::Scalar(ScalarValue::Unit)))?,
        }))
    })
}

fn presence_not() -> OperatorDef {
    OperatorDef::new("core.presence_not", &["x"], "Present if x is missing.", |cx| {
        scalar_of(cx, 0)?;
        cx.unchanged(mask_of(&cx.types[0]))
    })
    .lowered(|cx, args| {
        Ok(match cx.qtype(args[0]) {
            QType::Optional(ScalarType::Unit) => Lowered::Keep,
            QType::Array(t) if t.element == ScalarType::Unit => Lowered::Keep,
            QType::Optional(_) | QType::Array(_) => {
                let mask = cx.make("core.has", args)?;
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
        let (_, rows) = cx.common_rows(&[0, 0])?;
        let result = match (&cx.types[0], &cx.types[1]) {
            (QType::Array(x), QType::Array(y)) if x.class != y.class => {
                return Err(TypeError::NoCommonType { types: cx.types.to_vec() });
            }
            (QType::Array(_), _) | (_, QType::Scalar(_)) => Some(rows),
            (x, QType::Array(mask)) => x.scalar().map(|x| QType::Array(mask.of(x))),
            (x, _) => x.to_optional(),
        };
        cx.unchanged(result.ok_or_else(|| cx.expected("scalars or optionals", 0))?)
    })
    .lowered(|cx, args| {
        Ok(match cx.qtype(args[1]) {
            QType::Scalar(_) => Lowered::To(args[0]),
            _ => Lowered::Keep,
        })
    })
}

fn presence_or() -> OperatorDef {
    OperatorDef::new("core.presence_or", &["x", "y"], "x if it is present, else y.", |cx| {
        let scalars = (scalar_of(cx, 0)?, scalar_of(cx, 1)?);
        if cx.types.iter().any(|t| t.array().is_some()) {
            let (args, result) = cx.common_rows(&[0, 1])?;
            return Ok(Resolution { args, result });
        }
        let scalar = cx.dialect.common_scalar(scalars.0, scalars.1);
        let scalar = scalar.ok_or_else(|| TypeError::NoCommonType { types: cx.types.to_vec() })?;
        let args: Vec<QType> = cx.types.iter().filter_map(|t| t.with_scalar(scalar)).collect();
        let result = if args[0].is_optional() { args[1].clone() } else { args[0].clone() };
        Ok(Resolution { args, result })
    })
    .lowered(|cx, args| {
        let (x, y) = (cx.qtype(args[0]), cx.qtype(args[1]));
        if x.is_optional() || x.array().is_some() || y.array().is_some() {
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
        "true_branch if the mask is present or the truth value true, else false_branch; what is not chosen is \
         not evaluated.",
        |cx| {
            if is_truth(cx.dialect, &cx.types[0]) {
                return choose_by_truth(cx);
            }
            require_mask(cx, 0)?;
            let (mut args, rows) = cx.common_rows(&[1, 2])?;
            let (condition, result) = match (&cx.types[0], &rows) {
                (QType::Array(mask), QType::Array(rows)) if mask.class != rows.class => {
                    return Err(TypeError::NoCommonType { types: cx.types.to_vec() });
                }
                (QType::Array(mask), other) => {
                    let element = other.element().ok_or_else(|| cx.expected("scalars or optionals", 1))?;
                    (cx.types[0].clone(), QType::Array(mask.of(element)))
                }
                _ => (OPTIONAL_UNIT, rows),
            };
            args.insert(0, condition);
            Ok(Resolution { args, result })
        },
    )
    .lowered(|cx, args| {
        let [condition, yes, no] = *args else { return Ok(Lowered::Keep) };
        let qtype = cx.qtype(condition);
        Ok(match (is_truth(cx.dialect(), &qtype), qtype.nd()) {
            (true, Some(_)) => Lowered::To(cx.make("nd.where", args)?),
            (true, None) => {
                let truth = cx.make_literal(Literal::Value(Value::from(true)))?;
                let mask = cx.make("core.equal", &[condition, truth])?;
                Lowered::To(cx.make("core.where", &[mask, yes, no])?)
            }
            (false, _) => Lowered::Keep,
        })
    })
}

/// True for truth values where the dialect takes them for a mask.
fn is_truth(dialect: Dialect, qtype: &QType) -> bool {
    let element = qtype.nd().map(NdType::element).or(qtype.element());
    dialect == Dialect::Cembra && element == Some(ScalarType::Boolean)
}

/// A choice by truth values: that by a mask which is present where they are true.
fn choose_by_truth(cx: &InferContext<'_>) -> Result<Resolution, TypeError> {
    let types = match &cx.types[0] {
        QType::NdArray(_) => return cx.unchanged((cx.infer)("nd.where", cx.types)?),
        condition => [mask_of(condition), cx.types[1].clone(), cx.types[2].clone()],
    };
    cx.unchanged((cx.infer)("core.where", &types)?)
}

fn logical_if() -> OperatorDef {
    OperatorDef::new(
        "bool.logical_if",
        &["condition", "true_value", "false_value", "missing_value"],
        "One of three values by a condition that may be missing. All three are evaluated.",
        |cx| {
            if cx.types[0].element() != Some(ScalarType::Boolean) {
                return Err(cx.expected("booleans", 0));
            }
            if let QType::Array(condition) = &cx.types[0] {
                let (mut args, rows) = cx.common_rows(&[1, 2, 3])?;
                let element = rows.element().ok_or_else(|| cx.expected("scalars or optionals", 1))?;
                args.insert(0, cx.types[0].clone());
                return Ok(Resolution { args, result: QType::Array(condition.of(element)) });
            }
            if cx.types[1..].iter().any(|t| t.array().is_some()) {
                let (mut args, result) = cx.common_rows(&[1, 2, 3])?;
                args.insert(0, cx.types[0].clone());
                return Ok(Resolution { args, result });
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
            match (cx.types[0].scalar(), cx.types[1].array()) {
                (Some(value), Some(mask)) => cx.unchanged(QType::Array(mask.of(value))),
                _ => cx.unchanged(cx.types[0].clone()),
            }
        },
    )
    .lowered(|cx, args| {
        // Only of a scalar it is known that it is present.
        Ok(match cx.qtype(args[1]) {
            QType::Scalar(_) => Lowered::To(args[0]),
            _ => Lowered::Keep,
        })
    })
}
