/* The bodies of several indices of an index space, with the loads of all of them before the
 * stores of any, so that these loads are in flight together.
 * needs: a body whose calls for different indices are independent; keeps: the body, which is
 * copied into the function that is being built. */
#ifndef LW_OPT_BATCH_H
#define LW_OPT_BATCH_H

#include "core/ir/build.h"

enum { LW_BATCH = 4 };

/* Where the body of an index is divided: before the first instruction that writes memory or
 * decides about control flow. 0: it cannot be divided, or division gains nothing, because
 * ptxas moves these loads without help. noalias: no array that the body writes overlaps another
 * argument; of those that it does not write, `flags` (by parameter) has LW_PARAM_READONLY. */
uint32_t lw_batch_split(const lw_func *body, const uint32_t *flags, bool noalias);

/* Writes the body for each of LW_BATCH lists of arguments: what is before `split` for all of
 * them, and then the rest, in order. */
void lw_batch_emit(lw_builder *b, const lw_func *body, uint32_t split,
                   lw_ref *const args[LW_BATCH]);

#endif
