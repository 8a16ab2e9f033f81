/* Expressions of the typed tree, and the arguments of calls. Each is lowered to a value of the
 * type that inference found; constants are made where they are used. An argument that stands
 * for several entries of a call is evaluated once, at its first entry. */
#include "core/front/lower/address.h"

#include <string.h>

static lw_lower_value
no_value(void)
{
    return (lw_lower_value){.type = LW_T_NONE};
}

/* ---- arguments ---- */

static uint32_t
entry_at(const lw_lower_frame *f, uint32_t index)
{
    return f->l->typed->lists.data[index];
}

static uint32_t
argument_entry(const lw_lower_frame *f, uint32_t call, uint32_t index)
{
    const lw_typed_node *t = lw_typed_at(f, call);

    return index < t->n_args ? entry_at(f, t->args + index) : 0;
}

bool
lw_argument_given(const lw_lower_frame *f, uint32_t call, uint32_t index)
{
    return argument_entry(f, call, index) != 0;
}

/* lists[k]: the node of a tuple; lists[k + 1]: which of its elements. The node is lowered when
 * its first element is needed. */
static lw_lower_value
entry_element(lw_lower_frame *f, uint32_t k)
{
    uint32_t node = entry_at(f, k);

    if (f->shared_node != node) {
        lw_lower_value whole = lw_lower_expression(f, node);
        f->shared_node = node;
        f->shared = whole;
    }
    return lw_value_element(f, f->shared, entry_at(f, k + 1));
}

static lw_lower_value entry_as(lw_lower_frame *f, uint32_t entry, lw_type as);

/* The entry does not contain the tuple's own type: `as` is that of the parameter or result. */
static lw_lower_value
entry_pack(lw_lower_frame *f, uint32_t k, lw_type as)
{
    uint32_t count = entry_at(f, k), n = lw_parts_of(f->l->types, as), at = 0;
    lw_ref *parts = lw_arena_take(f->l->arena, (n + 1) * sizeof *parts);
    const lw_type_row *row;

    if (lw_type_kind_of(f->l->types, as) != LW_TK_TUPLE &&
        lw_type_kind_of(f->l->types, as) != LW_TK_FUNCTION)
        return lw_lower_fail(f, f->node, "packed arguments without a tuple type");
    row = lw_type_get(f->l->types, as);
    for (uint32_t i = 0; parts && i < count && i < row->n; i++) {
        lw_lower_value element = entry_as(f, entry_at(f, k + 1 + i), row->elements[i]);
        for (uint32_t j = 0; j < element.n && at < n; j++)
            parts[at++] = element.parts[j];
    }
    return (lw_lower_value){.type = as, .n = parts ? at : 0, .parts = parts};
}

static lw_lower_value
entry_as(lw_lower_frame *f, uint32_t entry, lw_type as)
{
    uint32_t k = entry & ~(uint32_t)LW_ARG_TAG;

    switch (entry & LW_ARG_TAG) {
    case 0: return lw_lower_as(f, entry, as);
    case LW_ARG_PACK: return entry_pack(f, k, as);
    case LW_ARG_CONSTANT: return lw_value_constant(f, k, as);
    default: return lw_value_convert(f, lw_lower_entry(f, entry), as);
    }
}

/* For numbers; values known only at compile time have no parts. */
static lw_type
type_of_constant(lw_lower_frame *f, uint32_t constant)
{
    const lw_constant *k = lw_typed_constant(f->l->typed, constant);

    switch (k->kind) {
    case LW_K_BOOL: return LW_DT_b1;
    case LW_K_INT: return LW_T_INDEX;
    case LW_K_UINT: return LW_DT_u64;
    case LW_K_BIGINT:
    case LW_K_FLOAT: return LW_T_PYFLOAT;
    case LW_K_COMPLEX: return LW_T_PYCOMPLEX;
    case LW_K_SCALAR: return (lw_type)k->dtype;
    case LW_K_NONE: return LW_T_NONE;
    default: return LW_T_STATIC;
    }
}

