/* Variables that a loop sets: private to an iteration, or carried from iteration to iteration
 * by an operation that is associative. Pure C. */
#ifndef LW_OPT_LOOPS_CARRIED_H
#define LW_OPT_LOOPS_CARRIED_H

#include "core/opt/loops/loops.h"

/* How a SET brings something to a carried variable: v = get; w = v op e; set w. Or, for the
 * smaller and the larger, if e < v: set e. */
typedef struct lw_update {
    lw_op op; /* as in lw_carried */
    uint32_t intrinsic;
    lw_ref get;
    lw_ref e;        /* 0: a difference, or FMA, which w tells */
    uint32_t choice; /* the IF; 0: none */
    uint32_t lazy;   /* the IF of `v = v and e`, in which e is made; 0: none */
} lw_update;

bool lw_carried_update(const lw_spreader *s, const lw_spread_loop *l, uint32_t set,
                       lw_update *u);

/* Only this loop knows the variable, and each iteration sets it before it looks at it. */
bool lw_carried_is_private(const lw_spreader *s, const lw_spread_loop *l, lw_ref slot);
/* Whether some iteration looks at the variable before it has set it. */
bool lw_carried_is_seen_early(const lw_spreader *s, const lw_spread_loop *l, lw_ref slot);
/* Whether y, computed behind x in the same iteration, gives the same. */
bool lw_is_equal(const lw_spreader *s, const lw_spread_loop *l, lw_ref x, lw_ref y);
/* A variable that the loop sets. False: it is neither. */
bool lw_carried_take(const lw_spreader *s, lw_spread_loop *l, lw_ref slot);
const lw_carried *lw_carried_find(const lw_spread_loop *l, lw_ref slot); /* NULL: not carried */

/* Once all variables are taken: whether the iterations can be walked through twice, first only
 * for what each brings to the variables that are scanned, then with their values for all the
 * rest. What is brought must follow neither from carried variables nor from what the loop
 * stores. Fills s->waits. */
bool lw_carried_settle(lw_spreader *s, const lw_spread_loop *l);

/* Variables that stay as one iteration sets them, before the others are taken: the best by a
 * comparison, and what is set along with it (`if x[i] > best: best = x[i]; at = i`). The
 * condition is evaluated for every relation that both values can have; only where it takes the
 * best of a total order, the first or the last of equals, is it one. */
void lw_picks_find(const lw_spreader *s, lw_spread_loop *l);
/* A variable that iterations set to what does not follow from it: the last one's stays. */
bool lw_pick_last(const lw_spreader *s, lw_spread_loop *l, lw_ref slot);

/* The operand that a pointer points into; -1: not known. */
int lw_root_of(const lw_spreader *s, lw_ref pointer);

#endif
