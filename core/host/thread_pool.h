/* Persistent threads for loops over host arrays. They are started at the first loop that is
 * worth it, as many as the setting `threads` says, or as many as there are cores that this
 * process may use. A child of fork() starts its own.
 *
 * Work is cut into equal chunks, one per worker, at multiples of `grain`, in order: the same n,
 * grain and thread count always give the same chunks (so that the thread that touches a buffer
 * first also works on it later, as a rule). The caller has chunk 0. A worker goes through its
 * chunk in steps of some grains; a thread that has no steps left takes steps that others have
 * not begun. So where a core is busy with other work, its worker does less, or nothing, and
 * nobody waits for a worker that has not begun. Waiting is a spin, which is longer while one
 * loop follows the other, then a futex.
 *
 * Floating-point environment: workers run with the caller's (rounding mode, flush-to-zero), and
 * exception flags that they raise are raised in the caller at the end, as NumPy expects. */
#ifndef LW_HOST_THREAD_POOL_H
#define LW_HOST_THREAD_POOL_H

#include "core/base/error.h"
#include "core/host/cores.h"

#include <stdbool.h>
#include <stdint.h>

/* Works on [begin, end), a step of a chunk. worker: the thread; 0 is the caller,
 * < lw_host_threads(). Called several times in a thread, or not at all. Must not touch Python.
 */
typedef lw_status (*lw_loop_body)(void *context, int64_t begin, int64_t end, uint32_t worker);

/* The most steps of a chunk. A thread that is held up keeps the others waiting for one step. */
enum { LW_POOL_STEPS = 16 };

/* Runs the body over [0, n), in the caller alone when n <= grain, with one thread, inside
 * another lw_parallel_for, while another thread's loop holds the pool, or where threads cannot
 * be started. All steps run, also when one fails; the status of the first failing step in the
 * order of [0, n) is returned. n <= 0 does nothing; grain < 1 counts as 1. */
lw_status lw_parallel_for(int64_t n, int64_t grain, lw_loop_body body, void *context);
/* The same; a caller that waits for the others asks `stop` meanwhile (core/host/pieces.h),
 * which their bodies look at. NULL: it is asked nothing. */
struct lw_stop;
lw_status lw_parallel_until(int64_t n, int64_t grain, lw_loop_body body, void *context,
                            struct lw_stop *stop);
/* The threads of the pool that wait actively, or work: they answer a call at once. */
uint32_t lw_pool_n_awake(void);
/* Whether this thread is one of the pool's, not one that called it. */
bool lw_pool_is_worker(void);
/* Whether this process was forked in the middle of the loop that this thread runs, by a signal
 * handler. What the workers were doing then is done in the parent alone, so the loop must end,
 * and its results must not be used. */
bool lw_pool_is_lost(void);

/* The number of this thread among those of the pool; 0 for a thread that calls it. */
uint32_t lw_pool_thread(void);
/* Makes lw_host_threads and lw_pool_thread known to the loader of compiled code. */
void lw_thread_pool_register(void);

/* Ends the threads; the next loop starts them again. Waits for a loop under way. */
void lw_thread_pool_stop(void);

#endif
