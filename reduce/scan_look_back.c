/* What comes before a tile, from the blocks that have the tiles before it. */
#include "reduce/scan_parts.h"

enum { NAP_NS = 40 };

typedef lw_scan_maker maker;

static void
raise_flag(maker *m, lw_ref condition, lw_ref number)
{
    lw_builder *b = &m->k.b;
    lw_ref args[2];

    lw_ir_if(b, both(m, condition, is_equal(m, m->tid, 0)));
    args[0] = lw_ir_offset(b, m->flags, times(m, number, i64(m, 4)));
    args[1] = i32(m, 1);
    lw_ir_kernel_call(b, LW_KOP_store_release, LW_DT_void, args, 2);
    lw_ir_end(b);
}

static void
wait_for(maker *m, lw_ref number)
{
    lw_builder *b = &m->k.b;
    lw_ref flag = lw_ir_offset(b, m->flags, times(m, number, i64(m, 4))), nap = i32(m, NAP_NS);

    lw_ir_loop(b, LW_LOOP_NO_UNROLL | LW_LOOP_NO_VECTORIZE, 0);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_NE,
                              lw_ir_kernel_call(b, LW_KOP_load_acquire, LW_DT_i32, &flag, 1),
                              i32(m, 0)));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    lw_ir_kernel_call(b, LW_KOP_nanosleep, LW_DT_void, &nap, 1);
    lw_ir_latch(b);
    lw_ir_end(b);
}

/* The sums of `count` (1 to 31) tiles or groups from `first` on; all lanes get it in x. row: in
 * the strip. base: where this kind of sums begins. */
static void
fold(maker *m, lw_ref base, lw_ref first, lw_ref count, lw_ref row, lw_ref *x)
{
    lw_builder *b = &m->k.b;
    lw_ref at = low(m, m->tid, WARP), is_active = is_less(m, at, count), number;

    lw_ir_if(b, is_active);
    number = add(m, add(m, base, m->strip), times(m, add(m, first, at), m->strips));
    wait_for(m, number);
    load_parts(&m->k, m->state, add(m, times(m, number, i64(m, m->results)), row), x);
    set(&m->k, m->slot, x);
    lw_ir_end(b);
    scan_warp(m, at, WARP, 1, is_active);
    get(&m->k, m->slot, x);
    shuffle(m, LW_KOP_shfl_idx, x, lw_ir_cast(b, LW_DT_i32, lw_ir_sub(b, count, i64(m, 1))), x);
}

/* What a tile sees of those before it: numbers of tiles, groups, super-groups. */
typedef struct view {
    lw_ref tiles, group, groups, super; /* tiles: before it in the group, … */
    lw_ref group_base, super_base;      /* where their sums begin */
    lw_ref ends_group, ends_super;      /* and another one follows */
} view;

