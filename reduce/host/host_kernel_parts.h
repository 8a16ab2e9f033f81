/* What the files that emit loops over host memory share: operands and accumulators as arrays,
 * and accumulators that are carried from iteration to iteration. */
#ifndef LW_REDUCE_HOST_HOST_KERNEL_PARTS_H
#define LW_REDUCE_HOST_HOST_KERNEL_PARTS_H

#include "reduce/function/body_ir.h"
#include "reduce/host/host_kernel.h"

#include <string.h>

typedef struct maker {
    lw_builder b;
    lw_module *module;
    const lw_reduction *r;
    lw_reduce_body body;
    uint32_t n_operands;
    lw_dtype operand[LW_REDUCE_MOST + 1];
    lw_ref args, n, strides;
    lw_extreme extreme;
    lw_dtype value; /* dtype of the value that decides which element is better */
} maker;

/* The number of lanes: 256 bytes of the largest number, which are eight vectors of AVX2 or four
 * of AVX-512, whose chains of combinations are independent. */
static inline uint32_t
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

static inline lw_ref
i64(maker *m, int64_t value)
{
    return lw_ir_int(&m->b, LW_DT_i64, value);
}

static inline void
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

static inline lw_status
end(maker *m, lw_error *err)
{
    lw_ir_return(&m->b, NULL, 0);
    return lw_ir_finish(&m->b, err);
}

/* Loads entry `which` of args. */
static inline lw_ref
pointer(maker *m, uint32_t which)
{
    return lw_ir_load(&m->b, LW_DT_ptr, 1, lw_ir_offset(&m->b, m->args, i64(m, 8 * which)), 8,
                      LW_MEM_INVARIANT);
}

static inline lw_ref
stride(maker *m, uint32_t which, lw_dtype dtype)
{
    if (m->strides == 0)
        return i64(m, lw_dtypes[dtype].size_bytes);
    return lw_ir_load(&m->b, LW_DT_i64, 1, lw_ir_offset(&m->b, m->strides, i64(m, 8 * which)),
                      8, LW_MEM_INVARIANT);
}

/* Arrays, and the bytes between their elements. */
typedef struct arrays {
    uint32_t n;
    const lw_dtype *dtype;
    lw_ref address[LW_REDUCE_MOST + 1], step[LW_REDUCE_MOST + 1];
} arrays;

static inline arrays
contiguous(maker *m, const lw_dtype *dtype, uint32_t n, uint32_t first)
{
    arrays a = {.n = n, .dtype = dtype};

    for (uint32_t i = 0; i < n; i++) {
        a.address[i] = pointer(m, first + i);
        a.step[i] = i64(m, lw_dtypes[dtype[i]].size_bytes);
    }
    return a;
}

/* The same from element `by` on. */
static inline arrays
moved(maker *m, const arrays *a, lw_ref by)
{
    arrays b = *a;

    for (uint32_t i = 0; i < a->n; i++)
        b.address[i] = lw_ir_offset(&m->b, a->address[i], lw_ir_mul(&m->b, by, a->step[i]));
    return b;
}

/* Arrays of any strides. first, first_stride: where they begin in args and in strides. */
static inline arrays
strided(maker *m, const lw_dtype *dtype, uint32_t n, uint32_t first, uint32_t first_stride)
{
    arrays a = {.n = n, .dtype = dtype};

    for (uint32_t i = 0; i < n; i++) {
        a.address[i] = pointer(m, first + i);
        a.step[i] = stride(m, first_stride + i, dtype[i]);
    }
    return a;
}

static inline void
load(maker *m, const arrays *a, lw_ref at, lw_ref *values)
{
    for (uint32_t i = 0; i < a->n; i++) {
        lw_ref address = lw_ir_offset(&m->b, a->address[i], lw_ir_mul(&m->b, at, a->step[i]));
        lw_ir_load_parts(&m->b, a->dtype[i], address, 0, values);
        values += lw_dtype_n_parts(a->dtype[i]);
    }
}

