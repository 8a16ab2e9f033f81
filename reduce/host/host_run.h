/* Running a reduction of host memory: shapes and strides become blocks, chunks and work for
 * threads. Pure C.
 *
 * What is combined with what follows from the shape alone: elements make blocks of a fixed
 * size, blocks make chunks, and chunks, in a tree, the result. So the bits do not depend on the
 * number of threads. If elements may be reordered, those of a block go to independent lanes. */
#ifndef LW_REDUCE_HOST_HOST_RUN_H
#define LW_REDUCE_HOST_HOST_RUN_H

#include "core/host/pieces.h"
#include "reduce/host/host_kernel.h"

enum { LW_REDUCE_DIMS = 64 };

typedef struct lw_reduce_space { /* dimensions, outermost first */
    int n;
    int64_t size[LW_REDUCE_DIMS];
    int64_t stride[LW_REDUCE_MOST + 1]
                  [LW_REDUCE_DIMS]; /* in bytes, by operand; the mask is the last one */
} lw_reduce_space;

/* Elements. */
static inline int64_t
lw_reduce_space_size(const lw_reduce_space *space)
{
    int64_t n = 1;

    for (int d = 0; d < space->n; d++)
        n *= space->size[d];
    return n;
}

typedef struct lw_reduce_job {
    const lw_reduction *reduction;
    lw_reduce_code *code;              /* nothing of it changes but the costs that it learns */
    char *operand[LW_REDUCE_MOST + 1]; /* [n_in]: the mask (bools), or NULL */
    char *out[LW_REDUCE_MOST];     /* contiguous over `kept`; those of a scan over `kept`, then
                                      `reduced` */
    const lw_reduce_item *initial; /* comes before the first element; or NULL */
    uint32_t max_threads;          /* of a block of a GPU; 0: no limit */
    bool here; /* few elements, none of which takes long: this thread alone, and no Ctrl-C */
    lw_stop *stop;               /* where Ctrl-C is looked for; or NULL */
    const lw_reduce_item *empty; /* the accumulator of no elements; NULL: there are elements */
    /* For a lw_reduction_masked, whose last operand is the mask: what elements that are left
     * out count as; else NULL. */
    const lw_reduce_item *neutral;
    lw_reduce_space kept, reduced; /* at the end: many bytes, of which most are not used */
} lw_reduce_job;

/* The elements of a block: rows of `width` lanes, as many as can be gathered. */
int64_t lw_reduce_block_of(const lw_reduction *r, uint32_t width);
/* Merges dimensions that can be walked as one. Where elements may be reordered, the dimensions
 * of the reduced space are sorted first. */
void lw_reduce_simplify(lw_reduce_job *job);
/* Runs the job; may rearrange its spaces, as the next function may. Fails with
 * LW_ERR_OUT_OF_MEMORY, or with LW_ERR_PYTHON where job->stop ended it. */
lw_status lw_reduce_run(lw_reduce_job *job, lw_error *err);
/* The same for n > 0 contiguous elements of the only operand that make one result, where few
 * calls of compiled code do all of it. False: nothing has happened, and the job is to be run.
 */
bool lw_reduce_run_few(const lw_reduction *r, const lw_reduce_code *code, const char *in,
                       int64_t n, char *out);
/* Whether n contiguous elements are work for one thread, however long they take. way: ROWS, or
 * IN_ORDER of a scan. */
bool lw_reduce_is_undivided(const lw_reduce_code *code, lw_reduce_way way, int64_t n);
/* Prefix sums along the only dimension of `reduced`; there is no mask. before: results do not
 * include their own element, and the first is `empty`. results: their strides (bytes), along
 * `kept` and then `reduced`. */
lw_status lw_reduce_scan_run(lw_reduce_job *job, const lw_reduce_space *results, bool before,
                             lw_error *err);
/* Reduces slices of the only dimension of `reduced`, from each of the n indices up to the next,
 * or of one element; there is no mask. Results are in C order, outer × slices × inner, where
 * `inner` elements of `kept` lie behind the axis. */
lw_status lw_reduce_slices_run(lw_reduce_job *job, const int64_t *index, int64_t n,
                               int64_t inner);

#endif
