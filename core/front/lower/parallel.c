/* Loops over prange. Their LOOPs are marked; what that means is core/opt/loops/parallel.h's.
 *
 * Arrays to which the iterations add (`hist += f(i)`), or which they multiply, are reductions,
 * too: the loop becomes one over parts, of which each has a copy of the array that starts as 0
 * (or 1), and behind it the copies are added to the array in the order of the parts. */
#include "core/front/lower/cursor.h"

#include "core/front/diagnose.h"
#include "core/front/lower/address.h"
#include "core/ir/counted.h"

#include <string.h>

bool
lw_is_parallel(lw_lower_frame *f, uint32_t iterable)
{
    const lw_typed_node *t = lw_typed_at(f, iterable);

    return f->l->typed->options.parallel && lw_node_at(f, iterable)->kind == LW_NODE_CALL &&
           t->call == LW_CALL_NAMED && t->target == LW_NAME_lanewise_prange;
}

bool
lw_leaves_parallel(lw_lower_frame *f, const char *what)
{
    const lw_lower_loop *loop = f->loop;
    lw_lowering *l = f->l;

    while (loop != NULL && !loop->parallel && strcmp(what, "return") == 0)
        loop = loop->outer;
    if (loop == NULL || !loop->parallel)
        return false;
    if (l->status == LW_OK)
        l->status = lw_diagnose(
            l->tree, lw_node_at(f, f->node)->loc,
            (lw_fault){LW_ERR_UNSUPPORTED, "E168",
                       .label = "the iterations run in any order, so the last one is unknown",
                       .help = "use `range`, or note in an array what each iteration finds",
                       .where = f->fn->name},
            l->err, "`%s` in a loop over prange", what);
    return true;
}

bool
lw_resizes_in_parallel(lw_lower_frame *f, uint32_t instance)
{
    const lw_lower_loop *loop = f->loop;
    lw_lowering *l = f->l;

    while (loop != NULL && !loop->parallel)
        loop = loop->outer;
    if (loop == NULL || !l->typed->instances.data[instance].resizes)
        return false;
    if (l->status == LW_OK)
        l->status = lw_diagnose(
            l->tree, lw_node_at(f, f->node)->loc,
            (lw_fault){LW_ERR_UNSUPPORTED, "E168",
                       .label = "it may change the size, or where the items lie, while other "
                                "iterations read them",
                       .help = "use `range`, or let each iteration assign an item of a list "
                               "that has all of them; a list of one iteration alone is `[]`",
                       .where = f->fn->name},
            l->err,
            "a typed list or dict that changes in a loop over prange, or a list of arrays");
    return true;
}

/* ---- arrays to which iterations add ---- */

enum {
    MOST_SUMS = 8,
    SUM_PARTS = 32 /* copies of each array: more are more memory, fewer keep threads idle */
};

typedef struct array_sum {
    uint32_t web;
    bool multiplies;
    uint32_t n_updates;
    lw_lower_value array;
    lw_ref address, bytes; /* of the copies: the first; of one */
} array_sum;

typedef struct array_sums {
    uint32_t n;
    array_sum sums[MOST_SUMS];
} array_sums;

/* Of `a += e` and `a[:] += e` the name; 0: the statement is another one. */
static uint32_t
name_of(const lw_lowering *l, const lw_instance *inst, uint32_t node)
{
    const lw_node *n = &l->tree->nodes.data[node], *target, *index;

    if (n->kind != LW_NODE_AUGASSIGN || lw_typed_in(&inst->nodes, node)->dead)
        return 0;
    target = &l->tree->nodes.data[n->a];
    if (target->kind == LW_NODE_NAME)
        return lw_typed_in(&inst->nodes, node)->elementwise ? n->a : 0;
    if (target->kind != LW_NODE_SUBSCRIPT)
        return 0;
    index = &l->tree->nodes.data[target->b];
    return l->tree->nodes.data[target->a].kind == LW_NODE_NAME &&
                   index->kind == LW_NODE_SLICE && !index->a && !index->b && !index->c
               ? target->a
               : 0;
}

bool
lw_may_be_array_sum(const lw_lowering *l, const lw_instance *inst, uint32_t node)
{
    return name_of(l, inst, node) != 0;
}

static array_sum *
sum_of(array_sums *all, uint32_t web)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->sums[i].web == web)
            return &all->sums[i];
    return NULL;
}

/* Whether the variable is an array of numbers from before the loop that has one definition. */
static bool
is_from_before(lw_lower_frame *f, uint32_t web)
{
    const lw_web *w = &f->inst->webs.data[web];
    const lw_type_row *row;

    if (web == 0 || !w->single || f->slotted[web] || f->webs[web] == NULL ||
        lw_type_kind_of(f->l->types, w->type) != LW_TK_ARRAY)
        return false;
    row = lw_array_row_of(f, w->type);
    return row->elements[0] <= LW_DT_c128 && row->elements[0] != LW_DT_b1;
}

