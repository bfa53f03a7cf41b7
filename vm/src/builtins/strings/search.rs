//! Length and search: `strings.length`, `find`, `rfind`, `contains`, `count`.
//!
//! Positions follow Python: a negative one counts from the end, the range is `[start, end)`. One
//! difference: an `end` that lies before the first unit leaves no range at all, so that even the empty
//! string is not found there.

use crate::array::meter::Meter;
use crate::builtins::strings::pattern::{self, find_next};
use crate::builtins::strings::units::{OPTIONAL_INT64, StringType, each_string, of_string, string_type};
use crate::layout::access::{Bytes, Text};
use crate::operator::{Family, KernelCall};
use crate::value::array_memory::LONG;
use crate::value::qtype::{BYTES, INT64, OPTIONAL_UNIT, TEXT};
use crate::value::{Fault, QType, ScalarType};
use memchr::memmem::Finder;
use std::ops::Range;

/// The rows of this file.
pub fn rows() -> Vec<Family> {
    vec![
        Family::new("strings.length", &["x"], "Number of code points of a TEXT, or of bytes of a BYTES.")
            .cost_of(4)
            .over_rows(lengths::<Text>)
            .general(&[TEXT], INT64, length::<Text>)
            .over_rows(lengths::<Bytes>)
            .general(&[BYTES], INT64, length::<Bytes>),
        position(
            "strings.find",
            "Position of the first substr within [start, end) of s, or missing; `end` missing is the end of s.",
            pattern::find,
        ),
        position(
            "strings.rfind",
            "Position of the last substr within [start, end) of s, or missing; `end` missing is the end of s.",
            pattern::rfind,
        ),
        each_string(
            Family::new("strings.contains", &["s", "substr"], "Present if substr occurs in s.")
                .cost_of(8)
                .over_rows(|call| of_string(call, contained::<Text>, contained::<Bytes>)),
            contains::<Text>,
            contains::<Bytes>,
            |s| (vec![s.clone(), s], OPTIONAL_UNIT),
        ),
        Family::new(
            "strings.count",
            &["s", "substr"],
            "Number of occurrences of substr in s, overlapping ones included; one more than the length if it is empty.",
        )
        .cost_of(8)
        .over_rows(counts::<Text>)
        .general(&[TEXT, TEXT], INT64, count_kernel::<Text>)
        .over_rows(counts::<Bytes>)
        .general(&[BYTES, BYTES], INT64, count_kernel::<Bytes>),
    ]
}

/// A row with the parameters of `find`. A missing `start` is 0.
fn position(name: &str, meaning: &str, find: Find) -> Family {
    let row = Family::new(name, &["s", "substr", "start", "end"], meaning).cost_of(8);
    let row = row.over_rows(move |call| match string_type(call) {
        ScalarType::Text => search_rows::<Text>(call, find),
        _ => search_rows::<Bytes>(call, find),
    });
    let text = move |call: &mut KernelCall<'_>| search::<Text>(call, find);
    let bytes = move |call: &mut KernelCall<'_>| search::<Bytes>(call, find);
    [INT64, OPTIONAL_INT64].into_iter().fold(row, |row, start| {
        each_string(row, text, bytes, |s| (vec![s.clone(), s, start.clone(), OPTIONAL_INT64], OPTIONAL_INT64))
    })
}

fn length<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let units = S::read(call, 0).map_or(0, S::units);
    call.set::<i64>(units as i64);
    Ok(())
}

fn lengths<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let meter = call.meter();
    call.map_strings::<S, i64, _, 1>(|[s], _| poll_if_long::<S>(s, meter).map(|()| S::units(s) as i64))
}

/// A function of [`pattern`] that finds an occurrence.
type Find = fn(&[u8], &[u8], &Meter<'_>) -> Result<Option<usize>, Fault>;

fn search<S: StringType>(call: &mut KernelCall<'_>, find: Find) -> Result<(), Fault> {
    let found = match S::read(call, 0).zip(S::read(call, 1)) {
        Some((s, part)) => found_in::<S>(s, part, (index(call, 2), index(call, 3)), find, call.meter())?,
        None => None,
    };
    call.set::<Option<i64>>(found);
    Ok(())
}

fn search_rows<S: StringType>(call: &mut KernelCall<'_>, find: Find) -> Result<(), Fault> {
    let (start, end, meter) = (call.number_rows(2), call.number_rows(3), call.meter());
    call.map_strings::<S, Option<i64>, _, 2>(|[s, part], row| {
        found_in::<S>(s, part, (start.get(row), end.get(row)), find, meter)
    })
}

/// The unit of a string at which another one is found between two positions.
fn found_in<S: StringType>(
    s: &S::Str,
    part: &S::Str,
    (start, end): (Option<i64>, Option<i64>),
    find: Find,
    meter: &Meter<'_>,
) -> Result<Option<i64>, Fault> {
    poll_if_long::<S>(s, meter)?;
    let Some(range) = range::<S>(s, start, end) else { return Ok(None) };
    let start = range.start;
    let found = find(&S::as_bytes(s)[range], S::as_bytes(part), meter)?;
    Ok(found.map(|at| S::units(S::slice(s, 0..start + at)) as i64))
}

fn contains<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let found = match S::read(call, 0).zip(S::read(call, 1)) {
        Some((s, part)) => pattern::find(S::as_bytes(s), S::as_bytes(part), call.meter())?,
        None => None,
    };
    call.set::<Option<()>>(found.map(|_| ()));
    Ok(())
}

