/* Arrays that the function makes. Their memory is counted (core/ir/counted.h), and an owner of
 * the IR holds each reference: one for each place where memory is made or a call returns it,
 * and one for each variable. What an owner held before is released when it gets another
 * reference, and at every return, by whichever way the function is left; so nothing else has to
 * be released. A value in flight is held by the place that made it, or by the variable that it
 * was read from; where variables change before all values are used, the values are held, too
 * (lw_lower_guard). Parameters are held by the caller. */
#include "core/front/lower/address.h"

#include "core/front/diagnose.h"
#include "core/ir/counted.h"

#include <assert.h>

/* ---- references in values ---- */

typedef void reference_action(lw_lower_frame *f, lw_ref owner, lw_ref reference);

/* The references of a value, in their order: `act` for each of them. value: NULL where only the
 * owners count. */
static uint32_t
each_reference(lw_lower_frame *f, const lw_lower_value *value, lw_type type, uint32_t at,
               const lw_ref *owners, uint32_t n, reference_action *act)
{
    const lw_types *types = f->l->types;
    const lw_type_row *row = lw_type_get(types, type);

    if (!lw_type_is_owned(types, type))
        return n;
    if (row->kind == LW_TK_ARRAY || row->kind == LW_TK_RECORD) {
        if (act != NULL)
            act(f, owners ? owners[n] : 0,
                value ? lw_part_at(value, at + 1 + 2u * row->ndim) : 0);
        return n + 1;
    }
    for (uint32_t i = 0; i < row->n; i++) {
        n = each_reference(f, value, row->elements[i], at, owners, n, act);
        at += lw_parts_of(types, row->elements[i]);
    }
    return n;
}

static void
hold(lw_lower_frame *f, lw_ref owner, lw_ref reference)
{
    lw_ir_hold(&f->b, owner, reference);
}

static void
take(lw_lower_frame *f, lw_ref owner, lw_ref reference)
{
    lw_ir_take(&f->b, owner, reference);
}

static void
retain(lw_lower_frame *f, lw_ref owner, lw_ref reference)
{
    (void)owner; /* the caller will hold it */
    lw_ir_retain(&f->b, reference);
}

static void
let_go(lw_lower_frame *f, lw_ref owner, lw_ref reference)
{
    (void)reference;
    lw_ir_hold(&f->b, owner, lw_ir_zero(&f->b, LW_DT_ptr));
}

const lw_ref *
lw_lower_owners(lw_lower_frame *f, lw_type type)
{
    uint32_t n = each_reference(f, NULL, type, 0, NULL, 0, NULL);
    lw_ref *owners = lw_arena_take(f->l->arena, (n + 1) * sizeof *owners);

    for (uint32_t i = 0; owners && i < n; i++)
        owners[i] = lw_ir_owner(&f->b);
    return owners;
}

void
lw_lower_hold(lw_lower_frame *f, const lw_ref *owners, lw_lower_value value)
{
    if (owners != NULL && value.n == lw_parts_of(f->l->types, value.type))
        each_reference(f, &value, value.type, 0, owners, 0, hold);
}

const lw_ref *
lw_lower_guard(lw_lower_frame *f, lw_lower_value value)
{
    const lw_ref *owners = NULL;

    if (lw_type_is_owned(f->l->types, value.type)) {
        owners = lw_lower_owners(f, value.type);
        lw_lower_hold(f, owners, value);
    }
    return owners;
}

void
lw_lower_unguard(lw_lower_frame *f, const lw_ref *owners, lw_type type)
{
    if (owners != NULL)
        each_reference(f, NULL, type, 0, owners, 0, let_go);
}

void
lw_lower_take(lw_lower_frame *f, lw_lower_value value)
{
    const lw_ref *owners;

    if (!lw_type_is_owned(f->l->types, value.type) ||
        value.n != lw_parts_of(f->l->types, value.type))
        return;
    owners = lw_lower_owners(f, value.type);
    if (owners != NULL)
        each_reference(f, &value, value.type, 0, owners, 0, take);
}

