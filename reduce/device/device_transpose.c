/* How a lane takes neighbouring elements, for operators that need their order. If every lane
 * read its own elements, each load of a warp would touch 32 cache lines. So the warp reads the
 * accesses of all its lanes together, key->piece neighbouring ones for each lane at a time, and
 * hands them over in shared memory. */
#include "reduce/device/device_internal.h"

enum { TOGETHER = 32 }; /* most elements that are combined without a test between them */

/* An access as it lies in memory: words of 4 bytes, or one of fewer. */
typedef struct words {
    lw_dtype type;
    uint32_t n;
} words;

/* Accesses are counted in 32 bits, which suffice: see choose_piece. */
typedef struct exchange {
    lane_range range; /* of the block's accesses: the first one is 0 */
    lw_ref begin;     /* i64: that access */
    lw_ref mine;      /* how many accesses this lane has, which may be less than 0 */
    lw_ref first[LW_REDUCE_MOST_PIECE]; /* the accesses of the first piece that it reads */
    lw_ref at[LW_REDUCE_MOST]; /* slots: where the block's accesses begin, further by those that
                                  each lane has read, unless they are folded */
    /* in shared memory, which has a row for each lane, and a gap behind it against bank
     * conflicts */
    lw_ref give[LW_REDUCE_MOST]; /* where this lane writes its first access */
    lw_ref take[LW_REDUCE_MOST]; /* its own row */
    lw_ref read[LW_REDUCE_MOST][LW_REDUCE_MOST_PIECE]; /* slots: what was read last */
    lw_ref started; /* slot: whether the accumulator has an element */
} exchange;

static uint32_t
access_bytes(const maker *m, uint32_t operand)
{
    return lw_dtypes[m->r->loaded[operand]].size_bytes * m->key->vector;
}

static uint32_t
row_bytes(const maker *m, uint32_t operand)
{
    return (m->key->piece + 1) * access_bytes(m, operand);
}

static words
words_of(const maker *m, uint32_t operand)
{
    uint32_t bytes = access_bytes(m, operand);

    assert(bytes <= 16 && (bytes % 4 == 0 || bytes < 3));
    if (bytes < 4)
        return (words){bytes == 2 ? LW_DT_u16 : LW_DT_u8, 1};
    return (words){LW_DT_u32, bytes / 4};
}

/* The number of one of the block's accesses among all. */
static lw_ref
access_of(maker *m, const exchange *e, lw_ref at)
{
    return add(m, e->begin, lw_ir_cast(&m->b, LW_DT_i64, at));
}

/* The lane for which this lane reads its first access. Each further one is for the lane that is
 * WARP / key->piece lanes behind. */
static lw_ref
first_owner(maker *m)
{
    return high(m, low(m, m->tid, WARP), m->key->piece);
}

/* Reads the accesses from number `done` of each lane on, or the block's last one where they are
 * behind that. */
static void
read_together(maker *m, const exchange *e, lw_ref done)
{
    lw_builder *b = &m->b;
    lw_ref last = lw_ir_sub(b, lw_ir_sub(b, e->range.n, i32(m, 1)), done), from, at;

    for (uint32_t k = 0; k < m->key->piece; k++) {
        at = smaller(m, e->first[k], last);
        for (uint32_t i = 0; i < m->r->n_in; i++) {
            words w = words_of(m, i);
            uint32_t bytes = access_bytes(m, i);
            if (m->key->folded)
                from = lw_reduce_address(m, i, access_of(m, e, lw_ir_add(b, at, done)));
            else
                from = lw_ir_offset(b, lw_ir_get(b, e->at[i]),
                                    times(m, lw_ir_cast(b, LW_DT_i64, at), i64(m, bytes)));
            lw_ir_set(b, e->read[i][k],
                      lw_ir_load(b, w.type, w.n, from, bytes, operand_flags(m)));
        }
    }
    for (uint32_t i = 0; i < m->r->n_in && !m->key->folded; i++)
        lw_ir_set(b, e->at[i],
                  lw_ir_offset(b, lw_ir_get(b, e->at[i]),
                               i64(m, m->key->piece * access_bytes(m, i))));
}

