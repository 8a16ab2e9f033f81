/* Assignment to fields of objects. In compiled code the variable holds another object from then
 * on: the NAME node that leads to the object defines its variable anew (`target` of the typed
 * node), whether the assignment stands here or in a method that is called (`changes` of its
 * instance). The rules of ownership.c say where that is what Python does. */
#include "core/front/infer/infer_internal.h"
#include "core/front/records.h"

#include <string.h>

/* ---- objects with another field ---- */

/* Where the field is, or has to be put; the fields of a namedtuple are there. */
static uint32_t
find_field(const lw_type_row *row, const char *name, bool *is_there)
{
    bool sorted = row->user_class && !row->user_class->is_namedtuple;
    uint32_t i = 0;

    while (i < row->n && (sorted ? lw_class_orders(row->user_class, row->names[i], name)
                                 : strcmp(row->names[i], name) != 0))
        i++;
    *is_there = i < row->n && strcmp(row->names[i], name) == 0;
    return i;
}

/* The type of the object when this field has that type. */
static lw_type
type_with(lw_infer_frame *f, lw_type object, const char *name, lw_type field)
{
    const lw_type_row row = *lw_type_get(lw_types_of(f), object);
    lw_type *elements = lw_arena_take(f->run->arena, (row.n + 1) * sizeof *elements), type;
    const char **names = lw_arena_take(f->run->arena, (row.n + 2) * sizeof *names);
    bool is_there;
    uint32_t at = find_field(&row, name, &is_there), from = 0;

    if (elements == NULL || names == NULL)
        return LW_T_BOTTOM;
    for (uint32_t i = 0; i < row.n + !is_there; i++) {
        bool is_new = i == at && !is_there;
        elements[i] = i == at ? field : row.elements[from];
        names[i] = is_new ? name : row.names[from];
        from += !is_new;
    }
    type = lw_type_tuple(lw_types_of(f), elements, row.n + !is_there, names);
    return lw_type_tuple_of_class(lw_types_of(f), type, row.user_class);
}

/* The constant of the object with this field, if both are known; 0: they are not. */
static uint32_t
constant_with(lw_infer_frame *f, uint32_t old, lw_infer_value object, const char *name,
              uint32_t field)
{
    const lw_constant *before = object.constant ? lw_constant_of(f, object.constant) : NULL;
    const lw_type_row *row = lw_type_get(lw_types_of(f), object.type);
    lw_constant constant;
    uint32_t *items, at, from = 0;
    const char **names;
    bool is_there;

    if (before == NULL || field == 0)
        return 0;
    constant = *before;
    at = find_field(row, name, &is_there);
    constant.n = row->n + !is_there;
    items = lw_arena_take(f->run->arena, (constant.n + 1) * sizeof *items);
    names = lw_arena_take(f->run->arena, (constant.n + 1) * sizeof *names);
    if (items == NULL || names == NULL)
        return 0;
    for (uint32_t i = 0; i < constant.n; i++) {
        bool is_new = i == at && !is_there;
        items[i] = i == at ? field : before->items[from];
        names[i] = is_new ? name : row->names[from];
        from += !is_new;
    }
    constant.items = items;
    constant.names = names;
    return lw_constant_add(f, old, &constant);
}

/* The object with this field. old: as in lw_constant_add. */
static lw_infer_value
object_with(lw_infer_frame *f, uint32_t old, lw_infer_value object, const char *name,
            lw_infer_value field)
{
    uint32_t constant = constant_with(f, old, object, name, field.constant);

    return (lw_infer_value){type_with(f, object.type, name, lw_field_type(f, field)), constant};
}

lw_infer_value
lw_new_object(lw_infer_frame *f, const lw_class *class, uint32_t old)
{
    static const char *const none[] = {NULL};
    lw_constant constant = {
        .kind = LW_K_TUPLE, .names = none, .text = class->name, .user_class = class};
    lw_type type = lw_type_tuple(lw_types_of(f), NULL, 0, none);

    type = lw_type_tuple_of_class(lw_types_of(f), type, class);
    return (lw_infer_value){type, lw_constant_add(f, old, &constant)};
}

/* ---- whether it may be changed ---- */

/* deep: an object in its fields. */
static bool
may_change(lw_infer_frame *f, uint32_t var, bool deep)
{
    uint64_t lost = *lw_lost(f, var);
    bool unclear = (lost & LW_HOLDS_PARAM) && (lost & LW_IS_REBOUND);

    return !f->held[var] && !unclear && !(lost & LW_LOST_OUTER) &&
           !(deep && (lost & LW_LOST_INNER));
}

