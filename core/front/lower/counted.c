/* Arrays that the function makes. Their memory is counted (core/ir/counted.h), and an owner of
 * the IR holds each reference: one for each place where memory is made or a call returns it,
 * and one for each variable. What an owner held before is released when it gets another
 * reference, and at every return, by whichever way the function is left; so nothing else has to
 * be released. A value in flight is held by the place that made it, or by the variable that it
 * was read from; where variables change before all values are used, the values are held, too
 * (lw_lower_guard). Parameters are held by the caller.
 *
 * Counting needs atomic operations, so a reference moves where it can: from the place that made
 * it to the variable that it is assigned to, and from an owner to the caller (GIVE). The
 * references of an object that a function changes are lent to it: where the changed object has
 * one that it had before, the caller's variable still holds it, and the result is not counted.
 * So a method that changes numbers of an object, or elements of its arrays, counts nothing. */
#include "core/front/lower/address.h"

#include "core/front/diagnose.h"
#include "core/front/named.h"
#include "core/ir/cell_words.h"
#include "core/ir/counted.h"
#include "core/ir/facts.h"

#include <assert.h>
#include <string.h>

/* ---- references in values ---- */

/* Which parts of a value of this type are references, to `out` (NULL: they are counted only),
 * the first part having the number `at`; how many they are. */
static uint32_t
find_references(const lw_types *types, lw_type type, uint32_t at, uint32_t *out)
{
    const lw_type_row *row = lw_type_get(types, type);
    uint32_t n = 0;

    if (!lw_type_is_owned(types, type))
        return 0;
    if (row->kind == LW_TK_ARRAY || row->kind == LW_TK_RECORD) {
        if (out != NULL)
            *out = at + 1 + 2u * row->ndim;
        return 1;
    }
    for (uint32_t i = 0; i < row->n; i++) {
        n += find_references(types, row->elements[i], at, out ? out + n : NULL);
        at += lw_parts_of(types, row->elements[i]);
    }
    return n;
}

/* The numbers of these parts. *n is also 0 if memory ran out. */
static const uint32_t *
references_of(const lw_lower_frame *f, lw_type type, uint32_t *n)
{
    uint32_t *at;

    *n = find_references(f->l->types, type, 0, NULL);
    at = lw_arena_take(f->l->arena, (*n + 1) * sizeof *at);
    if (at != NULL)
        find_references(f->l->types, type, 0, at);
    else
        *n = 0;
    return at;
}

/* The same for a value, which has no parts if memory ran out. */
static const uint32_t *
references_in(const lw_lower_frame *f, lw_lower_value value, uint32_t *n)
{
    const uint32_t *at = references_of(f, value.type, n);

    if (value.n != lw_parts_of(f->l->types, value.type))
        *n = 0;
    return at;
}

lw_ref *
lw_lower_owners(lw_lower_frame *f, lw_type type)
{
    uint32_t n = find_references(f->l->types, type, 0, NULL);
    lw_ref *owners = lw_arena_take(f->l->arena, (n + 1) * sizeof *owners);

    for (uint32_t i = 0; owners && i < n; i++)
        owners[i] = lw_ir_owner(&f->b);
    return owners;
}

void
lw_lower_hold(lw_lower_frame *f, const lw_ref *owners, lw_lower_value value)
{
    uint32_t n;
    const uint32_t *at = references_in(f, value, &n);

    for (uint32_t i = 0; owners != NULL && i < n; i++)
        lw_ir_hold(&f->b, owners[i], value.parts[at[i]]);
}

/* The TAKE of this reference, if nothing but pure instructions and other references follow it;
 * 0: there is none. */
static lw_ref
taken_last(const lw_lower_frame *f, lw_ref reference)
{
    for (uint32_t i = f->b.func ? f->b.func->insts.n : 0; i-- > f->moved + 1;) {
        const lw_inst *inst = &f->b.func->insts.data[i];
        if (inst->op == LW_OP_TAKE && inst->b == reference)
            return i;
        if (lw_ops[inst->op].class != LW_CLASS_PURE && inst->op != LW_OP_OWNER &&
            inst->op != LW_OP_TAKE && inst->op != LW_OP_HOLD)
            return 0;
    }
    return 0;
}

/* Gives the reference to the owner, unless it is equal to `other`. */
static void
take_unless(lw_lower_frame *f, lw_ref owner, lw_ref reference, lw_ref other)
{
    lw_ir_if(&f->b, lw_ir_compare(&f->b, LW_OP_NE, reference, other));
    lw_ir_take(&f->b, owner, reference);
    lw_ir_end(&f->b);
}

