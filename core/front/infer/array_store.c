/* Assignment into arrays: which targets can be written to, whether the value can be converted
 * to their elements, and augmented assignment. What decides between a store, a copy of a view
 * and a call of the package's functions is the target's kind. */
#include "core/front/infer/infer_internal.h"
#include "core/front/records.h"
#include "core/front/subscript.h"

#include <assert.h>
#include <string.h>

static lw_status
complain_no_array(lw_infer_frame *f, uint32_t target, lw_type type)
{
    const lw_front_options *options = &f->run->typed->options;
    const char *source = lw_describe_source(f, lw_node_of(f, target)->a);
    const lw_type_row *tuple = lw_tuple_row(f, type);
    const lw_class *class = lw_class_of(f, type);

    if (tuple)
        return lw_complain(
            f, lw_node_of(f, target)->loc, "E162",
            lw_format_text(f, "`%s` is %s", source, lw_describe_type(f, type)),
            lw_format_text(f, "make an array, `a = np.array(%s)`%s: its %s can be assigned",
                           source, tuple->is_list ? ", or pass a `lanewise.typed.List`" : "",
                           tuple->is_list ? "items" : "elements"),
            tuple->is_list ? "lists are not changed in compiled code"
                           : "the items of a tuple cannot be assigned");
    if (class)
        return lw_complain(
            f, lw_node_of(f, target)->loc, "E165",
            lw_format_text(f, "`%s` is %s", source, lw_describe_type(f, type)),
            "call a method that assigns the element, or overload `operator.setitem`",
            "an item of a `%s` is assigned, and `__setitem__` is not called", class->name);
    if (options->procedure || options->threads || options->returns_arrays)
        return lw_complain(f, lw_node_of(f, target)->loc, "E121",
                           lw_format_text(f, "this is %s", lw_describe_type(f, type)),
                           "pass an array, if only of one element",
                           "`%s` is not an array: nothing can be stored in it", source);
    return lw_complain(f, lw_node_of(f, target)->loc, "E160", "an element is assigned here",
                       "`return` the value; writing arrays belongs to kernels (`forall`, "
                       "`guvectorize`)",
                       "this function computes one element and cannot write into arrays");
}

