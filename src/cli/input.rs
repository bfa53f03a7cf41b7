//! Inputs on the command line: `x=1.5`, `n:INT64=3`, `s='text'`, `x:OPTIONAL_FLOAT32=NA`.

use crate::cli::report::{Phase, Report};
use crate::registry::registry::nearest;
use cembra_vm::program::text::parse_value;
use cembra_vm::value::parse::QTypeParseError;
use cembra_vm::value::{Category, QType, ScalarType, Value};
use std::sync::Arc;

/// Reads `NAME[:TYPE]=VALUE`.
///
/// # Errors
/// The text has another form, or the value does not fit the type.
pub fn parse_input(text: &str) -> Result<(Arc<str>, Value), Report> {
    let (name, value) = text.split_once('=').ok_or_else(|| wrong(text, "NAME=VALUE or NAME:TYPE=VALUE"))?;
    let (name, qtype) = match name.split_once(':') {
        Some((name, qtype)) => (name, Some(parse_type(qtype)?)),
        None => (name, None),
    };
    if name.is_empty() {
        return Err(wrong(text, "a name before the value"));
    }
    let value = match qtype {
        Some(qtype) => typed(name, value.trim(), &qtype)?,
        None => untyped(name, value.trim())?,
    };
    Ok((name.into(), value))
}

/// Reads `NAME=TYPE`.
///
/// # Errors
/// The text has another form, or there is no such type.
pub fn parse_leaf_type(text: &str) -> Result<(Arc<str>, QType), Report> {
    let (name, qtype) = text.split_once('=').ok_or_else(|| wrong(text, "NAME=TYPE"))?;
    Ok((name.into(), parse_type(qtype)?))
}

/// Reads the name of a type.
///
/// # Errors
/// There is no such type.
pub fn parse_type(text: &str) -> Result<QType, Report> {
    text.parse::<QType>().map_err(|error| {
        let names = ScalarType::ALL.iter().flat_map(|t| [QType::Scalar(*t), QType::Optional(*t)]);
        let near = match &error {
            QTypeParseError::Unknown { name, .. } => nearest(name, names.map(|q| q.to_string().into())),
            _ => Vec::new(),
        };
        let hint = crate::registry::infer::suggestion(&near);
        Report::new(Category::Type, Phase::Compile, format!("{error}{hint}"))
    })
}

fn wrong(text: &str, expected: &str) -> Report {
    Report::new(Category::Syntax, Phase::Compile, format!("input `{text}`: expected {expected}"))
}

fn typed(name: &str, text: &str, qtype: &QType) -> Result<Value, Report> {
    if text == "NA"
        && let QType::Optional(scalar) = qtype
    {
        return Ok(Value::Missing(*scalar));
    }
    let quoted = text.starts_with('\'') || text.starts_with("b'");
    match qtype.scalar() {
        Some(ScalarType::Text) if !quoted && text != "missing" => {
            return Ok(if qtype.is_optional() { Some(text).into() } else { text.into() });
        }
        _ => {}
    }
    parse_value(text, qtype).map_err(|error| {
        let message = format!("input `{name}`: `{text}` is not a value of {qtype}: {error}");
        Report::new(Category::Parse, Phase::Compile, message)
    })
}

/// A value whose form says its type.
fn untyped(name: &str, text: &str) -> Result<Value, Report> {
    let report = |what: &str| Report::new(Category::Parse, Phase::Compile, format!("input `{name}`: {what}"));
    match text {
        "true" => return Ok(true.into()),
        "false" => return Ok(false.into()),
        "present" => return Ok(Value::presence(true)),
        "nan" => return Ok(f64::NAN.into()),
        "inf" => return Ok(f64::INFINITY.into()),
        "-inf" => return Ok(f64::NEG_INFINITY.into()),
        "NA" | "missing" => {
            return Err(report(&format!("a missing value needs a type, such as {name}:OPTIONAL_FLOAT64=NA")));
        }
        _ => {}
    }
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote) {
            let inner = inner.strip_suffix(quote).ok_or_else(|| report("unterminated string"))?;
            let quoted =
                format!("'{}'", if quote == '"' { inner.replace('\'', "\\'") } else { inner.to_owned() });
            let value = parse_value(&quoted, &QType::Scalar(ScalarType::Text));
            return value.map_err(|error| report(&error.to_string()));
        }
    }
    let numeric = text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !numeric {
        return Err(report(&format!(
            "`{text}` is no number, true, false or 'text'; other types are written {name}:TYPE=VALUE"
        )));
    }
    if text.contains(['.', 'e', 'E']) {
        let value: f64 = text.parse().map_err(|_| report(&format!("malformed number `{text}`")))?;
        return match value.is_finite() {
            true => Ok(value.into()),
            false => Err(report(&format!("the number {text} does not fit FLOAT64"))),
        };
    }
    match text.parse::<i64>() {
        Ok(value) => Ok(i32::try_from(value).map_or(value.into(), Value::from)),
        Err(_) if text.trim_start_matches(['+', '-']).bytes().all(|b| b.is_ascii_digit()) => {
            Err(report(&format!("the number {text} does not fit INT64")))
        }
        Err(_) => Err(report(&format!("malformed number `{text}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_say_types() {
        let cases = [
            ("x=1.0", "float64{1}"),
            ("x=-1e3", "float64{-1000}"),
            ("x=7", "7"),
            ("x=-2147483649", "int64{-2147483649}"),
            ("x=true", "true"),
            ("x='it\\'s'", "'it\\'s'"),
            ("x=\"a=b\"", "'a=b'"),
            ("x:FLOAT32=2.5", "2.5"),
            ("x:OPTIONAL_INT64=NA", "optional_int64{NA}"),
            ("x:OPTIONAL_INT64=5", "optional_int64{5}"),
            ("x:TEXT=hello", "'hello'"),
            ("x:tuple<INT32,FLOAT64>=(1, 2.5)", "(1, float64{2.5})"),
            ("x:SEQUENCE[INT64]=[1, 2]", "sequence(int64{1}, int64{2}, value_qtype=INT64)"),
        ];
        for (text, repr) in cases {
            let value = parse_input(text).map(|(_, v)| v.to_string()).map_err(|r| r.message);
            assert_eq!(value.as_deref(), Ok(repr), "{text}");
        }
    }

    #[test]
    fn errors_say_what_to_write() {
        let error = |text: &str| parse_input(text).map_err(|r| r.message).unwrap_err();
        assert_eq!(error("x"), "input `x`: expected NAME=VALUE or NAME:TYPE=VALUE");
        assert_eq!(error("x=NA"), "input `x`: a missing value needs a type, such as x:OPTIONAL_FLOAT64=NA");
        assert_eq!(error("x=1e999"), "input `x`: the number 1e999 does not fit FLOAT64");
        assert_eq!(
            error("x=99999999999999999999"),
            "input `x`: the number 99999999999999999999 does not fit INT64"
        );
        assert_eq!(error("x:FLOAT46=1"), "unknown type `FLOAT46`; did you mean `FLOAT64`?");
        assert_eq!(
            error("x=abc"),
            "input `x`: `abc` is no number, true, false or 'text'; other types are written x:TYPE=VALUE"
        );
    }
}
