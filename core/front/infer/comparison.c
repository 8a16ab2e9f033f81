/* Comparisons of two values, by the rules of docs/typing.md, and their chains, of which each
 * link is a comparison of numbers or tuples, of whole arrays, or a call of a method. */
#include "core/front/infer/infer_internal.h"

#include "core/front/records.h"

#include <string.h>

typedef enum compared { COMPARED, NEVER, ALWAYS, NO_ORDER } compared;

static bool
is_signed_int(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);

    if (row)
        return row->kind == LW_TK_LITERAL && row->lo < 0;
    return type == LW_T_INDEX ||
           (lw_type_is_strong_int(type) && lw_dtypes[type].kind == LW_KIND_INT);
}

/* A literal outside the range of the other operand's type decides the comparison. */
static compared
compare_beyond(lw_infer_frame *f, lw_pyop op, lw_type x, lw_type y, bool literal_left)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), literal_left ? x : y);
    bool large = row->lo > 0; /* otherwise it is below all values of that type */
    bool left_smaller = literal_left ? !large : large;

    switch (op) {
    case LW_PY_LT:
    case LW_PY_LE: return left_smaller ? ALWAYS : NEVER;
    case LW_PY_GT:
    case LW_PY_GE: return left_smaller ? NEVER : ALWAYS;
    default: return op == LW_PY_NE ? ALWAYS : NEVER;
    }
}

static bool
is_beyond(lw_infer_frame *f, lw_type literal, lw_type other)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), literal);
    lw_dtype stored = lw_type_stored(lw_types_of(f), other);

    return lw_type_is_literal(f, literal) && !lw_type_is_literal(f, other) &&
           row->lo == row->hi && lw_type_is_strong_int(stored) &&
           !lw_literal_fits(lw_types_of(f), literal, stored);
}

static compared
compare_numbers(lw_infer_frame *f, lw_pyop op, lw_type x, lw_type y, lw_type *operand)
{
    bool equality = op == LW_PY_EQ || op == LW_PY_NE;
    bool u64 = lw_type_stored(lw_types_of(f), x) == LW_DT_u64 ||
               lw_type_stored(lw_types_of(f), y) == LW_DT_u64;

    *operand = LW_T_BOTTOM;
    if (!equality && (lw_type_is_complex(x) || lw_type_is_complex(y)))
        return NO_ORDER;
    if (is_beyond(f, x, y))
        return compare_beyond(f, op, x, y, true);
    if (is_beyond(f, y, x))
        return compare_beyond(f, op, x, y, false);
    if (lw_type_is_int_or_bool(f, x) && lw_type_is_int_or_bool(f, y) && u64 &&
        (is_signed_int(f, x) || is_signed_int(f, y)))
        return COMPARED;
    *operand =
        x == LW_DT_b1 && y == LW_DT_b1 ? (lw_type)LW_DT_b1 : lw_promote_operands(f, x, y);
    return COMPARED;
}

static compared compare_types(lw_infer_frame *f, lw_pyop op, lw_type x, lw_type y,
                              lw_type *operand);

/* Arrays and records are compared item by item, or not at all. */
static bool
is_memory(lw_infer_frame *f, lw_type type)
{
    lw_type given = lw_type_without_none(lw_types_of(f), type);
    lw_type_kind kind = lw_type_kind_of(lw_types_of(f), given);

    return kind == LW_TK_ARRAY || kind == LW_TK_RECORD;
}

static bool is_static(lw_infer_frame *f, lw_type type);

