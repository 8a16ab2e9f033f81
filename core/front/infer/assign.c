/* Assignments: names, tuples of targets, attributes, items; `x += y`, `x: float32 = y`. */
#include "core/front/infer/infer_internal.h"
#include "core/front/records.h"

#include <assert.h>
#include <string.h>

/* a, b, c = p[j]: the items of an array, or of a list, whose number is compared at run time.
 * of: the array, or what holds the items of a list of tuples or arrays. */
static lw_status
assign_items(lw_infer_frame *f, uint32_t target, lw_type of)
{
    const lw_node *n = lw_node_of(f, target);
    lw_infer_value item = {LW_T_BOTTOM, 0};
    int64_t count = -1;
    lw_status status = LW_OK;

    if (lw_array_row(f, of))
        LW_TRY(lw_infer_array_items(f, target, of, &item.type, &count));
    else
        item.type = lw_item_of_rows(f, of);
    if (count >= 0 && count != n->c)
        return lw_complain(f, n->loc, "E153",
                           lw_format_text(f, "%u target%s here, the array has %lld item%s",
                                          n->c, n->c == 1 ? "" : "s", (long long)count,
                                          count == 1 ? "" : "s"),
                           NULL, "wrong number of values to unpack");
    f->can_raise |= count < 0 && !f->run->typed->options.ignore_errors;
    lw_typed_in(&f->nodes, target)->operand = item.type;
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
    if (found && lw_typed_in(&f->nodes, target)->asks == 0)
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
complain_no_tuple(lw_infer_frame *f, uint32_t loc, lw_infer_value value, bool are_rows,
                  bool is_array)
{
    return lw_complain(
        f, loc, "E120", lw_format_text(f, "the value is %s", lw_describe_value(f, value)),
        are_rows || is_array ? "unpack a list of it, `a, *b = list(x)`, or take slices: "
                               "`rest = row[1:]`"
                             : NULL,
        are_rows   ? "a list of tuples or arrays cannot be unpacked with `*`"
        : is_array ? "an array cannot be unpacked with `*`"
                   : "only a tuple, a list or an array can be unpacked");
}

static lw_status
complain_wrong_number(lw_infer_frame *f, uint32_t loc, const lw_type_row *row,
                      uint32_t n_targets)
{
    return lw_complain(f, loc, "E153",
                       lw_format_text(f, "%u target%s here, the %s has %u item%s", n_targets,
                                      n_targets == 1 ? "" : "s",
                                      row->is_list ? "list" : "tuple", row->n,
                                      row->n == 1 ? "" : "s"),
                       NULL, "wrong number of values to unpack");
}

static lw_status
assign_tuple(lw_infer_frame *f, uint32_t target, lw_infer_value value)
{
    const lw_node *n = lw_node_of(f, target);
    const uint32_t *items = f->run->tree->lists.data + n->b;
    const lw_type_row *row;
    uint32_t n_values, n_fixed = n->c, star = n->c, at = 0;
    bool are_rows = lw_has_grown(f, value.type), is_array;
    lw_status status = LW_OK;

    LW_TRY(unpacked_value(f, target, &value));
    are_rows = are_rows && lw_type_get_kind(lw_types_of(f), value.type, LW_TK_TUPLE) != NULL;
    row = are_rows ? NULL : lw_tuple_row(f, value.type);
    n_values = row ? row->n : 0;
    for (uint32_t i = 0; i < n->c; i++)
        if (lw_node_of(f, items[i])->kind == LW_NODE_STAR) {
            star = i;
            n_fixed = n->c - 1;
        }
    is_array = lw_array_row(f, value.type) != NULL;
    if ((are_rows || is_array) && star == n->c)
        return assign_items(f, target, value.type);
    if (value.type != LW_T_BOTTOM && row == NULL)
        return complain_no_tuple(f, n->loc, value, are_rows, is_array);
    if (row && (star == n->c ? n_values != n_fixed : n_values < n_fixed))
        return complain_wrong_number(f, n->loc, row, n_fixed);
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
        LW_TRY(lw_check_kept(f, n->loc, value.type));
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
            f->incoming = *lw_note_at(f, source);
        status = lw_assign(f, target, value);
        f->source = 0;
        f->incoming = (lw_note){0};
        return status;
    }
    for (uint32_t i = 0; i < t->c; i++) {
        uint32_t part = lists[s->b + i];
        lw_infer_value one = {lw_typed_in(&f->nodes, part)->type,
                              lw_typed_in(&f->nodes, part)->constant};
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
        *lw_note_at(f, node) = (lw_note){0};
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
        if (i == 0 && (lw_class_of(f, args[0].value.type) == NULL ||
                       lw_class_of(f, args[0].value.type)->grown))
            goto fail; /* lists and dicts have methods of their own, which evaluate the value
                          first */
        held[i] = lw_hold(f, args[i].node);
    }
    for (int i = 0; i < 3; i++)
        lw_unhold(f, held[i]);
    LW_TRY(lw_infer_overloaded_operator(f, node, "__setitem__", args, 3, found, &result));
    lw_typed_in(&f->nodes, node)->type = result.type;
fail:
    if (before.reach && status == LW_OK && !*found)
        lw_flow_set(f, &before); /* it is inferred again, as another assignment */
    lw_flow_put(f, &before);
    return status;
}

