/* Statements: what they bind, how control continues, and what is never reached. `now`
 * (lw_flow) is the state behind the statement; a statement that cannot be reached is marked
 * dead and is not typed. Loops are walked with the states that earlier walks found at the end
 * of their bodies. */
#include "core/front/infer/infer_internal.h"

#include <assert.h>
#include <string.h>

/* ---- if ---- */

static lw_status
infer_arm(lw_infer_frame *f, uint32_t node, uint32_t body, bool otherwise, bool dead,
          lw_flow *flow)
{
    uint32_t outer = f->region;
    lw_status status = LW_OK;

    if (body)
        lw_typed_in(&f->nodes, body)->dead = dead;
    if (dead) {
        flow->live = false;
        return LW_OK;
    }
    if (body == 0)
        return LW_OK;
    lw_flow_set(f, flow);
    lw_region_open(f, node, otherwise);
    LW_TRY(lw_infer_body(f, body));
    lw_flow_keep(f, flow);
fail:
    f->region = outer;
    return status;
}

static lw_status
infer_if(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    lw_flow yes = {0}, no = {0};
    lw_status status;
    int truth;

    LW_TRY(lw_infer_condition(f, n->a, &truth, &yes, &no));
    lw_typed_in(&f->nodes, node)->truth = (int8_t)truth;
    LW_TRY(infer_arm(f, node, n->b, false, truth == 0, &yes));
    LW_TRY(infer_arm(f, node, n->c, true, truth == 1, &no));
    lw_flow_merge(f, &yes, &no);
    lw_flow_set(f, &yes);
fail:
    lw_flow_put(f, &yes);
    lw_flow_put(f, &no);
    return status;
}

/* ---- loops ---- */

/* The definitions that reach the loop's head from the end of the body; the set grows from walk
 * to walk. */
static uint64_t *
back_of(lw_infer_frame *f, uint32_t node)
{
    uint64_t **slot;

    if (lw_typed_in(&f->nodes, node)->args == 0) {
        slot = lw_array_push(&f->back_edges, f->run->arena);
        if (slot == NULL)
            return NULL;
        *slot = lw_flow_new(f);
        lw_typed_in(&f->nodes, node)->args = f->back_edges.n - 1;
    }
    assert(lw_typed_in(&f->nodes, node)->args <
           f->back_edges.n); /* no other use of args at loops */
    return f->back_edges.data[lw_typed_in(&f->nodes, node)->args];
}

static lw_status
loop_begin(lw_infer_frame *f, uint32_t node, lw_infer_loop *loop)
{
    uint64_t *back = back_of(f, node);

    if (back == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < lw_flow_words(f); i++)
        f->now.reach[i] |= back[i];
    if (!lw_flow_take(f, &loop->on_break) || !lw_flow_take(f, &loop->on_continue))
        return lw_out_of_memory(f);
    loop->on_break.live = loop->on_continue.live = false;
    loop->outer = f->loop;
    f->loop = loop;
    return LW_OK;
}

/* `now` is a state that goes back to the loop's head. */
static void
loop_back(lw_infer_frame *f, uint32_t node, lw_infer_loop *loop)
{
    uint64_t *back = back_of(f, node);

    lw_flow_merge(f, &f->now, &loop->on_continue);
    if (!f->now.live || back == NULL)
        return;
    for (uint32_t i = 0; i < lw_flow_words(f); i++) {
        f->changed |= (f->now.reach[i] & ~back[i]) != 0;
        back[i] |= f->now.reach[i];
    }
}

/* `else` runs unless the loop is left by break. */
static lw_status
loop_end(lw_infer_frame *f, uint32_t node, uint32_t otherwise, lw_infer_loop *loop)
{
    uint32_t outer = f->region;
    lw_status status = LW_OK;

    assert(f->loop == loop); /* loops are left in order */
    f->loop = loop->outer;
    if (otherwise) {
        lw_typed_in(&f->nodes, otherwise)->dead = !f->now.live;
        if (f->now.live) {
            lw_region_open(f, node, true);
            LW_TRY(lw_infer_body(f, otherwise));
        }
    }
    lw_flow_merge(f, &f->now, &loop->on_break);
fail:
    f->region = outer;
    return status;
}

static void
loop_put(lw_infer_frame *f, lw_infer_loop *loop)
{
    lw_flow_put(f, &loop->on_break);
    lw_flow_put(f, &loop->on_continue);
}

