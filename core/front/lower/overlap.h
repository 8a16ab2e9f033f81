/* Arrays that may share memory: is what an array function writes read later by the same
 * function, and in which order of the elements is everything read before it is overwritten. */
#ifndef LW_FRONT_LOWER_OVERLAP_H
#define LW_FRONT_LOWER_OVERLAP_H

#include "core/front/lower/address.h"

/* Size of the buffer for results; each thread of a GPU that may need it has one. */
enum { LW_BUFFER_BYTES = 512 };

/* What the ValueError says where there is no such order. */
#define LW_NO_ORDER                                                                            \
    "the output overlaps what is read, and no order of the elements gives NumPy's result: "    \
    "copy what is read to memory of its own first"

/* An array in the shape of the loops: a stride of 0 repeats it. */
typedef struct lw_strided {
    lw_ref address;                    /* of its first element */
    lw_ref strides[LW_MAX_ARRAY_DIMS]; /* bytes, i64 */
    int64_t item_bytes;
} lw_strided;

/* Arrays that are walked together: arrays[0] is written, the others are read. */
typedef struct lw_walk {
    uint32_t ndim, n;
    bool copies;                       /* what is written is what was read, bit for bit */
    lw_ref extents[LW_MAX_ARRAY_DIMS]; /* i64 */
    lw_strided arrays[LW_MOST_OPERANDS];
} lw_walk;

/* How a walk that is in order is done. */
typedef struct lw_order {
    lw_ref in_pairs;  /* b1: elements i of `walk` and i of `partners` together: both are read,
                         then both written. Where the two are in that order in memory; the other
                         half of the elements are the same pairs */
    lw_ref in_buffer; /* b1: no order is known, but all results fit into LW_BUFFER_BYTES: they
                         are made there first */
    lw_ref fails;     /* b1: nor do they */
    lw_walk walk, partners;
} lw_order;

/* b1: something read shares memory with what is written, and is not the very same elements. */
lw_ref lw_walk_overlaps(lw_builder *b, const lw_walk *walk);
void lw_walk_order(lw_builder *b, const lw_walk *walk, lw_order *out);
/* The address of the element at these places: i64 each, from 0. */
lw_ref lw_walk_address(lw_builder *b, const lw_walk *walk, uint32_t array,
                       const lw_ref *places);
/* b1: the first is in front of the second, or the same. */
lw_ref lw_in_front(lw_builder *b, lw_ref first, lw_ref second);

#endif
