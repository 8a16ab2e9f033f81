#include "core/front/lower/cursor.h"

#include <assert.h>

lw_cursor
lw_cursor_of(lw_lower_frame *f, lw_lower_value array)
{
    lw_cursor cursor = {.array = array};

    for (uint32_t i = 0; i < lw_array_row_of(f, array.type)->ndim; i++)
        cursor.strides[i] = lw_array_stride_in(f, array, i, lw_offset_type(f));
    return cursor;
}

lw_ref
lw_cursor_broadcast(lw_lower_frame *f, lw_cursor *from, lw_lower_value to)
{
    lw_builder *b = &f->b;
    uint32_t n = lw_array_row_of(f, from->array.type)->ndim;
    uint32_t missing = lw_array_row_of(f, to.type)->ndim - n;
    lw_ref zero = lw_ir_zero(b, lw_offset_type(f)), differs = lw_ir_int(b, LW_DT_b1, 0);

    assert(n <= lw_array_row_of(f, to.type)->ndim); /* inference compared them */
    for (uint32_t i = 0; i < n; i++) {
        lw_ref wanted = lw_array_extent(f, to, missing + i);
        lw_ref given = lw_array_extent(f, from->array, i);
        lw_ref one = lw_ir_compare(b, LW_OP_EQ, given, lw_const64(f, 1));
        lw_ref other = lw_ir_compare(b, LW_OP_NE, given, wanted);

        differs = lw_ir_or(b, differs, lw_ir_and(b, other, lw_ir_not(b, one)));
        /* where extents are equal the stride stays as it is, which vectorisers need to know */
        from->strides[i] = lw_ir_select(b, lw_ir_and(b, other, one), zero, from->strides[i]);
    }
    return differs;
}

void
lw_cursor_raise(lw_lower_frame *f, lw_ref differs)
{
    if (lw_raises_errors(f))
        lw_lower_raise(f, differs, "ValueError", "could not broadcast: the shapes differ");
}

void
lw_cursor_open(lw_lower_frame *f, lw_lower_value to, lw_ref differs, lw_for *loops)
{
    for (uint32_t i = 0; i < lw_array_row_of(f, to.type)->ndim; i++) {
        lw_ref extent = lw_array_extent(f, to, i);
        if (differs && !lw_raises_errors(f)) /* errors are ignored: nothing is stored */
            extent = lw_ir_select(&f->b, differs, lw_const64(f, 0), extent);
        loops[i] = lw_ir_for(&f->b, lw_const64(f, 0), extent, lw_const64(f, 1), 0, 0);
    }
}

void
lw_cursor_close(lw_lower_frame *f, lw_lower_value to, lw_for *loops)
{
    for (uint32_t i = lw_array_row_of(f, to.type)->ndim; i-- > 0;)
        lw_ir_for_end(&f->b, &loops[i]);
}

lw_ref
lw_cursor_address(lw_lower_frame *f, const lw_cursor *cursor, const lw_for *loops,
                  uint32_t ndim)
{
    uint32_t n = lw_array_row_of(f, cursor->array.type)->ndim;
    lw_ref at = 0;

    assert(n <= ndim);
    for (uint32_t i = 0; i < n; i++)
        at = lw_offset_sum(
            &f->b, at,
            lw_offset_product(&f->b,
                              lw_offset_cast(&f->b, lw_offset_type(f), loops[ndim - n + i].i),
                              cursor->strides[i]));
    return lw_address_moved(&f->b, lw_part_at(&cursor->array, 0), at);
}
