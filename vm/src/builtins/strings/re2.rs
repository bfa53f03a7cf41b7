//! RE2 syntax: a pattern as it is written, checked, and written again for the engine of `regex-automata`.
//!
//! ```text
//! RE2          (?U)\d+-[[:alpha:]]{2}     a{,3}     \Qa.b\E     [a&&b]
//! the engine   [0-9]+?-[A-Za-z]{2}        a\{,3\}   a\.b        [a\&\&b]
//! ```
//!
//! Both match the leftmost alternative first and in linear time, but their languages differ: `\d`, `\w`, `\s` and `\b` are
//! about ASCII in RE2, `[` and `&&` are ordinary characters of a class, `{` may be one anywhere, and flags and names of classes are
//! others. The result uses only what both have in common, with every class spelled out; of the flags, only `i` is left.
//!
//! Left out is `\C`, one byte: rows of texts consist of characters. More than 100 groups in each other are refused.

use crate::builtins::strings::re2_classes::push_range;

/// Why a pattern is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// What is wrong, in the words of RE2.
    pub what: &'static str,
    /// The part of the pattern.
    pub part: String,
    /// Number of the character where the part begins, from 0.
    pub at: usize,
}

impl std::fmt::Display for PatternError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.part.is_empty() {
            true => f.write_str(self.what),
            false => write!(f, "{} `{}` at character {}", self.what, self.part, self.at),
        }
    }
}

/// A pattern for the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated {
    /// The pattern.
    pub pattern: String,
    /// Number of groups that capture.
    pub groups: usize,
}

/// Most groups in each other.
const MAX_DEPTH: usize = 100;

/// Greatest number of a repetition, and greatest product of those in each other.
const MAX_REPEAT: u32 = 1000;

/// Translates a pattern.
///
/// # Errors
/// It is not well formed.
pub fn translate(pattern: &str) -> Result<Translated, PatternError> {
    let mut translator = Translator {
        pattern,
        at: 0,
        out: String::with_capacity(pattern.len() * 2),
        flags: Flags::default(),
        open: Vec::new(),
        groups: 0,
        atom: None,
        heaviest: 1,
        repeated_at: None,
    };
    translator.run()?;
    Ok(Translated { pattern: translator.out, groups: translator.groups })
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    folds_case: bool,
    has_lines: bool,
    dot_is_any: bool,
    is_lazy: bool,
}

/// A group that is open.
struct Group {
    at: usize,
    /// The flags outside.
    flags: Flags,
    /// The greatest product of repetitions outside.
    heaviest: u32,
}

/// What a repetition applies to.
#[derive(Clone, Copy)]
struct Atom {
    /// Where it ends in the result.
    end: usize,
    /// The greatest product of repetitions in it.
    weight: u32,
}

pub(super) struct Translator<'p> {
    pub(super) pattern: &'p str,
    /// What has been read.
    pub(super) at: usize,
    pub(super) out: String,
    flags: Flags,
    open: Vec<Group>,
    groups: usize,
    atom: Option<Atom>,
    heaviest: u32,
    /// Where a repetition begins that ends here.
    repeated_at: Option<usize>,
}

impl<'p> Translator<'p> {
    fn run(&mut self) -> Result<(), PatternError> {
        while let Some(c) = self.peek() {
            let (start, repeated_at) = (self.at, self.repeated_at.take());
            match c {
                '(' if self.rest().starts_with("(?") => self.perl_group()?,
                '(' => {
                    self.skip(1);
                    self.open_group(start, "(", self.flags)?;
                    self.groups += 1;
                }
                ')' => self.close_group()?,
                '|' => {
                    self.skip(1);
                    self.out.push('|');
                    self.atom = None;
                }
                '*' | '+' | '?' => {
                    self.skip(1);
                    self.repetition(start, repeated_at, None)?;
                }
                '{' => match self.counts() {
                    Some(counts) => self.repetition(start, repeated_at, Some(counts))?,
                    None => self.literal_here(),
                },
                '^' => self.simple(if self.flags.has_lines { "(?m:^)" } else { "\\A" }),
                '$' => self.simple(if self.flags.has_lines { "(?m:$)" } else { "\\z" }),
                '.' => self.simple(if self.flags.dot_is_any { "(?s:.)" } else { "[^\\n]" }),
                '[' => self.bracketed()?,
                '\\' => self.escaped()?,
                _ => self.literal_here(),
            }
        }
        match self.open.last() {
            Some(group) => Err(self.error("missing )", group.at, self.pattern.len())),
            None => Ok(()),
        }
    }

