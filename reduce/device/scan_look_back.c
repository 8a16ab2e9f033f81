/* What comes before a tile, from the blocks that have the tiles before it.
 *
 * A block leaves its sum in device memory as words of 64 bits: 32 bits of a part in the lower
 * half, a mark in the upper. A word that has its mark is complete by itself, so that nobody has
 * to wait for the order of another block's stores (a release would cost a microsecond). */
#include "reduce/device/scan_internal.h"

enum { NAP_NS = 40, MOST_SHARES = 8, MOST_ASKED = 4, COLUMNS_GROUP = 32 };

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
    uint32_t n = lw_reduce_device_parts(r, key, part);

    return 8 * lw_scan_state_words(part, n);
}

/* The words of one sum. */
static uint32_t
n_words(const maker *m)
{
    return lw_scan_state_words(m->part, m->n_parts);
}

/* The address of sum number `number` of a row. Its words lie so far apart that those of the
 * strip's rows are neighbours. */
static lw_ref
state_of(maker *m, lw_ref number, lw_ref row)
{
    lw_ref word = add(m, times(m, number, i64(m, n_words(m) * m->strip_rows)), row);

    return lw_ir_offset(&m->b, m->state, times(m, word, i64(m, 8)));
}

static lw_dtype
unsigned_of(lw_dtype type)
{
    static const lw_dtype of_size[] = {
        [1] = LW_DT_u8, [2] = LW_DT_u16, [4] = LW_DT_u32, [8] = LW_DT_u64};

    assert(lw_dtypes[type].size_bytes <= 8); /* a part is a scalar */
    return of_size[lw_dtypes[type].size_bytes];
}

/* The bits of a value of at most 8 bytes as u64. */
static lw_ref
bits_of(maker *m, lw_ref value)
{
    lw_builder *b = &m->b;
    lw_dtype type = lw_ir_type(b, value);

    if (type == LW_DT_b1)
        return lw_ir_select(b, value, lw_ir_int(b, LW_DT_u64, 1), lw_ir_int(b, LW_DT_u64, 0));
    return lw_ir_cast(b, LW_DT_u64, lw_ir_bitcast(b, unsigned_of(type), value));
}

static lw_ref
value_of(maker *m, lw_dtype type, lw_ref bits)
{
    lw_builder *b = &m->b;

    if (type == LW_DT_b1)
        return lw_ir_compare(b, LW_OP_NE, bits, lw_ir_int(b, LW_DT_u64, 0));
    return lw_ir_bitcast(b, type, lw_ir_cast(b, unsigned_of(type), bits));
}

static void
leave_word(maker *m, lw_ref at, uint32_t which, lw_ref bits)
{
    lw_builder *b = &m->b;
    lw_ref args[2] = {lw_ir_offset(b, at, i64(m, 8 * (int64_t)which * m->strip_rows))};

    bits = lw_ir_or(b, bits, lw_ir_int(b, LW_DT_u64, INT64_C(1) << 32));
    args[1] = lw_ir_bitcast(b, LW_DT_i64, bits);
    lw_ir_kernel_call(b, LW_KOP_store_relaxed, LW_DT_void, args, 2);
}

static void
leave(maker *m, lw_ref number, lw_ref row, const lw_ref *x)
{
    lw_builder *b = &m->b;
    lw_ref at = state_of(m, number, row), half = lw_ir_int(b, LW_DT_u64, 32), bits;
    lw_ref below = lw_ir_int(b, LW_DT_u64, UINT32_MAX);
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->n_parts; i++) {
        bits = bits_of(m, x[i]);
        if (lw_dtypes[m->part[i]].size_bytes > 4) {
            leave_word(m, at, n++, lw_ir_and(b, bits, below));
            bits = lw_ir_shr(b, bits, half);
        }
        leave_word(m, at, n++, bits);
    }
}

/* The number of the sum of a row's tile `which`, or of its group `which`, whose sums begin at
 * `base`. Sums that a warp reads at once are neighbours. */
