/* Arrays: attributes, elements, views, and assignment into them. A subscript gives an element
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
static const char *
describe_array(lw_infer_frame *f, uint32_t node, lw_type type)
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
        lw_format_text(f,
                       "%s on a whole array (%s); kernels compute one element per "
                       "thread",
                       what, lw_describe_type(f, type)),
        help ? help : "use elements, as in `A[i]`, in a loop", "%s on a whole array", what);
}

static lw_status
complain_count(lw_infer_frame *f, uint32_t index, uint32_t array, lw_type type, uint32_t n)
{
    uint32_t ndim = lw_array_row(f, type)->ndim;

    return lw_complain(f, lw_node_of(f, index)->loc, "E121",
                       lw_format_text(f, "%u %s for a %u-dimensional array: %s", n,
                                      n == 1 ? "index" : "indices", ndim,
                                      describe_array(f, array, type)),
                       NULL, n > ndim ? "too many indices" : "too few indices");
}

static lw_status
complain_index(lw_infer_frame *f, const lw_index_item *item)
{
    const lw_node *n = lw_node_of(f, item->node);
    bool divides = item->element == 0 && n->kind == LW_NODE_BINARY && n->op == LW_PY_DIV;
    const char *type = lw_describe_type(f, item->type), *help = NULL;

    if (lw_array_row(f, item->type))
        return lw_complain_whole_array(f, item->node, "an index", item->type,
                                       "index with integers, one element at a time");
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

static lw_status
infer_bound(lw_infer_frame *f, uint32_t node, bool is_step)
{
    lw_infer_value value;
    __int128 known;
    lw_status status;

    if (node == 0)
        return LW_OK;
    LW_TRY(lw_infer_expr(f, node, &value));
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

/* Slices are not values, so that a tuple that holds some is typed item by item. */
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
    if (!sliced)
        return lw_infer_expr(f, index, &value);
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
                               describe_array(f, array, type), NULL,
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
        if (item->kind == LW_INDEX_AT)
            LW_TRY(lw_check_wide(f, item->node, (lw_infer_value){item->type, item->constant}));
    }
    if (items->n_named > lw_array_row(f, type)->ndim || items->n_kept > LW_MAX_ARRAY_DIMS)
        return complain_count(f, index, array, type, items->n_named);
    return check_extents(f, array, type, items);
fail:
    return status;
}

/* ---- views ---- */

static bool
steps_by_one(lw_infer_frame *f, uint32_t slice)
{
    uint32_t step = lw_node_of(f, slice)->c;
    __int128 known;

    if (step == 0 || f->nodes[step].type == LW_T_NONE)
        return true;
    return f->nodes[step].constant &&
           lw_constant_int_value(lw_constant_of(f, f->nodes[step].constant), &known) &&
           known == 1;
}

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
        if (item->kind == LW_INDEX_SLICE && !steps_by_one(f, item->node))
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
    lw_index_read(f->run->typed, f->nodes, index, lw_array_row(f, type)->ndim, items);
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
        return lw_tuple_row(f, f->nodes[n->a].type) && f->nodes[n->b].constant &&
               is_quiet(f, n->a);
    return n->kind == LW_NODE_NAME || (n->kind == LW_NODE_ATTRIBUTE && is_quiet(f, n->a));
}

static lw_status
weak_ints(lw_infer_frame *f, uint32_t n, lw_type *out)
{
    lw_type *types = lw_arena_take(f->run->arena, (n + 1) * sizeof *types);

    if (types == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < n; i++)
        types[i] = lw_weak_int(f);
    *out = lw_type_tuple(lw_types_of(f), types, n, NULL);
    return LW_OK;
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
    *out = lw_constant_value(f, lw_constant_add(f, f->nodes[node].constant, &constant));
    return LW_OK;
}

static lw_status
known_int(lw_infer_frame *f, uint32_t node, __int128 value, lw_infer_value *out)
{
    if (is_quiet(f, lw_node_of(f, node)->a))
        *out = lw_constant_value(f, lw_constant_int(f, f->nodes[node].constant, value));
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
        return weak_ints(f, row.ndim, &out->type);
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
        return lw_complain(f, lw_node_of(f, array)->loc, "E121", describe_array(f, array, type),
                           NULL, "len() of a 0-dimensional array");
    if (row->shape && is_quiet(f, array))
        *out = lw_constant_value(f, lw_constant_int(f, f->nodes[node].constant, row->shape[0]));
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
        return lw_complain(f, lw_node_of(f, node)->loc, "E121", describe_array(f, node, array),
                           NULL, "a loop over a 0-dimensional array");
    *count = row.shape ? row.shape[0] : -1;
    *item = row.ndim == 1 ? element_type(f, &row)
                          : lw_type_array_like(lw_types_of(f), array, row.ndim - 1u, layout,
                                               row.shape ? row.shape + 1 : NULL);
    return LW_OK;
}