static compared
compare_tuples(lw_infer_frame *f, lw_pyop op, const lw_type_row *x, const lw_type_row *y,
               lw_type *operand)
{
    bool equality = op == LW_PY_EQ || op == LW_PY_NE;
    uint32_t n = x->n < y->n ? x->n : y->n;
    const lw_type *xs = x->elements, *ys = y->elements; /* interning moves the rows only */
    lw_type *elements = lw_arena_take(f->run->arena, (n + 1) * sizeof *elements);

    if (equality && (x->n != y->n || x->is_list != y->is_list))
        return op == LW_PY_EQ ? NEVER : ALWAYS;
    if (x->is_list != y->is_list)
        return NO_ORDER;
    for (uint32_t i = 0; elements && i < n; i++) {
        compared one = compare_types(f, LW_PY_EQ, xs[i], ys[i], &elements[i]);

        if (one == NO_ORDER && is_static(f, xs[i]) && is_static(f, ys[i]))
            return NO_ORDER;
        if (!equality && elements && lw_is_text(f, xs[i]) && lw_is_text(f, ys[i]))
            elements[i] = lw_type_texts(lw_types_of(f), xs[i], ys[i]);
        if (equality && one == NEVER && elements[i] == LW_T_BOTTOM &&
            !(lw_type_is_int_or_bool(f, xs[i]) && lw_type_is_int_or_bool(f, ys[i])))
            return op == LW_PY_EQ ? NEVER : ALWAYS;
        if (!equality &&
            (lw_type_given(lw_types_of(f), xs[i]) || lw_type_given(lw_types_of(f), ys[i])))
            return NO_ORDER;
        if (!equality && (lw_type_is_complex(xs[i]) || lw_type_is_complex(ys[i]) ||
                          lw_type_is_member(f, xs[i]) || lw_type_is_member(f, ys[i])))
            return NO_ORDER;
        if (is_memory(f, xs[i]) || is_memory(f, ys[i]))
            return NO_ORDER;
    }
    *operand = elements ? lw_type_tuple(lw_types_of(f), elements, n, NULL) : LW_T_BOTTOM;
    return COMPARED;
}

static bool
is_static(lw_infer_frame *f, lw_type type)
{
    return lw_type_kind_of(lw_types_of(f), type) == LW_TK_STATIC;
}

/* A field whose type says which constant it is. */
static bool
is_known(lw_infer_frame *f, lw_type type)
{
    return lw_type_get_kind(lw_types_of(f), type, LW_TK_STATIC) != NULL;
}

/* Of items of tuples one or both may be None, which equals None alone. The operand is that of
 * the values. */
static compared
compare_given(lw_infer_frame *f, lw_pyop op, lw_type x, lw_type y, lw_type *operand)
{
    lw_type a = lw_type_without_none(lw_types_of(f), x);
    lw_type b = lw_type_without_none(lw_types_of(f), y);
    compared how;

    if (op != LW_PY_EQ && op != LW_PY_NE)
        return NO_ORDER;
    if (a == LW_T_NONE || b == LW_T_NONE)
        return COMPARED;
    how = compare_types(f, op, a, b, operand);
    if (how == NO_ORDER || (how == (op == LW_PY_EQ ? NEVER : ALWAYS) && (a == x || b == y)))
        return how;
    return COMPARED;
}

/* Strings, of which one is chosen at run time. The operand has the choices of both, and is
 * BOTTOM where they decide: where no string, or only one, is among both. */
static compared
compare_texts(lw_infer_frame *f, lw_pyop op, lw_type x, lw_type y, lw_type *operand)
{
    bool equality = op == LW_PY_EQ || op == LW_PY_NE;
    uint32_t n_x, n_y, n_both;
    lw_type both = lw_type_texts(lw_types_of(f), x, y);

    if (both == LW_T_BOTTOM)
        return COMPARED; /* memory is out */
    (void)lw_type_choices(lw_types_of(f), &x, &n_x);
    (void)lw_type_choices(lw_types_of(f), &y, &n_y);
    (void)lw_type_choices(lw_types_of(f), &both, &n_both);
    if (n_both == 0) {
        *operand = both;
        return COMPARED;
    }
    if (equality && n_both == n_x + n_y)
        return op == LW_PY_EQ ? NEVER : ALWAYS;
    if (equality && n_both == 1)
        return op == LW_PY_EQ ? ALWAYS : NEVER;
    *operand = both;
    return COMPARED;
}

