//! Numbers in a given style, as C prints them: `%05d`, `%#x`, `%.3e`, `%g`, `%a`.
//!
//! ```text
//! [spaces] sign 0x [zeros] digits [spaces]
//! ^start           ^body
//! ```
//!
//! A number is written without padding first; then its width is known and padding is moved in.

use std::io::Write;

/// What stands between the percent sign and the letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// `-`: padding goes to the right.
    pub left: bool,
    /// `+`: a sign even if positive.
    pub plus: bool,
    /// ` `: a space in place of a plus sign.
    pub space: bool,
    /// `#`: the other form, with a prefix or a point.
    pub alternative: bool,
    /// `0`: padding by zeros.
    pub zero: bool,
    /// Least number of bytes.
    pub width: usize,
    /// Digits, or bytes of a string; depends on the letter if not given.
    pub precision: Option<usize>,
}

impl Style {
    fn sign(&self, negative: bool) -> &'static [u8] {
        match (negative, self.plus, self.space) {
            (true, _, _) => b"-",
            (_, true, _) => b"+",
            (_, _, true) => b" ",
            _ => b"",
        }
    }
}

/// Appends bytes, cut to the precision.
pub fn write_bytes(out: &mut Vec<u8>, style: &Style, bytes: &[u8]) {
    let start = out.len();
    out.extend_from_slice(&bytes[..style.precision.unwrap_or(usize::MAX).min(bytes.len())]);
    pad(out, style, start, None);
}

/// Appends the lowest byte of a number.
pub fn write_byte(out: &mut Vec<u8>, style: &Style, byte: u8) {
    let start = out.len();
    out.push(byte);
    pad(out, style, start, None);
}

/// Appends an integer: signed for `d` and `i`, else by its bits.
pub fn write_integer(out: &mut Vec<u8>, style: &Style, letter: u8, value: i64, bits: u64) {
    let (sign, number): (&[u8], u64) = match letter {
        b'd' | b'i' => (style.sign(value < 0), value.unsigned_abs()),
        _ => (b"", bits),
    };
    let start = out.len();
    out.extend_from_slice(sign);
    match letter {
        b'x' if style.alternative && number != 0 => out.extend_from_slice(b"0x"),
        b'X' if style.alternative && number != 0 => out.extend_from_slice(b"0X"),
        _ => {}
    }
    let body = out.len();
    write_magnitude(out, letter, number);
    let digits = out.len() - body;
    let least = match style.alternative && letter == b'o' {
        true => style.precision.unwrap_or(1).max(digits + 1),
        false => style.precision.unwrap_or(1),
    };
    insert(out, body, b'0', least.saturating_sub(digits));
    pad(out, style, start, style.precision.is_none().then_some(body));
}

/// Digits of a number; 0 has none, so that its digits are those the precision asks for.
fn write_magnitude(out: &mut Vec<u8>, letter: u8, number: u64) {
    match letter {
        _ if number == 0 => {}
        b'o' => write_to(out, format_args!("{number:o}")),
        b'x' => write_to(out, format_args!("{number:x}")),
        b'X' => write_to(out, format_args!("{number:X}")),
        _ => write_to(out, format_args!("{number}")),
    }
}

/// Appends a float for one of the letters `f e g a`, in capitals for `F E G A`. A NaN has no sign.
pub fn write_float(out: &mut Vec<u8>, style: &Style, letter: u8, x: f64) {
    let start = out.len();
    out.extend_from_slice(style.sign(x.is_sign_negative() && !x.is_nan()));
    let magnitude = x.abs();
    if letter.eq_ignore_ascii_case(&b'a') && x.is_finite() {
        out.extend_from_slice(b"0x");
    }
    let body = out.len();
    match letter.to_ascii_lowercase() {
        _ if x.is_nan() => out.extend_from_slice(b"nan"),
        _ if x.is_infinite() => out.extend_from_slice(b"inf"),
        b'f' => fixed(out, style, magnitude, style.precision.unwrap_or(6)),
        b'e' => {
            let exponent = mantissa(out, magnitude, style.precision.unwrap_or(6), style.alternative);
            write_exponent(out, exponent);
        }
        b'a' => hexadecimal(out, style, magnitude),
        _ => general(out, style, magnitude),
    }
    if letter.is_ascii_uppercase() {
        out[start..].make_ascii_uppercase();
    }
    pad(out, style, start, x.is_finite().then_some(body));
}

