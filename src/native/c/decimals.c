
/* Numbers rounded to decimals: by the digits of the exact value, halves to even. */
#include <stdio.h>

/* More digits than any float has behind its point, or before it. */
#define CEMBRA_DIGITS 330

/* The multiple of 10^n that is nearest to x. */
__attribute__((unused)) static double round_tens(double x, int n)
{
    char text[2 * CEMBRA_DIGITS + 8] = { '0' };
    char *digits = text + 1;
    int count = snprintf(digits, CEMBRA_DIGITS, "%.0f", trunc(fabs(x)));
    int kept = count > n ? count - n : 0;
    int goes_up = 0;
    if (count >= n) {
        int is_exact = x == trunc(x), has_more = 0;
        for (int at = kept + 1; at < count; at++) has_more |= digits[at] != '0';
        int is_odd = kept > 0 && (digits[kept - 1] - '0') % 2 == 1;
        goes_up = digits[kept] > '5' || (digits[kept] == '5' && (has_more || is_odd || !is_exact));
    }
    memset(digits + kept, '0', (size_t)n);
    digits[kept + n] = 0;
    if (goes_up) {
        int at = kept;
        while (text[at] == '9') text[at--] = '0';
        text[at]++;
    }
    return copysign(strtod(text, NULL), x);
}
__attribute__((unused)) static int32_t python_round_digits_f64(double x, int64_t n, double *z)
{
    *z = x;
    if (!isfinite(x) || n > CEMBRA_DIGITS) return 0;
    if (n < -CEMBRA_DIGITS) {
        *z = copysign(0.0, x);
        return 0;
    }
    if (n >= 0) {
        /* Digits before the point, the point, the sign and the end. */
        char text[CEMBRA_DIGITS + 330];
        snprintf(text, sizeof text, "%.*f", (int)n, x);
        *z = strtod(text, NULL);
    } else {
        *z = round_tens(x, (int)-n);
    }
    return isfinite(*z) ? 0 : CEMBRA_OVERFLOW;
}
__attribute__((unused)) static int32_t python_round_digits_i64(int64_t x, int64_t n, int64_t *z)
{
    *z = n >= 0 ? x : 0;
    /* Every INT64 is nearer to 0 than to 10^20. */
    if (n >= 0 || n < -19) return 0;
    __int128 unit = 1;
    for (; n < 0; n++) unit *= 10;
    __int128 floor = x / unit, rest = x % unit;
    if (rest < 0) {
        floor--;
        rest += unit;
    }
    floor += 2 * rest > unit || (2 * rest == unit && (floor & 1));
    __int128 rounded = floor * unit;
    *z = (int64_t)rounded;
    return rounded == *z ? 0 : CEMBRA_OVERFLOW;
}
