/* A function's loops spread over the threads of a block. Pure C.
 *
 * A body can be spread when each of its outermost loops has iterations that are independent of
 * each other, except for loop-carried variables that each iteration updates by an associative
 * operation (loops.h) or by a linear recurrence (affine.h). An iteration may read anything that
 * the loop does not write, and of what the loop writes only its own element; what the analysis
 * does not understand counts as dependent. Where iterations read such a variable, the block
 * takes as many of them as it has threads, walks them once for what each adds to it, scans that
 * (the scan of W. D. Hillis and G. L. Steele, "Data Parallel Algorithms", 1986, within warps),
 * and walks them again with the values that result. A variable may also keep the values of one
 * iteration, the best by a comparison or the last (pick.c): threads remember the numbers of
 * their iterations, and the block selects one. A loop that only searches for the iteration that
 * ends it is shared too: all threads run the first one found again. The body is analysed as
 * plain.c rewrites it, with calls inlined.
 *
 * All threads run the code between the loops, with the same values, and take the same branches,
 * inside which there may be loops; one thread does the stores there. Sums are added in another
 * order than one thread would add them, but always in the same order. An index that may be
 * negative, and so may wrap to another iteration's element, is checked when the loop starts: if
 * it is negative, one thread runs the loop as it is. */
#ifndef LW_OPT_LOOPS_SPREAD_H
#define LW_OPT_LOOPS_SPREAD_H

#include "core/base/text.h"
#include "core/ir/ir.h"

/* An array that the function takes: its address, then its extents, then its strides in
 * bytes. */
typedef struct lw_spread_array {
    uint32_t first; /* parameter: the address */
    uint32_t ndim;
    uint32_t size_bytes; /* of an element */
    /* the numbers of its dimensions, those of one number having one extent; NULL: not known */
    const uint16_t *dims;
} lw_spread_array;

/* The function to spread; borrowed. */
typedef struct lw_spread_source {
    const lw_module *module;
    uint32_t func;
    uint32_t n_arrays;
    const lw_spread_array *arrays;
    /* parameters that are addresses of memory that belongs to none of these arrays … */
    uint32_t n_addresses;
    const uint32_t *addresses;
    bool writes_there; /* … and whether the function writes there */
} lw_spread_source;

typedef struct lw_spread {
    bool possible;
    /* threads wait for each other at every step, or do little but combine values */
    bool joins;
    bool scans_little; /* they wait at every step, for a few values */
    bool searches;     /* some loop searches for the iteration that ends it */
    /* no loop combines values of several iterations: results are those of one thread, bit for
     * bit */
    bool in_order;
    /* 1 + the number of the dimension along which elements can stay in registers from loop to
     * loop (kept.h), 0: none; the bytes of an iteration that do so at the same time;
     * instructions, roughly, of an iteration of all these loops */
    uint32_t kept_dim, kept_bytes, kept_weight;
    /* By array: has two axes, and an iteration reads along the last one, so that threads which
     * share the loop read at one time elements of different rows, and never neighbours. Of the
     * first 64 arrays. */
    uint64_t reads_rows;
    /* Of those, where blocks that have different iterations of the function's only loop need
     * not wait for each other: the ones of which iteration i reads row i alone. */
    uint64_t own_rows;
    /* of the loop that prevents it; 0: there is none, or its line is not known */
    uint32_t line;
    uint32_t culprit; /* the line in it, or 0 */
    const char *file; /* the module's, or NULL */
    const char *why;  /* what the culprit does, or NULL */
} lw_spread;

/* Writes "the loop in line 7 of f.py: in line 9 a store ...", or nothing. */
void lw_spread_tell(const lw_spread *spread, bool with_file, lw_text *text);

/* Whether and how the function can be spread. If memory runs out, the result is that it
 * cannot. */
lw_spread lw_spread_of(const lw_spread_source *of);
/* The threads that share the function: a power of two, at least a warp. */
typedef struct lw_spread_threads {
    uint32_t n;
    uint32_t n_groups; /* a block has so many groups of them; more than 1: they are warps */
    /* 0, or the iterations of each thread where loops keep elements in registers: the extent of
     * the dimension is more than (kept - 1) * n, and at most kept * n */
    uint32_t kept;
    bool whole; /* the extent is kept * n */
    /* 0, or: only so many of them have iterations, and other blocks have other iterations */
    uint32_t band;
} lw_spread_threads;

/* Adds the spread function to a copy of the module: *function has the parameters and results of
 * the body, and is called by all threads of a block. With `band`, which asks for own_rows, it
 * has two more parameters (u32): the iteration of the first thread, and how far its next one
 * is. */
lw_status lw_spread_body(const lw_spread_source *of, lw_spread_threads threads,
                         lw_module *module, uint32_t *function, lw_error *err);

#endif
