/* Copies into arrays, `to[...] = value`: of a number, a record or an array. If the compiler
 * knows that source and target share no memory, a copy is one loop nest. Otherwise a run-time
 * test chooses between that nest and a call of a function that copies in the order of
 * overlap.h; there is one such function for each pair of element types and number of axes. */
#include "core/front/lower/cursor.h"
#include "core/front/lower/overlap.h"
#include "core/front/records.h"

#include <assert.h>
#include <stdio.h>

static lw_type
element_of(const lw_lower_frame *f, lw_lower_value value)
{
    return lw_is_array(f, value) ? lw_array_row_of(f, value.type)->elements[0] : value.type;
}

/* ---- arrays that share memory ---- */

/* A copy as an elementwise operation; a record is repeated along all axes. */
static lw_elementwise
copy_operation(lw_lower_frame *f, lw_lower_value to, lw_lower_value value,
               const lw_cursor *from, lw_ref differs)
{
    assert(lw_is_array(f, to));
    const lw_type_row *row = lw_array_row_of(f, to.type);
    lw_elementwise w = {.ndim = row->ndim, .n = 2, .copies = true};
    uint32_t missing =
        row->ndim - (lw_is_array(f, value) ? lw_array_row_of(f, value.type)->ndim : 0u);

    w.arrays[0].address = lw_part_at(&to, 0);
    w.arrays[1].address = lw_part_at(&value, 0);
    w.arrays[0].item_bytes = lw_type_bytes(f->l->types, row->elements[0]);
    w.arrays[1].item_bytes = lw_type_bytes(f->l->types, element_of(f, value));
    w.copies = row->elements[0] == element_of(f, value);
    for (uint32_t i = 0; i < row->ndim; i++) {
        w.extents[i] = lw_array_extent(f, to, i);
        if (differs && !lw_raises_errors(f))
            w.extents[i] = lw_ir_select(&f->b, differs, lw_const64(f, 0), w.extents[i]);
        w.arrays[0].strides[i] = lw_array_stride(f, to, i);
        w.arrays[1].strides[i] = i >= missing
                                     ? lw_ir_cast(&f->b, LW_DT_i64, from->strides[i - missing])
                                     : lw_const64(f, 0);
    }
    return w;
}

/* What the function that copies is specialised for: types, and alignments of addresses. */
typedef struct copy_function {
    lw_type to, from; /* of elements */
    uint32_t to_align, from_align;
} copy_function;

static void
copy_one_by_one(lw_lower_frame *g, const copy_function *c, const lw_elementwise *w)
{
    lw_positions p;

    lw_elementwise_open(&g->b, w, &p);
    lw_lower_value value =
        lw_lower_load(g, c->from, lw_elementwise_address(&g->b, w, 1, p.at), c->from_align);
    lw_lower_store(g, c->to, lw_elementwise_address(&g->b, w, 0, p.at), value, c->to_align);
    lw_elementwise_close(&g->b, w, &p);
}

static void
copy_pairs(lw_lower_frame *g, const copy_function *c, const lw_order *o)
{
    lw_builder *b = &g->b;
    lw_positions p;
    lw_ref to[2], from[2];
    lw_lower_value values[2];

    lw_elementwise_open(b, &o->operation, &p);
    to[0] = lw_elementwise_address(b, &o->operation, 0, p.at);
    to[1] = lw_elementwise_address(b, &o->partners, 0, p.at);
    lw_ir_if(b, lw_in_front(b, to[0], to[1]));
    if (lw_record_row(g->l->types, c->to)) {
        lw_lower_record_swap(g, c->to, to[0], to[1]);
    } else {
        from[0] = lw_elementwise_address(b, &o->operation, 1, p.at);
        from[1] = lw_elementwise_address(b, &o->partners, 1, p.at);
        for (int k = 0; k < 2; k++)
            values[k] = lw_lower_load(g, c->from, from[k], c->from_align);
        for (int k = 0; k < 2; k++)
            lw_lower_store(g, c->to, to[k], values[k], c->to_align);
    }
    lw_ir_end(b);
    lw_elementwise_close(b, &o->operation, &p);
}

