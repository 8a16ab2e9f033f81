#include "ufunc/host_kernel.h"

#include "core/ir/flags.h"
#include "core/ir/report.h"
#include "core/opt/lanes.h"
#include "core/opt/operator.h"
#include "core/tables/intrinsics.h"
#include "ufunc/device_kernel.h"
#include "ufunc/host_internal.h"

#include <assert.h>
#include <string.h>

/* ---- what the scalar function does ---- */

typedef struct facts {
    bool vector_math; /* calls something that libmvec has */
    int own_math;     /* calls of what core/emit writes out instead */
    bool prints;
    bool branches; /* anything that may be computed and thrown away, or libm's own flags */
} facts;

static void
look_at(const lw_func *func, const lw_inst *inst, facts *f)
{
    f->branches |= lw_inst_raises_stray_flags(func, inst);
    switch (inst->op) {
    case LW_OP_INTRINSIC:
        if (lw_intrinsics[inst->a].vector_stem[0] == 0)
            ;
        else if (lw_host_is_own((lw_intrinsic)inst->a, (lw_dtype)inst->type))
            f->own_math++;
        else
            f->vector_math = true;
        break;
    case LW_OP_IF:
    case LW_OP_LOOP:
    case LW_OP_SELECT: f->branches = true; break;
    default: break;
    }
}

static facts
facts_of(const lw_loop *loop)
{
    const lw_scalar *scalar = loop->scalar;
    facts f = {0};

    for (uint32_t i = 0; i < scalar->module->funcs.n; i++) {
        const lw_func *func = scalar->module->funcs.data[i];
        for (uint32_t k = 1; k < func->insts.n; k++)
            look_at(func, &func->insts.data[k], &f);
    }
    f.prints = lw_ir_prints(scalar->module);
    if (f.prints || loop->uniforms.stores)
        f.vector_math = false; /* blocks are padded with elements that would do it again */
    return f;
}

/* ---- the loops' IR ---- */

typedef struct maker {
    lw_builder b;
    const lw_loop *loop;
    lw_ref pointers[LW_MAX_ARGS];
    lw_ref strides[LW_MAX_ARGS]; /* strided loop only */
    lw_ref uniform[LW_MAX_ARGS]; /* the parts of excluded arrays */
    lw_ref args, n, strides_param;
    lw_ref place; /* indexed loop only: of the element that is input and output */
    lw_ref first; /* slot: the smallest failing key so far */
    lw_ref words[LW_RAISE_WORDS]; /* slots: what its exception carries */
} maker;

static lw_ref
constant(maker *m, int64_t value)
{
    return lw_ir_int(&m->b, LW_DT_i64, value);
}

static bool
is_uniform(const lw_loop *loop, int operand)
{
    return operand >= loop->uniforms.first && operand < loop->nin;
}

static void
start(maker *m, lw_module *module, const char *name, bool strided)
{
    lw_builder_start(&m->b, module, name);
    m->b.func->linkage = LW_EXPORTED;
    m->args = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "args");
    m->n = lw_ir_param_add(&m->b, LW_DT_i64, 0, "n");
    if (strided)
        m->strides_param =
            lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "strides");
    lw_ir_result_add(&m->b, LW_DT_i64);
    for (int i = 0; i < m->loop->nin + m->loop->nout; i++) {
        lw_ref at = lw_ir_offset(&m->b, m->args, constant(m, 8 * i));
        m->pointers[i] = lw_ir_load(&m->b, LW_DT_ptr, 1, at, 8, LW_MEM_INVARIANT);
        if (is_uniform(m->loop, i))
            m->uniform[i] =
                lw_ir_load(&m->b, m->loop->uniforms.is_address[i] ? LW_DT_ptr : LW_DT_i64, 1,
                           m->pointers[i], 8, LW_MEM_INVARIANT);
        if (!strided || is_uniform(m->loop, i))
            continue;
        at = lw_ir_offset(&m->b, m->strides_param, constant(m, 8 * i));
        m->strides[i] = lw_ir_load(&m->b, LW_DT_i64, 1, at, 8, LW_MEM_INVARIANT);
    }
    if (m->loop->scalar->can_raise) {
        m->first = lw_ir_slot(&m->b, LW_DT_i64);
        lw_ir_set(&m->b, m->first, constant(m, INT64_MAX));
    }
    for (uint32_t i = 0; i < m->loop->scalar->n_raise_words; i++) {
        m->words[i] = lw_ir_slot(&m->b, LW_DT_u64);
        lw_ir_set(&m->b, m->words[i], lw_ir_zero(&m->b, LW_DT_u64));
    }
}

