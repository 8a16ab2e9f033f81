/* What reduction.c, shape.c and small_sums.c share: a reduction that is being made. */
#ifndef LW_REDUCE_FUNCTION_REDUCTION_INTERNAL_H
#define LW_REDUCE_FUNCTION_REDUCTION_INTERNAL_H

#include "reduce/function/reduction.h"

/* The types of a value's numbers, which are strong scalars or the weak INDEX, PYFLOAT and
 * PYCOMPLEX: these mean the same in every typed tree. */
typedef struct shape {
    uint32_t n;
    lw_type type[LW_REDUCE_MOST];
    lw_reduce_form form;
    bool too_many; /* it has more numbers or nodes than there is room for */
} shape;

typedef struct builder {
    const lw_reduce_source *source; /* without check=, except in add_checks */
    uint32_t checks;                /* the checks that check= asks for */
    lw_reduction *made;
    shape mapped, acc;
    lw_arena arena;
    lw_types types; /* in which types are joined */
    shape array[LW_REDUCE_MOST];
    lw_dtype dtype; /* dtype=; void: not given */
    lw_error *err;
} builder;

/* ---- reduction.c ---- */

/* Infers the types of a function of `times` accumulators. */
lw_status lw_reduce_infer_on(builder *b, const lw_tree *tree, const char *role,
                             const shape *acc, uint32_t times, lw_typed **out);
/* The name of a user's function. */
const char *lw_reduce_name_of(const lw_tree *tree);

/* ---- shape.c ---- */

/* The form and types of the result of such a function. */
lw_status lw_reduce_result_shape(builder *b, const lw_typed *typed, const char *role,
                                 const lw_tree *tree, shape *out);
/* Whether both structure as many numbers in the same way, whatever their names. */
bool lw_reduce_same_places(const lw_reduce_form *x, const lw_reduce_form *y);
lw_dtype lw_reduce_stored(lw_type type);
/* A weak literal counts as a Python int. */
lw_type lw_reduce_plain(const lw_types *types, lw_type type);
void lw_reduce_add_node(shape *to, lw_reduce_kind kind, uint32_t n, const char *name);
void lw_reduce_add_number(shape *to, lw_type type, const char *name);
/* Adds the numbers of a record. */
void lw_reduce_add_record(const lw_arg_record *record, const char *name, shape *to);
bool lw_reduce_is_tuple(const shape *s);
/* How many parameters an accumulator becomes when it is unpacked. */
uint32_t lw_reduce_n_items(const shape *s);
/* The argument type of a value of this shape. */
lw_status lw_reduce_spec_of(builder *b, const shape *from, lw_arg_spec *out);

/* ---- small_sums.c ---- */

/* Without map, where combine is `lambda a, b: a + b` or a product: narrow elements are
 * converted first. */
void lw_reduce_widen_elements(builder *b);
/* Widens the numbers of an accumulator of any form that are sums or products of narrow
 * integers. */
lw_status lw_reduce_widen_sums(builder *b);

#endif
