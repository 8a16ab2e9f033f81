/* Running a host kernel over elements at equal distances: in which order, on which threads, and
 * which failure is the first. */
#include "ufunc/host_internal.h"

#include "core/base/lock.h"
#include "core/base/stream_copy.h"
#include "core/host/element_race.h"
#include "core/host/flags.h"
#include "core/host/raise_note.h"
#include "core/host/schedule.h"

#include <stdatomic.h>
#include <string.h>

enum { SHORT = 2048 }; /* elements that a contiguous loop runs at once */

/* ---- layout ---- */

bool
lw_run_is_contiguous(const lw_host_kernel *kernel, const int64_t *strides)
{
    for (int i = 0; i < kernel->n; i++)
        if (strides[i] != kernel->size[i] && kernel->size[i] > 0)
            return false;
    return true;
}

typedef enum overlap { APART, SAME, DEPENDENT } overlap;

static overlap
overlap_of(const lw_run *r, int64_t n, int a, int b)
{
    const lw_host_kernel *kernel = r->kernel;
    int64_t step_a = r->strides[a], step_b = r->strides[b];
    int64_t reach_a = step_a * (n - 1), reach_b = step_b * (n - 1);
    const char *low_a = r->args[a] + (reach_a < 0 ? reach_a : 0);
    const char *low_b = r->args[b] + (reach_b < 0 ? reach_b : 0);
    const char *high_a = r->args[a] + (reach_a > 0 ? reach_a : 0) + kernel->size[a];
    const char *high_b = r->args[b] + (reach_b > 0 ? reach_b : 0) + kernel->size[b];
    int64_t room = step_a < 0 ? -step_a : step_a;

    if (high_a <= low_b || high_b <= low_a)
        return APART;
    if (n == 1)
        return SAME;
    if (r->args[a] == r->args[b] && step_a == step_b && room >= kernel->size[a] &&
        room >= kernel->size[b])
        return SAME;
    return DEPENDENT;
}

/* How the outputs overlap each other and the inputs, in the worst case. */
static overlap
overlaps(const lw_run *r, int64_t n)
{
    const lw_host_kernel *kernel = r->kernel;
    overlap worst = APART;

    for (int out = kernel->nin; out < kernel->n; out++) {
        if (r->strides[out] == 0 && n > 1)
            return DEPENDENT;
        for (int i = 0; i < out; i++) {
            overlap one = overlap_of(r, n, i, out);
            if (one > worst)
                worst = one;
        }
    }
    return worst;
}

/* Whether the middle of an output has never been written: it is an array that was just made. */
static bool
outputs_are_new(const lw_host_kernel *kernel, char *const *middle)
{
    for (int i = kernel->nin; i < kernel->n; i++)
        if (lw_stream_is_new(middle[i]))
            return true;
    return false;
}

/* That is so where a kernel mostly waits for memory, where the operands are so large that the
 * outputs would be gone from the cache before somebody reads them, where outputs are a good
 * part of what is moved, and where they are not new memory. */
bool
lw_run_may_stream(const lw_run *r, int64_t n, char *const *middle)
{
    const lw_host_kernel *kernel = r->kernel;
    int64_t in = 0, out = 0;

    for (int i = 0; i < kernel->n; i++) {
        *(i < kernel->nin ? &in : &out) += kernel->size[i];
        if (i >= kernel->nin && r->strides[i] != kernel->size[i])
            return false;
    }
    return kernel->is_light && kernel->size[kernel->nin] > 1 && 3 * out >= in &&
           n * (in + out) > lw_stream_from() && !outputs_are_new(kernel, middle);
}

/* ---- failures ---- */

/* The key and its words change together. */
static void
note_with_words(lw_run *r, int64_t key)
{
    static lw_lock lock = LW_LOCK_INIT; /* failures are rare */

    lw_lock_take(&lock);
    if (key < r->first) {
        r->first = key;
        lw_raise_noted(r->words);
    }
    lw_lock_give(&lock);
}

