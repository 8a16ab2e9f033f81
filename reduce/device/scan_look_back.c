/* What comes before a tile, from the blocks that have the tiles before it.
 *
 * Sums are left in device memory as words of 64 bits: 32 bits of a part below, a mark above. So
 * a word that is seen with its mark is complete by itself, and nobody waits for anybody's
 * stores (a release would cost a microsecond). */
#include "reduce/device/scan_parts.h"

enum { NAP_NS = 40, MOST_SHARES = 8, MOST_ASKED = 4, COLUMNS_GROUP = 32 };

typedef lw_scan_maker maker;

/* ---- sums as marked words ---- */

uint32_t
lw_scan_state_words(const lw_dtype *part, uint32_t n_parts)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_parts; i++)
        n += lw_dtypes[part[i]].size_bytes > 4 ? 2 : 1;
    return n;
}

int64_t
lw_reduce_scan_group(const lw_reduce_key *key)
{
    return key->columns ? COLUMNS_GROUP
                        : INT64_C(1) << (key->lanes_log2 + key->results_log2) >> 1;
}

uint32_t
lw_reduce_scan_state_bytes(const lw_reduction *r, const lw_reduce_key *key)
{
    lw_dtype part[LW_REDUCE_PARTS];
    uint32_t n = lw_reduce_scan_parts(r, key, part);

    return 8 * lw_scan_state_words(part, n);
}

/* The words of a sum lie a row of the strip apart from one another. */
static lw_ref
state_of(maker *m, lw_ref number, lw_ref row)
{
    int64_t n = lw_scan_state_words(m->k.part, m->k.n_parts);
    lw_ref word = add(m, times(m, number, i64(m, n * m->results)), row);

    return lw_ir_offset(&m->k.b, m->state, times(m, word, i64(m, 8)));
}

/* A value of at most 8 bytes as u64. */
static lw_ref
bits_of(maker *m, lw_ref value)
{
    lw_builder *b = &m->k.b;
    lw_dtype type = lw_ir_type(b, value);
    uint32_t size = lw_dtypes[type].size_bytes;
    lw_dtype same = size == 8   ? LW_DT_u64
                    : size == 4 ? LW_DT_u32
                    : size == 2 ? LW_DT_u16
                                : LW_DT_u8;

    if (type == LW_DT_b1)
        return lw_ir_select(b, value, lw_ir_int(b, LW_DT_u64, 1), lw_ir_int(b, LW_DT_u64, 0));
    return lw_ir_cast(b, LW_DT_u64, lw_ir_bitcast(b, same, value));
}

static lw_ref
value_of(maker *m, lw_dtype type, lw_ref bits)
{
    lw_builder *b = &m->k.b;
    uint32_t size = lw_dtypes[type].size_bytes;
    lw_dtype same = size == 8   ? LW_DT_u64
                    : size == 4 ? LW_DT_u32
                    : size == 2 ? LW_DT_u16
                                : LW_DT_u8;

    if (type == LW_DT_b1)
        return lw_ir_compare(b, LW_OP_NE, bits, lw_ir_int(b, LW_DT_u64, 0));
    return lw_ir_bitcast(b, type, lw_ir_cast(b, same, bits));
}

static void
leave_word(maker *m, lw_ref at, uint32_t which, lw_ref bits)
{
    lw_builder *b = &m->k.b;
    lw_ref args[2] = {lw_ir_offset(b, at, i64(m, 8 * (int64_t)which * m->results))};

    bits = lw_ir_or(b, bits, lw_ir_int(b, LW_DT_u64, INT64_C(1) << 32));
    args[1] = lw_ir_bitcast(b, LW_DT_i64, bits);
    lw_ir_kernel_call(b, LW_KOP_store_relaxed, LW_DT_void, args, 2);
}

