/* Tuples: displays, elements, slices and attributes; and the items that a for loop takes from
 * any iterable. A tuple's length is part of its type; it is a constant if all its items are. A
 * run-time index needs items of one type, which it gives. */
#include "core/front/infer/infer_internal.h"
#include "core/front/records.h"

#include <assert.h>
#include <string.h>

const lw_type_row *
lw_tuple_row(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), type, LW_TK_TUPLE);

    return row && row->user_class && !row->user_class->is_tuple ? NULL : row;
}

lw_infer_value
lw_element(lw_infer_frame *f, lw_infer_value tuple, uint32_t i)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), tuple.type, LW_TK_TUPLE);
    const lw_constant *constant = tuple.constant ? lw_constant_of(f, tuple.constant) : NULL;

    if (constant && constant->kind == LW_K_TUPLE && i < constant->n)
        return lw_constant_value(f, constant->items[i]);
    if (row && i < row->n && lw_type_get_kind(lw_types_of(f), row->elements[i], LW_TK_STATIC))
        return lw_constant_value(f, lw_type_get(lw_types_of(f), row->elements[i])->fn);
    return (lw_infer_value){row && i < row->n ? row->elements[i] : (lw_type)LW_T_BOTTOM, 0};
}

/* Find a field of a namedtuple or a record by its name. */
static bool
named_element(lw_infer_frame *f, lw_infer_value object, const char *name, lw_infer_value *out)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), object.type, LW_TK_TUPLE);
    uint32_t i;

    if (row == NULL || row->names == NULL)
        return false;
    if (row->user_class && row->user_class->is_namedtuple && /* whose fields are descriptors */
        lw_member_of(row->user_class, name))
        return false;
    i = lw_type_field(row, name);
    if (i < row->n)
        *out = lw_element(f, object, i);
    return i < row->n && out->type != LW_T_ABSENT;
}

/* ---- tuple displays ---- */

/* The items of a tuple, or of a list. */
typedef struct values {
    lw_infer_value *data;
    uint32_t n, capacity;
    bool is_list;
} values;

static lw_status
complain_long_constant(lw_infer_frame *f, uint32_t node, uint32_t n)
{
    return lw_complain(f, lw_node_of(f, node)->loc, "E105",
                       n ? lw_format_text(f, "this tuple has %u items", n) : NULL,
                       "pass the numbers as an array", "a constant tuple of more than %d items",
                       LW_MAX_CONSTANT_ITEMS);
}

/* Append an item to the tuple that `node` makes. */
static lw_status
add_item(lw_infer_frame *f, uint32_t node, values *items, lw_infer_value value)
{
    lw_infer_value *slot;

    if (items->n >= LW_MAX_CONSTANT_ITEMS)
        return complain_long_constant(f, node, 0);
    slot = lw_array_push(items, f->run->arena);
    if (slot == NULL)
        return lw_out_of_memory(f);
    *slot = value;
    return LW_OK;
}

static lw_status
add_star(lw_infer_frame *f, uint32_t node, values *items)
{
    lw_infer_value value;
    const lw_type_row *row;
    lw_status status;
    uint32_t n;

    LW_TRY(lw_infer_expr(f, lw_node_of(f, node)->a, &value));
    lw_typed_in(&f->nodes, node)->type = value.type;
    row = lw_tuple_row(f, value.type);
    if (row == NULL)
        return value.type == LW_T_BOTTOM
                   ? LW_OK
                   : lw_complain(f, lw_node_of(f, node)->loc, "E120",
                                 lw_format_text(f, "this is %s", lw_describe_value(f, value)),
                                 NULL,
                                 "only a tuple can be unpacked with `*`, or be the argument "
                                 "of `tuple`");
    n = row->n;
    for (uint32_t i = 0; i < n; i++)
        LW_TRY(add_item(f, node, items, lw_element(f, value, i)));
fail:
    return status;
}

/* If all items are constant, the tuple is. */
static lw_status
tuple_constant(lw_infer_frame *f, uint32_t node, const values *items, const lw_constant *names,
               uint32_t *out)
{
    lw_constant constant = {.kind = LW_K_TUPLE, .n = items->n, .is_list = items->is_list};
    uint32_t *numbers;

    *out = 0;
    for (uint32_t i = 0; i < items->n; i++)
        if (items->data[i].constant == 0)
            return LW_OK;
    numbers = lw_arena_take(f->run->arena, (items->n + 1) * sizeof *numbers);
    if (numbers == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < items->n; i++)
        numbers[i] = items->data[i].constant;
    constant.items = numbers;
    constant.names = names ? names->names : NULL;
    constant.text = names ? names->text : NULL;
    constant.user_class = names ? names->user_class : NULL;
    *out = lw_node_constant(f, node, &constant);
    return LW_OK;
}

