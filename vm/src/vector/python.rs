//! Arithmetic of Python on INT64 and FLOAT64: what `//`, `%`, `/`, `**`, `round` and comparisons give.
//!
//! `None` stands for an integer that INT64 does not hold. Divisors are not zero; callers have checked that.

use std::cmp::Ordering;

/// x // y.
#[inline(always)]
pub fn floordiv(x: i64, y: i64) -> Option<i64> {
    let quotient = x.checked_div(y)?;
    let remainder = x.wrapping_rem(y);
    Some(quotient - i64::from(remainder != 0 && (remainder < 0) != (y < 0)))
}

/// x % y, with the sign of y.
#[inline(always)]
pub fn modulo(x: i64, y: i64) -> i64 {
    let remainder = x.wrapping_rem(y);
    match remainder != 0 && (remainder < 0) != (y < 0) {
        true => remainder + y,
        false => remainder,
    }
}

/// x // y and x % y of floats, as CPython computes them: the quotient is that of x less the remainder.
#[inline]
pub fn float_divmod(x: f64, y: f64) -> (f64, f64) {
    let mut remainder = x % y;
    let mut quotient = (x - remainder) / y;
    if remainder == 0.0 {
        remainder = 0.0f64.copysign(y);
    } else if (y < 0.0) != (remainder < 0.0) {
        remainder += y;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0f64.copysign(x / y), remainder);
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, remainder)
}

/// x / y of integers, rounded once.
#[inline]
pub fn divide(x: i64, y: i64) -> f64 {
    const EXACT: u64 = 1 << 53;
    match x.unsigned_abs() <= EXACT && y.unsigned_abs() <= EXACT {
        true => x as f64 / y as f64,
        false => divide_large(x, y),
    }
}

/// The quotient in 66 bits and more, its last bit set if a remainder is left: one rounding from there.
#[cold]
fn divide_large(x: i64, y: i64) -> f64 {
    let (dividend, divisor) = (u128::from(x.unsigned_abs()), u128::from(y.unsigned_abs()));
    if dividend == 0 {
        return if y < 0 { -0.0 } else { 0.0 };
    }
    let shift = (dividend.leading_zeros() - 1).min(120);
    let quotient = (dividend << shift) / divisor;
    let is_rest = (dividend << shift) % divisor != 0;
    let size = (quotient | u128::from(is_rest)) as f64 * 2f64.powi(-(shift as i32));
    if (x < 0) != (y < 0) { -size } else { size }
}

/// x << n for an n that is not negative.
#[inline(always)]
pub fn shift_left(x: i64, n: i64) -> Option<i64> {
    if x == 0 {
        return Some(0);
    }
    let shifted = if n < 64 { x << n } else { return None };
    (shifted >> n == x).then_some(shifted)
}

/// x ** y.
#[inline]
pub fn pow(x: i64, y: u64) -> Option<i64> {
    match (x, u32::try_from(y)) {
        (_, Ok(y)) => x.checked_pow(y),
        (0 | 1, _) => Some(x),
        (-1, _) => Some(if y.is_multiple_of(2) { 1 } else { -1 }),
        _ => None,
    }
}

/// x ** y, which wraps around; for a negative y what an integer is of the quotient, cut to zero.
pub fn wrapping_pow(x: i64, y: i64) -> i64 {
    let Ok(mut rest) = u64::try_from(y) else {
        return match x {
            1 => 1,
            -1 => 1 - 2 * (y & 1),
            _ => 0,
        };
    };
    let (mut power, mut base) = (1i64, x);
    while rest > 0 {
        if rest & 1 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        rest >>= 1;
    }
    power
}

/// A bound of a slice of so many elements by a step: counted from the end if it is negative, then at most one
/// beyond the elements on either side that the step leads to.
pub fn slice_bound(i: i64, size: i64, step: i64) -> i64 {
    let size = size.max(0);
    let place = if i < 0 { i.saturating_add(size) } else { i };
    match step > 0 {
        true => place.clamp(0, size),
        false => place.clamp(-1, size - 1),
    }
}

