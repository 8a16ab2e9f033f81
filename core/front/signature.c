/* Parsed signatures: what each kind of function can take, the order in which signatures are
 * tried, and their text. */
#include "core/front/signature_internal.h"

#include "core/front/named_records.h"

#include <stdio.h>
#include <string.h>

/* ---- checks ---- */

static lw_status
refuse(const lw_signature *signature, const lw_sig_type *type, lw_error *err, const char *help,
       const char *what)
{
    lw_text name;
    lw_signature_parser s = {.text = signature->text ? signature->text : "", .err = err};
    const char *start = s.text + (type->col < strlen(s.text) ? type->col : 0);
    lw_status status;

    lw_text_init(&name);
    lw_sig_type_print(type, &name);
    status = lw_signature_fail(&s, start, start + 1, "E183", help, "%s `%s`", what,
                               lw_text_get(&name));
    lw_text_reset(&name);
    return status;
}

static lw_status
check_result(const lw_signature *signature, lw_error *err)
{
    const lw_sig_type *result = &signature->result;
    const char *help = "results are scalars, or a tuple of scalars for several outputs";

    if (result->kind == LW_SIG_VOID)
        return refuse(signature, result, err, "name the type that the function returns",
                      "an element-wise function must return a value, not");
    if (result->kind == LW_SIG_ARRAY)
        return refuse(signature, result, err, help, "a result cannot be an array:");
    if (result->kind == LW_SIG_POINTER)
        return refuse(signature, result, err, help, "a result cannot be a pointer:");
    if (result->kind == LW_SIG_TUPLE && result->n == 0)
        return refuse(signature, result, err, help, "a result cannot be an empty");
    for (uint32_t i = 0; result->kind == LW_SIG_TUPLE && i < result->n; i++)
        if (result->items[i].kind != LW_SIG_SCALAR)
            return refuse(signature, &result->items[i], err, help,
                          "an output must be a scalar, not");
    return LW_OK;
}

lw_status
lw_signature_check_scalar(const lw_signature *signature, lw_error *err)
{
    for (uint32_t i = 0; i < signature->n_args; i++) {
        const lw_sig_type *arg = &signature->args[i];
        if (arg->kind == LW_SIG_ARRAY)
            return refuse(signature, arg, err,
                          "element-wise functions name the element's type; arrays belong to "
                          "guvectorize",
                          "an argument must be a scalar, not the array");
        if (arg->kind != LW_SIG_SCALAR)
            return refuse(signature, arg, err, NULL, "an argument must be a scalar, not");
    }
    if (signature->n_args == 0)
        return refuse(
            signature, &signature->result, err, NULL,
            "an element-wise function needs at least one argument; this signature only "
            "has the result");
    return check_result(signature, err);
}

static lw_status
check_kernel_arg(const lw_signature *signature, const lw_sig_type *arg, lw_error *err)
{
    lw_status status = LW_OK;

    for (uint32_t i = 0; status == LW_OK && arg->kind == LW_SIG_TUPLE && i < arg->n; i++)
        status = arg->items[i].kind == LW_SIG_POINTER
                     ? refuse(signature, &arg->items[i], err, "make it an argument",
                              "an item of a tuple cannot be")
                     : check_kernel_arg(signature, &arg->items[i], err);
    return status;
}

lw_status
lw_signature_check_kernel(const lw_signature *signature, lw_error *err)
{
    for (uint32_t i = 0; i < signature->n_args; i++) {
        lw_status status = check_kernel_arg(signature, &signature->args[i], err);
        if (status != LW_OK)
            return status;
    }
    if (signature->result.kind == LW_SIG_NONE || signature->result.kind == LW_SIG_VOID)
        return LW_OK;
    return refuse(
        signature, &signature->result, err,
        "write `void(...)`; results go to arrays, and device=True makes a function that "
        "returns values to kernels",
        "a kernel returns nothing, not");
}

static lw_status
check_device_type(const lw_signature *signature, const lw_sig_type *type, bool c_abi,
                  lw_error *err)
{
    const char *help = "declare pointers and lengths: `void(float32*, int64)`";

    if (type->kind == LW_SIG_TUPLE)
        return refuse(signature, type, err, NULL, "a device function has no tuples, as");
    if (type->kind == LW_SIG_ARRAY && c_abi)
        return refuse(signature, type, err, help, "with abi=\"c\" there are no arrays, as");
    if (type->dtype == LW_DT_f16 || type->dtype == LW_DT_bf16) {
        if (type->kind != LW_SIG_SCALAR)
            return LW_OK;
        return refuse(signature, type, err, "pass it as float32, or by pointer",
                      "16-bit floats are passed in different ways by different compilers:");
    }
    if (type->kind == LW_SIG_SCALAR && lw_is_complex(type->dtype) && c_abi)
        return refuse(signature, type, err, "pass real and imaginary part, or a pointer",
                      "with abi=\"c\" there are no complex numbers, as");
    return LW_OK;
}

