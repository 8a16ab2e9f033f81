/* Iterables of for loops: range, tuples, tables, and enumerate, zip and reversed of these. */
#include "core/front/lower/address.h"

#include "core/front/numeric/integers.h"
#include "core/front/named.h"
#include "core/ir/cell_words.h"

#include <assert.h>
#include <string.h>

static lw_iterator of_entry(lw_lower_frame *f, uint32_t entry, lw_type item);

/* ---- range ---- */

/* The number of iterations, floor((distance - 1) / stride) + 1 for a distance above 0; u64. */
static lw_ref
iterations_of(lw_builder *b, lw_ref distance, lw_ref stride)
{
    lw_ref one = lw_ir_int(b, LW_DT_u64, 1);
    uint64_t bits;

    if (lw_ir_is_const(b, stride, &bits) && bits == 1)
        return distance;
    return lw_ir_add(b, lw_int_floordiv(b, lw_ir_sub(b, distance, one), stride), one);
}

static __int128
constant_count(__int128 start, __int128 stop, __int128 step)
{
    if (step > 0)
        return start < stop ? (stop - start - 1) / step + 1 : 0;
    return step < 0 && start > stop ? (start - stop - 1) / -step + 1 : 0;
}

/* Whether x is below y, of which each is an int64 or a uint64. */
static lw_ref
is_below(lw_builder *b, lw_ref x, lw_ref y)
{
    bool x_unsigned = lw_ir_type(b, x) == LW_DT_u64, y_unsigned = lw_ir_type(b, y) == LW_DT_u64;
    lw_ref none = lw_ir_zero(b, LW_DT_i64), below;

    if (x_unsigned == y_unsigned)
        return lw_ir_compare(b, LW_OP_LT, x, y);
    below =
        lw_ir_compare(b, LW_OP_LT, lw_ir_cast(b, LW_DT_u64, x), lw_ir_cast(b, LW_DT_u64, y));
    if (x_unsigned)
        return lw_ir_and(b, below, lw_ir_compare(b, LW_OP_GE, y, none));
    return lw_ir_or(b, below, lw_ir_compare(b, LW_OP_LT, x, none));
}

/* The number of iterations of range(start, stop, step). It is computed in unsigned integers,
 * where no difference of two int64 overflows. The bounds are int64 or uint64, the step is
 * int64. */
lw_ref
lw_range_count(lw_builder *b, lw_ref start, lw_ref stop, lw_ref step)
{
    lw_ref zero = lw_ir_zero(b, LW_DT_u64), none = lw_ir_zero(b, LW_DT_i64), up = zero,
           down = zero;
    lw_ref from = lw_ir_cast(b, LW_DT_u64, start), to = lw_ir_cast(b, LW_DT_u64, stop);
    uint64_t bits = 0;
    bool constant = lw_ir_is_const(b, step, &bits);
    uint64_t first, last;
    if (constant && lw_ir_type(b, start) == LW_DT_i64 && lw_ir_type(b, stop) == LW_DT_i64 &&
        lw_ir_is_const(b, start, &first) && lw_ir_is_const(b, stop, &last))
        return lw_ir_int(b, LW_DT_u64,
                         (int64_t)constant_count((int64_t)first, (int64_t)last, (int64_t)bits));
    lw_ref rises = is_below(b, start, stop);
    lw_ref falls = is_below(b, stop, start);

    if (!constant || (int64_t)bits > 0) {
        lw_ref stride =
            constant ? lw_ir_int(b, LW_DT_u64, (int64_t)bits) : lw_ir_cast(b, LW_DT_u64, step);
        up = lw_ir_select(b, rises, iterations_of(b, lw_ir_sub(b, to, from), stride), zero);
    }
    if (!constant || (int64_t)bits < 0) {
        lw_ref stride = constant ? lw_ir_int(b, LW_DT_u64, (int64_t)(0 - bits))
                                 : lw_ir_neg(b, lw_ir_cast(b, LW_DT_u64, step));
        down = lw_ir_select(b, falls, iterations_of(b, lw_ir_sub(b, from, to), stride), zero);
    }
    if (constant)
        return (int64_t)bits > 0 ? up : down;
    down = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, step, none), down, zero);
    return lw_ir_select(b, lw_ir_compare(b, LW_OP_GT, step, none), up, down);
}

static lw_ref
integer_argument(lw_lower_frame *f, uint32_t call, uint32_t index, int64_t otherwise)
{
    if (!lw_argument_given(f, call, index))
        return lw_ir_int(&f->b, LW_DT_i64, otherwise);
    lw_lower_value value = lw_lower_argument_as(f, call, index, LW_T_INDEX);
    return value.n ? value.parts[0] : 0;
}