lw_ref *
lw_lower_assigned(lw_lower_frame *f, lw_ref *owners, lw_lower_value value, const lw_ref *before,
                  bool lent)
{
    uint32_t n;
    const uint32_t *at = references_in(f, value, &n);
    bool is_first = owners == NULL;

    if (is_first)
        owners = lw_arena_take(f->l->arena, (n + 1) * sizeof *owners);
    for (uint32_t i = 0; owners != NULL && i < n; i++) {
        lw_ref reference = value.parts[at[i]], take = f->moves ? taken_last(f, reference) : 0;
        if (take != 0 && is_first) { /* the place's owner becomes the variable's */
            owners[i] = f->b.func->insts.data[take].a;
            continue;
        }
        owners[i] = is_first ? lw_ir_owner(&f->b) : owners[i];
        if (take != 0 && owners[i] < take)
            f->b.func->insts.data[take].a = owners[i];
        else if (before == NULL)
            lw_ir_hold(&f->b, owners[i], reference);
        else if (lent)
            take_unless(f, owners[i], reference, before[at[i]]);
        else if (reference != before[at[i]])
            lw_ir_hold(&f->b, owners[i], reference);
    }
    if (f->moves && f->b.func != NULL)
        f->moved = f->b.func->insts.n - 1;
    return owners;
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
    uint32_t n;

    references_of(f, type, &n);
    for (uint32_t i = 0; owners != NULL && i < n; i++)
        lw_ir_hold(&f->b, owners[i], lw_ir_zero(&f->b, LW_DT_ptr));
}

const lw_ref *
lw_lower_take(lw_lower_frame *f, lw_lower_value value)
{
    uint32_t n;
    const uint32_t *at = references_in(f, value, &n);
    const lw_ref *owners = n > 0 ? lw_lower_owners(f, value.type) : NULL;

    for (uint32_t i = 0; owners != NULL && i < n; i++)
        lw_ir_take(&f->b, owners[i], value.parts[at[i]]);
    return owners;
}

/* The owner that was given this reference last, in no region that is closed: it may not have
 * been entered, and a loop over prange has owners of its own; 0: none is known. Of a variable
 * in slots: the owner of what was assigned to them last, which is the owner of all that is. */
static lw_ref
owner_of(const lw_lower_frame *f, lw_ref reference)
{
    const lw_inst *insts = f->b.func ? f->b.func->insts.data : NULL;
    lw_ref slot = insts && insts[reference].op == LW_OP_GET ? insts[reference].a : 0;
    bool of_slot = false;
    uint32_t closed = 0;

    for (uint32_t i = insts ? f->b.func->insts.n : 0; i-- > 1;) {
        const lw_inst *inst = &insts[i];
        if (inst->op == LW_OP_END)
            closed++;
        else if (lw_ir_opens_region((lw_op)inst->op) && closed > 0)
            closed--;
        if (inst->op == LW_OP_SET && inst->a == slot && slot != 0) {
            reference = inst->b;
            slot = 0;
            of_slot = true;
        } else if ((closed == 0 || of_slot) &&
                   (inst->op == LW_OP_HOLD || inst->op == LW_OP_TAKE) &&
                   (inst->b == reference ||
                    (insts[inst->b].op == LW_OP_SELECT && insts[inst->b].c == reference))) {
            return inst->a; /* SELECT: unless it is lent */
        } else if (inst->op == LW_OP_NEW && i == reference) {
            return inst->a;
        }
    }
    return 0;
}

void
lw_lower_give(lw_lower_frame *f, lw_lower_value value)
{
    uint32_t n;
    const uint32_t *at = references_in(f, value, &n);

    for (uint32_t i = 0; i < n; i++) {
        lw_ref reference = value.parts[at[i]], is_lent = 0, owner;
        if (f->b.func != NULL && f->b.func->insts.data[reference].op == LW_OP_SELECT)
            is_lent = reference;
        owner = owner_of(f, is_lent ? f->b.func->insts.data[is_lent].c : reference);
        if (owner != 0)
            lw_ir_give(&f->b, owner, reference);
        else
            lw_ir_retain(&f->b, reference);
    }
}

