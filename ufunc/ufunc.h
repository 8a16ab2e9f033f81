/* The vectorize door: what its files share. See ufunc/README.md for the contract.
 *
 *   ufunc_object.c   the Python type: build, attributes, pickling, inspection
 *   ufunc_call_py.c  the call: NEP 13, then host or device
 *   ufunc_host_py.c  the C loop that NumPy calls
 *   ufunc_device_py.c  the call on device arrays: plan table, launch
 *   host_kernel.c    scalar IR -> CPU loop;  device_kernel.c  scalar IR + plan -> GPU kernel
 *   device_plan.c    shapes, strides, dtypes -> plan */
#ifndef LW_UFUNC_UFUNC_H
#define LW_UFUNC_UFUNC_H

#include "core/link/build.h"
#include "core/plan/loop.h"
#include "ufunc/host_flags.h"

#include <stdatomic.h>

#define LW_MAX_ARGS 64 /* NumPy's limit on nin + nout */

/* Excluded arrays reach the function as their parts (core/front/types.h: address, extents,
 * strides), each an input of one value for all elements behind the inputs that broadcast. */
typedef struct lw_uniforms {
    int first;                    /* inputs from here on are such parts */
    bool stores;                  /* the function may write to an excluded array */
    bool is_address[LW_MAX_ARGS]; /* by input */
    uint8_t order[LW_MAX_ARGS];   /* the inputs in the order of the function's parameters */
} lw_uniforms;

/* One loop of a Ufunc: exact dtypes in and out, with the code of each target. Append-only and
 * immortal while its Ufunc lives; code pointers are set once. */
typedef struct lw_loop {
    LW_LOOP_HEAD
    lw_uniforms uniforms;                  /* first: nin where there are none */
    lw_flag_rule flag_rule;                /* or NULL */
    _Atomic(struct lw_host_kernel *) host; /* NULL until first used */
    /* lw_loop_indexed, for at(), and the elements that it was used for while there was none */
    _Atomic(struct lw_host_kernel *) indexed;
    _Atomic int64_t n_indexed;
    /* The loop of reduce, accumulate and reduceat, what is known of it (lw_fold_kind), and the
     * elements that were combined while there was none. */
    _Atomic(struct lw_host_kernel *) fold;
    atomic_int fold_kind;
    _Atomic int64_t n_folded;
} lw_loop;

#endif
