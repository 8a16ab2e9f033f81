#include "reduce/function/body_ir.h"

#include <assert.h>
#include <string.h>

uint32_t
lw_reduce_count_parts(const lw_dtype *dtype, uint32_t n)
{
    uint32_t parts = 0;

    for (uint32_t i = 0; i < n; i++)
        parts += lw_dtype_n_parts(dtype[i]);
    return parts;
}

uint32_t
lw_reduce_cast_all(lw_builder *b, const lw_dtype *from, const lw_dtype *to, uint32_t n,
                   const lw_ref *values, lw_ref *out)
{
    uint32_t at = 0, made = 0;

    for (uint32_t i = 0; i < n; i++) {
        lw_lower_cast(b, from[i], values + at, to[i], out + made);
        at += lw_dtype_n_parts(from[i]);
        made += lw_dtype_n_parts(to[i]);
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
        for (unsigned k = 0; k < lw_dtype_n_parts(r->acc[i]); k++, n++)
            if (parts != NULL)
                parts[n] = lw_dtypes[r->acc[i]].parts;
    return n;
}

void
lw_reduce_emit_map(lw_builder *b, const lw_reduce_body *body, const lw_ref *values, lw_ref *acc)
{
    const lw_reduction *r = body->reduction;
    lw_ref args[LW_REDUCE_PARTS];
    uint32_t n;

    if (r->map == NULL) { /* dtype= converts elements first: 0.5 to True, 1.7 to 1 */
        lw_reduce_cast_all(b, r->loaded, r->in, r->n_acc, values, args);
        lw_reduce_cast_all(b, r->in, r->acc, r->n_acc, args, acc);
        return;
    }
    n = lw_reduce_cast_all(b, r->loaded, r->in, r->n_in, values, args);
    if (r->indexed)
        args[n++] = values[lw_reduce_count_parts(r->loaded, r->n_in)];
    call(b, body->funcs[0], args, n, lw_reduce_acc_parts(r, NULL), acc);
}

void
lw_reduce_emit_combine(lw_builder *b, const lw_reduce_body *body, const lw_ref *x,
                       const lw_ref *y, lw_ref *out)
{
    uint32_t n = lw_reduce_acc_parts(body->reduction, NULL);
    lw_ref args[2 * LW_REDUCE_PARTS] = {0};

    assert(body->funcs[1] != UINT32_MAX && n <= LW_REDUCE_PARTS);
    memcpy(args, x, n * sizeof *x);
    memcpy(args + n, y, n * sizeof *y);
    call(b, body->funcs[1], args, 2 * n, n, out);
}

void
lw_reduce_emit_finish(lw_builder *b, const lw_reduce_body *body, const lw_ref *acc, lw_ref *out)
{
    const lw_reduction *r = body->reduction;
    if (r->finish == NULL) {
        lw_reduce_cast_all(b, r->acc, r->out, r->n_acc, acc, out);
        return;
    }
    call(b, body->funcs[2], acc, lw_reduce_acc_parts(r, NULL),
         lw_reduce_count_parts(r->out, r->n_out), out);
}
