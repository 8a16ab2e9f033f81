/* The kernel of a scan whose blocks take tile after tile, with key->stages of them in shared
 * memory: for rows of many contiguous elements of one operand, whose results have the size of
 * elements.
 *
 * A block loads its next tiles while it works on one, and leaves the sum of the next tile for
 * the other blocks before it waits for what comes before its present one. So the sums that a
 * tile waits for have usually been there for some time. Blocks draw the numbers of their tiles
 * from a counter, and wait only for sums of smaller numbers, which blocks have that run: no
 * block waits for one that has not started.
 *
 *   before a tile = ((group 0 . group 1) . …) . the earlier tiles of its group
 *
 * with groups of a warp's lanes, whose sums each block makes for itself, in the same way: it
 * keeps what comes before the group of its last tile, and goes on from there. No block waits
 * for what another one has combined, so there is no chain of waits from tile to tile. What is
 * combined with what depends on the shape alone.
 *
 * Shared memory holds elements as they are in the operand, each thread's in a line of its own
 * with a gap behind it against bank conflicts, and later their results in the same places. */
#include "reduce/device/scan_internal.h"

#include "core/block/shuffle.h"

enum {
    WORD = 16,      /* bytes of an access */
    MOST_WARPS = 8, /* of a block */
    AT_ONCE = 2,    /* groups whose sums a warp takes before it waits for the first */
    MOST_STAGES = 4
};

typedef struct stages {
    int64_t loaded;           /* tiles */
    int64_t size, each;       /* bytes of an element, elements of an access */
    int64_t line, bytes;      /* bytes from thread to thread, and of a stage */
    int64_t n, warps;         /* stages, warps of a block */
    lw_ref memory, drawn;     /* shared memory: the stages; numbers from the counter */
    lw_ref total, lane, warp; /* the numbers of all tiles; the thread in its warp */
    lw_ref
        number[MOST_STAGES]; /* slots: of the tiles in shared memory, the present one first */
    lw_ref stage, turn;      /* slots: of the present tile; 0 or 1, for the sums of warps */
    lw_ref strip, group;     /* slots: what `upto` is the sum of: all groups before this one */
    lw_ref asked[AT_ONCE][2 * LW_REDUCE_PARTS]; /* slots: words as they were loaded */
    acc_parts upto, lead; /* slots; lead: what comes before the thread in its tile */
} stages;

static lw_dtype
loaded_of(const maker *m)
{
    return m->r->loaded[0];
}

/* ---- places ---- */

/* Sets the tile that the maker's functions work on. */
static void
set_tile(maker *m, lw_ref number)
{
    lw_builder *b = &m->b;

    m->number = number;
    m->strip = lw_ir_cast(
        b, LW_DT_i64,
        lw_ir_div(b, lw_ir_cast(b, LW_DT_u32, number), lw_ir_cast(b, LW_DT_u32, m->tiles)));
    m->tile = minus(m, number, times(m, m->strip, m->tiles));
    m->first = times(m, m->tile, i64(m, m->threads * m->thread_items));
    m->count =
        smaller(m, minus(m, m->elements, m->first), i64(m, m->threads * m->thread_items));
    m->is_full = is_equal(m, m->count, m->threads * m->thread_items);
}

static lw_ref
stage_at(maker *m, const stages *s, lw_ref stage)
{
    return lw_ir_offset(&m->b, s->memory, times(m, stage, i64(m, s->bytes)));
}

/* Where an element of the tile lies in its stage. */
static lw_ref
place_of(maker *m, const stages *s, lw_ref stage_address, lw_ref element)
{
    lw_ref owner = times(m, high(m, element, m->thread_items), i64(m, s->line));
    lw_ref own = times(m, low(m, element, m->thread_items), i64(m, s->size));

    return lw_ir_offset(&m->b, stage_address, add(m, owner, own));
}

/* The thread's k-th element, or the first one of its k-th access. */
static lw_ref
element_of(maker *m, int64_t k, int64_t each)
{
    return times(m, add(m, m->tid, i64(m, k * m->threads)), i64(m, each));
}

