/* Addresses of elements. Offsets are bytes; they are computed in 32 bits where the caller of
 * the front end promises that all of them fit (options.narrow), because GPUs have no 64-bit
 * integer unit. Partial sums are the offsets of other elements, so that they fit as well. */
#include "core/front/lower/address.h"

#include "core/ir/format.h"
#include "core/ir/operands.h"

#include <assert.h>
#include <stdio.h>

int64_t
lw_array_item_bytes(const lw_lower_frame *f, lw_type array)
{
    return lw_type_bytes(f->l->types, lw_array_row_of(f, array)->elements[0]);
}

/* ---- extents and strides ---- */

lw_ref
lw_array_extent(lw_lower_frame *f, lw_lower_value array, uint32_t axis)
{
    assert(axis < lw_array_row_of(f, array.type)->ndim);
    const lw_type_row *row = lw_array_row_of(f, array.type);

    return row->shape ? lw_const64(f, row->shape[axis]) : lw_part_at(&array, 1 + axis);
}

/* The type in which offsets are computed. It is not narrow in loops: LLVM advances pointers
 * from iteration to iteration there, which it cannot do through a sign extension. */
lw_dtype
lw_offset_type(const lw_lower_frame *f)
{
    return f->l->typed->options.narrow && f->loop == NULL ? LW_DT_i32 : LW_DT_i64;
}

lw_ref
lw_offset_product(lw_builder *b, lw_ref x, lw_ref y)
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

/* As `type`: a narrower value loses only bits that no offset needs (see above). */
lw_ref
lw_offset_cast(lw_builder *b, lw_dtype type, lw_ref x)
{
    assert(type == LW_DT_i32 || type == LW_DT_i64);
    uint64_t known;

    if (lw_ir_is_const(b, x, &known))
        return lw_ir_int(b, type, type == LW_DT_i32 ? (int64_t)(int32_t)known : (int64_t)known);
    return lw_ir_cast(b, type, x);
}

lw_ref
lw_array_stride_in(lw_lower_frame *f, lw_lower_value array, uint32_t axis, lw_dtype type)
{
    assert(axis < lw_array_row_of(f, array.type)->ndim);
    assert(type == LW_DT_i32 || type == LW_DT_i64);
    const lw_type_row *row = lw_array_row_of(f, array.type);
    lw_ref bytes = lw_ir_int(&f->b, type, lw_array_item_bytes(f, array.type));
    uint32_t from = row->layout == LW_LAYOUT_C ? axis + 1 : 0;
    uint32_t to = row->layout == LW_LAYOUT_C ? row->ndim : axis;

    if (row->layout == LW_LAYOUT_ANY)
        return lw_offset_cast(&f->b, type, lw_part_at(&array, 1u + row->ndim + axis));
    for (uint32_t i = to; i-- > from;)
        bytes = lw_offset_product(
            &f->b, lw_offset_cast(&f->b, type, lw_array_extent(f, array, i)), bytes);
    return bytes;
}

lw_ref
lw_array_stride(lw_lower_frame *f, lw_lower_value array, uint32_t axis)
{
    return lw_array_stride_in(f, array, axis, LW_DT_i64);
}

lw_ref
lw_offset_sum(lw_builder *b, lw_ref x, lw_ref y)
{
    uint64_t known;

    if (x == 0 || (lw_ir_is_const(b, x, &known) && known == 0))
        return y;
    return lw_ir_is_const(b, y, &known) && known == 0 ? x : lw_ir_add_no_wrap(b, x, y);
}

lw_ref
lw_address_moved(lw_builder *b, lw_ref address, lw_ref bytes)
{
    uint64_t known;

    if (bytes == 0 || (lw_ir_is_const(b, bytes, &known) && known == 0))
        return address;
    return lw_ir_offset(b, address, bytes);
}

/* ---- one integer index ---- */

/* Bits of a counter: a larger one is no index of any array, nor is a multiple of it. */
enum { COUNTER_BITS = 47 };

