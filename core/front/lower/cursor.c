#include "core/front/lower/cursor.h"

#include "core/ir/format.h"

#include <assert.h>

lw_cursor
lw_cursor_of(lw_lower_frame *f, lw_lower_value array)
{
    lw_cursor cursor = {.array = array};

    for (uint32_t i = 0; i < lw_array_row_of(f, array.type)->ndim; i++)
        cursor.strides[i] = lw_array_stride_in(f, array, i, lw_offset_type(f));
    return cursor;
}

/* Whether an exception of this function can show two numbers. */
static bool
carries_extents(const lw_lower_frame *f)
{
    return lw_raises_errors(f) && f->l->n_raise_words == LW_RAISE_WORDS && f->deferred == 0;
}

/* The extents of the first axis that differs. */
static void
keep_first(lw_lower_frame *f, lw_mismatch *m, lw_ref given, lw_ref wanted)
{
    lw_builder *b = &f->b;

    m->given = m->given ? lw_ir_select(b, m->differs, m->given, given) : given;
    m->wanted = m->wanted ? lw_ir_select(b, m->differs, m->wanted, wanted) : wanted;
}

void
lw_cursor_broadcast(lw_lower_frame *f, lw_cursor *from, lw_lower_value to,
                    lw_mismatch *mismatch)
{
    lw_builder *b = &f->b;
    uint32_t n = lw_array_row_of(f, from->array.type)->ndim;
    uint32_t missing = lw_array_row_of(f, to.type)->ndim - n;
    lw_ref zero = lw_ir_zero(b, lw_offset_type(f));

    if (mismatch->differs == 0)
        mismatch->differs = lw_ir_int(b, LW_DT_b1, 0);
    assert(n <= lw_array_row_of(f, to.type)->ndim); /* inference compared them */
    for (uint32_t i = 0; i < n; i++) {
        lw_ref wanted = lw_array_extent(f, to, missing + i);
        lw_ref given = lw_array_extent(f, from->array, i);
        lw_ref one = lw_ir_compare(b, LW_OP_EQ, given, lw_const64(f, 1));
        lw_ref other = lw_ir_compare(b, LW_OP_NE, given, wanted);

        if (carries_extents(f))
            keep_first(f, mismatch, given, wanted);
        mismatch->differs =
            lw_ir_or(b, mismatch->differs, lw_ir_and(b, other, lw_ir_not(b, one)));
        /* where extents are equal the stride stays as it is, which vectorisers need to know */
        from->strides[i] = lw_ir_select(b, lw_ir_and(b, other, one), zero, from->strides[i]);
    }
}

void
lw_cursor_raise(lw_lower_frame *f, const lw_mismatch *mismatch)
{
    static const char before[] = "could not broadcast: the shapes differ, an axis has ";
    const lw_format_value values[] = {{.dtype = LW_DT_i64, .behind = " elements, and "},
                                      {.dtype = LW_DT_i64, .behind = " in the other array"}};
    lw_builder *b = &f->b;
    uint64_t number;

    if (!lw_raises_errors(f))
        return;
    if (mismatch->given == 0) {
        lw_lower_raise(f, mismatch->differs, "ValueError",
                       "could not broadcast: the shapes differ");
        return;
    }
    number = lw_format_add(before, values, 2);
    if (number == 0) {
        f->l->module->failed = true;
        return;
    }
    lw_ir_if(b, mismatch->differs);
    lw_lower_raise_words(f, "ValueError", number,
                         (lw_ref[]){lw_ir_cast(b, LW_DT_u64, mismatch->given),
                                    lw_ir_cast(b, LW_DT_u64, mismatch->wanted)},
                         2);
    lw_ir_end(b);
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