static inline void
store(maker *m, const arrays *a, lw_ref at, const lw_ref *values)
{
    for (uint32_t i = 0; i < a->n; i++) {
        lw_ref address = lw_ir_offset(&m->b, a->address[i], lw_ir_mul(&m->b, at, a->step[i]));
        lw_ir_store_parts(&m->b, a->dtype[i], address, values);
        values += lw_dtype_n_parts(a->dtype[i]);
    }
}

static inline arrays
operands(maker *m)
{
    return strided(m, m->operand, m->n_operands, 0, 0);
}

static inline arrays
accumulators(maker *m)
{
    return contiguous(m, m->r->acc, m->r->n_acc, m->n_operands);
}

static inline void
map_at(maker *m, const arrays *in, lw_ref at, lw_ref *acc)
{
    lw_ref values[LW_REDUCE_PARTS];

    load(m, in, at, values);
    lw_reduce_emit_map(&m->b, &m->body, values, acc);
}

typedef struct slots {
    uint32_t n;
    lw_ref slot[LW_REDUCE_PARTS];
} slots;

static inline slots
slots_new(maker *m)
{
    lw_dtype parts[LW_REDUCE_PARTS];
    slots s = {.n = lw_reduce_acc_parts(m->r, parts)};

    for (uint32_t i = 0; i < s.n; i++)
        s.slot[i] = lw_ir_slot(&m->b, parts[i]);
    return s;
}

static inline void
slots_get(maker *m, const slots *s, lw_ref *values)
{
    for (uint32_t i = 0; i < s->n; i++)
        values[i] = lw_ir_get(&m->b, s->slot[i]);
}

static inline void
slots_set(maker *m, const slots *s, const lw_ref *values)
{
    for (uint32_t i = 0; i < s->n; i++)
        lw_ir_set(&m->b, s->slot[i], values[i]);
}

/* kept = combine(kept, x) */
static inline void
slots_combine(maker *m, const slots *kept, const lw_ref *x)
{
    lw_ref acc[LW_REDUCE_PARTS];

    slots_get(m, kept, acc);
    lw_reduce_emit_combine(&m->b, &m->body, acc, x, acc);
    slots_set(m, kept, acc);
}

/* to[at] = combine(to[at], x) */
static inline void
combine_into(maker *m, const arrays *to, lw_ref at, const lw_ref *x)
{
    lw_ref acc[LW_REDUCE_PARTS];

    load(m, to, at, acc);
    lw_reduce_emit_combine(&m->b, &m->body, acc, x, acc);
    store(m, to, at, acc);
}

/* As map_at, for operands that do not include the index. */
static inline void
map_indexed(maker *m, const arrays *in, lw_ref at, lw_ref index, lw_ref *acc)
{
    lw_ref values[LW_REDUCE_PARTS + 1];
    uint32_t n = 0;

    load(m, in, at, values);
    for (uint32_t i = 0; i < in->n; i++)
        n += lw_dtype_n_parts(in->dtype[i]);
    values[n] = index;
    lw_reduce_emit_map(&m->b, &m->body, values, acc);
}

/* to[j] = combine(left[j], right[j]) for n accumulators; flags: of the loop. */
void lw_reduce_combine_all(maker *m, const arrays *left, const arrays *right, const arrays *to,
                           lw_ref n, uint32_t flags);
/* Combines four rows of lanes, from element `start` on; loop_flags: of the loop over groups of
 * lanes. */
void lw_reduce_four_rows(maker *m, const arrays *in, const arrays *to, lw_ref start,
                         uint32_t loop_flags);
/* The loop over whole chunks, where the operator allows it. */
lw_status lw_reduce_chunk_loops(maker *m, lw_error *err);
/* The loops of scans, and those that look for the best element (lw_reduction.best); quick: of
 * code that is compiled soon. */
lw_status lw_reduce_scan_loops(maker *m, bool quick, lw_error *err);
lw_status lw_reduce_extreme_loops(maker *m, bool quick, lw_error *err);
/* The one loop for all of these, if the deciding value is an element as it is loaded. */
bool lw_reduce_may_pick(const maker *m);
enum { LW_MOST_PICKED = 16 }; /* lanes */
lw_status lw_reduce_pick_loop(maker *m, bool quick, lw_error *err);

#endif
