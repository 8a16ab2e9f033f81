#include "core/front/types.h"

#include "core/base/hash.h"
#include "core/front/tree.h"

#include <assert.h>
#include <string.h>

/* Initial number of hash chains, a power of two. A function of 40 lines makes some 30 compound
 * types, most of them literals; a table of constants may make tens of thousands. */
enum { N_BUCKETS = 64 };

void
lw_types_init(lw_types *types, lw_arena *arena)
{
    memset(types, 0, sizeof *types);
    types->arena = arena;
    types->buckets = lw_arena_take(arena, N_BUCKETS * sizeof *types->buckets);
    types->n_buckets = N_BUCKETS;
    types->failed = types->buckets == NULL;
}

static bool
same_names(const char *const *x, const char *const *y, uint32_t n)
{
    if (x == NULL || y == NULL)
        return x == y;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(x[i], y[i]) != 0)
            return false;
    return true;
}

static bool
same_text(const char *x, const char *y)
{
    return x == y || (x != NULL && y != NULL && strcmp(x, y) == 0);
}

static bool
same_record(const lw_record *x, const lw_record *y)
{
    if (x == NULL || y == NULL)
        return x == y;
    if (x->n != y->n || x->itemsize != y->itemsize || x->align != y->align ||
        x->user_class != y->user_class || x->text != y->text)
        return false;
    for (uint32_t i = 0; i < x->n; i++)
        if (strcmp(x->fields[i].name, y->fields[i].name) != 0 ||
            x->fields[i].type != y->fields[i].type ||
            x->fields[i].offset != y->fields[i].offset)
            return false;
    return true;
}

/* A tree that extends another one may describe a class again. */
static bool
same_enum(const lw_enum *x, const lw_enum *y)
{
    return x == y || (x != NULL && y != NULL && x->id == y->id);
}

static bool
same_shape(const lw_type_row *x, const lw_type_row *y)
{
    if (x->ndim != y->ndim || x->layout != y->layout || x->readonly != y->readonly ||
        x->align != y->align || x->owned != y->owned || x->endless != y->endless)
        return false;
    if (x->shape == NULL || y->shape == NULL)
        return x->shape == y->shape;
    return memcmp(x->shape, y->shape, x->ndim * sizeof *x->shape) == 0;
}

static bool
same_row(const lw_type_row *x, const lw_type_row *y)
{
    return x->kind == y->kind && x->n == y->n && x->lo == y->lo && x->hi == y->hi &&
           ((x->text && y->text) || x->fn == y->fn) && same_text(x->text, y->text) &&
           x->user_class == y->user_class && x->is_list == y->is_list &&
           (x->n == 0 || memcmp(x->elements, y->elements, x->n * sizeof *x->elements) == 0) &&
           same_names(x->names, y->names, x->n) && same_shape(x, y) &&
           same_record(x->record, y->record) && same_enum(x->members, y->members);
}

static uint64_t
hash_row(const lw_type_row *row)
{
    uint64_t hash = lw_hash64(&row->lo, sizeof row->lo, row->kind);

    hash = lw_hash64(&row->hi, sizeof row->hi, hash);
    hash = row->text ? lw_hash64(row->text, strlen(row->text), hash)
                     : lw_hash64(&row->fn, sizeof row->fn, hash);
    hash = lw_hash64(&row->ndim, sizeof row->ndim, hash);
    hash = row->record ? lw_hash64(&row->record->itemsize, sizeof(uint32_t), hash) : hash;
    return row->n ? lw_hash64(row->elements, row->n * sizeof *row->elements, hash) : hash;
}

static const lw_record *
own_record(lw_types *types, const lw_record *record)
{
    lw_record *own = lw_arena_take(types->arena, sizeof *own);
    lw_record_field *fields = lw_arena_take(types->arena, (record->n + 1) * sizeof *fields);

    if (own == NULL || fields == NULL)
        return NULL;
    *own = *record;
    own->name = record->name ? lw_arena_strdup(types->arena, record->name) : "record";
    for (uint32_t i = 0; i < record->n; i++) {
        fields[i] = record->fields[i];
        fields[i].name = lw_arena_strdup(types->arena, record->fields[i].name);
    }
    own->fields = fields;
    return types->arena->failed ? NULL : own;
}