    pub(super) fn rest(&self) -> &'p str {
        &self.pattern[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// An error about the part of the pattern from `start` to `end`, which may be cut.
    pub(super) fn error(&self, what: &'static str, start: usize, end: usize) -> PatternError {
        const LONGEST: usize = 60;
        let part = &self.pattern[start..end];
        let part = match part.char_indices().nth(LONGEST) {
            Some((cut, _)) => format!("{}…", &part[..cut]),
            None => part.to_owned(),
        };
        PatternError { what, part, at: self.pattern[..start].chars().count() }
    }

    /// The error about what has been read since `start`.
    pub(super) fn error_since(&self, what: &'static str, start: usize) -> PatternError {
        self.error(what, start, self.at)
    }

    /// What has been written last is something to repeat.
    pub(super) fn end_atom(&mut self, weight: u32) {
        self.atom = Some(Atom { end: self.out.len(), weight });
        self.heaviest = self.heaviest.max(weight);
    }

    /// One character that means what is written instead.
    pub(super) fn simple(&mut self, written: &str) {
        self.skip(1);
        self.out.push_str(written);
        self.end_atom(1);
    }

    fn literal_here(&mut self) {
        if let Some(c) = self.next() {
            self.literal(u32::from(c));
        }
    }

    pub(super) fn literal(&mut self, code: u32) {
        push_range(&mut self.out, code, code, true);
        self.end_atom(1);
    }

    fn open_group(&mut self, at: usize, written: &str, inside: Flags) -> Result<(), PatternError> {
        if self.open.len() == MAX_DEPTH {
            return Err(self.error_since("more than 100 groups in each other:", at));
        }
        self.out.push_str(written);
        self.open.push(Group { at, flags: self.flags, heaviest: self.heaviest });
        self.set_flags(inside);
        self.atom = None;
        self.heaviest = 1;
        Ok(())
    }

    fn close_group(&mut self) -> Result<(), PatternError> {
        let Some(group) = self.open.pop() else {
            return Err(self.error("unexpected )", self.at, self.at + 1));
        };
        self.skip(1);
        self.out.push(')');
        self.flags = group.flags;
        let weight = std::mem::replace(&mut self.heaviest, group.heaviest);
        self.end_atom(weight);
        Ok(())
    }

    fn set_flags(&mut self, flags: Flags) {
        if flags.folds_case != self.flags.folds_case {
            self.out.push_str(if flags.folds_case { "(?i)" } else { "(?-i)" });
        }
        self.flags = flags;
    }

    /// `(?P<name>`, `(?<name>`, `(?flags)` or `(?flags:`.
    fn perl_group(&mut self) -> Result<(), PatternError> {
        let (start, rest) = (self.at, self.rest());
        for begin in ["(?P<", "(?<"] {
            let is_look_behind = rest.starts_with("(?<=") || rest.starts_with("(?<!");
            if let Some(name) = rest.strip_prefix(begin).filter(|_| !is_look_behind) {
                return self.named_group(start, begin.len(), name);
            }
        }
        self.skip(2);
        let (mut flags, mut value, mut is_open_ended) = (self.flags, true, false);
        loop {
            let c = self.next();
            let flag = match c {
                Some('i') => &mut flags.folds_case,
                Some('m') => &mut flags.has_lines,
                Some('s') => &mut flags.dot_is_any,
                Some('U') => &mut flags.is_lazy,
                Some('-') if value => {
                    (value, is_open_ended) = (false, true);
                    continue;
                }
                Some(end @ (':' | ')')) if !is_open_ended => {
                    return match end {
                        ':' => self.open_group(start, "(?:", flags),
                        _ => {
                            self.set_flags(flags);
                            Ok(())
                        }
                    };
                }
                _ => return Err(self.error_since("invalid perl operator", start)),
            };
            (*flag, is_open_ended) = (value, false);
        }
    }

    fn named_group(&mut self, start: usize, begin: usize, name: &str) -> Result<(), PatternError> {
        let what = "invalid named capture group";
        let Some(length) = name.find('>') else {
            return Err(self.error(what, start, self.pattern.len()));
        };
        self.skip(begin + length + 1);
        let name = &name[..length];
        if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_alphanumeric()) {
            return Err(self.error_since(what, start));
        }
        self.groups += 1;
        self.open_group(start, "(", self.flags)
    }

    /// Reads `{n}`, `{n,}` or `{n,m}`; anything else is a literal brace.
    fn counts(&mut self) -> Option<(u32, Option<u32>)> {
        let inside = self.rest().strip_prefix('{')?;
        let inside = &inside[..inside.find('}')?];
        let (least, most) = match inside.split_once(',') {
            None => {
                let count = count(inside)?;
                (count, Some(count))
            }
            Some((least, "")) => (count(least)?, None),
            Some((least, most)) => (count(least)?, Some(count(most)?)),
        };
        self.skip(inside.len() + 2);
        Some((least, most))
    }

