//! Inverse cumulative distribution functions: of the normal distribution, Student's t and the beta distribution.
//!
//! The normal one is a quotient of polynomials (Wichura, *Applied Statistics* 37, 1988, algorithm AS 241). The others solve
//! `I_x(a, b) = p` for the logit `v = ln(x / (1 - x))`, in which both ends have room:
//!
//! ```text
//! ln I   ────────●───────   concave in v, so that Newton's steps for ln I = ln p come from the left without passing the solution
//!              ╱
//!            ╱              far out a line of slope a
//! ```
//!
//! Of p and 1 - p the one that is at most 1/2 is solved for. `I` is a continued fraction (Lentz' method) times
//! `x^a (1 - x)^b / B(a, b)`, which is computed by its distance from the mode, so that large a and b lose no digits (Loader 2000).

use crate::vector::float::Float;

/// The number x for which a standard normal variable is at most x with this probability, which is in 0 … 1.
pub fn normal(p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * quotient(r, &CENTRAL);
    }
    let r = Float::sqrt(-Float::ln(if q < 0.0 { p } else { 1.0 - p }));
    let x = if r <= 5.0 { quotient(r - 1.6, &MIDDLE) } else { quotient(r - 5.0, &TAIL) };
    x.copysign(q)
}

/// Coefficients of a numerator and a denominator, from the constant on.
type Coefficients = [[f64; 8]; 2];

fn quotient(x: f64, [numerator, denominator]: &Coefficients) -> f64 {
    let value = |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c);
    value(numerator) / value(denominator)
}

const CENTRAL: Coefficients = [
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_545,
    ],
];

const MIDDLE: Coefficients = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];

