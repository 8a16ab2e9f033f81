/* Methods of numbers: conjugate, bit_count, bit_length, is_integer, view. Calls of other
 * methods are errors that name an alternative. */
#include "core/front/infer/infer_internal.h"

#include <string.h>

lw_status
lw_take_object(lw_infer_frame *f, uint32_t node, lw_call_kind call, uint32_t target)
{
    lw_typed_node *typed = lw_typed_in(&f->nodes, node);

    if (!f->report)
        return LW_OK;
    typed->call = (uint8_t)call;
    typed->target = target;
    typed->args = f->run->typed->lists.n;
    typed->n_args = 1;
    return lw_list_add(f, lw_node_of(f, lw_node_of(f, node)->a)->a) ? LW_OK
                                                                    : lw_out_of_memory(f);
}

static bool
has_bits(lw_infer_frame *f, lw_type type)
{
    return lw_type_kind_of(lw_types_of(f), type) == LW_TK_SCALAR && type != LW_DT_b1 &&
           !lw_type_is_complex(type);
}

/* x.view(dtype): the same bits as another type of the same size, as NumPy scalars have it. */
static lw_status
call_view(lw_infer_frame *f, uint32_t node, lw_infer_value object, const lw_arg *args,
          uint32_t n, lw_infer_value *out)
{
    const lw_arg *arg = n == 1 ? args : NULL;
    const lw_constant *constant =
        arg && arg->value.constant ? lw_constant_of(f, arg->value.constant) : NULL;
    lw_dtype to = constant && constant->kind == LW_K_DTYPE ? constant->dtype : LW_DT_void;

    if (!has_bits(f, object.type) || to == LW_DT_void || !has_bits(f, to) ||
        lw_dtypes[object.type].bits != lw_dtypes[to].bits)
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E161",
            lw_format_text(f, "the object is %s", lw_describe_type(f, object.type)),
            "both are integers or floats of one size: "
            "`np.float32(x).view(np.uint32)`",
            "`view` takes one dtype of the size of a NumPy scalar");
    out->type = to;
    return lw_take_object(f, node, LW_CALL_VIEW, to);
}

static bool
is_real(lw_infer_frame *f, lw_type type)
{
    return lw_type_is_number(f, type) && !lw_is_complex(lw_type_stored(lw_types_of(f), type));
}

const char *
lw_help_for_text(lw_infer_frame *f, lw_infer_value object)
{
    if (lw_is_text(f, object.type) && object.constant == 0)
        return "compiled code chooses among whole strings: `\"low: x\" if n < 0 else \"high: "
               "x\"`; f-strings in `print`, `raise` and `assert` show several";
    if (object.constant == 0 || lw_constant_of(f, object.constant)->kind != LW_K_STR)
        return NULL;
    return "in `print`, `raise` and `assert` an f-string shows numbers: f\"{x:.3f}\"";
}

const char *
lw_help_for_number(lw_infer_frame *f, lw_infer_value value)
{
    const lw_front_options *options = &f->run->typed->options;

    if (!lw_type_is_number(f, value.type))
        return NULL;
    if (options->procedure || options->threads || options->returns_arrays)
        return "pass an array, if only of one element; in `guvectorize`, the layout says which "
               "operands have axes, as `(n)`";
    return "a function of scalars gets one element of each argument, not the arrays; "
           "`@lanewise.guvectorize(\"(n)->()\")` makes a function of rows, and "
           "`excluded=(\"name\",)` passes a whole array";
}

static const char *
help_for_array(const char *name)
{
    static const char *const forms[] = {"tolist", "byteswap", "tobytes"};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(name, forms[i]) == 0)
            return "do it before the call, and pass the result";
    return "write the loop over its elements";
}

/* ---- the nearest name ---- */

static const char *const of_arrays[] = {
    "shape", "size",   "ndim", "dtype", "strides", "itemsize",  "real",
    "imag",  "astype", "item", "view",  "conj",    "conjugate",
#define ARRAY_FUNCTION(owner, name, module, helper, takes) NEAR_##owner(name)
#define NEAR_NUMPY(name)
#define NEAR_BOTH(name)      name,
#define NEAR_METHOD(name)    name,
#define NEAR_ATTRIBUTE(name) name,
#define NEAR_LINALG(name)
#define NEAR_STRIDES(name)
#define NEAR_MATH(name)
#define NEAR_PYTHON(name)
#define NEAR_OPERATOR(name)
#define NEAR_SPECIAL(name)
#define NEAR_RANDOM(name)
#define NEAR_PY_RANDOM(name)
#define NEAR_LISTS(name)
#include "core/tables/array_functions.def"
};

