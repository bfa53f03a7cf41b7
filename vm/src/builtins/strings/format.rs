//! `strings.format`: text by a format with names, `{x}` or `{x:style}`.
//!
//! ```text
//! fmt        "{a}: {b:.2f} {{kg}}"
//! arg_names  "a,b"                     as the compiler makes it from keyword arguments
//! values     'Anna', 61.5              one for each name, in this order
//! result     "Anna: 61.50 {kg}"
//! ```
//!
//! `{x}` and `{x:v}` print any value: FLOAT32 with the digits that identify it and a point (`1.`),
//! FLOAT64 with six digits (`%g`). A style is what printf takes between `%` and the letter; the letter
//! may be left out and is then `f` for floats and `d` for integers. Other types take no style.
//!
//! The whole format is checked before anything is looked up: braces, then names, then values. A name
//! that is none is quoted in the error, where the original quotes what follows it.

use crate::builtins::strings::argument::{FormatArgument, append, formatted_type, make_room, write_result};
use crate::builtins::strings::digits::{Style, write_float};
use crate::builtins::strings::printf::write_styled;
use crate::builtins::strings::units::check_length;
use crate::operator::{Family, KernelCall};
use crate::value::budget::Account;
use crate::value::qtype::TEXT;
use crate::value::repr::write_repr;
use crate::value::{Fault, Value};
use std::io::Write;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            "strings.format",
            &["fmt", "arg_names", "*kwargs"],
            "The format, a TEXT or BYTES as in Python, with a value for each name in braces; arg_names are \
             the names, with commas between them. Raises if they do not fit.",
        )
        .cost_of(60)
        .raises()
        .on_demand(|family, types| {
            let [format, names, values @ ..] = types else { return None };
            let result = formatted_type(format, values).filter(|_| *names == TEXT)?;
            Some(family.make_general(types, result, format_kernel))
        }),
    ]
}

fn format_kernel(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    write_result(call, |call, out| {
        let FormatArgument::Bytes(format) = FormatArgument::read(call, 0) else { return Ok(()) };
        let names = call.text(1);
        let mut few = [("", 0); FEW_NAMES];
        let mut many;
        let room = match each_name(names).count() {
            count @ ..=FEW_NAMES => &mut few[..count],
            count => {
                many = call.meter().vec(count)?;
                (0..count).for_each(|_| many.push(("", 0)));
                &mut many[..]
            }
        };
        let positions = positions(names, call.len() - 2, room)?;
        check_format(format)?;
        for piece in Pieces::of(format) {
            call.meter().poll()?;
            match piece? {
                Piece::Plain(bytes) => append(out, bytes, call.meter())?,
                Piece::Field { name, style } => {
                    let found = positions.binary_search_by_key(&name, |(other, _)| other.as_bytes());
                    let (_, position) = positions[found.map_err(|_| unknown(name))?];
                    write_value(out, call, position + 2, style)?;
                }
            }
            check_length(out.len())?;
        }
        Ok(())
    })
}

/// Names that stand in the frame of the call.
const FEW_NAMES: usize = 16;

fn each_name(names: &str) -> impl Iterator<Item = &str> {
    names.split(',').filter(|_| !names.is_empty())
}

/// The names in order, each with its position, if they are different from each other and as many as the values; there is room for
/// as many as there are.
fn positions<'n, 'r>(
    names: &'n str,
    values: usize,
    positions: &'r mut [(&'n str, usize)],
) -> Result<&'r [(&'n str, usize)], Fault> {
    each_name(names).zip(0..).zip(&mut *positions).for_each(|(named, place)| *place = named);
    positions.sort_unstable();
    if positions.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(refuse(format!("arg names specification '{names}' contains duplicate names")));
    }
    match positions.len() == values {
        true => Ok(positions),
        false => Err(refuse(format!(
            "arg names specification doesn't match number of arguments: {names} (expected #{values})"
        ))),
    }
}

/// Braces match and all names are identifiers.
fn check_format(format: &[u8]) -> Result<(), Fault> {
    for piece in Pieces::of(format) {
        piece?;
    }
    let mut names = Pieces::of(format).filter_map(|piece| match piece {
        Ok(Piece::Field { name, .. }) => Some(name),
        _ => None,
    });
    match names.find(|name| !is_identifier(name)) {
        None => Ok(()),
        Some(name) => Err(refuse(format!(
            "incorrect arg '{}' in format specification '{}'",
            String::from_utf8_lossy(name),
            String::from_utf8_lossy(format)
        ))),
    }
}