void
lw_run_note(lw_run *r, int64_t key, int64_t begin)
{
    lw_run *to = r->whole != NULL ? r->whole : r;
    int64_t seen = to->first;

    if (key == INT64_MAX)
        return;
    key += (r->at + begin) * (1 << LW_HOST_ROW_BITS);
    if (r->kernel->carries) {
        note_with_words(to, key);
        return;
    }
    while (key < seen && !atomic_compare_exchange_weak(&to->first, &seen, key))
        ;
}

void
lw_run_tell(const lw_run *r, lw_host_failure *failure)
{
    int64_t first = r->first;

    if (first == INT64_MAX)
        return;
    failure->row = (uint32_t)(first & ((1 << LW_HOST_ROW_BITS) - 1));
    failure->element = first >> LW_HOST_ROW_BITS;
    memcpy(failure->words, r->words, sizeof failure->words);
}

/* ---- threads ---- */

static bool
piece_watched(void *run, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        lw_race_next(lw_race_current());
        lw_run_in_order(run, i, i + 1);
    }
    return true;
}

/* The alignment of parts (lw_work.line): whole pages of the outputs, unless an element costs
 * more than a page's traffic. */
static int64_t
line_of(const lw_host_kernel *kernel)
{
    enum { PAGE = 4096, COSTLY_PS = 20000 };
    uint32_t smallest = kernel->size[kernel->nin];

    if (kernel->cost_ps >= COSTLY_PS)
        return LW_HOST_BLOCK;
    for (int i = kernel->nin; i < kernel->n; i++)
        if (kernel->size[i] < smallest)
            smallest = kernel->size[i];
    return PAGE / smallest;
}

lw_work
lw_run_work(lw_host_kernel *kernel, int64_t n, lw_stop *stop)
{
    bool one_by_one = kernel->has_loop && kernel->takes_any; /* one may take long */

    return (lw_work){.n = n,
                     .cost_ps = &kernel->cost_ps,
                     .unit = one_by_one ? 1 : LW_HOST_BLOCK,
                     .line = line_of(kernel),
                     .steady = !kernel->has_loop,
                     .in_order = kernel->prints,
                     .stop = stop};
}

static void
run_parts(lw_run *r, int64_t n)
{
    lw_work work = lw_run_work(r->kernel, n, r->stop);

    work.body = lw_run_in_any_order;
    work.context = r;
    lw_work_run(&work);
}

/* Whether it is the common short call: contiguous, on one thread, and with nothing to look at
 * afterwards but values that are still there. */
static inline bool
is_simple(const lw_host_kernel *kernel, char *const *args, int64_t n, const int64_t *strides)
{
    if (n >= SHORT || kernel->has_loop || !kernel->takes_any || kernel->flag_rule != NULL ||
        !lw_run_is_contiguous(kernel, strides))
        return false;
    for (int out = kernel->nin; out < kernel->n; out++)
        for (int i = 0; i < out; i++) {
            if (args[i] == args[out] && kernel->size[i] == kernel->size[out] &&
                !kernel->doubts_flags)
                continue;
            if (args[i] + n * kernel->size[i] > args[out] &&
                args[out] + n * kernel->size[out] > args[i])
                return false;
        }
    return true;
}

