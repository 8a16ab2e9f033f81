/* Objects of the user's classes: the type is the tuple of their fields with the class beside
 * it. Methods, properties and operators are calls of instances, whatever kind of node they are
 * written as; lowering sees a call. An object that is no namedtuple does nothing that tuples do
 * (lw_tuple_row is NULL), so that what its class does not define is an error. */
#include "core/front/infer/infer_internal.h"

#include <stdio.h>
#include <string.h>

const lw_class *
lw_class_of(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), type, LW_TK_TUPLE);

    return row ? row->user_class : NULL;
}

const lw_class_member *
lw_member_of(const lw_class *class, const char *name)
{
    for (uint32_t i = 0; class && i < class->n_members; i++)
        if (strcmp(class->members[i].name, name) == 0)
            return &class->members[i];
    return NULL;
}

/* The method `name` of a value's class, or NULL. */
static const lw_class_member *
method_of(lw_infer_frame *f, lw_type type, const char *name)
{
    const lw_class_member *member = name ? lw_member_of(lw_class_of(f, type), name) : NULL;

    return member && member->kind == LW_MEMBER_METHOD ? member : NULL;
}

lw_status
lw_infer_object_attribute(lw_infer_frame *f, uint32_t node, lw_infer_value object,
                          const char *name, bool *found, lw_infer_value *out)
{
    const lw_class *class = lw_class_of(f, object.type);
    const lw_class_member *member = lw_member_of(class, name);
    uint32_t loc = lw_node_of(f, node)->loc, of = lw_node_of(f, node)->a;
    lw_arg self = {.node = of, .entry = of, .value = object};

    *found = class != NULL;
    if (class == NULL)
        return LW_OK;
    if (member == NULL)
        return lw_complain(
            f, loc, "E161",
            lw_format_text(f, "the object is %s", lw_describe_type(f, object.type)), NULL,
            "no attribute `%s` in compiled code", name);
    if (member->kind == LW_MEMBER_CONSTANT)
        *out = lw_constant_value(f, member->index);
    else if (member->kind == LW_MEMBER_PROPERTY)
        return lw_infer_call_function(f, node, member->index, &self, 1, out);
    else
        return lw_complain(f, loc, "E165", "a method is no value in compiled code",
                           "call it here", "`%s` of `%s` is not called", name, class->name);
    return LW_OK;
}

/* ---- operators ---- */

static const char *const binary_names[LW_N_PYOPS] = {[LW_PY_ADD] = "__add__",
                                                     [LW_PY_SUB] = "__sub__",
                                                     [LW_PY_MUL] = "__mul__",
                                                     [LW_PY_DIV] = "__truediv__",
                                                     [LW_PY_FLOORDIV] = "__floordiv__",
                                                     [LW_PY_MOD] = "__mod__",
                                                     [LW_PY_POW] = "__pow__",
                                                     [LW_PY_MATMUL] = "__matmul__",
                                                     [LW_PY_LSHIFT] = "__lshift__",
                                                     [LW_PY_RSHIFT] = "__rshift__",
                                                     [LW_PY_BITAND] = "__and__",
                                                     [LW_PY_BITOR] = "__or__",
                                                     [LW_PY_BITXOR] = "__xor__",
                                                     [LW_PY_EQ] = "__eq__",
                                                     [LW_PY_NE] = "__ne__",
                                                     [LW_PY_LT] = "__lt__",
                                                     [LW_PY_LE] = "__le__",
                                                     [LW_PY_GT] = "__gt__",
                                                     [LW_PY_GE] = "__ge__",
                                                     [LW_PY_NEG] = "__neg__",
                                                     [LW_PY_POS] = "__pos__",
                                                     [LW_PY_INVERT] = "__invert__"};

static const lw_pyop swapped[LW_N_PYOPS] = {
    [LW_PY_EQ] = LW_PY_EQ, [LW_PY_NE] = LW_PY_NE, [LW_PY_LT] = LW_PY_GT,
    [LW_PY_LE] = LW_PY_GE, [LW_PY_GT] = LW_PY_LT, [LW_PY_GE] = LW_PY_LE};

/* "__radd__" of "__add__" */
static const char *
reflected(const char *name, char *out, size_t room)
{
    if (name == NULL)
        return NULL;
    snprintf(out, room, "__r%s", name + 2);
    return out;
}

static bool
is_object(lw_infer_frame *f, lw_type type)
{
    const lw_class *class = lw_class_of(f, type);

    return class != NULL && !class->is_tuple;
}

static lw_status
complain_operator(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_type x, lw_type y)
{
    const char *name = binary_names[op];
    bool defined = method_of(f, x, name) || method_of(f, y, name);

    return lw_complain(
        f, lw_node_of(f, node)->loc, "E165",
        lw_format_text(f, "%s and %s", lw_describe_type(f, x), lw_describe_type(f, y)),
        defined ? "write comparisons one by one, with `and` between them"
        : name  ? lw_format_text(f, "give the class a method `%s`", name)
                : NULL,
        "no class defines `%s` for these operands", lw_pyop_text[op]);
}

