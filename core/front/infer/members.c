/* What is one of several constants that are known when the function is compiled: members of
 * enum classes, and strings. This file types the attributes of members that are chosen at run
 * time, results that are members, and the operators of members of one Flag class that are known
 * when the code is compiled. A constant member has the type of its class, so that it joins with
 * other members of it (core/front/join.c). The classes are read by
 * core/front/read/classes/members.c. */
#include "core/front/infer/infer_internal.h"

#include <string.h>

bool
lw_type_is_member(lw_infer_frame *f, lw_type type)
{
    return lw_type_get_kind(lw_types_of(f), type, LW_TK_MEMBER) != NULL;
}

bool
lw_are_members_of_one(lw_infer_frame *f, lw_type x, lw_type y)
{
    const lw_enum *a = lw_type_enum(lw_types_of(f), x), *b = lw_type_enum(lw_types_of(f), y);

    return a != NULL && b != NULL && a->id == b->id;
}

const lw_enum *
lw_enum_of(lw_infer_frame *f, lw_type type)
{
    const lw_enum *numbers = lw_type_numbers(lw_types_of(f), type);

    return numbers ? numbers : lw_type_enum(lw_types_of(f), type);
}

const lw_class_member *
lw_method_of_member(lw_infer_frame *f, lw_type type, const char *name)
{
    const lw_enum *members = lw_enum_of(f, type);

    return members ? lw_member_of(members->methods, name) : NULL;
}

/* The values of all members (is_name: their names, of members that are no numbers), as a tuple;
 * 0 and LW_OK: one of them is none that code can use. */
static lw_status
values_of(lw_infer_frame *f, uint32_t node, const lw_enum *members, bool is_name, uint32_t *out)
{
    lw_constant constant = {.kind = LW_K_TUPLE, .n = members->n + members->n_numbers};
    uint32_t *items = lw_arena_take(f->run->arena, (constant.n + 1) * sizeof *items);

    *out = 0;
    if (items == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < constant.n; i++) {
        items[i] = members->n ? lw_constant_of(f, members->members[i])->items[is_name]
                              : lw_constant_int(f, 0, members->numbers[i].value);
        if (items[i] == 0)
            return LW_OK;
    }
    constant.items = items;
    *out = lw_constant_add(f, lw_typed_in(&f->nodes, node)->target, &constant);
    return *out ? LW_OK : lw_out_of_memory(f);
}

static lw_status
complain_value(lw_infer_frame *f, uint32_t node, const lw_enum *members, const char *name)
{
    return lw_complain(f, lw_node_of(f, node)->loc, "E104",
                       lw_format_text(f,
                                      "the values of `%s` are not all numbers of one type, "
                                      "strings, or tuples of these",
                                      members->name),
                       "compare the member itself: `m is E.A`",
                       "`.%s` of a member that is known only at run time", name);
}

/* .value or .name: the node's target and operand become the tuple of all and its type. */
static lw_status
infer_value(lw_infer_frame *f, uint32_t node, const lw_enum *members, const char *name,
            lw_infer_value *out)
{
    lw_typed_node *t = lw_typed_in(&f->nodes, node);
    const char *problem = NULL;
    const lw_type_row *row;
    uint32_t values;
    lw_status status;

    LW_TRY(values_of(f, node, members, strcmp(name, "name") == 0, &values));
    if (values == 0)
        return complain_value(f, node, members, name);
    t->target = values;
    t->operand = lw_constant_value(f, values).type;
    row = lw_type_get(lw_types_of(f), t->operand);
    out->type = lw_join(lw_types_of(f), lw_typing_of(f), row->elements, row->n, &problem);
    if (problem != NULL || out->type == LW_T_NONE || !lw_can_be_shown(f, out->type)) {
        out->type = LW_T_BOTTOM;
        return complain_value(f, node, members, name);
    }
fail:
    return status;
}

/* The value of a member that is a number; its name is known only of a constant. */
static bool
infer_numbered(lw_infer_frame *f, const lw_enum *members, lw_type type, const char *name,
               lw_infer_value *out)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);

    if (members->n_numbers == 0 || strcmp(name, "value") != 0)
        return false;
    out->type = lw_type_literal(lw_types_of(f), row->lo, row->hi);
    return true;
}

