/* Kernels on the CPU: barriers, shared memory, early ends, statuses, grid_sync, many blocks
 * over threads. `test_simulator bench` measures instead. */
#include "tests/c/simulator_tests.h"

#include "core/base/env.h"
#include "core/base/memory.h"
#include "core/host/thread_pool.h"
#include "core/link/elf_loader.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* ---- indices ---- */

static int32_t
store_indices(context *c, const uint64_t *values)
{
    uint32_t *out = (uint32_t *)pointer(values, 0) + (size_t)global_of(c) * 4;

    out[0]++;
    out[1] =
        sreg(c, LW_SREG_TID_X) << 20 | sreg(c, LW_SREG_TID_Y) << 10 | sreg(c, LW_SREG_TID_Z);
    out[2] = sreg(c, LW_SREG_LANEID);
    out[3] = (uint32_t)lw_sim_lanemask_lt(c);
    return 0;
}

/* As the compiled loop over a block does. */
static int32_t
store_indices_whole(context *c, const uint64_t *values)
{
    uint32_t *t = &c->sregs[LW_SREG_TID_X];

    for (t[2] = 0; t[2] < sreg(c, LW_SREG_NTID_Z); t[2]++)
        for (t[1] = 0; t[1] < sreg(c, LW_SREG_NTID_Y); t[1]++)
            for (t[0] = 0; t[0] < sreg(c, LW_SREG_NTID_X); t[0]++) {
                c->sregs[LW_SREG_LANEID] = thread_of(c) % 32;
                lw_sim_fence(c);
                lw_sim_nanosleep(c, 10);
                store_indices(c, values);
            }
    return 0;
}

static void
check_indices(const uint32_t *out, const uint32_t *block, uint32_t n_blocks)
{
    uint32_t n = block[0] * block[1] * block[2], i, thread;

    for (i = 0; i < n_blocks * n; i++, out += 4) {
        thread = i % n;
        if (out[0] != 1 ||
            out[1] != (thread % block[0] << 20 | thread / block[0] % block[1] << 10 |
                       thread / block[0] / block[1]) ||
            out[2] != thread % 32 || out[3] != (1u << thread % 32) - 1)
            break;
    }
    CHECK(i == n_blocks * n);
}

static void
test_indices(void)
{
    static const uint32_t blocks[][3] = {{1, 1, 1}, {32, 1, 1},   {33, 1, 1},
                                         {5, 3, 7}, {1024, 1, 1}, {4, 4, 64}};
    static uint32_t out[30 * 1024 * 4];
    uint64_t values[] = {value_of(out)};
    lw_sim_launch launch = {.grid = {5, 3, 2}};
    lw_sim_result result;
    size_t i;

    for (i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        memcpy(launch.block, blocks[i], sizeof launch.block);
        memset(out, 0, sizeof out);
        launch.whole = NULL;
        run(launch, store_indices, values);
        check_indices(out, blocks[i], 30);
        memset(out, 0, sizeof out);
        launch.whole = store_indices_whole;
        launch.values = values;
        CHECK(lw_simulate(&launch, &result, NULL) == LW_OK && result.status == 0);
        check_indices(out, blocks[i], 30);
    }
}

static void
test_shapes(void)
{
    static const uint32_t bad[][6] = {{0, 1, 1, 32, 1, 1},    {1, 1, 1, 0, 1, 1},
                                      {1, 65536, 1, 1, 1, 1}, {1, 1, 1, 1025, 1, 1},
                                      {1, 1, 1, 32, 32, 2},   {1, 1, 1, 1, 1, 65},
                                      {1, 1, 70000, 1, 1, 1}, {1u << 31, 1, 1, 1, 1, 1}};
    lw_sim_launch launch = shape(1, 1);
    size_t i;

    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(launch.grid, bad[i], sizeof launch.grid);
        memcpy(launch.block, bad[i] + 3, sizeof launch.block);
        run_fault(launch, store_indices, NULL, LW_ERR_VALUE, "expected sizes of at least 1");
    }
    launch = shape(1, 1);
    launch.dynamic_bytes = UINT32_MAX;
    run_fault(launch, store_indices, NULL, LW_ERR_VALUE, "shared memory of 0 + 4294967295");
    launch = shape(1, 1);
    launch.local_bytes = UINT32_MAX;
    run_fault(launch, store_indices, NULL, LW_ERR_VALUE, "local arrays of 4294967295 bytes");
}