static void
finish(maker *m)
{
    lw_ref result =
        m->loop->scalar->can_raise ? lw_ir_get(&m->b, m->first) : constant(m, INT64_MAX);
    uint32_t n_words = m->loop->scalar->n_raise_words;
    lw_ref words[LW_RAISE_WORDS];

    if (n_words) {
        for (uint32_t i = 0; i < n_words; i++)
            words[i] = lw_ir_get(&m->b, m->words[i]);
        lw_ir_if(&m->b, lw_ir_compare(&m->b, LW_OP_NE, result, constant(m, INT64_MAX)));
        lw_report_note(&m->b, words, n_words);
        lw_ir_end(&m->b);
    }

    lw_ir_return(&m->b, &result, 1);
}

static lw_ref
address(maker *m, int operand, lw_ref i)
{
    if (m->place && operand != 1)
        return m->place;
    lw_ref step = m->strides[operand]
                      ? m->strides[operand]
                      : constant(m, lw_dtypes[m->loop->types[operand]].size_bytes);

    return lw_ir_offset(&m->b, m->pointers[operand], lw_ir_mul(&m->b, i, step));
}

static void
note_failure(maker *m, lw_ref status, lw_ref i, const lw_ref *words)
{
    lw_builder *b = &m->b;
    lw_ref failed = lw_ir_compare(b, LW_OP_NE, status, lw_ir_int(b, LW_DT_i32, 0));
    lw_ref key = lw_ir_or(b, lw_ir_shl(b, i, constant(m, LW_HOST_ROW_BITS)),
                          lw_ir_cast(b, LW_DT_i64, status));
    lw_ref best = lw_ir_get(b, m->first);

    key = lw_ir_select(b, failed, key, constant(m, INT64_MAX));
    lw_ref earlier = lw_ir_compare(b, LW_OP_LT, key, best);
    lw_ir_set(b, m->first, lw_ir_select(b, earlier, key, best));
    for (uint32_t w = 0; w < m->loop->scalar->n_raise_words; w++)
        lw_ir_set(b, m->words[w],
                  lw_ir_select(b, earlier, words[w], lw_ir_get(b, m->words[w])));
}

/* Load element i of the inputs, run the body, store the outputs. */
static void
element(maker *m, lw_ref i)
{
    const lw_loop *loop = m->loop;
    lw_ref values[2 * LW_MAX_ARGS], call;
    uint32_t n = 0, which = 0;

    for (int j = 0; j < loop->nin; j++) {
        int k = loop->uniforms.order[j];
        if (is_uniform(loop, k)) {
            values[n++] = m->uniform[k];
            continue;
        }
        lw_ref at = address(m, k, i);
        lw_ir_load_parts(&m->b, loop->types[k], at, 0, values + n);
        n += lw_dtype_n_parts(loop->types[k]);
    }
    call = lw_ir_call(&m->b, loop->scalar->body, values, n);
    if (loop->scalar->can_raise) {
        lw_ref status = lw_ir_result(&m->b, call, which++), words[LW_RAISE_WORDS] = {0};
        for (uint32_t w = 0; w < loop->scalar->n_raise_words; w++)
            words[w] = lw_ir_result(&m->b, call, which++);
        note_failure(m, status, i, words);
    }
    for (int k = loop->nin; k < loop->nin + loop->nout; k++) {
        lw_ref at = address(m, k, i);
        for (unsigned part = 0; part < lw_dtype_n_parts(loop->types[k]); part++)
            lw_ir_store(&m->b, lw_ir_part_address(&m->b, loop->types[k], at, part),
                        lw_ir_result(&m->b, call, which++), 0, 0);
    }
}

static lw_status
plain_loop(maker *m, lw_module *module, bool strided, uint32_t more, lw_error *err)
{
    /* a function that writes to tables goes through scalar libm everywhere, as padded blocks
     * would write twice */
    bool in_order = strided || m->loop->uniforms.stores || lw_ir_prints(module);
    uint32_t flags = in_order ? LW_LOOP_NO_VECTORIZE : LW_LOOP_VECTORIZE | more;
    lw_for loop;

    /* the strided one runs few elements, or dependent ones, and unrolled eight times it would
     * be a quarter of the time to compile a short function */
    if (strided)
        flags |= LW_LOOP_NO_UNROLL;
    memset(m->strides, 0, sizeof m->strides);
    start(m, module, strided ? "lw_loop_strided" : "lw_loop_contiguous", strided);
    loop = lw_ir_for(&m->b, constant(m, 0), m->n, constant(m, 1), flags);
    element(m, loop.i);
    lw_ir_for_end(&m->b, &loop);
    finish(m);
    return lw_ir_finish(&m->b, err);
}