static bool
own_shape(lw_types *types, lw_type_row *row)
{
    int64_t *shape = lw_arena_take(types->arena, (row->ndim + 1u) * sizeof *shape);

    if (shape == NULL)
        return false;
    memcpy(shape, row->shape, row->ndim * sizeof *shape);
    row->shape = shape;
    return true;
}

/* Copy what a row points to, for callers pass memory of their own. */
static bool
own(lw_types *types, lw_type_row *row)
{
    if (row->n) {
        lw_type *elements = lw_arena_take(types->arena, row->n * sizeof *elements);

        if (elements == NULL)
            return false;
        memcpy(elements, row->elements, row->n * sizeof *elements);
        row->elements = elements;
    }
    if (row->names) {
        const char **names = lw_arena_take(types->arena, (row->n + 1) * sizeof *names);

        if (names == NULL)
            return false;
        memcpy(names, row->names, row->n * sizeof *names);
        row->names = names;
    }
    if (row->shape && !own_shape(types, row))
        return false;
    if (row->record && (row->record = own_record(types, row->record)) == NULL)
        return false;
    return true;
}

static uint32_t *
bucket_of(const lw_types *types, const lw_type_row *row)
{
    assert((types->n_buckets & (types->n_buckets - 1)) == 0); /* a power of two */
    return &types->buckets[hash_row(row) & (types->n_buckets - 1)];
}

/* Grow to four times as many chains once there are two rows for each. */
static bool
grow(lw_types *types)
{
    uint32_t n = types->n_buckets * 4;
    uint32_t *more = lw_arena_take(types->arena, n * sizeof *more);

    if (more == NULL)
        return false;
    types->buckets = more;
    types->n_buckets = n;
    for (uint32_t i = 0; i < types->rows.n; i++) {
        uint32_t *bucket = bucket_of(types, &types->rows.data[i]);
        types->rows.data[i].next = *bucket;
        *bucket = i + 1;
    }
    return true;
}

static lw_type
intern(lw_types *types, const lw_type_row *row)
{
    assert(row->n == 0 || row->elements != NULL);
    uint32_t *bucket, index;
    lw_type_row *slot;

    if (types->rows.n >= 2 * types->n_buckets)
        types->failed |= !grow(types);
    if (types->failed)
        return LW_T_BOTTOM;
    bucket = bucket_of(types, row);
    for (index = *bucket; index; index = types->rows.data[index - 1].next)
        if (same_row(&types->rows.data[index - 1], row))
            return LW_T_FIRST_COMPOUND + index - 1;
    slot = lw_array_push(&types->rows, types->arena);
    if (slot == NULL) {
        types->failed = true;
        return LW_T_BOTTOM;
    }
    *slot = *row;
    if (!own(types, slot)) {
        types->failed = true;
        types->rows.n--;
        return LW_T_BOTTOM;
    }
    slot->next = *bucket;
    *bucket = types->rows.n;
    return LW_T_FIRST_COMPOUND + types->rows.n - 1;
}

lw_type
lw_type_literal(lw_types *types, __int128 lo, __int128 hi)
{
    assert(lo <= hi);
    lw_type_row row = {.kind = LW_TK_LITERAL, .lo = lo, .hi = hi};
    return intern(types, &row);
}

lw_type
lw_type_numbered(lw_types *types, __int128 lo, __int128 hi, const lw_enum *members)
{
    assert(lo <= hi && members->n_numbers != 0);
    lw_type_row row = {.kind = LW_TK_LITERAL, .lo = lo, .hi = hi, .members = members};
    return intern(types, &row);
}

const lw_enum *
lw_type_numbers(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(types, type, LW_TK_LITERAL);

    return row ? row->members : NULL;
}

lw_type
lw_type_unbounded(lw_types *types, lw_type type)
{
    const lw_enum *members = lw_type_numbers(types, type);

    return members ? lw_type_numbered(types, members->lo, members->hi, members)
                   : (lw_type)LW_T_INDEX;
}

lw_type
lw_type_static(lw_types *types, uint32_t constant, const lw_enum *members)
{
    lw_type_row row = {.kind = LW_TK_STATIC, .fn = constant, .members = members};
    return intern(types, &row);
}

lw_type
lw_type_known_text(lw_types *types, uint32_t constant, const char *text)
{
    assert(text != NULL);
    lw_type_row row = {.kind = LW_TK_STATIC, .fn = constant, .text = text};
    return intern(types, &row);
}