void
lw_lower_give(lw_lower_frame *f, lw_lower_value value)
{
    if (value.n == lw_parts_of(f->l->types, value.type))
        each_reference(f, &value, value.type, 0, NULL, 0, retain);
}

void
lw_lower_refuse_walrus(lw_lower_frame *f, uint32_t node)
{
    if (f->l->status != LW_OK)
        return;
    f->l->status =
        lw_diagnose(f->l->tree, lw_node_at(f, node)->loc,
                    (lw_fault){LW_ERR_UNSUPPORTED, "E160",
                               .label = "the value gives the name to another array",
                               .help = "write `:=` as a statement of its own before it",
                               .where = f->fn->name},
                    f->l->err, "`:=` of the array that the statement changes");
}

/* ---- new arrays ---- */

/* i64: bytes of an array with these extents, none of which is negative. *too_many: b1, whether
 * they do not fit; 0: they are known to fit. */
static lw_ref
bytes_of(lw_lower_frame *f, int64_t item, const lw_ref *extents, uint32_t n, lw_ref *too_many)
{
    lw_builder *b = &f->b;
    lw_ref bytes = lw_ir_int(b, LW_DT_u64, item), zero = lw_ir_zero(b, LW_DT_u64);
    uint64_t known = (uint64_t)item, extent;
    bool constant = true;

    *too_many = 0;
    for (uint32_t i = 0; i < n; i++) {
        constant = constant && lw_ir_is_const(b, extents[i], &extent) && extent < 1 << 24;
        known = constant ? known * extent : known;
        constant = constant && known < 1 << 24;
    }
    if (constant)
        return lw_const64(f, (int64_t)known);
    for (uint32_t i = 0; i < n; i++) {
        lw_ref by = lw_ir_cast(b, LW_DT_u64, extents[i]);
        lw_ref over = lw_ir_compare(b, LW_OP_NE, lw_ir_mulhi(b, bytes, by), zero);
        *too_many = *too_many ? lw_ir_or(b, *too_many, over) : over;
        bytes = lw_ir_mul(b, bytes, by);
    }
    *too_many =
        lw_ir_or(b, *too_many,
                 lw_ir_compare(b, LW_OP_GT, bytes, lw_ir_int(b, LW_DT_u64, INT64_MAX / 2)));
    bytes = lw_ir_cast(b, LW_DT_i64, bytes);
    return lw_ir_select(b, *too_many, lw_const64(f, INT64_MAX / 2), bytes);
}

/* A dense array of these extents. */
static lw_lower_value
dense(lw_lower_frame *f, lw_type type, lw_ref address, const lw_ref *extents, lw_ref reference)
{
    const lw_type_row *row = lw_array_row_of(f, type);
    lw_ref parts[2 + 2 * LW_MAX_ARRAY_DIMS] = {address};
    lw_ref stride = lw_const64(f, lw_array_item_bytes(f, type));

    for (uint32_t i = row->ndim; i-- > 0;) {
        parts[1 + i] = extents[i];
        parts[1 + row->ndim + i] = stride;
        stride = lw_offset_product(&f->b, stride, extents[i]);
    }
    parts[1 + 2 * row->ndim] = reference;
    return lw_value_of(f, type, parts, 1 + 2u * row->ndim + row->owned);
}

lw_lower_value
lw_lower_new_array(lw_lower_frame *f, lw_type type, const lw_ref *extents)
{
    const lw_type_row *row = lw_array_row_of(f, type);
    lw_builder *b = &f->b;
    lw_ref too_many, memory, address;
    lw_ref bytes = bytes_of(f, lw_array_item_bytes(f, type), extents, row->ndim, &too_many);

    assert(row->owned && row->layout == LW_LAYOUT_C);
    memory = lw_ir_new(b, lw_ir_owner(b), bytes);
    lw_lower_raise(f, lw_ir_compare(b, LW_OP_EQ, memory, lw_ir_zero(b, LW_DT_ptr)),
                   "MemoryError", LW_COUNTED_NO_MEMORY);
    address = lw_ir_offset(b, memory, lw_const64(f, LW_COUNTED_HEADER));
    return dense(f, type, address, extents, memory);
}

