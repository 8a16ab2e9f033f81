/* Objects of the user's classes: the type is the tuple of their fields with the class beside
 * it. Methods, properties and operators are calls of instances, whatever kind of node they are
 * written as; lowering sees a call. An object that is no namedtuple does nothing that tuples do
 * (lw_tuple_row is NULL), so that what its class does not define is an error. */
#include "core/front/infer/infer_internal.h"
#include "core/front/records.h"

#include <stdio.h>
#include <string.h>

const lw_class *
lw_class_of(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);

    if (row && row->kind == LW_TK_RECORD)
        return row->record->user_class;
    return row && row->kind == LW_TK_TUPLE ? row->user_class : NULL;
}

const lw_class *
lw_class_by_value(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), type, LW_TK_TUPLE);

    return row ? row->user_class : NULL;
}

lw_type
lw_by_value(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);
    lw_type_row copy;
    lw_type *elements;

    if (row == NULL || row->kind != LW_TK_TUPLE)
        return lw_record_object(lw_types_of(f), type);
    copy = *row;
    elements = lw_arena_take(f->run->arena, (copy.n + 1) * sizeof *elements);
    if (elements == NULL)
        return type;
    for (uint32_t i = 0; i < copy.n; i++)
        elements[i] = lw_by_value(f, copy.elements[i]);
    if (memcmp(elements, copy.elements, copy.n * sizeof *elements) == 0)
        return type;
    return lw_tuple_like(f, &copy, elements);
}

lw_type
lw_tuple_like(lw_infer_frame *f, const lw_type_row *like, const lw_type *elements)
{
    lw_type made = lw_type_tuple(lw_types_of(f), elements, like->n, like->names);

    made = lw_type_tuple_listed(lw_types_of(f), made, like->is_list);
    return lw_type_tuple_of_class(lw_types_of(f), made, like->user_class);
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

    return member && lw_member_is_method(member) && member->kind != LW_MEMBER_STATIC ? member
                                                                                     : NULL;
}

static bool
is_assigned_somewhere(lw_infer_frame *f, const char *name)
{
    const lw_tree *tree = f->run->tree;

    for (uint32_t i = 1; i < tree->nodes.n; i++)
        if (tree->nodes.data[i].kind == LW_NODE_ATTRIBUTE &&
            tree->nodes.data[i].flags & LW_NODE_STORE &&
            strcmp(lw_constant_text(f, tree->nodes.data[i].b), name) == 0)
            return true;
    return false;
}

lw_type
lw_field_of_object(lw_infer_frame *f, lw_type object, const char *name)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), object, LW_TK_TUPLE);

    for (uint32_t i = 0; row && row->names && i < row->n; i++)
        if (strcmp(row->names[i], name) == 0)
            return row->elements[i];
    return LW_T_BOTTOM;
}

lw_status
lw_complain_absent(lw_infer_frame *f, uint32_t loc, lw_type object, const char *name)
{
    return lw_complain(
        f, loc, "E110", lw_format_text(f, "the object is %s", lw_describe_type(f, object)),
        "assign it in `__init__`, on all paths to its end",
        "field `%s` of `%s` may have no value here", name, lw_class_of(f, object)->name);
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
    if (lw_field_of_object(f, object.type, name) == LW_T_ABSENT ||
        (member == NULL && is_assigned_somewhere(f, name)))
        return lw_complain_absent(f, loc, object.type, name);
    if (member == NULL)
        return lw_complain(
            f, loc, "E161",
            lw_format_text(f, "the object is %s", lw_describe_type(f, object.type)),
            lw_near_attribute(f, object.type, name), "no attribute `%s` in compiled code",
            name);
    if (member->kind == LW_MEMBER_CONSTANT)
        *out = lw_constant_value(f, member->index);
    else if (member->kind == LW_MEMBER_PROPERTY)
        return lw_infer_call_member(f, node, member, &self, 1, out);
    else
        return lw_complain(f, loc, "E165", "a method is not a value in compiled code",
                           "call it here", "`%s` of `%s` is not called", name, class->name);
    return LW_OK;
}

/* ---- super() ---- */

static const void *
identity_of(lw_infer_frame *f, uint32_t constant)
{
    const lw_constant *k = lw_constant_of(f, constant);

    return k->kind == LW_K_CLASS ? k->user_class->id : k->bytes;
}