/* ---- barriers and shared memory ---- */

/* out[block] = sum of the block's in[] */
static int32_t
reduce_block(context *c, const uint64_t *values)
{
    const int64_t *in = pointer(values, 0);
    int64_t *out = pointer(values, 1), *sums = (int64_t *)(void *)c->shared;
    uint32_t i = thread_of(c), n = n_threads_of(c), half;

    sums[i] = in[global_of(c)];
    lw_sim_barrier(c);
    for (; n > 1; n = half) {
        half = (n + 1) / 2;
        if (i + half < n)
            sums[i] += sums[i + half];
        lw_sim_barrier(c);
    }
    if (i == 0)
        out[block_of(c)] = sums[0];
    return 0;
}

#ifdef __SANITIZE_THREAD__ /* gcc's asks for all fibers at each switch */
enum { MAX_BLOCKS = 20, MANY_BLOCKS = 1000, MANY_RAISING = 40 };
#else
enum { MAX_BLOCKS = 300, MANY_BLOCKS = 100000, MANY_RAISING = 2000 };
#endif

static void
check_reduction(uint32_t n_blocks, uint32_t x, uint32_t y, uint32_t z)
{
    static int64_t in[MAX_BLOCKS * 1024], out[MAX_BLOCKS];
    uint64_t values[] = {value_of(in), value_of(out)};
    lw_sim_launch launch = {
        .grid = {n_blocks, 1, 1}, .block = {x, y, z}, .static_bytes = x * y * z * 8};
    int64_t sum;
    uint32_t i, j;

    for (i = 0; i < n_blocks * x * y * z; i++)
        in[i] = (int64_t)i * i;
    run(launch, reduce_block, values);
    for (i = 0; i < n_blocks; i++) {
        for (sum = j = 0; j < x * y * z; j++)
            sum += in[i * x * y * z + j];
        CHECK(out[i] == sum);
    }
}

static void
test_reduction(void)
{
    check_reduction(1, 1, 1, 1);
    check_reduction(3, 7, 1, 1);
    check_reduction(20, 33, 1, 1);
    check_reduction(MAX_BLOCKS, 256, 1, 1);
    check_reduction(10, 1000, 1, 1);
    check_reduction(7, 1024, 1, 1);
    check_reduction(9, 5, 6, 7);
}

/* Threads end early, at different times; the others' barriers count those that are left. */
static int32_t
count_survivors(context *c, const uint64_t *values)
{
    int32_t *out = (int32_t *)pointer(values, 0) + block_of(c) * 8;
    uint32_t i = thread_of(c);
    int32_t n[5];

    if (i % 3 == 0)
        return 0;
    n[0] = lw_sim_barrier_count(c, 1);
    n[1] = lw_sim_barrier_count(c, i % 2 == 0);
    n[2] = lw_sim_barrier_and(c, i % 3 != 0) + 2 * lw_sim_barrier_and(c, i != 50);
    n[3] = lw_sim_barrier_or(c, 0) + 2 * lw_sim_barrier_or(c, i == 50);
    if (i != 50)
        return 0;
    n[4] = lw_sim_barrier_count(c, 1);
    memcpy(out, n, sizeof n);
    return 0;
}

static void
test_early_ends(void)
{
    static int32_t out[6 * 8];
    uint64_t values[] = {value_of(out)};
    static const int32_t expected[] = {66, 33, 1, 2, 1};
    uint32_t i;

    run(shape(6, 100), count_survivors, values);
    for (i = 0; i < 6; i++)
        CHECK(memcmp(out + i * 8, expected, sizeof expected) == 0);
}

