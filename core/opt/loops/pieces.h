/* Loops of a GPU's code that count with 64 bits count with 32.
 *
 * Tallies: a long loop runs in pieces of so many iterations that the tallies of one piece are
 * exact in a float32.
 *
 *     for k in range(n):                  done = 0
 *         if hit: hits += 1               while done < n:
 *                                 →           few = 0.0
 *                                             for k in range(min(n - done, 2**24)):
 *                                                 if hit: few += 1.0
 *                                             hits += int(few); done += 2**24
 *
 * A GPU adds 64 bits by two instructions, which wait for the unit of integers and logic, the
 * one that most such loops are limited by. Additions of float32 are executed by another unit,
 * twice as fast.
 *
 * Counters: a short loop that may end early is not unrolled, so its counter is a large part of
 * it. It is written twice, and runs with a counter of 32 bits if it has few enough iterations.
 *
 * needs: code for a GPU; keeps: types; breaks: value numbers. */
#ifndef LW_OPT_LOOPS_PIECES_H
#define LW_OPT_LOOPS_PIECES_H

#include "core/ir/ir.h"

/* What a float32 counts exactly. */
#define LW_PIECES_MOST (UINT32_C(1) << 24)

/* Rewrites such loops of all functions. `most`: how far the tallies of a piece may go, a power
 * of two up to LW_PIECES_MOST; tests pass less. *rewritten: how many loops were, or NULL. */
lw_status lw_opt_pieces(lw_module *module, uint32_t most, uint32_t *rewritten, lw_error *err);

#endif
