/* Warps on the CPU: shuffles, votes, masks, lanes that wait for others. */
#include "tests/c/simulator_tests.h"

#include "core/host/thread_pool.h"

/* Inclusive sums over segments of `width` lanes; the last warp is not full. */
static int32_t
scan_warp(context *c, const uint64_t *values)
{
    int32_t *out = pointer(values, 0), x = (int32_t)(global_of(c) * 7 % 23), y;
    int32_t width = (int32_t)values[1], segment = (32 - width) << 8, d;

    for (d = 1; d < width; d *= 2) {
        y = lw_sim_shfl_up(c, FULL, x, d, segment);
        if ((int32_t)sreg(c, LW_SREG_LANEID) % width >= d)
            x += y;
    }
    out[global_of(c)] = x;
    return 0;
}

static void
test_scan(void)
{
    static int32_t out[200];
    uint64_t values[] = {value_of(out), 0};
    int32_t width, i, sum = 0;

    for (width = 1; width <= 32; width *= 2) {
        values[1] = (uint64_t)width;
        run(shape(2, 100), scan_warp, values);
        for (i = 0; i < 200; i++) {
            sum = i % 100 % 32 % width == 0 ? 0 : sum;
            sum += i * 7 % 23;
            if (out[i] != sum)
                break;
        }
        CHECK(i == 200);
    }
}

static int32_t
shuffle_once(context *c, const uint64_t *values)
{
    int32_t *out = pointer(values, 0), x = (int32_t)thread_of(c) + 100;
    int32_t b = (int32_t)values[2], w = (int32_t)values[3];
    int32_t clamp = (32 - w) << 8 | (values[1] == 1 ? 0 : 31);

    switch (values[1]) {
    case 0: x = lw_sim_shfl_idx(c, FULL, x, b, clamp); break;
    case 1: x = lw_sim_shfl_up(c, FULL, x, b, clamp); break;
    case 2: x = lw_sim_shfl_down(c, FULL, x, b, clamp); break;
    default: x = lw_sim_shfl_xor(c, FULL, x, b, clamp); break;
    }
    out[thread_of(c)] = x - 100;
    return 0;
}

/* From CUDA's description, in terms of the width. */
static int
expected_source(int kind, int lane, int b, int w)
{
    switch (kind) {
    case 0: return lane / w * w + b % w;
    case 1: return lane % w - b >= 0 ? lane - b : lane;
    case 2: return lane % w + b < w ? lane + b : lane;
    default: return (lane ^ b) < lane / w * w + w ? lane ^ b : lane;
    }
}

static void
test_shuffles(void)
{
    static int32_t out[32];
    uint64_t values[] = {value_of(out), 0, 0, 0};
    int kind, b, w, i;

    for (kind = 0; kind < 4; kind++)
        for (w = 1; w <= 32; w *= 2)
            for (b = 0; b < 32; b += 1 + b / 4) {
                values[1] = (uint64_t)kind;
                values[2] = (uint64_t)b;
                values[3] = (uint64_t)w;
                run(shape(1, 32), shuffle_once, values);
                for (i = 0; i < 32; i++)
                    if (out[i] != expected_source(kind, i, b, w))
                        break;
                CHECK(i == 32);
            }
}

static int32_t
vote(context *c, const uint64_t *values)
{
    uint32_t *out = (uint32_t *)pointer(values, 0) + (size_t)thread_of(c) * 12;
    int32_t lane = (int32_t)sreg(c, LW_SREG_LANEID), odd = lane & 1;
    int32_t mask = odd ? (int32_t)0xaaaaaaaa : 0x55555555;

    if (odd) { /* the halves never meet, and come from different places */
        out[0] = (uint32_t)lw_sim_ballot(c, mask, lane > 10);
        out[1] = (uint32_t)lw_sim_vote_all(c, mask, lane > 10);
    } else {
        out[0] = (uint32_t)lw_sim_ballot(c, mask, lane < 4);
        out[1] = (uint32_t)lw_sim_vote_all(c, mask, 1);
    }
    out[2] = (uint32_t)lw_sim_vote_any(c, FULL, lane == 5);
    out[3] = (uint32_t)lw_sim_vote_any(c, FULL, lane == 50);
    out[4] = (uint32_t)lw_sim_vote_eq(c, mask, odd);
    out[5] = (uint32_t)lw_sim_vote_eq(c, FULL, odd);
    out[6] = (uint32_t)lw_sim_match_any32(c, FULL, lane / 8 * 1000);
    out[7] = (uint32_t)lw_sim_match_any64(c, mask, ((int64_t)(lane / 8) << 40) + 3);
    out[8] = (uint32_t)lw_sim_match_all32(c, mask, odd - 5);
    out[9] = (uint32_t)lw_sim_match_all32(c, FULL, odd);
    out[10] = (uint32_t)lw_sim_match_all64(c, FULL, INT64_MIN);
    out[11] = (uint32_t)lw_sim_match_all64(c, FULL, (int64_t)odd << 32);
    lw_sim_syncwarp(c, FULL);
    return 0;
}

