/* Groups of random numbers: on the pool's threads where that is worth it, and in parts, between
 * which Ctrl-C is looked for. */
#ifndef LW_RANDOM_GROUPS_H
#define LW_RANDOM_GROUPS_H

#include "core/host/pieces.h"
#include "core/host/thread_pool.h"

/* Runs the body for the groups 0 … n - 1, `grain` of them per thread at least. The body never
 * fails. stop: see core/host/pieces.h; or NULL. */
void lw_run_groups(int64_t n, int64_t grain, lw_loop_body body, void *context, lw_stop *stop);

#endif
