//! Type names as text: `OPTIONAL_FLOAT64`, `tuple<INT32,tuple<TEXT>>`, `SEQUENCE[INT64]`.
//!
//! The inverse of how a QType prints. Tuples that are open are kept on a list and not on the stack,
//! which may be small; they nest at most [`MAX_DEPTH`] levels.

use crate::value::array::{ArrayClass, ArrayType};
use crate::value::nd_type::{Axes, NdType};
use crate::value::qtype::QType;
use crate::value::scalar::ScalarType;
use crate::value::tuple::{MAX_DEPTH, MAX_LEAVES, TupleType, TupleTypeError};
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error;

/// Text that is not the name of a type.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QTypeParseError {
    /// No type has this name.
    #[error("unknown type `{name}`")]
    Unknown {
        /// The name found.
        name: String,
        /// Where it begins, in bytes.
        at: usize,
    },
    /// Something else was expected.
    #[error("expected {expected} at byte {at} of the type")]
    Expected {
        /// What was expected.
        expected: &'static str,
        /// Where, in bytes.
        at: usize,
    },
    /// Sequences hold plain scalars only.
    #[error("a sequence cannot hold {element}")]
    SequenceElement {
        /// The element type asked for.
        element: ScalarType,
        /// Where it begins, in bytes.
        at: usize,
    },
    /// The tuple type is not well formed or too large.
    #[error("{error}")]
    Tuple {
        /// What is wrong.
        error: TupleTypeError,
        /// Where the tuple begins, in bytes.
        at: usize,
    },
}

impl QTypeParseError {
    /// Where the error is, in bytes.
    pub fn at(&self) -> usize {
        match self {
            QTypeParseError::Unknown { at, .. }
            | QTypeParseError::Expected { at, .. }
            | QTypeParseError::SequenceElement { at, .. }
            | QTypeParseError::Tuple { at, .. } => *at,
        }
    }
}

impl FromStr for QType {
    type Err = QTypeParseError;

    fn from_str(text: &str) -> Result<QType, QTypeParseError> {
        let (qtype, end) = parse_prefix(text)?;
        match text[end..].trim().is_empty() {
            true => Ok(qtype),
            false => Err(QTypeParseError::Expected { expected: "the end", at: end }),
        }
    }
}

/// Reads the type at the start of a text; gives it and the byte where it ends.
///
/// # Errors
/// The text does not begin with a type.
pub fn parse_prefix(text: &str) -> Result<(QType, usize), QTypeParseError> {
    let mut reader = Reader { text, at: 0 };
    let mut open: Vec<Open> = Vec::new();
    loop {
        let Some(mut qtype) = reader.begin(&mut open)? else { continue };
        // The type that has ended is the field of a tuple, which may end with it.
        loop {
            let Some(mut tuple) = open.pop() else { return Ok((qtype, reader.at)) };
            tuple.push(qtype)?;
            if reader.eat(",") {
                tuple.read_name(&mut reader)?;
                open.push(tuple);
                break;
            }
            reader.expect(">", "`,` or `>`")?;
            qtype = tuple.finish()?;
        }
    }
}

/// A tuple type whose fields are being read.
struct Open {
    at: usize,
    names: Option<Vec<Arc<str>>>,
    fields: Vec<QType>,
}

impl Open {
    /// Reads the name of the next field, if fields have names.
    fn read_name(&mut self, reader: &mut Reader<'_>) -> Result<(), QTypeParseError> {
        let Some(names) = &mut self.names else { return Ok(()) };
        let name = reader.word();
        if name.is_empty() {
            return Err(reader.expected("a field name"));
        }
        names.push(name.into());
        reader.expect("=", "`=`")
    }

    fn push(&mut self, field: QType) -> Result<(), QTypeParseError> {
        self.fields.push(field);
        match self.fields.len() as u64 {
            actual if actual > u64::from(MAX_LEAVES) => Err(self.error(TupleTypeError::Leaves { actual })),
            _ => Ok(()),
        }
    }

    fn finish(self) -> Result<QType, QTypeParseError> {
        let at = self.at;
        let tuple = match self.names {
            Some(names) => TupleType::named(names, self.fields),
            None => TupleType::new(self.fields),
        };
        tuple.map(QType::Tuple).map_err(|error| QTypeParseError::Tuple { error, at })
    }

