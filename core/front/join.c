/* One type for a variable, ternary or result that receives values of several types. The join is
 * a function of the whole set: joining pairwise would make the answer depend on the order of
 * statements (int16, uint16, float32 give float64 in one order and float32 in another). */
#include "core/front/records.h"
#include "core/front/tree.h"

#include <assert.h>
#include <string.h>

typedef struct numbers {
    lw_dtype integer, real; /* joins of the strong ones; void: none */
    bool has_bool, has_signed, has_unsigned64, has_literal, has_index, has_pyfloat,
        has_pycomplex;
    __int128 lo, hi;        /* bounds of the literals … */
    const lw_enum *members; /* … and the class of which all of them are members, or NULL */
} numbers;

static lw_dtype
merge(lw_dtype x, lw_dtype y)
{
    return x == LW_DT_void ? y : lw_promote_dtypes(x, y);
}

static void
add_strong(numbers *set, lw_dtype dtype)
{
    switch (lw_dtypes[dtype].kind) {
    case LW_KIND_BOOL: set->has_bool = true; break;
    case LW_KIND_INT:
    case LW_KIND_UINT:
        set->has_signed |= lw_dtypes[dtype].kind == LW_KIND_INT;
        set->has_unsigned64 |= dtype == LW_DT_u64;
        set->integer = merge(set->integer, dtype);
        break;
    default: set->real = merge(set->real, dtype);
    }
}

static void
add_number(const lw_types *types, numbers *set, lw_type type)
{
    const lw_type_row *row = lw_type_get(types, type);

    assert(row == NULL || row->kind == LW_TK_LITERAL);
    if (row) {
        set->lo = !set->has_literal || row->lo < set->lo ? row->lo : set->lo;
        set->hi = !set->has_literal || row->hi > set->hi ? row->hi : set->hi;
        set->members = !set->has_literal || set->members == row->members ? row->members : NULL;
        set->has_literal = true;
    } else if (type == LW_T_INDEX) {
        set->has_index = true;
    } else if (type == LW_T_PYFLOAT) {
        set->has_pyfloat = true;
    } else if (type == LW_T_PYCOMPLEX) {
        set->has_pycomplex = true;
    } else {
        add_strong(set, (lw_dtype)type);
    }
}

/* Weak and strong integers, no floats. */
static lw_type
join_integers(lw_types *types, lw_typing typing, numbers *set, const char **problem)
{
    lw_type literal = LW_T_BOTTOM;

    if (set->has_literal && set->members && !set->has_bool && !set->has_index &&
        set->integer == LW_DT_void)
        return lw_type_numbered(types, set->members->lo, set->members->hi, set->members);
    if (set->has_literal) {
        if (set->has_bool) {
            set->lo = set->lo > 0 ? 0 : set->lo;
            set->hi = set->hi < 1 ? 1 : set->hi;
        }
        literal = lw_type_literal(types, set->lo, set->hi);
    }
    if (set->has_literal && !lw_literal_fits(types, literal, LW_DT_i64)) {
        if (lw_literal_is_wide(types, literal)) {
            *problem =
                set->lo >= INT64_MIN && set->hi <= (__int128)UINT64_MAX ? "E143" : "E130";
            return LW_T_BOTTOM;
        }
        /* integers from 2^63 on fit only uint64 */
        if (set->has_signed || set->has_index) {
            *problem = "E143";
            return LW_T_BOTTOM;
        }
        return set->integer == LW_DT_void ? literal : (lw_type)LW_DT_u64;
    }
    if (set->integer == LW_DT_void)
        return set->has_index ? LW_T_INDEX : set->has_literal ? literal : LW_DT_b1;
    if (set->has_literal && !lw_literal_fits(types, literal, set->integer))
        set->has_index = true;
    if (typing == LW_TYPING_WEAK && set->has_unsigned64 &&
        (set->has_signed || set->has_index)) {
        *problem = "E143";
        return LW_T_BOTTOM;
    }
    return set->has_index ? lw_promote_dtypes(set->integer, LW_DT_i64) : set->integer;
}

