//! Literals: digits to numbers, quoted text to characters.

use crate::python::error::{Outside, PythonProblem};

/// The value of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NumberLiteral {
    Int(i64),
    /// 2^63, which fits behind a minus sign only.
    MinMagnitude,
    Float(f64),
}

/// Reads a number.
pub(super) fn number(text: &str) -> Result<NumberLiteral, PythonProblem> {
    let malformed = || PythonProblem::Number { text: text.to_owned() };
    let lower = text.as_bytes();
    let base = match lower {
        [b'0', b'x' | b'X', ..] => Some(16),
        [b'0', b'o' | b'O', ..] => Some(8),
        [b'0', b'b' | b'B', ..] => Some(2),
        _ => None,
    };
    if let Some(base) = base {
        let digits = text[2..].strip_prefix('_').unwrap_or(&text[2..]);
        return integer(&plain_digits(digits).ok_or_else(malformed)?, base, text);
    }
    if let Some(real) = text.strip_suffix(['j', 'J']) {
        let is_number = number(real).is_ok() || real.bytes().all(|b| b.is_ascii_digit());
        return Err(if is_number { PythonProblem::Outside(Outside::Complex) } else { malformed() });
    }
    let digits = plain_digits_of_float(text).ok_or_else(malformed)?;
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        let has_zeros = digits.len() > 1 && digits.starts_with('0');
        if has_zeros && digits.bytes().any(|b| b != b'0') {
            return Err(PythonProblem::LeadingZeros);
        }
        return integer(&digits, 10, text);
    }
    // Rust reads what Python writes, but words for infinities begin with letters, which no number does.
    digits.parse().map(NumberLiteral::Float).map_err(|_| malformed())
}

fn integer(digits: &str, base: u32, text: &str) -> Result<NumberLiteral, PythonProblem> {
    if digits.is_empty() || !digits.bytes().all(|b| char::from(b).is_digit(base)) {
        return Err(PythonProblem::Number { text: text.to_owned() });
    }
    match u64::from_str_radix(digits, base) {
        Ok(value) if value == 1 << 63 => Ok(NumberLiteral::MinMagnitude),
        Ok(value) => i64::try_from(value).map(NumberLiteral::Int).map_err(|_| large(text)),
        Err(_) => Err(large(text)),
    }
}

pub(super) fn large(text: &str) -> PythonProblem {
    let shown = match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    PythonProblem::LargeInteger { text: shown }
}

/// Digits without the single underscores between them.
fn plain_digits(text: &str) -> Option<String> {
    let is_bad = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    (!is_bad).then(|| text.replace('_', ""))
}

/// The same for each part of a float.
fn plain_digits_of_float(text: &str) -> Option<String> {
    if !text.contains('_') {
        return Some(text.to_owned());
    }
    let bytes = text.as_bytes();
    let is_between = |(at, byte): (usize, &u8)| {
        let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        *byte != b'_' || (digit(at.checked_sub(1)) && digit(Some(at + 1)))
    };
    bytes.iter().enumerate().all(is_between).then(|| text.replace('_', ""))
}

/// What the prefix of a string says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StringPrefix {
    pub is_raw: bool,
    pub is_bytes: bool,
    pub is_formatted: bool,
}

/// Appends the characters of a string token.
pub(super) fn string(token: &str, out: &mut String) -> Result<StringPrefix, PythonProblem> {
    let quote = token.find(['"', '\'']).unwrap_or(0);
    let letters = token[..quote].to_ascii_lowercase();
    let prefix = StringPrefix {
        is_raw: letters.contains('r'),
        is_bytes: letters.contains('b'),
        is_formatted: letters.contains('f'),
    };
    let quoted = &token[quote..];
    let is_triple = quoted.len() >= 6 && (quoted.starts_with("\"\"\"") || quoted.starts_with("'''"));
    let length = if is_triple { 3 } else { 1 };
    let inside = &quoted[length..quoted.len() - length];
    // Line ends are one character, whatever the file has.
    let text = if inside.contains('\r') {
        inside.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        inside.to_owned()
    };
    match prefix.is_raw {
        true => out.push_str(&text),
        false => unescape(&text, out)?,
    }
    Ok(prefix)
}

fn unescape(text: &str, out: &mut String) -> Result<(), PythonProblem> {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = &rest[at..];
        let (length, character) = read_escape(escape);
        if length == 0 && is_known_to_python(escape) {
            return Err(PythonProblem::Outside(Outside::Escape));
        }
        if length == 0 {
            let shown = escape.chars().take(10).collect();
            return Err(PythonProblem::Escape { escape: shown });
        }
        match character {
            Some(character) => out.push(character),
            None => out.push_str(escape[..length].strip_prefix("\\\n").unwrap_or(&escape[..length])),
        }
        rest = &escape[length..];
    }
    out.push_str(rest);
    Ok(())
}

/// True for names of characters and halves of surrogate pairs, which no text here holds.
fn is_known_to_python(escape: &str) -> bool {
    let digits = match escape.as_bytes().get(1) {
        Some(b'u') => escape.get(2..6),
        Some(b'U') => escape.get(2..10),
        _ => return escape.starts_with("\\N{") && escape.contains('}'),
    };
    let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    code.is_some_and(|code| (0xd800..0xe000).contains(&code))
}

/// Length and character of an escape; no character where Python keeps the backslash or joins lines.
fn read_escape(escape: &str) -> (usize, Option<char>) {
    let second = escape[1..].chars().next().unwrap_or('\\');
    let hexadecimal = |digits: usize| {
        let code = escape.get(2..2 + digits).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        code.and_then(char::from_u32).map_or((0, None), |character| (2 + digits, Some(character)))
    };
    match second {
        '\n' => (2, None),
        '\\' | '\'' | '"' => (2, Some(second)),
        'a' => (2, Some('\u{7}')),
        'b' => (2, Some('\u{8}')),
        'f' => (2, Some('\u{c}')),
        'n' => (2, Some('\n')),
        'r' => (2, Some('\r')),
        't' => (2, Some('\t')),
        'v' => (2, Some('\u{b}')),
        'x' => hexadecimal(2),
        'u' => hexadecimal(4),
        'U' => hexadecimal(8),
        'N' => (0, None),
        '0'..='7' => {
            let digits = escape[1..].bytes().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
            let code = u32::from_str_radix(&escape[1..=digits], 8).unwrap_or_default();
            (1 + digits, char::from_u32(code))
        }
        other => (1 + other.len_utf8(), None),
    }
}
