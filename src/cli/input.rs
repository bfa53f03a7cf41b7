//! Inputs on the command line: `x=1.5`, `n:INT64=3`, `s='text'`, `x:OPTIONAL_FLOAT32=NA`.

use crate::cli::report::{Phase, Report};
use crate::registry::registry::nearest;
use cembra_vm::program::text::{ProgramTextError, parse_value};
use cembra_vm::value::number::is_in_range;
use cembra_vm::value::parse::QTypeParseError;
use cembra_vm::value::{ArrayClass, ArrayType, Category, QType, ScalarType, Value};
use std::sync::Arc;

/// Reads `NAME[:TYPE]=VALUE`.
///
/// # Errors
/// The text has another form, or the value does not fit the type.
pub fn parse_input(text: &str) -> Result<(Arc<str>, Value), Report> {
    let (name, value) = split_value(text)
        .or_else(|| text.split_once('='))
        .ok_or_else(|| wrong("input", text, "NAME=VALUE or NAME:TYPE=VALUE"))?;
    let (name, qtype) = match name.split_once(':') {
        Some((_, "")) => return Err(wrong("input", text, "a type between `:` and `=`")),
        Some((name, qtype)) => (name, Some(parse_type(name.trim(), qtype.trim())?)),
        None => (name, None),
    };
    let name = name.trim();
    if name.is_empty() {
        return Err(wrong("input", text, "a name before the value"));
    }
    let value = match qtype {
        Some(qtype) => typed(name, value, &qtype)?,
        None if value.trim().is_empty() => {
            return Err(wrong("input", text, "a value behind `=`; an empty text is ''"));
        }
        None => untyped(name, value.trim())?,
    };
    Ok((name.into(), value))
}

/// What to write so that an option gives something to an input.
pub fn gives(option: &str, name: &str, right: &str, what: &str) -> String {
    let argument = format!("{name}={right}");
    match name.chars().all(|c| c.is_alphanumeric() || "_.-".contains(c)) {
        true => format!("`{option} {argument}` gives the input {what}"),
        false => format!("`{option} '{}'` gives the input {what}", argument.replace('\'', "'\\''")),
    }
}

/// Splits at the first `=` that does not name a field in a type, as in `x:namedtuple<a=INT32>=(1)`.
fn split_value(text: &str) -> Option<(&str, &str)> {
    let mut open = 0;
    let at = text.find(|c| {
        match c {
            '<' => open += 1,
            '>' => open -= 1,
            _ => {}
        }
        c == '=' && open == 0
    })?;
    Some((&text[..at], &text[at + 1..]))
}

/// Reads `NAME=TYPE`.
///
/// # Errors
/// The text has another form, or there is no such type.
pub fn parse_leaf_type(text: &str) -> Result<(Arc<str>, QType), Report> {
    match text.split_once('=').map(|(name, qtype)| (name.trim(), qtype.trim())) {
        Some((name, qtype)) if !name.is_empty() && !qtype.is_empty() => {
            Ok((name.into(), parse_type(name, qtype)?))
        }
        _ => Err(wrong("type", text, "NAME=TYPE")),
    }
}

/// Reads the type of an input.
fn parse_type(name: &str, text: &str) -> Result<QType, Report> {
    text.parse::<QType>().map_err(|error| {
        let near = match &error {
            QTypeParseError::Unknown { name, .. } => similar_types(name),
            // `FLOAT64[]` of other languages.
            QTypeParseError::Expected { at, .. } if text[*at..].trim_start().starts_with('[') => {
                let rows = text[..*at].parse().ok().and_then(|element| rows_of(&element));
                rows.into_iter().collect()
            }
            _ => Vec::new(),
        };
        let hint = crate::registry::infer::suggestion(&near);
        Report::new(Category::Type, Phase::Compile, format!("input `{name}`: {error}{hint}"))
    })
}

/// The type of rows of a scalar.
fn rows_of(element: &QType) -> Option<Arc<str>> {
    let QType::Scalar(element) = *element else { return None };
    Some(QType::Array(ArrayType { class: ArrayClass::Dense, element }).to_string().into())
}