static lw_ref
number_of(maker *m, lw_ref base, lw_ref count, lw_ref which)
{
    if (m->key->columns)
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
        lw_ref from = lw_ir_offset(&m->b, at, i64(m, 8 * (int64_t)i * m->strip_rows));
        words[i] =
            lw_ir_bitcast(&m->b, LW_DT_u64,
                          lw_ir_kernel_call(&m->b, LW_KOP_load_relaxed, LW_DT_i64, &from, 1));
    }
}

/* Whether all words have their marks. */
static lw_ref
are_there(maker *m, uint32_t n, const lw_ref *words)
{
    lw_builder *b = &m->b;
    lw_ref all = words[0];

    for (uint32_t i = 1; i < n; i++)
        all = lw_ir_and(b, all, words[i]);
    return lw_ir_compare(b, LW_OP_NE, lw_ir_shr(b, all, lw_ir_int(b, LW_DT_u64, 32)),
                         lw_ir_int(b, LW_DT_u64, 0));
}

static void
unpack(maker *m, const lw_ref *words, lw_ref *x)
{
    lw_builder *b = &m->b;
    lw_ref half = lw_ir_int(b, LW_DT_u64, 32), below = lw_ir_int(b, LW_DT_u64, UINT32_MAX),
           bits;
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->n_parts; i++) {
        bits = lw_ir_and(b, words[n++], below);
        if (lw_dtypes[m->part[i]].size_bytes > 4)
            bits = lw_ir_or(b, lw_ir_shl(b, words[n++], half), bits);
        x[i] = value_of(m, m->part[i], bits);
    }
}

/* Waits until the words of a sum are complete. words: as they were loaded first; out:
 * complete. */
static void
wait_for(maker *m, lw_ref at, uint32_t n, lw_ref *words)
{
    lw_builder *b = &m->b;
    lw_ref nap = i32(m, NAP_NS), again[2 * LW_REDUCE_PARTS] = {0};

    for (uint32_t i = 0; i < n; i++)
        lw_ir_set(b, m->word[i], words[i]);
    lw_ir_loop(b, LW_LOOP_NO_UNROLL | LW_LOOP_NO_VECTORIZE);
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
    uint32_t n = n_words(m);
    lw_ref at = state_of(m, number, row), words[2 * LW_REDUCE_PARTS] = {0};

    ask(m, at, n, words);
    wait_for(m, at, n, words);
    unpack(m, words, x);
}

/* m->before = x . m->before, or x where is_first. */
static void
put_before(maker *m, lw_ref is_first, const lw_ref *x)
{
    lw_ir_if(&m->b, is_first);
    set(m, m->before, x);
    lw_ir_else(&m->b);
    lw_reduce_combine_before(m, x, m->before);
    lw_ir_end(&m->b);
}

/* Leaves `before` . the tile's own sum as sum number `number`. */
static void
leave_up_to(maker *m, const lw_ref *before, lw_ref number)
{
    acc_parts x = {0};

    load_parts(m, m->sum_at, m->in_block, x);
    lw_reduce_combine(m, before, x, x);
    leave(m, number, m->in_block, x);
}

/* ---- blocks of one row: each thread takes the sum of one earlier tile ---- */

/* What a tile looks back at: the earlier tiles of its own group, the tiles of the group before,
 * and the sum up to there. */
typedef struct window {
    lw_ref tile;         /* the tile whose sum the thread takes */
    lw_ref group;        /* the group of the block's tile */
    lw_ref base, groups; /* where the sums of groups begin, and how many groups a row has */
    lw_ref has_rest;     /* whether there are groups before the window */
} window;

static window
window_of(maker *m)
{
    lw_builder *b = &m->b;
    int64_t size = lw_reduce_scan_group(m->key);
    lw_ref zero = i64(m, 0), from;
    window w;

    w.group = high(m, m->tile, size);
    w.groups = high(m, add(m, m->tiles, i64(m, size - 1)), size);
    w.base = times(m, m->tiles, m->strips);
    w.has_rest = is_above(m, w.group, 1);
    from = minus(m, w.group, i64(m, 1));
    from = lw_ir_select(b, is_less(m, from, zero), zero, from);
    w.tile = add(m, times(m, from, i64(m, size)), m->tid);
    return w;
}

