/* Unroll and jam: four iterations of a loop run their inner loop together.
 *
 *     for i: acc = 0                              for i by 4: acc0 = acc1 = acc2 = acc3 = 0
 *            for j: acc += a[i, j] * x[j]    →                for j: acc0 += …; …; acc3 += …
 *            y[i] = acc                                       y[i] = acc0; …; y[i + 3] = acc3
 *
 * The order of float sums is promised, so LLVM leaves the inner loop as it is, and each
 * iteration waits for the addition of the one before it. The sums of four rows are independent;
 * each keeps its order, and so its bits.
 * needs: code for the host that is not watched for races; keeps: types; breaks: value numbers.
 */
#ifndef LW_OPT_JAM_H
#define LW_OPT_JAM_H

#include "core/ir/ir.h"

/* Whether a function of the module has a loop around another one, or around a call of a
 * function with a loop; without one of these, lw_opt_jam finds nothing. */
bool lw_jam_may_apply(const lw_module *module);

/* Rewrites all functions. A call in a loop is inlined if the loops are then jammed. *jammed:
 * how many loops were, or NULL. */
lw_status lw_opt_jam(lw_module *module, uint32_t *jammed, lw_error *err);

#endif