/* Functions of NumPy that are no methods of arrays. */
static const char *const of_numpy[] = {
#define ARRAY_FUNCTION(owner, name, module, helper, takes) ALONE_##owner(name)
#define ALONE_NUMPY(name)                                  name,
#define ALONE_BOTH(name)
#define ALONE_METHOD(name)
#define ALONE_ATTRIBUTE(name)
#define ALONE_LINALG(name)
#define ALONE_STRIDES(name)
#define ALONE_MATH(name)
#define ALONE_PYTHON(name)
#define ALONE_OPERATOR(name)
#define ALONE_SPECIAL(name)
#define ALONE_RANDOM(name)
#define ALONE_PY_RANDOM(name)
#define ALONE_LISTS(name)
#include "core/tables/array_functions.def"
};

static const char *const of_numbers[] = {"real",       "imag",      "conjugate", "dtype",
                                         "item",       "astype",    "view",      "bit_count",
                                         "bit_length", "is_integer"};

/* The names of the fields and members of an object. *n: how many. */
static const char **
names_of_object(lw_infer_frame *f, lw_type type, uint32_t *n)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), type, LW_TK_TUPLE);
    const lw_class *class = lw_class_of(f, type);
    uint32_t n_fields = row && row->names ? row->n : 0,
             n_members = class ? class->n_members : 0;
    const char **names =
        lw_arena_take(f->run->arena, (n_fields + n_members + 1) * sizeof *names);

    *n = 0;
    for (uint32_t i = 0; names && i < n_fields; i++)
        names[(*n)++] = row->names[i];
    for (uint32_t i = 0; names && i < n_members; i++)
        if (class->members[i].name[0] != '_')
            names[(*n)++] = class->members[i].name;
    return names;
}

static const char *const of_lists[] = {"append", "extend", "insert", "pop", "remove"};