/* The items of a tuple and of the tuples in it; counting stops just beyond `most`. */
static uint32_t
items_in(lw_infer_frame *f, lw_type type, uint32_t most)
{
    const lw_type_row *row = lw_tuple_row(f, type);
    uint32_t n = 0;

    if (row == NULL)
        return 1;
    for (uint32_t i = 0; i < row->n && n <= most; i++)
        n += items_in(f, row->elements[i], most);
    return n;
}

/* A tuple that is not known at compile time is kept as its numbers. */
static lw_status
check_length(lw_infer_frame *f, uint32_t node, lw_infer_value *made)
{
    if (made->constant != 0 || items_in(f, made->type, LW_MAX_ITEMS) <= LW_MAX_ITEMS)
        return LW_OK;
    made->type = LW_T_BOTTOM;
    return lw_complain(f, lw_node_of(f, node)->loc, "E101", "with the items of its items",
                       "keep that many numbers in an array", "tuple of more than %d items",
                       LW_MAX_ITEMS);
}

/* An ellipsis is part of the type, so that an index that has one may be held in a variable. */
static lw_type
item_type(lw_infer_frame *f, lw_infer_value item)
{
    bool is_ellipsis = item.constant && lw_constant_of(f, item.constant)->kind == LW_K_ELLIPSIS;

    return is_ellipsis ? lw_field_type(f, item) : item.type;
}

/* The tuple of these items; it has no type yet if one of them has none. names: of a namedtuple,
 * or NULL. */
static lw_status
tuple_of(lw_infer_frame *f, uint32_t node, const values *items, const lw_constant *names,
         lw_infer_value *out)
{
    lw_type *types = lw_arena_take(f->run->arena, (items->n + 1) * sizeof *types);
    lw_status status;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (types == NULL)
        return lw_out_of_memory(f);
    assert(items->n == 0 || items->data != NULL);
    for (uint32_t i = 0; i < items->n; i++) {
        types[i] = item_type(f, items->data[i]);
        if (types[i] == LW_T_BOTTOM)
            return LW_OK;
    }
    if (names && names->user_class && names->user_class->structure)
        LW_TRY(lw_check_members(f, node, names->user_class, types));
    LW_TRY(tuple_constant(f, node, items, names, &out->constant));
    out->type = lw_type_tuple(lw_types_of(f), types, items->n,
                              names && names->n == items->n ? names->names : NULL);
    out->type =
        lw_type_tuple_of_class(lw_types_of(f), out->type, names ? names->user_class : NULL);
    out->type = lw_type_tuple_listed(lw_types_of(f), out->type, items->is_list);
    LW_TRY(check_length(f, node, out));
fail:
    return status;
}

lw_status
lw_tuple_of(lw_infer_frame *f, lw_type item, uint32_t n, lw_type *out)
{
    lw_type *types = lw_arena_take(f->run->arena, (n + 1) * sizeof *types);

    if (types == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < n; i++)
        types[i] = item;
    *out = lw_type_tuple(lw_types_of(f), types, n, NULL);
    return LW_OK;
}

lw_status
lw_infer_tuple(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    values items = {.is_list = n->flags & LW_NODE_LIST};
    lw_status status = LW_OK;
    bool unknown = false; /* an unpacked value has no type yet */
    const lw_constant *names = n->a ? lw_constant_of(f, n->a) : NULL;
    bool is_slice = names && names->user_class && names->user_class->is_slice;
    bool moves = f->moves, fresh = true, wants_items = f->wants_items || is_slice;

    f->moves = f->wants_items = false;
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t item = f->run->tree->lists.data[n->b + i];
        lw_infer_value value;

        if (lw_node_of(f, item)->kind == LW_NODE_STAR) {
            LW_TRY(add_star(f, item, &items));
            fresh = false;
            unknown |= lw_typed_in(&f->nodes, item)->type == LW_T_BOTTOM;
            continue;
        }
        f->wants_optional = f->wants_items = wants_items;
        LW_TRY(moves ? lw_infer_moved(f, item, &value) : lw_infer_expr(f, item, &value));
        if (lw_is_copied(f, item))
            return lw_complain_copied(f, item);
        LW_TRY(add_item(f, node, &items, value));
        fresh = fresh && (!lw_holds_objects(f, value.type) || lw_note_at(f, item)->fresh == 2);
    }
    if (f->notes != NULL)
        lw_note_at(f, node)->fresh = fresh ? 2 : 0;
    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (!unknown)
        LW_TRY(tuple_of(f, node, &items, names, out));
