/* Records in memory: fields are read and written in place; views of one field of every item;
 * copies. Nothing is assumed about an address beyond what the record's type promises. */
#include "core/front/lower/address.h"

#include "core/front/records.h"

#include <assert.h>
#include <string.h>

/* A copy of up to so many words is unrolled; longer ones are loops. */
enum { MAX_UNROLLED_WORDS = 16 };

/* ---- items in memory ---- */

static lw_ref
moved(lw_builder *b, lw_ref address, int64_t bytes)
{
    return bytes == 0 ? address : lw_ir_offset(b, address, lw_ir_int(b, LW_DT_i64, bytes));
}

lw_lower_value
lw_lower_load(lw_lower_frame *f, lw_type type, lw_ref address, uint32_t align)
{
    lw_builder *b = &f->b;
    lw_dtype dtype = lw_type_stored(f->l->types, type), part = lw_dtypes[dtype].parts;

    if (dtype == LW_DT_void) /* a record, or an array in one, is its address */
        return lw_value_scalar(f, type, address);
    if (!lw_is_complex(dtype))
        return lw_value_scalar(f, type, lw_ir_load(b, part, 1, address, align, 0));
    lw_complex both = {.re = lw_ir_load(b, part, 1, address, align, 0)};
    both.im = lw_ir_load(b, part, 1, moved(b, address, lw_dtypes[part].size_bytes), align, 0);
    return lw_value_complex(f, type, both);
}

/* The reference to the memory that the array or record lies in; NULL: it is not counted. */
static lw_ref
reference_of(lw_lower_frame *f, lw_lower_value value)
{
    const lw_type_row *row = lw_type_get(f->l->types, value.type);

    return row && row->owned && value.n > 0 ? value.parts[value.n - 1]
                                            : lw_ir_zero(&f->b, LW_DT_ptr);
}

lw_lower_value
lw_lower_in_memory(lw_lower_frame *f, lw_type type, lw_ref address, lw_lower_value in)
{
    lw_ref parts[2] = {address};
    bool owned = lw_record_row(f->l->types, type)->owned;

    if (owned)
        parts[1] = reference_of(f, in);
    return lw_value_of(f, type, parts, 1 + owned);
}

lw_lower_value
lw_lower_item_in(lw_lower_frame *f, lw_type type, lw_ref address, uint32_t align,
                 lw_lower_value in)
{
    return lw_record_row(f->l->types, type) ? lw_lower_in_memory(f, type, address, in)
                                            : lw_lower_load(f, type, address, align);
}

/* What the address of a field is known to be a multiple of. */
static uint32_t
align_of_field(const lw_record *record, const lw_record_field *field, const lw_types *types)
{
    uint32_t here = lw_common_align(record->align, field->offset);
    uint32_t own = lw_type_align(types, field->type);

    return own < here ? own : here;
}

/* All of the object is read before its fields are written. */
static void
store_object(lw_lower_frame *f, lw_type type, lw_ref address, lw_lower_value value)
{
    const lw_record *record = lw_record_of(f->l->types, type);
    lw_lower_value to = lw_value_scalar(f, type, address);
    const lw_type_row *row;

    value = lw_value_convert(f, value, record->object);
    row = lw_type_get(f->l->types, value.type);
    for (uint32_t i = 0; row && i < row->n; i++) {
        const lw_record_field *field = lw_record_field_of(f->l->types, type, row->names[i]);
        uint32_t align;
        lw_ref place = lw_lower_field_address(f, to, row->names[i], &align);

        if (field != NULL)
            lw_lower_store(f, field->type, place, lw_value_element(f, value, i), align);
    }
}

/* The items of a tuple in the fields, in their order; a number in all of them. */
static void
store_items(lw_lower_frame *f, lw_type type, lw_ref address, lw_lower_value value)
{
    const lw_record *record = lw_record_of(f->l->types, type);
    bool tuple = lw_value_is_tuple(&value, f);

    for (uint32_t i = 0; i < record->n; i++) {
        const lw_record_field *field = &record->fields[i];
        lw_lower_value item = tuple ? lw_value_element(f, value, i) : value;
        lw_ref place = moved(&f->b, address, field->offset);

        if (lw_type_kind_of(f->l->types, field->type) == LW_TK_ARRAY)
            lw_lower_fill(f, lw_value_scalar(f, field->type, place), item);
        else
            lw_lower_store(f, field->type, place, item,
                           align_of_field(record, field, f->l->types));
    }
}