lw_lower_value
lw_lower_entry(lw_lower_frame *f, uint32_t entry)
{
    uint32_t k = entry & ~(uint32_t)LW_ARG_TAG;

    switch (entry & LW_ARG_TAG) {
    case 0: return lw_lower_expression(f, entry);
    case LW_ARG_ELEMENT: return entry_element(f, k);
    case LW_ARG_WEB: return lw_lower_web_read(f, k);
    case LW_ARG_CONSTANT: return lw_value_constant(f, k, type_of_constant(f, k));
    case LW_ARG_VIEW: return lw_lower_indexed_view(f, k);
    case LW_ARG_STORED: return f->stored[k];
    default: return lw_lower_fail(f, f->node, "packed arguments of a named function");
    }
}

lw_lower_value
lw_lower_argument(lw_lower_frame *f, uint32_t call, uint32_t index)
{
    uint32_t entry = argument_entry(f, call, index);

    if (entry == 0)
        return lw_lower_fail(f, call, "an argument that is not there");
    return lw_lower_entry(f, entry);
}

lw_lower_value
lw_lower_argument_as(lw_lower_frame *f, uint32_t call, uint32_t index, lw_type type)
{
    uint32_t entry = argument_entry(f, call, index);

    if (entry == 0)
        return lw_lower_fail(f, call, "an argument that is not there");
    return entry_as(f, entry, type);
}

/* ---- calls ---- */

static lw_lower_value
instance_argument(lw_lower_frame *f, uint32_t call, const lw_instance *callee, uint32_t index)
{
    const lw_fn *fn = &f->l->tree->fns.data[callee->fn];
    uint32_t entry = argument_entry(f, call, index);

    if (entry != 0)
        return entry_as(f, entry, callee->param_types[index]);
    if (index < fn->params.n && fn->params.data[index].default_constant != 0)
        return lw_value_constant(f, fn->params.data[index].default_constant,
                                 callee->param_types[index]);
    return lw_lower_fail(f, call, "a parameter without argument and default");
}

/* The place in the source of what an entry evaluates; NULL: nothing. */
static const lw_loc *
entry_loc(const lw_lower_frame *f, uint32_t entry)
{
    uint32_t k = entry & ~(uint32_t)LW_ARG_TAG;

    switch (entry & LW_ARG_TAG) {
    case 0: return entry ? &f->l->tree->locs.data[lw_node_at(f, entry)->loc] : NULL;
    case LW_ARG_ELEMENT: return entry_loc(f, entry_at(f, k));
    case LW_ARG_PACK: return entry_at(f, k) ? entry_loc(f, entry_at(f, k + 1)) : NULL;
    default: return NULL;
    }
}

static bool
is_before(const lw_loc *x, const lw_loc *y)
{
    return x && y && (x->line < y->line || (x->line == y->line && x->col < y->col));
}

/* The values of the arguments by parameter. Python evaluates them in the order in which they
 * are written, whatever the order of the parameters (keywords, reflected operators). NULL: no
 * memory. */
