/* Arrays: attributes, elements, views. A subscript gives an element
 * when every axis has an integer; every other subscript gives a view of the same memory. */
#include "core/front/infer/infer_internal.h"
#include "core/front/records.h"
#include "core/front/subscript.h"

#include <assert.h>
#include <string.h>

const lw_type_row *
lw_array_row(lw_infer_frame *f, lw_type type)
{
    return lw_type_get_kind(lw_types_of(f), type, LW_TK_ARRAY);
}

/* ---- messages ---- */

/* "`A` is float32[:] (argument 3)"; without a name, as much as is known. */
const char *
lw_describe_array(lw_infer_frame *f, uint32_t node, lw_type type)
{
    const lw_node *n = lw_node_of(f, node);
    const char *source = lw_describe_source(f, node), *name = lw_describe_type(f, type);

    if (source == NULL || *source == '\0')
        return lw_format_text(f, "this is %s", name);
    for (uint32_t i = 0; n->kind == LW_NODE_NAME && i < f->fn->params.n; i++)
        if (f->fn->params.data[i].var == n->a)
            return lw_format_text(f, "`%s` is %s (argument %u)", source, name, i + 1);
    return lw_format_text(f, "`%s` is %s", source, name);
}

lw_status
lw_complain_whole_array(lw_infer_frame *f, uint32_t node, const char *what, lw_type type,
                        const char *help)
{
    return lw_complain(
        f, lw_node_of(f, node)->loc, "E160",
        lw_format_text(f, "%s on a whole array (%s)", what, lw_describe_type(f, type)),
        help ? help : "use elements, as in `A[i]`, in a loop", "%s on a whole array", what);
}

static lw_status
complain_count(lw_infer_frame *f, uint32_t index, uint32_t array, lw_type type, uint32_t n)
{
    uint32_t ndim = lw_array_row(f, type)->ndim;

    return lw_complain(f, lw_node_of(f, index)->loc, "E121",
                       lw_format_text(f, "%u %s for a %u-dimensional array: %s", n,
                                      n == 1 ? "index" : "indices", ndim,
                                      lw_describe_array(f, array, type)),
                       NULL, n > ndim ? "too many indices" : "too few indices");
}

static lw_status
complain_index(lw_infer_frame *f, const lw_index_item *item)
{
    const lw_node *n = lw_node_of(f, item->node);
    bool divides = item->element == 0 && n->kind == LW_NODE_BINARY && n->op == LW_PY_DIV;
    const char *type = lw_describe_type(f, item->type), *help = NULL;
    const lw_type_row *row = lw_array_row(f, item->type);

    if (row && row->ndim == 0)
        return lw_complain(
            f, n->loc, "E160", lw_format_text(f, "this is %s", type),
            "an index array needs at least one dimension; use the element, `i[()]`",
            "a 0-dimensional array is not an index");
    if (row)
        return lw_complain(f, n->loc, "E160", lw_format_text(f, "this is %s", type),
                           "an index array has integers or bools, as `i.astype(np.int64)` has",
                           "an index array must have integers or bools");
    if (lw_tuple_row(f, item->type))
        help = "a list of integers or of bools selects elements";
    else if (divides)
        help = lw_format_text(f, "use `%s // %s`", lw_describe_source(f, n->a),
                              lw_describe_source(f, n->b));
    else if (lw_type_is_real(f, item->type))
        help = "use `//`, or `int(...)`";
    else if (item->type == LW_DT_b1)
        help = "use `int(...)`; masks belong to whole arrays";
    return lw_complain(f, n->loc, "E120",
                       divides ? lw_format_text(f, "this is %s: `/` always gives a float", type)
                               : lw_format_text(f, "this is %s", type),
                       help, "array index must be an integer, not %s", type);
}

/* ---- the index ---- */

