/* Typing of Python's own functions: conversions, min and max, len, range and its like, and the
 * questions that are answered at compile time. */
#include "core/front/infer/infer_internal.h"
#include "core/front/records.h"

#include <string.h>

/* ---- numbers ---- */

static lw_status
type_abs(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *x,
         lw_infer_value *out)
{
    lw_type type = x->value.type;
    __int128 value;

    if (!lw_type_is_number(f, type))
        return lw_complain_argument(f, name, x, "a number", NULL);
    if (x->value.constant &&
        lw_constant_int_value(lw_constant_of(f, x->value.constant), &value)) {
        *out = lw_constant_value(f, lw_node_int(f, node, value < 0 ? -value : value));
        return LW_OK;
    }
    if (type == LW_DT_b1 || type >= LW_T_FIRST_COMPOUND)
        type = lw_weak_int(f);
    lw_typed_in(&f->nodes, node)->operand = type;
    out->type = lw_float_of(type);
    return LW_OK;
}

static lw_status
type_round(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args, uint32_t n,
           lw_infer_value *out)
{
    bool digits = n > 1 && args[1].entry && args[1].value.type != LW_T_NONE;
    lw_type type = args[0].value.type;
    lw_status status = LW_OK;

    if (!lw_type_is_number(f, type) || lw_type_is_complex(type))
        return lw_complain_argument(f, name, &args[0], "a real number", NULL);
    if (digits && !lw_type_is_int_or_bool(f, args[1].value.type))
        return lw_complain_argument(f, name, &args[1], "an integer number of digits", NULL);
    LW_TRY(digits ? lw_check_wide(f, args[1].node, args[1].value)
                  : lw_check_finite(f, args[0].node, args[0].value));
    if (type == LW_DT_b1 || type >= LW_T_FIRST_COMPOUND)
        type = lw_weak_int(f);
    if (digits && !lw_weak_mode(f)) /* numba scales by a float64 */
        type = LW_DT_f64;
    lw_typed_in(&f->nodes, node)->operand = type;
    out->type = lw_type_is_real(f, type) && !digits ? lw_weak_int(f) : type;
fail:
    return status;
}

static lw_status
type_divmod(lw_infer_frame *f, uint32_t node, const lw_arg *args, lw_infer_value *out)
{
    lw_infer_value quotient;
    lw_type both[2];
    lw_status status;

    LW_TRY(lw_infer_binary(
        f, node, LW_PY_FLOORDIV,
        lw_beside_uint64(f, lw_infer_operand_of(&args[0]), args[1].value.type),
        lw_beside_uint64(f, lw_infer_operand_of(&args[1]), args[0].value.type), &quotient));
    if (quotient.type == LW_T_BOTTOM)
        return LW_OK;
    if (lw_type_kind_of(lw_types_of(f), quotient.type) == LW_TK_LITERAL)
        quotient.type = lw_weak_int(f);
    both[0] = both[1] = lw_typed_in(&f->nodes, node)->operand = quotient.type;
    out->type = lw_type_tuple(lw_types_of(f), both, 2, NULL);
fail:
    return status;
}

/* The values that min, max, sum, any and all take: the n arguments, or the items of a single
 * one, which is a tuple. */
static lw_status
items_of(lw_infer_frame *f, lw_name_id name, const lw_arg *args, uint32_t n,
         lw_infer_value **out, uint32_t *n_out)
{
    const lw_type_row *row = n == 1 ? lw_tuple_row(f, args[0].value.type) : NULL;
    uint32_t count = row ? row->n : n == 1 ? 0 : n;
    lw_infer_value *values = lw_arena_take(f->run->arena, (count + 1) * sizeof *values);

    *out = values;
    *n_out = 0;
    if (values == NULL)
        return lw_out_of_memory(f);
    if (n == 1 && row == NULL)
        return lw_complain_argument(f, name, &args[0], "a tuple", NULL);
    for (uint32_t i = 0; i < count; i++)
        values[i] = row ? lw_element(f, args[0].value, i) : args[i].value;
    *n_out = count;
    return LW_OK;
}