static lw_lower_value *
instance_arguments(lw_lower_frame *f, uint32_t call, const lw_instance *callee)
{
    uint32_t n = callee->n_params;
    lw_lower_value *values = lw_arena_take(f->l->arena, (n + 1) * sizeof *values);
    uint32_t *order = lw_arena_take(f->l->arena, (n + 1) * sizeof *order);

    if (values == NULL || order == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        const lw_loc *loc = entry_loc(f, argument_entry(f, call, i));
        uint32_t at = i;
        for (; at > 0; at--) {
            if (!is_before(loc, entry_loc(f, argument_entry(f, call, order[at - 1]))))
                break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!callee->param_constants[order[i]])
            values[order[i]] = instance_argument(f, call, callee, order[i]);
    return values;
}

lw_lower_value *
lw_lower_call_arguments(lw_lower_frame *f, uint32_t node)
{
    uint32_t outer_node = f->shared_node;
    lw_lower_value outer = f->shared, *values;

    f->shared_node = 0;
    values =
        instance_arguments(f, node, &f->l->typed->instances.data[lw_typed_at(f, node)->target]);
    f->shared_node = outer_node;
    f->shared = outer;
    return values;
}

lw_lower_value
lw_lower_call_values(lw_lower_frame *f, uint32_t node, uint32_t instance,
                     const lw_lower_value *values, uint32_t written)
{
    const lw_instance *callee = &f->l->typed->instances.data[instance];
    const lw_types *types = f->l->types;
    uint32_t number = lw_lower_instance(f->l, instance), at = 0, n_parts = 0, n, all;
    bool raises = lw_instance_raises(f->l, instance);

    for (uint32_t i = 0; i < callee->n_params; i++)
        n_parts += callee->param_constants[i] ? 0 : lw_parts_of(types, callee->param_types[i]);
    lw_ref *args = lw_arena_take(f->l->arena, (n_parts + 2) * sizeof *args);
    lw_lower_set_loc(f, node);
    if (args && callee->recurses)
        args[at++] = lw_lower_level(f, instance);
    for (uint32_t i = 0; args && values && i < callee->n_params; i++)
        for (uint32_t j = 0; j < values[i].n && n_parts > 0; j++, n_parts--)
            args[at++] = values[i].parts[j];
    if (lw_resizes_in_parallel(f, instance))
        return (lw_lower_value){.type = callee->result};
    lw_ref call = f->l->open[instance] ? lw_ir_recur(&f->b, number, args, at)
                                       : lw_ir_call(&f->b, number, args, at);
    if (raises)
        lw_lower_propagate(f, call, instance, values, written);
    n = lw_parts_of(types, callee->result);
    all = n + lw_changed_parts_of(types, callee);
    lw_ref *parts = lw_arena_take(f->l->arena, (all + 1) * sizeof *parts);
    for (uint32_t i = 0; parts && i < all; i++)
        parts[i] = lw_ir_result(&f->b, call, i + (raises ? 1 + f->l->n_raise_words : 0));
    lw_lower_value result = {.type = callee->result, .n = parts ? n : 0, .parts = parts};
    lw_lower_take(f, result);
    if (parts != NULL)
        lw_lower_changed(f, instance, values, written, parts + n, &result);
    return result;
}

lw_lower_value
lw_lower_call_with(lw_lower_frame *f, uint32_t node, lw_lower_value *values)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    const lw_instance *callee = &f->l->typed->instances.data[t->target];

    if (!lw_may_inline(f, t->target))
        return lw_lower_call_values(f, node, t->target, values, t->args + t->n_args);
    lw_lower_set_loc(f, node);
    return values ? lw_lower_inlined(f, t->target, values) : lw_value_zero(f, callee->result);
}

static lw_lower_value
lower_call_instance(lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    const lw_instance *callee = &f->l->typed->instances.data[t->target];
    lw_lower_value result = lw_lower_call_with(f, node, lw_lower_call_arguments(f, node));

    if (callee->result == LW_T_NONE && result.type == LW_T_NONE &&
        lw_type_kind_of(f->l->types, t->type) == LW_TK_TUPLE)
        return lw_value_zero(f, t->type); /* a new object to which nothing was assigned */
    return result;
}

lw_lower_value
lw_lower_asked(lw_lower_frame *f, uint32_t node, lw_lower_value value)
{
    uint32_t instance = lw_typed_at(f, node)->asks;
    const lw_instance *callee = &f->l->typed->instances.data[instance];
    const lw_fn *fn;
    lw_lower_value *values;

    if (instance == 0)
        return value;
    fn = &f->l->tree->fns.data[callee->fn];
    values = lw_arena_take(f->l->arena, (callee->n_params + 1) * sizeof *values);
    for (uint32_t i = 0; values && i < callee->n_params; i++)
        if (!callee->param_constants[i])
            values[i] = i == 0 ? lw_value_convert(f, value, callee->param_types[0])
                               : lw_value_constant(f, fn->params.data[i].default_constant,
                                                   callee->param_types[i]);
    return lw_lower_call_values(f, node, instance, values, 0);
}

/* dtype(x), or dtype() which is zero. */
static lw_lower_value
lower_call_cast(lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    lw_type to = (lw_type)t->target;

    if (t->n_args == 0 || !lw_argument_given(f, node, 0))
        return lw_value_zero(f, to);
    return lw_value_convert(f, lw_lower_argument(f, node, 0), to);
}

/* x.view(dtype) */
static lw_lower_value
lower_call_view(lw_lower_frame *f, uint32_t node)
{
    lw_type to = (lw_type)lw_typed_at(f, node)->target;
    lw_lower_value x = lw_lower_argument(f, node, 0);

    if (x.n != 1)
        return lw_lower_fail(f, node, "the bits of something of several parts");
    return lw_value_scalar(f, to, lw_ir_bitcast(&f->b, lw_dtypes[to].parts, x.parts[0]));
}