void
lw_lower_note_counter(lw_lower_frame *f, lw_ref value, lw_ref start, lw_ref stop)
{
    uint64_t least = 0;
    lw_counter *slot = lw_array_push(&f->counters, f->l->arena);

    if (start && !lw_ir_is_const(&f->b, start, &least))
        least = 0;
    if (slot)
        *slot = (lw_counter){value, least, stop};
}

const lw_counter *
lw_counter_of(const lw_lower_frame *f, lw_ref value)
{
    for (uint32_t i = 0; i < f->counters.n; i++)
        if (f->counters.data[i].value == value)
            return &f->counters.data[i];
    return NULL;
}

/* Whether this parameter of the IR function is the extent of an array. */
static bool
is_extent(const lw_lower_frame *f, uint32_t number)
{
    uint32_t at = f->inst->recurses && f->level != 0; /* behind the level */

    for (uint32_t i = 0; i < f->inst->n_params; i++) {
        lw_type type = f->inst->param_types[i];
        const lw_type_row *row = lw_type_get(f->l->types, type);
        uint32_t n = f->inst->param_constants[i] ? 0 : lw_parts_of(f->l->types, type);
        if (number < at + n)
            return lw_type_kind_of(f->l->types, type) == LW_TK_ARRAY && row->shape == NULL &&
                   number > at && number <= at + row->ndim;
        at += n;
    }
    return false;
}

/* The number of bits of a value that is known not to be negative; 64: it is not known. Sums of
 * such values count as not negative, because no array has 2^62 elements. */
