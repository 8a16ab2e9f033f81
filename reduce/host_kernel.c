#include "reduce/host_kernel.h"

#include "reduce/body_ir.h"

#include <string.h>

typedef struct maker {
    lw_builder b;
    lw_module *module;
    const lw_reduction *r;
    lw_reduce_body body;
    uint32_t n_operands;
    lw_dtype operand[LW_REDUCE_MOST + 1];
    lw_ref args, n, strides;
    lw_reduce_extreme extreme;
    lw_dtype value; /* that decides which is better */
} maker;

/* Lanes of 256 bytes: eight vectors of AVX2, four of AVX-512, whose chains are independent. */
static uint32_t
width_of(const lw_reduction *r)
{
    enum { BYTES = 256, LEAST = 16, MOST = 128 };
    uint32_t size = 1, width;

    for (uint32_t i = 0; i < r->n_acc; i++)
        if (lw_dtypes[r->acc[i]].size_bytes > size)
            size = lw_dtypes[r->acc[i]].size_bytes;
    width = BYTES / size;
    return width < LEAST ? LEAST : width > MOST ? MOST : width;
}

static lw_ref
i64(maker *m, int64_t value)
{
    return lw_ir_int(&m->b, LW_DT_i64, value);
}

static void
start(maker *m, const char *name, bool strided)
{
    lw_builder_start(&m->b, m->module, name);
    if (m->b.func != NULL)
        m->b.func->linkage = LW_EXPORTED;
    m->args = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "args");
    m->n = lw_ir_param_add(&m->b, LW_DT_i64, 0, "n");
    m->strides = 0;
    if (strided)
        m->strides =
            lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "strides");
}

static lw_status
end(maker *m, lw_error *err)
{
    lw_ir_return(&m->b, NULL, 0);
    return lw_ir_finish(&m->b, err);
}

/* Entry `which` of args. */
static lw_ref
pointer(maker *m, uint32_t which)
{
    return lw_ir_load(&m->b, LW_DT_ptr, 1, lw_ir_offset(&m->b, m->args, i64(m, 8 * which)), 8,
                      LW_MEM_INVARIANT);
}

static lw_ref
stride(maker *m, uint32_t which, lw_dtype dtype)
{
    if (m->strides == 0)
        return i64(m, lw_dtypes[dtype].size_bytes);
    return lw_ir_load(&m->b, LW_DT_i64, 1, lw_ir_offset(&m->b, m->strides, i64(m, 8 * which)),
                      8, LW_MEM_INVARIANT);
}

/* Arrays of items, and how far apart they lie. */
typedef struct arrays {
    uint32_t n;
    const lw_dtype *dtype;
    lw_ref address[LW_REDUCE_MOST + 1], step[LW_REDUCE_MOST + 1];
} arrays;

static arrays
contiguous(maker *m, const lw_dtype *dtype, uint32_t n, uint32_t first)
{
    arrays a = {.n = n, .dtype = dtype};

    for (uint32_t i = 0; i < n; i++) {
        a.address[i] = pointer(m, first + i);
        a.step[i] = i64(m, lw_dtypes[dtype[i]].size_bytes);
    }
    return a;
}

/* The operands, or the results of a scan: first_stride is their place among the strides. */
static arrays
strided(maker *m, const lw_dtype *dtype, uint32_t n, uint32_t first, uint32_t first_stride)
{
    arrays a = {.n = n, .dtype = dtype};

    for (uint32_t i = 0; i < n; i++) {
        a.address[i] = pointer(m, first + i);
        a.step[i] = stride(m, first_stride + i, dtype[i]);
    }
    return a;
}

static void
load(maker *m, const arrays *a, lw_ref at, lw_ref *values)
{
    for (uint32_t i = 0; i < a->n; i++) {
        lw_ref address = lw_ir_offset(&m->b, a->address[i], lw_ir_mul(&m->b, at, a->step[i]));
        lw_reduce_emit_load(&m->b, a->dtype[i], address, 0, values);
        values += lw_reduce_parts(a->dtype[i]);
    }
}

static void
store(maker *m, const arrays *a, lw_ref at, const lw_ref *values)
{
    for (uint32_t i = 0; i < a->n; i++) {
        lw_ref address = lw_ir_offset(&m->b, a->address[i], lw_ir_mul(&m->b, at, a->step[i]));
        lw_reduce_emit_store(&m->b, a->dtype[i], address, values);
        values += lw_reduce_parts(a->dtype[i]);
    }
}