static uint32_t
extreme_constant(lw_infer_frame *f, const lw_infer_value *values, uint32_t n, bool smallest)
{
    uint32_t best = n ? values[0].constant : 0;

    for (uint32_t i = 0; best && i < n; i++) {
        int better;

        if (!values[i].constant)
            return 0;
        better = i == 0 ? 0
                        : lw_fold_compare_constant(f, smallest ? LW_PY_LT : LW_PY_GT,
                                                   values[i].constant, best);
        if (better < 0)
            return 0;
        best = better ? values[i].constant : best;
    }
    return best;
}

static lw_status
type_min_max(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args, uint32_t n,
             lw_infer_value *out)
{
    lw_infer_value *values;
    uint32_t count;
    const char *problem = NULL;
    lw_type *types;
    lw_status status;

    LW_TRY(items_of(f, name, args, n, &values, &count));
    if (count == 0)
        return n == 1 && lw_tuple_row(f, args[0].value.type)
                   ? lw_complain_argument(f, name, &args[0], "at least one value", NULL)
                   : LW_OK;
    out->constant = extreme_constant(f, values, count, lw_names[name].impl == LW_IMPL_MIN);
    if (out->constant) {
        *out = lw_constant_value(f, out->constant);
        return LW_OK;
    }
    types = lw_arena_take(f->run->arena, count * sizeof *types);
    if (types == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < count; i++) {
        types[i] = values[i].type;
        if (!lw_type_is_number(f, types[i]) || lw_type_is_complex(types[i]))
            return lw_complain_argument(f, name, &args[n == 1 ? 0 : i], "real numbers", NULL);
    }
    out->type = lw_join(lw_types_of(f), lw_typing_of(f), types, count, &problem);
    lw_typed_in(&f->nodes, node)->operand = out->type;
    if (problem)
        return lw_complain(f, lw_node_of(f, node)->loc, problem,
                           lw_format_text(f, "%s and %s", lw_describe_type(f, types[0]),
                                          lw_describe_type(f, types[count - 1])),
                           lw_help_for_join(problem), "the arguments have no common type");
fail:
    return status;
}

/* The sum of constants, which no run-time int has to hold; 0: one of them is no constant, or is
 * a NumPy scalar. */
static uint32_t
sum_constant(lw_infer_frame *f, uint32_t old, const lw_arg *start, const lw_infer_value *values,
             uint32_t n)
{
    uint32_t total = start && start->entry ? start->value.constant : lw_constant_int(f, 0, 0);

    for (uint32_t i = 0; total && i < n; i++)
        total = values[i].constant ? lw_fold_binary_constant(f, i + 1 == n ? old : 0, LW_PY_ADD,
                                                             total, values[i].constant)
                                   : 0;
    return n ? total : 0;
}

static lw_status
type_sum(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args, uint32_t n,
         lw_infer_value *out)
{
    lw_infer_value *values, start = {0};
    uint32_t count;
    lw_status status;

    LW_TRY(items_of(f, name, args, 1, &values, &count));
    if (lw_tuple_row(f, args[0].value.type) == NULL)
        return LW_OK;
    start.type = n > 1 && args[1].entry ? args[1].value.type : lw_weak_int(f);
    if (!lw_type_is_number(f, start.type))
        return lw_complain_argument(f, name, &args[1], "a number to start from", NULL);
    if (start.type >= LW_T_FIRST_COMPOUND)
        start.type = lw_weak_int(f);
    if (n < 2 && count && lw_weak_mode(f)) /* 0 + x is x, whatever x is */
        start.type = lw_type_literal(lw_types_of(f), 0, 0);
    out->constant = sum_constant(f, lw_typed_in(&f->nodes, node)->constant,
                                 n > 1 ? &args[1] : NULL, values, count);
    if (out->constant) {
        *out = lw_constant_value(f, out->constant);
        return LW_OK;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!lw_type_is_number(f, values[i].type))
            return lw_complain_argument(f, name, &args[0], "a tuple of numbers", NULL);
        LW_TRY(lw_promote_values(f, (lw_infer_operand){node, start},
                                 (lw_infer_operand){args[0].node, values[i]}, "+",
                                 &start.type));
    }
    lw_typed_in(&f->nodes, node)->operand = out->type = start.type;
    lw_note_arithmetic(f, node, out->type);
fail:
    return status;
}