static void
leave(maker *m, lw_ref number, lw_ref row, const lw_ref *x)
{
    lw_builder *b = &m->k.b;
    lw_ref at = state_of(m, number, row), half = lw_ir_int(b, LW_DT_u64, 32), bits;
    lw_ref below = lw_ir_int(b, LW_DT_u64, UINT32_MAX);
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->k.n_parts; i++) {
        bits = bits_of(m, x[i]);
        if (lw_dtypes[m->k.part[i]].size_bytes > 4) {
            leave_word(m, at, n++, lw_ir_and(b, bits, below));
            bits = lw_ir_shr(b, bits, half);
        }
        leave_word(m, at, n++, bits);
    }
}

/* The number of a sum of the row: of its `which`-th tile, or, from base on, group. Those that a
 * warp reads at once lie side by side. */
static lw_ref
number_of(maker *m, lw_ref base, lw_ref count, lw_ref which)
{
    if (m->k.key->columns)
        return add(m, add(m, base, m->strip), times(m, which, m->strips));
    return add(m, base, add(m, times(m, m->strip, count), which));
}

void
lw_scan_leave_sum(maker *m, const lw_ref *sum)
{
    leave(m, number_of(m, i64(m, 0), m->tiles, m->tile), m->in_block, sum);
}

static void
ask(maker *m, lw_ref at, uint32_t n, lw_ref *words)
{
    for (uint32_t i = 0; i < n; i++) {
        lw_ref from = lw_ir_offset(&m->k.b, at, i64(m, 8 * (int64_t)i * m->results));
        words[i] =
            lw_ir_bitcast(&m->k.b, LW_DT_u64,
                          lw_ir_kernel_call(&m->k.b, LW_KOP_load_relaxed, LW_DT_i64, &from, 1));
    }
}

/* Whether all have their marks. */
static lw_ref
are_there(maker *m, uint32_t n, const lw_ref *words)
{
    lw_builder *b = &m->k.b;
    lw_ref all = words[0];

    for (uint32_t i = 1; i < n; i++)
        all = lw_ir_and(b, all, words[i]);
    return lw_ir_compare(b, LW_OP_NE, lw_ir_shr(b, all, lw_ir_int(b, LW_DT_u64, 32)),
                         lw_ir_int(b, LW_DT_u64, 0));
}

static void
unpack(maker *m, const lw_ref *words, lw_ref *x)
{
    lw_builder *b = &m->k.b;
    lw_ref half = lw_ir_int(b, LW_DT_u64, 32), below = lw_ir_int(b, LW_DT_u64, UINT32_MAX),
           bits;
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->k.n_parts; i++) {
        bits = lw_ir_and(b, words[n++], below);
        if (lw_dtypes[m->k.part[i]].size_bytes > 4)
            bits = lw_ir_or(b, lw_ir_shl(b, words[n++], half), bits);
        x[i] = value_of(m, m->k.part[i], bits);
    }
}

/* words: as they were seen first, then as they are when they are complete */
static void
wait_for(maker *m, lw_ref at, uint32_t n, lw_ref *words)
{
    lw_builder *b = &m->k.b;
    lw_ref nap = i32(m, NAP_NS), again[2 * LW_REDUCE_PARTS] = {0};

    for (uint32_t i = 0; i < n; i++)
        lw_ir_set(b, m->word[i], words[i]);
    lw_ir_loop(b, LW_LOOP_NO_UNROLL | LW_LOOP_NO_VECTORIZE, 0);
    for (uint32_t i = 0; i < n; i++)
        again[i] = lw_ir_get(b, m->word[i]);
    lw_ir_if(b, are_there(m, n, again));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    lw_ir_kernel_call(b, LW_KOP_nanosleep, LW_DT_void, &nap, 1);
    ask(m, at, n, again);
    for (uint32_t i = 0; i < n; i++)
        lw_ir_set(b, m->word[i], again[i]);
    lw_ir_latch(b);
    lw_ir_end(b);
    for (uint32_t i = 0; i < n; i++)
        words[i] = lw_ir_get(b, m->word[i]);
}