/* Not inlined: its frame would be made for every run of one element. */
__attribute__((noinline)) static void
run_many(lw_host_kernel *kernel, char *const *args, int64_t n, const int64_t *strides,
         lw_stop *stop, lw_host_failure *failure)
{
    lw_run r = {
        .kernel = kernel, .args = args, .strides = strides, .stop = stop, .first = INT64_MAX};
    char *middle[LW_MAX_ARGS];
    overlap how;
    int before;

    if (n <= 0 || (n == 1 && kernel->has_loop && lw_stop_asked(stop))) /* at() calls for each */
        return;
    if (kernel->watched && lw_race_current() != NULL) {
        lw_in_pieces(stop, 0, n, 1, 1, piece_watched, &r);
        lw_run_tell(&r, failure);
        return;
    }
    if (is_simple(kernel, args, n, strides) &&
        (double)n * (double)kernel->cost_ps < LW_PARALLEL_PS) {
        before = kernel->doubts_flags ? lw_flags_raised() : 0;
        lw_run_note(&r, kernel->contiguous(args, n), 0);
        if (kernel->doubts_flags)
            lw_run_settle_flags(kernel, before, args, strides, n);
        lw_run_tell(&r, failure);
        return;
    }
    how = overlaps(&r, n);
    r.in_place = how == SAME;
    r.contiguous = lw_run_is_contiguous(kernel, strides);
    for (int i = kernel->nin; i < kernel->n; i++)
        middle[i] = args[i] + n / 2 * strides[i];
    r.streams = how == APART && lw_run_may_stream(&r, n, middle);
    if (how == DEPENDENT || (n == 1 && kernel->has_loop && kernel->takes_any))
        lw_in_pieces(stop, 0, n, kernel->has_loop ? 1 : SHORT, 1, lw_run_in_order, &r);
    else if (lw_run_is_short(&r, n))
        lw_run_note(&r, kernel->strided(args, n, strides), 0);
    else
        run_parts(&r, n);
    lw_run_tell(&r, failure);
}

/* ---- what a run waits for ---- */

/* Short runs are copied to scratch memory, or run by a call for each element, which takes less
 * time than the compilation until there have been many. */
static bool
is_one_of_few(lw_host_kernel *kernel, int64_t n)
{
    enum { SHORT_RUN = 32, FEW = 64 };

    return n <= SHORT_RUN && atomic_fetch_add(&kernel->n_without, 1) < FEW;
}

bool
lw_host_lacks_strided(lw_host_kernel *kernel, char *const *args, int64_t n,
                      const int64_t *strides)
{
    lw_run r = {.kernel = kernel, .args = args, .strides = strides};

    if (n < 2 || lw_run_has_strided(kernel) || !kernel->takes_any)
        return false;
    r.contiguous = lw_run_is_contiguous(kernel, strides);
    return (overlaps(&r, n) == DEPENDENT || lw_run_wants_strided(&r, n)) &&
           !is_one_of_few(kernel, n);
}

/* ---- runs ---- */

static inline void
tell(lw_host_kernel *kernel, int64_t key, lw_host_failure *failure)
{
    if (key != INT64_MAX) {
        lw_run r = {.kernel = kernel, .first = INT64_MAX};
        lw_run_note(&r, key, 0);
        lw_run_tell(&r, failure);
    }
}

/* By the code that runs strictly in order, which needs nothing else. */
static inline void
run_in_order(lw_host_kernel *kernel, char *const *args, int64_t n, const int64_t *strides,
             lw_host_failure *failure)
{
    lw_strided_entry strided = atomic_load_explicit(&kernel->strided, memory_order_relaxed);

    tell(kernel, strided(args, n, strides), failure);
}

/* One element has no strides. */
static inline void
run_one(lw_host_kernel *kernel, char *const *args, lw_host_failure *failure)
{
    tell(kernel, kernel->contiguous(args, 1), failure);
}

void
lw_host_run(lw_host_kernel *kernel, char *const *args, int64_t n, const int64_t *strides,
            lw_stop *stop, lw_host_failure *failure)
{
    failure->row = 0;
    if (n <= LW_HOST_FEW && n > 0 && kernel->plain && lw_run_has_strided(kernel))
        run_in_order(kernel, args, n, strides, failure);
    else if (n == 1 && kernel->plain)
        run_one(kernel, args, failure);
    else
        run_many(kernel, args, n, strides, stop, failure);
}

void
lw_host_run_indexed(lw_host_kernel *kernel, char *const *args, int64_t n,
                    const int64_t *strides, lw_host_failure *failure)
{
    failure->row = 0;
    run_in_order(kernel, args, n, strides, failure);
}