/* Types == … >= between two values; *operand as lw_typed_node describes it. */
static compared
compare_types(lw_infer_frame *f, lw_pyop op, lw_type x, lw_type y, lw_type *operand)
{
    bool equality = op == LW_PY_EQ || op == LW_PY_NE;
    lw_types *types = lw_types_of(f);

    *operand = LW_T_BOTTOM;
    if (lw_type_given(types, x) || lw_type_given(types, y))
        return compare_given(f, op, x, y, operand);
    if (lw_type_is_time(x) || lw_type_is_time(y)) {
        *operand = lw_time_operand(f, op, x, y);
        return *operand == LW_T_BOTTOM ? NO_ORDER : COMPARED;
    }
    if (lw_type_is_number(f, x) && lw_type_is_number(f, y))
        return compare_numbers(f, op, x, y, operand);
    if (lw_type_get_kind(types, x, LW_TK_TUPLE) && lw_type_get_kind(types, y, LW_TK_TUPLE))
        return compare_tuples(f, op, lw_type_get(types, x), lw_type_get(types, y), operand);
    if (is_memory(f, x) || is_memory(f, y))
        return NO_ORDER;
    if (lw_is_text(f, x) && lw_is_text(f, y))
        return compare_texts(f, op, x, y, operand);
    if (equality && lw_are_members_of_one(f, x, y) && !(is_known(f, x) && is_known(f, y))) {
        *operand = lw_type_member(types, lw_type_enum(types, x));
        return COMPARED;
    }
    if (equality && x == y && (x == LW_T_NONE || is_known(f, x)))
        return op == LW_PY_EQ ? ALWAYS : NEVER;
    if (equality && is_static(f, x) && is_static(f, y) && !(is_known(f, x) && is_known(f, y)))
        return NO_ORDER; /* it is not known which texts these are */
    return equality ? (op == LW_PY_EQ ? NEVER : ALWAYS) : NO_ORDER;
}

lw_type
lw_equality_operand(lw_infer_frame *f, lw_type x, lw_type y)
{
    lw_type operand;

    (void)compare_types(f, LW_PY_EQ, x, y, &operand);
    return operand;
}

/* An object that is no number, text or None, and equal to nothing else. */
static bool
is_object_constant(lw_infer_frame *f, lw_infer_value x)
{
    const lw_constant *k = x.constant ? lw_constant_of(f, x.constant) : NULL;

    return k && (k->kind == LW_K_OBJECT || k->kind == LW_K_ELLIPSIS);
}

/* Whether it is the type of an array, a tuple, or a typed list or dict, which is a tuple here
 * (lanewise/_typed_containers.py). */
static bool
is_type(lw_infer_frame *f, lw_infer_value x)
{
    const lw_constant *k = x.constant ? lw_constant_of(f, x.constant) : NULL;

    return k && k->kind == LW_K_TUPLE && k->stands_for_type;
}

/* Of a number that is a member of an enum class, its identity. */
static const void *
member_of(lw_infer_frame *f, lw_infer_value x)
{
    const lw_constant *k = x.constant ? lw_constant_of(f, x.constant) : NULL;

    return k && (k->kind == LW_K_INT || k->kind == LW_K_UINT) ? k->bytes : NULL;
}

/* `is` of a member and something else: == of its number with that of a member of its class. */
static lw_status
infer_equality(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_value x, lw_infer_value y,
               int *truth)
{
    compared how = compare_types(f, op, x.type, y.type, &lw_typed_in(&f->nodes, node)->operand);

    *truth = x.constant && y.constant ? lw_fold_compare_constant(f, op, x.constant, y.constant)
             : how == COMPARED        ? -1
             : how == NO_ORDER        ? op == LW_PY_NE
                                      : how == ALWAYS;
    return LW_OK;
}

