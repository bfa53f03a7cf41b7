//! Literals: numbers, words and constructors such as `float64(1)` or `optional_int32{NA}`.

use crate::expr::Literal;
use crate::registry::Dialect;
use crate::syntax::error::SyntaxErrorKind;
use cembra_vm::value::number::is_in_range;
use cembra_vm::value::{QType, ScalarType, ScalarValue, Value};

/// A bare whole number; the sign belongs to it, so that the smallest integer can be written.
pub fn integer(dialect: Dialect, text: &str, negative: bool) -> Result<Literal, SyntaxErrorKind> {
    let value = signed(text, negative).ok_or_else(|| range(text, negative, ScalarType::Int64))?;
    Ok(Literal::Value(Value::Scalar(dialect.integer_literal(value))))
}

/// A bare number with point or exponent.
pub fn float(dialect: Dialect, text: &str, negative: bool) -> Result<Literal, SyntaxErrorKind> {
    let scalar = dialect.float_literal(0.0).scalar_type();
    let value = parse_float(text, negative, scalar).ok_or_else(|| range(text, negative, scalar))?;
    let literal = match scalar {
        // FLOAT32 digits are read as FLOAT32: through FLOAT64 they could round twice.
        ScalarType::Float32 => ScalarValue::Float32(value as f32),
        _ => dialect.float_literal(value),
    };
    Ok(Literal::Value(Value::Scalar(literal)))
}

fn signed(text: &str, negative: bool) -> Option<i64> {
    let magnitude: u64 = text.parse().ok()?;
    match negative {
        true => 0i64.checked_sub_unsigned(magnitude),
        false => i64::try_from(magnitude).ok(),
    }
}

/// The float with these digits, in the precision of the type; nothing if it overflows, or if digits
/// other than zero underflow to zero.
fn parse_float(text: &str, negative: bool, scalar: ScalarType) -> Option<f64> {
    let value = match scalar {
        ScalarType::Float32 => f64::from(text.parse::<f32>().ok()?),
        _ => text.parse::<f64>().ok()?,
    };
    is_in_range(text, value).then_some(if negative { -value } else { value })
}

fn range(text: &str, negative: bool, scalar: ScalarType) -> SyntaxErrorKind {
    let shown: String = text.chars().take(40).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    let text = format!("{}{shown}{more}", if negative { "-" } else { "" });
    SyntaxErrorKind::NumberRange { text, qtype: QType::Scalar(scalar) }
}

/// The literal that a bare word stands for, if it is one.
pub fn word(name: &str) -> Option<Literal> {
    let value = match name {
        "true" | "True" => Value::from(true),
        "false" | "False" => Value::from(false),
        "present" => Value::presence(true),
        "missing" => Value::presence(false),
        "unit" => Value::Scalar(ScalarValue::Unit),
        "scalar_shape" => Value::ScalarShape,
        "optional_scalar_shape" => Value::OptionalScalarShape,
        _ => return name.parse::<QType>().ok().filter(|_| is_type_word(name)).map(Literal::Type),
    };
    Some(Literal::Value(value))
}