bool
lw_type_is_text(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get(types, type);

    return row != NULL && (row->kind == LW_TK_TEXT || row->text != NULL);
}

const lw_type *
lw_type_choices(const lw_types *types, const lw_type *type, uint32_t *n)
{
    const lw_type_row *row = lw_type_get(types, *type);

    assert(lw_type_is_text(types, *type));
    *n = row->kind == LW_TK_TEXT ? row->n : 1;
    return row->kind == LW_TK_TEXT ? row->elements : type;
}

lw_type
lw_type_any_text(lw_types *types)
{
    lw_type_row row = {.kind = LW_TK_TEXT};

    return intern(types, &row);
}

bool
lw_type_is_any_text(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(types, type, LW_TK_TEXT);

    return row != NULL && row->n == 0;
}

lw_type
lw_type_texts(lw_types *types, lw_type x, lw_type y)
{
    uint32_t n_x, n_y, n = 0, i = 0, j = 0;
    const lw_type *xs = lw_type_choices(types, &x, &n_x),
                  *ys = lw_type_choices(types, &y, &n_y);
    lw_type *all = lw_arena_take(types->arena, (n_x + n_y) * sizeof *all);
    lw_type_row row = {.kind = LW_TK_TEXT, .elements = all};

    if (n_x == 0 || n_y == 0)
        return lw_type_any_text(types);
    if (all == NULL) {
        types->failed = true;
        return LW_T_BOTTOM;
    }
    while (i < n_x || j < n_y) {
        bool takes_x = i < n_x && (j == n_y || xs[i] <= ys[j]);
        j += j < n_y && (!takes_x || xs[i] == ys[j]);
        all[n++] = takes_x ? xs[i++] : ys[j - 1];
    }
    row.n = n;
    return intern(types, &row);
}

lw_type
lw_type_member(lw_types *types, const lw_enum *members)
{
    assert(members->n != 0);
    lw_type_row row = {.kind = LW_TK_MEMBER, .members = members};
    return intern(types, &row);
}

const lw_enum *
lw_type_enum(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get(types, type);

    return row && row->kind != LW_TK_LITERAL ? row->members : NULL;
}

lw_type
lw_type_tuple(lw_types *types, const lw_type *elements, uint32_t n, const char *const *names)
{
    lw_type_row row = {.kind = LW_TK_TUPLE, .n = n, .elements = elements, .names = names};
    return intern(types, &row);
}

lw_type
lw_type_tuple_of_class(lw_types *types, lw_type tuple, const struct lw_class *user_class)
{
    const lw_type_row *old = lw_type_get_kind(types, tuple, LW_TK_TUPLE);
    lw_type_row row;

    if (old == NULL || old->user_class == user_class)
        return tuple;
    row = *old;
    row.user_class = user_class;
    return intern(types, &row);
}

lw_type
lw_type_tuple_listed(lw_types *types, lw_type tuple, bool is_list)
{
    lw_type_row row;

    if (!is_list || lw_type_kind_of(types, tuple) != LW_TK_TUPLE)
        return tuple;
    row = *lw_type_get(types, tuple);
    row.is_list = true;
    return intern(types, &row);
}

lw_type
lw_type_optional(lw_types *types, lw_type type)
{
    assert(lw_type_kind_of(types, type) != LW_TK_OPTIONAL && type != LW_T_NONE);
    const lw_type elements[] = {LW_DT_b1, type};
    lw_type_row row = {.kind = LW_TK_OPTIONAL, .n = 2, .elements = elements};

    return intern(types, &row);
}

lw_type
lw_type_given(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(types, type, LW_TK_OPTIONAL);

    return row ? row->elements[1] : (lw_type)LW_T_BOTTOM;
}

lw_type
lw_type_without_none(const lw_types *types, lw_type type)
{
    lw_type given = lw_type_given(types, type);

    return given != LW_T_BOTTOM ? given : type;
}

bool
lw_type_is_slice(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(types, type, LW_TK_TUPLE);

    return row && row->user_class && row->user_class->is_slice;
}

bool
lw_type_is_grown(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(types, type, LW_TK_TUPLE);

    return row && row->user_class && row->user_class->grown;
}

