/* Cores that the threads of a block, or of a warp, read by columns: where they share a loop
 * over rows, each runs along its own row, so that the threads of a warp would touch as many
 * lines of device memory as there are threads, for each element again. The block fetches these
 * cores into shared memory, where neighbouring threads load neighbouring elements. There an odd
 * number of words from one row to the next puts the elements of a column into different banks.
 */
#include "core/block/scan.h"
#include "gufunc/core/core_maker.h"

#include <assert.h>

/* Loads of a thread that are under way at the same time. Measured on an H200 with 8, 16 and 32:
 * with 32, most of a small matrix is the rest, whose loads are tested one by one. */
enum { LANES = 32, MOST_AT_ONCE = 16, BYTES_AT_ONCE = 128 };

static lw_ref
extent(lw_core_maker *k, int operand, int axis)
{
    return lw_maker_extent(k, k->loop->layout->operands[operand].dims[axis]);
}

lw_ref
lw_maker_bands(lw_core_maker *k)
{
    lw_builder *b = &k->b;
    int operand = 0;
    lw_ref rows;

    while (k->key->operands[operand].access != LW_ACCESS_ROWS)
        operand++;
    rows = lw_ir_cast(b, LW_DT_u32, extent(k, operand, 0));
    rows = lw_ir_add(b, rows, lw_maker_u32(k, k->key->band - 1));
    return lw_ir_div(b, rows, lw_maker_u32(k, k->key->band));
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

/* One operand that is fetched. Its core is one run of parts of `size` bytes, of which threads
 * take one after the other, so that all of them load, whatever the length of a row. Where a
 * part belongs moves along by an addition, and by another one where a row ends: u32, bytes. */
typedef struct fetch {
    lw_ref far, near;
    lw_ref parts, columns;   /* of the core, of a row */
    lw_ref pitch, gap;       /* from one row to the next, from the end of one to the next */
    lw_ref ahead, ahead_row; /* a thread's next part: columns ahead; bytes ahead */
    lw_ref column, at;       /* slots: the column of the next part that is stored; its place */
    lw_dtype part;
    uint32_t size;
    uint32_t n_threads;
} fetch;

static uint32_t
at_once(const fetch *f)
{
    return BYTES_AT_ONCE / f->size < MOST_AT_ONCE ? BYTES_AT_ONCE / f->size : MOST_AT_ONCE;
}

/* Stores a part, and moves on to the thread's next one. */
static void
put(lw_core_maker *k, const fetch *f, lw_ref value)
{
    lw_builder *b = &k->b;
    lw_ref at = lw_ir_get(b, f->at), column = lw_ir_add(b, lw_ir_get(b, f->column), f->ahead);
    lw_ref wraps = lw_ir_compare(b, LW_OP_GE, column, f->columns);

    lw_ir_store(b, lw_maker_at_byte(k, f->near, at), value, 0, 0);
    at = lw_ir_add(b, at, f->ahead_row);
    lw_ir_set(b, f->at, lw_ir_select(b, wraps, lw_ir_add(b, at, f->gap), at));
    lw_ir_set(b, f->column, lw_ir_select(b, wraps, lw_ir_sub(b, column, f->columns), column));
}

static lw_ref
get(lw_core_maker *k, const fetch *f, lw_ref first, uint32_t step)
{
    lw_builder *b = &k->b;
    lw_ref at = lw_maker_at_byte(k, f->far, lw_ir_mul(b, first, lw_maker_u32(k, f->size)));

    at = lw_ir_offset(b, at, lw_maker_i64(k, (int64_t)step * f->n_threads * f->size));
    return lw_ir_load(b, f->part, 1, at, 0, 0);
}

/* As many parts of each thread as are loaded before the first one is stored, while there are
 * so many. */
static void
fetch_whole(lw_core_maker *k, const fetch *f, lw_ref slot)
{
    lw_builder *b = &k->b;
    uint32_t n = at_once(f);
    lw_ref part, got[MOST_AT_ONCE];
    lw_ref behind = lw_ir_add(b, lw_ir_get(b, slot), lw_maker_u32(k, (n - 1) * f->n_threads));
    lw_ref steps = lw_ir_slot(b, LW_DT_u32);

    lw_ir_set(b, steps, behind);
    lw_ir_while(b, steps, f->parts);
    part = lw_ir_get(b, slot);
    for (uint32_t i = 0; i < n; i++)
        got[i] = get(k, f, part, i);
    for (uint32_t i = 0; i < n; i++)
        put(k, f, got[i]);
    lw_ir_set(b, slot, lw_ir_add(b, part, lw_maker_u32(k, n * f->n_threads)));
    lw_ir_latch(b);
    lw_ir_while_end(b, steps, lw_maker_u32(k, n * f->n_threads));
}

/* The rest, of which a thread may have fewer. */
static void
fetch_rest(lw_core_maker *k, const fetch *f, lw_ref slot)
{
    lw_builder *b = &k->b;
    uint32_t n = at_once(f);
    lw_ref part = lw_ir_get(b, slot), got[MOST_AT_ONCE], inside[MOST_AT_ONCE];

    for (uint32_t i = 0; i + 1 < n; i++) {
        lw_ref here = lw_ir_add(b, part, lw_maker_u32(k, i * f->n_threads));
        got[i] = lw_ir_slot(b, f->part);
        inside[i] = lw_ir_compare(b, LW_OP_LT, here, f->parts);
        lw_ir_if(b, inside[i]);
        lw_ir_set(b, got[i], get(k, f, part, i));
        lw_ir_end(b);
    }
    for (uint32_t i = 0; i + 1 < n; i++) {
        lw_ir_if(b, inside[i]);
        put(k, f, lw_ir_get(b, got[i]));
        lw_ir_end(b);
    }
}

/* Describes how an operand's core is fetched to `near`; sets k->pitch and k->shared. */
static void
describe(lw_core_maker *k, int operand, const lw_ref *coordinate, lw_ref near, fetch *f)
{
    lw_builder *b = &k->b;
    int64_t itemsize = lw_dtypes[k->loop->types[operand]].size_bytes;
    lw_ref bytes = lw_ir_mul(b, extent(k, operand, 1), lw_maker_i64(k, itemsize)), rows, width;

    k->pitch[operand] = pitch_of(k, bytes, itemsize);
    k->shared[operand] = near;
    f->far = lw_maker_address(k, operand, coordinate);
    f->near = near;
    rows = lw_ir_cast(b, LW_DT_u32, extent(k, operand, 0));
    if (k->key->band) { /* row 0 would be in front of the band by as much as it is in front */
        lw_ref before = lw_ir_cast(b, LW_DT_i64, k->band), none = lw_maker_i64(k, 0);
        f->far = lw_ir_offset(b, f->far, lw_ir_mul(b, before, bytes));
        before = lw_ir_mul(b, before, k->pitch[operand]);
        k->shared[operand] = lw_ir_offset(b, near, lw_ir_sub(b, none, before));
        rows = lw_ir_smaller(&k->b, lw_ir_sub(b, rows, k->band), lw_maker_u32(k, k->key->band));
    }
    f->part = lw_dtype_memory_part(k->loop->types[operand]);
    f->size = lw_dtypes[f->part].size_bytes;
    f->n_threads = k->key->warps ? LANES : k->key->block;
    width = lw_ir_cast(b, LW_DT_u32, bytes);
    f->columns = lw_ir_div(b, width, lw_maker_u32(k, f->size));
    f->parts = lw_ir_mul(b, rows, f->columns);
    f->pitch = lw_ir_cast(b, LW_DT_u32, k->pitch[operand]);
    f->gap = lw_ir_sub(b, f->pitch, width);
}

static void
fetch_core(lw_core_maker *k, fetch *f)
{
    lw_builder *b = &k->b;
    lw_ref size = lw_maker_u32(k, f->size), threads = lw_maker_u32(k, f->n_threads), row, rows;
    lw_ref thread = lw_ir_and(b, k->tid, lw_maker_u32(k, f->n_threads - 1));
    lw_ref slot = lw_ir_slot(b, LW_DT_u32);

    f->column = lw_ir_slot(b, LW_DT_u32);
    f->at = lw_ir_slot(b, LW_DT_u32);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, thread, f->parts)); /* so a row has columns */
    row = lw_ir_div(b, thread, f->columns);
    rows = lw_ir_div(b, threads, f->columns);
    f->ahead = lw_ir_sub(b, threads, lw_ir_mul(b, rows, f->columns));
    f->ahead_row = lw_ir_add(b, lw_ir_mul(b, rows, f->pitch), lw_ir_mul(b, f->ahead, size));
    lw_ir_set(b, f->column, lw_ir_sub(b, thread, lw_ir_mul(b, row, f->columns)));
    lw_ir_set(
        b, f->at,
        lw_ir_add(b, lw_ir_mul(b, row, f->pitch), lw_ir_mul(b, lw_ir_get(b, f->column), size)));
    lw_ir_set(b, slot, thread);
    fetch_whole(k, f, slot);
    fetch_rest(k, f, slot);
    lw_ir_end(b);
}