fail:
    return status;
}

/* ---- t[i] ---- */

static bool
int_constant(lw_infer_frame *f, lw_infer_value value, __int128 *out)
{
    return value.constant && lw_constant_any_int(lw_constant_of(f, value.constant), out);
}

static lw_status
constant_index(lw_infer_frame *f, uint32_t node, lw_infer_value tuple, __int128 index,
               lw_infer_value *out)
{
    uint32_t n = lw_tuple_row(f, tuple.type)->n;
    __int128 i = index < 0 ? index + n : index;

    if (i < 0 || i >= n)
        return lw_complain(f, lw_node_of(f, node)->loc, "E124",
                           lw_format_text(f, "index %lld, but there %s %u item%s",
                                          (long long)index, n == 1 ? "is" : "are", n,
                                          n == 1 ? "" : "s"),
                           NULL, "tuple index out of range");
    *out = lw_element(f, tuple, (uint32_t)i);
    return LW_OK;
}

/* Whether the items differ only in how they are known, not in how they are stored. */
static bool
stored_alike(lw_infer_frame *f, const lw_type *items, uint32_t n, lw_type joined)
{
    lw_types *types = lw_types_of(f);
    lw_type_kind kind = lw_type_kind_of(types, joined);

    if (kind == LW_TK_WEAK || kind == LW_TK_LITERAL)
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (items[i] != joined && kind == LW_TK_SCALAR &&
            lw_type_kind_of(types, items[i]) == LW_TK_SCALAR) /* weak items take its type */
            return false;
    return true;
}

/* The items are constants: a loop over them reads a table. */
static bool
is_table(lw_infer_frame *f, lw_infer_value tuple)
{
    return tuple.constant && lw_constant_of(f, tuple.constant)->kind == LW_K_TUPLE &&
           !lw_constant_is_static(f, tuple.constant);
}

/* Whether all items are lists or tuples. */
static bool
holds_lists(lw_infer_frame *f, const lw_type_row *row)
{
    for (uint32_t i = 0; i < row->n; i++)
        if (lw_tuple_row(f, row->elements[i]) == NULL)
            return false;
    return row->n > 0;
}

static lw_status
runtime_index(lw_infer_frame *f, uint32_t node, lw_infer_value tuple, lw_type *out)
{
    const lw_type_row *row = lw_tuple_row(f, tuple.type);
    const lw_type *items = row->elements;
    uint32_t n = row->n;
    const char *problem = NULL;

    if (n > LW_MAX_CONSTANT_ITEMS)
        return complain_long_constant(f, lw_node_of(f, node)->a, n);
    lw_type joined = n ? lw_join_optional(lw_types_of(f), lw_typing_of(f), items, n, &problem)
                       : (lw_type)LW_T_BOTTOM;

    if (n && !problem && joined != LW_T_STATIC && stored_alike(f, items, n, joined) &&
        !lw_mixes_records(f, items, n, joined)) {
        *out = joined;
        return LW_OK;
    }
    if (problem && strcmp(problem, "E130") == 0)
        return lw_complain(f, lw_node_of(f, node)->loc, problem,
                           lw_format_text(f, "`%s` is %s",
                                          lw_describe_source(f, lw_node_of(f, node)->a),
                                          lw_describe_type(f, tuple.type)),
                           lw_help_for_join(problem), "no 64-bit integer type holds all items");
    if (n && joined == LW_T_STATIC && !problem)
        return lw_complain(f, lw_node_of(f, node)->loc, "E104",
                           "one of several objects, chosen by numbers", lw_help_for_choice(),
                           "which constant this is would be known only at run time");
    return lw_complain(f, lw_node_of(f, node)->loc, "E124",
                       lw_format_text(f,
                                      "`%s` is %s: a run-time index needs elements of one type",
                                      lw_describe_source(f, lw_node_of(f, node)->a),
                                      lw_describe_type(f, tuple.type)),
                       holds_lists(f, row)
                           ? "lists of different lengths: pad them to an array of two axes, or "
                             "write them in the function, `x = [[1, 2], [3]]`"
                           : "cast the items when the tuple is made, or use `if`/`match`",
                       "run-time index into a tuple of mixed types");
}

