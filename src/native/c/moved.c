/* Elements under other axes: reshaped, repeated, taken, joined, summed up. Results have memory of their own, in order. */

/* The number of elements of a shape, within what an array may have. */
static inline int32_t count_within(int rank, const int64_t *shape, int64_t *count)
{
    uint64_t product = 1;
    for (int axis = 0; axis < rank; axis++) if (shape[axis] > 0 && __builtin_mul_overflow(product, (uint64_t)shape[axis], &product)) return CEMBRA_LIMIT;
    if (product > CEMBRA_ELEMENTS) return CEMBRA_LIMIT;
    return count_of(rank, shape, count);
}
/* The unit axes have bits. */
static inline int32_t fits_units(int rank, const int64_t *sizes, uint32_t units)
{
    for (int axis = 0; axis < rank; axis++) if ((units >> axis & 1) && sizes[axis] != 1) return CEMBRA_INDEX_OUT_OF_RANGE;
    return 0;
}
/* The elements in their order under axes of other sizes, of which one may be -1. */
__attribute__((unused)) static int32_t reshaped(const cembra_array *from, int from_rank, uint64_t size, int rank, const int64_t *sizes,
    uint32_t units, cembra_array *to)
{
    int64_t known[6], product, count, rest = -1;
    int knowns = 0;
    int32_t status = fits_units(rank, sizes, units);
    for (int axis = 0; axis < rank && status == 0; axis++) {
        if (sizes[axis] < -1) status = CEMBRA_INDEX_OUT_OF_RANGE;
        if (sizes[axis] >= 0) known[knowns++] = sizes[axis];
    }
    if (status == 0) status = count_within(knowns, known, &product);
    if (status == 0) status = count_of(from_rank, from->shape, &count);
    if (status != 0) return status;
    if (product != 0 && count % product == 0) rest = count / product;
    if (knowns == rank ? product != count : knowns + 1 < rank || rest < 0) return CEMBRA_INDEX_OUT_OF_RANGE;
    status = copied_array(from, from_rank, size, to);
    for (int axis = rank - 1; axis >= 0; axis--) {
        to->shape[axis] = sizes[axis] < 0 ? rest : sizes[axis];
        to->strides[axis] = (int64_t)size;
        size *= to->shape[axis] > 0 ? (uint64_t)to->shape[axis] : 1;
    }
    return status;
}
/* The elements repeated along axes that are new, or unit axes of the array. */
__attribute__((unused)) static int32_t repeated(const cembra_array *from, int from_rank, uint32_t from_units, uint64_t size, int rank,
    const int64_t *sizes, uint32_t units, cembra_array *to)
{
    cembra_array all = { from->data, { 0 }, { 0 }, NULL, 0 };
    int64_t count;
    int32_t status = fits_units(rank, sizes, units);
    for (int axis = 0; axis < rank && status == 0; axis++) if (sizes[axis] < 0) status = CEMBRA_INDEX_OUT_OF_RANGE;
    if (status == 0) status = count_within(rank, sizes, &count);
    if (status != 0) return status;
    for (int axis = 0; axis < rank; axis++) {
        int own = axis - (rank - from_rank);
        all.shape[axis] = sizes[axis];
        if (own < 0 || (from_units >> own & 1)) continue;
        if (from->shape[own] != sizes[axis]) return CEMBRA_SIZE_MISMATCH;
        all.strides[axis] = from->strides[own];
    }
    return copied_array(&all, rank, size, to);
}
/* An array without an axis, from a place of it on. */
static inline cembra_array without_axis(const cembra_array *x, int rank, int axis, int64_t place)
{
    cembra_array rest = { (char *)x->data + place * x->strides[axis], { 0 }, { 0 }, NULL, 0 };
    for (int from = 0, to = 0; from < rank; from++) {
        if (from == axis) continue;
        rest.shape[to] = x->shape[from];
        rest.strides[to++] = x->strides[from];
    }
    return rest;
}
/* The elements at places of an axis, which the axes of the places take the place of. */
__attribute__((unused)) static int32_t taken_along(const cembra_array *x, int rank, uint64_t size, int axis, const cembra_array *places,
    int place_rank, cembra_array *to)
{
    cembra_array list = { 0 };
    int64_t count = 0, all = 0, length = x->shape[axis];
    int32_t status = count_of(place_rank, places->shape, &count);
    if (status == 0) status = copied_array(places, place_rank, 8, &list);
    int64_t *numbers = list.data;
    for (int64_t i = 0; i < count && status == 0; i++) {
        numbers[i] += numbers[i] < 0 ? length : 0;
        if (numbers[i] < 0 || numbers[i] >= length) status = CEMBRA_INDEX_OUT_OF_RANGE;
    }
    for (int i = 0; i < axis; i++) to->shape[i] = x->shape[i];
    for (int i = 0; i < place_rank; i++) to->shape[axis + i] = places->shape[i];
    for (int i = axis + 1; i < rank; i++) to->shape[place_rank + i - 1] = x->shape[i];
    if (status == 0) status = count_within(rank + place_rank - 1, to->shape, &all);
    if (status == 0) status = new_array(rank + place_rank - 1, size, to);
    if (status == 0 && all > 0) {
        /* The places as one axis. */
        cembra_array flat = { to->data, { 0 }, { 0 }, NULL, 0 };
        int64_t step = (int64_t)size;
        for (int i = rank - 1; i >= 0; i--) {
            flat.shape[i] = i == axis ? count : x->shape[i];
            flat.strides[i] = step;
            step *= flat.shape[i];
        }
        for (int64_t i = 0; i < count; i++) {
            cembra_array from = without_axis(x, rank, axis, numbers[i]), target = without_axis(&flat, rank, axis, i);
            copy_elements(&from, rank - 1, size, &target);
        }
    }
    free(list.data);
    return status;
}
/* Arrays one after the other along an axis. */
__attribute__((unused)) static int32_t joined_along(int count, const cembra_array *const *arrays, int rank, uint64_t size, int axis,
    cembra_array *to)
{
    int64_t all;
    for (int other = 0; other < rank; other++) {
        to->shape[other] = arrays[0]->shape[other];
        for (int i = 0; i < count && other != axis; i++) if (arrays[i]->shape[other] != to->shape[other]) return CEMBRA_SIZE_MISMATCH;
    }
    to->shape[axis] = 0;
    for (int i = 0; i < count; i++) to->shape[axis] = add_i64(to->shape[axis], arrays[i]->shape[axis]);
    int32_t status = count_within(rank, to->shape, &all);
    if (status == 0) status = new_array(rank, size, to);
    if (status != 0) return status;
    cembra_array part = *to;
    for (int i = 0; i < count && all > 0; i++) {
        part.shape[axis] = arrays[i]->shape[axis];
        copy_elements(arrays[i], rank, size, &part);
        part.data = (char *)part.data + arrays[i]->shape[axis] * to->strides[axis];
    }
    return 0;
}