static lw_type
join_numbers(lw_types *types, lw_typing typing, numbers *set, const char **problem)
{
    bool weak = set->has_pyfloat || set->has_pycomplex;

    if (set->real == LW_DT_void && !weak)
        return join_integers(types, typing, set, problem);
    if (set->real == LW_DT_void && set->integer == LW_DT_void)
        return set->has_pycomplex ? LW_T_PYCOMPLEX : LW_T_PYFLOAT;
    if (set->integer != LW_DT_void)
        set->real = merge(set->real, set->integer);
    if (weak && lw_is_integer(set->real))
        set->real = LW_DT_f64; /* an integer beside a Python float */
    if (set->has_pycomplex && !lw_is_complex(set->real))
        return lw_dtypes[set->real].bits > 32 ? LW_DT_c128 : LW_DT_c64;
    return set->real;
}

static bool
same_names(const lw_type_row *x, const lw_type_row *y)
{
    if (x->names == NULL || y->names == NULL || x->n != y->n || x->readonly != y->readonly)
        return x->names == y->names;
    for (uint32_t i = 0; i < x->n; i++)
        if (strcmp(x->names[i], y->names[i]) != 0)
            return false;
    return true;
}

/* Objects of different classes have no common type; a namedtuple with methods is a tuple
 * beside others. */
static bool
classes_join(const lw_class *x, const lw_class *y)
{
    return x == y || ((x == NULL || (x->is_tuple && !x->has_special)) &&
                      (y == NULL || (y->is_tuple && !y->has_special)));
}

/* Whether these are objects of one class that have different fields. */
static bool
differ_in_fields(const lw_types *types, const lw_type *set, uint32_t n)
{
    const lw_type_row *first = lw_type_get(types, set[0]);
    bool differ = false;

    if (first->kind != LW_TK_TUPLE || !first->user_class || first->user_class->is_namedtuple)
        return false;
    for (uint32_t i = 1; i < n; i++) {
        const lw_type_row *row = lw_type_get(types, set[i]);
        if (row->user_class != first->user_class)
            return false;
        differ |= !same_names(row, first);
    }
    return differ;
}

static lw_type
type_of_member(lw_types *types, const lw_constant *k)
{
    const lw_enum *of = lw_constant_enum(k);

    return of && of->n ? lw_type_member(types, of) : (lw_type)LW_T_ABSENT;
}

/* The type of a number or a member in the class, which objects have that lack a field of this
 * name. */
static lw_type
type_in_class(lw_types *types, const lw_class *class, const char *name)
{
    const lw_constant *k = lw_class_constant(types->tree, class, name);

    switch (k ? k->kind : LW_K_NONE) {
    case LW_K_BOOL: return LW_DT_b1;
    case LW_K_INT: return lw_type_literal(types, k->i, k->i);
    case LW_K_FLOAT: return LW_T_PYFLOAT;
    case LW_K_COMPLEX: return LW_T_PYCOMPLEX;
    case LW_K_SCALAR: return (lw_type)k->dtype;
    case LW_K_OBJECT: return type_of_member(types, k);
    default: return LW_T_ABSENT;
    }
}

static lw_type
field_type(lw_types *types, lw_type object, const char *name)
{
    const lw_type_row *row = lw_type_get(types, object);

    for (uint32_t i = 0; i < row->n; i++)
        if (strcmp(row->names[i], name) == 0)
            return row->elements[i];
    return type_in_class(types, row->user_class, name);
}

static lw_type join_elements(lw_types *types, lw_typing typing, const lw_type *set, uint32_t n,
                             bool with_none, const char **problem);

