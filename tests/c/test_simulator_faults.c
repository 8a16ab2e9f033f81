/* Kernels on the CPU that go wrong: faults and their messages, races. */
#include "tests/c/simulator_tests.h"

#include "core/host/thread_pool.h"

/* ---- faults ---- */

static int32_t
diverge(context *c, const uint64_t *values)
{
    (void)values;
    c->line = thread_of(c) < 3 ? 7 : 9;
    lw_sim_barrier(c);
    return 0;
}

/* The same line from two places is one barrier: a compiler may have copied the call. */
static int32_t
same_line(context *c, const uint64_t *values)
{
    (void)values;
    c->line = 12;
    if (thread_of(c) < 3)
        lw_sim_barrier(c);
    else
        lw_sim_barrier(c);
    return 0;
}

static int32_t
barrier_and_warp(context *c, const uint64_t *values)
{
    (void)values;
    c->line = 1;
    if (thread_of(c) % 2 == 0)
        lw_sim_syncwarp(c, FULL);
    else
        lw_sim_barrier(c);
    return 0;
}

static int32_t
different_barriers(context *c, const uint64_t *values)
{
    (void)values;
    if (thread_of(c) == 33)
        lw_sim_barrier_or(c, 1);
    else
        lw_sim_barrier_and(c, 1);
    return 0;
}

static int32_t
mask_lacks_caller(context *c, const uint64_t *values)
{
    (void)values;
    c->line = 4;
    lw_sim_ballot(c, 0xff, 1);
    return 0;
}

static int32_t
read_absent(context *c, const uint64_t *values)
{
    (void)values;
    lw_sim_shfl_down(c, FULL, 1, 16, 31);
    return 0;
}

static int32_t
read_unnamed(context *c, const uint64_t *values)
{
    (void)values;
    if (thread_of(c) < 4)
        lw_sim_shfl_idx(c, 0xf, 1, 6, 31);
    return 0;
}

static int32_t
different_masks(context *c, const uint64_t *values)
{
    (void)values;
    lw_sim_ballot(c, thread_of(c) == 5 ? FULL : 0xffff, 1);
    return 0;
}

static void
test_faults(void)
{
    uint32_t i;

    run_fault(shape(2, 4), diverge, NULL, LW_ERR_KERNEL,
              "block (0, 0, 0): threads wait at different barriers: thread (0, 0, 0) and 2 "
              "others wait at syncthreads() in line 7; "
              "thread (3, 0, 0) waits at syncthreads() in line 9");
    run(shape(2, 40), same_line, NULL);
    run_fault(shape(1, 64), barrier_and_warp, NULL, LW_ERR_KERNEL,
              "block (0, 0, 0): threads wait for each other for ever: thread (0, 0, 0) and 31 "
              "others wait at syncwarp(0xffffffff) in line 1; thread (1, 0, 0) and 31 others "
              "wait at syncthreads() in line 1");
    run_fault(shape(1, 64), different_barriers, NULL, LW_ERR_KERNEL,
              "and 62 others wait at syncthreads_and(); thread (33, 0, 0) waits at "
              "syncthreads_or()");
    run_fault(shape(1, 64), mask_lacks_caller, NULL, LW_ERR_KERNEL,
              "block (0, 0, 0), thread (8, 0, 0) at ballot_sync(0xff, ...) in line 4: the mask "
              "lacks the caller, lane 8");
    run_fault(shape(1, 40), read_absent, NULL, LW_ERR_KERNEL,
              "block (0, 0, 0), thread (32, 0, 0) at shfl_down_sync(0xffffffff, ...): lane 0 "
              "reads lane 16, which has ended or is not in the block");
    run_fault(shape(1, 40), read_unnamed, NULL, LW_ERR_KERNEL,
              "lane 0 reads lane 6, which is not in the mask");
    run_fault(shape(1, 16), different_masks, NULL, LW_ERR_KERNEL,
              "thread (5, 0, 0) waits at ballot_sync(0xffffffff, ...)");
    for (i = 0; i < 3; i++) /* among many blocks the lowest is told of */
        run_fault(shape(1000, 64), barrier_and_warp, NULL, LW_ERR_KERNEL, "block (0, 0, 0): ");
}

/* ---- races ---- */

static int32_t *
cell(context *c, uint32_t i, lw_sim_access_kind kind, uint32_t line)
{
    int32_t *all = (int32_t *)(void *)c->shared;

    c->line = line;
    lw_sim_access(c, all + i, 4, (int32_t)kind);
    return all + i;
}