static arrays
operands(maker *m)
{
    return strided(m, m->operand, m->n_operands, 0, 0);
}

static arrays
accumulators(maker *m)
{
    return contiguous(m, m->r->acc, m->r->n_acc, m->n_operands);
}

static void
map_at(maker *m, const arrays *in, lw_ref at, lw_ref *acc)
{
    lw_ref values[LW_REDUCE_PARTS];

    load(m, in, at, values);
    lw_reduce_emit_map(&m->b, &m->body, values, acc);
}

/* ---- the loops ---- */

static lw_status
seed(maker *m, bool any_strides, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS];
    arrays in, to;
    lw_for loop;

    start(m, any_strides ? "lw_seed_strided" : "lw_seed", true);
    if (!any_strides)
        m->strides = 0;
    in = operands(m);
    to = accumulators(m);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_VECTORIZE, 0);
    map_at(m, &in, loop.i, acc);
    store(m, &to, loop.i, acc);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

static lw_status
columns(maker *m, bool any_strides, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS], x[LW_REDUCE_PARTS];
    arrays in, to;
    lw_for loop;

    start(m, any_strides ? "lw_columns_strided" : "lw_columns", true);
    if (!any_strides)
        m->strides = 0;
    in = operands(m);
    to = accumulators(m);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_VECTORIZE, 0);
    map_at(m, &in, loop.i, x);
    load(m, &to, loop.i, acc);
    lw_reduce_emit_combine(&m->b, &m->body, acc, x, acc);
    store(m, &to, loop.i, acc);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

static lw_status
four_rows(maker *m, bool any_strides, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS], x[4][LW_REDUCE_PARTS], row_strides, apart;
    arrays in[4], to;
    lw_for loop;

    start(m, any_strides ? "lw_rows_strided" : "lw_rows", true);
    row_strides =
        lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "row_strides");
    if (!any_strides)
        m->strides = 0;
    in[0] = operands(m);
    for (uint32_t k = 1; k < 4; k++) {
        in[k] = in[0];
        for (uint32_t i = 0; i < m->n_operands; i++) {
            apart =
                lw_ir_load(&m->b, LW_DT_i64, 1, lw_ir_offset(&m->b, row_strides, i64(m, 8 * i)),
                           8, LW_MEM_INVARIANT);
            in[k].address[i] =
                lw_ir_offset(&m->b, in[0].address[i], lw_ir_mul(&m->b, apart, i64(m, k)));
        }
    }
    to = accumulators(m);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_VECTORIZE, 0);
    for (uint32_t k = 0; k < 4; k++)
        map_at(m, &in[k], loop.i, x[k]);
    lw_reduce_emit_combine(&m->b, &m->body, x[0], x[1], x[0]);
    lw_reduce_emit_combine(&m->b, &m->body, x[2], x[3], x[2]);
    lw_reduce_emit_combine(&m->b, &m->body, x[0], x[2], x[0]);
    load(m, &to, loop.i, acc);
    lw_reduce_emit_combine(&m->b, &m->body, acc, x[0], acc);
    store(m, &to, loop.i, acc);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

/* One round of the inner loop combines four rows in a tree, then with the accumulator: fewer
 * trips to the accumulators, and shorter chains of roundings. */
static void
lanes_round(maker *m, const arrays *in, const arrays *to, lw_ref row, uint32_t rows)
{
    lw_ref x[4][LW_REDUCE_PARTS], acc[LW_REDUCE_PARTS];
    uint32_t width = width_of(m->r);
    lw_for loop = lw_ir_for(&m->b, i64(m, 0), i64(m, width), i64(m, 1),
                            LW_LOOP_VECTORIZE | LW_LOOP_NO_UNROLL, 0);

    for (uint32_t k = 0; k < rows; k++) {
        lw_ref at = lw_ir_mul(&m->b, lw_ir_add(&m->b, row, i64(m, k)), i64(m, width));
        map_at(m, in, lw_ir_add(&m->b, at, loop.i), x[k]);
    }
    if (rows == 4) {
        lw_reduce_emit_combine(&m->b, &m->body, x[0], x[1], x[0]);
        lw_reduce_emit_combine(&m->b, &m->body, x[2], x[3], x[2]);
        lw_reduce_emit_combine(&m->b, &m->body, x[0], x[2], x[0]);
    }
    load(m, to, loop.i, acc);
    lw_reduce_emit_combine(&m->b, &m->body, acc, x[0], acc);
    store(m, to, loop.i, acc);
    lw_ir_for_end(&m->b, &loop);
}

