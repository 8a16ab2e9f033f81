/* Where a body's accesses point to, and loops that look for something (spread.c, search.c).
 * Pure C. */
#ifndef LW_OPT_LOOPS_PLACES_H
#define LW_OPT_LOOPS_PLACES_H

#include "core/opt/loops/loops.h"

enum { LW_MOST_TERMS = 40 };

typedef struct lw_place {
    int operand;
    uint32_t n_terms;
    struct {
        uint32_t stride; /* number of the parameter */
        lw_ref index;
    } terms[LW_MOST_TERMS];
} lw_place;

bool lw_place_of(const lw_spreader *s, lw_ref pointer, lw_place *p);
/* The index itself. *wraps: a negative one counts from the end. */
lw_ref lw_index_of(const lw_spreader *s, lw_ref index, bool *wraps);
/* Adds a value to an index; false: it is not understood. */
bool lw_shift_add(const lw_spreader *s, const lw_spread_loop *l, lw_ref value, bool minus,
                  lw_shift *shift);
/* Where the index becomes less than 0 it would wrap to elements of other iterations: then the
 * loop must not be spread, which is seen when it runs. False: too many such. */
bool lw_loop_guard(const lw_spreader *s, lw_spread_loop *l, const lw_shift *shift);
/* Guards that this load is of an element in every iteration. False: it is not understood, or
 * there are too many. */
bool lw_load_guard(const lw_spreader *s, lw_spread_loop *l, uint32_t load);
/* A function that touches no memory. */
bool lw_is_pure_call(const lw_spreader *s, const lw_inst *inst);

/* A loop that only looks for the iteration that ends it: lw_spread_loop.searches. */
bool lw_search_take(const lw_spreader *s, lw_spread_loop *l);

#endif
