//! Lexemes of document texts: words, data, signs. All text forms share them.
//!
//! A number with a colon is a position: `2:4-3:1`. `nan`, `inf`, `none`, `true` and `false` are data.

use crate::schema::builtin::{Datum, SourcePosition};
use crate::schema::datum_text::{NAN, datum_text};
use crate::schema::text_error::{TextError, TextProblem};
use cembra_vm::program::instruction::Span;

/// Problems that are kept.
const MAX_PROBLEMS: usize = 1000;

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Lexeme<'t> {
    Word(&'t str),
    Datum(Datum),
    Sign(char),
    End,
}

impl Lexeme<'_> {
    pub(super) fn describe(&self) -> String {
        match self {
            Lexeme::Word(word) => format!("`{word}`"),
            Lexeme::Datum(datum) => datum_text(datum),
            Lexeme::Sign(sign) => format!("`{sign}`"),
            Lexeme::End => "the end of the text".to_owned(),
        }
    }
}

/// The text breaks off; the problem is in the list.
#[derive(Debug)]
pub(super) struct BrokenOff;

/// Reads lexemes one by one.
pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    comment: &'static str,
    /// Where the lexeme that was taken last ends.
    taken_to: usize,
    next: (Lexeme<'t>, Span),
    /// What could not be read; the scanner goes on behind it.
    pub(super) problems: Vec<TextError>,
}