lw_status
lw_infer_member_attribute(lw_infer_frame *f, uint32_t node, lw_infer_value object,
                          const char *name, lw_infer_value *out)
{
    const lw_enum *members = lw_enum_of(f, object.type);
    const lw_class_member *member = lw_method_of_member(f, object.type, name);
    uint32_t of = lw_node_of(f, node)->a;
    lw_arg self = {.node = of, .entry = of, .value = object};

    if (member != NULL && member->kind == LW_MEMBER_PROPERTY)
        return lw_infer_call_member(f, node, member, &self, 1, out);
    if (member != NULL)
        return lw_complain(f, lw_node_of(f, node)->loc, "E165",
                           "a method is not a value in compiled code", "call it here",
                           "`%s` of `%s` is not called", name, members->name);
    if (infer_numbered(f, members, object.type, name, out))
        return LW_OK;
    if (strcmp(name, "value") == 0 || (strcmp(name, "name") == 0 && members->n != 0))
        return infer_value(f, node, members, name, out);
    if (strcmp(name, "name") == 0)
        return lw_complain(f, lw_node_of(f, node)->loc, "E104",
                           lw_format_text(f, "this is a member of `%s`", members->name),
                           "compare the member itself: `m is E.A`",
                           "`.name` of a member that is known only at run time");
    return lw_complain(
        f, lw_node_of(f, node)->loc, "E161",
        lw_format_text(f, "this is a member of `%s`, known only at run time", members->name),
        "use `.value`, or compare the member itself: `m is E.A`",
        "no attribute `%s` in compiled code", name);
}

/* ---- E(x) ---- */

/* Whether all values are numbers, of which there are few enough for a comparison with each. */
static bool
are_found(lw_infer_frame *f, lw_type values)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), values);

    for (uint32_t i = 0; i < row->n; i++)
        if (!lw_type_is_number(f, row->elements[i]))
            return false;
    return row->n <= LW_MAX_UNROLL;
}

static lw_status
complain_call(lw_infer_frame *f, uint32_t node, const lw_enum *members, const lw_arg *args,
              uint32_t n)
{
    if (n == 1 && args[0].keyword == NULL)
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E120",
            lw_format_text(f, "this is %s", lw_describe_value(f, args[0].value)),
            "compare it in a chain of `if`",
            "`%s(...)` finds a member by a number, among at most %d values that are numbers",
            members->name, LW_MAX_UNROLL);
    return lw_complain(f, lw_node_of(f, node)->loc, "E153", lw_format_text(f, "%u given", n),
                       NULL, "`%s(...)` takes one value", members->name);
}

/* The member whose value is this constant. */
static bool
find_known(lw_infer_frame *f, const lw_enum *members, uint32_t values, uint32_t constant,
           lw_infer_value *out)
{
    const lw_constant *all = lw_constant_of(f, values);

    for (uint32_t i = 0; i < all->n; i++)
        if (lw_fold_compare_constant(f, LW_PY_EQ, constant, all->items[i]) == 1) {
            *out = lw_constant_value(f, members->n ? members->members[i]
                                                   : members->numbers[i].constant);
            return true;
        }
    return false;
}

/* E(member): the member itself. */
static lw_status
find_itself(lw_infer_frame *f, uint32_t node, const lw_arg *arg, lw_infer_value *out)
{
    *out = arg->value;
    lw_typed_in(&f->nodes, node)->target = 0;
    if (!f->report)
        return LW_OK;
    lw_typed_in(&f->nodes, node)->call = LW_CALL_MEMBER;
    return lw_call_arguments(f, node, arg, 1);
}

