/* Which arrays a function overwrites completely, whatever its unknown arguments are: an
 * analysis that runs the function with known sizes and indices and unknown elements, both arms
 * of what follows from these. Pure C. */
#ifndef LW_OPT_OVERWRITE_H
#define LW_OPT_OVERWRITE_H

#include "core/ir/ir.h"

typedef enum lw_known_kind {
    LW_KNOWN_NOTHING,
    LW_KNOWN_NUMBER,   /* this number */
    LW_KNOWN_ARRAY,    /* the address of array number `number` */
    LW_KNOWN_ELSEWHERE /* an address that leads into none of the arrays */
} lw_known_kind;

/* What is known of a parameter. */
typedef struct lw_known_param {
    lw_known_kind kind;
    int64_t number;
} lw_known_param;

typedef struct lw_overwritten {
    uint32_t bytes,
        part_bytes; /* of the array, and of a scalar of it; 0: it is not asked for */
    /* out: every byte is written, and none is read before, so that nothing of what was there
     * can be seen. False where that is not certain, and where memory is out. */
    bool is_whole;
} lw_overwritten;

void lw_overwrites(const lw_module *module, uint32_t func, const lw_known_param *params,
                   lw_overwritten *arrays, uint32_t n_arrays);

#endif
