/* Rows that may be missing: a bitmap beside the cells, lowest bit first, from any bit on; without one all rows are there. Loops go
   over presence as bytes, block by block. */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bits become bytes where the lowest byte comes first"
#endif

/* Rows of a block. */
enum { CEMBRA_BLOCK = 512 };

/* Which of some rows are there, from a bit on: a byte for each, and up to 7 more. */
__attribute__((unused)) static void unpack_rows(const uint8_t *bitmap, int64_t bit, int64_t count, uint8_t *to)
{
    if (bitmap == NULL) {
        memset(to, 1, (uint64_t)count);
        return;
    }
    bitmap += bit >> 3;
    int shift = (int)(bit & 7);
    for (int64_t i = 0; i < count; i += 8) {
        uint64_t bits = (uint64_t)bitmap[i >> 3] >> shift;
        if (shift + (count - i < 8 ? count - i : 8) > 8) bits |= (uint64_t)bitmap[(i >> 3) + 1] << (8 - shift);
        bits = ((bits & 255) * UINT64_C(0x0101010101010101)) & UINT64_C(0x8040201008040201);
        bits = ((bits + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7) & UINT64_C(0x0101010101010101);
        memcpy(to + i, &bits, 8);
    }
}
/* The opposite, from a whole byte on; bits behind the last row are 0. */
__attribute__((unused)) static void pack_rows(const uint8_t *from, int64_t count, uint8_t *bitmap)
{
    for (int64_t i = 0; i < count; i += 8) {
        uint64_t bits = 0;
        memcpy(&bits, from + i, count - i < 8 ? (uint64_t)(count - i) : 8);
        bitmap[i >> 3] = (uint8_t)((bits * UINT64_C(0x0102040810204080)) >> 56);
    }
}
static inline int is_present(const cembra_array *array, int64_t row)
{
    int64_t bit = array->offset + row;
    return array->validity == NULL || (array->validity[bit >> 3] >> (bit & 7) & 1);
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
