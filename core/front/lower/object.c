/* Fields of objects that are assigned. An object is its fields, so that assigning one makes
 * another value, which the variable that the NAME node reads holds from then on; a field of a
 * field makes another value of each object on the way (core/front/infer/mutation.c). What a
 * function changes in its parameters are results behind its result. */
#include "core/front/lower/lower_internal.h"

#include <string.h>

static const char *
name_of(const lw_lower_frame *f, uint32_t attribute)
{
    return lw_typed_constant(f->l->typed, lw_node_at(f, attribute)->b)->text;
}

bool
lw_is_object_target(const lw_lower_frame *f, uint32_t target)
{
    const lw_node *n = lw_node_at(f, target);
    const lw_type_row *row;

    if (n->kind != LW_NODE_ATTRIBUTE)
        return false;
    row = lw_type_get_kind(f->l->types, lw_typed_at(f, n->a)->type, LW_TK_TUPLE);
    return row != NULL && row->user_class != NULL;
}

/* The object with this field, of the type that it has then. */
static lw_lower_value
object_with(lw_lower_frame *f, lw_lower_value object, const char *name, lw_lower_value field,
            lw_type type)
{
    const lw_type_row *old = lw_type_get(f->l->types, object.type);
    const lw_type_row *new = lw_type_get(f->l->types, type);
    uint32_t n = lw_parts_of(f->l->types, type), at = 0, k = 0;
    lw_ref *parts = lw_arena_take(f->l->arena, (n + 1) * sizeof *parts);

    for (uint32_t i = 0; parts && i < new->n; i++) {
        bool is_field = strcmp(new->names[i], name) == 0;
        bool was_there = k < old->n && strcmp(old->names[k], new->names[i]) == 0;
        lw_lower_value one = is_field ? field : lw_value_element(f, object, k);

        one = lw_value_convert(f, one, new->elements[i]);
        k += was_there;
        for (uint32_t j = 0; j < one.n && at < n; j++)
            parts[at++] = one.parts[j];
    }
    return (lw_lower_value){.type = type, .n = parts ? at : 0, .parts = parts};
}

/* What the node leads to becomes this value. */
static void
write_path(lw_lower_frame *f, uint32_t node, lw_lower_value value)
{
    const lw_node *n = lw_node_at(f, node);
    lw_lower_value object = {0};

    while (n->kind == LW_NODE_ATTRIBUTE) {
        object = lw_lower_expression(f, n->a);
        value = object_with(f, object, name_of(f, node), value, lw_typed_at(f, node)->target);
        node = n->a;
        n = lw_node_at(f, node);
    }
    if (n->kind != LW_NODE_NAME) {
        lw_lower_fail(f, node, "a change of what no variable holds");
        return;
    }
    lw_lower_note_changing(f, n->a, &value);
    if (lw_typed_at(f, node)->target != 0)
        lw_lower_web_change(f, lw_typed_at(f, node)->target, value, object, false);
}

/* object.name = value, by the setter of a property. */
static void
call_setter(lw_lower_frame *f, uint32_t target, lw_lower_value value)
{
    const lw_typed_node *t = lw_typed_at(f, target);
    const lw_instance *callee = &f->l->typed->instances.data[t->target];
    lw_lower_value values[2] = {{0}};

    if (!callee->param_constants[0])
        values[0] = lw_value_convert(f, lw_lower_expression(f, lw_node_at(f, target)->a),
                                     callee->param_types[0]);
    if (!callee->param_constants[1])
        values[1] = lw_value_convert(f, value, callee->param_types[1]);
    lw_lower_call_values(f, target, t->target, values, t->args + t->n_args);
}

void
lw_lower_object_store(lw_lower_frame *f, uint32_t target, lw_lower_value value)
{
    if (lw_typed_at(f, target)->call == LW_CALL_INSTANCE)
        call_setter(f, target, value);
    else
        write_path(f, target, value);
}

/* The field that an augmented assignment reads. */
static lw_lower_value
read_target(lw_lower_frame *f, uint32_t target)
{
    return lw_lower_field_of(f, lw_lower_expression(f, lw_node_at(f, target)->a),
                             name_of(f, target), lw_typed_at(f, target)->operand);
}

