/* Reading and writing the fields of records, r.name and r["name"], and of arrays of records,
 * whose fields are views. A field's type says its alignment (core/front/records.h); whether it
 * may be written is the record's readonly. */
#include "core/front/infer/infer_internal.h"
#include "core/front/records.h"

#include <string.h>

static lw_status
complain_no_field(lw_infer_frame *f, uint32_t node, lw_type type, const char *name)
{
    const lw_record *record = lw_record_of(lw_types_of(f), type);
    const char **names = lw_arena_take(f->run->arena, (record->n + 1) * sizeof *names), *near;

    if (names == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < record->n; i++)
        names[i] = record->fields[i].name;
    near = lw_nearest(name, names, record->n);
    return lw_complain(f, lw_node_of(f, node)->loc, "E161",
                       lw_format_text(f, "the object is %s", lw_describe_type(f, type)),
                       near ? lw_format_text(f, "did you mean `%s`?", near) : NULL,
                       "the record has no field `%s`", name);
}

lw_status
lw_infer_field(lw_infer_frame *f, uint32_t node, lw_type type, const char *name, lw_type *out)
{
    lw_types *types = lw_types_of(f);
    const lw_record_field *field = lw_record_field_of(types, type, name);

    *out = LW_T_BOTTOM;
    if (field == NULL)
        return complain_no_field(f, node, type, name);
    if (lw_record_row(types, type) == NULL)
        *out = lw_record_view(types, type, field);
    else
        *out = lw_record_field_type(types, type, field);
    return LW_OK;
}

/* *name: the field that a[b] or a.b selects, with `a` of this type; NULL: it selects none. */
lw_status
lw_infer_field_name(lw_infer_frame *f, uint32_t node, lw_type type, const char **name)
{
    const lw_node *n = lw_node_of(f, node);
    bool single = lw_record_row(lw_types_of(f), type) != NULL;
    const lw_constant *constant;
    lw_node_kind kind;
    lw_infer_value index;
    lw_status status;
    __int128 at;

    *name = NULL;
    if (lw_record_of(lw_types_of(f), type) == NULL)
        return LW_OK;
    if (n->kind == LW_NODE_ATTRIBUTE) {
        *name = lw_constant_text(f, n->b);
        return LW_OK;
    }
    kind = (lw_node_kind)lw_node_of(f, n->b)->kind;
    if (!single && kind != LW_NODE_CONSTANT && kind != LW_NODE_NAME)
        return LW_OK;
    LW_TRY(lw_infer_expr(f, n->b, &index));
    constant = index.constant ? lw_constant_of(f, index.constant) : NULL;
    if (constant && constant->kind == LW_K_STR)
        *name = constant->text;
    else if (single && constant && lw_constant_int_value(constant, &at))
        *name = lw_record_field_name(lw_types_of(f), type, (int64_t)at);
    if (single && *name == NULL && index.type != LW_T_BOTTOM)
        return lw_complain(f, lw_node_of(f, n->b)->loc, "E120",
                           lw_format_text(f, "this is %s", lw_describe_value(f, index)), NULL,
                           "a record is indexed with the name of a field, or its number");
fail:
    return status;
}

/* ---- dtypes ---- */

lw_infer_value
lw_infer_dtype_of(lw_infer_frame *f, uint32_t node, lw_type element)
{
    const lw_record *record = lw_record_of(lw_types_of(f), element);
    lw_constant constant = {.kind = record ? LW_K_RECORD : LW_K_DTYPE};
    uint32_t known;

    if (record != NULL) {
        constant.bytes = record->spec;
        constant.text = record->name;
    } else {
        constant.dtype = (lw_dtype)element;
        constant.text = lw_dtypes[constant.dtype].public_name;
    }
    known = lw_node_constant(f, node, &constant);
    return (lw_infer_value){known ? (lw_type)LW_T_STATIC : (lw_type)LW_T_BOTTOM, known};
}

/* A.dtype.names: a tuple of texts; 0: no memory, of which the walk over the function tells. */
static uint32_t
names_of_fields(lw_infer_frame *f, uint32_t node, const lw_arg_record *record)
{
    lw_constant constant = {.kind = LW_K_TUPLE, .n = record->n};
    uint32_t *items = lw_arena_take(f->run->arena, (record->n + 1) * sizeof *items);

    for (uint32_t i = 0; items && i < record->n; i++) {
        lw_constant name = {.kind = LW_K_STR, .text = record->fields[i].name};
        items[i] = lw_constant_add(f, 0, &name);
        if (items[i] == 0)
            return 0;
    }
    constant.items = items;
    return items ? lw_node_constant(f, node, &constant) : 0;
}

