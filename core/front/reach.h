/* What every element of an index space is certain to do to the arrays that are arguments: which
 * elements it reads and stores at indices that are known from the element's own index, as
 * `x[i + 1, j]`. So a call can be refused before it runs, where these are outside of an array.
 *
 * Only what is evaluated for each element counts: nothing under a condition (of an `if` with an
 * `else`, what both do), in a loop, or behind what may return or raise. So a call that is
 * refused would have used an index out of bounds. */
#ifndef LW_FRONT_REACH_H
#define LW_FRONT_REACH_H

#include "core/front/typed.h"

enum { LW_REACH_CONSTANT = -1 };

/* An index `index + offset` along an axis of an argument. */
typedef struct lw_reach {
    uint32_t arg; /* number of the argument, not counting the index */
    uint8_t axis;
    int8_t index;   /* the parameter of the index, or LW_REACH_CONSTANT: 0 */
    int64_t offset; /* small, so that sums with an index do not overflow easily */
    uint32_t loc;   /* of the tree: the subscript */
} lw_reach;

/* An assignment to an element of an argument, `out[b] += …` or `out[b] = …`, in the user's
 * function. */
typedef struct lw_reach_update {
    uint32_t arg, loc; /* loc: of the assignment */
} lw_reach_update;

typedef struct lw_reaches {
    lw_reach *data;
    uint32_t n;
    lw_reach_update *updates;
    uint32_t n_updates;
} lw_reaches;

/* Of the user's function, whose first n_index parameters are the index. In the arena. */
lw_status lw_find_reaches(const lw_typed *typed, uint32_t n_index, lw_arena *arena,
                          lw_reaches *out, lw_error *err);

#endif
