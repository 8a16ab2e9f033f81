/* Array expressions, `out[i, :] = x[i, :] / x[i, :].sum()`: operators, comparisons and NumPy's
 * functions of whole arrays. They are typed as for one element of each operand, by the rules of
 * scalars, except that the result is a strong type as every array has, and that operators of
 * two bools are those of NumPy. An array
 * expression may be an operand of another one; it ends in a store to an array that exists, for
 * which no memory is made, or in a value, which is a new array. Until then its type is
 * LW_TK_ELEMENTWISE; in the last walk what it ends in gives the nodes the types of elements. */
#include "core/front/infer/call.h"

#include <assert.h>
#include <string.h>

static const lw_type_row *
elementwise_row(lw_infer_frame *f, lw_type type)
{
    return lw_type_get_kind(lw_types_of(f), type, LW_TK_ELEMENTWISE);
}

bool
lw_is_elementwise(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *array = lw_array_row(f, type);

    return elementwise_row(f, type) || (array && lw_type_is_dtype(array->elements[0]));
}

/* One element of an operand; others are as they are. *ndim: the most axes so far. */
static lw_infer_value
element_of(lw_infer_frame *f, lw_infer_value operand, uint32_t *ndim)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), operand.type);

    if (!lw_is_elementwise(f, operand.type))
        return operand;
    assert(row->n == 1);
    *ndim = row->ndim > *ndim ? row->ndim : *ndim;
    return (lw_infer_value){row->elements[0], 0};
}

/* The array of these elements; element: BOTTOM while that is not known. */
static void
make_result(lw_infer_frame *f, lw_type element, uint32_t ndim, lw_infer_value *out)
{
    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (element != LW_T_BOTTOM)
        out->type =
            lw_type_elementwise(lw_types_of(f), lw_type_stored(lw_types_of(f), element), ndim);
}

/* E160: the value of the expression would be a new array. */
static lw_status
complain_new_array(lw_infer_frame *f, uint32_t node, lw_type type)
{
    const lw_type_row *row = elementwise_row(f, type);
    const char *source = lw_describe_source(f, node);
    const char *help = lw_format_text(
        f,
        "store it in an array that exists, `out[...] = %s`, or compute its elements in a loop",
        source && *source ? source : "x + y");

    return lw_complain(f, lw_node_of(f, node)->loc, "E160",
                       lw_format_text(f, "this would be a new array of %s with %u ax%s",
                                      lw_dtypes[row->elements[0]].public_name, row->ndim,
                                      row->ndim == 1 ? "is" : "es"),
                       help, "the value of this expression is a whole array");
}

/* ---- operators ---- */

static lw_status
complain_bools(lw_infer_frame *f, uint32_t node, lw_pyop op)
{
    return lw_complain(f, lw_node_of(f, node)->loc, "E120", "the elements are bool",
                       "use `&`, `|`, `^` and `~`, or numbers: `1 * mask`",
                       "`%s` of arrays of bool", lw_pyop_text[op]);
}

/* What NumPy makes of two bools: + is `or` and * is `and`; other operators compute with int8,
 * and - is refused. *done: the result is a bool. */
static lw_status
infer_bools(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_value *x, lw_infer_value *y,
            bool *done)
{
    *done = false;
    switch (op) {
    case LW_PY_BITAND:
    case LW_PY_BITOR:
    case LW_PY_BITXOR: return LW_OK;
    case LW_PY_ADD:
    case LW_PY_MUL:
        lw_typed_in(&f->nodes, node)->operand = LW_DT_b1;
        *done = true;
        return LW_OK;
    case LW_PY_SUB: return complain_bools(f, node, op);
    default: *x = *y = (lw_infer_value){LW_DT_i8, 0}; return LW_OK;
    }
}

/* With numba's typing, an integer beside a float or complex number of an array becomes a number
 * of that type. */