/// Type names are in capitals, so that they cannot be mistaken for leaves.
fn is_type_word(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// A scalar constructor: its type, and whether it makes an optional.
pub fn scalar_constructor(name: &str) -> Option<(ScalarType, bool)> {
    let (base, optional) = match name.strip_prefix("optional_") {
        Some(base) => (base, true),
        None => (name, false),
    };
    let lower = base.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let scalar = ScalarType::from_name(&base.to_ascii_uppercase()).filter(|_| lower)?;
    Some((scalar, optional))
}

/// What stands between the brackets of a scalar constructor.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Nothing.
    None,
    /// `NA` or `None`.
    Missing,
    /// Digits with their sign.
    Number(String, bool),
    /// `nan`, `inf`, with the sign.
    Special(f64),
    /// `true` or `false`.
    Truth(bool),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// The literal of a scalar constructor.
pub fn construct(
    name: &str,
    scalar: ScalarType,
    optional: bool,
    argument: Argument,
) -> Result<Literal, SyntaxErrorKind> {
    if argument == Argument::Missing && optional {
        return Ok(Literal::Value(Value::Missing(scalar)));
    }
    let expected = |expected| SyntaxErrorKind::Constructor { constructor: name.to_owned(), expected };
    let value = match (scalar, argument) {
        (ScalarType::Unit, Argument::None | Argument::Truth(true)) => ScalarValue::Unit,
        (ScalarType::Boolean, Argument::Truth(value)) => ScalarValue::Boolean(value),
        (ScalarType::Int32, Argument::Number(text, negative)) => {
            let value = signed(&text, negative).and_then(|v| i32::try_from(v).ok());
            ScalarValue::Int32(value.ok_or_else(|| not_a(&text, negative, scalar))?)
        }
        (ScalarType::Int64, Argument::Number(text, negative)) => {
            ScalarValue::Int64(signed(&text, negative).ok_or_else(|| not_a(&text, negative, scalar))?)
        }
        (ScalarType::Float32, argument) => ScalarValue::Float32(number(argument, scalar, &expected)? as f32),
        (ScalarType::Float64, argument) => ScalarValue::Float64(number(argument, scalar, &expected)?),
        (ScalarType::WeakFloat, argument) => ScalarValue::WeakFloat(number(argument, scalar, &expected)?),
        (ScalarType::Text, Argument::Text(text)) => ScalarValue::Text(text.into()),
        (ScalarType::Bytes, Argument::Bytes(bytes)) => ScalarValue::Bytes(bytes.into()),
        (ScalarType::Unit, _) => return Err(expected("no argument")),
        (ScalarType::Boolean, _) => return Err(expected("true or false")),
        (ScalarType::Int32 | ScalarType::Int64, _) => return Err(expected("a whole number")),
        (ScalarType::Text, _) => return Err(expected("a text")),
        (ScalarType::Bytes, _) => return Err(expected("a byte string")),
        (_, _) => return Err(expected("elements of arrays have this type, no value")),
    };
    Ok(Literal::Value(if optional { Value::Present(value) } else { Value::Scalar(value) }))
}

fn not_a(text: &str, negative: bool, scalar: ScalarType) -> SyntaxErrorKind {
    match text.bytes().all(|b| b.is_ascii_digit()) {
        true => range(text, negative, scalar),
        false => SyntaxErrorKind::Constructor {
            constructor: scalar.name().to_ascii_lowercase(),
            expected: "a whole number",
        },
    }
}

fn number(
    argument: Argument,
    scalar: ScalarType,
    expected: &impl Fn(&'static str) -> SyntaxErrorKind,
) -> Result<f64, SyntaxErrorKind> {
    match argument {
        Argument::Number(text, negative) => {
            parse_float(&text, negative, scalar).ok_or_else(|| range(&text, negative, scalar))
        }
        Argument::Special(value) => Ok(value),
        _ => Err(expected("a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number_of(dialect: Dialect, text: &str) -> String {
        let literal = if text.contains(['.', 'e']) {
            float(dialect, text, false)
        } else {
            integer(dialect, text, false)
        };
        literal.map_or_else(|e| e.to_string(), |l| l.to_string())
    }

    #[test]
    fn bare_numbers_by_dialect() {
        assert_eq!(number_of(Dialect::Cembra, "2147483647"), "2147483647");
        assert_eq!(number_of(Dialect::Cembra, "2147483648"), "int64{2147483648}");
        assert_eq!(number_of(Dialect::Cembra, "2.5"), "weak_float{2.5}");
        assert_eq!(number_of(Dialect::Arolla, "2.5"), "2.5");
        assert_eq!(number_of(Dialect::Arolla, "1e39"), "the number 1e39 does not fit FLOAT32");
        assert_eq!(number_of(Dialect::Cembra, "1e999"), "the number 1e999 does not fit WEAK_FLOAT");
        assert_eq!(number_of(Dialect::Cembra, "1e-999"), "the number 1e-999 does not fit WEAK_FLOAT");
        assert_eq!(number_of(Dialect::Cembra, "0.0e-999"), "weak_float{0}");
        let huge = "9".repeat(1_000_000);
        assert_eq!(
            number_of(Dialect::Cembra, &huge),
            format!("the number {}… does not fit INT64", "9".repeat(40))
        );
    }

    #[test]
    fn float32_digits_round_once() {
        // Through FLOAT64 this would round to a tie first and then to even.
        let literal = construct(
            "float32",
            ScalarType::Float32,
            false,
            Argument::Number("1.00000017881393432617187499".into(), false),
        );
        assert_eq!(literal, Ok(Literal::from(1.000_000_1f32)));
    }
}