/* The bound of a slice: constant, or absent. */
static lw_status
slice_bound(lw_infer_frame *f, uint32_t node, __int128 absent, __int128 *out)
{
    lw_infer_value value;
    lw_status status;

    *out = absent;
    if (node == 0)
        return LW_OK;
    LW_TRY(lw_infer_expr(f, node, &value));
    if (value.type == LW_T_NONE || value.type == LW_T_BOTTOM || int_constant(f, value, out))
        return LW_OK;
    return lw_complain(f, lw_node_of(f, node)->loc, "E124",
                       lw_format_text(f, "this is %s", lw_describe_value(f, value)),
                       "slice with constants, or index one item",
                       "the bounds of a tuple's slice must be constant integers");
fail:
    return status;
}

static __int128
clip(__int128 i, __int128 n, __int128 lo, __int128 hi)
{
    i = i < 0 ? i + n : i;
    return i < lo ? lo : i > hi ? hi : i;
}

static lw_status
slice_tuple(lw_infer_frame *f, uint32_t node, lw_infer_value tuple, lw_infer_value *out)
{
    assert(lw_tuple_row(f, tuple.type) != NULL &&
           lw_node_of(f, lw_node_of(f, node)->b)->kind == LW_NODE_SLICE);
    const lw_node *slice = lw_node_of(f, lw_node_of(f, node)->b);
    const __int128 absent = (__int128)1 << 100;
    __int128 from, to, step;
    uint32_t n = lw_tuple_row(f, tuple.type)->n;
    values items = {.is_list = lw_tuple_row(f, tuple.type)->is_list};
    lw_status status;

    LW_TRY(slice_bound(f, slice->a, absent, &from));
    LW_TRY(slice_bound(f, slice->b, absent, &to));
    LW_TRY(slice_bound(f, slice->c, 1, &step));
    if (step == 0)
        return lw_complain(f, slice->loc, "E141", NULL, NULL, "slice step cannot be zero");
    if (from == absent)
        from = step > 0 ? 0 : (__int128)n - 1;
    else
        from = step > 0 ? clip(from, n, 0, n) : clip(from, n, -1, (__int128)n - 1);
    if (to == absent)
        to = step > 0 ? (__int128)n : -1;
    else
        to = step > 0 ? clip(to, n, 0, n) : clip(to, n, -1, (__int128)n - 1);
    for (__int128 i = from; step > 0 ? i < to : i > to; i += step)
        LW_TRY(add_item(f, node, &items, lw_element(f, tuple, (uint32_t)i)));
    LW_TRY(tuple_of(f, node, &items, NULL, out));
fail:
    return status;
}

static lw_status
complain_not_indexable(lw_infer_frame *f, uint32_t node, lw_infer_value object)
{
    const lw_constant *constant = object.constant ? lw_constant_of(f, object.constant) : NULL;
    uint32_t loc = lw_node_of(f, node)->loc;
    bool is_object = constant && constant->kind == LW_K_OBJECT;

    if (object.type == LW_T_STATIC || lw_is_known_text(f, object.type))
        return lw_complain(
            f, loc, "E104", is_object ? lw_format_text(f, "this is %s", constant->text) : NULL,
            is_object ? constant->help
            : lw_is_known_text(f, object.type)
                ? "take its characters in Python, and pass them; a tuple of strings has "
                  "items, `(\"a\", \"b\", \"c\")[i]`"
                : NULL,
            "this constant cannot be indexed in compiled code");
    return lw_complain(
        f, loc, "E121", lw_format_text(f, "this is %s", lw_describe_value(f, object)),
        lw_is_text(f, object.type) ? "strings that are chosen at run time have no characters: "
                                     "choose among the results, "
                                     "`\"l\" if n < 0 else \"h\"`"
        : lw_type_is_number(f, object.type) ? lw_help_for_number(f, object)
                                            : "pass an array, if only of one element",
        "`%s` is not an array: it cannot be indexed",
        lw_describe_source(f, lw_node_of(f, node)->a));
}

/* t["name"], where t is a record by value. */
static lw_status
field_by_index(lw_infer_frame *f, uint32_t node, lw_infer_value object, lw_infer_value index,
               bool *is_field, lw_infer_value *out)
{
    const lw_constant *constant = index.constant ? lw_constant_of(f, index.constant) : NULL;

    *is_field =
        lw_tuple_row(f, object.type)->readonly && constant && constant->kind == LW_K_STR;
    if (!*is_field || named_element(f, object, constant->text, out))
        return LW_OK;
    return lw_complain(f, lw_node_of(f, node)->loc, "E161",
                       lw_format_text(f, "the object is %s", lw_describe_type(f, object.type)),
                       NULL, "the record has no field `%s`", constant->text);
}

