/* Lists, dicts and sets that grow, objects of the classes of lanewise/_growing_lists.py and
 * lanewise/_growing_dicts.py: slices and items of them, and what takes one where an array is
 * wanted. */
#include "core/front/infer/call.h"

#include "core/front/named.h"

#include <string.h>

static lw_grown_kind
grown_kind(lw_infer_frame *f, lw_type type)
{
    const lw_class *class = lw_class_by_value(f, type);

    return class ? class->grown : LW_GROWN_NONE;
}

bool
lw_has_grown(lw_infer_frame *f, lw_type type)
{
    return grown_kind(f, type) != LW_GROWN_NONE;
}

bool
lw_is_dict_view(lw_infer_frame *f, lw_type type)
{
    return grown_kind(f, type) == LW_GROWN_VIEW;
}

static bool
has_dict_view(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_tuple_row(f, type);
    bool has = lw_is_dict_view(f, type);

    for (uint32_t i = 0; row && !has && i < row->n; i++)
        has = has_dict_view(f, row->elements[i]);
    return has;
}

lw_status
lw_check_kept(lw_infer_frame *f, uint32_t loc, lw_type type)
{
    if (f->fn->of_package || !has_dict_view(f, type))
        return LW_OK;
    return lw_complain(f, loc, "E165", "it has the items that the dict has at this moment",
                       "loop over it, or make a list, `list(d.keys())`",
                       "what keys(), values() and items() give cannot be kept");
}

/* Whether what holds the items of this type holds lists or dicts, by references to them. */
static bool
are_containers(lw_infer_frame *f, lw_type items)
{
    const lw_class *class = lw_class_by_value(f, items);

    return class != NULL && (class->items == LW_ITEMS_CONTAINERS || class->is_typed);
}

const char *
lw_getter_of(lw_infer_frame *f, uint32_t node, lw_type object)
{
    lw_grown_kind kind = grown_kind(f, object);
    bool is_typed = kind != LW_GROWN_NONE && lw_class_by_value(f, object)->is_typed;
    const char *items = NULL;

    if (kind == LW_GROWN_LIST)
        items = is_typed ? "like" : "items";
    else if (kind == LW_GROWN_DICT)
        items = is_typed ? "value_like" : "value_items";
    return items != NULL && f->run->lends &&
                   ((lw_node_of(f, node)->flags & LW_NODE_LENT) || f->lent == node) &&
                   are_containers(f, lw_field_of_object(f, object, items))
               ? "__lentitem__"
               : "__getitem__";
}

static bool
is_typed_list(lw_infer_frame *f, lw_type type)
{
    return grown_kind(f, type) == LW_GROWN_LIST && lw_class_by_value(f, type)->is_typed;
}

const char *
lw_iterator_method(lw_infer_frame *f, uint32_t node, lw_type object)
{
    return f->lent == node && is_typed_list(f, object) ? "__lentiter__" : "__iter__";
}

void
lw_note_quiet(lw_infer_frame *f, uint32_t loop, lw_type iterable, bool resizes)
{
    uint8_t *quiet = &lw_typed_in(&f->nodes, loop)->quiet;
    uint8_t is = resizes ? LW_NOT_QUIET : LW_QUIET;

    if (!(lw_node_of(f, loop)->flags & LW_NODE_LENT) || !f->run->lends ||
        *quiet == LW_NOT_QUIET || *quiet == is || !is_typed_list(f, iterable))
        return;
    *quiet = is;
    f->changed = true;
}

/* The bounds that stand in the brackets, as keyword arguments. */
static lw_status
add_bounds(lw_infer_frame *f, uint32_t slice, lw_arg *args, uint32_t *n)
{
    static const char *const names[] = {"start", "stop", "step"};
    const lw_node *s = lw_node_of(f, slice);
    const uint32_t bounds[] = {s->a, s->b, s->c};
    lw_status status = LW_OK;
    const lw_infer_value *value;

    for (int i = 0; i < 3; i++) {
        if (bounds[i] == 0)
            continue;
        args[*n] = (lw_arg){.node = bounds[i], .entry = bounds[i], .keyword = names[i]};
        f->wants_optional = true;
        LW_TRY(lw_infer_expr(f, bounds[i], &args[*n].value));
        value = &args[(*n)++].value;
        LW_TRY(lw_infer_check_bound(f, bounds[i], *value, i == 2));
    }
fail:
    return status;
}