    fn error(&self, error: TupleTypeError) -> QTypeParseError {
        QTypeParseError::Tuple { error, at: self.at }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads a type without fields, or opens a tuple and gives nothing.
    fn begin(&mut self, open: &mut Vec<Open>) -> Result<Option<QType>, QTypeParseError> {
        self.skip_blanks();
        let at = self.at;
        let names = match self.word() {
            "tuple" => None,
            "namedtuple" => Some(Vec::new()),
            "SEQUENCE" => return self.sequence().map(Some),
            "" => return Err(self.expected("a type")),
            word => {
                let known = named(word).map(Some);
                return known.ok_or_else(|| QTypeParseError::Unknown { name: word.to_owned(), at });
            }
        };
        let mut tuple = Open { at, names, fields: Vec::new() };
        let depth = open.len() as u32 + 1;
        if depth > MAX_DEPTH {
            return Err(tuple.error(TupleTypeError::Depth { actual: depth }));
        }
        self.expect("<", "`<`")?;
        if self.eat(">") {
            return tuple.finish().map(Some);
        }
        tuple.read_name(self)?;
        open.push(tuple);
        Ok(None)
    }

    fn sequence(&mut self) -> Result<QType, QTypeParseError> {
        self.expect("[", "`[`")?;
        let at = self.at;
        let name = self.word();
        let element = ScalarType::from_name(name);
        let element = element.ok_or_else(|| QTypeParseError::Unknown { name: name.to_owned(), at })?;
        self.expect("]", "`]`")?;
        match element.is_plain() {
            true => Ok(QType::Sequence(element)),
            false => Err(QTypeParseError::SequenceElement { element, at }),
        }
    }

    fn word(&mut self) -> &'a str {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.text[self.at..].trim_start().starts_with(symbol);
        if found {
            self.skip_blanks();
            self.at += symbol.len();
        }
        found
    }

    fn expect(&mut self, symbol: &str, expected: &'static str) -> Result<(), QTypeParseError> {
        match self.eat(symbol) {
            true => Ok(()),
            false => Err(self.expected(expected)),
        }
    }

    fn expected(&self, expected: &'static str) -> QTypeParseError {
        QTypeParseError::Expected { expected, at: self.at }
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.text[self.at..].trim_start().len();
    }
}

fn named(name: &str) -> Option<QType> {
    match name {
        "DENSE_ARRAY_EDGE" => Some(QType::Edge(ArrayClass::Dense)),
        "ARRAY_EDGE" => Some(QType::Edge(ArrayClass::Array)),
        "DENSE_ARRAY_TO_SCALAR_EDGE" => Some(QType::EdgeToScalar(ArrayClass::Dense)),
        "ARRAY_TO_SCALAR_EDGE" => Some(QType::EdgeToScalar(ArrayClass::Array)),
        "DENSE_ARRAY_SHAPE" => Some(QType::ArrayShape(ArrayClass::Dense)),
        "ARRAY_SHAPE" => Some(QType::ArrayShape(ArrayClass::Array)),
        "SCALAR_SHAPE" => Some(QType::ScalarShape),
        "OPTIONAL_SCALAR_SHAPE" => Some(QType::OptionalScalarShape),
        _ if ArrayType::from_name(name).is_some() => ArrayType::from_name(name).map(QType::Array),
        _ if name.starts_with("NDARRAY_") => NdType::from_name(name).map(QType::NdArray),
        _ if name.starts_with("AXES_") => Axes::from_name(name).map(QType::Axes),
        _ => match name.strip_prefix("OPTIONAL_") {
            Some(scalar) => ScalarType::from_name(scalar).map(QType::Optional),
            None => ScalarType::from_name(name).map(QType::Scalar),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in [
            "UNIT",
            "OPTIONAL_WEAK_FLOAT",
            "SCALAR_SHAPE",
            "SEQUENCE[INT64]",
            "NDARRAY_FLOAT64_N1N",
            "AXES_02",
            "tuple<>",
            "tuple<INT32,tuple<OPTIONAL_TEXT,BYTES>>",
            "namedtuple<a=INT32,b=tuple<FLOAT64>>",
        ] {
            assert_eq!(name.parse::<QType>().map(|q| q.to_string()).as_deref(), Ok(name));
        }
        assert_eq!(
            " tuple < INT32 , TEXT > ".parse::<QType>().map(|q| q.to_string()).as_deref(),
            Ok("tuple<INT32,TEXT>")
        );
    }

    #[test]
    fn errors_say_what_and_where() {
        let error = |text: &str| text.parse::<QType>().unwrap_err().to_string();
        assert_eq!(error("FLOAT46"), "unknown type `FLOAT46`");
        assert_eq!(error("tuple<INT32"), "expected `,` or `>` at byte 11 of the type");
        assert_eq!(error("INT32 x"), "expected the end at byte 5 of the type");
        assert_eq!(error("SEQUENCE[TEXT]"), "a sequence cannot hold TEXT");
        assert_eq!(error("namedtuple<a=INT32,a=INT32>"), "duplicate field name `a` in a namedtuple");
        let deep = "limit tuple-depth: a tuple type nests 65 levels deep, at most 64 are allowed";
        assert_eq!(error(&"tuple<".repeat(1_000_000)), deep);
        let wide = "limit tuple-fields: a tuple type holds 65537 scalars, at most 65536 are allowed";
        assert_eq!(error(&format!("tuple<{}>", "tuple<>,".repeat(70_000))), wide);
    }
}
