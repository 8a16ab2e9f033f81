/* What the tests of the simulator share: kernels ask for their place in the grid, launches must
 * succeed or fail as said. */
#ifndef LW_SIMULATOR_TESTS_H
#define LW_SIMULATOR_TESTS_H

#include "core/host/simulator.h"
#include "tests/c/check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define FULL (-1)

typedef lw_kernel_context context;

static inline uint32_t
sreg(const context *c, lw_sreg which)
{
    return c->sregs[which];
}

/* Of the thread in its block, and of the block in the grid; x fastest. */
static inline uint32_t
thread_of(const context *c)
{
    return (sreg(c, LW_SREG_TID_Z) * sreg(c, LW_SREG_NTID_Y) + sreg(c, LW_SREG_TID_Y)) *
               sreg(c, LW_SREG_NTID_X) +
           sreg(c, LW_SREG_TID_X);
}

static inline uint32_t
block_of(const context *c)
{
    return (sreg(c, LW_SREG_CTAID_Z) * sreg(c, LW_SREG_NCTAID_Y) + sreg(c, LW_SREG_CTAID_Y)) *
               sreg(c, LW_SREG_NCTAID_X) +
           sreg(c, LW_SREG_CTAID_X);
}

static inline uint32_t
n_threads_of(const context *c)
{
    return sreg(c, LW_SREG_NTID_X) * sreg(c, LW_SREG_NTID_Y) * sreg(c, LW_SREG_NTID_Z);
}

static inline uint32_t
global_of(const context *c)
{
    return block_of(c) * n_threads_of(c) + thread_of(c);
}

static inline void *
pointer(const uint64_t *values, int i)
{
    return (void *)(uintptr_t)values[i];
}

static inline uint64_t
value_of(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* ---- launching ---- */

static inline lw_sim_launch
shape(uint32_t n_blocks, uint32_t n_threads)
{
    return (lw_sim_launch){.grid = {n_blocks, 1, 1}, .block = {n_threads, 1, 1}};
}

/* Must succeed. */
static inline void
run(lw_sim_launch launch, lw_sim_single kernel, const uint64_t *values)
{
    lw_sim_result result;
    lw_error err = {0};

    launch.single = kernel;
    launch.values = values;
    if (lw_simulate(&launch, &result, &err) != LW_OK) {
        fprintf(stderr, "%s\n", lw_error_text(&err));
        n_failures++;
    }
    CHECK(result.status == 0);
    lw_error_reset(&err);
}

/* Must fail with this text in its message. */
static inline void
run_fault(lw_sim_launch launch, lw_sim_single kernel, const uint64_t *values, lw_status status,
          const char *text)
{
    lw_sim_result result;
    lw_error err = {0};

    launch.single = kernel;
    launch.values = values;
    CHECK(lw_simulate(&launch, &result, &err) == status);
    if (strstr(lw_error_text(&err), text) == NULL) {
        fprintf(stderr, "message: %s\nwanted:  %s\n", lw_error_text(&err), text);
        n_failures++;
    }
    lw_error_reset(&err);
}

#endif
