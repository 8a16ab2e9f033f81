/* Array expressions that are stored, `out[i, :] = x[i, :] / x[i, :].sum()` and `a += b`, or are
 * values, `y = a + b`, which are stored in a new array: one loop over the elements of the
 * target, in which the expression is evaluated as for scalars. Its leaves, the parts that are
 * not elementwise themselves, are evaluated once before the loop, in Python's order; inside the
 * loop a leaf that is an array stands for one of its elements (lw_lower_frame.leaves).
 *
 * Where the target may share memory with an array that is read, a run-time test chooses the
 * order of overlap.h, so that the result is NumPy's: as if everything were read before anything
 * is written. */
#include "core/front/lower/cursor.h"
#include "core/front/lower/overlap.h"

#include "core/ir/counted.h"

#include <assert.h>
#include <string.h>

typedef struct array_store {
    uint32_t node; /* the expression, or an AUGASSIGN; 0: `number` is stored */
    uint32_t mask; /* an expression: which elements are stored; 0: all */
    lw_lower_value number;
    lw_lower_value to;
    lw_leaves leaves;
    uint32_t array[LW_MOST_LEAVES];      /* by leaf: its number in `operation`; 0: no array */
    bool whole[LW_MOST_LEAVES];          /* by leaf: an array that a Ufunc gets whole */
    lw_cursor cursors[LW_MOST_OPERANDS]; /* by number; 0: the target */
    lw_elementwise operation;
    lw_mismatch mismatch; /* of shapes */
} array_store;

/* ---- leaves ---- */

static void
add_leaf(lw_lower_frame *f, array_store *s, uint32_t node)
{
    lw_type type = lw_typed_at(f, node)->type;
    bool array = lw_type_kind_of(f->l->types, type) == LW_TK_ARRAY;

    if ((lw_typed_at(f, node)->constant && !array) || lw_parts_of(f->l->types, type) == 0)
        return; /* constants are made where they are used */
    if (s->leaves.n == LW_MOST_LEAVES) {
        lw_lower_fail(f, node, "an array expression of too many parts");
        return;
    }
    s->leaves.nodes[s->leaves.n] = node;
    s->leaves.values[s->leaves.n++] = lw_lower_expression(f, node);
}

/* Whether the leaf is an array whose elements are operands. */
static bool
is_operand(const lw_lower_frame *f, const array_store *s, uint32_t leaf)
{
    return lw_is_array(f, s->leaves.values[leaf]) && !s->whole[leaf];
}

static void find_leaves(lw_lower_frame *f, array_store *s, uint32_t node);

/* Those of a call. A Ufunc gets its excluded arrays whole. */
static void
find_arguments(lw_lower_frame *f, array_store *s, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    uint64_t whole = 0;

    if (t->call == LW_CALL_INSTANCE) {
        uint32_t callee = lw_typed_at(f, lw_node_at(f, node)->a)->constant;
        whole = callee ? lw_typed_constant(f->l->typed, callee)->excluded : 0;
    }
    for (uint32_t i = 0; i < t->n_args; i++) {
        uint32_t entry = f->l->typed->lists.data[t->args + i], first = s->leaves.n;
        if (entry == 0 || (entry & LW_ARG_TAG) != 0)
            continue;
        if (i < 64 && (whole >> i & 1)) {
            add_leaf(f, s, entry);
            for (uint32_t k = first; k < s->leaves.n; k++)
                s->whole[k] = true;
        } else {
            find_leaves(f, s, entry);
        }
    }
}

static void
find_leaves(lw_lower_frame *f, array_store *s, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    const lw_typed_node *t = lw_typed_at(f, node);

    if (!t->elementwise || (t->element != LW_T_BOTTOM && node != s->node)) { /* or it is made */
        add_leaf(f, s, node);
        return;
    }
    switch ((lw_node_kind)n->kind) {
    case LW_NODE_UNARY: find_leaves(f, s, n->a); break;
    case LW_NODE_AUGASSIGN: find_leaves(f, s, n->b); break;
    case LW_NODE_BINARY:
        find_leaves(f, s, n->a);
        find_leaves(f, s, n->b);
        break;
    case LW_NODE_COMPARE:
        find_leaves(f, s, n->a);
        find_leaves(f, s, lw_node_at(f, lw_list_at(f, n->b))->a);
        break;
    default: find_arguments(f, s, node);
    }
}

/* ---- the operation ---- */