/* ---- assignment ---- */

static lw_status
complain_no_array(lw_infer_frame *f, uint32_t target, lw_type type)
{
    const lw_front_options *options = &f->run->typed->options;
    const char *source = lw_describe_source(f, lw_node_of(f, target)->a);
    const lw_type_row *tuple = lw_tuple_row(f, type);

    if (tuple)
        return lw_complain(
            f, lw_node_of(f, target)->loc, "E162",
            lw_format_text(f, "`%s` is %s", source, lw_describe_type(f, type)),
            lw_format_text(f, "make an array, `a = np.array(%s)`: its elements can be assigned",
                           source),
            tuple->is_list ? "lists are not changed in compiled code"
                           : "the items of a tuple cannot be assigned");
    if (options->procedure || options->threads)
        return lw_complain(f, lw_node_of(f, target)->loc, "E121",
                           lw_format_text(f, "this is %s", lw_describe_type(f, type)),
                           "pass an array, if only of one element",
                           "`%s` is not an array: nothing can be stored in it", source);
    return lw_complain(f, lw_node_of(f, target)->loc, "E160", "an element is assigned here",
                       "`return` the value; writing arrays belongs to kernels (`forall`, "
                       "`guvectorize`)",
                       "this function computes one element and cannot write into arrays");
}

/* array: the node of the array, for messages. */
static lw_status
check_writable(lw_infer_frame *f, uint32_t loc, uint32_t array, lw_type type)
{
    if (!lw_array_row(f, type)->readonly)
        return LW_OK;
    return lw_complain(f, loc, "E162", describe_array(f, array, type),
                       f->run->typed->options.readonly_help
                           ? f->run->typed->options.readonly_help
                           : "pass a writable array",
                       "assignment into a read-only array");
}

/* The array or record of a target, its index and what they select; *out: the type of an
 * element, of a field or of a view. */
static lw_status
infer_target(lw_infer_frame *f, uint32_t target, const lw_index **arrays, lw_type *out)
{
    const lw_node *n = lw_node_of(f, target);
    const char *field;
    lw_infer_value array;
    lw_status status;
    bool refused;

    *out = LW_T_BOTTOM;
    *arrays = NULL;
    assert(n->kind == LW_NODE_SUBSCRIPT || n->kind == LW_NODE_ATTRIBUTE); /* lw_assign chose */
    LW_TRY(lw_infer_expr(f, n->a, &array));
    if (array.type == LW_T_BOTTOM)
        return LW_OK;
    LW_TRY(lw_check_record_target(f, target, array, &refused));
    if (refused)
        return LW_OK;
    LW_TRY(lw_infer_field_name(f, target, array.type, &field));
    if (field) {
        LW_TRY(lw_infer_field_target(f, target, array.type, field, out));
        f->nodes[target].type = *out;
        return LW_OK;
    }
    if (n->kind == LW_NODE_ATTRIBUTE)
        return lw_complain(
            f, n->loc, "E162",
            lw_format_text(f, "the object is %s", lw_describe_type(f, array.type)), NULL,
            "attributes cannot be assigned");
    if (lw_array_row(f, array.type) == NULL)
        return complain_no_array(f, target, array.type);
    LW_TRY(check_writable(f, n->loc, n->a, array.type));
    LW_TRY(lw_infer_array_subscript(f, target, array.type, arrays, out));
    f->nodes[target].type = *out;
fail:
    return status;
}

static lw_status
check_copy(lw_infer_frame *f, lw_type to, uint32_t source, lw_type from)
{
    assert(lw_array_row(f, to) != NULL &&
           lw_array_row(f, from) != NULL); /* lw_infer_check_store asked */
    const lw_type_row *x = lw_array_row(f, to), *y = lw_array_row(f, from);
    uint32_t loc = lw_node_of(f, source)->loc;

    if (x->ndim < y->ndim || y->ndim == 0)
        return lw_complain(
            f, loc, "E121",
            lw_format_text(f, "%s into %s", lw_describe_type(f, from), lw_describe_type(f, to)),
            y->ndim ? "select the elements that are meant with an index"
                    : "store its element, `a[()]`",
            "the value has more axes than the array it is stored in");
    f->can_raise |= !f->run->typed->options.ignore_errors; /* shapes differ, or no order */
    if (!lw_type_is_dtype(x->elements[0]) || !lw_type_is_dtype(y->elements[0]))
        return lw_infer_store_records(f, source, to, from);
    return lw_check_conversion(f, loc, y->elements[0], (lw_dtype)x->elements[0], "array");
}

