//! Types of CSV columns, told by their first rows.
//!
//! | cells | type |
//! | --- | --- |
//! | integers of 64 bits | INT64 |
//! | numbers, `nan`, `inf` | FLOAT64 |
//! | `true`, `false`, also capitalised | BOOLEAN |
//! | anything else, integers too large for 64 bits among it | TEXT |
//!
//! Empty cells are missing and tell nothing; a column of empty cells is FLOAT64.

use cembra_vm::value::ScalarType;

/// The type of the smallest kind that holds all cells.
pub fn infer<'c>(cells: impl Iterator<Item = &'c [u8]>) -> ScalarType {
    let kinds = cells.filter(|cell| !cell.is_empty()).map(kind);
    kinds.reduce(common).unwrap_or(ScalarType::Float64)
}

fn kind(cell: &[u8]) -> ScalarType {
    let trimmed = cell.trim_ascii();
    let digits = trimmed.strip_prefix(b"-").or(trimmed.strip_prefix(b"+")).unwrap_or(trimmed);
    match () {
        () if integer(cell).is_some() => ScalarType::Int64,
        // Digits beyond 64 bits would lose some as a float.
        () if digits.iter().all(u8::is_ascii_digit) => ScalarType::Text,
        () if float::<f64>(cell).is_some() => ScalarType::Float64,
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

/// Reads an integer, white space around it aside.
pub fn integer(cell: &[u8]) -> Option<i64> {
    std::str::from_utf8(cell.trim_ascii()).ok()?.parse().ok()
}

/// Reads the nearest float, white space around it aside.
pub fn float<T: fast_float2::FastFloat>(cell: &[u8]) -> Option<T> {
    fast_float2::parse(cell.trim_ascii()).ok()
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
    fn the_smallest_type_wins() {
        let of = |cells: &[&str]| infer(cells.iter().map(|c| c.as_bytes()));
        let cases: [(&[&str], ScalarType); 10] = [
            (&["1", "", "-7"], ScalarType::Int64),
            (&[" 1 ", "+2"], ScalarType::Int64),
            (&["1", "2.5"], ScalarType::Float64),
            (&["1e3", "NaN", "-inf"], ScalarType::Float64),
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