static lw_status
type_any_all(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
             lw_infer_value *out)
{
    bool any = lw_names[name].impl == LW_IMPL_ANY;
    int answer = !any;
    lw_infer_value *values;
    uint32_t count;
    lw_status status;

    LW_TRY(items_of(f, name, args, 1, &values, &count));
    out->type = LW_DT_b1;
    for (uint32_t i = 0; i < count; i++) {
        int truth = lw_truth_of(f, values[i]);

        if (truth < 0 && !lw_type_is_number(f, values[i].type))
            return lw_complain_argument(f, name, &args[0], "a tuple of numbers", NULL);
        answer = truth == any ? any : truth < 0 && answer != any ? -1 : answer;
    }
    if (answer >= 0 && args[0].value.constant)
        out->constant = lw_node_bool(f, node, answer);
fail:
    return status;
}

/* ---- len, range and what iterates ---- */

/* A range, not an `enumerate` or a `zip`. */
static bool
is_range(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), type, LW_TK_RANGE);

    return row != NULL && lw_tuple_row(f, row->elements[0]) == NULL;
}

static lw_status
type_len(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *x,
         lw_infer_value *out)
{
    const lw_type_row *row = lw_tuple_row(f, lw_by_value(f, x->value.type));
    const lw_constant *constant =
        x->value.constant ? lw_constant_of(f, x->value.constant) : NULL;
    __int128 count = 0;

    if (lw_array_row(f, x->value.type))
        return lw_infer_array_len(f, node, x->node, x->value.type, out);
    if (lw_is_runtime_text(f, x->value.type)) {
        out->type = lw_length_of_texts(f, x->value.type);
        return LW_OK;
    }
    if (is_range(f, x->value.type) && lw_node_of(f, x->node)->kind == LW_NODE_CALL) {
        out->type = LW_T_INDEX;
        return LW_OK;
    }
    if (row) {
        count = row->n;
    } else if (constant && constant->kind == LW_K_STR) {
        count = lw_text_length(constant->text);
    } else {
        return lw_complain_argument(f, name, x, "a tuple or an array",
                                    lw_help_for_number(f, x->value));
    }
    *out = lw_constant_value(f, lw_node_int(f, node, count));
    return LW_OK;
}

static bool
int_argument(lw_infer_frame *f, const lw_arg *args, uint32_t n, uint32_t i, __int128 absent,
             __int128 *out)
{
    *out = absent;
    if (i >= n || args[i].entry == 0)
        return true;
    return args[i].value.constant &&
           lw_constant_int_value(lw_constant_of(f, args[i].value.constant), out);
}

static lw_status
type_range(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args, uint32_t n,
           lw_infer_value *out)
{
    __int128 start, stop, step;
    bool known;

    for (uint32_t i = 0; i < n; i++)
        if (!lw_type_is_int_or_bool(f, args[i].value.type))
            return lw_complain_argument(f, name, &args[i], "integers", NULL);
    known = int_argument(f, args, n, 2, 1, &step);
    if (known && step == 0)
        return lw_complain(f, lw_node_of(f, args[2].node)->loc, "E141",
                           "Python raises ValueError here", NULL,
                           "range() step must not be zero");
    known &= int_argument(f, args, n, 0, 0, &start);
    known &= int_argument(f, args, n, 1, 0, &stop);
    if (n == 1) {
        stop = start;
        start = 0;
    }
    lw_typed_in(&f->nodes, node)->truth = !known ? -1 : step > 0 ? start < stop : start > stop;
    lw_typed_in(&f->nodes, node)->operand = lw_weak_int(f);
    out->type = lw_type_range(lw_types_of(f), lw_weak_int(f));
    return LW_OK;
}

/* One argument of enumerate, zip or reversed: the type of its items, and whether there are
 * any. */
static lw_status
items_in(lw_infer_frame *f, const lw_arg *arg, lw_type *item, int64_t *count)
{
    lw_infer_value value;
    lw_status status;

    LW_TRY(lw_infer_items(f, arg->node, arg->value, &value, count));
    *item = value.type;
fail:
    return status;
}