/// Digits behind the point that a FLOAT64 can have; what is asked beyond is zeros.
const EXACT_DIGITS: usize = 1100;

fn fixed(out: &mut Vec<u8>, style: &Style, x: f64, precision: usize) {
    write_to(out, format_args!("{x:.*}", precision.min(EXACT_DIGITS)));
    finish_fraction(out, precision, style.alternative);
}

/// Writes `d.ddd` with this many digits behind the point and gives the decimal exponent.
fn mantissa(out: &mut Vec<u8>, x: f64, precision: usize, point: bool) -> i32 {
    let start = out.len();
    write_to(out, format_args!("{x:.*e}", precision.min(EXACT_DIGITS)));
    let mark = out[start..].iter().rposition(|b| *b == b'e').map_or(out.len(), |at| start + at);
    let exponent = std::str::from_utf8(&out[mark..]).ok().and_then(|text| text[1..].parse().ok());
    out.truncate(mark);
    finish_fraction(out, precision, point);
    exponent.expect("`{:e}` ends in `e` and a decimal exponent")
}

fn finish_fraction(out: &mut Vec<u8>, precision: usize, point: bool) {
    if precision == 0 && point {
        out.push(b'.');
    }
    let zeros = precision.saturating_sub(EXACT_DIGITS);
    out.resize(out.len() + zeros, b'0');
}

fn write_exponent(out: &mut Vec<u8>, exponent: i32) {
    write_to(out, format_args!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs()));
}

/// `%g`: that many significant digits, scientific for exponents below -4 or not below the precision,
/// without zeros at the end.
fn general(out: &mut Vec<u8>, style: &Style, x: f64) {
    let digits = style.precision.unwrap_or(6).max(1);
    let start = out.len();
    let exponent = mantissa(out, x, digits - 1, style.alternative);
    let scientific = exponent < -4 || i64::from(exponent) >= digits as i64;
    if !scientific {
        out.truncate(start);
        fixed(out, style, x, (digits as i64 - 1 - i64::from(exponent)) as usize);
    }
    strip_zeros(out, style, start);
    if scientific {
        write_exponent(out, exponent);
    }
}

fn strip_zeros(out: &mut Vec<u8>, style: &Style, start: usize) {
    if style.alternative || !out[start..].contains(&b'.') {
        return;
    }
    let kept = out.iter().rposition(|b| *b != b'0').map_or(start, |last| last + 1);
    out.truncate(kept);
    if out.last() == Some(&b'.') {
        out.pop();
    }
}

/// `%a`: hexadecimal digits of the mantissa, rounded to even, and the exponent of 2.
fn hexadecimal(out: &mut Vec<u8>, style: &Style, x: f64) {
    const FRACTION: u32 = 52;
    let (mantissa, exponent) = binary(x);
    let kept = style.precision.unwrap_or(13).min(13);
    let dropped = 4 * (13 - kept as u32);
    let rounded = round_to_even(mantissa, dropped);
    let fraction = rounded & ((1 << FRACTION) - 1);
    write_to(out, format_args!("{}.{fraction:013x}", rounded >> FRACTION));
    match style.precision {
        Some(precision) => {
            out.truncate(out.len() - 13 + kept);
            out.resize(out.len() + precision - kept, b'0');
        }
        None => {
            let end = out.iter().rposition(|b| *b != b'0').map_or(0, |last| last + 1);
            out.truncate(end);
        }
    }
    if out.last() == Some(&b'.') && !style.alternative {
        out.pop();
    }
    write_to(out, format_args!("p{exponent:+}"));
}

/// A number as `mantissa * 2^(exponent - 52)`. The leading bit is 1 down to exponent -1023, which is
/// one lower than in C; below, it is 0 and the exponent stays -1022.
fn binary(x: f64) -> (u64, i32) {
    let fraction = x.to_bits() & ((1 << 52) - 1);
    match (x.to_bits() >> 52) as i32 {
        0 if fraction == 0 => (0, 0),
        0 if fraction >> 51 == 1 => (fraction << 1, -1023),
        0 => (fraction, -1022),
        biased => (fraction | 1 << 52, biased - 1023),
    }
}

