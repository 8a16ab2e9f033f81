/* Calls by what is called: named functions, types, classes, methods, `super()`. */
#include "core/front/infer/call.h"

#include <assert.h>
#include <string.h>

static lw_status
no_keywords(lw_infer_frame *f, const lw_arg_list *args, const char *what)
{
    assert(args->n == 0 || args->data != NULL);
    for (uint32_t i = 0; i < args->n; i++)
        if (args->data[i].keyword)
            return lw_complain(f, lw_node_of(f, args->data[i].node)->loc, "E153",
                               lw_format_text(f, "no parameter `%s`", args->data[i].keyword),
                               NULL, "`%s` has no such parameter", what);
    return LW_OK;
}

/* Put the arguments of a named function in the order of its parameters; a parameter without an
 * argument has entry 0. */
static lw_status
order_keywords(lw_infer_frame *f, lw_name_id name, const lw_arg_list *args, lw_arg_list *placed)
{
    lw_status status = LW_OK;

    assert(args->n == 0 || args->data != NULL);
    for (uint32_t i = 0; i < args->n; i++) {
        lw_arg arg = args->data[i];
        int at = arg.keyword ? lw_name_keyword(name, arg.keyword) : (int)placed->n;

        if (at < 0)
            return lw_complain(
                f, lw_node_of(f, arg.node)->loc, "E153",
                lw_format_text(f, "no parameter `%s` in compiled code", arg.keyword), NULL,
                "`%s` has no such parameter", lw_name_shown(name));
        while (placed->n <= (uint32_t)at)
            LW_TRY(lw_add_arg(f, placed, (lw_arg){0}));
        assert(placed->data != NULL); /* it has more than `at` items */
        if (placed->data[at].entry)
            return lw_complain(f, lw_node_of(f, arg.node)->loc, "E153",
                               lw_format_text(f, "`%s` is given twice", arg.keyword), NULL,
                               "`%s` got two values for one parameter", lw_name_shown(name));
        placed->data[at] = arg;
    }
fail:
    return status;
}

static const char *
hint_of(const lw_name_row *row)
{
    bool masked = row->rule == LW_RULE_SHUFFLE || row->rule == LW_RULE_MATCH ||
                  (row->impl >= LW_IMPL_VOTE_ALL && row->impl <= LW_IMPL_BALLOT);

    return masked ? "the mask of lanes comes first; 0xffffffff names all of them" : NULL;
}

/* The method that a function of Python calls, or NULL. */
static const char *
special_of(lw_name_id name)
{
    switch (name) {
    case LW_NAME_builtins_abs: return "__abs__";
    case LW_NAME_builtins_len: return "__len__";
    default: return NULL;
    }
}

static lw_status
call_named(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg_list *args,
           lw_infer_value *out)
{
    const lw_name_row *row = &lw_names[name];
    lw_arg_list placed = {0};
    uint32_t whole;
    lw_status status;

    if (row->rule == LW_RULE_PRINT)
        return lw_infer_print(f, node, args->data, args->n, out);
    if (special_of(name) && args->n && lw_class_of(f, args->data[0].value.type)) {
        bool found;
        status = lw_infer_object_special(f, node, special_of(name), args->data, args->n, &found,
                                         out);
        if (found || status != LW_OK)
            return status;
    }
    whole = lw_array_function_of_named(f, name, args->data, args->n);
    if (whole)
        return lw_call_function(f, node, whole, LW_T_BOTTOM, args, out);
    LW_TRY(order_keywords(f, name, args, &placed));
    if (placed.n < row->min || (row->max != 255 && placed.n > row->max))
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E153",
            row->min == row->max
                ? lw_format_text(f, "`%s` takes %u argument%s, %u given", lw_name_shown(name),
                                 row->min, row->min == 1 ? "" : "s", placed.n)
                : lw_format_text(f, "%u argument%s given", placed.n, placed.n == 1 ? "" : "s"),
            hint_of(row), "wrong number of arguments for `%s`", lw_name_shown(name));
    for (uint32_t i = 0; i < row->min; i++)
        if (placed.data[i].entry == 0)
            return lw_complain(f, lw_node_of(f, node)->loc, "E153", NULL, NULL,
                               "argument %u of `%s` is missing", i + 1, lw_name_shown(name));
    if (row->rule == LW_RULE_ATOMIC || lw_is_cached_store(row->impl))
        lw_note_store(f);
    LW_TRY(lw_infer_named(f, node, name, placed.data, placed.n, out));
    for (uint32_t i = 0; i < args->n && lw_holds_objects(f, out->type); i++)
        lw_lose_node(f, args->data[i].node);
