/* Folds: many elements become one, in the order of the machine: leaves of at most 128 elements, joined as the halves were
   parted. */

typedef double cembra_f64x8 __attribute__((vector_size(64)));
typedef float cembra_f32x8 __attribute__((vector_size(32)));

/* The left half of more elements than a leaf has. */
static inline int64_t left_half(int64_t count) { return count / 2 - count / 2 % 8; }

/* Eight running sums, joined before the elements that are left. */
#define CEMBRA_FLOAT_SUM(type, name) \
static inline type leaf_sum_##name(const char *x, int64_t count) \
{ \
    int64_t whole = count & ~INT64_C(7); \
    type sum = 0; \
    if (whole > 0) { \
        cembra_##name##x8 s, e; \
        memcpy(&s, x, sizeof s); \
        for (int64_t i = 8; i < whole; i += 8) { memcpy(&e, x + i * (int64_t)sizeof sum, sizeof e); s += e; } \
        sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])); \
    } \
    for (int64_t i = whole; i < count; i++) { type e; memcpy(&e, x + i * (int64_t)sizeof e, sizeof e); sum += e; } \
    return sum; \
}
CEMBRA_FLOAT_SUM(double, f64)
CEMBRA_FLOAT_SUM(float, f32)

/* A leaf of elements of one type that are added as numbers of another one. */
#define CEMBRA_INTEGER_SUM(type, name) \
static inline int64_t leaf_sum_##name(const char *x, int64_t count) \
{ \
    uint64_t sum = 0; \
    for (int64_t i = 0; i < count; i++) { type e; memcpy(&e, x + i * (int64_t)sizeof e, sizeof e); sum += (uint64_t)(int64_t)WHOLE(e); } \
    return (int64_t)sum; \
}
#define CEMBRA_MEAN_OF(type, name) \
static inline double leaf_mean_##name(const char *x, int64_t count) \
{ \
    double wide[128]; \
    for (int64_t i = 0; i < count; i++) { type e; memcpy(&e, x + i * (int64_t)sizeof e, sizeof e); wide[i] = (double)WHOLE(e); } \
    return leaf_sum_f64((const char *)wide, count); \
}
#define WHOLE(e) e
CEMBRA_INTEGER_SUM(int32_t, i32)
CEMBRA_INTEGER_SUM(int64_t, i64)
CEMBRA_MEAN_OF(int32_t, i32)
CEMBRA_MEAN_OF(int64_t, i64)
#undef WHOLE
#define WHOLE(e) (e != 0)
CEMBRA_INTEGER_SUM(uint8_t, u8)
CEMBRA_MEAN_OF(uint8_t, u8)
#undef WHOLE
static inline double leaf_mean_f64(const char *x, int64_t count) { return leaf_sum_f64(x, count); }
static inline float leaf_mean_f32(const char *x, int64_t count) { return leaf_sum_f32(x, count); }

#define CEMBRA_PRODUCT(type, part, name, times) \
static inline part leaf_prod_##name(const char *x, int64_t count) \
{ \
    part product = 1; \
    for (int64_t i = 0; i < count; i++) { type e; memcpy(&e, x + i * (int64_t)sizeof e, sizeof e); product = times(product, e); } \
    return product; \
}
static inline double times_f64(double x, double y) { return x * y; }
static inline float times_f32(float x, float y) { return x * y; }
static inline int64_t times_u8(int64_t x, uint8_t y) { return mul_i64(x, y != 0); }
CEMBRA_PRODUCT(double, double, f64, times_f64)
CEMBRA_PRODUCT(float, float, f32, times_f32)
CEMBRA_PRODUCT(int64_t, int64_t, i64, mul_i64)
CEMBRA_PRODUCT(int32_t, int64_t, i32, mul_i64)
CEMBRA_PRODUCT(uint8_t, int64_t, u8, times_u8)

/* The best of two: the first NaN, else the better one, of equal ones the first. */
#define CEMBRA_BEST(type, name, kind, is_better) \
static inline type join_##kind##_##name(type best, type next) \
{ \
    return best == best && (next != next || next is_better best) ? next : best; \
} \
static inline type leaf_##kind##_##name(const char *x, int64_t count) \
{ \
    enum { LANES = 16 }; \
    type best[LANES], e[LANES], one = 0; \
    int64_t whole = count & ~INT64_C(15); \
    uint64_t has_nan = 0; \
    if (whole > 0) { \
        memcpy(best, x, sizeof best); \
        for (int64_t i = 0; i < whole; i += LANES) { \
            memcpy(e, x + i * (int64_t)sizeof one, sizeof e); \
            for (int lane = 0; lane < LANES; lane++) best[lane] = e[lane] is_better best[lane] ? e[lane] : best[lane]; \
            for (int lane = 0; lane < LANES; lane++) has_nan |= e[lane] != e[lane]; \
        } \
        one = best[0]; \
        for (int lane = 1; lane < LANES; lane++) one = join_##kind##_##name(one, best[lane]); \
    } \
    for (int64_t i = whole; i < count; i++) { \
        type next; \
        memcpy(&next, x + i * (int64_t)sizeof next, sizeof next); \
        one = i == 0 ? next : join_##kind##_##name(one, next); \
    } \
    /* Lanes lose the order: the first of several zeros, or NaNs, is looked up. */ \
    has_nan |= one != one; \
    if (has_nan || one == 0) { \
        for (int64_t i = 0; i < count; i++) { \
            type next; \
            memcpy(&next, x + i * (int64_t)sizeof next, sizeof next); \
            if (has_nan ? next != next : next == one) return next; \
        } \
    } \
    return one; \
}
CEMBRA_BEST(double, f64, min, <)
CEMBRA_BEST(double, f64, max, >)
CEMBRA_BEST(float, f32, min, <)
CEMBRA_BEST(float, f32, max, >)
CEMBRA_BEST(int64_t, i64, min, <)
CEMBRA_BEST(int64_t, i64, max, >)
CEMBRA_BEST(int32_t, i32, min, <)
CEMBRA_BEST(int32_t, i32, max, >)

