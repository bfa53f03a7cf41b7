//! Quoted strings and names: `'x'`, `b'\xff'`, `math.add`, `'two words'`.
//!
//! Strings are written by [`write_text`]: the escapes of C, `\x41` for ASCII (any byte in bytes)
//! and `\u{202e}` for the rest. A name is bare if it consists of letters, digits, underscores and
//! points.

use crate::program::text::cursor::{Cursor, Read};
use crate::value::repr::write_text;

/// Writes a name, quoted unless it is plain.
pub(super) fn write_name(out: &mut String, name: &str) {
    match !name.is_empty() && name.chars().all(is_plain) {
        true => out.push_str(name),
        false => write_text(out, name),
    }
}

/// Reads a name, quoted or not.
pub(super) fn read_name(line: &mut Cursor<'_>) -> Read<String> {
    match line.take_while(is_plain) {
        "" => read_text(line),
        plain => Ok(plain.to_owned()),
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

/// Reads a text in quotes.
pub(super) fn read_text(line: &mut Cursor<'_>) -> Read<String> {
    line.expect("'")?;
    let mut text = String::new();
    loop {
        let start = *line;
        match line.character() {
            None => return Err(start.expected("a closing quote")),
            Some('\'') => return Ok(text),
            Some('\\') => text.push(text_escape(line, start)?),
            Some(c) => text.push(c),
        }
    }
}

/// Reads bytes in quotes.
pub(super) fn read_bytes(line: &mut Cursor<'_>) -> Read<Vec<u8>> {
    line.expect("b'")?;
    let mut bytes = Vec::new();
    loop {
        let start = *line;
        match line.character() {
            None => return Err(start.expected("a closing quote")),
            Some('\'') => return Ok(bytes),
            Some('\\') => bytes.push(byte_escape(line, start)?),
            Some(c @ ' '..='~') => bytes.push(c as u8),
            Some(_) => return Err(start.expected("an ASCII character or an escape such as `\\xff`")),
        }
    }
}

fn text_escape(line: &mut Cursor<'_>, start: Cursor<'_>) -> Read<char> {
    let decoded = match line.character() {
        Some('x') => hex_byte(line).filter(u8::is_ascii).map(char::from),
        Some('u') => code_point(line),
        other => other.and_then(simple_escape).map(char::from),
    };
    decoded.ok_or_else(|| start.expected("an escape such as `\\n`, `\\x01` or `\\u{e9}`"))
}

fn byte_escape(line: &mut Cursor<'_>, start: Cursor<'_>) -> Read<u8> {
    let decoded = match line.character() {
        Some('x') => hex_byte(line),
        other => other.and_then(simple_escape),
    };
    decoded.ok_or_else(|| start.expected("an escape such as `\\n` or `\\xff`"))
}

fn simple_escape(c: char) -> Option<u8> {
    match c {
        'n' => Some(b'\n'),
        'r' => Some(b'\r'),
        't' => Some(b'\t'),
        '\'' | '"' | '\\' => Some(c as u8),
        _ => None,
    }
}

fn hex_byte(line: &mut Cursor<'_>) -> Option<u8> {
    let high = line.character()?.to_digit(16)?;
    let low = line.character()?.to_digit(16)?;
    Some((high * 16 + low) as u8)
}

/// The rest of `\u{…}`.
fn code_point(line: &mut Cursor<'_>) -> Option<char> {
    if line.character()? != '{' {
        return None;
    }
    let mut code: u32 = 0;
    loop {
        match line.character()? {
            '}' => return char::from_u32(code),
            digit => code = code.checked_mul(16)?.checked_add(digit.to_digit(16)?)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::text::cursor::Lines;

    #[test]
    fn names_and_texts_read_back() {
        for name in ["x", "math.add", "", "two words", "it's \\ \"\n\t\r\u{0}\u{7f}é\u{202e}\u{2028}#", "1"]
        {
            let mut text = String::new();
            write_name(&mut text, name);
            assert_eq!(read_name(&mut Lines::new(&text).take()).as_deref(), Ok(name));
        }
    }

    #[test]
    fn errors_point_at_the_escape() {
        let error = |text: &str| read_text(&mut Lines::new(text).take()).unwrap_err().to_string();
        let expected = "expected an escape such as `\\n`, `\\x01` or `\\u{e9}`, found '\\\\'";
        for text in
            ["'a\\q'", "'a\\x80'", "'a\\u{d800}'", "'a\\u{110000}'", "'a\\u{100000000}'", "'a\\u41'", "'a\\"]
        {
            assert_eq!(error(text), format!("line 1, column 3: {expected}"));
        }
        assert_eq!(error("'é"), "line 1, column 3: expected a closing quote, found the end of the line");
    }
}
