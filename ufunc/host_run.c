/* Running a host kernel: which code for which layout, blocks through L1 for what is not
 * contiguous, and the floating-point flags. Threads are the business of core/host/schedule.h.
 *
 * Flags: vector-math functions and speculated branches raise flags that the scalar formula
 * would not. When flags appear after such code, the values decide: "invalid" is real only where
 * an output is NaN and no input is; "overflow" and "divide" only where an output is infinite
 * and all inputs are finite; "underflow" only where such an output is zero or subnormal
 * (core/host/value_class.h). */
#include "ufunc/host_internal.h"

#include "core/base/lock.h"
#include "core/host/element_race.h"
#include "core/host/raise_note.h"
#include "core/host/schedule.h"
#include "core/host/flags.h"
#include "core/host/value_class.h"

#include <stdatomic.h>
#include <string.h>

enum {
    FEW = 4,      /* elements that are not worth a look at how they lie */
    SMALL = 32,   /* elements that the in-order loop does as fast as any other */
    SHORT = 2048, /* elements that a contiguous loop does at once */
    PAGE = 4096,
};

typedef lw_run run;

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
overlap_of(const run *r, int64_t n, int a, int b)
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

/* How the outputs lie to everything else. */
static overlap
overlaps(const run *r, int64_t n)
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

typedef struct pair {
    uint64_t half[2];
} pair;

/* One value n times. */
static void
splat(char *to, const char *from, uint32_t size, uint32_t n)
{
#define FILL(type)                                                                             \
    {                                                                                          \
        type value;                                                                            \
        memcpy(&value, from, sizeof value);                                                    \
        for (uint32_t i = 0; i < n; i++)                                                       \
            memcpy(to + i * sizeof value, &value, sizeof value);                               \
    }                                                                                          \
    break;

    switch (size) {
    case 1: FILL(uint8_t)
    case 2: FILL(uint16_t)
    case 4: FILL(uint32_t)
    case 8: FILL(uint64_t)
    default: FILL(pair)
    }
#undef FILL
}

static void
gather(char *to, const char *from, int64_t stride, uint32_t size, uint32_t n)
{
#define COPY(type)                                                                             \
    for (uint32_t i = 0; i < n; i++)                                                           \
        memcpy(to + i * sizeof(type), from + i * stride, sizeof(type));                        \
    break;

    if (stride == 0) {
        splat(to, from, size, n);
        return;
    }
    if (stride == (int64_t)size) {
        memcpy(to, from, (size_t)n * size);
        return;
    }
    switch (size) {
    case 1: COPY(uint8_t)
    case 2: COPY(uint16_t)
    case 4: COPY(uint32_t)
    case 8: COPY(uint64_t)
    default: COPY(pair)
    }
#undef COPY
}

static void
scatter(char *to, const char *from, int64_t stride, uint32_t size, uint32_t n)
{
#define COPY(type)                                                                             \
    for (uint32_t i = 0; i < n; i++)                                                           \
        memcpy(to + i * stride, from + i * sizeof(type), sizeof(type));                        \
    break;

    switch (size) {
    case 1: COPY(uint8_t)
    case 2: COPY(uint16_t)
    case 4: COPY(uint32_t)
    case 8: COPY(uint64_t)
    default: COPY(pair)
    }
#undef COPY
}

/* ---- floating-point flags ---- */

/* The flags that elements from `begin` on stand for, whatever the code raises. */
static inline void
raise_by_rule(const lw_host_kernel *kernel, char *const *args, const int64_t *strides,
              int64_t begin, int64_t n)
{
    char *from[LW_MAX_ARGS];

    if (kernel->flag_rule == NULL)
        return;
    for (int i = 0; i < kernel->n; i++)
        from[i] = args[i] + begin * strides[i];
    lw_flag_rule_raise(kernel->flag_rule, kernel->dtype, from, strides, n);
}

