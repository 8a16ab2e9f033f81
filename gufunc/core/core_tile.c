/* Larger cores of one thread each: a block fetches a tile of items into shared memory, its
 * threads work on one item each, and the block stores what they have written. */
#include "gufunc/core/core_maker.h"

#include <assert.h>

enum {
    LANES = 32,
    AT_ONCE = 4, /* loads of a thread that are under way at the same time */
    WHOLE = 8 /* from so many items on, a warp moves each core; of fewer items, the whole block
                 does */
};

/* Bytes of an operand's core (u32). */
static lw_ref
core_bytes(lw_core_maker *k, int operand)
{
    const lw_core_operand *core = &k->loop->layout->operands[operand];
    lw_ref bytes = lw_maker_u32(k, lw_dtypes[k->loop->types[operand]].size_bytes);

    for (uint32_t d = 0; d < core->n; d++)
        bytes = lw_ir_mul(&k->b, bytes,
                          lw_ir_cast(&k->b, LW_DT_u32, lw_maker_extent(k, core->dims[d])));
    return bytes;
}

/* Divides the shared memory: operand after operand, each with a tile of items at the distance
 * of lw_core_pitch_of. */
static void
add_shared(lw_core_maker *k)
{
    lw_builder *b = &k->b;
    lw_ref at = lw_ir_shared(b, LW_CORE_SHARED, 16);

    for (int i = 0; i < k->n; i++) {
        uint32_t itemsize = lw_dtypes[k->loop->types[i]].size_bytes;
        uint32_t word = itemsize < 4 ? 4 : itemsize;
        lw_ref bytes, even, all;
        if (k->key->operands[i].access != LW_ACCESS_TILED)
            continue;
        bytes = core_bytes(k, i);
        even = lw_ir_compare(b, LW_OP_EQ, lw_ir_and(b, bytes, lw_maker_u32(k, 2 * word - 1)),
                             lw_maker_u32(k, 0));
        k->pitch[i] = lw_ir_add(
            b, bytes, lw_ir_select(b, even, lw_maker_u32(k, word), lw_maker_u32(k, 0)));
        k->shared[i] = at;
        all = lw_ir_add(b, lw_ir_mul(b, k->pitch[i], k->tile), lw_maker_u32(k, 15));
        at = lw_maker_at_byte(k, at, lw_ir_and(b, all, lw_maker_u32(k, ~15U)));
    }
}

/* Threads that move a core together: how many there are, and which of them this one is. */
typedef struct team {
    lw_ref lanes, lane;
} team;

/* Moves an operand's core. Threads behind its end load its last part again, and do not store
 * it. */
static void
move_core(lw_core_maker *k, int operand, lw_ref from, lw_ref to, const team *by)
{
    lw_builder *b = &k->b;
    lw_dtype part = lw_dtype_memory_part(k->loop->types[operand]);
    uint32_t size = lw_dtypes[part].size_bytes;
    lw_ref bytes = core_bytes(k, operand), n = lw_ir_div(b, bytes, lw_maker_u32(k, size));
    lw_ref last = lw_ir_sub(b, n, lw_maker_u32(k, 1));
    lw_ref step = lw_ir_mul(b, by->lanes, lw_maker_u32(k, AT_ONCE));
    lw_ref slot = lw_ir_slot(b, LW_DT_u32), at, offset[AT_ONCE], inside[AT_ONCE], got[AT_ONCE];

    lw_ir_set(b, slot, by->lane);
    at = lw_ir_while(b, slot, n);
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        lw_ref mine = lw_ir_add(b, at, lw_ir_mul(b, by->lanes, lw_maker_u32(k, i)));
        inside[i] = lw_ir_compare(b, LW_OP_LT, mine, n);
        offset[i] = lw_ir_mul(b, lw_ir_select(b, inside[i], mine, last), lw_maker_u32(k, size));
        got[i] = lw_ir_load(b, part, 1, lw_maker_at_byte(k, from, offset[i]), 0, 0);
    }
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        if (i)
            lw_ir_if(b, inside[i]);
        lw_ir_store(b, lw_maker_at_byte(k, to, offset[i]), got[i], 0, 0);
        if (i)
            lw_ir_end(b);
    }
    lw_ir_latch(b);
    lw_ir_while_end(b, slot, step);
}

static bool
is_moved(const lw_core_maker *k, int operand, bool fetch)
{
    bool output = operand >= k->loop->nin;

    return k->key->operands[operand].access == LW_ACCESS_TILED &&
           (fetch ? !output || k->key->operands[operand].keep
                  : output || k->loop->writable[operand]);
}

/* Moves the cores of all tiled operands of n items, by `lanes` threads each. */
static void
move_tile(lw_core_maker *k, lw_ref first, lw_ref n, lw_ref lanes, bool fetch)
{
    lw_builder *b = &k->b;
    const team by = {.lanes = lanes, .lane = lw_ir_rem(b, k->tid, lanes)};
    lw_ref step = lw_ir_div(b, lw_maker_u32(k, k->key->block), lanes);
    lw_ref slot = lw_ir_slot(b, LW_DT_u32), item;
    lw_ref coordinate[LW_CORE_LOOP_DIMS];
    bool any = false;

    for (int i = 0; i < k->n; i++)
        any |= is_moved(k, i, fetch);
    if (!any)
        return;
    lw_ir_set(b, slot, lw_ir_div(b, k->tid, lanes));
    item = lw_ir_while(b, slot, n);
    lw_maker_decompose(k, lw_ir_add(b, first, item), coordinate);
    for (int i = 0; i < k->n; i++) {
        lw_ref far, near;
        if (!is_moved(k, i, fetch))
            continue;
        far = lw_maker_address(k, i, coordinate);
        near = lw_maker_at_byte(k, k->shared[i], lw_ir_mul(b, item, k->pitch[i]));
        move_core(k, i, fetch ? far : near, fetch ? near : far, &by);
    }
    lw_ir_latch(b);
    lw_ir_while_end(b, slot, step);
}

void
lw_maker_tile(lw_core_maker *k)
{
    lw_builder *b = &k->b;
    lw_ref block = lw_ir_cast(b, LW_DT_u32, lw_ir_sreg(b, LW_SREG_CTAID_X)), first, n, lanes;

    assert(k->key->tiled && k->key->block % LANES == 0);
    add_shared(k);
    first = lw_ir_mul(b, block, k->tile);
    n = lw_ir_sub(b, k->items, first);
    n = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, n, k->tile), n, k->tile);
    lanes = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, n, lw_maker_u32(k, WHOLE)),
                         lw_maker_u32(k, k->key->block), lw_maker_u32(k, LANES));
    move_tile(k, first, n, lanes, true);
    lw_ir_barrier(b);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, k->tid, n));
    lw_maker_item(k, lw_ir_add(b, first, k->tid));
    lw_ir_end(b);
    lw_ir_barrier(b);
    move_tile(k, first, n, lanes, false);
}