/* Notes the update; false: the array cannot be summed. */
static bool
note_update(lw_lower_frame *f, array_sums *all, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    uint32_t name = name_of(f->l, f->inst, node);
    uint32_t web = name == n->a ? lw_typed_at(f, name)->target : lw_typed_at(f, name)->web;
    bool adds = n->op == LW_PY_ADD || n->op == LW_PY_SUB, multiplies = n->op == LW_PY_MUL;
    array_sum *one = sum_of(all, web);

    if (!is_from_before(f, web))
        return true;
    if (one == NULL && all->n < MOST_SUMS) {
        one = &all->sums[all->n++];
        *one = (array_sum){.web = web, .multiplies = multiplies};
        one->array = lw_lower_web_read(f, web);
    }
    if (one == NULL || (!adds && !multiplies) || one->multiplies != multiplies ||
        (multiplies &&
         lw_is_complex((lw_dtype)lw_array_row_of(f, one->array.type)->elements[0])))
        return false;
    one->n_updates++;
    return true;
}

/* Finds the arrays that the iterations add to and do not use otherwise. The nodes of the body
 * are those that were read between the iterable and the loop. */
static bool
find_sums(lw_lower_frame *f, const lw_node *loop, array_sums *all)
{
    for (uint32_t i = loop->b + 1; i < loop->c; i++)
        if (lw_may_be_array_sum(f->l, f->inst, i) && !note_update(f, all, i))
            return false;
    for (uint32_t k = 0; k < all->n; k++) {
        uint32_t n_uses = 0;
        for (uint32_t i = loop->b + 1; i < loop->c; i++) {
            const lw_typed_node *t = lw_typed_at(f, i);
            n_uses += lw_node_at(f, i)->kind == LW_NODE_NAME &&
                      (t->web == all->sums[k].web || t->target == all->sums[k].web);
        }
        if (n_uses != all->sums[k].n_updates)
            return false;
    }
    return all->n > 0;
}

/* ---- the copies ---- */

static lw_dtype
dtype_of(lw_lower_frame *f, const array_sum *one)
{
    return (lw_dtype)lw_array_row_of(f, one->array.type)->elements[0];
}

/* -0.0 leaves every float as it is, also -0.0. */
static void
neutral(lw_lower_frame *f, const array_sum *one, lw_ref parts[2])
{
    lw_dtype type = lw_dtypes[dtype_of(f, one)].parts;

    if (one->multiplies)
        parts[0] =
            lw_is_float(type) ? lw_ir_float(&f->b, type, 1.0) : lw_ir_int(&f->b, type, 1);
    else
        parts[0] =
            lw_is_float(type) ? lw_ir_float(&f->b, type, -0.0) : lw_ir_int(&f->b, type, 0);
    parts[1] = parts[0];
}

static void
make_copies(lw_lower_frame *f, array_sum *one, lw_ref n_copies)
{
    lw_builder *b = &f->b;
    uint32_t ndim = lw_array_row_of(f, one->array.type)->ndim;
    lw_ref n = lw_ir_cast(b, LW_DT_i64, n_copies), memory, parts[2], item, size;
    lw_for loop;

    item = lw_const64(f, lw_array_item_bytes(f, one->array.type));
    size = lw_const64(f, 1);
    for (uint32_t i = 0; i < ndim; i++)
        size = lw_ir_mul(b, size, lw_array_extent(f, one->array, i));
    one->bytes = lw_ir_mul(b, size, item);
    memory = lw_ir_new(b, lw_ir_owner(b), lw_ir_mul(b, one->bytes, n));
    lw_lower_raise(f, lw_ir_compare(b, LW_OP_EQ, memory, lw_ir_zero(b, LW_DT_ptr)),
                   "MemoryError", LW_COUNTED_NO_MEMORY);
    one->address = lw_ir_offset(b, memory, lw_const64(f, LW_COUNTED_HEADER));
    neutral(f, one, parts);
    loop = lw_ir_for(b, lw_const64(f, 0), lw_ir_mul(b, size, n), lw_const64(f, 1), 0);
    lw_ir_store_parts(b, dtype_of(f, one),
                      lw_ir_offset(b, one->address, lw_ir_mul(b, loop.i, item)), parts);
    lw_ir_for_end(b, &loop);
}

/* Copy number k, as an array of the same type. */
static lw_lower_value
copy_at(lw_lower_frame *f, const array_sum *one, lw_ref k)
{
    lw_builder *b = &f->b;
    uint32_t ndim = lw_array_row_of(f, one->array.type)->ndim;
    lw_ref parts[2 + 2 * LW_MAX_ARRAY_DIMS];
    lw_ref stride = lw_const64(f, lw_array_item_bytes(f, one->array.type));

    for (uint32_t i = 0; i < one->array.n; i++)
        parts[i] = lw_part_at(&one->array, i);
    parts[0] =
        lw_ir_offset(b, one->address, lw_ir_mul(b, lw_ir_cast(b, LW_DT_i64, k), one->bytes));
    for (uint32_t i = ndim; i-- > 0;) { /* dense types compute theirs from the extents */
        parts[1 + ndim + i] = stride;
        stride = lw_ir_mul(b, stride, lw_array_extent(f, one->array, i));
    }
    return lw_value_of(f, one->array.type, parts, one->array.n);
}

