/* Arrays as parts: slices, views, attributes, and stores to elements, fields and views. A view
 * is an address with extents and strides of its own over the same memory; bounds of slices are
 * clipped as Python's slice.indices does it. */
#include "core/front/lower/address.h"

#include <assert.h>

/* ---- slices ---- */

typedef struct slice_range {
    lw_ref start, count, step; /* i64; step 0: one */
} slice_range;

/* The bounds as they are written, or those of a value; step: the number 1 if it is not given.
 */
typedef struct slice_bounds {
    lw_lower_value start, stop, step; /* n 0: None, or not given */
} slice_bounds;

static lw_lower_value
bound_of(lw_lower_frame *f, uint32_t node)
{
    lw_lower_value none = {.type = LW_T_NONE};

    return node != 0 && lw_typed_at(f, node)->type != LW_T_NONE ? lw_lower_expression(f, node)
                                                                : none;
}

static bool
is_given(lw_lower_value bound)
{
    return bound.type != LW_T_NONE;
}

/* A bound as Python clips it: a negative one counts from the end, then it is limited to low …
 * high. An integer that no 64-bit type holds is beyond an end, because the cast saturates. */
static lw_ref
clipped(lw_lower_frame *f, lw_lower_value value, lw_ref extent, lw_ref low, lw_ref high)
{
    lw_builder *b = &f->b;
    lw_dtype stored = lw_type_stored(f->l->types, value.type);
    lw_ref i = value.n ? lw_ir_cast(b, LW_DT_i64, value.parts[0]) : 0;
    uint64_t known;

    if (stored == LW_DT_u64) /* beyond int64 is beyond the end */
        i = lw_ir_cast(b, LW_DT_i64,
                       lw_ir_select(b,
                                    lw_ir_compare(b, LW_OP_LT, value.parts[0],
                                                  lw_ir_int(b, LW_DT_u64, INT64_MAX)),
                                    value.parts[0], lw_ir_int(b, LW_DT_u64, INT64_MAX)));
    if (lw_ir_is_const(b, i, &known) && (int64_t)known < 0)
        return lw_ir_larger(b, lw_ir_add(b, i, extent), low);
    if (!lw_may_be_negative(f, value))
        return lw_ir_smaller(b, i, high);
    i = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, i, lw_const64(f, 0)),
                     lw_ir_add(b, i, extent), i);
    return lw_ir_smaller(b, lw_ir_larger(b, i, low), high);
}

/* The same of a bound that may be None or not given: that is `otherwise` then. */
static lw_ref
clipped_or(lw_lower_frame *f, lw_lower_value value, lw_ref extent, lw_ref low, lw_ref high,
           lw_ref otherwise)
{
    if (!is_given(value))
        return otherwise;
    if (lw_type_given(f->l->types, value.type) == LW_T_BOTTOM)
        return clipped(f, value, extent, low, high);
    return lw_ir_select(&f->b, lw_part_at(&value, 0),
                        clipped(f, lw_value_element(f, value, 1), extent, low, high),
                        otherwise);
}

static slice_range
range_by_one(lw_lower_frame *f, const slice_bounds *slice, lw_ref extent)
{
    lw_builder *b = &f->b;
    lw_ref zero = lw_const64(f, 0);
    slice_range s = {.start = zero, .count = extent};
    lw_ref stop;

    s.start = clipped_or(f, slice->start, extent, zero, extent, zero);
    stop = clipped_or(f, slice->stop, extent, zero, extent, extent);
    if (is_given(slice->start))
        s.count = lw_ir_larger(b, lw_ir_sub(b, stop, s.start), zero);
    else
        s.count = stop;
    return s;
}

static lw_ref
step_of(lw_lower_frame *f, lw_lower_value given)
{
    lw_lower_value value = lw_value_convert(f, given, LW_T_INDEX);
    lw_ref step = value.n ? value.parts[0] : lw_const64(f, 1); /* it was refused */

    if (!lw_ir_is_const(&f->b, step, NULL) && lw_raises_errors(f))
        lw_lower_raise(f, lw_ir_compare(&f->b, LW_OP_EQ, step, lw_const64(f, 0)), "ValueError",
                       "slice step cannot be zero");
    return step;
}

