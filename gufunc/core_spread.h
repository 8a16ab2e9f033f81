/* Large cores: an item's loops spread over the threads of a block. Pure C.
 *
 * A body can be spread when each of its outermost loops has iterations that are independent of
 * each other, but for variables that each iteration sets from their value in the one before by
 * an operation that is associative (core_rounds.h). An iteration may read anything that the
 * loop does not write, and of what it writes only its own element; what is not understood
 * counts as dependent. Where iterations look at such a variable, the block takes as many as it
 * has threads, walks them once for what each brings to it, scans that, and walks them again
 * with the values that they find (Hillis and Steele's scan within warps).
 * A variable may also stay as one iteration sets it, the best by a comparison or the last that
 * does (core_pick.c): threads keep the numbers of their iterations, and the block picks one.
 * A loop that only looks for the iteration that ends it is shared too: the first one found is
 * made again by all threads. The body is looked at as core_plain.c writes it, with calls in
 * line.
 *
 * All threads run the code between the loops, with the same values, and take the same branches,
 * in which loops may stand; what it stores one of them stores. Sums are made in another order
 * than one thread would make them, always the same one. An index that may be negative, and so
 * may wrap to another iteration's element, is looked at when the loop starts: then one thread
 * runs it as it is. */
#ifndef LW_GUFUNC_CORE_SPREAD_H
#define LW_GUFUNC_CORE_SPREAD_H

#include "core/base/text.h"
#include "gufunc/gufunc_loop.h"

typedef struct lw_spread {
    bool possible;
    bool joins;    /* threads wait for each other at every step, or do little but join values */
    bool searches; /* some loop looks for the iteration that ends it */
    uint32_t line; /* of the loop that prevents it; 0: there is none, or it is not known */
    uint32_t culprit; /* the line in it, or 0 */
    const char *file; /* the module's, or NULL */
    const char *why;  /* what the culprit does, or NULL */
} lw_spread;

/* "the loop in line 7 of f.py: in line 9 a store ...", or nothing. */
void lw_core_spread_tell(const lw_spread *spread, bool with_file, lw_text *text);

/* Memory out: not possible. */
lw_spread lw_core_spread(const lw_gufunc_loop *loop);
/* Adds the spread body to a copy of the scalar's module: *function has the parameters and
 * results of the body, and is called by all threads of a block, a power of two of them. */
lw_status lw_core_spread_body(const lw_gufunc_loop *loop, uint32_t n_threads, lw_module *module,
                              uint32_t *function, lw_error *err);

#endif