static bool
is_u64_argument(const lw_lower_frame *f, uint32_t call, uint32_t index)
{
    const lw_typed_node *t = lw_typed_at(f, call);
    uint32_t entry = index < t->n_args ? f->l->typed->lists.data[t->args + index] : 0;

    return entry != 0 && (entry & LW_ARG_TAG) == 0 && lw_typed_at(f, entry)->type == LW_DT_u64;
}

/* A bound of a range: an int64, or a uint64 that is only known at run time. */
static lw_ref
bound_argument(lw_lower_frame *f, uint32_t call, uint32_t index)
{
    lw_lower_value value;

    if (!is_u64_argument(f, call, index))
        return integer_argument(f, call, index, 0);
    value = lw_lower_argument_as(f, call, index, LW_DT_u64);
    return value.n ? value.parts[0] : 0;
}

/* A uint64 step beyond int64 leads to one iteration at most, as the largest int64 does. */
static lw_ref
step_argument(lw_lower_frame *f, uint32_t call)
{
    lw_builder *b = &f->b;
    lw_lower_value value;
    lw_ref most;

    if (!is_u64_argument(f, call, 2))
        return integer_argument(f, call, 2, 1);
    value = lw_lower_argument_as(f, call, 2, LW_DT_u64);
    if (value.n == 0)
        return 0;
    most = lw_ir_int(b, LW_DT_u64, INT64_MAX);
    most =
        lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, value.parts[0], most), value.parts[0], most);
    return lw_ir_cast(b, LW_DT_i64, most);
}

/* The node whose value the one definition of a variable gets, or the tuple that this is a part
 * of; 0: the definition is of another kind. */
static uint32_t
assigned_to(const lw_lowering *l, const lw_instance *inst, uint32_t web)
{
    const lw_tree *tree = l->tree;

    for (uint32_t i = 0; i < inst->nodes.n; i++) {
        const lw_node *n = &tree->nodes.data[inst->nodes.first + i], *target;

        if (n->kind != LW_NODE_ASSIGN || n->c != 1)
            continue;
        target = &tree->nodes.data[tree->lists.data[n->b]];
        if (target->kind == LW_NODE_NAME &&
            lw_typed_in(&inst->nodes, tree->lists.data[n->b])->web == web)
            return n->a;
        for (uint32_t j = 0; target->kind == LW_NODE_TUPLE && j < target->c; j++) {
            uint32_t item = tree->lists.data[target->b + j];
            if (tree->nodes.data[item].kind == LW_NODE_NAME &&
                lw_typed_in(&inst->nodes, item)->web == web)
                return n->a;
        }
    }
    return 0;
}

static bool
constant_is_positive(const lw_constant *k)
{
    return (k->kind == LW_K_INT || k->kind == LW_K_SCALAR) && lw_varying_fix(k)->i > 0;
}

/* Whether it is a size of blocks or grids, which is never 0. Of a tuple: all of its items. */
static bool
is_positive(const lw_lowering *l, const lw_instance *inst, uint32_t node, int depth)
{
    const lw_node *n = &l->tree->nodes.data[node];
    const lw_typed_node *t = lw_typed_in(&inst->nodes, node);
    lw_impl impl = t->call == LW_CALL_NAMED ? lw_names[t->target].impl : LW_IMPL_NONE;

    if (node == 0 || depth == 0)
        return false;
    if (t->constant)
        return constant_is_positive(lw_typed_constant(l->typed, t->constant));
    if (n->kind == LW_NODE_BINARY && n->op == LW_PY_MUL)
        return is_positive(l, inst, n->a, depth - 1) && is_positive(l, inst, n->b, depth - 1);
    if (n->kind == LW_NODE_NAME && t->web && inst->webs.data[t->web].single)
        return is_positive(l, inst, assigned_to(l, inst, t->web), depth - 1);
    return impl == LW_IMPL_GRIDSIZE || (impl >= LW_IMPL_NTID_X && impl <= LW_IMPL_NCTAID_Z);
}

bool
lw_step_may_be_zero(const lw_lowering *l, const lw_instance *inst, uint32_t step)
{
    if ((step & LW_ARG_TAG) == LW_ARG_CONSTANT)
        return false;
    return (step & LW_ARG_TAG) ||
           (!lw_typed_in(&inst->nodes, step)->constant && !is_positive(l, inst, step, 6));
}

