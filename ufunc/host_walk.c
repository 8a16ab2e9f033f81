/* Runs over a walk of several dimensions, on all cores. NumPy's iterator calls a loop for one
 * row after the other, on one thread, and each row by itself is too short to be shared.
 *
 * There are three ways, and the value of an element depends on none of them:
 * - spans: a row, or a part of one, is run where it is.
 * - blocks: several short rows, or rows of inputs that are converted, are copied to scratch
 *   memory and run as one block.
 * - transposed: where an input is contiguous along another dimension than the outputs,
 *   rectangles of it are transposed in scratch memory, so that each cache line is used
 *   completely when it is fetched. */
#include "ufunc/host_internal.h"

#include "core/base/divider.h"
#include "core/base/elements.h"
#include "core/plan/walk.h"

#include <assert.h>
#include <string.h>

enum {
    SHORT_ROW = 48,          /* elements of a row that is not worth a span of its own */
    STREAMED_ROW = 16 * 1024 /* bytes of an output's row that may be written past the caches */
};

/* Where a rectangle begins, and how many elements it has of the dimensions 0 and 1. */
typedef struct rectangle {
    int64_t index[LW_WALK_DIMS], n[2];
} rectangle;

typedef struct walk_run {
    lw_run whole;
    const lw_walk *walk;
    bool masked;
    const lw_converter *converters; /* of inputs; or NULL */
    bool transposed[LW_MAX_ARGS];   /* inputs that are transposed */
    /* Of the dimensions 0 and 1: how long a rectangle is, and how many of them there are. */
    int64_t sides[2], counts[2];
    void (*run_rectangle)(struct walk_run *w, const rectangle *one, char *scratch);
} walk_run;

/* ---- spans ---- */

/* The run of a part of the walk on this thread, from its element `at` on. */
static lw_run
part_of(walk_run *w, char *const *args, const int64_t *strides, int64_t at)
{
    return (lw_run){.kernel = w->whole.kernel,
                    .args = args,
                    .strides = strides,
                    .contiguous = w->whole.contiguous,
                    .in_place = w->whole.in_place,
                    .streams = w->whole.streams,
                    .first = INT64_MAX,
                    .mask_step = w->whole.mask_step,
                    .whole = &w->whole,
                    .at = at};
}

static bool
spans(void *context, int64_t begin, int64_t end)
{
    walk_run *w = context;
    const lw_walk *walk = w->walk;
    int64_t index[LW_WALK_DIMS] = {0};
    char *args[LW_MAX_ARGS + 1];

    lw_walk_place(walk, begin, index);
    for (int k = 0; k < walk->n_operands; k++)
        args[k] = lw_walk_address(walk, k, index);
    while (begin < end) {
        int64_t n = lw_least(walk->shape[0] - index[0], end - begin);
        lw_run r = part_of(w, args, w->whole.strides, begin);

        if (w->masked) {
            r.mask = args[w->whole.kernel->n];
            lw_run_masked_span(&r, n);
        } else
            lw_run_span(&r, n);
        begin += n;
        lw_walk_next_row(walk, index, args);
    }
    return true;
}

/* ---- rectangles of two dimensions ---- */

static rectangle
rectangle_at(const walk_run *w, int64_t at)
{
    const lw_walk *walk = w->walk;
    rectangle one = {.index = {0}};

    for (int d = 0; d < walk->ndim; d++) {
        int64_t count = d < 2 ? w->counts[d] : walk->shape[d];
        one.index[d] = at % count * (d < 2 ? w->sides[d] : 1);
        at /= count;
    }
    for (int d = 0; d < 2; d++)
        one.n[d] = lw_least(walk->shape[d] - one.index[d], w->sides[d]);
    return one;
}

/* The number of a rectangle's first element in the walk. */
static int64_t
number_of(const walk_run *w, const rectangle *one)
{
    int64_t at = 0;

    for (int d = w->walk->ndim; d-- > 0;)
        at = at * w->walk->shape[d] + one->index[d];
    return at;
}

/* ---- transposed inputs ---- */

/* Operands that are not transposed are run where they are. */
static void
run_transposed(walk_run *w, const rectangle *one, char *scratch)
{
    const lw_walk *walk = w->walk;
    const lw_host_kernel *kernel = w->whole.kernel;
    char *first[LW_MAX_ARGS], *args[LW_MAX_ARGS];
    int64_t step[LW_MAX_ARGS];
    int n_args = kernel->n;

    for (int k = 0; k < n_args; k++) {
        first[k] = lw_walk_address(walk, k, one->index);
        step[k] = walk->operands[k].strides[1];
        if (!w->transposed[k])
            continue;
        lw_elements_transpose(scratch, first[k], walk->operands[k].strides, kernel->size[k],
                              one->n);
        first[k] = scratch;
        step[k] = one->n[0] * kernel->size[k];
        scratch += w->sides[0] * w->sides[1] * kernel->size[k];
    }
    for (int64_t j = 0; j < one->n[1]; j++) {
        lw_run r = part_of(w, args, w->whole.strides, number_of(w, one) + j * walk->shape[0]);
        for (int k = 0; k < n_args; k++)
            args[k] = first[k] + j * step[k];
        lw_run_span(&r, one->n[0]);
    }
}