/* The row's operand, and its results. */
static lw_ref
row_of(maker *m)
{
    return lw_ir_offset(&m->b, m->operand[0], times(m, m->strip, m->outer_step[0]));
}

static lw_ref
results_of(maker *m)
{
    int64_t size = lw_dtypes[m->r->out[0]].size_bytes;

    return lw_ir_offset(&m->b, m->out[0],
                        times(m, times(m, m->strip, m->elements), i64(m, size)));
}

/* ---- loading ---- */

static void
copy(maker *m, lw_kernel_op op, lw_ref to, lw_ref from)
{
    const lw_ref args[] = {to, from};

    lw_ir_kernel_call(&m->b, op, LW_DT_void, args, 2);
}

static void
copies(maker *m, lw_kernel_op op)
{
    lw_ir_kernel_call(&m->b, op, LW_DT_void, NULL, 0);
}

/* Waits for the oldest tile under way, behind which `more` were begun, and for all threads. */
static void
wait_for_copies(maker *m, int64_t more)
{
    static const lw_kernel_op left[MOST_STAGES] = {LW_KOP_copies_left_0, LW_KOP_copies_left_1,
                                                   LW_KOP_copies_left_2, LW_KOP_copies_left_3};

    copies(m, left[more]);
    lw_ir_barrier(&m->b);
}

/* In accesses of 16 bytes. */
static void
begin_full(maker *m, const stages *s, lw_ref to, lw_ref from)
{
    for (int64_t k = 0; k < m->thread_items / s->each; k++) {
        lw_ref element = element_of(m, k, s->each);
        lw_ref bytes = times(m, add(m, m->first, element), i64(m, s->size));
        copy(m, LW_KOP_copy_16, place_of(m, s, to, element), lw_ir_offset(&m->b, from, bytes));
    }
}

/* Element by element: neighbouring threads take neighbours. */
static void
begin_each(maker *m, const stages *s, lw_ref to, lw_ref from)
{
    lw_ref values[MOST_ITEMS] = {0};

    for (int64_t k = 0; k < m->thread_items; k++) {
        lw_ref element = element_of(m, k, 1);
        lw_ref at = lw_ir_offset(&m->b, from, times(m, add(m, m->first, element), m->step[0]));
        if (s->size >= 4)
            copy(m, s->size == 4 ? LW_KOP_copy_4 : LW_KOP_copy_8, place_of(m, s, to, element),
                 at);
        else
            values[k] = lw_ir_load(&m->b, loaded_of(m), 1, at, 0, operand_flags(m));
    }
    for (int64_t k = 0; k < m->thread_items && s->size < 4; k++)
        lw_ir_store(&m->b, place_of(m, s, to, element_of(m, k, 1)), values[k], 0, 0);
}

/* The same where the row ends in the tile. Behind its end threads take its last element: what
 * they make of it is not stored, and comes before nothing that is. */
static void
begin_some(maker *m, const stages *s, lw_ref to, lw_ref from)
{
    lw_builder *b = &m->b;
    lw_dtype type = loaded_of(m);
    lw_for loop =
        lw_ir_for(b, i64(m, 0), i64(m, m->thread_items), i64(m, 1), LW_LOOP_NO_UNROLL, 0);
    lw_ref element = add(m, m->tid, times(m, loop.i, i64(m, m->threads))), at;

    at = add(m, m->first, smaller(m, element, minus(m, m->count, i64(m, 1))));
    at = lw_ir_offset(b, from, times(m, at, m->step[0]));
    to = place_of(m, s, to, element);
    if (s->size >= 4)
        copy(m, s->size == 4 ? LW_KOP_copy_4 : LW_KOP_copy_8, to, at);
    else
        lw_ir_store(b, to, lw_ir_load(b, type, 1, at, 0, operand_flags(m)), 0, 0);
    lw_ir_for_end(b, &loop);
}