static lw_status
infer_is(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_value x, lw_infer_value y,
         int *truth)
{
    bool none = x.type == LW_T_NONE || y.type == LW_T_NONE;
    bool singletons = x.constant && y.constant && is_static(f, x.type) && is_static(f, y.type);
    bool same;

    if (lw_type_is_member(f, x.type) || lw_type_is_member(f, y.type))
        return infer_equality(f, node, op == LW_PY_IS ? LW_PY_EQ : LW_PY_NE, x, y, truth);
    if (member_of(f, x) && member_of(f, y)) {
        *truth = (op == LW_PY_IS) == (member_of(f, x) == member_of(f, y));
        return LW_OK;
    }
    if (lw_type_numbers(lw_types_of(f), x.type) && lw_type_numbers(lw_types_of(f), y.type)) {
        if (lw_enum_of(f, x.type)->id == lw_enum_of(f, y.type)->id)
            return infer_equality(f, node, op == LW_PY_IS ? LW_PY_EQ : LW_PY_NE, x, y, truth);
        *truth = op == LW_PY_IS_NOT;
        return LW_OK;
    }
    if (is_object_constant(f, x) != is_object_constant(f, y)) {
        *truth = op == LW_PY_IS_NOT;
        return LW_OK;
    }
    if (is_type(f, x) || is_type(f, y)) {
        *truth = (op == LW_PY_IS) == (x.constant == y.constant);
        return LW_OK;
    }
    if (!none && !singletons)
        return lw_complain(f, lw_node_of(f, node)->loc, "E122",
                           lw_format_text(f, "this is %s: `%s` compares identity, not value",
                                          lw_describe_type(f, y.type), lw_pyop_text[op]),
                           lw_format_text(f, "use `%s`", op == LW_PY_IS ? "==" : "!="),
                           lw_is_text(f, x.type) || lw_is_text(f, y.type) ? "`%s` on strings"
                                                                          : "`%s` on numbers",
                           lw_pyop_text[op]);
    same = none ? x.type == y.type
                : lw_fold_compare_constant(f, LW_PY_EQ, x.constant, y.constant) == 1;
    *truth = (op == LW_PY_IS) == same;
    return LW_OK;
}

static int
in_constants(lw_infer_frame *f, lw_infer_value x, const lw_constant *tuple)
{
    bool unknown = false;

    for (uint32_t i = 0; i < tuple->n; i++) {
        int same = lw_fold_compare_constant(f, LW_PY_EQ, x.constant, tuple->items[i]);
        if (same == 1)
            return 1;
        unknown |= same < 0;
    }
    return unknown ? -1 : 0;
}

/* x in y when both are known, or -1. */
static int
fold_in(lw_infer_frame *f, lw_infer_value x, lw_infer_value y)
{
    const lw_constant *a, *b;

    if (!x.constant || !y.constant)
        return -1;
    a = lw_constant_of(f, x.constant);
    b = lw_constant_of(f, y.constant);
    if (b->kind == LW_K_TUPLE)
        return in_constants(f, x, b);
    if (a->kind == LW_K_STR && b->kind == LW_K_STR)
        return strstr(b->text, a->text) != NULL;
    return lw_fold_in_flag(f, x.constant, y.constant);
}

static lw_status
infer_in(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_value x, lw_infer_value y,
         int *truth)
{
    const lw_type_row *row = lw_tuple_row(f, y.type);
    const lw_type *elements = row ? row->elements : NULL;
    uint32_t n = row ? row->n : 0, never = 0;
    lw_type *operands = lw_arena_take(f->run->arena, (n + 1) * sizeof *operands);
    int found = fold_in(f, x, y);

    if (found < 0)
        found = lw_fold_in_enum(f, x, y);
    if (operands == NULL)
        return lw_out_of_memory(f);
    if (found >= 0) {
        *truth = (op == LW_PY_IN) == found;
        return LW_OK;
    }
    if (lw_type_flags(f, x.type) != LW_T_BOTTOM &&
        lw_type_flags(f, x.type) == lw_type_flags(f, y.type)) {
        lw_typed_in(&f->nodes, node)->operand = lw_type_flags(f, x.type);
        return LW_OK;
    }
    if (lw_is_text(f, x.type) && lw_is_text(f, y.type)) {
        int is_part = lw_part_of_text(f, x.type, y.type);
        *truth = is_part < 0 ? -1 : (op == LW_PY_IN) == is_part;
        return LW_OK;
    }
    if (row == NULL)
        return lw_complain(f, lw_node_of(f, node)->loc, "E120",
                           lw_format_text(f, "this is %s", lw_describe_value(f, y)),
                           "write the values as a tuple: `x in (1, 2)`",
                           "`%s` needs a tuple on its right", lw_pyop_text[op]);
    for (uint32_t i = 0; i < n; i++) {
        if (is_memory(f, x.type) || is_memory(f, elements[i]))
            return lw_complain(f, lw_node_of(f, node)->loc, "E120",
                               lw_format_text(f, "%s and %s", lw_describe_type(f, x.type),
                                              lw_describe_type(f, elements[i])),
                               "compare numbers: fields, or elements",
                               "`%s` is not defined between these types", lw_pyop_text[op]);
        never += compare_types(f, LW_PY_EQ, x.type, elements[i], &operands[i]) == NEVER;
    }
    if (never == n)
        *truth = op == LW_PY_NOT_IN;
    lw_typed_in(&f->nodes, node)->operand = lw_type_tuple(lw_types_of(f), operands, n, NULL);
    return LW_OK;
}

