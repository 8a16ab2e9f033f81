#include "gufunc/core/core_spread.h"

typedef struct described {
    lw_spread_source source;
    lw_spread_array arrays[LW_MAX_OPERANDS];
    uint32_t addresses[LW_MAX_OPERANDS];
} described;

/* Describes a loop to core/opt/loops: its arrays are the cores; excluded arrays are addresses
 * among the inputs. */
static void
describe(const lw_gufunc_loop *loop, described *out)
{
    lw_spread_source *source = &out->source;

    *source = (lw_spread_source){.module = loop->scalar->module,
                                 .func = loop->scalar->body,
                                 .arrays = out->arrays,
                                 .addresses = out->addresses,
                                 .writes_there = loop->writes_excluded};
    for (int i = 0; i < loop->nin + loop->nout; i++) {
        const lw_arg_parts *parts = &loop->scalar->args[i];
        const lw_core_operand *core = &loop->layout->operands[i];
        if (loop->form[i] == LW_CORE_ARRAY)
            out->arrays[source->n_arrays++] =
                (lw_spread_array){.first = parts->first,
                                  .ndim = (parts->n - 1) / 2,
                                  .dims = core->n ? core->dims : NULL,
                                  .size_bytes = lw_dtypes[loop->types[i]].size_bytes};
        else if (i < loop->nin && loop->address[i])
            out->addresses[source->n_addresses++] = parts->first;
    }
}

lw_spread
lw_core_spread(const lw_gufunc_loop *loop)
{
    described of;
    lw_spread spread;
    uint64_t rows = 0, own = 0;
    int array = 0;

    describe(loop, &of);
    spread = lw_spread_of(&of.source);
    for (int i = 0; i < loop->nin + loop->nout; i++) /* by operand, not by array */
        if (loop->form[i] == LW_CORE_ARRAY) {
            rows |= (spread.reads_rows >> array & 1) << i;
            own |= (spread.own_rows >> array++ & 1) << i;
        }
    spread.reads_rows = rows;
    spread.own_rows = own;
    return spread;
}

lw_status
lw_core_spread_body(const lw_gufunc_loop *loop, lw_spread_threads threads, lw_module *module,
                    uint32_t *function, lw_error *err)
{
    described of;

    describe(loop, &of);
    return lw_spread_body(&of.source, threads, module, function, err);
}
