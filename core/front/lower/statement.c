/* Statements of the typed tree: variables and assignments, branches, loops, raise. A
 * web with one definition is a value, other webs are slots; inside if-converted arms
 * assignments wait in `pending`. Regions are counted, so that break and continue know how many
 * to leave. */
#include "core/front/lower/lower_internal.h"

#include "core/front/diagnose.h"

#include <assert.h>
#include <string.h>

/* ---- variables ---- */

static const lw_web *
web_at(const lw_lower_frame *f, uint32_t web)
{
    assert(web != 0 && web < f->inst->webs.n);
    return &f->inst->webs.data[web];
}

static const lw_ref *
slots_of(lw_lower_frame *f, uint32_t web)
{
    if (f->webs[web] == NULL)
        f->webs[web] = lw_value_slots(f, web_at(f, web)->type);
    return f->webs[web];
}

static lw_pending *
pending_of(lw_lower_frame *f, uint32_t web, uint32_t start)
{
    for (uint32_t i = f->pending.n; i-- > start;)
        if (f->pending.data[i].web == web)
            return &f->pending.data[i];
    return NULL;
}

/* A new value of a variable; before, lent: as of lw_lower_assigned. is_held: the caller holds
 * the value. */
static void
web_write(lw_lower_frame *f, uint32_t web, lw_lower_value value, const lw_ref *before,
          bool lent, bool is_held)
{
    value = lw_value_convert(f, value, web_at(f, web)->type);
    if (f->converted_arms == 0 && lw_type_is_owned(f->l->types, value.type)) {
        if (!is_held)
            f->owners[web] = lw_lower_assigned(f, f->owners[web], value, before, lent);
        else if (!web_at(f, web)->single || f->slotted[web])
            f->owners[web] = lw_lower_owners(f, value.type);
    }
    f->iterators[web] = value.iterator;
    if (value.iterator && !web_at(f, web)->single)
        lw_lower_fail(f, f->node, "a range in a variable that is assigned more than once");
    if (f->l->typed->options.variables && web_at(f, web)->var != 0)
        lw_lower_show(f, web, value);
    if (web_at(f, web)->single && !f->slotted[web]) {
        f->webs[web] = value.parts;
    } else if (f->converted_arms == 0) {
        lw_value_set(f, slots_of(f, web), value);
    } else {
        assert(f->arm_start <= f->pending.n); /* what waits in outer arms stays */
        lw_pending *pending = pending_of(f, web, f->arm_start);
        if (pending == NULL)
            pending = lw_array_push(&f->pending, f->l->arena);
        if (pending != NULL)
            *pending = (lw_pending){.web = web, .value = value};
        else
            f->l->module->failed = true;
    }
}

/* Stores whether the variable has a value, if some use asks for that. */
static void
note_bound(lw_lower_frame *f, uint32_t web, bool has_value)
{
    uint32_t bound = web_at(f, web)->bound;

    if (bound != 0)
        web_write(f, bound, lw_value_scalar(f, LW_DT_b1, lw_ir_int(&f->b, LW_DT_b1, has_value)),
                  NULL, false, false);
}

static void
assign_web(lw_lower_frame *f, uint32_t web, lw_lower_value value)
{
    web_write(f, web, value, NULL, false, false);
    note_bound(f, web, true);
}

void
lw_lower_web_choose(lw_lower_frame *f, uint32_t web, lw_lower_value value)
{
    web_write(f, web, value, NULL, false, false);
}

void
lw_lower_web_change(lw_lower_frame *f, uint32_t web, lw_lower_value value,
                    lw_lower_value before, bool lent)
{
    bool same_type =
        value.type == before.type && web_at(f, web)->type == before.type && value.n == before.n;

    assert(same_type || !lent);
    web_write(f, web, value, same_type ? before.parts : NULL, lent, false);
    note_bound(f, web, true);
}

/* The caller holds what it passes. The owners are there from the beginning, so that they are
 * not those of an iteration. */