/* E(x): the number of the value that is equal to x. */
static lw_lower_value
lower_call_member(lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    const lw_constant *values = lw_typed_constant(f->l->typed, t->target);
    const lw_type_row *operands = lw_type_get(f->l->types, t->operand);
    lw_lower_value x = lw_lower_argument(f, node, 0);
    const lw_type_row *type = lw_type_get(f->l->types, t->type);
    lw_ref found = lw_ir_int(&f->b, LW_DT_b1, 0), number = lw_ir_int(&f->b, LW_DT_i64, 0);
    lw_text text = {0};

    if (t->target == 0)
        return lw_value_convert(f, x, t->type);
    for (uint32_t i = 0; i < values->n; i++) {
        uint32_t k = values->items[i];
        lw_lower_value value = lw_value_constant(f, k, type_of_constant(f, k));
        lw_ref same = lw_lower_compare(f, LW_PY_EQ, x, value, operands->elements[i]);

        int64_t member = type->kind == LW_TK_LITERAL ? type->members->numbers[i].value : i;

        number = lw_ir_select(&f->b, same, lw_ir_int(&f->b, LW_DT_i64, member), number);
        found = lw_ir_or(&f->b, found, same);
    }
    lw_text_addf(&text, " is not a valid %s", type->members->name);
    if (f->can_raise && !text.failed)
        lw_lower_raise_value(f, lw_ir_not(&f->b, found), x, lw_text_get(&text));
    lw_text_reset(&text);
    return lw_value_scalar(f, t->type, number);
}

static lw_lower_value
lower_call(lw_lower_frame *f, uint32_t node)
{
    switch (lw_typed_at(f, node)->call) {
    case LW_CALL_INSTANCE: return lower_call_instance(f, node);
    case LW_CALL_CAST: return lower_call_cast(f, node);
    case LW_CALL_VIEW: return lower_call_view(f, node);
    case LW_CALL_MEMBER: return lower_call_member(f, node);
    case LW_CALL_EXTERNAL:
    case LW_CALL_NAMED:
    case LW_CALL_METHOD: {
        uint32_t outer_node = f->shared_node;
        lw_lower_value outer = f->shared;
        f->shared_node = 0;
        lw_lower_value value = lw_typed_at(f, node)->call == LW_CALL_EXTERNAL
                                   ? lw_lower_external(f, node)
                                   : lw_lower_named(f, node);
        f->shared_node = outer_node;
        f->shared = outer;
        return value;
    }
    default: return lw_lower_fail(f, node, "a call of nothing");
    }
}

/* Whether an operator, an attribute or a subscript is a call of a method of the user's. */
bool
lw_lower_calls_method(const lw_lower_frame *f, uint32_t node)
{
    return lw_typed_at(f, node)->call == LW_CALL_INSTANCE &&
           lw_node_at(f, node)->kind != LW_NODE_CALL;
}

/* x != y by __eq__ is its opposite, x in y the truth of __contains__: `operand` says so. */
static lw_lower_value
lower_method(lw_lower_frame *f, uint32_t node)
{
    lw_lower_value value = lower_call_instance(f, node);

    if (lw_node_at(f, node)->kind != LW_NODE_COMPARE &&
        lw_node_at(f, node)->kind != LW_NODE_LINK)
        return value;
    if (lw_typed_at(f, node)->operand == LW_DT_b1)
        return lw_value_scalar(f, LW_DT_b1, lw_ir_not(&f->b, lw_value_truth(f, value)));
    if (lw_typed_at(f, node)->operand == LW_DT_i8) /* x in y */
        return lw_value_scalar(f, LW_DT_b1, lw_value_truth(f, value));
    return value;
}

lw_lower_value
lw_lower_method(lw_lower_frame *f, uint32_t node)
{
    return lower_method(f, node);
}

/* ---- operators ---- */

/* Operands that are not converted, or each to another type: tuples, times. */
static bool
is_joined(const lw_lower_frame *f, lw_type operand)
{
    return lw_type_kind_of(f->l->types, operand) == LW_TK_TUPLE || operand == LW_T_BOTTOM ||
           lw_type_is_time(operand);
}

/* The operands of a shift or power keep types of their own; all others are converted to
 * `operand`. */