/* Which of `flags` element i explains. */
static int
explained(const lw_host_kernel *kernel, char *const *args, const int64_t *strides, int64_t i,
          int flags)
{
    unsigned in = 0, out = 0;

    for (int k = 0; k < kernel->nin; k++)
        if (kernel->size[k] > 0)
            in |= lw_value_class((lw_dtype)kernel->dtype[k], args[k] + i * strides[k]);
    for (int k = kernel->nin; k < kernel->n; k++)
        out |= lw_value_class((lw_dtype)kernel->dtype[k], args[k] + i * strides[k]);
    return lw_flags_explained(in, out, flags);
}

/* Take back the flags raised since `before` that no element explains. */
static void
settle_flags(const lw_host_kernel *kernel, int before, char *const *args,
             const int64_t *strides, int64_t n)
{
    int now = lw_flags_raised(), fresh = now & ~before, real = 0;

    if (fresh == 0)
        return;
    for (int64_t i = 0; kernel->float_outputs && i < n && (fresh & ~real); i++)
        real |= explained(kernel, args, strides, i, now);
    if (fresh & ~real)
        feclearexcept(fresh & ~real);
}

/* ---- the ways through a chunk ---- */

/* The key and its words change together. */
static void
note_with_words(run *r, int64_t key)
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
lw_run_note(run *r, int64_t key, int64_t begin)
{
    run *to = r->whole != NULL ? r->whole : r;
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

static void
advance(const run *r, int64_t begin, char **args)
{
    for (int i = 0; i < r->kernel->n; i++)
        args[i] = r->args[i] + begin * r->strides[i];
}

/* Repeat the last element up to a whole block: other values might raise flags or errors. */
static void
pad(char *buffer, uint32_t size, uint32_t n, uint32_t whole)
{
    if (n < whole)
        splat(buffer + n * size, buffer + (n - 1) * size, size, whole - n);
}

/* n <= kernel->block elements from `begin`: what is not contiguous goes through `scratch`.
 * constants_ready: stride-0 inputs were filled by an earlier, not smaller, block. */
static void
block_through_scratch(run *r, int64_t begin, uint32_t n, char *scratch, bool constants_ready)
{
    lw_host_kernel *kernel = r->kernel;
    uint32_t whole =
        kernel->strided ? n : (n + LW_HOST_BLOCK - 1) / LW_HOST_BLOCK * LW_HOST_BLOCK;
    char *args[LW_MAX_ARGS], *work[LW_MAX_ARGS];
    int64_t sizes[LW_MAX_ARGS];
    int before = kernel->doubts_flags ? lw_flags_raised() : 0;

    if (kernel->doubts_flags) /* for the analyser, which cannot know that n stays the same */
        memset(sizes, 0, sizeof sizes);
    advance(r, begin, args);
    for (int i = 0; i < kernel->n; i++) {
        uint32_t size = kernel->size[i];
        bool direct = size == 0 || (r->strides[i] == size && whole == n);
        sizes[i] = size;
        work[i] = direct && !(r->in_place && i < kernel->nin && size > 0) ? args[i] : scratch;
        scratch += kernel->block * size;
        if (i >= kernel->nin || work[i] == args[i] || (r->strides[i] == 0 && constants_ready))
            continue;
        gather(work[i], args[i], r->strides[i], size, n);
        pad(work[i], size, n, whole);
    }
    lw_run_note(r, kernel->contiguous(work, whole), begin);
    if (kernel->doubts_flags)
        settle_flags(kernel, before, work, sizes, n);
    for (int i = kernel->nin; i < kernel->n; i++)
        if (work[i] != args[i])
            scatter(args[i], work[i], r->strides[i], kernel->size[i], n);
}

static void
through_scratch(run *r, int64_t begin, int64_t end)
{
    _Alignas(64) char scratch[LW_HOST_SCRATCH];
    int64_t block = r->kernel->block;

    for (int64_t i = begin; i < end; i += block)
        block_through_scratch(r, i, (uint32_t)(end - i < block ? end - i : block), scratch,
                              i > begin);
}

static void
straight(run *r, int64_t begin, int64_t end)
{
    lw_host_kernel *kernel = r->kernel;
    int64_t n = end - begin, whole = kernel->strided ? n : n / LW_HOST_BLOCK * LW_HOST_BLOCK;
    char *args[LW_MAX_ARGS];
    int before = kernel->doubts_flags ? lw_flags_raised() : 0;

    advance(r, begin, args);
    if (whole > 0) {
        lw_run_note(r, kernel->contiguous(args, whole), begin);
        if (kernel->doubts_flags)
            settle_flags(kernel, before, args, r->strides, whole);
    }
    if (whole < n)
        through_scratch(r, begin + whole, end);
}

static bool
piece_in_order(void *context, int64_t begin, int64_t end)
{
    _Alignas(64) char scratch[LW_HOST_SCRATCH];
    run *r = context;
    char *args[LW_MAX_ARGS];

    if (r->kernel->flag_rule != NULL &&
        end - begin > 1) { /* each element after the one before */
        for (int64_t i = begin; i < end; i++)
            piece_in_order(context, i, i + 1);
        return true;
    }
    raise_by_rule(r->kernel, r->args, r->strides, begin, end - begin);
    if (r->kernel->strided != NULL) {
        advance(r, begin, args);
        lw_run_note(r, r->kernel->strided(args, end - begin, r->strides), begin);
        return true;
    }
    for (int64_t i = begin; i < end; i++)
        block_through_scratch(r, i, 1, scratch, false);
    return true;
}

/* Strictly in order: reductions, accumulations, any overlap. */
static void
in_order(run *r, int64_t n)
{
    lw_in_pieces(r->stop, 0, n, r->kernel->has_loop ? 1 : SHORT, 1, piece_in_order, r);
}

static bool
piece_watched(void *context, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        lw_race_next(lw_race_current());
        piece_in_order(context, i, i + 1);
    }
    return true;
}

