/* If-conversion: an `if` whose arms only compute is evaluated on both sides, and the results
 * are selected. Loops over the function can then be vectorised on the host, and on a GPU it
 * costs nothing that divergence would not. Nothing that is converted may raise or trap; calls
 * of the user's functions may be converted if these are straight-line code themselves. */
#include "core/front/lower/lower_internal.h"

#include <assert.h>

static uint32_t
sum(uint32_t x, uint32_t y)
{
    return x >= LW_COST_NEVER || y >= LW_COST_NEVER ? LW_COST_NEVER : x + y;
}

/* ---- cost of expressions ---- */

/* A negative int beside a uint64. */
static bool
raises_for_sign(const lw_lower_frame *f, uint32_t node)
{
    return f->can_raise && f->l->signs != NULL && lw_mixes_signs(f->l, f->inst, node);
}

static uint32_t
cost_operator(lw_lower_frame *f, uint32_t node, lw_pyop op, uint32_t exponent)
{
    lw_type operand = lw_typed_at(f, node)->operand;
    bool integer = lw_type_is_integer(f->l->types, operand);
    uint32_t factor = lw_parts_of(f->l->types, operand) == 2 ? 4 : 1;

    if (f->l->typed->options.checks && f->can_raise)
        return LW_COST_NEVER;
    switch (op) {
    case LW_PY_DIV: return 4 * factor;
    case LW_PY_FLOORDIV:
    case LW_PY_MOD: return integer ? 12 : 40; /* floats: fmod is a call on the host */
    case LW_PY_POW:
        if (exponent && lw_typed_at(f, exponent)->constant)
            return 12 * factor;
        return integer || factor > 1 ? LW_COST_NEVER : 24; /* loops */
    default: return factor;
    }
}

static uint32_t
cost_entry(lw_lower_frame *f, uint32_t entry)
{
    assert((entry & LW_ARG_TAG) != 0 || entry < f->l->tree->nodes.n);
    uint32_t k = entry & ~(uint32_t)LW_ARG_TAG, cost = 0;
    const uint32_t *lists = f->l->typed->lists.data;

    assert((entry & LW_ARG_TAG) == 0 || k < f->l->typed->lists.n ||
           (entry & LW_ARG_TAG) >= LW_ARG_WEB);
    switch (entry & LW_ARG_TAG) {
    case 0: return entry ? lw_cost_expression(f, entry) : 0;
    case LW_ARG_ELEMENT: return lw_cost_expression(f, lists[k]);
    case LW_ARG_PACK:
        for (uint32_t i = 0; i < lists[k]; i++)
            cost = sum(cost, cost_entry(f, lists[k + 1 + i]));
        return cost;
    default: return 0;
    }
}

static uint32_t
cost_arguments(lw_lower_frame *f, uint32_t call)
{
    const lw_typed_node *t = lw_typed_at(f, call);
    uint32_t cost = 0;

    for (uint32_t i = 0; i < t->n_args; i++)
        cost = sum(cost, cost_entry(f, f->l->typed->lists.data[t->args + i]));
    return cost;
}

/* The cost of a callee is the number of instructions it was lowered to; loops may take any
 * time. */
static uint32_t
cost_instance(lw_lower_frame *f, uint32_t instance, bool makes)
{
    if (lw_instance_raises(f->l, instance) ||
        f->l->typed->instances.data[instance].n_changed > makes)
        return LW_COST_NEVER;
    uint32_t number = lw_lower_instance(f->l, instance);
    if (number >= f->l->module->funcs.n)
        return LW_COST_NEVER;
    const lw_func *func = f->l->module->funcs.data[number];
    for (uint32_t i = 1; i < func->insts.n; i++) {
        uint16_t op = func->insts.data[i].op;
        if (op == LW_OP_LOOP || (lw_ops[op].class == LW_CLASS_WRITE && op != LW_OP_SET) ||
            (lw_ops[op].class == LW_CLASS_READ && op != LW_OP_GET)) /* may not exist */
            return LW_COST_NEVER;
    }
    return func->insts.n;
}

/* Whether the object that the call changes is its value. */
static bool
makes_object(const lw_lower_frame *f, const lw_typed_node *t)
{
    const lw_instance *callee = &f->l->typed->instances.data[t->target];

    return callee->n_changed > 0 &&
           f->l->typed->lists.data[t->args + t->n_args] == LW_CHANGED_VALUE;
}

static uint32_t
cost_call(lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    uint32_t cost = cost_arguments(f, node);

    if (cost >= LW_COST_NEVER)
        return cost;
    switch (t->call) {
    case LW_CALL_INSTANCE: return sum(cost, cost_instance(f, t->target, makes_object(f, t)));
    case LW_CALL_CAST:
    case LW_CALL_VIEW: return cost + 1;
    case LW_CALL_NAMED:
    case LW_CALL_METHOD: return sum(cost, lw_cost_named(f, node));
    default: return LW_COST_NEVER;
    }
}