/* args: the array, its indices, the values; strides: theirs, and the length of the array. */
static lw_status
indexed_loop(maker *m, lw_module *module, lw_error *err)
{
    lw_builder *b = &m->b;
    lw_ref array, array_step, indices, index_step, length, index;
    lw_for loop;

    memset(m->strides, 0, sizeof m->strides);
    start(m, module, "lw_loop_indexed", true);
    array = m->pointers[0], array_step = m->strides[0];
    indices = m->pointers[1], index_step = m->strides[1];
    m->pointers[1] = m->pointers[2], m->strides[1] = m->strides[2];
    length = lw_ir_load(b, LW_DT_i64, 1, lw_ir_offset(b, m->strides_param, constant(m, 24)), 8,
                        LW_MEM_INVARIANT);
    loop = lw_ir_for(b, constant(m, 0), m->n, constant(m, 1),
                     LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    index = lw_ir_load(b, LW_DT_i64, 1,
                       lw_ir_offset(b, indices, lw_ir_mul(b, loop.i, index_step)), 8, 0);
    index = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, index, constant(m, 0)),
                         lw_ir_add(b, index, length), index);
    m->place = lw_ir_offset(b, array, lw_ir_mul(b, index, array_step));
    element(m, loop.i);
    lw_ir_for_end(b, &loop);
    finish(m);
    return lw_ir_finish(b, err);
}

/* ---- folds ---- */

/* The number of a float that is loaded, or an integer's, and what is stored of it. */
static void
fold_element(maker *m, const lw_ref *acc, lw_ref i)
{
    const lw_loop *loop = m->loop;
    unsigned n = lw_dtype_n_parts(loop->types[0]), which = 0;
    lw_ref values[4] = {0}, words[LW_RAISE_WORDS] = {0}, call;

    for (unsigned part = 0; part < n; part++)
        values[part] = lw_ir_get(&m->b, acc[part]);
    lw_ir_load_parts(&m->b, loop->types[1], address(m, 1, i), 0, values + n);
    call = lw_ir_call(&m->b, loop->scalar->body, values, n + lw_dtype_n_parts(loop->types[1]));
    if (loop->scalar->can_raise) {
        lw_ref status = lw_ir_result(&m->b, call, which++);
        for (uint32_t w = 0; w < loop->scalar->n_raise_words; w++)
            words[w] = lw_ir_result(&m->b, call, which++);
        note_failure(m, status, i, words);
    }
    for (unsigned part = 0; part < n; part++) {
        values[part] = lw_ir_result(&m->b, call, which++);
        lw_ir_set(&m->b, acc[part], values[part]);
    }
    lw_ir_store_parts(&m->b, loop->types[2], address(m, 2, i), values);
}

/* From left to right. The strided loop is right for this, too, but there each element waits for
 * the store of the one before it. */
