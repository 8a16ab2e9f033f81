/* What a function does with its parameters, by its tree and its types. Pure C. */
#ifndef LW_GUFUNC_CORE_OUTPUTS_H
#define LW_GUFUNC_CORE_OUTPUTS_H

#include "core/front/typed.h"

/* Whether the function indexes this variable. */
bool lw_body_indexes(const lw_tree *tree, uint32_t var);
/* The node that assigns to the variable itself, a name or an AUGASSIGN; 0: none does. */
uint32_t lw_body_rebinds(const lw_tree *tree, uint32_t var);
/* Whether it has a `return` with a value. */
bool lw_body_returns(const lw_tree *tree);
/* The common dtype of what it stores into the array `var` itself, leaving out functions that it
 * calls; void: it stores nothing there, or there is no common dtype. */
lw_dtype lw_body_stores(lw_typed *typed, uint32_t var);

#endif
