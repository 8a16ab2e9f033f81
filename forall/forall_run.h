/* A function over a whole index space on the CPU's cores. Pure C. */
#ifndef LW_FORALL_FORALL_RUN_H
#define LW_FORALL_FORALL_RUN_H

#include "core/host/element_race.h"
#include "core/host/schedule.h"
#include "forall/kernel_ir.h"

typedef struct lw_space_run {
    lw_range_code code;
    const uint64_t *values;
    const lw_space *space;
    int64_t n; /* elements: the product of the extents, > 0 */
    /* picoseconds of an element; 0: not known yet. Updated by each run */
    _Atomic uint32_t *cost_ps;
    bool in_order;      /* on one thread, because it prints */
    bool steady;        /* elements cost the same, because the function has no loop */
    lw_stop *stop;      /* NULL: nothing ends the run early */
    lw_failure failure; /* out: the element with the lowest number that raised */
} lw_space_run;

/* Whether the work is long enough to let other Python threads run meanwhile. */
bool lw_space_is_long(lw_space_run *run);
/* Runs all elements, unless `stop` ends the run between two pieces of work. An element that
 * raises ends its part of the space; other parts continue. */
void lw_space_run_all(lw_space_run *run);
/* Runs the elements in this thread, one after the other, until one raises or races. */
void lw_space_run_watched(lw_space_run *run, lw_race_watch *watch);

/* Turns the number `element` of a space into an index for each dimension. */
void lw_space_index(const lw_space *space, const lw_entry_key *key, int64_t element,
                    int64_t index[LW_MAX_INDEX]);

#endif