/* Elements between two looks of a rule: the code behind it finds what it read in L1. */
enum { LOOKED_AT_ONCE = 64 * LW_HOST_BLOCK };

static void
chunk(run *r, int64_t begin, int64_t end)
{
    if (r->contiguous && !(r->in_place && r->kernel->doubts_flags))
        straight(r, begin, end);
    else
        through_scratch(r, begin, end);
}

static bool
piece(void *context, int64_t begin, int64_t end)
{
    run *r = context;

    for (int64_t i = begin; r->kernel->flag_rule != NULL && i < end; i += LOOKED_AT_ONCE) {
        int64_t to = end - i < LOOKED_AT_ONCE ? end : i + LOOKED_AT_ONCE;
        raise_by_rule(r->kernel, r->args, r->strides, i, to - i);
        chunk(r, i, to);
    }
    if (r->kernel->flag_rule == NULL)
        chunk(r, begin, end);
    return true;
}

/* Whether the in-order loop is as fast as any other for so few elements that are not
 * contiguous. */
static bool
is_short(const run *r, int64_t n)
{
    const lw_host_kernel *kernel = r->kernel;

    return n <= SMALL && !kernel->has_loop && kernel->strided != NULL && !r->contiguous &&
           !kernel->doubts_flags && kernel->flag_rule == NULL;
}

void
lw_run_span(run *r, int64_t n)
{
    if ((n <= FEW && r->kernel->plain) || is_short(r, n))
        lw_run_note(r, r->kernel->strided(r->args, n, r->strides), 0);
    else
        piece(r, 0, n);
}

/* ---- threads ---- */

/* Parts begin at whole pages of the outputs, unless an element costs more than a page's
 * traffic. */
int64_t
lw_run_line(const lw_host_kernel *kernel)
{
    uint32_t smallest = kernel->size[kernel->nin];

    if (kernel->cost_ps >= 20000)
        return LW_HOST_BLOCK;
    for (int i = kernel->nin; i < kernel->n; i++)
        if (kernel->size[i] < smallest)
            smallest = kernel->size[i];
    return PAGE / smallest;
}

static void
run_parts(run *r, int64_t n, lw_piece_body body, _Atomic uint32_t *cost_ps)
{
    lw_host_kernel *kernel = r->kernel;
    bool one_by_one = kernel->has_loop && kernel->strided != NULL; /* one may take long */
    lw_work work = {.n = n,
                    .body = body,
                    .context = r,
                    .cost_ps = cost_ps,
                    .unit = one_by_one ? 1 : LW_HOST_BLOCK,
                    .line = lw_run_line(kernel),
                    .steady = !kernel->has_loop,
                    .in_order = kernel->prints,
                    .stop = r->stop};

    lw_work_run(&work);
}