bool
lw_type_has_list(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(types, type, LW_TK_TUPLE);
    bool has = row && row->is_list;

    for (uint32_t i = 0; row && !has && i < row->n; i++)
        has = lw_type_has_list(types, row->elements[i]);
    return has;
}

lw_type
lw_type_fields(lw_types *types, const lw_type *elements, uint32_t n, const char *const *names)
{
    assert(n == 0 || names != NULL); /* fields are read by name */
    lw_type_row row = {
        .kind = LW_TK_TUPLE, .n = n, .elements = elements, .names = names, .readonly = true};
    return intern(types, &row);
}

lw_type
lw_type_function(lw_types *types, uint32_t fn, const lw_type *captured, uint32_t n)
{
    lw_type_row row = {.kind = LW_TK_FUNCTION, .n = n, .elements = captured, .fn = fn};
    return intern(types, &row);
}

lw_type
lw_type_range(lw_types *types, lw_type item)
{
    lw_type_row row = {.kind = LW_TK_RANGE, .n = 1, .elements = &item};
    return intern(types, &row);
}

lw_type
lw_type_array(lw_types *types, lw_type element, uint32_t ndim, lw_layout layout, bool readonly,
              const int64_t *shape)
{
    assert(ndim <= LW_MAX_ARRAY_DIMS);
    lw_type_row row = {.kind = LW_TK_ARRAY,
                       .n = 1,
                       .elements = &element,
                       .ndim = (uint8_t)ndim,
                       .layout = (uint8_t)(ndim == 0 ? LW_LAYOUT_C : layout),
                       .readonly = readonly,
                       .shape = shape};

    if (ndim == 1 && layout == LW_LAYOUT_F)
        row.layout = LW_LAYOUT_C;
    return intern(types, &row);
}

lw_type
lw_type_elementwise(lw_types *types, lw_dtype element, uint32_t ndim)
{
    assert(ndim <= LW_MAX_ARRAY_DIMS);
    lw_type type = element;
    lw_type_row row = {
        .kind = LW_TK_ELEMENTWISE, .n = 1, .elements = &type, .ndim = (uint8_t)ndim};

    return intern(types, &row);
}

lw_type
lw_type_array_aligned(lw_types *types, lw_type array, uint32_t align)
{
    lw_type_row row;

    if (lw_type_kind_of(types, array) != LW_TK_ARRAY)
        return LW_T_BOTTOM;
    row = *lw_type_get(types, array);
    row.align = (uint8_t)(align < lw_type_align(types, row.elements[0]) ? align : 0);
    return intern(types, &row);
}

lw_type
lw_type_array_like(lw_types *types, lw_type array, uint32_t ndim, lw_layout layout,
                   const int64_t *shape)
{
    lw_type_row row = *lw_type_get(types, array);

    assert(row.kind == LW_TK_ARRAY && ndim <= LW_MAX_ARRAY_DIMS);
    row.ndim = (uint8_t)ndim;
    row.layout =
        (uint8_t)(ndim == 0 || (ndim == 1 && layout == LW_LAYOUT_F) ? LW_LAYOUT_C : layout);
    row.shape = shape;
    row.endless = false;
    return intern(types, &row);
}

lw_type
lw_type_array_of(lw_types *types, lw_type array, lw_type element)
{
    const lw_type_row row = *lw_type_get(types, array);
    lw_type of =
        lw_type_array(types, element, row.ndim, (lw_layout)row.layout, row.readonly, row.shape);

    return lw_type_array_owned(types, of, row.owned);
}

lw_type
lw_type_array_readonly(lw_types *types, lw_type array)
{
    lw_type_row row = *lw_type_get(types, array);

    assert(row.kind == LW_TK_ARRAY);
    row.readonly = true;
    return intern(types, &row);
}

lw_type
lw_type_array_endless(lw_types *types, lw_type array)
{
    lw_type_row row;

    if (lw_type_kind_of(types, array) != LW_TK_ARRAY)
        return LW_T_BOTTOM;
    row = *lw_type_get(types, array);
    assert(row.ndim == 1 && row.shape == NULL && !row.owned);
    row.endless = true;
    return intern(types, &row);
}