/* The fields that some of them have, in order. */
static const char **
all_names(lw_types *types, const lw_type *set, uint32_t n, uint32_t *n_names)
{
    const lw_class *class = lw_type_get(types, set[0])->user_class;
    uint32_t most = 1;
    const char **names;

    *n_names = 0;
    for (uint32_t i = 0; i < n; i++)
        most += lw_type_get(types, set[i])->n;
    names = lw_arena_take(types->arena, most * sizeof *names);
    for (uint32_t i = 0; names && i < n; i++) {
        const lw_type_row *row = lw_type_get(types, set[i]);
        for (uint32_t k = 0; k < row->n; k++) {
            uint32_t at = 0;
            while (at < *n_names && lw_class_orders(class, names[at], row->names[k]))
                at++;
            if (at < *n_names && strcmp(names[at], row->names[k]) == 0)
                continue;
            memmove(&names[at + 1], &names[at], (*n_names - at) * sizeof *names);
            names[at] = row->names[k];
            ++*n_names;
        }
    }
    return names;
}

static lw_type
join_fields(lw_types *types, lw_typing typing, const lw_type *set, uint32_t n,
            const char **problem)
{
    uint32_t n_names;
    const char **names = all_names(types, set, n, &n_names);
    lw_type *objects = lw_arena_take(types->arena, n * sizeof *objects);
    lw_type *elements = lw_arena_take(types->arena, (n_names + 1) * sizeof *elements);
    const lw_class *class = lw_type_get(types, set[0])->user_class;

    if (objects == NULL || elements == NULL || names == NULL)
        return LW_T_BOTTOM;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < n_names; k++)
            elements[k] = field_type(types, set[i], names[k]);
        objects[i] = lw_type_tuple_of_class(
            types, lw_type_tuple(types, elements, n_names, names), class);
    }
    return join_elements(types, typing, objects, n, false, problem);
}

/* Whether some are records and some are not. */
static bool
mixes_records(const lw_types *types, const lw_type *set, uint32_t n)
{
    uint32_t n_records = 0;

    for (uint32_t i = 0; i < n; i++)
        n_records += lw_type_kind_of(types, set[i]) == LW_TK_RECORD;
    return n_records != 0 && n_records != n;
}

/* Whether items of these tuples may be None on some paths. Fields of objects may not: they are
 * assigned one by one. */
static bool
may_hold_none(const lw_type_row *tuple)
{
    const lw_class *class = tuple->user_class;

    return tuple->kind == LW_TK_TUPLE && !tuple->readonly &&
           (class == NULL || class->is_namedtuple || class->is_slice);
}

/* A field of lists: where one without items, which has no array yet, meets one with items, None
 * becomes an array without elements (lw_value_convert). */
static lw_type
join_of_list(lw_types *types, lw_typing typing, const lw_type *set, uint32_t n,
             const char **problem)
{
    lw_type *given = lw_arena_take(types->arena, (n + 1) * sizeof *given);
    uint32_t n_given = 0;

    if (given == NULL)
        return LW_T_BOTTOM;
    for (uint32_t i = 0; i < n; i++)
        if (set[i] != LW_T_NONE)
            given[n_given++] = set[i];
    return n_given ? lw_join(types, typing, given, n_given, problem) : (lw_type)LW_T_NONE;
}

/* Joins tuples element by element; the sets are built in scratch memory of the arena.
 * with_none: None may stand beside other items. */