static lw_infer_value
beside_float(lw_infer_frame *f, lw_infer_value x, lw_infer_value y)
{
    lw_dtype type = lw_type_stored(lw_types_of(f), y.type);

    if (type == LW_DT_void || !lw_type_is_strong_int(x.type) ||
        (!lw_is_float(type) && !lw_is_complex(type)))
        return x;
    return (lw_infer_value){type, 0};
}

/* With numba's typing, the result of np.clip has the type of the array, so bounds that are
 * known and fit this type get it. */
static lw_infer_value
as_clipped(lw_infer_frame *f, lw_infer_value bound, lw_infer_value x)
{
    const lw_constant *k = bound.constant ? lw_constant_of(f, bound.constant) : NULL;

    if (k == NULL || k->kind != LW_K_INT || !lw_type_is_strong_int(x.type) ||
        !lw_literal_fits(lw_types_of(f), lw_type_literal(lw_types_of(f), k->i, k->i),
                         (lw_dtype)x.type))
        return bound;
    return (lw_infer_value){x.type, 0};
}

/* With numba's typing, numbers are computed by numba's own rules, and the elements of whole
 * arrays by the loops of NumPy's ufuncs. */
lw_status
lw_infer_array_binary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_operand x,
                      lw_infer_operand y, lw_infer_value *out)
{
    uint32_t ndim = 0;
    lw_infer_value element;
    lw_status status;

    x.value = element_of(f, x.value, &ndim);
    y.value = element_of(f, y.value, &ndim);
    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (x.value.type == LW_DT_b1 && y.value.type == LW_DT_b1) {
        bool done;
        status = infer_bools(f, node, op, &x.value, &y.value, &done);
        if (done)
            make_result(f, LW_DT_b1, ndim, out);
        if (done || status != LW_OK)
            return status;
    }
    if ((op == LW_PY_LSHIFT || op == LW_PY_RSHIFT) && x.value.type == LW_DT_b1 &&
        lw_type_is_strong_int(y.value.type))
        x.value = (lw_infer_value){y.value.type, 0}; /* a bool alone is shifted as an int64 */
    if (op == LW_PY_POW && y.value.constant && x.value.type != LW_DT_u64) {
        f->numpys |= lw_type_is_complex(x.value.type); /* the exponent leaves the type to it */
    } else if (!lw_weak_mode(f)) {
        lw_infer_value first = x.value;
        x.value = beside_float(f, first, y.value);
        y.value = beside_float(f, y.value, first);
        if ((op == LW_PY_LSHIFT || op == LW_PY_RSHIFT) && lw_type_is_strong_int(first.type) &&
            lw_type_is_strong_int(y.value.type))
            x.value = (lw_infer_value){
                lw_promote_dtypes((lw_dtype)first.type, (lw_dtype)y.value.type), 0};
        f->numpys = true;
    }
    status = lw_infer_binary(f, node, op, x, y, &element);
    f->numpys = false;
    if (status == LW_OK)
        make_result(f, element.type, ndim, out);
    return status;
}

lw_status
lw_infer_array_unary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_value x,
                     lw_infer_value *out)
{
    uint32_t ndim = 0;
    lw_infer_value element;
    lw_status status;

    x = element_of(f, x, &ndim);
    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (x.type == LW_DT_b1 && op != LW_PY_INVERT)
        return complain_bools(f, node, op);
    f->numpys = true;
    status = lw_infer_unary(f, node, op, x, &element);
    f->numpys = false;
    if (status == LW_OK)
        make_result(f, element.type, ndim, out);
    return status;
}

lw_status
lw_infer_array_compare(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_operand x,
                       lw_infer_operand y, int *truth)
{
    uint32_t ndim = 0;

    x.value = element_of(f, x.value, &ndim);
    y.value = element_of(f, y.value, &ndim);
    return lw_infer_compare(f, node, op, x, y, truth);
}