void
lw_lower_web_bind(lw_lower_frame *f, uint32_t web, lw_lower_value value)
{
    web_write(f, web, value, NULL, false, true);
    note_bound(f, web, true);
}

lw_lower_value
lw_lower_web_read(lw_lower_frame *f, uint32_t web)
{
    lw_type type = web_at(f, web)->type;
    const lw_pending *pending;

    if (web_at(f, web)->single && !f->slotted[web]) {
        if (f->webs[web] == NULL && lw_parts_of(f->l->types, type) > 0)
            return lw_lower_fail(f, f->node, "a variable that has no value yet");
        return (lw_lower_value){.type = type,
                                .n = lw_parts_of(f->l->types, type),
                                .parts = f->webs[web],
                                .iterator = f->iterators[web]};
    }
    pending = pending_of(f, web, 0);
    return pending ? pending->value : lw_value_get(f, slots_of(f, web), type);
}

void
lw_lower_unbind(lw_lower_frame *f, uint32_t var)
{
    for (uint32_t web = 1; web < f->inst->webs.n; web++)
        if (web_at(f, web)->var == var)
            note_bound(f, web, false);
}

void
lw_lower_ask_bound(lw_lower_frame *f, uint32_t name, uint32_t web)
{
    lw_text message = {0};
    lw_lower_value bound;

    if (!lw_typed_at(f, name)->unbound || web == 0)
        return;
    assert(web_at(f, web)->bound != 0); /* inference has seen this use */
    bound = lw_lower_web_read(f, web_at(f, web)->bound);
    lw_text_addf(&message,
                 "cannot access local variable '%s' where it is not associated with a value",
                 f->fn->vars.data[lw_node_at(f, name)->a].name);
    if (message.failed)
        f->l->module->failed = true;
    else
        lw_lower_raise(f, lw_ir_not(&f->b, lw_value_truth(f, bound)), "UnboundLocalError",
                       lw_text_get(&message));
    lw_text_reset(&message);
}

static bool
is_parameter(const lw_lower_frame *f, uint32_t web)
{
    for (uint32_t i = 0; i < f->inst->n_params; i++)
        if (f->inst->param_webs[i] == web)
            return true;
    return false;
}

bool
lw_lower_walrus_replaces(const lw_lower_frame *f, uint32_t web)
{
    return web != 0 && lw_type_is_owned(f->l->types, web_at(f, web)->type) &&
           (!web_at(f, web)->single || web_at(f, web)->is_zero);
}

void
lw_lower_walrus_slots(lw_lower_frame *f)
{
    for (uint32_t i = 0; i < f->inst->nodes.n; i++) {
        const lw_node *n = lw_node_at(f, f->inst->nodes.first + i);
        uint32_t web = n->kind == LW_NODE_WALRUS ? lw_typed_at(f, n->a)->web : 0, n_parts;
        const lw_ref *slots;

        if (is_parameter(f, web) || !lw_lower_walrus_replaces(f, web))
            continue;
        f->slotted[web] = true;
        slots = slots_of(f, web);
        n_parts = slots ? lw_parts_of(f->l->types, web_at(f, web)->type) : 0;
        for (uint32_t k = 0; k < n_parts; k++)
            lw_ir_set(&f->b, slots[k], lw_ir_zero(&f->b, lw_ir_type(&f->b, slots[k])));
    }
}

void
lw_lower_zero_webs(lw_lower_frame *f)
{
    for (uint32_t web = 1; web < f->inst->webs.n; web++) {
        bool is_zero = web_at(f, web)->is_zero && !is_parameter(f, web);
        const lw_ref *slots = is_zero ? slots_of(f, web) : NULL;
        uint32_t n = slots ? lw_parts_of(f->l->types, web_at(f, web)->type) : 0;

        for (uint32_t i = 0; i < n; i++)
            lw_ir_set(&f->b, slots[i], lw_ir_zero(&f->b, lw_ir_type(&f->b, slots[i])));
    }
}

/* ---- regions ---- */