lw_type
lw_type_array_owned(lw_types *types, lw_type array, bool owned)
{
    lw_type_row row;

    if (lw_type_kind_of(types, array) != LW_TK_ARRAY)
        return LW_T_BOTTOM;
    row = *lw_type_get(types, array);
    assert(!owned || row.shape == NULL); /* its parts end in the reference */
    row.owned = owned;
    return intern(types, &row);
}

lw_type
lw_type_in_slots(lw_types *types, lw_type like)
{
    lw_type_row row;
    lw_type *elements;

    if (lw_type_kind_of(types, like) != LW_TK_TUPLE)
        return lw_type_array_owned(types, like, true);
    row = *lw_type_get(types, like);
    elements = lw_arena_take(types->arena, (row.n + 1) * sizeof *elements);
    for (uint32_t i = 0; elements && i < row.n; i++)
        elements[i] = strcmp(row.names[i], "words") == 0
                          ? lw_type_array_owned(types, row.elements[i], true)
                          : row.elements[i];
    row.elements = elements;
    types->failed |= elements == NULL;
    return elements ? intern(types, &row) : (lw_type)LW_T_BOTTOM;
}

bool
lw_type_is_owned(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get(types, type);

    if (row == NULL || row->kind == LW_TK_ARRAY || row->kind == LW_TK_RECORD)
        return row != NULL && row->owned;
    if (row->kind != LW_TK_TUPLE && row->kind != LW_TK_FUNCTION && row->kind != LW_TK_OPTIONAL)
        return false;
    for (uint32_t i = 0; i < row->n; i++)
        if (lw_type_is_owned(types, row->elements[i]))
            return true;
    return false;
}

lw_type
lw_type_record(lw_types *types, const lw_record *record, bool readonly)
{
    assert(record != NULL);
    lw_type_row row = {.kind = LW_TK_RECORD, .record = record, .readonly = readonly};
    return intern(types, &row);
}

lw_type
lw_type_record_like(lw_types *types, lw_type record, bool readonly, bool owned)
{
    lw_type_row row = *lw_type_get(types, record);

    assert(row.kind == LW_TK_RECORD);
    row.readonly = readonly;
    row.owned = owned;
    return intern(types, &row);
}

int64_t
lw_type_bytes(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get(types, type);
    int64_t bytes;

    if (row == NULL)
        return lw_dtypes[lw_type_stored(types, type)].size_bytes;
    if (row->kind == LW_TK_RECORD)
        return row->record->itemsize;
    if (row->kind != LW_TK_ARRAY || row->shape == NULL)
        return 0;
    bytes = lw_type_bytes(types, row->elements[0]);
    for (uint32_t i = 0; i < row->ndim; i++)
        bytes *= row->shape[i];
    return bytes;
}

uint32_t
lw_type_align(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get(types, type);

    if (row && row->kind == LW_TK_RECORD)
        return row->record->align;
    if (row && row->kind == LW_TK_ARRAY)
        return row->align ? row->align : lw_type_align(types, row->elements[0]);
    return lw_dtypes[lw_dtypes[lw_type_stored(types, type)].parts].size_bytes;
}

lw_type_kind
lw_type_kind_of(const lw_types *types, lw_type type)
{
    const lw_type_row *row;

    if ((type > LW_T_BOTTOM && type < LW_DT_ptr) || lw_type_is_time(type))
        return LW_TK_SCALAR;
    switch (type) {
    case LW_T_INDEX:
    case LW_T_PYFLOAT:
    case LW_T_PYCOMPLEX: return LW_TK_WEAK;
    case LW_T_NONE: return LW_TK_NONE;
    case LW_T_STATIC:
    case LW_T_ABSENT: return LW_TK_STATIC;
    default: row = lw_type_get(types, type); return row ? row->kind : LW_TK_BOTTOM;
    }
}

const lw_type_row *
lw_type_get(const lw_types *types, lw_type type)
{
    if (type < LW_T_FIRST_COMPOUND || type - LW_T_FIRST_COMPOUND >= types->rows.n)
        return NULL;
    return &types->rows.data[type - LW_T_FIRST_COMPOUND];
}

uint32_t
lw_type_field(const lw_type_row *tuple, const char *name)
{
    const lw_struct *of = tuple->user_class ? tuple->user_class->structure : NULL;

    for (uint32_t i = 0; of != NULL && i < of->n_visible; i++)
        if (strcmp(of->visible[i], name) == 0)
            return of->members[i];
    for (uint32_t i = 0; of == NULL && tuple->names && i < tuple->n; i++)
        if (strcmp(tuple->names[i], name) == 0)
            return i;
    return tuple->n;
}