/* Writes what was read to the rows of the lanes that it was read for. */
static void
hand_over(maker *m, const exchange *e)
{
    lw_builder *b = &m->b;

    for (uint32_t i = 0; i < m->r->n_in; i++)
        for (uint32_t k = 0; k < m->key->piece; k++) {
            uint32_t bytes = access_bytes(m, i);
            int64_t rows = (int64_t)k * (WARP / m->key->piece);
            lw_ref to = lw_ir_offset(b, e->give[i], i64(m, rows * row_bytes(m, i)));

            lw_ir_store(b, to, lw_ir_get(b, e->read[i][k]), bytes, 0);
        }
}

/* The accumulator that an access makes: number `at` of the lane's piece before which `done`
 * have been taken. */
static void
take_access(maker *m, const exchange *e, lw_ref at, lw_ref done, access *from, lw_ref *acc)
{
    lw_builder *b = &m->b;
    uint32_t vector = m->key->vector;
    acc_parts x[MOST_VECTOR];

    for (uint32_t i = 0, place = 0; i < m->r->n_in; i++) {
        lw_dtype dtype = m->r->loaded[i];
        lw_ref where = lw_ir_offset(
            b, e->take[i], times(m, lw_ir_cast(b, LW_DT_i64, at), i64(m, access_bytes(m, i))));
        lw_ref all = lw_ir_load(b, lw_dtype_memory_part(dtype),
                                vector * lw_dtype_n_parts(dtype), where, access_bytes(m, i), 0);
        lw_reduce_spread_access(m, i, all, place, from);
        place += lw_dtype_n_parts(dtype);
    }
    if (m->r->indexed) {
        at = lw_ir_add(b, e->range.first, lw_ir_add(b, done, at));
        lw_reduce_set_index(m, access_of(m, e, at), vector, from);
    }
    for (uint32_t v = 0; v < vector; v++)
        lw_reduce_map_element(m, from, v, x[v]);
    lw_reduce_combine_tree(m, vector, x);
    memcpy(acc, x[0], sizeof x[0]);
}

/* Combines the next accesses of the lane into its accumulator. */
static void
combine_after(maker *m, const exchange *e, const lw_ref *x)
{
    lw_builder *b = &m->b;

    lw_ir_if(b, lw_ir_get(b, e->started));
    lw_reduce_combine_after(m, m->slot[0], x);
    lw_ir_else(b);
    set(m, m->slot[0], x);
    lw_ir_end(b);
    lw_ir_set(b, e->started, lw_ir_int(b, LW_DT_b1, 1));
}

/* Takes `count` accesses of the lane, a power of two, from number `at` of the piece on, before
 * which `done` have been taken: in a tree of neighbours, with few numbers at a time. */
static void
take_accesses(maker *m, const exchange *e, uint32_t at, lw_ref done, uint32_t count,
              access *from)
{
    acc_parts x[TOGETHER];
    uint32_t n = 0;

    assert(count > 0 && count <= TOGETHER);
    for (uint32_t k = 0; k < count; k++) {
        take_access(m, e, i32(m, at + k), done, from, x[n++]);
        for (uint32_t trees = k + 1; trees % 2 == 0; trees /= 2, n--)
            lw_reduce_combine(m, x[n - 2], x[n - 1], x[n - 2]);
    }
    assert(n == 1);
    combine_after(m, e, x[0]);
}

/* How many accesses of a piece are taken at a time. */
static uint32_t
n_together(const maker *m)
{
    uint32_t n = TOGETHER / m->key->vector;

    return n < m->key->piece ? n : m->key->piece;
}

/* Takes the lane's accesses of a piece, before which there were `done`: all, or those that it
 * still has. */
static void
take_piece(maker *m, const exchange *e, lw_ref done, access *from)
{
    lw_builder *b = &m->b;
    lw_ref left = lw_ir_sub(b, e->mine, done);
    uint32_t many = n_together(m);
    acc_parts x = {0};
    lw_for loop;

    lw_ir_if(b, lw_ir_compare(b, LW_OP_GE, left, i32(m, m->key->piece)));
    for (uint32_t at = 0; at < m->key->piece; at += many)
        take_accesses(m, e, at, done, many, from);
    lw_ir_else(b);
    loop = lw_ir_for(b, i32(m, 0), left, i32(m, 1), LW_LOOP_NO_UNROLL);
    take_access(m, e, loop.i, done, from, x);
    combine_after(m, e, x);
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
}