lw_status
lw_infer_array_comparison(lw_infer_frame *f, uint32_t node, lw_infer_value x, lw_infer_value y,
                          lw_infer_value *out)
{
    uint32_t ndim = 0;

    element_of(f, x, &ndim);
    element_of(f, y, &ndim);
    make_result(f, LW_DT_b1, ndim, out);
    if (lw_node_of(f, node)->c == 1)
        return LW_OK;
    return lw_complain(f, lw_node_of(f, node)->loc, "E120", NULL,
                       "compare twice: `(a < x) & (x < b)`",
                       "comparisons of whole arrays cannot be chained");
}

/* ---- functions ---- */

bool
lw_name_is_elementwise(lw_name_id name)
{
    return lw_names[name].rule == LW_RULE_ABS ||
           (lw_names[name].rule >= LW_RULE_NP_PROMOTE &&
            strncmp(lw_names[name].path, "numpy.", 6) == 0);
}

lw_status
lw_infer_array_named(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
                     uint32_t n, lw_infer_value *out)
{
    lw_arg *elements = lw_arena_take(f->run->arena, (n + 1) * sizeof *elements);
    uint32_t ndim = 0;
    lw_infer_value element;
    lw_status status;

    if (elements == NULL)
        return lw_out_of_memory(f);
    if (name == LW_NAME_builtins_abs) /* which asks the array, as NumPy's function does */
        name = LW_NAME_numpy_absolute;
    for (uint32_t i = 0; i < n; i++) {
        elements[i] = args[i];
        elements[i].value = element_of(f, args[i].value, &ndim);
    }
    *out = element = (lw_infer_value){LW_T_BOTTOM, 0};
    if (!lw_weak_mode(f)) {
        for (uint32_t i = n; i-- > 0 && n > 1;)
            elements[i].value = beside_float(f, elements[i].value, elements[i ? 0 : 1].value);
        for (uint32_t i = 1; i < n && name == LW_NAME_numpy_clip; i++)
            elements[i].value = as_clipped(f, elements[i].value, elements[0].value);
        f->numpys = true;
    }
    status = lw_infer_named(f, node, name, elements, n, &element);
    f->numpys = false;
    if (status != LW_OK)
        goto fail;
    if (element.type != LW_T_BOTTOM && !lw_type_is_scalar(f, element.type))
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E160",
            lw_format_text(f, "it gives %s for one element", lw_describe_type(f, element.type)),
            "call it for each element in a loop", "`%s` of a whole array has several results",
            lw_name_shown(name));
    make_result(f, element.type, ndim, out);
fail:
    return status;
}

/* ---- Ufuncs of ours ---- */

/* The parameter that argument i is for; its number in the function, or -1. */
static int
parameter_of(const lw_fn *fn, const lw_arg_list *args, uint32_t i)
{
    uint32_t at = 0;

    for (uint32_t k = 0; k < fn->params.n; k++) {
        const lw_fn_param *param = &fn->params.data[k];
        if (args->data[i].keyword != NULL ? strcmp(param->name, args->data[i].keyword) == 0
                                          : param->kind == LW_PARAM_POSITIONAL && at++ == i)
            return (int)k;
    }
    return -1;
}

static bool
is_among(uint64_t parameters, int at)
{
    return at >= 0 && at < 64 && (parameters >> at & 1);
}

static lw_status
complain_static(lw_infer_frame *f, const lw_fn *fn, const lw_arg *arg, int at)
{
    return lw_complain(f, lw_node_of(f, arg->node)->loc, "E120",
                       lw_format_text(f, "this is %s", lw_describe_type(f, arg->value.type)),
                       "name it in `excluded=` instead of `static=`",
                       "static argument `%s` of `%s` must be a constant",
                       fn->params.data[at].name, fn->name);
}