lw_status
lw_infer_check_bound(lw_infer_frame *f, uint32_t node, lw_infer_value value, bool is_step)
{
    __int128 known;

    value.type = lw_type_without_none(lw_types_of(f), value.type);
    if (value.type == LW_T_BOTTOM || value.type == LW_T_NONE)
        return LW_OK;
    if (!lw_type_is_int(f, value.type))
        return lw_complain(f, lw_node_of(f, node)->loc, "E120",
                           lw_format_text(f, "this is %s", lw_describe_value(f, value)),
                           lw_type_is_real(f, value.type) ? "use `//`, or `int(...)`" : NULL,
                           "slice bounds must be integers, not %s",
                           lw_describe_type(f, value.type));
    if (!is_step)
        return LW_OK;
    if (!value.constant || !lw_constant_int_value(lw_constant_of(f, value.constant), &known))
        f->can_raise |= !f->run->typed->options.ignore_errors; /* 0: known only at run time */
    else if (known == 0)
        return lw_complain(f, lw_node_of(f, node)->loc, "E141", NULL, NULL,
                           "slice step cannot be zero");
    return LW_OK;
}

static lw_status
infer_bound(lw_infer_frame *f, uint32_t node, bool is_step)
{
    lw_infer_value value;
    lw_status status;

    if (node == 0)
        return LW_OK;
    f->wants_optional = !is_step;
    LW_TRY(lw_infer_expr(f, node, &value));
    LW_TRY(lw_infer_check_bound(f, node, value, is_step));
fail:
    return status;
}

/* A slice that is a value. */
static lw_status
check_slice(lw_infer_frame *f, const lw_index_item *item)
{
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < 3 && lw_type_get(lw_types_of(f), item->type); i++)
        LW_TRY(lw_infer_check_bound(
            f, item->node, lw_element(f, (lw_infer_value){item->type, item->constant}, i),
            i == 2));
fail:
    return status;
}

static lw_status
infer_slice(lw_infer_frame *f, uint32_t slice)
{
    const lw_node *n = lw_node_of(f, slice);
    lw_status status;

    LW_TRY(infer_bound(f, n->a, false));
    LW_TRY(infer_bound(f, n->b, false));
    LW_TRY(infer_bound(f, n->c, true));
fail:
    return status;
}

/* Slices in brackets are not values, so that a tuple that holds some is typed item by item. */
static lw_status
infer_index(lw_infer_frame *f, uint32_t index)
{
    const lw_node *n = lw_node_of(f, index);
    const uint32_t *lists = f->run->tree->lists.data;
    bool sliced = false;
    lw_infer_value value;
    lw_status status = LW_OK;

    if (n->kind == LW_NODE_SLICE)
        return infer_slice(f, index);
    for (uint32_t i = 0; n->kind == LW_NODE_TUPLE && i < n->c; i++)
        sliced |= lw_node_of(f, lists[n->b + i])->kind == LW_NODE_SLICE;
    if (!sliced) {
        f->borrowed = true;
        LW_TRY(lw_infer_expr(f, index, &value));
        return lw_infer_list_array(f, index, &value);
    }
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t item = lists[n->b + i];
        lw_node_kind kind = (lw_node_kind)lw_node_of(f, item)->kind;

        if (kind == LW_NODE_SLICE)
            LW_TRY(infer_slice(f, item));
        else if (kind == LW_NODE_STAR)
            LW_TRY(lw_infer_expr(f, lw_node_of(f, item)->a, &value));
        else
            LW_TRY(lw_infer_expr(f, item, &value));
    }
fail:
    return status;
}

/* Constant indices are compared with constant extents. */
static lw_status
check_extents(lw_infer_frame *f, uint32_t array, lw_type type, const lw_index *items)
{
    const lw_type_row *row = lw_array_row(f, type);

    for (uint32_t i = 0, axis = 0; row->shape && i < items->n; i++) {
        const lw_index_item *item = &items->items[i];
        int64_t extent = row->shape[axis];
        __int128 at = 0;

        axis += item->axes;
        if (item->kind != LW_INDEX_AT)
            continue;
        if (item->constant && !lw_constant_int_value(lw_constant_of(f, item->constant), &at))
            continue;
        if (extent == 0 || (item->constant && (at < -extent || at >= extent)))
            return lw_complain(f, lw_node_of(f, item->node)->loc, "E124",
                               lw_describe_array(f, array, type), NULL,
                               "index out of bounds: axis %u has %lld element%s", axis - 1,
                               (long long)extent, extent == 1 ? "" : "s");
    }
    return LW_OK;
}

