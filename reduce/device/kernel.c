/* The frame of a kernel for GPUs, and combinations of accumulators in it, for both kernels of
 * this folder. */
#include "reduce/device/kernel_internal.h"

/* ---- the frame ---- */

uint32_t
lw_reduce_device_parts(const lw_reduction *r, const lw_reduce_key *key, lw_dtype *parts)
{
    uint32_t n = lw_reduce_acc_parts(r, parts);

    assert(!key->masked || !key->keyed);
    if (key->masked)
        parts[n++] = LW_DT_i32;
    if (key->keyed)
        parts[n++] = LW_DT_i64;
    return n;
}

uint32_t
lw_reduce_device_bytes(const lw_reduction *r, const lw_reduce_key *key)
{
    lw_dtype part[LW_REDUCE_PARTS];
    uint32_t n = lw_reduce_device_parts(r, key, part), bytes = 0;

    for (uint32_t i = 0; i < n; i++)
        bytes += lw_dtypes[part[i]].size_bytes;
    assert(bytes > 0); /* an accumulator has a number */
    return bytes;
}

uint32_t
lw_reduce_item_words(const lw_reduction *r, const lw_reduce_item *items, uint64_t *words)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->n_acc; i++)
        for (unsigned k = 0; k < lw_dtype_n_parts(r->acc[i]); k++, n++) {
            uint32_t size = lw_dtypes[lw_dtypes[r->acc[i]].parts].size_bytes;
            words[n] = 0;
            memcpy(&words[n], items[i].bytes + (size_t)k * size, size);
        }
    return n;
}

lw_ref
lw_reduce_param(maker *m, lw_dtype type, uint32_t flags, const char *name)
{
    int64_t at;

    if (!m->key->simulated)
        return lw_ir_param_add(&m->b, type, flags, name);
    at = 8 * (int64_t)m->n_params++;
    return lw_ir_load(&m->b, type, 1, lw_ir_offset(&m->b, m->words, i64(m, at)), 8, 0);
}

static void
begin(maker *m)
{
    lw_func *func = m->b.func;

    if (m->key->simulated) {
        func->linkage = LW_EXPORTED;
        m->words = lw_ir_param_add(&m->b, LW_DT_ptr, 0, "words");
        lw_ir_result_add(&m->b, LW_DT_i32);
        return;
    }
    func->linkage = LW_KERNEL;
    func->max_threads = 1u << (m->key->lanes_log2 + m->key->results_log2);
}

static void
end(maker *m)
{
    lw_ref zero = i32(m, 0);

    lw_ir_return(&m->b, &zero, m->key->simulated ? 1 : 0);
}

lw_status
lw_reduce_make_kernel(const lw_reduction *r, const lw_reduce_key *key, const char *symbol,
                      int max_registers, void (*emit)(maker *m), lw_module **out, lw_error *err)
{
    maker m = {.r = r, .key = key, .body.reduction = r};
    lw_status status;

    m.n_parts = lw_reduce_device_parts(r, key, m.part);
    m.adds_small = lw_reduce_adds_small(r) && !key->masked && !key->keyed;
    LW_TRY(lw_reduction_module(r, &m.module, m.body.funcs, err));
    lw_builder_start(&m.b, m.module, symbol);
    if (m.b.func == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    begin(&m);
    if (!key->simulated)
        m.b.func->max_registers = (uint32_t)max_registers;
    emit(&m);
    end(&m);
    LW_TRY(lw_ir_finish(&m.b, err));
    *out = m.module;
    return LW_OK;
fail:
    lw_module_free(m.module);
    return status;
}

/* ---- combinations ---- */

/* Combines accumulators either of which may have no element. */
static void
combine_masked(maker *m, const lw_ref *x, const lw_ref *y, lw_ref *out)
{
    lw_builder *b = &m->b;
    uint32_t has = m->n_parts - 1;
    lw_ref left = is_set(m, x[has]), any = lw_ir_or(b, x[has], y[has]);
    acc_parts made;

    for (uint32_t i = 0; i < has; i++)
        lw_ir_set(b, m->joined[i], lw_ir_select(b, left, x[i], y[i]));
    lw_ir_if(b, is_set(m, lw_ir_and(b, x[has], y[has])));
    lw_reduce_emit_combine(b, &m->body, x, y, made);
    for (uint32_t i = 0; i < has; i++)
        lw_ir_set(b, m->joined[i], made[i]);
    lw_ir_end(b);
    for (uint32_t i = 0; i < has; i++)
        out[i] = lw_ir_get(b, m->joined[i]);
    out[has] = any;
}

/* Combines accumulators of runs of equal keys: gives y alone where a run begins in it. */
static void
combine_runs(maker *m, const lw_ref *x, const lw_ref *y, lw_ref *out)
{
    uint32_t runs = m->n_parts - 1;
    lw_ref sum = add(m, x[runs], y[runs]);
    acc_parts made = {0};

    set(m, m->joined, y);
    lw_ir_if(&m->b, is_equal(m, y[runs], 0));
    lw_reduce_emit_combine(&m->b, &m->body, x, y, made);
    made[runs] = sum;
    set(m, m->joined, made);
    lw_ir_end(&m->b);
    get(m, m->joined, out);
    out[runs] = sum;
}

void
lw_reduce_combine(maker *m, const lw_ref *x, const lw_ref *y, lw_ref *out)
{
    if (m->key->masked)
        combine_masked(m, x, y, out);
    else if (m->key->keyed)
        combine_runs(m, x, y, out);
    else
        lw_reduce_emit_combine(&m->b, &m->body, x, y, out);
}

void
lw_reduce_combine_before(maker *m, const lw_ref *x, const lw_ref *slot)
{
    acc_parts acc = {0};

    get(m, slot, acc);
    lw_reduce_combine(m, x, acc, acc);
    set(m, slot, acc);
}

void
lw_reduce_put_before(maker *m, const lw_ref *x, const lw_ref *slot, lw_ref is_set)
{
    lw_builder *b = &m->b;

    lw_ir_if(b, is_set);
    lw_reduce_combine_before(m, x, slot);
    lw_ir_else(b);
    set(m, slot, x);
    lw_ir_end(b);
}

void
lw_reduce_combine_after(maker *m, const lw_ref *slot, const lw_ref *x)
{
    acc_parts acc = {0};

    get(m, slot, acc);
    lw_reduce_combine(m, acc, x, acc);
    set(m, slot, acc);
}

/* The same for sums of small integers: in 32 bits, which takes fewer instructions. */
static void
add_small(maker *m, uint32_t n, acc_parts *x)
{
    lw_builder *b = &m->b;

    for (uint32_t i = 0; i < m->n_parts; i++) {
        lw_ref sum = lw_ir_cast(b, LW_DT_i32, x[0][i]);
        for (uint32_t k = 1; k < n; k++)
            sum = lw_ir_add(b, sum, lw_ir_cast(b, LW_DT_i32, x[k][i]));
        x[0][i] = lw_ir_cast(b, m->part[i], sum);
    }
}

void
lw_reduce_combine_tree(maker *m, uint32_t n, acc_parts *x)
{
    if (m->adds_small) {
        add_small(m, n, x);
        return;
    }
    for (uint32_t apart = 1; apart < n; apart *= 2)
        for (uint32_t k = 0; k + apart < n; k += 2 * apart)
            lw_reduce_combine(m, x[k], x[k + apart], x[k]);
}
