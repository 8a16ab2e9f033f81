#include "reduce/function/body_ir.h"

#include <string.h>

/* The parts that values of these dtypes are cast to, one after the other. */
static uint32_t
cast_all(lw_builder *b, const lw_dtype *from, const lw_dtype *to, uint32_t n,
         const lw_ref *values, lw_ref *out)
{
    uint32_t at = 0, made = 0;

    for (uint32_t i = 0; i < n; i++) {
        lw_lower_cast(b, from[i], values + at, to[i], out + made);
        at += (uint32_t)lw_reduce_parts(from[i]);
        made += (uint32_t)lw_reduce_parts(to[i]);
    }
    return made;
}

static void
call(lw_builder *b, uint32_t func, const lw_ref *args, uint32_t n_args, uint32_t n_results,
     lw_ref *out)
{
    lw_ref made = lw_ir_call(b, func, args, n_args);

    for (uint32_t i = 0; i < n_results; i++)
        out[i] = lw_ir_result(b, made, i);
}

uint32_t
lw_reduce_acc_parts(const lw_reduction *r, lw_dtype *parts)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->n_acc; i++)
        for (int k = 0; k < lw_reduce_parts(r->acc[i]); k++, n++)
            if (parts != NULL)
                parts[n] = lw_dtypes[r->acc[i]].parts;
    return n;
}

void
lw_reduce_emit_map(lw_builder *b, const lw_reduce_body *body, const lw_ref *values, lw_ref *acc)
{
    const lw_reduction *r = body->reduction;
    lw_ref args[LW_REDUCE_PARTS];
    uint32_t n, n_loaded = 0;

    if (r->map == NULL) { /* dtype= comes first: 0.5 is True, and 1.7 is 1 */
        cast_all(b, r->loaded, r->in, r->n_acc, values, args);
        cast_all(b, r->in, r->acc, r->n_acc, args, acc);
        return;
    }
    n = cast_all(b, r->loaded, r->in, r->n_in, values, args);
    for (uint32_t i = 0; i < r->n_in; i++)
        n_loaded += (uint32_t)lw_reduce_parts(r->loaded[i]);
    if (r->indexed)
        args[n++] = values[n_loaded];
    call(b, body->funcs[0], args, n, lw_reduce_acc_parts(r, NULL), acc);
}

void
lw_reduce_emit_combine(lw_builder *b, const lw_reduce_body *body, const lw_ref *x,
                       const lw_ref *y, lw_ref *out)
{
    uint32_t n = lw_reduce_acc_parts(body->reduction, NULL);
    lw_ref args[2 * LW_REDUCE_PARTS] = {0};

    memcpy(args, x, n * sizeof *x);
    memcpy(args + n, y, n * sizeof *y);
    call(b, body->funcs[1], args, 2 * n, n, out);
}

void
lw_reduce_emit_finish(lw_builder *b, const lw_reduce_body *body, const lw_ref *acc, lw_ref *out)
{
    const lw_reduction *r = body->reduction;
    uint32_t n = 0;

    if (r->finish == NULL) {
        cast_all(b, r->acc, r->out, r->n_acc, acc, out);
        return;
    }
    for (uint32_t i = 0; i < r->n_out; i++)
        n += (uint32_t)lw_reduce_parts(r->out[i]);
    call(b, body->funcs[2], acc, lw_reduce_acc_parts(r, NULL), n, out);
}

static lw_ref
part_address(lw_builder *b, lw_dtype dtype, lw_ref base, int part)
{
    if (part == 0)
        return base;
    return lw_ir_offset(b, base,
                        lw_ir_int(b, LW_DT_i64, lw_dtypes[lw_dtypes[dtype].parts].size_bytes));
}

void
lw_reduce_emit_load(lw_builder *b, lw_dtype dtype, lw_ref address, uint32_t flags,
                    lw_ref *parts)
{
    for (int k = 0; k < lw_reduce_parts(dtype); k++)
        parts[k] = lw_ir_load(b, lw_dtypes[dtype].parts, 1, part_address(b, dtype, address, k),
                              0, flags);
}

void
lw_reduce_emit_store(lw_builder *b, lw_dtype dtype, lw_ref address, const lw_ref *parts)
{
    for (int k = 0; k < lw_reduce_parts(dtype); k++)
        lw_ir_store(b, part_address(b, dtype, address, k), parts[k], 0, 0);
}
