
/* Trips of a call in pieces: how many pieces there are depends on their number only. */

typedef struct { int64_t first; uint64_t trips, count; } cembra_pieces;

static inline cembra_pieces pieces_of(int64_t first, int64_t end)
{
    uint64_t trips = end > first ? (uint64_t)end - (uint64_t)first : 0;
    return (cembra_pieces){ first, trips, trips < 1 ? 1 : trips > 64 ? 64 : trips };
}
/* The first trip of a piece; of the one behind the last piece, the trip behind the last. */
static inline int64_t begin_of(const cembra_pieces *all, uint64_t piece)
{
    return add_i64(all->first, (int64_t)(uint64_t)((unsigned __int128)all->trips * piece / all->count));
}
/* True if the first and the last trip have elements of an axis. */
__attribute__((unused)) static inline int window_is_inside(const cembra_pieces *all, int64_t first, int64_t step, int64_t size)
{
    if (all->trips == 0) return 1;
    __int128 low = first + (__int128)step * all->first, high = low + (__int128)step * (all->trips - 1);
    return low >= 0 && low < size && high >= 0 && high < size;
}
/* Leaves of an array the elements of some trips along an axis. */
__attribute__((unused)) static inline void take_window(cembra_array *array, int axis, int64_t first, int64_t step, int64_t begin, int64_t behind)
{
    int64_t stride = array->strides[axis];
    if (begin != behind) array->data = (char *)array->data + mul_i64(add_i64(first, mul_i64(step, begin)), stride);
    array->shape[axis] = sub_i64(behind, begin);
    array->strides[axis] = mul_i64(step, stride);
}
