/* The elements of a run, or of a part of it, on one thread: which code for which layout, blocks
 * of scratch memory for what is not contiguous, and the floating-point flags.
 *
 * Flags: vector-math functions and speculated branches raise flags that the scalar formula
 * would not. When flags appear after such code, the values decide: "invalid" is real only where
 * an output is NaN and no input is; "overflow" and "divide" only where an output is infinite
 * and all inputs are finite; "underflow" only where such an output is zero or subnormal
 * (core/host/value_class.h). */
#include "ufunc/host_internal.h"

#include "core/base/divider.h"
#include "core/base/elements.h"
#include "core/base/stream_copy.h"
#include "core/host/flags.h"
#include "core/host/value_class.h"

#include <assert.h>
#include <string.h>

/* ---- floating-point flags ---- */

/* Raises the flags that n elements from `begin` on stand for, whatever the code raises. */
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

void
lw_run_settle_flags(const lw_host_kernel *kernel, int before, char *const *args,
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

unsigned
lw_run_class_of_start(const lw_host_kernel *kernel, char *const *args, const int64_t *strides)
{
    unsigned start = 0;

    for (int k = 0; kernel->doubts_flags && k < kernel->nin; k++)
        if (strides[k] == 0 && kernel->size[k] > 0)
            start |= lw_value_class((lw_dtype)kernel->dtype[k], args[k]);
    return start;
}

void
lw_run_settle_flags_in_order(const lw_host_kernel *kernel, int before, unsigned start,
                             char *const *args, const int64_t *strides, int64_t n)
{
    int fresh = lw_flags_raised() & ~before, real = 0;
    unsigned in = start, out = 0;

    if (fresh == 0 || strides[kernel->nin] != 0) {
        lw_run_settle_flags(kernel, before, args, strides, n);
        return;
    }
    for (int k = 0; k < kernel->n; k++)
        for (int64_t i = 0; i < (strides[k] == 0 ? 1 : n) && kernel->size[k] > 0; i++) {
            unsigned class =
                lw_value_class((lw_dtype)kernel->dtype[k], args[k] + i * strides[k]);
            if (k >= kernel->nin)
                out |= class;
            else if (strides[k] != 0)
                in |= class;
        }
    if (kernel->float_outputs)
        real = lw_flags_explained(in, out, fresh);
    if (fresh & ~real)
        feclearexcept(fresh & ~real);
}

/* ---- blocks ---- */

/* Repeats the last element up to a whole block: other values might raise flags or errors. */
static void
pad(char *block, uint32_t size, uint32_t n, uint32_t whole)
{
    if (n < whole)
        lw_elements_fill(block + n * size, block + (n - 1) * size, size, whole - n);
}

int64_t
lw_run_block(const lw_run *r, char *const *work, uint32_t n)
{
    lw_host_kernel *kernel = r->kernel;
    uint32_t whole =
        kernel->takes_any ? n : (n + LW_HOST_BLOCK - 1) / LW_HOST_BLOCK * LW_HOST_BLOCK;
    int64_t sizes[LW_MAX_ARGS], key;
    int before;

    if (kernel->doubts_flags) /* for the analyser, which cannot know that n stays the same */
        memset(sizes, 0, sizeof sizes);
    for (int i = 0; i < kernel->n; i++) {
        sizes[i] = kernel->size[i];
        if (i < kernel->nin && kernel->size[i] > 0)
            pad(work[i], kernel->size[i], n, whole);
    }
    raise_by_rule(kernel, work, sizes, 0, n);
    before = kernel->doubts_flags ? lw_flags_raised() : 0;
    key = kernel->contiguous(work, whole);
    if (kernel->doubts_flags)
        lw_run_settle_flags(kernel, before, work, sizes, n);
    return key;
}

static void
advance(const lw_run *r, int64_t begin, char **args)
{
    for (int i = 0; i < r->kernel->n; i++)
        args[i] = r->args[i] + begin * r->strides[i];
}

/* Copies n results of a block to the outputs. What the next block reads is fetched while the
 * first of them is copied past the caches. */
static void
deliver(const lw_run *r, int64_t begin, char *const *work, uint32_t n)
{
    const lw_host_kernel *kernel = r->kernel;
    lw_stream_ahead ahead[LW_MAX_ARGS];
    int n_ahead = 0;

    for (int i = 0; r->streams && i < kernel->nin; i++)
        if (r->strides[i] == kernel->size[i] && kernel->size[i] > 0)
            ahead[n_ahead++] =
                (lw_stream_ahead){.at = r->args[i] + (begin + n) * r->strides[i],
                                  .per_line = LW_STREAM_LINE * (size_t)kernel->size[i] /
                                              kernel->size[kernel->nin]};
    for (int i = kernel->nin; i < kernel->n; i++) {
        char *to = r->args[i] + begin * r->strides[i];
        if (r->streams)
            lw_stream_copy(to, work[i], (size_t)n * kernel->size[i], ahead,
                           i == kernel->nin ? n_ahead : 0);
        else if (work[i] != to)
            lw_elements_scatter(to, r->strides[i], work[i], kernel->size[i], n);
    }
}

/* Whether n elements of an input, which the kernel may read where they are, share memory with
 * those of an output that it writes there: they would be gone when the flags are looked at. */
static bool
is_overwritten(const lw_run *r, char *const *args, int input, uint32_t n)
{
    const lw_host_kernel *kernel = r->kernel;

    for (int k = kernel->nin; r->in_place && k < kernel->n; k++)
        if (args[input] < args[k] + (size_t)n * kernel->size[k] &&
            args[k] < args[input] + (size_t)n * kernel->size[input])
            return true;
    return false;
}

/* n elements from `begin`, at most `block`: what is not contiguous goes through `scratch`,
 * which has room for so many of all operands, and so do outputs that are written past the
 * caches. constants_ready: inputs of stride 0 were filled by an earlier block, which was not
 * smaller. */
static void
block_through_scratch(lw_run *r, int64_t begin, uint32_t n, int64_t block, char *scratch,
                      bool constants_ready)
{
    lw_host_kernel *kernel = r->kernel;
    bool whole = kernel->takes_any || n % LW_HOST_BLOCK == 0;
    char *args[LW_MAX_ARGS], *work[LW_MAX_ARGS];

    advance(r, begin, args);
    for (int i = 0; i < kernel->n; i++) {
        uint32_t size = kernel->size[i];
        bool streams = r->streams && i >= kernel->nin;
        bool direct = size == 0 || (r->strides[i] == size && whole && !streams);
        work[i] =
            direct && !(i < kernel->nin && is_overwritten(r, args, i, n)) ? args[i] : scratch;
        scratch += block * size;
        if (i < kernel->nin && work[i] != args[i] && !(r->strides[i] == 0 && constants_ready))
            lw_elements_gather(work[i], args[i], r->strides[i], size, n);
    }
    lw_run_note(r, lw_run_block(r, work, n), begin);
    deliver(r, begin, work, n);
}

/* How many elements from `begin` on there are before the first output begins a line. */
static int64_t
up_to_line(const lw_run *r, int64_t begin)
{
    uint32_t size = r->kernel->size[r->kernel->nin];
    uintptr_t at = (uintptr_t)r->args[r->kernel->nin] + (uintptr_t)(begin * size);

    return (int64_t)(-at % LW_STREAM_LINE / size);
}

/* Elements of a block. Where operands are contiguous, only inputs that are overwritten are
 * copied, and what takes time is that there are blocks: each has as many elements as stay in
 * the L1 cache. */
static int64_t
block_of(const lw_run *r)
{
    enum { LARGE = 8192 };
    const lw_host_kernel *kernel = r->kernel;
    int64_t bytes = 0, largest = 1, block;

    if (!r->contiguous)
        return kernel->block;
    for (int i = 0; i < kernel->n; i++) {
        bytes += kernel->size[i];
        if (kernel->size[i] > largest)
            largest = kernel->size[i];
    }
    assert(bytes > 0);
    block = lw_least(LARGE / largest, LW_HOST_SCRATCH / bytes);
    return block - block % LW_HOST_BLOCK;
}

static void
through_scratch(lw_run *r, int64_t begin, int64_t end)
{
    _Alignas(64) char scratch[LW_HOST_SCRATCH];
    int64_t block = block_of(r);
    int64_t n = r->contiguous && r->kernel->takes_any ? up_to_line(r, begin) : 0;

    n = n > 0 ? n : block;
    for (int64_t i = begin; i < end; i += n, n = block)
        block_through_scratch(r, i, (uint32_t)lw_least(end - i, n), block, scratch, i > begin);
}

/* Blocks whose outputs are written past the caches. The first one is shorter, so that the first
 * output begins a line in the others. */
static void
stream(lw_run *r, int64_t begin, int64_t end)
{
    enum { TILE = 2048 }; /* bytes: the next block's inputs are fetched in the meantime */
    _Alignas(64) char scratch[LW_HOST_SCRATCH];
    const lw_host_kernel *kernel = r->kernel;
    uint32_t size = kernel->size[kernel->nin];
    int64_t block = TILE / size < kernel->block ? TILE / size : kernel->block;
    int64_t n = up_to_line(r, begin), ready = 0;

    n = n > 0 ? n : block;
    for (int64_t i = begin; i < end; i += n, n = block) {
        n = end - i < n ? end - i : n;
        block_through_scratch(r, i, (uint32_t)n, block, scratch, ready >= n);
        ready = n;
    }
    lw_stream_end();
}

/* ---- in any order ---- */

/* Contiguous elements, where they are. Between two looks of a rule there are few enough that
 * the code behind it finds what it read in the L1 cache. Where accesses take most of the time,
 * the first elements are run by themselves, so that no later vector lies in two lines of the
 * first output. */
static void
straight(lw_run *r, int64_t begin, int64_t end)
{
    enum { LOOKED_AT_ONCE = 64 * LW_HOST_BLOCK, MANY = 4096 };
    lw_host_kernel *kernel = r->kernel;
    bool aligns = kernel->is_light && kernel->takes_any && end - begin >= MANY;
    int64_t most = kernel->flag_rule != NULL ? LOOKED_AT_ONCE : end - begin;
    int64_t first = aligns ? up_to_line(r, begin) : 0;
    char *args[LW_MAX_ARGS];

    for (int64_t at = begin, n; at < end; at += n) {
        int before;
        n = end - at < most ? end - at : most;
        if (at == begin && first > 0)
            n = first;
        if (!kernel->takes_any)
            n -= n % LW_HOST_BLOCK;
        if (n == 0) { /* less than a block is left */
            through_scratch(r, at, end);
            return;
        }
        raise_by_rule(kernel, r->args, r->strides, at, n);
        before = kernel->doubts_flags ? lw_flags_raised() : 0;
        advance(r, at, args);
        lw_run_note(r, kernel->contiguous(args, n), at);
        if (kernel->doubts_flags)
            lw_run_settle_flags(kernel, before, args, r->strides, n);
    }
}

/* Whether elements are run one after the other where they are. For a few operations, that takes
 * less time than copying so many bytes of an element to scratch memory and back: 10^6 of
 * a * b + b with a step of two elements in each operand, one core of an AMD EPYC (Zen 4):
 * float64 1.6 ms instead of 2.5, float32 0.7 instead of 1.3. With one operand less, or elements
 * of one byte, copying is as fast or faster, as the copies are computed with in vectors. */
static bool
is_faster_in_place(const lw_run *r)
{
    enum { CHEAP = 8 }; /* bytes */
    const lw_host_kernel *kernel = r->kernel;
    uint32_t copied = 0;

    if (!kernel->is_light || !kernel->takes_any || kernel->doubts_flags ||
        kernel->flag_rule != NULL)
        return false;
    for (int i = 0; i < kernel->n; i++)
        if (r->strides[i] != kernel->size[i] && r->strides[i] != 0)
            copied += kernel->size[i];
    return copied > CHEAP;
}

bool
lw_run_in_any_order(void *run, int64_t begin, int64_t end)
{
    lw_run *r = run;

    if (r->streams)
        stream(r, begin, end);
    else if (lw_run_has_strided(r->kernel) && is_faster_in_place(r))
        lw_run_in_order(r, begin, end);
    else if (r->contiguous && !(r->in_place && r->kernel->doubts_flags))
        straight(r, begin, end);
    else
        through_scratch(r, begin, end);
    return true;
}

static bool
would_be_short(const lw_run *r, int64_t n)
{
    enum { SMALL = 32 }; /* elements that the in-order loop runs as fast as any other */
    const lw_host_kernel *kernel = r->kernel;

    return n <= SMALL && !kernel->has_loop && kernel->takes_any && !r->contiguous &&
           !kernel->doubts_flags && kernel->flag_rule == NULL;
}

bool
lw_run_is_short(const lw_run *r, int64_t n)
{
    return would_be_short(r, n) && lw_run_has_strided(r->kernel);
}

bool
lw_run_wants_strided(const lw_run *r, int64_t n)
{
    return would_be_short(r, n) || is_faster_in_place(r);
}

void
lw_run_span(lw_run *r, int64_t n)
{
    if ((n <= LW_HOST_FEW && r->kernel->plain && lw_run_has_strided(r->kernel)) ||
        lw_run_is_short(r, n))
        lw_run_note(r, r->kernel->strided(r->args, n, r->strides), 0);
    else
        lw_run_in_any_order(r, 0, n);
}

/* ---- strictly in order ---- */

/* Where a rule looks at the inputs, each element is run after the one before has been stored.
 */
bool
lw_run_in_order(void *run, int64_t begin, int64_t end)
{
    lw_run *r = run;
    lw_host_kernel *kernel = r->kernel;
    int64_t most = kernel->flag_rule != NULL ? 1 : end - begin;
    char *args[LW_MAX_ARGS];

    if (!lw_run_has_strided(kernel)) {
        _Alignas(64) char scratch[LW_HOST_SCRATCH];
        for (int64_t i = begin; i < end; i++)
            block_through_scratch(r, i, 1, r->kernel->block, scratch, false);
        return true;
    }
    for (int64_t at = begin; at < end; at += most) {
        unsigned start;
        int before;
        raise_by_rule(kernel, r->args, r->strides, at, most);
        advance(r, at, args);
        start = lw_run_class_of_start(kernel, r->args, r->strides); /* which do not move */
        before = kernel->doubts_flags ? lw_flags_raised() : 0;
        lw_run_note(r, kernel->strided(args, most, r->strides), at);
        if (kernel->doubts_flags)
            lw_run_settle_flags_in_order(kernel, before, start, args, r->strides, most);
    }
    return true;
}
