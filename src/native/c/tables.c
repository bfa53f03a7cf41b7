/* Hash tables of keys: at the hash of a key or behind it its position + 1, 0 where nothing is. A table that does not fit its keys finds
   nothing, and never leads outside. */
#include <stdio.h>

__attribute__((unused)) static inline uint64_t hash_i64(int64_t key)
{
    uint64_t x = (uint64_t)key;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
/* Both zeros are one key. */
__attribute__((unused)) static inline uint64_t hash_f64(double key) { return hash_i64((int64_t)bits_f64(key + 0.0)); }
static inline int stands_in_order(const cembra_array *x) { return x->shape[0] < 2 || x->strides[0] == 8; }

#define CEMBRA_TABLE(type, name) \
/* The position of a key, or -1; the cell where it would go, or -1. */ \
static int32_t find_key_##name(const cembra_array *table, const cembra_array *keys, type key, int64_t *position, int64_t *cell) \
{ \
    uint64_t size = (uint64_t)table->shape[0]; \
    *position = *cell = -1; \
    if (!stands_in_order(table) || !stands_in_order(keys)) return CEMBRA_INDEX_OUT_OF_RANGE; \
    if (key != key) return CEMBRA_DOMAIN; \
    if (size == 0) return 0; \
    if ((size & (size - 1)) != 0) return CEMBRA_INDEX_OUT_OF_RANGE; \
    uint64_t at = hash_##name(key) & (size - 1); \
    for (uint64_t probe = 0; probe < size; probe++, at = (at + 1) & (size - 1)) { \
        int64_t number; \
        type known; \
        memcpy(&number, (const char *)table->data + 8 * at, 8); \
        if (number == 0) { \
            *cell = (int64_t)at; \
            return 0; \
        } \
        if (number < 1 || number > keys->shape[0]) continue; \
        memcpy(&known, (const char *)keys->data + 8 * (number - 1), 8); \
        if (known == key) { \
            *position = number - 1; \
            return 0; \
        } \
    } \
    return 0; \
} \
static int32_t enter_key_##name(const cembra_array *table, const cembra_array *keys, int64_t position) \
{ \
    int64_t known, cell, number = position + 1; \
    type key; \
    if (position < 0 || position >= keys->shape[0]) return 0; \
    memcpy(&key, (const char *)keys->data + 8 * position, 8); \
    int32_t status = find_key_##name(table, keys, key, &known, &cell); \
    if (status != 0 || known >= 0) return status; \
    if (cell < 0) return CEMBRA_INDEX_OUT_OF_RANGE; \
    memcpy((char *)table->data + 8 * cell, &number, 8); \
    return 0; \
} \
/* Gives the last key its cell, in a larger table if half of the cells are taken. */ \
__attribute__((unused)) static int32_t add_key_##name(cembra_array *table, void **own, const cembra_array *keys) \
{ \
    int64_t count = keys->shape[0], size = table->shape[0]; \
    if (!stands_in_order(keys)) return CEMBRA_INDEX_OUT_OF_RANGE; \
    if (2 * count <= size && (size & (size - 1)) == 0) return enter_key_##name(table, keys, count - 1); \
    for (size = 8; size < 4 * count;) size *= 2; \
    if (size > (int64_t)CEMBRA_ELEMENTS) return CEMBRA_LIMIT; \
    cembra_array grown = { calloc((uint64_t)size, 8), { size }, { 8 }, NULL, 0 }; \
    int32_t status = grown.data == NULL ? CEMBRA_LIMIT : 0; \
    for (int64_t position = 0; position < count && status == 0; position++) status = enter_key_##name(&grown, keys, position); \
    if (status != 0) { \
        free(grown.data); \
        return status; \
    } \
    free(*own); \
    *own = grown.data; \
    *table = grown; \
    return 0; \
}
CEMBRA_TABLE(double, f64)
CEMBRA_TABLE(int64_t, i64)

/* What is said of a key that is not there, in the room of an error. */
__attribute__((unused, cold)) static const char *key_error_i64(char text[40], int64_t key)
{
    snprintf(text, 40, "KeyError: %lld", (long long)key);
    return text;
}
/* The fewest digits that read back: with a point if the number is neither large nor small. */
__attribute__((unused, cold)) static const char *key_error_f64(char text[40], double key)
{
    char written[40], digits[20];
    int count = 0, precision = 0;
    if (isinf(key)) {
        snprintf(text, 40, "KeyError: %sinf", key < 0 ? "-" : "");
        return text;
    }
    do snprintf(written, sizeof written, "%.*e", precision, fabs(key)); while (strtod(written, NULL) != fabs(key) && ++precision < 17);
    const char *end = strchr(written, 'e');
    for (const char *c = written; c < end && count < 19; c++) if (*c >= '0' && *c <= '9') digits[count++] = *c;
    int exponent = atoi(end + 1), is_plain = key == 0 || (fabs(key) >= 1e-4 && fabs(key) < 1e16);
    char *to = text + snprintf(text, 40, "KeyError: %s", signbit(key) ? "-" : "");
    if (!is_plain) {
        *to++ = digits[0];
        if (count > 1) *to++ = '.';
        for (int i = 1; i < count; i++) *to++ = digits[i];
        snprintf(to, 6, "e%d", exponent);
        return text;
    }
    int before = exponent < 0 ? 0 : exponent + 1;
    for (int i = 0; i < before; i++) *to++ = i < count ? digits[i] : '0';
    if (before == 0) *to++ = '0';
    *to++ = '.';
    for (int i = exponent + 1; i < 0; i++) *to++ = '0';
    for (int i = before; i < count; i++) *to++ = digits[i];
    if (before >= count) *to++ = '0';
    *to = 0;
    return text;
}
