/* Running the folds of reduce, accumulate and reduceat: the output of an element is the first
 * input of the next one.
 *
 * From left to right, compiled code keeps the result in registers. Where elements may change
 * places (lw_fold_kind), a reduction is divided into blocks: the wide entry reduces a block to
 * one number in four vectors, and the numbers of blocks are combined in a binary tree of
 * neighbours, as in T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the
 * sample variance", 1983, so that the error of a sum grows with the logarithm of the number of
 * blocks. The order depends only on n: neither on strides, nor on the processor. */
#include "ufunc/host_internal.h"

#include "core/base/elements.h"
#include "core/host/flags.h"
#include "core/host/raise_note.h"

#include <string.h>

enum {
    BLOCK = 2048,        /* elements at most, … */
    BLOCK_BYTES = 16384, /* … which are gathered in the L1 cache */
    AT_ONCE = 32,        /* blocks between two looks at Ctrl-C */
    LEVELS = 63,         /* of the tree of blocks */
    IN_ORDER = 1 << 16,  /* elements between two looks */
};

typedef struct item {
    uint64_t half[2];
} item;

typedef struct fold {
    lw_host_kernel *kernel;
    char *const *args;
    const int64_t *strides;
    lw_host_failure *failure; /* from left to right: of the first element that raised */
    int64_t key;
    int64_t block; /* elements */
    item *level;   /* of 2^k blocks each, where bit k of n_blocks is set */
    int64_t n_blocks;
} fold;

bool
lw_host_is_fold(char *const *args, const int64_t *strides)
{
    return args[0] + strides[0] == args[2] && strides[0] == strides[2];
}

/* acc = f(acc, x) for n elements, `step` bytes apart. */
static void
take(const fold *f, void *acc, const char *x, int64_t step, int64_t n)
{
    char *args[3] = {acc, (char *)x, acc};
    const int64_t strides[3] = {0, step, 0};

    f->kernel->strided(args, n, strides);
}

static item
reduce_block(const fold *f, const char *x, int64_t n)
{
    _Alignas(64) char gathered[BLOCK_BYTES];
    uint32_t size = f->kernel->size[1];
    int64_t step =
        LW_FOLD_VECTORS * (int64_t)lw_host_fold_elements((lw_dtype)f->kernel->dtype[1]);
    int64_t whole = n / step * step;
    item total = {{0}};

    if (f->strides[1] != size) {
        lw_elements_gather(gathered, x, f->strides[1], size, n);
        x = gathered;
    }
    if (whole > 0) {
        char *args[3] = {(char *)&total, (char *)x, (char *)&total};
        f->kernel->wide(args, whole);
    } else {
        memcpy(&total, x, size);
        whole = 1;
    }
    if (whole < n)
        take(f, &total, x + whole * size, size, n - whole);
    return total;
}

/* Puts a block's total into the tree. */
static void
push(fold *f, item total)
{
    int k = 0;

    for (; f->n_blocks >> k & 1; k++) {
        take(f, &f->level[k], (const char *)&total, 0, 1);
        total = f->level[k];
    }
    f->level[k] = total;
    f->n_blocks++;
}

static bool
some_blocks(void *context, int64_t begin, int64_t end)
{
    fold *f = context;

    for (int64_t i = begin; i < end; i += f->block)
        push(f, reduce_block(f, f->args[1] + i * f->strides[1],
                             end - i < f->block ? end - i : f->block));
    return true;
}

static void
fold_blocks(fold *f, int64_t n, lw_stop *stop)
{
    item level[LEVELS], total;
    int k = 0;

    f->level = level;
    lw_in_pieces(stop, 0, n, AT_ONCE * f->block, f->block, some_blocks, f);
    while (k < LEVELS && !(f->n_blocks >> k & 1))
        k++;
    if (k == LEVELS) /* Ctrl-C came first */
        return;
    for (total = level[k++]; f->n_blocks >> k != 0; k++)
        if (f->n_blocks >> k & 1) {
            take(f, &level[k], (const char *)&total, 0, 1);
            total = level[k];
        }
    take(f, f->args[0], (const char *)&total, 0, 1);
}

static bool
some_in_order(void *context, int64_t begin, int64_t end)
{
    fold *f = context;
    char *args[3];
    int64_t key;

    for (int k = 0; k < 3; k++)
        args[k] = f->args[k] + begin * f->strides[k];
    key = f->kernel->strided(args, end - begin, f->strides);
    if (key != INT64_MAX && f->key == INT64_MAX) {
        f->key = key + begin * (1 << LW_HOST_ROW_BITS);
        if (f->kernel->carries)
            lw_raise_noted(f->failure->words);
    }
    return true;
}

static void
fold_in_order(fold *f, int64_t n, lw_stop *stop)
{
    if (n <= IN_ORDER)
        some_in_order(f, 0, n);
    else
        lw_in_pieces(stop, 0, n, IN_ORDER, 1, some_in_order, f);
    if (f->key == INT64_MAX)
        return;
    f->failure->row = (uint32_t)(f->key & ((1 << LW_HOST_ROW_BITS) - 1));
    f->failure->element = f->key >> LW_HOST_ROW_BITS;
}

void
lw_host_run_fold(lw_host_kernel *kernel, char *const *args, int64_t n, const int64_t *strides,
                 lw_stop *stop, lw_host_failure *failure)
{
    fold f = {.kernel = kernel,
              .args = args,
              .strides = strides,
              .failure = failure,
              .key = INT64_MAX,
              .block = kernel->size[1] > BLOCK_BYTES / BLOCK ? BLOCK_BYTES / kernel->size[1]
                                                             : BLOCK};
    unsigned start = lw_run_class_of_start(kernel, args, strides);
    int before = kernel->doubts_flags ? lw_flags_raised() : 0;

    failure->row = 0;
    if (kernel->wide == NULL || strides[0] != 0 || n < LW_FOLD_MANY) {
        fold_in_order(&f, n, stop);
    } else if (n <= f.block) {
        item total = reduce_block(&f, args[1], n);
        take(&f, args[0], (const char *)&total, 0, 1);
    } else {
        fold_blocks(&f, n, stop);
    }
    if (kernel->doubts_flags)
        lw_run_settle_flags_in_order(kernel, before, start, args, strides, n);
}