static lw_status
lanes(maker *m, lw_error *err)
{
    arrays in, to;
    lw_ref whole;
    lw_for loop;

    start(m, "lw_lanes", false);
    in = operands(m);
    to = accumulators(m);
    whole = lw_ir_and(&m->b, m->n, i64(m, -4));
    loop = lw_ir_for(&m->b, i64(m, 0), whole, i64(m, 4),
                     LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL, 0);
    lanes_round(m, &in, &to, loop.i, 4);
    lw_ir_for_end(&m->b, &loop);
    loop =
        lw_ir_for(&m->b, whole, m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL, 0);
    lanes_round(m, &in, &to, loop.i, 1);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

typedef struct slots {
    uint32_t n;
    lw_ref slot[LW_REDUCE_PARTS];
} slots;

static slots
slots_new(maker *m)
{
    lw_dtype parts[LW_REDUCE_PARTS];
    slots s = {.n = lw_reduce_acc_parts(m->r, parts)};

    for (uint32_t i = 0; i < s.n; i++)
        s.slot[i] = lw_ir_slot(&m->b, parts[i]);
    return s;
}

static void
slots_get(maker *m, const slots *s, lw_ref *values)
{
    for (uint32_t i = 0; i < s->n; i++)
        values[i] = lw_ir_get(&m->b, s->slot[i]);
}

static void
slots_set(maker *m, const slots *s, const lw_ref *values)
{
    for (uint32_t i = 0; i < s->n; i++)
        lw_ir_set(&m->b, s->slot[i], values[i]);
}

static lw_status
fold(maker *m, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS], x[LW_REDUCE_PARTS];
    arrays in, to;
    slots kept;
    lw_for loop;

    start(m, "lw_fold", true);
    in = operands(m);
    to = accumulators(m);
    kept = slots_new(m);
    load(m, &to, i64(m, 0), acc);
    slots_set(m, &kept, acc);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE, 0);
    map_at(m, &in, loop.i, x);
    slots_get(m, &kept, acc);
    lw_reduce_emit_combine(&m->b, &m->body, acc, x, acc);
    slots_set(m, &kept, acc);
    lw_ir_for_end(&m->b, &loop);
    slots_get(m, &kept, acc);
    store(m, &to, i64(m, 0), acc);
    return end(m, err);
}

/* As map_at, of operands without the index. */
static void
map_indexed(maker *m, const arrays *in, lw_ref at, lw_ref index, lw_ref *acc)
{
    lw_ref values[LW_REDUCE_PARTS + 1];
    uint32_t n = 0;

    load(m, in, at, values);
    for (uint32_t i = 0; i < in->n; i++)
        n += lw_reduce_parts(in->dtype[i]);
    values[n] = index;
    lw_reduce_emit_map(&m->b, &m->body, values, acc);
}

/* Of an operator whose elements may change places, where there are enough of them: chains side
 * by side, which go to the first accumulator. Gives where the rest begins. */
static void
slice_chains(maker *m, const arrays *in, lw_ref begin, lw_ref count, const slots *kept,
             lw_ref rest)
{
    lw_ref acc[8][LW_REDUCE_PARTS], x[LW_REDUCE_PARTS], whole;
    uint32_t n = m->r->n_acc == 1 ? 8 : 4;
    slots chain[8];
    lw_for loop;

    lw_ir_if(&m->b, lw_ir_compare(&m->b, LW_OP_GE, count, i64(m, 2 * n)));
    whole = lw_ir_and(&m->b, count, i64(m, -(int64_t)n));
    lw_ir_set(&m->b, rest, whole);
    for (uint32_t k = 0; k < n; k++) {
        chain[k] = k ? slots_new(m) : *kept;
        map_indexed(m, in, lw_ir_add(&m->b, begin, i64(m, k)), i64(m, k), x);
        slots_set(m, &chain[k], x);
    }
    loop = lw_ir_for(&m->b, i64(m, n), whole, i64(m, n), LW_LOOP_NO_VECTORIZE, 0);
    for (uint32_t k = 0; k < n; k++) {
        lw_ref at = lw_ir_add(&m->b, loop.i, i64(m, k));
        map_indexed(m, in, lw_ir_add(&m->b, begin, at), at, x);
        slots_get(m, &chain[k], acc[k]);
        lw_reduce_emit_combine(&m->b, &m->body, acc[k], x, acc[k]);
        slots_set(m, &chain[k], acc[k]);
    }
    lw_ir_for_end(&m->b, &loop);
    for (uint32_t k = 0; k < n; k++)
        slots_get(m, &chain[k], acc[k]);
    for (; n > 1; n /= 2)
        for (uint32_t k = 0; k < n / 2; k++)
            lw_reduce_emit_combine(&m->b, &m->body, acc[k], acc[k + n / 2], acc[k]);
    slots_set(m, kept, acc[0]);
    lw_ir_end(&m->b);
}