/* class: NULL: a tuple with an object in it, which is changed there. */
static lw_status
complain_shared(lw_infer_frame *f, uint32_t loc, const lw_class *class, uint32_t var)
{
    uint64_t lost = *lw_lost(f, var);
    const char *name = f->fn->vars.data[var].name, *why;
    uint32_t line = f->run->tree->locs.data[f->lost_at[var]].line;
    const char *of = class ? lw_format_text(f, "`%s`", class->name) : "an object in a tuple";

    if (f->held[var])
        why = lw_format_text(f,
                             class && class->grown
                                 ? "`%s` is read before in the same expression, or an "
                                   "enclosing loop iterates over it"
                                 : "`%s` is read before in the same expression",
                             name);
    else if (lost & LW_HOLDS_ENTRY)
        why = lw_format_text(
            f, "`%s` is an argument, and the caller's object would stay as it is", name);
    else if (lost & LW_HOLDS_CAPTURE)
        why = lw_format_text(f, "`%s` belongs to the enclosing function", name);
    else if ((lost & LW_HOLDS_PARAM) && (lost & LW_IS_REBOUND))
        why = lw_format_text(f, "`%s` is the argument or another object", name);
    else
        why = line ? lw_format_text(f, "`%s` may have another name since line %u", name, line)
                   : lw_format_text(f, "`%s` may have another name", name);
    if (class && class->grown)
        return lw_complain(
            f, loc, "E165", why,
            f->held[var] ? lw_format_text(f,
                                          "change the %s in a statement of its own; in a loop "
                                          "over it, loop over `%s.copy()`",
                                          class->name, name)
            : lost & (LW_HOLDS_ENTRY | LW_HOLDS_CAPTURE | LW_HOLDS_PARAM)
                ? lw_format_text(f, "pass the %s as an argument, or return a new %s",
                                 class->name, class->name)
                : lw_format_text(f,
                                 "use one name for a %s, and change it in each branch of an "
                                 "`if`; `y = x.copy()` is another %s, which changes alone",
                                 class->name, class->name),
            "a %s that may have two names in compiled code is changed", class->name);
    return lw_complain(
        f, loc, "E165", why,
        class ? lw_format_text(f, "make a new object, as in `q = %s(...)`, and use that",
                               class->name)
              : "make a new object, and use that",
        "a field of %s is assigned, but something else may hold the object", of);
}

/* The parameter whose object the variable holds is changed. how: bits of LW_CHANGES_. */
static void
note_change(lw_infer_frame *f, uint32_t var, uint8_t how)
{
    uint32_t i = 0;

    if (!(*lw_lost(f, var) & LW_HOLDS_PARAM))
        return;
    while (i < f->n_params && lw_param_var(f, i) != var)
        i++;
    assert(i < f->n_params);
    if ((f->changes[i] | how) != f->changes[i]) {
        f->changes[i] |= how;
        f->changed = true;
    }
}

/* Whether the object that `node` gives may be changed: of a variable or of one of its fields,
 * or of a value that nothing else holds. *var: the variable, or 0. */
static lw_status
check_changed(lw_infer_frame *f, uint32_t node, uint32_t loc, uint8_t how, bool *allowed,
              uint32_t *var)
{
    const lw_class *class = lw_class_of(f, lw_typed_in(&f->nodes, node)->type);
    bool is_whole, deep;

    assert(f->notes != NULL); /* there is a class */
    *var = lw_variable_of(f, node, &is_whole);
    deep = (how & LW_CHANGES_INNER) || !is_whole;
    *allowed = *var ? may_change(f, *var, deep) : lw_note_at(f, node)->fresh > deep;
    if (!*allowed && *var == 0 && class && class->grown)
        return lw_complain(
            f, loc, "E165", lw_format_text(f, "no single variable holds the %s", class->name),
            lw_format_text(f, "give the %s a name, and change it by that name", class->name),
            "a %s that is an item, or has no name, is changed", class->name);
    if (!*allowed && *var == 0)
        return lw_complain(f, loc, "E165", "no single variable holds the object",
                           "change the object before it is put there",
                           "a field of `%s` is assigned", class ? class->name : "an object");
    if (!*allowed)
        return complain_shared(f, loc, class, *var);
    if (*var)
        note_change(f, *var, how | LW_CHANGES_FIELDS | (deep ? LW_CHANGES_INNER : 0));
    return LW_OK;
}

