//! Regular expressions in the syntax of RE2: `strings.contains_regex`, `extract_regex`, `replace_all_regex`.
//!
//! A pattern is [translated](translate) and compiled when the bound operator first meets it; one that does not change is found again
//! by comparing its text. A search takes time in proportion to the text, whatever the pattern is, and a pattern has at most
//! [`MAX_PROGRAM`] bytes when it is compiled.
//!
//! The replacement is a text in which `\1` to `\9` stand for what the groups have matched, `\0` for the whole match and `\\` for a
//! backslash. Others raise; the original drops what follows them, or replaces nothing.

use crate::array::meter::Meter;
use crate::builtins::strings::re2::{PatternError, translate};
use crate::builtins::strings::search::poll_if_long;
use crate::builtins::strings::units::{OPTIONAL_TEXT, StringType, check_length};
use crate::layout::access::Text;
use crate::operator::string_rows::StringSlot;
use crate::operator::{Family, KernelCall};
use crate::value::qtype::{OPTIONAL_UNIT, TEXT};
use crate::value::{Fault, QType};
use regex_automata::meta::Regex;
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;
use regex_automata::{Input, Span};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Name of `strings.contains_regex`.
pub const CONTAINS_REGEX: &str = "strings.contains_regex";
/// Name of `strings.extract_regex`.
pub const EXTRACT_REGEX: &str = "strings.extract_regex";
/// Name of `strings.replace_all_regex`.
pub const REPLACE_ALL_REGEX: &str = "strings.replace_all_regex";

/// Bytes of a pattern: 256 KiB. One that is longer hardly fits when it is compiled, and takes much memory until then.
pub const MAX_PATTERN: usize = 1 << 18;

/// Bytes of a compiled pattern, as the engine counts them: 4 MiB.
pub const MAX_PROGRAM: usize = 1 << 22;

/// Bytes that the states of one search may take before the engine begins anew or takes another way: 1 MiB.
const MAX_STATES: usize = 1 << 20;

/// Groups that a replacement can name, and the whole match.
const MAX_GROUPS: usize = 10;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        row(
            CONTAINS_REGEX,
            &["text", "regex"],
            "Present if the regular expression, in RE2 syntax, matches a part of the text.",
            OPTIONAL_UNIT,
            contains,
            contained,
        ),
        row(
            EXTRACT_REGEX,
            &["text", "regex"],
            "What the one group of the regular expression has in its first match, empty if it has no part in it; missing without a match.",
            OPTIONAL_TEXT,
            extract,
            extracted,
        ),
        row(
            REPLACE_ALL_REGEX,
            &["text", "regex", "replacement"],
            "The text with each match of the regular expression replaced; in the replacement, \\1 to \\9 are the groups, and \\0 is the \
             match. Raises if there is no such group.",
            OPTIONAL_TEXT,
            replace,
            replaced,
        ),
    ]
}

