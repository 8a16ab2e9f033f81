/* Which index of a kernel's function should vary fastest between neighbouring threads. */
#ifndef LW_FRONT_FAST_INDEX_H
#define LW_FRONT_FAST_INDEX_H

#include "core/front/tree.h"

/* Of the first n_index parameters, the one that most subscripts contain as an added (not
 * multiplied) term of their last index, because neighbouring values of it address neighbouring
 * elements in C order. Without any such subscript it is the last parameter. The choice affects
 * speed only. */
uint32_t lw_fast_index(const lw_tree *tree, uint32_t n_index);

#endif
