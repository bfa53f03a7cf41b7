/* What tells of many values how they spread: variances, and values by their rank. */

/* Keys of the order of numbers: -0 is below 0. */
__attribute__((unused)) static inline uint64_t key_i64(int64_t x) { return (uint64_t)x ^ UINT64_C(1) << 63; }
__attribute__((unused)) static inline uint64_t key_i32(int32_t x) { return (uint64_t)((uint32_t)x ^ UINT32_C(1) << 31) << 32; }
__attribute__((unused)) static inline uint64_t key_u8(uint8_t x) { return (uint64_t)(x != 0) << 63; }
__attribute__((unused)) static inline uint64_t key_f64(double x)
{
    int64_t bits = (int64_t)bits_f64(x);
    return key_i64(bits ^ ((bits >> 63) & INT64_MAX));
}
__attribute__((unused)) static inline uint64_t key_f32(float x)
{
    int32_t bits = (int32_t)bits_f32(x);
    return key_i32(bits ^ ((bits >> 31) & INT32_MAX));
}

/* What is known of stretches of at most 1,024 values. */
typedef struct { double count, sum, squares; } cembra_moments;

static inline cembra_moments join_moments(cembra_moments x, cembra_moments y)
{
    double difference = y.sum * x.count - x.sum * y.count, count = x.count + y.count;
    double between = difference * difference / (x.count * y.count * count);
    return (cembra_moments){ count, x.sum + y.sum, x.squares + y.squares + between };
}
/* Of values of a type, as numbers of another one: `total` is the sum of the numbers, or of the integers that they were. */
#define CEMBRA_MOMENTS(name, type, real, code, whole, total) \
__attribute__((unused)) static cembra_moments moments_##name(const char *x, int64_t count) \
{ \
    if (count > 1024) { \
        int64_t left = (count + 1023) / 1024 / 2 * 1024; \
        cembra_moments of_left = moments_##name(x, left); \
        return join_moments(of_left, moments_##name(x + left * (int64_t)sizeof(type), count - left)); \
    } \
    real values[1024]; \
    __int128 integers = 0; \
    for (int64_t i = 0; i < count; i++) { \
        type e; \
        memcpy(&e, x + i * (int64_t)sizeof e, sizeof e); \
        integers += (int64_t)(whole); \
        values[i] = (real)e; \
    } \
    real sum = 0 + total, mean = sum / (real)count; \
    for (int64_t i = 0; i < count; i++) values[i] = (values[i] - mean) * (values[i] - mean); \
    (void)integers; \
    return (cembra_moments){ (double)count, sum, tree_sum_##code((const char *)values, count) }; \
}
CEMBRA_MOMENTS(f64, double, double, f64, 0, tree_sum_f64((const char *)values, count))
CEMBRA_MOMENTS(wide_f32, float, double, f64, 0, tree_sum_f64((const char *)values, count))
CEMBRA_MOMENTS(f32, float, float, f32, 0, tree_sum_f32((const char *)values, count))
CEMBRA_MOMENTS(i64, int64_t, double, f64, e, (double)integers)
CEMBRA_MOMENTS(i32, int32_t, double, f64, e, (double)integers)
CEMBRA_MOMENTS(u8, uint8_t, double, f64, e = e != 0, (double)integers)
