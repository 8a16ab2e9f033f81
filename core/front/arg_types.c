/* Turns the argument specifications of a caller (lw_arg_spec: what is known of each value
 * before anything is compiled) into interned types. */
#include "core/front/records.h"

static lw_type
tuple_type(lw_types *types, const lw_arg_spec *spec)
{
    lw_type *items = lw_arena_take(types->arena, (spec->n + 1) * sizeof *items);

    if (items == NULL) {
        types->failed = true;
        return LW_T_BOTTOM;
    }
    for (uint32_t i = 0; i < spec->n; i++) {
        items[i] = lw_type_of_spec(types, &spec->items[i]);
        if (items[i] == LW_T_BOTTOM)
            return LW_T_BOTTOM;
    }
    if (spec->readonly)
        return lw_type_fields(types, items, spec->n, spec->names);
    return lw_type_tuple_listed(
        types,
        lw_type_tuple_of_class(types, lw_type_tuple(types, items, spec->n, spec->names),
                               spec->user_class),
        spec->is_list);
}

static lw_type
array_type(lw_types *types, const lw_arg_spec *spec)
{
    lw_type element =
        spec->record ? lw_record_type(types, spec->record, false) : (lw_type)spec->dtype;
    lw_type array;

    if (element == LW_T_BOTTOM || spec->ndim > LW_MAX_ARRAY_DIMS)
        return LW_T_BOTTOM;
    array = lw_type_array(types, element, spec->ndim, (lw_layout)spec->layout, spec->readonly,
                          NULL);
    return spec->endless ? lw_type_array_endless(types, array) : array;
}

lw_type
lw_type_of_spec(lw_types *types, const lw_arg_spec *spec)
{
    switch (spec->kind) {
    case LW_ARGK_SCALAR:
        return spec->dtype < LW_DT_ptr || lw_is_time(spec->dtype) ? (lw_type)spec->dtype
                                                                  : LW_T_BOTTOM;
    case LW_ARGK_WEAK:
        if (spec->members && spec->members->n_numbers)
            return lw_type_numbered(types, spec->members->lo, spec->members->hi, spec->members);
        return lw_is_complex(spec->dtype) ? LW_T_PYCOMPLEX
               : lw_is_float(spec->dtype) ? LW_T_PYFLOAT
                                          : LW_T_INDEX;
    case LW_ARGK_ARRAY: return array_type(types, spec);
    case LW_ARGK_RECORD:
        return spec->record ? lw_record_type(types, spec->record, spec->readonly) : LW_T_BOTTOM;
    case LW_ARGK_TUPLE: return tuple_type(types, spec);
    case LW_ARGK_MEMBER:
        return spec->members ? lw_type_member(types, spec->members) : LW_T_BOTTOM;
    case LW_ARGK_CONSTANT: /* an item of a tuple */
        return spec->is_ellipsis ? lw_type_static(types, spec->constant, NULL)
                                 : (lw_type)LW_T_NONE;
    default: return LW_T_BOTTOM;
    }
}