    /// A repetition that has been read but for a `?`; without counts it is the character at `start`.
    fn repetition(
        &mut self,
        start: usize,
        repeated_at: Option<usize>,
        counts: Option<(u32, Option<u32>)>,
    ) -> Result<(), PatternError> {
        let written = &self.pattern[start..self.at];
        let is_lazy = self.rest().starts_with('?');
        self.skip(usize::from(is_lazy));
        if let Some(first) = repeated_at {
            return Err(self.error_since("bad repetition operator", first));
        }
        let Some(atom) = self.atom else {
            return Err(self.error_since("no argument for repetition operator", start));
        };
        let mut weight = atom.weight;
        if let Some((least, most)) = counts {
            let greatest = most.unwrap_or(least);
            weight = weight.saturating_mul(greatest.max(1));
            let is_too_large = greatest.max(least) > MAX_REPEAT || (greatest >= 2 && weight > MAX_REPEAT);
            if is_too_large || most.is_some_and(|most| most < least) {
                return Err(self.error_since("invalid repetition size", start));
            }
        }
        let lazy = if is_lazy == self.flags.is_lazy { "" } else { "?" };
        // Behind flags, a repetition is of what stands before them.
        let written = format!("{written}{lazy}");
        self.out.insert_str(atom.end, &written);
        self.atom = Some(Atom { end: atom.end + written.len(), weight });
        self.heaviest = self.heaviest.max(weight);
        self.repeated_at = Some(start);
        Ok(())
    }
}

/// A count as RE2 reads it: digits without a leading zero, below 100 million.
fn count(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let is_short = digits.len() <= 8 && (digits.len() == 1 || !digits.starts_with('0'));
    (is_number && is_short).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_spelled_out() {
        let cases = [
            ("a.b", "a[^\\n]b"),
            ("(?s).(?-s:.)", "(?s:.)(?:[^\\n])"),
            ("(?U)a+b+?", "a+?b+"),
            ("(?m)^a$|^", "(?m:^)a(?m:$)|(?m:^)"),
            ("a(?i)*k", "a*(?i)k"),
            ("((?i)a)b", "((?i)a)b"),
            ("a{,3}{2}", "a\\x{7B}\\x{2C}3\\x{7D}{2}"),
            ("\\Qa.\\E+", "a\\x{2E}+"),
            ("\\d\\W", "[[0-9]][[^0-9A-Za-z_]]"),
            ("\\101\\x{e9}", "Aé"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(translate(pattern).map(|t| t.pattern).as_deref(), Ok(expected), "{pattern}");
        }
        assert_eq!(translate("(a)(?:b)(?P<n>c)(?i:d)(?<m>e)").map(|t| t.groups), Ok(3));
    }

    #[test]
    fn errors_say_what_and_where() {
        let cases = [
            ("é(b", "missing ) `(b` at character 1"),
            ("a)", "unexpected ) `)` at character 1"),
            ("[a", "missing ] `[a` at character 0"),
            ("[b-a]", "invalid character class range `b-a` at character 1"),
            ("[a-\\d]", "invalid escape sequence `\\d` at character 3"),
            ("[[:foo:]]", "invalid character class range `[:foo:]` at character 1"),
            ("\\p{greek}", "invalid character class range `\\p{greek}` at character 0"),
            ("\\p{Elvish}", "invalid character class range `\\p{Elvish}` at character 0"),
            ("a**", "bad repetition operator `**` at character 1"),
            ("a{2}{3}", "bad repetition operator `{2}{3}` at character 1"),
            ("(*a)", "no argument for repetition operator `*` at character 1"),
            ("a{1001}", "invalid repetition size `{1001}` at character 1"),
            ("(a{100}){11}", "invalid repetition size `{11}` at character 8"),
            ("(?=a)", "invalid perl operator `(?=` at character 0"),
            ("(?<=a)", "invalid perl operator `(?<` at character 0"),
            ("(?P<a-b>c)", "invalid named capture group `(?P<a-b>` at character 0"),
            ("\\1", "invalid escape sequence `\\1` at character 0"),
            ("a\\", "trailing `\\` at character 1"),
        ];
        for (pattern, expected) in cases {
            let error = translate(pattern).expect_err("not well formed").to_string();
            assert_eq!(error, expected, "{pattern}");
        }
        assert!(translate(&("(".repeat(MAX_DEPTH) + &")".repeat(MAX_DEPTH))).is_ok());
        assert!(translate(&"(".repeat(MAX_DEPTH + 1)).is_err());
    }
}
