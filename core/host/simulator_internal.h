/* A block under way, shared by simulator.c (memory, blocks over the pool) and
 * simulator_threads.c (its threads and what they wait for). */
#ifndef LW_HOST_SIMULATOR_INTERNAL_H
#define LW_HOST_SIMULATOR_INTERNAL_H

#include "core/host/fiber.h"
#include "core/host/simulator.h"
#include "core/tables/kernel_ops.h"

enum { SIM_WARP = 32, SIM_MAX_THREADS = 1024, SIM_MAX_WARPS = SIM_MAX_THREADS / SIM_WARP };

/* What a thread waits at: a row of kernel_ops.def, or the plain barrier. */
enum { SIM_BARRIER = LW_N_KERNEL_OPS, SIM_N_WAITS };

typedef struct sim_block sim_block;

/* Who accessed which byte of a block's shared memory (simulator_race.c). Times count barriers
 * and syncwarps, from 1, and go on from block to block. */
typedef struct sim_shadow {
    struct sim_cell *cells; /* [n_bytes]; NULL until the first access */
    uint32_t n_bytes;
    uint32_t time, barrier_time;
    uint32_t warp_time[SIM_MAX_WARPS];
    lw_error error; /* the first race */
} sim_shadow;

/* Lies at the top of its stack: one page for what a switch touches. */
typedef struct sim_thread {
    lw_kernel_context context; /* first: compiled code hands it back to us */
    uint32_t index;            /* in the block, x fastest */
    sim_block *block;          /* NULL: not a fiber, of a `whole` kernel */
    sim_shadow *shadow;        /* NULL: accesses are not looked at */
    lw_fiber fiber;
    /* what it waits for; meaningful while it is neither ready nor ended */
    uint32_t wait, mask;
    uint64_t value;
    uint32_t operand, clamp;
    uint32_t result;
    uint32_t n_fences;
} sim_thread;

/* Bits are lanes. A lane that is alive and in none of the others waits at a barrier. */
typedef struct sim_warp {
    uint32_t alive;
    uint32_t ready;
    uint32_t gathering; /* in a warp operation, for lanes that have not come */
    uint32_t asking;    /* in activemask */
} sim_warp;

typedef enum sim_outcome {
    SIM_ENDED,
    SIM_SUSPENDED, /* all threads wait in grid_sync */
    SIM_RAISED,    /* `status` of `raiser` */
    SIM_FAULT,     /* `error` */
} sim_outcome;

struct sim_block {
    const lw_sim_launch *launch;
    lw_fiber home;
    uint32_t index[3]; /* in the grid */
    uint32_t n_threads, n_warps;
    uint32_t n_alive;
    uint32_t ready_warps; /* bits: warps with a ready lane */
    sim_warp warps[SIM_MAX_WARPS];

    sim_thread *first;           /* to come to the barrier that now gathers */
    uint32_t n_arrived, n_true;  /* of it */
    bool divergent;              /* some came to another one */
    uint32_t n_passed, was_true; /* of the last one that opened */
    uint32_t n_at_grid;

    sim_shadow shadow; /* under checks */
    int32_t status;
    sim_thread *raiser;
    lw_error error;

    /* memory: one mapping, with this struct at its start */
    char *shared;
    size_t shared_bytes;
    char *stacks; /* [capacity] of stride bytes, each a guard page and a stack */
    size_t stack_bytes, stride, mapped_bytes;
    uint32_t capacity; /* threads */
    uint32_t n_started;
};

#define SIM_THREAD_BYTES ((sizeof(sim_thread) + 63) & ~(size_t)63)

/* Threads begin at different places in their topmost page: at the same one they would all fall
 * into the same few sets of the first-level cache. */
static inline sim_thread *
sim_thread_at(const sim_block *block, uint32_t index)
{
    size_t color = (index & 15) * 256;

    return (sim_thread *)(block->stacks + (index + 1) * block->stride - color -
                          SIM_THREAD_BYTES);
}

/* In its block, x fastest: also of a `whole` kernel's thread. */
static inline uint32_t
sim_linear_index(const lw_kernel_context *context)
{
    const uint32_t *s = context->sregs;
    uint32_t row = s[LW_SREG_TID_Z] * s[LW_SREG_NTID_Y] + s[LW_SREG_TID_Y];

    return row * s[LW_SREG_NTID_X] + s[LW_SREG_TID_X];
}

/* Before a block with so much shared memory; keeps what it can. */
void sim_shadow_begin(sim_shadow *shadow, uint32_t n_bytes);
void sim_shadow_free(sim_shadow *shadow);

static inline void
sim_shadow_barrier(sim_shadow *shadow)
{
    shadow->barrier_time = ++shadow->time;
}

/* Start the threads anew that the block's last run left in the middle, or that never ran. */
void sim_start_threads(sim_block *block);
/* Run the block's threads from their beginning, or from the grid_sync they wait in. */
sim_outcome sim_run_threads(sim_block *block);
sim_outcome sim_resume_threads(sim_block *block);

#endif
