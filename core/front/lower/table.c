/* Long tuples as tables in memory, from which a run-time index, or a loop that is not unrolled,
 * reads items. A table has a column for each part of an item (two for complex numbers, one for
 * each element of an inner tuple), so that neighbours are adjacent. Constant tuples are data of
 * the module; others are stored in memory of the call.
 *
 * A selection among n items costs n - 1 selects, and an unrolled loop costs the compiler n
 * times the work: tables avoid both. */
#include "core/front/lower/address.h"

#include "core/base/memory.h"

#include <assert.h>
#include <string.h>

/* Pointers, in tuples of arrays and records, are not stored in tables. */
static bool
has_columns(const lw_dtype *dtypes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (dtypes[i] == LW_DT_ptr || dtypes[i] == LW_DT_void)
            return false;
    return true;
}

static bool
table_init(lw_lower_frame *f, uint32_t n, lw_type type, lw_table *table)
{
    *table = (lw_table){.type = type, .n = n, .n_parts = lw_parts_of(f->l->types, type)};
    table->dtypes = lw_arena_take(f->l->arena, (table->n_parts + 1) * sizeof *table->dtypes);
    table->columns = lw_arena_take(f->l->arena, (table->n_parts + 1) * sizeof *table->columns);
    if (table->dtypes == NULL || table->columns == NULL)
        return false;
    lw_part_types(f->l->types, type, table->dtypes);
    return has_columns(table->dtypes, table->n_parts);
}

/* bits: of all items, part by part. */
static void
add_column(lw_lower_frame *f, lw_table *table, uint32_t part, const uint64_t *bits,
           uint8_t *bytes)
{
    assert(part < table->n_parts);
    uint32_t size = lw_dtypes[table->dtypes[part]].size_bytes;

    for (uint32_t i = 0; i < table->n; i++)
        memcpy(bytes + (size_t)i * size, &bits[(size_t)i * table->n_parts + part], size);
    table->columns[part] = lw_ir_data(&f->b, bytes, table->n * size, size);
}

static const lw_constant *
tuple_of(const lw_lowering *l, uint32_t constant)
{
    const lw_constant *k = constant ? lw_typed_constant(l->typed, constant) : NULL;

    return k && k->kind == LW_K_TUPLE ? k : NULL;
}

bool
lw_table_of_constant(lw_lower_frame *f, uint32_t constant, lw_type type, lw_table *table)
{
    const lw_constant *k = tuple_of(f->l, constant);
    uint64_t *bits;

    if (k == NULL || k->n == 0 || !table_init(f, k->n, type, table))
        return false;
    /* one piece of memory: the bits, and after them the bytes of one column */
    bits = lw_alloc_zero(((size_t)table->n_parts + 1) * k->n, sizeof *bits);
    if (bits == NULL) {
        f->l->module->failed = true;
        return false;
    }
    for (uint32_t i = 0; i < k->n; i++)
        lw_constant_part_bits(f, k->items[i], type, bits + (size_t)i * table->n_parts);
    for (uint32_t i = 0; i < table->n_parts; i++)
        add_column(f, table, i, bits, (uint8_t *)(bits + (size_t)table->n_parts * k->n));
    lw_free(bits);
    return true;
}

/* The items of any tuple, stored in memory of the call. */
static bool
table_of_value(lw_lower_frame *f, lw_lower_value tuple, lw_type type, lw_table *table)
{
    assert(lw_value_is_tuple(&tuple, f));
    uint32_t n = lw_type_get(f->l->types, tuple.type)->n;
    lw_builder *b = &f->b;

    if (!table_init(f, n, type, table))
        return false;
    for (uint32_t part = 0; part < table->n_parts; part++) {
        uint32_t size = lw_dtypes[table->dtypes[part]].size_bytes;
        table->columns[part] = lw_ir_local(b, n * size, size);
    }
    for (uint32_t i = 0; i < n; i++) {
        lw_lower_value item = lw_value_convert(f, lw_value_element(f, tuple, i), type);
        for (uint32_t part = 0; part < item.n && part < table->n_parts; part++) {
            uint32_t size = lw_dtypes[table->dtypes[part]].size_bytes;
            lw_ref bytes = lw_ir_int(b, LW_DT_i64, (int64_t)i * size);
            lw_ref at = lw_ir_offset(b, table->columns[part], bytes);
            lw_ir_store(b, at, item.parts[part], 0, 0);
        }
    }
    return true;
}