static lw_type
join_elements(lw_types *types, lw_typing typing, const lw_type *set, uint32_t n, bool with_none,
              const char **problem)
{
    assert(n > 0 && (lw_type_kind_of(types, set[0]) == LW_TK_TUPLE ||
                     lw_type_kind_of(types, set[0]) == LW_TK_FUNCTION));
    const lw_type_row first = *lw_type_get(types, set[0]);
    const char *const *names = first.names;
    const lw_class *user_class = first.user_class;
    lw_type *elements = lw_arena_take(types->arena, (first.n + 1) * sizeof *elements);
    lw_type *column = lw_arena_take(types->arena, n * sizeof *column), joined;

    if (elements == NULL || column == NULL)
        return LW_T_BOTTOM;
    if (differ_in_fields(types, set, n))
        return join_fields(types, typing, set, n, problem);
    for (uint32_t i = 0; i < n; i++) {
        const lw_type_row *row = lw_type_get(types, set[i]);
        if (row->n != first.n || row->fn != first.fn || row->is_list != first.is_list ||
            !classes_join(row->user_class, first.user_class)) {
            *problem = "E140";
            return LW_T_BOTTOM;
        }
        if (!same_names(row, &first))
            names = NULL;
        if (row->user_class != first.user_class)
            user_class = NULL;
    }
    for (uint32_t j = 0; j < first.n; j++) {
        for (uint32_t i = 0; i < n; i++)
            column[i] = lw_type_get(types, set[i])->elements[j];
        if (mixes_records(types, column, n))
            *problem = "E140"; /* whose copies nobody could follow */
        else if (user_class && user_class->grown)
            elements[j] = join_of_list(types, typing, column, n, problem);
        else
            elements[j] = with_none && may_hold_none(&first)
                              ? lw_join_optional(types, typing, column, n, problem)
                              : lw_join(types, typing, column, n, problem);
        if (*problem)
            return LW_T_BOTTOM;
    }
    if (first.kind == LW_TK_FUNCTION)
        return lw_type_function(types, first.fn, elements, first.n);
    if (names && first.readonly)
        return lw_type_fields(types, elements, first.n, names);
    joined = lw_type_tuple(types, elements, first.n, names);
    joined = lw_type_tuple_of_class(types, joined, names ? user_class : NULL);
    return lw_type_tuple_listed(types, joined, first.is_list);
}

/* Joins arrays of one element type and number of axes: the result promises what all of them
 * promise. */
static lw_type
join_arrays(lw_types *types, const lw_type *set, uint32_t n, const char **problem)
{
    lw_type_row all = *lw_type_get(types, set[0]);
    uint32_t align = all.align;
    lw_type joined;

    for (uint32_t i = 1; i < n; i++) {
        const lw_type_row *row = lw_type_get(types, set[i]);

        if (row->elements[0] != all.elements[0] || row->ndim != all.ndim) {
            *problem = "E140";
            return LW_T_BOTTOM;
        }
        if (row->layout != all.layout)
            all.layout = LW_LAYOUT_ANY;
        if (row->shape == NULL || all.shape == NULL ||
            memcmp(row->shape, all.shape, all.ndim * sizeof *all.shape) != 0)
            all.shape = NULL;
        all.readonly |= row->readonly;
        all.owned |= row->owned;
        all.endless &= row->endless;
        if (row->align && (align == 0 || row->align < align))
            align = row->align;
    }
    joined = lw_type_array(types, all.elements[0], all.ndim, (lw_layout)all.layout,
                           all.readonly, all.owned ? NULL : all.shape);
    joined = lw_type_array_owned(types, joined, all.owned);
    if (all.endless)
        joined = lw_type_array_endless(types, joined);
    return lw_type_array_aligned(types, joined, align);
}

/* Joins records of one dtype: the result promises what holds for all their addresses, and is
 * read-only if one of them is. */
static lw_type
join_records(lw_types *types, const lw_type *set, uint32_t n, const char **problem)
{
    lw_type least = set[0];
    bool readonly = false, owned = false;

    for (uint32_t i = 0; i < n; i++) {
        if (!lw_record_same(types, set[0], set[i]) ||
            lw_type_get(types, set[0])->record->user_class !=
                lw_type_get(types, set[i])->record->user_class) {
            *problem = "E140";
            return LW_T_BOTTOM;
        }
        if (lw_type_align(types, set[i]) < lw_type_align(types, least))
            least = set[i];
        readonly |= lw_type_get(types, set[i])->readonly;
        owned |= lw_type_get(types, set[i])->owned;
    }
    return lw_type_record_like(types, least, readonly, owned);
}

static lw_type_kind
class_of(const lw_types *types, lw_type type)
{
    lw_type_kind kind = lw_type_kind_of(types, type);

    if (kind == LW_TK_STATIC && lw_type_enum(types, type) != NULL)
        return LW_TK_MEMBER;
    if (kind == LW_TK_STATIC && lw_type_is_text(types, type))
        return LW_TK_TEXT;
    return kind == LW_TK_WEAK || kind == LW_TK_LITERAL ? LW_TK_SCALAR : kind;
}

