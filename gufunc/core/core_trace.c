#include "gufunc/core/core_trace.h"

#include "core/base/memory.h"
#include "core/opt/overwrite.h"

/* Describes the body's parameters of a core, which is contiguous and has constant sizes. */
static void
describe_core(const lw_gufunc_loop *loop, const lw_core_key *key, int operand,
              lw_known_param *params)
{
    const lw_core_operand *core = &loop->layout->operands[operand];
    int64_t step = lw_dtypes[loop->types[operand]].size_bytes;

    *params++ = (lw_known_param){LW_KNOWN_ARRAY, operand};
    if (core->n == 0) {
        params[0] = (lw_known_param){LW_KNOWN_NUMBER, 1};
        params[1] = (lw_known_param){LW_KNOWN_NUMBER, step};
    }
    for (uint32_t d = core->n; d-- > 0;) {
        params[d] = (lw_known_param){LW_KNOWN_NUMBER, key->sizes[core->dims[d]]};
        params[core->n + d] = (lw_known_param){LW_KNOWN_NUMBER, step};
        step *= key->sizes[core->dims[d]];
    }
}

static void
describe(const lw_gufunc_loop *loop, const lw_core_key *key, lw_known_param *params,
         lw_overwritten *arrays)
{
    for (int i = 0; i < loop->nin + loop->nout; i++) {
        lw_dtype dtype = loop->types[i];
        lw_known_param *own = &params[loop->scalar->args[i].first];
        if (loop->address[i]) /* no output shares an excluded array's memory */
            own->kind = LW_KNOWN_ELSEWHERE;
        if (loop->form[i] == LW_CORE_ARRAY)
            describe_core(loop, key, i, own);
        if (i < loop->nin || !key->operands[i].keep)
            continue;
        arrays[i].bytes = lw_core_count(loop, key, i) * lw_dtypes[dtype].size_bytes;
        arrays[i].part_bytes = lw_dtypes[lw_dtype_memory_part(dtype)].size_bytes;
    }
}

void
lw_core_drop_keep(const lw_gufunc_loop *loop, lw_core_key *key)
{
    const lw_scalar *scalar = loop->scalar;
    uint32_t n_params = scalar->module->funcs.data[scalar->body]->params.n;
    lw_overwritten arrays[LW_MAX_OPERANDS] = {0};
    lw_known_param *params;
    bool any = false;

    for (int i = loop->nin; i < loop->nin + loop->nout; i++) {
        if (loop->form[i] == LW_CORE_RESULT)
            key->operands[i].keep = 0; /* a result is always there */
        any |= key->operands[i].keep;
    }
    if (!any || !key->constant)
        return;
    params = lw_alloc_zero(n_params + 1, sizeof *params);
    if (params == NULL)
        return;
    describe(loop, key, params, arrays);
    lw_overwrites(scalar->module, scalar->body, params, arrays,
                  (uint32_t)(loop->nin + loop->nout));
    for (int i = loop->nin; i < loop->nin + loop->nout; i++)
        if (arrays[i].is_whole)
            key->operands[i].keep = 0;
    lw_free(params);
}
