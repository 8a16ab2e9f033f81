/* Arrays: addresses of elements, views, copies. Offsets are bytes; they are computed in 32 bits
 * where the door promises that all of them fit (options.narrow), for GPUs have no 64-bit
 * integer unit. Partial sums are the offsets of other elements, so that they fit as well. */
#include "core/front/lower_internal.h"
#include "core/front/subscript.h"

#include <stdio.h>

static const lw_type_row *
row_of(const lw_frame *f, lw_type array)
{
    return lw_type_get(f->l->types, array);
}

static int64_t
item_bytes(const lw_frame *f, lw_type array)
{
    return lw_type_bytes(f->l->types, row_of(f, array)->elements[0]);
}

static lw_ref
part_of(const lw_value *value, uint32_t i)
{
    return i < value->n ? value->parts[i] : 0;
}

static lw_ref
const64(lw_frame *f, int64_t value)
{
    return lw_ir_int(&f->b, LW_DT_i64, value);
}

/* ---- extents and strides ---- */

lw_ref
lw_array_extent(lw_frame *f, lw_value array, uint32_t axis)
{
    const lw_type_row *row = row_of(f, array.type);

    return row->shape ? const64(f, row->shape[axis]) : part_of(&array, 1 + axis);
}

/* What offsets are computed in. Not narrow in loops: there LLVM moves pointers on from round to
 * round, which it cannot do through a sign extension. */
static lw_dtype
offset_type(const lw_frame *f)
{
    return f->l->typed->options.narrow && f->loop == NULL ? LW_DT_i32 : LW_DT_i64;
}

static lw_ref
product(lw_builder *b, lw_ref x, lw_ref y)
{
    uint64_t known, other;

    if (lw_ir_is_const(b, x, &known) && lw_ir_is_const(b, y, &other))
        return lw_ir_int(b, lw_ir_type(b, x), (int64_t)(known * other));
    if (lw_ir_is_const(b, x, &known) && known == 1)
        return y;
    if (lw_ir_is_const(b, y, &known) && known == 1)
        return x;
    return lw_ir_mul_no_wrap(b, x, y);
}

/* As `type`: narrower ones lose what they do not need (see above). */
static lw_ref
cast_offset(lw_builder *b, lw_dtype type, lw_ref x)
{
    uint64_t known;

    if (lw_ir_is_const(b, x, &known))
        return lw_ir_int(b, type, type == LW_DT_i32 ? (int64_t)(int32_t)known : (int64_t)known);
    return lw_ir_cast(b, type, x);
}

/* Bytes from one element to the next of an axis: of dense layouts from the extents. */
static lw_ref
stride_in(lw_frame *f, lw_value array, uint32_t axis, lw_dtype type)
{
    const lw_type_row *row = row_of(f, array.type);
    lw_ref bytes = lw_ir_int(&f->b, type, item_bytes(f, array.type));
    uint32_t from = row->layout == LW_LAYOUT_C ? axis + 1 : 0;
    uint32_t to = row->layout == LW_LAYOUT_C ? row->ndim : axis;

    if (row->layout == LW_LAYOUT_ANY)
        return cast_offset(&f->b, type, part_of(&array, 1u + row->ndim + axis));
    for (uint32_t i = to; i-- > from;)
        bytes = product(&f->b, cast_offset(&f->b, type, lw_array_extent(f, array, i)), bytes);
    return bytes;
}

lw_ref
lw_array_stride(lw_frame *f, lw_value array, uint32_t axis)
{
    return stride_in(f, array, axis, LW_DT_i64);
}

static lw_ref
sum(lw_builder *b, lw_ref x, lw_ref y)
{
    uint64_t known;

    if (x == 0 || (lw_ir_is_const(b, x, &known) && known == 0))
        return y;
    return lw_ir_is_const(b, y, &known) && known == 0 ? x : lw_ir_add_no_wrap(b, x, y);
}

static lw_ref
moved(lw_builder *b, lw_ref address, lw_ref bytes)
{
    uint64_t known;

    if (bytes == 0 || (lw_ir_is_const(b, bytes, &known) && known == 0))
        return address;
    return lw_ir_offset(b, address, bytes);
}

/* ---- one integer of an index ---- */

/* Of what counts: beyond, it names no place in any array, nor does a multiple of it. */
enum { COUNTER_BITS = 47 };

