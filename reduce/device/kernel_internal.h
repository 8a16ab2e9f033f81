/* What the makers of both kernels for GPUs share: the frame of a kernel, and accumulators as
 * one value for each part. device_*.c make the kernel of reductions and of slices, scan_*.c
 * that of scans and of runs of equal keys. Only these files include it.
 *
 * A kernel for the simulator is a function for the host that reads its parameters from an array
 * of words and returns 0. */
#ifndef LW_REDUCE_DEVICE_KERNEL_INTERNAL_H
#define LW_REDUCE_DEVICE_KERNEL_INTERNAL_H

#include "core/tables/kernel_ops.h"
#include "reduce/device/device_kernel.h"
#include "reduce/function/body_ir.h"

#include <assert.h>
#include <string.h>

enum { WARP = 32, MOST_VECTOR = 16 /* elements of an access */ };

/* A value, a slot or an address for each part (scalar) of an accumulator. */
typedef lw_ref acc_parts[LW_REDUCE_PARTS];

/* A kernel that is being emitted. */
typedef struct maker {
    lw_builder b;
    lw_module *module;
    const lw_reduction *r;
    const lw_reduce_key *key;
    lw_reduce_body body;
    lw_ref words; /* simulated: the address of the parameters */
    uint32_t n_params;
    uint32_t n_parts;
    lw_dtype part[LW_REDUCE_PARTS];
    bool adds_small; /* lw_reduce_adds_small; accumulators have no further parts */

    /* parameters that both kernels have; [n_in] belongs to the mask */
    lw_ref elements, inner;
    lw_ref operand[LW_REDUCE_MOST + 1], step[LW_REDUCE_MOST + 1];
    lw_ref inner_step[LW_REDUCE_MOST + 1], out[LW_REDUCE_MOST];
    /* this thread: `place` is its place in shared memory, is_valid whether its result or row
     * exists */
    lw_ref tid, lane, place, is_valid;
    /* slots of a combination's result, where an accumulator may lack elements or begin a run */
    acc_parts joined;

    /* ---- of reductions and slices ---- */

    lw_ref results, items, per_block, splits;
    lw_ref kept_step[LW_REDUCE_MOST + 1];
    lw_ref n_slices, slices;                  /* of slices */
    lw_ref head;                              /* with key->head */
    lw_ref row, row_step[LW_REDUCE_MOST + 1]; /* folded */
    acc_parts partial, initial;
    lw_ref counters;
    acc_parts shared;            /* shared memory: a place for each thread's slots */
    acc_parts slot[MOST_VECTOR]; /* the accumulators of the thread's results */
    lw_ref result, split;

    /* ---- of scans ---- */

    lw_ref rows, tiles, strips;
    lw_ref outer_step[LW_REDUCE_MOST];
    acc_parts seed;
    lw_ref keys, key_step, keys_out, n_runs; /* with key->keyed */
    lw_ref counter, state;
    lw_ref distance; /* with key->prefetch: to the tile whose elements are brought */
    uint32_t n_loaded;
    /* sizes of a block: threads of a row, rows, elements of a thread, threads. pad: elements
     * from one thread's to the next in shared memory, with a gap against bank conflicts */
    int64_t lanes, strip_rows, thread_items, threads, pad;
    int64_t warp_lanes; /* lanes of a row that are in one warp */
    /* shared memory: the elements, then the sums of threads, of warps and of rows */
    acc_parts item_at, thread_at, warp_at, sum_at;
    acc_parts share_at; /* with columns: sums of some of the tiles, and of some of the groups */
    acc_parts seen_at;  /* what comes before a group, then the sums of warps */
    lw_ref drawn;
    /* slots: the thread's sum, a second sum, the sum before the tile; marked words */
    acc_parts sum, other, before;
    lw_ref word[2 * LW_REDUCE_PARTS], rest_word[2 * LW_REDUCE_PARTS];
    lw_ref in_block, number, tile, strip;
    lw_ref first, count, row_out; /* of the tile: its first element, how many it has; where the
                                     row's results begin */
    lw_ref is_full, is_led;       /* is_led: something comes before the tile */
} maker;

/* Makes a new module with the reduction's functions and a kernel of this name, whose body
 * `emit` writes. max_registers: a thread's; 0: no limit. */
lw_status lw_reduce_make_kernel(const lw_reduction *r, const lw_reduce_key *key,
                                const char *symbol, int max_registers, void (*emit)(maker *m),
                                lw_module **out, lw_error *err);
/* Adds the next parameter and gives its value. */
lw_ref lw_reduce_param(maker *m, lw_dtype type, uint32_t flags, const char *name);

static inline lw_ref
size_param(maker *m, const char *name)
{
    return lw_reduce_param(m, LW_DT_i64, 0, name);
}

/* A parameter that is the address of memory which is only read. */
static inline lw_ref
input_param(maker *m, const char *name)
{
    return lw_reduce_param(m, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, name);
}

/* ---- arithmetic ---- */

static inline lw_ref
i64(maker *m, int64_t value)
{
    return lw_ir_int(&m->b, LW_DT_i64, value);
}

static inline lw_ref
i32(maker *m, int64_t value)
{
    return lw_ir_int(&m->b, LW_DT_i32, value);
}