/* The call that `node` is, of a method of the list. */
static lw_status
call_method(lw_infer_frame *f, uint32_t node, const char *name, lw_arg *args, uint32_t n,
            lw_infer_value *out)
{
    const lw_class_member *method =
        lw_member_of(lw_class_by_value(f, args[0].value.type), name);

    if (method == NULL)
        return lw_complain(f, lw_node_of(f, node)->loc, "E165", NULL, NULL,
                           "items of a %s cannot be assigned",
                           lw_class_by_value(f, args[0].value.type)->name);
    for (uint32_t i = 1; i < n; i++)
        if (args[i].value.type == LW_T_BOTTOM)
            return LW_OK;
    return lw_infer_call_member(f, node, method, args, n, out);
}

/* The index, or the bounds, in the brackets. *n: of the arguments so far. */
static lw_status
add_index(lw_infer_frame *f, uint32_t index, lw_arg *args, uint32_t *n)
{
    if (lw_node_of(f, index)->kind == LW_NODE_SLICE)
        return add_bounds(f, index, args, n);
    args[*n] = (lw_arg){.node = index, .entry = index};
    return lw_infer_borrowed(f, index, &args[(*n)++].value);
}

lw_status
lw_infer_list_slice(lw_infer_frame *f, uint32_t node, lw_infer_value object, bool *found,
                    lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    lw_arg args[4] = {{.node = n->a, .entry = n->a, .value = object}};
    uint32_t n_args = 1, held;
    lw_status status;

    *found = grown_kind(f, object.type) == LW_GROWN_LIST;
    if (!*found)
        return LW_OK;
    held = lw_hold(f, n->a);
    status = add_bounds(f, n->b, args, &n_args);
    lw_unhold(f, held);
    LW_TRY(status);
    LW_TRY(call_method(f, node, "__getslice__", args, n_args, out));
fail:
    return status;
}

lw_status
lw_infer_list_store(lw_infer_frame *f, uint32_t target, lw_infer_value object,
                    lw_infer_value value)
{
    const lw_node *n = lw_node_of(f, target);
    bool is_slice = lw_node_of(f, n->b)->kind == LW_NODE_SLICE;
    lw_arg stored = {.node = f->source ? f->source : target, .entry = LW_ARG_STORED};
    lw_arg args[5] = {{.node = n->a, .entry = n->a, .value = object}};
    uint32_t n_args = 1 + is_slice, held = lw_hold(f, n->a);
    lw_infer_value nothing = {LW_T_BOTTOM, 0};
    lw_status status;

    LW_TRY(lw_infer_before_stores(f, stored.node, &value));
    stored.value.type = value.type;
    args[1] = stored;
    if (is_slice && grown_kind(f, object.type) != LW_GROWN_LIST)
        status = lw_complain(f, lw_node_of(f, n->b)->loc, "E165", NULL, NULL,
                             "a %s cannot be sliced", lw_class_by_value(f, object.type)->name);
    else
        status = add_index(f, n->b, args, &n_args);
    lw_unhold(f, held);
    LW_TRY(status);
    if (!is_slice)
        args[n_args++] = stored;
    LW_TRY(call_method(f, target, is_slice ? "__setslice__" : "__setitem__", args, n_args,
                       &nothing));
    lw_typed_in(&f->nodes, target)->type = nothing.type;
fail:
    return status;
}

