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
    arrays in;    /* the operands, from the chunk's first element on */
    arrays lanes; /* accumulators of the block under way */
    arrays few;   /* those of which only the first are taken: the same, or if these are in
                     registers, memory that they are copied to */
    arrays all;   /* those of the blocks before it */
    bool in_registers;
    uint32_t width, flags; /* flags: of loops over all lanes */
    lw_ref n, block;
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

/* Copies the accumulators of all lanes. */
static void
copy_all(maker *m, const chunk *c, const arrays *from, const arrays *to)
{
    lw_ref x[LW_REDUCE_PARTS];
    lw_reduce_all_lanes l = lw_reduce_all_lanes_begin(m, c->flags);
    arrays from_here = lw_reduce_moved(m, from, l.first);
    arrays to_here = lw_reduce_moved(m, to, l.first);

    load(m, &from_here, l.lanes.i, x);
    store(m, &to_here, l.lanes.i, x);
    lw_reduce_all_lanes_end(m, &l);
}

static void
first_row(maker *m, const chunk *c, lw_ref at)
{
    lw_ref x[LW_REDUCE_PARTS];
    lw_reduce_all_lanes l = lw_reduce_all_lanes_begin(m, c->flags);
    arrays in = lw_reduce_moved(m, &c->in, lw_ir_add(&m->b, at, l.first));
    arrays lanes = lw_reduce_moved(m, &c->lanes, l.first);

    map_at(m, &in, l.lanes.i, x);
    store(m, &lanes, l.lanes.i, x);
    lw_reduce_all_lanes_end(m, &l);
}

/* Takes n elements from `at` on, one for each of the first lanes: they make the accumulators of
 * these, or are combined with them. */
static void
few_elements(maker *m, const chunk *c, lw_ref at, lw_ref n, bool are_first)
{
    lw_ref x[LW_REDUCE_PARTS];
    lw_for loop = lw_ir_for(&m->b, i64(m, 0), n, i64(m, 1), VECTORS);

    map_at(m, &c->in, lw_ir_add(&m->b, at, loop.i), x);
    if (are_first)
        store(m, &c->few, loop.i, x);
    else
        combine_into(m, &c->few, loop.i, x);
    lw_ir_for_end(&m->b, &loop);
}

/* Takes the elements at … at + n - 1, which are fewer than four rows: row by row, the last of
 * which may not be whole. */
static void
last_rows(maker *m, const chunk *c, lw_ref at, lw_ref n)
{
    lw_builder *b = &m->b;
    lw_ref width = i64(m, c->width), rest, count;
    lw_for loop;

    lw_ir_if(b, lw_ir_compare(b, LW_OP_GT, n, i64(m, 0)));
    if (c->in_registers)
        copy_all(m, c, &c->lanes, &c->few);
    loop = lw_ir_for(b, i64(m, 0), n, width, NUMBERS);
    rest = lw_ir_sub(b, n, loop.i);
    count = lw_ir_smaller(b, rest, width);
    few_elements(m, c, lw_ir_add(b, at, loop.i), count, false);
    lw_ir_for_end(b, &loop);
    if (c->in_registers)
        copy_all(m, c, &c->few, &c->lanes);
    lw_ir_end(b);
}

/* Takes the elements at … at + n - 1, which are a row or more: the first row, four rows at a
 * time, and the rest. */
static void
block_into_lanes(maker *m, const chunk *c, lw_ref at, lw_ref n)
{
    lw_builder *b = &m->b;
    lw_ref four;
    lw_for loop;

    first_row(m, c, at);
    at = lw_ir_add(b, at, i64(m, c->width));
    n = lw_ir_sub(b, n, i64(m, c->width));
    four = lw_ir_and(b, n, i64(m, -4 * (int64_t)c->width));
    loop = lw_ir_for(b, i64(m, 0), four, i64(m, 4 * (int64_t)c->width), NUMBERS);
    lw_reduce_four_rows(m, &c->in, &c->lanes, lw_ir_add(b, at, loop.i), LW_LOOP_UNROLL_FULL);
    lw_ir_for_end(b, &loop);
    last_rows(m, c, lw_ir_add(b, at, four), lw_ir_sub(b, n, four));
}

/* ---- combining blocks ---- */

/* Combines the accumulators of a block with those of the blocks before it, which stay in
 * memory: that takes fewer registers, and costs no more than an addition to each lane. */
