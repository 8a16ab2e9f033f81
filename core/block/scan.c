#include "core/block/scan.h"

#include "core/block/shuffle.h"
#include "core/tables/intrinsics.h"

#include <assert.h>
#include <math.h>

enum { WARP = 32, MOST_SCANS = 16, QUAD = 4 };

/* ---- operations ---- */

lw_ref
lw_block_combine(lw_builder *b, const lw_associative *one, lw_ref x, lw_ref y)
{
    lw_ref both[2] = {x, y};

    switch (one->op) {
    case LW_OP_MUL: return lw_ir_mul(b, x, y);
    case LW_OP_AND: return lw_ir_and(b, x, y);
    case LW_OP_OR: return lw_ir_or(b, x, y);
    case LW_OP_XOR: return lw_ir_xor(b, x, y);
    case LW_OP_LT:
    case LW_OP_GT: return lw_ir_select(b, lw_ir_compare(b, one->op, y, x), y, x);
    case LW_OP_INTRINSIC: return lw_ir_intrinsic(b, one->intrinsic, lw_ir_type(b, x), both, 2);
    default: return lw_ir_add(b, x, y);
    }
}

static lw_ref
furthest(lw_builder *b, lw_dtype type, bool largest)
{
    unsigned bits = 8u * lw_dtypes[type].size_bytes;
    uint64_t ones = UINT64_MAX >> (64 - bits), top = (uint64_t)1 << (bits - 1);

    if (lw_is_float(type))
        return lw_ir_float(b, type, largest ? HUGE_VAL : -HUGE_VAL);
    if (lw_is_signed(type))
        return lw_ir_int(b, type, largest ? (int64_t)(top - 1) : -(int64_t)(top - 1) - 1);
    return lw_ir_bits(b, type, largest ? ones : 0);
}

/* -0.0 leaves every float unchanged in a sum; 0.0 would change -0.0. */
lw_ref
lw_block_identity(lw_builder *b, const lw_associative *one, lw_dtype type)
{
    switch (one->op) {
    case LW_OP_MUL:
        return lw_is_float(type) ? lw_ir_float(b, type, 1.0) : lw_ir_int(b, type, 1);
    case LW_OP_AND: return lw_ir_not(b, lw_ir_int(b, type, 0));
    case LW_OP_LT: return furthest(b, type, true);
    case LW_OP_GT: return furthest(b, type, false);
    case LW_OP_INTRINSIC: return furthest(b, type, one->intrinsic == LW_IN_minimum);
    default: return lw_is_float(type) ? lw_ir_float(b, type, -0.0) : lw_ir_int(b, type, 0);
    }
}

/* ---- between threads ---- */

static lw_ref
cell(lw_builder *b, lw_ref base, lw_ref number, int64_t size)
{
    lw_ref bytes =
        lw_ir_mul(b, lw_ir_cast(b, LW_DT_i64, number), lw_ir_int(b, LW_DT_i64, size));

    return lw_ir_offset(b, base, bytes);
}

static lw_ref
from_below(lw_builder *b, lw_ref value, int64_t lanes)
{
    return lw_warp_shuffle(b, LW_KOP_shfl_up, value, lw_ir_int(b, LW_DT_i32, lanes));
}

static lw_ref
of_lane(lw_builder *b, lw_ref value, lw_ref lane)
{
    return lw_warp_shuffle(b, LW_KOP_shfl_idx, value, lane);
}

/* ---- terms of scans ---- */

typedef lw_scan_term term;

lw_ref
lw_scan_apply(lw_builder *b, const lw_associative *one, term t, lw_ref x)
{
    if (!t.factor)
        return lw_block_combine(b, one, x, t.value);
    if (lw_is_float(lw_ir_type(b, x)))
        return lw_ir_fma(b, t.factor, x, t.value);
    return lw_ir_add(b, lw_ir_mul(b, t.factor, x), t.value);
}

/* x, then y. */
static term
combined(lw_builder *b, const lw_associative *one, term x, term y)
{
    return (term){.value = lw_scan_apply(b, one, y, x.value),
                  .factor = y.factor ? lw_ir_mul(b, x.factor, y.factor) : 0};
}

