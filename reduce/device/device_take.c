/* How a lane takes the elements of its results: accesses of several elements, four of them
 * under way at a time, whose elements go to independent chains of combinations. */
#include "core/tables/intrinsics.h"
#include "reduce/device/device_internal.h"

enum {
    MOST_AHEAD = 8,   /* numbers of an access that are loaded an iteration ahead */
    MOST_CHAINED = 64 /* bytes of a lane's accumulators */
};

/* ---- accesses ---- */

lw_ref
lw_reduce_lane_of_access(maker *m, lw_dtype dtype, lw_ref all, uint32_t lane)
{
    lw_builder *b = &m->b;
    lw_ref value = lw_ir_lane(b, all, lane);

    if (dtype != LW_DT_b1)
        return value;
    return lw_ir_compare(b, LW_OP_NE, value, lw_ir_int(b, LW_DT_u8, 0));
}

/* step: from an access to the next. */
static lw_ref
address_of(maker *m, uint32_t operand, lw_ref item, lw_ref step)
{
    lw_ref bytes = m->key->folded
                       ? lw_reduce_bytes_of(m, item, m->row, m->row_step[operand], step)
                       : times(m, item, step);

    return lw_ir_offset(&m->b, m->operand[operand], bytes);
}

lw_ref
lw_reduce_address(maker *m, uint32_t which, lw_ref item)
{
    uint32_t bytes = lw_dtypes[m->r->loaded[which]].size_bytes * m->key->vector;

    assert(m->key->vector > 1 && bytes <= 16);
    return address_of(m, which, item, m->key->columns ? m->step[which] : i64(m, bytes));
}

void
lw_reduce_spread_access(maker *m, uint32_t which, lw_ref all, uint32_t place, access *out)
{
    lw_dtype dtype = m->r->loaded[which];
    uint32_t parts = lw_dtype_n_parts(dtype);

    for (uint32_t v = 0; v < m->key->vector; v++)
        for (uint32_t k = 0; k < parts; k++)
            out->values[v][place + k] = lw_reduce_lane_of_access(m, dtype, all, v * parts + k);
}

/* Loads an operand for each element of an access; its scalars are values[v][place], and on. */
static void
load_operand(maker *m, uint32_t which, lw_ref item, uint32_t place, uint32_t vector,
             access *out)
{
    lw_dtype dtype = m->r->loaded[which];
    lw_ref all;

    if (vector == 1) {
        lw_ir_load_parts(&m->b, dtype, address_of(m, which, item, m->step[which]),
                         operand_flags(m), &out->values[0][place]);
        return;
    }
    all = lw_ir_load(&m->b, lw_dtype_memory_part(dtype), vector * lw_dtype_n_parts(dtype),
                     lw_reduce_address(m, which, item), lw_dtypes[dtype].size_bytes * vector,
                     operand_flags(m));
    lw_reduce_spread_access(m, which, all, place, out);
}

/* Loads the mask, each byte of which becomes an i32, 0 or 1. */
static void
load_mask(maker *m, lw_ref item, uint32_t vector, access *out)
{
    lw_builder *b = &m->b;
    uint32_t at = m->r->n_in;
    lw_ref step = vector > 1 && !m->key->columns ? i64(m, vector) : m->step[at];
    lw_ref address = address_of(m, at, item, step);
    lw_ref all = lw_ir_load(b, LW_DT_i8, vector, address, vector, operand_flags(m));

    for (uint32_t v = 0; v < vector; v++)
        out->mask[v] =
            lw_ir_select(b,
                         lw_ir_compare(b, LW_OP_NE, vector > 1 ? lw_ir_lane(b, all, v) : all,
                                       lw_ir_int(b, LW_DT_i8, 0)),
                         i32(m, 1), i32(m, 0));
}

void
lw_reduce_set_index(maker *m, lw_ref item, uint32_t vector, access *out)
{
    uint32_t place = lw_reduce_count_parts(m->r->loaded, m->r->n_in);

    for (uint32_t v = 0; v < vector && m->r->indexed; v++)
        out->values[v][place] =
            m->key->columns ? item : add(m, times(m, item, i64(m, vector)), i64(m, v));
}