/* One kind, in the unit that all of them have in common. */
static lw_type
join_times(const lw_type *set, uint32_t n, const char **problem)
{
    lw_type joined = set[0];

    for (uint32_t i = 1; i < n && joined != LW_T_BOTTOM; i++)
        joined = lw_type_is_time(joined) && lw_type_is_time(set[i])
                     ? lw_promote_dtypes((lw_dtype)joined, (lw_dtype)set[i])
                     : LW_T_BOTTOM;
    if (joined == LW_T_BOTTOM)
        *problem = "E140";
    return joined;
}

/* Members of one class, known or not. */
static lw_type
join_members(lw_types *types, const lw_type *set, uint32_t n, const char **problem)
{
    const lw_enum *first = lw_type_enum(types, set[0]);

    for (uint32_t i = 1; i < n; i++)
        if (lw_type_enum(types, set[i])->id != first->id) {
            *problem = "E140";
            return LW_T_BOTTOM;
        }
    return lw_type_member(types, first);
}

/* Strings, known or not. */
static lw_type
join_texts(lw_types *types, const lw_type *set, uint32_t n)
{
    lw_type joined = set[0];

    for (uint32_t i = 1; i < n && joined != LW_T_BOTTOM; i++)
        joined = lw_type_texts(types, joined, set[i]);
    return joined;
}

static bool
has_time(const lw_type *set, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (lw_type_is_time(set[i]))
            return true;
    return false;
}

static lw_type
join_same_class(lw_types *types, lw_typing typing, lw_type_kind class, const lw_type *set,
                uint32_t n, bool with_none, const char **problem)
{
    numbers all = {.integer = LW_DT_void, .real = LW_DT_void};

    switch (class) {
    case LW_TK_SCALAR:
        if (has_time(set, n))
            return join_times(set, n, problem);
        for (uint32_t i = 0; i < n; i++)
            if (set[i] != LW_T_BOTTOM)
                add_number(types, &all, set[i]);
        return join_numbers(types, typing, &all, problem);
    case LW_TK_TUPLE:
    case LW_TK_FUNCTION: return join_elements(types, typing, set, n, with_none, problem);
    case LW_TK_ARRAY: return join_arrays(types, set, n, problem);
    case LW_TK_RECORD: return join_records(types, set, n, problem);
    case LW_TK_MEMBER: return join_members(types, set, n, problem);
    case LW_TK_TEXT: return join_texts(types, set, n);
    default: *problem = "E140"; return LW_T_BOTTOM;
    }
}

/* An object and one in an array. */
static bool
joins_by_value(const lw_types *types, lw_type_kind x, lw_type_kind y)
{
    return types->tree != NULL && (x == LW_TK_TUPLE || x == LW_TK_RECORD) &&
           (y == LW_TK_TUPLE || y == LW_TK_RECORD);
}

static bool
are_tuples(const lw_types *types, const lw_type *set, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (lw_type_kind_of(types, set[i]) != LW_TK_TUPLE)
            return false;
    return true;
}

/* Whether a value of the type may be missing: what nobody could hold beside None is left out,
 * objects, whose fields may be assigned, and records. */
static bool
may_be_missing(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get(types, type);
    bool may = true;

    switch (lw_type_kind_of(types, type)) {
    case LW_TK_SCALAR:
    case LW_TK_WEAK:
    case LW_TK_LITERAL:
    case LW_TK_TEXT:
    case LW_TK_ARRAY: return !(row && row->endless);
    case LW_TK_STATIC: return lw_type_is_text(types, type);
    case LW_TK_TUPLE:
        for (uint32_t i = 0; i < row->n; i++)
            may &= may_be_missing(types, row->elements[i]);
        return may && row->user_class == NULL && !row->is_list && !row->readonly;
    default: return false;
    }
}

static lw_type join(lw_types *types, lw_typing typing, const lw_type *set, uint32_t n,
                    bool with_none, const char **problem);