/* How many axes rows in rows have: 1 of a tuple of numbers, and 1 more of a tuple of rows. */
static uint32_t
axes_of_rows(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *tuple = lw_tuple_row(f, type);

    return tuple && tuple->n ? 1 + axes_of_rows(f, tuple->elements[0]) : 0;
}

/* The items of a tuple that is stored along `axes` axes of the array. */
static lw_status
check_items(lw_infer_frame *f, lw_type to, uint32_t source, lw_type type, uint32_t axes)
{
    lw_dtype dtype = (lw_dtype)lw_array_row(f, to)->elements[0];
    const lw_node *n = lw_node_of(f, source);
    uint32_t n_items = lw_tuple_row(f, type)->n;
    bool literal = n->kind == LW_NODE_TUPLE && n->c == n_items;
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < n_items; i++) {
        uint32_t item = literal ? f->run->tree->lists.data[n->b + i] : source;
        lw_type element = lw_tuple_row(f, type)->elements[i];

        if (axes > 1 && axes_of_rows(f, element) == axes - 1)
            LW_TRY(check_items(f, to, item, element, axes - 1));
        else if (axes == 1 && lw_type_is_scalar(f, element))
            LW_TRY(lw_check_value(f, item, element, dtype, "array"));
        else
            return lw_complain(
                f, lw_node_of(f, item)->loc, "E120",
                lw_format_text(f, "this is %s", lw_describe_type(f, element)),
                lw_array_row(f, element) ? "`np.stack` makes one array of several" : NULL,
                axes > 1 ? "the rows of a %s array must have the same number of axes"
                         : "an element of a %s array must be a number",
                lw_dtypes[dtype].public_name);
    }
fail:
    return status;
}

/* a[:] = x, y, z and a[:] = (x, y), (z, w): numbers along the last axes, repeated along those
 * in front. */
static lw_status
check_tuple(lw_infer_frame *f, lw_type to, uint32_t source, lw_infer_value value)
{
    const lw_type_row *array = lw_array_row(f, to), *tuple = lw_tuple_row(f, value.type);
    uint32_t axes = axes_of_rows(f, value.type);

    if (array->ndim < axes || tuple->n == 0 || tuple->n > LW_MAX_UNROLL)
        return lw_complain(
            f, lw_node_of(f, source)->loc, "E121",
            lw_format_text(f, "%u %s into %s", tuple->n, axes > 1 ? "rows" : "numbers",
                           lw_describe_type(f, to)),
            lw_format_text(f, "a row of 1 to %d numbers can be stored at once", LW_MAX_UNROLL),
            "this tuple cannot be stored in an array");
    f->can_raise |= !f->run->typed->options.ignore_errors; /* the last axis is another */
    return check_items(f, to, source, value.type, axes);
}

lw_status
lw_infer_check_store(lw_infer_frame *f, lw_type to, uint32_t source, lw_infer_value value)
{
    lw_type from = value.type;
    const lw_type_row *row = lw_array_row(f, to);
    uint32_t loc = lw_node_of(f, source)->loc;
    lw_type element = row ? row->elements[0] : to;

    if (lw_type_kind_of(lw_types_of(f), from) == LW_TK_ELEMENTWISE)
        return lw_infer_array_store(f, source, to, from);
    if (row && lw_array_row(f, from))
        return check_copy(f, to, source, from);
    if (row && lw_tuple_row(f, from) && lw_type_is_dtype(element))
        return check_tuple(f, to, source, value);
    if (!lw_type_is_dtype(element)) {
        f->can_raise |= row && !f->run->typed->options.ignore_errors; /* they may overlap */
        return lw_infer_store_record(f, source, element, from);
    }
    if (!lw_type_is_scalar(f, from))
        return lw_complain(
            f, loc, "E120", lw_format_text(f, "this is %s", lw_describe_value(f, value)),
            lw_array_row(f, from) && lw_array_row(f, from)->ndim == 0
                ? lw_format_text(f, "its element is `%s[()]`", lw_describe_source(f, source))
                : NULL,
            "an element of a %s array must be a number", lw_dtypes[element].public_name);
    return lw_check_value(f, source, from, (lw_dtype)element, "array");
}

