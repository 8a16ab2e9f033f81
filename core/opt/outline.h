/* A loop that only computes numbers becomes a function of its own, and a call of it.
 *
 * needs: nothing; keeps: the order of everything else; breaks: value numbers. The function
 * takes the values from outside that the loop uses, and the variables it shares with the code
 * around it; it returns those of them that it sets. */
#ifndef LW_OPT_OUTLINE_H
#define LW_OPT_OUTLINE_H

#include "core/ir/build.h"

/* Rewrites function `func`, whose LOOP at this instruction becomes a call of a new function,
 * the last one of the module. *done: false if it cannot, and then nothing has changed. */
lw_status lw_opt_outline(lw_module *module, uint32_t func, uint32_t at, bool *done,
                         lw_error *err);

#endif
