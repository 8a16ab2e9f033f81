/* Constants at compile time: what Python would compute with them, exactly or not at all. The
 * reader has folded the constant expressions of the source with Python's own numbers; this file
 * folds those that inference discovers: flags, defaults, lengths, elements of constant
 * tuples. */
#include "core/front/infer/infer_internal.h"

#include "core/front/constant_bits.h"
#include "core/front/records.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const lw_constant *
lw_typed_constant(const lw_typed *typed, uint32_t constant)
{
    uint32_t n = typed->tree->constants.n;
    const lw_constant *k = constant < n ? &typed->tree->constants.data[constant]
                           : constant - n < typed->constants.n
                               ? &typed->constants.data[constant - n]
                               : &typed->tree->constants.data[0];

    if (k->varying != NULL && typed->plain != NULL) {
        assert(constant < n); /* folding makes operands of operands alone */
        return &typed->plain[constant];
    }
    return k->varying != NULL && lw_varying_is_pinned(k->varying) ? lw_varying_fix(k) : k;
}

const lw_constant *
lw_constant_of(lw_infer_frame *f, uint32_t constant)
{
    assert(constant != 0);
    return lw_typed_constant(f->run->typed, constant);
}

const char *
lw_constant_text(lw_infer_frame *f, uint32_t constant)
{
    const char *text = lw_constant_of(f, constant)->text;
    return text ? text : "";
}

/* ---- values ---- */

/* Reads digits with a sign; false if the number needs more than 125 bits, or is only
 * described. */
static bool
parse_int128(const char *text, __int128 *out)
{
    const __int128 limit = ((__int128)1 << 125);
    bool minus = *text == '-';
    __int128 value = 0;

    if (strspn(text + (minus || *text == '+'), "0123456789") == 0)
        return false;
    for (text += minus || *text == '+'; *text >= '0' && *text <= '9'; text++) {
        if (value > limit / 10)
            return false;
        value = value * 10 + (*text - '0');
    }
    *out = minus ? -value : value;
    return true;
}

bool
lw_constant_int_value(const lw_constant *constant, __int128 *out)
{
    if (constant->kind == LW_K_INT || constant->kind == LW_K_BOOL)
        constant = lw_varying_fix(constant);
    switch (constant->kind) {
    case LW_K_BOOL: *out = constant->i != 0; return true;
    case LW_K_INT: *out = constant->i; return true;
    case LW_K_UINT: *out = constant->u; return true;
    case LW_K_BIGINT: return constant->text && parse_int128(constant->text, out);
    default: return false;
    }
}

static lw_type
int_type(lw_infer_frame *f, const lw_constant *constant)
{
    __int128 value;
    int64_t lo, hi;

    if (lw_varying_varies(constant)) {
        lw_varying_range(constant, &lo, &hi);
        return lw_weak_mode(f) ? lw_type_literal(lw_types_of(f), lo, hi) : (lw_type)LW_DT_i64;
    }
    if (!lw_constant_int_value(constant, &value))
        value = constant->d < 0 ? -LW_LITERAL_FAR : LW_LITERAL_FAR;
    if (constant->members != NULL && lw_weak_mode(f))
        return lw_type_numbered(lw_types_of(f), value, value, constant->members);
    if (lw_weak_mode(f) || value > UINT64_MAX || value < INT64_MIN)
        return lw_type_literal(lw_types_of(f), value, value);
    return value > INT64_MAX ? LW_DT_u64 : LW_DT_i64;
}

static lw_type
tuple_type(lw_infer_frame *f, const lw_constant *constant)
{
    lw_type *elements = lw_arena_take(f->run->arena, (constant->n + 1) * sizeof *elements);
    lw_type type;

    if (elements == NULL)
        return LW_T_BOTTOM;
    if (f->run->depth > LW_MAX_DEPTH)
        return LW_T_STATIC;
    f->run->depth++;
    for (uint32_t i = 0; i < constant->n; i++)
        elements[i] = constant->user_class
                          ? lw_field_type(f, lw_constant_value(f, constant->items[i]))
                          : lw_constant_value(f, constant->items[i]).type;
    assert(f->run->depth > 0); /* counted above */
    f->run->depth--;
    type = lw_type_tuple(lw_types_of(f), elements, constant->n, constant->names);
    type = lw_type_tuple_of_class(lw_types_of(f), type, constant->user_class);
    return lw_type_tuple_listed(lw_types_of(f), type, constant->is_list);
}

