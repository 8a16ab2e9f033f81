/* Statements: what they bind, how control continues, and what is never reached. `now`
 * (lw_flow) is the state behind the statement; a statement that cannot be reached is marked
 * dead and is not typed. Loops are walked with the states that earlier walks found at the end
 * of their bodies. */
#include "core/front/infer/infer_internal.h"
#include "core/front/records.h"

#include <assert.h>
#include <string.h>

/* ---- assignment ---- */

/* a, b, c = p[j]: the items of an array, whose number is compared at run time. */
static lw_status
assign_items(lw_infer_frame *f, uint32_t target, lw_type array)
{
    const lw_node *n = lw_node_of(f, target);
    lw_infer_value item = {LW_T_BOTTOM, 0};
    int64_t count = -1;
    lw_status status;

    LW_TRY(lw_infer_array_items(f, target, array, &item.type, &count));
    if (count >= 0 && count != n->c)
        return lw_complain(f, n->loc, "E153",
                           lw_format_text(f, "%u target%s here, the array has %lld item%s",
                                          n->c, n->c == 1 ? "" : "s", (long long)count,
                                          count == 1 ? "" : "s"),
                           NULL, "wrong number of values to unpack");
    f->can_raise |= count < 0 && !f->run->typed->options.ignore_errors;
    f->nodes[target].operand = item.type;
    for (uint32_t i = 0; i < n->c; i++)
        LW_TRY(lw_assign(f, f->run->tree->lists.data[n->b + i], item));
fail:
    return status;
}

/* What is unpacked: the tuple that `__iter__` of an object gives, and elements of arrays by
 * value. BOTTOM: it is not known yet. */
static lw_status
unpacked_value(lw_infer_frame *f, uint32_t target, lw_infer_value *value)
{
    bool found;
    lw_status status = LW_OK;

    value->type = lw_record_items(lw_types_of(f), value->type);
    if (lw_class_of(f, value->type) == NULL)
        return LW_OK;
    LW_TRY(lw_infer_object_items(f, target, *value, &found, value));
    if (found && f->nodes[target].asks == 0)
        *value = (lw_infer_value){LW_T_BOTTOM, 0};
fail:
    return status;
}

/* *name, for `count` items from number `at`: a list, whatever is unpacked. */
static lw_status
assign_star(lw_infer_frame *f, uint32_t target, lw_infer_value value, uint32_t at,
            uint32_t count)
{
    lw_type *types = lw_arena_take(f->run->arena, (count + 1) * sizeof *types);
    lw_infer_value rest = {LW_T_BOTTOM, 0};

    if (types == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < count; i++)
        types[i] = lw_element(f, value, at + i).type;
    if (lw_tuple_row(f, value.type))
        rest.type = lw_type_tuple_listed(
            lw_types_of(f), lw_type_tuple(lw_types_of(f), types, count, NULL), true);
    return lw_assign(f, lw_node_of(f, target)->a, rest);
}

static lw_status
assign_tuple(lw_infer_frame *f, uint32_t target, lw_infer_value value)
{
    const lw_node *n = lw_node_of(f, target);
    const uint32_t *items = f->run->tree->lists.data + n->b;
    const lw_type_row *row;
    uint32_t n_values, n_fixed = n->c, star = n->c, at = 0;
    lw_status status = LW_OK;

    LW_TRY(unpacked_value(f, target, &value));
    row = lw_tuple_row(f, value.type);
    n_values = row ? row->n : 0;
    for (uint32_t i = 0; i < n->c; i++)
        if (lw_node_of(f, items[i])->kind == LW_NODE_STAR) {
            star = i;
            n_fixed = n->c - 1;
        }
    if (lw_array_row(f, value.type) && star == n->c)
        return assign_items(f, target, value.type);
    if (value.type != LW_T_BOTTOM && row == NULL)
        return lw_complain(
            f, n->loc, "E120",
            lw_format_text(f, "the value is %s", lw_describe_value(f, value)),
            lw_array_row(f, value.type) ? "name each item, or take slices: `rest = row[1:]`"
                                        : NULL,
            lw_array_row(f, value.type) ? "an array cannot be unpacked with `*`"
                                        : "only a tuple or an array can be unpacked");
    if (row && (star == n->c ? n_values != n_fixed : n_values < n_fixed))
        return lw_complain(f, n->loc, "E153",
                           lw_format_text(f, "%u target%s here, the tuple has %u items",
                                          n_fixed, n_fixed == 1 ? "" : "s", n_values),
                           NULL, "wrong number of values to unpack");
    for (uint32_t i = 0; i < n->c; i++) {
        lw_infer_value one = {LW_T_BOTTOM, 0};

        if (i == star) {
            uint32_t count = row ? n_values - n_fixed : 0;
            LW_TRY(assign_star(f, items[i], value, at, count));
            at += count;
            continue;
        }
        if (row)
            one = lw_element(f, value, at++);
        LW_TRY(lw_assign(f, items[i], one));
    }
fail:
    return status;
}