static lw_status
fold_loop(maker *m, lw_module *module, lw_error *err)
{
    lw_dtype type = m->loop->types[0];
    lw_ref acc[2] = {0}, first[2] = {0};
    lw_for loop;

    memset(m->strides, 0, sizeof m->strides);
    start(m, module, "lw_loop_fold", true);
    lw_ir_load_parts(&m->b, type, m->pointers[0], 0, first);
    for (unsigned part = 0; part < lw_dtype_n_parts(type); part++) {
        acc[part] = lw_ir_slot(&m->b, lw_dtypes[type].parts);
        lw_ir_set(&m->b, acc[part], first[part]);
    }
    loop = lw_ir_for(&m->b, constant(m, 0), m->n, constant(m, 1),
                     LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    fold_element(m, acc, loop.i);
    lw_ir_for_end(&m->b, &loop);
    finish(m);
    return lw_ir_finish(&m->b, err);
}

unsigned
lw_host_fold_elements(lw_dtype dtype)
{
    uint32_t size = lw_dtypes[dtype].size_bytes;

    return size > 8 ? 4 : size == 8 ? 8 : 16;
}

/* A vector of elements, whose lanes are their parts. */
typedef struct fold_vector {
    lw_dtype part;
    unsigned n_parts; /* of an element: 2 of complex numbers */
    lw_lanes_choice choice;
} fold_vector;

static lw_ref
vector_at(maker *m, const fold_vector *v, lw_ref i)
{
    return lw_ir_load(&m->b, v->part, v->choice.lanes, address(m, 1, i), 0, 0);
}

/* f of two vectors. It only computes, so it is taken for vectors as it is; of complex numbers
 * it is a sum, part by part. */
static lw_status
join_vectors(maker *m, const fold_vector *v, lw_ref x, lw_ref y, lw_ref *out, lw_error *err)
{
    const lw_ref pair[2] = {x, y};

    if (v->n_parts == 1)
        return lw_lanes_inline(&m->b, m->loop->scalar->body, &v->choice, pair, out, err);
    *out = lw_ir_add(&m->b, x, y);
    return LW_OK;
}

static void
store_total(maker *m, const fold_vector *v, lw_ref vector)
{
    lw_ref number[16] = {0}, pair[2];

    for (unsigned k = 0; k < v->choice.lanes; k++)
        number[k] = lw_ir_lane(&m->b, vector, k);
    for (unsigned n = v->choice.lanes / 2; n >= v->n_parts; n /= 2)
        for (unsigned k = 0; k < n; k++) {
            pair[0] = number[k], pair[1] = number[k + n];
            number[k] = v->n_parts > 1 ? lw_ir_add(&m->b, pair[0], pair[1])
                                       : lw_ir_call(&m->b, m->loop->scalar->body, pair, 2);
        }
    lw_ir_store_parts(&m->b, m->loop->types[0], m->pointers[2], number);
}

/* Four vectors of neighbouring elements at a time, n elements in all, a multiple of that; what
 * they come to is stored. */
static lw_status
wide_loop(maker *m, lw_module *module, lw_error *err)
{
    lw_dtype type = m->loop->types[0];
    unsigned elements = lw_host_fold_elements(type), n_parts = lw_dtype_n_parts(type);
    unsigned step = LW_FOLD_VECTORS * elements;
    const fold_vector v = {.part = lw_dtypes[type].parts,
                           .n_parts = n_parts,
                           .choice = {.host = {lw_host_vector_bits(), lw_host_is_own},
                                      .lanes = elements * n_parts,
                                      .mask = LW_DT_b1}};
    lw_ref acc[LW_FOLD_VECTORS] = {0}, x, made = 0;
    lw_status status;
    lw_for loop;

    memset(m->strides, 0, sizeof m->strides);
    start(m, module, "lw_loop_wide", false);
    for (unsigned k = 0; k < LW_FOLD_VECTORS; k++) {
        acc[k] = lw_ir_vector_slot(&m->b, v.part, v.choice.lanes);
        lw_ir_set(&m->b, acc[k], vector_at(m, &v, constant(m, k * elements)));
    }
    loop = lw_ir_for(&m->b, constant(m, step), m->n, constant(m, step),
                     LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    for (unsigned k = 0; k < LW_FOLD_VECTORS; k++) {
        x = vector_at(m, &v, lw_ir_add(&m->b, loop.i, constant(m, k * elements)));
        LW_TRY(join_vectors(m, &v, lw_ir_get(&m->b, acc[k]), x, &made, err));
        lw_ir_set(&m->b, acc[k], made);
    }
    lw_ir_for_end(&m->b, &loop);
    for (unsigned n = LW_FOLD_VECTORS / 2; n > 0; n /= 2)
        for (unsigned k = 0; k < n; k++) {
            LW_TRY(join_vectors(m, &v, lw_ir_get(&m->b, acc[k]), lw_ir_get(&m->b, acc[k + n]),
                                &made, err));
            lw_ir_set(&m->b, acc[k], made);
        }
    store_total(m, &v, lw_ir_get(&m->b, acc[0]));
    finish(m);
    LW_TRY(lw_ir_finish(&m->b, err));
fail:
    return status;
}

static bool
is_wide(lw_fold_kind kind)
{
    return kind == LW_FOLD_SUMS || kind == LW_FOLD_EXACT;
}

/* An inner loop of exactly LW_HOST_BLOCK iterations: whatever width LLVM takes divides it, so
 * there is no scalar remainder, and each element goes through the same vector function. */
static lw_status
block_loop(maker *m, lw_module *module, lw_error *err)
{
    lw_for blocks, within;

    memset(m->strides, 0, sizeof m->strides);
    start(m, module, "lw_loop_contiguous", false);
    blocks = lw_ir_for(&m->b, constant(m, 0), m->n, constant(m, LW_HOST_BLOCK),
                       LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    within = lw_ir_for(&m->b, constant(m, 0), constant(m, LW_HOST_BLOCK), constant(m, 1),
                       LW_LOOP_VECTORIZE | LW_LOOP_NO_UNROLL);
    element(m, lw_ir_add(&m->b, blocks.i, within.i));
    lw_ir_for_end(&m->b, &within);
    lw_ir_for_end(&m->b, &blocks);
    finish(m);
    return lw_ir_finish(&m->b, err);
}

/* ---- vectors ---- */

/* The lanes of one part of an operand, of which the element at `at` is the first. Parts of
 * complex numbers lie side by side with the other part. */
static lw_ref
load_lanes(maker *m, lw_dtype dtype, lw_ref at, unsigned part, unsigned lanes)
{
    lw_ref scalars[LW_MOST_LANES];

    if (lw_dtype_n_parts(dtype) == 1)
        return lw_ir_load(&m->b, dtype, lanes, at, 0, 0);
    at = lw_ir_part_address(&m->b, dtype, at, part);
    for (unsigned i = 0; i < lanes; i++)
        scalars[i] = lw_ir_load(
            &m->b, lw_dtypes[dtype].parts, 1,
            lw_ir_offset(&m->b, at, constant(m, (int64_t)i * lw_dtypes[dtype].size_bytes)), 0,
            0);
    return lw_ir_pack(&m->b, lw_dtypes[dtype].parts, scalars, lanes);
}

static void
store_lanes(maker *m, lw_dtype dtype, lw_ref at, unsigned part, lw_ref value, unsigned lanes)
{
    if (lw_dtype_n_parts(dtype) == 1) {
        lw_ir_store(&m->b, at, value, 0, 0);
        return;
    }
    at = lw_ir_part_address(&m->b, dtype, at, part);
    for (unsigned i = 0; i < lanes; i++)
        lw_ir_store(
            &m->b,
            lw_ir_offset(&m->b, at, constant(m, (int64_t)i * lw_dtypes[dtype].size_bytes)),
            lw_ir_lane(&m->b, value, i), 0, 0);
}

/* The function lw_lanes: the body for as many elements, given the addresses of their operands,
 * and of memory for what they raise: lanes words for the statuses, and for each word that an
 * exception carries. */
static lw_status
lanes_function(maker *m, lw_module *module, const lw_lanes_choice *choice, uint32_t *number,
               lw_error *err)
{
    const lw_loop *loop = m->loop;
    const lw_scalar *scalar = loop->scalar;
    lw_ref values[2 * LW_MAX_ARGS], results[2 * LW_MAX_ARGS + LW_RAISE_WORDS + 1];
    lw_ref addresses[LW_MAX_ARGS], noted = 0;
    uint32_t n = 0, which = 0;
    lw_status status;

    lw_builder_start(&m->b, module, "lw_lanes");
    *number = m->b.func_number;
    for (int i = 0; i < loop->nin + loop->nout; i++)
        addresses[i] = lw_ir_param_add(&m->b, LW_DT_ptr, 0, "operand");
    if (scalar->can_raise)
        noted = lw_ir_param_add(&m->b, LW_DT_ptr, 0, "noted");
    for (int j = 0; j < loop->nin; j++) {
        int k = loop->uniforms.order[j];
        for (unsigned part = 0; part < lw_dtype_n_parts(loop->types[k]); part++)
            values[n++] = load_lanes(m, loop->types[k], addresses[k], part, choice->lanes);
    }
    LW_TRY(lw_lanes_inline(&m->b, scalar->body, choice, values, results, err));
    for (; scalar->can_raise && which <= scalar->n_raise_words; which++)
        lw_ir_store(&m->b,
                    lw_ir_offset(&m->b, noted, constant(m, (int64_t)which * 8 * LW_MOST_LANES)),
                    lw_ir_cast(&m->b, LW_DT_u64, results[which]), 8, 0);
    for (int k = loop->nin; k < loop->nin + loop->nout; k++)
        for (unsigned part = 0; part < lw_dtype_n_parts(loop->types[k]); part++)
            store_lanes(m, loop->types[k], addresses[k], part, results[which++], choice->lanes);
    LW_TRY(lw_ir_finish(&m->b, err));
fail:
    return status;
}

/* What the lanes whose first element is i have raised. */
static void
note_lanes(maker *m, lw_ref noted, lw_ref i, unsigned lanes)
{
    lw_builder *b = &m->b;
    lw_ref words[LW_RAISE_WORDS] = {0};
    lw_for lane = lw_ir_for(b, constant(m, 0), constant(m, lanes), constant(m, 1),
                            LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    lw_ref at = lw_ir_offset(b, noted, lw_ir_mul(b, lane.i, constant(m, 8)));
    lw_ref status = lw_ir_cast(b, LW_DT_i32, lw_ir_load(b, LW_DT_u64, 1, at, 8, 0));

    for (uint32_t w = 0; w < m->loop->scalar->n_raise_words; w++)
        words[w] = lw_ir_load(
            b, LW_DT_u64, 1,
            lw_ir_offset(b, at, constant(m, (int64_t)(w + 1) * 8 * LW_MOST_LANES)), 8, 0);
    note_failure(m, status, lw_ir_add(b, i, lane.i), words);
    lw_ir_for_end(b, &lane);
}

/* Vectors of elements, where the function has a loop that ends at a different time for each of
 * them. */
static lw_status
lanes_loop(maker *m, lw_module *module, const lw_lanes_choice *choice, lw_error *err)
{
    const lw_loop *loop = m->loop;
    lw_ref addresses[LW_MAX_ARGS + 1];
    uint32_t function, n = (uint32_t)(loop->nin + loop->nout);
    lw_status status;
    lw_for blocks;

    LW_TRY(lanes_function(m, module, choice, &function, err));
    start(m, module, "lw_loop_contiguous", false);
    if (loop->scalar->can_raise)
        addresses[n] =
            lw_ir_local(&m->b, 8 * LW_MOST_LANES * (loop->scalar->n_raise_words + 1), 64);
    blocks = lw_ir_for(&m->b, constant(m, 0), m->n, constant(m, choice->lanes),
                       LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    for (uint32_t k = 0; k < n; k++)
        addresses[k] = address(m, (int)k, blocks.i);
    lw_ir_call(&m->b, function, addresses, n + loop->scalar->can_raise);
    if (loop->scalar->can_raise)
        note_lanes(m, addresses[n], blocks.i, choice->lanes);
    lw_ir_for_end(&m->b, &blocks);
    finish(m);
    LW_TRY(lw_ir_finish(&m->b, err));
fail:
    return status;
}

/* Not with excluded arrays, whose elements the function reads one at a time. */
static bool
runs_in_lanes(const lw_loop *loop, bool precise, lw_lanes_choice *choice)
{
    const lw_lanes_host host = {.vector_bits = lw_host_vector_bits(), .is_own = lw_host_is_own};

    for (int i = 0; i < loop->nin + loop->nout; i++)
        if (is_uniform(loop, i))
            return false;
    return !precise && lw_lanes_fit(loop->scalar->module, loop->scalar->body, &host, choice);
}

/* Whether the kernel mostly waits for memory. */
static bool
is_light(const lw_loop *loop, const facts *f)
{
    enum { LIGHT = 6 }; /* instructions */
    bool has_loop;

    return lw_scalar_cost(loop->scalar, &has_loop) <= LIGHT && !has_loop && !f->vector_math &&
           f->own_math == 0;
}

/* Whether the strided loop may wait. A long function that one loop alone calls would be inlined
 * there and vectorised, which takes LLVM a minute for 16,000 statements. */
static bool
is_short(const lw_loop *loop)
{
    enum { MOST = 256 }; /* instructions */
    bool loops;

    return lw_scalar_cost(loop->scalar, &loops) <= MOST;
}

/* kernel: is told its shape, and waits with the strided loop of a short function; NULL: the
 * module has all loops. */
static lw_status
write_module(const lw_loop *loop, bool precise, lw_host_kernel *kernel, lw_module **out,
             lw_error *err)
{
    lw_status status;
    lw_module *module = NULL;
    maker m = {.loop = loop};
    facts f = facts_of(loop);
    lw_lanes_choice choice;
    /* one chain of a hundred dependent operations leaves half the processor idle */
    uint32_t more = f.own_math > 0 && f.own_math <= 2 && !precise ? LW_LOOP_INTERLEAVE : 0;

    LW_TRY(lw_module_copy(loop->scalar->module, &module, err));
    if (runs_in_lanes(loop, precise, &choice)) {
        LW_TRY(lanes_loop(&m, module, &choice, err));
    } else if (f.vector_math && !precise) {
        LW_TRY(block_loop(&m, module, err));
    } else {
        LW_TRY(plain_loop(&m, module, false, more, err));
        if (kernel != NULL)
            kernel->takes_any = true;
        if (kernel == NULL || !is_short(loop))
            LW_TRY(plain_loop(&m, module, true, 0, err));
    }
    module->is_light = is_light(loop, &f);
    if (kernel != NULL)
        kernel->is_light = module->is_light;
    *out = module;
    return LW_OK;
fail:
    lw_module_free(module);
    return status;
}

lw_status
lw_host_module(const lw_loop *loop, bool precise, lw_module **out, lw_error *err)
{
    return write_module(loop, precise, NULL, out, err);
}

static lw_status
strided_module(const lw_loop *loop, bool precise, lw_host_kernel *kernel, lw_module **out,
               lw_error *err)
{
    maker m = {.loop = loop};
    lw_status status;

    (void)precise, (void)kernel; /* there is no other code for it */
    LW_TRY(lw_module_copy(loop->scalar->module, out, err));
    LW_TRY(plain_loop(&m, *out, true, 0, err));
fail:
    return status;
}

void
lw_uniforms_none(lw_uniforms *out, int nin)
{
    memset(out, 0, sizeof *out);
    out->first = nin;
    for (int i = 0; i < nin; i++)
        out->order[i] = (uint8_t)i;
}

/* ---- compiling ---- */

/* A first guess: 20 ps a byte, 20 ps an instruction, some ns where libm is at work; nothing is
 * known where there is a loop. The first long run replaces it by what was measured. */
static uint32_t
guess_cost_ps(const lw_loop *loop, const facts *f, lw_host_kernel *kernel)
{
    uint32_t instructions = lw_scalar_cost(loop->scalar, &kernel->has_loop);
    uint64_t cost = 20 * (uint64_t)instructions;

    for (int i = 0; i < kernel->n; i++)
        cost += 20u * kernel->size[i];
    if (f->vector_math)
        cost += 2000;
    cost += 1000u * (uint32_t)f->own_math;
    if (kernel->has_loop)
        return 0;
    return cost > 1000000 ? 1000000 : (uint32_t)cost;
}

static void
describe(lw_host_kernel *kernel, const lw_loop *loop, const lw_build_options *options)
{
    facts f = facts_of(loop);
    size_t bytes = 0;

    kernel->nin = loop->nin;
    kernel->n = loop->nin + loop->nout;
    kernel->can_raise = loop->scalar->can_raise;
    kernel->prints = f.prints;
    kernel->carries = loop->scalar->n_raise_words > 0;
    kernel->touches_flags = !loop->scalar->pure_integer;
    kernel->flag_rule = loop->flag_rule;
    kernel->doubts_flags = kernel->touches_flags && f.branches;
    kernel->watched = loop->uniforms.stores && options->watch == LW_WATCH_ELEMENTS;
    for (int i = 0; i < kernel->n; i++) {
        kernel->dtype[i] = (uint8_t)loop->types[i];
        kernel->size[i] = is_uniform(loop, i) ? 0 : lw_dtypes[loop->types[i]].size_bytes;
        bytes += kernel->size[i];
        kernel->float_outputs |=
            i >= kernel->nin && !lw_is_integer(loop->types[i]) && loop->types[i] != LW_DT_b1;
    }
    assert(bytes > 0);
    kernel->block = (uint32_t)(LW_HOST_SCRATCH / bytes / LW_HOST_BLOCK * LW_HOST_BLOCK);
    if (kernel->block > 1024)
        kernel->block = 1024;
    kernel->cost_ps = guess_cost_ps(loop, &f, kernel);
}

/* What makes the module of a kernel: write_module, or like it. */
typedef lw_status (*module_writer)(const lw_loop *loop, bool precise, lw_host_kernel *kernel,
                                   lw_module **out, lw_error *err);

/* The code of a module that has this entry. */
static lw_status
build(lw_host_kernel *kernel, const lw_loop *loop, const lw_build_options *options,
      module_writer write, const char *entry, lw_code **out, lw_build_report *report,
      lw_error *err)
{
    lw_status status;
    lw_module *module = NULL;
    lw_build_options own = *options;
    lw_code *code = NULL;

    if (!loop->uniforms.stores) /* elements have nothing in common that they could change */
        own.watch = LW_WATCH_NOTHING;
    LW_TRY(write(loop, options->precise, kernel, &module, err));
    LW_TRY(lw_build_host(module, &own, &code, report, err));
    if (lw_code_symbol(code, entry) == NULL)
        LW_TRY(lw_fail(err, LW_ERR_INTERNAL, "compiled code has no %s", entry));
    *out = code;
    code = NULL;
fail:
    lw_module_free(module);
    lw_code_free(code);
    return status;
}

/* The kernel of a module that has this entry; the caller looks up entries. */
static lw_status
compile(const lw_loop *loop, const lw_build_options *options, module_writer write,
        const char *entry, lw_host_kernel **out, lw_build_report *report, lw_error *err)
{
    lw_status status;
    lw_host_kernel *kernel = lw_alloc_zero(1, sizeof *kernel);

    if (kernel == NULL)
        return lw_fail_memory(err);
    describe(kernel, loop, options);
    LW_TRY(build(kernel, loop, options, write, entry, &kernel->code, report, err));
    *out = kernel;
    return LW_OK;
fail:
    lw_host_kernel_free(kernel);
    return status;
}

static lw_strided_entry
strided_entry(const lw_code *code, const char *name)
{
    lw_strided_entry entry;

    *(void **)&entry = lw_code_symbol(code, name);
    return entry;
}

lw_status
lw_host_kernel_new(const lw_loop *loop, const lw_build_options *options, lw_host_kernel **out,
                   lw_build_report *report, lw_error *err)
{
    lw_status status =
        compile(loop, options, write_module, "lw_loop_contiguous", out, report, err);
    lw_host_kernel *kernel;

    if (status != LW_OK)
        return status;
    kernel = *out;
    *(void **)&kernel->contiguous = lw_code_symbol(kernel->code, "lw_loop_contiguous");
    kernel->strided = strided_entry(kernel->code, "lw_loop_strided");
    kernel->plain = kernel->takes_any && !kernel->has_loop && !kernel->watched &&
                    !kernel->doubts_flags && kernel->flag_rule == NULL;
    return LW_OK;
}

lw_status
lw_host_add_strided(lw_host_kernel *kernel, const lw_loop *loop,
                    const lw_build_options *options, lw_build_report *report, lw_error *err)
{
    lw_code *code = NULL, *expected = NULL;
    lw_status status;

    LW_TRY(build(kernel, loop, options, strided_module, "lw_loop_strided", &code, report, err));
    if (!atomic_compare_exchange_strong(&kernel->strided_code, &expected, code)) {
        lw_code_free(code); /* another thread was first */
        code = expected;
    }
    atomic_store(&kernel->strided, strided_entry(code, "lw_loop_strided"));
fail:
    return status;
}

/* What the in-order loop is right for, without a look at flags, Ctrl-C or races. */
bool
lw_host_may_index(const lw_loop *loop)
{
    facts f = facts_of(loop);
    bool loops;

    lw_scalar_cost(loop->scalar, &loops);
    return loop->nin == 2 && loop->nout == 1 && loop->uniforms.first == loop->nin && !loops &&
           loop->types[0] == loop->types[2] && loop->flag_rule == NULL && !f.vector_math &&
           !f.prints;
}

static lw_status
indexed_module(const lw_loop *loop, bool precise, lw_host_kernel *kernel, lw_module **out,
               lw_error *err)
{
    maker m = {.loop = loop};
    lw_status status;

    (void)precise, (void)kernel; /* there is no other code for it */
    LW_TRY(lw_module_copy(loop->scalar->module, out, err));
    LW_TRY(indexed_loop(&m, *out, err));
fail:
    return status;
}

lw_status
lw_host_indexed_new(const lw_loop *loop, const lw_build_options *options, lw_host_kernel **out,
                    lw_build_report *report, lw_error *err)
{
    lw_status status =
        compile(loop, options, indexed_module, "lw_loop_indexed", out, report, err);

    if (status == LW_OK)
        (*out)->strided = strided_entry((*out)->code, "lw_loop_indexed");
    return status;
}

/* Marks what is recognised in this copy of the function (lw_operator_number). */
static lw_fold_kind
kind_of_copy(const lw_loop *loop, lw_module *module)
{
    lw_func *body = module->funcs.data[loop->scalar->body];
    lw_dtype type = loop->types[0];
    lw_operation made;

    if (loop->scalar->can_raise || loop->types[1] != type || !lw_operator_is_line(body) ||
        body->results.n != lw_dtype_n_parts(type) ||
        (lw_dtypes[type].parts != type && !lw_is_complex(type)))
        return LW_FOLD_IN_ORDER;
    made = lw_operator_number(body, type, 0);
    if (made == LW_OPERATION_OTHER)
        return LW_FOLD_IN_ORDER;
    if (lw_is_complex(type))
        return made == LW_OPERATION_ADDS ? LW_FOLD_SUMS : LW_FOLD_IN_ORDER;
    if (lw_is_integer(type))
        return LW_FOLD_EXACT;
    if (type != LW_DT_f32 && type != LW_DT_f64)
        return LW_FOLD_IN_ORDER;
    return made == LW_OPERATION_EXTREMES ? LW_FOLD_EXACT
           : made == LW_OPERATION_ADDS   ? LW_FOLD_SUMS
                                         : LW_FOLD_IN_ORDER; /* NumPy multiplies in order */
}

lw_status
lw_host_fold_kind(const lw_loop *loop, lw_fold_kind *out, lw_error *err)
{
    lw_module *module = NULL;
    lw_status status = LW_OK;

    *out = LW_FOLD_NEVER;
    if (!lw_host_may_index(loop))
        return LW_OK;
    LW_TRY(lw_module_copy(loop->scalar->module, &module, err));
    *out = kind_of_copy(loop, module);
fail:
    lw_module_free(module);
    return status;
}

static lw_status
fold_module(const lw_loop *loop, bool precise, lw_host_kernel *kernel, lw_module **out,
            lw_error *err)
{
    maker m = {.loop = loop};
    bool wide;
    lw_status status;

    (void)precise, (void)kernel; /* there is no other code for it */
    LW_TRY(lw_module_copy(loop->scalar->module, out, err));
    wide = is_wide(kind_of_copy(loop, *out)); /* before a loop is added: it marks the copy */
    LW_TRY(fold_loop(&m, *out, err));
    if (wide)
        LW_TRY(wide_loop(&m, *out, err));
fail:
    return status;
}

lw_status
lw_host_fold_new(const lw_loop *loop, const lw_build_options *options, lw_host_kernel **out,
                 lw_build_report *report, lw_error *err)
{
    lw_status status = compile(loop, options, fold_module, "lw_loop_fold", out, report, err);

    if (status == LW_OK) {
        (*out)->strided = strided_entry((*out)->code, "lw_loop_fold");
        *(void **)&(*out)->wide = lw_code_symbol((*out)->code, "lw_loop_wide");
    }
    return status;
}

void
lw_host_kernel_free(lw_host_kernel *kernel)
{
    if (kernel == NULL)
        return;
    lw_code_free(kernel->code);
    lw_code_free(kernel->strided_code);
    lw_free(kernel);
}

size_t
lw_host_kernel_code_size(const lw_host_kernel *kernel)
{
    const lw_code *strided = kernel->strided_code;

    return lw_code_size(kernel->code) + (strided ? lw_code_size(strided) : 0);
}