static uint32_t
cost_list(lw_lower_frame *f, uint32_t start, uint32_t n)
{
    uint32_t cost = n;

    for (uint32_t i = 0; i < n; i++)
        if (!lw_typed_at(f, lw_list_at(f, start + i))->dead)
            cost = sum(cost, lw_cost_expression(f, lw_list_at(f, start + i)));
    return cost;
}

/* An element of a constant table: bringing the index into range, and a load. */
enum { COST_TABLE = 8 };

static uint32_t
cost_subscript(lw_lower_frame *f, const lw_node *n)
{
    lw_type_kind kind = lw_type_kind_of(f->l->types, lw_typed_at(f, n->a)->type);

    if (kind == LW_TK_ARRAY && lw_typed_at(f, n->a)->constant && !f->l->typed->options.checks &&
        !f->l->guards)
        return sum(COST_TABLE,
                   lw_cost_expression(f, n->b)); /* it is always an element of the table */
    if (kind == LW_TK_ARRAY || kind == LW_TK_RECORD)
        return LW_COST_NEVER; /* may not exist */
    uint32_t cost = lw_cost_expression(f, n->a);

    if (lw_node_at(f, n->b)->kind == LW_NODE_SLICE || lw_typed_at(f, n->b)->constant)
        return cost;
    if ((f->l->typed->options.checks || f->l->guards) && f->can_raise)
        return LW_COST_NEVER;
    return sum(cost, sum(lw_cost_expression(f, n->b),
                         2 * lw_parts_of(f->l->types, lw_typed_at(f, n->a)->type)));
}

static uint32_t
cost_attribute(lw_lower_frame *f, const lw_node *n)
{
    lw_type_kind kind = lw_type_kind_of(f->l->types, lw_typed_at(f, n->a)->type);
    uint32_t cost = lw_cost_expression(f, n->a);

    return kind == LW_TK_RECORD ? LW_COST_NEVER : kind == LW_TK_ARRAY ? sum(cost, 4) : cost;
}

static uint32_t cost_kind(lw_lower_frame *f, uint32_t node);

uint32_t
lw_cost_expression(lw_lower_frame *f, uint32_t node)
{
    uint32_t asks = node ? lw_typed_at(f, node)->asks : 0;

    return asks ? sum(cost_kind(f, node), cost_instance(f, asks, false)) : cost_kind(f, node);
}

static uint32_t
cost_kind(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);

    if (node == 0 || lw_typed_at(f, node)->constant)
        return 0;
    if (lw_typed_at(f, node)->stops)
        return LW_COST_NEVER;
    if (raises_for_sign(f, node) || lw_typed_at(f, node)->unwraps ||
        lw_typed_at(f, node)->unbound)
        return LW_COST_NEVER;
    if (lw_typed_at(f, node)->element != LW_T_BOTTOM)
        return LW_COST_NEVER; /* a new array */
    if (lw_lower_calls_method(f, node))
        return cost_call(f, node);
    switch (n->kind) {
    case LW_NODE_CONSTANT:
    case LW_NODE_NAME:
    case LW_NODE_LAMBDA: return 0;
    case LW_NODE_UNARY:
        return sum(f->l->typed->options.checks && f->can_raise ? LW_COST_NEVER : 1,
                   lw_cost_expression(f, n->a));
    case LW_NODE_LINK:
    case LW_NODE_STAR: return lw_cost_expression(f, n->a);
    case LW_NODE_ARG_KEYWORD: return lw_cost_expression(f, n->b);
    case LW_NODE_ATTRIBUTE: return cost_attribute(f, n);
    case LW_NODE_BINARY:
        return sum(cost_operator(f, node, (lw_pyop)n->op, n->b),
                   sum(lw_cost_expression(f, n->a), lw_cost_expression(f, n->b)));
    case LW_NODE_COMPARE: return sum(lw_cost_expression(f, n->a), cost_list(f, n->b, n->c));
    case LW_NODE_BOOLOP:
    case LW_NODE_TUPLE: return cost_list(f, n->b, n->c);
    case LW_NODE_IFEXP:
        return sum(lw_cost_expression(f, n->a),
                   sum(lw_typed_at(f, n->b)->dead ? 0 : lw_cost_expression(f, n->b),
                       lw_typed_at(f, n->c)->dead ? 0 : lw_cost_expression(f, n->c)));
    case LW_NODE_CALL: return cost_call(f, node);
    case LW_NODE_SUBSCRIPT: return cost_subscript(f, n);
    default: return LW_COST_NEVER;
    }
}