/* object[index] by an overload, or by the class's own method. */
static lw_status
infer_object_subscript(lw_infer_frame *f, uint32_t node, lw_infer_value object, bool *found,
                       lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    lw_arg args[2] = {{.node = n->a, .entry = n->a, .value = object},
                      {.node = n->b, .entry = n->b}};
    lw_status status;
    uint32_t held;

    *found = false;
    if (lw_node_of(f, n->b)->kind == LW_NODE_SLICE)
        LW_TRY(lw_infer_list_slice(f, node, object, found, out));
    if (*found)
        return LW_OK;
    *found =
        lw_member_of(lw_class_of(f, object.type), "__getitem__") ||
        (lw_tuple_row(f, object.type) == NULL && !lw_record_row(lw_types_of(f), object.type));
    if (!*found || lw_node_of(f, n->b)->kind == LW_NODE_SLICE)
        return *found ? lw_complain(f, lw_node_of(f, n->b)->loc, "E165", NULL,
                                    "pass the bounds to a method",
                                    "an object cannot be sliced in compiled code")
                      : LW_OK;
    held = lw_hold(f, n->a);
    status = lw_infer_borrowed(f, n->b, &args[1].value);
    lw_unhold(f, held);
    LW_TRY(status);
    LW_TRY(lw_infer_overloaded_operator(f, node, "__getitem__", args, 2, found, out));
    if (!*found)
        LW_TRY(lw_infer_object_special(f, node, lw_getter_of(f, node, object.type), args, 2,
                                       found, out));
fail:
    return status;
}

/* Whose items have numbers, too. */
static bool
is_namedtuple_in_array(lw_infer_frame *f, lw_type type)
{
    const lw_class *class = lw_record_row(lw_types_of(f), type) ? lw_class_of(f, type) : NULL;

    return class && class->is_tuple;
}

static lw_status
infer_tuple_subscript(lw_infer_frame *f, uint32_t node, lw_infer_value object,
                      lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value index;
    lw_status status;
    bool is_field;
    __int128 i;

    lw_lose_node(f, n->a); /* if there are objects in it, one may get another name */
    if (lw_node_of(f, n->b)->kind == LW_NODE_SLICE) {
        status = slice_tuple(f, node, object, out);
        lw_typed_in(&f->nodes, node)->operand = out->type;
        return status;
    }
    LW_TRY(lw_infer_expr(f, n->b, &index));
    if (index.type == LW_T_BOTTOM)
        return LW_OK;
    if (int_constant(f, index, &i))
        return constant_index(f, node, object, i, out);
    LW_TRY(field_by_index(f, node, object, index, &is_field, out));
    if (is_field)
        return LW_OK;
    if (!lw_type_is_int(f, index.type) && index.type != LW_DT_b1)
        return lw_complain(f, lw_node_of(f, n->b)->loc, "E120",
                           lw_format_text(f, "this is %s", lw_describe_value(f, index)),
                           lw_type_is_real(f, index.type) ? "use `//`, or `int(...)`" : NULL,
                           "tuple index must be an integer");
    LW_TRY(runtime_index(f, node, object, &out->type));
    lw_typed_in(&f->nodes, node)->operand = out->type;
fail:
    return status;
}

lw_status
lw_infer_subscript(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    const lw_index *arrays;
    const char *name;
    lw_infer_value object, index;
    lw_status status;
    bool is_field;
    __int128 i;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    f->borrowed = f->wants_items = true;
    LW_TRY(lw_infer_expr(f, n->a, &object));
    if (object.type == LW_T_BOTTOM)
        return LW_OK;
    if (lw_class_of(f, object.type)) {
        LW_TRY(infer_object_subscript(f, node, object, &is_field, out));
        if (is_field)
            return LW_OK;
    }
    if (is_namedtuple_in_array(f, object.type)) {
        LW_TRY(lw_infer_expr(f, n->b, &index));
        object.type = lw_record_items(lw_types_of(f), object.type);
        if (int_constant(f, index, &i))
            return constant_index(f, node, object, i, out);
        object.type = lw_typed_in(&f->nodes, n->a)->type;
    }
    LW_TRY(lw_infer_field_name(f, node, object.type, &name));
    if (name)
        return lw_infer_field(f, node, object.type, name, &out->type);
    if (lw_record_row(lw_types_of(f), object.type))
        return LW_OK; /* reported in the last walk */
    if (lw_array_row(f, object.type)) {
        LW_TRY(lw_infer_array_subscript(f, node, object.type, &arrays, &out->type));
        return arrays ? lw_infer_index_arrays(f, node, out->type, arrays, NULL, out) : LW_OK;
    }
    if (lw_tuple_row(f, object.type) == NULL)
        return complain_not_indexable(f, node, object);
    return infer_tuple_subscript(f, node, object, out);
fail:
    return status;
}