/* As slice.indices: the sign of the step decides to which ends the bounds are clipped. */
static slice_range
range_by_step(lw_lower_frame *f, const slice_bounds *slice, lw_ref extent)
{
    lw_builder *b = &f->b;
    lw_ref start = 0, stop = 0, zero = lw_const64(f, 0), one = lw_const64(f, 1);
    lw_ref step = step_of(f, slice->step);
    lw_ref falls = lw_ir_compare(b, LW_OP_LT, step, zero);
    lw_ref low = lw_ir_select(b, falls, lw_const64(f, -1), zero);
    lw_ref high = lw_ir_select(b, falls, lw_ir_sub(b, extent, one), extent);

    start = clipped_or(f, slice->start, extent, low, high, lw_ir_select(b, falls, high, low));
    stop = clipped_or(f, slice->stop, extent, low, high, lw_ir_select(b, falls, low, high));
    return (slice_range){.start = start,
                         .count =
                             lw_ir_cast(b, LW_DT_i64, lw_range_count(b, start, stop, step)),
                         .step = step};
}

/* value: of a slice that is one. */
static slice_range
span_of(lw_lower_frame *f, const lw_index_item *item, lw_lower_value value, lw_ref extent)
{
    const lw_node *s = lw_node_at(f, item->node);
    slice_bounds bounds;

    if (item->type)
        bounds = (slice_bounds){lw_value_element(f, value, 0), lw_value_element(f, value, 1),
                                lw_value_element(f, value, 2)};
    else
        bounds = (slice_bounds){bound_of(f, s->a), bound_of(f, s->b), bound_of(f, s->c)};
    return lw_index_steps_by_one(f->l->typed, &f->inst->nodes, item)
               ? range_by_one(f, &bounds, extent)
               : range_by_step(f, &bounds, extent);
}

/* ---- views ---- */

/* The parts of an array of any shape while they are collected. */
typedef struct view_parts {
    lw_ref address, extents[LW_MAX_ARRAY_DIMS], strides[LW_MAX_ARRAY_DIMS];
    lw_ref offset;    /* how far the address moves; 0: not at all */
    lw_ref reference; /* to the memory, where it is counted; else 0 */
    uint32_t ndim;
} view_parts;

static void
keep_axis(view_parts *v, lw_ref extent, lw_ref stride)
{
    assert(v->ndim < LW_MAX_ARRAY_DIMS);
    v->extents[v->ndim] = extent;
    v->strides[v->ndim++] = stride;
}

static lw_lower_value
view_value(lw_lower_frame *f, const view_parts *v, lw_type type)
{
    const lw_type_row *row = lw_array_row_of(f, type);
    lw_ref parts[2 + 2 * LW_MAX_ARRAY_DIMS] = {v->address};

    if (row->shape)
        return lw_value_of(f, type, parts, 1);
    for (uint32_t i = 0; i < row->ndim; i++) {
        parts[1 + i] = v->extents[i];
        parts[1 + row->ndim + i] = v->strides[i];
    }
    if (row->owned)
        parts[1 + 2u * row->ndim] = v->reference ? v->reference : lw_ir_zero(&f->b, LW_DT_ptr);
    return lw_value_of(f, type, parts, 1 + 2u * row->ndim + row->owned);
}

/* A view of the array whose axes are still to be named. */
static view_parts
view_of(lw_lower_frame *f, lw_lower_value array, lw_ref address)
{
    const lw_type_row *row = lw_array_row_of(f, array.type);

    return (view_parts){.address = address,
                        .reference = row->owned ? lw_part_at(&array, 1 + 2u * row->ndim) : 0};
}