lw_status
lw_infer_super_member(lw_infer_frame *f, uint32_t super, lw_infer_value object,
                      const char *name, const lw_class_member **out, bool *is_default)
{
    const lw_class *class = lw_class_of(f, object.type);
    const void *before = identity_of(f, lw_node_of(f, super)->b);
    uint32_t at = 0;

    *out = NULL;
    *is_default = strcmp(name, "__init__") == 0;
    while (class && at < class->n_mro && class->mro[at] != before)
        at++;
    for (uint32_t i = 0; class && i < class->n_members && *out == NULL; i++)
        if (class->members[i].owner > at && strcmp(class->members[i].name, name) == 0)
            *out = &class->members[i];
    if (*out != NULL || (class && at < class->n_mro && *is_default))
        return LW_OK;
    *is_default = false;
    return lw_complain(f, lw_node_of(f, super)->loc, "E161",
                       lw_format_text(f, "the object is %s", lw_describe_type(f, object.type)),
                       NULL, "`super()` has no attribute `%s` in compiled code", name);
}

lw_status
lw_infer_super_attribute(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    uint32_t of = lw_node_of(f, n->a)->a;
    const lw_class_member *member;
    lw_arg self = {.node = of, .entry = of};
    bool is_default;
    lw_status status;

    LW_TRY(lw_infer_borrowed(f, of, &self.value));
    if (self.value.type == LW_T_BOTTOM)
        return LW_OK;
    LW_TRY(lw_infer_super_member(f, n->a, self.value, lw_constant_text(f, n->b), &member,
                                 &is_default));
    if (member == NULL)
        return LW_OK;
    if (member->kind == LW_MEMBER_CONSTANT)
        *out = lw_constant_value(f, member->index);
    else if (member->kind == LW_MEMBER_PROPERTY)
        return lw_infer_call_member(f, node, member, &self, 1, out);
    else
        return lw_complain(f, n->loc, "E165", "a method is not a value in compiled code",
                           "call it here", "`%s` of `super()` is not called", member->name);
fail:
    return status;
}

/* ---- operators ---- */

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

/* The function of the module operator: "__and__" is operator.and_. */
static const char *
help_for_method(lw_infer_frame *f, const char *name)
{
    int n = (int)strlen(name) - 4;
    bool is_word = strcmp(name, "__and__") == 0 || strcmp(name, "__or__") == 0;

    return lw_format_text(f, "give the class a method `%s`, or overload `operator.%.*s%s`",
                          name, n, name + 2, is_word ? "_" : "");
}

static lw_status
complain_operator(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_type x, lw_type y)
{
    const char *name = lw_pyop_method[op];
    bool defined = method_of(f, x, name) || method_of(f, y, name);
    uint32_t loc = lw_node_of(f, node)->loc;
    const char *label =
        lw_format_text(f, "%s and %s", lw_describe_type(f, x), lw_describe_type(f, y));

    if (op == LW_PY_IS || op == LW_PY_IS_NOT)
        return lw_complain(
            f, loc, "E165", label,
            "compare fields, or give the class a method `__eq__` and write `==`",
            "`%s` of objects: in compiled code they are values without an identity",
            lw_pyop_text[op]);
    return lw_complain(f, loc, "E165", label,
                       op == LW_PY_NE && defined ? "give both classes a method `__ne__`"
                       : name && !defined
                           ? lw_help_of_overloads(f, node, help_for_method(f, name))
                           : NULL,
                       "no class defines `%s` for these operands", lw_pyop_text[op]);
}

/* Whether x is the class y or derived from it. */
bool
lw_class_is(const lw_class *x, const void *y)
{
    for (uint32_t i = 0; x && i < x->n_mro; i++)
        if (x->mro[i] == y)
            return true;
    return false;
}

static bool
is_derived(const lw_class *x, const lw_class *y)
{
    return y != NULL && x != y && lw_class_is(x, y->id);
}

/* The method of each operand that could do it, and which one Python asks first. */
typedef struct choice {
    const lw_class_member *left, *right;
    bool right_first;
} choice;

static bool
is_not_implemented(lw_infer_frame *f, lw_infer_value value)
{
    const lw_constant *constant = value.constant ? lw_constant_of(f, value.constant) : NULL;

    return constant && constant->kind == LW_K_OBJECT && constant->n == 1;
}