/* Of one slice: begin and count from the list. The accumulator to kept. */
static void
one_slice(maker *m, const arrays *in, lw_ref entry, const slots *kept)
{
    lw_ref acc[LW_REDUCE_PARTS], x[LW_REDUCE_PARTS], begin, count, rest;
    lw_for loop;

    begin = lw_ir_load(&m->b, LW_DT_i64, 1, entry, 8, LW_MEM_INVARIANT);
    count = lw_ir_load(&m->b, LW_DT_i64, 1, lw_ir_offset(&m->b, entry, i64(m, 8)), 8,
                       LW_MEM_INVARIANT);
    map_indexed(m, in, begin, i64(m, 0), x);
    slots_set(m, kept, x);
    rest = lw_ir_slot(&m->b, LW_DT_i64);
    lw_ir_set(&m->b, rest, i64(m, 1));
    if (m->r->commutative)
        slice_chains(m, in, begin, count, kept, rest);
    loop = lw_ir_for(&m->b, lw_ir_get(&m->b, rest), count, i64(m, 1), LW_LOOP_NO_VECTORIZE, 0);
    map_indexed(m, in, lw_ir_add(&m->b, begin, loop.i), loop.i, x);
    slots_get(m, kept, acc);
    lw_reduce_emit_combine(&m->b, &m->body, acc, x, acc);
    slots_set(m, kept, acc);
    lw_ir_for_end(&m->b, &loop);
}

/* Short slices of one row: what a call for each would cost is more than they are. */
static lw_status
slices(maker *m, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS], list;
    arrays in, to;
    slots kept;
    lw_for loop;

    start(m, "lw_slices", true);
    list = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "slices");
    in = strided(m, m->operand, m->r->n_in, 0, 0);
    to = accumulators(m);
    kept = slots_new(m);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE, 0);
    one_slice(m, &in, lw_ir_offset(&m->b, list, lw_ir_mul(&m->b, loop.i, i64(m, 16))), &kept);
    slots_get(m, &kept, acc);
    store(m, &to, loop.i, acc);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

static lw_status
merge(maker *m, lw_error *err)
{
    lw_ref x[LW_REDUCE_PARTS], y[LW_REDUCE_PARTS];
    arrays left, right;
    lw_for loop;

    start(m, "lw_merge", false);
    left = contiguous(m, m->r->acc, m->r->n_acc, 0);
    right = contiguous(m, m->r->acc, m->r->n_acc, m->r->n_acc);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_VECTORIZE, 0);
    load(m, &left, loop.i, x);
    load(m, &right, loop.i, y);
    lw_reduce_emit_combine(&m->b, &m->body, x, y, x);
    store(m, &left, loop.i, x);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

static lw_status
finish(maker *m, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS], results[LW_REDUCE_PARTS];
    arrays from, to;
    lw_for loop;

    start(m, "lw_finish", false);
    from = contiguous(m, m->r->acc, m->r->n_acc, 0);
    to = contiguous(m, m->r->out, m->r->n_out, m->r->n_acc);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_VECTORIZE, 0);
    load(m, &from, loop.i, acc);
    lw_reduce_emit_finish(&m->b, &m->body, acc, results);
    store(m, &to, loop.i, results);
    lw_ir_for_end(&m->b, &loop);
    return end(m, err);
}

/* The accumulator's result to element `at` of the results. */
static void
put_result(maker *m, const slots *kept, const arrays *to, lw_ref at)
{
    lw_ref acc[LW_REDUCE_PARTS], results[LW_REDUCE_PARTS];

    slots_get(m, kept, acc);
    lw_reduce_emit_finish(&m->b, &m->body, acc, results);
    store(m, to, at, results);
}