static unsigned
bits_needed(const lw_lower_frame *f, lw_ref value, int depth)
{
    const lw_inst *inst = &f->b.func->insts.data[value];
    lw_dtype type = (lw_dtype)inst->type;
    const lw_counter *counter;
    unsigned x, y;
    uint64_t known;

    if (lw_ir_is_const(&f->b, value, &known))
        return (int64_t)known < 0 ? 64 : known ? 64 - (unsigned)__builtin_clzll(known) : 0;
    if (lw_counter_of(f, value))
        return COUNTER_BITS;
    if (depth == 0 || !lw_is_integer(type))
        return 64;
    switch (inst->op) {
    case LW_OP_PARAM: return is_extent(f, inst->a) ? COUNTER_BITS : 64;
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
    case LW_OP_SUB: /* `j - 1` in a loop that starts at 1 */
        counter = lw_counter_of(f, inst->a);
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
lw_never_negative(const lw_lower_frame *f, lw_ref value)
{
    return value != 0 && bits_needed(f, value, 6) < 64;
}

bool
lw_may_be_negative(const lw_lower_frame *f, lw_lower_value index)
{
    const lw_type_row *row = lw_type_get(f->l->types, index.type);
    lw_dtype stored = lw_type_stored(f->l->types, index.type);

    if (lw_dtypes[stored].kind == LW_KIND_UINT || (row && row->lo >= 0))
        return false;
    return index.n && !lw_never_negative(f, index.parts[0]);
}

/* The address that this one was made from by adding offsets. */
static const lw_inst *
root_of(const lw_lower_frame *f, lw_ref address)
{
    const lw_inst *inst = &f->b.func->insts.data[address];

    while (inst->op == LW_OP_OFFSET)
        inst = &f->b.func->insts.data[inst->a];
    return inst;
}

/* Whether an address may be in shared memory whose size the launch sets. It cannot be if it
 * comes from an argument of the kernel or from memory of known size. */
static bool
may_be_dynamic(const lw_lower_frame *f, lw_ref address)
{
    switch (root_of(f, address)->op) {
    case LW_OP_NEW:
    case LW_OP_LOCAL:
    case LW_OP_SHARED:
    case LW_OP_DATA: return false;
    case LW_OP_PARAM: return f->instance != 1; /* a parameter of the kernel itself */
    default: return true;
    }
}

/* Whether an address may be in a guarded argument. */
static bool
guarded_address(const lw_lower_frame *f, lw_ref address)
{
    const lw_inst *inst = root_of(f, address);

    return inst->op != LW_OP_LOCAL && inst->op != LW_OP_NEW && inst->op != LW_OP_SHARED &&
           (inst->op != LW_OP_PARAM || f->instance != 1 || inst->a >= f->guarded.n ||
            f->guarded.data[inst->a]);
}

/* Whether it is a view of a constant table, as far as this can be seen. */
static bool
is_view_of_table(const lw_lower_frame *f, lw_lower_value array)
{
    const lw_type_row *row = lw_type_get(f->l->types, array.type);

    return row != NULL && row->kind == LW_TK_ARRAY && row->readonly && row->shape == NULL &&
           f->b.func != NULL && array.n > 0 && root_of(f, array.parts[0])->op == LW_OP_DATA;
}

/* If every array argument is guarded, read-only arrays in parameters of helpers and in
 * variables count as views of tables, too. */
static bool
may_be_view_of_table(const lw_lower_frame *f, lw_lower_value array)
{
    const lw_type_row *row = lw_type_get(f->l->types, array.type);
    lw_op op;

    if (is_view_of_table(f, array))
        return true;
    if (!f->l->typed->all_guarded || !row->readonly || f->b.func == NULL || array.n == 0)
        return false;
    op = (lw_op)root_of(f, array.parts[0])->op;
    return op != LW_OP_LOCAL && op != LW_OP_NEW && op != LW_OP_SHARED &&
           (op != LW_OP_PARAM || f->instance != 1);
}

static bool
checks_bounds(const lw_lower_frame *f, lw_lower_value array)
{
    if (f->can_raise && (f->l->typed->options.checks & LW_CHECK_BOUNDS) != 0)
        return true;
    return f->l->typed->options.guard_dynamic && f->b.func != NULL && array.n > 0 &&
           may_be_dynamic(f, array.parts[0]);
}

bool
lw_guards(const lw_lower_frame *f, lw_lower_value array)
{
    const lw_type_row *row = lw_type_get(f->l->types, array.type);
    lw_ref address = lw_part_at(&array, 0);

    if (!f->l->guards || !f->can_raise || f->fn->implements != NULL)
        return false;
    if (row == NULL || row->kind != LW_TK_ARRAY || (row->shape && row->readonly))
        return true;
    if (row->shape != NULL)
        return false;
    if (f->b.func == NULL || address == 0)
        return true;
    if (root_of(f, address)->op == LW_OP_DATA)
        return true; /* an array from outside */
    return may_be_view_of_table(f, array) ||
           (f->l->typed->any_guarded && guarded_address(f, address));
}

/* Whether the index (i64 or u64) is outside the axis. Negative ones count from the end. */
static lw_ref
is_outside(lw_builder *b, lw_ref index, lw_ref extent)
{
    return lw_ir_compare(b, LW_OP_GE, lw_ir_cast(b, LW_DT_u64, index),
                         lw_ir_cast(b, LW_DT_u64, extent));
}

/* Under check={"bounds"}: the exception shows the index, as the program has it, and the size.
 */
static void
raise_with_numbers(lw_lower_frame *f, lw_ref outside, lw_ref index, lw_ref extent,
                   uint32_t axis)
{
    lw_builder *b = &f->b;
    lw_dtype type = lw_is_signed((lw_dtype)lw_ir_type(b, index)) ? LW_DT_i64 : LW_DT_u64;
    lw_format_value values[] = {{.dtype = type}, {.dtype = LW_DT_i64, .behind = ""}};
    lw_ref words[2];
    char between[64];
    uint64_t number;

    snprintf(between, sizeof between, " is out of bounds for axis %u with size ", axis);
    values[0].behind = between;
    number = lw_format_add("index ", values, 2);
    if (number == 0) {
        f->l->module->failed = true;
        return;
    }
    lw_ir_if(b, outside);
    words[0] = lw_ir_cast(b, LW_DT_u64, lw_ir_cast(b, type, index));
    words[1] = lw_ir_cast(b, LW_DT_u64, extent);
    lw_lower_raise_words(f, "IndexError", number, words, 2);
    lw_ir_end(b);
}

static void
raise_outside(lw_lower_frame *f, lw_lower_value array, lw_ref outside, uint32_t axis,
              void (*raise)(lw_lower_frame *, lw_ref, const char *, const char *))
{
    lw_builder *b = &f->b;
    bool on_gpu_too = (f->l->typed->options.checks & LW_CHECK_BOUNDS) || lw_guards(f, array);
    bool dynamic = !on_gpu_too && b->func != NULL &&
                   b->func->insts.data[lw_part_at(&array, 0)].op == LW_OP_DYNAMIC;
    const int64_t *shape = dynamic ? NULL : lw_array_row_of(f, array.type)->shape;
    char message[128], size[40] = "";

    if (shape != NULL)
        snprintf(size, sizeof size, " with size %lld", (long long)shape[axis]);
    snprintf(message, sizeof message, "index out of bounds for axis %u%s", axis,
             dynamic ? " of the dynamic shared memory, whose bytes are the launch's sharedmem"
                     : size);
    raise(f, outside, "IndexError", message);
}

/* If the index is outside: the first element, and the exception follows the load. An axis
 * without elements raises at once. */
static lw_ref
kept_inside(lw_lower_frame *f, lw_lower_value array, lw_ref index, lw_ref extent, uint32_t axis)
{
    lw_builder *b = &f->b;
    lw_ref outside = is_outside(b, index, extent);

    f->outside[axis] = outside;
    if (!lw_ir_is_const(b, extent, NULL))
        raise_outside(f, array, lw_ir_compare(b, LW_OP_EQ, extent, lw_ir_zero(b, LW_DT_i64)),
                      axis, lw_lower_raise);
    return lw_ir_select(b, outside, lw_ir_zero(b, lw_ir_type(b, index)), index);
}

/* An index outside a table, or outside an array in a read-only record, must not read other
 * memory: the nearest element is taken, as for tuples. */
static bool
is_table(const lw_lower_frame *f, lw_type array)
{
    const lw_type_row *row = lw_array_row_of(f, array);

    return row->shape && row->readonly;
}

static lw_ref
nearest(lw_builder *b, lw_ref i, lw_ref last, bool negative)
{
    lw_dtype type = lw_ir_type(b, i);
    lw_dtype positive = type == LW_DT_i32 ? LW_DT_u32 : LW_DT_u64;
    lw_ref zero = lw_ir_zero(b, type), beyond;

    if (negative)
        i = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, i, zero), zero, i);
    beyond =
        lw_ir_compare(b, LW_OP_GT, lw_ir_cast(b, positive, i), lw_ir_cast(b, positive, last));
    return lw_ir_select(b, beyond, last, i);
}