/* Begins to load tile `number`, if there is one. */
static void
begin_tile(maker *m, const stages *s, lw_ref number, lw_ref stage)
{
    lw_builder *b = &m->b;
    lw_ref to = stage_at(m, s, stage), from;

    lw_ir_if(b, is_less(m, number, s->total));
    set_tile(m, number);
    from = row_of(m);
    lw_ir_if(b, m->is_full);
    (m->key->vector ? begin_full : begin_each)(m, s, to, from);
    lw_ir_else(b);
    begin_some(m, s, to, from);
    lw_ir_end(b);
    lw_ir_end(b);
    copies(m, LW_KOP_copies_commit);
}

/* The first thread draws the number of the tile after those that the block has. */
static void
draw(maker *m, const stages *s, int64_t n)
{
    lw_builder *b = &m->b;
    lw_ref one = lw_ir_int(b, LW_DT_u32, 1);

    lw_ir_if(b, is_equal(m, m->tid, 0));
    for (int64_t k = 0; k < n; k++)
        lw_ir_store(b, lw_ir_offset(b, s->drawn, i64(m, 4 * k)),
                    lw_ir_atomic(b, LW_ATOMIC_ADD, m->counter, &one, 1), 0, 0);
    lw_ir_end(b);
}

static lw_ref
drawn(maker *m, const stages *s, int64_t k)
{
    return lw_ir_cast(
        &m->b, LW_DT_i64,
        lw_ir_load(&m->b, LW_DT_u32, 1, lw_ir_offset(&m->b, s->drawn, i64(m, 4 * k)), 0, 0));
}

/* ---- the sum of a tile ---- */

/* The accumulators of the access's elements; k: the number of the first among the thread's. */
static lw_ref
take_access(maker *m, const stages *s, lw_ref line, int64_t k, acc_parts *acc)
{
    lw_builder *b = &m->b;
    lw_ref at = lw_ir_offset(b, line, i64(m, k * s->size));
    lw_ref all = lw_ir_load(b, loaded_of(m), (unsigned)s->each, at, WORD, 0);

    for (int64_t v = 0; v < s->each; v++) {
        lw_ref values[2] = {s->each > 1 ? lw_ir_lane(b, all, (unsigned)v) : all};
        if (m->r->indexed) {
            lw_ref place = add(m, times(m, m->tid, i64(m, m->thread_items)), i64(m, k + v));
            values[1] = add(m, m->first, smaller(m, place, minus(m, m->count, i64(m, 1))));
        }
        lw_reduce_emit_map(b, &m->body, values, acc[v]);
    }
    return at;
}

static lw_ref
line_of(maker *m, const stages *s, lw_ref stage)
{
    return lw_ir_offset(&m->b, stage_at(m, s, stage), times(m, m->tid, i64(m, s->line)));
}

static lw_ref
warp_place(maker *m, const stages *s, lw_ref turn, lw_ref warp)
{
    return add(m, times(m, turn, i64(m, s->warps)), warp);
}

/* Combines the elements of each thread and of each warp. Sets m->sum to the sum up to the
 * thread's last element in its warp, and s->lead to what comes before its first one there. */
static void
sum_tile(maker *m, const stages *s, lw_ref stage, lw_ref turn)
{
    lw_builder *b = &m->b;
    acc_parts acc[WORD] = {{0}}, sum = {0};
    lw_ref line = line_of(m, s, stage);

    for (int64_t k = 0; k < m->thread_items; k += s->each) {
        take_access(m, s, line, k, acc);
        for (int64_t v = 0; v < s->each; v++)
            if (k + v == 0)
                memcpy(sum, acc[0], sizeof sum);
            else
                lw_reduce_combine(m, sum, acc[v], sum);
    }
    set(m, m->sum, sum);
    lw_scan_warp(m, s->lane, WARP, 1, lw_ir_int(b, LW_DT_b1, 1));
    get(m, m->sum, sum);
    lw_ir_if(b, is_equal(m, s->lane, WARP - 1));
    store_parts(m, m->warp_at, warp_place(m, s, turn, s->warp), sum);
    lw_ir_end(b);
    lw_scan_shuffle(m, LW_KOP_shfl_up, sum, i32(m, 1), sum);
    set(m, s->lead, sum);
}

