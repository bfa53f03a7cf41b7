
/* The gamma function of Python: the operations of the machine's own, with the sum of Lanczos. */

static double cembra_lanczos(double x)
{
    static const double of[2][13] = {
        {
            23531376880.41076, 42919803642.6491, 35711959237.35567, 17921034426.03721, 6039542586.352028,
            1439720407.3117216, 248874557.86205417, 31426415.585400194, 2876370.6289353725, 186056.26539522348,
            8071.672002365816, 210.82427775157936, 2.5066282746310002
        },
        {
            0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0, 2637558.0, 357423.0,
            32670.0, 1925.0, 66.0, 1.0
        },
    };
    double sum[2] = { 0.0, 0.0 }, reciprocal = 1.0 / x;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 13; k++)
            sum[i] = x < 8.0 ? fma(sum[i], x, of[i][12 - k]) : fma(sum[i], reciprocal, of[i][k]);
    return sum[0] / sum[1];
}

static double cembra_sine_of_halves(double x)
{
    double whole = floor(x), fraction = x - whole, rest = fraction > 0.5 ? 1.0 - fraction : fraction;
    double sine = rest <= 0.25 ? special_sin(3.141592653589793 * rest) : special_cos(3.141592653589793 * (0.5 - rest));
    return whole * 0.5 == floor(whole * 0.5) ? sine : - sine;
}

static double cembra_gamma(double x)
{
    const double shift = 5.52468004077673;
    double size = fabs(x), whole = floor(x);
    if (!isfinite(x)) return x + f64_of(UINT64_C(0x7FF0000000000000));
    if (size < 5.551115123125783e-17) return 1.0 / x;
    if (x == whole && x < 0.0) return f64_of(UINT64_C(0x7FF8000000000000));
    if (x == whole && x <= 23.0) {
        double product = 1.0;
        for (int factor = 1; factor < (int)x; factor++) product *= factor;
        return product;
    }
    if (size >= 184.0) return x > 0.0 ? f64_of(UINT64_C(0x7FF0000000000000)) : whole * 0.5 == floor(whole * 0.5) ? 0.0 : -0.0;
    double base = size + shift, excess = size > shift ? base - size - shift : base - shift - size;
    double unit = cembra_lanczos(size) * special_exp(- base), exponent = size - 0.5;
    if (x < 0.0) {
        unit = -3.141592653589793 / (cembra_sine_of_halves(size) * size * unit);
        excess = - excess;
        exponent = 0.5 - size;
    }
    unit = fma(excess * (shift + 0.5) / base, unit, unit);
    double root = special_pow(base, 0.5 * exponent);
    return unit * root * root;
}

static int32_t python_gamma(double x, double *z)
{
    *z = x;
    if (x <= 0.0 && x == floor(x)) return CEMBRA_DOMAIN;
    *z = cembra_gamma(x);
    return isinf(*z) && isfinite(x) ? CEMBRA_OVERFLOW : 0;
}