/* ---- x.name ---- */

static bool
number_attribute(lw_infer_frame *f, uint32_t node, lw_infer_value object, const char *name,
                 lw_infer_value *out)
{
    lw_constant constant = {.kind = LW_K_DTYPE,
                            .dtype = lw_type_stored(lw_types_of(f), object.type)};

    if (!lw_type_is_time(object.type) &&
        (strcmp(name, "real") == 0 || strcmp(name, "imag") == 0)) {
        bool real = lw_type_is_complex(object.type);
        out->type = real ? lw_float_of(object.type) : object.type;
        if (!real && object.type == LW_DT_b1 && lw_weak_mode(f))
            out->type = LW_T_INDEX;
        return true;
    }
    if (strcmp(name, "dtype") != 0 || !lw_type_is_dtype(object.type))
        return false;
    constant.text = lw_dtypes[constant.dtype].public_name;
    out->type = LW_T_STATIC;
    out->constant = lw_node_constant(f, node, &constant);
    return true;
}

/* A.dtype.kind and A.dtype.name; NULL: another attribute. */
static const char *
text_of_dtype(lw_dtype dtype, const char *name)
{
    static const char *const kinds[] = {
        [LW_KIND_VOID] = "V",     [LW_KIND_BOOL] = "b",      [LW_KIND_UINT] = "u",
        [LW_KIND_INT] = "i",      [LW_KIND_FLOAT] = "f",     [LW_KIND_COMPLEX] = "c",
        [LW_KIND_DATETIME] = "M", [LW_KIND_TIMEDELTA] = "m", [LW_KIND_PTR] = "V",
    };

    if (strcmp(name, "kind") == 0) /* bfloat16 is ml_dtypes' */
        return dtype == LW_DT_bf16 ? "V" : kinds[lw_dtypes[dtype].kind];
    if (strcmp(name, "name") == 0)
        return dtype == LW_DT_b1 ? "bool" : lw_dtypes[dtype].public_name;
    return NULL;
}

/* A.dtype.type(0), A.dtype.itemsize, A.dtype.names, A.dtype.kind, A.dtype.name */
static bool
dtype_attribute(lw_infer_frame *f, uint32_t node, lw_infer_value object, const char *name,
                lw_infer_value *out)
{
    const lw_constant *constant = object.constant ? lw_constant_of(f, object.constant) : NULL;
    lw_constant none = {.kind = LW_K_NONE}, text = {.kind = LW_K_STR};

    if (constant != NULL && constant->kind == LW_K_RECORD)
        return lw_infer_record_dtype(f, node, constant->bytes, name, out);
    if (constant == NULL || constant->kind != LW_K_DTYPE)
        return false;
    text.text = text_of_dtype(constant->dtype, name);
    if (strcmp(name, "type") == 0)
        *out = object;
    else if (strcmp(name, "names") == 0)
        *out = lw_constant_value(f, lw_node_constant(f, node, &none));
    else if (strcmp(name, "itemsize") == 0)
        *out =
            lw_constant_value(f, lw_node_int(f, node, lw_dtypes[constant->dtype].size_bytes));
    else if (text.text != NULL)
        *out = lw_constant_value(f, lw_node_constant(f, node, &text));
    else
        return false;
    return true;
}

/* The same of a member that is a number. */
static bool
number_of_member(lw_infer_frame *f, uint32_t node, const lw_constant *member, bool is_name,
                 lw_infer_value *out)
{
    const lw_enum *of = member->members;

    for (uint32_t i = 0; of && i < of->n_numbers; i++)
        if (of->numbers[i].value == member->i) {
            *out = lw_constant_value(f, is_name ? of->numbers[i].name
                                                : lw_node_int(f, node, member->i));
            return true;
        }
    return false;
}