type RegexKernel = fn(&mut KernelCall<'_>, &Patterns) -> Result<(), Fault>;

/// A row whose bound operators have a place for the compiled pattern each.
fn row(
    name: &str,
    params: &[&str],
    meaning: &str,
    result: QType,
    single: RegexKernel,
    over_rows: RegexKernel,
) -> Family {
    let count = params.len();
    Family::new(name, params, meaning).cost_of(60).raises().on_demand(move |family, args| {
        let is_text = |arg: &QType| *arg == TEXT || *arg == OPTIONAL_TEXT;
        if args.len() != count || !args.iter().all(is_text) {
            return None;
        }
        let patterns = Arc::new(Patterns::default());
        let of_rows = patterns.clone();
        let family = family.clone().over_rows(move |call| over_rows(call, &of_rows));
        Some(family.make_general(args, result.clone(), move |call| single(call, &patterns)))
    })
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern {
    text: Box<str>,
    engine: Regex,
    groups: usize,
}

/// Where a match and its groups begin and end.
type Slots = [Option<NonMaxUsize>; 2 * MAX_GROUPS];

impl Pattern {
    /// Compiles a pattern in RE2 syntax.
    ///
    /// # Errors
    /// It is not well formed, or too large.
    pub fn new(text: &str) -> Result<Pattern, PatternError> {
        if text.len() > MAX_PATTERN {
            return Err(PatternError { what: "pattern too large", part: String::new(), at: 0 });
        }
        let translated = translate(text)?;
        let config = Regex::config()
            .nfa_size_limit(Some(MAX_PROGRAM))
            .onepass_size_limit(Some(MAX_STATES))
            .hybrid_cache_capacity(MAX_STATES);
        // Each group may have a repetition, a sequence and alternatives in it.
        let syntax = syntax::Config::new().nest_limit(500);
        let engine = Regex::builder().configure(config).syntax(syntax).build(&translated.pattern);
        let engine = engine.map_err(|error| {
            let what = match error.size_limit() {
                Some(_) => "pattern too large",
                None => "pattern with too many levels",
            };
            PatternError { what, part: String::new(), at: 0 }
        })?;
        Ok(Pattern { text: text.into(), engine, groups: translated.groups })
    }

    /// Number of groups that capture.
    pub fn groups(&self) -> usize {
        self.groups
    }

    fn is_in(&self, text: &str) -> bool {
        self.engine.is_match(text)
    }

    /// The first match from an offset on; fills as many pairs of slots as there are.
    fn find(&self, text: &str, from: usize, slots: &mut [Option<NonMaxUsize>]) -> Option<Span> {
        let input = Input::new(text).span(from..text.len());
        self.engine.search_slots(&input, slots)?;
        part_of(slots, 0)
    }

    /// The first group in the first match, empty if it has no part in it.
    fn group_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        let mut slots = [None; 4];
        self.find(text, 0, &mut slots)?;
        Some(part_of(&slots, 1).map_or("", |part| &text[part.range()]))
    }

    /// Gives the pieces of a text in which matches are replaced. An empty match right behind another one is none.
    fn replace(
        &self,
        text: &str,
        replacement: &str,
        meter: &Meter<'_>,
        mut append: impl FnMut(&str) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let groups = self.check_replacement(replacement)?;
        let mut slots: Slots = [None; 2 * MAX_GROUPS];
        let slots = &mut slots[..2 * (groups + 1)];
        let (mut copied, mut from, mut last_end, mut length) = (0, 0, None, 0);
        let mut pace = meter.pace();
        while from <= text.len() {
            // A search may go on to the end of the text and find a match at its beginning.
            pace.over(text.len() - from + replacement.len() + 1)?;
            let Some(found) = self.find(text, from, slots) else { break };
            if found.is_empty() && last_end == Some(found.start) {
                from = next_character(text, found.start);
                continue;
            }
            let mut counted = |piece: &str| {
                length += piece.len();
                check_length(length)?;
                append(piece)
            };
            counted(&text[copied..found.start])?;
            write_replacement(replacement, |piece| {
                counted(match piece {
                    Piece::Plain(plain) => plain,
                    Piece::Group(group) => part_of(slots, group).map_or("", |part| &text[part.range()]),
                })
            })?;
            (copied, from, last_end) = (found.end, found.end, Some(found.end));
        }
        check_length(length + text.len() - copied)?;
        append(&text[copied..])
    }

    /// Calls with each match, and the rest of the text in which it was found: that behind the match before, or behind the next
    /// character if that was empty. There are two slots for the match and each group that is wanted.
    ///
    /// # Errors
    /// What the function fails with, or the run has to stop.
    pub(super) fn each_match(
        &self,
        text: &str,
        slots: &mut [Option<NonMaxUsize>],
        meter: &Meter<'_>,
        mut f: impl FnMut(&str, Groups<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        poll_if_long::<Text>(text, meter)?;
        let (mut rest, mut pace) = (text, meter.pace());
        while let Some(found) = self.find(rest, 0, slots) {
            pace.over(rest.len() + 1)?;
            f(rest, Groups(slots))?;
            let next = if found.is_empty() { next_character(rest, found.end) } else { found.end };
            match rest.get(next..) {
                Some(behind) => rest = behind,
                None => break,
            }
        }
        Ok(())
    }

    /// The greatest number of a group in a replacement.
    fn check_replacement(&self, replacement: &str) -> Result<usize, Fault> {
        let mut greatest = 0;
        write_replacement(replacement, |piece| {
            if let Piece::Group(group) = piece {
                greatest = greatest.max(group);
            }
            Ok(())
        })?;
        match greatest > self.groups {
            true => Err(Fault::Format {
                message: format!(
                    "the replacement names group {greatest} of a regular expression with {}",
                    self.groups
                ),
            }),
            false => Ok(greatest),
        }
    }
}

/// Where the groups of a match are.
#[derive(Clone, Copy)]
pub(super) struct Groups<'s>(&'s [Option<NonMaxUsize>]);

impl Groups<'_> {
    /// What a group has of the text in which the match was found, empty if it has no part in it.
    pub(super) fn part(self, text: &str, group: usize) -> &str {
        part_of(self.0, group).map_or("", |part| &text[part.range()])
    }
}

