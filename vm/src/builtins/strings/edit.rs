//! Strings out of parts of strings: `strings.substr`, `replace`, `strip`, `lstrip`, `rstrip`, join.
//!
//! Bytes from 0x80 on may be stripped from a BYTES like any others; the original aborts when it meets
//! one beside a set of characters.

use crate::array::meter::Meter;
use crate::builtins::strings::pattern::find_next;
use crate::builtins::strings::search::{index, poll_if_long, range};
use crate::builtins::strings::strip::Ends;
use crate::builtins::strings::units::{
    OPTIONAL_INT64, StringType, check_length, each_string, of_string, string_type,
};
use crate::layout::access::{Bytes, Text};
use crate::operator::{Family, KernelCall, Overload};
use crate::value::qtype::INT64;
use crate::value::{Fault, QType, ScalarType};
use memchr::memmem::Finder;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        substr_row(),
        each_string(
            Family::new(
                "strings.replace",
                &["s", "old", "new", "max_subs"],
                "s with `new` for the first max_subs occurrences of `old`, or for all if that is missing or \
                 negative. An empty `old` occurs before every unit and at the end.",
            )
            .cost_of(12)
            .over_rows(|call| of_string(call, replace_rows::<Text>, replace_rows::<Bytes>)),
            replace_kernel::<Text>,
            replace_kernel::<Bytes>,
            |s| (vec![s.clone(), s.clone(), s.clone(), OPTIONAL_INT64], s),
        ),
        strip_row("strings.strip", "at both ends", Ends::Both),
        strip_row("strings.lstrip", "at the start", Ends::Start),
        strip_row("strings.rstrip", "at the end", Ends::End),
        Family::new(
            "strings._join_with_separator",
            &["sep", "arg0", "*args"],
            "The parts one after another with sep between them; missing if a part is.",
        )
        .cost_of(8)
        .over_rows(|call| of_string(call, join_rows::<Text>, join_rows::<Bytes>))
        .on_demand(join),
    ]
}

fn substr_row() -> Family {
    let row = Family::new(
        "strings.substr",
        &["s", "start", "end"],
        "The units [start, end) of s; negative positions count from the end, a missing `end` is the end.",
    )
    .cost_of(8)
    .over_rows(|call| of_string(call, substr_rows::<Text>, substr_rows::<Bytes>));
    [INT64, OPTIONAL_INT64].into_iter().fold(row, |row, start| {
        each_string(row, substr::<Text>, substr::<Bytes>, |s| {
            (vec![s.clone(), start.clone(), OPTIONAL_INT64], s)
        })
    })
}

fn substr<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let part = S::read(call, 0).map(|s| {
        let range = range::<S>(s, index(call, 1), index(call, 2));
        S::slice(s, range.unwrap_or(0..0))
    });
    write::<S>(call, part)
}

fn substr_rows<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (start, end, meter) = (call.number_rows(1), call.number_rows(2), call.meter());
    call.parts_of_strings::<S>(|s, row| {
        poll_if_long::<S>(s, meter)?;
        let range = range::<S>(s, start.get(row), end.get(row));
        Ok(Some(S::slice(s, range.unwrap_or(0..0))))
    })
}

fn strip_row(name: &str, place: &str, ends: Ends) -> Family {
    let meaning =
        format!("s without the units {place} that are in chars, or white space if chars is missing.");
    let row =
        Family::new(name, &["s", "chars"], &meaning).cost_of(6).over_rows(move |call| {
            match string_type(call) {
                ScalarType::Text => strip_rows::<Text>(call, ends),
                _ => strip_rows::<Bytes>(call, ends),
            }
        });
    let text = move |call: &mut KernelCall<'_>| strip::<Text>(call, ends);
    let bytes = move |call: &mut KernelCall<'_>| strip::<Bytes>(call, ends);
    let row = each_string(row, text, bytes, |s| (vec![s.clone()], s));
    [QType::Scalar, QType::Optional].into_iter().fold(row, |row, chars: fn(ScalarType) -> QType| {
        each_string(row, text, bytes, |s| ([s.clone()].into_iter().chain(s.scalar().map(chars)).collect(), s))
    })
}

fn strip<S: StringType>(call: &mut KernelCall<'_>, ends: Ends) -> Result<(), Fault> {
    let set = if call.len() > 1 { S::read(call, 1) } else { None };
    let meter = call.meter();
    let part = S::read(call, 0).map(|s| S::strip(s, set, ends, meter)).transpose()?;
    write::<S>(call, part)
}

fn strip_rows<S: StringType>(call: &mut KernelCall<'_>, ends: Ends) -> Result<(), Fault> {
    let (sets, meter) = ((call.len() > 1).then(|| call.string_rows::<S>(1)), call.meter());
    call.parts_of_strings::<S>(|s, row| {
        S::strip(s, sets.as_ref().and_then(|sets| sets.get(row)), ends, meter).map(Some)
    })
}

/// Writes a result that is missing only if the operand was.
fn write<S: StringType>(call: &mut KernelCall<'_>, part: Option<&S::Str>) -> Result<(), Fault> {
    match part {
        Some(part) => S::push(S::room(call, S::bytes(part))?, part),
        None => call.set_missing(),
    }
    Ok(())
}