/* Copies from the array into the buffer, or back, element by element. */
static void
copy_buffer(lw_lower_frame *g, const copy_function *c, const lw_elementwise *w, lw_ref buffer,
            bool back)
{
    lw_builder *b = &g->b;
    lw_ref item = lw_ir_int(b, LW_DT_i64, w->arrays[0].item_bytes), slot, at;
    lw_positions p;
    lw_lower_value value;

    slot = lw_ir_slot(b, LW_DT_i64);
    lw_ir_set(b, slot, lw_ir_zero(b, LW_DT_i64));
    lw_elementwise_open(b, w, &p);
    at = lw_ir_offset(b, buffer, lw_ir_get(b, slot));
    lw_ir_set(b, slot, lw_ir_add(b, lw_ir_get(b, slot), item));
    if (back)
        value = lw_lower_load(g, c->to, at, 0);
    else
        value = lw_lower_load(g, c->from, lw_elementwise_address(b, w, 1, p.at), c->from_align);
    lw_lower_store(g, c->to, back ? lw_elementwise_address(b, w, 0, p.at) : at, value,
                   back ? c->to_align : 0);
    lw_elementwise_close(b, w, &p);
}

static void
copy_by_buffer(lw_lower_frame *g, const copy_function *c, const lw_elementwise *w)
{
    lw_ref buffer = lw_ir_local(&g->b, LW_BUFFER_BYTES, lw_type_align(g->l->types, c->to));

    copy_buffer(g, c, w, buffer, false);
    copy_buffer(g, c, w, buffer, true);
}

/* Takes the operation from the parameters of the function: extents, then each array's address
 * and strides. */
static void
take_operation(lw_builder *b, const lw_elementwise *like, lw_elementwise *w)
{
    *w = (lw_elementwise){.ndim = like->ndim, .n = like->n, .copies = like->copies};
    for (uint32_t i = 0; i < w->ndim; i++)
        w->extents[i] = lw_ir_param_add(b, LW_DT_i64, 0, "extent");
    for (uint32_t k = 0; k < w->n; k++) {
        w->arrays[k].item_bytes = like->arrays[k].item_bytes;
        w->arrays[k].address = lw_ir_param_add(b, LW_DT_ptr, 0, "array");
        for (uint32_t i = 0; i < w->ndim; i++)
            w->arrays[k].strides[i] = lw_ir_param_add(b, LW_DT_i64, 0, "stride");
    }
}

static void
write_copy_function(lw_lower_frame *g, const copy_function *c, const lw_elementwise *like)
{
    lw_builder *b = &g->b;
    lw_elementwise w;
    lw_order o;

    take_operation(b, like, &w);
    lw_ir_result_add(b, LW_DT_b1);
    lw_elementwise_order(b, &w, &o);
    lw_ir_if(b, o.fails);
    lw_ir_return(b, &o.fails, 1);
    lw_ir_end(b);
    lw_ir_if(b, o.in_pairs);
    copy_pairs(g, c, &o);
    lw_ir_return(b, &o.fails, 1);
    lw_ir_end(b);
    lw_ir_if(b, o.in_buffer);
    copy_by_buffer(g, c, &o.operation);
    lw_ir_return(b, &o.fails, 1);
    lw_ir_end(b);
    copy_one_by_one(g, c, &o.operation);
    lw_ir_return(b, &o.fails, 1);
}

/* The number of the function that copies in order; its result says whether that was
 * impossible. */
static uint32_t
copy_function_of(lw_lower_frame *f, const copy_function *c, const lw_elementwise *like)
{
    lw_module *module = f->l->module;
    lw_lower_frame inner = *f;
    uint32_t number;
    char name[64];

    snprintf(name, sizeof name, "lw_copy_%u_%u_%u_%u_%u", like->ndim, c->to, c->from,
             c->to_align, c->from_align);
    number = lw_ir_find(module, name);
    if (number != UINT32_MAX)
        return number;
    inner.can_raise = false;
    inner.b = (lw_builder){.loc = f->b.loc};
    lw_builder_start(&inner.b, module, name);
    if (inner.b.func != NULL)
        inner.b.func->linkage = LW_OUTLINED;
    write_copy_function(&inner, c, like);
    if (lw_ir_finish(&inner.b, NULL) != LW_OK)
        module->failed = true;
    return inner.b.func_number;
}