static view
view_of(maker *m)
{
    int64_t size = 1 << LW_SCAN_GROUP_LOG2;
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

static lw_ref
number_of(maker *m, lw_ref base, lw_ref which)
{
    return add(m, add(m, base, m->strip), times(m, which, m->strips));
}

/* A warp takes every so-manieth row of the strip. */
static lw_for
for_rows(maker *m)
{
    return lw_ir_for(&m->k.b, high(m, m->tid, WARP), i64(m, m->results),
                     i64(m, m->threads / WARP), LW_LOOP_NO_UNROLL, 0);
}

/* before = sum . the tile's own, to `number`, by one lane. */
static void
leave(maker *m, lw_ref condition, const lw_ref *before, lw_ref row, lw_ref number)
{
    lw_ref x[LW_REDUCE_PARTS] = {0};

    lw_ir_if(&m->k.b, both(m, condition, is_equal(m, low(m, m->tid, WARP), 0)));
    load_parts(&m->k, m->sum_at, row, x);
    combine(m, before, x, x);
    store_parts(&m->k, m->state, add(m, times(m, number, i64(m, m->results)), row), x);
    lw_ir_end(&m->k.b);
}

static void
store_by_one(maker *m, const lw_ref *base, lw_ref row, const lw_ref *x)
{
    lw_ir_if(&m->k.b, is_equal(m, low(m, m->tid, WARP), 0));
    store_parts(&m->k, base, row, x);
    lw_ir_end(&m->k.b);
}

static void
sync_warp(maker *m)
{
    lw_ref all = i32(m, -1);

    lw_ir_kernel_call(&m->k.b, LW_KOP_syncwarp, LW_DT_void, &all, 1);
}

/* The tiles before this one in its group, by row, to before_at. */
static void
look_at_tiles(maker *m, const view *v)
{
    lw_ref x[LW_REDUCE_PARTS] = {0};
    lw_for loop;

    lw_ir_if(&m->k.b, is_above(m, v->tiles, 0));
    loop = for_rows(m);
    fold(m, i64(m, 0), lw_ir_sub(&m->k.b, m->tile, v->tiles), v->tiles, loop.i, x);
    store_by_one(m, m->before_at, loop.i, x);
    leave(m, v->ends_group, x, loop.i, number_of(m, v->group_base, v->group));
    lw_ir_for_end(&m->k.b, &loop);
    lw_ir_end(&m->k.b);
}

/* m->before = x . m->before, or x where nothing is there yet. */
static void
put_before(maker *m, lw_ref is_there, const lw_ref *x)
{
    lw_ir_if(&m->k.b, is_there);
    combine_before(m, x, m->before);
    lw_ir_else(&m->k.b);
    set(&m->k, m->before, x);
    lw_ir_end(&m->k.b);
}

/* The groups before the tile's own, then all super-groups, or the seed. */
static void
look_at_groups(maker *m, const view *v, lw_ref row)
{
    lw_builder *b = &m->k.b;
    lw_ref x[LW_REDUCE_PARTS] = {0}, has_tiles = is_above(m, v->tiles, 0), number;
    lw_ref has_some = is_above(m, low(m, m->tile, INT64_C(1) << 2 * LW_SCAN_GROUP_LOG2), 0);

    sync_warp(m);
    lw_ir_if(b, has_tiles);
    load_parts(&m->k, m->before_at, row, x);
    set(&m->k, m->before, x);
    lw_ir_end(b);
    lw_ir_if(b, is_above(m, v->groups, 0));
    fold(m, v->group_base, lw_ir_sub(b, v->group, v->groups), v->groups, row, x);
    put_before(m, has_tiles, x);
    lw_ir_end(b);
    lw_ir_if(b, is_above(m, v->super, 0));
    number = number_of(m, v->super_base, lw_ir_sub(b, v->super, i64(m, 1)));
    wait_for(m, number);
    load_parts(&m->k, m->state, add(m, times(m, number, i64(m, m->results)), row), x);
    put_before(m, has_some, x);
    if (m->k.key->initial) {
        lw_ir_else(b);
        put_before(m, has_some, m->seed);
    }
    lw_ir_end(b);
    sync_warp(m);
    get(&m->k, m->before, x);
    store_by_one(m, m->before_at, row, x);
    leave(m, v->ends_super, x, row, number_of(m, v->super_base, v->super));
}

void
lw_scan_look_back(maker *m)
{
    lw_builder *b = &m->k.b;
    view v = view_of(m);
    lw_for loop;

    barrier(&m->k);
    raise_flag(m, is_less(m, add(m, m->tile, i64(m, 1)), m->tiles), m->number);
    look_at_tiles(m, &v);
    lw_ir_if(b, v.ends_group);
    barrier(&m->k);
    raise_flag(m, lw_ir_int(b, LW_DT_b1, 1), number_of(m, v.group_base, v.group));
    lw_ir_end(b);
    lw_ir_if(b, m->is_led);
    loop = for_rows(m);
    look_at_groups(m, &v, loop.i);
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
    barrier(&m->k);
    raise_flag(m, v.ends_super, number_of(m, v.super_base, v.super));
}
