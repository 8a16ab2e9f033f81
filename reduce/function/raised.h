/* What the functions of a reduction raise. An exception that an element or a combination raises
 * travels as numbers behind those of the accumulator: a status (0, or the index of a raise row
 * + 1) and the words that its message shows. combine keeps those of its left operand, else of
 * its right one, else its own; finish hands them on behind its results, and whoever has the
 * results looks. So no kernel knows of exceptions, and of several the first one in the order of
 * combining is told. Pure C. */
#ifndef LW_REDUCE_FUNCTION_RAISED_H
#define LW_REDUCE_FUNCTION_RAISED_H

#include "reduce/function/reduction.h"

/* Puts functions that carry the numbers in place of r's, which may raise, and counts the
 * numbers to n_acc and n_out. LW_ERR_UNSUPPORTED where there is no room for them. */
lw_status lw_reduce_carry_raised(lw_reduction *r, lw_error *err);
/* The row of a nonzero status. */
const lw_raise_row *lw_reduce_raised_row(const lw_reduction *r, int32_t status);

#endif
