//! Strings whose expression form has defaults, keyword arguments or parts in any number.

use crate::expr::Literal;
use crate::registry::define::{Lowered, OperatorDef};
use crate::registry::derived::compare::as_family;
use crate::registry::infer::{InferContext, Resolution, TypeError};
use crate::registry::standard::from_row;
use cembra_vm::builtins::strings::regex::{self, Pattern};
use cembra_vm::value::{ArrayType, QType, ScalarType, ScalarValue, Value};

/// The definitions of this file.
pub fn definitions() -> Vec<OperatorDef> {
    let none = || Literal::from(None::<i64>);
    vec![
        strip("strings.strip", "s without white space, or without the characters, at both ends."),
        strip("strings.lstrip", "s without white space, or without the characters, at the start."),
        strip("strings.rstrip", "s without white space, or without the characters, at the end."),
        row(
            "strings.substr",
            &["s", "start", "end"],
            "The part of s from start up to end; negative from the end.",
        )
        .default("start", 0i64)
        .default("end", none()),
        row(
            "strings.find",
            &["s", "substr", "start", "end"],
            "Position of the first substr in s[start:end]; missing, even of an empty substr, if end lies before s.",
        )
        .default("start", 0i64)
        .default("end", none()),
        row(
            "strings.rfind",
            &["s", "substr", "start", "end"],
            "Position of the last substr in s[start:end]; missing, even of an empty substr, if end lies before s.",
        )
        .default("start", 0i64)
        .default("end", none()),
        row(
            "strings.replace",
            &["s", "old", "new", "max_subs"],
            "s with old replaced by new, max_subs times at most.",
        )
        .default("max_subs", none()),
        row(
            "strings.decode",
            &["x", "errors"],
            "The text that the bytes are in UTF-8; errors is strict, ignore or replace.",
        )
        .default("errors", "strict"),
        join(),
        join_with_separator(),
        printf(),
        format(),
        regex(regex::CONTAINS_REGEX, ScalarType::Unit, "Present if the regular expression (RE2) matches a part of the text."),
        regex(
            regex::EXTRACT_REGEX,
            ScalarType::Text,
            "What the one group of the regular expression (RE2) has in its first match, empty if it took no part; missing without a match.",
        ),
        regex(
            regex::REPLACE_ALL_REGEX,
            ScalarType::Text,
            "The text with all matches of the regular expression (RE2) replaced; in the replacement, \\1 to \\9 are its groups, \\0 is the match.",
        ),
    ]
}

/// An operator of the machine under parameters with defaults.
fn row(name: &'static str, params: &[&str], meaning: &str) -> OperatorDef {
    OperatorDef::new(name, params, meaning, move |cx| as_family(cx, name))
}

fn strip(name: &'static str, meaning: &str) -> OperatorDef {
    row(name, &["s", "chars?"], meaning)
}

/// TEXT or BYTES, of a string or of rows.
pub(super) fn string(qtype: &QType) -> Option<ScalarType> {
    let scalar = qtype.scalar().or(qtype.array().map(|t| t.element));
    scalar.filter(|scalar| matches!(scalar, ScalarType::Text | ScalarType::Bytes))
}

/// TEXT or BYTES, if all arguments are the same of both.
fn common_string(cx: &InferContext<'_>) -> Result<ScalarType, TypeError> {
    let strings = cx
        .types
        .iter()
        .enumerate()
        .map(|(index, qtype)| string(qtype).ok_or_else(|| cx.expected("texts or byte strings", index)));
    let strings: Vec<ScalarType> = strings.collect::<Result<_, _>>()?;
    let first = strings.first().copied().unwrap_or(ScalarType::Text);
    match strings.iter().all(|string| *string == first) {
        true => Ok(first),
        false => Err(TypeError::NoCommonType { types: cx.types.to_vec() }),
    }
}

/// Rows if a part has some, else a string that is optional if one of the parts is.
fn joined(cx: &InferContext<'_>, scalar: ScalarType, parts: usize) -> Result<Resolution, TypeError> {
    let mut classes = cx.types[parts..].iter().filter_map(QType::array).map(|t| t.class);
    let class = classes.next();
    if !classes.all(|other| Some(other) == class) {
        return Err(TypeError::NoCommonType { types: cx.types.to_vec() });
    }
    cx.unchanged(match class {
        Some(class) => QType::Array(ArrayType { class, element: scalar }),
        None if cx.types[parts..].iter().any(QType::is_optional) => QType::Optional(scalar),
        None => QType::Scalar(scalar),
    })
}

