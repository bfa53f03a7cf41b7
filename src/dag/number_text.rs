//! Numbers as Python and numpy print them: the shortest digits that read back, with a point.

use half::f16;
use std::fmt::LowerExp;
use std::str::FromStr;

/// Floats that print.
pub(crate) trait FloatText: Copy + Into<f64> + LowerExp + FromStr + PartialEq {
    /// Magnitude from which arrays print with exponents.
    const EXPONENT_FROM: f64;
    /// Power of ten from which single numbers print with exponents.
    const SINGLE_EXPONENT_FROM: i32;

    /// The value, exactly.
    fn wide(self) -> f64 {
        self.into()
    }

    /// Shortest digits that read back, in Rust's exponent form: `-1.25e-7`. Of two that are as near Python takes the
    /// even one, as Rust does only for a given number of digits.
    fn shortest(self) -> String {
        let shortest = format!("{self:e}");
        let digits = shortest.split('e').next().map_or(0, |mantissa| mantissa.trim_start_matches('-').len());
        let even = format!("{self:.0$e}", digits.saturating_sub(2));
        if even.parse().ok() == Some(self) { even } else { shortest }
    }
}

impl FloatText for f64 {
    const EXPONENT_FROM: f64 = 1e8;
    const SINGLE_EXPONENT_FROM: i32 = 16;
}

impl FloatText for f32 {
    const EXPONENT_FROM: f64 = 1e6;
    const SINGLE_EXPONENT_FROM: i32 = 6;
}

impl FloatText for f16 {
    const EXPONENT_FROM: f64 = 1e3;
    const SINGLE_EXPONENT_FROM: i32 = 3;

    /// Five digits tell all float16 apart.
    fn shortest(self) -> String {
        let reads_back = |text: &String| text.parse::<f64>().map(f16::from_f64) == Ok(self);
        let texts = (0..5).map(|digits| format!("{:.digits$e}", self.to_f64()));
        texts.into_iter().find(reads_back).unwrap_or_else(|| format!("{:e}", self.to_f64()))
    }
}

/// `-12.5e3` taken apart.
struct Digits<'t> {
    sign: &'t str,
    digits: String,
    exponent: i32,
}

fn digits(text: &str) -> Digits<'_> {
    let (sign, rest) = if let Some(rest) = text.strip_prefix('-') { ("-", rest) } else { ("", text) };
    let (mantissa, exponent) = rest.split_once('e').expect("the exponent form has an exponent");
    let exponent = exponent.parse().expect("the exponent form has a number as exponent");
    Digits { sign, digits: mantissa.replace('.', ""), exponent }
}

/// `nan`, `inf`, `-inf`, or nothing for finite numbers.
pub(crate) fn special(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_nan() => Some("nan"),
        f64::INFINITY => Some("inf"),
        f64::NEG_INFINITY => Some("-inf"),
        _ => None,
    }
}

