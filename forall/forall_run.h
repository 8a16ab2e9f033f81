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
    int64_t n;                 /* elements: the product of the extents, > 0 */
    _Atomic uint32_t *cost_ps; /* of an element; 0: not known yet. Kept up to date */
    bool in_order;             /* on one thread: it prints */
    lw_stop *stop;             /* or NULL: nothing ends the run early */
    lw_failure failure;        /* out: the lowest element that raised */
} lw_space_run;

/* Whether the work is long enough to let other Python threads run meanwhile. */
bool lw_space_is_long(lw_space_run *run);
/* Runs all elements, unless `stop` ends it between two pieces of work; after one that raised,
 * its part of the space ends there, others go on. */
void lw_space_run_all(lw_space_run *run);
/* The same in this thread, one element after the other, until one raises or races. */
void lw_space_run_watched(lw_space_run *run, lw_race_watch *watch);

/* Number `element` of a space as an index for each dimension. */
void lw_space_index(const lw_space *space, const lw_entry_key *key, int64_t element,
                    int64_t index[LW_MAX_INDEX]);

#endif