/* 'S' or 'U' of an item of an array of bytes or texts, else 0. */
static char
text_of(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_record_row(lw_types_of(f), type);

    return row ? row->record->text : 0;
}

/* An item of an array of texts and another, or a text that is known when the function is
 * compiled. */
static bool
compares_texts(lw_infer_frame *f, lw_infer_operand x, lw_infer_operand y)
{
    char left = text_of(f, x.value.type), right = text_of(f, y.value.type);
    lw_infer_operand known = left ? y : x;
    const lw_constant *k =
        known.value.constant ? lw_constant_of(f, known.value.constant) : NULL;

    if ((left && right) || (!left && !right) || k == NULL)
        return left != 0 && left == right;
    return k->kind == ((left ? left : right) == 'U' ? LW_K_STR : LW_K_BYTES) &&
           lw_infer_known_text(f, known.node, left ? left : right, known.value);
}

/* One of them may be None: `is None`, and == and != with a value, which None never equals. */
static lw_status
infer_optional(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_operand x,
               lw_infer_operand y, int *truth)
{
    bool left = lw_type_given(lw_types_of(f), x.value.type) != LW_T_BOTTOM;
    bool right = lw_type_given(lw_types_of(f), y.value.type) != LW_T_BOTTOM;
    lw_status status;

    *truth = -1;
    if (x.value.type == LW_T_NONE || y.value.type == LW_T_NONE)
        return LW_OK;
    if (op == LW_PY_IS || op == LW_PY_IS_NOT)
        return lw_complain(f, lw_node_of(f, node)->loc, "E120",
                           lw_format_text(f, "%s and %s", lw_describe_type(f, x.value.type),
                                          lw_describe_type(f, y.value.type)),
                           "test first whether one of them is None, with `x is None`",
                           "`%s` of values that may be None", lw_pyop_text[op]);
    x.value.type = lw_type_without_none(lw_types_of(f), x.value.type);
    y.value.type = lw_type_without_none(lw_types_of(f), y.value.type);
    LW_TRY(lw_infer_compare(f, node, op, x, y, truth));
    if (*truth == (op == LW_PY_EQ) || (left && right)) /* both may be None, or only one */
        *truth = -1;
fail:
    return status;
}

static bool
is_membership(uint8_t op)
{
    return op == LW_PY_IN || op == LW_PY_NOT_IN;
}

/* Of operands that are no arrays, by an operator other than `in` and `is`. */
static lw_status
compare_values(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_operand x_operand,
               lw_infer_operand y_operand, int *truth)
{
    lw_infer_value x = x_operand.value, y = y_operand.value;
    lw_type operand = LW_T_BOTTOM;
    compared how;

    x.type = lw_by_value(f, x.type);
    y.type = lw_by_value(f, y.type);
    if (x.constant && y.constant) {
        *truth = lw_fold_compare_constant(f, op, x.constant, y.constant);
        if (*truth >= 0)
            return LW_OK;
    }
    if ((op == LW_PY_EQ || op == LW_PY_NE) && compares_texts(f, x_operand, y_operand))
        how = COMPARED;
    else
        how = compare_types(f, op, x.type, y.type, &operand);
    lw_typed_in(&f->nodes, node)->operand = operand;
    if (how == NO_ORDER)
        return lw_complain(f, lw_node_of(f, x_operand.node)->loc, "E120",
                           lw_format_text(f, "%s and %s", lw_describe_type(f, x.type),
                                          lw_describe_type(f, y.type)),
                           lw_type_is_complex(x.type) ? "compare `abs(...)` or `.real`"
                           : is_memory(f, x.type) || is_memory(f, y.type)
                               ? "compare field by field"
                               : NULL,
                           "`%s` is not defined between these types", lw_pyop_text[op]);
    *truth = how == ALWAYS ? 1 : how == NEVER ? 0 : -1;
    return LW_OK;
}

