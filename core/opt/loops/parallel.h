/* Loops over prange, and over parts of array expressions: each becomes a call of
 * core/host/parallel_loop, which runs its iterations on the CPU's cores, and a function for a
 * part of the iterations. Pure C.
 *
 * needs: LOOPs marked LW_LOOP_PARALLEL, in the form of lw_ir_for with a step of 1; keeps: types
 * and numbers of functions; breaks: values, use counts. Marks inside of such loops go: the
 * inner loop runs in its iteration. Loops of array expressions (LW_LOOP_ELEMENTS) whose
 * iterations do more than compute and store stay where they are.
 *
 * The user says that iterations are independent. What they share are variables:
 * - set before it is read, in every iteration that reads it: each part has its own, and where
 *   the variable is read behind the loop, the last iteration that has set it decides;
 * - updated by an associative operation and not read otherwise: each part makes a partial
 *   result, and these are combined in the order of the parts.
 * An element whose place comes from memory, `counts[x[i]] += 1`, or that several iterations
 * have in common, `counts[i % 4] += 1`, is updated by an atomic operation, because other
 * iterations may update it too.
 * Any other variable is a fault, and so is an element to which all iterations store different
 * values, one that an iteration a constant number away reads or writes, too (`x[i] = x[i -
 * 1]`), and another update of an element whose place comes from memory or is common to
 * iterations. How many parts there are depends on the number of iterations and on the code
 * alone, so that results have the same bits for every number of threads. */
#ifndef LW_OPT_LOOPS_PARALLEL_H
#define LW_OPT_LOOPS_PARALLEL_H

#include "core/ir/ir.h"

typedef enum lw_parallel_fault {
    LW_PARALLEL_GOOD,
    LW_PARALLEL_CARRIED,  /* a variable is carried from one iteration to the next */
    LW_PARALLEL_MEMORY,   /* iterations store different values to one place */
    LW_PARALLEL_NARROW,   /* elements are updated whose index comes from memory, and which are
                             too narrow for atomic operations */
    LW_PARALLEL_DISTANCE, /* an iteration reads or writes what another one writes */
    LW_PARALLEL_UPDATE,   /* elements whose index comes from memory are computed from themselves
                           */
    LW_PARALLEL_KEPT      /* an array made in an iteration is used behind the loop */
} lw_parallel_fault;

/* Rewrites all such loops of the module. hidden: by file of the module, whether its functions
 * are not the user's; or NULL. *fault: why a loop cannot be rewritten; *loc: the place, a
 * number of module->locs; of a hidden function, where it is called. */
lw_status lw_opt_parallel(lw_module *module, const bool *hidden, lw_parallel_fault *fault,
                          uint32_t *loc, lw_error *err);

#endif