static void
set_iterable(lw_infer_frame *f, uint32_t node, lw_type item, int64_t count, lw_infer_value *out)
{
    lw_typed_in(&f->nodes, node)->truth = count < 0 ? -1 : count > 0;
    if (item != LW_T_BOTTOM || count == 0)
        out->type = lw_type_range(lw_types_of(f), item);
}

static lw_status
type_enumerate(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
               uint32_t n, lw_infer_value *out)
{
    lw_type both[2] = {lw_weak_int(f), LW_T_BOTTOM};
    int64_t count;
    lw_status status;

    if (n > 1 && args[1].entry && !lw_type_is_int_or_bool(f, args[1].value.type))
        return lw_complain_argument(f, name, &args[1], "an integer to start from", NULL);
    LW_TRY(items_in(f, &args[0], &both[1], &count));
    set_iterable(f, node,
                 both[1] ? lw_type_tuple(lw_types_of(f), both, 2, NULL) : (lw_type)LW_T_BOTTOM,
                 count, out);
fail:
    return status;
}

static lw_status
type_zip(lw_infer_frame *f, uint32_t node, const lw_arg *args, uint32_t n, lw_infer_value *out)
{
    lw_type *items = lw_arena_take(f->run->arena, (n + 1) * sizeof *items);
    int64_t count, least = 1;
    bool unknown = false;
    lw_status status = LW_OK;

    if (items == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < n; i++) {
        LW_TRY(items_in(f, &args[i], &items[i], &count));
        unknown |= items[i] == LW_T_BOTTOM && count != 0;
        least = count == 0 || least == 0 ? 0 : count < 0 ? -1 : least;
    }
    if (n == 0)
        least = 0;
    if (!unknown)
        set_iterable(f, node, lw_type_tuple(lw_types_of(f), items, n, NULL), least, out);
fail:
    return status;
}

/* The number of axes that the arguments of ndindex give; 0: they are no extents. */
static uint32_t
axes_of_extents(lw_infer_frame *f, const lw_arg *args, uint32_t n)
{
    const lw_type_row *tuple = n == 1 ? lw_tuple_row(f, args[0].value.type) : NULL;
    uint32_t n_axes = tuple ? tuple->n : n;

    for (uint32_t i = 0; i < n_axes; i++)
        if (!lw_type_is_int(f, tuple ? tuple->elements[i] : args[i].value.type))
            return 0;
    return n_axes <= LW_MAX_ARRAY_DIMS ? n_axes : 0;
}

/* np.ndindex(shape), np.ndindex(n, m), np.ndenumerate(array): tuples of indices, the last one
 * fastest, and the element with them. */
static lw_status
type_indices(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args, uint32_t n,
             lw_infer_value *out)
{
    bool has_element = lw_names[name].impl == LW_IMPL_NDENUMERATE;
    const lw_type_row *array = lw_array_row(f, args[0].value.type);
    lw_type item[2];
    lw_status status;
    uint32_t n_axes = has_element ? (array ? array->ndim : 0) : axes_of_extents(f, args, n);

    if (has_element && (array == NULL || !lw_type_is_dtype(array->elements[0])))
        return lw_complain_argument(f, name, &args[0], "an array of numbers", NULL);
    if (n_axes == 0)
        return lw_complain_argument(f, name, &args[0],
                                    has_element ? "an array of at least one axis"
                                                : "extents: integers, or a tuple of them",
                                    NULL);
    LW_TRY(lw_tuple_of(f, lw_weak_int(f), n_axes, &item[0]));
    item[1] = has_element ? array->elements[0] : LW_T_BOTTOM;
    set_iterable(f, node, has_element ? lw_type_tuple(lw_types_of(f), item, 2, NULL) : item[0],
                 -1, out);
fail:
    return status;
}

static lw_status
type_reversed(lw_infer_frame *f, uint32_t node, const lw_arg *x, lw_infer_value *out)
{
    lw_type item;
    int64_t count;
    lw_status status;

    LW_TRY(items_in(f, x, &item, &count));
    set_iterable(f, node, item, count, out);
fail:
    return status;
}

/* ---- answered at compile time ---- */

