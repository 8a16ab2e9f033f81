/* Arrays that a function makes: local(shape, dtype) and the like, whose shape and dtype must be
 * known when it is compiled. */
#include "core/front/infer/infer_internal.h"
#include "core/front/records.h"
#include "core/front/signature.h"

#include <string.h>

/* A GPU has 512 KiB of local memory for each thread; stacks of the host's threads hold as
 * much. */
enum { MAX_LOCAL_BYTES = 512 * 1024 };

/* ---- shape ---- */

static bool
extent(lw_infer_frame *f, uint32_t constant, int64_t *out)
{
    __int128 value;

    if (constant == 0 || !lw_constant_any_int(lw_constant_of(f, constant), &value) ||
        value < 0 || value > INT32_MAX)
        return false;
    *out = (int64_t)value;
    return true;
}

lw_status
lw_infer_shape_argument(lw_infer_frame *f, lw_name_id name, const lw_arg *arg, int64_t *shape,
                        uint32_t *ndim)
{
    static const char wanted[] = "a constant shape: an int, or a tuple of ints, from 0 on";
    static const char help[] = "sizes of arrays inside a function must be known when it is "
                               "compiled: literals, globals, parameters in `static=`, or "
                               "results of these; or the largest that can occur";
    const lw_constant *constant =
        arg->value.constant ? lw_constant_of(f, arg->value.constant) : NULL;

    *ndim = 1;
    if (arg->value.type == LW_T_BOTTOM || extent(f, arg->value.constant, shape))
        return LW_OK;
    if (constant == NULL || constant->kind != LW_K_TUPLE || constant->n > LW_MAX_ARRAY_DIMS)
        return lw_complain_argument(f, name, arg, wanted, help);
    *ndim = constant->n;
    for (uint32_t i = 0; i < constant->n; i++)
        if (!extent(f, constant->items[i], &shape[i]))
            return lw_complain_argument(f, name, arg, wanted, help);
    return LW_OK;
}

/* ---- dtype ---- */

lw_status
lw_infer_dtype_argument(lw_infer_frame *f, lw_name_id name, const lw_arg *arg, lw_type *out)
{
    static const lw_dtype pytypes[] = {LW_DT_i64, LW_DT_f64, LW_DT_b1, LW_DT_c128};
    const lw_constant *constant =
        arg->value.constant ? lw_constant_of(f, arg->value.constant) : NULL;

    *out = LW_T_BOTTOM;
    if (arg->value.type == LW_T_BOTTOM)
        return LW_OK;
    switch (constant ? constant->kind : LW_K_UNDEFINED) {
    case LW_K_DTYPE: *out = constant->dtype; break;
    case LW_K_PYTYPE: *out = pytypes[constant->u]; break;
    case LW_K_STR: *out = lw_scalar_from_name(constant->text, strlen(constant->text)); break;
    case LW_K_RECORD: *out = lw_record_type(lw_types_of(f), constant->bytes, false); break;
    default: break;
    }
    if (*out == LW_T_BOTTOM && constant && constant->kind == LW_K_STR)
        return lw_complain(
            f, lw_node_of(f, arg->node)->loc, "E120", "no dtype has this name",
            strchr("US", constant->text[0]) != NULL
                ? "compiled code makes no arrays of strings: make it in Python and "
                  "pass it; the function can assign its items"
                : "`float32`, `np.int64`, or a record dtype",
            "Invalid NumPy dtype specified: '%s'", constant->text);
    if (*out == LW_T_BOTTOM)
        return lw_complain_argument(f, name, arg, "a dtype",
                                    "`float32`, `np.int64`, or a record dtype");
    return LW_OK;
}

/* ---- local(shape, dtype) ---- */

lw_status
lw_infer_local(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
               lw_infer_value *out)
{
    int64_t shape[LW_MAX_ARRAY_DIMS] = {0};
    __int128 bytes;
    uint32_t ndim;
    lw_type element;
    lw_status status;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    LW_TRY(lw_infer_shape_argument(f, name, &args[0], shape, &ndim));
    LW_TRY(lw_infer_dtype_argument(f, name, &args[1], &element));
    if (args[0].value.type == LW_T_BOTTOM || element == LW_T_BOTTOM)
        return LW_OK;
    bytes = lw_type_bytes(lw_types_of(f), element);
    for (uint32_t i = 0; i < ndim && bytes <= MAX_LOCAL_BYTES; i++)
        bytes *= shape[i];
    if (bytes > MAX_LOCAL_BYTES)
        return lw_complain(f, lw_node_of(f, node)->loc, "E103",
                           lw_format_text(f, "more than %d KiB", MAX_LOCAL_BYTES / 1024),
                           "pass an array as an argument",
                           "this is too large for an array of one thread");
    out->type = lw_type_array(lw_types_of(f), element, ndim, LW_LAYOUT_C, false, shape);
fail:
    return status;
}

/* ---- empty(shape, dtype) ---- */

/* Of a shape: an integer, or a tuple of them. */
static bool
count_axes(lw_infer_frame *f, lw_type shape, uint32_t *ndim)
{
    const lw_type_row *row = lw_tuple_row(f, shape);

    *ndim = row ? row->n : 1;
    for (uint32_t i = 0; row && i < row->n; i++)
        if (!lw_type_is_int(f, row->elements[i]))
            return false;
    return *ndim <= LW_MAX_ARRAY_DIMS && (row || lw_type_is_int(f, shape));
}