lw_status
lw_assign(lw_infer_frame *f, uint32_t target, lw_infer_value value)
{
    const lw_node *n = lw_node_of(f, target);
    lw_note outer;
    lw_status status;

    switch ((lw_node_kind)n->kind) {
    case LW_NODE_NAME:
        if (!(n->flags & LW_NODE_STORE))
            break;
        LW_TRY(lw_define(f, n->a, target, value));
        lw_take(f, n->a, value.type, &f->incoming);
        return LW_OK;
    case LW_NODE_TUPLE:
        outer = f->incoming;
        f->incoming = (lw_note){.fresh = outer.fresh == 2 ? 2 : 0};
        status = assign_tuple(f, target, value);
        f->incoming = outer;
        return status;
    case LW_NODE_SUBSCRIPT:
    case LW_NODE_ATTRIBUTE: return lw_infer_store(f, target, value);
    case LW_NODE_ERROR: return lw_complain_kept(f, n->a);
    default: break;
    }
    return lw_complain(f, n->loc, "E101", NULL, NULL, "this cannot be assigned to");
fail:
    return status;
}

/* In `a, mode = x, "fast"` the parts keep what is known of each. */
static lw_status
assign_parts(lw_infer_frame *f, uint32_t target, uint32_t source, lw_infer_value value)
{
    const lw_node *t = lw_node_of(f, target), *s = lw_node_of(f, source);
    const uint32_t *lists = f->run->tree->lists.data;
    bool plain = t->kind == LW_NODE_TUPLE && s->kind == LW_NODE_TUPLE && t->c == s->c &&
                 (value.type == LW_T_BOTTOM || lw_tuple_row(f, value.type) != NULL);
    lw_status status = LW_OK;

    for (uint32_t i = 0; plain && i < t->c; i++)
        plain = lw_node_of(f, lists[t->b + i])->kind != LW_NODE_STAR &&
                lw_node_of(f, lists[s->b + i])->kind != LW_NODE_STAR;
    if (!plain) {
        f->source = source;
        if (f->notes != NULL)
            f->incoming = f->notes[source];
        status = lw_assign(f, target, value);
        f->source = 0;
        f->incoming = (lw_note){0};
        return status;
    }
    for (uint32_t i = 0; i < t->c; i++) {
        uint32_t part = lists[s->b + i];
        lw_infer_value one = {f->nodes[part].type, f->nodes[part].constant};
        LW_TRY(assign_parts(f, lists[t->b + i], part, one));
    }
fail:
    return status;
}

/* Whether an array expression may be assigned to the target. */
static bool
may_take_arrays(lw_infer_frame *f, uint32_t target)
{
    lw_node_kind kind = (lw_node_kind)lw_node_of(f, target)->kind;

    return kind == LW_NODE_SUBSCRIPT || kind == LW_NODE_ATTRIBUTE;
}

/* How often the variable stands in a list. */
static uint32_t
count_in(lw_infer_frame *f, const lw_node *list, uint32_t var)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < list->c; i++) {
        const lw_node *one = lw_node_of(f, f->run->tree->lists.data[list->b + i]);
        n += one->kind == LW_NODE_NAME && one->a == var;
    }
    return n;
}

/* p, q = q, p: each variable that is read is given another value, so that no object gets a
 * second name. */