lw_status
lw_signature_check_device(const lw_signature *signature, bool c_abi, lw_error *err)
{
    const lw_sig_type *result = &signature->result;
    lw_status status = LW_OK;

    for (uint32_t i = 0; status == LW_OK && i < signature->n_args; i++) {
        const lw_sig_type *arg = &signature->args[i];
        status = arg->kind == LW_SIG_VOID
                     ? refuse(signature, arg, err, NULL, "an argument cannot be")
                     : check_device_type(signature, arg, c_abi, err);
    }
    if (status != LW_OK || result->kind == LW_SIG_VOID)
        return status;
    if (result->kind != LW_SIG_SCALAR && result->kind != LW_SIG_ARRAY)
        return refuse(signature, result, err, "write `float32(float32)`; `void` for no result",
                      "a device function returns a number, an array or void, not");
    return check_device_type(signature, result, c_abi, err);
}

uint32_t
lw_signature_n_out(const lw_signature *signature)
{
    switch (signature->result.kind) {
    case LW_SIG_NONE:
    case LW_SIG_VOID: return 0;
    case LW_SIG_TUPLE: return signature->result.n;
    default: return 1;
    }
}

lw_status
lw_signature_split(lw_signature *signature, lw_arena *arena, lw_signature *none, bool *found,
                   lw_error *err)
{
    lw_sig_type *with, *without;
    uint32_t i = 0;

    while (i < signature->n_args && signature->args[i].kind != LW_SIG_OPTIONAL)
        i++;
    *found = i < signature->n_args;
    if (!*found)
        return LW_OK;
    with = lw_arena_take(arena, signature->n_args * sizeof *with);
    without = lw_arena_take(arena, signature->n_args * sizeof *without);
    if (with == NULL || without == NULL)
        return lw_fail_memory(err);
    memcpy(with, signature->args, signature->n_args * sizeof *with);
    memcpy(without, signature->args, signature->n_args * sizeof *without);
    with[i] = signature->args[i].items[0];
    without[i] = (lw_sig_type){.kind = LW_SIG_VOID, .col = with[i].col};
    *none = *signature;
    none->args = without;
    signature->args = with;
    return LW_OK;
}

/* ---- order ---- */

static int
compare_types(const lw_sig_type *x, const lw_sig_type *y)
{
    int result;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->dtype != y->dtype)
        return x->dtype < y->dtype ? -1 : 1;
    if (x->record != y->record)
        return x->record < y->record ? -1 : 1;
    if (x->ndim != y->ndim)
        return x->ndim < y->ndim ? -1 : 1;
    if (x->layout != y->layout)
        return x->layout < y->layout ? -1 : 1;
    if (x->readonly != y->readonly)
        return x->readonly ? 1 : -1;
    if ((x->class_name == NULL) != (y->class_name == NULL))
        return x->class_name == NULL ? -1 : 1;
    result = x->class_name ? strcmp(x->class_name, y->class_name) : 0;
    if (result != 0)
        return result;
    for (uint32_t i = 0; i < x->n && i < y->n; i++) {
        result = x->names && y->names ? strcmp(x->names[i], y->names[i]) : 0;
        if (result == 0)
            result = compare_types(&x->items[i], &y->items[i]);
        if (result != 0)
            return result;
    }
    return x->n == y->n ? 0 : x->n < y->n ? -1 : 1;
}

static int
compare_arguments(const lw_signature *x, const lw_signature *y)
{
    for (uint32_t i = 0; i < x->n_args && i < y->n_args; i++) {
        int result = compare_types(&x->args[i], &y->args[i]);
        if (result != 0)
            return result;
    }
    return x->n_args == y->n_args ? 0 : x->n_args < y->n_args ? -1 : 1;
}

static lw_status
conflict(const lw_signature *x, const lw_signature *y, lw_error *err, const char *what)
{
    lw_text first, second;
    lw_status status;

    lw_text_init(&first);
    lw_text_init(&second);
    lw_signature_print(x, &first);
    lw_signature_print(y, &second);
    status = lw_fail(err, LW_ERR_SIGNATURE, "E182: %s: `%s` and `%s`", what,
                     lw_text_get(&first), lw_text_get(&second));
    if (err != NULL && err->status == LW_ERR_SIGNATURE && err->code[0] == '\0')
        snprintf(err->code, sizeof err->code, "E182");
    lw_text_reset(&first);
    lw_text_reset(&second);
    return status;
}