static lw_status
check_index(lw_infer_frame *f, uint32_t array, lw_type type, uint32_t index,
            const lw_index *items)
{
    lw_status status;

    for (uint32_t i = 0; i < items->n; i++) {
        const lw_index_item *item = &items->items[i];

        if (item->kind == LW_INDEX_AT && !lw_type_is_int(f, item->type))
            return complain_index(f, item);
        if (item->kind == LW_INDEX_SLICE)
            LW_TRY(check_slice(f, item));
        if (item->kind == LW_INDEX_AT)
            LW_TRY(lw_check_wide(f, item->node, (lw_infer_value){item->type, item->constant}));
    }
    if (items->is_ambiguous)
        return lw_complain(f, lw_node_of(f, index)->loc, "E121",
                           lw_describe_array(f, array, type), NULL,
                           "an index can only have a single ellipsis (`...`)");
    if (items->n_named > lw_array_row(f, type)->ndim || items->n_kept > LW_MAX_ARRAY_DIMS)
        return complain_count(f, index, array, type, items->n_named);
    return check_extents(f, array, type, items);
fail:
    return status;
}

/* ---- views ---- */

/* Dense memory stays dense when only its outermost axes are indexed, followed by at most one
 * slice without a step. Axes are visited from the outermost one, `from`, in steps of `step`. */
static bool
stays_dense(lw_infer_frame *f, const lw_index *index, uint32_t from, int step)
{
    bool kept = false;

    for (uint32_t i = 0, at = from; i < index->n; i++, at += (uint32_t)step) {
        const lw_index_item *item = &index->items[at];

        if (item->kind == LW_INDEX_NEW)
            continue;
        if (kept && item->kind != LW_INDEX_ALL)
            return false;
        if (item->kind == LW_INDEX_SLICE &&
            !lw_index_steps_by_one(f->run->typed, &f->nodes, item))
            return false;
        kept |= item->kind != LW_INDEX_AT;
    }
    return true;
}

static lw_type
view_type(lw_infer_frame *f, lw_type array, const lw_index *index)
{
    const lw_type_row row = *lw_array_row(f, array);
    uint32_t first = 0;
    lw_layout layout = LW_LAYOUT_ANY;
    bool known = row.shape != NULL;

    if (row.layout == LW_LAYOUT_C && stays_dense(f, index, 0, 1))
        layout = LW_LAYOUT_C;
    else if (row.layout == LW_LAYOUT_F && stays_dense(f, index, index->n - 1, -1))
        layout = LW_LAYOUT_F;
    while (first < index->n && index->items[first].kind == LW_INDEX_AT)
        first++;
    for (uint32_t i = first; i < index->n; i++)
        known &= index->items[i].kind == LW_INDEX_ALL;
    return lw_type_array_like(lw_types_of(f), array, index->n_kept, layout,
                              known ? row.shape + first : NULL);
}

/* The type of an element as a value; a record is read-only if its array is, and as the array
 * its memory may be counted. */
static lw_type
element_type(lw_infer_frame *f, const lw_type_row *row)
{
    const lw_type_row *record = lw_type_get(lw_types_of(f), row->elements[0]);

    if (record && record->kind == LW_TK_RECORD)
        return lw_type_record_like(lw_types_of(f), row->elements[0],
                                   row->readonly || record->readonly, row->owned);
    return row->elements[0];
}

/* What the slices and integers of an index select; *arrays: the index, if it has arrays, too.
 */
static lw_status
type_of_index(lw_infer_frame *f, uint32_t array, lw_type type, uint32_t index,
              const lw_index **arrays, lw_type *out)
{
    lw_index *items = lw_arena_take(f->run->arena, sizeof *items);
    lw_status status = LW_OK;

    *out = LW_T_BOTTOM;
    *arrays = NULL;
    if (items == NULL)
        return lw_out_of_memory(f);
    lw_index_read(f->run->typed, &f->nodes, index, lw_array_row(f, type)->ndim, items);
    if (!items->is_known)
        return LW_OK;
    LW_TRY(check_index(f, array, type, index, items));
    if (items->n_named > lw_array_row(f, type)->ndim || items->n_kept > LW_MAX_ARRAY_DIMS)
        return LW_OK; /* check_index has reported it in the last walk */
    *out =
        items->is_element ? element_type(f, lw_array_row(f, type)) : view_type(f, type, items);
    *arrays = items->n_arrays ? items : NULL;
fail:
    return status;
}

