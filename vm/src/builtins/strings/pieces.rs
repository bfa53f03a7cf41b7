//! Rows of strings taken apart: `strings.split` and `strings.findall_regex`, whose results are rows for each row.
//!
//! ```text
//! rows     "a b"  -  "c"        parts  a b c        parts of each row  2 0 1
//! ```
//!
//! One operator gives the parts, another one how many each row has. A TEXT is never cut inside of a character. As in the original, a
//! search of all matches goes on as if the text began behind the last match, so that `^` matches there again.

use crate::array::meter::Meter;
use crate::array::rows_out::RowsOut;
use crate::builtins::strings::pattern::find_next;
use crate::builtins::strings::regex::{Pattern, Patterns, with_pattern};
use crate::builtins::strings::search::poll_if_long;
use crate::builtins::strings::units::{StringType, of_string};
use crate::layout::access::{Bytes, Text};
use crate::operator::{Family, KernelCall, Overload};
use crate::value::qtype::{INT64, TEXT};
use crate::value::{ArrayRows, Fault, QType, ScalarType};
use memchr::memmem::Finder;

/// Name of `strings._split`.
pub const SPLIT: &str = "strings._split";
/// Name of `strings._count_parts`.
pub const COUNT_PARTS: &str = "strings._count_parts";
/// Name of `strings._findall_regex`.
pub const FINDALL_REGEX: &str = "strings._findall_regex";
/// Name of `strings._count_regex`.
pub const COUNT_REGEX: &str = "strings._count_regex";
/// Name of `strings._regex_groups`.
pub const REGEX_GROUPS: &str = "strings._regex_groups";

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new(
            SPLIT,
            &["s", "*sep"],
            "The parts of all rows between separators, or between white space if there is none.",
        )
        .cost_of(20)
        .on_demand(|family, args| split(family, args, |t| t, |call| of_string(call, parts::<Text>, parts::<Bytes>))),
        Family::new(COUNT_PARTS, &["s", "*sep"], "The number of parts of each row.").cost_of(20).on_demand(
            |family, args| {
                split(family, args, |_| ScalarType::Int64, |call| of_string(call, counts::<Text>, counts::<Bytes>))
            },
        ),
        Family::new(
            FINDALL_REGEX,
            &["s", "regex"],
            "What each group has in each match of the regular expression, of all rows; empty if it has no part in it.",
        )
        .cost_of(60)
        .raises()
        .on_demand(|family, args| of_pattern(family, args, ScalarType::Text, groups_of_matches)),
        Family::new(COUNT_REGEX, &["s", "regex"], "The number of matches in each row.")
            .cost_of(60)
            .raises()
            .on_demand(|family, args| of_pattern(family, args, ScalarType::Int64, matches)),
        Family::new(REGEX_GROUPS, &["regex"], "The number of groups that capture.").cost_of(60).raises().general(
            &[TEXT],
            INT64,
            |call| {
                let groups = Patterns::default().with(call.text(0), |pattern| Ok(pattern.groups()))?;
                call.set::<i64>(groups as i64);
                Ok(())
            },
        ),
    ]
}

/// The overload for rows, and a separator of their type that may be missing.
fn split(
    family: &Family,
    args: &[QType],
    result: fn(ScalarType) -> ScalarType,
    kernel: fn(&mut KernelCall<'_>) -> Result<(), Fault>,
) -> Option<Overload> {
    let [QType::Array(t), separator @ ..] = args else { return None };
    let is_string = matches!(t.element, ScalarType::Text | ScalarType::Bytes);
    let is_separator = match separator {
        [] => true,
        [separator] => separator.scalar() == Some(t.element),
        _ => false,
    };
    (is_string && is_separator)
        .then(|| family.make_general(args, QType::Array(t.of(result(t.element))), kernel))
}

/// Calls with each part of a string, which has one at least, unless it is cut at white space.
fn each_part<S: StringType>(
    s: &S::Str,
    separator: Option<&Finder<'_>>,
    meter: &Meter<'_>,
    mut f: impl FnMut(&S::Str) -> Result<(), Fault>,
) -> Result<(), Fault> {
    poll_if_long::<S>(s, meter)?;
    let (bytes, mut pace) = (S::as_bytes(s), meter.pace());
    let Some(separator) = separator else {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
        let mut start = 0;
        while let Some(first) = bytes[start..].iter().position(|byte| !is_space(byte)) {
            let first = start + first;
            let end = bytes[first..].iter().position(is_space).map_or(bytes.len(), |length| first + length);
            pace.over(end - start)?;
            f(S::slice(s, first..end))?;
            start = end;
        }
        return Ok(());
    };
    let mut start = 0;
    if separator.needle().is_empty() {
        while let Some(next) = S::next(s, start).filter(|next| *next < bytes.len()) {
            pace.over(1)?;
            f(S::slice(s, start..next))?;
            start = next;
        }
    } else {
        while let Some(found) = find_next(&bytes[start..], separator, meter)? {
            pace.over(found + 1)?;
            f(S::slice(s, start..start + found))?;
            start += found + separator.needle().len();
        }
    }
    f(S::slice(s, start..bytes.len()))
}

fn parts<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (rows, meter) = (call.array(0), call.meter());
    let strings = call.string_rows::<S>(0);
    let separator = if call.len() > 1 { S::read(call, 1) } else { None };
    let finder = separator.map(|separator| Finder::new(S::as_bytes(separator)));
    filling(call, rows.element(), |out| {
        each_row(rows.len(), meter, |row| match strings.get(row) {
            Some(s) => {
                each_part::<S>(s, finder.as_ref(), meter, |part| out.push_trusted(true, S::as_bytes(part)))
            }
            None => Ok(()),
        })
    })
}

