/* One loop of a Gufunc: exact dtypes, and the body they give. Pure C.
 *
 * The body (scalar->body) takes the operands that the Python function takes, in that order:
 *   LW_CORE_VALUE   an input `()`: its value (complex: two parts)
 *   LW_CORE_ARRAY   core_ndim[k] dimensions, layout ANY: address, then that many extents, then
 *                   that many strides in bytes (i64 each). Inputs are readonly unless they are
 *                   in writable_args. A `()` operand that the function indexes is an array of
 *                   ndim 1: extent 1, stride its itemsize
 *   LW_CORE_RESULT  an output `()` that is returned: a result of the body, after its status and
 *                   words (see lw_scalar), one per part
 * core_ndim is the layout's number of core dimensions also where `?` dropped some (extent 1,
 * stride 0) and where `|1` broadcasts one (extent n, stride 0).
 *
 * To specialise on sizes or on contiguous cores, call the body with constants for extents and
 * strides: LLVM inlines it. scalar->args[k] says which parameters belong to operand k (of
 * arrays: .first is the address). Nothing in the body knows of other items. */
#ifndef LW_GUFUNC_CORE_GUFUNC_LOOP_H
#define LW_GUFUNC_CORE_GUFUNC_LOOP_H

#include "core/link/build.h"
#include "core/plan/loop.h"
#include "gufunc/core/layout.h"

typedef enum lw_core_form { LW_CORE_VALUE, LW_CORE_ARRAY, LW_CORE_RESULT } lw_core_form;

/* Append-only and immortal while its Gufunc lives; host is set once. */
typedef struct lw_gufunc_loop {
    LW_LOOP_HEAD
    const lw_core_layout *layout;  /* borrowed from the Gufunc */
    uint8_t form[LW_MAX_OPERANDS]; /* lw_core_form */
    uint8_t core_ndim[LW_MAX_OPERANDS];
    bool writable[LW_MAX_OPERANDS]; /* inputs that the body may write to */
    /* Inputs behind the layout's own that are parts of excluded arrays: a value each, i64, and
     * some of them addresses. */
    int n_shown; /* the layout's inputs */
    bool address[LW_MAX_OPERANDS];
    bool writes_excluded; /* memory that is no operand */
    /* Another library's loop with NumPy's arguments, for items of at least library_least
     * products of all core sizes; NULL: none. Set while the Gufunc is made. */
    void (*library)(char **args, const intptr_t *dims, const intptr_t *steps, void *data);
    void *library_data;
    int64_t library_least;
    _Atomic(struct lw_gufunc_host *) host; /* host machine code; NULL until first used */
} lw_gufunc_loop;

#endif