void
lw_lower_counts(lw_frame *f, lw_ref value, lw_ref start)
{
    uint64_t least = 0;
    lw_counter *slot = lw_array_push(&f->counters, f->l->arena);

    if (start && !lw_ir_is_const(&f->b, start, &least))
        least = 0;
    if (slot)
        *slot = (lw_counter){value, least};
}

static const lw_counter *
counter_of(const lw_frame *f, lw_ref value)
{
    for (uint32_t i = 0; i < f->counters.n; i++)
        if (f->counters.data[i].value == value)
            return &f->counters.data[i];
    return NULL;
}

/* Bits that a value needs which is surely not negative; 64: not known. Sums of such values may
 * be taken for not negative, for no array has 2^62 elements. */
static unsigned
bits_needed(const lw_frame *f, lw_ref value, int depth)
{
    const lw_inst *inst = &f->b.func->insts.data[value];
    lw_dtype type = (lw_dtype)inst->type;
    const lw_counter *counter;
    unsigned x, y;
    uint64_t known;

    if (lw_ir_is_const(&f->b, value, &known))
        return (int64_t)known < 0 ? 64 : known ? 64 - (unsigned)__builtin_clzll(known) : 0;
    if (counter_of(f, value))
        return COUNTER_BITS;
    if (depth == 0 || !lw_is_integer(type))
        return 64;
    switch (inst->op) {
    case LW_OP_SREG: /* a block has 1024 threads at most */
        return inst->a <= LW_SREG_TID_Z ||
                       (inst->a >= LW_SREG_NTID_X && inst->a <= LW_SREG_NTID_Z)
                   ? 11
                   : 31;
    case LW_OP_CAST:
    case LW_OP_BITCAST:
        x = bits_needed(f, inst->a, depth - 1);
        if (x == 64 && lw_dtypes[lw_ir_type(&f->b, inst->a)].kind == LW_KIND_UINT)
            x = lw_dtypes[lw_ir_type(&f->b, inst->a)].bits;
        return x < lw_dtypes[type].bits ? x : 64;
    case LW_OP_ADD:
    case LW_OP_MUL:
        x = bits_needed(f, inst->a, depth - 1);
        y = bits_needed(f, inst->b, depth - 1);
        x = inst->op == LW_OP_MUL ? x + y : (x > y ? x : y) + 1;
        return x < lw_dtypes[type].bits ? x : 64;
    case LW_OP_SUB: /* `j - 1` in a loop from 1 on */
        counter = counter_of(f, inst->a);
        return counter && lw_ir_is_const(&f->b, inst->b, &known) && known <= counter->least
                   ? COUNTER_BITS
                   : 64;
    case LW_OP_AND:
        x = bits_needed(f, inst->a, depth - 1);
        y = bits_needed(f, inst->b, depth - 1);
        return x < y ? x : y;
    case LW_OP_SELECT:
        x = bits_needed(f, inst->b, depth - 1);
        y = bits_needed(f, inst->c, depth - 1);
        return x > y ? x : y;
    default: return 64;
    }
}

bool
lw_never_negative(const lw_frame *f, lw_ref value)
{
    return value != 0 && bits_needed(f, value, 6) < 64;
}

static bool
may_be_negative(const lw_frame *f, lw_value index)
{
    const lw_type_row *row = lw_type_get(f->l->types, index.type);
    lw_dtype stored = lw_type_stored(f->l->types, index.type);

    if (lw_dtypes[stored].kind == LW_KIND_UINT || (row && row->lo >= 0))
        return false;
    return index.n && !lw_never_negative(f, index.parts[0]);
}

static bool
checks_bounds(const lw_frame *f)
{
    return f->can_raise && (f->l->typed->options.checks & LW_CHECK_BOUNDS) != 0;
}

/* i64 or u64 that lies in the axis, or an exception; negative ones were counted from the end.
 */
static void
check_bounds(lw_frame *f, lw_ref index, lw_ref extent, uint32_t axis)
{
    lw_builder *b = &f->b;
    char message[64];

    snprintf(message, sizeof message, "index out of bounds for axis %u", axis);
    lw_lower_raise(f,
                   lw_ir_compare(b, LW_OP_GE, lw_ir_cast(b, LW_DT_u64, index),
                                 lw_ir_cast(b, LW_DT_u64, extent)),
                   "IndexError", message);
}

/* Of tables, and of what lies inside of read-only records: memory that is not there is not
 * worth a wrong index; the nearest element is taken, as for tuples. */
