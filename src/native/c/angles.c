/* Sine, cosine and tangent of large angles: what the recorded functions leave out. The reduction of Payne and Hanek in
   integers, then the polynomials of the machine. */

typedef struct { double high, low; } cembra_double;

static inline cembra_double cembra_fast_sum(double a, double b)
{
    double high = a + b;
    return (cembra_double){ high, (a - high) + b };
}

static const uint64_t cembra_two_over_pi[20] = {
    0, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0,
    0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4,
    0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
};

static inline uint64_t cembra_joined(uint64_t high, uint64_t low, int bits) { return high << bits | low >> 1 >> (63 - bits); }

/* The number of quarter turns nearest to a finite angle of at least 1, modulo 4, and the rest in radians. */
__attribute__((cold, noinline)) static uint64_t cembra_quarter_turns(double x, cembra_double *rest)
{
    uint64_t bits = bits_f64(x), mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    int bit = (int)(bits >> 52 & 0x7FF) - 1075 + 62;
    uint64_t turn[3];
    unsigned __int128 carry = 0;
    for (int i = 2; i >= 0; i--) {
        int word = bit / 64 + i;
        uint64_t next = word + 1 < 20 ? cembra_two_over_pi[word + 1] : 0;
        unsigned __int128 wide = (unsigned __int128)cembra_joined(cembra_two_over_pi[word], next, bit % 64) * mantissa + carry;
        turn[i] = (uint64_t)wide;
        carry = wide >> 64;
    }
    uint64_t quadrant = turn[0] >> 62;
    uint64_t words[3] = { cembra_joined(turn[0], turn[1], 2), cembra_joined(turn[1], turn[2], 2), turn[2] << 2 };
    double sign = 1.0;
    if (words[0] >> 63) {
        quadrant = (quadrant + 1) & 3;
        sign = -1.0;
        for (int i = 0; i < 3; i++) words[i] = ~words[i];
    }
    int exponent = -64;
    if (words[0] == 0) {
        words[0] = words[1];
        words[1] = words[2];
        words[2] = 0;
        exponent -= 64;
    }
    int zeros = words[0] == 0 ? 64 : __builtin_clzll(words[0]), by = zeros < 63 ? zeros : 63;
    uint64_t first = cembra_joined(words[0], words[1], by), second = cembra_joined(words[1], words[2], by);
    double unit = f64_of((uint64_t)(1023 + exponent - zeros) << 52) * sign;
    double high = (double)(first >> 11) * 2048.0, low = (double)(first << 53 | second >> 11) / 9007199254740992.0;
    cembra_double fraction = cembra_fast_sum(high * unit, low * unit);
    const cembra_double half_pi = { 1.5707963267948966, 6.123233995736766e-17 };
    double product = fraction.high * half_pi.high, left = fma(fraction.high, half_pi.high, -product);
    *rest = cembra_fast_sum(product, fma(fraction.high, half_pi.low, fma(fraction.low, half_pi.high, left)));
    return quadrant;
}

/* A cembra_polynomial with the lowest coefficient first, as two polynomials of the square. */
static inline double cembra_polynomial(double x, double square, const double *coefficients, int count)
{
    double part[2] = { 0.0, 0.0 };
    for (int k = count - 1; k >= 0; k--)
        part[k & 1] = k + 2 >= count ? coefficients[k] : fma(part[k & 1], square, coefficients[k]);
    return fma(part[1], x, part[0]);
}

static inline double cembra_flip_sign(double x, double sign)
{
    return f64_of(bits_f64(x) ^ (bits_f64(sign) & UINT64_C(1) << 63));
}

static double cembra_sine_of(cembra_double r, uint64_t quarters)
{
    static const double of_sine[6] = {
        -0.16666666666666632, 0.008333333333322554, -0.00019841269829899182,
        2.7557313718940476e-06, -2.5050761830556043e-08, 1.589698870941586e-10,
    };
    static const double of_cosine[6] = {
        0.0416666666666666, -0.0013888888888874246, 2.4801587289550028e-05,
        -2.7557314370029973e-07, 2.087572547661575e-09, -1.1359753437701039e-11,
    };
    double z = r.high * r.high, fourth = z * z;
    double sine = fma(r.high * z, cembra_polynomial(z, fourth, of_sine, 6), r.low) + r.high;
    double first = fma(z, -0.5, 1.0), rest = fma(- r.high, r.low, fma(z, -0.5, 1.0 - first));
    double cosine = first + fma(fourth, cembra_polynomial(z, fourth, of_cosine, 6), rest);
    return cembra_flip_sign(quarters & 1 ? cosine : sine, f64_of(quarters << 62));
}

static double cembra_sine_of_large(double x, uint64_t quarters)
{
    if (!isfinite(x)) return f64_of(UINT64_C(0x7FF8000000000000));
    cembra_double rest;
    uint64_t quadrant = cembra_quarter_turns(fabs(x), &rest);
    return cembra_sine_of(rest, quadrant + quarters);
}

static double cembra_rare_sin(double x) { return cembra_flip_sign(cembra_sine_of_large(x, 0), x); }
static double cembra_rare_cos(double x) { return cembra_sine_of_large(x, 1); }
static double cembra_rare_tan(double x)
{
    static const double of_tangent[14] = {
        0.3333333333333279, 0.13333333333415576, 0.0539682539256625, 0.021869489640068063, 0.008863218672915998,
        0.003592293773042122, 0.0014547286596207582, 0.0005951893251466189, 0.00022201249188784507,
        0.00013727722422885022, -2.743418237235231e-05, 9.04022441080744e-05, -4.538126568528829e-05,
        2.098255926973503e-05,
    };
    if (!isfinite(x)) return f64_of(UINT64_C(0x7FF8000000000000));
    cembra_double r;
    uint64_t quadrant = cembra_quarter_turns(fabs(x), &r);
    double z = r.high * r.high, bend = r.high * z * cembra_polynomial(z, z * z, of_tangent, 14);
    double slope = r.high + bend;
    cembra_double tan = cembra_fast_sum(r.high, fma(fma(slope, slope, 1.0), r.low, bend));
    double inverse = -1.0 / tan.high, left = fma(inverse, tan.low, fma(inverse, tan.high, 1.0));
    return cembra_flip_sign(quadrant & 1 ? fma(inverse, left, inverse) : tan.high, x);
}
