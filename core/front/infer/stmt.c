/* Statements: what they bind, how control continues, and what is never reached. `now`
 * (lw_flow) is the state behind the statement; a statement that cannot be reached is marked
 * dead and is not typed. Loops are walked with the states that earlier walks found at the end
 * of their bodies. */
#include "core/front/infer/infer_internal.h"
#include "core/front/records.h"

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
        f->nodes[body].dead = dead;
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
    f->nodes[node].truth = (int8_t)truth;
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

    if (f->nodes[node].args == 0) {
        slot = lw_array_push(&f->back_edges, f->run->arena);
        if (slot == NULL)
            return NULL;
        *slot = lw_flow_new(f);
        f->nodes[node].args = f->back_edges.n - 1;
    }
    assert(f->nodes[node].args < f->back_edges.n); /* no other use of args at loops */
    return f->back_edges.data[f->nodes[node].args];
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
        f->nodes[otherwise].dead = !f->now.live;
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
    f->nodes[node].truth = (int8_t)truth;
    f->nodes[n->b].dead = truth == 0;
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
    uint32_t constant = f->nodes[callee].constant;

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

    if (lw_is_dict_view(f, f->nodes[node].type)) { /* d.items() */
        of = lw_node_of(f, of->a);
        if (of->kind == LW_NODE_ATTRIBUTE)
            LW_TRY(hold_lists(f, of->a, held));
    } else if (of->kind == LW_NODE_CALL) {
        /* enumerate(x), zip(x, y); what a function gives, such as list(x), is another list */
        for (uint32_t i = 0; i < of->c && !calls_function(f, of->a); i++)
            LW_TRY(hold_lists(f, f->run->tree->lists.data[of->b + i], held));
    } else if (lw_has_grown(f, f->nodes[node].type)) {
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

    f->borrowed = f->wants_items = true;
    LW_TRY(lw_infer_expr(f, n->b, &iterable));
    LW_TRY(lw_infer_items(f, n->b, iterable, &item, &count));
    if (f->notes != NULL)
        LW_TRY(hold_lists(f, n->b, &held));
    if (lw_holds_objects(f, item.type))
        lw_lose_node(f, n->b);
    f->nodes[node].operand = item.type;
    LW_TRY(loop_begin(f, node, &loop));
    if (!lw_flow_take(f, &entry))
        return lw_out_of_memory(f);
    f->nodes[node].truth = count < 0 ? -1 : count > 0;
    f->nodes[body->a].dead = count == 0;
    if (count != 0) {
        lw_region_open(f, node, false);
        LW_TRY(lw_assign(f, n->a, item));
        LW_TRY(lw_infer_body(f, body->a));
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

/* A function or range cannot leave its frame; a constant integer must fit a type. */
static lw_status
check_returned(lw_infer_frame *f, uint32_t loc, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);
    const lw_type *elements = row ? row->elements : NULL;
    uint32_t n = row ? row->n : 0;
    lw_status status = LW_OK;

    switch (row ? row->kind : LW_TK_SCALAR) {
    case LW_TK_FUNCTION:
        return lw_complain(f, loc, "E102",
                           "a nested function leaves the function it belongs to",
                           "call it here and return the result",
                           "compiled functions are not values that can be returned");
    case LW_TK_RANGE:
        return lw_complain(f, loc, "E102", NULL, "loop over it here",
                           "a range is not a value that can be returned");
    case LW_TK_LITERAL:
        if (lw_literal_is_wide(lw_types_of(f), type))
            return lw_complain(f, loc, "E130",
                               lw_format_text(f, "%s is outside of int64 and uint64",
                                              lw_describe_type(f, type)),
                               "Python ints are 64-bit in compiled code: use a float",
                               "integer constant out of range");
        return LW_OK;
    case LW_TK_TUPLE:
        for (uint32_t i = 0; i < n; i++)
            LW_TRY(check_returned(f, loc, elements[i]));
        return LW_OK;
    default: return LW_OK;
    }
fail:
    return status;
}

static bool
has_memory(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);

    if (row == NULL || row->kind == LW_TK_ARRAY || row->kind == LW_TK_RECORD)
        return row != NULL;
    for (uint32_t i = 0;
         (row->kind == LW_TK_TUPLE || row->kind == LW_TK_OPTIONAL) && i < row->n; i++)
        if (has_memory(f, row->elements[i]))
            return true;
    return false;
}

/* Whether it is a class, a function or a module, or a tuple with one: they exist only while
 * code is compiled. */
static bool
is_of_compile_time(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);

    if (type == LW_T_STATIC || (row && row->kind == LW_TK_FUNCTION) ||
        (row && row->kind == LW_TK_STATIC && lw_constant_of(f, row->fn)->kind == LW_K_ELLIPSIS))
        return true;
    for (uint32_t i = 0; row && row->kind == LW_TK_TUPLE && i < row->n; i++)
        if (is_of_compile_time(f, row->elements[i]))
            return true;
    return false;
}

static const char *
describe_result(lw_infer_frame *f, lw_type type)
{
    return lw_is_known_text(f, type) ? "a string" : lw_describe_type(f, type);
}