lw_status
lw_check_writable(lw_infer_frame *f, uint32_t loc, uint32_t array, lw_type type)
{
    if (!lw_array_row(f, type)->readonly)
        return LW_OK;
    return lw_complain(f, loc, "E162", lw_describe_array(f, array, type),
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
        lw_typed_in(&f->nodes, target)->type = *out;
        return LW_OK;
    }
    if (n->kind == LW_NODE_ATTRIBUTE)
        return lw_complain(
            f, n->loc, "E162",
            lw_format_text(f, "the object is %s", lw_describe_type(f, array.type)), NULL,
            "attributes cannot be assigned");
    if (lw_array_row(f, array.type) == NULL)
        return complain_no_array(f, target, array.type);
    LW_TRY(lw_check_writable(f, n->loc, n->a, array.type));
    LW_TRY(lw_infer_array_subscript(f, target, array.type, arrays, out));
    lw_typed_in(&f->nodes, target)->type = *out;
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

    if (x->ndim < y->ndim)
        return lw_complain(
            f, loc, "E121",
            lw_format_text(f, "%s into %s", lw_describe_type(f, from), lw_describe_type(f, to)),
            "select the elements that are meant with an index",
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
    lw_type from;
    const lw_type_row *row = lw_array_row(f, to);
    uint32_t loc = lw_node_of(f, source)->loc;
    lw_type element = row ? row->elements[0] : to;
    lw_status status;

    LW_TRY(lw_infer_number(f, source, &value));
    from = value.type;
    if (lw_type_kind_of(lw_types_of(f), from) == LW_TK_ELEMENTWISE)
        return lw_infer_array_store(f, source, to, from);
    if (row && lw_array_row(f, from))
        return check_copy(f, to, source, from);
    if (row && lw_tuple_row(f, from) && lw_type_is_dtype(element))
        return check_tuple(f, to, source, value);
    if (!lw_type_is_dtype(element)) {
        f->can_raise |= row && !f->run->typed->options.ignore_errors; /* they may overlap */
        return lw_infer_store_record(f, source, element, value);
    }
    if (!lw_type_is_scalar(f, from))
        return lw_complain(
            f, loc, "E120", lw_format_text(f, "this is %s", lw_describe_value(f, value)),
            lw_array_row(f, from) && lw_array_row(f, from)->ndim == 0
                ? lw_format_text(f, "its element is `%s[()]`", lw_describe_source(f, source))
                : NULL,
            "an element of a %s array must be a number", lw_dtypes[element].public_name);
    status = lw_check_value(f, source, from, (lw_dtype)element, "array");
fail:
    return status;
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

/* *object: the list of which the target is an item, or items; else BOTTOM. */
static lw_status
infer_list_of(lw_infer_frame *f, uint32_t target, lw_infer_value *object)
{
    const lw_node *n = lw_node_of(f, target);
    lw_status status;

    *object = (lw_infer_value){LW_T_BOTTOM, 0};
    if (n->kind != LW_NODE_SUBSCRIPT || f->notes == NULL)
        return LW_OK;
    LW_TRY(lw_infer_borrowed(f, n->a, object));
    if (!lw_has_grown(f, object->type))
        object->type = LW_T_BOTTOM;
fail:
    return status;
}

/* Whether the mask, which is the index of the target, has as many axes as the array. */
static bool
masks_elements(lw_infer_frame *f, uint32_t target, lw_type array)
{
    lw_type mask = lw_typed_in(&f->nodes, lw_node_of(f, target)->b)->type;

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
        LW_TRY(lw_infer_store_record(f, source, element, value));
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
typedef enum lw_target_kind {
    TO_ARRAY,
    TO_OBJECT,
    TO_PROPERTY,
    TO_MASK,
    TO_LIST
} lw_target_kind;

typedef struct lw_target {
    lw_target_kind kind;
    lw_infer_value object; /* TO_OBJECT: whose field it is; TO_LIST: whose item */
    lw_type array;         /* TO_MASK */
} lw_target;

static lw_status
ask_kind(lw_infer_frame *f, uint32_t target, const lw_flow *before, const lw_infer_value *value,
         lw_target *out)
{
    bool found = false;
    lw_status status;

    *out = (lw_target){.kind = TO_LIST};
    LW_TRY(infer_list_of(f, target, &out->object));
    if (out->object.type != LW_T_BOTTOM)
        return LW_OK;
    if (before->reach)
        lw_flow_set(f, before);
    out->kind = TO_OBJECT;
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
    if (to.kind == TO_LIST)
        return lw_infer_list_store(f, target, to.object, value);
    if (to.kind == TO_OBJECT)
        return lw_infer_object_store(f, target, to.object, value);
    if (to.kind == TO_PROPERTY)
        return LW_OK;
    if (f->source)
        LW_TRY(lw_infer_list_array(f, source, &value));
    lw_note_store(f);
    if (to.kind == TO_MASK && value.type == LW_T_BOTTOM)
        return LW_OK;
    if (to.kind == TO_MASK) {
        LW_TRY(lw_check_writable(f, lw_node_of(f, target)->loc, lw_node_of(f, target)->a,
                                 to.array));
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
    LW_TRY(lw_check_writable(f, n->loc, n->a, x.type));
    LW_TRY(lw_infer_binary(f, node, (lw_pyop)n->op, (lw_infer_operand){n->a, x},
                           (lw_infer_operand){n->b, y}, &result));
    lw_typed_in(&f->nodes, node)->type = result.type;
    lw_typed_in(&f->nodes, node)->constant = 0;
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
    lw_typed_in(&f->nodes, node)->type = LW_T_NONE;
    lw_typed_in(&f->nodes, node)->constant = 0;
    if (result.type == LW_T_BOTTOM)
        return LW_OK;
    LW_TRY(lw_check_conversion(f, lw_node_of(f, n->b)->loc, result.type, (lw_dtype)x.type,
                               "array"));
    LW_TRY(lw_infer_index_arrays(f, node, view, arrays, NULL, &taken));
    lw_typed_in(&f->nodes, node)->type = LW_T_NONE;
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

    LW_TRY(lw_check_writable(f, n->loc, lw_node_of(f, n->a)->a, array));
    lw_typed_in(&f->nodes, n->a)->operand = element.type;
    before = lw_stores_begin(f);
    LW_TRY(lw_infer_expr(f, n->b, &y));
    *by_arrays = lw_is_elementwise(f, y.type) || f->stores ||
                 (f->run->assigns_inside && !lw_is_pure(f, n->b)); /* to the mask's variable */
    f->stores |= before;
    if (*by_arrays)
        return LW_OK;
    LW_TRY(lw_infer_binary(f, node, (lw_pyop)n->op, (lw_infer_operand){n->a, element},
                           (lw_infer_operand){n->b, y}, &result));
    lw_typed_in(&f->nodes, node)->type = result.type;
    lw_typed_in(&f->nodes, node)->constant = 0;
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
    if (to.kind == TO_LIST) {
        status = lw_infer_augmented_item(f, node, to.object);
    } else if (to.kind == TO_PROPERTY) {
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
    lw_typed_in(&f->nodes, n->a)->operand = x.type;
    LW_TRY(lw_infer_operand_expr(f, n->b, &y));
    if (x.type == LW_T_BOTTOM || y.type == LW_T_BOTTOM)
        return LW_OK;
    if (arrays != NULL)
        return augment_by_arrays(f, node, x.type, arrays, y);
    if (lw_is_elementwise(f, x.type))
        return lw_infer_augmented_array(f, node, x, y);
    LW_TRY(lw_infer_number(f, n->b, &y));
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
    lw_typed_in(&f->nodes, node)->type = result.type;
    lw_typed_in(&f->nodes, node)->constant = 0;
    if (result.type != LW_T_BOTTOM)
        LW_TRY(lw_check_conversion(f, lw_node_of(f, n->b)->loc, result.type, (lw_dtype)x.type,
                                   "array"));
fail:
    return status;
}