/* The length of equal parts of n elements, `most` at most, for whole vectors. */
static int64_t
even_part(int64_t n, int64_t most)
{
    enum { WHOLE = 16 };
    int64_t part = lw_divide_up(n, lw_divide_up(n, most));

    return lw_least(lw_round_up(part, WHOLE), most);
}

/* Chooses the inputs to transpose, and how large their rectangles are. false: there are none,
 * or so many that rectangles would be small; then nothing has been changed. */
static bool
choose_transposed(walk_run *w, lw_walk *walk)
{
    const lw_host_kernel *kernel = w->whole.kernel;
    bool transposed[LW_MAX_ARGS] = {false};
    uint32_t smallest = 16, bytes = 0;
    int64_t columns, rows;
    int across = 0;

    for (int k = 0; k < kernel->nin && across == 0; k++)
        across = lw_walk_across(walk, k, kernel->size[k]);
    if (across == 0)
        return false;
    for (int k = 0; k < kernel->nin; k++) {
        transposed[k] = lw_walk_across(walk, k, kernel->size[k]) == across;
        if (!transposed[k])
            continue;
        bytes += kernel->size[k];
        smallest = kernel->size[k] < smallest ? kernel->size[k] : smallest;
    }
    assert(bytes > 0);
    rows = 2 * LW_WALK_LINE / smallest;
    columns = LW_HOST_SCRATCH / bytes / rows;
    if (columns < SHORT_ROW)
        return false;
    if (across > 1)
        lw_walk_swap(walk, 1, across);
    memcpy(w->transposed, transposed, sizeof w->transposed);
    w->sides[0] = even_part(walk->shape[0], columns);
    w->sides[1] = even_part(walk->shape[1], rows);
    return true;
}

/* ---- short rows, and inputs of other types ---- */

/* NULL: the elements are of the loop's type. */
static lw_converter
converter_of(const walk_run *w, int k)
{
    return w->converters != NULL && k < w->whole.kernel->nin ? w->converters[k] : NULL;
}

/* Whether the kernel can run a rectangle's elements of an operand where they are. */
static bool
is_packed(const walk_run *w, const rectangle *one, int k)
{
    const lw_walk_operand *operand = &w->walk->operands[k];
    int64_t size = w->whole.kernel->size[k];

    return !w->whole.in_place && converter_of(w, k) == NULL && operand->strides[0] == size &&
           (one->n[1] == 1 || operand->strides[1] == size * one->n[0]);
}

static void
gather_rows(const walk_run *w, const rectangle *one, int k, char *packed, char *from)
{
    const int64_t *strides = w->walk->operands[k].strides;
    lw_converter convert = converter_of(w, k);
    uint32_t size = w->whole.kernel->size[k];

    if (convert == NULL) {
        lw_elements_gather_rows(packed, from, strides, size, one->n);
        return;
    }
    for (int64_t j = 0; j < one->n[1]; j++)
        convert(packed + j * one->n[0] * size, from + j * strides[1], strides[0], one->n[0]);
}

/* Runs several whole rows, or a part of one, as a block. */
static void
run_rows(walk_run *w, const rectangle *one, char *scratch)
{
    const lw_walk *walk = w->walk;
    const lw_host_kernel *kernel = w->whole.kernel;
    int n_args = kernel->n;
    int64_t n = one->n[0] * one->n[1], key;
    bool whole = kernel->takes_any || n % LW_HOST_BLOCK == 0;
    char *first[LW_MAX_ARGS], *work[LW_MAX_ARGS];

    for (int k = 0; k < n_args; k++) {
        first[k] = lw_walk_address(walk, k, one->index);
        work[k] = whole && is_packed(w, one, k) ? first[k] : scratch;
        scratch += kernel->block * kernel->size[k];
        if (k < kernel->nin && work[k] != first[k])
            gather_rows(w, one, k, work[k], first[k]);
    }
    key = lw_run_block(&w->whole, work, (uint32_t)n);
    if (key != INT64_MAX) /* the elements of a block follow each other in the walk */
        lw_run_note(&w->whole, key, number_of(w, one));
    for (int k = kernel->nin; k < n_args; k++)
        if (work[k] != first[k])
            lw_elements_scatter_rows(first[k], walk->operands[k].strides, work[k],
                                     kernel->size[k], one->n);
}

/* ---- runs ---- */

static bool
rectangles(void *context, int64_t begin, int64_t end)
{
    _Alignas(64) char scratch[LW_HOST_SCRATCH];
    walk_run *w = context;

    for (int64_t at = begin; at < end; at++) {
        rectangle one = rectangle_at(w, at);
        w->run_rectangle(w, &one, scratch);
    }
    return true;
}

bool
lw_host_may_walk(const lw_host_kernel *kernel, bool masked)
{
    return !kernel->watched && !kernel->prints && (!masked || kernel->flag_rule == NULL);
}