fail:
    return status;
}

/* int(x), float(x), bool(x), complex(x) of an object. */
static lw_status
call_conversion(lw_infer_frame *f, uint32_t node, uint32_t pytype, const lw_arg *x, bool *found,
                lw_infer_value *out)
{
    static const char *const names[] = {"__int__", "__float__", "__bool__", "__complex__"};
    bool is_bool = pytype == 2;
    lw_status status = LW_OK;

    *found = false;
    if (!is_bool || lw_member_of(lw_class_of(f, x->value.type), names[2]) != NULL) {
        LW_TRY(lw_infer_object_special(f, node, names[pytype], x, 1, found, out));
        if (is_bool && *found && out->type != LW_T_BOTTOM && out->type != LW_DT_b1)
            return lw_complain(f, lw_node_of(f, node)->loc, "E165",
                               lw_format_text(f, "this is %s", lw_describe_value(f, *out)),
                               NULL, "`__bool__` returns a bool");
    } else if (lw_member_of(lw_class_of(f, x->value.type), "__len__") != NULL) {
        *found = true;
        return lw_complain(f, lw_node_of(f, node)->loc, "E165",
                           "its class has `__len__`, and no `__bool__`",
                           "write `len(...) != 0`", "`bool` of an object");
    }
fail:
    return status;
}

static lw_status
call_constant(lw_infer_frame *f, uint32_t node, uint32_t number, const lw_arg_list *args,
              lw_infer_value *out)
{
    const lw_constant *constant = lw_constant_of(f, number);
    uint32_t loc = lw_node_of(f, lw_node_of(f, node)->a)->loc;
    const lw_enum *members;
    lw_status status;

    switch (constant->kind) {
    case LW_K_FUNCTION:
        return constant->is_ufunc && !constant->overloaded
                   ? lw_infer_array_called(f, node, number, args, out)
                   : lw_call_linked(f, node, (uint32_t)constant->u, constant->linked, args,
                                    out);
    case LW_K_NAMED: return call_named(f, node, (lw_name_id)constant->u, args, out);
    case LW_K_EXTERNAL: return lw_call_external(f, node, number, args, out);
    case LW_K_DTYPE:
        LW_TRY(no_keywords(f, args, constant->text ? constant->text : "type"));
        return lw_infer_cast(f, node, constant->dtype, args->data, args->n, out);
    case LW_K_PYTYPE:
        LW_TRY(no_keywords(f, args, "type"));
        if (args->n == 1 && lw_class_of(f, args->data[0].value.type)) {
            bool found;
            LW_TRY(
                call_conversion(f, node, (uint32_t)constant->u, &args->data[0], &found, out));
            if (found)
                return LW_OK;
        }
        return lw_infer_pytype(f, node, (uint32_t)constant->u, args->data, args->n, out);
    case LW_K_CLASS:
        if (constant->user_class->structure == NULL)
            return lw_construct(f, node, constant->user_class, args, out);
        return lw_call_linked(f, node, constant->user_class->make, constant->user_class->linked,
                              args, out);
    case LW_K_OBJECT:
        members = constant->n == 0 ? lw_tree_enum(f->run->tree, constant->bytes) : NULL;
        if (members != NULL && (members->n || members->n_numbers) && members->refuses)
            return lw_infer_member_call(f, node, members, args->data, args->n, out);
        return lw_complain(
            f, loc, "E152",
            lw_format_text(f, "%s", constant->text ? constant->text : "this object"),
            constant->help
                ? constant->help
                : "write it as a Python function; the page \"Supported Python\" of the "
                  "documentation lists the functions of math and NumPy that are known",
            "this cannot be called from compiled code");
    case LW_K_EXCEPTION:
        return lw_complain(f, loc, "E101", NULL, "use it in `raise`",
                           "an exception can only be raised");
    default: return lw_complain(f, loc, "E152", NULL, NULL, "this constant is not a function");
    }
fail:
    return status;
}