/* ---- writing back ---- */

/* What `node` leads to has this value from now on. */
static lw_status
write_back(lw_infer_frame *f, uint32_t node, lw_infer_value value)
{
    const lw_node *n = lw_node_of(f, node);

    for (; n->kind == LW_NODE_ATTRIBUTE; n = lw_node_of(f, node)) {
        lw_infer_value object = {lw_typed_in(&f->nodes, n->a)->type,
                                 lw_typed_in(&f->nodes, n->a)->constant};

        object = object_with(f, lw_note_at(f, node)->constant, object,
                             lw_constant_text(f, n->b), value);
        lw_note_at(f, node)->constant = object.constant;
        lw_typed_in(&f->nodes, node)->target = object.type;
        value = object;
        node = n->a;
    }
    assert(n->kind == LW_NODE_NAME); /* lw_variable_of found it */
    return lw_define_back(f, n->a, node, value);
}

/* ---- assignment ---- */

static bool
is_slot(const lw_class *class, const char *name)
{
    for (uint32_t i = 0; i < class->n_slots; i++)
        if (strcmp(class->slots[i], name) == 0)
            return true;
    return class->slots == NULL;
}

/* What Python refuses, and what cannot be compiled. */
static lw_status
check_field(lw_infer_frame *f, uint32_t target, const lw_class *class,
            const lw_class_member *member, bool *refused)
{
    const lw_node *n = lw_node_of(f, target);
    const char *name = lw_constant_text(f, n->b), *what = NULL, *help = NULL;

    if (class->is_namedtuple &&
        !lw_record_row(lw_types_of(f), lw_typed_in(&f->nodes, n->a)->type))
        what = "the fields of the namedtuple `%s` cannot be assigned",
        help = "make a new one: `p._replace(...)` in Python, `C(...)` in compiled code";
    else if (class->structure)
        what = "values of the type `%s` cannot be changed", help = "make a new one";
    else if (class->is_frozen && !(n->flags & LW_NODE_FORCED))
        what = "the dataclass `%s` is frozen", help = "make a new object";
    else if (member && member->kind == LW_MEMBER_PROPERTY && member->setter == 0)
        what = "`%s` has a property of this name without a setter",
        help = "assign the field that the property reads";
    else if (member && lw_member_is_method(member))
        what = "`%s` has a method of this name", help = "use another name";
    else if (!is_slot(class, name) && (!member || member->kind == LW_MEMBER_CONSTANT) &&
             lw_class_by_value(f, lw_typed_in(&f->nodes, n->a)->type))
        what = "`%s` has no slot of this name", help = "name it in `__slots__`";
    *refused = what != NULL;
    if (what == NULL)
        return LW_OK;
    return lw_complain(f, n->loc, "E165", lw_format_text(f, "`%s` is assigned here", name),
                       help, what, class->name);
}

/* The value of a field whose type is registered. source: its node, for messages. */
static lw_status
convert_field(lw_infer_frame *f, uint32_t source, const lw_class *class, const char *name,
              lw_infer_value *value)
{
    const lw_constant *type = NULL;
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < class->n_registered; i++)
        if (strcmp(class->registered[i], name) == 0)
            type = lw_constant_of(f, class->types[i]);
    if (type == NULL || type->kind != LW_K_DTYPE || value->type == LW_T_BOTTOM ||
        value->type == type->dtype)
        return LW_OK;
    if (!lw_type_is_number(f, value->type))
        return lw_complain(f, lw_node_of(f, source)->loc, "E120",
                           lw_format_text(f, "this is %s", lw_describe_value(f, *value)), NULL,
                           "the field `%s` of `%s` is registered as %s", name, class->name,
                           lw_dtypes[type->dtype].public_name);
    LW_TRY(lw_check_value(f, source, value->type, type->dtype, "field"));
    if (value->constant)
        value->constant = lw_fold_cast_constant(f, lw_note_at(f, source)->constant,
                                                value->constant, type->dtype, false);
    lw_note_at(f, source)->constant = value->constant;
    value->type = type->dtype;
fail:
    return status;
}

