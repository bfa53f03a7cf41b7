//! What stands behind a backslash or in brackets in a pattern.

use crate::builtins::strings::re2::{PatternError, Translator};
use crate::builtins::strings::re2_classes::{NOTHING, POSIX, push_range, unicode_name};
use std::fmt::Write;

impl Translator<'_> {
    /// What begins with `\`, outside of brackets.
    pub(super) fn escaped(&mut self) -> Result<(), PatternError> {
        let start = self.at;
        let second = self.rest().chars().nth(1);
        if let Some('Q') = second {
            self.skip(2);
            let quoted = self.rest().split("\\E").next().unwrap_or_default();
            quoted.chars().for_each(|c| self.literal(u32::from(c)));
            self.skip(quoted.len());
            self.skip(if self.rest().is_empty() { 0 } else { 2 });
            return Ok(());
        }
        let position = match second {
            Some('A') => Some("\\A"),
            Some('z') => Some("\\z"),
            Some('b') => Some("(?-u:\\b)"),
            Some('B') => Some("(?-u:\\B)"),
            Some('C') => {
                self.skip(2);
                return Err(self.error_since("unsupported escape sequence", start));
            }
            _ => None,
        };
        if let Some(position) = position {
            self.skip(1);
            self.simple(position);
            return Ok(());
        }
        match self.class_escape()? {
            Some(class) => {
                let _ = write!(self.out, "[{class}]");
                self.end_atom(1);
            }
            None => {
                let code = self.character_escape()?;
                self.literal(code);
            }
        }
        Ok(())
    }

    /// `\d`, `\pN`, `\p{Greek}` and the like, if one stands here, as a part of brackets.
    fn class_escape(&mut self) -> Result<Option<String>, PatternError> {
        let start = self.at;
        let Some(letter) = self.rest().chars().nth(1) else { return Ok(None) };
        let ranges = match letter.to_ascii_lowercase() {
            'd' => "0-9",
            's' => "\\t\\n\\x{C}\\r\\x{20}",
            'w' => "0-9A-Za-z_",
            'p' => {
                let is_negated = letter == 'P';
                self.skip(2);
                return self.unicode_class(start, is_negated).map(Some);
            }
            _ => return Ok(None),
        };
        self.skip(2);
        let hat = if letter.is_ascii_uppercase() { "^" } else { "" };
        Ok(Some(format!("[{hat}{ranges}]")))
    }

    /// The name behind `\p`.
    fn unicode_class(&mut self, start: usize, is_negated: bool) -> Result<String, PatternError> {
        let what = "invalid character class range";
        let name = match self.next() {
            Some('{') => match self.rest().find('}') {
                Some(length) => {
                    let name = &self.rest()[..length];
                    self.skip(length + 1);
                    name
                }
                None => return Err(self.error(what, start, self.pattern.len())),
            },
            Some(c) => &self.pattern[self.at - c.len_utf8()..self.at],
            None => return Err(self.error_since(what, start)),
        };
        let (name, is_negated) = match name.strip_prefix('^') {
            Some(name) => (name, !is_negated),
            None => (name, is_negated),
        };
        let hat = if is_negated { "^" } else { "" };
        match unicode_name(name) {
            Some(class) => Ok(format!("[{hat}{class}]")),
            None => Err(self.error_since(what, start)),
        }
    }

    /// `\n`, `\x{e9}`, `\.` and the like: a code, which may be a surrogate.
    fn character_escape(&mut self) -> Result<u32, PatternError> {
        let start = self.at;
        self.skip(1);
        let Some(c) = self.next() else { return Err(self.error_since("trailing", start)) };
        let code = match c {
            '0'..='7' => self.octal(c),
            'x' => self.hexadecimal(),
            'a' => Some(7),
            'f' => Some(12),
            'n' => Some(10),
            'r' => Some(13),
            't' => Some(9),
            'v' => Some(11),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(u32::from(c)),
            _ => None,
        };
        code.ok_or_else(|| self.error_since("invalid escape sequence", start))
    }

    /// A digit and up to two more; one that is not 0 does not stand alone, as that would be a reference to a group.
    fn octal(&mut self, first: char) -> Option<u32> {
        let is_octal = |c: char| c.is_digit(8);
        if first != '0' && !self.peek().is_some_and(is_octal) {
            return None;
        }
        let mut code = first.to_digit(8)?;
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
            code = code * 8 + digit;
            self.skip(1);
        }
        Some(code)
    }

    /// Two digits, or any number of them in braces.
    fn hexadecimal(&mut self) -> Option<u32> {
        let digit = |translator: &mut Self| translator.next()?.to_digit(16);
        if !self.rest().starts_with('{') {
            return Some(digit(self)? * 16 + digit(self)?);
        }
        self.skip(1);
        let mut code = digit(self)?;
        while self.peek() != Some('}') {
            code = Some(code * 16 + digit(self)?).filter(|code| *code <= u32::from(char::MAX))?;
        }
        self.skip(1);
        Some(code)
    }

    /// `[…]`.
    pub(super) fn bracketed(&mut self) -> Result<(), PatternError> {
        let start = self.at;
        self.skip(1);
        self.out.push('[');
        if self.rest().starts_with('^') {
            self.skip(1);
            self.out.push('^');
        }
        let (first, empty) = (self.at, self.out.len());
        loop {
            match self.peek() {
                None => return Err(self.error_since("missing ]", start)),
                Some(']') if self.at > first => break,
                Some('[') if self.posix_class()? => {}
                Some('\\') => match self.class_escape()? {
                    Some(class) => self.out.push_str(&class),
                    None => self.range(start)?,
                },
                Some(_) => self.range(start)?,
            }
        }
        self.skip(1);
        if self.out.len() == empty {
            self.out.push_str(NOTHING);
        }
        self.out.push(']');
        self.end_atom(1);
        Ok(())
    }

    /// A character of brackets, or a range of them.
    fn range(&mut self, bracket: usize) -> Result<(), PatternError> {
        let start = self.at;
        let low = self.range_end(bracket)?;
        let mut high = low;
        let is_range = self.rest().starts_with('-') && !self.rest().starts_with("-]");
        if is_range && self.rest().len() > 1 {
            self.skip(1);
            high = self.range_end(bracket)?;
        }
        if high < low {
            return Err(self.error_since("invalid character class range", start));
        }
        push_range(&mut self.out, low, high, false);
        Ok(())
    }

    fn range_end(&mut self, bracket: usize) -> Result<u32, PatternError> {
        match self.peek() {
            Some('\\') => self.character_escape(),
            Some(_) => Ok(self.next().map_or(0, u32::from)),
            None => Err(self.error_since("missing ]", bracket)),
        }
    }

    /// Reads `[:alpha:]` if one stands here.
    fn posix_class(&mut self) -> Result<bool, PatternError> {
        let start = self.at;
        let Some(name) = self.rest().strip_prefix("[:") else { return Ok(false) };
        let Some(length) = name.find(":]") else { return Ok(false) };
        self.skip(length + 4);
        let (name, hat) = match name[..length].strip_prefix('^') {
            Some(name) => (name, "^"),
            None => (&name[..length], ""),
        };
        match POSIX.iter().find(|(posix, _)| *posix == name) {
            Some((_, ranges)) => {
                let _ = write!(self.out, "[{hat}{ranges}]");
                Ok(true)
            }
            None => Err(self.error_since("invalid character class range", start)),
        }
    }
}
