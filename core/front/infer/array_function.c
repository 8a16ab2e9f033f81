/* Calls of functions of whole arrays, which loop over the elements: which function of
 * lanewise/_array_functions.py implements the call, and whether the arguments suit it. */
#include "core/front/infer/infer_internal.h"

#include <string.h>

static uint32_t
find(lw_infer_frame *f, const char *name)
{
    for (uint32_t i = 0; i < f->run->tree->array_functions.n; i++)
        if (strcmp(f->run->tree->array_functions.data[i].name, name) == 0)
            return f->run->tree->array_functions.data[i].fn;
    return 0;
}

uint32_t
lw_array_function_of_method(lw_infer_frame *f, const char *name)
{
    return find(f, name);
}

/* The items of arrays with several axes are arrays, which Python's functions do not accept. */
uint32_t
lw_array_function_of_named(lw_infer_frame *f, lw_name_id name, const lw_arg *args, uint32_t n)
{
    const lw_type_row *array =
        n && !args[0].keyword ? lw_array_row(f, args[0].value.type) : NULL;

    if (array == NULL || array->ndim != 1)
        return 0;
    switch (name) {
    case LW_NAME_builtins_sum: return find(f, "sum_");
    case LW_NAME_builtins_min: return n == 1 ? find(f, "min_") : 0;
    case LW_NAME_builtins_max: return n == 1 ? find(f, "max_") : 0;
    case LW_NAME_builtins_any: return n == 1 ? find(f, "any_") : 0;
    case LW_NAME_builtins_all: return n == 1 ? find(f, "all_") : 0;
    default: return 0;
    }
}

static lw_status
complain(lw_infer_frame *f, const lw_fn *fn, const lw_arg *arg, const char *wanted)
{
    return lw_complain(f, lw_node_of(f, arg->node)->loc, "E120",
                       lw_format_text(f, "this is %s", lw_describe_value(f, arg->value)), NULL,
                       "`%s` needs %s in compiled code", fn->implements, wanted);
}

/* What the argument should have been; NULL: it suits. */
static const char *
misfit(lw_infer_frame *f, const lw_arg *arg, char wanted)
{
    const lw_type_row *array = lw_array_row(f, arg->value.type);
    bool is_row = array && array->ndim == 1 && lw_type_is_number(f, array->elements[0]);
    bool is_number = lw_type_is_number(f, arg->value.type) || arg->value.type == LW_DT_b1;

    if (arg->keyword || arg->value.type == LW_T_BOTTOM)
        return NULL;
    switch (wanted) {
    case 's': return is_number ? NULL : "a number";
    case 'r': return is_row ? NULL : "an array of one axis, of numbers";
    default:
        return is_row || lw_tuple_row(f, arg->value.type)
                   ? NULL
                   : "a tuple or an array of one axis, of numbers";
    }
}

static bool
takes_numbers(lw_infer_frame *f, const lw_fn *fn, const lw_arg *args, uint32_t n,
              lw_status *status)
{
    for (uint32_t i = 0; i < n && fn->takes[i] != '\0'; i++) {
        const char *wanted = misfit(f, &args[i], fn->takes[i]);
        if (wanted != NULL) {
            *status = complain(f, fn, &args[i], wanted);
            return false;
        }
    }
    return true;
}

bool
lw_takes_arrays(lw_infer_frame *f, const lw_fn *fn, const lw_arg *args, uint32_t n,
                lw_status *status)
{
    *status = LW_OK;
    if (fn->takes != NULL)
        return takes_numbers(f, fn, args, n, status);
    for (uint32_t i = 0; i < n && i < fn->n_arrays; i++) {
        const lw_type_row *array = lw_array_row(f, args[i].value.type);
        if (args[i].keyword)
            continue;
        if (array == NULL || !lw_type_is_number(f, array->elements[0])) {
            *status = complain(f, fn, &args[i], "an array of numbers");
            return false;
        }
        if (array->ndim > fn->max_axes) {
            *status = complain(f, fn, &args[i], "an array of one axis");
            return false;
        }
    }
    return true;
}

lw_status
lw_fold_product(lw_infer_frame *f, uint32_t node, const lw_arg *args, uint32_t n,
                lw_infer_value *out)
{
    const lw_type_row *row = n ? lw_tuple_row(f, args[0].value.type) : NULL;
    uint32_t n_items = row ? row->n : 0, product = 0;

    if (n_items > 0)
        product = n > 1 ? args[1].value.constant : lw_constant_int(f, 0, 1);
    for (uint32_t i = 0; product && i < n_items; i++) {
        uint32_t item = lw_element(f, args[0].value, i).constant;

        if (item && lw_fold_is_wide(f, LW_PY_MUL, product, item))
            return lw_complain_wide(f, node);
        product = item ? lw_fold_binary_constant(f, 0, LW_PY_MUL, product, item) : 0;
    }
    if (product)
        *out = lw_constant_value(f, product);
    return LW_OK;
}
