/* Subscripts with arrays, x[mask], x[:, places], x[rows, columns] = v, x[places] += v:
 * functions of lanewise/_new_arrays.py take the elements, or store to them. They get the view
 * that the slices and integers of the subscript select, the axis of it that the arrays belong
 * to, and the arrays. NumPy puts the axes of the result where the arrays stand if they and the
 * integers stand side by side, and in front otherwise; only the first is compiled. */
#include "core/front/infer/infer_internal.h"
#include "core/front/subscript.h"

#include <assert.h>

static bool
is_advanced(const lw_index_item *item)
{
    return item->kind == LW_INDEX_AT || item->kind == LW_INDEX_ARRAY;
}

/* Whether arrays and integers stand side by side; *axis: of the view, of the first array. */
static bool
are_side_by_side(const lw_index *index, uint32_t *axis)
{
    uint32_t runs = 0;
    bool before = false, found = false;

    *axis = 0;
    for (uint32_t i = 0; i < index->n; i++) {
        const lw_index_item *item = &index->items[i];

        runs += is_advanced(item) && !before;
        before = is_advanced(item);
        found |= item->kind == LW_INDEX_ARRAY;
        *axis += !found && item->kind != LW_INDEX_AT;
    }
    return runs == 1;
}

/* An array, or a list. */
static lw_status
add_array(lw_infer_frame *f, const lw_index_item *item, lw_arg *arg)
{
    uint32_t k = f->run->typed->lists.n;

    *arg = (lw_arg){.node = item->node, .entry = item->node, .value = {item->type, 0}};
    if (lw_tuple_row(f, item->type))
        arg->value.constant = item->constant; /* may have more items than are kept as numbers */
    if (item->element == 0 || !f->report)
        return LW_OK;
    if (!lw_list_add(f, item->node) || !lw_list_add(f, item->element - 1))
        return lw_out_of_memory(f);
    arg->entry = LW_ARG_ELEMENT | k;
    return LW_OK;
}

static lw_arg
constant_argument(lw_infer_frame *f, uint32_t node, uint32_t constant)
{
    return (lw_arg){.node = node,
                    .entry = LW_ARG_CONSTANT | constant,
                    .value = lw_constant_value(f, constant)};
}

/* The arguments that stand for what the call that has taken the elements was given. */
static void
give_again(const lw_index *index, lw_arg *args, uint32_t n_first)
{
    uint32_t n = 0;

    args[0].entry = LW_ARG_STORED | LW_STORED_VIEW;
    for (uint32_t i = 0; i < index->n; i++)
        if (index->items[i].kind == LW_INDEX_ARRAY) {
            if (index->items[i].constant == 0)
                args[n_first + n].entry = LW_ARG_STORED | (LW_STORED_ARRAYS + n);
            n++;
        }
}

lw_status
lw_infer_index_arrays(lw_infer_frame *f, uint32_t node, lw_type view, const lw_index *index,
                      const lw_stored *stored, lw_infer_value *out)
{
    bool augmented = stored && stored->op != LW_PY_NONE;
    lw_arg *args = lw_arena_take(f->run->arena, (index->n_arrays + 5u) * sizeof *args);
    lw_constant op = {.kind = LW_K_STR, .text = augmented ? lw_pyop_text[stored->op] : ""};
    uint32_t subscript = node, axis, n = 0, n_first;
    lw_status status;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (args == NULL)
        return lw_out_of_memory(f);
    if (!are_side_by_side(index, &axis))
        return lw_complain(f, lw_node_of(f, node)->loc, "E160", NULL,
                           "take one axis after the other: `y = x[:, :, places]`, `y[rows]`",
                           "arrays and integers that do not stand side by side in an index");
    if (lw_node_of(f, node)->kind == LW_NODE_AUGASSIGN)
        subscript = lw_node_of(f, node)->a;
    args[n++] =
        (lw_arg){.node = subscript, .entry = LW_ARG_VIEW | subscript, .value = {view, 0}};
    args[n++] = constant_argument(f, subscript, lw_constant_int(f, 0, axis));
    if (augmented) {
        args[n++] = constant_argument(f, subscript, lw_constant_add(f, 0, &op));
        args[n++] = (lw_arg){.node = subscript,
                             .entry = LW_ARG_STORED | LW_STORED_TAKEN,
                             .value = {stored->taken, 0}};
    }
    if (stored != NULL)
        args[n++] = stored->value;
    n_first = n;
    for (uint32_t i = 0; i < index->n; i++)
        if (index->items[i].kind == LW_INDEX_ARRAY)
            LW_TRY(add_array(f, &index->items[i], &args[n++]));
    assert(n == index->n_arrays + 2u + (stored != NULL) + 2u * augmented);
    if (augmented)
        give_again(index, args, n_first);
    status = lw_infer_own(f, node,
                          augmented ? "x[places] += v"
                          : stored  ? "x[places] = v"
                                    : "x[places]",
                          args, n, out);
fail:
    return status;
}
