//! Text to tokens: indentation becomes tokens, line ends in brackets vanish.
//!
//! ```text
//! if a:            If Name Colon Newline
//!     b = (1,      Indent Name Equal ParenOpen Number Comma
//!          2)      Number ParenClose Newline
//!                  Dedent End
//! ```
//!
//! One pass over the bytes. An error becomes a finding and a [`PyToken::Broken`], so that the parser goes on. A
//! line that begins with a keyword of statements closes all brackets: one of them was forgotten.

use crate::python::error::{PythonError, PythonProblem};
use crate::python::token::PyToken;
use cembra_vm::program::instruction::Span;

/// A token and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedToken {
    /// What it is.
    pub token: PyToken,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl PlacedToken {
    /// Its place.
    pub fn span(self) -> Span {
        Span { start: self.start, end: self.end }
    }
}

/// Levels of indentation, as in CPython.
const MAX_INDENTATION: usize = 100;

/// Findings that are kept.
const MAX_ERRORS: usize = 1000;

/// Levels of brackets.
const MAX_BRACKETS: usize = 250;

/// The tokens of a text, with `Newline` before `End`, and what is wrong with them.
pub(super) fn tokens(text: &str) -> (Vec<PlacedToken>, Vec<PythonError>) {
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        at: if text.starts_with('\u{feff}') { 3 } else { 0 },
        tokens: Vec::with_capacity(text.len() / 3 + 4),
        errors: Vec::new(),
        brackets: Vec::new(),
        indents: vec![Indentation::default()],
    };
    lexer.read();
    (lexer.tokens, lexer.errors)
}

/// Width of a line's indentation, where a tab ends at the next multiple of 8, and where it is one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Indentation {
    wide: u32,
    narrow: u32,
}

struct Lexer<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    tokens: Vec<PlacedToken>,
    errors: Vec<PythonError>,
    /// Open brackets and their places.
    brackets: Vec<(PyToken, u32)>,
    indents: Vec<Indentation>,
}

