/* Arrays that may share memory: whether an array function reads elements after it has
 * overwritten them, and an order of the elements in which it does not. */
#ifndef LW_FRONT_LOWER_OVERLAP_H
#define LW_FRONT_LOWER_OVERLAP_H

#include "core/front/lower/address.h"

/* Size of the buffer for results; each GPU thread that may need it has one of its own. */
enum { LW_BUFFER_BYTES = 512 };

/* The message of the ValueError when there is no such order. */
#define LW_NO_ORDER                                                                            \
    "the output overlaps an array that is read, and no order of the elements gives NumPy's "   \
    "result: copy that array first"
/* More of it, for an expression. */
#define LW_NO_ORDER_HELP ", as in `t = x + y`, then `out[:] = t`"

/* An array in the shape of the operation: a stride of 0 repeats it. */
typedef struct lw_strided {
    lw_ref address;                    /* of its first element */
    lw_ref strides[LW_MAX_ARRAY_DIMS]; /* bytes, i64 */
    int64_t item_bytes;
} lw_strided;

/* An elementwise operation: arrays[0] is written, the others are read. */
typedef struct lw_elementwise {
    uint32_t ndim, n;
    bool copies; /* whether the bits that are read are written unchanged */
    lw_ref extents[LW_MAX_ARRAY_DIMS]; /* i64 */
    lw_strided arrays[LW_MOST_OPERANDS];
} lw_elementwise;

/* How to run an operation in a safe order. */
typedef struct lw_order {
    lw_ref in_pairs;  /* b1: elements i of `operation` and i of `partners` form pairs: both are
                         read, then both are written, if the two are in that order in memory; the
                         other half of the elements are the same pairs */
    lw_ref in_buffer; /* b1: no safe order is known, but all results fit into LW_BUFFER_BYTES
                         and are written there first */
    lw_ref fails;     /* b1: no safe order is known, and the results do not fit */
    lw_elementwise operation, partners;
} lw_order;

/* Loops over the positions of an operation, which are open between the two calls. */
typedef struct lw_positions {
    lw_for loops[LW_MAX_ARRAY_DIMS];
    lw_ref at[LW_MAX_ARRAY_DIMS]; /* i64, from 0 */
} lw_positions;
void lw_elementwise_open(lw_builder *b, const lw_elementwise *operation, lw_positions *p);
void lw_elementwise_close(lw_builder *b, const lw_elementwise *operation, lw_positions *p);

/* b1: whether the bytes from the first to the last of x.arrays[0] and of y.arrays[0] overlap.
 */
lw_ref lw_arrays_meet(lw_builder *b, const lw_elementwise *x, const lw_elementwise *y);
/* b1: an array that is read shares memory with the one that is written, and they are not the
 * very same elements. */
lw_ref lw_elementwise_overlaps(lw_builder *b, const lw_elementwise *operation);
void lw_elementwise_order(lw_builder *b, const lw_elementwise *operation, lw_order *out);
/* The address of the element at these positions: i64 each, from 0. */
lw_ref lw_elementwise_address(lw_builder *b, const lw_elementwise *operation, uint32_t array,
                              const lw_ref *positions);
/* b1: the first element is in front of the second, or is the same. */
lw_ref lw_in_front(lw_builder *b, lw_ref first, lw_ref second);

#endif