/* The value of an argument that is a constant Python int; `otherwise` if it is not given. */
static bool
constant_argument(const lw_lower_frame *f, uint32_t call, uint32_t index, __int128 otherwise,
                  __int128 *out)
{
    const lw_typed_node *t = lw_typed_at(f, call);
    uint32_t entry = index < t->n_args ? f->l->typed->lists.data[t->args + index] : 0, k;

    *out = otherwise;
    if (entry == 0)
        return true;
    if ((entry & LW_ARG_TAG) == LW_ARG_CONSTANT)
        k = entry & ~(uint32_t)LW_ARG_TAG;
    else
        k = entry & LW_ARG_TAG ? 0 : lw_typed_at(f, entry)->constant;
    return k != 0 && lw_constant_int_value(lw_typed_constant(f->l->typed, k), out);
}

/* Bounds that an int64 does not hold, of a range whose items it holds: range(2**63 - 3, 2**63)
 * has three. A step that is never taken may have any value. */
static bool
of_wide_range(lw_lower_frame *f, uint32_t call, lw_iterator *it)
{
    lw_builder *b = &f->b;
    bool only_stop = !lw_argument_given(f, call, 1);
    __int128 start, stop, step, count, last;

    if (!constant_argument(f, call, 0, 0, &start) ||
        !constant_argument(f, call, 1, start, &stop) ||
        !constant_argument(f, call, 2, 1, &step) || step == 0)
        return false;
    start = only_stop ? 0 : start;
    count = constant_count(start, stop, step);
    step = count > 1 ? step : 1;
    last = start + (count - 1) * step;
    if (count <= 0 || start != (int64_t)start || last != (int64_t)last)
        return false;
    it->start = lw_ir_int(b, LW_DT_i64, (int64_t)start);
    it->step = lw_ir_int(b, LW_DT_i64, (int64_t)step);
    it->count = lw_ir_int(b, LW_DT_u64, (int64_t)count);
    return stop != (int64_t)stop;
}

/* A step of 0 that is known only at run time: an exception if the function can raise. */
static lw_iterator
of_range(lw_lower_frame *f, uint32_t call)
{
    lw_iterator it = {.kind = LW_OVER_RANGE};
    const lw_typed_node *t = lw_typed_at(f, call);
    const uint32_t *lists = f->l->typed->lists.data;
    lw_builder *b = &f->b;
    bool only_stop = !lw_argument_given(f, call, 1), has_step = lw_argument_given(f, call, 2);

    if (of_wide_range(f, call, &it))
        return it;
    lw_ref first = bound_argument(f, call, 0);
    lw_ref stop = only_stop ? first : bound_argument(f, call, 1);
    bool wide = lw_ir_type(b, first) == LW_DT_u64 || lw_ir_type(b, stop) == LW_DT_u64;

    it.start = only_stop ? lw_ir_zero(&f->b, LW_DT_i64) : first;
    it.step = step_argument(f, call);
    it.stop = stop;
    it.rises = !wide && !lw_ir_is_const(b, it.step, NULL) && lw_never_negative(f, it.step);
    if (has_step && lw_step_may_be_zero(f->l, f->inst, lists[t->args + 2])) {
        lw_ref none = lw_ir_compare(b, LW_OP_EQ, it.step, lw_ir_zero(b, LW_DT_i64));
        if (lw_raises_errors(f))
            lw_lower_raise(f, none, "ValueError", "range() arg 3 must not be zero");
        else /* errors are ignored: no iteration */
            it.stop = lw_ir_type(b, stop) == lw_ir_type(b, it.start)
                          ? lw_ir_select(b, none, it.start, stop)
                          : stop; /* a step of 0 counts no iteration */
    }
    if (!it.rises)
        it.count = lw_range_count(b, it.start, it.stop, it.step);
    if (wide) { /* the index may lie beyond int64; then it wraps */
        it.start = lw_ir_cast(b, LW_DT_i64, it.start);
        it.stop = 0;
    }
    return it;
}

lw_ref
lw_iterator_count(lw_lower_frame *f, const lw_iterator *it)
{
    return it->rises ? lw_range_count(&f->b, it->start, it->stop, it->step) : it->count;
}

/* ---- the others ---- */

/* Holds an array, because the loop may assign to the variable that it was read from; what a
 * call has just returned is held by the place of the call. */
static void
guard_array(lw_lower_frame *f, lw_lower_value array)
{
    lw_ref reference = array.n ? array.parts[array.n - 1] : 0;

    if (f->b.func == NULL || f->b.func->insts.data[reference].op != LW_OP_RESULT)
        lw_lower_guard(f, array);
}