static term
identity_like(lw_builder *b, const lw_scan *scan)
{
    const lw_associative product = {.op = LW_OP_MUL};

    return (term){.value = lw_block_identity(b, scan->one, scan->type),
                  .factor = scan->term.factor ? lw_block_identity(b, &product, scan->type) : 0};
}

static term
chosen(lw_builder *b, lw_ref condition, term yes, term no)
{
    return (term){.value = lw_ir_select(b, condition, yes.value, no.value),
                  .factor = yes.factor ? lw_ir_select(b, condition, yes.factor, no.factor) : 0};
}

static term
term_from_below(lw_builder *b, term t, int64_t lanes)
{
    return (term){.value = from_below(b, t.value, lanes),
                  .factor = t.factor ? from_below(b, t.factor, lanes) : 0};
}

static term
term_of_lane(lw_builder *b, term t, lw_ref lane)
{
    return (term){.value = of_lane(b, t.value, lane),
                  .factor = t.factor ? of_lane(b, t.factor, lane) : 0};
}

/* A scan within a warp (Hillis and Steele, 1986) over `n` lanes that are `apart` from one
 * another: each gets the total of all of them up to it. at: the thread's place among them. */
static term
warp_scan(lw_builder *b, const lw_associative *one, term t, lw_ref at, int64_t n, int64_t apart)
{
    for (int64_t d = 1; d < n; d *= 2) {
        term below = term_from_below(b, t, d * apart);
        lw_ref far = lw_ir_compare(b, LW_OP_GE, at, lw_ir_int(b, LW_DT_i32, d));
        t = chosen(b, far, combined(b, one, below, t), t);
    }
    return t;
}

/* ---- blocks ---- */

#ifndef NDEBUG
static bool
is_whole(const lw_thread_block *block)
{
    return block->n_threads >= WARP && (block->n_threads & (block->n_threads - 1)) == 0;
}
#endif

lw_ref
lw_scan_index(lw_builder *b, lw_ref tid, uint32_t times, uint32_t k)
{
    lw_dtype type = lw_ir_type(b, tid);
    lw_ref lane = lw_ir_and(b, tid, lw_ir_int(b, type, WARP - 1));
    lw_ref warp = lw_ir_mul(b, lw_ir_sub(b, tid, lane), lw_ir_int(b, type, times));

    return lw_ir_add(b, lw_ir_add(b, warp, lane), lw_ir_int(b, type, (int64_t)k * WARP));
}

/* One variable's terms of a thread, as they are scanned within its warp. */
typedef struct warp_terms {
    /* the terms; by quads, those of the row that is the thread's */
    term at[LW_SCAN_MOST_TIMES];
    term below[LW_SCAN_MOST_TIMES]; /* what comes before them in the warp; by quads, before the
                                       first */
    uint32_t times;
    bool quads;
} warp_terms;

/* Scans the k-th terms of all lanes, for each k. */
static void
scan_rows(lw_builder *b, lw_scan *scans, uint32_t n, lw_ref lane, warp_terms *w)
{
    lw_ref is_first = lw_ir_compare(b, LW_OP_EQ, lane, lw_ir_int(b, LW_DT_i32, 0));
    lw_ref last = lw_ir_int(b, LW_DT_i32, WARP - 1);
    const lw_associative *one = scans->one;
    term total = {0}, ends[LW_SCAN_MOST_TIMES];

    for (uint32_t k = 0; k < w->times; k++) {
        term all = warp_scan(b, one, scans[k * n].term, lane, WARP, 1);
        w->below[k] = chosen(b, is_first, identity_like(b, scans), term_from_below(b, all, 1));
        ends[k] = term_of_lane(b, all, last);
    }
    for (uint32_t k = 0; k < w->times; k++) {
        if (k)
            w->below[k] = combined(b, one, total, w->below[k]);
        total = k ? combined(b, one, total, ends[k]) : ends[k];
    }
    scans->total = total;
}