/* A method that returns NotImplemented for these types leaves the operator to the other one. */
static lw_status
call_operator(lw_infer_frame *f, uint32_t node, lw_pyop op, const choice *c, lw_arg x, lw_arg y,
              lw_infer_value *out)
{
    const lw_class_member *order[2] = {c->right_first ? c->right : c->left,
                                       c->right_first ? c->left : c->right};
    lw_status status;

    for (int i = 0; i < 2; i++) {
        bool is_right = (i == 0) == c->right_first;
        lw_arg args[2] = {is_right ? y : x, is_right ? x : y};

        if (order[i] == NULL)
            continue;
        *out = (lw_infer_value){LW_T_BOTTOM, 0};
        LW_TRY(lw_infer_call_member(f, node, order[i], args, 2, out));
        if (!is_not_implemented(f, *out))
            return LW_OK;
    }
    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    return complain_operator(f, node, op, x.value.type, y.value.type);
fail:
    return status;
}

/* Of `x += y` first that of `+=`. */
static lw_status
overloaded_binary(lw_infer_frame *f, uint32_t node, lw_pyop op, const lw_arg *args, bool *found,
                  lw_infer_value *out)
{
    const char *name = lw_pyop_method[op];
    char inplace[32];
    lw_status status = LW_OK;

    *found = false;
    if (name != NULL && lw_node_of(f, node)->kind == LW_NODE_AUGASSIGN) {
        snprintf(inplace, sizeof inplace, "__i%s", name + 2);
        LW_TRY(lw_infer_overloaded_operator(f, node, inplace, args, 2, found, out));
    }
    if (!*found)
        LW_TRY(lw_infer_overloaded_operator(f, node, name, args, 2, found, out));
fail:
    return status;
}

/* By a method of a class. */
static lw_status
binary_of_class(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_arg x, lw_arg y, bool *found,
                lw_infer_value *out)
{
    lw_type a = x.value.type, b = y.value.type;
    const lw_class *of_x = lw_class_of(f, a), *of_y = lw_class_of(f, b);
    const char *name = lw_pyop_method[op];
    const lw_class_member *inherited;
    char inplace[32], other[32];
    choice c = {0};

    *found = a != LW_T_BOTTOM && b != LW_T_BOTTOM &&
             (of_x != NULL || (of_y != NULL && !lw_array_row(f, a)));
    if (!*found || name == NULL) {
        *found = false;
        return LW_OK;
    }
    if (of_x == NULL && lw_node_of(f, node)->kind == LW_NODE_AUGASSIGN && lw_tuple_row(f, a) &&
        lw_tuple_row(f, a)->is_list)
        return lw_complain_list_changes(f, node);
    if (of_x != of_y) /* of one class Python asks the left operand alone */
        c.right = method_of(f, b, reflected(name, other, sizeof other));
    if (lw_node_of(f, node)->kind == LW_NODE_AUGASSIGN) {
        snprintf(inplace, sizeof inplace, "__i%s", name + 2);
        c.left = method_of(f, a, inplace);
    }
    if (c.left == NULL) {
        c.left = method_of(f, a, name);
        inherited = method_of(f, a, reflected(name, other, sizeof other));
        c.right_first = c.right && is_derived(of_y, of_x) &&
                        (inherited == NULL || inherited->index != c.right->index);
    }
    if (c.left || c.right)
        return call_operator(f, node, op, &c, x, y, out);
    *found = is_object(f, a) || is_object(f, b);
    return *found ? complain_operator(f, node, op, a, b) : LW_OK;
}

lw_status
lw_infer_object_binary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_arg x, lw_arg y,
                       bool *found, lw_infer_value *out)
{
    lw_status status;

    LW_TRY(overloaded_binary(f, node, op, (lw_arg[]){x, y}, found, out));
    if (!*found)
        LW_TRY(binary_of_class(f, node, op, x, y, found, out));
fail:
    return status;
}

lw_status
lw_infer_object_unary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_arg x, bool *found,
                      lw_infer_value *out)
{
    const lw_class_member *method = method_of(f, x.value.type, lw_pyop_method[op]);
    lw_status status;

    LW_TRY(lw_infer_overloaded_operator(f, node, lw_pyop_method[op], &x, 1, found, out));
    if (*found || method == NULL)
        return LW_OK;
    *found = true;
    LW_TRY(lw_infer_call_member(f, node, method, &x, 1, out));
fail:
    return status;
}

/* Whether the fields are those that the class compares, in its order. */
static bool
compares_all(const lw_class *class, const lw_type_row *row)
{
    if (row->names == NULL || class->n_compared != row->n)
        return false;
    for (uint32_t i = 0; i < row->n; i++)
        if (strcmp(class->compared[i], row->names[i]) != 0)
            return false;
    return true;
}

