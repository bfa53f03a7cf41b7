/* Rows that may be missing: a bitmap beside the cells, lowest bit first, from any bit on; without one all rows are there. Loops go
   over presence as bytes, block by block. */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bits become bytes where the lowest byte comes first"
#endif

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define CEMBRA_SHUFFLES
#endif
#endif

/* 64 bits as bytes: each vector of 16 bytes has all bits twice, and takes those of its own rows. */
static inline void bytes_of_bits(uint64_t bits, uint8_t *to)
{
#ifdef CEMBRA_SHUFFLES
    typedef uint8_t u8x64 __attribute__((vector_size(64)));
    typedef uint64_t u64x8 __attribute__((vector_size(64)));
    const u8x64 x = (u8x64)(u64x8){ bits, bits, bits, bits, bits, bits, bits, bits };
    const u8x64 one = (u8x64)((u64x8){ 0 } + UINT64_C(0x8040201008040201));
    u8x64 y = __builtin_shufflevector(x, x, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 18, 18, 18, 18, 18, 18, 18, 18, 19, 19, 19,
        19, 19, 19, 19, 19, 36, 36, 36, 36, 36, 36, 36, 36, 37, 37, 37, 37, 37, 37, 37, 37, 54, 54, 54, 54, 54, 54, 54, 54, 55, 55, 55, 55,
        55, 55, 55, 55);
    y = (u8x64)((y & one) != 0) & 1;
    memcpy(to, &y, sizeof y);
#else
    for (int byte = 0; byte < 8; byte++, to += 8) {
        uint64_t y = ((bits >> 8 * byte & 255) * UINT64_C(0x0101010101010101)) & UINT64_C(0x8040201008040201);
        y = ((y + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7) & UINT64_C(0x0101010101010101);
        memcpy(to, &y, 8);
    }
#endif
}
/* The opposite. */
static inline uint64_t bits_of_bytes(const uint8_t *from)
{
    uint64_t bits = 0;
#if defined(__AVX2__)
    typedef char i8x32 __attribute__((vector_size(32)));
    for (int part = 0; part < 2; part++) {
        i8x32 x;
        memcpy(&x, from + 32 * part, sizeof x);
        bits |= (uint64_t)(uint32_t)__builtin_ia32_pmovmskb256((i8x32)(x != 0)) << 32 * part;
    }
#elif defined(__SSE2__)
    typedef char i8x16 __attribute__((vector_size(16)));
    for (int part = 0; part < 4; part++) {
        i8x16 x;
        memcpy(&x, from + 16 * part, sizeof x);
        bits |= (uint64_t)(uint32_t)__builtin_ia32_pmovmskb128((i8x16)(x != 0)) << 16 * part;
    }
#else
    for (int byte = 0; byte < 8; byte++) {
        uint64_t x;
        memcpy(&x, from + 8 * byte, 8);
        bits |= ((x * UINT64_C(0x0102040810204080)) >> 56) << 8 * byte;
    }
#endif
    return bits;
}
/* Which of some rows are there, from a bit on: a byte for each, in memory for whole words. */
__attribute__((unused)) static void unpack_rows(const uint8_t *bitmap, int64_t bit, int64_t count, uint8_t *to)
{
    if (bitmap == NULL) {
        memset(to, 1, (uint64_t)count);
        return;
    }
    bitmap += bit >> 3;
    int shift = (int)(bit & 7);
    for (int64_t i = 0; i < count; i += 64) {
        int64_t left = shift + (count - i < 64 ? count - i : 64);
        uint64_t bits = 0, more = 0;
        memcpy(&bits, bitmap + (i >> 3), left < 64 ? (uint64_t)(left + 7) >> 3 : 8);
        if (left > 64) more = bitmap[(i >> 3) + 8];
        bytes_of_bits(shift == 0 ? bits : bits >> shift | more << (64 - shift), to + i);
    }
}
/* The opposite, from a whole byte on; bits behind the last row are 0. */
__attribute__((unused)) static void pack_rows(const uint8_t *from, int64_t count, uint8_t *bitmap)
{
    int64_t i = 0;
    for (; count - i >= 64; i += 64) {
        uint64_t bits = bits_of_bytes(from + i);
        memcpy(bitmap + (i >> 3), &bits, 8);
    }
    if (i == count) return;
    uint8_t last[64] = { 0 };
    memcpy(last, from + i, (uint64_t)(count - i));
    uint64_t bits = bits_of_bytes(last);
    memcpy(bitmap + (i >> 3), &bits, (uint64_t)(count - i + 7) >> 3);
}
/* So many rows that are all there; bits behind the last one are 0. */
__attribute__((unused)) static void all_rows(int64_t count, uint8_t *bitmap)
{
    memset(bitmap, 255, (uint64_t)count >> 3);
    if ((count & 7) != 0) bitmap[count >> 3] = (uint8_t)((1 << (count & 7)) - 1);
}
static inline int is_present(const cembra_array *array, int64_t row)
{
    int64_t bit = array->offset + row;
    return array->validity == NULL || (array->validity[bit >> 3] >> (bit & 7) & 1);
}
/* A row of INT64. */
__attribute__((unused)) static inline int64_t number_at(const cembra_array *array, int64_t row)
{
    int64_t x;
    memcpy(&x, (const char *)array->data + row * array->strides[0], sizeof x);
    return x;
}
/* Memory for rows whose number is known: cells, and behind them a bitmap of whole words. */
__attribute__((unused)) static int32_t new_rows(int64_t size, cembra_array *array)
{
    if (array->shape[0] < 0) return CEMBRA_DOMAIN;
    uint64_t count = (uint64_t)array->shape[0];
    if (count > CEMBRA_ELEMENTS) return CEMBRA_LIMIT;
    uint64_t cells = (count * (uint64_t)size + 7) & ~UINT64_C(7), bits = (count + 63) / 64 * 8;
    if (cells + bits > CEMBRA_BYTES) return CEMBRA_LIMIT;
    array->data = malloc(cells + bits + 8);
    if (array->data == NULL) return CEMBRA_LIMIT;
    array->strides[0] = size;
    array->validity = (uint8_t *)array->data + cells;
    array->offset = 0;
    memset(array->validity, 0, bits);
    return 0;
}
/* A row among others that are missing as yet. */
__attribute__((unused)) static inline void put_row(cembra_array *to, int64_t row, int is, const void *value, uint64_t size)
{
    if (!is) {
        if (size > 0) memset((char *)to->data + row * (int64_t)size, 0, size);
        return;
    }
    if (size > 0) memcpy((char *)to->data + row * (int64_t)size, value, size);
    to->validity[row >> 3] |= (uint8_t)(1 << (row & 7));
}
static void copy_rows(const cembra_array *from, int64_t size, const cembra_array *to)
{
    for (int64_t row = 0; row < from->shape[0]; row++) {
        if (size > 0) memcpy((char *)to->data + row * to->strides[0], (const char *)from->data + row * from->strides[0], (uint64_t)size);
        int64_t bit = to->offset + row;
        uint8_t one = (uint8_t)(1 << (bit & 7)), *byte = to->validity + (bit >> 3);
        *byte = is_present(from, row) ? *byte | one : *byte & (uint8_t)~one;
    }
}
__attribute__((unused)) static int32_t copied_rows(const cembra_array *from, int64_t size, cembra_array *to)
{
    to->shape[0] = from->shape[0];
    int32_t status = new_rows(size, to);
    if (status == 0) copy_rows(from, size, to);
    return status;
}
/* Takes memory that the caller has lent for so many rows; 0 if there is none, or its bitmap begins within a byte. */
__attribute__((unused)) static int takes_lent_rows(const cembra_array *lent, cembra_array *array)
{
    return (lent->offset & 7) == 0 && takes_lent(lent, 1, array);
}
/* As give_array, of rows. */
__attribute__((unused)) static int32_t give_rows(const cembra_array *array, int64_t size, void **own, cembra_array *to)
{
    if (to->data != NULL) {
        if (to->data == array->data) return 0;
        if (!has_shape(to, 1, array->shape)) return CEMBRA_SIZE_MISMATCH;
        copy_rows(array, size, to);
        return 0;
    }
    if (own == NULL || *own == NULL) return copied_rows(array, size, to);
    *to = *array;
    *own = NULL;
    return 0;
}
/* The bytes of a bitmap. */
__attribute__((unused)) static void extent_of_bits(const cembra_array *array, uint64_t extent[2])
{
    uint64_t first = (uint64_t)(uintptr_t)array->validity;
    extent[0] = extent[1] = first;
    if (array->validity == NULL || array->shape[0] <= 0) return;
    extent[0] = first + (uint64_t)(array->offset >> 3);
    extent[1] = first + (uint64_t)((array->offset + array->shape[0] + 7) >> 3);
}