void
lw_lower_augmented_field(lw_lower_frame *f, uint32_t node)
{
    lw_lower_value result;

    if (lw_lower_augmented(f, node, read_target, &result))
        write_path(f, lw_node_at(f, node)->a, result);
}

/* ---- functions that change objects ---- */

uint32_t
lw_changed_parts_of(const lw_types *types, const lw_instance *instance)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < instance->n_changed; i++)
        n += lw_parts_of(types, instance->changed_types[i]);
    return n;
}

/* Whether the object is what a variable holds, as it was given, so that its references stay
 * with those who hold them. */
static bool
is_whole(lw_lower_frame *f, uint32_t node, const lw_lower_value *given, lw_type type)
{
    uint32_t web = lw_node_at(f, node)->kind == LW_NODE_NAME ? lw_typed_at(f, node)->target : 0;

    return web != 0 && f->converted_arms == 0 && f->inst->webs.data[web].type == type &&
           given->type == type;
}

void
lw_lower_changed(lw_lower_frame *f, uint32_t instance, const lw_lower_value *values,
                 uint32_t start, const lw_ref *parts, lw_lower_value *made)
{
    const lw_instance *callee = &f->l->typed->instances.data[instance];

    for (uint32_t k = 0; k < callee->n_changed; k++) {
        lw_type type = callee->changed_types[k];
        uint32_t n = lw_parts_of(f->l->types, type), node = f->l->typed->lists.data[start + k];
        lw_lower_value value = {.type = type, .n = n, .parts = parts};
        const lw_lower_value *given =
            lw_is_lent(f->l, instance, k) ? &values[callee->changed[k]] : NULL;
        const lw_ref *owners;

        parts += n;
        if (node != LW_CHANGED_VALUE && node != LW_CHANGED_NONE && given != NULL &&
            is_whole(f, node, given, type)) {
            lw_lower_note_changing(f, lw_node_at(f, node)->a, &value);
            lw_lower_web_change(f, lw_typed_at(f, node)->target, value, *given, true);
            continue;
        }
        owners = lw_lower_take(f, lw_lower_unless_lent(f, value, given ? given->parts : NULL));
        if (node == LW_CHANGED_VALUE) {
            *made = value;
        } else if (node != LW_CHANGED_NONE) {
            f->moves = given == NULL;
            write_path(f, node, value);
            f->moves = false;
            if (given != NULL && f->converted_arms == 0)
                lw_lower_unguard(f, owners, type); /* the variable holds them */
        }
    }
}

/* The parts of the k-th changed object as the caller passed it, if it is lent; or NULL. */
static const lw_ref *
lent_parts(const lw_lower_frame *f, uint32_t instance, const lw_ref **given, uint32_t k)
{
    const lw_instance *inst = &f->l->typed->instances.data[instance];

    return lw_is_lent(f->l, instance, k) ? given[inst->changed[k]] : NULL;
}

uint32_t
lw_lower_changed_parts(lw_lower_frame *f, uint32_t node, lw_ref *out)
{
    uint32_t start = node ? lw_typed_at(f, node)->args : f->inst->end_changes, n = 0;

    for (uint32_t k = 0; k < f->inst->n_changed; k++) {
        lw_type type = f->inst->changed_types[k];
        uint32_t entry = f->l->typed->lists.data[start + k],
                 number = entry & ~(uint32_t)LW_ARG_TAG;
        lw_lower_value value = (entry & LW_ARG_TAG) == LW_ARG_CONSTANT
                                   ? lw_value_constant(f, number, type)
                               : number ? lw_lower_web_read(f, number)
                                        : (lw_lower_value){.type = type};

        if (number != 0)
            value = lw_value_convert(f, value, type);
        lw_lower_give(f,
                      lw_lower_unless_lent(f, value, lent_parts(f, f->instance, f->given, k)));
        for (uint32_t j = 0; j < value.n; j++)
            out[n++] = value.parts[j];
    }
    return n;
}

/* ---- what has been changed when an exception is raised ---- */

