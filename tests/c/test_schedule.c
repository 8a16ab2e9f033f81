/* The schedule of work on the host: every piece is run once, whatever is known of its cost, in
 * multiples of a unit; costs are learnt; who raises ends a part, and who stops ends all, also
 * where compiled code would ask and while the caller waits for other threads. */
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/host/schedule.h"
#include "core/host/thread_pool.h"
#include "core/link/elf_loader.h"
#include "tests/c/check.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 100000 };

typedef struct seen {
    uint8_t runs[MOST];
    int64_t n, unit;
    int64_t piece_ns; /* how long a piece takes */
    int64_t bad;      /* the piece that raises; -1: none */
    atomic_bool odd;  /* a call without whole units that is not the last */
    atomic_int n_calls;
} seen;

static void
work_for(int64_t ns)
{
    int64_t end = lw_now_ns() + ns;

    while (ns > 0 && lw_now_ns() < end)
        continue;
}

static bool
run_some(void *context, int64_t begin, int64_t end)
{
    seen *s = context;

    s->n_calls++;
    if (end < s->n && (end - begin) % s->unit != 0)
        s->odd = true;
    for (int64_t i = begin; i < end; i++) {
        s->runs[i]++;
        work_for(s->piece_ns);
        if (i == s->bad)
            return false;
    }
    return true;
}

static bool
never(void *context)
{
    (void)context;
    return false;
}

static void
check_run(int64_t n, int64_t unit, bool steady, int64_t piece_ns, _Atomic uint32_t *cost_ps)
{
    static seen s;
    lw_stop stop = {.ask = never};
    lw_work work = {.n = n,
                    .body = run_some,
                    .context = &s,
                    .cost_ps = cost_ps,
                    .unit = unit,
                    .line = 4 * unit,
                    .steady = steady,
                    .stop = n % 2 ? &stop : NULL};

    memset(&s, 0, sizeof s);
    s.n = n;
    s.unit = steady ? unit : 1; /* samples of unsteady work begin with one piece */
    s.piece_ns = piece_ns;
    s.bad = -1;
    CHECK(lw_work_run(&work));
    for (int64_t i = 0; i < n; i++)
        CHECK(s.runs[i] == 1);
    CHECK(!s.odd);
}

static void
test_every_piece_once(void)
{
    static const int64_t sizes[] = {0, 1, 2, 7, 63, 64, 65, 1000, 99999};
    static const int64_t units[] = {1, 16, 64};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof units / sizeof *units; k++)
            for (int steady = 0; steady < 2; steady++) {
                _Atomic uint32_t unknown = 0, little = 10, much = 100000000;
                check_run(sizes[i], units[k], steady, 0, &unknown);
                check_run(sizes[i], units[k], steady, 0, &unknown); /* which it is no more */
                check_run(sizes[i], units[k], steady, 0, &little);
                check_run(sizes[i], units[k], steady, 0, &much);
            }
}

static void
test_costs(void)
{
    _Atomic uint32_t cost_ps = 0;

    check_run(50, 1, false, 100000, &cost_ps);
    CHECK(cost_ps > 50000000); /* 100 us, with whatever else the machine does */
    cost_ps = 4000000000u;
    check_run(1000, 1, false, 0, &cost_ps); /* downwards at once */
    CHECK(cost_ps < 400000000u);
    cost_ps = 1000;
    check_run(10, 1, false, 20000, &cost_ps); /* a short run says twice at most */
    CHECK(cost_ps <= 2000);
    cost_ps = 1000;
    check_run(1000, 1, false, 20000, &cost_ps); /* a long one is believed */
    CHECK(cost_ps > 10000000);
}

static bool
last_is_short(void *context, int64_t begin, int64_t end)
{
    const int64_t *n = context;

    for (int64_t i = begin; i < end; i++)
        work_for(i == *n - 1 ? 0 : 100000);
    return true;
}

/* The last of equal pieces may be short, and says nothing of the others then. */
static void
test_last_piece(void)
{
    for (int64_t n = 2; n < 12; n++) {
        _Atomic uint32_t cost_ps = 100000000;
        lw_work work = {
            .n = n, .body = last_is_short, .context = &n, .cost_ps = &cost_ps, .steady = true};
        CHECK(lw_work_run(&work));
        CHECK(cost_ps > 50000000);
    }
}

static void
test_one_raises(void)
{
    _Atomic uint32_t cost_ps = 100;
    static seen s;
    lw_work work = {
        .n = 1000, .body = run_some, .context = &s, .cost_ps = &cost_ps, .in_order = true};

    memset(&s, 0, sizeof s);
    s.n = work.n;
    s.unit = 1;
    s.bad = 500;
    CHECK(!lw_work_run(&work));
    CHECK(s.runs[500] == 1 && s.runs[501] == 0);
}

/* ---- whether several threads take part ---- */

static void
wait_until_asleep(void)
{
    int64_t end = lw_now_ns() + 5000000000;

    while (lw_pool_n_awake() > 0 && lw_now_ns() < end)
        work_for(1000000);
    CHECK(lw_pool_n_awake() == 0);
}

/* Threads that sleep are woken for long work, or where short work goes on and on. */
static void
test_pays(void)
{
    enum { APART_NS = 2000000 };
    _Atomic uint32_t cost_ps = 100000000;

    wait_until_asleep();
    work_for(APART_NS);
    CHECK(!lw_work_pays(1e6) && !lw_work_pays(12e6) && lw_work_pays(60e6));
    for (int i = 0; i < 20; i++)
        lw_work_alone(12e6);
    CHECK(!lw_work_pays(1e6) && lw_work_pays(12e6));
    work_for(APART_NS);
    CHECK(!lw_work_pays(12e6));
    for (int i = 0; i < 1000; i++)
        lw_work_alone(1e6); /* work that threads are never called for */
    CHECK(!lw_work_pays(12e6));
    check_run(1000, 1, true, 10000, &cost_ps);
    CHECK(lw_pool_n_awake() == 0 || (!lw_work_pays(1e6) && lw_work_pays(12e6)));
}

/* ---- stopping ---- */

static int64_t asked_at;

static bool
always(void *context)
{
    (void)context;
    asked_at = lw_now_ns();
    return true;
}

/* As compiled code does; the caller's share, or that of the others, takes for ever. */
static bool
run_long(void *context, int64_t begin, int64_t end)
{
    void (*look)(void);
    bool others_only = *(bool *)context;

    (void)end;
    *(void **)&look = lw_extern_symbol("lw_stop_look");
    while (!others_only || lw_pool_is_worker() || begin > 0)
        look();
    return true;
}

static void
check_stop(bool others_only)
{
    _Atomic uint32_t cost_ps = 4000000000u;
    lw_stop stop = {.ask = always};
    lw_work work = {
        .n = 4, .body = run_long, .context = &others_only, .cost_ps = &cost_ps, .stop = &stop};
    int64_t begin = lw_now_ns(), took;

    CHECK(!lw_work_run(&work));
    took = lw_now_ns() - begin;
    CHECK(stop.stopped && asked_at >= begin);
    CHECK(took < 10 * (int64_t)LW_LOOK_NS); /* other processes may have the CPU */
}

int
main(void)
{
    lw_env_set(LW_ENV_threads, "4");
    lw_pieces_register();
    test_every_piece_once();
    test_costs();
    test_last_piece();
    test_one_raises();
    test_pays();
    check_stop(false);
    check_stop(true); /* the caller is done and waits */
    lw_env_set(LW_ENV_threads, "1");
    CHECK(!lw_work_pays(60e6));
    check_stop(false);
    lw_thread_pool_stop();
    return n_failures != 0;
}
