//! Lines and Cursor: a text line by line, and one line from left to right.
//!
//! Blanks separate tokens and mean nothing else; `#` begins a comment; lines without tokens are
//! passed over. A cursor is a position and cheap to copy: keep one from before a token to point an
//! error at the token.

use crate::program::text::error::{Position, ProgramTextError};
use crate::value::repr::write_text;

/// The result of reading something.
pub(super) type Read<T> = Result<T, ProgramTextError>;

/// The lines of a text that say something.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    rest: Option<&'a str>,
    number: u32,
    current: Cursor<'a>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Lines<'a> {
        let current = Cursor { line: "", number: 0, at: 0, end_of_text: true };
        let mut lines = Lines { rest: Some(text), number: 0, current };
        lines.advance();
        lines
    }

    /// The start of the line to be read next; of an empty one at the end of the text.
    pub(super) fn current(&self) -> Cursor<'a> {
        self.current
    }

    /// Takes the line to be read next.
    pub(super) fn take(&mut self) -> Cursor<'a> {
        let line = self.current;
        self.advance();
        line
    }

    /// True if the next line begins with this word.
    pub(super) fn at_word(&self, word: &str) -> bool {
        self.current.peek() == word
    }

    /// True if the text has ended.
    pub(super) fn at_end(&self) -> bool {
        self.current.end_of_text
    }

    fn advance(&mut self) {
        self.current = loop {
            let Some(rest) = self.rest else {
                break Cursor { line: "", number: self.number, at: 0, end_of_text: true };
            };
            self.number += 1;
            let line = rest.split('\n').next().unwrap_or(rest);
            self.rest = rest.get(line.len() + 1..);
            let mut cursor = Cursor { line, number: self.number, at: 0, end_of_text: false };
            if !cursor.is_done() {
                break cursor;
            }
        };
    }
}

/// A position in a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    line: &'a str,
    number: u32,
    at: usize,
    end_of_text: bool,
}

impl<'a> Cursor<'a> {
    /// Number of the line.
    pub(super) fn line(&self) -> u32 {
        self.number
    }

    /// Where the next token begins.
    pub(super) fn position(mut self) -> Position {
        self.skip_blanks();
        Position { line: self.number, column: self.line[..self.at].chars().count() as u32 + 1 }
    }

    /// True if nothing but a comment follows.
    pub(super) fn is_done(&mut self) -> bool {
        self.skip_blanks();
        self.rest().is_empty() || self.rest().starts_with('#')
    }

    /// Requires that nothing but a comment follows.
    pub(super) fn done(mut self) -> Read<()> {
        if self.is_done() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }

    /// Passes a symbol if it stands here.
    pub(super) fn eat(&mut self, symbol: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    /// Passes a symbol that must stand here.
    pub(super) fn expect(&mut self, symbol: &str) -> Read<()> {
        if self.eat(symbol) { Ok(()) } else { Err(self.expected(format!("`{symbol}`"))) }
    }

    /// Passes a word that must stand here.
    pub(super) fn keyword(&mut self, keyword: &str) -> Read<()> {
        let start = *self;
        if self.word() == keyword { Ok(()) } else { Err(start.expected(format!("`{keyword}`"))) }
    }

    /// Takes letters, digits and underscores; nothing if something else stands here.
    pub(super) fn word(&mut self) -> &'a str {
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// The word that stands here, without taking it.
    pub(super) fn peek(mut self) -> &'a str {
        self.word()
    }

    /// Takes the characters up to the first that is not wanted.
    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        self.skip_blanks();
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !wanted(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    /// The rest of the line.
    pub(super) fn remaining(&self) -> &'a str {
        self.rest()
    }

    /// Passes this many bytes, which end between two characters.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Takes one character, blank or not.
    pub(super) fn character(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Takes a decimal number.
    pub(super) fn number(&mut self, what: &str) -> Read<u32> {
        let start = *self;
        let digits = self.take_while(|c| c.is_ascii_digit());
        digits.parse().map_err(|_| start.expected(what))
    }

    /// Takes a number with a letter before it, such as `v12`.
    pub(super) fn id(&mut self, letter: char) -> Read<u32> {
        let start = *self;
        let digits = self.word().strip_prefix(letter).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
        digits
            .and_then(|d| d.parse().ok())
            .ok_or_else(|| start.expected(format!("a number such as `{letter}0`")))
    }

    /// Passes the number that a list has reached and a colon, such as `v12:`.
    pub(super) fn numbered(&mut self, letter: char, number: usize) -> Read<()> {
        let start = *self;
        let wrong = || start.expected(format!("`{letter}{number}:`"));
        match self.id(letter) {
            Ok(found) if found as usize == number && self.eat(":") => Ok(()),
            _ => Err(wrong()),
        }
    }

    /// Takes an offset, such as `[0x1A]`.
    pub(super) fn offset(&mut self) -> Read<u32> {
        self.expect("[")?;
        let start = *self;
        let digits = self.word().strip_prefix("0x").filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let offset = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let offset = offset.ok_or_else(|| start.expected("an offset such as `0x10`"))?;
        self.expect("]")?;
        Ok(offset)
    }

    /// The error that something else was expected here.
    pub(super) fn expected(self, expected: impl Into<String>) -> ProgramTextError {
        ProgramTextError::Expected { at: self.position(), expected: expected.into(), found: self.found() }
    }

    /// What stands here, for a message.
    fn found(mut self) -> String {
        const LONGEST: usize = 40;
        if self.end_of_text {
            return "the end of the text".to_owned();
        }
        if self.is_done() {
            return "the end of the line".to_owned();
        }
        let word = self.take_while(|c| c.is_alphanumeric() || "_.+-".contains(c));
        let end = word.char_indices().nth(LONGEST).map_or(word.len(), |(end, _)| end);
        let mut found = String::new();
        match self.rest().chars().next().filter(|_| word.is_empty()) {
            Some(symbol) => write_text(&mut found, symbol.encode_utf8(&mut [0; 4])),
            None => write_text(&mut found, &word[..end]),
        }
        found.push_str(if end < word.len() { "…" } else { "" });
        found
    }

    fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at = self.line.len() - self.rest().trim_start_matches([' ', '\t', '\r']).len();
    }
}