/* The extents that argument `index` gives for an array of this type. */
static void
extents_of(lw_lower_frame *f, uint32_t node, uint32_t index, lw_type type, lw_ref *extents)
{
    lw_lower_value shape = lw_lower_argument(f, node, index), one;

    for (uint32_t i = 0; i < lw_array_row_of(f, type)->ndim; i++) {
        one = lw_value_is_tuple(&shape, f) ? lw_value_element(f, shape, i) : shape;
        one = lw_value_convert(f, one, LW_T_INDEX);
        extents[i] = lw_part_at(&one, 0);
    }
}

/* empty(shape, dtype) */
lw_lower_value
lw_lower_empty(lw_lower_frame *f, uint32_t node)
{
    lw_type type = lw_typed_at(f, node)->type;
    lw_ref extents[LW_MAX_ARRAY_DIMS] = {0}, negative = 0, below;

    extents_of(f, node, 0, type, extents);
    lw_lower_set_loc(f, node);
    for (uint32_t i = 0; i < lw_array_row_of(f, type)->ndim; i++) {
        if (lw_never_negative(f, extents[i]))
            continue;
        below = lw_ir_compare(&f->b, LW_OP_LT, extents[i], lw_const64(f, 0));
        negative = negative ? lw_ir_or(&f->b, negative, below) : below;
    }
    if (negative)
        lw_lower_raise(f, negative, "ValueError", "negative dimensions are not allowed");
    return lw_lower_new_array(f, type, extents);
}

/* shaped(x, shape), viewed(x, shape, strides) */
lw_lower_value
lw_lower_view(lw_lower_frame *f, uint32_t node, bool is_dense)
{
    lw_type type = lw_typed_at(f, node)->type;
    lw_lower_value array = lw_lower_argument(f, node, 0);
    const lw_type_row *from = lw_array_row_of(f, array.type), *row = lw_array_row_of(f, type);
    lw_ref parts[2 + 2 * LW_MAX_ARRAY_DIMS] = {lw_part_at(&array, 0)};
    lw_ref reference = from->owned ? lw_part_at(&array, 1 + 2u * from->ndim) : 0;

    extents_of(f, node, 1, type, parts + 1);
    if (is_dense)
        return dense(f, type, parts[0], parts + 1, reference);
    extents_of(f, node, 2, type, parts + 1 + row->ndim);
    parts[1 + 2 * row->ndim] = reference;
    return lw_value_of(f, type, parts, 1 + 2u * row->ndim + row->owned);
}

/* axis(axis, ndim) of an axis that is known only at run time; an axis that is out of bounds is
 * the first one where errors are ignored. */
lw_lower_value
lw_lower_axis(lw_lower_frame *f, uint32_t node)
{
    lw_builder *b = &f->b;
    lw_lower_value axis = lw_lower_argument_as(f, node, 0, LW_T_INDEX);
    lw_lower_value ndim = lw_lower_argument_as(f, node, 1, LW_T_INDEX);
    lw_ref zero = lw_const64(f, 0), at = lw_part_at(&axis, 0), outside;

    at = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, at, zero),
                      lw_ir_add(b, at, lw_part_at(&ndim, 0)), at);
    outside = lw_ir_or(b, lw_ir_compare(b, LW_OP_LT, at, zero),
                       lw_ir_compare(b, LW_OP_GE, at, lw_part_at(&ndim, 0)));
    lw_lower_set_loc(f, node);
    if (lw_raises_errors(f))
        lw_lower_raise(f, outside, "ValueError",
                       "Invalid axis: it is out of bounds for this array");
    return lw_value_scalar(f, LW_T_INDEX, lw_ir_select(b, outside, zero, at));
}