lw_lower_value
lw_table_item(lw_lower_frame *f, const lw_table *table, lw_ref index)
{
    assert(table->n != 0);
    lw_builder *b = &f->b;
    lw_ref *parts = lw_arena_take(f->l->arena, (table->n_parts + 1) * sizeof *parts);

    index = lw_ir_cast(b, LW_DT_i64, index);
    for (uint32_t i = 0; parts && i < table->n_parts; i++) {
        lw_ref size = lw_ir_int(b, LW_DT_i64, lw_dtypes[table->dtypes[i]].size_bytes);
        lw_ref at = lw_ir_offset(b, table->columns[i], lw_ir_mul(b, index, size));
        parts[i] = lw_ir_load(b, table->dtypes[i], 1, at, 0, 0);
    }
    return (lw_lower_value){
        .type = table->type, .n = parts ? table->n_parts : 0, .parts = parts};
}

/* ---- t[i] ---- */

static lw_ref
clamped(lw_builder *b, lw_ref i, uint32_t n)
{
    assert(n != 0);
    lw_ref zero = lw_ir_zero(b, LW_DT_i64), last = lw_ir_int(b, LW_DT_i64, (int64_t)n - 1);

    i = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, i, zero), zero, i);
    return lw_ir_select(b, lw_ir_compare(b, LW_OP_GT, i, last), last, i);
}

static lw_lower_value
select_item(lw_lower_frame *f, lw_lower_value tuple, uint32_t n, lw_ref i, lw_type type)
{
    lw_builder *b = &f->b;
    lw_lower_value chosen = lw_value_convert(f, lw_value_element(f, tuple, 0), type);

    for (uint32_t k = 1; k < n; k++) {
        lw_ref at_least = lw_ir_compare(b, LW_OP_GE, i, lw_ir_int(b, LW_DT_i64, k));
        lw_lower_value element = lw_value_convert(f, lw_value_element(f, tuple, k), type);
        chosen = lw_value_select(f, at_least, element, chosen);
    }
    return chosen;
}

/* `m.value`: one of all values of its class. */
lw_lower_value
lw_lower_member_value(lw_lower_frame *f, uint32_t node, lw_lower_value member)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    uint32_t n = lw_type_get(f->l->types, t->operand)->n;
    lw_ref number = member.n ? member.parts[0] : 0;
    lw_table table;

    if (n > LW_SELECTED_ITEMS && lw_table_of_constant(f, t->target, t->type, &table))
        return lw_table_item(f, &table, number);
    return select_item(f, lw_value_constant(f, t->target, t->operand), n, number, t->type);
}

static lw_ref
wrapped_index(lw_lower_frame *f, lw_lower_value tuple, lw_lower_value index, uint32_t n)
{
    lw_builder *b = &f->b;
    lw_ref given = index.n ? index.parts[0] : 0, i = lw_ir_cast(b, LW_DT_i64, given);
    lw_ref count = lw_ir_int(b, LW_DT_i64, n), zero = lw_ir_zero(b, LW_DT_i64);

    if (given && lw_ir_type(b, given) == LW_DT_u64) /* an index beyond int64 is not below 0 */
        i = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, i, zero),
                         lw_ir_int(b, LW_DT_i64, INT64_MAX), i);
    else
        i = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, i, zero), lw_ir_add(b, i, count), i);
    if ((f->can_raise && (f->l->typed->options.checks & LW_CHECK_BOUNDS)) ||
        (lw_guards(f, tuple) && !lw_surely_inside(f, given, count))) {
        lw_ref outside = lw_ir_or(b, lw_ir_compare(b, LW_OP_LT, i, zero),
                                  lw_ir_compare(b, LW_OP_GE, i, count));
        bool is_list = lw_type_get(f->l->types, tuple.type)->is_list;
        lw_lower_raise_deferred(f, outside, "IndexError",
                                is_list ? "list index out of range"
                                        : "tuple index out of range");
    }
    return i;
}

/* A run-time index into a tuple of equal items: negative ones count from the end. Beyond either
 * end it is an IndexError under check={"bounds"} or options.guards, else the nearest item. */
lw_lower_value
lw_lower_choose(lw_lower_frame *f, uint32_t node, uint32_t tuple, uint32_t index, lw_type type)
{
    const lw_typed_node *t = lw_typed_at(f, tuple);
    uint32_t n = lw_type_get(f->l->types, t->type)->n;
    bool constant = tuple_of(f->l, t->constant) != NULL && n > LW_SELECTED_ITEMS;
    lw_lower_value whole = {.type = t->type}, at;
    lw_table table;
    lw_ref i;

    if (!constant)
        whole = lw_lower_expression(f, tuple);
    at = lw_lower_expression(f, index);
    lw_lower_set_loc(f, node);
    if (n == 0)
        return lw_lower_fail(f, node, "an element of an empty tuple");
    i = wrapped_index(f, whole, at, n);
    if (constant && lw_table_of_constant(f, t->constant, type, &table))
        return lw_table_item(f, &table, clamped(&f->b, i, n));
    if (constant)
        whole = lw_lower_expression(f, tuple);
    else if (n > LW_MAX_UNROLL && table_of_value(f, whole, type, &table))
        return lw_table_item(f, &table, clamped(&f->b, i, n));
    return select_item(f, whole, n, i, type);
}