static inline lw_ref
add(maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_add(&m->b, x, y);
}

static inline lw_ref
minus(maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_sub(&m->b, x, y);
}

static inline lw_ref
times(maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_mul(&m->b, x, y);
}

static inline lw_ref
is_less(maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_compare(&m->b, LW_OP_LT, x, y);
}

static inline lw_ref
is_equal(maker *m, lw_ref x, int64_t y)
{
    return lw_ir_compare(&m->b, LW_OP_EQ, x, i64(m, y));
}

static inline lw_ref
is_above(maker *m, lw_ref x, int64_t y)
{
    return lw_ir_compare(&m->b, LW_OP_GT, x, i64(m, y));
}

/* Whether an i32 is not 0: with key->masked, the last part of an accumulator is one that says
 * whether there was an element. */
static inline lw_ref
is_set(maker *m, lw_ref flag)
{
    return lw_ir_compare(&m->b, LW_OP_NE, flag, i32(m, 0));
}

static inline lw_ref
both(maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_and(&m->b, x, y);
}

static inline lw_ref
smaller(maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_select(&m->b, is_less(m, x, y), x, y);
}

/* x % y and x / y of a value that is not negative, y a power of two. */
static inline lw_ref
low(maker *m, lw_ref x, int64_t y)
{
    return lw_ir_and(&m->b, x, i64(m, y - 1));
}

static inline lw_ref
high(maker *m, lw_ref x, int64_t y)
{
    int64_t log = 0;

    while (INT64_C(1) << log < y)
        log++;
    assert(INT64_C(1) << log == y);
    return lw_ir_shr(&m->b, x, i64(m, log));
}

/* A special register as i64. */
static inline lw_ref
register_of(maker *m, lw_sreg which)
{
    return lw_ir_cast(&m->b, LW_DT_i64,
                      lw_ir_bitcast(&m->b, LW_DT_u32, lw_ir_sreg(&m->b, which)));
}

static inline void
wait_for_warp(maker *m)
{
    lw_ref all = i32(m, -1);

    lw_ir_kernel_call(&m->b, LW_KOP_syncwarp, LW_DT_void, &all, 1);
}

/* Flags of loads from operands, which do not change while a kernel runs. Code for the simulator
 * must not assume that. */
static inline uint32_t
operand_flags(const maker *m)
{
    return m->key->simulated ? 0 : LW_MEM_INVARIANT;
}

/* ---- accumulators ---- */

static inline void
get(maker *m, const lw_ref *slot, lw_ref *acc)
{
    for (uint32_t i = 0; i < m->n_parts; i++)
        acc[i] = lw_ir_get(&m->b, slot[i]);
}

static inline void
set(maker *m, const lw_ref *slot, const lw_ref *acc)
{
    for (uint32_t i = 0; i < m->n_parts; i++)
        lw_ir_set(&m->b, slot[i], acc[i]);
}

static inline void
copy_slots(maker *m, const lw_ref *to, const lw_ref *from)
{
    acc_parts acc = {0};

    get(m, from, acc);
    set(m, to, acc);
}

static inline void
new_slots(maker *m, lw_ref *slot)
{
    for (uint32_t i = 0; i < m->n_parts; i++)
        slot[i] = lw_ir_slot(&m->b, m->part[i]);
}

/* The address of item `number` of the array of one part. */
static inline lw_ref
at_part(maker *m, const lw_ref *base, uint32_t part, lw_ref number)
{
    lw_ref size = i64(m, lw_dtypes[m->part[part]].size_bytes);

    return lw_ir_offset(&m->b, base[part], times(m, number, size));
}

static inline void
load_parts(maker *m, const lw_ref *base, lw_ref number, lw_ref *acc)
{
    for (uint32_t i = 0; i < m->n_parts; i++)
        acc[i] = lw_ir_load(&m->b, m->part[i], 1, at_part(m, base, i, number), 0, 0);
}

static inline void
store_parts(maker *m, const lw_ref *base, lw_ref number, const lw_ref *acc)
{
    for (uint32_t i = 0; i < m->n_parts; i++)
        lw_ir_store(&m->b, at_part(m, base, i, number), acc[i], 0, 0);
}

/* Combines x and y, of which x comes first; out may be either. The last part of an accumulator
 * says, with key->masked, whether it has an element, and with key->keyed, how many runs of
 * equal keys begin in it. The user's combine never sees an accumulator without an element, nor
 * two of different runs. */
void lw_reduce_combine(maker *m, const lw_ref *x, const lw_ref *y, lw_ref *out);
/* slot = x . slot */
void lw_reduce_combine_before(maker *m, const lw_ref *x, const lw_ref *slot);
/* slot = x . slot where `is_set`; else slot = x */
void lw_reduce_put_before(maker *m, const lw_ref *x, const lw_ref *slot, lw_ref is_set);
/* slot = slot . x */
void lw_reduce_combine_after(maker *m, const lw_ref *slot, const lw_ref *x);
/* x[0] = x[0] . … . x[n - 1], in a tree of neighbours, which keeps the order and shortens
 * chains of roundings. Each is of one element, or of a few that were combined so. */
void lw_reduce_combine_tree(maker *m, uint32_t n, acc_parts *x);

#endif
