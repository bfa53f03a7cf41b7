//! What the functions are built of: signs, powers of two, numbers of twice the precision, polynomials.

use crate::vector::math::real::Real;

/// The leading bits of ln 2, few enough that products with an exponent are exact.
pub const LN2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEFA_3800);
/// ln 2 less [`LN2_HIGH`].
pub const LN2_LOW: f64 = f64::from_bits(0x3D2E_F357_93C7_6730);

/// 1.5 · 2^52: a float beside it is an integer, and its low bits are that integer.
pub const SHIFTER: f64 = 6_755_399_441_055_744.0;

/// `x` with its sign flipped where `sign` has its sign bit set.
#[inline(always)]
pub fn flip_sign<N: Real>(x: N, sign: N) -> N {
    N::from_bits(x.to_bits() ^ (sign.to_bits() & (1 << 63)))
}

/// 2 to the power of an integer from -1022 to 1023, given as a float.
#[inline(always)]
pub fn power_of_two<N: Real>(exponent: N) -> N {
    N::from_bits((exponent + (SHIFTER + 1023.0)).to_bits() << 52)
}

/// 1 over 2 to the power of an integer from -1023 to 1022, given as a float.
#[inline(always)]
pub fn power_of_half<N: Real>(exponent: N) -> N {
    N::from_bits((N::from(SHIFTER + 1023.0) - exponent).to_bits() << 52)
}

/// The nearest integer, halves to even, of a number below 2^51.
#[inline(always)]
pub fn nearest<N: Real>(x: N) -> N {
    (x + SHIFTER) - SHIFTER
}

/// A number of twice the precision: the unevaluated sum of two, the second below half a unit of the first.
#[derive(Clone, Copy)]
pub struct Double<N> {
    /// The sum, rounded.
    pub high: N,
    /// What the rounding left.
    pub low: N,
}

impl Double<f64> {
    /// A constant as an operand.
    #[inline(always)]
    pub fn operand<N: Real>(self) -> Double<N> {
        Double { high: N::from(self.high), low: N::from(self.low) }
    }
}

impl<N: Real> Double<N> {
    /// A number, and nothing left.
    #[inline(always)]
    pub fn new(high: N) -> Double<N> {
        Double { high, low: N::from(0.0) }
    }

    /// The exact sum of two numbers, the first not smaller in magnitude, or zero.
    #[inline(always)]
    pub fn fast_sum(a: impl Into<N>, b: N) -> Double<N> {
        let a = a.into();
        let high = a + b;
        Double { high, low: (a - high) + b }
    }

    /// The exact sum of two numbers of any order (Knuth).
    #[inline(always)]
    pub fn sum(a: impl Into<N>, b: N) -> Double<N> {
        let a = a.into();
        let high = a + b;
        let part = high - a;
        Double { high, low: (a - (high - part)) + (b - part) }
    }

    /// The exact product.
    #[inline(always)]
    pub fn product(a: N, b: impl Into<N>) -> Double<N> {
        let b = b.into();
        let high = a * b;
        Double { high, low: a.fma(b, -high) }
    }

    /// A product that is right to about 2^-104 of itself.
    #[inline(always)]
    pub fn times(self, other: Double<N>) -> Double<N> {
        let product = Double::product(self.high, other.high);
        let low = self.high.fma(other.low, self.low.fma(other.high, product.low));
        Double { high: product.high, low }
    }

    /// A quotient that is right to about 2^-104 of itself, with one division.
    #[inline(always)]
    pub fn over(self, other: Double<N>) -> Double<N> {
        let reciprocal = N::from(1.0) / other.high;
        let high = self.high * reciprocal;
        let left = (-high).fma(other.high, self.high) + (-high).fma(other.low, self.low);
        Double { high, low: left * reciprocal }
    }

    /// The sum, rounded.
    #[inline(always)]
    pub fn value(self) -> N {
        self.high + self.low
    }

    /// One of two numbers, both computed.
    #[inline(always)]
    pub fn select(mask: N::Mask, yes: Double<N>, no: Double<N>) -> Double<N> {
        Double { high: N::select(mask, yes.high, no.high), low: N::select(mask, yes.low, no.low) }
    }
}

/// A polynomial with the lowest coefficient first, as two polynomials of the square.
#[inline(always)]
pub fn polynomial<N: Real, const LEN: usize>(x: N, square: N, coefficients: &[f64; LEN]) -> N {
    let middle = LEN.min(10);
    let zero = N::from(0.0);
    let highest = terms((zero, zero), square, coefficients, middle..LEN);
    let (even, odd) = terms(highest, square, coefficients, 0..middle);
    odd.fma(x, even)
}

/// Some terms of both polynomials. Loops as short as these are unrolled by the compiler, longer ones are not.
#[inline(always)]
fn terms<N: Real, const LEN: usize>(
    (mut even, mut odd): (N, N),
    square: N,
    coefficients: &[f64; LEN],
    range: std::ops::Range<usize>,
) -> (N, N) {
    let mut k = range.end;
    while k > range.start {
        k -= 1;
        let part = if k.is_multiple_of(2) { &mut even } else { &mut odd };
        *part = if k + 2 >= LEN { N::from(coefficients[k]) } else { part.fma(square, coefficients[k]) };
    }
    (even, odd)
}

/// A polynomial as its first eight terms and the rest: for coefficients of alternating signs, whose sums of
/// every other term would be larger than the result.
#[inline(always)]
pub fn alternating<N: Real, const LEN: usize>(x: N, coefficients: &[f64; LEN]) -> N {
    let fourth = (x * x) * (x * x);
    let low = horner(x, coefficients, 0..8);
    horner(x, coefficients, 8..LEN).fma(fourth * fourth, low)
}

/// Some terms of a polynomial, over the power of its first.
#[inline(always)]
fn horner<N: Real, const LEN: usize>(x: N, coefficients: &[f64; LEN], range: std::ops::Range<usize>) -> N {
    let mut k = range.end - 1;
    let mut sum = N::from(coefficients[k]);
    while k > range.start {
        k -= 1;
        sum = sum.fma(x, coefficients[k]);
    }
    sum
}