/* The Python class of a value of this type: 0 int, 1 float, 2 bool, 3 complex, -1 none. */
static int
python_class(lw_infer_frame *f, lw_type type)
{
    lw_dtype stored = lw_type_stored(lw_types_of(f), type);

    if (lw_type_is_member(f, type) || lw_is_text(f, type))
        return -1;
    if (lw_type_is_int(f, type))
        return 0;
    switch (lw_dtypes[stored].kind) {
    case LW_KIND_BOOL: return 2;
    case LW_KIND_FLOAT: return 1;
    case LW_KIND_COMPLEX: return 3;
    default: return -1;
    }
}

/* Whether a value of this type is an instance of the Python class. NumPy's float64 and
 * complex128 are subclasses of float and complex; other NumPy scalars are instances of none of
 * these. numba's ints are int64. */
static bool
is_python_instance(lw_infer_frame *f, lw_infer_value x, uint32_t class)
{
    int own = python_class(f, x.type);

    if (own == 2)
        return class == 2 || (class == 0 && x.constant);
    if ((uint32_t)own != class)
        return false;
    return x.type >= LW_N_DTYPES || x.type == LW_DT_f64 || x.type == LW_DT_c128 ||
           (!lw_weak_mode(f) && x.type == LW_DT_i64);
}

/* numpy.floating and its like: classes of several dtypes. Python's numbers belong to none. */
static int
is_numpy_instance(lw_infer_frame *f, lw_infer_value x, const char *class)
{
    enum { BOOL = 1, INT = 2, UINT = 4, FLOAT = 8, COMPLEX = 16 };
    static const struct {
        const char *name;
        int kinds;
    } classes[] = {{"numpy.generic", BOOL | INT | UINT | FLOAT | COMPLEX},
                   {"numpy.number", INT | UINT | FLOAT | COMPLEX},
                   {"numpy.integer", INT | UINT},
                   {"numpy.signedinteger", INT},
                   {"numpy.unsignedinteger", UINT},
                   {"numpy.inexact", FLOAT | COMPLEX},
                   {"numpy.floating", FLOAT},
                   {"numpy.complexfloating", COMPLEX}};
    static const int of_class[] = {INT, FLOAT, BOOL, COMPLEX}; /* a number of python_class */
    int own = python_class(f, x.type), kind = own < 0 ? 0 : of_class[own];

    if (kind == INT && lw_dtypes[lw_type_stored(lw_types_of(f), x.type)].kind == LW_KIND_UINT)
        kind = UINT;
    if (x.type >= LW_N_DTYPES || (kind == BOOL && x.constant))
        kind = 0;
    if (lw_type_is_time(x.type) && strcmp(class, "numpy.generic") == 0)
        return 1;
    if (lw_type_is_time(x.type) && !lw_is_datetime((lw_dtype)x.type))
        kind = INT; /* NumPy's timedelta64 is a signed integer */
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(class, classes[i].name) == 0)
            return (classes[i].kinds & kind) != 0;
    return -1;
}

/* tuple, numpy.ndarray, and the classes of NumPy's numbers; -1: another class. */
static int
is_object_instance(lw_infer_frame *f, lw_infer_value x, const char *class)
{
    const lw_class *user_class = lw_class_of(f, x.type);
    bool is_tuple = user_class ? user_class->is_namedtuple : lw_tuple_row(f, x.type) != NULL;
    lw_grown_kind grown = user_class ? user_class->grown : LW_GROWN_NONE;
    bool is_list =
        user_class ? grown == LW_GROWN_LIST : is_tuple && lw_tuple_row(f, x.type)->is_list;
    bool is_array = lw_array_row(f, x.type) != NULL;

    if (strcmp(class, "builtins.tuple") == 0)
        return is_tuple && !is_list;
    if (strcmp(class, "builtins.list") == 0)
        return is_list;
    if (strcmp(class, "builtins.dict") == 0)
        return grown == LW_GROWN_DICT;
    if (strcmp(class, "builtins.set") == 0)
        return grown == LW_GROWN_SET;
    if (strcmp(class, "builtins.object") == 0)
        return 1;
    if (strcmp(class, "builtins.str") == 0)
        return lw_is_text(f, x.type);
    if (strcmp(class, "numpy.ndarray") == 0)
        return is_array;
    if (strcmp(class, "numpy.void") == 0)
        return lw_record_row(lw_types_of(f), x.type) != NULL;
    return is_numpy_instance(f, x, class);
}