/* Whether the elements of an array lie next to each other, the last axis (or the first) first.
 */
static bool
is_contiguous(const lw_live_array *live, uint32_t n, int64_t bytes, bool last_first)
{
    for (uint32_t i = 0; i < n; i++)
        if (live->shape[i] == 0)
            return true;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t axis = last_first ? n - 1 - i : i;
        if (live->shape[axis] != 1 && live->strides[axis] != bytes)
            return false;
        bytes *= live->shape[axis];
    }
    return true;
}

/* An array that is used where it lies. */
static lw_type
live_type(lw_infer_frame *f, const lw_constant *constant, lw_type element)
{
    const lw_live_array *live = constant->live;
    lw_types *types = lw_types_of(f);
    int64_t bytes = lw_type_bytes(types, element);
    uint32_t align = lw_type_align(types, element);
    lw_layout layout = is_contiguous(live, constant->n, bytes, true)    ? LW_LAYOUT_C
                       : is_contiguous(live, constant->n, bytes, false) ? LW_LAYOUT_F
                                                                        : LW_LAYOUT_ANY;
    lw_type type = lw_type_array(types, element, constant->n, layout, live->readonly, NULL);
    uint64_t places = live->address;

    for (uint32_t i = 0; i < constant->n; i++)
        places |= (uint64_t)live->strides[i];
    return places % align == 0
               ? type
               : lw_type_array_aligned(types, type, (uint32_t)(places & (0 - places)));
}

/* An array that was frozen: its extents are constant, and nobody may write to it. */
static lw_type
table_type(lw_infer_frame *f, const lw_constant *constant)
{
    int64_t shape[LW_MAX_ARRAY_DIMS];
    lw_type element;

    if (constant->n > LW_MAX_ARRAY_DIMS)
        return LW_T_STATIC;
    element = constant->record ? lw_record_type(lw_types_of(f), constant->record, false)
                               : (lw_type)constant->dtype;
    if (constant->live != NULL)
        return live_type(f, constant, element);
    for (uint32_t i = 0; i < constant->n; i++)
        shape[i] = constant->items[i];
    return lw_type_array(lw_types_of(f), element, constant->n, LW_LAYOUT_C, true, shape);
}

lw_type
lw_field_type(lw_infer_frame *f, lw_infer_value value)
{
    const lw_enum *members = lw_type_enum(lw_types_of(f), value.type);
    uint32_t *slot;

    if ((value.type != LW_T_STATIC && members == NULL) || value.constant == 0)
        return value.type;
    for (uint32_t i = 0; i < f->run->statics.n; i++)
        if (lw_constant_same(f, f->run->statics.data[i], value.constant))
            return lw_type_static(lw_types_of(f), f->run->statics.data[i], members);
    slot = lw_array_push(&f->run->statics, f->run->arena);
    if (slot == NULL)
        return LW_T_BOTTOM;
    *slot = value.constant;
    return lw_type_static(lw_types_of(f), value.constant, members);
}

/* Of a member whose class can be chosen from at run time; other objects are constants only. */
static lw_type
object_type(lw_infer_frame *f, const lw_constant *constant)
{
    const lw_enum *members = lw_constant_enum(constant);

    return members && members->n ? lw_type_member(lw_types_of(f), members)
                                 : (lw_type)LW_T_STATIC;
}

