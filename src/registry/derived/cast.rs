//! Casts that an expression asks for.
//!
//! Numbers and booleans cast to one another; a scalar casts to an optional, never back. The machine's
//! cast operators do the work; a cast to the type a value has already is nothing.

use crate::expr::Literal;
use crate::registry::define::{Lowered, OperatorDef};
use crate::registry::derived::aggregate::fraction;
use crate::registry::infer::{InferContext, Resolution, TypeError};
use cembra_vm::value::{QType, ScalarType, ScalarValue, Value};

/// Name of `core.cast`.
pub const CAST: &str = "core.cast";
/// Name of `derived_qtype.downcast`.
pub const DOWNCAST: &str = "derived_qtype.downcast";
/// Name of `derived_qtype.upcast`.
pub const UPCAST: &str = "derived_qtype.upcast";

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    vec![
        to_scalar(
            "core.to_int32",
            ScalarType::Int32,
            "The number as INT32, truncated. Raises if it does not fit.",
        ),
        to_scalar(
            "core.to_int64",
            ScalarType::Int64,
            "The number as INT64, truncated. Raises if it does not fit.",
        ),
        to_scalar("core.to_float32", ScalarType::Float32, "The number as FLOAT32, rounded to nearest."),
        to_scalar("core.to_float64", ScalarType::Float64, "The number as FLOAT64."),
        to_scalar("core.to_bool", ScalarType::Boolean, "False for zero, true for any other number."),
        OperatorDef::new(
            "math.float",
            &["x"],
            "The numbers as floats, which floats are already; integers as the dialect has fractions of them.",
            |cx| {
                let number = cx.types[0].element().filter(|t| t.is_numeric());
                let float = number.and_then(|t| cx.types[0].with_scalar(fraction(cx.dialect, t)));
                cx.unchanged(float.ok_or_else(|| cx.expected("numerics", 0))?)
            },
        )
        .lowered(|cx, args| {
            let given = cx.qtype(args[0]);
            let dialect = cx.dialect();
            let float = given.element().and_then(|t| given.with_scalar(fraction(dialect, t)));
            Ok(Lowered::To(cx.cast(args[0], &float.unwrap_or(given))?))
        }),
        cast(),
        cast_values(),
        to_optional(),
        get_optional_value(),
        upcast(),
        downcast(),
    ]
}

/// True if values of one scalar type can be cast to the other.
pub fn can_cast(from: ScalarType, to: ScalarType) -> bool {
    let convertible = |t: ScalarType| t.is_numeric() || t == ScalarType::Boolean;
    from == to || (convertible(from) && convertible(to))
}

fn to_scalar(name: &'static str, target: ScalarType, meaning: &str) -> OperatorDef {
    OperatorDef::new(name, &["x"], meaning, move |cx| {
        let castable = cx.types[0].scalar_inside().is_some_and(|from| can_cast(from, target));
        let result = cx.types[0].with_scalar(target).filter(|_| castable);
        cx.unchanged(result.ok_or_else(|| cx.expected("numerics or booleans", 0))?)
    })
    .always_lowered()
    .lowered(move |cx, args| {
        let from = cx.qtype(args[0]);
        // The machine's operator of this name does the cast itself.
        if cast_operator(from.scalar_inside(), target) == Some(name)
            && from.scalar_inside() != Some(ScalarType::WeakFloat)
        {
            return Ok(Lowered::Keep);
        }
        let to = from.with_scalar(target).unwrap_or(from);
        Ok(Lowered::To(cx.cast(args[0], &to)?))
    })
}

/// The machine operator that casts between two scalar types; `None` if the bytes stay the same.
pub fn cast_operator(from: Option<ScalarType>, to: ScalarType) -> Option<&'static str> {
    if from.map(ScalarType::storage) == Some(to.storage()) {
        return None;
    }
    Some(match to {
        ScalarType::Int32 => "core._to_int32",
        ScalarType::Int64 => "core._to_int64",
        ScalarType::Float32 => "core._to_float32",
        ScalarType::Boolean => "core.to_bool",
        _ => "core.to_float64",
    })
}

fn explicit(cx: &InferContext<'_>, to: &QType, implicit_only: bool) -> Result<Resolution, TypeError> {
    cx.check_values()?;
    let from = &cx.types[0];
    let shape = match (from, to) {
        (QType::Array(from), QType::Array(to)) => from.class == to.class,
        (QType::NdArray(from), QType::NdArray(to)) => from.has_axes_of(*to),
        (QType::Scalar(_), QType::Scalar(_) | QType::Optional(_)) => true,
        (QType::Optional(_), QType::Optional(_)) => true,
        _ => false,
    };
    let scalars = from.scalar_inside().zip(to.scalar_inside());
    let castable = from == to || (shape && scalars.is_some_and(|(from, to)| can_cast(from, to)));
    match (castable, implicit_only && !cx.dialect.casts(from, to)) {
        (true, false) => cx.unchanged(to.clone()),
        (true, true) => Err(TypeError::ImplicitCast { from: from.clone(), to: to.clone() }),
        _ => Err(TypeError::Cast { from: from.clone(), to: to.clone() }),
    }
}