/* The shared memory of the threads that work on an item. */
static lw_ref
memory(lw_core_maker *k)
{
    lw_builder *b = &k->b;
    uint32_t bytes = k->key->rows_kb * 1024u, each = 0;
    lw_ref base;

    if (lw_core_dynamic_bytes(k->key))
        return lw_ir_dynamic(b);
    base = lw_ir_shared(b, bytes, 16);
    if (!k->key->warps)
        return base;
    each = bytes / k->key->warps / 16 * 16;
    return lw_maker_at_byte(
        k, base, lw_ir_mul(b, lw_ir_shr(b, k->tid, lw_maker_u32(k, 5)), lw_maker_u32(k, each)));
}

void
lw_maker_rows(lw_core_maker *k, lw_ref item)
{
    lw_builder *b = &k->b;
    const lw_thread_block threads = {.n_threads = k->key->warps ? LANES : k->key->block};
    lw_ref near = memory(k), coordinate[LW_CORE_LOOP_DIMS];

    assert(k->key->spread && k->key->block % LANES == 0);
    lw_maker_decompose(k, item, coordinate);
    for (int i = 0; i < k->n; i++) {
        fetch f = {0};
        lw_ref all;
        if (k->key->operands[i].access != LW_ACCESS_ROWS)
            continue;
        describe(k, i, coordinate, near, &f);
        fetch_core(k, &f);
        all = k->key->band ? lw_maker_u32(k, k->key->band)
                           : lw_ir_cast(b, LW_DT_u32, extent(k, i, 0));
        all = lw_ir_add(b, lw_ir_mul(b, all, f.pitch), lw_maker_u32(k, 15));
        near = lw_maker_at_byte(k, near, lw_ir_and(b, all, lw_maker_u32(k, ~15U)));
    }
    lw_block_wait(b, &threads);
}
