/* Comparisons and their chains, of which each link is a comparison of numbers or tuples, of
 * whole arrays, or a call of a method. */
#include "core/front/infer/infer_internal.h"

/* The right operand of a link, while the left one waits. */
static lw_status
infer_right(lw_infer_frame *f, uint32_t link, uint32_t left_node, lw_infer_value *right)
{
    uint32_t held = lw_hold(f, left_node);
    lw_status status = lw_infer_borrowed(f, lw_node_of(f, link)->a, right);

    lw_unhold(f, held);
    return status;
}

static lw_status
infer_plain_link(lw_infer_frame *f, uint32_t link, lw_infer_operand left, lw_infer_value right,
                 int *truth)
{
    const lw_node *n = lw_node_of(f, link);
    lw_status status;

    LW_TRY(lw_infer_compare(f, link, (lw_pyop)n->op, left, (lw_infer_operand){n->a, right},
                            truth));
    f->nodes[link].type = LW_DT_b1;
    f->nodes[link].truth = (int8_t)*truth;
    f->nodes[link].constant =
        *truth >= 0 ? lw_constant_bool(f, f->nodes[link].constant, *truth) : 0;
fail:
    return status;
}

/* Whether the link compares whole arrays, element by element. */
static bool
is_elementwise_link(lw_infer_frame *f, uint32_t link, lw_infer_value x, lw_infer_value y)
{
    lw_pyop op = (lw_pyop)lw_node_of(f, link)->op;

    return op >= LW_PY_EQ && op <= LW_PY_GE &&
           (lw_is_elementwise(f, x.type) || lw_is_elementwise(f, y.type));
}

/* left op right, where one of them is an object whose class defines it. node: the COMPARE that
 * has only this link, or the link. */
static lw_status
infer_object_link(lw_infer_frame *f, uint32_t node, uint32_t link, lw_infer_operand left,
                  lw_infer_value right, bool *found, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, link);
    lw_arg x = {.node = left.node, .entry = left.node, .value = left.value};
    lw_arg y = {.node = n->a, .entry = n->a, .value = right};
    lw_status status = LW_OK;

    *found = false;
    if (n->op < LW_PY_EQ)
        return LW_OK;
    if (n->op == LW_PY_IN || n->op == LW_PY_NOT_IN)
        LW_TRY(lw_infer_object_contains(f, node, (lw_pyop)n->op, x, y, found, out));
    else
        LW_TRY(lw_infer_object_compare(f, node, (lw_pyop)n->op, x, y, found, out));
    if (*found)
        f->nodes[node].truth = (int8_t)lw_truth_of(f, *out);
fail:
    return status;
}

/* Whether the call that a link is changes this operand of it. */
static bool
changes_operand(const lw_infer_frame *f, uint32_t link, uint32_t operand)
{
    const lw_typed_node *t = &f->nodes[link];
    const lw_instance *callee = &f->run->typed->instances.data[t->target];

    if (!f->report || t->call != LW_CALL_INSTANCE)
        return false;
    for (uint32_t i = 0; i < callee->n_changed; i++)
        if (f->run->typed->lists.data[t->args + callee->changed[i]] == operand)
            return true;
    return false;
}

/* A link of a chain that calls a method: a bool, so that the chain is one, and its right
 * operand stays what it was for the next link. */
static lw_status
infer_called_link(lw_infer_frame *f, uint32_t link, lw_infer_operand left, lw_infer_value right,
                  bool is_last, bool *found, int *truth)
{
    static const char help[] = "write comparisons one by one, with `and` between them";
    const lw_node *n = lw_node_of(f, link);
    lw_infer_value out = {LW_T_BOTTOM, 0};
    lw_status status;

    if (f->notes != NULL)
        f->notes[link] = (lw_note){0};
    LW_TRY(infer_object_link(f, link, link, left, right, found, &out));
    if (!*found)
        return LW_OK;
    *truth = lw_truth_of(f, out);
    f->nodes[link].type = out.type;
    f->nodes[link].constant = out.constant;
    if (out.type != LW_T_BOTTOM && out.type != LW_DT_b1)
        return lw_complain(f, n->loc, "E165",
                           lw_format_text(f, "this `%s` gives %s", lw_pyop_text[n->op],
                                          lw_describe_value(f, out)),
                           help, "a chain of comparisons whose methods do not all give a bool");
    if (!is_last && changes_operand(f, link, n->a))
        return lw_complain(f, n->loc, "E165",
                           lw_format_text(f, "this `%s` changes it", lw_pyop_text[n->op]), help,
                           "a comparison changes an object that the next one of its chain is "
                           "about");
fail:
    return status;
}

/* A link of a chain runs only if all links before it were true. */
static lw_status
infer_link(lw_infer_frame *f, const lw_node *chain, uint32_t i, lw_infer_operand left,
           lw_infer_value right, int *truth)
{
    uint32_t link = f->run->tree->lists.data[chain->b + i];
    bool found = false;
    lw_status status = LW_OK;

    if (chain->c > 1)
        LW_TRY(infer_called_link(f, link, left, right, i + 1 == chain->c, &found, truth));
    if (!found)
        LW_TRY(infer_plain_link(f, link, left, right, truth));
fail:
    return status;
}

lw_status
lw_infer_comparison(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    bool found = false;
    const lw_node *n = lw_node_of(f, node);
    const uint32_t *links = &f->run->tree->lists.data[n->b];
    uint32_t left_node = n->a, outer = f->region;
    int all = 1, truth = -1;
    bool pure, whole = false, before;
    lw_infer_value left, right = {0};
    lw_flow stopped = {0};
    lw_status status;

    LW_TRY(lw_infer_borrowed(f, n->a, &left));
    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    before = lw_stores_begin(f);
    LW_TRY(infer_right(f, links[0], n->a, &right));
    LW_TRY(lw_stores_end(f, before, n->a, &left));
    if (n->c == 1)
        LW_TRY(infer_object_link(f, node, links[0], (lw_infer_operand){n->a, left}, right,
                                 &found, out));
    if (found)
        return LW_OK;
    pure = lw_is_pure(f, n->a);
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t link = links[i];

        if (i && !lw_may_stop_here(f, truth, true, &stopped))
            return lw_out_of_memory(f);
        if (i) {
            lw_region_open(f, node, false);
            LW_TRY(infer_right(f, link, left_node, &right));
        }
        LW_TRY(infer_link(f, n, i, (lw_infer_operand){left_node, left}, right, &truth));
        pure = pure && lw_is_pure(f, lw_node_of(f, link)->a);
        all = truth == 0 || all == 0 ? 0 : truth < 0 ? -1 : all;
        if (is_elementwise_link(f, link, left, right)) {
            whole = true;
            LW_TRY(lw_infer_array_comparison(f, node, left, right, out));
        }
        left = right;
        left_node = lw_node_of(f, link)->a;
    }
    f->nodes[node].truth = (int8_t)all;
    if (whole)
        goto fail;
    *out = (lw_infer_value){LW_DT_b1, 0};
    if (all >= 0 && pure)
        out->constant = lw_constant_bool(f, f->nodes[node].constant, all);
    lw_join_stopped(f, &stopped);
fail:
    lw_flow_put(f, &stopped);
    f->region = outer;
    return status;
}