/* Whether the comparison is the one of the tuples of fields. */
static bool
compares_fields(lw_infer_frame *f, lw_pyop op, lw_type x, lw_type y)
{
    const lw_class *class = lw_class_of(f, x);

    if (class == NULL || class != lw_class_of(f, y))
        return !is_object(f, x) && !is_object(f, y);
    return class->is_namedtuple ||
           ((op == LW_PY_EQ || op == LW_PY_NE ? class->compares_equal : class->is_ordered) &&
            compares_all(class, lw_type_get(lw_types_of(f), x)) &&
            compares_all(class, lw_type_get(lw_types_of(f), y)));
}

/* The methods that compare two values. A class that is derived from tuple has all of tuple's.
 */
static choice
comparison_of(lw_infer_frame *f, lw_pyop op, lw_type x, lw_type y)
{
    const lw_class *a = lw_class_of(f, x), *b = lw_class_of(f, y);
    bool tuples = lw_type_get_kind(lw_types_of(f), x, LW_TK_TUPLE) &&
                  lw_type_get_kind(lw_types_of(f), y, LW_TK_TUPLE) &&
                  (a == NULL || a->is_namedtuple) && (b == NULL || b->is_namedtuple);
    choice c = {.left = method_of(f, x, lw_pyop_method[op]),
                .right = method_of(f, y, lw_pyop_method[swapped[op]])};

    if (a == b && (c.left || tuples))
        c.right = NULL;
    c.right_first = c.right && (is_derived(b, a) || (tuples && a == NULL));
    return c;
}

/* Whether comparing the values item by item is what Python does, at every depth. */
static bool
compares_items(lw_infer_frame *f, lw_pyop op, lw_type x, lw_type y)
{
    const choice c = comparison_of(f, op, x, y);
    const lw_type_row *a = lw_type_get_kind(lw_types_of(f), x, LW_TK_TUPLE);
    const lw_type_row *b = lw_type_get_kind(lw_types_of(f), y, LW_TK_TUPLE);
    uint32_t n = a && b ? (a->n < b->n ? a->n : b->n) : 0;
    bool equality = op == LW_PY_EQ || op == LW_PY_NE;

    if (!compares_fields(f, op, x, y) || c.left || c.right || x == LW_T_ABSENT ||
        y == LW_T_ABSENT)
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
    bool is_in = op == LW_PY_IN || op == LW_PY_NOT_IN; /* in an object: lw_infer_compare */

    *refused = is_in ? is_object(f, y) : !compares_items(f, op, x, y);
    for (uint32_t i = 0; is_in && row && i < row->n; i++)
        *refused |= !compares_items(f, LW_PY_EQ, x, row->elements[i]);
    return *refused ? complain_operator(f, node, op, x, y) : LW_OK;
}

/* Whether `!=` is a method of one operand and the opposite of `==` for the other one. */
static bool
is_mixed(lw_infer_frame *f, lw_pyop op, bool negated, const choice *c, lw_type x, lw_type y)
{
    lw_type other = c->left ? y : x;

    return op == LW_PY_NE && !negated && lw_class_of(f, x) != lw_class_of(f, y) &&
           (c->left == NULL) != (c->right == NULL) && is_object(f, other) &&
           method_of(f, other, "__eq__");
}

/* None, texts, members: what `is` compares an object with. */
static bool
is_no_object(lw_infer_frame *f, lw_type type)
{
    return type == LW_T_NONE || type == LW_T_STATIC || lw_is_text(f, type) ||
           lw_type_is_member(f, type);
}