const JOIN: &str = "strings._join_with_separator";

fn join() -> OperatorDef {
    OperatorDef::new(
        "strings.join",
        &["arg0", "*args"],
        "The parts one after the other; missing if one is.",
        |cx| {
            let scalar = common_string(cx)?;
            joined(cx, scalar, 0)
        },
    )
    .lowered(|cx, args| {
        let empty = match string(&cx.qtype(args[0])) {
            Some(ScalarType::Bytes) => ScalarValue::Bytes([].into()),
            _ => ScalarValue::Text("".into()),
        };
        let mut parts = vec![cx.make_literal(Literal::Value(Value::Scalar(empty)))?];
        parts.extend_from_slice(args);
        Ok(Lowered::To(cx.make(JOIN, &parts)?))
    })
}

fn join_with_separator() -> OperatorDef {
    OperatorDef::new(
        "strings.join_with_separator",
        &["sep", "arg0", "*args"],
        "The parts with the separator between them; missing if one is.",
        |cx| {
            let scalar = common_string(cx)?;
            match cx.types[0] {
                QType::Scalar(_) => joined(cx, scalar, 1),
                _ => Err(cx.expected("a present text or byte string, one for all rows", 0)),
            }
        },
    )
    .lowered(|cx, args| Ok(Lowered::To(cx.make(JOIN, args)?)))
}

/// An operator that makes its overloads on demand.
fn on_demand(cx: &InferContext<'_>, name: &'static str) -> Result<Resolution, TypeError> {
    match cx.table.family(name) {
        Some(family) => from_row(family, cx),
        None => Err(TypeError::UnknownOperator { name: name.into(), near: Vec::new() }),
    }
}

fn printf() -> OperatorDef {
    OperatorDef::new(
        "strings.printf",
        &["fmt", "*args"],
        "The arguments in the places that fmt marks as C's printf does.",
        |cx| on_demand(cx, "strings.printf"),
    )
}

fn format() -> OperatorDef {
    OperatorDef::new(
        "strings.format",
        &["fmt", "arg_names=", "*kwargs"],
        "The keyword arguments in the places that fmt marks by {name}.",
        |cx| on_demand(cx, "strings.format"),
    )
}

/// An operator with a pattern in argument 1, which is one for all rows; one that is a literal is checked here.
fn regex(name: &'static str, result: ScalarType, meaning: &str) -> OperatorDef {
    let params: &[&str] = match name {
        regex::REPLACE_ALL_REGEX => &["text", "regex", "replacement"],
        _ => &["text", "regex"],
    };
    OperatorDef::new(name, params, meaning, move |cx| {
        let is_text = |index: &usize| string(&cx.types[*index]) == Some(ScalarType::Text);
        if let Some(index) = (0..cx.types.len()).find(|index| !is_text(index)) {
            return Err(cx.expected("texts", index));
        }
        if cx.types[1] != QType::Scalar(ScalarType::Text) {
            return Err(cx.expected("a present text, one for all rows", 1));
        }
        check_pattern(cx, name)?;
        let mut classes = cx.types.iter().filter_map(QType::array).map(|t| t.class);
        let class = classes.next();
        if !classes.all(|other| Some(other) == class) {
            return Err(TypeError::NoCommonType { types: cx.types.to_vec() });
        }
        cx.unchanged(match class {
            Some(class) => QType::Array(ArrayType { class, element: result }),
            None => QType::Optional(result),
        })
    })
    .reading_literals()
}

pub(super) fn check_pattern(cx: &InferContext<'_>, name: &str) -> Result<(), TypeError> {
    let literal = cx.literals[1];
    let Some(ScalarValue::Text(text)) = literal.and_then(Literal::value).and_then(Value::scalar) else {
        return Ok(());
    };
    let refuse = |message: String| TypeError::Pattern {
        message,
        param: cx.params[1].clone(),
        actual: literal.map_or_else(String::new, Literal::to_string),
    };
    match Pattern::new(text) {
        Err(error) => Err(refuse(format!("invalid regular expression: {error}"))),
        Ok(pattern) if name == regex::EXTRACT_REGEX && pattern.groups() != 1 => {
            Err(refuse(regex::one_group_message(text, pattern.groups())))
        }
        Ok(_) => Ok(()),
    }
}