static lw_iterator
of_array(lw_lower_frame *f, lw_lower_value array, lw_type item)
{
    lw_ref count = lw_ir_cast(&f->b, LW_DT_u64, lw_array_extent(f, array, 0));

    guard_array(f, array);
    return (lw_iterator){.kind = LW_OVER_ARRAY,
                         .type = array.type,
                         .item = item,
                         .count = count,
                         .tuple = array};
}

static lw_iterator
of_value(lw_lower_frame *f, lw_lower_value tuple, lw_type item)
{
    lw_iterator it = {.kind = LW_OVER_TUPLE, .fixed = true, .tuple = tuple};

    if (lw_type_kind_of(f->l->types, tuple.type) == LW_TK_ARRAY)
        return of_array(f, tuple, item);
    lw_lower_guard(f, tuple);
    if (lw_value_is_tuple(&tuple, f))
        it.n_fixed = lw_type_get(f->l->types, tuple.type)->n;
    else
        lw_lower_fail(f, f->node, "a loop over this");
    return it;
}

static void take_shortest(lw_lower_frame *f, lw_iterator *it);

/* Iterates over an object that is the items of a list of arrays. */
static lw_lower_value
field_of_arrays(lw_lower_frame *f, lw_lower_value arrays, const char *name)
{
    const lw_type_row *row = lw_type_get(f->l->types, arrays.type);
    uint32_t i = 0;

    while (i + 1 < row->n && strcmp(row->names[i], name) != 0)
        i++;
    return lw_value_element(f, arrays, i);
}

static lw_iterator
of_slots(lw_lower_frame *f, lw_lower_value arrays, lw_type item)
{
    lw_lower_value words = field_of_arrays(f, arrays, "words");

    lw_lower_guard(f, words); /* the loop may assign to the variable that it was read from */
    return (lw_iterator){.kind = LW_OVER_SLOTS,
                         .type = arrays.type,
                         .item = item,
                         .count = lw_lower_slot_count(f, words, item),
                         .tuple = words};
}

/* Iterates over an object that is the items of a list of typed lists or dicts. Their words are
 * in slots, and `like` is such a list or dict without words. */
static lw_iterator
of_containers(lw_lower_frame *f, lw_lower_value items, lw_type item)
{
    lw_lower_value words = field_of_arrays(f, items, "words");
    lw_lower_value like = field_of_arrays(f, items, "like");
    lw_type words_of_one = field_of_arrays(f, like, "words").type;

    lw_lower_guard(f, words);
    return (lw_iterator){.kind = LW_OVER_CONTAINERS,
                         .type = items.type,
                         .item = item,
                         .count = lw_lower_slot_count(f, words, words_of_one),
                         .tuple = items};
}

static lw_lower_value
item_container(lw_lower_frame *f, const lw_iterator *it, lw_ref k)
{
    lw_lower_value words = field_of_arrays(f, it->tuple, "words");
    lw_lower_value like = field_of_arrays(f, it->tuple, "like"), element;
    const lw_type_row *row = lw_type_get(f->l->types, it->item);
    uint32_t n_parts = lw_parts_of(f->l->types, it->item), n = 0;
    lw_ref *parts = lw_arena_take(f->l->arena, (n_parts + 1) * sizeof *parts);

    k = lw_ir_mul(&f->b, lw_ir_cast(&f->b, LW_DT_i64, k), lw_const64(f, lw_slot_words(1)));
    k = lw_ir_add(&f->b, k, lw_const64(f, LW_CELLS_BEGIN));
    for (uint32_t i = 0; parts && i < row->n; i++) {
        element = lw_value_element(f, like, i);
        if (strcmp(row->names[i], "words") == 0)
            element = lw_lower_slot(f, words, k, row->elements[i]);
        for (uint32_t j = 0; j < element.n && n < n_parts; j++)
            parts[n++] = element.parts[j];
    }
    return parts ? lw_value_of(f, it->item, parts, n) : lw_value_zero(f, it->item);
}

/* Iterates over an object that is the items of a list of strings, an array of words. */
static lw_iterator
of_texts(lw_lower_frame *f, lw_lower_value texts, lw_type item)
{
    lw_iterator it = of_array(f, field_of_arrays(f, texts, "words"), LW_DT_i64);

    it.kind = LW_OVER_TEXTS;
    it.item = item;
    return it;
}

static lw_lower_value
item_text(lw_lower_frame *f, const lw_iterator *it, lw_ref k)
{
    lw_lower_value value = lw_lower_array_item(f, it->tuple, k, LW_DT_i64);
    lw_ref word = lw_ir_cast(&f->b, LW_DT_u64, value.parts[0]);

    return lw_value_of(f, it->item, &word, 1);
}

