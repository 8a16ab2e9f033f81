/* The functions of array_names.def, by which lanewise/_array_ufuncs.py asks about arrays that
 * may overlap: the answers of overlap.h as values of the language. */
#include "core/front/lower/overlap.h"

/* The arguments of the call, and the array of the operation that each is; an argument without
 * an array is a number. */
typedef struct operands {
    uint32_t n;
    lw_lower_value values[LW_MOST_OPERANDS];
    uint32_t arrays[LW_MOST_OPERANDS];
} operands;

/* Bytes from element to element along the output's axis: 0 if the input is repeated. */
static lw_ref
stride_along(lw_lower_frame *f, lw_lower_value array, uint32_t ndim, uint32_t axis)
{
    uint32_t missing = ndim - lw_array_row_of(f, array.type)->ndim;
    lw_ref one;

    if (axis < missing)
        return lw_const64(f, 0);
    one = lw_ir_compare(&f->b, LW_OP_EQ, lw_array_extent(f, array, axis - missing),
                        lw_const64(f, 1));
    return lw_ir_select(&f->b, one, lw_const64(f, 0),
                        lw_array_stride(f, array, axis - missing));
}

static void
add_array(lw_lower_frame *f, lw_elementwise *w, lw_lower_value array)
{
    lw_strided *a = &w->arrays[w->n];

    a->address = lw_part_at(&array, 0);
    a->item_bytes = lw_array_item_bytes(f, array.type);
    for (uint32_t i = 0; i < w->ndim; i++)
        a->strides[i] =
            w->n ? stride_along(f, array, w->ndim, i) : lw_array_stride(f, array, i);
    w->n++;
}

static void
take_operands(lw_lower_frame *f, uint32_t node, operands *o, lw_elementwise *w)
{
    o->n = lw_typed_at(f, node)->n_args;
    if (o->n > LW_MOST_OPERANDS)
        o->n = LW_MOST_OPERANDS;
    for (uint32_t i = 0; i < o->n; i++)
        o->values[i] = lw_lower_argument(f, node, i);
    w->ndim = lw_array_row_of(f, o->values[0].type)->ndim;
    for (uint32_t i = 0; i < w->ndim; i++)
        w->extents[i] = lw_array_extent(f, o->values[0], i);
    for (uint32_t i = 0; i < o->n; i++)
        if (lw_is_array(f, o->values[i])) {
            o->arrays[i] = w->n;
            add_array(f, w, o->values[i]);
        }
}

static uint32_t
put_array(const lw_elementwise *w, uint32_t array, lw_ref *parts)
{
    uint32_t n = 0;

    parts[n++] = w->arrays[array].address;
    for (uint32_t i = 0; i < w->ndim; i++)
        parts[n++] = w->extents[i];
    for (uint32_t i = 0; i < w->ndim; i++)
        parts[n++] = w->arrays[array].strides[i];
    return n;
}

static uint32_t
put_operands(lw_lower_frame *f, const operands *o, const lw_elementwise *w, lw_ref *parts)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < o->n; i++) {
        if (lw_is_array(f, o->values[i])) {
            n += put_array(w, o->arrays[i], parts + n);
            continue;
        }
        for (uint32_t k = 0; k < o->values[i].n; k++)
            parts[n++] = lw_part_at(&o->values[i], k);
    }
    return n;
}

static void
refuse(lw_lower_frame *f, lw_order *order)
{
    if (lw_raises_errors(f)) {
        lw_lower_raise(f, order->fails, "ValueError", LW_NO_ORDER);
        return;
    }
    for (uint32_t i = 0; i < order->operation.ndim;
         i++) /* errors are ignored: nothing is done */
        order->operation.extents[i] =
            lw_ir_select(&f->b, order->fails, lw_const64(f, 0), order->operation.extents[i]);
}

static lw_lower_value
in_order(lw_lower_frame *f, lw_type type, const operands *o, const lw_elementwise *w)
{
    lw_ref parts[2 + 2 * LW_MOST_OPERANDS * (1 + 2 * LW_MAX_ARRAY_DIMS)];
    lw_order order;
    uint32_t n = 0;

    lw_elementwise_order(&f->b, w, &order);
    refuse(f, &order);
    parts[n++] = order.in_pairs;
    parts[n++] = order.in_buffer;
    n += put_operands(f, o, &order.operation, parts + n);
    n += put_operands(f, o, &order.partners, parts + n);
    return lw_value_of(f, type, parts, n);
}

static lw_ref
arrays_meet(lw_lower_frame *f, uint32_t node)
{
    lw_elementwise both[2] = {0};

    for (uint32_t k = 0; k < 2; k++) {
        lw_lower_value array = lw_lower_argument(f, node, k);
        both[k].ndim = lw_array_row_of(f, array.type)->ndim;
        for (uint32_t i = 0; i < both[k].ndim; i++)
            both[k].extents[i] = lw_array_extent(f, array, i);
        add_array(f, &both[k], array);
    }
    lw_lower_set_loc(f, node);
    return lw_arrays_meet(&f->b, &both[0], &both[1]);
}

lw_lower_value
lw_lower_overlap(lw_lower_frame *f, uint32_t node, lw_impl impl)
{
    lw_type type = lw_typed_at(f, node)->type;
    operands o = {0};
    lw_elementwise w = {0};

    if (impl == LW_IMPL_MEET)
        return lw_value_scalar(f, type, arrays_meet(f, node));
    take_operands(f, node, &o, &w);
    lw_lower_set_loc(f, node);
    if (impl == LW_IMPL_OVERLAPS)
        return lw_value_scalar(f, type, lw_elementwise_overlaps(&f->b, &w));
    if (impl == LW_IMPL_IN_FRONT)
        return lw_value_scalar(f, type,
                               lw_in_front(&f->b, w.arrays[0].address, w.arrays[1].address));
    return in_order(f, type, &o, &w);
}