lw_lower_value
lw_lower_binary_nodes(lw_lower_frame *f, uint32_t node, lw_pyop op, lw_lower_value left,
                      uint32_t y)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    lw_type operand = t->operand;
    bool joined = is_joined(f, operand);
    lw_lower_value right, given = left;

    if (!joined)
        left = lw_value_convert(f, left, operand);

    if (joined || lw_is_shift(op) || lw_lower_has_sign(f, y, operand))
        right = lw_lower_expression(f, y);
    else if (op == LW_PY_POW && lw_type_is_integer(f->l->types, operand))
        right = lw_lower_expression(f, y);
    else
        right = lw_lower_as(f, y, operand);
    lw_lower_set_loc(f, node);
    lw_lower_check_sign(f, op, given, operand);
    if (!lw_is_shift(op) && lw_lower_has_sign(f, y, operand)) {
        lw_lower_check_sign(f, op, right, operand);
        right = op == LW_PY_POW ? right : lw_value_convert(f, right, operand);
    }
    return lw_lower_binary(f, op, left, right, t->type);
}

static lw_lower_value
lower_binary(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    lw_type operand = lw_typed_at(f, node)->operand;
    bool as_it_is = is_joined(f, operand) || lw_lower_has_sign(f, n->a, operand);
    lw_lower_value left =
        as_it_is ? lw_lower_expression(f, n->a) : lw_lower_as(f, n->a, operand);

    return lw_lower_binary_nodes(f, node, (lw_pyop)n->op, left, n->b);
}

static lw_lower_value
lower_unary(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    const lw_typed_node *t = lw_typed_at(f, node);
    lw_pyop op = (lw_pyop)n->op;

    if (op == LW_PY_NOT) {
        lw_ref opposite = lw_ir_not(&f->b, lw_lower_condition(f, n->a));
        return lw_value_convert(f, lw_value_scalar(f, LW_DT_b1, opposite), t->type);
    }
    lw_lower_value x = t->operand == LW_T_BOTTOM ? lw_lower_expression(f, n->a)
                                                 : lw_lower_as(f, n->a, t->operand);
    lw_lower_set_loc(f, node);
    return lw_lower_unary(f, op, x, t->type);
}

/* ---- parts of values ---- */

static lw_lower_value
lower_tuple(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    lw_type type = lw_typed_at(f, node)->type;
    uint32_t parts_n = lw_parts_of(f->l->types, type), at = 0, element = 0;
    lw_ref *parts = lw_arena_take(f->l->arena, (parts_n + 1) * sizeof *parts);

    if (lw_type_kind_of(f->l->types, type) != LW_TK_TUPLE)
        return lw_lower_fail(f, node, "a tuple without a tuple's type");
    const lw_type_row *row = lw_type_get(f->l->types, type);
    for (uint32_t i = 0; parts && i < n->c; i++) {
        uint32_t item = lw_list_at(f, n->b + i);
        bool star = lw_node_at(f, item)->kind == LW_NODE_STAR;
        lw_lower_value value = star ? lw_lower_expression(f, lw_node_at(f, item)->a)
                                    : lw_lower_as(f, item, row->elements[element]);
        element += star ? lw_type_get(f->l->types, value.type)->n : 1;
        for (uint32_t j = 0; j < value.n && at < parts_n; j++)
            parts[at++] = value.parts[j];
    }
    return (lw_lower_value){.type = type, .n = parts ? at : 0, .parts = parts};
}

static bool
named_element(lw_lower_frame *f, lw_lower_value tuple, const char *name, lw_lower_value *out)
{
    const lw_type_row *row = lw_type_get(f->l->types, tuple.type);
    uint32_t i = lw_type_field(row, name), n = row->n;

    if (i < n)
        *out = lw_value_element(f, tuple, i);
    return i < n;
}

lw_lower_value
lw_lower_field_of(lw_lower_frame *f, lw_lower_value object, const char *name, lw_type type)
{
    lw_lower_value item;

    if (!lw_value_is_tuple(&object, f) || !named_element(f, object, name, &item))
        return lw_lower_fail(f, f->node, "a field that the object lacks");
    return lw_value_convert(f, item, type);
}

/* The type before conversion: for a list that is used as an array, the type of the list. */
lw_type
lw_lower_type_of(const lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);

    return t->decays ? f->l->typed->instances.data[t->asks].param_types[0] : t->type;
}