static void
join_block(maker *m, const chunk *c, lw_ref is_first)
{
    lw_builder *b = &m->b;
    lw_ref x[LW_REDUCE_PARTS], y[LW_REDUCE_PARTS];
    lw_reduce_all_lanes l;
    arrays left, right;

    lw_ir_if(b, is_first);
    copy_all(m, c, &c->lanes, &c->all);
    lw_ir_else(b);
    l = lw_reduce_all_lanes_begin(m, c->flags);
    left = lw_reduce_moved(m, &c->all, l.first);
    right = lw_reduce_moved(m, &c->lanes, l.first);
    load(m, &left, l.lanes.i, x);
    load(m, &right, l.lanes.i, y);
    lw_reduce_emit_combine(b, &m->body, x, y, x);
    store(m, &left, l.lanes.i, x);
    lw_reduce_all_lanes_end(m, &l);
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
    right = lw_reduce_moved(m, lanes, lw_ir_sub(b, now, half));
    lw_reduce_combine_all(m, lanes, &right, lanes, half, NUMBERS);
    lw_ir_set(b, left, lw_ir_sub(b, now, half));
    lw_ir_latch(b);
    lw_ir_end(b);
}

/* ---- one chunk ---- */

/* Takes all blocks. If the last one does not fill all lanes, its accumulators are in `few`.
 * Gives how many these are. */
static lw_ref
take_blocks(maker *m, const chunk *c)
{
    lw_builder *b = &m->b;
    lw_ref odd = lw_ir_slot(b, LW_DT_i64), width = i64(m, c->width), rest, n, full;
    lw_for loop;

    lw_ir_set(b, odd, i64(m, 0));
    loop = lw_ir_for(b, i64(m, 0), c->n, c->block, NUMBERS);
    rest = lw_ir_sub(b, c->n, loop.i);
    n = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, rest, c->block), rest, c->block);
    full = lw_ir_compare(b, LW_OP_GE, n, width);
    lw_ir_if(b, full);
    block_into_lanes(m, c, loop.i, n);
    join_block(m, c, lw_ir_compare(b, LW_OP_EQ, loop.i, i64(m, 0)));
    lw_ir_else(b);
    few_elements(m, c, loop.i, n, true);
    lw_ir_set(b, odd, n);
    lw_ir_end(b);
    lw_ir_for_end(b, &loop);
    return lw_ir_get(b, odd);
}

/* Reduces a chunk; the first lane of `all` holds the accumulator then. */
static void
one_chunk(maker *m, const chunk *c)
{
    lw_builder *b = &m->b;
    lw_ref odd = take_blocks(m, c), any = lw_ir_compare(b, LW_OP_GE, c->n, i64(m, c->width));
    arrays right;

    assert(c->width >= 16 && (c->width & (c->width - 1)) == 0);
    lw_ir_if(b, any);
    for (uint32_t n = c->width; n > 1; n /= 2) { /* in the order of join_lanes */
        right = lw_reduce_moved(m, &c->all, i64(m, n / 2));
        lw_reduce_combine_all(m, &c->all, &right, &c->all, i64(m, n / 2), VECTORS);
    }
    lw_ir_end(b);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GT, odd, i64(m, 0)));
    join_lanes(m, &c->few, odd);
    lw_ir_if(b, any);
    lw_reduce_combine_all(m, &c->all, &c->few, &c->all, i64(m, 1), NUMBERS);
    lw_ir_else(b);
    copy_lanes(m, &c->few, &c->all, i64(m, 1));
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
    c.lanes = local_bank(m, c.width);
    c.in_registers = lw_reduce_lanes_in_registers(m->r);
    c.flags = c.in_registers ? LW_LOOP_UNROLL_FULL : LW_LOOP_NO_UNROLL;
    c.few = c.in_registers ? local_bank(m, c.width) : c.lanes;
    c.all = local_bank(m, c.width);
    in = contiguous(m, m->operand, m->n_operands, 0);
    to = accumulators(m);
    loop = lw_ir_for(&m->b, i64(m, 0), count, i64(m, 1), NUMBERS);
    c.in = in;
    for (uint32_t i = 0; i < in.n; i++)
        c.in.address[i] = lw_ir_offset(&m->b, in.address[i],
                                       lw_ir_mul(&m->b, loop.i, stride(m, i, in.dtype[i])));
    one_chunk(m, &c);
    load(m, &c.all, i64(m, 0), acc);
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