lw_status
lw_infer_member_call(lw_infer_frame *f, uint32_t node, const lw_enum *members,
                     const lw_arg *args, uint32_t n, lw_infer_value *out)
{
    lw_typed_node *t = lw_typed_in(&f->nodes, node);
    lw_type x = n == 1 ? args[0].value.type : (lw_type)LW_T_BOTTOM;
    uint32_t n_members = members->n + members->n_numbers; /* it has one kind of them */
    lw_type *operands = lw_arena_take(f->run->arena, (n_members + 1) * sizeof *operands);
    lw_type all;
    uint32_t values;
    lw_status status;

    if (operands == NULL)
        return lw_out_of_memory(f);
    if (n == 1 && x == LW_T_BOTTOM)
        return LW_OK;
    if (n == 1 && args[0].keyword == NULL && lw_enum_of(f, x) &&
        lw_enum_of(f, x)->id == members->id)
        return find_itself(f, node, &args[0], out);
    LW_TRY(values_of(f, node, members, false, &values));
    if (n == 1 && args[0].keyword == NULL && args[0].value.constant && values &&
        find_known(f, members, values, args[0].value.constant, out))
        return LW_OK;
    all = values ? lw_constant_value(f, values).type : (lw_type)LW_T_BOTTOM;
    if (values == 0 || n != 1 || args[0].keyword != NULL || !lw_type_is_number(f, x) ||
        !are_found(f, all))
        return complain_call(f, node, members, args, n);
    for (uint32_t i = 0; i < n_members; i++)
        operands[i] = lw_equality_operand(f, x, lw_type_get(lw_types_of(f), all)->elements[i]);
    out->type = members->n
                    ? lw_type_member(lw_types_of(f), members)
                    : lw_type_numbered(lw_types_of(f), members->lo, members->hi, members);
    f->can_raise |= !f->run->typed->options.ignore_errors;
    t->operand = lw_type_tuple(lw_types_of(f), operands, n_members, NULL);
    t->target = values;
    if (!f->report)
        return LW_OK;
    t->call = LW_CALL_MEMBER;
    status = lw_call_arguments(f, node, args, 1);
fail:
    return status;
}

lw_type
lw_without_known_members(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);
    lw_type *elements;
    lw_type_row copy;

    if (row != NULL && row->members != NULL && row->members->n != 0)
        return lw_type_member(lw_types_of(f), row->members);
    if (row == NULL || row->kind != LW_TK_TUPLE)
        return type;
    copy = *row;
    elements = lw_arena_take(f->run->arena, (copy.n + 1) * sizeof *elements);
    if (elements == NULL)
        return type;
    for (uint32_t i = 0; i < copy.n; i++)
        elements[i] = lw_without_known_members(f, copy.elements[i]);
    if (memcmp(elements, copy.elements, copy.n * sizeof *elements) == 0)
        return type;
    return lw_tuple_like(f, &copy, elements);
}

bool
lw_has_member(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);
    bool has = row != NULL && row->kind == LW_TK_MEMBER;

    for (uint32_t i = 0; row && row->kind == LW_TK_TUPLE && !has && i < row->n; i++)
        has = lw_has_member(f, row->elements[i]);
    return has;
}

/* Whether the values of all members are numbers, which no member of another Enum is equal to.
 */
static bool
are_numbers(lw_infer_frame *f, const lw_enum *members)
{
    for (uint32_t i = 0; i < members->n; i++) {
        uint32_t value = lw_constant_of(f, members->members[i])->items[0];
        if (value == 0 || !lw_type_is_number(f, lw_constant_value(f, value).type))
            return false;
    }
    return members->n + members->n_numbers != 0;
}

int
lw_fold_in_enum(lw_infer_frame *f, lw_infer_value x, lw_infer_value y)
{
    const lw_constant *class = y.constant ? lw_constant_of(f, y.constant) : NULL;
    const lw_enum *members = lw_enum_of(f, x.type), *others;

    if (class == NULL || class->kind != LW_K_OBJECT || class->n != 0 || members == NULL)
        return -1;
    if (members->id == class->bytes)
        return 1;
    others = lw_tree_enum(f->run->tree, class->bytes);
    return others && members->n && are_numbers(f, others) ? 0 : -1;
}

/* ---- flags ---- */

lw_type
lw_type_flags(lw_infer_frame *f, lw_type type)
{
    const lw_enum *of = lw_type_numbers(lw_types_of(f), type);

    return of && of->all_bits ? lw_type_numbered(lw_types_of(f), 0, of->all_bits, of)
                              : (lw_type)LW_T_BOTTOM;
}

static const lw_enum *
set_of(lw_infer_frame *f, uint32_t constant)
{
    return constant ? lw_constant_enum(lw_constant_of(f, constant)) : NULL;
}

