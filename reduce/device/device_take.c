#include "core/tables/intrinsics.h"
#include "reduce/device/device_kernel_parts.h"

enum {
    MOST_AHEAD = 8,   /* numbers of an access that are loaded an iteration ahead */
    MOST_CHAINED = 64 /* bytes of a lane's accumulators */
};

/* ---- accesses ---- */

/* bools as the bytes that they are */
static lw_ref
lane_of_access(maker *m, lw_dtype dtype, lw_ref all, uint32_t lane)
{
    lw_builder *b = &m->k.b;
    lw_ref value = lw_ir_lane(b, all, lane);

    if (dtype != LW_DT_b1)
        return value;
    return lw_ir_compare(b, LW_OP_NE, value, lw_ir_int(b, LW_DT_u8, 0));
}

static lw_ref
address_of(maker *m, uint32_t operand, lw_ref item, lw_ref step)
{
    lw_ref bytes = m->k.key->folded
                       ? lw_reduce_bytes_of(m, item, m->row, m->row_step[operand], step)
                       : lw_ir_mul(&m->k.b, item, step);

    return lw_ir_offset(&m->k.b, m->operand[operand], bytes);
}

static void
load_operand(maker *m, uint32_t which, lw_ref item, uint32_t place, uint32_t vector,
             access *out)
{
    lw_dtype dtype = m->k.r->loaded[which];
    uint32_t bytes = lw_dtypes[dtype].size_bytes * vector;
    uint32_t parts = (uint32_t)lw_reduce_parts(dtype);
    bool side_by_side = vector > 1 && !m->k.key->columns;
    lw_ref step = side_by_side ? i64(m, bytes) : m->step[which], all;
    lw_ref address = address_of(m, which, item, step);
    uint32_t flags = m->k.key->simulated ? 0 : LW_MEM_INVARIANT;

    if (vector == 1) {
        lw_reduce_emit_load(&m->k.b, dtype, address, flags, &out->values[0][place]);
        return;
    }
    all =
        lw_ir_load(&m->k.b, lw_dtype_memory_part(dtype), vector * parts, address, bytes, flags);
    for (uint32_t v = 0; v < vector; v++)
        for (uint32_t k = 0; k < parts; k++)
            out->values[v][place + k] = lane_of_access(m, dtype, all, v * parts + k);
}

/* The mask's bytes, as i32 0 or 1. */
static void
load_mask(maker *m, lw_ref item, uint32_t vector, access *out)
{
    lw_builder *b = &m->k.b;
    uint32_t at = m->k.r->n_in, flags = m->k.key->simulated ? 0 : LW_MEM_INVARIANT;
    lw_ref step = vector > 1 && !m->k.key->columns ? i64(m, vector) : m->step[at];
    lw_ref address = address_of(m, at, item, step);
    lw_ref all = lw_ir_load(b, LW_DT_i8, vector, address, vector, flags);

    for (uint32_t v = 0; v < vector; v++)
        out->mask[v] =
            lw_ir_select(b,
                         lw_ir_compare(b, LW_OP_NE, vector > 1 ? lw_ir_lane(b, all, v) : all,
                                       lw_ir_int(b, LW_DT_i8, 0)),
                         lw_ir_int(b, LW_DT_i32, 1), lw_ir_int(b, LW_DT_i32, 0));
}

void
lw_reduce_load_access(maker *m, lw_ref item, uint32_t vector, access *out)
{
    uint32_t place = 0;

    for (uint32_t i = 0; i < m->k.r->n_in; i++) {
        load_operand(m, i, item, place, vector, out);
        place += (uint32_t)lw_reduce_parts(m->k.r->loaded[i]);
    }
    for (uint32_t v = 0; v < vector && m->k.r->indexed; v++)
        out->values[v][place] =
            m->k.key->columns
                ? item
                : lw_ir_add(&m->k.b, lw_ir_mul(&m->k.b, item, i64(m, vector)), i64(m, v));
    if (m->k.key->masked)
        load_mask(m, item, vector, out);
}

void
lw_reduce_map_element(maker *m, const access *from, uint32_t v, lw_ref *acc)
{
    lw_reduce_emit_map(&m->k.b, &m->k.body, from->values[v], acc);
    if (m->k.key->masked)
        acc[m->k.n_parts - 1] = from->mask[v];
}