/* The common small call: contiguous, serial, nothing to look at afterwards but values that are
 * still there. */
static inline bool
is_simple(const lw_host_kernel *kernel, char *const *args, int64_t n, const int64_t *strides)
{
    if (n >= SHORT || kernel->has_loop || kernel->strided == NULL || kernel->flag_rule != NULL)
        return false;
    for (int i = 0; i < kernel->n; i++)
        if (strides[i] != kernel->size[i] && kernel->size[i] > 0)
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

void
lw_run_tell(const run *r, lw_host_failure *failure)
{
    int64_t first = r->first;

    if (first == INT64_MAX)
        return;
    failure->row = (uint32_t)(first & ((1 << LW_HOST_ROW_BITS) - 1));
    failure->element = first >> LW_HOST_ROW_BITS;
    memcpy(failure->words, r->words, sizeof failure->words);
}

/* Not inlined: its frame would be made for every run of one element. */
__attribute__((noinline)) static void
run_many(lw_host_kernel *kernel, char *const *args, int64_t n, const int64_t *strides,
         lw_stop *stop, lw_host_failure *failure)
{
    run r = {
        .kernel = kernel, .args = args, .strides = strides, .stop = stop, .first = INT64_MAX};
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
            settle_flags(kernel, before, args, strides, n);
        lw_run_tell(&r, failure);
        return;
    }
    how = overlaps(&r, n);
    r.in_place = how == SAME;
    r.contiguous = lw_run_is_contiguous(kernel, strides);
    if (how == DEPENDENT || (n == 1 && kernel->has_loop && kernel->strided != NULL))
        in_order(&r, n);
    else if (is_short(&r, n))
        lw_run_note(&r, kernel->strided(args, n, strides), 0);
    else
        run_parts(&r, n, piece, &kernel->cost_ps);
    lw_run_tell(&r, failure);
}

/* ---- where= ---- */

enum { DENSE = 32 }; /* selected elements in a row that are run where they are */

static bool
is_dense(const run *r, int64_t at, int64_t end)
{
    static const char ones[DENSE] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

    return r->mask_step == 1 && end - at >= DENSE && memcmp(r->mask + at, ones, DENSE) == 0;
}

/* Where the selected elements from `at` on end. */
static int64_t
end_of_run(const run *r, int64_t at, int64_t end)
{
    const char *zero = memchr(r->mask + at, 0, (size_t)(end - at));

    return zero ? zero - r->mask : end;
}

/* The next selected elements from *at on, at most `most`, and not those of a dense run; *at
 * becomes where to go on. */
static uint32_t
select_elements(const run *r, int64_t *at, int64_t end, uint32_t most, int64_t *index)
{
    enum { STEP = 8 };
    uint32_t n = 0;
    int64_t i = *at;

    while (i < end && n + STEP <= most && !is_dense(r, i, end)) {
        int64_t to = end - i < STEP ? end : i + STEP;
        uint64_t eight = 1;
        if (r->mask_step == 1 && to - i == STEP)
            memcpy(&eight, r->mask + i, sizeof eight);
        for (; eight != 0 && i < to; i++) {
            index[n] = i;
            n += r->mask[i * r->mask_step] != 0;
        }
        i = to;
    }
    *at = i;
    return n;
}

#define BY_SIZE(move)                                                                          \
    switch (size) {                                                                            \
    case 1: move(uint8_t) break;                                                               \
    case 2: move(uint16_t) break;                                                              \
    case 4: move(uint32_t) break;                                                              \
    case 8: move(uint64_t) break;                                                              \
    default: move(pair) break;                                                                 \
    }

static void
gather_at(char *to, const char *from, int64_t stride, uint32_t size, const int64_t *index,
          uint32_t n)
{
#define MOVE(type)                                                                             \
    for (uint32_t i = 0; i < n; i++)                                                           \
        memcpy(to + i * sizeof(type), from + index[i] * stride, sizeof(type));

    BY_SIZE(MOVE)
#undef MOVE
}

