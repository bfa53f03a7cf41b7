/* Parts of arrays: places along each axis, read and written where they stand. */

/* The elements at places: for each axis three numbers if it is kept, the first place, how many and the distance; else the place. */
__attribute__((unused)) static int32_t part_of(const cembra_array *x, int rank, uint64_t size, uint32_t kept, const int64_t *numbers,
    cembra_array *part)
{
    char *first = x->data;
    int to = 0, is_empty = 0;
    for (int axis = 0; axis < rank; axis++) {
        int64_t length = x->shape[axis], start = *numbers++, last = start;
        if (kept >> axis & 1) {
            int64_t count = *numbers++, step = *numbers++;
            if (count < 0) return CEMBRA_INDEX_OUT_OF_RANGE;
            part->shape[to] = count;
            part->strides[to++] = count > 1 ? mul_i64(step, x->strides[axis]) : (int64_t)size;
            is_empty |= count == 0;
            if (count == 0) continue;
            /* No place twice: a part has no more elements than its array. */
            if (count > 1 && step == 0) return CEMBRA_INDEX_OUT_OF_RANGE;
            if (__builtin_mul_overflow(count - 1, step, &last) || __builtin_add_overflow(last, start, &last)) return CEMBRA_INDEX_OUT_OF_RANGE;
        } else if (start < 0) {
            last = start = add_i64(start, length);
        }
        if (start < 0 || start >= length || last < 0 || last >= length) return CEMBRA_INDEX_OUT_OF_RANGE;
        first += start * x->strides[axis];
    }
    part->data = is_empty ? x->data : first;
    return 0;
}
/* The elements as an array of other sizes: along an axis of one element that is repeated. */
static inline int32_t stretched_to(const cembra_array *x, int rank, int to_rank, const int64_t *shape, cembra_array *all)
{
    all->data = x->data;
    for (int axis = 0; axis < to_rank; axis++) {
        int own = axis - (to_rank - rank);
        all->shape[axis] = shape[axis];
        all->strides[axis] = own < 0 || x->shape[own] == 1 ? 0 : x->strides[own];
        if (own >= 0 && x->shape[own] != 1 && x->shape[own] != shape[axis]) return CEMBRA_DOMAIN;
    }
    return 0;
}
__attribute__((unused)) static int32_t stretched(const cembra_array *x, int rank, uint64_t size, const int64_t *shape, cembra_array *to)
{
    cembra_array all = { 0 };
    int64_t count;
    for (int axis = 0; axis < rank; axis++) if (shape[axis] < 0) return CEMBRA_DOMAIN;
    int32_t status = count_within(rank, shape, &count);
    if (status == 0) status = stretched_to(x, rank, rank, shape, &all);
    return status == 0 ? copied_array(&all, rank, size, to) : status;
}
/* Writes elements to a part. */
__attribute__((unused)) static int32_t assigned(const cembra_array *from, int from_rank, uint64_t size, int rank, const cembra_array *part)
{
    cembra_array all = { 0 };
    int32_t status = stretched_to(from, from_rank, rank, part->shape, &all);
    if (status == 0) copy_elements(&all, rank, size, part);
    return status;
}
/* The sum of floats, from the first one on. */
__attribute__((unused)) static double sum_in_order(const cembra_array *x, int rank)
{
    int64_t rows = 1, index[6] = { 0 }, run = rank > 0 ? x->shape[rank - 1] : 1, step = rank > 0 ? x->strides[rank - 1] : 0;
    const char *row = x->data;
    double sum = 0.0;
    for (int axis = 0; axis < rank - 1; axis++) rows *= x->shape[axis];
    for (int64_t i = 0; i < rows; i++) {
        const char *at = row;
        for (int64_t j = 0; j < run; j++, at += step) {
            double e;
            memcpy(&e, at, sizeof e);
            sum += e;
        }
        for (int axis = rank - 2; axis >= 0; axis--) {
            row += x->strides[axis];
            if (++index[axis] < x->shape[axis]) break;
            row -= x->strides[axis] * x->shape[axis];
            index[axis] = 0;
        }
    }
    return sum;
}