/// The number as Python and numpy print it alone: `3.0`, `1e-05`, `1e+16`, `-0.0`, `nan`.
pub(crate) fn python_float<T: FloatText>(value: T) -> String {
    if let Some(special) = special(value.wide()) {
        return special.to_owned();
    }
    let text = value.shortest();
    let Digits { sign, digits, exponent } = digits(&text);
    if (-4..T::SINGLE_EXPONENT_FROM).contains(&exponent) {
        let (whole, fraction) = positional_parts(&digits, exponent);
        return format!("{sign}{whole}.{}", if fraction.is_empty() { "0" } else { &fraction });
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// Digits before and after the point; the first digit counts `10^exponent`.
fn positional_parts(digits: &str, exponent: i32) -> (String, String) {
    let before = exponent + 1;
    if before <= 0 {
        let zeros = "0".repeat(before.unsigned_abs() as usize);
        let fraction = format!("{zeros}{digits}");
        return ("0".to_owned(), fraction.trim_end_matches('0').to_owned());
    }
    let before = before as usize;
    let padded = format!("{digits:0<before$}");
    let (whole, fraction) = padded.split_at(before);
    (whole.to_owned(), fraction.trim_end_matches('0').to_owned())
}

/// Whole part (with sign) and fraction of a finite number: the shortest digits, at most eight of them
/// behind the point.
pub(crate) fn positional<T: FloatText>(value: T) -> (String, String) {
    let text = value.shortest();
    let Digits { sign, digits, exponent } = digits(&text);
    let (whole, fraction) = positional_parts(&digits, exponent);
    if fraction.len() <= 8 {
        return (format!("{sign}{whole}"), fraction);
    }
    let rounded = format!("{:.8}", value.wide());
    let (whole, fraction) = rounded.split_once('.').expect("eight digits follow the point");
    (whole.to_owned(), fraction.trim_end_matches('0').to_owned())
}

/// Digits behind the point that a finite number needs in exponent form, at most eight.
pub(crate) fn scientific_digits<T: FloatText>(value: T) -> usize {
    let shortest = value.shortest();
    let needed = digits(&shortest).digits.len() - 1;
    let (_, rest, _) = scientific(value, needed.min(8));
    rest.trim_end_matches('0').len()
}

/// First digit (with sign), so many further digits and exponent of a finite number, rounded.
pub(crate) fn scientific<T: FloatText>(value: T, digits: usize) -> (String, String, i32) {
    let rounded = format!("{:.digits$e}", value.wide());
    let parts = self::digits(&rounded);
    let (first, rest) = parts.digits.split_at(1);
    (format!("{}{first}", parts.sign), rest.to_owned(), parts.exponent)
}

/// A text as Python writes it: in single quotes, or in double quotes if it contains single ones only.
pub(crate) fn python_string(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut quoted = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c == quote => quoted.extend(['\\', c]),
            c if c.is_control() && (c as u32) < 0x100 => quoted.push_str(&format!("\\x{:02x}", c as u32)),
            c if is_invisible(c) && (c as u32) < 0x10000 => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c if is_invisible(c) => quoted.push_str(&format!("\\U{:08x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push(quote);
    quoted
}

/// Separators and direction marks, which would break a line or hide what stands in it.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_python_prints_them() {
        let cases = [
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (-0.0, "-0.0"),
            (54.598150033144236, "54.598150033144236"),
            (1.5e300, "1.5e+300"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::from(223.1713_f32), "223.17129516601562"),
            (-95.6275634765625, "-95.6275634765625"),
        ];
        for (value, text) in cases {
            assert_eq!(python_float(value), text);
        }
        assert_eq!(python_float(0.1f32), "0.1");
        assert_eq!(python_float(123456.0f32), "123456.0");
        assert_eq!(python_float(16777216.0f32), "1.6777216e+07");
        assert_eq!(python_float(f16::from_f64(2048.0)), "2.048e+03");
        assert_eq!(python_float(f16::from_f64(2.71875)), "2.719");
    }

    #[test]
    fn digits_behind_the_point_are_at_most_eight() {
        let parts = |whole: &str, fraction: &str| (whole.to_owned(), fraction.to_owned());
        assert_eq!(positional(-930468.0447082047), parts("-930468", "0447082"));
        assert_eq!(positional(0.5), parts("0", "5"));
        assert_eq!(positional(-0.0), parts("-0", ""));
        assert_eq!(scientific_digits(0.0012301533574825742), 8);
        assert_eq!(scientific_digits(1e16), 0);
        assert_eq!(scientific(-0.0012301533574825742, 4), ("-1".into(), "2302".into(), -3));
    }

    #[test]
    fn quotes_are_chosen_and_escaped() {
        assert_eq!(python_string("it's"), "\"it's\"");
        assert_eq!(python_string("a'b\"c"), "'a\\'b\"c'");
        assert_eq!(python_string("a\nb\\\u{7f}\u{202e}"), "'a\\nb\\\\\\x7f\\u202e'");
    }
}