/* The last position of an axis. For an empty axis it is 0, which lies behind the array; what is
 * read there is undefined. */
static lw_ref
last_position(lw_builder *b, lw_ref extent, lw_dtype type)
{
    lw_ref n = lw_offset_cast(b, type, extent), zero = lw_ir_zero(b, type);
    lw_ref last = lw_ir_sub(b, n, lw_ir_int(b, type, 1));

    return lw_ir_select(b, lw_ir_compare(b, LW_OP_EQ, n, zero), zero, last);
}

/* The type in which the index is computed: one without loss if it is compared. */
static lw_dtype
position_type(const lw_lower_frame *f, lw_lower_value array, lw_lower_value index,
              lw_dtype type, bool checked)
{
    lw_dtype stored = lw_type_stored(f->l->types, index.type);

    if (checked)
        return LW_DT_i64;
    if (!is_table(f, array.type))
        return type;
    return lw_dtypes[stored].bits < 32 || stored == LW_DT_i32 ? LW_DT_i32 : LW_DT_i64;
}

/* If an index that was just made by a subtraction overflows, it selects no element. So the
 * subtraction may be assumed not to overflow, and is negative where x < y: the condition in `if
 * i >= w: a[i - w]` then decides it. */
static lw_ref
is_negative(lw_lower_frame *f, lw_ref index, lw_ref i, bool is_checked)
{
    lw_inst *inst = f->b.func != NULL ? &f->b.func->insts.data[index] : NULL;

    if (inst != NULL && !is_checked && inst->type == LW_DT_i64 && inst->op == LW_OP_SUB &&
        lw_ir_count_uses(f->b.func, index) == 0) {
        inst->flags |= LW_NO_WRAP;
        return lw_ir_compare(&f->b, LW_OP_LT, inst->a, inst->b);
    }
    return lw_ir_compare(&f->b, LW_OP_LT, i, lw_ir_zero(&f->b, lw_ir_type(&f->b, i)));
}