lw_infer_value
lw_constant_value(lw_infer_frame *f, uint32_t index)
{
    const lw_constant *constant = lw_constant_of(f, index);
    lw_infer_value value = {LW_T_STATIC, index};

    switch (constant->kind) {
    case LW_K_NONE: value.type = LW_T_NONE; break;
    case LW_K_BOOL: value.type = LW_DT_b1; break;
    case LW_K_INT:
    case LW_K_UINT:
    case LW_K_BIGINT: value.type = int_type(f, constant); break;
    case LW_K_FLOAT: value.type = lw_weak_float(f); break;
    case LW_K_COMPLEX: value.type = lw_weak_complex(f); break;
    case LW_K_SCALAR: value.type = constant->dtype; break;
    case LW_K_TUPLE: value.type = tuple_type(f, constant); break;
    case LW_K_ARRAY: value.type = table_type(f, constant); break;
    case LW_K_OBJECT: value.type = object_type(f, constant); break;
    case LW_K_STR:
        value.type = lw_type_known_text(lw_types_of(f), index, constant->text);
        break;
    default: break;
    }
    return value;
}

bool
lw_constant_is_static(lw_infer_frame *f, uint32_t index)
{
    const lw_constant *constant = lw_constant_of(f, index);

    switch (constant->kind) {
    case LW_K_BOOL:
    case LW_K_INT:
    case LW_K_UINT:
    case LW_K_BIGINT:
    case LW_K_FLOAT:
    case LW_K_COMPLEX:
    case LW_K_SCALAR:
    case LW_K_ARRAY: return false;
    case LW_K_OBJECT: return object_type(f, constant) == LW_T_STATIC;
    case LW_K_TUPLE:
        for (uint32_t i = 0; i < constant->n; i++)
            if (lw_constant_is_static(f, constant->items[i]))
                return true;
        return false;
    default: return true;
    }
}

bool
lw_constant_has_member(lw_infer_frame *f, uint32_t index)
{
    const lw_constant *constant = lw_constant_of(f, index);
    bool has = lw_constant_enum(constant) != NULL;

    for (uint32_t i = 0; constant->kind == LW_K_TUPLE && !has && i < constant->n; i++)
        has = lw_constant_has_member(f, constant->items[i]);
    return has;
}

static bool
same_text(const char *x, const char *y)
{
    return x == y || (x && y && strcmp(x, y) == 0);
}

static bool
same_bits(double x, double y)
{
    return memcmp(&x, &y, sizeof x) == 0;
}

static bool
same_items(lw_infer_frame *f, const lw_constant *a, const lw_constant *b)
{
    if (a->n != b->n || !same_text(a->text, b->text))
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!lw_constant_same(f, a->items[i], b->items[i]))
            return false;
    return true;
}

static bool
same_class_of_members(const lw_constant *a, const lw_constant *b)
{
    const lw_enum *x = lw_constant_enum(a), *y = lw_constant_enum(b);

    return x == y || (x && y && x->id == y->id);
}

static bool
same_constant(lw_infer_frame *f, const lw_constant *a, const lw_constant *b)
{
    if (a->kind != b->kind || a->dtype != b->dtype)
        return false;
    if (lw_varying_varies(a) || lw_varying_varies(b))
        return a->varying == b->varying;
    a = lw_varying_fix(a); /* those that are pinned have their value there */
    b = lw_varying_fix(b);
    switch (a->kind) {
    case LW_K_NONE:
    case LW_K_ELLIPSIS: return true;
    case LW_K_INT: return a->i == b->i && a->members == b->members;
    case LW_K_BOOL:
    case LW_K_UINT:
    case LW_K_PYTYPE:
    case LW_K_NAMED: return a->u == b->u;
    case LW_K_FUNCTION: return a->u == b->u && a->linked == b->linked;
    case LW_K_FLOAT:
    case LW_K_COMPLEX:
    case LW_K_SCALAR: return same_bits(a->d, b->d) && same_bits(a->im, b->im);
    case LW_K_TUPLE:
        return a->user_class == b->user_class && a->is_list == b->is_list &&
               same_items(f, a, b);
    case LW_K_CLASS: return a->user_class == b->user_class;
    case LW_K_DTYPE: return true;
    case LW_K_EXTERNAL: return a->bytes == b->bytes;
    case LW_K_RECORD: /* types of records are interned */
        return a->bytes == b->bytes || lw_record_type(lw_types_of(f), a->bytes, false) ==
                                           lw_record_type(lw_types_of(f), b->bytes, false);
    case LW_K_ARRAY: return a->live == b->live && a->bytes == b->bytes && a->items == b->items;
    case LW_K_OBJECT:
        if (a->n == 2 && b->n == 2 && !same_class_of_members(a, b))
            return false;
        return same_text(a->text, b->text) && same_text(a->help, b->help);
    default: return same_text(a->text, b->text) && same_text(a->help, b->help);
    }
}