/* values: whether to wait between write and read, between read and the next write */
static int32_t
pass_on(context *c, const uint64_t *values)
{
    int32_t *out = pointer(values, 0), x;
    uint32_t i = thread_of(c), n = n_threads_of(c), round;

    for (round = 0; round < 3; round++) {
        *cell(c, i, LW_SIM_WRITE, 3) = (int32_t)(i + round);
        c->line = 4;
        if (values[1])
            lw_sim_barrier(c);
        x = *cell(c, (i + 1) % n, LW_SIM_READ, 5);
        out[global_of(c)] = x;
        c->line = 6;
        if (values[2])
            lw_sim_barrier(c);
    }
    return 0;
}

static int32_t
count_atomically(context *c, const uint64_t *values)
{
    uint32_t i = thread_of(c);

    if (i == 0)
        *cell(c, 0, LW_SIM_WRITE, 1) = 0;
    if (values[0]) {
        c->line = 2;
        lw_sim_barrier(c);
    }
    __atomic_fetch_add(cell(c, 0, LW_SIM_ATOMIC, 3), 1, __ATOMIC_RELAXED);
    c->line = 4;
    lw_sim_barrier(c);
    return *cell(c, 0, LW_SIM_READ, 5) != (int32_t)n_threads_of(c);
}

/* Neighbouring bytes are no race; neighbours of a warp may do with syncwarp. */
static int32_t
bytes_and_warps(context *c, const uint64_t *values)
{
    uint32_t i = thread_of(c);
    char *dynamic = c->dynamic;

    c->line = 8;
    lw_sim_access(c, dynamic + i, 1, LW_SIM_WRITE);
    dynamic[i] = (char)i;
    if (values[0])
        lw_sim_syncwarp(c, FULL);
    i = i / 32 * 32 + (i + 1) % 32; /* all warps are full */
    c->line = 9;
    lw_sim_access(c, dynamic + i, 1, LW_SIM_READ);
    return values[0] && dynamic[i] != (char)i;
}

/* No barrier at all: threads of a block one after the other. */
static int32_t
race_whole(context *c, const uint64_t *values)
{
    uint32_t *x = &c->sregs[LW_SREG_TID_X];

    for (*x = 0; *x < sreg(c, LW_SREG_NTID_X); ++*x)
        *cell(c, values[0] ? *x : *x / 10, LW_SIM_WRITE, 11) = 1;
    return 0;
}

static void
test_races(void)
{
    static int32_t out[20 * 96];
    uint64_t values[] = {value_of(out), 1, 1}, wait[] = {1};
    lw_sim_launch launch = shape(20, 96);

    launch.checks = true;
    launch.static_bytes = 96 * 4;
    launch.dynamic_bytes = 96;
    run(launch, pass_on, values);
    values[1] = 0;
    run_fault(launch, pass_on, values, LW_ERR_KERNEL,
              "block (0, 0, 0): race on shared memory: thread (1, 0, 0) writes 4 bytes at "
              "offset 4 in line 3, which thread (0, 0, 0) read in line 5: there is no barrier "
              "between");
    values[1] = 1, values[2] = 0;
    run_fault(launch, pass_on, values, LW_ERR_KERNEL,
              "thread (1, 0, 0) writes 4 bytes at offset 4 in line 3, which thread (0, 0, 0) "
              "read in line 5");
    launch.checks = false;
    run(launch, pass_on, values);
    launch.checks = true;
    run(launch, count_atomically, wait);
    run(launch, bytes_and_warps, wait);
    wait[0] = 0;
    run_fault(launch, count_atomically, wait, LW_ERR_KERNEL,
              "thread (1, 0, 0) changes (atomically) 4 bytes at offset 0 in line 3, which "
              "thread (0, 0, 0) wrote in line 1");
    run_fault(launch, bytes_and_warps, wait, LW_ERR_KERNEL,
              "thread (1, 0, 0) writes 1 byte at offset 385 in line 8, which thread (0, 0, 0) "
              "read in line 9");
    launch.whole = race_whole;
    run_fault(launch, NULL, wait, LW_ERR_KERNEL,
              "thread (1, 0, 0) writes 4 bytes at offset 0 in line 11, which thread (0, 0, 0) "
              "wrote in line 11");
    wait[0] = 1;
    run(launch, NULL, wait);
}

int
main(void)
{
    test_faults();
    test_races();
    lw_thread_pool_stop();
    printf("%s\n", n_failures ? "FAILED" : "ok");
    return n_failures != 0;
}
