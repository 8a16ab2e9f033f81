/* What the files of `reduction` share: a reduction while it is made. */
#ifndef LW_REDUCE_FUNCTION_REDUCTION_INTERNAL_H
#define LW_REDUCE_FUNCTION_REDUCTION_INTERNAL_H

#include "reduce/function/reduction.h"

/* The types of a value's numbers: strong scalars or the weak INDEX, PYFLOAT, PYCOMPLEX, which
 * are the same in every typed tree. */
typedef struct shape {
    uint32_t n;
    lw_type type[LW_REDUCE_MOST];
    lw_reduce_form form;
    bool too_many; /* numbers, or tuples in tuples */
} shape;

typedef struct builder {
    const lw_reduce_source *source; /* with check= cleared, except in add_checks */
    uint32_t checks;                /* what check= asked for */
    lw_reduction *made;
    shape mapped, acc;
    lw_arena arena;
    lw_types types; /* for joining */
    shape array[LW_REDUCE_MOST];
    lw_dtype dtype; /* that was asked for; void: none */
    lw_error *err;
} builder;

/* ---- reduction.c ---- */

/* Types the function for `times` accumulators. */
lw_status lw_reduce_infer_on(builder *b, const lw_tree *tree, const char *role,
                             const shape *acc, uint32_t times, lw_typed **out);
/* What the function of that role gives. */
lw_status lw_reduce_result_shape(builder *b, const lw_typed *typed, const char *role,
                                 const lw_tree *tree, shape *out);
bool lw_reduce_same_places(const lw_reduce_form *x, const lw_reduce_form *y);
lw_dtype lw_reduce_stored(lw_type type);

/* ---- small_sums.c ---- */

/* Where combine is `lambda a, b: a + b`, or a product, without map: elements are converted
 * first. */
void lw_reduce_widen_elements(builder *b);
/* The same, number by number, of accumulators of any form. */
lw_status lw_reduce_widen_sums(builder *b);

#endif