/// x ** y % m, with the sign of m.
pub fn pow_modulo(x: i64, y: u64, m: i64) -> i64 {
    let modulus = i128::from(m);
    let (mut power, mut base, mut rest) = (1i128.rem_euclid(modulus), i128::from(x).rem_euclid(modulus), y);
    while rest > 0 {
        if rest & 1 == 1 {
            power = power * base % modulus;
        }
        base = base * base % modulus;
        rest >>= 1;
    }
    let power = power.rem_euclid(modulus);
    (if m < 0 && power != 0 { power + modulus } else { power }) as i64
}

/// Greatest common divisor of the absolute values.
pub fn gcd(x: i64, y: i64) -> u64 {
    let (mut x, mut y) = (x.unsigned_abs(), y.unsigned_abs());
    while y != 0 {
        (x, y) = (y, x % y);
    }
    x
}

/// How many numbers a range has.
#[inline(always)]
pub fn range_count(start: i64, stop: i64, step: i64) -> Option<i64> {
    let distance = match step > 0 {
        true if start < stop => stop.abs_diff(start),
        false if start > stop => start.abs_diff(stop),
        _ => return Some(0),
    };
    let step = step.unsigned_abs();
    i64::try_from((distance - 1) / step + 1).ok()
}

/// A float without fraction as an integer.
#[inline(always)]
pub fn to_integer(x: f64) -> Option<i64> {
    const LIMIT: f64 = (1u64 << 63) as f64;
    (-LIMIT..LIMIT).contains(&x).then_some(x as i64)
}

/// An integer beside a float, exactly; `None` beside NaN.
#[inline]
pub fn compare(x: i64, y: f64) -> Option<Ordering> {
    if y.is_nan() {
        return None;
    }
    let Some(floor) = to_integer(y.floor()) else {
        return Some(if y > 0.0 { Ordering::Less } else { Ordering::Greater });
    };
    Some(x.cmp(&floor).then(if y > y.floor() { Ordering::Less } else { Ordering::Equal }))
}

/// The float nearest to the decimal with n digits behind the point that is nearest to x, halves to even; `None`
/// if it overflows.
pub fn round_digits(x: f64, n: i64) -> Option<f64> {
    /// More digits than any float has behind its point, or before it.
    const MOST: i64 = 330;
    if !x.is_finite() || n > MOST {
        return Some(x);
    }
    if n < -MOST {
        return Some(0.0f64.copysign(x));
    }
    let rounded: f64 = match n {
        0.. => format!("{x:.*}", n as usize).parse().ok()?,
        _ => round_tens(x, n.unsigned_abs() as usize)?,
    };
    rounded.is_finite().then_some(rounded)
}

/// The float nearest to the multiple of 10**n that is nearest to x.
fn round_tens(x: f64, n: usize) -> Option<f64> {
    let digits = format!("{:.0}", x.trunc().abs());
    let at = digits.len().saturating_sub(n);
    let (kept, cut) = digits.split_at(at);
    let half = format!("5{}", "0".repeat(n - 1));
    let cut = format!("{cut:0>n$}");
    let is_odd = kept.bytes().last().is_some_and(|digit| digit % 2 == 1);
    let goes_up = match cut.as_str().cmp(half.as_str()) {
        Ordering::Less => false,
        Ordering::Equal => is_odd || x.fract() != 0.0,
        Ordering::Greater => true,
    };
    let mut kept = format!("0{kept}").into_bytes();
    if goes_up {
        for digit in kept.iter_mut().rev() {
            *digit = if *digit == b'9' { b'0' } else { *digit + 1 };
            if *digit != b'0' {
                break;
            }
        }
    }
    let text = format!("{}{}", String::from_utf8(kept).ok()?, "0".repeat(n));
    text.parse::<f64>().ok().map(|size| size.copysign(x))
}