lw_status
lw_infer_element(lw_infer_frame *f, uint32_t array, lw_type type, uint32_t index, lw_type *out)
{
    const lw_index *arrays;
    lw_status status;

    LW_TRY(type_of_index(f, array, type, index, &arrays, out));
    if (lw_array_row(f, *out))
        return complain_count(f, index, array, type,
                              lw_array_row(f, type)->ndim - lw_array_row(f, *out)->ndim);
fail:
    return status;
}

lw_status
lw_infer_array_subscript(lw_infer_frame *f, uint32_t node, lw_type array,
                         const lw_index **arrays, lw_type *out)
{
    const lw_node *n = lw_node_of(f, node);
    lw_status status;

    LW_TRY(infer_index(f, n->b));
    LW_TRY(type_of_index(f, n->a, array, n->b, arrays, out));
fail:
    return status;
}

/* ---- attributes ---- */

/* Whether dropping the expression loses nothing. */
static bool
is_quiet(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);

    if (n->kind == LW_NODE_SUBSCRIPT)
        return lw_tuple_row(f, lw_typed_in(&f->nodes, n->a)->type) &&
               lw_typed_in(&f->nodes, n->b)->constant && is_quiet(f, n->a);
    return n->kind == LW_NODE_ATTRIBUTE ? is_quiet(f, n->a)
                                        : n->kind == LW_NODE_NAME && lw_is_pure(f, node);
}

static lw_status
constant_shape(lw_infer_frame *f, uint32_t node, const lw_type_row *row, lw_infer_value *out)
{
    lw_constant constant = {.kind = LW_K_TUPLE, .n = row->ndim};
    uint32_t *items = lw_arena_take(f->run->arena, (row->ndim + 1u) * sizeof *items);

    if (items == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < row->ndim; i++)
        items[i] = lw_constant_int(f, 0, row->shape[i]);
    constant.items = items;
    *out = lw_constant_value(f, lw_node_constant(f, node, &constant));
    return LW_OK;
}

static lw_status
known_int(lw_infer_frame *f, uint32_t node, __int128 value, lw_infer_value *out)
{
    if (is_quiet(f, lw_node_of(f, node)->a))
        *out = lw_constant_value(f, lw_node_int(f, node, value));
    else
        out->type = lw_type_literal(lw_types_of(f), value, value);
    return LW_OK;
}

static lw_type
transposed(lw_infer_frame *f, lw_type type)
{
    const lw_type_row row = *lw_array_row(f, type);
    lw_layout layout = row.layout == LW_LAYOUT_C   ? LW_LAYOUT_F
                       : row.layout == LW_LAYOUT_F ? LW_LAYOUT_C
                                                   : LW_LAYOUT_ANY;

    if (row.ndim < 2)
        return type;
    return lw_type_array_like(lw_types_of(f), type, row.ndim, layout, NULL);
}

/* *found: whether the array has this attribute. */
lw_status
lw_infer_array_attribute(lw_infer_frame *f, uint32_t node, lw_type array, const char *name,
                         bool *found, lw_infer_value *out)
{
    const lw_type_row row = *lw_array_row(f, array);
    int64_t item = lw_type_bytes(lw_types_of(f), row.elements[0]);

    *found = true;
    if (lw_tree_is_address(f->run->tree, node)) {
        out->type = LW_DT_u64;
        return LW_OK;
    }
    if (strcmp(name, "ndim") == 0)
        return known_int(f, node, row.ndim, out);
    if (strcmp(name, "itemsize") == 0)
        return known_int(f, node, item, out);
    if (strcmp(name, "shape") == 0 && row.shape && is_quiet(f, lw_node_of(f, node)->a))
        return constant_shape(f, node, &row, out);
    if (strcmp(name, "shape") == 0 || strcmp(name, "strides") == 0)
        return lw_tuple_of(f, lw_weak_int(f), row.ndim, &out->type);
    if (strcmp(name, "dtype") == 0) {
        *out = lw_infer_dtype_of(f, node, row.elements[0]);
        return LW_OK;
    }
    if (strcmp(name, "T") == 0) {
        out->type = transposed(f, array);
        return LW_OK;
    }
    *found = strcmp(name, "size") == 0 || strcmp(name, "nbytes") == 0;
    if (*found && row.shape)
        return known_int(
            f, node, lw_type_bytes(lw_types_of(f), array) / (name[0] == 's' ? item : 1), out);
    if (*found)
        out->type = lw_weak_int(f);
    return LW_OK;
}

