/* Rows in groups: what edges are inside, and what becomes of the rows of each group that are there.

   child     a  b  c  d          mapping 0, 0, -1, 2 of 3 parents: group 0 is a, b; group 2 is d
   starts    0  2  2  3          where the rows of each parent begin among `rows`; one more at the end */

typedef struct {
    int64_t children, parents;
    int64_t *mapping;   /* the parent of each child, -1 where there is none; NULL if groups stand one after the other */
    int64_t *starts;    /* NULL of a mapping whose groups nobody has needed yet, and of all rows in one group */
    int64_t *rows;      /* NULL if groups stand one after the other */
} cembra_grouping;

static inline void free_grouping(cembra_grouping *edge)
{
    free(edge->mapping);
    free(edge->starts);
    free(edge->rows);
    *edge = (cembra_grouping){ 0 };
}
/* Memory for numbers: one at least. */
static inline int64_t *numbers_of(uint64_t count)
{
    return count <= CEMBRA_BYTES / 8 ? malloc(8 * count + 8) : NULL;
}
/* Takes the place of a grouping, if all went well. */
static inline int32_t give_grouping(int32_t status, cembra_grouping *made, cembra_grouping *to)
{
    if (status != 0) {
        free_grouping(made);
        return status;
    }
    free_grouping(to);
    *to = *made;
    return 0;
}
/* Points are sizes that are added up, or where groups begin, from 0 on. */
__attribute__((unused)) static int32_t edge_of_points(const cembra_array *array, int are_sizes, cembra_grouping *to)
{
    int64_t count = array->shape[0], first = are_sizes != 0, last = 0;
    cembra_grouping made = { 0, count - !first, NULL, numbers_of((uint64_t)(count + first)), NULL };
    if (made.starts == NULL) return CEMBRA_LIMIT;
    if (first) made.starts[0] = 0;
    int is_below = 0, is_wrong = count + first == 0;
    for (int64_t row = 0; row < count && !is_below; row++) {
        int64_t x = is_present(array, row) ? number_at(array, row) : -1;
        is_below = x < 0;
        is_wrong |= !are_sizes && (row == 0 ? x != 0 : x < last);
        if (are_sizes) x = x > INT64_MAX - last ? INT64_MAX : last + x;
        made.starts[row + first] = last = x;
    }
    made.children = last;
    int is_large = !is_below && last > (int64_t)CEMBRA_ELEMENTS;
    int32_t status = is_large ? CEMBRA_LIMIT : is_below || is_wrong ? CEMBRA_INDEX_OUT_OF_RANGE : 0;
    return give_grouping(status, &made, to);
}
__attribute__((unused)) static int32_t edge_of_mapping(const cembra_array *array, int64_t parents, cembra_grouping *to)
{
    if (parents < 0) return CEMBRA_INDEX_OUT_OF_RANGE;
    if (parents > (int64_t)CEMBRA_ELEMENTS) return CEMBRA_LIMIT;
    int64_t count = array->shape[0];
    cembra_grouping made = { count, parents, numbers_of((uint64_t)count), NULL, NULL };
    if (made.mapping == NULL) return CEMBRA_LIMIT;
    int is_wrong = 0;
    for (int64_t row = 0; row < count; row++) {
        int is = is_present(array, row);
        int64_t x = number_at(array, row);
        is_wrong |= is && (x < 0 || x >= parents);
        made.mapping[row] = is ? x : -1;
    }
    return give_grouping(is_wrong ? CEMBRA_INDEX_OUT_OF_RANGE : 0, &made, to);
}
/* What tells a number of so many bytes from others: its bits, but for floats that are zero or NaN. */
static inline uint64_t key_of(const char *cell, int64_t size, int is_float)
{
    uint64_t key = 0;
    memcpy(&key, cell, (uint64_t)size);
    if (size == 1) return key != 0;
    if (!is_float) return key;
    uint64_t sign = UINT64_C(1) << (8 * size - 1), infinity = size == 8 ? UINT64_C(0x7ff) << 52 : UINT64_C(0xff) << 23;
    if ((key & ~sign) > infinity) return infinity + 1;
    return key == sign ? 0 : key;
}
/* True of the key of a NaN. */
static inline int is_nan_key(uint64_t key, int64_t size)
{
    return key == (size == 8 ? UINT64_C(0x7ff) << 52 : UINT64_C(0xff) << 23) + 1;
}
/* Numbers of so many bytes, each in the group of those of its key, in order of first appearance; fails for NaN if it is to. */
__attribute__((unused)) static int32_t edge_of_equals(const cembra_array *array, int64_t size, int is_float, int refuses_nan, cembra_grouping *to)
{
    int64_t count = array->shape[0];
    uint64_t room = 16;
    while (room < 2 * (uint64_t)count) room *= 2;
    cembra_grouping made = { count, 0, numbers_of((uint64_t)count), NULL, NULL };
    /* For each place a number, and its group from 1 on. */
    int64_t *table = numbers_of(2 * room);
    if (made.mapping == NULL || table == NULL) {
        free(table);
        return give_grouping(CEMBRA_LIMIT, &made, to);
    }
    memset(table, 0, 16 * room);
    /* Where memory stands is not known beforehand: nobody chooses numbers that share a place. */
    uint64_t seed = (uint64_t)(uintptr_t)table * UINT64_C(0xd6e8feb86659fd93);
    int is_wrong = 0;
    for (int64_t row = 0; row < count && !is_wrong; row++) {
        made.mapping[row] = -1;
        if (!is_present(array, row)) continue;
        uint64_t key = size == 0 ? 0 : key_of((const char *)array->data + row * array->strides[0], size, is_float);
        is_wrong = is_float && refuses_nan && is_nan_key(key, size);
        uint64_t place = (key ^ seed) * UINT64_C(0x9e3779b97f4a7c15);
        place = (place ^ place >> 32) * UINT64_C(0xd6e8feb86659fd93);
        for (place ^= place >> 32;; place++) {
            int64_t *entry = table + 2 * (place & (room - 1));
            if (entry[1] == 0) {
                entry[0] = (int64_t)key;
                entry[1] = ++made.parents;
            }
            if (entry[0] == (int64_t)key) {
                made.mapping[row] = entry[1] - 1;
                break;
            }
        }
    }
    free(table);
    return give_grouping(is_wrong ? CEMBRA_INDEX_OUT_OF_RANGE : 0, &made, to);
}
/* Finds the rows of each parent. */
static int32_t find_groups(cembra_grouping *edge)
{
    if (edge->mapping == NULL || edge->starts != NULL) return 0;
    int64_t *starts = numbers_of((uint64_t)edge->parents + 2), *rows = numbers_of((uint64_t)edge->children);
    if (starts == NULL || rows == NULL) {
        free(starts);
        free(rows);
        return CEMBRA_LIMIT;
    }
    /* One more than there are parents: a start is counted behind its place, and moves on to its end. */
    memset(starts, 0, 8 * ((uint64_t)edge->parents + 2));
    for (int64_t row = 0; row < edge->children; row++) if (edge->mapping[row] >= 0) starts[edge->mapping[row] + 2]++;
    for (int64_t parent = 0; parent < edge->parents; parent++) starts[parent + 2] += starts[parent + 1];
    for (int64_t row = 0; row < edge->children; row++) if (edge->mapping[row] >= 0) rows[starts[edge->mapping[row] + 1]++] = row;
    edge->starts = starts;
    edge->rows = rows;
    return 0;
}

