/* What a binary operator is: a function of two operands of some numbers each, which gives as
 * many numbers. Its parameters are the scalars of the first operand and then those of the
 * second (complex numbers have two, lw_dtype_n_parts), its results those of the result. Whether
 * an operator is a sum, a maximum or a choice is read off its code. Pure C. */
#ifndef LW_OPT_OPERATOR_H
#define LW_OPT_OPERATOR_H

#include "core/ir/ir.h"

/* One number of the result, made of the same number of both operands by an operation that is
 * associative and commutative; else OTHER. */
typedef enum lw_operation {
    LW_OPERATION_OTHER,
    LW_OPERATION_ADDS,    /* identity 0: +, |, ^, `or` of bools */
    LW_OPERATION_TIMES,   /* identity 1: * */
    LW_OPERATION_ANDS,    /* identity of ones: &, `and` of bools */
    LW_OPERATION_EXTREMES /* min, max: no identity */
} lw_operation;

/* What an operator does that gives one of its operands, all numbers of it: the one whose
 * deciding scalar is larger, or smaller. */
typedef enum lw_extreme_kind { LW_NO_EXTREME, LW_LARGEST, LW_SMALLEST } lw_extreme_kind;

typedef struct lw_extreme {
    lw_extreme_kind kind;
    uint32_t part;  /* the scalar that decides */
    bool nan_first; /* NaN counts as better than all numbers; else something else happens to it
                     */
} lw_extreme;

enum { LW_NO_PART = UINT32_MAX };

/* Whether the function has the form of an operator, and is one straight line that ends in
 * `return`: else nothing is recognised. */
bool lw_operator_is_line(const lw_func *func);
/* The instruction that makes a scalar of the result of such a function. */
const lw_inst *lw_operator_result(const lw_func *func, uint32_t part);
/* The operation of the number of this dtype whose scalars begin with `part`. A minimum or
 * maximum of floats that is recognised need not distinguish zeros: it is marked so. */
lw_operation lw_operator_number(lw_func *func, lw_dtype dtype, uint32_t part);
/* Whether a scalar of the result is the sum of that scalar of both operands, unless one of them
 * is a constant, which absorbs the other: so times are added, whose NaT is such a constant. */
bool lw_operator_is_absorbing_sum(const lw_func *func, uint32_t part);
/* Whether a result is the larger or the smaller of the two by a comparison and a select: of
 * integers, where that is all there is to know. */
lw_extreme_kind lw_operator_selects(const lw_func *func, uint32_t part);
/* Whether a scalar of the result is the sum, or the product, of that scalar of both operands,
 * and nothing else depends on these. */
bool lw_operator_sums_alone(const lw_func *func, uint32_t part);
/* Of equal values the operator gives the first operand; if any_order, the one where the scalar
 * `index` is smaller, whichever comes first. */
lw_extreme lw_operator_extreme(const lw_func *func, uint32_t index, bool any_order);

#endif
