/* A function's loops spread over the threads of a block. Pure C.
 *
 * A body can be spread when each of its outermost loops has iterations that are independent of
 * each other, but for variables that each iteration sets from their value in the one before by
 * an operation that is associative (loops.h). An iteration may read anything that the
 * loop does not write, and of what it writes only its own element; what is not understood
 * counts as dependent. Where iterations look at such a variable, the block takes as many as it
 * has threads, walks them once for what each brings to it, scans that, and walks them again
 * with the values that they find (Hillis and Steele's scan within warps).
 * A variable may also stay as one iteration sets it, the best by a comparison or the last that
 * does (pick.c): threads keep the numbers of their iterations, and the block picks one.
 * A loop that only looks for the iteration that ends it is shared too: the first one found is
 * made again by all threads. The body is looked at as plain.c writes it, with calls in
 * line.
 *
 * All threads run the code between the loops, with the same values, and take the same branches,
 * in which loops may stand; what it stores one of them stores. Sums are made in another order
 * than one thread would make them, always the same one. An index that may be negative, and so
 * may wrap to another iteration's element, is looked at when the loop starts: then one thread
 * runs it as it is. */
#ifndef LW_OPT_LOOPS_SPREAD_H
#define LW_OPT_LOOPS_SPREAD_H

#include "core/base/text.h"
#include "core/ir/ir.h"

/* An array that the function takes: its address, then its extents, then its strides in bytes.
 */
typedef struct lw_spread_array {
    uint32_t first; /* parameter: the address */
    uint32_t ndim;
    uint32_t size_bytes; /* of an element */
} lw_spread_array;

/* The function that is spread; borrowed. */
typedef struct lw_spread_source {
    const lw_module *module;
    uint32_t func;
    uint32_t n_arrays;
    const lw_spread_array *arrays;
    uint32_t n_addresses; /* parameters that are addresses of memory that is none of these … */
    const uint32_t *addresses;
    bool writes_there; /* … to which the function writes */
} lw_spread_source;

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
void lw_spread_tell(const lw_spread *spread, bool with_file, lw_text *text);

/* If memory runs out, the result is that it is not possible. */
lw_spread lw_spread_of(const lw_spread_source *of);
/* Adds the spread function to a copy of the module: *function has the parameters and
 * results of the body, and is called by all threads of a block, a power of two of them. */
lw_status lw_spread_body(const lw_spread_source *of, uint32_t n_threads, lw_module *module,
                         uint32_t *function, lw_error *err);

#endif
