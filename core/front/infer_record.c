/* Reading and writing the fields of records. */
#include "core/front/infer_internal.h"
#include "core/front/records.h"

static lw_status
complain_no_field(lw_frame *f, uint32_t node, lw_type type, const char *name)
{
    const lw_record *record = lw_record_of(lw_types_of(f), type);
    const char **names = lw_arena_take(f->run->arena, (record->n + 1) * sizeof *names), *near;

    if (names == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < record->n; i++)
        names[i] = record->fields[i].name;
    near = lw_nearest(name, names, record->n);
    return lw_complain(f, lw_node_of(f, node)->loc, "E161",
                       lw_say(f, "the object is %s", lw_say_type(f, type)),
                       near ? lw_say(f, "did you mean `%s`?", near) : NULL,
                       "the record has no field `%s`", name);
}

lw_status
lw_infer_field(lw_frame *f, uint32_t node, lw_type type, const char *name, lw_type *out)
{
    lw_types *types = lw_types_of(f);
    const lw_record_field *field = lw_record_field_of(types, type, name);

    *out = LW_T_BOTTOM;
    if (field == NULL)
        return complain_no_field(f, node, type, name);
    if (lw_record_row(types, type) == NULL)
        *out = lw_record_view(types, type, field);
    else
        *out = lw_record_row(types, type)->readonly ? lw_record_readonly(types, field->type)
                                                    : field->type;
    return LW_OK;
}

/* --- writing --------------------------------------------------------------------------------
 */

lw_status
lw_infer_store_record(lw_frame *f, uint32_t target, lw_type to, lw_type value)
{
    uint32_t loc = lw_node_of(f, target)->loc;

    f->nodes[target].operand = value;
    if (value == LW_T_BOTTOM || lw_record_same(lw_types_of(f), to, value))
        return LW_OK;
    return lw_complain(f, loc, "E142", lw_say(f, "the value is %s", lw_say_type(f, value)),
                       "assign field by field", "this cannot be stored as %s",
                       lw_say_type(f, to));
}

static lw_status
store_item(lw_frame *f, uint32_t target, lw_type to, lw_type value)
{
    uint32_t loc = lw_node_of(f, target)->loc;

    f->nodes[target].operand = to;
    if (lw_record_row(lw_types_of(f), to))
        return lw_infer_store_record(f, target, to, value);
    if (lw_type_kind_of(lw_types_of(f), to) == LW_TK_SCALAR)
        return lw_check_conversion(f, loc, value, (lw_dtype)to, "field");
    return lw_complain(f, loc, "E160", lw_say(f, "this is %s", lw_say_type(f, to)),
                       "assign its elements one by one",
                       "a whole array cannot be assigned here");
}

lw_status
lw_infer_store_field(lw_frame *f, uint32_t target, lw_type type, const char *name,
                     lw_type value)
{
    const lw_node *n = lw_node_of(f, target);
    lw_type to;
    lw_status status;

    LW_TRY(lw_infer_field(f, target, type, name, &to));
    f->nodes[target].type = to;
    if (to == LW_T_BOTTOM)
        return LW_OK;
    if (lw_record_row(lw_types_of(f), type) && lw_record_row(lw_types_of(f), type)->readonly)
        return lw_complain(f, n->loc, "E162",
                           lw_say(f, "`%s` is read-only", lw_say_source(f, n->a)),
                           "write into an array that can be written",
                           "assignment to a field of a read-only record");
    return store_item(f, target, to, value);
fail:
    return status;
}