static lw_lower_value
item_slot(lw_lower_frame *f, const lw_iterator *it, lw_ref k)
{
    uint32_t ndim = lw_array_row_of(f, it->item)->ndim;

    k = lw_ir_mul(&f->b, lw_ir_cast(&f->b, LW_DT_i64, k),
                  lw_const64(f, lw_slot_words((int)ndim)));
    return lw_lower_slot(f, it->tuple, lw_ir_add(&f->b, k, lw_const64(f, LW_CELLS_BEGIN)),
                         it->item);
}

lw_iterator
lw_iterator_of_rows(lw_lower_frame *f, lw_lower_value rows, lw_type item)
{
    const lw_type_row *row = lw_type_get(f->l->types, rows.type);
    const lw_type_row *items = lw_type_get_kind(f->l->types, item, LW_TK_TUPLE);
    lw_iterator it = {.kind = LW_OVER_ZIP, .n_inner = row->n, .item = item};

    if (row->kind == LW_TK_ARRAY)
        return of_array(f, rows, item);
    if (row->user_class != NULL && row->user_class->items == LW_ITEMS_ARRAYS)
        return of_slots(f, rows, item);
    if (row->user_class != NULL && row->user_class->items == LW_ITEMS_CONTAINERS)
        return of_containers(f, rows, item);
    if (row->user_class != NULL && row->user_class->items == LW_ITEMS_TEXTS)
        return of_texts(f, rows, item);
    it.inner = lw_arena_take(f->l->arena, (it.n_inner + 1) * sizeof *it.inner);
    for (uint32_t i = 0; it.inner && i < it.n_inner; i++) {
        lw_lower_value part = lw_value_element(f, rows, i);
        lw_type of_part = items && i < items->n
                              ? items->elements[i]
                              : lw_type_get(f->l->types, part.type)->elements[0];

        it.inner[i] = lw_iterator_of_rows(f, part, of_part);
    }
    if (it.inner == NULL)
        it.n_inner = 0;
    take_shortest(f, &it);
    return it;
}

/* Iterations, with those of the loops around, up to which loops over constants are unrolled:
 * unrolled, the items are constants; beyond that they are read from a table. */
enum { MOST_CONSTANT_ITERATIONS = 256 };

/* Whether it is a loop over a constant tuple that is too long to be unrolled. */
static bool
of_long_constant(lw_lower_frame *f, uint32_t node, lw_type item, lw_iterator *it)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    const lw_type_row *row = lw_type_get(f->l->types, t->type);

    *it = (lw_iterator){.kind = LW_OVER_TABLE, .item = item, .type = t->type};
    if (t->constant == 0 || item == LW_T_BOTTOM || row == NULL || row->kind != LW_TK_TUPLE)
        return false;
    if (row->n <= LW_MAX_UNROLL && row->n * f->unrolled <= MOST_CONSTANT_ITERATIONS)
        return false;
    it->count = lw_ir_int(&f->b, LW_DT_u64, row->n);
    return lw_table_of_constant(f, t->constant, item, &it->table);
}

/* The shortest of the inner iterables decides. */
static void
take_shortest(lw_lower_frame *f, lw_iterator *it)
{
    lw_builder *b = &f->b;

    it->fixed = it->n_inner == 0;
    for (uint32_t i = 0; i < it->n_inner; i++) {
        const lw_iterator *inner = &it->inner[i];
        if (inner->fixed && (!it->fixed || inner->n_fixed < it->n_fixed))
            it->n_fixed = inner->n_fixed;
        it->fixed = it->fixed || inner->fixed;
        lw_ref count = lw_iterator_count(f, inner);
        if (count == 0)
            continue;
        if (it->count == 0) {
            it->count = count;
            continue;
        }
        lw_ref shorter = lw_ir_compare(b, LW_OP_LT, count, it->count);
        it->count = lw_ir_select(b, shorter, count, it->count);
    }
}

/* The items of the i-th iterable of an enumerate, zip or reversed. */
static lw_type
inner_item(lw_lower_frame *f, lw_type range, int kind, uint32_t i)
{
    const lw_type_row *row = lw_type_get(f->l->types, range);
    lw_type item = row && row->kind == LW_TK_RANGE ? row->elements[0] : (lw_type)LW_T_BOTTOM;

    if (kind == LW_OVER_REVERSED)
        return item;
    row = lw_type_get(f->l->types, item);
    i += kind == LW_OVER_ENUMERATE;
    return row && row->kind == LW_TK_TUPLE && i < row->n ? row->elements[i]
                                                         : (lw_type)LW_T_BOTTOM;
}