static lw_status
infer_while(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    uint32_t outer = f->region;
    lw_infer_loop loop = {0}, *outer_loop = f->loop;
    lw_flow yes = {0}, no = {0};
    lw_status status;
    int truth;

    LW_TRY(loop_begin(f, node, &loop));
    lw_region_open(f, node, false);
    LW_TRY(lw_infer_condition(f, n->a, &truth, &yes, &no));
    lw_typed_in(&f->nodes, node)->truth = (int8_t)truth;
    lw_typed_in(&f->nodes, n->b)->dead = truth == 0;
    if (truth != 0) {
        lw_flow_set(f, &yes);
        lw_region_open(f, node, false);
        LW_TRY(lw_infer_body(f, n->b));
        loop_back(f, node, &loop);
    }
    f->region = outer;
    lw_flow_set(f, &no);
    f->now.live = truth != 1;
    LW_TRY(loop_end(f, node, n->c, &loop));
fail:
    f->region = outer;
    f->loop = outer_loop;
    loop_put(f, &loop);
    lw_flow_put(f, &yes);
    lw_flow_put(f, &no);
    return status;
}

/* entry: the state before the loop; `now`: the state at the end of the body, and on return the
 * state when the items are used up. count: the number of iterations, or negative. */
static void
leave_for(lw_infer_frame *f, const lw_flow *entry, bool surely_runs)
{
    if (surely_runs)
        return;
    if (f->now.live)
        lw_flow_merge(f, &f->now, entry);
    else
        lw_flow_set(f, entry);
}

typedef LW_ARRAY(uint32_t) held_lists;

static bool
calls_function(lw_infer_frame *f, uint32_t callee)
{
    uint32_t constant = lw_typed_in(&f->nodes, callee)->constant;

    return constant && lw_constant_of(f, constant)->kind == LW_K_FUNCTION;
}

/* The lists over which a loop goes: its code sees the items that they have at its begin, so
 * that nothing may be put into them or taken from them in it. */
static lw_status
hold_lists(lw_infer_frame *f, uint32_t node, held_lists *held)
{
    const lw_node *of = lw_node_of(f, node);
    lw_status status = LW_OK;
    uint32_t *slot;

    if (lw_is_dict_view(f, lw_typed_in(&f->nodes, node)->type)) { /* d.items() */
        of = lw_node_of(f, of->a);
        if (of->kind == LW_NODE_ATTRIBUTE)
            LW_TRY(hold_lists(f, of->a, held));
    } else if (lw_type_is_number(f, lw_typed_in(&f->nodes, node)->type)) {
        return LW_OK; /* range(len(x)) */
    } else if (of->kind == LW_NODE_CALL) {
        /* enumerate(x), zip(x, y); what a function gives, such as list(x), is another list */
        for (uint32_t i = 0; i < of->c && !calls_function(f, of->a); i++)
            LW_TRY(hold_lists(f, f->run->tree->lists.data[of->b + i], held));
    } else if (lw_has_grown(f, lw_typed_in(&f->nodes, node)->type)) {
        slot = lw_array_push(held, f->run->arena);
        if (slot == NULL)
            return lw_out_of_memory(f);
        *slot = lw_hold(f, node);
    }
fail:
    return status;
}

static void
unhold_lists(lw_infer_frame *f, held_lists *held)
{
    while (held->data != NULL && held->n > 0)
        lw_unhold(f, held->data[--held->n]);
}

static lw_status
infer_for(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node), *body = lw_node_of(f, n->c);
    uint32_t outer = f->region;
    lw_infer_loop loop = {0}, *outer_loop = f->loop;
    lw_flow entry = {0};
    lw_infer_value iterable, item;
    lw_status status;
    int64_t count;
    held_lists held = {0};
    bool resizes = f->resizes;

    f->borrowed = f->wants_items = true;
    f->lent = lw_typed_in(&f->nodes, node)->quiet == LW_QUIET ? n->b : 0;
    LW_TRY(lw_infer_expr(f, n->b, &iterable));
    LW_TRY(lw_infer_items(f, n->b, iterable, &item, &count));
    f->lent = 0;
    if (f->notes != NULL)
        LW_TRY(hold_lists(f, n->b, &held));
    if (lw_holds_objects(f, item.type))
        lw_lose_node(f, n->b);
    lw_typed_in(&f->nodes, node)->operand = item.type;
    LW_TRY(loop_begin(f, node, &loop));
    if (!lw_flow_take(f, &entry))
        return lw_out_of_memory(f);
    lw_typed_in(&f->nodes, node)->truth = count < 0 ? -1 : count > 0;
    lw_typed_in(&f->nodes, body->a)->dead = count == 0;
    if (count != 0) {
        lw_region_open(f, node, false);
        f->resizes = false;
        LW_TRY(lw_assign(f, n->a, item));
        LW_TRY(lw_infer_body(f, body->a));
        lw_note_quiet(f, node, iterable.type, f->resizes);
        f->resizes |= resizes;
        loop_back(f, node, &loop);
    }
    unhold_lists(f, &held);
    f->region = outer;
    leave_for(f, &entry, count > 0);
    LW_TRY(loop_end(f, node, body->b, &loop));