bool
lw_infer_record_dtype(lw_infer_frame *f, uint32_t node, const lw_arg_record *record,
                      const char *name, lw_infer_value *out)
{
    uint32_t known;

    if (strcmp(name, "names") == 0)
        known = names_of_fields(f, node, record);
    else if (strcmp(name, "itemsize") == 0)
        known = lw_node_int(f, node, record->itemsize);
    else
        return false;
    *out = known ? lw_constant_value(f, known) : (lw_infer_value){LW_T_BOTTOM, 0};
    return true;
}

/* ---- writing ---- */

/* Whether an object can be stored in an item: its class is that of the item, and it has the
 * same fields. What would be lost in one is E142. */
static lw_status
check_object(lw_infer_frame *f, uint32_t source, lw_type to, lw_type value, bool *taken)
{
    const lw_record *record = lw_record_of(lw_types_of(f), to);
    const lw_type_row *object = lw_type_get_kind(lw_types_of(f), value, LW_TK_TUPLE);
    uint32_t loc = lw_node_of(f, source)->loc;
    lw_status status = LW_OK;

    *taken = false;
    if (!object || !record->user_class || object->user_class != record->user_class)
        return LW_OK;
    *taken = true;
    for (uint32_t i = 0; i < record->n; i++) {
        const lw_record_field *field = &record->fields[i];
        lw_type from = lw_field_of_object(f, value, field->name);

        if (from == LW_T_ABSENT)
            return lw_complain_absent(f, loc, value, field->name);
        if (from == LW_T_BOTTOM || record->n != object->n)
            return lw_complain(
                f, loc, "E165",
                lw_format_text(f, "the object is %s", lw_describe_type(f, value)),
                "make the dtype with all fields that objects have",
                "an item of %s does not have the fields of the object",
                lw_describe_type(f, to));
        if (lw_type_is_dtype(field->type) && lw_type_is_scalar(f, from))
            LW_TRY(lw_check_conversion(f, loc, from, (lw_dtype)field->type, "field"));
        else
            LW_TRY(lw_infer_store_record(f, source, field->type, (lw_infer_value){from, 0}));
    }
fail:
    return status;
}

/* r[i] = (1, 2.5): an item for each field. r[i] = 0: the number in all of them. */
static lw_status
check_items(lw_infer_frame *f, uint32_t source, lw_type to, lw_type value, bool *taken)
{
    const lw_record *record = lw_record_of(lw_types_of(f), to);
    const lw_type_row *tuple = lw_tuple_row(f, value);
    const lw_node *n = lw_node_of(f, source);
    bool literal = n->kind == LW_NODE_TUPLE && tuple && n->c == tuple->n;
    lw_type item = value;
    lw_status status = LW_OK;

    *taken = record->user_class == NULL &&
             (tuple != NULL ? !tuple->is_list : lw_type_is_scalar(f, value));
    if (*taken && tuple != NULL && tuple->n != record->n)
        return lw_complain(f, n->loc, "E120",
                           lw_format_text(f, "this is %s", lw_describe_type(f, value)), NULL,
                           "a tuple of %u items cannot be assigned to a record with %u fields",
                           tuple->n, record->n);
    for (uint32_t i = 0; *taken && i < record->n; i++) {
        if (lw_tuple_row(f, value))
            item = lw_tuple_row(f, value)->elements[i];
        LW_TRY(lw_infer_check_store(f, record->fields[i].type,
                                    literal ? f->run->tree->lists.data[n->b + i] : source,
                                    (lw_infer_value){item, 0}));
    }
fail:
    return status;
}

static bool
is_ascii(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)bytes[i] > 127)
            return false;
    return true;
}

/* As in NumPy, texts and bytes become each other if they are ASCII. */
bool
lw_infer_known_text(lw_infer_frame *f, uint32_t source, char kind, lw_infer_value value)
{
    const lw_type_row *row = lw_type_get_kind(lw_types_of(f), value.type, LW_TK_STATIC);
    uint32_t constant = value.constant ? value.constant : row ? row->fn : 0;
    const lw_constant *k = constant ? lw_constant_of(f, constant) : NULL;

    if (k == NULL || (k->kind != LW_K_STR && k->kind != LW_K_BYTES))
        return false;
    if (k->kind == LW_K_STR && kind == 'S' && !is_ascii(k->text, strlen(k->text)))
        return false;
    if (k->kind == LW_K_BYTES && kind == 'U' && !is_ascii(k->bytes, k->n))
        return false;
    if (row == NULL)
        lw_typed_in(&f->nodes, source)->type =
            lw_field_type(f, (lw_infer_value){LW_T_STATIC, constant});
    return true;
}