/* Whether all targets are variables, which may hold None. */
static bool
assigns_names(lw_infer_frame *f, uint32_t start, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (lw_node_of(f, f->run->tree->lists.data[start + i])->kind != LW_NODE_NAME)
            return false;
    return true;
}

/* The same, or tuples of them: items that are assigned may be None, too. */
static bool
assigns_items(lw_infer_frame *f, uint32_t start, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const lw_node *target = lw_node_of(f, f->run->tree->lists.data[start + i]);
        bool takes = target->kind == LW_NODE_NAME ||
                     (target->kind == LW_NODE_TUPLE && assigns_items(f, target->b, target->c));
        if (!takes)
            return false;
    }
    return true;
}

lw_status
lw_infer_assign(lw_infer_frame *f, uint32_t node)
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
    f->wants_optional = assigns_names(f, n->b, n->c);
    f->wants_items = assigns_items(f, n->b, n->c);
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

lw_status
lw_infer_augmented_value(lw_infer_frame *f, uint32_t node, lw_arg before, lw_infer_value y,
                         bool *by_method, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    lw_typed_node *typed;
    lw_status status;

    LW_TRY(lw_infer_object_binary(f, node, (lw_pyop)n->op, before,
                                  (lw_arg){.node = n->b, .entry = n->b, .value = y}, by_method,
                                  out));
    if (!*by_method)
        LW_TRY(lw_infer_binary(f, node, (lw_pyop)n->op, (lw_infer_operand){n->a, before.value},
                               (lw_infer_operand){n->b, y}, out));
    typed = lw_typed_in(&f->nodes, node);
    typed->type = out->type;
    typed->element = LW_T_BOTTOM;
    typed->constant = out->constant;
    status = lw_infer_number(f, node, out);
fail:
    return status;
}

lw_status
lw_infer_augassign(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node), *target = lw_node_of(f, n->a);
    lw_typed_node *typed = lw_typed_in(&f->nodes, n->a);
    lw_infer_value x, y, result = {LW_T_BOTTOM, 0};
    lw_arg before = {.node = n->a};
    lw_status status;
    uint32_t held;
    bool found;

    if (target->kind == LW_NODE_SUBSCRIPT || target->kind == LW_NODE_ATTRIBUTE)
        return lw_infer_augmented_store(f, node);
    if (target->kind != LW_NODE_NAME || !(target->flags & LW_NODE_STORE))
        return lw_assign(f, n->a, (lw_infer_value){LW_T_BOTTOM, 0}); /* it is reported */
    LW_TRY(lw_use_name(f, n->a, &x, &typed->target));
    typed->unwraps = typed->decays = false;
    lw_unwrap(f, n->a, &x);
    typed->operand = typed->type = x.type;
    typed->constant = x.constant;
    held = lw_hold(f, n->a);
    status = lw_infer_borrowed(f, n->b, &y);
    lw_unhold(f, held);
    LW_TRY(status);
    if (lw_array_row(f, x.type) && lw_is_elementwise(f, x.type)) /* the name stays what it is */
        return y.type != LW_T_BOTTOM ? lw_infer_augmented_array(f, node, x, y) : LW_OK;
    LW_TRY(lw_infer_added(f, node, x, &y, &found));
    if (!found)
        return LW_OK;
    before.value = x;
    before.entry = x.constant ? LW_ARG_CONSTANT | x.constant : LW_ARG_WEB | typed->target;
    LW_TRY(lw_infer_augmented_value(f, node, before, y, &found, &result));
    if (!found && lw_holds_objects(f, result.type)) /* of tuples */
        lw_lose_node(f, n->b);
    LW_TRY(lw_define(f, target->a, n->a, result));
    if (found && f->notes != NULL)
        lw_take(f, target->a, result.type, lw_note_at(f, node));
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
        f->incoming = *lw_note_at(f, n->c);
    LW_TRY(lw_assign(f, n->a, value));
fail:
    f->source = 0;
    f->incoming = (lw_note){0};
    return status;
}

lw_type
lw_annotated_type(lw_infer_frame *f, const lw_sig_type *annotation)
{
    lw_type *items;

    if (annotation->kind == LW_SIG_SCALAR)
        return (lw_type)annotation->dtype;
    if (annotation->kind != LW_SIG_TUPLE)
        return LW_T_BOTTOM;
    items = lw_arena_take(f->run->arena, (annotation->n + 1) * sizeof *items);
    for (uint32_t i = 0; items && i < annotation->n; i++)
        items[i] = lw_annotated_type(f, &annotation->items[i]);
    return items ? lw_type_tuple(lw_types_of(f), items, annotation->n, NULL) : LW_T_BOTTOM;
}

/* An annotation with a type of ours or NumPy's fixes the variable's type. Python's own (`x:
 * float`) are hints for readers, as in Python. */
lw_status
lw_infer_annassign(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node), *target = lw_node_of(f, n->a);
    const lw_sig_type annotation = lw_type_of_annotation(f, n->b);
    lw_type pinned = lw_annotated_type(f, &annotation);
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
        lw_take(f, target->a, value.type, lw_note_at(f, n->c));
fail:
    return status;
}