/* Call what a class has by this name; the arguments of a method begin with the object. */
static lw_status
call_member(lw_infer_frame *f, uint32_t node, const lw_class_member *member,
            const lw_arg_list *args, lw_infer_value *out)
{
    bool found;
    lw_status status;

    if (member->kind != LW_MEMBER_UFUNC)
        return lw_call_linked(f, node, member->index, member->linked, args, out);
    LW_TRY(lw_infer_overloaded_call(f, node, member->index, args->data, args->n, &found, out));
    if (!found)
        return call_constant(f, node, member->index, args, out);
fail:
    return status;
}

lw_status
lw_infer_call_member(lw_infer_frame *f, uint32_t node, const lw_class_member *member,
                     const lw_arg *args, uint32_t n, lw_infer_value *out)
{
    lw_arg_list all = {0};
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < n; i++)
        LW_TRY(lw_add_arg(f, &all, args[i]));
    return call_member(f, node, member, &all, out);
fail:
    return status;
}

/* The arguments of a method: the object, which is the value of this node, in front. */
static lw_status
put_in_front(lw_infer_frame *f, uint32_t of, lw_infer_value object, const lw_arg_list *args,
             lw_arg_list *all)
{
    lw_status status;

    assert(args->n == 0 || args->data != NULL);
    LW_TRY(lw_add_arg(f, all, (lw_arg){.node = of, .entry = of, .value = object}));
    for (uint32_t i = 0; i < args->n; i++)
        LW_TRY(lw_add_arg(f, all, args->data[i]));
fail:
    return status;
}

/* In row.sum(), the row is the first argument. */
static lw_status
call_with_object(lw_infer_frame *f, uint32_t node, lw_infer_value object,
                 const lw_class_member *member, const lw_arg_list *args, lw_infer_value *out)
{
    lw_arg_list all = {0};
    lw_status status;

    LW_TRY(put_in_front(f, lw_node_of(f, lw_node_of(f, node)->a)->a, object, args, &all));
    LW_TRY(call_member(f, node, member, &all, out));
fail:
    return status;
}

/* Whether object.name(...) calls what the attribute is, not a method: of tuples and of objects
 * whose class has no such method. */
static bool
is_called_field(lw_infer_frame *f, lw_infer_value object, const char *name)
{
    const lw_class_member *member = lw_member_of(lw_class_of(f, object.type), name);
    bool is_method = member && lw_member_is_method(member);

    return lw_type_get_kind(lw_types_of(f), object.type, LW_TK_TUPLE) != NULL && !is_method &&
           !lw_is_overloaded_method(f, name);
}

/* A method that lanewise has itself: no overload takes its place. */
static bool
is_own_method(lw_infer_frame *f, lw_infer_value object, const char *name)
{
    return lw_array_row(f, object.type)
               ? lw_array_function_named(f, name) != 0
               : lw_type_is_time(object.type) ||
                     (lw_type_is_number(f, object.type) && lw_is_method_of_numbers(name));
}