/* Puts the warps before the thread's own in front of m->sum and s->lead. */
static void
add_warps(maker *m, const stages *s, lw_ref turn)
{
    lw_builder *b = &m->b;
    acc_parts x[MOST_WARPS] = {{0}}, before = {0};

    if (s->warps == 1)
        return;
    for (int64_t w = 0; w + 1 < s->warps; w++)
        load_parts(m, m->warp_at, warp_place(m, s, turn, i64(m, w)), x[w]);
    set(m, m->other, x[0]);
    for (int64_t w = 1; w + 1 < s->warps; w++) {
        lw_ir_if(b, is_above(m, s->warp, w));
        lw_reduce_combine_after(m, m->other, x[w]);
        lw_ir_end(b);
    }
    lw_ir_if(b, is_above(m, s->warp, 0));
    get(m, m->other, before);
    lw_reduce_combine_before(m, before, m->sum);
    lw_reduce_put_before(m, before, s->lead, is_above(m, s->lane, 0));
    lw_ir_end(b);
}

/* Leaves the sum of the tile, of which sum_tile has made those of warps; `turn` as there. */
static void
leave_sum(maker *m, const stages *s, lw_ref turn)
{
    acc_parts sum = {0};

    add_warps(m, s, turn);
    lw_ir_if(&m->b, is_equal(m, m->tid, m->threads - 1));
    get(m, m->sum, sum);
    lw_scan_leave_sum(m, sum);
    lw_ir_end(&m->b);
}

/* ---- what comes before a tile ---- */

/* The k-th of the groups that a warp takes, counted from the first one of the block. */
static lw_ref
place_of_group(maker *m, const stages *s, int64_t k)
{
    return add(m, s->warp, i64(m, k * s->warps));
}

/* Where the sum of the lane's tile of a group is. */
static lw_ref
sum_at(maker *m, const stages *s, lw_ref group)
{
    lw_ref tile = smaller(m, add(m, times(m, group, i64(m, WARP)), s->lane), m->tile);

    return lw_scan_sum_at(m, lw_scan_sum_number(m, i64(m, 0), m->tiles, tile), i64(m, 0));
}

/* Group `group` of the row: each lane takes the sum of a tile; the last one that is there puts
 * the sum of all to `place` of seen_at. words: those of the lane's tile, as they were loaded.
 */
static void
see_group(maker *m, const stages *s, lw_ref group, lw_ref at, lw_ref *words, lw_ref place)
{
    lw_builder *b = &m->b;
    acc_parts x = {0};
    lw_ref tile = add(m, times(m, group, i64(m, WARP)), s->lane);
    lw_ref is_active = is_less(m, tile, m->tile), is_last;

    lw_scan_wait(m, at, lw_scan_state_words(m->part, m->n_parts), words);
    lw_scan_unpack(m, words, x);
    set(m, m->sum, x);
    lw_scan_warp(m, s->lane, WARP, 1, is_active);
    is_last = lw_ir_or(b, is_equal(m, s->lane, WARP - 1),
                       lw_ir_compare(b, LW_OP_EQ, add(m, tile, i64(m, 1)), m->tile));
    lw_ir_if(b, both(m, is_active, is_last));
    get(m, m->sum, x);
    store_parts(m, m->seen_at, place, x);
    lw_ir_end(b);
}

/* Loads the sums of groups from `from` on, AT_ONCE in each warp. Lanes without a tile load the
 * sum of the block's own, which is there. */
static void
ask_for_groups(maker *m, const stages *s, lw_ref from)
{
    uint32_t n = lw_scan_state_words(m->part, m->n_parts);
    lw_ref words[2 * LW_REDUCE_PARTS] = {0};

    for (int64_t k = 0; k < AT_ONCE; k++) {
        lw_ref at = sum_at(m, s, add(m, from, place_of_group(m, s, k)));
        lw_scan_ask(m, at, n, words);
        for (uint32_t i = 0; i < n; i++)
            lw_ir_set(&m->b, s->asked[k][i], words[i]);
    }
}