lw_status
lw_infer_object_compare(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_arg x, lw_arg y,
                        bool *found, lw_infer_value *out)
{
    lw_type a = lw_by_value(f, x.value.type), b = lw_by_value(f, y.value.type);
    bool is_object_operand = lw_class_of(f, a) != NULL || lw_class_of(f, b) != NULL;
    choice c;
    bool negated = false;
    lw_status status = LW_OK;

    *found = false;
    if (a == LW_T_BOTTOM || b == LW_T_BOTTOM)
        return LW_OK;
    lw_typed_in(&f->nodes, node)->operand = LW_T_BOTTOM;
    LW_TRY(lw_infer_overloaded_operator(f, node, lw_pyop_method[op], (lw_arg[]){x, y}, 2, found,
                                        out));
    if (*found || !is_object_operand)
        return LW_OK;
    c = comparison_of(f, op, a, b);
    if (op == LW_PY_NE && !c.left && !c.right && (is_object(f, a) || is_object(f, b))) {
        c = comparison_of(f, LW_PY_EQ, a, b);
        negated = c.left || c.right;
    }
    *found = true;
    lw_typed_in(&f->nodes, node)->operand = negated ? LW_DT_b1 : LW_T_BOTTOM;
    if (is_mixed(f, op, negated, &c, a, b))
        return complain_operator(f, node, op, a, b);
    if (c.left || c.right)
        LW_TRY(call_operator(f, node, op, &c, x, y, out));
    else if (compares_fields(f, op, a, b) || ((op == LW_PY_IS || op == LW_PY_IS_NOT) &&
                                              (is_no_object(f, a) || is_no_object(f, b))))
        *found = false;
    else
        return complain_operator(f, node, op, a, b);
    if (negated && out->type != LW_T_BOTTOM) {
        int truth = lw_truth_of(f, *out);
        *out = (lw_infer_value){LW_DT_b1, 0};
        if (truth >= 0)
            out->constant = lw_node_bool(f, node, !truth);
    }
fail:
    return status;
}

/* The truth of what `y.__contains__(x)`, or an overload of it, has given: `operand` says that
 * it counts (LW_DT_i8; for `not in` LW_DT_b1, as for `!=` by `__eq__`). */
static lw_status
truth_of_contains(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_type container,
                  lw_infer_value *out)
{
    int truth;

    lw_typed_in(&f->nodes, node)->operand = op == LW_PY_IN ? LW_DT_i8 : LW_DT_b1;
    if (out->type == LW_T_BOTTOM)
        return LW_OK;
    if (!lw_type_is_number(f, out->type) && out->type != LW_T_NONE)
        return lw_complain(f, lw_node_of(f, node)->loc, "E165",
                           lw_format_text(f, "it returns %s", lw_describe_value(f, *out)),
                           "return a bool",
                           "`__contains__` of `%s` does not return a truth value",
                           lw_class_of(f, container)->name);
    truth = lw_truth_of(f, *out);
    *out = (lw_infer_value){LW_DT_b1, 0};
    if (truth >= 0)
        out->constant = lw_node_bool(f, node, (op == LW_PY_IN) == truth);
    return LW_OK;
}

/* `x in array`. args: the array and x. */
static lw_status
infer_in_array(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_arg *args, bool *found,
               lw_infer_value *out)
{
    lw_status status = LW_OK;

    *found = true;
    if (lw_type_kind_of(lw_types_of(f), args[0].value.type) == LW_TK_ELEMENTWISE)
        LW_TRY(lw_infer_made_array(f, args[0].node, &args[0].value));
    LW_TRY(lw_infer_own(f, node, "in", args, 2, out));
    LW_TRY(truth_of_contains(f, node, op, args[0].value.type, out));
fail:
    return status;
}

lw_status
lw_infer_object_contains(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_arg x, lw_arg y,
                         bool *found, lw_infer_value *out)
{
    lw_type container = lw_by_value(f, y.value.type);
    const lw_class_member *method = method_of(f, container, "__contains__");
    lw_arg args[] = {y, x};
    lw_status status;

    *found = false;
    if (x.value.type == LW_T_BOTTOM)
        return LW_OK;
    if (lw_infer_is_whole(f, y.value, y.value))
        return infer_in_array(f, node, op, args, found, out);
    if (lw_class_of(f, container) == NULL)
        return LW_OK;
    lw_typed_in(&f->nodes, node)->operand = LW_T_BOTTOM;
    LW_TRY(lw_infer_overloaded_operator(f, node, lw_pyop_method[op], args, 2, found, out));
    if (!*found && method == NULL)
        return LW_OK;
    if (!*found)
        LW_TRY(lw_infer_call_member(f, node, method, args, 2, out));
    *found = true;
    LW_TRY(truth_of_contains(f, node, op, container, out));
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
        return lw_infer_call_member(f, node, method, args, n, out);
    if (!*found)
        return LW_OK;
    return lw_complain(
        f, lw_node_of(f, node)->loc, "E165",
        lw_format_text(f, "the object is %s", lw_describe_type(f, args[0].value.type)),
        lw_help_of_overloads(f, node, lw_format_text(f, "give the class a method `%s`", name)),
        "`%s` has no `%s`", lw_class_of(f, args[0].value.type)->name, name);
}