static lw_status
call_method(lw_infer_frame *f, uint32_t node, lw_infer_value object, const char *name,
            const lw_arg_list *args, lw_infer_value *out)
{
    const lw_class_member *member = lw_member_of(lw_class_of(f, object.type), name);
    uint32_t of = lw_node_of(f, lw_node_of(f, node)->a)->a;
    lw_class_member whole = {.kind = LW_MEMBER_METHOD};
    lw_name_id of_group;
    lw_arg_list all = {0};
    lw_status status;

    if (member == NULL)
        member = lw_method_of_member(f, object.type, name);
    if (member != NULL && member->kind == LW_MEMBER_PROPERTY)
        member = NULL;
    if (lw_is_overloaded_method(f, name)) {
        bool found = false;
        LW_TRY(put_in_front(f, of, object, args, &all));
        if (is_own_method(f, object, name))
            LW_TRY(lw_refuse_built_in_method(f, node, name, all.data, all.n));
        else
            LW_TRY(lw_infer_overloaded_method(f, node, name, all.data, all.n, &found, out));
        if (found)
            return LW_OK;
    }
    if (member)
        return member->kind == LW_MEMBER_STATIC
                   ? call_member(f, node, member, args, out)
                   : call_with_object(f, node, object, member, args, out);
    whole.index = lw_array_row(f, object.type) ? lw_array_function_named(f, name) : 0;
    if (whole.index != 0)
        return call_with_object(f, node, object, &whole, args, out);
    if (lw_group_method(f, object, name, &of_group))
        return call_named(f, node, of_group, args, out);
    return lw_infer_method(f, node, object, args->data, args->n, out);
fail:
    return status;
}

/* super().name(...): the method of the class that follows in the order of resolution. */
static lw_status
call_super(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *callee = lw_node_of(f, lw_node_of(f, node)->a);
    uint32_t of = lw_node_of(f, callee->a)->a, held;
    const char *name = lw_constant_text(f, callee->b);
    const lw_class_member *member;
    lw_arg_list args = {0}, all = {0};
    lw_infer_value object;
    bool unknown = false, is_default;
    lw_status status;

    LW_TRY(lw_infer_borrowed(f, of, &object));
    held = lw_hold(f, of);
    status = lw_infer_args(f, lw_node_of(f, node), LW_ARGS_PLAIN, &args, &unknown);
    lw_unhold(f, held);
    LW_TRY(status);
    if (object.type == LW_T_BOTTOM || unknown)
        return LW_OK;
    LW_TRY(lw_infer_super_member(f, callee->a, object, name, &member, &is_default));
    if (member == NULL) {
        if (is_default && args.n == 0) /* object.__init__ */
            *out = (lw_infer_value){LW_T_NONE, 0};
        return LW_OK;
    }
    if (member->kind == LW_MEMBER_STATIC)
        return call_member(f, node, member, &args, out);
    LW_TRY(put_in_front(f, of, object, &args, &all));
    LW_TRY(call_member(f, node, member, &all, out));
fail:
    return status;
}

/* Whether it is a method made by vectorize. */
static bool
is_ufunc(lw_infer_frame *f, const lw_class_member *member)
{
    return member->kind == LW_MEMBER_UFUNC && !lw_constant_of(f, member->index)->overloaded;
}

/* *is_method: whether this is `x.name(...)` where x is neither tuple nor dtype; then *out is
 * its value. */