static bool
is_table(const lw_frame *f, lw_type array)
{
    const lw_type_row *row = row_of(f, array);

    return row->shape && row->readonly;
}

static lw_ref
nearest(lw_builder *b, lw_ref i, int64_t extent, bool negative)
{
    lw_dtype type = lw_ir_type(b, i);
    lw_ref last = lw_ir_int(b, type, extent - 1), zero = lw_ir_zero(b, type);
    lw_dtype positive = type == LW_DT_i32 ? LW_DT_u32 : LW_DT_u64;
    lw_ref beyond;

    if (lw_ir_is_const(b, i, NULL)) /* checked when it was typed */
        return i;
    if (negative)
        i = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, i, zero), zero, i);
    beyond = lw_ir_compare(b, LW_OP_GT, lw_ir_cast(b, positive, i),
                           lw_ir_int(b, positive, extent - 1));
    return lw_ir_select(b, beyond, last, i);
}

/* What the place is computed in: where it is compared, without loss. */
static lw_dtype
place_type(const lw_frame *f, lw_type array, lw_value index, lw_dtype type)
{
    lw_dtype stored = lw_type_stored(f->l->types, index.type);

    if (checks_bounds(f))
        return LW_DT_i64;
    if (!is_table(f, array))
        return type;
    return lw_dtypes[stored].bits < 32 || stored == LW_DT_i32 ? LW_DT_i32 : LW_DT_i64;
}

/* The place that an index names, from 0, as `type`. */
static lw_ref
place_of(lw_frame *f, lw_value array, uint32_t axis, lw_value index, lw_dtype type)
{
    lw_builder *b = &f->b;
    lw_dtype wide = place_type(f, array.type, index, type);
    bool negative = may_be_negative(f, index);
    lw_ref extent = lw_array_extent(f, array, axis);
    lw_ref i = index.n ? cast_offset(b, wide, index.parts[0]) : 0, n;
    uint64_t known;

    if (negative) {
        n = cast_offset(b, wide, extent);
        if (lw_ir_is_const(b, i, &known))
            i = lw_ir_add(b, n, i);
        else
            i = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, i, lw_ir_zero(b, wide)),
                             lw_ir_add(b, i, n), i);
    }
    if (checks_bounds(f))
        check_bounds(f, i, extent, axis);
    else if (is_table(f, array.type))
        i = nearest(b, i, row_of(f, array.type)->shape[axis], negative);
    return cast_offset(b, type, i);
}

/* ---- the items of an index ---- */

typedef struct items {
    lw_index index;
    lw_value values[LW_MAX_INDEX]; /* of AT */
} items;

/* All index expressions, from left to right; a tuple is evaluated once. */
static items *
items_of(lw_frame *f, lw_value array, uint32_t node)
{
    items *it = lw_arena_take(f->l->arena, sizeof *it);
    uint32_t whole_node = 0;
    lw_value whole = {0};

    if (it == NULL)
        return NULL;
    lw_index_read(f->l->typed, f->inst->nodes, node, row_of(f, array.type)->ndim, &it->index);
    for (uint32_t i = 0; i < it->index.n; i++) {
        const lw_index_item *item = &it->index.items[i];

        if (item->kind != LW_INDEX_AT)
            continue;
        if (item->konst) {
            it->values[i] = lw_value_konst(f, item->konst, item->type);
        } else if (item->element) {
            if (whole_node != item->node)
                whole = lw_lower_expression(f, whole_node = item->node);
            it->values[i] = lw_value_element(f, whole, item->element - 1);
        } else {
            it->values[i] = lw_lower_expression(f, item->node);
        }
    }
    return it;
}

/* ---- one element ---- */

/* The address of ((i * n1 + j) * n2 + k) * size, in the order of the layout. The last place is
 * added in 64 bits: neighbours on the fastest axis are then seen to be some bytes apart, and
 * their accesses merge. */