uint32_t
lw_lower_region_open(lw_lower_frame *f, bool loop)
{
    if (loop)
        lw_ir_loop(&f->b, 0);
    else
        lw_ir_block(&f->b);
    return f->regions++;
}

void
lw_lower_region_close(lw_lower_frame *f)
{
    assert(f->regions > 0);
    lw_ir_end(&f->b);
    f->regions--;
}

void
lw_block_leave(lw_lower_frame *f, uint32_t region)
{
    assert(region < f->regions); /* it is open */
    lw_ir_break(&f->b, f->regions - 1 - region);
}

/* ---- assignment ---- */

void
lw_lower_assign_rest(lw_lower_frame *f, uint32_t name, lw_lower_value tuple, uint32_t from,
                     uint32_t count)
{
    assert(lw_value_is_tuple(&tuple, f));
    uint32_t web = name ? lw_typed_at(f, name)->web : 0, n = 0, at = 0;
    lw_ref *parts;

    if (name != 0)
        lw_lower_note_changing(f, lw_node_at(f, name)->a, NULL);
    if (web == 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        n += lw_value_element(f, tuple, from + i).n;
    parts = lw_arena_take(f->l->arena, (n + 1) * sizeof *parts);
    for (uint32_t i = 0; parts && i < count; i++) {
        lw_type type = lw_type_get(f->l->types, web_at(f, web)->type)->elements[i];
        lw_lower_value element = lw_value_element(f, tuple, from + i);
        element = lw_value_convert(f, element, type);
        for (uint32_t j = 0; j < element.n && at < n; j++)
            parts[at++] = element.parts[j];
    }
    assign_web(
        f, web,
        (lw_lower_value){.type = web_at(f, web)->type, .n = parts ? at : 0, .parts = parts});
}

/* a, b = row: all items are read before anything is assigned. of: an array, or what holds the
 * items of a list of tuples or arrays. */
static void
assign_items(lw_lower_frame *f, uint32_t target, lw_lower_value of)
{
    const lw_node *n = lw_node_at(f, target);
    lw_lower_value *items = lw_arena_take(f->l->arena, (n->c + 1) * sizeof *items);
    lw_iterator it = lw_iterator_of_rows(f, of, lw_typed_at(f, target)->operand);

    if (items == NULL)
        return;
    lw_lower_set_loc(f, target);
    if (lw_raises_errors(f))
        lw_lower_raise(
            f,
            lw_ir_compare(&f->b, LW_OP_NE, lw_iterator_count(f, &it),
                          lw_ir_int(&f->b, LW_DT_u64, n->c)),
            "ValueError",
            "the list or array has more or fewer items than there are names to unpack it to");
    for (uint32_t i = 0; i < n->c; i++)
        items[i] = lw_iterator_item(f, &it, lw_ir_int(&f->b, LW_DT_u64, i), i);
    for (uint32_t i = 0; i < n->c; i++)
        lw_lower_assign(f, lw_list_at(f, n->b + i), items[i]);
}

/* a, (b, *c), d = …: the elements before and after the star by position, the rest to the star.
 */
static void
assign_tuple(lw_lower_frame *f, uint32_t target, lw_lower_value value)
{
    const lw_node *n = lw_node_at(f, target);
    uint32_t have, at = 0;
    bool are_rows = lw_typed_at(f, target)->asks && lw_type_is_grown(f->l->types, value.type);

    value = lw_lower_asked(f, target, value);
    are_rows = are_rows && lw_value_is_tuple(&value, f);
    value = are_rows ? value : lw_lower_items(f, value);
    if (are_rows || lw_type_kind_of(f->l->types, value.type) == LW_TK_ARRAY) {
        assign_items(f, target, value);
        return;
    }
    if (!lw_value_is_tuple(&value, f)) {
        lw_lower_fail(f, target, "unpacking of what is no tuple");
        return;
    }
    have = lw_type_get(f->l->types, value.type)->n;
    assert(have + 1 >= n->c); /* inference compared the lengths */
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t item = lw_list_at(f, n->b + i);
        if (lw_node_at(f, item)->kind == LW_NODE_STAR) {
            lw_lower_assign_rest(f, lw_node_at(f, item)->a, value, at, have + 1 - n->c);
            at += have + 1 - n->c;
        } else {
            lw_lower_assign(f, item, lw_value_element(f, value, at++));
        }
    }
}