static lw_iterator
of_call(lw_lower_frame *f, uint32_t call, lw_impl impl)
{
    const lw_typed_node *t = lw_typed_at(f, call);
    lw_iterator it = {.kind = impl == LW_IMPL_ZIP         ? LW_OVER_ZIP
                              : impl == LW_IMPL_ENUMERATE ? LW_OVER_ENUMERATE
                                                          : LW_OVER_REVERSED};

    it.n_inner = impl == LW_IMPL_ZIP ? t->n_args : 1;
    it.inner = lw_arena_take(f->l->arena, (it.n_inner + 1) * sizeof *it.inner);
    for (uint32_t i = 0; it.inner && i < it.n_inner; i++)
        it.inner[i] = of_entry(f, f->l->typed->lists.data[t->args + i],
                               inner_item(f, t->type, it.kind, i));
    if (it.inner == NULL)
        it.n_inner = 0;
    take_shortest(f, &it);
    if (impl == LW_IMPL_ENUMERATE)
        it.start = integer_argument(f, call, 1, 0);
    return it;
}

/* ndindex(extents), ndenumerate(array) */
static lw_iterator
of_indices(lw_lower_frame *f, uint32_t call, bool has_element)
{
    const lw_typed_node *t = lw_typed_at(f, call);
    lw_iterator it = {.kind = LW_OVER_INDICES};
    lw_lower_value first = lw_lower_argument(f, call, 0), one;
    lw_ref *extents = lw_arena_take(f->l->arena, LW_MAX_ARRAY_DIMS * sizeof *extents);
    bool is_tuple = !has_element && lw_value_is_tuple(&first, f);
    lw_ref negative;

    it.count = lw_ir_int(&f->b, LW_DT_u64, 1);
    if (extents == NULL)
        return it;
    it.extents = extents;
    it.n_extents = has_element ? lw_array_row_of(f, first.type)->ndim
                   : is_tuple  ? lw_type_get(f->l->types, first.type)->n
                               : t->n_args;
    if (has_element) {
        it.tuple = first;
        lw_lower_guard(f,
                       first); /* the loop may assign to the variable that it was read from */
    }
    for (uint32_t i = 0; i < it.n_extents; i++) {
        if (has_element) {
            extents[i] = lw_array_extent(f, first, i);
        } else {
            one = is_tuple ? lw_value_element(f, first, i) : lw_lower_argument(f, call, i);
            one = lw_value_convert(f, one, LW_T_INDEX);
            extents[i] = lw_part_at(&one, 0);
            negative = lw_ir_compare(&f->b, LW_OP_LT, extents[i], lw_const64(f, 0));
            if (lw_raises_errors(f))
                lw_lower_raise(f, negative, "ValueError",
                               "negative dimensions are not allowed");
            else
                extents[i] = lw_ir_select(&f->b, negative, lw_const64(f, 0), extents[i]);
        }
        it.count = lw_ir_mul(&f->b, it.count, lw_ir_cast(&f->b, LW_DT_u64, extents[i]));
    }
    return it;
}

/* ---- typed lists and dicts ---- */

static lw_ref
load_size(lw_lower_frame *f, lw_ref address)
{
    return lw_ir_load(&f->b, LW_DT_i64, 1, address, 8, 0);
}

/* The words of the container outlive the loop, which may assign to the variable. */
static void
watch(lw_lower_frame *f, lw_lower_value object, lw_iterator *it)
{
    const lw_type_row *row = lw_type_get_kind(f->l->types, object.type, LW_TK_TUPLE);
    lw_lower_value words;

    if (row == NULL || row->user_class == NULL || !row->user_class->is_typed ||
        !lw_raises_errors(f))
        return;
    for (uint32_t i = 0; i < row->n; i++) {
        if (strcmp(row->names[i], "words") != 0)
            continue;
        words = lw_value_element(f, object, i);
        lw_lower_guard(f, words);
        it->size_at = lw_part_at(&words, 0);
        it->size = load_size(f, it->size_at);
        it->of_list = row->user_class->grown == LW_GROWN_LIST;
        return;
    }
}

bool
lw_iterator_is_checked(const lw_iterator *it)
{
    bool is = it->size_at != 0;

    for (uint32_t i = 0; i < it->n_inner && !is; i++)
        is = lw_iterator_is_checked(&it->inner[i]);
    return is;
}

void
lw_iterator_check(lw_lower_frame *f, const lw_iterator *it)
{
    if (it->size_at)
        lw_lower_raise(f, lw_ir_compare(&f->b, LW_OP_NE, load_size(f, it->size_at), it->size),
                       "RuntimeError",
                       it->of_list ? "list changed size during iteration"
                                   : "dictionary changed size during iteration");
    for (uint32_t i = 0; i < it->n_inner; i++)
        lw_iterator_check(f, &it->inner[i]);
}