/* The set without None. */
static lw_type
join_given(lw_types *types, lw_typing typing, const lw_type *set, uint32_t n,
           const char **problem)
{
    lw_type *given = lw_arena_take(types->arena, (n + 1) * sizeof *given), joined;
    uint32_t n_given = 0;

    if (given == NULL)
        return LW_T_BOTTOM;
    for (uint32_t i = 0; i < n; i++)
        if (set[i] != LW_T_NONE && set[i] != LW_T_BOTTOM)
            given[n_given++] = lw_type_without_none(types, set[i]);
    joined = lw_join(types, typing, given, n_given, problem);
    if (*problem || joined == LW_T_BOTTOM)
        return LW_T_BOTTOM;
    if (lw_type_kind_of(types, joined) == LW_TK_LITERAL && !lw_literal_is_wide(types, joined) &&
        lw_literal_fits(types, joined, LW_DT_i64))
        joined = lw_type_unbounded(types, joined); /* it could grow in a loop */
    if (lw_type_is_text(types, joined))
        joined = lw_type_texts(types, joined, joined); /* whose constant nobody would know */
    if (!may_be_missing(types, joined)) {
        *problem = "E112";
        return LW_T_BOTTOM;
    }
    return lw_type_optional(types, joined);
}

static bool
has_kind(const lw_types *types, const lw_type *set, uint32_t n, lw_type_kind kind)
{
    for (uint32_t i = 0; i < n; i++)
        if (lw_type_kind_of(types, set[i]) == kind)
            return true;
    return false;
}

lw_type
lw_join_optional(lw_types *types, lw_typing typing, const lw_type *set, uint32_t n,
                 const char **problem)
{
    lw_type joined = join(types, typing, set, n, true, problem);

    if (*problem == NULL || strcmp(*problem, "E112") != 0 ||
        !has_kind(types, set, n, LW_TK_NONE))
        return joined;
    *problem = NULL;
    return join_given(types, typing, set, n, problem);
}

lw_type
lw_join(lw_types *types, lw_typing typing, const lw_type *set, uint32_t n, const char **problem)
{
    return join(types, typing, set, n, false, problem);
}

static lw_type
join(lw_types *types, lw_typing typing, const lw_type *set, uint32_t n, bool with_none,
     const char **problem)
{
    lw_type_kind class = LW_TK_BOTTOM;
    lw_type first = LW_T_BOTTOM;
    lw_type *known;
    uint32_t n_known = 0;
    bool same = true, by_value = false;

    *problem = NULL;
    if (has_kind(types, set, n, LW_TK_OPTIONAL))
        return join_given(types, typing, set, n, problem);
    for (uint32_t i = 0; i < n; i++) {
        lw_type_kind kind = class_of(types, set[i]);

        if (set[i] == LW_T_ABSENT)
            return LW_T_ABSENT;
        if (set[i] == LW_T_BOTTOM)
            continue;
        if (first == LW_T_BOTTOM) {
            first = set[i];
            class = kind;
        } else if (kind != class && joins_by_value(types, class, kind)) {
            by_value = true;
        } else if (kind != class) {
            *problem = kind == LW_TK_NONE || class == LW_TK_NONE ? "E112" : "E140";
            return LW_T_BOTTOM;
        }
        same &= set[i] == first;
        n_known++;
    }
    if (same)
        return first;
    known = lw_arena_take(types->arena, n_known * sizeof *known);
    if (known == NULL)
        return LW_T_BOTTOM;
    n_known = 0;
    for (uint32_t i = 0; i < n; i++)
        if (set[i] != LW_T_BOTTOM)
            known[n_known++] = by_value ? lw_record_object(types, set[i]) : set[i];
    if (by_value && !are_tuples(types, known, n_known)) {
        *problem = "E140";
        return LW_T_BOTTOM;
    }
    return join_same_class(types, typing, by_value ? LW_TK_TUPLE : class, known, n_known,
                           with_none, problem);
}
