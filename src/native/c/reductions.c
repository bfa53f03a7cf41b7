/* Reductions of elements of an array that stand one after the other and are no folds. */

/* Over the number of values less those that are used; over 0 if there are not so many. */
#define CEMBRA_VARIANCES(name, type, real, cembra_root) \
__attribute__((unused)) static inline real whole_var_##name(const char *x, int64_t count, int64_t used) \
{ \
    int64_t left; \
    if (__builtin_sub_overflow(count, used, &left)) left = INT64_MAX; \
    return (real)(moments_##name(x, count).squares / (double)(left > 0 ? left : 0)); \
} \
__attribute__((unused)) static inline real whole_std_##name(const char *x, int64_t count, int64_t used) \
{ \
    return cembra_root(whole_var_##name(x, count, used)); \
}
CEMBRA_VARIANCES(f64, double, double, sqrt)
CEMBRA_VARIANCES(f32, float, float, sqrtf)
CEMBRA_VARIANCES(i64, int64_t, double, sqrt)
CEMBRA_VARIANCES(i32, int32_t, double, sqrt)
CEMBRA_VARIANCES(u8, uint8_t, double, sqrt)

/* Takes each value as `e`. */
#define CEMBRA_VALUES(type, statement) \
for (int64_t i = 0; i < count; i++) { type e; memcpy(&e, x + i * (int64_t)sizeof e, sizeof e); statement }

/* The value at a place of the order, found digit by digit of its key, and the one behind it, which is the same at the end. */
#define CEMBRA_SELECTION(name, type, real) \
static void ranked_##name(const char *x, int64_t count, int64_t place, real *lower, real *upper) \
{ \
    uint64_t prefix = 0, next = UINT64_MAX, counts[256]; \
    int is_last = place + 1 == count; \
    for (int digit = 56; digit >= 0; digit -= 8) { \
        uint64_t known = digit == 56 ? 0 : ~UINT64_C(0) << (digit + 8), byte = 0; \
        memset(counts, 0, sizeof counts); \
        CEMBRA_VALUES(type, uint64_t key = key_##name(e); if ((key & known) == prefix) counts[key >> digit & 255]++;) \
        for (; place >= (int64_t)counts[byte]; byte++) place -= (int64_t)counts[byte]; \
        prefix |= byte << digit; \
        /* There is another one of the same key. */ \
        if (digit == 0 && place + 1 < (int64_t)counts[byte]) is_last = 1; \
    } \
    CEMBRA_VALUES(type, uint64_t key = key_##name(e); if (key > prefix && key < next) next = key;) \
    if (is_last) next = prefix; \
    CEMBRA_VALUES(type, uint64_t key = key_##name(e); if (key == prefix) *lower = (real)e; if (key == next) *upper = (real)e;) \
} \
static inline int has_nan_##name(const char *x, int64_t count) \
{ \
    CEMBRA_VALUES(type, if (e != e) return 1;) \
    return 0; \
} \
__attribute__((unused)) static real whole_median_##name(const char *x, int64_t count, int64_t option) \
{ \
    real lower = 0, upper = 0; \
    (void)option; \
    if (count == 0 || has_nan_##name(x, count)) return NAN; \
    ranked_##name(x, count, (count - 1) / 2, &lower, &upper); \
    return count % 2 == 0 ? (lower + upper) / 2 : lower; \
} \
/* By linear interpolation; the share is from 0 to 1. */ \
__attribute__((unused)) static real whole_quantile_##name(const char *x, int64_t count, double share) \
{ \
    real lower = 0, upper = 0; \
    if (count == 0 || has_nan_##name(x, count)) return NAN; \
    real place = (real)(double)(count - 1) * (real)share; \
    int64_t number = min_i64(cut_i64((double)place), count - 1); \
    ranked_##name(x, count, number, &lower, &upper); \
    real part = place - (real)(double)number, difference = upper - lower; \
    return part >= (real)0.5 ? upper - difference * (1 - part) : lower + difference * part; \
}
CEMBRA_SELECTION(f64, double, double)
CEMBRA_SELECTION(f32, float, float)
CEMBRA_SELECTION(i64, int64_t, double)
CEMBRA_SELECTION(i32, int32_t, double)
CEMBRA_SELECTION(u8, uint8_t, double)

/* The place of the first of the best ones, or of the first NaN; there are some values. */
#define CEMBRA_PLACE(name, type, which, no_better) \
__attribute__((unused)) static inline int64_t which##_##name(const char *x, int64_t count, int64_t option) \
{ \
    int64_t place = 0; \
    type best; \
    (void)option; \
    memcpy(&best, x, sizeof best); \
    CEMBRA_VALUES(type, if (best == best && !(e no_better best)) { best = e; place = i; }) \
    return place; \
}
CEMBRA_PLACE(f64, double, whole_argmin, >=)
CEMBRA_PLACE(f64, double, whole_argmax, <=)
CEMBRA_PLACE(f32, float, whole_argmin, >=)
CEMBRA_PLACE(f32, float, whole_argmax, <=)
CEMBRA_PLACE(i64, int64_t, whole_argmin, >=)
CEMBRA_PLACE(i64, int64_t, whole_argmax, <=)
CEMBRA_PLACE(i32, int32_t, whole_argmin, >=)
CEMBRA_PLACE(i32, int32_t, whole_argmax, <=)
CEMBRA_PLACE(u8, uint8_t, whole_argmin, >=)
CEMBRA_PLACE(u8, uint8_t, whole_argmax, <=)
