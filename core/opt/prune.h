/* Removes IFs whose condition is known, with what only they used and the functions that only
 * they called. needs: what is known of boolean values; keeps: types; breaks: value numbers, use
 * counts, numbers of functions after the entry. */
#ifndef LW_OPT_PRUNE_H
#define LW_OPT_PRUNE_H

#include "core/ir/ir.h"

typedef struct lw_prune_facts {
    /* 1: the value is true, -1: false, 0: it is not known. Asked of every instruction but AND,
     * OR and NOT, by the number of its function before the change. */
    int (*known)(const void *context, uint32_t func, const lw_inst *inst);
    const void *context;
} lw_prune_facts;

/* entry: the function that is entered; LW_EVERY_ENTRY: every one that is not internal. false:
 * memory ran out. */
enum { LW_EVERY_ENTRY = -1 };
bool lw_prune(lw_module *module, const lw_prune_facts *facts, uint32_t entry);

/* For code that runs on a GPU or on a CPU: ON_GPU is known. */
lw_status lw_opt_side(lw_module *module, bool gpu, lw_error *err);

#endif