/* Static memory (20 bytes) stays apart from dynamic memory, which is reversed into out. */
static int32_t
reverse_dynamic(context *c, const uint64_t *values)
{
    int32_t *out = pointer(values, 0), *own = (int32_t *)(void *)c->dynamic;
    uint32_t i = thread_of(c), n = n_threads_of(c);

    if ((uintptr_t)c->shared % 16 != 0 || (uintptr_t)c->dynamic % 16 != 0)
        return 1;
    if (sreg(c, LW_SREG_DYNAMIC_BYTES) != n * 4 || c->dynamic - c->shared < 20)
        return 2;
    if (values[1] && (own[i] != (int32_t)0xcdcdcdcd || (i < 20 && c->shared[i] != (char)0xcd)))
        return 3;
    lw_sim_barrier(c);
    own[i] = (int32_t)(block_of(c) * n + i);
    c->shared[i % 20] = (char)i;
    lw_sim_barrier(c);
    out[block_of(c) * n + i] = own[n - 1 - i];
    return 0;
}

static void
test_dynamic(void)
{
    static int32_t out[40 * 75];
    uint64_t values[] = {value_of(out), 0};
    lw_sim_launch launch = shape(40, 75);
    uint32_t checks, i;

    launch.static_bytes = 20;
    launch.dynamic_bytes = 75 * 4;
    for (checks = 0; checks < 2; checks++) {
        values[1] = launch.checks = checks;
        memset(out, 0, sizeof out);
        run(launch, reverse_dynamic, values);
        for (i = 0; i < 40 * 75; i++)
            if (out[i] != (int32_t)(i / 75 * 75 + 74 - i % 75))
                break;
        CHECK(i == 40 * 75);
    }
}

/* What a thread keeps in registers and on its stack is its own. */
static int32_t
keep_registers(context *c, const uint64_t *values)
{
    double *out = pointer(values, 0);
    double a = thread_of(c) * 0.5, b = a + 1, d = a * 3, sum = 0;
    volatile char big[20000];
    uint64_t x = thread_of(c), y = x * 7, z = x ^ 99;
    int i;

    big[0] = big[sizeof big - 1] = (char)x;
    for (i = 0; i < 20; i++) {
        lw_sim_barrier(c);
        sum += a * i + b - d + (double)(x + y + z);
        a += 1;
    }
    if (big[0] != (char)x || big[sizeof big - 1] != (char)x)
        return 1;
    out[global_of(c)] = sum;
    return 0;
}

static void
test_registers(void)
{
    static double out[1000];
    uint64_t values[] = {value_of(out)};
    lw_sim_launch launch = shape(4, 250);
    double a, sum, x;
    int i, k;

    launch.local_bytes = 20000;
    run(launch, keep_registers, values);
    for (i = 0; i < 1000; i++) {
        x = i % 250;
        for (sum = k = 0; k < 20; k++) {
            a = x * 0.5 + k;
            sum += a * k + (x * 0.5 + 1) - x * 0.5 * 3 +
                   (double)(i % 250 + i % 250 * 7 + (i % 250 ^ 99));
        }
        if (out[i] != sum)
            break;
    }
    CHECK(i == 1000);
}

/* ---- statuses ---- */

static int32_t
raise_some(context *c, const uint64_t *values)
{
    atomic_int *n_after = pointer(values, 0);
    uint32_t block = block_of(c);

    lw_sim_barrier(c);
    if (block >= values[1] && thread_of(c) % 100 == 37)
        return 9 + (int32_t)block;
    lw_sim_barrier(c);
    atomic_fetch_add(n_after, 1);
    return 0;
}

static int32_t
raise_whole(context *c, const uint64_t *values)
{
    uint32_t *x = &c->sregs[LW_SREG_TID_X];

    for (*x = 0; *x < sreg(c, LW_SREG_NTID_X); ++*x)
        if (block_of(c) >= values[1] && *x == 37)
            return 9 + (int32_t)block_of(c);
    return 0;
}

