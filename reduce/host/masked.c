#include "reduce/host/masked.h"

#include "core/base/memory.h"
#include "reduce/function/body_ir.h"

#include <assert.h>
#include <string.h>

/* Whether map is a straight line of pure operations: without loads, which a bad element could
 * lead astray, and without loops, which it could keep busy. */
static bool
only_computes(const lw_scalar *map)
{
    const lw_func *func;
    bool good = true;

    if (map == NULL)
        return true;
    func = map->module->funcs.data[map->body];
    for (lw_ref at = 1; good && at < func->insts.n; at++)
        good = lw_ops[func->insts.data[at].op].class == LW_CLASS_PURE ||
               (at + 1 == func->insts.n && func->insts.data[at].op == LW_OP_RETURN);
    return good;
}

/* A scalar constant, as it lies in memory. */
static lw_ref
scalar_of(lw_builder *b, lw_dtype type, const uint8_t *bytes)
{
    uint32_t size = lw_dtypes[type].size_bytes;
    uint64_t bits = 0;
    int64_t value;

    assert(size <= sizeof bits);
    memcpy(&bits, bytes, size); /* little-endian */
    if (!lw_is_integer(type) && type != LW_DT_b1)
        return lw_ir_bits(b, type, bits);
    if (lw_dtypes[type].kind == LW_KIND_INT && size < sizeof bits && (bits >> (8 * size - 1)))
        bits |= UINT64_MAX << (8 * size);
    memcpy(&value, &bits, sizeof value);
    return lw_ir_int(b, type, value);
}

/* The accumulator of an element: what map makes of it, or the element itself. */
static void
emit_element(lw_builder *b, const lw_reduction *of, uint32_t map, const lw_ref *values,
             uint32_t n, lw_ref *acc)
{
    uint32_t parts = lw_reduce_acc_parts(of, NULL);
    lw_ref made;

    if (of->map != NULL) {
        made = lw_ir_call(b, map, values, n);
        for (uint32_t i = 0; i < parts; i++)
            acc[i] = lw_ir_result(b, made, i);
        return;
    }
    lw_reduce_cast_all(b, of->in, of->acc, of->n_acc, values, acc);
}

/* The accumulator if the mask is set, else the neutral value. */
static void
emit_choice(lw_builder *b, const lw_reduction *of, lw_ref mask, lw_ref *acc)
{
    uint32_t at = 0;

    assert(of->has_neutral && of->n_raised == 0);
    for (uint32_t i = 0; i < of->n_acc; i++)
        for (unsigned k = 0; k < lw_dtype_n_parts(of->acc[i]); k++, at++) {
            lw_dtype part = lw_dtypes[of->acc[i]].parts;
            const uint8_t *bytes =
                of->neutral[i].bytes + (size_t)k * lw_dtypes[part].size_bytes;
            acc[at] = lw_ir_select(b, mask, acc[at], scalar_of(b, part, bytes));
        }
}

static lw_status
make_map(const lw_reduction *of, lw_scalar *made, lw_error *err)
{
    lw_dtype parts[LW_REDUCE_PARTS];
    uint32_t n_parts = lw_reduce_acc_parts(of, parts), n = 0, first = 0;
    lw_ref values[LW_REDUCE_PARTS], acc[LW_REDUCE_PARTS] = {0}, mask;
    lw_builder b;
    lw_status status = LW_OK;

    LW_TRY(lw_module_new(&made->module, err));
    if (of->map != NULL)
        LW_TRY(lw_module_append(made->module, of->map->module, &first, err));
    lw_builder_start(&b, made->module, "lw_masked_map");
    for (uint32_t i = 0; i < of->n_in; i++)
        for (unsigned k = 0; k < lw_dtype_n_parts(of->in[i]); k++)
            values[n++] = lw_ir_param_add(&b, lw_dtypes[of->in[i]].parts, 0, "x");
    mask = lw_ir_param_add(&b, LW_DT_b1, 0, "mask");
    for (uint32_t i = 0; i < n_parts; i++)
        lw_ir_result_add(&b, parts[i]);
    emit_element(&b, of, of->map ? first + of->map->body : 0, values, n, acc);
    emit_choice(&b, of, mask, acc);
    lw_ir_return(&b, acc, n_parts);
    made->body = b.func_number;
    LW_TRY(lw_ir_finish(&b, err));
fail:
    return status;
}

lw_status
lw_reduction_masked(const lw_reduction *of, lw_reduction **out, lw_error *err)
{
    lw_reduction *made;
    lw_status status;

    *out = NULL;
    if (!of->has_neutral || of->n_raised || of->indexed || of->n_in >= LW_REDUCE_MOST ||
        !only_computes(of->map))
        return LW_OK;
    made = lw_alloc(sizeof *made);
    if (made == NULL)
        return lw_fail_memory(err);
    *made = *of;
    made->loaded[of->n_in] = made->in[of->n_in] = LW_DT_b1;
    made->n_in++;
    made->map = lw_alloc_zero(1, sizeof *made->map);
    status = made->map ? make_map(of, made->map, err) : lw_fail_memory(err);
    if (status == LW_OK && of->map != NULL && of->flags != LW_FLAGS_NONE)
        made->flags = LW_FLAGS_DOUBTED; /* map computes elements that are left out, too */
    if (status == LW_OK)
        *out = made;
    else
        lw_reduction_masked_free(made);
    return status;
}

void
lw_reduction_masked_free(lw_reduction *self)
{
    if (self == NULL)
        return;
    lw_scalar_free(self->map);
    lw_free(self);
}