/* Exchanges x of the lanes without the bit `apart` for y of those that are so far above. */
static void
exchange(lw_builder *b, lw_ref is_upper, int64_t apart, lw_ref *x, lw_ref *y)
{
    lw_ref given = lw_warp_shuffle(b, LW_KOP_shfl_xor, lw_ir_select(b, is_upper, *x, *y),
                                   lw_ir_int(b, LW_DT_i32, apart));

    *x = lw_ir_select(b, is_upper, given, *x);
    *y = lw_ir_select(b, is_upper, *y, given);
}

static lw_ref
has_bit(lw_builder *b, lw_ref lane, int64_t bit)
{
    return lw_ir_compare(b, LW_OP_NE, lw_ir_and(b, lane, lw_ir_int(b, LW_DT_i32, bit)),
                         lw_ir_int(b, LW_DT_i32, 0));
}

/* Transposes the matrix of 4 values of each of 4 neighbouring lanes. */
static void
transpose(lw_builder *b, lw_ref lane, lw_ref *v)
{
    lw_ref odd = has_bit(b, lane, 1), high = has_bit(b, lane, 2);

    exchange(b, odd, 1, &v[0], &v[1]);
    exchange(b, odd, 1, &v[2], &v[3]);
    exchange(b, high, 2, &v[0], &v[2]);
    exchange(b, high, 2, &v[1], &v[3]);
}

static void
transpose_terms(lw_builder *b, lw_ref lane, term *t)
{
    lw_ref values[QUAD], factors[QUAD];

    for (int i = 0; i < QUAD; i++) {
        values[i] = t[i].value;
        factors[i] = t[i].factor;
    }
    transpose(b, lane, values);
    if (factors[0])
        transpose(b, lane, factors);
    for (int i = 0; i < QUAD; i++)
        t[i] = (term){.value = values[i], .factor = factors[0] ? factors[i] : 0};
}

/* Sets *below to the total of the first `row` of 4 rows, whose totals are those of the last
 * lanes of the rows, and gives the total of all. */
static term
join_rows(lw_builder *b, lw_scan *scans, term all, lw_ref row, term *below)
{
    term total = term_of_lane(b, all, lw_ir_int(b, LW_DT_i32, WARP - QUAD));

    *below = identity_like(b, scans);
    for (int64_t k = 1; k < QUAD; k++) {
        lw_ref is = lw_ir_compare(b, LW_OP_EQ, row, lw_ir_int(b, LW_DT_i32, k));
        *below = chosen(b, is, total, *below);
        total = combined(b, scans->one, total,
                         term_of_lane(b, all, lw_ir_int(b, LW_DT_i32, WARP - QUAD + k)));
    }
    return total;
}

/* The same with fewer shuffles, for multiples of 4 terms: 4 lanes exchange their terms so that
 * each has 4 consecutive ones. Lane 4*q + j then has terms 4*q … 4*q + 3 of row j. */
static void
scan_quads(lw_builder *b, lw_scan *scans, lw_ref lane, warp_terms *w)
{
    const lw_associative *one = scans->one;
    lw_ref quad = lw_ir_shr(b, lane, lw_ir_int(b, LW_DT_i32, 2));
    lw_ref row = lw_ir_and(b, lane, lw_ir_int(b, LW_DT_i32, QUAD - 1));
    lw_ref is_first = lw_ir_compare(b, LW_OP_EQ, quad, lw_ir_int(b, LW_DT_i32, 0));
    term total = {0};

    for (uint32_t k = 0; k < w->times; k += QUAD) {
        term all, below, rows, own;
        transpose_terms(b, lane, w->at + k);
        all = w->at[k];
        for (uint32_t i = 1; i < QUAD; i++)
            all = combined(b, one, all, w->at[k + i]);
        all = warp_scan(b, one, all, quad, WARP / QUAD, QUAD);
        below = chosen(b, is_first, identity_like(b, scans), term_from_below(b, all, QUAD));
        own = join_rows(b, scans, all, row, &rows);
        below = combined(b, one, rows, below);
        w->below[k] = k ? combined(b, one, total, below) : below;
        total = k ? combined(b, one, total, own) : own;
    }
    scans->total = total;
}

