//! Tokens: names, numbers, strings and symbols with their place.
//!
//! Line ends are tokens, because they end statements; the parser passes over them inside brackets and
//! where an operand is still expected.

use crate::syntax::error::{SyntaxError, SyntaxErrorKind};
use cembra_vm::program::instruction::Span;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A name, dotted or not: `x`, `math.add`, `L.x`.
    Name(String),
    /// A whole number.
    Integer(String),
    /// A number with a point or an exponent.
    Float(String),
    /// A text in quotes, unescaped.
    Text(String),
    /// Bytes in quotes behind a `b`, unescaped.
    Bytes(Vec<u8>),
    /// An operator or a bracket.
    Symbol(&'static str),
    /// The end of a line, or `;`.
    LineEnd,
    /// The end of the text.
    End,
}

/// A token and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it stands, in bytes.
    pub span: Span,
}

/// Symbols, the longer before those they begin with.
const SYMBOLS: [&str; 26] = [
    "**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "<", ">", "&", "|", "~", "=", "(", ")", "[",
    "]", "{", "}", ",", ":", ".",
];

/// Splits a text into tokens; the last one is the end.
///
/// # Errors
/// A character that begins no token, a malformed number or string.
pub fn tokens(text: &str) -> Result<Vec<Token>, SyntaxError> {
    let mut lexer = Lexer { text, at: 0, tokens: Vec::with_capacity(text.len() / 3 + 1) };
    while lexer.token()? {}
    Ok(lexer.tokens)
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<Token>,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn push(&mut self, kind: Kind, start: usize) {
        self.tokens.push(Token { kind, span: span(start, self.at) });
    }

    /// Takes the longest run of wanted characters.
    fn run(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !wanted(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    /// Reads one token; false after the end.
    fn token(&mut self) -> Result<bool, SyntaxError> {
        self.run(|c| matches!(c, ' ' | '\t' | '\r'));
        let start = self.at;
        let Some(first) = self.rest().chars().next() else {
            self.push(Kind::End, start);
            return Ok(false);
        };
        let second = self.rest().chars().nth(1);
        match first {
            '#' => {
                self.run(|c| c != '\n');
            }
            '\n' | ';' => {
                self.at += 1;
                self.push(Kind::LineEnd, start);
            }
            'b' if matches!(second, Some('\'' | '"')) => {
                self.at += 1;
                let bytes = self.string(start, true)?;
                self.push(Kind::Bytes(bytes), start);
            }
            '\'' | '"' => {
                let bytes = self.string(start, false)?;
                let text =
                    String::from_utf8(bytes).map_err(|_| self.error(SyntaxErrorKind::Escape, start))?;
                self.push(Kind::Text(text), start);
            }
            _ if first.is_ascii_digit() || (first == '.' && second.is_some_and(|c| c.is_ascii_digit())) => {
                self.number(start)?;
            }
            _ if is_name_start(first) => self.name(start),
            _ => self.symbol(start, first)?,
        }
        Ok(true)
    }

    fn symbol(&mut self, start: usize, first: char) -> Result<(), SyntaxError> {
        match SYMBOLS.into_iter().find(|s| self.rest().starts_with(s)) {
            Some(symbol) => {
                self.at += symbol.len();
                self.push(Kind::Symbol(symbol), start);
                Ok(())
            }
            None => {
                self.at += first.len_utf8();
                Err(self.error(SyntaxErrorKind::Character { character: first }, start))
            }
        }
    }

    /// A name with all its dotted parts.
    fn name(&mut self, start: usize) {
        loop {
            self.run(is_name_part);
            let mut after = self.rest().chars();
            let dotted = after.next() == Some('.') && after.next().is_some_and(is_name_start);
            if !dotted {
                break;
            }
            self.at += 1;
        }
        self.push(Kind::Name(self.text[start..self.at].to_owned()), start);
    }

    fn number(&mut self, start: usize) -> Result<(), SyntaxError> {
        self.run(|c| c.is_ascii_digit());
        let mut float = false;
        if self.rest().starts_with('.') {
            float = true;
            self.at += 1;
            self.run(|c| c.is_ascii_digit());
        }
        if self.rest().starts_with(['e', 'E']) {
            let mark = self.at;
            self.at += 1;
            if self.rest().starts_with(['+', '-']) {
                self.at += 1;
            }
            match self.run(|c| c.is_ascii_digit()) {
                "" => self.at = mark,
                _ => float = true,
            }
        }
        // `1.2.3`, `12abc`, `0x10`: one wrong number, not a number and something else.
        if self.rest().starts_with(|c| is_name_part(c) || c == '.') {
            self.run(|c| is_name_part(c) || c == '.');
            let text = self.text[start..self.at].chars().take(40).collect();
            return Err(self.error(SyntaxErrorKind::Number { text }, start));
        }
        let text = self.text[start..self.at].to_owned();
        self.push(if float { Kind::Float(text) } else { Kind::Integer(text) }, start);
        Ok(())
    }

    /// A quoted string as bytes; `raw` strings hold single bytes, others UTF-8.
    fn string(&mut self, start: usize, raw: bool) -> Result<Vec<u8>, SyntaxError> {
        let quote = self.take().unwrap_or('\'');
        let mut bytes = Vec::new();
        let push = |c: char, bytes: &mut Vec<u8>| match raw {
            true => bytes.push(c as u8),
            false => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        };
        loop {
            let at = self.at;
            match self.take() {
                None | Some('\n') => {
                    self.at = at;
                    return Err(self.error(SyntaxErrorKind::UnterminatedString, start));
                }
                Some(c) if c == quote => return Ok(bytes),
                Some('\\') => match self.escape(raw) {
                    Some(c) => push(c, &mut bytes),
                    None => return Err(self.error(SyntaxErrorKind::Escape, at)),
                },
                Some(c) if raw && !c.is_ascii() => {
                    return Err(self.error(SyntaxErrorKind::ByteString { character: c }, at));
                }
                Some(c) => push(c, &mut bytes),
            }
        }
    }

    fn take(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn escape(&mut self, raw: bool) -> Option<char> {
        match self.take()? {
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            c @ ('\'' | '"' | '\\') => Some(c),
            'x' => self.hex(2),
            'u' if !raw && self.rest().starts_with('{') => {
                self.at += 1;
                let digits = self.run(|c| c.is_ascii_hexdigit());
                let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                (self.take() == Some('}')).then_some(code).flatten()
            }
            'u' if !raw => self.hex(4),
            _ => None,
        }
    }

    fn hex(&mut self, digits: usize) -> Option<char> {
        let text = self.rest().get(..digits).filter(|t| t.bytes().all(|b| b.is_ascii_hexdigit()))?;
        self.at += digits;
        char::from_u32(u32::from_str_radix(text, 16).ok()?)
    }

    fn error(&self, kind: SyntaxErrorKind, start: usize) -> SyntaxError {
        SyntaxError::new(kind, span(start, self.at))
    }
}

/// A place in a text.
pub fn span(start: usize, end: usize) -> Span {
    Span { start: start as u32, end: end as u32 }
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A token as an error message names it.
pub fn describe(kind: &Kind) -> String {
    match kind {
        Kind::Name(name) => format!("`{}`", name.escape_debug()),
        Kind::Integer(text) | Kind::Float(text) => format!("`{text}`"),
        Kind::Text(_) => "a text".to_owned(),
        Kind::Bytes(_) => "a byte string".to_owned(),
        Kind::Symbol(symbol) => format!("`{symbol}`"),
        Kind::LineEnd => "the end of the line".to_owned(),
        Kind::End => "the end of the text".to_owned(),
    }
}