fn part_of(slots: &[Option<NonMaxUsize>], group: usize) -> Option<Span> {
    let (start, end) = (slots[2 * group]?.get(), slots[2 * group + 1]?.get());
    Some(Span { start, end })
}

/// Offset behind the character at an offset, or behind the end.
fn next_character(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

/// A part of a replacement.
enum Piece<'r> {
    Plain(&'r str),
    Group(usize),
}

/// Gives the parts of a replacement.
fn write_replacement<'r>(
    replacement: &'r str,
    mut write: impl FnMut(Piece<'r>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut rest = replacement;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        if at > 0 {
            write(Piece::Plain(&rest[..at]))?;
        }
        let piece = match rest.as_bytes().get(at + 1) {
            Some(b'\\') => Piece::Plain(&rest[at..=at]),
            Some(digit @ b'0'..=b'9') => Piece::Group(usize::from(digit - b'0')),
            _ => {
                let message = format!(
                    "a backslash in a replacement stands before a digit or another backslash: '{replacement}'"
                );
                return Err(Fault::Format { message });
            }
        };
        write(piece)?;
        rest = &rest[at + 2..];
    }
    match rest.is_empty() {
        true => Ok(()),
        false => write(Piece::Plain(rest)),
    }
}

/// The patterns of one bound operator: the first that it meets, and the last of others.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    first: OnceLock<Pattern>,
    other: Mutex<Option<Arc<Pattern>>>,
}

impl Patterns {
    pub(super) fn with<R>(
        &self,
        text: &str,
        run: impl FnOnce(&Pattern) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        if let Some(first) = self.first.get().filter(|first| *first.text == *text) {
            return run(first);
        }
        if self.first.get().is_none() {
            // Another thread may have come first, with another pattern.
            let first = self.first.get_or_init({
                let pattern = compiled(text)?;
                || pattern
            });
            if *first.text == *text {
                return run(first);
            }
        }
        let mut other = self.other.lock().unwrap_or_else(PoisonError::into_inner);
        let pattern = match other.take().filter(|other| *other.text == *text) {
            Some(pattern) => pattern,
            None => Arc::new(compiled(text)?),
        };
        *other = Some(pattern.clone());
        drop(other);
        run(&pattern)
    }
}

fn compiled(text: &str) -> Result<Pattern, Fault> {
    Pattern::new(text)
        .map_err(|error| Fault::Format { message: format!("invalid regular expression '{text}': {error}") })
}

/// Refuses a pattern that has not exactly one group.
fn check_one_group(pattern: &Pattern) -> Result<(), Fault> {
    match pattern.groups() {
        1 => Ok(()),
        groups => Err(Fault::Format { message: one_group_message(&pattern.text, groups) }),
    }
}

/// What is wrong with a pattern that has not exactly one group.
pub fn one_group_message(pattern: &str, groups: usize) -> String {
    format!("expected a regular expression with one capturing group, '{pattern}' has {groups}")
}

/// The texts of a call, `None` if one is missing.
fn texts<'f, const N: usize>(call: &KernelCall<'f>) -> Option<[&'f str; N]> {
    let mut texts = [""; N];
    for (index, text) in texts.iter_mut().enumerate() {
        *text = Text::read(call, index)?;
    }
    Some(texts)
}

fn contains(call: &mut KernelCall<'_>, patterns: &Patterns) -> Result<(), Fault> {
    let found = match texts(call) {
        Some([text, regex]) => patterns.with(regex, |pattern| Ok(pattern.is_in(text)))?,
        None => false,
    };
    call.set::<Option<()>>(found.then_some(()));
    Ok(())
}

fn contained(call: &mut KernelCall<'_>, patterns: &Patterns) -> Result<(), Fault> {
    let meter = call.meter();
    with_pattern(call, patterns, |call, pattern| {
        call.map_strings::<Text, Option<()>, _, 2>(|[text, _], _| {
            poll_if_long::<Text>(text, meter).map(|()| pattern.is_in(text).then_some(()))
        })
    })
}