/* kept = seeded or i > 0 ? combine(kept, map(x[i])) : map(x[i]) */
static void
scan_step(maker *m, const slots *kept, const arrays *in, lw_ref i, lw_ref seeded)
{
    lw_ref acc[LW_REDUCE_PARTS], x[LW_REDUCE_PARTS];

    map_at(m, in, i, x);
    lw_ir_if(&m->b, lw_ir_compare(&m->b, LW_OP_NE, lw_ir_or(&m->b, i, seeded), i64(m, 0)));
    slots_get(m, kept, acc);
    lw_reduce_emit_combine(&m->b, &m->body, acc, x, acc);
    slots_set(m, kept, acc);
    lw_ir_else(&m->b);
    slots_set(m, kept, x);
    lw_ir_end(&m->b);
}

static lw_status
scan(maker *m, lw_error *err)
{
    lw_ref acc[LW_REDUCE_PARTS], seeded, before;
    uint32_t first = m->n_operands + m->r->n_acc;
    arrays in, kept_in, out;
    slots kept;
    lw_for loop;

    start(m, "lw_scan", true);
    seeded = lw_ir_param_add(&m->b, LW_DT_i64, 0, "seeded");
    before = lw_ir_param_add(&m->b, LW_DT_i64, 0, "before");
    before = lw_ir_compare(&m->b, LW_OP_NE, before, i64(m, 0));
    in = operands(m);
    kept_in = accumulators(m);
    out = strided(m, m->r->out, m->r->n_out, first, m->n_operands);
    kept = slots_new(m);
    load(m, &kept_in, i64(m, 0), acc);
    slots_set(m, &kept, acc);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_NO_VECTORIZE, 0);
    lw_ir_if(&m->b, before);
    put_result(m, &kept, &out, loop.i);
    lw_ir_end(&m->b);
    scan_step(m, &kept, &in, loop.i, seeded);
    lw_ir_if(&m->b, lw_ir_not(&m->b, before));
    put_result(m, &kept, &out, loop.i);
    lw_ir_end(&m->b);
    lw_ir_for_end(&m->b, &loop);
    slots_get(m, &kept, acc);
    store(m, &kept_in, i64(m, 0), acc);
    return end(m, err);
}

/* ---- the best of a block, where combine takes one of its operands ---- */

/* The value that decides, of element `at` of operands that begin with number `first`. */
static lw_ref
value_at(maker *m, const arrays *in, lw_ref at, lw_ref first)
{
    lw_ref acc[LW_REDUCE_PARTS];
    lw_ref value;

    map_indexed(m, in, at, lw_ir_add(&m->b, first, at), acc);
    value = acc[m->extreme.part];
    return m->r->acc[m->extreme.part] == LW_DT_b1 ? lw_ir_cast(&m->b, LW_DT_u8, value) : value;
}

/* NaN where one is NaN. */
static lw_ref
better_of(maker *m, lw_ref x, lw_ref y)
{
    bool largest = m->extreme.kind == LW_REDUCE_LARGEST;
    lw_ref both[] = {x, y};

    if (lw_is_float(m->value))
        return lw_ir_intrinsic(&m->b, largest ? LW_IN_maximum : LW_IN_minimum, m->value, both,
                               2);
    return lw_ir_select(&m->b, lw_ir_compare(&m->b, largest ? LW_OP_GT : LW_OP_LT, x, y), x, y);
}

static lw_ref
value_address(maker *m, lw_ref base, lw_ref at)
{
    return lw_ir_offset(&m->b, base,
                        lw_ir_mul(&m->b, at, i64(m, lw_dtypes[m->value].size_bytes)));
}

/* Four rows of lanes from element `at` on. `fresh`: they are the first. */
static void
best_round(maker *m, const arrays *in, lw_ref at, lw_ref first, lw_ref lane, bool fresh)
{
    uint32_t width = LW_REDUCE_BEST_BYTES / lw_dtypes[m->value].size_bytes;
    lw_for loop = lw_ir_for(&m->b, i64(m, 0), i64(m, width), i64(m, 1),
                            LW_LOOP_VECTORIZE | LW_LOOP_NO_UNROLL, 0);
    lw_ref x[4], address = value_address(m, lane, loop.i);

    for (uint32_t k = 0; k < 4; k++)
        x[k] = value_at(
            m, in, lw_ir_add(&m->b, at, lw_ir_add(&m->b, loop.i, i64(m, (int64_t)k * width))),
            first);
    x[0] = better_of(m, better_of(m, x[0], x[1]), better_of(m, x[2], x[3]));
    if (!fresh)
        x[0] = better_of(m, lw_ir_load(&m->b, m->value, 1, address, 0, 0), x[0]);
    lw_ir_store(&m->b, address, x[0], 0, 0);
    lw_ir_for_end(&m->b, &loop);
}