/// Types whose names look like a name, or begin with it.
fn similar_types(name: &str) -> Vec<Arc<str>> {
    let names = || {
        let types = ScalarType::ALL.iter().flat_map(|t| [QType::Scalar(*t), QType::Optional(*t)]);
        types.map(|q| Arc::<str>::from(q.to_string()))
    };
    let name = name.to_ascii_uppercase();
    match &*name {
        "ARRAY" | "DENSE_ARRAY" => {
            return vec![format!("{name}_FLOAT64").into(), format!("{name}_TEXT").into()];
        }
        nd if nd.starts_with("NDARRAY") => {
            return vec!["NDARRAY_FLOAT64_N".into(), "NDARRAY_FLOAT64_NN".into()];
        }
        _ => {}
    }
    match nearest(&name, names()) {
        near if near.is_empty() && name.len() > 2 => {
            names().filter(|n| n.starts_with(&name)).take(3).collect()
        }
        near => near,
    }
}

fn wrong(what: &str, text: &str, expected: &str) -> Report {
    Report::new(Category::Syntax, Phase::Compile, format!("{what} `{text}`: expected {expected}"))
}

/// A value of a known type. White space around it does not count, but in a text without quotes.
fn typed(name: &str, given: &str, qtype: &QType) -> Result<Value, Report> {
    let text = given.trim();
    let report = |what: &str| Report::new(Category::Parse, Phase::Compile, format!("input `{name}`: {what}"));
    match (qtype, text) {
        (QType::Optional(scalar), "NA" | "missing") => return Ok(Value::Missing(*scalar)),
        (QType::Scalar(scalar), word) if MISSING_ELSEWHERE.contains(&word) && *scalar != ScalarType::Text => {
            return Err(report(&format!(
                "a missing value needs an optional type, such as {name}:OPTIONAL_{scalar}=NA"
            )));
        }
        (QType::Scalar(ScalarType::Boolean), "True" | "False") => return Ok((text == "True").into()),
        (QType::Optional(ScalarType::Boolean), "True" | "False") => return Ok(Some(text == "True").into()),
        (QType::Optional(ScalarType::Unit), "present") => return Ok(Value::presence(true)),
        _ => {}
    }
    if let Some(number) = number_that_does_not_fit(text, qtype) {
        return Err(report(&format!("the number {number} does not fit {qtype}")));
    }
    let text = match qtype.scalar() {
        Some(ScalarType::Text) => match quoted(text).transpose().map_err(report)? {
            Some(quoted) => quoted,
            None => return Ok(if qtype.is_optional() { Some(given).into() } else { given.into() }),
        },
        _ => text.to_owned(),
    };
    parse_value(&text, qtype).map_err(|error| {
        let hint = missing_hint(&error, qtype);
        report(&format!("`{text}` is not a value of {qtype}: {}{hint}", what(&error)))
    })
}

/// Words for a missing value, here and in other languages.
const MISSING_ELSEWHERE: [&str; 7] = ["missing", "NA", "na", "null", "NULL", "None", "nil"];

/// How a missing value of a type is written, if a word for one is what a value is not; else nothing.
fn missing_hint(error: &ProgramTextError, qtype: &QType) -> &'static str {
    let ProgramTextError::Expected { found, .. } = error else { return "" };
    if !MISSING_ELSEWHERE.contains(&found.trim_matches('\'')) {
        return "";
    }
    match qtype {
        QType::Optional(_) => "; a missing value is written NA",
        QType::NdArray(_) => "; no element of an NDARRAY is missing, those of a DENSE_ARRAY may be",
        _ => "; a missing value is written missing",
    }
}

/// What is wrong with a value of one line; its line number says nothing.
fn what(error: &ProgramTextError) -> String {
    match error {
        ProgramTextError::Expected { at, expected, found } => {
            format!("expected {expected} at column {}, found {found}", at.column)
        }
        other => other.to_string(),
    }
}

/// Digits that are out of the range of a number type, or vanish in it.
fn number_that_does_not_fit<'t>(text: &'t str, qtype: &QType) -> Option<&'t str> {
    let digits = text.trim_start_matches(['+', '-']);
    let fits = match qtype.scalar()? {
        ScalarType::Int32 => digits.parse::<u128>().ok()? <= 1 << 31 && text.parse::<i32>().is_ok(),
        ScalarType::Int64 => digits.parse::<u128>().ok()? <= 1 << 63 && text.parse::<i64>().is_ok(),
        ScalarType::Float32 => is_in_range(digits, f64::from(digits.parse::<f32>().ok()?)),
        ScalarType::Float64 | ScalarType::WeakFloat => is_in_range(digits, digits.parse::<f64>().ok()?),
        _ => true,
    };
    (!fits).then_some(text)
}

