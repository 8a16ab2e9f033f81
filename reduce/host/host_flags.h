/* The floating-point flags of a reduction on the host: NumPy's rules for errstate need them.
 * Threads of the pool hand theirs to the thread that has called (core/host/thread_pool), so
 * they are read once for each call. */
#ifndef LW_REDUCE_HOST_FLAGS_H
#define LW_REDUCE_HOST_FLAGS_H

#include "reduce/host/host_run.h"

/* Before a run: clears what stands. */
void lw_reduce_flags_begin(void);
/* After it: the flags of fenv.h that the reduction stands for; none stand afterwards.
 * by_result: job->out has a result for each place of job->kept, each of which is compared with
 * its own elements; otherwise n results, in any order, are compared with all elements together.
 */
int lw_reduce_flags_end(const lw_reduce_job *job, bool by_result, int64_t n);

#endif
