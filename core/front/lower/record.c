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

/* ---- copies of records ---- */

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
                            lw_ir_int(b, LW_DT_i64, 1), 0);
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
static void
copy_record(lw_lower_frame *f, lw_type type, lw_ref to, lw_lower_value value)
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
                  lw_const64(f, 1), 0);
    lw_ref bytes = lw_ir_mul(b, loop.i, lw_const64(f, c.word_bytes));
    lw_ref first = lw_ir_offset(b, x, bytes), second = lw_ir_offset(b, y, bytes);
    lw_ref word = lw_ir_load(b, c.word, 1, first, 0, 0);

    lw_ir_store(b, first, lw_ir_load(b, c.word, 1, second, 0, 0), 0, 0);
    lw_ir_store(b, second, word, 0, 0);
    lw_ir_for_end(b, &loop);
}

/* ---- texts ---- */

/* One character: a byte, or the code point that starts here in UTF-8, which the reader has
 * checked. */
static uint32_t
next_character(const char **at, bool utf8)
{
    const unsigned char *s = (const unsigned char *)*at;
    uint32_t n = !utf8 || s[0] < 0x80 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    uint32_t code = n == 1 ? s[0] : s[0] & (0x7Fu >> n);

    for (uint32_t i = 1; i < n; i++)
        code = code << 6 | (s[i] & 0x3F);
    *at += n;
    return code;
}

/* Zeros from the character `first` of n on. */
static void
store_zeros(lw_lower_frame *f, lw_ref address, lw_dtype unit, uint32_t first, uint32_t n,
            uint32_t align)
{
    lw_builder *b = &f->b;
    uint32_t size = lw_dtypes[unit].size_bytes;

    if (n - first <= 4 * MAX_UNROLLED_WORDS) {
        for (uint32_t i = first; i < n; i++)
            lw_ir_store(b, moved(b, address, (int64_t)i * size), lw_ir_int(b, unit, 0), align,
                        0);
        return;
    }
    lw_for loop = lw_ir_for(b, lw_const64(f, first), lw_const64(f, n), lw_const64(f, 1), 0);
    lw_ref at = lw_ir_mul(b, loop.i, lw_const64(f, size));

    lw_ir_store(b, lw_ir_offset(b, address, at), lw_ir_int(b, unit, 0), align, 0);
    lw_ir_for_end(b, &loop);
}

/* As much of the text as the item has room for, as in NumPy, and zeros behind it. */
static void
store_text(lw_lower_frame *f, const lw_record *record, lw_ref address, const lw_constant *k)
{
    lw_builder *b = &f->b;
    lw_dtype unit = record->text == 'U' ? LW_DT_u32 : LW_DT_u8;
    uint32_t size = lw_dtypes[unit].size_bytes, n = record->itemsize / size, i = 0;
    uint32_t align = record->align < size ? record->align : size;
    const char *at = k->kind == LW_K_STR ? k->text : k->bytes;
    const char *end = at + (k->kind == LW_K_STR ? strlen(at) : k->n);

    for (; at < end && i < n; i++) {
        lw_ref character = lw_ir_int(b, unit, next_character(&at, k->kind == LW_K_STR));
        lw_ir_store(b, moved(b, address, (int64_t)i * size), character, align, 0);
    }
    store_zeros(f, address, unit, i, n, align);
}

bool
lw_lower_is_text(const lw_lower_frame *f, lw_type type)
{
    const lw_type_row *row = lw_record_row(f->l->types, type);

    return row && row->record->text;
}

typedef struct text_item {
    const lw_record *record;
    lw_ref address;
    lw_dtype unit;
    uint32_t size;  /* of a character, in bytes */
    uint32_t n;     /* characters */
    uint32_t align; /* what is known of the address */
} text_item;

static text_item
item_of(lw_lower_frame *f, lw_lower_value value)
{
    text_item item = {.record = lw_record_of(f->l->types, value.type),
                      .address = value.n ? value.parts[0] : 0};

    item.unit = item.record->text == 'U' ? LW_DT_u32 : LW_DT_u8;
    item.size = lw_dtypes[item.unit].size_bytes;
    item.n = item.record->itemsize / item.size;
    item.align = item.record->align < item.size ? item.record->align : item.size;
    return item;
}

static lw_ref
character(lw_lower_frame *f, const text_item *item, lw_ref i)
{
    lw_ref at = lw_ir_mul(&f->b, i, lw_const64(f, item->size));

    return lw_ir_load(&f->b, item->unit, 1, lw_ir_offset(&f->b, item->address, at), item->align,
                      0);
}

/* The bits in which the characters from first to last - 1 differ from those of y (NULL: from
 * zeros). */
static lw_ref
differences(lw_lower_frame *f, const text_item *x, const text_item *y, uint32_t first,
            uint32_t last)
{
    lw_builder *b = &f->b;
    lw_ref slot = lw_ir_slot(b, x->unit), bits;

    lw_ir_set(b, slot, lw_ir_int(b, x->unit, 0));
    lw_for loop = lw_ir_for(b, lw_const64(f, first), lw_const64(f, last), lw_const64(f, 1), 0);
    bits = character(f, x, loop.i);
    if (y != NULL)
        bits = lw_ir_xor(b, bits, character(f, y, loop.i));
    lw_ir_set(b, slot, lw_ir_or(b, lw_ir_get(b, slot), bits));
    lw_ir_for_end(b, &loop);
    return lw_ir_get(b, slot);
}

