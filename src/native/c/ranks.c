/* What follows from the order of the rows of a group, or from powers of them. */

/* A value of a group and the key of its order. */
typedef struct { uint64_t key; int64_t value; } cembra_place;

/* Merges runs of one place, then of two, …: of equal keys the first one comes first. Gives the memory that has the places in order. */
__attribute__((unused)) static cembra_place *places_in_order(cembra_place *from, cembra_place *to, int64_t count)
{
    for (int64_t run = 1; run < count; run *= 2) {
        for (int64_t first = 0; first < count; first += 2 * run) {
            int64_t middle = min_i64(first + run, count), end = min_i64(first + 2 * run, count), left = first, right = middle;
            for (int64_t at = first; at < end; at++) {
                int is_right = left == middle || (right < end && from[right].key < from[left].key);
                to[at] = from[is_right ? right : left];
                left += !is_right;
                right += is_right;
            }
        }
        cembra_place *other = from;
        from = to;
        to = other;
    }
    return from;
}

/* Keys by which NaN comes last; zeros of both signs are one if they are `joined`. */
#define CEMBRA_RANKS(type, name, real) \
static cembra_place *order_of_##name(const cembra_group *g, int is_descending, int are_joined) \
{ \
    cembra_place *places = (cembra_place *)g->scratch; \
    CEMBRA_EACH(g, type, 0, \
        uint64_t key = are_joined && e == 0 ? UINT64_C(1) << 63 : key_##name(e); \
        places[i].key = e != e ? UINT64_MAX : is_descending ? ~key : key; \
        places[i].value = i;) \
    return places_in_order(places, places + g->count, g->count); \
} \
__attribute__((unused)) static void scan_ordinal_##name(const cembra_group *g, int64_t is_descending, char *results) \
{ \
    const cembra_place *places = order_of_##name(g, is_descending != 0, 1); \
    for (int64_t rank = 0; rank < g->count; rank++) memcpy(results + 8 * places[rank].value, &rank, 8); \
} \
__attribute__((unused)) static void scan_dense_##name(const cembra_group *g, int64_t is_descending, char *results) \
{ \
    const cembra_place *places = order_of_##name(g, is_descending != 0, 1); \
    int64_t rank = 0; \
    for (int64_t i = 0; i < g->count; i++) { \
        type e; \
        memcpy(&e, g->values + places[i].value * (int64_t)sizeof e, sizeof e); \
        rank += i > 0 && (places[i - 1].key != places[i].key || e != e); \
        memcpy(results + 8 * places[i].value, &rank, 8); \
    } \
} \
/* From the greatest down, equal values share the number of all that are not above them. */ \
__attribute__((unused)) static void scan_share_##name(const cembra_group *g, int64_t option, char *results) \
{ \
    const cembra_place *places = order_of_##name(g, 0, 1); \
    int64_t end = g->count; \
    double nan = 0; \
    (void)option; \
    CEMBRA_EACH(g, type, 0, if (e != e) nan = NAN;) \
    for (int64_t i = g->count - 1; i >= 0; i--) { \
        if (i + 1 < g->count && places[i].key != places[i + 1].key) end = i + 1; \
        real share = (real)((double)end / (double)g->count + nan); \
        memcpy(results + places[i].value * (int64_t)sizeof share, &share, sizeof share); \
    } \
} \
__attribute__((unused)) static void scan_softmax_##name(const cembra_group *g, double beta, char *results) \
{ \
    double *powers = (double *)g->scratch, max = -INFINITY, sum = 0; \
    CEMBRA_EACH(g, type, 0, max = (double)e > max ? (double)e : max;) \
    CEMBRA_EACH(g, type, 0, powers[i] = special_exp(beta * ((double)e - max)); sum += powers[i];) \
    for (int64_t i = 0; i < g->count; i++) { real z = (real)(powers[i] / sum); memcpy(results + i * (int64_t)sizeof z, &z, sizeof z); } \
} \
/* The value at a place of the order, from 1; NaN if there is one. */ \
static int group_at_place_##name(const cembra_group *g, double place, type *z) \
{ \
    *z = 0; \
    if (g->count == 0) return 0; \
    CEMBRA_EACH(g, type, 0, if (e != e) { *z = e; return 1; }) \
    int64_t at = place < 1 ? 0 : place >= (double)g->count ? g->count - 1 : (int64_t)place - 1; \
    memcpy(z, g->values + order_of_##name(g, 0, 0)[at].value * (int64_t)sizeof *z, sizeof *z); \
    return 1; \
} \
/* The least value such that a share of the values is not above it. */ \
__attribute__((unused)) static int group_inverse_cdf_##name(const cembra_group *g, double share, type *z) \
{ \
    return group_at_place_##name(g, g->count <= (1 << 24) ? (double)ceilf((float)share * (float)g->count) : ceil(share * (double)g->count), z); \
} \
/* The same with the product in FLOAT32. */ \
__attribute__((unused)) static int group_inverse_cdf_single_##name(const cembra_group *g, float share, type *z) \
{ \
    return group_at_place_##name(g, (double)ceilf(share * (float)g->count), z); \
}
CEMBRA_RANKS(double, f64, double)
CEMBRA_RANKS(float, f32, float)
CEMBRA_RANKS(int64_t, i64, double)
CEMBRA_RANKS(int32_t, i32, double)

/* Standardised moments. */
#define CEMBRA_STANDARDISED(type, name) \
static double deviations_##name(const cembra_group *g, int is_cube, double *squares) \
{ \
    double sum = 0, powers = 0; \
    *squares = 0; \
    CEMBRA_EACH(g, type, 0, sum += (double)e;) \
    double mean = sum / (double)g->count; \
    CEMBRA_EACH(g, type, 0, double d = (double)e - mean; *squares += d * d; powers += is_cube ? d * d * d : (d * d) * (d * d);) \
    return powers; \
} \
__attribute__((unused)) static int group_skew_##name(const cembra_group *g, int64_t option, type *z) \
{ \
    double squares, cubes = deviations_##name(g, 1, &squares); \
    (void)option; \
    *z = (type)(sqrt((double)g->count) * cubes / special_pow(squares, 1.5)); \
    return g->count > 0; \
} \
__attribute__((unused)) static int group_kurtosis_##name(const cembra_group *g, int64_t option, type *z) \
{ \
    double squares, fourth = deviations_##name(g, 0, &squares); \
    (void)option; \
    *z = (type)((double)g->count * fourth / (squares * squares) - 3.0); \
    return g->count > 0; \
}
CEMBRA_STANDARDISED(double, f64)
CEMBRA_STANDARDISED(float, f32)

/* The row that all rows are. */
static inline int collapsed(const cembra_group *g, int64_t size, int is_float, void *z)
{
    for (int64_t i = 1; i < g->count && size > 0; i++)
        if (key_of(g->values, size, is_float) != key_of(g->values + i * size, size, is_float)) return 0;
    if (g->count > 0 && size > 0) memcpy(z, g->values, (uint64_t)size);
    return g->count > 0;
}
__attribute__((unused)) static int group_collapse_rows(const cembra_group *g, int64_t size, void *z)
{
    return collapsed(g, size, 0, z);
}
__attribute__((unused)) static int group_collapse_floats(const cembra_group *g, int64_t size, void *z)
{
    return collapsed(g, size, 1, z);
}
