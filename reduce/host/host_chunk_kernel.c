/* The loop that reduces whole chunks of contiguous elements, several of them in one call. So
 * short rows cost little more than their elements, and blocks follow each other without a gap
 * in which nothing is fetched from memory. It combines in the same tree as lw_reduce_chunk. */
#include "reduce/host/host_kernel_parts.h"
#include "reduce/host/host_parts.h"

#include <assert.h>

/* Flags of loops with few iterations, for which unrolled code would be compiled in vain. */
enum {
    VECTORS = LW_LOOP_VECTORIZE | LW_LOOP_NO_UNROLL,
    NUMBERS = LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL
};

typedef struct chunk {
    arrays in;            /* the operands, from the chunk's first element on */
    arrays lanes, levels; /* accumulators of the block under way; of earlier blocks, combined
                             like digits of a counter */
    uint32_t width;
    lw_ref n, block;
    lw_ref depth, blocks; /* slots: how many levels are in use, how many blocks are done */
} chunk;

static arrays
local_bank(maker *m, uint32_t n)
{
    arrays a = {.n = m->r->n_acc, .dtype = m->r->acc};

    for (uint32_t i = 0; i < a.n; i++) {
        uint32_t size = lw_dtypes[a.dtype[i]].size_bytes;
        a.address[i] = lw_ir_local(&m->b, n * size, 64);
        a.step[i] = i64(m, size);
    }
    return a;
}

static void
copy_lanes(maker *m, const arrays *from, const arrays *to, lw_ref n)
{
    lw_ref x[LW_REDUCE_PARTS];
    lw_for loop = lw_ir_for(&m->b, i64(m, 0), n, i64(m, 1), VECTORS);

    load(m, from, loop.i, x);
    store(m, to, loop.i, x);
    lw_ir_for_end(&m->b, &loop);
}

/* ---- one block ---- */

/* Takes n elements from `at` on, one for each lane: they make the lanes' accumulators if they
 * are the first of the block, else they are combined with them. */
static void
row_into_lanes(maker *m, const chunk *c, lw_ref at, lw_ref n, bool are_first)
{
    lw_ref x[LW_REDUCE_PARTS];
    lw_for loop = lw_ir_for(&m->b, i64(m, 0), n, i64(m, 1), VECTORS);

    map_at(m, &c->in, lw_ir_add(&m->b, at, loop.i), x);
    if (are_first)
        store(m, &c->lanes, loop.i, x);
    else
        combine_into(m, &c->lanes, loop.i, x);
    lw_ir_for_end(&m->b, &loop);
}

/* Takes the elements at … at + n - 1, which follow the first row: four rows at a time, then row
 * by row, the last of which may not be whole. */
static void
rows_into_lanes(maker *m, const chunk *c, lw_ref at, lw_ref n)
{
    lw_builder *b = &m->b;
    lw_ref width = i64(m, c->width), four, rest, count;
    lw_for loop;

    four = lw_ir_and(b, n, i64(m, -4 * (int64_t)c->width));
    loop = lw_ir_for(b, i64(m, 0), four, i64(m, 4 * (int64_t)c->width), NUMBERS);
    lw_reduce_four_rows(m, &c->in, &c->lanes, lw_ir_add(b, at, loop.i), LW_LOOP_UNROLL_FULL);
    lw_ir_for_end(b, &loop);
    loop = lw_ir_for(b, four, n, width, NUMBERS);
    rest = lw_ir_sub(b, n, loop.i);
    count = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, rest, width), rest, width);
    row_into_lanes(m, c, lw_ir_add(b, at, loop.i), count, false);
    lw_ir_for_end(b, &loop);
}

/* ---- combining blocks ---- */

static arrays
level_at(maker *m, const chunk *c, lw_ref depth)
{
    return moved(m, &c->levels, lw_ir_mul(&m->b, depth, i64(m, c->width)));
}

/* Makes the lanes the top level, after combining them with the levels below, as a carry goes
 * through the digits of a binary counter. */
static void
push(maker *m, const chunk *c)
{
    lw_builder *b = &m->b;
    lw_ref carry = lw_ir_slot(b, LW_DT_i64), count;
    arrays level;

    count = lw_ir_add(b, lw_ir_get(b, c->blocks), i64(m, 1));
    lw_ir_set(b, c->blocks, count);
    lw_ir_set(b, carry, count);
    lw_ir_loop(b, NUMBERS);
    count = lw_ir_get(b, carry);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_NE, lw_ir_and(b, count, i64(m, 1)), i64(m, 0)));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    lw_ir_set(b, c->depth, lw_ir_sub(b, lw_ir_get(b, c->depth), i64(m, 1)));
    level = level_at(m, c, lw_ir_get(b, c->depth));
    lw_reduce_combine_all(m, &level, &c->lanes, &c->lanes, i64(m, c->width), VECTORS);
    lw_ir_set(b, carry, lw_ir_shr(b, count, i64(m, 1)));
    lw_ir_latch(b);
    lw_ir_end(b);
    level = level_at(m, c, lw_ir_get(b, c->depth));
    copy_lanes(m, &c->lanes, &level, i64(m, c->width));
    lw_ir_set(b, c->depth, lw_ir_add(b, lw_ir_get(b, c->depth), i64(m, 1)));
}