/* *object: what the ATTRIBUTE belongs to, if that is an object of a class; else BOTTOM. */
static lw_status
infer_object_of(lw_infer_frame *f, uint32_t target, lw_infer_value *object)
{
    const lw_node *n = lw_node_of(f, target);
    lw_status status;

    *object = (lw_infer_value){LW_T_BOTTOM, 0};
    if (n->kind != LW_NODE_ATTRIBUTE || f->notes == NULL)
        return LW_OK;
    LW_TRY(lw_infer_borrowed(f, n->a, object));
    if (!lw_class_by_value(f, object->type))
        object->type = LW_T_BOTTOM;
fail:
    return status;
}

/* Whether the mask, which is the index of the target, has as many axes as the array. */
static bool
masks_elements(lw_infer_frame *f, uint32_t target, lw_type array)
{
    lw_type mask = f->nodes[lw_node_of(f, target)->b].type;

    return lw_type_get(lw_types_of(f), mask)->ndim == lw_array_row(f, array)->ndim;
}

/* A[places] = v, or A[places] += v for another operator than NONE. Several targets would
 * evaluate the value more than once. */
static lw_status
store_by_arrays(lw_infer_frame *f, uint32_t target, lw_type view, const lw_index *arrays,
                lw_stored stored)
{
    lw_infer_value value = stored.value.value, nothing;
    uint32_t source = stored.value.node;
    lw_type element = lw_array_row(f, view)->elements[0];
    lw_status status;

    if (value.type == LW_T_BOTTOM)
        return LW_OK;
    if (lw_type_kind_of(lw_types_of(f), value.type) == LW_TK_ELEMENTWISE)
        LW_TRY(lw_infer_made_array(f, source, &value));
    if (!lw_type_is_dtype(element) && !lw_array_row(f, value.type) && stored.op == LW_PY_NONE)
        LW_TRY(lw_infer_store_record(f, source, element, value.type));
    else if (!lw_array_row(f, value.type) && !lw_type_is_scalar(f, value.type))
        return lw_complain(
            f, lw_node_of(f, source)->loc, "E120",
            lw_format_text(f, "this is %s", lw_describe_value(f, value)), NULL,
            "what is stored under arrays of indices must be a number or an array");
    stored.value.entry = LW_ARG_STORED;
    stored.value.value = (lw_infer_value){value.type, 0};
    LW_TRY(lw_infer_index_arrays(f, target, view, arrays, &stored, &nothing));
fail:
    return status;
}

/* What an assignment to a target is. Each question infers parts of the target, where `:=` or a
 * call may assign: the next one begins where this one began. */
typedef enum lw_target_kind { TO_ARRAY, TO_OBJECT, TO_PROPERTY, TO_MASK } lw_target_kind;

typedef struct lw_target {
    lw_target_kind kind;
    lw_infer_value object; /* TO_OBJECT: whose field it is */
    lw_type array;         /* TO_MASK */
} lw_target;

static lw_status
ask_kind(lw_infer_frame *f, uint32_t target, const lw_flow *before, const lw_infer_value *value,
         lw_target *out)
{
    bool found = false;
    lw_status status;

    *out = (lw_target){.kind = TO_OBJECT};
    LW_TRY(infer_object_of(f, target, &out->object));
    if (out->object.type != LW_T_BOTTOM)
        return LW_OK;
    if (before->reach)
        lw_flow_set(f, before);
    out->kind = TO_PROPERTY;
    LW_TRY(lw_infer_record_property(f, target, value, &found));
    if (found)
        return LW_OK;
    if (before->reach)
        lw_flow_set(f, before);
    LW_TRY(lw_infer_mask(f, target, &out->array, &found));
    found =
        found &&
        (value == NULL || value->type == LW_T_BOTTOM || lw_type_is_scalar(f, value->type)) &&
        masks_elements(f, target, out->array);
    out->kind = found ? TO_MASK : TO_ARRAY;
fail:
    return status;
}

/* *value: what is assigned; NULL: by an augmented assignment. */
static lw_status
kind_of_target(lw_infer_frame *f, uint32_t target, const lw_infer_value *value, lw_target *out)
{
    lw_flow before = {0};
    lw_status status;

    if (f->run->assigns_inside && !lw_flow_take(f, &before))
        return lw_out_of_memory(f);
    status = ask_kind(f, target, &before, value, out);
    if (before.reach && status == LW_OK && out->kind == TO_ARRAY)
        lw_flow_set(f, &before);
    lw_flow_put(f, &before);
    return status;
}