fn counts<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (count, meter) = (call.array(0).len(), call.meter());
    let strings = call.string_rows::<S>(0);
    let separator = if call.len() > 1 { S::read(call, 1) } else { None };
    let finder = separator.map(|separator| Finder::new(S::as_bytes(separator)));
    count_rows(call, count, |row| {
        let mut parts = 0;
        if let Some(s) = strings.get(row) {
            each_part::<S>(s, finder.as_ref(), meter, |_| {
                parts += 1;
                Ok(())
            })?;
        }
        Ok(parts)
    })
}

/// Rows of a result that is filled row by row; none if that fails.
fn filling(
    call: &mut KernelCall<'_>,
    element: ScalarType,
    fill: impl FnOnce(&mut RowsOut<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    // The rows leave the frame while arguments are read.
    let mut rows = std::mem::replace(call.array_rows_out(), ArrayRows::new(element));
    let mut out = RowsOut::new(&mut rows, call.meter());
    out.start(element);
    let filled = fill(&mut out);
    if filled.is_err() {
        out.start(element);
    }
    *call.array_rows_out() = rows;
    filled
}

fn each_row(
    rows: usize,
    meter: &Meter<'_>,
    mut f: impl FnMut(usize) -> Result<(), Fault>,
) -> Result<(), Fault> {
    meter
        .slow_strides(rows)
        .try_for_each(|stride| stride?.try_for_each(|row| f(row).map_err(|fault| fault.in_row(row))))
}

/// A number for each row.
fn count_rows(
    call: &mut KernelCall<'_>,
    rows: usize,
    count: impl Fn(usize) -> Result<i64, Fault>,
) -> Result<(), Fault> {
    let meter = call.meter();
    let mut out = call.rows_out(ScalarType::Int64, rows)?;
    let cells: &mut [i64] = bytemuck::cast_slice_mut(out.bytes_mut());
    each_row(rows, meter, |row| {
        cells[row] = count(row)?;
        Ok(())
    })
}

/// The overload for rows of texts and a pattern.
fn of_pattern(
    family: &Family,
    args: &[QType],
    result: ScalarType,
    kernel: fn(&mut KernelCall<'_>, &Pattern) -> Result<(), Fault>,
) -> Option<Overload> {
    let [QType::Array(t), pattern] = args else { return None };
    if t.element != ScalarType::Text || *pattern != TEXT {
        return None;
    }
    let patterns = Patterns::default();
    Some(
        family.make_general(args, QType::Array(t.of(result)), move |call| {
            with_pattern(call, &patterns, kernel)
        }),
    )
}

fn groups_of_matches(call: &mut KernelCall<'_>, pattern: &Pattern) -> Result<(), Fault> {
    let (count, meter, texts) = (call.array(0).len(), call.meter(), call.string_rows::<Text>(0));
    let mut slots = meter.collect((0..2 * (pattern.groups() + 1)).map(|_| None))?;
    filling(call, ScalarType::Text, |out| {
        each_row(count, meter, |row| match texts.get(row) {
            Some(text) => pattern.each_match(text, &mut slots, meter, |rest, found| {
                (1..=pattern.groups())
                    .try_for_each(|group| out.push_trusted(true, found.part(rest, group).as_bytes()))
            }),
            None => Ok(()),
        })
    })
}

fn matches(call: &mut KernelCall<'_>, pattern: &Pattern) -> Result<(), Fault> {
    let (count, meter, texts) = (call.array(0).len(), call.meter(), call.string_rows::<Text>(0));
    count_rows(call, count, |row| {
        let mut matches = 0;
        if let Some(text) = texts.get(row) {
            pattern.each_match(text, &mut [None; 2], meter, |_, _| {
                matches += 1;
                Ok(())
            })?;
        }
        Ok(matches)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_separators_or_white_space() {
        let cases: &[(&str, Option<&str>, &[&str])] = &[
            (" a  b\t", None, &["a", "b"]),
            ("", None, &[]),
            ("a\u{a0}b", None, &["a\u{a0}b"]),
            ("a,b,,c", Some(","), &["a", "b", "", "c"]),
            ("", Some(","), &[""]),
            ("XXX", Some("XX"), &["", "X"]),
            ("añ", Some(""), &["a", "ñ"]),
            ("", Some(""), &[""]),
        ];
        for (text, separator, expected) in cases {
            let finder = separator.map(|separator| Finder::new(separator.as_bytes()));
            let mut found = Vec::new();
            each_part::<Text>(text, finder.as_ref(), &Meter::of_default(), |part| {
                found.push(part.to_owned());
                Ok(())
            })
            .expect("no limit");
            assert_eq!(found, *expected, "{text:?} {separator:?}");
        }
    }
}