impl Lexer<'_> {
    fn read(&mut self) {
        self.line_start();
        while let Some(byte) = self.bytes.get(self.at).copied() {
            match byte {
                b' ' | b'\t' | 0x0c => self.at += 1,
                b'\n' | b'\r' => self.line_end(),
                b'#' => self.comment(),
                b'\\' => self.continuation(),
                _ => self.token(byte),
            }
        }
        for (bracket, at) in std::mem::take(&mut self.brackets) {
            self.unclosed(bracket, at);
        }
        let end = self.at;
        if self.tokens.last().is_some_and(|last| !matches!(last.token, PyToken::Newline | PyToken::Dedent)) {
            self.push(PyToken::Newline, end);
        }
        for _ in 1..self.indents.len() {
            self.push(PyToken::Dedent, end);
        }
        self.push(PyToken::End, end);
    }

    fn push(&mut self, token: PyToken, start: usize) {
        self.tokens.push(PlacedToken { token, start: start as u32, end: self.at as u32 });
    }

    fn error(&mut self, problem: PythonProblem, start: usize, end: usize) {
        let span = Span { start: start as u32, end: end as u32 };
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(PythonError { problem, span });
        }
    }

    fn unclosed(&mut self, bracket: PyToken, at: u32) {
        let bracket = bracket.text().and_then(|text| text.chars().next()).unwrap_or('(');
        self.error(PythonProblem::Unclosed { bracket }, at as usize, at as usize + 1);
    }

    fn comment(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len());
    }

    fn skip_line_end(&mut self) {
        let is_pair = self.bytes[self.at] == b'\r' && self.bytes.get(self.at + 1) == Some(&b'\n');
        self.at += 1 + usize::from(is_pair);
    }

    fn line_end(&mut self) {
        let start = self.at;
        if self.brackets.is_empty() {
            self.push(PyToken::Newline, start);
        }
        self.skip_line_end();
        match self.brackets.is_empty() {
            true => self.line_start(),
            false => self.forgotten_bracket(),
        }
    }

    /// In brackets: does the line begin like a statement?
    fn forgotten_bracket(&mut self) {
        let mut at = self.at;
        while matches!(self.bytes.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        let length = self.bytes[at..].iter().take_while(|b| b.is_ascii_lowercase()).count();
        let behind = self.bytes.get(at + length);
        let is_word =
            length > 0 && behind.is_none_or(|b| !(b.is_ascii_alphanumeric() || *b == b'_' || *b == b'='));
        let word = PyToken::keyword(&self.text[at..at + length]).filter(|_| is_word);
        if word.is_some_and(PyToken::begins_only_statements) {
            for (bracket, place) in std::mem::take(&mut self.brackets) {
                self.unclosed(bracket, place);
            }
            let end = self.at;
            self.push(PyToken::Newline, end);
            self.line_start();
        }
    }

    /// A backslash joins the next line.
    fn continuation(&mut self) {
        if !matches!(self.bytes.get(self.at + 1), Some(b'\n' | b'\r')) {
            let start = self.at;
            self.at += 1;
            self.error(PythonProblem::Continuation, start, start + 1);
            return self.push(PyToken::Broken, start);
        }
        self.join_line();
    }

    /// Takes a backslash and the line end behind it; there must be a line to join.
    fn join_line(&mut self) {
        let start = self.at;
        self.at += 1;
        self.skip_line_end();
        if self.at == self.bytes.len() {
            self.error(PythonProblem::Continuation, start, start + 1);
        }
    }

    /// Measures the indentation of the next line that holds more than a comment.
    fn line_start(&mut self) {
        loop {
            let (mut width, mut joined) = (Indentation::default(), None);
            while let Some(byte) = self.bytes.get(self.at) {
                match byte {
                    b' ' => width = Indentation { wide: width.wide + 1, narrow: width.narrow + 1 },
                    b'\t' => width = Indentation { wide: (width.wide / 8 + 1) * 8, narrow: width.narrow + 1 },
                    0x0c => width = Indentation::default(),
                    // Of lines that are joined the first with an indentation counts.
                    b'\\' if matches!(self.bytes.get(self.at + 1), Some(b'\n' | b'\r')) => {
                        joined = joined.or((width != Indentation::default()).then_some(width));
                        self.join_line();
                        continue;
                    }
                    _ => break,
                }
                self.at += 1;
            }
            match self.bytes.get(self.at) {
                Some(b'#') => self.comment(),
                Some(b'\n' | b'\r') => self.skip_line_end(),
                Some(_) => return self.indent(joined.unwrap_or(width)),
                None => return,
            }
        }
    }

    fn indent(&mut self, width: Indentation) {
        let start = self.at;
        let innermost = self.innermost();
        if width.wide > innermost.wide {
            if width.narrow <= innermost.narrow {
                self.error(PythonProblem::InconsistentTabs, start, start);
            }
            if self.indents.len() > MAX_INDENTATION {
                let (actual, limit) = (self.indents.len(), MAX_INDENTATION);
                let problem = PythonProblem::Limit { name: "indentation-levels", actual, limit };
                return self.error(problem, start, start);
            }
            self.indents.push(width);
            return self.push(PyToken::Indent, start);
        }
        while width.wide < self.innermost().wide {
            self.indents.pop();
            self.push(PyToken::Dedent, start);
        }
        if width.wide != self.innermost().wide {
            self.error(PythonProblem::Unindent, start, start);
        } else if width.narrow != self.innermost().narrow {
            self.error(PythonProblem::InconsistentTabs, start, start);
        }
    }

    fn innermost(&self) -> Indentation {
        self.indents.last().copied().unwrap_or_default()
    }

    fn token(&mut self, first: u8) {
        let start = self.at;
        let second = self.bytes.get(start + 1).copied().unwrap_or(0);
        match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
            b'0'..=b'9' => self.number(),
            b'.' if second.is_ascii_digit() => self.number(),
            b'"' | b'\'' => self.string(start),
            0x80.. => self.word(),
            _ => self.sign(first, second),
        }
    }

    fn word(&mut self) {
        let start = self.at;
        let rest = &self.bytes[start..];
        let length =
            rest.iter().position(|b| !(b.is_ascii_alphanumeric() || *b == b'_')).unwrap_or(rest.len());
        self.at += length;
        match self.bytes.get(self.at) {
            Some(b'"' | b'\'') if is_prefix(&self.bytes[start..self.at]) => {
                return self.string(start);
            }
            Some(0x80..) => return self.wide_word(start),
            _ => {}
        }
        let word = &self.text[start..self.at];
        // The longest keyword has eight letters.
        let keyword = if length <= 8 { PyToken::keyword(word) } else { None };
        self.push(keyword.unwrap_or(PyToken::Name), start);
    }

    /// A name with letters beyond ASCII.
    fn wide_word(&mut self, start: usize) {
        let rest = &self.text[start..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let begins_well = rest.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if end == 0 || !begins_well {
            let character = rest.chars().next().unwrap_or_default();
            self.at = start + character.len_utf8();
            let end = self.at;
            self.error(PythonProblem::Character { character }, start, end);
            return self.push(PyToken::Broken, start);
        }
        self.at = start + end;
        self.push(PyToken::Name, start);
    }

    /// Takes the letters and digits of a number; the parser reads them.
    fn number(&mut self) {
        let start = self.at;
        let is_based = self.bytes[start] == b'0'
            && matches!(self.bytes.get(start + 1), Some(b'x' | b'X' | b'o' | b'O' | b'b' | b'B'));
        let (mut at, mut may_have_point) = (start, !is_based);
        while let Some(byte) = self.bytes.get(at) {
            let is_exponent = !is_based && matches!(byte, b'e' | b'E');
            at += match byte {
                b'.' if !may_have_point => break,
                _ if is_exponent
                    && matches!(self.bytes.get(at + 1), Some(b'+' | b'-'))
                    && self.bytes.get(at + 2).is_some_and(u8::is_ascii_digit) =>
                {
                    2
                }
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'.' => 1,
                _ => break,
            };
            // `1..real` is an attribute of `1.`, and `1e5.real` of `1e5`.
            may_have_point &= byte.is_ascii_digit() || *byte == b'_';
        }
        self.at = self.before_keyword(start, at);
        self.push(PyToken::Number, start);
    }

    /// `1if x else 2`: a keyword may follow a number without a space.
    fn before_keyword(&self, start: usize, end: usize) -> usize {
        const WORDS: [&[u8]; 8] = [b"if", b"in", b"is", b"or", b"and", b"not", b"else", b"for"];
        let number = &self.bytes[start..end];
        let is_hexadecimal = matches!(number, [b'0', b'x' | b'X', ..]);
        let word = WORDS.into_iter().find(|word| {
            let before = number.len().checked_sub(word.len() + 1).and_then(|at| number.get(at));
            number.ends_with(word) && before.is_some_and(|b| b.is_ascii_digit() || *b == b'.')
        });
        end - word.filter(|_| !is_hexadecimal).map_or(0, <[u8]>::len)
    }

    /// A string whose prefix begins at `start`.
    fn string(&mut self, start: usize) {
        let quote = self.bytes[self.at];
        let is_triple = self.bytes[self.at..].starts_with(&[quote; 3]);
        let length = if is_triple { 3 } else { 1 };
        self.at += length;
        loop {
            match self.bytes.get(self.at) {
                // A backslash keeps its quote even in a raw string.
                Some(b'\\') => {
                    self.at += 1;
                    if let Some(next) = self.text[self.at..].chars().next() {
                        self.at += next.len_utf8();
                    }
                }
                Some(byte) if *byte == quote => {
                    if !is_triple || self.bytes[self.at..].starts_with(&[quote; 3]) {
                        self.at += length;
                        return self.push(PyToken::String, start);
                    }
                    self.at += 1;
                }
                Some(b'\n' | b'\r') if !is_triple => break,
                Some(_) => self.at += 1,
                None => break,
            }
        }
        let end = self.at;
        self.error(PythonProblem::UnterminatedString, start, end.min(self.first_line_end(start)));
        self.push(PyToken::Broken, start);
    }

    fn first_line_end(&self, start: usize) -> usize {
        let rest = &self.bytes[start..];
        start + rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len())
    }

    fn sign(&mut self, first: u8, second: u8) {
        let start = self.at;
        let third = self.bytes.get(start + 2).copied().unwrap_or(0);
        let (token, length) = match (first, second, third) {
            (b'(', ..) => (PyToken::ParenOpen, 1),
            (b')', ..) => (PyToken::ParenClose, 1),
            (b'[', ..) => (PyToken::SquareOpen, 1),
            (b']', ..) => (PyToken::SquareClose, 1),
            (b'{', ..) => (PyToken::BraceOpen, 1),
            (b'}', ..) => (PyToken::BraceClose, 1),
            (b',', ..) => (PyToken::Comma, 1),
            (b':', b'=', _) => (PyToken::ColonEqual, 2),
            (b':', ..) => (PyToken::Colon, 1),
            (b';', ..) => (PyToken::Semicolon, 1),
            (b'.', b'.', b'.') => (PyToken::Ellipsis, 3),
            (b'.', ..) => (PyToken::Dot, 1),
            (b'-', b'>', _) => (PyToken::Arrow, 2),
            (b'-', b'=', _) => (PyToken::MinusEqual, 2),
            (b'-', ..) => (PyToken::Minus, 1),
            (b'+', b'=', _) => (PyToken::PlusEqual, 2),
            (b'+', ..) => (PyToken::Plus, 1),
            (b'*', b'*', b'=') => (PyToken::DoubleStarEqual, 3),
            (b'*', b'*', _) => (PyToken::DoubleStar, 2),
            (b'*', b'=', _) => (PyToken::StarEqual, 2),
            (b'*', ..) => (PyToken::Star, 1),
            (b'/', b'/', b'=') => (PyToken::DoubleSlashEqual, 3),
            (b'/', b'/', _) => (PyToken::DoubleSlash, 2),
            (b'/', b'=', _) => (PyToken::SlashEqual, 2),
            (b'/', ..) => (PyToken::Slash, 1),
            (b'%', b'=', _) => (PyToken::PercentEqual, 2),
            (b'%', ..) => (PyToken::Percent, 1),
            (b'@', b'=', _) => (PyToken::AtEqual, 2),
            (b'@', ..) => (PyToken::At, 1),
            (b'=', b'=', _) => (PyToken::EqualEqual, 2),
            (b'=', ..) => (PyToken::Equal, 1),
            (b'!', b'=', _) => (PyToken::NotEqual, 2),
            (b'<', b'<', b'=') => (PyToken::ShiftLeftEqual, 3),
            (b'<', b'<', _) => (PyToken::ShiftLeft, 2),
            (b'<', b'=', _) => (PyToken::LessEqual, 2),
            (b'<', ..) => (PyToken::Less, 1),
            (b'>', b'>', b'=') => (PyToken::ShiftRightEqual, 3),
            (b'>', b'>', _) => (PyToken::ShiftRight, 2),
            (b'>', b'=', _) => (PyToken::GreaterEqual, 2),
            (b'>', ..) => (PyToken::Greater, 1),
            (b'|', b'=', _) => (PyToken::PipeEqual, 2),
            (b'|', ..) => (PyToken::Pipe, 1),
            (b'^', b'=', _) => (PyToken::CaretEqual, 2),
            (b'^', ..) => (PyToken::Caret, 1),
            (b'&', b'=', _) => (PyToken::AmpersandEqual, 2),
            (b'&', ..) => (PyToken::Ampersand, 1),
            (b'~', ..) => (PyToken::Tilde, 1),
            _ => {
                self.error(PythonProblem::Character { character: char::from(first) }, start, start + 1);
                (PyToken::Broken, 1)
            }
        };
        self.at += length;
        self.bracket(token, start);
        self.push(token, start);
    }

    /// Keeps the stack of open brackets.
    fn bracket(&mut self, token: PyToken, start: usize) {
        let opening = match token {
            PyToken::ParenOpen | PyToken::SquareOpen | PyToken::BraceOpen => {
                if self.brackets.len() == MAX_BRACKETS {
                    let (actual, limit) = (MAX_BRACKETS + 1, MAX_BRACKETS);
                    self.error(PythonProblem::Limit { name: "nesting", actual, limit }, start, start + 1);
                }
                return self.brackets.push((token, start as u32));
            }
            PyToken::ParenClose => PyToken::ParenOpen,
            PyToken::SquareClose => PyToken::SquareOpen,
            PyToken::BraceClose => PyToken::BraceOpen,
            _ => return,
        };
        if self.brackets.last().is_some_and(|(open, _)| *open == opening) {
            self.brackets.pop();
            return;
        }
        let bracket = char::from(self.bytes[start]);
        self.error(PythonProblem::Unopened { bracket }, start, start + 1);
        // The outermost bracket of this kind was meant, if there is one.
        if let Some(at) = self.brackets.iter().rposition(|(open, _)| *open == opening) {
            self.brackets.truncate(at);
        }
    }
}

/// True for the letters before a string.
fn is_prefix(word: &[u8]) -> bool {
    let lower: Vec<u8> = word.iter().take(3).map(u8::to_ascii_lowercase).collect();
    matches!(&lower[..], b"r" | b"u" | b"b" | b"f" | b"br" | b"rb" | b"fr" | b"rf")
}