/* Combines the levels that are left into the first. */
static void
join_levels(maker *m, const chunk *c)
{
    lw_builder *b = &m->b;
    lw_ref depth;
    arrays left, right;

    lw_ir_loop(b, NUMBERS);
    depth = lw_ir_get(b, c->depth);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LE, depth, i64(m, 1)));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    left = level_at(m, c, lw_ir_sub(b, depth, i64(m, 2)));
    right = level_at(m, c, lw_ir_sub(b, depth, i64(m, 1)));
    lw_reduce_combine_all(m, &left, &right, &left, i64(m, c->width), VECTORS);
    lw_ir_latch(b);
    lw_ir_set(b, c->depth, lw_ir_sub(b, lw_ir_get(b, c->depth), i64(m, 1)));
    lw_ir_end(b);
}

/* Combines the first n lanes into the first, by halves. */
static void
join_lanes(maker *m, const arrays *lanes, lw_ref n)
{
    lw_builder *b = &m->b;
    lw_ref left = lw_ir_slot(b, LW_DT_i64), now, half;
    arrays right;

    lw_ir_set(b, left, n);
    lw_ir_loop(b, NUMBERS);
    now = lw_ir_get(b, left);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LE, now, i64(m, 1)));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    half = lw_ir_shr(b, now, i64(m, 1));
    right = moved(m, lanes, lw_ir_sub(b, now, half));
    lw_reduce_combine_all(m, lanes, &right, lanes, half, NUMBERS);
    lw_ir_set(b, left, lw_ir_sub(b, now, half));
    lw_ir_latch(b);
    lw_ir_end(b);
}

/* ---- one chunk ---- */

/* Takes all blocks. Those that fill all lanes are pushed to the levels; if the last one does
 * not, its lanes stay. Gives how many these are. */
static lw_ref
blocks_into_levels(maker *m, const chunk *c)
{
    lw_builder *b = &m->b;
    lw_ref odd = lw_ir_slot(b, LW_DT_i64), width = i64(m, c->width), rest, n, full;
    lw_for loop;

    lw_ir_set(b, odd, i64(m, 0));
    loop = lw_ir_for(b, i64(m, 0), c->n, c->block, NUMBERS);
    rest = lw_ir_sub(b, c->n, loop.i);
    n = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, rest, c->block), rest, c->block);
    full = lw_ir_compare(b, LW_OP_GE, n, width);
    row_into_lanes(m, c, loop.i, lw_ir_select(b, full, width, n), true);
    lw_ir_if(b, full);
    rows_into_lanes(m, c, lw_ir_add(b, loop.i, width), lw_ir_sub(b, n, width));
    push(m, c);
    lw_ir_else(b);
    lw_ir_set(b, odd, n);
    lw_ir_end(b);
    lw_ir_for_end(b, &loop);
    return lw_ir_get(b, odd);
}

/* Reduces a chunk; the first level's first lane holds the accumulator then. */
static void
one_chunk(maker *m, const chunk *c)
{
    lw_builder *b = &m->b;
    lw_ref odd, any;
    uint32_t n = c->width;
    arrays right;

    assert(c->width >= 16 && (c->width & (c->width - 1)) == 0);
    lw_ir_set(b, c->depth, i64(m, 0));
    lw_ir_set(b, c->blocks, i64(m, 0));
    odd = blocks_into_levels(m, c);
    any = lw_ir_compare(b, LW_OP_GE, c->n, i64(m, c->width));
    lw_ir_if(b, any);
    join_levels(m, c);
    for (; n > 16; n /= 2) {
        right = moved(m, &c->levels, i64(m, n / 2));
        lw_reduce_combine_all(m, &c->levels, &right, &c->levels, i64(m, n / 2), VECTORS);
    }
    join_lanes(m, &c->levels, i64(m, n));
    lw_ir_end(b);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GT, odd, i64(m, 0)));
    join_lanes(m, &c->lanes, odd);
    lw_ir_if(b, any);
    lw_reduce_combine_all(m, &c->levels, &c->lanes, &c->levels, i64(m, 1), NUMBERS);
    lw_ir_else(b);
    copy_lanes(m, &c->lanes, &c->levels, i64(m, 1));
    lw_ir_end(b);
    lw_ir_end(b);
}

static lw_status
chunks(maker *m, lw_error *err)
{
    chunk c = {.width = width_of(m->r)};
    lw_ref count, acc[LW_REDUCE_PARTS];
    arrays in, to;
    lw_for loop;

    start(m, "lw_chunks", true);
    c.n = m->n;
    c.block = lw_ir_param_add(&m->b, LW_DT_i64, 0, "block");
    count = lw_ir_param_add(&m->b, LW_DT_i64, 0, "count");
    c.depth = lw_ir_slot(&m->b, LW_DT_i64);
    c.blocks = lw_ir_slot(&m->b, LW_DT_i64);
    c.lanes = local_bank(m, c.width);
    c.levels = local_bank(m, c.width * LEVELS);
    in = contiguous(m, m->operand, m->n_operands, 0);
    to = accumulators(m);
    loop = lw_ir_for(&m->b, i64(m, 0), count, i64(m, 1), NUMBERS);
    c.in = in;
    for (uint32_t i = 0; i < in.n; i++)
        c.in.address[i] = lw_ir_offset(&m->b, in.address[i],
                                       lw_ir_mul(&m->b, loop.i, stride(m, i, in.dtype[i])));
    one_chunk(m, &c);
    load(m, &c.levels, i64(m, 0), acc);
    store(m, &to, loop.i, acc);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

lw_status
lw_reduce_chunk_loops(maker *m, lw_error *err)
{
    bool searched = m->extreme.kind != LW_NO_EXTREME && m->r->n_acc > 1;

    return m->r->commutative && !m->r->indexed && !searched ? chunks(m, err) : LW_OK;
}