lw_status
lw_infer_store(lw_infer_frame *f, uint32_t target, lw_infer_value value)
{
    uint32_t source = f->source ? f->source : target;
    const lw_index *arrays;
    lw_target to = {0};
    lw_type type;
    lw_status status;

    LW_TRY(kind_of_target(f, target, &value, &to));
    if (to.kind == TO_OBJECT)
        return lw_infer_object_store(f, target, to.object, value);
    if (to.kind == TO_PROPERTY)
        return LW_OK;
    lw_note_store(f);
    if (to.kind == TO_MASK && value.type == LW_T_BOTTOM)
        return LW_OK;
    if (to.kind == TO_MASK) {
        LW_TRY(
            check_writable(f, lw_node_of(f, target)->loc, lw_node_of(f, target)->a, to.array));
        return lw_infer_masked_store(f, target, source, to.array, value);
    }
    (void)lw_stores_begin(f);
    LW_TRY(infer_target(f, target, &arrays, &type));
    LW_TRY(lw_stores_end(f, true, source, &value));
    if (arrays != NULL && type != LW_T_BOTTOM)
        return store_by_arrays(f, target, type, arrays,
                               (lw_stored){.value = {.node = source, .value = value}});
    if (type != LW_T_BOTTOM && value.type != LW_T_BOTTOM)
        LW_TRY(lw_infer_check_store(f, type, source, value));
fail:
    return status;
}

/* A += v, A[1:] += v: every element is read, and the result is stored where it was. */
lw_status
lw_infer_augmented_array(lw_infer_frame *f, uint32_t node, lw_infer_value x, lw_infer_value y)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value result;
    lw_status status;

    lw_note_store(f);
    LW_TRY(check_writable(f, n->loc, n->a, x.type));
    LW_TRY(lw_infer_binary(f, node, (lw_pyop)n->op, (lw_infer_operand){n->a, x},
                           (lw_infer_operand){n->b, y}, &result));
    f->nodes[node].type = result.type;
    f->nodes[node].constant = 0;
    if (result.type != LW_T_BOTTOM)
        LW_TRY(lw_infer_array_store(f, node, x.type, result.type));
fail:
    return status;
}

static lw_infer_value
element_of(lw_infer_frame *f, lw_infer_value value)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), value.type);

    return row && lw_is_elementwise(f, value.type) ? (lw_infer_value){row->elements[0], 0}
                                                   : value;
}

/* A[places] += v: as in NumPy, the elements are taken, changed and stored again. */
static lw_status
augment_by_arrays(lw_infer_frame *f, uint32_t node, lw_type view, const lw_index *arrays,
                  lw_infer_value y)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value x = {lw_array_row(f, view)->elements[0], 0}, result;
    lw_stored stored = {.value = {.node = n->b, .value = y}, .op = (lw_pyop)n->op};
    lw_infer_value taken;
    lw_status status;

    if (!lw_type_is_dtype(x.type))
        return lw_complain_whole_array(f, node, lw_format_text(f, "`%s=`", lw_pyop_text[n->op]),
                                       view, "write a loop over the elements");
    LW_TRY(lw_infer_binary(f, node, (lw_pyop)n->op, (lw_infer_operand){n->a, x},
                           (lw_infer_operand){n->b, element_of(f, y)}, &result));
    f->nodes[node].type = LW_T_NONE;
    f->nodes[node].constant = 0;
    if (result.type == LW_T_BOTTOM)
        return LW_OK;
    LW_TRY(lw_check_conversion(f, lw_node_of(f, n->b)->loc, result.type, (lw_dtype)x.type,
                               "array"));
    LW_TRY(lw_infer_index_arrays(f, node, view, arrays, NULL, &taken));
    f->nodes[node].type = LW_T_NONE;
    stored.taken = taken.type;
    if (taken.type != LW_T_BOTTOM)
        LW_TRY(store_by_arrays(f, n->a, view, arrays, stored));
fail:
    return status;
}

/* A[mask] += v: of the elements under the mask. They are taken first if v is an array, or if
 * what computes it might write to them or to the mask. */