static void
take(maker *m, lw_ref number, lw_ref row, lw_ref *x)
{
    uint32_t n = lw_scan_state_words(m->k.part, m->k.n_parts);
    lw_ref at = state_of(m, number, row), words[2 * LW_REDUCE_PARTS] = {0};

    ask(m, at, n, words);
    wait_for(m, at, n, words);
    unpack(m, words, x);
}

/* m->before = x . m->before, or x where nothing is there yet. */
static void
put_before(maker *m, lw_ref is_first, const lw_ref *x)
{
    lw_ir_if(&m->k.b, is_first);
    set(&m->k, m->before, x);
    lw_ir_else(&m->k.b);
    combine_before(m, x, m->before);
    lw_ir_end(&m->k.b);
}

/* before . the tile's own sum, as sum number `number`. */
static void
leave_up_to(maker *m, const lw_ref *before, lw_ref number)
{
    lw_ref x[LW_REDUCE_PARTS] = {0};

    load_parts(&m->k, m->sum_at, m->in_block, x);
    combine(m, before, x, x);
    leave(m, number, m->in_block, x);
}

/* ---- one row a block: each thread takes the sum of one of the tiles before ---- */

/* What a tile sees: the tiles of its own group and of the one before, what is before these. */
typedef struct window {
    lw_ref tile;         /* that the thread takes */
    lw_ref group;        /* the tile's own */
    lw_ref base, groups; /* where groups' sums begin, how many in a row */
    lw_ref has_rest;     /* groups before the window */
} window;

static window
window_of(maker *m)
{
    lw_builder *b = &m->k.b;
    int64_t size = lw_reduce_scan_group(m->k.key);
    lw_ref zero = i64(m, 0), from;
    window w;

    w.group = high(m, m->tile, size);
    w.groups = high(m, add(m, m->tiles, i64(m, size - 1)), size);
    w.base = times(m, m->tiles, m->strips);
    w.has_rest = is_above(m, w.group, 1);
    from = lw_ir_sub(b, w.group, i64(m, 1));
    from = lw_ir_select(b, is_less(m, from, zero), zero, from);
    w.tile = add(m, times(m, from, i64(m, size)), m->tid);
    return w;
}

/* The sums of a warp's tiles, in order, to seen_at. */
static void
see_tiles(maker *m, const window *w)
{
    lw_builder *b = &m->k.b;
    lw_ref at = low(m, m->tid, WARP), x[LW_REDUCE_PARTS] = {0};
    lw_ref is_active = is_less(m, w->tile, m->tile), is_last;

    lw_ir_if(b, is_active);
    take(m, number_of(m, i64(m, 0), m->tiles, w->tile), i64(m, 0), x);
    set(&m->k, m->slot, x);
    lw_ir_end(b);
    scan_warp(m, at, WARP, 1, is_active);
    is_last = lw_ir_or(b, is_equal(m, at, WARP - 1),
                       lw_ir_compare(b, LW_OP_EQ, add(m, w->tile, i64(m, 1)), m->tile));
    lw_ir_if(b, both(m, is_active, is_last));
    get(&m->k, m->slot, x);
    store_parts(&m->k, m->seen_at, add(m, high(m, m->tid, WARP), i64(m, 1)), x);
    lw_ir_end(b);
}

/* The first thread takes what is up to the window: asks for it before it does for tiles. */
static void
see_rest(maker *m, lw_ref is_there, lw_ref at, lw_ref *words, uint32_t n, bool asks)
{
    lw_builder *b = &m->k.b;
    lw_ref x[LW_REDUCE_PARTS] = {0};

    lw_ir_if(b, both(m, is_there, is_equal(m, m->tid, 0)));
    if (asks) {
        ask(m, at, n, words);
        for (uint32_t i = 0; i < n; i++)
            lw_ir_set(b, m->rest_word[i], words[i]);
    } else {
        for (uint32_t i = 0; i < n; i++)
            words[i] = lw_ir_get(b, m->rest_word[i]);
        wait_for(m, at, n, words);
        unpack(m, words, x);
        store_parts(&m->k, m->seen_at, i64(m, 0), x);
    }
    lw_ir_end(b);
}

