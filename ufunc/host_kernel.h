/* Scalar IR -> a loop over host memory, and running it. Pure C; needs no GIL.
 *
 * Two shapes of compiled code, so that results never depend on an element's position, on the
 * layout or on the number of threads:
 *   plain   no library's vector function is called: an element's value is the same in any
 *           loop. lw_loop_contiguous takes any n; lw_loop_strided runs strictly in order,
 *           which makes reductions and every overlap right. It is compiled when a run is
 *           faster with it; until then, such runs are made of other calls.
 *   block   libmvec is used, whose results differ from scalar libm's: only
 *           lw_loop_contiguous exists, for multiples of LW_HOST_BLOCK; tails and strided
 *           data go through padded buffers. */
#ifndef LW_UFUNC_HOST_KERNEL_H
#define LW_UFUNC_HOST_KERNEL_H

#include "core/host/pieces.h"
#include "ufunc/ufunc.h"

/* Elements of a block: every vector width times interleave that LLVM picks divides it. */
#define LW_HOST_BLOCK 16

typedef struct lw_host_kernel lw_host_kernel;
/* Converts n elements, `stride` bytes apart, to another type; the results are contiguous. */
typedef void (*lw_converter)(char *out, const char *in, int64_t stride, int64_t n);
/* The one for a cast that NumPy calls safe; or NULL. */
lw_converter lw_host_converter(lw_dtype from, lw_dtype to);
struct lw_walk;

/* What an element raised. */
typedef struct lw_host_failure {
    int64_t element;                /* counted from the start of the run */
    uint32_t row;                   /* index into scalar->raises, + 1; 0: nothing was raised */
    uint64_t words[LW_RAISE_WORDS]; /* what it carries */
} lw_host_failure;

/* The inputs as they stand: no excluded arrays. */
void lw_uniforms_none(lw_uniforms *out, int nin);
/* The IR of the loops; also what inspection and ahead-of-time compilation print. */
lw_status lw_host_module(const lw_loop *loop, bool precise, lw_module **out, lw_error *err);
/* Compile, or take from the cache. `name` is the Python function's. The GIL is not held. */
lw_status lw_host_kernel_new(const lw_loop *loop, const lw_build_options *options,
                             lw_host_kernel **out, lw_build_report *report, lw_error *err);
/* Whether a run waits for the loop that runs strictly in order, which the kernel lacks. Short
 * runs are made without it at first. */
bool lw_host_lacks_strided(lw_host_kernel *kernel, char *const *args, int64_t n,
                           const int64_t *strides);
/* The same of a run over a walk (lw_host_run_walk). */
bool lw_host_walk_lacks_strided(lw_host_kernel *kernel, const struct lw_walk *walk);
/* Compiles that loop, from what the kernel was made of. */
lw_status lw_host_add_strided(lw_host_kernel *kernel, const lw_loop *loop,
                              const lw_build_options *options, lw_build_report *report,
                              lw_error *err);
/* The loop of at(): a[index[i]] = f(a[index[i]], b[i]), one element after the other; only for
 * functions of two operands that may (lw_host_may_index). */
bool lw_host_may_index(const lw_loop *loop);
lw_status lw_host_indexed_new(const lw_loop *loop, const lw_build_options *options,
                              lw_host_kernel **out, lw_build_report *report, lw_error *err);
/* How a function of two operands may be folded: a = f(a, b[i]) for one i after the other, with
 * the result kept in registers. */
typedef enum lw_fold_kind {
    LW_FOLD_UNKNOWN,
    LW_FOLD_NEVER,    /* by the loops above only */
    LW_FOLD_IN_ORDER, /* from left to right */
    LW_FOLD_SUMS,     /* a sum of floats or complex numbers: many elements are added in an order
                         of its own, as NumPy's `add` adds pairwise */
    LW_FOLD_EXACT     /* elements may change places: no result depends on their order */
} lw_fold_kind;

/* Many: as far as the bits of a sum are concerned. */
enum { LW_FOLD_MANY = 256 };

lw_status lw_host_fold_kind(const lw_loop *loop, lw_fold_kind *out, lw_error *err);
lw_status lw_host_fold_new(const lw_loop *loop, const lw_build_options *options,
                           lw_host_kernel **out, lw_build_report *report, lw_error *err);
void lw_host_kernel_free(lw_host_kernel *kernel); /* NULL is allowed */
size_t lw_host_kernel_code_size(const lw_host_kernel *kernel);

/* Run over n elements: args and strides (bytes) as NumPy gives them to a loop. Floating-point
 * flags raised by the run are those that NumPy would report; the flags that stood before stay.
 * failure is filled when the function can raise. stop: see core/host/pieces.h; or NULL. */
void lw_host_run(lw_host_kernel *kernel, char *const *args, int64_t n, const int64_t *strides,
                 lw_stop *stop, lw_host_failure *failure);
/* Whether the kernel may run over a walk. */
bool lw_host_may_walk(const lw_host_kernel *kernel, bool masked);
/* Whether a run of n elements takes long enough on one thread to be shared. It may do so as
 * long as the cost of an element is not known. */
bool lw_host_is_long(const lw_host_kernel *kernel, int64_t n);
/* Runs over a walk that is sorted and merged, on all cores. Its operands are inputs, outputs,
 * and where `masked` a mask, a byte for each element; elements where the byte is 0 are neither
 * read nor written. An output may share memory with an input only element by element, and its
 * elements are apart from each other. failure->element is a number in the walk, whose
 * dimensions this may exchange. converters: for each input, what converts its elements to the
 * loop's type, or NULL where they have it; or NULL for all, as always where `masked`. */
void lw_host_run_walk(lw_host_kernel *kernel, struct lw_walk *walk, bool masked,
                      const lw_converter *converters, lw_stop *stop, lw_host_failure *failure);
/* As lw_host_run with lw_host_indexed_new's code, for at(): args are the array, the indices and
 * the values; strides theirs in bytes, and the length of the array, which is added to negative
 * indices. */
void lw_host_run_indexed(lw_host_kernel *kernel, char *const *args, int64_t n,
                         const int64_t *strides, lw_host_failure *failure);
/* The same with lw_host_fold_new's code, for a run in which the output of an element is the
 * first input of the next one (lw_host_is_fold). The first input of a reduction has stride 0.
 */
bool lw_host_is_fold(char *const *args, const int64_t *strides);
void lw_host_run_fold(lw_host_kernel *kernel, char *const *args, int64_t n,
                      const int64_t *strides, lw_stop *stop, lw_host_failure *failure);

#endif