static lw_status
best(maker *m, lw_error *err)
{
    uint32_t width = LW_REDUCE_BEST_BYTES / lw_dtypes[m->value].size_bytes;
    lw_ref lane, first, last;
    arrays in;
    lw_for loop;

    start(m, "lw_best", false);
    lane = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS, "lane");
    first = lw_ir_param_add(&m->b, LW_DT_i64, 0, "first");
    in = strided(m, m->operand, m->r->n_in, 0, 0);
    last = lw_ir_sub(&m->b, m->n, i64(m, 4 * (int64_t)width));
    best_round(m, &in, last, first, lane, true); /* some elements twice: best stays best */
    loop = lw_ir_for(&m->b, i64(m, 0), last, i64(m, 4 * (int64_t)width),
                     LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL, 0);
    best_round(m, &in, loop.i, first, lane, false);
    lw_ir_for_end(&m->b, &loop);
    for (uint32_t half = width / 2; half > 0; half /= 2) {
        lw_ref place, x, y;
        loop = lw_ir_for(&m->b, i64(m, 0), i64(m, half), i64(m, 1), LW_LOOP_VECTORIZE, 0);
        place = value_address(m, lane, loop.i);
        x = lw_ir_load(&m->b, m->value, 1, place, 0, 0);
        y = lw_ir_load(&m->b, m->value, 1,
                       value_address(m, lane, lw_ir_add(&m->b, loop.i, i64(m, half))), 0, 0);
        lw_ir_store(&m->b, place, better_of(m, x, y), 0, 0);
        lw_ir_for_end(&m->b, &loop);
    }
    return end(m, err);
}

/* lane[0] against the best so far: 1 where it is better, 2 where it is NaN, else 0. */
static lw_status
judge(maker *m, lw_error *err)
{
    lw_ref x, y, out, code;

    start(m, "lw_judge", false); /* args: lane, so far, and where the answer goes */
    x = lw_ir_load(&m->b, m->value, 1, pointer(m, 0), 0, 0);
    y = lw_ir_load(&m->b, m->value, 1, pointer(m, 1), 0, 0);
    out = pointer(m, 2);
    code =
        lw_ir_compare(&m->b, m->extreme.kind == LW_REDUCE_LARGEST ? LW_OP_GT : LW_OP_LT, x, y);
    code = lw_ir_select(&m->b, code, i64(m, 1), i64(m, 0));
    if (lw_is_float(m->value))
        code = lw_ir_select(&m->b, lw_ir_compare(&m->b, LW_OP_NE, x, x), i64(m, 2), code);
    lw_ir_store(&m->b, out, code, 0, 0);
    return end(m, err);
}

/* The first of n elements that is the best, or is NaN where that is; n: none is. */
static lw_status
find(maker *m, lw_error *err)
{
    lw_ref best_value, first, at, x, hit, out;
    arrays in;
    lw_for loop;

    start(m, "lw_find", false);
    out = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS, "out");
    best_value = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS, "best");
    first = lw_ir_param_add(&m->b, LW_DT_i64, 0, "first");
    best_value = lw_ir_load(&m->b, m->value, 1, best_value, 0, 0);
    in = strided(m, m->operand, m->r->n_in, 0, 0);
    at = lw_ir_slot(&m->b, LW_DT_i64);
    lw_ir_set(&m->b, at, m->n);
    loop = lw_ir_for(&m->b, i64(m, 0), m->n, i64(m, 1), LW_LOOP_VECTORIZE, 0);
    x = value_at(m, &in, loop.i, first);
    hit = lw_ir_compare(&m->b, LW_OP_EQ, x, best_value);
    if (lw_is_float(m->value)) {
        lw_ref nan = lw_ir_compare(&m->b, LW_OP_NE, best_value, best_value);
        hit = lw_ir_or(&m->b, hit, lw_ir_and(&m->b, nan, lw_ir_compare(&m->b, LW_OP_NE, x, x)));
    }
    x = lw_ir_select(&m->b, hit, loop.i, m->n);
    first = lw_ir_get(&m->b, at);
    lw_ir_set(&m->b, at,
              lw_ir_select(&m->b, lw_ir_compare(&m->b, LW_OP_LT, x, first), x, first));
    lw_ir_for_end(&m->b, &loop);
    lw_ir_store(&m->b, out, lw_ir_get(&m->b, at), 0, 0);
    return end(m, err);
}