lw_status
lw_infer_augmented_item(lw_infer_frame *f, uint32_t node, lw_infer_value object)
{
    const lw_node *n = lw_node_of(f, node), *target = lw_node_of(f, n->a);
    lw_constant op = {.kind = LW_K_STR, .text = lw_pyop_text[n->op]};
    lw_arg args[4] = {{.node = target->a, .entry = target->a, .value = object},
                      {.node = target->b, .entry = target->b},
                      {.node = n->b, .entry = n->b},
                      {.node = node}};
    uint32_t held[3] = {lw_hold(f, target->a), 0, 0}, name;
    lw_infer_value nothing = {LW_T_BOTTOM, 0};
    lw_status status = LW_OK;

    if (lw_node_of(f, target->b)->kind == LW_NODE_SLICE)
        status = lw_complain(f, target->loc, "E165", NULL,
                             "write it in full: `x[i:j] = x[i:j] + ...`",
                             "an augmented assignment to a slice of a %s",
                             lw_class_by_value(f, object.type)->name);
    for (int i = 1; i < 3 && status == LW_OK; i++) {
        if (lw_node_of(f, args[i].node)->kind != LW_NODE_SLICE)
            status = lw_infer_borrowed(f, args[i].node, &args[i].value);
        if (status == LW_OK)
            status = lw_infer_before_stores(f, args[i].node, &args[i].value);
        held[i] = lw_hold(f, args[i].node);
    }
    for (int i = 0; i < 3; i++)
        lw_unhold(f, held[i]);
    LW_TRY(status);
    name = lw_constant_add(f, 0, &op);
    args[3].value = lw_constant_value(f, name);
    args[3].entry = LW_ARG_CONSTANT | name;
    LW_TRY(call_method(f, node, "__augment__", args, 4, &nothing));
    lw_typed_in(&f->nodes, node)->type = nothing.type;
fail:
    return status;
}

/* ---- lists as arrays ---- */

static lw_status
infer_array(lw_infer_frame *f, uint32_t node, lw_infer_value *value)
{
    const lw_class_member *method;
    lw_infer_value array;
    lw_status status;

    method = lw_member_of(lw_class_by_value(f, value->type), "__array__");
    LW_TRY(lw_infer_asked(f, node, method, *value, &array));
    *value = array;
    lw_typed_in(&f->nodes, node)->decays = lw_typed_in(&f->nodes, node)->asks != 0;
    lw_typed_in(&f->nodes, node)->type = array.type;
    lw_typed_in(&f->nodes, node)->constant = array.constant;
fail:
    return status;
}

lw_status
lw_infer_list_array(lw_infer_frame *f, uint32_t node, lw_infer_value *value)
{
    return grown_kind(f, value->type) == LW_GROWN_LIST ? infer_array(f, node, value) : LW_OK;
}

/* Python's functions that understand lists themselves, or show what they are given. */
static bool
takes_lists(lw_name_id name)
{
    switch (name) {
    case LW_NAME_builtins_len:
    case LW_NAME_builtins_bool:
    case LW_NAME_builtins_print:
    case LW_NAME_builtins_isinstance:
    case LW_NAME_builtins_type:
    case LW_NAME_builtins_enumerate:
    case LW_NAME_builtins_zip:
    case LW_NAME_builtins_reversed: return true;
    default: return false;
    }
}

/* Whether it is a list of arrays. */
static bool
has_arrays(lw_infer_frame *f, lw_type list)
{
    bool is_typed = lw_class_by_value(f, list)->is_typed;
    const lw_type_row *items =
        lw_type_get(lw_types_of(f), lw_field_of_object(f, list, is_typed ? "like" : "items"));
    lw_item_role role = items && items->user_class ? items->user_class->items : LW_ITEMS_NONE;

    return role == LW_ITEMS_ARRAYS || role == LW_ITEMS_ARRAY_KIND;
}

/* Whether it is a list of arrays that the function takes as such (array_functions.def). */
static bool
stays_list(lw_infer_frame *f, const lw_constant *callee, lw_type list, uint32_t i)
{
    const lw_fn *fn = callee->kind == LW_K_FUNCTION ? &f->run->tree->fns.data[callee->u] : NULL;

    return fn != NULL && fn->takes != NULL && i < strlen(fn->takes) && fn->takes[i] == 'l' &&
           has_arrays(f, list);
}

/* Whether argument i, of this kind, must be an array there: of a dict or a set NumPy's
 * functions make one element. */