/* Add one axis of the array, or a new one, to the view. */
static void
pick_axis(lw_lower_frame *f, lw_lower_value array, const lw_index_items *it, uint32_t i,
          uint32_t axis, view_parts *v)
{
    assert(i < it->index.n);
    const lw_index_item *item = &it->index.items[i];
    lw_builder *b = &f->b;
    lw_dtype type = lw_offset_type(f);
    lw_ref extent, stride, start;
    slice_range s;

    if (item->kind == LW_INDEX_NEW) {
        keep_axis(v, lw_const64(f, 1), lw_const64(f, 0));
        return;
    }
    if (item->kind == LW_INDEX_AT) {
        start = lw_index_position(f, array, axis, it->values[i], type);
        v->offset = lw_offset_sum(
            b, v->offset,
            lw_offset_product(b, start, lw_array_stride_in(f, array, axis, type)));
        return;
    }
    extent = lw_array_extent(f, array, axis);
    stride = lw_array_stride(f, array, axis);
    if (item->kind == LW_INDEX_ALL || item->kind == LW_INDEX_ARRAY) {
        for (uint32_t j = 0; j < item->axes; j++)
            keep_axis(v, lw_array_extent(f, array, axis + j),
                      lw_array_stride(f, array, axis + j));
        return;
    }
    s = span_of(f, item, it->values[i], extent);
    start = lw_offset_cast(b, type, s.start);
    v->offset = lw_offset_sum(
        b, v->offset, lw_offset_product(b, start, lw_array_stride_in(f, array, axis, type)));
    /* may wrap: with a step beyond the end only one element is left, at 0 times the stride */
    keep_axis(v, s.count, s.step ? lw_ir_mul(b, stride, s.step) : stride);
}

static lw_lower_value
lower_view(lw_lower_frame *f, lw_lower_value array, const lw_index_items *it, lw_type type)
{
    view_parts v = view_of(f, array, 0);
    uint32_t axis = 0;

    for (uint32_t i = 0; i < it->index.n; i++) {
        pick_axis(f, array, it, i, axis, &v);
        axis += it->index.items[i].axes;
    }
    v.address = lw_address_moved(&f->b, lw_part_at(&array, 0), v.offset);
    return view_value(f, &v, type);
}

lw_lower_value
lw_lower_indexed_view(lw_lower_frame *f, uint32_t subscript)
{
    lw_lower_value array = lw_lower_expression(f, lw_node_at(f, subscript)->a);
    const lw_index_items *it = lw_index_items_of(f, array, lw_node_at(f, subscript)->b);
    const lw_typed_node *t = lw_typed_at(f, subscript);

    lw_lower_set_loc(f, subscript);
    return it ? lower_view(f, array, it, f->l->typed->instances.data[t->target].param_types[0])
              : (lw_lower_value){0};
}

/* ---- conversion: the same memory, of which less is known ---- */

lw_lower_value
lw_array_convert(lw_lower_frame *f, lw_lower_value array, lw_type to)
{
    const lw_type_row *from = lw_array_row_of(f, array.type), *row = lw_array_row_of(f, to);
    view_parts v = view_of(f, array, lw_part_at(&array, 0));

    if (row->shape == NULL && from->shape == NULL && row->owned == from->owned)
        return (lw_lower_value){.type = to, .n = array.n, .parts = array.parts};
    for (uint32_t i = 0; i < from->ndim && row->shape == NULL; i++)
        keep_axis(&v, lw_array_extent(f, array, i), lw_array_stride(f, array, i));
    return view_value(f, &v, to);
}

/* ---- expressions ---- */

lw_lower_value
lw_lower_array_subscript(lw_lower_frame *f, uint32_t node, lw_lower_value array)
{
    const lw_index_items *it = lw_index_items_of(f, array, lw_node_at(f, node)->b);
    lw_type type = lw_typed_at(f, node)->type;

    if (it == NULL)
        return (lw_lower_value){.type = type};
    lw_lower_set_loc(f, node);
    if (!it->index.is_element)
        return lower_view(f, array, it, type);
    return lw_lower_element(f, array, it, type, lw_array_align_of(f, array.type));
}