static lw_status
extreme_loops(maker *m, lw_error *err)
{
    lw_status status;

    m->extreme = lw_reduce_extreme_of(m->r);
    if (m->extreme.kind == LW_REDUCE_NO_EXTREME)
        return LW_OK;
    m->value = m->r->acc[m->extreme.part];
    if (m->value == LW_DT_b1)
        m->value = LW_DT_u8;
    LW_TRY(best(m, err));
    LW_TRY(judge(m, err));
    LW_TRY(find(m, err));
fail:
    return status;
}

/* ---- all of them ---- */

static lw_status
every_loop(maker *m, lw_error *err)
{
    lw_status status;

    LW_TRY(seed(m, false, err));
    LW_TRY(seed(m, true, err));
    LW_TRY(columns(m, false, err));
    LW_TRY(columns(m, true, err));
    LW_TRY(four_rows(m, false, err));
    LW_TRY(four_rows(m, true, err));
    LW_TRY(lanes(m, err));
    LW_TRY(fold(m, err));
    LW_TRY(slices(m, err));
    LW_TRY(merge(m, err));
    LW_TRY(finish(m, err));
    LW_TRY(scan(m, err));
    LW_TRY(extreme_loops(m, err));
fail:
    return status;
}

lw_status
lw_reduce_host_module(const lw_reduction *r, lw_module **out, lw_error *err)
{
    maker m = {.r = r, .body.reduction = r, .n_operands = r->n_in + r->indexed};
    lw_status status;

    memcpy(m.operand, r->loaded, r->n_in * sizeof *r->loaded);
    m.operand[r->n_in] = LW_DT_i64;
    LW_TRY(lw_reduction_module(r, &m.module, m.body.funcs, err));
    LW_TRY(every_loop(&m, err));
    *out = m.module;
    return LW_OK;
fail:
    lw_module_free(m.module);
    return status;
}

static bool
find_loops(lw_reduce_code *out)
{
    const struct {
        const char *name;
        void *place;
        bool may_lack;
    } found[] = {{"lw_seed", &out->seed, false},
                 {"lw_seed_strided", &out->seed_strided, false},
                 {"lw_columns", &out->columns, false},
                 {"lw_columns_strided", &out->columns_strided, false},
                 {"lw_rows", &out->rows, false},
                 {"lw_rows_strided", &out->rows_strided, false},
                 {"lw_lanes", &out->lanes, false},
                 {"lw_fold", &out->fold, false},
                 {"lw_merge", &out->merge, false},
                 {"lw_finish", &out->finish, false},
                 {"lw_scan", &out->scan, false},
                 {"lw_slices", &out->slices, false},
                 {"lw_best", &out->best, true},
                 {"lw_judge", &out->judge, true},
                 {"lw_find", &out->find, true}};

    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        void *address = lw_code_symbol(out->code, found[i].name);
        if (address == NULL && !found[i].may_lack)
            return false;
        memcpy(found[i].place, &address, sizeof address);
    }
    return true;
}

lw_status
lw_reduce_host_build(const lw_reduction *r, const lw_build_options *options,
                     lw_reduce_code *out, lw_build_report *report, lw_error *err)
{
    lw_module *module = NULL;
    lw_status status;

    memset(out, 0, sizeof *out);
    out->n_operands = r->n_in + r->indexed;
    out->width = width_of(r);
    out->extreme = lw_reduce_extreme_of(r);
    if (out->extreme.kind != LW_REDUCE_NO_EXTREME)
        out->value_size = lw_dtypes[r->acc[out->extreme.part]].size_bytes;
    LW_TRY(lw_reduce_host_module(r, &module, err));
    LW_TRY(lw_build_host(module, options, &out->code, report, err));
    if (!find_loops(out)) {
        status = lw_fail(err, LW_ERR_INTERNAL, "compiled code lacks a loop of a reduction");
        lw_reduce_host_drop(out);
    }
fail:
    lw_module_free(module);
    return status;
}

void
lw_reduce_host_drop(lw_reduce_code *code)
{
    lw_code_unref(code->code);
    memset(code, 0, sizeof *code);
}