lw_lower_value
lw_lower_record_object(lw_lower_frame *f, lw_lower_value record, lw_type to)
{
    const lw_type_row *row = lw_type_get(f->l->types, to);
    uint32_t n = lw_parts_of(f->l->types, to), at = 0;
    lw_ref *parts = lw_arena_take(f->l->arena, (n + 1) * sizeof *parts);

    for (uint32_t i = 0; parts && i < row->n; i++) {
        const lw_record_field *field =
            lw_record_field_of(f->l->types, record.type, row->names[i]);
        lw_lower_value one;

        if (field == NULL)
            return lw_lower_fail(f, f->node, "a field that the record lacks");
        one = lw_lower_field(f, record, row->names[i], field->type);
        one = lw_value_convert(f, one, row->elements[i]);
        for (uint32_t j = 0; j < one.n && at < n; j++)
            parts[at++] = one.parts[j];
    }
    return (lw_lower_value){.type = to, .n = parts ? at : 0, .parts = parts};
}

lw_lower_value
lw_lower_by_value(lw_lower_frame *f, lw_lower_value value)
{
    return lw_value_convert(f, value, lw_record_object(f->l->types, value.type));
}

lw_lower_value
lw_lower_items(lw_lower_frame *f, lw_lower_value value)
{
    const lw_type_row *row = lw_record_row(f->l->types, value.type);

    if (row && row->record->items != LW_T_BOTTOM)
        (void)lw_lower_guard(f, value); /* objects in its fields have no references */
    return row && row->record->items != LW_T_BOTTOM
               ? lw_value_convert(f, value, row->record->items)
               : value;
}

void
lw_lower_store(lw_lower_frame *f, lw_type type, lw_ref address, lw_lower_value value,
               uint32_t align)
{
    lw_builder *b = &f->b;
    lw_dtype dtype = lw_type_stored(f->l->types, type), part = lw_dtypes[dtype].parts;

    if (lw_record_row(f->l->types, type)) {
        if (lw_record_row(f->l->types, value.type))
            lw_lower_record_copy(f, type, address, value);
        else if (lw_record_of(f->l->types, type)->user_class)
            store_object(f, type, address, value);
        else
            store_items(f, type, address, value);
        return;
    }
    value = lw_value_convert(f, value, type);
    for (uint32_t i = 0; i < value.n; i++)
        lw_ir_store(b, moved(b, address, i * (int64_t)lw_dtypes[part].size_bytes),
                    value.parts[i], align, 0);
}

/* ---- copies ---- */

typedef struct record_copy {
    lw_builder *b;
    lw_ref to, from;
    uint32_t to_align, from_align;
    lw_dtype word;
    uint32_t word_bytes;
} record_copy;

static record_copy
copy_of(lw_lower_frame *f, lw_type type, lw_ref to, lw_lower_value value)
{
    const lw_record *into = lw_record_of(f->l->types, type),
                    *out_of = lw_record_of(f->l->types, value.type);
    uint32_t align = into->align < out_of->align ? into->align : out_of->align;
    record_copy c = {
        .b = &f->b, .to = to, .from = value.n ? value.parts[0] : 0, .word = LW_DT_u8};

    c.to_align = into->align;
    c.from_align = out_of->align;
    c.word_bytes = lw_common_align(align, into->itemsize);
    if (c.word_bytes >= 8)
        c.word = LW_DT_u64;
    else if (c.word_bytes >= 2)
        c.word = c.word_bytes == 4 ? LW_DT_u32 : LW_DT_u16;
    c.word_bytes = lw_dtypes[c.word].size_bytes;
    return c;
}

static void
copy_all(const record_copy *c, uint32_t n)
{
    assert(n <= MAX_UNROLLED_WORDS);
    lw_ref words[MAX_UNROLLED_WORDS];

    for (uint32_t i = 0; i < n; i++)
        words[i] = lw_ir_load(c->b, c->word, 1, moved(c->b, c->from, i * c->word_bytes), 0, 0);
    for (uint32_t i = 0; i < n; i++)
        lw_ir_store(c->b, moved(c->b, c->to, i * c->word_bytes), words[i], 0, 0);
}