/* ---- cost of statements ---- */

/* A field of an object, which is part of a variable. */
static bool
is_field(const lw_lower_frame *f, uint32_t target)
{
    return lw_is_object_target(f, target) && lw_typed_at(f, target)->call == LW_CALL_NONE;
}

static bool
is_plain_target(lw_lower_frame *f, uint32_t target)
{
    const lw_node *n = lw_node_at(f, target);

    if (n->kind != LW_NODE_TUPLE)
        return n->kind == LW_NODE_NAME || is_field(f, target);
    for (uint32_t i = 0; i < n->c; i++)
        if (!is_plain_target(f, lw_list_at(f, n->b + i)))
            return false;
    return true;
}

static uint32_t cost_body(lw_lower_frame *f, uint32_t body);

static uint32_t
cost_if(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    int8_t truth = lw_typed_at(f, n->a)->truth;
    uint32_t cost = lw_cost_expression(f, n->a);

    if (truth != 0)
        cost = sum(cost, cost_body(f, n->b));
    if (truth != 1 && n->c && cost <= LW_COST_IF_CONVERSION)
        cost = sum(cost, cost_body(f, n->c));
    return cost;
}

static uint32_t
cost_statement(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);

    if (lw_typed_at(f, node)->dead)
        return 0;
    if (lw_typed_at(f, node)->stops)
        return LW_COST_NEVER;
    switch (n->kind) {
    case LW_NODE_PASS: return 0;
    case LW_NODE_ASSIGN:
        if (lw_typed_at(f, node)->call == LW_CALL_INSTANCE)
            return LW_COST_NEVER;
        for (uint32_t i = 0; i < n->c; i++)
            if (!is_plain_target(f, lw_list_at(f, n->b + i)))
                return LW_COST_NEVER;
        return sum(1, lw_cost_expression(f, n->a));
    case LW_NODE_AUGASSIGN:
        if ((lw_node_at(f, n->a)->kind != LW_NODE_NAME && !is_field(f, n->a)) ||
            raises_for_sign(f, node) || lw_typed_at(f, n->a)->unwraps ||
            lw_typed_at(f, n->a)->unbound)
            return LW_COST_NEVER;
        if (lw_lower_calls_method(f, node))
            return sum(1, cost_call(f, node));
        return sum(cost_operator(f, node, (lw_pyop)n->op, n->b), lw_cost_expression(f, n->b));
    case LW_NODE_ANNASSIGN:
        if (!is_plain_target(f, n->a))
            return LW_COST_NEVER;
        return n->c ? sum(1, lw_cost_expression(f, n->c)) : 0;
    case LW_NODE_IF: return cost_if(f, node);
    default: return LW_COST_NEVER;
    }
}

/* Counting stops just beyond LW_COST_IF_CONVERSION, in all functions that add up statements:
 * every `if` asks for the cost of what follows it, so that a long body would otherwise be
 * examined once for each of them. */
static uint32_t
cost_body(lw_lower_frame *f, uint32_t body)
{
    const lw_node *n = lw_node_at(f, body);
    uint32_t cost = 0;

    for (uint32_t i = 0; i < n->c && cost <= LW_COST_IF_CONVERSION; i++)
        cost = sum(cost, cost_statement(f, lw_list_at(f, n->b + i)));
    return cost;
}

/* ---- both arms of an if ---- */

static const lw_pending *
pending_in(const lw_pending *list, uint32_t n, uint32_t web)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i].web == web)
            return &list[i];
    return NULL;
}

/* Lower an arm and return its assignments, which are not written. */
static lw_pending *
converted_arm(lw_lower_frame *f, uint32_t body, uint32_t *n)
{
    uint32_t outer = f->arm_start, start = f->pending.n;
    lw_pending *taken;

    f->converted_arms++;
    f->arm_start = start;
    if (body)
        lw_lower_body(f, body);
    assert(f->converted_arms > 0 && f->pending.n >= start);
    f->converted_arms--;
    f->arm_start = outer;
    *n = f->pending.n - start;
    taken = lw_arena_take(f->l->arena, (*n + 1) * sizeof *taken);
    if (taken == NULL)
        *n = 0;
    for (uint32_t i = 0; i < *n; i++)
        taken[i] = f->pending.data[start + i];
    f->pending.n = start;
    return taken;
}

static void
choose_web(lw_lower_frame *f, lw_ref condition, uint32_t web, const lw_pending *yes,
           const lw_pending *no)
{
    lw_lower_value if_true = yes ? yes->value : lw_lower_web_read(f, web);
    lw_lower_value if_false = no ? no->value : lw_lower_web_read(f, web);

    lw_lower_web_choose(f, web, lw_value_select(f, condition, if_true, if_false));
}