static lw_ref
dense_address(lw_frame *f, lw_value array, const items *it, lw_dtype type)
{
    const lw_type_row *row = row_of(f, array.type);
    lw_builder *b = &f->b;
    lw_ref at = 0, address = part_of(&array, 0), places[LW_MAX_ARRAY_DIMS];
    uint32_t last = row->layout == LW_LAYOUT_C ? row->ndim - 1u : 0;
    lw_ref size = lw_ir_int(b, type, item_bytes(f, array.type));

    if (row->ndim == 0)
        return address;
    for (uint32_t i = 0; i < row->ndim; i++)
        places[i] = place_of(f, array, i, it->values[i], i == last ? LW_DT_i64 : type);
    for (uint32_t i = 0; i + 1 < row->ndim; i++) {
        uint32_t axis = row->layout == LW_LAYOUT_C ? i : row->ndim - 1 - i;
        uint32_t next = row->layout == LW_LAYOUT_C ? i + 1 : axis - 1;

        at = product(b, sum(b, at, places[axis]),
                     cast_offset(b, type, lw_array_extent(f, array, next)));
    }
    address = moved(b, address, at ? product(b, at, size) : 0);
    return moved(b, address,
                 product(b, places[last], lw_ir_int(b, LW_DT_i64, item_bytes(f, array.type))));
}

static lw_ref
strided_offset(lw_frame *f, lw_value array, const items *it, lw_dtype type)
{
    lw_ref at = 0;

    for (uint32_t i = 0; i < row_of(f, array.type)->ndim; i++) {
        lw_ref place = place_of(f, array, i, it->values[i], type);
        at = sum(&f->b, at, product(&f->b, place, stride_in(f, array, i, type)));
    }
    return at;
}

static lw_ref
element_address(lw_frame *f, lw_value array, const items *it)
{
    lw_dtype type = row_of(f, array.type)->shape ? LW_DT_i32 : offset_type(f);

    if (row_of(f, array.type)->layout == LW_LAYOUT_ANY)
        return moved(&f->b, part_of(&array, 0), strided_offset(f, array, it, type));
    return dense_address(f, array, it, type);
}

lw_ref
lw_lower_element_address(lw_frame *f, lw_value array, uint32_t index)
{
    const items *it = items_of(f, array, index);

    return it && it->index.is_element ? element_address(f, array, it) : 0;
}

/* ---- slices ---- */

typedef struct span {
    lw_ref start, count, step; /* i64; step 0: one */
} span;

static bool
is_given(const lw_frame *f, uint32_t node)
{
    return node != 0 && lw_typed_at(f, node)->type != LW_T_NONE;
}

static lw_ref
smaller(lw_builder *b, lw_ref x, lw_ref y)
{
    return lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, x, y), x, y);
}

static lw_ref
larger(lw_builder *b, lw_ref x, lw_ref y)
{
    return lw_ir_select(b, lw_ir_compare(b, LW_OP_GT, x, y), x, y);
}

/* A bound as Python clips it: negative ones count from the end, then low … high. */
static lw_ref
clipped(lw_frame *f, uint32_t node, lw_ref extent, lw_ref low, lw_ref high)
{
    lw_builder *b = &f->b;
    lw_value value = lw_lower_expression(f, node);
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
        return larger(b, lw_ir_add(b, i, extent), low);
    if (!may_be_negative(f, value))
        return smaller(b, i, high);
    i = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, i, const64(f, 0)), lw_ir_add(b, i, extent),
                     i);
    return smaller(b, larger(b, i, low), high);
}

static span
span_by_one(lw_frame *f, const lw_node *slice, lw_ref extent)
{
    lw_builder *b = &f->b;
    lw_ref zero = const64(f, 0);
    span s = {.start = zero, .count = extent};
    lw_ref stop = extent;

    if (is_given(f, slice->a))
        s.start = clipped(f, slice->a, extent, zero, extent);
    if (is_given(f, slice->b))
        stop = clipped(f, slice->b, extent, zero, extent);
    if (is_given(f, slice->a))
        s.count = larger(b, lw_ir_sub(b, stop, s.start), zero);
    else
        s.count = stop;
    return s;
}

static lw_ref
step_of(lw_frame *f, uint32_t node)
{
    lw_value value = lw_lower_as(f, node, LW_T_INDEX);
    lw_ref step = value.n ? value.parts[0] : 0;

    if (!lw_ir_is_const(&f->b, step, NULL) && f->can_raise)
        lw_lower_raise(f, lw_ir_compare(&f->b, LW_OP_EQ, step, const64(f, 0)), "ValueError",
                       "slice step cannot be zero");
    return step;
}

