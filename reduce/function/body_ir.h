/* Calls of a reduction's functions from kernels for both targets: values are given part by
 * part, that is scalar by scalar (complex numbers have two). Pure C. */
#ifndef LW_REDUCE_FUNCTION_BODY_IR_H
#define LW_REDUCE_FUNCTION_BODY_IR_H

#include "reduce/function/reduction.h"

enum { LW_REDUCE_PARTS = 2 * LW_REDUCE_MOST + 1 };

typedef struct lw_reduce_body {
    const lw_reduction *reduction;
    uint32_t funcs[3]; /* in the order of lw_reduction_module */
} lw_reduce_body;

/* How many parts values of these dtypes have together. */
uint32_t lw_reduce_count_parts(const lw_dtype *dtype, uint32_t n);
/* Casts n values, given and returned part by part; gives how many parts result. */
uint32_t lw_reduce_cast_all(lw_builder *b, const lw_dtype *from, const lw_dtype *to, uint32_t n,
                            const lw_ref *values, lw_ref *out);
/* The accumulator of an element. values: the parts of the operands as loaded, then the index
 * (i64) where map takes it. */
void lw_reduce_emit_map(lw_builder *b, const lw_reduce_body *body, const lw_ref *values,
                        lw_ref *acc);
/* x comes before y; out may be either. */
void lw_reduce_emit_combine(lw_builder *b, const lw_reduce_body *body, const lw_ref *x,
                            const lw_ref *y, lw_ref *out);
void lw_reduce_emit_finish(lw_builder *b, const lw_reduce_body *body, const lw_ref *acc,
                           lw_ref *out);
/* How many parts an accumulator has; parts: the dtype of each, or NULL. */
uint32_t lw_reduce_acc_parts(const lw_reduction *r, lw_dtype *parts);

#endif