/* ---- lanes ---- */

/* ceil(x / y) of values that are not negative. */
static lw_ref
ceil_divide(maker *m, lw_ref x, lw_ref y)
{
    return lw_ir_div(&m->k.b, lw_ir_add(&m->k.b, x, lw_ir_sub(&m->k.b, y, i64(m, 1))), y);
}

/* Neighbouring elements to neighbouring lanes, or, where order matters, to one lane. */
lane_range
lw_reduce_lane_of(maker *m, lw_ref begin, lw_ref end, bool in_order)
{
    lw_builder *b = &m->k.b;
    lw_ref lanes = i64(m, INT64_C(1) << m->k.key->lanes_log2);
    lw_ref n = lw_ir_sub(b, end, begin), each;
    lane_range range;

    if (!in_order) {
        range.first = lw_ir_add(b, begin, m->lane);
        range.last = end;
        range.step = lanes;
        range.n = n;
        range.each = i64(m, 1);
        return range;
    }
    each = ceil_divide(m, n, lanes);
    range.first = lw_ir_add(b, begin, lw_ir_mul(b, m->lane, each));
    range.last = smaller(&m->k, end, lw_ir_add(b, range.first, each));
    range.step = i64(m, 1);
    range.n = n;
    range.each = each;
    return range;
}

/* Independent chains: one for each element of an access, or where accumulators are large, for
 * some neighbours. */
static uint32_t
n_chains(const maker *m)
{
    uint32_t n = m->k.key->vector, bytes = 0;

    for (uint32_t i = 0; i < m->k.n_parts; i++)
        bytes += lw_dtypes[m->k.part[i]].size_bytes;
    while (n > 1 && n * bytes > MOST_CHAINED && !m->k.key->columns)
        n /= 2;
    return n;
}

typedef struct chains {
    lw_ref slot[MOST_VECTOR][LW_REDUCE_PARTS];
} chains;

static void
chain_step(maker *m, const chains *c, uint32_t v, const lw_ref *x)
{
    lw_ref acc[LW_REDUCE_PARTS] = {0};

    for (uint32_t i = 0; i < m->k.n_parts; i++)
        acc[i] = lw_ir_get(&m->k.b, c->slot[v][i]);
    combine(m, acc, x, acc);
    for (uint32_t i = 0; i < m->k.n_parts; i++)
        lw_ir_set(&m->k.b, c->slot[v][i], acc[i]);
}

/* What map takes of `count` accesses from `item` on. */
static void
load_round(maker *m, lw_ref item, lw_ref step, uint32_t count, access *from)
{
    for (uint32_t k = 0; k < count; k++)
        lw_reduce_load_access(m, lw_ir_add(&m->k.b, item, lw_ir_mul(&m->k.b, step, i64(m, k))),
                              m->k.key->vector, &from[k]);
}

/* Joins `count` accesses, neighbours first: in order, and with fewer roundings in a row. */
static void
join_round(maker *m, uint32_t v, uint32_t count, const access *from, lw_ref *out)
{
    lw_ref x[UNROLL][LW_REDUCE_PARTS];

    for (uint32_t k = 0; k < count; k++)
        lw_reduce_map_element(m, &from[k], v, x[k]);
    for (uint32_t apart = 1; apart < count; apart *= 2)
        for (uint32_t k = 0; k + apart < count; k += 2 * apart)
            combine(m, x[k], x[k + apart], x[k]);
    memcpy(out, x[0], sizeof x[0]);
}

/* The same of all elements of an access that go to one chain. */
static void
join_elements(maker *m, uint32_t chain, uint32_t count, const access *from, lw_ref *out)
{
    uint32_t n = m->k.key->vector / n_chains(m);
    lw_ref x[MOST_VECTOR][LW_REDUCE_PARTS];

    for (uint32_t v = 0; v < n; v++)
        join_round(m, chain * n + v, count, from, x[v]);
    for (uint32_t apart = 1; apart < n; apart *= 2)
        for (uint32_t v = 0; v + apart < n; v += 2 * apart)
            combine(m, x[v], x[v + apart], x[v]);
    memcpy(out, x[0], sizeof x[0]);
}