/* As slice.indices: which ends the bounds are clipped to depends on the step's sign. */
static span
span_by_step(lw_frame *f, const lw_node *slice, lw_ref extent)
{
    lw_builder *b = &f->b;
    lw_ref start = 0, stop = 0, zero = const64(f, 0), one = const64(f, 1);
    lw_ref step = step_of(f, slice->c);
    lw_ref falls = lw_ir_compare(b, LW_OP_LT, step, zero);
    lw_ref low = lw_ir_select(b, falls, const64(f, -1), zero);
    lw_ref high = lw_ir_select(b, falls, lw_ir_sub(b, extent, one), extent);

    start = is_given(f, slice->a) ? clipped(f, slice->a, extent, low, high)
                                  : lw_ir_select(b, falls, high, low);
    stop = is_given(f, slice->b) ? clipped(f, slice->b, extent, low, high)
                                 : lw_ir_select(b, falls, low, high);
    return (span){.start = start,
                  .count = lw_ir_cast(b, LW_DT_i64, lw_range_count(b, start, stop, step)),
                  .step = step};
}

static bool
steps_by_one(const lw_frame *f, uint32_t step)
{
    const lw_konst *k = step && lw_typed_at(f, step)->konst
                            ? lw_typed_konst(f->l->typed, lw_typed_at(f, step)->konst)
                            : NULL;

    return !is_given(f, step) || (k && k->kind == LW_K_INT && k->i == 1);
}

static span
span_of(lw_frame *f, uint32_t slice, lw_ref extent)
{
    const lw_node *s = lw_node_at(f, slice);

    return steps_by_one(f, s->c) ? span_by_one(f, s, extent) : span_by_step(f, s, extent);
}

/* ---- views ---- */

/* Parts of an array of any shape while they are put together. */
typedef struct view {
    lw_ref address, extents[LW_MAX_ARRAY_DIMS], strides[LW_MAX_ARRAY_DIMS];
    uint32_t ndim;
} view;

static void
keep_axis(view *v, lw_ref extent, lw_ref stride)
{
    v->extents[v->ndim] = extent;
    v->strides[v->ndim++] = stride;
}

static lw_value
view_value(lw_frame *f, const view *v, lw_type type)
{
    const lw_type_row *row = row_of(f, type);
    lw_ref parts[1 + 2 * LW_MAX_ARRAY_DIMS] = {v->address};

    if (row->shape)
        return lw_value_of(f, type, parts, 1);
    for (uint32_t i = 0; i < row->ndim; i++) {
        parts[1 + i] = v->extents[i];
        parts[1 + row->ndim + i] = v->strides[i];
    }
    return lw_value_of(f, type, parts, 1 + 2u * row->ndim);
}

/* One axis of the array, or a new one; *offset gathers how far the address moves. */
static void
pick_axis(lw_frame *f, lw_value array, const items *it, uint32_t i, uint32_t axis, view *v,
          lw_ref *offset)
{
    const lw_index_item *item = &it->index.items[i];
    lw_builder *b = &f->b;
    lw_dtype type = offset_type(f);
    lw_ref extent, stride, start;
    span s;

    if (item->kind == LW_INDEX_NEW) {
        keep_axis(v, const64(f, 1), const64(f, 0));
        return;
    }
    if (item->kind == LW_INDEX_AT) {
        start = place_of(f, array, axis, it->values[i], type);
        *offset = sum(b, *offset, product(b, start, stride_in(f, array, axis, type)));
        return;
    }
    extent = lw_array_extent(f, array, axis);
    stride = lw_array_stride(f, array, axis);
    if (item->kind == LW_INDEX_ALL) {
        keep_axis(v, extent, stride);
        return;
    }
    s = span_of(f, item->node, extent);
    start = cast_offset(b, type, s.start);
    *offset = sum(b, *offset, product(b, start, stride_in(f, array, axis, type)));
    /* may wrap: a step beyond the end leaves one element, at 0 times the stride */
    keep_axis(v, s.count, s.step ? lw_ir_mul(b, stride, s.step) : stride);
}

static lw_value
lower_view(lw_frame *f, lw_value array, const items *it, lw_type type)
{
    view v = {0};
    lw_ref offset = 0;
    uint32_t axis = 0;

    for (uint32_t i = 0; i < it->index.n; i++) {
        pick_axis(f, array, it, i, axis, &v, &offset);
        axis += it->index.items[i].kind != LW_INDEX_NEW;
    }
    v.address = moved(&f->b, part_of(&array, 0), offset);
    return view_value(f, &v, type);
}

/* ---- conversion: the same memory with less known about it ---- */