fn extract(call: &mut KernelCall<'_>, patterns: &Patterns) -> Result<(), Fault> {
    let part = match texts(call) {
        Some([text, regex]) => patterns.with(regex, |pattern| {
            check_one_group(pattern)?;
            Ok(pattern.group_in(text))
        })?,
        None => None,
    };
    match part {
        Some(part) => Text::push(Text::room(call, part.len())?, part),
        None => call.set_missing(),
    }
    Ok(())
}

fn extracted(call: &mut KernelCall<'_>, patterns: &Patterns) -> Result<(), Fault> {
    let meter = call.meter();
    with_pattern(call, patterns, |call, pattern| {
        check_one_group(pattern)?;
        call.parts_of_strings::<Text>(|text, _| {
            poll_if_long::<Text>(text, meter)?;
            Ok(pattern.group_in(text))
        })
    })
}

fn replace(call: &mut KernelCall<'_>, patterns: &Patterns) -> Result<(), Fault> {
    let Some([text, regex, replacement]) = texts(call) else {
        call.set_missing();
        return Ok(());
    };
    let meter = call.meter();
    let out = Text::room(call, text.len())?;
    patterns.with(regex, |pattern| {
        pattern.replace(text, replacement, meter, |piece| Text::append(out, piece, meter))
    })
}

fn replaced(call: &mut KernelCall<'_>, patterns: &Patterns) -> Result<(), Fault> {
    let meter = call.meter();
    with_pattern(call, patterns, |call, pattern| {
        call.pieces_of_strings::<Text>(3, |_, strings, out| {
            let &[text, _, replacement] = strings else { unreachable!("three texts") };
            pattern.replace(text, replacement, meter, |piece| out.push(piece.as_bytes()))
        })
    })
}

/// Runs a kernel over rows with the pattern of all rows.
pub(super) fn with_pattern(
    call: &mut KernelCall<'_>,
    patterns: &Patterns,
    run: impl FnOnce(&mut KernelCall<'_>, &Pattern) -> Result<(), Fault>,
) -> Result<(), Fault> {
    match call.string_rows::<Text>(1).one() {
        Some(regex) => patterns.with(regex, |pattern| run(call, pattern)),
        None => Err(Fault::Format { message: "one regular expression is for all rows".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced_in(text: &str, pattern: &str, replacement: &str) -> Result<String, Fault> {
        let mut out = String::new();
        compiled(pattern)?.replace(text, replacement, &Meter::of_default(), |piece| {
            out.push_str(piece);
            Ok(())
        })?;
        Ok(out)
    }

    #[test]
    fn matches_are_replaced_from_the_left() {
        let cases = [
            ("banana", "ana", "ono", "bonona"),
            ("banana", "a(.)", "o\\1a", "bonaonaa"),
            ("banana", "(x)?a", "<\\1>", "b<>n<>n<>"),
            ("banana", "x*", "-", "-b-a-n-a-n-a-"),
            ("banana", "a*", "-", "-b-n-n-"),
            ("añ", "", "-", "-a-ñ-"),
            ("a", "a", "\\0\\\\", "a\\"),
        ];
        for (text, pattern, replacement, expected) in cases {
            assert_eq!(replaced_in(text, pattern, replacement).as_deref(), Ok(expected), "{pattern}");
        }
        for (replacement, message) in [
            ("\\2", "the replacement names group 2 of a regular expression with 1"),
            ("\\q", "a backslash in a replacement stands before a digit or another backslash: '\\q'"),
            ("b\\", "a backslash in a replacement stands before a digit or another backslash: 'b\\'"),
        ] {
            let fault = replaced_in("x", "(a)", replacement).expect_err("no replacement");
            assert_eq!(fault.to_string(), message);
        }
    }

    #[test]
    fn patterns_are_compiled_once_and_have_a_limit() {
        let patterns = Patterns::default();
        for text in ["a", "b", "b", "a"] {
            let is_in = patterns.with(text, |pattern| Ok((&*pattern.text == text, pattern.is_in("xay"))));
            assert_eq!(is_in, Ok((true, text == "a")));
        }
        let error = Pattern::new("(?:\\pL{1000}){1}(?i:\\pL{1000}\\pL{1000})").expect_err("too large");
        assert_eq!(error.what, "pattern too large");
    }
}