static void
scan_warp(lw_builder *b, lw_scan *scans, uint32_t n, lw_ref lane, warp_terms *w)
{
    for (uint32_t k = 0; k < w->times; k++)
        w->at[k] = scans[k * n].term;
    w->quads = w->times % QUAD == 0;
    if (w->quads)
        scan_quads(b, scans, lane, w);
    else
        scan_rows(b, scans, n, lane, w);
}

/* Sets `before` of a variable's terms. start: its value before the warp's first term. */
static void
put_before(lw_builder *b, lw_scan *scans, uint32_t n, lw_ref lane, const warp_terms *w,
           lw_ref start)
{
    lw_ref x[LW_SCAN_MOST_TIMES] = {0};

    for (uint32_t k = 0; k < w->times; k++)
        x[k] = w->quads && k % QUAD ? lw_scan_apply(b, scans->one, w->at[k - 1], x[k - 1])
                                    : lw_scan_apply(b, scans->one, w->below[k], start);
    for (uint32_t k = 0; k < w->times && w->quads; k += QUAD)
        transpose(b, lane, x + k);
    for (uint32_t k = 0; k < w->times; k++)
        scans[k * n].before = x[k];
}

/* Where a thread is: its lane, and its warp among those of the block. */
typedef struct warp_place {
    lw_ref lane, warp; /* i32 */
    int64_t n_warps;
} warp_place;

/* Combines the warps' totals, which are in shared memory: each warp scans all of them, so that
 * no further barrier is needed. `factors` is the distance of factors from values. Returns the
 * total of the warps before this one. */
static term
scan_warps(lw_builder *b, lw_scan *s, lw_ref shared, int64_t factors, const warp_place *at)
{
    lw_ref lane = at->lane, warp = at->warp;
    int64_t n_warps = at->n_warps;
    lw_ref number = lw_ir_and(b, lane, lw_ir_int(b, LW_DT_i32, n_warps - 1));
    term total = {0}, front;
    lw_ref is_first = lw_ir_compare(b, LW_OP_EQ, warp, lw_ir_int(b, LW_DT_i32, 0));
    lw_ref previous = lw_ir_select(b, is_first, lw_ir_int(b, LW_DT_i32, 0),
                                   lw_ir_sub(b, warp, lw_ir_int(b, LW_DT_i32, 1)));

    shared = cell(b, shared, number, lw_dtypes[s->type].size_bytes);
    total.value = lw_ir_load(b, s->type, 1, shared, 0, 0);
    if (s->term.factor)
        total.factor = lw_ir_load(
            b, s->type, 1, lw_ir_offset(b, shared, lw_ir_int(b, LW_DT_i64, factors)), 0, 0);
    total = warp_scan(b, s->one, total, lane, n_warps, 1);
    front = chosen(b, is_first, identity_like(b, s), term_of_lane(b, total, previous));
    s->total = term_of_lane(b, total, lw_ir_int(b, LW_DT_i32, n_warps - 1));
    return front;
}