lw_status
lw_infer_compare(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_operand x_operand,
                 lw_infer_operand y_operand, int *truth)
{
    lw_infer_value x = x_operand.value, y = y_operand.value;
    lw_status status;
    bool refused;

    *truth = -1;
    if (x.type == LW_T_BOTTOM || y.type == LW_T_BOTTOM)
        return LW_OK;
    if (!is_membership(op) &&
        (lw_type_given(lw_types_of(f), x.type) || lw_type_given(lw_types_of(f), y.type)))
        return infer_optional(f, node, op, x_operand, y_operand, truth);
    x.type = lw_by_value(f, x.type);
    y.type = lw_by_value(f, y.type);
    if ((op == LW_PY_IS || op == LW_PY_IS_NOT) && x.type == LW_DT_b1 && y.type == LW_DT_b1)
        op = op == LW_PY_IS ? LW_PY_EQ : LW_PY_NE; /* there is one True and one False */
    if (op == LW_PY_IS || op == LW_PY_IS_NOT)
        return infer_is(f, node, op, x, y, truth);
    if (!is_membership(op) && (lw_type_kind_of(lw_types_of(f), x.type) == LW_TK_RANGE ||
                               lw_type_kind_of(lw_types_of(f), y.type) == LW_TK_RANGE))
        return lw_complain(f, lw_node_of(f, node)->loc, "E120", NULL, "compare their bounds",
                           "ranges cannot be compared in compiled code");
    if (lw_infer_is_whole(f, x, y) && !is_membership(op))
        return lw_infer_array_compare(f, node, op, x_operand, y_operand, truth);
    if (lw_array_row(f, x.type) || lw_array_row(f, y.type))
        return lw_complain_array_operand(f, node, op, x_operand, y_operand);
    if (is_membership(op) && lw_class_of(f, y.type)) {
        LW_TRY(lw_infer_object_items(f, y_operand.node, y, &refused, &y));
        if (y.type == LW_T_BOTTOM)
            return LW_OK;
    }
    LW_TRY(lw_check_objects_compared(f, node, op, x.type, y.type, &refused));
    if (refused)
        return LW_OK;
    if (is_membership(op))
        return infer_in(f, node, op, x, y, truth);
    status = compare_values(f, node, op, x_operand, y_operand, truth);
fail:
    return status;
}

/* ---- chains ---- */

/* The right operand of a link, while the left one waits. */
static lw_status
infer_right(lw_infer_frame *f, uint32_t link, uint32_t left_node, lw_infer_value *right)
{
    uint32_t held = lw_hold(f, left_node);
    lw_status status = lw_infer_borrowed(f, lw_node_of(f, link)->a, right);

    lw_unhold(f, held);
    return status;
}

static lw_status
infer_plain_link(lw_infer_frame *f, uint32_t link, lw_infer_operand left, lw_infer_value right,
                 int *truth)
{
    const lw_node *n = lw_node_of(f, link);
    lw_status status;

    LW_TRY(lw_infer_compare(f, link, (lw_pyop)n->op, left, (lw_infer_operand){n->a, right},
                            truth));
    lw_typed_in(&f->nodes, link)->type = LW_DT_b1;
    lw_typed_in(&f->nodes, link)->truth = (int8_t)*truth;
    lw_typed_in(&f->nodes, link)->constant = *truth >= 0 ? lw_node_bool(f, link, *truth) : 0;
fail:
    return status;
}

/* Whether the link compares whole arrays, element by element. */
static bool
is_elementwise_link(lw_infer_frame *f, uint32_t link, lw_infer_value x, lw_infer_value y)
{
    lw_pyop op = (lw_pyop)lw_node_of(f, link)->op;

    return op >= LW_PY_EQ && op <= LW_PY_GE &&
           (lw_is_elementwise(f, x.type) || lw_is_elementwise(f, y.type));
}