static bool
is_among(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

const char *
lw_near_attribute(lw_infer_frame *f, lw_type type, const char *name)
{
    const char *near = NULL, **names;
    uint32_t n;

    if (lw_array_row(f, type) && is_among(name, of_lists, sizeof of_lists / sizeof *of_lists))
        return "an array keeps its size: collect values in a list, `out = []`, "
               "`out.append(v)`, or fill an array that is large enough, `np.empty(n)`";
    if (lw_array_row(f, type) && is_among(name, of_numpy, sizeof of_numpy / sizeof *of_numpy))
        return lw_format_text(f, "arrays have no such method: write `np.%s(x)`", name);
    if (lw_array_row(f, type)) {
        near = lw_nearest(name, of_arrays, sizeof of_arrays / sizeof *of_arrays);
    } else if (lw_type_is_number(f, type) &&
               !is_among(name, of_arrays, sizeof of_arrays / sizeof *of_arrays)) {
        near = lw_nearest(name, of_numbers, sizeof of_numbers / sizeof *of_numbers);
    } else if (!lw_type_is_number(f, type)) {
        names = names_of_object(f, type, &n);
        near = names && n ? lw_nearest(name, names, n) : NULL;
    }
    return near && strcmp(near, name) != 0 ? lw_format_text(f, "did you mean `%s`?", near)
                                           : NULL;
}

const char *
lw_help_for_list(lw_infer_frame *f, lw_infer_value object, const char *name)
{
    static const char *const methods[] = {"append", "extend", "insert", "pop",
                                          "remove", "sort",   "clear",  "reverse"};

    for (size_t i = 0; lw_tuple_row(f, object.type) && i < sizeof methods / sizeof *methods;
         i++)
        if (strcmp(name, methods[i]) == 0)
            return lw_tuple_row(f, object.type)->is_list
                       ? "this list is a constant, or an argument from Python: `y = list(x)` "
                         "makes a list that can change; Python sees the changes of a "
                         "`lanewise.typed.List`"
                       : "a tuple cannot change: `y = list(x)` makes a list that can";
    return NULL;
}

/* bit_length and bit_count: methods of ints, and of NumPy's integers. */
static lw_status
call_bits(lw_infer_frame *f, uint32_t node, lw_infer_value object, bool count,
          lw_infer_value *out)
{
    lw_typed_node *typed = lw_typed_in(&f->nodes, node);
    uint32_t bits =
        object.constant ? lw_fold_bits_constant(f, typed->constant, count, object.constant) : 0;
    lw_status status;

    if (bits) {
        *out = lw_constant_value(f, bits);
        return LW_OK;
    }
    LW_TRY(lw_check_wide(f, node, object));
    out->type = lw_weak_int(f);
    typed->operand = object.type == LW_DT_b1 ? out->type : object.type;
    status = lw_take_object(f, node, LW_CALL_METHOD,
                            count ? LW_NAME_numpy_bitwise_count : LW_NAME_int_bit_length);
fail:
    return status;
}

bool
lw_is_method_of_numbers(const char *name)
{
    static const char *const names[] = {"view",      "bit_count", "bit_length", "is_integer",
                                        "conjugate", "astype",    "item"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static lw_arg
object_as_argument(lw_infer_frame *f, uint32_t node, lw_infer_value object)
{
    uint32_t at = lw_node_of(f, lw_node_of(f, node)->a)->a;

    return (lw_arg){.node = at, .entry = at, .value = object};
}

/* x.astype(dtype) of a NumPy scalar: dtype(x). */
static lw_status
call_astype(lw_infer_frame *f, uint32_t node, lw_infer_value object, const lw_arg *args,
            uint32_t n, lw_infer_value *out)
{
    static const lw_dtype python[] = {LW_DT_i64, LW_DT_f64, LW_DT_b1, LW_DT_c128};
    const lw_constant *constant =
        n == 1 && args->value.constant ? lw_constant_of(f, args->value.constant) : NULL;
    lw_arg x = object_as_argument(f, node, object);
    lw_dtype to = LW_DT_void;

    if (constant != NULL && constant->kind == LW_K_DTYPE)
        to = constant->dtype;
    else if (constant != NULL && constant->kind == LW_K_PYTYPE)
        to = python[constant->u & 3];
    else if (constant != NULL && constant->kind == LW_K_STR)
        to = lw_scalar_from_name(constant->text, strlen(constant->text));
    if (to == LW_DT_void)
        return lw_complain(f, lw_node_of(f, node)->loc, "E161", "`astype` takes one dtype",
                           "`np.float32(x)` is the same as `x.astype(np.float32)`",
                           "the dtype must be known when the function is compiled");
    return lw_infer_cast(f, node, to, &x, 1, out);
}

/* x.item(): Python's number. */
static lw_status
call_item(lw_infer_frame *f, uint32_t node, lw_infer_value object, lw_infer_value *out)
{
    lw_arg x = object_as_argument(f, node, object);
    uint32_t pytype = object.type == LW_DT_b1                  ? 2
                      : lw_type_is_int_or_bool(f, object.type) ? 0
                      : is_real(f, object.type)                ? 1
                                                               : 3;

    return lw_infer_pytype(f, node, pytype, &x, 1, out);
}

lw_status
lw_infer_method(lw_infer_frame *f, uint32_t node, lw_infer_value object, const lw_arg *args,
                uint32_t n, lw_infer_value *out)
{
    const char *name = lw_constant_text(f, lw_node_of(f, lw_node_of(f, node)->a)->b);
    lw_typed_node *typed = lw_typed_in(&f->nodes, node);

    if (lw_type_is_time(object.type))
        return lw_infer_time_method(f, node, object, args, n, out);
    if (strcmp(name, "view") == 0 && lw_type_is_number(f, object.type))
        return call_view(f, node, object, args, n, out);
    if (strcmp(name, "astype") == 0 && lw_type_is_number(f, object.type))
        return call_astype(f, node, object, args, n, out);
    if (strcmp(name, "item") == 0 && n == 0 && lw_type_is_number(f, object.type))
        return call_item(f, node, object, out);
    if ((strcmp(name, "bit_count") == 0 || strcmp(name, "bit_length") == 0) && n == 0 &&
        lw_type_is_int_or_bool(f, object.type))
        return call_bits(f, node, object, strcmp(name, "bit_count") == 0, out);
    if (strcmp(name, "is_integer") == 0 && n == 0 && is_real(f, object.type)) {
        out->type = LW_DT_b1;
        typed->operand = object.type == LW_DT_b1 ? lw_weak_int(f) : object.type;
        return lw_take_object(f, node, LW_CALL_METHOD, LW_NAME_float_is_integer);
    }
    if (strcmp(name, "conjugate") != 0 || n || !lw_type_is_number(f, object.type)) {
        const char *near = lw_near_attribute(f, object.type, name);
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E161",
            lw_format_text(f, "the object is %s", lw_describe_type(f, object.type)),
            near != NULL                        ? near
            : lw_array_row(f, object.type)      ? help_for_array(name)
            : lw_type_is_number(f, object.type) ? lw_help_for_number(f, object)
            : lw_is_known_text(f, object.type)
                ? "call the methods of strings in Python, and pass their results"
                : lw_help_for_text(f, object),
            "no method `%s` in compiled code", name);
    }
    out->type = object.type == LW_DT_b1 ? lw_weak_int(f) : object.type;
    typed->operand = out->type;
    return lw_take_object(f, node, LW_CALL_METHOD, LW_NAME_numpy_conjugate);
}