static bool
is_member_of(lw_infer_frame *f, lw_type type, const void *class)
{
    const lw_enum *members = lw_enum_of(f, type);

    return members != NULL && members->id == class;
}

/* 1, 0, or -1: the class is not known here. */
static int
is_instance(lw_infer_frame *f, lw_infer_value x, uint32_t class_constant)
{
    const lw_constant *class = lw_constant_of(f, class_constant);
    int answer = 0;

    switch (class->kind) {
    case LW_K_PYTYPE: return is_python_instance(f, x, (uint32_t) class->u);
    case LW_K_DTYPE:
        return x.type == (lw_type) class->dtype ||
               (lw_is_time(class->dtype) && lw_dtypes[class->dtype].unit == LW_UNIT_generic &&
                lw_type_is_time(x.type) &&
                lw_dtypes[x.type].kind == lw_dtypes[class->dtype].kind);
    case LW_K_OBJECT:
        if (lw_class_is(lw_class_of(f, x.type), class->bytes) ||
            is_member_of(f, x.type, class->bytes))
            return 1;
        return is_object_instance(f, x, class->text ? class->text : "");
    case LW_K_CLASS:
        if (class->user_class->is_namedtuple && lw_class_of(f, x.type) == NULL &&
            lw_tuple_row(f, x.type) != NULL)
            return -1; /* joined with tuples it is a tuple */
        return lw_class_is(lw_class_of(f, x.type), class->user_class->id);
    case LW_K_NAMED:
        if (lw_names[class->u].rule != LW_RULE_PYTYPE)
            return -1;
        return is_python_instance(f, x, (uint32_t)(lw_names[class->u].impl - LW_IMPL_TO_INT));
    case LW_K_TUPLE:
        for (uint32_t i = 0; i < class->n && answer != 1; i++) {
            int one = is_instance(f, x, class->items[i]);
            answer = one == 1 ? 1 : one < 0 ? -1 : answer;
        }
        return answer;
    default: return -1;
    }
}

static lw_status
type_isinstance(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
                lw_infer_value *out)
{
    int answer =
        args[1].value.constant ? is_instance(f, args[0].value, args[1].value.constant) : -1;

    if (answer < 0)
        return lw_complain_argument(
            f, name, &args[1],
            "classes that compiled code knows: int, float, bool, complex, "
            "np.float32, np.floating, …",
            NULL);
    *out = lw_constant_value(f, lw_node_bool(f, node, answer));
    return LW_OK;
}

static lw_status
type_type(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *x,
          lw_infer_value *out)
{
    lw_type type = x->value.type;
    lw_constant constant = {.kind = LW_K_DTYPE, .dtype = lw_type_stored(lw_types_of(f), type)};
    int class = python_class(f, type);

    if (lw_class_of(f, type)) {
        *out = lw_constant_value(f, lw_class_of(f, type)->constant);
        return LW_OK;
    }
    if (class < 0 && !lw_type_is_time(type))
        return lw_complain_argument(f, name, x, "a number", NULL);
    if (!lw_type_is_dtype(type) || class == 2) {
        constant = (lw_constant){.kind = LW_K_PYTYPE};
        constant.u = (uint64_t) class;
    } else {
        constant.text = lw_dtypes[type].public_name;
    }
    *out = lw_constant_value(f, lw_node_constant(f, node, &constant));
    return LW_OK;
}

static lw_status
type_truth(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *x,
           lw_infer_value *out)
{
    int truth = lw_truth_of(f, x->value);

    if (truth < 0 && !lw_type_is_number(f, x->value.type))
        return lw_complain_argument(f, name, x, "a number", NULL);
    out->type = LW_DT_b1;
    if (truth >= 0 && x->value.constant)
        out->constant = lw_node_bool(f, node, truth);
    return LW_OK;
}

/* ---- conversions ---- */

