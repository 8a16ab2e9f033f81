/* The bytes that the elements of a strided array may take. */
#ifndef LW_BASE_REACH_H
#define LW_BASE_REACH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct lw_reach {
    uint64_t low, high; /* up to high, which is not one of them; equal: no elements */
} lw_reach;

/* Strides in bytes, of any sign; data: the address of the first element. */
lw_reach lw_reach_of(int ndim, const int64_t *shape, const int64_t *strides, int64_t itemsize,
                     uint64_t data);
bool lw_reaches_meet(lw_reach x, lw_reach y);

#endif