/* The value and the name of an enum member. */
static bool
member_attribute(lw_infer_frame *f, uint32_t node, lw_infer_value object, const char *name,
                 lw_infer_value *out)
{
    const lw_constant *member = object.constant ? lw_constant_of(f, object.constant) : NULL;
    bool is_name = strcmp(name, "name") == 0;

    if (member == NULL || (!is_name && strcmp(name, "value") != 0))
        return false;
    if (member->kind == LW_K_INT)
        return number_of_member(f, node, member, is_name, out);
    if (member->kind != LW_K_OBJECT || member->n != 2 || member->items[is_name] == 0)
        return false;
    *out = lw_constant_value(f, member->items[is_name]);
    return true;
}

static bool
is_object(lw_infer_frame *f, lw_infer_value value)
{
    return value.constant != 0 && lw_constant_of(f, value.constant)->kind == LW_K_OBJECT;
}

/* Whether it is a field of an object in an array; a property comes first. */
static bool
is_field_of_record(lw_infer_frame *f, lw_type type, const char *name)
{
    const lw_class *class = lw_record_row(lw_types_of(f), type) ? lw_class_of(f, type) : NULL;
    const lw_class_member *member = lw_member_of(class, name);

    return class && !(member && member->kind == LW_MEMBER_PROPERTY) &&
           lw_record_field_of(lw_types_of(f), type, name);
}

static lw_status
infer_attribute_of(lw_infer_frame *f, uint32_t node, lw_infer_value object, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    const char *name = lw_constant_text(f, n->b), *near;
    lw_status status;
    bool found = false;

    if (lw_array_row(f, object.type))
        LW_TRY(lw_infer_array_attribute(f, node, object.type, name, &found, out));
    if (found || object.type == LW_T_BOTTOM || dtype_attribute(f, node, object, name, out) ||
        member_attribute(f, node, object, name, out) || named_element(f, object, name, out) ||
        (lw_type_is_scalar(f, object.type) && number_attribute(f, node, object, name, out)))
        return lw_refuse_built_in_attribute(f, node, name, object);
    if (lw_enum_of(f, object.type) &&
        (object.constant == 0 || lw_type_numbers(lw_types_of(f), object.type) ||
         lw_method_of_member(f, object.type, name)))
        return lw_infer_member_attribute(f, node, object, name, out);
    if (is_field_of_record(f, object.type, name) || lw_is_own_attribute(f, object, name))
        LW_TRY(lw_refuse_built_in_attribute(f, node, name, object));
    if (is_field_of_record(f, object.type, name))
        return lw_infer_field(f, node, object.type, name, &out->type);
    if (lw_is_own_attribute(f, object, name)) {
        lw_arg self = {.node = n->a, .entry = n->a, .value = object};
        return lw_infer_own(f, node, name, &self, 1, out);
    }
    LW_TRY(lw_infer_overloaded_attribute(f, node, name, object, &found, out));
    if (found)
        return LW_OK;
    LW_TRY(lw_infer_object_attribute(f, node, object, name, &found, out));
    if (found)
        return LW_OK;
    if (strcmp(name, "dtype") == 0 && lw_record_row(lw_types_of(f), object.type) &&
        !lw_record_field_of(lw_types_of(f), object.type, name)) {
        *out = lw_infer_dtype_of(f, node, object.type);
        return LW_OK;
    }
    if (lw_record_of(lw_types_of(f), object.type))
        return lw_infer_field(f, node, object.type, name, &out->type);
    near = lw_near_attribute(f, object.type, name);
    return lw_complain(f, n->loc, "E161",
                       lw_format_text(f, "the object is %s", lw_describe_type(f, object.type)),
                       near != NULL ? near
                       : is_object(f, object)
                           ? "name it in full where it is used: no variable can hold it"
                       : lw_type_is_number(f, object.type) ? lw_help_for_number(f, object)
                                                           : lw_help_for_list(f, object, name),
                       "no attribute `%s` in compiled code", name);
fail:
    return status;
}

lw_status
lw_infer_attribute(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value object;
    lw_status status;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (lw_node_of(f, n->a)->kind == LW_NODE_SUPER)
        return lw_infer_super_attribute(f, node, out);
    f->borrowed = true;
    LW_TRY(lw_infer_expr(f, n->a, &object));
    status = infer_attribute_of(f, node, object, out);
    if (!lw_holds_objects(f, out->type))
        lw_drop_value(f, n->a);
fail:
    return status;
}
/* ---- iterables ---- */