static void
add_array(lw_lower_frame *f, array_store *s, lw_lower_value array)
{
    lw_elementwise *w = &s->operation;
    lw_cursor *cursor = &s->cursors[w->n];
    uint32_t ndim = lw_array_row_of(f, array.type)->ndim, missing = w->ndim - ndim;

    *cursor = lw_cursor_of(f, array);
    if (w->n > 0)
        lw_cursor_broadcast(f, cursor, s->to, &s->mismatch);
    w->arrays[w->n].address = lw_part_at(&array, 0);
    w->arrays[w->n].item_bytes = lw_array_item_bytes(f, array.type);
    for (uint32_t i = 0; i < w->ndim; i++)
        w->arrays[w->n].strides[i] =
            i < missing ? lw_const64(f, 0)
                        : lw_ir_cast(&f->b, LW_DT_i64, cursor->strides[i - missing]);
    w->n++;
}

/* The number of an array that an earlier leaf is, too; 0: there is none. */
static uint32_t
find_array(const array_store *s, uint32_t leaf)
{
    const lw_lower_value *value = &s->leaves.values[leaf];

    for (uint32_t i = 0; i < leaf; i++) {
        const lw_lower_value *other = &s->leaves.values[i];
        if (s->array[i] != 0 && other->type == value->type &&
            memcmp(other->parts, value->parts, value->n * sizeof *value->parts) == 0)
            return s->array[i];
    }
    return 0;
}

static void
describe_operation(lw_lower_frame *f, array_store *s)
{
    lw_elementwise *w = &s->operation;

    w->ndim = lw_array_row_of(f, s->to.type)->ndim;
    add_array(f, s, s->to);
    for (uint32_t i = 0; i < s->leaves.n; i++) {
        if (!is_operand(f, s, i))
            continue;
        if (w->n == LW_MOST_OPERANDS) {
            lw_lower_fail(f, s->node, "an array expression of too many arrays");
            return;
        }
        s->array[i] = find_array(s, i);
        if (s->array[i] != 0)
            continue;
        s->array[i] = w->n;
        add_array(f, s, s->leaves.values[i]);
    }
    if (s->mismatch.differs)
        lw_cursor_raise(f, &s->mismatch);
    for (uint32_t i = 0; i < w->ndim; i++) {
        w->extents[i] = lw_array_extent(f, s->to, i);
        if (s->mismatch.differs && !lw_raises_errors(f))
            w->extents[i] =
                lw_ir_select(&f->b, s->mismatch.differs, lw_const64(f, 0), w->extents[i]);
    }
}

/* ---- one element ---- */

static lw_lower_value
load(lw_lower_frame *f, lw_lower_value array, lw_ref address)
{
    return lw_lower_load(f, lw_array_row_of(f, array.type)->elements[0], address,
                         lw_array_align_of(f, array.type));
}

static void
store(lw_lower_frame *f, const array_store *s, lw_ref address, lw_lower_value value)
{
    lw_lower_store(f, lw_array_row_of(f, s->to.type)->elements[0], address, value,
                   lw_array_align_of(f, s->to.type));
}

/* The leaves where arrays stand for their elements at these addresses, which are by number. */
static lw_leaves
elements_at(lw_lower_frame *f, const array_store *s, const lw_ref *addresses)
{
    lw_leaves elements = s->leaves;

    for (uint32_t i = 0; i < elements.n; i++)
        if (s->array[i] != 0)
            elements.values[i] = load(f, s->leaves.values[i], addresses[s->array[i]]);
    return elements;
}

/* The value that is stored, in the type of the target's elements. */
static lw_lower_value
evaluate(lw_lower_frame *f, const array_store *s, lw_ref target)
{
    const lw_node *n = lw_node_at(f, s->node);
    lw_lower_value value;

    if (s->node == 0)
        value = s->number;
    else if (n->kind == LW_NODE_AUGASSIGN)
        value = lw_lower_binary_nodes(f, s->node, (lw_pyop)n->op, load(f, s->to, target), n->b);
    else
        value = lw_lower_expression(f, s->node);
    return lw_value_convert(f, value, lw_array_row_of(f, s->to.type)->elements[0]);
}

static lw_ref
mask_at(lw_lower_frame *f, const array_store *s)
{
    return lw_value_truth(f, lw_lower_expression(f, s->mask));
}

