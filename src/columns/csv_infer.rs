//! Types of CSV columns, told by their first rows.
//!
//! | cells | type |
//! | --- | --- |
//! | integers of 64 bits | INT64 |
//! | numbers, `nan`, `inf` | FLOAT64 |
//! | `true`, `false`, also capitalised | BOOLEAN |
//! | anything else, integers too large for 64 bits among it | TEXT |
//!
//! Empty cells are missing and tell nothing; a column of empty cells is FLOAT64. An integer in a column that is told to be
//! FLOAT64 fails its row if it would be rounded; a type that is given rounds.

use cembra_vm::value::ScalarType;
use cembra_vm::value::number::is_in_range;

/// The type of the smallest kind that holds all cells.
pub fn infer<'c>(cells: impl Iterator<Item = &'c [u8]>) -> ScalarType {
    let kinds = cells.filter(|cell| !cell.is_empty()).map(kind);
    kinds.reduce(common).unwrap_or(ScalarType::Float64)
}

fn kind(cell: &[u8]) -> ScalarType {
    let trimmed = cell.trim_ascii();
    match () {
        () if integer(cell).is_some() => ScalarType::Int64,
        // Digits beyond 64 bits would lose some as a float.
        () if has_only_digits(trimmed) => ScalarType::Text,
        // A number that no float holds is one still: one cell makes no texts of the numbers around it. It is an error
        // in its row, which is `is_out_of_range`.
        () if fast_float2::parse::<f64, _>(trimmed).is_ok() => ScalarType::Float64,
        () if boolean(cell).is_some() => ScalarType::Boolean,
        () => ScalarType::Text,
    }
}

fn common(a: ScalarType, b: ScalarType) -> ScalarType {
    match (a, b) {
        (a, b) if a == b => a,
        (ScalarType::Int64 | ScalarType::Float64, ScalarType::Int64 | ScalarType::Float64) => {
            ScalarType::Float64
        }
        _ => ScalarType::Text,
    }
}

/// Digits behind a sign or none, or nothing.
fn has_only_digits(trimmed: &[u8]) -> bool {
    let digits = trimmed.strip_prefix(b"-").or(trimmed.strip_prefix(b"+")).unwrap_or(trimmed);
    digits.iter().all(u8::is_ascii_digit)
}

/// True if a cell, which does not read as this type, is a number of its kind.
pub fn is_out_of_range(cell: &[u8], element: ScalarType) -> bool {
    let trimmed = cell.trim_ascii();
    match element {
        ScalarType::Float32 | ScalarType::Float64 => fast_float2::parse::<f64, _>(trimmed).is_ok(),
        ScalarType::Int32 | ScalarType::Int64 => trimmed.len() > 1 && has_only_digits(trimmed),
        _ => false,
    }
}

/// Reads an integer, white space around it aside.
pub fn integer(cell: &[u8]) -> Option<i64> {
    std::str::from_utf8(cell.trim_ascii()).ok()?.parse().ok()
}

/// Reads the nearest float, white space around it aside; nothing if it overflows or vanishes.
pub fn float<T: fast_float2::FastFloat + Into<f64> + Copy>(cell: &[u8]) -> Option<T> {
    let cell = cell.trim_ascii();
    let value: T = fast_float2::parse(cell).ok()?;
    let text = || std::str::from_utf8(cell).unwrap_or_default();
    let wide: f64 = value.into();
    ((wide.is_finite() && wide != 0.0) || is_in_range(text(), wide)).then_some(value)
}

/// Digits of integers that every float of 64 bits holds.
const EXACT_DIGITS: usize = 15;

/// True for an integer that is neither the nearest float, nor what that float is printed as.
pub fn is_rounded(cell: &[u8]) -> bool {
    let trimmed = cell.trim_ascii();
    if trimmed.len() <= EXACT_DIGITS || !has_only_digits(trimmed) {
        return false;
    }
    let digits = std::str::from_utf8(trimmed).unwrap_or_default().trim_start_matches(['+', '-', '0']);
    let Some(value) = float::<f64>(digits.as_bytes()) else { return false };
    // One has all digits of the float, the other the fewest that read back, and zeros.
    digits != format!("{value:.0}") && digits != value.to_string()
}

/// Reads a truth value.
pub fn boolean(cell: &[u8]) -> Option<bool> {
    match cell.trim_ascii() {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_out_of_range_are_none() {
        let reads =
            |cell: &str| (float::<f64>(cell.as_bytes()).is_some(), float::<f32>(cell.as_bytes()).is_some());
        assert_eq!(reads("1e400"), (false, false));
        assert_eq!(reads("-1e39"), (true, false));
        assert_eq!(reads("1e-50"), (true, false));
        assert_eq!(reads(" inf "), (true, true));
        assert_eq!(reads("-0.0e5"), (true, true));
    }

    #[test]
    fn integers_are_rounded_if_the_float_is_not_printed_as_they_are() {
        let rounded = |cell: &str| is_rounded(cell.as_bytes());
        for kept in [
            "9007199254740992",
            "-1000000000000000000000",
            "123456789012345680000",
            "+0000000000000000001",
            "0000000000000000000",
        ] {
            assert!(!rounded(kept), "{kept}");
        }
        // The digits of the float nearest to 123456789012345680000, all of them.
        assert!(!rounded("123456789012345683968"));
        assert!(!rounded("12345678901234567.8"), "not an integer");
        for lost in [" 9007199254740993", "-9223372036854775807", "123456789012345678901"] {
            assert!(rounded(lost), "{lost}");
        }
    }

    #[test]
    fn the_smallest_type_wins() {
        let of = |cells: &[&str]| infer(cells.iter().map(|c| c.as_bytes()));
        let cases: [(&[&str], ScalarType); 11] = [
            (&["1", "", "-7"], ScalarType::Int64),
            (&[" 1 ", "+2"], ScalarType::Int64),
            (&["1", "2.5"], ScalarType::Float64),
            (&["1e3", "NaN", "-inf"], ScalarType::Float64),
            (&["1", "1e400"], ScalarType::Float64),
            (&["true", "FALSE", ""], ScalarType::Boolean),
            (&["true", "1"], ScalarType::Text),
            (&["9223372036854775807"], ScalarType::Int64),
            (&["9223372036854775808"], ScalarType::Text),
            (&["", ""], ScalarType::Float64),
            (&["1", "x"], ScalarType::Text),
        ];
        for (cells, expected) in cases {
            assert_eq!(of(cells), expected, "{cells:?}");
        }
    }
}