bool
lw_host_walk_lacks_strided(lw_host_kernel *kernel, const lw_walk *walk)
{
    int64_t strides[LW_MAX_ARGS];
    lw_run r = {.kernel = kernel, .strides = strides};

    if (walk->ndim == 0 || lw_run_has_strided(kernel))
        return false;
    for (int k = 0; k < kernel->n; k++)
        strides[k] = walk->operands[k].strides[0];
    r.contiguous = lw_run_is_contiguous(kernel, strides);
    return lw_run_wants_strided(&r, walk->shape[0]);
}

bool
lw_host_is_long(const lw_host_kernel *kernel, int64_t n)
{
    uint32_t cost = kernel->cost_ps;

    return cost == 0 || lw_work_pays((double)n * cost);
}

/* Whether to run rectangles and no spans. Chooses their size, and how they are run. */
static bool
choose_rectangles(walk_run *w, lw_walk *walk)
{
    if (w->converters != NULL || (!w->masked && walk->ndim > 1 && walk->shape[0] < SHORT_ROW)) {
        w->run_rectangle = run_rows;
        w->sides[0] = lw_least(walk->shape[0], w->whole.kernel->block);
        w->sides[1] = w->sides[0] < walk->shape[0] ? 1 : w->whole.kernel->block / w->sides[0];
    } else if (w->masked || walk->ndim < 2)
        return false;
    else if (choose_transposed(w, walk))
        w->run_rectangle = run_transposed;
    else
        return false;
    for (int d = 0; d < 2; d++) {
        w->sides[d] = lw_least(w->sides[d], walk->shape[d]);
        w->counts[d] = lw_divide_up(walk->shape[d], w->sides[d]);
    }
    return true;
}

/* Adds a dimension of one element, as a rectangle has two. */
static void
add_dimension(lw_walk *walk)
{
    walk->shape[walk->ndim] = 1;
    for (int k = 0; k < walk->n_operands; k++)
        walk->operands[k].strides[walk->ndim] = 0;
    walk->ndim++;
}

static bool
outputs_apart(const lw_host_kernel *kernel, const lw_walk *walk)
{
    uint32_t bytes[LW_MAX_ARGS + 1];

    for (int k = 0; k < kernel->n; k++)
        bytes[k] = kernel->size[k];
    bytes[kernel->n] = 1;
    return lw_walk_outputs_apart(walk, bytes);
}

/* The item of each output in the middle of all dimensions. */
static void
find_middle(const lw_host_kernel *kernel, const lw_walk *walk, char **middle)
{
    for (int k = kernel->nin; k < kernel->n; k++) {
        const lw_walk_operand *operand = &walk->operands[k];
        int64_t offset = 0;
        for (int d = 0; d < walk->ndim; d++)
            offset += walk->shape[d] / 2 * operand->strides[d];
        middle[k] = (char *)(uintptr_t)operand->data + offset;
    }
}

void
lw_host_run_walk(lw_host_kernel *kernel, lw_walk *walk, bool masked,
                 const lw_converter *converters, lw_stop *stop, lw_host_failure *failure)
{
    enum { MOVED_PS = 2000 }; /* about what gathering and scattering an element takes */
    _Atomic uint32_t masked_ps = kernel->cost_ps ? kernel->cost_ps + MOVED_PS : 0;
    lw_work work = lw_run_work(kernel, walk->n, stop);
    int64_t strides[LW_MAX_ARGS];
    char *middle[LW_MAX_ARGS];
    walk_run w = {.whole = {.kernel = kernel, .strides = strides, .first = INT64_MAX},
                  .walk = walk,
                  .masked = masked,
                  .converters = converters};

    failure->row = 0;
    if (walk->n == 0)
        return;
    work.body = spans;
    work.context = &w;
    work.cost_ps = masked ? &masked_ps : &kernel->walk_ps;
    if (walk->ndim == 0)
        lw_walk_single(walk);
    if (converters != NULL && walk->ndim == 1)
        add_dimension(walk);
    w.whole.in_place = !outputs_apart(kernel, walk);
    if (choose_rectangles(&w, walk)) {
        work.body = rectangles;
        work.steps = w.sides[0] * w.sides[1];
        work.n = w.counts[0] * w.counts[1];
        for (int d = 2; d < walk->ndim; d++)
            work.n *= walk->shape[d];
        work.unit = 1;
        work.line = 0;
    }
    for (int k = 0; k < kernel->n; k++)
        strides[k] = w.transposed[k] ? kernel->size[k] : walk->operands[k].strides[0];
    w.whole.contiguous = lw_run_is_contiguous(kernel, strides);
    find_middle(kernel, walk, middle);
    w.whole.streams = work.body == spans && !masked && !w.whole.in_place &&
                      walk->shape[0] * kernel->size[kernel->nin] >= STREAMED_ROW &&
                      lw_run_may_stream(&w.whole, walk->n, middle);
    w.whole.mask_step = masked ? walk->operands[kernel->n].strides[0] : 0;
    lw_work_run(&work);
    lw_run_tell(&w.whole, failure);
}