static void
use_round(maker *m, const chains *c, uint32_t count, const access *from)
{
    lw_ref x[LW_REDUCE_PARTS];

    for (uint32_t i = 0; i < n_chains(m); i++) {
        join_elements(m, i, count, from, x);
        chain_step(m, c, i, x);
    }
}

/* `count` accesses into the chains: all are asked for before the first is used. */
static void
round_of(maker *m, const chains *c, lw_ref item, lw_ref step, uint32_t count, access *from)
{
    load_round(m, item, step, count, from);
    use_round(m, c, count, from);
}

/* The slot `at` goes on by `count` steps while it is below `end`. */
static void
rounds_until(maker *m, const chains *c, lw_ref at, lw_ref end, lw_ref step, uint32_t count,
             access *from)
{
    lw_builder *b = &m->k.b;
    lw_ref i = lw_ir_while(b, at, end);

    round_of(m, c, i, step, count, from);
    lw_ir_latch(b);
    lw_ir_while_end(b, at, lw_ir_mul(b, step, i64(m, count)));
}

static void
seed_chains(maker *m, const chains *c, lw_ref item, lw_ref step, uint32_t count, access *from)
{
    lw_ref x[LW_REDUCE_PARTS];

    load_round(m, item, step, count, from);
    for (uint32_t i = 0; i < n_chains(m); i++) {
        join_elements(m, i, count, from, x);
        set(&m->k, c->slot[i], x);
    }
}

/* The chains of an access into the first, which is the thread's accumulator. */
static void
join_chains(maker *m, const chains *c)
{
    lw_ref x[LW_REDUCE_PARTS] = {0};

    for (uint32_t apart = 1; apart < n_chains(m); apart *= 2)
        for (uint32_t v = 0; v + apart < n_chains(m); v += 2 * apart) {
            for (uint32_t i = 0; i < m->k.n_parts; i++)
                x[i] = lw_ir_get(&m->k.b, c->slot[v + apart][i]);
            chain_step(m, c, v, x);
        }
}

/* Elements behind the last whole access, by one lane of the last block. */
void
lw_reduce_take_rest(maker *m, access *from)
{
    lw_builder *b = &m->k.b;
    lw_ref last = lw_ir_compare(b, LW_OP_EQ, m->split, lw_ir_sub(b, m->splits, i64(m, 1)));
    lw_ref x[LW_REDUCE_PARTS] = {0}, acc[LW_REDUCE_PARTS] = {0};
    lw_for loop;

    if (m->k.key->vector == 1 || m->k.key->columns)
        return;
    lw_ir_if(b, lw_ir_and(b, last, lw_ir_compare(b, LW_OP_EQ, m->lane, i64(m, 0))));
    loop = lw_ir_for(b, lw_ir_mul(b, m->items, i64(m, m->k.key->vector)), m->elements,
                     i64(m, 1), LW_LOOP_NO_UNROLL, 0);
    lw_reduce_load_access(m, loop.i, 1, from);
    lw_reduce_map_element(m, from, 0, x);
    get(&m->k, m->slot[0], acc);
    combine(m, acc, x, acc);
    set(&m->k, m->slot[0], acc);
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
}

/* ---- an iteration ahead ----
 *
 * Where map and combine compute much, as exp is, an iteration is asked for before the one in
 * hand is used, so that memory does not rest meanwhile; where they compute little, more
 * threads at a time are better than the registers that this takes. */

static bool
computes_much(const lw_scalar *function)
{
    for (uint32_t f = 0; function != NULL && f < function->module->funcs.n; f++) {
        const lw_func *func = function->module->funcs.data[f];
        for (uint32_t i = 1; i < func->insts.n; i++)
            if (func->insts.data[i].op == LW_OP_INTRINSIC &&
                lw_intrinsics[func->insts.data[i].a].gpu_how == LW_HOW_CALL)
                return true;
    }
    return false;
}

/* Numbers that map takes of an element. */
static uint32_t
n_loaded(const maker *m)
{
    uint32_t n = m->k.r->indexed;

    for (uint32_t i = 0; i < m->k.r->n_in; i++)
        n += (uint32_t)lw_reduce_parts(m->k.r->loaded[i]);
    return n;
}