static void
copy_in_loop(const record_copy *c, uint32_t n, bool backwards)
{
    lw_builder *b = c->b;
    lw_ref size = lw_ir_int(b, LW_DT_i64, c->word_bytes);
    lw_ref last = lw_ir_int(b, LW_DT_i64, (int64_t)n - 1);
    lw_for loop = lw_ir_for(b, lw_ir_zero(b, LW_DT_i64), lw_ir_int(b, LW_DT_i64, n),
                            lw_ir_int(b, LW_DT_i64, 1), 0, 0);
    lw_ref at = lw_ir_mul(b, backwards ? lw_ir_sub(b, last, loop.i) : loop.i, size);
    lw_ref word = lw_ir_load(b, c->word, 1, lw_ir_offset(b, c->from, at), 0, 0);

    lw_ir_store(b, lw_ir_offset(b, c->to, at), word, 0, 0);
    lw_ir_for_end(b, &loop);
}

/* Two records may overlap: copy from the end that has to be read first. */
static void
copy_long(const record_copy *c, uint32_t n)
{
    lw_builder *b = c->b;
    lw_ref meet = lw_ir_emit(b, LW_OP_MEET, LW_DT_b1, c->to, c->from, 0);
    lw_ref bytes = lw_ir_emit(b, LW_OP_DISTANCE, LW_DT_i64, c->to, c->from, 0);

    lw_ir_if(b,
             lw_ir_and(b, meet, lw_ir_compare(b, LW_OP_LT, bytes, lw_ir_zero(b, LW_DT_i64))));
    copy_in_loop(c, n, true);
    lw_ir_else(b);
    copy_in_loop(c, n, false);
    lw_ir_end(b);
}

/* Copies all bytes, those between fields too, as NumPy does within one dtype. */
void
lw_lower_record_copy(lw_lower_frame *f, lw_type type, lw_ref to, lw_lower_value value)
{
    uint32_t size = lw_record_of(f->l->types, type)->itemsize;
    record_copy c = copy_of(f, type, to, value);
    uint32_t n = size / c.word_bytes;

    if (n <= MAX_UNROLLED_WORDS)
        copy_all(&c, n);
    else
        copy_long(&c, n);
}

/* Word by word. */
void
lw_lower_record_swap(lw_lower_frame *f, lw_type type, lw_ref x, lw_ref y)
{
    lw_builder *b = &f->b;
    record_copy c = copy_of(f, type, x, lw_value_scalar(f, type, y));
    lw_for loop =
        lw_ir_for(b, lw_const64(f, 0),
                  lw_const64(f, lw_record_of(f->l->types, type)->itemsize / c.word_bytes),
                  lw_const64(f, 1), 0, 0);
    lw_ref bytes = lw_ir_mul(b, loop.i, lw_const64(f, c.word_bytes));
    lw_ref first = lw_ir_offset(b, x, bytes), second = lw_ir_offset(b, y, bytes);
    lw_ref word = lw_ir_load(b, c.word, 1, first, 0, 0);

    lw_ir_store(b, first, lw_ir_load(b, c.word, 1, second, 0, 0), 0, 0);
    lw_ir_store(b, second, word, 0, 0);
    lw_ir_for_end(b, &loop);
}

/* ---- fields ---- */