bool
lw_constant_same(lw_infer_frame *f, uint32_t x, uint32_t y)
{
    if (x == y || x == 0 || y == 0)
        return x == y;
    return same_constant(f, lw_constant_of(f, x), lw_constant_of(f, y));
}

uint32_t
lw_constant_add(lw_infer_frame *f, uint32_t old, const lw_constant *constant)
{
    lw_constant *slot;

    if (old && same_constant(f, lw_constant_of(f, old), constant))
        return old;
    slot = lw_array_push(&f->run->typed->constants, f->run->arena);
    if (slot == NULL)
        return 0;
    *slot = *constant;
    return f->run->tree->constants.n + f->run->typed->constants.n - 1;
}

static uint32_t
constant_bool(lw_infer_frame *f, uint32_t old, bool value)
{
    lw_constant constant = {.kind = LW_K_BOOL, .i = value};
    return lw_constant_add(f, old, &constant);
}

static uint32_t
constant_float(lw_infer_frame *f, uint32_t old, double value)
{
    lw_constant constant = {.kind = LW_K_FLOAT, .d = value};
    return lw_constant_add(f, old, &constant);
}

uint32_t
lw_constant_int(lw_infer_frame *f, uint32_t old, __int128 value)
{
    lw_constant constant = {.kind = LW_K_INT};
    lw_text text = {0};

    if (value >= INT64_MIN && value <= INT64_MAX) {
        constant.i = (int64_t)value;
    } else if (value > 0 && value <= UINT64_MAX) {
        constant.kind = LW_K_UINT;
        constant.u = (uint64_t)value;
    } else {
        constant.kind = LW_K_BIGINT;
        constant.d = (double)value;
        lw_text_add_int128(&text, value);
        constant.text = lw_arena_strdup(f->run->arena, lw_text_get(&text));
        lw_text_reset(&text);
        if (constant.text == NULL)
            return 0;
    }
    return lw_constant_add(f, old, &constant);
}

uint32_t
lw_node_constant(lw_infer_frame *f, uint32_t node, const lw_constant *constant)
{
    return lw_constant_add(f, lw_typed_in(&f->nodes, node)->constant, constant);
}

uint32_t
lw_node_bool(lw_infer_frame *f, uint32_t node, bool value)
{
    return constant_bool(f, lw_typed_in(&f->nodes, node)->constant, value);
}

uint32_t
lw_node_int(lw_infer_frame *f, uint32_t node, __int128 value)
{
    return lw_constant_int(f, lw_typed_in(&f->nodes, node)->constant, value);
}

/* ---- arithmetic ---- */

/* The largest magnitude for which no computation below overflows 128 bits: 2^125, the limit of
 * lw_constant_int_value. */
#define MOST ((__int128)1 << 125)

/* EXACT; WIDE: exact too, but above MOST; NONE: Python raises, or the result is no integer. */
typedef enum folding { NONE, EXACT, WIDE } folding;

static __int128
magnitude(__int128 x)
{
    return x < 0 ? -x : x;
}

static folding
within(__int128 x)
{
    return magnitude(x) <= MOST ? EXACT : WIDE;
}

static folding
multiply(__int128 x, __int128 y, __int128 *out)
{
    if (x != 0 && magnitude(y) > MOST / magnitude(x))
        return WIDE;
    *out = x * y;
    return EXACT;
}

