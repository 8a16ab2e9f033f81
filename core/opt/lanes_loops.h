/* Loops whose iterations run in vectors (core/opt/lanes), where each iteration calls a function
 * that computes for a different time:
 *
 *     for i: x, y = head(i)            for i by 16: for k: xs[k], ys[k] = head(i + k)
 *            n = escape(x, y)    →                  ns = escape of the vectors xs, ys
 *            rest(i, n)                             for k: head(i + k); rest(i + k, ns[k])
 *
 * An inner loop that only computes numbers counts as such a function. This serves the loops of
 * forall, of prange, and those that a function of lw.jit or lw.guvectorize contains.
 *
 * needs: code for the host that is not watched for races; keeps: types, the order of everything
 * but heads, and the value of each iteration, to the bit; breaks: value numbers. */
#ifndef LW_OPT_LANES_LOOPS_H
#define LW_OPT_LANES_LOOPS_H

#include "core/opt/lanes.h"

/* Whether the module has several loops; without, lw_opt_lanes_loops finds nothing. */
bool lw_lanes_loops_may_apply(const lw_module *module);
/* Rewrites all functions. */
lw_status lw_opt_lanes_loops(lw_module *module, const lw_lanes_host *host, lw_error *err);

#endif