fn round_to_even(bits: u64, dropped: u32) -> u64 {
    if dropped == 0 {
        return bits;
    }
    let (kept, rest, half) = (bits >> dropped, bits & ((1 << dropped) - 1), 1 << (dropped - 1));
    let up = rest > half || (rest == half && kept & 1 == 1);
    (kept + u64::from(up)) << dropped
}

/// Widens what was written since `start`: by zeros at `body` if there is one and the style asks for
/// zeros, else by spaces.
fn pad(out: &mut Vec<u8>, style: &Style, start: usize, body: Option<usize>) {
    let missing = style.width.saturating_sub(out.len() - start);
    match body {
        _ if style.left => out.resize(out.len() + missing, b' '),
        Some(body) if style.zero => insert(out, body, b'0', missing),
        _ => insert(out, start, b' ', missing),
    }
}

fn insert(out: &mut Vec<u8>, at: usize, byte: u8, count: usize) {
    out.resize(out.len() + count, byte);
    out[at..].rotate_right(count);
}

fn write_to(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a buffer cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = b"|".to_vec();
        write(&mut out);
        String::from_utf8(out).expect("ASCII")[1..].to_owned()
    }

    #[test]
    fn integers_pad_between_sign_and_digits() {
        let plain = Style::default();
        let cases = [
            (Style { width: 5, zero: true, ..plain }, b'd', -42, "-0042"),
            (Style { width: 5, left: true, zero: true, ..plain }, b'd', 42, "42   "),
            (Style { width: 8, precision: Some(5), zero: true, ..plain }, b'd', -42, "  -00042"),
            (Style { precision: Some(0), plus: true, ..plain }, b'd', 0, "+"),
            (Style { alternative: true, width: 8, zero: true, ..plain }, b'x', 42, "0x00002a"),
            (Style { alternative: true, ..plain }, b'x', 0, "0"),
            (Style { alternative: true, precision: Some(0), ..plain }, b'o', 0, "0"),
            (Style { alternative: true, ..plain }, b'o', 8, "010"),
            (Style { plus: true, ..plain }, b'u', 1, "1"),
        ];
        for (style, letter, value, expected) in cases {
            assert_eq!(text(|out| write_integer(out, &style, letter, value, value as u64)), expected);
        }
    }

    #[test]
    fn floats_by_letter() {
        let digits = |precision| Style { precision: Some(precision), ..Style::default() };
        let sharp = Style { alternative: true, ..Style::default() };
        let cases = [
            (Style::default(), b'f', 1.5, "1.500000"),
            (digits(0), b'f', 2.5, "2"),
            (Style { alternative: true, ..digits(0) }, b'f', 0.5, "0."),
            (Style { width: 7, zero: true, ..digits(1) }, b'f', -2.25, "-0002.2"),
            (Style { width: 5, zero: true, ..digits(1) }, b'F', f64::INFINITY, "  INF"),
            (Style { plus: true, ..digits(1) }, b'f', -f64::NAN, "+nan"),
            (digits(2), b'e', 0.0, "0.00e+00"),
            (digits(0), b'E', 9.6e-101, "1E-100"),
            (Style::default(), b'g', 100000.0, "100000"),
            (Style::default(), b'g', 999999.5, "1e+06"),
            (Style::default(), b'g', 0.0001, "0.0001"),
            (Style::default(), b'g', 0.00001, "1e-05"),
            (Style::default(), b'g', -0.0, "-0"),
            (digits(0), b'g', 42.0, "4e+01"),
            (sharp, b'g', 1.5, "1.50000"),
            (Style::default(), b'a', 1.0, "0x1p+0"),
            (digits(0), b'a', 1.5, "0x2p+0"),
            (digits(1), b'A', -1.03125, "-0X1.0P+0"),
            (sharp, b'a', 0.0, "0x0.p+0"),
            (Style::default(), b'a', f64::from_bits(1), "0x0.0000000000001p-1022"),
            (Style::default(), b'a', f64::MIN_POSITIVE / 2.0, "0x1p-1023"),
        ];
        for (style, letter, x, expected) in cases {
            assert_eq!(text(|out| write_float(out, &style, letter, x)), expected);
        }
        assert_eq!(text(|out| write_float(out, &digits(1200), b'e', 1.0)).len(), "1.e+00".len() + 1200);
    }
}