fn contained<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let meter = call.meter();
    let found = |found: Result<Option<usize>, Fault>| found.map(|found| found.map(|_| ()));
    match call.string_rows::<S>(1).one().map(|part| Finder::new(S::as_bytes(part))) {
        // What is looked for in all rows is looked at once.
        Some(part) => {
            call.map_strings::<S, Option<()>, _, 1>(|[s], _| found(find_next(S::as_bytes(s), &part, meter)))
        }
        None => call.map_strings::<S, Option<()>, _, 2>(|[s, part], _| {
            found(pattern::find(S::as_bytes(s), S::as_bytes(part), meter))
        }),
    }
}

fn count_kernel<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let found = match S::read(call, 0).zip(S::read(call, 1)) {
        Some((s, part)) => count::<S>(s, part, call.meter())?,
        None => 0,
    };
    call.set::<i64>(found);
    Ok(())
}

fn counts<S: StringType>(call: &mut KernelCall<'_>) -> Result<(), Fault> {
    let meter = call.meter();
    call.map_strings::<S, i64, _, 2>(|[s, part], _| count::<S>(s, part, meter))
}

fn count<S: StringType>(s: &S::Str, part: &S::Str, meter: &Meter<'_>) -> Result<i64, Fault> {
    poll_if_long::<S>(s, meter)?;
    match S::bytes(part) {
        0 => Ok(S::units(s) as i64 + 1),
        _ => pattern::count(S::as_bytes(s), S::as_bytes(part), meter),
    }
}

/// Looks whether the run has to stop before the units of a long string are counted.
pub fn poll_if_long<S: StringType>(s: &S::Str, meter: &Meter<'_>) -> Result<(), Fault> {
    if S::bytes(s) < LONG { Ok(()) } else { meter.poll() }
}

/// A position argument, which is INT64 or OPTIONAL_INT64.
pub fn index(call: &KernelCall<'_>, argument: usize) -> Option<i64> {
    match call.qtype(argument) {
        QType::Optional(_) => call.get::<Option<i64>>(argument),
        _ => Some(call.get::<i64>(argument)),
    }
}

/// Offsets of the units `[start, end)`; `None` if `start` lies behind `end` or behind the last unit.
pub fn range<S: StringType>(s: &S::Str, start: Option<i64>, end: Option<i64>) -> Option<Range<usize>> {
    let from_end = |position: i64| match position < 0 {
        true => position + S::units(s) as i64,
        false => position,
    };
    let first = from_end(start.unwrap_or(0)).max(0);
    let from = S::offset(s, usize::try_from(first).ok()?)?;
    let to = match end.map(from_end) {
        Some(last) if last < first => return None,
        Some(last) => S::offset(s, usize::try_from(last).ok()?),
        None => None,
    };
    Some(from..to.unwrap_or(S::bytes(s)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_python() {
        let cases = [
            (Some(1), None, Some("ñ日b")),
            (Some(-2), None, Some("日b")),
            (None, Some(-1), Some("añ日")),
            (Some(i64::MIN), Some(i64::MAX), Some("añ日b")),
            (Some(4), None, Some("")),
            (Some(5), None, None),
            (Some(i64::MAX), Some(i64::MAX), None),
            (Some(3), Some(2), None),
            (None, Some(-4), Some("")),
            (None, Some(-5), None),
        ];
        for (start, end, expected) in cases {
            let part = range::<Text>("añ日b", start, end).map(|range| &"añ日b"[range]);
            assert_eq!(part, expected, "{start:?}..{end:?}");
        }
    }

    #[test]
    fn occurrences_overlap() {
        let meter = Meter::of_default();
        for (s, part, expected) in
            [("llll", "ll", 3), ("ñañaña", "ñañ", 2), ("añb", "", 4), ("", "", 1), ("", "a", 0)]
        {
            assert_eq!(count::<Text>(s, part, &meter), Ok(expected));
        }
        assert_eq!(count::<Bytes>("ñ".as_bytes(), b"", &meter), Ok(3));
        assert_eq!(count::<Bytes>(b"aaa", b"aa", &meter), Ok(2));
    }
}
