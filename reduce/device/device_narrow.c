/* The largest or smallest of integers of one or two bytes, and of bools. They are compared as
 * they lie in words of four bytes, half a word at a time: integers of one byte twice, those at
 * the tops of the halves, and then the others, shifted there. What is below them does not
 * matter, as equal tops are equal results. Separate bytes would have to be unpacked and widened
 * first. */
#include "core/tables/intrinsics.h"
#include "reduce/device/device_internal.h"

enum { WORDS = 4 }; /* words of an access */

typedef struct narrow {
    lw_dtype word;
    uint32_t bits;    /* of an integer */
    uint32_t n_slots; /* slot i: integers i * 8 bits below the tops of halves */
    lw_intrinsic best;
    lw_ref slot[2];
} narrow;

static lw_ref
better(maker *m, const narrow *n, lw_ref x, lw_ref y)
{
    return lw_ir_intrinsic(&m->b, n->best, n->word, (lw_ref[]){x, y}, 2);
}

/* The best halves of the words of `count` accesses, of what belongs to slot `place`. */
static lw_ref
best_of(maker *m, const narrow *n, uint32_t place, uint32_t count, const lw_ref *words)
{
    lw_builder *b = &m->b;
    lw_ref x[WORDS * UNROLL] = {0};

    for (uint32_t i = 0; i < WORDS * count; i++)
        x[i] = place ? lw_ir_shl(b, words[i], lw_ir_int(b, n->word, n->bits)) : words[i];
    for (uint32_t apart = 1; apart < WORDS * count; apart *= 2)
        for (uint32_t i = 0; i + apart < WORDS * count; i += 2 * apart)
            x[i] = better(m, n, x[i], x[i + apart]);
    return x[0];
}

/* Takes `count` accesses of the lane, from access `item` on. */
static void
take_accesses(maker *m, const narrow *n, lw_ref item, lw_ref step, uint32_t count)
{
    lw_builder *b = &m->b;
    lw_ref words[WORDS * UNROLL] = {0};

    assert(count <= UNROLL);
    for (uint32_t k = 0; k < count; k++) {
        lw_ref at = add(m, item, times(m, step, i64(m, k)));
        lw_ref from = lw_ir_offset(b, m->operand[0], times(m, at, i64(m, 4 * WORDS)));
        lw_ref all = lw_ir_load(b, n->word, WORDS, from, 4 * WORDS, operand_flags(m));
        for (uint32_t i = 0; i < WORDS; i++)
            words[WORDS * k + i] = lw_ir_lane(b, all, i);
    }
    for (uint32_t place = 0; place < n->n_slots; place++) {
        lw_ref x = best_of(m, n, place, count, words);
        lw_ir_set(b, n->slot[place], better(m, n, lw_ir_get(b, n->slot[place]), x));
    }
}

/* A loop that takes `count` accesses in each iteration while the slot `at` is below `end`. */
static void
take_until(maker *m, const narrow *n, lw_ref at, lw_ref end, lw_ref step, uint32_t count)
{
    lw_ref i = lw_ir_while(&m->b, at, end);

    take_accesses(m, n, i, step, count);
    lw_ir_latch(&m->b);
    lw_ir_while_end(&m->b, at, times(m, step, i64(m, count)));
}

/* New slots, whose halves hold the worst number. */
static narrow
start(maker *m)
{
    enum { LEAST_HALVES = 0x80008000, MOST_HALVES = 0x7fff7fff };
    lw_builder *b = &m->b;
    lw_dtype type = m->r->acc[0];
    bool is_signed = lw_dtypes[type].kind == LW_KIND_INT;
    bool largest = lw_reduce_picks(m->r) == LW_LARGEST;
    uint32_t worst =
        largest ? (is_signed ? LEAST_HALVES : 0) : (is_signed ? MOST_HALVES : UINT32_MAX);
    narrow n = {.word = is_signed ? LW_DT_i32 : LW_DT_u32,
                .bits = 8 * lw_dtypes[type].size_bytes,
                .best = largest ? LW_IN_max_halves : LW_IN_min_halves};

    n.n_slots = 16 / n.bits;
    for (uint32_t i = 0; i < n.n_slots; i++) {
        n.slot[i] = lw_ir_slot(b, n.word);
        lw_ir_set(b, n.slot[i],
                  lw_ir_int(b, n.word, is_signed ? (int32_t)worst : (int64_t)worst));
    }
    return n;
}

/* The number at the top of the upper or the lower half of a word. */
static lw_ref
number_of(maker *m, const narrow *n, lw_ref word, bool lower)
{
    lw_builder *b = &m->b;

    if (lower)
        word = lw_ir_shl(b, word, lw_ir_int(b, n->word, 16));
    word = lw_ir_shr(b, word, lw_ir_int(b, n->word, 32 - n->bits));
    if (m->part[0] == LW_DT_b1)
        return lw_ir_compare(b, LW_OP_NE, word, lw_ir_int(b, n->word, 0));
    return lw_ir_cast(b, m->part[0], word);
}

/* Combines the best numbers into the lane's accumulator. */
static void
finish(maker *m, const narrow *n)
{
    acc_parts acc = {0}, x = {0};

    for (uint32_t i = 0; i < 2 * n->n_slots; i++) {
        x[0] = number_of(m, n, lw_ir_get(&m->b, n->slot[i / 2]), i % 2 != 0);
        if (i > 0)
            lw_reduce_combine(m, acc, x, acc);
        else
            acc[0] = x[0];
    }
    set(m, m->slot[0], acc);
}

lane_range
lw_reduce_take_narrow(maker *m, access *from)
{
    lw_builder *b = &m->b;
    lane_range range = lw_reduce_lane_of_block(m, false);
    lw_ref ahead = times(m, range.step, i64(m, UNROLL - 1)), at;
    narrow n = start(m);

    assert(m->key->vector * n.bits == 32 * WORDS && !m->key->folded && !m->key->masked);
    lw_ir_if(b, is_less(m, range.first, range.last));
    at = lw_ir_slot(b, LW_DT_i64);
    lw_ir_set(b, at, range.first);
    take_until(m, &n, at, minus(m, range.last, ahead), range.step, UNROLL);
    take_until(m, &n, at, range.last, range.step, 1);
    finish(m, &n);
    lw_reduce_take_rest(m, is_equal(m, m->lane, 0), from);
    lw_ir_end(b);
    return range;
}