static lw_status
conversion(lw_infer_frame *f, uint32_t node, lw_dtype to, lw_type type, const lw_arg *arg,
           lw_infer_value *out)
{
    bool weak = type != (lw_type)to;
    lw_constant constant = {.kind = LW_K_INT};
    lw_status status = LW_OK;

    if (arg && weak && lw_is_integer(to))
        LW_TRY(lw_check_finite(f, arg->node, arg->value));
    out->type = type;
    if (arg && arg->value.constant) {
        out->constant = lw_fold_cast_constant(f, lw_typed_in(&f->nodes, node)->constant,
                                              arg->value.constant, to, weak);
    } else if (arg == NULL) {
        uint32_t zero = lw_constant_add(f, 0, &constant);
        out->constant = zero ? lw_fold_cast_constant(f, lw_typed_in(&f->nodes, node)->constant,
                                                     zero, to, weak)
                             : 0;
    }
    if (out->constant)
        *out = lw_constant_value(f, out->constant);
    if (!f->report)
        return LW_OK;
    lw_typed_in(&f->nodes, node)->call = LW_CALL_CAST;
    lw_typed_in(&f->nodes, node)->target = to;
    LW_TRY(lw_call_arguments(f, node, arg, arg != NULL));
fail:
    return status;
}

static lw_status
complain_count(lw_infer_frame *f, uint32_t node, uint32_t n, uint32_t most)
{
    return lw_complain(f, lw_node_of(f, node)->loc, "E153",
                       lw_format_text(f, "%u arguments given, at most %u expected", n, most),
                       NULL, "wrong number of arguments for a conversion");
}

/* float(z) of an array without axes: as of its element, which lowering loads. */
static const lw_arg *
with_elements(lw_infer_frame *f, const lw_arg *args, uint32_t n, lw_arg *room)
{
    for (uint32_t i = 0; i < n && i < 2; i++) {
        const lw_type_row *array = lw_array_row(f, args[i].value.type);
        room[i] = args[i];
        if (array != NULL && array->ndim == 0 && lw_type_is_number(f, array->elements[0]))
            room[i].value = (lw_infer_value){.type = array->elements[0]};
    }
    return n <= 2 ? room : args;
}

lw_status
lw_infer_cast(lw_infer_frame *f, uint32_t node, lw_dtype to, const lw_arg *args, uint32_t n,
              lw_infer_value *out)
{
    lw_status status;
    lw_arg room[2];

    args = with_elements(f, args, n, room);
    if (lw_is_time(to) || (n == 1 && lw_has_time(args, n)))
        return lw_infer_time_cast(f, node, to, args, n, out);
    if (n > 1)
        return complain_count(f, node, n, 1);
    if (n && !lw_type_is_number(f, args[0].value.type))
        return lw_complain(f, lw_node_of(f, args[0].node)->loc, "E120",
                           lw_format_text(f, "this is %s", lw_describe_value(f, args[0].value)),
                           NULL, "only numbers can be converted to %s",
                           lw_dtypes[to].public_name);
    if (n && lw_type_is_complex(args[0].value.type) && !lw_is_complex(to) && to != LW_DT_b1)
        return lw_complain(
            f, lw_node_of(f, args[0].node)->loc, "E142",
            lw_format_text(f, "%s to %s would drop the imaginary part",
                           lw_describe_type(f, args[0].value.type), lw_dtypes[to].public_name),
            "use `.real` or `abs(...)`", "complex number where a real one is needed");
    if (n)
        LW_TRY(lw_check_literal(f, args[0].node, args[0].value, to, 0));
    LW_TRY(conversion(f, node, to, to, n ? args : NULL, out));
fail:
    return status;
}

static lw_status
infer_complex(lw_infer_frame *f, uint32_t node, const lw_arg *args, uint32_t n,
              lw_infer_value *out)
{
    lw_constant constant = {.kind = LW_K_COMPLEX};
    lw_arg room[2];

    args = with_elements(f, args, n, room);
    for (uint32_t i = 0; i < n; i++)
        if (args[i].entry && !lw_type_is_number(f, args[i].value.type))
            return lw_complain_argument(f, LW_NAME_builtins_complex, &args[i], "numbers", NULL);
    out->type = lw_weak_complex(f);
    if (n == 0)
        out->constant = lw_node_constant(f, node, &constant);
    if (!f->report)
        return LW_OK;
    lw_typed_in(&f->nodes, node)->call = LW_CALL_NAMED;
    lw_typed_in(&f->nodes, node)->target = LW_NAME_builtins_complex;
    return lw_call_arguments(f, node, args, n);
}