void
lw_lower_assign(lw_lower_frame *f, uint32_t target, lw_lower_value value)
{
    const lw_node *n = lw_node_at(f, target);
    uint32_t web;

    switch (n->kind) {
    case LW_NODE_NAME:
        lw_lower_note_changing(f, n->a, NULL);
        web = lw_typed_at(f, target)->web;
        if (web != 0)
            assign_web(f, web, lw_lower_copy_texts(f, value));
        return;
    case LW_NODE_TUPLE: {
        const lw_ref *guard = lw_lower_guard(f, value);
        assign_tuple(f, target, lw_lower_copy_texts(f, value));
        lw_lower_unguard(f, guard, value.type);
        return;
    }
    case LW_NODE_SUBSCRIPT:
    case LW_NODE_ATTRIBUTE:
        if (lw_is_object_target(f, target) ||
            (n->kind == LW_NODE_ATTRIBUTE && lw_lower_calls_method(f, target)))
            lw_lower_object_store(f, target, value);
        else
            lw_lower_memory_store(f, target, value);
        return;
    default: lw_lower_fail(f, target, "an assignment to this"); return;
    }
}

static lw_type
web_type(lw_lower_frame *f, uint32_t target)
{
    uint32_t web =
        lw_node_at(f, target)->kind == LW_NODE_NAME ? lw_typed_at(f, target)->web : 0;

    return web ? web_at(f, web)->type : LW_T_BOTTOM;
}

/* A constant that is assigned to a variable is made in the variable's type. */
static void
lower_assign(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);

    if (lw_typed_at(f, node)->call == LW_CALL_INSTANCE) { /* an overload of `x[i] = v` */
        (void)lw_lower_method(f, node);
        return;
    }
    if (lw_typed_at(f, n->a)->elementwise && lw_typed_at(f, n->a)->element == LW_T_BOTTOM) {
        lw_lower_array_store(f, lw_list_at(f, n->b), n->a);
        return;
    }
    lw_type only = n->c == 1 ? web_type(f, lw_list_at(f, n->b)) : LW_T_BOTTOM;
    lw_lower_value value =
        only != LW_T_BOTTOM ? lw_lower_as(f, n->a, only) : lw_lower_expression(f, n->a);

    f->moves = n->c == 1;
    for (uint32_t i = 0; i < n->c; i++)
        lw_lower_assign(f, lw_list_at(f, n->b + i), value);
    f->moves = false;
}

/* `y += (y := x)`: the array that is changed is the one that y was before. */
static bool
is_renamed_inside(lw_lower_frame *f, const lw_node *augassign)
{
    for (uint32_t i = augassign->a; i <= augassign->b; i++) /* a node follows its operands */
        if (lw_node_at(f, i)->kind == LW_NODE_WALRUS &&
            lw_node_at(f, lw_node_at(f, i)->a)->a == lw_node_at(f, augassign->a)->a)
            return true;
    return false;
}

/* One web of the target is read; another one may be written. */
bool
lw_lower_augmented(lw_lower_frame *f, uint32_t node, lw_lower_read *read, lw_lower_value *out)
{
    const lw_node *n = lw_node_at(f, node);
    const lw_typed_node *t = lw_typed_at(f, node), *target = lw_typed_at(f, n->a);
    lw_lower_value before;

    if (t->elementwise && t->element == LW_T_BOTTOM) {
        lw_lower_augmented_array(f, node, read(f, n->a));
        return false;
    }
    if (t->constant) {
        *out = lw_value_constant(f, t->constant, t->type);
    } else if (lw_lower_calls_method(f, node)) {
        *out = lw_lower_method(f, node);
    } else {
        before = target->constant ? lw_value_constant(f, target->constant, target->operand)
                                  : read(f, n->a);
        *out = t->elementwise ? lw_lower_augmented_number(f, node, before)
                              : lw_lower_binary_nodes(f, node, (lw_pyop)n->op, before, n->b);
    }
    return true;
}