impl<'t> Scanner<'t> {
    /// A scanner of a text; `comment` begins comments.
    pub(super) fn new(text: &'t str, comment: &'static str) -> Scanner<'t> {
        let next = (Lexeme::End, Span::default());
        let mut scanner = Scanner { text, at: 0, comment, taken_to: 0, next, problems: Vec::new() };
        if u32::try_from(text.len()).is_err() {
            scanner.at = text.len();
            let problem = TextProblem::Limit { name: "document-text-bytes", limit: u32::MAX as usize };
            scanner.problems.push(TextError { problem, span: Span::default() });
        }
        scanner.advance();
        scanner
    }

    pub(super) fn peek(&self) -> &Lexeme<'t> {
        &self.next.0
    }

    pub(super) fn span(&self) -> Span {
        self.next.1
    }

    /// Takes the next lexeme.
    pub(super) fn take(&mut self) -> (Lexeme<'t>, Span) {
        let taken = std::mem::replace(&mut self.next, (Lexeme::End, Span::default()));
        self.advance();
        taken
    }

    /// Takes a sign if it comes next.
    pub(super) fn take_sign(&mut self, sign: char) -> bool {
        let found = self.next.0 == Lexeme::Sign(sign);
        if found {
            self.advance();
        }
        found
    }

    /// Takes a word if it comes next.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = self.next.0 == Lexeme::Word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes a whole number that is not negative.
    pub(super) fn take_number(&mut self) -> Option<u64> {
        let Lexeme::Datum(Datum::Int(number)) = self.next.0 else { return None };
        let number = u64::try_from(number).ok()?;
        self.advance();
        Some(number)
    }

    /// True if the next lexeme follows directly, without a space.
    pub(super) fn is_adjacent(&self, span: Span) -> bool {
        self.next.1.start == span.end
    }

    /// True if only blanks stand before the next lexeme on its line.
    pub(super) fn begins_line(&self) -> bool {
        let before = &self.text[..self.next.1.start as usize];
        let blanks = before.bytes().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        before[..before.len() - blanks].is_empty() || before[..before.len() - blanks].ends_with('\n')
    }

    /// Takes what stands on the line of the last lexeme behind it, without comment and blanks around.
    pub(super) fn rest_of_line(&mut self) -> (&'t str, Span) {
        let from = self.taken_to;
        let rest = &self.text[from..];
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let line = line.split(self.comment).next().unwrap_or_default();
        let (found, blanks) = (line.trim(), line.len() - line.trim_start().len());
        if !found.is_empty() {
            self.at = from + line.len();
            self.advance();
        }
        (found, span(from + blanks, from + blanks + found.len()))
    }

    /// Says that something else was expected, and that the rest of the text cannot be read.
    pub(super) fn broken_off<T>(&mut self, expected: &'static str) -> Result<T, BrokenOff> {
        self.expected(expected);
        Err(BrokenOff)
    }

    pub(super) fn expected(&mut self, expected: &'static str) {
        let found = self.next.0.describe();
        self.problem(TextProblem::Expected { expected, found }, self.next.1);
    }

    pub(super) fn problem(&mut self, problem: TextProblem, span: Span) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(TextError { problem, span });
        }
    }

    fn advance(&mut self) {
        self.taken_to = self.at;
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
            self.at += blank;
            match rest[blank..].starts_with(self.comment) {
                true => self.at += rest[blank..].find('\n').unwrap_or(rest.len() - blank),
                false => break,
            }
        }
        let start = self.at;
        let lexeme = self.lexeme();
        self.next = (lexeme, span(start, self.at));
    }

    fn lexeme(&mut self) -> Lexeme<'t> {
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else { return Lexeme::End };
        let second = rest[first.len_utf8()..].chars().next().unwrap_or('\0');
        match first {
            '"' => {
                self.quoted(1).map_or(Lexeme::Datum(Datum::None), |bytes| match String::from_utf8(bytes) {
                    Ok(text) => Lexeme::Datum(Datum::Text(text.into())),
                    Err(error) => Lexeme::Datum(Datum::Bytes(error.into_bytes().into())),
                })
            }
            'b' if second == '"' => {
                let bytes = self.quoted(2).unwrap_or_default();
                Lexeme::Datum(Datum::Bytes(bytes.into()))
            }
            '-' if rest[1..].starts_with("inf") => self.fixed(4, Datum::Float(f64::NEG_INFINITY)),
            '0'..='9' => self.number(),
            '-' if second.is_ascii_digit() => self.number(),
            _ if first.is_alphabetic() || first == '_' => self.word(),
            _ => {
                self.at += first.len_utf8();
                Lexeme::Sign(first)
            }
        }
    }

    fn fixed(&mut self, length: usize, datum: Datum) -> Lexeme<'t> {
        self.at += length;
        Lexeme::Datum(datum)
    }

    fn word(&mut self) -> Lexeme<'t> {
        let rest = &self.text[self.at..];
        let word = &rest[..rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())];
        match word {
            "none" => self.fixed(4, Datum::None),
            "true" => self.fixed(4, Datum::Bool(true)),
            "false" => self.fixed(5, Datum::Bool(false)),
            "inf" => self.fixed(3, Datum::Float(f64::INFINITY)),
            "nan" => self.nan(rest),
            // Alone, `_` is a word too: the value that is not there.
            _ => {
                self.at += word.len();
                Lexeme::Word(word)
            }
        }
    }

    fn nan(&mut self, rest: &str) -> Lexeme<'t> {
        let bits = rest.strip_prefix("nan(0x").and_then(|rest| rest.split_once(')'));
        let Some((digits, _)) = bits else { return self.fixed(3, Datum::Float(f64::from_bits(NAN))) };
        let start = self.at;
        let length = "nan(0x".len() + digits.len() + 1;
        let value = u64::from_str_radix(digits, 16).ok().map(f64::from_bits).filter(|value| value.is_nan());
        if value.is_none() {
            let text = rest[..length].to_owned();
            self.problem(TextProblem::Number { text }, span(start, start + length));
        }
        self.fixed(length, Datum::Float(value.unwrap_or(f64::NAN)))
    }

    fn number(&mut self) -> Lexeme<'t> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut at = start + usize::from(bytes[start] == b'-');
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        at = digits(at);
        if bytes.get(at) == Some(&b':') && is_digit(at + 1) {
            return self.position(start);
        }
        let mut is_float = false;
        if bytes.get(at) == Some(&b'.') && is_digit(at + 1) {
            is_float = true;
            at = digits(at + 1);
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            let signed = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            if is_digit(signed) {
                is_float = true;
                at = digits(signed);
            }
        }
        // Letters behind the digits belong to the malformed number.
        while bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            at += 1;
        }
        self.at = at;
        let text = &self.text[start..at];
        let datum = match is_float {
            true => text.parse().ok().map(Datum::Float),
            false => Datum::integer(text),
        };
        datum.map_or_else(
            || {
                self.problem(TextProblem::Number { text: text.to_owned() }, span(start, at));
                Lexeme::Datum(Datum::Int(0))
            },
            Lexeme::Datum,
        )
    }

    fn position(&mut self, start: usize) -> Lexeme<'t> {
        let rest = &self.text[start..];
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '-')).unwrap_or(rest.len());
        self.at = start + end;
        let text = &rest[..end];
        let pair = |text: &str| {
            let (line, column) = text.split_once(':')?;
            Some((line.parse().ok()?, column.parse().ok()?))
        };
        let position = match text.split_once('-') {
            Some((from, to)) => {
                pair(from).zip(pair(to)).map(|((line, column), end)| (line, column, Some(end)))
            }
            None => pair(text).map(|(line, column)| (line, column, None)),
        };
        let Some((line, column, end)) = position else {
            self.problem(TextProblem::Number { text: text.to_owned() }, span(start, self.at));
            return Lexeme::Datum(Datum::Int(0));
        };
        Lexeme::Datum(Datum::Position(SourcePosition { line, column, end }))
    }

    /// The bytes of a string; `opening` is the length of what opens it.
    fn quoted(&mut self, opening: usize) -> Option<Vec<u8>> {
        let start = self.at;
        let mut bytes = Vec::new();
        self.at += opening;
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(['"', '\\', '\n']).unwrap_or(rest.len());
            bytes.extend_from_slice(&rest.as_bytes()[..plain]);
            self.at += plain;
            match rest.as_bytes().get(plain) {
                Some(b'"') => {
                    self.at += 1;
                    return Some(bytes);
                }
                Some(b'\\') => self.escape(&mut bytes),
                _ => {
                    self.problem(TextProblem::UnterminatedString, span(start, self.at));
                    return None;
                }
            }
        }
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) {
        let start = self.at;
        let rest = &self.text[start + 1..];
        let (length, value) = match rest.as_bytes().first() {
            Some(b'n') => (1, Some('\n')),
            Some(b'r') => (1, Some('\r')),
            Some(b't') => (1, Some('\t')),
            Some(b'"') => (1, Some('"')),
            Some(b'\\') => (1, Some('\\')),
            Some(b'x') => {
                let byte = rest.get(1..3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
                if let Some(byte) = byte {
                    bytes.push(byte);
                    self.at += 4;
                    return;
                }
                (1, None)
            }
            Some(b'u') => {
                let digits = rest.strip_prefix("u{").and_then(|rest| rest.split_once('}')).map(|(d, _)| d);
                let value = digits.and_then(|d| u32::from_str_radix(d, 16).ok()).and_then(char::from_u32);
                (digits.map_or(1, |digits| digits.len() + 3), value)
            }
            _ => (0, None),
        };
        self.at += 1 + length;
        match value {
            Some(character) => bytes.extend(character.encode_utf8(&mut [0; 4]).bytes()),
            None => self.problem(TextProblem::Escape, span(start, self.at)),
        }
    }
}

pub(super) fn span(start: usize, end: usize) -> Span {
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span { start: place(start), end: place(end) }
}