/* Waits for them, and puts the sums of groups to seen_at. */
static void
see_groups(maker *m, const stages *s, lw_ref from)
{
    uint32_t n = lw_scan_state_words(m->part, m->n_parts);
    lw_ref words[2 * LW_REDUCE_PARTS] = {0};

    for (int64_t k = 0; k < AT_ONCE; k++) {
        lw_ref place = place_of_group(m, s, k), group = add(m, from, place);
        for (uint32_t i = 0; i < n; i++)
            words[i] = lw_ir_get(&m->b, s->asked[k][i]);
        see_group(m, s, group, sum_at(m, s, group), words, place);
    }
}

/* m->before = s->upto . x, the sum of this group; it becomes s->upto if the group lies before
 * the tile's own. */
static void
join_group(maker *m, const stages *s, lw_ref group, lw_ref own, const lw_ref *x)
{
    lw_builder *b = &m->b;

    copy_slots(m, m->before, s->upto);
    lw_ir_if(b, m->key->initial ? lw_ir_int(b, LW_DT_b1, 0) : is_equal(m, group, 0));
    set(m, m->before, x);
    lw_ir_else(b);
    lw_reduce_combine_after(m, m->before, x);
    lw_ir_end(b);
    lw_ir_if(b, is_less(m, group, own));
    copy_slots(m, s->upto, m->before);
    lw_ir_end(b);
}

/* Joins n of the sums of groups that were seen, from group `from` on. Those of a single number
 * are all loaded before the first is used. */
static void
join_groups(maker *m, const stages *s, lw_ref from, lw_ref own, lw_ref n)
{
    lw_builder *b = &m->b;
    acc_parts x[AT_ONCE * MOST_WARPS] = {{0}};
    lw_for loop;

    if (m->n_parts == 1) {
        for (int64_t k = 0; k < AT_ONCE * s->warps; k++)
            load_parts(m, m->seen_at, i64(m, k), x[k]);
        for (int64_t k = 0; k < AT_ONCE * s->warps; k++) {
            lw_ir_if(b, is_above(m, n, k));
            join_group(m, s, add(m, from, i64(m, k)), own, x[k]);
            lw_ir_end(b);
        }
        return;
    }
    loop = lw_ir_for(b, i64(m, 0), n, i64(m, 1), LW_LOOP_NO_UNROLL | LW_LOOP_NO_VECTORIZE, 0);
    load_parts(m, m->seen_at, loop.i, x[0]);
    join_group(m, s, add(m, from, loop.i), own, x[0]);
    lw_ir_for_end(b, &loop);
}

/* A row begins: nothing comes before its first group but the seed. */
static void
begin_row(maker *m, const stages *s)
{
    lw_builder *b = &m->b;

    lw_ir_if(b, lw_ir_compare(b, LW_OP_NE, lw_ir_get(b, s->strip), m->strip));
    lw_ir_set(b, s->strip, m->strip);
    lw_ir_set(b, s->group, i64(m, 0));
    if (m->key->initial)
        set(m, s->upto, m->seed);
    lw_ir_end(b);
}

/* Sets m->before and m->is_led. */
static void
look_back(maker *m, const stages *s)
{
    lw_builder *b = &m->b;
    int64_t once = AT_ONCE * s->warps;
    lw_ref own = high(m, m->tile, WARP), zero = i64(m, 0), end, from;
    lw_ref some = lw_ir_select(b, is_above(m, low(m, m->tile, WARP), 0), i64(m, 1), zero);
    lw_for rounds;

    begin_row(m, s);
    ask_for_groups(m, s, lw_ir_get(b, s->group));
    copy_slots(m, m->before, s->upto);
    end = add(m, own, some);
    rounds = lw_ir_for(b, lw_ir_get(b, s->group), end, i64(m, once),
                       LW_LOOP_NO_UNROLL | LW_LOOP_NO_VECTORIZE, 0);
    from = rounds.i;
    see_groups(m, s, from);
    lw_ir_barrier(b);
    lw_ir_if(b, is_less(m, add(m, from, i64(m, once)), end));
    ask_for_groups(m, s, add(m, from, i64(m, once)));
    lw_ir_end(b);
    join_groups(m, s, from, own, smaller(m, i64(m, once), minus(m, end, from)));
    lw_ir_barrier(b);
    lw_ir_for_end(b, &rounds);
    lw_ir_set(b, s->group, own);
    m->is_led = m->key->initial ? lw_ir_int(b, LW_DT_b1, 1) : is_above(m, m->tile, 0);
}