/* Makes the slots of an operand, and the room where the lanes of this warp hand over its
 * accesses. */
static void
add_memory(maker *m, uint32_t operand, exchange *e)
{
    lw_builder *b = &m->b;
    uint32_t threads = 1u << (m->key->lanes_log2 + m->key->results_log2);
    lw_ref memory = lw_ir_shared(b, threads * row_bytes(m, operand), 16), give, number;
    lw_ref row = i32(m, row_bytes(m, operand)), tid = lw_ir_cast(b, LW_DT_i32, m->tid);
    words w = words_of(m, operand);

    number = lw_ir_mul(b, lw_ir_cast(b, LW_DT_i32, low(m, m->tid, m->key->piece)),
                       i32(m, access_bytes(m, operand)));
    give = add(m, minus(m, m->tid, low(m, m->tid, WARP)), first_owner(m));
    give = lw_ir_mul(b, lw_ir_cast(b, LW_DT_i32, give), row);
    give = lw_ir_cast(b, LW_DT_i64, lw_ir_add(b, give, number));
    e->give[operand] = lw_ir_offset(b, memory, give);
    e->take[operand] =
        lw_ir_offset(b, memory, lw_ir_cast(b, LW_DT_i64, lw_ir_mul(b, tid, row)));
    assert(m->key->piece <= LW_REDUCE_MOST_PIECE);
    for (uint32_t k = 0; k < m->key->piece; k++)
        e->read[operand][k] = lw_ir_vector_slot(b, w.type, w.n);
}

static exchange
start(maker *m)
{
    lw_builder *b = &m->b;
    lw_ref begin = times(m, m->split, m->per_block), first;
    lw_ref end = smaller(m, m->items, add(m, begin, m->per_block));
    lw_ref n = lw_ir_cast(b, LW_DT_i32, minus(m, end, begin));
    exchange e = {.begin = begin, .range = lw_reduce_lane_of(m, i32(m, 0), n, m->key->piece)};

    e.mine = lw_ir_sub(b, e.range.last, e.range.first);
    first = add(m, minus(m, m->lane, low(m, m->lane, WARP)), first_owner(m));
    first = lw_ir_mul(b, lw_ir_cast(b, LW_DT_i32, first), e.range.each);
    first = lw_ir_add(b, first, lw_ir_cast(b, LW_DT_i32, low(m, m->tid, m->key->piece)));
    for (uint32_t k = 0; k < m->key->piece; k++) {
        lw_ref lanes = i32(m, (int64_t)k * (WARP / m->key->piece));
        e.first[k] = lw_ir_add(b, first, lw_ir_mul(b, e.range.each, lanes));
    }
    for (uint32_t i = 0; i < m->r->n_in; i++) {
        add_memory(m, i, &e);
        e.at[i] = lw_ir_slot(b, LW_DT_ptr);
        if (!m->key->folded)
            lw_ir_set(b, e.at[i], lw_reduce_address(m, i, begin));
    }
    e.started = lw_ir_slot(b, LW_DT_b1);
    lw_ir_set(b, e.started, lw_ir_int(b, LW_DT_b1, 0));
    return e;
}

lane_range
lw_reduce_take_in_order(maker *m, access *from)
{
    lw_builder *b = &m->b;
    exchange e = start(m);
    lw_ref piece = i32(m, m->key->piece), at = lw_ir_slot(b, LW_DT_i32), done, next, has_last;

    /* the first iteration only reads: nobody takes what it hands over */
    lw_ir_set(b, at, i32(m, -(int64_t)m->key->piece));
    done = lw_ir_while(b, at, e.range.each);
    hand_over(m, &e);
    wait_for_warp(m);
    next = lw_ir_add(b, done, piece);
    lw_ir_if(b, is_less(m, next, e.range.each)); /* memory is busy while the lane combines */
    read_together(m, &e, next);
    lw_ir_end(b);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GE, done, i32(m, 0)));
    take_piece(m, &e, done, from);
    lw_ir_end(b);
    wait_for_warp(m);
    lw_ir_latch(b);
    lw_ir_while_end(b, at, piece);
    has_last = lw_ir_compare(b, LW_OP_EQ, e.range.last, e.range.n);
    lw_reduce_take_rest(m, both(m, lw_ir_get(b, e.started), has_last), from);
    return e.range;
}