/* Whether evaluating it earlier or later makes no difference. */
static bool
is_quiet(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);

    if (f->nodes[node].constant || n->kind == LW_NODE_NAME || n->kind == LW_NODE_CONSTANT)
        return true;
    if (f->nodes[node].call == LW_CALL_INSTANCE || f->run->typed->options.checks)
        return false;
    return (n->kind == LW_NODE_UNARY && is_quiet(f, n->a)) ||
           (n->kind == LW_NODE_BINARY && is_quiet(f, n->a) && is_quiet(f, n->b));
}

/* The arguments of a call are evaluated in the order of the parameters, and here the right
 * operand is the first one. */
static lw_status
call_reflected(lw_infer_frame *f, uint32_t node, const lw_class_member *method, lw_arg x,
               lw_arg y, lw_infer_value *out)
{
    lw_arg args[2] = {y, x};

    if (!is_quiet(f, x.node) && !is_quiet(f, y.node))
        return lw_complain(f, lw_node_of(f, x.node)->loc, "E165",
                           lw_format_text(f,
                                          "`%s` of the right operand does it, and would "
                                          "evaluate that one first",
                                          method->name),
                           "assign the left operand to a variable first",
                           "the order of evaluation around a reflected operator");
    return lw_infer_call_function(f, node, method->index, args, 2, out);
}

/* Python asks the right operand first if its class is derived from that of the left one. */
static lw_status
complain_both(lw_infer_frame *f, uint32_t node, lw_pyop op, const lw_class *x,
              const lw_class *y)
{
    return lw_complain(f, lw_node_of(f, node)->loc, "E165",
                       lw_format_text(f, "`%s` and `%s`", x->name, y->name),
                       "call the method that is meant by its name", "both classes define `%s`",
                       lw_pyop_text[op]);
}

static lw_status
call_operator(lw_infer_frame *f, uint32_t node, lw_pyop op, const lw_class_member *left,
              const lw_class_member *right, lw_arg x, lw_arg y, lw_infer_value *out)
{
    const lw_class *a = lw_class_of(f, x.value.type), *b = lw_class_of(f, y.value.type);
    lw_arg args[2] = {x, y};

    if (left && right && a != b)
        return complain_both(f, node, op, a, b);
    return left ? lw_infer_call_function(f, node, left->index, args, 2, out)
                : call_reflected(f, node, right, x, y, out);
}

lw_status
lw_infer_object_binary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_arg x, lw_arg y,
                       bool *found, lw_infer_value *out)
{
    lw_type a = x.value.type, b = y.value.type;
    const char *name = binary_names[op];
    char inplace[32], other[32];
    const lw_class_member *left = NULL, *right;

    *found = a != LW_T_BOTTOM && b != LW_T_BOTTOM &&
             (lw_class_of(f, a) != NULL || (lw_class_of(f, b) != NULL && !lw_array_row(f, a)));
    if (!*found || name == NULL) {
        *found = false;
        return LW_OK;
    }
    if (lw_node_of(f, node)->kind == LW_NODE_AUGASSIGN) {
        snprintf(inplace, sizeof inplace, "__i%s", name + 2);
        left = method_of(f, a, inplace);
    }
    left = left ? left : method_of(f, a, name);
    right = method_of(f, b, reflected(name, other, sizeof other));
    if (left && lw_class_of(f, a) == lw_class_of(f, b))
        right = NULL;
    if (left || right)
        return call_operator(f, node, op, left, right, x, y, out);
    *found = is_object(f, a) || is_object(f, b);
    return *found ? complain_operator(f, node, op, a, b) : LW_OK;
}

lw_status
lw_infer_object_unary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_arg x, bool *found,
                      lw_infer_value *out)
{
    const lw_class_member *method = method_of(f, x.value.type, binary_names[op]);

    *found = method != NULL;
    return *found ? lw_infer_call_function(f, node, method->index, &x, 1, out) : LW_OK;
}

/* Whether the comparison is the one of the tuples of fields. */
static bool
compares_fields(lw_infer_frame *f, lw_pyop op, lw_type x, lw_type y)
{
    const lw_class *class = lw_class_of(f, x);

    if (class == NULL || class != lw_class_of(f, y))
        return !is_object(f, x) && !is_object(f, y);
    return class->is_tuple ||
           (op == LW_PY_EQ || op == LW_PY_NE ? class->compares_equal : class->is_ordered);
}

/* Whether comparing the values item by item is what Python does, at every depth. */
static bool
compares_items(lw_infer_frame *f, lw_pyop op, lw_type x, lw_type y)
{
    const lw_type_row *a = lw_type_get_kind(lw_types_of(f), x, LW_TK_TUPLE);
    const lw_type_row *b = lw_type_get_kind(lw_types_of(f), y, LW_TK_TUPLE);
    uint32_t n = a && b ? (a->n < b->n ? a->n : b->n) : 0;
    bool equality = op == LW_PY_EQ || op == LW_PY_NE;

    if (!compares_fields(f, op, x, y) || method_of(f, x, binary_names[op]) ||
        method_of(f, y, binary_names[swapped[op]]) ||
        (equality && (method_of(f, x, "__eq__") || method_of(f, y, "__eq__"))))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!compares_items(f, LW_PY_EQ, a->elements[i], b->elements[i]) ||
            (!equality && !compares_items(f, op, a->elements[i], b->elements[i])))
            return false;
    return true;
}