typedef struct joined {
    const array_sum *one;
    lw_cursor cursors[2]; /* the array; the copy */
} joined;

static void
join_element(lw_lower_frame *f, const lw_cursor_loops *loops, const void *context)
{
    const joined *j = context;
    const array_sum *one = j->one;
    lw_builder *b = &f->b;
    lw_ref x[2], y[2], at = lw_cursor_address(f, &j->cursors[0], loops);

    lw_ir_load_parts(b, dtype_of(f, one), at, 0, x);
    lw_ir_load_parts(b, dtype_of(f, one), lw_cursor_address(f, &j->cursors[1], loops), 0, y);
    for (int i = 0; i <= lw_is_complex(dtype_of(f, one)); i++)
        x[i] = one->multiplies ? lw_ir_mul(b, x[i], y[i]) : lw_ir_add(b, x[i], y[i]);
    lw_ir_store_parts(b, dtype_of(f, one), at, x);
}

/* array += copy */
static void
join_copy(lw_lower_frame *f, const array_sum *one, lw_ref k)
{
    const joined j = {one, {lw_cursor_of(f, one->array), lw_cursor_of(f, copy_at(f, one, k))}};

    lw_cursor_each(f, &(lw_cursor_work){
                          .body = join_element, .context = &j, .cursors = j.cursors, .n = 2});
}

/* ---- the loop ---- */

/* The iterations of a part, with the copies in place of the arrays. */
static void
lower_part(lw_lower_frame *f, const lw_node *n, const lw_iterator *it, lw_for *counter)
{
    lw_lower_loop loop = {.outer = f->loop, .parallel = true};

    loop.break_region = loop.continue_region = f->regions++;
    f->loop = &loop;
    lw_lower_assign(f, n->a, lw_iterator_item(f, it, counter->i, 0));
    lw_lower_body(f, lw_node_at(f, n->c)->a);
    lw_ir_for_end(&f->b, counter);
    f->regions--;
    f->loop = loop.outer;
}

static void
lower_parts(lw_lower_frame *f, const lw_node *n, const lw_iterator *it, array_sums *all,
            lw_ref n_parts)
{
    lw_builder *b = &f->b;
    lw_ref one = lw_ir_int(b, LW_DT_u64, 1), size, begin, end;
    const lw_ref *kept[MOST_SUMS];
    lw_for over, counter;

    size = lw_ir_add(b, lw_ir_div(b, lw_ir_sub(b, it->count, one), n_parts), one);
    over = lw_ir_for(b, lw_ir_zero(b, LW_DT_u64), n_parts, one, 0);
    if (b->func != NULL)
        b->func->insts.data[over.i - 1].flags |= LW_LOOP_PARALLEL;
    f->regions++;
    begin = lw_ir_mul(b, over.i, size);
    end = lw_ir_add(b, begin, size);
    end = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, end, it->count), end, it->count);
    for (uint32_t k = 0; k < all->n; k++) {
        kept[k] = f->webs[all->sums[k].web];
        f->webs[all->sums[k].web] = copy_at(f, &all->sums[k], over.i).parts;
    }
    counter = lw_ir_for(b, begin, end, one, 0);
    lower_part(f, n, it, &counter);
    for (uint32_t k = 0; k < all->n; k++)
        f->webs[all->sums[k].web] = kept[k];
    lw_ir_for_end(b, &over);
    f->regions--;
}

bool
lw_for_array_sums(lw_lower_frame *f, uint32_t node, const lw_iterator *it)
{
    const lw_node *n = lw_node_at(f, node);
    lw_builder *b = &f->b;
    lw_ref most = lw_ir_int(b, LW_DT_u64, SUM_PARTS), n_parts;
    array_sums all = {0};
    lw_for loop;

    for (const lw_lower_loop *outer = f->loop; outer != NULL; outer = outer->outer)
        if (outer->parallel)
            return false; /* its copies are used */
    if (!find_sums(f, n, &all))
        return false;
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GT, it->count, lw_ir_zero(b, LW_DT_u64)));
    n_parts = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, it->count, most), it->count, most);
    for (uint32_t k = 0; k < all.n; k++)
        make_copies(f, &all.sums[k], n_parts);
    lower_parts(f, n, it, &all, n_parts);
    loop = lw_ir_for(b, lw_ir_zero(b, LW_DT_u64), n_parts, lw_ir_int(b, LW_DT_u64, 1), 0);
    for (uint32_t k = 0; k < all.n; k++)
        join_copy(f, &all.sums[k], loop.i);
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
    if (lw_node_at(f, n->c)->b)
        lw_lower_body(f, lw_node_at(f, n->c)->b);
    return true;
}