static folding
power(__int128 base, __int128 exponent, __int128 *out)
{
    folding folded = EXACT;

    if (exponent < 0)
        return NONE;
    if (magnitude(base) <= 1) /* only the parity matters */
        exponent = exponent == 0 ? 0 : 2 - (exponent & 1);
    *out = 1;
    for (; exponent > 0 && folded == EXACT; exponent--)
        folded = multiply(*out, base, out);
    return folded;
}

static folding
shift_left(__int128 x, __int128 count, __int128 *out)
{
    if (count < 0)
        return NONE;
    *out = 0;
    if (x == 0)
        return EXACT;
    return count > 125 ? WIDE : multiply(x, (__int128)1 << count, out);
}

static folding
fold_ints(lw_pyop op, __int128 x, __int128 y, __int128 *out)
{
    __int128 rest;

    switch (op) {
    case LW_PY_ADD: *out = x + y; return within(*out);
    case LW_PY_SUB: *out = x - y; return within(*out);
    case LW_PY_MUL: return multiply(x, y, out);
    case LW_PY_FLOORDIV:
    case LW_PY_MOD:
        if (y == 0)
            return NONE;
        rest = x % y;
        if (rest != 0 && (rest < 0) != (y < 0))
            rest += y;
        *out = op == LW_PY_MOD ? rest : (x - rest) / y;
        return EXACT;
    case LW_PY_POW: return power(x, y, out);
    case LW_PY_LSHIFT: return shift_left(x, y, out);
    case LW_PY_RSHIFT:
        *out = y < 127 ? x >> (y < 0 ? 0 : y) : -(x < 0);
        return y < 0 ? NONE : EXACT;
    case LW_PY_BITAND: *out = x & y; return EXACT;
    case LW_PY_BITOR: *out = x | y; return EXACT;
    case LW_PY_BITXOR: *out = x ^ y; return EXACT;
    default: return NONE;
    }
}

bool
lw_fold_is_wide(lw_infer_frame *f, lw_pyop op, uint32_t x, uint32_t y)
{
    __int128 i, j, k;

    return lw_constant_int_value(lw_constant_of(f, x), &i) &&
           lw_constant_int_value(lw_constant_of(f, y), &j) && fold_ints(op, i, j, &k) == WIDE;
}

/* x / y rounded once, as in Python: long division until there are enough bits for rounding, of
 * which the last one says whether a remainder is left. */
static double
quotient(__int128 x, __int128 y)
{
    unsigned __int128 rest = (unsigned __int128)magnitude(x),
                      by = (unsigned __int128)magnitude(y);
    unsigned __int128 digits = rest / by;
    int exponent = 0;
    double value;

    rest %= by;
    for (; rest != 0 && digits >> 56 == 0; exponent--) {
        rest <<= 1;
        digits = digits << 1 | (rest >= by);
        rest -= rest >= by ? by : 0;
    }
    value = ldexp((double)(digits << 1 | (rest != 0)), exponent - 1);
    return (x < 0) != (y < 0) ? -value : value;
}

/* A Python number as a double; false for integers that are not exact as one. */
static bool
as_double(const lw_constant *constant, double *out)
{
    __int128 value;

    if (constant->kind == LW_K_FLOAT) {
        *out = lw_varying_fix(constant)->d;
        return true;
    }
    return lw_constant_int_value(constant, &value) && lw_constant_exact_double(value, out);
}

/* Bitwise operators on two bools give a bool. */
static bool
keeps_bool(lw_pyop op)
{
    return op == LW_PY_BITAND || op == LW_PY_BITOR || op == LW_PY_BITXOR;
}

/* Combinations of members of an enum.IntFlag; NULL: it is none. */
static const lw_enum *
flags_of(const lw_constant *constant)
{
    return constant->kind == LW_K_INT && constant->members && constant->members->all_bits
               ? constant->members
               : NULL;
}

static uint32_t
constant_flags(lw_infer_frame *f, uint32_t old, __int128 value, const lw_enum *of)
{
    lw_constant made = {.kind = LW_K_INT, .i = (int64_t)value, .members = of};

    return lw_constant_add(f, old, &made);
}