/* The setter of a property, which gets the object and the value. */
static lw_status
store_property(lw_infer_frame *f, uint32_t target, const lw_class_member *property,
               lw_infer_value object, lw_infer_value value)
{
    const lw_class_member setter = {.name = property->name,
                                    .kind = LW_MEMBER_METHOD,
                                    .index = property->setter,
                                    .linked = property->linked};
    uint32_t of = lw_node_of(f, target)->a;
    uint32_t entry = value.constant ? LW_ARG_CONSTANT | value.constant : 0;
    lw_arg args[2] = {{.node = of, .entry = of, .value = object},
                      {.node = target, .entry = entry, .value = value}};
    lw_infer_value nothing = {LW_T_BOTTOM, 0};

    return lw_infer_call_member(f, target, &setter, args, 2, &nothing);
}

/* The type that the field has before the assignment; BOTTOM: there is none. */
static lw_type
type_of_field(lw_infer_frame *f, uint32_t node, const char *name)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), lw_typed_in(&f->nodes, node)->type);
    bool is_there = false;
    uint32_t at =
        row && row->kind == LW_TK_TUPLE && row->names ? find_field(row, name, &is_there) : 0;

    return is_there ? row->elements[at] : LW_T_BOTTOM;
}

/* A field does not copy what it is given, as an array in memory does: an expression of whole
 * arrays, p.x = y + 1, is a new array, which the field keeps. */
static lw_status
make_array(lw_infer_frame *f, uint32_t target, lw_infer_value *value)
{
    return lw_type_kind_of(lw_types_of(f), value->type) == LW_TK_ELEMENTWISE
               ? lw_infer_made_array(f, f->source ? f->source : target, value)
               : LW_OK;
}

static lw_status
store_field(lw_infer_frame *f, uint32_t target, const lw_class *class, lw_infer_value value,
            const lw_note *note)
{
    const lw_node *n = lw_node_of(f, target);
    bool allowed,
        parts = lw_holds_objects(f, value.type) ||
                lw_holds_objects(f, type_of_field(f, n->a, lw_constant_text(f, n->b)));
    uint32_t var;
    lw_status status;

    LW_TRY(convert_field(f, f->source ? f->source : target, class, lw_constant_text(f, n->b),
                         &value));
    LW_TRY(check_changed(f, n->a, n->loc, parts ? LW_CHANGES_PARTS : 0, &allowed, &var));
    if (!allowed || value.type == LW_T_BOTTOM)
        return LW_OK;
    lw_typed_in(&f->nodes, target)->type = value.type;
    if (var == 0)
        return lw_complain(f, n->loc, "E165", "nothing reads the field afterwards",
                           "give the object a name first", "a field of `%s` is assigned",
                           class->name);
    LW_TRY(write_back(f, target, value));
    if (note->copied && f->source)
        return lw_complain_copied(f, f->source);
    if (!lw_holds_objects(f, value.type) || note->fresh == 2)
        return LW_OK;
    if (note->param && *lw_lost(f, var) & LW_HOLDS_PARAM) /* the caller knows who holds it */
        f->moved[note->param - 1] = true;
    else
        lw_lose(f, var, LW_LOST_INNER, n->loc);
fail:
    return status;
}

lw_status
lw_infer_object_store(lw_infer_frame *f, uint32_t target, lw_infer_value object,
                      lw_infer_value value)
{
    const lw_note note = f->incoming;
    const lw_class *class = lw_class_of(f, object.type);
    const lw_class_member *member =
        lw_member_of(class, lw_constant_text(f, lw_node_of(f, target)->b));
    bool refused;
    lw_status status;

    LW_TRY(check_field(f, target, class, member, &refused));
    if (refused)
        return LW_OK;
    LW_TRY(make_array(f, target, &value));
    if (member && member->kind == LW_MEMBER_PROPERTY)
        return value.type == LW_T_BOTTOM ? LW_OK
                                         : store_property(f, target, member, object, value);
    LW_TRY(store_field(f, target, class, value, &note));
fail:
    return status;
}

/* ---- objects in arrays, whose fields are memory ---- */

lw_status
lw_check_record_target(lw_infer_frame *f, uint32_t target, lw_infer_value object, bool *refused)
{
    const lw_class *class = lw_class_of(f, object.type);
    const char *name;

    *refused = false;
    if (class == NULL || lw_node_of(f, target)->kind != LW_NODE_ATTRIBUTE)
        return LW_OK;
    name = lw_constant_text(f, lw_node_of(f, target)->b);
    return check_field(f, target, class, lw_member_of(class, name), refused);
}