static void
check_raise(lw_sim_launch launch, uint32_t block)
{
    lw_sim_result result;
    lw_error err = {0};

    CHECK(lw_simulate(&launch, &result, &err) == LW_OK && err.status == LW_OK);
    CHECK(result.status == 9 + (int32_t)block);
    CHECK(result.block[0] == block % (MANY_RAISING / 40) &&
          result.block[1] == block / (MANY_RAISING / 40));
    CHECK(result.thread[0] == 37 && result.thread[1] == 0 && result.thread[2] == 0);
}

static void
test_statuses(void)
{
    atomic_int n_after = 0;
    uint64_t values[] = {value_of(&n_after), 0};
    lw_sim_launch launch = {
        .grid = {MANY_RAISING / 40, 40, 1}, .block = {256, 1, 1}, .values = values};
    static const uint32_t first[] = {0, 1, MANY_RAISING / 2, MANY_RAISING - 1};
    size_t i;

    for (i = 0; i < sizeof first / sizeof *first; i++) {
        values[1] = first[i];
        n_after = 0;
        launch.whole = NULL;
        launch.single = raise_some;
        check_raise(launch, first[i]);
        CHECK(n_after == (int)first[i] * 256);
        launch.whole = raise_whole;
        check_raise(launch, first[i]);
    }
    test_reduction(); /* stacks left in the middle serve again */
}

/* ---- the whole grid ---- */

/* Each round every block adds what all blocks had the round before. */
static int32_t
sum_grid(context *c, const uint64_t *values)
{
    int64_t *rows = pointer(values, 0), n = sreg(c, LW_SREG_NCTAID_X), sum, i, round;

    if (thread_of(c) == 3)
        return 0;
    for (round = 0; round < 3; round++) {
        if (thread_of(c) == 0) {
            for (sum = i = 0; i < n; i++)
                sum += rows[round * n + i];
            rows[(round + 1) * n + block_of(c)] = sum + block_of(c);
        }
        lw_sim_barrier(c);
        lw_sim_grid_sync(c, NULL);
    }
    return 0;
}

static int32_t
some_skip_grid_sync(context *c, const uint64_t *values)
{
    (void)values;
    if (block_of(c) != 2)
        lw_sim_grid_sync(c, NULL);
    return 0;
}

static void
test_grid_sync(void)
{
    static int64_t rows[4 * 60];
    uint64_t values[] = {value_of(rows)};
    int64_t sum, round;
    uint32_t n_blocks, i;

    for (n_blocks = 1; n_blocks <= 60; n_blocks += 59) {
        memset(rows, 0, sizeof rows);
        for (i = 0; i < n_blocks; i++)
            rows[i] = i + 1;
        run(shape(n_blocks, 100), sum_grid, values);
        for (round = 0; round < 3; round++) {
            for (sum = i = 0; i < n_blocks; i++)
                sum += rows[round * n_blocks + i];
            for (i = 0; i < n_blocks; i++)
                CHECK(rows[(round + 1) * n_blocks + i] == sum + i);
        }
    }
    run_fault(shape(4, 8), some_skip_grid_sync, NULL, LW_ERR_KERNEL,
              "block (0, 0, 0) waits at grid.sync() for ever: block (2, 0, 0) has ended");
    run_fault(shape(LW_SIM_RESIDENT / 64 + 1, 64), some_skip_grid_sync, NULL, LW_ERR_VALUE,
              "at most 16384: 257 blocks of 64 threads are more");
}

/* ---- many blocks, many callers ---- */

static int32_t
count_threads(context *c, const uint64_t *values)
{
    atomic_uint_fast64_t *sums = pointer(values, 0);

    lw_sim_barrier(c);
    if (thread_of(c) == 0)
        atomic_fetch_add(&sums[block_of(c) % 8], (uint64_t)block_of(c) + 1);
    return 0;
}

static void *
launch_many(void *unused)
{
    atomic_uint_fast64_t sums[8] = {0};
    uint64_t values[] = {value_of(sums)}, total = 0;
    int i;

    (void)unused;
    run(shape(MANY_BLOCKS, 8), count_threads, values);
    for (i = 0; i < 8; i++)
        total += sums[i];
    CHECK(total == (uint64_t)MANY_BLOCKS * (MANY_BLOCKS + 1) / 2);
    return NULL;
}

