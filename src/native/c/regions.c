/* Walks over arrays that are broadcast to one shape, and over those that are made. */

/* Elements of a block. */
enum { CEMBRA_BLOCK = 512 };

/* An operand: its next element, and for each axis of the shape the bytes to the next one; 0 where it repeats. */
typedef struct {
    const char *data;
    int64_t strides[6];
} cembra_column;

/* Joins the axes behind the first ones that all columns walk alike; gives how many are left, at least one behind those. */
static inline int join_axes(int first, int rank, int64_t *shape, int count, cembra_column *columns)
{
    int left = first;
    for (int axis = first; axis < rank; axis++) {
        int64_t size = shape[axis];
        if (size == 1) continue;
        int is_alike = left > first;
        for (int i = 0; i < count && is_alike; i++)
            is_alike = columns[i].strides[left - 1] == mul_i64(columns[i].strides[axis], size);
        left += !is_alike;
        shape[left - 1] = is_alike ? shape[left - 1] * size : size;
        for (int i = 0; i < count; i++) columns[i].strides[left - 1] = columns[i].strides[axis];
    }
    if (left > first) return left;
    shape[first] = 1;
    for (int i = 0; i < count; i++) columns[i].strides[first] = 0;
    return first + 1;
}

/* Puts the axes behind the first ones in another order: the one along which the last column has the shortest steps becomes the last one. */
static inline void order_axes(int first, int rank, int64_t *shape, int count, cembra_column *columns)
{
    for (int from = first + 1; from < rank; from++) {
        for (int axis = from; axis > first; axis--) {
            const int64_t *steps = columns[count - 1].strides;
            if (shape[axis] == 1 || (shape[axis - 1] != 1 && steps[axis - 1] >= steps[axis])) break;
            int64_t size = shape[axis];
            shape[axis] = shape[axis - 1];
            shape[axis - 1] = size;
            for (int i = 0; i < count; i++) {
                int64_t step = columns[i].strides[axis];
                columns[i].strides[axis] = columns[i].strides[axis - 1];
                columns[i].strides[axis - 1] = step;
            }
        }
    }
}

/* Moves columns from the first element of a row, which is along the last axis, to that of the next; 0 behind the last row. */
static inline int next_row(int rank, const int64_t *shape, int64_t *index, int count, cembra_column *columns)
{
    for (int axis = rank - 2; axis >= 0; axis--) {
        for (int i = 0; i < count; i++) columns[i].data += columns[i].strides[axis];
        if (++index[axis] < shape[axis]) return 1;
        for (int i = 0; i < count; i++) columns[i].data -= columns[i].strides[axis] * shape[axis];
        index[axis] = 0;
    }
    return 0;
}

/* Copies columns so that their elements stand one after the other; the copies become the caller's. */
__attribute__((unused)) static int32_t flatten(int rank, const int64_t *shape, int count, const int64_t *sizes,
    cembra_column *columns, cembra_array *copies)
{
    int32_t status = 0;
    for (int i = 0; i < count && status == 0; i++) {
        cembra_array from = { (void *)columns[i].data, { 0 }, { 0 } };
        memcpy(from.shape, shape, sizeof(int64_t) * (uint64_t)rank);
        memcpy(from.strides, columns[i].strides, sizeof(int64_t) * (uint64_t)rank);
        status = copied_array(&from, rank, (uint64_t)sizes[i], &copies[i]);
        columns[i].data = copies[i].data;
        columns[i].strides[0] = sizes[i];
    }
    if (status != 0) for (int i = 0; i < count; i++) { free(copies[i].data); copies[i].data = NULL; }
    return status;
}