void
lw_reduce_load_access(maker *m, lw_ref item, uint32_t vector, access *out)
{
    uint32_t place = 0;

    assert(vector > 0 && vector <= MOST_VECTOR);
    for (uint32_t i = 0; i < m->r->n_in; i++) {
        load_operand(m, i, item, place, vector, out);
        place += lw_dtype_n_parts(m->r->loaded[i]);
    }
    lw_reduce_set_index(m, item, vector, out);
    if (m->key->masked)
        load_mask(m, item, vector, out);
}

void
lw_reduce_map_element(maker *m, const access *from, uint32_t v, lw_ref *acc)
{
    lw_reduce_emit_map(&m->b, &m->body, from->values[v], acc);
    if (m->key->masked)
        acc[m->n_parts - 1] = from->mask[v];
}

/* ---- lanes ---- */

lane_range
lw_reduce_lane_of(maker *m, lw_ref begin, lw_ref end, int64_t together)
{
    lw_builder *b = &m->b;
    lw_dtype type = lw_ir_type(b, end);
    int64_t lanes = INT64_C(1) << m->key->lanes_log2, all = lanes * together;
    lw_ref lane = lw_ir_cast(b, type, m->lane);
    lane_range range = {.n = lw_ir_sub(b, end, begin)};

    if (together) { /* ceil(n / all) * together */
        range.each = lw_ir_add(b, range.n, lw_ir_int(b, type, all - 1));
        range.each = lw_ir_div(b, range.each, lw_ir_int(b, type, all));
        range.each = lw_ir_mul(b, range.each, lw_ir_int(b, type, together));
        range.first = lw_ir_add(b, begin, lw_ir_mul(b, lane, range.each));
        range.last = smaller(m, end, lw_ir_add(b, range.first, range.each));
        range.step = lw_ir_int(b, type, 1);
    } else {
        range.first = lw_ir_add(b, begin, lane);
        range.last = end;
        range.step = lw_ir_int(b, type, lanes);
        range.each = lw_ir_int(b, type, 1);
    }
    return range;
}

lane_range
lw_reduce_lane_of_block(maker *m, bool in_order)
{
    lw_ref iteration = i64(m, (int64_t)UNROLL << m->key->lanes_log2), begin, end;
    lane_range range;

    assert(!in_order || !m->r->commutative);
    if (m->r->commutative) {
        range = lw_reduce_lane_of(m, times(m, m->split, iteration), m->items, 0);
        range.next = times(m, m->splits, iteration);
    } else {
        begin = times(m, m->split, m->per_block);
        end = smaller(m, m->items, add(m, begin, m->per_block));
        range = lw_reduce_lane_of(m, begin, end, in_order ? 1 : 0);
        range.next = times(m, range.step, i64(m, UNROLL));
    }
    return range;
}

/* What a lane's loops over its accesses share. */
typedef struct walk {
    acc_parts chain[MOST_VECTOR]; /* slots of the accumulators of its independent chains */
    lw_ref step;                  /* distance between two accesses of the lane */
    lw_ref next;                  /* from UNROLL accesses to the next ones */
    access *from;                 /* room for the accesses of two iterations */
} walk;

/* The number of independent chains: one for each element of an access, or, where accumulators
 * are large, one for several neighbouring elements. Sums of small integers need no more. */
static uint32_t
n_chains(const maker *m)
{
    uint32_t n = m->key->vector, bytes = lw_reduce_device_bytes(m->r, m->key);

    if (m->adds_small && !m->key->columns)
        return 1;
    while (n > 1 && n * bytes > MOST_CHAINED && !m->key->columns)
        n /= 2;
    return n;
}

/* Loads `count` accesses of the lane, from access `item` on. */
static void
load_accesses(maker *m, lw_ref item, lw_ref step, uint32_t count, access *from)
{
    for (uint32_t k = 0; k < count; k++)
        lw_reduce_load_access(m, add(m, item, times(m, step, i64(m, k))), m->key->vector,
                              &from[k]);
}

