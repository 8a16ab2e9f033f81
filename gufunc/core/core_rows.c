/* Cores that the threads of a block read by columns: where they share a loop over rows, each
 * runs along its own row, so that the threads of a warp would touch as many lines of device
 * memory as there are threads, for each element again. The block fetches these cores into
 * shared memory, where neighbouring threads load neighbouring elements. There an odd number of
 * words from one row to the next puts the elements of a column into different banks. */
#include "gufunc/core/core_maker.h"

#include <assert.h>

enum { LANES = 32, MOST_AT_ONCE = 32, BYTES_AT_ONCE = 128 };

static lw_ref
extent(lw_core_maker *k, int operand, int axis)
{
    return lw_maker_extent(k, k->loop->layout->operands[operand].dims[axis]);
}

/* lw_core_pitch_of of a row, in the kernel. */
static lw_ref
pitch_of(lw_core_maker *k, lw_ref bytes, int64_t itemsize)
{
    lw_builder *b = &k->b;
    int64_t word = itemsize < 4 ? 4 : itemsize;
    lw_ref even = lw_ir_compare(b, LW_OP_EQ, lw_ir_and(b, bytes, lw_maker_i64(k, 2 * word - 1)),
                                lw_maker_i64(k, 0));

    return lw_ir_add(b, bytes,
                     lw_ir_select(b, even, lw_maker_i64(k, word), lw_maker_i64(k, 0)));
}

/* One operand that is fetched. Distances are bytes (u32). */
typedef struct fetch {
    lw_ref far, near;
    lw_ref rows, far_pitch, near_pitch;
    lw_dtype part;
    uint32_t size; /* bytes of a part */
} fetch;

/* Fetches a part of each of some rows: all loads before the first store. Rows behind the last
 * one are the last one again, and are not stored. */
static void
fetch_down(lw_core_maker *k, const fetch *f, lw_ref row, lw_ref column, int64_t step)
{
    lw_builder *b = &k->b;
    int64_t n = BYTES_AT_ONCE / f->size < MOST_AT_ONCE ? BYTES_AT_ONCE / f->size : MOST_AT_ONCE;
    lw_ref last = lw_ir_sub(b, f->rows, lw_maker_u32(k, 1)), got[MOST_AT_ONCE],
           at[MOST_AT_ONCE];
    lw_ref inside[MOST_AT_ONCE];

    for (int64_t i = 0; i < n; i++) {
        at[i] = lw_ir_add(b, row, lw_maker_u32(k, i * step));
        inside[i] = lw_ir_compare(b, LW_OP_LE, at[i], last);
        at[i] = lw_ir_select(b, inside[i], at[i], last);
        got[i] =
            lw_ir_load(b, f->part, 1,
                       lw_maker_at_byte(
                           k, f->far, lw_ir_add(b, lw_ir_mul(b, at[i], f->far_pitch), column)),
                       0, 0);
    }
    for (int64_t i = 0; i < n; i++) {
        lw_ir_if(b, inside[i]);
        lw_ir_store(b,
                    lw_maker_at_byte(k, f->near,
                                     lw_ir_add(b, lw_ir_mul(b, at[i], f->near_pitch), column)),
                    got[i], 0, 0);
        lw_ir_end(b);
    }
}

/* Warps take rows, and their lanes the parts of a row. */
static void
fetch_core(lw_core_maker *k, const fetch *f)
{
    lw_builder *b = &k->b;
    int64_t warps = k->key->block / LANES;
    int64_t n = BYTES_AT_ONCE / f->size < MOST_AT_ONCE ? BYTES_AT_ONCE / f->size : MOST_AT_ONCE;
    lw_ref columns = lw_ir_slot(b, LW_DT_u32), rows = lw_ir_slot(b, LW_DT_u32), column, row;

    lw_ir_set(b, columns,
              lw_ir_mul(b, lw_ir_and(b, k->tid, lw_maker_u32(k, LANES - 1)),
                        lw_maker_u32(k, f->size)));
    column = lw_ir_while(b, columns, f->far_pitch);
    lw_ir_set(b, rows, lw_ir_shr(b, k->tid, lw_maker_u32(k, 5)));
    row = lw_ir_while(b, rows, f->rows);
    fetch_down(k, f, row, column, warps);
    lw_ir_latch(b);
    lw_ir_while_end(b, rows, lw_maker_u32(k, n * warps));
    lw_ir_latch(b);
    lw_ir_while_end(b, columns, lw_maker_u32(k, LANES * f->size));
}

void
lw_maker_rows(lw_core_maker *k, lw_ref item)
{
    lw_builder *b = &k->b;
    lw_ref near = lw_ir_shared(b, k->key->rows_kb * 1024u, 16);
    lw_ref coordinate[LW_CORE_LOOP_DIMS];

    assert(k->key->spread && k->key->block % LANES == 0);
    lw_maker_decompose(k, item, coordinate);
    for (int i = 0; i < k->n; i++) {
        int64_t itemsize = lw_dtypes[k->loop->types[i]].size_bytes;
        lw_ref bytes, all;
        fetch f;
        if (k->key->operands[i].access != LW_ACCESS_ROWS)
            continue;
        bytes = lw_ir_mul(b, extent(k, i, 1), lw_maker_i64(k, itemsize));
        k->pitch[i] = pitch_of(k, bytes, itemsize);
        k->shared[i] = near;
        f.far = lw_maker_address(k, i, coordinate);
        f.near = near;
        f.rows = lw_ir_cast(b, LW_DT_u32, extent(k, i, 0));
        f.far_pitch = lw_ir_cast(b, LW_DT_u32, bytes);
        f.near_pitch = lw_ir_cast(b, LW_DT_u32, k->pitch[i]);
        f.part = lw_dtype_memory_part(k->loop->types[i]);
        f.size = lw_dtypes[f.part].size_bytes;
        fetch_core(k, &f);
        all = lw_ir_add(b, lw_ir_mul(b, f.rows, f.near_pitch), lw_maker_u32(k, 15));
        near = lw_maker_at_byte(k, near, lw_ir_and(b, all, lw_maker_u32(k, ~15U)));
    }
    lw_ir_barrier(b);
}