fail:
    unhold_lists(f, &held);
    f->region = outer;
    f->loop = outer_loop;
    loop_put(f, &loop);
    lw_flow_put(f, &entry);
    return status;
}

static lw_status
infer_jump(lw_infer_frame *f, const lw_node *n)
{
    if (f->loop == NULL)
        return lw_complain(f, n->loc, "E101", NULL, NULL, "`%s` outside of a loop",
                           lw_node_text[n->kind]);
    lw_flow_merge(f, n->kind == LW_NODE_BREAK ? &f->loop->on_break : &f->loop->on_continue,
                  &f->now);
    f->now.live = false;
    return LW_OK;
}

/* ---- return, assert, raise ---- */

/* Whether the value of an expression surely exists. */
static bool
is_there(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    bool is = true;

    switch ((lw_node_kind)n->kind) {
    case LW_NODE_CONSTANT: return true;
    case LW_NODE_NAME: return !lw_may_be_unbound(f, n->a);
    case LW_NODE_TUPLE:
        for (uint32_t i = 0; i < n->c && is; i++)
            is = is_there(f, f->run->tree->lists.data[n->b + i]);
        return is;
    default: return node == 0;
    }
}

static bool
is_name(lw_infer_frame *f, uint32_t node)
{
    return lw_node_of(f, node)->kind == LW_NODE_NAME;
}

/* Whether the statement, which is in a `try`, surely raises nothing by itself. */
static bool
cannot_raise(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);

    switch ((lw_node_kind)n->kind) {
    case LW_NODE_PASS:
    case LW_NODE_BREAK:
    case LW_NODE_CONTINUE: return true;
    case LW_NODE_ASSIGN:
        return n->c == 1 && is_name(f, f->run->tree->lists.data[n->b]) && is_there(f, n->a);
    case LW_NODE_ANNASSIGN: return is_name(f, n->a) && is_there(f, n->c);
    case LW_NODE_RETURN: return is_there(f, n->a);
    default: return false;
    }
}

static lw_status
infer_return(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value value = {LW_T_NONE, 0}, *slot;
    uint32_t *kept;
    lw_status status = LW_OK;

    if (n->a) {
        f->wants_optional = true;
        f->wants_items = lw_may_give_none(f);
        LW_TRY(lw_infer_returned(f, n->a, &value));
        if (!lw_may_give_none(f))
            LW_TRY(lw_return_given(f, n->a, &value));
        if (f->caller == NULL)
            value.type = lw_without_known_members(f, lw_by_value(f, value.type));
        LW_TRY(lw_check_kept(f, lw_node_of(f, n->a)->loc, value.type));
        LW_TRY(lw_check_returned(f, n->a, value.type));
    }
    slot = lw_array_push(&f->returns, f->run->arena);
    kept = lw_array_push(&f->return_nodes, f->run->arena);
    if (slot == NULL || kept == NULL)
        return lw_out_of_memory(f);
    *slot = value;
    *kept = node;
    if (!cannot_raise(f, node))
        lw_note_raise(f);
    if (f->finallies != NULL) /* which may change objects, too */
        lw_flow_merge(f, &f->finallies->returned, &f->now);
    else
        LW_TRY(lw_infer_changed_at(f, node, n->loc));
    f->now.live = false;
fail:
    return status;
}

