/* What the files of host loops share: host_kernel.c, which compiles them, and host_run.c,
 * host_span.c, host_masked.c, host_walk.c and host_fold.c, which run them. */
#ifndef LW_UFUNC_HOST_INTERNAL_H
#define LW_UFUNC_HOST_INTERNAL_H

#include "core/host/schedule.h"
#include "ufunc/host_flags.h"
#include "ufunc/host_kernel.h"

#include <stdatomic.h>

/* The compiled entries. They give INT64_MAX, or element << LW_HOST_ROW_BITS | row of the first
 * element that raised; kernels that cannot raise always give INT64_MAX. */
typedef int64_t (*lw_contiguous_entry)(char *const *args, int64_t n);
typedef int64_t (*lw_strided_entry)(char *const *args, int64_t n, const int64_t *strides);

#define LW_HOST_ROW_BITS 16

/* Elements that are run in order, without a look at their layout. */
#define LW_HOST_FEW 4

struct lw_host_kernel {
    lw_code *code;
    lw_contiguous_entry contiguous;
    bool takes_any; /* `contiguous` takes any number of elements; else it is a block kernel */
    /* Strictly in order. NULL: a block kernel, or one of which it has not been compiled yet. */
    _Atomic(lw_strided_entry) strided;
    _Atomic(lw_code *) strided_code; /* if it was compiled later: lw_host_add_strided */
    _Atomic uint32_t n_without;      /* short runs for which it would have been faster */
    lw_contiguous_entry wide; /* of a fold: see host_fold.c; NULL: always from left to right */
    int nin, n;               /* inputs, all operands */
    bool can_raise;
    bool carries;              /* exceptions carry numbers: see core/host/raise_note.h */
    bool prints;               /* elements run in order, on one thread */
    bool watched;              /* accesses are told to lw_race_access */
    bool touches_flags;        /* some float operation may raise floating-point flags */
    bool doubts_flags;         /* and may raise ones that NumPy would not: look at the values */
    bool float_outputs;        /* some output can be NaN or infinite */
    bool has_loop;             /* the body's cost is anyone's guess */
    bool is_light;             /* as lw_module.is_light says */
    bool plain;                /* in order, any run is right: there is no more to do */
    lw_flag_rule flag_rule;    /* flags that the code does not raise and NumPy would; or NULL */
    uint32_t block;            /* elements gathered at a time */
    _Atomic uint32_t cost_ps;  /* of an element: estimated, then measured; 0: not known */
    _Atomic uint32_t walk_ps;  /* the same in runs over a walk */
    uint8_t size[LW_MAX_ARGS]; /* 0: a part of an excluded array, the same for all elements */
    uint8_t dtype[LW_MAX_ARGS];
};

/* Scratch on the stack of a run: all operands' gathered blocks together. */
#define LW_HOST_SCRATCH 32768

/* What the wide entry of a fold takes at a time: four vectors, and the elements of each, which
 * do not depend on the processor, so that the bits of a sum do not. */
enum { LW_FOLD_VECTORS = 4 };
unsigned lw_host_fold_elements(lw_dtype dtype);

/* A run over elements at equal distances, or a span of a run over a walk. */
typedef struct lw_run {
    lw_host_kernel *kernel;
    char *const *args;
    const int64_t *strides;
    lw_stop *stop;
    bool contiguous;                /* every stride is its itemsize */
    bool in_place;                  /* an output is exactly an input */
    bool streams;                   /* outputs are contiguous, and written past the caches */
    _Atomic int64_t first;          /* element << LW_HOST_ROW_BITS | row of the first failure */
    uint64_t words[LW_RAISE_WORDS]; /* what its exception carries */
    const char *mask;               /* of where=; else NULL */
    int64_t mask_step;
    struct lw_run *whole; /* of a span: the run that gets its failures; else NULL */
    int64_t at;           /* of a span: its first element's number in that run */
} lw_run;

static inline bool
lw_run_has_strided(lw_host_kernel *kernel)
{
    return atomic_load_explicit(&kernel->strided, memory_order_acquire) != NULL;
}

/* ---- host_run.c ---- */

bool lw_run_is_contiguous(const lw_host_kernel *kernel, const int64_t *strides);
/* Whether the outputs of n elements are better written past the caches, which they may be where
 * no output shares memory with another operand. middle[k]: some element of output k, far
 * from its ends. */
bool lw_run_may_stream(const lw_run *r, int64_t n, char *const *middle);
/* Takes note of a failure: `key`, of elements that are counted from `begin`. INT64_MAX: there
 * is none. */
void lw_run_note(lw_run *r, int64_t key, int64_t begin);
void lw_run_tell(const lw_run *r, lw_host_failure *failure);
/* The division of n elements among threads. The caller sets body and context. */
lw_work lw_run_work(lw_host_kernel *kernel, int64_t n, lw_stop *stop);

/* ---- host_span.c: on this thread ---- */

/* Both are bodies of lw_work: the elements begin … end - 1 of a run (lw_run), in any order, or
 * each one after the one before has been stored. */
bool lw_run_in_any_order(void *run, int64_t begin, int64_t end);
bool lw_run_in_order(void *run, int64_t begin, int64_t end);
/* The first n elements of a run, in any order. */
void lw_run_span(lw_run *r, int64_t n);
/* Takes back the flags raised since `before` that none of n elements explains. */
void lw_run_settle_flags(const lw_host_kernel *kernel, int before, char *const *args,
                         const int64_t *strides, int64_t n);
/* The same where an output is an input of the next element. A reduction has one output for all
 * elements, so its flags are explained by the last result, by the elements, and by what it
 * started from: `start`, the classes of the inputs that are the same for all elements, taken
 * before the run. */
unsigned lw_run_class_of_start(const lw_host_kernel *kernel, char *const *args,
                               const int64_t *strides);
void lw_run_settle_flags_in_order(const lw_host_kernel *kernel, int before, unsigned start,
                                  char *const *args, const int64_t *strides, int64_t n);
/* Whether the kernel's strided entry is as fast as anything else for the first n elements. */
bool lw_run_is_short(const lw_run *r, int64_t n);
/* Whether it would be, or faster, if the kernel had it: n elements, of which none depends on
 * another. */
bool lw_run_wants_strided(const lw_run *r, int64_t n);
/* Runs the kernel over n elements (at most kernel->block) in blocks of scratch memory, `work`,
 * which have room up to a multiple of LW_HOST_BLOCK. Gives a key for lw_run_note. */
int64_t lw_run_block(const lw_run *r, char *const *work, uint32_t n);

/* ---- host_masked.c ---- */

/* As lw_run_span, of the elements whose mask is set. */
void lw_run_masked_span(lw_run *r, int64_t n);

#endif