/* An insertion sort: lists are short, and a stable order keeps messages in the user's order. */
static void
insertion_sort(lw_signature *signatures, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        lw_signature moved = signatures[i];
        uint32_t k = i;
        for (; k > 0 && compare_arguments(&signatures[k - 1], &moved) > 0; k--)
            signatures[k] = signatures[k - 1];
        signatures[k] = moved;
    }
}

static lw_status
check_pair(const lw_signature *x, const lw_signature *y, lw_error *err)
{
    if (x->n_args != y->n_args)
        return conflict(x, y, err, "signatures with different numbers of arguments");
    if (lw_signature_n_out(x) != lw_signature_n_out(y) && lw_signature_n_out(x) &&
        lw_signature_n_out(y))
        return conflict(x, y, err, "signatures with different numbers of results");
    if (compare_arguments(x, y) != 0)
        return LW_OK;
    return conflict(x, y, err,
                    compare_types(&x->result, &y->result) == 0
                        ? "the same signature twice"
                        : "two signatures for the same arguments");
}

lw_status
lw_signatures_sort(lw_signature *signatures, uint32_t n, bool keep_order, lw_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = i + 1; k < n; k++) {
            lw_status status = check_pair(&signatures[i], &signatures[k], err);
            if (status != LW_OK)
                return status;
        }
    }
    if (!keep_order)
        insertion_sort(signatures, n);
    return LW_OK;
}

/* ---- printing ---- */

static void
print_dims(const lw_sig_type *type, lw_text *out)
{
    lw_text_add(out, "[");
    for (uint32_t i = 0; i < type->ndim; i++) {
        bool contiguous = (type->layout == 'C' && i + 1 == type->ndim) ||
                          (type->layout == 'F' && i == 0 && type->ndim > 1);
        lw_text_add(out, i ? ", " : "");
        lw_text_add(out, contiguous ? "::1" : ":");
    }
    lw_text_add(out, "]");
}

static void
print_array(const lw_sig_type *type, lw_text *out)
{
    const char *element =
        type->record ? type->record->name : lw_dtypes[type->dtype].public_name;

    if (type->readonly) { /* a subscript cannot say that */
        lw_text_addf(out, "Array(%s, %u, '%c', readonly=True)", element, (unsigned)type->ndim,
                     type->layout);
        return;
    }
    lw_text_add(out, element);
    print_dims(type, out);
}

static void
print_list(const lw_sig_type *items, uint32_t n, lw_text *out)
{
    lw_text_add(out, "(");
    for (uint32_t i = 0; i < n; i++) {
        lw_text_add(out, i ? ", " : "");
        lw_sig_type_print(&items[i], out);
    }
    lw_text_add(out, ")");
}

static void
print_named_tuple(const lw_sig_type *type, lw_text *out)
{
    lw_text_addf(out, "NamedTuple(%s", type->class_name);
    for (uint32_t i = 0; i < type->n; i++) {
        lw_text_addf(out, ", %s: ", type->names[i]);
        lw_sig_type_print(&type->items[i], out);
    }
    lw_text_add(out, ")");
}

bool
lw_sig_type_same(const lw_sig_type *x, const lw_sig_type *y)
{
    return compare_types(x, y) == 0;
}

void
lw_sig_type_print(const lw_sig_type *type, lw_text *out)
{
    switch (type->kind) {
    case LW_SIG_NONE: break;
    case LW_SIG_VOID: lw_text_add(out, "void"); break;
    case LW_SIG_SCALAR: lw_text_add(out, lw_dtypes[type->dtype].public_name); break;
    case LW_SIG_RECORD: lw_text_add(out, type->record->name); break;
    case LW_SIG_ARRAY: print_array(type, out); break;
    case LW_SIG_POINTER:
        lw_text_addf(out, "%s*",
                     type->record                ? type->record->name
                     : type->dtype == LW_DT_void ? "void"
                                                 : lw_dtypes[type->dtype].public_name);
        break;
    case LW_SIG_OPTIONAL:
        lw_text_add(out, "optional");
        print_list(type->items, type->n, out);
        break;
    case LW_SIG_TUPLE:
        if (type->class_name != NULL) {
            print_named_tuple(type, out);
            break;
        }
        lw_text_add(out, "Tuple");
        print_list(type->items, type->n, out);
        break;
    }
}

void
lw_signature_print(const lw_signature *signature, lw_text *out)
{
    lw_sig_type_print(&signature->result, out);
    print_list(signature->args, signature->n_args, out);
}