static lw_status
infer_assert(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    bool ignored = f->run->typed->options.ignore_errors;
    lw_flow yes = {0};
    lw_status status;
    int truth;

    status = lw_infer_condition(f, n->a, &truth, &yes, NULL);
    if (ignored && lw_caught_stop(f, n->a, &status)) /* it is not evaluated */
        return LW_OK;
    LW_TRY(status);
    lw_typed_in(&f->nodes, node)->truth = (int8_t)truth;
    if (truth != 1 && !ignored) {
        f->can_raise = true;
        lw_flow_set(f, &yes);
        f->now.live = truth != 0;
    }
fail:
    lw_flow_put(f, &yes);
    return status;
}

/* A function of the package raises TypingError where the types that it is called with do not
 * suit it. They are known now, so this is E120 of the call. NoTypeYet, which is derived from
 * it, says that a type is not known yet. */
static bool
refuses_types(lw_infer_frame *f, uint32_t exception)
{
    const char *class = f->fn->of_package ? lw_constant_of(f, exception)->text : "";
    bool is_untyped = strcmp(class, "lanewise._growing_lists:NoTypeYet") == 0;

    f->reads_untyped |= is_untyped;
    return is_untyped || strcmp(class, "lanewise.errors:TypingError") == 0;
}

/* Its message is a text, or several that are put together. */
static lw_status
complain_of_types(lw_infer_frame *f, const lw_node *n)
{
    const char *message = lw_constant_of(f, n->a)->help, *part;
    lw_infer_value value = {0};
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < n->c; i++) {
        LW_TRY(lw_infer_expr(f, f->run->tree->lists.data[n->b + i], &value));
        part = lw_is_constant_text(f, value) ? lw_constant_of(f, value.constant)->text : "";
        message = message ? lw_format_text(f, "%s%s", message, part) : part;
    }
    f->now.live = false;
    return lw_complain(f, n->loc, "E120", NULL, NULL, "%s",
                       message ? message : "these types do not suit this function");
fail:
    return status;
}

static lw_status
infer_raise(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value value;
    lw_status status = LW_OK;
    uint32_t n_words = 0;

    if (n->a != 0 && refuses_types(f, n->a))
        return complain_of_types(f, n);
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t item = f->run->tree->lists.data[n->b + i];

        f->wants_optional = f->wants_items = lw_node_of(f, item)->kind != LW_NODE_JOINED;
        if (lw_node_of(f, item)->kind == LW_NODE_JOINED)
            LW_TRY(lw_infer_joined(f, item, &value));
        else
            LW_TRY(lw_infer_expr(f, item, &value));
        lw_unwrap_unshown(f, item, &value);
        if (value.type != LW_T_BOTTOM && !lw_can_be_shown(f, value.type) &&
            !lw_is_constant_text(f, value))
            LW_TRY(lw_complain(f, lw_node_of(f, item)->loc, "E104",
                               lw_format_text(f, "this is %s", lw_describe_value(f, value)),
                               NULL, "an exception can carry constants and numbers"));
        n_words += lw_shown_slots(f, value.type);
    }
    if (n_words > LW_RAISE_WORDS)
        LW_TRY(lw_complain(f, n->loc, "E104", lw_format_text(f, "%u are given", n_words), NULL,
                           "an exception can carry at most %d numbers", LW_RAISE_WORDS));
    f->can_raise |= !f->run->typed->options.ignore_errors;
    lw_note_raise(f);
    f->now.live = false;
fail:
    return status;
}

/* ---- try ---- */

/* The name of a handler's exception has no value that could be read, before, in and behind it.
 */
static void
unbind(lw_infer_frame *f, uint32_t name)
{
    if (name != 0)
        lw_unbind(f, lw_node_of(f, name)->a);
}

/* raised: the state in which handlers begin; done: the state behind the statement, so far. */
static lw_status
infer_handlers(lw_infer_frame *f, uint32_t node, const lw_flow *raised, lw_flow *done)
{
    const lw_node *n = lw_node_of(f, node);
    uint32_t outer = f->region;
    bool all = !raised->live;
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t number = f->run->tree->lists.data[n->b + i];
        const lw_node *handler = lw_node_of(f, number);

        lw_typed_in(&f->nodes, number)->dead = lw_typed_in(&f->nodes, handler->b)->dead = all;
        if (all)
            continue;
        lw_flow_set(f, raised);
        lw_region_open(f, node, true);
        unbind(f, handler->a);
        LW_TRY(lw_infer_body(f, handler->b));
        unbind(f, handler->a);
        lw_flow_merge(f, done, &f->now);
        f->region = outer;
        all = handler->c == 0;
    }
    if (!all && f->tries != NULL) { /* what none of them catches */
        lw_flow_set(f, raised);
        lw_note_raise(f);
    }