/* What the user's own function may return. */
static lw_status
check_entry_returned(lw_infer_frame *f, uint32_t node, lw_type type)
{
    uint32_t loc = lw_node_of(f, node)->loc;

    if (f->caller != NULL || type == LW_T_BOTTOM || type == LW_T_NONE)
        return LW_OK;
    if (f->run->typed->options.procedure)
        return lw_complain(
            f, loc, "E183", lw_format_text(f, "this is %s", lw_describe_type(f, type)),
            "write it into an array argument: `out[i] = ...`; a function of `njit` may "
            "return it if its signature has no `void` or `none`",
            "a kernel returns no value, nor does a function whose signature says so");
    if (lw_type_has_list(lw_types_of(f), type))
        return lw_complain(
            f, loc, "E183", lw_format_text(f, "this is %s", lw_describe_type(f, type)),
            f->run->typed->options.returns_arrays
                ? "lists of arguments are tuples in compiled code: return `list(x)`, a new list"
                : "return a tuple, `return x, y`",
            "a list cannot be a result");
    if (f->run->typed->options.returns_arrays && is_of_compile_time(f, type))
        return lw_complain(f, loc, "E183",
                           type == LW_T_STATIC
                               ? "this is a type, a function or a module"
                               : lw_format_text(f, "this is %s", lw_describe_type(f, type)),
                           "return a number or a string that stands for it, or a member of an "
                           "enum class",
                           "a type, function or module cannot be a result");
    if (f->run->typed->options.returns_arrays)
        return LW_OK;
    if (lw_has_text(f, type))
        return lw_complain(
            f, loc, "E154", lw_format_text(f, "this is %s", describe_result(f, type)),
            "return a number that stands for it; functions of `njit` that are called on the "
            "host may return strings",
            "a result that is not a number");
    if (lw_has_member(f, type))
        return lw_complain(
            f, loc, "E183", lw_format_text(f, "this is %s", lw_describe_type(f, type)),
            "return its `.value`, or use an `enum.IntEnum`, whose members are numbers",
            "a member of an enum class cannot be a result here");
    if (lw_has_grown(f, type))
        return lw_complain(f, loc, "E183",
                           lw_format_text(f, "this is %s", lw_describe_type(f, type)),
                           "return numbers; functions of `njit` return lists, dicts and sets",
                           "a %s cannot be a result", lw_class_by_value(f, type)->name);
    if (has_memory(f, type))
        return lw_complain(
            f, loc, "E183", lw_format_text(f, "this is %s", lw_describe_type(f, type)),
            "return numbers: elements, fields", "an array or record cannot be a result");
    return LW_OK;
}

/* What may be None where the result must not be: variables and calls, of which an `is None` may
 * have been asked before. */
static lw_status
return_given(lw_infer_frame *f, uint32_t node, lw_infer_value *value)
{
    lw_node_kind kind = (lw_node_kind)lw_node_of(f, node)->kind;
    lw_type type = value->type;

    lw_unwrap(f, node, value);
    if (value->type == type || kind == LW_NODE_NAME || kind == LW_NODE_CALL)
        return LW_OK;
    return lw_complain(f, lw_node_of(f, node)->loc, "E112",
                       lw_format_text(f, "this is %s", lw_describe_type(f, type)),
                       "return a number there, such as NaN",
                       "a value on one path, nothing on another");
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
            LW_TRY(return_given(f, n->a, &value));
        if (f->caller == NULL)
            value.type = lw_without_known_members(f, lw_by_value(f, value.type));
        LW_TRY(lw_check_kept(f, lw_node_of(f, n->a)->loc, value.type));
        LW_TRY(check_returned(f, lw_node_of(f, n->a)->loc, value.type));
        LW_TRY(check_entry_returned(f, n->a, value.type));
    }
    slot = lw_array_push(&f->returns, f->run->arena);
    kept = lw_array_push(&f->return_nodes, f->run->arena);
    if (slot == NULL || kept == NULL)
        return lw_out_of_memory(f);
    *slot = value;
    *kept = node;
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

    LW_TRY(lw_infer_condition(f, n->a, &truth, &yes, NULL));
    f->nodes[node].truth = (int8_t)truth;
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
 * suit it. They are known now, so this is E120 of the call. */
static bool
refuses_types(lw_infer_frame *f, uint32_t exception)
{
    return f->fn->of_package &&
           strcmp(lw_constant_of(f, exception)->text, "lanewise.errors:TypingError") == 0;
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

    if (refuses_types(f, n->a))
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
    f->now.live = false;
fail:
    return status;
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

    f->nodes[body].dead = false;
    LW_TRY(lw_enter(f, body));
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t statement = f->run->tree->lists.data[n->b + i];

        f->nodes[statement].dead = !f->now.live;
        if (!f->now.live)
            continue;
        LW_TRY(lw_infer_statement(f, statement));
        lw_settle_alias(f);
    }
    assert(f->run->depth > 0); /* lw_enter */
    f->run->depth--;
fail:
    return status;
}
