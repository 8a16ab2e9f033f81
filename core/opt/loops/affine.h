/* Linear recurrences: variables that an iteration multiplies and adds to (`s = a[i]*s + b[i]`).
 * Pure C.
 *
 * Each such update is a map v -> factor * v + value, where neither depends on v; the maps of
 * consecutive iterations are combined like the terms of a sum, so that a block can scan them
 * (G. E. Blelloch, "Prefix Sums and Their Applications", 1990, section 1.4). Where a
 * map enlarges the variable, or products of factors say too little about it, one thread runs
 * the iterations (is_sound in spread_scan.c). */
#ifndef LW_OPT_LOOPS_AFFINE_H
#define LW_OPT_LOOPS_AFFINE_H

#include "core/opt/loops/carried.h"
#include "core/opt/loops/copier.h"

/* Whether this SET computes the variable's new value from its old one by such a map: with sums,
 * differences, products, quotients and choices that do not depend on it. */
bool lw_affine_is(const lw_spreader *s, const lw_spread_loop *l, uint32_t set);
/* Whether what this SET adds to the variable follows from the variable itself (`s += (x -
 * s)*c`).
 */
bool lw_affine_adds_itself(const lw_spreader *s, const lw_spread_loop *l, uint32_t set,
                           const lw_carried_step *u);
/* Whether all that the map consists of is known before the scan. */
bool lw_affine_is_known(const lw_spreader *s, const lw_spread_loop *l, uint32_t set);
/* Copies the update of a SET, applied to the slot's present value, and multiplies the slot
 * `factor` by the map's factor. */
void lw_affine_copy(lw_copier *c, const lw_spread_loop *l, uint32_t set, lw_ref factor);

#endif