lw_ref
lw_index_position(lw_lower_frame *f, lw_lower_value array, uint32_t axis, lw_lower_value index,
                  lw_dtype type)
{
    assert(axis < lw_array_row_of(f, array.type)->ndim);
    lw_builder *b = &f->b;
    lw_ref extent = lw_array_extent(f, array, axis);
    bool endless = lw_array_row_of(f, array.type)->endless;
    bool negative = !endless && lw_may_be_negative(f, index);
    bool guarded = !endless && lw_guards(f, array) &&
                   !lw_surely_inside(f, index.n ? index.parts[0] : 0, extent);
    bool checked = guarded || (!endless && checks_bounds(f, array));
    lw_dtype wide = position_type(f, array, index, type, checked || is_view_of_table(f, array));
    lw_ref i = index.n ? lw_offset_cast(b, wide, index.parts[0]) : 0, n, below;
    uint64_t known;

    if (negative) {
        n = lw_offset_cast(b, wide, extent);
        below = is_negative(f, index.parts[0], i, checked || is_table(f, array.type));
        if (lw_ir_is_const(b, i, &known))
            i = lw_ir_add(b, n, i);
        else
            i = lw_ir_select(b, below, lw_ir_add(b, i, n), i);
    }
    if (guarded && f->outside != NULL)
        i = kept_inside(f, array, i, extent, axis);
    else if (checked && index.n && f->l->n_raise_words == LW_RAISE_WORDS && f->deferred == 0 &&
             (f->l->typed->options.checks & LW_CHECK_BOUNDS))
        raise_with_numbers(f, is_outside(b, i, extent), index.parts[0], extent, axis);
    else if (checked)
        raise_outside(f, array, is_outside(b, i, extent), axis, lw_lower_raise);
    else if (is_table(f, array.type) &&
             !lw_ir_is_const(b, i, NULL)) /* else inference compared */
        i = nearest(b, i, lw_ir_int(b, wide, lw_array_row_of(f, array.type)->shape[axis] - 1),
                    negative);
    else if (is_view_of_table(f, array))
        i = nearest(b, i, last_position(b, extent, wide), negative);
    return lw_offset_cast(b, type, i);
}

/* ---- the items of a subscript ---- */