static lw_lower_value
read_name(lw_lower_frame *f, uint32_t target)
{
    return lw_lower_web_read(f, lw_typed_at(f, target)->target);
}

static void
lower_augassign(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    const lw_typed_node *t = lw_typed_at(f, node), *target = lw_typed_at(f, n->a);
    lw_lower_value result;

    if (lw_node_at(f, n->a)->kind == LW_NODE_NAME)
        lw_lower_ask_bound(f, n->a, target->target);
    if (lw_node_at(f, n->a)->kind == LW_NODE_ATTRIBUTE && target->call == LW_CALL_INSTANCE) {
        lower_assign(f, n->c); /* by the setter of a property */
        return;
    }
    if (lw_is_object_target(f, n->a)) {
        lw_lower_augmented_field(f, node);
        return;
    }
    if (lw_node_at(f, n->a)->kind == LW_NODE_SUBSCRIPT && lw_lower_calls_method(f, node) &&
        !lw_lower_calls_method(f, n->a)) { /* of a list: the call does all of it */
        (void)lw_lower_method(f, node);
        return;
    }
    if (lw_node_at(f, n->a)->kind != LW_NODE_NAME) {
        lw_lower_augmented_store(f, node);
        return;
    }
    if (t->elementwise && is_renamed_inside(f, n)) {
        lw_lower_refuse_walrus(f, node);
        return;
    }
    if (lw_lower_augmented(f, node, read_name, &result))
        lw_lower_assign(f, n->a, result);
}

static void
lower_annassign(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    lw_type type = web_type(f, n->a);

    if (n->c == 0)
        return;
    if (lw_node_at(f, n->a)->kind == LW_NODE_ATTRIBUTE)
        type = lw_typed_constant(f->l->typed, n->b)->dtype;
    lw_lower_assign(f, n->a,
                    type != LW_T_BOTTOM ? lw_lower_as(f, n->c, type)
                                        : lw_lower_expression(f, n->c));
}

/* ---- branches ---- */

static void
lower_if(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    int8_t truth = lw_typed_at(f, n->a)->truth;

    if (truth >= 0) {
        lw_lower_condition(f, n->a); /* for its side effects */
        if (truth ? n->b : n->c)
            lw_lower_body(f, truth ? n->b : n->c);
        return;
    }
    if (lw_lower_if_converted(f, node))
        return;
    lw_ir_if(&f->b, lw_lower_condition(f, n->a));
    lw_lower_body(f, n->b);
    if (n->c) {
        lw_ir_else(&f->b);
        lw_lower_body(f, n->c);
    }
    lw_ir_end(&f->b);
}

/* ---- loops ---- */

static void
leave_unless(lw_lower_frame *f, lw_ref condition, uint32_t region)
{
    lw_ir_if(&f->b, lw_ir_not(&f->b, condition));
    lw_block_leave(f, region);
    lw_ir_end(&f->b);
}

/* An `else` runs if the loop was not left by break: break then leaves a block around both. */
static void
loop_else(lw_lower_frame *f, const lw_lower_loop *loop, uint32_t else_body)
{
    f->loop = loop->outer;
    if (else_body == 0)
        return;
    lw_lower_body(f, else_body);
    lw_lower_region_close(f);
}