fn is_identifier(name: &[u8]) -> bool {
    let begins = name.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    begins && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

fn unknown(name: &[u8]) -> Fault {
    refuse(format!("argument name '{}' is not found", String::from_utf8_lossy(name)))
}

fn refuse(message: String) -> Fault {
    Fault::Format { message }
}

fn write_value(out: &mut Vec<u8>, call: &KernelCall<'_>, index: usize, style: &[u8]) -> Result<(), Fault> {
    let value = FormatArgument::read(call, index);
    if style.is_empty() || style == b"v" {
        return write_plain(out, value, call.meter());
    }
    let letter = match value {
        FormatArgument::Boolean(_) | FormatArgument::Bytes(_) => return Err(unsupported(call, index, style)),
        _ if style.last().is_some_and(u8::is_ascii_alphabetic) => None,
        FormatArgument::Float32(_) | FormatArgument::Float64(_) => Some(b'f'),
        FormatArgument::Int32(_) | FormatArgument::Int64(_) => Some(b'd'),
    };
    let written = write_styled(out, style, letter, value, call.meter());
    written.map_err(|refusal| refusal.into_fault(|| unfit(call, index, style)))
}

#[cold]
fn unsupported(call: &KernelCall<'_>, index: usize, style: &[u8]) -> Fault {
    let style = String::from_utf8_lossy(style);
    refuse(format!("unsupported format {style} for type: {}", scalar_name(call, index)))
}

#[cold]
fn unfit(call: &KernelCall<'_>, index: usize, style: &[u8]) -> Fault {
    let style = String::from_utf8_lossy(style);
    refuse(format!("failed to format value of type {} with format '{style}'", scalar_name(call, index)))
}

fn scalar_name(call: &KernelCall<'_>, index: usize) -> &'static str {
    call.qtype(index).scalar().map_or("", |scalar| scalar.name())
}

/// Bytes that a number without a style may take.
const NUMBER_BYTES: usize = 64;

fn write_plain(out: &mut Vec<u8>, value: FormatArgument<'_>, account: &dyn Account) -> Result<(), Fault> {
    make_room(out, NUMBER_BYTES, account)?;
    match value {
        FormatArgument::Bytes(bytes) => append(out, bytes, account)?,
        FormatArgument::Boolean(x) => out.extend_from_slice(if x { b"true" } else { b"false" }),
        FormatArgument::Float64(x) => write_float(out, &Style::default(), b'g', x),
        FormatArgument::Float32(x) => {
            let mut text = String::new();
            write_repr(&mut text, &Value::from(x));
            out.extend_from_slice(text.as_bytes());
        }
        FormatArgument::Int32(x) => write!(out, "{x}").expect("writing to a buffer cannot fail"),
        FormatArgument::Int64(x) => write!(out, "{x}").expect("writing to a buffer cannot fail"),
    }
    Ok(())
}

/// A part of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'f> {
    /// Bytes that stay.
    Plain(&'f [u8]),
    /// `{name:style}`.
    Field { name: &'f [u8], style: &'f [u8] },
}

/// The parts of a format from left to right, over what is left of it.
struct Pieces<'f> {
    rest: &'f [u8],
    format: &'f [u8],
}

impl<'f> Pieces<'f> {
    fn of(format: &'f [u8]) -> Pieces<'f> {
        Pieces { rest: format, format }
    }

    /// Takes this many bytes.
    fn take(&mut self, length: usize) -> &'f [u8] {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn field(&mut self) -> Option<Piece<'f>> {
        let end = self.rest.iter().position(|b| *b == b'}')?;
        let field = &self.take(end + 1)[1..end];
        let colon = field.iter().position(|b| *b == b':');
        let (name, style) = colon.map_or((field, &[][..]), |at| (&field[..at], &field[at + 1..]));
        Some(Piece::Field { name, style })
    }

    fn incorrect(&self) -> Fault {
        refuse(format!("incorrect format specification '{}'", String::from_utf8_lossy(self.format)))
    }
}

impl<'f> Iterator for Pieces<'f> {
    type Item = Result<Piece<'f>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.rest {
            [] => None,
            [b'{', b'{', ..] | [b'}', b'}', ..] => Some(Ok(Piece::Plain(&self.take(2)[1..]))),
            [b'{', ..] => match self.field() {
                Some(field) => Some(Ok(field)),
                None => Some(Err(self.incorrect())),
            },
            [b'}', ..] => Some(Err(self.incorrect())),
            rest => {
                let end = rest.iter().position(|b| matches!(b, b'{' | b'}')).unwrap_or(rest.len());
                Some(Ok(Piece::Plain(self.take(end))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(format: &str) -> Result<String, String> {
        check_format(format.as_bytes()).map_err(|fault| fault.to_string())?;
        let pieces = Pieces::of(format.as_bytes()).map(|piece| match piece.expect("checked") {
            Piece::Plain(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Piece::Field { name, style } => {
                format!("[{}|{}]", String::from_utf8_lossy(name), String::from_utf8_lossy(style))
            }
        });
        Ok(pieces.collect())
    }

    #[test]
    fn formats_fall_into_pieces() {
        let cases = [
            ("é{a}{b:.2f}c", "é[a|][b|.2f]c"),
            ("{{a}}{{{a}}}", "{a}{[a|]}"),
            ("{a::}{a:}", "[a|:][a|]"),
            ("", ""),
        ];
        for (format, expected) in cases {
            assert_eq!(pieces(format).as_deref(), Ok(expected));
        }
        for format in ["{", "}", "{a", "a}", "{a}}", "{{a}", "{a:{a}}"] {
            assert_eq!(pieces(format), Err(format!("incorrect format specification '{format}'")));
        }
        for (format, name) in [("{}", ""), ("{ a}", " a"), ("{1a:d}", "1a"), ("{a.b}", "a.b"), ("{ñ}", "ñ")]
        {
            let expected = format!("incorrect arg '{name}' in format specification '{format}'");
            assert_eq!(pieces(format), Err(expected));
        }
    }

    #[test]
    fn names_are_distinct_and_as_many_as_values() {
        let check = |names: &str, values: usize| {
            let mut room = vec![("", 0); each_name(names).count()];
            positions(names, values, &mut room).map(drop).map_err(|fault| fault.to_string())
        };
        assert_eq!([check("", 0), check("a", 1), check("a,b", 2)], [Ok(()), Ok(()), Ok(())]);
        assert_eq!(check("a,a", 3).unwrap_err(), "arg names specification 'a,a' contains duplicate names");
        assert_eq!(
            check("a,b", 1).unwrap_err(),
            "arg names specification doesn't match number of arguments: a,b (expected #1)"
        );
    }
}