static void
copy_in_order(lw_lower_frame *f, lw_lower_value to, lw_lower_value value,
              const lw_elementwise *w)
{
    copy_function c = {.to = element_of(f, to),
                       .from = element_of(f, value),
                       .to_align = lw_array_align_of(f, to.type)};
    lw_ref args[LW_MAX_ARRAY_DIMS + LW_MOST_OPERANDS * (1 + LW_MAX_ARRAY_DIMS)], failed;
    uint32_t n = 0;

    if (lw_is_array(f, value))
        c.from_align = lw_array_align_of(f, value.type);
    for (uint32_t i = 0; i < w->ndim; i++)
        args[n++] = w->extents[i];
    for (uint32_t k = 0; k < w->n; k++) {
        args[n++] = w->arrays[k].address;
        for (uint32_t i = 0; i < w->ndim; i++)
            args[n++] = w->arrays[k].strides[i];
    }
    failed = lw_ir_call(&f->b, copy_function_of(f, &c, w), args, n);
    if (lw_raises_errors(f))
        lw_lower_raise(f, failed, "ValueError", LW_NO_ORDER);
}

/* ---- entry point ---- */

typedef struct apart_copy {
    lw_lower_value value;
    lw_cursor cursors[2]; /* to; from, if the value is an array */
} apart_copy;

static void
copy_element(lw_lower_frame *f, const lw_cursor_loops *loops, const void *context)
{
    const apart_copy *c = context;
    lw_lower_value value = c->value, to = c->cursors[0].array;

    if (lw_is_array(f, value))
        value =
            lw_lower_load(f, element_of(f, value), lw_cursor_address(f, &c->cursors[1], loops),
                          lw_array_align_of(f, value.type));
    lw_lower_store(f, element_of(f, to), lw_cursor_address(f, &c->cursors[0], loops), value,
                   lw_array_align_of(f, to.type));
}

static void
copy_apart(lw_lower_frame *f, lw_lower_value to, lw_lower_value value, const lw_cursor *from,
           lw_ref differs)
{
    const apart_copy c = {value, {lw_cursor_of(f, to), *from}};

    lw_cursor_each(f, &(lw_cursor_work){.body = copy_element,
                                        .context = &c,
                                        .cursors = c.cursors,
                                        .n = lw_is_array(f, value) ? 2 : 1,
                                        .differs = differs});
}

/* How many axes the numbers of a tuple, or of tuples in it, are stored along. */
static uint32_t
axes_of(const lw_lower_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(f->l->types, type, LW_TK_TUPLE);

    return row ? 1 + axes_of(f, row->elements[0]) : 0;
}

/* b1: whether the last axes are not as long as the tuples. */
static lw_ref
rows_differ(lw_lower_frame *f, lw_lower_value to, lw_type tuple, uint32_t axis)
{
    const lw_type_row *row = lw_type_get_kind(f->l->types, tuple, LW_TK_TUPLE);
    lw_ref differs, others;

    differs =
        lw_ir_compare(&f->b, LW_OP_NE, lw_array_extent(f, to, axis), lw_const64(f, row->n));
    for (uint32_t i = 0; i < row->n; i++) {
        if (lw_type_kind_of(f->l->types, row->elements[i]) != LW_TK_TUPLE)
            continue;
        others = rows_differ(f, to, row->elements[i], axis + 1);
        differs = lw_ir_or(&f->b, differs, others);
    }
    return differs;
}