/* What an element becomes, which under a mask may be what it was. */
static lw_lower_value
evaluate_at(lw_lower_frame *f, const array_store *s, const lw_ref *addresses)
{
    lw_leaves elements = elements_at(f, s, addresses);
    const lw_leaves *outer = f->leaves;
    lw_lower_value value;

    f->leaves = &elements;
    value = evaluate(f, s, addresses[0]);
    if (s->mask != 0)
        value = lw_value_select(f, mask_at(f, s), value, load(f, s->to, addresses[0]));
    f->leaves = outer;
    return value;
}

/* Stores an element, if the mask is true there. */
static void
store_at(lw_lower_frame *f, const array_store *s, const lw_ref *addresses)
{
    lw_leaves elements = elements_at(f, s, addresses);
    const lw_leaves *outer = f->leaves;

    f->leaves = &elements;
    if (s->mask != 0)
        lw_ir_if(&f->b, mask_at(f, s));
    store(f, s, addresses[0], evaluate(f, s, addresses[0]));
    if (s->mask != 0)
        lw_ir_end(&f->b);
    f->leaves = outer;
}

/* ---- arrays that share no memory ---- */

static void
store_element(lw_lower_frame *f, const lw_cursor_loops *loops, const void *context)
{
    const array_store *s = context;
    lw_ref addresses[LW_MOST_OPERANDS] = {0};

    for (uint32_t k = 0; k < s->operation.n; k++)
        addresses[k] = lw_cursor_address(f, &s->cursors[k], loops);
    store_at(f, s, addresses);
}

static void
store_apart(lw_lower_frame *f, const array_store *s)
{
    lw_cursor_each(f, &(lw_cursor_work){.body = store_element,
                                        .context = s,
                                        .cursors = s->cursors,
                                        .n = s->operation.n,
                                        .differs = s->mismatch.differs});
}

/* ---- arrays that share memory ---- */

static void
addresses_at(lw_builder *b, const lw_elementwise *w, const lw_positions *p, lw_ref *out)
{
    for (uint32_t k = 0; k < w->n; k++)
        out[k] = lw_elementwise_address(b, w, k, p->at);
}

static void
store_one_by_one(lw_lower_frame *f, const array_store *s, const lw_elementwise *w)
{
    lw_ref addresses[LW_MOST_OPERANDS] = {0};
    lw_positions p;

    lw_elementwise_open(&f->b, w, &p);
    addresses_at(&f->b, w, &p, addresses);
    store(f, s, addresses[0], evaluate_at(f, s, addresses));
    lw_elementwise_close(&f->b, w, &p);
}

static void
store_pairs(lw_lower_frame *f, const array_store *s, const lw_order *o)
{
    lw_ref first[LW_MOST_OPERANDS] = {0}, second[LW_MOST_OPERANDS] = {0};
    lw_lower_value values[2];
    lw_positions p;

    lw_elementwise_open(&f->b, &o->operation, &p);
    addresses_at(&f->b, &o->operation, &p, first);
    addresses_at(&f->b, &o->partners, &p, second);
    lw_ir_if(&f->b, lw_in_front(&f->b, first[0], second[0]));
    values[0] = evaluate_at(f, s, first);
    values[1] = evaluate_at(f, s, second);
    store(f, s, first[0], values[0]);
    store(f, s, second[0], values[1]);
    lw_ir_end(&f->b);
    lw_elementwise_close(&f->b, &o->operation, &p);
}

/* From the operation's elements into the buffer, or back. */
static void
move_buffer(lw_lower_frame *f, const array_store *s, const lw_elementwise *w, lw_ref buffer,
            bool back)
{
    lw_builder *b = &f->b;
    lw_type element = lw_array_row_of(f, s->to.type)->elements[0];
    lw_ref slot = lw_ir_slot(b, LW_DT_i64), at, addresses[LW_MOST_OPERANDS] = {0};
    lw_positions p;

    lw_ir_set(b, slot, lw_ir_zero(b, LW_DT_i64));
    lw_elementwise_open(b, w, &p);
    addresses_at(b, w, &p, addresses);
    at = lw_ir_offset(b, buffer, lw_ir_get(b, slot));
    lw_ir_set(b, slot,
              lw_ir_add(b, lw_ir_get(b, slot), lw_const64(f, w->arrays[0].item_bytes)));
    if (back)
        store(f, s, addresses[0], lw_lower_load(f, element, at, 0));
    else
        lw_lower_store(f, element, at, evaluate_at(f, s, addresses), 0);
    lw_elementwise_close(b, w, &p);
}