/* Edges from outside, and those that go there. */

/* What is wrong with an edge: the number of one of the messages of the boundary from 1 on, 0 if nothing is. */
__attribute__((unused)) static int what_is_wrong(const cembra_edge *edge, int is_to_scalar)
{
    const cembra_array *numbers = &edge->numbers;
    int64_t count = numbers->shape[0], last = 0;
    if (is_to_scalar != (edge->kind == CEMBRA_ONE_GROUP)) return 1;
    if (edge->kind != CEMBRA_ONE_GROUP && edge->kind != CEMBRA_MAPPING && edge->kind != CEMBRA_SPLIT_POINTS) return 1;
    int64_t points = edge->kind == CEMBRA_SPLIT_POINTS;
    if (count < points || count > (int64_t)CEMBRA_ELEMENTS + points || edge->parents < 0 || edge->parents > (int64_t)CEMBRA_ELEMENTS) return 2;
    if (edge->kind == CEMBRA_ONE_GROUP) return edge->parents == 1 ? 0 : 2;
    if (count > 0 && numbers->data == NULL) return 3;
    if (numbers->validity != NULL && numbers->offset < 0) return 3;
    if (points && edge->parents != count - 1) return 2;
    for (int64_t row = 0; row < count; row++) {
        int is = is_present(numbers, row);
        int64_t x = is ? number_at(numbers, row) : -1;
        if (points) {
            if (x < last || (row == 0 && x != 0) || x > (int64_t)CEMBRA_ELEMENTS) return 4;
            last = x;
        } else if (is && (x < 0 || x >= edge->parents)) {
            return 5;
        }
    }
    return 0;
}
/* Takes over an edge with which nothing is wrong. Its groups are found at once, so that nobody changes it. */
__attribute__((unused)) static int32_t take_edge(const cembra_edge *edge, cembra_grouping *to)
{
    if (edge->kind == CEMBRA_ONE_GROUP) {
        cembra_grouping made = { edge->numbers.shape[0], 1, NULL, NULL, NULL };
        return give_grouping(0, &made, to);
    }
    if (edge->kind == CEMBRA_SPLIT_POINTS) return edge_of_points(&edge->numbers, 0, to);
    int32_t status = edge_of_mapping(&edge->numbers, edge->parents, to);
    return status == 0 ? find_groups(to) : status;
}
/* The opposite: numbers of their own. */
__attribute__((unused)) static int32_t put_edge(const cembra_grouping *edge, cembra_edge *to)
{
    *to = (cembra_edge){ { 0 }, edge->parents, CEMBRA_ONE_GROUP };
    to->numbers.shape[0] = edge->children;
    if (edge->mapping == NULL && edge->starts == NULL) return 0;
    to->kind = edge->mapping == NULL ? CEMBRA_SPLIT_POINTS : CEMBRA_MAPPING;
    int points = edge->mapping == NULL;
    to->numbers.shape[0] = points ? edge->parents + 1 : edge->children;
    int32_t status = new_rows(8, &to->numbers);
    for (int64_t row = 0; row < to->numbers.shape[0] && status == 0; row++) {
        int64_t number = points ? edge->starts[row] : edge->mapping[row];
        put_row(&to->numbers, row, number >= 0, &number, 8);
    }
    return status;
}
static inline int64_t *copied_numbers(const int64_t *from, int64_t count)
{
    int64_t *to = from == NULL ? NULL : numbers_of((uint64_t)count);
    if (to != NULL) memcpy(to, from, 8 * (uint64_t)count);
    return to;
}
__attribute__((unused)) static int32_t copied_edge(const cembra_grouping *from, cembra_grouping *to)
{
    int points = from->mapping == NULL;
    cembra_grouping made = { from->children, from->parents, copied_numbers(from->mapping, from->children),
        points ? copied_numbers(from->starts, from->parents + 1) : NULL, NULL };
    int is_there = points ? (made.starts == NULL) == (from->starts == NULL) : made.mapping != NULL;
    return give_grouping(is_there ? 0 : CEMBRA_LIMIT, &made, to);
}