void
lw_block_scan(lw_builder *b, const lw_thread_block *block, lw_scan *scans, uint32_t n,
              uint32_t times, lw_ref turn)
{
    warp_place at = {.n_warps = block->n_threads / WARP};
    int64_t row = 8 * at.n_warps, rows = n;
    lw_ref thread = lw_ir_cast(b, LW_DT_i32, block->tid), shared;
    warp_terms terms[MOST_SCANS];
    term front;

    assert(times >= 1 && times <= LW_SCAN_MOST_TIMES && n > 0 && n <= MOST_SCANS);
    assert(is_whole(block));
    at.lane = lw_ir_and(b, thread, lw_ir_int(b, LW_DT_i32, WARP - 1));
    at.warp = lw_ir_shr(b, thread, lw_ir_int(b, LW_DT_i32, 5));
    for (uint32_t i = 0; i < n; i++) {
        terms[i] = (warp_terms){.times = times};
        scan_warp(b, &scans[i], n, at.lane, &terms[i]);
        if (at.n_warps == 1)
            put_before(b, &scans[i], n, at.lane, &terms[i], scans[i].start);
    }
    if (at.n_warps == 1)
        return;
    for (uint32_t i = 0; i < n; i++)
        rows = scans[i].term.factor ? 2 * n : rows;
    shared = cell(b, lw_ir_shared(b, (uint32_t)(2 * rows * row), 16), turn, rows * row);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, at.lane, lw_ir_int(b, LW_DT_i32, WARP - 1)));
    for (uint32_t i = 0; i < n; i++) {
        lw_ref mine = cell(b, lw_ir_offset(b, shared, lw_ir_int(b, LW_DT_i64, i * row)),
                           at.warp, lw_dtypes[scans[i].type].size_bytes);
        lw_ir_store(b, mine, scans[i].total.value, 0, 0);
        if (scans[i].term.factor)
            lw_ir_store(b, lw_ir_offset(b, mine, lw_ir_int(b, LW_DT_i64, n * row)),
                        scans[i].total.factor, 0, 0);
    }
    lw_ir_end(b);
    lw_ir_barrier(b);
    for (uint32_t i = 0; i < n; i++) {
        front =
            scan_warps(b, &scans[i], lw_ir_offset(b, shared, lw_ir_int(b, LW_DT_i64, i * row)),
                       n * row, &at);
        put_before(b, &scans[i], n, at.lane, &terms[i],
                   lw_scan_apply(b, scans[i].one, front, scans[i].start));
    }
}

/* The total of n neighbouring lanes, n a power of two. Each lane combines in another order;
 * lane 0's result is used. */
static lw_ref
lanes_total(lw_builder *b, const lw_associative *one, lw_ref value, int64_t n)
{
    assert(n >= 1 && n <= WARP && (n & (n - 1)) == 0);
    for (int64_t d = n / 2; d > 0; d /= 2) {
        lw_ref other = lw_warp_shuffle(b, LW_KOP_shfl_down, value, lw_ir_int(b, LW_DT_i32, d));
        value = lw_block_combine(b, one, value, other);
    }
    return of_lane(b, value, lw_ir_int(b, LW_DT_i32, 0));
}

lw_ref
lw_block_total(lw_builder *b, const lw_thread_block *block, const lw_associative *one,
               lw_ref value)
{
    lw_dtype type = lw_ir_type(b, value);
    int64_t size = lw_dtypes[type].size_bytes, n_warps = block->n_threads / WARP;
    lw_ref thread = lw_ir_cast(b, LW_DT_i32, block->tid), shared, lane, number;

    assert(is_whole(block));
    value = lanes_total(b, one, value, WARP);
    if (n_warps == 1)
        return value;
    shared = lw_ir_shared(b, (uint32_t)(n_warps * size), 16);
    lane = lw_ir_and(b, thread, lw_ir_int(b, LW_DT_i32, WARP - 1));
    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, lane, lw_ir_int(b, LW_DT_i32, 0)));
    number = lw_ir_shr(b, thread, lw_ir_int(b, LW_DT_i32, 5));
    lw_ir_store(b, cell(b, shared, number, size), value, 0, 0);
    lw_ir_end(b);
    lw_ir_barrier(b);
    number = lw_ir_and(b, lane, lw_ir_int(b, LW_DT_i32, n_warps - 1));
    value = lw_ir_load(b, type, 1, cell(b, shared, number, size), 0, 0);
    if (!block->once)
        lw_ir_barrier(b); /* the next call may store there */
    return lanes_total(b, one, value, n_warps);
}

void
lw_block_wait(lw_builder *b, const lw_thread_block *block)
{
    lw_ref all = lw_ir_int(b, LW_DT_i32, -1);

    if (block->n_threads > WARP)
        lw_ir_barrier(b);
    else
        lw_ir_kernel_call(b, LW_KOP_syncwarp, LW_DT_void, &all, 1);
}

lw_ref
lw_block_all(lw_builder *b, const lw_thread_block *block, lw_ref is)
{
    lw_ref args[2] = {lw_ir_int(b, LW_DT_i32, -1), is};
    lw_ref all = block->n_threads > WARP
                     ? lw_ir_kernel_call(b, LW_KOP_barrier_and, LW_DT_i32, &is, 1)
                     : lw_ir_kernel_call(b, LW_KOP_vote_all, LW_DT_i32, args, 2);

    return lw_ir_compare(b, LW_OP_NE, all, lw_ir_int(b, LW_DT_i32, 0));
}

