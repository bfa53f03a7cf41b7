/* Lists in order: the least element first, NaN last; what is equal stays in order. Runs of one element are merged, then of two, … */

#define CEMBRA_SORT(type, name, is_behind) \
__attribute__((unused)) static int32_t sorted_##name(char *elements, int64_t count) \
{ \
    if (count < 2) return 0; \
    type *from = malloc((uint64_t)count * sizeof(type)), *to = malloc((uint64_t)count * sizeof(type)); \
    int32_t status = from == NULL || to == NULL ? CEMBRA_LIMIT : 0; \
    if (status == 0) memcpy(from, elements, (uint64_t)count * sizeof(type)); \
    for (int64_t run = 1; run < count && status == 0; run *= 2) { \
        for (int64_t first = 0; first < count; first += 2 * run) { \
            int64_t middle = min_i64(first + run, count), end = min_i64(first + 2 * run, count); \
            int64_t left = first, right = middle; \
            for (int64_t at = first; at < end; at++) { \
                type x = from[min_i64(left, count - 1)], y = from[min_i64(right, count - 1)]; \
                int is_right = left == middle || (right < end && (is_behind)); \
                to[at] = is_right ? y : x; \
                left += !is_right; \
                right += is_right; \
            } \
        } \
        type *other = from; \
        from = to; \
        to = other; \
    } \
    if (status == 0) memcpy(elements, from, (uint64_t)count * sizeof(type)); \
    free(from); \
    free(to); \
    return status; \
}
CEMBRA_SORT(double, f64, x > y || (x != x && y == y))
CEMBRA_SORT(int64_t, i64, x > y)
CEMBRA_SORT(uint8_t, u8, x > y)
