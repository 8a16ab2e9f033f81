/* Functions that are inlined into their callers: those of lanewise/_array_functions.py, and
 * generator expressions. Doors that look for loops, and for the variables that these carry,
 * then find them in the body. */
#include "core/front/lower/lower_internal.h"

#include <assert.h>

static bool returns(const lw_lower_frame *f, const lw_instance *inst, uint32_t node);

static bool
any_returns(const lw_lower_frame *f, const lw_instance *inst, const lw_node *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (returns(f, inst, lw_list_at(f, list->b + i)))
            return true;
    return false;
}

/* Whether the statement has a RETURN that can be reached. */
static bool
returns(const lw_lower_frame *f, const lw_instance *inst, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);

    if (node == 0 || lw_typed_in(&inst->nodes, node)->dead)
        return false;
    switch (n->kind) {
    case LW_NODE_RETURN:
    case LW_NODE_TRY: return true;
    case LW_NODE_IF:
    case LW_NODE_WHILE: return returns(f, inst, n->b) || returns(f, inst, n->c);
    case LW_NODE_FOR: return returns(f, inst, n->c);
    case LW_NODE_LOOP_BODY: return returns(f, inst, n->a) || returns(f, inst, n->b);
    case LW_NODE_CASE: return returns(f, inst, n->c);
    case LW_NODE_MATCH:
    case LW_NODE_BODY: return any_returns(f, inst, n, n->c);
    default: return false;
    }
}

/* Whether the last statement that can be reached returns, and no other one does. It may stand
 * in an `if` whose condition is known. */
static bool
returns_at_its_end(const lw_lower_frame *f, const lw_instance *inst, const lw_node *body)
{
    for (uint32_t i = 0; i < body->c; i++) {
        uint32_t statement = lw_list_at(f, body->b + i);
        const lw_node *n = lw_node_at(f, statement);

        if (!returns(f, inst, statement))
            continue;
        if (n->kind == LW_NODE_IF && lw_typed_in(&inst->nodes, statement)->truth >= 0)
            return returns_at_its_end(
                f, inst,
                lw_node_at(f, lw_typed_in(&inst->nodes, statement)->truth ? n->b : n->c));
        return n->kind == LW_NODE_RETURN;
    }
    return false;
}

/* Not in if-converted arms, whose assignments wait. */
bool
lw_may_inline(const lw_lower_frame *f, uint32_t instance)
{
    const lw_instance *inst = &f->l->typed->instances.data[instance];
    const lw_fn *fn = &f->l->tree->fns.data[inst->fn];

    return fn->inlined && f->converted_arms == 0 &&
           returns_at_its_end(f, inst, lw_node_at(f, fn->body));
}

lw_lower_value
lw_lower_inlined(lw_lower_frame *f, uint32_t instance, const lw_lower_value *values)
{
    assert(lw_may_inline(f, instance));
    lw_lower_frame inner, *g = &inner;
    lw_lower_value result = {0};

    if (!lw_lower_frame_init(g, f->l, instance)) {
        f->l->module->failed = true;
        return result;
    }
    g->b = f->b;
    g->regions = f->regions;
    g->counters = f->counters;
    g->unrolled = f->unrolled;
    g->node = f->node;
    g->level = f->level;
    g->handler = f->handler;
    g->changing = f->changing;
    g->inlined_result = &result;
    g->moved = f->b.func ? f->b.func->insts.n - 1 : 0;
    lw_lower_note_call(g, f);
    for (uint32_t i = 0; i < g->inst->n_params; i++)
        if (!g->inst->param_constants[i])
            g->webs[g->inst->param_webs[i]] = values[i].parts; /* web 0 is never read */
    lw_lower_walrus_slots(g);
    lw_lower_zero_webs(g);
    lw_lower_bind_parameters(g);
    lw_lower_body(g, g->fn->body);
    f->b = g->b;
    f->counters = g->counters;
    return result;
}