const lw_type_row *
lw_type_get_kind(const lw_types *types, lw_type type, lw_type_kind kind)
{
    const lw_type_row *row = lw_type_get(types, type);

    return row && row->kind == kind ? row : NULL;
}

lw_dtype
lw_type_stored(const lw_types *types, lw_type type)
{
    switch (lw_type_kind_of(types, type)) {
    case LW_TK_SCALAR: return (lw_dtype)type;
    case LW_TK_LITERAL:
        return lw_literal_fits(types, type, LW_DT_i64)   ? LW_DT_i64
               : lw_literal_fits(types, type, LW_DT_u64) ? LW_DT_u64
                                                         : LW_DT_f64;
    case LW_TK_WEAK:
        return type == LW_T_INDEX ? LW_DT_i64 : type == LW_T_PYFLOAT ? LW_DT_f64 : LW_DT_c128;
    case LW_TK_MEMBER: return LW_DT_i64;
    case LW_TK_TEXT: return LW_DT_u64;
    default: return LW_DT_void;
    }
}

/* Digits of a 128-bit number, for which printf has no format. */
void
lw_text_add_int128(lw_text *out, __int128 value)
{
    char digits[48], *p = digits + sizeof digits;
    unsigned __int128 rest = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;

    *--p = '\0';
    do {
        *--p = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest);
    if (value < 0)
        *--p = '-';
    lw_text_add(out, p);
}

static void
print_elements(const lw_types *types, const lw_type_row *row, lw_text *out)
{
    for (uint32_t i = 0; i < row->n; i++) {
        if (i)
            lw_text_add(out, ", ");
        if (row->names)
            lw_text_addf(out, "%s: ", row->names[i]);
        lw_type_print(types, row->elements[i], out);
    }
}

/* "float32[:, ::1]", with constant extents "float32[16, 16]". */
static void
print_array(const lw_types *types, const lw_type_row *row, lw_text *out)
{
    lw_type_print(types, row->elements[0], out);
    lw_text_add(out, "[");
    for (uint32_t i = 0; i < row->ndim; i++) {
        bool dense = (row->layout == LW_LAYOUT_C && i + 1 == row->ndim) ||
                     (row->layout == LW_LAYOUT_F && i == 0);

        lw_text_add(out, i ? ", " : "");
        if (row->shape)
            lw_text_addf(out, "%lld", (long long)row->shape[i]);
        else
            lw_text_add(out, dense ? "::1" : ":");
    }
    lw_text_add(out, "]");
}

/* string "low" or "high"; of many the first ones. */
static void
print_texts(const lw_types *types, const lw_type_row *row, lw_text *out)
{
    enum { MOST = 4 };

    if (row->n == 0)
        lw_text_add(out, "str");
    for (uint32_t i = 0; i < row->n && i < MOST; i++)
        lw_text_addf(out, "%s\"%s\"", i == 0 ? "string " : " or ",
                     lw_type_get(types, row->elements[i])->text);
    if (row->n > MOST)
        lw_text_addf(out, " or %u more", row->n - MOST);
}

static void
print_int(__int128 value, lw_text *out)
{
    if (value == LW_LITERAL_FAR || value == -LW_LITERAL_FAR)
        lw_text_add(out, value < 0 ? "below -2**125" : "above 2**125");
    else
        lw_text_add_int128(out, value);
}

/* What a list or dict says of its items: arrays, tuples of them, or the object of a list of
 * arrays, whose field `like` is such an array, or of a list of strings. */
static void
print_like(const lw_types *types, lw_type like, lw_text *out)
{
    const lw_type_row *row = lw_type_get(types, like);

    if (row == NULL) {
        lw_text_add(out, "?");
    } else if (row->kind == LW_TK_ARRAY) {
        lw_type_print(types, row->elements[0], out);
    } else if (row->user_class != NULL && (row->user_class->items == LW_ITEMS_ARRAYS ||
                                           row->user_class->items == LW_ITEMS_ARRAY_KIND)) {
        lw_type_print(types, row->elements[row->n - 1], out);
    } else if (row->user_class != NULL && row->user_class->items == LW_ITEMS_TEXTS) {
        lw_text_add(out, "str");
    } else if (row->user_class != NULL && row->user_class->is_typed) {
        lw_type_print(types, like, out);
    } else {
        for (uint32_t i = 0; i < row->n; i++) {
            lw_text_add(out, i ? ", " : "(");
            print_like(types, row->elements[i], out);
        }
        lw_text_add(out, row->n == 1 ? ",)" : ")");
    }
}