/* Combines element v of `count` accesses. */
static void
combine_accesses(maker *m, uint32_t v, uint32_t count, const access *from, lw_ref *out)
{
    acc_parts x[UNROLL];

    assert(count <= UNROLL);
    for (uint32_t k = 0; k < count; k++)
        lw_reduce_map_element(m, &from[k], v, x[k]);
    lw_reduce_combine_tree(m, count, x);
    memcpy(out, x[0], sizeof x[0]);
}

/* Combines all elements of `count` accesses that go to one chain. */
static void
combine_elements(maker *m, uint32_t chain, uint32_t count, const access *from, lw_ref *out)
{
    uint32_t n = m->key->vector / n_chains(m);
    acc_parts x[MOST_VECTOR];

    assert(n * n_chains(m) == m->key->vector);
    for (uint32_t v = 0; v < n; v++)
        combine_accesses(m, chain * n + v, count, from, x[v]);
    lw_reduce_combine_tree(m, n, x);
    memcpy(out, x[0], sizeof x[0]);
}

static void
use_accesses(maker *m, const walk *w, uint32_t count)
{
    acc_parts x;

    for (uint32_t i = 0; i < n_chains(m); i++) {
        combine_elements(m, i, count, w->from, x);
        lw_reduce_combine_after(m, w->chain[i], x);
    }
}

/* A loop that takes `count` accesses in each iteration while the slot `at` is below `end`. All
 * loads of an iteration come before the first use. */
static void
take_until(maker *m, const walk *w, lw_ref at, lw_ref end, uint32_t count)
{
    lw_ref i = lw_ir_while(&m->b, at, end);

    load_accesses(m, i, w->step, count, w->from);
    use_accesses(m, w, count);
    lw_ir_latch(&m->b);
    lw_ir_while_end(&m->b, at, count == UNROLL ? w->next : w->step);
}

/* Initialises the chains with the first `count` accesses. */
static void
seed_chains(maker *m, const walk *w, lw_ref item, uint32_t count)
{
    acc_parts x;

    load_accesses(m, item, w->step, count, w->from);
    for (uint32_t i = 0; i < n_chains(m); i++) {
        combine_elements(m, i, count, w->from, x);
        set(m, w->chain[i], x);
    }
}

/* Combines all chains into the first, which is the thread's accumulator. */
static void
join_chains(maker *m, const walk *w)
{
    acc_parts x = {0};

    for (uint32_t apart = 1; apart < n_chains(m); apart *= 2)
        for (uint32_t v = 0; v + apart < n_chains(m); v += 2 * apart) {
            get(m, w->chain[v + apart], x);
            lw_reduce_combine_after(m, w->chain[v], x);
        }
}

void
lw_reduce_take_rest(maker *m, lw_ref takes, access *from)
{
    lw_builder *b = &m->b;
    lw_ref last = lw_ir_compare(b, LW_OP_EQ, m->split, minus(m, m->splits, i64(m, 1)));
    lw_ref end = m->key->head ? add(m, m->elements, m->head) : m->elements, at;
    acc_parts x = {0};
    lw_for loop;

    if (m->key->vector == 1 || m->key->columns)
        return;
    lw_ir_if(b, both(m, last, takes));
    loop = lw_ir_for(b, times(m, m->items, i64(m, m->key->vector)), end, i64(m, 1),
                     LW_LOOP_NO_UNROLL);
    at = loop.i;
    if (m->key->head) /* behind the last element come those before the first */
        at = lw_ir_select(b, is_less(m, at, m->elements), at, minus(m, at, end));
    lw_reduce_load_access(m, at, 1, from);
    lw_reduce_map_element(m, from, 0, x);
    lw_reduce_combine_after(m, m->slot[0], x);
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
}

/* ---- loading one iteration ahead ----
 *
 * Where map and combine compute much (they call exp, say), the loads of the next iteration are
 * issued before the current one is used, so that memory is busy meanwhile. Where they compute
 * little, more threads on a multiprocessor are worth more than the registers that this takes.
 */

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