lw_status
lw_infer_array_len(lw_infer_frame *f, uint32_t node, uint32_t array, lw_type type,
                   lw_infer_value *out)
{
    const lw_type_row *row = lw_array_row(f, type);

    if (row->ndim == 0)
        return lw_complain(f, lw_node_of(f, array)->loc, "E121",
                           lw_describe_array(f, array, type), NULL,
                           "len() of a 0-dimensional array");
    if (row->shape && is_quiet(f, array))
        *out = lw_constant_value(f, lw_node_int(f, node, row->shape[0]));
    else
        out->type = lw_weak_int(f);
    return LW_OK;
}

/* ---- loops ---- */

lw_status
lw_infer_array_items(lw_infer_frame *f, uint32_t node, lw_type array, lw_type *item,
                     int64_t *count)
{
    const lw_type_row row = *lw_array_row(f, array);
    lw_layout layout = row.layout == LW_LAYOUT_C || row.ndim == 1 ? LW_LAYOUT_C : LW_LAYOUT_ANY;

    if (row.ndim == 0)
        return lw_complain(f, lw_node_of(f, node)->loc, "E121",
                           lw_describe_array(f, node, array), NULL,
                           "a loop over a 0-dimensional array");
    *count = row.shape ? row.shape[0] : -1;
    *item = row.ndim == 1 ? element_type(f, &row)
                          : lw_type_array_like(lw_types_of(f), array, row.ndim - 1u, layout,
                                               row.shape ? row.shape + 1 : NULL);
    return LW_OK;
}

/* ---- arrays that may share memory ---- */

/* Accepts numbers, and arrays in the shape of the output, whose memory the operand holds. */
static lw_type
walked_type(lw_infer_frame *f, const lw_arg *arg, uint32_t ndim)
{
    lw_types *types = lw_types_of(f);
    lw_type type = arg->value.type;

    if (lw_array_row(f, type) == NULL)
        return type;
    type = lw_type_array_like(types, type, ndim, LW_LAYOUT_ANY, NULL);
    return lw_type_array_owned(types, type, false);
}

lw_status
lw_infer_overlap(lw_infer_frame *f, uint32_t node, lw_impl impl, const lw_arg *args, uint32_t n,
                 lw_infer_value *out)
{
    lw_type types[2 + 2 * LW_MOST_OPERANDS] = {LW_DT_b1, LW_DT_b1};
    const lw_type_row *to = lw_array_row(f, args[0].value.type);
    uint32_t ndim = to ? to->ndim : 0;

    for (uint32_t i = 0; i < n && impl != LW_IMPL_MEET; i++) {
        const lw_type_row *array = lw_array_row(f, args[i].value.type);
        if (to == NULL || (array && array->ndim > ndim))
            return lw_complain_whole_array(f, node, "a ufunc", args[i].value.type,
                                           "its output needs as many axes");
    }
    out->type = LW_DT_b1;
    if (impl != LW_IMPL_IN_ORDER)
        return LW_OK;
    for (uint32_t i = 0; i < n; i++)
        types[2 + i] = types[2 + n + i] = walked_type(f, &args[i], ndim);
    out->type = lw_type_tuple(lw_types_of(f), types, 2 + 2 * n, NULL);
    f->can_raise |= !f->run->typed->options.ignore_errors; /* no order is safe */
    return LW_OK;
}

/* ---- subscripts with arrays ---- */

/* Subscripts with arrays, x[mask], x[:, places], x[rows, columns] = v, x[places] += v:
 * functions of lanewise/_new_arrays.py take the elements, or store to them. They get the view
 * that the slices and integers of the subscript select, the axis of it that the arrays belong
 * to, and the arrays. NumPy puts the axes of the result where the arrays stand if they and the
 * integers stand side by side, and in front otherwise; only the first is compiled. */

static bool
is_advanced(const lw_index_item *item)
{
    return item->kind == LW_INDEX_AT || item->kind == LW_INDEX_ARRAY;
}