lw_ref
lw_block_share(lw_builder *b, const lw_thread_block *block, lw_ref value)
{
    lw_dtype type = lw_ir_type(b, value);
    lw_ref shared;

    if (block->n_threads == WARP)
        return of_lane(b, value, lw_ir_int(b, LW_DT_i32, 0));
    shared = lw_ir_shared(b, lw_dtypes[type].size_bytes, 16);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, block->tid, lw_ir_int(b, LW_DT_u64, 0)));
    lw_ir_store(b, shared, value, 0, 0);
    lw_ir_end(b);
    lw_ir_barrier(b);
    return lw_ir_load(b, type, 1, shared, 0, 0);
}

/* ---- picks ---- */

/* An iteration that a thread has picked. */
typedef struct picked {
    lw_ref best, iteration; /* best: its value in 32 or 64 bits, or 0 */
} picked;

static lw_ref
is_nan(lw_builder *b, lw_ref value)
{
    return lw_ir_compare(b, LW_OP_NE, value, value);
}

/* Whether x is better than y, without regard to their iterations. */
static lw_ref
is_better(lw_builder *b, const lw_preference *pick, lw_ref x, lw_ref y)
{
    lw_ref better = lw_ir_compare(b, pick->op, x, y), other;

    if (!pick->nan_best && !pick->nan_worst)
        return better;
    other = pick->nan_best ? lw_ir_and(b, is_nan(b, x), lw_ir_not(b, is_nan(b, y)))
                           : lw_ir_and(b, is_nan(b, y), lw_ir_not(b, is_nan(b, x)));
    return lw_ir_or(b, better, other);
}

/* Whether x stays if y is equally good: the number of the iteration decides. */
static lw_ref
comes_first(lw_builder *b, const lw_preference *pick, picked x, picked y)
{
    lw_ref is_less = lw_ir_compare(b, LW_OP_LT, x.iteration, y.iteration);
    lw_ref is_more = lw_ir_compare(b, LW_OP_GT, x.iteration, y.iteration);
    lw_ref number = pick->last ? is_more : is_less, none = pick->nan_last ? is_more : is_less;

    if (number == none || !lw_is_float(lw_ir_type(b, x.best)))
        return number;
    return lw_ir_select(b, is_nan(b, x.best), none, number);
}

/* x or y, whichever stays; a thread without an iteration never wins. */
static picked
pick_of(lw_builder *b, const lw_preference *pick, picked x, picked y)
{
    lw_ref zero = lw_ir_zero(b, lw_ir_type(b, x.iteration)), stays;

    if (x.best == 0) {
        stays = lw_ir_compare(b, LW_OP_GT, x.iteration, y.iteration);
        return (picked){.iteration = lw_ir_select(b, stays, x.iteration, y.iteration)};
    }
    stays = lw_ir_and(b, lw_ir_not(b, is_better(b, pick, y.best, x.best)),
                      comes_first(b, pick, x, y));
    stays = lw_ir_or(b, is_better(b, pick, x.best, y.best), stays);
    stays = lw_ir_or(b, stays, lw_ir_compare(b, LW_OP_LT, y.iteration, zero));
    stays = lw_ir_and(b, stays, lw_ir_compare(b, LW_OP_GE, x.iteration, zero));
    return (picked){.best = lw_ir_select(b, stays, x.best, y.best),
                    .iteration = lw_ir_select(b, stays, x.iteration, y.iteration)};
}

/* All lanes get the pick of the first `n` lanes, of which the others are copies. */
static picked
warp_pick(lw_builder *b, const lw_preference *pick, picked mine, int64_t n)
{
    for (int64_t d = n / 2; d > 0; d /= 2) {
        lw_ref lane = lw_ir_int(b, LW_DT_i32, d);
        picked other = {.iteration = lw_warp_shuffle(b, LW_KOP_shfl_xor, mine.iteration, lane)};
        if (mine.best)
            other.best = lw_warp_shuffle(b, LW_KOP_shfl_xor, mine.best, lane);
        mine = pick_of(b, pick, mine, other);
    }
    return mine;
}

