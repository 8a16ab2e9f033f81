/* What the makers of a reduction's and a scan's kernels for GPUs begin with: the module, the
 * parameters, the accumulator's parts. Simulated, a kernel is a function for the host that
 * finds its parameters as words of memory and returns 0. Included by these files alone. */
#ifndef LW_REDUCE_DEVICE_KERNEL_PARTS_H
#define LW_REDUCE_DEVICE_KERNEL_PARTS_H

#include "reduce/device/device_kernel.h"
#include "reduce/function/body_ir.h"

typedef struct lw_reduce_maker {
    lw_builder b;
    lw_module *module;
    const lw_reduction *r;
    const lw_reduce_key *key;
    lw_reduce_body body;
    lw_ref words; /* simulated: where the parameters are */
    uint32_t n_params;
    uint32_t n_parts;
    lw_dtype part[LW_REDUCE_PARTS];
} lw_reduce_maker;

/* Opens the kernel; false: memory is out. */
static inline bool
begin(lw_reduce_maker *k, const char *symbol)
{
    lw_builder_start(&k->b, k->module, symbol);
    if (k->b.func == NULL)
        return false;
    k->b.func->linkage = k->key->simulated ? LW_EXPORTED : LW_KERNEL;
    if (k->key->simulated) {
        k->words = lw_ir_param_add(&k->b, LW_DT_ptr, 0, "words");
        lw_ir_result_add(&k->b, LW_DT_i32);
    }
    return true;
}

static inline lw_status
finish_kernel(lw_reduce_maker *k, lw_error *err)
{
    lw_ref zero = lw_ir_int(&k->b, LW_DT_i32, 0);

    lw_ir_return(&k->b, &zero, k->key->simulated ? 1 : 0);
    return lw_ir_finish(&k->b, err);
}

/* The next parameter. */
static inline lw_ref
param(lw_reduce_maker *k, lw_dtype type, uint32_t flags, const char *name)
{
    int64_t at;

    if (!k->key->simulated)
        return lw_ir_param_add(&k->b, type, flags, name);
    at = 8 * (int64_t)k->n_params++;
    return lw_ir_load(&k->b, type, 1,
                      lw_ir_offset(&k->b, k->words, lw_ir_int(&k->b, LW_DT_i64, at)), 8, 0);
}

static inline lw_ref
smaller(lw_reduce_maker *k, lw_ref x, lw_ref y)
{
    return lw_ir_select(&k->b, lw_ir_compare(&k->b, LW_OP_LT, x, y), x, y);
}

/* As i64. */
static inline lw_ref
register_of(lw_reduce_maker *k, lw_sreg which)
{
    return lw_ir_cast(&k->b, LW_DT_i64,
                      lw_ir_bitcast(&k->b, LW_DT_u32, lw_ir_sreg(&k->b, which)));
}

static inline void
barrier(lw_reduce_maker *k)
{
    lw_ir_emit(&k->b, LW_OP_BARRIER, LW_DT_void, 0, 0, 0);
}

/* ---- accumulators: a value for each part ---- */

static inline void
get(lw_reduce_maker *k, const lw_ref *slot, lw_ref *acc)
{
    for (uint32_t i = 0; i < k->n_parts; i++)
        acc[i] = lw_ir_get(&k->b, slot[i]);
}

static inline void
set(lw_reduce_maker *k, const lw_ref *slot, const lw_ref *acc)
{
    for (uint32_t i = 0; i < k->n_parts; i++)
        lw_ir_set(&k->b, slot[i], acc[i]);
}

/* base[part] + number items */
static inline lw_ref
at_part(lw_reduce_maker *k, const lw_ref *base, uint32_t part, lw_ref number)
{
    lw_ref size = lw_ir_int(&k->b, LW_DT_i64, lw_dtypes[k->part[part]].size_bytes);

    return lw_ir_offset(&k->b, base[part], lw_ir_mul(&k->b, number, size));
}

static inline void
load_parts(lw_reduce_maker *k, const lw_ref *base, lw_ref number, lw_ref *acc)
{
    for (uint32_t i = 0; i < k->n_parts; i++)
        acc[i] = lw_ir_load(&k->b, k->part[i], 1, at_part(k, base, i, number), 0, 0);
}

static inline void
store_parts(lw_reduce_maker *k, const lw_ref *base, lw_ref number, const lw_ref *acc)
{
    for (uint32_t i = 0; i < k->n_parts; i++)
        lw_ir_store(&k->b, at_part(k, base, i, number), acc[i], 0, 0);
}

#endif
