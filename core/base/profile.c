#include "core/base/profile.h"

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/lock.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 48 bytes each: what is lost beyond that is counted, and is in the totals all the same. */
enum { MOST_EVENTS = 1 << 20 };

typedef struct row {
    lw_profile_totals on[LW_N_PROFILE_TARGETS];
} row;

atomic_int lw_profile_users;

static lw_lock lock = LW_LOCK_INIT; /* guards the next three */
static LW_ARRAY(lw_profile_event) events;
static LW_ARRAY(row) rows;
static uint64_t n_lost;
static atomic_uint generation; /* counts the times that the list began anew */

static _Atomic(lw_range_push) range_push;
static _Atomic(lw_range_pop) range_pop;

static _Thread_local lw_profile_frame *top;
static _Thread_local uint32_t n_compiling; /* how deep the compilations are nested */
static _Thread_local int64_t compiled_ns;  /* by this thread, since it began */

void
lw_profile_open(void)
{
    lw_lock_take(&lock);
    if (lw_profile_users == 0) {
        events.n = rows.n = 0;
        n_lost = 0;
        atomic_fetch_add(&generation, 1);
    }
    atomic_fetch_add(&lw_profile_users, 1);
    lw_lock_give(&lock);
}

void
lw_profile_close(void)
{
    lw_lock_take(&lock);
    if (atomic_fetch_sub(&lw_profile_users, 1) == 1) {
        lw_array_free(&events);
        lw_array_free(&rows);
    }
    lw_lock_give(&lock);
}

/* ---- what is measured ---- */

static uint32_t
this_thread(void)
{
    static _Thread_local uint32_t number;

    if (number == 0)
        number = (uint32_t)syscall(SYS_gettid);
    return number;
}

/* NULL: memory ran out. The caller has the lock. */
static lw_profile_totals *
totals(uint32_t at, uint32_t target)
{
    while (rows.n <= at)
        if (lw_array_push(&rows, NULL) == NULL)
            return NULL;
    return &rows.data[at].on[target];
}

/* The caller has the lock. */
static void
keep(const lw_profile_event *event)
{
    lw_profile_event *kept = events.n < MOST_EVENTS ? lw_array_push(&events, NULL) : NULL;

    if (kept != NULL)
        *kept = *event;
    else
        n_lost++;
}

void
lw_profile_add(const lw_profile_event *event)
{
    lw_profile_totals *sum;

    lw_lock_take(&lock);
    if (lw_profile_users > 0) {
        keep(event);
        sum = event->kind == LW_PROFILE_KERNEL ? totals(event->row, event->target) : NULL;
        if (sum != NULL) {
            sum->kernels++;
            sum->kernel_ns += event->duration_ns;
        }
    }
    lw_lock_give(&lock);
}

lw_profile_frame *
lw_profile_top(void)
{
    return top;
}

void
lw_profile_push(lw_profile_frame *frame)
{
    frame->outer = top;
    frame->entered = frame->in_python = false;
    frame->n_launches = 0;
    frame->generation = generation;
    frame->compiled_ns = compiled_ns;
    top = frame;
    frame->start_ns = lw_now_ns();
}

void
lw_profile_pop(lw_profile_frame *frame, bool failed)
{
    int64_t duration = lw_now_ns() - frame->start_ns,
            compiled = compiled_ns - frame->compiled_ns;
    lw_profile_event event = {.start_ns = frame->start_ns,
                              .duration_ns = duration,
                              .n_bytes = frame->n_bytes,
                              .row = frame->row,
                              .thread = this_thread(),
                              .kind = LW_PROFILE_CALL};
    lw_profile_totals *sum;

    top = frame->outer;
    event.target = frame->in_python         ? LW_PROFILE_PYTHON
                   : frame->n_launches != 0 ? LW_PROFILE_CUDA
                                            : LW_PROFILE_CPU;
    lw_lock_take(&lock);
    if (lw_profile_users > 0 && frame->generation == generation) {
        keep(&event);
        sum = totals(event.row, event.target);
        if (sum != NULL) {
            sum->calls++;
            sum->failed += failed;
            sum->compile_ns += compiled;
            sum->call_ns += duration - compiled;
            sum->n_bytes += event.n_bytes;
        }
    }
    lw_lock_give(&lock);
}

/* ---- compiling ---- */

int64_t
lw_compile_begin(void)
{
    return n_compiling++ == 0 ? lw_now_ns() : 0;
}

void
lw_compile_end(int64_t begun)
{
    lw_profile_event event = {.start_ns = begun, .kind = LW_PROFILE_COMPILE};
    lw_profile_totals *sum;

    if (--n_compiling > 0)
        return;
    event.duration_ns = lw_now_ns() - begun;
    compiled_ns += event.duration_ns;
    if (!lw_profiling())
        return;
    event.row = top ? top->row : LW_PROFILE_NO_CALL;
    event.thread = this_thread();
    lw_profile_add(&event);
    if (top != NULL)
        return;
    lw_lock_take(&lock);
    sum = totals(LW_PROFILE_NO_CALL, LW_PROFILE_CPU);
    if (sum != NULL)
        sum->compile_ns += event.duration_ns;
    lw_lock_give(&lock);
}

/* ---- reading ---- */

uint32_t
lw_profile_n_events(void)
{
    uint32_t n;

    lw_lock_take(&lock);
    n = events.n;
    lw_lock_give(&lock);
    return n;
}

uint64_t
lw_profile_n_lost(void)
{
    uint64_t n;

    lw_lock_take(&lock);
    n = n_lost;
    lw_lock_give(&lock);
    return n;
}

uint32_t
lw_profile_events(uint32_t first, uint32_t most, lw_profile_event *out)
{
    uint32_t n = 0;

    lw_lock_take(&lock);
    if (first < events.n)
        n = events.n - first < most ? events.n - first : most;
    if (n > 0)
        memcpy(out, &events.data[first], n * sizeof *out);
    lw_lock_give(&lock);
    return n;
}

void
lw_profile_totals_of(uint32_t at, lw_profile_totals out[LW_N_PROFILE_TARGETS])
{
    memset(out, 0, LW_N_PROFILE_TARGETS * sizeof *out);
    lw_lock_take(&lock);
    if (at < rows.n)
        memcpy(out, rows.data[at].on, LW_N_PROFILE_TARGETS * sizeof *out);
    lw_lock_give(&lock);
}

/* ---- NVIDIA's ranges ---- */

void
lw_profile_ranges(lw_range_push push, lw_range_pop pop)
{
    atomic_store(&range_push, push);
    atomic_store(&range_pop, pop);
}

void
lw_profile_range_begin(const char *name)
{
    lw_range_push push = atomic_load(&range_push);

    if (push != NULL)
        push(name);
}

void
lw_profile_range_end(void)
{
    lw_range_pop pop = atomic_load(&range_pop);

    if (pop != NULL)
        pop();
}