static bool
takes_arrays_alone(lw_infer_frame *f, lw_infer_value callee, lw_type type, uint32_t i)
{
    const lw_constant *k = callee.constant ? lw_constant_of(f, callee.constant) : NULL;
    lw_grown_kind kind = grown_kind(f, type);

    if (k == NULL || k->overloaded || stays_list(f, k, type, i))
        return false;
    if (kind != LW_GROWN_LIST)
        return k->kind == LW_K_NAMED && !takes_lists((lw_name_id)k->u) &&
               strncmp(lw_names[k->u].path, "builtins.", strlen("builtins.")) == 0;
    if (k->kind == LW_K_NAMED)
        return !takes_lists((lw_name_id)k->u);
    return k->is_ufunc ||
           (k->kind == LW_K_FUNCTION && f->run->tree->fns.data[k->u].implements != NULL &&
            !f->run->tree->fns.data[k->u].takes_none); /* heapq */
}

lw_status
lw_infer_list_arguments(lw_infer_frame *f, lw_infer_value callee, lw_arg_list *args,
                        bool *unknown)
{
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < args->n; i++) {
        lw_arg *arg = &args->data[i];
        if ((arg->entry & LW_ARG_TAG) || !lw_has_grown(f, arg->value.type) ||
            !takes_arrays_alone(f, callee, arg->value.type, i))
            continue;
        LW_TRY(infer_array(f, arg->node, &arg->value));
        *unknown |= arg->value.type == LW_T_BOTTOM;
    }
fail:
    return status;
}

/* max(x) and min(x) of tuples, of which no array holds the items. */
lw_status
lw_infer_list_extreme(lw_infer_frame *f, uint32_t node, lw_infer_value callee,
                      const lw_arg_list *args, bool *found, lw_infer_value *out)
{
    const lw_constant *k = callee.constant ? lw_constant_of(f, callee.constant) : NULL;
    bool is_max = k && k->kind == LW_K_NAMED && k->u == LW_NAME_builtins_max;
    bool is_min = k && k->kind == LW_K_NAMED && k->u == LW_NAME_builtins_min;
    lw_grown_kind kind = args->n == 1 ? grown_kind(f, args->data[0].value.type) : LW_GROWN_NONE;
    bool is_list = kind == LW_GROWN_LIST || kind == LW_GROWN_VIEW, is_typed;
    const char *items = is_list ? "items" : "key_items";
    lw_arg arg;

    *found = false;
    if ((!is_max && !is_min) || kind == LW_GROWN_NONE)
        return LW_OK;
    arg = args->data[0];
    is_typed = lw_class_by_value(f, arg.value.type)->is_typed && kind != LW_GROWN_VIEW;
    if (is_typed)
        items = is_list ? "like" : "key_like";
    *found = lw_type_get_kind(lw_types_of(f), lw_field_of_object(f, arg.value.type, items),
                              LW_TK_TUPLE) != NULL;
    return *found ? call_method(f, node, is_max ? "__max__" : "__min__", &arg, 1, out) : LW_OK;
}

/* ---- items of lists of tuples and of arrays ---- */

lw_type
lw_item_of_rows(lw_infer_frame *f, lw_type rows)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), rows);
    lw_type *items;
    uint32_t n = row ? row->n : 0;

    if (row == NULL || row->kind == LW_TK_ARRAY)
        return row ? row->elements[0] : (lw_type)LW_T_BOTTOM;
    if (row->user_class != NULL && (row->user_class->items == LW_ITEMS_ARRAYS ||
                                    row->user_class->items == LW_ITEMS_CONTAINERS))
        return lw_type_in_slots(lw_types_of(f), lw_field_of_object(f, rows, "like"));
    if (row->user_class != NULL && row->user_class->items == LW_ITEMS_TEXTS)
        return lw_type_any_text(lw_types_of(f));
    items = lw_arena_take(f->run->arena, (n + 1) * sizeof *items);
    for (uint32_t i = 0; items && i < n; i++)
        items[i] = lw_item_of_rows(f, lw_type_get(lw_types_of(f), rows)->elements[i]);
    return items ? lw_type_tuple(lw_types_of(f), items, n, NULL) : (lw_type)LW_T_BOTTOM;
}