/* All results to memory of their own first, which the function keeps until it returns. */
static void
store_by_memory(lw_lower_frame *f, const array_store *s, const lw_elementwise *w)
{
    lw_builder *b = &f->b;
    lw_ref bytes = lw_const64(f, w->arrays[0].item_bytes), memory, buffer;

    for (uint32_t i = 0; i < w->ndim; i++)
        bytes = lw_ir_mul(b, bytes, w->extents[i]);
    memory = lw_ir_new(b, lw_ir_owner(b), bytes);
    lw_lower_raise(f, lw_ir_compare(b, LW_OP_EQ, memory, lw_ir_zero(b, LW_DT_ptr)),
                   "MemoryError", LW_COUNTED_NO_MEMORY);
    buffer = lw_ir_offset(b, memory, lw_const64(f, LW_COUNTED_HEADER));
    move_buffer(f, s, w, buffer, false);
    move_buffer(f, s, w, buffer, true);
}

/* Where no order is safe. A GPU's threads would each take memory of the device's heap: there it
 * is an error. */
static void
store_without_order(lw_lower_frame *f, const array_store *s, const lw_order *o)
{
    lw_builder *b = &f->b;

    lw_ir_if(b, lw_ir_emit(b, LW_OP_ON_GPU, LW_DT_b1, 0, 0, 0));
    lw_lower_raise(f, o->fails, "ValueError", LW_NO_ORDER LW_NO_ORDER_HELP);
    lw_ir_else(b);
    lw_ir_if(b, o->fails);
    store_by_memory(f, s, &o->operation);
    lw_ir_end(b);
    lw_ir_end(b);
}

static void
store_in_order(lw_lower_frame *f, const array_store *s)
{
    lw_builder *b = &f->b;
    lw_type element = lw_array_row_of(f, s->to.type)->elements[0];
    lw_order o;
    lw_ref buffer;

    lw_elementwise_order(b, &s->operation, &o);
    if (lw_raises_errors(f))
        store_without_order(f, s, &o);
    lw_ir_if(b, o.in_pairs);
    store_pairs(f, s, &o);
    lw_ir_else(b);
    lw_ir_if(b, o.in_buffer);
    buffer = lw_ir_local(b, LW_BUFFER_BYTES, lw_type_align(f->l->types, element));
    move_buffer(f, s, &o.operation, buffer, false);
    move_buffer(f, s, &o.operation, buffer, true);
    lw_ir_else(b);
    lw_ir_if(b, lw_ir_not(b, o.fails)); /* errors are ignored: nothing is stored */
    store_one_by_one(f, s, &o.operation);
    lw_ir_end(b);
    lw_ir_end(b);
    lw_ir_end(b);
}

/* ---- arrays that are read whole ---- */

/* An array by itself. */
static lw_elementwise
alone(lw_lower_frame *f, lw_lower_value array)
{
    lw_elementwise w = {.ndim = lw_array_row_of(f, array.type)->ndim, .n = 1};
    lw_cursor cursor = lw_cursor_of(f, array);

    w.arrays[0].address = lw_part_at(&array, 0);
    w.arrays[0].item_bytes = lw_array_item_bytes(f, array.type);
    for (uint32_t i = 0; i < w.ndim; i++) {
        w.arrays[0].strides[i] = lw_ir_cast(&f->b, LW_DT_i64, cursor.strides[i]);
        w.extents[i] = lw_array_extent(f, array, i);
    }
    return w;
}

/* b1: the target may share memory with an array that is read whole for every element; 0: there
 * is none. */
static lw_ref
meets_whole(lw_lower_frame *f, const array_store *s)
{
    lw_elementwise to = alone(f, s->to), other;
    lw_ref any = 0, one;

    for (uint32_t i = 0; i < s->leaves.n; i++) {
        if (!s->whole[i] || !lw_is_array(f, s->leaves.values[i]))
            continue;
        other = alone(f, s->leaves.values[i]);
        one = lw_arrays_meet(&f->b, &to, &other);
        any = any ? lw_ir_or(&f->b, any, one) : one;
    }
    return any;
}

static bool
has_whole(const array_store *s)
{
    for (uint32_t i = 0; i < s->leaves.n; i++)
        if (s->whole[i])
            return true;
    return false;
}

static void store_checked(lw_lower_frame *f, array_store *s);