static bool
is_exchange(lw_infer_frame *f, const lw_node *assign)
{
    const lw_node *target = lw_node_of(f, f->run->tree->lists.data[assign->b]);
    const lw_node *source = lw_node_of(f, assign->a);
    bool moves = f->notes && assign->c == 1 && target->kind == LW_NODE_TUPLE &&
                 source->kind == LW_NODE_TUPLE;

    for (uint32_t i = 0; moves && i < source->c; i++) {
        const lw_node *one = lw_node_of(f, f->run->tree->lists.data[source->b + i]);
        moves = one->kind == LW_NODE_NAME && count_in(f, target, one->a) == 1 &&
                count_in(f, source, one->a) == 1;
    }
    return moves;
}

/* p = q = C(1): each target has another name for the value. */
static void
share(lw_infer_frame *f, uint32_t node)
{
    if (f->notes != NULL)
        f->notes[node] = (lw_note){0};
}

/* object[index] = value by an overload: the statement is its call. */
static lw_status
infer_overloaded_store(lw_infer_frame *f, uint32_t node, uint32_t target, bool *found)
{
    const lw_node *t = lw_node_of(f, target);
    uint32_t value = lw_node_of(f, node)->a;
    lw_arg args[3] = {{.node = t->a, .entry = t->a},
                      {.node = t->b, .entry = t->b},
                      {.node = value, .entry = value}};
    lw_infer_value result = {LW_T_BOTTOM, 0};
    lw_flow before = {0};
    uint32_t held[3] = {0};
    lw_status status = LW_OK;
    bool prefers;

    *found = false;
    if (t->kind != LW_NODE_SUBSCRIPT || lw_node_of(f, t->b)->kind == LW_NODE_SLICE ||
        lw_overloaded_operator("__setitem__", &prefers) == NULL)
        return LW_OK;
    if (f->run->assigns_inside && !lw_flow_take(f, &before))
        return lw_out_of_memory(f);
    for (int i = 0; i < 3; i++) {
        LW_TRY(lw_infer_borrowed(f, args[i].node, &args[i].value));
        if (i == 0 && lw_class_of(f, args[0].value.type) == NULL)
            goto fail;
        held[i] = lw_hold(f, args[i].node);
    }
    for (int i = 0; i < 3; i++)
        lw_unhold(f, held[i]);
    LW_TRY(lw_infer_overloaded_operator(f, node, "__setitem__", args, 3, found, &result));
    f->nodes[node].type = result.type;
fail:
    if (before.reach && status == LW_OK && !*found)
        lw_flow_set(f, &before); /* it is inferred again, as another assignment */
    lw_flow_put(f, &before);
    return status;
}

static lw_status
infer_assign(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value value;
    lw_status status;
    uint32_t only = n->c == 1 ? f->run->tree->lists.data[n->b] : 0;
    bool found = false;

    if (only != 0)
        LW_TRY(infer_overloaded_store(f, node, only, &found));
    if (found)
        return LW_OK;
    if (only && may_take_arrays(f, only)) {
        f->borrowed = lw_node_of(f, only)->kind == LW_NODE_SUBSCRIPT; /* it is copied there */
        LW_TRY(lw_infer_operand_expr(f, n->a, &value));
    } else if (is_exchange(f, n))
        LW_TRY(lw_infer_moved(f, n->a, &value));
    else
        LW_TRY(lw_infer_expr(f, n->a, &value));
    if (n->c > 1)
        share(f, n->a);
    for (uint32_t i = 0; i < n->c; i++)
        LW_TRY(assign_parts(f, f->run->tree->lists.data[n->b + i], n->a, value));
fail:
    return status;
}