/* left op right, where one of them is an object whose class defines it. node: the COMPARE that
 * has only this link, or the link. */
static lw_status
infer_object_link(lw_infer_frame *f, uint32_t node, uint32_t link, lw_infer_operand left,
                  lw_infer_value right, bool *found, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, link);
    lw_arg x = {.node = left.node, .entry = left.node, .value = left.value};
    lw_arg y = {.node = n->a, .entry = n->a, .value = right};
    lw_status status = LW_OK;

    *found = false;
    if (n->op < LW_PY_EQ)
        return LW_OK;
    if (is_membership(n->op))
        LW_TRY(lw_infer_object_contains(f, node, (lw_pyop)n->op, x, y, found, out));
    else
        LW_TRY(lw_infer_object_compare(f, node, (lw_pyop)n->op, x, y, found, out));
    if (*found)
        lw_typed_in(&f->nodes, node)->truth = (int8_t)lw_truth_of(f, *out);
fail:
    return status;
}

/* Whether the call that a link is changes this operand of it. */
static bool
changes_operand(const lw_infer_frame *f, uint32_t link, uint32_t operand)
{
    const lw_typed_node *t = lw_typed_in(&f->nodes, link);
    const lw_instance *callee = &f->run->typed->instances.data[t->target];

    if (!f->report || t->call != LW_CALL_INSTANCE)
        return false;
    for (uint32_t i = 0; i < callee->n_changed; i++)
        if (f->run->typed->lists.data[t->args + callee->changed[i]] == operand)
            return true;
    return false;
}

/* A link of a chain that calls a method: a bool, so that the chain is one, and its right
 * operand stays what it was for the next link. */
static lw_status
infer_called_link(lw_infer_frame *f, uint32_t link, lw_infer_operand left, lw_infer_value right,
                  bool is_last, bool *found, int *truth)
{
    static const char help[] = "write comparisons one by one, with `and` between them";
    const lw_node *n = lw_node_of(f, link);
    lw_infer_value out = {LW_T_BOTTOM, 0};
    lw_status status;

    if (f->notes != NULL)
        *lw_note_at(f, link) = (lw_note){0};
    LW_TRY(infer_object_link(f, link, link, left, right, found, &out));
    if (!*found)
        return LW_OK;
    *truth = lw_truth_of(f, out);
    lw_typed_in(&f->nodes, link)->type = out.type;
    lw_typed_in(&f->nodes, link)->constant = out.constant;
    if (out.type != LW_T_BOTTOM && out.type != LW_DT_b1)
        return lw_complain(f, n->loc, "E165",
                           lw_format_text(f, "this `%s` gives %s", lw_pyop_text[n->op],
                                          lw_describe_value(f, out)),
                           help, "a chain of comparisons whose methods do not all give a bool");
    if (!is_last && changes_operand(f, link, n->a))
        return lw_complain(f, n->loc, "E165",
                           lw_format_text(f, "this `%s` changes it", lw_pyop_text[n->op]), help,
                           "a comparison changes an object that the next one of its chain is "
                           "about");
fail:
    return status;
}

/* A link of a chain runs only if all links before it were true. */
static lw_status
infer_link(lw_infer_frame *f, const lw_node *chain, uint32_t i, lw_infer_operand left,
           lw_infer_value right, int *truth)
{
    uint32_t link = f->run->tree->lists.data[chain->b + i];
    bool found = false;
    lw_status status = LW_OK;

    if (chain->c > 1)
        LW_TRY(infer_called_link(f, link, left, right, i + 1 == chain->c, &found, truth));
    if (!found)
        LW_TRY(infer_plain_link(f, link, left, right, truth));
fail:
    return status;
}

/* The right operand of link i never returns. */
static void
stop_chain(lw_infer_frame *f, const lw_node *chain, uint32_t i)
{
    for (uint32_t k = i; k < chain->c; k++) {
        lw_typed_node *link = lw_typed_in(&f->nodes, f->run->tree->lists.data[chain->b + k]);

        link->operand = LW_T_BOTTOM;
        link->truth = 0;
        link->constant = 0;
    }
}