/* All results first, where they would be read. */
static void
store_beside_whole(lw_lower_frame *f, array_store *s)
{
    lw_builder *b = &f->b;
    lw_ref meets = meets_whole(f, s);

    if (meets == 0) {
        store_checked(f, s);
        return;
    }
    lw_ir_if(b, meets);
    if (lw_raises_errors(f)) {
        lw_ir_if(b, lw_ir_emit(b, LW_OP_ON_GPU, LW_DT_b1, 0, 0, 0));
        lw_lower_raise(f, meets, "ValueError", LW_NO_ORDER LW_NO_ORDER_HELP);
        lw_ir_else(b);
        store_by_memory(f, s, &s->operation);
        lw_ir_end(b);
    }
    lw_ir_else(b);
    store_checked(f, s);
    lw_ir_end(b);
}

/* ---- entry points ---- */

static void
store_array(lw_lower_frame *f, array_store *s)
{
    describe_operation(f, s);
    if (lw_lower_has_failed(f))
        return;
    if (has_whole(s))
        store_beside_whole(f, s);
    else
        store_checked(f, s);
}

static void
store_checked(lw_lower_frame *f, array_store *s)
{
    if (s->operation.n == 1) {
        store_apart(f, s);
        return;
    }
    lw_ir_if(&f->b, lw_elementwise_overlaps(&f->b, &s->operation));
    store_in_order(f, s);
    lw_ir_else(&f->b);
    store_apart(f, s);
    lw_ir_end(&f->b);
}

/* With the leaves of the expression, which are evaluated; NULL: memory is out. */
static array_store *
store_of(lw_lower_frame *f, uint32_t node)
{
    array_store *s = lw_arena_take(f->l->arena, sizeof *s);

    if (s != NULL) {
        *s = (array_store){.node = node};
        find_leaves(f, s, node);
    }
    return s;
}

void
lw_lower_array_store(lw_lower_frame *f, uint32_t target, uint32_t node)
{
    array_store *s = store_of(f, node);

    if (s == NULL)
        return;
    s->to = lw_lower_target_array(f, target);
    lw_lower_set_loc(f, node);
    store_array(f, s);
}

/* The extents of what the arrays broadcast to. */
static void
broadcast(lw_lower_frame *f, const array_store *s, uint32_t ndim, lw_ref *extents)
{
    lw_builder *b = &f->b;

    for (uint32_t axis = 0; axis < ndim; axis++)
        extents[axis] = 0;
    for (uint32_t i = 0; i < s->leaves.n; i++) {
        lw_lower_value leaf = s->leaves.values[i];
        uint32_t n = is_operand(f, s, i) ? lw_array_row_of(f, leaf.type)->ndim : 0;

        for (uint32_t axis = 0; axis < n; axis++) {
            lw_ref *so_far = &extents[ndim - n + axis];
            lw_ref extent = lw_array_extent(f, leaf, axis), one;
            if (*so_far == 0) {
                *so_far = extent;
            } else if (*so_far != extent) {
                one = lw_ir_compare(b, LW_OP_EQ, *so_far, lw_const64(f, 1));
                *so_far = lw_ir_select(b, one, extent, *so_far);
            }
        }
    }
}

/* The leaves where arrays without axes stand for their elements. */
static lw_leaves
only_elements(lw_lower_frame *f, const array_store *s)
{
    lw_leaves elements = s->leaves;

    for (uint32_t i = 0; i < elements.n; i++)
        if (is_operand(f, s, i))
            elements.values[i] =
                load(f, elements.values[i], lw_part_at(&elements.values[i], 0));
    return elements;
}

/* The number that an expression of arrays without axes is. */
static lw_lower_value
made_number(lw_lower_frame *f, const array_store *s, lw_type type)
{
    lw_leaves elements = only_elements(f, s);
    const lw_leaves *outer = f->leaves;
    lw_lower_value value;

    f->leaves = &elements;
    value = lw_value_convert(f, lw_lower_expression(f, s->node), type);
    f->leaves = outer;
    return value;
}

static lw_lower_value
made_array(lw_lower_frame *f, array_store *s, lw_type type)
{
    lw_ref extents[LW_MAX_ARRAY_DIMS];

    broadcast(f, s, lw_array_row_of(f, type)->ndim, extents);
    s->to = lw_lower_new_array(f, type, extents);
    describe_operation(f, s);
    if (!lw_lower_has_failed(f))
        store_apart(f, s);
    return s->to;
}