static lw_status
launch_in_loop(void *unused, int64_t begin, int64_t end, uint32_t worker)
{
    (void)begin, (void)end, (void)worker;
    launch_many(unused);
    return LW_OK;
}

static void
test_many(void)
{
    pthread_t threads[3];
    int i;

    launch_many(NULL);
    for (i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, launch_many, NULL) == 0);
    for (i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK(lw_parallel_for(4, 1, launch_in_loop, NULL) == LW_OK);
}

static void
test_memory(void)
{
    uint64_t values[] = {0, UINT32_MAX};
    lw_sim_launch launch = shape(3, 64);
    lw_sim_result result;
    lw_error err = {0};
    int64_t live = lw_memory_live();

    launch.whole = raise_whole;
    launch.values = values;
    lw_memory_fail_at(0);
    CHECK(lw_simulate(&launch, &result, &err) == LW_ERR_OUT_OF_MEMORY);
    lw_memory_fail_at(-1);
    lw_error_reset(&err);
    CHECK(lw_simulate(&launch, &result, &err) == LW_OK);
    launch.whole = NULL;
    launch.single = some_skip_grid_sync;
    lw_memory_fail_at(0);
    CHECK(lw_simulate(&launch, &result, &err) == LW_ERR_OUT_OF_MEMORY);
    lw_memory_fail_at(-1);
    lw_error_reset(&err);
    CHECK(lw_memory_live() == live);
}

static void
test_register(void)
{
    lw_simulator_register();
    CHECK(lw_extern_symbol("lw_sim_barrier") == (void *)(uintptr_t)lw_sim_barrier);
    CHECK(lw_extern_symbol("lw_sim_match_all64") == (void *)(uintptr_t)lw_sim_match_all64);
}

/* ---- measuring ---- */

static double
now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int32_t
many_barriers(context *c, const uint64_t *values)
{
    uint64_t i;

    for (i = 0; i < values[0]; i++)
        lw_sim_barrier(c);
    return 0;
}

static int32_t
many_shuffles(context *c, const uint64_t *values)
{
    uint64_t i;
    int32_t x = 1;

    for (i = 0; i < values[0]; i++)
        x += lw_sim_shfl_xor(c, FULL, x, 1, 31);
    return x == 5;
}

static double
best_of(lw_sim_launch launch, lw_sim_single kernel, const uint64_t *values)
{
    double best = 1e9, start, spent;
    int i;

    for (i = 0; i < 7; i++) {
        start = now();
        run(launch, kernel, values);
        spent = now() - start;
        best = spent < best ? spent : best;
    }
    return best;
}

static void
bench(void)
{
    static int64_t in[2000 * 256], out[2000];
    uint64_t values[] = {value_of(in), value_of(out)}, n[] = {1000};
    lw_sim_launch launch = shape(2000, 256);
    uint32_t threads;

    for (threads = 32; threads <= 1024; threads *= 2)
        printf("%4u threads: %.1f ns a barrier and thread, %.1f ns a shuffle and thread\n",
               threads, best_of(shape(1, threads), many_barriers, n) * 1e9 / 1000 / threads,
               best_of(shape(1, threads), many_shuffles, n) * 1e9 / 1000 / threads);
    launch.static_bytes = 256 * 8;
    printf("2000 block reductions of 256 threads, 9 barriers: %.2f us each, %u pool threads\n",
           best_of(launch, reduce_block, values) * 1e6 / 2000, lw_host_threads());
    launch.grid[0] = 1;
    printf("one such launch: %.2f us\n", best_of(launch, reduce_block, values) * 1e6);
}

int
main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "bench") == 0) {
        bench();
        return 0;
    }
    test_indices();
    test_shapes();
    test_reduction();
    test_early_ends();
    test_dynamic();
    test_registers();
    test_statuses();
    test_grid_sync();
    test_many();
    test_memory();
    test_register();
    lw_thread_pool_stop();
    printf("%s\n", n_failures ? "FAILED" : "ok");
    return n_failures != 0;
}