lw_status
lw_check_objects_compared(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_type x, lw_type y,
                          bool *refused)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), y, LW_TK_TUPLE);
    bool is_in = op == LW_PY_IN || op == LW_PY_NOT_IN;

    *refused = is_in ? is_object(f, y) : !compares_items(f, op, x, y);
    for (uint32_t i = 0; is_in && row && i < row->n; i++)
        *refused |= !compares_items(f, LW_PY_EQ, x, row->elements[i]);
    return *refused ? complain_operator(f, node, op, x, y) : LW_OK;
}

lw_status
lw_infer_object_compare(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_arg x, lw_arg y,
                        bool *found, lw_infer_value *out)
{
    lw_type a = x.value.type, b = y.value.type;
    bool is_object_operand = lw_class_of(f, a) != NULL || lw_class_of(f, b) != NULL;
    const lw_class_member *left, *right;
    bool negated = false;
    lw_status status = LW_OK;

    *found = false;
    if (a == LW_T_BOTTOM || b == LW_T_BOTTOM || !is_object_operand)
        return LW_OK;
    left = method_of(f, a, binary_names[op]);
    right = method_of(f, b, binary_names[swapped[op]]);
    if (op == LW_PY_NE && !left && !right) {
        left = method_of(f, a, "__eq__");
        right = method_of(f, b, "__eq__");
        negated = left || right;
    }
    if (left && lw_class_of(f, a) == lw_class_of(f, b))
        right = NULL;
    *found = true;
    f->nodes[node].operand = negated ? LW_DT_b1 : LW_T_BOTTOM;
    if (left || right)
        LW_TRY(call_operator(f, node, op, left, right, x, y, out));
    else if (compares_fields(f, op, a, b) ||
             ((op == LW_PY_IS || op == LW_PY_IS_NOT) && (a == LW_T_NONE || b == LW_T_NONE)))
        *found = false;
    else
        return complain_operator(f, node, op, a, b);
    if (negated && out->type != LW_T_BOTTOM) {
        int truth = lw_truth_of(f, *out);
        *out = (lw_infer_value){LW_DT_b1, 0};
        if (truth >= 0)
            out->constant = lw_constant_bool(f, f->nodes[node].constant, !truth);
    }
fail:
    return status;
}

lw_status
lw_infer_object_special(lw_infer_frame *f, uint32_t node, const char *name, const lw_arg *args,
                        uint32_t n, bool *found, lw_infer_value *out)
{
    const lw_class_member *method = n ? method_of(f, args[0].value.type, name) : NULL;

    *found = method != NULL || (n && is_object(f, args[0].value.type));
    if (method != NULL)
        return lw_infer_call_function(f, node, method->index, args, n, out);
    if (!*found)
        return LW_OK;
    return lw_complain(
        f, lw_node_of(f, node)->loc, "E165",
        lw_format_text(f, "the object is %s", lw_describe_type(f, args[0].value.type)),
        lw_format_text(f, "give the class a method `%s`", name), "`%s` has no `%s`",
        lw_class_of(f, args[0].value.type)->name, name);
}

lw_status
lw_complain_object_truth(lw_infer_frame *f, uint32_t node, lw_type type, bool *refused)
{
    const lw_class *class = lw_class_of(f, type);
    const char *name = lw_member_of(class, "__bool__")  ? "__bool__"
                       : lw_member_of(class, "__len__") ? "__len__"
                                                        : NULL;

    *refused = name != NULL;
    if (name == NULL)
        return LW_OK;
    return lw_complain(f, lw_node_of(f, node)->loc, "E165",
                       lw_format_text(f, "`%s` of `%s` decides it", name, class->name),
                       "call it by its name, or compare a field",
                       "the truth of an object with `%s`", name);
}

static const lw_class *
object_in(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), type, LW_TK_TUPLE);
    const lw_class *found = row && is_object(f, type) ? row->user_class : NULL;

    for (uint32_t i = 0; row && !found && i < row->n; i++)
        found = object_in(f, row->elements[i]);
    return found;
}

lw_status
lw_refuse_object_result(lw_infer_frame *f, lw_type type)
{
    const lw_class *class = object_in(f, type);
    uint32_t node = f->return_nodes.n ? f->return_nodes.data[0] : 0;

    if (class == NULL || node == 0)
        return LW_OK;
    return lw_complain(f, lw_node_of(f, node)->loc, "E165",
                       lw_format_text(f, "this is %s", lw_describe_type(f, type)),
                       "return its fields, as in `return p.x, p.y`",
                       "an object of `%s` cannot be the result of a call from Python",
                       class->name);
}
