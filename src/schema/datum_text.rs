//! Data as text, bit for bit.
//!
//! | datum | text |
//! | --- | --- |
//! | none, truth values | `none` `true` `false` |
//! | integers | `5` `-9223372036854775809` |
//! | floats | `1.5` `1e300` `-0.0` `inf` `nan` `nan(0x7ff8000000000001)` |
//! | texts, bytes | `"a\n\u{1f}"`, `b"\x00a"` |
//! | positions | `2:4`, `2:4-3:1` |

use crate::schema::builtin::Datum;
use std::fmt::Write;

/// The bits of the float `nan`.
pub(super) const NAN: u64 = 0x7ff8_0000_0000_0000;

/// A datum as text.
pub fn datum_text(datum: &Datum) -> String {
    let mut out = String::new();
    push_datum(&mut out, datum);
    out
}

/// Appends a datum.
pub(super) fn push_datum(out: &mut String, datum: &Datum) {
    match datum {
        Datum::None => out.push_str("none"),
        Datum::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Datum::Int(value) => push(out, format_args!("{value}")),
        Datum::Big(digits) => out.push_str(digits),
        Datum::Float(value) => push_float(out, *value),
        Datum::Text(text) => push_quoted(out, text),
        Datum::Bytes(bytes) => push_bytes(out, bytes),
        Datum::Position(position) => push(out, format_args!("{position}")),
    }
}

fn push_float(out: &mut String, value: f64) {
    match value {
        _ if value.is_nan() && value.to_bits() == NAN => out.push_str("nan"),
        _ if value.is_nan() => push(out, format_args!("nan(0x{:016x})", value.to_bits())),
        _ => push(out, format_args!("{value:?}")),
    }
}

/// Appends a text in quotes.
pub(super) fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_shown(c) => out.push(c),
            c => push(out, format_args!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    out.push('"');
}

/// False for what a terminal or an editor would act on instead of showing it.
fn is_shown(c: char) -> bool {
    let acts =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !c.is_control() && !acts
}

fn push_bytes(out: &mut String, bytes: &[u8]) {
    out.push_str("b\"");
    for byte in bytes {
        match byte {
            b'"' | b'\\' => push(out, format_args!("\\{}", char::from(*byte))),
            0x20..=0x7e => out.push(char::from(*byte)),
            _ => push(out, format_args!("\\x{byte:02x}")),
        }
    }
    out.push('"');
}

pub(super) fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("strings take all writes");
}
