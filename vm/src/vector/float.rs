//! Scalar functions on FLOAT32 and FLOAT64, one name for both widths.
//!
//! Exact operations (`sqrt`, `floor`, `fmod`, …) are correctly rounded everywhere; the others are
//! those of `vector/math`, the same on every machine.

use crate::vector::math::{double, single};

/// A binary floating-point number with the functions the operators need.
pub trait Float:
    Copy
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Neg<Output = Self>
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// The quiet NaN with a clear sign bit.
    const NAN: Self;
    /// True for a NaN.
    fn is_nan(self) -> bool;
    /// True for an infinity.
    fn is_infinite(self) -> bool;
    /// Absolute value; clears the sign bit.
    fn abs(self) -> Self;
    /// Square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// Largest integer not above.
    fn floor(self) -> Self;
    /// Smallest integer not below.
    fn ceil(self) -> Self;
    /// Nearest integer, ties away from zero.
    fn round(self) -> Self;
    /// Integer part.
    fn trunc(self) -> Self;
    /// The magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// C `fmod`: the remainder with the sign of the dividend, exact.
    fn fmod(self, divisor: Self) -> Self;
    /// `self * b + c` with one rounding.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// e to the power.
    fn exp(self) -> Self;
    /// 2 to the power.
    fn exp2(self) -> Self;
    /// `exp(x) - 1` without cancellation.
    fn expm1(self) -> Self;
    /// `1 / (1 + exp(-x))`.
    fn sigmoid(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Logarithm to base 2.
    fn log2(self) -> Self;
    /// Logarithm to base 10.
    fn log10(self) -> Self;
    /// `ln(1 + x)` without cancellation.
    fn log1p(self) -> Self;
    /// C `pow`.
    fn pow(self, exponent: Self) -> Self;
    /// Cube root.
    fn cbrt(self) -> Self;
    /// `sqrt(x*x + y*y)` without overflow.
    fn hypot(self, other: Self) -> Self;
    /// Sine of an angle in radians.
    fn sin(self) -> Self;
    /// Cosine of an angle in radians.
    fn cos(self) -> Self;
    /// Tangent of an angle in radians.
    fn tan(self) -> Self;
    /// Arc sine in radians.
    fn asin(self) -> Self;
    /// Arc cosine in radians.
    fn acos(self) -> Self;
    /// Arc tangent in radians.
    fn atan(self) -> Self;
    /// Angle of the point (`x`, `self`) in radians.
    fn atan2(self, x: Self) -> Self;
    /// Hyperbolic sine.
    fn sinh(self) -> Self;
    /// Hyperbolic cosine.
    fn cosh(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Inverse hyperbolic sine.
    fn asinh(self) -> Self;
    /// Inverse hyperbolic cosine.
    fn acosh(self) -> Self;
    /// Inverse hyperbolic tangent.
    fn atanh(self) -> Self;
    /// Error function.
    fn erf(self) -> Self;
    /// Complementary error function.
    fn erfc(self) -> Self;
    /// Natural logarithm of the absolute value of the gamma function.
    fn lgamma(self) -> Self;
}

/// Implements [`Float`] for one width.
macro_rules! impl_float {
    ($float:ident, $functions:ident; $($name:ident),*; $($name2:ident),*) => {
        impl Float for $float {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const INFINITY: Self = $float::INFINITY;
            const NAN: Self = $float::NAN;
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn is_infinite(self) -> bool {
                self.is_infinite()
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn floor(self) -> Self {
                self.floor()
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                self.ceil()
            }
            #[inline(always)]
            fn round(self) -> Self {
                self.round()
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                self.trunc()
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                self.copysign(sign)
            }
            #[inline(always)]
            fn fmod(self, divisor: Self) -> Self {
                self % divisor
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                $functions::fma(self, b, c)
            }
            $(
                #[inline(always)]
                fn $name(self) -> Self {
                    $functions::$name(self)
                }
            )*
            $(
                #[inline(always)]
                fn $name2(self, other: Self) -> Self {
                    $functions::$name2(self, other)
                }
            )*
        }
    };
}

/// Implements [`Float`] for both widths.
macro_rules! impl_floats {
    ($($names:tt)*) => {
        impl_float!(f64, double; $($names)*);
        impl_float!(f32, single; $($names)*);
    };
}

impl_floats!(exp, exp2, expm1, sigmoid, ln, log2, log10, log1p, cbrt, sin, cos, tan, asin, acos, atan, sinh,
    cosh, tanh, asinh, acosh, atanh, erf, erfc, lgamma; pow, hypot, atan2);

/// `1 / (1 + exp(slope * (half - x)))`, the logistic curve that is 1/2 at `half`.
#[inline(always)]
pub fn sigmoid<T: Float>(x: T, half: T, slope: T) -> T {
    (-(slope * (half - x))).sigmoid()
}

/// `ln(sigmoid(x))` without overflow for large negative `x`.
#[inline(always)]
pub fn log_sigmoid<T: Float>(x: T) -> T {
    match x >= T::ZERO {
        true => -(-x).exp().log1p(),
        false => x - x.exp().log1p(),
    }
}

/// `ln(x / (1 - x))`, the inverse of the logistic curve.
///
/// Between 1/4 and 3/4 it is `2 * atanh(2 * x - 1)`, where `2 * x - 1` is exact: the quotient is close
/// to 1 there, and its rounding is most of the logarithm.
#[inline(always)]
pub fn logit<T: Float>(x: T) -> T {
    let from_half = x + x - T::ONE;
    if (from_half + from_half).abs() < T::ONE {
        let half = from_half.atanh();
        half + half
    } else {
        (x / (T::ONE - x)).ln()
    }
}

/// `sign(x) * log1p(abs(x))`: a logarithm that is odd and passes through zero.
#[inline(always)]
pub fn symlog1p<T: Float>(x: T) -> T {
    x.abs().log1p().copysign(x)
}

/// −1, 0 or 1; the sign of zero is `+0`, NaN stays NaN.
#[inline(always)]
pub fn sign<T: Float>(x: T) -> T {
    match (x > T::ZERO, x < T::ZERO) {
        (true, _) => T::ONE,
        (_, true) => -T::ONE,
        _ if x.is_nan() => x,
        _ => T::ZERO,
    }
}

/// Larger of two; NaN wins from either side, equal values keep the left one.
#[inline(always)]
pub fn maximum<T: Float>(l: T, r: T) -> T {
    if l.is_nan() || l >= r { l } else { r }
}

/// Smaller of two; NaN wins from either side, equal values keep the left one.
#[inline(always)]
pub fn minimum<T: Float>(l: T, r: T) -> T {
    if l.is_nan() || l <= r { l } else { r }
}

/// The quotient rounded down, for a divisor that is not zero: the floor of the rounded quotient, −1
/// where the exact quotient is a negative number that rounds to zero, NaN where it is not finite.
#[inline(always)]
pub fn floordiv<T: Float>(x: T, y: T) -> T {
    let quotient = x / y;
    if quotient != T::ZERO {
        return if is_finite(quotient) { quotient.floor() } else { T::NAN };
    }
    let below_zero = x != T::ZERO && T::ONE.copysign(quotient) < T::ZERO;
    if below_zero { -T::ONE } else { quotient }
}

/// What [`floordiv`] leaves, `x - floordiv(x, y) * y`, with the divisor's sign; infinite where a
/// finite `x` is divided by an infinity of the other sign.
#[inline(always)]
pub fn floormod<T: Float>(x: T, y: T) -> T {
    let quotient = x / y;
    if !is_finite(quotient) {
        return T::NAN;
    }
    let remainder = if quotient != T::ZERO {
        x - quotient.floor() * y
    } else if x == T::ZERO || (x > T::ZERO) == (y > T::ZERO) {
        x
    } else {
        T::INFINITY
    };
    remainder.copysign(y)
}

/// True for a number that is neither NaN nor infinite.
#[inline(always)]
pub fn is_finite<T: Float>(x: T) -> bool {
    !(x.is_nan() || x.is_infinite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_division_rounds_down_and_keeps_signs() {
        let cases: [(f64, f64, f64, f64); 8] = [
            (-7.5, 2.0, -4.0, 0.5),
            (7.5, -2.0, -4.0, -0.5),
            (0.1, f64::NEG_INFINITY, -1.0, f64::NEG_INFINITY),
            (-7.5, f64::INFINITY, -1.0, f64::INFINITY),
            (0.0, -2.5, -0.0, -0.0),
            (1.0, 0.1, 10.0, 0.0),
            (f64::INFINITY, 2.0, f64::NAN, f64::NAN),
            (1.0, 5e-324, f64::NAN, f64::NAN),
        ];
        for (x, y, quotient, remainder) in cases {
            let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            assert!(same(floordiv(x, y), quotient), "floordiv({x}, {y}) = {}", floordiv(x, y));
            assert!(same(floormod(x, y), remainder), "floormod({x}, {y}) = {}", floormod(x, y));
        }
    }

    #[test]
    fn logit_keeps_its_digits_around_one_half() {
        // By mpmath with 200 bits.
        let cases = [
            (0.5000001, 3.99999999789463e-7),
            (0.49999999999, -4.000000330961484e-11),
            (0.3, -0.8472978603872037),
            (0.7499999, 1.0986117553348478),
            (0.1, -2.197224577336219),
        ];
        for (x, expected) in cases {
            let error: f64 = (logit::<f64>(x) - expected) / expected;
            assert!(error.abs() <= 2.0 * f64::EPSILON, "logit({x}) = {}", logit(x));
        }
        assert_eq!(logit(0.5f32), 0.0);
        assert_eq!((logit(0.0f64), logit(1.0f64)), (-f64::INFINITY, f64::INFINITY));
        assert!(logit(-0.5f64).is_nan() && logit(1.5f64).is_nan() && logit(f64::NAN).is_nan());
    }

    #[test]
    fn not_a_number_wins_and_ties_keep_the_left() {
        assert!(maximum(f64::NAN, 1.0).is_nan() && maximum(1.0, f64::NAN).is_nan());
        assert_eq!(maximum(-0.0f64, 0.0).to_bits(), (-0.0f64).to_bits());
        assert_eq!(minimum(0.0f64, -0.0).to_bits(), 0.0f64.to_bits());
        assert_eq!(sign(-0.0f64).to_bits(), 0.0f64.to_bits());
        assert_eq!(log_sigmoid(-800.0f64), -800.0);
    }
}