fail:
    f->region = outer;
    return status;
}

/* The body, the handlers and `else`. */
static lw_status
infer_handled(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node), *parts = lw_node_of(f, n->a);
    uint32_t outer = f->region;
    lw_infer_try inner = {.outer = f->tries};
    lw_flow done = {0};
    lw_status status;

    if (!lw_flow_take_none(f, &inner.raised) || !lw_flow_take_none(f, &done))
        return lw_out_of_memory(f);
    lw_region_open(f, node, false);
    if (n->c)
        f->tries = &inner;
    LW_TRY(lw_infer_body(f, parts->a));
    f->tries = inner.outer;
    if (parts->b) {
        lw_typed_in(&f->nodes, parts->b)->dead = !f->now.live;
        if (f->now.live) {
            lw_region_open(f, node, false);
            LW_TRY(lw_infer_body(f, parts->b));
        }
    }
    f->region = outer;
    lw_flow_merge(f, &done, &f->now);
    if (n->c)
        LW_TRY(infer_handlers(f, node, &inner.raised, &done));
    lw_flow_set(f, &done);
fail:
    f->region = outer;
    f->tries = inner.outer;
    lw_flow_put(f, &inner.raised);
    lw_flow_put(f, &done);
    return status;
}

/* The ways by which the control leaves a `try` with a `finally`, with the states there. */
typedef struct leaving {
    lw_infer_try inner;
    lw_infer_finally finally;
    lw_infer_loop loop; /* break and continue */
    lw_flow end;
} leaving;

static void
leaving_put(lw_infer_frame *f, leaving *l)
{
    lw_flow_put(f, &l->inner.raised);
    lw_flow_put(f, &l->finally.returned);
    lw_flow_put(f, &l->loop.on_break);
    lw_flow_put(f, &l->loop.on_continue);
    lw_flow_put(f, &l->end);
}

static lw_status
infer_with_finally(lw_infer_frame *f, uint32_t node, leaving *l)
{
    lw_status status;

    if (!lw_flow_take_none(f, &l->inner.raised) ||
        !lw_flow_take_none(f, &l->finally.returned) ||
        !lw_flow_take_none(f, &l->loop.on_break) ||
        !lw_flow_take_none(f, &l->loop.on_continue) || !lw_flow_take_none(f, &l->end))
        return lw_out_of_memory(f);
    l->inner.outer = f->tries;
    l->finally.outer = f->finallies;
    l->loop.outer = f->loop;
    f->tries = &l->inner;
    f->finallies = &l->finally;
    f->loop = f->loop ? &l->loop : NULL;
    status = infer_handled(f, node);
    f->tries = l->inner.outer;
    f->finallies = l->finally.outer;
    f->loop = l->loop.outer;
    lw_flow_keep(f, &l->end);
    return status;
}

/* Each way goes on behind the `finally`, of which `after` is the state at its end. */
static lw_status
leave_finally(lw_infer_frame *f, uint32_t node, leaving *l, const lw_flow *after)
{
    lw_flow *ways[] = {&l->inner.raised, &l->finally.returned, &l->loop.on_break,
                       &l->loop.on_continue, &l->end};
    lw_status status = LW_OK;

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        lw_flow_pass(f, ways[i], after);
    if (l->inner.raised.live) {
        lw_flow_set(f, &l->inner.raised);
        lw_note_raise(f);
    }
    if (l->finally.returned.live && f->finallies) {
        lw_flow_merge(f, &f->finallies->returned, &l->finally.returned);
    } else if (l->finally.returned.live) {
        lw_flow_set(f, &l->finally.returned);
        LW_TRY(lw_infer_changed_at(f, node, lw_node_of(f, node)->loc));
    }
    if (f->loop != NULL) {
        lw_flow_merge(f, &f->loop->on_break, &l->loop.on_break);
        lw_flow_merge(f, &f->loop->on_continue, &l->loop.on_continue);
    }
    lw_flow_set(f, &l->end);
fail:
    return status;
}

/* The `finally` is walked once, with the states of all ways together, and lowered for each way.
 */