lw_lower_value
lw_lower_made_array(lw_lower_frame *f, uint32_t node)
{
    array_store *s = store_of(f, node);
    lw_type type = lw_typed_at(f, node)->type;
    lw_lower_value value;
    uint32_t outer_node = f->made_node;
    lw_typed_node outer = f->made;

    if (s == NULL)
        return (lw_lower_value){.type = type};
    lw_lower_set_loc(f, node);
    f->made = *lw_typed_at(f, node);
    f->made.type = f->made.element;
    f->made_node = node;
    value = type == f->made.element ? made_number(f, s, type) : made_array(f, s, type);
    f->made_node = outer_node;
    f->made = outer;
    return value;
}

lw_lower_value
lw_lower_augmented_number(lw_lower_frame *f, uint32_t node, lw_lower_value before)
{
    const lw_node *n = lw_node_at(f, node);
    const array_store *s = store_of(f, node);
    const lw_leaves *outer = f->leaves;
    lw_leaves elements;
    lw_lower_value value;

    if (s == NULL)
        return before;
    elements = only_elements(f, s);
    f->leaves = &elements;
    value = lw_lower_binary_nodes(f, node, (lw_pyop)n->op, before, n->b);
    f->leaves = outer;
    return value;
}

void
lw_lower_augmented_array(lw_lower_frame *f, uint32_t node, lw_lower_value to)
{
    array_store *s = store_of(f, node);

    if (s == NULL)
        return;
    s->to = to;
    lw_lower_set_loc(f, node);
    store_array(f, s);
}

/* ---- masks ---- */

/* b1: the array ends in an axis of the same extent as this one of the target; 0: it has none.
 */
static lw_ref
has_extent(lw_lower_frame *f, const array_store *s, uint32_t which, uint32_t axis)
{
    lw_lower_value leaf = s->leaves.values[which];
    uint32_t n = is_operand(f, s, which) ? lw_array_row_of(f, leaf.type)->ndim : 0;
    uint32_t ndim = lw_array_row_of(f, s->to.type)->ndim;

    if (axis + n < ndim)
        return lw_ir_int(&f->b, LW_DT_b1, 0);
    return lw_ir_compare(&f->b, LW_OP_EQ, lw_array_extent(f, leaf, axis + n - ndim),
                         lw_array_extent(f, s->to, axis));
}

/* IndexError unless along each axis an array of the mask, the first n leaves, has the target's
 * extent: a mask as a whole is not repeated. */
static void
check_mask(lw_lower_frame *f, const array_store *s, uint32_t n)
{
    lw_builder *b = &f->b;
    lw_ref all = lw_ir_int(b, LW_DT_b1, 1);

    for (uint32_t axis = 0; axis < lw_array_row_of(f, s->to.type)->ndim; axis++) {
        lw_ref any = lw_ir_int(b, LW_DT_b1, 0);
        for (uint32_t i = 0; i < n; i++)
            any = lw_ir_or(b, any, has_extent(f, s, i, axis));
        all = lw_ir_and(b, all, any);
    }
    if (lw_raises_errors(f))
        lw_lower_raise(f, lw_ir_not(b, all), "IndexError",
                       "the mask has a different shape from the array");
}

/* node: an AUGASSIGN, or 0. NULL: memory is out. */
static array_store *
masked_store(lw_lower_frame *f, uint32_t target, uint32_t node)
{
    const lw_node *t = lw_node_at(f, target);
    array_store *s = lw_arena_take(f->l->arena, sizeof *s);
    uint32_t n_mask;

    if (s == NULL)
        return NULL;
    *s = (array_store){.node = node, .mask = t->b};
    s->to = lw_lower_expression(f, t->a);
    find_leaves(f, s, t->b);
    n_mask = s->leaves.n;
    if (node != 0) /* the operand is a number */
        add_leaf(f, s, lw_node_at(f, node)->b);
    lw_lower_set_loc(f, target);
    check_mask(f, s, n_mask);
    return s;
}

void
lw_lower_masked_store(lw_lower_frame *f, uint32_t target, lw_lower_value value)
{
    array_store *s = masked_store(f, target, 0);

    if (s == NULL)
        return;
    s->number = value;
    store_array(f, s);
}

void
lw_lower_augmented_mask(lw_lower_frame *f, uint32_t node)
{
    array_store *s = masked_store(f, lw_node_at(f, node)->a, node);

    if (s != NULL)
        store_array(f, s);
}

const lw_lower_value *
lw_lower_leaf(const lw_lower_frame *f, uint32_t node)
{
    for (const lw_leaves *leaves = f->leaves; leaves != NULL; leaves = leaves->around)
        for (uint32_t i = 0; i < leaves->n; i++)
            if (leaves->nodes[i] == node)
                return &leaves->values[i];
    return NULL;
}