/// x rounded to tens, hundreds, … for a negative n, halves to even.
pub fn round_integer(x: i64, n: i64) -> Option<i64> {
    if n >= 0 {
        return Some(x);
    }
    // Every INT64 is nearer to 0 than to 10**20.
    if n < -19 {
        return Some(0);
    }
    let unit = 10i128.pow(n.unsigned_abs() as u32);
    let (floor, rest) = (i128::from(x).div_euclid(unit), i128::from(x).rem_euclid(unit));
    let goes_up = match (rest * 2).cmp(&unit) {
        Ordering::Less => false,
        Ordering::Equal => floor % 2 != 0,
        Ordering::Greater => true,
    };
    i64::try_from((floor + i128::from(goes_up)) * unit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_down() {
        assert_eq!([floordiv(7, 2), floordiv(-7, 2), floordiv(i64::MIN, -1)], [Some(3), Some(-4), None]);
        assert_eq!([modulo(7, -2), modulo(-7, 2), modulo(i64::MIN, -1)], [-1, 1, 0]);
        assert_eq!(float_divmod(-1.0, 0.1), (-10.0, 5.551115123125783e-17));
        assert_eq!(float_divmod(7.5, f64::INFINITY), (0.0, 7.5));
        assert_eq!(float_divmod(-7.5, f64::INFINITY), (-1.0, f64::INFINITY));
    }

    #[test]
    fn integers_are_divided_with_one_rounding() {
        assert_eq!(divide(9007199254740993, 3), 3002399751580331.0);
        assert_eq!(divide(i64::MAX, i64::MAX - 1), 1.0);
        assert_eq!(divide(9223372036854775807, -2), -4611686018427387904.0);
        assert_eq!(divide(1, i64::MIN), -2f64.powi(-63));
    }

    #[test]
    fn decimals_round_by_the_exact_value() {
        let rounded = |x, n| round_digits(x, n).expect("finite");
        assert_eq!(
            [rounded(2.675, 2), rounded(0.5, 0), rounded(1.5, 0), rounded(2.5, 0)],
            [2.67, 0.0, 2.0, 2.0]
        );
        assert_eq!([rounded(0.125, 2), rounded(0.375, 2)], [0.12, 0.38]);
        assert_eq!(
            [rounded(1250.0, -2), rounded(1350.0, -2), rounded(-1250.5, -2)],
            [1200.0, 1400.0, -1300.0]
        );
        assert_eq!([rounded(6.0, -1), rounded(5.0, -1), rounded(96.0, -1)], [10.0, 0.0, 100.0]);
        assert_eq!(
            [round_integer(25, -1), round_integer(-35, -1), round_integer(7, 3)],
            [Some(20), Some(-40), Some(7)]
        );
    }

    #[test]
    fn comparisons_with_floats_are_exact() {
        assert_eq!(compare((1 << 53) + 1, 9007199254740992.0), Some(Ordering::Greater));
        assert_eq!(compare(i64::MAX, 9223372036854775808.0), Some(Ordering::Less));
        assert_eq!(
            [compare(2, 2.5), compare(3, 2.5), compare(-2, -2.5)].map(|o| o.expect("numbers")),
            [Ordering::Less, Ordering::Greater, Ordering::Greater]
        );
        assert_eq!(compare(0, f64::NAN), None);
    }

    #[test]
    fn powers_and_ranges_know_their_limits() {
        assert_eq!(
            [pow(2, 62), pow(2, 63), pow(-1, u64::MAX), pow(3, 1 << 40)],
            [Some(1 << 62), None, Some(-1), None]
        );
        assert_eq!([pow_modulo(3, 5, 7), pow_modulo(3, 5, -7), pow_modulo(-2, 3, 5)], [5, -2, 2]);
        assert_eq!(
            [range_count(0, 10, 3), range_count(5, 0, -2), range_count(0, 0, 1)],
            [Some(4), Some(3), Some(0)]
        );
        assert_eq!(range_count(i64::MIN, i64::MAX, 1), None);
        assert_eq!(
            [shift_left(1, 62), shift_left(1, 63), shift_left(-1, 63), shift_left(0, 99)],
            [Some(1 << 62), None, Some(i64::MIN), Some(0)]
        );
    }
}