lw_status
lw_infer_pytype(lw_infer_frame *f, uint32_t node, uint32_t pytype, const lw_arg *args,
                uint32_t n, lw_infer_value *out)
{
    static const lw_name_id names[] = {LW_NAME_builtins_int, LW_NAME_builtins_float,
                                       LW_NAME_builtins_bool, LW_NAME_builtins_complex};
    lw_arg room[2];
    lw_type type;
    lw_status status;
    int truth;

    args = with_elements(f, args, n, room);
    type = n ? args[0].value.type : (lw_type)LW_T_BOTTOM;
    pytype &= 3;
    if (n > (pytype == 3 ? 2u : 1u))
        return complain_count(f, node, n, pytype == 3 ? 2 : 1);
    if (pytype == 3)
        return infer_complex(f, node, args, n, out);
    if (n && pytype == 2) {
        truth = lw_truth_of(f, args[0].value);
        if (truth >= 0 && !lw_type_is_number(f, type)) {
            *out = lw_constant_value(f, lw_node_bool(f, node, truth));
            return LW_OK;
        }
    }
    if (n && pytype == 2 && (lw_type_is_time(type) || lw_is_text(f, type)))
        return conversion(f, node, LW_DT_b1, LW_DT_b1, args, out);
    if (n && (!lw_type_is_number(f, type) || (pytype != 2 && lw_type_is_complex(type))))
        return lw_complain_argument(f, names[pytype], &args[0], "a real number", NULL);
    if (pytype == 0 && n && lw_type_kind_of(lw_types_of(f), type) == LW_TK_LITERAL) {
        *out = args[0].value;
        if (out->constant)
            return LW_OK;
    }
    if (pytype == 0 && n && !lw_weak_mode(f) && lw_type_is_strong_int(type))
        return conversion(f, node, (lw_dtype)type, type, args, out); /* numba's int(x) */
    if (n && pytype == 1)
        LW_TRY(lw_check_literal(f, args[0].node, args[0].value, LW_DT_f64, 0));
    return conversion(f, node,
                      pytype == 0   ? LW_DT_i64
                      : pytype == 1 ? LW_DT_f64
                                    : LW_DT_b1,
                      pytype == 0   ? lw_weak_int(f)
                      : pytype == 1 ? lw_weak_float(f)
                                    : (lw_type)LW_DT_b1,
                      n ? args : NULL, out);
fail:
    return status;
}

lw_status
lw_infer_builtin(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
                 uint32_t n, lw_infer_value *out)
{
    switch (lw_names[name].rule) {
    case LW_RULE_ABS: return type_abs(f, node, name, &args[0], out);
    case LW_RULE_JOIN: return type_min_max(f, node, name, args, n, out);
    case LW_RULE_ROUND: return type_round(f, node, name, args, n, out);
    case LW_RULE_DIVMOD: return type_divmod(f, node, args, out);
    case LW_RULE_PYTYPE:
        return lw_infer_pytype(f, node, (uint32_t)(lw_names[name].impl - LW_IMPL_TO_INT), args,
                               n, out);
    case LW_RULE_LEN: return type_len(f, node, name, &args[0], out);
    case LW_RULE_SUM: return type_sum(f, node, name, args, n, out);
    case LW_RULE_ANY:
    case LW_RULE_ALL: return type_any_all(f, node, name, args, out);
    case LW_RULE_RANGE: return type_range(f, node, name, args, n, out);
    case LW_RULE_ENUMERATE: return type_enumerate(f, node, name, args, n, out);
    case LW_RULE_ZIP: return type_zip(f, node, args, n, out);
    case LW_RULE_INDICES: return type_indices(f, node, name, args, n, out);
    case LW_RULE_REVERSED: return type_reversed(f, node, &args[0], out);
    case LW_RULE_ISINSTANCE: return type_isinstance(f, node, name, args, out);
    case LW_RULE_TYPE: return type_type(f, node, name, &args[0], out);
    case LW_RULE_TRUTH: return type_truth(f, node, name, &args[0], out);
    case LW_RULE_OVERLAP: return lw_infer_overlap(f, node, lw_names[name].impl, args, n, out);
    default: return LW_ERR_INTERNAL; /* call.c types print */
    }
}