static lw_status
join_items(lw_infer_frame *f, uint32_t node, const lw_type *items, uint32_t n, lw_type *out)
{
    const char *problem = NULL;

    *out = lw_join_optional(lw_types_of(f), lw_typing_of(f), items, n, &problem);
    if (problem == NULL && *out != LW_T_STATIC && !lw_mixes_records(f, items, n, *out))
        return LW_OK;
    *out = LW_T_BOTTOM;
    return lw_complain(
        f, lw_node_of(f, node)->loc,
        problem == NULL || strcmp(problem, "E112") == 0 ? "E140" : problem,
        "the items have no common type",
        "loop over `literal_unroll(t)`, which copies the body for each item, or write "
        "`tuple(f(v) for v in t)`",
        "a loop variable has one type in all iterations");
}

/* For a loop over what has no items. constant: its value, or NULL. */
static const char *
help_for_loop(lw_infer_frame *f, lw_infer_value iterable, const lw_constant *constant)
{
    if (lw_type_is_int(f, iterable.type))
        return "use `range(...)`";
    if (constant != NULL && constant->kind == LW_K_OBJECT)
        return constant->help;
    if (lw_is_text(f, iterable.type) || (constant != NULL && constant->kind == LW_K_STR))
        return "pass the characters as an array, `np.frombuffer(s.encode(), np.uint8)`; only a "
               "string that is written in the function, or comes from a global or closure "
               "variable, has a loop";
    return lw_help_for_number(f, iterable);
}

static lw_status
complain_no_items(lw_infer_frame *f, uint32_t node, lw_infer_value iterable)
{
    const lw_constant *constant =
        iterable.constant ? lw_constant_of(f, iterable.constant) : NULL;
    bool is_object = constant != NULL && constant->kind == LW_K_OBJECT;

    if (iterable.type == LW_T_BOTTOM)
        return LW_OK;
    return lw_complain(
        f, lw_node_of(f, node)->loc, "E120",
        is_object ? lw_format_text(f, "this is %s", constant->text)
                  : lw_format_text(f, "this is %s", lw_describe_value(f, iterable)),
        help_for_loop(f, iterable, constant), "a for loop needs a range, a tuple or an array");
}

/* The items of a tuple of n. */
static lw_status
infer_tuple_items(lw_infer_frame *f, uint32_t node, lw_infer_value tuple, uint32_t n,
                  lw_infer_value *item)
{
    if (n > LW_MAX_CONSTANT_ITEMS)
        return complain_long_constant(f, node, n);
    if (n > LW_MAX_UNROLL && !is_table(f, tuple))
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E101",
            lw_format_text(f, "this tuple has %u items", n),
            "loop over `range(len(t))` and index it, or over an array",
            "a loop over a tuple of run-time values is unrolled, up to %d iterations",
            LW_MAX_UNROLL);
    if (n > 1)
        return join_items(f, node, lw_type_get(lw_types_of(f), tuple.type)->elements, n,
                          &item->type);
    if (n == 1)
        *item = lw_element(f, tuple, 0);
    return LW_OK;
}

lw_status
lw_infer_items(lw_infer_frame *f, uint32_t node, lw_infer_value iterable, lw_infer_value *item,
               int64_t *count)
{
    const lw_type_row *row;

    *item = (lw_infer_value){LW_T_BOTTOM, 0};
    *count = -1;
    iterable.type = lw_record_items(lw_types_of(f), iterable.type);
    if (lw_class_of(f, iterable.type)) {
        bool found, is_list = lw_has_grown(f, iterable.type);
        lw_status status = lw_infer_object_items(f, node, iterable, &found, &iterable);
        if (status != LW_OK || (found && lw_typed_in(&f->nodes, node)->asks == 0))
            return status;
        if (is_list && lw_type_get_kind(lw_types_of(f), iterable.type, LW_TK_TUPLE)) {
            item->type = lw_item_of_rows(f, iterable.type);
            return LW_OK;
        }
    }
    row = lw_type_get(lw_types_of(f), iterable.type);
    if (row && row->kind == LW_TK_RANGE) {
        if (lw_node_of(f, node)->kind != LW_NODE_CALL)
            return lw_complain(f, lw_node_of(f, node)->loc, "E102", NULL,
                               "write it in the `for` itself, or assign nothing but ranges "
                               "to the variable, `r = range(n)`",
                               "a range cannot be kept in a variable in compiled code");
        item->type = row->elements[0];
        *count = lw_typed_in(&f->nodes, node)->truth;
        return LW_OK;
    }
    if (row && row->kind == LW_TK_ARRAY)
        return lw_infer_array_items(f, node, iterable.type, &item->type, count);
    if (row == NULL || row->kind != LW_TK_TUPLE)
        return complain_no_items(f, node, iterable);
    *count = row->n;
    return infer_tuple_items(f, node, iterable, row->n, item);
}