static lw_lower_value
transposed(lw_lower_frame *f, lw_lower_value array, lw_type type)
{
    view_parts v = view_of(f, array, lw_part_at(&array, 0));

    for (uint32_t i = lw_array_row_of(f, array.type)->ndim; i-- > 0;)
        keep_axis(&v, lw_array_extent(f, array, i), lw_array_stride(f, array, i));
    return view_value(f, &v, type);
}

static lw_ref
count_elements(lw_lower_frame *f, lw_lower_value array)
{
    lw_ref n = lw_const64(f, 1);

    for (uint32_t i = 0; i < lw_array_row_of(f, array.type)->ndim; i++)
        n = lw_offset_product(&f->b, n, lw_array_extent(f, array, i));
    return n;
}

lw_lower_value
lw_lower_array_attribute(lw_lower_frame *f, uint32_t node, lw_lower_value array,
                         const char *name)
{
    const lw_type_row *row = lw_array_row_of(f, array.type);
    lw_type type = lw_typed_at(f, node)->type;
    lw_ref parts[LW_MAX_ARRAY_DIMS] = {0};
    bool shape = name[1] == 'h';

    switch (name[0] == 's' ? name[1] : name[0]) {
    case 'T': return row->ndim < 2 ? array : transposed(f, array, type);
    case 'h': /* shape, strides */
    case 't':
        for (uint32_t i = 0; i < row->ndim; i++)
            parts[i] = shape ? lw_array_extent(f, array, i) : lw_array_stride(f, array, i);
        return lw_value_of(f, type, parts, row->ndim);
    case 'i':
        if (name[0] == 's')
            return lw_value_scalar(f, type, count_elements(f, array));
        return lw_value_scalar(f, type, lw_const64(f, lw_array_item_bytes(f, array.type)));
    default: break;
    }
    if (name[0] == 'd') /* ctypes.data */
        return lw_value_scalar(f, type, lw_ir_bitcast(&f->b, LW_DT_u64, lw_part_at(&array, 0)));
    if (name[1] == 'd') /* ndim */
        return lw_value_scalar(f, type, lw_const64(f, row->ndim));
    return lw_value_scalar(
        f, type,
        lw_offset_product(&f->b, count_elements(f, array),
                          lw_const64(f, lw_array_item_bytes(f, array.type))));
}

/* Item k (u64) of a loop over the array; k is below the length. */
lw_lower_value
lw_lower_array_item(lw_lower_frame *f, lw_lower_value array, lw_ref k, lw_type type)
{
    lw_dtype offset = lw_offset_type(f);
    lw_ref bytes = lw_offset_product(&f->b, lw_offset_cast(&f->b, offset, k),
                                     lw_array_stride_in(f, array, 0, offset));
    view_parts v = view_of(f, array, lw_address_moved(&f->b, lw_part_at(&array, 0), bytes));

    if (lw_array_row_of(f, array.type)->ndim == 1)
        return lw_lower_item_in(f, type, v.address, lw_array_align_of(f, array.type), array);
    for (uint32_t i = 1; i < lw_array_row_of(f, array.type)->ndim; i++)
        keep_axis(&v, lw_array_extent(f, array, i), lw_array_stride(f, array, i));
    return view_value(f, &v, type);
}

/* ---- assignment ---- */

/* A target that is a field: of one record, or of every item of an array. */
static void
store_field(lw_lower_frame *f, uint32_t target, lw_lower_value object, const char *name,
            lw_lower_value value)
{
    lw_type type = lw_typed_at(f, target)->type;
    uint32_t align;

    if (lw_type_kind_of(f->l->types, type) == LW_TK_ARRAY) {
        lw_lower_fill(f, lw_lower_field(f, object, name, type), value);
        return;
    }
    lw_ref address = lw_lower_field_address(f, object, name, &align);
    lw_lower_store(f, type, address, value, align);
}

