//! Arithmetic of the lanes: binary64 with a fused multiply-add, and what is built of it.
//!
//! Every function of this room is written once, for one number, over [`Arithmetic`]. It has no branches
//! on its main path, so that a loop over it is compiled into as many lanes as the machine has. The
//! multiply-add is fused everywhere, by the processor or in software; all else is rounded as IEEE 754
//! says. Hence every machine and every width gives the same bits.

/// Where a fused multiply-add comes from.
pub trait Arithmetic: 'static {
    /// `a * b + c` with one rounding.
    fn fma(a: f64, b: f64, c: f64) -> f64;
}

/// The processor's own multiply-add. It is fast only in code compiled for a machine that has one.
pub struct Hardware;

/// A multiply-add in integer arithmetic: as exact, and many times slower.
pub struct Software;

impl Arithmetic for Hardware {
    #[inline(always)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

impl Arithmetic for Software {
    #[inline(always)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        libm::fma(a, b, c)
    }
}

/// The leading bits of ln 2, few enough that products with an exponent are exact.
pub const LN2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEFA_3800);
/// ln 2 less [`LN2_HIGH`].
pub const LN2_LOW: f64 = f64::from_bits(0x3D2E_F357_93C7_6730);

/// 1.5 · 2^52: a float beside it is an integer, and its low bits are that integer.
pub const SHIFTER: f64 = 6_755_399_441_055_744.0;

/// One of two numbers, both computed.
#[inline(always)]
pub fn select(condition: bool, yes: f64, no: f64) -> f64 {
    std::hint::select_unpredictable(condition, yes, no)
}

/// The magnitude of the first with the sign of the second.
#[inline(always)]
pub fn with_sign(magnitude: f64, sign: f64) -> f64 {
    magnitude.copysign(sign)
}

/// `x` with its sign flipped where `sign` has its sign bit set.
#[inline(always)]
pub fn flip_sign(x: f64, sign: f64) -> f64 {
    f64::from_bits(x.to_bits() ^ (sign.to_bits() & (1 << 63)))
}

/// 2 to the power of an integer from -1022 to 1023, given as a float.
#[inline(always)]
pub fn power_of_two(exponent: f64) -> f64 {
    f64::from_bits((exponent + (SHIFTER + 1023.0)).to_bits() << 52)
}

/// The nearest integer, halves to even, of a number below 2^51.
#[inline(always)]
pub fn nearest(x: f64) -> f64 {
    (x + SHIFTER) - SHIFTER
}

/// A number of twice the precision: the unevaluated sum of two, the second below half a unit of the first.
#[derive(Clone, Copy)]
pub struct Double {
    /// The sum, rounded.
    pub high: f64,
    /// What the rounding left.
    pub low: f64,
}

impl Double {
    /// The exact sum of two numbers, the first not smaller in magnitude, or zero.
    #[inline(always)]
    pub fn fast_sum(a: f64, b: f64) -> Double {
        let high = a + b;
        Double { high, low: (a - high) + b }
    }

    /// The exact sum of two numbers of any order (Knuth).
    #[inline(always)]
    pub fn sum(a: f64, b: f64) -> Double {
        let high = a + b;
        let part = high - a;
        Double { high, low: (a - (high - part)) + (b - part) }
    }

    /// The exact product.
    #[inline(always)]
    pub fn product<A: Arithmetic>(a: f64, b: f64) -> Double {
        let high = a * b;
        Double { high, low: A::fma(a, b, -high) }
    }

    /// A product that is right to about 2^-104 of itself.
    #[inline(always)]
    pub fn times<A: Arithmetic>(self, other: Double) -> Double {
        let product = Double::product::<A>(self.high, other.high);
        let low = A::fma(self.high, other.low, A::fma(self.low, other.high, product.low));
        Double { high: product.high, low }
    }

    /// A quotient that is right to about 2^-104 of itself, with one division.
    #[inline(always)]
    pub fn over<A: Arithmetic>(self, other: Double) -> Double {
        let reciprocal = 1.0 / other.high;
        let high = self.high * reciprocal;
        let left = A::fma(-high, other.high, self.high) + A::fma(-high, other.low, self.low);
        Double { high, low: left * reciprocal }
    }

    /// The sum, rounded.
    #[inline(always)]
    pub fn value(self) -> f64 {
        self.high + self.low
    }
}

/// A polynomial with the lowest coefficient first, as two polynomials of the square.
#[inline(always)]
pub fn polynomial<A: Arithmetic, const N: usize>(x: f64, square: f64, coefficients: &[f64; N]) -> f64 {
    let middle = N.min(10);
    let highest = terms::<A, N>((0.0, 0.0), square, coefficients, middle..N);
    let (even, odd) = terms::<A, N>(highest, square, coefficients, 0..middle);
    A::fma(odd, x, even)
}

/// Some terms of both polynomials. Loops as short as these are unrolled by the compiler, longer ones are not.
#[inline(always)]
fn terms<A: Arithmetic, const N: usize>(
    (mut even, mut odd): (f64, f64),
    square: f64,
    coefficients: &[f64; N],
    range: std::ops::Range<usize>,
) -> (f64, f64) {
    let mut k = range.end;
    while k > range.start {
        k -= 1;
        let part = if k.is_multiple_of(2) { &mut even } else { &mut odd };
        *part = if k + 2 >= N { coefficients[k] } else { A::fma(*part, square, coefficients[k]) };
    }
    (even, odd)
}

/// A polynomial as its first eight terms and the rest: for coefficients of alternating signs, whose sums of
/// every other term would be larger than the result.
#[inline(always)]
pub fn alternating<A: Arithmetic, const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let fourth = (x * x) * (x * x);
    let low = horner::<A, N>(x, coefficients, 0..8);
    A::fma(horner::<A, N>(x, coefficients, 8..N), fourth * fourth, low)
}

/// Some terms of a polynomial, over the power of its first.
#[inline(always)]
fn horner<A: Arithmetic, const N: usize>(
    x: f64,
    coefficients: &[f64; N],
    range: std::ops::Range<usize>,
) -> f64 {
    let mut k = range.end - 1;
    let mut sum = coefficients[k];
    while k > range.start {
        k -= 1;
        sum = A::fma(sum, x, coefficients[k]);
    }
    sum
}