/* Whether arrays and integers stand side by side; *axis: of the view, of the first array. */
static bool
are_side_by_side(const lw_index *index, uint32_t *axis)
{
    uint32_t runs = 0;
    bool before = false, found = false;

    *axis = 0;
    for (uint32_t i = 0; i < index->n; i++) {
        const lw_index_item *item = &index->items[i];

        runs += is_advanced(item) && !before;
        before = is_advanced(item);
        found |= item->kind == LW_INDEX_ARRAY;
        *axis += !found && item->kind != LW_INDEX_AT;
    }
    return runs == 1;
}

/* An array, or a list. */
static lw_status
add_array(lw_infer_frame *f, const lw_index_item *item, lw_arg *arg)
{
    uint32_t k = f->run->typed->lists.n;

    *arg = (lw_arg){.node = item->node, .entry = item->node, .value = {item->type, 0}};
    if (lw_tuple_row(f, item->type))
        arg->value.constant = item->constant; /* may have more items than are kept as numbers */
    if (item->element == 0 || !f->report)
        return LW_OK;
    if (!lw_list_add(f, item->node) || !lw_list_add(f, item->element - 1))
        return lw_out_of_memory(f);
    arg->entry = LW_ARG_ELEMENT | k;
    return LW_OK;
}

static lw_arg
constant_argument(lw_infer_frame *f, uint32_t node, uint32_t constant)
{
    return (lw_arg){.node = node,
                    .entry = LW_ARG_CONSTANT | constant,
                    .value = lw_constant_value(f, constant)};
}

/* The arguments that stand for what the call that has taken the elements was given. */
static void
give_again(const lw_index *index, lw_arg *args, uint32_t n_first)
{
    uint32_t n = 0;

    args[0].entry = LW_ARG_STORED | LW_STORED_VIEW;
    for (uint32_t i = 0; i < index->n; i++)
        if (index->items[i].kind == LW_INDEX_ARRAY) {
            if (index->items[i].constant == 0)
                args[n_first + n].entry = LW_ARG_STORED | (LW_STORED_ARRAYS + n);
            n++;
        }
}

lw_status
lw_infer_index_arrays(lw_infer_frame *f, uint32_t node, lw_type view, const lw_index *index,
                      const lw_stored *stored, lw_infer_value *out)
{
    bool augmented = stored && stored->op != LW_PY_NONE;
    lw_arg *args = lw_arena_take(f->run->arena, (index->n_arrays + 5u) * sizeof *args);
    lw_constant op = {.kind = LW_K_STR, .text = augmented ? lw_pyop_text[stored->op] : ""};
    uint32_t subscript = node, axis, n = 0, n_first;
    lw_status status;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (args == NULL)
        return lw_out_of_memory(f);
    if (!are_side_by_side(index, &axis))
        return lw_complain(f, lw_node_of(f, node)->loc, "E160", NULL,
                           "take one axis after the other: `y = x[:, :, places]`, `y[rows]`",
                           "arrays and integers that do not stand side by side in an index");
    if (lw_node_of(f, node)->kind == LW_NODE_AUGASSIGN)
        subscript = lw_node_of(f, node)->a;
    args[n++] =
        (lw_arg){.node = subscript, .entry = LW_ARG_VIEW | subscript, .value = {view, 0}};
    args[n++] = constant_argument(f, subscript, lw_constant_int(f, 0, axis));
    if (augmented) {
        args[n++] = constant_argument(f, subscript, lw_constant_add(f, 0, &op));
        args[n++] = (lw_arg){.node = subscript,
                             .entry = LW_ARG_STORED | LW_STORED_TAKEN,
                             .value = {stored->taken, 0}};
    }
    if (stored != NULL)
        args[n++] = stored->value;
    n_first = n;
    for (uint32_t i = 0; i < index->n; i++)
        if (index->items[i].kind == LW_INDEX_ARRAY)
            LW_TRY(add_array(f, &index->items[i], &args[n++]));
    assert(n == index->n_arrays + 2u + (stored != NULL) + 2u * augmented);
    if (augmented)
        give_again(index, args, n_first);
    status = lw_infer_own(f, node,
                          augmented ? "x[places] += v"
                          : stored  ? "x[places] = v"
                                    : "x[places]",
                          args, n, out);
fail:
    return status;
}