/* .real and .imag, and the fields of a namedtuple; all other attributes were folded. */
static lw_lower_value
lower_attribute(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    const char *name = lw_typed_constant(f->l->typed, n->b)->text;
    lw_type type = lw_lower_type_of(f, node);
    lw_lower_value object = lw_lower_expression(f, n->a);

    if (lw_lower_field_name(f, node, object.type))
        return lw_lower_field(f, object, name, type);
    if (lw_type_kind_of(f->l->types, object.type) == LW_TK_ARRAY)
        return lw_lower_array_attribute(f, node, object, name);
    lw_lower_value item;
    if (lw_value_is_tuple(&object, f) && named_element(f, object, name, &item))
        return lw_value_convert(f, item, type);
    if (lw_type_kind_of(f->l->types, object.type) == LW_TK_MEMBER)
        return lw_lower_member_value(f, node, object);
    bool imaginary = strcmp(name, "imag") == 0;
    if (object.n == 2 && (imaginary || strcmp(name, "real") == 0)) {
        lw_ref part = object.parts[imaginary];
        lw_lower_value made = lw_value_scalar(f, (lw_type)lw_ir_type(&f->b, part), part);
        return lw_value_convert(f, made, type);
    }
    if (object.n == 1 && imaginary)
        return lw_value_zero(f, type);
    if (object.n == 1 &&
        (strcmp(name, "real") == 0 || lw_type_numbers(f->l->types, object.type) != NULL))
        return lw_value_convert(f, object, type);
    return lw_lower_fail(f, node, "an attribute");
}

static bool
constant_integer(const lw_lower_frame *f, uint32_t node, int64_t *value)
{
    uint32_t constant = node ? lw_typed_at(f, node)->constant : 0;
    const lw_constant *k = constant ? lw_typed_constant(f->l->typed, constant) : NULL;

    if (k == NULL || (k->kind != LW_K_INT && k->kind != LW_K_BOOL && k->kind != LW_K_SCALAR))
        return false;
    *value = lw_varying_fix(k)->i;
    return true;
}

/* The type of an item, or of a slice, of a tuple; it is unwrapped after it was selected. */
static lw_type
item_type(const lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);

    return t->unwraps && t->operand != LW_T_BOTTOM ? t->operand : lw_lower_type_of(f, node);
}

/* Elements start, start + step, … as slice.indices of Python selects them. */
static lw_lower_value
lower_slice(lw_lower_frame *f, uint32_t node, lw_lower_value tuple, uint32_t slice)
{
    const lw_node *s = lw_node_at(f, slice);
    int64_t n = lw_type_get(f->l->types, tuple.type)->n, step = 1, bounds[2];
    lw_type type = item_type(f, node);
    uint32_t total = lw_parts_of(f->l->types, type), at = 0;
    lw_ref *parts = lw_arena_take(f->l->arena, (total + 1) * sizeof *parts);

    constant_integer(f, s->c, &step);
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    bounds[0] = step < 0 ? high : low;
    bounds[1] = step < 0 ? low : high;
    for (int i = 0; i < 2; i++) {
        int64_t given;
        if (!constant_integer(f, i == 0 ? s->a : s->b, &given))
            continue;
        given = given < 0 ? given + n : given;
        bounds[i] = given < low ? low : given > high ? high : given;
    }
    if (step == 0)
        return lw_lower_fail(f, node, "a slice with step 0");
    for (int64_t i = bounds[0]; parts && (step > 0 ? i < bounds[1] : i > bounds[1]);
         i += step) {
        lw_lower_value element = lw_value_element(f, tuple, (uint32_t)i);
        for (uint32_t j = 0; j < element.n && at < total; j++)
            parts[at++] = element.parts[j];
    }
    return (lw_lower_value){.type = type, .n = parts ? at : 0, .parts = parts};
}

/* Whether the node is an item of a tuple, with an index that is known only at run time. */
static bool
is_choice(const lw_lower_frame *f, const lw_node *n)
{
    lw_type tuple = lw_typed_at(f, n->a)->type;
    uint32_t constant = lw_typed_at(f, n->b)->constant;
    int64_t index;

    if (lw_type_kind_of(f->l->types, tuple) != LW_TK_TUPLE ||
        lw_node_at(f, n->b)->kind == LW_NODE_SLICE || constant_integer(f, n->b, &index))
        return false;
    return constant == 0 || lw_typed_constant(f->l->typed, constant)->kind != LW_K_STR;
}