#define CEMBRA_TRUTH(type, name) \
static inline int64_t leaf_count_##name(const char *x, int64_t count) \
{ \
    int64_t found = 0; \
    for (int64_t i = 0; i < count; i++) { type e; memcpy(&e, x + i * (int64_t)sizeof e, sizeof e); found += e != 0; } \
    return found; \
} \
static inline uint8_t leaf_any_##name(const char *x, int64_t count) { return leaf_count_##name(x, count) != 0; } \
static inline uint8_t leaf_all_##name(const char *x, int64_t count) { return leaf_count_##name(x, count) == count; }
CEMBRA_TRUTH(double, f64)
CEMBRA_TRUTH(float, f32)
CEMBRA_TRUTH(int64_t, i64)
CEMBRA_TRUTH(int32_t, i32)
CEMBRA_TRUTH(uint8_t, u8)

#define PLUS(x, y) x + y
#define TIMES(x, y) x * y
#define BOTH(x, y) x & y
#define EITHER(x, y) x | y
#define ITSELF(part, count) part
/* A sum is never -0. */
#define NOT_NEGATIVE_ZERO(part, count) 0 + part
#define SHARE(part, count) (0 + part) / count
/* A whole fold of so many elements of a type, which stand one after the other. */
#define CEMBRA_FOLD(kind, name, type, part, join, finish) \
static inline part join_##kind##_##name(part x, part y) { return join(x, y); } \
CEMBRA_TREE(kind, name, type, part, finish)
#define CEMBRA_TREE(kind, name, type, part, finish) \
static inline part finish_##kind##_##name(part z, int64_t count) { (void)count; return finish(z, (part)count); } \
__attribute__((unused)) static part tree_##kind##_##name(const char *x, int64_t count) \
{ \
    if (count <= 128) return leaf_##kind##_##name(x, count); \
    int64_t left = left_half(count); \
    part of_left = tree_##kind##_##name(x, left); \
    return join_##kind##_##name(of_left, tree_##kind##_##name(x + left * (int64_t)sizeof(type), count - left)); \
} \
__attribute__((unused)) static inline part fold_##kind##_##name(const char *x, int64_t count) \
{ \
    return finish_##kind##_##name(tree_##kind##_##name(x, count), count); \
}
CEMBRA_FOLD(sum, f64, double, double, PLUS, NOT_NEGATIVE_ZERO)
CEMBRA_FOLD(sum, f32, float, float, PLUS, NOT_NEGATIVE_ZERO)
CEMBRA_FOLD(sum, i64, int64_t, int64_t, add_i64, ITSELF)
CEMBRA_FOLD(sum, i32, int32_t, int64_t, add_i64, ITSELF)
CEMBRA_FOLD(sum, u8, uint8_t, int64_t, add_i64, ITSELF)
CEMBRA_FOLD(mean, f64, double, double, PLUS, SHARE)
CEMBRA_FOLD(mean, f32, float, float, PLUS, SHARE)
CEMBRA_FOLD(mean, i64, int64_t, double, PLUS, SHARE)
CEMBRA_FOLD(mean, i32, int32_t, double, PLUS, SHARE)
CEMBRA_FOLD(mean, u8, uint8_t, double, PLUS, SHARE)
CEMBRA_FOLD(prod, f64, double, double, TIMES, ITSELF)
CEMBRA_FOLD(prod, f32, float, float, TIMES, ITSELF)
CEMBRA_FOLD(prod, i64, int64_t, int64_t, mul_i64, ITSELF)
CEMBRA_FOLD(prod, i32, int32_t, int64_t, mul_i64, ITSELF)
CEMBRA_FOLD(prod, u8, uint8_t, int64_t, mul_i64, ITSELF)
CEMBRA_TREE(min, f64, double, double, ITSELF)
CEMBRA_TREE(max, f64, double, double, ITSELF)
CEMBRA_TREE(min, f32, float, float, ITSELF)
CEMBRA_TREE(max, f32, float, float, ITSELF)
CEMBRA_TREE(min, i64, int64_t, int64_t, ITSELF)
CEMBRA_TREE(max, i64, int64_t, int64_t, ITSELF)
CEMBRA_TREE(min, i32, int32_t, int32_t, ITSELF)
CEMBRA_TREE(max, i32, int32_t, int32_t, ITSELF)
#define CEMBRA_TRUTHS(name, type) \
CEMBRA_FOLD(any, name, type, uint8_t, EITHER, ITSELF) \
CEMBRA_FOLD(all, name, type, uint8_t, BOTH, ITSELF) \
CEMBRA_FOLD(count, name, type, int64_t, PLUS, ITSELF)
CEMBRA_TRUTHS(f64, double)
CEMBRA_TRUTHS(f32, float)
CEMBRA_TRUTHS(i64, int64_t)
CEMBRA_TRUTHS(i32, int32_t)
CEMBRA_TRUTHS(u8, uint8_t)