/* Combines the sums of the tiles that a warp looks at, in order, and puts them into seen_at. */
static void
see_tiles(maker *m, const window *w)
{
    lw_builder *b = &m->b;
    acc_parts x = {0};
    lw_ref at = low(m, m->tid, WARP);
    lw_ref is_active = is_less(m, w->tile, m->tile), is_last;

    lw_ir_if(b, is_active);
    take(m, number_of(m, i64(m, 0), m->tiles, w->tile), i64(m, 0), x);
    set(m, m->sum, x);
    lw_ir_end(b);
    lw_scan_warp(m, at, WARP, 1, is_active);
    is_last = lw_ir_or(b, is_equal(m, at, WARP - 1),
                       lw_ir_compare(b, LW_OP_EQ, add(m, w->tile, i64(m, 1)), m->tile));
    lw_ir_if(b, both(m, is_active, is_last));
    get(m, m->sum, x);
    store_parts(m, m->seen_at, add(m, high(m, m->tid, WARP), i64(m, 1)), x);
    lw_ir_end(b);
}

/* Loads the sum of all that comes before the window, which lies at `at`, in the first thread,
 * before that looks at its tile. */
static void
ask_for_rest(maker *m, lw_ref is_there, lw_ref at)
{
    lw_ref words[2 * LW_REDUCE_PARTS] = {0};

    lw_ir_if(&m->b, both(m, is_there, is_equal(m, m->tid, 0)));
    ask(m, at, n_words(m), words);
    for (uint32_t i = 0; i < n_words(m); i++)
        lw_ir_set(&m->b, m->rest_word[i], words[i]);
    lw_ir_end(&m->b);
}

/* Waits for that sum, after the tiles' ones. */
static void
see_rest(maker *m, lw_ref is_there, lw_ref at)
{
    lw_ref words[2 * LW_REDUCE_PARTS] = {0};
    acc_parts x = {0};

    lw_ir_if(&m->b, both(m, is_there, is_equal(m, m->tid, 0)));
    for (uint32_t i = 0; i < n_words(m); i++)
        words[i] = lw_ir_get(&m->b, m->rest_word[i]);
    wait_for(m, at, n_words(m), words);
    unpack(m, words, x);
    store_parts(m, m->seen_at, i64(m, 0), x);
    lw_ir_end(&m->b);
}

/* Combines all that was seen, in order, into m->before. */
static void
join_seen(maker *m, const window *w)
{
    lw_builder *b = &m->b;
    acc_parts x = {0};
    lw_ref first = minus(m, w->tile, m->tid), is_there, none;

    none = lw_ir_not(b, w->has_rest);
    if (m->key->initial) {
        none = lw_ir_int(b, LW_DT_b1, 0);
        set(m, m->before, m->seed);
    }
    lw_ir_if(b, w->has_rest);
    load_parts(m, m->seen_at, i64(m, 0), x);
    set(m, m->before, x);
    lw_ir_end(b);
    for (int64_t warp = 0; warp < m->threads / WARP; warp++) {
        is_there = is_less(m, add(m, first, i64(m, warp * WARP)), m->tile);
        lw_ir_if(b, is_there);
        load_parts(m, m->seen_at, i64(m, warp + 1), x);
        lw_ir_if(b, warp == 0 ? none : lw_ir_int(b, LW_DT_b1, 0));
        set(m, m->before, x);
        lw_ir_else(b);
        lw_reduce_combine_after(m, m->before, x);
        lw_ir_end(b);
        lw_ir_end(b);
    }
}

