/* Types of records. The type of a record says what may be assumed of its address: `align` holds
 * for every item, and for each field what the item's alignment and the field's offset leave. */
#include "core/front/records.h"

#include <assert.h>
#include <string.h>

/* ---- from the specification of an argument ---- */

uint32_t
lw_common_align(uint32_t align, uint32_t offset)
{
    assert(align != 0 && (align & (align - 1)) == 0); /* a power of two */
    uint32_t both = align | offset;

    return both & -both;
}

static lw_type record_type(lw_types *types, const lw_arg_record *spec, bool readonly,
                           uint32_t align);

static lw_type
field_type(lw_types *types, const lw_arg_field *field, bool readonly, uint32_t align)
{
    lw_type element = field->dtype, array;

    if (field->record)
        element = record_type(types, field->record, readonly,
                              lw_common_align(align, field->record->itemsize));
    if (field->ndim == 0)
        return element;
    align = lw_common_align(align, (uint32_t)lw_type_bytes(types, element));
    array = lw_type_array(types, element, field->ndim, LW_LAYOUT_C, readonly, field->shape);
    return lw_type_array_aligned(types, array, align);
}

/* The type that an object has by value whose fields lie in this record. */
static lw_type
object_type(lw_types *types, const lw_record *record, bool deep)
{
    lw_type *elements = lw_arena_take(types->arena, (record->n + 1) * sizeof *elements);
    const char **names = lw_arena_take(types->arena, (record->n + 1) * sizeof *names);

    if (elements == NULL || names == NULL)
        return LW_T_BOTTOM;
    for (uint32_t i = 0; i < record->n; i++) {
        const lw_record_field *field = &record->fields[i];
        uint32_t at = i;

        for (; at > 0 && !record->user_class->is_namedtuple &&
               lw_class_orders(record->user_class, field->name, names[at - 1]);
             at--) {
            names[at] = names[at - 1];
            elements[at] = elements[at - 1];
        }
        names[at] = field->name;
        elements[at] = deep ? lw_record_object(types, field->type) : field->type;
    }
    return lw_type_tuple_of_class(types, lw_type_tuple(types, elements, record->n, names),
                                  record->user_class);
}

lw_type
lw_record_object(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_record_row(types, type);

    return row && row->record->object != LW_T_BOTTOM ? row->record->object : type;
}

/* The type of a field of a read-only record: a record or an array in it is read-only, too. */
static lw_type
readonly_field(lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get(types, type);

    if (row != NULL && row->kind == LW_TK_RECORD)
        return lw_type_record_like(types, type, true, row->owned);
    if (row != NULL && row->kind == LW_TK_ARRAY)
        return lw_type_array_readonly(types, type);
    return type;
}

lw_type
lw_record_items(lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_record_row(types, type);
    lw_type_row items;
    lw_type *elements;

    if (row == NULL || row->record->items == LW_T_BOTTOM)
        return type;
    if (!row->readonly)
        return row->record->items;
    items = *lw_type_get(types, row->record->items);
    elements = lw_arena_take(types->arena, (items.n + 1) * sizeof *elements);
    for (uint32_t i = 0; elements && i < items.n; i++)
        elements[i] = readonly_field(types, items.elements[i]);
    if (elements == NULL)
        return type;
    return lw_type_tuple_of_class(types, lw_type_tuple(types, elements, items.n, items.names),
                                  items.user_class);
}

/* align: the alignment of the address that this record lies at. */
static lw_type
record_type(lw_types *types, const lw_arg_record *spec, bool readonly, uint32_t align)
{
    lw_record_field *fields = lw_arena_take(types->arena, (spec->n + 1) * sizeof *fields);
    lw_record record = {.name = spec->name,
                        .n = spec->n,
                        .itemsize = spec->itemsize,
                        .text = spec->text,
                        .spec = spec};

    if (fields == NULL)
        return LW_T_BOTTOM;
    record.align = align < spec->align ? align : spec->align;
    for (uint32_t i = 0; i < spec->n; i++) {
        const lw_arg_field *from = &spec->fields[i];

        fields[i].name = from->name;
        fields[i].offset = from->offset;
        fields[i].type =
            field_type(types, from, readonly, lw_common_align(record.align, from->offset));
    }
    record.fields = fields;
    record.user_class = lw_tree_class(types->tree, spec->class_id);
    if (record.user_class != NULL) {
        record.object = object_type(types, &record, true);
        record.items = object_type(types, &record, false);
    }
    return lw_type_record(types, &record, readonly);
}