/* Extents and strides of the array, followed by those of an array in the field. */
static lw_lower_value
field_of_every_item(lw_lower_frame *f, lw_lower_value array, const lw_record_field *field,
                    lw_type type)
{
    const lw_types *types = f->l->types;
    uint32_t n = lw_type_get(types, array.type)->ndim, m = lw_type_get(types, type)->ndim;
    const lw_type_row *sub = lw_type_get(types, field->type);
    lw_ref parts[2 + 2 * LW_MAX_ARRAY_DIMS];
    bool owned = lw_type_get(types, type)->owned;
    int64_t step = m > n ? lw_type_bytes(types, sub->elements[0]) : 0;

    parts[0] = moved(&f->b, array.n ? array.parts[0] : 0, field->offset);
    for (uint32_t i = 0; i < n; i++) {
        parts[1 + i] = lw_array_extent(f, array, i);
        parts[1 + m + i] = lw_array_stride(f, array, i);
    }
    for (uint32_t i = m; i-- > n;) {
        parts[1 + i] = lw_ir_int(&f->b, LW_DT_i64, sub->shape[i - n]);
        parts[1 + m + i] = lw_ir_int(&f->b, LW_DT_i64, step);
        step *= sub->shape[i - n];
    }
    if (owned)
        parts[1 + 2 * m] = lw_part_at(&array, 1 + 2 * n);
    return lw_value_of(f, type, parts, 1 + 2 * m + owned);
}

/* The array in a record whose memory is counted. */
static lw_lower_value
array_in_memory(lw_lower_frame *f, lw_type type, lw_ref address, const lw_record_field *field,
                lw_lower_value record)
{
    const lw_type_row *row = lw_type_get(f->l->types, field->type);
    lw_ref parts[2 + 2 * LW_MAX_ARRAY_DIMS] = {address};
    int64_t step = lw_type_bytes(f->l->types, row->elements[0]);

    for (uint32_t i = row->ndim; i-- > 0;) {
        parts[1 + i] = lw_ir_int(&f->b, LW_DT_i64, row->shape[i]);
        parts[1 + row->ndim + i] = lw_ir_int(&f->b, LW_DT_i64, step);
        step *= row->shape[i];
    }
    parts[1 + 2 * row->ndim] = reference_of(f, record);
    return lw_value_of(f, type, parts, 2 + 2u * row->ndim);
}

/* Attributes that arrays have besides the fields of their items. */
static bool
is_array_attribute(const char *name)
{
    static const char *const names[] = {"T",    "itemsize", "nbytes", "ndim",
                                        "size", "shape",    "strides"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

const char *
lw_lower_field_name(const lw_lower_frame *f, uint32_t node, lw_type type)
{
    const lw_node *n = lw_node_at(f, node);
    bool single = lw_record_row(f->l->types, type) != NULL;
    uint32_t constant = n->kind == LW_NODE_ATTRIBUTE ? n->b : lw_typed_at(f, n->b)->constant;
    const lw_constant *k = constant ? lw_typed_constant(f->l->typed, constant) : NULL;

    __int128 at;

    if (single && k && n->kind == LW_NODE_SUBSCRIPT && lw_constant_int_value(k, &at))
        return lw_record_field_name(f->l->types, type, (int64_t)at);
    if (k == NULL || k->kind != LW_K_STR || !lw_record_of(f->l->types, type))
        return NULL;
    if (n->kind != LW_NODE_ATTRIBUTE || single)
        return k->text;
    return is_array_attribute(k->text) || lw_tree_is_address(f->l->tree, node) ? NULL : k->text;
}

lw_ref
lw_lower_field_address(lw_lower_frame *f, lw_lower_value record, const char *name,
                       uint32_t *align)
{
    const lw_types *types = f->l->types;
    const lw_record_field *field = lw_record_field_of(types, record.type, name);

    *align = 0;
    if (field == NULL || lw_record_row(types, record.type) == NULL) {
        lw_lower_fail(f, f->node, "a target in this record");
        return 0;
    }
    *align = align_of_field(lw_record_of(types, record.type), field, types);
    return moved(&f->b, record.n ? record.parts[0] : 0, field->offset);
}

lw_lower_value
lw_lower_field(lw_lower_frame *f, lw_lower_value object, const char *name, lw_type type)
{
    const lw_types *types = f->l->types;
    const lw_record_field *field = lw_record_field_of(types, object.type, name);
    uint32_t align;

    if (field == NULL)
        return lw_lower_fail(f, f->node, "a field that the record lacks");
    if (lw_record_row(types, object.type) == NULL)
        return field_of_every_item(f, object, field, type);
    lw_ref address = lw_lower_field_address(f, object, name, &align);
    if (lw_type_is_owned(types, type) && lw_record_row(types, type) == NULL)
        return array_in_memory(f, type, address, field, object);
    return lw_lower_item_in(f, type, address, align, object);
}