/* The number of scalars that map takes of an element. */
static uint32_t
n_loaded(const maker *m)
{
    return lw_reduce_count_parts(m->r->loaded, m->r->n_in) + m->r->indexed;
}

static bool
loads_ahead(const maker *m)
{
    return !m->key->masked && m->key->vector * n_loaded(m) <= MOST_AHEAD &&
           (computes_much(m->r->map) || computes_much(m->r->combine));
}

/* Slots that hold what an iteration has loaded until the next one uses it. */
typedef struct kept_accesses {
    lw_ref slot[UNROLL][MOST_AHEAD];
} kept_accesses;

static void
keep(maker *m, const access *from, kept_accesses *kept, bool is_new)
{
    uint32_t n = n_loaded(m);

    for (uint32_t k = 0; k < UNROLL; k++)
        for (uint32_t v = 0; v < m->key->vector; v++)
            for (uint32_t i = 0; i < n; i++) {
                lw_ref *slot = &kept->slot[k][v * n + i], value = from[k].values[v][i];
                if (is_new)
                    *slot = lw_ir_slot(&m->b, lw_ir_type(&m->b, value));
                lw_ir_set(&m->b, *slot, value);
            }
}

static void
use_kept(maker *m, const walk *w, const kept_accesses *kept)
{
    uint32_t n = n_loaded(m);
    walk of_kept = *w;

    of_kept.from += UNROLL; /* w->from holds those of the next iteration */
    for (uint32_t k = 0; k < UNROLL; k++)
        for (uint32_t v = 0; v < m->key->vector; v++)
            for (uint32_t i = 0; i < n; i++)
                of_kept.from[k].values[v][i] = lw_ir_get(&m->b, kept->slot[k][v * n + i]);
    use_accesses(m, &of_kept, UNROLL);
}

/* The same loop as take_until, which loads one iteration ahead. */
static void
take_ahead(maker *m, const walk *w, lw_ref at, lw_ref end)
{
    lw_builder *b = &m->b;
    lw_ref i = lw_ir_get(b, at);
    kept_accesses kept;

    lw_ir_if(b, is_less(m, i, end));
    load_accesses(m, i, w->step, UNROLL, w->from);
    keep(m, w->from, &kept, true);
    lw_ir_set(b, at, add(m, i, w->next));
    i = lw_ir_while(b, at, end);
    load_accesses(m, i, w->step, UNROLL, w->from);
    use_kept(m, w, &kept);
    keep(m, w->from, &kept, false);
    lw_ir_latch(b);
    lw_ir_while_end(b, at, w->next);
    use_kept(m, w, &kept);
    lw_ir_end(b);
}

lane_range
lw_reduce_take(maker *m, access *from)
{
    lw_builder *b = &m->b;
    lane_range range = lw_reduce_lane_of_block(m, !m->r->commutative);
    lw_ref behind, at;
    walk w = {.step = range.step, .next = range.next, .from = from};

    assert(!m->key->rows && !m->key->narrow);
    for (uint32_t v = 0; v < m->key->vector; v++)
        if (v < n_results(m))
            memcpy(w.chain[v], m->slot[v], sizeof w.chain[v]);
        else
            new_slots(m, w.chain[v]);
    lw_ir_if(b, is_less(m, range.first, range.last));
    at = lw_ir_slot(b, LW_DT_i64);
    behind = minus(m, range.last, times(m, range.step, i64(m, UNROLL - 1)));
    lw_ir_if(b, is_less(m, range.first, behind));
    seed_chains(m, &w, range.first, UNROLL);
    lw_ir_set(b, at, add(m, range.first, range.next));
    if (loads_ahead(m))
        take_ahead(m, &w, at, behind);
    else
        take_until(m, &w, at, behind, UNROLL);
    lw_ir_else(b);
    seed_chains(m, &w, range.first, 1);
    lw_ir_set(b, at, add(m, range.first, range.step));
    lw_ir_end(b);
    take_until(m, &w, at, range.last, 1);
    if (!m->key->columns)
        join_chains(m, &w);
    lw_reduce_take_rest(m, is_equal(m, m->lane, 0), from);
    lw_ir_end(b);
    return range;
}
