/* What a function does to its parameters, by its text and its types. Pure C. */
#ifndef LW_GUFUNC_CORE_OUTPUTS_H
#define LW_GUFUNC_CORE_OUTPUTS_H

#include "core/front/typed.h"

/* Whether the user's function indexes this variable of its own. */
bool lw_body_indexes(const lw_tree *tree, uint32_t var);
/* Where it assigns the variable itself: its name, or an AUGASSIGN; a node of the tree, or 0. */
uint32_t lw_body_rebinds(const lw_tree *tree, uint32_t var);
/* Whether it has a `return` with a value. */
bool lw_body_returns(const lw_tree *tree);
/* The common dtype of what it stores into the array `var` itself (functions that it calls are
 * not looked at); void: it stores nothing there, or things that have none. */
lw_dtype lw_body_stores(lw_typed *typed, uint32_t var);

#endif