static void
lower_while(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    int8_t truth = lw_typed_at(f, n->a)->truth;
    uint32_t else_body = truth == 1 ? 0 : n->c;
    lw_lower_loop loop = {.outer = f->loop};

    if (truth == 0) {
        lw_lower_condition(f, n->a);
        if (n->c)
            lw_lower_body(f, n->c);
        return;
    }
    if (else_body)
        loop.break_region = lw_lower_region_open(f, false);
    loop.continue_region = lw_lower_region_open(f, true);
    if (!else_body)
        loop.break_region = loop.continue_region;
    f->loop = &loop;
    lw_ref go_on = lw_lower_condition(f, n->a);
    if (truth != 1)
        leave_unless(f, go_on, loop.continue_region);
    lw_lower_body(f, n->b);
    lw_ir_latch(&f->b);
    lw_lower_region_close(f);
    loop_else(f, &loop, else_body);
}

/* Iterations, in nested loops together, up to which loops are unrolled. */
enum { MOST_WRITTEN_OUT = 16384 };

static bool
too_many_iterations(lw_lower_frame *f, uint32_t node, uint32_t n)
{
    lw_lowering *l = f->l;
    uint64_t all = (uint64_t)n * f->unrolled;

    if (l->status == LW_OK && all > MOST_WRITTEN_OUT)
        l->status = lw_diagnose(
            l->tree, lw_node_at(f, node)->loc,
            (lw_fault){LW_ERR_UNSUPPORTED, "E105",
                       .label = "a loop over a tuple of run-time values is unrolled",
                       .help = "loop over an array", .where = f->fn->name},
            l->err,
            "with the loops around it, this loop of %u iterations would be unrolled to %llu", n,
            (unsigned long long)all);
    return l->status != LW_OK;
}

/* Unrolls the loop, each iteration in a block that `continue` leaves; a range beside the tuple
 * may end the loop early. */
static void
for_unrolled(lw_lower_frame *f, uint32_t node, const lw_iterator *it)
{
    const lw_node *n = lw_node_at(f, node), *both = lw_node_at(f, n->c);
    lw_lower_loop loop = {.outer = f->loop};
    uint32_t iterations, outer = f->unrolled;

    if (too_many_iterations(f, node, it->n_fixed))
        return;
    loop.break_region = lw_lower_region_open(f, false);
    iterations = lw_lower_region_open(f, false);
    f->loop = &loop;
    f->unrolled *= it->n_fixed;
    for (uint32_t i = 0; i < it->n_fixed && !lw_lower_too_long(f, node); i++) {
        lw_ref k = lw_ir_int(&f->b, LW_DT_u64, i);
        if (it->count)
            leave_unless(f, lw_ir_compare(&f->b, LW_OP_LT, k, it->count), iterations);
        loop.continue_region = lw_lower_region_open(f, false);
        loop.continue_is_block = true;
        lw_lower_assign(f, n->a, lw_iterator_item(f, it, k, i));
        lw_lower_body(f, both->a);
        lw_lower_region_close(f);
    }
    lw_lower_region_close(f);
    f->unrolled = outer;
    f->loop = loop.outer;
    if (both->b)
        lw_lower_body(f, both->b);
    lw_lower_region_close(f);
}

/* 32 bits where they are known to suffice, because GPUs have no 64-bit integer unit. */
static lw_for
open_counter(lw_builder *b, lw_ref count)
{
    uint64_t bits;
    bool small = lw_ir_is_const(b, count, &bits) && bits <= INT32_MAX;
    lw_dtype type = small ? LW_DT_i32 : LW_DT_u64;

    if (small)
        count = lw_ir_int(b, type, (int64_t)bits);
    return lw_ir_for(b, lw_ir_zero(b, type), count, lw_ir_int(b, type, 1), 0);
}

static lw_lower_value
rising_item(lw_lower_frame *f, const lw_iterator *it, lw_ref i)
{
    if (lw_never_negative(f, it->start))
        lw_lower_note_counter(f, i, it->start, it->stop);
    return lw_value_scalar(f, LW_T_INDEX, i);
}

/* Counts iterations from 0: no step can overflow, and LLVM knows the trip count. If the range
 * rises by a step that is known only at run time, the item itself counts, because computing the
 * number of iterations takes divisions; with a stop and a step below 2^62 nothing overflows. */