/* All that was seen, in order. */
static void
join_seen(maker *m, const window *w)
{
    lw_builder *b = &m->k.b;
    lw_ref first = lw_ir_sub(b, w->tile, m->tid), x[LW_REDUCE_PARTS] = {0}, is_there, none;

    none = lw_ir_not(b, w->has_rest);
    if (m->k.key->initial) {
        none = lw_ir_int(b, LW_DT_b1, 0);
        set(&m->k, m->before, m->seed);
    }
    lw_ir_if(b, w->has_rest);
    load_parts(&m->k, m->seen_at, i64(m, 0), x);
    set(&m->k, m->before, x);
    lw_ir_end(b);
    for (int64_t warp = 0; warp < m->threads / WARP; warp++) {
        lw_ref acc[LW_REDUCE_PARTS] = {0};
        is_there = is_less(m, add(m, first, i64(m, warp * WARP)), m->tile);
        lw_ir_if(b, is_there);
        load_parts(&m->k, m->seen_at, i64(m, warp + 1), x);
        lw_ir_if(b, warp == 0 ? none : lw_ir_int(b, LW_DT_b1, 0));
        set(&m->k, m->before, x);
        lw_ir_else(b);
        get(&m->k, m->before, acc);
        combine(m, acc, x, acc);
        set(&m->k, m->before, acc);
        lw_ir_end(b);
        lw_ir_end(b);
    }
}

static void
look_along(maker *m)
{
    lw_builder *b = &m->k.b;
    window w = window_of(m);
    uint32_t n = lw_scan_state_words(m->k.part, m->k.n_parts);
    lw_ref words[2 * LW_REDUCE_PARTS] = {0}, before[LW_REDUCE_PARTS] = {0}, at, next;

    at = state_of(m, number_of(m, w.base, w.groups, lw_ir_sub(b, w.group, i64(m, 2))),
                  i64(m, 0));
    see_rest(m, w.has_rest, at, words, n, true);
    see_tiles(m, &w);
    see_rest(m, w.has_rest, at, words, n, false);
    barrier(&m->k);
    join_seen(m, &w);
    next = add(m, m->tile, i64(m, 1));
    lw_ir_if(b, both(m, both(m, is_equal(m, m->tid, 0), is_less(m, next, m->tiles)),
                     is_equal(m, low(m, next, lw_reduce_scan_group(m->k.key)), 0)));
    get(&m->k, m->before, before);
    leave_up_to(m, before, number_of(m, w.base, w.groups, w.group));
    lw_ir_end(b);
}

/* ---- rows side by side: a row's threads share its sums ---- */

typedef struct view {
    lw_ref tiles, group, groups, super; /* tiles: before it in the group, … */
    lw_ref group_base, super_base;      /* where their sums begin */
    lw_ref ends_group, ends_super;      /* and another one follows */
} view;

static view
view_of(maker *m)
{
    int64_t size = COLUMNS_GROUP;
    lw_ref follows = is_less(m, add(m, m->tile, i64(m, 1)), m->tiles), n_groups;
    view v;

    v.tiles = low(m, m->tile, size);
    v.group = high(m, m->tile, size);
    v.groups = low(m, v.group, size);
    v.super = high(m, v.group, size);
    n_groups = high(m, add(m, m->tiles, i64(m, size - 1)), size);
    v.group_base = times(m, m->tiles, m->strips);
    v.super_base = add(m, v.group_base, times(m, n_groups, m->strips));
    v.ends_group = both(m, follows, is_equal(m, v.tiles, size - 1));
    v.ends_super = both(m, v.ends_group, is_equal(m, v.groups, size - 1));
    return v;
}

/* What the super-group before left, or the seed, to seen_at. */
static void
see_super(maker *m, const view *v)
{
    lw_builder *b = &m->k.b;
    lw_ref x[LW_REDUCE_PARTS] = {0};

    lw_ir_if(b, is_above(m, v->super, 0));
    take(m, number_of(m, v->super_base, m->tiles, lw_ir_sub(b, v->super, i64(m, 1))),
         m->in_block, x);
    store_parts(&m->k, m->seen_at, m->in_block, x);
    if (m->k.key->initial) {
        lw_ir_else(b);
        store_parts(&m->k, m->seen_at, m->in_block, m->seed);
    }
    lw_ir_end(b);
}

