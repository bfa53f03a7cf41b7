/* Rows that are chosen, joined and numbered. Results have memory of their own; it is given back if the status is not 0. */

static inline int32_t given_rows(int32_t status, cembra_array *to)
{
    if (status != 0) {
        free(to->data);
        to->data = NULL;
    }
    return status;
}
static inline void take_row(const cembra_array *x, int64_t row, int64_t size, cembra_array *to, int64_t at)
{
    put_row(to, at, is_present(x, row), (const char *)x->data + row * x->strides[0], (uint64_t)size);
}
static inline int32_t rows_for(int64_t count, int64_t size, cembra_array *to)
{
    *to = (cembra_array){ NULL, { count }, { 0 }, NULL, 0 };
    return new_rows(size, to);
}
__attribute__((unused)) static int32_t rows_of_numbers(const cembra_array *x, int64_t size, const cembra_array *ids, cembra_array *to)
{
    int32_t status = rows_for(ids->shape[0], size, to);
    for (int64_t at = 0; at < ids->shape[0] && status == 0; at++) {
        int is = is_present(ids, at);
        int64_t row = is ? number_at(ids, at) : 0;
        if (is && (row < 0 || row >= x->shape[0])) status = CEMBRA_INDEX_OUT_OF_RANGE;
        else if (is) take_row(x, row, size, to, at);
        else put_row(to, at, 0, NULL, (uint64_t)size);
    }
    return given_rows(status, to);
}
/* So many rows, or all to the end if there are to be -1. */
__attribute__((unused)) static int32_t rows_from(const cembra_array *x, int64_t size, int64_t offset, int64_t count, cembra_array *to)
{
    if (offset < 0 || offset > x->shape[0]) return CEMBRA_INDEX_OUT_OF_RANGE;
    int64_t left = x->shape[0] - offset;
    if (count < -1 || count > left) return CEMBRA_INDEX_OUT_OF_RANGE;
    count = count < 0 ? left : count;
    int32_t status = rows_for(count, size, to);
    for (int64_t at = 0; at < count && status == 0; at++) take_row(x, offset + at, size, to, at);
    return given_rows(status, to);
}
/* The rows where a mask is present. */
__attribute__((unused)) static int32_t rows_where(const cembra_array *x, int64_t size, const cembra_array *mask, cembra_array *to)
{
    int64_t count = 0, at = 0;
    if (x->shape[0] != mask->shape[0]) return CEMBRA_SIZE_MISMATCH;
    for (int64_t row = 0; row < x->shape[0]; row++) count += is_present(mask, row);
    int32_t status = rows_for(count, size, to);
    for (int64_t row = 0; row < x->shape[0] && status == 0; row++) if (is_present(mask, row)) take_row(x, row, size, to, at++);
    return given_rows(status, to);
}
__attribute__((unused)) static int32_t numbers_of_present(const cembra_array *x, cembra_array *to)
{
    int64_t count = 0, at = 0;
    for (int64_t row = 0; row < x->shape[0]; row++) count += is_present(x, row);
    int32_t status = rows_for(count, 8, to);
    for (int64_t row = 0; row < x->shape[0] && status == 0; row++) if (is_present(x, row)) put_row(to, at++, 1, &row, 8);
    return given_rows(status, to);
}
__attribute__((unused)) static int32_t rows_of_both(const cembra_array *x, const cembra_array *y, int64_t size, cembra_array *to)
{
    int32_t status = rows_for(x->shape[0] + y->shape[0], size, to);
    for (int64_t row = 0; row < x->shape[0] && status == 0; row++) take_row(x, row, size, to, row);
    for (int64_t row = 0; row < y->shape[0] && status == 0; row++) take_row(y, row, size, to, x->shape[0] + row);
    return given_rows(status, to);
}
/* The number of the row that holds each number. */
__attribute__((unused)) static int32_t inverse_of(const cembra_array *x, cembra_array *to)
{
    int32_t status = rows_for(x->shape[0], 8, to);
    if (status == 0) memset(to->data, 0, 8 * (uint64_t)x->shape[0]);
    for (int64_t row = 0; row < x->shape[0] && status == 0; row++) {
        if (!is_present(x, row)) continue;
        int64_t at = number_at(x, row);
        if (at < 0 || at >= x->shape[0] || (to->validity[at >> 3] >> (at & 7) & 1)) status = CEMBRA_INDEX_OUT_OF_RANGE;
        else put_row(to, at, 1, &row, 8);
    }
    return given_rows(status, to);
}
/* So many rows with those of an array at ascending numbers; the others are missing. */
__attribute__((unused)) static int32_t rows_at(const cembra_array *numbers, const cembra_array *x, int64_t size, int64_t count, cembra_array *to)
{
    if (numbers->shape[0] != x->shape[0]) return CEMBRA_SIZE_MISMATCH;
    if (count < 0) return CEMBRA_INDEX_OUT_OF_RANGE;
    if (count > (int64_t)CEMBRA_ELEMENTS) return CEMBRA_LIMIT;
    int32_t status = rows_for(count, size, to);
    if (status == 0 && size > 0) memset(to->data, 0, (uint64_t)(count * size));
    int64_t last = -1;
    for (int64_t row = 0; row < x->shape[0] && status == 0; row++) {
        int64_t at = is_present(numbers, row) ? number_at(numbers, row) : -1;
        if (at <= last || at >= count) status = CEMBRA_INDEX_OUT_OF_RANGE;
        else take_row(x, row, size, to, at);
        last = at;
    }
    return given_rows(status, to);
}
/* So many rows, whose cells are numbers from 0 on, or one value. */
__attribute__((unused)) static int32_t rows_of_shape(int64_t count, int64_t size, const void *value, int are_there, cembra_array *to)
{
    if ((uint64_t)count > CEMBRA_ELEMENTS) return CEMBRA_LIMIT;
    int32_t status = rows_for(count, size, to);
    for (int64_t row = 0; row < count && size > 0 && status == 0; row++)
        memcpy((char *)to->data + row * size, value == NULL ? (const void *)&row : value, (uint64_t)size);
    if (status == 0 && are_there) all_rows(count, to->validity);
    return given_rows(status, to);
}
/* The rows themselves, if they are as many as a shape says. */
__attribute__((unused)) static int32_t rows_in_shape(int64_t count, const cembra_array *x, int64_t size, cembra_array *to)
{
    if ((uint64_t)count > CEMBRA_ELEMENTS) return CEMBRA_LIMIT;
    return count == x->shape[0] ? copied_rows(x, size, to) : CEMBRA_SIZE_MISMATCH;
}
/* Elements of one axis without missing rows, and the opposite. */
__attribute__((unused)) static int32_t elements_of_rows(const cembra_array *x, uint64_t size, cembra_array *to)
{
    for (int64_t row = 0; row < x->shape[0]; row++) if (!is_present(x, row)) return CEMBRA_MISSING_VALUE;
    return copied_array(x, 1, size, to);
}
__attribute__((unused)) static int32_t rows_of_elements(const cembra_array *x, uint64_t size, cembra_array *to)
{
    int32_t status = rows_for(x->shape[0], (int64_t)size, to);
    if (status != 0) return status;
    copy_elements(x, 1, size, to);
    all_rows(x->shape[0], to->validity);
    return 0;
}
/* How many rows, of any order, a search by halves puts before a needle; presence does not matter. */
#define CEMBRA_SEARCH(type, name) \
__attribute__((unused)) static int64_t rows_below_##name(const cembra_array *x, type needle, int is_right) \
{ \
    int64_t base = 0; \
    int is_below = 0; \
    for (int64_t left = x->shape[0], half; left > 0; left -= half) { \
        type e; \
        half = left > 1 ? left / 2 : 1; \
        int64_t at = left > 1 ? base + half : base; \
        memcpy(&e, (const char *)x->data + at * x->strides[0], sizeof e); \
        is_below = e < needle || (is_right && e == needle); \
        base = left > 1 && is_below ? at : base; \
    } \
    return base + is_below; \
}
CEMBRA_SEARCH(double, f64)
CEMBRA_SEARCH(float, f32)
CEMBRA_SEARCH(int64_t, i64)
CEMBRA_SEARCH(int32_t, i32)