static lw_iterator
of_object(lw_lower_frame *f, uint32_t node, lw_lower_value object, lw_type item)
{
    lw_type type = lw_typed_at(f, node)->type;
    lw_iterator it = {0}, made;
    lw_lower_value value;

    watch(f, object, &it);
    value = lw_lower_asked(f, node, object);
    if (lw_typed_at(f, node)->asks && lw_type_is_grown(f->l->types, type) &&
        lw_value_is_tuple(&value, f))
        made = lw_iterator_of_rows(f, value, item);
    else
        made = value.iterator ? *value.iterator : of_value(f, lw_lower_items(f, value), item);
    made.size_at = it.size_at;
    made.size = it.size;
    made.of_list = it.of_list;
    return made;
}

static lw_iterator
of_node(lw_lower_frame *f, uint32_t node, lw_type item)
{
    const lw_typed_node *t = lw_typed_at(f, node);

    if (!t->constant && lw_node_at(f, node)->kind == LW_NODE_CALL && t->call == LW_CALL_NAMED) {
        lw_impl impl = lw_names[t->target].impl;
        if (impl == LW_IMPL_RANGE)
            return of_range(f, node);
        if (impl == LW_IMPL_ZIP || impl == LW_IMPL_ENUMERATE || impl == LW_IMPL_REVERSED)
            return of_call(f, node, impl);
        if (impl == LW_IMPL_NDINDEX || impl == LW_IMPL_NDENUMERATE)
            return of_indices(f, node, impl == LW_IMPL_NDENUMERATE);
    }
    lw_iterator it;
    if (!t->asks && of_long_constant(f, node, item, &it))
        return it;
    return of_object(f, node, lw_lower_expression(f, node), item);
}

static lw_iterator
of_entry(lw_lower_frame *f, uint32_t entry, lw_type item)
{
    if (entry & LW_ARG_TAG)
        return of_value(f, lw_lower_entry(f, entry), item);
    lw_iterator it = of_node(f, entry, item);
    uint32_t asks = lw_typed_at(f, entry)->asks;
    it.type = asks ? f->l->typed->instances.data[asks].result : lw_typed_at(f, entry)->type;
    return it;
}

lw_iterator
lw_iterator_of(lw_lower_frame *f, uint32_t node, lw_type item)
{
    return of_entry(f, node, item);
}

/* range(…) and its like as the value of a variable. */
lw_lower_value
lw_iterator_value(lw_lower_frame *f, uint32_t node)
{
    lw_iterator *kept = lw_arena_take(f->l->arena, sizeof *kept);
    lw_type type = lw_typed_at(f, node)->type;

    if (kept != NULL)
        *kept = of_entry(f, node, LW_T_BOTTOM);
    return (lw_lower_value){.type = type, .iterator = kept};
}

/* ---- items ---- */

/* The tuple type of the items of an enumerate or zip. */
static lw_type
item_type(lw_lower_frame *f, const lw_iterator *it, uint32_t i)
{
    lw_type_kind kind = lw_type_kind_of(f->l->types, it->type);

    if (it->kind == LW_OVER_ZIP && it->item != LW_T_BOTTOM) /* of_rows */
        return it->item;
    if (kind == LW_TK_RANGE)
        return lw_type_get(f->l->types, it->type)->elements[0];
    if (kind == LW_TK_TUPLE && i < lw_type_get(f->l->types, it->type)->n)
        return lw_type_get(f->l->types, it->type)->elements[i];
    return LW_T_BOTTOM;
}

static lw_lower_value
item_tuple(lw_lower_frame *f, const lw_iterator *it, lw_ref k, uint32_t i)
{
    lw_type type = item_type(f, it, i);
    uint32_t n = lw_parts_of(f->l->types, type), at = 0;
    lw_ref *parts = lw_arena_take(f->l->arena, (n + 1) * sizeof *parts);

    if (lw_type_kind_of(f->l->types, type) != LW_TK_TUPLE)
        return lw_lower_fail(f, f->node, "items that are no tuples");
    const lw_type_row *row = lw_type_get(f->l->types, type);
    for (uint32_t j = 0; parts && j < row->n; j++) {
        bool counts = it->kind == LW_OVER_ENUMERATE && j == 0;
        uint32_t from = it->kind == LW_OVER_ENUMERATE ? 0 : j;
        lw_lower_value value;
        if (counts)
            value = lw_value_scalar(
                f, LW_T_INDEX, lw_ir_add(&f->b, it->start, lw_ir_cast(&f->b, LW_DT_i64, k)));
        else
            value = lw_iterator_item(f, &it->inner[from], k, i);
        value = lw_value_convert(f, value, row->elements[j]);
        for (uint32_t p = 0; p < value.n && at < n; p++)
            parts[at++] = value.parts[p];
    }
    return (lw_lower_value){.type = type, .n = parts ? at : 0, .parts = parts};
}