static void
convert_if(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    lw_ref condition = lw_lower_condition(f, n->a);
    uint32_t n_yes, n_no;
    const lw_pending *yes = converted_arm(f, n->b, &n_yes), *no = converted_arm(f, n->c, &n_no);

    lw_lower_set_loc(f, node);
    for (uint32_t i = 0; i < n_yes; i++)
        choose_web(f, condition, yes[i].web, &yes[i], pending_in(no, n_no, yes[i].web));
    for (uint32_t i = 0; i < n_no; i++)
        if (!pending_in(yes, n_yes, no[i].web))
            choose_web(f, condition, no[i].web, NULL, &no[i]);
}

bool
lw_lower_if_converted(lw_lower_frame *f, uint32_t node)
{
    assert(lw_node_at(f, node)->kind == LW_NODE_IF);
    const lw_node *n = lw_node_at(f, node);
    uint32_t cost = sum(cost_body(f, n->b), n->c ? cost_body(f, n->c) : 0);

    if (f->converted_arms == 0 &&
        (cost > LW_COST_IF_CONVERSION || f->l->typed->options.variables || f->changing != NULL))
        return false;
    convert_if(f, node);
    return true;
}

/* ---- returns ---- */

/* The cost of straight-line code that ends in RETURN on every path: `if x < 0: return a` and
 * the statements after it. */
static uint32_t
cost_tail(lw_lower_frame *f, uint32_t body, uint32_t index)
{
    const lw_node *n = lw_node_at(f, body);
    uint32_t cost = 0;

    for (uint32_t i = index; i < n->c && cost <= LW_COST_IF_CONVERSION; i++) {
        uint32_t statement = lw_list_at(f, n->b + i), plain;
        const lw_node *s = lw_node_at(f, statement);
        if (lw_typed_at(f, statement)->dead)
            continue;
        if (lw_typed_at(f, statement)->stops)
            return LW_COST_NEVER;
        if (s->kind == LW_NODE_RETURN)
            return s->a ? sum(cost, lw_cost_expression(f, s->a)) : LW_COST_NEVER;
        plain = cost_statement(f, statement);
        if (plain >= LW_COST_NEVER && s->kind == LW_NODE_IF &&
            lw_typed_at(f, s->a)->truth < 0) {
            uint32_t rest = s->c ? cost_tail(f, s->c, 0) : cost_tail(f, body, i + 1);
            cost = sum(cost, lw_cost_expression(f, s->a));
            return sum(cost, sum(cost_tail(f, s->b, 0), rest));
        }
        cost = sum(cost, plain);
    }
    return LW_COST_NEVER; /* a path reaches the end without a value */
}

static lw_lower_value tail_value(lw_lower_frame *f, uint32_t body, uint32_t index);

static lw_lower_value
tail_arm(lw_lower_frame *f, uint32_t body, uint32_t index)
{
    uint32_t outer = f->arm_start, start = f->pending.n;

    f->converted_arms++;
    f->arm_start = start;
    lw_lower_value value = tail_value(f, body, index);
    assert(f->converted_arms > 0 && f->pending.n >= start);
    f->converted_arms--;
    f->arm_start = outer;
    f->pending.n = start;
    return value;
}

static lw_lower_value
tail_value(lw_lower_frame *f, uint32_t body, uint32_t index)
{
    const lw_node *n = lw_node_at(f, body);

    for (uint32_t i = index; i < n->c; i++) {
        uint32_t statement = lw_list_at(f, n->b + i);
        const lw_node *s = lw_node_at(f, statement);
        if (lw_typed_at(f, statement)->dead)
            continue;
        if (s->kind == LW_NODE_RETURN)
            return lw_lower_as(f, s->a, f->inst->result);
        if (cost_statement(f, statement) >= LW_COST_NEVER) { /* an `if` that returns */
            lw_ref condition = lw_lower_condition(f, s->a);
            lw_lower_value yes = tail_arm(f, s->b, 0);
            lw_lower_value no = s->c ? tail_arm(f, s->c, 0) : tail_arm(f, body, i + 1);
            lw_lower_set_loc(f, statement);
            return lw_value_select(f, condition, yes, no);
        }
        lw_lower_statement(f, statement);
    }
    return lw_lower_fail(f, body, "a path without a value");
}

bool
lw_lower_tail_converted(lw_lower_frame *f, uint32_t body, uint32_t index)
{
    assert(lw_node_at(f, body)->kind == LW_NODE_BODY);
    if (f->converted_arms != 0 || f->regions != 0 || f->inst->falls_off ||
        f->inst->n_changed != 0 || f->l->typed->options.variables ||
        cost_tail(f, body, index) > LW_COST_IF_CONVERSION)
        return false;
    lw_lower_return(f, 0, tail_arm(f, body, index));
    return true;
}