/* Whether a value of the first type is the same object as one of the second type. */
static bool
stays_same(const lw_types *types, lw_type from, lw_type to)
{
    const lw_type_row *x = lw_type_get(types, from), *y = lw_type_get(types, to);

    if (from == to || (from == LW_T_NONE && y && y->kind == LW_TK_ARRAY))
        return true; /* None: of the items of a list that is empty */
    if (x && x->kind == LW_TK_LITERAL)
        return lw_type_is_integer(types, to) && to != LW_DT_b1;
    if (!x || !y || x->kind != LW_TK_TUPLE || y->kind != LW_TK_TUPLE || x->n != y->n ||
        x->user_class != y->user_class)
        return false;
    for (uint32_t i = 0; i < x->n; i++)
        if (!stays_same(types, x->elements[i], y->elements[i]))
            return false;
    return true;
}

/* The k-th changed object is this one now. */
static void
keep_changing(lw_lower_frame *f, uint32_t k, const lw_lower_value *value)
{
    lw_type type = f->changing->inst->changed_types[k];
    lw_lower_value kept;

    if (value == NULL || !stays_same(f->l->types, value->type, type)) {
        f->l->loses[f->home] = true;
        return;
    }
    kept = lw_value_convert(f, *value, type);
    if (f->changing->owners[k] != NULL)
        lw_lower_hold(f, f->changing->owners[k], kept);
    lw_value_set(f, f->changing->slots[k], kept);
}

void
lw_lower_begin_changing(lw_lower_frame *f, lw_changing *made)
{
    uint32_t n = f->inst->n_changed;

    *made = (lw_changing){.inst = f->inst,
                          .given = f->given,
                          .slots = lw_arena_take(f->l->arena, (n + 1) * sizeof *made->slots),
                          .owners = lw_arena_take(f->l->arena, (n + 1) * sizeof *made->owners)};
    if (made->slots == NULL || made->owners == NULL)
        return;
    for (uint32_t k = 0; k < n; k++) {
        made->slots[k] = lw_value_slots(f, f->inst->changed_types[k]);
        if (lw_type_is_owned(f->l->types, f->inst->changed_types[k]))
            made->owners[k] = lw_lower_owners(f, f->inst->changed_types[k]);
        if (lw_lower_has_failed(f))
            return;
        lw_value_set(f, made->slots[k], lw_value_zero(f, f->inst->changed_types[k]));
    }
    f->changing = made;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t param = f->inst->changed[k], web = f->inst->param_webs[param];
        lw_lower_value value = {.type = LW_T_BOTTOM};

        if (f->inst->param_constants[param])
            value = lw_value_constant(f, f->inst->param_constants[param],
                                      f->inst->param_types[param]);
        else if (web != 0)
            value = lw_lower_web_read(f, web);
        keep_changing(f, k, value.type == LW_T_BOTTOM ? NULL : &value);
    }
}

/* The variable of a parameter; those of captures are never changed. */
static uint32_t
variable_of_param(const lw_lower_frame *f, uint32_t param)
{
    return param < f->fn->params.n ? f->fn->params.data[param].var : 0;
}

void
lw_lower_note_changing(lw_lower_frame *f, uint32_t var, const lw_lower_value *value)
{
    if (f->changing == NULL || f->changing->inst != f->inst)
        return;
    for (uint32_t k = 0; k < f->inst->n_changed; k++)
        if (variable_of_param(f, f->inst->changed[k]) == var)
            keep_changing(f, k, value);
}

/* out NULL: how many parts these are. */
uint32_t
lw_lower_changing_parts(lw_lower_frame *f, lw_ref *out)
{
    const lw_instance *inst = f->changing->inst;
    uint32_t n = 0;

    for (uint32_t k = 0; k < inst->n_changed; k++) {
        lw_type type = inst->changed_types[k];
        lw_lower_value value;

        if (out == NULL) {
            n += lw_parts_of(f->l->types, type);
            continue;
        }
        value = lw_value_get(f, f->changing->slots[k], type);
        lw_lower_give(
            f, lw_lower_unless_lent(f, value, lent_parts(f, f->home, f->changing->given, k)));
        for (uint32_t i = 0; i < value.n; i++)
            out[n++] = value.parts[i];
    }
    return n;
}
