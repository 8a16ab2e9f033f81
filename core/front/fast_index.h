/* Which index of a kernel's function should vary fastest from thread to neighbouring thread. */
#ifndef LW_FRONT_FAST_INDEX_H
#define LW_FRONT_FAST_INDEX_H

#include "core/front/tree.h"

/* Of the first n_index parameters, the one that most subscripts have added, not multiplied, in
 * their last place: its neighbours lie side by side in C order. The last one where none is.
 * Only speed depends on it. */
uint32_t lw_fast_index(const lw_tree *tree, uint32_t n_index);

#endif
