//! Scalars to text and back: `strings.as_text`, `strings.parse_*`.
//!
//! A number prints as the shortest decimal that reads back to it (`1`, `0.1`, `1e-7`, `nan`). Parsing
//! takes decimal digits with an optional sign, for floats also a point, an exponent, `inf`,
//! `infinity` and `nan` in any case; nothing may stand around them. A float too large is infinite, an
//! integer too large raises.
//!
//! The original takes `-0x1` for the float -1 although it refuses `0x1`; here both raise.

use crate::array::meter::Meter;
use crate::layout::PlainSlot;
use crate::layout::access::{Bytes, Text};
use crate::operator::{Family, KernelCall};
use crate::value::Fault;
use crate::value::budget::reserve_more;
use crate::value::number::{write_f32, write_f64};
use crate::value::qtype::{BOOLEAN, BYTES, FLOAT32, FLOAT64, INT32, INT64, TEXT, UNIT};
use std::fmt::{Display, Write};
use std::str::FromStr;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        as_text(),
        parse(
            "strings.parse_int32",
            "The INT32 that the text spells. Raises if it does not.",
            integer::<i32>,
        ),
        parse(
            "strings.parse_int64",
            "The INT64 that the text spells. Raises if it does not.",
            integer::<i64>,
        ),
        parse(
            "strings.parse_float32",
            "The FLOAT32 nearest to the text. Raises if it is no number.",
            float::<f32>,
        ),
        parse(
            "strings.parse_float64",
            "The FLOAT64 nearest to the text. Raises if it is no number.",
            float::<f64>,
        ),
    ]
}

fn as_text() -> Family {
    Family::new(
        "strings.as_text",
        &["x"],
        "The value as text: `-7`, `0.1`, `true`, `present`; a BYTES in the form b'a\\x00'.",
    )
    .cost_of(20)
    .general(&[UNIT], TEXT, |call| display(call, "present"))
    .general(&[BOOLEAN], TEXT, display_argument::<bool>)
    .general(&[FLOAT32], TEXT, |call| {
        let x = call.get::<f32>(0);
        write_f32(call.text_out(), x);
        Ok(())
    })
    .general(&[FLOAT64], TEXT, |call| {
        let x = call.get::<f64>(0);
        write_f64(call.text_out(), x);
        Ok(())
    })
    .general(&[TEXT], TEXT, |call| call.copy(0))
    .general(&[BYTES], TEXT, |call| {
        let (bytes, meter) = (call.get::<Bytes>(0), call.meter());
        write_bytes(call.text_room(bytes.len())?, bytes, meter)
    })
    .over_rows(display_rows::<i32>)
    .general(&[INT32], TEXT, display_argument::<i32>)
    .over_rows(display_rows::<i64>)
    .general(&[INT64], TEXT, display_argument::<i64>)
}

fn display_argument<T: PlainSlot + Display>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let value = call.plain::<T>(0);
    display(call, value)
}

/// Letters of the longest integer: its sign and 19 digits.
const INTEGER: usize = 20;

fn display_rows<T: PlainSlot + Display>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    call.pieces_of_plain(|value: T, out| {
        let mut digits = [0; INTEGER];
        let mut rest = &mut digits[..];
        std::io::Write::write_fmt(&mut rest, format_args!("{value}")).expect("an integer is not longer");
        let used = INTEGER - rest.len();
        out.push(&digits[..used])
    })
}

fn display(call: &mut KernelCall<'_>, value: impl Display) -> Result<(), Fault> {
    write!(call.text_out(), "{value}").expect("writing to a string cannot fail");
    Ok(())
}

/// Bytes that a character may take, with the quote behind the last.
const LONGEST: usize = 5;

/// Appends bytes between `b'` and `'`. What is UTF-8 stays, quotes and control characters become C
/// escapes, and so does a hex digit behind one, which C would take for a part of it. Bytes that are
/// not UTF-8, which the original copies into the TEXT as they are, become escapes as well.
fn write_bytes(out: &mut String, bytes: &[u8], meter: &Meter<'_>) -> Result<(), Fault> {
    reserve_more(out, LONGEST, meter)?;
    out.push_str("b'");
    let mut after_escape = false;
    let mut pace = meter.pace();
    for chunk in bytes.utf8_chunks() {
        pace.over(chunk.invalid().len())?;
        for c in chunk.valid().chars() {
            reserve_more(out, LONGEST, meter)?;
            after_escape = write_char(out, c, after_escape);
            pace.over(1)?;
        }
        for byte in chunk.invalid() {
            reserve_more(out, LONGEST, meter)?;
            write!(out, "\\x{byte:02x}").expect("writing to a string cannot fail");
            after_escape = true;
        }
    }
    out.push('\'');
    Ok(())
}

