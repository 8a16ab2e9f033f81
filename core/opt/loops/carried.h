/* Variables that a loop sets: private to an iteration, or loop-carried by an associative
 * operation. Pure C. */
#ifndef LW_OPT_LOOPS_CARRIED_H
#define LW_OPT_LOOPS_CARRIED_H

#include "core/opt/loops/loops.h"

/* How a SET updates a loop-carried variable: v = get; w = v op e; set w. For minimum and
 * maximum also: if e < v: set e. */
typedef struct lw_carried_step {
    lw_op op; /* as in lw_carried */
    uint32_t intrinsic;
    lw_ref get;
    lw_ref e;        /* the value that joins v; 0: a difference, or FMA, which w tells */
    uint32_t choice; /* the IF of `if e < v`; 0: none */
    uint32_t lazy;   /* the IF of `v = v and e`, inside which e is computed; 0: none */
} lw_carried_step;

bool lw_carried_update(const lw_spreader *s, const lw_spread_loop *l, uint32_t set,
                       lw_carried_step *u);

/* Whether nothing but the update reads the variable, or the value that the update computes. */
bool lw_carried_is_unseen(const lw_spreader *s, uint32_t set, const lw_carried_step *u);

/* Whether only this loop uses the variable, and each iteration sets it before it reads it. */
bool lw_carried_is_private(const lw_spreader *s, const lw_spread_loop *l, lw_ref slot);
/* Whether some iteration may read the variable before it has set it. */
bool lw_carried_is_seen_early(const lw_spreader *s, const lw_spread_loop *l, lw_ref slot);
/* Whether a condition that is the same in all iterations decides between two cases: no
 * iteration sets the variable, or each one sets it before it reads it. */
bool lw_carried_is_set_by_case(const lw_spreader *s, const lw_spread_loop *l, lw_ref slot);
/* Whether y, computed after x in the same iteration, has the same value. */
bool lw_is_equal(const lw_spreader *s, const lw_spread_loop *l, lw_ref x, lw_ref y);
/* Finds out what becomes of a variable that the loop sets, and adds it to l->carried unless it
 * is private. False: it is neither private nor carried by an associative operation. */
bool lw_carried_take(const lw_spreader *s, lw_spread_loop *l, lw_ref slot);
const lw_carried *lw_carried_find(const lw_spread_loop *l, lw_ref slot); /* NULL: not carried */

/* Called when all variables are taken: whether the iterations can be walked through twice,
 * first only for what each adds to the scanned variables, then, with the values of these, for
 * all the rest. What is added must depend neither on loop-carried variables nor on what the
 * loop stores. Fills s->waits. */
bool lw_carried_settle(lw_spreader *s, const lw_spread_loop *l);

/* Finds the variables that keep the values of one iteration, before the others are taken: the
 * best by a comparison, and what is set along with it (`if x[i] > best: best = x[i]; at = i`).
 * The condition is evaluated for every relation between the two values; it makes a pick only if
 * it takes the best of a total order, the first or the last of equals. */
void lw_picks_find(const lw_spreader *s, lw_spread_loop *l);
/* Takes a variable that iterations set to a value that does not depend on it: the last
 * iteration's value stays. */
bool lw_pick_last(const lw_spreader *s, lw_spread_loop *l, lw_ref slot);

/* The operand that a pointer points into; -1: it is not known. */
int lw_root_of(const lw_spreader *s, lw_ref pointer);

#endif
