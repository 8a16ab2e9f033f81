/* The largest or smallest of integers of one or two bytes. They are compared as they lie in
 * words of four bytes, each in its turn shifted to the top of its word: what is below it does
 * not matter, as equal tops are equal results. That costs a shift and a comparison an element,
 * where separate bytes would have to be unpacked and widened first. */
#include "reduce/device/device_internal.h"

enum { WORDS = 4 }; /* words of an access */

typedef struct narrow {
    lw_dtype word;
    uint32_t bits, per_word;
    lw_op op;
    lw_ref slot[4];
} narrow;

static lw_ref
better(maker *m, const narrow *n, lw_ref x, lw_ref y)
{
    return lw_ir_select(&m->b, lw_ir_compare(&m->b, n->op, x, y), x, y);
}

/* The best of the integers at place `place` in the words of `count` accesses. */
static lw_ref
best_of(maker *m, const narrow *n, uint32_t place, uint32_t count, const lw_ref *words)
{
    lw_builder *b = &m->b;
    lw_ref x[WORDS * UNROLL] = {0};
    uint32_t up = n->bits * (n->per_word - 1 - place);

    for (uint32_t i = 0; i < WORDS * count; i++)
        x[i] = up ? lw_ir_shl(b, words[i], lw_ir_int(b, n->word, up)) : words[i];
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
    for (uint32_t place = 0; place < n->per_word; place++) {
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

/* New slots, which hold the worst word. */
static narrow
start(maker *m)
{
    lw_builder *b = &m->b;
    lw_dtype type = m->r->acc[0];
    uint32_t bits = 8 * lw_dtypes[type].size_bytes;
    bool is_signed = type == LW_DT_i8 || type == LW_DT_i16;
    bool largest = lw_reduce_picks(m->r) == LW_LARGEST;
    int64_t least = is_signed ? INT32_MIN : 0, most = is_signed ? INT32_MAX : UINT32_MAX;
    narrow n = {.word = is_signed ? LW_DT_i32 : LW_DT_u32,
                .bits = bits,
                .per_word = 32 / bits,
                .op = largest ? LW_OP_GT : LW_OP_LT};

    for (uint32_t i = 0; i < n.per_word; i++) {
        n.slot[i] = lw_ir_slot(b, n.word);
        lw_ir_set(b, n.slot[i], lw_ir_int(b, n.word, largest ? least : most));
    }
    return n;
}

/* Combines the tops of the best words into the lane's accumulator. */
static void
finish(maker *m, const narrow *n)
{
    lw_builder *b = &m->b;
    acc_parts acc = {0}, x = {0};
    lw_ref down = lw_ir_int(b, n->word, 32 - n->bits);

    for (uint32_t i = 0; i < n->per_word; i++) {
        x[0] = lw_ir_cast(b, m->part[0], lw_ir_shr(b, lw_ir_get(b, n->slot[i]), down));
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