static lw_status
infer_augassign(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node), *target = lw_node_of(f, n->a);
    lw_typed_node *typed = &f->nodes[n->a];
    lw_infer_value x, y, result = {LW_T_BOTTOM, 0};
    lw_arg before = {.node = n->a};
    lw_status status;
    uint32_t held;
    bool found;

    if (target->kind == LW_NODE_SUBSCRIPT || target->kind == LW_NODE_ATTRIBUTE)
        return lw_infer_augmented_store(f, node);
    if (target->kind != LW_NODE_NAME || !(target->flags & LW_NODE_STORE))
        return lw_assign(f, n->a, (lw_infer_value){LW_T_BOTTOM, 0}); /* it is reported */
    LW_TRY(lw_use(f, target->a, target->loc, &x, &typed->target));
    typed->operand = typed->type = x.type;
    typed->constant = x.constant;
    held = lw_hold(f, n->a);
    status = lw_infer_borrowed(f, n->b, &y);
    lw_unhold(f, held);
    LW_TRY(status);
    if (lw_array_row(f, x.type) && lw_is_elementwise(f, x.type)) /* the name stays what it is */
        return y.type != LW_T_BOTTOM ? lw_infer_augmented_array(f, node, x, y) : LW_OK;
    if (lw_type_kind_of(lw_types_of(f), y.type) == LW_TK_ELEMENTWISE)
        return lw_complain_new_array(f, n->b, y.type);
    before.value = x;
    before.entry = x.constant ? LW_ARG_CONSTANT | x.constant : LW_ARG_WEB | typed->target;
    LW_TRY(lw_infer_object_binary(f, node, (lw_pyop)n->op, before,
                                  (lw_arg){.node = n->b, .entry = n->b, .value = y}, &found,
                                  &result));
    if (!found)
        LW_TRY(lw_infer_binary(f, node, (lw_pyop)n->op, (lw_infer_operand){n->a, x},
                               (lw_infer_operand){n->b, y}, &result));
    f->nodes[node].type = result.type;
    f->nodes[node].constant = result.constant;
    if (!found && lw_holds_objects(f, result.type)) /* of tuples */
        lw_lose_node(f, n->b);
    LW_TRY(lw_define(f, target->a, n->a, result));
    if (found && f->notes != NULL)
        lw_take(f, target->a, result.type, &f->notes[node]);
fail:
    return status;
}

/* self.x: float32 = v: the value is converted. dtype void: the annotation is a hint. */
static lw_status
annotated_field(lw_infer_frame *f, uint32_t node, lw_dtype dtype)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value value;
    lw_status status = LW_OK;

    if (n->c == 0)
        return LW_OK;
    LW_TRY(lw_infer_expr(f, n->c, &value));
    if (dtype != LW_DT_void && value.type != LW_T_BOTTOM) {
        LW_TRY(lw_check_value(f, n->c, value.type, dtype, "field"));
        value = (lw_infer_value){dtype, 0};
    }
    f->source = n->c;
    if (f->notes != NULL)
        f->incoming = f->notes[n->c];
    LW_TRY(lw_assign(f, n->a, value));
fail:
    f->source = 0;
    f->incoming = (lw_note){0};
    return status;
}

/* The type of a variable with this annotation: a number, or a tuple of such types; BOTTOM: it
 * fixes none. */
static lw_type
annotated_type(lw_infer_frame *f, const lw_sig_type *annotation)
{
    lw_type *items;

    if (annotation->kind == LW_SIG_SCALAR)
        return (lw_type)annotation->dtype;
    if (annotation->kind != LW_SIG_TUPLE)
        return LW_T_BOTTOM;
    items = lw_arena_take(f->run->arena, (annotation->n + 1) * sizeof *items);
    for (uint32_t i = 0; items && i < annotation->n; i++)
        items[i] = annotated_type(f, &annotation->items[i]);
    return items ? lw_type_tuple(lw_types_of(f), items, annotation->n, NULL) : LW_T_BOTTOM;
}

/* An annotation with a type of ours or NumPy's fixes the variable's type. Python's own (`x:
 * float`) are hints for readers, as in Python. */
