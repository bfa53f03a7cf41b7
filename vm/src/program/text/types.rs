//! Types and typed slots as text: the form in which they print, read at a cursor.

use crate::layout::TypedSlot;
use crate::program::text::cursor::{Cursor, Read};
use crate::program::text::error::ProgramTextError;
use crate::value::QType;
use crate::value::parse::{QTypeParseError, parse_prefix};

/// Reads a type.
pub(super) fn read_type(line: &mut Cursor<'_>) -> Read<QType> {
    match parse_prefix(line.remaining()) {
        Ok((qtype, end)) => {
            line.pass(end);
            Ok(qtype)
        }
        Err(error) => {
            let mut start = *line;
            start.pass(error.at());
            Err(match error {
                QTypeParseError::Unknown { .. } => start.expected("a type"),
                QTypeParseError::Expected { expected, .. } => start.expected(expected),
                QTypeParseError::SequenceElement { .. } => start.expected("a plain scalar type"),
                QTypeParseError::Tuple { error, .. } => {
                    ProgramTextError::Tuple { at: start.position(), error }
                }
            })
        }
    }
}

/// Reads a type and an offset.
pub(super) fn read_slot(line: &mut Cursor<'_>) -> Read<TypedSlot> {
    let qtype = read_type(line)?;
    Ok(TypedSlot::new(line.offset()?, qtype))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::text::cursor::Lines;

    #[test]
    fn errors_say_what_and_where() {
        let error = |text: &str| read_type(&mut Lines::new(text).take()).unwrap_err().to_string();
        assert_eq!(error("tuple<FLOAT46>"), "line 1, column 7: expected a type, found 'FLOAT46'");
        assert_eq!(error("tuple<INT32"), "line 1, column 12: expected `,` or `>`, found the end of the line");
        assert_eq!(error("SEQUENCE[TEXT]"), "line 1, column 10: expected a plain scalar type, found 'TEXT'");
        assert_eq!(
            error("namedtuple<a=INT32,a=INT32>"),
            "line 1, column 1: duplicate field name `a` in a namedtuple"
        );
    }
}