static lw_status
infer_finally(lw_infer_frame *f, uint32_t node)
{
    uint32_t body = lw_node_of(f, lw_node_of(f, node)->a)->c, outer = f->region;
    bool *assigned = f->assigned;
    lw_flow after = {0};
    leaving l = {0};
    lw_status status;

    LW_TRY(infer_with_finally(f, node, &l));
    lw_typed_in(&f->nodes, node)->truth = l.end.live;
    lw_flow_merge(f, &f->now, &l.inner.raised);
    lw_flow_merge(f, &f->now, &l.finally.returned);
    lw_flow_merge(f, &f->now, &l.loop.on_break);
    lw_flow_merge(f, &f->now, &l.loop.on_continue);
    lw_typed_in(&f->nodes, body)->dead = !f->now.live;
    f->assigned = lw_arena_take(f->run->arena, f->fn->vars.n + 1);
    if (f->assigned == NULL || !lw_flow_take_none(f, &after))
        return lw_out_of_memory(f);
    if (f->now.live) {
        lw_region_open(f, node, true);
        LW_TRY(lw_infer_body(f, body));
        f->region = outer;
    }
    lw_flow_keep(f, &after);
    LW_TRY(leave_finally(f, node, &l, &after));
    for (uint32_t var = 0; assigned && var < f->fn->vars.n; var++)
        assigned[var] |= f->assigned[var];
fail:
    f->assigned = assigned;
    f->region = outer;
    lw_flow_put(f, &after);
    leaving_put(f, &l);
    return status;
}

static lw_status
infer_try(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);

    if (f->run->typed->options.ignore_errors)
        return lw_complain(
            f, n->loc, "E101", "exceptions are not compiled here, so none could be caught",
            "leave errors=\"ignore\" out; code that is compiled for other programs has no "
            "exceptions: test the condition with `if`",
            "`try` in a function that raises no exceptions");
    return lw_node_of(f, n->a)->c ? infer_finally(f, node) : infer_handled(f, node);
}

/* ---- the rest ---- */

lw_status
lw_infer_statement(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value value;
    lw_status status;

    switch ((lw_node_kind)n->kind) {
    case LW_NODE_ASSIGN: return lw_infer_assign(f, node);
    case LW_NODE_AUGASSIGN: return lw_infer_augassign(f, node);
    case LW_NODE_ANNASSIGN: return lw_infer_annassign(f, node);
    case LW_NODE_IF: return infer_if(f, node);
    case LW_NODE_WHILE: return infer_while(f, node);
    case LW_NODE_FOR: return infer_for(f, node);
    case LW_NODE_BODY: return lw_infer_body(f, node);
    case LW_NODE_BREAK:
    case LW_NODE_CONTINUE: return infer_jump(f, n);
    case LW_NODE_RETURN: return infer_return(f, node);
    case LW_NODE_EXPR:
        f->borrowed = true;
        LW_TRY(lw_infer_expr(f, n->a, &value));
        lw_drop_value(f, n->a);
        return LW_OK;
    case LW_NODE_PASS: return LW_OK;
    case LW_NODE_ASSERT: return infer_assert(f, node);
    case LW_NODE_RAISE: return infer_raise(f, node);
    case LW_NODE_MATCH: return lw_infer_match(f, node);
    case LW_NODE_TRY: return infer_try(f, node);
    case LW_NODE_ERROR: return lw_complain_kept(f, n->a);
    default:
        return lw_complain(f, n->loc, "E101", NULL, NULL, "`%s` is not allowed here",
                           n->kind < LW_N_NODE_KINDS ? lw_node_text[n->kind] : "?");
    }
fail:
    return status;
}

lw_status
lw_infer_body(lw_infer_frame *f, uint32_t body)
{
    const lw_node *n = lw_node_of(f, body);
    lw_status status = LW_OK;
    bool raises;

    lw_typed_in(&f->nodes, body)->dead = false;
    LW_TRY(lw_enter(f, body));
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t statement = f->run->tree->lists.data[n->b + i];

        lw_typed_in(&f->nodes, statement)->dead = !f->now.live;
        if (!f->now.live)
            continue;
        raises = f->tries != NULL && !cannot_raise(f, statement);
        if (raises)
            lw_note_raise(f);
        f->stop = lw_typed_in(&f->nodes, statement)->stops = 0;
        status = lw_infer_statement(f, statement);
        if (lw_caught_stop(f, statement, &status))
            f->now.live = false;
        LW_TRY(status);
        lw_settle_alias(f);
        if (raises)
            lw_note_raise(f);
    }
    assert(f->run->depth > 0); /* lw_enter */
    f->run->depth--;
fail:
    return status;
}
