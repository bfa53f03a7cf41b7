//! Numbers as text: the shortest decimal that reads back to the same float.
//!
//! Digits are plain between 1e-6 and 1e21 and scientific (`1e-7`, `1.5e21`) outside, the
//! ECMAScript thresholds without a plus sign, as `strings.as_text` publishes them. Of two shortest
//! decimals that are equally near the one with the even last digit is taken. Nothing is allocated but
//! what the target grows by.

use std::fmt::{LowerExp, Write};
use std::str::FromStr;

/// Appends a FLOAT64: `0.5`, `1`, `-0`, `1e-7`, `nan`, `-inf`.
pub fn write_f64(out: &mut impl Write, value: f64) {
    push(out, special(value.is_nan(), value.is_infinite(), value.is_sign_negative()).unwrap_or_default());
    if value.is_finite() {
        write_shortest(out, value);
    }
}

/// Appends a FLOAT32 with the digits that identify it among FLOAT32 values.
pub fn write_f32(out: &mut impl Write, value: f32) {
    push(out, special(value.is_nan(), value.is_infinite(), value.is_sign_negative()).unwrap_or_default());
    if value.is_finite() {
        write_shortest(out, value);
    }
}

/// True if a float that was read from a decimal is that number rounded: it neither overflowed nor vanished. What has
/// no digits, as `inf`, is what it says.
pub fn is_in_range(text: &str, value: f64) -> bool {
    if value.is_finite() && value != 0.0 {
        return true;
    }
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let digits = || mantissa.bytes().filter(u8::is_ascii_digit);
    match value.is_finite() {
        true => digits().all(|digit| digit == b'0'),
        false => digits().next().is_none(),
    }
}

/// A FLOAT64 as text.
pub fn f64_text(value: f64) -> String {
    let mut out = String::new();
    write_f64(&mut out, value);
    out
}

/// A FLOAT32 as text.
pub fn f32_text(value: f32) -> String {
    let mut out = String::new();
    write_f32(&mut out, value);
    out
}

fn special(nan: bool, infinite: bool, negative: bool) -> Option<&'static str> {
    match (nan, infinite, negative) {
        (true, _, _) => Some("nan"),
        (_, true, false) => Some("inf"),
        (_, true, true) => Some("-inf"),
        _ => None,
    }
}

/// Lays out the shortest digits of a finite float.
fn write_shortest<T: LowerExp + FromStr + PartialEq>(out: &mut impl Write, value: T) {
    let text = shortest(&value);
    let (mantissa, exponent) = text.as_str().split_once('e').expect("`{:e}` always prints an exponent");
    let exponent: i32 = exponent.parse().expect("`{:e}` prints a decimal exponent");
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let (head, tail) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    push(out, sign);
    match exponent {
        -6..=-1 => {
            push(out, "0.");
            push_zeros(out, (-exponent - 1) as usize);
            push(out, head);
            push(out, tail);
        }
        0..=20 => {
            let (whole, fraction) = tail.split_at(tail.len().min(exponent as usize));
            push(out, head);
            push(out, whole);
            push_zeros(out, exponent as usize - whole.len());
            push(out, if fraction.is_empty() { "" } else { "." });
            push(out, fraction);
        }
        _ => {
            push(out, mantissa);
            write!(out, "e{exponent}").expect("the target takes all writes");
        }
    }
}

/// The shortest digits in the form `-d.ddde-x`. The standard library gives the nearest shortest
/// decimal, but the upper one of two that are equally near; rounding to as many digits gives the even
/// one.
fn shortest<T: LowerExp + FromStr + PartialEq>(value: &T) -> Short {
    let mut upper = Short::default();
    write!(upper, "{value:e}").expect("17 digits fit");
    let mantissa = upper.as_str().split_once('e').map_or("", |(mantissa, _)| mantissa);
    let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let mut even = Short::default();
    write!(even, "{value:.decimals$e}").expect("17 digits fit");
    let reads_back = even.as_str().parse::<T>().is_ok_and(|read| read == *value);
    if reads_back { even } else { upper }
}

/// Text in place: 17 digits, two signs, point, `e` and three exponent digits are 24 bytes.
#[derive(Default)]
struct Short {
    bytes: [u8; 24],
    len: usize,
}

impl Short {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).expect("only whole strings were written")
    }
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

fn push(out: &mut impl Write, text: &str) {
    out.write_str(text).expect("the target takes all writes");
}

fn push_zeros(out: &mut impl Write, count: usize) {
    // At most 20 zeros stand before or behind the digits.
    push(out, &"00000000000000000000"[..count]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_out_of_range_are_told() {
        let is_in = |text: &str| is_in_range(text, text.parse().expect("a decimal"));
        assert!(["1e308", "0", "-0.0", "0e999", "inf", "nan", "-inf", "5e-324"].into_iter().all(is_in));
        assert!(!["1e400", "-1e309", "1e-400", "0.1e-330"].into_iter().any(is_in));
    }

    #[test]
    fn thresholds_and_specials() {
        let cases = [
            (0.5, "0.5"),
            (-0.0, "-0"),
            (1e20, "100000000000000000000"),
            (1e21, "1e21"),
            (1.5e300, "1.5e300"),
            (1e-6, "0.000001"),
            (1.25e-7, "1.25e-7"),
            (5e-324, "5e-324"),
            (123.456, "123.456"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (value, text) in cases {
            assert_eq!(f64_text(value), text);
        }
        assert_eq!(f32_text(6.37), "6.37");
        assert_eq!(f32_text(f32::from_bits(0x49e6_e86a)), "1891597.2");
        assert_eq!(f64_text(f64::from_bits(0xc311_c2d5_5524_0849)), "-1249824029082130.2");
        assert_eq!(f32_text(123456789.0), "123456790");
    }

    #[test]
    fn text_reads_back_to_the_same_bits() {
        let mut bits: u64 = 0x9E37_79B9_7F4A_7C15;
        for _ in 0..20_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = f64::from_bits(bits);
            if value.is_finite() {
                assert_eq!(f64_text(value).parse::<f64>().map(f64::to_bits), Ok(bits));
            }
        }
    }
}
