/* Calls of functions of whole arrays, which loop over the elements: which function of
 * lanewise/_array_functions.py implements the call, and whether the arguments suit it. */
#include "core/front/infer/infer_internal.h"
#include "core/front/records.h"

#include <string.h>

uint32_t
lw_array_function_named(lw_infer_frame *f, const char *name)
{
    for (uint32_t i = 0; i < f->run->tree->array_functions.n; i++)
        if (strcmp(f->run->tree->array_functions.data[i].name, name) == 0)
            return f->run->tree->array_functions.data[i].fn;
    return 0;
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
    case LW_NAME_builtins_sum: return lw_array_function_named(f, "sum_");
    case LW_NAME_builtins_min: return n == 1 ? lw_array_function_named(f, "min_") : 0;
    case LW_NAME_builtins_max: return n == 1 ? lw_array_function_named(f, "max_") : 0;
    case LW_NAME_builtins_any: return n == 1 ? lw_array_function_named(f, "any_") : 0;
    case LW_NAME_builtins_all: return n == 1 ? lw_array_function_named(f, "all_") : 0;
    default: return 0;
    }
}

bool
lw_is_own_attribute(lw_infer_frame *f, lw_infer_value object, const char *name)
{
    static const char *const names[] = {
#define ARRAY_FUNCTION(owner, name, module, helper, takes) IS_##owner(name)
#define IS_NUMPY(name)
#define IS_BOTH(name)
#define IS_METHOD(name)
#define IS_ATTRIBUTE(name) name,
#define IS_LINALG(name)
#define IS_STRIDES(name)
#define IS_MATH(name)
#define IS_PYTHON(name)
#define IS_OPERATOR(name)
#define IS_SPECIAL(name)
#define IS_RANDOM(name)
#define IS_PY_RANDOM(name)
#define IS_LISTS(name)
#include "core/tables/array_functions.def"
    };

    for (size_t i = 0; lw_array_row(f, object.type) && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Arrays of records: NULL: it is none. */
static const char *
help_for_records(lw_infer_frame *f, lw_type type)
{
    if (lw_array_row(f, type) == NULL || lw_record_of(lw_types_of(f), type) == NULL)
        return NULL;
    return "the fields are such arrays: `a[\"x\"]`";
}

static const char real[] = "a real number";

/* A function of lanewise.special that is called by this name implements nothing else. */
static lw_status
complain(lw_infer_frame *f, const lw_fn *fn, const lw_arg *arg, const char *wanted)
{
    const char *name =
        fn->implements ? fn->implements : lw_format_text(f, "lanewise.special.%s", fn->name);

    return lw_complain(
        f, lw_node_of(f, arg->node)->loc, "E120",
        lw_format_text(f, "this is %s", lw_describe_value(f, arg->value)),
        lw_type_is_complex(arg->value.type) && strcmp(wanted, real) == 0
            ? "complex arguments are not supported; pass `.real`, `.imag` or `abs(...)`"
        : lw_tuple_row(f, arg->value.type)
            ? lw_format_text(f, "`np.array(%s)` is an array", lw_describe_source(f, arg->node))
        : help_for_records(f, arg->value.type) ? help_for_records(f, arg->value.type)
        : lw_array_row(f, arg->value.type) && fn->takes[0] == 'f'
            ? "call it for each element in a loop; a function of one or two arguments also "
              "loops by itself, with an output: `special.gammaln(x, out)`"
            : lw_help_for_number(f, arg->value),
        "`%s` needs %s in compiled code", name, wanted);
}

/* Whether it is a tuple or a list of numbers, or of such lists. */
static bool
are_numbers(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_tuple_row(f, type);
    lw_type element;

    for (uint32_t i = 0; row && i < row->n; i++) {
        element = row->elements[i];
        if (!lw_type_is_number(f, element) && element != LW_DT_b1 && !are_numbers(f, element))
            return false;
    }
    return row != NULL;
}

/* What the argument should have been, by a letter of array_functions.def; NULL: it suits. */
static const char *
misfit(lw_infer_frame *f, const lw_arg *arg, char wanted)
{
    const lw_type_row *array = lw_array_row(f, arg->value.type);
    bool is_array = array && lw_type_is_number(f, array->elements[0]);
    bool is_row = is_array && array->ndim == 1;
    bool is_number = lw_type_is_number(f, arg->value.type) || arg->value.type == LW_DT_b1;
    bool has_times = lw_type_is_time(array ? array->elements[0] : arg->value.type);

    if (arg->keyword || arg->value.type == LW_T_BOTTOM)
        return NULL;
    if (wanted >= 'A' && wanted <= 'Z') {
        if (are_numbers(f, arg->value.type))
            return NULL;
        wanted = (char)(wanted - 'A' + 'a');
    }
    switch (wanted) {
    case 'a': return is_array ? NULL : "an array of numbers";
    case 'i': return array ? NULL : "an array";
    case 'n': return array || is_number ? NULL : "an array or a number";
    case 'e': return is_array || (array && has_times) ? NULL : "an array of numbers";
    case 'o':
        return is_array || arg->value.type == LW_T_NONE ? NULL : "an array of numbers, or None";
    case 'r':
        return is_row ? NULL : is_array ? "a one-dimensional array" : "an array of numbers";
    case 'd':
        return is_row || (array && has_times && array->ndim == 1) ? NULL
               : is_array || (array && has_times)                 ? "a one-dimensional array"
                                                  : "an array of numbers or times";
    case 'm':
        return is_number || is_array || has_times ? NULL
                                                  : "a number or a time, or an array of them";
    case 's': return is_number ? NULL : "a number";
    case 'f': return is_number && !lw_type_is_complex(arg->value.type) ? NULL : real;
    case 'x': return is_number || is_array ? NULL : "a number or an array of numbers";
    case 'v':
        return is_number || is_row ? NULL : "a number or a one-dimensional array of numbers";
    case 'p':
        return is_row || lw_tuple_row(f, arg->value.type)
                   ? NULL
                   : "a tuple or a one-dimensional array of numbers";
    default: return NULL;
    }
}

bool
lw_takes_arrays(lw_infer_frame *f, const lw_fn *fn, const lw_arg *args, uint32_t n,
                lw_status *status)
{
    *status = LW_OK;
    for (uint32_t i = 0; i < n && fn->takes[i] != '\0'; i++) { /* `!` and `~` fit everything */
        const char *wanted = misfit(f, &args[i], fn->takes[i]);
        if (wanted != NULL) {
            *status = complain(f, fn, &args[i], wanted);
            return false;
        }
    }
    return true;
}

lw_status
lw_check_entry(lw_infer_frame *f, const lw_infer_value *args, uint32_t n)
{
    lw_arg *given = lw_arena_take(f->run->arena, (n + 1) * sizeof *given);
    bool reports = f->report;
    lw_status status = LW_OK;

    if (given == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < n; i++)
        given[i] = (lw_arg){.value = args[i]}; /* of no node: nothing in the code is at fault */
    f->report = true;
    if (f->fn->takes != NULL)
        lw_takes_arrays(f, f->fn, given, n, &status);
    f->report = reports;
    return status;
}

lw_type
lw_array_function_result(lw_infer_frame *f, const lw_fn *fn, const lw_arg *args, uint32_t n,
                         lw_type type)
{
    size_t length = strlen(fn->takes);
    char last = length ? fn->takes[length - 1] : '\0';
    const lw_type_row *of = n ? lw_array_row(f, args[0].value.type) : NULL;

    if (lw_array_row(f, type) == NULL ||
        (last != '!' && (last != '~' || of == NULL || of->layout == LW_LAYOUT_C)))
        return type;
    return lw_type_array_readonly(lw_types_of(f), type);
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