static void
look_along(maker *m)
{
    lw_builder *b = &m->b;
    window w = window_of(m);
    acc_parts before = {0};
    lw_ref at, next;

    at = state_of(m, number_of(m, w.base, w.groups, minus(m, w.group, i64(m, 2))), i64(m, 0));
    ask_for_rest(m, w.has_rest, at);
    see_tiles(m, &w);
    see_rest(m, w.has_rest, at);
    lw_ir_barrier(&m->b);
    join_seen(m, &w);
    next = add(m, m->tile, i64(m, 1));
    lw_ir_if(b, both(m, both(m, is_equal(m, m->tid, 0), is_less(m, next, m->tiles)),
                     is_equal(m, low(m, next, lw_reduce_scan_group(m->key)), 0)));
    get(m, m->before, before);
    leave_up_to(m, before, number_of(m, w.base, w.groups, w.group));
    lw_ir_end(b);
}

/* ---- blocks of neighbouring rows: a row's threads share the sums that it looks at ---- */

typedef struct view {
    lw_ref tiles, group, groups, super; /* of the tile: earlier tiles of its group, the group,
                                           earlier groups of its super-group, the super-group */
    lw_ref group_base, super_base;      /* where sums of groups and of super-groups begin */
    lw_ref ends_group, ends_super; /* the tile is the last of its group, of its super-group, but
                                      not of the row */
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

/* Puts what the super-group before has left, or the seed, into seen_at. */
static void
see_super(maker *m, const view *v)
{
    lw_builder *b = &m->b;
    acc_parts x = {0};

    lw_ir_if(b, is_above(m, v->super, 0));
    take(m, number_of(m, v->super_base, m->tiles, minus(m, v->super, i64(m, 1))), m->in_block,
         x);
    store_parts(m, m->seen_at, m->in_block, x);
    if (m->key->initial) {
        lw_ir_else(b);
        store_parts(m, m->seen_at, m->in_block, m->seed);
    }
    lw_ir_end(b);
}

static void
join_super(maker *m, const view *v)
{
    lw_builder *b = &m->b;
    lw_ref is_there = m->key->initial ? lw_ir_int(b, LW_DT_b1, 1) : is_above(m, v->super, 0);
    acc_parts x = {0};

    lw_ir_if(b, is_there);
    load_parts(m, m->seen_at, m->in_block, x);
    put_before(m, both(m, is_equal(m, v->tiles, 0), is_equal(m, v->groups, 0)), x);
    lw_ir_end(b);
}

/* How many threads of a row take the sums of tiles, and as many those of groups: each takes a
 * share of them. */
static int64_t
shares_of(const maker *m)
{
    return m->lanes >= 2 * MOST_SHARES ? MOST_SHARES : m->lanes > 1 ? m->lanes / 2 : 1;
}

static lw_ref
share_place(maker *m, lw_ref share, int64_t from)
{
    return add(m, times(m, add(m, share, i64(m, from)), i64(m, m->strip_rows)), m->in_block);
}

/* m->sum = m->sum . x, or x where is_first. */
static void
add_to_share(maker *m, lw_ref is_first, const lw_ref *x)
{
    lw_ir_if(&m->b, is_first);
    set(m, m->sum, x);
    lw_ir_else(&m->b);
    lw_reduce_combine_after(m, m->sum, x);
    lw_ir_end(&m->b);
}

/* Takes `asked` sums, from number `from` on, but none from `end` on: all are loaded before one
 * is waited for. */
static void
take_some(maker *m, lw_ref at, lw_ref from, lw_ref begin, lw_ref end, int64_t asked)
{
    lw_builder *b = &m->b;
    uint32_t n = n_words(m);
    lw_ref words[MOST_ASKED][2 * LW_REDUCE_PARTS] = {{0}}, where[MOST_ASKED] = {0};
    lw_ref step = times(m, m->strips, i64(m, 8 * (int64_t)n * m->strip_rows));
    acc_parts x = {0};

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

/* Combines share number `share` of `count` sums from `first` on, in order, and puts it to
 * `place` in shared memory. */
static void
take_share(maker *m, lw_ref share, lw_ref base, lw_ref first, lw_ref count, lw_ref place)
{
    lw_builder *b = &m->b;
    uint32_t n = n_words(m);
    int64_t size = COLUMNS_GROUP / shares_of(m);
    int64_t asked = n * MOST_ASKED > 16 ? 1 : MOST_ASKED;
    acc_parts x = {0};
    lw_ref begin = times(m, share, i64(m, size)), at;
    lw_ref end = smaller(m, add(m, begin, i64(m, size)), count);
    lw_for loop;

    assert(size * shares_of(m) == COLUMNS_GROUP);
    lw_ir_if(b, is_less(m, begin, count));
    loop = lw_ir_for(b, begin, end, i64(m, asked), LW_LOOP_NO_UNROLL);
    at = state_of(m, number_of(m, base, m->tiles, add(m, first, loop.i)), m->in_block);
    take_some(m, at, loop.i, begin, end, asked);
    lw_ir_for_end(b, &loop);
    get(m, m->sum, x);
    store_parts(m, m->share_at, place, x);
    lw_ir_end(b);
}

/* Combines the shares of a row that lie from number `from` on; x: out. */
static void
join_shares(maker *m, lw_ref count, int64_t from, lw_ref *x)
{
    lw_builder *b = &m->b;
    int64_t size = COLUMNS_GROUP / shares_of(m);
    lw_ref end = high(m, add(m, count, i64(m, size - 1)), size);
    lw_for loop;

    load_parts(m, m->share_at, share_place(m, i64(m, 0), from), x);
    set(m, m->sum, x);
    loop = lw_ir_for(b, i64(m, 1), end, i64(m, 1), LW_LOOP_NO_UNROLL);
    load_parts(m, m->share_at, share_place(m, loop.i, from), x);
    lw_reduce_combine_after(m, m->sum, x);
    lw_ir_for_end(b, &loop);
    get(m, m->sum, x);
}

/* In the last tile of a group, leaves the group's sum before the tile waits for other
 * groups. */
static void
end_group(maker *m, const view *v)
{
    lw_builder *b = &m->b;
    acc_parts x = {0};

    lw_ir_if(b, v->ends_group);
    lw_ir_barrier(&m->b);
    lw_ir_if(b, is_equal(m, m->lane, 0));
    join_shares(m, v->tiles, 0, x);
    leave_up_to(m, x, number_of(m, v->group_base, m->tiles, v->group));
    lw_ir_end(b);
    lw_ir_end(b);
}

static void
look_across(maker *m)
{
    lw_builder *b = &m->b;
    view all = view_of(m), *v = &all;
    int64_t shares = shares_of(m), groups_from = m->lanes > 1 ? shares : 0;
    acc_parts x = {0};
    lw_ref share = minus(m, m->lane, i64(m, groups_from));
    lw_ref takes_groups = lw_ir_compare(b, LW_OP_GE, share, i64(m, 0));

    lw_ir_if(b, is_less(m, m->lane, i64(m, shares)));
    take_share(m, m->lane, i64(m, 0), minus(m, m->tile, v->tiles), v->tiles,
               share_place(m, m->lane, 0));
    lw_ir_end(b);
    end_group(m, v);
    lw_ir_if(b, both(m, takes_groups, is_less(m, share, i64(m, shares))));
    take_share(m, share, v->group_base, minus(m, v->group, v->groups), v->groups,
               share_place(m, share, shares));
    lw_ir_end(b);
    lw_ir_if(b, is_equal(m, m->lane, m->lanes - 1));
    see_super(m, v);
    lw_ir_end(b);
    lw_ir_barrier(&m->b);
    lw_ir_if(b, is_above(m, v->tiles, 0));
    join_shares(m, v->tiles, 0, x);
    set(m, m->before, x);
    lw_ir_end(b);
    lw_ir_if(b, is_above(m, v->groups, 0));
    join_shares(m, v->groups, shares, x);
    put_before(m, is_equal(m, v->tiles, 0), x);
    lw_ir_end(b);
    join_super(m, v);
    lw_ir_if(b, both(m, v->ends_super, is_equal(m, m->lane, 0)));
    get(m, m->before, x);
    leave_up_to(m, x, number_of(m, v->super_base, m->tiles, v->super));
    lw_ir_end(b);
}

void
lw_scan_look_back(maker *m)
{
    assert(m->key->waits);
    lw_ir_barrier(&m->b);
    (m->key->columns ? look_across : look_along)(m);
}