fn replace_kernel<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    match (S::read(call, 0), S::read(call, 1), S::read(call, 2)) {
        (Some(s), Some(old), Some(new)) => {
            let limit = index(call, 3).and_then(|limit| usize::try_from(limit).ok());
            let meter = call.meter();
            let finder = Finder::new(S::as_bytes(old));
            let out = S::room(call, S::bytes(s))?;
            replace::<S>(s, &finder, new, limit.unwrap_or(usize::MAX), meter, |piece| {
                S::append(out, piece, meter)
            })?;
        }
        _ => call.set_missing(),
    }
    Ok(())
}

fn replace_rows<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let (limits, meter) = (call.number_rows(3), call.meter());
    let one = call.string_rows::<S>(1).one().map(|old| Finder::new(S::as_bytes(old)));
    call.pieces_of_strings::<S>(3, |row, strings, out| {
        let &[s, old, new] = strings else { unreachable!("three strings") };
        let of_row;
        let finder = match &one {
            Some(finder) => finder,
            None => {
                of_row = Finder::new(S::as_bytes(old));
                &of_row
            }
        };
        let limit = limits.get(row).and_then(|limit| usize::try_from(limit).ok());
        replace::<S>(s, finder, new, limit.unwrap_or(usize::MAX), meter, |piece| out.push(S::as_bytes(piece)))
    })
}

/// Gives the pieces of a string in which others have been replaced.
fn replace<S: StringType>(
    s: &S::Str,
    old: &Finder<'_>,
    new: &S::Str,
    limit: usize,
    meter: &Meter<'_>,
    mut append: impl FnMut(&S::Str) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let (end, old_bytes) = (S::bytes(s), old.needle().len());
    let mut length = end;
    let mut pace = meter.pace();
    let (mut copied, mut search) = (0, Some(0));
    for _ in 0..limit {
        let Some(from) = search else { break };
        let Some(found) = find_next(&S::as_bytes(s)[from..], old, meter)? else { break };
        let at = from + found;
        pace.over(at - copied + S::bytes(new) + 1)?;
        length = length + S::bytes(new) - old_bytes;
        check_length(length)?;
        append(S::slice(s, copied..at))?;
        append(new)?;
        copied = at + old_bytes;
        search = if copied == at { S::next(s, at) } else { Some(copied) };
    }
    append(S::slice(s, copied..end))
}

/// The overload for a scalar separator and any mix of scalar and optional parts of its type.
fn join(family: &Family, args: &[QType]) -> Option<Overload> {
    let [QType::Scalar(string), parts @ ..] = args else { return None };
    if parts.is_empty() || parts.iter().any(|part| part.scalar() != Some(*string)) {
        return None;
    }
    let result = match parts.iter().any(QType::is_optional) {
        true => QType::Optional(*string),
        false => QType::Scalar(*string),
    };
    match string {
        ScalarType::Text => Some(family.make_general(args, result, join_kernel::<Text>)),
        ScalarType::Bytes => Some(family.make_general(args, result, join_kernel::<Bytes>)),
        _ => None,
    }
}

fn join_kernel<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    if !(1..call.len()).all(|part| call.is_present(part)) {
        call.set_missing();
        return Ok(());
    }
    let length_of = |argument: usize| S::read(call, argument).map_or(0, S::bytes);
    let separators = (call.len() - 2).saturating_mul(length_of(0));
    let length = (1..call.len()).map(length_of).fold(separators, usize::saturating_add);
    check_length(length)?;
    // The buffer leaves the frame while arguments are read.
    let mut out = std::mem::take(S::room(call, length)?);
    for argument in 1..call.len() {
        // Between two parts stands argument 0, the separator.
        let separator = if argument > 1 { S::read(call, 0) } else { None };
        for piece in separator.into_iter().chain(S::read(call, argument)) {
            S::push(&mut out, piece);
        }
    }
    *S::room(call, 0)? = out;
    Ok(())
}

fn join_rows<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    call.pieces_of_strings::<S>(call.len(), |_, strings, out| {
        let [separator, first, others @ ..] = strings else { unreachable!("a separator and parts") };
        let separators = others.len().saturating_mul(S::bytes(separator));
        let length = strings[1..].iter().map(|part| S::bytes(part)).fold(separators, usize::saturating_add);
        check_length(length)?;
        out.push(S::as_bytes(first))?;
        others.iter().try_for_each(|part| {
            out.push(S::as_bytes(separator))?;
            out.push(S::as_bytes(part))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements() {
        let cases = [
            ("hello", "l", "LL", usize::MAX, "heLLLLo"),
            ("hello", "l", "LL", 1, "heLLlo"),
            ("aaaaa", "aa", "b", usize::MAX, "bba"),
            ("añ", "", "-", usize::MAX, "-a-ñ-"),
            ("añ", "", "-", 2, "-a-ñ"),
            ("añ", "", "-", 0, "añ"),
            ("", "", "-", usize::MAX, "-"),
            ("", "a", "-", usize::MAX, ""),
        ];
        for (s, old, new, limit, expected) in cases {
            let mut out = String::new();
            let finder = Finder::new(old.as_bytes());
            replace::<Text>(s, &finder, new, limit, &Meter::of_default(), |piece| {
                out.push_str(piece);
                Ok(())
            })
            .expect("short");
            assert_eq!(out, expected);
        }
        let mut out = Vec::new();
        let finder = Finder::new(b"");
        replace::<Bytes>("ñ".as_bytes(), &finder, b".", usize::MAX, &Meter::of_default(), |piece| {
            out.extend_from_slice(piece);
            Ok(())
        })
        .expect("short");
        assert_eq!(out, b".\xc3.\xb1.");
    }
}