static lw_status
infer_annassign(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node), *target = lw_node_of(f, n->a);
    const lw_sig_type annotation = lw_type_of_annotation(f, n->b);
    lw_type pinned = annotated_type(f, &annotation);
    lw_infer_value value;
    lw_status status = LW_OK;

    if (target->kind == LW_NODE_ATTRIBUTE)
        return annotated_field(
            f, node, annotation.kind == LW_SIG_SCALAR ? annotation.dtype : LW_DT_void);
    if (target->kind != LW_NODE_NAME || !(target->flags & LW_NODE_STORE))
        return lw_assign(f, n->a, (lw_infer_value){LW_T_BOTTOM, 0});
    if (pinned != LW_T_BOTTOM)
        LW_TRY(lw_pin(f, target->a, n->loc, pinned));
    if (n->c == 0)
        return LW_OK;
    LW_TRY(lw_infer_expr(f, n->c, &value));
    if (annotation.kind == LW_SIG_SCALAR)
        LW_TRY(lw_check_value(f, n->c, value.type, annotation.dtype, "variable"));
    else if (pinned != LW_T_BOTTOM)
        LW_TRY(lw_check_annotated(f, n->loc, &annotation, value.type));
    LW_TRY(lw_define(f, target->a, n->a, value));
    if (f->notes != NULL)
        lw_take(f, target->a, value.type, &f->notes[n->c]);
fail:
    return status;
}

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

    f->borrowed = true;
    LW_TRY(lw_infer_expr(f, n->b, &iterable));
    LW_TRY(lw_infer_items(f, n->b, iterable, &item, &count));
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
    f->region = outer;
    leave_for(f, &entry, count > 0);
    LW_TRY(loop_end(f, node, body->b, &loop));
fail:
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
    for (uint32_t i = 0; row->kind == LW_TK_TUPLE && i < row->n; i++)
        if (has_memory(f, row->elements[i]))
            return true;
    return false;
}

/* Whether it is an array of numbers, or a tuple of such arrays and of what has no memory. */
static bool
is_array_result(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);

    if (row == NULL || row->kind == LW_TK_ARRAY)
        return row == NULL || row->elements[0] < LW_N_DTYPES;
    for (uint32_t i = 0; row->kind == LW_TK_TUPLE && i < row->n; i++)
        if (!is_array_result(f, row->elements[i]))
            return false;
    return row->kind != LW_TK_RECORD;
}

/* Whether it is a text, a class, a function or a module, or a tuple with one: they exist only
 * while code is compiled. */
static bool
is_of_compile_time(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);

    if (type == LW_T_STATIC || (row && row->kind == LW_TK_FUNCTION))
        return true;
    for (uint32_t i = 0; row && row->kind == LW_TK_TUPLE && i < row->n; i++)
        if (is_of_compile_time(f, row->elements[i]))
            return true;
    return false;
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
            "write it into an array argument: `out[i] = ...`", "a kernel returns no value");
    if (lw_type_has_list(lw_types_of(f), type))
        return lw_complain(
            f, loc, "E183", lw_format_text(f, "this is %s", lw_describe_type(f, type)),
            "return a tuple, `return x, y`, or an array", "a list cannot be a result");
    if (f->run->typed->options.returns_arrays && is_of_compile_time(f, type))
        return lw_complain(
            f, loc, "E183", lw_format_text(f, "this is %s", lw_describe_type(f, type)),
            "return a number that stands for it, such as a member of an `enum.IntEnum`",
            "what exists only while code is compiled cannot be a result");
    if (f->run->typed->options.returns_arrays && is_array_result(f, type))
        return LW_OK;
    if (has_memory(f, type))
        return lw_complain(
            f, loc, "E183", lw_format_text(f, "this is %s", lw_describe_type(f, type)),
            "return numbers: elements, fields", "an array or record cannot be a result");
    return LW_OK;
}

static lw_status
infer_return(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value value = {LW_T_NONE, 0}, *slot;
    uint32_t *kept;
    lw_status status = LW_OK;

    if (n->a) {
        LW_TRY(lw_infer_returned(f, n->a, &value));
        if (f->caller == NULL)
            value.type = lw_by_value(f, value.type);
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

static lw_status
infer_raise(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value value;
    lw_status status = LW_OK;
    uint32_t n_words = 0;

    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t item = f->run->tree->lists.data[n->b + i];

        if (lw_node_of(f, item)->kind == LW_NODE_JOINED)
            LW_TRY(lw_infer_joined(f, item, &value));
        else
            LW_TRY(lw_infer_expr(f, item, &value));
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
    case LW_NODE_ASSIGN: return infer_assign(f, node);
    case LW_NODE_AUGASSIGN: return infer_augassign(f, node);
    case LW_NODE_ANNASSIGN: return infer_annassign(f, node);
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