uint32_t
lw_fold_binary_constant(lw_infer_frame *f, uint32_t old, lw_pyop op, uint32_t x, uint32_t y)
{
    const lw_constant *a = lw_constant_of(f, x), *b = lw_constant_of(f, y);
    lw_constant folded;
    __int128 i, j, k;
    double d, e, g;

    if ((lw_varying_varies(a) || lw_varying_varies(b)) && lw_varying_fold(op, a, b, &folded))
        return lw_constant_add(f, old, &folded);
    if (lw_constant_int_value(a, &i) && lw_constant_int_value(b, &j)) {
        if (op == LW_PY_DIV)
            return j != 0 ? constant_float(f, old, quotient(i, j)) : 0;
        if (fold_ints(op, i, j, &k) != EXACT)
            return 0;
        if (a->kind == LW_K_BOOL && b->kind == LW_K_BOOL && keeps_bool(op))
            return constant_bool(f, old, k != 0);
        if (flags_of(a) && flags_of(a) == flags_of(b) && keeps_bool(op))
            return constant_flags(f, old, k, flags_of(a));
        return lw_constant_int(f, old, k);
    }
    if (as_double(a, &d) && as_double(b, &e) && lw_constant_float_op(op, d, e, &g))
        return constant_float(f, old, g);
    return 0;
}

/* How many bits the magnitude has (count: how many are set); 0: it is no constant Python
 * integer. */
uint32_t
lw_fold_bits_constant(lw_infer_frame *f, uint32_t old, bool count, uint32_t x)
{
    const lw_constant *constant = lw_constant_of(f, x);
    __int128 value, n = 0;

    if (!lw_constant_int_value(constant, &value))
        return 0;
    for (value = value < 0 ? -value : value; value; value >>= 1)
        n += count ? value & 1 : 1;
    return lw_constant_int(f, old, n);
}

uint32_t
lw_fold_unary_constant(lw_infer_frame *f, uint32_t old, lw_pyop op, uint32_t x)
{
    const lw_constant *a = lw_constant_of(f, x);
    lw_constant folded;
    __int128 i;

    if (op == LW_PY_POS && lw_varying_varies(a) && a->kind == LW_K_FLOAT)
        return x;
    if (lw_varying_varies(a) && lw_varying_fold(op, a, NULL, &folded))
        return lw_constant_add(f, old, &folded);
    if (op == LW_PY_NOT) {
        int truth = lw_fold_truth_constant(f, x);
        return truth < 0 ? 0 : constant_bool(f, old, !truth);
    }
    if (a->kind == LW_K_FLOAT && op != LW_PY_INVERT)
        return constant_float(f, old, op == LW_PY_NEG ? -lw_varying_fix(a)->d : a->d);
    if (!lw_constant_int_value(a, &i))
        return 0;
    if (op == LW_PY_INVERT && flags_of(a))
        return constant_flags(f, old, i ^ flags_of(a)->all_bits, flags_of(a));
    if (op == LW_PY_INVERT)
        return a->kind == LW_K_BOOL ? constant_bool(f, old, !i) : lw_constant_int(f, old, ~i);
    return lw_constant_int(f, old, op == LW_PY_NEG ? -i : i);
}

/* ---- comparison, truth, conversion ---- */

static int
apply_order(lw_pyop op, int order) /* order: -1, 0, 1; 2: unordered */
{
    switch (op) {
    case LW_PY_EQ: return order == 0;
    case LW_PY_NE: return order != 0;
    case LW_PY_LT: return order == -1;
    case LW_PY_LE: return order == -1 || order == 0;
    case LW_PY_GT: return order == 1;
    case LW_PY_GE: return order == 1 || order == 0;
    default: return -1;
    }
}

