/* A block under way, shared by simulator.c (blocks over the pool), simulator_memory.c,
 * simulator_threads.c (its threads, and what they wait for) and simulator_warp.c (what lanes do
 * together). */
#ifndef LW_HOST_SIMULATOR_INTERNAL_H
#define LW_HOST_SIMULATOR_INTERNAL_H

#include "core/host/fiber.h"
#include "core/host/simulator.h"
#include "core/tables/kernel_ops.h"

enum { SIM_WARP = 32, SIM_MAX_THREADS = 1024, SIM_MAX_WARPS = SIM_MAX_THREADS / SIM_WARP };

/* What a thread waits at: a row of kernel_ops.def, or the plain barrier. */
enum { SIM_BARRIER = LW_N_KERNEL_OPS, SIM_N_WAITS };

typedef struct sim_block sim_block;

/* Which thread accessed which byte of a block's shared memory (simulator_race.c). Times count
 * barriers and syncwarps from 1, and are not reset between blocks. */
typedef struct sim_shadow {
    struct sim_cell *cells; /* [n_bytes]; NULL until the first access */
    uint32_t n_bytes;
    uint32_t time, barrier_time;
    uint32_t warp_time[SIM_MAX_WARPS];
    lw_error error; /* the first race */
} sim_shadow;

/* It is at the top of its stack: one page holds everything that a switch touches. */
typedef struct sim_thread {
    lw_kernel_context context; /* must be first: compiled code hands it back to us */
    uint32_t index;            /* in the block, x fastest */
    sim_block *block;          /* NULL: not a fiber, of a `whole` kernel */
    sim_shadow *shadow;        /* NULL: accesses are not checked */
    lw_fiber fiber;
    /* what it waits for; meaningful while it is neither ready nor ended */
    uint32_t wait, mask;
    uint64_t value;
    uint32_t operand, clamp;
    uint32_t result;
    uint32_t n_fences;
} sim_thread;

/* Bits are lanes. A lane that is alive and in none of the other sets waits at a barrier. */
typedef struct sim_warp {
    uint32_t alive;
    uint32_t ready;
    uint32_t gathering; /* wait in a warp operation for other lanes */
    uint32_t asking;    /* wait in activemask */
} sim_warp;

typedef enum sim_outcome {
    SIM_ENDED,
    SIM_SUSPENDED, /* all threads wait in grid_sync, or all in cluster_sync */
    SIM_RAISED,    /* `raiser` raised `status` */
    SIM_FAULT,     /* synchronisation failed: `error` */
} sim_outcome;

struct sim_block {
    const lw_sim_launch *launch;
    lw_fiber home;
    uint32_t index[3]; /* in the grid */
    uint32_t n_threads, n_warps;
    uint32_t n_alive;
    uint32_t ready_warps; /* bits: warps with a ready lane */
    sim_warp warps[SIM_MAX_WARPS];

    sim_thread *first;           /* the first thread to arrive at the current barrier */
    uint32_t n_arrived, n_true;  /* arrivals at the current barrier */
    bool divergent;              /* some threads arrived at another barrier */
    uint32_t n_passed, was_true; /* of the barrier that opened last */
    uint32_t n_at_grid, n_at_cluster;

    struct sim_block *const *peers; /* the blocks of the cluster by rank; NULL: it is alone */
    uint32_t rank, n_peers;

    sim_shadow shadow; /* under checks */
    int32_t status;
    sim_thread *raiser;
    lw_error error;

    /* memory: one mapping, which begins with this struct */
    char *shared;
    size_t shared_bytes;
    char *stacks; /* [capacity] of stride bytes, each a guard page and a stack */
    size_t stack_bytes, stride, mapped_bytes;
    uint32_t capacity; /* threads */
    uint32_t n_started;
};

#define SIM_THREAD_BYTES ((sizeof(sim_thread) + 63) & ~(size_t)63)

/* The structs begin at different offsets in their topmost page: at the same offset they would
 * all map to the same few sets of the first-level cache. */
static inline sim_thread *
sim_thread_at(const sim_block *block, uint32_t index)
{
    size_t color = (index & 15) * 256;

    return (sim_thread *)(block->stacks + (index + 1) * block->stride - color -
                          SIM_THREAD_BYTES);
}

static inline sim_thread *
sim_lane(const sim_block *block, uint32_t warp, uint32_t lane)
{
    return sim_thread_at(block, warp * SIM_WARP + lane);
}

static inline uint32_t
sim_lowest(uint32_t bits)
{
    return (uint32_t)__builtin_ctz(bits);
}

/* The thread's index in its block, x fastest; also for threads of `whole` kernels. */
static inline uint32_t
sim_linear_index(const lw_kernel_context *context)
{
    const uint32_t *s = context->sregs;
    uint32_t row = s[LW_SREG_TID_Z] * s[LW_SREG_NTID_Y] + s[LW_SREG_TID_Y];

    return row * s[LW_SREG_NTID_X] + s[LW_SREG_TID_X];
}

/* Called before a block with n_bytes of shared memory; reuses memory where it can. */
void sim_shadow_begin(sim_shadow *shadow, uint32_t n_bytes);
void sim_shadow_free(sim_shadow *shadow);

static inline void
sim_shadow_barrier(sim_shadow *shadow)
{
    shadow->barrier_time = ++shadow->time;
}

/* Runs the block's threads from their beginning, or from the grid_sync in which they wait. */
sim_outcome sim_run_threads(sim_block *block);
sim_outcome sim_resume_threads(sim_block *block);

/* ---- simulator_memory.c ---- */

/* The most that a function may ask for, which is at most a page. */
enum { SIM_SHARED_ALIGN = 4096 };

/* The stack that the launch asks for; a block that is used again may have more. */
size_t sim_stack_bytes(const lw_sim_launch *launch);
/* Static and dynamic shared memory of a block, in bytes. */
size_t sim_shared_bytes(const lw_sim_launch *launch);
/* Threads of a block; blocks of a cluster, at least 1. */
uint32_t sim_n_threads(const lw_sim_launch *launch);
uint32_t sim_n_cluster(const lw_sim_launch *launch);
/* A block with memory for the launch, from those that are kept or new. NULL: there is no
 * memory, or (unless it must be made) too many stacks exist. */
sim_block *sim_block_take(const lw_sim_launch *launch, bool must);
/* Keeps it for the next launch. */
void sim_block_put(sim_block *block);
/* Sets what is the same for all blocks of the launch. */
void sim_bind(sim_block *block, const lw_sim_launch *launch, sim_thread *thread,
              uint32_t index);
void sim_bind_memory(lw_kernel_context *context, const lw_sim_launch *launch, char *shared);

/* ---- simulator_threads.c: who runs next ---- */

/* Lanes of the warp become ready. */
void sim_wake(sim_block *block, uint32_t warp, uint32_t lanes);
void sim_unready(sim_block *block, uint32_t warp, uint32_t lane);
/* Called when the thread is no longer ready, or has been made ready again by what it
 * completed. */
void sim_leave(sim_thread *thread);
/* Lets the other threads run while this one stays ready, for loops that spin. */
void sim_give_way(sim_thread *thread);
/* Fails because of one thread, and ends the block. Called by any thread of the block. */
_Noreturn void sim_fault(sim_block *block, sim_thread *caller, const sim_thread *guilty,
                         const char *format, ...);

/* ---- simulator_warp.c ---- */

/* Performs the operation in which `thread` waits, if all living lanes of its mask have
 * arrived. */
void sim_try_operation(sim_block *block, sim_thread *caller, const sim_thread *thread);

#endif