/* ---- results ---- */

/* Sets s->lead to what comes before the thread's first element in its row, if there is
 * something, which is returned. */
static lw_ref
lead_in(maker *m, const stages *s)
{
    lw_builder *b = &m->b;
    lw_ref follows = is_above(m, m->tid, 0);
    acc_parts before = {0};

    lw_ir_if(b, m->is_led);
    get(m, m->before, before);
    lw_reduce_put_before(m, before, s->lead, follows);
    lw_ir_end(b);
    return lw_ir_or(b, m->is_led, follows);
}

/* Puts the results of an access's elements in their place. acc: the sums up to them. lead: what
 * comes before the thread's elements, or NULL. last: for results without their own element, the
 * sum before acc[0]; else NULL. is_first: nothing of the thread comes before acc[0]. */
static void
put_access(maker *m, const stages *s, lw_ref at, acc_parts *acc, const lw_ref *lead,
           const lw_ref *last, bool is_first)
{
    lw_builder *b = &m->b;
    lw_ref made[LW_REDUCE_PARTS] = {0}, of[WORD] = {0};
    acc_parts sum = {0};

    for (int64_t v = 0; v < s->each; v++) {
        memcpy(sum, last == NULL ? acc[v] : v > 0 ? acc[v - 1] : last, sizeof sum);
        if (lead != NULL && last != NULL && is_first && v == 0)
            memcpy(sum, lead, sizeof sum);
        else if (lead != NULL)
            lw_reduce_combine(m, lead, sum, sum);
        lw_reduce_emit_finish(b, &m->body, sum, made);
        of[v] = made[0];
    }
    lw_ir_store(b, at, s->each > 1 ? lw_ir_pack(b, m->r->out[0], of, (unsigned)s->each) : of[0],
                WORD, 0);
}

/* Scans the thread's elements once more; lead: what comes before them, or NULL. */
static void
scan_line(maker *m, const stages *s, lw_ref line, const lw_ref *lead)
{
    acc_parts acc[WORD] = {{0}}, last = {0};

    for (int64_t k = 0; k < m->thread_items; k += s->each) {
        lw_ref at = take_access(m, s, line, k, acc);
        if (k > 0)
            lw_reduce_combine(m, last, acc[0], acc[0]);
        for (int64_t v = 1; v < s->each; v++)
            lw_reduce_combine(m, acc[v - 1], acc[v], acc[v]);
        put_access(m, s, at, acc, lead, m->key->before ? last : NULL, k == 0);
        memcpy(last, acc[s->each - 1], sizeof last);
    }
}

static void
scan_tile(maker *m, const stages *s, lw_ref stage)
{
    lw_builder *b = &m->b;
    lw_ref line = line_of(m, s, stage), is_led = lead_in(m, s);
    acc_parts lead = {0};

    lw_ir_if(b, is_led);
    get(m, s->lead, lead);
    scan_line(m, s, line, lead);
    if (!m->key->before) {
        lw_ir_else(b);
        scan_line(m, s, line, NULL);
    }
    lw_ir_end(b);
}

static void
store_full(maker *m, const stages *s, lw_ref from, lw_ref to)
{
    lw_builder *b = &m->b;

    for (int64_t k = 0; k < m->thread_items / s->each; k++) {
        lw_ref element = element_of(m, k, s->each);
        lw_ref bytes = times(m, add(m, m->first, element), i64(m, s->size));
        lw_ref all = lw_ir_load(b, m->r->out[0], (unsigned)s->each,
                                place_of(m, s, from, element), WORD, 0);
        lw_ir_store(b, lw_ir_offset(b, to, bytes), all, WORD, LW_MEM_STREAMING);
    }
}