bool
lw_constant_any_int(const lw_constant *constant, __int128 *out)
{
    if (constant->kind != LW_K_SCALAR)
        return lw_constant_int_value(constant, out);
    if (!lw_is_float(constant->dtype))
        constant = lw_varying_fix(constant);
    switch (lw_dtypes[constant->dtype].kind) {
    case LW_KIND_BOOL:
    case LW_KIND_INT: *out = constant->i; return true;
    case LW_KIND_UINT: *out = constant->u; return true;
    default: return false;
    }
}

/* The same, and for NumPy's scalars. */
static bool
scalar_double(const lw_constant *constant, double *out)
{
    __int128 value;

    if (constant->kind == LW_K_SCALAR && lw_is_float(constant->dtype)) {
        *out = lw_varying_fix(constant)->d;
        return true;
    }
    return as_double(constant, out) ||
           (lw_constant_any_int(constant, &value) && lw_constant_exact_double(value, out));
}

/* The float64 nearest to a number; false: it is no constant number, or is beyond float64. */
static bool
nearest_double(const lw_constant *constant, double *out)
{
    __int128 value;

    if (scalar_double(constant, out))
        return true;
    if (constant->kind == LW_K_BIGINT)
        *out = constant->d;
    else if (lw_constant_int_value(constant, &value))
        *out = (double)value;
    else
        return false;
    return isfinite(*out);
}

static int
compare_tuples(lw_infer_frame *f, lw_pyop op, const lw_constant *a, const lw_constant *b)
{
    bool equal = a->n == b->n;

    if (op != LW_PY_EQ && op != LW_PY_NE)
        return -1;
    for (uint32_t i = 0; equal && i < a->n; i++) {
        int same = lw_fold_compare_constant(f, LW_PY_EQ, a->items[i], b->items[i]);
        if (same < 0)
            return -1;
        equal = same == 1;
    }
    return (op == LW_PY_EQ) == equal;
}

static bool
is_number_constant(const lw_constant *constant)
{
    return constant->kind == LW_K_BOOL || constant->kind == LW_K_INT ||
           constant->kind == LW_K_UINT || constant->kind == LW_K_BIGINT ||
           constant->kind == LW_K_FLOAT || constant->kind == LW_K_COMPLEX ||
           constant->kind == LW_K_SCALAR;
}

/* The exact order of a Python int and a float. 2: unordered. */
static int
order_of(__int128 i, double d)
{
    __int128 whole;

    if (isnan(d))
        return 2;
    if (fabs(d) >= ldexp(1, 126))
        return d > 0 ? -1 : 1;
    whole = (__int128)d;
    if (i != whole)
        return i < whole ? -1 : 1;
    return d > (double)whole ? -1 : d < (double)whole;
}

int
lw_fold_compare_constant(lw_infer_frame *f, lw_pyop op, uint32_t x, uint32_t y)
{
    const lw_constant *a = lw_constant_of(f, x), *b = lw_constant_of(f, y);
    __int128 i, j;
    double d, e;

    if (lw_constant_any_int(a, &i) && lw_constant_any_int(b, &j))
        return apply_order(op, i < j ? -1 : i > j);
    if (lw_constant_int_value(a, &i) && b->kind == LW_K_FLOAT)
        return apply_order(op, order_of(i, lw_varying_fix(b)->d));
    if (lw_constant_int_value(b, &j) && a->kind == LW_K_FLOAT) {
        int order = order_of(j, lw_varying_fix(a)->d);
        return apply_order(op, order == 2 ? 2 : -order);
    }
    if (scalar_double(a, &d) && scalar_double(b, &e))
        return apply_order(op, d < e ? -1 : d > e ? 1 : d == e ? 0 : 2);
    if (is_number_constant(a) && is_number_constant(b))
        return -1;
    if (a->kind == LW_K_STR && b->kind == LW_K_STR) {
        int order = strcmp(a->text, b->text); /* UTF-8 sorts in the order of code points */
        return apply_order(op, order < 0 ? -1 : order > 0);
    }
    if (a->kind == LW_K_TUPLE && b->kind == LW_K_TUPLE && a->is_list == b->is_list)
        return compare_tuples(f, op, a, b);
    if (op == LW_PY_EQ || op == LW_PY_NE)
        return (op == LW_PY_EQ) == lw_constant_same(f, x, y);
    return -1;
}