/* Sums up to each element, or from each on, along axes one after the other; `whole` is an element as a number of the sums. */
#define CEMBRA_SUMS(name, type, wide, whole, cembra_plus) \
__attribute__((unused)) static int32_t running_##name(const cembra_array *x, int rank, uint32_t axes, int is_back, cembra_array *to) \
{ \
    int64_t count = 0, inner = 1, inners[6]; \
    cembra_array copy = { 0 }; \
    int32_t status = count_of(rank, x->shape, &count); \
    if (status == 0) status = copied_array(x, rank, sizeof(type), &copy); \
    memcpy(to->shape, x->shape, sizeof to->shape); \
    if (status == 0) status = new_array(rank, sizeof(wide), to); \
    wide *sums = to->data; \
    for (int64_t i = 0; i < count && status == 0; i++) { \
        type e; \
        memcpy(&e, (const char *)copy.data + i * (int64_t)sizeof e, sizeof e); \
        sums[i] = whole; \
    } \
    free(copy.data); \
    for (int axis = rank - 1; axis >= 0; axis--) { inners[axis] = inner; inner = mul_i64(inner, to->shape[axis]); } \
    for (int axis = 0; axis < rank && status == 0 && count > 0; axis++) { \
        if (!(axes >> axis & 1)) continue; \
        int64_t size = to->shape[axis], step = inners[axis]; \
        for (int64_t block = 0; block < count; block += size * step) \
            for (int64_t i = 1; i < size; i++) \
                for (int64_t k = 0; k < step; k++) { \
                    int64_t at = block + (is_back ? size - 1 - i : i) * step + k, before = at + (is_back ? step : -step); \
                    sums[at] = cembra_plus(sums[before], sums[at]); \
                } \
    } \
    return status; \
}
static inline double plus_f64(double x, double y) { return x + y; }
static inline float plus_f32(float x, float y) { return x + y; }
CEMBRA_SUMS(f64, double, double, e, plus_f64)
CEMBRA_SUMS(f32, float, float, e, plus_f32)
CEMBRA_SUMS(i64, int64_t, int64_t, e, add_i64)
CEMBRA_SUMS(i32, int32_t, int64_t, e, add_i64)
CEMBRA_SUMS(u8, uint8_t, int64_t, e != 0, add_i64)

/* The same along the last axis in groups of eight: each sum is that of all groups before and of its own. */
#define CEMBRA_SUMS_IN_GROUPS(name, type) \
__attribute__((unused)) static int32_t grouped_##name(const cembra_array *x, int rank, int is_back, cembra_array *to) \
{ \
    int64_t count, run = x->shape[rank - 1]; \
    int32_t status = count_of(rank, x->shape, &count); \
    if (status == 0) status = copied_array(x, rank, sizeof(type), to); \
    type *sums = to->data; \
    for (int64_t first = 0; status == 0 && first < count; first += run) { \
        type before = 0, last = 0; \
        for (int64_t i = 0; i < run; i++) { \
            int64_t place = is_back ? run - 1 - i : i; \
            if (place % 8 == (is_back ? 7 : 0)) { \
                before = before + last; \
                last = 0; \
            } \
            last = last + sums[first + place]; \
            sums[first + place] = before + last; \
        } \
    } \
    return status; \
}
CEMBRA_SUMS_IN_GROUPS(f64, double)
CEMBRA_SUMS_IN_GROUPS(f32, float)