lw_type
lw_record_type(lw_types *types, const lw_arg_record *spec, bool readonly)
{
    return record_type(types, spec, readonly, spec->align);
}

/* ---- fields ---- */

const lw_type_row *
lw_record_row(const lw_types *types, lw_type type)
{
    return lw_type_get_kind(types, type, LW_TK_RECORD);
}

/* The row of a record type, or of the items of an array of records; NULL for other types. */
static const lw_type_row *
row_with_fields(const lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get(types, type);

    if (row && row->kind == LW_TK_ARRAY)
        return lw_record_row(types, row->elements[0]);
    return lw_record_row(types, type);
}

const lw_record *
lw_record_of(const lw_types *types, lw_type type)
{
    const lw_type_row *row = row_with_fields(types, type);

    return row ? row->record : NULL;
}

const lw_record_field *
lw_record_field_of(const lw_types *types, lw_type type, const char *name)
{
    const lw_type_row *row = row_with_fields(types, type);

    for (uint32_t i = 0; row && i < row->record->n; i++)
        if (strcmp(row->record->fields[i].name, name) == 0)
            return &row->record->fields[i];
    return NULL;
}

const char *
lw_record_field_name(const lw_types *types, lw_type type, int64_t i)
{
    const lw_type_row *row = row_with_fields(types, type);

    if (row != NULL && i < 0)
        i += row->record->n;
    return row && i >= 0 && i < row->record->n ? row->record->fields[i].name : NULL;
}

/* A record or an array in a record whose memory is counted. */
static lw_type
owned_field(lw_types *types, lw_type type)
{
    const lw_type_row *row = lw_type_get(types, type);
    uint32_t align = row ? row->align : 0u;
    lw_type array;

    if (row == NULL)
        return type;
    if (row->kind == LW_TK_RECORD)
        return lw_type_record_like(types, type, row->readonly, true);
    assert(row->kind == LW_TK_ARRAY);
    array = lw_type_array(types, row->elements[0], row->ndim, LW_LAYOUT_C, row->readonly, NULL);
    return lw_type_array_aligned(types, lw_type_array_owned(types, array, true), align);
}

lw_type
lw_record_field_type(lw_types *types, lw_type record, const lw_record_field *field)
{
    bool owned = lw_record_row(types, record)->owned;
    lw_type type = field->type;

    if (lw_record_row(types, record)->readonly)
        type = readonly_field(types, type);
    return owned ? owned_field(types, type) : type;
}

lw_type
lw_record_view(lw_types *types, lw_type type, const lw_record_field *field)
{
    const lw_type_row *array = lw_type_get(types, type), *sub = lw_type_get(types, field->type);
    bool is_sub = sub && sub->kind == LW_TK_ARRAY;
    lw_type element = is_sub ? sub->elements[0] : field->type, view;
    uint32_t ndim = array->ndim + (is_sub ? sub->ndim : 0u);
    uint32_t align = lw_record_row(types, array->elements[0])->record->align;
    bool owned;

    if (ndim > LW_MAX_ARRAY_DIMS)
        return LW_T_BOTTOM;
    align = lw_common_align(align, field->offset);
    if (is_sub)
        align = lw_type_align(types, field->type);
    owned = array->owned;
    view = lw_type_array(types, element, ndim, LW_LAYOUT_ANY, array->readonly, NULL);
    view = lw_type_array_owned(types, view, owned);
    return lw_type_array_aligned(types, view, align);
}

bool
lw_record_same(const lw_types *types, lw_type x, lw_type y)
{
    const lw_type_row *a = lw_type_get(types, x), *b = lw_type_get(types, y);

    if (a == NULL || b == NULL || a->kind != b->kind)
        return x == y;
    if (a->kind == LW_TK_ARRAY)
        return a->ndim == b->ndim && a->shape && b->shape &&
               memcmp(a->shape, b->shape, a->ndim * sizeof *a->shape) == 0 &&
               lw_record_same(types, a->elements[0], b->elements[0]);
    if (a->kind != LW_TK_RECORD || a->record->n != b->record->n ||
        a->record->itemsize != b->record->itemsize)
        return false;
    for (uint32_t i = 0; i < a->record->n; i++) {
        const lw_record_field *p = &a->record->fields[i], *q = &b->record->fields[i];

        if (p->offset != q->offset || strcmp(p->name, q->name) != 0 ||
            !lw_record_same(types, p->type, q->type))
            return false;
    }
    return true;
}