int
lw_fold_truth_constant(lw_infer_frame *f, uint32_t x)
{
    const lw_constant *constant = lw_constant_of(f, x);
    __int128 i;
    double d;

    if (lw_constant_any_int(constant, &i))
        return i != 0;
    if (scalar_double(constant, &d))
        return d != 0;
    switch (constant->kind) {
    case LW_K_NONE: return 0;
    case LW_K_BIGINT: return 1;
    case LW_K_STR: return constant->text && *constant->text;
    case LW_K_BYTES: return constant->n != 0;
    case LW_K_OBJECT: return constant->n == 2 ? (int)constant->i : -1;
    case LW_K_TUPLE: return constant->n != 0;
    case LW_K_DTYPE:
    case LW_K_PYTYPE:
    case LW_K_NAMED:
    case LW_K_FUNCTION:
    case LW_K_EXTERNAL:
    case LW_K_MODULE: return 1;
    default: return -1;
    }
}

static bool
is_float(const lw_constant *constant)
{
    return constant->kind == LW_K_FLOAT ||
           (constant->kind == LW_K_SCALAR && lw_is_float(constant->dtype));
}

/* Gets the value of a float that is known at compile time. */
bool
lw_constant_float(const lw_constant *constant, double *out)
{
    return is_float(constant) && scalar_double(constant, out);
}

/* Truncates a double and saturates, as the compiled conversion does. */
static __int128
saturated(double d, const lw_dtype_row *to)
{
    __int128 one = 1, lo = to->kind == LW_KIND_UINT ? 0 : -(one << (to->bits - 1));
    __int128 hi =
        to->kind == LW_KIND_UINT ? (one << to->bits) - 1 : (one << (to->bits - 1)) - 1;

    if (isnan(d))
        return 0;
    if (d >= (double)hi)
        return hi;
    return d <= (double)lo ? lo : (__int128)d;
}

static bool
cast_to_int(const lw_constant *from, lw_dtype to, __int128 *out)
{
    const lw_dtype_row *row = &lw_dtypes[to];
    __int128 one = 1;
    double d;

    if (!lw_constant_any_int(from, out)) {
        if (!scalar_double(from, &d))
            return false;
        *out = saturated(d, row);
        return true;
    }
    *out &= (one << row->bits) - 1; /* wraps */
    if (row->kind == LW_KIND_INT && (*out >> (row->bits - 1)))
        *out -= one << row->bits;
    return true;
}

uint32_t
lw_fold_cast_constant(lw_infer_frame *f, uint32_t old, uint32_t x, lw_dtype to, bool weak)
{
    const lw_constant *from = lw_constant_of(f, x);
    lw_constant constant = {.kind = LW_K_SCALAR, .dtype = to};
    __int128 value;
    double d;

    if (lw_varying_varies(from) && (to == LW_DT_f32 || to == LW_DT_f64) && is_float(from))
        return 0; /* compiled code rounds in the same way */
    if (to == LW_DT_b1) {
        int truth = lw_fold_truth_constant(f, x);
        return truth < 0 ? 0 : constant_bool(f, old, truth);
    }
    if (lw_is_integer(to)) {
        if (weak && lw_constant_any_int(from, &value)) /* int(n) is n, as in Python */
            return lw_constant_int(f, old, value);
        if (weak && lw_constant_float(from, &d) && fabs(d) < ldexp(1, 125))
            return lw_constant_int(f, old, (__int128)d);
        if (!cast_to_int(from, to, &value))
            return 0;
        if (weak)
            return lw_constant_int(f, old, value);
        constant.u = (uint64_t)value;
        return lw_constant_add(f, old, &constant);
    }
    if ((to != LW_DT_f32 && to != LW_DT_f64) || !nearest_double(from, &d))
        return 0;
    if (weak)
        return constant_float(f, old, d);
    constant.d = to == LW_DT_f32 ? (double)(float)d : d;
    return lw_constant_add(f, old, &constant);
}