lw_value
lw_array_convert(lw_frame *f, lw_value array, lw_type to)
{
    const lw_type_row *from = row_of(f, array.type), *row = row_of(f, to);
    view v = {.address = part_of(&array, 0)};

    if (row->shape == NULL && from->shape == NULL)
        return (lw_value){.type = to, .n = array.n, .parts = array.parts};
    for (uint32_t i = 0; i < from->ndim && row->shape == NULL; i++)
        keep_axis(&v, lw_array_extent(f, array, i), lw_array_stride(f, array, i));
    return view_value(f, &v, to);
}

/* ---- expressions ---- */

/* Bytes that an element's address is sure to be a multiple of; 0: what its type wants. */
static uint32_t
align_of(const lw_frame *f, lw_type array)
{
    return row_of(f, array)->align;
}

static lw_type
element_of(const lw_frame *f, lw_type array)
{
    return row_of(f, array)->elements[0];
}

lw_value
lw_lower_array_subscript(lw_frame *f, uint32_t node, lw_value array)
{
    const items *it = items_of(f, array, lw_node_at(f, node)->b);
    lw_type type = lw_typed_at(f, node)->type;

    if (it == NULL)
        return (lw_value){.type = type};
    lw_lower_place(f, node);
    if (!it->index.is_element)
        return lower_view(f, array, it, type);
    return lw_lower_load(f, type, element_address(f, array, it), align_of(f, array.type));
}

static lw_value
transposed(lw_frame *f, lw_value array, lw_type type)
{
    view v = {.address = part_of(&array, 0)};

    for (uint32_t i = row_of(f, array.type)->ndim; i-- > 0;)
        keep_axis(&v, lw_array_extent(f, array, i), lw_array_stride(f, array, i));
    return view_value(f, &v, type);
}

static lw_ref
count_elements(lw_frame *f, lw_value array)
{
    lw_ref n = const64(f, 1);

    for (uint32_t i = 0; i < row_of(f, array.type)->ndim; i++)
        n = product(&f->b, n, lw_array_extent(f, array, i));
    return n;
}

lw_value
lw_lower_array_attribute(lw_frame *f, uint32_t node, lw_value array, const char *name)
{
    const lw_type_row *row = row_of(f, array.type);
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
        return lw_value_scalar(f, type, const64(f, item_bytes(f, array.type)));
    default: break;
    }
    if (name[1] == 'd') /* ndim */
        return lw_value_scalar(f, type, const64(f, row->ndim));
    return lw_value_scalar(
        f, type,
        product(&f->b, count_elements(f, array), const64(f, item_bytes(f, array.type))));
}

/* Item k (u64) of a loop over the array; k lies in it. */
lw_value
lw_lower_array_item(lw_frame *f, lw_value array, lw_ref k, lw_type type)
{
    lw_dtype offset = offset_type(f);
    lw_ref bytes =
        product(&f->b, cast_offset(&f->b, offset, k), stride_in(f, array, 0, offset));
    view v = {.address = moved(&f->b, part_of(&array, 0), bytes)};

    if (row_of(f, array.type)->ndim == 1)
        return lw_lower_load(f, type, v.address, align_of(f, array.type));
    for (uint32_t i = 1; i < row_of(f, array.type)->ndim; i++)
        keep_axis(&v, lw_array_extent(f, array, i), lw_array_stride(f, array, i));
    return view_value(f, &v, type);
}

/* ---- assignment ---- */

/* An array walked by counters, one for each axis. */
typedef struct walk {
    lw_value array;
    lw_ref strides[LW_MAX_ARRAY_DIMS];
} walk;

static walk
walk_of(lw_frame *f, lw_value array)
{
    walk w = {.array = array};

    for (uint32_t i = 0; i < row_of(f, array.type)->ndim; i++)
        w.strides[i] = stride_in(f, array, i, offset_type(f));
    return w;
}

/* An axis of extent 1 is repeated, as NumPy does; other extents have to agree. *differs: they
 * do not. */