/* The value in at least 32 bits, with the same order. */
static lw_ref
widened(lw_builder *b, lw_ref value)
{
    lw_dtype type = lw_ir_type(b, value);

    if (lw_dtypes[type].size_bytes >= 4)
        return value;
    return lw_ir_cast(b, lw_is_float(type) ? LW_DT_f32 : LW_DT_i32, value);
}

lw_ref
lw_block_pick(lw_builder *b, const lw_thread_block *block, const lw_preference *pick,
              lw_ref best, lw_ref iteration)
{
    picked mine = {.best = best ? widened(b, best) : 0, .iteration = iteration};
    int64_t n_warps = block->n_threads / WARP;
    lw_ref thread = lw_ir_cast(b, LW_DT_i32, block->tid), lane, warp, bests, iterations, number;

    assert(is_whole(block));
    mine = warp_pick(b, pick, mine, WARP);
    if (n_warps == 1)
        return mine.iteration;
    lane = lw_ir_and(b, thread, lw_ir_int(b, LW_DT_i32, WARP - 1));
    warp = lw_ir_shr(b, thread, lw_ir_int(b, LW_DT_i32, 5));
    bests = lw_ir_shared(b, (uint32_t)(8 * n_warps), 16);
    iterations = lw_ir_shared(b, (uint32_t)(8 * n_warps), 16);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, lane, lw_ir_int(b, LW_DT_i32, 0)));
    lw_ir_store(b, cell(b, iterations, warp, 8), mine.iteration, 0, 0);
    if (best)
        lw_ir_store(b, cell(b, bests, warp, 8), mine.best, 0, 0);
    lw_ir_end(b);
    lw_ir_barrier(b);
    number = lw_ir_and(b, lane, lw_ir_int(b, LW_DT_i32, n_warps - 1));
    if (best)
        mine.best = lw_ir_load(b, lw_ir_type(b, mine.best), 1, cell(b, bests, number, 8), 0, 0);
    mine.iteration =
        lw_ir_load(b, lw_ir_type(b, mine.iteration), 1, cell(b, iterations, number, 8), 0, 0);
    return warp_pick(b, pick, mine, n_warps).iteration;
}

/* The first lane of the warp for which `mine` is true, or lane 0. */
static lw_ref
first_lane(lw_builder *b, lw_ref mine)
{
    lw_ref args[2] = {lw_ir_int(b, LW_DT_i32, -1), mine}, lanes, none;

    lanes = lw_ir_kernel_call(b, LW_KOP_ballot, LW_DT_i32, args, 2);
    none = lw_ir_compare(b, LW_OP_EQ, lanes, lw_ir_int(b, LW_DT_i32, 0));
    lanes = lw_ir_intrinsic(b, LW_IN_ctz, LW_DT_i32, &lanes, 1);
    return lw_ir_select(b, none, lw_ir_int(b, LW_DT_i32, 0), lanes);
}

void
lw_block_give(lw_builder *b, const lw_thread_block *block, lw_ref *values, uint32_t n,
              lw_ref mine)
{
    lw_ref shared;

    if (block->n_threads == WARP) {
        mine = first_lane(b, mine);
        for (uint32_t i = 0; i < n; i++)
            values[i] = of_lane(b, values[i], mine);
        return;
    }
    shared = lw_ir_shared(b, 8 * n, 16);

    lw_ir_if(b, mine);
    for (uint32_t i = 0; i < n; i++)
        lw_ir_store(b, lw_ir_offset(b, shared, lw_ir_int(b, LW_DT_i64, 8 * (int64_t)i)),
                    values[i], 0, 0);
    lw_ir_end(b);
    lw_ir_barrier(b);
    for (uint32_t i = 0; i < n; i++)
        values[i] =
            lw_ir_load(b, lw_ir_type(b, values[i]), 1,
                       lw_ir_offset(b, shared, lw_ir_int(b, LW_DT_i64, 8 * (int64_t)i)), 0, 0);
}