lw_lower_value
lw_lower_unless_lent(lw_lower_frame *f, lw_lower_value value, const lw_ref *lent)
{
    uint32_t n;
    const uint32_t *at = references_in(f, value, &n);
    lw_ref *parts = lw_arena_take(f->l->arena, (value.n + 1) * sizeof *parts);

    if (lent == NULL || n == 0 || parts == NULL)
        return value;
    memcpy(parts, value.parts, value.n * sizeof *parts);
    for (uint32_t i = 0; i < n; i++)
        parts[at[i]] =
            lw_ir_select(&f->b, lw_ir_compare(&f->b, LW_OP_EQ, parts[at[i]], lent[at[i]]),
                         lw_ir_zero(&f->b, LW_DT_ptr), parts[at[i]]);
    value.parts = parts;
    return value;
}

bool
lw_is_lent(const lw_lowering *l, uint32_t instance, uint32_t k)
{
    const lw_instance *inst = &l->typed->instances.data[instance];
    uint32_t param = inst->changed[k];

    return instance != 1 && !inst->param_constants[param] && inst->param_webs[param] != 0 &&
           inst->param_types[param] == inst->changed_types[k];
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

/* An array whose elements lie side by side; extents: i64, one for each axis; reference: to its
 * memory, for a type that is owned. */
static lw_lower_value
dense_array(lw_lower_frame *f, lw_type type, lw_ref address, const lw_ref *extents,
            lw_ref reference)
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
    return dense_array(f, type, address, extents, memory);
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
        return dense_array(f, type, parts[0], parts + 1, reference);
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

/* ---- arrays in the slots of lists (core/ir/cell_words.h) ----
 *
 * A slot has the address, extents and strides of an array, and a reference to its memory. */

/* The address of the word that is `word` words behind the one at the address. */
static lw_ref
word_at(lw_lower_frame *f, lw_ref address, int word)
{
    return lw_ir_offset(&f->b, address, lw_const64(f, 8 * (int64_t)word));
}

static lw_ref
load_word(lw_lower_frame *f, lw_dtype type, lw_ref address, int word)
{
    return lw_ir_load(&f->b, type, 1, word_at(f, address, word), 8, 0);
}

/* The first word of the cell of an axis. */
static int
axis_word(uint32_t axis)
{
    return LW_CELL_WORDS * (1 + (int)axis);
}

/* Arrays in local or constant memory, and arguments that had to be copied for the call, have no
 * reference. */
#define NOT_KEPT                                                                               \
    "the memory of this array may end with the call, because it is local, or because an "      \
    "argument in another byte order was copied, and a typed list or dict may live longer: "    \
    "put a copy into it, `x.copy()`"

/* The address of word k, i64. */
static lw_ref
address_of(lw_lower_frame *f, lw_lower_value words, lw_ref k)
{
    return lw_ir_offset(&f->b, lw_part_at(&words, 0), lw_ir_mul(&f->b, k, lw_const64(f, 8)));
}

lw_lower_value
lw_lower_slot(lw_lower_frame *f, lw_lower_value words, lw_ref k, lw_type type)
{
    const lw_type_row *row = lw_array_row_of(f, type);
    lw_ref at = address_of(f, words, k), parts[2 + 2 * LW_MAX_ARRAY_DIMS] = {0}, memory = 0;

    for (uint32_t i = 0; i < row->ndim; i++)
        parts[1 + i] = load_word(f, LW_DT_i64, at, axis_word(i) + LW_SLOT_EXTENT);
    parts[0] = load_word(f, LW_DT_ptr, at, LW_CELL_ADDRESS);
    if (row->owned) {
        memory = load_word(f, LW_DT_ptr, at, LW_CELL_MEMORY);
        lw_ir_hold(&f->b, lw_ir_owner(&f->b), memory);
    }
    if (row->layout == LW_LAYOUT_C)
        return dense_array(f, type, parts[0], parts + 1, memory);
    for (uint32_t i = 0; i < row->ndim; i++)
        parts[1 + row->ndim + i] = load_word(f, LW_DT_i64, at, axis_word(i) + LW_SLOT_STRIDE);
    parts[1 + 2 * row->ndim] = memory;
    return lw_value_of(f, type, parts, 1 + 2u * row->ndim + row->owned);
}

lw_ref
lw_lower_slot_count(lw_lower_frame *f, lw_lower_value words, lw_type type)
{
    lw_builder *b = &f->b;
    lw_ref behind = lw_ir_sub(b, lw_part_at(&words, 1), lw_const64(f, LW_CELLS_BEGIN));
    lw_ref size = lw_const64(f, lw_slot_words((int)lw_array_row_of(f, type)->ndim));
    lw_ref none = lw_ir_compare(b, LW_OP_LT, behind, lw_const64(f, 0));

    behind = lw_ir_select(b, none, lw_const64(f, 0), behind); /* a list that has had no items */
    return lw_ir_div(b, lw_ir_cast(b, LW_DT_u64, behind), lw_ir_cast(b, LW_DT_u64, size));
}

/* slot(cells, k, like), lent_slot(cells, k, like) */
static lw_lower_value
lower_slot(lw_lower_frame *f, uint32_t node)
{
    lw_lower_value words = lw_lower_argument(f, node, 0);
    lw_lower_value k = lw_lower_argument_as(f, node, 1, (lw_type)LW_DT_i64);

    return lw_lower_slot(f, words, lw_part_at(&k, 0), lw_typed_at(f, node)->type);
}

/* i64: not 0 where an extent is 0. */
static lw_ref
has_no_elements(lw_lower_frame *f, lw_lower_value array)
{
    lw_builder *b = &f->b;
    lw_ref zero = lw_const64(f, 0), is = lw_ir_int(b, LW_DT_b1, 0);

    for (uint32_t i = 0; i < lw_array_row_of(f, array.type)->ndim; i++)
        is = lw_ir_or(b, is, lw_ir_compare(b, LW_OP_EQ, lw_array_extent(f, array, i), zero));
    return lw_ir_cast(b, LW_DT_i64, is);
}

/* unless: b1, whether the word stays as it is; 0: it never does. */
static void
set_word(lw_lower_frame *f, lw_ref at, int word, lw_ref value, lw_ref unless)
{
    if (unless)
        value = lw_ir_select(&f->b, unless, load_word(f, LW_DT_i64, at, word), value);
    lw_ir_store(&f->b, word_at(f, at, word), value, 8, 0);
}

/* set_slot(cells, k, x, like), keep_slot(cells, k, x, like) */
static lw_lower_value
lower_set_slot(lw_lower_frame *f, uint32_t node, bool keeps)
{
    static const lw_dtype types[] = {LW_DT_ptr, LW_DT_ptr, LW_DT_i64, LW_DT_ptr};
    lw_builder *b = &f->b;
    uint32_t number = lw_ir_extern_add(b->module, keeps ? LW_SLOT_KEEP : LW_CELL_SET,
                                       keeps ? LW_DT_b1 : LW_DT_void, types, 4);
    lw_lower_value words = lw_lower_argument(f, node, 0), x;
    lw_lower_value k = lw_lower_argument_as(f, node, 1, (lw_type)LW_DT_i64);
    lw_ref at = address_of(f, words, lw_part_at(&k, 0)), args[4], unknown;
    const lw_type_row *row;

    x = lw_lower_argument(f, node, 2);
    row = lw_array_row_of(f, x.type);
    args[0] = at;
    args[1] = lw_part_at(&x, 0);
    args[2] = keeps ? has_no_elements(f, x) : lw_const64(f, 0);
    args[3] = row->owned ? lw_part_at(&x, 1 + 2u * row->ndim) : lw_ir_zero(b, LW_DT_ptr);
    unknown = lw_ir_host_call(b, number, args, 4);
    lw_lower_set_loc(f, node);
    if (keeps && lw_raises_errors(f))
        lw_lower_raise(f, unknown, "RuntimeError", NOT_KEPT);
    for (uint32_t i = 0; i < row->ndim; i++) {
        set_word(f, at, axis_word(i) + LW_SLOT_EXTENT, lw_array_extent(f, x, i),
                 keeps ? unknown : 0);
        set_word(f, at, axis_word(i) + LW_SLOT_STRIDE, lw_array_stride(f, x, i),
                 keeps ? unknown : 0);
    }
    return (lw_lower_value){.type = lw_typed_at(f, node)->type};
}

lw_lower_value
lw_lower_slots(lw_lower_frame *f, uint32_t node, lw_impl impl)
{
    if (impl == LW_IMPL_SLOT_KIND)
        return lw_value_zero(f, lw_typed_at(f, node)->type);
    return impl == LW_IMPL_SLOT || impl == LW_IMPL_LENT_SLOT
               ? lower_slot(f, node)
               : lower_set_slot(f, node, impl == LW_IMPL_KEEP_SLOT);
}