static lw_status
infer_augmented_mask(lw_infer_frame *f, uint32_t node, lw_type array, bool *by_arrays)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value element = {lw_array_row(f, array)->elements[0], 0}, y, result;
    lw_status status;
    bool before;

    LW_TRY(check_writable(f, n->loc, lw_node_of(f, n->a)->a, array));
    f->nodes[n->a].operand = element.type;
    before = lw_stores_begin(f);
    LW_TRY(lw_infer_expr(f, n->b, &y));
    *by_arrays = lw_is_elementwise(f, y.type) || f->stores ||
                 (f->run->assigns_inside && !lw_is_pure(f, n->b)); /* to the mask's variable */
    f->stores |= before;
    if (*by_arrays)
        return LW_OK;
    LW_TRY(lw_infer_binary(f, node, (lw_pyop)n->op, (lw_infer_operand){n->a, element},
                           (lw_infer_operand){n->b, y}, &result));
    f->nodes[node].type = result.type;
    f->nodes[node].constant = 0;
    if (result.type != LW_T_BOTTOM)
        LW_TRY(lw_infer_masked_store(f, n->a, n->b, array, result));
fail:
    return status;
}

/* Whether the statement is done: what the target is has been asked, and it is a mask of
 * numbers, a field or a property. Otherwise it is inferred from the start. */
static lw_status
infer_special_target(lw_infer_frame *f, uint32_t node, bool *done)
{
    lw_flow before = {0};
    lw_target to = {0};
    bool by_arrays = false;
    lw_status status;

    *done = true;
    if (f->run->assigns_inside && !lw_flow_take(f, &before))
        return lw_out_of_memory(f);
    LW_TRY(kind_of_target(f, lw_node_of(f, node)->a, NULL, &to));
    if (to.kind == TO_PROPERTY) {
        status = lw_infer_augmented_property(f, node);
    } else if (to.kind == TO_OBJECT) {
        status = lw_infer_augmented_field(f, node, to.object);
    } else {
        lw_note_store(f);
        *done = to.kind == TO_MASK;
        if (*done)
            status = infer_augmented_mask(f, node, to.array, &by_arrays);
    }
    *done &= !by_arrays;
    if (by_arrays && before.reach)
        lw_flow_set(f, &before);
fail:
    lw_flow_put(f, &before);
    return status;
}

/* A[i] += v: the array and the index are evaluated once, then the element is read, v is
 * computed and the result is stored. */
lw_status
lw_infer_augmented_store(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value x = {0}, y, result;
    const lw_index *arrays;
    lw_status status;
    bool done;

    LW_TRY(infer_special_target(f, node, &done));
    if (done)
        return LW_OK;
    LW_TRY(infer_target(f, n->a, &arrays, &x.type));
    f->nodes[n->a].operand = x.type;
    LW_TRY(lw_infer_operand_expr(f, n->b, &y));
    if (x.type == LW_T_BOTTOM || y.type == LW_T_BOTTOM)
        return LW_OK;
    if (arrays != NULL)
        return augment_by_arrays(f, node, x.type, arrays, y);
    if (lw_is_elementwise(f, x.type))
        return lw_infer_augmented_array(f, node, x, y);
    if (lw_is_elementwise(f, y.type))
        return lw_complain_whole_array(
            f, node, lw_format_text(f, "`%s=`", lw_pyop_text[lw_node_of(f, node)->op]), y.type,
            "the target is one element");
    if (lw_class_of(f, x.type))
        return lw_complain(f, n->loc, "E165",
                           lw_format_text(f, "`%s` is %s", lw_describe_source(f, n->a),
                                          lw_describe_type(f, x.type)),
                           lw_format_text(f, "write it in full: `%s = %s %s ...`",
                                          lw_describe_source(f, n->a),
                                          lw_describe_source(f, n->a), lw_pyop_text[n->op]),
                           "an augmented assignment to an object in an array");
    if (!lw_type_is_dtype(x.type))
        return lw_complain_whole_array(
            f, node, lw_format_text(f, "`%s=`", lw_pyop_text[lw_node_of(f, node)->op]), x.type,
            "write a loop over the elements");
    LW_TRY(lw_infer_binary(f, node, (lw_pyop)n->op, (lw_infer_operand){n->a, x},
                           (lw_infer_operand){n->b, y}, &result));
    f->nodes[node].type = result.type;
    f->nodes[node].constant = 0;
    if (result.type != LW_T_BOTTOM)
        LW_TRY(lw_check_conversion(f, lw_node_of(f, n->b)->loc, result.type, (lw_dtype)x.type,
                                   "array"));
fail:
    return status;
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