/* The same for the texts in a tuple that is known when the function is compiled, which is
 * assigned to a record. The type of the node, which is that of the tuple, becomes one that
 * names them; it is returned. */
static lw_type
name_texts(lw_infer_frame *f, uint32_t source, lw_type tuple)
{
    const lw_type_row *row = lw_tuple_row(f, tuple);
    uint32_t constant = lw_typed_in(&f->nodes, source)->constant;
    const lw_constant *k = constant ? lw_constant_of(f, constant) : NULL;
    lw_type *elements;
    bool any = false;

    if (row == NULL || row->is_list || k == NULL || k->kind != LW_K_TUPLE || k->n != row->n ||
        lw_typed_in(&f->nodes, source)->type != tuple)
        return tuple;
    elements = lw_arena_take(f->run->arena, (row->n + 1) * sizeof *elements);
    for (uint32_t i = 0; elements && i < k->n; i++) {
        any |= row->elements[i] == LW_T_STATIC;
        elements[i] = row->elements[i] == LW_T_STATIC
                          ? lw_field_type(f, (lw_infer_value){LW_T_STATIC, k->items[i]})
                          : row->elements[i];
        row = lw_tuple_row(f, tuple); /* interning moves it */
    }
    if (any)
        lw_typed_in(&f->nodes, source)->type =
            lw_type_tuple(lw_types_of(f), elements, k->n, NULL);
    return lw_typed_in(&f->nodes, source)->type;
}

static lw_status
complain_of_text(lw_infer_frame *f, uint32_t source, lw_type to, lw_infer_value value)
{
    return lw_complain(
        f, lw_node_of(f, source)->loc, "E120",
        lw_format_text(f, "this is %s", lw_describe_value(f, value)),
        "assign a string that is known when the function is compiled (ASCII for bytes), or an "
        "item of an array of the same dtype",
        "an item of type %s cannot receive this", lw_describe_type(f, to));
}

lw_status
lw_infer_store_record(lw_infer_frame *f, uint32_t source, lw_type to, lw_infer_value given)
{
    char text = lw_record_of(lw_types_of(f), to)->text;
    lw_type value = given.type;
    bool taken;
    lw_status status;

    if (value == LW_T_BOTTOM || lw_record_same(lw_types_of(f), to, value))
        return LW_OK;
    if (text)
        return lw_infer_known_text(f, source, text, given)
                   ? LW_OK
                   : complain_of_text(f, source, to, given);
    LW_TRY(check_object(f, source, to, value, &taken));
    if (!taken)
        LW_TRY(check_items(f, source, to, name_texts(f, source, value), &taken));
    if (taken)
        return LW_OK;
    return lw_complain(f, lw_node_of(f, source)->loc, "E120",
                       lw_format_text(f, "this is %s", lw_describe_type(f, value)),
                       lw_class_of(f, to)
                           ? lw_format_text(f, "assign an object of `%s`, or its fields",
                                            lw_class_of(f, to)->name)
                           : "assign a tuple with an item for each field, or field by field: "
                             "`R[i].x = ...`",
                       "an item of type %s cannot receive this", lw_describe_type(f, to));
fail:
    return status;
}

lw_status
lw_infer_store_records(lw_infer_frame *f, uint32_t source, lw_type to, lw_type from)
{
    lw_type x = lw_array_row(f, to)->elements[0], y = lw_array_row(f, from)->elements[0];
    const char *name = lw_describe_source(f, source);

    if (lw_record_same(lw_types_of(f), x, y))
        return LW_OK;
    return lw_complain(
        f, lw_node_of(f, source)->loc, "E120",
        lw_format_text(f, "%s into %s", lw_describe_type(f, from), lw_describe_type(f, to)),
        lw_record_of(lw_types_of(f), y)
            ? lw_format_text(f, "assign field by field, `out[\"x\"] = %s[\"x\"]`",
                             name[0] ? name : "a")
            : "assign to the fields, `out[\"x\"] = a`",
        "records are copied from arrays of the same dtype");
}

/* The field that is assigned to; in an array of records, that field of every item. */
lw_status
lw_infer_field_target(lw_infer_frame *f, uint32_t target, lw_type type, const char *name,
                      lw_type *out)
{
    const lw_node *n = lw_node_of(f, target);
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);

    if (!row->readonly)
        return lw_infer_field(f, target, type, name, out);
    *out = LW_T_BOTTOM;
    return lw_complain(f, n->loc, "E162",
                       lw_format_text(f, "`%s` is read-only", lw_describe_source(f, n->a)),
                       "pass a writable array", "assignment to a field of a read-only record");
}