/* Arrays of records; lists and tuples, which a call from Python takes for arrays. */
static lw_status
refuse_operand(lw_infer_frame *f, const lw_fn *fn, const lw_arg *arg)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), arg->value.type);
    bool array = row && row->kind == LW_TK_ARRAY;

    if (!array && !(row && row->kind == LW_TK_TUPLE && !row->user_class && !row->names))
        return LW_OK;
    return lw_complain(f, lw_node_of(f, arg->node)->loc, "E120",
                       lw_format_text(f, "this is %s", lw_describe_type(f, arg->value.type)),
                       array ? "pass its fields, `x[\"a\"]`, or call `name.py_func(...)`"
                             : "make an array of it, `np.array([x, y])`, or call "
                               "`name.py_func(...)`",
                       "an operand of `%s` must be a number or an array of numbers", fn->name);
}

/* What the function is called with: of arrays that broadcast one element. *ndim: the most axes,
 * and *any whether there are such arrays. */
static lw_status
element_arguments(lw_infer_frame *f, const lw_constant *callee, lw_arg_list *args,
                  uint32_t *ndim, bool *any)
{
    const lw_fn *fn = &f->run->tree->fns.data[callee->u];
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < args->n; i++) {
        lw_arg *arg = &args->data[i];
        int at = parameter_of(fn, args, i);
        if (!lw_is_elementwise(f, arg->value.type)) {
            if (!is_among(callee->fixed | callee->excluded, at))
                LW_TRY(refuse_operand(f, fn, arg));
            continue;
        }
        if (is_among(callee->fixed, at))
            return complain_static(f, fn, arg, at);
        if (is_among(callee->excluded, at)) {
            if (elementwise_row(f, arg->value.type))
                LW_TRY(lw_infer_made_array(f, arg->node, &arg->value));
            continue;
        }
        if (arg->entry & LW_ARG_TAG)
            return lw_complain_whole_array(f, arg->node, fn->name, arg->value.type,
                                           "pass the arrays one by one");
        arg->value = element_of(f, arg->value, ndim);
        *any = true;
    }
fail:
    return status;
}

lw_status
lw_infer_array_called(lw_infer_frame *f, uint32_t node, uint32_t callee,
                      const lw_arg_list *args, lw_infer_value *out)
{
    const lw_constant *constant = lw_constant_of(f, callee);
    const char *name = f->run->tree->fns.data[constant->u].name;
    lw_arg_list elements = {0};
    uint32_t ndim = 0;
    bool any = false;
    lw_infer_value element = {LW_T_BOTTOM, 0};
    lw_status status;

    *out = element;
    for (uint32_t i = 0; i < args->n; i++)
        LW_TRY(lw_add_arg(f, &elements, args->data[i]));
    LW_TRY(element_arguments(f, constant, &elements, &ndim, &any));
    if (!any)
        return lw_call_linked(f, node, (uint32_t)constant->u, constant->linked, &elements, out);
    LW_TRY(
        lw_call_linked(f, node, (uint32_t)constant->u, constant->linked, &elements, &element));
    if (element.type != LW_T_BOTTOM && !lw_type_is_scalar(f, element.type))
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E160",
            lw_format_text(f, "it gives %s for one element", lw_describe_type(f, element.type)),
            "call it for each element in a loop", "`%s` of a whole array has several results",
            name);
    make_result(f, element.type, ndim, out);
fail:
    return status;
}

/* ---- stores ---- */

static uint32_t
entry_at(lw_infer_frame *f, const lw_typed_node *call, uint32_t i)
{
    return f->run->typed->lists.data[call->args + i];
}

/* The nodes of an array expression get the types of their elements. The number of leaves: of
 * parts that are not elementwise themselves. */