static lw_lower_value
item_reversed(lw_lower_frame *f, const lw_iterator *it, lw_ref k, uint32_t i)
{
    assert(it->n_inner == 1);
    const lw_iterator *inner = &it->inner[0];
    lw_builder *b = &f->b;

    if (inner->fixed)
        return lw_iterator_item(f, inner, k, inner->n_fixed - 1 - i);
    lw_ref last = lw_ir_sub(b, lw_iterator_count(f, inner), lw_ir_int(b, LW_DT_u64, 1));
    return lw_iterator_item(f, inner, lw_ir_sub(b, last, k), i);
}

static lw_lower_value
item_array(lw_lower_frame *f, const lw_iterator *it, lw_ref k)
{
    assert(lw_type_kind_of(f->l->types, it->tuple.type) == LW_TK_ARRAY);
    return lw_lower_array_item(f, it->tuple, k, it->item);
}

static lw_lower_value
item_range(lw_lower_frame *f, const lw_iterator *it, lw_ref k)
{
    lw_builder *b = &f->b;
    lw_ref value = lw_ir_cast(b, LW_DT_i64, k);
    uint64_t bits;

    if (!lw_ir_is_const(b, it->step, &bits) || bits != 1)
        value = lw_ir_mul(b, value, it->step);
    if (!lw_ir_is_const(b, it->start, &bits) || bits != 0)
        value = lw_ir_add(b, it->start, value);
    if (lw_never_negative(f, it->start) && lw_never_negative(f, it->step))
        lw_lower_note_counter(f, value, it->start, it->stop);
    return lw_value_scalar(f, LW_T_INDEX, value);
}

/* The digits of k, whose bases are the extents. */
static lw_lower_value
item_indices(lw_lower_frame *f, const lw_iterator *it, lw_ref k)
{
    lw_builder *b = &f->b;
    lw_type type = lw_type_get(f->l->types, it->type)->elements[0];
    lw_ref parts[LW_MAX_ARRAY_DIMS + 2] = {0}, offset = 0, size;
    uint32_t n = it->n_extents;
    lw_dtype narrow = lw_offset_type(f);
    lw_lower_value element;

    for (uint32_t i = n; i-- > 0;) {
        size = lw_ir_cast(b, LW_DT_u64, it->extents[i]);
        parts[i] = lw_ir_cast(b, LW_DT_i64, i ? lw_ir_rem(b, k, size) : k);
        k = i ? lw_ir_div(b, k, size) : k;
    }
    if (it->tuple.n == 0)
        return lw_value_of(f, type, parts, n);
    for (uint32_t i = 0; i < n; i++)
        offset = lw_offset_sum(b, offset,
                               lw_offset_product(b, lw_offset_cast(b, narrow, parts[i]),
                                                 lw_array_stride_in(f, it->tuple, i, narrow)));
    element = lw_lower_load(f, lw_type_get(f->l->types, type)->elements[1],
                            lw_address_moved(b, lw_part_at(&it->tuple, 0), offset),
                            lw_array_align_of(f, it->tuple.type));
    for (uint32_t i = 0; i < element.n; i++)
        parts[n + i] = element.parts[i];
    return lw_value_of(f, type, parts, n + element.n);
}

lw_lower_value
lw_iterator_item(lw_lower_frame *f, const lw_iterator *it, lw_ref k, uint32_t i)
{
    switch (it->kind) {
    case LW_OVER_TUPLE: return lw_value_element(f, it->tuple, i);
    case LW_OVER_TABLE: return lw_table_item(f, &it->table, k);
    case LW_OVER_ARRAY: return item_array(f, it, k);
    case LW_OVER_RANGE: return item_range(f, it, k);
    case LW_OVER_SLOTS: return item_slot(f, it, k);
    case LW_OVER_CONTAINERS: return item_container(f, it, k);
    case LW_OVER_TEXTS: return item_text(f, it, k);
    case LW_OVER_REVERSED: return item_reversed(f, it, k, i);
    case LW_OVER_INDICES: return item_indices(f, it, k);
    default: return item_tuple(f, it, k, i);
    }
}