/* Its row; NULL: it is no member of the set. */
static const struct lw_flag *
flag_of(lw_infer_frame *f, const lw_enum *set, uint32_t constant)
{
    const lw_enum *own = set_of(f, constant);

    for (uint32_t i = 0; own && set && own->id == set->id && i < set->n_flags; i++)
        if (lw_constant_same(f, set->flags[i].constant, constant))
            return &set->flags[i];
    return NULL;
}

static uint32_t
of_value(const lw_enum *set, int64_t value)
{
    for (uint32_t i = 0; i < set->n_flags; i++)
        if (set->flags[i].value == value)
            return set->flags[i].constant;
    return 0;
}

uint32_t
lw_fold_flags(lw_infer_frame *f, lw_pyop op, uint32_t x, uint32_t y)
{
    const lw_enum *set = set_of(f, x);
    const struct lw_flag *a = flag_of(f, set, x), *b = flag_of(f, set, y);

    if (a == NULL || b == NULL)
        return 0;
    switch (op) {
    case LW_PY_BITAND: return of_value(set, a->value & b->value);
    case LW_PY_BITOR: return of_value(set, a->value | b->value);
    case LW_PY_BITXOR: return of_value(set, a->value ^ b->value);
    default: return 0;
    }
}

uint32_t
lw_fold_inverted_flag(lw_infer_frame *f, uint32_t x)
{
    const lw_enum *set = set_of(f, x);
    const struct lw_flag *a = flag_of(f, set, x);

    return a ? of_value(set, a->inverse) : 0;
}

int
lw_fold_in_flag(lw_infer_frame *f, uint32_t x, uint32_t y)
{
    const lw_enum *set = set_of(f, y);
    const struct lw_flag *a = flag_of(f, set, x), *b = flag_of(f, set, y);

    return a && b ? (a->value & b->value) == a->value : -1;
}

/* ---- strings, of which a type lists those that a value may be ---- */

bool
lw_is_text(lw_infer_frame *f, lw_type type)
{
    return lw_type_is_text(lw_types_of(f), type);
}

bool
lw_is_runtime_text(lw_infer_frame *f, lw_type type)
{
    return lw_type_get_kind(lw_types_of(f), type, LW_TK_TEXT) != NULL;
}

bool
lw_is_known_text(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), type, LW_TK_STATIC);

    return row != NULL && row->text != NULL;
}

bool
lw_has_text(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), type, LW_TK_TUPLE);
    bool has = lw_is_text(f, lw_type_without_none(lw_types_of(f), type));

    for (uint32_t i = 0; row && !has && i < row->n; i++)
        has = lw_has_text(f, row->elements[i]);
    return has;
}

int
lw_truth_of_texts(lw_infer_frame *f, lw_type type)
{
    uint32_t n, n_true = 0;
    const lw_type *choices = lw_type_choices(lw_types_of(f), &type, &n);

    if (n == 0) /* any string */
        return -1;
    for (uint32_t i = 0; i < n; i++)
        n_true += *lw_type_get(lw_types_of(f), choices[i])->text != 0;
    return n_true == n ? 1 : n_true == 0 ? 0 : -1;
}

lw_type
lw_length_of_texts(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);
    uint32_t least = UINT32_MAX, most = 0;

    if (lw_type_is_any_text(lw_types_of(f), type))
        return lw_weak_mode(f) ? LW_T_INDEX : lw_weak_int(f);
    for (uint32_t i = 0; i < row->n; i++) {
        uint32_t n =
            (uint32_t)lw_text_length(lw_type_get(lw_types_of(f), row->elements[i])->text);
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    return lw_weak_mode(f) ? lw_type_literal(lw_types_of(f), least, most) : lw_weak_int(f);
}

int
lw_part_of_text(lw_infer_frame *f, lw_type x, lw_type y)
{
    const lw_types *types = lw_types_of(f);
    uint32_t n_x, n_y, n_parts = 0;
    const lw_type *xs = lw_type_choices(types, &x, &n_x),
                  *ys = lw_type_choices(types, &y, &n_y);

    if (n_x == 0 || n_y == 0) /* any string */
        return -1;
    for (uint32_t i = 0; i < n_x; i++)
        for (uint32_t k = 0; k < n_y; k++)
            n_parts += strstr(lw_type_get(types, ys[k])->text,
                              lw_type_get(types, xs[i])->text) != NULL;
    return n_parts == 0 ? 0 : n_parts == n_x * n_y ? 1 : -1;
}