static lw_ref
same_as_known(lw_lower_frame *f, const text_item *x, const lw_constant *k)
{
    lw_builder *b = &f->b;
    const char *at = k->kind == LW_K_STR ? k->text : k->bytes;
    const char *end = at + (k->kind == LW_K_STR ? strlen(at) : k->n);
    lw_ref bits = lw_ir_int(b, x->unit, 0);
    uint32_t i = 0;

    for (; at < end && i < x->n; i++) {
        lw_ref wanted = lw_ir_int(b, x->unit, next_character(&at, k->kind == LW_K_STR));
        lw_ref one = lw_ir_xor(b, character(f, x, lw_const64(f, i)), wanted);
        bits = lw_ir_or(b, bits, one);
    }
    if (at < end ||
        (i > 0 && at[-1] == 0)) /* longer than an item is, which has no zeros at its end */
        return lw_ir_zero(b, LW_DT_b1);
    if (i < x->n)
        bits = lw_ir_or(b, bits, differences(f, x, NULL, i, x->n));
    return lw_ir_compare(b, LW_OP_EQ, bits, lw_ir_int(b, x->unit, 0));
}

lw_ref
lw_lower_same_text(lw_lower_frame *f, lw_lower_value x, lw_lower_value y)
{
    lw_builder *b = &f->b;
    const lw_type_row *known;
    text_item a, c;
    lw_ref bits;

    if (!lw_lower_is_text(f, x.type))
        return lw_lower_same_text(f, y, x);
    a = item_of(f, x);
    known = lw_type_get_kind(f->l->types, y.type, LW_TK_STATIC);
    if (known != NULL)
        return same_as_known(f, &a, lw_typed_constant(f->l->typed, known->fn));
    c = item_of(f, y);
    if (a.n < c.n)
        return lw_lower_same_text(f, y, x);
    bits = differences(f, &a, &c, 0, c.n);
    if (a.n > c.n)
        bits = lw_ir_or(b, bits, differences(f, &a, NULL, c.n, a.n));
    return lw_ir_compare(b, LW_OP_EQ, bits, lw_ir_int(b, a.unit, 0));
}

void
lw_lower_store(lw_lower_frame *f, lw_type type, lw_ref address, lw_lower_value value,
               uint32_t align)
{
    lw_builder *b = &f->b;
    lw_dtype dtype = lw_type_stored(f->l->types, type), part = lw_dtypes[dtype].parts;

    if (lw_record_row(f->l->types, type)) {
        const lw_type_row *known = lw_type_get_kind(f->l->types, value.type, LW_TK_STATIC);
        const lw_record *record = lw_record_of(f->l->types, type);

        if (record->text && known)
            store_text(f, record, address, lw_typed_constant(f->l->typed, known->fn));
        else if (lw_record_row(f->l->types, value.type))
            copy_record(f, type, address, value);
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

/* ---- copies of texts ---- */

/* Whether a value of the type refers to an item of an array of bytes or texts. */
static bool
has_text(const lw_lower_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(f->l->types, type, LW_TK_TUPLE);

    for (uint32_t i = 0; row && i < row->n; i++)
        if (has_text(f, row->elements[i]))
            return true;
    return lw_lower_is_text(f, type);
}

/* Whether it is an object with such a field, which may refer to the text of a variable. */
static bool
is_object_of_texts(const lw_lower_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(f->l->types, type, LW_TK_TUPLE);
    const lw_record *record =
        lw_record_row(f->l->types, type) ? lw_record_of(f->l->types, type) : NULL;

    if (row && row->user_class)
        return has_text(f, type);
    for (uint32_t i = 0; record && record->user_class && i < record->n; i++)
        if (has_text(f, record->fields[i].type))
            return true;
    return false;
}

/* Whether texts may outlive the call, or a variable: as results or in objects. */
static bool
texts_go_on(lw_lower_frame *f)
{
    if (f->texts_go_on == 0) {
        f->texts_go_on = has_text(f, f->inst->result) ? 2 : 1;
        for (uint32_t i = 0; i < f->inst->nodes.n && f->texts_go_on == 1; i++)
            if (is_object_of_texts(f, f->inst->nodes.data[i].type))
                f->texts_go_on = 2;
    }
    return f->texts_go_on == 2;
}

static void
copy_texts(lw_lower_frame *f, lw_type type, lw_ref *parts)
{
    const lw_type_row *row = lw_type_get_kind(f->l->types, type, LW_TK_TUPLE);
    const lw_record *record;
    lw_ref room;

    for (uint32_t i = 0; row && i < row->n; i++) {
        copy_texts(f, row->elements[i], parts);
        parts += lw_parts_of(f->l->types, row->elements[i]);
    }
    if (!lw_lower_is_text(f, type))
        return;
    record = lw_record_of(f->l->types, type);
    room = lw_ir_local(&f->b, record->itemsize ? record->itemsize : 1, record->align);
    copy_record(f, type, room, lw_value_scalar(f, type, parts[0]));
    parts[0] = room;
}

lw_lower_value
lw_lower_copy_texts(lw_lower_frame *f, lw_lower_value value)
{
    lw_ref *parts;

    if (!has_text(f, value.type) || value.n == 0 || texts_go_on(f))
        return value;
    parts = lw_arena_take(f->l->arena, value.n * sizeof *parts);
    if (parts == NULL)
        return value;
    memcpy(parts, value.parts, value.n * sizeof *parts);
    copy_texts(f, value.type, parts);
    return lw_value_of(f, value.type, parts, value.n);
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
