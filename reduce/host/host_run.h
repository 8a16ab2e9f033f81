/* Running a reduction over host memory: shapes and strides -> blocks, chunks, threads. Pure C.
 *
 * What is added to what follows from the shape alone: elements to blocks of fixed size, these
 * to chunks, and those, in a tree, to the result; so the bits do not depend on the number of
 * threads. Blocks of an operator whose elements may change places go to independent lanes. */
#ifndef LW_REDUCE_HOST_HOST_RUN_H
#define LW_REDUCE_HOST_HOST_RUN_H

#include "core/host/pieces.h"
#include "reduce/host/host_kernel.h"

enum { LW_REDUCE_DIMS = 64 };

typedef struct lw_reduce_space { /* dimensions, outermost first */
    int n;
    int64_t size[LW_REDUCE_DIMS];
    int64_t stride[LW_REDUCE_MOST + 1][LW_REDUCE_DIMS]; /* bytes; by operand, then the mask */
} lw_reduce_space;

typedef struct lw_reduce_job {
    const lw_reduction *reduction;
    const lw_reduce_code *code;
    lw_reduce_space kept, reduced;
    char *operand[LW_REDUCE_MOST + 1]; /* [n_in]: the mask (bool), or NULL */
    char *out[LW_REDUCE_MOST];         /* contiguous over kept; a scan's over kept, reduced */
    const lw_reduce_item *initial;     /* numbers of an accumulator, or NULL */
    uint32_t max_threads;              /* a block of a GPU; 0: no limit */
    lw_stop *stop;                     /* Ctrl-C; or NULL */
    const lw_reduce_item *empty;       /* what nothing at all gives; NULL: there is something */
    /* The mask is the last operand of a lw_reduction_masked, and elements that are left out are
     * this; NULL: it is none. */
    const lw_reduce_item *neutral;
} lw_reduce_job;

/* Merges dimensions that are walked through as one; where elements may change places, those of
 * the reduced space are sorted first. */
void lw_reduce_simplify(lw_reduce_job *job);
/* Both may rearrange the job's spaces. LW_ERR_OUT_OF_MEMORY, or LW_ERR_PYTHON where job->stop
 * ended it, at most. */
lw_status lw_reduce_run(lw_reduce_job *job, lw_error *err);
/* Results on the way, along the one dimension of `reduced`; no mask. before: each without its
 * own element; the first is `empty`. The results' strides (bytes) follow the spaces. */
lw_status lw_reduce_scan_run(lw_reduce_job *job, const lw_reduce_space *results, bool before,
                             lw_error *err);
/* Slices of the one dimension of `reduced`, from each of the n indices up to the next, or of
 * one element; no mask. Results are in C order, outer × slices × inner: `inner` elements of
 * `kept` lie behind the axis. */
lw_status lw_reduce_slices_run(lw_reduce_job *job, const int64_t *index, int64_t n,
                               int64_t inner);

#endif
