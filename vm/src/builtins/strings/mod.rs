//! `strings.*`: TEXT and BYTES.
//!
//! | file | operators |
//! | --- | --- |
//! | `units` | what TEXT and BYTES have in common: units, offsets, slices |
//! | `pattern`, `strip` | the search of one string in another; strings without units at their ends |
//! | `search` | length, find, rfind, contains, count |
//! | `edit` | substr, replace, strip, lstrip, rstrip, join |
//! | `case` | upper, lower |
//! | `compare` | comparisons over rows, for `core` and `bool` |
//! | `scalar` | as_text, parse_int32 … parse_float64 |
//! | `utf8` | encode, decode |
//! | `printf` | printf |
//! | `format` | format |
//! | `pieces` | split, findall_regex |
//! | `regex`, `re2`, `re2_escapes`, `re2_classes` | contains_regex, extract_regex, replace_all_regex, and their patterns |
//! | `argument`, `digits` | what both of them take, and how it prints |
//!
//! Positions and lengths count *units*: code points of a TEXT, bytes of a BYTES. A missing operand
//! gives a missing result, except that a missing position, limit or set of characters means "not
//! given". Results are written into the buffer that the result slot already owns.

use crate::operator::Family;

mod argument;
mod case;
pub(super) mod compare;
mod digits;
mod edit;
mod format;
mod pattern;
pub mod pieces;
mod printf;
pub mod re2;
mod re2_classes;
mod re2_escapes;
pub mod regex;
mod scalar;
pub(super) mod search;
mod strip;
pub(super) mod units;
mod utf8;

/// The rows of this namespace.
pub fn rows() -> Vec<Family> {
    [
        search::rows(),
        edit::rows(),
        case::rows(),
        scalar::rows(),
        utf8::rows(),
        printf::rows(),
        format::rows(),
        regex::rows(),
        pieces::rows(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::QType;

    fn result(name: &str, args: &[&str]) -> Option<String> {
        let args: Vec<QType> = args.iter().map(|a| a.parse().expect("a type")).collect();
        let row = rows().into_iter().find(|row| &**row.name() == name)?;
        Some(row.overload(&args)?.result().to_string())
    }

    #[test]
    fn overloads_by_types() {
        let cases: &[(&str, &[&str], Option<&str>)] = &[
            ("strings.length", &["OPTIONAL_BYTES"], Some("OPTIONAL_INT64")),
            ("strings.find", &["TEXT", "TEXT", "INT64", "OPTIONAL_INT64"], Some("OPTIONAL_INT64")),
            ("strings.find", &["TEXT", "BYTES", "INT64", "OPTIONAL_INT64"], None),
            (
                "strings.substr",
                &["OPTIONAL_BYTES", "OPTIONAL_INT64", "OPTIONAL_INT64"],
                Some("OPTIONAL_BYTES"),
            ),
            ("strings.replace", &["TEXT", "TEXT", "TEXT", "OPTIONAL_INT64"], Some("TEXT")),
            ("strings.strip", &["TEXT", "OPTIONAL_TEXT"], Some("TEXT")),
            ("strings.contains", &["OPTIONAL_TEXT", "OPTIONAL_TEXT"], Some("OPTIONAL_UNIT")),
            ("strings._join_with_separator", &["TEXT", "TEXT", "OPTIONAL_TEXT"], Some("OPTIONAL_TEXT")),
            ("strings._join_with_separator", &["TEXT", "TEXT", "BYTES"], None),
            ("strings._join_with_separator", &["TEXT"], None),
            ("strings.as_text", &["WEAK_FLOAT"], Some("TEXT")),
            ("strings.as_text", &["OPTIONAL_UNIT"], Some("OPTIONAL_TEXT")),
            ("strings.parse_float32", &["BYTES"], Some("FLOAT32")),
            ("strings.decode", &["OPTIONAL_BYTES", "TEXT"], Some("OPTIONAL_TEXT")),
            ("strings.printf", &["TEXT", "WEAK_FLOAT", "OPTIONAL_INT32"], Some("OPTIONAL_TEXT")),
            ("strings.printf", &["BYTES", "TEXT"], None),
            ("strings.printf", &["TEXT", "UNIT"], None),
            ("strings.format", &["BYTES", "TEXT", "BYTES"], Some("BYTES")),
            ("strings.format", &["TEXT"], None),
        ];
        for (name, args, expected) in cases {
            assert_eq!(result(name, args).as_deref(), *expected, "{name}{args:?}");
        }
    }
}