static void
store_each(maker *m, const stages *s, lw_ref from, lw_ref to)
{
    lw_builder *b = &m->b;

    for (int64_t k = 0; k < m->thread_items; k++) {
        lw_ref element = element_of(m, k, 1);
        lw_ref bytes = times(m, add(m, m->first, element), i64(m, s->size));
        lw_ref value = lw_ir_load(b, m->r->out[0], 1, place_of(m, s, from, element), 0, 0);
        lw_ir_store(b, lw_ir_offset(b, to, bytes), value, 0, LW_MEM_STREAMING);
    }
}

static void
store_some(maker *m, const stages *s, lw_ref from, lw_ref to)
{
    lw_builder *b = &m->b;
    lw_for loop =
        lw_ir_for(b, i64(m, 0), i64(m, m->thread_items), i64(m, 1), LW_LOOP_NO_UNROLL, 0);
    lw_ref element = add(m, m->tid, times(m, loop.i, i64(m, m->threads))), bytes, value;

    lw_ir_if(b, is_less(m, element, m->count));
    bytes = times(m, add(m, m->first, element), i64(m, s->size));
    value = lw_ir_load(b, m->r->out[0], 1, place_of(m, s, from, element), 0, 0);
    lw_ir_store(b, lw_ir_offset(b, to, bytes), value, 0, 0);
    lw_ir_end(b);
    lw_ir_for_end(b, &loop);
}

static void
store_tile(maker *m, const stages *s, lw_ref stage)
{
    lw_builder *b = &m->b;
    lw_ref from = stage_at(m, s, stage), to = results_of(m);

    lw_ir_if(b, m->is_full);
    (m->key->wide_out ? store_full : store_each)(m, s, from, to);
    lw_ir_else(b);
    store_some(m, s, from, to);
    lw_ir_end(b);
}

/* ---- the kernel ---- */

static void
set_stages(maker *m, stages *s)
{
    lw_builder *b = &m->b;

    s->size = lw_dtypes[loaded_of(m)].size_bytes;
    s->each = WORD / s->size;
    s->line = m->thread_items * s->size + WORD;
    s->bytes = m->threads * s->line;
    s->n = m->key->stages;
    s->loaded = s->n - 1;
    s->warps = m->threads / WARP;
    assert(s->loaded >= 2 && s->n <= MOST_STAGES && s->warps >= 1 && s->warps <= MOST_WARPS);
    assert(m->thread_items % s->each == 0 && m->r->n_in == 1 && m->r->n_out == 1);
    s->memory = lw_ir_dynamic(b);
    s->drawn = lw_ir_shared(b, (uint32_t)(4 * s->n), 4);
    for (uint32_t i = 0; i < m->n_parts; i++) {
        uint32_t size = lw_dtypes[m->part[i]].size_bytes;
        lw_ref *slots[] = {&m->sum[i], &m->other[i], &m->before[i], &s->upto[i], &s->lead[i]};
        m->warp_at[i] = lw_ir_shared(b, (uint32_t)(2 * s->warps) * size, WORD);
        m->seen_at[i] = lw_ir_shared(b, (uint32_t)(AT_ONCE * s->warps) * size, WORD);
        for (int k = 0; k < 5; k++) {
            *slots[k] = lw_ir_slot(b, m->part[i]);
            lw_ir_set(b, *slots[k], lw_ir_zero(b, m->part[i]));
        }
    }
    for (uint32_t i = 0; i < lw_scan_state_words(m->part, m->n_parts); i++) {
        m->word[i] = lw_ir_slot(b, LW_DT_u64);
        for (int k = 0; k < AT_ONCE; k++)
            s->asked[k][i] = lw_ir_slot(b, LW_DT_u64);
    }
    m->tid = register_of(m, LW_SREG_TID_X);
    m->in_block = i64(m, 0);
    s->lane = low(m, m->tid, WARP);
    s->warp = high(m, m->tid, WARP);
    s->total = times(m, m->tiles, m->strips);
    for (int64_t k = 0; k < s->n; k++)
        s->number[k] = lw_ir_slot(b, LW_DT_i64);
    s->stage = lw_ir_slot(b, LW_DT_i64);
    s->turn = lw_ir_slot(b, LW_DT_i64);
    s->strip = lw_ir_slot(b, LW_DT_i64);
    s->group = lw_ir_slot(b, LW_DT_i64);
    lw_ir_set(b, s->stage, i64(m, 0));
    lw_ir_set(b, s->turn, i64(m, 0));
    lw_ir_set(b, s->strip, i64(m, -1));
    lw_ir_set(b, s->group, i64(m, 0));
}

