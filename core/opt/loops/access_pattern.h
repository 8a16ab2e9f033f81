/* The addresses that a body's accesses go to, as affine forms of indices (spread.c), the
 * dimensions that arrays have in common (access_pattern.c), and loops that search (search.c).
 * Pure C. */
#ifndef LW_OPT_LOOPS_ACCESS_PATTERN_H
#define LW_OPT_LOOPS_ACCESS_PATTERN_H

#include "core/opt/loops/loops.h"

enum { LW_MOST_TERMS = 40 };

typedef struct lw_access_pattern {
    int operand;
    uint32_t n_terms;
    struct {
        uint32_t stride; /* number of the parameter */
        lw_ref index;
    } terms[LW_MOST_TERMS];
} lw_access_pattern;

/* The dimension whose extent a parameter is; −1: it is none. */
int lw_dim_of_param(const lw_spreader *s, uint32_t param);
bool lw_access_pattern_of(const lw_spreader *s, lw_ref pointer, lw_access_pattern *p);
/* Whether a condition is false because of the dimensions that arrays have in common: those of
 * one number have one extent, and so nothing is broadcast along them. */
bool lw_is_never(const lw_spreader *s, lw_ref condition);
/* The index itself. *wraps: a negative index counts from the end of the array. */
lw_ref lw_index_of(const lw_spreader *s, lw_ref index, bool *wraps);
/* Adds a value to an index; false: the value is not understood. */
bool lw_shift_add(const lw_spreader *s, const lw_spread_loop *l, lw_ref value, bool minus,
                  lw_shift *shift);
/* Finds the dimension that the counter runs along, by the number of its stride's parameter; the
 * shift is what is added to the counter. */
bool lw_runs_along(const lw_spreader *s, lw_spread_loop *l, const lw_access_pattern *p,
                   uint32_t *stride, lw_shift *shift);
/* Notes that the loop may be spread only where this index is not negative, because a negative
 * one would wrap to the elements of other iterations; the check runs before the loop. False:
 * there are too many such checks. */
bool lw_loop_guard(const lw_spreader *s, lw_spread_loop *l, const lw_shift *shift);
/* Guards that this load stays inside its array in every iteration. False: its address is not
 * understood, or there are too many guards. */
bool lw_load_guard(const lw_spreader *s, lw_spread_loop *l, uint32_t load);
/* Whether the function called touches no memory. */
bool lw_is_pure_call(const lw_spreader *s, const lw_inst *inst);

/* Takes a loop that does nothing but search for the iteration that ends it:
 * lw_spread_loop.searches. */
bool lw_search_take(const lw_spreader *s, lw_spread_loop *l);

#endif