const TAIL: Coefficients = [
    [
        6.657_904_643_501_104,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

/// The number t for which a variable of Student's distribution is at most t with this probability, which is in 0 … 1; degrees of
/// freedom are above 0 and finite.
pub fn student(p: f64, degrees: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let (q, half) = (p - 0.5, degrees / 2.0);
    if q == 0.0 {
        return 0.0;
    }
    let outside = if q < 0.0 { p } else { 1.0 - p };
    // The logit of n / (n + t²).
    let v = match outside >= 0.25 {
        true => -Beta::new(0.5, half).logit(2.0 * q.abs(), 2.0 * outside),
        false => Beta::new(half, 0.5).logit(2.0 * outside, 2.0 * q.abs()),
    };
    (Float::sqrt(degrees) * Float::exp(-v / 2.0)).copysign(q)
}

/// The number x for which a variable of the beta distribution is at most x with this probability, which is in 0 … 1; alpha and beta are
/// above 0 and finite.
pub fn beta(p: f64, alpha: f64, beta: f64) -> f64 {
    match p {
        _ if p <= 0.0 => 0.0,
        _ if p >= 1.0 => 1.0,
        _ => Shares::of_logit(Beta::new(alpha, beta).logit(p, 1.0 - p)).x,
    }
}

/// x and 1 - x.
#[derive(Clone, Copy)]
struct Shares {
    x: f64,
    y: f64,
    /// The logarithms of both.
    ln_x: f64,
    ln_y: f64,
}

impl Shares {
    fn of_logit(v: f64) -> Shares {
        let e = Float::exp(-v.abs());
        let (more, less) = (1.0 / (1.0 + e), e / (1.0 + e));
        let (ln_more, ln_less) = (-Float::log1p(e), -v.abs() - Float::log1p(e));
        match v >= 0.0 {
            true => Shares { x: more, y: less, ln_x: ln_more, ln_y: ln_less },
            false => Shares { x: less, y: more, ln_x: ln_less, ln_y: ln_more },
        }
    }

    fn exchanged(self) -> Shares {
        Shares { x: self.y, y: self.x, ln_x: self.ln_y, ln_y: self.ln_x }
    }
}

/// Newton's steps, which are few; where rounding moves the last one, this is the end.
const STEPS: usize = 50;

/// Terms of a continued fraction: those that parameters of up to 10^8 need.
const TERMS: u32 = 20_000;

/// Half the logarithm of 2π.
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_7;

/// The beta distribution.
#[derive(Clone, Copy)]
struct Beta {
    a: f64,
    b: f64,
    /// The logarithm of `m^a (1 - m)^b / B(a, b)` at the mean m.
    ln_at_mean: f64,
}

impl Beta {
    fn new(a: f64, b: f64) -> Beta {
        let n = a + b;
        let product = a / n * b / std::f64::consts::TAU;
        let ln_at_mean = 0.5 * Float::ln(product) - (stirling(a) + stirling(b) - stirling(n));
        Beta { a, b, ln_at_mean }
    }

    fn exchanged(self) -> Beta {
        Beta { a: self.b, b: self.a, ..self }
    }

    /// The logit of x for which the share below is p, and above q.
    fn logit(self, p: f64, q: f64) -> f64 {
        match p <= q {
            true => self.lower_logit(p),
            false => -self.exchanged().lower_logit(q),
        }
    }

    /// The same for a share of at most 1/2.
    fn lower_logit(self, p: f64) -> f64 {
        let (ln_p, mut v) = (Float::ln(p), Float::ln(self.a) - Float::ln(self.b));
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut last = f64::INFINITY;
        for _ in 0..STEPS {
            let (ln_share, ln_slope) = self.ln_share(v);
            let above = ln_share - ln_p;
            *(if above > 0.0 { &mut high } else { &mut low }) = v;
            let step = -above * Float::exp(ln_share - ln_slope);
            let mut next = v + step;
            if !(low..=high).contains(&next) {
                next = match (low + high).is_finite() {
                    true => (low + high) / 2.0,
                    false => v - v.abs().max(1.0).copysign(above),
                };
            }
            let moved = (next - v).abs();
            if moved <= 2e-16 * v.abs().max(1.0) || (moved >= last && moved < 1e-12 * v.abs().max(1.0)) {
                return next;
            }
            (v, last) = (next, moved);
        }
        v
    }

    /// The logarithm of the share below, and that of its slope by the logit.
    fn ln_share(self, v: f64) -> (f64, f64) {
        let shares = Shares::of_logit(v);
        let ln_slope = self.ln_slope(shares);
        if shares.x <= (self.a + 1.0) / (self.a + self.b + 2.0) {
            return (ln_slope + Float::ln(self.fraction(shares) / self.a), ln_slope);
        }
        let above = Float::exp(ln_slope) * self.exchanged().fraction(shares.exchanged()) / self.b;
        (Float::log1p(-above.min(1.0)), ln_slope)
    }

    /// The logarithm of `x^a (1 - x)^b / B(a, b)`.
    fn ln_slope(self, shares: Shares) -> f64 {
        let n = self.a + self.b;
        let (mean, rest) = (self.a / n, self.b / n);
        let distance = shares.x * rest - shares.y * mean;
        self.ln_at_mean
            + self.a * ln_less_linear(distance / mean, shares.ln_x - Float::ln(mean))
            + self.b * ln_less_linear(-distance / rest, shares.ln_y - Float::ln(rest))
    }

    /// `I_x(a, b)` over `x^a (1 - x)^b / (a B(a, b))`.
    fn fraction(self, shares: Shares) -> f64 {
        let (a, b, x) = (self.a, self.b, shares.x);
        let away_from_0 = |d: f64| if d.abs() < 1e-300 { 1e-300 } else { d };
        let mut c = 1.0;
        let mut d = 1.0 / away_from_0(1.0 - (a + b) * x / (a + 1.0));
        let mut value = d;
        for m in (1..=TERMS).map(f64::from) {
            let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
            let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
            let mut factor = 1.0;
            for term in [even, odd] {
                d = 1.0 / away_from_0(1.0 + term * d);
                c = away_from_0(1.0 + term / c);
                factor = c * d;
                value *= factor;
            }
            if (factor - 1.0).abs() <= 2e-16 {
                break;
            }
        }
        value
    }
}

/// `ln(1 + t) - t`, of t and the logarithm.
fn ln_less_linear(t: f64, ln: f64) -> f64 {
    if t.abs() >= 0.1 {
        return ln - t;
    }
    // With r = t / (2 + t), the logarithm is 2r + 2r³/3 + 2r⁵/5 + …
    let r = t / (2.0 + t);
    let (square, mut sum) = (r * r, 0.0);
    for odd in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        sum = sum * square + 1.0 / odd;
    }
    2.0 * r * square * sum - t * r
}

/// What Stirling's formula lacks of the logarithm of Γ(z).
fn stirling(z: f64) -> f64 {
    const SERIES: [f64; 7] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
    ];
    if z < 16.0 {
        return Float::lgamma(z) - (z - 0.5) * Float::ln(z) + z - HALF_LN_TAU;
    }
    let square = 1.0 / (z * z);
    SERIES.iter().rev().fold(0.0, |sum, c| sum * square + c) / z
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(found: f64, expected: f64, error: f64) {
        assert!((found - expected).abs() <= error * expected.abs(), "{found} and not {expected}");
    }

    /// Values of mpmath with 50 digits.
    #[test]
    fn quantiles_at_some_points() {
        is_near(normal(0.975), 1.9599639845400538, 1e-15);
        is_near(normal(0.3), -0.5244005127080408, 1e-15);
        is_near(normal(1e-05), -4.264890793922825, 1e-15);
        is_near(normal(1e-30), -11.464024688443615, 1e-15);
        is_near(normal(0.5000001), 2.506628273311648e-07, 1e-15);
        is_near(normal(0.999999999999), 7.0344869100478356, 1e-15);
        is_near(student(0.975, 10.0), 2.2281388519862744, 2e-14);
        is_near(student(0.3, 1.0), -0.7265425280053609, 2e-14);
        is_near(student(1e-20, 2.5), -87654378.8227999, 2e-14);
        is_near(student(0.500001, 0.1), 6.752553579922553e-06, 2e-14);
        is_near(student(0.1, 200.0), -1.285798793994801, 2e-14);
        is_near(student(0.6, 3.0), 0.27667066233268983, 2e-14);
        is_near(beta(0.5, 2.0, 3.0), 0.38572756813238956, 1e-13);
        is_near(beta(0.1, 0.5, 0.5), 0.024471741852423217, 1e-13);
        is_near(beta(1e-10, 2.0, 3.0), 4.082494015808333e-06, 1e-13);
        is_near(beta(0.9, 100.0, 0.3), 0.9999967514013084, 1e-13);
        is_near(beta(0.3, 100.0, 200.0), 0.31878823339371004, 1e-13);
        is_near(beta(0.001, 0.05, 55.0), 1.0719028618273895e-62, 1e-13);
    }

    #[test]
    fn ends_are_ends() {
        assert_eq!([normal(0.0), normal(0.5), normal(1.0)], [f64::NEG_INFINITY, 0.0, f64::INFINITY]);
        let ends = [student(0.0, 3.0), student(0.5, 3.0), student(1.0, 3.0)];
        assert_eq!(ends, [f64::NEG_INFINITY, 0.0, f64::INFINITY]);
        assert_eq!([beta(0.0, 2.0, 3.0), beta(1.0, 2.0, 3.0)], [0.0, 1.0]);
        // Further out than numbers reach.
        assert_eq!((student(1e-300, 0.1), beta(1e-300, 0.1, 3.0)), (f64::NEG_INFINITY, 0.0));
    }

    #[test]
    fn parameters_of_all_sizes_end() {
        for a in [1e-12, 1.0, 1e6, 1e300] {
            for b in [1e-12, 0.5, 1e300] {
                for p in [5e-324, 1e-20, 0.3, 0.9, 1.0 - 1e-16] {
                    let x = beta(p, a, b);
                    assert!((0.0..=1.0).contains(&x), "{x} of {p}, {a}, {b}");
                    assert!(!student(p, a).is_nan(), "of {p}, {a}");
                }
            }
        }
    }
}
