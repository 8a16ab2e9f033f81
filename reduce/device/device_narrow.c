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
    uint32_t bits;    /* of a number */
    uint32_t n_banks; /* all words of an access go into one; with columns, each has its own */
    uint32_t n_slots; /* slot i of a bank: numbers i * 8 bits below the tops of halves */
    lw_intrinsic best;
    lw_ref slot[WORDS][2];
} narrow;

static lw_ref
better(maker *m, const narrow *n, lw_ref x, lw_ref y)
{
    return lw_ir_intrinsic(&m->b, n->best, n->word, (lw_ref[]){x, y}, 2);
}

/* Combines the words, with the numbers of slot `place` at the tops of halves, into the slot. */
static void
combine_words(maker *m, const narrow *n, lw_ref *words, uint32_t count, uint32_t place,
              lw_ref slot)
{
    lw_builder *b = &m->b;

    for (uint32_t i = 0; i < count && place > 0; i++)
        words[i] = lw_ir_shl(b, words[i], lw_ir_int(b, n->word, place * n->bits));
    for (uint32_t apart = 1; apart < count; apart *= 2)
        for (uint32_t i = 0; i + apart < count; i += 2 * apart)
            words[i] = better(m, n, words[i], words[i + apart]);
    lw_ir_set(b, slot, better(m, n, lw_ir_get(b, slot), words[0]));
}

/* Takes `count` accesses of the lane, from access `item` on. */
static void
take_accesses(maker *m, const narrow *n, lw_ref item, lw_ref step, uint32_t count)
{
    uint32_t each = WORDS / n->n_banks, k;
    lw_ref all[UNROLL], words[WORDS * UNROLL];

    assert(count <= UNROLL);
    for (k = 0; k < count; k++) {
        lw_ref at = add(m, item, times(m, step, i64(m, k)));
        all[k] = lw_ir_load(&m->b, n->word, WORDS, lw_reduce_address(m, 0, at), 4 * WORDS,
                            operand_flags(m));
    }
    for (uint32_t bank = 0; bank < n->n_banks; bank++)
        for (uint32_t place = 0; place < n->n_slots; place++) {
            for (k = 0; k < each * count; k++)
                words[k] = lw_ir_lane(&m->b, all[k / each], bank * each + k % each);
            combine_words(m, n, words, each * count, place, n->slot[bank][place]);
        }
}

/* A loop that takes `count` accesses in each iteration while the slot `at` is below `end`. */
static void
take_until(maker *m, const narrow *n, lw_ref at, lw_ref end, const lane_range *range,
           uint32_t count)
{
    lw_ref i = lw_ir_while(&m->b, at, end);

    take_accesses(m, n, i, range->step, count);
    lw_ir_latch(&m->b);
    lw_ir_while_end(&m->b, at, count == UNROLL ? range->next : range->step);
}

/* New slots, whose halves hold the worst number. */
static narrow
start(maker *m)
{
    enum { LEAST_HALVES = 0x80008000, MOST_HALVES = 0x7fff7fff };
    lw_builder *b = &m->b;
    lw_dtype type = m->r->acc[0];
    bool is_signed = lw_is_signed(type);
    bool largest = lw_reduce_picks(m->r) == LW_LARGEST;
    uint32_t worst =
        largest ? (is_signed ? LEAST_HALVES : 0) : (is_signed ? MOST_HALVES : UINT32_MAX);
    narrow n = {.word = is_signed ? LW_DT_i32 : LW_DT_u32,
                .bits = 8 * lw_dtypes[type].size_bytes,
                .n_banks = m->key->columns ? WORDS : 1,
                .best = largest ? LW_IN_max_halves : LW_IN_min_halves};
    lw_ref value = lw_ir_int(b, n.word, is_signed ? (int32_t)worst : (int64_t)worst);

    n.n_slots = 16 / n.bits;
    for (uint32_t bank = 0; bank < n.n_banks; bank++)
        for (uint32_t place = 0; place < n.n_slots; place++) {
            n.slot[bank][place] = lw_ir_slot(b, n.word);
            lw_ir_set(b, n.slot[bank][place], value);
        }
    return n;
}

/* Number i of those that the slots of a bank hold, in the order of memory. */
static lw_ref
number_of(maker *m, const narrow *n, uint32_t bank, uint32_t i)
{
    lw_builder *b = &m->b;
    lw_ref word = lw_ir_get(b, n->slot[bank][n->n_slots - 1 - i % n->n_slots]);

    if (i < n->n_slots) /* in the lower half */
        word = lw_ir_shl(b, word, lw_ir_int(b, n->word, 16));
    word = lw_ir_shr(b, word, lw_ir_int(b, n->word, 32 - n->bits));
    if (m->part[0] == LW_DT_b1)
        return lw_ir_compare(b, LW_OP_NE, word, lw_ir_int(b, n->word, 0));
    return lw_ir_cast(b, m->part[0], word);
}

/* Combines the best numbers into the lane's accumulator; with columns, each is that of its
 * result. */
static void
finish(maker *m, const narrow *n)
{
    uint32_t per_word = 2 * n->n_slots;
    acc_parts acc = {0}, x = {0};

    for (uint32_t i = 0; i < n->n_banks * per_word; i++) {
        x[0] = number_of(m, n, i / per_word, i % per_word);
        if (m->key->columns)
            set(m, m->slot[i], x);
        else if (i > 0)
            lw_reduce_combine(m, acc, x, acc);
        else
            acc[0] = x[0];
    }
    if (!m->key->columns)
        set(m, m->slot[0], acc);
}

lane_range
lw_reduce_take_narrow(maker *m, access *from)
{
    lw_builder *b = &m->b;
    lane_range range = lw_reduce_lane_of_block(m, false);
    lw_ref ahead = times(m, range.step, i64(m, UNROLL - 1)), at;
    narrow n = start(m);

    assert(m->key->vector * n.bits == 32 * WORDS && !m->key->masked);
    lw_ir_if(b, is_less(m, range.first, range.last));
    at = lw_ir_slot(b, LW_DT_i64);
    lw_ir_set(b, at, range.first);
    take_until(m, &n, at, minus(m, range.last, ahead), &range, UNROLL);
    take_until(m, &n, at, range.last, &range, 1);
    finish(m, &n);
    lw_reduce_take_rest(m, is_equal(m, m->lane, 0), from);
    lw_ir_end(b);
    return range;
}