/* Whether the field of a list or dict says what its items are. In typed ones, these fields
 * follow `words`. */
static bool
tells_items(const lw_type_row *row, uint32_t i)
{
    const char *name = row->names ? row->names[i] : "";
    size_t n = strlen(name);

    if (row->user_class->is_typed)
        return i > 0;
    return n >= strlen("items") && strcmp(name + n - strlen("items"), "items") == 0 &&
           !(row->user_class->grown == LW_GROWN_SET && row->elements[i] == LW_T_NONE);
}

/* List[float64], dict[int64, float64] */
static void
print_container(const lw_types *types, const lw_type_row *row, lw_text *out)
{
    bool is_first = true;

    lw_text_addf(out, "%s[", row->user_class->name);
    for (uint32_t i = 0; i < row->n; i++) {
        if (!tells_items(row, i))
            continue;
        lw_text_add(out, is_first ? "" : ", ");
        print_like(types, row->elements[i], out);
        is_first = false;
    }
    lw_text_add(out, "]");
}

static bool
is_container(const lw_type_row *row)
{
    return row->user_class && row->user_class->grown && row->n > 1 &&
           row->user_class->grown != LW_GROWN_VIEW;
}

static void
print_compound(const lw_types *types, const lw_type_row *row, lw_text *out)
{
    switch (row->kind) {
    case LW_TK_LITERAL:
        if (row->members != NULL) {
            lw_text_add(out, row->members->name);
            break;
        }
        lw_text_add(out, "int ");
        print_int(row->lo, out);
        if (row->hi != row->lo) {
            lw_text_add(out, " to ");
            print_int(row->hi, out);
        }
        break;
    case LW_TK_TUPLE:
        if (is_container(row)) {
            print_container(types, row, out);
            break;
        }
        lw_text_addf(out, "%s(",
                     row->user_class ? row->user_class->name
                     : row->readonly ? "record"
                     : row->is_list  ? "list"
                                     : "tuple");
        print_elements(types, row, out);
        lw_text_add(out, ")");
        break;
    case LW_TK_OPTIONAL:
        lw_type_print(types, row->elements[1], out);
        lw_text_add(out, " or None");
        break;
    case LW_TK_STATIC:
        lw_text_add(out, row->text ? "str" : row->members ? row->members->name : "constant");
        break;
    case LW_TK_TEXT: print_texts(types, row, out); break;
    case LW_TK_MEMBER: lw_text_add(out, row->members->name); break;
    case LW_TK_FUNCTION: lw_text_add(out, "function"); break;
    case LW_TK_RANGE: lw_text_add(out, "range"); break;
    case LW_TK_ARRAY: print_array(types, row, out); break;
    case LW_TK_ELEMENTWISE:
        lw_text_addf(out, "a new array of %s, %u axes", lw_dtypes[row->elements[0]].public_name,
                     row->ndim);
        break;
    case LW_TK_RECORD: lw_text_add(out, row->record->name); break;
    default: lw_text_add(out, "?");
    }
}

void
lw_type_print(const lw_types *types, lw_type type, lw_text *out)
{
    const lw_type_row *row = lw_type_get(types, type);

    if (row) {
        print_compound(types, row, out);
        return;
    }
    switch (type) {
    case LW_T_BOTTOM: lw_text_add(out, "unknown"); break;
    case LW_T_INDEX: lw_text_add(out, "int (weak)"); break;
    case LW_T_PYFLOAT: lw_text_add(out, "float (weak)"); break;
    case LW_T_PYCOMPLEX: lw_text_add(out, "complex (weak)"); break;
    case LW_T_NONE: lw_text_add(out, "None"); break;
    case LW_T_STATIC: lw_text_add(out, "constant"); break;
    case LW_T_ABSENT: lw_text_add(out, "on some paths only"); break;
    default: lw_text_add(out, type < LW_N_SCALARS ? lw_dtypes[type].public_name : "?");
    }
}