static bool
loads_ahead(const maker *m)
{
    return !m->k.key->masked && m->k.key->vector * n_loaded(m) <= MOST_AHEAD &&
           (computes_much(m->k.r->map) || computes_much(m->k.r->combine));
}

/* What an iteration loaded, in slots. */
typedef struct kept_round {
    lw_ref slot[UNROLL][MOST_AHEAD];
} kept_round;

static void
keep(maker *m, const access *from, kept_round *kept, bool is_new)
{
    uint32_t n = n_loaded(m);

    for (uint32_t k = 0; k < UNROLL; k++)
        for (uint32_t v = 0; v < m->k.key->vector; v++)
            for (uint32_t i = 0; i < n; i++) {
                lw_ref *slot = &kept->slot[k][v * n + i], value = from[k].values[v][i];
                if (is_new)
                    *slot = lw_ir_slot(&m->k.b, lw_ir_type(&m->k.b, value));
                lw_ir_set(&m->k.b, *slot, value);
            }
}

static void
use_kept(maker *m, const chains *c, const kept_round *kept, access *from)
{
    uint32_t n = n_loaded(m);

    for (uint32_t k = 0; k < UNROLL; k++)
        for (uint32_t v = 0; v < m->k.key->vector; v++)
            for (uint32_t i = 0; i < n; i++)
                from[k].values[v][i] = lw_ir_get(&m->k.b, kept->slot[k][v * n + i]);
    use_round(m, c, UNROLL, from);
}

/* As rounds_until. */
static void
rounds_ahead(maker *m, const chains *c, lw_ref at, lw_ref end, lw_ref step, access *from)
{
    lw_builder *b = &m->k.b;
    lw_ref many = lw_ir_mul(b, step, i64(m, UNROLL)), i = lw_ir_get(b, at);
    kept_round kept;

    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, i, end));
    load_round(m, i, step, UNROLL, from);
    keep(m, from, &kept, true);
    lw_ir_set(b, at, lw_ir_add(b, i, many));
    i = lw_ir_while(b, at, end);
    load_round(m, i, step, UNROLL, from);
    use_kept(m, c, &kept, from + UNROLL);
    keep(m, from, &kept, false);
    lw_ir_latch(b);
    lw_ir_while_end(b, at, many);
    use_kept(m, c, &kept, from);
    lw_ir_end(b);
}

/* The block's elements of this lane into its accumulator. Gives which lanes have one. */
lane_range
lw_reduce_take(maker *m, access *from)
{
    lw_builder *b = &m->k.b;
    lw_ref begin = lw_ir_mul(b, m->split, m->per_block);
    lw_ref end = smaller(&m->k, m->items, lw_ir_add(b, begin, m->per_block));
    lane_range range = lw_reduce_lane_of(m, begin, end, !m->k.r->commutative);
    lw_ref many = lw_ir_mul(b, range.step, i64(m, UNROLL)), behind, at;
    chains c = {0};

    for (uint32_t v = 0; v < m->k.key->vector; v++)
        for (uint32_t i = 0; i < m->k.n_parts; i++)
            c.slot[v][i] = v < n_results(m) ? m->slot[v][i] : lw_ir_slot(b, m->k.part[i]);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, range.first, range.last));
    at = lw_ir_slot(b, LW_DT_i64);
    behind = lw_ir_sub(b, range.last, lw_ir_sub(b, many, range.step));
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, range.first, behind));
    seed_chains(m, &c, range.first, range.step, UNROLL, from);
    lw_ir_set(b, at, lw_ir_add(b, range.first, many));
    if (loads_ahead(m))
        rounds_ahead(m, &c, at, behind, range.step, from);
    else
        rounds_until(m, &c, at, behind, range.step, UNROLL, from);
    lw_ir_else(b);
    seed_chains(m, &c, range.first, range.step, 1, from);
    lw_ir_set(b, at, lw_ir_add(b, range.first, range.step));
    lw_ir_end(b);
    rounds_until(m, &c, at, range.last, range.step, 1, from);
    if (!m->k.key->columns)
        join_chains(m, &c);
    lw_reduce_take_rest(m, from);
    lw_ir_end(b);
    return range;
}
