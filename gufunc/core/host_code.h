/* Machine code for the CPU that runs a loop's body for many items. Pure C; needs no GIL.
 *
 * The arguments are those of NumPy's inner loops: args[k] is operand k's first item; dims[0]
 * the number of items, then the size of each dimension of the layout; steps[k] bytes from item
 * to item, then the strides of the core dimensions, operand after operand. */
#ifndef LW_GUFUNC_CORE_HOST_CODE_H
#define LW_GUFUNC_CORE_HOST_CODE_H

#include "core/host/schedule.h"
#include "gufunc/core/gufunc_loop.h"

enum { LW_MOST_STEPS = LW_MAX_OPERANDS + 256, LW_MOST_VARIANTS = 8 };

/* Runs the items begin … end - 1. Gives -1, or the number of the item that raised, where it
 * stopped; *status: that item's status. */
typedef int64_t (*lw_items_code)(char *const *args, const int64_t *dims, const int64_t *steps,
                                 int64_t begin, int64_t end, int32_t *status);

/* What is constant in code. */
typedef enum lw_code_form {
    LW_CODE_ANY,   /* nothing */
    LW_CODE_DENSE, /* cores are C-contiguous */
    LW_CODE_EXACT  /* all sizes and all steps */
} lw_code_form;

typedef struct lw_gufunc_code {
    lw_code_form form;
    lw_code *code; /* owned */
    lw_items_code run;
    bool watched;     /* accesses are reported to lw_race_access */
    int64_t *numbers; /* EXACT, owned: the sizes of core dimensions, then all steps */
} lw_gufunc_code;

typedef struct lw_gufunc_host {
    const lw_gufunc_loop *loop;
    uint32_t n_dims, n_steps;
    bool in_order;     /* it prints: one thread runs the items in order */
    bool steady;       /* items cost the same: no loop */
    bool doubts_flags; /* vectorised code may set flags for what a branch throws away */
    _Atomic(lw_gufunc_code *) any, dense, exact[LW_MOST_VARIANTS];
    _Atomic uint32_t n_exact;
    _Atomic uint32_t cost_ps; /* measured cost of an item of this `volume`; 0: not known */
    _Atomic int64_t volume;
    _Atomic int64_t items; /* items run so far */
} lw_gufunc_host;

lw_status lw_gufunc_host_new(const lw_gufunc_loop *loop, lw_gufunc_host **out, lw_error *err);
void lw_gufunc_host_free(lw_gufunc_host *host); /* NULL is allowed */
/* Makes the IR of one form, also for inspection; numbers as in lw_gufunc_code. */
lw_status lw_gufunc_host_module(const lw_gufunc_loop *loop, lw_code_form form,
                                const int64_t *numbers, lw_module **out, lw_error *err);
/* The code for these arguments; NULL: it is not compiled yet. */
lw_gufunc_code *lw_gufunc_host_find(lw_gufunc_host *host, const int64_t *dims,
                                    const int64_t *steps);
/* The same, compiled where necessary. */
lw_status lw_gufunc_host_code(lw_gufunc_host *host, const int64_t *dims, const int64_t *steps,
                              const lw_build_options *options, lw_gufunc_code **out,
                              lw_build_report *report, lw_error *err);
size_t lw_gufunc_host_code_size(const lw_gufunc_host *host);
/* Runs all items, on several threads where that pays. stop: see core/host/pieces.h; or NULL.
 * failure: out, the first item that raised, and its status. */
void lw_gufunc_host_run(lw_gufunc_host *host, lw_gufunc_code *code, char *const *args,
                        const int64_t *dims, const int64_t *steps, lw_stop *stop,
                        lw_failure *failure);

/* Runs the items of a walk that is sorted and merged, on all cores. dims, steps: of a row of
 * items, along the walk's dimension 0. Only where items may be run in any order, and none
 * writes to what another one reads or writes. */
struct lw_walk;
bool lw_gufunc_host_may_walk(const lw_gufunc_host *host, const lw_gufunc_code *code);
void lw_gufunc_host_run_walk(lw_gufunc_host *host, lw_gufunc_code *code,
                             const struct lw_walk *walk, const int64_t *dims,
                             const int64_t *steps, lw_stop *stop, lw_failure *failure);

#endif
