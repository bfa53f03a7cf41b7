//! Operands with types, in the manner of LLVM: shared by the table and the LLVM form.
//!
//! | | |
//! | --- | --- |
//! | `i64 5`, `int 9223372036854775808`, `double 1.5`, `i1 true`, `none` | numbers, truth values, `None` |
//! | `metadata !"text"`, `bytes b"\x00"`, `pos 2:4` | texts, bytes, positions |
//! | `metadata !0`, `metadata !{ … }`, `null` | a numbered row, a nested one, an absent option |

use crate::schema::builtin::Datum;
use crate::schema::datum_text::{push, push_datum, push_quoted};
use crate::schema::scan::{Lexeme, Scanner};

/// An operand, or the beginning of one.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TypedOperand {
    Datum(Datum),
    Absent,
    /// `metadata !0`.
    Row(u64),
    /// `metadata !{`.
    Braces,
    /// `i8* %0`, `i8* %u0`.
    Register {
        number: u64,
        is_unique: bool,
    },
}

/// Appends a datum with its type.
pub(super) fn push_typed(out: &mut String, datum: &Datum) {
    let kind = match datum {
        Datum::Text(text) => {
            out.push_str("metadata !");
            return push_quoted(out, text);
        }
        Datum::None => "",
        Datum::Bool(_) => "i1 ",
        Datum::Int(_) => "i64 ",
        Datum::Big(_) => "int ",
        Datum::Float(_) => "double ",
        Datum::Bytes(_) => "bytes ",
        Datum::Position(_) => "pos ",
    };
    push(out, format_args!("{kind}"));
    push_datum(out, datum);
}

/// Takes an operand; nothing if the text has another form.
pub(super) fn take_typed(scanner: &mut Scanner<'_>) -> Option<TypedOperand> {
    match scanner.take().0 {
        Lexeme::Datum(Datum::None) => Some(TypedOperand::Datum(Datum::None)),
        Lexeme::Word("null") => Some(TypedOperand::Absent),
        Lexeme::Word("metadata") => take_metadata(scanner),
        Lexeme::Word("i8") => take_register(scanner),
        Lexeme::Word(kind) => {
            let Lexeme::Datum(datum) = scanner.peek() else { return None };
            let fits = match datum {
                Datum::Bool(_) => kind == "i1",
                Datum::Int(_) => kind == "i64",
                Datum::Big(_) => kind == "int",
                Datum::Float(_) => kind == "double",
                Datum::Bytes(_) => kind == "bytes",
                Datum::Position(_) => kind == "pos",
                Datum::Text(_) | Datum::None => false,
            };
            match scanner.take().0 {
                Lexeme::Datum(datum) if fits => Some(TypedOperand::Datum(datum)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn take_metadata(scanner: &mut Scanner<'_>) -> Option<TypedOperand> {
    if !scanner.take_sign('!') {
        return None;
    }
    if scanner.take_sign('{') {
        return Some(TypedOperand::Braces);
    }
    if let Some(row) = scanner.take_number() {
        return Some(TypedOperand::Row(row));
    }
    match scanner.take().0 {
        Lexeme::Datum(datum @ Datum::Text(_)) => Some(TypedOperand::Datum(datum)),
        _ => None,
    }
}

fn take_register(scanner: &mut Scanner<'_>) -> Option<TypedOperand> {
    let is_pointer = scanner.take_sign('*');
    let (number, is_unique) = take_register_name(scanner)?;
    is_pointer.then_some(TypedOperand::Register { number, is_unique })
}

/// `%0`, `%u0`.
pub(super) fn take_register_name(scanner: &mut Scanner<'_>) -> Option<(u64, bool)> {
    if !scanner.take_sign('%') {
        return None;
    }
    if let Some(number) = scanner.take_number() {
        return Some((number, false));
    }
    match scanner.take().0 {
        Lexeme::Word(name) => name.strip_prefix('u')?.parse().ok().map(|number| (number, true)),
        _ => None,
    }
}