static void
scatter_at(char *to, const char *from, int64_t stride, uint32_t size, const int64_t *index,
           uint32_t n)
{
#define MOVE(type)                                                                             \
    for (uint32_t i = 0; i < n; i++)                                                           \
        memcpy(to + index[i] * stride, from + i * sizeof(type), sizeof(type));

    BY_SIZE(MOVE)
#undef MOVE
}

int64_t
lw_run_block(const run *r, char *const *work, uint32_t n)
{
    lw_host_kernel *kernel = r->kernel;
    uint32_t whole =
        kernel->strided ? n : (n + LW_HOST_BLOCK - 1) / LW_HOST_BLOCK * LW_HOST_BLOCK;
    int before = kernel->doubts_flags ? lw_flags_raised() : 0;
    int64_t sizes[LW_MAX_ARGS], key;

    for (int i = 0; i < kernel->n; i++) {
        sizes[i] = kernel->size[i];
        if (i < kernel->nin)
            pad(work[i], kernel->size[i], n, whole);
    }
    raise_by_rule(kernel, work, sizes, 0, n);
    key = kernel->contiguous(work, whole);
    if (kernel->doubts_flags)
        settle_flags(kernel, before, work, sizes, n);
    return key;
}

static void
selected_block(run *r, const int64_t *index, uint32_t n, char *scratch)
{
    enum { ROW = (1 << LW_HOST_ROW_BITS) - 1 };
    lw_host_kernel *kernel = r->kernel;
    char *work[LW_MAX_ARGS];
    int64_t key;

    for (int i = 0; i < kernel->n; i++) {
        uint32_t size = kernel->size[i];
        work[i] = scratch;
        scratch += kernel->block * size;
        if (i >= kernel->nin)
            continue;
        if (r->strides[i] == 0)
            splat(work[i], r->args[i], size, n);
        else
            gather_at(work[i], r->args[i], r->strides[i], size, index, n);
    }
    key = lw_run_block(r, work, n);
    if (key != INT64_MAX) /* the element's place among the selected: that among all */
        lw_run_note(r, index[key >> LW_HOST_ROW_BITS] * (ROW + 1) | (key & ROW), 0);
    for (int i = kernel->nin; i < kernel->n; i++)
        scatter_at(r->args[i], work[i], r->strides[i], kernel->size[i], index, n);
}

static bool
selected_piece(void *context, int64_t begin, int64_t end)
{
    enum { MOST = 1024 }; /* kernel->block is no larger */
    _Alignas(64) char scratch[LW_HOST_SCRATCH];
    int64_t index[MOST] = {0}; /* for the analyser: all that is read has been written */
    run *r = context;

    for (int64_t at = begin; at < end;) {
        if (is_dense(r, at, end)) {
            int64_t to = end_of_run(r, at, end);
            chunk(r, at, to);
            at = to;
            continue;
        }
        uint32_t n = select_elements(r, &at, end, r->kernel->block, index);
        if (n > 0)
            selected_block(r, index, n, scratch);
    }
    return true;
}

void
lw_run_masked_span(run *r, int64_t n)
{
    selected_piece(r, 0, n);
}

/* ---- runs ---- */

/* By the code that runs strictly in order, which has no other needs. */
static inline void
run_in_order(lw_host_kernel *kernel, char *const *args, int64_t n, const int64_t *strides,
             lw_host_failure *failure)
{
    int64_t key = kernel->strided(args, n, strides);

    if (key != INT64_MAX) {
        run r = {.kernel = kernel, .first = INT64_MAX};
        lw_run_note(&r, key, 0);
        lw_run_tell(&r, failure);
    }
}

void
lw_host_run(lw_host_kernel *kernel, char *const *args, int64_t n, const int64_t *strides,
            lw_stop *stop, lw_host_failure *failure)
{
    failure->row = 0;
    if (n <= FEW && n > 0 && kernel->plain) /* of where=, most runs */
        run_in_order(kernel, args, n, strides, failure);
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