static void
join_super(maker *m, const view *v)
{
    lw_builder *b = &m->k.b;
    lw_ref is_there = m->k.key->initial ? lw_ir_int(b, LW_DT_b1, 1) : is_above(m, v->super, 0);
    lw_ref x[LW_REDUCE_PARTS] = {0};

    lw_ir_if(b, is_there);
    load_parts(&m->k, m->seen_at, m->in_block, x);
    put_before(m, both(m, is_equal(m, v->tiles, 0), is_equal(m, v->groups, 0)), x);
    lw_ir_end(b);
}

/* Threads of a row that take tiles, and as many that take groups. */
static int64_t
shares_of(const maker *m)
{
    return m->lanes >= 2 * MOST_SHARES ? MOST_SHARES : m->lanes > 1 ? m->lanes / 2 : 1;
}

static lw_ref
share_place(maker *m, lw_ref share, int64_t from)
{
    return add(m, times(m, add(m, share, i64(m, from)), i64(m, m->results)), m->in_block);
}

/* x, or after the first one m->slot . x, to m->slot */
static void
add_to_share(maker *m, lw_ref is_first, lw_ref *x)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0};

    lw_ir_if(&m->k.b, is_first);
    set(&m->k, m->slot, x);
    lw_ir_else(&m->k.b);
    get(&m->k, m->slot, acc);
    combine(m, acc, x, x);
    set(&m->k, m->slot, x);
    lw_ir_end(&m->k.b);
}

/* `asked` sums from number `from` of `end` on: all are asked for before one is waited for. */
static void
take_some(maker *m, lw_ref at, lw_ref from, lw_ref begin, lw_ref end, int64_t asked)
{
    lw_builder *b = &m->k.b;
    uint32_t n = lw_scan_state_words(m->k.part, m->k.n_parts);
    lw_ref words[MOST_ASKED][2 * LW_REDUCE_PARTS] = {{0}}, where[MOST_ASKED] = {0};
    lw_ref step = times(m, m->strips, i64(m, 8 * (int64_t)n * m->results));
    lw_ref x[LW_REDUCE_PARTS] = {0};

    for (int64_t k = 0; k < asked; k++) {
        where[k] = at;
        ask(m, at, n, words[k]);
        if (k + 1 < asked) {
            lw_ref goes_on = is_less(m, add(m, from, i64(m, k + 1)), end);
            at = lw_ir_offset(b, at, lw_ir_select(b, goes_on, step, i64(m, 0)));
        }
    }
    for (int64_t k = 0; k < asked; k++) {
        lw_ref place = add(m, from, i64(m, k));
        lw_ir_if(b, is_less(m, place, end));
        wait_for(m, where[k], n, words[k]);
        unpack(m, words[k], x);
        add_to_share(m, lw_ir_compare(b, LW_OP_EQ, place, begin), x);
        lw_ir_end(b);
    }
}

/* The share of one of `count` sums from `first` on, in order, to its place. */
static void
take_share(maker *m, lw_ref share, lw_ref base, lw_ref first, lw_ref count, lw_ref place)
{
    lw_builder *b = &m->k.b;
    uint32_t n = lw_scan_state_words(m->k.part, m->k.n_parts);
    int64_t size = COLUMNS_GROUP / shares_of(m);
    int64_t asked = n * MOST_ASKED > 16 ? 1 : MOST_ASKED;
    lw_ref begin = times(m, share, i64(m, size)), x[LW_REDUCE_PARTS] = {0}, at;
    lw_ref end = smaller(&m->k, add(m, begin, i64(m, size)), count);
    lw_for loop;

    lw_ir_if(b, is_less(m, begin, count));
    loop = lw_ir_for(b, begin, end, i64(m, asked), LW_LOOP_NO_UNROLL, 0);
    at = state_of(m, number_of(m, base, m->tiles, add(m, first, loop.i)), m->in_block);
    take_some(m, at, loop.i, begin, end, asked);
    lw_ir_for_end(b, &loop);
    get(&m->k, m->slot, x);
    store_parts(&m->k, m->share_at, place, x);
    lw_ir_end(b);
}