/* The rows of a group that are there, and their places in it: NULL if none is missing. */
typedef struct {
    int64_t size, count, first;
    const char *values;
    const int64_t *places, *rows;
    int64_t *own_values, *own_places, *results, *scratch;
} cembra_group;

/* Finds the groups, and makes memory for the rows of any one, with some more words for each row. */
__attribute__((unused)) static int32_t begin_groups(cembra_grouping *edge, const cembra_array *x, uint64_t words, cembra_group *group)
{
    uint64_t count = (uint64_t)x->shape[0];
    int32_t status = edge->starts == NULL && edge->mapping == NULL ? 0 : find_groups(edge);
    *group = (cembra_group){ 0, 0, 0, NULL, NULL, NULL, numbers_of(count), numbers_of(count), numbers_of(count), numbers_of(words * count) };
    if (group->own_values == NULL || group->own_places == NULL || group->results == NULL || group->scratch == NULL)
        status = status == 0 ? CEMBRA_LIMIT : status;
    return status;
}
/* No row is there, of memory that may be the caller's. */
__attribute__((unused)) static void clear_rows(cembra_array *to, int64_t size)
{
    to->validity += to->offset >> 3;
    to->offset = 0;
    memset(to->validity, 0, (uint64_t)(to->shape[0] + 7) >> 3);
    if (size > 0) memset(to->data, 0, (uint64_t)(to->shape[0] * size));
}
/* True if rows that stand in order are all there, and one group. */
__attribute__((unused)) static inline int is_one_run(const cembra_array *x, int64_t size, const cembra_grouping *edge)
{
    return size > 0 && x->validity == NULL && edge->parents == 1 && edge->starts == NULL && edge->mapping == NULL
        && (x->strides[0] == size || x->shape[0] < 2);
}
__attribute__((unused)) static void end_groups(cembra_group *group)
{
    free(group->own_values);
    free(group->own_places);
    free(group->results);
    free(group->scratch);
}
/* Takes the rows of a group, whose cells have this size. */
__attribute__((unused)) static inline void gather_rows(const cembra_array *x, int64_t size, const cembra_grouping *edge, int64_t parent,
    cembra_group *group)
{
    int64_t first = edge->starts == NULL ? 0 : edge->starts[parent];
    int64_t end = edge->starts == NULL ? edge->children : edge->starts[parent + 1];
    const int64_t *rows = edge->rows;
    group->size = group->count = end - first;
    group->first = first;
    group->rows = rows;
    if (rows == NULL && x->validity == NULL && (x->strides[0] == size || end - first < 2)) {
        group->values = (const char *)x->data + first * x->strides[0];
        group->places = NULL;
        return;
    }
    char *values = (char *)group->own_values;
    int64_t count = 0;
    for (int64_t place = first; place < end; place++) {
        int64_t row = rows == NULL ? place : rows[place];
        if (!is_present(x, row)) continue;
        if (size > 0) memcpy(values + count * size, (const char *)x->data + row * x->strides[0], (uint64_t)size);
        group->own_places[count++] = place - first;
    }
    group->count = count;
    group->values = values;
    group->places = group->own_places;
}
static inline int64_t place_of(const cembra_group *group, int64_t value) { return group->places == NULL ? value : group->places[value]; }
/* The row of a value of a group. */
__attribute__((unused)) static inline int64_t row_of(const cembra_group *group, int64_t value)
{
    int64_t place = group->first + place_of(group, value);
    return group->rows == NULL ? place : group->rows[place];
}
/* The row of its parent for each child. */
__attribute__((unused)) static int32_t expand_rows(const cembra_array *x, int64_t size, cembra_grouping *edge, cembra_array *to)
{
    int32_t status = find_groups(edge);
    to->shape[0] = edge->children;
    if (status == 0) status = new_rows(size, to);
    if (status != 0) return status;
    if (size > 0) memset(to->data, 0, (uint64_t)(edge->children * size));
    for (int64_t parent = 0; parent < edge->parents; parent++) {
        int is = is_present(x, parent);
        const char *from = (const char *)x->data + parent * x->strides[0];
        for (int64_t place = edge->starts[parent]; place < edge->starts[parent + 1]; place++)
            put_row(to, edge->rows == NULL ? place : edge->rows[place], is, from, (uint64_t)size);
    }
    return 0;
}
/* The row of the parent for each row of the child, -1 where it has none. */
static inline int64_t parent_of(const cembra_grouping *edge, int64_t row, int64_t *parent)
{
    if (edge->mapping != NULL) return edge->mapping[row];
    /* Rows come in order: the group of one is that of the row before, or a later one. */
    while (edge->starts != NULL && row >= edge->starts[*parent + 1]) ++*parent;
    return *parent;
}
/* The edge from the rows of the inner one to the parents of the outer one. */
__attribute__((unused)) static int32_t edge_of_edges(const cembra_grouping *outer, const cembra_grouping *inner, cembra_grouping *to)
{
    if (outer->children != inner->parents) return CEMBRA_INDEX_OUT_OF_RANGE;
    cembra_grouping made = { inner->children, outer->parents, NULL, NULL, NULL };
    if (outer->mapping == NULL && outer->starts != NULL && inner->mapping == NULL && inner->starts != NULL) {
        made.starts = numbers_of((uint64_t)outer->parents + 1);
        if (made.starts == NULL) return CEMBRA_LIMIT;
        for (int64_t parent = 0; parent <= outer->parents; parent++) made.starts[parent] = inner->starts[outer->starts[parent]];
        return give_grouping(0, &made, to);
    }
    int64_t *parents = numbers_of((uint64_t)outer->children), of_outer = 0, of_inner = 0;
    made.mapping = numbers_of((uint64_t)inner->children);
    int32_t status = parents == NULL || made.mapping == NULL ? CEMBRA_LIMIT : 0;
    for (int64_t row = 0; row < outer->children && status == 0; row++) parents[row] = parent_of(outer, row, &of_outer);
    for (int64_t row = 0; row < inner->children && status == 0; row++) {
        int64_t parent = parent_of(inner, row, &of_inner);
        made.mapping[row] = parent < 0 ? -1 : parents[parent];
    }
    free(parents);
    return give_grouping(status, &made, to);
}
static inline int64_t size_of_group(const cembra_grouping *edge, int64_t parent)
{
    return edge->starts == NULL ? edge->children : edge->starts[parent + 1] - edge->starts[parent];
}
/* Rows of numbers that an edge consists of: the parent of each child, or the size of each group. */
__attribute__((unused)) static int32_t numbers_of_edge(cembra_grouping *edge, int are_sizes, cembra_array *to)
{
    int32_t status = are_sizes && edge->mapping != NULL ? find_groups(edge) : 0;
    to->shape[0] = are_sizes ? edge->parents : edge->children;
    if (status == 0) status = new_rows(8, to);
    if (status != 0) return status;
    for (int64_t row = 0, parent = 0; row < to->shape[0]; row++) {
        int64_t number = are_sizes ? size_of_group(edge, row) : parent_of(edge, row, &parent);
        put_row(to, row, number >= 0, &number, 8);
    }
    return 0;
}