static uint32_t
settle(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    lw_typed_node *typed = lw_typed_in(&f->nodes, node);
    const lw_type_row *row = elementwise_row(f, typed->type);
    const uint32_t *lists = f->run->tree->lists.data;
    uint32_t leaves = 0;

    if (row == NULL)
        return 1;
    typed->type = row->elements[0];
    typed->elementwise = true;
    switch ((lw_node_kind)n->kind) {
    case LW_NODE_BINARY: return settle(f, n->a) + settle(f, n->b);
    case LW_NODE_UNARY: return settle(f, n->a);
    case LW_NODE_AUGASSIGN: return settle(f, n->b);
    case LW_NODE_COMPARE: return settle(f, n->a) + settle(f, lw_node_of(f, lists[n->b])->a);
    default:
        assert(n->kind == LW_NODE_CALL);
        for (uint32_t i = 0; i < typed->n_args; i++)
            if ((entry_at(f, typed, i) & LW_ARG_TAG) == 0 && entry_at(f, typed, i) != 0)
                leaves += settle(f, entry_at(f, typed, i));
        return leaves;
    }
}

/* others: how many leaves the store has beside those of the expression. */
static lw_status
settle_store(lw_infer_frame *f, uint32_t node, uint32_t others)
{
    uint32_t n = f->report ? settle(f, node) + others : 0;

    if (n <= LW_MOST_LEAVES)
        return LW_OK;
    return lw_complain(
        f, lw_node_of(f, node)->loc, "E160",
        lw_format_text(f, "it has %u operands, at most %d are possible", n, LW_MOST_LEAVES),
        "split it: `out[...] = x + y`, then `out += z`", "this array expression is too long");
}

lw_status
lw_infer_array_store(lw_infer_frame *f, uint32_t source, lw_type to, lw_type value)
{
    const lw_type_row *array = lw_array_row(f, to), *row = elementwise_row(f, value);
    uint32_t loc = lw_node_of(f, source)->loc;
    lw_status status;

    assert(row != NULL);
    if (array == NULL || !lw_type_is_dtype(array->elements[0]))
        return complain_new_array(f, source, value);
    if (row->ndim > array->ndim)
        return lw_complain(f, loc, "E121",
                           lw_format_text(f, "%s into %s", lw_describe_type(f, value),
                                          lw_describe_type(f, to)),
                           NULL, "the value has more axes than the array it is stored in");
    f->can_raise |= !f->run->typed->options.ignore_errors; /* shapes differ, or no order */
    LW_TRY(
        lw_check_conversion(f, loc, row->elements[0], (lw_dtype)array->elements[0], "array"));
    LW_TRY(settle_store(f, source, 0));
fail:
    return status;
}

/* ---- new arrays ---- */

/* Of arrays without axes: the number itself. */
static lw_status
made_number(lw_infer_frame *f, uint32_t node, lw_type element, lw_infer_value *out)
{
    lw_status status;

    LW_TRY(settle_store(f, node, 0));
    lw_typed_in(&f->nodes, node)->element = element;
    lw_typed_in(&f->nodes, node)->type = element;
    *out = (lw_infer_value){element, 0};
fail:
    return status;
}

lw_status
lw_infer_made_array(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_type_row row = *elementwise_row(f, out->type);
    lw_type array;
    lw_status status;

    if (row.ndim == 0) /* NumPy, too, makes a number of arrays without axes */
        return made_number(f, node, row.elements[0], out);
    array = lw_type_array(lw_types_of(f), row.elements[0], row.ndim, LW_LAYOUT_C, false, NULL);
    array = lw_type_array_owned(lw_types_of(f), array, true);
    f->can_raise |= !f->run->typed->options.ignore_errors; /* shapes differ */
    f->allocates = true;
    LW_TRY(settle_store(f, node, 0));
    lw_typed_in(&f->nodes, node)->element = (lw_type)row.elements[0];
    lw_typed_in(&f->nodes, node)->type = array;
    *out = (lw_infer_value){array, 0};
fail:
    return status;
}

lw_status
lw_infer_number(lw_infer_frame *f, uint32_t node, lw_infer_value *value)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), value->type);

    return row && row->kind == LW_TK_ELEMENTWISE && row->ndim == 0
               ? lw_infer_made_array(f, node, value)
               : LW_OK;
}