static void
for_counted(lw_lower_frame *f, const lw_node *n, const lw_iterator *it)
{
    const lw_node *both = lw_node_at(f, n->c);
    lw_lower_loop loop = {.outer = f->loop, .parallel = it->parallel};
    lw_builder *b = &f->b;
    bool is_checked = lw_iterator_is_checked(it);

    if (both->b || is_checked)
        loop.break_region = lw_lower_region_open(f, false);
    lw_for counter =
        it->rises ? lw_ir_for(b, it->start, it->stop, it->step, 0) : open_counter(b, it->count);
    assert(!it->fixed);                    /* that one is unrolled */
    if (it->parallel && f->b.func != NULL) /* the LOOP is right before what it reads first */
        f->b.func->insts.data[counter.i - 1].flags |= LW_LOOP_PARALLEL;
    loop.continue_region = f->regions++;
    if (!both->b && !is_checked)
        loop.break_region = loop.continue_region;
    f->loop = &loop;
    lw_iterator_check(f, it);
    if (it->rises)
        lw_lower_assign(f, n->a, rising_item(f, it, counter.i));
    else
        lw_lower_assign(f, n->a,
                        lw_iterator_item(f, it, lw_ir_cast(b, LW_DT_u64, counter.i), 0));
    lw_lower_body(f, both->a);
    assert(f->loop == &loop &&
           f->regions == loop.continue_region + 1); /* inner ones were left */
    lw_ir_for_end(b, &counter);
    f->regions--;
    lw_iterator_check(f, it);
    loop_else(f, &loop, both->b);
    if (is_checked && !both->b)
        lw_lower_region_close(f);
}

static void
lower_for(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    lw_handler wall = {.is_wall = true};
    lw_iterator it;

    if (lw_typed_at(f, lw_node_at(f, n->c)->a)->dead) { /* not even one iteration */
        if (lw_node_at(f, n->c)->b)
            lw_lower_body(f, lw_node_at(f, n->c)->b);
        return;
    }
    it = lw_iterator_of(f, n->b, lw_typed_at(f, node)->operand);
    if (lw_is_parallel(f, n->b)) {
        it.count = lw_iterator_count(f, &it);
        it.rises = false;
        it.parallel = true;
    }
    if (it.parallel) {
        wall.outer = f->handler;
        f->handler = &wall;
    }
    if (it.fixed)
        for_unrolled(f, node, &it);
    else if (!it.parallel || !lw_for_array_sums(f, node, &it))
        for_counted(f, n, &it);
    if (it.parallel)
        f->handler = wall.outer;
}

static void
lower_jump(lw_lower_frame *f, bool leave)
{
    if (f->loop == NULL)
        lw_lower_fail(f, f->node, "break or continue outside a loop");
    else if (leave && lw_leaves_parallel(f, "break"))
        return;
    else if (!lw_lower_finallies(f, true))
        return;
    else if (leave)
        lw_block_leave(f, f->loop->break_region);
    else if (f->loop->continue_is_block)
        lw_block_leave(f, f->loop->continue_region);
    else
        lw_ir_continue(&f->b, f->regions - 1 - f->loop->continue_region);
}

/* ---- leaving ---- */

static void
lower_assert(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    const lw_constant *message =
        n->b ? lw_typed_constant(f->l->typed, lw_node_at(f, n->b)->a) : NULL;

    if (f->l->typed->options.ignore_errors || lw_typed_at(f, n->a)->truth == 1)
        return;
    lw_ref wrong = lw_ir_not(&f->b, lw_lower_condition(f, n->a));
    lw_lower_raise(f, lw_typed_at(f, n->a)->truth == 0 ? 0 : wrong, "AssertionError",
                   message && message->text ? message->text : "");
}