lw_index_items *
lw_index_items_of(lw_lower_frame *f, lw_lower_value array, uint32_t node)
{
    assert(lw_is_array(f, array));
    lw_index_items *it = lw_arena_take(f->l->arena, sizeof *it);
    uint32_t whole_node = 0;
    lw_lower_value whole = {0};

    if (it == NULL)
        return NULL;
    lw_index_read(f->l->typed, &f->inst->nodes, node, lw_array_row_of(f, array.type)->ndim,
                  &it->index);
    for (uint32_t i = 0; i < it->index.n; i++) {
        const lw_index_item *item = &it->index.items[i];

        if (item->kind != LW_INDEX_AT && !(item->kind == LW_INDEX_SLICE && item->type))
            continue;
        if (item->constant) {
            it->values[i] = lw_value_constant(f, item->constant, item->type);
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

/* The address of ((i * n1 + j) * n2 + k) * size, in the order of the layout. The last index is
 * added in 64 bits: LLVM then sees the distance between neighbours on the fastest axis and
 * merges their accesses. */
static lw_ref
dense_address(lw_lower_frame *f, lw_lower_value array, const lw_index_items *it, lw_dtype type)
{
    assert(it->index.is_element); /* one position for each axis */
    const lw_type_row *row = lw_array_row_of(f, array.type);
    lw_builder *b = &f->b;
    lw_ref at = 0, address = lw_part_at(&array, 0), positions[LW_MAX_ARRAY_DIMS];
    uint32_t last = row->layout == LW_LAYOUT_C ? row->ndim - 1u : 0;
    lw_ref size = lw_ir_int(b, type, lw_array_item_bytes(f, array.type));

    if (row->ndim == 0)
        return address;
    for (uint32_t i = 0; i < row->ndim; i++)
        positions[i] =
            lw_index_position(f, array, i, it->values[i], i == last ? LW_DT_i64 : type);
    for (uint32_t i = 0; i + 1 < row->ndim; i++) {
        uint32_t axis = row->layout == LW_LAYOUT_C ? i : row->ndim - 1 - i;
        uint32_t next = row->layout == LW_LAYOUT_C ? i + 1 : axis - 1;

        at = lw_offset_product(b, lw_offset_sum(b, at, positions[axis]),
                               lw_offset_cast(b, type, lw_array_extent(f, array, next)));
    }
    address = lw_address_moved(b, address, at ? lw_offset_product(b, at, size) : 0);
    return lw_address_moved(
        b, address,
        lw_offset_product(b, positions[last],
                          lw_ir_int(b, LW_DT_i64, lw_array_item_bytes(f, array.type))));
}

static lw_ref
strided_offset(lw_lower_frame *f, lw_lower_value array, const lw_index_items *it, lw_dtype type)
{
    assert(it->index.is_element); /* one position for each axis */
    lw_ref at = 0;

    for (uint32_t i = 0; i < lw_array_row_of(f, array.type)->ndim; i++) {
        lw_ref position = lw_index_position(f, array, i, it->values[i], type);
        at = lw_offset_sum(
            &f->b, at,
            lw_offset_product(&f->b, position, lw_array_stride_in(f, array, i, type)));
    }
    return at;
}

lw_ref
lw_index_address(lw_lower_frame *f, lw_lower_value array, const lw_index_items *it)
{
    lw_dtype type = lw_array_row_of(f, array.type)->shape ? LW_DT_i32 : lw_offset_type(f);

    if (lw_array_row_of(f, array.type)->layout == LW_LAYOUT_ANY)
        return lw_address_moved(&f->b, lw_part_at(&array, 0),
                                strided_offset(f, array, it, type));
    return dense_address(f, array, it, type);
}

lw_ref
lw_lower_element_address(lw_lower_frame *f, lw_lower_value array, uint32_t index)
{
    const lw_index_items *it = lw_index_items_of(f, array, index);

    return it && it->index.is_element ? lw_index_address(f, array, it) : 0;
}

lw_lower_value
lw_lower_element(lw_lower_frame *f, lw_lower_value array, const lw_index_items *it,
                 lw_type type, uint32_t align)
{
    assert(f->outside == NULL); /* elements inside an index are complete */
    lw_ref outside[LW_MAX_ARRAY_DIMS] = {0}, address;
    lw_lower_value value;

    if (lw_type_kind_of(f->l->types, type) != LW_TK_RECORD && type < LW_T_FIRST_COMPOUND &&
        !(f->l->typed->options.checks & LW_CHECK_BOUNDS)) /* which shows the index at once */
        f->outside = outside;
    address = lw_index_address(f, array, it);
    f->outside = NULL;
    value = lw_lower_item_in(f, type, address, align, array);
    for (uint32_t i = 0; i < LW_MAX_ARRAY_DIMS; i++)
        if (outside[i])
            raise_outside(f, array, outside[i], i, lw_lower_raise_deferred);
    return value;
}