/* What the rows of a group become: 0 if that is missing. */

/* Folds: missing rows count as a number where they stand. */
#define CEMBRA_GROUP_TREE(kind, name, code, part, type, wide, missing) \
static part tree_of_##kind##_##name(const cembra_group *g, int64_t first, int64_t size, int64_t *taken) \
{ \
    if (size > 128) { \
        int64_t left = left_half(size); \
        part x = tree_of_##kind##_##name(g, first, left, taken); \
        return join_##kind##_##code(x, tree_of_##kind##_##name(g, first + left, size - left, taken)); \
    } \
    wide values[128]; \
    for (int64_t i = 0; i < size; i++) { \
        type e = missing; \
        if (g->places == NULL) memcpy(&e, g->values + (first + i) * (int64_t)sizeof e, sizeof e); \
        values[i] = (wide)e; \
    } \
    for (; g->places != NULL && *taken < g->count && g->places[*taken] < first + size; ++*taken) { \
        type e; \
        memcpy(&e, g->values + *taken * (int64_t)sizeof e, sizeof e); \
        values[g->places[*taken] - first] = (wide)e; \
    } \
    return leaf_##kind##_##code((const char *)values, size); \
}
#define CEMBRA_GROUP_SUM(type, name, wide, code, part) \
CEMBRA_GROUP_TREE(sum, name, code, part, type, wide, 0) \
__attribute__((unused)) static inline int group_sum_##name(const cembra_group *g, int64_t option, type *z) \
{ \
    int64_t taken = 0; \
    part sum = tree_of_sum_##name(g, 0, g->size, &taken); \
    (void)option; \
    *z = (type)finish_sum_##code(sum, g->size); \
    return 1; \
}
CEMBRA_GROUP_SUM(double, f64, double, f64, double)
CEMBRA_GROUP_SUM(float, f32, double, f64, double)
CEMBRA_GROUP_SUM(int64_t, i64, int64_t, i64, int64_t)
CEMBRA_GROUP_SUM(int32_t, i32, int32_t, i32, int64_t)
#define CEMBRA_GROUP_MEAN(type, name) \
__attribute__((unused)) static inline int group_mean_##name(const cembra_group *g, int64_t option, type *z) \
{ \
    int64_t taken = 0; \
    double sum = finish_sum_f64(tree_of_sum_##name(g, 0, g->size, &taken), g->size); \
    (void)option; \
    *z = (type)(sum / (double)g->count); \
    return g->count > 0; \
}
CEMBRA_GROUP_MEAN(double, f64)
CEMBRA_GROUP_MEAN(float, f32)
#define CEMBRA_GROUP_BEST(type, name, kind, missing) \
CEMBRA_GROUP_TREE(kind, name, name, type, type, type, missing) \
__attribute__((unused)) static inline int group_##kind##_##name(const cembra_group *g, int64_t option, type *z) \
{ \
    int64_t taken = 0; \
    (void)option; \
    *z = tree_of_##kind##_##name(g, 0, g->size, &taken); \
    return g->count > 0; \
}
CEMBRA_GROUP_BEST(double, f64, min, INFINITY)
CEMBRA_GROUP_BEST(double, f64, max, -INFINITY)
CEMBRA_GROUP_BEST(float, f32, min, INFINITY)
CEMBRA_GROUP_BEST(float, f32, max, -INFINITY)
CEMBRA_GROUP_BEST(int64_t, i64, min, INT64_MAX)
CEMBRA_GROUP_BEST(int64_t, i64, max, INT64_MIN)
CEMBRA_GROUP_BEST(int32_t, i32, min, INT32_MAX)
CEMBRA_GROUP_BEST(int32_t, i32, max, INT32_MIN)

__attribute__((unused)) static inline int group_count_u8(const cembra_group *g, int64_t option, int64_t *z)
{
    (void)option;
    *z = g->count;
    return 1;
}
__attribute__((unused)) static inline int group_any_u8(const cembra_group *g, int64_t option, uint8_t *z)
{
    (void)option;
    *z = 0;
    return g->count > 0;
}
__attribute__((unused)) static inline int group_all_u8(const cembra_group *g, int64_t option, uint8_t *z)
{
    (void)option;
    *z = 0;
    return g->count == g->size;
}
/* The truth that decides wherever it stands, else missing if a row is, else the other one. */
static inline int decided(const cembra_group *g, uint8_t decides, uint8_t *z)
{
    for (int64_t i = 0; i < g->count; i++) {
        if ((g->values[i] != 0) == decides) {
            *z = decides;
            return 1;
        }
    }
    *z = !decides;
    return g->count == g->size;
}
__attribute__((unused)) static inline int group_logical_all_u8(const cembra_group *g, int64_t option, uint8_t *z)
{
    (void)option;
    return decided(g, 0, z);
}
__attribute__((unused)) static inline int group_logical_any_u8(const cembra_group *g, int64_t option, uint8_t *z)
{
    (void)option;
    return decided(g, 1, z);
}

/* Takes each value of a group as `e`. */
#define CEMBRA_EACH(g, type, first, statement) \
for (int64_t i = first; i < (g)->count; i++) { type e; memcpy(&e, (g)->values + i * (int64_t)sizeof e, sizeof e); statement }

#define CEMBRA_GROUP_PLACES(type, name, product_type, times) \
__attribute__((unused)) static inline int group_prod_##name(const cembra_group *g, int64_t option, type *z) \
{ \
    product_type product = 1; \
    (void)option; \
    CEMBRA_EACH(g, type, 0, product = i == 0 ? (product_type)e : times(product, (product_type)e);) \
    *z = (type)product; \
    return g->count > 0; \
} \
__attribute__((unused)) static inline int group_argmin_##name(const cembra_group *g, int64_t option, int64_t *z) \
{ \
    int64_t at = 0; \
    type best = 0; \
    (void)option; \
    CEMBRA_EACH(g, type, 0, if (i == 0 || (best == best && (e != e || e < best))) { at = i; best = e; }) \
    *z = g->count > 0 ? place_of(g, at) : 0; \
    return g->count > 0; \
} \
__attribute__((unused)) static inline int group_argmax_##name(const cembra_group *g, int64_t option, int64_t *z) \
{ \
    int64_t at = 0; \
    type best = 0; \
    (void)option; \
    CEMBRA_EACH(g, type, 0, if (i == 0 || (best == best && (e != e || e > best))) { at = i; best = e; }) \
    *z = g->count > 0 ? place_of(g, at) : 0; \
    return g->count > 0; \
} \
/* The value in the middle: digit by digit of its key, from the first one on. */ \
__attribute__((unused)) static int group_median_##name(const cembra_group *g, int64_t option, type *z) \
{ \
    uint64_t prefix = 0, counts[256]; \
    int64_t place = (g->count - 1) / 2, at = 0; \
    (void)option; \
    *z = 0; \
    if (g->count == 0) return 0; \
    CEMBRA_EACH(g, type, 0, if (e != e) { *z = e; return 1; }) \
    for (int digit = 56; digit >= 0; digit -= 8) { \
        uint64_t known = digit == 56 ? 0 : ~UINT64_C(0) << (digit + 8), byte = 0; \
        memset(counts, 0, sizeof counts); \
        CEMBRA_EACH(g, type, 0, uint64_t key = key_##name(e); if ((key & known) == prefix) counts[key >> digit & 255]++;) \
        for (; place >= (int64_t)counts[byte]; byte++) place -= (int64_t)counts[byte]; \
        prefix |= byte << digit; \
    } \
    CEMBRA_EACH(g, type, 0, if (key_##name(e) == prefix) at = i;) \
    memcpy(z, g->values + at * (int64_t)sizeof *z, sizeof *z); \
    return 1; \
}
CEMBRA_GROUP_PLACES(double, f64, double, times_f64)
CEMBRA_GROUP_PLACES(float, f32, double, times_f64)
CEMBRA_GROUP_PLACES(int64_t, i64, int64_t, mul_i64)
CEMBRA_GROUP_PLACES(int32_t, i32, int32_t, mul_i32)

#define CEMBRA_GROUP_VARIANCE(type, name, wide) \
__attribute__((unused)) static inline int group_var_##name(const cembra_group *g, int64_t unbiased, type *z) \
{ \
    *z = 0; \
    if (g->count <= unbiased) return 0; \
    *z = (type)(moments_##wide(g->values, g->count).squares / (double)(g->count - unbiased)); \
    return 1; \
} \
__attribute__((unused)) static inline int group_std_##name(const cembra_group *g, int64_t unbiased, type *z) \
{ \
    *z = 0; \
    if (g->count <= unbiased) return 0; \
    *z = (type)sqrt(moments_##wide(g->values, g->count).squares / (double)(g->count - unbiased)); \
    return 1; \
}
CEMBRA_GROUP_VARIANCE(double, f64, f64)
CEMBRA_GROUP_VARIANCE(float, f32, wide_f32)

/* Scans: a result for each row of a group that is there. */
#define CEMBRA_SCANS(type, name, wide, plus) \
__attribute__((unused)) static inline void scan_sum_##name(const cembra_group *g, int64_t option, char *results) \
{ \
    wide sum = 0; \
    (void)option; \
    CEMBRA_EACH(g, type, 0, sum = i == 0 ? (wide)e : plus; e = (type)sum; memcpy(results + i * (int64_t)sizeof e, &e, sizeof e);) \
} \
__attribute__((unused)) static inline void scan_max_##name(const cembra_group *g, int64_t option, char *results) \
{ \
    type max = 0; \
    (void)option; \
    CEMBRA_EACH(g, type, 0, max = i == 0 ? e : max != max || max >= e ? max : e; memcpy(results + i * (int64_t)sizeof e, &max, sizeof e);) \
}
CEMBRA_SCANS(double, f64, double, sum + e)
CEMBRA_SCANS(float, f32, double, sum + (double)e)
CEMBRA_SCANS(int64_t, i64, int64_t, add_i64(sum, e))
CEMBRA_SCANS(int32_t, i32, int32_t, add_i32(sum, e))
__attribute__((unused)) static inline void scan_count_u8(const cembra_group *g, int64_t option, char *results)
{
    (void)option;
    for (int64_t i = 0; i < g->count; i++) { int64_t number = i + 1; memcpy(results + 8 * i, &number, 8); }
}
__attribute__((unused)) static inline void scan_index_u8(const cembra_group *g, int64_t option, char *results)
{
    (void)option;
    for (int64_t i = 0; i < g->count; i++) { int64_t place = place_of(g, i); memcpy(results + 8 * i, &place, 8); }
}

/* The rows that are there without repetition, in order of first appearance. */
__attribute__((unused)) static int32_t distinct_rows(const cembra_array *x, int64_t size, int is_float, cembra_array *to)
{
    cembra_grouping groups = { 0 };
    int32_t status = edge_of_equals(x, size, is_float, 0, &groups);
    *to = (cembra_array){ NULL, { groups.parents }, { 0 }, NULL, 0 };
    if (status == 0) status = new_rows(size, to);
    for (int64_t row = 0, found = 0; row < groups.children && status == 0; row++)
        if (groups.mapping[row] == found) put_row(to, found++, 1, (const char *)x->data + row * x->strides[0], (uint64_t)size);
    free_grouping(&groups);
    return status;
}