/* Loads the first tiles, and leaves the sum of the first of them. */
static void
begin(maker *m, const stages *s)
{
    lw_builder *b = &m->b;
    lw_ref zero = i64(m, 0);

    draw(m, s, s->loaded);
    lw_ir_barrier(b);
    for (int64_t k = 0; k < s->loaded; k++) {
        lw_ir_set(b, s->number[k], drawn(m, s, k));
        begin_tile(m, s, lw_ir_get(b, s->number[k]), i64(m, k));
    }
    wait_for_copies(m, s->loaded - 1);
    lw_ir_if(b, is_less(m, lw_ir_get(b, s->number[0]), s->total));
    set_tile(m, lw_ir_get(b, s->number[0]));
    sum_tile(m, s, zero, zero);
    lw_ir_barrier(b);
    leave_sum(m, s, zero);
    lw_ir_end(b);
}

/* The sum of the tile after the present one, which the block's threads have loaded; what comes
 * before the present tile's threads is in `kept` meanwhile. */
static void
sum_next(maker *m, const stages *s, lw_ref next, lw_ref turn)
{
    lw_builder *b = &m->b;

    lw_ir_if(b, is_less(m, lw_ir_get(b, s->number[1]), s->total));
    set_tile(m, lw_ir_get(b, s->number[1]));
    sum_tile(m, s, next, turn);
    lw_ir_barrier(b); /* all threads of the block are here */
    leave_sum(m, s, turn);
    lw_ir_end(b);
}

/* Begins to load the tile that was drawn, into `stage`; the numbers move on. */
static void
take_drawn(maker *m, const stages *s, lw_ref stage)
{
    lw_builder *b = &m->b;
    lw_ref fresh = drawn(m, s, 0);

    for (int64_t k = 0; k + 1 < s->loaded; k++)
        lw_ir_set(b, s->number[k], lw_ir_get(b, s->number[k + 1]));
    lw_ir_set(b, s->number[s->loaded - 1], fresh);
    begin_tile(m, s, fresh, stage);
}

void
lw_scan_stages(maker *m)
{
    lw_builder *b = &m->b;
    stages all = {0}, *s = &all;
    acc_parts kept = {0}, of_next = {0};
    lw_ref number, next, turn, stage, free_stage;

    set_stages(m, s);
    begin(m, s);
    new_slots(m, kept);
    new_slots(m, of_next);
    lw_ir_loop(b, LW_LOOP_NO_UNROLL | LW_LOOP_NO_VECTORIZE, 0);
    number = lw_ir_get(b, s->number[0]);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GE, number, s->total));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    draw(m, s, 1);
    stage = lw_ir_get(b, s->stage);
    next = add(m, stage, i64(m, 1));
    next = lw_ir_select(b, is_equal(m, next, s->n), i64(m, 0), next);
    turn = minus(m, i64(m, 1), lw_ir_get(b, s->turn));
    copy_slots(m, kept, s->lead);
    wait_for_copies(m, s->loaded - 2);
    sum_next(m, s, next, turn);
    copy_slots(m, of_next, s->lead);
    copy_slots(m, s->lead, kept);
    free_stage =
        lw_ir_select(b, is_equal(m, stage, 0), i64(m, s->n - 1), minus(m, stage, i64(m, 1)));
    take_drawn(m, s, free_stage);
    set_tile(m, number);
    look_back(m, s);
    scan_tile(m, s, stage);
    lw_ir_barrier(b);
    store_tile(m, s, stage);
    lw_ir_set(b, s->stage, next);
    lw_ir_set(b, s->turn, turn);
    copy_slots(m, s->lead, of_next);
    lw_ir_latch(b);
    lw_ir_end(b);
}