void
lw_lower_memory_store(lw_lower_frame *f, uint32_t target, lw_lower_value value)
{
    if (lw_typed_at(f, target)->elementwise) {
        lw_lower_masked_store(f, target, value);
        return;
    }
    if (lw_lower_calls_method(f, target)) { /* A[places] = v */
        const lw_lower_value *outer = f->stored;
        f->stored = &value;
        lw_lower_method(f, target);
        f->stored = outer;
        return;
    }
    lw_lower_value object = lw_lower_expression(f, lw_node_at(f, target)->a);
    const char *name = lw_lower_field_name(f, target, object.type);
    lw_type type = lw_typed_at(f, target)->type;
    const lw_index_items *it;

    if (name) {
        lw_lower_set_loc(f, target);
        store_field(f, target, object, name, value);
        return;
    }
    it = lw_index_items_of(f, object, lw_node_at(f, target)->b);
    if (it == NULL)
        return;
    lw_lower_set_loc(f, target);
    if (it->index.is_element)
        lw_lower_store(f, type, lw_index_address(f, object, it), value,
                       lw_array_align_of(f, object.type));
    else
        lw_lower_fill(f, lower_view(f, object, it, type), value);
}

lw_lower_value
lw_lower_target_array(lw_lower_frame *f, uint32_t target)
{
    lw_lower_value object = lw_lower_expression(f, lw_node_at(f, target)->a);
    const char *name = lw_lower_field_name(f, target, object.type);
    lw_type type = lw_typed_at(f, target)->type;
    const lw_index_items *it;

    if (name)
        return lw_lower_field(f, object, name, type);
    it = lw_index_items_of(f, object, lw_node_at(f, target)->b);
    lw_lower_set_loc(f, target);
    return it ? lower_view(f, object, it, type) : (lw_lower_value){.type = type};
}

/* A[places] += v: the view and the arrays of the index are evaluated, the elements are taken,
 * then v is evaluated, and both are given to the function that stores. */
static void
augment_by_arrays(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    const lw_instance *callee = &f->l->typed->instances.data[lw_typed_at(f, node)->target];
    lw_lower_value *values = lw_lower_call_arguments(f, node), *stored;
    const lw_lower_value *outer = f->stored;
    const lw_type_row *arrays = lw_type_get(f->l->types, callee->param_types[2]);
    uint32_t n_arrays = callee->param_constants[2] ? 0 : arrays->n;

    stored = lw_arena_take(f->l->arena, (LW_STORED_ARRAYS + n_arrays) * sizeof *stored);
    if (values == NULL || stored == NULL)
        return;
    stored[LW_STORED_VIEW] = values[0];
    for (uint32_t i = 0; i < n_arrays; i++)
        stored[LW_STORED_ARRAYS + i] = lw_value_element(f, values[2], i);
    stored[LW_STORED_TAKEN] = lw_lower_call_with(f, node, values);
    stored[LW_STORED_VALUE] = lw_lower_expression(f, n->b);
    f->stored = stored;
    (void)lw_lower_method(f, n->a);
    f->stored = outer;
}

void
lw_lower_augmented_store(lw_lower_frame *f, uint32_t node)
{
    if (lw_typed_at(f, lw_node_at(f, node)->a)->elementwise) {
        lw_lower_augmented_mask(f, node);
        return;
    }
    if (lw_typed_at(f, node)->elementwise) {
        lw_lower_augmented_array(f, node, lw_lower_target_array(f, lw_node_at(f, node)->a));
        return;
    }
    const lw_node *n = lw_node_at(f, node);
    if (lw_lower_calls_method(f, n->a)) { /* A[places] += v */
        augment_by_arrays(f, node);
        return;
    }
    lw_type type = lw_typed_at(f, n->a)->type;
    lw_lower_value object = lw_lower_expression(f, lw_node_at(f, n->a)->a), before;
    const char *name = lw_lower_field_name(f, n->a, object.type);
    uint32_t align = 0;
    lw_ref address;

    if (name) {
        address = lw_lower_field_address(f, object, name, &align);
    } else {
        address = lw_lower_element_address(f, object, lw_node_at(f, n->a)->b);
        align = lw_array_align_of(f, object.type);
    }
    before = lw_lower_load(f, type, address, align);
    lw_lower_store(f, type, address,
                   lw_lower_binary_nodes(f, node, (lw_pyop)n->op, before, n->b), align);
}