lw_status
lw_infer_empty(lw_infer_frame *f, lw_name_id name, const lw_arg *args, uint32_t n,
               lw_infer_value *out)
{
    lw_type element = LW_DT_f64, type;
    uint32_t ndim;
    lw_status status = LW_OK;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (n > 1 && args[1].entry != 0 && args[1].value.type != LW_T_NONE)
        LW_TRY(lw_infer_dtype_argument(f, name, &args[1], &element));
    if (args[0].value.type == LW_T_BOTTOM || element == LW_T_BOTTOM)
        return LW_OK;
    if (!count_axes(f, args[0].value.type, &ndim))
        return lw_complain_argument(f, name, &args[0], "a shape: an int, or a tuple of ints",
                                    NULL);
    f->can_raise |= !f->run->typed->options.ignore_errors; /* a negative extent */
    f->allocates = true;
    type = lw_type_array(lw_types_of(f), element, ndim, LW_LAYOUT_C, false, NULL);
    out->type = lw_type_array_owned(lw_types_of(f), type, true);
fail:
    return status;
}

/* shaped(x, shape, dtype) and viewed(x, shape, strides, dtype), which lanewise/_new_arrays.py
 * calls: the same memory in another form. */
lw_status
lw_infer_view(lw_infer_frame *f, lw_name_id name, const lw_arg *args, uint32_t n,
              lw_infer_value *out)
{
    bool is_dense = lw_names[name].impl == LW_IMPL_SHAPED;
    uint32_t ndim, at = is_dense ? 2 : 3, align;
    lw_type element = LW_T_BOTTOM, type;
    const lw_type_row *from;
    lw_status status = LW_OK;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    for (uint32_t i = 0; i < at; i++)
        if (args[i].value.type == LW_T_BOTTOM)
            return LW_OK;
    if ((from = lw_array_row(f, args[0].value.type)) == NULL)
        return lw_complain_argument(f, name, &args[0], "an array", NULL);
    if (!count_axes(f, args[1].value.type, &ndim))
        return lw_complain_argument(f, name, &args[1], "a shape: an int, or a tuple of ints",
                                    NULL);
    align = from->align;
    type = lw_type_array_like(lw_types_of(f), args[0].value.type, ndim,
                              is_dense ? LW_LAYOUT_C : LW_LAYOUT_ANY, NULL);
    if (n > at && args[at].entry != 0 && args[at].value.type != LW_T_NONE) {
        LW_TRY(lw_infer_dtype_argument(f, name, &args[at], &element));
        if (element == LW_T_BOTTOM)
            return LW_OK;
        align = align ? align : lw_type_align(lw_types_of(f), from->elements[0]);
        type = lw_type_array_of(lw_types_of(f), type, element);
        type = lw_type_array_aligned(lw_types_of(f), type, align);
    }
    out->type = type;
fail:
    return status;
}

/* axis(axis, ndim): what is known is checked here, and the result is known then. */
lw_status
lw_infer_axis(lw_infer_frame *f, uint32_t node, const lw_arg *args, lw_infer_value *out)
{
    __int128 axis = 0, ndim = 0;
    bool known = args[0].value.constant &&
                 lw_constant_any_int(lw_constant_of(f, args[0].value.constant), &axis);

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (args[0].value.type == LW_T_BOTTOM || args[1].value.type == LW_T_BOTTOM)
        return LW_OK;
    if (!lw_type_is_int(f, args[0].value.type))
        return lw_complain(f, lw_node_of(f, args[0].node)->loc, "E120",
                           lw_format_text(f, "this is %s", lw_describe_value(f, args[0].value)),
                           "an int, a tuple of ints, or None", "an axis must be an integer");
    if (!args[1].value.constant ||
        !lw_constant_any_int(lw_constant_of(f, args[1].value.constant), &ndim))
        return lw_fail(f->run->err, LW_ERR_INTERNAL, "a number of axes that is not known");
    if (!known) {
        f->can_raise |= !f->run->typed->options.ignore_errors;
        out->type = lw_weak_int(f);
        return LW_OK;
    }
    if (axis < -ndim || axis >= ndim)
        return lw_complain(f, lw_node_of(f, args[0].node)->loc, "E124",
                           lw_format_text(f, "axis %lld", (long long)axis), NULL,
                           "the axis is out of bounds for an array with %lld ax%s",
                           (long long)ndim, ndim == 1 ? "is" : "es");
    *out = lw_constant_value(f, lw_node_int(f, node, axis < 0 ? axis + ndim : axis));
    return LW_OK;
}

lw_status
lw_infer_is_dense(lw_infer_frame *f, uint32_t node, const lw_arg *args, lw_infer_value *out)
{
    const lw_type_row *array = lw_array_row(f, args[0].value.type);

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (array != NULL)
        *out = lw_constant_value(f, lw_node_bool(f, node, array->layout == LW_LAYOUT_C));
    return LW_OK;
}

lw_status
lw_infer_is_known(lw_infer_frame *f, uint32_t node, const lw_arg *args, lw_infer_value *out)
{
    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (args[0].value.type != LW_T_BOTTOM)
        *out = lw_constant_value(f, lw_node_bool(f, node, args[0].value.constant != 0));
    return LW_OK;
}
