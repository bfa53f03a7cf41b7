//! Tokens of the text.

use crate::field::error::{FieldError, FieldProblem};
use cembra_vm::program::instruction::Span;

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// A name or a word.
    Name(&'t str),
    /// A name between backquotes, which is no word.
    Quoted(&'t str),
    /// A number without a sign.
    Number(&'t str),
    /// An operator or a bracket.
    Symbol(&'static str),
    /// The end of a line.
    End,
}

/// Longest first, so that `**` is not two `*`.
const SYMBOLS: [&str; 26] = [
    "->", "**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "(", ")", "[", "]", ",", ";", ":",
    "=", "<", ">", "&", "|", "~", "^",
];

/// Splits a text into tokens with their places; the end of a line is a token unless a bracket is open.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, Span)>, Vec<FieldError>> {
    let mut tokens = Vec::new();
    let mut errors = Vec::new();
    let mut at = 0usize;
    let mut open: Vec<usize> = Vec::new();
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let rest = &text[at..];
        let first = rest.chars().next().expect("there is a rest");
        let (token, length) = match first {
            '\n' => (Some(Token::End).filter(|_| open.is_empty()), 1),
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            c if c.is_whitespace() => (None, c.len_utf8()),
            c if c.is_alphabetic() || c == '_' => {
                let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                (Some(Token::Name(&rest[..length])), length)
            }
            '`' => match rest[1..].find(['`', '\n']).filter(|end| rest.as_bytes()[end + 1] == b'`') {
                Some(end) => (Some(Token::Quoted(&rest[1..=end])), end + 2),
                None => {
                    errors.push(wrong("a name between backquotes does not end", at, 1));
                    (None, 1)
                }
            },
            c if c.is_ascii_digit() || (c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) => {
                let length = number_length(rest);
                (Some(Token::Number(&rest[..length])), length)
            }
            c => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => {
                    match *symbol {
                        "(" | "[" => open.push(at),
                        ")" | "]" => drop(open.pop()),
                        _ => {}
                    }
                    (Some(Token::Symbol(symbol)), symbol.len())
                }
                None => {
                    let shown = c.escape_default();
                    errors.push(wrong(&format!("`{shown}` has no meaning here"), at, c.len_utf8()));
                    (None, c.len_utf8())
                }
            },
        };
        if let Some(token) = token {
            tokens.push((token, span(at, length)));
        }
        at += length;
    }
    tokens.push((Token::End, span(at, 0)));
    if let Some(at) = open.first() {
        errors.push(wrong(&format!("`{}` is not closed", &text[*at..=*at]), *at, 1));
    }
    if errors.is_empty() { Ok(tokens) } else { Err(errors) }
}

fn span(start: usize, length: usize) -> Span {
    Span { start: start as u32, end: (start + length) as u32 }
}

fn wrong(what: &str, at: usize, length: usize) -> FieldError {
    FieldError::at(FieldProblem::Syntax { what: what.to_owned() }, span(at, length))
}

/// Digits, a point, an exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = digits(0);
    if bytes.get(length) == Some(&b'.') {
        length += 1;
        length += digits(length);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits((length + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}