/* The shares of a row, those from number `from` on. */
static void
join_shares(maker *m, lw_ref count, int64_t from, lw_ref *x)
{
    lw_builder *b = &m->k.b;
    int64_t size = COLUMNS_GROUP / shares_of(m);
    lw_ref end = high(m, add(m, count, i64(m, size - 1)), size), acc[LW_REDUCE_PARTS] = {0};
    lw_for loop;

    load_parts(&m->k, m->share_at, share_place(m, i64(m, 0), from), x);
    set(&m->k, m->slot, x);
    loop = lw_ir_for(b, i64(m, 1), end, i64(m, 1), LW_LOOP_NO_UNROLL, 0);
    load_parts(&m->k, m->share_at, share_place(m, loop.i, from), x);
    get(&m->k, m->slot, acc);
    combine(m, acc, x, x);
    set(&m->k, m->slot, x);
    lw_ir_for_end(b, &loop);
    get(&m->k, m->slot, x);
}

/* The last tile of a group leaves its sum before it waits for other groups. */
static void
end_group(maker *m, const view *v)
{
    lw_builder *b = &m->k.b;
    lw_ref x[LW_REDUCE_PARTS] = {0};

    lw_ir_if(b, v->ends_group);
    barrier(&m->k);
    lw_ir_if(b, is_equal(m, m->lane, 0));
    join_shares(m, v->tiles, 0, x);
    leave_up_to(m, x, number_of(m, v->group_base, m->tiles, v->group));
    lw_ir_end(b);
    lw_ir_end(b);
}

static void
look_across(maker *m)
{
    lw_builder *b = &m->k.b;
    view all = view_of(m), *v = &all;
    int64_t shares = shares_of(m), groups_from = m->lanes > 1 ? shares : 0;
    lw_ref x[LW_REDUCE_PARTS] = {0}, share = lw_ir_sub(b, m->lane, i64(m, groups_from));
    lw_ref takes_groups = lw_ir_compare(b, LW_OP_GE, share, i64(m, 0));

    lw_ir_if(b, is_less(m, m->lane, i64(m, shares)));
    take_share(m, m->lane, i64(m, 0), lw_ir_sub(b, m->tile, v->tiles), v->tiles,
               share_place(m, m->lane, 0));
    lw_ir_end(b);
    end_group(m, v);
    lw_ir_if(b, both(m, takes_groups, is_less(m, share, i64(m, shares))));
    take_share(m, share, v->group_base, lw_ir_sub(b, v->group, v->groups), v->groups,
               share_place(m, share, shares));
    lw_ir_end(b);
    lw_ir_if(b, is_equal(m, m->lane, m->lanes - 1));
    see_super(m, v);
    lw_ir_end(b);
    barrier(&m->k);
    lw_ir_if(b, is_above(m, v->tiles, 0));
    join_shares(m, v->tiles, 0, x);
    set(&m->k, m->before, x);
    lw_ir_end(b);
    lw_ir_if(b, is_above(m, v->groups, 0));
    join_shares(m, v->groups, shares, x);
    put_before(m, is_equal(m, v->tiles, 0), x);
    lw_ir_end(b);
    join_super(m, v);
    lw_ir_if(b, both(m, v->ends_super, is_equal(m, m->lane, 0)));
    get(&m->k, m->before, x);
    leave_up_to(m, x, number_of(m, v->super_base, m->tiles, v->super));
    lw_ir_end(b);
}

void
lw_scan_look_back(maker *m)
{
    barrier(&m->k);
    (m->k.key->columns ? look_across : look_along)(m);
}