static lw_status
try_method(lw_infer_frame *f, uint32_t node, bool *is_method, lw_infer_value *out)
{
    const lw_node *callee = lw_node_of(f, lw_node_of(f, node)->a);
    const lw_class_member *member;
    lw_arg_list args = {0};
    bool unknown = false;
    lw_infer_value object;
    lw_status status;
    uint32_t held;

    *is_method = false;
    if (callee->kind != LW_NODE_ATTRIBUTE)
        return LW_OK;
    if (lw_node_of(f, callee->a)->kind == LW_NODE_SUPER) {
        *is_method = true;
        return call_super(f, node, out);
    }
    f->borrowed = true;
    LW_TRY(lw_infer_expr(f, callee->a, &object));
    if (is_called_field(f, object, lw_constant_text(f, callee->b)) ||
        (object.constant && lw_constant_of(f, object.constant)->kind == LW_K_DTYPE))
        return LW_OK;
    *is_method = true;
    member = lw_member_of(lw_class_of(f, object.type), lw_constant_text(f, callee->b));
    held = lw_hold(f, callee->a);
    status = lw_infer_args(f, lw_node_of(f, node),
                           member && is_ufunc(f, member) ? LW_ARGS_OF_UFUNC : LW_ARGS_PLAIN,
                           &args, &unknown);
    lw_unhold(f, held);
    LW_TRY(status);
    if (object.type != LW_T_BOTTOM && !unknown)
        LW_TRY(call_method(f, node, object, lw_constant_text(f, callee->b), &args, out));
fail:
    return status;
}

static lw_args_kind
args_kind_of(lw_infer_frame *f, lw_infer_value callee)
{
    const lw_constant *constant = callee.constant ? lw_constant_of(f, callee.constant) : NULL;
    const lw_fn *fn = constant && constant->kind == LW_K_FUNCTION && !constant->overloaded
                          ? &f->run->tree->fns.data[constant->u]
                          : NULL;

    if (constant && constant->is_ufunc && !constant->overloaded)
        return LW_ARGS_OF_UFUNC;
    if (lw_type_get_kind(lw_types_of(f), callee.type, LW_TK_FUNCTION) ||
        (fn && (!fn->of_package || fn->takes_none) && fn->n_declared == 0))
        return LW_ARGS_OPTIONAL;
    if (constant == NULL || constant->kind != LW_K_NAMED)
        return LW_ARGS_PLAIN;
    if (constant->u == LW_NAME_builtins_print)
        return LW_ARGS_SHOWN;
    return lw_name_is_elementwise((lw_name_id)constant->u) ? LW_ARGS_ELEMENTWISE
                                                           : LW_ARGS_PLAIN;
}

lw_status
lw_infer_call(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    lw_arg_list args = {0};
    lw_infer_value callee;
    const lw_type_row *row;
    lw_status status;
    bool unknown = false, is_method, found;
    uint32_t held;

    LW_TRY(try_method(f, node, &is_method, out));
    if (is_method)
        return LW_OK;
    f->borrowed = true;
    LW_TRY(lw_infer_expr(f, n->a, &callee));
    held = lw_hold(f, n->a);
    status = lw_infer_args(f, n, args_kind_of(f, callee), &args, &unknown);
    lw_unhold(f, held);
    LW_TRY(status);
    LW_TRY(lw_infer_list_extreme(f, node, callee, &args, &found, out));
    if (found)
        return LW_OK;
    LW_TRY(lw_infer_list_arguments(f, callee, &args, &unknown));
    if (unknown || callee.type == LW_T_BOTTOM)
        return LW_OK;
    if (!(n->flags & LW_NODE_FORCED)) {
        LW_TRY(
            lw_infer_overloaded_call(f, node, callee.constant, args.data, args.n, &found, out));
        if (found)
            return LW_OK;
    }
    if (lw_class_of(f, callee.type)) {
        lw_arg_list all = {0};
        LW_TRY(put_in_front(f, n->a, callee, &args, &all));
        LW_TRY(lw_infer_object_special(f, node, "__call__", all.data, all.n, &found, out));
        if (found)
            return LW_OK;
    }
    if (callee.constant)
        return call_constant(f, node, callee.constant, &args, out);
    row = lw_type_get(lw_types_of(f), callee.type);
    if (row && row->kind == LW_TK_FUNCTION)
        return lw_call_function(f, node, row->fn, callee.type, &args, out);
    return lw_complain(f, lw_node_of(f, n->a)->loc, "E152",
                       lw_format_text(f, "this is %s", lw_describe_value(f, callee)), NULL,
                       "only functions can be called");
fail:
    return status;
}
