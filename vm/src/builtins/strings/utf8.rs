//! TEXT to bytes and back: `strings.encode`, `strings.decode`. The only encoding is UTF-8.

use crate::array::meter::Meter;
use crate::builtins::strings::units::{OPTIONAL_BYTES, OPTIONAL_TEXT, StringType};
use crate::layout::access::{Bytes, Text};
use crate::operator::string_rows::StringSlot;
use crate::operator::{Family, KernelCall};
use crate::value::Fault;
use crate::value::qtype::{BYTES, TEXT};

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new("strings.encode", &["x"], "The bytes of the text in UTF-8.").cost_of(4).general(
            &[TEXT],
            BYTES,
            |call| {
                let text = call.text(0);
                call.bytes_room(text.len())?.extend_from_slice(text.as_bytes());
                Ok(())
            },
        ),
        Family::new(
            "strings.decode",
            &["x", "errors"],
            "The text whose UTF-8 the bytes are. What is not UTF-8 raises if errors is 'strict' or not given, \
             is left out if it is 'ignore', and becomes U+FFFD if it is 'replace'.",
        )
        .cost_of(4)
        .raises()
        .general(&[BYTES], TEXT, |call| decode(call, "strict"))
        .exact_general(&[BYTES, TEXT], TEXT, decode_as_told)
        .exact_general(&[OPTIONAL_BYTES, TEXT], OPTIONAL_TEXT, decode_as_told),
    ]
}

fn decode_as_told(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let errors = call.text(1);
    decode(call, errors)
}

fn decode(call: &mut KernelCall<'_>, errors: &str) -> Result<(), Fault> {
    let Some(bytes) = Bytes::read(call, 0) else {
        call.set_missing();
        return Ok(());
    };
    let replacement = match errors {
        "strict" => {
            let text = checked(bytes)?;
            call.text_room(text.len())?.push_str(text);
            return Ok(());
        }
        "ignore" => "",
        "replace" => "\u{fffd}",
        _ => {
            let message =
                format!("expected errors value to be one of ('strict', 'ignore', 'replace'), got '{errors}'");
            return Err(Fault::Format { message });
        }
    };
    let meter = call.meter();
    replace_invalid(call.text_room(bytes.len())?, bytes, replacement, meter)
}

/// The bytes as text.
///
/// # Errors
/// [`Fault::Format`] with the position of the first byte that does not belong to a character.
pub fn checked(bytes: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(bytes).map_err(|error| invalid(error.valid_up_to()))
}

/// As [`checked`], for a buffer.
///
/// # Errors
/// As [`checked`].
pub fn checked_buffer(bytes: Vec<u8>) -> Result<String, Fault> {
    String::from_utf8(bytes).map_err(|error| invalid(error.utf8_error().valid_up_to()))
}

fn invalid(position: usize) -> Fault {
    Fault::Format { message: format!("invalid UTF-8 sequence at position {position}") }
}

/// One replacement for each longest start of a character that is cut short, and for each other byte.
fn replace_invalid(
    out: &mut String,
    bytes: &[u8],
    replacement: &str,
    meter: &Meter<'_>,
) -> Result<(), Fault> {
    let mut pace = meter.pace();
    for chunk in bytes.utf8_chunks() {
        pace.over(chunk.valid().len() + 1)?;
        Text::append(out, chunk.valid(), meter)?;
        if !chunk.invalid().is_empty() {
            Text::append(out, replacement, meter)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_bytes() {
        let cases: [(&[u8], usize, &str); 6] = [
            (b"a\xff", 1, "a?"),
            (b"\xe6\x97b", 0, "?b"),
            (b"\xed\xa0\x80", 0, "???"),
            (b"\xf0\x9f\x91", 0, "?"),
            (b"\xf1\x80\x80\xe1\x80\xc2b", 0, "???b"),
            (b"ab\x80\x80cd", 2, "ab??cd"),
        ];
        for (bytes, position, replaced) in cases {
            assert_eq!(checked(bytes).unwrap_err(), invalid(position));
            let mut out = String::new();
            replace_invalid(&mut out, bytes, "?", &Meter::of_default()).expect("short");
            assert_eq!(out, replaced);
        }
    }
}