/* The numbers of a tuple along the axis, and of the tuples in it along the axes behind. */
static void
store_numbers(lw_lower_frame *f, lw_lower_value to, const lw_cursor *into, uint32_t axis,
              lw_ref at, lw_lower_value value)
{
    const lw_type_row *row = lw_array_row_of(f, to.type);
    uint32_t n = lw_type_get(f->l->types, value.type)->n;
    lw_ref bytes, address;

    for (uint32_t k = 0; k < n; k++) {
        lw_lower_value item = lw_value_element(f, value, k);

        bytes = lw_offset_product(&f->b, lw_ir_int(&f->b, lw_offset_type(f), k),
                                  into->strides[axis]);
        address = lw_address_moved(&f->b, at, bytes);
        if (lw_value_is_tuple(&item, f))
            store_numbers(f, to, into, axis + 1, address, item);
        else
            lw_lower_store(f, row->elements[0], address,
                           lw_value_convert(f, item, row->elements[0]),
                           lw_array_align_of(f, to.type));
    }
}

/* Repeated along the axes in front of those that the tuple has. */
static void
store_tuple(lw_lower_frame *f, lw_lower_value to, lw_lower_value value)
{
    uint32_t ndim = lw_array_row_of(f, to.type)->ndim;
    uint32_t n = lw_type_get(f->l->types, value.type)->n, axis = ndim - axes_of(f, value.type);
    lw_cursor into = lw_cursor_of(f, to);
    lw_for loops[LW_MAX_ARRAY_DIMS] = {0};
    lw_dtype offset = lw_offset_type(f);
    lw_ref differs, at = 0, bytes;

    assert(ndim > 0 && n > 0 && axis < ndim); /* check_tuple */
    if (n == 1) {
        lw_lower_fill(f, to, lw_value_element(f, value, 0));
        return;
    }
    differs = rows_differ(f, to, value.type, axis);
    lw_cursor_raise(f, &(lw_mismatch){.differs = differs});
    lw_ir_if(&f->b, lw_ir_not(&f->b, differs));
    for (uint32_t i = 0; i < axis; i++) {
        loops[i] =
            lw_ir_for(&f->b, lw_const64(f, 0), lw_array_extent(f, to, i), lw_const64(f, 1), 0);
        bytes = lw_offset_product(&f->b, lw_offset_cast(&f->b, offset, loops[i].i),
                                  into.strides[i]);
        at = lw_offset_sum(&f->b, at, bytes);
    }
    store_numbers(f, to, &into, axis, lw_address_moved(&f->b, lw_part_at(&to, 0), at), value);
    for (uint32_t i = axis; i-- > 0;)
        lw_ir_for_end(&f->b, &loops[i]);
    lw_ir_end(&f->b);
}

void
lw_lower_fill(lw_lower_frame *f, lw_lower_value to, lw_lower_value value)
{
    bool array = lw_is_array(f, value);
    bool record = lw_type_kind_of(f->l->types, value.type) == LW_TK_RECORD;
    bool in_fields = !array && !record &&
                     lw_record_row(f->l->types, lw_array_row_of(f, to.type)->elements[0]);

    if (lw_value_is_tuple(&value, f) && !in_fields) {
        store_tuple(f, to, value);
        return;
    }
    lw_cursor from = {.array = value};
    lw_mismatch mismatch = {0};
    lw_ref differs = 0;
    lw_elementwise w;

    if (array) {
        from = lw_cursor_of(f, value);
        lw_cursor_broadcast(f, &from, to, &mismatch);
        lw_cursor_raise(f, &mismatch);
        differs = mismatch.differs;
    } else if (!in_fields) { /* items of records are converted when they are stored */
        value = lw_value_convert(f, value, lw_array_row_of(f, to.type)->elements[0]);
    }
    if (array || record) {
        w = copy_operation(f, to, value, &from, differs);
        lw_ir_if(&f->b, lw_elementwise_overlaps(&f->b, &w));
        copy_in_order(f, to, value, &w);
        lw_ir_else(&f->b);
    }
    copy_apart(f, to, value, &from, differs);
    if (array || record)
        lw_ir_end(&f->b);
}