lw_status
lw_infer_added(lw_infer_frame *f, uint32_t node, lw_infer_value x, lw_infer_value *y,
               bool *good)
{
    const lw_node *n = lw_node_of(f, node);
    const char *target = lw_describe_source(f, n->a), *op = lw_pyop_text[n->op];
    const lw_type_row *array;
    lw_status status;

    *good = false;
    LW_TRY(lw_infer_number(f, n->b, y));
    array = lw_array_row(f, y->type);
    *good = !elementwise_row(f, y->type) &&
            !(array && array->ndim != 0 && lw_type_is_scalar(f, x.type));
    if (*good)
        return LW_OK;
    return lw_complain(
        f, n->loc, "E160",
        lw_format_text(f, "`%s` is %s, and this is %s", target, lw_describe_type(f, x.type),
                       lw_describe_type(f, y->type)),
        lw_format_text(f, "write it in full, `%s = %s %s ...`, which makes a new array", target,
                       target, op),
        "`%s=` with an array would make `%s` an array", op, target);
fail:
    return status;
}

/* ---- masks ---- */

lw_status
lw_infer_mask(lw_infer_frame *f, uint32_t target, lw_type *array, bool *is_masked)
{
    const lw_node *n = lw_node_of(f, target);
    lw_node_kind kind;
    lw_infer_value object, index;
    const lw_type_row *row;
    lw_status status;

    *is_masked = false;
    if (n->kind != LW_NODE_SUBSCRIPT)
        return LW_OK;
    kind = (lw_node_kind)lw_node_of(f, n->b)->kind;
    if (kind == LW_NODE_SLICE || kind == LW_NODE_TUPLE || kind == LW_NODE_CONSTANT)
        return LW_OK;
    LW_TRY(lw_infer_expr(f, n->a, &object));
    if (lw_array_row(f, object.type) == NULL || !lw_is_elementwise(f, object.type))
        return LW_OK;
    LW_TRY(lw_infer_operand_expr(f, n->b, &index));
    row = lw_is_elementwise(f, index.type) ? lw_type_get(lw_types_of(f), index.type) : NULL;
    *is_masked = row != NULL && row->elements[0] == LW_DT_b1;
    *array = object.type;
fail:
    return status;
}

lw_status
lw_infer_masked_store(lw_infer_frame *f, uint32_t target, uint32_t node, lw_type array,
                      lw_infer_value value)
{
    const lw_node *n = lw_node_of(f, target);
    const lw_type_row *to = lw_array_row(f, array);
    const lw_type_row *mask = lw_type_get(lw_types_of(f), lw_typed_in(&f->nodes, n->b)->type);
    lw_status status;

    if (mask->ndim != to->ndim)
        return lw_complain(
            f, lw_node_of(f, n->b)->loc, "E121",
            lw_format_text(f, "this is %s, the array is %s",
                           lw_describe_type(f, lw_typed_in(&f->nodes, n->b)->type),
                           lw_describe_type(f, array)),
            NULL, "a mask has as many axes as the array");
    if (!lw_type_is_scalar(f, value.type))
        return lw_complain(f, lw_node_of(f, node)->loc, "E160",
                           lw_format_text(f, "this is %s", lw_describe_type(f, value.type)),
                           "store a number, or `A[:] = np.where(mask, x, A)`",
                           "only a number can be stored under a mask");
    LW_TRY(lw_check_value(f, node, value.type, (lw_dtype)to->elements[0], "array"));
    f->can_raise |= !f->run->typed->options.ignore_errors; /* shapes differ, or no order */
    if (f->report) {
        lw_typed_in(&f->nodes, target)->elementwise = true;
        lw_typed_in(&f->nodes, target)->type = array;
    }
    LW_TRY(settle_store(f, n->b, 1));
fail:
    return status;
}
