/* The arguments of a call: their values, those that `*x` gives, and that they are held while
 * later ones are evaluated. */
#include "core/front/infer/call.h"

#include <assert.h>

lw_status
lw_add_arg(lw_infer_frame *f, lw_arg_list *args, lw_arg arg)
{
    lw_arg *slot = lw_array_push(args, f->run->arena);

    if (slot == NULL)
        return lw_out_of_memory(f);
    *slot = arg;
    return LW_OK;
}

uint32_t
lw_element_entry(lw_infer_frame *f, uint32_t node, uint32_t i)
{
    uint32_t k = f->run->typed->lists.n;

    if (!f->report)
        return node;
    lw_list_add(f, node);
    lw_list_add(f, i);
    return LW_ARG_ELEMENT | k;
}

static lw_status
add_star(lw_infer_frame *f, uint32_t node, lw_arg_list *args)
{
    uint32_t inner = lw_node_of(f, node)->a, n;
    const lw_type_row *row;
    lw_infer_value tuple;
    lw_status status;

    LW_TRY(lw_infer_expr(f, inner, &tuple));
    row = lw_tuple_row(f, tuple.type);
    if (row == NULL)
        return lw_complain(f, lw_node_of(f, node)->loc, "E120",
                           lw_format_text(f, "this is %s", lw_describe_value(f, tuple)), NULL,
                           "only a tuple can be unpacked with `*`");
    n = row->n;
    for (uint32_t i = 0; i < n; i++) {
        lw_infer_value element = lw_element(f, tuple, i);
        lw_arg arg = {inner, lw_element_entry(f, inner, i), NULL, element};
        LW_TRY(lw_add_arg(f, args, arg));
    }
fail:
    return status;
}

/* What the arguments have read is held until all of them are evaluated. */
static lw_status
hold_arg(lw_infer_frame *f, uint32_t node, lw_arg_list *held)
{
    uint32_t root = lw_hold(f, node);

    return root ? lw_add_arg(f, held, (lw_arg){.node = root}) : LW_OK;
}

static void
unhold_args(lw_infer_frame *f, const lw_arg_list *held)
{
    assert(held->n == 0 || held->data != NULL);
    for (uint32_t i = 0; i < held->n; i++)
        lw_unhold(f, held->data[i].node);
}

/* The arguments in front of the one that has been inferred since lw_stores_begin. */
static lw_status
settle_earlier(lw_infer_frame *f, lw_arg_list *args, bool before)
{
    bool writes = f->stores;
    lw_status status = LW_OK;

    f->stores |= before;
    for (uint32_t i = 0; writes && i < args->n; i++)
        if ((args->data[i].entry & LW_ARG_TAG) == 0 && args->data[i].entry != 0)
            LW_TRY(lw_infer_before_stores(f, args->data[i].node, &args->data[i].value));
fail:
    return status;
}

/* Arguments of print may be f-strings, those of NumPy's functions array expressions. */
lw_status
lw_infer_args(lw_infer_frame *f, const lw_node *call, lw_args_kind kind, lw_arg_list *args,
              bool *unknown)
{
    lw_arg_list held = {0};
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < call->c; i++) {
        uint32_t node = f->run->tree->lists.data[call->b + i];
        const lw_node *n = lw_node_of(f, node);
        lw_arg arg = {.node = node};
        bool before = lw_stores_begin(f);

        if (n->kind == LW_NODE_STAR) {
            LW_TRY(add_star(f, node, args));
            LW_TRY(settle_earlier(f, args, before));
            *unknown |= lw_typed_in(&f->nodes, n->a)->type == LW_T_BOTTOM;
            continue;
        }
        if (n->kind == LW_NODE_ARG_KEYWORD) {
            arg.keyword = lw_constant_text(f, n->a);
            arg.node = n->b;
        }
        arg.entry = arg.node;
        f->wants_items = kind == LW_ARGS_OPTIONAL || kind == LW_ARGS_SHOWN;
        f->wants_optional = f->wants_items || kind == LW_ARGS_OF_UFUNC;
        if (kind == LW_ARGS_SHOWN && lw_node_of(f, arg.node)->kind == LW_NODE_JOINED)
            LW_TRY(lw_infer_joined(f, arg.node, &arg.value));
        else if (kind == LW_ARGS_ELEMENTWISE || kind == LW_ARGS_OF_UFUNC)
            LW_TRY(lw_infer_borrowed(f, arg.node, &arg.value));
        else if ((f->borrowed = true))
            LW_TRY(lw_infer_expr(f, arg.node, &arg.value));
        if (kind == LW_ARGS_SHOWN)
            lw_unwrap_unshown(f, arg.node, &arg.value);
        LW_TRY(settle_earlier(f, args, before));
        *unknown |= arg.value.type == LW_T_BOTTOM;
        LW_TRY(lw_add_arg(f, args, arg));
        LW_TRY(hold_arg(f, arg.node, &held));
    }
fail:
    unhold_args(f, &held);
    return status;
}
