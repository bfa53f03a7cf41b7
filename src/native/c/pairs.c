/* Sums over pairs of elements of two arrays of the same sizes: 32 running sums for each 65,536 pairs. */

#define CEMBRA_PAIRS(name, type, wide, plus, term) \
static wide name(const cembra_array *x, const cembra_array *y, int rank) \
{ \
    wide sum = 0, lanes[32] = { 0 }; \
    int64_t count = 1, kept = 0, at[6] = { 0 }, inner = rank > 0 ? x->shape[rank - 1] : 1; \
    int64_t along_x = rank > 0 ? x->strides[rank - 1] : 0, along_y = rank > 0 ? y->strides[rank - 1] : 0; \
    const char *p = x->data, *q = y->data; \
    for (int axis = 0; axis < rank; axis++) count *= x->shape[axis]; \
    while (kept < count) { \
        for (int64_t i = 0; i < inner;) { \
            int is_block = (kept & 31) == 0 && inner - i >= 32 && along_x == (int64_t)sizeof(type) && along_y == along_x; \
            int64_t block = is_block ? 32 : 1; \
            wide *to = lanes + (kept & 31); \
            if (is_block) { \
                type a[32], b[32]; \
                memcpy(a, p + i * (int64_t)sizeof(type), sizeof a); \
                memcpy(b, q + i * (int64_t)sizeof(type), sizeof b); \
                for (int lane = 0; lane < 32; lane++) { wide e = (wide)a[lane], f = (wide)b[lane]; to[lane] = plus(to[lane], term); } \
            } else { \
                type a, b; \
                memcpy(&a, p + i * along_x, sizeof a); \
                memcpy(&b, q + i * along_y, sizeof b); \
                wide e = (wide)a, f = (wide)b; \
                *to = plus(*to, term); \
            } \
            i += block; \
            kept += block; \
            if ((kept & 65535) == 0 || kept == count) { \
                for (int half = 16; half > 0; half /= 2) \
                    for (int lane = 0; lane < half; lane++) lanes[lane] = plus(lanes[lane], lanes[half + lane]); \
                sum = plus(sum, lanes[0]); \
                memset(lanes, 0, sizeof lanes); \
            } \
        } \
        for (int axis = rank - 2; axis >= 0; axis--) { \
            p += x->strides[axis]; \
            q += y->strides[axis]; \
            if (++at[axis] < x->shape[axis]) break; \
            p -= x->strides[axis] * x->shape[axis]; \
            q -= y->strides[axis] * y->shape[axis]; \
            at[axis] = 0; \
        } \
    } \
    return sum; \
}
#define CEMBRA_SUM(a, b) ((a) + (b))
#define CEMBRA_SQUARE_I64(d) mul_i64(d, d)
#define CEMBRA_PAIRS_OF_FLOATS(code, type) \
__attribute__((unused)) CEMBRA_PAIRS(products_##code, type, type, CEMBRA_SUM, e * f) \
__attribute__((unused)) CEMBRA_PAIRS(distances_##code, type, type, CEMBRA_SUM, (e - f) * (e - f))
#define CEMBRA_PAIRS_OF_INTEGERS(code, type) \
__attribute__((unused)) CEMBRA_PAIRS(products_##code, type, int64_t, add_i64, mul_i64(e, f)) \
__attribute__((unused)) CEMBRA_PAIRS(distances_##code, type, int64_t, add_i64, CEMBRA_SQUARE_I64(sub_i64(e, f)))
CEMBRA_PAIRS_OF_FLOATS(f64, double)
CEMBRA_PAIRS_OF_FLOATS(f32, float)
CEMBRA_PAIRS_OF_INTEGERS(i64, int64_t)
CEMBRA_PAIRS_OF_INTEGERS(i32, int32_t)