/// A text in either kind of quotes, in the single quotes of a stored program; nothing without quotes.
fn quoted(text: &str) -> Option<Result<String, &'static str>> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let Some(inner) = text[1..].strip_suffix(quote) else { return Some(Err("unterminated string")) };
    let inner = inner.replace('\n', "\\n").replace('\r', "\\r");
    Some(Ok(format!("'{}'", if quote == '"' { inner.replace('\'', "\\'") } else { inner })))
}

/// A value whose form says its type.
fn untyped(name: &str, text: &str) -> Result<Value, Report> {
    let report = |what: &str| Report::new(Category::Parse, Phase::Compile, format!("input `{name}`: {what}"));
    match text {
        "true" | "True" => return Ok(true.into()),
        "false" | "False" => return Ok(false.into()),
        "present" => return Ok(Value::presence(true)),
        "nan" => return Ok(f64::NAN.into()),
        "inf" => return Ok(f64::INFINITY.into()),
        "-inf" => return Ok(f64::NEG_INFINITY.into()),
        word if MISSING_ELSEWHERE.contains(&word) => {
            return Err(report(&format!("a missing value needs a type, such as {name}:OPTIONAL_FLOAT64=NA")));
        }
        _ => {}
    }
    if let Some(quoted) = quoted(text).transpose().map_err(report)? {
        let value = parse_value(&quoted, &QType::Scalar(ScalarType::Text));
        return value.map_err(|error| report(&format!("malformed string: {}", what(&error))));
    }
    if text.starts_with('[') {
        let rows = format!("{name}:DENSE_ARRAY_FLOAT64=[1, 2, 3]");
        let axes = format!("{name}:NDARRAY_FLOAT64_N=[3] [1, 2, 3]");
        return Err(report(&format!("an array needs a type: rows are written {rows}, axes {axes}")));
    }
    let numeric = text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !numeric {
        return Err(report(&format!(
            "`{text}` is no number, true, false or 'text'; other types are written {name}:TYPE=VALUE"
        )));
    }
    if text.contains(['.', 'e', 'E']) {
        let value: f64 = text.parse().map_err(|_| report(&format!("malformed number `{text}`")))?;
        return match is_in_range(text, value) {
            true => Ok(value.into()),
            false => Err(report(&format!("the number {text} does not fit FLOAT64"))),
        };
    }
    match text.parse::<i64>() {
        Ok(value) => Ok(i32::try_from(value).map_or(value.into(), Value::from)),
        Err(_) if text.strip_prefix(['+', '-']).unwrap_or(text).bytes().all(|b| b.is_ascii_digit()) => {
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
            ("x:namedtuple<a=INT32>=(1)", "namedtuple<a=INT32>{(1)}"),
            ("x:tuple<INT32,FLOAT64>=(1, 2.5)", "(1, float64{2.5})"),
            ("x:SEQUENCE[INT64]=[1, 2]", "sequence(int64{1}, int64{2}, value_qtype=INT64)"),
        ];
        for (text, repr) in cases {
            let value = parse_input(text).map(|(_, v)| v.to_string()).map_err(|r| r.message);
            assert_eq!(value.as_deref(), Ok(repr), "{text}");
        }
    }

    #[test]
    fn words_for_missing_values_tell_how_to_write_one() {
        let error = |text: &str| parse_input(text).map_err(|r| r.message).unwrap_err();
        for word in ["NA", "null", "None"] {
            let rows = format!("x:DENSE_ARRAY_FLOAT64=[1, {word}]");
            assert!(error(&rows).ends_with("; a missing value is written missing"), "{}", error(&rows));
            let axes = format!("x:NDARRAY_FLOAT64_N=[2] [1, {word}]");
            assert!(error(&axes).contains("no element of an NDARRAY is missing"), "{}", error(&axes));
            let scalar = format!("x:FLOAT64={word}");
            assert!(error(&scalar).ends_with("such as x:OPTIONAL_FLOAT64=NA"), "{}", error(&scalar));
            assert!(error(&format!("x={word}")).ends_with("such as x:OPTIONAL_FLOAT64=NA"));
        }
        assert!(error("x:OPTIONAL_INT32=null").ends_with("; a missing value is written NA"));
        assert!(!error("x:DENSE_ARRAY_FLOAT64=[1, two]").contains("missing"));
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
        assert_eq!(error("x:FLOAT46=1"), "input `x`: unknown type `FLOAT46`; did you mean `FLOAT64`?");
        assert_eq!(
            error("x=abc"),
            "input `x`: `abc` is no number, true, false or 'text'; other types are written x:TYPE=VALUE"
        );
    }
}
