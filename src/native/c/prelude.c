/* What operators do, as functions of C11 with the builtins of gcc and clang. Nothing here is undefined for any operand.
   A function that can refuse its operands gives a category, or 0 and the result. */

#if !defined(__GNUC__)
#error "gcc or clang is needed"
#endif

#define CEMBRA_RARE(condition) __builtin_expect(!!(condition), 0)
/* True of what indices may be made of without overflow: at least -2^40 and below 2^40. */
#define CEMBRA_IS_NEAR(x) ((uint64_t)(x) + (UINT64_C(1) << 40) < UINT64_C(1) << 41)

typedef struct {
    cembra_error *error;
} cembra_run;

/* How deep calls may be nested. */
#define CEMBRA_DEPTH 1000

/* What a routine returns: 0 or a category, and its result if that is a single number. */
typedef struct { int32_t status; } cembra_status;
typedef struct { int32_t status; uint8_t value; } cembra_u8;
typedef struct { int32_t status; int32_t value; } cembra_i32;
typedef struct { int32_t status; int64_t value; } cembra_i64;
typedef struct { int32_t status; float value; } cembra_f32;
typedef struct { int32_t status; double value; } cembra_f64;

static inline uint64_t bits_f64(double x) { uint64_t bits; memcpy(&bits, &x, 8); return bits; }
static inline uint64_t bits_f32(float x) { uint32_t bits; memcpy(&bits, &x, 4); return bits; }
static inline double f64_of(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
static inline float f32_of(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }

/* Arithmetic that wraps around. */

static inline int64_t add_i64(int64_t x, int64_t y) { return (int64_t)((uint64_t)x + (uint64_t)y); }
static inline int64_t sub_i64(int64_t x, int64_t y) { return (int64_t)((uint64_t)x - (uint64_t)y); }
static inline int64_t mul_i64(int64_t x, int64_t y) { return (int64_t)((uint64_t)x * (uint64_t)y); }
static inline int64_t neg_i64(int64_t x) { return sub_i64(0, x); }
static inline int64_t abs_i64(int64_t x) { return x < 0 ? neg_i64(x) : x; }
static inline int32_t add_i32(int32_t x, int32_t y) { return (int32_t)((uint32_t)x + (uint32_t)y); }
static inline int32_t sub_i32(int32_t x, int32_t y) { return (int32_t)((uint32_t)x - (uint32_t)y); }
static inline int32_t mul_i32(int32_t x, int32_t y) { return (int32_t)((uint32_t)x * (uint32_t)y); }
static inline int32_t neg_i32(int32_t x) { return sub_i32(0, x); }
static inline int32_t abs_i32(int32_t x) { return x < 0 ? neg_i32(x) : x; }
static inline int64_t mul_low(int64_t x, int64_t y) { return (int64_t)((uint64_t)(uint32_t)x * (uint32_t)y); }

static inline int32_t count_bits_i64(int64_t x) { return __builtin_popcountll((uint64_t)x); }
static inline int32_t count_bits_i32(int32_t x) { return __builtin_popcount((uint32_t)x); }

static inline int64_t min_i64(int64_t x, int64_t y) { return x <= y ? x : y; }
static inline int64_t max_i64(int64_t x, int64_t y) { return x >= y ? x : y; }
static inline int32_t min_i32(int32_t x, int32_t y) { return x <= y ? x : y; }
static inline int32_t max_i32(int32_t x, int32_t y) { return x >= y ? x : y; }

/* NaN wins from either side, a tie keeps the first. */
static inline double min_f64(double x, double y) { return x != x || x <= y ? x : y; }
static inline double max_f64(double x, double y) { return x != x || x >= y ? x : y; }
static inline float min_f32(float x, float y) { return x != x || x <= y ? x : y; }
static inline float max_f32(float x, float y) { return x != x || x >= y ? x : y; }

/* An integer that was a float. Without trapping math gcc takes a float there and back for one without its fraction, which
   keeps the sign of a zero; an integer has none. */
static inline int64_t cut_i64(double x) { int64_t z = (int64_t)x; __asm__("" : "+r"(z)); return z; }
static inline int32_t cut_i32(double x) { int32_t z = (int32_t)x; __asm__("" : "+r"(z)); return z; }

/* What does not fit is the nearest integer that there is, and 0 for NaN. */
static inline int64_t i64_of_f64(double x)
{
    if (x >= -0x1p63 && x < 0x1p63) return cut_i64(x);
    return x != x ? 0 : x < 0 ? INT64_MIN : INT64_MAX;
}
static inline int32_t i32_of_f64(double x)
{
    if (x > -0x1p31 - 1.0 && x < 0x1p31) return cut_i32(x);
    return x != x ? 0 : x < 0 ? INT32_MIN : INT32_MAX;
}

/* The same without a way out, and with a zero that the compiler does not know. */
static inline int64_t i64_in_loop(double x, int64_t zero)
{
    int64_t z = (int64_t)(x >= -0x1p63 && x < 0x1p63 ? x : 0.0) + zero;
    z = x < -0x1p63 ? INT64_MIN : z;
    return x >= 0x1p63 ? INT64_MAX : z;
}
static inline int32_t i32_in_loop(double x, int64_t zero)
{
    int32_t z = (int32_t)(x > -0x1p31 - 1.0 && x < 0x1p31 ? x : 0.0) + (int32_t)zero;
    z = x <= -0x1p31 - 1.0 ? INT32_MIN : z;
    return x >= 0x1p31 ? INT32_MAX : z;
}

/* Integers of Python, as far as 64 bits go. */

static inline int32_t python_add(int64_t x, int64_t y, int64_t *z)
{
    return __builtin_add_overflow(x, y, z) ? CEMBRA_OVERFLOW : 0;
}
static inline int32_t python_subtract(int64_t x, int64_t y, int64_t *z)
{
    return __builtin_sub_overflow(x, y, z) ? CEMBRA_OVERFLOW : 0;
}
static inline int32_t python_multiply(int64_t x, int64_t y, int64_t *z)
{
    return __builtin_mul_overflow(x, y, z) ? CEMBRA_OVERFLOW : 0;
}
static inline int32_t python_neg(int64_t x, int64_t *z) { return python_subtract(0, x, z); }
static inline int32_t python_abs(int64_t x, int64_t *z)
{
    *z = abs_i64(x);
    return *z < 0 ? CEMBRA_OVERFLOW : 0;
}
static inline int32_t python_shift_left(int64_t x, int64_t n, int64_t *z)
{
    *z = n >= 0 && n < 64 ? (int64_t)((uint64_t)x << n) : 0;
    if (n < 0) return CEMBRA_DOMAIN;
    return x == 0 || (n < 64 && *z >> n == x) ? 0 : CEMBRA_OVERFLOW;
}
static inline int32_t python_shift_right(int64_t x, int64_t n, int64_t *z)
{
    *z = x >> (n < 0 ? 0 : n < 63 ? n : 63);
    return n < 0 ? CEMBRA_DOMAIN : 0;
}
static inline int64_t python_wrapping_shift_left(int64_t x, int64_t n) { return (int64_t)((uint64_t)x << (n & 63)); }
static inline int64_t python_wrapping_shift_right(int64_t x, int64_t n) { return x >> (n & 63); }
static inline int32_t python_index(int64_t i, int64_t size, int64_t *z)
{
    *z = i < 0 ? add_i64(i, size) : i;
    return 0 <= *z && *z < size ? 0 : CEMBRA_INDEX_OUT_OF_RANGE;
}
static inline int64_t python_slice_bound(int64_t i, int64_t size, int64_t step)
{
    size = max_i64(size, 0);
    int64_t place = i < 0 ? i + size : i;
    return step > 0 ? min_i64(max_i64(place, 0), size) : min_i64(max_i64(place, -1), size - 1);
}
static inline int64_t floor_quotient(int64_t x, int64_t y)
{
    int64_t quotient = x / y, rest = x % y;
    return quotient - (rest != 0 && (rest ^ y) < 0);
}
static inline int32_t python_floordiv(int64_t x, int64_t y, int64_t *z)
{
    *z = 0;
    if (CEMBRA_RARE(y == 0)) return CEMBRA_DIVISION_BY_ZERO;
    if (CEMBRA_RARE(y == -1)) return python_neg(x, z);
    *z = floor_quotient(x, y);
    return 0;
}
static inline int32_t python_wrapping_floordiv(int64_t x, int64_t y, int64_t *z)
{
    *z = 0;
    if (CEMBRA_RARE(y == 0)) return CEMBRA_DIVISION_BY_ZERO;
    *z = y == -1 ? (x == INT64_MIN ? 0 : -x) : floor_quotient(x, y);
    return 0;
}
static inline int32_t python_mod(int64_t x, int64_t y, int64_t *z)
{
    *z = 0;
    if (CEMBRA_RARE(y == 0)) return CEMBRA_DIVISION_BY_ZERO;
    int64_t rest = y == -1 ? 0 : x % y;
    *z = rest != 0 && (rest ^ y) < 0 ? rest + y : rest;
    return 0;
}

/* Integers as operators on numbers have them: quotients wrap, and what is refused has a value, too. */

static inline int32_t math_floordiv_i64(int64_t x, int64_t y, int64_t *z)
{
    *z = y == 0 ? 0 : y == -1 ? neg_i64(x) : floor_quotient(x, y);
    return y == 0 ? CEMBRA_DIVISION_BY_ZERO : 0;
}
static inline int32_t math_mod_i64(int64_t x, int64_t y, int64_t *z)
{
    int64_t rest = y == 0 || y == -1 ? 0 : x % y;
    *z = rest != 0 && (rest ^ y) < 0 ? rest + y : rest;
    return y == 0 ? CEMBRA_DIVISION_BY_ZERO : 0;
}
static inline int32_t math_floordiv_i32(int32_t x, int32_t y, int32_t *z)
{
    int64_t wide;
    int32_t k = math_floordiv_i64(x, y, &wide);
    *z = (int32_t)(uint32_t)(uint64_t)wide;
    return k;
}
static inline int32_t math_mod_i32(int32_t x, int32_t y, int32_t *z)
{
    int64_t wide;
    int32_t k = math_mod_i64(x, y, &wide);
    *z = (int32_t)wide;
    return k;
}
/* The floor of the rounded quotient, -1 where the exact one is a negative number that rounds to zero, NaN where it is not finite; and
   what that leaves. */
#define CEMBRA_FLOAT_QUOTIENTS(type, name, floor, copysign) \
static inline int32_t math_floordiv_##name(type x, type y, type *z) \
{ \
    type quotient = x / y; \
    type of_zero = x != 0 && copysign(1, quotient) < 0 ? -1 : quotient; \
    *z = quotient == 0 ? of_zero : isfinite(quotient) ? floor(quotient) : NAN; \
    return y == 0 ? CEMBRA_DIVISION_BY_ZERO : 0; \
} \
static inline int32_t math_mod_##name(type x, type y, type *z) \
{ \
    type quotient = x / y, rest = x - floor(quotient) * y; \
    if (quotient == 0) rest = x == 0 || (x > 0) == (y > 0) ? x : INFINITY; \
    *z = isfinite(quotient) ? copysign(rest, y) : NAN; \
    return y == 0 ? CEMBRA_DIVISION_BY_ZERO : 0; \
}
CEMBRA_FLOAT_QUOTIENTS(double, f64, floor, copysign)
CEMBRA_FLOAT_QUOTIENTS(float, f32, floorf, copysignf)
static inline int32_t to_int64_f64(double x, int64_t *z)
{
    *z = i64_of_f64(x);
    return x >= -0x1p63 && x < 0x1p63 ? 0 : CEMBRA_CAST;
}
static inline int32_t to_int64_f32(float x, int64_t *z) { return to_int64_f64((double)x, z); }
static inline int32_t to_int32_f64(double x, int32_t *z)
{
    *z = i32_of_f64(x);
    return x > -0x1p31 - 1.0 && x < 0x1p31 ? 0 : CEMBRA_CAST;
}
static inline int32_t to_int32_f32(float x, int32_t *z) { return to_int32_f64((double)x, z); }
static inline int32_t to_int32_i64(int64_t x, int32_t *z)
{
    *z = (int32_t)(uint32_t)(uint64_t)x;
    return *z == x ? 0 : CEMBRA_CAST;
}
#define CEMBRA_NARROW(name, narrow, type) \
    static inline int32_t name(int64_t x, type *z) { *z = (narrow)x; return *z == x ? 0 : CEMBRA_CAST; }
CEMBRA_NARROW(to_int8_i64, int8_t, int32_t)
CEMBRA_NARROW(to_int16_i64, int16_t, int32_t)
CEMBRA_NARROW(to_uint8_i64, uint8_t, int32_t)
CEMBRA_NARROW(to_uint16_i64, uint16_t, int32_t)
CEMBRA_NARROW(to_uint32_i64, uint32_t, int64_t)
static inline int32_t to_uint64_i64(int64_t x, int64_t *z)
{
    *z = x;
    return x < 0 ? CEMBRA_CAST : 0;
}
static inline int32_t to_uint64_f64(double x, int64_t *z)
{
    uint64_t high = x >= 0x1p63 ? (uint64_t)1 << 63 : 0;
    *z = (int64_t)((uint64_t)i64_of_f64(high ? x - 0x1p63 : x) ^ high);
    return x > -1.0 && x < 0x1p64 ? 0 : CEMBRA_CAST;
}
static inline int32_t to_uint64_f32(float x, int64_t *z) { return to_uint64_f64((double)x, z); }
static inline int32_t unsigned_to_int64(int64_t x, int64_t *z) { return to_uint64_i64(x, z); }
static inline double unsigned_to_float64(int64_t x) { return (double)(uint64_t)x; }
static inline float unsigned_to_float32(int64_t x) { return (float)(uint64_t)x; }
static inline int32_t unsigned_floordiv(int64_t x, int64_t y, int64_t *z)
{
    *z = y == 0 ? 0 : (int64_t)((uint64_t)x / (uint64_t)y);
    return y == 0 ? CEMBRA_DIVISION_BY_ZERO : 0;
}
static inline int32_t unsigned_mod(int64_t x, int64_t y, int64_t *z)
{
    *z = y == 0 ? 0 : (int64_t)((uint64_t)x % (uint64_t)y);
    return y == 0 ? CEMBRA_DIVISION_BY_ZERO : 0;
}
/* A remainder is exact, whoever computes it. */
static inline double fmod_f64(double x, double y) { return fmod(x, y); }
static inline float fmod_f32(float x, float y) { return fmodf(x, y); }

static inline double divide_large(int64_t x, int64_t y)
{
    unsigned __int128 dividend = x < 0 ? -(uint64_t)x : (uint64_t)x;
    uint64_t divisor = y < 0 ? -(uint64_t)y : (uint64_t)y;
    if (dividend == 0) return y < 0 ? -0.0 : 0.0;
    /* 66 bits and more, the last one set if a remainder is left: one rounding from there. */
    int shift = 63 + __builtin_clzll((uint64_t)dividend);
    unsigned __int128 quotient = (dividend << shift) / divisor;
    quotient |= (dividend << shift) % divisor != 0;
    double size = ldexp((double)quotient, -shift);
    return (x < 0) != (y < 0) ? -size : size;
}
static inline int32_t python_divide_i64(int64_t x, int64_t y, double *z)
{
    const int64_t exact = INT64_C(1) << 53;
    *z = 0.0;
    if (CEMBRA_RARE(y == 0)) return CEMBRA_DIVISION_BY_ZERO;
    *z = -exact <= x && x <= exact && -exact <= y && y <= exact ? (double)x / (double)y : divide_large(x, y);
    return 0;
}
static inline int32_t python_pow_i64(int64_t x, int64_t y, int64_t *z)
{
    if (y < 0) {
        *z = x == 1 || (y & 1) == 0 ? 1 : -1;
        return x == 0 ? CEMBRA_DIVISION_BY_ZERO : x == 1 || x == -1 ? 0 : CEMBRA_DOMAIN;
    }
    int64_t power = 1;
    if (x == 0 || x == 1 || x == -1) {
        *z = y == 0 ? 1 : x == -1 && (y & 1) == 0 ? 1 : x;
        return 0;
    }
    *z = 0;
    for (;;) {
        if ((y & 1) && __builtin_mul_overflow(power, x, &power)) return CEMBRA_OVERFLOW;
        if ((y >>= 1) == 0) break;
        if (__builtin_mul_overflow(x, x, &x)) return CEMBRA_OVERFLOW;
    }
    *z = power;
    return 0;
}
static inline int32_t python_wrapping_pow(int64_t x, int64_t y, int64_t *z)
{
    if (y < 0) {
        *z = x == 1 ? 1 : x == -1 ? 1 - 2 * (y & 1) : 0;
        return x == 0 ? CEMBRA_DIVISION_BY_ZERO : 0;
    }
    int64_t power = 1;
    for (; y > 0; y >>= 1, x = mul_i64(x, x)) power = y & 1 ? mul_i64(power, x) : power;
    *z = power;
    return 0;
}
/* The sign of the result is that of m. */
static inline int32_t python_pow_modulo(int64_t x, int64_t y, int64_t m, int64_t *z)
{
    *z = 0;
    if (CEMBRA_RARE(m == 0 || y < 0)) return CEMBRA_DOMAIN;
    uint64_t size = m < 0 ? -(uint64_t)m : (uint64_t)m, rest = x < 0 ? -(uint64_t)x % size : (uint64_t)x % size;
    unsigned __int128 power = 1 % size, base = x < 0 && rest != 0 ? size - rest : rest;
    for (; y > 0; y >>= 1, base = base * base % size) power = y & 1 ? power * base % size : power;
    *z = (int64_t)((uint64_t)power + (m < 0 && power != 0 ? (uint64_t)m : 0));
    return 0;
}
static inline int32_t python_gcd(int64_t x, int64_t y, int64_t *z)
{
    uint64_t a = x < 0 ? -(uint64_t)x : (uint64_t)x, b = y < 0 ? -(uint64_t)y : (uint64_t)y;
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    *z = (int64_t)a;
    return a > INT64_MAX ? CEMBRA_OVERFLOW : 0;
}
static inline int32_t python_isqrt(int64_t x, int64_t *z)
{
    *z = 0;
    if (x < 0) return CEMBRA_DOMAIN;
    uint64_t root = (uint64_t)cut_i64(sqrt((double)x));
    while (root * root > (uint64_t)x) root--;
    while ((root + 1) * (root + 1) <= (uint64_t)x) root++;
    *z = (int64_t)root;
    return 0;
}
static inline int32_t python_range_count(int64_t start, int64_t stop, int64_t step, int64_t *z)
{
    *z = 0;
    if (step == 0) return CEMBRA_DOMAIN;
    if (step > 0 ? start >= stop : start <= stop) return 0;
    uint64_t distance = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    uint64_t size = step > 0 ? (uint64_t)step : -(uint64_t)step, count = (distance - 1) / size + 1;
    *z = (int64_t)count;
    return count == 0 || count > INT64_MAX ? CEMBRA_OVERFLOW : 0;
}

/* Floats of Python. */

static inline int32_t python_divide_f64(double x, double y, double *z)
{
    *z = x / y;
    return y == 0.0 ? CEMBRA_DIVISION_BY_ZERO : 0;
}
static inline int32_t float_divmod(double x, double y, double *floor_of, double *rest_of)
{
    *floor_of = *rest_of = 0.0;
    if (y == 0.0) return CEMBRA_DIVISION_BY_ZERO;
    double rest = fmod(x, y), quotient = (x - rest) / y;
    if (rest == 0.0) {
        rest = copysign(0.0, y);
    } else if ((y < 0.0) != (rest < 0.0)) {
        rest += y;
        quotient -= 1.0;
    }
    *rest_of = rest;
    if (quotient == 0.0) {
        *floor_of = copysign(0.0, x / y);
        return 0;
    }
    double down = floor(quotient);
    *floor_of = quotient - down > 0.5 ? down + 1.0 : down;
    return 0;
}
static inline int32_t python_floordiv_f64(double x, double y, double *z) { double rest; return float_divmod(x, y, z, &rest); }
static inline int32_t python_mod_f64(double x, double y, double *z) { double quotient; return float_divmod(x, y, &quotient, z); }
static inline int32_t integer_of(double x, int64_t *z)
{
    *z = 0;
    if (!(x >= -0x1p63 && x < 0x1p63)) return x != x ? CEMBRA_DOMAIN : CEMBRA_OVERFLOW;
    *z = cut_i64(x);
    return 0;
}
static inline int32_t python_to_int(double x, int64_t *z) { return integer_of(trunc(x), z); }
static inline int32_t python_floor(double x, int64_t *z) { return integer_of(floor(x), z); }
static inline int32_t python_ceil(double x, int64_t *z) { return integer_of(ceil(x), z); }
static inline int32_t python_round(double x, int64_t *z) { return integer_of(rint(x), z); }
static inline int32_t python_sqrt(double x, double *z)
{
    *z = sqrt(x);
    return x < 0.0 ? CEMBRA_DOMAIN : 0;
}
static inline int32_t python_fmod(double x, double y, double *z)
{
    *z = 0.0;
    if ((isinf(x) && y == y) || (y == 0.0 && x == x)) return CEMBRA_DOMAIN;
    *z = fmod(x, y);
    return 0;
}
/* -1, 0 or 1 as x is below, equal or above; 2 beside NaN. */
static inline int32_t order_of(int64_t x, double y)
{
    if (y != y) return 2;
    double down = floor(y);
    if (!(down >= -0x1p63 && down < 0x1p63)) return y > 0.0 ? -1 : 1;
    int64_t whole = cut_i64(down);
    return x != whole ? (x < whole ? -1 : 1) : y > down ? -1 : 0;
}
static inline uint8_t python_equal_if(int64_t x, double y) { return order_of(x, y) == 0; }
static inline uint8_t python_not_equal_if(int64_t x, double y) { return order_of(x, y) != 0; }
static inline uint8_t python_less_if(int64_t x, double y) { return order_of(x, y) == -1; }
static inline uint8_t python_less_equal_if(int64_t x, double y) { return order_of(x, y) <= 0; }
static inline uint8_t python_greater_if(int64_t x, double y) { return order_of(x, y) == 1; }
static inline uint8_t python_greater_equal_if(int64_t x, double y) { int32_t o = order_of(x, y); return o == 0 || o == 1; }
static inline uint8_t python_equal_fi(double x, int64_t y) { return python_equal_if(y, x); }
static inline uint8_t python_not_equal_fi(double x, int64_t y) { return python_not_equal_if(y, x); }
static inline uint8_t python_less_fi(double x, int64_t y) { return python_greater_if(y, x); }
static inline uint8_t python_less_equal_fi(double x, int64_t y) { return python_greater_equal_if(y, x); }
static inline uint8_t python_greater_fi(double x, int64_t y) { return python_less_if(y, x); }
static inline uint8_t python_greater_equal_fi(double x, int64_t y) { return python_less_equal_if(y, x); }

/* Arrays that a routine makes: their elements stand one after the other. */


/* The number of elements of a shape, without negative sizes. */
static inline int32_t count_of(int rank, const int64_t *shape, int64_t *count)
{
    uint64_t product = 1;
    *count = 1;
    for (int axis = 0; axis < rank; axis++) {
        *count = *count == 0 || shape[axis] == 0 ? 0 : 1;
        if (__builtin_mul_overflow(product, shape[axis] > 0 ? (uint64_t)shape[axis] : 1, &product)
            || product > CEMBRA_ELEMENTS) return CEMBRA_LIMIT;
    }
    *count *= (int64_t)product;
    return 0;
}
/* True if the elements of an array stand one after the other. */
static inline int is_in_order(const cembra_array *array, int rank, int64_t size)
{
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (array->shape[axis] != 1 && array->strides[axis] != size) return 0;
        size = mul_i64(size, array->shape[axis]);
    }
    return 1;
}
/* Memory for an array whose shape is known. Sizes other than 0 have a limit together, even if another one is 0. */
static inline int32_t new_array(int rank, uint64_t size, cembra_array *array)
{
    uint64_t product = 1;
    int is_empty = 0;
    for (int axis = 0; axis < rank; axis++) {
        if (array->shape[axis] < 0) return CEMBRA_DOMAIN;
        is_empty |= array->shape[axis] == 0;
    }
    for (int axis = rank - 1; axis >= 0; axis--) {
        uint64_t length = array->shape[axis] > 0 ? (uint64_t)array->shape[axis] : 1;
        array->strides[axis] = (int64_t)(product * size);
        if (__builtin_mul_overflow(product, length, &product) || product > CEMBRA_ELEMENTS) return CEMBRA_LIMIT;
    }
    uint64_t bytes = is_empty ? 1 : product * size;
    if (bytes > CEMBRA_BYTES) return CEMBRA_LIMIT;
    array->data = malloc(bytes);
    return array->data == NULL ? CEMBRA_LIMIT : 0;
}
/* Copies the elements of an array to those of another one of its shape. */
static inline void copy_elements(const cembra_array *from, int rank, uint64_t size, const cembra_array *to)
{
    int64_t count = 1, index[6] = { 0 };
    const char *source = from->data;
    char *target = to->data;
    for (int axis = 0; axis < rank; axis++) count *= from->shape[axis];
    if (rank > 0 && count > 0) {
        int64_t run = from->shape[rank - 1], step = from->strides[rank - 1], to_step = to->strides[rank - 1];
        /* Rows that stand in order are copied as they are. */
        if (step == (int64_t)size && to_step == (int64_t)size) {
            size *= (uint64_t)run;
            count /= run;
            rank--;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        memcpy(target, source, size);
        for (int axis = rank - 1; axis >= 0; axis--) {
            source += from->strides[axis];
            target += to->strides[axis];
            if (++index[axis] < from->shape[axis]) break;
            source -= from->strides[axis] * from->shape[axis];
            target -= to->strides[axis] * from->shape[axis];
            index[axis] = 0;
        }
    }
}
static inline int32_t copied_array(const cembra_array *from, int rank, uint64_t size, cembra_array *to)
{
    for (int axis = 0; axis < rank; axis++) to->shape[axis] = from->shape[axis];
    int32_t status = new_array(rank, size, to);
    if (status == 0) copy_elements(from, rank, size, to);
    return status;
}
static inline int has_shape(const cembra_array *array, int rank, const int64_t *shape)
{
    for (int axis = 0; axis < rank; axis++) if (array->shape[axis] != shape[axis]) return 0;
    return 1;
}
/* Takes memory that the caller has lent for a result of a shape; 0 if there is none. */
static inline int takes_lent(const cembra_array *lent, int rank, cembra_array *array)
{
    if (lent->data == NULL || !has_shape(lent, rank, array->shape)) return 0;
    *array = *lent;
    return 1;
}
/* Gives an array to the caller: in memory that he has lent, as it is if it is this routine's own, else as a copy. */
static inline int32_t give_array(const cembra_array *array, int rank, uint64_t size, void **own, cembra_array *to)
{
    if (to->data != NULL) {
        if (to->data == array->data) return 0;
        if (!has_shape(to, rank, array->shape)) return CEMBRA_SIZE_MISMATCH;
        copy_elements(array, rank, size, to);
        return 0;
    }
    if (own == NULL || *own == NULL) return copied_array(array, rank, size, to);
    *to = *array;
    *own = NULL;
    return 0;
}
/* The bytes that an array reaches over; none without elements. */
static inline void extent_of(const cembra_array *array, int rank, uint64_t size, uint64_t extent[2])
{
    extent[0] = extent[1] = (uint64_t)(uintptr_t)array->data;
    for (int axis = 0; axis < rank; axis++) if (array->shape[axis] <= 0) return;
    for (int axis = 0; axis < rank; axis++) {
        int64_t reach = mul_i64(array->strides[axis], array->shape[axis] - 1);
        extent[reach > 0] += (uint64_t)reach;
    }
    extent[1] += size;
}
static inline int overlaps(const uint64_t x[2], const uint64_t y[2])
{
    return x[0] < x[1] && y[0] < y[1] && x[0] < y[1] && y[0] < x[1];
}
/* The longest step of an array of `rank` axes, and the bytes that its elements reach over between two of them. */
static inline uint64_t longest_step(const cembra_array *array, int rank, const uint64_t extent[2], uint64_t *within)
{
    uint64_t step = 0; int64_t count = 1;
    for (int axis = 0; axis < rank; axis++) {
        int64_t stride = array->strides[axis];
        uint64_t length = stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
        if (array->shape[axis] > 1 && length > step) { step = length; count = array->shape[axis]; }
    }
    *within = extent[1] - extent[0] - step * (uint64_t)(count - 1);
    return step;
}
/* True if the elements of two arrays stand side by side in rows of one length, as those of two columns of a matrix: no element
   of one is in the other. */
static inline int is_beside(const cembra_array *a, int a_rank, const uint64_t x[2],
                            const cembra_array *b, int b_rank, const uint64_t y[2])
{
    uint64_t a_within, b_within;
    uint64_t step = longest_step(a, a_rank, x, &a_within);
    if (step == 0 || step != longest_step(b, b_rank, y, &b_within)) return 0;
    uint64_t from = y[0] >= x[0] ? (y[0] - x[0]) % step : (step - (x[0] - y[0]) % step) % step;
    return a_within <= from && b_within <= step - from;
}
/* Room for one more element behind `count` others. */
static inline int32_t room_for_one(void **own, int64_t count, int64_t *room, uint64_t size)
{
    if (*own != NULL && count < *room) return 0;
    uint64_t more = count < 4 ? 8 : 2 * (uint64_t)count;
    if (more > CEMBRA_ELEMENTS) more = CEMBRA_ELEMENTS;
    if ((uint64_t)count >= more || more > CEMBRA_BYTES / size) return CEMBRA_LIMIT;
    void *grown = realloc(*own, more * size);
    if (grown == NULL) return CEMBRA_LIMIT;
    *own = grown;
    *room = (int64_t)more;
    return 0;
}

/* An index, or one from the end; what is outside stays outside. */
static inline int64_t place_along(int64_t i, int64_t size) { return i < 0 ? i + size : i; }

__attribute__((cold, noinline)) static int32_t cembra_raise(cembra_run *run, int32_t category, int32_t routine,
    int32_t instruction, int32_t line, const char *message, const uint64_t operands[4])
{
    cembra_error *error = run->error;
    if (error != NULL) {
        error->category = category;
        error->routine = routine;
        error->instruction = instruction;
        error->line = line;
        error->message = message;
        memcpy(error->operands, operands, sizeof error->operands);
    }
    return category;
}
#define CEMBRA_OPERANDS(...) ((const uint64_t[4]){__VA_ARGS__})

/* True if what was raised is of this class: its message begins with the name and a colon, or is the name. */
__attribute__((cold)) static inline int cembra_is_class(const char *message, const char *name)
{
    size_t length = strlen(name);
    return message != NULL && strncmp(message, name, length) == 0 && (message[length] == ':' || message[length] == 0);
}