static bool
is_truth(lw_infer_frame *f, lw_infer_value value, bool by_length)
{
    return value.type == LW_T_BOTTOM ||
           (by_length ? lw_type_is_int_or_bool(f, value.type) : value.type == LW_DT_b1);
}

lw_status
lw_infer_object_truth(lw_infer_frame *f, uint32_t node, lw_infer_value value, int *truth)
{
    const lw_class *class = lw_class_of(f, value.type);
    const lw_class_member *method = method_of(f, value.type, "__bool__");
    bool by_length = method == NULL;
    lw_infer_value result;
    lw_status status = LW_OK;

    lw_typed_in(&f->nodes, node)->asks = 0;
    if (method == NULL)
        method = method_of(f, value.type, "__len__");
    if (method == NULL)
        return LW_OK;
    LW_TRY(lw_infer_asked(f, node, method, value, &result));
    *truth = result.type == LW_T_BOTTOM ? -1 : lw_truth_of(f, result);
    if (!is_truth(f, result, by_length))
        return lw_complain(f, lw_node_of(f, node)->loc, "E165",
                           lw_format_text(f, "it returns %s", lw_describe_value(f, result)),
                           NULL, "`%s` of `%s` does not return a truth value", method->name,
                           class->name);
fail:
    return status;
}

lw_status
lw_infer_object_items(lw_infer_frame *f, uint32_t node, lw_infer_value value, bool *found,
                      lw_infer_value *out)
{
    const lw_class *class = lw_class_of(f, value.type);
    const lw_class_member *method =
        method_of(f, value.type, lw_iterator_method(f, node, value.type));

    lw_typed_in(&f->nodes, node)->asks = 0;
    *found = class != NULL && (!class->is_tuple || method != NULL);
    if (!*found)
        return LW_OK;
    f->can_raise |= class->is_typed && !f->run->typed->options.ignore_errors;
    if (method == NULL)
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E165",
            lw_format_text(f, "this is %s", lw_describe_type(f, value.type)),
            "give it a method `__iter__` that returns `iter((...))`, or loop over `range(...)`",
            "`%s` has no `__iter__`", class->name);
    if (!f->run->tree->fns.data[method->index].iterates &&
        !f->run->tree->fns.data[method->index].problem)
        return lw_complain(f, lw_node_of(f, node)->loc, "E165", NULL,
                           "write `return iter((self.x, self.y))`",
                           "`__iter__` of `%s` does not return `iter(...)`", class->name);
    return lw_infer_asked(f, node, method, value, out);
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

/* The name of a field, at any depth, that no call gives; NULL: there is none. */
static const char *
unkept_in(lw_infer_frame *f, lw_type type, bool *is_absent)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), type, LW_TK_TUPLE);
    const char *found = NULL;

    for (uint32_t i = 0; row && !found && i < row->n; i++) {
        *is_absent = row->elements[i] == LW_T_ABSENT;
        if (*is_absent || (lw_type_get_kind(lw_types_of(f), row->elements[i], LW_TK_STATIC) &&
                           !lw_is_text(f, row->elements[i])))
            return row->names ? row->names[i] : "";
        found = unkept_in(f, row->elements[i], is_absent);
    }
    return found;
}

const char *
lw_unkept_field(lw_infer_frame *f, lw_type type)
{
    bool is_absent;

    return unkept_in(f, type, &is_absent);
}

lw_status
lw_refuse_object_result(lw_infer_frame *f, lw_type type)
{
    const lw_class *class = object_in(f, type);
    uint32_t node = f->return_nodes.n ? f->return_nodes.data[0] : 0;
    bool is_absent = false;
    const char *field = unkept_in(f, type, &is_absent);

    if (field != NULL && node != 0)
        return lw_complain(
            f, lw_node_of(f, node)->loc, is_absent ? "E110" : "E165",
            lw_format_text(f,
                           is_absent ? "its field `%s` has a value on some paths only"
                                     : "its field `%s` is a type, a function or a module",
                           field),
            "return its other fields",
            "this object cannot be the result of a call from Python");
    if (class == NULL || node == 0 || f->run->typed->options.objects)
        return LW_OK;
    return lw_complain(f, lw_node_of(f, node)->loc, "E167",
                       lw_format_text(f, "this is %s", lw_describe_type(f, type)),
                       "return its fields, as in `return p.x, p.y`",
                       "an object of `%s` cannot be the result of a call from Python",
                       class->name);
}
