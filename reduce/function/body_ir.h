/* The functions of a reduction as IR in a module, called part by part (complex: two): what host
 * and device kernels are made of. Pure C. */
#ifndef LW_REDUCE_FUNCTION_BODY_IR_H
#define LW_REDUCE_FUNCTION_BODY_IR_H

#include "reduce/function/reduction.h"

enum { LW_REDUCE_PARTS = 2 * LW_REDUCE_MOST + 1 };

typedef struct lw_reduce_body {
    const lw_reduction *reduction;
    uint32_t funcs[3]; /* as lw_reduction_module numbers them */
} lw_reduce_body;

/* values: the parts of the operands as loaded, then the index (i64) where map wants it. */
void lw_reduce_emit_map(lw_builder *b, const lw_reduce_body *body, const lw_ref *values,
                        lw_ref *acc);
/* out may be x or y. */
void lw_reduce_emit_combine(lw_builder *b, const lw_reduce_body *body, const lw_ref *x,
                            const lw_ref *y, lw_ref *out);
void lw_reduce_emit_finish(lw_builder *b, const lw_reduce_body *body, const lw_ref *acc,
                           lw_ref *out);
/* Parts of the accumulator, and the dtype of each. */
uint32_t lw_reduce_acc_parts(const lw_reduction *r, lw_dtype *parts);
/* An item of `dtype` at an address. */
void lw_reduce_emit_load(lw_builder *b, lw_dtype dtype, lw_ref address, uint32_t flags,
                         lw_ref *parts);
void lw_reduce_emit_store(lw_builder *b, lw_dtype dtype, lw_ref address, const lw_ref *parts);

#endif