/* p.v += ... of a property: the ASSIGN p.v = p.v + ..., which is the same for numbers. */
lw_status
lw_infer_augmented_property(lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node), *target = lw_node_of(f, n->a);
    const lw_class *class = lw_class_of(f, lw_typed_in(&f->nodes, target->a)->type);
    lw_type before;
    lw_status status = LW_OK;

    if (n->c != 0) {
        LW_TRY(lw_infer_statement(f, n->c));
        before = lw_typed_in(&f->nodes, lw_node_of(f, lw_node_of(f, n->c)->a)->a)->type;
        if (before == LW_T_BOTTOM || lw_type_is_number(f, before))
            return LW_OK;
    }
    return lw_complain(f, target->loc, "E165", "this is a property",
                       "write it in full: `p.v = p.v + ...`",
                       "an augmented assignment to a property of `%s`", class->name);
fail:
    return status;
}

lw_status
lw_infer_record_property(lw_infer_frame *f, uint32_t target, const lw_infer_value *value,
                         bool *found)
{
    const lw_node *n = lw_node_of(f, target);
    lw_infer_value object = {LW_T_BOTTOM, 0};
    const lw_class_member *member;
    lw_status status = LW_OK;

    *found = false;
    if (n->kind != LW_NODE_ATTRIBUTE || f->notes == NULL)
        return LW_OK;
    LW_TRY(lw_infer_borrowed(f, n->a, &object));
    member = lw_member_of(lw_class_of(f, object.type), lw_constant_text(f, n->b));
    *found = member && member->kind == LW_MEMBER_PROPERTY && (member->setter || !value);
    if (*found && value != NULL && value->type != LW_T_BOTTOM) {
        lw_infer_value made = *value;
        LW_TRY(make_array(f, target, &made));
        LW_TRY(store_property(f, target, member, object, made));
    }
fail:
    return status;
}

/* ---- augmented assignment ---- */

/* p.x += v: the field is read, then v, then the result is assigned. The elements of an array
 * change where they are, as in Python. */
lw_status
lw_infer_augmented_field(lw_infer_frame *f, uint32_t node, lw_infer_value object)
{
    const lw_node *n = lw_node_of(f, node), *target = lw_node_of(f, n->a);
    const lw_class *class = lw_class_of(f, object.type);
    const lw_class_member *member = lw_member_of(class, lw_constant_text(f, target->b));
    lw_infer_value x = {LW_T_BOTTOM, 0}, y, result = {LW_T_BOTTOM, 0};
    lw_note note = {0};
    uint32_t held;
    bool refused, found;
    lw_status status;

    if (member && member->kind == LW_MEMBER_PROPERTY)
        return lw_infer_augmented_property(f, node);
    LW_TRY(check_field(f, n->a, class, member, &refused));
    if (refused)
        return LW_OK;
    LW_TRY(lw_infer_attribute(f, n->a, &x));
    lw_typed_in(&f->nodes, n->a)->operand = x.type;
    lw_typed_in(&f->nodes, n->a)->constant = x.constant;
    held = lw_hold(f, target->a);
    status = lw_infer_borrowed(f, n->b, &y);
    lw_unhold(f, held);
    if (status != LW_OK || x.type == LW_T_BOTTOM || y.type == LW_T_BOTTOM)
        return status;
    if (lw_array_row(f, x.type) && lw_is_elementwise(f, x.type)) /* the field keeps its array */
        return lw_infer_augmented_array(f, node, x, y);
    LW_TRY(lw_infer_added(f, node, x, &y, &found));
    if (!found)
        return LW_OK;
    LW_TRY(lw_infer_augmented_value(f, node, (lw_arg){.node = n->a, .entry = n->a, .value = x},
                                    y, &found, &result));
    note.fresh = lw_note_at(f, node)->alias ? 2 : lw_note_at(f, node)->fresh;
    f->source = n->b;
    LW_TRY(store_field(f, n->a, class, result, &note));
fail:
    f->source = 0;
    return status;
}

/* ---- by calls ---- */

lw_status
lw_infer_change(lw_infer_frame *f, uint32_t node, uint32_t loc, uint8_t how,
                const lw_infer_value *value, uint32_t *root)
{
    bool allowed;
    lw_status status;

    LW_TRY(check_changed(f, node, loc, how, &allowed, root));
    if (allowed && *root != 0 && value != NULL && value->type != LW_T_BOTTOM)
        LW_TRY(write_back(f, node, *value));
    if (!allowed)
        *root = 0;
fail:
    return status;
}