/* Whether a comparison has an answer where an operand is None; on the right of `in`, where an
 * item is. */
static bool
may_be_of_none(lw_infer_frame *f, const lw_node *chain)
{
    uint8_t op = lw_node_of(f, f->run->tree->lists.data[chain->b])->op;

    return chain->c == 1 && (op == LW_PY_IS || op == LW_PY_IS_NOT || op == LW_PY_EQ ||
                             op == LW_PY_NE || is_membership(op));
}

/* == compares numbers that may be None; arrays and tuples must not be. */
static void
unwrap_compared(lw_infer_frame *f, uint32_t link, uint32_t node, lw_infer_value *value)
{
    lw_type given = lw_type_given(lw_types_of(f), value->type);
    uint8_t op = lw_node_of(f, link)->op;

    if (op != LW_PY_IS && op != LW_PY_IS_NOT && !lw_type_is_scalar(f, given) &&
        !lw_is_text(f, given))
        lw_unwrap(f, node, value);
}

/* The operands of the first link of a comparison n. */
static lw_status
infer_first_operands(lw_infer_frame *f, const lw_node *n, uint32_t link, lw_infer_value *left,
                     lw_infer_value *right)
{
    const lw_node *first = lw_node_of(f, link);
    lw_status status;
    bool before;

    f->wants_optional = f->wants_items = may_be_of_none(f, n);
    LW_TRY(lw_infer_borrowed(f, n->a, left));
    before = lw_stores_begin(f);
    f->wants_items = may_be_of_none(f, n);
    f->wants_optional = f->wants_items && !is_membership(first->op);
    LW_TRY(infer_right(f, link, n->a, right));
    unwrap_compared(f, link, n->a, left);
    if (is_membership(first->op) && lw_tuple_row(f, right->type) == NULL)
        lw_unwrap(f, n->a, left);
    unwrap_compared(f, link, first->a, right);
    LW_TRY(lw_stores_end(f, before, n->a, left));
fail:
    return status;
}

lw_status
lw_infer_comparison(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    bool found = false;
    const lw_node *n = lw_node_of(f, node);
    const uint32_t *links = &f->run->tree->lists.data[n->b];
    uint32_t left_node = n->a, outer = f->region;
    int all = 1, truth = -1;
    bool pure, whole = false;
    lw_infer_value left, right = {0};
    lw_flow stopped = {0};
    lw_status status;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    LW_TRY(infer_first_operands(f, n, links[0], &left, &right));
    if (n->c == 1)
        LW_TRY(infer_object_link(f, node, links[0], (lw_infer_operand){n->a, left}, right,
                                 &found, out));
    if (found)
        return LW_OK;
    pure = lw_is_pure(f, n->a);
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t link = links[i];

        if (i && !lw_may_stop_here(f, truth, true, &stopped))
            return lw_out_of_memory(f);
        if (i) {
            lw_region_open(f, node, false);
            status = infer_right(f, link, left_node, &right);
            if (all != 1 && lw_caught_stop(f, lw_node_of(f, link)->a, &status)) {
                stop_chain(f, n, i);
                pure = false;
                break;
            }
            LW_TRY(status);
        }
        LW_TRY(infer_link(f, n, i, (lw_infer_operand){left_node, left}, right, &truth));
        pure = pure && lw_is_pure(f, lw_node_of(f, link)->a);
        all = truth == 0 || all == 0 ? 0 : truth < 0 ? -1 : all;
        if (is_elementwise_link(f, link, left, right)) {
            whole = true;
            LW_TRY(lw_infer_array_comparison(f, node, left, right, out));
        }
        left = right;
        left_node = lw_node_of(f, link)->a;
    }
    lw_typed_in(&f->nodes, node)->truth = (int8_t)all;
    if (whole)
        goto fail;
    *out = (lw_infer_value){LW_DT_b1, 0};
    if (all >= 0 && pure)
        out->constant = lw_node_bool(f, node, all);
    lw_join_stopped(f, &stopped);
fail:
    lw_flow_put(f, &stopped);
    f->region = outer;
    return status;
}
