/* Typing of cuda.atomic.*: an array, the index of one of its elements, and the values. */
#include "core/front/numeric/atomics.h"
#include "core/front/infer/infer_internal.h"

static lw_status
atomic_element(lw_infer_frame *f, lw_name_id name, const lw_arg *args, lw_type *element)
{
    const lw_arg *array = &args[0];
    const lw_type_row *row = lw_array_row(f, array->value.type);

    *element = LW_T_BOTTOM;
    if (row == NULL)
        return lw_complain_argument(f, name, array, "an array first", NULL);
    if (row->readonly)
        return lw_complain(
            f, lw_node_of(f, array->node)->loc, "E162",
            lw_format_text(f, "this is %s", lw_describe_type(f, array->value.type)),
            "update an array that can be written", "`%s` updates a read-only array",
            lw_name_shown(name));
    if (lw_names[name].impl != LW_IMPL_ATOMIC_SWAP)
        return lw_infer_element(f, array->node, array->value.type, args[1].node, element);
    if (row->ndim != 1)
        return lw_complain_argument(f, name, array, "a one-dimensional array",
                                    "`cuda.atomic.cas` takes an index");
    *element = row->elements[0];
    return LW_OK;
}

static const char *
types_of_atomic(lw_atomic_kind kind)
{
    switch (kind) {
    case LW_UPDATE_INC:
    case LW_UPDATE_DEC: return "an array of unsigned integers";
    case LW_UPDATE_AND:
    case LW_UPDATE_OR:
    case LW_UPDATE_XOR: return "an array of integers or bool";
    case LW_UPDATE_ADD:
    case LW_UPDATE_SUB: return "an array of numbers, not bool";
    case LW_UPDATE_CAS:
    case LW_UPDATE_EXCH: return "an array of real numbers or bool";
    default: return "an array of real numbers";
    }
}

static bool
atomic_takes(lw_atomic_kind kind, lw_type element)
{
    if (element >= LW_N_DTYPES)
        return false;
    if (lw_is_complex((lw_dtype)element))
        return kind == LW_UPDATE_ADD || kind == LW_UPDATE_SUB;
    return lw_atomic_takes(kind, (lw_dtype)element);
}

lw_status
lw_infer_atomic(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
                uint32_t n, lw_infer_value *out)
{
    bool swap = lw_names[name].impl == LW_IMPL_ATOMIC_SWAP;
    lw_atomic_kind kind =
        swap ? LW_UPDATE_CAS : (lw_atomic_kind)(lw_names[name].impl - LW_IMPL_ATOMIC_ADD);
    lw_type element;
    lw_status status;

    LW_TRY(atomic_element(f, name, args, &element));
    if (element == LW_T_BOTTOM)
        return LW_OK;
    if (!atomic_takes(kind, element))
        return lw_complain_argument(f, name, &args[0], types_of_atomic(kind), NULL);
    for (uint32_t i = swap ? 1 : 2; i < n; i++) {
        if (!lw_type_is_number(f, args[i].value.type))
            return lw_complain_argument(f, name, &args[i], "a number here", NULL);
        LW_TRY(lw_check_literal(f, args[i].node, args[i].value, element, 0));
        LW_TRY(lw_check_value(f, args[i].node, args[i].value.type, (lw_dtype)element, "array"));
    }
    f->nodes[node].operand = out->type = element;
fail:
    return status;
}