static void
lower_raise(lw_lower_frame *f, uint32_t node)
{
    const lw_constant *k = lw_typed_constant(f->l->typed, lw_node_at(f, node)->a);

    lw_ref words[LW_RAISE_WORDS];
    uint32_t n = 0;

    if (f->l->typed->options.ignore_errors)
        return;
    if (lw_node_at(f, node)->a == 0) {
        lw_lower_raise_again(f, node);
        return;
    }
    if (strchr(k->text, ':') != NULL && (k->help || lw_node_at(f, node)->c)) {
        lw_raise_row row = {.exception = k->text};
        lw_lower_raise_args(f, node, &row, words, &n);
        lw_lower_raise_row(f, &row, words, n);
        return;
    }
    if (lw_node_at(f, node)->c == 0) {
        lw_lower_raise(f, 0, k->text, k->help ? k->help : "");
        return;
    }
    uint64_t format = lw_lower_raise_format(f, node, words, &n);
    lw_lower_raise_words(f, k->text, format, words, n);
}

static void
lower_return(lw_lower_frame *f, uint32_t node)
{
    const lw_lower_finally *last = f->finallies;
    uint32_t value = lw_node_at(f, node)->a, ended_by = node;
    lw_lower_value result = {.type = f->inst->result};

    if (lw_leaves_parallel(f, "return"))
        return;
    if (value != 0)
        result = lw_lower_as(f, value, f->inst->result);
    else if (lw_type_given(f->l->types, f->inst->result))
        result = lw_value_zero(f, f->inst->result);
    for (; last != NULL; last = last->outer)
        ended_by = last->node; /* the objects that are changed are those at its end */
    if (f->finallies != NULL)
        lw_lower_guard(f, result);
    if (!lw_lower_finallies(f, false))
        return;
    lw_lower_set_loc(f, node);
    lw_lower_return(f, ended_by, result);
}

/* An expression statement: only its calls and assignments matter. */
static void
lower_expr(lw_lower_frame *f, uint32_t node)
{
    if (lw_cost_expression(f, node) >= LW_COST_NEVER)
        lw_lower_expression(f, node);
}

void
lw_lower_statement(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);

    if (lw_typed_at(f, node)->dead)
        return;
    lw_lower_set_loc(f, node);
    if (lw_typed_at(f, node)->stops) {
        lw_lower_until_stop(f, node);
        return;
    }
    switch (n->kind) {
    case LW_NODE_PASS: return;
    case LW_NODE_ASSIGN: lower_assign(f, node); return;
    case LW_NODE_AUGASSIGN: lower_augassign(f, node); return;
    case LW_NODE_ANNASSIGN: lower_annassign(f, node); return;
    case LW_NODE_IF: lower_if(f, node); return;
    case LW_NODE_WHILE: lower_while(f, node); return;
    case LW_NODE_FOR: lower_for(f, node); return;
    case LW_NODE_BODY: lw_lower_body(f, node); return;
    case LW_NODE_BREAK: lower_jump(f, true); return;
    case LW_NODE_CONTINUE: lower_jump(f, false); return;
    case LW_NODE_RETURN: lower_return(f, node); return;
    case LW_NODE_EXPR: lower_expr(f, n->a); return;
    case LW_NODE_ASSERT: lower_assert(f, node); return;
    case LW_NODE_RAISE: lower_raise(f, node); return;
    case LW_NODE_MATCH: lw_lower_match(f, node); return;
    case LW_NODE_TRY: lw_lower_try(f, node); return;
    default: lw_lower_fail(f, node, lw_node_text[n->kind]); return;
    }
}

void
lw_lower_body(lw_lower_frame *f, uint32_t body)
{
    const lw_node *n = lw_node_at(f, body);

    if (lw_typed_at(f, body)->dead) /* the `else` of a loop that always breaks */
        return;
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t statement = lw_list_at(f, n->b + i);
        if (lw_lower_too_long(f, statement))
            return;
        if (lw_typed_at(f, statement)->dead)
            continue;
        if (lw_node_at(f, statement)->kind == LW_NODE_IF && lw_lower_tail_converted(f, body, i))
            return;
        lw_lower_statement(f, statement);
        if (lw_ir_ended(&f->b))
            return;
    }
}