static lw_lower_value
lower_subscript(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    lw_type type = item_type(f, node);
    lw_lower_value tuple, field;
    int64_t index;

    if (is_choice(f, n))
        return lw_lower_choose(f, node, n->a, n->b, type);
    tuple = lw_lower_expression(f, n->a);
    const char *name = lw_lower_field_name(f, node, tuple.type);
    if (name)
        return lw_lower_field(f, tuple, name, type);
    if (lw_type_kind_of(f->l->types, tuple.type) == LW_TK_ARRAY)
        return lw_lower_array_subscript(f, node, tuple);
    tuple = lw_lower_items(f, tuple);
    if (!lw_value_is_tuple(&tuple, f))
        return lw_lower_fail(f, node, "a subscript of what is no tuple");
    if (lw_node_at(f, n->b)->kind == LW_NODE_SLICE)
        return lower_slice(f, node, tuple, n->b);
    if (constant_integer(f, n->b, &index)) {
        int64_t count = lw_type_get(f->l->types, tuple.type)->n;
        index = index < 0 ? index + count : index;
        if (index < 0 || index >= count)
            return lw_lower_fail(f, node, "an index beyond the end of a tuple");
        return lw_value_convert(f, lw_value_element(f, tuple, (uint32_t)index), type);
    }
    uint32_t constant = lw_typed_at(f, n->b)->constant;
    if (!named_element(f, tuple, lw_typed_constant(f->l->typed, constant)->text, &field))
        return lw_lower_fail(f, node, "a field that the record lacks");
    return lw_value_convert(f, field, type);
}

/* A function as a value is the tuple of what it captures: its argument list names the webs. */
static lw_lower_value
lower_function(lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    uint32_t total = lw_parts_of(f->l->types, t->type), at = 0;
    lw_ref *parts = lw_arena_take(f->l->arena, (total + 1) * sizeof *parts);

    for (uint32_t i = 0; parts && i < t->n_args; i++) {
        const lw_type_row *row = lw_type_get(f->l->types, t->type);
        lw_lower_value value = entry_as(f, entry_at(f, t->args + i), row->elements[i]);
        for (uint32_t j = 0; j < value.n && at < total; j++)
            parts[at++] = value.parts[j];
    }
    return (lw_lower_value){.type = t->type, .n = parts ? at : 0, .parts = parts};
}

/* ---- entry points ---- */

static lw_lower_value
lower_walrus(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    lw_lower_value value = lw_lower_expression(f, n->b);
    uint32_t web = lw_typed_at(f, n->a)->web;

    /* `a and (y := b)` assigns in a region that ends before y is used: a slot outlives the
     * region */
    f->slotted[web] = true;
    if (lw_lower_walrus_replaces(f, web)) /* as in f(y, (y := x)) */
        (void)lw_lower_guard(f, lw_lower_web_read(f, web));
    lw_lower_assign(f, n->a, value);
    return value;
}

static lw_lower_value
lower_name(lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);

    lw_lower_ask_bound(f, node, t->web);
    if (t->web != 0)
        return lw_value_convert(f, lw_lower_web_read(f, t->web), lw_lower_type_of(f, node));
    if (lw_type_kind_of(f->l->types, t->type) == LW_TK_FUNCTION)
        return lower_function(f, node);
    return no_value();
}

static lw_lower_value
lower_kind(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);

    if (lw_lower_calls_method(f, node))
        return lower_method(f, node);
    switch (n->kind) {
    case LW_NODE_CONSTANT:
        return lw_typed_at(f, node)->call == LW_CALL_NAMED /* cuda.threadIdx.x */
                   ? lw_lower_named(f, node)
                   : lw_value_constant(f, n->a, lw_typed_at(f, node)->type);
    case LW_NODE_NAME: return lower_name(f, node);
    case LW_NODE_UNARY: return lower_unary(f, node);
    case LW_NODE_BINARY: return lower_binary(f, node);
    case LW_NODE_BOOLOP: return lw_lower_boolop(f, node);
    case LW_NODE_COMPARE: return lw_lower_compare_chain(f, node);
    case LW_NODE_IFEXP: return lw_lower_ifexp(f, node);
    case LW_NODE_CALL: return lower_call(f, node);
    case LW_NODE_ARG_KEYWORD: return lw_lower_expression(f, n->b);
    case LW_NODE_ATTRIBUTE: return lower_attribute(f, node);
    case LW_NODE_SUBSCRIPT: return lower_subscript(f, node);
    case LW_NODE_TUPLE: return lower_tuple(f, node);
    case LW_NODE_ON_GPU:
        return lw_value_scalar(f, LW_DT_b1, lw_ir_emit(&f->b, LW_OP_ON_GPU, LW_DT_b1, 0, 0, 0));
    case LW_NODE_WALRUS: return lower_walrus(f, node);
    case LW_NODE_LAMBDA: return lower_function(f, node);
    default: return lw_lower_fail(f, node, lw_node_text[n->kind]);
    }
}