static void
broadcast(lw_frame *f, walk *from, lw_value to, lw_ref *differs)
{
    lw_builder *b = &f->b;
    lw_ref zero = lw_ir_zero(b, offset_type(f));

    *differs = lw_ir_int(b, LW_DT_b1, 0);
    for (uint32_t i = 0; i < row_of(f, to.type)->ndim; i++) {
        lw_ref wanted = lw_array_extent(f, to, i), given = lw_array_extent(f, from->array, i);
        lw_ref one = lw_ir_compare(b, LW_OP_EQ, given, const64(f, 1));
        lw_ref other = lw_ir_compare(b, LW_OP_NE, given, wanted);

        *differs = lw_ir_or(b, *differs, lw_ir_and(b, other, lw_ir_not(b, one)));
        from->strides[i] = lw_ir_select(b, one, zero, from->strides[i]);
    }
    if (f->can_raise)
        lw_lower_raise(f, *differs, "ValueError", "could not broadcast: the shapes differ");
}

static lw_ref
place_in(lw_frame *f, const walk *w, const lw_for *loops)
{
    lw_ref at = 0;

    for (uint32_t i = 0; i < row_of(f, w->array.type)->ndim; i++)
        at = sum(&f->b, at,
                 product(&f->b, cast_offset(&f->b, offset_type(f), loops[i].i), w->strides[i]));
    return moved(&f->b, part_of(&w->array, 0), at);
}

/* A loop nest over all elements of `to`; value: a scalar, or an array of the same shape. */
static void
fill(lw_frame *f, lw_value to, lw_value value)
{
    const lw_type_row *row = row_of(f, to.type);
    bool copies = lw_type_kind_of(f->l->types, value.type) == LW_TK_ARRAY;
    walk into = walk_of(f, to), from = {.array = value};
    lw_for loops[LW_MAX_ARRAY_DIMS] = {0};
    lw_ref differs = 0;

    if (copies) {
        from = walk_of(f, value);
        broadcast(f, &from, to, &differs);
    } else {
        value = lw_value_convert(f, value, row->elements[0]);
    }
    for (uint32_t i = 0; i < row->ndim; i++) {
        lw_ref extent = lw_array_extent(f, to, i);
        if (copies && !f->can_raise) /* errors are ignored: nothing is copied */
            extent = lw_ir_select(&f->b, differs, const64(f, 0), extent);
        loops[i] = lw_ir_for(&f->b, const64(f, 0), extent, const64(f, 1), 0, 0);
    }
    if (copies)
        value = lw_lower_load(f, element_of(f, value.type), place_in(f, &from, loops),
                              align_of(f, value.type));
    lw_lower_store(f, row->elements[0], place_in(f, &into, loops), value, align_of(f, to.type));
    for (uint32_t i = row->ndim; i-- > 0;)
        lw_ir_for_end(&f->b, &loops[i]);
}

/* A target that is a field: of one record, or of every item. */
static void
store_field(lw_frame *f, uint32_t target, lw_value object, const char *name, lw_value value)
{
    lw_type type = lw_typed_at(f, target)->type;
    uint32_t align;

    if (lw_type_kind_of(f->l->types, type) == LW_TK_ARRAY) {
        fill(f, lw_lower_field(f, object, name, type), value);
        return;
    }
    lw_ref address = lw_lower_field_address(f, object, name, &align);
    lw_lower_store(f, type, address, value, align);
}

void
lw_lower_memory_store(lw_frame *f, uint32_t target, lw_value value)
{
    lw_value object = lw_lower_expression(f, lw_node_at(f, target)->a);
    const char *name = lw_lower_field_name(f, target, object.type);
    lw_type type = lw_typed_at(f, target)->type;
    const items *it;

    if (name) {
        lw_lower_place(f, target);
        store_field(f, target, object, name, value);
        return;
    }
    it = items_of(f, object, lw_node_at(f, target)->b);
    if (it == NULL)
        return;
    lw_lower_place(f, target);
    if (it->index.is_element)
        lw_lower_store(f, type, element_address(f, object, it), value,
                       align_of(f, object.type));
    else
        fill(f, lower_view(f, object, it, type), value);
}

void
lw_lower_augmented_store(lw_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    lw_type type = lw_typed_at(f, n->a)->type;
    lw_value object = lw_lower_expression(f, lw_node_at(f, n->a)->a), before;
    const char *name = lw_lower_field_name(f, n->a, object.type);
    uint32_t align = 0;
    lw_ref address;

    if (name) {
        address = lw_lower_field_address(f, object, name, &align);
    } else {
        address = lw_lower_element_address(f, object, lw_node_at(f, n->a)->b);
        align = align_of(f, object.type);
    }
    before = lw_lower_load(f, type, address, align);
    lw_lower_store(f, type, address,
                   lw_lower_binary_nodes(f, node, (lw_pyop)n->op, before, n->b), align);
}