static void
test_votes(void)
{
    static uint32_t out[52 * 12];
    uint64_t values[] = {value_of(out)};
    uint32_t i, lane, odd, live, mask, *o = out;

    run(shape(1, 52), vote, values); /* 20 lanes in the second warp */
    for (i = 0; i < 52; i++, o += 12) {
        lane = i % 32;
        odd = lane & 1;
        live = i < 32 ? 0xffffffff : 0xfffff;
        mask = (odd ? 0xaaaaaaaa : 0x55555555) & live;
        CHECK(o[0] == ((odd ? 0xfffff800 : 0xf) & mask) && o[1] == !odd);
        CHECK(o[2] == 1 && o[3] == 0 && o[4] == 1 && o[5] == 0);
        CHECK(o[6] == (0xffu << lane / 8 * 8 & live));
        CHECK(o[7] == (0xffu << lane / 8 * 8 & mask));
        CHECK(o[8] == mask && o[9] == 0 && o[10] == live && o[11] == 0);
    }
}

static int32_t
ask_active(context *c, const uint64_t *values)
{
    uint32_t *out = (uint32_t *)pointer(values, 0) + thread_of(c) * 2;
    uint32_t lane = sreg(c, LW_SREG_LANEID);

    if (lane % 4 == 3)
        return 0;
    c->line = 20 + lane % 2; /* of the two branches */
    out[0] = (uint32_t)lw_sim_activemask(c);
    out[1] = (uint32_t)lw_sim_ballot(c, (int32_t)out[0], 1);
    c->line = 30;
    lw_sim_barrier(c);
    return 0;
}

static void
test_activemask(void)
{
    static uint32_t out[64 * 2];
    uint64_t values[] = {value_of(out)};
    uint32_t i, expected;

    run(shape(1, 64), ask_active, values);
    for (i = 0; i < 64; i++) {
        expected = i % 4 == 3 ? 0 : i % 2 == 0 ? 0x55555555 : 0x11111111 << 1;
        CHECK(out[i * 2] == expected && out[i * 2 + 1] == expected);
    }
}

/* Masks that overlap, one after the other: {0, 1}, {0, 2}, … */
static int32_t
meet_in_turn(context *c, const uint64_t *values)
{
    int32_t *out = pointer(values, 0), lane = (int32_t)thread_of(c), i, x = 0;

    if (lane > 0) {
        out[lane] = lw_sim_shfl_idx(c, (int32_t)(1 | 1u << lane), lane, 0, 31);
        return 0;
    }
    for (i = 1; i < 32; i++)
        x += lw_sim_shfl_idx(c, (int32_t)(1 | 1u << i), 7 * i, i, 31);
    out[0] = x;
    return 0;
}

static void
test_overlapping_masks(void)
{
    static int32_t out[32];
    uint64_t values[] = {value_of(out)};
    int i;

    run(shape(1, 32), meet_in_turn, values);
    CHECK(out[0] == 31 * 32 / 2);
    for (i = 1; i < 32; i++)
        CHECK(out[i] == 7 * i);
}

/* Lane 0 waits for lanes that end; 40 spins until 3 of the other warp has written. */
static int32_t
wait_for_others(context *c, const uint64_t *values)
{
    volatile int32_t *flag = (volatile int32_t *)(void *)c->shared;
    int32_t *out = pointer(values, 0);
    uint32_t i = thread_of(c);

    if (i == 0)
        *flag = 0;
    lw_sim_barrier(c);
    if (i == 1)
        while (*flag == 0)
            lw_sim_nanosleep(c, 100);
    if (i == 2)
        while (*flag == 0)
            lw_sim_fence(c);
    if (i == 40)
        *flag = 5;
    if (i > 2)
        return 0;
    out[i] = lw_sim_ballot(c, FULL, 1);
    out[i] += *flag;
    return 0;
}

static void
test_spinning(void)
{
    static int32_t out[3];
    uint64_t values[] = {value_of(out)};
    lw_sim_launch launch = shape(1, 64);

    launch.static_bytes = 4;
    run(launch, wait_for_others, values);
    CHECK(out[0] == 12 && out[1] == 12 && out[2] == 12);
}

int
main(void)
{
    test_scan();
    test_shuffles();
    test_votes();
    test_activemask();
    test_overlapping_masks();
    test_spinning();
    lw_thread_pool_stop();
    printf("%s\n", n_failures ? "FAILED" : "ok");
    return n_failures != 0;
}