/* ---- what a call that never returns leaves unfinished ---- */

/* The operands that are nodes, in the order of evaluation; lists of nodes are one operand. */
static const char *
operands_of(const lw_node *n)
{
    static const char *const args[LW_N_NODE_KINDS] = {
#define NODE(name, text, args, doc) [LW_NODE_##name] = args,
#include "core/tables/nodes.def"
    };

    return n->kind == LW_NODE_FOR ? "-n-" : args[n->kind]; /* its items come later */
}

/* Evaluates the node as far as Python does before it calls `stop`, for the effects. Whether
 * the call has been reached. */
static bool
lower_before(lw_lower_frame *f, uint32_t node, uint32_t stop, bool is_root)
{
    const lw_node *n = lw_node_at(f, node);
    const lw_typed_node *t = lw_typed_at(f, node);
    const char *operands = operands_of(n);
    const uint32_t items[] = {n->a, n->b, n->c};
    bool reached = false;

    if (node == stop || (t->type != LW_T_BOTTOM && !t->elementwise && !is_root &&
                         !(n->flags & LW_NODE_STORE) && n->kind != LW_NODE_LINK)) {
        if (lw_cost_expression(f, node) >= LW_COST_NEVER)
            lw_lower_expression(f, node);
        return node == stop;
    }
    for (int i = 0; i < 3 && !reached; i++) {
        if (operands[i] == 'n' && items[i] != 0)
            reached = lower_before(f, items[i], stop, false);
        for (uint32_t k = 0; operands[i] == 'L' && k < n->c && !reached; k++)
            reached = lower_before(f, lw_list_at(f, n->b + k), stop, false);
    }
    return reached;
}

void
lw_lower_until_stop(lw_lower_frame *f, uint32_t node)
{
    uint32_t stop = lw_typed_at(f, node)->stops;

    if (stop == node)
        lower_kind(f, node);
    else if (!lower_before(f, node, stop, true))
        lw_lower_fail(f, node, "a call that is not reached");
}

lw_lower_value
lw_lower_expression(lw_lower_frame *f, uint32_t node)
{
    uint32_t outer = f->node, loc = f->b.loc;
    const lw_typed_node *t = lw_typed_at(f, node);
    const lw_lower_value *leaf = lw_lower_leaf(f, node);

    if (leaf != NULL)
        return *leaf;
    if (t->constant)
        return lw_value_constant(f, t->constant, t->type);
    if (t->stops) {
        lw_lower_until_stop(f, node);
        return (lw_lower_value){.type = LW_T_BOTTOM};
    }
    lw_lower_set_loc(f, node);
    lw_lower_value value = t->element != LW_T_BOTTOM && node != f->made_node
                               ? lw_lower_made_array(f, node)
                               : lower_kind(f, node);
    if (t->unwraps)
        value = lw_value_convert(f, value, t->type);
    if (t->decays)
        value = lw_lower_asked(f, node, value);
    f->node = outer;
    f->b.loc = loc;
    return value;
}

/* Constants are made in the wanted type directly: no cast is needed, and their value stays
 * visible. */
lw_lower_value
lw_lower_as(lw_lower_frame *f, uint32_t node, lw_type type)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    lw_type_kind kind = lw_type_kind_of(f->l->types, type);
    bool scalar = kind == LW_TK_SCALAR || kind == LW_TK_WEAK || kind == LW_TK_LITERAL;

    if (t->constant && scalar && lw_lower_leaf(f, node) == NULL &&
        lw_parts_of(f->l->types, t->type) > 0 &&
        lw_type_kind_of(f->l->types, t->type) != LW_TK_TUPLE)
        return lw_value_constant(f, t->constant, type);
    lw_lower_value value = lw_lower_expression(f, node);
    return t->stops ? lw_value_zero(f, type) : lw_value_convert(f, value, type);
}