fn cast() -> OperatorDef {
    OperatorDef::new(
        CAST,
        &["arg", "qtype", "implicit_only"],
        "The value as another type; with implicit_only, only if the cast would also happen unasked.",
        |cx| {
            let implicit_only = match cx.literals[2].and_then(Literal::value) {
                Some(Value::Scalar(ScalarValue::Boolean(only))) => *only,
                _ => return Err(cx.expected("a boolean literal", 2)),
            };
            explicit(cx, cx.type_literal(1)?, implicit_only)
        },
    )
    .default("implicit_only", false)
    .reading_literals()
    .lowered(|cx, args| match cx.literal(args[1]) {
        Some(Literal::Type(to)) => Ok(Lowered::To(cx.cast(args[0], &to)?)),
        _ => Ok(Lowered::Keep),
    })
}

fn cast_values() -> OperatorDef {
    OperatorDef::new(
        "core.cast_values",
        &["arg", "scalar_qtype"],
        "The value with its scalar cast to another type; an optional stays optional, an array an array.",
        |cx| match cx.type_literal(1)? {
            QType::Scalar(scalar) => {
                let to =
                    cx.types[0].with_scalar(*scalar).ok_or_else(|| cx.expected("scalars or optionals", 0))?;
                explicit(cx, &to, false)
            }
            other => Err(TypeError::ExpectedLiteral {
                expected: "a scalar type",
                param: cx.params[1].clone(),
                actual: other.to_string(),
            }),
        },
    )
    .reading_literals()
    .lowered(|cx, args| {
        let Some(Literal::Type(QType::Scalar(scalar))) = cx.literal(args[1]) else {
            return Ok(Lowered::Keep);
        };
        let from = cx.qtype(args[0]);
        let to = from.with_scalar(scalar).unwrap_or(from);
        Ok(Lowered::To(cx.cast(args[0], &to)?))
    })
}

fn to_optional() -> OperatorDef {
    OperatorDef::new(
        "core.to_optional",
        &["x"],
        "The value as an optional; an array, whose rows may be missing, as it is.",
        |cx| {
            let optional = cx.types[0].to_optional().or_else(|| cx.types[0].array().map(QType::Array));
            cx.unchanged(optional.ok_or_else(|| cx.expected("scalars, optionals or arrays", 0))?)
        },
    )
    .lowered(|cx, args| {
        let from = cx.qtype(args[0]);
        let to = from.to_optional().unwrap_or(from);
        Ok(Lowered::To(cx.cast(args[0], &to)?))
    })
}

fn get_optional_value() -> OperatorDef {
    OperatorDef::new(
        "core.get_optional_value",
        &["x"],
        "The value of an optional. Raises if it is missing.",
        |cx| {
            let scalar = cx.types[0].scalar().map(QType::Scalar);
            cx.unchanged(scalar.ok_or_else(|| cx.expected("scalars or optionals", 0))?)
        },
    )
    .lowered(|cx, args| {
        Ok(match cx.qtype(args[0]).is_optional() {
            true => Lowered::Keep,
            false => Lowered::To(args[0]),
        })
    })
}

/// From a type to the one it is stored as; the bytes stay, so it needs no instruction.
fn upcast() -> OperatorDef {
    OperatorDef::new(
        UPCAST,
        &["derived_qtype", "value"],
        "A value of this type as the type that its bytes are stored as.",
        |cx| {
            let from = cx.type_literal(0)?;
            cx.check_values()?;
            match cx.types[1] == *from {
                true => cx.unchanged(from.storage()),
                false => Err(cx.expected(from.to_string(), 1)),
            }
        },
    )
    .reading_literals()
}

/// To a type that is stored alike; the bytes stay, so it needs no instruction.
fn downcast() -> OperatorDef {
    OperatorDef::new(
        DOWNCAST,
        &["derived_qtype", "value"],
        "The same bytes under a type that is stored like theirs.",
        |cx| {
            let to = cx.type_literal(0)?;
            cx.check_values()?;
            match cx.types[1].storage() == to.storage() {
                true => cx.unchanged(to.clone()),
                false => Err(TypeError::Cast { from: cx.types[1].clone(), to: to.clone() }),
            }
        },
    )
    .reading_literals()
}