/// Appends a character; true if it became a hex escape.
fn write_char(out: &mut String, c: char, after_escape: bool) -> bool {
    let escape = match c {
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\'' => "\\'",
        '"' => "\\\"",
        '\\' => "\\\\",
        c if c.is_ascii_control() || (after_escape && c.is_ascii_hexdigit()) => {
            write!(out, "\\x{:02x}", u32::from(c)).expect("writing to a string cannot fail");
            return true;
        }
        c => {
            out.push(c);
            return false;
        }
    };
    out.push_str(escape);
    false
}

fn parse<T: PlainSlot>(name: &str, meaning: &str, number: fn(&str) -> Option<T>) -> Family {
    let of_text = move |text: &str| number(text).ok_or_else(|| unable::<T>(text));
    let of_bytes = move |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => of_text(text),
        Err(_) => Err(unable::<T>(&String::from_utf8_lossy(bytes))),
    };
    Family::new(name, &["x"], meaning)
        .cost_of(16)
        .raises()
        .over_rows(move |call| call.map_strings::<Text, T, _, 1>(|[text], _| of_text(text)))
        .general(&[TEXT], T::plain_qtype(), move |call| {
            let parsed = of_text(call.text(0))?;
            call.set_plain::<T>(parsed);
            Ok(())
        })
        .over_rows(move |call| call.map_strings::<Bytes, T, _, 1>(|[bytes], _| of_bytes(bytes)))
        .general(&[BYTES], T::plain_qtype(), move |call| {
            let parsed = of_bytes(call.get::<Bytes>(0))?;
            call.set_plain::<T>(parsed);
            Ok(())
        })
}

#[cold]
fn unable<T: PlainSlot>(text: &str) -> Fault {
    Fault::Parse { text: text.to_owned(), target: T::SCALAR }
}

fn integer<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn float<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok().or_else(|| without_nan_payload(text).parse().ok())
}

/// Turns `nan(1a_2)` into `nan`: C lets a NaN carry a payload in letters, digits and underscores.
fn without_nan_payload(text: &str) -> &str {
    let payload = text.split_once('(').and_then(|(nan, rest)| Some((nan, rest.strip_suffix(')')?)));
    match payload {
        Some((nan, payload))
            if nan.trim_start_matches(['+', '-']).eq_ignore_ascii_case("nan")
                && payload.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') =>
        {
            nan
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats() {
        let cases = [
            ("+.5", Some(0.5)),
            ("1.", Some(1.0)),
            ("1E+5", Some(1e5)),
            ("1e400", Some(f64::INFINITY)),
            ("-1e-400", Some(-0.0)),
            ("-INFINITY", Some(f64::NEG_INFINITY)),
            ("0755", Some(755.0)),
            ("", None),
            (".", None),
            ("+-1", None),
            (" 1", None),
            ("1_0", None),
            ("0x1", None),
            ("-0x1", None),
            ("1e", None),
            ("nan(a-b)", None),
            ("1(2)", None),
        ];
        for (text, expected) in cases {
            assert_eq!(float::<f64>(text).map(f64::to_bits), expected.map(f64::to_bits), "{text}");
        }
        assert!(
            ["nan", "-NaN", "+nan", "nan(1_a)", "NAN()"]
                .iter()
                .all(|t| float::<f32>(t).is_some_and(f32::is_nan))
        );
    }

    #[test]
    fn integers() {
        for (text, expected) in
            [("+7", Some(7)), ("-0", Some(0)), ("007", Some(7)), ("-2147483648", Some(i32::MIN))]
        {
            assert_eq!(integer(text), expected);
        }
        for text in ["", "+", "+-7", "1.0", "2147483648", "7 ", "٣"] {
            assert_eq!(integer::<i32>(text), None);
        }
    }

    #[test]
    fn bytes_as_text() {
        let cases: [(&[u8], &str); 4] = [
            (b"a\n\"'\\", r#"b'a\n\"\'\\'"#),
            (b"\x01b\x7fg?", r"b'\x01\x62\x7fg?'"),
            ("ñ日".as_bytes(), "b'ñ日'"),
            (b"\xc3\xff1g", r"b'\xc3\xff\x31g'"),
        ];
        for (bytes, expected) in cases {
            let mut out = String::new();
            write_bytes(&mut out, bytes, &Meter::of_default()).expect("short");
            assert_eq!(out, expected);
        }
    }
}
